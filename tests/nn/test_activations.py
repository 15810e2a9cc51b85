"""Activation functions: values against the oracle, slopes, dtypes, transformations, errors."""

import covector
import covector.numpy as jnp
import numpy as np
import pytest
from covector import nn

from nn.inputs import X, compare_all, compare_errors, together

RECTIFIERS = ["celu", "elu", "leaky_relu", "relu", "relu6", "selu", "softplus", "sparse_plus"]
RECTIFIERS += ["squareplus"]
SIGMOIDS = ["hard_sigmoid", "hard_tanh", "log_sigmoid", "sigmoid", "soft_sign", "sparse_sigmoid"]
PRODUCTS = ["gelu", "hard_silu", "hard_swish", "mish", "silu", "swish"]
NAMES = [*RECTIFIERS, *SIGMOIDS, *PRODUCTS, "tanh", "identity", "log1mexp"]
ONLY_INEXACT = ["sigmoid", "silu", "swish"]
# Where exponentials cancel, an absolute error of the operand's size is the best there is.
CLOSE = {"rtol": {"float32": 4e-6, "bfloat16": 0.03, "complex64": 4e-6}, "atol": 1e-6}


def each(names, operand):
    """A snippet of one program, for all functions of one operand."""
    calls = ", ".join(f"nn.{name}(x)" for name in names)
    return f"jax.jit(lambda x: [{calls}])({operand})"


def test_values(oracle):
    not_inexact = [name for name in NAMES if name not in ONLY_INEXACT]
    unordered = [name for name in NAMES if name != "sparse_sigmoid"]
    not_bool = [name for name in not_inexact if name not in ("log_sigmoid", "log1mexp")]
    programs = [each(NAMES, x) for x in ("x", "h", "1.0")] + [each(unordered, "c")]
    programs += [each(not_inexact, "i"), each(not_bool, "b")]
    compare_all(oracle, "\n".join(programs), **CLOSE)


def test_edges(oracle):
    """Infinite, NaN, tiny and huge numbers."""
    compare_all(oracle, each(NAMES, "edge"), **CLOSE)


def test_parameters(oracle):
    calls = [
        "nn.celu(x, 2)",
        "nn.celu(x, alpha=0.5)",
        "nn.elu(x, alpha=2)",
        "nn.leaky_relu(x, 2)",
        "nn.leaky_relu(x, negative_slope=0.2)",
        "nn.squareplus(x, b=0)",
        "nn.squareplus(x, x * x)",
        "nn.gelu(x, approximate=False)",
        "nn.gelu(h, approximate=False)",
        "nn.gelu(i, False)",
        "nn.glu(x)",
        "nn.glu(m, axis=1)",
        "nn.glu(m[:2], axis=-2)",
        "nn.glu(h[:4])",
        "nn.glu(c)",
        "nn.log1mexp(jnp.array([0.0, 1e-30, 1e-8, 0.5, 0.69, 0.7, 100.0, jnp.inf, -1.0]))",
    ]
    compare_all(oracle, together("x, h, i, m, c", calls), **CLOSE)


# --- derivatives ---------------------------------------------------------------------------------

CORNERS = [
    # function, operand, slope there
    ("relu", 0.0, 0.0),
    ("relu", -0.0, 0.0),
    ("relu", np.nan, 0.0),
    ("relu6", 0.0, 0.0),
    ("relu6", 6.0, 0.0),
    ("leaky_relu", 0.0, 1.0),
    ("elu", 0.0, 1.0),
    ("elu", 200.0, 1.0),
    ("celu", 0.0, 1.0),
    ("selu", 0.0, 1.7580993),
    ("hard_tanh", 1.0, 1.0),
    ("hard_tanh", -1.0, 1.0),
    ("hard_sigmoid", 3.0, 0.0),
    ("hard_sigmoid", -3.0, 0.0),
    ("hard_silu", 3.0, 1.0),
    ("hard_silu", -3.0, 0.0),
    ("soft_sign", 0.0, 1.0),
    ("sparse_plus", 1.0, 1.0),
    ("sparse_plus", -1.0, 0.0),
    ("sparse_sigmoid", 1.0, 0.25),
    ("softplus", 100.0, 1.0),
    ("softplus", -100.0, 0.0),
    ("log_sigmoid", -100.0, 1.0),
    ("sigmoid", 40.0, 4.2483543e-18),
    ("gelu", 1e30, 1.0),
    ("gelu", -np.inf, 0.0),
    ("gelu", 0.0, 0.5),
    ("log1mexp", 1e-20, 1e20),
    ("log1mexp", 100.0, 0.0),
]


@pytest.mark.parametrize("name, x, slope", CORNERS)
def test_slopes_at_corners(name, x, slope):
    function = getattr(nn, name)
    np.testing.assert_allclose(covector.grad(function)(x), slope, rtol=1e-5, atol=1e-30)
    _, forward = covector.jvp(function, (x,), (1.0,))
    np.testing.assert_allclose(forward, slope, rtol=1e-5, atol=1e-30)


SMOOTH = np.array([-2.5, -1.2, -0.4, 0.3, 0.8, 1.7, 2.2])


@pytest.mark.parametrize("name", NAMES)
def test_slopes_elsewhere(name):
    """First and second derivatives against central differences."""
    function, x, step = covector.jit(getattr(nn, name)), SMOOTH, 1e-5
    x = abs(x) if name == "log1mexp" else x
    with covector.enable_x64(True):
        slope = covector.jit(covector.vmap(covector.grad(function)))
        first = (function(x + step) - function(x - step)) / (2 * step)
        np.testing.assert_allclose(slope(x), first, rtol=1e-7, atol=1e-8)
        second = (slope(x + step) - slope(x - step)) / (2 * step)
        curve = covector.jit(covector.vmap(covector.grad(covector.grad(function))))(x)
        np.testing.assert_allclose(curve, second, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("name", ["celu", "elu", "leaky_relu"])
def test_slopes_in_the_parameter(name, oracle):
    oracle.compare(f"jax.grad(nn.{name}, 1)(-2.0, 2.0)", rtol=1e-6)


def test_a_large_operand_of_an_exponential_does_not_spoil_the_slope():
    slope = covector.jit(covector.grad(lambda x: (nn.elu(x) + nn.selu(x) + nn.celu(x)).sum()))
    assert np.isfinite(slope(jnp.array([1e4, -1e4]))).all()


# --- transformations and errors ------------------------------------------------------------------


@pytest.mark.parametrize("name", ["relu", "relu6", "gelu", "log1mexp", "silu"])
def test_transformations(name):
    function, x = getattr(nn, name), np.array([[0.5, 2.0], [1.5, 7.0]], np.float32)
    eager = function(x)
    np.testing.assert_allclose(covector.jit(function)(x), eager, rtol=1e-6)
    np.testing.assert_allclose(covector.vmap(function, 1, 1)(x), eager, rtol=1e-6)
    total = covector.jit(covector.grad(lambda x: function(x).sum()))(x)
    each = covector.vmap(covector.vmap(covector.grad(function)))(x)
    np.testing.assert_allclose(total, each, rtol=1e-6)


def test_slopes_of_the_exact_gelu():
    with covector.enable_x64(True):
        slope = covector.vmap(covector.grad(lambda x: nn.gelu(x, approximate=False)))
        x, step = SMOOTH, 1e-5
        first = (nn.gelu(x + step, False) - nn.gelu(x - step, False)) / (2 * step)
        np.testing.assert_allclose(slope(x), first, rtol=1e-7, atol=1e-9)
        np.testing.assert_array_equal(slope(np.array([-1e200, -np.inf, np.inf])), [0, 0, 1])


def test_integers_can_stand_in_differentiated_programs():
    slope = covector.grad(lambda x: x * nn.relu(jnp.arange(-1, 2)).sum())
    assert slope(1.0) == 1.0
    slope = covector.grad(lambda x: (x * nn.relu6(jnp.arange(3))).sum())
    assert slope(1.0) == 3.0


def test_errors(oracle):
    lists = "\n".join(f"nn.{name}([1.0])" for name in [*NAMES, "glu"])
    compare_errors(
        oracle,
        lists
        + """
        nn.sigmoid(i)
        nn.silu(1)
        nn.sigmoid(b)
        nn.log_sigmoid(b)
        nn.log1mexp(b)
        nn.glu(1.0)
        nn.glu(x, axis=1)
        nn.glu(i)
        nn.sparse_sigmoid(c)
        """,
    )


def test_glu_of_an_odd_size():
    with pytest.raises(ValueError, match="glu halves axis -1, but its size is odd"):
        nn.glu(X[:3])


def test_names_and_second_names():
    assert nn.swish is nn.silu and nn.hard_swish is nn.hard_silu

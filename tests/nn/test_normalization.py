"""Softmax and its kin, standardization and one-hot codes: values, derivatives, errors."""

import covector
import covector.numpy as jnp
import numpy as np
import pytest
from covector import nn

from nn.inputs import ARRAYS, compare_all, compare_errors, together

CLOSE = {"rtol": {"float32": 4e-6, "bfloat16": 0.02, "complex64": 4e-6}, "atol": 2e-6}


ARGUMENTS = "m, w, h, i, c, b, none, empty, edge"
SOFTMAX = [
    "nn.softmax(m), nn.log_softmax(m), nn.softmax(m, axis=0), nn.log_softmax(m, 0)",
    "nn.softmax(m, axis=None), nn.log_softmax(m, axis=(0, 1)), nn.softmax(m, axis=())",
    "nn.softmax(m, where=w), nn.log_softmax(m, where=w)",
    "nn.softmax(m, axis=0, where=w[:, :1]), nn.log_softmax(m, axis=0, where=w[:1])",
    "nn.softmax(m, where=m > 10), nn.log_softmax(m, where=m > 10)",
    "nn.softmax(h), nn.log_softmax(h), nn.softmax(i), nn.log_softmax(i)",
    "nn.softmax(c), nn.log_softmax(c), nn.softmax(none), nn.log_softmax(none), nn.softmax(empty)",
    "nn.softmax(edge[:2]), nn.softmax(edge[1:2]), nn.softmax(edge), nn.log_softmax(edge[1:2])",
    "nn.softmax(1000 * m), nn.log_softmax(1000 * m)",
]
SUMS = [
    "nn.logsumexp(m, axis=1, keepdims=True), nn.logsumexp(m, b=w * 1.0, where=w)",
    "nn.logmeanexp(m), nn.logmeanexp(1000 + m, axis=0), nn.logmeanexp(m, (0, 1), None, True)",
    "nn.logmeanexp(m, axis=1, where=w), nn.logmeanexp(m, where=w[:1], keepdims=True)",
    "nn.logmeanexp(none), nn.logmeanexp(m, where=m > 10), nn.logmeanexp(h), nn.logmeanexp(i)",
    "nn.logmeanexp(1.0), nn.logmeanexp(b), nn.logmeanexp(c)",
]
STANDARDIZE = [
    "nn.standardize(m), nn.standardize(m, axis=0, algorithm='stable'), nn.standardize(m, (0, 1))",
    "nn.standardize(m, axis=None), nn.standardize(h), nn.standardize(i), nn.standardize(b)",
    "nn.standardize(m, where=w), nn.standardize(m, axis=0, where=w, algorithm='stable')",
    "nn.standardize(m, mean=1.0), nn.standardize(m, variance=m[:, :1] ** 2, epsilon=0.1)",
    "nn.standardize(m, -1, m[:1], m[:, :1] ** 2, 0.1), nn.standardize(empty)",
]
ONE_HOT = [
    "nn.one_hot(i, 5), nn.one_hot(i, 5, axis=0, dtype='int8')",
    "nn.one_hot(i, 3, axis=1), nn.one_hot(i, 3, axis=-3), nn.one_hot(2, 3), nn.one_hot([0, 2], 3)",
    "nn.one_hot(jnp.array(1.0), 2), nn.one_hot(i, 0), nn.one_hot(i, 2, dtype=bool)",
    "nn.one_hot(h, 4), nn.one_hot(empty, 2)",
    "jax.vmap(lambda x: nn.one_hot(x, 2, axis='a'), axis_name='a')(jnp.arange(2))",
]


@pytest.mark.parametrize("calls", [SOFTMAX, SUMS, STANDARDIZE, ONE_HOT])
def test_values(oracle, calls):
    compare_all(oracle, together(ARGUMENTS, calls), **CLOSE)


def test_one_hot_of_a_narrow_type():
    """Positions that the dtype cannot hold are no positions."""
    code = nn.one_hot(np.uint8(2), 300)
    assert code.shape == (300,) and code.sum() == 1 and code[2] == 1


# --- derivatives ---------------------------------------------------------------------------------

M, W = ARRAYS["m"], ARRAYS["w"]


def test_slopes_of_softmax():
    p = np.asarray(nn.softmax(M[0]))
    shares = np.diag(p) - np.outer(p, p)
    np.testing.assert_allclose(covector.jacobian(nn.softmax)(M[0]), shares, atol=1e-6)
    np.testing.assert_allclose(covector.jacfwd(nn.softmax)(M[0]), shares, atol=1e-6)
    logs = covector.jacobian(nn.log_softmax)(M[0])
    np.testing.assert_allclose(logs, np.eye(4) - p, atol=1e-6)
    with covector.enable_x64(True):
        x, step = M[1].astype("float64"), 1e-5
        first = covector.jit(covector.grad(lambda x: (nn.softmax(x) ** 2)[0]))
        curve = covector.jacobian(first)(x)
        differences = [(first(x + step * e) - first(x - step * e)) / (2 * step) for e in np.eye(4)]
        np.testing.assert_allclose(curve, np.stack(differences), rtol=1e-6, atol=1e-9)


def test_slopes_of_the_rest(oracle):
    calls = [
        "jax.grad(lambda x: nn.softmax(x, where=w)[0, 1])(m)",
        "jax.grad(lambda x: jnp.where(w, nn.log_softmax(x, where=w), 0).sum())(m)",
        "jax.grad(lambda x: nn.logmeanexp(x, where=w))(m)",
        "jax.grad(lambda x: (nn.standardize(x) ** 3).sum())(m)",
        "jax.grad(lambda x: (nn.standardize(x, algorithm='stable', where=w) ** 3).sum())(m)",
        "jax.vmap(jax.grad(lambda x: nn.softmax(x)[0]), 1)(m)",
    ]
    compare_all(oracle, together("m, w", calls), rtol=1e-4, atol=1e-5)


def test_excluded_elements_have_no_slope():
    x = jnp.array([1.0, np.nan, np.inf, 2.0])
    where = jnp.array([True, False, False, True])
    share = 1 / (1 + np.exp(-1.0))
    slope = covector.grad(lambda x: nn.softmax(x, where=where)[3])(x)
    np.testing.assert_allclose(slope[::3], np.array([-1, 1]) * share * (1 - share), rtol=1e-5)
    np.testing.assert_array_equal(slope[1:3], 0)


def test_an_infinite_element_spoils_no_other():
    x = jnp.array([0.0, -jnp.inf, 0.0])
    np.testing.assert_allclose(covector.grad(lambda x: nn.softmax(x)[0])(x), [0.25, 0, -0.25])
    np.testing.assert_allclose(covector.grad(lambda x: nn.log_softmax(x)[0])(x), [0.5, 0, -0.5])


def test_the_stable_algorithm_is():
    x = (M + 1000).astype("float64")
    right = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    ours = nn.standardize(x.astype("float32"), algorithm="stable")
    np.testing.assert_allclose(ours, right, rtol=2e-3, atol=2e-4)


# --- errors --------------------------------------------------------------------------------------


def test_errors(oracle):
    compare_errors(
        oracle,
        """
        nn.softmax([1.0])
        nn.softmax(1.0)
        nn.softmax(m, axis=2)
        nn.softmax(m, axis=(0, 0))
        nn.softmax(b)
        nn.log_softmax(b)
        nn.logmeanexp([1.0])
        nn.logsumexp([1.0])
        nn.standardize([1.0])
        nn.standardize(c)
        nn.standardize(m, algorithm='two_pass')
        nn.one_hot(b, 3)
        nn.one_hot(i, 3.0)
        nn.one_hot(i, -1)
        nn.one_hot(i, 3, axis=5)
        jax.jit(nn.one_hot)(i, 3)
        """,
    )


def test_one_hot_over_an_axis():
    with pytest.raises(NameError, match="x"):
        nn.one_hot(ARRAYS["i"], 3, axis="x")
    with pytest.raises(ValueError, match="num_classes must be the size of the axis 'a', which is"):
        covector.vmap(lambda x: nn.one_hot(x, 3, axis="a"), axis_name="a")(jnp.arange(2))

"""Reductions of windows: against the oracle, and the rules of each form."""

import covector
import numpy as np
import pytest
from core.primitive_checks import check_all, check_batched
from covector import lax
from oracle import Case, Tolerance

X = np.random.default_rng(0).permutation(35).reshape(5, 7).astype(np.float64) / 7 - 2

# name: the operation and its identity
OPERATIONS = {"add": "0.", "max": "-jnp.inf", "min": "jnp.inf", "mul": "1."}

# name: dimensions, strides, padding, base dilation, window dilation
WINDOWS = {
    "plain": "(2, 3)",
    "strided": "(2, 3), (2, 1), 'SAME'",
    "lower": "(2, 2), (2, 3), 'SAME_LOWER'",
    "apart": "(1, 2), (3, 3), 'VALID'",
    "padded": "(2, 3), (1, 2), ((1, 1), (0, 2))",
    "cut": "(2, 2), (1, 1), ((-1, 0), (1, -2))",
    "base": "(2, 3), (1, 2), ((0, 0), (1, 0)), (2, 3)",
    "window": "(2, 2), (1, 2), ((0, 1), (0, 0)), (1, 1), (2, 3)",
    "both": "(3, 2), (2, 1), 'SAME', (2, 1), (1, 2)",
    "too large": "(9, 2)",
}


def windows_of(operation, window):
    names = {"jnp": covector.numpy, "lax": lax}
    init = OPERATIONS[operation]
    return eval(f"lambda x: lax.reduce_window(x, {init}, lax.{operation}, {window})", names)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_values_and_gradients_are_the_oracle_s(oracle, operation):
    x = X.astype(np.float32)
    cases = []
    without_reverse = {"add": (), "mul": WINDOWS}.get(operation, ("cut", "window", "both"))
    for name, window in WINDOWS.items():
        call = f"lax.reduce_window(x, {OPERATIONS[operation]}, lax.{operation}, {window})"
        cases.append(Case(call, {"x": x}, Tolerance(1e-5, 1e-5)))
        if name not in without_reverse:  # the oracle has no such gradients
            gradient = f"jax.grad(lambda x: jnp.sum(lax.sin({call})))(x)"
            cases.append(Case(gradient, {"x": x}, Tolerance(1e-5, 1e-5)))
    oracle.compare_many(cases)


@pytest.mark.parametrize(
    ("operation", "window"),
    [("add", "both"), ("max", "both"), ("max", "padded"), ("min", "base"), ("mul", "padded")],
)
def test_rules(operation, window):
    check_all(windows_of(operation, WINDOWS[window]), X[:3, :4])


def test_dtypes_and_weak_types_are_the_oracle_s(oracle):
    n, b = np.array([3, 1, 2], np.int8), np.array([True, False, False])
    h = np.arange(4).astype(np.float16)
    z = np.array([1 + 1j, 2, 3 - 1j], np.complex64)
    oracle.compare_many(
        [
            Case("lax.reduce_window(n, 0, lax.add, (2,))", {"n": n}),
            Case("lax.reduce_window(n, np.int8(-128), lax.max, (2,))", {"n": n}),
            Case("lax.reduce_window(n, np.int8(5), lax.max, (2,), (1,), 'SAME')", {"n": n}),
            Case("lax.reduce_window(n, np.int8(1), lax.mul, (2,))", {"n": n}),
            Case("lax.reduce_window(b, False, lax.bitwise_or, (2,))", {"b": b}),
            Case("lax.reduce_window(b, False, lax.max, (2,))", {"b": b}),
            Case("lax.reduce_window(h, 0., lax.add, (2,))", {"h": h}),
            Case("lax.reduce_window(z, 0., lax.add, (2,))", {"z": z}),
            Case("lax.reduce_window(lax.full((3,), 1.), 0., lax.add, (2,))"),
            Case("lax.reduce_window(lax.full((3,), 1.), 1., lax.mul, (2,))"),
            Case("lax.reduce_window(np.float32(3), 0., lax.add, ())"),
            Case("lax.reduce_window(np.float32(3), 1., lax.mul, ())"),
            Case("lax.reduce_window(np.zeros((0, 2), 'float32'), 0., lax.add, (1, 2))"),
            Case("lax.reduce_window_shape_tuple((4, 6), (2, 2), (1, 2), ((0, 0), (1, 1)))"),
        ]
    )


def test_a_nan_is_an_extremum_and_gets_the_gradient():
    x = np.array([1.0, np.nan, 3.0, 2.0], np.float32)
    function = windows_of("max", "(2,)")
    out, pullback = covector.vjp(function, x)
    np.testing.assert_array_equal(out, [np.nan, np.nan, 3.0])
    tangent = covector.jvp(function, (x,), (np.arange(4, dtype=np.float32),))[1]
    np.testing.assert_array_equal(tangent, [1, 1, 2])
    assert pullback(np.ones(3, np.float32))[0].shape == (4,)


@pytest.mark.parametrize("dilation", ["(1,)", "(2,)"])
def test_the_first_of_equal_elements_gets_the_gradient(dilation):
    function = windows_of("max", f"(3,), (1,), 'VALID', (1,), {dilation}")
    x = np.zeros(7, np.float32)
    out, pullback = covector.vjp(function, x)
    gradient = np.asarray(pullback(np.ones(out.shape, np.float32))[0])
    np.testing.assert_array_equal(gradient, np.arange(7) < out.size)


def test_padding_is_never_chosen():
    # The lowest number there is: padding has the same value, and comes first.
    x = np.full(3, -np.inf, np.float32)
    function = windows_of("max", "(2,), (2,), ((1, 0),)")
    tangent = covector.jvp(function, (x,), (np.ones(3, np.float32),))[1]
    np.testing.assert_array_equal(tangent, [1, 1])


def pairs(x, y):
    def computation(a, b):
        later = lax.gt(b[0], a[0])
        return lax.select(later, b[0], a[0]), lax.select(later, b[1], a[1])

    return lax.reduce_window((x, y), (-np.inf, 0.0), computation, (2, 2), (1, 1), "SAME")


def test_several_operands_together():
    check_all(pairs, X[:3, :4], X[1:4, 2:6], order=1)


@pytest.mark.parametrize("window", ["plain", "padded"])
def test_an_initial_value_may_be_any_array(window):
    def function(x, init):
        text = f"lax.reduce_window(x, init, lax.add, {WINDOWS[window]})"
        return eval(text, {"lax": lax, "x": x, "init": init})

    check_all(function, X[:3, :4], np.float64(0.5), order=1)
    x = np.ones((2, 3), np.float32)
    inits = np.array([1.0, 2.0], np.float32)
    out = covector.vmap(lambda i: lax.reduce_window(x, i, lax.add, (2, 3)))(inits)
    np.testing.assert_array_equal(out, [[[7.0]], [[8.0]]])


def test_selections_are_linear_in_their_first_operand_alone():
    plain = {"window_dimensions": (2, 2), "window_strides": (2, 2), "padding": ((0, 1), (1, 0))}
    dilated = {**plain, "base_dilation": (1, 2), "window_dilation": (1, 1)}

    def gather(t, x):
        return lax.select_and_gather_add_p.bind(t, x, select_prim=lax.ge_p, **dilated)

    def scatter(source, x):
        return lax.select_and_scatter_add_p.bind(source, x, select_prim=lax.ge_p, **plain)

    with covector.enable_x64(True):
        x = X[:5, :5]
        t, source = X[:5, 2:], np.arange(9.0).reshape(3, 3)
        for function, first in ((gather, t), (scatter, source)):
            check_batched(function, first, x)
            check_all(function, first, x, order=1, wrt=(0,))
            tangent = covector.jvp(function, (first, x), (first, x))[1]
            np.testing.assert_array_equal(tangent, function(first, x))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        ("lax.reduce_window(x, 0., lax.add, (2,))", TypeError, "window_dimensions"),
        ("lax.reduce_window(x, 0., lax.add, (0, 2))", TypeError, "window_dimensions"),
        ("lax.reduce_window(x, 0., lax.add, (2, 2), (1,))", TypeError, "window_strides"),
        ("lax.reduce_window(x, 0., lax.add, (2, 2), (0, 1))", TypeError, "window_strides"),
        ("lax.reduce_window(x, 0., lax.add, (2, 2), (1, 1), ((0, 0),))", ValueError, "padding"),
        ("lax.reduce_window(x, 0., lax.add, (2, 2), (1, 1), 'FOO')", RuntimeError, "padding type"),
        (
            "lax.reduce_window(x, 0., lax.add, (2, 2), None, 'VALID', (0, 1))",
            TypeError,
            "base_dilation",
        ),
        ("lax.reduce_window(x, (0., 0.), lax.add, (2, 2))", ValueError, "tree structure"),
        ("lax.reduce_window(x, np.zeros(2), lax.add, (2, 2))", TypeError, "scalars"),
        ("lax.reduce_window(x, 0., lax.gt, (2, 2))", ValueError, "computation"),
        ("lax.reduce_window(x, 0., lax.add, (2, 2), None, ((-3, -3), (0, 0)))", ValueError, "cuts"),
    ],
)
def test_bad_input(call, error, words):
    with pytest.raises(error, match=words) as caught:
        eval(call, {"lax": lax, "np": np, "x": X.astype(np.float32)})
    assert "reduce_window" in str(caught.value) or "padding type" in str(caught.value)

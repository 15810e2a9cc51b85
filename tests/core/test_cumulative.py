"""Running sums, products and extrema: against the oracle, and the rules of each."""

import covector
import ml_dtypes
import numpy as np
import pytest
from core.primitive_checks import check_all, check_derivatives
from covector import lax
from covector.lax import cumulative
from oracle import Case, Tolerance

NUMBERS = ("int8", "uint32", "bfloat16", "float16", "float32", "complex64")
OPERATIONS = {
    "cumsum": NUMBERS,
    "cumprod": NUMBERS,
    "cummax": NUMBERS,
    "cummin": NUMBERS,
    "cumlogsumexp": ("bfloat16", "float16", "float32", "complex64"),
}
# The oracle rounds 16-bit floats after each step, we once at the end.
TOLERANCE = {"bfloat16": 0.05, "float16": 0.005, "float32": 1e-5, "complex64": 1e-5}


def samples(dtype, shape, seed=0):
    rng = np.random.default_rng(seed)
    dtype = np.dtype(getattr(ml_dtypes, dtype, dtype))
    if dtype.kind in "iu":
        return rng.integers(0, 4, shape).astype(dtype)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if dtype.kind == "c" else x).astype(dtype)


@pytest.mark.parametrize("name", OPERATIONS)
def test_cumulative_operations_are_the_oracle_s(oracle, name):
    cases = []
    for dtype in OPERATIONS[name]:
        x = samples(dtype, (5, 4))
        text = f"jax.jit(lambda x: [lax.{name}(x, a, r) for a in (0, 1) for r in (False, True)])(x)"
        cases.append(Case(text, {"x": x}, Tolerance(TOLERANCE, TOLERANCE)))
    x = samples("float32", (0, 2))
    cases += [Case(f"lax.{name}(x, {axis})", {"x": x}) for axis in (0, 1)]
    cases.append(Case(f"lax.{name}(lax.full((2,), 1.0))"))
    oracle.compare_many(cases)


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize(
    "values",
    [
        [1.0, np.nan, 0.0, 5.0, -np.inf],
        [1.0, np.inf, 0.0, 5.0],
        [-np.inf, -np.inf, 0.0],
        [np.inf, np.inf],
        [-np.inf, np.inf, 0.0],
    ],
)
def test_special_values_are_the_oracle_s(oracle, name, values):
    oracle.compare(f"lax.{name}(x)", x=np.array(values, np.float32), rtol=1e-6)


# Lengths around where a long axis is cut into blocks.
@pytest.mark.parametrize("reverse", (False, True))
@pytest.mark.parametrize("shape", ((1025,), (1500,), (2048,), (5003, 2), (2, 1500), (1, 1200, 2)))
def test_a_long_axis(shape, reverse):
    axis = int(np.argmax(shape))
    x = samples("float32", shape)
    references = {
        lax.cumsum: (x, np.cumsum),
        lax.cumprod: (1 + x / 100, np.cumprod),
        lax.cummax: (x, np.maximum.accumulate),
        lax.cummin: (x, np.minimum.accumulate),
        lax.cumlogsumexp: (x, np.logaddexp.accumulate),
    }
    for function, (sample, reference) in references.items():
        wide = sample.astype(np.float64)
        wide = np.flip(wide, axis) if reverse else wide
        expected = reference(wide, axis=axis)
        expected = np.flip(expected, axis) if reverse else expected
        out = function(sample, axis, reverse)
        np.testing.assert_allclose(out, expected, rtol=2e-5, atol=2e-4)


def test_a_long_linear_recurrence():
    a, b = np.cos(samples("float64", (1500, 2))), samples("float64", (1500, 2), seed=1)
    with covector.enable_x64(True):
        for reverse in (False, True):
            z, expected = np.zeros(2), []
            for a_i, b_i in zip(a[::-1] if reverse else a, b[::-1] if reverse else b):
                z = a_i * z + b_i
                expected.append(z)
            expected = expected[::-1] if reverse else expected
            out = cumulative.linear_recurrence(a, b, 0, reverse)
            np.testing.assert_allclose(out, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("reverse", (False, True))
@pytest.mark.parametrize("name", OPERATIONS)
def test_derivatives_batching_and_staging(name, reverse):
    function = getattr(lax, name)
    check_all(lambda x: function(x, 1, reverse), samples("float64", (2, 4)), order=2 - reverse)


def test_rules_of_the_linear_recurrence():
    a, b = samples("float64", (4, 2)), samples("float64", (4, 2), seed=1)
    check_all(lambda a, b: cumulative.linear_recurrence(a, b, 0, False), a, b)
    check_derivatives(lambda a, b: cumulative.linear_recurrence(a, b, 0, True), a, b, order=1)


def test_complex_derivatives():
    x = samples("complex128", (4,))
    for function in (lax.cumsum, lax.cumprod, lax.cumlogsumexp):
        check_derivatives(function, x, order=1)


def test_the_derivative_of_a_product_with_zeros(oracle):
    x = np.array([2.0, 0.0, 3.0, 0.0, 4.0], np.float32)
    oracle.compare("jax.jacrev(lax.cumprod)(x)", x=x)
    oracle.compare("jax.hessian(lambda x: lax.cumprod(x)[2])(x)", x=x)


def test_equal_extrema_share_the_derivative():
    rows = covector.jacrev(lax.cummax)(np.array([1.0, 1.0, 1.0, 2.0, 2.0], np.float32))
    expected = [[1, 0, 0, 0, 0], [1 / 2, 1 / 2, 0, 0, 0], [1 / 3, 1 / 3, 1 / 3, 0, 0]]
    expected += [[0, 0, 0, 1, 0], [0, 0, 0, 1 / 2, 1 / 2]]
    np.testing.assert_allclose(rows, expected, rtol=1e-6)


def test_the_derivative_of_cumlogsumexp_where_nothing_was_added():
    x = np.array([-np.inf, -np.inf, 0.0, -np.inf], np.float32)
    for jacobian in (covector.jacrev, covector.jacfwd):
        rows = jacobian(lax.cumlogsumexp)(x)
        np.testing.assert_array_equal(rows, [[0] * 4, [0] * 4, [0, 0, 1, 0], [0, 0, 1, 0]])


WRONG = """
lax.cumsum(x, -1)
lax.cumprod(x, 2)
lax.cummax(1.0, 0)
lax.cummin(x, None)
lax.cumsum(x > 0, 0)
lax.cumlogsumexp(x > 0, 0)
""".strip().splitlines()


@pytest.mark.parametrize("snippet", WRONG)
def test_wrong_arguments_raise_what_the_oracle_raises(oracle, snippet):
    assert oracle.compare_error(snippet, x=samples("float32", (2, 3))).message


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_way_of_other_platforms_gives_the_same(name):
    """By doubling, run here on CPU."""
    monoid = {
        "cumsum": (lax.add, 0.0),
        "cumprod": (lax.mul, 1.0),
        "cummax": (lax.max, -np.inf),
        "cummin": (lax.min, np.inf),
        "cumlogsumexp": (cumulative._logaddexp, -np.inf),
    }[name]
    combine = cumulative._elementwise(monoid[0], lambda dtype: monoid[1], widen=False)
    x = samples("float32", (2, 7))
    for reverse in (False, True):
        (out,) = cumulative._by_doubling(combine, [covector.device_put(x)], 1, reverse)
        expected = getattr(lax, name)(x, 1, reverse)
        np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-6)


def test_disable_jit_runs_them():
    with covector.disable_jit():
        np.testing.assert_array_equal(lax.cumsum(np.arange(4)), [0, 1, 3, 6])

"""Elements at given ranks: found by bisection in long rows, by sorting in short ones."""

import covector as cv
import ml_dtypes
import numpy as np
import pytest
from covector import lax
from covector.lax.order_statistics import order_statistics

LONG, SHORT = 5000, 7
DTYPES = ["float32", "float16", "bfloat16", "int32", "uint8", "int16", "bool"]


def rows(dtype: str, count: int) -> np.ndarray:
    """Two rows with repeated values; floats also with nan, infinities and both zeros."""
    values = np.random.default_rng(0).standard_normal((2, count)) * 50
    if np.dtype(getattr(ml_dtypes, dtype, dtype)).kind in "fV":
        values[:, :6] = [np.nan, np.inf, -np.inf, 0.0, -0.0, np.nan]
    with np.errstate(invalid="ignore"):
        return np.round(values).astype(getattr(ml_dtypes, dtype, dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [SHORT, LONG])
def test_elements_of_the_sorted_row(dtype, count):
    x = rows(dtype, count)
    ranks = np.array([[0, count - 1], [count // 2, count // 2 + 1]], np.int32)
    row = np.sort(x.astype(np.float64), axis=-1)
    for actual, places in zip(
        cv.jit(order_statistics)(x, ranks), (ranks, np.minimum(ranks + 1, count - 1))
    ):
        assert actual.dtype == x.dtype
        expected = np.take_along_axis(row, places, axis=-1)
        np.testing.assert_array_equal(np.asarray(actual).astype(np.float64), expected)


def test_doubles():
    with cv.enable_x64(True):
        x = np.random.default_rng(0).standard_normal(LONG)
        ranks = np.array([0, LONG - 1])
        np.testing.assert_array_equal(order_statistics(x, ranks)[0], np.sort(x)[ranks])


def test_many_ranks_may_repeat():
    x = np.array([3.0, 1.0, 2.0], np.float32)
    gradient = cv.grad(lambda x: lax.reduce_sum(order_statistics(x, np.array([0, 0, 2]))[0], (0,)))
    assert gradient(x).tolist() == [1.0, 2.0, 0.0]


def test_derivative_goes_to_the_element():
    x = np.random.default_rng(0).permutation(LONG).astype(np.float32)
    value, gradient = cv.value_and_grad(lambda x: order_statistics(x, np.array([42]))[0][0])(x)
    assert value == 42
    np.testing.assert_array_equal(gradient, (x == 42).astype(np.float32))


@pytest.mark.parametrize("in_axes", [(0, None), (None, 0), (1, 0)])
def test_batches(in_axes):
    x = np.random.default_rng(0).standard_normal((LONG, 2)).astype(np.float32)
    x = x if in_axes[0] == 1 else x.T if in_axes[0] == 0 else x[:, 0]
    ranks = np.array([3, 4]) if in_axes[1] is None else np.array([[3], [4]])
    actual, _ = cv.vmap(order_statistics, in_axes)(x, ranks)
    for i in range(2):
        row = x if in_axes[0] is None else np.take(x, i, in_axes[0])
        rank = ranks if in_axes[1] is None else ranks[i]
        np.testing.assert_array_equal(actual[i], np.sort(row)[rank])


def test_shapes_must_fit():
    with pytest.raises(TypeError, match="same shape but for the last axis"):
        order_statistics(np.zeros((2, 3)), np.zeros((3, 1), np.int32))

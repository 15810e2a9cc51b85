"""Slices at known and at computed places: against the oracle, and the rules of each."""

import covector
import ml_dtypes
import numpy as np
import pytest
from core.primitive_checks import check_all
from covector import lax
from oracle import Case, Tolerance

X = np.arange(12.0, dtype=np.float32).reshape(3, 4)
DTYPES = ("bool", "int4", "bfloat16", "float32", "complex64")

# Each snippet sees x, of shape (3, 4), and an index i of value 2.
SLICES = """
lax.slice(x, (0, 1), (2, 4))
lax.slice(x, (0, 0), (3, 4), (2, 3))
lax.slice(x, (1, 1), (1, 4))
lax.slice(x, (3, 0), (3, 1))
lax.slice(x, (0, 0), (3, 4))
lax.slice_in_dim(x, -2, None, axis=1)
lax.slice_in_dim(x, 0, 3, 2)
lax.slice_in_dim(x, None, -1, 1, -1)
lax.index_in_dim(x, -1, 1)
lax.index_in_dim(x, 2, keepdims=False)
lax.dynamic_slice(x, (0, -1), (1, 1))
lax.dynamic_slice(x, (i, i), (2, 3))
lax.dynamic_slice(x, (1, i), (1, 1))
lax.dynamic_slice(x, jnp.array([1, 7]), (2, 2))
lax.dynamic_slice(x, (-i, -i), (1, 1))
lax.dynamic_slice(x, (-i, i), (1, 1), allow_negative_indices=False)
lax.dynamic_slice(x, (-i, -i), (1, 1), allow_negative_indices=(True, False))
lax.dynamic_slice(x, (-9 * i, i), (1, 1))
lax.dynamic_slice(x, (0, 0), (0, 2))
lax.dynamic_slice(x[0, 0], (), ())
lax.dynamic_slice(x, (i.astype(np.uint8), np.uint8(2)), (1, 2))
lax.dynamic_slice_in_dim(x, i, 2, -1)
lax.dynamic_slice_in_dim(x, -1, 2)
lax.dynamic_index_in_dim(x, i, 1)
lax.dynamic_index_in_dim(x, -i, -1, False)
lax.dynamic_update_slice(x, x[:1, :2], (0, -1))
lax.dynamic_update_slice(x, x[:2, :2], (i, i))
lax.dynamic_update_slice(x, x[:2, :2], (-9 * i, i))
lax.dynamic_update_slice(x, x[:2, :2], jnp.array([0, 1]))
lax.dynamic_update_slice(x, x[:0, :2], (0, 1))
lax.dynamic_update_slice(x[0, 0], x[0, 1], ())
lax.dynamic_update_slice_in_dim(x, x[:, :2], i, -1)
lax.dynamic_update_index_in_dim(x, x[0], i, 0)
lax.dynamic_update_index_in_dim(x, x[:1], -1, 0)
lax.dynamic_update_index_in_dim(x, x[:, 0], -i, 1)
""".strip().splitlines()


@pytest.mark.parametrize("dtype", DTYPES)
def test_slices_are_the_oracle_s(oracle, dtype):
    x = (X % 7).astype(np.int32).astype(np.dtype(getattr(ml_dtypes, dtype, dtype)))
    inputs = {"x": x, "i": np.array(2, np.int32)}
    oracle.compare_many([Case(s, inputs, Tolerance(exact=True)) for s in SLICES])


WEAK = """
lax.slice(lax.full((3,), 1.0), (0,), (2,))
lax.dynamic_slice(lax.full((3,), 1.0), (0,), (2,))
lax.dynamic_update_slice(lax.full((3,), 1.0), lax.full((1,), 1.0), (0,))
lax.dynamic_update_slice(lax.full((3,), 1.0), jnp.ones(1), (0,))
""".strip().splitlines()


def test_weak_types_are_the_oracle_s(oracle):
    oracle.compare_many([Case(s) for s in WEAK])


WRONG = """
lax.slice(x, (0, 0), (4, 1))
lax.slice(x, (1, 0), (0, 1))
lax.slice(x, (0, 0), (1, 1), (1,))
lax.slice(x, (0,), (1,))
lax.slice(x, (0.0, 0), (1, 1))
jax.jit(lambda x: lax.slice(x, (-1, 0), (1, 1)))(x)
jax.jit(lambda x: lax.slice(x, (0, 0), (1, 1), (-1, 1)))(x)
lax.slice_in_dim(x, 0, 7, 1, 1)
lax.slice_in_dim(x, 0, 3, 1, 5)
lax.slice_in_dim(x, -9, 3, 1, 1)
lax.index_in_dim(x, 5, 1)
lax.index_in_dim(x, -5, 1)
lax.dynamic_slice(x, (0, -1), (1, 1), allow_negative_indices=False)
lax.dynamic_slice(x, (0, -1), (1, 1), allow_negative_indices=(True, False))
lax.dynamic_slice(x, (0, -1), (1, 5))
lax.dynamic_slice(x, (0, -1), (1, -1))
lax.dynamic_slice(x, (0,), (1, 4))
lax.dynamic_slice(x, (0, 0), (1,))
lax.dynamic_slice(x, (0.0, 0.0), (1, 1))
lax.dynamic_slice(x, jnp.array([[1, 1]]), (1, 1))
lax.dynamic_slice(x, (jnp.array([1]), 1), (1, 1))
lax.dynamic_slice(x, (jnp.int8(1), jnp.uint32(1)), (1, 1))
lax.dynamic_slice(x, (True, True), (1, 1))
lax.dynamic_update_slice(x, x[:1].astype(int), (0, 0))
lax.dynamic_update_slice(x, x[0], (0, 0))
lax.dynamic_update_slice(x, jnp.ones((4, 1)), (0, 0))
lax.dynamic_update_slice(x, jnp.ones((1, 1)), (0,))
""".strip().splitlines()


@pytest.mark.parametrize("snippet", WRONG)
def test_wrong_arguments_raise_what_the_oracle_raises(oracle, snippet):
    assert oracle.compare_error(snippet, x=X).message


I = np.array(1)
RULES = {
    "slice": (lambda x: lax.slice(x, (0, 1), (3, 4), (2, 2)), X),
    "slice nothing": (lambda x: lax.slice(x, (1, 1), (1, 4)), X),
    "dynamic_slice": (lambda x, i, j: lax.dynamic_slice(x, (i, j), (2, 2)), X, I, I),
    "dynamic_slice clamped": (lambda x, i: lax.dynamic_slice(x, (i, -i), (3, 2)), X, I),
    "dynamic_slice nothing": (lambda x, i: lax.dynamic_slice(x, (i, i), (0, 2)), X, I),
    "dynamic_index": (lambda x, i: lax.dynamic_index_in_dim(x, i, 1, False), X, I),
    "dynamic_update_slice": (
        lambda x, y, i: lax.dynamic_update_slice(x, y, (i, i)),
        X,
        X[:2, :2] + 100,
        I,
    ),
    "dynamic_update_slice clamped": (
        lambda x, y, i: lax.dynamic_update_slice(x, y, (i, 9)),
        X,
        X[:, :2] + 100,
        I,
    ),
    "dynamic_update_index": (
        lambda x, y, i: lax.dynamic_update_index_in_dim(x, y, i, 1),
        X,
        X[:, 0] + 100,
        I,
    ),
}


@pytest.mark.parametrize("name", RULES)
def test_derivatives_batching_and_staging(name):
    function, *args = RULES[name]
    check_all(function, *[np.asarray(x, np.float64) if x.ndim else x for x in args])


def test_each_element_of_a_batch_has_its_own_start():
    starts = np.array([0, 1, 7, -1])

    def part(i):
        return lax.dynamic_slice(X, (i, 0), (2, 3))

    def updated(i):
        return lax.dynamic_update_slice(X, np.full((2, 3), 9, np.float32), (i, 0))

    for function in (part, updated):
        rows = covector.vmap(function)(starts)
        for row, i in zip(rows, starts):
            np.testing.assert_array_equal(row, function(i))


@pytest.mark.parametrize("dtype", ("int8", "uint8", "int16"))
def test_narrow_indices_into_a_long_axis(dtype):
    """An index dtype that cannot hold the axis' size: JAX 0.12 lets -3 + 300 overflow in int8."""
    x = np.arange(300)
    starts = np.array([-3, 100]).astype(dtype)

    def part(i):
        return lax.dynamic_slice(x, (i,), (2,))

    for i, row in zip(starts, covector.vmap(part)(starts)):
        place = int(i) % 300
        for out in (row, part(i), covector.jit(part)(i)):
            np.testing.assert_array_equal(out, [place, place + 1])

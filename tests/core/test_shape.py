"""Shapes: broadcast, reshape, transpose, join, split, pad, fill; against the oracle, and rules."""

import importlib

import covector
import numpy as np
import pytest
from core.primitive_checks import check_all
from covector import lax
from oracle import Case, Tolerance

X = np.arange(6.0, dtype=np.float32).reshape(2, 3)
DTYPES = ("bool", "int4", "bfloat16", "float8_e4m3fn", "float32", "complex64")

# Each snippet sees x, of shape (2, 3).
MOVES = """
lax.broadcast(x, (2,))
lax.broadcast(x, ())
lax.broadcast(1.0, (2,))
lax.broadcast_in_dim(x, (2, 4, 3), (0, 2))
lax.broadcast_in_dim(x[:, :1], (2, 3), (0, 1))
lax.broadcast_in_dim(x, (2, 3), (0, 1))
lax.broadcast_in_dim(x[:0], (0, 5, 3), (0, 2))
lax.broadcast_in_dim(2, (2, 2), ())
lax.broadcast_to_rank(x, 4)
lax.broadcast_to_rank(x, 1)
lax.broadcast_like(x[0], x)
lax.broadcast_like(1.0, x)
lax.reshape(x, (3, 2))
lax.reshape(x, (3, 2), (1, 0))
lax.reshape(x, 6)
lax.reshape(x[:0], (0, 7))
lax.reshape(2.0, (1, 1))
lax.squeeze(x[None], (0,))
lax.squeeze(x[None, ..., None], (-1, 0))
lax.squeeze(x, ())
lax.expand_dims(x, (0, -1))
lax.expand_dims(x, (1,))
lax.expand_dims(x, ())
lax.collapse(x, 0, 2)
lax.collapse(x, 0)
lax.collapse(x[None], -2)
lax.collapse(x[None], 1, 1)
lax.transpose(x, (1, 0))
lax.transpose(x, (0, 1))
lax.transpose(x[0, 0], ())
lax.rev(x, (0,))
lax.rev(x, (1, 0))
lax.rev(x, ())
lax.concatenate([x, x], 0)
lax.concatenate([x, x[:, :0], x[:, :2]], 1)
lax.concatenate([x], 1)
lax.concatenate(x, 0)
lax.stack([x, x])
lax.stack([x, x], -1)
lax.stack([x, x], axis=1)
lax.unstack(x)
lax.unstack(x, -1)
lax.unstack(x[:0])
lax.split(x, (2, 1), 1)
lax.split(x, (0, 2), 0)
lax.split(x, (2,), -2)
lax.tile(x, (2, 1))
lax.tile(x, (1, 3))
lax.tile(x, (0, 2))
lax.tile(x, (1, 1))
lax.pad(x, x[0, 1], [(1, 2, 0), (0, 0, 1)])
lax.pad(x, x[0, 1], [(-1, 2, 0), (1, -2, 3)])
lax.pad(x, x[0, 1], [(0, 0, 0), (-2, -1, 1)])
lax.pad(x, x[0, 1], [(0, 0, 0), (0, 0, 0)])
lax.pad(x[:0], x[0, 1], [(2, 0, 3), (0, -3, 0)])
""".strip().splitlines()


@pytest.mark.parametrize("dtype", DTYPES)
def test_moving_elements_does_what_the_oracle_does(oracle, dtype):
    x = X.astype(np.int32).astype(_dtype(dtype))
    oracle.compare_many([Case(s, {"x": x}, Tolerance(exact=True)) for s in MOVES])


def _dtype(name):
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, name, name))


FILLS = """
lax.full((2,), 1)
lax.full((2,), 1.5)
lax.full((2,), 1.5, int)
lax.full((2,), np.float32(3))
lax.full((2,), 300, np.int8)
lax.full((2,), 2, bool)
lax.full((2,), 1j)
lax.full((0, 3), True)
lax.full(2, 1)
lax.full((2,), jnp.float32(3), jnp.bfloat16)
lax.full_like(x, 3)
lax.full_like(x, 3, dtype=int)
lax.full_like(x, 3, shape=(4,))
lax.full_like(lax.full((2,), 1), 3)
lax.full_like(lax.full((2,), 1), 3, shape=(3,))
lax.full_like(lax.full((2,), 1), 3, dtype=float)
lax.full_like(lax.full((2,), 1), 3, dtype=int)
lax.full_like(1.0, 3)
lax.empty((2, 3), np.float32).shape
lax.iota(np.float32, 3)
lax.iota(int, 3)
lax.iota(complex, 3)
lax.iota(jnp.bfloat16, 3)
lax.iota(np.uint8, 0)
lax.broadcasted_iota(np.int32, (2, 3), 0)
lax.broadcasted_iota(np.int32, (2, 3), 1)
lax.broadcast_shapes((2, 1), (3,), ())
lax.broadcast_shapes((0, 1), (1, 5))
lax.concatenate([lax.full((2,), 1.0), lax.full((2,), 1.0)], 0)
lax.concatenate([lax.full((2,), 1.0), jnp.ones(2)], 0)
lax.pad(lax.full((2,), 1.0), 1.0, [(0, 1, 0)])
lax.pad(lax.full((2,), 1.0), np.float32(1), [(0, 1, 0)])
lax.pad(x, 1.0, [(0, 1, 0), (0, 0, 0)])
lax.stack([lax.full((2,), 1), lax.full((2,), 1)])
lax.tile(lax.full((2,), 1), (2,))
lax.split(lax.full((2,), 1), (1, 1))
lax.squeeze(lax.full((1,), 1), (0,))
""".strip().splitlines()


def test_filling_and_weak_types_are_the_oracle_s(oracle):
    oracle.compare_many([Case(s, {"x": X}, Tolerance(exact=True)) for s in FILLS])


WRONG = """
lax.concatenate([x, x.astype(int)], 0)
lax.concatenate([x, jnp.ones((2, 2))], 0)
lax.concatenate([x, jnp.ones(2)], 0)
lax.concatenate([], 0)
lax.concatenate([x, x], -1)
lax.concatenate([1.0, 2.0], 0)
lax.pad(x, 0.0, [(0, 0, 0)])
lax.pad(x, 0, [(0, 0, 0), (1, 0, 0)])
lax.pad(x, 0.0, [(0, 0, 0), (1, 0, -1)])
lax.pad(x, 0.0, [(0, 0, 0), (-2, -2, 0)])
lax.pad(x, jnp.ones(1), [(0, 0, 0), (0, 0, 0)])
lax.pad(x, 0.0, [(0, 0), (0, 0)])
lax.rev(x, (2,))
lax.rev(x, (-1,))
lax.rev(x, (1, 1))
lax.iota(bool, 3)
lax.iota(np.int32, -1)
lax.broadcasted_iota(np.int32, (2, 3), 2)
lax.broadcasted_iota(np.int32, (2, 3), -1)
lax.squeeze(x, (1,))
lax.squeeze(x[None], (0, -3))
lax.squeeze(x, (7,))
lax.expand_dims(x, (0, 0))
lax.expand_dims(x, (9,))
lax.stack([x, x[0]])
lax.stack([])
lax.stack([1, 2.0])
lax.tile(x, (2,))
lax.split(x, (2, 2), 1)
lax.split(x, (4, -1), 1)
lax.split(x, (3,), 5)
lax.full((2,), jnp.ones(2))
lax.full((-2,), 1)
lax.full((2,), "a")
lax.full_like(x, jnp.ones(3))
lax.broadcast(x, (-2,))
lax.broadcast_shapes((2,), (3,))
lax.broadcast_like(jnp.ones((4, 1)), x)
lax.broadcast_like(x, 1.0)
lax.collapse(x, 2, 1)
lax.reshape(x, (-1,))
lax.reshape(x, (3, 3))
lax.reshape(x, (3, 2), (1, 1))
lax.transpose(x, (0,))
lax.transpose(x, (-1, 0))
lax.broadcast_in_dim(x, (2, 3), (0,))
lax.broadcast_in_dim(x, (2, 3), (1, 0))
lax.broadcast_in_dim(x, (4, 3), (0, 1))
lax.broadcast_in_dim(x, (4, 3), (0, 2))
lax.broadcast_in_dim(x, (3,), (0, 1))
lax.broadcast_in_dim(x, (2, -3), (0, 1))
""".strip().splitlines()


@pytest.mark.parametrize("snippet", WRONG)
def test_wrong_arguments_raise_what_the_oracle_raises(oracle, snippet):
    error = oracle.compare_error(snippet, x=X)
    assert error.message


RULES = {
    "broadcast_in_dim": (lambda x: lax.broadcast_in_dim(x, (2, 4, 3), (0, 2)), X),
    "broadcast_in_dim stretch": (lambda x: lax.broadcast_in_dim(x, (2, 3), (0, 1)), X[:, :1]),
    "broadcast_in_dim scalar": (lambda x: lax.broadcast_in_dim(x, (2,), ()), X[0, 0]),
    "reshape": (lambda x: lax.reshape(x, (3, 2)), X),
    "reshape split": (lambda x: lax.reshape(x, (2, 3, 1)), X),
    "reshape empty": (lambda x: lax.reshape(x, (3, 0)), X[:0]),
    "squeeze": (lambda x: lax.squeeze(x, (1, 3)), X[:, None, :, None]),
    "expand_dims": (lambda x: lax.expand_dims(x, (0, 2)), X),
    "transpose": (lambda x: lax.transpose(x, (2, 0, 1)), X[:, :, None]),
    "rev": (lambda x: lax.rev(x, (1,)), X),
    "concatenate": (lambda x, y: lax.concatenate([x, y, x], 1), X, X[:, :1]),
    "stack": (lambda x, y: lax.stack([x, y], 1), X, X + 1),
    "stack last": (lambda x, y: lax.stack([x, y], -1), X, X + 1),
    "unstack": (lambda x: lax.unstack(x, 1), X),
    "unstack one": (lambda x: lax.unstack(x, 1)[1], X),
    "split": (lambda x: lax.split(x, (1, 2), 1), X),
    "split one": (lambda x: lax.split(x, (1, 2), 1)[0], X),
    "tile": (lambda x: lax.tile(x, (2, 3)), X),
    "tile none": (lambda x: lax.tile(x, (0, 3)), X),
    "pad": (lambda x, v: lax.pad(x, v, [(1, 0, 0), (0, 1, 2)]), X, np.float32(7)),
    "pad cut": (lambda x, v: lax.pad(x, v, [(-1, 2, 0), (-1, -1, 1)]), X, np.float32(7)),
    "pad empty": (lambda x, v: lax.pad(x, v, [(1, 1, 1), (0, 0, 0)]), X[:0], np.float32(7)),
    "collapse": (lambda x: lax.collapse(x, 0), X),
}


@pytest.mark.parametrize("name", RULES)
def test_derivatives_batching_and_staging(name):
    function, *args = RULES[name]
    check_all(function, *[np.asarray(x, np.float64) for x in args])


def test_unstacking_many_rows():
    x = np.arange(100.0, dtype=np.float32)
    rows = lax.unstack(lax.add(x, np.float32(0)))
    np.testing.assert_array_equal(np.stack(rows), x)
    weights = np.arange(100.0, dtype=np.float32)

    def weighted(x):
        return lax.reduce_sum(lax.mul(lax.stack(lax.unstack(x)), weights), (0,))

    np.testing.assert_array_equal(covector.grad(weighted)(x), weights)


def test_an_operation_that_changes_nothing_returns_its_operand():
    x = lax.full((2, 3), 1.0)
    for y in (
        lax.reshape(x, (2, 3)),
        lax.transpose(x, (0, 1)),
        lax.broadcast_in_dim(x, (2, 3), (0, 1)),
        lax.concatenate([x], 0),
        lax.squeeze(x, ()),
        lax.tile(x, (1, 1)),
        lax.slice(x, (0, 0), (2, 3)),
        lax.reduce_sum(x, ()),
    ):
        assert y is x


def test_a_submodule_does_not_hide_the_function_of_its_name():
    for name in ("gather", "reduce", "scatter"):
        importlib.import_module(f"covector.lax.{name}")
        assert callable(getattr(lax, name)), name

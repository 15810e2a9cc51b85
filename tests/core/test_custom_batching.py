"""`custom_vmap` and `sequential_vmap`, against the oracle."""

from __future__ import annotations

import covector as cv
import covector.custom_batching
import numpy as np
import pytest
from covector import lax
from oracle import Case

SETUP = """
from jax.custom_batching import custom_vmap, sequential_vmap
@custom_vmap
def f(x, y):
    return {"a": lax.mul(lax.sin(x), y), "b": lax.neg(y)}
@f.def_vmap
def rule(size, batched, x, y):
    x, y = [v if b else lax.broadcast(v, (size,)) for v, b in zip((x, y), batched)]
    return {"a": lax.mul(lax.cos(x), y), "b": lax.abs(y)}, {"a": True, "b": True}
g = sequential_vmap(lambda x, y: lax.mul(lax.sin(x), y))
x, y = np.array([0.5, 1.0], np.float32), np.float32(3)
"""
CASES = (
    "f(y, y)",
    "jax.vmap(f, (0, None))(x, y)",
    "jax.vmap(f, (None, 0))(y, x)",
    "jax.vmap(f, (None, 0), -1)(y, x)",
    "jax.jit(jax.vmap(f))(x, x)",
    "jax.vmap(jax.jit(f))(x, x)",
    "jax.jvp(f, (y, y), (y, y))",
    "jax.jvp(jax.vmap(f), (x, x), (x, x))",
    "jax.vmap(lambda a, b: jax.jvp(lambda c: f(c, y), (a,), (b,)))(x, x)",
    "jax.jit(jax.vmap(lambda a, b: jax.jvp(jax.jit(lambda c: f(c, y)), (a,), (b,))))(x, x)",
    "jax.grad(lambda a: f(a, y)['a'])(y)",
    "jax.vmap(g, (0, None))(x, y)",
    "jax.vmap(g)(x, x)",
    "jax.jvp(jax.vmap(g, (0, None)), (x, y), (x, y))",
)


def test_values(oracle):
    oracle.compare_many([Case(f"{SETUP}\n{case}", may_raise=True) for case in CASES])


def test_tangent_alone_is_batched():
    f = cv.custom_batching.custom_vmap(lax.sin)
    f.def_vmap(lambda size, batched, x: (lax.mul(x, 5.0), batched[0]))
    tangents = cv.vmap(lambda t: cv.jvp(f, (np.float32(1),), (t,))[1])(np.ones(3, np.float32))
    np.testing.assert_array_equal(tangents, [5, 5, 5])


def test_bad_rules():
    f = cv.custom_batching.custom_vmap(lax.neg)
    x = np.ones(2, np.float32)
    with pytest.raises(AttributeError, match="No batching rule"):
        cv.vmap(f)(x)
    f.def_vmap(lambda size, batched, x: x)
    with pytest.raises(TypeError, match="must return a pair"):
        cv.vmap(f)(x)
    f.def_vmap(lambda size, batched, x: (x, [True]))
    with pytest.raises(ValueError, match="of the structure of its output"):
        cv.vmap(f)(x)

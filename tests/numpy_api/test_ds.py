"""`covector.ds` as an index, with starts that are known and that are not."""

import covector
import covector.numpy as jnp
import numpy as np
import pytest
from oracle import Case

X = np.arange(10, dtype=np.int32)
GRID = np.arange(24, dtype=np.float32).reshape(4, 6)


def test_starts(oracle):
    """Known ones are like a slice's; others are moved so that all elements are there."""
    body = "f = jax.jit(lambda i: x[jax.ds(i, 3)])\n[f(i) for i in starts]"
    cases = [Case(body, {"x": X, "starts": [0, 5, 8, 12, -1, -4]})]
    cases += [Case("x[jax.ds(i, 3)]", {"x": X, "i": i}) for i in (0, 5, 8, 12, -1, -4)]
    calls = [
        "x[jax.ds(None)]",
        "x[jax.ds(3)]",
        "x[jax.ds(None, 3)]",
        "x[jax.ds(1, 5, 2)]",
        "x[jax.ds(2, 0)]",
        "g[jax.ds(1, 2), ..., jax.ds(0, 3)]",
        "jax.jit(lambda i: g[jax.ds(i, 2), jax.ds(i, 3)])(1)",
        "jax.jit(lambda i: g[jax.ds(i, 2), jnp.array([1, 2])])(1)",
        "jax.jit(lambda i: g[None, :, jax.ds(i, 3)])(1)",
        "jax.jit(lambda i: g[1, jax.ds(i, 6)])(3)",
        "jax.jit(lambda i: x.at[jax.ds(i, 3)].set(-1))(1)",
        "jax.jit(lambda i: g.at[jax.ds(i, 2), jax.ds(1, 2)].add(10.0))(1)",
        "jax.vmap(lambda i: x[jax.ds(i, 3)])(jnp.arange(3))",
        "jax.grad(lambda v: jnp.sum(v[jax.ds(1, 2)] ** 2))(g[0])",
        "jax.jit(jax.grad(lambda v, i: jnp.sum(v[jax.ds(i, 2)] ** 2)), )(g[0], 3)",
    ]
    oracle.compare_many([*cases, *[Case(c, {"x": X, "g": GRID}) for c in calls]])


def test_eager_start_on_a_device():
    """(The oracle fails on it.)"""
    start = jnp.int32(4)
    np.testing.assert_array_equal(jnp.asarray(X)[covector.ds(start, 2)], [4, 5])


def test_stride_from_an_unknown_start():
    """As where the start is known. (The oracle takes size times stride elements.)"""
    f = covector.jit(lambda i: jnp.asarray(X)[covector.ds(i, 6, 2)])
    np.testing.assert_array_equal(f(1), X[1:7:2])


def test_a_tree():
    """Known parts belong to the structure, others are leaves."""
    assert covector.tree.leaves(covector.ds(1, 2)) == []
    f = covector.jit(lambda part: jnp.asarray(X)[part])
    np.testing.assert_array_equal(f(covector.ds(jnp.int32(3), 2)), [3, 4])


def test_the_object():
    part = covector.ds(1, 6, 2)
    assert (part.start, part.size, part.stride) == (1, 6, 2)
    assert not part.is_dynamic_start
    assert type(part).from_slice(slice(1, 6, 2), 10) == covector.ds(1, 3, 2)


def test_errors(oracle):
    for call in (
        "jax.jit(lambda i: x[jax.ds(1, i)])(1)",
        "jax.jit(lambda i: x[jax.ds(i, 20)])(0)",
    ):
        oracle.compare_error(call, x=X)
    with pytest.raises(TypeError, match="ds: size"):
        covector.ds(3, None)

"""``x.at[...]``: updates of every kind against NumPy, modes, masks, gradients."""

import functools

import covector
import covector.numpy as jnp
import numpy as np
import pytest

from numpy_api.compare import compare_all, compare_errors
from numpy_api.test_indexing import EVERY, X, index_of

UPDATES = {
    "set": None,
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
}


def update(name, index, x, value):
    return getattr(x.at[index], name)(value)


def updated(name, index, value):
    expected = X.copy()
    if name == "set":
        expected[index] = value
    else:
        UPDATES[name].at(expected, index, value)
    return expected


@pytest.mark.parametrize("expression", EVERY)
def test_set_and_add(expression):
    index = index_of(expression)
    value = np.float32(-1.5) + np.zeros(X[index].shape, np.float32)
    for name in ("set", "add"):
        for v in (np.float32(-1.5), value):
            expected = updated(name, index, v)
            np.testing.assert_array_equal(getattr(jnp.asarray(X).at[index], name)(v), expected)
            jitted = covector.jit(functools.partial(update, name, index))
            np.testing.assert_array_equal(jitted(X, v), expected)


@pytest.mark.parametrize("name", UPDATES)
@pytest.mark.parametrize("expression", ["0", ":, 0:3:2", "np.array([1, 0])", "X > 5"])
def test_all_updates(name, expression):
    index = eval(f"np.s_[{expression}]")
    value = np.float32(3.0)
    result = getattr(jnp.asarray(X).at[index], name)(value)
    np.testing.assert_array_equal(result, updated(name, index, value))


def test_against_the_oracle(oracle):
    compare_all(
        oracle,
        """
            i.at[0].divide(2)
            f.at[0].power(2)
            v.at[jnp.array([0, 0])].power(2)
            v.at[jnp.array([0, 0])].divide(2)
            f.at[0].apply(jnp.exp)
            v.at[jnp.array([1, 1])].apply(lambda x: x * 3)
            f.at[b].apply(jnp.sin)
            f.at[0].set([1, 2, 3])
            f.at[:, ::-1].set(v)
            f.at[None, 0].set(v)
            f.at[()].set(3)
            f.at[...].add(3)
            f.at[True].set(3)
            f.at[b].set(jnp.nan)
            f.at[b].multiply(10)
            i.at[b].set(jnp.array([7, 8, 9]))
            i8.at[1].set(300)
            h.at[1].add(1)
            i.at[0].multiply(2)
            f.at[jnp.array([5])].set(1)
            f.at[jnp.array([-7])].set(1)
            f.at[jnp.array([5])].set(1, mode='clip')
            f.at[7].set(1, mode='drop')
            f.at[7].set(1, mode='clip')
            f.at[-7].set(1, mode='clip')
            i.at[jnp.array([7])].add(3, mode='drop')
            i.at[jnp.array([-1])].set(9, mode='promise_in_bounds')
            i.at[jnp.array([-1])].set(9, wrap_negative_indices=False)
            jax.jit(lambda x, k: x.at[k].set(1.0))(f, 7)
            jax.jit(lambda x, k: x.at[k].add(1.0))(f, -1)
            jax.jit(lambda x, k: x.at[k, 1:].set(1.0, mode='clip'))(f, 7)
            jnp.asarray(1.0).at[()].set(2)
            f.at[0].mul(2.0)
            f.at[0].set(5, indices_are_sorted=True, unique_indices=True)
            f.at[jnp.array([0, 1]), jnp.array([1])].min(-2.0)
            u8.at[0].add(250)
            f.at[:, jnp.array([0, 0])].add(1.0)
            c.at[0].set(1j)
            b.at[0].set(True)
            empty.at[:].set(1)
            """,
        rtol=1e-5,
    )


def test_traced_masks_select():
    x = np.arange(16).reshape(4, 4)
    f = covector.jit(lambda x: x.at[:4, jnp.mod(x[0], 2) == 0].set(0))
    np.testing.assert_array_equal(f(x), np.where(x % 2 == 0, 0, x))
    g = covector.jit(lambda x: x.at[x < 5].set(0))
    np.testing.assert_array_equal(g(np.arange(10)), [0, 0, 0, 0, 0, 5, 6, 7, 8, 9])
    h = covector.jit(lambda x, m, v: x.at[1:, m].add(v))
    mask = np.array([True, False, True, False])
    for value in (7, np.array([[1], [2], [3]])):
        expected = x.copy()
        expected[1:, mask] += value
        np.testing.assert_array_equal(h(x, mask, value), expected)
    k = covector.jit(lambda x, m: x.at[0, m].multiply(10))
    np.testing.assert_array_equal(k(x, mask), [x[0] * np.where(mask, 10, 1), *x[1:]])


def test_a_traced_mask_with_a_value_for_each_element_is_an_error():
    with pytest.raises(covector.errors.NonConcreteBooleanIndexError):
        covector.jit(lambda x, m: x.at[m].set(jnp.array([7, 8])))(
            np.arange(3), np.array([True, False, True])
        )


@pytest.mark.parametrize("expression", ["0", ":, 0:3:2", "np.array([1, 0]), 1:3", "X > 5"])
def test_gradients(expression):
    index = eval(f"np.s_[{expression}]")
    v = np.float32(2.0)

    def loss(x, v):
        return jnp.sum(x.at[index].set(v) ** 2)

    new = updated("set", index, v)
    dx, dv = covector.grad(loss, argnums=(0, 1))(X, v)
    kept = updated("set", index, np.nan)
    np.testing.assert_allclose(dx, np.where(np.isnan(kept), 0, 2 * new))
    np.testing.assert_allclose(dv, np.isnan(kept).sum() * 2 * v)
    dx, dv = covector.grad(lambda x, v: jnp.sum(x.at[index].add(v) ** 2), argnums=(0, 1))(X, v)
    new = updated("add", index, v)
    np.testing.assert_allclose(dx, 2 * new)
    np.testing.assert_allclose(dv, 2 * new[np.isnan(kept)].sum(), rtol=1e-6)


def test_batches():
    positions, values = np.array([2, -1]), np.array([10.0, 20.0], np.float32)
    result = covector.vmap(lambda x, i, v: x.at[i].set(v))(X, positions, values)
    expected = X.copy()
    for n, (i, v) in enumerate(zip(positions, values)):
        expected[n, i] = v
    np.testing.assert_array_equal(result, expected)


def test_a_loop_updates():
    def body(i, x):
        return x.at[i].set(i * 2.0)

    result = covector.lax.fori_loop(0, 5, body, jnp.zeros(5))
    np.testing.assert_array_equal(result, [0, 2, 4, 6, 8])


def test_errors(oracle):
    compare_errors(
        oracle,
        """
            f.at[0, 1].add(jnp.ones((3,)))
            f.at[jnp.array([0, 1])].set(jnp.ones((3, 2)))
            f.at[0].set(jnp.ones((2, 3)))
            f.at[0:1].set(jnp.ones((2, 3)))
            f.at[0].set(5, mode='foo')
            f.at[0].foo
            f.at[0].set('a')
            f.at[0, 0, 0].set(1)
            """,
    )


def test_values_that_do_not_convert_safely_warn():
    with pytest.warns(FutureWarning, match="cannot safely cast"):
        result = jnp.arange(3).at[0].set(jnp.float32(1.5))
    np.testing.assert_array_equal(result, [1, 1, 2])

"""Choosing, finding, taking and sorting, against the oracle."""

import covector
import covector.numpy as jnp
import numpy as np
import pytest

from numpy_api.compare import compare_all, compare_errors


def test_where(oracle):
    compare_all(
        oracle,
        """
            jnp.where(b, f, g)
            jnp.where(f > 0, f, 0)
            jnp.where(b, 1, 0)
            jnp.where(b, i, 1.5)
            jnp.where(True, f, 0)
            jnp.where(i, f, v)
            jnp.where(b)
            jnp.where(f > 0, size=4)
            jnp.where(b, 1.0, s)
            jnp.where(v > 0, f, g)
            jnp.where(b[:, :1], v, 0)
            jnp.select([f > 0.5, f > 0], [f, 10 * f])
            jnp.select([b, i], [i, 2.5], 7)
            jnp.piecewise(f, [f < 0, f > 0.5], [lambda x: -x, 7.0])
            jnp.choose(jnp.array([0, 1, 0]), [v, 2 * v])
            jnp.choose(jnp.array([0, 5, 1]), [v, i8[0]], mode='clip')
            jnp.choose(jnp.array([0, -1, 3]), [v, 2 * v], mode='wrap')
            """,
    )


def test_nonzero(oracle):
    compare_all(
        oracle,
        """
            jnp.nonzero(i)
            jnp.nonzero(b)
            f.nonzero()
            jnp.nonzero(b, size=4)
            jnp.nonzero(b, size=2)
            jnp.nonzero(b, size=5, fill_value=-1)
            jnp.nonzero(b, size=5, fill_value=(7, 8))
            jnp.flatnonzero(b)
            jnp.flatnonzero(b, size=5)
            jnp.argwhere(b)
            jnp.argwhere(b, size=4)
            jax.jit(lambda x: jnp.nonzero(x, size=3))(b)
            jnp.nonzero(empty, size=2)
            jnp.compress(b[0], f, axis=1)
            jnp.compress(b[0], v)
            f.compress(b[:, 0], axis=0)
            jnp.extract(b, f)
            jnp.compress(b[0], v, size=3, fill_value=9)
            jnp.isin(i, j)
            jnp.isin(i, j, invert=True)
            jnp.argwhere(v > 9)
            """,
    )


def test_take(oracle):
    compare_all(
        oracle,
        """
            jnp.take(f, 1)
            jnp.take(f, jnp.array([10]))
            jnp.take(i, jnp.array([10]))
            jnp.take(f, jnp.array([0, 1]), axis=1)
            jnp.take(f, jnp.array([-1]), axis=1)
            jnp.take(f, jnp.array([-5]), axis=1)
            jnp.take(f, jnp.array([5, -4]), axis=1, mode='wrap')
            jnp.take(f, jnp.array([5]), axis=1, mode='clip')
            jnp.take(t, jnp.array([[0, 1], [1, 0]]), axis=1)
            f.take(2)
            jnp.take(f, jnp.array([5]), axis=0, fill_value=7)
            jnp.take(t, 1, axis=-1)
            jnp.take_along_axis(f, jnp.array([[0], [1]]), axis=1)
            jnp.take_along_axis(f, jnp.array([[0], [7]]), axis=1)
            jnp.take_along_axis(f, jnp.argsort(f, 0), axis=0)
            jnp.take_along_axis(f, jnp.array([[0], [7]]), axis=1, mode='clip')
            jnp.take_along_axis(f, jnp.array([[0], [-1]]), axis=1)
            jnp.take_along_axis(f, jnp.array([0, 1]), axis=None)
            jnp.take_along_axis(t, jnp.array([[[1]], [[2]]]), axis=1)
            jnp.put_along_axis(f, jnp.array([[0], [1]]), 9.0, axis=1, inplace=False)
            jnp.put(f, jnp.array([0, 4]), jnp.array([7.0, 8.0]), inplace=False)
            jnp.put(f, jnp.array([0, 9]), 7.0, mode='wrap', inplace=False)
            """,
    )


def test_sorted_arrays(oracle):
    compare_all(
        oracle,
        """
            jnp.sort(f)
            jnp.sort(f, axis=0)
            jnp.sort(f, axis=None)
            jnp.sort(i, descending=True)
            f.sort()
            jnp.sort(edge)
            jnp.sort(h)
            jnp.sort(b)
            jnp.argsort(f)
            jnp.argsort(i, axis=None)
            jnp.argsort(jnp.array([3, 1, 1]), descending=True)
            jnp.argsort(jnp.array([3, 1, 1, 3]))
            f.argsort(axis=0)
            jnp.lexsort((i[0], b[0]))
            jnp.sort_complex(c)
            jnp.sort(c)
            tuple(jnp.top_k(v, 2))
            tuple(jnp.top_k(f, 1, axis=0))
            jnp.top_k(v, 2, mode='smallest')
            jnp.searchsorted(jnp.arange(5), jnp.array([2.5, 7]))
            jnp.searchsorted(jnp.array([1, 2, 2, 3]), 2, side='right')
            jnp.sort(v).searchsorted(f)
            jnp.searchsorted(v, f, sorter=jnp.argsort(v))
            jnp.searchsorted(jnp.sort(edge), edge)
            jnp.searchsorted(jnp.zeros(0), v)
            jnp.digitize(f, jnp.array([-1.0, 0.0, 1.0]))
            jnp.digitize(f, jnp.array([1.0, 0.0, -1.0]))
            jnp.digitize(i, jnp.array([-1, 0, 1]), right=True)
            jnp.sort(jnp.array([2, 1, 3]), stable=False)
            jnp.argsort(i8, dtype=jnp.int8)
            """,
    )


@pytest.mark.parametrize("kth", [0, 2, -1])
def test_partition(kth):
    x = np.random.default_rng(0).normal(size=(3, 7)).astype(np.float32)
    part = np.asarray(jnp.partition(jnp.asarray(x), kth))
    np.testing.assert_array_equal(part[:, kth], np.sort(x)[:, kth])
    order = np.asarray(jnp.argpartition(jnp.asarray(x), kth))
    np.testing.assert_array_equal(np.take_along_axis(x, order, 1)[:, kth], np.sort(x)[:, kth])


def test_errors(oracle):
    compare_errors(
        oracle,
        """
            jnp.where([True, False], 1, 2)
            jnp.where(b, f)
            jax.jit(jnp.nonzero)(i)
            jnp.nonzero(s)
            jnp.take(f, [0, 1])
            jnp.take(f, jnp.array([0.5]))
            jnp.take(f, 0, mode='raise')
            jnp.take_along_axis(f, jnp.array([0, 1]), axis=1)
            jnp.select([b], [f, g])
            jnp.sort(f, axis=5)
            jnp.where(b, f, jnp.ones(2))
            jnp.put(f, 0, 1.0)
            jnp.searchsorted(f, 1)
            jnp.sort([1, 2])
            jnp.choose(jnp.array([0, 5]), [1, 2])
            jnp.top_k(v, 9)
            """,
    )


def test_take_of_a_known_position_out_of_bounds():
    with pytest.raises(IndexError, match="out of bounds"):
        jnp.take(jnp.arange(5), 10)


def test_the_side_not_taken_does_not_spoil_the_gradient():
    def f(x):
        return jnp.where(x < 1, x, jnp.sqrt(x))

    def g(x):
        return jnp.sum(jnp.where(x > 0, jnp.log(x), 0.0))

    x = np.array([0.0, 2.0], np.float32)
    for transform in (lambda h: h, covector.jit):
        assert transform(covector.grad(f))(0.0) == 1.0
        np.testing.assert_allclose(transform(covector.grad(g))(x), [0.0, 0.5])
    np.testing.assert_allclose(
        covector.vmap(covector.grad(f))(x), [1.0, 0.5 / np.sqrt(2)], rtol=1e-6
    )


def test_gradients_of_sorting_and_taking():
    x = np.array([3.0, 1.0, 2.0], np.float32)
    weights = np.array([1.0, 10.0, 100.0], np.float32)
    np.testing.assert_allclose(
        covector.grad(lambda v: (jnp.sort(v) * weights).sum())(x), [100, 1, 10]
    )
    picked = covector.grad(lambda v: (jnp.take(v, jnp.array([0, 0, 2])) * weights).sum())(x)
    np.testing.assert_allclose(picked, [11, 0, 100])

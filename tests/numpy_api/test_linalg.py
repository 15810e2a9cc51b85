"""Norms and powers of matrices against the oracle, and the methods of ufuncs."""

import covector
import covector.numpy as jnp
import numpy as np
import pytest

from numpy_api.compare import compare_all, compare_errors


def test_norms(oracle):
    compare_all(
        oracle,
        """
        jnp.linalg.norm(f)
        jnp.linalg.norm(f, 1)
        jnp.linalg.norm(f, axis=1)
        jnp.linalg.norm(f, jnp.inf)
        jnp.linalg.norm(f, -1)
        jnp.linalg.norm(v, 3)
        jnp.linalg.norm(v, 0)
        jnp.linalg.norm(v, -jnp.inf)
        jnp.linalg.norm(i)
        jnp.linalg.norm(c)
        jnp.linalg.norm(t, axis=(0, 2))
        jnp.linalg.norm(t, 1, axis=(2, 0), keepdims=True)
        jnp.linalg.norm(f, keepdims=True)
        jnp.linalg.norm(f, 'fro')
        jnp.linalg.norm(jnp.zeros(0), jnp.inf)
        jnp.linalg.vector_norm(f, axis=0, ord=1)
        jnp.linalg.matrix_norm(t)
        jnp.linalg.matrix_power(f @ f.T, 5)
        jnp.linalg.matrix_power(f @ f.T, 0)
        jnp.linalg.trace(t, offset=1)
        jnp.linalg.diagonal(t)
        jnp.linalg.outer(v, v)
        """,
        rtol=1e-5,
    )


def test_errors(oracle):
    compare_errors(
        oracle,
        """
        jnp.linalg.norm(t, axis=(0, 1, 2))
        jnp.linalg.norm(f, 'foo')
        jnp.linalg.norm(v, 'fro')
        jnp.linalg.norm([1.0, 2.0])
        jnp.linalg.matrix_power(f, 2)
        jnp.negative.reduce(f)
        jnp.add.at(f, 0, 1)
        jnp.add.reduce([1, 2])
        """,
    )


def test_methods_of_ufuncs(oracle):
    compare_all(
        oracle,
        """
        jnp.add.reduce(i8)
        jnp.add.reduce(f, axis=None)
        jnp.add.reduce(f, axis=(0, 1), keepdims=True)
        jnp.add.reduce(f, where=b)
        jnp.maximum.reduce(f, axis=1)
        jnp.logical_and.reduce(f)
        jnp.logaddexp.reduce(f)
        jnp.subtract.reduce(f, axis=1)
        jnp.bitwise_xor.reduce(i8)
        jnp.add.accumulate(f)
        jnp.add.accumulate(i8)
        jnp.subtract.accumulate(f, axis=1)
        jnp.maximum.accumulate(v)
        jnp.add.outer(v, f)
        jnp.add.at(f, 0, 1, inplace=False)
        jnp.subtract.at(f, jnp.array([0, 0]), 1.0, inplace=False)
        jnp.negative.at(f, 0, inplace=False)
        jnp.add.reduceat(jnp.arange(8), jnp.array([0, 4, 1, 5]))
        jnp.logaddexp.reduce(jnp.zeros((0,)))
        jnp.add.identity, jnp.multiply.identity, jnp.add.nin, jnp.negative.nin
        isinstance(jnp.add, jnp.ufunc), isinstance(jnp.sin, jnp.ufunc)
        """,
        rtol=1e-5,
    )


@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "logaddexp"])
def test_reductions_under_transformations(name):
    function = getattr(jnp, name)
    x = np.array([[0.5, 2.0], [1.5, -1.0]], np.float32)
    expected = function.reduce(jnp.asarray(x))
    np.testing.assert_allclose(covector.jit(function.reduce)(x), expected, rtol=1e-6)
    gradient = covector.grad(lambda v: function.reduce(v).sum())(x)
    assert gradient.shape == x.shape and np.isfinite(gradient).all()

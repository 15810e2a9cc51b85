"""Quantiles by every method and with weights, set operations of given sizes, slogdet by QR."""

import covector
import covector.numpy as jnp
import numpy as np
import pytest

from numpy_api.compare import compare_all, compare_errors

METHODS = ["inverted_cdf", "averaged_inverted_cdf", "closest_observation", "hazen", "weibull"]
METHODS += ["interpolated_inverted_cdf", "median_unbiased", "normal_unbiased"]
Q = np.array([0.0, 0.05, 0.2, 0.25, 0.3, 0.5, 0.75, 0.9, 1.0])


@pytest.mark.parametrize("method", METHODS)
def test_quantiles_as_numpy(method):
    rng = np.random.default_rng(0)
    with covector.enable_x64(True):
        for count in (1, 2, 5, 8):
            x = rng.normal(size=(3, count))
            ours = jnp.quantile(x, Q, axis=1, method=method)
            np.testing.assert_allclose(ours, np.quantile(x, Q, axis=1, method=method), rtol=1e-12)
        x[:, 2] = np.nan
        ours = jnp.nanpercentile(x, 100 * Q, axis=1, method=method, keepdims=True)
        right = np.nanpercentile(x, 100 * Q, axis=1, method=method, keepdims=True)
        np.testing.assert_allclose(ours, right, rtol=1e-12)


def test_weighed_quantiles(oracle):
    calls = """
        jnp.quantile(v, 0.3, method='inverted_cdf')
        jnp.quantile(t, 0.3, axis=(0, 2), method='inverted_cdf', keepdims=True)
        jnp.quantile(v, jnp.array([0.1, 0.5, 1.0]), method='inverted_cdf', weights=v**2)
        jnp.percentile(f, 30, axis=1, method='inverted_cdf', weights=jnp.array([1.0, 2.0, 0.0]))
        jnp.quantile(f, 0.3, axis=0, method='inverted_cdf', weights=p)
        jnp.quantile(f, 0.3, method='inverted_cdf', weights=j)
        jnp.nanquantile(jnp.where(b, jnp.nan, f), 0.4, axis=1, method='inverted_cdf', weights=p)
        jnp.quantile(f, 0.3, axis=1, method='inverted_cdf', weights=jnp.array([1.0, 2.0, -1.0]))
    """
    compare_all(oracle, calls)
    x, weights = np.array([3.0, 1.0, 2.0, 5.0]), np.array([1.0, 0.0, 2.0, 0.5])
    ours = jnp.quantile(x, Q, weights=weights, method="inverted_cdf")
    np.testing.assert_allclose(ours, np.quantile(x, Q, weights=weights, method="inverted_cdf"))


def test_sets_of_given_sizes(oracle):
    calls = """
        jnp.setxor1d(i, j, size=8)
        jnp.setxor1d(i, j, size=8, fill_value=9)
        jnp.setxor1d(i, f, size=2)
        jax.jit(lambda i, j: jnp.setxor1d(i, j, size=4))(i, j)
        jnp.intersect1d(i, j, size=4)
        jnp.intersect1d(i, j, size=4, fill_value=-9)
        jnp.intersect1d(j, u8, size=1)
        jnp.intersect1d(j, u8, size=5, return_indices=True)
        jnp.intersect1d(jnp.arange(4), 2 * jnp.arange(3), True, True, size=4)
        jax.jit(lambda i, j: jnp.intersect1d(i, j, size=3))(j, u8)
    """
    compare_all(oracle, calls)


def test_slogdet_by_qr(oracle):
    calls = """
        jnp.linalg.slogdet(w[:, :3], method='qr')
        jnp.linalg.slogdet(jnp.stack([w[:, :3], jnp.eye(3), -jnp.eye(3)]), method='qr')
        jnp.linalg.slogdet(jnp.zeros((2, 2)), method='qr')
        jax.grad(lambda a: jnp.linalg.slogdet(a, method='qr')[1])(w[:, :3])
    """
    compare_all(oracle, calls, rtol=1e-4, atol=1e-5)


def test_errors(oracle):
    calls = """
        jnp.linalg.slogdet(c[:, :2], method='qr')
        jnp.linalg.slogdet(f[:, :2], method='foo')
        jnp.quantile(v, 0.3, weights=v)
        jnp.quantile(f, 0.3, method='inverted_cdf', weights=v)
        jax.jit(jnp.intersect1d)(i, j)
        jax.jit(jnp.setxor1d)(i, j)
    """
    compare_errors(oracle, calls)

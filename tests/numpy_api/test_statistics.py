"""Order statistics, differences, sets, histograms and correlation, against the oracle or NumPy."""

import covector
import covector.numpy as jnp
import numpy as np
import pytest

from numpy_api.compare import compare_all, compare_errors

TOLERANCE = {"float32": 1e-5, "bfloat16": 2e-2, "complex64": 1e-5}


def test_quantiles(oracle):
    compare_all(
        oracle,
        """
        jnp.median(f)
        jnp.median(i, axis=1)
        jnp.median(t, axis=(0, 2), keepdims=True)
        jnp.median(h)
        jnp.percentile(f, 30)
        jnp.percentile(f, jnp.array([10, 90]), axis=0)
        jnp.quantile(f, 0.3, axis=-1)
        jnp.quantile(t, jnp.array([0.1, 0.5]), axis=1, keepdims=True)
        jnp.quantile(i, 0.3)
        jnp.quantile(f, 0.3, method='nearest')
        jnp.quantile(f, 0.3, method='lower')
        jnp.quantile(f, 0.3, method='higher')
        jnp.quantile(f, 0.3, method='midpoint')
        jnp.quantile(f, jnp.array([0.0, 1.0]))
        jnp.quantile(edge, 0.5)
        jnp.nanmedian(jnp.where(b, jnp.nan, f), axis=1)
        jnp.nanquantile(jnp.where(b, jnp.nan, f), 0.4, axis=0)
        jnp.nanpercentile(jnp.where(b, jnp.nan, t[:, :, 0]), 25)
        jnp.nanmedian(jnp.array([jnp.nan, jnp.nan]))
        """,
        rtol=TOLERANCE,
        atol=1e-6,
    )


def test_differences(oracle):
    compare_all(
        oracle,
        """
        jnp.diff(f)
        jnp.diff(f, axis=0)
        jnp.diff(t, 2)
        jnp.diff(v, 5)
        jnp.diff(b)
        jnp.diff(v, prepend=0, append=jnp.array([1.0, 2.0]))
        jnp.ediff1d(f)
        jnp.ediff1d(i, to_begin=7, to_end=jnp.array([8, 9]))
        jnp.gradient(v)
        jnp.gradient(t)
        jnp.gradient(t, axis=1)
        jnp.gradient(f, 2.0)
        jnp.gradient(f, 2.0, 0.5)
        jnp.trapezoid(v)
        jnp.trapezoid(f, dx=0.5, axis=0)
        jnp.trapezoid(f, v)
        jnp.trapezoid(i)
        jnp.unwrap(jnp.array([0, 4.0, 8.0, 3.0]))
        jnp.unwrap(jnp.array([0, 1, 2, -1, 0]), period=4)
        jnp.interp(f, jnp.array([-1.0, 0.0, 1.0]), v)
        jnp.interp(f, jnp.array([-0.1, 0.0, 0.1]), v, left=5.0, right=-5.0)
        jnp.interp(5.0, jnp.array([1.0, 2.0]), jnp.array([3.0, 5.0]), right='extrapolate')
        jnp.interp(f, jnp.array([0.5, 0.1, 0.9]), v, period=1.0)
        jnp.interp(1, jnp.arange(3), jnp.arange(3))
        """,
        rtol=TOLERANCE,
        atol=1e-6,
    )


def test_gradient_with_coordinates_is_numpys():
    x = np.array([0.0, 1.0, 1.5, 4.0], np.float32)
    y = x**2
    np.testing.assert_allclose(jnp.gradient(y, x), np.gradient(y, x), rtol=1e-6)


def test_sets(oracle):
    compare_all(
        oracle,
        """
        jnp.unique(i)
        jnp.unique(i, return_index=True, return_inverse=True, return_counts=True)
        jnp.unique(b)
        jnp.unique(i, axis=0)
        jnp.unique(i, size=4)
        jnp.unique(i, size=9, fill_value=-99)
        jnp.unique(i, True, True, True, size=7)
        jnp.unique(i, True, True, True, axis=1, size=3)
        jax.jit(lambda x: jnp.unique(x, size=3, return_counts=True))(jnp.array([3, 1, 3]))
        jnp.unique(jnp.array([jnp.nan, 1.0, jnp.nan]))
        jnp.unique(jnp.array([jnp.nan, 1.0, jnp.nan]), size=3)
        jnp.unique(jnp.array([jnp.nan, 1.0, jnp.nan]), size=3, equal_nan=False)
        jnp.unique_values(i)
        jnp.unique_all(i).inverse_indices
        jnp.unique_counts(i).counts
        jnp.unique_inverse(i).inverse_indices
        jnp.union1d(i, j)
        jnp.union1d(i, j, size=12)
        jnp.intersect1d(i, j)
        jnp.setdiff1d(i, j)
        jnp.setdiff1d(i, j, size=6, fill_value=99)
        jnp.setxor1d(i, j)
        jnp.unique(jnp.zeros(0))
        """,
    )


def test_histograms(oracle):
    compare_all(
        oracle,
        """
        jnp.bincount(jnp.array([0, 1, 1, 5]))
        jnp.bincount(jnp.array([0, 1, 1]), weights=v)
        jnp.bincount(jnp.array([0, 1, 1]), minlength=5)
        jnp.bincount(jnp.array([0, 7, 1]), length=3)
        jnp.bincount(jnp.array([0, -7, 1]))
        jax.jit(lambda x: jnp.bincount(x, length=3))(jnp.array([0, 1, 1]))
        jnp.histogram_bin_edges(f, 4)
        jnp.histogram_bin_edges(f, 4, range=(-1, 1))
        jnp.histogram_bin_edges(jnp.ones(3), 2)
        [h.astype(float) for h in jnp.histogram(f)]
        [h.astype(float) for h in jnp.histogram(f, jnp.array([-1.0, 0.0, 2.0]))]
        jnp.histogram(f, 3, weights=p)
        jnp.histogram(f, 3, density=True)
        [h.astype(float) for h in jnp.histogram(i, 4)]
        jnp.histogram2d(f[0], f[1], bins=3)
        jnp.histogram2d(f[0], f[1], bins=(2, 3), range=((-1, 1), (-2, 2)))
        jnp.histogramdd(f.T, bins=2)
        jnp.histogramdd(f.T, bins=2, density=True)
        """,
        rtol=TOLERANCE,
        atol=1e-6,
    )


def test_correlation(oracle):
    compare_all(
        oracle,
        """
        jnp.cov(f)
        jnp.cov(v)
        jnp.cov(f, g)
        jnp.cov(f, rowvar=False)
        jnp.cov(f, bias=True)
        jnp.cov(f, ddof=0, aweights=jnp.array([1.0, 2.0, 3.0]))
        jnp.cov(f, fweights=jnp.array([1, 2, 3]))
        jnp.cov(f, aweights=jnp.array([1.0, 2.0, 3.0]))
        jnp.cov(c)
        jnp.corrcoef(f)
        jnp.corrcoef(v)
        jnp.corrcoef(f, g)
        jnp.corrcoef(c)
        jnp.convolve(v, f[0])
        jnp.convolve(v, f.ravel(), 'same')
        jnp.convolve(f.ravel(), v, 'valid')
        jnp.convolve(i[0], i[1])
        jnp.correlate(f.ravel(), v)
        jnp.correlate(v, f.ravel(), 'full')
        jnp.correlate(v, f.ravel(), 'same')
        jnp.correlate(f.ravel(), v, 'same')
        jnp.correlate(c[0], c[1], 'full')
        """,
        rtol=TOLERANCE,
        atol=1e-5,
    )


def test_errors(oracle):
    compare_errors(
        oracle,
        """
        jnp.quantile(c, 0.5)
        jnp.quantile(f, 0.5, method='foo')
        jnp.median([1, 2])
        jnp.diff(s)
        jnp.diff(f, -1)
        jnp.gradient(f, 1.0, 2.0, 3.0)
        jnp.interp(1.0, v, f)
        jax.jit(jnp.unique)(i)
        jnp.unique([1, 2])
        jax.jit(jnp.bincount)(i[0])
        jnp.bincount(i)
        jnp.bincount(v)
        jnp.histogram(f, 3, weights=v)
        jnp.cov(t)
        jnp.cov(f, fweights=v)
        jnp.convolve(f, v)
        jnp.convolve(v, v, 'foo')
        jnp.convolve(v, jnp.zeros(0))
        """,
    )


@pytest.mark.parametrize("function", [jnp.median, jnp.cov, jnp.diff, jnp.trapezoid, jnp.gradient])
def test_gradients(function):
    x = np.array([[0.3, -1.0, 2.0], [0.7, 0.1, 0.5]], np.float32)

    def loss(v):
        return jnp.sum(jnp.stack(jnp.gradient(v)) if function is jnp.gradient else function(v))

    gradient = np.asarray(covector.jit(covector.grad(loss))(x))
    step = 1e-2
    for place in ((0, 0), (1, 2)):
        moved = x.copy()
        moved[place] += step
        numeric = (float(loss(moved)) - float(loss(x))) / step
        np.testing.assert_allclose(gradient[place], numeric, atol=2e-2)


@pytest.mark.parametrize(
    "values, spread",
    [
        (np.random.default_rng(0).standard_normal(5000), None),
        (np.arange(100.0).repeat(3), (0, 99)),
        (np.float32(1) + np.arange(40) * np.float32(2e-7), None),  # edges that rounding makes equal
        (np.array([0.0, 1.0, np.nan, np.inf, -5.0]), (-1, 1)),
        (np.array([-3e38, 0.0, 3e38]), (-3e38, 3e38)),  # a distance that overflows
    ],
    ids=["normal", "on the edges", "close", "outside", "far"],
)
@pytest.mark.parametrize("bins", [1, 10, 33])
def test_even_bins_are_those_between_the_edges(values, spread, bins):
    values = values.astype(np.float32)
    counts, edges = jnp.histogram(values, bins, spread)
    edges = np.asarray(edges)
    place = np.searchsorted(edges, values, side="right") - 1
    place = np.where(values == edges[-1], bins - 1, place)
    expected = np.bincount(place[(place >= 0) & (place < bins)], minlength=bins)
    np.testing.assert_array_equal(counts, expected)

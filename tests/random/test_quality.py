"""The distributions are what they say (against scipy.stats), and streams are independent."""

import covector
import numpy as np
import pytest
from covector import random
from scipy import stats

DRAWS = {
    # name: (draws of a key and a shape, distribution function)
    "uniform": (random.uniform, stats.uniform.cdf),
    "uniform of bounds": (
        lambda key, shape: random.uniform(key, shape, None, -2.0, 5.0),
        stats.uniform(-2, 7).cdf,
    ),
    "normal": (random.normal, stats.norm.cdf),
    "real part": (
        lambda key, shape: np.real(random.normal(key, shape, "complex64")),
        stats.norm(scale=0.5**0.5).cdf,
    ),
    "imaginary part": (
        lambda key, shape: np.imag(random.normal(key, shape, "complex64")),
        stats.norm(scale=0.5**0.5).cdf,
    ),
}


@pytest.mark.parametrize("partitionable", [True, False])
@pytest.mark.parametrize("name", DRAWS)
def test_distribution(name, partitionable):
    draw, distribution = DRAWS[name]
    with covector.threefry_partitionable(partitionable):
        sample = np.asarray(draw(random.key(11), (20_000,)))
    assert stats.kstest(sample, distribution).pvalue > 0.01


@pytest.mark.parametrize("partitionable", [True, False])
@pytest.mark.parametrize("width", [8, 16, 32, 64])
def test_each_bit_is_set_half_of_the_time(width, partitionable):
    with covector.enable_x64(True), covector.threefry_partitionable(partitionable):
        bits = np.asarray(random.bits(random.key(5), (10_000,), f"uint{width}"))
    shares = [np.mean(bits >> bits.dtype.type(i) & bits.dtype.type(1)) for i in range(width)]
    assert np.abs(np.array(shares) - 0.5).max() < 0.02  # four standard deviations


@pytest.mark.parametrize("partitionable", [True, False])
def test_streams_of_split_keys_are_independent(partitionable):
    with covector.threefry_partitionable(partitionable):
        keys = random.split(random.key(3), 8)
        streams = np.asarray(covector.vmap(lambda key: random.normal(key, (10_000,)))(keys))
    correlations = np.corrcoef(streams) - np.eye(8)
    assert np.abs(correlations).max() < 0.045


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_bounds_are_kept(dtype):
    with covector.enable_x64(True):
        sample = np.asarray(random.uniform(random.key(1), (100_000,), dtype)).astype(float)
        assert sample.min() >= 0
        assert sample.max() < 1
        normals = np.asarray(random.normal(random.key(1), (100_000,), dtype)).astype(float)
        assert np.isfinite(normals).all()

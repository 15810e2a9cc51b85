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
    "exponential": (random.exponential, stats.expon.cdf),
    "gumbel": (random.gumbel, stats.gumbel_r.cdf),
    "truncated normal": (
        lambda key, shape: random.truncated_normal(key, -1.0, 2.0, shape),
        stats.truncnorm(-1, 2).cdf,
    ),
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
    assert stats.kstest(sample, distribution).pvalue > 0.001


COUNTS = {
    # name: (draws of a key, probabilities of 0, 1, ...)
    "randint": (lambda key: random.randint(key, (20_000,), 0, 6), [1 / 6] * 6),
    "randint of bytes": (lambda key: random.randint(key, (20_000,), 0, 5, "uint8"), [1 / 5] * 5),
    "bernoulli": (lambda key: random.bernoulli(key, 0.3, (20_000,)), [0.7, 0.3]),
    "categorical": (
        lambda key: random.categorical(key, np.log([0.1, 0.2, 0.7]), shape=(20_000,)),
        [0.1, 0.2, 0.7],
    ),
    "choice": (
        lambda key: random.choice(key, 3, (20_000,), p=np.array([0.5, 0.2, 0.3])),
        [0.5, 0.2, 0.3],
    ),
    "places of the first in permutations": (
        lambda key: covector.vmap(lambda k: random.permutation(k, 4)[0])(random.split(key, 20_000)),
        [1 / 4] * 4,
    ),
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts(name):
    draw, shares = COUNTS[name]
    counts = np.bincount(np.asarray(draw(random.key(2))), minlength=len(shares))
    assert stats.chisquare(counts, np.multiply(shares, counts.sum())).pvalue > 0.001


def test_a_permutation_holds_every_element_once():
    drawn = np.asarray(random.permutation(random.key(1), 10_000))
    assert (np.sort(drawn) == np.arange(10_000)).all()
    assert (drawn != np.arange(10_000)).sum() > 9_900


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

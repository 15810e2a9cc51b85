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


def wide_integers(key):
    with covector.enable_x64(True):
        return (np.asarray(random.randint(key, (20_000,), -(2**63), 2**62)) >> 62) + 2


def ordered_pairs(key):
    """The number, from 0 to 5, of two different ones of three that are drawn in this order."""

    def pair(key):
        return random.categorical(key, np.log(SHARES), shape=(2,), replace=False)

    first, second = np.asarray(covector.vmap(pair)(random.split(key, 20_000))).T
    return 2 * first + second - (second > first)


SHARES = np.array([0.5, 0.3, 0.2])
COUNTS = {
    # name: (draws of a key, probabilities of 0, 1, ...)
    "thirds of randint": (
        lambda key: np.asarray(random.randint(key, (20_000,), -(2**15), 2**14)) + 2**15 >> 14,
        [1 / 3] * 3,
    ),
    # Beyond 2**16 integers (or 2**32 of 64 bits) they are remainders of words, as it says.
    "thirds of large randint": (
        lambda key: (np.asarray(random.randint(key, (20_000,), -(2**31), 2**30)) >> 30) + 2,
        [1 / 2, 1 / 4, 1 / 4],
    ),
    "thirds of wide randint": (wide_integers, [1 / 2, 1 / 4, 1 / 4]),
    "pairs without replacement": (
        ordered_pairs,
        [SHARES[i] * SHARES[j] / (1 - SHARES[i]) for i in range(3) for j in range(3) if i != j],
    ),
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


STREAMS = {
    "split": lambda key: random.split(key, 8),
    "fold_in": lambda key: covector.vmap(lambda i: random.fold_in(key, i))(np.arange(8)),
    "seeds": lambda key: covector.vmap(random.key)(np.arange(8)),
}


@pytest.mark.parametrize("partitionable", [True, False])
@pytest.mark.parametrize("name", STREAMS)
def test_streams_are_independent(name, partitionable):
    with covector.threefry_partitionable(partitionable):
        keys = STREAMS[name](random.key(3))
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

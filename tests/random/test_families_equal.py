"""Draws from families of distributions equal the oracle's, and have the distribution they should.

The oracle's bits, but for what the second table says.
"""

import covector
import numpy as np
import pytest
from covector import random
from oracle.compare import Tolerance
from oracle.fixture import Case
from scipy import stats

BITS = Tolerance(exact=True)
KEY = "random.key(3)"

CONTINUOUS = {
    # call, without key: distribution
    "cauchy(KEY, (5000,))": stats.cauchy,
    "laplace(KEY, (5000,))": stats.laplace,
    "logistic(KEY, 5000)": stats.logistic,
    "pareto(KEY, 2.5, (5000,))": stats.pareto(2.5),
    "rayleigh(KEY, 2, (5000,))": stats.rayleigh(scale=2),
    "lognormal(KEY, 0.5, (5000,))": stats.lognorm(0.5),
    "wald(KEY, 2., (5000,))": stats.invgauss(2),
    "triangular(KEY, 0., 1., 4., (5000,))": stats.triang(0.25, 0, 4),
    "weibull_min(KEY, 2., 1.5, (5000,))": stats.weibull_min(1.5, scale=2),
    "gamma(KEY, 2.5, (5000,))": stats.gamma(2.5),
    "gamma(KEY, 0.7, (5000,))": stats.gamma(0.7),
    "loggamma(KEY, 0.7, (5000,))": stats.loggamma(0.7),
    "beta(KEY, 0.7, 2., (5000,))": stats.beta(0.7, 2),
    "chisquare(KEY, 3, (5000,))": stats.chi2(3),
    "f(KEY, 3., 5., (5000,))": stats.f(3, 5),
    "t(KEY, 3., (5000,))": stats.t(3),
    "generalized_normal(KEY, 3., (5000,))": stats.gennorm(3),
}
# Sums of products are rounded where the compiler fuses them, and polynomials too. (The oracle's
# logarithms from the approximate method are near zero, so they are compared by their powers of e.)
CLOSE = {
    "maxwell(KEY, (5000,))": stats.maxwell,
    "double_sided_maxwell(KEY, 0., 2, (5000,))": stats.dgamma(1.5),
    "gamma(KEY, 2.5, (5000,), method='approximate')": stats.gamma(2.5),
    "chisquare(KEY, 3., (5000,), method='approximate')": stats.chi2(3),
    "beta(KEY, 0.7, 2., (5000,), method='approximate')": stats.beta(0.7, 2),
}
CLOSE_TOLERANCE = Tolerance(rtol=1e-6)
DISCRETE = {
    "poisson(KEY, 3, (5000,))": stats.poisson(3),
    "poisson(KEY, 30., (5000,))": stats.poisson(30),
    "poisson(KEY, 3., (5000,), method='approximate')": stats.poisson(3),
    "poisson(KEY, 30., (5000,), method='approximate')": stats.poisson(30),
    "binomial(KEY, 20, 0.3, (5000,))": stats.binom(20, 0.3),
    "binomial(KEY, 100, 0.7, (5000,))": stats.binom(100, 0.7),
    "geometric(KEY, 0.3, (5000,))": stats.geom(0.3),
}


def compare(oracle, calls, tolerance=BITS, **settings):
    cases = [Case(f"random.{call}".replace("KEY", KEY), {}, tolerance) for call in calls]
    oracle.using(timeout=300, **settings).compare_many(cases)


def drawn(oracle, call):
    return np.asarray(oracle.run_covector(f"random.{call}".replace("KEY", KEY)).value, float)


@pytest.mark.parametrize("calls", [CONTINUOUS, DISCRETE], ids=["continuous", "discrete"])
def test_bits(oracle, calls):
    compare(oracle, calls)


def test_close(oracle):
    compare(oracle, CLOSE, CLOSE_TOLERANCE)


@pytest.mark.parametrize("call", CONTINUOUS | CLOSE)
def test_distribution(oracle, call):
    distribution = (CONTINUOUS | CLOSE)[call]
    sample = drawn(oracle, call)
    if call.startswith("double_sided"):
        sample = np.sign(sample) * (sample / 2) ** 2 / 2  # of a squared length, halved: dgamma(3/2)
    assert stats.kstest(sample, distribution.cdf).pvalue > 0.001


@pytest.mark.parametrize("call", DISCRETE)
def test_counts(oracle, call):
    distribution, sample = DISCRETE[call], drawn(oracle, call)
    low, high = distribution.ppf([0.005, 0.995]).astype(int)
    values = np.arange(low + 1, high)
    shares = [distribution.cdf(low), *distribution.pmf(values), distribution.sf(high - 1)]
    clipped = np.clip(sample, low, high)
    counts = [np.sum(clipped == n) for n in (low, *values, high)]
    assert stats.chisquare(counts, np.multiply(shares, len(sample))).pvalue > 0.001


# --- vectors and matrices -------------------------------------------------------------------------

COV = "jnp.array([[2., .6], [.6, 1.]])"
VECTORS = [
    "dirichlet(KEY, jnp.array([.5, 1., 2.]), (1000,))",
    "dirichlet(KEY, jnp.ones((2, 3)), (5, 2), 'float16')",
    "ball(KEY, 3, shape=(1000,))",
    "ball(KEY, 2, 1.5, (7,), 'bfloat16')",
    "multinomial(KEY, 100, jnp.array([.2, .3, .5]), shape=(1000,))",
    "multinomial(KEY, jnp.array([5, 50]), jnp.ones((2, 3)), shape=(5, 2), dtype=int, unroll=2)",
    f"multivariate_normal(KEY, jnp.array([1., -2.]), {COV}, (1000,))",
    f"multivariate_normal(KEY, jnp.ones((4, 2)), {COV} * jnp.ones((3, 1, 1, 1)), method='svd')",
    f"multivariate_normal(KEY, jnp.ones(2), {COV} * jnp.ones((3, 1, 1)), (2, 3), method='eigh')",
    "orthogonal(KEY, 3, (5,))",
    "orthogonal(KEY, 2, (), 'complex64', 3)",
    "orthogonal(KEY, 3, (), m=2)",
]


def test_vectors(oracle):
    compare(oracle, VECTORS)


def test_the_shares_of_a_dirichlet_vector_are_beta_distributed(oracle):
    sample = drawn(oracle, VECTORS[0])
    np.testing.assert_allclose(sample.sum(1), 1, rtol=1e-6)
    for share, a in zip(sample.T, (0.5, 1, 2)):
        assert stats.kstest(share, stats.beta(a, 3.5 - a).cdf).pvalue > 0.001


def test_points_of_a_ball_are_spread_evenly(oracle):
    sample = drawn(oracle, VECTORS[2])
    radius = np.linalg.norm(sample, axis=1)
    assert stats.kstest(radius**3, stats.uniform.cdf).pvalue > 0.001
    assert stats.kstest(sample[:, 0] / radius, stats.uniform(-1, 2).cdf).pvalue > 0.001


def test_multinomial_counts_add_up(oracle):
    sample = drawn(oracle, VECTORS[4])
    assert (sample.sum(1) == 100).all()
    np.testing.assert_allclose(sample.mean(0), [20, 30, 50], atol=0.6)
    np.testing.assert_allclose(np.cov(sample.T)[0, 1], -6, atol=2.5)


def test_the_moments_of_normal_vectors(oracle):
    sample = drawn(oracle, VECTORS[6])
    np.testing.assert_allclose(sample.mean(0), [1, -2], atol=0.15)
    np.testing.assert_allclose(np.cov(sample.T), [[2, 0.6], [0.6, 1]], atol=0.3)


@pytest.mark.parametrize("call", VECTORS[-3:])
def test_orthonormal(oracle, call):
    matrix = np.asarray(oracle.run_covector(f"random.{call}".replace("KEY", KEY)).value)
    if matrix.shape[-1] > matrix.shape[-2]:
        matrix = matrix.swapaxes(-1, -2)
    product = matrix.conj().swapaxes(-1, -2) @ matrix
    np.testing.assert_allclose(
        product, np.broadcast_to(np.eye(product.shape[-1]), product.shape), atol=1e-6
    )


# --- other dtypes, shapes and modes ---------------------------------------------------------------

EDGES = [
    "rademacher(KEY, (1001,), 'uint8')",
    "rademacher(KEY, 3, 'complex64')",
    "gamma(KEY, jnp.array([0., -1., jnp.nan, jnp.inf, 1e-10, 1e10, 1.]), (2, 7))",
    "loggamma(KEY, jnp.array([0., -1., jnp.nan, jnp.inf, 1e-10, 1e10, 1.]), dtype='float16')",
    "poisson(KEY, jnp.array([0., -1., jnp.nan, 1e9, 1e12, 30.]), dtype='int16')",
    "binomial(KEY, jnp.array([0., -1., jnp.nan, jnp.inf, 20.5, 100.]), jnp.array([[.5], [2.]]))",
    "geometric(KEY, jnp.array([0., 1., -.5, 1.5, jnp.nan]), dtype='int8')",
    "pareto(KEY, 2, (7,), 'float16')",
    "weibull_min(KEY, jnp.ones((2, 3)), 2, (3,))",
    "lognormal(KEY, dtype='complex64')",
    "gamma(KEY, 1., (0,))",
    "beta(KEY, jnp.ones(3, 'bfloat16'), jnp.ones((2, 1), 'float16'), (2, 3))",
]


def test_edges(oracle):
    compare(oracle, EDGES)


HALVES = [
    "gamma(KEY, 2.5, (101,))",
    "t(KEY, 3., (101,))",
    "beta(KEY, 0.7, 2., (101,))",
    "poisson(KEY, 30., (101,))",
    "binomial(KEY, 100, 0.3, (101,))",
]


def test_counters_in_halves(oracle):
    compare(oracle, HALVES, threefry_partitionable=False)


WIDE = [
    "loggamma(KEY, 0.7, (101,))",
    "chisquare(KEY, 3., (101,), 'float32')",
    "binomial(KEY, 100, 0.3, (101,))",
    "poisson(KEY, 30., (101,))",
    "wald(KEY, 2., (101,))",
    "geometric(KEY, 0.3, (101,))",
]


def test_x64(oracle):
    compare(oracle, WIDE, x64=True)


def test_other_implementations(oracle):
    """Whose keys may all draw from the first one when mapped: elements are drawn one by one."""
    key = "random.key(3, impl='rbg')"
    calls = [f"beta({key}, 0.7, 2., (5,))", f"binomial({key}, 100, .3, (5,))"]
    compare(oracle, calls)


def test_infinite_means():
    """The oracle does not come to an end."""
    assert int(random.poisson(random.key(0), np.inf, dtype="int8")) == 127


# --- transformations ------------------------------------------------------------------------------

MAPPED = {
    "gamma": lambda key: random.gamma(key, np.array([0.5, 2.0], np.float32)),
    "poisson": lambda key: random.poisson(key, 20.0, (3,)),
    "binomial": lambda key: random.binomial(key, 50, 0.4, (3,)),
    "dirichlet": lambda key: random.dirichlet(key, np.ones(3, np.float32)),
}


@pytest.mark.parametrize("partitionable", [True, False])
@pytest.mark.parametrize("name", MAPPED)
def test_many_keys_give_what_each_gives(name, partitionable):
    draw = MAPPED[name]
    with covector.threefry_partitionable(partitionable):
        keys = random.split(random.PRNGKey(4), 5)
        loop = [np.asarray(draw(key)) for key in keys]
        np.testing.assert_array_equal(covector.vmap(draw)(keys), loop)


def test_one_key_with_many_parameters():
    a = np.arange(1.0, 4.0, dtype=np.float32)
    key = random.key(0)
    mapped = covector.vmap(lambda a: random.gamma(key, a, (2,)))(a)
    np.testing.assert_array_equal(mapped, [np.asarray(random.gamma(key, x, (2,))) for x in a])


GRADIENTS = """
def total(a, b):
    k = random.split(random.key(3), 9)
    return (random.gamma(k[0], a[0]) + random.loggamma(k[1], a[1]) + random.beta(k[2], a[2], b[0])
            + random.chisquare(k[3], a[3]) + random.t(k[4], a[4]) + random.f(k[5], a[5], b[1])
            + random.generalized_normal(k[6], a[6]) + random.dirichlet(k[7], a[7:])[0]
            + random.gamma(k[8], b[2], method='approximate'))
jax.jit(jax.grad(total, (0, 1)))(jnp.arange(1., 11.) / 2, jnp.array([2., 3., 4.]))
"""


def test_gradients(oracle):
    oracle.using(timeout=300).compare(GRADIENTS, rtol=2e-4)


def test_gradients_are_those_of_the_inverse_distribution_function():
    a = np.array([0.3, 1.0, 5.0, 300.0])
    with covector.enable_x64(True):
        sample, slope = covector.jvp(lambda a: random.gamma(random.key(1), a), (a,), (np.ones(4),))
    levels = stats.gamma.cdf(sample, a)
    h = 1e-5 * a
    expected = (stats.gamma.ppf(levels, a + h) - stats.gamma.ppf(levels, a - h)) / (2 * h)
    np.testing.assert_allclose(slope, expected, rtol=1e-5)


def test_the_gradient_of_a_logarithm_whose_number_underflows():
    """There the density is ``x**(a - 1)``. The oracle takes the smallest number for ``x``."""
    draw = covector.value_and_grad(lambda a: random.loggamma(random.key(0), a))
    log, slope = draw(0.001)
    assert float(log) < -500
    np.testing.assert_allclose(slope, (-0.5772 - float(log)) / 0.001, rtol=0.01)


def test_a_result_of_the_dtype_that_is_asked_for():
    """The oracle's has that of the parameters."""
    p, key = np.float32(2), random.key(0)
    half = np.dtype("float16")
    assert random.generalized_normal(key, p, (), half).dtype == half
    assert random.weibull_min(key, p, p, (), half).dtype == half
    assert random.double_sided_maxwell(key, p, p, (), half).dtype == half
    assert random.ball(key, 2, p, (), half).dtype == half

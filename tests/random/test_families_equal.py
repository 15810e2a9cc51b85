"""Draws from families of distributions equal the oracle's, and have the distribution they should.

The oracle's bits, but for what the second table says.
"""

import re

import covector
import numpy as np
import pytest
from covector import random
from oracle.compare import Tolerance
from oracle.fixture import Case
from scipy import stats

BITS = Tolerance(exact=True)

ROW = (
    2500  # how many draws there are of each parameter; parameters without a distribution are edges
)
CONTINUOUS = {
    # call: distributions
    "cauchy(KEY, (2500,))": [stats.cauchy],
    "laplace(KEY, (2500,))": [stats.laplace],
    "logistic(KEY, 2500)": [stats.logistic],
    "pareto(KEY, 2.5, (2500,))": [stats.pareto(2.5)],
    "rayleigh(KEY, 2, (2500,))": [stats.rayleigh(scale=2)],
    "lognormal(KEY, 0.5, (2500,))": [stats.lognorm(0.5)],
    "wald(KEY, 2., (2500,))": [stats.invgauss(2)],
    "triangular(KEY, 0., 1., 4., (2500,))": [stats.triang(0.25, 0, 4)],
    "weibull_min(KEY, 2., 1.5, (2500,))": [stats.weibull_min(1.5, scale=2)],
    "gamma(KEY, EACH(2.5, 0.7, 0., -1., jnp.nan, jnp.inf, 1e-10, 1e10))": [
        stats.gamma(2.5),
        stats.gamma(0.7),
    ],
    "loggamma(KEY, EACH(2.5, 0.7, 0., -1., jnp.nan, jnp.inf, 1e-10, 1e10))": [
        stats.loggamma(2.5),
        stats.loggamma(0.7),
    ],
    "beta(KEY, EACH(0.7, 3.), 2.)": [stats.beta(0.7, 2), stats.beta(3, 2)],
    "chisquare(KEY, 3, (2500,))": [stats.chi2(3)],
    "f(KEY, 3., 5., (2500,))": [stats.f(3, 5)],
    "t(KEY, 3., (2500,))": [stats.t(3)],
    "generalized_normal(KEY, 3., (2500,))": [stats.gennorm(3)],
    "gamma(KEY, EACH(2.5, 0.7), method='approximate')": [stats.gamma(2.5), stats.gamma(0.7)],
    "gamma(KEY, 2.5, (2500,), method='approximate')": [stats.gamma(2.5)],
    "loggamma(KEY, 2.5, (2500,), method='approximate')": [stats.loggamma(2.5)],
}
# Squares are added up in another order; a few products are rounded before they are added.
CLOSE = {
    "maxwell(KEY, (2500,))": [stats.maxwell],
    "double_sided_maxwell(KEY, 0., 2, (2500,))": [stats.dgamma(1.5)],
    "chisquare(KEY, 3., (2500,), method='approximate')": [stats.chi2(3)],
    "beta(KEY, 0.7, 2., (2500,), method='approximate')": [stats.beta(0.7, 2)],
}
CLOSE_TOLERANCE = Tolerance(rtol=5e-7)  # four units in the last place
DISCRETE = {
    "poisson(KEY, EACH(3., 30., 0., -1., jnp.nan, 1e9, 1e12))": [
        stats.poisson(3),
        stats.poisson(30),
    ],
    "poisson(KEY, EACH(3., 30.), method='approximate')": [stats.poisson(3), stats.poisson(30)],
    "binomial(KEY, EACH(20, 100, 0, -1, jnp.nan, jnp.inf), EACH(.3, .7, .5, .5, .5, 2.))": [
        stats.binom(20, 0.3),
        stats.binom(100, 0.7),
    ],
    "geometric(KEY, EACH(.3, 0., 1., -.5, 1.5, jnp.nan), dtype='int16')": [stats.geom(0.3)],
}


def snippet(call):
    call = re.sub(r"EACH\((.*?)\)", rf"jnp.repeat(jnp.array([\1]), {ROW})", call)
    return f"random.{call}".replace("KEY", "random.key(3)")


def compare(oracle, calls, tolerance=BITS, **settings):
    cases = [Case(snippet(call), {}, tolerance) for call in calls]
    oracle.using(timeout=300, **settings).compare_many(cases)


def drawn(oracle, call):
    return np.asarray(oracle.run_covector(snippet(call)).value)


@pytest.mark.parametrize("calls", [CONTINUOUS, DISCRETE], ids=["continuous", "discrete"])
def test_bits(oracle, calls):
    compare(oracle, calls)


def test_close(oracle):
    compare(oracle, CLOSE, CLOSE_TOLERANCE)


@pytest.mark.parametrize("call", CONTINUOUS | CLOSE)
def test_distribution(oracle, call):
    rows = drawn(oracle, call).reshape(-1, ROW)
    for sample, distribution in zip(rows, (CONTINUOUS | CLOSE)[call]):
        if call.startswith("double_sided"):  # half of a square is gamma distributed
            sample = np.sign(sample) * (sample / 2) ** 2 / 2
        assert stats.kstest(sample, distribution.cdf).pvalue > 0.001


@pytest.mark.parametrize("call", DISCRETE)
def test_counts(oracle, call):
    for sample, distribution in zip(drawn(oracle, call).reshape(-1, ROW), DISCRETE[call]):
        low, high = distribution.ppf([0.005, 0.995]).astype(int)
        values = np.arange(low + 1, high)
        shares = [distribution.cdf(low), *distribution.pmf(values), distribution.sf(high - 1)]
        clipped = np.clip(sample, low, high)
        counts = [np.sum(clipped == n) for n in (low, *values, high)]
        assert stats.chisquare(counts, np.multiply(shares, ROW)).pvalue > 0.001


# --- vectors and matrices -------------------------------------------------------------------------

COV = "jnp.array([[2., .6], [.6, 1.]])"
VECTORS = [
    "dirichlet(KEY, jnp.array([.5, 1., 2.]), (1000,))",
    "ball(KEY, 3, shape=(1000,))",
    "multinomial(KEY, jnp.array([5, 100]), jnp.array([2, 3, 5]), shape=(1000, 2), dtype=int)",
    f"multivariate_normal(KEY, jnp.array([1., -2.]), {COV}, (1000,))",
    f"multivariate_normal(KEY, jnp.ones((4, 2)), {COV} * jnp.ones((3, 1, 1, 1)), method='svd')",
    f"multivariate_normal(KEY, jnp.ones(2), {COV} * jnp.ones((3, 1, 1)), (2, 3), method='eigh')",
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
    sample = drawn(oracle, VECTORS[1])
    radius = np.linalg.norm(sample, axis=1)
    assert stats.kstest(radius**3, stats.uniform.cdf).pvalue > 0.001
    assert stats.kstest(sample[:, 0] / radius, stats.uniform(-1, 2).cdf).pvalue > 0.001


def test_points_of_balls_of_several_norms():
    """Of which the oracle mixes up those with several numbers ``p``."""
    key, p = random.key(1), np.array([1, 4], np.float32)
    points = random.ball(key, 3, p, (5, 2))
    for i in range(2):
        alone = random.ball(key, 3, p[i], (5, 2))
        np.testing.assert_array_equal(points[:, i], alone[:, i])
    with pytest.raises(ValueError, match=r"ball: p must broadcast to the result's shape \(\)"):
        random.ball(key, 3, p)


def test_multinomial_counts_add_up(oracle):
    sample = drawn(oracle, VECTORS[2])
    assert (sample.sum(2) == [5, 100]).all()
    np.testing.assert_allclose(sample.mean(0), [[1, 1.5, 2.5], [20, 30, 50]], rtol=0.05)
    np.testing.assert_allclose(np.cov(sample[:, 1].T)[0, 1], -6, atol=2.5)


def test_the_moments_of_normal_vectors(oracle):
    sample = drawn(oracle, VECTORS[3])
    np.testing.assert_allclose(sample.mean(0), [1, -2], atol=0.15)
    np.testing.assert_allclose(np.cov(sample.T), [[2, 0.6], [0.6, 1]], atol=0.3)


@pytest.mark.parametrize("call", VECTORS[-2:])
def test_orthonormal(oracle, call):
    matrix = np.asarray(oracle.run_covector(snippet(call)).value)
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
    "pareto(KEY, 2, (7,), 'float16')",
    "weibull_min(KEY, jnp.ones((2, 3)), 2, (3,))",
    "lognormal(KEY, dtype='complex64')",
    "gamma(KEY, 1., (0,))",
    "t(KEY, jnp.ones((2, 1), 'bfloat16'), (2, 3), 'bfloat16')",
]


def test_edges(oracle):
    compare(oracle, EDGES)


HALVES = [
    "gamma(KEY, 2.5, (101,))",
    "poisson(KEY, 30., (101,))",
]


def test_counters_in_halves(oracle):
    compare(oracle, HALVES, threefry_partitionable=False)


WIDE = [
    "loggamma(KEY, 0.7, (101,))",
    "binomial(KEY, 100, 0.3, (101,), 'float32')",
    "poisson(KEY, 3., (101,), method='approximate')",
    "geometric(KEY, 0.3, (101,))",
]


def test_x64(oracle):
    compare(oracle, WIDE, x64=True)


def test_other_implementations(oracle):
    """Whose keys may all draw from the first one when mapped: elements are drawn one by one."""
    calls = []
    for name in ("rbg", "unsafe_rbg"):
        key = f"random.key(3, impl='{name}')"
        calls += [f"beta({key}, 0.7, 2., (5,))", f"f({key}, 3., 4., (5,))"]
    compare(oracle, [*calls, f"binomial({key.replace('unsafe_', '')}, 100, .3, (5,))"])


def test_infinite_means():
    """The oracle does not come to an end."""
    assert int(random.poisson(random.key(0), np.inf, dtype="int8")) == 127


# --- transformations ------------------------------------------------------------------------------

MAPPED = {
    "gamma": lambda key: random.gamma(key, np.array([0.5, 2.0], np.float32)),
    "poisson": lambda key: random.poisson(key, 20.0, (3,)),
    "binomial": lambda key: random.binomial(key, 50, 0.4, (3,)),
}


@pytest.mark.parametrize("name", MAPPED)
def test_many_keys_give_what_each_gives(name):
    draw, keys = MAPPED[name], random.split(random.PRNGKey(4), 5)
    loop = [np.asarray(draw(key)) for key in keys]
    np.testing.assert_array_equal(covector.vmap(draw)(keys), loop)


def test_one_key_with_many_parameters():
    a = np.arange(1.0, 4.0, dtype=np.float32)
    key = random.key(0)
    mapped = covector.vmap(lambda a: random.gamma(key, a, (2,)))(a)
    np.testing.assert_array_equal(mapped, [np.asarray(random.gamma(key, x, (2,))) for x in a])


GRADIENTS = """
def total(a):
    k = random.split(random.key(3), 5)
    return (random.gamma(k[0], a[0]) + random.loggamma(k[1], a[1]) + random.t(k[2], a[2])
            + random.dirichlet(k[3], a[3:6])[0] + random.gamma(k[4], a[6], method='approximate'))
jax.jit(jax.grad(total))(jnp.arange(1., 8.) / 2)
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
    assert float(log) < -100
    np.testing.assert_allclose(slope, (-0.5772 - float(log)) / 0.001, rtol=0.01)


def test_a_result_of_the_dtype_that_is_asked_for():
    """The oracle's has that of the parameters."""
    p, key = np.float32(2), random.key(0)
    calls = [
        lambda dtype: random.generalized_normal(key, p, (), dtype),
        lambda dtype: random.weibull_min(key, p, p, (), dtype),
        lambda dtype: random.double_sided_maxwell(key, p, p, (), dtype),
        lambda dtype: random.ball(key, 2, p, (), dtype),
    ]
    for call in calls:
        assert covector.eval_shape(lambda call=call: call("float16")).dtype == np.float16

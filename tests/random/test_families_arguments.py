"""What bad arguments of the distributions get: the oracle's error class, and what to do."""

import pytest
from covector import random
from oracle.fixture import Case

ERRORS = {
    # call: what the message says
    "gamma(0, 1.)": "gamma: key must be a key array",
    "poisson(jnp.zeros(2), 1.)": "must have dtype uint32",
    "binomial(random.split(KEY), 5, .5)": "binomial accepts a single key",
    "gamma(KEY, 1., 2.5)": "gamma: shape must be",
    "cauchy(KEY, (3.,))": "cauchy: shape must be",
    "logistic(KEY, None)": "logistic: shape must be",
    "beta(KEY, 1., 2., (3,), int)": "`beta` must be a float dtype, got int32",
    "laplace(KEY, (3,), 'complex64')": "`laplace` must be a float dtype, got complex64",
    "maxwell(KEY, (), bool)": "`maxwell` must be a float dtype, got bool",
    "binomial(KEY, 10, .5, dtype='int32')": "`binomial` must be a float dtype, got int32",
    "lognormal(KEY, dtype='int32')": "must be a float or complex dtype, got int32",
    "orthogonal(KEY, 3, dtype='int32')": "`orthogonal` must be a float or complex dtype",
    "poisson(KEY, 1., dtype='float32')": "`poisson` must be an int dtype, got float32",
    "geometric(KEY, .5, dtype='float32')": "`geometric` must be an int dtype, got float32",
    "gamma(KEY, 1., method='fast')": "must be one of {'exact', 'approximate'}, got 'fast'",
    "loggamma(KEY, 1., method=None)": "argument to `loggamma`",
    "beta(KEY, 1., 1., method=3)": "argument to `beta`",
    "chisquare(KEY, 1., method='foo')": "argument to `chisquare`",
    "poisson(KEY, 1., method='foo')": "argument to `poisson`",
    "poisson(random.key(0, impl='rbg'), 1.)": "Use method='approximate'",
    "t(KEY, jnp.float32(1), (), 'float16')": "cannot safely cast df of dtype float32 to float16",
    "wald(KEY, jnp.float32(1), (), 'bfloat16')": "wald: cannot safely cast mean",
    "f(KEY, 1., 1j)": "f: cannot safely cast dfden of dtype complex64",
    "pareto(KEY, 1j)": "pareto: cannot safely cast b",
    "gamma(KEY, 'a')": "gamma: a must be an array",
    "chisquare(KEY, [1., 2.])": "chisquare: df must be an array",
    "gamma(KEY, jnp.ones(3), (2,))": "a must broadcast to the result's shape (2,)",
    "chisquare(KEY, jnp.ones((2, 3)), (3,))": "df must broadcast",
    "triangular(KEY, jnp.zeros(3), 1., jnp.ones(2))": "(2,)",
    "generalized_normal(KEY, jnp.ones(3))": "p must broadcast to the result's shape ()",
    "weibull_min(KEY, jnp.ones(3), jnp.ones(2))": "(2,)",
    "double_sided_maxwell(KEY, jnp.ones(3), jnp.ones(2))": "(2,)",
    "dirichlet(KEY, 1.)": "alpha must have at least one axis",
    "dirichlet(KEY, jnp.ones((2, 3)), (3,))": "must broadcast to shape (3,)",
    "multinomial(KEY, jnp.ones(2), jnp.ones((3, 2)))": "(3,)",
    "multinomial(KEY, 5, jnp.ones((2, 3)), shape=(3,))": "p that count draws, of shape (2,)",
    "multivariate_normal(KEY, 1., jnp.eye(3))": "requires mean.ndim >= 1",
    "multivariate_normal(KEY, jnp.ones(3), jnp.ones(3))": "requires cov.ndim >= 2",
    "multivariate_normal(KEY, jnp.ones(3), jnp.eye(2))": "for n=3, but got cov.shape == (2, 2)",
    "multivariate_normal(KEY, jnp.ones(2), jnp.eye(2), method='foo')": "method must be one of",
    "multivariate_normal(KEY, jnp.ones((2, 3)), jnp.eye(3), (3,))": "mean that count draws",
    "multivariate_normal(KEY, [1., 2.], jnp.eye(2))": "mean must be an array",
    "orthogonal(KEY, 3.)": "float",
    "orthogonal(KEY, -1)": "must not be negative, got n=-1",
    "orthogonal(KEY, 2, m=-1)": "must not be negative",
    "ball(KEY, 3.)": "float",
    "ball(KEY, -1)": "d must not be negative, got -1",
    "ball(KEY, 3, jnp.ones(3), (2,))": "p must broadcast to the result's shape (2,)",
}


def test_errors(oracle):
    snippets = [f"random.{call}".replace("KEY", "random.key(0)") for call in ERRORS]
    outcomes = oracle.compare_many([Case(snippet, may_raise=True) for snippet in snippets])
    for outcome, (call, message) in zip(outcomes, ERRORS.items(), strict=True):
        assert outcome.error is not None, call
        assert message in outcome.error.message, call


@pytest.mark.parametrize("name", ["maxwell", "rademacher", "cauchy"])
def test_negative_sizes(name):
    with pytest.raises(ValueError, match=f"{name}: shape must .*nonnegative"):
        getattr(random, name)(random.key(0), (2, -1))


def test_more_than_one_outcome_needs_an_axis():
    """The oracle's error is that of a tuple."""
    with pytest.raises(ValueError, match="p must have at least one axis"):
        random.multinomial(random.key(0), 10, 0.5)

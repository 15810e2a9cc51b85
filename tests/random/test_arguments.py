"""What bad arguments get: the oracle's error class, and a message that says what to do."""

import covector
import numpy as np
import pytest
from covector import random

ERRORS = {
    # snippet: what the message says
    "random.normal(0, (3,))": "normal: key must be a key array",
    "random.normal(None)": "covector.random.key(seed)",
    "random.uniform([0, 1])": "uniform: key must be a key array",
    "random.uniform((0, 1))": "of type <class 'tuple'>",
    "random.split('a')": "split: key must be a key array",
    "random.uniform(jnp.zeros(2))": "must have dtype uint32, but got an array of dtype float32",
    "random.split(np.zeros(2, np.int64))": "dtype int64",
    "random.bits(jnp.zeros(3, jnp.uint32))": "must end with (2,)",
    "random.uniform(random.split(random.key(0)))": "a single key",
    "random.uniform(random.split(random.PRNGKey(0)))": "covector.vmap",
    "random.split(random.split(random.key(0)))": "shape (2,)",
    "random.fold_in(random.split(random.key(0)), 1)": "fold_in accepts a single key",
    "random.fold_in(random.PRNGKey(0), -3)": "from 0 to 4294967295, but got -3",
    "random.fold_in(random.PRNGKey(0), 2**33)": "8589934592",
    "random.fold_in(random.PRNGKey(0), jnp.arange(3))": "fold_in accepts a scalar",
    "random.fold_in(random.PRNGKey(0), [3])": "shape (1,)",
    "random.fold_in(random.PRNGKey(0), 3 + 0j)": "fold_in: data must be an integer",
    "random.PRNGKey(2**63)": "PRNGKey: seed must fit 64 bits",
    "random.key(-2**63 - 1)": "key: seed must fit 64 bits",
    "random.PRNGKey(np.array([1, 2]))": "accepts a scalar seed",
    "random.key(jnp.array([1, 2]))": "covector.vmap",
    "random.PRNGKey(1.0)": "seed must be an integer",
    "jax.jit(random.PRNGKey)(1.0)": "seed must be an integer",
    "random.PRNGKey('a')": "seed must be a scalar integer, but got 'a'",
    "random.key(random.key(0))": "was given a PRNG key",
    "random.split(random.PRNGKey(0), 2.5)": "split: num must be",
    "random.bits(random.key(0), (3.,))": "bits: shape must be",
    "random.bits(random.key(0), 3.0)": "got 3.0",
    "random.uniform(random.key(0), 'a')": "got a",
    "random.normal(random.key(0), None)": "normal: shape must be",
    "random.bits(random.key(0), (3,), 'int32')": "unsigned int dtype",
    "random.bits(random.key(0), (3,), float)": "got float32",
    "random.uniform(random.key(0), (3,), 'int32')": "`uniform` must be a float dtype, got int32",
    "random.uniform(random.key(0), (3,), 'complex64')": "got complex64",
    "random.normal(random.key(0), (3,), bool)": "must be a float or complex dtype, got bool",
    "random.normal(random.key(0), (3,), 'foo')": "foo",
    "random.uniform(random.key(0), (3,), minval=jnp.ones((2, 3)))": "minval must broadcast",
    "random.uniform(random.key(0), (), maxval=jnp.ones((2,)))": "maxval must broadcast",
    "random.uniform(random.key(0), (3,), minval=jnp.ones((2,)))": "shape (3,)",
    "random.uniform(random.key(0), (3,), minval='a')": "minval",
    "jax.jit(lambda n: random.normal(random.key(0), (n,)))(3)": "normal: shape must be integers",
    "jax.jit(random.normal)(random.key(0), (3,))": "known while tracing",
    "random.randint(random.key(0), (3,), 0, 10, 'float32')": "only accepts integer dtypes",
    "random.randint(random.key(0), (3,), 0, 10, bool)": "got bool",
    "random.randint(random.key(0), (3,), 0, 2**40)": "1099511627776",
    "random.randint(random.key(0), (3,), 0, 'a')": "randint: maxval must be an array",
    "random.randint(random.key(0), (3,), None, 3)": "randint: minval must be an array",
    "random.randint(random.key(0), (2,), jnp.arange(3), 5)": "minval must broadcast",
    "random.randint(random.key(0), None, 0, 5)": "randint: shape must be",
    "random.bernoulli(random.key(0), 1)": "`p` must have a floating dtype, got int32",
    "random.bernoulli(random.key(0), 1j)": "got complex64",
    "random.bernoulli(random.key(0), 'a')": "bernoulli: p must be an array",
    "random.bernoulli(random.key(0), jnp.ones(3), (2,))": "p must broadcast",
    "random.bernoulli(random.key(0), .5, mode='foo')": "got mode='foo'",
    "random.exponential(random.key(0), (3,), int)": "`exponential` must be a float dtype",
    "random.gumbel(random.key(0), (3,), 'complex64')": "`gumbel` must be a float dtype",
    "random.gumbel(random.key(0), (3,), mode='foo')": "mode must be",
    "random.truncated_normal(random.key(0), -1, 2, (3,), 'int32')": "`truncated_normal` must be",
    "random.truncated_normal(random.key(0), jnp.zeros(3), 2., (2,))": "lower must broadcast",
    "random.permutation(random.key(0), 5.)": "x must be an integer or at least 1-dimensional",
    "random.permutation(random.key(0), [1, 2])": "permutation: x must be an array",
    "random.permutation(random.key(0), 'a')": "permutation: x must be an array",
    "random.permutation(random.key(0), jnp.zeros((5, 2)), 2)": "axis 2 is out of bounds",
    "jax.jit(random.permutation)(random.key(0), 5)": "static_argnums",
    "random.choice(random.key(0), 0)": "a must be greater than 0",
    "random.choice(random.key(0), jnp.zeros(0), (3,))": "a must be greater than 0",
    "random.choice(random.key(0), [1, 2])": "choice: a must be an array",
    "random.choice(random.key(0), 5, (6,), replace=False)": "size 6",
    "random.choice(random.key(0), 5, p=jnp.ones(4))": "shape (4,)",
    "random.categorical(random.key(0), jnp.zeros((4, 5)), shape=(3,))": "(4,), but got (3,)",
    "random.categorical(random.key(0), jnp.zeros(5), 2)": "axis 2",
    "random.categorical(random.key(0), 0.)": "axis -1",
    "random.categorical(random.key(0), jnp.zeros(0))": "0 categories",
    "random.categorical(random.key(0), jnp.zeros(5, int))": "logits must be floating-point",
    "random.categorical(random.key(0), [0., 1.])": "logits must be an array",
    "random.categorical(random.key(0), jnp.zeros(5), -1, (6,), False)": "6 times",
}


@pytest.mark.parametrize("snippet", ERRORS)
def test_errors(oracle, snippet):
    assert ERRORS[snippet] in oracle.compare_error(snippet).message


@pytest.mark.parametrize("draw", [random.split, random.bits, random.uniform, random.normal])
@pytest.mark.parametrize("shape", [-1, (2, -1)])
def test_negative_sizes(draw, shape):
    with pytest.raises(ValueError, match=f"{draw.__name__}: (num|shape) must .*nonnegative"):
        draw(random.key(0), shape)


def test_an_unknown_implementation_is_told_the_known_ones():
    with pytest.raises(ValueError, match=r"threefry2x32.* Did you mean threefry2x32 or thre"):
        random.key(0, impl="threefry2x23")


def test_plain_keys_can_be_objected_to():
    key = random.PRNGKey(0)
    with covector.legacy_prng_key("error"), pytest.raises(ValueError, match=r"random.key\(seed\)"):
        random.normal(key)
    with covector.legacy_prng_key("warn"), pytest.warns(UserWarning, match="split was given"):
        random.split(key)
    with covector.legacy_prng_key("error"):
        random.normal(random.key(0))


def test_a_64_bit_dtype_while_x64_is_off(oracle):
    with pytest.warns(UserWarning, match="float64 requested in normal"):
        assert random.normal(random.key(0), (2,), "float64").dtype == np.float32

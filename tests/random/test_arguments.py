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
    "jax.jit(lambda n: random.normal(random.key(0), (n,)))(3)": "integer",
    "jax.jit(random.normal)(random.key(0), (3,))": "integer",
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
    with pytest.raises(ValueError, match=r"threefry2x32.* Did you mean threefry2x32\?"):
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

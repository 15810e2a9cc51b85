"""XLA's own generators: the oracle's bits from `lax.rng_bit_generator`, and `lax.rng_uniform`."""

import covector
import numpy as np
import pytest
from covector import lax
from oracle.compare import Tolerance
from oracle.fixture import Case

KEY = "np.arange(4, dtype=np.uint32)"
KEYS = "np.arange(12, dtype=np.uint32).reshape(3, 4)"

BITS = [
    *[f"lax.rng_bit_generator({KEY}, (3, 5), dtype='uint{n}')" for n in (8, 16, 32)],
    *[f"lax.rng_bit_generator({KEY}, (3,), algorithm={a})" for a in (0, 1, 2)],
    f"lax.rng_bit_generator({KEY}, (7,), algorithm=lax.RandomAlgorithm.RNG_THREE_FRY)",
    f"lax.rng_bit_generator({KEY}, ())",
    f"lax.rng_bit_generator({KEY}, (0,))",
    f"lax.rng_bit_generator({KEY}, [2, 3])",
    f"lax.rng_bit_generator({KEY}, 3)",
    f"jax.jit(lambda key: lax.rng_bit_generator(key, (2,)))({KEY})",
    f"jax.vmap(lambda key: lax.rng_bit_generator(key, (2,)))({KEYS})",
    f"jax.vmap(lambda key: lax.rng_bit_generator(key, ()), in_axes=1)({KEYS}.T.copy())",
    f"jax.vmap(jax.vmap(lambda key: lax.rng_bit_generator(key, (2,))))({KEYS}[None])",
    f"lax.scan(lambda key, _: lax.rng_bit_generator(key, (2,)), {KEY}, None, length=3)",
]
WIDE = [
    f"lax.rng_bit_generator({KEY}, (3,), dtype='uint64')",
    "lax.rng_bit_generator(np.arange(2, dtype=np.uint64), (3,))",
    "lax.rng_bit_generator(np.arange(2, dtype=np.uint64), (3,), 'uint16', 1)",
    "jax.vmap(lambda key: lax.rng_bit_generator(key, (3,)))"
    "(np.arange(4, dtype=np.uint64).reshape(2, 2))",
]


@pytest.mark.parametrize("x64, snippets", [(False, BITS), (True, WIDE)])
def test_bits_as_the_oracle(oracle, x64, snippets):
    cases = [Case(text, {}, Tolerance(exact=True)) for text in snippets]
    oracle.using(x64=x64).compare_many(cases)


ERRORS = [
    f"lax.rng_bit_generator({KEY}, (3,), dtype='int32')",
    f"lax.rng_bit_generator({KEY}, (3,), dtype='float32')",
    f"lax.rng_bit_generator({KEY}, (2.0,))",
    "lax.rng_uniform(0, 1.0, (2,))",
    "lax.rng_uniform(np.zeros(2), np.ones(2), (2,))",
    "lax.rng_uniform('a', 1.0, ())",
    "jax.vmap(lambda a: lax.rng_uniform(a, 1.0, (3,)))(np.zeros(2, np.float32))",
    "jax.grad(lambda a: lax.rng_uniform(a, 1.0, ()))(0.0)",
]


@pytest.mark.parametrize("snippet", ERRORS)
def test_errors(oracle, snippet):
    oracle.compare_error(snippet)


@pytest.mark.parametrize("key", [np.zeros(2, np.uint32), np.zeros((2, 2), np.uint32), np.zeros(4)])
def test_a_state_is_four_words(key):
    """The oracle fails an assertion without a text."""
    with pytest.raises(TypeError, match=r"key must be of type u32\[4\] or u64\[2\]"):
        lax.rng_bit_generator(key, (3,))


def test_no_such_algorithm():
    with pytest.raises(ValueError, match="7 is not a valid RandomAlgorithm"):
        lax.rng_bit_generator(np.zeros(4, np.uint32), (3,), algorithm=7)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "complex64"])
def test_uniform_of_a_dtype_that_xla_aborts_on(dtype):
    bound = np.zeros((), dtype)
    with pytest.raises(TypeError, match="rng_uniform: unsupported dtype"):
        lax.rng_uniform(bound, bound, (2,))


@pytest.mark.parametrize("dtype", ["int32", "uint32", "float16", "float32"])
def test_uniform_numbers_lie_between_the_bounds(dtype):
    low, high = np.asarray(3, dtype), np.asarray(9, dtype)
    drawn = np.asarray(lax.rng_uniform(low, high, (500,)))
    assert drawn.dtype == dtype
    assert drawn.min() >= 3
    assert drawn.max() <= 9
    assert abs(drawn.astype(np.float64).mean() - (5.5 if drawn.dtype.kind in "iu" else 6)) < 0.5
    assert (drawn != np.asarray(lax.rng_uniform(low, high, (500,)))).any()


def test_types():
    drawn = covector.eval_shape(lambda: lax.rng_uniform(0.0, 1.0, (2, 3)))
    assert (drawn.shape, drawn.dtype, drawn.weak_type) == ((2, 3), np.float32, True)
    program = covector.make_jaxpr(lambda key: lax.rng_bit_generator(key, (3,)))
    [equation] = program(np.zeros(4, np.uint32)).eqns
    assert equation.primitive is lax.rng_bit_generator_p
    assert equation.params["algorithm"] is lax.RandomAlgorithm.RNG_DEFAULT

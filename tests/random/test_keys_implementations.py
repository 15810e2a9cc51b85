"""Key implementations: equal to the oracle's bit by bit, mapped or not, and the user's own."""

import pickle

import covector
import covector.numpy as jnp
import numpy as np
import pytest
from covector import lax, random
from covector.random import _counter_based
from oracle.compare import Tolerance
from oracle.fixture import Case

BITS = Tolerance(exact=True)

SAME_BITS = [
    "random.key(7, impl={impl})",
    "random.PRNGKey(-3, impl={impl})",
    "jax.jit(lambda seed: random.PRNGKey(seed, impl={impl}))(5)",
    "random.split(random.key(7, impl={impl}), (2, 3))",
    "random.split(random.key(7, impl={impl}), 0)",
    "random.fold_in(random.key(7, impl={impl}), 11)",
    "random.wrap_key_data(random.PRNGKey(9, impl={impl}), impl={impl})",
    "random.key_impl(random.key(7, impl={impl}))",
    "random.key(7, impl=random.key_dtype({impl}))",
    "random.clone(random.key(7, impl={impl}))",
    "random.bits(random.key(7, impl={impl}))",
    "random.bits(random.key(7, impl={impl}), (5, 3))",
    "random.bits(random.key(7, impl={impl}), 1001)",
    "random.bits(random.key(7, impl={impl}), (5,), 'uint8')",
    "random.bits(random.key(7, impl={impl}), (5,), 'uint16')",
    "random.uniform(random.key(7, impl={impl}), (3,), 'bfloat16')",
    "random.randint(random.key(7, impl={impl}), (4,), 0, 1000)",
    "random.permutation(random.key(7, impl={impl}), 6)",
    "jax.vmap(random.bits)(random.split(random.key(7, impl={impl}), 3))",
    "jax.vmap(lambda k: random.bits(k, (2,)))(random.split(random.key(7, impl={impl}), 3))",
    "jax.vmap(random.split)(random.split(random.key(7, impl={impl}), 3))",
    "jax.vmap(random.fold_in)(random.split(random.key(7, impl={impl}), 3), jnp.arange(3))",
    "jax.vmap(random.fold_in, (None, 0))(random.key(7, impl={impl}), jnp.arange(3))",
    "jax.vmap(jax.vmap(random.bits))(random.split(random.key(7, impl={impl}), (2, 3)))",
    "jax.vmap(lambda seed: random.key(seed, impl={impl}))(jnp.arange(3))",
    "lax.scan(lambda k, _: tuple(random.split(k)), random.key(7, impl={impl}), None, length=3)",
]


@pytest.mark.parametrize("partitionable", [True, False])
@pytest.mark.parametrize("impl", ["rbg", "unsafe_rbg"])
def test_as_the_oracle(oracle, impl, partitionable):
    snippets = SAME_BITS if partitionable else [s for s in SAME_BITS if "split" in s]
    cases = [Case(s.replace("{impl}", repr(impl)), {}, BITS) for s in snippets]
    oracle.using(threefry_partitionable=partitionable).compare_many(cases)


COUNTER_BASED = [
    "random.key(7, impl={impl})",
    "random.PRNGKey(-3, impl={impl})",
    "random.split(random.key(7, impl={impl}), (2, 3))",
    "random.fold_in(random.key(7, impl={impl}), 11)",
    "random.bits(random.key(7, impl={impl}), (5, 3))",
    "random.bits(random.key(7, impl={impl}), 1001, 'uint8')",
    "jax.vmap(lambda k: random.normal(k, (2,)))(random.split(random.key(7, impl={impl}), 3))",
]


@pytest.mark.parametrize("impl", ["threefry4x32", "philox2x32", "philox4x32"])
def test_counter_based_ones_as_the_oracle(oracle, impl):
    cases = [Case(s.replace("{impl}", repr(impl)), {}, BITS) for s in COUNTER_BASED]
    oracle.compare_many(cases)


def test_64_bits_as_the_oracle(oracle):
    snippets = []
    for impl in ("rbg", "threefry4x32", "philox2x32", "philox4x32"):
        snippets += [
            f"random.key(2**40 + 7, impl={impl!r})",
            f"random.bits(random.key(7, impl={impl!r}), (3,))",
        ]
    oracle.using(x64=True).compare_many([Case(s, {}, BITS) for s in snippets])


# Published test vectors: function, a word that counter and key are made of, result.
VECTORS = [
    ("philox2x32", 0, "ff1dae59 6cd10df2"),
    ("philox2x32", 0xFFFFFFFF, "2c3f628b ab4fd7ad"),
    ("philox4x32", 0, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("philox4x32", 0xFFFFFFFF, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("threefry4x32", 0, "9c6ca96a e17eae66 fc10ecd4 5256a7d8"),
    ("threefry4x32", 0xFFFFFFFF, "2a881696 57012287 f6c7446e a16a6732"),
]


@pytest.mark.parametrize("name, word, expected", VECTORS)
def test_known_answers(name, word, expected):
    _, function = _counter_based._FUNCTIONS[name]
    key, counter = [[np.uint32(word)] * n for n in (function.key_size, function.counter_size)]
    words = function.encrypt(key, counter)
    assert [f"{int(w):08x}" for w in words] == expected.split()


@pytest.mark.parametrize("impl", ["threefry2x32", "rbg", "unsafe_rbg"])
def test_the_default_implementation(oracle, impl):
    snippets = [
        "random.key(1)",
        "random.PRNGKey(1)",
        "random.normal(random.PRNGKey(1), (3,))",
        "random.normal(random.key(1, impl='threefry2x32'), (3,))",
        "random.key_impl(random.PRNGKey(3))",
        "random.wrap_key_data(random.PRNGKey(3))",
        "str(random.key_dtype())",
    ]
    session = oracle.using(default_prng_impl=impl)
    session.compare_many([Case(s, {}, BITS) for s in snippets])
    words = 2 if impl != "threefry2x32" else 4
    session.compare_error(f"random.split(jnp.zeros({words}, jnp.uint32))")


# --- the user's own -------------------------------------------------------------------------------

DEFINED = """
def define():
    if jax.__name__ == "jax":
        from jax.extend.random import define_prng_impl
    else:
        from covector.random import define_prng_impl
    return define_prng_impl(
        name="counter",
        tag="cnt",
        key_shape=(3,),
        seed=lambda seed: jnp.full((3,), seed, jnp.uint32),
        split=lambda key, shape: key + jnp.arange(max(1, int(np.prod(shape))), dtype=jnp.uint32)
            .reshape(*shape, 1),
        random_bits=lambda key, width, shape: jnp.full(shape, key[0] * 7, f"uint{width}"),
        fold_in=lambda key, data: key * 31 + data,
    )
"""


def counter():
    namespace = {"jax": covector, "jnp": jnp, "np": np}
    exec(DEFINED, namespace)
    return namespace["define"]()


def test_one_of_the_users_own():
    impl = counter()
    key = random.key(5, impl=impl)
    assert str(key.dtype) == "key<cnt>"
    assert random.key_impl(key) is impl
    np.testing.assert_array_equal(random.key_data(key), [5, 5, 5])
    keys = random.split(key, 2)
    np.testing.assert_array_equal(random.key_data(keys), [[5, 5, 5], [6, 6, 6]])
    np.testing.assert_array_equal(random.key_data(random.fold_in(key, 3)), [158, 158, 158])
    np.testing.assert_array_equal(covector.vmap(random.bits)(keys), [35, 42])
    np.testing.assert_array_equal(covector.jit(random.bits)(keys[1]), 42)
    assert random.normal(key, (2,)).shape == (2,)
    assert random.PRNGKey(5, impl=impl).shape == (3,)
    assert random.wrap_key_data(np.zeros((2, 3), np.uint32), impl=impl).shape == (2,)
    assert random.key(1, impl=key.dtype).dtype is key.dtype is random.key_dtype(impl)


def test_one_with_keys_of_rank_zero_or_two():
    for shape in ((), (2, 2)):
        impl = random.define_prng_impl(
            key_shape=shape,
            seed=lambda seed, shape=shape: jnp.full(shape, seed, jnp.uint32),
            split=lambda key, new: lax.broadcast(key, new),
            random_bits=lambda key, width, new: jnp.full(new, jnp.ravel(key)[0], f"uint{width}"),
            fold_in=lambda key, data: key + data,
        )
        keys = random.split(random.key(4, impl=impl), (2, 3))
        assert keys.shape == (2, 3)
        assert random.key_data(keys).shape == (2, 3, *shape)
        drawn = covector.vmap(covector.vmap(random.bits))(keys)
        np.testing.assert_array_equal(drawn, np.full((2, 3), 4))


def test_another_of_the_same_name_is_another():
    assert counter().dtype != counter().dtype
    with pytest.raises(TypeError, match="keys compare with keys of the same implementation"):
        random.key(0, impl=counter()) == random.key(0, impl=counter())  # noqa: B015


def test_pickle_of_a_key_of_another_implementation():
    key = random.key(3, impl="rbg")
    loaded = pickle.loads(pickle.dumps(key))
    assert loaded.dtype is key.dtype
    assert bool(loaded == key)


# --- flags ----------------------------------------------------------------------------------------

PLAIN = [
    "random.normal(random.PRNGKey(0))",
    "random.split(random.PRNGKey(0))",
    "random.fold_in(random.PRNGKey(0), 1)",
    "random.key_data(random.PRNGKey(0))",
    "random.key_impl(random.PRNGKey(0))",
    "random.bits(np.zeros(2, np.uint32))",
]
NOT_USED = [
    "random.PRNGKey(0)",
    "random.wrap_key_data(np.zeros(2, np.uint32))",
    "random.clone(random.PRNGKey(0))",
    "random.key(0)",
]


def test_plain_keys_refused_or_warned_of(oracle):
    with covector.legacy_prng_key("warn"):
        for snippet in PLAIN:
            with pytest.warns(UserWarning, match="untyped uint32 key"):
                eval(snippet, {"random": random, "np": np})
    session = oracle.using(legacy_prng_key="error")
    for snippet in PLAIN:
        session.compare_error(snippet)
    session.compare_many([Case(s, {}, BITS) for s in NOT_USED])


def test_typed_keys_everywhere(oracle):
    with covector.enable_custom_prng(True), pytest.warns(FutureWarning, match="plain"):
        split = random.split(np.zeros(2, np.uint32))
    assert str(split.dtype) == "key<fry>"
    oracle.using(enable_custom_prng=True).compare_many(
        [Case("random.PRNGKey(0)", {}, BITS), Case("random.PRNGKey(0, impl='rbg')", {}, BITS)]
    )

"""Draws from distributions equal those of the oracle bit by bit."""

import pytest
from oracle.compare import Tolerance
from oracle.fixture import Case

BITS = Tolerance(exact=True)
FLOATS = ["float16", "bfloat16", "float32"]


def compare(oracle, snippets, **settings):
    cases = [Case(text.replace("KEY", "random.key(3)"), {}, BITS) for text in snippets]
    oracle.using(**settings).compare_many(cases)


INTEGERS = [
    "random.randint(KEY, (4,), 0, 10)",
    "random.randint(random.PRNGKey(3), 5, -7, 100)",
    "random.randint(KEY, (), 0, 2)",
    "random.randint(KEY, (0,), 0, 2)",
    "random.randint(KEY, (2, 3), 0, 1000003)",
    "random.randint(KEY, (1001,), -2**31, 2**31 - 1)",
    "random.randint(KEY, (4,), 10, 0)",
    "random.randint(KEY, (4,), 3, 3)",
    "random.randint(KEY, (4,), 0.5, 10)",
    "random.randint(KEY, (4,), False, True)",
    "random.randint(KEY, (2, 3), jnp.arange(3), 10)",
    "random.randint(KEY, (2, 3), np.arange(3), np.array([[5], [50]]))",
    "random.randint(KEY, (4,), jnp.int8(-5), jnp.int8(100))",
    "random.randint(KEY, (4,), jnp.uint32(5), jnp.uint32(2**31 + 5))",
    "random.randint(KEY, (4,), 5, 100, 'uint32')",
    "random.randint(KEY, (4,), -5, 100, 'uint32')",
    "random.randint(KEY, (4,), 0, 10, 'int8')",
    "random.randint(KEY, (4,), -5, 300, 'uint8')",
    "random.randint(KEY, (4,), 0, 256, 'uint8')",
    "random.randint(KEY, (4,), jnp.int8(-5), jnp.int8(100), 'int8')",
    "random.randint(KEY, (3,), jnp.arange(3), jnp.arange(3) + 70000, 'int16')",
    "random.randint(KEY, (4,), 0, 10, 'int4')",
    "jax.vmap(lambda k, n: random.randint(k, (3,), 0, n))(random.split(KEY, 2), jnp.arange(2) + 9)",
    "jax.jit(lambda k, n: random.randint(k, (3,), 0, n))(KEY, 7)",
]
WIDE_INTEGERS = [
    "random.randint(KEY, (4,), 0, 10)",
    "random.randint(KEY, (4,), -2**63, 2**63 - 1)",
    "random.randint(KEY, (4,), 0, 2**32, 'uint32')",
    "random.randint(KEY, (4,), 0, 2**63 - 1, 'uint64')",
    "random.randint(KEY, (4,), -2**31, 2**31, 'int32')",
    "random.randint(KEY, (4,), 0, 10, 'int16')",
    "random.randint(KEY, (3,), jnp.arange(3, dtype='uint8'), jnp.arange(3) + 9, 'uint8')",
]


@pytest.mark.parametrize("partitionable", [True, False])
def test_integers(oracle, partitionable):
    compare(oracle, INTEGERS, threefry_partitionable=partitionable)


def test_integers_with_x64(oracle):
    compare(oracle, WIDE_INTEGERS, x64=True)


CONTINUOUS = [
    *[f"random.exponential(KEY, (7,), '{dtype}')" for dtype in FLOATS],
    "random.exponential(KEY, (1001,))",
    *[f"random.gumbel(KEY, (7,), '{dtype}')" for dtype in FLOATS],
    *[f"random.gumbel(KEY, (7,), '{dtype}', mode='high')" for dtype in FLOATS],
    *[f"random.truncated_normal(KEY, -1, 2, (7,), '{dtype}')" for dtype in FLOATS],
    "random.truncated_normal(KEY, -1., 2.)",
    "random.truncated_normal(KEY, jnp.arange(3.), 2.)",
    "random.truncated_normal(KEY, jnp.arange(3.), jnp.array([[4.], [5.]]), (2, 3))",
    "random.truncated_normal(KEY, 2, -1, (3,))",
    "random.truncated_normal(KEY, -np.inf, np.inf, (3,))",
]


@pytest.mark.parametrize("partitionable", [True, False])
def test_continuous(oracle, partitionable):
    compare(oracle, CONTINUOUS, threefry_partitionable=partitionable)


def test_continuous_with_x64(oracle):
    calls = ["exponential(KEY, (3,))", "gumbel(KEY, (3,))", "gumbel(KEY, (3,), mode='high')"]
    calls += ["truncated_normal(KEY, -1, 2, (3,))"]
    compare(oracle, [f"random.{call}" for call in calls], x64=True)


def test_the_flag_for_gumbel(oracle):
    compare(oracle, ["random.gumbel(KEY, (3,))"], high_dynamic_range_gumbel=True)


DISCRETE = [
    "random.bernoulli(KEY)",
    "random.bernoulli(KEY, 0.3, (7,))",
    "random.bernoulli(KEY, 0.3, 7, mode='high')",
    "random.bernoulli(KEY, jnp.array([0., 1., .5]))",
    "random.bernoulli(KEY, jnp.array([0., 1., .5]), (2, 3))",
    "random.bernoulli(KEY, jnp.float16(.5), (7,))",
    "random.bernoulli(KEY, 1.5)",
    "random.categorical(KEY, jnp.arange(5.))",
    "random.categorical(KEY, jnp.arange(20.).reshape(4, 5) / 10)",
    "random.categorical(KEY, jnp.arange(20.).reshape(4, 5) / 10, axis=0)",
    "random.categorical(KEY, jnp.arange(20.).reshape(4, 5) / 10, shape=(3, 4))",
    "random.categorical(KEY, jnp.arange(20.).reshape(4, 5) / 10, axis=0, shape=(3, 5))",
    "random.categorical(KEY, jnp.arange(20.).reshape(4, 5) / 10, shape=(3, 4), replace=False)",
    "random.categorical(KEY, jnp.arange(24.).reshape(2, 3, 4) / 10, 1, (2, 2, 4), False)",
    "random.categorical(KEY, jnp.zeros((1, 5)), shape=(3, 6))",
    "random.categorical(KEY, jnp.zeros(5, 'bfloat16'), mode='high')",
    "random.categorical(KEY, jnp.array([-jnp.inf, 0., -jnp.inf]), shape=(4,))",
]


@pytest.mark.parametrize("partitionable", [True, False])
def test_discrete(oracle, partitionable):
    compare(oracle, DISCRETE, threefry_partitionable=partitionable)


SHUFFLES = [
    "random.permutation(KEY, 10)",
    "random.permutation(KEY, 1)",
    "random.permutation(KEY, 0)",
    "random.permutation(KEY, -5)",
    "random.permutation(KEY, np.int64(5))",
    "random.permutation(KEY, jnp.int32(5))",
    "random.permutation(KEY, 3000)",
    "random.permutation(KEY, jnp.arange(7.))",
    "random.permutation(KEY, np.arange(5))",
    "random.permutation(KEY, jnp.arange(5) > 2)",
    "random.permutation(KEY, jnp.arange(10).reshape(5, 2))",
    "random.permutation(KEY, jnp.arange(24).reshape(4, 3, 2), 1)",
    "random.permutation(KEY, jnp.arange(24).reshape(4, 6), axis=-1)",
    "random.permutation(KEY, jnp.arange(10).reshape(5, 2), independent=True)",
    "random.permutation(KEY, jnp.zeros((0,)))",
    "random.choice(KEY, 5)",
    "random.choice(KEY, 5, (2, 3))",
    "random.choice(KEY, 5.)",
    "random.choice(KEY, jnp.arange(5) * 2, (3,))",
    "random.choice(KEY, np.arange(5) * 2., ())",
    "random.choice(KEY, jnp.arange(10).reshape(5, 2), (3,))",
    "random.choice(KEY, jnp.arange(40).reshape(4, 5, 2), (3, 2), axis=1)",
    "random.choice(KEY, 5, (3,), replace=False)",
    "random.choice(KEY, 6, (2, 3), replace=False)",
    "random.choice(KEY, jnp.arange(40).reshape(4, 5, 2), (3,), axis=1, replace=False)",
    "random.choice(KEY, 5, (7,), p=jnp.array([.1, .2, .3, .2, .2]))",
    "random.choice(KEY, 5, (7,), p=np.array([1, 0, 3, 0, 2]))",
    "random.choice(KEY, 5, (3,), replace=False, p=jnp.array([.1, .2, .3, .2, .2]))",
    "random.choice(KEY, 5, (3,), replace=False, p=jnp.array([.1, .2, .3, .2, .2]), mode='high')",
    "random.choice(KEY, 0, (0,))",
    "random.choice(KEY, jnp.arange(5.), (0,))",
]


@pytest.mark.parametrize("partitionable", [True, False])
def test_shuffles(oracle, partitionable):
    compare(oracle, SHUFFLES, threefry_partitionable=partitionable)


def test_indices_with_x64(oracle):
    calls = [
        "permutation(KEY, 10)",
        "choice(KEY, 5, (3,))",
        "choice(KEY, 5, (3,), p=jnp.arange(5.))",
        "choice(KEY, 5, (3,), False, jnp.arange(5.))",
        "categorical(KEY, jnp.zeros(5))",
        "categorical(KEY, jnp.zeros(5), shape=(3,), replace=False)",
    ]
    compare(oracle, [f"random.{call}" for call in calls], x64=True)


def test_gradients(oracle):
    oracle.compare(
        "jax.grad(lambda a, b: random.truncated_normal(random.key(3), a, b), (0, 1))(-1., 2.)",
        rtol=1e-5,
        check_weak_type=False,
    )

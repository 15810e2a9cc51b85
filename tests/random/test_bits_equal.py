"""Keys and draws equal those of the oracle bit by bit, in both modes, with x64 on and off."""

import pytest
from oracle.compare import Tolerance
from oracle.fixture import Case

BITS = Tolerance(exact=True)
MODES = [True, False]  # of the flag threefry_partitionable


def compare(oracle, snippets, **settings):
    oracle.using(**settings).compare_many([Case(text, {}, BITS) for text in snippets])


SEEDS = [
    *("0", "7", "-1", "2**31", "2**40 + 3", "2**63 - 1", "-2**63", "True"),
    *("np.int8(-3)", "np.uint32(2**31 + 5)", "np.int32(-1)", "np.uint64(2**63 + 5)"),
    *("np.int64(2**40 + 3)", "np.array(3)", "jnp.int32(-7)", "jnp.uint8(200)"),
]


@pytest.mark.parametrize("x64", [False, True])
def test_seeds(oracle, x64):
    snippets = [f"random.PRNGKey({seed})" for seed in SEEDS]
    snippets += [f"random.key({seed})" for seed in SEEDS[:4]]
    snippets += ["jax.jit(random.PRNGKey)(-3)", "jax.jit(random.key)(np.int32(-3))"]
    snippets += ["jax.vmap(random.PRNGKey)(jnp.array([3, -1]))"]
    compare(oracle, snippets, x64=x64)


def test_the_seed_offset(oracle):
    seeds = ["0", "-1", "2**32 - 1", "np.int32(7)", "np.uint8(255)", "jnp.int32(2**31 - 1)"]
    for x64 in (False, True):
        snippets = [f"random.PRNGKey({seed})" for seed in seeds]
        compare(oracle, snippets, x64=x64, random_seed_offset=5)


FOLDED = [
    *("0", "5", "2**31 + 1", "2**32 - 1", "1.5", "True"),
    *("np.int64(2**32 + 5)", "np.int32(-3)", "np.uint64(5)", "np.array(9)"),
    *("jnp.int32(-3)", "jnp.float32(-2.7)", "jnp.uint8(200)", "jnp.bool(True)"),
]


@pytest.mark.parametrize("x64", [False, True])
def test_fold_in(oracle, x64):
    snippets = [f"random.fold_in(random.PRNGKey(1), {data})" for data in FOLDED]
    snippets += ["random.fold_in(random.key(1), 5)"]
    compare(oracle, snippets, x64=x64)


@pytest.mark.parametrize("partitionable", MODES)
def test_split(oracle, partitionable):
    counts = ["2", "0", "1", "5", "()", "(2, 3)", "[3]", "np.int32(3)", "jnp.int32(3)", "(0, 2)"]
    snippets = [f"random.split(random.key(3), {num})" for num in counts]
    snippets += ["random.split(random.PRNGKey(3))", "random.split(np.zeros(2, np.uint32), 3)"]
    compare(oracle, snippets, threefry_partitionable=partitionable)


SHAPES = ["()", "3", "(0,)", "(5,)", "(3, 0, 2)", "[2, 3]", "(2, 3, 4)", "(1001,)", "(501, 2)"]
NARROW = ["float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"]


@pytest.mark.parametrize("partitionable", MODES)
def test_shapes(oracle, partitionable):
    snippets = []
    for shape in SHAPES:
        snippets += [f"random.bits(random.key(0), {shape})"]
        snippets += [f"random.uniform(random.PRNGKey(0), {shape})"]
        snippets += [f"random.normal(random.key(0), {shape})"]
    compare(oracle, snippets, threefry_partitionable=partitionable)


@pytest.mark.parametrize("partitionable", MODES)
def test_dtypes(oracle, partitionable):
    snippets = []
    for shape in ("()", "(7,)", "(2, 5)"):
        snippets += [f"random.bits(random.key(1), {shape}, 'uint{n}')" for n in (8, 16, 32)]
    for dtype in NARROW:
        snippets += [f"random.uniform(random.key(1), (7,), '{dtype}')"]
        snippets += [f"random.uniform(random.key(1), (7,), '{dtype}', -2.5, 7.25)"]
        snippets += [f"random.normal(random.key(1), (7,), '{dtype}')"]
    snippets += ["random.normal(random.key(1), (7,), 'complex64')"]
    snippets += ["random.uniform(random.key(1), (7,), float)"]
    compare(oracle, snippets, threefry_partitionable=partitionable)


@pytest.mark.parametrize("partitionable", MODES)
def test_64_bits(oracle, partitionable):
    snippets = []
    for shape in ("()", "(7,)", "(2, 3)", "(1001,)"):
        snippets += [f"random.bits(random.PRNGKey(1), {shape}, 'uint64')"]
        snippets += [f"random.normal(random.PRNGKey(1), {shape})"]
    snippets += ["random.bits(random.key(1), (3,))", "random.normal(random.key(1), (3,), complex)"]
    snippets += ["random.uniform(random.key(1), (7,), 'float64', -3, 9)"]
    snippets += ["random.uniform(random.key(1), (7,), 'float32', -3, 9)"]
    compare(oracle, snippets, x64=True, threefry_partitionable=partitionable)


BOUNDS = [
    *("-1, 5", "jnp.arange(3.), 5", "np.float64(2), np.int64(7)", "5., 1.", "0., 0.", "-0.0, 1.0"),
    *("jnp.arange(3.), jnp.full((2, 3), 9)", "jnp.zeros((1, 3)), jnp.array([[1.], [2.]])"),
]


def test_bounds(oracle):
    snippets = [f"random.uniform(random.key(2), (2, 3), None, {bounds})" for bounds in BOUNDS]
    snippets += ["random.uniform(random.key(2), (1001, 1), minval=-3., maxval=jnp.ones(1))"]
    compare(oracle, snippets)


PROGRAMS = {
    "jit": "jax.jit(lambda k: random.normal(k, (5,)))(random.key(0))",
    "jit of a plain key": "jax.jit(lambda k: random.split(k))(random.PRNGKey(0))",
    "vmap over keys": "jax.vmap(lambda k: random.normal(k, (3,)))(random.split(random.key(0), 4))",
    "vmap over a later axis": "jax.vmap(lambda k: random.uniform(k), in_axes=1)"
    "(random.split(random.PRNGKey(0), 4).T.reshape(2, 4))",
    "vmap of split": "jax.vmap(random.split)(random.split(random.key(0), 3))",
    "vmap of vmap": "jax.vmap(jax.vmap(random.bits))(random.split(random.key(0), (2, 3)))",
    "vmap of fold_in": "jax.vmap(random.fold_in, (None, 0))(random.key(0), jnp.arange(3))",
    "scan": "lax.scan(lambda c, k: (c, random.normal(k, (2,))), 0., "
    "random.split(random.key(0), 3))[1]",
    "scan with a key as carry": "lax.scan(lambda k, _: tuple(random.split(k)), random.key(0), "
    "None, length=3)",
    "fori_loop": "lax.fori_loop(0, 3, lambda i, k: random.fold_in(k, i), random.key(0))",
    "cond": "lax.cond(True, lambda k: random.uniform(k), lambda k: 0., random.key(0))",
    "grad": "jax.grad(lambda x, k: x * random.normal(k))(np.float32(2), random.key(0))",
    "grad of the bounds": "jax.grad(lambda b: random.uniform(random.key(0), (), None, b, 3.))(1.)",
}


@pytest.mark.parametrize("partitionable", MODES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_under_transformations(oracle, name, partitionable):
    oracle.using(threefry_partitionable=partitionable).compare(PROGRAMS[name], rtol=1e-6)

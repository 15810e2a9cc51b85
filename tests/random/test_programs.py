"""How draws are computed: one kernel, bits that do not depend on the shape they are worked in."""

import math

import covector
import numpy as np
import pytest
from covector import lax, random
from covector.random import _layout, _threefry

SIZES = [(999,), (1000,), (1001,), (2003,), (1001, 1), (333, 7), (1, 1009), (1001, 64), (3, 1001)]


@pytest.mark.parametrize("shape", SIZES)
def test_the_work_shape_holds_all_elements_and_little_more(shape):
    worked, size = math.prod(_layout.flat_work_shape(shape)), math.prod(shape)
    assert size <= worked < size + 128


@pytest.mark.parametrize("shape", SIZES)
def test_elements_do_not_depend_on_the_shape(shape):
    first_ones = np.asarray(random.normal(random.key(0), (100,)))
    drawn = np.asarray(random.normal(random.key(0), shape))
    assert drawn.shape == shape
    np.testing.assert_array_equal(drawn.reshape(-1)[:100], first_ones)
    np.testing.assert_array_equal(
        np.asarray(random.bits(random.key(0), shape)).reshape(-1)[:100],
        np.asarray(random.bits(random.key(0), (100,))),
    )


def kernels(function, *args):
    """The fused kernels of a compiled program, and the loops in it."""
    text = covector.jit(function).lower(*args).compile().as_text()
    entry = text[text.index("ENTRY") :]
    return entry.count(" fusion("), text.count(" while(")


@pytest.mark.parametrize("draw", [random.bits, random.uniform, random.normal])
@pytest.mark.parametrize("shape", [(4096,), (64, 64)])
def test_a_draw_is_one_kernel(draw, shape):
    assert kernels(lambda key: draw(key, shape), random.PRNGKey(0)) == (1, 0)


def test_bits_are_drawn_once_for_all_their_users():
    def function(key):
        x = random.uniform(key, (4096,))
        return lax.sin(x), lax.cos(lax.mul(x, x)), lax.reduce_sum(x, (0,))

    text = covector.jit(function).lower(random.PRNGKey(0)).compile().as_text()
    assert text.count("iota()") == 1


def test_beyond_the_words_of_one_key(monkeypatch):
    """In halves, a key gives up to 2**32 - 1 words; more come from keys split off it."""
    key = random.PRNGKey(9)
    with covector.threefry_partitionable(False):
        keys = np.asarray(random.split(key, 3))
        expected = [random.bits(keys[0], 100), random.bits(keys[1], 100), random.bits(keys[2], 7)]
        monkeypatch.setattr(_threefry, "_BLOCK", 100)
        words = _threefry.random_bits(key, 32, (207,))
    np.testing.assert_array_equal(words, np.concatenate([np.asarray(x) for x in expected]))


def test_counters_beyond_32_bits():
    avals = covector.eval_shape(lambda key: random.bits(key, (2**17, 2**17)), random.PRNGKey(0))
    assert avals.shape == (2**17, 2**17)
    high, low = _threefry._counters((3, 2))
    assert int(high) == 0
    np.testing.assert_array_equal(low, [[0, 1], [2, 3], [4, 5]])


def test_the_primitive_broadcasts_keys_over_counters():
    keys = np.array([[1], [2]], np.uint32)
    counters = np.arange(3, dtype=np.uint32)
    first, second = _threefry.threefry2x32([keys, keys], [np.uint32(0), counters[None]])
    for i, word in enumerate(keys[:, 0]):
        alone = _threefry.threefry2x32([word, word], [np.uint32(0), counters])
        np.testing.assert_array_equal(first[i], alone[0])
        np.testing.assert_array_equal(second[i], alone[1])


# Published test vectors of Threefry-2x32-20: counter, key, result.
VECTORS = [
    ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF,) * 2, (0xFFFFFFFF,) * 2, (0x1CB996FC, 0xBB002BE7)),
    ((0x243F6A88, 0x85A308D3), (0x13198A2E, 0x03707344), (0xC4923A9C, 0x483DF7A0)),
]


@pytest.mark.parametrize("counter, key, result", VECTORS)
def test_known_answers(counter, key, result):
    words = [[np.uint32(n) for n in pair] for pair in (key, counter)]
    assert tuple(int(x) for x in _threefry.threefry2x32(*words)) == result


def test_only_words_are_encrypted():
    with pytest.raises(TypeError, match=r"dtype uint32, got u32\[\], u32\[\], i32\[\], u32\[\]"):
        _threefry.threefry2x32([np.uint32(0)] * 2, [np.int32(0), np.uint32(0)])


def test_eager_without_compiled_functions():
    with covector.disable_jit():
        drawn = np.asarray(random.normal(random.key(0), (3,)))
    np.testing.assert_allclose(drawn, random.normal(random.key(0), (3,)), rtol=1e-6)


DRAWS = {
    "normal": lambda key: random.normal(key, (3,)),
    "normal of one": random.normal,
    "complex": lambda key: random.normal(key, (2, 2), "complex64"),
    "bits of bytes": lambda key: random.bits(key, (5,), "uint8"),
    "bounds": lambda key: random.uniform(key, (2, 3), None, np.arange(3.0), 9.0),
    "split": lambda key: random.split(key, (2, 3)),
    "fold_in": lambda key: random.fold_in(key, 7),
    "randint": lambda key: random.randint(key, (3,), 0, 1000),
    "permutation": lambda key: random.permutation(key, 5),
    "categorical": lambda key: random.categorical(key, np.zeros((2, 3), np.float32)),
    "odd": lambda key: random.normal(key, (1001,)),
}


@pytest.mark.parametrize("partitionable", [True, False])
@pytest.mark.parametrize("name", DRAWS)
def test_many_keys_give_what_each_gives(name, partitionable):
    draw = DRAWS[name]
    with covector.threefry_partitionable(partitionable):
        keys = random.split(random.PRNGKey(4), (70, 2))
        batches = covector.vmap(covector.vmap(draw))(keys)
        loop = [[np.asarray(draw(key)) for key in keys[i]] for i in (0, 5, 69)]
    np.testing.assert_array_equal(np.asarray(batches)[[0, 5, 69]], loop)


def test_a_few_numbers_for_many_keys_are_drawn_in_long_rows():
    program = covector.make_jaxpr(covector.vmap(lambda key: random.normal(key, (3,))))
    equations = program(random.split(random.PRNGKey(0), 100)).eqns
    [words] = [e for e in equations if e.primitive is _threefry.threefry2x32_p]
    assert words.outvars[0].aval.shape == (3, 100)
    assert any(e.primitive is lax.optimization_barrier_p for e in equations)

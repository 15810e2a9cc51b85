"""Typed keys in the functions of arrays that move elements, as in the oracle."""

import covector
import covector.numpy as jnp
import numpy as np
import pytest
from covector import lax, random
from oracle.compare import Tolerance
from oracle.fixture import Case

K, KS, KSS = (
    "random.key(1)",
    "random.split(random.key(1), 3)",
    "random.split(random.key(1), (2, 3))",
)

# K, KS and KSS stand for a key, three keys, and two rows of three.
NUMPY = [
    "jnp.stack([K, random.key(2)])",
    "jnp.concatenate([KS, K[None]])",
    "jnp.where(True, K, random.key(2))",
    "jnp.where(jnp.array([True, False, True]), KS, K)",
    "jnp.broadcast_to(K, (2, 3))",
    "jnp.broadcast_arrays(KS, K)",
    "jnp.expand_dims(K, 0)",
    "jnp.reshape(KS, (3, 1))",
    "jnp.ravel(KSS)",
    "jnp.squeeze(KS[None])",
    "jnp.transpose(KSS)",
    "jnp.swapaxes(KSS, 0, 1)",
    "jnp.moveaxis(KSS, 0, 1)",
    "jnp.tile(KS, 2)",
    "jnp.repeat(KS, 2)",
    "jnp.roll(KS, 1)",
    "jnp.flip(KS)",
    "jnp.split(KS, 3)",
    "jnp.unstack(KS)",
    "jnp.take(KS, jnp.array([0, 2]), axis=0)",
    "jnp.take_along_axis(KS, jnp.array([0, 1]), 0)",
    "jnp.array([K, random.key(2)])",
    "jnp.array([[K], [random.key(2)]])",
    "jnp.array(K)",
    "jnp.asarray(KS)",
    "jnp.copy(K)",
    "jnp.zeros_like(KS)",
    "jnp.full_like(KS, K)",
    "jnp.full((2,), K)",
    "jnp.vstack([KS, KS])",
    "jnp.hstack([KS, KS])",
    "jnp.append(KS, KS)",
    "jnp.atleast_1d(K)",
    "jnp.array_equal(KS, KS)",
    "jnp.equal(KS, K)",
    "jnp.not_equal(KS, K)",
    "jnp.select([jnp.array(True)], [K], random.key(2))",
    "jnp.choose(jnp.array(0), [K, random.key(2)])",
    "jnp.diagflat(KS)",
    "jnp.triu(KSS)",
    "jnp.tril(KSS, 1)",
    "jnp.compress(np.array([True, False, True]), KS)",
    "jnp.compress(np.array([True, False, True]), KSS, axis=1)",
    "jnp.extract(np.array([True, False, True]), KS)",
    "jnp.delete(KS, 0)",
    "jnp.insert(KS, 0, K)",
    "jnp.vectorize(random.bits)(KS)",
    "[jnp.shape(KSS), jnp.ndim(KSS), jnp.size(KSS)]",
    "KS.take(1)",
    "KS.at[0].set(K)",
    "KS.at[jnp.array([0, 1])].set(KS[1:])",
    "KSS.at[..., 0].set(KS[:2])",
    "KS.at[5].get(mode='fill')",
    "KS.at[1:].apply(lambda k: k)",
    "+K",
]
LAX = [
    "lax.broadcast_in_dim(KS, (2, 3), (1,))",
    "lax.broadcast(K, (2,))",
    "lax.reshape(KS, (3, 1))",
    "lax.transpose(KSS, (1, 0))",
    "lax.squeeze(KS[None], (0,))",
    "lax.expand_dims(KS, (0,))",
    "lax.concatenate([KS, KS], 0)",
    "lax.stack([K, random.key(2)])",
    "lax.select(True, K, random.key(2))",
    "lax.select(jnp.array([True, False, True]), KS, KS[::-1])",
    "lax.select_n(jnp.array([1, 0, 1]), KS, KS[::-1])",
    "lax.slice(KS, (0,), (2,))",
    "lax.dynamic_slice(KS, (1,), (2,))",
    "lax.dynamic_index_in_dim(KS, 1)",
    "lax.dynamic_update_slice(KS, KS[:1], (1,))",
    "lax.dynamic_update_index_in_dim(KS, K, 1, 0)",
    "lax.rev(KS, (0,))",
    "lax.gather(KS, jnp.array([[1]]), lax.GatherDimensionNumbers((), (0,), (0,)), (1,))",
    "lax.eq(KS, KS[::-1])",
    "lax.ne(KS, KS)",
    "lax.stop_gradient(K)",
    "lax.optimization_barrier(K)",
    "lax.full((2,), K)",
    "lax.full_like(KS, 0)",
    "lax.switch(1, [lambda k: k, lambda k: random.split(k)[0]], K)",
    "lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, random.split(c[1])[0]), (0, K))",
    "lax.map(random.bits, KS)",
]
TRANSFORMED = [
    "jax.jit(lambda k: jnp.where(k == random.key(2), k, random.key(2)))(K)",
    "jax.jit(lambda k: jnp.stack([k, k]))(K)",
    "jax.jit(lambda ks: ks.at[0].set(ks[1]))(KS)",
    "jax.vmap(lambda a, b: jnp.stack([a, b]))(KS, KS)",
    "jax.vmap(lambda a: jnp.where(True, a, random.key(2)))(KS)",
    "jax.vmap(lambda a, i: a[i], in_axes=(None, 0))(KS, jnp.array([0, 2]))",
    "jax.vmap(lambda a: jnp.concatenate([a, a]), in_axes=1, out_axes=1)(KSS)",
    "jax.grad(lambda x: x * random.normal(jnp.stack([K, K])[0]))(np.float32(2))",
]
DESCRIBED = [
    "jax.eval_shape(random.key, 0)",
    "jax.eval_shape(random.split, K)",
    "jax.eval_shape(random.split, jax.ShapeDtypeStruct((), random.key_dtype()))",
    "jax.eval_shape(lambda ks: {'a': ks[0], 'b': random.bits(ks[1])}, KS)",
    "jax.jit(random.split).lower(jax.ShapeDtypeStruct((), random.key_dtype())).out_info",
    "str(jax.typeof(KS))",
]


def cases(snippets):
    """Named arrays are written out, the longest name first."""
    named = {"KSS": KSS, "KS": KS, "K": K}
    for snippet in snippets:
        names = ", ".join(named)
        text = f"(lambda {names}: {snippet})({', '.join(named.values())})"
        yield Case(text, {}, Tolerance(exact=True))


@pytest.mark.parametrize("snippets", [NUMPY, LAX, TRANSFORMED], ids=["numpy", "lax", "transformed"])
def test_as_the_oracle(oracle, snippets):
    oracle.compare_many(list(cases(snippets)))


def test_descriptions(oracle):
    for snippet in DESCRIBED:
        [case] = cases([f"repr({snippet})"])
        oracle.compare(case.snippet)


ERRORS = [
    "jnp.any(KS)",
    "jnp.trace(KSS)",
    "KS.at[0].add(K)",
    "lax.cond(True, random.key_data, lambda k: k, K)",
    "jnp.sum(KS)",
    "jnp.max(K)",
    "jnp.sort(KS)",
    "jnp.stack([KS, jnp.zeros(3, jnp.uint32)])",
    "jnp.where(True, K, 1)",
    "lax.concatenate([KS, jnp.zeros(3, jnp.uint32)], 0)",
    "lax.select(True, K, random.key(1, impl='rbg'))",
    "jnp.add(K, 1)",
    "jnp.zeros(3).at[0].set(K)",
    "KS.astype('uint32')",
    "KS.at[0].set(3)",
    "KS.at[0].set(random.key(0, impl='rbg'))",
]


@pytest.mark.parametrize("snippet", ERRORS)
def test_errors(snippet):
    """Of the classes that the oracle has here, some are those of its compiler."""
    [case] = cases([snippet])
    with pytest.raises((TypeError, ValueError), match=r"key<fry>|PRNGKeyArray"):
        eval(case.snippet, {"jnp": jnp, "lax": lax, "random": random, "np": np})


def test_diagonals():
    """Which the oracle's compiler refuses."""
    keys = random.split(random.key(1), 3)
    matrix = jnp.diag(keys)
    assert bool((jnp.diag(matrix) == keys).all())
    assert bool((jnp.diagonal(matrix, 1) == random.wrap_key_data(np.zeros(2, np.uint32))).all())


def test_a_function_of_some_keys():
    keys = random.split(random.key(1), (2, 3))
    drawn = keys.at[:, 1:].apply(lambda key: random.fold_in(key, 7))
    assert bool((drawn[:, 0] == keys[:, 0]).all())
    assert bool((drawn[1, 2] == random.fold_in(keys[1, 2], 7)).all())
    assert bool(keys.at[0, 0].apply(random.clone)[0, 0] == keys[0, 0])


def test_a_list_is_no_index(oracle):
    oracle.compare_error("random.split(random.key(1), 3)[[0, 1]]")


def test_moving_keys_with_several_words(oracle):
    """Words of rank two are moved as one block."""
    impl = random.define_prng_impl(
        key_shape=(2, 3),
        seed=lambda seed: lax.broadcasted_iota(np.uint32, (2, 3), 1) + seed.astype(np.uint32),
        split=lambda key, shape: lax.broadcast(key, shape),
        random_bits=lambda key, width, shape: jnp.full(shape, key[0, 0], f"uint{width}"),
        fold_in=lambda key, data: key + data,
    )
    keys = jnp.stack([random.key(1, impl=impl), random.key(5, impl=impl)])
    np.testing.assert_array_equal(random.key_data(keys[::-1])[:, 0], [[5, 6, 7], [1, 2, 3]])
    np.testing.assert_array_equal(keys == keys[0], [True, False])


def test_a_program_of_described_keys_compiles():
    compiled = covector.jit(random.normal).lower(covector.typeof(random.key(0)))
    assert compiled.compile()(random.key(0)) == random.normal(random.key(0))

"""Typed keys: what they print, what they answer, where they may be put."""

import copy
import pickle
import subprocess
import sys

import covector
import numpy as np
import pytest
from covector import random
from covector.random._key_array import PRNGKeyArray
from covector.sharding import Mesh, NamedSharding, PartitionSpec

SAME_AS_ORACLE = [
    "random.key(0)",
    "random.split(random.key(0), 3)",
    "random.split(random.key(0), (2, 3))[1]",
    "random.split(random.key(0), 3)[-1]",
    "random.split(random.key(0), 3)[1:]",
    "random.split(random.key(0), 3)[None]",
    "random.split(random.key(0), 3)[..., 0]",
    "random.split(random.key(0), (2, 3))[:, 1]",
    "random.split(random.key(0), 3)[jnp.array([0, 2])]",
    "random.split(random.key(0), 3)[np.array([True, False, True])]",
    "jax.jit(lambda keys, i: keys[i])(random.split(random.key(0), 3), 1)",
    "random.split(random.key(0), (2, 3)).reshape(3, 2)",
    "random.split(random.key(0), (2, 3)).reshape((-1,))",
    "random.split(random.key(0), (2, 3)).ravel()",
    "random.split(random.key(0), (2, 3)).flatten()",
    "random.split(random.key(0), (2, 3)).T",
    "random.split(random.key(0), (2, 3)).transpose(1, 0)",
    "random.split(random.key(0), (2, 3)).swapaxes(0, -1)",
    "random.split(random.key(0), (2, 1)).squeeze()",
    "random.split(random.key(0), (2, 1)).squeeze(1)",
    "list(random.split(random.key(0), 2))",
    "len(random.split(random.key(0), 3))",
    "random.split(random.key(0), 3) == random.key(0)",
    "random.split(random.key(0), 3) == random.split(random.key(0), (2, 3))",
    "random.key(0) != random.key(1)",
    "random.key(0) == None",
    "[random.key(0).ndim, random.key(0).size, random.key(0).nbytes, random.key(0).itemsize]",
    "[random.key(0).shape, random.key(0).is_fully_addressable, random.key(0).committed]",
    "random.key_data(random.key(7))",
    "random.key_data(np.zeros(2, np.uint32))",
    "random.wrap_key_data(jnp.zeros((4, 2), jnp.uint32))",
    "random.wrap_key_data(np.zeros(2, np.uint32), impl='threefry2x32')",
    "random.wrap_key_data(np.zeros(2, np.uint32), dtype=random.key_dtype())",
    "random.key_impl(random.key(0))",
    "random.key_impl(random.PRNGKey(0))",
    "random.key(3, dtype='threefry2x32')",
    "random.clone(random.split(random.key(0)))",
    "random.clone(random.PRNGKey(0))",
    "jax.device_put(random.key(3))",
    "jax.tree.leaves({'a': random.key(3)})",
    "jax.tree.map(lambda k: k.shape, random.split(random.key(0)))",
    "isinstance(random.key(0), jax.Array)",
    "jnp.issubdtype(random.key(0).dtype, jax.dtypes.prng_key)",
    "str(random.key(0).dtype)",
    "print(random.key(0))",
    "print(random.split(random.key(0), (2, 2)))",
    "repr(random.split(random.key(0), 3))",
    "jax.vmap(random.split, out_axes=-1)(random.split(random.key(0), 3))",
    "jax.vmap(lambda k: random.normal(k), in_axes=-1)(random.split(random.key(0), 3))",
    "jax.vmap(lambda k: k.shape and random.bits(k[0]), in_axes=-1)"
    "(random.split(random.key(0), (2, 3)))",
]


@pytest.mark.parametrize("snippet", SAME_AS_ORACLE)
def test_as_the_oracle(oracle, snippet):
    oracle.compare(snippet, exact=True)


def test_the_flag_for_typed_keys_everywhere(oracle):
    oracle.using(enable_custom_prng=True).compare("random.PRNGKey(0)")


def test_a_key_is_a_leaf_for_users_and_an_array_for_programs():
    key = random.key(0)
    assert covector.tree.leaves([key]) == [key]
    program = covector.make_jaxpr(random.bits)(key)
    assert [str(aval) for aval in program.in_avals] == ["u32[2]"]
    assert str(program).startswith("{ lambda ; a:key<fry>[]. let\n")


def test_what_importing_loads():
    program = (
        "import sys, covector.random; print(*sorted(n for n in sys.modules if 'covector' in n))"
    )
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout
    loaded = output.decode().split()
    assert "covector.random._keys" in loaded
    for name in ("numpy", "random._rbg", "random._counter_based", "_transform.key_reuse"):
        assert f"covector.{name}" not in loaded


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: x.copy()])
def test_copies(copied):
    keys = random.split(random.key(5), 3)
    assert (np.asarray(random.key_data(copied(keys))) == random.key_data(keys)).all()


def test_pickle():
    keys = random.split(random.key(5), 3)
    loaded = pickle.loads(pickle.dumps(keys))
    assert type(loaded) is PRNGKeyArray
    assert loaded.dtype is keys.dtype
    assert (np.asarray(random.key_data(loaded)) == random.key_data(keys)).all()
    assert pickle.loads(pickle.dumps(keys.dtype)) is keys.dtype


def test_devices():
    device = covector.devices()[-1]
    key = covector.device_put(random.key(0), device)
    assert key.devices() == {device}
    assert key.committed
    assert key.addressable_shards[0].data.shape == ()
    assert random.normal(key).devices() == {device}
    assert random.split(key).devices() == {device}


def test_shardings():
    mesh = Mesh(np.array(covector.devices()[:4]).reshape(2, 2), ("x", "y"))
    keys = random.split(random.key(1), (4, 2))
    put = covector.device_put(keys, NamedSharding(mesh, PartitionSpec("x", "y")))
    assert [s.data.shape for s in put.addressable_shards] == [(2, 1)] * 4
    assert put.addressable_shards[3].index == (slice(2, 4), slice(1, 2))
    assert bool((put.addressable_shards[3].data == keys[2:, 1:]).all())
    draw = covector.vmap(covector.vmap(random.bits))
    np.testing.assert_array_equal(covector.jit(draw)(put), draw(keys))
    for key, spec in [(keys, PartitionSpec("x", None, "y")), (keys[0, 0], PartitionSpec("x"))]:
        with pytest.raises(ValueError, match="more than the axes of the key array"):
            covector.device_put(key, NamedSharding(mesh, spec))


def test_on_the_host():
    assert repr(covector.device_get(random.key(7))) == repr(random.key(7))


def test_waiting_and_deleting():
    key = random.key(0)
    assert key.block_until_ready() is key
    covector.block_until_ready({"a": key})
    assert not key.is_deleted()
    key.delete()
    assert key.is_deleted()
    assert "deleted" in repr(key)


def test_donation():
    keys = random.split(random.key(0), 3)
    covector.jit(lambda k: random.split(k[0], 3), donate_argnums=0)(keys)
    assert keys.is_deleted()


def test_tangents_of_keys_hold_nothing():
    keys, nothing = random.split(random.key(0), 3), np.zeros(3, covector.dtypes.float0)

    def function(keys, x):
        return x * random.normal(keys[0])

    of_keys, of_x = covector.grad(function, (0, 1), allow_int=True)(keys, 2.0)
    assert (of_keys.shape, of_keys.dtype) == (nothing.shape, nothing.dtype)
    pullback = covector.vjp(function, keys, 2.0)[1]
    assert pullback(np.float32(1))[0].dtype == nothing.dtype
    value, tangent = covector.jvp(function, (keys, 2.0), (nothing, 1.0))
    assert (value, tangent) == (function(keys, 2.0), of_x)
    with pytest.raises(TypeError, match="the tangent's tree must match"):
        covector.jvp(function, (keys, 2.0), (1.0, 1.0))


def test_a_dtype_for_each_implementation():
    assert random.key_dtype() is random.key(1).dtype is random.key_dtype("threefry2x32")
    assert random.key_dtype() != np.dtype("float32")
    assert random.key_dtype().itemsize == 8


ERRORS = [
    "random.key(0) == random.PRNGKey(0)",
    "random.key(0) == 3",
    "random.key(0) + 1",
    "random.key(0) < random.key(1)",
    "random.split(random.key(0), 2) == random.split(random.key(0), 3)",
    "len(random.key(0))",
    "list(random.key(0))",
    "hash(random.key(0))",
    "bool(random.key(0))",
    "float(random.key(0))",
    "int(random.key(0))",
    "np.asarray(random.key(0))",
    "random.split(random.key(0), 3)[0, 0]",
    "random.split(random.key(0), (2, 3)).reshape(4)",
    "lax.add(random.key(0), 1)",
    "jnp.sin(random.key(0))",
    "jax.grad(lambda k: 1.)(random.key(0))",
    "jax.vmap(random.normal)(random.key(0))",
    "jax.vmap(random.normal, in_axes=1)(random.split(random.key(0), 2))",
    "jax.vmap(random.split, out_axes=2)(random.split(random.key(0), 3))",
    "random.key(0, impl='philox')",
    "random.key(0, impl=3)",
    "random.key(0, impl='threefry2x32', dtype='threefry2x32')",
    "random.wrap_key_data(jnp.zeros(3, jnp.uint32))",
    "random.wrap_key_data(jnp.zeros(2, jnp.int32))",
    "random.wrap_key_data(random.key(0))",
    "random.key_data(jnp.zeros(2))",
    "random.key_data(3)",
    "random.key_impl(3)",
]


@pytest.mark.parametrize("snippet", ERRORS)
def test_errors(oracle, snippet):
    oracle.compare_error(snippet)


def test_an_index_out_of_bounds():
    with pytest.raises(IndexError):
        random.split(random.key(0), 3)[5]


PMAPS = [
    "jax.pmap(lambda k: random.normal(k, (3,)))(random.split(random.key(0), 4))",
    "jax.pmap(lambda k: random.normal(k, (3,)), in_axes=-1)(random.split(random.key(0), 4))",
    "jax.pmap(jax.vmap(random.bits))(random.split(random.key(0), (2, 3)))",
]


@pytest.mark.parametrize("snippet", PMAPS)
def test_on_several_devices(oracle, snippet):
    oracle.using(devices=4).compare(snippet, exact=True)


def test_pmap_does_not_map_the_words_of_a_key():
    """As `vmap`; the oracle counts the words among the axes of results."""
    keys = random.split(random.key(0), 4)
    split = covector.pmap(random.split, out_axes=-1)(keys)
    assert bool((split == covector.vmap(random.split, out_axes=-1)(keys)).all())
    with pytest.raises(ValueError, match="along axis 0, which does not exist"):
        covector.pmap(random.normal)(random.key(0))

"""Meshes, specs, shardings, and operations on arrays that are spread over devices."""

import copy
import pickle
import sys

import covector
import numpy as np
import pytest
from covector import P, jit, lax
from covector._run.tiling import axes_of, hlo_sharding, refine
from covector.sharding import (
    AxisType,
    Mesh,
    NamedSharding,
    PartitionSpec,
    SingleDeviceSharding,
    make_mesh,
    make_single_device_sharding,
)

x = np.arange(64, dtype=np.float32).reshape(8, 8)
SPECS = [
    P(),
    P("x"),
    P("y"),
    P("x", "y"),
    P("y", "x"),
    P(None, "x"),
    P(("x", "y")),
    P(("y", "x")),
    P(None, ("y", "x")),
]


@pytest.fixture(scope="module")
def mesh():
    return make_mesh((4, 2), ("x", "y"))


def spread(spec, mesh, value=x):
    return covector.device_put(value, NamedSharding(mesh, spec))


# --- specs and meshes -----------------------------------------------------------------------------

OF_SPECS = [
    "P('x', None)",
    "P('x')",
    "P(('x',))",
    "P(())",
    "P(['x', 'y'], None)",
    "P('x') + P('y')",
    "('y',) + P('x')",
    "P('x', ('y', 'z'))[1]",
    "len(P('x', None))",
    "list(P('x', None))",
    "P('x') == P('x', None)",
    "P(('x',)) == P('x')",
    "hash(P(('x',))) == hash(P('x'))",
    "P('x') == ('x',)",
    "P('x', 'y').index('y')",
    "P.UNCONSTRAINED",
    "P('x').partitions",
]
OF_MESHES = [
    "mesh",
    "mesh.shape['x'], mesh.size, mesh.axis_names, mesh.axis_sizes, mesh.shape_tuple, mesh.empty",
    "mesh.device_ids.tolist()",
    "mesh.axis_types",
    "mesh is Mesh(devices, ('x', 'y'))",
    "Mesh(devices.ravel(), 'x')",
    "NamedSharding(mesh, P('x'))",
    "NamedSharding(mesh, P('x')).memory_kind",
    "NamedSharding(mesh, P('x')) == NamedSharding(mesh, P('x'))",
    "NamedSharding(mesh, P('x')) == NamedSharding(mesh, P('x', None))",
    "NamedSharding(mesh, P('x')).is_equivalent_to(NamedSharding(mesh, P('x', None)), 2)",
    "NamedSharding(mesh, P('x', 'y')).shard_shape((8, 8))",
    "list(NamedSharding(mesh, P(('y', 'x'))).devices_indices_map((8, 8)).values())",
    "list(NamedSharding(mesh, P('y')).devices_indices_map((8,)).values())",
    "NamedSharding(mesh, P()).is_fully_replicated, NamedSharding(mesh, P('x')).is_fully_replicated",
    "NamedSharding(mesh, P('x')).num_devices, len(NamedSharding(mesh, P('x')).device_set)",
    "SingleDeviceSharding(jax.devices()[1]) == SingleDeviceSharding(jax.devices()[1])",
    "SingleDeviceSharding(jax.devices()[1]).shard_shape((3, 2))",
    "SingleDeviceSharding(jax.devices()[1]).devices_indices_map((3,))[jax.devices()[1]]",
]
PROLOGUE = """
from jax.sharding import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding
P = PartitionSpec
devices = np.array(jax.devices()).reshape(4, 2)
mesh = Mesh(devices, ('x', 'y'))
"""


@pytest.mark.parametrize("snippet", OF_SPECS + OF_MESHES)
def test_equals_the_oracle(oracle, snippet):
    oracle.compare(f"{PROLOGUE}repr(({snippet},))")


ERRORS = [
    "Mesh(devices, ('x',))",
    "Mesh(devices, ('x', 'y'), axis_types='auto')",
    "NamedSharding(mesh, P('z'))",
    "NamedSharding(mesh, P('x')).shard_shape((6, 2))",
    "jax.device_put(np.ones((6, 8)), NamedSharding(mesh, P('x', 'y')))",
    "jax.device_put(np.ones(8), NamedSharding(mesh, P('x', None)))",
    "jax.make_mesh((9,), ('x',))",
    "jax.make_mesh((4, 2), ('x',))",
    "jax.jit(lambda a, b: a + b)(spread, jax.device_put(np.ones(8), jax.devices()[3]))",
]


@pytest.mark.parametrize("snippet", ERRORS)
def test_errors_of_the_oracle(oracle, snippet):
    put = "spread = jax.device_put(np.ones((8, 8)), NamedSharding(mesh, P('x')))\n"
    oracle.compare_error(PROLOGUE + put + snippet)


def test_error_messages(mesh):
    with pytest.raises(TypeError, match=r"spec must be a PartitionSpec, got \('x',\)"):
        NamedSharding(mesh, ("x",))
    with pytest.raises(ValueError, match=r"'z' of P\('z',\) is not an axis .*\('x', 'y'\)"):
        NamedSharding(mesh, P("z"))
    with pytest.raises(ValueError, match="more than once"):
        NamedSharding(mesh, P("x", ("y", "x")))
    with pytest.raises(ValueError, match="splits axis 0 into 4 parts, but its size is 6"):
        spread(P("x"), mesh, np.ones(6))
    with pytest.raises(ValueError, match="at least 2 axes, but this one has 1"):
        spread(P("x", "y"), mesh, np.ones(8))
    with pytest.raises(NotImplementedError, match=r"other than AxisType\.Auto"):
        make_mesh((8,), ("x",), (AxisType.Explicit,))
    with pytest.raises(ValueError, match="must be different"):
        Mesh(np.array(covector.devices()[:4]).reshape(2, 2), ("x", "x"))
    with pytest.raises(TypeError, match="devices must be devices, got 0"):
        Mesh([0, 1], ("x",))
    with pytest.raises(AttributeError, match="immutable"):
        P("x").partitions = ()


def test_meshes_are_interned_and_pickled(mesh):
    assert mesh is make_mesh((4, 2), ("x", "y"))
    assert mesh is not make_mesh((4, 2), ("y", "x"))
    assert pickle.loads(pickle.dumps(mesh)) is mesh
    assert copy.deepcopy(P("x", ("y",))) == P("x", "y")
    sharding = NamedSharding(mesh, P("x", PartitionSpec.UNCONSTRAINED))
    assert pickle.loads(pickle.dumps(sharding)) == sharding
    assert not mesh.devices.flags.writeable and not mesh.is_multi_process
    assert make_single_device_sharding(mesh.devices[1, 1]).device_set == {mesh.devices[1, 1]}
    assert isinstance(make_single_device_sharding(mesh.devices[0, 0]), SingleDeviceSharding)


@pytest.mark.parametrize("sizes", [(8,), (4, 2), (2, 4), (2, 2, 2), (1, 8), (2, 1, 4)])
def test_axes_of_inverts_hlo_sharding(sizes):
    count = len(sizes)
    groups = [(), *[(a,) for a in range(count) if sizes[a] > 1]]
    groups += [(a, b) for a in range(count) for b in range(count) if a != b]
    for first in groups:
        for second in groups:
            axes = ((), first, second)
            if set(first) & set(second) or any(sizes[a] == 1 for g in axes for a in g):
                continue
            assert axes_of(hlo_sharding(axes, sizes), sizes, 3) == axes


def test_axes_that_a_mesh_does_not_have():
    assert axes_of(hlo_sharding(((0,),), (4, 2)), (8,), 1) is None
    assert axes_of(hlo_sharding(((1,),), (4, 2)), (2, 4), 1) is None
    assert axes_of(hlo_sharding(((0,),), (2, 4)), (2, 2, 2), 1) == ((0,),)
    assert axes_of(hlo_sharding(((1,),), (2, 4)), (2, 2, 2), 1) == ((1, 2),)


def test_refine():
    assert refine([(8,), (8,)]) == (8,)
    assert refine([(8,), (4, 2), (2, 4)]) == (2, 2, 2)
    assert refine([(6,), (2, 3)]) == (2, 3)
    assert refine([(2, 3), (3, 2)]) is None
    assert refine([(1, 8, 1)]) == (8,)


# --- placing arrays -------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_device_put(mesh, spec):
    array = spread(spec, mesh)
    np.testing.assert_array_equal(np.asarray(array), x)
    assert array.sharding == NamedSharding(mesh, spec) and array.committed
    assert len(array.devices()) == 8 and array.is_fully_addressable
    replicas = {}
    for shard in array.addressable_shards:
        np.testing.assert_array_equal(np.asarray(shard.data), x[shard.index])
        assert shard.data.devices() == {shard.device}
        key = str(shard.index)
        assert shard.replica_id == replicas.get(key, 0)
        replicas[key] = shard.replica_id + 1
    for other in (P("x"), P(), P(None, "y")):
        moved = covector.device_put(array, NamedSharding(mesh, other))
        np.testing.assert_array_equal(np.asarray(moved), x)
        assert moved.sharding.spec == other
    single = covector.device_put(array, covector.devices()[3])
    assert single.devices() == {covector.devices()[3]}
    np.testing.assert_array_equal(np.asarray(single), x)


def test_the_source_may_change_after_device_put(mesh):
    for spec in (P(), P("x"), P("y")):
        source = x.copy()
        array = spread(spec, mesh, source)
        source += 1
        np.testing.assert_array_equal(np.asarray(array), x)


def test_reading_never_imports_jax(mesh, monkeypatch):
    asked = []

    class Finder:
        def find_spec(self, name, path=None, target=None):
            if name.partition(".")[0] == "jax":
                asked.append(name)
                raise ModuleNotFoundError(name)

    monkeypatch.setattr(sys, "meta_path", [Finder(), *sys.meta_path])
    for spec in (P(), P("x"), P("x", "y")):
        array = spread(spec, mesh)
        array.copy_to_host_async()
        np.testing.assert_array_equal(covector.device_get(array), x)
        assert len(array.addressable_shards) == 8
        assert array.addressable_data(3).block_until_ready().devices() == {covector.devices()[3]}
        assert pickle.loads(pickle.dumps(array)).shape == array.shape
        assert str(array) == str(x) and "Array(" in repr(array)
        assert float(lax.reduce_sum(array, (0, 1))) == x.sum()
        array.delete()
        assert array.is_deleted()
    assert asked == []


def test_scalars_and_empty_arrays(mesh):
    assert float(spread(P(), mesh, 2.5)) == 2.5
    empty = spread(P("x"), mesh, np.ones((0, 3), np.float32))
    assert lax.add(empty, np.float32(1)).shape == (0, 3)


ASSEMBLED = [
    "jax.make_array_from_callback((8, 2), sharding, lambda i: np.ones((8, 2), np.float32)[i])",
    "jax.make_array_from_callback((8, 2), sharding, lambda i: np.ones((8, 2))[i], dtype=np.int32)",
    "jax.make_array_from_callback((8, 2), sharding, lambda i: np.ones((8, 2)))",
    "jax.make_array_from_callback((6, 2), sharding, lambda i: np.ones((6, 2))[i])",
    "jax.make_array_from_single_device_arrays((8,), every, parts(1, 8))",
    "jax.make_array_from_single_device_arrays((8,), every, parts(1, 8)[::-1])",
    "jax.make_array_from_single_device_arrays((8,), every, parts(2, 8))",
    "jax.make_array_from_single_device_arrays((8,), every, parts(1, 4))",
]


@pytest.mark.parametrize("snippet", ASSEMBLED)
def test_arrays_from_parts(oracle, snippet):
    setting = """
sharding, every = NamedSharding(mesh, P('x')), NamedSharding(mesh, P(('x', 'y')))
parts = lambda n, count: [
    jax.device_put(np.full(n, k, np.float32), d) for k, d in enumerate(jax.devices()[:count])
]
"""
    oracle.compare(PROLOGUE + setting + snippet, may_raise=True)


# --- computing with them --------------------------------------------------------------------------

PROGRAMS = {
    "add": lambda a: lax.add(a, np.float32(1)),
    "host operand": lambda a: lax.mul(a, x),
    "sum": lambda a: lax.reduce_sum(a, (0, 1)),
    "sum rows": lambda a: lax.reduce_sum(a, (1,)),
    "slice": lambda a: lax.slice(a, (0, 1), (5, 8)),
    "reshape": lambda a: lax.reshape(a, (4, 2, 8)),
    "flatten": lambda a: lax.reshape(a, (64,)),
    "transpose": lambda a: lax.transpose(a, (1, 0)),
    "concatenate": lambda a: lax.concatenate([a, a], 0),
    "pad": lambda a: lax.pad(a, np.float32(0), [(1, 0, 0), (0, 0, 1)]),
    "rev": lambda a: lax.rev(a, (0,)),
    "cumsum": lambda a: lax.sort(a, dimension=0),
    "two results": lambda a: (lax.sin(a), lax.reduce_max(a, (0,))),
    "no operand used": lambda a: lax.iota(np.int32, 5),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_follow_their_arguments(mesh, program):
    function = PROGRAMS[program]
    expected = covector.device_get(function(covector.device_put(x)))
    for spec in (P("x", "y"), P(None, "x"), P(("y", "x")), P()):
        array = spread(spec, mesh)
        eager = function(array)
        compiled = jit(function)
        for result in (eager, compiled(array), compiled(array)):
            for ours, theirs in zip(_leaves(result), _leaves(expected), strict=True):
                np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=1e-6)
        for leaf in _leaves(compiled(array)):
            assert leaf.committed and len(leaf.devices()) == 8
            assert leaf.sharding.mesh is mesh


def _leaves(value):
    return list(value) if isinstance(value, tuple) else [value]


def test_where_results_lie(mesh):
    array = spread(P("x", "y"), mesh)
    assert lax.sin(array).sharding.spec == P("x", "y")
    assert lax.transpose(array, (1, 0)).sharding.spec == P("y", "x")
    assert lax.reduce_sum(array, (0,)).sharding.spec == P("y")
    total = lax.reduce_sum(array, (0, 1))
    assert total.sharding.spec == P() and total.is_fully_replicated
    assert float(total) == x.sum() and int(total) == x.sum()


def test_arguments_of_several_kinds(mesh):
    array = spread(P("x"), mesh)
    weights = spread(P(None, "y"), mesh)
    total = jit(lambda a, b, c, d: lax.add(lax.add(a, b), lax.add(c, d)))
    uncommitted = covector.device_put(x)
    for _ in range(2):
        result = total(array, weights, uncommitted, x)
        np.testing.assert_array_equal(np.asarray(result), 4 * x)
        np.testing.assert_array_equal(np.asarray(total(x, uncommitted, x, weights)), 4 * x)


def test_one_set_of_devices_in_two_meshes(mesh):
    add = jit(lax.add)
    rows = spread(P("r"), make_mesh((8,), ("r",)))
    backward = make_mesh((8,), ("r",), devices=covector.devices()[::-1])
    incommensurable = make_mesh((2, 4), ("u", "v"))
    for other in (backward, incommensurable):
        for _ in range(2):
            result = add(rows, spread(P(other.axis_names[0]), other))
            np.testing.assert_array_equal(np.asarray(result), 2 * x)
    six = covector.devices()[:6]
    y = np.arange(36.0, dtype=np.float32).reshape(6, 6)
    first = spread(P("a", "b"), make_mesh((2, 3), ("a", "b"), devices=six), y)
    second = spread(P("a", "b"), make_mesh((3, 2), ("a", "b"), devices=six), y)
    for _ in range(2):
        np.testing.assert_array_equal(np.asarray(add(first, second)), 2 * y)


def test_different_sets_of_devices_are_refused(mesh):
    array = spread(P("x"), mesh)
    half = make_mesh((4,), ("x",), devices=covector.devices()[4:])
    with pytest.raises(ValueError, match=r"incompatible devices .*device_put"):
        lax.add(array, spread(P("x"), half))
    with pytest.raises(ValueError, match="incompatible devices"):
        lax.add(array, covector.device_put(x, covector.devices()[2]))
    alone = make_mesh((1,), ("x",))
    with pytest.raises(ValueError, match="incompatible devices"):
        lax.add(array, spread(P(), alone))


def test_meshes_of_one_device():
    alone = make_mesh((1,), ("x",), devices=covector.devices()[2:3])
    array = spread(P("x"), alone)
    result = lax.add(array, covector.device_put(x, covector.devices()[2]))
    np.testing.assert_array_equal(np.asarray(result), 2 * x)
    assert result.devices() == {covector.devices()[2]} and result.sharding.mesh is alone


def test_derivatives_and_batches(mesh):
    def loss(a):
        return lax.reduce_sum(lax.mul(lax.sin(a), a), (0, 1))

    expected = np.sin(x) + x * np.cos(x)
    for spec in (P("x"), P("y", "x")):
        array = spread(spec, mesh)
        for function in (covector.grad(loss), jit(covector.grad(loss))):
            np.testing.assert_allclose(np.asarray(function(array)), expected, rtol=1e-4, atol=1e-4)
        rows = covector.vmap(lambda row: lax.reduce_sum(row, (0,)))(array)
        np.testing.assert_allclose(np.asarray(rows), x.sum(1), rtol=1e-6)


def test_donation(mesh):
    array = spread(P("x"), mesh)
    add = jit(lambda a, b: lax.add(a, b), donate_argnums=0)
    np.testing.assert_array_equal(np.asarray(add(array, x)), 2 * x)
    assert array.is_deleted()


def test_compiled_ahead(mesh):
    compiled = jit(lax.sin).lower(x).compile()
    np.testing.assert_allclose(np.asarray(compiled(x)), np.sin(x), rtol=1e-5, atol=1e-6)
    assert isinstance(compiled.output_shardings, SingleDeviceSharding)


def test_one_executable_for_a_placement(mesh):
    compiles = []
    function = jit(lambda a: lax.add(lax.mul(a, a), np.float32(2)))
    for spec in (P("x"), P("y")):
        for _ in range(3):
            function(spread(spec, mesh))
        compiles.append(function._cache_size())
    assert compiles == [1, 2]

"""`with_sharding_constraint`: how a value inside a program lies over the devices."""

from __future__ import annotations

from typing import Any

import jaxlib._jax as _jaxlib

from covector._ir.avals import ShapedArray
from covector._ir.jaxpr import NO_EFFECTS
from covector._run.mesh import UNCONSTRAINED, PartitionSpec
from covector._run.placement import DeviceGrid
from covector._run.shardings import NamedSharding, SingleDeviceSharding, shard_shape
from covector._run.tiling import axes_of
from covector._trace.primitive import LINEAR, Primitive
from covector._trace.trace import Tracer, typeof
from covector._tree.prefix import flatten_axes
from covector._tree.registry import dispatch_registry


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """``x``, a tree of arrays, spread over devices as ``shardings`` say.

    Inside `jit` it tells the compiler how an intermediate value is to lie; outside, it is
    `device_put`. A program that contains it runs on the devices of the sharding's mesh.

    Args:
      shardings: a sharding, or None for what the compiler chooses; or a tree of them, a prefix of
        ``x``. A dimension with `PartitionSpec.UNCONSTRAINED` is the compiler's choice, too.

    Raises:
      TypeError: something else than a sharding.
      RuntimeError: a `PartitionSpec` alone, for there is no mesh that it belongs to.
      ValueError: it does not fit the shape.

    >>> from covector.sharding import NamedSharding, PartitionSpec
    >>> rows = NamedSharding(covector.make_mesh((1,), ("i",)), PartitionSpec("i"))
    >>> covector.jit(lambda x: with_sharding_constraint(x, rows))(np.ones((2, 2))).shape
    (2, 2)
    """
    return constrained(x, shardings, "with_sharding_constraint: shardings")


def constrained(x: Any, shardings: Any, argument: str) -> Any:
    """`with_sharding_constraint`, for shardings that came as an ``argument`` of this name."""
    leaves, tree = dispatch_registry.flatten(x)
    places = shardings_of_leaves(tree, shardings, argument)
    return tree.unflatten([_constrain(v, s, argument) for v, s in zip(leaves, places, strict=True)])


def shardings_of_leaves(tree: Any, shardings: Any, argument: str) -> list[Any]:
    """The sharding of each leaf of a tree, or None, from a prefix of the tree."""
    if shardings is None or isinstance(shardings, (_jaxlib.Sharding, PartitionSpec)):
        return [shardings] * tree.num_leaves
    return flatten_axes(argument, tree, shardings)


def _constrain(x: Any, sharding: Any, argument: str) -> Any:
    aval = typeof(x)
    if sharding is None:
        return x
    if isinstance(sharding, PartitionSpec):
        raise RuntimeError(
            f"{argument}: {sharding} names axes of a mesh, and none is given. Pass "
            "covector.sharding.NamedSharding(mesh, spec)."
        )
    if not isinstance(sharding, _jaxlib.Sharding):
        raise TypeError(
            f"{argument} must be shardings or None, got {sharding!r} of type {type(sharding)}."
        )
    shard_shape(sharding, aval.shape)
    if isinstance(x, Tracer):
        return sharding_constraint_p.bind(x, sharding=sharding)
    from covector._api.device import device_put

    return device_put(x, sharding)


# --- the primitive --------------------------------------------------------------------------------


def devices_of(sharding: Any) -> frozenset:
    """The effect that a program runs on all devices of a mesh that it mentions."""
    if not isinstance(sharding, NamedSharding) or sharding.mesh.size == 1:
        return NO_EFFECTS
    mesh = sharding.mesh
    return frozenset([DeviceGrid(mesh.axis_sizes, mesh.axis_names, tuple(mesh.devices.flat))])


def lower_constraint(ctx: Any, args: Any, aval: ShapedArray, sharding: Any) -> list[str]:
    """Append that a value of type ``aval`` lies as ``sharding`` says."""
    if ctx.module.num_partitions == 1 or isinstance(sharding, SingleDeviceSharding):
        return list(args)
    if ctx.module.manual_axes:
        raise NotImplementedError("with_sharding_constraint: it cannot stand inside pmap.")
    axes = axes_of(sharding._to_xla_hlo_sharding(aval.ndim), ctx.module.mesh, aval.ndim)
    if axes is None:
        raise ValueError(
            f"with_sharding_constraint: {sharding} cannot be expressed by the mesh of the program, "
            f"whose axes have sizes {ctx.module.mesh}."
        )
    spec = sharding.spec if isinstance(sharding, NamedSharding) else ()
    free = {i for i, entry in enumerate(spec) if entry is UNCONSTRAINED}
    groups = [
        "{?}" if i in free else "{" + ", ".join([f'"a{a}"' for a in group]) + "}"
        for i, group in enumerate(axes)
    ]
    text = f"sdy.sharding_constraint {args[0]} <@mesh, [{', '.join(groups)}]> : {aval.mlir}"
    return ctx.emit(text)


def with_free_axis(sharding: Any, position: int, ndim: int) -> Any:
    """The sharding of arrays of ``ndim`` axes for those with one more, which may lie anyhow."""
    if isinstance(sharding, NamedSharding):
        entries = list(sharding.spec)
        entries += [None] * (ndim - len(entries))
        entries.insert(position, UNCONSTRAINED)
        return NamedSharding(sharding.mesh, PartitionSpec(*entries))
    if isinstance(sharding, SingleDeviceSharding):
        return sharding
    raise NotImplementedError(
        f"with_sharding_constraint: {sharding} cannot be extended by vmap's axis; use a "
        "NamedSharding."
    )


def without_free_axes(place: Any) -> Any:
    """A place where axes whose sharding is the compiler's choice are not divided."""
    if not isinstance(place, NamedSharding) or UNCONSTRAINED not in tuple(place.spec):
        return place
    entries = [None if entry is UNCONSTRAINED else entry for entry in place.spec]
    return NamedSharding(place.mesh, PartitionSpec(*entries))


def _batch(axis: Any, args: list, dims: tuple, *, sharding: Any) -> tuple[Any, int]:
    sharding = with_free_axis(sharding, dims[0], typeof(args[0]).ndim - 1)
    return sharding_constraint_p.bind(args[0], sharding=sharding), dims[0]


def _abstract(aval: ShapedArray, *, sharding: Any) -> ShapedArray:
    return aval


sharding_constraint_p = Primitive(
    "sharding_constraint",
    abstract=_abstract,
    lower=lambda ctx, args, in_avals, out_avals, *, sharding: lower_constraint(
        ctx, args, out_avals[0], sharding
    ),
    jvp=LINEAR,
    transpose=lambda ct, x, *, sharding: [sharding_constraint_p.bind(ct, sharding=sharding)],
    batch=_batch,
    effects=lambda params: devices_of(params["sharding"]),
)

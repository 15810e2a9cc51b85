"""Moving values between host and devices, and waiting for them."""

from __future__ import annotations

from typing import Any

import jaxlib._jax as _jaxlib
import numpy as np

import covector._run.array  # noqa: F401  an array needs its members
from covector._run.client import default_device
from covector._run.memory import MemorySpace, memory_kind_of
from covector._run.shardings import shard_shape, with_memory_kind
from covector._run.transfer import moved, put_on_device, put_on_sharding
from covector._trace.trace import Tracer, typeof
from covector._tree.prefix import flatten_axes
from covector._tree.registry import dispatch_registry, hidden_axes

ArrayImpl = _jaxlib.ArrayImpl


def device_put(
    x: Any, device: Any = None, *, src: Any = None, donate: Any = False, may_alias: Any = None
) -> Any:
    """A tree of values as arrays on a device, or spread by a sharding.

    Args:
      x: arrays, NumPy arrays, Python numbers, or a tree of them.
      device: a device, a sharding, a `covector.memory.Space`, or a tree of them that is a prefix of
        ``x``. With None, values go to the default device, and stay free to move (uncommitted).
      src: where the values are, in the same form: in derivatives, cotangents go back there.
      donate: the values of ``x`` are not used again.
      may_alias: with False, the result shares no memory with ``x``.

    Raises `ValueError` for another kind of place, or if both ``donate`` and ``may_alias``.

    Inside `jit`, shardings and memories are told to the compiler. Which single device a program
    runs on is not for one of its operations to say: there a device makes no difference.

    >>> import covector
    >>> covector.device_put(1.0).devices() == {covector.devices()[0]}
    True
    """
    leaves, tree = dispatch_registry.flatten(x)
    places, sources, donated, aliased = [
        _of_leaves(f"device_put {name}", tree, value, leaf)
        for name, value, leaf in (
            ("device", device, _is_place),
            ("src", src, _is_place),
            ("donate", donate, _is_flag),
            ("may_alias", may_alias, _is_flag),
        )
    ]
    if any(d and a for d, a in zip(donated, aliased, strict=True)):
        raise ValueError("device_put: donate and may_alias cannot both be True.")
    if any(isinstance(p, _jaxlib.NamedSharding) for p in places):
        _check_axes_are_visible(leaves, tree, places)
    with explicit("explicit_device_put"):
        rows = zip(leaves, places, sources, aliased, strict=True)
        return tree.unflatten([_put(*row) for row in rows])


def _of_leaves(argument: str, tree: Any, value: Any, is_leaf: Any) -> list[Any]:
    """What an argument says of each leaf of a tree, from a prefix of the tree."""
    if value is None or is_leaf(value):
        return [value] * tree.num_leaves
    return flatten_axes(argument, tree, value)


class explicit:
    """Context manager: transfers are asked for, which the transfer guards tell from others."""

    __slots__ = ("kind", "old")

    def __init__(self, kind: str):
        self.kind = kind

    def __enter__(self) -> None:
        guards = _jaxlib.guard_lib.thread_local_state()
        self.old = getattr(guards, self.kind)
        setattr(guards, self.kind, True)

    def __exit__(self, *exc: Any) -> None:
        setattr(_jaxlib.guard_lib.thread_local_state(), self.kind, self.old)


def _is_place(x: Any) -> bool:
    return isinstance(x, (_jaxlib.Device, _jaxlib.Sharding, MemorySpace))


def _is_flag(x: Any) -> bool:
    return isinstance(x, bool)


def _check_axes_are_visible(leaves: list[Any], tree: Any, places: list[Any]) -> None:
    """Raise `ValueError` for a sharding of axes that users do not see, those of keys' words."""
    for x, place, hidden in zip(leaves, places, hidden_axes(tree), strict=True):
        if hidden and isinstance(place, _jaxlib.NamedSharding):
            shape = np.shape(x)[: np.ndim(x) - hidden]
            if len(place.spec) > len(shape):
                raise ValueError(
                    f"device_put: the sharding {place.spec} has {len(place.spec)} entries, more "
                    f"than the axes of the key array, which has shape {shape}."
                )


def _put(x: Any, place: Any, src: Any, may_alias: Any) -> Any:
    if place is not None and not _is_place(place):
        raise ValueError(
            "device_put: device must be a Device, a Sharding, a memory.Space, None, or a tree of "
            f"them, got {place!r} of type {type(place)}. A PartitionSpec needs a mesh: pass "
            "covector.sharding.NamedSharding(mesh, spec)."
        )
    if not isinstance(x, Tracer):
        result = put(x, place)
        return moved(x, x._sharding, True) if may_alias is False and result is x else result
    if place is None:
        return x
    from covector.lax.device_put import device_put_p, is_spread

    if is_spread(place):
        shard_shape(place, x.shape)
    value = x.concrete()
    if src is None and isinstance(value, ArrayImpl) and value._committed:
        src = value._sharding
    return device_put_p.bind(x, device=place, src=src)


def put(x: Any, place: Any) -> Any:
    """A value that is no tracer, at a place."""
    aval = typeof(x)
    if place is None:
        return x if isinstance(x, ArrayImpl) else put_on_device(x, default_device(), False, aval)
    if isinstance(place, _jaxlib.Device):
        return put_on_device(x, place, True, aval)
    kind = memory_kind_of(place)
    if isinstance(place, MemorySpace):
        x = put(x, None)
        place = x._sharding
    elif isinstance(place, _jaxlib.SingleDeviceSharding):
        x = put_on_device(x, place._device, True, aval)
    else:
        x = put_on_sharding(x, aval, place)
    if kind is None or kind == x._sharding.memory_kind:
        return x
    return moved(x, with_memory_kind(place, kind), False)


def device_get(x: Any) -> Any:
    """A tree of arrays as NumPy arrays on the host.

    >>> import covector
    >>> covector.device_get(covector.device_put(1.0)).dtype.name
    'float32'
    """
    leaves, tree = dispatch_registry.flatten(x)
    with explicit("explicit_device_get"):
        for v in leaves:
            if isinstance(v, ArrayImpl) and v.is_fully_addressable:
                v.copy_to_host_async()
        return tree.unflatten(
            [np.asarray(v) if isinstance(v, (ArrayImpl, Tracer)) else v for v in leaves]
        )


def copy_to_host_async(x: Any) -> Any:
    """Begin to copy a tree's arrays to the host, so that reading them waits less; returns the tree.

    >>> import covector
    >>> float(covector.copy_to_host_async(covector.device_put(1.0)))
    1.0
    """
    for v in dispatch_registry.flatten(x)[0]:
        if hasattr(v, "copy_to_host_async"):
            v.copy_to_host_async()
    return x


def effects_barrier() -> None:
    """Wait until what has been called so far has had its effects.

    It waits for all arrays that are being computed.

    >>> effects_barrier()
    """
    for x in default_device().client.live_arrays():
        if not x.is_deleted():
            x.block_until_ready()


def block_until_ready(x: Any) -> Any:
    """Wait until every array in a tree is computed; returns the tree.

    >>> import covector
    >>> float(covector.block_until_ready(covector.device_put(1.0)))
    1.0
    """
    for v in dispatch_registry.flatten(x)[0]:
        if hasattr(v, "block_until_ready"):
            v.block_until_ready()
    return x

"""Moving values between host and devices, and waiting for them."""

from __future__ import annotations

from typing import Any

import jaxlib._jax as _jaxlib
import numpy as np

import covector._run.array  # noqa: F401  an array needs its members
from covector._run.client import default_device
from covector._run.transfer import put_on_device, put_on_sharding
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
      device: a device, a sharding, or a tree of them that is a prefix of ``x``. With None, values
        go to the default device, and stay free to move (uncommitted).

    >>> import covector
    >>> covector.device_put(1.0).devices() == {covector.devices()[0]}
    True
    """
    leaves, tree = dispatch_registry.flatten(x)
    if device is None or _is_place(device):
        places = [device] * len(leaves)
    else:
        places = flatten_axes("device_put device", tree, device)
    if any(isinstance(p, _jaxlib.NamedSharding) for p in places):
        _check_axes_are_visible(leaves, tree, places)
    with explicit("explicit_device_put"):
        return tree.unflatten([_put(v, p) for v, p in zip(leaves, places, strict=True)])


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
    return isinstance(x, (_jaxlib.Device, _jaxlib.Sharding))


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


def _put(x: Any, place: Any) -> Any:
    if isinstance(x, Tracer):
        return _constrained(x, place)
    aval = typeof(x)
    if place is None:
        return x if isinstance(x, ArrayImpl) else put_on_device(x, default_device(), False, aval)
    if isinstance(place, _jaxlib.Device):
        return put_on_device(x, place, True, aval)
    if isinstance(place, _jaxlib.SingleDeviceSharding):
        return put_on_device(x, place._device, True, aval)
    if isinstance(place, _jaxlib.Sharding):
        return put_on_sharding(x, aval, place)
    raise TypeError(
        "device_put: device must be a Device, a Sharding, None, or a tree of them, got "
        f"{place!r} of type {type(place)}."
    )


def _constrained(x: Tracer, place: Any) -> Any:
    """A traced value spread by a sharding. Which one device it is on is the compiler's choice."""
    if not isinstance(place, _jaxlib.Sharding) or len(place._internal_device_list) == 1:
        return x
    from covector.lax.sharding_constraint import with_sharding_constraint

    return with_sharding_constraint(x, place)


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

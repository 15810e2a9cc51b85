"""The sharding objects: members of jaxlib's `NamedSharding` and its kind, attached at import.

A sharding says which devices hold an array, and which part each of them has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jaxlib._jax as _jaxlib

from covector._run.mesh import Mesh, PartitionSpec, axes_in
from covector._run.tiling import REPLICATED, Axes, axes_of, hlo_sharding, parts
from covector._trace.caches import Memo

Sharding = _jaxlib.Sharding
SingleDeviceSharding = _jaxlib.SingleDeviceSharding
NamedSharding = _jaxlib.NamedSharding
GSPMDSharding = _jaxlib.GSPMDSharding


def spec_axes(mesh: Mesh, spec: PartitionSpec, ndim: int) -> Axes:
    """The mesh axes, by position, that split each of ``ndim`` dimensions."""
    if len(spec) > ndim:
        raise ValueError(
            f"A sharding with {spec} splits an array of at least {len(spec)} axes, but this one "
            f"has {ndim}."
        )
    position = {name: i for i, name in enumerate(mesh.axis_names)}
    groups = [tuple([position[a] for a in axes_in(entry)]) for entry in spec]
    return (*groups, *[()] * (ndim - len(groups)))


def named_sharding(mesh: Mesh, axes: Axes) -> Any:
    """The `NamedSharding` over ``mesh`` for axes by position."""
    entries: list[Any] = [tuple([mesh.axis_names[a] for a in group]) for group in axes]
    while entries and not entries[-1]:
        entries.pop()
    return NamedSharding(mesh, PartitionSpec(*entries))


def sharding_over(meshes: Sequence[Mesh], hlo: Any, ndim: int) -> Any:
    """XLA's sharding under the names of the first of ``meshes`` that can express it."""
    for mesh in meshes:
        axes = axes_of(hlo, mesh.axis_sizes, ndim)
        if axes is not None:
            return named_sharding(mesh, axes)
    return GSPMDSharding(meshes[0]._internal_device_list, hlo)


def _named_to_hlo(sharding: Any, ndim: int) -> Any:
    known = sharding.__dict__.setdefault("_by_rank", {})
    if ndim not in known:
        axes = spec_axes(sharding.mesh, sharding.spec, ndim)
        known[ndim] = hlo_sharding(axes, sharding.mesh.axis_sizes)
    return known[ndim]


def devices_of(sharding: Any) -> tuple[Any, ...]:
    """The devices of a sharding, in its order."""
    if isinstance(sharding, SingleDeviceSharding):
        return (sharding._device,)
    return tuple(sharding._internal_device_list)


_indices = Memo()


def shard_indices(sharding: Any, shape: Sequence[int]) -> list[tuple[slice, ...]]:
    """For each device, in order, the part of an array of ``shape`` that it holds."""
    key = (sharding, tuple(shape))
    indices = _indices.get(key)
    if indices is None:
        shard_shape(sharding, shape)
        hlo = sharding._to_xla_hlo_sharding(len(shape))
        indices = parts(hlo, shape, len(sharding._internal_device_list))
        _indices.store(key, indices)
    return indices


def shard_shape(sharding: Any, global_shape: Sequence[int]) -> tuple[int, ...]:
    """The shape of each device's part. Raises `ValueError` if an axis is not split evenly."""
    shape = tuple(global_shape)
    hlo = sharding._to_xla_hlo_sharding(len(shape))
    if hlo.is_replicated():
        return shape
    tiles = list(hlo.to_proto().tile_assignment_dimensions)[: len(shape)]
    for axis, (size, count) in enumerate(zip(shape, tiles, strict=True)):
        if size % count:
            raise ValueError(
                f"{sharding} splits axis {axis} into {count} parts, but its size is {size} (the "
                f"array's shape is {shape}). Sizes must be divisible: pad the array, or leave the "
                "axis whole."
            )
    return tuple([size // count for size, count in zip(shape, tiles, strict=True)])


def _indices_map(sharding: Any, global_shape: Sequence[int]) -> dict[Any, tuple[slice, ...]]:
    return dict(zip(devices_of(sharding), shard_indices(sharding, global_shape), strict=True))


def _is_equivalent(sharding: Any, other: Any, ndim: int) -> bool:
    return devices_of(sharding) == devices_of(other) and (
        sharding._to_xla_hlo_sharding(ndim) == other._to_xla_hlo_sharding(ndim)
    )


def _memory_kind(sharding: Any) -> str:
    return sharding._memory_kind or sharding._internal_device_list.default_memory_kind


def with_memory_kind(sharding: Any, kind: str) -> Any:
    """The same sharding, in another memory of its devices.

    Raises `ValueError` if a device has no memory of this kind.
    """
    for device in devices_of(sharding):
        known = [memory.kind for memory in device.addressable_memories()]
        if kind not in known:
            raise ValueError(
                f"{device} has no memory of the kind {kind!r}; it has {', '.join(known)}."
            )
    if isinstance(sharding, SingleDeviceSharding):
        return SingleDeviceSharding(sharding._device, kind)
    if isinstance(sharding, NamedSharding):
        return NamedSharding(sharding.mesh, sharding.spec, kind)
    raise TypeError(f"{sharding} cannot be given another kind of memory; use a NamedSharding.")


def _is_replicated(sharding: Any) -> bool:
    ndim = len(sharding.spec) if isinstance(sharding, NamedSharding) else 0
    return sharding._to_xla_hlo_sharding(ndim).is_replicated()


def _repr_named(sharding: Any) -> str:
    return (
        f"NamedSharding(mesh={sharding.mesh}, spec={sharding.spec}, "
        f"memory_kind={sharding.memory_kind})"
    )


_PROPERTIES: dict[str, Callable[[Any], Any]] = {
    "device_set": lambda s: set(devices_of(s)),
    "num_devices": lambda s: len(devices_of(s)),
    "addressable_devices": lambda s: set(s._internal_device_list.addressable_device_list),
    "is_fully_addressable": lambda s: s._internal_device_list.is_fully_addressable,
    "is_fully_replicated": _is_replicated,
    "memory_kind": _memory_kind,
}

_METHODS: dict[str, Callable[..., Any]] = {
    "shard_shape": shard_shape,
    "devices_indices_map": _indices_map,
    "addressable_devices_indices_map": lambda s, global_shape: {
        d: i for d, i in _indices_map(s, global_shape).items() if d in s.addressable_devices
    },
    "is_equivalent_to": _is_equivalent,
    "with_memory_kind": with_memory_kind,
}


def _attach() -> None:
    SingleDeviceSharding._to_xla_hlo_sharding = lambda s, ndim: REPLICATED
    SingleDeviceSharding.__repr__ = lambda s: f"SingleDeviceSharding(device={s._device!r})"
    SingleDeviceSharding.__eq__ = lambda s, other: (
        isinstance(other, SingleDeviceSharding)
        and s._device is other._device
        and s._memory_kind == other._memory_kind
    )
    SingleDeviceSharding.__hash__ = lambda s: hash((s._device, s._memory_kind))
    GSPMDSharding._to_xla_hlo_sharding = lambda s, ndim: s._hlo_sharding
    NamedSharding._to_xla_hlo_sharding = _named_to_hlo
    NamedSharding.__repr__ = _repr_named
    NamedSharding.__reduce__ = lambda s: (NamedSharding, (s.mesh, s.spec, s._memory_kind))
    for cls in (SingleDeviceSharding, NamedSharding, GSPMDSharding):
        for name, function in _PROPERTIES.items():
            setattr(cls, name, property(function))
        for name, method in _METHODS.items():
            setattr(cls, name, method)


_attach()

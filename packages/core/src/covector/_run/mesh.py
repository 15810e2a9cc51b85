"""Meshes: devices in a grid whose axes have names, and specs that spread an array over them.

Meshes are interned, for jaxlib compares them by identity when it looks a call up. Read next:
`tiling.py` (what a spec means device by device), `placement.py` (where a program runs).
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from enum import Enum
from functools import cached_property
from typing import Any

import jaxlib._jax as _jaxlib
import numpy as np

from covector._run.client import device_list


class AxisType(Enum):
    """Who decides how arrays lie along a mesh axis: the compiler (Auto), types, or the program."""

    Auto = 0
    Explicit = 1
    Manual = 2

    def __repr__(self) -> str:
        return self.name


class _Unconstrained:
    """The entry of a spec that leaves a dimension to the compiler."""

    def __repr__(self) -> str:
        return "UNCONSTRAINED"

    def __reduce__(self) -> str:
        return "UNCONSTRAINED"


UNCONSTRAINED = _Unconstrained()


class PartitionSpec:
    """For each dimension of an array, the mesh axis (or axes, in a tuple) that it is split over.

    An entry None, and each dimension without an entry, is not split.

    >>> from covector.sharding import PartitionSpec
    >>> PartitionSpec("rows", None, ("x", "y"))
    P('rows', None, ('x', 'y'))
    """

    __slots__ = ("partitions",)
    UNCONSTRAINED = UNCONSTRAINED

    partitions: tuple[Any, ...]

    def __init__(self, *partitions: Any):
        object.__setattr__(self, "partitions", tuple([_canonical(p) for p in partitions]))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("A PartitionSpec is immutable: make a new one.")

    def __iter__(self) -> Iterator[Any]:
        return iter(self.partitions)

    def __len__(self) -> int:
        return len(self.partitions)

    def __getitem__(self, index: Any) -> Any:
        return self.partitions[index]

    def __add__(self, other: Any) -> PartitionSpec:
        return PartitionSpec(*self.partitions, *other)

    def __radd__(self, other: Any) -> PartitionSpec:
        return PartitionSpec(*other, *self.partitions)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, PartitionSpec) and self.partitions == other.partitions

    def __hash__(self) -> int:
        return hash(self.partitions)

    def index(self, value: Any) -> int:
        """The first dimension that is split over ``value``."""
        return self.partitions.index(_canonical(value))

    def count(self, value: Any) -> int:
        """How many dimensions are split over ``value``."""
        return self.partitions.count(_canonical(value))

    def __repr__(self) -> str:
        return f"P{self.partitions!r}"

    def __reduce__(self) -> tuple:
        return PartitionSpec, self.partitions


def _canonical(entry: Any) -> Any:
    """One axis alone instead of in a tuple, None instead of no axis."""
    if isinstance(entry, (list, tuple)):
        entry = tuple(entry)
        return entry if len(entry) > 1 else (entry[0] if entry else None)
    return entry


def axes_in(entry: Any) -> tuple[Any, ...]:
    """The mesh axes of one entry of a spec."""
    if entry is None or entry is UNCONSTRAINED:
        return ()
    return entry if isinstance(entry, tuple) else (entry,)


_meshes: weakref.WeakValueDictionary[Any, Mesh] = weakref.WeakValueDictionary()
_lock = threading.Lock()


class Mesh:
    """Devices in a grid whose axes have names.

    Args:
      devices: an array (of any nesting) of devices, with an axis for each name.
      axis_names: one for each axis, all different.
      axis_types: `AxisType.Auto` for each axis (the default).

    Raises:
      ValueError: the number of names is not that of axes, or a name occurs twice.
      NotImplementedError: an axis type other than Auto.

    >>> from covector.sharding import Mesh
    >>> mesh = Mesh(np.array(covector.devices()[:1]).reshape(1, 1), ("x", "y"))
    >>> mesh.shape["x"], mesh.size
    (1, 1)
    """

    devices: np.ndarray
    axis_names: tuple[Any, ...]
    axis_types: tuple[AxisType, ...]

    def __new__(cls, devices: Any, axis_names: Any, axis_types: Any = None) -> Mesh:
        grid = np.array(devices, dtype=object)
        names = _names(axis_names)
        _check_mesh(grid, names)
        types = _types(names, axis_types)
        key = (tuple(grid.flat), grid.shape, names, types)
        with _lock:
            mesh = _meshes.get(key)
            if mesh is None:
                mesh = super().__new__(cls)
                grid.flags.writeable = False
                mesh.devices, mesh.axis_names, mesh.axis_types = grid, names, types
                _meshes[key] = mesh
            return mesh

    axis_sizes = property(lambda self: self.devices.shape)
    empty = property(lambda self: self.devices.size == 0)
    shape_tuple = property(lambda self: tuple(zip(self.axis_names, self.devices.shape)))
    shape = property(lambda self: OrderedDict(self.shape_tuple))
    device_ids = property(lambda self: np.vectorize(lambda d: d.id, otypes=[int])(self.devices))
    is_multi_process = property(lambda self: len({d.process_index for d in self.devices.flat}) > 1)

    @cached_property
    def size(self) -> int:
        """The number of devices."""
        return self.devices.size

    @cached_property
    def _internal_device_list(self) -> Any:
        return device_list(tuple(self.devices.flat))

    @property
    def local_devices(self) -> list[Any]:
        """Those devices that belong to this process."""
        return [d for d in self.devices.flat if d.process_index == d.client.process_index()]

    def _check_spec(self, spec: Any) -> None:
        """Called by jaxlib whenever a `NamedSharding` is made."""
        if not isinstance(spec, PartitionSpec):
            raise TypeError(
                f"NamedSharding: spec must be a PartitionSpec, got {spec!r} of type {type(spec)}. "
                f"Write PartitionSpec{spec!r}."
            )
        used = [axis for entry in spec for axis in axes_in(entry)]
        for axis in used:
            if axis not in self.axis_names:
                raise ValueError(
                    f"NamedSharding: {axis!r} of {spec} is not an axis of the mesh, which has the "
                    f"axes {self.axis_names}."
                )
        if len(set(used)) != len(used):
            raise ValueError(
                f"NamedSharding: a mesh axis can split one dimension only, but {spec} uses one "
                "more than once."
            )

    def __str__(self) -> str:
        sizes = ", ".join([f"{name!r}: {size}" for name, size in self.shape_tuple])
        return f"Mesh({sizes}, axis_types={self.axis_types})"

    def __repr__(self) -> str:
        return (
            f"Mesh(axis_sizes={self.axis_sizes}, axis_names={self.axis_names}, "
            f"axis_types={self.axis_types})"
        )

    def __reduce__(self) -> tuple:
        platform = self.devices.flat[0].platform if self.size else None
        return _rebuild_mesh, (self.device_ids, platform, self.axis_names)


def _rebuild_mesh(ids: np.ndarray, platform: str | None, names: tuple) -> Mesh:
    from covector._run.client import devices

    by_id = {d.id: d for d in devices(platform)} if platform else {}
    return Mesh(np.vectorize(by_id.__getitem__, otypes=[object])(ids), names)


def _names(axis_names: Any) -> tuple[Any, ...]:
    if isinstance(axis_names, str) or not isinstance(axis_names, Sequence):
        return (axis_names,)
    return tuple(axis_names)


def _types(names: tuple, axis_types: Any) -> tuple[AxisType, ...]:
    if axis_types is None:
        return (AxisType.Auto,) * len(names)
    types = tuple(axis_types) if isinstance(axis_types, (tuple, list)) else (axis_types,)
    for kind in types:
        if not isinstance(kind, AxisType):
            raise TypeError(f"Mesh: axis_types must be of AxisType, got {kind!r} of {type(kind)}.")
    if len(types) != len(names):
        raise ValueError(f"Mesh: axis_types must have an entry for each of {names}, got {types}.")
    if any(kind is not AxisType.Auto for kind in types):
        raise NotImplementedError(
            f"Mesh: axis types other than AxisType.Auto are not offered yet, got {types}. With "
            "Auto, computations follow the arguments' placement."
        )
    return types


def _check_mesh(grid: np.ndarray, names: tuple) -> None:
    if grid.ndim != len(names):
        raise ValueError(
            f"Mesh: devices must have as many axes as there are names, but devices has "
            f"{grid.ndim} (shape {grid.shape}) and axis_names has {len(names)}: {names}. "
            "Reshape the devices with numpy."
        )
    if len(set(names)) != len(names):
        raise ValueError(f"Mesh: axis_names must be different from each other, got {names}.")
    for device in grid.flat:
        if not isinstance(device, _jaxlib.Device):
            raise TypeError(f"Mesh: devices must be devices, got {device!r} of {type(device)}.")

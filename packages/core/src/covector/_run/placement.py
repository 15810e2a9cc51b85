"""Where a program runs: follow the data, or the devices that the program itself asks for.

A program of one device has no mesh. A program of several runs on all of them, each on its part of
the data: its devices form a mesh whose axes are the coarsest that can express every argument's
sharding and every `pmap` in the program. An argument that lies elsewhere, or on one device, is
placed as the compiler chooses.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import jaxlib._jax as _jaxlib
import numpy as np

from covector._ir.jaxpr import NO_EFFECTS
from covector._run.client import default_backend, default_device, local_devices
from covector._run.mesh import Mesh
from covector._run.shardings import devices_of, sharding_over
from covector._run.tiling import REPLICATED, Axes, Sizes, axes_of, refine

ArrayImpl = _jaxlib.ArrayImpl
SingleDeviceSharding = _jaxlib.SingleDeviceSharding


class DeviceGrid(NamedTuple):
    """The effect of running on a grid of devices: sizes and names of its axes, outermost first.

    Without ``devices``, the program runs where its arguments are, or on the first ones.
    """

    sizes: Sizes
    names: tuple[Any, ...]
    devices: tuple[Any, ...] | None = None

    observable = False  # an equation with this effect alone may be dropped

    @property
    def total(self) -> int:
        return math.prod(self.sizes)


class Placement(NamedTuple):
    """Where a program runs. Without a mesh, everything is on the one device."""

    devices: tuple[Any, ...]
    committed: bool = False
    mesh: Sizes | None = None  # the sizes of its axes
    in_shardings: tuple[Any, ...] = ()  # each input's, or None where the compiler chooses
    in_axes: tuple[Axes | None, ...] = ()  # the same as positions in `mesh`
    meshes: tuple[Mesh, ...] = ()  # whose names the outputs' shardings bear, best first
    moves: bool = False  # an input must be brought here from other devices, or another mesh

    @property
    def key(self) -> Any:
        """What compiling depends on."""
        return self.devices, self.mesh, self.in_shardings, self.meshes

    def sharding(self, hlo: Any, ndim: int) -> Any:
        """The sharding object for one that the compiler chose (None: whole, on each device)."""
        return sharding_over(self.meshes, REPLICATED if hlo is None else hlo, ndim)


def placement_of(args: Sequence[Any], device: Any = None, effects: Any = NO_EFFECTS) -> Placement:
    """The placement of a program with these (concrete) arguments and effects.

    Committed arrays decide, then the program's own grid of devices, then ``device``.
    """
    single = None
    for x in args:
        if isinstance(x, ArrayImpl):
            sharding = x._sharding
            if not isinstance(sharding, SingleDeviceSharding):
                return _mesh_placement(args, _grids(effects))
            if x._committed:
                if single is not None and single is not sharding._device:
                    if grids := _grids(effects):
                        return _mesh_placement(args, grids)
                    raise _incompatible((single,), (sharding._device,))
                single = sharding._device
    if effects and (grids := _grids(effects)):
        return _mesh_placement(args, grids)
    if single is not None:
        return Placement((single,), True)
    return Placement((device if device is not None else default_device(),))


def _grids(effects: Iterable[Any]) -> list[DeviceGrid]:
    return [e for e in effects if type(e) is DeviceGrid]


def _incompatible(some: Sequence[Any], others: Sequence[Any]) -> ValueError:
    return ValueError(
        "Received incompatible devices for jitted computation: arguments are committed to "
        f"{', '.join(map(str, some))} and to {', '.join(map(str, others))}. Move them to one set "
        "of devices with covector.device_put."
    )


# --- several devices ------------------------------------------------------------------------------


def _mesh_placement(args: Sequence[Any], grids: list[DeviceGrid]) -> Placement:
    shardings: list[Any] = [x._sharding if isinstance(x, ArrayImpl) else None for x in args]
    devices = _common_devices(args, shardings, grids)
    known = [_is_sharded(s) and devices_of(s) == devices for s in shardings]
    sizes = _grid_sizes(grids, len(devices))
    for sharding, is_known in zip(shardings, known, strict=True):
        if is_known:
            sizes = refine([sizes, _mesh_sizes(sharding)]) or sizes
    in_axes = [
        axes_of(s._to_xla_hlo_sharding(x.ndim), sizes, x.ndim) if is_known else None
        for x, s, is_known in zip(args, shardings, known, strict=True)
    ]
    return Placement(
        devices,
        True,
        sizes,
        tuple([None if axes is None else s for s, axes in zip(shardings, in_axes, strict=True)]),
        tuple(in_axes),
        _meshes(devices, sizes, grids, [s for s, known in zip(shardings, known) if known]),
        any(_is_sharded(s) and axes is None for s, axes in zip(shardings, in_axes, strict=True)),
    )


def _is_sharded(sharding: Any) -> bool:
    return sharding is not None and not isinstance(sharding, SingleDeviceSharding)


def _mesh_sizes(sharding: Any) -> Sizes:
    """The sizes of the mesh behind a sharding."""
    if hasattr(sharding, "mesh"):
        return sharding.mesh.axis_sizes
    proto = sharding._to_xla_hlo_sharding(0).to_proto()
    return tuple(proto.iota_reshape_dims) or (len(devices_of(sharding)),)


def _grid_sizes(grids: list[DeviceGrid], count: int) -> Sizes:
    sizes = refine([(count,), *[(*g.sizes, count // g.total) for g in grids]])
    if sizes is None or any(count % g.total for g in grids):
        found = " and ".join([str(g.sizes) for g in grids])
        raise ValueError(
            f"One program maps over grids of {found} devices, which cannot share its {count} "
            "devices. Map over sizes that divide each other, or in separate programs."
        )
    return sizes


def _common_devices(
    args: Sequence[Any], shardings: list[Any], grids: list[DeviceGrid]
) -> tuple[Any, ...]:
    theirs = list(dict.fromkeys([devices_of(s) for s in shardings if _is_sharded(s)]))
    if not grids:
        devices = theirs[0]
        for x, s in zip(args, shardings, strict=True):
            bound = _is_sharded(s) or (s is not None and x._committed)
            if bound and set(devices_of(s)) != set(devices):
                raise _incompatible(devices, devices_of(s))
        return devices
    total = max([g.total for g in grids])
    chosen = {g.devices for g in grids if g.devices is not None}
    if len(chosen) > 1:
        raise ValueError("pmap: one program was given two different sets of devices.")
    if not chosen and len(theirs) == 1 and len(theirs[0]) % total == 0:
        return theirs[0]
    return _first_devices(next(iter(chosen), None), total, grids)


def _first_devices(
    given: tuple[Any, ...] | None, total: int, grids: list[DeviceGrid]
) -> tuple[Any, ...]:
    devices = tuple(local_devices()) if given is None else given
    if len(devices) < total:
        sizes = next(g for g in grids if g.total == total).sizes
        kind = "the devices given" if given is not None else f"platform '{default_backend()}'"
        remedy = (
            " Simulate more CPU devices by setting covector.config.update('jax_num_cpu_devices', "
            f"{total}) before the first array is made."
            if given is None and devices[0].platform == "cpu"
            else ""
        )
        raise ValueError(
            f"pmap over {' x '.join(map(str, sizes))} needs {total} devices, but there are only "
            f"{len(devices)} of {kind}.{remedy}"
        )
    return devices[:total]


def _meshes(
    devices: tuple[Any, ...], sizes: Sizes, grids: list[DeviceGrid], shardings: list[Any]
) -> tuple[Mesh, ...]:
    """Whose axes' names results may bear: the program's grids, its arguments' meshes, any."""
    found = []
    for grid in sorted(grids, key=lambda g: (g.total, g.sizes, str(g.names))):
        rest = len(devices) // grid.total
        if rest > 1:
            grid = DeviceGrid((*grid.sizes, rest), (*grid.names, "_copies"))
        found.append(_mesh(devices, grid.sizes, grid.names))
    found += [s.mesh for s in shardings if hasattr(s, "mesh")]
    found.append(_mesh(devices, sizes, [f"_axis_{i}" for i in range(len(sizes))]))
    return tuple(dict.fromkeys(found))


def _mesh(devices: tuple[Any, ...], sizes: Sizes, names: Sequence[Any]) -> Mesh:
    unique = [
        n if isinstance(n, str) and n not in names[:i] else f"_pmap_axis_{i}"
        for i, n in enumerate(names)
    ]
    grid = np.empty(len(devices), object)
    grid[:] = devices
    return Mesh(grid.reshape(sizes), unique)

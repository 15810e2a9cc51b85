"""`covector.sharding`: how arrays are spread over devices.

>>> from covector.sharding import Mesh, NamedSharding, PartitionSpec
>>> mesh = Mesh(np.array(covector.devices()[:1]), ("rows",))
>>> x = covector.device_put(np.ones((4, 2)), NamedSharding(mesh, PartitionSpec("rows", None)))
>>> x.sharding.shard_shape(x.shape)
(4, 2)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from covector._run.array import Array as Array  # members of arrays and shardings
from covector._run.client import devices as all_devices
from covector._run.client import single_device_sharding
from covector._run.mesh import AxisType as AxisType
from covector._run.mesh import Mesh as Mesh
from covector._run.mesh import PartitionSpec as PartitionSpec
from covector._run.shardings import NamedSharding as NamedSharding
from covector._run.shardings import Sharding as Sharding
from covector._run.shardings import SingleDeviceSharding as SingleDeviceSharding

P = PartitionSpec


def make_mesh(
    axis_sizes: Sequence[int],
    axis_names: Sequence[Any],
    axis_types: Sequence[AxisType] | None = None,
    *,
    devices: Sequence[Any] | None = None,
) -> Mesh:
    """A mesh of these sizes over ``devices`` (by default, the first ones of the process).

    Raises:
      ValueError: there are fewer devices than the mesh has places, or names do not match sizes.

    >>> covector.make_mesh((1, 1), ("x", "y")).axis_names
    ('x', 'y')
    """
    sizes = tuple([int(n) for n in axis_sizes])
    available = list(all_devices() if devices is None else devices)
    count = math.prod(sizes)
    if len(available) < count:
        raise ValueError(
            f"make_mesh: a mesh of axis_sizes {sizes} takes {count} devices, but there are "
            f"{len(available)}."
        )
    grid = np.empty(count, object)
    grid[:] = available[:count]
    return Mesh(grid.reshape(sizes), axis_names, axis_types)


def make_single_device_sharding(device: Any, *, memory_kind: str | None = None) -> Any:
    """The sharding of arrays that lie whole on ``device``.

    >>> covector.sharding.make_single_device_sharding(covector.devices()[0]).num_devices
    1
    """
    if memory_kind is None:
        return single_device_sharding(device)
    return SingleDeviceSharding(device, memory_kind)


__all__ = [
    "AxisType",
    "Mesh",
    "NamedSharding",
    "P",
    "PartitionSpec",
    "Sharding",
    "SingleDeviceSharding",
    "make_mesh",
    "make_single_device_sharding",
]

"""Arrays over several devices, put together from the devices' parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jaxlib._jax as _jaxlib
import numpy as np

import covector._run.array  # noqa: F401  an array's members
from covector._ir.avals import ShapedArray
from covector._ir.dtypes import canonicalize_dtype
from covector._run.shardings import devices_of, shard_indices, shard_shape
from covector._run.transfer import put_on_device
from covector._trace.trace import typeof


def make_array_from_single_device_arrays(
    shape: Sequence[int], sharding: Any, arrays: Sequence[Any], *, dtype: Any = None
) -> Any:
    """The array of ``shape`` whose parts are ``arrays``, which lie on the devices of ``sharding``.

    Args:
      arrays: one on each device, of the part's shape; in any order.
      dtype: of the result; needed only without any arrays.

    Raises:
      ValueError: there are more or fewer arrays than devices, or a shape or device does not fit.

    >>> sharding = covector.sharding.make_single_device_sharding(covector.devices()[0])
    >>> part = covector.device_put(np.ones(3))
    >>> covector.make_array_from_single_device_arrays((3,), sharding, [part])
    Array([1., 1., 1.], dtype=float32)
    """
    name = "make_array_from_single_device_arrays"
    shape = tuple([int(n) for n in shape])
    devices = devices_of(sharding)
    if len(arrays) != len(devices):
        raise ValueError(
            f"{name}: expected {len(devices)} per-device arrays, one for each device of the "
            f"sharding, but got {len(arrays)}."
        )
    part_shape = shard_shape(sharding, shape)
    by_device = {}
    for x in arrays:
        if x.shape != part_shape:
            raise ValueError(
                f"{name}: each array must have shape {part_shape} (an array of shape {shape} under "
                f"{sharding}), but one has shape {x.shape}."
            )
        by_device.update(dict.fromkeys(x.devices(), x))
    if by_device.keys() != set(devices):
        raise ValueError(
            f"{name}: the arrays lie on {sorted(map(str, by_device))}, but the sharding's devices "
            f"are {sorted(map(str, devices))}."
        )
    aval = ShapedArray(shape, arrays[0].dtype if dtype is None else canonicalize_dtype(dtype))
    parts = [by_device[d] for d in devices]
    return _jaxlib.ArrayImpl(aval, sharding, parts, committed=True, _skip_checks=True)


def make_array_from_callback(
    shape: Sequence[int],
    sharding: Any,
    data_callback: Callable[[tuple[slice, ...]], Any],
    dtype: Any = None,
) -> Any:
    """The array of ``shape`` whose part at each index ``i`` (slices) is ``data_callback(i)``.

    Raises `ValueError` if a part has another shape than its index asks for, or not ``dtype``.

    >>> sharding = covector.sharding.make_single_device_sharding(covector.devices()[0])
    >>> covector.make_array_from_callback((3,), sharding, lambda index: np.arange(3)[index])
    Array([0, 1, 2], dtype=int32)
    """
    shape = tuple([int(n) for n in shape])
    parts: dict[str, Any] = {}
    arrays = []
    for device, index in zip(devices_of(sharding), shard_indices(sharding, shape), strict=True):
        if str(index) not in parts:  # copies of one part are asked for once
            parts[str(index)] = data_callback(index)
        part = parts[str(index)]
        aval = typeof(part if hasattr(part, "shape") else np.asarray(part))
        if dtype is not None and aval.dtype != canonicalize_dtype(dtype):
            raise ValueError(
                f"make_array_from_callback: dtype must be that of the parts, got {dtype} for a "
                f"part of type {aval.str_short()}. Leave it out, or convert the parts."
            )
        arrays.append(put_on_device(part, device, True, aval))
    return make_array_from_single_device_arrays(shape, sharding, arrays)

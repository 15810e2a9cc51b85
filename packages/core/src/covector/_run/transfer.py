"""Host values to device arrays, and arrays from device to device."""

from __future__ import annotations

from typing import Any

import jaxlib._jax as _jaxlib
import numpy as np

from covector._ir.avals import ShapedArray
from covector._run.client import single_device_sharding
from covector._trace.trace import Tracer, check_fits_32_bits, escaped_tracer_error, typeof

ArrayImpl = _jaxlib.ArrayImpl
# User memory may change after the call, so it is copied unless the runtime is done with it by then.
_COPY = _jaxlib.HostBufferSemantics.IMMUTABLE_ONLY_DURING_CALL


def put_on_device(x: Any, device: Any, committed: bool, aval: ShapedArray | None = None) -> Any:
    """``x`` as an array on one device."""
    if aval is None:
        aval = typeof(x)
    sharding = single_device_sharding(device)
    if isinstance(x, ArrayImpl):
        if x._sharding is sharding and x._committed == committed:
            return x
        if not isinstance(x._sharding, _jaxlib.SingleDeviceSharding):
            x = np.asarray(x)
    return _put(aval, sharding, [x], [device], committed)


def _put(aval: ShapedArray, sharding: Any, pieces: list, devices: list, committed: bool) -> Any:
    return _jaxlib.batched_device_put(
        aval,
        sharding,
        [p if isinstance(p, ArrayImpl) else host_value(p, aval) for p in pieces],
        devices,
        committed=committed,
        host_buffer_semantics=_COPY,
        enable_x64=True,
    )


def host_value(x: Any, aval: ShapedArray) -> np.ndarray:
    """``x`` as a NumPy array of exactly ``aval``'s dtype."""
    if isinstance(x, Tracer):
        raise escaped_tracer_error(x)
    array = np.asarray(x)
    if array.dtype != aval.dtype:
        check_fits_32_bits(array)
        array = array.astype(aval.dtype)
    return array


def put_on_sharding(x: Any, aval: ShapedArray, sharding: Any) -> Any:
    """``x`` as an array placed as an executable expects it."""
    if isinstance(sharding, _jaxlib.SingleDeviceSharding):
        device = sharding._device
        if isinstance(x, ArrayImpl):
            if x._sharding._device is device:
                return x
            return _put(aval, sharding, [x], [device], x._committed)
        return _put(aval, sharding, [x], [device], False)
    if isinstance(x, ArrayImpl) and not isinstance(x._sharding, _jaxlib.SingleDeviceSharding):
        wanted = sharding._to_xla_hlo_sharding(aval.ndim)
        if x._sharding._to_xla_hlo_sharding(aval.ndim) == wanted:
            return x
    return put_sharded(host_value(np.asarray(x), aval), aval, sharding, True)


def put_sharded(x: np.ndarray, aval: ShapedArray, sharding: Any, committed: bool) -> Any:
    """A host array cut into the pieces of a sharding over several devices."""
    devices = list(sharding._internal_device_list)
    pieces = [np.ascontiguousarray(x[i]) for i in shard_indices(sharding, aval.shape)]
    return _put_pieces(aval, sharding, pieces, devices, committed)


def _put_pieces(aval: Any, sharding: Any, pieces: list, devices: list, committed: bool) -> Any:
    return _jaxlib.batched_device_put(
        aval,
        sharding,
        pieces,
        devices,
        committed=committed,
        host_buffer_semantics=_COPY,
        enable_x64=True,
    )


def shard_indices(sharding: Any, shape: tuple[int, ...]) -> list[tuple[slice, ...]]:
    """For each device, in order, the part of an array of ``shape`` that it holds."""
    spec = sharding._to_xla_hlo_sharding(len(shape))
    count = len(sharding._internal_device_list)
    if spec.is_replicated():
        return [tuple(slice(None) for _ in shape)] * count
    proto = spec.to_proto()
    tiles = list(proto.tile_assignment_dimensions)
    order = np.asarray(spec.tile_assignment_devices()).reshape(tiles)
    indices: list[Any] = [None] * count
    for position in np.ndindex(*tiles):
        parts = []
        for axis, size in enumerate(shape):
            step = size // tiles[axis]
            parts.append(slice(position[axis] * step, (position[axis] + 1) * step))
        indices[int(order[position])] = tuple(parts)
    return indices

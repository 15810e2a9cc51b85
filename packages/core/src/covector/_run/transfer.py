"""Host values to device arrays, and arrays from device to device."""

from __future__ import annotations

from typing import Any

import jaxlib._jax as _jaxlib
import numpy as np

from covector._ir.avals import ShapedArray
from covector._run.client import single_device_sharding
from covector._run.shardings import shard_indices
from covector._trace.trace import Tracer, check_fits_32_bits, escaped_tracer_error, typeof

ArrayImpl = _jaxlib.ArrayImpl
# User memory may change after the call, so it is copied unless the runtime is done with it by then.
_COPY = _jaxlib.HostBufferSemantics.IMMUTABLE_ONLY_DURING_CALL
_KEEP = _jaxlib.HostBufferSemantics.ZERO_COPY  # for memory that nobody else has


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


def _put(
    aval: ShapedArray,
    sharding: Any,
    pieces: list,
    devices: list,
    committed: bool,
    semantics: Any = _COPY,
) -> Any:
    return _jaxlib.batched_device_put(
        aval,
        sharding,
        [p if isinstance(p, ArrayImpl) else host_value(p, aval) for p in pieces],
        devices,
        committed=committed,
        host_buffer_semantics=semantics,
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
    theirs: Any = x._sharding if isinstance(x, ArrayImpl) else None
    if theirs is sharding:
        return x
    if isinstance(sharding, _jaxlib.SingleDeviceSharding):
        device = sharding._device
        if isinstance(theirs, _jaxlib.SingleDeviceSharding) and theirs._device is device:
            return x
        return put_on_device(x, device, theirs is not None and x._committed, aval)
    if theirs is not None and sharding.is_equivalent_to(theirs, aval.ndim):
        return x
    return put_sharded(host_value(np.asarray(x), aval), aval, sharding, True)


def put_sharded(x: np.ndarray, aval: ShapedArray, sharding: Any, committed: bool) -> Any:
    """A host array cut into the pieces of a sharding over several devices."""
    indices = shard_indices(sharding, aval.shape)
    devices = list(sharding._internal_device_list)
    if sharding._to_xla_hlo_sharding(aval.ndim).replicate_on_last_tile_dim():
        # Each piece is a copy of its own: jaxlib fails on pieces of which some share their memory.
        pieces = [np.array(x[i]) for i in indices]
        return _put(aval, sharding, pieces, devices, committed, _KEEP)
    return _put(aval, sharding, [x[i] for i in indices], devices, committed)


def moved(x: Any, sharding: Any, copy: bool) -> Any:
    """An array in the memory of a sharding over the devices that it is on; or a copy of it."""
    kinds = _jaxlib.ArrayCopySemantics
    semantics = kinds.ALWAYS_COPY if copy else kinds.REUSE_INPUT
    return _jaxlib.batched_copy_array_to_devices_with_sharding(
        [x], [sharding._internal_device_list], [sharding], [semantics]
    )[0]

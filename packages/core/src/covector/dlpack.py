"""Arrays of other libraries without a copy, through DLPack (https://dmlc.github.io/dlpack)."""

from __future__ import annotations

from typing import Any

import jaxlib._jax as _jaxlib
import numpy as np

from covector._api.device import device_put
from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector._run import client
from covector._run.array import Array
from covector._run.transfer import put_on_device
from covector._trace.trace import check_fits_32_bits

__all__ = ["from_dlpack", "is_supported_dtype"]

_SUPPORTED = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 "
    "bfloat16 float16 float32 float64 complex64 complex128"
)
_CPU, _CUDA, _CUDA_HOST = 1, 2, 3  # of DLDeviceType


def is_supported_dtype(dtype: Any) -> bool:
    """Whether arrays of a dtype can be exchanged through DLPack.

    >>> import covector.dlpack
    >>> covector.dlpack.is_supported_dtype("bfloat16")
    True
    """
    return np.dtype(dtype).name in _SUPPORTED.split()


def from_dlpack(external_array: Any, device: Any = None, copy: bool | None = None) -> Array:
    """The elements of another library's array, in its own memory where that can be.

    The other library must not change that memory afterwards; ask for ``copy=True`` if it does.

    Args:
      external_array: has the methods ``__dlpack__`` and ``__dlpack_device__``.
      device: where the result shall be; by default where the elements are.
      copy: True for a copy always, False for none (or an error), None for one if it must be: to
        another device, from memory that is not aligned to 64 bytes or that has gaps, and of 64-bit
        numbers while these are disabled.

    Raises:
      TypeError: it has no such methods.
      ValueError: ``copy=False``, and a copy must be made.

    >>> import numpy
    >>> import covector.dlpack
    >>> covector.dlpack.from_dlpack(numpy.array([1, 2], "int16"))
    Array([1, 2], dtype=int16)
    """
    if not hasattr(external_array, "__dlpack__"):
        raise TypeError(
            "from_dlpack: the argument must have the methods __dlpack__ and __dlpack_device__, "
            f"got {type(external_array).__name__}."
        )
    out = _shared(external_array, copy)
    if out is None:
        out = _copied(np.from_dlpack(external_array), copy)
    wanted = dtypes.canonicalize_dtype(out.dtype)
    if wanted != out.dtype:
        out = _copied(np.asarray(out), copy)
    elif copy and out is not external_array:
        out = _copied(np.array(out), copy, out.device)
    return out if device is None else _moved(out, device, copy)


def _shared(x: Any, copy: bool | None) -> Any:
    """An array of the same memory (or a copy that the runtime made); None if there can be none."""
    kind, index = x.__dlpack_device__()
    if int(kind) not in (_CPU, _CUDA, _CUDA_HOST):
        raise ValueError(f"from_dlpack: no memory of DLPack's device type {int(kind)} is known.")
    on_gpu = int(kind) == _CUDA
    device = client.devices("cuda" if on_gpu else "cpu")[index if on_gpu else 0]
    stream = device.get_stream_for_external_ready_events() if on_gpu else None
    capsule = _capsule(x, stream)
    try:
        return _jaxlib.dlpack_managed_tensor_to_buffer(capsule, device, stream, copy=copy)
    except _jaxlib.JaxRuntimeError as error:
        if copy is False:
            raise ValueError(f"from_dlpack: copy=False, but a copy must be made: {error}") from None
        if "UNIMPLEMENTED" not in str(error) or on_gpu:
            raise
        return None


def _capsule(x: Any, stream: Any) -> Any:
    """What DLPack hands over: of its first version with flags, if the library knows that."""
    options = {} if stream is None else {"stream": stream}
    try:
        return x.__dlpack__(**options, max_version=(1, 0))
    except TypeError:
        return x.__dlpack__(**options)


def _copied(value: np.ndarray, copy: bool | None, device: Any = None) -> Any:
    """An array of the dtype that is enabled, with elements of its own."""
    if copy is False:
        raise ValueError(
            "from_dlpack: copy=False, but a copy must be made: the elements have gaps between "
            f"them, or {value.dtype} is disabled."
        )
    check_fits_32_bits(value)
    aval = ShapedArray(value.shape, dtypes.canonicalize_dtype(value.dtype), False)
    return put_on_device(value, device or client.devices("cpu")[0], True, aval)


def _moved(x: Any, device: Any, copy: bool | None) -> Any:
    if copy is False and x.device != device:
        raise ValueError(
            f"from_dlpack: copy=False, but the elements are on {x.device}, not on {device}."
        )
    return device_put(x, device)

"""Making arrays: from Python and NumPy values, filled, and ranges.

In eager code a small array is made on the host and copied, so that no shape ever waits for the
compiler. While staging, and for large arrays, it is computed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import index
from typing import Any

import jaxlib._jax as _jaxlib
import numpy as np
from covector import lax
from covector._api.device import device_put
from covector._api.jit import library_function
from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector._run.array import value_of
from covector._run.client import default_device
from covector._run.transfer import put_on_device
from covector._trace.trace import Tracer, staging_state, typeof
from covector._tree.registry import dispatch_registry, registry
from covector.lax.convert import convert_type
from covector.numpy import _operands
from covector.numpy._operands import (
    Array,
    ArrayLike,
    ArrayOrSeveral,
    DTypeLike,
    broadcast_to_shape,
    canonical_axis,
    canonical_shape,
    check_arraylike,
    concrete,
    promote_dtypes_inexact,
    requested_dtype,
    scalar,
)

ArrayImpl = _jaxlib.ArrayImpl
_PYTHON_NUMBERS = frozenset({bool, int, float, complex})
# Above this many elements computing beats making on the host and copying.
_HOST_SIZE = 2**16


# --- from values ---------------------------------------------------------------------------------


def array(
    object: Any,
    dtype: DTypeLike = None,
    *,
    copy: bool | None = True,
    order: str | None = "K",
    ndmin: int = 0,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """An array from an array, number, nested sequence, or anything that NumPy takes.

    Args:
      dtype: its dtype; by default that of the values. Python numbers get the default width.
      copy: whether to copy the elements of an array (that of a NumPy array always are).
      order: "C" or "K"; arrays have no other memory order.
      ndmin: the least number of axes; new ones go in front.
      device: a device or sharding to place it on.

    Raises:
      TypeError: the values are not numbers.
      ShapeError: rows of different lengths.
      OverflowError: an integer does not fit the dtype.

    >>> jnp.array([[1, 2], [3, 4]], dtype=jnp.float32)
    Array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    if order not in (None, "K", "C", "A"):
        raise NotImplementedError(f"array: order must be 'K' or 'C', got {order!r}.")
    dtype = requested_dtype(dtype, "array")
    result = _array_of(object, dtype, copy)
    ndim = typeof(result).ndim
    if ndim < ndmin:
        result = lax.reshape(result, (1,) * (ndmin - ndim) + typeof(result).shape)
    place = device if device is not None else out_sharding
    return result if place is None else device_put(result, place)


def asarray(
    a: Any,
    dtype: DTypeLike = None,
    order: str | None = None,
    *,
    copy: bool | None = None,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """Like `array`, but an array of the right dtype is returned as it is.

    >>> jnp.asarray(np.arange(3))
    Array([0, 1, 2], dtype=int32)
    """
    if dtype is None and device is None and copy is None and isinstance(a, (ArrayImpl, Tracer)):
        return a
    return array(a, dtype, copy=copy, order=order, device=device, out_sharding=out_sharding)


def _array_of(x: Any, dtype: Any, copy: bool | None) -> Any:
    if isinstance(x, (ArrayImpl, Tracer)):
        return _from_array(x, dtype, copy)
    if isinstance(x, (list, tuple)):
        return _from_sequence(x, dtype)
    if _is_extended(x):
        return _from_array(x, dtype, False)
    if hasattr(x, "__jax_array__"):
        return _from_array(x.__jax_array__(), dtype, copy)
    if x is None:
        raise ValueError("None is not a valid value for jnp.array")
    is_number = isinstance(x, (bool, int, float, complex)) and not isinstance(x, np.generic)
    if is_number and dtype is None:
        return put_on_device(x, default_device(), False, typeof(x))
    return from_host(_host_array(x, dtype), dtype)


def _host_array(x: Any, dtype: Any) -> np.ndarray:
    value = np.asarray(memoryview(x)) if isinstance(x, (bytearray, memoryview)) else np.asarray(x)
    return _check_numeric(x, value)


def _check_numeric(x: Any, value: np.ndarray) -> np.ndarray:
    if value.dtype not in dtypes.DTYPE_TO_MLIR:
        raise TypeError(
            f"Value {str(x)[:80]!r} with dtype {value.dtype} is not a valid array: arrays hold "
            "booleans, integers, floating-point and complex numbers."
        )
    return value


def from_host(value: np.ndarray, dtype: Any = None, weak_type: bool = False) -> Any:
    """A NumPy array as an array on the default device."""
    aval = ShapedArray(value.shape, dtypes.canonicalize_dtype(dtype or value.dtype), weak_type)
    if dtype is not None and value.dtype != aval.dtype:
        _check_range(value, aval.dtype)
        if dtypes.is_complex(value.dtype) and not dtypes.is_complex(aval.dtype):
            value = value != 0 if dtypes.is_bool(aval.dtype) else np.real(value)
        value = value.astype(aval.dtype)
    return put_on_device(value, default_device(), False, aval)


def _check_range(value: np.ndarray, dtype: np.dtype) -> None:
    """Python integers that do not fit the dtype they were asked for are an error."""
    if dtype.kind in "iu" and value.dtype.kind in "iu" and value.size:
        info = dtypes.iinfo(dtype)
        if dtype.itemsize < value.dtype.itemsize and (
            value.max() > info.max or value.min() < info.min
        ):
            big = value.max() if value.max() > info.max else value.min()
            raise OverflowError(f"Python integer {big} out of bounds for {dtype}")


def _from_array(x: Any, dtype: Any, copy: bool | None) -> Any:
    aval = typeof(x)
    if dtype is None or (aval.dtype == dtype and not aval.weak_type):
        return _copy(x) if copy and isinstance(x, ArrayImpl) else x
    return astype(x, dtype)


def _is_extended(x: Any) -> bool:
    """Whether ``x`` is an array of a dtype that NumPy does not have, such as random keys."""
    return isinstance(getattr(x, "dtype", None), dtypes.ExtendedDType)


@library_function
def _copy(x: Any) -> Any:
    return x


def _from_sequence(x: Sequence[Any], dtype: Any) -> Any:
    leaves, tree = dispatch_registry.flatten(x, lambda v: v is None)
    kinds = set(map(type, leaves))
    if not kinds <= _PYTHON_NUMBERS:
        if any(v is None for v in leaves):
            raise ValueError("None is not a valid value for jnp.array: an element is None.")
        for text in [v for v in leaves if isinstance(v, (str, bytes))]:
            _check_numeric(text, np.asarray(text))
        if any(map(_is_extended, registry.flatten(x)[0])):
            return _stack_sequence(x, dtype)
        if any(isinstance(v, Tracer) for v in leaves):
            return _stack_sequence(x, dtype or _common_dtype(leaves))
        dtype = dtype or _common_dtype(leaves)
        leaves = [value_of(v) if isinstance(v, ArrayImpl) else v for v in leaves]
        x = tree.unflatten(leaves)
    try:
        value = np.array(x) if leaves else np.zeros(np.shape(x))
    except ValueError as error:
        raise _operands.ShapeError(f"array: {error}") from None
    return from_host(_check_numeric(x, value), dtype)


def _common_dtype(leaves: Sequence[Any]) -> Any:
    """The dtype of a sequence's elements together; a representative of each type is enough."""
    one_of_each = {getattr(v, "dtype", type(v)): v for v in leaves}.values()
    found = [np.asarray(v) if isinstance(v, (list, tuple)) else v for v in one_of_each]
    return dtypes.canonicalize_dtype(dtypes.result_type(*found))


def _stack_sequence(x: Any, dtype: Any) -> Any:
    if not isinstance(x, (list, tuple)):
        if _is_extended(x):
            return _from_array(x, dtype, False)
        return (
            astype(x, dtype)
            if isinstance(x, (ArrayImpl, Tracer))
            else from_host(np.asarray(x), dtype)
        )
    parts = [_stack_sequence(v, dtype) for v in x]
    if not parts:
        return from_host(np.zeros((0,)), dtype)
    shapes = [typeof(p).shape for p in parts]
    if len(set(shapes)) > 1:
        raise ValueError(f"array: the elements of a sequence must have one shape, got {shapes}.")
    return lax.concatenate([lax.reshape(p, (1, *shapes[0])) for p in parts], 0)


def astype(x: ArrayLike, dtype: DTypeLike, /, *, copy: bool = False, device: Any = None) -> Array:
    """``x`` with its elements converted. Of complex numbers, the real part is kept, with a warning.

    >>> jnp.astype(jnp.array([1.7, -1.7]), jnp.int32)
    Array([ 1, -1], dtype=int32)
    """
    check_arraylike("astype", x)
    wanted = requested_dtype(float if dtype is None else dtype, "astype")
    if dtypes.is_complex(typeof(x).dtype) and not (
        dtypes.is_complex(wanted) or dtypes.is_bool(wanted)
    ):
        from covector.errors import warn_user

        warn_user(
            "Casting complex values to real discards the imaginary part",
            np.exceptions.ComplexWarning,
        )
    result = convert(x, wanted)
    if copy and result is x and isinstance(x, ArrayImpl):
        result = _copy(x)
    return result if device is None else device_put(result, device)


def convert(x: Any, dtype: Any) -> Any:
    """``x`` with its elements converted, without a warning; the result is not weak."""
    aval = typeof(x)
    if aval.dtype == dtype and not aval.weak_type and isinstance(x, (ArrayImpl, Tracer)):
        return x
    return _convert(x, dtype=dtype)


@library_function(static_argnames="dtype")
def _convert(x: Any, *, dtype: Any) -> Any:
    if dtypes.is_complex(typeof(x).dtype) and not dtypes.is_complex(dtype):
        if dtypes.is_bool(dtype):
            return _operands.as_boolean(x)
        x = lax.real(x)
    return lax.convert_element_type(x, dtype)


def copy(a: ArrayLike, order: str | None = None) -> Array:
    """A copy of an array.

    >>> jnp.copy(jnp.arange(3))
    Array([0, 1, 2], dtype=int32)
    """
    check_arraylike("copy", a)
    return array(a, copy=True, order=order)


# --- filled --------------------------------------------------------------------------------------


def full(
    shape: Any,
    fill_value: ArrayLike,
    dtype: DTypeLike = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """An array of a shape, each element of which is ``fill_value``.

    Args:
      fill_value: a number, or an array that broadcasts to ``shape``.
      dtype: by default that of ``fill_value``.

    >>> jnp.full((2, 2), 7)
    Array([[7, 7],
           [7, 7]], dtype=int32, weak_type=True)
    """
    dtype = requested_dtype(dtype, "full")
    check_arraylike("full", fill_value)
    place = device if device is not None else out_sharding
    return _full("full", shape, fill_value, dtype, place)


def _full(
    name: str, shape: Any, value: Any, dtype: Any, place: Any, weak_type: bool | None = None
) -> Any:
    shape = canonical_shape(name, shape)
    if any(n < 0 for n in shape):
        raise _operands.ShapeError(f"{name}: every size must be nonnegative, got shape {shape}.")
    aval = typeof(value)
    weak = (aval.weak_type if dtype is None else False) if weak_type is None else weak_type
    dtype = aval.dtype if dtype is None else dtype
    if isinstance(dtype, dtypes.ExtendedDType) and dtype is not aval.dtype:
        whole = (*shape, *dtype.element_shape)
        return dtype.wrap(_full(name, whole, value, dtype.base_dtype, place, False))
    small = math.prod(shape) <= _HOST_SIZE and isinstance(value, (bool, int, float, complex))
    if small and not staging_state.value:
        filled = from_host(np.full(shape, _converted(value, dtype)), None, weak)
    else:
        value = convert_type(value, dtype, weak_type=weak)
        _operands.common_shape(name, typeof(value).shape, shape)
        filled = broadcast_to_shape(value, shape) if typeof(value).shape != shape else value
        if not hasattr(filled, "aval"):
            filled = lax.broadcast_in_dim(filled, shape, ())
    return filled if place is None else device_put(filled, place)


def _converted(value: Any, dtype: Any) -> Any:
    """A Python number as a NumPy scalar of a dtype, converted as arrays are."""
    if isinstance(value, complex) and not dtypes.is_complex(dtype):
        value = value.real
    return np.asarray(value).astype(dtype)


def zeros(
    shape: Any, dtype: DTypeLike = None, *, device: Any = None, out_sharding: Any = None
) -> Array:
    """An array of zeros.

    >>> jnp.zeros(3)
    Array([0., 0., 0.], dtype=float32)
    """
    return _constant("zeros", shape, 0, dtype, device, out_sharding)


def ones(
    shape: Any, dtype: DTypeLike = None, *, device: Any = None, out_sharding: Any = None
) -> Array:
    """An array of ones.

    >>> jnp.ones((1, 2), dtype=jnp.int32)
    Array([[1, 1]], dtype=int32)
    """
    return _constant("ones", shape, 1, dtype, device, out_sharding)


def empty(
    shape: Any, dtype: DTypeLike = None, *, device: Any = None, out_sharding: Any = None
) -> Array:
    """An array whose elements do not matter; they are zeros.

    >>> jnp.empty(3).shape
    (3,)
    """
    return _constant("empty", shape, 0, dtype, device, out_sharding)


def _constant(name: str, shape: Any, value: int, dtype: Any, device: Any, out_sharding: Any) -> Any:
    dtype = requested_dtype(float if dtype is None else dtype, name)
    return _full(name, shape, value, dtype, device if device is not None else out_sharding)


def full_like(
    a: ArrayLike,
    fill_value: ArrayLike,
    dtype: DTypeLike = None,
    shape: Any = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """An array of the shape and dtype of ``a``, unless given, filled with ``fill_value``.

    >>> jnp.full_like(jnp.zeros(2), 3)
    Array([3., 3.], dtype=float32)
    """
    check_arraylike("full_like", fill_value)
    return _like("full_like", a, fill_value, dtype, shape, device, out_sharding)


def zeros_like(
    a: ArrayLike,
    dtype: DTypeLike = None,
    shape: Any = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """Zeros of the shape and dtype of ``a``, unless given.

    >>> jnp.zeros_like(jnp.arange(3))
    Array([0, 0, 0], dtype=int32)
    """
    return _like("zeros_like", a, 0, dtype, shape, device, out_sharding)


def ones_like(
    a: ArrayLike,
    dtype: DTypeLike = None,
    shape: Any = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """Ones of the shape and dtype of ``a``, unless given.

    >>> jnp.ones_like(jnp.arange(3))
    Array([1, 1, 1], dtype=int32)
    """
    return _like("ones_like", a, 1, dtype, shape, device, out_sharding)


def empty_like(
    prototype: ArrayLike, dtype: DTypeLike = None, shape: Any = None, *, device: Any = None
) -> Array:
    """An array of the shape and dtype of ``prototype``, unless given; its elements are zeros.

    >>> jnp.empty_like(jnp.arange(3)).shape
    (3,)
    """
    return _like("empty_like", prototype, 0, dtype, shape, device, None)


def _like(
    name: str, a: Any, value: Any, dtype: Any, shape: Any, device: Any, out_sharding: Any
) -> Any:
    if not (hasattr(a, "shape") and hasattr(a, "dtype")):
        check_arraylike(name, a)
    described = hasattr(a, "shape") and hasattr(a, "dtype") and not hasattr(a, "aval")
    aval = None if described else typeof(a)
    weak = dtype is None and bool(getattr(aval, "weak_type", False))
    own_dtype = dtypes.canonicalize_dtype(a.dtype) if described else aval.dtype  # type: ignore[union-attr]
    own_shape = a.shape if described else aval.shape  # type: ignore[union-attr]
    dtype = own_dtype if dtype is None else requested_dtype(dtype, name)
    place = device if device is not None else out_sharding
    shape = own_shape if shape is None else shape
    return _full(name, shape, value, dtype, place, weak)


# --- ranges --------------------------------------------------------------------------------------


def arange(
    start: ArrayLike,
    stop: ArrayLike | None = None,
    step: Any = None,
    dtype: DTypeLike = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """Evenly spaced numbers from ``start`` (0 if there is one argument) to before ``stop``.

    The arguments' values decide the shape, so they must be known while a function is traced.

    >>> jnp.arange(1, 7, 2)
    Array([1, 3, 5], dtype=int32)
    """
    given = [("start" if stop is not None else "stop", start), ("stop", stop), ("step", step)]
    values = [concrete("arange", name, v) for name, v in given if v is not None]
    for (name, _), v in zip(given, values):
        if v.ndim:
            raise _operands.ShapeError(
                f"arange: {name} must be a number, got an array of shape {v.shape}."
            )
    dtype = requested_dtype(dtype, "arange")
    if dtype is None:
        dtype = dtypes.canonicalize_dtype(
            dtypes.result_type(*[v for _, v in given if v is not None])
        )
    numbers = [v[()] for v in values]
    if step is not None and numbers[-1] == 0:
        raise ZeroDivisionError("arange: step must not be zero.")
    if stop is None and step is not None:
        numbers = [0, numbers[0], numbers[1]]
    result = _range(numbers, dtype)
    place = device if device is not None else out_sharding
    return result if place is None else device_put(result, place)


def _range(numbers: list[Any], dtype: np.dtype) -> Any:
    if staging_state.value and dtypes.is_integer(dtype) and all(n == int(n) for n in numbers):
        points = range(*[int(n) for n in numbers])
        result = lax.iota(dtype, len(points))
        if points.step != 1:
            result = lax.mul(result, scalar(points.step, dtype))
        return result if points.start == 0 else lax.add(result, scalar(points.start, dtype))
    return from_host(np.arange(*numbers).astype(dtype))


def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> ArrayOrSeveral:
    """``num`` evenly spaced numbers from ``start`` to ``stop``, along a new axis.

    Args:
      start, stop: numbers, or arrays that broadcast.
      endpoint: whether ``stop`` is the last of them.
      retstep: return ``(numbers, step)``.

    >>> jnp.linspace(0, 1, 5)
    Array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    """
    num = num if type(num) is int else int(concrete("linspace", "num", num))
    if num < 0:
        raise ValueError(f"linspace: num must be nonnegative, got {num}.")
    result = _linspace(start, stop, num, endpoint, retstep, dtype, axis)
    return result if device is None else device_put(result, device)


@library_function(operands=("start", "stop"))
def _linspace(
    start: Any, stop: Any, num: int, endpoint: bool, retstep: bool, dtype: Any, axis: int
) -> Any:
    check_arraylike("linspace", start, stop)
    dtype = requested_dtype(dtype, "linspace")
    start, stop = [
        lax.convert_element_type(v, typeof(v).dtype) for v in promote_dtypes_inexact(start, stop)
    ]
    compute = typeof(start).dtype
    real = dtypes.to_real_dtype(compute)
    shape = _operands.common_shape("linspace", typeof(start).shape, typeof(stop).shape)
    start, stop = [broadcast_to_shape(v, shape) for v in (start, stop)]
    intervals = num - 1 if endpoint else num
    step = lax.div(lax.sub(stop, start), scalar(intervals or np.nan, compute))
    at = canonical_axis(axis, len(shape) + 1)
    full_shape = (*shape[:at], num, *shape[at:])
    # start (1 - t) + stop t is right at both ends, and in the middle of -a ... a.
    places = lax.div(lax.iota(real, num), scalar(max(intervals, 1), real))
    places = lax.convert_element_type(lax.broadcast_in_dim(places, full_shape, (at,)), compute)
    others = [i for i in range(len(full_shape)) if i != at]
    start, stop = [lax.broadcast_in_dim(v, full_shape, others) for v in (start, stop)]
    rest = lax.sub(scalar(1, compute), places)
    points = lax.add(lax.mul(start, rest), lax.mul(stop, places))
    if endpoint and num > 1:
        last = lax.eq(
            lax.broadcasted_iota(np.dtype("int32"), full_shape, at),
            scalar(num - 1, np.dtype("int32")),
        )
        points = lax.select(last, stop, points)
    if dtype is not None and dtypes.is_integer(dtype):
        points = lax.floor(points)
    points = lax.convert_element_type(points, dtype or compute)
    return (points, step) if retstep else points


@library_function(operands=("start", "stop", "base"))
def logspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    base: ArrayLike = 10.0,
    dtype: DTypeLike = None,
    axis: int = 0,
) -> Array:
    """``num`` numbers evenly spaced on a logarithmic scale, from base**start to base**stop.

    >>> print(jnp.logspace(0, 2, 3, base=2))
    [1. 2. 4.]
    """
    from covector.numpy._arithmetic import power

    dtype = requested_dtype(dtype, "logspace")
    points = power(base, linspace(start, stop, num, endpoint, axis=axis))
    return points if dtype is None else convert(points, dtype)


def geomspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    dtype: DTypeLike = None,
    axis: int = 0,
) -> Array:
    """``num`` numbers from ``start`` to ``stop``, each the same multiple of the one before.

    >>> print(jnp.geomspace(1, 16, 5))
    [ 1.  2.  4.  8. 16.]
    """
    dtype = requested_dtype(dtype, "geomspace")
    points = _geomspace(start, stop, num=int(num), endpoint=bool(endpoint), axis=index(axis))
    return points if dtype is None else convert(points, dtype)


@library_function(static_argnames=("num", "endpoint", "axis"))
def _geomspace(start: Any, stop: Any, *, num: int, endpoint: bool, axis: int) -> Any:
    from covector.numpy._rounding import sign

    start, stop = _operands.promote_inexact("geomspace", start, stop)
    compute = typeof(start).dtype
    shape = _operands.common_shape("geomspace", typeof(start).shape, typeof(stop).shape)
    start, stop = [
        lax.convert_element_type(broadcast_to_shape(v, shape), compute) for v in (start, stop)
    ]
    direction = sign(start)
    low, high = [lax.log(lax.div(v, direction)) for v in (start, stop)]
    logs = _linspace(low, high, num, endpoint, False, None, axis)
    at = canonical_axis(axis, len(shape) + 1)
    others = [i for i in range(len(shape) + 1) if i != at]
    full_shape = typeof(logs).shape
    points = lax.mul(lax.exp(logs), lax.broadcast_in_dim(direction, full_shape, others))
    place = lax.broadcasted_iota(np.dtype("int32"), full_shape, at)
    for number, value in ((0, start), *([(num - 1, stop)] if endpoint else [])):
        here = lax.eq(place, scalar(number, np.dtype("int32")))
        points = lax.select(here, lax.broadcast_in_dim(value, full_shape, others), points)
    return points

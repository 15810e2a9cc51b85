"""Random bits, and floating-point numbers made from them: `bits`, `uniform`."""

from __future__ import annotations

from typing import Any

import numpy as np
from covector import lax
from covector._api.jit import library_function
from covector._ir import dtypes
from covector._trace.trace import typeof
from covector.lax.filling import place
from covector.random._arguments import check_parameters, float_dtype, shape_of, single_key
from covector.random._implementation import KeyImplementation, Shape
from covector.random._layout import from_work_shape

# --- bits -----------------------------------------------------------------------------------------


def bits(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Random bits: unsigned integers of which all are equally likely.

    Args:
      key: a typed key, or a plain one of shape ``(2,)``.
      shape: of the result.
      dtype: `uint8`, `uint16`, `uint32` or `uint64` (by default the last two, by the flag x64).

    Raises:
      TypeError: ``key`` is no key, or ``shape`` no sequence of integers.
      ValueError: ``dtype`` is no unsigned integer.

    >>> from covector import random
    >>> random.bits(random.key(0), (2,))
    Array([4070199207, 4202968722], dtype=uint32)
    """
    implementation, data, _ = single_key("bits", key)
    dtype = dtypes.canonicalize_dtype(np.uint64) if dtype is None else _bits_dtype(dtype)
    return place(_bits(data, implementation, shape_of("bits", shape), dtype), out_sharding)


def _bits_dtype(dtype: Any) -> np.dtype:
    dtype = dtypes.check_user_dtype(dtype, "bits")
    if not dtypes.is_unsigned(dtype) or dtypes.itemsize_bits(dtype) < 8:
        raise ValueError(
            f"dtype argument to `bits` must be an unsigned int dtype of 8 to 64 bits, got {dtype}"
        )
    return dtype


@library_function(static_argnums=(1, 2, 3))
def _bits(data: Any, implementation: KeyImplementation, shape: Shape, dtype: np.dtype) -> Any:
    width = 8 * dtype.itemsize
    drawn = implementation.random_bits(data, width, implementation.work_shape(shape))
    return from_work_shape(drawn, shape)


# --- uniform --------------------------------------------------------------------------------------


def uniform(
    key: Any,
    shape: Any = (),
    dtype: Any = None,
    minval: Any = 0.0,
    maxval: Any = 1.0,
    *,
    out_sharding: Any = None,
) -> Any:
    """Floating-point numbers spread evenly over ``[minval, maxval)``.

    Args:
      key: a typed key, or a plain one of shape ``(2,)``.
      shape: of the result; ``minval`` and ``maxval`` broadcast to it.
      dtype: a floating-point type.

    Raises:
      TypeError: ``key`` is no key, or ``shape`` no sequence of integers.
      ValueError: ``dtype`` is no floating-point type.

    >>> from covector import random
    >>> random.uniform(random.key(0), (2,))
    Array([0.947667 , 0.9785799], dtype=float32)
    """
    implementation, data, _ = single_key("uniform", key)
    shape, dtype = shape_of("uniform", shape), float_dtype("uniform", dtype)
    if type(minval) is float and type(maxval) is float and minval == 0.0 and maxval == 1.0:
        drawn = _unit_uniform(data, implementation, shape, dtype)
    else:
        check_parameters("uniform", shape, minval=minval, maxval=maxval)
        drawn = _uniform(data, minval, maxval, implementation, shape, dtype)
    return place(drawn, out_sharding)


@library_function(static_argnums=(1, 2, 3))
def _unit_uniform(
    data: Any, implementation: KeyImplementation, shape: Shape, dtype: np.dtype
) -> Any:
    drawn = unit_interval(data, implementation, implementation.work_shape(shape), dtype)
    return from_work_shape(drawn, shape)


@library_function(static_argnums=(3, 4, 5))
def _uniform(
    data: Any,
    minval: Any,
    maxval: Any,
    implementation: KeyImplementation,
    shape: Shape,
    dtype: np.dtype,
) -> Any:
    low, high = [lax.convert_element_type(bound, dtype) for bound in (minval, maxval)]
    if low.ndim or high.ndim:
        drawn = _unit_uniform(data, implementation, shape, dtype)
        low, high = [broadcast_parameter(bound, shape) for bound in (low, high)]
        return between(drawn, low, high)
    drawn = unit_interval(data, implementation, implementation.work_shape(shape), dtype)
    return from_work_shape(between(drawn, low, high), shape)


def broadcast_parameter(x: Any, shape: Shape) -> Any:
    """A parameter's array in the shape of the result; scalars stay as they are."""
    ndim = typeof(x).ndim
    return lax.broadcast_in_dim(x, shape, range(len(shape) - ndim, len(shape))) if ndim else x


def between(unit: Any, low: Any, high: Any) -> Any:
    """Numbers of ``[0, 1)`` stretched to ``[low, high)``; rounding cannot take them below."""
    return lax.max(low, lax.add(lax.mul(unit, lax.sub(high, low)), low))


def unit_interval(
    data: Any, implementation: KeyImplementation, shape: Shape, dtype: np.dtype
) -> Any:
    """Multiples of the type's precision in ``[0, 1)``, in library code: no executable of its own.

    Random bits are the fraction of a number in ``[1, 2)``, from which one is subtracted.
    """
    precision = dtypes.finfo(dtype).nmant
    width = dtypes.itemsize_bits(dtype)
    drawn_width = width if precision >= 8 else 8
    unsigned = np.dtype(f"uint{width}")
    drawn = implementation.random_bits(data, drawn_width, shape)
    if width < 16:  # arithmetic of 8 bits copies its operands' code many times
        drawn = lax.optimization_barrier(drawn)
    drawn = lax.convert_element_type(drawn, unsigned)
    one = np.ones((), dtype)
    fraction = lax.shift_right_logical(drawn, unsigned.type(drawn_width - precision))
    number = lax.bitwise_or(fraction, one.view(unsigned)[()])
    return lax.sub(lax.bitcast_convert_type(number, dtype), one[()])

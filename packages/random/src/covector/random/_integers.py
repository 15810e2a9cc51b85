"""Random integers: `randint`."""

from __future__ import annotations

from typing import Any

import numpy as np
from covector import lax
from covector._api.jit import library_function
from covector._ir import dtypes
from covector._trace.trace import typeof
from covector.lax.filling import place
from covector.random._arguments import check_parameters, shape_of, single_key
from covector.random._implementation import KeyImplementation, Shape
from covector.random._layout import from_work_shape
from covector.random._uniform import broadcast_parameter

_INT32 = np.dtype(np.int32)


def randint(
    key: Any,
    shape: Any,
    minval: Any,
    maxval: Any,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Integers spread evenly over ``[minval, maxval)``.

    Bounds beyond the dtype's range are moved into it. If no integer is left, the result is
    ``minval``. Unless the number n of integers is a power of two, some are a little more likely
    than others: by n / 2**64 for n up to 2**16, by n / 2**32 beyond. (With 64-bit dtypes these
    powers of two are squared.)

    Args:
      key: a typed key, or a plain one of shape ``(2,)``.
      shape: of the result; ``minval`` and ``maxval`` broadcast to it.
      dtype: an integer type.

    Raises:
      TypeError: ``key`` is no key, ``shape`` no sequence of integers, or ``dtype`` no integer type.
      ValueError: a bound does not broadcast to ``shape``.

    >>> from covector import random
    >>> random.randint(random.key(0), (4,), 0, 10)
    Array([9, 0, 2, 3], dtype=int32)
    """
    implementation, data, _ = single_key("randint", key)
    shape = shape_of("randint", shape)
    if dtype is None:
        dtype = dtypes.scalar_dtype(int)
    else:
        dtype = dtypes.check_user_dtype(dtype, "randint")
        if not dtypes.is_integer(dtype):
            raise TypeError(f"randint only accepts integer dtypes, got {dtype}")
    check_parameters("randint", shape, minval=minval, maxval=maxval)
    return place(_randint(data, minval, maxval, implementation, shape, dtype), out_sharding)


@library_function(static_argnums=(3, 4, 5))
def _randint(
    data: Any,
    minval: Any,
    maxval: Any,
    implementation: KeyImplementation,
    shape: Shape,
    dtype: np.dtype,
) -> Any:
    low, high, beyond = _bounds(minval, maxval, dtype)
    if typeof(low).ndim or typeof(high).ndim:
        low, high, beyond = [broadcast_parameter(x, shape) for x in (low, high, beyond)]
        work_shape = shape
    else:
        work_shape = implementation.work_shape(shape)
    drawn = _integers_below(data, _span(low, high, beyond), implementation, work_shape)
    drawn = lax.add(low, lax.convert_element_type(drawn, typeof(low).dtype))
    return lax.convert_element_type(from_work_shape(drawn, shape), dtype)


def _bounds(minval: Any, maxval: Any, dtype: np.dtype) -> tuple[Any, Any, Any]:
    """Bounds in the type to compute in, and whether the upper one had been beyond that type."""
    info = dtypes.iinfo(dtype)
    if dtypes.itemsize_bits(dtype) < 32:  # computed in 32 bits, where both ends fit
        minval, maxval = [lax.convert_element_type(x, _INT32) for x in (minval, maxval)]
        low = _clip(minval, int(info.min), int(info.max))
        high = _clip(maxval, int(info.min), int(info.max) + 1)
        return low, high, lax.full(typeof(high).shape, False)
    minval, maxval = [
        x if dtypes.is_integer(typeof(x).dtype) else lax.convert_element_type(x, dtype)
        for x in (minval, maxval)
    ]
    largest = min(int(info.max), int(dtypes.iinfo(typeof(maxval).dtype).max))
    beyond = lax.gt(maxval, _scalar_like(maxval, largest))
    low, high = [
        lax.convert_element_type(_clip(x, int(info.min), int(info.max)), dtype)
        for x in (minval, maxval)
    ]
    return low, high, beyond


def _clip(x: Any, low: int, high: int) -> Any:
    """``x`` moved into the range that is common to ``[low, high]`` and its own type."""
    info = dtypes.iinfo(typeof(x).dtype)
    low, high = max(low, int(info.min)), min(high, int(info.max))
    return lax.min(_scalar_like(x, high), lax.max(_scalar_like(x, low), x))


def _scalar_like(x: Any, number: int) -> Any:
    return typeof(x).dtype.type(number)


def _span(low: Any, high: Any, beyond: Any) -> Any:
    """How many integers there are from ``low`` to below ``high``; 0 stands for all of the type."""
    unsigned = np.dtype(f"uint{8 * typeof(low).dtype.itemsize}")
    one = unsigned.type(1)
    some = lax.gt(high, low)
    span = lax.convert_element_type(lax.sub(high, low), unsigned)
    ones = lax.full(typeof(span).shape, one)
    span = lax.select(some, span, ones)
    return lax.select(lax.bitwise_and(beyond, some), lax.add(span, one), span)


def _integers_below(data: Any, span: Any, implementation: KeyImplementation, shape: Shape) -> Any:
    """The remainder by ``span`` of random integers of twice the width, word by word."""
    dtype = typeof(span).dtype
    width = 8 * dtype.itemsize
    keys = lax.unstack(implementation.split(data, (2,)))
    high, low = [implementation.random_bits(key, width, shape) for key in keys]
    half = lax.rem(dtype.type(2 ** (width // 2)), span)
    place_value = lax.rem(lax.mul(half, half), span)  # of the high word: 2**width modulo span
    total = lax.add(lax.mul(lax.rem(high, span), place_value), lax.rem(low, span))
    return lax.rem(total, span)

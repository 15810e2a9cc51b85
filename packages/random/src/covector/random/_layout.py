"""The shape in which random numbers are computed, where that of the result makes a slow kernel.

XLA's CPU compiler cuts a loop into one part for each thread along the outer axes. On two threads,
an odd number of rows leaves a bounds check within each row, and if a row is short (or the array is
one row), the check keeps the whole loop from being vectorized: 5 to 8 times slower. Counter-based
numbers can be drawn in any shape, so these are drawn in rows that are long, and reshaped.
"""

from __future__ import annotations

import math
from typing import Any

from covector import lax
from covector._trace.trace import typeof

Shape = tuple[int, ...]

_SMALL = 1000  # elements; below, one thread does it all
_SHORT = 64  # elements of a row
_LONG = 4096
_PADDED = 128  # the length of rows if none divides the number of elements


def flat_work_shape(shape: Shape) -> Shape:
    """The shape to compute in: ``shape``, or one long axis, or rows (maybe with padding)."""
    size = math.prod(shape)
    if size < _SMALL:
        return shape
    row = shape[-1]
    count = size // row
    if count % 2 == 0 or (row >= _SHORT and (count > 1 or row % 2 == 0)):
        return shape
    if size % 2 == 0:
        return (size,)
    longest = (n for n in range(_LONG, _SHORT - 1, -1) if size % n == 0)
    row = next(longest, _PADDED)
    return (-(-size // row), row)


def from_work_shape(x: Any, shape: Shape) -> Any:
    """The elements in ``shape`` of an array that was computed in the work shape."""
    worked = typeof(x).shape
    if worked == shape:
        return x
    x = lax.optimization_barrier(x)  # else the compiler moves the reshape to where the loop starts
    size, padded = math.prod(shape), math.prod(worked)
    if size < padded:
        x = lax.slice(lax.reshape(x, (padded,)), (0,), (size,))
    return lax.reshape(x, shape)

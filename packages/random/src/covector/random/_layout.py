"""The shape in which random numbers are computed, where that of the result makes a slow kernel.

XLA's CPU compiler cuts a loop into one part for each thread along the outer axes. On two threads,
an odd number of rows leaves a bounds check within each row, and if a row is short (or the array is
one row), the check keeps the whole loop from being vectorized: 5 to 8 times slower. Counter-based
numbers can be drawn in any shape, so these are drawn in rows that are long, and reshaped.

Likewise, a few numbers for each of many keys (`vmap` over keys) would be short rows too: such a
batch is computed as the last axis from the counters on. What was drawn goes through `drawn_p`,
which stops the compiler there, so that the finished numbers are transposed: 6 times faster.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from covector import lax
from covector._trace.primitive import LINEAR, Primitive
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


def goes_last(size: int, shape: Shape) -> bool:
    """Whether a batch of that size is better computed as the last axis, so that rows are long."""
    return bool(shape) and math.prod(shape) < _SHORT <= size


def _identity(name: str, batched: Callable[[Any, Any, int], Any], **options: Any) -> Primitive:
    """A primitive that gives its operand: what it means is how it is batched, and its name."""
    return Primitive(
        name,
        abstract=lambda aval: aval,
        lower=lambda ctx, args, in_avals, out_avals: list(args),
        jvp=LINEAR,
        transpose=lambda ct, x: [ct],
        batch=lambda axis, args, dims: (batched(axis, args[0], dims[0]), dims[0]),
        **options,
    )


def _batch_drawn(axis: Any, x: Any, dim: int) -> Any:
    """What was drawn with the batch as the last axis is finished so, before it is transposed."""
    shape = typeof(x).shape
    last = dim == len(shape) - 1 and goes_last(axis.size, shape[:-1])
    return lax.optimization_barrier(x) if last else drawn_p.bind(x)


drawn_p = _identity("drawn", _batch_drawn, elementwise=True)

# Its operand stays in one kernel with what is made of it, whatever the fusion fences say: for the
# roundings of fused multiplications and additions are those of `jax.random` only then.
unfenced_p = _identity("unfenced", lambda axis, x, dim: unfenced_p.bind(x))


def from_work_shape(x: Any, shape: Shape) -> Any:
    """The elements in ``shape`` of an array that was computed in the work shape."""
    worked = typeof(x).shape
    if worked == shape:
        return drawn_p.bind(x) if shape else x
    x = lax.optimization_barrier(x)  # else the compiler moves the reshape to where the loop starts
    size, padded = math.prod(shape), math.prod(worked)
    if size < padded:
        x = lax.slice(lax.reshape(x, (padded,)), (0,), (size,))
    return lax.reshape(x, shape)

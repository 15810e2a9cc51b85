"""`argmax` and `argmin`: where the extremum along an axis is.

The compiler's reduction of pairs (value, index) is slow on CPU. Instead the extremum is found by an
ordinary reduction, and then the least index at which it stands. Along a long axis the second
search is limited to one block: the one whose own extremum it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np

from covector import lax
from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector._lower.module import lower_by
from covector._trace.primitive import Primitive
from covector._trace.trace import typeof
from covector.lax._nary import check_kind
from covector.lax.filling import full_of
from covector.lax.reduce import reduce_max, reduce_min, reduced_shape
from covector.lax.shape import broadcast_axes, expand_dims, reshape


def argmax(operand: Any, axis: int, index_dtype: Any) -> Any:
    """The index along ``axis`` of the largest element: the first one, or the first nan.

    Raises:
      ValueError: the axis does not exist, or is empty.
      TypeError: ``index_dtype`` is no integer, or the operand is complex.

    >>> lax.argmax(np.array([1, 3, 3]), 0, np.int32)
    Array(1, dtype=int32)
    """
    return _bind(argmax_p, operand, axis, index_dtype)


def argmin(operand: Any, axis: int, index_dtype: Any) -> Any:
    """The index along ``axis`` of the smallest element: the first one, or the first nan.

    >>> lax.argmin(np.array([1, 3, 3]), 0, np.int32)
    Array(0, dtype=int32)
    """
    return _bind(argmin_p, operand, axis, index_dtype)


def _bind(primitive: Primitive, operand: Any, axis: Any, index_dtype: Any) -> Any:
    dtype = dtypes.canonicalize_dtype(index_dtype)
    return primitive.bind(operand, axis=index(axis), index_dtype=dtype)


# --- lowering ------------------------------------------------------------------------------------

_LONG_AXIS = 256
Reduction = Callable[[Any, tuple[int, ...]], Any]


def _first_place(extremum: Reduction, x: Any, axis: int) -> tuple[Any, Any]:
    """The extremum along ``axis``, and the least index where it is."""
    best = extremum(x, (axis,))
    found = lax.eq(x, broadcast_axes(best, x.shape, (axis,)))
    if dtypes.is_float(x.dtype):  # an extremum that is nan equals nothing
        found = lax.bitwise_or(found, lax.ne(x, x))
    counter = np.dtype(np.int32 if x.shape[axis] < 2**31 else np.int64)
    positions = lax.broadcasted_iota(counter, x.shape, axis)
    beyond = full_of(typeof(positions), x.shape[axis])
    return best, reduce_min(lax.select(found, positions, beyond), (axis,))


def _first_place_by_blocks(extremum: Reduction, x: Any, axis: int) -> tuple[Any, Any]:
    """Find the first block along ``axis`` that has the extremum, then the place in the block."""
    length = x.shape[axis]
    size = _block_size(length)
    count = length // size
    body = lax.slice_in_dim(x, 0, count * size, axis=axis)
    blocks = reshape(body, (*x.shape[:axis], count, size, *x.shape[axis + 1 :]))
    best, block = _first_place(extremum, extremum(blocks, (axis + 1,)), axis)
    _, place = _first_place(extremum, _take_block(blocks, block, axis), axis)
    place = lax.add(lax.mul(block, np.asarray(size).astype(block.dtype)[()]), place)
    if count * size == length:
        return best, place
    rest = lax.slice_in_dim(x, count * size, length, axis=axis)
    rest_best, rest_place = _first_place(extremum, rest, axis)
    rest_place = lax.add(rest_place, np.asarray(count * size).astype(place.dtype)[()])
    together = extremum(lax.stack([best, rest_best], axis), (axis,))
    here = lax.eq(best, together)
    if dtypes.is_float(x.dtype):
        here = lax.bitwise_or(here, lax.ne(best, best))
    return together, lax.select(here, place, rest_place)


def _block_size(length: int) -> int:
    """About the square root, a multiple of 8; a divisor, if there is one nearby."""
    root = -(-math.isqrt(length) // 8) * 8
    return next((n for n in range(root, 4 * root, 8) if length % n == 0), root)


def _take_block(blocks: Any, block: Any, axis: int) -> Any:
    """For each element beside ``axis``, the block of its number (blocks have axis ``axis + 1``)."""
    others = tuple([i for i in range(blocks.ndim) if i not in (axis, axis + 1)])
    numbers = lax.GatherDimensionNumbers(
        offset_dims=(axis,),
        collapsed_slice_dims=(axis,),
        start_index_map=(axis,),
        operand_batching_dims=others,
        start_indices_batching_dims=tuple(range(len(others))),
    )
    sizes = [blocks.shape[i] if i == axis + 1 else 1 for i in range(blocks.ndim)]
    indices = expand_dims(block, (block.ndim,))
    return lax.gather(blocks, indices, numbers, sizes, mode="promise_in_bounds")


def _arg_reduction(name: str, extremum: Reduction) -> Primitive:
    def abstract(aval: ShapedArray, *, axis: int, index_dtype: np.dtype) -> ShapedArray:
        check_kind(name, aval, "fiub")
        if not dtypes.is_integer(index_dtype):
            raise TypeError(f"{name}: index_dtype must be an integer type, got {index_dtype.name}")
        if not 0 <= axis < aval.ndim:
            raise ValueError(f"{name}: invalid axis {axis} for operand shape {aval.shape}")
        if aval.shape[axis] == 0:
            raise ValueError(
                f"{name} needs at least one element along axis {axis}, got operand shape "
                f"{aval.shape}"
            )
        return ShapedArray(reduced_shape(name, aval, (axis,)), index_dtype)

    def place(x: Any, *, axis: int, index_dtype: np.dtype) -> Any:
        long = x.shape[axis] >= _LONG_AXIS
        _, found = (_first_place_by_blocks if long else _first_place)(extremum, x, axis)
        return lax.convert_element_type(found, index_dtype)

    def batch(axis_: Any, args: Any, dims: Any, *, axis: int, index_dtype: Any) -> Any:
        dim = dims[0]
        moved = axis + (axis >= dim)
        out = primitive.bind(args[0], axis=moved, index_dtype=index_dtype)
        return out, dim - (moved < dim)

    primitive = Primitive(
        name, abstract=abstract, lower=lower_by(place), batch=batch, differentiable=False
    )
    return primitive


argmax_p = _arg_reduction("argmax", reduce_max)
argmin_p = _arg_reduction("argmin", reduce_min)

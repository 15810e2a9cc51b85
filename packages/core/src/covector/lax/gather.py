"""`gather`: slices of one size from computed places of an array, in one operation.

What indexing with arrays comes to. `scatter.py` is the opposite, and the transpose.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from covector import lax
from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector._lower.module import lower_by
from covector._lower.stablehlo import int_array, int_list
from covector._trace.primitive import Primitive
from covector._trace.trace import typeof
from covector.lax._axes import int_tuple, shift_axes
from covector.lax._places import GatherDimensionNumbers as GatherDimensionNumbers
from covector.lax._places import GatherScatterMode as GatherScatterMode
from covector.lax._places import (
    ScatterDimensionNumbers,
    as_tuples,
    check_gather_places,
    check_indices,
    last_starts,
    ordered,
)
from covector.lax.filling import zeros_of
from covector.lax.reduce import all_bits, lowest, reduce_and
from covector.lax.shape import broadcast_axes, expand_dims, move_axis

# --- what users call -----------------------------------------------------------------------------


def gather(
    operand: Any,
    start_indices: Any,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: Any = None,
    fill_value: Any = None,
) -> Any:
    """Slices of ``slice_sizes`` from those places of ``operand`` that ``start_indices`` names.

    Args:
      start_indices: integers; the last axis holds the coordinates of one slice.
      dimension_numbers: which axes are which, see `GatherDimensionNumbers`.
      slice_sizes: one for each axis of ``operand``.
      unique_indices, indices_are_sorted: promises that may make it faster.
      mode: a `GatherScatterMode` or its name; in bounds is promised by default.
      fill_value: what ``mode="fill"`` gives out of bounds: by default nan, the least signed or
        the largest unsigned integer, or True.

    Raises:
      TypeError: the dimension numbers do not fit the shapes.
      ValueError: the indices are no integers, or the mode is unknown.

    >>> rows = lax.GatherDimensionNumbers((1,), (0,), (0,))
    >>> lax.gather(np.eye(3, dtype=int), np.array([[2], [0]]), rows, (1, 3))
    Array([[0, 0, 1],
           [1, 0, 0]], dtype=int32)
    """
    mode = GatherScatterMode.PROMISE_IN_BOUNDS if mode is None else GatherScatterMode.from_any(mode)
    dtype = typeof(operand).dtype
    return gather_p.bind(
        operand,
        start_indices,
        dimension_numbers=as_tuples(GatherDimensionNumbers, dimension_numbers),
        fill_value=_fill_parameter(fill_value, mode, dtype),
        indices_are_sorted=bool(indices_are_sorted),
        mode=mode,
        slice_sizes=int_tuple("gather", "slice_sizes", slice_sizes),
        unique_indices=bool(unique_indices),
    )


def _fill_parameter(fill_value: Any, mode: GatherScatterMode, dtype: np.dtype) -> Any:
    """A Python number, or None for the dtype's default."""
    if mode is GatherScatterMode.ONE_HOT:
        return 0
    if mode is not GatherScatterMode.FILL_OR_DROP or fill_value is None:
        return None
    value = np.asarray(fill_value).astype(dtype)
    if value.shape != ():
        raise ValueError(f"gather: fill_value must be a scalar, got shape {value.shape}")
    if dtypes.is_inexact(dtype) and np.isnan(value):
        return None  # nan is the default; it equals nothing, so it is no parameter
    return value.item()


def index_take(src: Any, idxs: Sequence[Any], axes: Sequence[int]) -> Any:
    """The slices of ``src`` at ``idxs[i]`` of axis ``axes[i]``; indices wrap around.

    Args:
      idxs: integer arrays of one shape ``(n,)``.
      axes: as many axes of ``src``; the result lacks them and has a leading axis of size n.

    >>> lax.index_take(np.array([[1, 2], [3, 4]]), (np.array([1, -1]),), (0,))
    Array([[3, 4],
           [3, 4]], dtype=int32)
    """
    axes = int_tuple("index_take", "axes", axes)
    shape = typeof(src).shape
    wrapped = []
    for idx, axis in zip(idxs, axes, strict=True):
        size = np.asarray(max(shape[axis], 1)).astype(typeof(idx).dtype)[()]
        rest = lax.rem(idx, size)
        zero = np.zeros((), size.dtype)[()]
        wrapped.append(lax.select(lax.lt(rest, zero), lax.add(rest, size), rest))
    indices = lax.concatenate([expand_dims(i, (1,)) for i in wrapped], 1)
    numbers = GatherDimensionNumbers(tuple(range(1, len(shape) - len(axes) + 1)), axes, axes)
    sizes = [1 if i in axes else n for i, n in enumerate(shape)]
    return gather(src, indices, numbers, sizes)


# --- types ---------------------------------------------------------------------------------------


def _abstract_gather(
    operand: ShapedArray,
    indices: ShapedArray,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: tuple[int, ...],
    **params: Any,
) -> ShapedArray:
    numbers = dimension_numbers
    check_indices("gather", indices)
    check_gather_places("gather", operand, indices, numbers, slice_sizes)
    removed = (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)
    window = [n for i, n in enumerate(slice_sizes) if i not in removed]
    offset = numbers.offset_dims
    rank = len(offset) + indices.ndim - 1
    if len(window) != len(offset) or list(offset) != sorted(set(offset)):
        raise TypeError(
            f"gather: offset_dims must be {len(window)} axes of the result in increasing order, "
            f"one for each axis of the operand that is not collapsed or batched, got {offset}"
        )
    if any(not 0 <= d < rank for d in offset):
        raise TypeError(
            f"gather: offset_dims must be axes of the result (rank {rank}), got {offset}"
        )
    sizes, batch = iter(window), iter(indices.shape[:-1])
    shape = [next(sizes) if i in offset else next(batch) for i in range(rank)]
    return operand.update(shape=shape)


# --- lowering ------------------------------------------------------------------------------------


def _lower_gather(ctx: Any, args: Any, in_avals: Any, out_avals: Any, **params: Any) -> list[str]:
    if params["mode"] in (GatherScatterMode.FILL_OR_DROP, GatherScatterMode.ONE_HOT):
        return _lower_filled(ctx, args, in_avals, out_avals, **params)
    numbers = params["dimension_numbers"]
    operand, indices = args
    indices, indices_aval = wide_indices(ctx, indices, in_avals[1])
    fields = {
        "offset_dims": numbers.offset_dims,
        "collapsed_slice_dims": numbers.collapsed_slice_dims,
        "operand_batching_dims": numbers.operand_batching_dims,
        "start_indices_batching_dims": numbers.start_indices_batching_dims,
        "start_index_map": numbers.start_index_map,
    }
    attributes = (
        f"dimension_numbers = #stablehlo.gather<{dimension_fields(fields, indices_aval)}>, "
        f"indices_are_sorted = {str(params['indices_are_sorted']).lower()}, "
        f"slice_sizes = {int_array(params['slice_sizes'])}"
    )
    return ctx.emit(
        f'"stablehlo.gather"({operand}, {indices}) <{{{attributes}}}> : '
        f"({in_avals[0].mlir}, {indices_aval.mlir}) -> {out_avals[0].mlir}"
    )


def dimension_fields(fields: dict[str, Sequence[int]], indices: ShapedArray) -> str:
    """The inside of ``#stablehlo.gather<...>``: those lists that are not empty."""
    texts = [f"{name} = {int_list(axes)}" for name, axes in fields.items() if axes]
    return ", ".join([*texts, f"index_vector_dim = {indices.ndim - 1}"])


def wide_indices(ctx: Any, name: str, aval: ShapedArray) -> tuple[str, ShapedArray]:
    """Indices of at least 32 bits: narrower ones cannot hold the bounds that they are held to."""
    if aval.dtype.itemsize >= 4:
        return name, aval
    wide = aval.update(dtype=np.int32)
    return ctx.convert(name, aval, wide), wide


def _filled(operand: Any, indices: Any, **params: Any) -> Any:
    """Gather from clamped places, then put the fill value where a slice was out of bounds."""
    numbers = params["dimension_numbers"]
    fill_value = params["fill_value"]
    clamped = {**params, "mode": GatherScatterMode.CLIP, "fill_value": None}
    out = gather_p.bind(operand, indices, **clamped)
    inside = places_in_bounds(
        indices, operand.shape, numbers.start_index_map, params["slice_sizes"]
    )
    if fill_value is None:
        fill_value = default_fill(operand.dtype)
    filler = lax.full_like(out, np.asarray(fill_value).astype(operand.dtype)[()])
    return lax.select(broadcast_axes(inside, out.shape, numbers.offset_dims), out, filler)


_lower_filled = lower_by(_filled)


def default_fill(dtype: np.dtype) -> Any:
    """What a gather gives out of bounds."""
    if dtypes.is_inexact(dtype):
        return np.nan
    return lowest(dtype) if dtypes.is_signed(dtype) else all_bits(dtype)


def places_in_bounds(
    indices: Any, shape: Sequence[int], start_index_map: Sequence[int], window: Sequence[int]
) -> Any:
    """For each slice, whether it lies within an operand of ``shape``."""
    if indices.dtype.itemsize < 4:
        indices = lax.convert_element_type(indices, np.int32)
    limits = last_starts(shape, start_index_map, window, indices.dtype)
    limits = broadcast_axes(limits, indices.shape, range(indices.ndim - 1))
    inside = lax.le(indices, limits)
    if not dtypes.is_unsigned(indices.dtype):
        inside = lax.bitwise_and(inside, lax.ge(indices, zeros_of(typeof(indices))))
    return reduce_and(inside, (indices.ndim - 1,))


# --- derivative, transpose, batching -------------------------------------------------------------


def _jvp_gather(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
    operand, indices = primals
    out = gather_p.bind(operand, indices, **params)
    if tangents[0] is None:
        return out, None
    zero = 0 if params["mode"] is GatherScatterMode.FILL_OR_DROP else params["fill_value"]
    return out, gather_p.bind(tangents[0], indices, **{**params, "fill_value": zero})


def _transpose_gather(
    ct: Any,
    operand: Any,
    indices: Any,
    *,
    dimension_numbers: GatherDimensionNumbers,
    mode: GatherScatterMode,
    indices_are_sorted: bool,
    unique_indices: bool,
    **params: Any,
) -> list[Any]:
    from covector.lax.scatter import scatter_add

    whole = scatter_add(
        zeros_of(operand.aval.tangent),
        indices,
        ct,
        ScatterDimensionNumbers(*dimension_numbers),
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
        mode=mode,
    )
    return [whole, None]


def _batch_gather(
    axis: Any,
    args: Any,
    dims: Any,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: tuple[int, ...],
    **params: Any,
) -> tuple[Any, int]:
    """The batch axis comes first in what has one, and in the result."""
    operand, indices = [
        x if d is None else move_axis(x, d, 0) for x, d in zip(args, dims, strict=True)
    ]
    numbers = dimension_numbers
    offset = shift_axes(numbers.offset_dims, 0)
    if dims[0] is not None:
        numbers = numbers._replace(
            collapsed_slice_dims=shift_axes(numbers.collapsed_slice_dims, 0),
            start_index_map=shift_axes(numbers.start_index_map, 0),
            operand_batching_dims=shift_axes(numbers.operand_batching_dims, 0),
        )
        slice_sizes = (axis.size if dims[1] is None else min(1, axis.size), *slice_sizes)
    if dims[1] is not None:
        batching = shift_axes(numbers.start_indices_batching_dims, 0)
        numbers = numbers._replace(start_indices_batching_dims=batching)
    if dims[1] is None:
        offset = (0, *offset)
    elif dims[0] is not None:
        numbers = numbers._replace(
            operand_batching_dims=(0, *numbers.operand_batching_dims),
            start_indices_batching_dims=(0, *numbers.start_indices_batching_dims),
        )
    numbers = numbers._replace(offset_dims=offset)
    params = ordered({**params, "dimension_numbers": numbers, "slice_sizes": slice_sizes})
    return gather_p.bind(operand, indices, **params), 0


gather_p = Primitive(
    "gather",
    abstract=_abstract_gather,
    lower=_lower_gather,
    jvp=_jvp_gather,
    transpose=_transpose_gather,
    batch=_batch_gather,
)


def batched_dynamic_slice(
    axis: Any,
    operand: Any,
    starts: Sequence[Any],
    dim: int | None,
    start_dims: Sequence[int | None],
    slice_sizes: tuple[int, ...],
) -> tuple[Any, int]:
    """A `dynamic_slice` with starts of its own for each element of a batch."""
    indices = batched_starts(axis, starts, start_dims)
    shift = 0 if dim is None else 1
    axes = tuple(range(shift, shift + len(starts)))
    numbers = GatherDimensionNumbers(
        offset_dims=tuple(range(1, len(starts) + 1)),
        collapsed_slice_dims=(),
        start_index_map=axes,
        operand_batching_dims=(0,) * shift,
        start_indices_batching_dims=(0,) * shift,
    )
    if dim is not None:
        operand = move_axis(operand, dim, 0)
    sizes = (min(1, axis.size),) * shift + tuple(slice_sizes)
    out = gather(
        operand,
        indices,
        numbers,
        sizes,
        indices_are_sorted=True,
        unique_indices=True,
        mode=GatherScatterMode.CLIP,
    )
    return out, 0


def batched_starts(axis: Any, starts: Sequence[Any], dims: Sequence[int | None]) -> Any:
    """One row of coordinates for each element of the batch."""
    columns = [
        lax.broadcast_in_dim(s, (axis.size, 1), () if d is None else (0,))
        for s, d in zip(starts, dims, strict=True)
    ]
    return lax.concatenate(columns, 1)

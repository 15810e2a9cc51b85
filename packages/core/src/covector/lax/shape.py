"""Operations that move elements without changing them: broadcast, reshape, transpose, rev, ...

Read next: `joining.py` (concatenate, pad, stack, split), `filling.py` (iota, full).
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from covector._ir.avals import ShapedArray
from covector._lower.stablehlo import int_list
from covector._trace.primitive import LINEAR, Primitive
from covector._trace.trace import typeof
from covector.errors import ShapeError
from covector.lax._axes import (
    canonical_axes,
    insert,
    int_tuple,
    shift_axes,
    sizes_of,
)
from covector.lax.filling import full_of as full_of
from covector.lax.filling import place
from covector.lax.filling import zeros_of as zeros_of

# --- broadcast_in_dim --------------------------------------------------------------------------


def broadcast_in_dim(
    operand: Any,
    shape: Sequence[int],
    broadcast_dimensions: Sequence[int],
    *,
    out_sharding: Any = None,
) -> Any:
    """Repeat ``operand`` along new axes: its axis i becomes axis ``broadcast_dimensions[i]``.

    Args:
      shape: of the result. An axis of size 1 may be stretched.
      broadcast_dimensions: strictly increasing, one for each axis of ``operand``.

    Raises:
      TypeError: the axes do not fit ``shape``.

    >>> lax.broadcast_in_dim(np.arange(2), (3, 2), (1,))
    Array([[0, 1],
           [0, 1],
           [0, 1]], dtype=int32)
    """
    shape = sizes_of("broadcast_in_dim", "shape", shape)
    dims = int_tuple("broadcast_in_dim", "broadcast_dimensions", broadcast_dimensions)
    if _unchanged(operand, shape) and dims == tuple(range(len(shape))):
        return place(operand, out_sharding)
    out = broadcast_in_dim_p.bind(operand, shape=shape, broadcast_dimensions=dims)
    return place(out, out_sharding)


def _unchanged(operand: Any, shape: tuple[int, ...]) -> bool:
    """Whether ``operand`` is an array or tracer that has ``shape`` already."""
    return hasattr(operand, "aval") and operand.aval.shape == shape


def _abstract_broadcast(
    aval: ShapedArray, *, shape: tuple[int, ...], broadcast_dimensions: tuple[int, ...]
) -> ShapedArray:
    dims = broadcast_dimensions
    if len(dims) != aval.ndim:
        raise TypeError(
            f"broadcast_in_dim: broadcast_dimensions must name one result axis for each of the "
            f"operand's {aval.ndim} axes, got {dims}"
        )
    increasing = all(a < b for a, b in pairwise(dims))
    if not increasing or not all(0 <= d < len(shape) for d in dims):
        raise TypeError(
            f"broadcast_in_dim: broadcast_dimensions must be strictly increasing axes of the "
            f"result shape {shape}, got {dims}"
        )
    for size, d in zip(aval.shape, dims, strict=True):
        if size not in (1, shape[d]):
            raise TypeError(
                f"broadcast_in_dim: operand axis of size {size} cannot become axis {d} of the "
                f"result shape {shape} (operand shape {aval.shape}, broadcast_dimensions {dims})"
            )
    return aval.update(shape=shape)


def _lower_broadcast(
    ctx: Any, args: Any, in_avals: Any, out_avals: Any, *, shape: Any, broadcast_dimensions: Any
) -> list[str]:
    return [ctx.broadcast(args[0], in_avals[0], out_avals[0], broadcast_dimensions)]


def _transpose_broadcast(ct: Any, x: Any, *, shape: Any, broadcast_dimensions: Any) -> list[Any]:
    from covector.lax.reduce import reduce_sum

    kept = [d for d, n in zip(broadcast_dimensions, x.shape, strict=True) if n == shape[d]]
    return [reshape(reduce_sum(ct, [d for d in range(len(shape)) if d not in kept]), x.shape)]


def _batch_broadcast(
    axis: Any, args: Any, dims: Any, *, shape: Any, broadcast_dimensions: Any
) -> tuple[Any, int]:
    dim = dims[0]
    to = broadcast_dimensions[dim - 1] + 1 if dim else 0
    new_dims = insert([d + (d >= to) for d in broadcast_dimensions], dim, to)
    return broadcast_in_dim(args[0], insert(shape, to, axis.size), new_dims), to


broadcast_in_dim_p = Primitive(
    "broadcast_in_dim",
    abstract=_abstract_broadcast,
    lower=_lower_broadcast,
    jvp=LINEAR,
    transpose=_transpose_broadcast,
    batch=_batch_broadcast,
    elementwise=True,
)


def broadcast(operand: Any, sizes: Sequence[int], *, out_sharding: Any = None) -> Any:
    """Repeat ``operand`` along new leading axes of ``sizes``.

    >>> lax.broadcast(1.0, (2, 3)).shape
    (2, 3)
    """
    sizes = sizes_of("broadcast", "sizes", sizes)
    shape = typeof(operand).shape
    dims = range(len(sizes), len(sizes) + len(shape))
    return broadcast_in_dim(operand, (*sizes, *shape), tuple(dims), out_sharding=out_sharding)


def broadcast_to_rank(x: Any, rank: int) -> Any:
    """Prepend axes of size 1 to ``x`` until it has ``rank`` axes.

    >>> lax.broadcast_to_rank(np.ones((2, 3)), 4).shape
    (1, 1, 2, 3)
    """
    missing = builtins.max(0, rank - typeof(x).ndim)
    return expand_dims(x, tuple(range(missing)))


def broadcast_like(arr: Any, like_arr: Any) -> Any:
    """Broadcast ``arr`` to the shape of ``like_arr``, by NumPy's rules.

    Raises:
      ValueError: the shapes do not fit.

    >>> lax.broadcast_like(1.0, np.ones((2, 3))).shape
    (2, 3)
    """
    shape, target = typeof(arr).shape, typeof(like_arr).shape
    first = len(target) - len(shape)
    fits = first >= 0 and all(n in (1, m) for n, m in zip(shape, target[first:], strict=True))
    if not fits:
        raise ShapeError(f"broadcast_like: arr of shape {shape} cannot become of shape {target}")
    return broadcast_in_dim(arr, target, tuple(range(first, len(target))))


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that arrays of ``shapes`` have when broadcast against each other.

    Raises:
      ValueError: two shapes have different sizes, neither of them 1, in one place.

    >>> lax.broadcast_shapes((2, 1), (3,), ())
    (2, 3)
    """
    shapes = tuple([sizes_of("broadcast_shapes", "each shape", s) for s in shapes])
    rank = builtins.max([len(s) for s in shapes], default=0)
    padded = [(1,) * (rank - len(s)) + s for s in shapes]
    result = []
    for sizes in zip(*padded, strict=True):
        distinct = set(sizes) - {1}
        if len(distinct) > 1:
            raise ShapeError(
                f"Incompatible shapes for broadcasting: {', '.join(map(str, shapes))}: in each "
                "place, counted from the back, sizes must be equal or 1."
            )
        result.append(distinct.pop() if distinct else 1)
    return tuple(result)


# --- reshape -------------------------------------------------------------------------------------


def reshape(
    operand: Any,
    new_sizes: Sequence[int],
    dimensions: Sequence[int] | None = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """``operand``'s elements, in row-major order, in another shape.

    Args:
      new_sizes: of the result; their product must be the operand's size.
      dimensions: an order of the operand's axes, to transpose to before.

    Raises:
      TypeError: the sizes differ, or ``dimensions`` is no order of the axes.

    >>> lax.reshape(np.arange(6), (2, 3))
    Array([[0, 1, 2],
           [3, 4, 5]], dtype=int32)
    """
    new_sizes = int_tuple("reshape", "new_sizes", new_sizes)
    if dimensions is not None:
        operand = transpose(operand, dimensions)
    if _unchanged(operand, new_sizes):
        return place(operand, out_sharding)
    return place(reshape_p.bind(operand, new_sizes=new_sizes), out_sharding)


def _abstract_reshape(aval: ShapedArray, *, new_sizes: tuple[int, ...]) -> ShapedArray:
    if any(n < 0 for n in new_sizes) or math.prod(new_sizes) != aval.size:
        raise ShapeError(
            f"cannot reshape array of shape {aval.shape} (size {aval.size}) into shape {new_sizes} "
            f"(size {math.prod(new_sizes)})"
        )
    return aval.update(shape=new_sizes)


def _batch_reshape(axis: Any, args: Any, dims: Any, *, new_sizes: Any) -> tuple[Any, int]:
    """Leave the batch axis where it is, if the axes before it keep their elements."""
    shape = typeof(args[0]).shape
    before = math.prod(shape[: dims[0]])
    places = [k for k in range(len(new_sizes) + 1) if math.prod(new_sizes[:k]) == before]
    if not places or 0 in shape:
        return reshape(move_axis(args[0], dims[0], 0), (axis.size, *new_sizes)), 0
    return reshape(args[0], insert(new_sizes, places[0], axis.size)), places[0]


reshape_p = Primitive(
    "reshape",
    abstract=_abstract_reshape,
    lower=lambda ctx, args, in_avals, out_avals, **params: ctx.typed(
        "reshape", args, in_avals, out_avals
    ),
    jvp=LINEAR,
    transpose=lambda ct, x, *, new_sizes: [reshape(ct, x.shape)],
    batch=_batch_reshape,
    elementwise=True,
)


def collapse(operand: Any, start_dimension: int, stop_dimension: int | None = None) -> Any:
    """Merge the axes from ``start_dimension`` to before ``stop_dimension`` into one.

    Raises:
      ValueError: the range is reversed.

    >>> lax.collapse(np.ones((2, 3, 4)), 1, 3).shape
    (2, 12)
    """
    shape = typeof(operand).shape
    start, stop, _ = builtins.slice(start_dimension, stop_dimension).indices(len(shape))
    if stop < start:
        raise ValueError(
            f"collapse: the axes from {start_dimension} to before {stop_dimension} of an array of "
            f"shape {shape} are no range"
        )
    return reshape(operand, (*shape[:start], math.prod(shape[start:stop]), *shape[stop:]))


# --- squeeze and expand_dims ---------------------------------------------------------------------


def squeeze(array: Any, dimensions: Sequence[int]) -> Any:
    """``array`` without the axes ``dimensions``, which must be of size 1.

    Raises:
      ValueError: an axis does not exist, is named twice, or has another size.

    >>> lax.squeeze(np.ones((1, 2, 1)), (0, -1)).shape
    (2,)
    """
    dimensions = canonical_axes("squeeze", dimensions, typeof(array).ndim)
    if not dimensions and hasattr(array, "aval"):
        return array
    return squeeze_p.bind(array, dimensions=tuple(sorted(dimensions)))


def _abstract_squeeze(aval: ShapedArray, *, dimensions: tuple[int, ...]) -> ShapedArray:
    if any(aval.shape[d] != 1 for d in dimensions):
        raise ValueError(
            "cannot select an axis to squeeze out which has size not equal to one, got "
            f"shape={aval.shape} and dimensions={dimensions}"
        )
    return aval.update(shape=_without(aval.shape, dimensions))


def _without(values: Sequence[int], positions: Sequence[int]) -> tuple[int, ...]:
    return tuple([v for i, v in enumerate(values) if i not in positions])


def _batch_squeeze(axis: Any, args: Any, dims: Any, *, dimensions: Any) -> tuple[Any, int]:
    moved = shift_axes(dimensions, dims[0])
    return squeeze(args[0], moved), dims[0] - sum(d < dims[0] for d in moved)


squeeze_p = Primitive(
    "squeeze",
    abstract=_abstract_squeeze,
    lower=lambda ctx, args, in_avals, out_avals, **params: ctx.typed(
        "reshape", args, in_avals, out_avals
    ),
    jvp=LINEAR,
    transpose=lambda ct, x, *, dimensions: [reshape(ct, x.shape)],
    batch=_batch_squeeze,
    elementwise=True,
)


def expand_dims(array: Any, dimensions: Sequence[int]) -> Any:
    """``array`` with new axes of size 1, at ``dimensions`` of the result.

    Raises:
      ValueError: an axis is out of bounds or named twice.

    >>> lax.expand_dims(np.ones(3), (0, -1)).shape
    (1, 3, 1)
    """
    shape = typeof(array).shape
    dimensions = tuple(dimensions)
    new = canonical_axes("expand_dims", dimensions, len(shape) + len(dimensions))
    kept = [i for i in range(len(shape) + len(new)) if i not in new]
    result = [1] * (len(shape) + len(new))
    for i, n in zip(kept, shape, strict=True):
        result[i] = n
    return broadcast_in_dim(array, result, kept)


# --- transpose and rev ---------------------------------------------------------------------------


def transpose(operand: Any, permutation: Sequence[int]) -> Any:
    """``operand`` with its axes in another order: axis i of the result is ``permutation[i]``.

    Raises:
      TypeError: ``permutation`` is no order of the axes.

    >>> lax.transpose(np.ones((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    permutation = int_tuple("transpose", "permutation", permutation)
    if hasattr(operand, "aval") and permutation == tuple(range(operand.aval.ndim)):
        return operand
    return transpose_p.bind(operand, permutation=permutation)


def _abstract_transpose(aval: ShapedArray, *, permutation: tuple[int, ...]) -> ShapedArray:
    if sorted(permutation) != list(range(aval.ndim)):
        raise TypeError(
            f"transpose: permutation must be an order of the axes of the operand, which has shape "
            f"{aval.shape}, got {permutation}"
        )
    return aval.update(shape=tuple([aval.shape[i] for i in permutation]))


def _batch_transpose(axis: Any, args: Any, dims: Any, *, permutation: Any) -> tuple[Any, int]:
    order = (dims[0], *shift_axes(permutation, dims[0]))
    return transpose(args[0], order), 0


transpose_p = Primitive(
    "transpose",
    abstract=_abstract_transpose,
    lower=lambda ctx, args, in_avals, out_avals, *, permutation: ctx.typed(
        "transpose", args, in_avals, out_avals, f"dims = {int_list(permutation)}"
    ),
    jvp=LINEAR,
    transpose=lambda ct, x, *, permutation: [
        transpose(ct, [int(i) for i in np.argsort(permutation)])
    ],
    batch=_batch_transpose,
)


def rev(operand: Any, dimensions: Sequence[int]) -> Any:
    """``operand`` in reverse order along ``dimensions``.

    Raises:
      TypeError: an axis is negative, out of bounds, or named twice.

    >>> lax.rev(np.arange(3), (0,))
    Array([2, 1, 0], dtype=int32)
    """
    return rev_p.bind(operand, dimensions=int_tuple("rev", "dimensions", dimensions))


def _abstract_rev(aval: ShapedArray, *, dimensions: tuple[int, ...]) -> ShapedArray:
    if len(set(dimensions)) != len(dimensions) or any(not 0 <= d < aval.ndim for d in dimensions):
        raise TypeError(
            f"rev: dimensions must be distinct axes of the operand, nonnegative and less than "
            f"{aval.ndim}, got {dimensions}"
        )
    return aval


rev_p = Primitive(
    "rev",
    abstract=_abstract_rev,
    lower=lambda ctx, args, in_avals, out_avals, *, dimensions: (
        ctx.emit(
            f"stablehlo.reverse {args[0]}, dims = {int_list(dimensions)} : {out_avals[0].mlir}"
        )
        if dimensions
        else args
    ),
    jvp=LINEAR,
    transpose=lambda ct, x, *, dimensions: [rev(ct, dimensions)],
    batch=lambda axis, args, dims, *, dimensions: (
        rev(args[0], shift_axes(dimensions, dims[0])),
        dims[0],
    ),
)


# --- for the transformations' and other rules' use -----------------------------------------------


def move_axis(x: Any, source: int, destination: int) -> Any:
    """``x`` with axis ``source`` moved to ``destination``."""
    order = [i for i in range(typeof(x).ndim) if i != source]
    order.insert(destination, source)
    return transpose(x, order)


def broadcast_new_axis(x: Any, size: int, position: int) -> Any:
    """``x`` repeated along a new axis of ``size`` at ``position``."""
    shape = insert(typeof(x).shape, position, size)
    dims = [i for i in range(len(shape)) if i != position]
    return broadcast_in_dim(x, shape, dims)


def broadcast_axes(x: Any, shape: Sequence[int], axes: Sequence[int]) -> Any:
    """``x``, from which ``axes`` of ``shape`` are missing, repeated along them."""
    return broadcast_in_dim(x, shape, [i for i in range(len(shape)) if i not in axes])

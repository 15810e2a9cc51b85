"""Operations that put arrays together and take them apart: concatenate, pad, stack, split, tile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from covector import lax
from covector._ir.avals import ShapedArray
from covector._lower.stablehlo import int_list
from covector._trace.primitive import LINEAR, Linear, Primitive
from covector._trace.trace import EVAL, current_trace_state, typeof
from covector._transform.batch import move_batch_axis
from covector.errors import ShapeError
from covector.lax._axes import (
    canonical_axis,
    common_batch_axis,
    insert,
    int_tuple,
    sizes_of,
)
from covector.lax._nary import check_same_dtype
from covector.lax.filling import full_of, zeros_of
from covector.lax.reduce import reduce_sum
from covector.lax.shape import broadcast_in_dim, reshape
from covector.lax.slicing import slice as slice_
from covector.lax.slicing import slice_in_dim

# --- concatenate ---------------------------------------------------------------------------------


def concatenate(operands: Any, dimension: int) -> Any:
    """Join arrays along axis ``dimension``.

    Args:
      operands: a non-empty sequence of arrays of one dtype, of equal shapes but for that axis.

    Raises:
      ValueError: there is no operand.
      TypeError: dtypes, ranks or shapes differ, or there is no such axis.

    >>> lax.concatenate([np.arange(2), np.arange(3)], 0)
    Array([0, 1, 0, 1, 2], dtype=int32)
    """
    operands = list(operands)
    if not operands:
        raise ValueError("concatenate: expected a non-empty sequence of arrays")
    if len(operands) == 1 and hasattr(operands[0], "aval"):
        return operands[0]
    return concatenate_p.bind(*operands, dimension=int(dimension))


def _abstract_concatenate(*avals: ShapedArray, dimension: int) -> ShapedArray:
    shapes = [a.shape for a in avals]
    listed = ", ".join(map(str, shapes))
    if len({len(s) for s in shapes}) > 1:
        raise TypeError(
            f"Cannot concatenate arrays with different numbers of dimensions: got {listed}."
        )
    if not 0 <= dimension < len(shapes[0]):
        raise TypeError(f"concatenate: dimension {dimension} out of bounds for shapes {listed}")
    if len({(*s[:dimension], *s[dimension + 1 :]) for s in shapes}) > 1:
        raise TypeError(
            "Cannot concatenate arrays with shapes that differ in dimensions other than the one "
            f"being concatenated: concatenating along dimension {dimension} for shapes {listed}."
        )
    check_same_dtype("concatenate", avals)
    shape = list(shapes[0])
    shape[dimension] = sum(s[dimension] for s in shapes)
    return ShapedArray(shape, avals[0].dtype, all(a.weak_type for a in avals))


def _transpose_concatenate(ct: Any, *args: Any, dimension: int) -> list[Any]:
    results: list[Any] = []
    offset = 0
    for x in args:
        size = (x if isinstance(x, Linear) else typeof(x)).shape[dimension]
        part = slice_in_dim(ct, offset, offset + size, axis=dimension)
        results.append(part if isinstance(x, Linear) else None)
        offset += size
    return results


def _batch_concatenate(axis: Any, args: Any, dims: Any, *, dimension: int) -> tuple[Any, int]:
    to = common_batch_axis(dims)
    moved = [move_batch_axis(x, axis.size, d, to) for x, d in zip(args, dims, strict=True)]
    return concatenate(moved, dimension + (dimension >= to)), to


concatenate_p = Primitive(
    "concatenate",
    abstract=_abstract_concatenate,
    lower=lambda ctx, args, in_avals, out_avals, *, dimension: ctx.typed(
        "concatenate", args, in_avals, out_avals, f"dim = {dimension}"
    ),
    jvp=LINEAR,
    transpose=_transpose_concatenate,
    batch=_batch_concatenate,
)


# --- pad -----------------------------------------------------------------------------------------


def pad(operand: Any, padding_value: Any, padding_config: Any) -> Any:
    """Put ``padding_value`` before, after and between the elements of ``operand``.

    Args:
      padding_value: a scalar of the operand's dtype.
      padding_config: for each axis ``(low, high, interior)``: how many values go before the first
        element, after the last, and between neighbours. A negative ``low`` or ``high`` cuts.

    Raises:
      TypeError: the dtypes differ.
      ValueError: ``padding_config`` does not fit the operand.

    >>> lax.pad(np.array([1, 2]), np.int32(0), [(1, -1, 2)])
    Array([0, 1, 0, 0], dtype=int32)
    """
    config = tuple([int_tuple("pad", "padding_config", entry) for entry in padding_config])
    return pad_p.bind(operand, padding_value, padding_config=config)


def _abstract_pad(aval: ShapedArray, value: ShapedArray, *, padding_config: Any) -> ShapedArray:
    if aval.dtype != value.dtype:
        raise TypeError(
            f"pad: operand and padding_value must have the same dtype, got {aval.dtype.name} and "
            f"{value.dtype.name}."
        )
    if value.shape != ():
        raise ValueError(f"pad: padding_value must be a scalar, got shape {value.shape}")
    if len(padding_config) != aval.ndim or any(len(entry) != 3 for entry in padding_config):
        raise ValueError(
            "pad: padding_config must hold (low, high, interior) for each axis of operand, got "
            f"{padding_config} for operand shape {aval.shape}"
        )
    if any(interior < 0 for _, _, interior in padding_config):
        raise ValueError(f"pad: interior padding must be nonnegative, got {padding_config}")
    shape = tuple(
        [
            low + high + n + max(0, n - 1) * interior
            for n, (low, high, interior) in zip(aval.shape, padding_config, strict=True)
        ]
    )
    if any(n < 0 for n in shape):
        raise ValueError(
            f"pad: an axis would have negative size: {shape}, for padding_config {padding_config} "
            f"and operand shape {aval.shape}"
        )
    return ShapedArray(shape, aval.dtype, aval.weak_type and value.weak_type)


def _lower_pad(
    ctx: Any, args: Any, in_avals: Any, out_avals: Any, *, padding_config: Any
) -> list[str]:
    low, high, interior = zip(*padding_config, strict=True) if padding_config else ((), (), ())
    if not any(low) and not any(high) and in_avals[0].shape == out_avals[0].shape:
        return args[:1]
    attributes = f"low = {int_list(low)}, high = {int_list(high)}, interior = {int_list(interior)}"
    return ctx.typed("pad", args, in_avals, out_avals, attributes)


def _transpose_pad(ct: Any, operand: Any, value: Any, *, padding_config: Any) -> list[Any]:
    ct_operand = ct_value = None
    if isinstance(operand, Linear):
        ct_operand = unpad(ct, operand.shape, padding_config)
    if isinstance(value, Linear):
        shape = operand.shape if isinstance(operand, Linear) else typeof(operand).shape
        inside = _inside(shape, padding_config)
        outside_only = lax.select(inside, zeros_of(typeof(ct)), ct)
        ct_value = reduce_sum(outside_only, range(outside_only.ndim))
    return [ct_operand, ct_value]


def unpad(x: Any, shape: tuple[int, ...], padding_config: Any) -> Any:
    """The elements of ``x`` at the places where `pad` puts its operand's (0 for those it cuts)."""
    uncut = tuple([(-low, -high, 0) for low, high, _ in padding_config])
    x = pad(x, _zero(x), uncut)
    return slice_(x, (0,) * len(shape), x.shape, tuple([i + 1 for _, _, i in padding_config]))


def _zero(x: Any) -> Any:
    return np.zeros((), typeof(x).dtype)[()]


def _inside(shape: tuple[int, ...], padding_config: Any) -> Any:
    """Where the elements of a padded operand are."""
    ones = full_of(ShapedArray(shape, np.bool_), True)
    return pad_p.bind(ones, np.False_, padding_config=padding_config)


def _batch_pad(axis: Any, args: Any, dims: Any, *, padding_config: Any) -> tuple[Any, int]:
    operand, value = args
    dim = 0 if dims[0] is None else dims[0]
    operand = move_batch_axis(operand, axis.size, dims[0], dim)
    config = insert(padding_config, dim, (0, 0, 0))
    if dims[1] is None:
        return pad(operand, value, config), dim
    padded = pad(operand, _zero(operand), config)
    values = broadcast_in_dim(value, padded.shape, (dim,))
    return lax.select(_inside(operand.shape, config), padded, values), dim


pad_p = Primitive(
    "pad",
    abstract=_abstract_pad,
    lower=_lower_pad,
    jvp=LINEAR,
    transpose=_transpose_pad,
    batch=_batch_pad,
)


# --- split ---------------------------------------------------------------------------------------


def split(operand: Any, sizes: Sequence[int], axis: int = 0) -> list[Any]:
    """Cut ``operand`` along ``axis`` into consecutive parts of ``sizes``.

    Raises:
      ValueError: the sizes are negative or do not add up to the axis' size.

    >>> [part.shape for part in lax.split(np.ones((2, 5)), (2, 3), axis=1)]
    [(2, 2), (2, 3)]
    """
    shape = typeof(operand).shape
    axis = canonical_axis("split", axis, len(shape))
    sizes = sizes_of("split", "sizes", sizes)
    if sum(sizes) != shape[axis]:
        raise ValueError(
            f"split: the sizes must add up to {shape[axis]}, the size of axis {axis} of the "
            f"operand's shape {shape}, got {sizes} (sum {sum(sizes)})"
        )
    if len(sizes) == 1 and hasattr(operand, "aval"):
        return [operand]
    return list(split_p.bind(operand, sizes=sizes, axis=axis))


def _abstract_split(aval: ShapedArray, *, sizes: tuple[int, ...], axis: int) -> list[ShapedArray]:
    return [aval.update(shape=(*aval.shape[:axis], n, *aval.shape[axis + 1 :])) for n in sizes]


def _lower_split(
    ctx: Any, args: Any, in_avals: Any, out_avals: Any, *, sizes: Any, axis: int
) -> list[str]:
    names, offset = [], 0
    for size, out in zip(sizes, out_avals, strict=True):
        names.append(_slice_line(ctx, args[0], in_avals[0], out, axis, offset))
        offset += size
    return names


def _slice_line(
    ctx: Any, name: str, aval: ShapedArray, out: ShapedArray, axis: int, start: int
) -> str:
    bounds = [f"0:{n}" for n in aval.shape]
    bounds[axis] = f"{start}:{start + out.shape[axis]}"
    return ctx.emit(f"stablehlo.slice {name} [{', '.join(bounds)}] : ({aval.mlir}) -> {out.mlir}")[
        0
    ]


def _with_zeros(cts: list[Any], avals: Sequence[ShapedArray]) -> list[Any]:
    return [zeros_of(a) if ct is None else ct for ct, a in zip(cts, avals, strict=True)]


def _batch_split(batch: Any, args: Any, dims: Any, *, sizes: Any, axis: int) -> Any:
    dim = dims[0]
    outs = split_p.bind(args[0], sizes=sizes, axis=axis + (axis >= dim))
    return outs, [dim] * len(outs)


split_p = Primitive(
    "split",
    abstract=_abstract_split,
    lower=_lower_split,
    jvp=LINEAR,
    transpose=lambda cts, x, *, sizes, axis: [
        concatenate(_with_zeros(cts, _abstract_split(x.aval.tangent, sizes=sizes, axis=axis)), axis)
    ],
    batch=_batch_split,
    multiple_results=True,
)


# --- unstack -------------------------------------------------------------------------------------

_CHUNK = 32  # rows taken apart by one program: each takes a while to compile


def unstack(x: Any, axis: int = 0) -> tuple[Any, ...]:
    """The elements of ``x`` along ``axis``, as a tuple of arrays without that axis.

    >>> lax.unstack(np.array([[1, 2], [3, 4]]))
    (Array([1, 2], dtype=int32), Array([3, 4], dtype=int32))
    """
    shape = typeof(x).shape
    axis = canonical_axis("unstack", axis, len(shape))
    size = shape[axis]
    if size == 0:
        return ()
    if size > 4 and current_trace_state.value is EVAL:
        return tuple([lax.dynamic_index_in_dim(x, np.int32(i), axis, False) for i in range(size)])
    if size > 2 * _CHUNK:
        return _unstack_in_chunks(x, axis, size)
    return tuple(unstack_p.bind(x, axis=axis))


def _unstack_in_chunks(x: Any, axis: int, size: int) -> tuple[Any, ...]:
    parts: list[Any] = []
    for start in range(0, size - _CHUNK + 1, _CHUNK):
        chunk = lax.dynamic_slice_in_dim(x, np.int32(start), _CHUNK, axis)
        parts += unstack_p.bind(chunk, axis=axis)
    rest = size % _CHUNK
    if rest:
        parts += unstack_p.bind(slice_in_dim(x, size - rest, size, axis=axis), axis=axis)
    return tuple(parts)


def _abstract_unstack(aval: ShapedArray, *, axis: int) -> list[ShapedArray]:
    part = aval.update(shape=(*aval.shape[:axis], *aval.shape[axis + 1 :]))
    return [part] * aval.shape[axis]


def _lower_unstack(ctx: Any, args: Any, in_avals: Any, out_avals: Any, *, axis: int) -> list[str]:
    aval = in_avals[0]
    row = aval.update(shape=(*aval.shape[:axis], 1, *aval.shape[axis + 1 :]))
    names = []
    for i, out in enumerate(out_avals):
        name = _slice_line(ctx, args[0], aval, row, axis, i)
        names += ctx.typed("reshape", [name], [row], [out])
    return names


def _batch_unstack(batch: Any, args: Any, dims: Any, *, axis: int) -> Any:
    dim = dims[0]
    outs = unstack_p.bind(args[0], axis=axis + (axis >= dim))
    return outs, [dim - (axis < dim)] * len(outs)


unstack_p = Primitive(
    "unstack",
    abstract=_abstract_unstack,
    lower=_lower_unstack,
    jvp=LINEAR,
    transpose=lambda cts, x, *, axis: [
        stack(_with_zeros(cts, _abstract_unstack(x.aval.tangent, axis=axis)), axis)
    ],
    batch=_batch_unstack,
    multiple_results=True,
)


# --- stack ---------------------------------------------------------------------------------------


def stack(operands: Any, axis: int = 0) -> Any:
    """Join arrays of one shape along a new axis.

    Raises:
      ValueError: the shapes differ, or there is no operand.
      TypeError: the dtypes differ.

    >>> lax.stack([np.arange(2), np.arange(2)], axis=1)
    Array([[0, 0],
           [1, 1]], dtype=int32)
    """
    operands = list(operands)
    if not operands:
        raise IndexError("stack: expected a non-empty sequence of arrays")
    axis = canonical_axis("stack", axis, typeof(operands[0]).ndim + 1)
    return stack_p.bind(*operands, axis=axis)


def _abstract_stack(*avals: ShapedArray, axis: int) -> ShapedArray:
    if len({a.shape for a in avals}) > 1:
        raise ShapeError(
            f"Cannot stack arrays of different shapes: got {', '.join(str(a.shape) for a in avals)}"
        )
    check_same_dtype("stack", avals)
    shape = insert(avals[0].shape, axis, len(avals))
    return ShapedArray(shape, avals[0].dtype, all(a.weak_type for a in avals))


def _lower_stack(ctx: Any, args: Any, in_avals: Any, out_avals: Any, *, axis: int) -> list[str]:
    rows = [a.update(shape=insert(a.shape, axis, 1)) for a in in_avals]
    names = [
        ctx.typed("reshape", [name], [a], [row])[0]
        for name, a, row in zip(args, in_avals, rows, strict=True)
    ]
    return ctx.typed("concatenate", names, rows, out_avals, f"dim = {axis}")


def _batch_stack(batch: Any, args: Any, dims: Any, *, axis: int) -> tuple[Any, int]:
    to = common_batch_axis(dims)
    moved = [move_batch_axis(x, batch.size, d, to) for x, d in zip(args, dims, strict=True)]
    # The new axis comes before the batch axis, or after it.
    return stack_p.bind(*moved, axis=axis + (axis > to)), to + (axis <= to)


stack_p = Primitive(
    "stack",
    abstract=_abstract_stack,
    lower=_lower_stack,
    jvp=LINEAR,
    transpose=lambda ct, *args, axis: [
        part if isinstance(x, Linear) else None
        for x, part in zip(args, unstack_p.bind(ct, axis=axis), strict=True)
    ],
    batch=_batch_stack,
)


# --- tile ----------------------------------------------------------------------------------------


def tile(operand: Any, reps: Sequence[int]) -> Any:
    """``operand`` repeated as a whole ``reps[i]`` times along axis i.

    Raises:
      TypeError: there is not one number for each axis, or one is negative.

    >>> lax.tile(np.arange(2), (3,))
    Array([0, 1, 0, 1, 0, 1], dtype=int32)
    """
    reps = sizes_of("tile", "reps", reps)
    if hasattr(operand, "aval") and reps == (1,) * operand.aval.ndim:
        return operand
    return tile_p.bind(operand, reps=reps)


def _abstract_tile(aval: ShapedArray, *, reps: tuple[int, ...]) -> ShapedArray:
    if len(reps) != aval.ndim:
        raise TypeError(
            f"tile: reps must have one entry for each axis of the operand, got {reps} for shape "
            f"{aval.shape}"
        )
    return aval.update(shape=tuple([n * r for n, r in zip(aval.shape, reps, strict=True)]))


def _tile_layout(shape: tuple[int, ...], reps: tuple[int, ...]) -> tuple[list[int], list[int]]:
    """The result's shape with repetitions as axes of their own; and which axes those are."""
    layout: list[int] = []
    repeated = []
    for n, r in zip(shape, reps, strict=True):
        if r != 1:
            repeated.append(len(layout))
            layout.append(r)
        layout.append(n)
    return layout, repeated


def _lower_tile(ctx: Any, args: Any, in_avals: Any, out_avals: Any, *, reps: Any) -> list[str]:
    layout, repeated = _tile_layout(in_avals[0].shape, reps)
    spread = in_avals[0].update(shape=layout)
    kept = [i for i in range(len(layout)) if i not in repeated]
    name = ctx.broadcast(args[0], in_avals[0], spread, kept)
    return ctx.typed("reshape", [name], [spread], out_avals)


def _transpose_tile(ct: Any, x: Any, *, reps: tuple[int, ...]) -> list[Any]:
    layout, repeated = _tile_layout(x.shape, reps)
    return [reduce_sum(reshape(ct, layout), repeated)]


tile_p = Primitive(
    "tile",
    abstract=_abstract_tile,
    lower=_lower_tile,
    jvp=LINEAR,
    transpose=_transpose_tile,
    batch=lambda axis, args, dims, *, reps: (tile(args[0], insert(reps, dims[0], 1)), dims[0]),
)

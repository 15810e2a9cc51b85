"""Operations that move elements without changing them: broadcast, reshape, transpose, ..."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np

from covector._ir.avals import ShapedArray
from covector._trace.primitive import LINEAR, Primitive
from covector._trace.trace import typeof
from covector._lower.stablehlo import int_list


# --- broadcast_in_dim --------------------------------------------------------------------------


def broadcast_in_dim(
    operand: Any,
    shape: Sequence[int],
    broadcast_dimensions: Sequence[int],
    *,
    out_sharding: Any = None,
) -> Any:
    """``operand`` repeated along new axes: its axis i becomes axis ``broadcast_dimensions[i]``."""
    shape = tuple(map(index, shape))
    dims = tuple(map(index, broadcast_dimensions))
    if (
        typeof(operand).shape == shape
        and dims == tuple(range(len(shape)))
        and hasattr(operand, "aval")
    ):
        return operand
    return broadcast_in_dim_p.bind(operand, shape=shape, broadcast_dimensions=dims)


def _abstract_broadcast(
    aval: ShapedArray, *, shape: tuple[int, ...], broadcast_dimensions: tuple[int, ...]
) -> ShapedArray:
    dims = broadcast_dimensions
    if len(dims) != aval.ndim:
        raise TypeError(
            f"broadcast_in_dim: broadcast_dimensions must name one result axis for each of the "
            f"operand's {aval.ndim} axes, got {dims}"
        )
    if any(b <= a for a, b in zip(dims, dims[1:])) or not all(0 <= d < len(shape) for d in dims):
        raise TypeError(
            f"broadcast_in_dim: broadcast_dimensions must be strictly increasing axes of the result "
            f"shape {shape}, got {dims}"
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

    new = [d for d in range(len(shape)) if d not in broadcast_dimensions]
    stretched = [
        d for d, n in zip(broadcast_dimensions, x.shape, strict=True) if n == 1 and shape[d] != 1
    ]
    summed = reduce_sum(ct, tuple(sorted(new + stretched)))
    return [reshape(summed, x.shape)]


def _batch_broadcast(
    axis: Any, args: Any, dims: Any, *, shape: Any, broadcast_dimensions: Any
) -> tuple[Any, int]:
    x = move_axis(args[0], dims[0], 0)
    new_dims = (0, *[d + 1 for d in broadcast_dimensions])
    return broadcast_in_dim(x, (axis.size, *shape), new_dims), 0


broadcast_in_dim_p = Primitive(
    "broadcast_in_dim",
    abstract=_abstract_broadcast,
    jvp=LINEAR,
    lower=_lower_broadcast,
    transpose=_transpose_broadcast,
    batch=_batch_broadcast,
    elementwise=True,
)


# --- reshape -------------------------------------------------------------------------------------


def reshape(
    operand: Any,
    new_sizes: Sequence[int],
    dimensions: Sequence[int] | None = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """``operand``'s elements, in row-major order, in another shape."""
    new_sizes = tuple(map(index, new_sizes))
    if dimensions is not None and tuple(dimensions) != tuple(range(typeof(operand).ndim)):
        operand = transpose(operand, dimensions)
    if typeof(operand).shape == new_sizes and hasattr(operand, "aval"):
        return operand
    return reshape_p.bind(operand, new_sizes=new_sizes)


def _abstract_reshape(aval: ShapedArray, *, new_sizes: tuple[int, ...]) -> ShapedArray:
    if any(n < 0 for n in new_sizes) or math.prod(new_sizes) != aval.size:
        raise TypeError(
            f"cannot reshape array of shape {aval.shape} (size {aval.size}) into shape {new_sizes} "
            f"(size {math.prod(new_sizes)})"
        )
    return aval.update(shape=new_sizes)


reshape_p = Primitive(
    "reshape",
    abstract=_abstract_reshape,
    jvp=LINEAR,
    lower=lambda ctx, args, in_avals, out_avals, **params: ctx.typed(
        "reshape", args, in_avals, out_avals
    ),
    transpose=lambda ct, x, *, new_sizes: [reshape(ct, x.shape)],
    batch=lambda axis, args, dims, *, new_sizes: (
        reshape(move_axis(args[0], dims[0], 0), (axis.size, *new_sizes)),
        0,
    ),
    elementwise=True,
)


# --- transpose -----------------------------------------------------------------------------------


def transpose(operand: Any, permutation: Sequence[int]) -> Any:
    """``operand`` with its axes in another order: axis i of the result is ``permutation[i]``."""
    permutation = tuple(map(index, permutation))
    if permutation == tuple(range(typeof(operand).ndim)) and hasattr(operand, "aval"):
        return operand
    return transpose_p.bind(operand, permutation=permutation)


def _abstract_transpose(aval: ShapedArray, *, permutation: tuple[int, ...]) -> ShapedArray:
    if sorted(permutation) != list(range(aval.ndim)):
        raise TypeError(
            f"transpose: permutation must be an order of the operand's {aval.ndim} axes, got "
            f"{permutation}"
        )
    return aval.update(shape=tuple([aval.shape[i] for i in permutation]))


def _batch_transpose(axis: Any, args: Any, dims: Any, *, permutation: Any) -> tuple[Any, int]:
    dim = dims[0]
    order = (dim, *[i + (i >= dim) for i in permutation])
    return transpose(args[0], order), 0


transpose_p = Primitive(
    "transpose",
    abstract=_abstract_transpose,
    jvp=LINEAR,
    lower=lambda ctx, args, in_avals, out_avals, *, permutation: ctx.typed(
        "transpose", args, in_avals, out_avals, f"dims = {int_list(permutation)}"
    ),
    transpose=lambda ct, x, *, permutation: [
        transpose(ct, tuple(int(i) for i in np.argsort(permutation)))
    ],
    batch=_batch_transpose,
)


def move_axis(x: Any, source: int, destination: int) -> Any:
    """``x`` with axis ``source`` moved to ``destination``."""
    order = [i for i in range(typeof(x).ndim) if i != source]
    order.insert(destination, source)
    return transpose(x, order)


def broadcast_new_axis(x: Any, size: int, position: int) -> Any:
    """``x`` repeated along a new axis of ``size`` at ``position``."""
    shape = list(typeof(x).shape)
    shape.insert(position, size)
    dims = [i for i in range(len(shape)) if i != position]
    return broadcast_in_dim(x, shape, dims)


def zeros_of(aval: ShapedArray) -> Any:
    """Zeros of a type."""
    return full_of(aval, 0)


def full_of(aval: ShapedArray, value: Any) -> Any:
    """An array of a type, filled with one Python number."""
    scalar = np.asarray(value).astype(aval.dtype)[()]
    return broadcast_in_dim_p.bind(scalar, shape=aval.shape, broadcast_dimensions=())

"""How reductions by one StableHLO operation are lowered: plainly, but for a few cases on CPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from covector import lax
from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector._lower.module import lower_by
from covector._lower.stablehlo import int_list
from covector._trace.stage import stage_rule
from covector.lax._region import lower_reduction
from covector.lax.shape import reshape

Identity = Callable[[np.dtype], Any]


def lower_reduction_by(op: str, identity: Identity) -> Callable[..., list[str]]:
    """The lowering rule of a reduction by ``stablehlo.OP``, beginning with its identity."""

    def lower(ctx: Any, args: Any, in_avals: Any, out_avals: Any, *, axes: Any) -> list[str]:
        if not axes:
            return args
        aval, out = in_avals[0], out_avals[0]
        init = ctx.constant(identity(aval.dtype), aval.scalar)
        if dtypes.is_complex(aval.dtype) and op in _ORDERED:
            program = stage_rule(lambda x, y: [_ORDERED[op](x, y)], [aval.scalar, aval.scalar])
            return lower_reduction(ctx, program, args, [init], in_avals, out_avals, axes)
        if ctx.platform == "cpu" and _is_short(aval, axes):
            return [_lower_short(ctx, op, args[0], init, aval, out)]
        if ctx.platform == "cpu" and op in _ORDERED and _may_lose_nan(aval):
            return _lower_large_extremum(ctx, args, in_avals, out_avals, op=op, axes=axes)
        if ctx.platform == "cpu" and _is_total_of_bytes(aval, axes):
            return [_lower_folded(ctx, op, args[0], init, aval, out)]
        return [_emit(ctx, op, args[0], init, aval, out, axes)]

    return lower


def _emit(
    ctx: Any,
    op: str,
    operand: str,
    init: str,
    aval: ShapedArray,
    out: ShapedArray,
    axes: Sequence[int],
) -> str:
    return ctx.emit(
        f"stablehlo.reduce({operand} init: {init}) applies stablehlo.{op} across dimensions = "
        f"{int_list(axes)} : ({aval.mlir}, {aval.scalar.mlir}) -> {out.mlir}"
    )[0]


_ORDERED: dict[str, Callable[[Any, Any], Any]] = {
    "maximum": lambda x, y: lax.max(x, y),
    "minimum": lambda x, y: lax.min(x, y),
}


# --- a short last axis ---------------------------------------------------------------------------

_SHORT = 8  # axes up to this length are reduced term by term


def _is_short(aval: ShapedArray, axes: tuple[int, ...]) -> bool:
    """Whether the reduction is of a short last axis of many rows, in full precision.

    XLA's CPU back end does not vectorize over the rows of such a reduction, but does so for a chain
    of elementwise operations on slices: ten times faster for pairs of coordinates.
    """
    return (
        axes == (aval.ndim - 1,)
        and 1 < aval.shape[-1] <= _SHORT < aval.size
        and aval.dtype.kind in "fiu"
        and aval.dtype.itemsize >= 4
    )


def _lower_short(
    ctx: Any, op: str, operand: str, init: str, aval: ShapedArray, out: ShapedArray
) -> str:
    part = aval.update(shape=(*aval.shape[:-1], 1))
    total = ctx.broadcast(init, aval.scalar, out)
    bounds = [f"0:{n}" for n in aval.shape[:-1]]
    for i in range(aval.shape[-1]):
        limits = ", ".join([*bounds, f"{i}:{i + 1}"])
        text = f"stablehlo.slice {operand} [{limits}] : ({aval.mlir}) -> {part.mlir}"
        term = ctx.typed("reshape", ctx.emit(text), [part], [out])[0]
        total = ctx.simple(op, [total, term], out)
    return total


# --- the total of many bytes ---------------------------------------------------------------------

_PARTS = 8


def _is_total_of_bytes(aval: ShapedArray, axes: tuple[int, ...]) -> bool:
    """Whether all of many booleans, or integers of a byte, become one: not vectorized either."""
    small = aval.dtype.kind in "biu" and aval.dtype.itemsize == 1
    return small and len(axes) == aval.ndim and aval.size >= _MANY and aval.size % _PARTS == 0


def _lower_folded(
    ctx: Any, op: str, operand: str, init: str, aval: ShapedArray, out: ShapedArray
) -> str:
    """Combine the parts of the operand element by element first."""
    flat = aval.update(shape=(aval.size,))
    part = aval.update(shape=(aval.size // _PARTS,))
    operand = ctx.typed("reshape", [operand], [aval], [flat])[0]
    total = ""
    for start in range(0, aval.size, part.size):
        bounds = f"[{start}:{start + part.size}]"
        term = ctx.emit(f"stablehlo.slice {operand} {bounds} : ({flat.mlir}) -> {part.mlir}")[0]
        total = ctx.simple(op, [total, term], part) if total else term
    return _emit(ctx, op, total, init, part, out, (0,))


# --- extrema of many floats ----------------------------------------------------------------------

# XLA hands extrema of so many elements to a library that ignores nan (jaxlib 0.12.0.1): 0 for the
# maximum of [nan, 0]. It recognizes a reduction by the operation alone, so we add a rounding to the
# type's own precision, which changes nothing.
_MANY = 4096
_LANES = 8


def _may_lose_nan(aval: ShapedArray) -> bool:
    return dtypes.is_float(aval.dtype) and aval.size >= _MANY and aval.dtype.itemsize > 1


def _large_extremum(x: Any, *, op: str, axes: tuple[int, ...]) -> Any:
    """Reduce rows of lanes first: along the last axis alone nothing would be vectorized."""
    last = x.ndim - 1
    count = x.shape[last] // _LANES
    if last not in axes or count < 2:
        return _extremum(op, x, axes)
    body = lax.slice_in_dim(x, 0, count * _LANES, axis=last)
    rows = reshape(body, (*x.shape[:last], count, _LANES))
    lanes = lax.optimization_barrier(_extremum(op, rows, axes))
    out = _extremum(op, lanes, (lanes.ndim - 1,))
    if count * _LANES == x.shape[last]:
        return out
    rest = lax.slice_in_dim(x, count * _LANES, None, axis=last)
    return _ORDERED[op](out, _extremum(op, rest, axes))


def _extremum(op: str, x: Any, axes: Sequence[int]) -> Any:
    from covector.lax.reduce import highest, lowest
    from covector.lax.reducer import reduce_p

    info = dtypes.finfo(x.dtype)

    def combine(a: Any, b: Any) -> list[Any]:
        return [lax.reduce_precision(_ORDERED[op](a, b), info.nexp, info.nmant)]

    scalar = x.aval.scalar
    program = stage_rule(combine, [scalar, scalar])
    init = np.asarray((lowest if op == "maximum" else highest)(x.dtype)).astype(x.dtype)[()]
    return reduce_p.bind(x, init, jaxpr=program, dimensions=tuple(axes))[0]


_lower_large_extremum = lower_by(_large_extremum)

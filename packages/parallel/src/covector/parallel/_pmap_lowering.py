"""Lowering `pmap`: a manual program over the module's mesh, which each device runs by itself.

The outermost `pmap` splits its operands over the mesh's leading axes, whose sizes make up its own;
on the other axes, devices do the same work. A `pmap` inside it is not a manual program again: every
device holds the operands whole, so it takes its own piece by its index, and gathers the results.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from covector._ir.avals import ShapedArray
from covector._ir.jaxpr import Jaxpr
from covector._lower.module import ManualAxis, function_type, mesh_axes
from covector._lower.stablehlo import int_list
from covector.lax.control.programs import RegionWriter
from covector.parallel._devices import INDEX, device_groups, device_index, group_attributes


def lower_pmap(
    ctx: Any,
    args: Sequence[str],
    in_avals: Sequence[ShapedArray],
    out_avals: Sequence[ShapedArray],
    *,
    jaxpr: Jaxpr,
    in_axes: Sequence[int | None],
    out_axes: Sequence[int | None],
    name: str,
    axis_name: Any,
    axis_size: int,
    devices: Any,
) -> list[str]:
    """The names of the results; see the module's text."""
    outer = ctx.module.manual_axes
    stride, rest = divmod(outer[-1].stride if outer else ctx.module.num_partitions, axis_size)
    if rest:
        raise ValueError(
            f"pmap of {name} over {axis_size} devices cannot run inside one over "
            f"{' x '.join([str(axis.size) for axis in outer])}: the {ctx.module.num_partitions} "
            "devices of the program do not divide."
        )
    axis = ManualAxis(axis_name, axis_size, stride)
    if outer or ctx.module.num_partitions == 1:
        pieces = [
            _take(ctx, axis, x, aval, d) for x, aval, d in zip(args, in_avals, in_axes, strict=True)
        ]
        outs = _run(ctx, axis, jaxpr, pieces)
        return [
            _gather(ctx, axis, x, aval, d)
            for x, aval, d in zip(outs, jaxpr.out_avals, out_axes, strict=True)
        ]
    return _manual(ctx, axis, jaxpr, args, in_avals, in_axes, out_avals, out_axes)


def _run(ctx: Any, axis: ManualAxis, jaxpr: Jaxpr, args: Sequence[str]) -> list[str]:
    with _inside(ctx, axis):
        return ctx.inline(jaxpr, args)


@contextmanager
def _inside(ctx: Any, axis: ManualAxis) -> Iterator[None]:
    outer = ctx.module.manual_axes
    ctx.module.manual_axes = (*outer, axis)
    try:
        yield
    finally:
        ctx.module.manual_axes = outer


def _resized(aval: ShapedArray, axis: int, size: int) -> ShapedArray:
    return aval.update(shape=(*aval.shape[:axis], size, *aval.shape[axis + 1 :]))


def _squeeze(ctx: Any, x: str, aval: ShapedArray, axis: int) -> str:
    out = aval.update(shape=(*aval.shape[:axis], *aval.shape[axis + 1 :]))
    return ctx.typed("reshape", [x], [aval], [out])[0]


def _expand(ctx: Any, x: str, aval: ShapedArray, axis: int) -> tuple[str, ShapedArray]:
    out = aval.update(shape=(*aval.shape[:axis], 1, *aval.shape[axis:]))
    return ctx.typed("reshape", [x], [aval], [out])[0], out


# --- the outermost pmap ---------------------------------------------------------------------------


def _manual(
    ctx: Any,
    axis: ManualAxis,
    jaxpr: Jaxpr,
    args: Sequence[str],
    in_avals: Sequence[ShapedArray],
    in_axes: Sequence[int | None],
    out_avals: Sequence[ShapedArray],
    out_axes: Sequence[int | None],
) -> list[str]:
    """``sdy.manual_computation`` over all of the mesh."""
    if not out_avals:
        return []
    local = [a if d is None else _resized(a, d, 1) for a, d in zip(in_avals, in_axes)]
    names = [f"%m{ctx.num_names}_{i}" for i in range(len(args))]
    block = ", ".join([f"{n}: {a.mlir}" for n, a in zip(names, local)])
    every = ", ".join([f'"a{i}"' for i in range(len(ctx.module.mesh))])
    writer = RegionWriter(
        ctx,
        f"sdy.manual_computation({', '.join(args)}) "
        f"in_shardings=[{_shardings(ctx, axis, in_avals, in_axes)}] "
        f"out_shardings=[{_shardings(ctx, axis, out_avals, out_axes)}] "
        f"manual_axes={{{every}}} ({block}) {{",
        len(out_avals),
    )
    with writer.region(jaxpr):
        pieces = [
            n if d is None else _squeeze(ctx, n, a, d) for n, a, d in zip(names, local, in_axes)
        ]
        outs = _run(ctx, axis, jaxpr, pieces)
        pairs = [
            (x, a) if d is None else _expand(ctx, x, a, d)
            for x, a, d in zip(outs, jaxpr.out_avals, out_axes)
        ]
        types = ", ".join([a.mlir for _, a in pairs])
        ctx.line(f"sdy.return {', '.join([x for x, _ in pairs])} : {types}")
    return writer.close(f"}} : {function_type(in_avals, out_avals)}")


def _shardings(
    ctx: Any, axis: ManualAxis, avals: Sequence[ShapedArray], axes: Sequence[int | None]
) -> str:
    """Each array's axis ``axes[i]`` split over the mesh's leading axes, as many as make up ours."""
    count = 0
    while math.prod(ctx.module.mesh[:count]) < axis.size:
        count += 1
    ours = tuple(range(count))
    return ", ".join(
        [
            mesh_axes([ours if d == position else () for position in range(aval.ndim)])
            for aval, d in zip(avals, axes, strict=True)
        ]
    )


# --- a pmap inside another ------------------------------------------------------------------------


def _take(ctx: Any, axis: ManualAxis, x: str, aval: ShapedArray, dimension: int | None) -> str:
    """This device's piece of an operand that each device holds whole."""
    if dimension is None:
        return x
    if axis.size > 1:
        starts = [ctx.constant(0, INDEX)] * aval.ndim
        starts[dimension] = device_index(ctx, axis)
        piece = _resized(aval, dimension, 1)
        types = ", ".join([aval.mlir, *[INDEX.mlir] * aval.ndim])
        x = ctx.emit(
            f"stablehlo.dynamic_slice {', '.join([x, *starts])}, sizes = {int_list(piece.shape)} : "
            f"({types}) -> {piece.mlir}"
        )[0]
        aval = piece
    return _squeeze(ctx, x, aval, dimension)


def _gather(ctx: Any, axis: ManualAxis, x: str, aval: ShapedArray, dimension: int | None) -> str:
    """The pieces of all devices along ``axis``, put together on each."""
    if dimension is None:
        return x
    x, aval = _expand(ctx, x, aval, dimension)
    if axis.size == 1:
        return x
    with _inside(ctx, axis):
        groups = group_attributes(ctx, device_groups(ctx, [axis.name]))
    out = _resized(aval, dimension, axis.size)
    return ctx.emit(
        f'"stablehlo.all_gather"({x}) <{{all_gather_dim = {dimension} : i64, {groups}}}> : '
        f"({aval.mlir}) -> {out.mlir}"
    )[0]

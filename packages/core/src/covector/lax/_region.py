"""StableHLO operations with a region: a program of scalars inside `reduce`, `scatter`, ..."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from covector._ir.avals import ShapedArray
from covector._ir.jaxpr import Jaxpr
from covector._lower.module import function_type
from covector._lower.stablehlo import int_array


def lower_with_region(
    ctx: Any,
    op: str,
    args: Sequence[str],
    attributes: str,
    body: Jaxpr | Sequence[Jaxpr],
    in_avals: Sequence[ShapedArray],
    out_avals: Sequence[ShapedArray],
) -> list[str]:
    """Append ``"stablehlo.OP"(args) <{attributes}> ({ body })``; the names of its results.

    Several bodies become as many regions.
    """
    number = ctx.num_names
    ctx.num_names += 1
    count = len(out_avals)
    results = f"%{number}" if count == 1 else f"%{number}:{count}"
    ctx.line(f'{results} = "stablehlo.{op}"({", ".join(args)}) <{{{attributes}}}> ({{')
    for position, program in enumerate([body] if isinstance(body, Jaxpr) else body):
        if position:
            ctx.line("}, {")
        _write_region(ctx, program, f"%r{number}_{position}")
    ctx.lines.append((f"    }}) : {function_type(in_avals, out_avals)}", ctx.current_location))
    return [f"%{number}"] if count == 1 else [f"%{number}#{i}" for i in range(count)]


def _write_region(ctx: Any, body: Jaxpr, prefix: str) -> None:
    with ctx.region():
        ctx.constants = {}  # such a region sees nothing from outside, not even constants
        names = [f"{prefix}_{i}" for i in range(len(body.in_avals))]
        block = [f"{n}: {a.mlir}" for n, a in zip(names, body.in_avals, strict=True)]
        ctx.line(f"^bb0({', '.join(block)}):")
        ctx.yield_(ctx.inline(body, names), body.out_avals)


def lower_reduction(
    ctx: Any,
    body: Jaxpr,
    args: Sequence[str],
    inits: Sequence[str],
    in_avals: Sequence[ShapedArray],
    out_avals: Sequence[ShapedArray],
    axes: Sequence[int],
) -> list[str]:
    """Reduce ``args`` along ``axes`` by ``body``: (accumulators, elements) -> accumulators."""
    avals = [*in_avals, *[a.update(shape=()) for a in in_avals]]
    attributes = f"dimensions = {int_array(axes)}"
    return lower_with_region(ctx, "reduce", [*args, *inits], attributes, body, avals, out_avals)

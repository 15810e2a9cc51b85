"""Reductions along axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from covector._ir.avals import ShapedArray
from covector._lower.stablehlo import int_list
from covector._trace.primitive import LINEAR, Primitive
from covector.lax.shape import broadcast_in_dim


def reduce_sum(operand: Any, axes: Sequence[int], *, out_sharding: Any = None) -> Any:
    """The sum of ``operand``'s elements along ``axes``."""
    return reduce_sum_p.bind(operand, axes=tuple(axes)) if axes else operand


def _abstract_reduce(aval: ShapedArray, *, axes: tuple[int, ...]) -> ShapedArray:
    return aval.update(shape=tuple([n for i, n in enumerate(aval.shape) if i not in axes]))


def _lower_reduce_sum(
    ctx: Any, args: Any, in_avals: Any, out_avals: Any, *, axes: Any
) -> list[str]:
    scalar = in_avals[0].update(shape=())
    zero = ctx.constant(0, scalar)
    return ctx.emit(
        f"stablehlo.reduce({args[0]} init: {zero}) applies stablehlo.add across dimensions = "
        f"{int_list(axes)} : ({in_avals[0].mlir}, {scalar.mlir}) -> {out_avals[0].mlir}"
    )


def _batch_reduce(axis: Any, args: Any, dims: Any, *, axes: Any) -> tuple[Any, int]:
    dim = dims[0]
    moved = tuple([a + (a >= dim) for a in axes])
    return reduce_sum(args[0], moved), dim - sum(a < dim for a in moved)


reduce_sum_p = Primitive(
    "reduce_sum",
    abstract=_abstract_reduce,
    lower=_lower_reduce_sum,
    jvp=LINEAR,
    transpose=lambda ct, x, *, axes: [
        broadcast_in_dim(ct, x.shape, [i for i in range(x.ndim) if i not in axes])
    ],
    batch=_batch_reduce,
)

"""Vectorization: ``batch(jaxpr, axis, which inputs are batched where)``, memoized.

`dims` holds each input's batch axis, or None for an input without one. The derived program takes
the same inputs with that axis added, and says where the outputs have theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from covector._ir.avals import ShapedArray
from covector._ir.jaxpr import Jaxpr
from covector._trace.stage import stage_rule
from covector._trace.trace import (
    Trace,
    Tracer,
    current_trace_state,
    trace_context,
    typeof,
    use_trace,
)
from covector._transform.jvp import is_whole, run_equations

Dims = tuple[int | None, ...]


class BatchAxis(NamedTuple):
    """The axis that a batch adds: its size, and its name if collectives may refer to it."""

    size: int
    name: Any = None


class Batched(NamedTuple):
    """`jaxpr`: inputs with batch axes -> outputs with batch axes at `out_dims`."""

    jaxpr: Jaxpr
    out_dims: Dims


def batch(jaxpr: Jaxpr, axis: BatchAxis, dims: Dims, out_dims: Dims | None = None) -> Batched:
    """The vectorized program. An int in ``out_dims`` moves that output's batch axis there.

    With ``out_dims`` given, its None entries leave an output as it comes out.
    """
    key = ("batch", axis, dims, out_dims, trace_context())
    derived = jaxpr.memo.get(key)
    if derived is None:
        derived = jaxpr.remember(key, _batch(jaxpr, axis, dims, out_dims))
    return derived


def add_axis(aval: ShapedArray, axis: BatchAxis, dim: int | None) -> ShapedArray:
    """The type with the batch axis inserted at ``dim``."""
    if dim is None:
        return aval
    return aval.update(shape=(*aval.shape[:dim], axis.size, *aval.shape[dim:]))


def _batch(jaxpr: Jaxpr, axis: BatchAxis, dims: Dims, wanted: Dims | None) -> Batched:
    out_dims: Dims = ()

    def batched(*args: Any) -> list[Any]:
        nonlocal out_dims
        if len(jaxpr.eqns) == 1 and is_whole(jaxpr):
            outs, result_dims = _apply_rule(jaxpr, axis, args, dims)
        else:
            outs, result_dims = _interpret(jaxpr, axis, args, dims)
        if wanted is not None:
            for i, dim in enumerate(wanted):
                if dim is not None:
                    outs[i] = move_batch_axis(outs[i], axis.size, result_dims[i], dim)
                    result_dims[i] = dim
        out_dims = tuple(result_dims)
        return outs

    in_avals = [add_axis(a, axis, d) for a, d in zip(jaxpr.in_avals, dims, strict=True)]
    return Batched(stage_rule(batched, in_avals), out_dims)


def _apply_rule(
    jaxpr: Jaxpr, axis: BatchAxis, args: Sequence[Any], dims: Dims
) -> tuple[list[Any], list[int | None]]:
    eqn = jaxpr.eqns[0]
    primitive = eqn.primitive
    if all(d is None for d in dims) and not uses_axis(jaxpr, axis):
        outs = primitive.bind(*args, **eqn.params)
        outs = list(outs) if primitive.multiple_results else [outs]
        return outs, [None] * len(outs)
    if primitive.batch is None:
        raise NotImplementedError(f"Batching rule for '{primitive.name}' is not defined.")
    out, dim = primitive.batch(axis, list(args), tuple(dims), **eqn.params)
    if primitive.multiple_results:
        return list(out), list(dim)
    return [out], [dim]


def _interpret(
    jaxpr: Jaxpr, axis: BatchAxis, args: Sequence[Any], dims: Dims
) -> tuple[list[Any], list[int | None]]:
    trace = BatchTrace(current_trace_state.value, axis)
    with use_trace(trace):
        env = [
            x if d is None else BatchTracer(trace, x, d) for x, d in zip(args, dims, strict=True)
        ]
        outs = run_equations(jaxpr, env, trace)
    return trace.split(outs)


def uses_axis(jaxpr: Jaxpr, axis: BatchAxis) -> bool:
    """Whether a collective in ``jaxpr`` names this axis."""
    return axis.name is not None and NamedAxis(axis.name) in jaxpr.effects


class NamedAxis(NamedTuple):
    """The effect of using a named axis: no value is changed, but the program depends on it."""

    name: Any

    observable = False  # an equation with this effect alone may be dropped


class BatchTracer(Tracer):
    """A value of the parent trace with a batch axis that the function does not see."""

    __slots__ = ("dim", "value")

    def __init__(self, trace: Trace, value: Any, dim: int, aval: ShapedArray | None = None):
        self._trace = trace
        self.value = value
        self.dim = dim
        if aval is None:
            full = typeof(value)
            aval = full.update(shape=full.shape[:dim] + full.shape[dim + 1 :])
        self.aval = aval

    def origin(self) -> str:
        return (
            self.value.origin() if isinstance(self.value, Tracer) else "as an argument under vmap"
        )


class BatchTrace(Trace):
    """Calls the vectorized program of what it is asked to call, in its parent."""

    __slots__ = ("axis",)

    parent: Trace

    def __init__(self, parent: Trace, axis: BatchAxis):
        super().__init__(parent)
        self.axis = axis

    def call(self, jaxpr: Jaxpr, args: Sequence[Any]) -> list[Any]:
        values, dims = self.split(args)
        parent = self.parent
        if dims.count(None) == len(dims) and not uses_axis(jaxpr, self.axis):
            return parent.call(jaxpr, values)
        derived, out_dims = batch(jaxpr, self.axis, tuple(dims))
        outs = parent.call(derived, values)
        return [
            x if d is None else BatchTracer(self, x, d, a)
            for x, d, a in zip(outs, out_dims, jaxpr.out_avals, strict=True)
        ]

    def split(self, values: Sequence[Any]) -> tuple[list[Any], list[int | None]]:
        """Underlying values and batch axes (None: not batched)."""
        inner: list[Any] = []
        dims: list[int | None] = []
        for x in values:
            if type(x) is BatchTracer and x._trace is self:
                inner.append(x.value)
                dims.append(x.dim)
            else:
                inner.append(x)
                dims.append(None)
        return inner, dims

    def custom_call(self, function: Any, args: Sequence[Any]) -> list[Any]:
        return function.batch(self, args)


def move_batch_axis(x: Any, size: int, dim: int | None, to: int) -> Any:
    """``x`` with its batch axis at ``to``, broadcast if it has none."""
    from covector.lax.shape import broadcast_new_axis, move_axis

    if dim is None:
        return broadcast_new_axis(x, size, to)
    return x if dim == to else move_axis(x, dim, to)

"""Rules made from functions: the derivative of an operation as that of a way to compute it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from covector._ir.jaxpr import Jaxpr
from covector._trace.stage import stage_rule
from covector._trace.trace import current_trace_state, typeof
from covector._transform.batch import BatchAxis, batch
from covector._transform.jvp import jvp


def tangents_by(
    function: Callable[..., Sequence[Any]], primals: Sequence[Any], tangents: Sequence[Any]
) -> list[Any]:
    """The output tangents of ``function``, which consists of other operations. None is zero."""
    staged = stage_rule(function, [typeof(x) for x in primals])
    derived, out_mask = jvp(staged, tuple([t is not None for t in tangents]))
    args = [*primals, *[t for t in tangents if t is not None]]
    results = current_trace_state.value.call(derived, args)
    given = iter(results[len(out_mask) :])
    return [next(given) if m else None for m in out_mask]


def call_on_scalars(jaxpr: Jaxpr, args: Sequence[Any]) -> list[Any]:
    """Apply a program of scalars to each element of arrays of one shape."""
    from covector.lax.shape import reshape

    shape, size = typeof(args[0]).shape, typeof(args[0]).size
    axes = (0,) * len(jaxpr.in_avals)
    vectorized, _ = batch(jaxpr, BatchAxis(size), axes, (0,) * len(jaxpr.out_avals))
    outs = current_trace_state.value.call(vectorized, [reshape(x, (size,)) for x in args])
    return [reshape(x, shape) for x in outs]

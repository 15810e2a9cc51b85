"""`covector.core`: the types behind the scenes, for those who write tools on programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from covector._ir.avals import ShapedArray as ShapedArray
from covector._ir.jaxpr import Atom as Atom
from covector._ir.jaxpr import ClosedJaxpr as ClosedJaxpr
from covector._ir.jaxpr import Equation as Equation
from covector._ir.jaxpr import Jaxpr as Jaxpr
from covector._ir.jaxpr import Literal as Literal
from covector._ir.jaxpr import Var as Var
from covector._trace.primitive import Primitive as Primitive
from covector._trace.trace import EVAL, current_trace_state, use_base_trace
from covector._trace.trace import Trace as Trace
from covector._trace.trace import Tracer as Tracer

AbstractValue = ShapedArray
Value = Any
ParamDict = dict


def ensure_compile_time_eval() -> use_base_trace:
    """Context manager: operations on concrete values are run now, even while tracing.

    >>> import covector
    >>> @covector.jit
    ... def f(x):
    ...     with covector.core.ensure_compile_time_eval():
    ...         n = int(covector.lax.add(1, 2))
    ...     return covector.lax.mul(x, float(n))
    >>> float(f(2.0))
    6.0
    """
    return use_base_trace(EVAL)


def eval_context() -> use_base_trace:
    """The same as `ensure_compile_time_eval`."""
    return use_base_trace(EVAL)


def eval_jaxpr(
    jaxpr: Jaxpr | ClosedJaxpr,
    consts: Sequence[Any],
    *args: Any,
    propagate_source_info: bool = True,
) -> list[Any]:
    """Run a program on ``consts`` and ``args`` in the current trace; a list of results.

    >>> import covector
    >>> closed = covector.make_jaxpr(covector.lax.sin)(0.0)
    >>> [float(x) for x in covector.core.eval_jaxpr(closed.jaxpr, closed.consts, 0.0)]
    [0.0]
    """
    program = jaxpr.jaxpr if isinstance(jaxpr, ClosedJaxpr) else jaxpr
    return list(current_trace_state.value.call(program, [*consts, *args]))


def max_dim(d1: int, d2: int) -> int:
    """The larger of two axis sizes."""
    return max(d1, d2)


def min_dim(d1: int, d2: int) -> int:
    """The smaller of two axis sizes."""
    return min(d1, d2)

"""Forward-mode differentiation: ``jvp(jaxpr, which tangents are nonzero)``, memoized.

A tangent that is zero is not an array but a gap: `mask` says which inputs have a tangent, and the
result says which outputs do. The derived program takes the inputs, then the nonzero tangents, and
gives the outputs, then the nonzero tangents of the outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from covector._ir.jaxpr import Jaxpr
from covector._ir.source import Scope, within_scope
from covector._trace.primitive import Primitive
from covector._trace.stage import stage_rule
from covector._trace.trace import (
    Trace,
    Tracer,
    current_trace_state,
    trace_context,
    typeof,
    use_trace,
)

Mask = tuple[bool, ...]


class JVP(NamedTuple):
    """`jaxpr`: (inputs, nonzero tangents) -> (outputs, nonzero tangents of outputs)."""

    jaxpr: Jaxpr
    out_mask: Mask


def jvp(jaxpr: Jaxpr, mask: Mask, instantiate: Mask | None = None) -> JVP:
    """The derivative program of ``jaxpr``; outputs in ``instantiate`` get a tangent in any case."""
    key = ("jvp", mask, instantiate, trace_context())
    derived = jaxpr.memo.get(key)
    if derived is None:
        derived = jaxpr.remember(key, _jvp(jaxpr, mask, instantiate))
    return derived


def _jvp(jaxpr: Jaxpr, mask: Mask, instantiate: Mask | None) -> JVP:
    num_in = len(jaxpr.in_avals)
    out_mask: Mask = ()

    def derivative(*inputs: Any) -> list[Any]:
        nonlocal out_mask
        given = iter(inputs[num_in:])
        primals = list(inputs[:num_in])
        tangents = [next(given) if m else None for m in mask]
        if len(jaxpr.eqns) == 1 and is_whole(jaxpr):
            outs, out_tangents = _apply_rule(jaxpr, primals, tangents)
        else:
            outs, out_tangents = _interpret(jaxpr, primals, tangents)
        if instantiate is not None:
            for i, wanted in enumerate(instantiate):
                if wanted and out_tangents[i] is None:
                    out_tangents[i] = zeros(jaxpr.out_avals[i].tangent)
        out_mask = tuple([t is not None for t in out_tangents])
        return [*outs, *[t for t in out_tangents if t is not None]]

    tangent_avals = [a.tangent for a, m in zip(jaxpr.in_avals, mask, strict=True) if m]
    derived = stage_rule(derivative, [*jaxpr.in_avals, *tangent_avals])
    return JVP(derived, out_mask)


def is_whole(jaxpr: Jaxpr) -> bool:
    """Whether a one-equation program is just its primitive, applied to its inputs in order."""
    eqn = jaxpr.eqns[0]
    return tuple(eqn.invars) == jaxpr.invars and tuple(eqn.outvars) == jaxpr.outvars


def _apply_rule(jaxpr: Jaxpr, primals: list, tangents: list) -> tuple[list, list]:
    eqn = jaxpr.eqns[0]
    primitive = eqn.primitive
    if not primitive.differentiable or not any(t is not None for t in tangents):
        outs = primitive.bind(*primals, **eqn.params)
        outs = list(outs) if primitive.multiple_results else [outs]
        return outs, [None] * len(outs)
    rule = primitive.jvp
    if rule is None:
        raise NotImplementedError(f"The derivative of '{primitive.name}' is not defined.")
    if isinstance(rule, str):  # LINEAR
        rule = linear_jvp(primitive)
    out, tangent = rule(primals, tangents, **eqn.params)
    if primitive.multiple_results:
        return list(out), list(tangent)
    return [out], [tangent]


def linear_jvp(primitive: Primitive) -> Callable[..., Any]:
    """The rule of an operation that is linear in all its differentiable operands together."""

    def rule(primals: list, tangents: list, **params: Any) -> tuple[Any, Any]:
        directions = []
        for x, t in zip(primals, tangents, strict=True):
            aval = typeof(x)
            if t is None and aval.has_tangent:
                t = zeros(aval.tangent)
            directions.append(x if t is None else t)
        return primitive.bind(*primals, **params), primitive.bind(*directions, **params)

    return rule


def _interpret(jaxpr: Jaxpr, primals: list, tangents: list) -> tuple[list, list]:
    trace = JVPTrace(current_trace_state.value)
    with use_trace(trace):
        env = [
            p if t is None else JVPTracer(trace, p, t)
            for p, t in zip(primals, tangents, strict=True)
        ]
        outs = run_equations(jaxpr, env, trace)
    return trace.split(outs)


def run_equations(jaxpr: Jaxpr, args: Sequence[Any], trace: Trace) -> list[Any]:
    """Interpret ``jaxpr`` equation by equation under ``trace``, each a memoized program."""
    literals, steps, outputs = jaxpr.plan
    env = [*args, *literals]
    for eqn, step in zip(jaxpr.eqns, steps, strict=True):
        env += call_in_scope(trace, eqn.scope, eqn.jaxpr, [env[i] for i in step.inputs])
    return [env[i] for i in outputs]


def call_in_scope(trace: Trace, scope: Scope, jaxpr: Jaxpr, args: Sequence[Any]) -> list[Any]:
    """Call a program where what is staged belongs to these named scopes."""
    if not scope:
        return trace.call(jaxpr, args)
    with within_scope(scope):
        return trace.call(jaxpr, args)


class JVPTracer(Tracer):
    """A primal with its nonzero tangent, both values of the parent trace."""

    __slots__ = ("primal", "tangent")

    def __init__(self, trace: Trace, primal: Any, tangent: Any):
        self._trace = trace
        self.primal = primal
        self.tangent = tangent
        self.aval = typeof(primal)

    def concrete(self) -> Any:
        return self.primal.concrete() if isinstance(self.primal, Tracer) else self.primal

    def origin(self) -> str:
        return self.primal.origin() if isinstance(self.primal, Tracer) else ""


class JVPTrace(Trace):
    """Calls the derivative program of what it is asked to call, in its parent."""

    __slots__ = ()

    parent: Trace

    def call(self, jaxpr: Jaxpr, args: Sequence[Any]) -> list[Any]:
        primals, tangents = self.split(args)
        mask = tuple([t is not None for t in tangents])
        parent = self.parent
        if True not in mask:
            return parent.call(jaxpr, primals)
        derived, out_mask = jvp(jaxpr, mask)
        results = parent.call(derived, [*primals, *[t for t in tangents if t is not None]])
        outs = list(results[: len(out_mask)])
        given = iter(results[len(out_mask) :])
        for i, nonzero in enumerate(out_mask):
            if nonzero:
                outs[i] = JVPTracer(self, outs[i], next(given))
        return outs

    def split(self, values: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Primals and tangents (None for zero) of tracers of this trace and constants."""
        primals = []
        tangents = []
        for x in values:
            if type(x) is JVPTracer and x._trace is self:
                primals.append(x.primal)
                tangents.append(x.tangent)
            else:
                primals.append(x)
                tangents.append(None)
        return primals, tangents

    def custom_call(self, function: Any, args: Sequence[Any]) -> list[Any]:
        return function.jvp(self, args)


def zeros(aval: Any) -> Any:
    """An array of zeros of a type: staged when staging, a NumPy array for float0."""
    from covector.lax.shape import zeros_of

    return zeros_of(aval)

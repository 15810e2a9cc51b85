"""Dividing a program by a policy: what of it is kept, and what is computed again from that.

``divide(jaxpr, wanted, policy)`` gives a `Linearized` whose second half takes no tangents: it makes
the wanted outputs from what is kept of the first half. An equation that holds programs (a scan, a
branch, a call) is divided by the `divide` rule of its primitive, so that a policy sees into it; any
other one is kept or computed again as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from covector._ir.jaxpr import Atom, Equation, Jaxpr, Var, make_jaxpr_object
from covector._run.memory import memory_space
from covector._trace.stage import prune_equations, stage_rule
from covector._trace.trace import current_trace_state, trace_context
from covector._transform.linearize import Linearized
from covector._transform.transpose import Mask

# `policy(primitive, *avals, **params)` says whether an equation's results are worth keeping.
Policy = Callable[..., Any]


class Offloadable(NamedTuple):
    """A policy's answer: keep the value, moved to another memory."""

    src: Any
    dst: Any


class SaveableType:
    """A policy's answer: keep the value."""

    def __repr__(self) -> str:
        return "Saveable"


class RecomputeType:
    """A policy's answer: compute the value again."""

    def __repr__(self) -> str:
        return "Recompute"


Saveable = SaveableType()
Recompute = RecomputeType()


def saves(answer: Any) -> bool:
    """Whether a policy's answer means that the value is kept."""
    return not isinstance(answer, RecomputeType) and bool(answer)


class EitherPolicy(NamedTuple):
    """Keeps what one of two policies keeps. (Equal ones make one program.)"""

    first: Policy
    second: Policy

    def __call__(self, *args: Any, **params: Any) -> Any:
        answer = self.first(*args, **params)
        return answer if saves(answer) else self.second(*args, **params)


class Writer:
    """A program that is put together from equations of others.

    `names` says what stands for those programs' variables, unless they stand for themselves.
    """

    def __init__(self) -> None:
        self.eqns: list[Equation] = []
        self.names: dict[Atom, Atom] = {}

    def read(self, atoms: Sequence[Atom]) -> list[Atom]:
        """What stands for these atoms."""
        return [self.names.get(a, a) for a in atoms]

    def copy(self, eqn: Equation) -> None:
        """Append an equation as it is."""
        inputs = self.read(eqn.invars)
        self.eqns.append(Equation(eqn.primitive, eqn.params, inputs, eqn.outvars, eqn.source))

    def call(
        self, jaxpr: Jaxpr, inputs: Sequence[Atom], outputs: Sequence[Atom], source: Any = None
    ) -> None:
        """Append a program's equations, applied to ``inputs``; ``outputs`` become its results."""
        inner: dict[Atom, Atom] = dict(zip(jaxpr.invars, self.read(inputs), strict=True))
        for eqn in jaxpr.eqns:
            results = [Var(v.aval) for v in eqn.outvars]
            operands = [inner.get(a, a) for a in eqn.invars]
            self.eqns.append(
                Equation(eqn.primitive, eqn.params, operands, results, eqn.source or source)
            )
            inner.update(zip(eqn.outvars, results, strict=True))
        self.names.update(zip(outputs, [inner.get(a, a) for a in jaxpr.outvars], strict=True))

    def program(self, invars: Sequence[Var], outvars: Sequence[Atom]) -> Jaxpr:
        """The program, without what its outputs do not need."""
        outvars = self.read(outvars)
        return make_jaxpr_object(invars, prune_equations(self.eqns, outvars), outvars)


def divide(jaxpr: Jaxpr, wanted: Mask, policy: Policy | None) -> Linearized:
    """Divide ``jaxpr``, where the second half shall make the outputs in ``wanted``."""
    key = ("divide", wanted, policy, trace_context())
    halves = jaxpr.memo.get(key)
    if halves is None:
        atoms = [v for v, m in zip(jaxpr.outvars, wanted, strict=True) if m]
        halves = divide_for(jaxpr, len(wanted), atoms, policy)
        halves = jaxpr.remember(key, halves)
    return halves


def divide_for(
    jaxpr: Jaxpr, num_outs: int, wanted: Sequence[Atom], policy: Policy | None
) -> Linearized:
    """Divide ``jaxpr``, where the second half shall make the values of the atoms in ``wanted``.

    The first half has the first ``num_outs`` outputs of ``jaxpr``, and then what is kept beside.
    """
    kept, divided, again = _decide(jaxpr, wanted, policy)
    first, second = Writer(), Writer()
    for eqn in jaxpr.eqns:
        if eqn not in divided:
            first.copy(eqn)
            if eqn in again:
                second.copy(eqn)
            continue
        halves, variables = divided[eqn]
        own = variables[len(eqn.invars) :]
        first.call(halves.forward, eqn.invars, own, eqn.source)
        made = [v for v, m in zip(eqn.outvars, halves.out_mask, strict=True) if m]
        second.call(halves.tangent, [variables[p] for p in halves.residuals], made, eqn.source)
    outs = jaxpr.outvars[:num_outs]
    place = {v: i for i, v in reversed([*enumerate([*jaxpr.invars, *outs])])}
    extra = [v for v in kept if v not in place]
    place.update({v: len(jaxpr.invars) + num_outs + i for i, v in enumerate(extra)})
    return Linearized(
        first.program(jaxpr.invars, [*outs, *extra]),
        num_outs,
        tuple([place[v] for v in kept]),
        second.program(kept, wanted),
        tuple([v in wanted for v in outs]),
    )


def _decide(
    jaxpr: Jaxpr, wanted: Sequence[Atom], policy: Policy | None
) -> tuple[list[Var], dict[Equation, tuple[Linearized, list[Any]]], set[Equation]]:
    """The variables to keep, the equations that are divided, and those to be computed again.

    A divided equation comes with its halves, and with the variables that stand for the inputs and
    the outputs of the first one.
    """
    needed = {v for v in wanted if type(v) is Var}
    kept: set[Var] = set()
    divided: dict[Equation, tuple[Linearized, list[Any]]] = {}
    again: set[Equation] = set()
    for eqn in reversed(jaxpr.eqns):
        mask = tuple([v in needed for v in eqn.outvars])
        if True not in mask:
            continue
        halves, keep = _ask(eqn, mask, policy)
        if halves is not None:
            extra = [Var(a) for a in halves.forward.out_avals[halves.num_outs :]]
            variables = [*eqn.invars, *eqn.outvars, *extra]
            divided[eqn] = halves, variables
            for p in halves.residuals:
                if type(variables[p]) is Var:
                    (needed if p < len(eqn.invars) else kept).add(variables[p])
        elif keep:
            kept.update(needed.intersection(eqn.outvars))
        else:
            again.add(eqn)
            needed.update([a for a in eqn.invars if type(a) is Var])
    kept.update(needed.intersection(jaxpr.invars))
    order = list(jaxpr.invars)
    for eqn in jaxpr.eqns:
        order += divided[eqn][1][len(eqn.invars) :] if eqn in divided else eqn.outvars
    return [v for v in order if v in kept], divided, again


def _ask(eqn: Equation, wanted: Mask, policy: Policy | None) -> tuple[Linearized | None, bool]:
    """How an equation is divided, if it is; else whether its results are kept."""
    if policy is None:
        return None, False
    if eqn.primitive.divide is not None:
        return eqn.primitive.divide(eqn.jaxpr, wanted, policy), False
    answer = policy(eqn.primitive, *[a.aval for a in eqn.invars], **eqn.params)
    if isinstance(answer, Offloadable):
        return _offload(eqn.jaxpr, wanted, answer), False
    return None, saves(answer)


def _offload(call: Jaxpr, wanted: Mask, answer: Offloadable) -> Linearized:
    """Keep the wanted results in another memory, and fetch them from there."""
    from covector.lax.device_put import device_put_p

    near, far = memory_space(answer.src), memory_space(answer.dst)

    def forward(*args: Any) -> list[Any]:
        outs = current_trace_state.value.call(call, args)
        kept = [x for x, m in zip(outs, wanted, strict=True) if m]
        return [*outs, *[device_put_p.bind(x, device=far, src=near) for x in kept]]

    def again(*kept: Any) -> list[Any]:
        return [device_put_p.bind(x, device=near, src=far) for x in kept]

    program = stage_rule(forward, call.in_avals)
    num_outs = len(wanted)
    kept_avals = program.out_avals[num_outs:]
    first = len(call.in_avals) + num_outs
    positions = tuple(range(first, first + len(kept_avals)))
    return Linearized(program, num_outs, positions, stage_rule(again, kept_avals), wanted)

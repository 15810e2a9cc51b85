"""Staging: write operations down as a program instead of running them.

`StageTrace.call` splices the called program's equations into the one being built, renaming
variables by position; no Python rule runs. `stage_rule` runs one of Covector's own rules under such
a trace, `_api/tracing.py` user functions. Read next: `_transform/`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jaxlib._jax as _jaxlib
import numpy as np

from covector._ir.avals import ShapedArray
from covector._ir.jaxpr import Atom, Equation, Jaxpr, Literal, Var, make_jaxpr_object
from covector._ir.source import Source, current_source, scope_state
from covector._trace.trace import (
    Trace,
    Tracer,
    check_fits_32_bits,
    escaped_tracer_error,
    typeof,
    use_base_trace,
)

ArrayImpl = _jaxlib.ArrayImpl


class StageTracer(Tracer):
    """Stands for a variable (or literal) of the program being built."""

    __slots__ = ("atom",)

    atom: Atom

    def __init__(self, trace: Trace, atom: Atom):
        self._trace = trace
        self.atom = atom
        self.aval = atom.aval

    def origin(self) -> str:
        return self._trace.origin(self.atom)  # type: ignore[attr-defined]


class StageTrace(Trace):
    """Builds a program.

    `embed_constants` is for Covector's own rules and library functions: the arrays that they make
    are small and belong to the program's text. Constants of user code become inputs instead.

    With a `parent`, only operations on this trace's own tracers are staged, and all others go to
    the parent: this splits a computation into what is known now and what is not.
    """

    __slots__ = ("const_of", "consts", "embed_constants", "eqns", "invars", "name")

    def __init__(
        self,
        *,
        embed_constants: bool = False,
        parent: Trace | None = None,
        name: str = "function",
    ):
        super().__init__(parent)
        self.embed_constants = embed_constants
        self.name = name
        self.invars: list[Var] = []
        self.eqns: list[Equation] = []
        self.consts: list[Any] = []
        self.const_of: dict[int, Var] = {}

    def new_input(self, aval: ShapedArray) -> StageTracer:
        """A tracer for a further input of the program."""
        var = Var(aval)
        self.invars.append(var)
        return StageTracer(self, var)

    def call(self, jaxpr: Jaxpr, args: Sequence[Any]) -> list[Any]:
        if self.parent is not None and not any(
            isinstance(x, StageTracer) and x._trace is self for x in args
        ):
            return self.parent.call(jaxpr, args)
        atoms = [self.atom_of(x) for x in args]
        return [StageTracer(self, a) for a in self.splice(jaxpr, atoms, current_source())]

    def splice(self, jaxpr: Jaxpr, atoms: list[Atom], source: Source | None) -> list[Atom]:
        """Append ``jaxpr``'s equations, applied to ``atoms``. Hot: about 1.5 us an equation."""
        literals, steps, outputs = jaxpr.plan
        env = atoms + literals if literals else list(atoms)
        append = self.eqns.append
        for primitive, params, inputs, out_avals in steps:
            invars = [env[i] for i in inputs]
            if primitive.fold is not None and type(invars[0]) is Literal:
                literal = primitive.fold(invars, params, out_avals[0])
                if literal is not None:
                    env.append(literal)
                    continue
            outvars = [Var(a) for a in out_avals]
            append(Equation(primitive, params, invars, outvars, source))
            env += outvars
        return [env[i] for i in outputs]

    def constant(self, x: Any) -> Atom:
        """The atom for a value from outside: a literal for scalars, an input for arrays."""
        if type(x) is Literal:
            return x
        atom = self.const_of.get(id(x))
        if atom is not None:
            return atom
        if isinstance(x, Tracer):
            if not x._trace.alive:
                raise escaped_tracer_error(x)
            if x._trace is self:  # a tracer of a subclass of StageTracer
                return x.atom
            return self._hoist(x, x.aval)
        aval = typeof(x)
        if isinstance(x, (bool, int, float, complex)) and not isinstance(x, np.generic):
            return Literal(x, aval)
        if isinstance(x, np.generic) or (isinstance(x, np.ndarray) and x.ndim == 0):
            return Literal(np.asarray(x, aval.dtype)[()], aval)
        if self.embed_constants:
            if not isinstance(x, (np.ndarray, ArrayImpl)):
                x = np.asarray(x)
            check_fits_32_bits(x)
            return Literal(np.asarray(x).astype(aval.dtype, copy=False), aval)
        return self._hoist(x, aval)

    def atom_of(self, x: Any) -> Atom:
        """The atom of a tracer of this trace, or of a constant."""
        return x.atom if type(x) is StageTracer and x._trace is self else self.constant(x)

    def _hoist(self, x: Any, aval: ShapedArray) -> Var:
        var = Var(aval)
        self.consts.append(x)
        self.const_of[id(x)] = var
        return var

    def custom_call(self, function: Any, args: Sequence[Any]) -> list[Any]:
        return function.stage(self, args)

    def finish(self, outs: Sequence[Any], *, prune: bool = False) -> Jaxpr:
        """Close the program. Its inputs are the constants' variables, then the declared ones."""
        outvars = [self.atom_of(x) for x in outs]
        self.alive = False
        const_vars = [self.const_of[id(c)] for c in self.consts]
        eqns = prune_equations(self.eqns, outvars) if prune else self.eqns
        return make_jaxpr_object([*const_vars, *self.invars], eqns, outvars)

    def origin(self, atom: Atom) -> str:
        """The user's line that made ``atom``."""
        for eqn in self.eqns:
            if atom in eqn.outvars:
                return f"at {eqn.source}" if eqn.source else ""
        return f"as an argument of {self.name}"


def _is_observable(effects: frozenset) -> bool:
    """Whether one of the effects happens to someone, so that its equation must stay."""
    return bool(effects) and any(getattr(e, "observable", True) for e in effects)


def prune_equations(eqns: Sequence[Equation], outvars: Sequence[Atom]) -> list[Equation]:
    """Those equations that the outputs, or effects, need, and of them only what is needed."""
    needed = {v for v in outvars if type(v) is Var}
    kept = []
    for eqn in reversed(eqns):
        if _is_observable(eqn.effects) or not needed.isdisjoint(eqn.outvars):
            prune = eqn.primitive.prune
            if prune is not None and not needed.issuperset(eqn.outvars):
                eqn = prune(eqn, tuple([v in needed for v in eqn.outvars]))
            kept.append(eqn)
            needed.update([v for v in eqn.invars if type(v) is Var])
    kept.reverse()
    return kept


def prune_call(eqn: Equation, used: Sequence[bool]) -> Equation:
    """The `prune` rule of a primitive that calls the program in its param ``jaxpr``."""
    jaxpr = eqn.params["jaxpr"]
    outvars = [v for v, m in zip(jaxpr.outvars, used, strict=True) if m]
    eqns = prune_equations(jaxpr.eqns, outvars)
    reads = make_jaxpr_object(jaxpr.invars, eqns, outvars).used_inputs()
    invars = [v for v, m in zip(jaxpr.invars, reads, strict=True) if m]
    return Equation(
        eqn.primitive,
        {**eqn.params, "jaxpr": make_jaxpr_object(invars, eqns, outvars)},
        [a for a, m in zip(eqn.invars, reads, strict=True) if m],
        [v for v, m in zip(eqn.outvars, used, strict=True) if m],
        eqn.source,
    )


class staging(use_base_trace):
    """Context manager: build a program under a `StageTrace`, whose tracers die at the end.

    The program is in no named scope: that of a call of it is the call's.
    """

    __slots__ = ("old_scope",)

    def __enter__(self) -> Trace:
        self.old_scope = scope_state.swap_local(())
        return super().__enter__()

    def __exit__(self, *exc: Any) -> None:
        super().__exit__(*exc)
        scope_state.set_local(self.old_scope)
        self.trace.alive = False


def stage_rule(function: Callable[..., Sequence[Any]], in_avals: Sequence[ShapedArray]) -> Jaxpr:
    """Stage one of Covector's own rules: tracers in, a list of values out, nothing hoisted."""
    trace = StageTrace(embed_constants=True, name=getattr(function, "__name__", "rule"))
    with staging(trace):
        inputs = [trace.new_input(a) for a in in_avals]
        outs = function(*inputs)
        jaxpr = trace.finish(outs, prune=True)
    if trace.consts:
        raise escaped_tracer_error(trace.consts[0])
    return jaxpr

"""Reverse-mode differentiation: ``linearize(jaxpr, mask) -> Linearized``, memoized, and the tape.

A program is split in two: `forward` computes the outputs and whatever the linear part needs (the
residuals); `tangent` maps residuals and input tangents to output tangents, and is linear in the
latter. A residual that is an input or an output of the forward program is taken from there, and
never returned a second time.

`LinearizeTrace` calls `forward` in its parent, and writes `tangent` and the residuals on its tape.
The pullback walks the tape backward through transposed programs; nothing in it runs a rule twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from covector._ir.avals import ShapedArray
from covector._ir.jaxpr import Jaxpr, Var, make_jaxpr_object
from covector._ir.source import Scope, scope_state, transformed_scope, within_scope
from covector._trace.stage import StageTrace, prune_equations, staging
from covector._trace.trace import (
    Trace,
    Tracer,
    current_trace_state,
    trace_context,
    typeof,
    use_trace,
)
from covector._transform.jvp import is_whole, jvp, run_equations, zeros
from covector._transform.transpose import Mask, Transposed, add_cotangent, transpose


class Linearized:
    """The two halves of a program's derivative.

    `forward`: inputs -> outputs, then further residuals. `residuals`: positions in the inputs
    followed by `forward`'s outputs. `tangent`: residuals, then tangents of the inputs in the
    mask -> tangents of the outputs in `out_mask`.
    """

    __slots__ = ("_pullbacks", "forward", "num_outs", "out_mask", "residuals", "tangent")

    def __init__(
        self,
        forward: Jaxpr,
        num_outs: int,
        residuals: tuple[int, ...],
        tangent: Jaxpr,
        out_mask: Mask,
    ):
        self.forward = forward
        self.num_outs = num_outs
        self.residuals = residuals
        self.tangent = tangent
        self.out_mask = out_mask
        self._pullbacks: dict[Any, Transposed] = {}

    def with_programs(self, forward: Jaxpr, tangent: Jaxpr) -> Linearized:
        """The same split, with both programs replaced by equivalent ones (calls of them)."""
        return Linearized(forward, self.num_outs, self.residuals, tangent, self.out_mask)

    def pick_residuals(self, args: Sequence[Any], results: Sequence[Any]) -> list[Any]:
        """The residuals' values, given `forward`'s inputs and outputs."""
        num_args = len(args)
        return [args[i] if i < num_args else results[i - num_args] for i in self.residuals]

    def pullback(self, ct_mask: Mask) -> Transposed:
        """The transposed tangent program: residuals, cotangents -> cotangents of the inputs."""
        key = (ct_mask, trace_context())
        derived = self._pullbacks.get(key)
        if derived is None:
            num_residuals = len(self.residuals)
            num_tangents = len(self.tangent.in_avals) - num_residuals
            linear = (False,) * num_residuals + (True,) * num_tangents
            derived = self._pullbacks[key] = transpose(self.tangent, linear, ct_mask)
        return derived


def linearize(jaxpr: Jaxpr, mask: Mask, instantiate: Mask | None = None) -> Linearized:
    """Split ``jaxpr``'s derivative at the inputs in ``mask``; see `Linearized`."""
    key = ("linearize", mask, instantiate, trace_context())
    split = jaxpr.memo.get(key)
    if split is None:
        split = jaxpr.remember(key, _linearize(jaxpr, mask, instantiate))
    return split


def _linearize(jaxpr: Jaxpr, mask: Mask, instantiate: Mask | None) -> Linearized:
    if len(jaxpr.eqns) == 1 and is_whole(jaxpr):
        rule = jaxpr.eqns[0].primitive.linearize
        if rule is not None:
            return rule(jaxpr, mask, instantiate)
        return split_linear(jvp(jaxpr, mask, instantiate), jaxpr)
    return _linearize_equations(jaxpr, mask, instantiate)


def split_linear(derived: Any, jaxpr: Jaxpr) -> Linearized:
    """Partial evaluation: what of a derivative program depends on tangents, and what does not."""
    program, out_mask = derived
    num_in, num_outs = len(jaxpr.in_avals), len(jaxpr.out_avals)
    args, tangents = program.invars[:num_in], program.invars[num_in:]
    unknown: set[Any] = set(tangents)
    forward, linear = [], []
    for eqn in program.eqns:
        if unknown.isdisjoint([v for v in eqn.invars if type(v) is Var]):
            forward.append(eqn)
        else:
            unknown.update(eqn.outvars)
            linear.append(eqn)
    outs, out_tangents = program.outvars[:num_outs], program.outvars[num_outs:]
    return assemble(args, tangents, forward, linear, outs, out_tangents, out_mask)


def assemble(
    args: Sequence[Var],
    tangents: Sequence[Var],
    forward: Sequence[Any],
    linear: Sequence[Any],
    outs: Sequence[Any],
    out_tangents: Sequence[Any],
    out_mask: Mask,
) -> Linearized:
    """Close both halves, finding the residuals: variables of the first that the second reads."""
    linear = prune_equations(linear, out_tangents)
    inner = set(tangents).union(*[eqn.outvars for eqn in linear])
    reads = [v for eqn in linear for v in eqn.invars] + list(out_tangents)
    residuals = list(dict.fromkeys(v for v in reads if type(v) is Var and v not in inner))
    position: dict[Any, int] = {}
    for i, v in enumerate([*args, *outs]):
        if type(v) is Var:
            position.setdefault(v, i)
    extra = [v for v in residuals if v not in position]
    for v in extra:
        position[v] = len(args) + len(outs) + extra.index(v)
    forward_outs = [*outs, *extra]
    return Linearized(
        make_jaxpr_object(args, prune_equations(forward, forward_outs), forward_outs),
        len(outs),
        tuple([position[v] for v in residuals]),
        make_jaxpr_object([*residuals, *tangents], linear, out_tangents),
        out_mask,
    )


def _linearize_equations(jaxpr: Jaxpr, mask: Mask, instantiate: Mask | None) -> Linearized:
    """Linearize each equation by its own memo, staging both halves side by side."""
    stage = StageTrace(embed_constants=True, name="linearize")
    tape_trace = LinearizeTrace(stage)
    with staging(stage):
        inputs = [stage.new_input(a) for a in jaxpr.in_avals]
        args = [tape_trace.wrap(x) if m else x for x, m in zip(inputs, mask, strict=True)]
        with use_trace(tape_trace):
            outs = run_equations(jaxpr, args, tape_trace)
        primals = [tape_trace.primal(x) for x in outs]
        out_atoms = [stage.atom_of(x) for x in primals]
        num_forward = len(stage.eqns)
        tangent_inputs = [stage.new_input(x.aval.tangent) for x in args if tape_trace.owns(x)]
        out_tangents = tape_trace.push_forward(args, tangent_inputs, outs)
        if instantiate is not None:
            out_tangents = [
                zeros(a.tangent) if t is None and wanted else t
                for t, wanted, a in zip(out_tangents, instantiate, jaxpr.out_avals, strict=True)
            ]
        tangent_atoms = [t.atom for t in out_tangents if t is not None]
    num_in = len(inputs)
    return assemble(
        stage.invars[:num_in],
        stage.invars[num_in:],
        stage.eqns[:num_forward],
        stage.eqns[num_forward:],
        out_atoms,
        tangent_atoms,
        tuple([t is not None for t in out_tangents]),
    )


class TapeEntry(NamedTuple):
    """One call on the tape: its derivative, and which nodes its tangents come from and go to."""

    linearized: Linearized
    residuals: list[Any]
    inputs: list[int]
    outputs: range

    def pull_back(self, cts: list[Any]) -> list[Any]:
        """Cotangents of the inputs from those of the outputs (None: zero), in the current trace."""
        program, out_mask = self.linearized.pullback(tuple([ct is not None for ct in cts]))
        args = self.residuals + [ct for ct in cts if ct is not None]
        given = iter(current_trace_state.value.call(program, args))
        return [next(given) if m else None for m in out_mask]

    def push_forward(self, tangents: list[Any]) -> list[Any]:
        """Tangents of the outputs from those of the inputs (None: zero), in the current trace."""
        zero = tuple([t is None for t in tangents])
        program = self.linearized.tangent
        num_residuals = len(self.residuals)
        if True in zero:
            avals = program.in_avals[num_residuals:]
            tangents = [zeros(a) if t is None else t for t, a in zip(tangents, avals, strict=True)]
        return current_trace_state.value.call(program, self.residuals + tangents)


class CustomTapeEntry(NamedTuple):
    """A call on the tape whose pullback is a Python function (an eager `custom_vjp`)."""

    pullback: Callable[[list[Any]], list[Any]]
    inputs: list[int]
    outputs: range

    def pull_back(self, cts: list[Any]) -> list[Any]:
        return self.pullback(cts)

    def push_forward(self, tangents: list[Any]) -> list[Any]:
        raise TypeError(
            "can't apply forward-mode differentiation (jvp) to a custom_vjp function. Define a "
            "custom_jvp rule instead if both modes are needed."
        )


class LinearizeTracer(Tracer):
    """A primal (a value of the parent trace) and its place on the tape."""

    __slots__ = ("node", "primal")

    def __init__(self, trace: Trace, primal: Any, node: int, aval: ShapedArray):
        self._trace = trace
        self.primal = primal
        self.node = node
        self.aval = aval

    def concrete(self) -> Any:
        return self.primal.concrete() if isinstance(self.primal, Tracer) else self.primal

    def origin(self) -> str:
        return self.primal.origin() if isinstance(self.primal, Tracer) else ""


class LinearizeTrace(Trace):
    """Runs forward programs in its parent and keeps a tape of the linear ones."""

    __slots__ = ("num_nodes", "scopes", "tape")

    parent: Trace

    def __init__(self, parent: Trace):
        super().__init__(parent)
        self.tape: list[Any] = []
        self.scopes: dict[int, Scope] = {}  # the named scopes of entries that are in some
        self.num_nodes = 0

    def wrap(self, primal: Any) -> LinearizeTracer:
        """A tracer for an input to differentiate at."""
        self.num_nodes += 1
        return LinearizeTracer(self, primal, self.num_nodes - 1, typeof(primal))

    def owns(self, x: Any) -> bool:
        return type(x) is LinearizeTracer and x._trace is self

    def primal(self, x: Any) -> Any:
        return x.primal if self.owns(x) else x

    def call(self, jaxpr: Jaxpr, args: Sequence[Any]) -> list[Any]:
        # Hot: about 3 us above the parent's call.
        primals, mask, inputs = [], [], []
        for x in args:
            if type(x) is LinearizeTracer and x._trace is self:
                primals.append(x.primal)
                inputs.append(x.node)
                mask.append(True)
            else:
                primals.append(x)
                mask.append(False)
        parent = self.parent
        if not inputs:
            return parent.call(jaxpr, primals)
        split = linearize(jaxpr, tuple(mask))
        results = parent.call(split.forward, primals)
        if True not in split.out_mask:
            return results[: split.num_outs]
        entry = (split, split.pick_residuals(primals, results))
        return self.record(TapeEntry, entry, inputs, results, split.out_mask, jaxpr.out_avals)

    def record(
        self,
        entry: Callable[..., Any],
        parts: tuple,
        inputs: list[int],
        outs: Sequence[Any],
        mask: Mask,
        avals: Sequence[ShapedArray],
    ) -> list[Any]:
        """Put an entry on the tape; give its outputs, as tracers where they have a tangent."""
        first = node = self.num_nodes
        wrapped = []
        for value, nonzero, aval in zip(outs, mask, avals, strict=False):
            if nonzero:
                wrapped.append(LinearizeTracer(self, value, node, aval))
                node += 1
            else:
                wrapped.append(value)
        self.num_nodes = node
        if scope := scope_state.value:
            self.scopes[first] = transformed_scope("jvp", scope)
        self.tape.append(entry(*parts, inputs, range(first, node)))
        return wrapped

    def custom_call(self, function: Any, args: Sequence[Any]) -> list[Any]:
        return function.linearize(self, args)

    def pull_back(self, outs: Sequence[Any], cts: Sequence[Any]) -> dict[int, Any]:
        """Walk the tape backward. Returns cotangents by node; runs in the current trace."""
        sums: dict[int, Any] = {}
        for out, ct in zip(outs, cts, strict=True):
            if self.owns(out):
                add_cotangent(sums, out.node, ct)
        for entry in reversed(self.tape):
            out_cts = [sums.pop(n, None) for n in entry.outputs]
            if any(ct is not None for ct in out_cts):
                in_cts = self._in_scope_of(entry, "transpose", entry.pull_back, out_cts)
                for node, ct in zip(entry.inputs, in_cts, strict=True):
                    if ct is not None:
                        add_cotangent(sums, node, ct)
        return sums

    def push_forward(
        self, args: Sequence[Any], tangents: Sequence[Any], outs: Sequence[Any]
    ) -> list[Any]:
        """Walk the tape forward: tangents of ``outs`` (None: zero), in the current trace."""
        env: dict[int, Any] = {}
        given = iter(tangents)
        for x in args:
            if self.owns(x):
                env[x.node] = next(given)
        needed = self._needed(outs)
        for position, entry in enumerate(self.tape):
            if position in needed:
                in_tangents = [env.get(n) for n in entry.inputs]
                if any(t is not None for t in in_tangents):
                    out_tangents = self._in_scope_of(entry, "", entry.push_forward, in_tangents)
                    env.update(zip(entry.outputs, out_tangents, strict=True))
        return [env.get(x.node) if self.owns(x) else None for x in outs]

    def _in_scope_of(
        self, entry: Any, transformation: str, function: Callable[..., Any], values: list[Any]
    ) -> list[Any]:
        """``function(values)`` in the named scopes in which the entry was recorded."""
        scope = self.scopes.get(entry.outputs.start) if self.scopes else None
        if not scope:
            return function(values)
        with within_scope(transformed_scope(transformation, scope) if transformation else scope):
            return function(values)

    def _needed(self, outs: Sequence[Any]) -> set[int]:
        nodes = {x.node for x in outs if self.owns(x)}
        positions = set()
        for position in range(len(self.tape) - 1, -1, -1):
            entry = self.tape[position]
            if not nodes.isdisjoint(entry.outputs):
                positions.add(position)
                nodes.update(entry.inputs)
        return positions

"""Rewiring programs without tracing them again, and writing them as regions of a module."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from covector._ir.avals import ShapedArray
from covector._ir.jaxpr import Atom, Equation, Jaxpr, Var, make_jaxpr_object
from covector._lower.fences import Fences
from covector._trace.stage import prune_equations
from covector._transform.jvp import zeros

Mask = tuple[bool, ...]

# A body this long gets fusion fences like a program of its own; in a shorter one a fence would only
# cost time in each iteration.
_LONG_BODY = 200


# --- groups of values -----------------------------------------------------------------------------


def split(values: Sequence[Any], *sizes: int) -> list[list[Any]]:
    """Consecutive parts of ``values`` of these sizes, and the rest."""
    parts, start = [], 0
    for size in sizes:
        parts.append(list(values[start : start + size]))
        start += size
    return [*parts, list(values[start:])]


def interleave(*groupings: Sequence[Sequence[Any]]) -> list[Any]:
    """The first groups of all groupings, then the second ones, ..., as one list.

    >>> interleave([[1, 2], [3]], [[10], [30]])
    [1, 2, 10, 3, 30]
    """
    return [x for groups in zip(*groupings, strict=True) for group in groups for x in group]


def pick(values: Sequence[Any], mask: Sequence[bool]) -> list[Any]:
    """Those of ``values`` that the mask marks."""
    return [x for x, m in zip(values, mask, strict=True) if m]


def spread(values: Sequence[Any], mask: Sequence[bool]) -> list[Any]:
    """``values`` in the places that the mask marks, and None in the others."""
    given = iter(values)
    return [next(given) if m else None for m in mask]


def filled(values: Sequence[Any], avals: Sequence[ShapedArray], mask: Sequence[bool]) -> list[Any]:
    """The values in the mask, with zeros of the avals' tangent types for those that are None."""
    chosen = pick(list(zip(values, avals, strict=True)), mask)
    return [zeros(a.tangent) if x is None else x for x, a in chosen]


def nonzero(values: Sequence[Any]) -> Mask:
    """Which tangents or cotangents there are."""
    return tuple([x is not None for x in values])


def union(*masks: Sequence[bool]) -> Mask:
    """Where any of the masks is set."""
    return tuple([any(bits) for bits in zip(*masks, strict=True)])


def fixpoint(step: Callable[[Mask], Sequence[bool]], mask: Mask) -> Mask:
    """The least mask above ``mask`` that ``step`` does not enlarge."""
    while True:
        larger = union(mask, step(mask))
        if larger == mask:
            return mask
        mask = larger


# --- programs -------------------------------------------------------------------------------------


def program_of(eqns: Sequence[Equation], invars: Sequence[Var], outvars: Sequence[Atom]) -> Jaxpr:
    """The program of those equations that the outputs, or effects, need."""
    return make_jaxpr_object(invars, prune_equations(eqns, outvars), outvars)


def rewire(jaxpr: Jaxpr, invars: Sequence[Var], outvars: Sequence[Atom]) -> Jaxpr:
    """``jaxpr``'s equations, as far as needed, between other inputs and outputs."""
    return program_of(jaxpr.eqns, invars, outvars)


def depends(jaxpr: Jaxpr, mask: Sequence[bool]) -> Mask:
    """Which outputs of floating point or complex type may depend on the inputs in ``mask``."""
    reached = {v for v, m in zip(jaxpr.invars, mask, strict=True) if m}
    for eqn in jaxpr.eqns:
        if not reached.isdisjoint([v for v in eqn.invars if type(v) is Var]):
            reached.update([v for v in eqn.outvars if v.aval.has_tangent])
    return tuple([type(v) is Var and v in reached for v in jaxpr.outvars])


def contains(jaxpr: Jaxpr, name: str) -> bool:
    """Whether a primitive of this name occurs in ``jaxpr`` or in a program within it."""
    key = ("contains", name)
    found = jaxpr.memo.get(key)
    if found is None:
        found = jaxpr.memo[key] = any(
            eqn.primitive.name == name or any(contains(inner, name) for inner in programs_in(eqn))
            for eqn in jaxpr.eqns
        )
    return found


def programs_in(eqn: Any) -> Iterator[Jaxpr]:
    """The programs among an equation's params."""
    for value in eqn.params.values():
        for x in value if isinstance(value, tuple) else (value,):
            if isinstance(x, Jaxpr):
                yield x


def check_operands(
    name: str, operands: Sequence[ShapedArray], inputs: Sequence[ShapedArray]
) -> None:
    """Raise `AssertionError` unless operands have the types that a program wants, weak or not."""
    given, wanted = [[(a.shape, a.dtype) for a in avals] for avals in (operands, inputs)]
    if given != wanted:
        raise AssertionError(f"{name}: operands are {list(operands)}, but should be {list(inputs)}")


# --- regions --------------------------------------------------------------------------------------


class RegionWriter:
    """Writes one operation with regions. Its location stands after the last closing brace."""

    def __init__(self, ctx: Any, text: str, num_results: int):
        self.ctx = ctx
        self.location = ctx.current_location
        ctx.current_location = None
        self.names = ctx.emit(text, num_results)
        ctx.current_location = self.location

    @contextmanager
    def region(self, body: Jaxpr | None = None) -> Iterator[None]:
        """Lines appended inside are a region. Constants are written in it, not captured."""
        with self.ctx.region():
            self.ctx.constants = {}
            if body is not None and len(body.eqns) >= _LONG_BODY:
                self.ctx.fences = Fences(self.ctx.module.fences)
            yield

    def line(self, text: str) -> None:
        self.ctx.line(text)

    def close(self, text: str) -> list[str]:
        """Append the last line; the names of the operation's results."""
        self.ctx.lines.append((f"    {text}", self.location))
        return self.names


def write_while(
    ctx: Any,
    inits: Sequence[str],
    avals: Sequence[ShapedArray],
    condition: Callable[[list[str]], str],
    body: Callable[[list[str]], Sequence[str]],
    program: Jaxpr,
) -> list[str]:
    """``stablehlo.while`` over a state; both functions append lines, given the state's names.

    What else they read is captured from outside.
    """
    types = ", ".join([a.mlir for a in avals])
    state = [f"%w{ctx.num_names}_{i}" for i in range(len(inits))]
    pairs = ", ".join([f"{s} = {x}" for s, x in zip(state, inits, strict=True)])
    writer = RegionWriter(ctx, f"stablehlo.while({pairs}) : {types} cond {{", len(inits))
    with writer.region():
        ctx.line(f"stablehlo.return {condition(state)} : tensor<i1>")
    writer.line("} do {")
    with writer.region(program):
        ctx.yield_(body(state), avals)
    return writer.close("}")


def write_branches(
    ctx: Any,
    op: str,
    selector: str,
    selector_aval: ShapedArray,
    branches: Sequence[Jaxpr],
    args: Sequence[str],
) -> list[str]:
    """``stablehlo.if`` or ``stablehlo.case``: one region a branch, which captures its operands."""
    avals = branches[0].out_avals
    writer = RegionWriter(ctx, f'"stablehlo.{op}"({selector}) ({{', len(avals))
    for position, branch in enumerate(branches):
        if position:
            writer.line("}, {")
        with writer.region(branch):
            outs = ctx.inline(branch, args)
            if outs:
                ctx.yield_(outs, avals)
            else:
                ctx.line("stablehlo.return")
    types = ", ".join([a.mlir for a in avals])
    return writer.close(f"}}) : ({selector_aval.mlir}) -> ({types})")

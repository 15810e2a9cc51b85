"""What the linear half of a scan reads of the forward half, and how little of it is kept.

A residual of the body is needed in each step. It need not be stacked if it is a slice of xs or ys
anyway, if it depends on the constants alone, or if a smaller value that it is made from will do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from covector._ir.jaxpr import NO_EFFECTS, Equation, Jaxpr, Var
from covector._transform.linearize import Linearized
from covector.lax.control.programs import pick, program_of, rewire, split

# Operations that spread or widen a value, and cost less to do again than their result to keep.
_CHEAP = ("broadcast_in_dim", "convert_element_type")


def keep_sources(halves: Linearized) -> Linearized:
    """The same split, where the linear half itself makes what is cheaply made from less."""
    forward, tangent, num_outs = halves.forward, halves.tangent, halves.num_outs
    variables: list[Any] = [*forward.invars, *forward.outvars]
    place = {v: i for i, v in reversed([*enumerate(variables[: len(forward.invars) + num_outs])])}
    values, directions = split(tangent.invars, len(halves.residuals))
    # What the linear half knows of the forward half: its variables for that one's variables.
    known = {variables[p]: v for p, v in zip(halves.residuals, values, strict=True)}
    growing = {eqn.outvars[0]: eqn for eqn in forward.eqns if _grows(eqn)}
    repeated = set()
    needed = list(known)
    for v in needed:
        if v in growing and v not in place:
            repeated.add(v)
            source = growing[v].invars[0]
            if type(source) is Var and source not in known:
                known[source] = Var(source.aval)
                needed.append(source)
    kept = [v for v in needed if v not in repeated]
    extra = [v for v in kept if v not in place]
    place.update({v: len(forward.invars) + num_outs + i for i, v in enumerate(extra)})
    again = [
        Equation(e.primitive, e.params, [known.get(a, a) for a in e.invars], [known[v]], e.source)
        for v, e in growing.items()
        if v in repeated
    ]
    return Linearized(
        rewire(forward, forward.invars, [*forward.outvars[:num_outs], *extra]),
        num_outs,
        tuple([place[v] for v in kept]),
        program_of(
            [*again, *tangent.eqns], [*[known[v] for v in kept], *directions], tangent.outvars
        ),
        halves.out_mask,
    )


def _grows(eqn: Equation) -> bool:
    """Whether the equation makes a larger value from a smaller one, at little cost."""
    if eqn.primitive.name not in _CHEAP:
        return False
    small, large = eqn.invars[0].aval, eqn.outvars[0].aval
    return small.size * small.dtype.itemsize < large.size * large.dtype.itemsize


class ScanResiduals:
    """Where each residual of the body comes from in the scan as a whole.

    The residuals are given as positions among the inputs and outputs of `forward`, the body, whose
    outputs but for the first `num_outs` are there for them alone.

    `hoisted`: variables of the forward body that depend on constants alone: computed before the
    loop. `stacked`: those that become further ys. `positions`: each residual's place among the
    scan's inputs and outputs, then the hoisted ones, then the stacked ones. `is_constant`: whether
    it is the same in all steps.
    """

    def __init__(
        self, forward: Jaxpr, num_outs: int, residuals: Sequence[int], params: dict[str, Any]
    ):
        self.forward = forward
        num_consts, num_carry = params["num_consts"], params["num_carry"]
        num_in = len(forward.in_avals)
        variables = [*forward.invars, *forward.outvars]
        ys = {v: num_in + i for i, v in enumerate(forward.outvars[:num_outs]) if i >= num_carry}
        fixed = _constant_variables(forward, num_consts)
        self.hoisted: list[Var] = []
        self.stacked: list[Var] = []
        places: list[tuple[str, int]] = []
        for p in residuals:
            v: Any = variables[p]
            if p < num_consts:
                places.append(("constant", p))
            elif num_consts + num_carry <= p < num_in:
                places.append(("given", p))
            elif v in fixed:
                places.append(("hoisted", _place(self.hoisted, v)))
            elif v in ys:
                places.append(("given", ys[v]))
            else:
                places.append(("stacked", _place(self.stacked, v)))
        offset = {"hoisted": num_in + num_outs}
        offset["stacked"] = offset["hoisted"] + len(self.hoisted)
        self.positions = tuple([offset.get(kind, 0) + i for kind, i in places])
        self.is_constant = [kind in ("constant", "hoisted") for kind, _ in places]

    def by_kind(self, values: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Values for the residuals: those that are the same in all steps, and the others."""
        return pick(values, self.is_constant), pick(values, [not c for c in self.is_constant])


def _place(variables: list[Var], v: Var) -> int:
    if v not in variables:
        variables.append(v)
    return variables.index(v)


def _constant_variables(jaxpr: Jaxpr, num_consts: int) -> set[Var]:
    """The variables that depend on the leading inputs alone."""
    fixed = set(jaxpr.invars[:num_consts])
    for eqn in jaxpr.eqns:
        if eqn.effects == NO_EFFECTS and all(type(v) is not Var or v in fixed for v in eqn.invars):
            fixed.update(eqn.outvars)
    return fixed

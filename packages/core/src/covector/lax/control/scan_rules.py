"""The rules of `scan_p` for derivatives, transposition and batching: each gives scans again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from covector._ir.avals import ShapedArray
from covector._ir.jaxpr import Equation, Jaxpr, Var
from covector._trace.primitive import Linear, Primitive
from covector._trace.stage import stage_rule
from covector._trace.trace import current_trace_state, typeof
from covector._transform.batch import BatchAxis, batch, move_batch_axis
from covector._transform.divide import divide
from covector._transform.jvp import jvp, zeros
from covector._transform.linearize import Linearized, linearize
from covector._transform.transpose import Transposed, add, transpose
from covector.lax.control.programs import (
    Mask,
    depends,
    filled,
    fixpoint,
    interleave,
    nonzero,
    pick,
    program_of,
    rewire,
    split,
    spread,
    union,
)
from covector.lax.control.residuals import ScanResiduals, keep_sources
from covector.lax.dot import dot_general_p
from covector.lax.reduce import reduce_sum_p


def bind_scan(
    groups: Sequence[Sequence[Any]], jaxpr: Jaxpr, params: dict[str, Any], **changes: Any
) -> list[Any]:
    """Apply `scan_p` to (constants, carry, xs), otherwise as ``params`` say.

    A y that is the slice of an x is not stacked again: it is that x.
    """
    from covector.lax.control.scan import scan_p

    consts, init, xs = groups
    given = dict(zip(jaxpr.invars[len(consts) + len(init) :], xs, strict=True))
    last, ys = split(jaxpr.outvars, len(init))
    computed = [y not in given for y in ys]
    if not all(computed):
        jaxpr = rewire(jaxpr, jaxpr.invars, [*last, *pick(ys, computed)])
    own = {"jaxpr": jaxpr, "num_consts": len(consts), "num_carry": len(init)}
    outs = scan_p.bind(*consts, *init, *xs, **{**params, **own, **changes})
    last, stacks = split(outs, len(init))
    stacks = spread(stacks, computed)
    return [*last, *[given[y] if s is None else s for y, s in zip(ys, stacks, strict=True)]]


def _groups(values: Sequence[Any], params: dict[str, Any]) -> list[list[Any]]:
    """Constants, carry and xs of a scan, or whatever stands for them."""
    return split(values, params["num_consts"], params["num_carry"])


def _num_ys(params: dict[str, Any]) -> int:
    return len(params["jaxpr"].out_avals) - params["num_carry"]


# --- forward mode ---------------------------------------------------------------------------------


def jvp_scan(primals: list, tangents: list, **params: Any) -> tuple[list, list]:
    body: Jaxpr = params["jaxpr"]
    consts, init, xs = _groups(primals, params)
    t_consts, t_init, t_xs = _groups(tangents, params)
    rest = (False,) * _num_ys(params)

    def derive(carry: Mask) -> Any:
        return jvp(body, (*nonzero(t_consts), *carry, *nonzero(t_xs)), (*carry, *rest))

    mask = fixpoint(lambda carry: derive(carry).out_mask[: len(carry)], nonzero(t_init))
    derived, out_mask = derive(mask)
    given = [[t for t in group if t is not None] for group in (t_consts, t_xs)]
    directions = [given[0], filled(t_init, [typeof(x) for x in init], mask), given[1]]
    values, tangent_vars = split(derived.invars, len(body.in_avals))
    inputs = interleave(
        _groups(values, params), split(tangent_vars, len(directions[0]), len(directions[1]))
    )
    outs, out_tangents = split(derived.outvars, len(body.out_avals))
    outputs = interleave(split(outs, len(init)), split(out_tangents, sum(mask)))
    together = [[*v, *t] for v, t in zip((consts, init, xs), directions, strict=True)]
    results = bind_scan(together, rewire(derived, inputs, outputs), params)
    carry, t_carry, ys, t_ys = split(results, len(init), sum(mask), len(rest))
    return [*carry, *ys], spread([*t_carry, *t_ys], out_mask)


# --- reverse mode: the two halves -----------------------------------------------------------------


def linearize_scan(call: Jaxpr, mask: Mask, instantiate: Mask | None) -> Linearized:
    params = call.eqns[0].params
    body: Jaxpr = params["jaxpr"]
    const_mask, init_mask, xs_mask = [tuple(m) for m in _groups(mask, params)]
    rest = (False,) * _num_ys(params)

    def derive(carry: Mask) -> Linearized:
        return linearize(body, (*const_mask, *carry, *xs_mask), (*carry, *rest))

    carry_mask = fixpoint(lambda carry: derive(carry).out_mask[: len(carry)], init_mask)
    halves = keep_sources(derive(carry_mask))
    residuals = ScanResiduals(halves.forward, halves.num_outs, halves.residuals, params)
    forward = _forward_program(call, residuals, params)
    out_mask = halves.out_mask
    wanted = out_mask if instantiate is None else union(out_mask, instantiate)

    def tangent(*args: Any) -> list[Any]:
        values, directions = split(args, len(halves.residuals))
        t_consts, t_init, t_xs = split(directions, sum(const_mask), sum(init_mask))
        init_avals = _groups(call.in_avals, params)[1]
        t_init = filled(spread(t_init, init_mask), init_avals, carry_mask)
        once, stacked = residuals.by_kind(values)
        program = _linear_body(halves.tangent, residuals, len(t_consts), len(t_init))
        groups = [[*once, *t_consts], t_init, [*stacked, *t_xs]]
        outs = spread(bind_scan(groups, program, params), out_mask)
        return filled(outs, call.out_avals, wanted)

    tangent_avals = [a.tangent for a in pick(call.in_avals, mask)]
    given = [*call.in_avals, *forward.out_avals]
    in_avals = [*[given[p] for p in residuals.positions], *tangent_avals]
    program = stage_rule(tangent, in_avals)
    return Linearized(forward, len(call.out_avals), residuals.positions, program, wanted)


def _forward_program(call: Jaxpr, residuals: ScanResiduals, params: dict[str, Any]) -> Jaxpr:
    """The scan that also gives the residuals: hoisted ones, then stacked ones."""
    forward = residuals.forward
    consts, carry, xs = _groups(forward.invars, params)
    # An equation that defines a hoisted value moves out of the body, with all its results.
    wanted = set(residuals.hoisted)
    moved = [eqn for eqn in forward.eqns if not wanted.isdisjoint(eqn.outvars)]
    defined = [v for eqn in moved for v in eqn.outvars]
    before = rewire(forward, consts, defined)
    num_outs = len(call.out_avals)
    body = program_of(
        [eqn for eqn in forward.eqns if eqn not in moved],
        [*consts, *defined, *carry, *xs],
        [*forward.outvars[:num_outs], *residuals.stacked],
    )

    def program(*args: Any) -> list[Any]:
        consts, init, xs = _groups(args, params)
        once = current_trace_state.value.call(before, consts) if defined else []
        outs = bind_scan([[*consts, *once], init, xs], body, params)
        values = dict(zip(defined, once, strict=True))
        return [
            *outs[:num_outs],
            *[values[v] for v in residuals.hoisted],
            *outs[num_outs:],
        ]

    return stage_rule(program, call.in_avals)


def _linear_body(
    tangent: Jaxpr, residuals: ScanResiduals, num_consts: int, num_carry: int
) -> Jaxpr:
    """The body's linear program with its inputs in a scan's order."""
    values, directions = split(tangent.invars, len(residuals.positions))
    t_consts, t_carry, t_xs = split(directions, num_consts, num_carry)
    once, stacked = residuals.by_kind(values)
    return rewire(tangent, [*once, *t_consts, *t_carry, *stacked, *t_xs], tangent.outvars)


# --- what is kept, and what is computed again -----------------------------------------------------


def divide_scan(call: Jaxpr, wanted: Mask, policy: Any) -> Linearized:
    """Two scans: the second one goes through those carries again that it reads."""
    params = call.eqns[0].params
    body: Jaxpr = params["jaxpr"]
    num_consts, num_carry = params["num_consts"], params["num_carry"]
    wanted_carry, wanted_ys = split(wanted, num_carry)
    carry_positions = range(num_consts, num_consts + num_carry)

    def derive(carry: Mask) -> Linearized:
        return divide(body, (*carry, *wanted_ys), policy)

    def read(carry: Mask) -> list[bool]:
        residuals = derive(carry).residuals
        return [p in residuals for p in carry_positions]

    carry = fixpoint(read, tuple(wanted_carry))
    halves = derive(carry)
    kept = [(p, v) for p, v in zip(halves.residuals, halves.tangent.invars, strict=True)]
    values = [v for p, v in kept if p not in carry_positions]
    carried = {p: v for p, v in kept if p in carry_positions}
    residuals = ScanResiduals(
        halves.forward,
        halves.num_outs,
        [p for p in halves.residuals if p not in carry_positions],
        params,
    )
    inits = pick(list(carry_positions), carry)
    carry_vars = [carried.get(p) or Var(body.in_avals[p]) for p in inits]
    once, stacked = residuals.by_kind(values)
    program = rewire(halves.tangent, [*once, *carry_vars, *stacked], halves.tangent.outvars)

    def again(*args: Any) -> list[Any]:
        values, init = split(args, len(residuals.positions))
        once, stacked = residuals.by_kind(values)
        last, ys = split(bind_scan([once, init, stacked], program, params), len(init))
        return [*pick(last, pick(wanted_carry, carry)), *ys]

    forward = _forward_program(call, residuals, params)
    given = [*call.in_avals, *forward.out_avals]
    positions = (*residuals.positions, *inits)
    second = stage_rule(again, [given[p] for p in positions])
    return Linearized(forward, len(call.out_avals), positions, second, wanted)


def prune_scan(eqn: Equation, used: Mask) -> Equation:
    """Without what the wanted results do not need: carries, ys, and the operands for them."""
    params = eqn.params
    body: Jaxpr = params["jaxpr"]
    outs, ys = split(body.outvars, params["num_carry"])
    used_carry, used_ys = split(used, params["num_carry"])

    def kept(carry: Mask) -> Jaxpr:
        return rewire(body, body.invars, [*pick(outs, carry), *pick(ys, used_ys)])

    carry = fixpoint(lambda c: _groups(kept(c).used_inputs(), params)[1], tuple(used_carry))
    program = kept(carry)
    of_consts, _, of_xs = _groups(program.used_inputs(), params)
    reads = [*of_consts, *carry, *of_xs]
    own = {
        "jaxpr": rewire(program, pick(program.invars, reads), program.outvars),
        "num_consts": sum(of_consts),
        "num_carry": sum(carry),
    }
    return Equation(
        eqn.primitive,
        {**params, **own},
        pick(eqn.invars, reads),
        pick(eqn.outvars, [*carry, *used_ys]),
        eqn.source,
    )


# --- reverse mode: transposition ------------------------------------------------------------------


def transpose_scan(cts: list, *args: Any, **params: Any) -> list:
    """A scan the other way, whose carry also sums up the cotangents of constants."""
    known_init = [not isinstance(x, Linear) for x in _groups(args, params)[1]]
    if any(known_init):
        return _transpose_partly_known(cts, args, params)
    return _transpose_linear(cts, args, params)


def _transpose_linear(cts: list, args: Sequence[Any], params: dict[str, Any]) -> list:
    """For a carry that is linear as a whole."""
    body: Jaxpr = params["jaxpr"]
    consts, init, xs = _groups(args, params)
    linear_consts, linear_xs = [[isinstance(x, Linear) for x in g] for g in (consts, xs)]
    known_consts, known_xs = [[x for x in g if not isinstance(x, Linear)] for g in (consts, xs)]
    ct_last, ct_ys = split(cts, len(init))
    linear = (*linear_consts, *[True] * len(init), *linear_xs)

    def derive(carry: Mask) -> Transposed:
        return transpose(body, linear, (*carry, *nonzero(ct_ys)))

    def parts(out_mask: Mask) -> list[list[bool]]:
        return split(out_mask, sum(linear_consts), len(init))

    mask = fixpoint(lambda carry: parts(derive(carry).out_mask)[1], nonzero(ct_last))
    derived = derive(mask)
    const_mask, found, xs_mask = parts(derived.out_mask)
    totals = [zeros(x.aval.tangent) for x in pick(pick(consts, linear_consts), const_mask)]
    carry_avals = body.out_avals[: len(init)]
    ct_carry = filled(ct_last, carry_avals, mask)
    slices = [*known_xs, *[ct for ct in ct_ys if ct is not None]]

    def in_place(totals: Sequence[Any], ct_carry: Sequence[Any], ct_xs: Sequence[Any]) -> list:
        return [
            *spread(spread(totals, const_mask), linear_consts),
            *spread(ct_carry, mask),
            *spread(spread(ct_xs, xs_mask), linear_xs),
        ]

    if params["split_transpose"] and params["length"]:
        step = _StepBack(derived.jaxpr, len(known_xs), len(totals), found, carry_avals, mask)
        return in_place(*_transpose_apart(step, known_consts, ct_carry, slices, params))
    groups = [known_consts, [*totals, *ct_carry], slices]

    def backward(*inputs: Any) -> list[Any]:
        """One step back: through the transposed body, with cotangents of constants added up."""
        own, carry, slices = split(inputs, len(known_consts), len(groups[1]))
        sums, cts = split(carry, len(totals))
        given, ct_slices = split(slices, len(known_xs))
        results = current_trace_state.value.call(derived.jaxpr, [*own, *given, *cts, *ct_slices])
        more, cts, ct_xs = split(results, len(totals), sum(found))
        return [*map(add, sums, more), *filled(spread(cts, found), carry_avals, mask), *ct_xs]

    program = stage_rule(backward, _body_avals(groups))
    outs = bind_scan(groups, program, params, reverse=not params["reverse"])
    return in_place(*split(outs, len(totals), len(ct_carry)))


class _StepBack(NamedTuple):
    """One step back: the transposed body, and what its inputs and outputs are."""

    jaxpr: Jaxpr  # constants, known xs, cotangents of carry and ys -> those of constants, carry, xs
    num_known_xs: int
    num_consts: int  # how many constants have a cotangent
    found: Sequence[bool]  # which of the carry get a cotangent from a step
    carry_avals: Sequence[ShapedArray]
    mask: Mask  # which of the carry have a cotangent


def _transpose_apart(
    step: _StepBack,
    consts: list[Any],
    ct_carry: list[Any],
    slices: list[Any],
    params: dict[str, Any],
) -> tuple[list[Any], list[Any], list[Any]]:
    """The carry's cotangents by a scan that stacks them, then all others for all steps at once."""
    body = step.jaxpr
    for_consts, for_carry, for_xs = split(body.outvars, step.num_consts, sum(step.found))
    recurrence = rewire(body, body.invars, for_carry)
    rest = rewire(body, body.invars, [*for_consts, *for_xs])

    def backward(*inputs: Any) -> list[Any]:
        own, carry, parts = split(inputs, len(consts), len(ct_carry))
        known, cts = split(parts, step.num_known_xs)
        outs = current_trace_state.value.call(recurrence, [*own, *known, *carry, *cts])
        return [*filled(spread(outs, step.found), step.carry_avals, step.mask), *carry]

    groups = [consts, ct_carry, slices]
    program = stage_rule(backward, _body_avals(groups))
    outs = bind_scan(groups, program, params, reverse=not params["reverse"])
    ct_init, stacked = split(outs, len(ct_carry))
    known, cts = split(slices, step.num_known_xs)
    stacks = [*known, *stacked, *cts]
    dims = (None,) * len(consts) + (0,) * len(stacks)
    axis = BatchAxis(params["length"])
    program = batch(rest, axis, dims, (0,) * len(rest.out_avals)).jaxpr
    program = _sum_first_axes(program, step.num_consts)
    outs = current_trace_state.value.call(program, [*consts, *stacks])
    totals, ct_xs = split(outs, step.num_consts)
    return totals, ct_init, ct_xs


def _sum_first_axes(program: Jaxpr, count: int) -> Jaxpr:
    """The program with its first ``count`` outputs summed over their first axes.

    A product with that axis as a batch axis becomes one that contracts it.
    """
    outer, rest = split(program.outvars, count)
    made_by = {eqn.outvars[0]: eqn for eqn in program.eqns if eqn.primitive is dot_general_p}
    sums, eqns = [], list(program.eqns)
    for atom in outer:
        eqn = made_by.get(atom)
        primitive: Primitive = reduce_sum_p
        operands: Sequence[Any] = [atom]
        params: dict[str, Any] = {"axes": (0,)}
        if eqn is not None and eqn.params["dimension_numbers"][1][0]:
            (lhs, rhs), (lhs_batch, rhs_batch) = eqn.params["dimension_numbers"]
            contract = ((*lhs, lhs_batch[0]), (*rhs, rhs_batch[0]))
            numbers = (contract, (lhs_batch[1:], rhs_batch[1:]))
            primitive, operands = dot_general_p, eqn.invars
            params = {**eqn.params, "dimension_numbers": numbers}
        total = Var(atom.aval.update(shape=atom.aval.shape[1:]))
        eqns.append(Equation(primitive, params, operands, [total], None))
        sums.append(total)
    return program_of(eqns, program.invars, [*sums, *rest])


def _body_avals(groups: Sequence[Sequence[Any]]) -> list[ShapedArray]:
    """The types of a body's inputs, from a scan's constants, carry and xs."""
    consts, carry, xs = groups
    slices = [typeof(x) for x in xs]
    return [
        *[typeof(x) for x in [*consts, *carry]],
        *[a.update(shape=a.shape[1:]) for a in slices],
    ]


def _transpose_partly_known(cts: list, args: Sequence[Any], params: dict[str, Any]) -> list:
    """Compute what is known of the carry by a scan of its own; its values become xs.

    A known initial value does not make a known carry: the zeros that a tangent begins with do not.
    """
    body: Jaxpr = params["jaxpr"]
    groups = _groups(args, params)
    consts, init, xs = groups
    fixed, moving = [tuple([isinstance(x, Linear) for x in g]) for g in (consts, xs)]
    given = tuple([isinstance(x, Linear) for x in init])
    linear = fixpoint(lambda carry: depends(body, (*fixed, *carry, *moving))[: len(carry)], given)
    known = [not m for m in linear]
    const_vars, carry_vars, x_vars = _groups(body.invars, params)
    outs, ys = split(body.outvars, len(init))

    values: list[Any] = []
    if any(known):
        known_consts = [not m for m in fixed]
        known_xs = [not m for m in moving]
        own_carry = pick(carry_vars, known)
        program = rewire(
            body,
            [*pick(const_vars, known_consts), *own_carry, *pick(x_vars, known_xs)],
            [*pick(outs, known), *own_carry],
        )
        own = [pick(consts, known_consts), pick(init, known), pick(xs, known_xs)]
        values = bind_scan(own, program, params)[sum(known) :]
    rest = rewire(
        body,
        [*const_vars, *pick(carry_vars, linear), *pick(carry_vars, known), *x_vars],
        [*pick(outs, linear), *ys],
    )
    ct_last, ct_ys = split(cts, len(init))
    inner = {**params, "jaxpr": rest, "num_carry": sum(linear)}
    operands = [*consts, *pick(init, linear), *values, *xs]
    results = _transpose_linear([*pick(ct_last, linear), *ct_ys], operands, inner)
    ct_consts, ct_init, _, ct_xs = split(results, len(consts), sum(linear), len(values))
    ct_init = [ct if m else None for ct, m in zip(spread(ct_init, linear), given, strict=True)]
    return [*ct_consts, *ct_init, *ct_xs]


# --- batching -------------------------------------------------------------------------------------


def batch_scan(axis: Any, args: list, dims: tuple, **params: Any) -> tuple[list, list]:
    """The same scan on arrays with a batch axis; in xs and ys it stands behind the scanned axis."""
    body: Jaxpr = params["jaxpr"]
    consts, init, xs = _groups(args, params)
    const_dims, init_dims, x_dims = _groups(dims, params)
    xs = [
        x if d is None else move_batch_axis(x, axis.size, d, max(d, 1))
        for x, d in zip(xs, x_dims, strict=True)
    ]
    slice_dims = [None if d is None else max(d, 1) - 1 for d in x_dims]
    carry_dims = init_dims
    rest = [None] * _num_ys(params)
    while True:
        derived, out_dims = batch(
            body, axis, (*const_dims, *carry_dims, *slice_dims), (*carry_dims, *rest)
        )
        found, y_dims = split(out_dims, len(init))
        if found == carry_dims:
            break
        carry_dims = found
    init = [
        x if to is None else move_batch_axis(x, axis.size, d, to)
        for x, d, to in zip(init, init_dims, carry_dims, strict=True)
    ]
    outs = bind_scan([consts, init, xs], derived, params)
    return outs, [*carry_dims, *[None if d is None else d + 1 for d in y_dims]]

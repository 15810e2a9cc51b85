"""Rematerialization: what a derivative computes again, to keep less in memory.

`remat_p` calls a program. Its `linearize` rule splits that program's derivative as usual, and then
moves from the forward half into the linear half all that leads to residuals and that the policy
does not save. Without a policy, nothing but inputs is kept (Griewank and Walther, "Evaluating
Derivatives", 2008, chapter 12). The linear half, and all that derives from it, is again an
application of `remat_p`, now `differentiated`: it is lowered behind a barrier on its inputs. The
cotangents are among them, so the second computation is neither merged with the first, nor begun
before the backward pass arrives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from covector._ir.jaxpr import Atom, Equation, Jaxpr, Literal, Var, make_jaxpr_object
from covector._trace.primitive import Linear, Primitive
from covector._trace.stage import prune_equations
from covector._transform.batch import batch
from covector._transform.jvp import jvp
from covector._transform.linearize import Linearized, linearize
from covector._transform.transpose import transpose

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


def saves(policy: Policy | None, eqn: Equation) -> bool:
    """Whether ``policy`` keeps the results of an equation."""
    if policy is None:
        return False
    answer = policy(eqn.primitive, *[a.aval for a in eqn.invars], **eqn.params)
    return not isinstance(answer, RecomputeType) and bool(answer)


def _linearize(call: Jaxpr, mask: tuple, instantiate: tuple | None) -> Linearized:
    params = call.eqns[0].params
    halves = linearize(params["jaxpr"], mask, instantiate)
    forward = halves.forward if params["policy"] is None else inline_calls(halves.forward)
    num_in, num_outs = len(forward.invars), halves.num_outs
    variables: list[Any] = [*forward.invars, *forward.outvars]
    wanted = [variables[p] for p in halves.residuals]
    kept, again = _divide(forward, wanted, params["policy"])
    place = {v: i for i, v in reversed(list(enumerate(variables[: num_in + num_outs])))}
    extra = [v for v in kept if v not in place]
    place.update({v: num_in + num_outs + i for i, v in enumerate(extra)})
    first = _program(forward.eqns, forward.invars, [*forward.outvars[:num_outs], *extra])
    second = _join(again, kept, halves.tangent, wanted)
    return Linearized(
        _call(first, params, params["differentiated"]),
        num_outs,
        tuple([place[v] for v in kept]),
        _call(second, params, differentiated=True),
        halves.out_mask,
    )


def _divide(
    forward: Jaxpr, wanted: Sequence[Any], policy: Policy | None
) -> tuple[list[Var], list[Equation]]:
    """The variables to keep, and the equations that make the wanted ones from them."""
    needed, kept, again = set(wanted), set(), []
    for eqn in reversed(forward.eqns):
        if needed.isdisjoint(eqn.outvars):
            continue
        if saves(policy, eqn):
            kept.update(needed.intersection(eqn.outvars))
        else:
            again.append(eqn)
            needed.update([a for a in eqn.invars if type(a) is Var])
    order = [*forward.invars, *[v for eqn in forward.eqns for v in eqn.outvars]]
    inputs = needed.intersection(forward.invars)
    return [v for v in order if v in inputs or v in kept], again[::-1]


def _join(
    again: Sequence[Equation], kept: Sequence[Var], tangent: Jaxpr, wanted: Sequence[Any]
) -> Jaxpr:
    """The linear half, which first makes the residuals that are not kept."""
    known: dict[Atom, Any] = dict(zip(tangent.invars, wanted, strict=False))
    linear = [
        Equation(e.primitive, e.params, [known.get(a, a) for a in e.invars], e.outvars, e.source)
        for e in tangent.eqns
    ]
    directions = tangent.invars[len(wanted) :]
    outs = [known.get(a, a) for a in tangent.outvars]
    return _program([*again, *linear], [*kept, *directions], outs)


def _program(eqns: Sequence[Equation], invars: Sequence[Var], outvars: Sequence[Any]) -> Jaxpr:
    return make_jaxpr_object(invars, prune_equations(eqns, outvars), outvars)


def _call(jaxpr: Jaxpr, params: dict[str, Any], differentiated: bool) -> Jaxpr:
    """The one-equation program that applies `remat_p` to ``jaxpr``."""
    params = {**params, "jaxpr": jaxpr, "differentiated": differentiated}
    return remat_p.jaxpr(jaxpr.in_avals, params)


def inline_calls(jaxpr: Jaxpr) -> Jaxpr:
    """``jaxpr`` with the programs of nested `jit`s in place, so that a policy sees into them."""
    from covector.lax.call import jit_p

    eqns: list[Equation] = []

    def append(program: Jaxpr, atoms: Sequence[Any], caller: Any = None) -> list[Any]:
        env: dict[Any, Any] = dict(zip(program.invars, atoms, strict=True))

        def read(atom: Any) -> Any:
            return atom if type(atom) is Literal else env[atom]

        for eqn in program.eqns:
            inputs = [read(a) for a in eqn.invars]
            source = eqn.source or caller
            if eqn.primitive is jit_p:
                outs = append(eqn.params["jaxpr"], inputs, source)
            else:
                outs = [Var(v.aval) for v in eqn.outvars]
                eqns.append(Equation(eqn.primitive, eqn.params, inputs, outs, source))
            env.update(zip(eqn.outvars, outs, strict=True))
        return [read(a) for a in program.outvars]

    return make_jaxpr_object(jaxpr.invars, eqns, append(jaxpr, jaxpr.invars))


# --- the other rules: those of the program --------------------------------------------------------


def _jvp(primals: list, tangents: list, *, jaxpr: Jaxpr, **params: Any) -> tuple[list, list]:
    derived, out_mask = jvp(jaxpr, tuple([t is not None for t in tangents]))
    args = [*primals, *[t for t in tangents if t is not None]]
    outs = remat_p.bind(*args, jaxpr=derived, **params)
    given = iter(outs[len(out_mask) :])
    return outs[: len(out_mask)], [next(given) if m else None for m in out_mask]


def _transpose(cts: list, *args: Any, jaxpr: Jaxpr, **params: Any) -> list:
    linear = tuple([isinstance(x, Linear) for x in args])
    derived, out_mask = transpose(jaxpr, linear, tuple([ct is not None for ct in cts]))
    known = [x for x, m in zip(args, linear, strict=True) if not m]
    outs = remat_p.bind(*known, *[ct for ct in cts if ct is not None], jaxpr=derived, **params)
    given = iter(outs)
    results = iter([next(given) if m else None for m in out_mask])
    return [next(results) if m else None for m in linear]


def _batch(axis: Any, args: list, dims: tuple, *, jaxpr: Jaxpr, **params: Any) -> tuple[list, Any]:
    derived, out_dims = batch(jaxpr, axis, dims)
    return remat_p.bind(*args, jaxpr=derived, **params), out_dims


def _lower(
    ctx: Any,
    args: Sequence[str],
    in_avals: Sequence[Any],
    out_avals: Sequence[Any],
    *,
    jaxpr: Jaxpr,
    policy: Policy | None,
    prevent_cse: bool,
    differentiated: bool,
) -> list[str]:
    if prevent_cse and differentiated and args:
        types = ", ".join([a.mlir for a in in_avals])
        args = ctx.emit(f"stablehlo.optimization_barrier {', '.join(args)} : {types}", len(args))
    return ctx.inline(jaxpr, args)


# Params: jaxpr, policy, prevent_cse, differentiated.
remat_p = Primitive(
    "remat",
    abstract=lambda *avals, jaxpr, policy, prevent_cse, differentiated: list(jaxpr.out_avals),
    lower=_lower,
    jvp=_jvp,
    linearize=_linearize,
    transpose=_transpose,
    batch=_batch,
    effects=lambda params: params["jaxpr"].effects,
    multiple_results=True,
)

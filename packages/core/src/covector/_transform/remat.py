"""Rematerialization: what a derivative computes again, to keep less in memory.

`remat_p` calls a program. Its `linearize` rule splits that program's derivative as usual, and then
moves from the forward half into the linear half all that leads to residuals and that the policy
does not save (see `divide.py`). Without a policy, nothing but inputs is kept (Griewank and Walther,
"Evaluating Derivatives", 2008, chapter 12). The linear half, and all that derives from it, is again
an application of `remat_p`, now `differentiated`: it is lowered behind a barrier on its inputs. The
cotangents are among them, so the second computation is neither merged with the first, nor begun
before the backward pass arrives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from covector._ir.jaxpr import Equation, Jaxpr, make_jaxpr_object
from covector._trace.primitive import Linear, Primitive
from covector._trace.stage import prune_call
from covector._transform.batch import batch
from covector._transform.divide import EitherPolicy, Policy, Writer, divide, divide_for
from covector._transform.jvp import jvp
from covector._transform.linearize import Linearized, linearize
from covector._transform.transpose import transpose


def _linearize(call: Jaxpr, mask: tuple, instantiate: tuple | None) -> Linearized:
    params = call.eqns[0].params
    policy = params["policy"]
    program = params["jaxpr"] if policy is None else also_saving(params["jaxpr"], policy)
    halves = linearize(program, mask, instantiate)
    variables = [*halves.forward.invars, *halves.forward.outvars]
    wanted = [variables[p] for p in halves.residuals]
    parts = divide_for(halves.forward, halves.num_outs, wanted, policy)
    second = _join(parts.tangent, halves.tangent)
    return Linearized(
        _call(parts.forward, params, params["differentiated"]),
        halves.num_outs,
        parts.residuals,
        _call(second, params, differentiated=True),
        halves.out_mask,
    )


def also_saving(jaxpr: Jaxpr, policy: Policy) -> Jaxpr:
    """``jaxpr``, in which `remat`s within also keep what ``policy`` keeps.

    Else the policy of a `remat` around them could not keep anything of what they compute.
    """
    key = ("also_saving", policy)
    program = jaxpr.memo.get(key)
    if program is None:
        eqns = [_also_saving(eqn, policy) for eqn in jaxpr.eqns]
        program = jaxpr.remember(key, make_jaxpr_object(jaxpr.invars, eqns, jaxpr.outvars))
    return program


def _also_saving(eqn: Equation, policy: Policy) -> Equation:
    if eqn.primitive.divide is None:
        return eqn
    params = {name: _map_programs(value, policy) for name, value in eqn.params.items()}
    if eqn.primitive is remat_p:
        params["policy"] = _either(params["policy"], policy)
    return Equation(eqn.primitive, params, eqn.invars, eqn.outvars, eqn.source)


def _map_programs(value: Any, policy: Policy) -> Any:
    if isinstance(value, Jaxpr):
        return also_saving(value, policy)
    if type(value) is tuple:
        return tuple([_map_programs(x, policy) for x in value])
    return value


def _either(inner: Policy | None, outer: Policy) -> Policy:
    if inner is None or inner == outer:
        return outer
    if isinstance(inner, EitherPolicy) and inner.second == outer:
        return inner
    return EitherPolicy(inner, outer)


def _join(again: Jaxpr, tangent: Jaxpr) -> Jaxpr:
    """The linear half, which first makes the residuals from what is kept."""
    kept, residuals = again.invars, tangent.invars[: len(again.outvars)]
    directions = tangent.invars[len(again.outvars) :]
    joined = Writer()
    joined.call(again, kept, residuals)
    joined.call(tangent, tangent.invars, tangent.outvars)
    return joined.program([*kept, *directions], tangent.outvars)


def _call(jaxpr: Jaxpr, params: dict[str, Any], differentiated: bool) -> Jaxpr:
    """The one-equation program that applies `remat_p` to ``jaxpr``."""
    params = {**params, "jaxpr": jaxpr, "differentiated": differentiated}
    return remat_p.jaxpr(jaxpr.in_avals, params)


def _divide(call: Jaxpr, wanted: tuple, policy: Policy | None) -> Linearized:
    params = call.eqns[0].params
    halves = divide(params["jaxpr"], wanted, policy)
    return halves.with_programs(
        _call(halves.forward, params, params["differentiated"]),
        _call(halves.tangent, params, params["differentiated"]),
    )


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
    divide=_divide,
    prune=prune_call,
    transpose=_transpose,
    batch=_batch,
    effects=lambda params: params["jaxpr"].effects,
    multiple_results=True,
)

"""Transposition of linear programs: ``transpose(jaxpr, linear, nonzero cotangents)``, memoized.

`linear` says in which inputs the program is linear; the others are known values. The derived
program takes the known inputs, then the cotangents of those outputs that have one, and gives the
cotangents of those linear inputs that get one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from covector._ir.avals import ShapedArray
from covector._ir.jaxpr import Equation, Jaxpr, Literal, Var
from covector._ir.source import transformed_scope
from covector._trace.primitive import Linear
from covector._trace.stage import stage_rule
from covector._trace.trace import current_trace_state, trace_context
from covector._transform.jvp import call_in_scope, is_whole, zeros

Mask = tuple[bool, ...]


class Transposed(NamedTuple):
    """`jaxpr`: (known inputs, nonzero cotangents) -> nonzero cotangents of linear inputs.

    `out_mask` has an entry for each linear input.
    """

    jaxpr: Jaxpr
    out_mask: Mask


def transpose(jaxpr: Jaxpr, linear: Mask, ct_mask: Mask, instantiate: bool = False) -> Transposed:
    """The transposed program; with ``instantiate`` every linear input gets a cotangent."""
    key = ("transpose", linear, ct_mask, instantiate, trace_context())
    derived = jaxpr.memo.get(key)
    if derived is None:
        derived = jaxpr.remember(key, _transpose(jaxpr, linear, ct_mask, instantiate))
    return derived


def _transpose(jaxpr: Jaxpr, linear: Mask, ct_mask: Mask, instantiate: bool) -> Transposed:
    out_mask: Mask = ()
    linear_avals = [a for a, m in zip(jaxpr.in_avals, linear, strict=True) if m]

    def transposed(*inputs: Any) -> list[Any]:
        nonlocal out_mask
        given = iter(inputs)
        args = [
            Linear(a) if m else next(given) for a, m in zip(jaxpr.in_avals, linear, strict=True)
        ]
        cts = [next(given) if m else None for m in ct_mask]
        if len(jaxpr.eqns) == 1 and is_whole(jaxpr):
            results = _apply_rule(jaxpr.eqns[0], cts, args)
        else:
            results = _accumulate(jaxpr, cts, args)
        wanted = [ct for ct, m in zip(results, linear, strict=True) if m]
        if instantiate:
            wanted = [
                zeros(a.tangent) if ct is None else ct
                for ct, a in zip(wanted, linear_avals, strict=True)
            ]
        out_mask = tuple([ct is not None for ct in wanted])
        return [ct for ct in wanted if ct is not None]

    known = [a for a, m in zip(jaxpr.in_avals, linear, strict=True) if not m]
    ct_avals = [a.tangent for a, m in zip(jaxpr.out_avals, ct_mask, strict=True) if m]
    return Transposed(stage_rule(transposed, [*known, *ct_avals]), out_mask)


def _apply_rule(eqn: Equation, cts: list, args: list) -> list:
    primitive = eqn.primitive
    if all(ct is None for ct in cts):
        return [None] * len(args)
    if primitive.transpose is None:
        raise NotImplementedError(
            f"'{primitive.name}' cannot be transposed: it is not linear. (Reverse-mode "
            "differentiation transposes the linear part of a function.)"
        )
    ct = list(cts) if primitive.multiple_results else cts[0]
    results = list(primitive.transpose(ct, *args, **eqn.params))
    if len(results) != len(args):
        raise AssertionError(f"{primitive.name}: transpose rule returned {len(results)} values")
    for position, (result, arg) in enumerate(zip(results, args, strict=True)):
        if result is not None and isinstance(arg, Linear):
            _check_cotangent(primitive.name, position, result, arg.aval)
    return results


def _check_cotangent(name: str, position: int, ct: Any, aval: ShapedArray) -> None:
    if ct.shape != aval.shape or ct.dtype != aval.tangent.dtype:
        raise AssertionError(
            f"{name}: transpose rule gave {ct.aval.str_short()} for operand {position} of type "
            f"{aval.str_short()}"
        )


def _accumulate(jaxpr: Jaxpr, out_cts: list, args: list) -> list:
    """Run the known equations forward, then the linear ones backward, adding cotangents up."""
    trace = current_trace_state.value
    linear = {v for v, x in zip(jaxpr.invars, args, strict=True) if isinstance(x, Linear)}
    values: dict[Any, Any] = {
        v: x for v, x in zip(jaxpr.invars, args, strict=True) if v not in linear
    }

    def read(atom: Any) -> Any:
        if type(atom) is Literal:
            return atom
        return Linear(atom.aval) if atom in linear else values[atom]

    backward: list[Equation] = []
    for eqn in jaxpr.eqns:
        if linear.isdisjoint([v for v in eqn.invars if type(v) is Var]):
            outs = call_in_scope(trace, eqn.scope, eqn.jaxpr, [read(a) for a in eqn.invars])
            values.update(zip(eqn.outvars, outs, strict=True))
        else:
            linear.update(eqn.outvars)
            backward.append(eqn)

    cts: dict[Any, Any] = {}
    for v, ct in zip(jaxpr.outvars, out_cts, strict=True):
        if type(v) is Var and v in linear:
            add_cotangent(cts, v, ct)
    for eqn in reversed(backward):
        eqn_cts = [cts.pop(v, None) for v in eqn.outvars]
        if all(ct is None for ct in eqn_cts):
            continue
        mask = tuple([type(a) is Var and a in linear for a in eqn.invars])
        derived, out_mask = transpose(eqn.jaxpr, mask, tuple([ct is not None for ct in eqn_cts]))
        known = [read(a) for a, m in zip(eqn.invars, mask, strict=True) if not m]
        scope = transformed_scope("transpose", eqn.scope)
        args = [*known, *[ct for ct in eqn_cts if ct is not None]]
        given = iter(call_in_scope(trace, scope, derived, args))
        targets = [a for a, m in zip(eqn.invars, mask, strict=True) if m]
        for v, nonzero in zip(targets, out_mask, strict=True):
            if nonzero:
                add_cotangent(cts, v, next(given))
    return [cts.get(v) for v in jaxpr.invars]


def add_cotangent(cts: dict[Any, Any], key: Any, ct: Any) -> None:
    """Add ``ct`` (None: zero) to the cotangent kept under ``key``."""
    if ct is None:
        return
    old = cts.get(key)
    cts[key] = ct if old is None else add(old, ct)


def add(x: Any, y: Any) -> Any:
    """The sum of two cotangents of one type."""
    from covector.lax.elementwise import add_any

    return add_any(x, y)

"""The call of a compiled function inside a program: the primitive behind a nested `jit`."""

from __future__ import annotations

from typing import Any

from covector._ir.avals import ShapedArray
from covector._ir.jaxpr import Jaxpr
from covector._trace.primitive import Linear, Primitive
from covector._trace.stage import prune_call
from covector._transform.batch import batch
from covector._transform.divide import divide
from covector._transform.jvp import jvp
from covector._transform.linearize import Linearized, linearize
from covector._transform.transpose import transpose
from covector.errors import JaxprTypeError


def call_program(jaxpr: Jaxpr, name: str) -> Jaxpr:
    """The one-equation program that calls ``jaxpr`` as a function."""
    return jit_p.jaxpr(jaxpr.in_avals, {"jaxpr": jaxpr, "name": name})


def jvp_call(primals: list, tangents: list, *, jaxpr: Jaxpr, name: str) -> tuple[list, list]:
    """The jvp rule of what a program stands for: a call of the derived program."""
    derived, out_mask = jvp(jaxpr, tuple([t is not None for t in tangents]))
    args = [*primals, *[t for t in tangents if t is not None]]
    outs = jit_p.bind(*args, jaxpr=derived, name=f"jvp_{name}")
    given = iter(outs[len(out_mask) :])
    return outs[: len(out_mask)], [next(given) if m else None for m in out_mask]


def _linearize(call: Jaxpr, mask: tuple, instantiate: tuple | None) -> Linearized:
    params = call.eqns[0].params
    split = linearize(params["jaxpr"], mask, instantiate)
    return split.with_programs(
        call_program(split.forward, params["name"]),
        call_program(split.tangent, f"linear_{params['name']}"),
    )


def _divide(call: Jaxpr, wanted: tuple, policy: Any) -> Linearized:
    params = call.eqns[0].params
    halves = divide(params["jaxpr"], wanted, policy)
    again = halves.tangent
    return halves.with_programs(
        call_program(halves.forward, params["name"]),
        call_program(again, params["name"]) if again.eqns else again,
    )


def _transpose(cts: list, *args: Any, jaxpr: Jaxpr, name: str) -> list:
    linear = tuple([isinstance(x, Linear) for x in args])
    derived, out_mask = transpose(jaxpr, linear, tuple([ct is not None for ct in cts]))
    known = [x for x, m in zip(args, linear, strict=True) if not m]
    given = iter(
        jit_p.bind(*known, *[ct for ct in cts if ct is not None], jaxpr=derived, name=f"t_{name}")
    )
    results = iter([next(given) if m else None for m in out_mask])
    return [next(results) if m else None for m in linear]


def batch_call(axis: Any, args: list, dims: tuple, *, jaxpr: Jaxpr, name: str) -> tuple[list, Any]:
    """The batching rule of what a program stands for: a call of the derived program."""
    derived, out_dims = batch(jaxpr, axis, dims)
    return jit_p.bind(*args, jaxpr=derived, name=name), out_dims


def _abstract(*avals: ShapedArray, jaxpr: Jaxpr, name: str) -> list[ShapedArray]:
    given, taken = ([(a.shape, a.dtype) for a in group] for group in (avals, jaxpr.in_avals))
    if given != taken:
        raise JaxprTypeError(f"the program {name} takes {jaxpr.in_avals}, but is given {avals}")
    return list(jaxpr.out_avals)


jit_p = Primitive(
    "jit",
    abstract=_abstract,
    lower=lambda ctx, args, in_avals, out_avals, *, jaxpr, name: ctx.call(jaxpr, args, name),
    jvp=jvp_call,
    linearize=_linearize,
    divide=_divide,
    prune=prune_call,
    transpose=_transpose,
    batch=batch_call,
    effects=lambda params: params["jaxpr"].effects,
    multiple_results=True,
)

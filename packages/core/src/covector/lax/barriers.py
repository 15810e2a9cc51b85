"""Identities with a meaning.

`stop_gradient` is for derivatives, `optimization_barrier` for the compiler, `stage` for traces, and
`copy_p` for memory.
"""

from __future__ import annotations

from typing import Any

from covector._ir.avals import ShapedArray
from covector._trace.primitive import Primitive
from covector._trace.trace import Tracer, typeof
from covector._tree.registry import dispatch_registry
from covector.lax._nary import LINEAR, elementwise_batch


def stop_gradient(x: Any) -> Any:
    """``x``, a tree of arrays, as a constant for derivatives.

    Raises:
      TypeError: a leaf is no array.

    >>> import covector
    >>> float(covector.grad(lambda x: covector.lax.mul(x, covector.lax.stop_gradient(x)))(3.0))
    3.0
    """
    leaves, tree = dispatch_registry.flatten(x)
    for leaf in leaves:
        typeof(leaf)
    return tree.unflatten([stop_gradient_p.bind(v) if isinstance(v, Tracer) else v for v in leaves])


stop_gradient_p = Primitive(
    "stop_gradient",
    abstract=lambda aval: aval,
    lower=lambda ctx, args, in_avals, out_avals: list(args),
    batch=elementwise_batch(lambda: stop_gradient_p),
    elementwise=True,
    differentiable=False,
)


def optimization_barrier(operand: Any, /) -> Any:
    """``operand``, a tree of arrays; the compiler moves no computation across.

    All of the operand is computed before anything that depends on the result.

    >>> import covector
    >>> float(covector.lax.optimization_barrier(2.0))
    2.0
    """
    leaves, tree = dispatch_registry.flatten(operand)
    return tree.unflatten(optimization_barrier_p.bind(*leaves) if leaves else [])


def _abstract_barrier(*avals: ShapedArray) -> list[ShapedArray]:
    return list(avals)


def _lower_barrier(ctx: Any, args: Any, in_avals: Any, out_avals: Any) -> list[str]:
    types = ", ".join(a.mlir for a in in_avals)
    text = f"stablehlo.optimization_barrier {', '.join(args)} : {types}"
    return ctx.emit(text, len(args))


def _through(values: list[Any]) -> list[Any]:
    """The values (None: zero) behind one barrier."""
    outs = iter(optimization_barrier_p.bind(*[v for v in values if v is not None]))
    return [None if v is None else next(outs) for v in values]


optimization_barrier_p = Primitive(
    "optimization_barrier",
    abstract=_abstract_barrier,
    lower=_lower_barrier,
    jvp=lambda primals, tangents: (_through(primals), _through(tangents)),
    transpose=lambda cts, *args: _through(cts),
    batch=lambda axis, args, dims: (_through(args), dims),
    multiple_results=True,
)


def stage(x: Any, /) -> Any:
    """``x`` as a value of the current trace: an array, or while tracing a tracer.

    Raises:
      TypeError: ``x`` is no array or number.

    >>> import covector
    >>> covector.lax.stage(2.0)
    Array(2., dtype=float32, weak_type=True)
    """
    typeof(x)
    return x if isinstance(x, Tracer) else stage_p.bind(x)


def _identity(name: str) -> Primitive:
    primitive = Primitive(
        name,
        abstract=lambda aval: aval,
        lower=lambda ctx, args, in_avals, out_avals: list(args),
        jvp=LINEAR,
        transpose=lambda ct, x: [ct],
        batch=elementwise_batch(lambda: primitive),
        elementwise=True,
    )
    return primitive


stage_p = _identity("stage")
copy_p = _identity("copy")  # eager: the value in memory of its own

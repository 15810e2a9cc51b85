"""Tokens, which order operations by handing them on, and `dce_sink`, which keeps a value alive.

A token is an array of no elements, so it goes through every transformation like any array.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from covector._ir.avals import ShapedArray
from covector._trace.primitive import Primitive
from covector._tree.registry import dispatch_registry

_TOKEN = ShapedArray((0,), np.bool_)


def create_token(_: Any = None) -> Any:
    """A token that depends on nothing.

    >>> create_token().shape
    (0,)
    """
    return create_token_p.bind()


def after_all(*operands: Any) -> Any:
    """A token that is there when all the operands, which are tokens, are.

    Raises:
      TypeError: an operand is no token.

    >>> after_all(create_token(), create_token()).shape
    (0,)
    """
    return after_all_p.bind(*operands)


def _abstract_after_all(*avals: ShapedArray) -> ShapedArray:
    for aval in avals:
        if (aval.shape, aval.dtype) != (_TOKEN.shape, _TOKEN.dtype):
            raise TypeError(
                f"after_all: operands must be tokens, got {aval.str_short()}. Make a token with "
                "covector.lax.create_token."
            )
    return _TOKEN


def _lower_after_all(ctx: Any, args: Any, in_avals: Any, out_avals: Any) -> list[str]:
    if not args:
        return [ctx.constant(np.zeros(_TOKEN.shape, _TOKEN.dtype), _TOKEN)]
    types = ", ".join([a.mlir for a in in_avals])
    return ctx.emit(f"stablehlo.optimization_barrier {', '.join(args)} : {types}", len(args))[:1]


def _batch_after_all(axis: Any, args: list, dims: tuple) -> tuple[Any, None]:
    """A batch of tokens is behind all of them: what is not batched may go on."""
    from covector.lax.shape import reshape

    tokens = [x if d is None else reshape(x, _TOKEN.shape) for x, d in zip(args, dims, strict=True)]
    return after_all_p.bind(*tokens), None


create_token_p = Primitive(
    "create_token",
    abstract=lambda: _TOKEN,
    lower=lambda ctx, args, in_avals, out_avals: [
        ctx.constant(np.zeros(_TOKEN.shape, _TOKEN.dtype), _TOKEN)
    ],
    differentiable=False,
)

after_all_p = Primitive(
    "after_all",
    abstract=_abstract_after_all,
    lower=_lower_after_all,
    batch=_batch_after_all,
    differentiable=False,
)


# --- dce_sink -------------------------------------------------------------------------------------


def dce_sink(val: Any, *, prevent_mlir_dce: bool = False) -> None:
    """Keep what a tree of arrays is computed from in the program, though nothing reads it.

    Args:
      prevent_mlir_dce: keep it from the compiler, too, which drops what has no effect.

    Raises:
      TypeError: a leaf is no array.

    >>> def f(x):
    ...     dce_sink(lax.sin(x))
    ...     return x
    >>> [eqn.primitive.name for eqn in covector.make_jaxpr(f)(1.0).eqns]
    ['sin', 'dce_sink']
    """
    for leaf in dispatch_registry.flatten(val)[0]:
        dce_sink_p.bind(leaf, prevent_mlir_dce=bool(prevent_mlir_dce))


class Kept:
    """The effect of an equation that is there for its own sake."""

    observable = True

    def __repr__(self) -> str:
        return "Kept"


_KEPT = frozenset([Kept()])


def _lower_sink(
    ctx: Any, args: Any, in_avals: Any, out_avals: Any, *, prevent_mlir_dce: bool
) -> list[str]:
    if not prevent_mlir_dce:
        return []
    attributes = "{has_side_effect = true, mhlo.backend_config = {}}"
    text = f"stablehlo.custom_call @dce_sink({args[0]}) {attributes}"
    return ctx.emit(f"{text} : ({in_avals[0].mlir}) -> ()", 0)


dce_sink_p = Primitive(
    "dce_sink",
    abstract=lambda aval, *, prevent_mlir_dce: [],
    lower=_lower_sink,
    batch=lambda axis, args, dims, **params: (dce_sink_p.bind(*args, **params), []),
    effects=lambda params: _KEPT,
    differentiable=False,
    multiple_results=True,
)

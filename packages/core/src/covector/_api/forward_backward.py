"""`fwd_and_bwd`: the two passes of reverse-mode differentiation as functions of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from covector._api.autodiff import check_argnums, check_callable, replace_arguments, vjp
from covector._api.float0 import hide_float0
from covector._api.jit import jit
from covector._api.tracing import function_name, stage_function
from covector._ir.avals import ShapedArray
from covector._ir.dtypes import float0
from covector._ir.jaxpr import Jaxpr
from covector._trace.trace import current_trace_state, typeof
from covector._tree.registry import dispatch_registry
from covector.tree_util import register_pytree_node


class _Backward(NamedTuple):
    """The backward pass: (residuals, cotangents that have a dtype) -> cotangents of arguments."""

    jaxpr: Jaxpr
    out_tree: Any
    ct_tree: Any
    ct_avals: tuple[ShapedArray, ...]


class Residuals:
    """What the forward pass leaves for the backward one: a tree of arrays."""

    __slots__ = ("arrays", "backward")

    def __init__(self, arrays: tuple, backward: _Backward):
        self.arrays = arrays
        self.backward = backward

    def __repr__(self) -> str:
        return f"Residuals({', '.join([typeof(x).str_short() for x in self.arrays])})"


register_pytree_node(
    Residuals,
    lambda r: (r.arrays, r.backward),
    lambda backward, arrays: Residuals(arrays, backward),
)


def fwd_and_bwd(
    fun: Callable[..., Any],
    argnums: int | Sequence[int],
    has_aux: bool = False,
    jitted: bool = True,
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The forward and the backward pass of ``fun`` as two functions, each compiled once.

    ``forward(*args)`` gives ``(value, residuals)``, or ``(value, residuals, aux)``;
    ``backward(residuals, ct)`` the cotangents of the arguments at ``argnums``: one, or a tuple.

    Args:
      argnums: the positions of the arguments to differentiate with respect to.
      has_aux: whether ``fun`` returns a pair, of which only the first is differentiated.
      jitted: whether to compile both with `jit`.

    Raises:
      ValueError: an argument does not exist, or a cotangent is not of the value's type.

    >>> import covector
    >>> forward, backward = covector.fwd_and_bwd(covector.lax.mul, (0, 1))
    >>> value, residuals = forward(2.0, 3.0)
    >>> [float(ct) for ct in backward(residuals, 1.0)]
    [3.0, 2.0]
    """
    check_callable(fun, "fwd_and_bwd")
    positions = check_argnums(argnums)
    name = function_name(fun)

    def forward(*args: Any, **kwargs: Any) -> Any:
        for i in positions:
            if not -len(args) <= i < len(args):
                raise ValueError(
                    f"fwd_and_bwd: argnums={argnums} names argument {i} of {name}, which was "
                    f"called with {len(args)} positional arguments."
                )

        def of_chosen(*chosen: Any) -> Any:
            return fun(*replace_arguments(args, positions, positions, chosen), **kwargs)

        value, pull_back, *aux = vjp(of_chosen, *[args[i] for i in positions], has_aux=has_aux)
        return (value, _residuals(value, pull_back, name), *aux)

    def backward(residuals: Residuals, ct: Any) -> Any:
        cts = _call_backward(residuals, ct, name)
        return cts[0] if isinstance(argnums, (int, np.integer)) else cts

    return (jit(forward), jit(backward)) if jitted else (forward, backward)


def _residuals(value: Any, pull_back: Callable[[Any], Any], name: str) -> Residuals:
    leaves, tree = dispatch_registry.flatten(value)
    avals = tuple([typeof(x).tangent for x in leaves])
    example = tree.unflatten([np.zeros(a.shape, float0) if a.dtype == float0 else 0 for a in avals])
    in_tree = hide_float0(*dispatch_registry.flatten(((example,), {})))[1]
    given = [a for a in avals if a.dtype != float0]
    staged = stage_function(pull_back, in_tree, given, name=f"backward of {name}")
    return Residuals(tuple(staged.consts), _Backward(staged.jaxpr, staged.out_tree, tree, avals))


def _call_backward(residuals: Residuals, ct: Any, name: str) -> Any:
    jaxpr, out_tree, ct_tree, avals = residuals.backward
    leaves, tree = dispatch_registry.flatten(ct)
    if tree != ct_tree:
        raise ValueError(
            f"fwd_and_bwd: the cotangent must have the structure of the value of {name}, "
            f"{ct_tree}, got {tree}."
        )
    given = []
    for x, aval in zip(leaves, avals, strict=True):
        if aval.dtype == float0:
            continue
        if (typeof(x).shape, typeof(x).dtype) != (aval.shape, aval.dtype):
            raise ValueError(
                f"fwd_and_bwd: a cotangent must have the type of the value of {name}: expected "
                f"{aval.str_short()}, got {typeof(x).str_short()}."
            )
        given.append(x)
    outs = current_trace_state.value.call(jaxpr, [*residuals.arrays, *given])
    return out_tree.unflatten(outs)

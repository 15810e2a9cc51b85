"""Checkpointing: derivatives that keep less and compute more.

`checkpoint` (also named `remat`) marks a function whose intermediate values are not kept for its
derivative. A policy says which are kept all the same: see `checkpoint_policies`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

from covector._api.static_arguments import dynamic_arguments, of_dynamic_arguments
from covector._api.tracing import argument_avals, argument_name, function_name, stage_function
from covector._ir.avals import ShapedArray
from covector._ir.jaxpr import Jaxpr, Var
from covector._trace.primitive import Primitive
from covector._transform.divide import EitherPolicy, Policy
from covector._transform.divide import Offloadable as Offloadable
from covector._transform.divide import Recompute as Recompute
from covector._transform.divide import Saveable as Saveable
from covector._transform.linearize import linearize
from covector._transform.remat import remat_p
from covector._tree.registry import dispatch_registry
from covector.errors import ConcretizationTypeError
from covector.lax._nary import elementwise_batch

# --- checkpoint -----------------------------------------------------------------------------------


def checkpoint(
    fun: Callable[..., Any],
    *,
    prevent_cse: bool = True,
    policy: Policy | None = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
) -> Callable[..., Any]:
    """``fun``, with intermediate values computed again in its derivative instead of kept.

    Args:
      prevent_cse: keep the compiler from merging the second computation with the first. Inside
        `scan` nothing would be merged, and False is faster.
      policy: which results to keep, one of `checkpoint_policies`; by default none, but the inputs.
      static_argnums: positions of arguments that are Python values, not arrays: ``fun`` may look
        at them. They must be hashable.
      static_argnames: the same by name, for keyword arguments.

    Raises:
      ConcretizationTypeError: ``fun`` looks at the value of an argument that is not static.

    >>> import covector
    >>> f = covector.checkpoint(lambda x: covector.lax.sin(covector.lax.sin(x)))
    >>> round(float(covector.grad(f)(1.0)), 4)
    0.36
    """
    if not callable(fun):
        raise TypeError(f"checkpoint: expected a callable first argument, got {fun!r}")
    positions = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    name = function_name(fun)

    @functools.wraps(fun)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        function, args, kwargs = _bind_static(fun, positions, names, args, kwargs)
        leaves, in_tree = dispatch_registry.flatten((args, kwargs))
        try:
            avals = argument_avals(leaves, in_tree, name)
            staged = stage_function(function, in_tree, avals, name=name)
        except ConcretizationTypeError as error:
            error.add_note(
                "The value is an argument of a function under checkpoint (remat). If it is a "
                "Python value, name its position in static_argnums."
            )
            raise
        outs = remat_p.bind(
            *staged.consts,
            *leaves,
            jaxpr=staged.jaxpr,
            policy=policy,
            prevent_cse=bool(prevent_cse),
            differentiated=False,
        )
        return staged.out_tree.unflatten(outs)

    return checkpointed


def remat(
    fun: Callable[..., Any],
    *,
    prevent_cse: bool = True,
    policy: Policy | None = None,
    static_argnums: int | Sequence[int] = (),
) -> Callable[..., Any]:
    """Another name of `checkpoint`.

    >>> import covector
    >>> float(covector.remat(covector.lax.cos)(0.0))
    1.0
    """
    return checkpoint(fun, prevent_cse=prevent_cse, policy=policy, static_argnums=static_argnums)


def _bind_static(
    fun: Callable[..., Any],
    positions: tuple[int, ...],
    names: tuple[str, ...],
    args: tuple,
    kwargs: dict[str, Any],
) -> tuple[Callable[..., Any], tuple, dict[str, Any]]:
    """``fun`` with its static arguments filled in, and the others."""
    if not positions and not names:
        return fun, args, kwargs
    for i in positions:
        if not -len(args) <= i < len(args):
            raise ValueError(
                f"checkpoint: static_argnums={positions} names a position that the call of "
                f"{function_name(fun)} with {len(args)} positional arguments does not have."
            )
    fixed = {i % len(args) for i in positions}
    static = {k: v for k, v in kwargs.items() if k in names}
    function = of_dynamic_arguments(fun, args, fixed, static)
    function.__name__ = function_name(fun)
    others = {k: v for k, v in kwargs.items() if k not in names}
    return function, dynamic_arguments(args, fixed), others


# --- names ----------------------------------------------------------------------------------------


def checkpoint_name(x: Any, name: str) -> Any:
    """``x``, a tree of arrays, whose leaves policies can refer to by ``name``.

    >>> import covector
    >>> float(covector.ad_checkpoint.checkpoint_name(2.0, "two"))
    2.0
    """
    leaves, tree = dispatch_registry.flatten(x)
    return tree.unflatten([name_p.bind(leaf, name=name) for leaf in leaves])


def checkpoint_name_fwd(x: Any, name: str) -> Any:
    """Like `checkpoint_name`: names are for values of the forward pass, never for tangents.

    >>> import covector
    >>> float(covector.ad_checkpoint.checkpoint_name_fwd(2.0, "two"))
    2.0
    """
    return checkpoint_name(x, name)


name_p = Primitive(
    "name",
    abstract=lambda aval, *, name: aval,
    lower=lambda ctx, args, in_avals, out_avals, *, name: list(args),
    jvp=lambda primals, tangents, *, name: (name_p.bind(primals[0], name=name), tangents[0]),
    batch=elementwise_batch(lambda: name_p),
)


# --- policies -------------------------------------------------------------------------------------
#
# A policy is part of a program: that equal ones are one object keeps programs from being many.


def everything_saveable(*_: Any, **__: Any) -> bool:
    """Keep all residuals, as if there were no `checkpoint`."""
    return True


def nothing_saveable(*_: Any, **__: Any) -> bool:
    """Keep only the inputs (what `checkpoint` does without a policy)."""
    return False


_DOTS = ("dot_general", "conv_general_dilated")


def dots_saveable(prim: Primitive, *_: Any, **__: Any) -> bool:
    """Keep the results of matrix products and convolutions."""
    return prim.name in _DOTS


def dots_with_no_batch_dims_saveable(prim: Primitive, *args: Any, **params: Any) -> bool:
    """Keep the results of matrix products without batch axes: those with weights, usually."""
    return prim.name == "dot_general" and not any(params["dimension_numbers"][1])


@functools.lru_cache
def offload_dot_with_no_batch_dims(offload_src: Any, offload_dst: Any) -> Policy:
    """Keep what `dots_with_no_batch_dims_saveable` keeps, in the memory ``offload_dst``."""

    def policy(prim: Primitive, *args: Any, **params: Any) -> Any:
        if dots_with_no_batch_dims_saveable(prim, *args, **params):
            return Offloadable(offload_src, offload_dst)
        return Recompute

    return policy


@functools.lru_cache
def save_anything_except_these_names(*names_not_to_save: str) -> Policy:
    """Keep all values, named or not, but those of these names."""
    names = frozenset(names_not_to_save)
    return lambda prim, *_, **params: prim is not name_p or params["name"] not in names


@functools.lru_cache
def save_any_names_but_these(*names_not_to_save: str) -> Policy:
    """Keep all named values but those of these names."""
    names = frozenset(names_not_to_save)
    return lambda prim, *_, **params: prim is name_p and params["name"] not in names


@functools.lru_cache
def save_only_these_names(*names_which_can_be_saved: str) -> Policy:
    """Keep the values of these names."""
    names = frozenset(names_which_can_be_saved)
    return lambda prim, *_, **params: prim is name_p and params["name"] in names


def save_from_both_policies(policy_1: Policy, policy_2: Policy) -> Policy:
    """Keep what either policy keeps."""
    return EitherPolicy(policy_1, policy_2)


def save_and_offload_only_these_names(
    *,
    names_which_can_be_saved: Sequence[str],
    names_which_can_be_offloaded: Sequence[str],
    offload_src: str,
    offload_dst: str,
) -> Policy:
    """Keep the values of these names, those of the second kind in the memory ``offload_dst``.

    The memories are named as devices name them: ``"device"``, ``"pinned_host"``.
    """
    saved, offloaded = map(frozenset, (names_which_can_be_saved, names_which_can_be_offloaded))
    if both := saved & offloaded:
        raise ValueError(
            "The names should be exclusive and should not intersect in "
            "`names_which_can_be_saved` and `names_which_can_be_offloaded`. Got "
            f"names_which_can_be_saved={names_which_can_be_saved}, "
            f"names_which_can_be_offloaded={names_which_can_be_offloaded} and the "
            f"intersection: {both}"
        )

    return _save_and_offload(saved, offloaded, offload_src, offload_dst)


@functools.lru_cache
def _save_and_offload(saved: frozenset, offloaded: frozenset, src: Any, dst: Any) -> Policy:
    def policy(prim: Primitive, *_: Any, **params: Any) -> Any:
        if prim is name_p and params["name"] in saved:
            return Saveable
        if prim is name_p and params["name"] in offloaded:
            return Offloadable(src, dst)
        return Recompute

    return policy


checkpoint_policies = SimpleNamespace(
    everything_saveable=everything_saveable,
    nothing_saveable=nothing_saveable,
    dots_saveable=dots_saveable,
    checkpoint_dots=dots_saveable,
    dots_with_no_batch_dims_saveable=dots_with_no_batch_dims_saveable,
    checkpoint_dots_with_no_batch_dims=dots_with_no_batch_dims_saveable,
    offload_dot_with_no_batch_dims=offload_dot_with_no_batch_dims,
    save_anything_except_these_names=save_anything_except_these_names,
    save_any_names_but_these=save_any_names_but_these,
    save_only_these_names=save_only_these_names,
    save_from_both_policies=save_from_both_policies,
    save_and_offload_only_these_names=save_and_offload_only_these_names,
)


# --- what is kept ---------------------------------------------------------------------------------


def saved_residuals(
    f: Callable[..., Any], *args: Any, **kwargs: Any
) -> list[tuple[ShapedArray, str]]:
    """What the derivative of ``f`` at these arguments keeps: types, and where each comes from.

    >>> import covector
    >>> covector.ad_checkpoint.saved_residuals(covector.checkpoint(covector.lax.sin), 1.0)
    [(f32[] weak, 'from the argument x')]
    """
    leaves, in_tree = dispatch_registry.flatten((args, kwargs))
    avals = argument_avals(leaves, in_tree, function_name(f))
    staged = stage_function(f, in_tree, avals)
    mask = [False] * len(staged.consts) + [a.has_tangent for a in avals]
    halves = linearize(staged.jaxpr, tuple(mask))
    variables = [*halves.forward.invars, *halves.forward.outvars]
    names = ["from a constant"] * len(staged.consts)
    names += [f"from the argument {name}" for name in _argument_names(f, in_tree)]
    return [
        (v.aval, names[p] if p < len(names) else _made_by(halves.forward, v))
        for p, v in [(p, variables[p]) for p in halves.residuals]
    ]


def print_saved_residuals(f: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Print what `saved_residuals` finds, one line each.

    >>> import covector
    >>> covector.ad_checkpoint.print_saved_residuals(covector.checkpoint(covector.lax.sin), 1.0)
    f32[] from the argument x
    """
    for aval, source in saved_residuals(f, *args, **kwargs):
        print(f"{aval.str_short()} {source}")


def _argument_names(f: Callable[..., Any], in_tree: Any) -> Iterator[str]:
    """``x['w']`` for each leaf of ``(args, kwargs)``."""
    from covector.tree_util import keystr

    try:
        parameters = list(inspect.signature(f).parameters)
    except (ValueError, TypeError):
        parameters = []
    paths = dispatch_registry.flatten_with_path(in_tree.unflatten([0] * in_tree.num_leaves))[0]
    for path, _ in paths:
        kind, place = path[0].idx, path[1]
        if kind == 1:
            yield place.key + keystr(tuple(path[2:]))
        elif place.idx < len(parameters):
            yield parameters[place.idx] + keystr(tuple(path[2:]))
        else:
            yield argument_name(path)


def _made_by(jaxpr: Jaxpr, v: Var, caller: Any = None) -> str:
    """The operation that makes ``v``, looked for inside of calls too."""
    eqn = next(e for e in jaxpr.eqns if v in e.outvars)
    source = eqn.source or caller
    inner = eqn.params.get("jaxpr")
    if isinstance(inner, Jaxpr):
        atom = inner.outvars[list(eqn.outvars).index(v)]
        if type(atom) is Var and atom not in inner.invars:
            return _made_by(inner, atom, source)
    if eqn.primitive is name_p:
        return f"named '{eqn.params['name']}' from {source}"
    return f"output of {eqn.primitive.name} from {source}"

"""From Python functions to programs: `stage_function`, `make_jaxpr` and `eval_shape`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import covector._run.array  # noqa: F401  traced values need their operators
from covector._api.float0 import hide_float0
from covector._api.shape_dtype_struct import ShapeDtypeStruct
from covector._api.static_arguments import dynamic_arguments, of_dynamic_arguments
from covector._config import KeyedState, check_tracer_leaks, debug_key_reuse
from covector._ir.avals import ShapedArray
from covector._ir.dtypes import ExtendedDType
from covector._ir.jaxpr import ClosedJaxpr, Jaxpr
from covector._trace.leaks import without_leaks
from covector._trace.stage import StageTrace, staging
from covector._trace.trace import Tracer, typeof
from covector._tree.registry import dispatch_registry, registry
from covector.tree_util import keystr

# Named axes in scope (vmap with axis_name, pmap): name -> size, innermost last. Part of every key.
axis_env_state = KeyedState("axis_env", ())


class Staged(NamedTuple):
    """A traced function: its program, the values it closed over, and the form of its result."""

    jaxpr: Jaxpr
    consts: list[Any]
    out_tree: Any

    @property
    def closes_over_tracers(self) -> bool:
        return any(isinstance(c, Tracer) for c in self.consts)


def function_name(fun: Callable[..., Any]) -> str:
    """What to call a user's function in messages and programs."""
    name = getattr(fun, "__name__", None)
    if name is None and isinstance(fun, functools.partial):
        return function_name(fun.func)
    return name or "unnamed_function"


def stage_function(
    fun: Callable[..., Any],
    in_tree: Any,
    in_avals: Sequence[ShapedArray],
    *,
    name: str | None = None,
    embed_constants: bool = False,
) -> Staged:
    """Trace ``fun``, whose ``(args, kwargs)`` have the structure ``in_tree`` and these types."""
    name = name or function_name(fun)
    if check_tracer_leaks.value and not embed_constants:
        return without_leaks(name, _stage, fun, in_tree, in_avals, name, False)
    return _stage(fun, in_tree, in_avals, name, embed_constants)


def _stage(
    fun: Callable[..., Any],
    in_tree: Any,
    in_avals: Sequence[ShapedArray],
    name: str,
    embed_constants: bool,
) -> Staged:
    trace = StageTrace(embed_constants=embed_constants, name=name)
    with staging(trace):
        args, kwargs = in_tree.unflatten([trace.new_input(a) for a in in_avals])
        leaves, out_tree = hide_float0(*dispatch_registry.flatten(fun(*args, **kwargs)))
        check_outputs(leaves, name)
        if debug_key_reuse.value and not embed_constants:
            from covector._transform.key_reuse import check_staged

            check_staged(trace.eqns)
        jaxpr = trace.finish(leaves)
    return Staged(jaxpr, trace.consts, out_tree)


def check_outputs(leaves: Sequence[Any], name: str) -> None:
    """Raise `TypeError` for a result that is no array."""
    for x in leaves:
        if not hasattr(x, "aval"):
            try:
                typeof(x)
            except TypeError as error:
                raise TypeError(
                    f"function {name} returned a value of type {type(x)}, which is not an array: "
                    f"{x!r:.80}. Functions under a transformation return arrays, Python numbers, "
                    "or trees (tuples, lists, dicts, ...) of them."
                ) from error


def argument_avals(leaves: Sequence[Any], tree: Any, name: str) -> tuple[ShapedArray, ...]:
    """Types of flattened ``(args, kwargs)``; a value of no type is reported by its place."""
    try:
        return tuple([typeof(x) for x in leaves])
    except TypeError:
        paths = dispatch_registry.flatten_with_path(tree.unflatten(leaves))[0]
        for path, x in paths:
            try:
                typeof(x)
            except TypeError as error:
                raise TypeError(
                    f"Error interpreting argument to {name} as an array: the argument at "
                    f"{argument_name(path)} is not valid. {error}"
                ) from None
        raise


def argument_name(path: Sequence[Any]) -> str:
    """``args[0]['w']`` for a path into ``(args, kwargs)``."""
    root = "args" if getattr(path[0], "idx", 0) == 0 else "kwargs"
    # The last part may lead into a typed key, which users do not see.
    return root + keystr(tuple(path[1:])).replace("[<flat index 0>]", "")


def abstract_leaves(leaves: Sequence[Any]) -> list[ShapedArray]:
    """Types of arguments that may also be `ShapeDtypeStruct`s or anything with shape and dtype."""
    return [abstract_leaf(x) for x in leaves]


def abstract_leaf(x: Any) -> ShapedArray:
    """The type of a value or of a `ShapeDtypeStruct`-like description."""
    if isinstance(x, ShapedArray):
        return x
    if isinstance(x, ShapeDtypeStruct) or (
        not hasattr(x, "aval") and hasattr(x, "shape") and hasattr(x, "dtype")
    ):
        from covector._ir.dtypes import canonicalize_dtype

        return ShapedArray(x.shape, canonicalize_dtype(x.dtype), getattr(x, "weak_type", False))
    return typeof(x)


def flatten_abstract(args: tuple, kwargs: dict) -> tuple[list[ShapedArray], Any]:
    """Flattened types of arguments which may be descriptions instead of values."""
    leaves, tree = dispatch_registry.flatten((args, kwargs))
    if any(isinstance(getattr(x, "dtype", None), ExtendedDType) for x in leaves):
        from covector._api.extended import describe

        leaves, tree = dispatch_registry.flatten(tree.unflatten(map(describe, leaves)))
    return abstract_leaves(leaves), tree


def make_jaxpr(
    fun: Callable[..., Any],
    static_argnums: int | Sequence[int] = (),
    axis_env: Sequence[tuple[Any, int]] | None = None,
    return_shape: bool = False,
) -> Callable[..., Any]:
    """A function that shows the program ``fun`` traces to, as a `ClosedJaxpr`.

    With ``return_shape``, gives ``(jaxpr, shapes)`` with the result's structure.

    >>> import covector
    >>> covector.make_jaxpr(covector.lax.sin)(1.0).jaxpr.eqns[0].primitive.name
    'sin'
    """
    static = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)

    @functools.wraps(fun)
    def traced(*args: Any, **kwargs: Any) -> Any:
        positions = {i % len(args) if args else i for i in static}
        function = of_dynamic_arguments(fun, args, positions)
        avals, tree = flatten_abstract(dynamic_arguments(args, positions), kwargs)
        with named_axes(axis_env or ()):
            staged = stage_function(function, tree, avals, name=function_name(fun))
        seen = registry.flatten(tree.unflatten(avals))[0]  # typed keys in one piece
        types = [getattr(x, "aval", x) for x in seen]
        closed = ClosedJaxpr(staged.jaxpr, staged.consts, types)
        if return_shape:
            return closed, _shapes(staged)
        return closed

    return traced


def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The shapes and dtypes of ``fun(*args, **kwargs)``, without computing it.

    Arguments may be arrays or `ShapeDtypeStruct`s; the result has the function's structure, with
    a `ShapeDtypeStruct` for each array.

    >>> import covector
    >>> covector.eval_shape(covector.lax.sin, covector.ShapeDtypeStruct((3,), "float32"))
    ShapeDtypeStruct(shape=(3,), dtype=float32)
    """
    avals, tree = flatten_abstract(args, kwargs)
    return _shapes(stage_function(fun, tree, avals))


def _shapes(staged: Staged) -> Any:
    return describe_outputs(staged.out_tree, staged.jaxpr.out_avals)


def describe_outputs(out_tree: Any, out_avals: Sequence[ShapedArray]) -> Any:
    """A result's structure with a `ShapeDtypeStruct` for each array."""
    shapes = out_tree.unflatten([_describe(a) for a in out_avals])
    leaves, tree = registry.flatten(shapes)
    if any(type(x) is not ShapeDtypeStruct for x in leaves):  # arrays of extended dtypes
        shapes = tree.unflatten([_describe(x) for x in leaves])
    return shapes


def _describe(aval: Any) -> Any:
    weak_type = getattr(aval, "weak_type", False)  # tangents of integers are NumPy arrays
    return ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=weak_type)


class named_axes:
    """Context manager: bring named axes ``[(name, size), ...]`` into scope."""

    def __init__(self, axes: Sequence[tuple[Any, int]]):
        self.axes = tuple([(name, size) for name, size in axes])

    def __enter__(self) -> None:
        if self.axes:
            self.old = axis_env_state.swap_local(axis_env_state.value + self.axes)

    def __exit__(self, *exc: Any) -> None:
        if self.axes:
            axis_env_state.set_local(self.old)

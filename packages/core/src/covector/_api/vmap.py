"""`vmap`: a function of arrays made to work on arrays with one more axis."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from covector._api.float0 import is_float0
from covector._api.tracing import argument_name, function_name, named_axes
from covector._config import check_tracer_leaks
from covector._ir.source import hide_frames
from covector._trace.leaks import without_leaks
from covector._trace.trace import current_trace_state, typeof, use_trace
from covector._transform.batch import BatchAxis, BatchTrace, BatchTracer, move_batch_axis
from covector._tree.prefix import flatten_axes
from covector._tree.registry import dispatch_registry, hidden_axes


def vmap(
    fun: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Hashable | None = None,
    axis_size: int | None = None,
    spmd_axis_name: Any = None,
    sum_match: bool = False,
) -> Callable[..., Any]:
    """Vectorize ``fun`` over an axis of its arguments.

    Args:
      in_axes: for each positional argument, the axis to map over, or None to use it whole; an int
        for all, or a tuple with an entry (int, None or a tree of them) for each argument. Keyword
        arguments are mapped over axis 0.
      out_axes: where the mapped axis goes in the outputs (an int, None, or a tree of them).
      axis_name: a name by which collectives inside (`lax.psum`, ...) refer to the axis.
      axis_size: the axis's size, needed only if nothing is mapped.

    Raises:
      ValueError: sizes of mapped axes differ, or an axis is out of range, or ``in_axes`` does not
        match the arguments' structure.
      TypeError: ``in_axes`` is of a wrong type.

    >>> import covector, numpy
    >>> covector.vmap(covector.lax.add)(numpy.arange(3.0), numpy.ones(3)).shape
    (3,)
    """
    if not callable(fun):
        raise TypeError(f"vmap expects a callable first argument, got {fun!r} of type {type(fun)}")
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if not (in_axes is None or isinstance(in_axes, (int, tuple))):
        raise TypeError(
            "vmap in_axes must be an int, None, or a tuple of entries corresponding to the "
            f"positional arguments passed to the function, but got {in_axes!r}."
        )
    check_axes("vmap in_axes", in_axes)
    check_axes("vmap out_axes", out_axes)

    @functools.wraps(fun)
    def vectorized(*args: Any, **kwargs: Any) -> Any:
        try:
            if check_tracer_leaks.value:
                return without_leaks(function_name(fun), evaluate, args, kwargs)
            return evaluate(args, kwargs)
        except Exception as error:
            raise hide_frames(error)  # noqa: B904  the same error, shorter

    def evaluate(args: tuple, kwargs: dict) -> Any:
        if isinstance(in_axes, tuple) and len(in_axes) != len(args):
            raise ValueError(
                "vmap in_axes must be an int, None, or a tuple of entries corresponding to the "
                "positional arguments passed to the function, but got "
                f"len(in_axes)={len(in_axes)}, len(args)={len(args)}"
            )
        leaves, tree = dispatch_registry.flatten((args, kwargs))
        dims = flatten_axes("vmap in_axes", tree.children()[0], in_axes)
        dims += [0] * (len(leaves) - len(dims))  # keyword arguments
        dims, size = _mapped_size(fun, leaves, tree, dims, args, kwargs, axis_size)
        axis = BatchAxis(size, axis_name)
        trace = BatchTrace(current_trace_state.value, axis)
        tracers = [
            x if d is None else BatchTracer(trace, x, d) for x, d in zip(leaves, dims, strict=True)
        ]
        args, kwargs = tree.unflatten(tracers)
        with named_axes(() if axis_name is None else [(axis_name, size)]), use_trace(trace):
            out = fun(*args, **kwargs)
        trace.alive = False
        outs, out_tree = dispatch_registry.flatten(out)
        wanted = flatten_axes("vmap out_axes", out_tree, out_axes)
        hidden = hidden_axes(out_tree)
        return out_tree.unflatten(
            [_finish(trace, x, w, h, size, fun) for x, w, h in zip(outs, wanted, hidden)]
        )

    return vectorized


def check_axes(name: str, axes: Any) -> None:
    """Raise `TypeError` unless ``axes`` is an int, None, or a tree of them."""
    for leaf in dispatch_registry.flatten(axes)[0]:
        if not isinstance(leaf, int) or isinstance(leaf, bool):
            raise TypeError(
                f"{name} must be an int, None, or (nested) container with those types as "
                f"leaves, but got {axes!r}."
            )


def _mapped_size(
    fun: Any, leaves: list, tree: Any, dims: list, args: tuple, kwargs: dict, axis_size: int | None
) -> tuple[list[int | None], int]:
    """Non-negative axes, and their common size."""
    sizes = {} if axis_size is None else {axis_size: "axis_size"}
    result: list[int | None] = []
    for i, (x, d, hidden) in enumerate(zip(leaves, dims, hidden_axes(tree), strict=True)):
        if d is None:
            result.append(None)
            continue
        aval = typeof(x)
        shape = aval.shape[: aval.ndim - hidden]
        if not -len(shape) <= d < len(shape):
            raise ValueError(
                f"vmap was requested to map its argument along axis {d}, which implies that its "
                f"rank should be at least {d + 1 if d >= 0 else -d}, but is only {len(shape)} (its "
                f"shape is {shape}): argument {_argument(args, kwargs, i)} of {function_name(fun)}."
            )
        d %= len(shape)
        result.append(d)
        sizes.setdefault(shape[d], f"{_argument(args, kwargs, i)} of shape {shape}, axis {d}")
    if not sizes:
        raise ValueError(
            "vmap must have at least one non-None value in in_axes, or axis_size must be given."
        )
    if len(sizes) > 1:
        found = "; ".join(f"size {n}: {where}" for n, where in sizes.items())
        raise ValueError(
            f"vmap got inconsistent sizes for array axes to be mapped in {function_name(fun)}: "
            f"{found}."
        )
    return result, next(iter(sizes))


def _argument(args: tuple, kwargs: dict, position: int) -> str:
    path = dispatch_registry.flatten_with_path((args, kwargs))[0][position][0]
    return argument_name(path)


def _finish(trace: BatchTrace, x: Any, wanted: int | None, hidden: int, size: int, fun: Any) -> Any:
    """The output's underlying value with its batch axis where it is wanted."""
    from covector._api.autodiff import as_array

    batched = type(x) is BatchTracer and x._trace is trace
    if wanted is None:
        if batched:
            raise ValueError(
                "vmap has mapped output but out_axes is None: an output of "
                f"{function_name(fun)} of type {x.aval.str_short()} depends on the mapped axis. "
                "Give it an axis in out_axes."
            )
        return as_array(x)
    ndim = typeof(x).ndim - hidden
    if not -ndim - 1 <= wanted <= ndim:
        raise ValueError(
            f"vmap out_axes has an axis {wanted} out of range for an output of "
            f"{function_name(fun)} of type {typeof(x).str_short()}."
        )
    wanted %= ndim + 1
    if is_float0(x):
        return np.zeros((*x.shape[:wanted], size, *x.shape[wanted:]), x.dtype)
    if batched:
        return move_batch_axis(x.value, size, x.dim, wanted)
    return move_batch_axis(as_array(x), size, None, wanted)

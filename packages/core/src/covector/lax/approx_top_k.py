"""`approx_max_k` and `approx_min_k`: the largest or smallest elements, nearly all of them.

TPUs find them by keeping the best of each of many parts (Chern and others, "TPU-KNN: K nearest
neighbor search at peak FLOP/s", 2022). Elsewhere the result is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

import jaxlib._jax as _jaxlib
import numpy as np

from covector import lax
from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector._ir.jaxpr import Jaxpr
from covector._lower.module import function_type, lower_by
from covector._lower.stablehlo import element_text
from covector._trace.primitive import Primitive
from covector._trace.stage import stage_rule
from covector._trace.trace import typeof
from covector.errors import ShapeError
from covector.lax.filling import full
from covector.lax.sort import reordered


def approx_max_k(
    operand: Any,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> list[Any]:
    """The ``k`` largest elements along an axis and their positions, largest first.

    On TPUs some of them may be missed; elsewhere none is. Nan is larger than any number.

    Args:
      operand: of floating point numbers.
      recall_target: which share of the true ``k`` largest to find on average, at least.
      reduction_input_size_override: the size to reckon with, where ``operand`` is a part of a
        larger array.
      aggregate_to_topk: if false, give the elements that the ``k`` largest would be chosen from:
        ``k`` or more, in any order.

    Raises:
      ValueError: ``operand`` is not of floating point numbers; ``k`` is not between one and the
        axis' size; the axis does not exist.
      RuntimeError: a target or size out of range.

    >>> values, positions = approx_max_k(np.float32([1.0, 3.0, 2.0]), 2)
    >>> values, positions
    (Array([3., 2.], dtype=float32), Array([1, 2], dtype=int32))
    """
    options = (recall_target, reduction_input_size_override, aggregate_to_topk)
    return _approx_top_k("approx_max_k", operand, k, reduction_dimension, True, *options)


def approx_min_k(
    operand: Any,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> list[Any]:
    """The ``k`` smallest elements along an axis and their positions, smallest first.

    Arguments and errors are those of `approx_max_k`.

    >>> approx_min_k(np.float32([1.0, 3.0, 2.0]), 2)[0]
    Array([1., 2.], dtype=float32)
    """
    options = (recall_target, reduction_input_size_override, aggregate_to_topk)
    return _approx_top_k("approx_min_k", operand, k, reduction_dimension, False, *options)


def _approx_top_k(
    name: str,
    operand: Any,
    k: int,
    dimension: int,
    is_max_k: bool,
    recall_target: float,
    size_override: int,
    aggregate_to_topk: bool,
) -> list[Any]:
    aval, k, dimension = typeof(operand), index(k), index(dimension)
    if not dtypes.is_float(aval.dtype):
        raise ValueError(f"{name}: operand must be of floating point numbers, got {aval.dtype}.")
    if aval.ndim == 0:
        raise ShapeError(f"{name}: operand must have an axis, got a scalar.")
    if not -aval.ndim <= dimension < aval.ndim:
        raise np.exceptions.AxisError(dimension, aval.ndim, f"{name}: reduction_dimension")
    size = aval.shape[dimension]
    if not 1 <= k <= size:
        raise ValueError(
            f"{name}: k must be positive and at most the size of axis {dimension}, which is "
            f"{size}, got {k}."
        )
    if not 0 < recall_target <= 1:
        raise _jaxlib.JaxRuntimeError(f"{name}: recall_target must be in (0, 1]: {recall_target}.")
    if 0 <= size_override < size:
        raise _jaxlib.JaxRuntimeError(
            f"{name}: reduction_input_size_override must be -1 or at least the size of axis "
            f"{dimension}, which is {size}, got {size_override}."
        )
    outs = approx_top_k_p.bind(
        operand,
        k=k,
        reduction_dimension=dimension % aval.ndim,
        recall_target=float(recall_target),
        is_max_k=is_max_k,
        reduction_input_size_override=index(size_override),
        aggregate_to_topk=bool(aggregate_to_topk),
    )
    return list(outs)


# --- the primitive --------------------------------------------------------------------------------


def _abstract(
    aval: ShapedArray,
    *,
    k: int,
    reduction_dimension: int,
    recall_target: float,
    is_max_k: bool,
    reduction_input_size_override: int,
    aggregate_to_topk: bool,
) -> list[ShapedArray]:
    size = aval.shape[reduction_dimension]
    count = k
    if not aggregate_to_topk:
        count = _jaxlib.approx_top_k_reduction_output_size(
            size, aval.ndim, k, recall_target, False, reduction_input_size_override
        )[0]
    shape = list(aval.shape)
    shape[reduction_dimension] = count
    weak = aval.weak_type  # of the positions too, as in JAX
    return [ShapedArray(shape, aval.dtype, weak), ShapedArray(shape, np.int32, weak)]


def _exact(x: Any, *, reduction_dimension: int, is_max_k: bool, **params: Any) -> Sequence[Any]:
    """By `top_k`, whose order is of bits: a nan is first if its sign is plus, and last if minus."""
    count = _abstract(
        typeof(x), reduction_dimension=reduction_dimension, is_max_k=is_max_k, **params
    )[0].shape[reduction_dimension]
    nan = np.asarray(np.nan, x.dtype)
    keys = x if is_max_k else lax.neg(x)
    fill = full(x.shape, (nan if is_max_k else np.negative(nan))[()], x.dtype)
    keys = lax.select(lax.ne(x, x), fill, keys)
    values, positions = lax.top_k(keys, count, axis=reduction_dimension)
    return [values if is_max_k else lax.neg(values), positions]


_lower_exact = lower_by(_exact)


def _comparator(dtype: np.dtype, is_max_k: bool) -> Jaxpr:
    compare = lax.gt_p if is_max_k else lax.lt_p
    avals = [ShapedArray((), d) for d in (dtype, dtype, np.int32, np.int32)]
    return stage_rule(lambda x, y, *_: [compare.bind(x, y)], avals)


def _lower(ctx: Any, args: Any, in_avals: Any, out_avals: Any, **params: Any) -> list[str]:
    if ctx.platform != "tpu":
        return _lower_exact(ctx, args, in_avals, out_avals, **params)
    aval, is_max_k = in_avals[0], params["is_max_k"]
    positions = aval.update(dtype=np.int32)
    axis = params["reduction_dimension"]
    iota = ctx.emit(f"stablehlo.iota dim = {axis} : {positions.mlir}")[0]
    worst = ctx.constant(-np.inf if is_max_k else np.inf, aval.scalar)
    nowhere = ctx.constant(-1, positions.scalar)
    comparator = ctx.module.function_for(_comparator(aval.dtype, is_max_k), "top_k_comparator")
    config = (
        f"aggregate_to_topk = {'true' if params['aggregate_to_topk'] else 'false'}, "
        f"recall_target = {element_text(np.float32(params['recall_target']))} : f32, "
        f"reduction_dim = {axis} : i64, reduction_input_size_override = "
        f"{params['reduction_input_size_override']} : i64, top_k = {params['k']} : i64"
    )
    signature = function_type([aval, positions, aval.scalar, positions.scalar], out_avals)
    return ctx.emit(
        f"stablehlo.custom_call @ApproxTopK({args[0]}, {iota}, {worst}, {nowhere}) "
        f'{{backend_config = "", called_computations = [@{comparator}], '
        f"mhlo.backend_config = {{{config}}}}} : {signature}",
        2,
    )


def _jvp(primals: list, tangents: list, **params: Any) -> tuple[list, list]:
    values, positions = approx_top_k_p.bind(*primals, **params)
    axis = params["reduction_dimension"]
    return [values, positions], [reordered(tangents[0], positions, axis), None]


def _batch(
    axis: Any, args: list, dims: tuple, *, reduction_dimension: int, **params: Any
) -> tuple[list, list]:
    dim = dims[0]
    moved = reduction_dimension + (dim <= reduction_dimension)
    return approx_top_k_p.bind(args[0], reduction_dimension=moved, **params), [dim, dim]


approx_top_k_p = Primitive(
    "approx_top_k",
    abstract=_abstract,
    lower=_lower,
    jvp=_jvp,
    batch=_batch,
    multiple_results=True,
)

"""`scatter` and its kin: write slices to computed places of an array, or combine them with it.

A scatter's operand, indices and updates relate as a gather's operand, indices and result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from covector import lax
from covector._ir.avals import ShapedArray
from covector._ir.jaxpr import Jaxpr
from covector._lower.module import lower_by
from covector._trace.primitive import Linear, Primitive
from covector._trace.stage import stage_rule
from covector._trace.trace import current_trace_state, typeof
from covector._transform.batch import move_batch_axis
from covector.lax._axes import shift_axes
from covector.lax._nary import ANY, NUMBER, check_kind
from covector.lax._places import (
    GatherDimensionNumbers,
    GatherScatterMode,
    as_tuples,
    check_scatter_places,
    last_starts,
    ordered,
    window_sizes,
)
from covector.lax._places import ScatterDimensionNumbers as ScatterDimensionNumbers
from covector.lax._region import lower_with_region
from covector.lax._rules import call_on_scalars, tangents_by
from covector.lax.compare import zero_unless
from covector.lax.elementwise import add_any, scale
from covector.lax.filling import full, zeros_of
from covector.lax.gather import batched_starts, dimension_fields, gather, wide_indices
from covector.lax.shape import broadcast_in_dim, move_axis, reshape

# --- what users call -----------------------------------------------------------------------------


def scatter(
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
) -> Any:
    """``operand`` with slices replaced by ``updates``, at places that the indices name.

    Where places coincide, one of the updates wins; which one is not defined.

    Args:
      scatter_indices: integers; the last axis holds the coordinates of one slice.
      dimension_numbers: which axes are which, see `ScatterDimensionNumbers`.
      unique_indices, indices_are_sorted: promises that may make it faster.
      mode: a `GatherScatterMode` or its name; updates out of bounds are dropped by default.

    Raises:
      TypeError: dtypes differ, or the dimension numbers do not fit the shapes.
      ValueError: the indices are no integers, or the mode is unknown.

    >>> elements = lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> lax.scatter(np.zeros(4, int), np.array([[2], [0]]), np.array([7, 8]), elements)
    Array([8, 0, 7, 0], dtype=int32)
    """
    return _bind(
        scatter_p,
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
        mode=mode,
    )


def _bind(
    primitive: Primitive,
    operand: Any,
    indices: Any,
    updates: Any,
    dimension_numbers: Any,
    *,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: Any,
    **params: Any,
) -> Any:
    params |= {
        "dimension_numbers": as_tuples(ScatterDimensionNumbers, dimension_numbers),
        "indices_are_sorted": bool(indices_are_sorted),
        "mode": GatherScatterMode.from_any(mode),
        "unique_indices": bool(unique_indices),
    }
    return primitive.bind(operand, indices, updates, **ordered(params))


def _combining(name: str, verb: str, example: str) -> Callable[..., Any]:
    """The user's function of a scatter that combines the updates with what is there."""

    def function(
        operand: Any,
        scatter_indices: Any,
        updates: Any,
        dimension_numbers: ScatterDimensionNumbers,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
    ) -> Any:
        return _bind(
            _COMBINING[name],
            operand,
            scatter_indices,
            updates,
            dimension_numbers,
            indices_are_sorted=indices_are_sorted,
            unique_indices=unique_indices,
            mode=mode,
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{verb}, at places that the indices name.

    Arguments and errors are those of `scatter`. Where places coincide, every update counts.

    >>> elements = lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> lax.{name}(np.array([1, 2]), np.array([[1], [1]]), np.array([3, 4]), elements)
    Array({example}, dtype=int32)
    """
    return function


scatter_add = _combining("scatter_add", "Add ``updates`` to slices of ``operand``", "[1, 9]")
scatter_sub = _combining(
    "scatter_sub", "Subtract ``updates`` from slices of ``operand``", "[ 1, -5]"
)
scatter_mul = _combining("scatter_mul", "Multiply slices of ``operand`` by ``updates``", "[ 1, 24]")
scatter_min = _combining(
    "scatter_min", "Take the lesser of ``updates`` and slices of ``operand``", "[1, 2]"
)
scatter_max = _combining(
    "scatter_max", "Take the greater of ``updates`` and slices of ``operand``", "[1, 4]"
)


def scatter_apply(
    operand: Any,
    scatter_indices: Any,
    func: Callable[[Any], Any],
    dimension_numbers: ScatterDimensionNumbers,
    *,
    update_shape: Sequence[int] = (),
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
) -> Any:
    """Apply ``func`` to the elements of ``operand`` at places that the indices name.

    Where places coincide, it is applied once for each of them.

    Args:
      func: a function of one scalar.
      update_shape: the shape that the updates of a `scatter` would have.

    The other arguments and errors are those of `scatter`.

    >>> elements = lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> x = np.array([1.0, 4.0])
    >>> lax.scatter_apply(x, np.array([[1]]), lax.sqrt, elements, update_shape=(1,))
    Array([1., 2.], dtype=float32)
    """
    from covector._api.tracing import stage_function
    from covector._tree.registry import dispatch_registry

    scalar = typeof(operand).update(shape=())
    tree = dispatch_registry.flatten(((0,), {}))[1]
    staged = stage_function(func, tree, [scalar], embed_constants=True)
    if staged.consts:
        raise NotImplementedError("scatter_apply: func must not close over traced arrays")
    (out,) = staged.jaxpr.out_avals
    if out.shape != () or out.dtype != scalar.dtype:
        raise TypeError(
            f"scatter_apply: func must map a {scalar.str_short()} to one, but it gave "
            f"{out.str_short()}"
        )
    return _bind(
        scatter_apply_p,
        operand,
        scatter_indices,
        zeros_of(ShapedArray(update_shape, scalar.dtype)),
        dimension_numbers,
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
        mode=mode,
        jaxpr=staged.jaxpr,
    )


# --- lowering ------------------------------------------------------------------------------------


def _lower_scatter(body: Callable[[ShapedArray, dict], Any]) -> Callable[..., list[str]]:
    """``body`` gives the program of scalars (old, update) -> new."""

    def lower(ctx: Any, args: Any, in_avals: Any, out_avals: Any, **params: Any) -> list[str]:
        indices, indices_aval = wide_indices(ctx, args[1], in_avals[1])
        avals = [in_avals[0], indices_aval, in_avals[2]]
        numbers = params["dimension_numbers"]
        if params["mode"] is GatherScatterMode.CLIP:
            window = window_sizes(avals[0].shape, avals[2].shape, numbers)
            axes = numbers.scatter_dims_to_operand_dims
            limits = last_starts(avals[0].shape, axes, window, indices_aval.dtype)
            (indices,) = _clamp(
                ctx, [indices], [indices_aval], [indices_aval], limits=tuple(limits)
            )
        fields = {
            "update_window_dims": numbers.update_window_dims,
            "inserted_window_dims": numbers.inserted_window_dims,
            "input_batching_dims": numbers.operand_batching_dims,
            "scatter_indices_batching_dims": numbers.scatter_indices_batching_dims,
            "scatter_dims_to_operand_dims": numbers.scatter_dims_to_operand_dims,
        }
        attributes = (
            f"indices_are_sorted = {str(params['indices_are_sorted']).lower()}, "
            "scatter_dimension_numbers = #stablehlo.scatter<"
            f"{dimension_fields(fields, indices_aval)}>, "
            f"unique_indices = {str(params['unique_indices']).lower()}"
        )
        program = body(avals[0].update(shape=(), weak_type=False), params)
        names = [args[0], indices, args[2]]
        return lower_with_region(ctx, "scatter", names, attributes, program, avals, out_avals)

    return lower


def _clamped(indices: Any, *, limits: tuple) -> Any:
    limit = broadcast_in_dim(np.array(limits, indices.dtype), indices.shape, (indices.ndim - 1,))
    return lax.clamp(zeros_of(typeof(indices)), indices, limit)


_clamp = lower_by(_clamped)


def _body(function: Callable[[Any, Any], Any]) -> Callable[[ShapedArray, dict], Any]:
    return lambda scalar, params: stage_rule(lambda x, u: [function(x, u)], [scalar, scalar])


# --- batching ------------------------------------------------------------------------------------


def _batch_scatter(primitive: Callable[[], Primitive]) -> Callable[..., tuple[Any, int]]:
    def batch(axis: Any, args: Any, dims: Any, **params: Any) -> tuple[Any, int]:
        """The batch axis comes first in everything that has one."""
        operand, indices, updates = args
        operand = move_batch_axis(operand, axis.size, dims[0], 0)
        updates = move_batch_axis(updates, axis.size, dims[2], 0)
        numbers = params["dimension_numbers"]
        numbers = ScatterDimensionNumbers(*[shift_axes(field, 0) for field in numbers])
        if dims[1] is None:
            old = params["dimension_numbers"].scatter_indices_batching_dims
            numbers = numbers._replace(
                update_window_dims=(0, *numbers.update_window_dims),
                scatter_indices_batching_dims=old,
            )
        else:
            indices = move_axis(indices, dims[1], 0)
            numbers = numbers._replace(
                operand_batching_dims=(0, *numbers.operand_batching_dims),
                scatter_indices_batching_dims=(0, *numbers.scatter_indices_batching_dims),
            )
        params = ordered({**params, "dimension_numbers": numbers})
        return primitive().bind(operand, indices, updates, **params), 0

    return batch


def batched_dynamic_update_slice(axis: Any, args: Any, dims: Any) -> tuple[Any, int]:
    """A `dynamic_update_slice` with starts of its own for each element of a batch."""
    operand, update, *starts = args
    operand = move_batch_axis(operand, axis.size, dims[0], 0)
    update = move_batch_axis(update, axis.size, dims[1], 0)
    axes = tuple(range(1, len(starts) + 1))
    numbers = ScatterDimensionNumbers(
        update_window_dims=axes,
        inserted_window_dims=(),
        scatter_dims_to_operand_dims=axes,
        operand_batching_dims=(0,),
        scatter_indices_batching_dims=(0,),
    )
    out = scatter(
        operand,
        batched_starts(axis, starts, dims[2:]),
        update,
        numbers,
        indices_are_sorted=True,
        unique_indices=True,
        mode=GatherScatterMode.CLIP,
    )
    return out, 0


# --- derivatives ---------------------------------------------------------------------------------


def _or_zeros(tangent: Any, primal: Any) -> Any:
    return zeros_of(typeof(primal).tangent) if tangent is None else tangent


def _gather_like(
    x: Any, indices: Any, update_shape: Sequence[int], params: dict[str, Any], fill_value: Any = 0
) -> Any:
    """The slices of ``x`` at a scatter's places, ``fill_value`` for those that it drops."""
    numbers = params["dimension_numbers"]
    if 0 in x.shape:  # where a slice of one row, say, is none of a gather's
        return full(update_shape, fill_value, x.dtype)
    clip = params["mode"] is GatherScatterMode.CLIP
    return gather(
        x,
        indices,
        GatherDimensionNumbers(*numbers),
        window_sizes(x.shape, update_shape, numbers),
        indices_are_sorted=params["indices_are_sorted"],
        unique_indices=params["unique_indices"],
        mode=GatherScatterMode.CLIP if clip else GatherScatterMode.FILL_OR_DROP,
        fill_value=fill_value,
    )


def _jvp_scatter(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
    operand, indices, updates = primals
    t_operand, _, t_updates = tangents
    out = scatter_p.bind(operand, indices, updates, **params)
    if t_updates is None or params["unique_indices"]:
        parts = _or_zeros(t_operand, operand), indices, _or_zeros(t_updates, updates)
        return out, scatter_p.bind(*parts, **params)
    number, winner = _winners(operand, indices, updates, params)
    kept = zeros_of(typeof(operand).tangent)
    if t_operand is not None:
        kept = zero_unless(lax.eq(number, np.uint32(0)), t_operand)
    won = zero_unless(winner, t_updates)
    return out, scatter_add_p.bind(kept, indices, won, **params)


def _winners(operand: Any, indices: Any, updates: Any, params: dict[str, Any]) -> tuple[Any, Any]:
    """Scatter the updates' numbers, to see which of those in one place comes out.

    Gives the number that each element of the operand got (0: none), and for each element of the
    updates whether it is there.
    """
    windows = params["dimension_numbers"].update_window_dims
    places = [i for i in range(updates.ndim) if i not in windows]
    sizes = tuple([updates.shape[i] for i in places])
    count = int(np.prod(sizes, dtype=np.int64))
    numbers = lax.add(lax.iota(np.uint32, count), np.uint32(1))
    numbers = broadcast_in_dim(reshape(numbers, sizes), updates.shape, places)
    none = zeros_of(typeof(operand).update(dtype=np.uint32, weak_type=False))
    number = scatter_p.bind(none, indices, numbers, **params)
    return number, lax.eq(numbers, _gather_like(number, indices, updates.shape, params))


def _transpose_scatter(
    ct: Any, operand: Any, indices: Any, updates: Any, **params: Any
) -> list[Any]:
    """Only for unique indices, or updates that are zero: see the jvp."""
    ct_operand = ct_updates = None
    shape = updates.shape if isinstance(updates, Linear) else typeof(updates).shape
    if isinstance(operand, Linear):
        hole = zeros_of(typeof(ct).update(shape=shape))
        ct_operand = scatter_p.bind(ct, indices, hole, **params)
    if isinstance(updates, Linear):
        ct_updates = _gather_like(ct, indices, shape, params)
    return [ct_operand, None, ct_updates]


def _jvp_scatter_sum(primitive: Callable[[], Primitive]) -> Callable[..., tuple[Any, Any]]:
    def jvp(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
        operand, indices, updates = primals
        out = primitive().bind(operand, indices, updates, **params)
        t_operand = _or_zeros(tangents[0], operand)
        if tangents[2] is None:
            return out, t_operand
        return out, primitive().bind(t_operand, indices, tangents[2], **params)

    return jvp


def _transpose_scatter_sum(sign: Callable[[Any], Any]) -> Callable[..., list[Any]]:
    def transpose(ct: Any, operand: Any, indices: Any, updates: Any, **params: Any) -> list[Any]:
        ct_updates = None
        if isinstance(updates, Linear):
            ct_updates = sign(_gather_like(ct, indices, updates.shape, params))
        return [ct if isinstance(operand, Linear) else None, None, ct_updates]

    return transpose


def _jvp_scatter_mul(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
    operand, indices, updates = primals
    t_operand, _, t_updates = tangents
    out = scatter_mul_p.bind(operand, indices, updates, **params)
    tangent = None
    if t_operand is not None:
        tangent = scatter_mul_p.bind(t_operand, indices, updates, **params)
    if t_updates is not None:
        if not params["unique_indices"]:
            raise NotImplementedError(
                "scatter_mul: the derivative in updates needs unique_indices=True"
            )
        old = _gather_like(operand, indices, updates.shape, params)
        start = zeros_of(typeof(operand).tangent)
        term = scatter_add_p.bind(start, indices, scale(t_updates, old), **params)
        tangent = term if tangent is None else add_any(tangent, term)
    return out, tangent


def _jvp_scatter_extremum(primitive: Callable[[], Primitive]) -> Callable[..., tuple[Any, Any]]:
    """Whatever equals the result in a place, of the operand and the updates, shares the tangent."""

    def jvp(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
        operand, indices, updates = primals
        t_operand, _, t_updates = tangents
        out = primitive().bind(operand, indices, updates, **params)
        there = _gather_like(out, indices, updates.shape, params)
        old, new = _equal_or_nan(operand, out), _equal_or_nan(updates, there)
        count = scatter_add_p.bind(
            lax.convert_element_type(old, out.dtype),
            indices,
            lax.convert_element_type(new, out.dtype),
            **params,
        )
        total = zero_unless(old, _or_zeros(t_operand, operand))
        if t_updates is not None:
            total = scatter_add_p.bind(total, indices, zero_unless(new, t_updates), **params)
        # An update that is nan leaves elements of the operand that equal nothing.
        return out, lax.div(total, lax.max(count, lax.full_like(count, 1)))

    return jvp


def _equal_or_nan(x: Any, y: Any) -> Any:
    return lax.bitwise_or(lax.eq(x, y), lax.ne(x, x))


# --- the table -----------------------------------------------------------------------------------


def _scatter(name: str, kinds: str, function: Callable[[Any, Any], Any], **rules: Any) -> Primitive:
    def abstract(
        operand: ShapedArray, indices: ShapedArray, updates: ShapedArray, **params: Any
    ) -> ShapedArray:
        check_kind(name, operand, kinds)
        check_scatter_places(name, operand, indices, updates, params["dimension_numbers"])
        return operand

    primitive = Primitive(
        name,
        abstract=abstract,
        lower=_lower_scatter(_body(function)),
        batch=_batch_scatter(lambda: primitive),
        **rules,
    )
    return primitive


scatter_p = _scatter(
    "scatter", ANY, lambda old, new: new, jvp=_jvp_scatter, transpose=_transpose_scatter
)
scatter_add_p = _scatter(
    "scatter_add",
    NUMBER,
    lambda old, new: lax.add(old, new),
    jvp=_jvp_scatter_sum(lambda: scatter_add_p),
    transpose=_transpose_scatter_sum(lambda ct: ct),
)
scatter_sub_p = _scatter(
    "scatter_sub",
    NUMBER,
    lambda old, new: lax.sub(old, new),
    jvp=_jvp_scatter_sum(lambda: scatter_sub_p),
    transpose=_transpose_scatter_sum(lambda ct: lax.neg(ct)),
)
scatter_mul_p = _scatter(
    "scatter_mul",
    NUMBER,
    lambda old, new: lax.mul(old, new),
    jvp=_jvp_scatter_mul,
    transpose=lambda ct, operand, indices, updates, **params: [
        scatter_mul_p.bind(ct, indices, updates, **params),
        None,
        None,
    ],
)
scatter_min_p = _scatter(
    "scatter_min",
    ANY,
    lambda old, new: lax.min(old, new),
    jvp=_jvp_scatter_extremum(lambda: scatter_min_p),
)
scatter_max_p = _scatter(
    "scatter_max",
    ANY,
    lambda old, new: lax.max(old, new),
    jvp=_jvp_scatter_extremum(lambda: scatter_max_p),
)
_COMBINING = {
    p.name: p for p in (scatter_add_p, scatter_sub_p, scatter_mul_p, scatter_min_p, scatter_max_p)
}


# --- scatter_apply -------------------------------------------------------------------------------


def _jvp_scatter_apply(
    primals: Any, tangents: Any, *, jaxpr: Jaxpr, **params: Any
) -> tuple[Any, Any]:
    operand, indices, updates = primals
    out = scatter_apply_p.bind(operand, indices, updates, **ordered({**params, "jaxpr": jaxpr}))
    if not params["unique_indices"]:
        raise NotImplementedError("scatter_apply: the derivative needs unique_indices=True")
    old, t_old = [_gather_like(x, indices, updates.shape, params) for x in (operand, tangents[0])]
    (t_new,) = tangents_by(lambda x: call_on_scalars(jaxpr, [x]), [old], [t_old])
    return out, scatter_p.bind(tangents[0], indices, _or_zeros(t_new, updates), **params)


def _apply_body(scalar: ShapedArray, params: dict[str, Any]) -> Jaxpr:
    jaxpr = params["jaxpr"]
    return stage_rule(
        lambda old, new: current_trace_state.value.call(jaxpr, [old]), [scalar, scalar]
    )


scatter_apply_p = Primitive(
    "scatter_apply",
    abstract=lambda operand, indices, updates, *, jaxpr, **params: scatter_p.abstract(
        operand, indices, updates, **params
    ),
    lower=_lower_scatter(_apply_body),
    jvp=_jvp_scatter_apply,
    batch=_batch_scatter(lambda: scatter_apply_p),
)

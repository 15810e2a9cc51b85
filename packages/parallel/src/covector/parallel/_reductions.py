"""Collectives that reduce over named axes: `psum`, `pmean`, `pmax`, `pmin`."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from covector import lax, tree
from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector._trace.primitive import LINEAR, Primitive
from covector._trace.stage import stage_rule
from covector._trace.trace import Tracer, typeof
from covector._transform.batch import NamedAxis
from covector.lax._region import lower_with_region
from covector.lax.convert import convert_type
from covector.lax.elementwise import scale
from covector.lax.filling import full_of
from covector.parallel._devices import device_groups, group_attributes
from covector.parallel._names import AxisName, bound_size, index_groups, names_in

# --- what users call ------------------------------------------------------------------------------


def psum(x: Any, axis_name: AxisName, *, axis_index_groups: Any = None) -> Any:
    """The sum of ``x`` over a named axis (or several, in a tuple), for each array of a tree.

    A Python number is multiplied by the axis's size, and stays one: ``psum(1, "i")`` is that size.
    Booleans are counted.

    Args:
      axis_index_groups: lists of indices along the axis; each sums among its own (under `pmap`).

    Raises `NameError` if no enclosing function brings the name into scope.

    >>> covector.vmap(lambda x: lax.psum(x, "i"), axis_name="i")(np.arange(3))
    Array([3, 3, 3], dtype=int32)
    """
    return _reduce("psum", x, axis_name, axis_index_groups)


def pmean(x: Any, axis_name: AxisName, *, axis_index_groups: Any = None) -> Any:
    """The mean of ``x`` over a named axis (or several), for each array of a tree.

    Raises `NameError` if no enclosing function brings the name into scope.

    >>> covector.vmap(lambda x: lax.pmean(x, "i"), axis_name="i")(np.arange(3))
    Array([1., 1., 1.], dtype=float32)
    """
    sums = _reduce("psum", x, axis_name, axis_index_groups, "pmean")
    count = _reduce("psum", 1, axis_name, axis_index_groups, "pmean")
    return tree.map(lambda s: _divide(s, count), sums)


def pmax(x: Any, axis_name: AxisName, *, axis_index_groups: Any = None) -> Any:
    """The largest ``x`` over a named axis (or several), for each array of a tree.

    Its derivative is that of the largest one (the mean of theirs, if several are equal).

    Raises `NameError` if no enclosing function brings the name into scope.

    >>> covector.vmap(lambda x: lax.pmax(x, "i"), axis_name="i")(np.arange(3))
    Array([2, 2, 2], dtype=int32)
    """
    return _reduce("pmax", x, axis_name, axis_index_groups)


def pmin(x: Any, axis_name: AxisName, *, axis_index_groups: Any = None) -> Any:
    """The smallest ``x`` over a named axis (or several), for each array of a tree. See `pmax`.

    Raises `NameError` if no enclosing function brings the name into scope.

    >>> covector.vmap(lambda x: lax.pmin(x, "i"), axis_name="i")(np.arange(1, 4))
    Array([1, 1, 1], dtype=int32)
    """
    return _reduce("pmin", x, axis_name, axis_index_groups)


def _reduce(
    name: str, x: Any, axis_name: AxisName, axis_index_groups: Any, function: str | None = None
) -> Any:
    """Reduce each leaf: over positional axes (integers) first, then over named ones."""
    function = function or name
    names = names_in(axis_name)
    positions = tuple([a for a in names if isinstance(a, int)])
    axes = tuple([a for a in names if not isinstance(a, int)])
    sizes = [bound_size(a, function) for a in axes]
    if len(set(axes)) != len(axes):
        raise ValueError(f"{function}: axis_name names an axis more than once: {names}.")
    if axis_index_groups is not None and len(axes) != 1:
        raise ValueError(f"{function}: axis_index_groups needs a single axis name, got {names}.")
    groups = index_groups(axis_index_groups, math.prod(sizes), function, equal=False)
    one = _psum_of_one if name == "psum" else _extremum_of_one
    return tree.map(partial(one, name, positions, axes, sizes, groups), x)


def _psum_of_one(name: str, positions: Any, axes: Any, sizes: Any, groups: Any, x: Any) -> Any:
    aval = typeof(x)
    if positions:
        x = lax.reduce_sum(x, positions)
    if not isinstance(x, Tracer) and not (groups and len(set(map(len, groups))) > 1):
        return _times(x, len(groups[0]) if groups else math.prod(sizes))
    if aval.dtype == np.bool_:
        x = lax.convert_element_type(x, dtypes.scalar_dtype(int))
    return psum_p.bind(x, axes=axes, groups=groups) if axes else x


def _extremum_of_one(name: str, positions: Any, axes: Any, sizes: Any, groups: Any, x: Any) -> Any:
    aval = typeof(x)
    primitive, reduce = (pmax_p, lax.reduce_max) if name == "pmax" else (pmin_p, lax.reduce_min)
    if positions:
        x = reduce(x, positions)
    if not axes or not isinstance(x, Tracer):
        return x
    if dtypes.is_complex(aval.dtype):  # which XLA does not order in a collective
        from covector.parallel._exchanges import all_gather

        return reduce(all_gather(x, axes, axis_index_groups=groups), (0,))
    return primitive.bind(x, axes=axes, groups=groups)


def _times(x: Any, count: int) -> Any:
    if not hasattr(x, "aval"):
        return x * count
    aval = typeof(x)
    if aval.dtype == np.bool_:
        x, aval = lax.convert_element_type(x, np.int32), aval.update(dtype=np.int32)
    return lax.mul(x, full_of(aval.update(shape=()), count))


def _divide(x: Any, count: Any) -> Any:
    if not hasattr(x, "aval") and not hasattr(count, "aval"):
        return x / count
    aval = typeof(x)
    if not dtypes.is_inexact(aval.dtype):
        x = convert_type(
            x, dtypes.scalar_dtype(float), weak_type=aval.weak_type and aval.dtype != np.bool_
        )
    scalar = typeof(x).update(shape=())
    if hasattr(count, "aval"):
        return lax.div(x, convert_type(count, scalar.dtype, weak_type=scalar.weak_type))
    return lax.div(x, full_of(scalar, count))


# --- the primitives -------------------------------------------------------------------------------


def _reduction(
    name: str, combine: str, reduce: Callable[..., Any], repeat: Any, **rules: Any
) -> Primitive:
    """A primitive that combines one operand over ``axes`` (names), or in ``groups`` along one.

    ``reduce`` does so along an axis of an array; ``repeat(x, count)`` for ``count`` equal arrays.
    """

    def abstract(aval: ShapedArray, *, axes: tuple, groups: Any) -> ShapedArray:
        return aval.update(weak_type=False)

    def lower(ctx: Any, args: Any, in_avals: Any, out_avals: Any, *, axes: Any, groups: Any) -> Any:
        among = device_groups(ctx, axes, groups)
        if all(len(group) == 1 for group in among):
            return args
        scalar = out_avals[0].update(shape=())
        body = stage_rule(lambda x, y: [getattr(lax, combine)(x, y)], [scalar, scalar])
        attributes = group_attributes(ctx, among)
        return lower_with_region(ctx, "all_reduce", args, attributes, body, in_avals, out_avals)

    def batch(axis: Any, args: Any, dims: Any, *, axes: Any, groups: Any) -> tuple[Any, Any]:
        (x,), (dim,) = args, dims
        if axis.name is None or axis.name not in axes:
            return primitive.bind(x, axes=axes, groups=groups), dim
        if groups is not None:
            raise no_groups(name)
        x = repeat(x, axis.size) if dim is None else reduce(x, (dim,))
        rest = tuple([a for a in axes if a != axis.name])
        return (primitive.bind(x, axes=rest, groups=None) if rest else x), None

    primitive = Primitive(
        name, abstract=abstract, lower=lower, batch=batch, effects=effects_of_axes, **rules
    )
    return primitive


def effects_of_axes(params: dict) -> frozenset:
    """The effect of using the axes named in a collective's params."""
    return frozenset([NamedAxis(a) for a in params["axes"]])


def no_groups(name: str) -> NotImplementedError:
    """The error for ``axis_index_groups`` over an axis of `vmap`."""
    return NotImplementedError(
        f"{name}: axis_index_groups is not offered over an axis of vmap. Reshape that axis into "
        "two, and map over each under a name of its own."
    )


def _jvp_extremum(primitive: Callable[[], Primitive]) -> Callable[..., Any]:
    """The tangent of the element that was chosen; the mean of theirs if several are equal."""

    def jvp(primals: Any, tangents: Any, *, axes: Any, groups: Any) -> tuple[Any, Any]:
        (x,), (t,) = primals, tangents
        out = primitive().bind(x, axes=axes, groups=groups)
        chosen = lax.convert_element_type(lax.eq(x, out), typeof(t).dtype)
        count = psum_p.bind(chosen, axes=axes, groups=groups)
        return out, psum_p.bind(scale(t, lax.div(chosen, count)), axes=axes, groups=groups)

    return jvp


psum_p = _reduction(
    "psum",
    "add",
    lax.reduce_sum,
    _times,
    jvp=LINEAR,
    transpose=lambda ct, x, *, axes, groups: [psum_p.bind(ct, axes=axes, groups=groups)],
)
pmax_p = _reduction(
    "pmax", "max", lax.reduce_max, lambda x, n: x, jvp=_jvp_extremum(lambda: pmax_p)
)
pmin_p = _reduction(
    "pmin", "min", lax.reduce_min, lambda x, n: x, jvp=_jvp_extremum(lambda: pmin_p)
)

"""Derivatives of maxima over windows: `select_and_gather_add` and `select_and_scatter_add`.

Each window of the operand chooses one of its elements, the first of equal ones. Gathering takes the
tangent from the place of the choice; scattering, its transpose, adds the window's cotangent there.
Padding is never chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from covector import lax
from covector._ir.avals import ShapedArray
from covector._ir.jaxpr import Jaxpr
from covector._lower.module import lower_by
from covector._lower.stablehlo import int_array, int_matrix
from covector._trace.primitive import Linear, Primitive
from covector._trace.stage import stage_rule
from covector._trace.trace import typeof
from covector._transform.batch import move_batch_axis
from covector.errors import ShapeError
from covector.lax._axes import common_batch_axis
from covector.lax._region import lower_with_region
from covector.lax.filling import zeros_of
from covector.lax.reduce import highest, lowest
from covector.lax.shape import reshape
from covector.lax.windows import Window, reduce_window_p

# --- choices --------------------------------------------------------------------------------------


def _worst(select_prim: Primitive, dtype: np.dtype) -> Any:
    """A scalar that is chosen only if there is no other."""
    value = (lowest if select_prim.name == "ge" else highest)(dtype)
    return np.asarray(value).astype(dtype)[()]


def _chosen(operand: Any, companion: Any, default: Any, select_prim: Primitive, window: Any) -> Any:
    """For each window, the element of ``companion`` at the place of the choice in ``operand``.

    ``default``, a scalar, stands at padding. Reductions may take the elements in any order, so the
    first of equal ones is found by its position: among (value, position, companion), all compared.
    """
    position = reshape(lax.iota(np.int32, operand.size), operand.shape)
    none = np.int32(operand.size)
    scalars = [typeof(x).scalar for x in (operand, position, companion)]
    program = stage_rule(_choice(select_prim), [*scalars, *scalars])
    inits = [_worst(select_prim, operand.dtype), none, default]
    return reduce_window_p.bind(
        operand, position, companion, *inits, jaxpr=program, **window._asdict()
    )[2]


def _choice(select_prim: Primitive) -> Any:
    def choose(x: Any, i: Any, s: Any, y: Any, j: Any, t: Any) -> list[Any]:
        equal, before = lax.eq(x, y), lax.lt(i, j)
        first = lax.select(equal, before, lax.bitwise_or(select_prim.bind(x, y), lax.ne(x, x)))
        pairs = ((x, y), (i, j), (s, t))
        return [lax.select(first, a, b) for a, b in pairs]

    return choose


# --- gathering ------------------------------------------------------------------------------------


def _check_types(name: str, first: ShapedArray, operand: ShapedArray, expected: Any) -> None:
    if first.dtype != operand.dtype:
        raise TypeError(
            f"{name}: both operands must have one dtype, got {first.dtype} and {operand.dtype}."
        )
    if first.shape != expected:
        raise ShapeError(
            f"{name}: the first operand must have shape {expected}, which the windows of operand "
            f"shape {operand.shape} give, got {first.shape}."
        )


def _abstract_gather(
    tangents: ShapedArray, operand: ShapedArray, *, select_prim: Primitive, **window: Any
) -> ShapedArray:
    _check_types("select_and_gather_add", tangents, operand, operand.shape)
    return tangents.update(shape=Window(**window).out_shape(operand.shape), weak_type=False)


def _gather(tangents: Any, operand: Any, *, select_prim: Primitive, **params: Any) -> Any:
    zero = np.zeros((), tangents.dtype)[()]
    return _chosen(operand, tangents, zero, select_prim, Window(**params))


def _jvp_first(primitive: Any) -> Any:
    """Linear in the first operand; the choice that the second makes has no derivative."""

    def jvp(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
        out = primitive().bind(*primals, **params)
        if tangents[0] is None:
            return out, None
        return out, primitive().bind(tangents[0], primals[1], **params)

    return jvp


def _transpose_gather(
    ct: Any, tangents: Any, operand: Any, *, select_prim: Primitive, **params: Any
) -> list[Any]:
    if not isinstance(tangents, Linear):
        return [None, None]
    window = Window(**params)
    if any(d != 1 for d in window.window_dilation):
        return [_scatter_to_positions(ct, operand, select_prim, window), None]
    ones = (1,) * operand.ndim
    gaps = Window(window[0], window[1], ((0, 0),) * operand.ndim, window.base_dilation, ones)
    dilated = gaps.pad(operand, _worst(select_prim, operand.dtype))
    out = select_and_scatter_add_p.bind(
        ct,
        dilated,
        select_prim=select_prim,
        window_dimensions=window.window_dimensions,
        window_strides=window.window_strides,
        padding=window.padding,
    )
    return [lax.slice(out, [0] * out.ndim, out.shape, window.base_dilation), None]


def _scatter_to_positions(ct: Any, operand: Any, select_prim: Primitive, window: Window) -> Any:
    """By way of indices: for windows with gaps, which XLA's operation does not have."""
    size = operand.size
    position = reshape(lax.iota(np.int32, size), operand.shape)
    places = _chosen(operand, position, np.int32(size), select_prim, window)
    flat = zeros_of(ct.aval.update(shape=(size,), weak_type=False))
    numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    return reshape(
        lax.scatter_add(
            flat,
            reshape(places, (places.size, 1)),
            reshape(ct, (ct.size,)),
            numbers,
            mode=lax.GatherScatterMode.FILL_OR_DROP,
        ),
        operand.shape,
    )


def _batch_gather(axis: Any, args: Any, dims: Any, *, select_prim: Any, **params: Any) -> Any:
    to = common_batch_axis(dims)
    moved = [move_batch_axis(x, axis.size, d, to) for x, d in zip(args, dims, strict=True)]
    window = Window(**params).with_axis(to)
    return select_and_gather_add_p.bind(*moved, select_prim=select_prim, **window._asdict()), to


select_and_gather_add_p = Primitive(
    "select_and_gather_add",
    abstract=_abstract_gather,
    lower=lower_by(_gather),
    jvp=_jvp_first(lambda: select_and_gather_add_p),
    transpose=_transpose_gather,
    batch=_batch_gather,
)


# --- scattering -----------------------------------------------------------------------------------


def _plain(window_dimensions: Any, window_strides: Any, padding: Any) -> Window:
    ones = (1,) * len(window_dimensions)
    return Window(window_dimensions, window_strides, padding, ones, ones)


def _abstract_scatter_add(
    source: ShapedArray, operand: ShapedArray, *, select_prim: Primitive, **params: Any
) -> ShapedArray:
    expected = _plain(**params).out_shape(operand.shape)
    _check_types("select_and_scatter_add", source, operand, expected)
    return operand.update(weak_type=False)


def _scatter_add(source: Any, operand: Any, *, select_prim: Primitive, **params: Any) -> Any:
    """XLA's operation on an operand that is padded first, so that padding is not chosen."""
    window = _plain(**params)
    if 0 in source.shape or not operand.shape:
        empty = zeros_of(operand.aval.update(weak_type=False))
        return source if not operand.shape else empty
    padded = window.pad(operand, _worst(select_prim, operand.dtype))
    scalar = operand.aval.scalar.update(weak_type=False)
    out = select_and_scatter_p.bind(
        padded,
        source,
        np.zeros((), operand.dtype)[()],
        select_jaxpr=stage_rule(lambda x, y: [select_prim.bind(x, y)], [scalar, scalar]),
        scatter_jaxpr=stage_rule(lambda x, y: [lax.add(x, y)], [scalar, scalar]),
        window_dimensions=window.window_dimensions,
        window_strides=window.window_strides,
        padding=((0, 0),) * operand.ndim,
    )
    cut = [(-low, -high, 0) for low, high in window.padding]
    return lax.pad(out, np.zeros((), operand.dtype)[()], cut)


def _transpose_scatter_add(ct: Any, source: Any, operand: Any, **params: Any) -> list[Any]:
    if not isinstance(source, Linear):
        return [None, None]
    ones = (1,) * operand.ndim
    return [
        select_and_gather_add_p.bind(
            ct, operand, **params, base_dilation=ones, window_dilation=ones
        ),
        None,
    ]


def _batch_scatter_add(axis: Any, args: Any, dims: Any, *, select_prim: Any, **params: Any) -> Any:
    to = common_batch_axis(dims)
    moved = [move_batch_axis(x, axis.size, d, to) for x, d in zip(args, dims, strict=True)]
    window = _plain(**params).with_axis(to)
    out = select_and_scatter_add_p.bind(
        *moved,
        select_prim=select_prim,
        window_dimensions=window.window_dimensions,
        window_strides=window.window_strides,
        padding=window.padding,
    )
    return out, to


select_and_scatter_add_p = Primitive(
    "select_and_scatter_add",
    abstract=_abstract_scatter_add,
    lower=lower_by(_scatter_add),
    jvp=_jvp_first(lambda: select_and_scatter_add_p),
    transpose=_transpose_scatter_add,
    batch=_batch_scatter_add,
)


# --- XLA's own operation --------------------------------------------------------------------------


def _abstract_scatter(
    operand: ShapedArray, source: ShapedArray, init: ShapedArray, **params: Any
) -> ShapedArray:
    names = ("window_dimensions", "window_strides", "padding")
    expected = _plain(**{n: params[n] for n in names}).out_shape(operand.shape)
    _check_types("select_and_scatter", source, operand, expected)
    return operand.update(weak_type=False)


def _lower_scatter(
    ctx: Any,
    args: Any,
    in_avals: Any,
    out_avals: Any,
    *,
    select_jaxpr: Jaxpr,
    scatter_jaxpr: Jaxpr,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
) -> list[str]:
    attributes = ", ".join(
        [
            f"window_dimensions = {int_array(window_dimensions)}",
            f"window_strides = {int_array(window_strides)}",
            f"padding = {int_matrix(padding, (len(padding), 2))}",
        ]
    )
    bodies = [select_jaxpr, scatter_jaxpr]
    return lower_with_region(
        ctx, "select_and_scatter", args, attributes, bodies, in_avals, out_avals
    )


def _batch_scatter(axis: Any, args: Any, dims: Any, **params: Any) -> Any:
    init = args[2]
    if dims[2] is not None:
        raise NotImplementedError("select_and_scatter: the initial value cannot be batched")
    to = common_batch_axis(dims[:2])
    moved = [move_batch_axis(x, axis.size, d, to) for x, d in zip(args[:2], dims[:2], strict=True)]
    names = ("window_dimensions", "window_strides", "padding")
    window = _plain(**{n: params[n] for n in names}).with_axis(to)
    fields = {n: getattr(window, n) for n in names}
    return select_and_scatter_p.bind(*moved, init, **{**params, **fields}), to


select_and_scatter_p = Primitive(
    "select_and_scatter",
    abstract=_abstract_scatter,
    lower=_lower_scatter,
    batch=_batch_scatter,
)

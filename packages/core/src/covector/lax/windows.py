"""`reduce_window`: reduce what each of a grid of windows shows of an array.

A window may have gaps (`window_dilation`), and so may the array that it moves over
(`base_dilation`). Sums, maxima and minima are primitives of their own, with good derivatives; the
others take the generic path. Read next: `window_selection.py`, for the derivative of an extremum.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from covector import lax
from covector._ir.avals import ShapedArray
from covector._ir.jaxpr import Jaxpr
from covector._lower.stablehlo import int_array, int_matrix
from covector._trace.primitive import LINEAR, Primitive
from covector._trace.stage import stage_rule
from covector._trace.trace import current_trace_state, typeof
from covector._transform.batch import batch, move_batch_axis
from covector._tree.registry import dispatch_registry
from covector.errors import ShapeError
from covector.lax._axes import insert, int_tuple
from covector.lax._nary import ANY, NUMBER, check_kind
from covector.lax._region import lower_with_region
from covector.lax._rules import call_on_scalars, tangents_by
from covector.lax.padding import (
    Pads,
    dilated_size,
    explicit_pads,
    num_windows,
    padtype_to_pads,
)
from covector.lax.reducer import as_init, named_reduction, stage_computation

# --- what users call ------------------------------------------------------------------------------


def reduce_window(
    operand: Any,
    init_value: Any,
    computation: Callable[[Any, Any], Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: str | Sequence[tuple[int, int]] = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Any:
    """Reduce each window of an array by ``computation``, beginning with ``init_value``.

    Args:
      operand: an array, or a tree of arrays of one shape, whose windows are reduced together.
      init_value: scalars in the same structure; padding and the operand's gaps stand for them, or
        for nothing: they should be the identity of ``computation``.
      computation: takes two trees of scalars, returns one; associative and commutative.
      window_dimensions: the window's size along each axis of the operand.
      window_strides: how far apart windows begin, along each axis; 1 by default.
      padding: ``"VALID"``, ``"SAME"``, ``"SAME_LOWER"``, or (before, after) for each axis.
      base_dilation, window_dilation: how far apart the elements of the operand, and of the window,
        are set along each axis; 1 by default.

    Raises:
      TypeError: an argument's length is not the number of axes, or a size is not positive.
      ValueError: the structures differ.

    >>> lax.reduce_window(np.array([1, 3, 2, 5]), 0, lax.add, (2,), (2,))
    Array([4, 7], dtype=int32)
    """
    leaves, tree = dispatch_registry.flatten(operand)
    inits, init_tree = dispatch_registry.flatten(init_value)
    if tree != init_tree:
        raise ValueError(
            f"reduce_window: operand and init_value must have the same tree structure, got {tree} "
            f"and {init_tree}"
        )
    avals = [typeof(x) for x in leaves]
    inits = [as_init("reduce_window", x, a) for x, a in zip(inits, avals, strict=True)]
    window = _window(
        avals[0].shape, window_dimensions, window_strides, padding, base_dilation, window_dilation
    )
    scalars = [a.update(shape=(), weak_type=False) for a in avals]
    jaxpr = stage_computation("reduce_window", computation, tree, scalars)
    primitive = _BY_NAME.get(named_reduction(jaxpr, inits, avals) or "")
    if primitive is not None:
        outs = [primitive.bind(leaves[0], **window._asdict())]
    else:
        outs = reduce_window_p.bind(*leaves, *inits, jaxpr=jaxpr, **window._asdict())
    return tree.unflatten(outs)


def reduce_window_shape_tuple(
    operand_shape: Sequence[int],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> tuple[int, ...]:
    """The shape of `reduce_window`'s result: how many windows there are along each axis.

    >>> lax.reduce_window_shape_tuple((8, 8), (2, 3), (2, 1), [(0, 0), (1, 1)])
    (4, 8)
    """
    shape = tuple(operand_shape)
    window = _window(
        shape, window_dimensions, window_strides, padding, base_dilation, window_dilation
    )
    return window.out_shape(shape)


# --- windows --------------------------------------------------------------------------------------


class Window(NamedTuple):
    """A window and how it moves: an entry for each axis. The fields are primitives' parameters."""

    window_dimensions: tuple[int, ...]
    window_strides: tuple[int, ...]
    padding: Pads
    base_dilation: tuple[int, ...]
    window_dilation: tuple[int, ...]

    @property
    def extents(self) -> tuple[int, ...]:
        """The window's sizes, gaps included."""
        pairs = zip(self.window_dimensions, self.window_dilation, strict=True)
        return tuple([dilated_size(n, d) for n, d in pairs])

    def padded_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The operand's shape with its gaps and padding."""
        rows = zip(shape, self.base_dilation, self.padding, strict=True)
        return tuple([dilated_size(n, d) + low + high for n, d, (low, high) in rows])

    def out_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """How many windows there are along each axis."""
        padded = self.padded_shape(shape)
        if any(n < 0 for n in padded):
            raise ShapeError(
                f"reduce_window: negative padding {self.padding} cuts more than there is of "
                f"operand shape {tuple(shape)} with base_dilation {self.base_dilation}."
            )
        return tuple(map(num_windows, padded, self.extents, self.window_strides))

    def pad(self, operand: Any, value: Any) -> Any:
        """The operand with its gaps and padding filled with ``value``."""
        config = [
            (low, high, dilation - 1)
            for (low, high), dilation in zip(self.padding, self.base_dilation, strict=True)
        ]
        if any(entry != (0, 0, 0) for entry in config):
            operand = lax.pad(operand, value, config)
        return operand

    def attributes(self) -> str:
        """The StableHLO attributes of ``reduce_window``."""
        lists = ("window_dimensions", "window_strides", "base_dilations", "window_dilations")
        values = (self[0], self[1], self.base_dilation, self.window_dilation)
        texts = [f"{n} = {int_array(v)}" for n, v in zip(lists, values, strict=True)]
        pads = int_matrix(self.padding, (len(self.padding), 2))
        return ", ".join([*texts, f"padding = {pads}"])

    def with_axis(self, dim: int) -> Window:
        """The window that shows one element along a new axis, which leaves that axis alone."""
        return Window(
            insert(self.window_dimensions, dim, 1),
            insert(self.window_strides, dim, 1),
            insert(self.padding, dim, (0, 0)),
            insert(self.base_dilation, dim, 1),
            insert(self.window_dilation, dim, 1),
        )


def _window(
    shape: tuple[int, ...], dimensions: Any, strides: Any, padding: Any, base: Any, dilation: Any
) -> Window:
    """The window that users' arguments describe, checked."""
    ones = (1,) * len(shape)
    sizes = _positive("window_dimensions", dimensions, shape)
    strides = ones if strides is None else _positive("window_strides", strides, shape)
    base = ones if base is None else _positive("base_dilation", base, shape)
    dilation = ones if dilation is None else _positive("window_dilation", dilation, shape)
    if isinstance(padding, str):
        extents = [dilated_size(n, d) for n, d in zip(sizes, dilation, strict=True)]
        padding = padtype_to_pads(shape, extents, strides, padding)
    pads = explicit_pads("reduce_window", padding)
    if len(pads) != len(shape):
        raise ShapeError(
            f"reduce_window: padding must have a pair (before, after) for each of the "
            f"{len(shape)} axes of operand shape {shape}, got {pads}."
        )
    return Window(sizes, strides, pads, base, dilation)


def _positive(argument: str, values: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    values = int_tuple("reduce_window", argument, values)
    if len(values) != len(shape):
        raise ShapeError(
            f"reduce_window got the wrong number of {argument}: expected one for each of the "
            f"{len(shape)} axes of operand shape {shape}, got {values}."
        )
    if any(n < 1 for n in values):
        raise ShapeError(
            f"reduce_window: {argument} must have every element be positive, got {values}."
        )
    return values


# --- one operation with an identity ---------------------------------------------------------------


def _reduction(name: str, op: str, kinds: str, **rules: Any) -> Primitive:
    """A reduction of windows by the function ``op`` of this module's `lax`."""

    def abstract(aval: ShapedArray, **window: Any) -> ShapedArray:
        check_kind(name, aval, kinds)
        return aval.update(shape=Window(**window).out_shape(aval.shape))

    def lower(ctx: Any, args: Any, in_avals: Any, out_avals: Any, **window: Any) -> list[str]:
        scalar = in_avals[0].scalar.update(weak_type=False)
        body = stage_rule(lambda x, y: [getattr(lax, op)(x, y)], [scalar, scalar])
        init = ctx.constant(_identity(op, scalar.dtype), scalar)
        return _emit(ctx, body, args, [init], in_avals, out_avals, Window(**window))

    def batched(axis: Any, args: Any, dims: Any, **window: Any) -> tuple[Any, int]:
        (x,), (dim,) = args, dims
        return primitive.bind(x, **Window(**window).with_axis(dim)._asdict()), dim

    primitive = Primitive(name, abstract=abstract, lower=lower, batch=batched, **rules)
    return primitive


def _identity(op: str, dtype: np.dtype) -> Any:
    from covector.lax.reduce import REDUCTION_BY

    return REDUCTION_BY[op][1](dtype)


def _emit(
    ctx: Any, body: Jaxpr, args: Any, inits: Any, in_avals: Any, out_avals: Any, window: Window
) -> list[str]:
    if not window.window_dimensions:  # no axes: one window of one element
        return ctx.inline(body, [*inits, *args])
    avals = [*in_avals, *[a.scalar for a in in_avals]]
    return lower_with_region(
        ctx, "reduce_window", [*args, *inits], window.attributes(), body, avals, out_avals
    )


def _transpose_sum(ct: Any, x: Any, **params: Any) -> list[Any]:
    """Each element gets the sum of the cotangents of the windows that show it.

    That is a sum over windows of the cotangent, which has gaps where windows are strides apart.
    """
    window = Window(**params)
    pads = [
        (extent - 1 - low, dilated_size(n, base) + low - dilated_size(count, stride))
        for extent, (low, _), n, base, count, stride in zip(
            window.extents,
            window.padding,
            x.shape,
            window.base_dilation,
            ct.shape,
            window.window_strides,
            strict=True,
        )
    ]
    # Padded first, since paddings may be negative here.
    spread = Window(window[0], window[1], tuple(pads), window.window_strides, window[4])
    padded = spread.pad(ct, np.zeros((), ct.dtype)[()])
    none = ((0, 0),) * len(pads)
    back = Window(window[0], window.base_dilation, none, (1,) * len(pads), window[4])
    return [reduce_window_sum_p.bind(padded, **back._asdict())]


def _jvp_extremum(primitive: Callable[[], Primitive], selection: str) -> Callable[..., Any]:
    """The tangent of the element that is chosen; of the first, if several are equal."""

    def jvp(primals: Any, tangents: Any, **window: Any) -> tuple[Any, Any]:
        from covector.lax.window_selection import select_and_gather_add_p

        (x,), (t,) = primals, tangents
        select_prim = getattr(lax, selection)
        out = primitive().bind(x, **window)
        return out, select_and_gather_add_p.bind(t, x, select_prim=select_prim, **window)

    return jvp


reduce_window_sum_p = _reduction(
    "reduce_window_sum", "add", NUMBER, jvp=LINEAR, transpose=_transpose_sum
)
reduce_window_max_p = _reduction(
    "reduce_window_max", "max", ANY, jvp=_jvp_extremum(lambda: reduce_window_max_p, "ge_p")
)
reduce_window_min_p = _reduction(
    "reduce_window_min", "min", ANY, jvp=_jvp_extremum(lambda: reduce_window_min_p, "le_p")
)
_BY_NAME = {"add": reduce_window_sum_p, "max": reduce_window_max_p, "min": reduce_window_min_p}


# --- any operation --------------------------------------------------------------------------------


def _split(values: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    half = len(values) // 2
    return list(values[:half]), list(values[half:])


def _abstract_general(*avals: ShapedArray, jaxpr: Jaxpr, **window: Any) -> list[ShapedArray]:
    operands, _ = _split(avals)
    if len({a.shape for a in operands}) != 1:
        raise ShapeError(
            "reduce_window: operands must have one shape, got "
            f"{', '.join(str(a.shape) for a in operands)}"
        )
    shape = Window(**window).out_shape(operands[0].shape)
    return [a.update(shape=shape, weak_type=False) for a in operands]


def _lower_general(
    ctx: Any, args: Any, in_avals: Any, out_avals: Any, *, jaxpr: Jaxpr, **window: Any
) -> list[str]:
    operands, inits = _split(args)
    avals, _ = _split(in_avals)
    return _emit(ctx, jaxpr, operands, inits, avals, out_avals, Window(**window))


def _by_slices(*args: Any, jaxpr: Jaxpr, **params: Any) -> list[Any]:
    """The same by operations with rules of their own: a slice for each place in the window."""
    operands, inits = _split(args)
    window = Window(**params)
    shape = window.out_shape(operands[0].shape)
    padded = [window.pad(x, init) for x, init in zip(operands, inits, strict=True)]
    outs = [lax.broadcast(x, shape) for x in inits]
    if 0 in shape:
        return outs
    offsets = [
        range(0, n * d, d)
        for n, d in zip(window.window_dimensions, window.window_dilation, strict=True)
    ]
    for starts in itertools.product(*offsets):
        rows = zip(starts, shape, window.window_strides, strict=True)
        limits = [start + (n - 1) * stride + 1 for start, n, stride in rows]
        seen = [lax.slice(x, starts, limits, window.window_strides) for x in padded]
        combined = call_on_scalars(jaxpr, [*outs, *seen])
        there = _is_element(operands[0].shape, starts, shape, window)
        if not there.all():  # XLA's operation leaves padding out
            combined = [lax.select(there, x, y) for x, y in zip(combined, outs, strict=True)]
        outs = combined
    return outs


def _is_element(
    sizes: Sequence[int], starts: Sequence[int], shape: Sequence[int], window: Window
) -> np.ndarray:
    """Where this place in the windows shows an element, not padding or a gap."""
    there = np.ones(tuple(shape), bool)
    for axis, (size, start, count) in enumerate(zip(sizes, starts, shape, strict=True)):
        dilation = window.base_dilation[axis]
        places = start + window.window_strides[axis] * np.arange(count) - window.padding[axis][0]
        inside = (places >= 0) & (places < dilated_size(size, dilation)) & (places % dilation == 0)
        there &= np.expand_dims(inside, tuple([i for i in range(len(shape)) if i != axis]))
    return there


def _jvp_general(primals: Any, tangents: Any, **params: Any) -> Any:
    outs = reduce_window_p.bind(*primals, **params)
    return outs, tangents_by(lambda *args: _by_slices(*args, **params), primals, tangents)


def _batch_general(axis: Any, args: Any, dims: Any, *, jaxpr: Jaxpr, **params: Any) -> Any:
    operands, inits = _split(args)
    dims, init_dims = _split(dims)
    if all(d is None for d in init_dims):
        moved = [move_batch_axis(x, axis.size, d, 0) for x, d in zip(operands, dims, strict=True)]
        window = Window(**params).with_axis(0)
        outs = reduce_window_p.bind(*moved, *inits, jaxpr=jaxpr, **window._asdict())
        return outs, [0] * len(outs)
    avals = [
        a if d is None else a.update(shape=a.shape[:d] + a.shape[d + 1 :])
        for a, d in zip(map(typeof, args), [*dims, *init_dims], strict=True)
    ]
    program = stage_rule(lambda *xs: _by_slices(*xs, jaxpr=jaxpr, **params), avals)
    zeros = (0,) * len(operands)
    derived, _ = batch(program, axis, (*dims, *init_dims), zeros)
    return current_trace_state.value.call(derived, args), list(zeros)


reduce_window_p = Primitive(
    "reduce_window",
    abstract=_abstract_general,
    lower=_lower_general,
    jvp=_jvp_general,
    batch=_batch_general,
    multiple_results=True,
)

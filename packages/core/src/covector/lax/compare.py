"""Comparison and selection: eq ne lt le gt ge, is_finite, select_n, select, clamp."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector._trace.primitive import Linear, Primitive
from covector._trace.trace import typeof
from covector.lax._nary import (
    ANY,
    FLOAT,
    ORDERED,
    broadcast_operands,
    broadcast_to_shape,
    check_same_dtype,
    common_shape,
    compare_text,
    elementwise,
    elementwise_batch,
    scalar_like,
    unbroadcast,
)

BOOL = dtypes.DTYPES["bool"]


def to_bool(dtype: np.dtype) -> np.dtype:
    """The dtype of a comparison's result."""
    return BOOL


# --- comparisons ----------------------------------------------------------------------------------


def _comparison(name: str, direction: str, kinds: str, *, total_order: bool = False) -> Primitive:
    def lower(ctx: Any, args: Any, in_avals: Any, out_avals: Any) -> list[str]:
        operand = in_avals[0].update(shape=out_avals[0].shape)
        x, y = broadcast_operands(ctx, args, in_avals, operand)
        total = total_order and dtypes.is_float(operand.dtype)
        return [compare_text(ctx, direction, x, y, operand, "TOTALORDER" if total else None)]

    return elementwise(name, lower, kinds, operands=2, out_dtype=to_bool)


eq_p = _comparison("eq", "EQ", ANY)
ne_p = _comparison("ne", "NE", ANY)
lt_p = _comparison("lt", "LT", ORDERED)
le_p = _comparison("le", "LE", ORDERED)
gt_p = _comparison("gt", "GT", ORDERED)
ge_p = _comparison("ge", "GE", ORDERED)

# In the total order of floating point numbers, -nan < -inf < ... < -0 < 0 < ... < inf < nan.
eq_to_p = _comparison("eq_to", "EQ", ORDERED, total_order=True)
lt_to_p = _comparison("lt_to", "LT", ORDERED, total_order=True)
le_to_p = _comparison("le_to", "LE", ORDERED, total_order=True)


def eq(x: Any, y: Any) -> Any:
    """Whether ``x`` equals ``y``, elementwise. Nan equals nothing.

    >>> import covector
    >>> bool(covector.lax.eq(1.0, 1.0))
    True
    """
    return eq_p.bind(x, y)


def ne(x: Any, y: Any) -> Any:
    """Whether ``x`` differs from ``y``, elementwise. Nan differs from everything.

    >>> import covector
    >>> bool(covector.lax.ne(float("nan"), float("nan")))
    True
    """
    return ne_p.bind(x, y)


def lt(x: Any, y: Any) -> Any:
    """Whether ``x`` is less than ``y``, elementwise; not for complex numbers.

    >>> import covector
    >>> bool(covector.lax.lt(1, 2))
    True
    """
    return lt_p.bind(x, y)


def le(x: Any, y: Any) -> Any:
    """Whether ``x`` is at most ``y``, elementwise; not for complex numbers.

    >>> import covector
    >>> bool(covector.lax.le(2, 2))
    True
    """
    return le_p.bind(x, y)


def gt(x: Any, y: Any) -> Any:
    """Whether ``x`` is greater than ``y``, elementwise; not for complex numbers.

    >>> import covector
    >>> bool(covector.lax.gt(1, 2))
    False
    """
    return gt_p.bind(x, y)


def ge(x: Any, y: Any) -> Any:
    """Whether ``x`` is at least ``y``, elementwise; not for complex numbers.

    >>> import covector
    >>> bool(covector.lax.ge(2, 2))
    True
    """
    return ge_p.bind(x, y)


is_finite_p = elementwise("is_finite", "is_finite", FLOAT, out_dtype=to_bool)


def is_finite(x: Any) -> Any:
    """Whether ``x`` is neither infinite nor nan, elementwise; floating point only.

    >>> import covector
    >>> bool(covector.lax.is_finite(float("inf")))
    False
    """
    return is_finite_p.bind(x)


def shape_of(x: Any) -> tuple[int, ...]:
    """The shape of an operand; () for what has none, as Python numbers. Hot: checks nothing."""
    return getattr(x, "shape", ())


# --- select_n -------------------------------------------------------------------------------------


def select_n(which: Any, *cases: Any) -> Any:
    """``cases[which]``, elementwise.

    Args:
      which: booleans (with at most two cases: False selects the first) or integers, of the cases'
        shape or of rank zero. An integer out of range selects the nearest case.
      cases: arrays of one shape and dtype.

    Raises:
      TypeError: shapes or dtypes do not fit.
      ValueError: there is no case.

    >>> import covector, numpy
    >>> covector.lax.select_n(numpy.array([True, False]), numpy.zeros(2), numpy.ones(2)).tolist()
    [1.0, 0.0]
    """
    if not cases:
        raise ValueError("select_n: at least one case is needed.")
    shape, which_shape = shape_of(cases[0]), shape_of(which)
    if any(shape_of(x) != shape for x in cases):
        raise TypeError(
            f"select_n: cases must have one shape, got {', '.join(str(shape_of(x)) for x in cases)}"
            ". (covector.numpy.where broadcasts by itself.)"
        )
    if which_shape not in ((), shape):
        raise TypeError(
            f"select_n: which must have rank zero or the cases' shape, got shape {which_shape} "
            f"for cases of shape {shape}."
        )
    return select_n_p.bind(which, *cases)


def select(pred: Any, on_true: Any, on_false: Any) -> Any:
    """``on_true`` where ``pred`` holds, else ``on_false``: `select_n` with two cases.

    >>> import covector
    >>> float(covector.lax.select(True, 1.0, 2.0))
    1.0
    """
    return select_n(pred, on_false, on_true)


def _abstract_select_n(which: ShapedArray, *cases: ShapedArray) -> ShapedArray:
    dtype, weak = cases[0].dtype, all(a.weak_type for a in cases)
    if not (dtypes.is_bool(which.dtype) or dtypes.is_integer(which.dtype)):
        raise TypeError(f"select_n: which must be boolean or integer, got dtype {which.dtype}.")
    if dtypes.is_bool(which.dtype) and len(cases) > 2:
        raise TypeError(
            f"select_n: a boolean which selects among at most two cases, got {len(cases)}; "
            "convert it to int32."
        )
    check_same_dtype("select_n", cases)
    return ShapedArray(common_shape("select_n", [which, *cases]), dtype, weak)


def _lower_select_n(ctx: Any, args: Any, in_avals: Any, out_avals: Any) -> list[str]:
    out, which_aval = out_avals[0], in_avals[0]
    cases = broadcast_operands(ctx, args[1:], in_avals[1:], out)
    which = args[0] if which_aval.ndim == 0 else broadcast_operands(ctx, args, in_avals, out)[0]
    if which_aval.ndim:
        which_aval = which_aval.update(shape=out.shape)
    chosen = cases[0]
    for i, case in enumerate(cases[1:], start=1):
        mask = which
        if not dtypes.is_bool(which_aval.dtype):
            mask = compare_text(ctx, "GE", which, ctx.constant(i, which_aval), which_aval)
        text = f"stablehlo.select {mask}, {case}, {chosen} : {which_aval.mask.mlir}, {out.mlir}"
        chosen = ctx.emit(text)[0]
    return [chosen]


def _jvp_select_n(primals: Any, tangents: Any) -> tuple[Any, Any]:
    which, *cases = primals
    out = select_n_p.bind(which, *cases)
    zero = scalar_like(out, 0)
    tangent = select_n_p.bind(which, *[zero if t is None else t for t in tangents[1:]])
    return out, broadcast_to_shape(tangent, out.shape)


def _transpose_select_n(ct: Any, which: Any, *cases: Any) -> list[Any]:
    zero = scalar_like(ct, 0)
    cts = [None]
    for i, case in enumerate(cases):
        if isinstance(case, Linear):
            only = select_n_p.bind(which, *[ct if j == i else zero for j in range(len(cases))])
            cts.append(unbroadcast(only, case))
        else:
            cts.append(None)
    return cts


select_n_p = Primitive(
    "select_n",
    abstract=_abstract_select_n,
    lower=_lower_select_n,
    jvp=_jvp_select_n,
    transpose=_transpose_select_n,
    batch=elementwise_batch(lambda: select_n_p),
    elementwise=True,
)


def zero_unless(mask: Any, x: Any) -> Any:
    """``x`` where ``mask`` holds, else zero. In derivatives: a tangent passes, or does not."""
    return select_n_p.bind(mask, scalar_like(x, 0), x)


# --- clamp ----------------------------------------------------------------------------------------


def clamp(min: Any, x: Any, max: Any) -> Any:
    """``x`` limited to the range from ``min`` to ``max``, elementwise.

    Bounds have ``x``'s shape or rank zero. Nan in any operand gives nan; where ``min > max``, the
    result is ``max``. The derivative is zero where ``x`` lies on a bound.

    >>> import covector
    >>> float(covector.lax.clamp(0.0, 2.0, 1.0))
    1.0
    """
    shape = shape_of(x)
    for name, bound in (("min", min), ("max", max)):
        if shape_of(bound) not in ((), shape):
            raise TypeError(
                f"clamp: {name} must have rank zero or the shape of x, got shape "
                f"{shape_of(bound)} for x of shape {shape}."
            )
    return clamp_p.bind(min, x, max)


def _lower_clamp(ctx: Any, args: Any, in_avals: Any, out_avals: Any) -> list[str]:
    out = out_avals[0]
    low, x, high = broadcast_operands(ctx, args, in_avals, out)
    if dtypes.is_complex(out.dtype):
        larger = _lexicographic(ctx, "GT", x, low, out)
        return [_lexicographic(ctx, "LT", larger, high, out)]
    return [ctx.simple("clamp", [low, x, high], out)]


def _lexicographic(ctx: Any, direction: str, x: str, y: str, aval: ShapedArray) -> str:
    """The name of the larger (GT) or smaller (LT) of two complex numbers, by parts in order."""
    part = aval.update(dtype=dtypes.to_real_dtype(aval.dtype))
    mask = aval.update(dtype=BOOL, weak_type=False)
    names = {
        (op, z): ctx.typed(op, [z], [aval], [part])[0] for op in ("real", "imag") for z in (x, y)
    }
    same = compare_text(ctx, "EQ", names["real", x], names["real", y], part)
    by_real = compare_text(ctx, direction, names["real", x], names["real", y], part)
    by_imag = compare_text(ctx, direction, names["imag", x], names["imag", y], part)
    first = ctx.emit(f"stablehlo.select {same}, {by_imag}, {by_real} : {mask.mlir}, {mask.mlir}")
    return ctx.emit(f"stablehlo.select {first[0]}, {x}, {y} : {mask.mlir}, {aval.mlir}")[0]


def lower_extremum(op: str, direction: str) -> Callable[..., list[str]]:
    """Lowering of max and min; complex numbers are ordered by their real, then imaginary parts."""

    def lower(ctx: Any, args: Any, in_avals: Any, out_avals: Any) -> list[str]:
        out = out_avals[0]
        x, y = broadcast_operands(ctx, args, in_avals, out)
        if dtypes.is_complex(out.dtype):
            return [_lexicographic(ctx, direction, x, y, out)]
        return [ctx.simple(op, [x, y], out)]

    return lower


def _strictly(larger: Any, smaller: Any) -> Any:
    """``larger > smaller``, also for complex numbers."""
    if not dtypes.is_complex(typeof(larger).dtype):
        return gt_p.bind(larger, smaller)
    from covector.lax.bitwise import bitwise_and
    from covector.lax.elementwise import max

    return bitwise_and(ne_p.bind(larger, smaller), eq_p.bind(larger, max(larger, smaller)))


def _clamp_tangent_x(t: Any, out: Any, low: Any, x: Any, high: Any) -> Any:
    return zero_unless(_strictly(high, x), zero_unless(_strictly(x, low), t))


def _clamp_tangent_low(t: Any, out: Any, low: Any, x: Any, high: Any) -> Any:
    return zero_unless(_strictly(high, low), zero_unless(_strictly(low, x), t))


def _clamp_tangent_high(t: Any, out: Any, low: Any, x: Any, high: Any) -> Any:
    from covector.lax.bitwise import bitwise_or

    return zero_unless(bitwise_or(_strictly(x, high), _strictly(low, high)), t)


clamp_p = elementwise(
    "clamp", _lower_clamp, ANY, _clamp_tangent_low, _clamp_tangent_x, _clamp_tangent_high
)

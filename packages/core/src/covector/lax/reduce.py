"""Reductions along axes: sums, products, extrema, logic. They are a table.

`argmax.py` holds `argmax` and `argmin`; `reducer.py` holds `reduce`, which takes any function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import Any

import numpy as np

from covector import lax
from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector._trace.primitive import LINEAR, Primitive
from covector._trace.trace import typeof
from covector.lax._axes import shift_axes
from covector.lax._nary import ANY, NUMBER, check_kind
from covector.lax._rules import tangents_by
from covector.lax.compare import zero_unless
from covector.lax.filling import full_of, place
from covector.lax.reduce_lowering import lower_reduction_by
from covector.lax.shape import broadcast_axes

# --- what users call -----------------------------------------------------------------------------


def reduce_sum(operand: Any, axes: Sequence[int], *, out_sharding: Any = None) -> Any:
    """The sum of ``operand``'s elements along ``axes`` (0 if there are none).

    Raises:
      ValueError: an axis is negative, out of bounds, or named twice.
      TypeError: the dtype is bool.

    >>> lax.reduce_sum(np.arange(6).reshape(2, 3), (1,))
    Array([ 3, 12], dtype=int32)
    """
    return place(_reduce(reduce_sum_p, operand, axes), out_sharding)


def reduce_prod(operand: Any, axes: Sequence[int]) -> Any:
    """The product of ``operand``'s elements along ``axes`` (1 if there are none).

    >>> lax.reduce_prod(np.array([2, 3]), (0,))
    Array(6, dtype=int32)
    """
    return _reduce(reduce_prod_p, operand, axes)


def reduce_max(operand: Any, axes: Sequence[int], *, out_sharding: Any = None) -> Any:
    """The largest of ``operand``'s elements along ``axes``; nan if one is.

    Complex numbers are ordered by real part, then imaginary part.

    >>> lax.reduce_max(np.array([2, 3]), (0,))
    Array(3, dtype=int32)
    """
    return place(_reduce(reduce_max_p, operand, axes), out_sharding)


def reduce_min(operand: Any, axes: Sequence[int], *, out_sharding: Any = None) -> Any:
    """The smallest of ``operand``'s elements along ``axes``; nan if one is.

    >>> lax.reduce_min(np.array([2, 3]), (0,))
    Array(2, dtype=int32)
    """
    return place(_reduce(reduce_min_p, operand, axes), out_sharding)


def reduce_and(operand: Any, axes: Sequence[int]) -> Any:
    """Whether all elements along ``axes`` are true; bit by bit for integers.

    >>> lax.reduce_and(np.array([True, False]), (0,))
    Array(False, dtype=bool)
    """
    return _reduce(reduce_and_p, operand, axes)


def reduce_or(operand: Any, axes: Sequence[int]) -> Any:
    """Whether any element along ``axes`` is true; bit by bit for integers.

    >>> lax.reduce_or(np.array([True, False]), (0,))
    Array(True, dtype=bool)
    """
    return _reduce(reduce_or_p, operand, axes)


def reduce_xor(operand: Any, axes: Sequence[int]) -> Any:
    """Whether an odd number of elements along ``axes`` is true; bit by bit for integers.

    >>> lax.reduce_xor(np.array([True, True]), (0,))
    Array(False, dtype=bool)
    """
    return _reduce(reduce_xor_p, operand, axes)


def _reduce(primitive: Primitive, operand: Any, axes: Sequence[int]) -> Any:
    axes = tuple(map(index, axes))
    if not axes and hasattr(operand, "aval"):
        return operand
    return primitive.bind(operand, axes=axes)


# --- the common form -----------------------------------------------------------------------------


def reduced_shape(name: str, aval: ShapedArray, axes: Sequence[int]) -> tuple[int, ...]:
    """``aval``'s shape without ``axes``; the errors of axes that are wrong."""
    if len(set(axes)) != len(axes):
        raise ValueError(f"{name}: duplicate value in axes: {axes}")
    if not all(0 <= a < aval.ndim for a in axes):
        raise ValueError(
            f"{name}: axes must be nonnegative and less than {aval.ndim}, the number of axes of "
            f"operand {aval.str_short()}, got {axes}"
        )
    return tuple([n for i, n in enumerate(aval.shape) if i not in axes])


def _reduction(
    name: str,
    op: str,
    kinds: str,
    identity: Callable[[np.dtype], Any],
    *,
    keep_weak_type: bool = True,
    **rules: Any,
) -> Primitive:
    """A reduction by a StableHLO operation with an identity."""

    def abstract(aval: ShapedArray, *, axes: tuple[int, ...]) -> ShapedArray:
        check_kind(name, aval, kinds)
        out = aval.update(shape=reduced_shape(name, aval, axes))
        return out if keep_weak_type else out.strip_weak_type()

    def batch(axis: Any, args: Any, dims: Any, *, axes: Any) -> tuple[Any, int]:
        moved = shift_axes(axes, dims[0])
        return primitive.bind(args[0], axes=moved), dims[0] - sum(a < dims[0] for a in moved)

    primitive = Primitive(
        name, abstract=abstract, lower=lower_reduction_by(op, identity), batch=batch, **rules
    )
    return primitive


def lowest(dtype: np.dtype) -> Any:
    """The identity of the maximum."""
    return _extreme(dtype, -np.inf, "min", False)


def highest(dtype: np.dtype) -> Any:
    """The identity of the minimum."""
    return _extreme(dtype, np.inf, "max", True)


def _extreme(dtype: np.dtype, infinity: float, bound: str, truth: bool) -> Any:
    if dtypes.is_bool(dtype):
        return truth
    if dtypes.is_integer(dtype):
        return getattr(dtypes.iinfo(dtype), bound)
    if dtypes.is_complex(dtype) or np.isinf(np.asarray(infinity).astype(dtype).astype(float)):
        return infinity
    return getattr(dtypes.finfo(dtype), bound)  # narrow types without infinities


def all_bits(dtype: np.dtype) -> Any:
    """The identity of the logical and."""
    if dtypes.is_bool(dtype):
        return True
    return dtypes.iinfo(dtype).max if dtypes.is_unsigned(dtype) else -1


# --- derivatives ---------------------------------------------------------------------------------


def _jvp_extremum(primitive: Callable[[], Primitive]) -> Callable[..., Any]:
    """The tangent of the element that was chosen; the mean of theirs if several are equal."""

    def jvp(primals: Any, tangents: Any, *, axes: tuple[int, ...]) -> tuple[Any, Any]:
        (x,), (t,) = primals, tangents
        out = primitive().bind(x, axes=axes)
        chosen = lax.eq(x, broadcast_axes(out, x.shape, axes))
        if dtypes.is_inexact(x.dtype):
            chosen = lax.bitwise_or(chosen, lax.ne(x, x))
        picked = reduce_sum(zero_unless(chosen, t), axes)
        count = reduce_sum(lax.convert_element_type(chosen, t.dtype), axes)
        if dtypes.is_inexact(x.dtype):  # no derivative where the result is nan
            nan = full_of(typeof(count), np.nan)
            count = lax.select(lax.ne(out, out), nan, count)
        return out, lax.div(picked, count)

    return jvp


def _jvp_prod(primals: Any, tangents: Any, *, axes: tuple[int, ...]) -> tuple[Any, Any]:
    """That of a tree of products: no division, so that zeros among the factors are no trouble."""
    out = reduce_prod_p.bind(*primals, axes=axes)

    if typeof(primals[0]).size == 0:
        return out, None

    def by_tree(x: Any) -> list[Any]:
        factors = rows_of(x, axes)
        while factors.shape[0] > 1:
            if factors.shape[0] % 2:
                factors = lax.pad(factors, _one(factors.dtype), [(0, 1, 0), (0, 0, 0)])
            factors = lax.mul(*halves(factors))
        return [lax.reshape(factors, out.shape)]

    return out, tangents_by(by_tree, primals, tangents)[0]


def rows_of(x: Any, axes: Sequence[int]) -> Any:
    """``x`` as a matrix: ``axes`` become the rows, all others the columns."""
    others = [i for i in range(x.ndim) if i not in axes]
    count = int(np.prod([x.shape[i] for i in axes], dtype=np.int64))
    columns = int(np.prod([x.shape[i] for i in others], dtype=np.int64))
    return lax.reshape(lax.transpose(x, (*axes, *others)), (count, columns))


def halves(rows: Any) -> tuple[Any, Any]:
    """The first and the second half of an even number of rows."""
    half = rows.shape[0] // 2
    return lax.slice_in_dim(rows, 0, half), lax.slice_in_dim(rows, half, None)


def _one(dtype: np.dtype) -> Any:
    return np.ones((), dtype)[()]


# --- the table -----------------------------------------------------------------------------------

reduce_sum_p = _reduction(
    "reduce_sum",
    "add",
    NUMBER,
    lambda dtype: 0,
    jvp=LINEAR,
    transpose=lambda ct, x, *, axes: [broadcast_axes(ct, x.shape, axes)],
)
reduce_prod_p = _reduction("reduce_prod", "multiply", NUMBER, lambda dtype: 1, jvp=_jvp_prod)
reduce_max_p = _reduction(
    "reduce_max", "maximum", ANY, lowest, jvp=_jvp_extremum(lambda: reduce_max_p)
)
reduce_min_p = _reduction(
    "reduce_min", "minimum", ANY, highest, jvp=_jvp_extremum(lambda: reduce_min_p)
)
reduce_and_p, reduce_or_p, reduce_xor_p = [
    _reduction(f"reduce_{op}", op, "iub", identity, keep_weak_type=False, differentiable=False)
    for op, identity in (("and", all_bits), ("or", lambda dtype: 0), ("xor", lambda dtype: 0))
]

# The reduction by each operation, with the identity that it begins with: for `lax.reduce`.
REDUCTION_BY: dict[str, tuple[Primitive, Callable[[np.dtype], Any]]] = {
    "add": (reduce_sum_p, lambda dtype: 0),
    "mul": (reduce_prod_p, lambda dtype: 1),
    "max": (reduce_max_p, lowest),
    "min": (reduce_min_p, highest),
    "and": (reduce_and_p, all_bits),
    "or": (reduce_or_p, lambda dtype: 0),
    "xor": (reduce_xor_p, lambda dtype: 0),
}

"""Running reductions along an axis: cumsum, cumprod, cummax, cummin, cumlogsumexp.

On CPU they are computed by a loop over the axis, in which all else is one vector operation; a long
axis with little beside it is cut into blocks that go through the loop side by side. Elsewhere by
doubling: step k combines each element with the one 2^k places before (Hillis and Steele, "Data
parallel algorithms", 1986).

The derivative of every one of them is a linear recurrence z[i] = a[i] z[i-1] + b[i], which is a
primitive here (`linear_recurrence_p`): nothing is divided, and zeros are no trouble. Its own
derivative and transpose are recurrences again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from operator import index
from typing import Any, NamedTuple

import numpy as np

from covector import lax
from covector._config import disable_jit
from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector._lower.module import lower_by
from covector._trace.primitive import LINEAR, Primitive
from covector._trace.trace import typeof
from covector.lax._nary import INEXACT, NUMBER, check_kind, check_same_dtype
from covector.lax.compare import zero_unless
from covector.lax.elementwise import add_any, scale
from covector.lax.filling import full_of
from covector.lax.reduce import highest, lowest
from covector.lax.shape import broadcast_in_dim, move_axis, reshape

# --- what users call -----------------------------------------------------------------------------


def cumsum(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Running sums along ``axis``, from its other end if ``reverse``.

    Raises:
      ValueError: the axis is negative or does not exist.
      TypeError: the dtype is bool.

    >>> lax.cumsum(np.array([1, 2, 3]))
    Array([1, 3, 6], dtype=int32)
    """
    return _bind(cumsum_p, operand, axis, reverse)


def cumprod(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Running products along ``axis``, from its other end if ``reverse``.

    >>> lax.cumprod(np.array([1, 2, 3]), reverse=True)
    Array([6, 6, 3], dtype=int32)
    """
    return _bind(cumprod_p, operand, axis, reverse)


def cummax(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """The largest element so far along ``axis``, from its other end if ``reverse``.

    >>> lax.cummax(np.array([1, 3, 2]))
    Array([1, 3, 3], dtype=int32)
    """
    return _bind(cummax_p, operand, axis, reverse)


def cummin(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """The smallest element so far along ``axis``, from its other end if ``reverse``.

    >>> lax.cummin(np.array([2, 3, 1]))
    Array([2, 2, 1], dtype=int32)
    """
    return _bind(cummin_p, operand, axis, reverse)


def cumlogsumexp(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Running ``log(sum(exp(x)))`` along ``axis``, from its other end if ``reverse``.

    >>> lax.cumlogsumexp(np.zeros(2))
    Array([0.       , 0.6931472], dtype=float32)
    """
    return _bind(cumlogsumexp_p, operand, axis, reverse)


def _bind(primitive: Primitive, operand: Any, axis: int, reverse: bool) -> Any:
    return primitive.bind(operand, axis=index(axis), reverse=bool(reverse))


# --- the common form -----------------------------------------------------------------------------


class Monoid(NamedTuple):
    """An associative operation on elements that consist of one or more arrays.

    ``combine(earlier, later)`` takes and gives lists of arrays; ``identity(dtype)`` is a list of
    Python numbers. ``widen``: whether to compute 16-bit floats in 32 bits.
    """

    combine: Callable[[Sequence[Any], Sequence[Any]], list[Any]]
    identity: Callable[[np.dtype], list[Any]]
    widen: bool


def _cumulative(name: str, kinds: str, monoid: Monoid, **rules: Any) -> Primitive:
    def abstract(aval: ShapedArray, *, axis: int, reverse: bool) -> ShapedArray:
        check_kind(name, aval, kinds)
        _check_axis(name, aval, axis)
        return aval

    primitive = Primitive(
        name,
        abstract=abstract,
        lower=_lower(monoid),
        batch=_batch(lambda: primitive),
        **rules,
    )
    return primitive


def _check_axis(name: str, aval: ShapedArray, axis: int) -> None:
    if not 0 <= axis < aval.ndim:
        raise ValueError(
            f"{name}: axis must be nonnegative and less than {aval.ndim}, the number of axes of "
            f"operand {aval.str_short()}, got {axis}"
        )


def _batch(primitive: Callable[[], Primitive]) -> Callable[..., tuple[Any, int]]:
    def batch(batch_axis: Any, args: Any, dims: Any, *, axis: int, reverse: bool) -> Any:
        dim = dims[0]
        out = primitive().bind(args[0], axis=axis + (axis >= dim), reverse=reverse)
        return out, dim

    return batch


# --- lowering ------------------------------------------------------------------------------------

# A loop's turn costs about 0.03 us and what its vector operation costs: so few lanes are no reason
# to cut an axis into blocks, unless it is long.
_SHORT_AXIS = 1024
_ENOUGH_LANES = 512


def _lower(monoid: Monoid) -> Callable[..., list[str]]:
    by_loop, by_doubling = [
        lower_by(lambda *xs, axis, reverse, way=way: _widened(way, monoid, xs, axis, reverse))
        for way in (_by_loop, _by_doubling)
    ]

    def lower(ctx: Any, args: Any, in_avals: Any, out_avals: Any, **params: Any) -> list[str]:
        way = by_loop if ctx.platform == "cpu" else by_doubling
        return way(ctx, args, in_avals, out_avals, **params)[-1:]

    return lower


def _widened(way: Any, monoid: Monoid, xs: Sequence[Any], axis: int, reverse: bool) -> list[Any]:
    narrow = xs[0].dtype
    if xs[0].size == 0:
        return list(xs)
    if monoid.widen and dtypes.is_float(narrow) and narrow.itemsize < 4:
        xs = [lax.convert_element_type(x, np.float32) for x in xs]
    outs = way(monoid, xs, axis, reverse)
    return [lax.convert_element_type(x, narrow) for x in outs]


def _by_loop(monoid: Monoid, xs: Sequence[Any], axis: int, reverse: bool) -> list[Any]:
    rows = [move_axis(x, axis, 0) for x in xs]
    length = rows[0].shape[0]
    lanes = rows[0].size // length
    if length > _SHORT_AXIS and lanes < _ENOUGH_LANES:
        outs = _by_blocks(monoid, rows, reverse)
    else:
        outs = _row_by_row(monoid, rows, reverse)
    return [move_axis(x, 0, axis) for x in outs]


def _row_by_row(monoid: Monoid, rows: Sequence[Any], reverse: bool) -> list[Any]:
    def step(carry: list[Any], row: list[Any]) -> tuple[list[Any], list[Any]]:
        new = monoid.combine(carry, row)
        return new, new

    avals = [typeof(x).update(shape=x.shape[1:], weak_type=False) for x in rows]
    init = [full_of(a, v) for a, v in zip(avals, monoid.identity(rows[0].dtype), strict=True)]
    rows = [_strong(x) for x in rows]
    with disable_jit(False):  # this is part of an operation, not the user's loop
        return lax.scan(step, init, rows, reverse=reverse)[1]


def _strong(x: Any) -> Any:
    return lax.convert_element_type(x, x.dtype)


def _by_blocks(monoid: Monoid, rows: Sequence[Any], reverse: bool) -> list[Any]:
    """Cut the leading axis into blocks; then carry each block's total into the later ones."""
    length = rows[0].shape[0]
    size = math.isqrt(length - 1) + 1
    count = -(-length // size)
    missing = count * size - length
    filled = _extended(monoid, rows, *((missing, 0) if reverse else (0, missing)))
    blocks = [move_axis(reshape(x, (count, size, *x.shape[1:])), 1, 0) for x in filled]
    inner = _row_by_row(monoid, blocks, reverse)
    totals = [lax.index_in_dim(x, 0 if reverse else -1, keepdims=False) for x in inner]
    before = _extended(
        monoid, _by_loop(monoid, totals, 0, reverse), *((-1, 1) if reverse else (1, -1))
    )
    before = [broadcast_in_dim(x, y.shape, range(1, y.ndim)) for x, y in zip(before, inner)]
    outs = [
        reshape(move_axis(x, 0, 1), (count * size, *x.shape[2:]))
        for x in monoid.combine(before, inner)
    ]
    start = missing if reverse else 0
    return [lax.slice_in_dim(x, start, start + length) for x in outs]


def _extended(monoid: Monoid, xs: Sequence[Any], low: int, high: int, axis: int = 0) -> list[Any]:
    """``xs`` with identities before and after along ``axis`` (cut where negative)."""
    if low == 0 == high:
        return list(xs)
    identities = monoid.identity(xs[0].dtype)
    return [_pad_axis(x, v, low, high, axis) for x, v in zip(xs, identities, strict=True)]


def _pad_axis(x: Any, value: Any, low: int, high: int, axis: int) -> Any:
    config = [(low, high, 0) if i == axis else (0, 0, 0) for i in range(x.ndim)]
    return lax.pad(x, np.asarray(value).astype(x.dtype)[()], config)


def _by_doubling(monoid: Monoid, xs: Sequence[Any], axis: int, reverse: bool) -> list[Any]:
    length, distance = xs[0].shape[axis], 1
    while distance < length:
        low, high = (-distance, distance) if reverse else (distance, -distance)
        xs = monoid.combine(_extended(monoid, xs, low, high, axis), xs)
        xs = [lax.optimization_barrier(x) for x in xs]  # else each step computes all before anew
        distance *= 2
    return list(xs)


# --- the linear recurrence -----------------------------------------------------------------------


def linear_recurrence(a: Any, b: Any, axis: int, reverse: bool) -> Any:
    """The solution of z[i] = a[i] z[i-1] + b[i] along ``axis``, linear in b; z is 0 before.

    The products are those of linear code: a zero annihilates.
    """
    return linear_recurrence_p.bind(a, b, axis=axis, reverse=reverse)


def _compose(earlier: Sequence[Any], later: Sequence[Any]) -> list[Any]:
    """First z -> a z + b, then the same with later a and b."""
    (a, b), (a_later, b_later) = earlier, later
    return [lax.mul(a, a_later), add_any(scale(b, a_later), b_later)]


def _abstract_recurrence(
    a: ShapedArray, b: ShapedArray, *, axis: int, reverse: bool
) -> ShapedArray:
    check_same_dtype("linear_recurrence", (a, b))
    _check_axis("linear_recurrence", a, axis)
    return b


def _jvp_recurrence(primals: Any, tangents: Any, *, axis: int, reverse: bool) -> tuple[Any, Any]:
    a, b = primals
    t_a, t_b = tangents
    z = linear_recurrence(a, b, axis, reverse)
    source = t_b
    if t_a is not None:
        term = scale(t_a, _previous(z, 0, axis, reverse))
        source = term if t_b is None else add_any(term, t_b)
    return z, linear_recurrence(a, source, axis, reverse)


def _batch_recurrence(batch: Any, args: Any, dims: Any, *, axis: int, reverse: bool) -> Any:
    from covector._transform.batch import move_batch_axis

    a, b = [move_batch_axis(x, batch.size, d, 0) for x, d in zip(args, dims, strict=True)]
    return linear_recurrence(a, b, axis + 1, reverse), 0


def _previous(x: Any, first: Any, axis: int, reverse: bool) -> Any:
    """What stood one place before: ``first`` at the beginning."""
    low, high = (-1, 1) if reverse else (1, -1)
    return _pad_axis(x, first, low, high, axis)


linear_recurrence_p = Primitive(
    "linear_recurrence",
    abstract=_abstract_recurrence,
    lower=_lower(Monoid(_compose, lambda dtype: [1, 0], widen=True)),
    jvp=_jvp_recurrence,
    transpose=lambda ct, a, b, *, axis, reverse: [
        None,
        linear_recurrence(_previous(a, 0, axis, not reverse), ct, axis, not reverse),
    ],
    batch=_batch_recurrence,
)


# --- derivatives ---------------------------------------------------------------------------------


def _jvp_cumprod(primals: Any, tangents: Any, *, axis: int, reverse: bool) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    y = cumprod_p.bind(x, axis=axis, reverse=reverse)
    source = scale(t, _previous(y, 1, axis, reverse))
    return y, linear_recurrence(x, source, axis, reverse)


def _jvp_extremum(primitive: Callable[[], Primitive]) -> Callable[..., tuple[Any, Any]]:
    """The mean tangent of all elements so far that equal the extremum, as in `reduce_max`."""

    def jvp(primals: Any, tangents: Any, *, axis: int, reverse: bool) -> tuple[Any, Any]:
        (x,), (t,) = primals, tangents
        y = primitive().bind(x, axis=axis, reverse=reverse)
        stays = lax.convert_element_type(lax.eq(y, _previous(y, 0, axis, reverse)), y.dtype)
        chosen = lax.eq(x, y)
        ones = lax.convert_element_type(chosen, y.dtype)
        count = linear_recurrence(stays, ones, axis, reverse)
        total = linear_recurrence(stays, zero_unless(chosen, t), axis, reverse)
        return y, lax.div(total, count)

    return jvp


def _jvp_cumlogsumexp(primals: Any, tangents: Any, *, axis: int, reverse: bool) -> Any:
    (x,), (t,) = primals, tangents
    y = cumlogsumexp_p.bind(x, axis=axis, reverse=reverse)
    share = scale(t, _share(x, y))
    keep = _share(_previous(y, -np.inf, axis, reverse), y)
    return y, linear_recurrence(keep, share, axis, reverse)


def _share(part: Any, whole: Any) -> Any:
    """The part's fraction of the whole, of which both are logarithms; 0 of nothing."""
    nothing = lax.eq(whole, lax.full_like(whole, -np.inf))
    return zero_unless(lax.bitwise_not(nothing), lax.exp(lax.sub(part, whole)))


def _logaddexp(x: Any, y: Any) -> Any:
    larger, smaller = lax.max(x, y), lax.min(x, y)
    gap = lax.sub(smaller, larger)
    both = lax.add(larger, lax.log1p(lax.exp(gap)))
    if dtypes.is_complex(both.dtype):
        both = _principal(both)
    return lax.select(lax.ne(gap, gap), lax.add(x, y), both)  # infinities of one sign, and nan


def _principal(logarithm: Any) -> Any:
    """The logarithm of the same complex number whose imaginary part is between -pi and pi."""
    angle, turn = lax.imag(logarithm), lax.full_like(lax.imag(logarithm), 2 * np.pi)
    turns = lax.round(lax.div(angle, turn), lax.RoundingMethod.TO_NEAREST_EVEN)
    return lax.complex(lax.real(logarithm), lax.sub(angle, lax.mul(turns, turn)))


# --- the table -----------------------------------------------------------------------------------


def _elementwise(
    function: Callable[[Any, Any], Any], identity: Callable[[np.dtype], Any], *, widen: bool
) -> Monoid:
    def combine(earlier: Sequence[Any], later: Sequence[Any]) -> list[Any]:
        return [function(earlier[0], later[0])]

    return Monoid(combine, lambda dtype: [identity(dtype)], widen)


cumsum_p = _cumulative(
    "cumsum",
    NUMBER,
    _elementwise(lambda x, y: lax.add(x, y), lambda dtype: 0, widen=True),
    jvp=LINEAR,
    transpose=lambda ct, x, *, axis, reverse: [cumsum(ct, axis, not reverse)],
)
cumprod_p = _cumulative(
    "cumprod",
    NUMBER,
    _elementwise(lambda x, y: lax.mul(x, y), lambda dtype: 1, widen=True),
    jvp=_jvp_cumprod,
)
cummax_p = _cumulative(
    "cummax",
    NUMBER,
    _elementwise(lambda x, y: lax.max(x, y), lowest, widen=False),
    jvp=_jvp_extremum(lambda: cummax_p),
)
cummin_p = _cumulative(
    "cummin",
    NUMBER,
    _elementwise(lambda x, y: lax.min(x, y), highest, widen=False),
    jvp=_jvp_extremum(lambda: cummin_p),
)
cumlogsumexp_p = _cumulative(
    "cumlogsumexp",
    INEXACT,
    _elementwise(_logaddexp, lambda dtype: -np.inf, widen=True),
    jvp=_jvp_cumlogsumexp,
)

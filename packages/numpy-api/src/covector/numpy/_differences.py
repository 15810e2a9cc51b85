"""Differences of neighbours, and what is made of them: slopes, integrals, interpolation."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np
from covector import lax
from covector._api.jit import library_function
from covector._ir import dtypes
from covector._trace.trace import typeof
from covector.errors import ShapeError
from covector.numpy import _reductions
from covector.numpy._arithmetic import remainder
from covector.numpy._creation import asarray
from covector.numpy._joining import concatenate
from covector.numpy._operands import (
    Array,
    ArrayLike,
    ArrayOrSeveral,
    Axes,
    broadcast_to_shape,
    canonical_axes,
    canonical_axis,
    check_arraylike,
    common_shape,
    promote_dtypes,
    promote_dtypes_inexact,
    scalar,
    zero,
)
from covector.numpy._searching import searchsorted, where
from covector.numpy._taking import take


@library_function(operands=("a", "prepend", "append"))
def diff(
    a: ArrayLike,
    n: int = 1,
    axis: int = -1,
    prepend: ArrayLike | None = None,
    append: ArrayLike | None = None,
) -> Array:
    """The differences of neighbours along an axis, ``n`` times; of booleans, whether they differ.

    Args:
      prepend, append: values to put before and behind first.

    >>> print(jnp.diff(jnp.array([1, 4, 9])))
    [3 5]
    """
    check_arraylike("diff", a)
    if n < 0:
        raise ValueError(f"diff: order must be non-negative but got {n}")
    if typeof(a).ndim == 0:
        raise ValueError("diff requires input that is at least one dimensional; got a scalar.")
    axis = canonical_axis(axis, typeof(a).ndim)
    result = _extended(asarray(a), axis, prepend, append)
    for _ in range(n):
        result = _neighbours(result, axis=axis)
    return result


def _extended(a: Any, axis: int, prepend: Any, append: Any) -> Any:
    parts = []
    for value in (prepend, a, append):
        if value is None:
            continue
        check_arraylike("diff", value)
        value = asarray(value)
        if typeof(value).ndim == 0:
            shape = tuple([1 if i == axis else n for i, n in enumerate(typeof(a).shape)])
            value = broadcast_to_shape(value, shape)
        parts.append(value)
    return concatenate(parts, axis) if len(parts) > 1 else a


@library_function(static_argnames="axis")
def _neighbours(a: Any, *, axis: int) -> Any:
    shape = typeof(a).shape
    if shape[axis] < 2:
        return lax.slice_in_dim(a, 0, 0, axis=axis)
    later = lax.slice_in_dim(a, 1, shape[axis], axis=axis)
    earlier = lax.slice_in_dim(a, 0, shape[axis] - 1, axis=axis)
    return (lax.ne if dtypes.is_bool(typeof(a).dtype) else lax.sub)(later, earlier)


@library_function(operands=("ary", "to_end", "to_begin"))
def ediff1d(
    ary: ArrayLike, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None
) -> Array:
    """The differences of neighbours of the flattened array, with values put around them.

    >>> print(jnp.ediff1d(jnp.array([1, 4, 9]), to_end=-1))
    [ 3  5 -1]
    """
    check_arraylike("ediff1d", ary)
    flat = asarray(ary).ravel()
    parts = [diff(flat)]
    dtype = typeof(parts[0]).dtype
    if to_begin is not None:
        parts.insert(0, asarray(to_begin, dtype).ravel())
    if to_end is not None:
        parts.append(asarray(to_end, dtype).ravel())
    return concatenate(parts)


@library_function(operands=("f",))
def gradient(
    f: ArrayLike, *varargs: Any, axis: Axes = None, edge_order: int | None = None
) -> ArrayOrSeveral:
    """The derivative of samples by central differences, one-sided at the ends.

    Args:
      varargs: distances of samples: one for all axes, or one for each, a number or coordinates.
      axis: an axis or several; by default one result for every axis.

    >>> print(jnp.gradient(jnp.array([1.0, 4.0, 9.0, 16.0])))
    [3. 4. 6. 7.]
    """
    if edge_order not in (None, 1):
        raise NotImplementedError(f"gradient: edge_order must be 1 or None, got {edge_order}.")
    check_arraylike("gradient", f)
    (f,) = promote_dtypes_inexact(f)
    axes = canonical_axes(axis, typeof(f).ndim)
    spacings = list(varargs) or [1.0]
    if len(spacings) == 1:
        spacings *= len(axes)
    if len(spacings) != len(axes):
        raise TypeError(
            f"gradient: give one distance, or one for each of {len(axes)} axes, got {len(varargs)}."
        )
    results = [_gradient(f, h, axis=i) for h, i in zip(spacings, axes)]
    single = len(axes) == 1 and (isinstance(axis, int) or typeof(f).ndim == 1)
    return results[0] if single else results


@library_function(static_argnames="axis")
def _gradient(f: Any, h: Any, *, axis: int) -> Any:
    shape, dtype = typeof(f).shape, typeof(f).dtype
    n = shape[axis]
    if n < 2:
        raise ValueError(f"gradient: axis {axis} must have at least 2 elements, got {n}.")
    steps = _neighbours(f, axis=axis)
    if typeof(h).ndim:
        if typeof(h).shape != (n,):
            raise ShapeError(
                f"gradient: coordinates must have the size {n} of axis {axis}, got shape "
                f"{typeof(h).shape}."
            )
        widths = lax.convert_element_type(_neighbours(h, axis=0), dtype)
        widths = lax.broadcast_in_dim(widths, typeof(steps).shape, (axis,))
    else:
        widths = broadcast_to_shape(lax.convert_element_type(h, dtype), typeof(steps).shape)
    slopes = lax.div(steps, widths)

    def part(x: Any, start: int, stop: int) -> Any:
        return lax.slice_in_dim(x, start, stop, axis=axis)

    # Inside, each slope counts by the width of the other side: exact for parabolas.
    left, right = part(slopes, 0, n - 2), part(slopes, 1, n - 1)
    before, behind = part(widths, 0, n - 2), part(widths, 1, n - 1)
    inner = lax.div(lax.add(lax.mul(left, behind), lax.mul(right, before)), lax.add(before, behind))
    return lax.concatenate([part(slopes, 0, 1), inner, part(slopes, n - 2, n - 1)], axis)


@library_function(operands=("y", "x", "dx"))
def trapezoid(y: ArrayLike, x: ArrayLike | None = None, dx: Any = 1.0, axis: int = -1) -> Array:
    """The integral of samples along an axis by the trapezoidal rule.

    Args:
      x: the coordinates of the samples; without them, ``dx`` is the distance of neighbours.

    >>> print(jnp.trapezoid(jnp.array([1.0, 2.0, 3.0])))
    4.0
    """
    return _trapezoid(y, x, dx, axis=index(axis))


def _trapezoid(y: Any, x: Any, dx: Any, *, axis: int) -> Any:
    check_arraylike("trapezoid", y, dx if x is None else x)
    y, other = promote_dtypes_inexact(y, dx if x is None else x)
    axis = canonical_axis(axis, typeof(y).ndim)
    n = typeof(y).shape[axis]
    if n == 0:
        return _reductions.sum(y, axis)
    later = lax.slice_in_dim(y, 1, n, axis=axis)
    earlier = lax.slice_in_dim(y, 0, n - 1, axis=axis)
    sums = lax.add(later, earlier)
    if x is not None:
        if typeof(other).ndim == 0:
            raise ShapeError("trapezoid: x must be the coordinates of the samples, got a scalar.")
        widths = _neighbours(other, axis=axis if typeof(other).ndim > 1 else 0)
        if typeof(widths).ndim == 1:
            common_shape("trapezoid", typeof(widths).shape, typeof(sums).shape[axis : axis + 1])
            widths = lax.broadcast_in_dim(widths, typeof(sums).shape, (axis,))
        other = widths
    half = scalar(0.5, typeof(y).dtype)
    return lax.mul(_reductions.sum(sums * other, axis), half)


def interp(
    x: ArrayLike,
    xp: ArrayLike,
    fp: ArrayLike,
    left: ArrayLike | None = None,
    right: ArrayLike | None = None,
    period: ArrayLike | None = None,
) -> Array:
    """Piecewise linear interpolation between the points (xp, fp).

    Args:
      xp: increasing coordinates.
      left, right: values beyond the first and last point (by default those of the points);
        "extrapolate" goes on along the first or last line.
      period: the period of the coordinates, which then need not be sorted.

    >>> print(jnp.interp(1.5, jnp.array([1.0, 2.0]), jnp.array([10.0, 20.0])))
    15.0
    """
    kinds = [v if isinstance(v, str) else None for v in (left, right)]
    if any(k not in (None, "extrapolate") for k in kinds):
        raise ValueError(f"interp: left and right must be numbers or 'extrapolate', got {kinds}.")
    low, high = [None if isinstance(v, str) else v for v in (left, right)]
    extrapolate = kinds[0] is not None, kinds[1] is not None
    return _interp(x, xp, fp, low, high, period, extrapolate=extrapolate)


@library_function(static_argnames="extrapolate")
def _interp(
    x: Any, xp: Any, fp: Any, left: Any, right: Any, period: Any, *, extrapolate: tuple[bool, bool]
) -> Any:
    check_arraylike("interp", x, xp, fp)
    if any(dtypes.is_complex(typeof(v).dtype) for v in (x, xp)):
        raise ValueError("interp: x and xp must be real numbers, which have an order.")
    if typeof(xp).ndim != 1 or typeof(xp).shape != typeof(fp).shape or not typeof(xp).size:
        raise ShapeError(
            f"interp: xp and fp must be vectors of one size, not empty, got shapes "
            f"{typeof(xp).shape} and {typeof(fp).shape}."
        )
    x, xp = promote_dtypes_inexact(x, xp)
    (fp,) = promote_dtypes_inexact(fp)
    if period is not None:
        x, xp, fp = _periodic(x, xp, fp, period)
    n = typeof(xp).shape[0]
    place = searchsorted(xp, x, side="right")
    place = lax.clamp(scalar(1, typeof(place).dtype), place, scalar(n - 1, typeof(place).dtype))
    before = lax.sub(place, scalar(1, typeof(place).dtype))
    x0, x1 = take(xp, before, mode="clip"), take(xp, place, mode="clip")
    f0, f1 = take(fp, before, mode="clip"), take(fp, place, mode="clip")
    width = lax.sub(x1, x0)
    flat = lax.eq(width, zero(typeof(width).dtype))
    slope = (f1 - f0) / where(flat, 1, width)
    result = where(flat, f0, f0 + (x - x0) * slope)
    # Beside an infinite value: from the other side, or that value itself.
    result = where(result == result, result, f1 + (x - x1) * slope)
    result = where((result != result) & (f0 == f1), f0, result)
    if period is not None:
        return result
    if not extrapolate[0]:
        result = where(x < xp[0], fp[0] if left is None else left, result)
    if not extrapolate[1]:
        result = where(x > xp[-1], fp[-1] if right is None else right, result)
    return result


def _periodic(x: Any, xp: Any, fp: Any, period: Any) -> tuple[Any, Any, Any]:
    """Points sorted within one period, with one more on each side from the next ones."""
    x, xp = remainder(x, period), remainder(xp, period)
    xp, fp = lax.sort((xp, fp), num_keys=1)
    xp = concatenate([xp[-1:] - period, xp, xp[:1] + period])
    return x, xp, concatenate([fp[-1:], fp, fp[:1]])


@library_function(operands=("p", "discont", "period"))
def unwrap(
    p: ArrayLike, discont: ArrayLike | None = None, axis: int = -1, period: ArrayLike = 2 * np.pi
) -> Array:
    """Values with jumps of more than half a period moved by whole periods.

    >>> print(jnp.unwrap(jnp.array([0, 1, 2, -1, 0]), period=4))
    [0 1 2 3 4]
    """
    check_arraylike("unwrap", p, period)
    p, length = promote_dtypes(p, period)
    if dtypes.is_complex(typeof(p).dtype):
        raise ValueError("unwrap: p must be real numbers, got complex ones.")
    integers = dtypes.is_integer(typeof(p).dtype)
    half = length // 2 if integers else length / 2
    axis = canonical_axis(axis, typeof(p).ndim)
    if not typeof(p).size:
        return asarray(p)
    steps = _neighbours(p, axis=axis)
    moved = remainder(steps + half, length) - half
    at_edge = (moved == -half) & (steps > 0)
    if integers:  # an odd period has no edge between its halves
        at_edge &= length % 2 == 0
    moved = where(at_edge, half, moved)
    limit = half if discont is None else discont
    correction = where(abs(steps) < limit, 0, moved - steps)
    total = _reductions.cumsum(correction, axis)
    first = lax.slice_in_dim(p, 0, 1, axis=axis)
    rest = lax.slice_in_dim(p, 1, typeof(p).shape[axis], axis=axis)
    return concatenate([first, rest + total], axis)

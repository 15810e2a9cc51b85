"""Means, variances, order statistics, and reductions that ignore NaN."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from covector import lax
from covector._api.jit import library_function
from covector._ir import dtypes
from covector._trace.trace import typeof
from covector.errors import ShapeError
from covector.numpy import _reductions
from covector.numpy._comparison import isnan
from covector.numpy._operands import (
    Array,
    ArrayLike,
    ArrayOrSeveral,
    Axes,
    DTypeLike,
    as_boolean,
    broadcast,
    broadcast_to_shape,
    canonical_axes,
    check_arraylike,
    check_no_out,
    common_shape,
    hashable_axes,
    promote_dtypes_inexact,
    requested_dtype,
    scalar,
    zero,
)
from covector.numpy._searching import where as select_where

_AXIS_OPTIONS = ("axis", "dtype", "keepdims")


# --- mean and variance ---------------------------------------------------------------------------


def mean(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Array:
    """The mean along axes, by default of all elements; NaN if there are none.

    Args:
      dtype: the result's dtype; by default that of ``a``, or float for integers.
      where: which elements to include.

    >>> print(jnp.mean(jnp.array([[1, 2], [3, 6]]), axis=0))
    [2. 4.]
    """
    if out is not None:
        check_no_out("mean", out)
    return _mean(
        a,
        where,
        axis=hashable_axes(axis),
        dtype=requested_dtype(dtype, "mean"),
        keepdims=keepdims,
    )


@library_function(static_argnames=_AXIS_OPTIONS)
def _mean(a: Any, where: Any, *, axis: Axes, dtype: Any, keepdims: bool) -> Any:
    check_arraylike("mean", a)
    result = dtype or dtypes.canonicalize_dtype(dtypes.to_inexact_dtype(typeof(a).dtype))
    axes = canonical_axes(axis, typeof(a).ndim)
    x = lax.convert_element_type(a, _wide(result))
    total = _reductions.sum(x, axes, keepdims=keepdims, where=where)
    count = _count(x, axes, where, keepdims)
    return lax.convert_element_type(lax.div(*broadcast("mean", total, count)), result)


def _wide(dtype: np.dtype) -> np.dtype:
    """The dtype to compute in: half precision is too coarse for sums."""
    narrow = dtypes.is_float(dtype) and dtype.itemsize < 4
    return np.dtype("float32") if narrow else dtype


def _count(x: Any, axes: tuple[int, ...], where: Any, keepdims: bool) -> Any:
    """How many elements are reduced, as a number of ``x``'s dtype."""
    shape, dtype = typeof(x).shape, typeof(x).dtype
    if where is None:
        return scalar(math.prod([shape[i] for i in axes]), dtype)
    if common_shape("mean", shape, typeof(where).shape) != shape:
        raise ShapeError(
            f"mean: where must broadcast to the array's shape {shape}, got {typeof(where).shape}."
        )
    mask = broadcast_to_shape(as_boolean(where), shape)
    count = _reductions.sum(mask, axes, dtype=int, keepdims=keepdims)
    return lax.convert_element_type(count, dtype)


def var(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike = None,
    out: None = None,
    ddof: Any = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    correction: Any = None,
) -> Array:
    """The variance along axes: the mean squared distance from the mean.

    Args:
      ddof, correction: what to subtract from the number of elements that is divided by; 1 makes
        the estimate unbiased. Give one of the two names.
      mean: the mean, if it is known already.

    Returns NaN where the number divided by is not positive.

    >>> print(jnp.var(jnp.array([1.0, 2.0, 3.0, 4.0])), jnp.var(jnp.array([1.0, 3.0]), ddof=1))
    1.25 2.0
    """
    if out is not None:
        check_no_out("var", out)
    known, traced = _degrees("var", ddof, correction)
    return _var(
        a,
        where,
        mean,
        traced,
        ddof=known,
        axis=hashable_axes(axis),
        dtype=requested_dtype(dtype, "var"),
        keepdims=keepdims,
    )


def std(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike = None,
    out: None = None,
    ddof: Any = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    correction: Any = None,
) -> Array:
    """The standard deviation along axes: the square root of the variance. Arguments: see `var`.

    >>> print(jnp.std(jnp.array([1.0, 3.0])))
    1.0
    """
    if out is not None:
        check_no_out("std", out)
    known, traced = _degrees("std", ddof, correction)
    return _std(
        a,
        where,
        mean,
        traced,
        ddof=known,
        axis=hashable_axes(axis),
        dtype=requested_dtype(dtype, "std"),
        keepdims=keepdims,
    )


def _degrees(name: str, ddof: Any, correction: Any) -> tuple[Any, Any]:
    """What is subtracted from the count: as a number, or as an operand if it is an array."""
    if correction is not None:
        if not isinstance(ddof, int) or ddof != 0:
            raise ValueError(f"{name}: ddof and correction can't be provided simultaneously.")
        ddof = correction
    return (ddof, None) if isinstance(ddof, (int, float)) else (None, ddof)


@library_function(static_argnames=("ddof", *_AXIS_OPTIONS))
def _var(
    a: Any,
    where: Any,
    mean: Any,
    traced_ddof: Any,
    *,
    ddof: Any,
    axis: Axes,
    dtype: Any,
    keepdims: bool,
) -> Any:
    check_arraylike("var", a)
    compute, result = _variance_dtypes(typeof(a).dtype, dtype)
    axes = canonical_axes(axis, typeof(a).ndim)
    x = lax.convert_element_type(a, _wide(compute))
    shape = typeof(x).shape
    if mean is None:
        mean = _mean(x, where, axis=axes, dtype=None, keepdims=False)
        mean = lax.broadcast_in_dim(mean, shape, [i for i in range(len(shape)) if i not in axes])
    else:
        mean = broadcast_to_shape(lax.convert_element_type(mean, typeof(x).dtype), shape)
    centered = lax.sub(x, mean)
    if dtypes.is_complex(compute):
        parts = lax.real(centered), lax.imag(centered)
        squares = lax.add(*[lax.square(part) for part in parts])
    else:
        squares = lax.square(centered)
    total = _reductions.sum(squares, axes, keepdims=keepdims, where=where)
    if where is None and ddof is not None:
        divisor = math.prod([shape[i] for i in axes]) - ddof
        quotient = lax.div(total, scalar(divisor if divisor > 0 else np.nan, typeof(total).dtype))
        return lax.convert_element_type(quotient, result)
    count = _count(squares, axes, where, keepdims)
    less = lax.convert_element_type(traced_ddof if ddof is None else ddof, typeof(count).dtype)
    total, count = broadcast("var", total, lax.sub(*broadcast("var", count, less)))
    quotient = lax.convert_element_type(lax.div(total, count), result)
    return select_where(lax.gt(count, zero(typeof(count).dtype)), quotient, result.type(np.nan))


def _variance_dtypes(own: np.dtype, requested: Any) -> tuple[np.dtype, np.dtype]:
    """The dtypes to compute in and to return."""
    compute = dtypes.canonicalize_dtype(dtypes.to_inexact_dtype(own))
    if requested is None:
        return compute, dtypes.to_real_dtype(compute)
    if not dtypes.is_inexact(requested):
        raise ValueError(f"var: dtype must be a floating-point dtype, got {requested}.")
    if dtypes.is_complex(own) and not dtypes.is_complex(requested):
        raise ValueError(f"var: dtype is {requested}, but the array is complex ({own}).")
    wide = dtypes.lattice_result_type((compute, requested), (False, False))[0]
    return wide, requested


@library_function(static_argnames=("ddof", *_AXIS_OPTIONS))
def _std(a: Any, where: Any, mean: Any, traced_ddof: Any, **options: Any) -> Any:
    check_arraylike("std", a)
    return _root(_var(a, where, mean, traced_ddof, **options))


def _root(variance: Any) -> Any:
    """The square root, with the derivative 0 at 0: where all numbers are equal."""
    at_zero = lax.eq(variance, scalar(0, typeof(variance).dtype))
    one = lax.full_like(variance, 1)
    return lax.select(
        at_zero, lax.full_like(variance, 0), lax.sqrt(lax.select(at_zero, one, variance))
    )


def average(
    a: ArrayLike,
    axis: Axes = None,
    weights: ArrayLike | None = None,
    returned: bool = False,
    keepdims: bool = False,
) -> ArrayOrSeveral:
    """The weighted mean along axes.

    Args:
      weights: of ``a``'s shape, or a vector along the one axis.
      returned: return ``(average, sum of the weights)``.

    Raises:
      ValueError: the shapes of ``a`` and ``weights`` differ and do not fit an axis.

    >>> print(jnp.average(jnp.array([1.0, 2.0]), weights=jnp.array([3.0, 1.0])))
    1.25
    """
    value, total = _average(a, weights, axis=hashable_axes(axis), keepdims=keepdims)
    return (value, total) if returned else value


@library_function(static_argnames=("axis", "keepdims"))
def _average(a: Any, weights: Any, *, axis: Axes, keepdims: bool) -> tuple[Any, Any]:
    if weights is None:
        check_arraylike("average", a)
        value = mean(a, axis, keepdims=keepdims)
        shape = typeof(a).shape
        count = math.prod([shape[i] for i in canonical_axes(axis, len(shape))])
        return value, lax.full(typeof(value).shape, count, typeof(value).dtype)
    check_arraylike("average", a, weights)
    a, weights = promote_dtypes_inexact(a, weights)
    weights = _weights_along(a, weights, axis)
    total = _reductions.sum(weights, axis, keepdims=keepdims)
    value = lax.div(_reductions.sum(lax.mul(a, weights), axis, keepdims=keepdims), total)
    return value, total


def _weights_along(a: Any, weights: Any, axis: Axes) -> Any:
    shape, own = typeof(a).shape, typeof(weights).shape
    if own == shape:
        return weights
    if axis is None:
        raise ValueError(
            f"average: axis must be specified when shapes of a and weights differ, got {shape} and "
            f"{own}."
        )
    axes = canonical_axes(axis, len(shape))
    if own != tuple([shape[i] for i in axes]):
        raise ValueError(
            f"average: weights of shape {own} must have the size of a's axes {axis} (a has shape "
            f"{shape})."
        )
    return lax.broadcast_in_dim(weights, shape, axes)


# --- ignoring NaN --------------------------------------------------------------------------------


def _without_nan(a: Any, fill: Any) -> Any:
    """``a`` with NaN replaced by a neutral element."""
    dtype = typeof(a).dtype
    return select_where(isnan(a), dtype.type(fill), a) if dtypes.is_inexact(dtype) else a


@library_function(operands=("a", "initial", "where"))
def nansum(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """The sum along axes of the elements that are not NaN.

    >>> print(jnp.nansum(jnp.array([1.0, jnp.nan])))
    1.0
    """
    check_arraylike("nansum", a)
    return _reductions.sum(_without_nan(a, 0), axis, dtype, out, keepdims, initial, where)


@library_function(operands=("a", "initial", "where"))
def nanprod(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """The product along axes of the elements that are not NaN.

    >>> print(jnp.nanprod(jnp.array([2.0, jnp.nan])))
    2.0
    """
    check_arraylike("nanprod", a)
    return _reductions.prod(_without_nan(a, 1), axis, dtype, out, keepdims, initial, where)


@library_function(operands=("a", "initial", "where"))
def nanmax(
    a: ArrayLike,
    axis: Axes = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """The largest element along axes that is not NaN; NaN if all are.

    >>> print(jnp.nanmax(jnp.array([1.0, jnp.nan])))
    1.0
    """
    return _nan_extremum("nanmax", _reductions.max, -1, a, axis, out, keepdims, initial, where)


@library_function(operands=("a", "initial", "where"))
def nanmin(
    a: ArrayLike,
    axis: Axes = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """The smallest element along axes that is not NaN; NaN if all are.

    >>> print(jnp.nanmin(jnp.array([1.0, jnp.nan])))
    1.0
    """
    return _nan_extremum("nanmin", _reductions.min, 1, a, axis, out, keepdims, initial, where)


def _nan_extremum(
    name: str,
    reduce: Any,
    sign: int,
    a: Any,
    axis: Axes,
    out: None,
    keepdims: bool,
    initial: Any,
    where: Any,
) -> Any:
    check_arraylike(name, a)
    check_no_out(name, out)
    result = reduce(_without_nan(a, sign * np.inf), axis, None, keepdims, initial, where)
    dtype = typeof(a).dtype
    if not dtypes.is_inexact(dtype) or initial is not None:
        return result
    empty = _reductions.all(isnan(a), axis, keepdims=keepdims, where=where)
    return select_where(empty, dtype.type(np.nan), result)


@library_function(operands=("a", "where"))
def nanmean(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike = None,
    out: None = None,
    keepdims: bool = False,
    where: ArrayLike | None = None,
) -> Array:
    """The mean along axes of the elements that are not NaN.

    >>> print(jnp.nanmean(jnp.array([1.0, jnp.nan, 3.0])))
    2.0
    """
    check_arraylike("nanmean", a)
    return mean(a, axis, dtype, out, keepdims, where=_numbers(a, where))


def _numbers(a: Any, where: Any) -> Any:
    """The mask of elements that are not NaN, and in ``where``."""
    if not dtypes.is_inexact(typeof(a).dtype):
        return where
    numbers = lax.bitwise_not(isnan(a))
    if where is None:
        return numbers
    return lax.bitwise_and(*broadcast("where", numbers, as_boolean(where)))


@library_function(operands=("a", "where", "mean"))
def nanvar(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike = None,
    out: None = None,
    ddof: Any = 0,
    keepdims: bool = False,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
) -> Array:
    """The variance along axes of the elements that are not NaN.

    >>> print(jnp.nanvar(jnp.array([1.0, jnp.nan, 3.0])))
    1.0
    """
    check_arraylike("nanvar", a)
    mask = _numbers(a, where)
    return var(_without_nan(a, 0), axis, dtype, out, ddof, keepdims, where=mask, mean=mean)


@library_function(operands=("a", "where", "mean"))
def nanstd(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike = None,
    out: None = None,
    ddof: Any = 0,
    keepdims: bool = False,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
) -> Array:
    """The standard deviation along axes of the elements that are not NaN.

    >>> print(jnp.nanstd(jnp.array([1.0, jnp.nan, 3.0])))
    1.0
    """
    check_arraylike("nanstd", a)
    mask = _numbers(a, where)
    return std(_without_nan(a, 0), axis, dtype, out, ddof, keepdims, where=mask, mean=mean)


@library_function(operands=("a",))
def nancumsum(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike = None, out: None = None
) -> Array:
    """The running sum along an axis, with NaN as zero.

    >>> print(jnp.nancumsum(jnp.array([1.0, jnp.nan, 3.0])))
    [1. 1. 4.]
    """
    check_arraylike("nancumsum", a)
    return _reductions.cumsum(_without_nan(a, 0), axis, dtype, out)


@library_function(operands=("a",))
def nancumprod(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike = None, out: None = None
) -> Array:
    """The running product along an axis, with NaN as one.

    >>> print(jnp.nancumprod(jnp.array([2.0, jnp.nan, 3.0])))
    [2. 2. 6.]
    """
    check_arraylike("nancumprod", a)
    return _reductions.cumprod(_without_nan(a, 1), axis, dtype, out)


@library_function(operands=("a",))
def nanargmax(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """The index of the largest element that is not NaN; -1 if all are NaN.

    >>> print(jnp.nanargmax(jnp.array([1.0, jnp.nan, 3.0])))
    2
    """
    return _nan_position("nanargmax", _reductions.argmax, -1, a, axis, out, keepdims)


@library_function(operands=("a",))
def nanargmin(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """The index of the smallest element that is not NaN; -1 if all are NaN.

    >>> print(jnp.nanargmin(jnp.array([5.0, jnp.nan, 3.0])))
    2
    """
    return _nan_position("nanargmin", _reductions.argmin, 1, a, axis, out, keepdims)


def _nan_position(
    name: str, find: Any, sign: int, a: Any, axis: Any, out: None, keepdims: bool | None
) -> Any:
    check_arraylike(name, a)
    check_no_out(name, out)
    place = find(_without_nan(a, sign * np.inf), axis, keepdims=keepdims)
    if not dtypes.is_inexact(typeof(a).dtype):
        return place
    empty = _reductions.all(isnan(a), axis, keepdims=bool(keepdims))
    return select_where(empty, typeof(place).dtype.type(-1), place)

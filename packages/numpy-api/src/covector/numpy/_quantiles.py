"""Order statistics: medians, percentiles, quantiles, with and without NaN."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from covector import lax
from covector._api.jit import library_function
from covector._ir import dtypes
from covector._trace.trace import typeof
from covector.lax.order_statistics import order_statistics
from covector.numpy import _reductions
from covector.numpy._comparison import isnan
from covector.numpy._manipulation import moveaxis, reshape
from covector.numpy._operands import (
    Array,
    ArrayLike,
    Axes,
    canonical_axes,
    check_arraylike,
    check_no_out,
    hashable_axes,
    promote_dtypes_inexact,
)
from covector.numpy._searching import where

_METHODS = ("linear", "lower", "higher", "midpoint", "nearest")


def quantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axes = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> Array:
    """The quantiles along axes, by default of all elements; NaN if an element is.

    Args:
      q: which quantiles, between 0 and 1; their axes come first in the result.
      method: what to give between two elements: "linear" (interpolated), "lower", "higher",
        "midpoint" or "nearest".

    >>> print(jnp.quantile(jnp.arange(5.0), jnp.array([0.25, 0.5])))
    [1. 2.]
    """
    _check_options("quantile", out, overwrite_input, method, weights)
    return _quantile(
        a, q, axis=hashable_axes(axis), method=method, keepdims=keepdims, skip_nan=False
    )


def nanquantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axes = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> Array:
    """The quantiles along axes of the elements that are not NaN. Arguments: see `quantile`.

    >>> print(jnp.nanquantile(jnp.array([0.0, jnp.nan, 2.0]), 0.5))
    1.0
    """
    _check_options("nanquantile", out, overwrite_input, method, weights)
    return _quantile(
        a, q, axis=hashable_axes(axis), method=method, keepdims=keepdims, skip_nan=True
    )


def percentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axes = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
    out_sharding: Any = None,
) -> Array:
    """The percentiles along axes: quantiles with ``q`` between 0 and 100. See `quantile`.

    >>> print(jnp.percentile(jnp.arange(5.0), 25))
    1.0
    """
    check_arraylike("percentile", a, q)
    q = _hundredths(q)
    return quantile(a, q, axis, out, overwrite_input, method, keepdims, weights=weights)


def nanpercentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axes = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> Array:
    """The percentiles along axes of the elements that are not NaN. See `percentile`.

    >>> print(jnp.nanpercentile(jnp.array([0.0, jnp.nan, 2.0]), 50))
    1.0
    """
    check_arraylike("nanpercentile", a, q)
    q = _hundredths(q)
    return nanquantile(a, q, axis, out, overwrite_input, method, keepdims, weights=weights)


def _hundredths(q: Any) -> Any:
    (q,) = promote_dtypes_inexact(q)
    return lax.div(q, typeof(q).dtype.type(100))


def median(
    a: ArrayLike,
    axis: Axes = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Array:
    """The middle element along axes, or the mean of the two middle ones; NaN if an element is.

    >>> print(jnp.median(jnp.array([1.0, 7.0, 3.0])))
    3.0
    """
    return quantile(a, 0.5, axis, out, overwrite_input, "midpoint", keepdims)


def nanmedian(
    a: ArrayLike,
    axis: Axes = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Array:
    """The median along axes of the elements that are not NaN.

    >>> print(jnp.nanmedian(jnp.array([1.0, jnp.nan, 3.0])))
    2.0
    """
    return nanquantile(a, 0.5, axis, out, overwrite_input, "midpoint", keepdims)


def _check_options(name: str, out: Any, overwrite_input: bool, method: str, weights: Any) -> None:
    check_no_out(name, out)
    if overwrite_input:
        raise ValueError(f"{name}: overwrite_input must be False: arrays are immutable.")
    if weights is not None:
        raise NotImplementedError(f"{name}: weights are not supported.")
    if method not in _METHODS:
        raise ValueError(f"{name}: method must be one of {_METHODS}, got {method!r}.")


@library_function(static_argnames=("axis", "method", "keepdims", "skip_nan"))
def _quantile(a: Any, q: Any, *, axis: Axes, method: str, keepdims: bool, skip_nan: bool) -> Any:
    check_arraylike("quantile", a, q)
    (a,), (q,) = promote_dtypes_inexact(a), promote_dtypes_inexact(q)
    if dtypes.is_complex(typeof(a).dtype):
        raise ValueError("quantile does not support complex input, as it does not have an order.")
    if typeof(q).ndim > 1:
        raise ValueError(f"q must be have rank <= 1, got shape {typeof(q).shape}")
    shape = typeof(a).shape
    axes = canonical_axes(axis, len(shape))
    count = math.prod([shape[i] for i in axes])
    kept = [n for i, n in enumerate(shape) if i not in axes]
    rows = reshape(moveaxis(a, axes, range(-len(axes), 0)) if axes else a, (*kept, count))
    result = _at_positions(rows, q, method, skip_nan)
    if keepdims:
        sizes = [1 if i in axes else n for i, n in enumerate(shape)]
        result = reshape(result, (*typeof(q).shape, *sizes))
    return lax.convert_element_type(result, typeof(a).dtype)


def _at_positions(rows: Any, q: Any, method: str, skip_nan: bool) -> Any:
    """The elements of sorted rows at fractional positions; NaN stands at their ends."""
    *kept, count = typeof(rows).shape
    if count == 0:
        return lax.full((*typeof(q).shape, *kept), np.nan, typeof(rows).dtype)
    compute = np.dtype("float64") if typeof(rows).dtype.itemsize == 8 else np.dtype("float32")
    valid = _reductions.sum(~isnan(rows), -1, keepdims=True)
    last = lax.convert_element_type(valid, compute) - 1 if skip_nan else count - 1
    q_row = reshape(q, (1,) * len(kept) + (-1,)).astype(compute)
    position = (lax.full((*kept, 1), 0, compute) + last) * q_row
    low, high = lax.floor(position), lax.ceil(position)
    weight = position - low
    below, above = order_statistics(rows, lax.clamp(0, low.astype(np.int32), count - 1))
    above = where(low == high, below, above)
    result = _between(below, above, weight, method)
    undefined = valid == 0 if skip_nan else valid < count
    result = moveaxis(where(undefined, np.nan, result), -1, 0)
    return result if typeof(q).ndim else result[0]


def _between(below: Any, above: Any, weight: Any, method: str) -> Any:
    if method == "lower":
        return below
    if method == "higher":
        return above
    if method == "midpoint":
        return (below + above) * 0.5
    if method == "nearest":
        return where(weight <= 0.5, below, above)
    weight = weight.astype(typeof(below).dtype)
    return where(weight == 0, below, below * (1 - weight) + above * weight)

"""Order statistics: medians, percentiles, quantiles, with and without NaN."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from covector import lax
from covector._api.jit import library_function
from covector._ir import dtypes
from covector._trace.trace import typeof
from covector.errors import ShapeError
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
    hashable_axes,
    promote_dtypes_inexact,
)
from covector.numpy._searching import where
from covector.numpy._taking import take_along_axis

# Where it lies among n elements, counted from 0: ``n * q + alpha + q * (1 - alpha - beta) - 1``.
# Source: Hyndman and Fan, "Sample quantiles in statistical packages", 1996.
_CONTINUOUS = {
    # method: alpha, beta
    "linear": (1.0, 1.0),
    "interpolated_inverted_cdf": (0.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}
_STEPS = ("inverted_cdf", "averaged_inverted_cdf", "closest_observation")
_METHODS = ("lower", "higher", "midpoint", "nearest", *_CONTINUOUS, *_STEPS)


@library_function(operands=("a", "q", "weights"))
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
        "midpoint" or "nearest"; or one of NumPy's methods for samples, by its name.
      weights: how much each element counts, with the method "inverted_cdf" alone; of the shape of
        ``a``, or one number for each position along one ``axis``.

    Raises:
      ValueError: ``method`` is unknown, or ``weights`` has another shape.
      NotImplementedError: ``weights`` is given, with another method.

    >>> print(jnp.quantile(jnp.arange(5.0), jnp.array([0.25, 0.5])))
    [1. 2.]
    """
    return _checked("quantile", a, q, axis, out, overwrite_input, method, keepdims, weights)


@library_function(operands=("a", "q", "weights"))
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
    return _checked("nanquantile", a, q, axis, out, overwrite_input, method, keepdims, weights)


@library_function(operands=("a", "q", "weights"))
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


@library_function(operands=("a", "q", "weights"))
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


@library_function(operands=("a",))
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


@library_function(operands=("a",))
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


def _checked(
    name: str,
    a: Any,
    q: Any,
    axis: Axes,
    out: Any,
    overwrite_input: bool,
    method: str,
    keepdims: bool,
    weights: Any,
) -> Any:
    if overwrite_input or out is not None:
        raise ValueError(
            f"{name}: out must be None and overwrite_input False: arrays are immutable."
        )
    if method not in _METHODS:
        raise ValueError(f"{name}: method must be one of {', '.join(_METHODS)}, got {method!r}.")
    if weights is not None and method != "inverted_cdf":
        raise NotImplementedError(
            f"{name}: weights are for the method 'inverted_cdf' alone, got {method!r}."
        )
    return _quantile(
        a,
        q,
        weights,
        name=name,
        axis=hashable_axes(axis),
        method=method,
        keepdims=bool(keepdims),
    )


def _quantile(
    a: Any, q: Any, weights: Any, *, name: str, axis: Axes, method: str, keepdims: bool
) -> Any:
    check_arraylike(name, a, q)
    (a,), (q,) = promote_dtypes_inexact(a), promote_dtypes_inexact(q)
    if dtypes.is_complex(typeof(a).dtype):
        raise ValueError(f"{name} does not support complex input, as it does not have an order.")
    if typeof(q).ndim > 1:
        raise ValueError(f"{name}: q must have rank 0 or 1, got shape {typeof(q).shape}.")
    shape, skip_nan = typeof(a).shape, name.startswith("nan")
    axes = canonical_axes(axis, len(shape))
    if weights is None:
        result = _at_positions(_rows(a, axes), q, method, skip_nan)
    else:
        weights = _broadcast_weights(name, weights, shape, axes)
        result = _at_weights(_rows(a, axes), _rows(weights, axes), q, skip_nan)
    if keepdims:
        sizes = [1 if i in axes else n for i, n in enumerate(shape)]
        result = reshape(result, (*typeof(q).shape, *sizes))
    return lax.convert_element_type(result, typeof(a).dtype)


def _rows(a: Any, axes: tuple[int, ...]) -> Any:
    """The elements along ``axes``, as the last axis."""
    shape = typeof(a).shape
    kept = [n for i, n in enumerate(shape) if i not in axes]
    a = moveaxis(a, axes, range(-len(axes), 0)) if axes else a
    return reshape(a, (*kept, math.prod([shape[i] for i in axes])))


def _at_positions(rows: Any, q: Any, method: str, skip_nan: bool) -> Any:
    """The elements of sorted rows at fractional positions; NaN stands at their ends."""
    *kept, count = typeof(rows).shape
    if count == 0:
        return lax.full((*typeof(q).shape, *kept), np.nan, typeof(rows).dtype)
    compute = np.dtype("float64") if typeof(rows).dtype.itemsize == 8 else np.dtype("float32")
    valid = _reductions.sum(~isnan(rows), -1, keepdims=True)
    number = lax.convert_element_type(valid, compute) if skip_nan else count
    number = lax.full((*kept, 1), 0, compute) + number
    q_row = reshape(q, (1,) * len(kept) + (-1,)).astype(compute)
    position = _position(number, q_row, method)
    low, high = lax.floor(position), lax.ceil(position)
    weight = position - low
    below, above = order_statistics(rows, _index(low, count))
    above = where(low == high, below, above)
    result = _between(below, above, weight, method)
    undefined = valid == 0 if skip_nan else valid < count
    return _first(where(undefined, np.nan, result), q)


def _first(result: Any, q: Any) -> Any:
    """The quantiles, which are the last axis, as the first; without it for one quantile."""
    result = moveaxis(result, -1, 0)
    return result if typeof(q).ndim else result[0]


def _position(number: Any, q: Any, method: str) -> Any:
    """Where quantiles lie among ``number`` elements."""
    last = number - 1
    if method not in _STEPS:
        alpha, beta = _CONTINUOUS.get(method, (1.0, 1.0))
        if alpha == beta == 1:
            return last * q
        return _inside(number * q + (alpha + q * (1 - alpha - beta)) - 1, last)
    # Rounded as NumPy does: fused with what follows, a product has further digits.
    product = lax.optimization_barrier(number * q)
    whole = lax.floor(product)
    if method == "inverted_cdf":
        position = lax.ceil(product) - 1
    elif method == "averaged_inverted_cdf":
        position = where(product == whole, whole - 0.5, whole)
    else:
        # Of two that are equally close, the one with an even number, counted from 1.
        part = product - whole
        down = (part < 0.5) | ((part == 0.5) & (whole % 2 == 0))
        position = where(down, whole - 1, whole)
    return _inside(position, last)


def _inside(position: Any, last: Any) -> Any:
    first = np.zeros((), typeof(position).dtype)[()]
    last = lax.broadcast_in_dim(last, typeof(position).shape, range(typeof(last).ndim))
    return lax.clamp(first, position, last)


def _index(position: Any, count: int) -> Any:
    return lax.clamp(np.int32(0), position.astype(np.int32), np.int32(count - 1))


def _broadcast_weights(name: str, weights: Any, shape: Any, axes: tuple[int, ...]) -> Any:
    """The weights, of the shape of what they weigh."""
    check_arraylike(name, weights)
    (weights,) = promote_dtypes_inexact(weights)
    given = typeof(weights).shape
    if given == shape:
        return weights
    if len(axes) != 1 or given != (shape[axes[0]],):
        raise ShapeError(
            f"{name}: weights must have the shape of a, {shape}, or one number for each position "
            f"along one axis; they have shape {given}, and the axes are {axes}."
        )
    return lax.broadcast_in_dim(weights, shape, axes)


def _at_weights(rows: Any, weights: Any, q: Any, skip_nan: bool) -> Any:
    """The first elements of sorted rows up to which the share of the weights is ``q``."""
    *kept, count = typeof(rows).shape
    if count == 0:
        return lax.full((*typeof(q).shape, *kept), np.nan, typeof(rows).dtype)
    missing = isnan(rows)
    weights = where(missing, 0, weights) if skip_nan else weights
    rows, ordered = lax.sort((rows, weights), num_keys=1)
    total = _reductions.cumsum(ordered, -1)
    # Elements of no weight at the beginning are not the quantile 0.
    share = where(total == 0, -1, total / total[..., -1:])
    q_row = reshape(q, (1,) * len(kept) + (-1, 1))
    at = _reductions.sum(share[..., None, :] < q_row, -1)
    result = take_along_axis(rows, _index(at, count), -1)
    undefined = _reductions.any(weights < 0, -1, keepdims=True) | ~(total[..., -1:] > 0)
    if not skip_nan:
        undefined |= _reductions.any(missing, -1, keepdims=True)
    return _first(where(undefined, np.nan, result), q)


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

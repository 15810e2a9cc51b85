"""Counting: `bincount` and histograms."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np
from covector import lax
from covector._api.jit import library_function
from covector._ir import dtypes
from covector._trace.trace import typeof
from covector.errors import ShapeError
from covector.numpy import _reductions
from covector.numpy._creation import asarray, linspace
from covector.numpy._differences import diff
from covector.numpy._manipulation import ravel, reshape
from covector.numpy._operands import (
    Array,
    ArrayLike,
    check_arraylike,
    concrete,
    promote_dtypes_inexact,
    scalar,
)
from covector.numpy._searching import searchsorted, where


def bincount(
    x: ArrayLike,
    weights: ArrayLike | None = None,
    minlength: int = 0,
    *,
    length: int | None = None,
    out_sharding: Any = None,
) -> Array:
    """How often each of the numbers 0, 1, ... occurs, or the sums of their weights.

    Args:
      x: a vector of integers; negative ones count as 0.
      minlength: the least size of the result.
      length: its size, needed while a function is traced; larger numbers are then left out.

    >>> print(jnp.bincount(jnp.array([0, 1, 1, 3])))
    [1 2 0 1]
    """
    check_arraylike("bincount", x, *([] if weights is None else [weights]))
    if not (dtypes.is_integer(typeof(x).dtype) or dtypes.is_bool(typeof(x).dtype)):
        raise TypeError(f"bincount: x must be integers, got {typeof(x).dtype}.")
    if typeof(x).ndim != 1:
        raise ValueError(f"bincount: x must be a vector, got shape {typeof(x).shape}.")
    if weights is not None and typeof(weights).shape != typeof(x).shape:
        raise ShapeError(
            f"bincount: weights of shape {typeof(weights).shape} must have x's, {typeof(x).shape}."
        )
    if length is None:
        known = concrete("bincount (without length)", "x", x)
        length = max(int(minlength), int(known.max()) + 1 if known.size else 0)
    return _bincount(x, weights, length=index(length))


@library_function(static_argnames="length")
def _bincount(x: Any, weights: Any, *, length: int) -> Any:
    integer = dtypes.canonicalize_dtype("int64")
    x = lax.max(lax.convert_element_type(x, integer), scalar(0, integer))
    weights = lax.full(typeof(x).shape, 1, integer) if weights is None else weights
    return lax.full((length,), 0, typeof(weights).dtype).at[x].add(weights, mode="drop")


def histogram_bin_edges(
    a: ArrayLike, bins: Any = 10, range: Any = None, weights: ArrayLike | None = None
) -> Array:
    """The edges of a histogram's bins.

    Args:
      bins: their number, or the edges themselves.
      range: (lower, upper); by default those of the values.

    >>> print(jnp.histogram_bin_edges(jnp.array([0.0, 4.0]), 4))
    [0. 1. 2. 3. 4.]
    """
    check_arraylike("histogram_bin_edges", a)
    if isinstance(bins, str):
        raise NotImplementedError(
            f"histogram_bin_edges: bins must be a number or edges, got {bins!r}."
        )
    (a,) = promote_dtypes_inexact(asarray(a))
    bins = asarray(bins) if not isinstance(bins, int) else bins
    if not isinstance(bins, int) and typeof(bins).ndim == 1:
        return promote_dtypes_inexact(bins)[0]
    bins = int(concrete("histogram_bin_edges", "bins", bins))
    if range is None:
        if typeof(a).size:
            low, high = _reductions.min(a), _reductions.max(a)
        else:
            low, high = 0.0, 1.0
    else:
        low, high = [asarray(v, typeof(a).dtype) for v in range]
    same = asarray(high) == asarray(low)
    half = where(same, 0.5, 0.0)
    return linspace(low - half, high + half, bins + 1, dtype=typeof(a).dtype)


def histogram(
    a: ArrayLike,
    bins: Any = 10,
    range: Any = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
    out_sharding: Any = None,
) -> tuple[Array, Array]:
    """How many values lie in each bin, and the bins' edges. The last bin holds its upper edge too.

    Counts without weights are integers.

    Args:
      bins, range: see `histogram_bin_edges`.
      weights: what each value counts.
      density: divide so that the integral is one.

    >>> print(*jnp.histogram(jnp.array([0.0, 1.0, 1.5, 4.0]), 2))
    [3 1] [0. 2. 4.]
    """
    check_arraylike("histogram", a, *([] if weights is None else [weights]))
    if weights is not None and typeof(weights).shape != typeof(a).shape:
        raise ShapeError("histogram: weights must have a's shape.")
    edges = histogram_bin_edges(a, bins, range, weights)
    counts = _count_between(a, edges, weights, even=isinstance(bins, int))
    if density:
        widths = diff(edges)
        counts = counts / widths / _reductions.sum(counts)
    return counts, edges


@library_function(static_argnames="even")
def _count_between(a: Any, edges: Any, weights: Any, *, even: bool) -> Any:
    a, edges = promote_dtypes_inexact(a, edges)
    bins = typeof(edges).shape[0] - 1
    place = _bin_of(ravel(a), edges, even)
    ones = lax.full((typeof(a).size,), 1, dtypes.canonicalize_dtype("int64"))
    weights = ones if weights is None else ravel(weights)
    return lax.full((bins,), 0, typeof(weights).dtype).at[place].add(weights, mode="drop")


def _bin_of(x: Any, edges: Any, even: bool) -> Any:
    """The bin that each value is in; those outside get a number beyond the last."""
    bins = typeof(edges).shape[0] - 1
    place = _search_even_bins(x, edges) if even else _search_bins(x, edges)
    return where((x >= edges[0]) & (x <= edges[-1]), place, bins)


def _search_bins(x: Any, edges: Any) -> Any:
    place = searchsorted(edges, x, side="right").astype(np.int32)
    return lax.min(place - 1, np.int32(typeof(edges).shape[0] - 2))


def _search_even_bins(x: Any, edges: Any) -> Any:
    """Bins by arithmetic, put right by one where rounding was wrong; if that fails, by search.

    It fails where the edges are so close that rounding makes some of them equal, or where their
    distances overflow.
    """
    last = typeof(edges).shape[0] - 2
    share = (x - edges[0]) / (edges[-1] - edges[0])
    place = lax.clamp(np.int32(0), (share * (last + 1)).astype(np.int32), np.int32(last))
    place = place - ((x < edges[place]) & (place > 0))
    place = place + ((x >= edges[place + 1]) & (place < last))
    inside = (x >= edges[0]) & (x < edges[-1])
    right = (edges[place] <= x) & (x < edges[place + 1])
    return lax.cond(_reductions.all(right | ~inside), lambda: place, lambda: _search_bins(x, edges))


def histogram2d(
    x: ArrayLike,
    y: ArrayLike,
    bins: Any = 10,
    range: Any = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Array, Array, Array]:
    """How many points lie in each cell of a grid, and the edges along both axes.

    >>> counts, _, _ = jnp.histogram2d(jnp.array([0.0, 1.0]), jnp.array([0.0, 1.0]), bins=2)
    >>> print(counts)
    [[1 0]
     [0 1]]
    """
    check_arraylike("histogram2d", x, y)
    try:
        own = len(bins)
    except TypeError:
        own = 1
    if own not in (1, 2):
        bins = [asarray(bins)] * 2
    sample = lax.stack(promote_dtypes_inexact(asarray(x), asarray(y)), 1)
    counts, edges = histogramdd(sample, bins, range, weights, density)
    return counts, *edges


def histogramdd(
    sample: ArrayLike,
    bins: Any = 10,
    range: Sequence[Any] | None = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Any, list[Any]]:
    """How many points, the rows of ``sample``, lie in each cell of a grid; the edges by axis.

    Args:
      bins: the number of bins, or one for each axis, or edges for each.
      range: for each axis (lower, upper) or None.

    >>> counts, edges = jnp.histogramdd(jnp.array([[0.0, 0.0], [1.0, 1.0]]), bins=2)
    >>> print(counts)
    [[1 0]
     [0 1]]
    """
    check_arraylike("histogramdd", sample)
    (points,) = promote_dtypes_inexact(asarray(sample))
    rank = typeof(points).shape[1]
    if range is not None and (
        len(range) != rank or any(r is not None and len(r) != 2 for r in range)
    ):
        raise ValueError(
            f"histogramdd: range must have a pair for each of {rank} axes, got {range}."
        )
    if not isinstance(bins, int) and len(bins) != rank:
        raise ValueError(f"histogramdd: bins must have an entry for each of {rank} axes.")
    each = [bins] * rank if isinstance(bins, int) else list(bins)
    spans = [None] * rank if range is None else list(range)
    edges = [histogram_bin_edges(points[:, i], b, r) for i, (b, r) in enumerate(zip(each, spans))]
    even = tuple([isinstance(b, int) for b in each])
    counts = _count_cells(points, edges, weights, even=even)
    if density:
        total = _reductions.sum(counts)
        for i, e in enumerate(edges):
            shape = [-1 if j == i else 1 for j in np.arange(rank)]
            counts = counts / reshape(diff(e), shape)
        counts = counts / total
    return counts, edges


@library_function(static_argnames="even")
def _count_cells(sample: Any, edges: list[Any], weights: Any, *, even: tuple[bool, ...]) -> Any:
    sizes = tuple([typeof(e).shape[0] - 1 for e in edges])
    places = tuple([_bin_of(sample[:, i], e, even[i]) for i, e in enumerate(edges)])
    integer = dtypes.canonicalize_dtype("int64")
    weights = lax.full((typeof(sample).shape[0],), 1, integer) if weights is None else weights
    return lax.full(sizes, 0, typeof(weights).dtype).at[places].add(weights, mode="drop")

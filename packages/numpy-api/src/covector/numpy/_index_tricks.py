"""Objects that are indexed to make arrays, and conversions between kinds of indices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np
from covector import lax
from covector._api.jit import library_function
from covector._ir import dtypes
from covector._trace.trace import typeof
from covector.numpy._arithmetic import remainder
from covector.numpy._creation import arange, array, asarray, linspace
from covector.numpy._joining import concatenate, stack
from covector.numpy._manipulation import moveaxis
from covector.numpy._matrices import meshgrid
from covector.numpy._operands import (
    check_arraylike,
    concrete,
    scalar,
)
from covector.numpy._searching import where


class IndexExpression:
    """``s_[1:, None]`` is the index as a value: the tuple of slices that stands in brackets."""

    def __init__(self, name: str, always_tuple: bool):
        self.name = name
        self.always_tuple = always_tuple

    def __getitem__(self, item: Any) -> Any:
        return (item,) if self.always_tuple and not isinstance(item, tuple) else item

    def __repr__(self) -> str:
        return f"{self.name}[...]"


s_ = IndexExpression("s_", always_tuple=False)
index_exp = IndexExpression("index_exp", always_tuple=True)


def _points(part: slice) -> Any:
    """The numbers of a slice: a range, or with an imaginary step so many evenly spaced ones."""
    start = 0 if part.start is None else part.start
    if isinstance(part.step, complex):
        return linspace(start, part.stop, int(abs(part.step)))
    return arange(start, part.stop, 1 if part.step is None else part.step)


class _Grid:
    """``mgrid[0:2, 0:3]``: coordinates of a grid, joined (dense) or one array an axis (sparse)."""

    def __init__(self, name: str, sparse: bool):
        self.name = name
        self.sparse = sparse

    def __getitem__(self, key: slice | tuple[slice, ...]) -> Any:
        parts = key if isinstance(key, tuple) else (key,)
        if not all(isinstance(p, slice) for p in parts):
            raise TypeError(f"{self.name}: index it with slices, as in {self.name}[0:2, 0:3].")
        vectors = [_points(p) for p in parts]
        if not isinstance(key, tuple):
            return vectors[0]
        dtype = dtypes.result_type(*vectors)
        vectors = [v.astype(dtype) for v in vectors]
        grids = meshgrid(*vectors, indexing="ij", sparse=self.sparse)
        return list(grids) if self.sparse else stack(grids, 0)

    def __repr__(self) -> str:
        return f"{self.name}[...]"


mgrid = _Grid("mgrid", sparse=False)
ogrid = _Grid("ogrid", sparse=True)


class _Concatenator:
    """``r_[a, 1:4, 9]``: arrays, ranges and numbers joined along an axis.

    A string in front, ``"axis,ndim,place"``, says along which axis, how many axes each has at
    least, and where its own go among the new ones (see `numpy.r_`).
    """

    def __init__(self, name: str, axis: int, ndmin: int, place: int):
        self.name = name
        self.options = (axis, ndmin, place)

    def __getitem__(self, key: Any) -> Any:
        parts = list(key) if isinstance(key, tuple) else [key]
        axis, ndmin, place = self.options
        if parts and isinstance(parts[0], str):
            text = parts.pop(0)
            if text in ("r", "c"):
                raise NotImplementedError(f"{self.name}: matrices ({text!r}) are not offered.")
            numbers = [int(n) for n in text.split(",")]
            axis, ndmin, place = [*numbers, *(axis, ndmin, place)[len(numbers) :]]
        arrays = [self._part(p, ndmin, place) for p in parts]
        return concatenate(arrays, axis)

    def _part(self, part: Any, ndmin: int, place: int) -> Any:
        x = _points(part) if isinstance(part, slice) else asarray(part)
        own = typeof(x).ndim
        if own == 0:
            return array(x, copy=False, ndmin=max(ndmin, 1))
        x = array(x, copy=False, ndmin=ndmin)
        if place != -1 and own < ndmin:
            new = ndmin - own
            first = place if place >= 0 else new + place + 1
            x = moveaxis(x, range(new, ndmin), range(min(first, new), min(first, new) + own))
        return x

    def __repr__(self) -> str:
        return f"{self.name}[...]"


r_ = _Concatenator("r_", 0, 1, -1)
c_ = _Concatenator("c_", -1, 2, 0)


# --- conversions ---------------------------------------------------------------------------------


def unravel_index(indices: Any, shape: Any) -> tuple[Any, ...]:
    """Positions in a flattened array as one array of indices an axis; clipped to the bounds.

    >>> print(*jnp.unravel_index(jnp.array([1, 5]), (2, 3)))
    [0 1] [1 2]
    """
    check_arraylike("unravel_index", indices)
    sizes = [int(n) for n in np.atleast_1d(concrete("unravel_index", "shape", shape))]
    return _unravel(indices, sizes=tuple(sizes))


@library_function(static_argnames="sizes")
def _unravel(indices: Any, *, sizes: tuple[int, ...]) -> tuple[Any, ...]:
    total = math.prod(sizes)
    dtype = typeof(indices).dtype
    if dtypes.is_bool(dtype) or not dtypes.is_integer(dtype):
        raise TypeError(f"unravel_index: indices must be integers, got {dtype}.")
    flat = where(indices < 0, indices + scalar(total, dtype), indices)
    flat = lax.clamp(scalar(0, dtype), flat, scalar(max(total - 1, 0), dtype))
    results = []
    for n in reversed(sizes):
        results.append(remainder(flat, scalar(max(n, 1), dtype)))
        flat = lax.div(flat, scalar(max(n, 1), dtype))
    return tuple(reversed(results))


def ravel_multi_index(
    multi_index: Sequence[Any],
    dims: Sequence[int],
    mode: str = "raise",
    order: str = "C",
    *,
    dtype: Any = None,
) -> Any:
    """Indices along each axis as positions in the flattened array.

    Args:
      mode: for indices out of bounds: "clip", "wrap", or "raise", which needs their values.

    >>> print(jnp.ravel_multi_index((jnp.array([0, 1]), jnp.array([1, 2])), (2, 3)))
    [1 5]
    """
    if len(multi_index) != len(dims):
        raise ValueError(
            f"ravel_multi_index: {len(dims)} arrays of indices are needed, got {len(multi_index)}."
        )
    if mode not in ("raise", "clip", "wrap"):
        raise ValueError(
            f"ravel_multi_index: mode must be 'raise', 'clip' or 'wrap', got {mode!r}."
        )
    check_arraylike("ravel_multi_index", *multi_index)
    sizes = [index(n) for n in dims]
    arrays = [asarray(i) for i in multi_index]
    for x, n in zip(arrays, sizes):
        if not dtypes.is_integer(typeof(x).dtype):
            raise TypeError(f"only int indices permitted, got {typeof(x).dtype}.")
        if mode == "raise":
            known = concrete("ravel_multi_index (in mode 'raise')", "multi_index", x)
            if ((known < 0) | (known >= n)).any():
                raise ValueError("invalid entry in coordinates array")
    if mode == "clip":
        arrays = [x.clip(0, n - 1) for x, n in zip(arrays, sizes)]
    elif mode == "wrap":
        arrays = [remainder(x, n) for x, n in zip(arrays, sizes)]
    if order not in ("C", "F"):
        raise ValueError(f"ravel_multi_index: order must be 'C' or 'F', got {order!r}.")
    strides = np.cumprod([1, *(sizes[:0:-1] if order == "C" else sizes[:-1])]).tolist()
    result = sum([x * s for x, s in zip(arrays, strides[::-1] if order == "C" else strides)])
    return result if dtype is None else asarray(result).astype(dtype)

"""Arrays with elements put in, taken out, or filled; repeated to a size; trimmed."""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np
from covector import lax
from covector._api.jit import library_function
from covector._ir import dtypes
from covector._trace.trace import Tracer, typeof
from covector.numpy._creation import array, asarray, ones
from covector.numpy._joining import tile
from covector.numpy._manipulation import broadcast_to, moveaxis, ravel, reshape
from covector.numpy._operands import (
    Array,
    ArrayLike,
    canonical_axis,
    check_arraylike,
    check_not_in_place,
    concrete,
)
from covector.numpy._searching import nonzero, where
from covector.numpy._taking import take


def delete(
    arr: ArrayLike, obj: ArrayLike, axis: int | None = None, *, assume_unique_indices: bool = False
) -> Array:
    """``arr`` without some parts along an axis, or without some elements of the flattened array.

    Args:
      obj: an index, a slice, an array of indices, or a mask.
      assume_unique_indices: that no index occurs twice, which lets ``obj`` be a traced array.

    >>> print(jnp.delete(jnp.arange(5), jnp.array([1, 3])))
    [0 2 4]
    """
    check_arraylike("delete", arr)
    arr, axis = _along(arr, axis)
    n = typeof(arr).shape[axis]
    if isinstance(obj, slice):
        return take(arr, np.delete(np.arange(n, dtype=np.int32), obj), axis)
    check_arraylike("delete", obj)
    known = obj.concrete() if isinstance(obj, Tracer) else obj
    if isinstance(known, Tracer):
        return _delete_traced(arr, obj, axis, assume_unique_indices)
    places = np.asarray(known)
    if places.dtype != bool and not np.issubdtype(places.dtype, np.integer):
        raise TypeError(f"delete: obj must be integers or booleans, got {places.dtype}.")
    if places.dtype != bool:
        places = np.clip(np.where(places < 0, places + n, places), -1, n)
        places = places[(places >= 0) & (places < n)]
    return take(arr, np.delete(np.arange(n, dtype=np.int32), places), axis)


def _delete_traced(arr: Any, obj: Any, axis: int, unique: bool) -> Any:
    """What is left is the parts whose number, counted without the deleted ones, is small enough."""
    aval, n = typeof(obj), typeof(arr).shape[axis]
    if dtypes.is_bool(aval.dtype) or (aval.ndim and not unique):
        concrete("delete", "obj (unless assume_unique_indices)", obj)
    places = reshape(obj, (-1,))
    places = where(places < 0, places + n, places)
    gone = lax.full((n,), False).at[places].set(True)
    (kept,) = nonzero(~gone, size=n - typeof(places).shape[0])
    return take(arr, kept, axis)


def _along(arr: Any, axis: int | None) -> tuple[Any, int]:
    if axis is None:
        return ravel(arr), 0
    return asarray(arr), canonical_axis(axis, typeof(arr).ndim)


def insert(arr: ArrayLike, obj: ArrayLike, values: ArrayLike, axis: int | None = None) -> Array:
    """``arr`` with values put before positions along an axis, or of the flattened array.

    >>> print(jnp.insert(jnp.arange(3), 1, 9))
    [0 9 1 2]
    """
    check_arraylike("insert", arr, values, *([] if isinstance(obj, slice) else [obj]))
    arr, axis = _along(arr, axis)
    n = typeof(arr).shape[axis]
    if isinstance(obj, slice):
        obj = np.arange(*obj.indices(n))
    obj = asarray(obj)
    places = reshape(obj, (-1,))
    places = where(places < 0, places + n, places).clip(0, n).astype(np.int32)
    values = array(values, copy=False, ndmin=typeof(arr).ndim)
    if typeof(places).shape == (1,):  # all values go to one place
        if typeof(obj).ndim == 0:
            values = moveaxis(values, 0, axis)
        places = broadcast_to(places, (typeof(values).shape[axis],))
    return _inserted(arr, places, values.astype(typeof(arr).dtype), axis=axis)


@library_function(static_argnames="axis")
def _inserted(arr: Any, places: Any, values: Any, *, axis: int) -> Any:
    """Scatter new and old parts to where they stand in the result; the order of ties is kept."""
    shape = list(typeof(arr).shape)
    n, count = shape[axis], typeof(places).shape[0]
    shape[axis] = count
    values = broadcast_to(values, tuple(shape))
    number = lax.iota(np.dtype("int32"), count)
    places, order = lax.sort((places, number), num_keys=1)
    targets = lax.full((count,), 0, np.dtype("int32")).at[order].set(places + number)
    is_old = lax.full((n + count,), True).at[targets].set(False)
    (old,) = nonzero(is_old, size=n)
    shape[axis] = n + count
    before = (slice(None),) * axis
    out = lax.full(tuple(shape), 0, typeof(arr).dtype)
    return out.at[(*before, targets)].set(values).at[(*before, old)].set(arr)


@library_function(operands=("a",))
def resize(a: ArrayLike, new_shape: Any) -> Array:
    """An array of another shape, with the elements of ``a`` in order, repeated as often as needed.

    >>> print(jnp.resize(jnp.arange(3), (2, 4)))
    [[0 1 2 0]
     [1 2 0 1]]
    """
    check_arraylike("resize", a)
    shape = tuple(map(index, new_shape)) if np.iterable(new_shape) else (index(new_shape),)
    if any(n < 0 for n in shape):
        raise ValueError(f"resize: all sizes must be nonnegative, got {shape}.")
    flat, total = ravel(a), math.prod(shape)
    have = typeof(flat).shape[0]
    if have == 0 or total == 0:
        return lax.full(shape, 0, typeof(a).dtype)
    return reshape(tile(flat, -(-total // have))[:total], shape)


def fill_diagonal(
    a: ArrayLike, val: ArrayLike, wrap: bool = False, *, inplace: bool = True
) -> Array:
    """``a`` with its main diagonal replaced by a number, or values in turn.

    Pass ``inplace=False``.

    >>> print(jnp.fill_diagonal(jnp.zeros((2, 2)), 5.0, inplace=False))
    [[5. 0.]
     [0. 5.]]
    """
    check_not_in_place("fill_diagonal", inplace, NotImplementedError)
    check_arraylike("fill_diagonal", a, val)
    a, val = asarray(a), asarray(val)
    shape = typeof(a).shape
    if wrap:
        raise NotImplementedError("fill_diagonal: wrap=True is not supported.")
    if len(shape) < 2:
        raise ValueError("array must be at least 2-d")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    n = min(shape)
    places = np.arange(n, dtype=np.int32)
    values = val if typeof(val).ndim == 0 else resize(val, (n,))
    return a.at[(places,) * len(shape)].set(values)


def place(arr: ArrayLike, mask: ArrayLike, vals: ArrayLike, *, inplace: bool = True) -> Array:
    """``arr`` with the elements under a mask replaced by values in turn; pass ``inplace=False``.

    >>> print(jnp.place(jnp.arange(4), jnp.arange(4) > 1, jnp.array([7, 8]), inplace=False))
    [0 1 7 8]
    """
    check_not_in_place("place", inplace)
    check_arraylike("place", arr, mask, vals)
    arr, flat_mask, values = asarray(arr), ravel(asarray(mask)), ravel(asarray(vals))
    if typeof(flat_mask).size != typeof(arr).size:
        raise ValueError("place: arr and mask must be the same size")
    if typeof(values).size == 0:
        raise ValueError("Cannot place values from an empty array")
    if typeof(arr).size == 0:
        return arr
    flat_mask = flat_mask.astype(bool)
    number = lax.cumsum(flat_mask.astype(np.int32), 0) - 1
    new = take(values, number % typeof(values).size, mode="clip").astype(typeof(arr).dtype)
    return reshape(where(flat_mask, new, ravel(arr)), typeof(arr).shape)


def trim_zeros(filt: ArrayLike, trim: str = "fb", axis: Any = None) -> Array:
    """``filt`` without the zeros at its ends, "f" the front and "b" the back.

    The result's shape depends on values, so they must be known.

    >>> print(jnp.trim_zeros(jnp.array([0, 0, 1, 0, 2, 0])))
    [1 0 2]
    """
    check_arraylike("trim_zeros", filt)
    known = concrete("trim_zeros", "filt", filt)
    axes = range(known.ndim) if axis is None else np.atleast_1d(axis)
    spans = [slice(None)] * known.ndim
    front, back = "f" in trim.lower(), "b" in trim.lower()
    for i in [canonical_axis(a, known.ndim) for a in axes]:
        others = tuple([j for j in range(known.ndim) if j != i])
        found = np.nonzero(known.any(axis=others))[0].tolist()
        first, last = (found[0], found[-1] + 1) if found else (0, 0)
        spans[i] = slice(first if front else 0, last if back or not found else known.shape[i])
    return asarray(filt)[tuple(spans)]


def mask_indices(
    n: int, mask_func: Callable[..., Any], k: int = 0, *, size: int | None = None
) -> tuple[Array, ...]:
    """The indices of an n x n matrix where ``mask_func(ones, k)`` is not zero, as `triu` is one.

    >>> print(*jnp.mask_indices(2, jnp.triu))
    [0 0 1] [0 1 1]
    """
    return nonzero(mask_func(ones((n, n), dtype=int), k), size=size)

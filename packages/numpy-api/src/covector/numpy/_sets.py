"""Distinct elements and operations on sets of them."""

from __future__ import annotations

import math
from operator import index
from typing import Any, NamedTuple

import numpy as np
from covector import lax
from covector._api.jit import library_function
from covector._ir import dtypes
from covector._trace.trace import Tracer, typeof
from covector.errors import ConcretizationTypeError
from covector.numpy import _reductions
from covector.numpy._comparison import isnan
from covector.numpy._creation import asarray
from covector.numpy._joining import concatenate
from covector.numpy._manipulation import moveaxis, ravel, reshape
from covector.numpy._operands import (
    Array,
    ArrayLike,
    ArrayOrSeveral,
    canonical_axis,
    check_arraylike,
    promote_dtypes,
)
from covector.numpy._searching import isin, nonzero, searchsorted, where
from covector.numpy._sorting import argsort
from covector.numpy._taking import take


class UniqueAll(NamedTuple):
    """The result of `unique_all`."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    """The result of `unique_counts`."""

    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    """The result of `unique_inverse`."""

    values: Any
    inverse_indices: Any


def unique(
    ar: ArrayLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
    sorted: bool = True,
) -> ArrayOrSeveral:
    """The distinct elements, sorted; or the distinct parts along an axis.

    Args:
      return_index: also the position where each first occurs.
      return_inverse: also for each element which of the distinct ones it is.
      return_counts: also how often each occurs.
      size: how many to return, needed while a function is traced; what is surplus is cut off,
        what lacks is ``fill_value`` (by default the least element).

    Raises:
      ConcretizationTypeError: ``ar`` is traced and ``size`` is not given.

    >>> print(*jnp.unique(jnp.array([3, 1, 3]), return_counts=True))
    [1 3] [1 2]
    """
    check_arraylike("unique", ar)
    if axis is not None:
        axis = canonical_axis(axis, typeof(ar).ndim)
    if size is None:
        found = _of_known(ar, axis, equal_nan)
    else:
        if index(size) > 0 and fill_value is None and not typeof(ar).size:
            raise ValueError(
                f"unique: of no elements, {size} cannot be filled. Give `fill_value=`."
            )
        found = _unique(ar, fill_value, axis=axis, equal_nan=bool(equal_nan), size=index(size))
    wanted = (True, return_index, return_inverse, return_counts)
    results = [x for x, want in zip(found, wanted) if want]
    return tuple(results) if len(results) > 1 else results[0]


def _of_known(ar: Any, axis: int | None, equal_nan: bool) -> UniqueAll:
    value = ar.concrete() if isinstance(ar, Tracer) else ar
    if isinstance(value, Tracer):
        raise ConcretizationTypeError(
            "unique: the number of distinct elements of a traced array is not known, so the "
            "result's shape is not. Give `size=`, the number to return."
        )
    found = np.unique(np.asarray(value), True, True, True, axis=axis, equal_nan=equal_nan)
    if not isinstance(ar, Tracer):
        values, *rest = map(asarray, found)
        return UniqueAll(values, *rest)
    where_first, *rest = map(asarray, found[1:])
    return UniqueAll(
        take(ravel(ar) if axis is None else ar, where_first, axis or 0), where_first, *rest
    )


@library_function(static_argnames=("axis", "equal_nan", "size"))
def _unique(ar: Any, fill_value: Any, *, axis: int | None, equal_nan: bool, size: int) -> UniqueAll:
    """Sort; an element that differs from the one before is new; count the new ones."""
    shape = typeof(ar).shape
    rows = reshape(ar, (-1, 1)) if axis is None else moveaxis(ar, axis, 0)
    others = typeof(rows).shape[1:]
    rows = reshape(rows, (typeof(rows).shape[0], math.prod(typeof(rows).shape[1:])))
    n, width = typeof(rows).shape
    integer = dtypes.canonicalize_dtype("int64")
    if n == 0:
        empty = lax.full((size,), 0, integer)
        values = lax.full(
            (size, *others), 0 if fill_value is None else fill_value, typeof(ar).dtype
        )
        return UniqueAll(_placed(values, axis), empty, lax.full((0,), 0, integer), empty)
    columns = lax.unstack(rows, 1)
    *columns, order = lax.sort((*columns, lax.iota(integer, n)), num_keys=width)
    ordered = lax.stack(columns, 1)
    new = concatenate([lax.full((1,), True), _differs(ordered[1:], ordered[:-1], equal_nan)])
    (starts,) = nonzero(new, size=size, fill_value=n)
    missing = starts >= n
    number = _reductions.cumsum(new, dtype=integer) - 1
    inverse = lax.full((n,), 0, integer).at[order].set(number)
    values = take(ordered, starts, 0, mode="clip")
    fill = ordered[:1] if fill_value is None else asarray(fill_value, typeof(ar).dtype)
    values = where(missing[:, None], fill, values)
    indices = where(missing, order[0], take(order, starts, mode="clip"))
    ends = concatenate([starts[1:], lax.full((1,), n, integer)])
    counts = where(missing, 0, ends - starts)
    counts = counts.at[-1].set(where(missing[-1], 0, _reductions.sum(number == size - 1)))
    inverse = reshape(inverse, shape if axis is None else (n,))
    return UniqueAll(_placed(reshape(values, (size, *others)), axis), indices, inverse, counts)


def _placed(values: Any, axis: int | None) -> Any:
    return ravel(values) if axis is None else moveaxis(values, 0, axis)


def _differs(x: Any, y: Any, equal_nan: bool) -> Any:
    different = lax.ne(x, y)
    if equal_nan and dtypes.is_inexact(typeof(x).dtype):
        different = different & ~(isnan(x) & isnan(y))
    return _reductions.any(different, 1)


def unique_values(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> Array:
    """The distinct elements, sorted; NaN is never equal to NaN. See `unique`.

    >>> print(jnp.unique_values(jnp.array([3, 1, 3])))
    [1 3]
    """
    return unique(x, equal_nan=False, size=size, fill_value=fill_value)


def unique_counts(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> UniqueCounts:
    """The distinct elements and how often each occurs. See `unique`.

    >>> print(*jnp.unique_counts(jnp.array([3, 1, 3])))
    [1 3] [1 2]
    """
    options = {"equal_nan": False, "size": size, "fill_value": fill_value}
    return UniqueCounts(*unique(x, return_counts=True, **options))


def unique_inverse(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> UniqueInverse:
    """The distinct elements, and for each element which of them it is. See `unique`.

    >>> print(*jnp.unique_inverse(jnp.array([3, 1, 3])))
    [1 3] [1 0 1]
    """
    options = {"equal_nan": False, "size": size, "fill_value": fill_value}
    return UniqueInverse(*unique(x, return_inverse=True, **options))


def unique_all(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> UniqueAll:
    """The distinct elements, where they first occur, which each element is, and counts.

    >>> print(jnp.unique_all(jnp.array([3, 1, 3])).indices)
    [1 0]
    """
    options = {"equal_nan": False, "size": size, "fill_value": fill_value}
    return UniqueAll(*unique(x, True, True, True, **options))


def union1d(
    ar1: ArrayLike, ar2: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> Array:
    """The distinct elements of two arrays together, sorted. ``size``: see `unique`.

    >>> print(jnp.union1d(jnp.array([1, 2]), jnp.array([2, 3])))
    [1 2 3]
    """
    check_arraylike("union1d", ar1, ar2)
    both = concatenate([asarray(ar1), asarray(ar2)], axis=None)
    return unique(both, size=size, fill_value=fill_value)


def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> ArrayOrSeveral:
    """The distinct elements that are in both arrays, sorted; with where they first occur.

    ``size``: see `unique`. What lacks of the positions is the size of the array.

    >>> print(jnp.intersect1d(jnp.array([1, 2, 3]), jnp.array([3, 2, 5])))
    [2 3]
    """
    check_arraylike("intersect1d", ar1, ar2)
    if size is None:
        x, y = _known("intersect1d", ar1, ar2)
        found = tuple(map(asarray, np.intersect1d(x, y, assume_unique, return_indices=True)))
    else:
        found = _intersection(ar1, ar2, fill_value, size=index(size))
    return found if return_indices else found[0]


@library_function(static_argnames="size")
def _intersection(ar1: Any, ar2: Any, fill_value: Any, *, size: int) -> tuple[Any, Any, Any]:
    x, y = [ravel(v) for v in promote_dtypes(ar1, ar2)]
    if not (typeof(x).size and typeof(y).size):
        value = 0 if fill_value is None else fill_value
        there = lax.full((size,), 0, dtypes.canonicalize_dtype("int64"))
        return (
            lax.full((size,), value, typeof(x).dtype),
            lax.full_like(there, typeof(x).size),
            lax.full_like(there, typeof(y).size),
        )
    values, first, counts = unique(x, True, return_counts=True, size=typeof(x).size)
    keep = (counts > 0) & isin(values, y)
    (at,) = nonzero(keep, size=size, fill_value=-1)
    there = at >= 0
    order = argsort(y, stable=True)
    common = take(values, at, mode="clip")
    second = take(order, searchsorted(take(y, order), common), mode="clip")
    return (
        where(there, common, common[:1] if fill_value is None else fill_value).astype(x.dtype),
        where(there, take(first, at, mode="clip"), typeof(x).size),
        where(there, second, typeof(y).size),
    )


def setdiff1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """The distinct elements of ``ar1`` that are not in ``ar2``. ``size``: see `unique`.

    >>> print(jnp.setdiff1d(jnp.array([1, 2, 3]), jnp.array([2])))
    [1 3]
    """
    check_arraylike("setdiff1d", ar1, ar2)
    if size is None:
        x, y = _known("setdiff1d", ar1, ar2)
        return asarray(np.setdiff1d(x, y, assume_unique))
    from covector.numpy._searching import compress

    if not typeof(ar1).size:
        return lax.full((index(size),), 0 if fill_value is None else fill_value, typeof(ar1).dtype)
    values, counts = unique(ar1, return_counts=True, size=typeof(ar1).size)
    keep = (counts > 0) & ~isin(values, ar2)
    return compress(keep, values, size=size, fill_value=0 if fill_value is None else fill_value)


def setxor1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """The distinct elements that are in one array and not in the other, sorted.

    ``size``: see `unique`.

    >>> print(jnp.setxor1d(jnp.array([1, 2]), jnp.array([2, 3])))
    [1 3]
    """
    check_arraylike("setxor1d", ar1, ar2)
    if size is not None:
        return _difference(ar1, ar2, fill_value, size=index(size))
    x, y = _known("setxor1d", ar1, ar2)
    return asarray(np.setxor1d(x, y, assume_unique))


@library_function(static_argnames="size")
def _difference(ar1: Any, ar2: Any, fill_value: Any, *, size: int) -> Any:
    x, y = [ravel(v) for v in promote_dtypes(ar1, ar2)]
    both = concatenate([x, y])
    if not typeof(both).size:
        return lax.full((size,), 0 if fill_value is None else fill_value, typeof(both).dtype)
    values, counts = unique(both, return_counts=True, size=typeof(both).size)
    keep = (counts > 0) & (isin(values, x) != isin(values, y))
    (at,) = nonzero(keep, size=size, fill_value=-1)
    found = take(values, at, mode="clip")
    return where(at >= 0, found, found[:1] if fill_value is None else fill_value).astype(x.dtype)


def _known(name: str, *arrays: Any) -> list[np.ndarray]:
    from covector.numpy._operands import concrete

    return [concrete(name, "its arguments (without size)", x) for x in arrays]

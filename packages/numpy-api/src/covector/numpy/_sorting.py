"""Sorting and partitioning."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np
from covector import lax
from covector._api.jit import library_function
from covector._ir import dtypes
from covector._trace.trace import typeof
from covector.numpy._creation import asarray
from covector.numpy._operands import (
    Array,
    ArrayLike,
    DTypeLike,
    canonical_axis,
    check_arraylike,
    requested_dtype,
)


@library_function(operands=("a",))
def sort(
    a: ArrayLike,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
) -> Array:
    """The elements in ascending order along an axis; NaN comes last.

    Args:
      axis: None for the flattened array.
      stable: whether equal elements keep their order.
      descending: sort the other way.

    >>> print(jnp.sort(jnp.array([3, 1, 2])))
    [1 2 3]
    """
    check_arraylike("sort", a)
    _check_options("sort", kind, order)
    a, axis = _along(a, axis)
    result = lax.sort(a, dimension=axis, is_stable=bool(stable))
    return lax.rev(result, (axis,)) if descending else result


def _check_options(name: str, kind: Any, order: Any) -> None:
    if kind is not None:
        raise TypeError(f"{name}: 'kind' is not supported; use stable=True or stable=False.")
    if order is not None:
        raise TypeError(f"{name}: 'order' is for arrays with fields, which there are not.")


def _along(a: Any, axis: int | None) -> tuple[Any, int]:
    """The array and the axis to sort along."""
    if axis is None:
        return lax.reshape(asarray(a), (typeof(a).size,)), 0
    return a, canonical_axis(axis, typeof(a).ndim)


@library_function(operands=("a",))
def argsort(
    a: ArrayLike,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
    dtype: DTypeLike = None,
) -> Array:
    """The positions that sort ``a`` along an axis. Arguments: see `sort`.

    >>> print(jnp.argsort(jnp.array([3, 1, 2])))
    [1 2 0]
    """
    check_arraylike("argsort", a)
    _check_options("argsort", kind, order)
    a, along = _along(a, axis)
    dtype = requested_dtype(dtype, "argsort") or dtypes.canonicalize_dtype("int64")
    places = lax.broadcasted_iota(dtype, typeof(a).shape, along)
    if descending:  # sort backwards, and reverse, so that equal elements keep their order
        a, places = lax.rev(a, (along,)), lax.rev(places, (along,))
    found: Any = lax.sort((a, places), dimension=along, is_stable=bool(stable), num_keys=1)[1]
    return lax.rev(found, (along,)) if descending else found


@library_function(operands=("keys",))
def lexsort(keys: Any, axis: int = -1, *, batch_size: int = 16) -> Array:
    """The positions that sort by several keys; the last one matters most.

    >>> print(jnp.lexsort((jnp.array([2, 1, 0]), jnp.array([1, 1, 0]))))
    [2 1 0]
    """
    keys = list(keys) if isinstance(keys, (list, tuple)) else list(asarray(keys))
    if not keys:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    check_arraylike("lexsort", *keys)
    if len({typeof(k).shape for k in keys}) > 1:
        raise ValueError(
            f"lexsort: keys must have one shape, got {[typeof(k).shape for k in keys]}."
        )
    if typeof(keys[0]).ndim == 0:
        return asarray(0, dtypes.canonicalize_dtype("int64"))
    axis = canonical_axis(axis, typeof(keys[0]).ndim)
    places = lax.broadcasted_iota(dtypes.canonicalize_dtype("int64"), typeof(keys[0]).shape, axis)
    operands = (*keys[::-1], places)
    return lax.sort(operands, dimension=axis, num_keys=len(keys))[-1]


@library_function
def sort_complex(a: ArrayLike) -> Array:
    """The elements of the last axis as complex numbers, by real part, then imaginary part.

    >>> print(jnp.sort_complex(jnp.array([2, 1 + 1j, 1])))
    [1.+0.j 1.+1.j 2.+0.j]
    """
    check_arraylike("sort_complex", a)
    dtype = dtypes.canonicalize_dtype(dtypes.to_complex_dtype(typeof(a).dtype))
    return lax.sort(lax.convert_element_type(a, dtype), dimension=typeof(a).ndim - 1)


@library_function(operands=("a",))
def partition(a: ArrayLike, kth: int, axis: int = -1) -> Array:
    """Elements ordered so that the k-th is in its sorted place.

    None before it is larger, none behind it is smaller.

    >>> print(jnp.partition(jnp.array([5, 1, 4, 2]), 1)[1])
    2
    """
    return _partition("partition", a, kth, axis)


@library_function(operands=("a",))
def argpartition(a: ArrayLike, kth: int, axis: int = -1) -> Array:
    """The positions that partition ``a``. See `partition`.

    >>> print(jnp.argpartition(jnp.array([5, 1, 4, 2]), 1)[1])
    3
    """
    return _partition("argpartition", a, kth, axis)


def _partition(name: str, a: Any, kth: int, axis: int) -> Any:
    check_arraylike(name, a)
    if dtypes.is_complex(typeof(a).dtype):
        raise NotImplementedError(f"{name}: complex numbers are not supported.")
    axis = canonical_axis(axis, typeof(a).ndim)
    canonical_axis(index(kth), typeof(a).shape[axis], "kth")
    return sort(a, axis) if name == "partition" else argsort(a, axis)


@library_function(operands=("a",))
def top_k(
    a: ArrayLike, k: int, /, *, axis: int = -1, mode: str = "largest", sorted: bool = True
) -> tuple[Array, Array]:
    """The ``k`` largest (or smallest) elements along an axis, in order, and their positions.

    >>> print(*jnp.top_k(jnp.array([3, 1, 2]), 2))
    [3 2] [0 2]
    """
    check_arraylike("top_k", a)
    if mode not in ("largest", "smallest"):
        raise ValueError(f"top_k: mode must be 'largest' or 'smallest', got {mode!r}.")
    axis = canonical_axis(axis, typeof(a).ndim)
    k = index(k)
    if mode == "largest":
        values, places = lax.top_k(a, k, axis=axis)
        return values, places
    places = lax.broadcasted_iota(np.dtype("int32"), typeof(a).shape, axis)
    values, places = lax.sort((a, places), dimension=axis, num_keys=1)
    first = [slice(None)] * typeof(a).ndim
    first[axis] = slice(k)
    return values[tuple(first)], places[tuple(first)]

"""Shuffling, and choosing from arrays: `permutation`, `choice`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from covector import lax
from covector._api.jit import library_function
from covector._ir import dtypes
from covector._trace.trace import Tracer, typeof
from covector.errors import ConcretizationTypeError
from covector.lax._axes import canonical_axis
from covector.lax.filling import place
from covector.random._arguments import array_of, shape_of, single_key
from covector.random._continuous import gumbel_mode, gumbel_numbers
from covector.random._implementation import KeyImplementation, Shape
from covector.random._integers import randint
from covector.random._uniform import unit_interval

# --- permutation ----------------------------------------------------------------------------------


def permutation(
    key: Any, x: Any, axis: int = 0, independent: bool = False, *, out_sharding: Any = None
) -> Any:
    """The elements of an array along an axis in random order, or the numbers below an integer.

    Args:
      key: a typed key, or a plain one of shape ``(2,)``.
      x: an array of at least one axis, or an integer.
      axis: the axis along which the order changes.
      independent: whether each row along the axis gets an order of its own.

    Raises:
      TypeError: ``key`` is no key, or ``x`` a number that is no integer.
      ValueError: there is no such axis.
      ConcretizationTypeError: ``x`` is a traced scalar.

    >>> from covector import random
    >>> random.permutation(random.key(0), 5)
    Array([0, 1, 4, 3, 2], dtype=int32)
    """
    implementation, data, _ = single_key("permutation", key)
    x = array_of("permutation", "x", x)
    aval = typeof(x)
    if not aval.ndim:
        if not dtypes.is_integer(aval.dtype):
            raise TypeError(
                "permutation: x must be an integer or at least 1-dimensional, but got a scalar of "
                f"dtype {aval.dtype}."
            )
        count = max(_known("permutation", "x", x), 0)
        return place(_permuted_numbers(data, implementation, count), out_sharding)
    axis = canonical_axis("permutation", axis, aval.ndim)
    if independent or aval.ndim == 1:
        return place(_shuffled(data, x, implementation, axis), out_sharding)
    return place(_permuted(data, x, implementation, axis), out_sharding)


def _known(name: str, argument: str, x: Any) -> int:
    """The value of a scalar."""
    value = x.concrete() if isinstance(x, Tracer) else x
    if isinstance(value, Tracer):
        raise ConcretizationTypeError(
            f"{name}: {argument} is a traced scalar, but the result's shape depends on its value. "
            "Mark the argument static (static_argnums, static_argnames), or give an array."
        )
    return int(value)


@library_function(static_argnums=(1, 2))
def _permuted_numbers(data: Any, implementation: KeyImplementation, count: int) -> Any:
    numbers = lax.iota(dtypes.scalar_dtype(int), count)
    return _shuffle(data, numbers, implementation, 0)


@library_function(static_argnums=(2, 3))
def _shuffled(data: Any, x: Any, implementation: KeyImplementation, axis: int) -> Any:
    return _shuffle(data, x, implementation, axis)


@library_function(static_argnums=(2, 3))
def _permuted(data: Any, x: Any, implementation: KeyImplementation, axis: int) -> Any:
    order = _permuted_numbers(data, implementation, typeof(x).shape[axis])
    return take(x, order, axis)


def _shuffle(data: Any, x: Any, implementation: KeyImplementation, axis: int) -> Any:
    """``x`` sorted by random keys of 32 bits, as often as makes equal keys unlikely to matter.

    A loop, although a short one: so it is compiled once.
    """
    shape = typeof(x).shape
    rounds = math.ceil(3 * math.log(max(math.prod(shape), 1)) / math.log(2**32 - 1))

    def sort(_: Any, state: tuple[Any, Any]) -> tuple[Any, Any]:
        data, x = state
        data, subkey = lax.unstack(implementation.split(data, (2,)))
        order = implementation.random_bits(subkey, 32, shape)
        return data, lax.sort_key_val(order, x, axis)[1]

    if rounds < 2:
        return sort(0, (data, x))[1] if rounds else x
    return lax.fori_loop(0, rounds, sort, (data, x))[1]


def take(x: Any, indices: Any, axis: int) -> Any:
    """The elements of ``x`` at ``indices``, which are in bounds, along ``axis``."""
    shape, rank = typeof(x).shape, typeof(indices).ndim
    after = range(axis + rank, axis + rank + len(shape) - axis - 1)
    numbers = lax.GatherDimensionNumbers((*range(axis), *after), (axis,), (axis,))
    sizes = (*shape[:axis], 1, *shape[axis + 1 :])
    return lax.gather(x, lax.expand_dims(indices, (rank,)), numbers, sizes)


# --- choice ---------------------------------------------------------------------------------------


def choice(
    key: Any,
    a: Any,
    shape: Any = (),
    replace: bool = True,
    p: Any = None,
    axis: int = 0,
    mode: str | None = None,
) -> Any:
    """Random elements of an array along an axis, or of the numbers below an integer.

    Args:
      key: a typed key, or a plain one of shape ``(2,)``.
      a: an array, or an integer.
      shape: of the draws, which take the place of the axis in the result.
      replace: whether an element may be drawn again.
      p: the elements' probabilities (equal by default).
      axis: the axis of ``a`` along which elements lie.
      mode: as in `gumbel`, for draws by ``p`` without replacement.

    Raises:
      TypeError: ``key`` is no key, or ``a`` no array.
      ValueError: there is nothing to draw, too little without replacement, or ``p`` does not fit.

    >>> from covector import random
    >>> random.choice(random.key(0), 5, (3,))
    Array([4, 0, 2], dtype=int32)
    """
    single_key("choice", key)
    a = array_of("choice", "a", a)
    shape = shape_of("choice", shape)
    aval = typeof(a)
    if aval.ndim:
        axis = canonical_axis("choice", axis, aval.ndim)
    count = aval.shape[axis] if aval.ndim else _known("choice", "a", a)
    draws = math.prod(shape)
    if not draws:
        return lax.full(shape, 0, aval.dtype)
    if count <= 0:
        raise ValueError("choice: a must be greater than 0 unless no samples are taken")
    if not replace and draws > count:
        raise ValueError(
            f"choice: cannot take a larger sample (size {draws}) than population (size {count}) "
            "when replace=False"
        )
    indices = _chosen(key, count, shape, replace, p, mode)
    return _elements(a, indices, axis) if aval.ndim else indices


def _chosen(key: Any, count: int, shape: Shape, replace: bool, p: Any, mode: str | None) -> Any:
    """The positions of the draws."""
    implementation, data, _ = single_key("choice", key)
    if p is None:
        if replace:
            return randint(key, shape, 0, count)
        return _first_of_permuted(data, implementation, count, shape)
    p = array_of("choice", "p", p)
    if typeof(p).shape != (count,):
        raise ValueError(
            "choice: p must be None or a 1D vector with the same size as a.shape[axis]; p has "
            f"shape {typeof(p).shape} and a.shape[axis] is {count}."
        )
    if replace:
        return _weighted(data, p, implementation, shape)
    return _weighted_once(data, p, implementation, shape, gumbel_mode("choice", mode))


@library_function(static_argnums=(2,))
def _elements(a: Any, indices: Any, axis: int) -> Any:
    return take(a, indices, axis)


@library_function(static_argnums=(1, 2, 3))
def _first_of_permuted(
    data: Any, implementation: KeyImplementation, count: int, shape: Shape
) -> Any:
    order = _permuted_numbers(data, implementation, count)
    return lax.reshape(lax.slice(order, (0,), (math.prod(shape),)), shape)


@library_function(static_argnums=(2, 3))
def _weighted(data: Any, p: Any, implementation: KeyImplementation, shape: Shape) -> Any:
    """Where uniform numbers fall among the sums of the probabilities."""
    p = lax.convert_element_type(p, dtypes.to_inexact_dtype(typeof(p).dtype))
    dtype = typeof(p).dtype
    sums = lax.cumsum(p)
    total = lax.index_in_dim(sums, -1, keepdims=False)
    unit = unit_interval(data, implementation, shape, dtype)
    one = np.ones((), dtype)[()]
    return _search(sums, lax.mul(total, lax.sub(one, unit)))


def _search(ordered: Any, x: Any) -> Any:
    """How many elements of an ordered vector lie below each of ``x``, by bisection."""
    count, dtype = typeof(ordered).shape[0], dtypes.scalar_dtype(int)
    shape = typeof(x).shape
    one = dtype.type(1)

    def narrow(_: Any, ends: tuple[Any, Any]) -> tuple[Any, Any]:
        low, high = ends
        middle = lax.shift_right_logical(lax.add(low, high), one)
        below = lax.lt(take(ordered, middle, 0), x)
        return lax.select(below, lax.add(middle, one), low), lax.select(below, high, middle)

    ends = lax.full(shape, 0, dtype), lax.full(shape, count, dtype)
    return lax.fori_loop(0, count.bit_length(), narrow, ends)[0]


@library_function(static_argnums=(2, 3, 4))
def _weighted_once(
    data: Any, p: Any, implementation: KeyImplementation, shape: Shape, mode: str
) -> Any:
    """The positions of the largest of the logarithms of the probabilities with Gumbel noise."""
    p = lax.convert_element_type(p, dtypes.to_inexact_dtype(typeof(p).dtype))
    aval = typeof(p)
    noise = gumbel_numbers(data, implementation, aval.shape, aval.dtype, mode)
    indices = lax.top_k(lax.add(noise, lax.log(p)), math.prod(shape))[1]
    return lax.reshape(lax.convert_element_type(indices, dtypes.scalar_dtype(int)), shape)

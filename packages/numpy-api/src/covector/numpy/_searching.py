"""Choosing and finding elements: `where`, `nonzero`, `select`, `searchsorted`, ..."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any, overload

import numpy as np
from covector import lax
from covector._api.jit import library_function
from covector._ir import dtypes
from covector._trace.trace import Tracer, typeof
from covector.errors import ConcretizationTypeError
from covector.lax.convert import convert_type
from covector.numpy import _reductions
from covector.numpy._comparison import less
from covector.numpy._creation import asarray
from covector.numpy._operands import (
    Array,
    ArrayLike,
    as_boolean,
    broadcast,
    broadcast_to_shape,
    canonical_axis,
    check_arraylike,
    check_no_out,
    common_shape,
    promote_dtypes,
    scalar,
)

# --- choosing ------------------------------------------------------------------------------------


@overload
def where(condition: ArrayLike, x: ArrayLike, y: ArrayLike, /) -> Array: ...
@overload
def where(
    condition: ArrayLike, /, *, size: Any = None, fill_value: ArrayLike | None = None
) -> tuple[Array, ...]: ...
def where(
    condition: ArrayLike,
    x: ArrayLike | None = None,
    y: ArrayLike | None = None,
    /,
    *,
    size: Any = None,
    fill_value: ArrayLike | None = None,
) -> Array | tuple[Array, ...]:
    """``x`` where the condition holds, ``y`` elsewhere; with a condition alone, `nonzero`.

    The three are broadcast. A gradient flows only to what is chosen: a NaN on the other side does
    not spoil it.

    >>> print(jnp.where(jnp.arange(4) > 1, 10, jnp.arange(4)))
    [ 0  1 10 10]
    """
    if x is None and y is None:
        check_arraylike("where", condition)
        return nonzero(condition, size=size, fill_value=fill_value)
    if size is not None or fill_value is not None:
        raise ValueError("where: size and fill_value go with a condition alone, without x and y.")
    return _where(condition, x, y)


@library_function
def _where(condition: Any, x: Any, y: Any) -> Any:
    check_arraylike("where", condition, x, y)
    mask = as_boolean(condition)
    weak = typeof(x).weak_type and typeof(y).weak_type
    x, y = promote_dtypes(x, y)
    weak = weak or (typeof(x).weak_type and typeof(y).weak_type)
    shape = common_shape("where", *[typeof(v).shape for v in (mask, x, y)])
    mask = mask if typeof(mask).ndim == 0 else broadcast_to_shape(mask, shape)
    on_true, on_false = [
        broadcast_to_shape(convert_type(v, typeof(v).dtype, weak_type=weak), shape) for v in (x, y)
    ]
    return lax.select(mask, on_true, on_false)


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Array:
    """Elements of the first choice whose condition holds, else ``default``.

    >>> x = jnp.arange(4)
    >>> print(jnp.select([x < 1, x < 3], [10 * x, 100 * x], -1))
    [  0 100 200  -1]
    """
    if len(condlist) != len(choicelist):
        raise ValueError(
            f"select: condlist and choicelist must have one length, got {len(condlist)} and "
            f"{len(choicelist)}."
        )
    if not condlist:
        raise ValueError("select: condlist must not be empty.")
    return _select(list(condlist), list(choicelist), default)


@library_function
def _select(condlist: list[Any], choicelist: list[Any], default: Any) -> Any:
    check_arraylike("select", *condlist, *choicelist, default)
    *choices, out = promote_dtypes(*choicelist, default)
    for condition, choice in zip(reversed(condlist), reversed(choices)):
        out = where(condition, choice, out)
    return out


def piecewise(x: ArrayLike, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Array:
    """Each element by the function, or number, of the first condition that holds for it.

    A further function is for elements for which none holds; without it they become 0.

    >>> x = jnp.array([-2.0, 3.0])
    >>> print(jnp.piecewise(x, [x < 0], [lambda v: -v, lambda v: 10 * v]))
    [ 2. 30.]
    """
    check_arraylike("piecewise", x)
    x = asarray(x)
    conditions = list(condlist) if isinstance(condlist, (list, tuple)) else [condlist]
    functions = list(funclist)
    if len(functions) == len(conditions):
        functions.append(0)
    if len(functions) != len(conditions) + 1:
        raise ValueError(
            f"piecewise: with {len(conditions)} conditions, there must be {len(conditions)} or "
            f"{len(conditions) + 1} functions, got {len(functions)}."
        )
    results = [f(x, *args, **kw) if callable(f) else f for f in functions]
    values = [lax.convert_element_type(v, typeof(x).dtype) for v in results]
    out = values[-1]
    for condition, value in zip(reversed(conditions), reversed(values[:-1])):
        out = where(condition, value, out)
    return broadcast_to_shape(out, typeof(x).shape)


# --- positions of nonzero elements ---------------------------------------------------------------


def nonzero(
    a: ArrayLike, *, size: Any = None, fill_value: ArrayLike | None = None
) -> tuple[Array, ...]:
    """The positions of the nonzero elements, one array of indices an axis.

    Args:
      size: how many to return, needed while a function is traced. What is surplus is cut off,
        what lacks is ``fill_value`` (by default 0; a number, or one for each axis).

    Raises:
      ConcretizationTypeError: ``a`` is traced and ``size`` is not given.

    >>> print(*jnp.nonzero(jnp.array([[0, 1], [2, 0]])))
    [0 1] [1 0]
    """
    check_arraylike("nonzero", a)
    if typeof(a).ndim == 0:
        raise ValueError(
            "Calling nonzero on 0d arrays is not allowed. Use jnp.atleast_1d(scalar).nonzero()."
        )
    if size is None:
        return _nonzero_of_known(a)
    fills = fill_value if isinstance(fill_value, tuple) else (fill_value,) * typeof(a).ndim
    if len(fills) != typeof(a).ndim:
        raise ValueError(
            f"nonzero: fill_value must have one element for each of {typeof(a).ndim} axes, got "
            f"{len(fills)}."
        )
    return _nonzero(a, tuple([0 if f is None else f for f in fills]), size=index(size))


def _nonzero_of_known(a: Any) -> tuple[Any, ...]:
    value = a.concrete() if isinstance(a, Tracer) else a
    if isinstance(value, Tracer):
        raise ConcretizationTypeError(
            "nonzero: the number of nonzero elements of a traced array is not known, so the "
            "result's shape is not. Give `size=`, the number to return; or use three-argument "
            "jnp.where to keep the shape."
        )
    dtype = dtypes.canonicalize_dtype("int64")
    return tuple([asarray(p.astype(dtype)) for p in np.nonzero(np.asarray(value))])


@library_function(static_argnames="size")
def _nonzero(a: Any, fills: tuple[Any, ...], *, size: int) -> tuple[Any, ...]:
    """Each nonzero element writes its position to the place that its number, counted, says."""
    shape, total = typeof(a).shape, typeof(a).size
    dtype = dtypes.canonicalize_dtype("int64")
    if total == 0 or size == 0:
        return tuple([_spread(f, size, dtype) for f in fills])
    mask = as_boolean(lax.reshape(a, (total,)))
    number = lax.cumsum(lax.convert_element_type(mask, dtype), 0)
    place = lax.select(mask, lax.sub(number, scalar(1, dtype)), lax.full((total,), size, dtype))
    numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    flat = lax.scatter(
        lax.full((size,), total, dtype),
        lax.reshape(place, (total, 1)),
        lax.iota(dtype, total),
        numbers,
        mode="drop",
        indices_are_sorted=False,
    )
    missing = lax.eq(flat, scalar(total, dtype))
    results, stride = [], total
    for n, fill in zip(shape, fills):
        stride //= n
        position = lax.rem(lax.div(flat, scalar(stride, dtype)), scalar(n, dtype))
        results.append(lax.select(missing, _spread(fill, size, dtype), position))
    return tuple(results)


def _spread(fill: Any, size: int, dtype: np.dtype) -> Any:
    return broadcast_to_shape(lax.convert_element_type(fill, dtype), (size,))


def flatnonzero(a: ArrayLike, *, size: Any = None, fill_value: ArrayLike | None = None) -> Array:
    """The positions of the nonzero elements in the flattened array. See `nonzero`.

    >>> print(jnp.flatnonzero(jnp.array([[0, 1], [2, 0]])))
    [1 2]
    """
    check_arraylike("flatnonzero", a)
    flat = lax.reshape(a, (typeof(a).size,))
    return nonzero(flat, size=size, fill_value=fill_value)[0]


def argwhere(a: ArrayLike, *, size: Any = None, fill_value: ArrayLike | None = None) -> Array:
    """The positions of the nonzero elements, one row each. See `nonzero`.

    >>> print(jnp.argwhere(jnp.array([[0, 1], [2, 0]])))
    [[0 1]
     [1 0]]
    """
    check_arraylike("argwhere", a)
    if typeof(a).ndim == 0:
        rows = int(bool(a)) if size is None else index(size)
        return lax.full((rows, 0), 0, dtypes.canonicalize_dtype("int64"))
    return lax.stack(list(nonzero(a, size=size, fill_value=fill_value)), 1)


def compress(
    condition: ArrayLike,
    a: ArrayLike,
    axis: int | None = None,
    *,
    size: int | None = None,
    fill_value: ArrayLike = 0,
    out: None = None,
) -> Array:
    """The parts along an axis (or elements of the flattened array) where a condition holds.

    ``size`` and ``fill_value``: see `nonzero`.

    >>> print(jnp.compress(jnp.array([True, False, True]), jnp.arange(3)))
    [0 2]
    """
    from covector.numpy._taking import take

    check_no_out("compress", out)
    condition = asarray(condition)
    check_arraylike("compress", condition, a)
    if typeof(condition).ndim != 1:
        raise ValueError("compress: condition must be a 1D array")
    if axis is None:
        a, axis = lax.reshape(asarray(a), (typeof(a).size,)), 0
    axis = canonical_axis(axis, typeof(a).ndim)
    limit = typeof(a).shape[axis]
    # None: what stands for it among random keys.
    filler = None if dtypes.is_extended(typeof(a).dtype) else fill_value
    places = flatnonzero(condition, size=size, fill_value=limit)
    return take(a, places, axis=axis, mode="fill", fill_value=filler)


def extract(
    condition: ArrayLike, arr: ArrayLike, *, size: Any = None, fill_value: ArrayLike = 0
) -> Array:
    """The elements where a condition holds. See `compress`.

    >>> print(jnp.extract(jnp.array([True, False, True]), jnp.arange(3)))
    [0 2]
    """
    flat = lax.reshape(asarray(condition), (typeof(asarray(condition)).size,))
    return compress(flat, arr, size=size, fill_value=fill_value)


# --- in sorted arrays ----------------------------------------------------------------------------


@library_function(operands=("a", "v", "sorter"))
def searchsorted(
    a: ArrayLike,
    v: ArrayLike,
    side: str = "left",
    sorter: ArrayLike | None = None,
    *,
    method: str = "scan",
) -> Array:
    """Where to insert each of ``v`` into the sorted vector ``a`` so that it stays sorted.

    Args:
      side: "left" for the first such place, "right" for the last.
      sorter: the order that sorts ``a``, if it is not sorted.
      method: how to search, for the API's sake: "scan", "scan_unrolled", "sort", "compare_all".

    >>> print(jnp.searchsorted(jnp.array([1, 3, 5]), jnp.array([0, 3, 9])))
    [0 1 3]
    """
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side must be 'left' or 'right', got {side!r}.")
    if method not in ("scan", "scan_unrolled", "sort", "compare_all", "default"):
        raise ValueError(f"searchsorted: unknown method {method!r}.")
    check_arraylike("searchsorted", a, v)
    if typeof(a).ndim != 1:
        raise ValueError(f"searchsorted: a must be one-dimensional, got shape {typeof(a).shape}.")
    if sorter is not None:
        a = asarray(a)[sorter]
    return _searchsorted(a, v, side=side)


def _searchsorted(a: Any, v: Any, *, side: str) -> Any:
    """Bisection for all of ``v`` at once: each of log2(n) steps halves what is left."""
    from covector.numpy._taking import take

    a, v = promote_dtypes(a, v)
    n, shape = typeof(a).shape[0], typeof(v).shape
    dtype = dtypes.canonicalize_dtype("int64")
    low = lax.full(shape, 0, dtype)
    high = lax.full(shape, n, dtype)

    def before(x: Any, y: Any) -> Any:
        """x < y, with NaN after all numbers."""
        if not dtypes.is_inexact(typeof(x).dtype):
            return lax.lt(x, y)
        ordered = less(*broadcast("searchsorted", x, y))
        return lax.bitwise_or(ordered, lax.bitwise_and(lax.ne(y, y), lax.eq(x, x)))

    for _ in range(n.bit_length()):
        middle = lax.div(lax.add(low, high), scalar(2, dtype))
        value = take(a, middle, mode="clip") if n else v
        right = before(value, v) if side == "left" else lax.bitwise_not(before(v, value))
        open_ = lax.lt(low, high)
        up = lax.bitwise_and(right, open_)
        low = lax.select(up, lax.add(middle, scalar(1, dtype)), low)
        down = lax.bitwise_and(lax.bitwise_not(right), open_)
        high = lax.select(down, middle, high)
    return low


@library_function(operands=("x", "bins"))
def digitize(x: ArrayLike, bins: Any, right: bool = False, *, method: str | None = None) -> Array:
    """For each of ``x``, the bin that it falls in, of those with the monotonic edges ``bins``.

    >>> print(jnp.digitize(jnp.array([0.5, 2.5]), jnp.array([0.0, 1.0, 2.0])))
    [1 3]
    """
    check_arraylike("digitize", x, bins)
    if typeof(bins).ndim != 1:
        raise ValueError(f"digitize: bins must be a 1-dimensional array; got {typeof(bins).shape}.")
    return _digitize(x, bins, right=bool(right))


def _digitize(x: Any, bins: Any, *, right: bool) -> Any:
    n = typeof(bins).shape[0]
    dtype = dtypes.canonicalize_dtype("int64")
    if n == 0:
        return lax.full(typeof(x).shape, 0, dtype)
    up = _searchsorted(bins, x, side="left" if right else "right")
    down = _searchsorted(lax.rev(bins, (0,)), x, side="right" if right else "left")
    falling = lax.lt(bins[-1], bins[0])
    return where(falling, lax.sub(scalar(n, dtype), down), up)


def isin(
    element: ArrayLike,
    test_elements: ArrayLike,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    method: str = "auto",
) -> Array:
    """Whether each element is one of ``test_elements``.

    >>> print(jnp.isin(jnp.arange(4), jnp.array([1, 3])))
    [False  True False  True]
    """
    check_arraylike("isin", element, test_elements)
    return _isin(element, test_elements, invert=bool(invert))


@library_function(static_argnames="invert")
def _isin(element: Any, test_elements: Any, *, invert: bool) -> Any:
    x, tests = promote_dtypes(element, test_elements)
    shape, count = typeof(x).shape, typeof(tests).size
    wide = (*shape, count)
    x = lax.broadcast_in_dim(x, wide, range(len(shape)))
    tests = lax.broadcast_in_dim(lax.reshape(tests, (count,)), wide, (len(shape),))
    found = _reductions.any(lax.eq(x, tests), -1)
    return lax.bitwise_not(found) if invert else found

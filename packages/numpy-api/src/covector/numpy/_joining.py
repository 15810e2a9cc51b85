"""Functions that put arrays together, take them apart, repeat them, and pad them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from operator import index
from typing import Any

import numpy as np
from covector import lax
from covector._api.jit import library_function
from covector._trace.trace import typeof
from covector.errors import ShapeError
from covector.numpy import _manipulation
from covector.numpy._creation import asarray
from covector.numpy._operands import (
    Array,
    ArrayLike,
    DTypeLike,
    canonical_axis,
    check_arraylike,
    check_no_out,
    concrete,
    promote_dtypes,
    requested_dtype,
)

# --- together ------------------------------------------------------------------------------------


def concatenate(arrays: Any, axis: int | None = 0, dtype: DTypeLike = None) -> Array:
    """Arrays joined along an axis that they have.

    Args:
      arrays: a sequence of arrays, or one array, whose first axis is taken apart.
      axis: None joins the flattened arrays.

    Raises:
      ValueError: there is no array, or one has no axes.
      ShapeError: the other axes differ.

    >>> print(jnp.concatenate([jnp.arange(2), jnp.arange(3)]))
    [0 1 0 1 2]
    """
    return _concatenate("concatenate", arrays, axis, dtype)


def concat(arrays: Any, /, *, axis: int | None = 0) -> Array:
    """Arrays joined along an axis. See `concatenate`.

    >>> print(jnp.concat([jnp.arange(2), jnp.arange(3)]))
    [0 1 0 1 2]
    """
    return _concatenate("concat", arrays, axis, None)


def _concatenate(name: str, arrays: Any, axis: int | None, dtype: Any) -> Any:
    arrays = _sequence(name, arrays)
    return _join(
        arrays, axis=None if axis is None else index(axis), dtype=requested_dtype(dtype, name)
    )


def _sequence(name: str, arrays: Any) -> list[Any]:
    """The arrays of a sequence argument, or of an array's first axis."""
    if hasattr(arrays, "aval") or isinstance(arrays, np.ndarray):
        from covector.lax import unstack

        return list(unstack(arrays))
    if not isinstance(arrays, Sequence):
        raise TypeError(f"{name}: expected a sequence of arrays, got {type(arrays)}.")
    if not arrays:
        raise ValueError(f"Need at least one array to {name}.")
    check_arraylike(name, *arrays)
    return list(arrays)


@library_function(static_argnames=("axis", "dtype"))
def _join(arrays: list[Any], *, axis: int | None, dtype: Any) -> Any:
    if any(typeof(x).ndim == 0 for x in arrays) and axis is not None:
        raise ShapeError("Zero-dimensional arrays cannot be concatenated: use jnp.stack.")
    arrays = _of_one_dtype(arrays, dtype)
    if axis is None:
        return lax.concatenate([lax.reshape(x, (typeof(x).size,)) for x in arrays], 0)
    return lax.concatenate(arrays, canonical_axis(axis, typeof(arrays[0]).ndim))


def _of_one_dtype(arrays: Sequence[Any], dtype: Any) -> list[Any]:
    if dtype is None:
        return promote_dtypes(*arrays)
    return [lax.convert_element_type(x, dtype) for x in arrays]


def stack(arrays: Any, axis: int = 0, out: None = None, dtype: DTypeLike = None) -> Array:
    """Arrays of one shape joined along a new axis.

    Raises:
      ValueError: there is no array, or the shapes differ.

    >>> print(jnp.stack([jnp.arange(2), jnp.arange(2)]))
    [[0 1]
     [0 1]]
    """
    check_no_out("stack", out)
    if hasattr(arrays, "aval") and typeof(arrays).ndim and dtype is None and axis == 0:
        return arrays
    return _stack(
        _sequence("stack", arrays), axis=index(axis), dtype=requested_dtype(dtype, "stack")
    )


@library_function(static_argnames=("axis", "dtype"))
def _stack(arrays: list[Any], *, axis: int, dtype: Any) -> Any:
    shapes = [typeof(x).shape for x in arrays]
    if len(set(shapes)) > 1:
        raise ShapeError(
            f"stack: all arrays must have one shape, got {', '.join(map(str, shapes))}."
        )
    return lax.stack(_of_one_dtype(arrays, dtype), canonical_axis(axis, len(shapes[0]) + 1))


def vstack(tup: Any, dtype: DTypeLike = None) -> Array:
    """Arrays joined along the first axis; vectors are rows.

    >>> print(jnp.vstack([jnp.arange(2), jnp.arange(2)]))
    [[0 1]
     [0 1]]
    """
    arrays = [_manipulation.atleast_2d(x) for x in _sequence("vstack", tup)]
    return concatenate(arrays, 0, dtype)


def hstack(tup: Any, dtype: DTypeLike = None) -> Array:
    """Arrays joined along the second axis; vectors along their only one.

    >>> print(jnp.hstack([jnp.arange(2), jnp.arange(2)]))
    [0 1 0 1]
    """
    arrays = [_manipulation.atleast_1d(x) for x in _sequence("hstack", tup)]
    return concatenate(arrays, 0 if typeof(arrays[0]).ndim == 1 else 1, dtype)


def dstack(tup: Any, dtype: DTypeLike = None) -> Array:
    """Arrays joined along the third axis.

    >>> jnp.dstack([jnp.arange(2), jnp.arange(2)]).shape
    (1, 2, 2)
    """
    return concatenate([_manipulation.atleast_3d(x) for x in _sequence("dstack", tup)], 2, dtype)


def column_stack(tup: Any) -> Array:
    """Arrays joined along the second axis; vectors are columns.

    >>> print(jnp.column_stack([jnp.arange(2), jnp.arange(2)]))
    [[0 0]
     [1 1]]
    """
    arrays = [
        x if typeof(x).ndim > 1 else _manipulation.reshape(x, (-1, 1))
        for x in _sequence("column_stack", tup)
    ]
    return concatenate(arrays, 1)


@library_function(operands=("arr", "values"))
def append(arr: ArrayLike, values: ArrayLike, axis: int | None = None) -> Array:
    """``values`` after ``arr``, along an axis, or both flattened.

    >>> print(jnp.append(jnp.arange(3), 9))
    [0 1 2 9]
    """
    check_arraylike("append", arr, values)
    return concatenate([asarray(arr), asarray(values)], axis)


@library_function
def block(arrays: Any) -> Array:
    """An array from nested lists of blocks; the innermost lists run along the last axis.

    >>> print(jnp.block([[jnp.eye(2), jnp.zeros((2, 1))]]))
    [[1. 0. 0.]
     [0. 1. 0.]]
    """
    depth = _depth(arrays)
    rank = max([depth, *_ranks(arrays)])
    return _assembled(arrays, 0, depth, rank)


def _depth(x: Any) -> int:
    if isinstance(x, tuple):
        raise TypeError("block: blocks are nested in lists; tuples are not allowed.")
    if not isinstance(x, list):
        return 0
    if not x:
        raise ValueError("block: lists must not be empty.")
    depths = {_depth(v) for v in x}
    if len(depths) > 1:
        raise ValueError("block: all blocks must be nested equally deep.")
    return 1 + depths.pop()


def _ranks(x: Any) -> list[int]:
    return [r for v in x for r in _ranks(v)] if isinstance(x, list) else [_manipulation.ndim(x)]


def _assembled(x: Any, level: int, depth: int, rank: int) -> Any:
    if not isinstance(x, list):
        x = asarray(x)
        return _manipulation.reshape(x, (1,) * (rank - typeof(x).ndim) + typeof(x).shape)
    parts = [_assembled(v, level + 1, depth, rank) for v in x]
    return concatenate(parts, rank - depth + level)


# --- apart ---------------------------------------------------------------------------------------


def split(ary: ArrayLike, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """Parts of an array along an axis.

    Args:
      indices_or_sections: a number of equal parts, or the sorted positions to cut at.

    Raises:
      ValueError: there are no so many equal parts.

    >>> print(*jnp.split(jnp.arange(4), 2))
    [0 1] [2 3]
    """
    return _split("split", ary, indices_or_sections, axis)


def array_split(ary: ArrayLike, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """Parts of an array along an axis; if not all can be equal, the first ones are larger by one.

    >>> print(*jnp.array_split(jnp.arange(5), 3))
    [0 1] [2 3] [4]
    """
    return _split("array_split", ary, indices_or_sections, axis)


def vsplit(ary: ArrayLike, indices_or_sections: Any) -> list[Array]:
    """Parts along the first axis. See `split`.

    >>> [x.shape for x in jnp.vsplit(jnp.zeros((4, 2)), 2)]
    [(2, 2), (2, 2)]
    """
    return _split("vsplit", ary, indices_or_sections, 0)


def hsplit(ary: ArrayLike, indices_or_sections: Any) -> list[Array]:
    """Parts along the second axis, or the only one. See `split`.

    >>> [x.shape for x in jnp.hsplit(jnp.zeros((4, 2)), 2)]
    [(4, 1), (4, 1)]
    """
    return _split("hsplit", ary, indices_or_sections, 0 if _manipulation.ndim(ary) == 1 else 1)


def dsplit(ary: ArrayLike, indices_or_sections: Any) -> list[Array]:
    """Parts along the third axis. See `split`.

    >>> [x.shape for x in jnp.dsplit(jnp.zeros((1, 1, 4)), 2)]
    [(1, 1, 2), (1, 1, 2)]
    """
    return _split("dsplit", ary, indices_or_sections, 2)


def _split(name: str, ary: Any, indices_or_sections: Any, axis: int) -> list[Any]:
    check_arraylike(name, ary)
    axis = canonical_axis(axis, typeof(ary).ndim)
    n = typeof(ary).shape[axis]
    where = concrete(name, "indices_or_sections", indices_or_sections)
    if where.ndim == 0:
        cuts = _even_cuts(name, n, int(where))
    else:
        cuts = [0, *[int(np.clip(i + n if i < 0 else i, 0, n)) for i in where.tolist()], n]
    sizes = tuple([max(b - a, 0) for a, b in pairwise(cuts)])
    if where.ndim and sum(sizes) != n:
        return _overlapping(ary, cuts, axis)
    return _parts(ary, sizes=sizes, axis=axis)


def _even_cuts(name: str, n: int, sections: int) -> list[int]:
    if sections <= 0:
        raise ValueError(f"{name}: number of sections must be larger than 0, got {sections}.")
    part, rest = divmod(n, sections)
    if rest and name != "array_split":
        raise ValueError(
            f"array split does not result in an equal division: rest is {rest} ({name} of {n} "
            f"elements into {sections}). Use array_split for parts of different sizes."
        )
    return [i * part + min(i, rest) for i in range(sections + 1)]


def _overlapping(ary: Any, cuts: list[int], axis: int) -> list[Any]:
    """Cuts that are not sorted: each part is the slice between two neighbours, maybe empty."""
    before = (slice(None),) * axis
    return [ary[(*before, slice(a, b))] for a, b in pairwise(cuts)]


@library_function(static_argnames=("sizes", "axis"))
def _parts(ary: Any, *, sizes: tuple[int, ...], axis: int) -> list[Any]:
    return list(lax.split(ary, sizes, axis))


@library_function(operands=("x",))
def unstack(x: ArrayLike, /, *, axis: int = 0) -> tuple[Array, ...]:
    """The parts of size one along an axis, without it.

    >>> print(*jnp.unstack(jnp.array([[1, 2], [3, 4]])))
    [1 2] [3 4]
    """
    check_arraylike("unstack", x)
    if typeof(x).ndim == 0:
        raise ValueError("Unstack requires arrays with rank > 0, however a scalar was passed.")
    return tuple(lax.unstack(x, canonical_axis(axis, typeof(x).ndim)))


# --- repeated ------------------------------------------------------------------------------------


def tile(A: ArrayLike, reps: Any) -> Array:
    """Copies of an array side by side, ``reps[i]`` along axis i.

    >>> print(jnp.tile(jnp.array([1, 2]), 2))
    [1 2 1 2]
    """
    check_arraylike("tile", A)
    reps = tuple([index(n) for n in reps]) if np.iterable(reps) else (index(reps),)
    return _tile(A, reps=reps)


@library_function(static_argnames="reps")
def _tile(A: Any, *, reps: tuple[int, ...]) -> Any:
    rank = max(typeof(A).ndim, len(reps))
    A = lax.reshape(A, (1,) * (rank - typeof(A).ndim) + typeof(A).shape)
    return lax.tile(A, (1,) * (rank - len(reps)) + reps)


def repeat(
    a: ArrayLike,
    repeats: ArrayLike,
    axis: int | None = None,
    *,
    total_repeat_length: int | None = None,
    out_sharding: Any = None,
) -> Array:
    """Each element several times in a row.

    Args:
      repeats: how often, the same for all, or one for each.
      axis: None for the flattened array.
      total_repeat_length: the size of the result along the axis, needed where ``repeats`` is
        traced; surplus is cut off, and what lacks repeats the last element.

    >>> print(jnp.repeat(jnp.array([1, 2]), jnp.array([1, 3])))
    [1 2 2 2]
    """
    check_arraylike("repeat", a)
    if axis is None:
        a, axis = _manipulation.ravel(a), 0
    elif typeof(a).ndim == 0:
        a = _manipulation.reshape(a, (1,))
    axis = canonical_axis(axis, typeof(a).ndim)
    n = typeof(a).shape[axis]
    if total_repeat_length is not None:
        return _repeat_to(a, asarray(repeats), axis=axis, total=index(total_repeat_length))
    counts = concrete("repeat", "repeats (without total_repeat_length)", repeats)
    if counts.size == 1 and counts.ndim <= 1:
        return _repeat_all(a, count=int(counts.reshape(())), axis=axis)
    if counts.shape != (n,):
        raise ShapeError(
            f"repeat: repeats must be a scalar, or have one element for each of the {n} along "
            f"axis {axis}, got shape {counts.shape}."
        )
    from covector.numpy._taking import take

    return take(a, np.repeat(np.arange(n, dtype=np.int32), counts), axis=axis)


@library_function(static_argnames=("count", "axis"))
def _repeat_all(a: Any, *, count: int, axis: int) -> Any:
    shape = typeof(a).shape
    wide = (*shape[: axis + 1], count, *shape[axis + 1 :])
    others = [i for i in range(len(wide)) if i != axis + 1]
    out = lax.broadcast_in_dim(a, wide, others)
    return lax.reshape(out, (*shape[:axis], shape[axis] * count, *shape[axis + 1 :]))


@library_function(static_argnames=("axis", "total"))
def _repeat_to(a: Any, repeats: Any, *, axis: int, total: int) -> Any:
    """Each place of the result finds how many elements have ended before it."""
    from covector.numpy._taking import take

    n = typeof(a).shape[axis]
    if typeof(repeats).size == 1:
        repeats = lax.broadcast_in_dim(lax.reshape(repeats, ()), (n,), ())
    ends = lax.cumsum(repeats, 0)
    place = lax.iota(typeof(ends).dtype, total)
    shape = (total, n)
    ended = lax.le(
        lax.broadcast_in_dim(ends, shape, (1,)), lax.broadcast_in_dim(place, shape, (0,))
    )
    positions = lax.reduce_sum(lax.convert_element_type(ended, np.dtype("int32")), (1,))
    positions = lax.min(positions, np.int32(n - 1))
    return take(a, positions, axis=axis, mode="clip")


# --- padded --------------------------------------------------------------------------------------


def pad(array: ArrayLike, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Array:
    """An array with elements added at the ends of its axes.

    Args:
      pad_width: a number, a pair (before, after), or a pair for each axis.
      mode: what to add: "constant" (with ``constant_values``, by default 0), "edge", "reflect",
        "symmetric", "wrap", "empty".

    Raises:
      ValueError: a width is negative.

    >>> print(jnp.pad(jnp.array([1, 2]), (1, 2), constant_values=9))
    [9 1 2 9 9]
    """
    check_arraylike("pad", array)
    rank = typeof(array).ndim
    if type(pad_width) is int:
        widths = ((pad_width, pad_width),) * rank
    else:
        widths = _pairs("pad", "pad_width", concrete("pad", "pad_width", pad_width), rank)
    if any(n < 0 for pair in widths for n in pair):
        raise ValueError(f"pad: index can't contain negative values, got pad_width={pad_width}.")
    if mode == "constant":
        values = kwargs.pop("constant_values", 0)
        _check_no_more(mode, kwargs)
        if not isinstance(values, (int, float, complex)):
            values = asarray(values)
        return _pad_constant(array, values, widths=widths)
    if mode == "empty":
        _check_no_more(mode, kwargs)
        return _pad_constant(array, 0, widths=widths)
    if mode in _PLACES:
        if mode in ("reflect", "symmetric") and kwargs.pop("reflect_type", "even") != "even":
            raise NotImplementedError(f"pad: mode {mode!r} is offered with reflect_type='even'.")
        _check_no_more(mode, kwargs)
        return _pad_by_place(array, widths, mode)
    raise NotImplementedError(
        f"pad: mode must be one of 'constant', 'empty', {', '.join(map(repr, _PLACES))}, got "
        f"{mode!r}."
    )


def _check_no_more(mode: str, kwargs: dict[str, Any]) -> None:
    if kwargs:
        raise ValueError(f"pad: mode {mode!r} does not take the arguments {sorted(kwargs)}.")


def _pairs(name: str, argument: str, given: np.ndarray, rank: int) -> tuple[tuple[int, int], ...]:
    if given.dtype.kind not in "iu":
        raise TypeError(f"{name}: {argument} must be integers, got {given.tolist()}.")
    try:
        pairs = np.broadcast_to(given, (rank, 2))
    except ValueError:
        raise ValueError(
            f"{name}: {argument} must be a number, a pair, or a pair for each of the {rank} axes, "
            f"got {given.tolist()}."
        ) from None
    return tuple([(int(a), int(b)) for a, b in pairs])


@library_function(static_argnames="widths")
def _pad_constant(array: Any, values: Any, *, widths: tuple[tuple[int, int], ...]) -> Any:
    """Axis by axis, so that of two values the one of the later axis has the corners."""
    dtype, rank = typeof(array).dtype, typeof(array).ndim
    values = lax.convert_element_type(values, dtype)
    if typeof(values).ndim == 0:
        return lax.pad(array, values, [(a, b, 0) for a, b in widths])
    values = _manipulation.broadcast_to(values, (rank, 2))
    for axis, pair in enumerate(widths):
        for side, width in enumerate(pair):
            config = [(0, 0, 0)] * rank
            config[axis] = (width, 0, 0) if side == 0 else (0, width, 0)
            array = lax.pad(array, values[axis, side], config)
    return array


# mode: for axis size n, the place in the array that stands at places -before ... n + after
_PLACES = {
    "edge": lambda places, n: np.clip(places, 0, n - 1),
    "wrap": lambda places, n: places % n,
    "symmetric": lambda places, n: _mirrored(places, 2 * n, 1),
    "reflect": lambda places, n: _mirrored(places, max(2 * n - 2, 1), 0),
}


def _mirrored(places: np.ndarray, period: int, shift: int) -> np.ndarray:
    phase = places % period
    return np.minimum(phase, period - phase - shift)


def _pad_by_place(array: Any, widths: tuple[tuple[int, int], ...], mode: str) -> Any:
    from covector.numpy._taking import take

    for axis, (before, after) in enumerate(widths):
        n = typeof(array).shape[axis]
        if before or after:
            if n == 0:
                raise ValueError(f"pad: axis {axis} is empty, so mode {mode!r} has nothing to add.")
            places = _PLACES[mode](np.arange(-before, n + after), n)
            array = take(array, places.astype(np.int32), axis=axis)
    return asarray(array)

"""Elements at positions along an axis: `take`, `take_along_axis`, `choose`, and putting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from covector import lax
from covector._api.jit import library_function
from covector._ir import dtypes
from covector._trace.trace import typeof
from covector.errors import ShapeError
from covector.numpy._creation import asarray
from covector.numpy._index_parsing import check_known
from covector.numpy._indexing import stacked_positions
from covector.numpy._operands import (
    Array,
    ArrayLike,
    broadcast_to_shape,
    canonical_axis,
    check_arraylike,
    check_no_out,
    check_not_in_place,
    common_shape,
    promote_dtypes,
    scalar,
)


def take(
    a: ArrayLike,
    indices: ArrayLike,
    axis: int | None = None,
    out: None = None,
    mode: str | None = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: ArrayLike | None = None,
) -> Array:
    """The parts of ``a`` at positions along an axis, or elements of the flattened array.

    Args:
      indices: integers; negative ones count from the back.
      mode: for positions out of bounds: "fill" (the default: `fill_value`, by default NaN), "clip"
        (the nearest position), "wrap" (counted on from the front).

    Raises:
      IndexError: without a mode, a position that is known is out of bounds.

    >>> print(jnp.take(jnp.array([10, 20, 30]), jnp.array([2, 0])))
    [30 10]
    """
    if mode is None and isinstance(indices, (int, np.ndarray, np.generic)):
        _check_positions(a, indices, axis)
    if out is not None:
        check_no_out("take", out)
    # One static argument: each costs time at every call.
    return _take(a, indices, axis, (mode, fill_value, unique_indices, indices_are_sorted))


def _check_positions(a: Any, indices: Any, axis: int | None) -> None:
    """Positions are known outside of the program alone. What is no array, `_take` tells."""
    try:
        n = a.size if axis is None else a.shape[axis]
    except (AttributeError, IndexError, TypeError):
        return
    if n:
        check_known(indices, n, axis or 0)


@library_function
def _flat(a: Any) -> Any:
    return lax.reshape(a, (typeof(a).size,))


@library_function(operands=("a", "indices"))
def _take(a: Any, indices: Any, axis: int | None, options: tuple[Any, ...]) -> Any:
    mode, fill_value, unique_indices, indices_are_sorted = options
    check_arraylike("take", a, indices)
    if not dtypes.is_integer(typeof(indices).dtype):
        raise ValueError(f"take: indices must have an integer type, got {typeof(indices).dtype}.")
    if mode == "raise":
        raise NotImplementedError(
            "The 'raise' mode to jnp.take is not supported: values are not known when a program is "
            "made. Use 'fill', 'wrap' or 'clip'."
        )
    a, axis = (_flat(a), 0) if axis is None else (a, axis)
    axis = canonical_axis(axis, typeof(a).ndim)
    shape, batch = typeof(a).shape, typeof(indices).ndim
    if shape[axis] == 0 and typeof(indices).size:
        raise IndexError(f"cannot do a non-empty take from an empty axis ({axis})")
    if 0 in shape:  # no slice of size one fits, and there is nothing to take
        taken = (*shape[:axis], *typeof(indices).shape, *shape[axis + 1 :])
        return lax.full(taken, 0, typeof(a).dtype)
    if mode == "wrap":
        indices = wrap_around(indices, shape[axis])
        mode = "promise_in_bounds"
    positions = stacked_positions([indices], [shape[axis]], True)
    numbers = lax.GatherDimensionNumbers(
        offset_dims=tuple(
            [i for i in range(len(shape) - 1 + batch) if not axis <= i < axis + batch]
        ),
        collapsed_slice_dims=(axis,),
        start_index_map=(axis,),
    )
    sizes = [1 if i == axis else n for i, n in enumerate(shape)]
    return lax.gather(
        a,
        positions,
        numbers,
        sizes,
        mode=mode or "fill",
        fill_value=fill_value,
        unique_indices=unique_indices,
        indices_are_sorted=indices_are_sorted,
    )


def wrap_around(positions: Any, n: int) -> Any:
    """Positions counted around an axis of ``n`` as often as needed."""
    from covector.numpy._arithmetic import remainder

    dtype = dtypes.canonicalize_dtype("int64")
    return remainder(lax.convert_element_type(positions, dtype), scalar(n, dtype))


@library_function(operands=("arr", "indices"))
def take_along_axis(
    arr: ArrayLike,
    indices: ArrayLike,
    axis: int | None = -1,
    mode: Any = None,
    fill_value: ArrayLike | None = None,
    *,
    wrap_negative_indices: bool = True,
) -> Array:
    """For each vector along an axis, its elements at positions of its own.

    What `argsort` and ``argmax(keepdims=True)`` give are such positions.

    Args:
      indices: integers, as many axes as ``arr``; the other axes broadcast.
      axis: None for the flattened array and a vector of positions.
      mode: see `take`.

    >>> x = jnp.array([[3, 1, 2], [5, 6, 4]])
    >>> print(jnp.take_along_axis(x, jnp.argmax(x, axis=1, keepdims=True), axis=1))
    [[3]
     [6]]
    """
    check_arraylike("take_along_axis", arr, indices)
    if not dtypes.is_integer(typeof(indices).dtype):
        raise TypeError(
            f"take_along_axis: indices must be of integer type, got {typeof(indices).dtype}."
        )
    if axis is None:
        if typeof(indices).ndim != 1:
            raise ValueError(
                "take_along_axis: with axis=None, indices must be a vector, got shape "
                f"{typeof(indices).shape}."
            )
        arr, axis = _flat(arr), 0
    if typeof(arr).ndim != typeof(indices).ndim:
        raise ShapeError(
            "take_along_axis: indices and arr must have the same number of dimensions; "
            f"{typeof(indices).ndim} vs. {typeof(arr).ndim}"
        )
    axis = canonical_axis(axis, typeof(arr).ndim)
    return _take_along_axis(
        arr,
        indices,
        axis=axis,
        mode=mode or "fill",
        fill_value=fill_value,
        wrap=wrap_negative_indices,
    )


def _take_along_axis(
    arr: Any, indices: Any, *, axis: int, mode: Any, fill_value: Any, wrap: bool
) -> Any:
    """A gather with the other axes as batch axes; those that broadcast are reduced first."""
    shape, places = typeof(arr).shape, typeof(indices).shape
    rank = len(shape)
    others = [i for i in range(rank) if i != axis]
    common = list(places)
    for i in others:
        common[i] = common_shape("take_along_axis", (shape[i],), (places[i],))[0]
    if 0 in common:
        return lax.full(tuple(common), 0, typeof(arr).dtype)
    if mode == "wrap":
        indices, mode = wrap_around(indices, shape[axis]), "promise_in_bounds"
    indices = broadcast_to_shape(indices, tuple(common))
    arr = broadcast_to_shape(
        arr, tuple([shape[i] if i == axis else common[i] for i in range(rank)])
    )
    positions = stacked_positions([indices], [shape[axis]], wrap)
    numbers = lax.GatherDimensionNumbers(
        offset_dims=(),
        collapsed_slice_dims=(axis,),
        start_index_map=(axis,),
        operand_batching_dims=tuple(others),
        start_indices_batching_dims=tuple(others),
    )
    return lax.gather(arr, positions, numbers, (1,) * rank, mode=mode, fill_value=fill_value)


def put_along_axis(
    arr: ArrayLike,
    indices: ArrayLike,
    values: ArrayLike,
    axis: int | None,
    inplace: bool = True,
    *,
    mode: Any = None,
) -> Array:
    """``arr`` with elements replaced at positions along an axis; pass ``inplace=False``.

    >>> x = jnp.zeros((2, 2))
    >>> print(jnp.put_along_axis(x, jnp.array([[0], [1]]), 5.0, axis=1, inplace=False))
    [[5. 0.]
     [0. 5.]]
    """
    check_not_in_place("put_along_axis", inplace)
    check_arraylike("put_along_axis", arr, indices, values)
    x = asarray(arr)
    if axis is None:
        flat = asarray(indices).ravel()
        return x.ravel().at[flat].set(asarray(values).ravel(), mode=mode).reshape(typeof(x).shape)
    axis = canonical_axis(axis, typeof(x).ndim)
    shape = typeof(indices).shape
    grid: list[Any] = list(np.ogrid[tuple([slice(n) for n in shape])])
    grid = [
        np.arange(typeof(x).shape[i], dtype=np.int32).reshape(
            [-1 if j == i else 1 for j in range(len(shape))]
        )
        if i != axis
        else g
        for i, g in enumerate(grid)
    ]
    grid[axis] = asarray(indices)
    return x.at[tuple(grid)].set(values, mode=mode)


def put(
    a: ArrayLike, ind: ArrayLike, v: ArrayLike, mode: str | None = None, *, inplace: bool = True
) -> Array:
    """``a`` with elements replaced at positions in the flattened array; pass ``inplace=False``.

    Args:
      v: values; if they are fewer than the positions, they repeat.
      mode: "clip" (or None) or "wrap", for positions out of bounds.

    >>> print(jnp.put(jnp.zeros(3), jnp.array([0, 2]), 5.0, inplace=False))
    [5. 0. 5.]
    """
    check_not_in_place("put", inplace)
    check_arraylike("put", a, ind, v)
    x, places, values = asarray(a), asarray(ind).ravel(), asarray(v).ravel()
    count = typeof(places).shape[0]
    if typeof(x).size == 0 or count == 0 or typeof(values).size == 0:
        return x
    from covector.numpy._joining import tile

    have = typeof(values).shape[0]
    values = tile(values, -(-count // have))[:count]
    if mode == "wrap":
        places = wrap_around(places, typeof(x).size)
    elif mode not in (None, "clip"):
        raise NotImplementedError(f"put: mode must be 'clip' or 'wrap', got {mode!r}.")
    flat = x.ravel().at[places].set(values, mode="clip" if mode == "clip" else None)
    return flat.reshape(typeof(x).shape)


def choose(a: ArrayLike, choices: Sequence[Any], out: None = None, mode: str = "raise") -> Array:
    """From each of several arrays, the elements whose number ``a`` says.

    Args:
      mode: "clip" or "wrap" for numbers out of range; "raise" only where ``a`` is known.

    >>> print(jnp.choose(jnp.array([0, 1, 0]), [jnp.arange(3), 10 + jnp.arange(3)]))
    [ 0 11  2]
    """
    check_no_out("choose", out)
    check_arraylike("choose", a, *choices)
    if not dtypes.is_integer(typeof(a).dtype):
        raise ValueError("`a` array must be integer typed")
    count = len(choices)
    if mode == "raise":
        from covector.numpy._operands import concrete

        known = concrete("choose (in mode 'raise')", "a", a)
        if ((known < 0) | (known >= count)).any():
            raise ValueError(f"choose: a must be between 0 and {count - 1}, the last choice.")
        mode = "clip"
    if mode not in ("clip", "wrap"):
        raise ValueError(f"choose: mode must be 'raise', 'clip' or 'wrap', got {mode!r}.")
    return _choose(a, list(choices), mode=mode)


@library_function(static_argnames="mode")
def _choose(a: Any, choices: list[Any], *, mode: str) -> Any:
    count = len(choices)
    dtype = dtypes.canonicalize_dtype("int64")
    number = lax.convert_element_type(a, dtype)
    if mode == "wrap":
        number = wrap_around(number, count)
    else:
        number = lax.clamp(scalar(0, dtype), number, scalar(count - 1, dtype))
    shape = common_shape("choose", typeof(a).shape, *[typeof(c).shape for c in choices])
    cases = [broadcast_to_shape(c, shape) for c in promote_dtypes(*choices)]
    if count == 1:
        return cases[0]
    number = lax.convert_element_type(broadcast_to_shape(number, shape), np.dtype("int32"))
    return lax.select_n(number, *cases)

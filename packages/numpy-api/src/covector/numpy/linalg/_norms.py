"""Norms of vectors and matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from covector import lax
from covector._api.jit import library_function
from covector._ir import dtypes
from covector._trace.trace import typeof
from covector.numpy import _reductions
from covector.numpy._operands import (
    Array,
    ArrayLike,
    Axes,
    canonical_axes,
    check_arraylike,
    hashable_axes,
    promote_dtypes_inexact,
    scalar,
    zero,
)


@library_function(operands=("x",))
def norm(x: ArrayLike, ord: Any = None, axis: Axes = None, keepdims: bool = False) -> Array:
    """The norm of vectors or matrices.

    Args:
      ord: of vectors: 2 (the default), 1, any other number, infinity, 0 (how many are not zero);
        of matrices: "fro" (the default), 1 or infinity (the largest sum of a column or row), 2 or
        "nuc" (the largest singular value, or their sum); negative numbers for the smallest.
      axis: one axis for vectors, two for matrices; None for all of the array.
      keepdims: leave the axes with size one.

    >>> print(jnp.linalg.norm(jnp.array([3.0, 4.0])))
    5.0
    """
    check_arraylike("norm", x)
    ord = _static_order(ord)
    (x,) = promote_dtypes_inexact(x)
    shape = typeof(x).shape
    if axis is None and ord is None:
        out = _euclidean(x, tuple(range(len(shape))))
        return lax.reshape(out, (1,) * len(shape)) if keepdims else out
    axes = canonical_axes(axis, len(shape))
    if len(axes) == 1:
        out = _vector_norm(x, ord, axes)
    elif len(axes) == 2:
        out = _matrix_norm(x, ord, axes)
    else:
        raise ValueError(f"norm: axis must name one or two axes, got {axis} for shape {shape}.")
    return _reductions.keep_axes(out, shape, axes) if keepdims else out


def _static_order(ord: Any) -> Any:
    return ord if ord is None or isinstance(ord, str) else float(ord)


def _euclidean(x: Any, axes: tuple[int, ...]) -> Any:
    """The root of the sum of squares."""
    if dtypes.is_complex(typeof(x).dtype):
        squares = lax.add(lax.square(lax.real(x)), lax.square(lax.imag(x)))
    else:
        squares = lax.square(x)
    return lax.sqrt(_reductions.sum(squares, axes))


def _vector_norm(x: Any, ord: Any, axes: tuple[int, ...]) -> Any:
    if ord is None or ord == 2:
        return _euclidean(x, axes)
    if isinstance(ord, str):
        raise ValueError(f"norm: of a vector, ord must be a number, got {ord!r}.")
    size = lax.abs(x)
    dtype = typeof(size).dtype
    if ord == np.inf:
        return _reductions.max(size, axes, initial=0)
    if ord == -np.inf:
        return _reductions.min(size, axes)
    if ord == 0:
        return _reductions.sum(
            lax.convert_element_type(lax.ne(x, zero(typeof(x).dtype)), dtype), axes
        )
    if ord == 1:
        return _reductions.sum(size, axes)
    total = _reductions.sum(lax.pow(size, scalar(ord, dtype)), axes)
    return lax.pow(total, scalar(1 / ord, dtype))


def _matrix_norm(x: Any, ord: Any, axes: tuple[int, ...]) -> Any:
    rows, columns = axes
    if ord is None or ord in ("f", "fro"):
        return _euclidean(x, axes)
    if ord in (1, -1):
        rows, columns = columns, rows
    if ord in (1, -1, np.inf, -np.inf):
        sums = _reductions.sum(lax.abs(x), columns)
        reduce = _reductions.max if ord > 0 else _reductions.min
        return reduce(sums, rows - (rows > columns))
    if ord in (2, -2, "nuc"):
        others = [i for i in range(typeof(x).ndim) if i not in axes]
        values = lax.linalg.svd(lax.transpose(x, [*others, rows, columns]), compute_uv=False)
        reduce = {2: _reductions.max, -2: _reductions.min, "nuc": _reductions.sum}[ord]
        return reduce(values, -1)
    raise ValueError(f"norm: {ord!r} is no order of a matrix norm.")


def vector_norm(
    x: ArrayLike, /, *, axis: Axes = None, keepdims: bool = False, ord: Any = 2
) -> Array:
    """The norm of vectors along axes, by default of all elements. ``ord``: see `norm`.

    >>> print(jnp.linalg.vector_norm(jnp.array([[3.0, 4.0]])))
    5.0
    """
    axis = hashable_axes(axis)
    return _vector_norm_jitted(x, ord=_static_order(ord), axis=axis, keepdims=bool(keepdims))


@library_function(static_argnames=("ord", "axis", "keepdims"))
def _vector_norm_jitted(x: Any, *, ord: Any, axis: Any, keepdims: bool) -> Any:
    check_arraylike("vector_norm", x)
    (x,) = promote_dtypes_inexact(x)
    axes = canonical_axes(axis, typeof(x).ndim)
    out = _vector_norm(x, ord, axes)
    return _reductions.keep_axes(out, typeof(x).shape, axes) if keepdims else out


def matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:
    """The norm of the matrices in the last two axes. ``ord``: see `norm`.

    >>> print(jnp.linalg.matrix_norm(jnp.array([[3.0, 4.0]])))
    5.0
    """
    return norm(x, ord, (-2, -1), keepdims)

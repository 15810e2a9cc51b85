"""Linear algebra: `covector.numpy.linalg`. Decompositions come with a later version.

import covector.numpy as jnp

jnp.linalg.norm(jnp.ones(4))
"""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np
from covector import lax
from covector._api.jit import library_function
from covector._ir import dtypes
from covector._trace.trace import typeof
from covector.numpy import _manipulation, _matrices, _products, _reductions
from covector.numpy._operands import (
    Array,
    ArrayLike,
    Axes,
    DTypeLike,
    canonical_axes,
    check_arraylike,
    hashable_axes,
    promote_dtypes_inexact,
    scalar,
    zero,
)

__all__ = [
    "cross",
    "diagonal",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_transpose",
    "norm",
    "outer",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]

# --- norms ---------------------------------------------------------------------------------------


def norm(x: ArrayLike, ord: Any = None, axis: Axes = None, keepdims: bool = False) -> Array:
    """The norm of vectors or matrices.

    Args:
      ord: of vectors: 2 (the default), 1, any other number, infinity, 0 (how many are not zero);
        of matrices: "fro" (the default), 1 or infinity (the largest sum of a column or row).
      axis: one axis for vectors, two for matrices; None for all of the array.
      keepdims: leave the axes with size one.

    >>> print(jnp.linalg.norm(jnp.array([3.0, 4.0])))
    5.0
    """
    return _norm(x, ord=_static_order(ord), axis=hashable_axes(axis), keepdims=bool(keepdims))


def _static_order(ord: Any) -> Any:
    return ord if ord is None or isinstance(ord, str) else float(ord)


@library_function(static_argnames=("ord", "axis", "keepdims"))
def _norm(x: Any, *, ord: Any, axis: Any, keepdims: bool) -> Any:
    check_arraylike("norm", x)
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
        raise NotImplementedError(
            f"norm: the matrix norm ord={ord!r} needs singular values, which are not offered yet."
        )
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


# --- products ------------------------------------------------------------------------------------


def matrix_power(a: ArrayLike, n: int) -> Array:
    """A square matrix multiplied with itself, by repeated squaring.

    >>> print(jnp.linalg.matrix_power(jnp.array([[1, 1], [0, 1]]), 5))
    [[1 5]
     [0 1]]
    """
    check_arraylike("matrix_power", a)
    shape = typeof(a).shape
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise TypeError(f"matrix_power: a must be square matrices, got shape {shape}.")
    n = index(n)
    if n < 0:
        raise NotImplementedError(
            "matrix_power: a negative power needs an inverse, not offered yet."
        )
    if n == 0:
        return _manipulation.broadcast_to(_matrices.eye(shape[-1], dtype=typeof(a).dtype), shape)
    result = None
    while True:
        if n % 2:
            result = a if result is None else _products.matmul(result, a)
        n //= 2
        if not n:
            return result
        a = _products.matmul(a, a)


def matmul(
    x1: ArrayLike, x2: ArrayLike, /, *, precision: Any = None, preferred_element_type: Any = None
) -> Array:
    """The matrix product. See `covector.numpy.matmul`.

    >>> print(jnp.linalg.matmul(jnp.eye(2), jnp.array([1.0, 2.0])))
    [1. 2.]
    """
    return _products.matmul(
        x1, x2, precision=precision, preferred_element_type=preferred_element_type
    )


def outer(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """All products of elements of two vectors.

    >>> print(jnp.linalg.outer(jnp.array([1, 2]), jnp.array([3, 4])))
    [[3 4]
     [6 8]]
    """
    for x in (x1, x2):
        check_arraylike("outer", x)
        if typeof(x).ndim != 1:
            raise ValueError(f"outer: the operands must be vectors, got shape {typeof(x).shape}.")
    return _products.outer(x1, x2)


def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Array:
    """The cross product of vectors of three elements.

    >>> print(jnp.linalg.cross(jnp.array([1, 0, 0]), jnp.array([0, 1, 0])))
    [0 0 1]
    """
    return _products.cross(x1, x2, axis=axis)


def tensordot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    axes: Any = 2,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Array:
    """The product summed over several axes. See `covector.numpy.tensordot`.

    >>> print(jnp.linalg.tensordot(jnp.ones((2, 3)), jnp.ones((3, 2)), axes=1).shape)
    (2, 2)
    """
    return _products.tensordot(
        x1, x2, axes, precision=precision, preferred_element_type=preferred_element_type
    )


def vecdot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    axis: int = -1,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:
    """The product of vectors along one axis, summed. See `covector.numpy.vecdot`.

    >>> print(jnp.linalg.vecdot(jnp.ones(3), jnp.ones(3)))
    3.0
    """
    return _products.vecdot(
        x1, x2, axis=axis, precision=precision, preferred_element_type=preferred_element_type
    )


# --- parts of matrices ---------------------------------------------------------------------------


def matrix_transpose(x: ArrayLike, /) -> Array:
    """``x`` with its last two axes exchanged.

    >>> print(jnp.linalg.matrix_transpose(jnp.zeros((2, 3))).shape)
    (3, 2)
    """
    return _manipulation.matrix_transpose(x)


def diagonal(x: ArrayLike, /, *, offset: int = 0) -> Array:
    """The diagonals of the matrices in the last two axes.

    >>> print(jnp.linalg.diagonal(jnp.eye(2)))
    [1. 1.]
    """
    return _matrices.diagonal(x, offset, -2, -1)


def trace(x: ArrayLike, /, *, offset: int = 0, dtype: DTypeLike = None) -> Array:
    """The sums of the diagonals of the matrices in the last two axes.

    >>> print(jnp.linalg.trace(jnp.eye(2)))
    2.0
    """
    return _matrices.trace(x, offset, -2, -1, dtype=dtype)

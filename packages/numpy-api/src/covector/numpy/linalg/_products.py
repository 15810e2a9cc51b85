"""Products and parts of matrices: the names of the array API standard for functions of NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from operator import index
from typing import Any

from covector._api.jit import library_function
from covector._trace.trace import typeof
from covector.errors import ShapeError
from covector.numpy import _manipulation, _matrices, _products
from covector.numpy._creation import asarray
from covector.numpy._operands import Array, ArrayLike, DTypeLike, check_arraylike
from covector.numpy.linalg._solving import inv

# --- products ----------------------------------------------------------------------------------


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


@library_function(operands=("a",))
def matrix_power(a: ArrayLike, n: int) -> Array:
    """A square matrix multiplied with itself, by repeated squaring; its inverse for negative n.

    >>> print(jnp.linalg.matrix_power(jnp.array([[1, 1], [0, 1]]), 5))
    [[1 5]
     [0 1]]
    """
    check_arraylike("matrix_power", a)
    shape = typeof(a).shape
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise TypeError(f"matrix_power: a must be square matrices, got shape {shape}.")
    n, factor = index(n), asarray(a)
    if n < 0:
        factor, n = inv(factor), -n
    if n == 0:
        return _manipulation.broadcast_to(_matrices.eye(shape[-1], dtype=typeof(a).dtype), shape)
    while n % 2 == 0:
        factor, n = _products.matmul(factor, factor), n // 2
    result = factor
    while n > 1:
        factor, n = _products.matmul(factor, factor), n // 2
        if n % 2:
            result = _products.matmul(result, factor)
    return result


def multi_dot(arrays: Sequence[ArrayLike], *, precision: Any = None) -> Array:
    """The product of several matrices in the order that takes the fewest multiplications.

    The first and the last may be vectors. The order is found by dynamic programming (Cormen et al.,
    Introduction to Algorithms, 15.2).

    >>> print(jnp.linalg.multi_dot([jnp.ones((2, 9)), jnp.ones((9, 3)), jnp.ones(3)]))
    [27. 27.]
    """
    arrays = list(arrays)
    check_arraylike("multi_dot", *arrays)
    ranks = [typeof(x).ndim for x in arrays]
    if len(arrays) < 2:
        raise ValueError(f"multi_dot requires at least two arrays; got len(arrays)={len(arrays)}")
    if ranks[0] not in (1, 2) or ranks[-1] not in (1, 2) or any(r != 2 for r in ranks[1:-1]):
        raise ValueError(
            "multi_dot: operands must be matrices, the first and the last may be vectors; got "
            f"numbers of axes {ranks}."
        )
    shapes = [typeof(x).shape for x in arrays]
    if any(a[-1] != b[0] for a, b in pairwise(shapes)):
        raise ShapeError(f"multi_dot: neighbours' inner axes must agree, got shapes {shapes}.")
    sizes = (shapes[0][0] if ranks[0] == 2 else 1, *[s[0] for s in shapes[1:]])
    sizes = (*sizes, shapes[-1][1] if ranks[-1] == 2 else 1)

    def product(i: int, j: int) -> Any:
        if i == j:
            return arrays[i]
        k = _best_cut(sizes, i, j)[1]
        return _products.dot(product(i, k), product(k + 1, j), precision=precision)

    return product(0, len(arrays) - 1)


@lru_cache(4096)
def _best_cut(sizes: tuple[int, ...], i: int, j: int) -> tuple[int, int]:
    """The cost of the product of matrices i to j, and where to cut it in two."""
    if i == j:
        return 0, i
    return min(
        (
            _best_cut(sizes, i, k)[0]
            + _best_cut(sizes, k + 1, j)[0]
            + sizes[i] * sizes[k + 1] * sizes[j + 1],
            k,
        )
        for k in range(i, j)
    )


# --- parts of matrices -------------------------------------------------------------------------


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

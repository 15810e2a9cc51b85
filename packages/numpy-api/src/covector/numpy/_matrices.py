"""Diagonals and triangles of matrices, grids, and their indices."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np
from covector import lax
from covector._api.jit import library_function
from covector._ir import dtypes
from covector._trace.trace import Tracer, staging_state, typeof
from covector.errors import ShapeError
from covector.numpy import _reductions
from covector.numpy._creation import asarray, from_host
from covector.numpy._operands import (
    Array,
    ArrayLike,
    ArrayOrSeveral,
    DTypeLike,
    broadcast_to_shape,
    canonical_axes,
    check_arraylike,
    check_no_out,
    promote_dtypes,
    requested_dtype,
    zero,
)

_HOST_SIZE = 2**16

# --- made of indices -----------------------------------------------------------------------------


def eye(
    N: int, M: int | None = None, k: Any = 0, dtype: DTypeLike = None, *, device: Any = None
) -> Array:
    """A matrix with ones on a diagonal and zeros elsewhere.

    Args:
      N, M: its numbers of rows and columns (by default as many).
      k: which diagonal: 0 the main one, positive above it, negative below.

    >>> print(jnp.eye(2, 3, 1))
    [[0. 1. 0.]
     [0. 0. 1.]]
    """
    return _by_offset("eye", lax_compare="eq", N=N, M=M, k=k, dtype=dtype, device=device)


def identity(n: int, dtype: DTypeLike = None) -> Array:
    """The square matrix with ones on the main diagonal.

    >>> print(jnp.identity(2))
    [[1. 0.]
     [0. 1.]]
    """
    return eye(n, dtype=dtype)


def tri(N: int, M: int | None = None, k: Any = 0, dtype: DTypeLike = None) -> Array:
    """A matrix with ones on a diagonal and below it. Arguments: see `eye`.

    >>> print(jnp.tri(2, 3))
    [[1. 0. 0.]
     [1. 1. 0.]]
    """
    return _by_offset("tri", lax_compare="ge", N=N, M=M, k=k, dtype=dtype, device=None)


def _by_offset(
    name: str, *, lax_compare: str, N: Any, M: Any, k: Any, dtype: Any, device: Any
) -> Any:
    """Ones where the row number plus ``k`` compares with the column number."""
    from covector._api.device import device_put

    rows = index(N)
    columns = rows if M is None else index(M)
    if rows < 0 or columns < 0:
        raise ShapeError(f"{name}: N and M must be nonnegative, got {rows} and {columns}.")
    dtype = requested_dtype(float if dtype is None else dtype, name)
    if (
        isinstance(k, (int, np.integer))
        and not staging_state.value
        and rows * columns <= _HOST_SIZE
    ):
        compare = np.equal if lax_compare == "eq" else np.greater_equal
        mask = compare.outer(np.arange(rows) + int(k), np.arange(columns))
        out = from_host(mask.astype(dtype))
    else:
        out = lax.convert_element_type(_offset_mask((rows, columns), k, lax_compare), dtype)
    return out if device is None else device_put(out, device)


def _offset_mask(shape: tuple[int, ...], k: Any, comparison: str) -> Any:
    """For the last two axes: whether row + k compares with column."""
    integer = np.dtype("int32")
    rank = len(shape)
    row = lax.broadcasted_iota(integer, shape, rank - 2)
    column = lax.broadcasted_iota(integer, shape, rank - 1)
    row = lax.add(row, lax.convert_element_type(k, integer))
    return getattr(lax, comparison)(row, column)


@library_function
def tril(m: ArrayLike, k: Any = 0) -> Array:
    """The last two axes' lower triangle: elements above a diagonal are zero.

    >>> print(jnp.tril(jnp.ones((2, 2))))
    [[1. 0.]
     [1. 1.]]
    """
    return _triangle("tril", m, k, lower=True)


@library_function
def triu(m: ArrayLike, k: Any = 0) -> Array:
    """The last two axes' upper triangle: elements below a diagonal are zero.

    >>> print(jnp.triu(jnp.ones((2, 2))))
    [[1. 1.]
     [0. 1.]]
    """
    return _triangle("triu", m, k, lower=False)


def _triangle(name: str, m: Any, k: Any, lower: bool) -> Any:
    check_arraylike(name, m)
    shape = typeof(m).shape
    if len(shape) < 2:
        raise ShapeError(f"{name}: m must have at least two axes, got shape {shape}.")
    mask = _offset_mask(shape, k, "ge" if lower else "le")
    return lax.select(mask, m, broadcast_to_shape(_nothing(typeof(m).dtype), shape))


def _nothing(dtype: Any) -> Any:
    """The scalar 0 of a dtype, or the random key whose words are 0."""
    return lax.full((), 0, dtype) if dtypes.is_extended(dtype) else zero(dtype)


# --- diagonals -----------------------------------------------------------------------------------


@library_function(operands=("a",))
def diagonal(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """The diagonals of the matrices in two axes, as a new last axis.

    >>> print(jnp.diagonal(jnp.arange(4).reshape(2, 2)))
    [0 3]
    """
    return _diagonal(a, offset=index(offset), axis1=index(axis1), axis2=index(axis2))


def _diagonal(a: Any, *, offset: int, axis1: int, axis2: int) -> Any:
    """Rows laid end to end with one element too many each put the diagonal into one column."""
    check_arraylike("diagonal", a)
    rank = typeof(a).ndim
    if rank < 2:
        raise ShapeError(f"diagonal requires an array of at least two dimensions, got {rank}.")
    first, second = canonical_axes((axis1, axis2), rank)
    others = [i for i in range(rank) if i not in (first, second)]
    x = lax.transpose(a, [*others, first, second])
    *batch, rows, columns = typeof(x).shape
    top, left = max(-offset, 0), max(offset, 0)
    count = max(min(rows - top, columns - left), 0)
    starts = [0] * len(batch) + [min(top, rows), min(left, columns)]
    x = lax.slice(x, starts, [*batch, starts[-2] + count, starts[-1] + count])
    if count == 0:
        return lax.reshape(x, (*batch, 0))
    flat = lax.reshape(x, (*batch, count * count))
    padding = [(0, 0, 0)] * len(batch) + [(0, count, 0)]
    flat = lax.pad(flat, _nothing(typeof(x).dtype), padding)
    table = lax.reshape(flat, (*batch, count, count + 1))
    return lax.squeeze(
        lax.slice(table, [0] * (len(batch) + 2), [*batch, count, 1]), [len(batch) + 1]
    )


def diag(v: ArrayLike, k: int = 0) -> Array:
    """A matrix with a vector on a diagonal, or the diagonal of a matrix.

    >>> print(jnp.diag(jnp.array([1, 2])))
    [[1 0]
     [0 2]]
    """
    check_arraylike("diag", v)
    if typeof(v).ndim == 1:
        return _diagonal_matrix(v, k=index(k))
    if typeof(v).ndim == 2:
        return diagonal(v, k)
    raise ValueError(f"diag input must be 1d or 2d, got shape {typeof(v).shape}.")


def diagflat(v: ArrayLike, k: int = 0) -> Array:
    """A matrix with the elements of an array, flattened, on a diagonal.

    >>> print(jnp.diagflat(jnp.array([[1, 2]])))
    [[1 0]
     [0 2]]
    """
    check_arraylike("diagflat", v)
    return _diagonal_matrix(lax.reshape(asarray(v), (typeof(v).size,)), k=index(k))


@library_function(static_argnames="k")
def _diagonal_matrix(v: Any, *, k: int) -> Any:
    n = typeof(v).shape[0] + abs(k)
    padded = lax.pad(v, _nothing(typeof(v).dtype), [(max(-k, 0), max(k, 0), 0)])
    rows = lax.broadcast_in_dim(padded, (n, n), (0,))
    nothing = lax.full((n, n), 0, typeof(v).dtype)
    return lax.select(_offset_mask((n, n), k, "eq"), rows, nothing)


@library_function(operands=("a",))
def trace(
    a: ArrayLike,
    offset: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: DTypeLike = None,
    out: None = None,
) -> Array:
    """The sum of the diagonal of the matrices in two axes.

    >>> print(jnp.trace(jnp.arange(4).reshape(2, 2)))
    3
    """
    check_no_out("trace", out)
    return _reductions.sum(diagonal(a, offset, axis1, axis2), -1, dtype=dtype)


# --- grids and indices ---------------------------------------------------------------------------


def meshgrid(
    *xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> tuple[Array, ...]:
    """Coordinates of a grid, one array an axis, from the coordinates along each.

    Args:
      sparse: leave the axes along which coordinates do not change at size one.
      indexing: "xy" puts the first vector along the second axis, as in images; "ij" the first.

    >>> [x.shape for x in jnp.meshgrid(jnp.arange(2), jnp.arange(3))]
    [(3, 2), (3, 2)]
    """
    check_arraylike("meshgrid", *xi)
    if not copy:
        raise ValueError("meshgrid: copy must be True: arrays are immutable.")
    if indexing not in ("xy", "ij"):
        raise ValueError(f"Valid values for indexing are 'xy' and 'ij', got {indexing}")
    if any(typeof(x).ndim > 1 for x in xi):
        raise ValueError(
            f"meshgrid: arguments must be vectors, got {[typeof(x).shape for x in xi]}."
        )
    return tuple(_meshgrid(list(xi), sparse=bool(sparse), indexing=indexing))


@library_function(static_argnames=("sparse", "indexing"))
def _meshgrid(xi: list[Any], *, sparse: bool, indexing: str) -> list[Any]:
    places = list(range(len(xi)))
    if indexing == "xy" and len(xi) > 1:
        places[:2] = [1, 0]
    sizes = [typeof(x).size for x in xi]
    shape = [sizes[places.index(i)] for i in range(len(xi))]
    grids = []
    for x, place, size in zip(xi, places, sizes):
        own = [size if i == place else 1 for i in range(len(xi))]
        x = lax.reshape(x, (size,))
        grids.append(lax.broadcast_in_dim(x, own if sparse else shape, (place,)))
    return grids


def indices(dimensions: Any, dtype: DTypeLike = None, sparse: bool = False) -> ArrayOrSeveral:
    """The indices of a grid: for each axis, the position along it of every element.

    >>> print(jnp.indices((2, 2))[1])
    [[0 1]
     [0 1]]
    """
    from covector.numpy._creation import arange
    from covector.numpy._joining import stack

    dtype = requested_dtype(int if dtype is None else dtype, "indices")
    grids = meshgrid(*[arange(n, dtype=dtype) for n in dimensions], sparse=sparse, indexing="ij")
    if sparse:
        return tuple(grids)
    return stack(grids, 0) if grids else asarray(np.zeros((0,), dtype))


def ix_(*args: Any) -> tuple[Array, ...]:
    """Index arrays that select the grid of some rows, some columns, ...

    >>> print(jnp.arange(9).reshape(3, 3)[jnp.ix_(jnp.array([0, 2]), jnp.array([1, 2]))])
    [[1 2]
     [7 8]]
    """
    from covector.numpy._searching import nonzero

    check_arraylike("ix_", *args)
    out = []
    for i, x in enumerate(args):
        if typeof(x).ndim != 1:
            raise ValueError(f"ix_: arguments must be vectors, got shape {typeof(x).shape}.")
        if typeof(x).dtype == bool:
            if isinstance(x, Tracer):
                raise NotImplementedError(
                    "ix_: a boolean argument must be known while a function is traced. Give the "
                    "positions instead, by nonzero with size."
                )
            (x,) = nonzero(x)
        shape = [-1 if j == i else 1 for j in range(len(args))]
        out.append(asarray(x).reshape(shape))
    return tuple(out)


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, Array]:
    """The indices of the lower triangle of an n x m matrix.

    >>> print(*jnp.tril_indices(2))
    [0 1 1] [0 0 1]
    """
    return _host_indices(np.tril_indices(index(n), index(k), m))


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, Array]:
    """The indices of the upper triangle of an n x m matrix.

    >>> print(*jnp.triu_indices(2))
    [0 0 1] [0 1 1]
    """
    return _host_indices(np.triu_indices(index(n), index(k), m))


def tril_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Array, Array]:
    """The indices of the lower triangle of a matrix.

    >>> print(*jnp.tril_indices_from(jnp.zeros((2, 2))))
    [0 1 1] [0 0 1]
    """
    rows, columns = _matrix_shape("tril_indices_from", arr)
    return tril_indices(rows, k, columns)


def triu_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Array, Array]:
    """The indices of the upper triangle of a matrix.

    >>> print(*jnp.triu_indices_from(jnp.zeros((2, 2))))
    [0 0 1] [0 1 1]
    """
    rows, columns = _matrix_shape("triu_indices_from", arr)
    return triu_indices(rows, k, columns)


def _matrix_shape(name: str, arr: Any) -> tuple[int, int]:
    check_arraylike(name, arr)
    shape = typeof(arr).shape
    if len(shape) != 2:
        raise ValueError(f"{name}: arr must be a matrix, got shape {shape}.")
    return shape


@library_function(operands=())
def diag_indices(n: int, ndim: int = 2) -> tuple[Array, ...]:
    """The indices of the main diagonal of an array of ``ndim`` axes of size ``n``.

    >>> print(*jnp.diag_indices(2))
    [0 1] [0 1]
    """
    if n < 0 or ndim < 0:
        raise ValueError(f"diag_indices: n and ndim must be nonnegative, got {n} and {ndim}.")
    return _host_indices(np.diag_indices(index(n), index(ndim)))


@library_function(operands=("arr",))
def diag_indices_from(arr: ArrayLike) -> tuple[Array, ...]:
    """The indices of the main diagonal of an array.

    >>> print(*jnp.diag_indices_from(jnp.zeros((2, 2))))
    [0 1] [0 1]
    """
    check_arraylike("diag_indices_from", arr)
    shape = typeof(arr).shape
    if len(shape) < 2:
        raise ValueError("diag_indices_from: input array must be at least 2-d")
    if len(set(shape)) > 1:
        raise ValueError(f"diag_indices_from: all axes must have one size, got shape {shape}.")
    return diag_indices(shape[0], len(shape))


def _host_indices(places: tuple[np.ndarray, ...]) -> Any:
    return tuple([asarray(p) for p in places])


@library_function(static_argnames=("N", "increasing"))
def vander(x: ArrayLike, N: int | None = None, increasing: bool = False) -> Array:
    """Powers of a vector's elements, a row each: x**(N-1), ..., x, 1.

    >>> print(jnp.vander(jnp.array([2, 3])))
    [[2 1]
     [3 1]]
    """
    from covector.numpy._arithmetic import power

    check_arraylike("vander", x)
    if typeof(x).ndim != 1:
        raise ValueError(f"vander: x must be a vector, got shape {typeof(x).shape}.")
    n = typeof(x).shape[0] if N is None else N
    if n < 0:
        raise ValueError(f"vander: N must be nonnegative, got {N}.")
    exponents = np.arange(n) if increasing else np.arange(n)[::-1]
    shape = (typeof(x).shape[0], n)
    columns = [power(x, int(p)) for p in exponents]
    return (
        lax.stack(promote_dtypes(*columns), 1) if columns else lax.full(shape, 0, typeof(x).dtype)
    )

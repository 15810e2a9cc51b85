"""Random vectors and matrices: `multivariate_normal`, `orthogonal`, `ball`."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from covector import lax
from covector._api.jit import library_function
from covector._ir import dtypes
from covector._trace.trace import typeof
from covector.errors import ShapeError
from covector.lax.filling import place
from covector.random._arguments import (
    array_of,
    check_parameters,
    float_dtype,
    shape_of,
    single_key,
)
from covector.random._from_gamma import draw_generalized
from covector.random._implementation import KeyImplementation, Shape
from covector.random._sampling import Source, batch_shape, check_real, scalar, total
from covector.random._uniform import broadcast_parameter

# --- multivariate_normal --------------------------------------------------------------------------


def multivariate_normal(
    key: Any,
    mean: Any,
    cov: Any,
    shape: Any = None,
    dtype: Any = None,
    method: str = "cholesky",
    *,
    out_sharding: Any = None,
) -> Any:
    """Vectors of the normal distribution with that mean and covariance.

    Args:
      key: a typed key, or a plain one of shape ``(2,)``.
      mean: vectors along the last axis.
      cov: positive definite matrices along the last two axes.
      shape: of the result without its last axis, to which the other axes of both broadcast; by
        default what they broadcast to.
      dtype: a floating-point type.
      method: how ``cov`` is factored: "cholesky"; "eigh" or "svd", which singular matrices need.

    Raises:
      TypeError: ``key`` is no key, or ``shape`` no sequence of integers.
      ValueError: ``dtype`` is no floating-point type, ``method`` is unknown, or the shapes of
        ``mean`` and ``cov`` do not fit.

    >>> from covector import random
    >>> import numpy as np
    >>> cov = np.array([[1.0, 0.8], [0.8, 1.0]], np.float32)
    >>> random.multivariate_normal(random.key(0), np.zeros(2, np.float32), cov)
    Array([1.6226422, 2.5132725], dtype=float32)
    """
    name = "multivariate_normal"
    implementation, data, _ = single_key(name, key)
    mean, cov = array_of(name, "mean", mean), array_of(name, "cov", cov)
    if dtype is None:
        dtype = dtypes.to_inexact_dtype(dtypes.result_type(mean, cov))
    dtype = float_dtype(name, dtype)
    if method not in _FACTORS:
        raise ValueError(f"{name}: method must be one of {set(_FACTORS)}, got {method!r}")
    for argument, x in (("mean", mean), ("cov", cov)):
        check_real(name, argument, x)
    batch = _batch_shape(typeof(mean).shape, typeof(cov).shape, shape)
    drawn = _multivariate_normal(data, mean, cov, implementation, batch, dtype, method)
    return place(drawn, out_sharding)


def _batch_shape(mean: Shape, cov: Shape, shape: Any) -> Shape:
    name = "multivariate_normal"
    if not mean:
        raise ShapeError(f"{name} requires mean.ndim >= 1, got mean.ndim == 0")
    if len(cov) < 2:
        raise ShapeError(f"{name} requires cov.ndim >= 2, got cov.ndim == {len(cov)}")
    n = mean[-1]
    if cov[-2:] != (n, n):
        raise ShapeError(
            f"{name} requires cov.shape == (..., n, n) for n={n}, but got cov.shape == {cov}."
        )
    return batch_shape(name, shape, mean=mean[:-1], cov=cov[:-2])


@library_function(static_argnums=(3, 4, 5, 6))
def _multivariate_normal(
    data: Any,
    mean: Any,
    cov: Any,
    implementation: KeyImplementation,
    batch: Shape,
    dtype: np.dtype,
    method: str,
) -> Any:
    single = np.dtype(np.float32)
    factor = _FACTORS[method](lax.convert_element_type(cov, dtypes.promote_types(dtype, single)))
    factor = lax.convert_element_type(factor, dtype)
    mean = lax.convert_element_type(mean, dtype)
    shape = (*batch, typeof(mean).shape[-1])
    normal = Source(data, implementation).normal(shape, dtype)
    moved = _times_vectors(factor, normal)
    first = len(shape) - typeof(mean).ndim
    return lax.add(lax.broadcast_in_dim(mean, shape, range(first, len(shape))), moved)


def _times_vectors(matrices: Any, vectors: Any) -> Any:
    """The product of each vector with its matrix; the leading axes of matrices broadcast."""
    matrix_shape, shape = typeof(matrices).shape, typeof(vectors).shape
    last, missing = len(shape) - 1, len(shape) + 1 - len(matrix_shape)
    single = [i for i, n in enumerate(matrix_shape[:-2]) if n == 1]
    shared = [i + missing for i in range(len(matrix_shape) - 2) if i not in single]
    matrices = lax.squeeze(matrices, single)
    numbers = (([last], [len(shared) + 1]), (shared, list(range(len(shared)))))
    product = lax.dot_general(vectors, matrices, numbers)
    others = [i for i in range(last) if i not in shared]
    places = [*shared, *others, last]
    return lax.transpose(product, [places.index(i) for i in range(len(shape))])


def _cholesky(cov: Any) -> Any:
    return lax.linalg.cholesky(_symmetric(cov), symmetrize_input=False)


def _eigh(cov: Any) -> Any:
    vectors, values = lax.linalg.eigh(_symmetric(cov), symmetrize_input=False)
    return _scaled_columns(vectors, values)


def _svd(cov: Any) -> Any:
    vectors, values, _ = lax.linalg.svd(cov)
    return _scaled_columns(vectors, values)


def _symmetric(x: Any) -> Any:
    ndim = typeof(x).ndim
    transposed = lax.transpose(x, (*range(ndim - 2), ndim - 1, ndim - 2))
    return lax.div(lax.add(x, transposed), scalar(2, typeof(x).dtype))


def _scaled_columns(vectors: Any, squares: Any) -> Any:
    shape = typeof(vectors).shape
    axes = (*range(len(shape) - 2), len(shape) - 1)
    return lax.mul(vectors, lax.broadcast_in_dim(lax.sqrt(squares), shape, axes))


_FACTORS = {"cholesky": _cholesky, "eigh": _eigh, "svd": _svd}

# --- orthogonal -----------------------------------------------------------------------------------


def orthogonal(
    key: Any,
    n: Any,
    shape: Any = (),
    dtype: Any = None,
    m: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Orthogonal (or unitary) matrices, all equally likely.

    Args:
      key: a typed key, or a plain one of shape ``(2,)``.
      n: the number of rows.
      shape: of the result, before the axes of the matrices.
      dtype: a floating-point or complex type.
      m: the number of columns, ``n`` by default. If they differ, the longer ones are orthonormal:
        columns, or rows.

    Raises:
      TypeError: ``key`` is no key, ``shape`` no sequence of integers, or a size no integer.
      ValueError: ``dtype`` is neither floating-point nor complex, or a size is negative.

    Source: F. Mezzadri, "How to generate random matrices from the classical compact groups" (2007).

    >>> from covector import random
    >>> random.orthogonal(random.key(0), 2)
    Array([[ 0.96610296,  0.25815725],
           [-0.25815725,  0.9661029 ]], dtype=float32)
    """
    implementation, data, _ = single_key("orthogonal", key)
    shape, dtype = (
        shape_of("orthogonal", shape),
        float_dtype("orthogonal", dtype, also_complex=True),
    )
    rows = operator.index(n)
    columns = rows if m is None else operator.index(m)
    if rows < 0 or columns < 0:
        raise ValueError(f"orthogonal: sizes must not be negative, got n={n} and m={m}.")
    drawn = _orthogonal(data, implementation, shape, dtype, rows, columns)
    return place(drawn, out_sharding)


@library_function(static_argnums=(1, 2, 3, 4, 5))
def _orthogonal(
    data: Any,
    implementation: KeyImplementation,
    shape: Shape,
    dtype: np.dtype,
    rows: int,
    columns: int,
) -> Any:
    """The factor Q of normal matrices, if it is made unique by a positive diagonal of R."""
    long, short = max(rows, columns), min(rows, columns)
    ndim, full = len(shape), (*shape, long, short)
    normal = Source(data, implementation).normal(full, dtype)
    q, r = lax.linalg.qr(normal, full_matrices=False)
    kept = (*range(ndim), ndim + 1)
    square = (*shape, short, short)
    on_diagonal = lax.eq(*[lax.broadcasted_iota(np.int32, square, ndim + i) for i in (0, 1)])
    diagonal = lax.reduce_sum(lax.select(on_diagonal, r, lax.full_like(r, 0)), (ndim,))
    q = lax.mul(q, lax.broadcast_in_dim(lax.sign(diagonal), full, kept))
    if rows >= columns:
        return q
    return lax.transpose(q, (*range(ndim), ndim + 1, ndim))


# --- ball -----------------------------------------------------------------------------------------


def ball(
    key: Any,
    d: Any,
    p: Any = 2,
    shape: Any = (),
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Points spread evenly over a ball: vectors whose ``p``-norm is at most one.

    Args:
      key: a typed key, or a plain one of shape ``(2,)``.
      d: the number of dimensions.
      p: positive numbers: of all points, or one for each (`jax.random` takes some of these arrays
        for the norms of components).
      shape: of the result without its last axis, which has size ``d``; ``p`` broadcasts to it.
      dtype: a floating-point type.

    Raises:
      TypeError: ``key`` is no key, ``shape`` no sequence of integers, or ``d`` no integer.
      ValueError: ``dtype`` is no floating-point type, ``d`` is negative, or ``p`` does not
        broadcast to ``shape``.

    Source: F. Barthe, O. Guédon, S. Mendelson, A. Naor, "A probabilistic approach to the geometry
    of the l_p^n ball" (2005).

    >>> from covector import random
    >>> random.ball(random.key(0), 2)
    Array([0.917222  , 0.39276883], dtype=float32)
    """
    implementation, data, _ = single_key("ball", key)
    shape, dtype, d = shape_of("ball", shape), float_dtype("ball", dtype), operator.index(d)
    if d < 0:
        raise ShapeError(f"ball: d must not be negative, got {d}.")
    check_parameters("ball", shape, p=p)
    check_real("ball", "p", p)
    return place(_ball(data, p, implementation, (*shape, d), dtype), out_sharding)


@library_function(static_argnums=(2, 3, 4))
def _ball(
    data: Any, p: Any, implementation: KeyImplementation, shape: Shape, dtype: np.dtype
) -> Any:
    first, second = Source(data, implementation).split()
    axis = len(shape) - 1
    p = broadcast_parameter(lax.convert_element_type(p, dtype), shape[:-1])
    each = lax.broadcast_in_dim(p, shape, range(axis)) if typeof(p).ndim else p
    vectors = draw_generalized(first, shape, dtype, each)
    outside = second.exponential(shape[:-1], dtype)
    size = total(lax.pow(lax.abs(vectors), each), axis)
    norm = lax.pow(lax.add(size, outside), lax.div(scalar(1, dtype), p))
    return lax.div(vectors, lax.broadcast_in_dim(norm, shape, range(axis)))

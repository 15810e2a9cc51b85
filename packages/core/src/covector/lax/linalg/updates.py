"""Products and updates with structure: `ormqr`, `symmetric_product`, `cholesky_update`."""

from __future__ import annotations

from typing import Any

import numpy as np

from covector import lax
from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector._trace.primitive import Primitive
from covector._trace.trace import typeof
from covector.lax._rules import tangents_by
from covector.lax.linalg import _kernels
from covector.lax.linalg._matrix import (
    batch_in_front,
    check_matrix,
    lower_part,
    product,
    transposed,
    weak_if_all,
)


def _check_real(name: str, aval: ShapedArray, position: int) -> None:
    if aval.dtype.name not in ("float32", "float64"):
        raise TypeError(
            f"{name} does not accept dtype {aval.dtype} at position {position}. Accepted dtypes at "
            f"position {position} are: float32, float64."
        )


# --- ormqr ----------------------------------------------------------------------------------------


def ormqr(a: Any, taus: Any, c: Any, *, left: bool = True, transpose: bool = False) -> Any:
    """``Q @ c`` or ``c @ Q``, with the Q of a QR factorization as reflections.

    Args:
      a: of shape (..., m, k): the reflections below the diagonal (see `householder_product`).
      taus: of shape (..., k).
      c: of shape (..., m, n) with ``left``, else (..., n, m).
      left: whether Q stands left of ``c``.
      transpose: use Q^H.

    Returns:
      The product, of ``c``'s shape.

    >>> lax.linalg.ormqr(np.eye(2), np.zeros(2), np.array([[1.0], [2.0]]))
    Array([[1.],
           [2.]], dtype=float32)
    """
    return ormqr_p.bind(a, taus, c, left=bool(left), transpose=bool(transpose))


@weak_if_all
def _abstract_ormqr(
    a: ShapedArray, taus: ShapedArray, c: ShapedArray, *, left: bool, transpose: bool
) -> ShapedArray:
    check_matrix("ormqr", a)
    check_matrix("ormqr", c, position=2)
    if not a.dtype == taus.dtype == c.dtype:
        raise TypeError(
            f"lax.ormqr requires arguments to have the same dtypes, got {a.dtype}, {taus.dtype}, "
            f"{c.dtype}"
        )
    *stack, m, k = a.shape
    if taus.shape != (*stack, k) or list(c.shape[:-2]) != stack or k > m:
        raise ValueError(
            f"ormqr: a of shape {a.shape} does not fit taus of shape {taus.shape} and c of shape "
            f"{c.shape}: leading axes must be equal, and taus must have one element for each of "
            "a's columns, of which there are at most as many as rows"
        )
    if c.shape[-2 if left else -1] != m:
        raise ValueError(
            f"ormqr: c of shape {c.shape} must have as many {'rows' if left else 'columns'} as a "
            f"of shape {a.shape} has rows"
        )
    return c


def _ormqr(a: Any, taus: Any, c: Any, **params: Any) -> Any:
    routine = "unmqr" if dtypes.is_complex(typeof(c).dtype) else "ormqr"
    return _apply(_kernels.lapack, routine, a, taus, c, **params)


def _ormqr_on_gpu(a: Any, taus: Any, c: Any, **params: Any) -> Any:
    return _apply(_kernels.kernel, "cusolver_ormqr_ffi", a, taus, c, **params)


def _apply(
    call: Any, routine: str, a: Any, taus: Any, c: Any, *, left: bool, transpose: bool
) -> Any:
    aval = typeof(c)
    if aval.size == 0 or typeof(a).size == 0:
        return c
    return call(
        routine,
        [a, taus, c],
        [(aval.shape, aval.dtype)],
        matrices=("m-m", "m"),
        aliases=[(2, 0)],
        left=left,
        transpose=transpose,
    )[0]


ormqr_p = Primitive(
    "ormqr",
    abstract=_abstract_ormqr,
    lower=_kernels.lower_on("ormqr", cpu=_ormqr, gpu=_ormqr_on_gpu),
    batch=batch_in_front(lambda: ormqr_p),
)


# --- symmetric_product ----------------------------------------------------------------------------


def symmetric_product(
    a_matrix: Any,
    c_matrix: Any,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    symmetrize_output: bool = False,
) -> Any:
    """``alpha * A @ A^T + beta * C``, for symmetric C.

    Args:
      a_matrix: of shape (..., n, k).
      c_matrix: of shape (..., n, n).
      symmetrize_output: make the upper triangle the mirror of the lower one. On GPUs, only the
        lower one is computed.

    Raises:
      TypeError: dtypes differ, or are not float32 or float64.
      ValueError: shapes do not fit.

    >>> lax.linalg.symmetric_product(np.array([[1.0], [2.0]]), np.zeros((2, 2)))
    Array([[1., 2.],
           [2., 4.]], dtype=float32)
    """
    out = symmetric_product_p.bind(a_matrix, c_matrix, alpha=float(alpha), beta=float(beta))
    if symmetrize_output:
        out = lax.add(lower_part(out), transposed(lower_part(out, -1)))
    return out


@weak_if_all
def _abstract_symmetric(
    a: ShapedArray, c: ShapedArray, *, alpha: float, beta: float
) -> ShapedArray:
    for position, aval in enumerate((a, c)):
        _check_real("symmetric_product", aval, position)
        check_matrix("symmetric_product", aval, position=position)
    if a.dtype != c.dtype:
        raise TypeError(
            "lax.symmetric_product requires arguments to have the same dtypes, got "
            f"{a.dtype}, {c.dtype}"
        )
    if c.shape != (*a.shape[:-1], a.shape[-2]):
        raise ValueError(
            "symmetric_product expects a matrix of shape (..., m, n) and a square matrix of shape "
            f"(..., m, m). Got shapes {a.shape} and {c.shape}."
        )
    return c


def _symmetric(a: Any, c: Any, *, alpha: float, beta: float) -> Any:
    dtype = typeof(a).dtype
    out = lax.mul(product(a, transposed(a)), np.asarray(alpha, dtype))
    return out if beta == 0 else lax.add(out, lax.mul(c, np.asarray(beta, dtype)))


def _symmetric_on_gpu(a: Any, c: Any, *, alpha: float, beta: float) -> Any:
    """One triangle only: the other is ``c``'s."""
    aval = typeof(c)
    return _kernels.kernel(
        "cusolver_syrk_ffi",
        [a, c, np.asarray(alpha, aval.dtype), np.asarray(beta, aval.dtype)],
        [(aval.shape, aval.dtype)],
        matrices=("----", "-"),
        aliases=[(1, 0)],
        transpose=False,
    )[0]


def _jvp_symmetric(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
    out = symmetric_product_p.bind(*primals, **params)
    return out, tangents_by(lambda *xs: [_symmetric(*xs, **params)], primals, tangents)[0]


symmetric_product_p = Primitive(
    "symmetric_product",
    abstract=_abstract_symmetric,
    lower=_kernels.lower_on(
        "symmetric_product", cpu=_symmetric, gpu=_symmetric_on_gpu, other=_symmetric
    ),
    jvp=_jvp_symmetric,
    batch=batch_in_front(lambda: symmetric_product_p),
)


# --- cholesky_update ------------------------------------------------------------------------------


def cholesky_update(r_matrix: Any, w_vector: Any) -> Any:
    """The upper triangular R' with ``R'^T R' = R^T R + w w^T``, for real upper triangular R.

    Args:
      r_matrix: of shape (n, n).
      w_vector: of shape (n,).

    Raises:
      TypeError: dtypes differ, or are not float32 or float64.
      ValueError: shapes do not fit.

    >>> lax.linalg.cholesky_update(np.array([[3.0]]), np.array([4.0]))
    Array([[5.]], dtype=float32)
    """
    return cholesky_update_p.bind(r_matrix, w_vector)


@weak_if_all
def _abstract_update(r: ShapedArray, w: ShapedArray) -> ShapedArray:
    for position, aval in enumerate((r, w)):
        _check_real("cholesky_update", aval, position)
        if aval.ndim < 2 - position:
            raise TypeError(
                f"Input {position} to cholesky_update must have rank at least {2 - position}, but "
                f"got shape={aval.shape}"
            )
    if r.dtype != w.dtype:
        raise TypeError(
            f"lax.cholesky_update requires arguments to have the same dtypes, got {r.dtype}, "
            f"{w.dtype}"
        )
    if r.shape[-1] != r.shape[-2] or w.shape != r.shape[:-1]:
        raise ValueError(
            "cholesky_update: a rank-1 update takes a square matrix and a vector of the "
            f"same size as input. Got shapes {r.shape} and {w.shape} instead"
        )
    return r


def _update(r: Any, w: Any) -> Any:
    """A rotation a row, each of which clears one element of w (Gill et al. 1974)."""
    ndim, n = typeof(w).ndim, typeof(w).shape[-1]
    if typeof(r).size == 0:
        return r
    columns = lax.broadcasted_iota(np.int32, typeof(w).shape, ndim - 1)
    zeros = lax.full(typeof(w).shape, 0, typeof(w).dtype)

    def rotate(k: Any, state: Any) -> Any:
        r, w = state
        row = lax.dynamic_index_in_dim(r, k, ndim - 1, keepdims=False)
        here = lax.dynamic_index_in_dim(row, k, ndim - 1)
        there = lax.dynamic_index_in_dim(w, k, ndim - 1)
        size = lax.sqrt(lax.add(lax.mul(here, here), lax.mul(there, there)))
        still = lax.eq(size, np.zeros((), typeof(w).dtype))
        divisor = lax.select(still, lax.full_like(size, 1), size)
        c = lax.select(still, lax.full_like(size, 1), lax.div(here, divisor))
        s = lax.div(there, divisor)
        c, s = (lax.broadcast_in_dim(y, row.shape, tuple(range(ndim))) for y in (c, s))
        new_row = lax.add(lax.mul(c, row), lax.mul(s, w))
        new_w = lax.sub(lax.mul(c, w), lax.mul(s, row))
        first = lax.convert_element_type(k, np.int32)
        first = lax.broadcast_in_dim(first, columns.shape, ())
        new_row = lax.select(lax.ge(columns, first), new_row, row)
        r = lax.dynamic_update_index_in_dim(r, lax.expand_dims(new_row, (ndim - 1,)), k, ndim - 1)
        return r, lax.select(lax.gt(columns, first), new_w, zeros)

    return lax.fori_loop(np.int32(0), np.int32(n), rotate, (r, w))[0]


def _update_on_gpu(r: Any, w: Any) -> Any:
    if typeof(r).ndim > 2 or typeof(r).size == 0:
        return _update(r, w)
    outs = [(typeof(x).shape, typeof(x).dtype) for x in (r, w)]
    aliases = [(0, 0), (1, 1)]
    return _kernels.kernel(
        "cu_cholesky_update_ffi", [r, w], outs, matrices=("--", "--"), aliases=aliases
    )[0]


cholesky_update_p = Primitive(
    "cholesky_update",
    abstract=_abstract_update,
    lower=_kernels.lower_on("cholesky_update", cpu=_update, gpu=_update_on_gpu, other=_update),
    batch=batch_in_front(lambda: cholesky_update_p),
)

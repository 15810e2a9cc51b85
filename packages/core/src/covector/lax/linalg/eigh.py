"""Eigenvalues and eigenvectors of symmetric and Hermitian matrices."""

from __future__ import annotations

import enum
from typing import Any

from covector import lax
from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector._lower.module import lower_by
from covector._trace.primitive import Primitive
from covector._trace.trace import typeof
from covector.lax.elementwise import unscale
from covector.lax.linalg import _lapack
from covector.lax.linalg._matrix import (
    adjoint,
    as_inexact,
    batch_in_front,
    check_matrix,
    check_square,
    diagonal,
    diagonal_part,
    hermitian,
    identity_like,
    product,
    real_dtype,
    spread,
)


class EighImplementation(enum.Enum):
    """Algorithms of `eigh`; on CPU, LAPACK's QR iterations with divide and conquer."""

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


def eigh(
    x: Any,
    *,
    lower: bool = True,
    symmetrize_input: bool = True,
    sort_eigenvalues: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    implementation: EighImplementation | None = None,
) -> tuple[Any, Any]:
    """The eigenvectors and real eigenvalues of symmetric (Hermitian) matrices.

    Args:
      x: of shape (..., n, n).
      lower: which triangle is read, without ``symmetrize_input``.
      symmetrize_input: use ``(x + x^H) / 2``.
      sort_eigenvalues: in ascending order. On CPU they always are.
      subset_by_index: only the eigenvalues of these positions: first, and one past the last.
      implementation: the algorithm; on CPU only `EighImplementation.QR` or None.

    Returns:
      The eigenvectors as columns, of shape (..., n, n), and eigenvalues, (..., n); nan if LAPACK
      failed.

    Raises:
      ValueError: ``x`` is not square, or the subset is no range of positions.

    >>> vectors, values = lax.linalg.eigh(np.array([[2.0, 0.0], [0.0, 1.0]]))
    >>> values
    Array([1., 2.], dtype=float32)
    """
    check_square("linalg.eigh", typeof(x))
    x = as_inexact(x)
    vectors, values = eigh_p.bind(
        hermitian(x) if symmetrize_input else x,
        algorithm=implementation,
        lower=bool(lower),
        sort_eigenvalues=bool(sort_eigenvalues),
        subset_by_index=None if subset_by_index is None else tuple(subset_by_index),
    )
    return vectors, values


def _abstract(x: ShapedArray, *, subset_by_index: Any, algorithm: Any, **params: Any) -> list:
    check_matrix("eigh", x, square=True)
    *stack, _, n = x.shape
    start, stop = subset_by_index or (0, n)
    if not 0 <= start <= stop <= n:
        raise ValueError(
            f"eigh: subset_by_index must be a range of positions among the {n} eigenvalues, got "
            f"{subset_by_index}"
        )
    k = stop - start
    return [
        ShapedArray((*stack, n, k), x.dtype),
        ShapedArray((*stack, k), real_dtype(x.dtype)),
    ]


def _syevd(
    x: Any, *, algorithm: Any, lower: bool, sort_eigenvalues: bool, subset_by_index: Any
) -> list[Any]:
    if algorithm not in (None, EighImplementation.QR):
        raise NotImplementedError(f"eigh: implementation {algorithm} is not available on CPU")
    aval = typeof(x)
    *stack, _, n = aval.shape
    real = real_dtype(aval.dtype)
    start, stop = subset_by_index or (0, n)
    if aval.size == 0:
        empty = lax.full((*stack, n, stop - start), 0, aval.dtype)
        return [empty, lax.full((*stack, stop - start), 0, real)]
    vectors, values, info = _lapack.call(
        "heevd" if dtypes.is_complex(aval.dtype) else "syevd",
        [x],
        [(aval.shape, aval.dtype), ((*stack, n), real), (stack, _lapack.INT32)],
        matrices=("m", "m--"),
        aliases=[(0, 0)],
        mode="V",
        uplo="L" if lower else "U",
    )
    ok = _lapack.succeeded(info)
    outs = [_lapack.nan_unless(ok, y) for y in (vectors, values)]
    return [lax.slice_in_dim(y, start, stop, axis=typeof(y).ndim - 1) for y in outs]


def _jvp(primals: Any, tangents: Any, **params: Any) -> tuple[list[Any], list[Any]]:
    """``dw = diag(C)`` and ``dv = v (C / (w_j - w_i))``, the diagonal apart, with ``C = v^H dx v``
    (Magnus 1985). Where eigenvalues are equal, a numerator of zero gives zero."""
    v, w = eigh_p.bind(*primals, **params)
    n = typeof(v).shape[-2]
    if params["subset_by_index"] not in (None, (0, n)):
        raise NotImplementedError(
            "eigh: the derivative is defined for all eigenvalues, not for a subset "
            f"(subset_by_index={params['subset_by_index']})"
        )
    c = product(adjoint(v), tangents[0], v)
    gaps = lax.sub(spread(w, v, -1), spread(w, v, -2))
    quotient = unscale(lax.sub(c, diagonal_part(c)), lax.add(gaps, identity_like(v, n, n)))
    d_w = diagonal(c)
    d_w = lax.real(d_w) if dtypes.is_complex(typeof(d_w).dtype) else d_w
    return [v, w], [product(v, quotient), d_w]


eigh_p = Primitive(
    "eigh",
    abstract=_abstract,
    lower=lower_by(_syevd),
    jvp=_jvp,
    batch=batch_in_front(lambda: eigh_p),
    multiple_results=True,
)

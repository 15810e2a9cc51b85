"""The QR factorization, with or without pivoting."""

from __future__ import annotations

from typing import Any

import numpy as np

from covector import lax
from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector._lower.module import lower_by
from covector._trace.primitive import Primitive
from covector._trace.trace import typeof
from covector.lax.linalg import _lapack
from covector.lax.linalg._matrix import (
    adjoint,
    batch_in_front,
    check_matrix,
    crop,
    diagonal_part,
    identity_like,
    lower_part,
    pad_to,
    product,
    take_rows,
    transposed,
    upper_part,
)
from covector.lax.linalg.householder import geqp3, geqrf, householder_product
from covector.lax.linalg.triangular import triangular_solve


def qr(
    x: Any, *, pivoting: bool = False, full_matrices: bool = True, use_magma: bool | None = None
) -> tuple[Any, ...]:
    """The factors of ``x = Q @ R``, Q with orthonormal columns and R upper triangular.

    Args:
      x: of shape (..., m, n).
      pivoting: permute the columns, so that R's diagonal falls: ``x[:, p] = Q @ R``.
      full_matrices: make Q square; else it has min(m, n) columns, and R as many rows.
      use_magma: for GPUs; without effect on CPU.

    Returns:
      Q and R; and p, int32 of shape (..., n), with ``pivoting``.

    Raises:
      TypeError: ``x`` is no matrix, or of another dtype than LAPACK has.

    >>> q, r = lax.linalg.qr(np.array([[3.0], [4.0]]), full_matrices=False)
    >>> r
    Array([[-5.]], dtype=float32)
    """
    outs = qr_p.bind(
        x, full_matrices=bool(full_matrices), pivoting=bool(pivoting), use_magma=use_magma
    )
    return tuple(outs)


def _abstract(
    x: ShapedArray, *, full_matrices: bool, pivoting: bool, use_magma: Any
) -> list[ShapedArray]:
    check_matrix("qr", x)
    *stack, m, n = x.shape
    k = m if full_matrices else min(m, n)
    x = x.strip_weak_type()
    outs = [x.update(shape=(*stack, m, k)), x.update(shape=(*stack, k, n))]
    return [*outs, ShapedArray((*stack, n), _lapack.INT32)] if pivoting else outs


def _factor(x: Any, *, full_matrices: bool, pivoting: bool, use_magma: Any) -> list[Any]:
    aval = typeof(x)
    *stack, m, n = aval.shape
    columns = m if full_matrices else min(m, n)
    if aval.size == 0:
        r = lax.full((*stack, columns, n), 0, aval.dtype)
        order = lax.broadcasted_iota(np.int32, (*stack, n), len(stack))
        q = identity_like(x, m, columns)
        return [q, r, order] if pivoting else [q, r]
    packed, taus, *order = geqp3(x) if pivoting else geqrf(x)
    reflections = crop(packed, m, min(m, n))
    q = householder_product(pad_to(reflections, m, columns), taus)
    r = upper_part(crop(packed, min(m, columns), n))
    return [q, r, *order]


def _jvp(primals: Any, tangents: Any, **params: Any) -> tuple[list[Any], list[Any]]:
    """With ``C = Q^H dx R^-1`` split into an antihermitian W and an upper triangular rest:
    ``dR = (C - W) R`` and ``dQ = dx R^-1 + Q (W - C)`` (Walter and Lehmann 2010)."""
    q, r, *order = qr_p.bind(*primals, **params)
    *_, m, n = typeof(primals[0]).shape
    if m < n or (params["full_matrices"] and m != n):
        raise NotImplementedError(
            f"qr: the derivative is defined for square matrices, and with full_matrices=False for "
            f"matrices of at least as many rows as columns; got shape {typeof(primals[0]).shape} "
            f"with full_matrices={params['full_matrices']}"
        )
    change = tangents[0]
    if order:
        change = transposed(take_rows(transposed(change), order[0]))
    quotient = triangular_solve(r, change)
    c = product(adjoint(q), quotient)
    below = lower_part(c, -1)
    w = lax.sub(below, adjoint(below))
    if dtypes.is_complex(typeof(c).dtype):  # R's diagonal stays real
        middle = diagonal_part(c)
        imaginary = lax.complex(lax.full_like(lax.real(c), 0), lax.imag(middle))
        w = lax.add(w, imaginary)
    d_q = lax.add(product(q, lax.sub(w, c)), quotient)
    d_r = product(lax.sub(c, w), r)
    return [q, r, *order], [d_q, d_r, *[None] * len(order)]


qr_p = Primitive(
    "qr",
    abstract=_abstract,
    lower=lower_by(_factor),
    jvp=_jvp,
    batch=batch_in_front(lambda: qr_p),
    multiple_results=True,
)

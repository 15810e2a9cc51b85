"""The QR factorization, with or without pivoting."""

from __future__ import annotations

from typing import Any

import numpy as np

from covector import lax
from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector._trace.primitive import Primitive
from covector._trace.trace import typeof
from covector.lax.linalg import _kernels
from covector.lax.linalg._matrix import (
    adjoint,
    batch_in_front,
    beside,
    check_matrix,
    columns_from,
    crop,
    diagonal_part,
    identity_like,
    lower_part,
    pad_to,
    product,
    rows_from,
    take_rows,
    transposed,
    upper_part,
    weak_if_all,
)
from covector.lax.linalg.householder import geqp3, geqrf, householder_product
from covector.lax.linalg.lu import solver_of
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


@weak_if_all
def _abstract(
    x: ShapedArray, *, full_matrices: bool, pivoting: bool, use_magma: Any
) -> list[ShapedArray]:
    check_matrix("qr", x)
    *stack, m, n = x.shape
    k = m if full_matrices else min(m, n)
    outs = [x.update(shape=(*stack, m, k)), x.update(shape=(*stack, k, n))]
    return [*outs, ShapedArray((*stack, n), _kernels.INT32)] if pivoting else outs


def _on_cpu(x: Any, *, use_magma: Any, **params: Any) -> list[Any]:
    return _factor(x, "cpu", None, **params)


def _on_gpu(x: Any, *, use_magma: Any, **params: Any) -> list[Any]:
    return _factor(x, "gpu", {None: "auto", True: "on", False: "off"}[use_magma], **params)


def _on_tpu(x: Any, *, use_magma: Any, pivoting: bool, **params: Any) -> list[Any]:
    if pivoting:
        raise NotImplementedError("qr: pivoting=True is not available on TPU")
    return _factor(x, "tpu", None, pivoting=pivoting, **params)


def _factor(
    x: Any, platform: str, magma: str | None, *, full_matrices: bool, pivoting: bool
) -> list[Any]:
    aval = typeof(x)
    *stack, m, n = aval.shape
    columns = m if full_matrices else min(m, n)
    if aval.size == 0:
        r = lax.full((*stack, columns, n), 0, aval.dtype)
        order = lax.broadcasted_iota(np.int32, (*stack, n), len(stack))
        q = identity_like(x, m, columns)
        return [q, r, order] if pivoting else [q, r]
    packed, taus, *order = geqp3(x, magma=magma) if pivoting else geqrf(x, platform)
    reflections = crop(packed, m, min(m, n))
    q = householder_product(pad_to(reflections, m, columns), taus)
    r = upper_part(crop(packed, min(m, columns), n))
    return [q, r, *order]


def _jvp(primals: Any, tangents: Any, **params: Any) -> tuple[list[Any], list[Any]]:
    """The derivative of the first min(m, n) columns, and what follows from it for the others.

    The further columns of R are ``Q^H x`` (Roberts and Roberts 2020), and those of a full Q a
    function of the first ones (`_further_columns`).
    """
    q, r, *order = qr_p.bind(*primals, **params)
    *_, m, n = typeof(primals[0]).shape
    k = min(m, n)
    change = tangents[0]
    if order:
        change = transposed(take_rows(transposed(change), order[0]))
    first, square = crop(q, m, k), crop(r, k, k)
    d_q, d_r = _jvp_of_columns(first, square, crop(change, m, k))
    if n > k:  # q is square, and q @ r the rest of x
        rest, d_rest = columns_from(r, k), columns_from(change, k)
        turned = product(adjoint(d_q), first, rest)
        d_r = beside(d_r, lax.add(turned, product(adjoint(q), d_rest)))
    if typeof(q).shape[-1] > k:
        d_q = beside(d_q, _further_columns(first, d_q))
        d_r = pad_to(d_r, m, n)
    return [q, r, *order], [d_q, d_r, *[None] * len(order)]


def _jvp_of_columns(q: Any, r: Any, change: Any) -> tuple[Any, Any]:
    """With ``C = Q^H dx R^-1`` split into an antihermitian W and an upper triangular rest:
    ``dR = (C - W) R`` and ``dQ = dx R^-1 + Q (W - C)`` (Walter and Lehmann 2010)."""
    quotient = triangular_solve(r, change)
    c = product(adjoint(q), quotient)
    below = lower_part(c, -1)
    w = lax.sub(below, adjoint(below))
    if dtypes.is_complex(typeof(c).dtype):  # R's diagonal stays real
        middle = diagonal_part(c)
        imaginary = lax.complex(lax.full_like(lax.real(c), 0), lax.imag(middle))
        w = lax.add(w, imaginary)
    d_q = lax.add(product(q, lax.sub(w, c)), quotient)
    return d_q, product(lax.sub(c, w), r)


def _further_columns(q: Any, d_q: Any) -> Any:
    """The derivative of the columns that reflections add to the first ones, ``[A; B]``.

    All of Q is ``I - Y T Y^H``; the first columns give ``Y T Y_1^H = [I; 0] - [A; B]`` (Ballard et
    al. 2015, "Reconstructing Householder vectors from tall-skinny QR"), so that the further columns
    are ``[0; I] + ([I; 0] - [A; B]) K`` with ``K = (I - A)^-H B^H``.
    """
    *_, m, n = typeof(q).shape
    rest = lax.sub(identity_like(q, m, n), q)
    solve = solver_of(adjoint(crop(rest, n, n)))
    k = solve(adjoint(rows_from(q, n)))
    d_k = solve(lax.add(product(adjoint(crop(d_q, n, n)), k), adjoint(rows_from(d_q, n))))
    return lax.sub(product(rest, d_k), product(d_q, k))


qr_p = Primitive(
    "qr",
    abstract=_abstract,
    lower=_kernels.lower_on("qr", cpu=_on_cpu, gpu=_on_gpu, tpu=_on_tpu),
    jvp=_jvp,
    batch=batch_in_front(lambda: qr_p),
    multiple_results=True,
)

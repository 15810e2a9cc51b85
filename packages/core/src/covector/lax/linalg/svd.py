"""The singular value decomposition."""

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
    batch_in_front,
    check_matrix,
    columns_times,
    diagonal,
    diagonal_part,
    halved,
    identity_like,
    product,
    real_dtype,
    rows_times,
    spread,
)


class SvdAlgorithm(enum.Enum):
    """Algorithms of `svd`; CPUs have DEFAULT and DIVIDE_AND_CONQUER (one) and QR."""

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


_ROUTINES = {
    None: "gesdd",
    SvdAlgorithm.DEFAULT: "gesdd",
    SvdAlgorithm.DIVIDE_AND_CONQUER: "gesdd",
    SvdAlgorithm.QR: "gesvd",
}


def svd(
    x: Any,
    *,
    full_matrices: bool = True,
    compute_uv: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> Any:
    """The factors of ``x = (u * s) @ vh``: orthonormal ``u`` and ``vh``, and falling ``s >= 0``.

    Args:
      x: of shape (..., m, n).
      full_matrices: make u and vh square; else they have k = min(m, n) columns and rows.
      compute_uv: return (u, s, vh); else s alone.
      subset_by_index: only the singular values of these positions: first, and one past the last.
      algorithm: see `SvdAlgorithm`.

    Returns:
      u of shape (..., m, k or m), s, real, of shape (..., k), and vh of shape (..., k or n, n); nan
      if LAPACK failed.

    Raises:
      TypeError: ``x`` is no matrix, or of another dtype than LAPACK has.
      ValueError: the subset is no range of positions, or asked for with full matrices.

    >>> lax.linalg.svd(np.array([[3.0, 0.0], [0.0, 4.0]]), compute_uv=False)
    Array([4., 3.], dtype=float32)
    """
    outs = svd_p.bind(
        x,
        algorithm=algorithm,
        compute_uv=bool(compute_uv),
        full_matrices=bool(full_matrices),
        subset_by_index=None if subset_by_index is None else tuple(subset_by_index),
    )
    if not compute_uv:
        return outs[0]
    s, u, vh = outs
    return u, s, vh


def _abstract(
    x: ShapedArray, *, algorithm: Any, compute_uv: bool, full_matrices: bool, subset_by_index: Any
) -> list[ShapedArray]:
    check_matrix("svd", x)
    *stack, m, n = x.shape
    k = min(m, n)
    start, stop = subset_by_index or (0, k)
    if not 0 <= start <= stop <= k:
        raise ValueError(
            f"svd: subset_by_index must be a range of positions among the {k} singular values, "
            f"got {subset_by_index}"
        )
    partial = (start, stop) != (0, k)
    if partial and compute_uv and full_matrices:
        raise ValueError(
            f"svd: subset_by_index {subset_by_index} and full_matrices=True cannot both be had: "
            "pass full_matrices=False"
        )
    rank = stop - start
    s = ShapedArray((*stack, rank), real_dtype(x.dtype))
    if not compute_uv:
        return [s]
    columns, rows = (m, n) if full_matrices else (rank, rank)
    return [s, ShapedArray((*stack, m, columns), x.dtype), ShapedArray((*stack, rows, n), x.dtype)]


def _factor(
    x: Any, *, algorithm: Any, compute_uv: bool, full_matrices: bool, subset_by_index: Any
) -> list[Any]:
    if algorithm not in _ROUTINES:
        raise NotImplementedError(f"svd: algorithm {algorithm} is not available on CPU")
    aval = typeof(x)
    *stack, m, n = aval.shape
    k = min(m, n)
    real = real_dtype(aval.dtype)
    columns, rows = (m, n) if full_matrices else (k, k)
    if aval.size == 0:
        u, vh = identity_like(x, m, columns), identity_like(x, rows, n)
        outs = [lax.full((*stack, k), 0, real), u, vh]
        return outs if compute_uv else outs[:1]
    _, s, u, vh, info = _lapack.call(
        _ROUTINES[algorithm],
        [x],
        [
            (aval.shape, aval.dtype),
            ((*stack, k), real),
            ((*stack, m, columns), aval.dtype),
            ((*stack, rows, n), aval.dtype),
            (stack, _lapack.INT32),
        ],
        matrices=("m", "m-mm-"),
        aliases=[(0, 0)],
        mode=("A" if full_matrices else "S") if compute_uv else "N",
    )
    ok = _lapack.succeeded(info)
    outs = [_lapack.nan_unless(ok, y) for y in ((s, u, vh) if compute_uv else (s,))]
    return _subset(outs, *subset_by_index) if subset_by_index not in (None, (0, k)) else outs


def _subset(outs: list[Any], start: int, stop: int) -> list[Any]:
    axes = [typeof(outs[0]).ndim - 1, *[typeof(y).ndim - a for a, y in zip((1, 2), outs[1:])]]
    return [lax.slice_in_dim(y, start, stop, axis=a) for y, a in zip(outs, axes, strict=True)]


def _check_differentiable(shape: tuple[int, ...], params: dict[str, Any]) -> None:
    m, n = shape[-2:]
    if params["subset_by_index"] not in (None, (0, min(m, n))):
        raise NotImplementedError(
            "svd: the derivative is defined for all singular values, not for a subset "
            f"(subset_by_index={params['subset_by_index']})"
        )
    if params["compute_uv"] and params["full_matrices"] and m != n:
        raise NotImplementedError(
            "svd: the derivative is not defined for full_matrices=True unless matrices are "
            f"square, got shape {shape}: pass full_matrices=False"
        )


def _jvp(primals: Any, tangents: Any, **params: Any) -> tuple[list[Any], list[Any]]:
    """``ds = Re diag(C)`` with ``C = u^H dx v``; the vectors' as of Townsend (2016), who divides by
    ``s_j^2 - s_i^2``. Where singular values are equal, a numerator of zero gives zero."""
    _check_differentiable(typeof(primals[0]).shape, params)
    change = tangents[0]
    s, u, vh = svd_p.bind(*primals, **{**params, "compute_uv": True, "full_matrices": False})
    v = adjoint(vh)
    c = product(adjoint(u), change, v)
    is_complex = dtypes.is_complex(typeof(c).dtype)
    d_s = lax.real(diagonal(c)) if is_complex else diagonal(c)
    if not params["compute_uv"]:
        return [s], [d_s]
    k = typeof(s).shape[-1]
    row, column = spread(s, c, -2), spread(s, c, -1)
    gaps = lax.mul(lax.sub(column, row), lax.add(column, row))
    gaps = lax.add(gaps, identity_like(c, k, k))
    off = lax.sub(c, diagonal_part(c))
    d_u = unscale(lax.add(columns_times(off, s), rows_times(adjoint(off), s)), gaps)
    d_v = unscale(lax.add(rows_times(off, s), columns_times(adjoint(off), s)), gaps)
    if is_complex:  # s stays real: the phases' change is u's
        phase = diagonal_part(halved(lax.sub(c, adjoint(c))))
        d_u = lax.add(d_u, unscale(phase, column))
    d_u, d_v = product(u, d_u), product(v, d_v)
    m, n = typeof(change).shape[-2:]
    if m > n:
        d_u = lax.add(d_u, _outside(u, product(change, v), s))
    if n > m:
        d_v = lax.add(d_v, _outside(v, product(adjoint(change), u), s))
    return [s, u, vh], [d_s, d_u, adjoint(d_v)]


def _outside(basis: Any, change: Any, s: Any) -> Any:
    """The part of ``change`` outside of what ``basis`` spans, divided by ``s``."""
    inside = product(basis, product(adjoint(basis), change))
    return unscale(lax.sub(change, inside), spread(s, change, -1))


svd_p = Primitive(
    "svd",
    abstract=_abstract,
    lower=lower_by(_factor),
    jvp=_jvp,
    batch=batch_in_front(lambda: svd_p),
    multiple_results=True,
)

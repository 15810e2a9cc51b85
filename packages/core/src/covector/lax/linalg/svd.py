"""The singular value decomposition."""

from __future__ import annotations

import enum
from functools import partial
from typing import Any

from covector import lax
from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector._trace.primitive import Primitive
from covector._trace.trace import typeof
from covector.lax.elementwise import scale, unscale
from covector.lax.linalg import _kernels
from covector.lax.linalg._matrix import (
    adjoint,
    batch_in_front,
    check_matrix,
    crop,
    diagonal,
    diagonal_part,
    hermitian,
    identity_like,
    inverse_gaps,
    product,
    real_dtype,
    spread,
    weak_if_all,
)


class SvdAlgorithm(enum.Enum):
    """Algorithms of `svd`: DEFAULT (DIVIDE_AND_CONQUER) and QR on CPU; on GPU DEFAULT, QR, JACOBI
    and POLAR.
    """

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


_ON_CPU = {
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
      NotImplementedError: the platform does not have the algorithm.

    The derivatives of u and vh divide by differences of singular values; about equal ones see
    `eigh`.

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


@weak_if_all
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


def _on_cpu(x: Any, *, algorithm: Any, compute_uv: bool, **params: Any) -> list[Any]:
    if algorithm not in _ON_CPU:
        raise NotImplementedError(f"svd: algorithm {algorithm} is not available on CPU")
    return _factor(x, partial(_by_lapack, _ON_CPU[algorithm], compute_uv), compute_uv, **params)


def _on_gpu(x: Any, *, algorithm: Any, compute_uv: bool, **params: Any) -> list[Any]:
    """Jacobi's rotations for matrices of up to 1024 rows and columns, unless told otherwise."""
    if algorithm in (None, SvdAlgorithm.DEFAULT):
        small = max(typeof(x).shape[-2:]) <= 1024
        algorithm = SvdAlgorithm.JACOBI if small else SvdAlgorithm.QR
    if algorithm is SvdAlgorithm.DIVIDE_AND_CONQUER:
        raise NotImplementedError(f"svd: algorithm {algorithm} is not available on GPUs of NVIDIA")
    by_qr = algorithm is SvdAlgorithm.QR
    factors = _by_gesvd if by_qr else partial(_by_rotations, algorithm is SvdAlgorithm.JACOBI)
    return _factor(x, partial(factors, compute_uv), compute_uv, **params)


def _factor(
    x: Any, factors: Any, compute_uv: bool, *, full_matrices: bool, subset_by_index: Any
) -> list[Any]:
    """``factors`` gives s, u, vh and info, with the functions' wish for full matrices."""
    aval = typeof(x)
    *stack, m, n = aval.shape
    k = min(m, n)
    if aval.size == 0:
        columns, rows = (m, n) if full_matrices else (k, k)
        s = lax.full((*stack, k), 0, real_dtype(aval.dtype))
        outs = [s, identity_like(x, m, columns), identity_like(x, rows, n)]
    else:
        *outs, info = factors(x, full_matrices)
        outs = _kernels.nan_where_failed(info, *outs[: 3 if compute_uv else 1])
    outs = outs if compute_uv else outs[:1]
    return _subset(outs, *subset_by_index) if subset_by_index not in (None, (0, k)) else outs


def _results(x: Any, u: tuple[int, ...], v: tuple[int, ...]) -> list[tuple[Any, Any]]:
    """The types of the kernels' results: what is left of x, s, two of vectors, and info."""
    aval = typeof(x)
    *stack, m, n = aval.shape
    vectors = [((*stack, *shape) if shape else (), aval.dtype) for shape in (u, v)]
    s = ((*stack, min(m, n)), real_dtype(aval.dtype))
    return [(aval.shape, aval.dtype), s, *vectors, (stack, _kernels.INT32)]


def _by_lapack(routine: str, compute_uv: bool, x: Any, full_matrices: bool) -> list[Any]:
    m, n = typeof(x).shape[-2:]
    columns, rows = (m, n) if full_matrices else (min(m, n),) * 2
    mode = ("A" if full_matrices else "S") if compute_uv else "N"
    outs = _results(x, (m, columns), (rows, n))
    alias = {"aliases": [(0, 0)], "mode": mode}
    return _kernels.lapack(routine, [x], outs, matrices=("m", "m-mm-"), **alias)[1:]


def _by_gesvd(compute_uv: bool, x: Any, full_matrices: bool) -> list[Any]:
    """QR iterations of cuSOLVER, which wants tall matrices: wide ones it reads as their transposes,
    that is row major, and u and vh change places."""
    m, n = typeof(x).shape[-2:]
    wide = m < n
    columns, rows = (m, n) if full_matrices else (min(m, n),) * 2
    u, vh = ((m, columns), (rows, n)) if compute_uv else ((), ())
    kinds = ("-", "-----") if wide else ("m", "m-mm-" if compute_uv else "m----")
    options = {"compute_uv": compute_uv, "full_matrices": full_matrices, "transposed": wide}
    _, s, first, second, info = _kernels.kernel(
        "cusolver_gesvd_ffi",
        [x],
        _results(x, *((vh, u) if wide else (u, vh))),
        matrices=kinds,
        aliases=[(0, 0)],
        **options,
    )
    return [s, second, first, info] if wide else [s, first, second, info]


def _by_rotations(jacobi: bool, compute_uv: bool, x: Any, full_matrices: bool) -> list[Any]:
    """Jacobi's rotations, which give full matrices always, or the polar decomposition."""
    m, n = typeof(x).shape[-2:]
    k = min(m, n)
    full = full_matrices or jacobi
    columns, rows = (m, n) if full else (k, k)
    _, s, u, v, info = _kernels.kernel(
        "cusolver_gesvdj_ffi" if jacobi else "cusolver_gesvdp_ffi",
        [x],
        _results(x, (m, columns), (n, rows)),
        matrices=("m", "m-mm-"),
        aliases=[(0, 0)],
        compute_uv=compute_uv,
        full_matrices=full,
    )
    vh = adjoint(v)
    return [s, u, vh, info] if full_matrices else [s, crop(u, m, k), crop(vh, k, n), info]


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
    """``ds = Re diag(C)`` with ``C = P + Q = u^H dx v``, P Hermitian and Q antihermitian; and
    ``du, dv = u, v times (P / (s_j - s_i) +- Q / (s_i + s_j))``, plus what leaves the spanned space
    (Townsend 2016, whose quotients by ``s_j^2 - s_i^2`` are taken apart here)."""
    _check_differentiable(typeof(primals[0]).shape, params)
    change = tangents[0]
    s, u, vh = svd_p.bind(*primals, **{**params, "compute_uv": True, "full_matrices": False})
    v = adjoint(vh)
    c = product(adjoint(u), change, v)
    is_complex = dtypes.is_complex(typeof(c).dtype)
    d_s = lax.real(diagonal(c)) if is_complex else diagonal(c)
    if not params["compute_uv"]:
        return [s], [d_s]
    p = hermitian(c)
    q = lax.sub(c, p)
    row, column = spread(s, c, -2), spread(s, c, -1)
    even = scale(p, inverse_gaps(s, c))
    odd = unscale(lax.sub(q, diagonal_part(q)), lax.add(row, column))
    d_u, d_v = lax.add(even, odd), lax.sub(even, odd)
    if is_complex:  # s stays real: the phases' change is u's
        d_u = lax.add(d_u, unscale(diagonal_part(q), column))
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
    lower=_kernels.lower_on("svd", cpu=_on_cpu, gpu=_on_gpu),
    jvp=_jvp,
    batch=batch_in_front(lambda: svd_p),
    multiple_results=True,
)

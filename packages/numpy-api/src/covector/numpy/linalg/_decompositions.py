"""Factors of matrices, eigenvalues, singular values, and what they give: ranks, pseudoinverses."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from covector import lax
from covector._api.jit import library_function
from covector._ir import dtypes
from covector._trace.trace import typeof
from covector.custom_derivatives import custom_jvp
from covector.errors import ShapeError
from covector.numpy import _reductions
from covector.numpy._manipulation import matrix_transpose, reshape
from covector.numpy._operands import (
    Array,
    ArrayLike,
    check_arraylike,
    promote_dtypes_inexact,
)
from covector.numpy._products import matmul
from covector.numpy._searching import where
from covector.numpy._taking import take_along_axis
from covector.numpy.linalg._norms import norm
from covector.numpy.linalg._solving import inv, square_matrices


class EigResult(NamedTuple):
    """The result of `eig`."""

    eigenvalues: Any
    eigenvectors: Any


class EighResult(NamedTuple):
    """The result of `eigh`."""

    eigenvalues: Any
    eigenvectors: Any


class QRResult(NamedTuple):
    """The result of `qr`."""

    Q: Any
    R: Any


class SVDResult(NamedTuple):
    """The result of `svd`."""

    U: Any
    S: Any
    Vh: Any


def _matrices(name: str, a: Any) -> Any:
    """The operand as matrices of a floating-point dtype, not weak."""
    check_arraylike(name, a)
    (a,) = promote_dtypes_inexact(a)
    if typeof(a).ndim < 2:
        raise ShapeError(f"{name}: the operand must be matrices, got shape {typeof(a).shape}.")
    return lax.convert_element_type(a, typeof(a).dtype)


def _adjoint(x: Any) -> Any:
    x = lax.conj(x) if dtypes.is_complex(typeof(x).dtype) else x
    return matrix_transpose(x)


# --- triangular factors --------------------------------------------------------------------------


@library_function(operands=("a",))
def cholesky(a: ArrayLike, *, upper: bool = False, symmetrize_input: bool = True) -> Array:
    """The lower triangular factors of positive definite matrices, ``a = l @ l^H``; else NaN.

    Args:
      upper: give the upper triangular factor, ``a = u^H @ u``.
      symmetrize_input: use the mean of ``a`` and its adjoint.

    >>> print(jnp.linalg.cholesky(jnp.array([[4.0, 2.0], [2.0, 2.0]])))
    [[2. 0.]
     [1. 1.]]
    """
    a = square_matrices("cholesky", a)
    a = _adjoint(a) if upper else a
    factor = lax.linalg.cholesky(a, symmetrize_input=bool(symmetrize_input))
    return _adjoint(factor) if upper else factor


@library_function(operands=("a",))
def qr(a: ArrayLike, mode: str = "reduced") -> Any:
    """The factors ``a = q @ r``: orthonormal columns, and an upper triangle.

    Args:
      mode: "reduced" (k = min(m, n) columns of q), "complete" (m columns), "r" (only r), or "raw"
        (LAPACK's Householder vectors, transposed, and their factors).

    >>> q, r = jnp.linalg.qr(jnp.array([[3.0, 1.0], [4.0, 2.0]]))
    >>> jnp.allclose(q @ r, jnp.array([[3.0, 1.0], [4.0, 2.0]]), atol=1e-5)
    Array(True, dtype=bool)
    """
    if mode not in ("reduced", "complete", "full", "r", "raw"):
        raise ValueError(f"qr: mode must be 'reduced', 'complete', 'r' or 'raw', got {mode!r}.")
    factors = _qr(a, mode=mode)
    return factors[0] if mode == "r" else QRResult(*factors)


def _qr(a: Any, *, mode: str) -> tuple[Any, ...]:
    a = _matrices("qr", a)
    if mode == "raw":
        from covector.lax.linalg.householder import packed_qr

        packed, taus = packed_qr(a)
        return matrix_transpose(packed), taus
    q, r = lax.linalg.qr(a, full_matrices=mode in ("complete", "full"))
    return (r,) if mode == "r" else (q, r)


# --- eigenvalues -------------------------------------------------------------------------------


@library_function(operands=("a",))
def eigh(a: ArrayLike, UPLO: str | None = None, symmetrize_input: bool = True) -> EighResult:
    """The rising eigenvalues and the eigenvectors (columns) of symmetric or Hermitian matrices.

    Args:
      UPLO: "L" or "U": which triangle is read, without ``symmetrize_input``.
      symmetrize_input: use the mean of ``a`` and its adjoint.

    >>> print(jnp.linalg.eigh(jnp.array([[2.0, 0.0], [0.0, 1.0]])).eigenvalues)
    [1. 2.]
    """
    if UPLO not in (None, "L", "U"):
        raise ValueError(f"UPLO must be one of None, 'L', or 'U', got {UPLO!r}")
    return EighResult(*_eigh(a, lower=UPLO != "U", symmetrize=bool(symmetrize_input)))


def _eigh(a: Any, *, lower: bool, symmetrize: bool) -> tuple[Any, Any]:
    a = square_matrices("eigh", a)
    vectors, values = lax.linalg.eigh(a, lower=lower, symmetrize_input=symmetrize)
    return values, vectors


@library_function(operands=("a",))
def eigvalsh(a: ArrayLike, UPLO: str | None = "L", *, symmetrize_input: bool = True) -> Array:
    """The eigenvalues, rising, of symmetric or Hermitian matrices. Arguments: see `eigh`.

    >>> print(jnp.linalg.eigvalsh(jnp.array([[2.0, 0.0], [0.0, 1.0]])))
    [1. 2.]
    """
    return eigh(a, UPLO, symmetrize_input).eigenvalues


@library_function(operands=("a",))
def eig(a: ArrayLike) -> EigResult:
    """The complex eigenvalues and eigenvectors (columns of norm one) of square matrices.

    An eigenvector's phase is free, so a derivative makes sense only for what does not depend on it.

    >>> print(jnp.linalg.eig(jnp.array([[0.0, 1.0], [-1.0, 0.0]])).eigenvalues)
    [0.+1.j 0.-1.j]
    """
    return EigResult(*_eig(a))


def _eig(a: Any) -> tuple[Any, Any]:
    a = square_matrices("eig", a)
    values, vectors = lax.linalg.eig(a, compute_left_eigenvectors=False, enable_eigvec_derivs=True)
    return values, vectors


@library_function
def eigvals(a: ArrayLike) -> Array:
    """The complex eigenvalues of square matrices.

    >>> print(jnp.linalg.eigvals(jnp.array([[2.0, 0.0], [0.0, 1.0]])))
    [2.+0.j 1.+0.j]
    """
    a = square_matrices("eigvals", a)
    options = {"compute_left_eigenvectors": False, "compute_right_eigenvectors": False}
    return lax.linalg.eig(a, **options)[0]


# --- singular values -----------------------------------------------------------------------------


@library_function(operands=("a",))
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Any:
    """The factors ``a = (u * s) @ vh``: orthonormal u and vh, and falling singular values s.

    Args:
      full_matrices: make u and vh square.
      compute_uv: give (u, s, vh); else s alone.
      hermitian: promise that ``a`` is symmetric or Hermitian, which is faster.
      subset_by_index: only the singular values of these positions: first, and one past the last.

    >>> print(jnp.linalg.svd(jnp.array([[3.0, 0.0], [0.0, 4.0]]), compute_uv=False))
    [4. 3.]
    """
    subset = None if subset_by_index is None else tuple(subset_by_index)
    if hermitian and subset is not None:
        raise NotImplementedError("svd: subset_by_index does not go with hermitian=True.")
    factors = _svd(
        a,
        full=bool(full_matrices),
        compute_uv=bool(compute_uv),
        hermitian=bool(hermitian),
        subset=subset,
    )
    return SVDResult(*factors) if compute_uv else factors[0]


def _svd(a: Any, *, full: bool, compute_uv: bool, hermitian: bool, subset: Any) -> tuple[Any, ...]:
    if hermitian:
        return _hermitian_svd(square_matrices("svd", a), compute_uv)
    a = _matrices("svd", a)
    options = {"compute_uv": compute_uv, "subset_by_index": subset}
    found = lax.linalg.svd(a, full_matrices=full, **options)
    return tuple(found) if compute_uv else (found,)


def _hermitian_svd(a: Any, compute_uv: bool) -> tuple[Any, ...]:
    """Singular values are the sizes of eigenvalues; their signs go to one side."""
    v, w = lax.linalg.eigh(a)
    s = lax.abs(w)
    dimension = typeof(s).ndim - 1
    places = lax.broadcasted_iota(np.dtype("int32"), typeof(s).shape, dimension)
    _, order = lax.sort((lax.neg(s), places), dimension=dimension, num_keys=1)
    s = take_along_axis(s, order, axis=-1)
    if not compute_uv:
        return (s,)
    sign = where(take_along_axis(w, order, axis=-1) < 0, -1, 1).astype(typeof(a).dtype)
    u = take_along_axis(v, order[..., None, :], axis=-1)
    return u, s, _adjoint(u * sign[..., None, :])


def svdvals(x: ArrayLike, /) -> Array:
    """The singular values, falling.

    >>> print(jnp.linalg.svdvals(jnp.array([[3.0, 0.0], [0.0, 4.0]])))
    [4. 3.]
    """
    return svd(x, compute_uv=False)


@library_function(operands=("x",))
def cond(x: ArrayLike, p: Any = None) -> Array:
    """The condition number: the norm of a matrix times that of its inverse.

    Args:
      p: the norm (see `norm`); None for the ratio of extreme singular values.

    >>> print(jnp.linalg.cond(jnp.array([[4.0, 0.0], [0.0, 2.0]])))
    2.0
    """
    check_arraylike("cond", x)
    if 0 in typeof(x).shape[-2:]:
        raise ValueError(f"linalg.cond: x must not be empty, got shape {typeof(x).shape}.")
    if p in (None, 2, -2):
        values = svdvals(x)
        first, last = values[..., 0], values[..., -1]
        return last / first if p == -2 else where(last == 0, np.inf, first / last)
    result = norm(x, p, (-2, -1)) * norm(inv(x), p, (-2, -1))
    undefined = _reductions.any(x != x, (-2, -1))
    return where(~undefined & (result != result), np.inf, result)


@library_function(operands=("M", "rtol", "tol"))
def matrix_rank(
    M: ArrayLike, rtol: Any = None, *, hermitian: bool = False, tol: Any = None
) -> Array:
    """The number of singular values above a limit.

    Args:
      rtol: the limit relative to the largest; by default max(m, n) * eps.
      hermitian: promise that ``M`` is symmetric or Hermitian.
      tol: the old name of ``rtol``.

    >>> print(jnp.linalg.matrix_rank(jnp.ones((3, 3))))
    1
    """
    rtol = tol if rtol is None else rtol
    check_arraylike("matrix_rank", M)
    if typeof(M).ndim < 2:
        return _reductions.any(M != 0).astype(dtypes.canonicalize_dtype("int64"))
    s = svd(M, compute_uv=False, hermitian=hermitian)
    limit = _relative_limit(typeof(M).shape, s) if rtol is None else rtol
    return _reductions.sum(s > _reductions.max(s, -1, keepdims=True) * limit, -1)


def _relative_limit(shape: tuple[int, ...], s: Any) -> Any:
    return max(shape[-2:]) * float(dtypes.finfo(typeof(s).dtype).eps)


def pinv(a: ArrayLike, rtol: Any = None, hermitian: bool = False, *, rcond: Any = None) -> Array:
    """The pseudoinverses of Moore and Penrose.

    Args:
      rtol: singular values at most this times the largest count as zero; by default
        10 * max(m, n) * eps. ``rcond`` is its old name.
      hermitian: promise that ``a`` is symmetric or Hermitian.

    >>> print(jnp.linalg.pinv(jnp.array([[2.0, 0.0], [0.0, 0.0]])))
    [[0.5 0. ]
     [0.  0. ]]
    """
    rtol = rcond if rtol is None else rtol
    return _pinv(a, rtol, hermitian=bool(hermitian))


@library_function(static_argnames="hermitian")
def _pinv(a: Any, rtol: Any, *, hermitian: bool) -> Any:
    a = _matrices("pinv", a)
    shape = typeof(a).shape
    if 0 in shape[-2:]:
        return lax.full((*shape[:-2], shape[-1], shape[-2]), 0, typeof(a).dtype)
    if rtol is None:
        rtol = 10 * max(shape[-2:]) * float(dtypes.finfo(typeof(a).dtype).eps)
    real = dtypes.to_real_dtype(typeof(a).dtype)
    rtol = lax.convert_element_type(rtol, real)
    return (_hermitian_pseudoinverse if hermitian else _pseudoinverse)(a, lax.stop_gradient(rtol))


def _inverse_by_svd(a: Any, rtol: Any, hermitian: bool) -> Any:
    u, s, vh = svd(a, full_matrices=False, hermitian=hermitian)
    limit = (rtol if typeof(rtol).ndim == 0 else rtol[..., None]) * s[..., :1]
    kept = s > limit
    inverse = where(kept, 1 / where(kept, s, 1), 0).astype(typeof(a).dtype)
    return matmul(_adjoint(vh), inverse[..., None] * _adjoint(u))


def _with_golubs_derivative(hermitian: bool) -> Any:
    @custom_jvp
    def pseudoinverse(a: Any, rtol: Any) -> Any:
        return _inverse_by_svd(a, rtol, hermitian)

    @pseudoinverse.defjvp
    def derivative(primals: Any, tangents: Any) -> Any:
        """Golub and Pereyra, SIAM J. Numer. Anal. 10 (1973), for constant rank."""
        (a, rtol), (t, _) = primals, tangents
        p = pseudoinverse(a, rtol)
        ph, th = _adjoint(p), _adjoint(t)
        first = matmul(matmul(p, t), p)
        second = matmul(matmul(p, ph), th - matmul(matmul(th, a), p))
        third = matmul(th - matmul(p, matmul(a, th)), matmul(ph, p))
        return p, second + third - first

    return pseudoinverse


_pseudoinverse = _with_golubs_derivative(hermitian=False)
_hermitian_pseudoinverse = _with_golubs_derivative(hermitian=True)


def lstsq(
    a: ArrayLike, b: ArrayLike, rcond: float | None = None, *, numpy_resid: bool = False
) -> tuple[Array, Array, Array, Array]:
    """The x for which the sum of squares of ``b - a @ x`` is smallest, and x itself among those.

    Args:
      rcond: singular values below this times the largest count as zero; by default
        max(m, n) * eps; -1 for none.
      numpy_resid: give an empty array of residuals where NumPy does (rank below n, or m <= n).

    Returns:
      x, the sums of squares, the rank, and the singular values.

    >>> x, *_ = jnp.linalg.lstsq(jnp.array([[1.0], [1.0]]), jnp.array([1.0, 3.0]))
    >>> print(jnp.round(x, 3))
    [2.]
    """
    check_arraylike("lstsq", a, b)
    x, residuals, rank, s = _lstsq(a, b, rcond=None if rcond is None else float(rcond))
    if numpy_resid:
        m, n = typeof(a).shape
        if m <= n or int(rank) < n:
            residuals = lax.full((0,), 0, typeof(residuals).dtype)
    return x, residuals, rank, s


@library_function(static_argnames="rcond")
def _lstsq(a: Any, b: Any, *, rcond: float | None) -> tuple[Any, ...]:
    a, b = promote_dtypes_inexact(a, b)
    dtype = typeof(a).dtype
    a, b = [lax.convert_element_type(x, dtype) for x in (a, b)]
    if (
        typeof(a).ndim != 2
        or typeof(b).ndim not in (1, 2)
        or typeof(a).shape[0] != typeof(b).shape[0]
    ):
        raise ShapeError(
            f"lstsq: a must have shape (m, n) and b (m,) or (m, k), got {typeof(a).shape} and "
            f"{typeof(b).shape}."
        )
    vector = typeof(b).ndim == 1
    rows = reshape(b, (-1, 1)) if vector else b
    u, s, vh = svd(a, full_matrices=False)
    limit = _relative_limit(typeof(a).shape, s) if rcond is None else max(rcond, 0.0)
    kept = s >= limit * s[:1] if typeof(s).shape[0] else s > 0
    inverse = where(kept & (s > 0), 1 / where(s > 0, s, 1), 0).astype(dtype)
    x = matmul(_adjoint(vh), inverse[:, None] * matmul(_adjoint(u), rows))
    errors = rows - matmul(a, x)
    residuals = _reductions.sum(lax.square(lax.abs(errors)), 0)
    rank = _reductions.sum(kept & (s > 0))
    return (x[:, 0] if vector else x), residuals, rank, s

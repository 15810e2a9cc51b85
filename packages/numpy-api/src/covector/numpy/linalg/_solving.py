"""Linear equations, inverses and determinants, all by LU factors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import index
from typing import Any, NamedTuple

import numpy as np
from covector import lax
from covector._api.jit import library_function
from covector._ir import dtypes
from covector._trace.trace import typeof
from covector.custom_derivatives import custom_jvp
from covector.errors import ShapeError
from covector.lax.linalg._matrix import take_rows
from covector.lax.linalg.householder import packed_qr
from covector.numpy import _matrices, _reductions
from covector.numpy._manipulation import broadcast_to, matrix_transpose, moveaxis, reshape
from covector.numpy._operands import (
    Array,
    ArrayLike,
    canonical_axes,
    check_arraylike,
    common_shape,
    promote_dtypes_inexact,
)
from covector.numpy._products import matmul
from covector.numpy._searching import where


class SlogdetResult(NamedTuple):
    """The result of `slogdet`."""

    sign: Any
    logabsdet: Any


def square_matrices(name: str, a: Any) -> Any:
    """The operand as square matrices of a floating-point dtype, not weak."""
    check_arraylike(name, a)
    (a,) = promote_dtypes_inexact(a)
    shape = typeof(a).shape
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise ShapeError(f"{name}: a must have shape (..., n, n), got {shape}.")
    return lax.convert_element_type(a, typeof(a).dtype)


# --- equations ---------------------------------------------------------------------------------


@library_function
def solve(a: ArrayLike, b: ArrayLike) -> Array:
    """The solution x of ``a @ x = b``. Leading axes broadcast.

    Args:
      a: of shape (..., n, n).
      b: of shape (n,) for one vector, or (..., n, k).

    Raises:
      ShapeError: ``a`` is not square, or the shapes do not fit.

    >>> print(jnp.linalg.solve(jnp.array([[2.0, 0.0], [0.0, 4.0]]), jnp.array([2.0, 2.0])))
    [1.  0.5]
    """
    check_arraylike("solve", a, b)
    a, b = promote_dtypes_inexact(a, b)
    a = square_matrices("solve", a)
    b = lax.convert_element_type(b, typeof(a).dtype)
    n = typeof(a).shape[-1]
    vector = typeof(b).ndim == 1
    columns = reshape(b, (*typeof(b).shape, 1)) if vector else b
    if typeof(columns).ndim < 2 or typeof(columns).shape[-2] != n:
        raise ShapeError(
            f"solve: b must have shape ({n},) or (..., {n}, k) for a of shape {typeof(a).shape}, "
            f"got {typeof(b).shape}."
        )
    x = _solve(a, columns)
    return lax.squeeze(x, (typeof(x).ndim - 1,)) if vector else x


def _solve(a: Any, b: Any) -> Any:
    """The system itself is differentiated, not the steps of its solution."""
    batch = common_shape("solve", typeof(a).shape[:-2], typeof(b).shape[:-2])
    a = broadcast_to(a, (*batch, *typeof(a).shape[-2:]))
    b = broadcast_to(b, (*batch, *typeof(b).shape[-2:]))
    packed, _, permutation = [lax.stop_gradient(x) for x in lax.linalg.lu(a)]
    return lax.custom_linear_solve(
        lambda x: matmul(a, x),
        b,
        solve=lambda _, y: _by_factors(packed, permutation, y),
        transpose_solve=lambda _, y: _by_transposed_factors(packed, permutation, y),
    )


def _by_factors(packed: Any, permutation: Any, b: Any) -> Any:
    b = take_rows(b, permutation)
    y = lax.linalg.triangular_solve(packed, b, left_side=True, lower=True, unit_diagonal=True)
    return lax.linalg.triangular_solve(packed, y, left_side=True, lower=False)


def _by_transposed_factors(packed: Any, permutation: Any, b: Any) -> Any:
    y = lax.linalg.triangular_solve(packed, b, left_side=True, lower=False, transpose_a=True)
    options = {"left_side": True, "lower": True, "transpose_a": True, "unit_diagonal": True}
    y = lax.linalg.triangular_solve(packed, y, **options)
    return take_rows(y, _inverse_permutation(permutation))


def _inverse_permutation(permutation: Any) -> Any:
    places = lax.broadcasted_iota(
        np.dtype("int32"), typeof(permutation).shape, typeof(permutation).ndim - 1
    )
    return lax.sort((permutation, places), dimension=typeof(permutation).ndim - 1, num_keys=1)[1]


@library_function
def inv(a: ArrayLike) -> Array:
    """The inverses of square matrices. To solve equations, `solve` is faster and more accurate.

    >>> print(jnp.linalg.inv(jnp.array([[2.0, 0.0], [0.0, 4.0]])))
    [[0.5  0.  ]
     [0.   0.25]]
    """
    a = square_matrices("inv", a)
    shape = typeof(a).shape
    return _solve(a, broadcast_to(_matrices.eye(shape[-1], dtype=typeof(a).dtype), shape))


# --- determinants --------------------------------------------------------------------------------


@library_function
def det(a: ArrayLike) -> Array:
    """The determinants of square matrices. Its derivative is right for singular ones too.

    >>> print(jnp.linalg.det(jnp.array([[2.0, 1.0], [1.0, 4.0]])))
    7.0
    """
    a = square_matrices("det", a)
    n = typeof(a).shape[-1]
    return _explicit_determinant(a) if n <= 3 else _determinant(a)


def _explicit_determinant(a: Any) -> Any:
    n = typeof(a).shape[-1]
    if n == 0:
        return lax.full(typeof(a).shape[:-2], 1, typeof(a).dtype)
    if n == 1:
        return a[..., 0, 0]
    if n == 2:
        return a[..., 0, 0] * a[..., 1, 1] - a[..., 0, 1] * a[..., 1, 0]
    first, second, third = [[a[..., i, j] for j in range(3)] for i in range(3)]
    return (
        first[0] * (second[1] * third[2] - second[2] * third[1])
        - first[1] * (second[0] * third[2] - second[2] * third[0])
        + first[2] * (second[0] * third[1] - second[1] * third[0])
    )


@custom_jvp
def _determinant(a: Any) -> Any:
    packed, pivots, _ = lax.linalg.lu(a)
    return _parity(pivots, typeof(a).dtype) * _reductions.prod(
        _matrices.diagonal(packed, 0, -2, -1), -1
    )


def _parity(pivots: Any, dtype: np.dtype) -> Any:
    """1 or -1: the sign of the permutation that the pivots make."""
    place = lax.broadcasted_iota(
        typeof(pivots).dtype, typeof(pivots).shape, typeof(pivots).ndim - 1
    )
    swaps = _reductions.sum(pivots != place, -1)
    return where(swaps % 2 == 0, dtype.type(1), dtype.type(-1))


@_determinant.defjvp
def _determinant_jvp(primals: Any, tangents: Any) -> Any:
    """By Jacobi's formula: the trace of adj(a) times the tangent."""
    (a,), (t,) = primals, tangents
    value = _determinant(a)
    regular = value != 0
    adjugate = lax.cond(
        _reductions.all(regular), lambda a: _regular_adjugate(a), lambda a: _any_adjugate(a), a
    )
    return value, _reductions.sum(matrix_transpose(adjugate) * t, (-2, -1))


def _regular_adjugate(a: Any) -> Any:
    return _determinant(a)[..., None, None] * inv(a)


def _any_adjugate(a: Any) -> Any:
    """adj(u s v) = adj(v) adj(s) adj(u): products of all singular values but one."""
    u, s, vh = lax.linalg.svd(a)
    ones = lax.full((*typeof(s).shape[:-1], 1), 1, typeof(s).dtype)
    before = lax.concatenate([ones, _reductions.cumprod(s, -1)[..., :-1]], typeof(s).ndim - 1)
    behind = _reductions.cumprod(s[..., ::-1], -1)[..., ::-1][..., 1:]
    others = before * lax.concatenate([behind, ones], typeof(s).ndim - 1)
    sign = _determinant(u) * _determinant(vh)
    v, uh = [matrix_transpose(x.conj()) for x in (vh, u)]
    return sign[..., None, None] * matmul(v * others[..., None, :].astype(typeof(a).dtype), uh)


@library_function(operands=("a",))
def slogdet(a: ArrayLike, *, method: str | None = None) -> SlogdetResult:
    """The sign of the determinants, and the logarithm of their absolute value.

    Args:
      method: the factorization to use, "lu" (None, the default) or, for real matrices, "qr".

    Raises:
      ValueError: ``method`` is another.
      NotImplementedError: it is "qr", and ``a`` is complex.

    >>> print(*jnp.linalg.slogdet(jnp.array([[2.0, 0.0], [0.0, -0.5]])))
    -1.0 0.0
    """
    if method not in (None, "lu", "qr"):
        raise ValueError(f"slogdet: method must be 'lu', 'qr' or None, got {method!r}.")
    return SlogdetResult(*_slogdet(a, method=method or "lu"))


def _slogdet(a: Any, *, method: str) -> tuple[Any, Any]:
    a = square_matrices("slogdet", a)
    if method == "lu":
        return _by_lu(a)
    if dtypes.is_complex(typeof(a).dtype):
        raise NotImplementedError("slogdet: the method 'qr' takes real matrices. Use 'lu'.")
    return _by_qr(a)


@custom_jvp
def _by_lu(a: Any) -> tuple[Any, Any]:
    packed, pivots, _ = lax.linalg.lu(a)
    return _signs_and_logs(packed, _parity(pivots, typeof(a).dtype))


@custom_jvp
def _by_qr(a: Any) -> tuple[Any, Any]:
    packed, taus = packed_qr(a)
    # Each reflection that is not the identity turns the sign.
    turns = where(taus == 0, 1, -1).astype(typeof(a).dtype)
    return _signs_and_logs(packed, _reductions.prod(turns, -1))


def _signs_and_logs(triangular: Any, sign: Any) -> tuple[Any, Any]:
    """Of the products of a sign and the diagonal of triangular matrices."""
    diagonal = _matrices.diagonal(triangular, 0, -2, -1)
    size = lax.abs(diagonal)
    unit = where(size == 0, 0, diagonal / where(size == 0, 1, size)).astype(typeof(diagonal).dtype)
    return sign * _reductions.prod(unit, -1), _reductions.sum(lax.log(size), -1)


def _jvp_of(function: Any) -> Any:
    def jvp(primals: Any, tangents: Any) -> Any:
        """By the trace of ``inv(a) @ t``: its real part is that of the logarithm."""
        (a,), (t,) = primals, tangents
        sign, log = function(a)
        trace = _matrices.trace(_solve(a, t), 0, -2, -1)
        if dtypes.is_complex(typeof(a).dtype):
            rotation = lax.complex(lax.full_like(trace.imag, 0), trace.imag)
            return (sign, log), (sign * rotation, trace.real)
        return (sign, log), (lax.full_like(sign, 0), trace)

    return jvp


for _function in (_by_lu, _by_qr):
    _function.defjvp(_jvp_of(_function))


# --- tensors -----------------------------------------------------------------------------------


@library_function(operands=("a", "b"))
def tensorsolve(a: ArrayLike, b: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """The solution x of ``tensordot(a, x, x.ndim) = b``.

    Args:
      axes: axes of ``a`` to move to the end first.

    >>> jnp.linalg.tensorsolve(jnp.eye(6).reshape(2, 3, 2, 3), jnp.ones((2, 3))).shape
    (2, 3)
    """
    check_arraylike("tensorsolve", a, b)
    rank = typeof(a).ndim
    if axes is not None:
        a = moveaxis(a, canonical_axes(tuple(axes), rank), range(rank - len(axes), rank))
    shape = typeof(a).shape[typeof(b).ndim :]
    if typeof(a).size != math.prod(shape) ** 2:
        raise ShapeError(
            f"tensorsolve: a of shape {typeof(a).shape} must be square: its first axes hold as "
            f"many elements as its last ones, {shape}."
        )
    matrix = reshape(a, (-1, math.prod(shape)))
    return reshape(solve(matrix, reshape(b, (-1,))), shape)


@library_function(operands=("a",))
def tensorinv(a: ArrayLike, ind: int = 2) -> Array:
    """The inverse of ``tensordot`` with ``a``: its first ``ind`` axes are taken as rows.

    >>> jnp.linalg.tensorinv(jnp.eye(6).reshape(2, 3, 2, 3)).shape
    (2, 3, 2, 3)
    """
    check_arraylike("tensorinv", a)
    ind = index(ind)
    if ind <= 0:
        raise ValueError(f"tensorinv: ind must be a positive integer; got ind={ind}.")
    shape = typeof(a).shape
    rows, columns = shape[:ind], shape[ind:]
    if math.prod(rows) != math.prod(columns):
        raise ShapeError(
            f"tensorinv: the axes before and behind ind={ind} must match, got {shape}."
        )
    inverse = inv(reshape(a, (math.prod(rows), math.prod(columns))))
    return reshape(inverse, (*columns, *rows))

"""The Cholesky factorization."""

from __future__ import annotations

from typing import Any

from covector import lax
from covector._ir.avals import ShapedArray
from covector._lower.module import lower_by
from covector._trace.primitive import Primitive
from covector._trace.trace import typeof
from covector.lax.linalg import _lapack
from covector.lax.linalg._matrix import (
    as_inexact,
    batch_in_front,
    check_matrix,
    check_square,
    diagonal_part,
    halved,
    hermitian,
    lower_part,
    product,
)
from covector.lax.linalg.triangular import triangular_solve


def cholesky(x: Any, *, symmetrize_input: bool = True) -> Any:
    """The lower triangular L with ``L @ L^H = x``, of positive definite Hermitian matrices.

    Args:
      x: of shape (..., n, n).
      symmetrize_input: factor ``(x + x^H) / 2``; else only the lower triangle is read.

    Returns:
      L, of ``x``'s shape and dtype; its triangle is nan if ``x`` is not positive definite.

    Raises:
      ValueError: ``x`` is not square.

    >>> lax.linalg.cholesky(np.array([[4.0, 2.0], [2.0, 5.0]]))
    Array([[2., 0.],
           [1., 2.]], dtype=float32)
    """
    check_square("linalg.cholesky", typeof(x))
    x = as_inexact(x)
    return lower_part(cholesky_p.bind(hermitian(x) if symmetrize_input else x))


def _abstract(aval: ShapedArray) -> ShapedArray:
    check_matrix("cholesky", aval, square=True)
    return aval.strip_weak_type()


def _potrf(x: Any) -> Any:
    aval = typeof(x)
    if aval.size == 0:
        return x
    stack = aval.shape[:-2]
    out, info = _lapack.call(
        "potrf",
        [x],
        [(aval.shape, aval.dtype), (stack, _lapack.INT32)],
        matrices=("m", "m-"),
        aliases=[(0, 0)],
        uplo="L",
    )
    return _lapack.nan_unless(_lapack.succeeded(info), out)


_lower_by_lapack = lower_by(_potrf)


def _lower(ctx: Any, args: Any, in_avals: Any, out_avals: Any) -> list[str]:
    if ctx.platform == "cpu":
        return _lower_by_lapack(ctx, args, in_avals, out_avals)
    return ctx.emit(f"stablehlo.cholesky {args[0]}, lower = true : {out_avals[0].mlir}")


def _jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    """``dL = L phi(L^-1 dA L^-H)``, phi the lower part with half the diagonal (Murray 2016)."""
    factor = lower_part(cholesky_p.bind(*primals))
    left = triangular_solve(
        factor, tangents[0], left_side=False, transpose_a=True, conjugate_a=True, lower=True
    )
    middle = triangular_solve(factor, left, left_side=True, lower=True)
    phi = lax.sub(lower_part(middle), halved(diagonal_part(middle)))
    return factor, product(factor, phi)


cholesky_p = Primitive(
    "cholesky", abstract=_abstract, lower=_lower, jvp=_jvp, batch=batch_in_front(lambda: cholesky_p)
)

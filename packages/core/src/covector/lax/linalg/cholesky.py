"""The Cholesky factorization."""

from __future__ import annotations

from typing import Any

from covector import lax
from covector._ir.avals import ShapedArray
from covector._trace.primitive import Primitive
from covector._trace.trace import typeof
from covector.lax.linalg import _kernels
from covector.lax.linalg._matrix import (
    adjoint,
    as_inexact,
    batch_in_front,
    check_matrix,
    check_square,
    diagonal_part,
    halved,
    hermitian,
    lower_part,
    product,
    weak_if_all,
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


@weak_if_all
def _abstract(aval: ShapedArray) -> ShapedArray:
    check_matrix("cholesky", aval, square=True)
    return aval


def _by_kernel(call: Any, routine: str, **options: Any) -> Any:
    def factor(x: Any) -> Any:
        aval = typeof(x)
        if aval.size == 0:
            return x
        out, info = call(
            routine,
            [x],
            [(aval.shape, aval.dtype), (aval.shape[:-2], _kernels.INT32)],
            matrices=("m", "m-"),
            aliases=[(0, 0)],
            **options,
        )
        return _kernels.nan_unless(_kernels.succeeded(info), out)

    return factor


_by_platform = _kernels.lower_on(
    "cholesky",
    cpu=_by_kernel(_kernels.lapack, "potrf", uplo="L"),
    gpu=_by_kernel(_kernels.kernel, "cusolver_potrf_ffi", lower=True),
)


def _lower(ctx: Any, args: Any, in_avals: Any, out_avals: Any) -> list[str]:
    if ctx.platform == "tpu":
        return ctx.emit(f"stablehlo.cholesky {args[0]}, lower = true : {out_avals[0].mlir}")
    return _by_platform(ctx, args, in_avals, out_avals)


def _jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    """``dL = L phi(L^-1 dA L^-H)``, phi the lower part with half the diagonal (Murray 2016). Of dA
    too, only the lower triangle counts."""
    factor = lower_part(cholesky_p.bind(*primals))
    change = _lower_with_half_diagonal(tangents[0])
    change = lax.add(change, adjoint(change))
    left = triangular_solve(
        factor, change, left_side=False, transpose_a=True, conjugate_a=True, lower=True
    )
    middle = triangular_solve(factor, left, left_side=True, lower=True)
    return factor, product(factor, _lower_with_half_diagonal(middle))


def _lower_with_half_diagonal(x: Any) -> Any:
    return lax.sub(lower_part(x), halved(diagonal_part(x)))


cholesky_p = Primitive(
    "cholesky", abstract=_abstract, lower=_lower, jvp=_jvp, batch=batch_in_front(lambda: cholesky_p)
)

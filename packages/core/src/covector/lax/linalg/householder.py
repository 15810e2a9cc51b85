"""Householder reflections and what is made of them: QR, Hessenberg and tridiagonal forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from covector import lax
from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector._trace.primitive import Primitive
from covector._trace.trace import typeof
from covector.lax.linalg import _kernels
from covector.lax.linalg._matrix import (
    batch_in_front,
    check_matrix,
    diagonal,
    real_dtype,
    weak_if_all,
)


def _routine(aval: ShapedArray, real: str, complex: str) -> str:
    return complex if dtypes.is_complex(aval.dtype) else real


# --- products of reflections ----------------------------------------------------------------------


def householder_product(a: Any, taus: Any) -> Any:
    """The first columns of the product of reflections ``I - taus[i] v_i v_i^H``.

    Args:
      a: of shape (..., m, n); v_i is column i below the diagonal, with 1 on it and 0 above.
      taus: of shape (..., k), k at most min(m, n).

    Returns:
      An array of ``a``'s shape with orthonormal columns, if m >= n.

    >>> lax.linalg.householder_product(np.eye(3, 2), np.zeros(2)).shape
    (3, 2)
    """
    return householder_product_p.bind(a, taus)


@weak_if_all
def _abstract_product(a: ShapedArray, taus: ShapedArray) -> ShapedArray:
    name = "householder_product"
    check_matrix(name, a)
    if taus.dtype != a.dtype:
        raise TypeError(f"{name}: a and taus must have one dtype, got {a.dtype}, {taus.dtype}")
    if taus.ndim < 1:
        raise TypeError(f"Input 1 to {name} must have rank at least 1, but got shape={taus.shape}")
    if taus.shape[:-1] != a.shape[:-2]:
        raise ValueError(
            f"{name}: the leading axes of a of shape {a.shape} and of taus of shape {taus.shape} "
            "must be equal"
        )
    if taus.shape[-1] > min(a.shape[-2:]) or a.shape[-2] < a.shape[-1]:
        raise ValueError(
            f"The second argument to {name} must not have more rows than the minimum of the first "
            f"argument's rows and columns, and the first no more columns than rows. Got taus of "
            f"shape {taus.shape} and a of shape {a.shape}."
        )
    return a


def _product_of(a: Any, taus: Any, call: Any, routine: str) -> Any:
    aval = typeof(a)
    if aval.size == 0:
        return a
    outs = [(aval.shape, aval.dtype)]
    return call(routine, [a, taus], outs, matrices=("m-", "m"), aliases=[(0, 0)])[0]


def _orgqr(a: Any, taus: Any) -> Any:
    return _product_of(a, taus, _kernels.lapack, _routine(typeof(a), "orgqr", "ungqr"))


def _orgqr_on_gpu(a: Any, taus: Any) -> Any:
    return _product_of(a, taus, _kernels.kernel, "cusolver_orgqr_ffi")


def _product_on_tpu(a: Any, taus: Any) -> Any:
    name = "ProductOfElementaryHouseholderReflectors"
    return _kernels.tpu_kernel(name, [a, taus], [(typeof(a).shape, typeof(a).dtype)])[0]


householder_product_p = Primitive(
    "householder_product",
    abstract=_abstract_product,
    lower=_kernels.lower_on(
        "householder_product", cpu=_orgqr, gpu=_orgqr_on_gpu, tpu=_product_on_tpu
    ),
    batch=batch_in_front(lambda: householder_product_p),
)


# --- reductions -----------------------------------------------------------------------------------


def geqrf(a: Any, platform: str) -> tuple[Any, Any]:
    """R in the upper triangle and the reflections of Q below it, and their taus. For lowering."""
    aval = typeof(a)
    *stack, m, n = aval.shape
    outs = [(aval.shape, aval.dtype), ((*stack, min(m, n)), aval.dtype)]
    if platform == "tpu":
        packed, taus = _kernels.tpu_kernel("Qr", [a], outs)
    elif platform == "gpu":
        packed, taus = _kernels.kernel(
            "cusolver_geqrf_ffi", [a], outs, matrices=("m", "m-"), aliases=[(0, 0)]
        )
    else:
        packed, taus = _kernels.lapack("geqrf", [a], outs, matrices=("m", "m-"), aliases=[(0, 0)])
    return packed, taus


def packed_qr(a: Any) -> tuple[Any, Any]:
    """The QR factorization as its reflections, with R above them, and their taus."""
    packed, taus = geqrf_p.bind(a)
    return packed, taus


@weak_if_all
def _abstract_geqrf(a: ShapedArray) -> list[ShapedArray]:
    check_matrix("qr", a)
    return [a, a.update(shape=(*a.shape[:-2], min(a.shape[-2:])))]


def _geqrf_on(platform: str) -> Callable[[Any], tuple[Any, Any]]:
    def lower(a: Any) -> tuple[Any, Any]:
        if typeof(a).size:
            return geqrf(a, platform)
        *stack, m, n = typeof(a).shape
        return a, lax.full((*stack, min(m, n)), 0, typeof(a).dtype)

    return lower


geqrf_p = Primitive(
    "geqrf",
    abstract=_abstract_geqrf,
    lower=_kernels.lower_on("qr", **{p: _geqrf_on(p) for p in ("cpu", "gpu", "tpu")}),
    batch=batch_in_front(lambda: geqrf_p),
    multiple_results=True,
)


def geqp3(a: Any, *, magma: str | None) -> tuple[Any, Any, Any]:
    """Like `geqrf` with the columns in an order (third, from 0) of falling norms. For lowering.

    ``magma``: on GPU, whether that library does it: "on", "off" (LAPACK on the host does) or
    "auto". None: on CPU.
    """
    aval = typeof(a)
    *stack, m, n = aval.shape
    free = lax.full((*stack, n), 0, np.int32)
    on_gpu = {} if magma is None else {"magma": magma}
    call, routine = (_kernels.kernel, "cuhybrid_geqp3") if on_gpu else (_kernels.lapack, "geqp3")
    packed, order, taus = call(
        routine,
        [a, free],
        [
            (aval.shape, aval.dtype),
            ((*stack, n), _kernels.INT32),
            ((*stack, min(m, n)), aval.dtype),
        ],
        matrices=("m-", "m--"),
        aliases=[(0, 0), (1, 1)],
        **on_gpu,
    )
    return packed, taus, lax.sub(order, np.int32(1))


def hessenberg(a: Any) -> list[Any]:
    """Reduce square matrices to upper Hessenberg form by an orthogonal similarity.

    Args:
      a: of shape (..., n, n).

    Returns:
      An array of ``a``'s shape, with the Hessenberg matrix on and above the first subdiagonal and
      the reflections below; and their taus, of shape (..., n - 1).

    >>> [x.shape for x in lax.linalg.hessenberg(np.eye(3))]
    [(3, 3), (2,)]
    """
    return list(hessenberg_p.bind(a))


@weak_if_all
def _abstract_hessenberg(a: ShapedArray) -> list[ShapedArray]:
    check_matrix("hessenberg", a, square=True)
    return [a, a.update(shape=(*a.shape[:-2], max(a.shape[-1] - 1, 0)))]


def _gehrd(a: Any) -> list[Any]:
    aval = typeof(a)
    *stack, _, n = aval.shape
    if aval.size == 0 or n == 1:
        return [a, lax.full((*stack, max(n - 1, 0)), 0, aval.dtype)]
    packed, taus, info = _kernels.lapack(
        "gehrd",
        [a],
        [(aval.shape, aval.dtype), ((*stack, n - 1), aval.dtype), (stack, _kernels.INT32)],
        matrices=("m", "m--"),
        aliases=[(0, 0)],
        low=1,
        high=n,
    )
    return _kernels.nan_where_failed(info, packed, taus)


hessenberg_p = Primitive(
    "hessenberg",
    abstract=_abstract_hessenberg,
    lower=_kernels.lower_on("hessenberg", cpu=_gehrd),
    batch=batch_in_front(lambda: hessenberg_p),
    multiple_results=True,
)


def tridiagonal(a: Any, *, lower: bool = True) -> list[Any]:
    """Reduce symmetric (Hermitian) matrices to tridiagonal form by an orthogonal similarity.

    Args:
      a: of shape (..., n, n); only one triangle is read.
      lower: which.

    Returns:
      An array of ``a``'s shape with the reflections; the real diagonal, of shape (..., n), and
      off-diagonal, (..., n - 1); and the reflections' taus, (..., n - 1).

    >>> diagonal, off_diagonal = lax.linalg.tridiagonal(np.eye(3))[1:3]
    >>> diagonal, off_diagonal
    (Array([1., 1., 1.], dtype=float32), Array([0., 0.], dtype=float32))
    """
    return list(tridiagonal_p.bind(a, lower=bool(lower)))


@weak_if_all
def _abstract_tridiagonal(a: ShapedArray, *, lower: bool) -> list[ShapedArray]:
    check_matrix("tridiagonal", a, square=True)
    *stack, _, n = a.shape
    if n == 0:
        raise ValueError(f"The input to tridiagonal must not be empty. Got shape {a.shape}.")
    real = real_dtype(a.dtype)
    return [
        a,
        ShapedArray((*stack, n), real),
        ShapedArray((*stack, n - 1), real),
        ShapedArray((*stack, n - 1), a.dtype),
    ]


def _sytrd(a: Any, *, lower: bool) -> list[Any]:
    routine = _routine(typeof(a), "sytrd", "hetrd")
    return _reduce(a, _kernels.lapack, routine, uplo="L" if lower else "U")


def _sytrd_on_gpu(a: Any, *, lower: bool) -> list[Any]:
    return _reduce(a, _kernels.kernel, "cusolver_sytrd_ffi", lower=lower)


def _reduce(a: Any, call: Any, routine: str, **options: Any) -> list[Any]:
    aval = typeof(a)
    *stack, _, n = aval.shape
    real = real_dtype(aval.dtype)
    if aval.size == 0 or n == 1:
        d = diagonal(a)
        d = lax.real(d) if dtypes.is_complex(aval.dtype) else d
        return [a, d, lax.full((*stack, n - 1), 0, real), lax.full((*stack, n - 1), 0, aval.dtype)]
    *outs, info = call(
        routine,
        [a],
        [
            (aval.shape, aval.dtype),
            ((*stack, n), real),
            ((*stack, n - 1), real),
            ((*stack, n - 1), aval.dtype),
            (stack, _kernels.INT32),
        ],
        matrices=("m", "m----"),
        aliases=[(0, 0)],
        **options,
    )
    return _kernels.nan_where_failed(info, *outs)


tridiagonal_p = Primitive(
    "tridiagonal",
    abstract=_abstract_tridiagonal,
    lower=_kernels.lower_on("tridiagonal", cpu=_sytrd, gpu=_sytrd_on_gpu),
    batch=batch_in_front(lambda: tridiagonal_p),
    multiple_results=True,
)

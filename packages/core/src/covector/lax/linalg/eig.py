"""Eigenvalues of general square matrices, and the Schur form."""

from __future__ import annotations

import enum
from collections.abc import Callable
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
    identity_like,
    product,
    spread,
    take_rows,
)
from covector.lax.linalg.lu import lu
from covector.lax.linalg.triangular import triangular_solve

# --- eig ------------------------------------------------------------------------------------------


class EigImplementation(enum.Enum):
    """Where `eig` is computed; CPUs have LAPACK."""

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


def eig(
    x: Any,
    *,
    compute_left_eigenvectors: bool = True,
    compute_right_eigenvectors: bool = True,
    enable_eigvec_derivs: bool = False,
    implementation: EigImplementation | None = None,
    use_magma: bool | None = None,
) -> list[Any]:
    """The complex eigenvalues and eigenvectors of general square matrices.

    Args:
      x: of shape (..., n, n).
      compute_left_eigenvectors: return the columns u with ``u^H x = w u^H``.
      compute_right_eigenvectors: return the columns v with ``x v = w v``.
      enable_eigvec_derivs: let right eigenvectors have derivatives: those of vectors of length one
        whose phase does not turn. A function of them should not depend on the phase.
      implementation: on CPU only `EigImplementation.LAPACK` or None.
      use_magma: for GPUs; without effect on CPU.

    Returns:
      The eigenvalues, of shape (..., n), and the vectors asked for, left ones first, (..., n, n).

    Raises:
      ValueError: ``x`` is not square.

    >>> lax.linalg.eig(np.array([[0.0, 1.0], [-1.0, 0.0]]))[0]
    Array([0.+1.j, 0.-1.j], dtype=complex64)
    """
    if implementation is None and use_magma:
        implementation = EigImplementation.MAGMA
    return list(
        eig_p.bind(
            x,
            compute_left_eigenvectors=bool(compute_left_eigenvectors),
            compute_right_eigenvectors=bool(compute_right_eigenvectors),
            enable_eigvec_derivs=bool(enable_eigvec_derivs),
            implementation=implementation,
        )
    )


def _abstract_eig(
    x: ShapedArray,
    *,
    compute_left_eigenvectors: bool,
    compute_right_eigenvectors: bool,
    **params: Any,
) -> list[ShapedArray]:
    check_matrix("eig", x, square=True)
    dtype = dtypes.to_complex_dtype(x.dtype)
    count = compute_left_eigenvectors + compute_right_eigenvectors
    return [ShapedArray(x.shape[:-1], dtype), *[ShapedArray(x.shape, dtype)] * count]


def _geev(
    x: Any,
    *,
    compute_left_eigenvectors: bool,
    compute_right_eigenvectors: bool,
    enable_eigvec_derivs: bool,
    implementation: EigImplementation | None,
) -> list[Any]:
    if implementation not in (None, EigImplementation.LAPACK, EigImplementation.MAGMA):
        raise NotImplementedError(f"eig: {implementation} is not available on CPU")
    aval = typeof(x)
    stack, vector = aval.shape[:-2], aval.shape[:-1]
    dtype = dtypes.to_complex_dtype(aval.dtype)
    wanted = (compute_left_eigenvectors, compute_right_eigenvectors)
    if aval.size == 0:
        return [lax.full(vector, 0, dtype), *[lax.full(aval.shape, 0, dtype)] * sum(wanted)]
    parts = 1 if dtypes.is_complex(aval.dtype) else 2
    *values, left, right, info = _lapack.call(
        "geev",
        [x],
        [
            *[(vector, aval.dtype)] * parts,
            (aval.shape, dtype),
            (aval.shape, dtype),
            (stack, _lapack.INT32),
        ],
        matrices=("m", "-" * parts + "mm-"),
        compute_left="V" if wanted[0] else "N",
        compute_right="V" if wanted[1] else "N",
    )
    w = values[0] if parts == 1 else lax.complex(*values)
    vectors = [v for v, given in zip((left, right), wanted, strict=True) if given]
    size = lax.abs(x)
    finite = lax.reduce_and(lax.is_finite(size), (len(stack), len(stack) + 1))
    ok = lax.bitwise_and(_lapack.succeeded(info), finite)
    return [_lapack.nan_unless(ok, y) for y in (w, *vectors)]


def _jvp_eig(primals: Any, tangents: Any, **params: Any) -> tuple[list[Any], list[Any]]:
    """``dw = diag(C)`` with ``C = v^-1 dx v``, and ``dv = v (C / (w_j - w_i))`` without its
    component along v (Giles 2008). Where eigenvalues are equal, a numerator of zero gives zero."""
    outs = eig_p.bind(*primals, **params)
    wants_right = params["compute_right_eigenvectors"]
    wants_vectors = wants_right or params["compute_left_eigenvectors"]
    enabled = params["enable_eigvec_derivs"] and not params["compute_left_eigenvectors"]
    if wants_vectors and not enabled:
        raise NotImplementedError(
            "eig: derivatives are defined for eigenvalues (pass compute_left_eigenvectors=False "
            "and compute_right_eigenvectors=False), and for right eigenvectors with "
            "compute_left_eigenvectors=False and enable_eigvec_derivs=True"
        )
    w, v = (
        outs
        if wants_right
        else eig_p.bind(*primals, **{**params, "compute_right_eigenvectors": True})
    )
    change = lax.convert_element_type(tangents[0], typeof(v).dtype)
    c = _solve(v, product(change, v))
    d_w = diagonal(c)
    if not wants_right:
        return [w], [d_w]
    n = typeof(c).shape[-1]
    gaps = lax.add(lax.sub(spread(w, c, -1), spread(w, c, -2)), identity_like(c, n, n))
    d_v = product(v, unscale(lax.sub(c, diagonal_part(c)), gaps))
    along = diagonal(product(adjoint(v), d_v))
    return [w, v], [d_w, lax.sub(d_v, columns_times(v, along))]


def _solve(a: Any, b: Any) -> Any:
    """``a^-1 b`` for general square matrices."""
    packed, _, permutation = lu(a)
    b = take_rows(b, permutation)
    b = triangular_solve(packed, b, left_side=True, lower=True, unit_diagonal=True)
    return triangular_solve(packed, b, left_side=True)


eig_p = Primitive(
    "eig",
    abstract=_abstract_eig,
    lower=lower_by(_geev),
    jvp=_jvp_eig,
    batch=batch_in_front(lambda: eig_p),
    multiple_results=True,
)


# --- schur ----------------------------------------------------------------------------------------


def schur(
    x: Any,
    *,
    compute_schur_vectors: bool = True,
    sort_eig_vals: bool = False,
    select_callable: Callable[..., Any] | None = None,
) -> list[Any]:
    """The Schur form T of ``x = Z @ T @ Z^H``, of square matrices, with unitary Z.

    T is upper triangular; for real ``x``, pairs of complex eigenvalues are 2 by 2 blocks in it.

    Args:
      x: of shape (..., n, n).
      compute_schur_vectors: return [T, Z]; else [T].
      sort_eig_vals, select_callable: not available.

    Raises:
      ValueError: ``x`` is not square.
      NotImplementedError: sorted eigenvalues are asked for.

    >>> [t.shape for t in lax.linalg.schur(np.eye(2))]
    [(2, 2), (2, 2)]
    """
    return list(
        schur_p.bind(
            x,
            compute_schur_vectors=bool(compute_schur_vectors),
            sort_eig_vals=bool(sort_eig_vals),
            select_callable=select_callable,
        )
    )


def _abstract_schur(
    x: ShapedArray, *, compute_schur_vectors: bool, sort_eig_vals: bool, select_callable: Any
) -> list[ShapedArray]:
    check_matrix("schur", x, square=True)
    if sort_eig_vals or select_callable is not None:
        raise NotImplementedError(
            "schur: sort_eig_vals and select_callable are not available; sort the form of the "
            "result instead"
        )
    return [x.strip_weak_type()] * (1 + compute_schur_vectors)


def _gees(x: Any, *, compute_schur_vectors: bool, **params: Any) -> list[Any]:
    aval = typeof(x)
    stack, vector = aval.shape[:-2], aval.shape[:-1]
    if aval.size == 0:
        return [x] * (1 + compute_schur_vectors)
    parts = 1 if dtypes.is_complex(aval.dtype) else 2
    form, vectors, *_, info = _lapack.call(
        "gees",
        [x],
        [
            (aval.shape, aval.dtype),
            (aval.shape, aval.dtype),
            *[(vector, aval.dtype)] * parts,
            (stack, _lapack.INT32),
            (stack, _lapack.INT32),
        ],
        matrices=("m", "mm" + "-" * parts + "--"),
        aliases=[(0, 0)],
        mode="V" if compute_schur_vectors else "N",
        sort="N",
    )
    ok = _lapack.succeeded(info)
    outs = [form, vectors] if compute_schur_vectors else [form]
    return [_lapack.nan_unless(ok, y) for y in outs]


schur_p = Primitive(
    "schur",
    abstract=_abstract_schur,
    lower=lower_by(_gees),
    batch=batch_in_front(lambda: schur_p),
    multiple_results=True,
)

"""Eigenvalues and eigenvectors of general square matrices."""

from __future__ import annotations

import enum
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

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
    columns_times,
    diagonal,
    inverse_gaps,
    product,
    weak_if_all,
)
from covector.lax.linalg.lu import solver_of


class EigImplementation(enum.Enum):
    """Where `eig` is computed; CPUs have LAPACK, GPUs MAGMA too."""

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
      enable_eigvec_derivs: let eigenvectors have derivatives: those of vectors of length one whose
        largest element stays real, as LAPACK makes it. Which one is the largest may jump, so a
        function of them should not depend on the phase. Equal eigenvalues: see `eigh`.
      implementation: see `EigImplementation`; None chooses.
      use_magma: deprecated: ``implementation=EigImplementation.MAGMA``.

    Returns:
      The eigenvalues, of shape (..., n), and the vectors asked for, left ones first, (..., n, n).

    Raises:
      ValueError: ``x`` is not square, or the platform does not have the implementation.

    >>> lax.linalg.eig(np.array([[0.0, 1.0], [-1.0, 0.0]]))[0]
    Array([0.+1.j, 0.-1.j], dtype=complex64)
    """
    if use_magma is not None:
        warnings.warn(
            "eig: use_magma is deprecated, pass implementation=EigImplementation.MAGMA (or LAPACK)",
            DeprecationWarning,
            stacklevel=2,
        )
        implementation = EigImplementation.MAGMA if use_magma else EigImplementation.LAPACK
    return list(
        eig_p.bind(
            x,
            compute_left_eigenvectors=bool(compute_left_eigenvectors),
            compute_right_eigenvectors=bool(compute_right_eigenvectors),
            enable_eigvec_derivs=bool(enable_eigvec_derivs),
            implementation=implementation,
        )
    )


@weak_if_all
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


_ON_GPU = {None: "auto", EigImplementation.MAGMA: "on", EigImplementation.LAPACK: "off"}


def _on_cpu(x: Any, *, implementation: Any, **params: Any) -> list[Any]:
    if implementation not in (None, EigImplementation.LAPACK):
        raise ValueError(f"eig: CPUs have EigImplementation.LAPACK only, not {implementation}")
    return _by_kernel(x, _kernels.lapack, "geev", _characters, **params)


def _on_gpu(x: Any, *, implementation: Any, **params: Any) -> list[Any]:
    """On the host, whatever does it there."""
    if implementation not in _ON_GPU:
        raise NotImplementedError(f"eig: {implementation} is not available; leave it to None")
    kind = "comp" if dtypes.is_complex(typeof(x).dtype) else "real"

    def flags(left: bool, right: bool) -> dict[str, Any]:
        return {"left": left, "right": right, "magma": _ON_GPU[implementation]}

    return _by_kernel(x, _kernels.kernel, f"cuhybrid_eig_{kind}", flags, **params)


def _characters(left: bool, right: bool) -> dict[str, Any]:
    return {"compute_left": "V" if left else "N", "compute_right": "V" if right else "N"}


def _by_kernel(
    x: Any,
    call: Any,
    routine: str,
    options: Callable[[bool, bool], dict[str, Any]],
    *,
    compute_left_eigenvectors: bool,
    compute_right_eigenvectors: bool,
    enable_eigvec_derivs: bool,
) -> list[Any]:
    aval = typeof(x)
    stack, vector = aval.shape[:-2], aval.shape[:-1]
    dtype = dtypes.to_complex_dtype(aval.dtype)
    wanted = (compute_left_eigenvectors, compute_right_eigenvectors)
    if aval.size == 0:
        return [lax.full(vector, 0, dtype), *[lax.full(aval.shape, 0, dtype)] * sum(wanted)]
    parts = 1 if dtypes.is_complex(aval.dtype) else 2
    *values, left, right, info = call(
        routine,
        [x],
        [
            *[(vector, aval.dtype)] * parts,
            (aval.shape, dtype),
            (aval.shape, dtype),
            (stack, _kernels.INT32),
        ],
        matrices=("m", "-" * parts + "mm-"),
        **options(*wanted),
    )
    w = values[0] if parts == 1 else lax.complex(*values)
    vectors = [v for v, given in zip((left, right), wanted, strict=True) if given]
    size = lax.abs(x)
    finite = lax.reduce_and(lax.is_finite(size), (len(stack), len(stack) + 1))
    ok = lax.bitwise_and(_kernels.succeeded(info), finite)
    return [_kernels.nan_unless(ok, y) for y in (w, *vectors)]


def _jvp_eig(primals: Any, tangents: Any, **params: Any) -> tuple[list[Any], list[Any]]:
    """``dw = diag(C)`` with ``C = v^-1 dx v``, and ``dv = v (C / (w_j - w_i))`` in the direction in
    which v stays normalized (Giles 2008; Boeddeker et al. 2017). Left eigenvectors are the right
    ones of ``x^H``."""
    left = params["compute_left_eigenvectors"]
    right = params["compute_right_eigenvectors"]
    if (left or right) and not params["enable_eigvec_derivs"]:
        raise NotImplementedError(
            "eig: derivatives of eigenvectors are defined only where eigenvalues differ, and up to "
            "a convention for their phase: pass enable_eigvec_derivs=True, or ask for eigenvalues "
            "only"
        )
    outs = eig_p.bind(*primals, **{**params, "compute_right_eigenvectors": right or not left})
    change = lax.convert_element_type(tangents[0], typeof(outs[0]).dtype)
    w, *vectors = outs
    results = []
    if right or not left:
        d_w, d_v = _jvp_right(w, vectors[-1], change)
        results.append(d_v)
    if left:
        d_w_conjugate, d_u = _jvp_right(lax.conj(w), vectors[0], adjoint(change))
        d_w = d_w if right else lax.conj(d_w_conjugate)
        results.insert(0, d_u)
    count = 1 + left + right
    return outs[:count], [d_w, *results][:count]


def _jvp_right(w: Any, v: Any, change: Any) -> tuple[Any, Any]:
    c = solver_of(v)(product(change, v))
    d_v = product(v, scale(c, inverse_gaps(w, c)))
    along = lax.real(diagonal(product(adjoint(v), d_v)))
    turn = _phase_of_largest(v, d_v)
    return diagonal(c), lax.sub(d_v, columns_times(v, lax.complex(along, turn)))


def _phase_of_largest(v: Any, d_v: Any) -> Any:
    """How fast the largest of each column's real elements turns. (LAPACK makes one real.)"""
    fixed = lax.stop_gradient(v)
    row = typeof(v).ndim - 2
    if typeof(v).size == 0:
        return lax.real(lax.reduce_sum(v, (row,)))
    size = lax.abs(fixed)
    is_real = lax.eq(lax.imag(fixed), lax.full_like(size, 0))
    place = lax.argmax(lax.select(is_real, size, lax.full_like(size, -1)), row, np.int32)
    rows = lax.broadcasted_iota(np.int32, typeof(v).shape, row)
    others = (*range(row), row + 1)
    chosen = lax.eq(rows, lax.broadcast_in_dim(place, typeof(v).shape, others))
    zeros = lax.full_like(v, 0)
    element, change = (lax.reduce_sum(lax.select(chosen, x, zeros), (row,)) for x in (v, d_v))
    return lax.imag(unscale(change, element))


eig_p = Primitive(
    "eig",
    abstract=_abstract_eig,
    lower=_kernels.lower_on("eig", cpu=_on_cpu, gpu=_on_gpu),
    jvp=_jvp_eig,
    batch=batch_in_front(lambda: eig_p),
    multiple_results=True,
)

"""Eigenvalues and eigenvectors of symmetric and Hermitian matrices."""

from __future__ import annotations

import enum
from typing import Any

from covector import lax
from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector._trace.primitive import Primitive
from covector._trace.trace import typeof
from covector.lax.elementwise import scale
from covector.lax.linalg import _kernels
from covector.lax.linalg._matrix import (
    adjoint,
    as_inexact,
    batch_in_front,
    check_matrix,
    check_square,
    diagonal,
    hermitian,
    inverse_gaps,
    product,
    real_dtype,
    weak_if_all,
)


class EighImplementation(enum.Enum):
    """Algorithms of `eigh`: QR, with divide and conquer, on CPU; QR and JACOBI on GPU."""

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


def eigh(
    x: Any,
    *,
    lower: bool = True,
    symmetrize_input: bool = True,
    sort_eigenvalues: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    implementation: EighImplementation | None = None,
) -> tuple[Any, Any]:
    """The eigenvectors and real eigenvalues of symmetric (Hermitian) matrices.

    Args:
      x: of shape (..., n, n).
      lower: which triangle is read, without ``symmetrize_input``.
      symmetrize_input: use ``(x + x^H) / 2``.
      sort_eigenvalues: in ascending order. On CPU they always are.
      subset_by_index: only the eigenvalues of these positions: first, and one past the last.
      implementation: the algorithm, by member or value (see `EighImplementation`).

    Returns:
      The eigenvectors as columns, of shape (..., n, n), and eigenvalues, (..., n); nan if LAPACK
      failed.

    Raises:
      ValueError: ``x`` is not square, or the subset is no range of positions.
      NotImplementedError: the platform does not have the implementation.

    The derivative of an eigenvector divides by differences of eigenvalues. Where two are equal, but
    for rounding, their eigenvectors are taken not to turn into each other. That is right for what
    depends on the eigenvectors of equal eigenvalues only as a whole, like projections on them, but
    drops a term of functions like ``(v * exp(w)) @ v.T``.

    >>> vectors, values = lax.linalg.eigh(np.array([[2.0, 0.0], [0.0, 1.0]]))
    >>> values
    Array([1., 2.], dtype=float32)
    """
    check_square("linalg.eigh", typeof(x))
    x = as_inexact(x)
    vectors, values = eigh_p.bind(
        hermitian(x) if symmetrize_input else x,
        algorithm=None if implementation is None else EighImplementation(implementation),
        lower=bool(lower),
        sort_eigenvalues=bool(sort_eigenvalues),
        subset_by_index=None if subset_by_index is None else tuple(subset_by_index),
    )
    return vectors, values


@weak_if_all
def _abstract(x: ShapedArray, *, subset_by_index: Any, algorithm: Any, **params: Any) -> list:
    check_matrix("eigh", x, square=True)
    *stack, _, n = x.shape
    start, stop = subset_by_index or (0, n)
    if not 0 <= start <= stop <= n:
        raise ValueError(
            f"eigh: subset_by_index must be a range of positions among the {n} eigenvalues, got "
            f"{subset_by_index}"
        )
    k = stop - start
    return [
        ShapedArray((*stack, n, k), x.dtype),
        ShapedArray((*stack, k), real_dtype(x.dtype)),
    ]


def _on_cpu(x: Any, *, algorithm: Any, lower: bool, **params: Any) -> list[Any]:
    _refuse_unless(algorithm, (None, EighImplementation.QR), "CPU")
    routine = "heevd" if dtypes.is_complex(typeof(x).dtype) else "syevd"
    options = {"mode": "V", "uplo": "L" if lower else "U"}
    return _by_kernel(x, _kernels.lapack, routine, options, **params)


_ON_GPU = {None: 0, EighImplementation.QR: 1, EighImplementation.JACOBI: 2}


def _on_gpu(x: Any, *, algorithm: Any, lower: bool, **params: Any) -> list[Any]:
    _refuse_unless(algorithm, _ON_GPU, "GPU")
    options = {"algorithm": _kernels.Enumerator(_ON_GPU[algorithm]), "lower": lower}
    return _by_kernel(x, _kernels.kernel, "cusolver_syevd_ffi", options, **params)


def _on_tpu(
    x: Any, *, algorithm: Any, lower: bool, sort_eigenvalues: bool, subset_by_index: Any
) -> list[Any]:
    """By Jacobi's rotations: at most 100 sweeps, to a relative error of 1e-6."""
    _refuse_unless(algorithm, (None, EighImplementation.JACOBI), "TPU")
    aval = typeof(x)
    outs = [(aval.shape, aval.dtype), (aval.shape[:-1], real_dtype(aval.dtype))]
    config = f"{int(lower)},{int(sort_eigenvalues)},100,1e-6"
    return _subset(_kernels.tpu_kernel("Eigh", [x], outs, config=config), subset_by_index)


def _refuse_unless(algorithm: Any, available: Any, place: str) -> None:
    if algorithm not in available:
        raise NotImplementedError(f"eigh: implementation {algorithm} is not available on {place}")


def _by_kernel(
    x: Any,
    call: Any,
    routine: str,
    options: dict[str, Any],
    *,
    sort_eigenvalues: bool,
    subset_by_index: Any,
) -> list[Any]:
    aval = typeof(x)
    *stack, _, n = aval.shape
    values = ((*stack, n), real_dtype(aval.dtype))
    if aval.size == 0:
        return _subset([x, lax.full(*values[:1], 0, values[1])], subset_by_index)
    vectors, w, info = call(
        routine,
        [x],
        [(aval.shape, aval.dtype), values, (stack, _kernels.INT32)],
        matrices=("m", "m--"),
        aliases=[(0, 0)],
        **options,
    )
    return _subset(_kernels.nan_where_failed(info, vectors, w), subset_by_index)


def _subset(outs: list[Any], subset_by_index: tuple[int, int] | None) -> list[Any]:
    if subset_by_index is None:
        return outs
    return [lax.slice_in_dim(y, *subset_by_index, axis=typeof(y).ndim - 1) for y in outs]


def _jvp(primals: Any, tangents: Any, **params: Any) -> tuple[list[Any], list[Any]]:
    """``dw = diag(C)`` and ``dv = v (C / (w_j - w_i))``, the diagonal apart, with ``C = v^H dx v``
    (Magnus 1985; Seeger et al. 2017 for the gradient)."""
    v, w = eigh_p.bind(*primals, **params)
    n = typeof(v).shape[-2]
    if params["subset_by_index"] not in (None, (0, n)):
        raise NotImplementedError(
            "eigh: the derivative is defined for all eigenvalues, not for a subset "
            f"(subset_by_index={params['subset_by_index']})"
        )
    c = product(adjoint(v), tangents[0], v)
    quotient = scale(c, inverse_gaps(w, v))
    d_w = diagonal(c)
    d_w = lax.real(d_w) if dtypes.is_complex(typeof(d_w).dtype) else d_w
    return [v, w], [product(v, quotient), d_w]


eigh_p = Primitive(
    "eigh",
    abstract=_abstract,
    lower=_kernels.lower_on("eigh", cpu=_on_cpu, gpu=_on_gpu, tpu=_on_tpu),
    jvp=_jvp,
    batch=batch_in_front(lambda: eigh_p),
    multiple_results=True,
)

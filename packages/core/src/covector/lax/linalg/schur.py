"""The Schur form of general square matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector._trace.primitive import Primitive
from covector._trace.trace import typeof
from covector.lax.linalg import _kernels
from covector.lax.linalg._matrix import batch_in_front, check_matrix, weak_if_all


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
      sort_eig_vals: not available: jaxlib's kernel has no sorting.
      select_callable: what sorting would select; unused without ``sort_eig_vals``.

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
            select_callable=select_callable if sort_eig_vals else None,
        )
    )


@weak_if_all
def _abstract_schur(
    x: ShapedArray, *, compute_schur_vectors: bool, sort_eig_vals: bool, select_callable: Any
) -> list[ShapedArray]:
    check_matrix("schur", x, square=True)
    if sort_eig_vals:
        raise NotImplementedError(
            "schur: sort_eig_vals=True is not available; reorder the form of the result instead, "
            "for example with scipy.linalg.schur's sort"
        )
    return [x] * (1 + compute_schur_vectors)


def _gees(x: Any, *, compute_schur_vectors: bool, **params: Any) -> list[Any]:
    aval = typeof(x)
    stack, vector = aval.shape[:-2], aval.shape[:-1]
    if aval.size == 0:
        return [x] * (1 + compute_schur_vectors)
    parts = 1 if dtypes.is_complex(aval.dtype) else 2
    form, vectors, *_, info = _kernels.lapack(
        "gees",
        [x],
        [
            (aval.shape, aval.dtype),
            (aval.shape, aval.dtype),
            *[(vector, aval.dtype)] * parts,
            (stack, _kernels.INT32),
            (stack, _kernels.INT32),
        ],
        matrices=("m", "mm" + "-" * parts + "--"),
        aliases=[(0, 0)],
        mode="V" if compute_schur_vectors else "N",
        sort="N",
    )
    outs = [form, vectors] if compute_schur_vectors else [form]
    return _kernels.nan_where_failed(info, *outs)


schur_p = Primitive(
    "schur",
    abstract=_abstract_schur,
    lower=_kernels.lower_on("schur", cpu=_gees),
    batch=batch_in_front(lambda: schur_p),
    multiple_results=True,
)

"""Systems of equations with a tridiagonal matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from covector import lax
from covector._ir.avals import ShapedArray
from covector._trace.primitive import Linear, Primitive
from covector._trace.trace import typeof
from covector.lax.elementwise import scale
from covector.lax.linalg import _kernels
from covector.lax.linalg._matrix import batch_of_right_sides, check_matrix, spread, weak_if_all

_NAMES = ("dl", "d", "du", "b")


def tridiagonal_solve(dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool = False) -> Any:
    """The x with ``A @ x = b``, for tridiagonal matrices A given by their diagonals.

    Args:
      dl: below the diagonal: ``dl[i] = A[i, i - 1]``, ``dl[0]`` is unread; of shape (..., n).
      d: the diagonal, (..., n).
      du: above it: ``du[i] = A[i, i + 1]``, ``du[n - 1]`` is unread; (..., n).
      b: of shape (..., n, k).
      perturb_singular: replace pivots that are too small by small numbers, so that a singular A
        gives a large x rather than nan: what inverse iteration for eigenvectors wants.

    Returns:
      x, of ``b``'s shape; nan where A is singular.

    Raises:
      TypeError: shapes or dtypes do not fit.

    >>> d = np.array([2.0, 2.0])
    >>> lax.linalg.tridiagonal_solve(0 * d, d, 0 * d, np.array([[2.0], [4.0]]))
    Array([[1.],
           [2.]], dtype=float32)
    """
    return tridiagonal_solve_p.bind(dl, d, du, b, perturb_singular=bool(perturb_singular))


@weak_if_all
def _abstract(
    dl: ShapedArray, d: ShapedArray, du: ShapedArray, b: ShapedArray, *, perturb_singular: bool
) -> ShapedArray:
    name = "tridiagonal_solve"
    check_matrix(name, b, position=3)
    for word, aval in zip(_NAMES, (dl, d, du), strict=False):
        if aval.dtype != b.dtype:
            raise TypeError(
                f"lax.{name} requires arguments to have the same dtypes, got {word} of "
                f"{aval.dtype} and b of {b.dtype}"
            )
        if aval.shape != b.shape[:-1]:
            raise TypeError(
                f"{name} requires that the leading ndim-1 dimensions of b equal the dimensions of "
                f"the diagonal arguments, got {word} of shape {aval.shape} and b of shape {b.shape}"
            )
    return b


def _gtsv(dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool) -> Any:
    aval, vector = typeof(b), typeof(d)
    if aval.size == 0:
        return b
    if perturb_singular:
        return _call("tridiagonal_solve_perturbed_ffi", dl, d, du, b)
    *_, out, info = _kernels.lapack(
        "gtsv",
        [dl, d, du, b],
        [
            *[(vector.shape, aval.dtype)] * 3,
            (aval.shape, aval.dtype),
            (aval.shape[:-2], _kernels.INT32),
        ],
        matrices=("---m", "---m-"),
        aliases=[(0, 0), (1, 1), (2, 2), (3, 3)],
    )
    return _kernels.nan_unless(_kernels.succeeded(info), out)


def _on_gpu(dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool) -> Any:
    if typeof(b).size == 0:
        return b
    if perturb_singular:
        return _call("cu_tridiagonal_solve_perturbed", dl, d, du, b)
    return _call("cusparse_gtsv2_ffi", dl, d, du, b, aliases=[(3, 0)])


def _call(target: str, dl: Any, d: Any, du: Any, b: Any, **options: Any) -> Any:
    outs = [(typeof(b).shape, typeof(b).dtype)]
    return _kernels.kernel(target, [dl, d, du, b], outs, matrices=("---m", "m"), **options)[0]


def _shift(x: Any, by: int) -> Any:
    """Vectors or stacks of them along axis -1, moved ``by`` one place, with zero in the gap."""
    aval = typeof(x)
    config = [(0, 0, 0)] * (aval.ndim - 1) + [(by, -by, 0)]
    return lax.pad(x, np.zeros((), aval.dtype), config)


def _shift_rows(x: Any, by: int) -> Any:
    aval = typeof(x)
    config = [(0, 0, 0)] * (aval.ndim - 2) + [(by, -by, 0), (0, 0, 0)]
    return lax.pad(x, np.zeros((), aval.dtype), config)


def _jvp(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
    """``dx = A^-1 (db - dA x)``."""
    dl, d, du, b = primals
    x = tridiagonal_solve_p.bind(dl, d, du, b, **params)
    beside = (_shift_rows(x, 1), x, _shift_rows(x, -1))
    change = tangents[3]
    for t, column in zip(tangents[:3], beside, strict=True):
        if t is not None:
            term = lax.neg(scale(spread(t, x, -2), column))
            change = term if change is None else lax.add(change, term)
    return x, tridiagonal_solve_p.bind(dl, d, du, change, **params)


def _transpose(ct: Any, dl: Any, d: Any, du: Any, b: Any, **params: Any) -> list[Any]:
    if any(isinstance(x, Linear) for x in (dl, d, du)):
        raise NotImplementedError("tridiagonal_solve is linear in b only")
    below, above = _shift(du, 1), _shift(dl, -1)
    return [None, None, None, tridiagonal_solve_p.bind(below, d, above, ct, **params)]


tridiagonal_solve_p = Primitive(
    "tridiagonal_solve",
    abstract=_abstract,
    lower=_kernels.lower_on("tridiagonal_solve", cpu=_gtsv, gpu=_on_gpu),
    jvp=_jvp,
    transpose=_transpose,
    batch=batch_of_right_sides(lambda: tridiagonal_solve_p, in_rows=lambda params: False),
)

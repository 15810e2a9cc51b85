"""The polar decomposition, by dynamically weighted Halley iterations."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from covector import lax
from covector._api.jit import library_function
from covector._trace.trace import typeof
from covector.lax.linalg._matrix import (
    adjoint,
    check_matrix,
    crop,
    hermitian,
    identity_like,
    product,
    real_dtype,
    rows_from,
)
from covector.lax.linalg.cholesky import cholesky
from covector.lax.linalg.qr import qr
from covector.lax.linalg.triangular import triangular_solve


def qdwh(
    x: Any,
    *,
    is_hermitian: bool = False,
    max_iterations: int | None = None,
    eps: float | None = None,
    dynamic_shape: tuple[Any, Any] | None = None,
) -> tuple[Any, Any, Any, Any]:
    """The factors of ``x = u @ h``: orthonormal columns u, and h positive semidefinite.

    By the QR-based dynamically weighted Halley iterations of Nakatsukasa, Bai and Gygi ("Optimizing
    Halley's iteration for computing the matrix polar decomposition", 2010), which need no more than
    six steps in double precision.

    Args:
      x: a matrix of shape (m, n), m >= n.
      is_hermitian: promise that ``x`` is Hermitian: so is each iterate then.
      max_iterations: by default 10.
      eps: the relative error aimed at; by default that of the dtype.
      dynamic_shape: the rows and columns (which may be traced) that count; what is beyond is taken
        for zero.

    Returns:
      u of ``x``'s shape, h of shape (n, n), the number of iterations, and whether they converged.

    Raises:
      ValueError: ``x`` is no single matrix, or has more columns than rows.
      TypeError: it has another dtype than LAPACK has.

    >>> u, h, iterations, converged = lax.linalg.qdwh(np.array([[0.0, -2.0], [3.0, 0.0]]))
    >>> np.asarray(h).round(4)
    array([[3., 0.],
           [0., 2.]], dtype=float32)
    >>> bool(converged)
    True
    """
    aval = typeof(x)
    if aval.ndim != 2 or aval.shape[0] < aval.shape[1]:
        raise ValueError(
            "qdwh: x must be one matrix with at least as many rows as columns, got shape "
            f"{aval.shape}. Decompose the adjoint of a wide matrix, and map over batches with vmap."
        )
    check_matrix("qdwh", aval)
    if dynamic_shape is not None:
        x = _within(x, *dynamic_shape)
    precision = float(np.finfo(aval.dtype).eps)
    return _qdwh(
        x,
        is_hermitian=bool(is_hermitian) and aval.shape[0] == aval.shape[1],
        max_iterations=10 if max_iterations is None else max(0, operator.index(max_iterations)),
        eps=precision if eps is None else float(eps),
        least=max(precision, float(eps or 0)),
    )


def _within(x: Any, rows: Any, columns: Any) -> Any:
    """``x`` in its first rows and columns, zero elsewhere."""
    shape = typeof(x).shape
    inside = [
        lax.lt(
            lax.broadcasted_iota(np.int32, shape, axis),
            lax.broadcast(lax.convert_element_type(limit, np.int32), shape),
        )
        for axis, limit in enumerate((rows, columns))
    ]
    return lax.select(lax.bitwise_and(*inside), x, lax.full_like(x, 0))


@library_function(static_argnames=("is_hermitian", "max_iterations", "eps", "least"))
def _qdwh(
    x: Any, *, is_hermitian: bool, max_iterations: int, eps: float, least: float
) -> tuple[Any, Any, Any, Any]:
    """The scaled singular values are known to lie in [l, 1] with l from 0 (``least``) to 1, so that
    the weights do not depend on x. While they are large, the iteration is the stable one with QR.
    """
    steps = weights(least, max_iterations)
    num_qr = sum([step.c > 100 for step in steps])
    keep = hermitian if is_hermitian else lambda u: u
    bound = lax.convert_element_type(_norm_bound(x), x.dtype)
    u = before = lax.div(x, lax.broadcast(bound, x.shape))
    for step in steps[:num_qr]:
        before, u = u, keep(_by_qr(u, step))
    table = np.array([step[:3] for step in steps] or np.ones((1, 3)), real_dtype(x.dtype))
    converged = _test_of_convergence(steps, eps)

    def unfinished(state: tuple) -> Any:
        return lax.bitwise_and(lax.lt(state[0], max_iterations), lax.bitwise_not(converged(*state)))

    def iterate(state: tuple) -> tuple:
        k, _, u = state
        row = lax.dynamic_index_in_dim(table, lax.min(k, len(table) - 1), 0, keepdims=False)
        step = [lax.index_in_dim(row, i, 0, keepdims=False) for i in range(3)]
        return lax.add(k, 1), u, keep(_by_cholesky(u, *step))

    state = lax.while_loop(unfinished, iterate, (num_qr, before, u))
    u = _polished(state[2])
    return u, hermitian(product(adjoint(u), x)), state[0], converged(*state)


def _test_of_convergence(steps: list[Step], eps: float) -> Callable[[Any, Any, Any], Any]:
    """Whether k iterations, which led from ``before`` to ``u`` at last, are enough."""
    tight = [abs(1 - step.l) <= 5 * eps for step in steps]

    def converged(k: Any, before: Any, u: Any) -> Any:
        if not any(tight):
            return np.bool_(False)
        change = lax.sqrt(_sum_of_squares(lax.sub(u, before)))
        small = lax.le(change, np.asarray(np.cbrt(5 * eps), change.dtype))
        return lax.bitwise_and(lax.gt(k, tight.index(True)), small)

    return converged


# --- iterations -----------------------------------------------------------------------------------


class Step(NamedTuple):
    """Weights of an iteration, and the bound on the least singular value after it."""

    a: float
    b: float
    c: float
    l: float


def weights(least: float, count: int) -> list[Step]:
    """The weights of the first iterations, until they stay (equation 3.17 of the paper)."""
    steps: list[Step] = []
    l = least
    while len(steps) < count and (not steps or steps[-1].l < 1):
        square = l * l
        d = np.cbrt(4 * (1 / square - 1) / square)
        root = np.sqrt(1 + d)
        a = root + np.sqrt(8 - 4 * d + 8 * (2 - square) / (square * root)) / 2
        b = (a - 1) ** 2 / 4
        c = a + b - 1
        l = min(1.0, l * (a + b * square) / (1 + c * square))
        steps.append(Step(float(a), float(b), float(c), float(l)))
    return steps


def _by_qr(u: Any, step: Step) -> Any:
    """``(b / c) u + (a - b / c) / sqrt(c) Q_1 Q_2^H``, with the Q of ``[sqrt(c) u; I]``."""
    dtype = typeof(u).dtype
    rows, columns = typeof(u).shape
    root, share = np.sqrt(step.c), step.b / step.c
    eye = identity_like(u, columns, columns)
    q, _ = qr(lax.concatenate([lax.mul(u, np.asarray(root, dtype)), eye], 0), full_matrices=False)
    turned = product(crop(q, rows, columns), adjoint(rows_from(q, rows)))
    return lax.add(
        lax.mul(u, np.asarray(share, dtype)),
        lax.mul(turned, np.asarray((step.a - share) / root, dtype)),
    )


def _by_cholesky(u: Any, a: Any, b: Any, c: Any) -> Any:
    """``(b / c) u + (a - b / c) u (I + c u^H u)^-1``."""
    dtype, columns = typeof(u).dtype, typeof(u).shape[1]
    share = lax.div(b, c)
    c, share, rest = (lax.convert_element_type(y, dtype) for y in (c, share, lax.sub(a, share)))
    z = lax.add(identity_like(u, columns, columns), lax.mul(product(adjoint(u), u), c))
    factor = cholesky(z, symmetrize_input=False)
    solved = triangular_solve(factor, u, lower=True, transpose_a=True, conjugate_a=True)
    solved = triangular_solve(factor, solved, lower=True)
    return lax.add(lax.mul(u, share), lax.mul(solved, rest))


def _polished(u: Any) -> Any:
    """A step of Newton and Schulz, which brings nearly orthonormal columns closer."""
    dtype = typeof(u).dtype
    cube = product(u, product(adjoint(u), u))
    return lax.sub(lax.mul(u, np.asarray(1.5, dtype)), lax.mul(cube, np.asarray(0.5, dtype)))


# --- norms ----------------------------------------------------------------------------------------


def _norm_bound(x: Any) -> Any:
    """At least the largest singular value: the root of the 1-norm times the infinity norm."""
    size = lax.abs(x)
    if typeof(x).size == 0:
        return np.ones((), typeof(size).dtype)
    norms = [lax.reduce_max(lax.reduce_sum(size, (axis,)), (0,)) for axis in (0, 1)]
    bound = lax.mul(*[lax.sqrt(y) for y in norms])
    return lax.select(lax.eq(bound, lax.full_like(bound, 0)), lax.full_like(bound, 1), bound)


def _sum_of_squares(x: Any) -> Any:
    size = lax.abs(x)
    return lax.reduce_sum(lax.mul(size, size), (0, 1))

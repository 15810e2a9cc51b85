"""The LU factorization with partial pivoting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from covector import lax
from covector._ir.avals import ShapedArray
from covector._trace.primitive import Primitive
from covector._trace.trace import typeof
from covector.lax.linalg import _kernels
from covector.lax.linalg._matrix import (
    batch_in_front,
    check_matrix,
    crop,
    identity_like,
    lower_part,
    pad_to,
    product,
    take_rows,
    upper_part,
    weak_if_all,
)
from covector.lax.linalg.triangular import triangular_solve


def lu(x: Any) -> list[Any]:
    """The factors of ``x[permutation] = L @ U``, for matrices of any shape.

    Returns:
      A list of the factors, of ``x``'s shape: U in the upper triangle, L below it (its unit
      diagonal is not stored); ``pivots``, int32: row i was swapped with row ``pivots[i]``; and
      ``permutation``, int32.

    Raises:
      TypeError: ``x`` is no matrix, or of another dtype than LAPACK has.

    >>> packed, pivots, permutation = lax.linalg.lu(np.array([[1.0, 2.0], [2.0, 2.0]]))
    >>> packed
    Array([[2. , 2. ],
           [0.5, 1. ]], dtype=float32)
    >>> permutation
    Array([1, 0], dtype=int32)
    """
    return list(lu_p.bind(x))


@weak_if_all
def _abstract(aval: ShapedArray) -> list[ShapedArray]:
    check_matrix("lu", aval)
    *stack, m, n = aval.shape
    integers = ShapedArray((*stack, min(m, n)), _kernels.INT32)
    return [aval, integers, integers.update(shape=(*stack, m))]


def _by_kernel(call: Any, routine: str) -> Any:
    def factor(x: Any) -> list[Any]:
        aval = typeof(x)
        *stack, m, n = aval.shape
        if aval.size == 0:
            numbers = lax.broadcasted_iota(np.int32, (*stack, m), len(stack))
            return [x, lax.full((*stack, min(m, n)), 0, np.int32), numbers]
        packed, pivots, info = call(
            routine,
            [x],
            [
                (aval.shape, aval.dtype),
                ((*stack, min(m, n)), _kernels.INT32),
                (stack, _kernels.INT32),
            ],
            matrices=("m", "m--"),
            aliases=[(0, 0)],
        )
        pivots = lax.sub(pivots, np.int32(1))
        packed = _kernels.nan_unless(lax.ge(info, np.int32(0)), packed)
        return [packed, pivots, lu_pivots_to_permutation(pivots, m)]

    return factor


def _jvp(primals: Any, tangents: Any) -> tuple[list[Any], list[Any]]:
    """``dL = L tril(F, -1)`` and ``dU = triu(F) U`` with ``F = L^-1 dx[permutation] U^-1`` (de
    Hoog, Anderssen and Lukas 2011; for other shapes, Lezcano-Casado's notes for PyTorch, 2021).

    The factor of a matrix that is not square is completed by an identity in the corner.
    """
    packed, pivots, permutation = lu_p.bind(*primals)
    *_, m, n = typeof(packed).shape
    k = min(m, n)
    change = take_rows(tangents[0], permutation)
    lower = lax.add(pad_to(lower_part(crop(packed, m, k), -1), m, m), identity_like(packed, m, m))
    upper = pad_to(upper_part(crop(packed, k, n)), n, n)
    if m < n:
        corner = lax.sub(identity_like(packed, n, n), pad_to(identity_like(packed, k, k), n, n))
        upper = lax.add(upper, corner)
    left = triangular_solve(lower, change, left_side=True, lower=True, unit_diagonal=True)
    f = triangular_solve(upper, left)
    d_lower = product(lower, pad_to(lower_part(crop(f, m, k), -1), m, n))
    d_upper = pad_to(product(upper_part(crop(f, k, n)), upper), m, n)
    return [packed, pivots, permutation], [lax.add(d_lower, d_upper), None, None]


def _on_tpu(x: Any) -> list[Any]:
    aval = typeof(x)
    *stack, m, n = aval.shape
    integers = [((*stack, min(m, n)), _kernels.INT32), ((*stack, m), _kernels.INT32)]
    outs = [(aval.shape, aval.dtype), *integers]
    return _kernels.tpu_kernel("LuDecomposition", [x], outs, version=2)


lu_p = Primitive(
    "lu",
    abstract=_abstract,
    lower=_kernels.lower_on(
        "lu",
        cpu=_by_kernel(_kernels.lapack, "getrf"),
        gpu=_by_kernel(_kernels.kernel, "cusolver_getrf_ffi"),
        tpu=_on_tpu,
    ),
    jvp=_jvp,
    batch=batch_in_front(lambda: lu_p),
    multiple_results=True,
)


def solver_of(a: Any) -> Callable[[Any], Any]:
    """The function from b to ``a^-1 b``, for general square matrices that are factored once."""
    packed, _, permutation = lu(a)

    def solve(b: Any) -> Any:
        b = take_rows(b, permutation)
        b = triangular_solve(packed, b, left_side=True, lower=True, unit_diagonal=True)
        return triangular_solve(packed, b, left_side=True)

    return solve


# --- pivots ---------------------------------------------------------------------------------------


def lu_pivots_to_permutation(pivots: Any, permutation_size: int) -> Any:
    """The order of rows that the swaps ``pivots`` (row i with row ``pivots[i]``, in turn) make.

    Args:
      pivots: int32 of shape (..., k).
      permutation_size: the number of rows, at least k.

    Returns:
      int32 of shape (..., permutation_size).

    >>> lax.linalg.lu_pivots_to_permutation(np.array([2, 2], np.int32), 3)
    Array([2, 0, 1], dtype=int32)
    """
    return lu_pivots_to_permutation_p.bind(pivots, permutation_size=int(permutation_size))


@weak_if_all
def _abstract_permutation(aval: ShapedArray, *, permutation_size: int) -> ShapedArray:
    name = "lu_pivots_to_permutation"
    if aval.dtype != _kernels.INT32:
        raise TypeError(f"{name}: pivots must be of dtype int32, got {aval.dtype}")
    if aval.ndim < 1:
        raise TypeError(f"{name}: pivots must have at least one axis, got shape {aval.shape}")
    if permutation_size < aval.shape[-1]:
        raise ValueError(
            f"{name}: permutation_size {permutation_size} must be at least the number of pivots, "
            f"which have shape {aval.shape}"
        )
    return ShapedArray((*aval.shape[:-1], permutation_size), aval.dtype)


def _permutation(pivots: Any, *, permutation_size: int) -> Any:
    """Swap after swap, for all matrices at once."""
    *stack, k = typeof(pivots).shape
    if not stack and k:
        return _permutation_of_one(pivots, permutation_size)
    dtype, ndim = typeof(pivots).dtype, len(stack) + 1
    order = lax.broadcasted_iota(dtype, (*stack, permutation_size), ndim - 1)
    if k == 0 or typeof(order).size == 0:
        return order
    places = order

    def swap(i: Any, order: Any) -> Any:
        here = lax.dynamic_index_in_dim(order, i, ndim - 1)
        there = lax.dynamic_index_in_dim(pivots, i, ndim - 1)
        at = lax.eq(places, lax.broadcast_in_dim(there, places.shape, tuple(range(ndim))))
        zeros = lax.full(places.shape, 0, dtype)
        other = lax.expand_dims(lax.reduce_sum(lax.select(at, order, zeros), (ndim - 1,)), (-1,))
        here_all = lax.broadcast_in_dim(here, places.shape, tuple(range(ndim)))
        order = lax.select(at, here_all, order)
        return lax.dynamic_update_slice_in_dim(order, other, i, ndim - 1)

    return lax.fori_loop(0, k, swap, order)


def _permutation_of_one(pivots: Any, size: int) -> Any:
    """Swaps of single elements, which XLA compiles to a loop without calls."""

    def swap(i: Any, order: Any) -> Any:
        place = lax.dynamic_slice(pivots, (i,), (1,))
        there = lax.squeeze(place, (0,))
        first, second = (
            lax.dynamic_slice(order, (i,), (1,)),
            lax.dynamic_slice(order, (there,), (1,)),
        )
        order = lax.dynamic_update_slice(order, second, (i,))
        return lax.dynamic_update_slice(order, first, (there,))

    return lax.fori_loop(0, typeof(pivots).shape[0], swap, lax.iota(typeof(pivots).dtype, size))


def _permutation_on_gpu(pivots: Any, *, permutation_size: int) -> Any:
    *stack, _ = typeof(pivots).shape
    return _kernels.kernel(
        "cu_lu_pivots_to_permutation",
        [pivots],
        [((*stack, permutation_size), typeof(pivots).dtype)],
        matrices=("-", "-"),
    )


lu_pivots_to_permutation_p = Primitive(
    "lu_pivots_to_permutation",
    abstract=_abstract_permutation,
    lower=_kernels.lower_on(
        "lu_pivots_to_permutation",
        cpu=_permutation,
        gpu=_permutation_on_gpu,
        other=_permutation,
    ),
    batch=batch_in_front(lambda: lu_pivots_to_permutation_p),
    differentiable=False,
)

"""Small operations on stacks of matrices, and what primitives on them share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from covector import lax
from covector._config import annihilating_zeros
from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector._trace.primitive import Primitive
from covector._trace.trace import typeof
from covector._transform.batch import move_batch_axis
from covector.lax._nary import scalar_like

_ACCEPTED = ("float32", "float64", "complex64", "complex128")


# --- types ----------------------------------------------------------------------------------------


def check_matrix(name: str, aval: ShapedArray, *, square: bool = False, position: int = 0) -> None:
    """Raise unless the operand is a stack of matrices of a dtype that LAPACK has."""
    if aval.dtype.name not in _ACCEPTED:
        raise TypeError(
            f"{name} does not accept dtype {aval.dtype} at position {position}. Accepted dtypes "
            f"at position {position} are: {', '.join(_ACCEPTED)}. "
            "(Convert it with covector.lax.convert_element_type.)"
        )
    if aval.ndim < 2:
        raise TypeError(
            f"Input {position} to {name} must have rank at least 2, but got shape={aval.shape}"
        )
    if square:
        check_square(name, aval)


def check_square(name: str, aval: ShapedArray) -> None:
    """Raise unless the matrices are square."""
    if aval.ndim < 2 or aval.shape[-1] != aval.shape[-2]:
        raise ValueError(
            f"The input to {name} must be a square matrix, of shape [..., n, n]. Got shape "
            f"{aval.shape}."
        )


def as_inexact(x: Any) -> Any:
    """``x`` in the floating point dtype that it is promoted to; complex numbers stay."""
    dtype = typeof(x).dtype
    if dtypes.is_inexact(dtype):
        return x
    wanted = float if dtype.name == "bool" else dtypes.to_inexact_dtype(dtype)
    return lax.convert_element_type(x, wanted)


def real_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype of real parts."""
    return dtypes.to_real_dtype(dtype) if dtypes.is_complex(dtype) else dtype


def weak_if_all(abstract: Callable[..., Any]) -> Callable[..., Any]:
    """A rule for types, with results weakly typed if all operands are."""

    def rule(*avals: ShapedArray, **params: Any) -> Any:
        outs = abstract(*avals, **params)
        weak = all(aval.weak_type for aval in avals)
        if isinstance(outs, list):
            return [out.update(weak_type=weak) for out in outs]
        return outs.update(weak_type=weak)

    return rule


# --- batching -------------------------------------------------------------------------------------


def batch_in_front(primitive: Callable[[], Primitive]) -> Callable[..., Any]:
    """The batching rule of operations that take stacks: one more leading axis."""

    def batch(axis: Any, args: Any, dims: Any, **params: Any) -> tuple[Any, Any]:
        moved = [move_batch_axis(x, axis.size, d, 0) for x, d in zip(args, dims, strict=True)]
        outs = primitive().bind(*moved, **params)
        return (outs, [0] * len(outs)) if primitive().multiple_results else (outs, 0)

    return batch


def batch_of_right_sides(
    primitive: Callable[[], Primitive], in_rows: Callable[[dict[str, Any]], bool]
) -> Callable[..., Any]:
    """The batching rule of solves, whose last operand is the right side: that of one system for
    several right sides is one with more columns (or rows, ``in_rows`` of the parameters says)."""
    in_front = batch_in_front(primitive)

    def batch(axis: Any, args: Any, dims: Any, **params: Any) -> tuple[Any, Any]:
        *system, b = args
        if any(d is not None for d in dims[:-1]):
            return in_front(axis, args, dims, **params)
        place = typeof(b).ndim - (2 if in_rows(params) else 1)
        b = move_batch_axis(b, axis.size, dims[-1], place)
        shape = typeof(b).shape
        merged = (*shape[: place - 1], shape[place - 1] * shape[place], *shape[place + 1 :])
        out = primitive().bind(*system, lax.reshape(b, merged), **params)
        return lax.reshape(out, shape), place

    return batch


# --- operations -----------------------------------------------------------------------------------


def transposed(x: Any) -> Any:
    """Each matrix transposed."""
    n = typeof(x).ndim
    return lax.transpose(x, (*range(n - 2), n - 1, n - 2))


def conjugate(x: Any) -> Any:
    """The complex conjugate; real numbers stay as they are."""
    return lax.conj(x) if dtypes.is_complex(typeof(x).dtype) else x


def adjoint(x: Any) -> Any:
    """Each matrix transposed and conjugated."""
    return conjugate(transposed(x))


def product(x: Any, y: Any, *others: Any) -> Any:
    """The matrix products of stacks, at full precision."""
    n = typeof(x).ndim
    stack = tuple(range(n - 2))
    numbers = (((n - 1,), (n - 2,)), (stack, stack))
    out = lax.dot_general(x, y, numbers, precision=lax.Precision.HIGHEST)
    return product(out, *others) if others else out


def halved(x: Any) -> Any:
    """``x / 2``."""
    return lax.mul(x, scalar_like(x, 0.5))


def hermitian(x: Any) -> Any:
    """The symmetric (Hermitian) part of each matrix."""
    return halved(lax.add(x, adjoint(x)))


def part(x: Any, keep: Callable[[Any, Any], Any], offset: int = 0) -> Any:
    """``x`` where ``keep(row, column - offset)``, zero elsewhere."""
    aval = typeof(x)
    rows = lax.broadcasted_iota(np.int32, aval.shape[-2:], 0)
    columns = lax.broadcasted_iota(np.int32, aval.shape[-2:], 1)
    mask = keep(rows, lax.sub(columns, np.int32(offset)))
    mask = lax.broadcast_in_dim(mask, aval.shape, (aval.ndim - 2, aval.ndim - 1))
    return lax.select(mask, x, lax.full_like(x, 0))


def lower_part(x: Any, offset: int = 0) -> Any:
    """The elements on and below diagonal ``offset``."""
    return part(x, lax.ge, offset)


def upper_part(x: Any, offset: int = 0) -> Any:
    """The elements on and above diagonal ``offset``."""
    return part(x, lax.le, offset)


def diagonal_part(x: Any) -> Any:
    """The elements on the diagonal; zero elsewhere."""
    return part(x, lax.eq)


def diagonal(x: Any) -> Any:
    """The vectors of the matrices' diagonals."""
    return lax.reduce_sum(diagonal_part(x), (typeof(x).ndim - 1,))


def identity_like(x: Any, rows: int, columns: int) -> Any:
    """Stacks of identities, as many and of the dtype as those of ``x``."""
    aval = typeof(x)
    return diagonal_part(lax.full((*aval.shape[:-2], rows, columns), 1, aval.dtype))


def rows_times(x: Any, s: Any) -> Any:
    """``x`` with its row i multiplied by ``s[i]``: each, a stack's."""
    return lax.mul(x, _spread(s, x, -2))


def columns_times(x: Any, s: Any) -> Any:
    """``x`` with its column j multiplied by ``s[j]``."""
    return lax.mul(x, _spread(s, x, -1))


def _spread(s: Any, x: Any, axis: int) -> Any:
    aval = typeof(x)
    if typeof(s).dtype != aval.dtype:
        s = lax.convert_element_type(s, aval.dtype)
    dims = (*range(aval.ndim - 2), aval.ndim + axis)
    return lax.broadcast_in_dim(s, aval.shape, dims)


def spread(s: Any, x: Any, axis: int) -> Any:
    """The vectors ``s`` repeated to the matrices of ``x``, along ``axis`` (-2: one value a row)."""
    return _spread(s, x, axis)


def inverse_gaps(w: Any, x: Any) -> Any:
    """``1 / (w[j] - w[i])`` at row i and column j, for matrices like ``x``.

    Zero on the diagonal, and where the two are equal but for the rounding of a factorization: a
    quotient of 0 by 0 whose limit the numerator does not tell. (There it is infinite, and what
    follows nan, without the flag `annihilating_zeros`.)
    """
    gaps = lax.sub(_spread(w, x, -1), _spread(w, x, -2))
    ones, zeros = lax.full_like(gaps, 1), lax.full_like(gaps, 0)
    if annihilating_zeros.value:
        distance = lax.abs(lax.stop_gradient(gaps))
        tolerance = _rounding(lax.stop_gradient(w))
        stack = tuple(range(typeof(w).ndim - 1))
        equal = lax.le(distance, lax.broadcast_in_dim(tolerance, typeof(distance).shape, stack))
    else:
        equal = lax.ne(diagonal_part(ones), zeros)
    return lax.select(equal, zeros, lax.div(ones, lax.select(equal, ones, gaps)))


def _rounding(w: Any) -> Any:
    """The error of the eigenvalues ``w`` of each matrix."""
    size, eps = typeof(w).shape[-1], np.finfo(real_dtype(typeof(w).dtype)).eps
    largest = lax.reduce_max(lax.abs(w), (typeof(w).ndim - 1,))
    return lax.mul(largest, np.asarray(size * eps, typeof(largest).dtype))


def crop(x: Any, rows: int, columns: int) -> Any:
    """The first rows and columns of each matrix."""
    shape = typeof(x).shape
    limits = (*shape[:-2], rows, columns)
    return x if limits == shape else lax.slice(x, (0,) * len(shape), limits)


def rows_from(x: Any, first: int) -> Any:
    """The rows of each matrix from ``first`` on."""
    return lax.slice_in_dim(x, first, None, axis=typeof(x).ndim - 2)


def columns_from(x: Any, first: int) -> Any:
    """The columns of each matrix from ``first`` on."""
    return lax.slice_in_dim(x, first, None, axis=typeof(x).ndim - 1)


def beside(x: Any, y: Any) -> Any:
    """The columns of ``x``, then those of ``y``."""
    return lax.concatenate([x, y], typeof(x).ndim - 1)


def pad_to(x: Any, rows: int, columns: int) -> Any:
    """Each matrix with zeros below and to the right."""
    aval = typeof(x)
    more = [(0, rows - aval.shape[-2], 0), (0, columns - aval.shape[-1], 0)]
    return lax.pad(x, np.zeros((), aval.dtype), [(0, 0, 0)] * (aval.ndim - 2) + more)


def take_rows(x: Any, order: Any) -> Any:
    """The rows of each matrix in the order of its vector of row numbers."""
    aval, stack = typeof(x), tuple(range(typeof(x).ndim - 2))
    row = len(stack)
    if aval.size == 0:
        return lax.full((*aval.shape[:row], typeof(order).shape[-1], aval.shape[-1]), 0, aval.dtype)
    numbers = lax.GatherDimensionNumbers(
        offset_dims=(row + 1,),
        collapsed_slice_dims=(row,),
        start_index_map=(row,),
        operand_batching_dims=stack,
        start_indices_batching_dims=stack,
    )
    sizes = (1,) * (row + 1) + (aval.shape[-1],)
    places = lax.expand_dims(order, (row + 1,))
    return lax.gather(x, places, numbers, sizes, mode=lax.GatherScatterMode.PROMISE_IN_BOUNDS)

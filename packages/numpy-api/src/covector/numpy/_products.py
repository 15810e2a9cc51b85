"""Products that sum over axes: `dot`, `matmul`, `tensordot`, ... `einsum` is in `_einsum.py`.

All are one `lax.dot_general`, with the axes brought to where NumPy has them.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

from covector import lax
from covector._api.jit import library_function
from covector._ir import dtypes
from covector._trace.trace import typeof
from covector.errors import ShapeError
from covector.lax.convert import convert_type
from covector.numpy._operands import (
    Array,
    ArrayLike,
    broadcast_to_shape,
    canonical_axis,
    check_arraylike,
    check_no_out,
    common_shape,
    promote_dtypes,
    requested_dtype,
)

_OPTIONS = ("precision", "preferred_element_type")


def contract(
    lhs: Any,
    rhs: Any,
    contracting: tuple[Sequence[int], Sequence[int]],
    batch: tuple[Sequence[int], Sequence[int]] = ((), ()),
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """`lax.dot_general` on operands of one dtype, which is the result's unless given.

    The result is weak if both operands are.
    """
    preferred = requested_dtype(preferred_element_type, "dot")
    weak = preferred is None and typeof(lhs).weak_type and typeof(rhs).weak_type
    lhs, rhs = promote_dtypes(lhs, rhs)
    dtype = preferred or typeof(lhs).dtype
    out = lax.dot_general(
        lhs, rhs, (contracting, batch), precision=precision, preferred_element_type=dtype
    )
    return convert_type(out, dtype, weak_type=weak)


def _scaled(lhs: Any, rhs: Any, preferred_element_type: Any) -> Any:
    """The product where one operand is a scalar."""
    out = lax.mul(*promote_dtypes(lhs, rhs))
    dtype = requested_dtype(preferred_element_type, "dot")
    return out if dtype is None else lax.convert_element_type(out, dtype)


def _check_inner(name: str, lhs: Any, rhs: Any, lhs_axis: int, rhs_axis: int, hint: str) -> None:
    a, b = typeof(lhs).shape, typeof(rhs).shape
    if a[lhs_axis] != b[rhs_axis]:
        raise ShapeError(
            f"{name}: axis {lhs_axis % len(a)} of a and axis {rhs_axis % len(b)} of b are summed "
            f"over, so they must have one size, but a has shape {a} and b has shape {b}.{hint}"
        )


@library_function(operands=("a", "b"))
def dot(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Array:
    """The product summed over the last axis of ``a`` and the second-to-last (or only) one of ``b``.

    Args:
      precision: how exact products of 32-bit numbers are on hardware that offers less.
      preferred_element_type: the dtype to accumulate in and to return.

    Raises:
      ShapeError: the axes have different sizes.

    >>> print(jnp.dot(jnp.array([1.0, 2.0]), jnp.array([3.0, 4.0])))
    11.0
    """
    check_arraylike("dot", a, b)
    a_ndim, b_ndim = typeof(a).ndim, typeof(b).ndim
    if a_ndim == 0 or b_ndim == 0:
        return _scaled(a, b, preferred_element_type)
    b_axis = -2 if b_ndim > 1 else -1
    hint = "" if a_ndim != 2 or b_ndim != 2 else " Did you mean jnp.dot(a, b.T)?"
    _check_inner("dot", a, b, -1, b_axis, hint)
    axes = ((a_ndim - 1,), (b_ndim + b_axis,))
    return contract(a, b, axes, ((), ()), precision, preferred_element_type)


@library_function(operands=("a", "b"))
def matmul(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Array:
    """The matrix product, over leading axes that broadcast. Vectors are rows or columns.

    ``precision`` and ``preferred_element_type``: see `dot`.

    Raises:
      ShapeError: the shapes do not fit, or an operand is a scalar.

    >>> print(jnp.matmul(jnp.eye(2), jnp.array([3.0, 4.0])))
    [3. 4.]
    """
    check_arraylike("matmul", a, b)
    for position, x in enumerate((a, b)):
        if typeof(x).ndim == 0:
            raise ShapeError(
                f"matmul: input operand {position} must have ndim at least 1, but it has ndim 0. "
                "Use * for a product with a scalar."
            )
    a_vector, b_vector = typeof(a).ndim == 1, typeof(b).ndim == 1
    hint = ""
    if typeof(a).ndim == typeof(b).ndim == 2 and typeof(a).shape[1] == typeof(b).shape[1]:
        hint = " Did you mean a @ b.T?"
    _check_inner("matmul", a, b, -1, -1 if b_vector else -2, hint)
    a_batch = typeof(a).shape[: -1 if a_vector else -2]
    b_batch = typeof(b).shape[: -1 if b_vector else -2]
    return _batched_product(a, b, a_batch, b_batch, precision, preferred_element_type)


def _batched_product(
    a: Any, b: Any, a_batch: tuple, b_batch: tuple, precision: Any, preferred_element_type: Any
) -> Any:
    """Contract the matrices in the last axes; leading axes that only one has stay its own."""
    batch = common_shape("matmul", a_batch, b_batch)
    rank = len(batch)
    a, b = _leading_axes(a, rank - len(a_batch)), _leading_axes(b, rank - len(b_batch))
    a_shape, b_shape = typeof(a).shape, typeof(b).shape
    shared = [i for i in range(rank) if a_shape[i] == b_shape[i]]
    only_a = [i for i in range(rank) if i not in shared and b_shape[i] == 1]
    only_b = [i for i in range(rank) if i not in shared and a_shape[i] == 1]
    a, b = lax.squeeze(a, only_b), lax.squeeze(b, only_a)
    a_axes = [i for i in range(rank) if i not in only_b]
    b_axes = [i for i in range(rank) if i not in only_a]
    a_contract = typeof(a).ndim - 1
    b_contract = len(b_axes)
    out = contract(
        a,
        b,
        ((a_contract,), (b_contract,)),
        (tuple(map(a_axes.index, shared)), tuple(map(b_axes.index, shared))),
        precision,
        preferred_element_type,
    )
    # dot_general's order: shared axes, then a's others and its rows, then b's others and columns.
    rows = ["rows"] if len(a_shape) - rank == 2 else []
    columns = ["columns"] if len(b_shape) - rank == 2 else []
    order = [*shared, *only_a, *rows, *only_b, *columns]
    return lax.transpose(out, [order.index(i) for i in [*range(rank), *rows, *columns]])


def _leading_axes(x: Any, count: int) -> Any:
    return lax.reshape(x, (1,) * count + typeof(x).shape) if count else x


@library_function(static_argnames=_OPTIONS)
def vdot(
    a: ArrayLike, b: ArrayLike, *, precision: Any = None, preferred_element_type: Any = None
) -> Array:
    """The product of two arrays as vectors, summed; ``a`` is conjugated.

    >>> print(jnp.vdot(jnp.array([1j, 2]), jnp.array([1j, 2])))
    (5+0j)
    """
    check_arraylike("vdot", a, b)
    if dtypes.is_complex(typeof(a).dtype):
        a = lax.conj(a)
    a, b = [lax.reshape(x, (typeof(x).size,)) for x in (a, b)]
    _check_inner("vdot", a, b, 0, 0, "")
    return contract(a, b, ((0,), (0,)), ((), ()), precision, preferred_element_type)


@library_function(static_argnames=_OPTIONS)
def inner(
    a: ArrayLike, b: ArrayLike, *, precision: Any = None, preferred_element_type: Any = None
) -> Array:
    """The product summed over the last axes of both.

    >>> print(jnp.inner(jnp.array([[1, 2], [3, 4]]), jnp.array([1, 1])))
    [3 7]
    """
    check_arraylike("inner", a, b)
    if typeof(a).ndim == 0 or typeof(b).ndim == 0:
        return _scaled(a, b, preferred_element_type)
    _check_inner("inner", a, b, -1, -1, "")
    axes = ((typeof(a).ndim - 1,), (typeof(b).ndim - 1,))
    return contract(a, b, axes, ((), ()), precision, preferred_element_type)


@library_function(operands=("a", "b"))
def outer(a: ArrayLike, b: ArrayLike, out: None = None) -> Array:
    """All products of an element of ``a`` with one of ``b``, as a matrix.

    >>> print(jnp.outer(jnp.array([1, 2]), jnp.array([3, 4])))
    [[3 4]
     [6 8]]
    """
    check_no_out("outer", out)
    check_arraylike("outer", a, b)
    a, b = promote_dtypes(a, b)
    rows, columns = typeof(a).size, typeof(b).size
    a = lax.broadcast_in_dim(lax.reshape(a, (rows,)), (rows, columns), (0,))
    product = lax.bitwise_and if dtypes.is_bool(typeof(a).dtype) else lax.mul
    return product(a, lax.broadcast_in_dim(lax.reshape(b, (columns,)), (rows, columns), (1,)))


def tensordot(
    a: ArrayLike,
    b: ArrayLike,
    axes: Any = 2,
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Array:
    """The product summed over several axes.

    Args:
      axes: a number n, for the last n axes of ``a`` and the first n of ``b``, or a pair of axes,
        or of sequences of them.

    >>> print(jnp.tensordot(jnp.ones((2, 3, 4)), jnp.ones((3, 4, 5))).shape)
    (2, 5)
    """
    return _tensordot(
        a,
        b,
        axes=_static_axes(axes),
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def _static_axes(axes: Any) -> Any:
    if not isinstance(axes, (tuple, list)):
        return index(axes)
    if len(axes) != 2:
        raise TypeError(f"tensordot: axes must be an int, or a pair of axes, got {axes!r}.")
    return tuple(
        [tuple(map(index, a)) if isinstance(a, (tuple, list)) else (index(a),) for a in axes]
    )


@library_function(static_argnames=("axes", *_OPTIONS))
def _tensordot(a: Any, b: Any, *, axes: Any, precision: Any, preferred_element_type: Any) -> Any:
    check_arraylike("tensordot", a, b)
    a_ndim, b_ndim = typeof(a).ndim, typeof(b).ndim
    if isinstance(axes, int):
        if axes > min(a_ndim, b_ndim):
            raise ShapeError(
                f"tensordot: axes={axes} axes are to be summed over, but a has {a_ndim} and b has "
                f"{b_ndim}."
            )
        axes = (tuple(range(a_ndim - axes, a_ndim)), tuple(range(axes)))
    a_axes = tuple([canonical_axis(i, a_ndim) for i in axes[0]])
    b_axes = tuple([canonical_axis(i, b_ndim) for i in axes[1]])
    if len(a_axes) != len(b_axes):
        raise ShapeError(
            f"tensordot: as many axes of a as of b must be given, got {axes[0]} and {axes[1]}."
        )
    for i, j in zip(a_axes, b_axes):
        _check_inner("tensordot", a, b, i, j, "")
    return contract(a, b, (a_axes, b_axes), ((), ()), precision, preferred_element_type)


@library_function(static_argnames=("axis", *_OPTIONS))
def vecdot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    axis: int = -1,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:
    """The product of vectors along one axis, which is summed; ``x1`` is conjugated.

    >>> print(jnp.vecdot(jnp.ones((2, 3)), jnp.ones((2, 3))))
    [3. 3.]
    """
    check_arraylike("vecdot", x1, x2)
    for x in (x1, x2):
        if typeof(x).ndim == 0:
            raise ShapeError("vecdot: the operands must be arrays of vectors, got a scalar.")
    x1, x2 = [_axis_to_end(x, canonical_axis(axis, typeof(x).ndim)) for x in (x1, x2)]
    _check_inner("vecdot", x1, x2, -1, -1, "")
    if dtypes.is_complex(typeof(x1).dtype):
        x1 = lax.conj(x1)
    rows, columns = typeof(x1).shape, typeof(x2).shape
    x1, x2 = lax.reshape(x1, (*rows[:-1], 1, rows[-1])), lax.reshape(x2, (*columns, 1))
    out = _batched_product(x1, x2, rows[:-1], columns[:-1], precision, preferred_element_type)
    return lax.squeeze(out, (typeof(out).ndim - 2, typeof(out).ndim - 1))


def _axis_to_end(x: Any, axis: int) -> Any:
    others = [i for i in range(typeof(x).ndim) if i != axis]
    return lax.transpose(x, [*others, axis])


@library_function
def matvec(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Matrices times vectors, over leading axes that broadcast.

    >>> print(jnp.matvec(jnp.ones((2, 3)), jnp.ones(3)))
    [3. 3.]
    """
    check_arraylike("matvec", x1, x2)
    x2 = lax.reshape(x2, (*typeof(x2).shape, 1))
    out = matmul(x1, x2)
    return lax.squeeze(out, (typeof(out).ndim - 1,))


@library_function
def vecmat(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Vectors, conjugated, times matrices, over leading axes that broadcast.

    >>> print(jnp.vecmat(jnp.ones(2), jnp.ones((2, 3))))
    [2. 2. 2.]
    """
    check_arraylike("vecmat", x1, x2)
    if typeof(x1).ndim < 1 or typeof(x2).ndim < 2:
        raise ShapeError(
            "vecmat: x1 must have at least one axis and x2 two, got shapes "
            f"{typeof(x1).shape} and {typeof(x2).shape}."
        )
    if dtypes.is_complex(typeof(x1).dtype):
        x1 = lax.conj(x1)
    shape = typeof(x1).shape
    out = matmul(lax.reshape(x1, (*shape[:-1], 1, shape[-1])), x2)
    return lax.squeeze(out, (typeof(out).ndim - 2,))


@library_function
def kron(a: ArrayLike, b: ArrayLike) -> Array:
    """The Kronecker product: ``a`` with each element replaced by its product with ``b``.

    >>> print(jnp.kron(jnp.array([1, 10]), jnp.array([1, 2])))
    [ 1  2 10 20]
    """
    check_arraylike("kron", a, b)
    a, b = promote_dtypes(a, b)
    rank = max(typeof(a).ndim, typeof(b).ndim)
    a, b = [_leading_axes(x, rank - typeof(x).ndim) for x in (a, b)]
    outer_shape, inner_shape = typeof(a).shape, typeof(b).shape
    blocks = [n for pair in zip(outer_shape, inner_shape) for n in pair]
    a = lax.broadcast_in_dim(a, blocks, range(0, 2 * rank, 2)) if rank else a
    b = lax.broadcast_in_dim(b, blocks, range(1, 2 * rank, 2)) if rank else b
    return lax.reshape(lax.mul(a, b), [m * n for m, n in zip(outer_shape, inner_shape)])


@library_function(operands=("a", "b"))
def cross(
    a: ArrayLike,
    b: ArrayLike,
    axisa: int = -1,
    axisb: int = -1,
    axisc: int = -1,
    axis: int | None = None,
) -> Array:
    """The cross product of vectors of three elements.

    Args:
      axisa, axisb: the axes of ``a`` and ``b`` that hold the vectors; ``axis`` sets all three.
      axisc: the axis of the result that holds them.

    Raises:
      ShapeError: the vectors do not have three elements.

    >>> print(jnp.cross(jnp.array([1, 0, 0]), jnp.array([0, 1, 0])))
    [0 0 1]
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    return _cross(a, b, axisa=index(axisa), axisb=index(axisb), axisc=index(axisc))


def _cross(a: Any, b: Any, *, axisa: int, axisb: int, axisc: int) -> Any:
    check_arraylike("cross", a, b)
    a, b = promote_dtypes(a, b)
    a = _axis_to_end(a, canonical_axis(axisa, typeof(a).ndim))
    b = _axis_to_end(b, canonical_axis(axisb, typeof(b).ndim))
    sizes = typeof(a).shape[-1], typeof(b).shape[-1]
    if sizes != (3, 3):
        raise ShapeError(f"cross: vectors must have 3 elements, got {sizes[0]} and {sizes[1]}.")
    shape = common_shape("cross", typeof(a).shape[:-1], typeof(b).shape[:-1])
    x, y = [
        [broadcast_to_shape(part, shape) for part in lax.unstack(v, typeof(v).ndim - 1)]
        for v in (a, b)
    ]
    parts = [lax.sub(lax.mul(x[i], y[j]), lax.mul(x[j], y[i])) for i, j in ((1, 2), (2, 0), (0, 1))]
    return lax.stack(parts, canonical_axis(axisc, len(shape) + 1))

"""Functions that move elements without changing them: shapes, axes, order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import index
from typing import Any

import jaxlib._jax as _jaxlib
import numpy as np
from covector import lax
from covector._api.jit import library_function
from covector._ir import dtypes
from covector._trace.trace import typeof
from covector.errors import ShapeError
from covector.numpy._creation import asarray
from covector.numpy._operands import (
    Array,
    ArrayLike,
    Axes,
    DTypeLike,
    broadcast_to_shape,
    canonical_axes,
    canonical_axis,
    canonical_shape,
    check_arraylike,
    common_shape,
    hashable_axes,
    requested_dtype,
)

ArrayImpl = _jaxlib.ArrayImpl
Shape = tuple[int, ...]

# --- shape ---------------------------------------------------------------------------------------


def reshape(
    a: ArrayLike,
    shape: Any,
    order: str = "C",
    *,
    copy: bool | None = None,
    out_sharding: Any = None,
) -> Array:
    """The elements in another shape.

    Args:
      shape: an int or a sequence of ints; one of them may be -1, for what is left.
      order: "C" if the last axis varies fastest, "F" if the first does.

    Raises:
      ShapeError: the sizes do not fit.

    >>> print(jnp.reshape(jnp.arange(4), (2, -1)))
    [[0 1]
     [2 3]]
    """
    return _reshape(a, canonical_shape("reshape", shape), order)


def _filled_in(old: Shape, new: Shape) -> Shape:
    """``new`` with -1 replaced by what is left."""
    unknown = [i for i, n in enumerate(new) if n == -1]
    size, known = math.prod(old), math.prod([n for n in new if n != -1])
    problem = ""
    if len(unknown) > 1:
        problem = "can only specify one unknown axis size with a `-1` value"
    elif any(n < -1 for n in new):
        problem = "sizes must be nonnegative, or -1"
    elif unknown and (known == 0 or size % known):
        problem = f"the product of the given sizes ({known}) does not evenly divide {size}"
    elif not unknown and known != size:
        problem = f"the new shape has size {known}"
    if problem:
        raise ShapeError(
            f"cannot reshape array of shape {old} (size {size}) into shape {new}: {problem}"
        )
    return tuple([size // known if n == -1 else n for n in new]) if unknown else new


@library_function(operands=("a",))
def _reshape(a: Any, shape: Shape, order: str) -> Any:
    check_arraylike("reshape", a)
    if order == "A":
        raise NotImplementedError("reshape: order must be 'C' or 'F', got 'A'.")
    if order not in ("C", "F"):
        raise ValueError(f"reshape: order must be 'C' or 'F', got {order!r}.")
    shape = _filled_in(typeof(a).shape, shape)
    if order == "C":
        return lax.reshape(a, shape)
    backwards = lax.transpose(a, range(typeof(a).ndim)[::-1])
    return lax.transpose(lax.reshape(backwards, shape[::-1]), range(len(shape))[::-1])


@library_function(operands=("a",))
def ravel(a: ArrayLike, order: str = "C", *, out_sharding: Any = None) -> Array:
    """The elements along one axis.

    >>> print(jnp.ravel(jnp.eye(2)))
    [1. 0. 0. 1.]
    """
    check_arraylike("ravel", a)
    if order == "K":
        raise NotImplementedError("ravel: order must be 'C' or 'F', got 'K'.")
    return reshape(a, (typeof(a).size,), order)


def expand_dims(a: ArrayLike, axis: Axes = 0) -> Array:
    """``a`` with new axes of size one at these places of the result.

    >>> jnp.expand_dims(jnp.zeros((2, 3)), (0, -1)).shape
    (1, 2, 3, 1)
    """
    return _expand_dims(a, axis=hashable_axes(axis))


@library_function(static_argnames="axis")
def _expand_dims(a: Any, *, axis: Any) -> Any:
    check_arraylike("expand_dims", a)
    given = (axis,) if isinstance(axis, int) else axis
    return lax.expand_dims(a, canonical_axes(given, typeof(a).ndim + len(given)))


def squeeze(a: ArrayLike, axis: Axes = None) -> Array:
    """``a`` without axes of size one: all of them, or those named.

    Raises:
      ValueError: an axis that is named has another size.

    >>> jnp.squeeze(jnp.zeros((1, 3, 1))).shape
    (3,)
    """
    return _squeeze(a, axis=hashable_axes(axis))


@library_function(static_argnames="axis")
def _squeeze(a: Any, *, axis: Any) -> Any:
    check_arraylike("squeeze", a)
    shape = typeof(a).shape
    if axis is None:
        return lax.squeeze(a, [i for i, n in enumerate(shape) if n == 1])
    axes = canonical_axes(axis, len(shape))
    if any(shape[i] != 1 for i in axes):
        raise ValueError(
            "cannot select an axis to squeeze out which has size not equal to one, got "
            f"shape={shape} and axis={axis}"
        )
    return lax.squeeze(a, axes)


@library_function(static_argnames="shape")
def _broadcast_to(array: Any, *, shape: Shape) -> Any:
    return broadcast_to_shape(array, shape)


def broadcast_to(array: ArrayLike, shape: Any, *, out_sharding: Any = None) -> Array:
    """``array`` repeated along axes of size one, and new leading ones, to a shape.

    Raises:
      ShapeError: the shapes do not fit.

    >>> print(jnp.broadcast_to(jnp.arange(2), (2, 2)))
    [[0 1]
     [0 1]]
    """
    check_arraylike("broadcast_to", array)
    shape = canonical_shape("broadcast_to", shape)
    own = typeof(array).shape
    fits = len(own) <= len(shape) and all(
        n in (1, m) for n, m in zip(reversed(own), reversed(shape))
    )
    if not fits:
        raise ShapeError(
            f"broadcast_to: an array of shape {own} does not broadcast to {shape}: aligned at the "
            "last axis, sizes must be equal or 1."
        )
    return _broadcast_to(array, shape=shape)


@library_function
def broadcast_arrays(*args: Any) -> tuple[Array, ...]:
    """The arrays, broadcast to their common shape.

    >>> [x.shape for x in jnp.broadcast_arrays(jnp.zeros((2, 1)), jnp.zeros(3))]
    [(2, 3), (2, 3)]
    """
    check_arraylike("broadcast_arrays", *args)
    shape = common_shape("broadcast_arrays", *[typeof(x).shape for x in args])
    return tuple([_broadcast_to(x, shape=shape) for x in args])


def broadcast_shapes(*shapes: Any) -> Shape:
    """The shape that arrays of these shapes broadcast to.

    >>> jnp.broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    return common_shape(
        "broadcast_shapes", *[canonical_shape("broadcast_shapes", s) for s in shapes]
    )


def _at_least(rank: int, name: str, place: Any, doc: str) -> Any:
    """`atleast_1d` and its kin: ``place`` says where new axes go."""

    def extend(x: Any) -> Any:
        missing = rank - typeof(x).ndim
        return lax.expand_dims(x, place(typeof(x).ndim)) if missing > 0 else asarray(x)

    def function(*arys: Any) -> Any:
        check_arraylike(name, *arys)
        return extend(arys[0]) if len(arys) == 1 else tuple([extend(x) for x in arys])

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return library_function(function)


atleast_1d = _at_least(
    1,
    "atleast_1d",
    lambda ndim: (0,),
    """Each array with at least one axis.

    >>> jnp.atleast_1d(3.0).shape
    (1,)
    """,
)
atleast_2d = _at_least(
    2,
    "atleast_2d",
    lambda ndim: (0, 1)[ndim:] if ndim == 0 else (0,),
    """Each array with at least two axes; new ones come first.

    >>> jnp.atleast_2d(jnp.zeros(3)).shape
    (1, 3)
    """,
)
atleast_3d = _at_least(
    3,
    "atleast_3d",
    lambda ndim: ((0, 1, 2), (0, 2), (2,))[ndim],
    """Each array with at least three axes; a vector becomes (1, n, 1).

    >>> jnp.atleast_3d(jnp.zeros(3)).shape
    (1, 3, 1)
    """,
)


def shape(a: ArrayLike) -> Shape:
    """The shape of an array.

    >>> jnp.shape(jnp.zeros((2, 3)))
    (2, 3)
    """
    found = getattr(a, "shape", None)
    if type(found) is tuple:
        return found
    return np.shape(a) if isinstance(a, (list, tuple)) else typeof(a).shape


def ndim(a: ArrayLike) -> int:
    """The number of axes of an array.

    >>> jnp.ndim(jnp.zeros((2, 3)))
    2
    """
    return len(shape(a))


def size(a: ArrayLike, axis: Any = None) -> int:
    """The number of elements, in all or along axes.

    >>> jnp.size(jnp.zeros((2, 3))), jnp.size(jnp.zeros((2, 3)), axis=1)
    (6, 3)
    """
    own = shape(a)
    return math.prod([own[i] for i in canonical_axes(axis, len(own))])


# --- order of axes -------------------------------------------------------------------------------


def transpose(a: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """``a`` with its axes in another order: axis i of the result is ``axes[i]``, or reversed.

    >>> jnp.transpose(jnp.zeros((2, 3, 4)), (1, 2, 0)).shape
    (3, 4, 2)
    """
    return _transpose(a, axes=None if axes is None else tuple(map(index, axes)))


def permute_dims(a: ArrayLike, /, axes: Sequence[int]) -> Array:
    """``a`` with its axes in another order. See `transpose`.

    >>> jnp.permute_dims(jnp.zeros((2, 3)), (1, 0)).shape
    (3, 2)
    """
    return _transpose(a, axes=tuple(map(index, axes)))


@library_function(static_argnames="axes")
def _transpose(a: Any, *, axes: Any) -> Any:
    check_arraylike("transpose", a)
    rank = typeof(a).ndim
    if axes is None:
        return lax.transpose(a, range(rank)[::-1])
    order = [canonical_axis(i, rank) for i in axes]
    if sorted(order) != list(range(rank)):
        raise ShapeError(
            f"transpose: axes must be an order of all {rank} axes of an array of shape "
            f"{typeof(a).shape}, got {axes}"
        )
    return lax.transpose(a, order)


@library_function
def matrix_transpose(x: ArrayLike, /) -> Array:
    """``x`` with its last two axes exchanged.

    >>> jnp.matrix_transpose(jnp.zeros((2, 3, 4))).shape
    (2, 4, 3)
    """
    check_arraylike("matrix_transpose", x)
    rank = typeof(x).ndim
    if rank < 2:
        raise ValueError(
            f"matrix_transpose: x must have at least two axes, got shape {typeof(x).shape}."
        )
    return lax.transpose(x, [*range(rank - 2), rank - 1, rank - 2])


@library_function(operands=("a",))
def swapaxes(a: ArrayLike, axis1: int, axis2: int) -> Array:
    """``a`` with two axes exchanged.

    >>> jnp.swapaxes(jnp.zeros((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    check_arraylike("swapaxes", a)
    order = list(range(typeof(a).ndim))
    try:
        i, j = order[index(axis1)], order[index(axis2)]
    except IndexError:
        raise AxisError(
            f"swapaxes: axis1={axis1} and axis2={axis2} must be axes of an array with {len(order)}."
        ) from None
    order[i], order[j] = j, i
    return _transpose(a, axes=tuple(order))


class AxisError(ShapeError, IndexError):
    """An axis that an array does not have."""


def moveaxis(a: ArrayLike, source: Axes, destination: Axes) -> Array:
    """``a`` with axes moved to other places; the others keep their order.

    >>> jnp.moveaxis(jnp.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    return _moveaxis(a, hashable_axes(source), hashable_axes(destination))


@library_function(operands=("a",))
def _moveaxis(a: Any, source: Axes, destination: Axes) -> Any:
    check_arraylike("moveaxis", a)
    rank = typeof(a).ndim
    origins, places = canonical_axes(source, rank), canonical_axes(destination, rank)
    if len(origins) != len(places):
        raise ValueError(
            f"moveaxis: source and destination must have as many axes, got {source} and "
            f"{destination}."
        )
    order = [i for i in range(rank) if i not in origins]
    for place, origin in sorted(zip(places, origins)):
        order.insert(place, origin)
    return _transpose(a, axes=tuple(order))


@library_function(operands=("a",))
def rollaxis(a: ArrayLike, axis: int, start: int = 0) -> Array:
    """``a`` with an axis moved to before another. `moveaxis` is easier to read.

    >>> jnp.rollaxis(jnp.zeros((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    check_arraylike("rollaxis", a)
    rank = typeof(a).ndim
    axis = canonical_axis(axis, rank)
    start = canonical_axis(start, rank + 1) if start != rank else rank
    return moveaxis(a, axis, start - (axis < start))


# --- order of elements ---------------------------------------------------------------------------


def flip(m: ArrayLike, axis: Axes = None) -> Array:
    """The elements in reverse order along axes, by default all.

    >>> print(jnp.flip(jnp.array([1, 2, 3])))
    [3 2 1]
    """
    return _flip(m, axis=hashable_axes(axis))


@library_function(static_argnames="axis")
def _flip(m: Any, *, axis: Any) -> Any:
    check_arraylike("flip", m)
    return lax.rev(m, canonical_axes(axis, typeof(m).ndim))


def flipud(m: ArrayLike) -> Array:
    """The elements in reverse order along the first axis.

    >>> print(jnp.flipud(jnp.array([[1, 2], [3, 4]])))
    [[3 4]
     [1 2]]
    """
    return flip(m, 0)


def fliplr(m: ArrayLike) -> Array:
    """The elements in reverse order along the second axis.

    >>> print(jnp.fliplr(jnp.array([[1, 2], [3, 4]])))
    [[2 1]
     [4 3]]
    """
    return flip(m, 1)


@library_function(operands=("m",))
def rot90(m: ArrayLike, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Array:
    """``m`` turned by 90 degrees, ``k`` times, from the first of two axes to the second.

    >>> print(jnp.rot90(jnp.array([[1, 2], [3, 4]])))
    [[2 4]
     [1 3]]
    """
    check_arraylike("rot90", m)
    first, second = canonical_axes(axes, typeof(m).ndim)
    k = k % 4
    if k == 0:
        return asarray(m)
    if k == 2:
        return flip(m, (first, second))
    turned = swapaxes(m, first, second)
    return flip(turned, first if k == 1 else second)


def roll(a: ArrayLike, shift: ArrayLike, axis: Axes = None) -> Array:
    """The elements moved along axes; those that leave at one end come in at the other.

    Args:
      shift: a number, or one for each axis; they may be traced.
      axis: None to roll the flattened array.

    >>> print(jnp.roll(jnp.arange(5), 2))
    [3 4 0 1 2]
    """
    check_arraylike("roll", a)
    if isinstance(shift, (tuple, list)):
        shift = np.asarray(shift)
    return _roll(a, shift, axis=hashable_axes(axis))


@library_function(static_argnames="axis")
def _roll(a: Any, shift: Any, *, axis: Any) -> Any:
    if axis is None:
        if typeof(shift).ndim:
            shift = lax.reduce_sum(shift, tuple(range(typeof(shift).ndim)))
        flat = lax.reshape(a, (typeof(a).size,))
        return lax.reshape(_rolled(flat, shift, 0), typeof(a).shape)
    axes = (axis,) if isinstance(axis, int) else axis
    shifts = [shift] * len(axes)
    if typeof(shift).ndim:
        common_shape("roll", typeof(shift).shape, (len(axes),))
        shifts = lax.unstack(broadcast_to_shape(shift, (len(axes),)))
    for amount, at in zip(shifts, axes):
        a = _rolled(a, amount, canonical_axis(at, typeof(a).ndim))
    return a


def _rolled(x: Any, shift: Any, axis: int) -> Any:
    """The part of two copies side by side that starts where the shift says."""
    n = typeof(x).shape[axis]
    if n == 0:
        return x
    dtype = typeof(shift).dtype
    shift = lax.rem(lax.neg(lax.convert_element_type(shift, dtype)), dtype.type(n))
    start = lax.select(lax.lt(shift, dtype.type(0)), lax.add(shift, dtype.type(n)), shift)
    starts = [dtype.type(0)] * typeof(x).ndim
    starts[axis] = start
    return lax.dynamic_slice(lax.concatenate([x, x], axis), starts, typeof(x).shape)


# --- the bits of elements ------------------------------------------------------------------------


def view(a: ArrayLike, dtype: DTypeLike = None, type: None = None) -> Array:
    """``a``'s bytes as elements of another dtype; the last axis changes size if they differ."""
    if type is not None:
        raise NotImplementedError("view: arrays have one type; `type` must be None.")
    wanted = requested_dtype(float if dtype is None else dtype, "view")
    own = typeof(a).dtype
    if own == wanted:
        return asarray(a)
    if typeof(a).ndim == 0 and own.itemsize != wanted.itemsize:
        raise ValueError("view() of a 0d array is only supported if the itemsize is unchanged.")
    return _view(a, dtype=wanted)


@library_function(static_argnames="dtype")
def _view(a: Any, *, dtype: np.dtype) -> Any:
    own = typeof(a).dtype
    if dtypes.is_bool(own):
        a = lax.convert_element_type(a, np.dtype("uint8"))
        own = np.dtype("uint8")
    target = np.dtype("uint8") if dtypes.is_bool(dtype) else dtype
    ratio = own.itemsize // target.itemsize
    if ratio >= 1:
        out = lax.bitcast_convert_type(a, target)
        if ratio > 1:
            shape = typeof(a).shape
            out = lax.reshape(out, (*shape[:-1], shape[-1] * ratio))
    else:
        shape, group = typeof(a).shape, target.itemsize // own.itemsize
        if shape[-1] % group:
            raise ValueError(
                f"view: the last axis, of {shape[-1]} elements of {own}, does not hold a whole "
                f"number of {target}."
            )
        a = lax.reshape(a, (*shape[:-1], shape[-1] // group, group))
        out = lax.bitcast_convert_type(a, target)
    return lax.ne(out, target.type(0)) if dtypes.is_bool(dtype) else out

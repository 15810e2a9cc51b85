"""What functions of several arrays do with their operands first: check, promote, broadcast.

Bodies of library functions call these on tracers, once per signature. An operand that needs no
change is returned as it is, and one of rank zero stays so beside others (see `lax/_nary.py`), so a
sum of two equal types is one equation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import Any

import numpy as np
from covector import lax
from covector._config import numpy_rank_promotion
from covector._ir import dtypes
from covector._run.array import Array
from covector._trace.trace import Tracer, is_arraylike, typeof
from covector.errors import ShapeError, warn_user
from covector.lax.convert import convert_type

ndarray = Array  # what isinstance(x, jnp.ndarray) asks for, traced arrays included
ComplexWarning = np.exceptions.ComplexWarning

ArrayLike = Array | np.ndarray | np.generic | bool | int | float | complex
ArrayOrSeveral = Array | Any  # one array, or a sequence of them where an argument asks for more
DTypeLike = Any  # a dtype, a scalar type of NumPy, Python or this package, or a dtype's name
Shape = tuple[int, ...]
Axes = int | Sequence[int] | None


# --- checks --------------------------------------------------------------------------------------


def check_arraylike(name: str, *operands: Any) -> None:
    """Raise `TypeError` for an operand that is neither an array nor a number.

    A list or tuple is refused: to convert it silently would hide a slow path.
    """
    for position, x in enumerate(operands):
        if not is_arraylike(x):
            hint = (
                " Convert it with covector.numpy.array first."
                if isinstance(x, (list, tuple))
                else ""
            )
            raise TypeError(
                f"{name} requires ndarray or scalar arguments, got {type(x)} at position "
                f"{position}.{hint}"
            )


def check_no_out(name: str, out: Any) -> None:
    """Raise for an ``out`` argument: arrays are immutable, so nothing can be written into one."""
    if out is not None:
        raise NotImplementedError(
            f"The 'out' argument to jnp.{name} is not supported: arrays are immutable. Use the "
            "function's result."
        )


def check_not_in_place(
    name: str, inplace: bool, error: Callable[[str], Exception] = ValueError
) -> None:
    """Raise unless an ``inplace`` argument is false: arrays are immutable."""
    if inplace:
        raise error(
            f"jnp.{name}: arrays are immutable. Pass inplace=False, and use the function's result."
        )


def concrete(name: str, argument: str, x: Any) -> np.ndarray:
    """The value of an argument that must be known while a function is traced."""
    if isinstance(x, Tracer):
        x = x.concrete()
    if isinstance(x, Tracer):
        from covector.errors import ConcretizationTypeError

        raise ConcretizationTypeError(
            f"{name}: the value of {argument} must be known while the function is traced, but it "
            f"is a traced array of type {x.aval.str_short()}. Mark the argument that it comes from "
            "static (static_argnums, static_argnames)."
        )
    return np.asarray(x)


def canonical_shape(name: str, shape: Any) -> Shape:
    """A shape argument, an int or a sequence of ints, as a tuple."""
    if type(shape) is not tuple:
        try:
            return (index(shape),)
        except TypeError:
            pass
    try:
        return tuple([index(n) for n in shape])
    except TypeError:
        sizes = shape if isinstance(shape, (list, tuple)) else (shape,)
        raise _unusable(f"{name}: a shape", "a sequence of integers", shape, sizes) from None


def _unusable(what: str, expected: str, given: Any, parts: Sequence[Any]) -> TypeError:
    """The error for an argument that is no integer, or that is not known."""
    if not any(isinstance(part, Tracer) for part in parts):
        return TypeError(f"{what} must be {expected}, got {given!r}.")
    from covector.errors import ConcretizationTypeError

    return ConcretizationTypeError(
        f"{what} must be known while the function is traced, got {given!r}. Mark the argument that "
        "it comes from static (static_argnums, static_argnames)."
    )


def canonical_axis(axis: Any, ndim: int, name: str = "axis") -> int:
    """One axis, counted from the front."""
    number = known_axis(axis, name)
    if not -ndim <= number < ndim:
        # As in NumPy, a ValueError and an IndexError.
        raise np.exceptions.AxisError(
            f"{name} {number} is out of bounds for array of dimension {ndim}"
        )
    return number % ndim


def known_axis(axis: Any, name: str = "axis") -> int:
    """One axis as a Python int."""
    try:
        return index(axis)
    except TypeError:
        raise _unusable(name, "an integer", axis, [axis]) from None


def canonical_axes(axis: Axes, ndim: int) -> tuple[int, ...]:
    """An ``axis`` argument as a tuple of axes counted from the front; None stands for all."""
    if axis is None:
        return tuple(range(ndim))
    axes = tuple([canonical_axis(a, ndim) for a in _several(axis)])
    if len(set(axes)) != len(axes):
        raise ValueError(f"duplicate value in 'axis': {axis}")
    return axes


def hashable_axes(axis: Any) -> Any:
    """An ``axis`` argument in a form that can be static: an int, a tuple of ints, or None."""
    if axis is None or type(axis) is int:
        return axis
    if _is_index(axis):
        return known_axis(axis)
    axes = _several(axis)
    try:
        return tuple([index(a) for a in axes])
    except TypeError:
        raise _unusable("axis", "an integer or a sequence of integers", axis, axes) from None


def _several(axis: Any) -> Sequence[Any]:
    if _is_index(axis):
        return (axis,)
    if isinstance(axis, str) or not hasattr(axis, "__iter__"):
        raise _unusable("axis", "an integer or a sequence of integers", axis, [axis])
    return axis


def _is_index(x: Any) -> bool:
    return hasattr(x, "__index__") and not getattr(x, "ndim", 0)


def requested_dtype(dtype: DTypeLike, name: str) -> Any:
    """A ``dtype`` argument as the dtype that arrays get, or None."""
    return None if dtype is None else dtypes.check_user_dtype(dtype, name)


# --- dtypes --------------------------------------------------------------------------------------


def promote_dtypes(*operands: Any) -> list[Any]:
    """The operands, converted to their common dtype."""
    return _convert(operands, lambda dtype: dtype)


def promote_dtypes_inexact(*operands: Any) -> list[Any]:
    """The operands, converted to their common dtype, or the float type of that size."""
    return _convert(operands, dtypes.to_inexact_dtype)


def promote_dtypes_numeric(*operands: Any) -> list[Any]:
    """The operands, converted to their common dtype, or to an integer if that is boolean."""
    return _convert(operands, lambda dtype: np.dtype("int32") if dtypes.is_bool(dtype) else dtype)


def common_type(*operands: Any) -> tuple[np.dtype, bool]:
    """The dtype that operands are promoted to, and whether it is weak."""
    avals = [typeof(x) for x in operands]
    return dtypes.lattice_result_type(
        tuple([a.dtype for a in avals]), tuple([a.weak_type for a in avals])
    )


def _convert(operands: Sequence[Any], adjust: Callable[[np.dtype], np.dtype]) -> list[Any]:
    avals = [typeof(x) for x in operands]
    common, weak = common_type(*operands)
    dtype = dtypes.canonicalize_dtype(adjust(common))
    # Of equal dtypes, one that is not weak decides for the result, without a conversion.
    return [
        x if a.dtype == dtype else convert_type(x, dtype, weak_type=weak)
        for x, a in zip(operands, avals, strict=True)
    ]


# --- shapes --------------------------------------------------------------------------------------


def common_shape(name: str, *shapes: Shape) -> Shape:
    """The shape that all of ``shapes`` broadcast to."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise ShapeError(
            f"{name} got incompatible shapes for broadcasting: {', '.join(map(str, shapes))}. "
            "Aligned at the last axis, sizes must be equal or 1."
        ) from None


def broadcast(name: str, *operands: Any) -> list[Any]:
    """The operands, of one shape; those of rank zero beside others stay so."""
    shapes = [typeof(x).shape for x in operands]
    arrays = [s for s in shapes if s]
    if len(set(arrays)) <= 1:
        return list(operands)
    shape = common_shape(name, *arrays)
    _check_ranks(name, shapes, arrays)
    return [broadcast_to_shape(x, shape) if s else x for x, s in zip(operands, shapes, strict=True)]


def broadcast_to_shape(x: Any, shape: Shape) -> Any:
    """``x`` repeated to ``shape``, which it is known to broadcast to."""
    own = typeof(x).shape
    if own == shape:
        return x
    skipped = len(shape) - len(own)
    return lax.broadcast_in_dim(x, shape, range(skipped, len(shape)))


def full_shape(x: Any, like: Any) -> Any:
    """A scalar spread to the shape of another operand."""
    return broadcast_to_shape(x, typeof(like).shape)


def _check_ranks(name: str, shapes: list[Shape], arrays: list[Shape]) -> None:
    """Follow the flag on operands of different ranks (scalars are always allowed)."""
    flag = numpy_rank_promotion.value
    if flag == "allow" or len({len(s) for s in arrays}) <= 1:
        return
    message = (
        f"Operands could not be broadcast together for {name} on shapes "
        f"{' '.join(map(str, shapes))} while jax_numpy_rank_promotion is '{flag}': add axes of "
        "size one explicitly."
    )
    if flag == "raise":
        raise ValueError(message)
    warn_user(message)


# --- both ----------------------------------------------------------------------------------------


def promote(name: str, *operands: Any) -> list[Any]:
    """The operands, checked, of one dtype, and broadcast."""
    check_arraylike(name, *operands)
    return broadcast(name, *promote_dtypes(*operands))


def promote_inexact(name: str, *operands: Any) -> list[Any]:
    """The operands, checked, of one floating-point dtype, and broadcast."""
    check_arraylike(name, *operands)
    return broadcast(name, *promote_dtypes_inexact(*operands))


def promote_numeric(name: str, *operands: Any) -> list[Any]:
    """The operands, checked, of one dtype that is not boolean, and broadcast."""
    check_arraylike(name, *operands)
    return broadcast(name, *promote_dtypes_numeric(*operands))


def as_boolean(x: Any) -> Any:
    """Whether each element is nonzero."""
    aval = typeof(x)
    return x if aval.dtype == bool else lax.ne(x, zero(aval.dtype))


def zero(dtype: Any) -> Any:
    """The scalar 0 of a dtype."""
    return scalar(0, dtype)


def scalar(value: Any, dtype: Any) -> Any:
    """A number as a constant of a dtype: a weak one, so that it decides nothing about results."""
    constant = np.asarray(value).astype(dtype)[()]
    return convert_type(constant, dtype, weak_type=not dtypes.is_bool(dtype))

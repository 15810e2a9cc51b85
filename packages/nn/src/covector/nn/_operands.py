"""What functions do with their operands first."""

from __future__ import annotations

from operator import index
from typing import Any

from covector import lax
from covector._ir import dtypes
from covector._trace.trace import is_arraylike, typeof
from covector.lax.convert import convert_type


def check_arraylike(name: str, *operands: Any) -> None:
    """Raise `TypeError` for an operand that is neither an array nor a number."""
    for position, x in enumerate(operands):
        if not is_arraylike(x):
            raise TypeError(
                f"{name} requires ndarray or scalar arguments, got {type(x)} at position "
                f"{position}. Convert it with covector.numpy.array first."
            )


def to_inexact(x: Any) -> Any:
    """``x`` in a floating-point or complex dtype: its own, if that is one."""
    aval = typeof(x)
    dtype = dtypes.canonicalize_dtype(dtypes.to_inexact_dtype(aval.dtype))
    return convert_type(x, dtype, weak_type=aval.weak_type)


def strong(x: Any) -> Any:
    """``x`` with a dtype that counts in promotion, whatever it was made of."""
    return lax.convert_element_type(x, typeof(x).dtype)


def is_inexact(x: Any) -> bool:
    """Whether the dtype of ``x`` is floating-point or complex."""
    return dtypes.is_float(typeof(x).dtype) or dtypes.is_complex(typeof(x).dtype)


def hashable_axes(axis: Any) -> Any:
    """An ``axis`` argument in a form that can be static: an int, a tuple of ints, or None."""
    if axis is None or type(axis) is int:
        return axis
    return index(axis) if hasattr(axis, "__index__") else tuple([index(a) for a in axis])

"""Public functions and classes on element types: `covector.dtypes`."""

from __future__ import annotations

from typing import Any

from covector._ir import dtypes as _dtypes
from covector._ir.dtypes import bfloat16 as bfloat16
from covector._ir.dtypes import extended as extended
from covector._ir.dtypes import finfo as finfo
from covector._ir.dtypes import float0 as float0
from covector._ir.dtypes import iinfo as iinfo
from covector._ir.dtypes import issubdtype as issubdtype
from covector._ir.dtypes import itemsize_bits as itemsize_bits
from covector._ir.dtypes import prng_key as prng_key
from covector._ir.dtypes import result_type as result_type
from covector.errors import TypePromotionError as TypePromotionError

__all__ = [
    "TypePromotionError",
    "bfloat16",
    "canonicalize_dtype",
    "extended",
    "finfo",
    "float0",
    "iinfo",
    "issubdtype",
    "itemsize_bits",
    "prng_key",
    "result_type",
    "scalar_type_of",
]


def canonicalize_dtype(dtype: Any, allow_extended_dtype: bool = False) -> Any:
    """The dtype that an array really gets: narrowed to 32 bits while x64 is off.

    Args:
        dtype: a dtype, or what names one.
        allow_extended_dtype: return an extended dtype (of random keys) instead of raising.

    >>> canonicalize_dtype("float64")
    dtype('float32')
    """
    is_extended = isinstance(dtype, _dtypes.ExtendedDType) or (
        isinstance(dtype, type) and issubclass(dtype, extended)
    )
    if is_extended and not allow_extended_dtype:
        raise ValueError(
            f"canonicalize_dtype: got the extended dtype {dtype}; "
            "pass allow_extended_dtype=True if that is meant."
        )
    return dtype if is_extended else _dtypes.canonicalize_dtype(dtype)


def scalar_type_of(x: Any) -> type:
    """The Python type of the elements of an array or dtype: bool, int, float or complex.

    >>> scalar_type_of(bfloat16)
    <class 'float'>
    """
    return _dtypes.scalar_type_of_dtype(_dtypes.dtype(x))

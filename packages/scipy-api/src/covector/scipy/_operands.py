"""What functions of arrays do with their operands first: check them, and make them floats."""

from __future__ import annotations

from typing import Any

from covector import lax
from covector._ir import dtypes
from covector._trace.trace import is_arraylike, typeof


def check_arraylike(name: str, *operands: Any) -> None:
    """Raise `TypeError` for an operand that is neither an array nor a number."""
    for position, x in enumerate(operands):
        if not is_arraylike(x):
            raise TypeError(
                f"{name} requires ndarray or scalar arguments, got {type(x)} at position "
                f"{position}. Convert it with covector.numpy.array first."
            )


def promote_inexact(name: str, *operands: Any) -> list[Any]:
    """The operands, checked, of one floating-point (or complex) dtype; not broadcast."""
    check_arraylike(name, *operands)
    avals = [typeof(x) for x in operands]
    common, weak = dtypes.lattice_result_type(
        tuple([a.dtype for a in avals]), tuple([a.weak_type for a in avals])
    )
    dtype = dtypes.canonicalize_dtype(dtypes.to_inexact_dtype(common))
    return [lax.convert_element_type(x, dtype, weak_type=weak) for x in operands]


def promote_real(name: str, *operands: Any) -> list[Any]:
    """Like `promote_inexact`, for functions of real numbers."""
    promoted = promote_inexact(name, *operands)
    dtype = typeof(promoted[0]).dtype
    if dtypes.is_complex(dtype):
        raise TypeError(f"{name} does not accept complex numbers, got {dtype}.")
    return promoted

"""How the elementwise functions are made: checked, promoted and broadcast operands, and slopes.

A function is given by its values and by its slope in each operand, so that a derivative is right
where differentiating the formula for the values would overflow or cancel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import covector.numpy as jnp
import numpy as np
from covector import lax
from covector._ir import dtypes
from covector._trace.trace import is_arraylike, typeof
from covector.custom_derivatives import custom_jvp
from covector.lax.convert import convert_type
from covector.lax.elementwise import scale


def promote_inexact(name: str, *operands: Any) -> list[Any]:
    """The operands, checked, of one floating-point or complex dtype, and broadcast."""
    for position, x in enumerate(operands):
        if not is_arraylike(x):
            raise TypeError(
                f"{name} requires ndarray or scalar arguments, got {type(x)} at position "
                f"{position}. Convert it with covector.numpy.array first."
            )
    avals = [typeof(x) for x in operands]
    common, weak = dtypes.lattice_result_type(
        tuple([a.dtype for a in avals]), tuple([a.weak_type for a in avals])
    )
    dtype = dtypes.canonicalize_dtype(dtypes.to_inexact_dtype(common))
    promoted = [convert_type(x, dtype, weak_type=weak) for x in operands]
    return promoted if len({a.shape for a in avals}) == 1 else [*jnp.broadcast_arrays(*promoted)]


def promote_real(name: str, *operands: Any, error: type[Exception] = TypeError) -> list[Any]:
    """`promote_inexact` for a function of real numbers alone."""
    promoted = promote_inexact(name, *operands)
    if dtypes.is_complex(typeof(promoted[0]).dtype):
        raise error(
            f"{name} does not support complex-valued inputs, got dtype "
            f"{typeof(promoted[0]).dtype}. Pass real numbers, such as the real part."
        )
    return promoted


def with_slopes(value: Callable[..., Any], *slopes: Callable[..., Any]) -> Callable[..., Any]:
    """``value``, a function of arrays of one dtype and shape, with its partial derivatives.

    Each of ``slopes`` takes the operands. Half precision is computed in single precision.
    """
    function = custom_jvp(value)
    function.defjvps(*[_times(slope) for slope in slopes])

    def compute(*operands: Any) -> Any:
        dtype, weak = typeof(operands[0]).dtype, typeof(operands[0]).weak_type
        narrow = dtypes.is_float(dtype) and dtype.itemsize < 4
        wide = np.dtype("float32") if narrow else dtype
        out = function(*[lax.convert_element_type(x, wide) for x in operands])
        return convert_type(out, dtype, weak_type=weak)

    return compute


def _times(slope: Callable[..., Any]) -> Callable[..., Any]:
    return lambda tangent, out, *operands: scale(tangent, slope(*operands))


def strong(x: Any) -> Any:
    """``x`` with a dtype that counts in promotion, whatever it was made of."""
    return lax.convert_element_type(x, typeof(x).dtype)


def polynomial(coefficients: tuple[float, ...], x: Any) -> Any:
    """The polynomial with these coefficients, the one of the highest power first, at ``x``."""
    out = jnp.full_like(x, coefficients[0])
    for c in coefficients[1:]:
        out = out * x + c
    return out

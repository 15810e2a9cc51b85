"""Parts of complex and floating-point numbers, and what to put for those that are not finite."""

from __future__ import annotations

from typing import Any

import numpy as np
from covector import lax
from covector._api.jit import library_function
from covector._ir import dtypes
from covector._trace.trace import typeof
from covector.lax.convert import convert_type
from covector.numpy import _operands
from covector.numpy._operands import (
    Array,
    ArrayLike,
    check_arraylike,
    check_no_out,
    full_shape,
    promote_dtypes_inexact,
    promote_inexact,
    scalar,
    zero,
)
from covector.numpy._rounding import promote_rint, truncate
from covector.numpy._ufunc import binary, keep, unary


def _if_complex(compute: Any, otherwise: Any) -> Any:
    return lambda x: (compute if dtypes.is_complex(typeof(x).dtype) else otherwise)(x)


def _no_imaginary_part(x: Any) -> Any:
    aval = typeof(x)
    return convert_type(full_shape(zero(aval.dtype), x), aval.dtype, weak_type=aval.weak_type)


@library_function
def real(val: ArrayLike, /) -> Array:
    """The real part of each element.

    >>> print(jnp.real(1 + 2j))
    1.0
    """
    check_arraylike("real", val)
    return _if_complex(lax.real, lambda x: x)(val)


@library_function
def imag(val: ArrayLike, /) -> Array:
    """The imaginary part of each element.

    >>> print(jnp.imag(1 + 2j))
    2.0
    """
    check_arraylike("imag", val)
    return lax.imag(val) if dtypes.is_complex(typeof(val).dtype) else _no_imaginary_part(val)


conjugate = unary(
    "conjugate", _if_complex(lambda x: lax.conj(x), lambda x: x),
    "The complex conjugate of each element.", ("conjugate(1 + 2j)", "(1-2j)"), keep,
)  # fmt: skip
conj = unary(
    "conj", _if_complex(lambda x: lax.conj(x), lambda x: x),
    "The complex conjugate of each element.", ("conj(1 + 2j)", "(1-2j)"), keep,
)  # fmt: skip


@library_function(static_argnames="deg")
def angle(z: ArrayLike, deg: bool = False) -> Array:
    """The angle of each complex number, in radians, or in degrees with ``deg``.

    >>> print(jnp.angle(1j, deg=True))
    90.0
    """
    (z,) = promote_rint("angle", z)
    if dtypes.is_complex(typeof(z).dtype):
        result = lax.atan2(lax.imag(z), lax.real(z))
    else:
        dtype = typeof(z).dtype
        negative = lax.lt(z, zero(dtype))
        half_turn, nothing = full_shape(scalar(np.pi, dtype), z), full_shape(zero(dtype), z)
        result = lax.select(lax.ne(z, z), z, lax.select(negative, half_turn, nothing))
    dtype = typeof(result).dtype
    result = lax.mul(result, scalar(180 / np.pi, dtype)) if deg else result
    return lax.convert_element_type(result, dtype)


@library_function(operands=("x",))
def modf(x: ArrayLike, /, out: None = None) -> tuple[Array, Array]:
    """The fractional and the integral part of each element, both with its sign.

    >>> print(*jnp.modf(-1.5))
    -0.5 -1.0
    """
    check_no_out("modf", out)
    (x,) = promote_inexact("modf", x)
    whole = truncate(x)
    infinite = lax.eq(lax.abs(x), scalar(np.inf, typeof(x).dtype))
    fraction = lax.select(infinite, full_shape(zero(typeof(x).dtype), x), lax.sub(x, whole))
    return fraction, whole


def _copysign(x: Any, y: Any) -> Any:
    if dtypes.is_complex(typeof(x).dtype):
        raise TypeError("copysign does not support complex-valued inputs")
    negative = sign_bit(y)
    size = lax.abs(x)
    shape = _operands.common_shape("copysign", typeof(x).shape, typeof(y).shape)
    negative, size = [_operands.broadcast_to_shape(v, shape) for v in (negative, size)]
    return lax.select(negative, lax.neg(size), size)


def sign_bit(x: Any) -> Any:
    """Whether the sign bit is set: -0.0 has it."""
    dtype = typeof(x).dtype
    if dtypes.is_integer(dtype) or dtypes.is_bool(dtype):
        return lax.lt(x, zero(dtype))
    if dtypes.is_complex(dtype):
        raise ValueError("signbit: complex numbers have no sign; take that of real or imag.")
    bits = lax.bitcast_convert_type(x, np.dtype(f"int{8 * dtype.itemsize}"))
    return lax.lt(bits, zero(typeof(bits).dtype))


signbit = unary(
    "signbit",
    sign_bit,
    "Whether the sign bit is set, elementwise.",
    ("signbit(-0.0)", "True"),
    keep,
)
copysign = binary(
    "copysign", _copysign, "The size of ``x1`` with the sign of ``x2``, elementwise.",
    ("copysign(3.0, -0.0)", "-3.0"), promote_inexact,
)  # fmt: skip
nextafter = binary(
    "nextafter", "nextafter", "The floating-point number next to ``x`` towards ``y``.",
    ("nextafter(1.0, 2.0)", "1.0000001"), promote_inexact, "x, y, /",
)  # fmt: skip


@library_function
def ldexp(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """``x1 * 2**x2``, for integers ``x2``.

    >>> print(jnp.ldexp(1.5, 2))
    6.0
    """
    check_arraylike("ldexp", x1, x2)
    if not dtypes.is_integer(typeof(x2).dtype):
        raise ValueError(f"ldexp: x2 must be integers, got dtype {typeof(x2).dtype}.")
    (x1,) = promote_dtypes_inexact(x1)
    if dtypes.is_complex(typeof(x1).dtype):
        raise ValueError(f"ldexp: x1 must be real numbers, got dtype {typeof(x1).dtype}.")
    x1, x2 = _operands.broadcast("ldexp", x1, x2)
    dtype = typeof(x1).dtype
    # In two steps, so that 2**x2 itself does not overflow where the result does not.
    half = lax.shift_right_arithmetic(x2, scalar(1, typeof(x2).dtype))
    for part in (half, lax.sub(x2, half)):
        x1 = lax.mul(x1, lax.exp2(lax.convert_element_type(part, dtype)))
    return lax.convert_element_type(x1, dtype)


@library_function
def frexp(x: ArrayLike, /) -> tuple[Array, Array]:
    """Mantissa ``m`` and exponent ``e`` with ``x == m * 2**e`` and ``0.5 <= abs(m) < 1``.

    >>> print(*jnp.frexp(3.0))
    0.75 2
    """
    (x,) = promote_inexact("frexp", x)
    x = lax.convert_element_type(x, typeof(x).dtype)
    info = dtypes.finfo(typeof(x).dtype)
    integer = np.dtype(f"int{info.bits}")
    # Numbers below the normal ones are scaled up first.
    tiny = lax.lt(lax.abs(x), scalar(info.smallest_normal, info.dtype))
    scaled = lax.select(tiny, lax.mul(x, scalar(2.0**info.nmant, info.dtype)), x)
    bits = lax.bitcast_convert_type(scaled, integer)
    mask, bias = 2**info.nexp - 1, 2 ** (info.nexp - 1) - 2
    exponent = lax.bitwise_and(
        lax.shift_right_logical(bits, scalar(info.nmant, integer)), scalar(mask, integer)
    )
    shift = lax.convert_element_type(
        lax.select(tiny, full_shape(scalar(info.nmant, integer), x), full_shape(zero(integer), x)),
        integer,
    )
    rest = lax.bitwise_and(bits, scalar(~(mask << info.nmant), integer))
    mantissa = lax.bitcast_convert_type(
        lax.bitwise_or(rest, scalar(bias << info.nmant, integer)), info.dtype
    )
    exponent = lax.sub(lax.sub(exponent, scalar(bias, integer)), shift)
    odd = lax.bitwise_or(lax.eq(x, zero(info.dtype)), lax.bitwise_not(lax.is_finite(x)))
    mantissa = lax.select(odd, x, mantissa)
    exponent = lax.select(odd, full_shape(zero(integer), x), exponent)
    return mantissa, lax.convert_element_type(exponent, np.dtype("int32"))


@library_function(operands=("x", "nan", "posinf", "neginf"))
def nan_to_num(
    x: ArrayLike, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Array:
    """``x`` with NaN and infinities replaced, by default by 0 and the largest finite numbers.

    ``copy`` is there for NumPy's sake and has no effect.

    >>> print(jnp.nan_to_num(jnp.array([1.0, jnp.nan]), nan=5.0))
    [1. 5.]
    """
    check_arraylike("nan_to_num", x)
    dtype = typeof(x).dtype
    if not dtypes.is_inexact(dtype):
        return convert_type(x, dtype, weak_type=typeof(x).weak_type)
    if dtypes.is_complex(dtype):
        parts = [nan_to_num(p, copy, nan, posinf, neginf) for p in (lax.real(x), lax.imag(x))]
        return lax.complex(*parts)
    largest = dtypes.finfo(dtype).max
    infinity = scalar(np.inf, dtype)
    result = lax.convert_element_type(x, dtype)
    for found, value in (
        (lax.ne(x, x), nan),
        (lax.eq(x, infinity), largest if posinf is None else posinf),
        (lax.eq(x, lax.neg(infinity)), -largest if neginf is None else neginf),
    ):
        value = lax.convert_element_type(value, dtype)
        shape = _operands.common_shape("nan_to_num", typeof(x).shape, typeof(value).shape)
        parts = [_operands.broadcast_to_shape(v, shape) for v in (found, value, result)]
        result = lax.select(*parts)
    return result

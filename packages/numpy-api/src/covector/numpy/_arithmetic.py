"""Elementwise arithmetic: sums, products, quotients, powers, rounding, parts of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from covector import lax
from covector._api.jit import library_function
from covector._ir import dtypes
from covector._trace.trace import typeof
from covector.lax.convert import convert_type
from covector.lax.elementwise import signed_zero_p
from covector.numpy import _operands
from covector.numpy._operands import (
    Array,
    ArrayLike,
    check_arraylike,
    check_no_out,
    promote_dtypes_inexact,
    promote_inexact,
    promote_numeric,
    scalar,
    zero,
)
from covector.numpy._ufunc import binary, keep, ufunc, unary

# --- sums and products ---------------------------------------------------------------------------


def _sum(x: Any, y: Any) -> Any:
    return (lax.bitwise_or if dtypes.is_bool(typeof(x).dtype) else lax.add)(x, y)


def _product(x: Any, y: Any) -> Any:
    return (lax.bitwise_and if dtypes.is_bool(typeof(x).dtype) else lax.mul)(x, y)


add = ufunc(
    "add", _sum, "Sum, elementwise; of booleans, whether either holds.", ("add(1, 2)", "3"), 0
)
subtract = ufunc("subtract", "sub", "Difference, elementwise.", ("subtract(3, 1.5)", "1.5"))
multiply = ufunc(
    "multiply", _product, "Product, elementwise; of booleans, whether both hold.",
    ("multiply(3, 1.5)", "4.5"), 1,
)  # fmt: skip
negative = ufunc("negative", "neg", "Negation, elementwise.", ("negative(3)", "-3"), None, keep, 1)
positive = unary("positive", lambda x: x, "The numbers themselves.", ("positive(3)", "3"), keep)
maximum = ufunc(
    "maximum", "max", "The larger of two, elementwise; NaN if either is.",
    ("maximum(jnp.array([1, 5]), 3)", "[3 5]"),
)  # fmt: skip
minimum = ufunc(
    "minimum", "min", "The smaller of two, elementwise; NaN if either is.",
    ("minimum(jnp.array([1, 5]), 3)", "[1 3]"),
)  # fmt: skip


def _prefer_number(choose: Any) -> Any:
    """Choose between two, but take the other where one is NaN."""

    def compute(x: Any, y: Any) -> Any:
        chosen = choose(x, y)
        if dtypes.is_inexact(typeof(chosen).dtype):
            x, y = full_shape(x, chosen), full_shape(y, chosen)
            chosen = lax.select(lax.ne(x, x), y, lax.select(lax.ne(y, y), x, chosen))
        return chosen

    return compute


def full_shape(x: Any, like: Any) -> Any:
    """A scalar spread to the shape of another operand."""
    return _operands.broadcast_to_shape(x, typeof(like).shape)


fmax = binary(
    "fmax", _prefer_number(lambda x, y: lax.max(x, y)),
    "The larger of two, elementwise; where one is NaN, the other.", ("fmax(1.0, jnp.nan)", "1.0"),
    parameters="x1, x2",
)  # fmt: skip
fmin = binary(
    "fmin", _prefer_number(lambda x, y: lax.min(x, y)),
    "The smaller of two, elementwise; where one is NaN, the other.", ("fmin(1.0, jnp.nan)", "1.0"),
    parameters="x1, x2",
)  # fmt: skip

# --- quotients -----------------------------------------------------------------------------------

divide = binary(
    "divide", "div", "Quotient, elementwise, of floating-point dtype.", ("divide(1, 4)", "0.25"),
    promote_inexact,
)  # fmt: skip
true_divide = binary(
    "true_divide", "div", "Quotient, elementwise, of floating-point dtype.",
    ("true_divide(1, 4)", "0.25"), promote_inexact,
)  # fmt: skip
reciprocal = unary(
    "reciprocal", lambda x: lax.div(scalar(1, typeof(x).dtype), x), "One divided by each element.",
    ("reciprocal(4)", "0.25"),
)  # fmt: skip


def _remainder(x: Any, y: Any) -> Any:
    """The remainder with the sign of the divisor: the truncated one, moved by one divisor.

    Of integers, the remainder of a division by zero is 0.
    """
    is_float = dtypes.is_float(typeof(y).dtype)
    if not is_float:
        one = full_shape(scalar(1, typeof(y).dtype), y)
        y = lax.select(lax.eq(y, zero(typeof(y).dtype)), one, y)
    rest = lax.rem(x, y)
    nothing = zero(typeof(rest).dtype)
    wrong_sign = lax.ne(lax.lt(rest, nothing), lax.lt(y, nothing))
    wrong_sign = lax.bitwise_and(wrong_sign, lax.ne(rest, nothing))
    rest = lax.select(wrong_sign, lax.add(rest, y), rest)
    return signed_zero_p.bind(rest, y) if is_float else rest


def _floor_divide(x: Any, y: Any) -> Any:
    dtype = typeof(x).dtype
    if dtypes.is_integer(dtype):
        return _integer_floor_divide(x, y)
    if dtypes.is_complex(dtype):
        raise TypeError(
            "floor_divide: complex numbers have no order, so they cannot be rounded down."
        )
    shape = _operands.common_shape("floor_divide", typeof(x).shape, typeof(y).shape)
    return _float_divmod(*[_operands.broadcast_to_shape(v, shape) for v in (x, y)])[0]


def _integer_floor_divide(x: Any, y: Any) -> Any:
    """The quotient rounded down; 0 where the divisor is."""
    dtype = typeof(x).dtype
    quotient, nothing = lax.div(x, y), zero(dtype)
    if not dtypes.is_unsigned(dtype):
        opposite = lax.ne(lax.sign(x), lax.sign(y))
        inexact = lax.ne(lax.rem(x, y), nothing)
        down = lax.bitwise_and(opposite, inexact)
        quotient = lax.select(down, lax.sub(quotient, scalar(1, dtype)), quotient)
    impossible = full_shape(lax.eq(y, nothing), quotient)
    return lax.select(impossible, full_shape(nothing, quotient), quotient)


def _float_divmod(x: Any, y: Any) -> tuple[Any, Any]:
    """Quotient rounded down and remainder, consistent with each other: ``q * y + r == x``."""
    dtype = typeof(x).dtype
    rest = lax.rem(x, y)
    quotient = lax.div(lax.sub(x, rest), y)
    wrong_sign = lax.ne(lax.sign(y), lax.sign(rest))
    move = lax.bitwise_and(lax.ne(rest, zero(dtype)), wrong_sign)
    rest = signed_zero_p.bind(lax.select(move, lax.add(rest, y), rest), y)
    quotient = lax.round(lax.select(move, lax.sub(quotient, scalar(1, dtype)), quotient))
    negative = lax.ne(sign_bit(x), sign_bit(y))
    sign = lax.select(negative, full_shape(scalar(-1, dtype), x), full_shape(scalar(1, dtype), x))
    quotient = signed_zero_p.bind(quotient, sign)
    return lax.select(lax.eq(y, zero(dtype)), lax.div(x, y), quotient), rest


floor_divide = binary(
    "floor_divide", _floor_divide, "Quotient rounded down, elementwise.",
    ("floor_divide(-7, 2)", "-4"), promote_numeric,
)  # fmt: skip
remainder = binary(
    "remainder", _remainder, "Remainder, elementwise, with the sign of the divisor.",
    ("remainder(-7, 3)", "2"), promote_numeric,
)  # fmt: skip
mod = binary(
    "mod", _remainder, "Remainder, elementwise, with the sign of the divisor.", ("mod(-7, 3)", "2"),
    promote_numeric,
)  # fmt: skip
fmod = binary(
    "fmod", "rem", "Remainder, elementwise, with the sign of the dividend.", ("fmod(-7, 3)", "-1"),
    promote_numeric,
)  # fmt: skip


@library_function
def divmod(x1: ArrayLike, x2: ArrayLike, /) -> tuple[Array, Array]:
    """Quotient rounded down, and remainder, elementwise.

    >>> print(*jnp.divmod(-7, 3))
    -3 2
    """
    x, y = promote_numeric("divmod", x1, x2)
    if dtypes.is_float(typeof(x).dtype):
        shape = _operands.common_shape("divmod", typeof(x).shape, typeof(y).shape)
        x, y = [_operands.broadcast_to_shape(v, shape) for v in (x, y)]
        return _float_divmod(x, y)
    return _floor_divide(x, y), _remainder(x, y)


# --- powers --------------------------------------------------------------------------------------


def power(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """``x1`` to the power ``x2``, elementwise.

    A Python int as ``x2`` multiplies repeatedly, which is exact for integers and has a derivative
    everywhere; a negative one needs a floating-point ``x1``.

    Raises:
      TypeError: an integer to a negative power.

    >>> print(jnp.power(3, 2), jnp.power(2.0, jnp.array([-1, 0.5])))
    9 [0.5       1.4142135]
    """
    check_arraylike("power", x1, x2)
    if isinstance(x2, (int, np.integer)) and not isinstance(x2, bool):
        return integer_power(x1, exponent=int(x2))
    return _power(x1, x2)


def pow(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """``x1`` to the power ``x2``, elementwise. An alias of `power`.

    >>> print(jnp.pow(3, 2))
    9
    """
    return power(x1, x2)


@library_function(static_argnames="exponent")
def integer_power(x: Any, *, exponent: int) -> Any:
    """``x`` multiplied with itself, for a static exponent."""
    (x,) = promote_numeric("power", x)
    if exponent < 0 and dtypes.is_integer(typeof(x).dtype):
        raise TypeError(
            f"power: integers cannot be raised to negative powers, got {typeof(x).str_short()} to "
            f"the power {exponent}. Make one of them a float: x ** {float(exponent)}."
        )
    return lax.integer_pow(x, exponent)


@library_function
def _power(x1: Any, x2: Any) -> Any:
    base, exponent = typeof(x1).dtype, typeof(x2).dtype
    if dtypes.is_inexact(base) and (dtypes.is_integer(exponent) or dtypes.is_bool(exponent)):
        x1, x2 = _operands.broadcast("power", x1, x2)
        return lax.pow(x1, x2 if dtypes.is_integer(exponent) else lax.convert_element_type(x2, int))
    x1, x2 = promote_numeric("power", x1, x2)
    if dtypes.is_integer(typeof(x1).dtype):
        return _integer_to_integer(x1, x2)
    return lax.pow(x1, x2)


def _integer_to_integer(x: Any, exponent: Any) -> Any:
    """Powers of integers by repeated squaring; truncated to 0 for negative exponents."""
    shape = _operands.common_shape("power", typeof(x).shape, typeof(exponent).shape)
    x, exponent = [_operands.broadcast_to_shape(v, shape) for v in (x, exponent)]
    dtype = typeof(x).dtype
    one, nothing = scalar(1, dtype), zero(dtype)
    if dtypes.is_signed(dtype):
        # 1 / x is itself for 1 and -1, and truncates to 0 for all others.
        x = lax.select(lax.lt(exponent, nothing), lax.div(full_shape(one, x), x), x)
        exponent = lax.abs(exponent)

    def step(state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        result, base, left = state
        odd = lax.ne(lax.bitwise_and(left, one), nothing)
        result = lax.select(odd, lax.mul(result, base), result)
        return result, lax.mul(base, base), lax.shift_right_logical(left, one)

    def unfinished(state: tuple[Any, Any, Any]) -> Any:
        return lax.reduce_or(lax.ne(state[2], nothing), tuple(range(len(shape))))

    return lax.while_loop(unfinished, step, (full_shape(one, x), x, exponent))[0]


float_power = binary(
    "float_power", "pow", "Power, elementwise, computed in floating point.",
    ("float_power(2, -1)", "0.5"), promote_inexact, "x, y, /",
)  # fmt: skip
square = unary(
    "square", "square", "The square of each element.", ("square(3)", "9"), promote_numeric
)


# --- signs and rounding --------------------------------------------------------------------------


def _unless_boolean(compute: Any) -> Any:
    """Leave booleans as they are."""
    return lambda x: x if typeof(x).dtype == bool else compute(x)


def _unless_exact(compute: Any) -> Any:
    """Leave booleans and integers as they are: they are round already."""

    def rounded(x: Any) -> Any:
        dtype = typeof(x).dtype
        return x if dtypes.is_integer(dtype) or dtypes.is_bool(dtype) else compute(x)

    return rounded


def _absolute(x: Any) -> Any:
    return x if dtypes.is_unsigned(typeof(x).dtype) else lax.abs(x)


def _sign(x: Any) -> Any:
    if dtypes.is_complex(typeof(x).dtype):
        return _direction(x)
    nothing = zero(typeof(x).dtype)
    sign = lax.sign(x)
    # Of -0.0, too, the sign is 0.0.
    return lax.select(lax.eq(x, nothing), full_shape(nothing, sign), sign)


def _direction(z: Any) -> Any:
    """``z / abs(z)``, by parts; an infinite one beside a finite one counts alone."""
    size = lax.abs(z)
    dtype = typeof(size).dtype
    at_zero = lax.eq(size, zero(dtype))
    size = lax.select(at_zero, full_shape(scalar(1, dtype), size), size)
    re, im = [
        lax.select(at_zero, full_shape(zero(dtype), p), p) for p in (lax.real(z), lax.imag(z))
    ]

    def unit(part: Any, other: Any) -> Any:
        infinite = lax.eq(lax.abs(part), scalar(np.inf, dtype))
        alone = lax.bitwise_and(infinite, lax.is_finite(other))
        return lax.select(alone, lax.sign(part), lax.div(part, size))

    return lax.complex(unit(re, im), unit(im, re))


def _truncate(x: Any) -> Any:
    return lax.select(lax.lt(x, zero(typeof(x).dtype)), lax.ceil(x), lax.floor(x))


def _to_even(x: Any) -> Any:
    if dtypes.is_complex(typeof(x).dtype):
        return lax.complex(_to_even(lax.real(x)), _to_even(lax.imag(x)))
    return lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)


def _promote_rint(name: str, x: Any) -> list[Any]:
    """Integers of any width become the default floating-point type."""
    check_arraylike(name, x)
    if dtypes.is_inexact(typeof(x).dtype):
        return [x]
    return [lax.convert_element_type(x, dtypes.canonicalize_dtype("float64"))]


def _promote_real(name: str, x: Any) -> list[Any]:
    (x,) = promote_inexact(name, x)
    if dtypes.is_complex(typeof(x).dtype):
        raise TypeError(f"{name}: complex numbers are not supported; abs takes them.")
    return [x]


abs = unary(
    "abs", _unless_boolean(_absolute), "The absolute value, elementwise; of complex numbers, real.",
    ("abs(jnp.array([-2, 3]))", "[2 3]"), keep,
)  # fmt: skip
absolute = unary(
    "absolute", _unless_boolean(_absolute), "The absolute value, elementwise. See `abs`.",
    ("absolute(-2)", "2"), keep,
)  # fmt: skip
fabs = unary(
    "fabs", "abs", "The absolute value of real numbers as a floating-point number.",
    ("fabs(-2)", "2.0"), _promote_real,
)  # fmt: skip
sign = unary(
    "sign", _sign, "-1, 0 or 1 by the sign of each element; of complex numbers, x / abs(x).",
    ("sign(jnp.array([-2.5, 0, 3]))", "[-1.  0.  1.]"), keep,
)  # fmt: skip
floor = unary(
    "floor", _unless_exact(lambda x: lax.floor(x)), "The largest integer that is not larger.",
    ("floor(-1.5)", "-2.0"), keep,
)  # fmt: skip
ceil = unary(
    "ceil", _unless_exact(lambda x: lax.ceil(x)), "The smallest integer that is not smaller.",
    ("ceil(-1.5)", "-1.0"), keep,
)  # fmt: skip
trunc = unary(
    "trunc", _unless_exact(_truncate), "The integer next to zero: digits after the point cut off.",
    ("trunc(-1.5)", "-1.0"), keep,
)  # fmt: skip
rint = unary(
    "rint", _to_even, "The nearest integer as a floating-point number; of two, the even one.",
    ("rint(2.5)", "2.0"), _promote_rint,
)  # fmt: skip


@library_function(operands=("a",))
def round(a: ArrayLike, decimals: int = 0, out: None = None) -> Array:
    """Each element rounded to a number of decimals; of two equally near, to the even one.

    Integers are returned as they are.

    Raises:
      NotImplementedError: integers, and ``decimals`` is negative.

    >>> print(jnp.round(jnp.array([0.125, 2.5]), 2), jnp.round(2.5))
    [0.12 2.5 ] 2.0
    """
    check_no_out("round", out)
    return _round(a, int(decimals))


@library_function(operands=("a",))
def around(a: ArrayLike, decimals: int = 0, out: None = None) -> Array:
    """Each element rounded to a number of decimals. An alias of `round`.

    >>> print(jnp.around(2.5))
    2.0
    """
    return round(a, decimals, out)


def _round(a: Any, decimals: int) -> Any:
    check_arraylike("round", a)
    dtype = typeof(a).dtype
    if dtypes.is_integer(dtype) or dtypes.is_bool(dtype):
        if decimals < 0:
            raise NotImplementedError(
                f"round: integers are not rounded to tens or hundreds, got decimals={decimals}. "
                "Convert to a floating-point dtype first."
            )
        return a
    if decimals == 0:
        return _to_even(a)
    # Half precision cannot hold the shifted number exactly enough.
    wide = np.dtype("float32") if dtype.itemsize == 2 else dtype
    x = convert_type(a, wide, weak_type=typeof(a).weak_type)
    factor = scalar(10.0**decimals, wide)
    x = lax.div(_to_even(lax.mul(x, factor)), factor)
    return convert_type(x, dtype, weak_type=typeof(a).weak_type)


@library_function(operands=("arr", "min", "max"))
def clip(
    arr: ArrayLike | None = None, /, min: ArrayLike | None = None, max: ArrayLike | None = None
) -> Array:
    """Each element, or the bound that it is beyond.

    Args:
      min, max: bounds that broadcast with ``arr``; None for none. If ``min > max``, ``max`` wins.

    Raises:
      ValueError: a complex argument: complex numbers have no order.

    >>> print(jnp.clip(jnp.arange(5), 1, 3))
    [1 1 2 3 3]
    """
    return _clip(arr, min, max)


def _clip(x: Any, low: Any, high: Any) -> Any:
    bounds = [v for v in (low, high) if v is not None]
    check_arraylike("clip", x, *bounds)
    if any(dtypes.is_complex(typeof(v).dtype) for v in (x, *bounds)):
        raise ValueError(
            "clip: complex numbers have no order, so they cannot be clipped. Clip jnp.real(x) and "
            "jnp.imag(x)."
        )
    if low is not None:
        x = lax.max(*_operands.promote("clip", x, low))
    if high is not None:
        x = lax.min(*_operands.promote("clip", x, high))
    return x if typeof(x).shape or not bounds else _operands.broadcast("clip", x)[0]


def _heaviside(x: Any, y: Any) -> Any:
    shape = _operands.common_shape("heaviside", typeof(x).shape, typeof(y).shape)
    x, y = [_operands.broadcast_to_shape(v, shape) for v in (x, y)]
    dtype = typeof(x).dtype
    one, nothing = full_shape(scalar(1, dtype), x), zero(dtype)
    positive = lax.select(
        lax.gt(x, nothing), one, lax.select(lax.eq(x, x), full_shape(nothing, x), x)
    )
    return lax.select(lax.eq(x, nothing), y, positive)


heaviside = binary(
    "heaviside", _heaviside, "0 for negative, 1 for positive elements, ``x2`` for zeros.",
    ("heaviside(jnp.array([-1.5, 0, 2]), 0.5)", "[0.  0.5 1. ]"), promote_inexact,
)  # fmt: skip

# --- parts of complex and floating-point numbers -------------------------------------------------


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
    (z,) = _promote_rint("angle", z)
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
    whole = _truncate(x)
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


# --- integers ------------------------------------------------------------------------------------


@library_function
def gcd(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The greatest common divisor, elementwise, by Euclid's algorithm.

    >>> print(jnp.gcd(12, 18))
    6
    """
    x1, x2 = _integers("gcd", x1, x2)
    return _gcd(x1, x2)


@library_function
def lcm(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The least common multiple, elementwise.

    >>> print(jnp.lcm(4, 6))
    12
    """
    x1, x2 = _integers("lcm", x1, x2)
    divisor = _gcd(x1, x2)
    nothing = zero(typeof(divisor).dtype)
    one = full_shape(scalar(1, typeof(divisor).dtype), divisor)
    safe = lax.select(lax.eq(divisor, nothing), one, divisor)
    return lax.mul(x1, lax.div(x2, safe))


def _integers(name: str, x1: Any, x2: Any) -> list[Any]:
    check_arraylike(name, x1, x2)
    x1, x2 = _operands.promote_dtypes(x1, x2)
    if not dtypes.is_integer(typeof(x1).dtype):
        raise ValueError(f"{name}: the arguments must be integers, got {typeof(x1).dtype}.")
    shape = _operands.common_shape(name, typeof(x1).shape, typeof(x2).shape)
    return [_absolute(_operands.broadcast_to_shape(v, shape)) for v in (x1, x2)]


def _gcd(x1: Any, x2: Any) -> Any:
    nothing = zero(typeof(x1).dtype)

    def step(pair: tuple[Any, Any]) -> tuple[Any, Any]:
        x, y = pair
        done = lax.eq(y, nothing)
        one = full_shape(scalar(1, typeof(y).dtype), y)
        rest = lax.rem(x, lax.select(done, one, y))
        return lax.select(done, x, y), lax.select(done, y, rest)

    def unfinished(pair: tuple[Any, Any]) -> Any:
        return lax.reduce_or(lax.ne(pair[1], nothing), tuple(range(typeof(pair[1]).ndim)))

    return lax.while_loop(unfinished, step, (x1, x2))[0]


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

"""Elementwise arithmetic: sums, products, quotients, powers, greatest common divisors."""

from __future__ import annotations

from typing import Any

import numpy as np
from covector import lax
from covector._api.jit import library_function
from covector._ir import dtypes
from covector._trace.trace import typeof
from covector.lax.elementwise import signed_zero_p
from covector.numpy import _operands
from covector.numpy._number_parts import sign_bit
from covector.numpy._operands import (
    Array,
    ArrayLike,
    check_arraylike,
    full_shape,
    promote_inexact,
    promote_numeric,
    scalar,
    zero,
)
from covector.numpy._rounding import magnitude
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
    return [magnitude(_operands.broadcast_to_shape(v, shape)) for v in (x1, x2)]


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

"""Powers and roots: square integer_pow reciprocal pow sqrt rsqrt cbrt one_minus_square."""

from __future__ import annotations

from operator import index
from typing import Any

from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector._lower.module import lower_by
from covector._trace.primitive import Primitive
from covector._trace.trace import typeof
from covector.lax._nary import (
    FLOAT,
    INEXACT,
    NUMBER,
    broadcast_to_shape,
    check_kind,
    common_shape,
    elementwise,
    elementwise_batch,
    scalar_like,
)
from covector.lax.accuracy import bind, lower_with_accuracy
from covector.lax.bitwise import and_p
from covector.lax.compare import eq, gt, lt, select_n_p, zero_unless
from covector.lax.complex_numbers import lower_complex, real
from covector.lax.convert import convert_element_type, convert_type
from covector.lax.elementwise import abs, add, add_any, div, mul, neg, scale, sub, unscale

# --- whole powers ---------------------------------------------------------------------------------


def square(x: Any) -> Any:
    """``x * x``, elementwise.

    >>> import covector
    >>> float(covector.lax.square(3.0))
    9.0
    """
    return square_p.bind(x)


square_p = elementwise(
    "square",
    lambda ctx, args, in_avals, out_avals: [ctx.simple("multiply", [args[0]] * 2, out_avals[0])],
    NUMBER,
    lambda t, y, x: scale(t, mul(x, scalar_like(x, 2))),
)


def integer_pow(x: Any, y: int) -> Any:
    """``x`` to the power of a Python integer ``y``, by repeated multiplication.

    Raises:
      TypeError: ``y`` is no integer, or ``x`` is an integer and ``y`` is negative.

    >>> import covector
    >>> float(covector.lax.integer_pow(2.0, -2))
    0.25
    """
    return integer_pow_p.bind(x, y=index(y))


def reciprocal(x: Any) -> Any:
    """``1 / x``, elementwise, for floating point and complex numbers.

    >>> import covector
    >>> float(covector.lax.reciprocal(4.0))
    0.25
    """
    return integer_pow_p.bind(x, y=-1)


def _abstract_integer_pow(aval: ShapedArray, *, y: int) -> ShapedArray:
    check_kind("integer_pow", aval, NUMBER)
    if y < 0 and dtypes.is_integer(aval.dtype):
        raise TypeError(
            f"integer_pow: integers cannot be raised to negative powers, got {aval.str_short()} to "
            f"the power {y}. Convert the operand to a floating point dtype first."
        )
    return aval


def _lower_integer_pow(ctx: Any, args: Any, in_avals: Any, out_avals: Any, *, y: int) -> list[str]:
    """Binary exponentiation; a negative power is the reciprocal of the positive one."""
    out = out_avals[0]
    power, result, n = args[0], None, y if y >= 0 else -y
    while n:
        if n & 1:
            result = power if result is None else ctx.simple("multiply", [result, power], out)
        n >>= 1
        if n:
            power = ctx.simple("multiply", [power, power], out)
    if result is None or y < 0:
        one = ctx.constant(1, out)
        result = one if result is None else ctx.simple("divide", [one, result], out)
    return [result]


def _jvp_integer_pow(primals: Any, tangents: Any, *, y: int) -> tuple[Any, Any]:
    x, t = primals[0], tangents[0]
    out = integer_pow_p.bind(x, y=y)
    if y in (0, 1):
        return out, t if y else None
    power = x if y == 2 else integer_pow_p.bind(x, y=y - 1)
    return out, scale(scale(t, power), scalar_like(x, y))


integer_pow_p = Primitive(
    "integer_pow",
    abstract=_abstract_integer_pow,
    lower=_lower_integer_pow,
    jvp=_jvp_integer_pow,
    batch=elementwise_batch(lambda: integer_pow_p),
    elementwise=True,
)


def one_minus_square(x: Any) -> Any:
    """``1 - x * x``, elementwise, computed as ``(1 - x) * (1 + x)``, which is accurate near 1.

    >>> import covector
    >>> float(covector.lax.one_minus_square(0.5))
    0.75
    """
    return one_minus_square_p.bind(x)


def _one_minus_square(x: Any) -> Any:
    one = scalar_like(x, 1)
    return mul(sub(one, x), add(one, x))


one_minus_square_p = elementwise(
    "one_minus_square",
    lower_by(_one_minus_square),
    NUMBER,
    lambda t, y, x: scale(t, mul(x, scalar_like(x, -2))),
)


# --- pow ------------------------------------------------------------------------------------------


def pow(x: Any, y: Any) -> Any:
    """``x`` to the power ``y``, elementwise.

    Args:
      x: floating point or complex.
      y: of the same dtype, or integers.

    ``x ** 0`` is 1, with derivative 0. At ``x = 0`` the derivative in ``y`` is 0 where ``y >= 0``.

    >>> import covector
    >>> float(covector.lax.pow(2.0, 0.5))
    1.4142135381698608
    """
    return pow_p.bind(x, y)


def _abstract_pow(x: ShapedArray, y: ShapedArray) -> ShapedArray:
    check_kind("pow", x, INEXACT, 0)
    check_kind("pow", y, NUMBER, 1)
    if y.dtype != x.dtype and not dtypes.is_integer(y.dtype):
        raise TypeError(
            "pow: the exponent must have the dtype of the base, or an integer dtype, got "
            f"{x.dtype} and {y.dtype}. (covector.numpy.power promotes dtypes by itself.)"
        )
    return ShapedArray(common_shape("pow", (x, y)), x.dtype, x.weak_type and y.weak_type)


def _pow(x: Any, y: Any) -> Any:
    x_dtype, y_dtype = typeof(x).dtype, typeof(y).dtype
    exponent = y if x_dtype == y_dtype else convert_element_type(y, x_dtype)
    if dtypes.is_complex(x_dtype):
        # XLA gives nan where the exponent has an imaginary part.
        vanishes = and_p.bind(
            eq(x, scalar_like(x, 0)), gt(real(exponent), scalar_like(real(exponent), 0))
        )
        return zero_unless(eq(vanishes, False), power_p.bind(x, exponent))
    if x_dtype == y_dtype or _holds_integers(x_dtype, y_dtype):
        return power_p.bind(x, exponent)
    # A large odd exponent becomes an even float, so the sign is settled apart.
    size = power_p.bind(abs(x), exponent)
    odd = eq(and_p.bind(y, scalar_like(y, 1)), scalar_like(y, 1))
    negative = and_p.bind(lt(x, scalar_like(x, 0)), odd)
    return select_n_p.bind(negative, size, neg(size))


def _holds_integers(x_dtype: Any, y_dtype: Any) -> bool:
    """Whether a float dtype holds every integer of another dtype exactly."""
    return dtypes.itemsize_bits(y_dtype) <= dtypes.finfo(x_dtype).nmant + 1


# The power of two numbers of one dtype, as XLA has it: only in the lowering of `pow_p`.
power_p = elementwise("power", "power", INEXACT, operands=2)


def _jvp_pow(primals: Any, tangents: Any) -> tuple[Any, Any]:
    x, y = primals
    out = pow_p.bind(x, y)
    terms = []
    if tangents[0] is not None:
        terms.append(scale(tangents[0], _pow_slope_in_base(x, y)))
    if tangents[1] is not None:
        terms.append(scale(tangents[1], _pow_slope_in_exponent(x, y, out)))
    terms = [broadcast_to_shape(t, out.shape) for t in terms]
    return out, add_any(*terms) if len(terms) == 2 else terms[0]


def _pow_slope_in_base(x: Any, y: Any) -> Any:
    """``y x**(y - 1)``; zero where ``y`` is, even at ``x = 0``."""
    one = scalar_like(y, 1)
    is_zero = eq(y, scalar_like(y, 0))
    power = pow_p.bind(x, select_n_p.bind(is_zero, sub(y, one), one))
    return mul(convert_type(y, typeof(x).dtype, weak_type=typeof(y).weak_type), power)


def _pow_slope_in_exponent(x: Any, y: Any, out: Any) -> Any:
    """``log(x) x**y``; its limit from above, 0 or -inf, where ``x`` is zero."""
    from covector.lax.transcendental import log

    zero = scalar_like(x, 0)
    at_zero = eq(x, zero)
    slope = scale(out, log(select_n_p.bind(at_zero, x, scalar_like(x, 1))))
    if dtypes.is_complex(typeof(x).dtype):
        return zero_unless(eq(at_zero, False), slope)
    limit = select_n_p.bind(lt(y, scalar_like(y, 0)), zero, scalar_like(x, -float("inf")))
    return select_n_p.bind(at_zero, slope, limit)


pow_p = Primitive(
    "pow",
    abstract=_abstract_pow,
    lower=lower_by(_pow),
    jvp=_jvp_pow,
    batch=elementwise_batch(lambda: pow_p),
    elementwise=True,
)


# --- roots ----------------------------------------------------------------------------------------


def sqrt(x: Any, *, accuracy: Any = None) -> Any:
    """The square root, elementwise; nan for negative real numbers.

    >>> import covector
    >>> float(covector.lax.sqrt(9.0))
    3.0
    """
    return bind(sqrt_p, x, accuracy)


def rsqrt(x: Any, *, accuracy: Any = None) -> Any:
    """One over the square root, elementwise.

    >>> import covector
    >>> float(covector.lax.rsqrt(4.0))
    0.5
    """
    return bind(rsqrt_p, x, accuracy)


def cbrt(x: Any, *, accuracy: Any = None) -> Any:
    """The real cube root, elementwise; of negative numbers too.

    >>> import covector
    >>> float(covector.lax.cbrt(-8.0))
    -2.0
    """
    return bind(cbrt_p, x, accuracy)


sqrt_p = elementwise(
    "sqrt",
    lower_complex("sqrt", lower_with_accuracy("sqrt")),
    INEXACT,
    lambda t, y, x, **accuracy: unscale(scale(t, scalar_like(y, 0.5)), y),
)
rsqrt_p = elementwise(
    "rsqrt",
    lower_with_accuracy("rsqrt"),
    INEXACT,
    lambda t, y, x, **accuracy: scale(t, mul(div(y, x), scalar_like(y, -0.5))),
)
cbrt_p = elementwise(
    "cbrt",
    lower_with_accuracy("cbrt"),
    FLOAT,
    lambda t, y, x, **accuracy: scale(t, div(scalar_like(y, 1 / 3), square(y))),
)

"""Elementwise arithmetic: sums, products and quotients, signs, rounding, max and min.

It starts with the products of linear code, `scale` and `unscale`, which all derivatives use.
Further families stand in `powers.py`, `transcendental.py`, `special.py`, `compare.py`,
`bitwise.py`, `complex_numbers.py` and `convert.py`.
"""

from __future__ import annotations

from typing import Any

from covector._config import annihilating_zeros
from covector._ir import dtypes
from covector._trace.primitive import Linear
from covector._trace.trace import typeof
from covector.lax._nary import (
    ANY,
    FLOAT,
    LINEAR,
    NUMBER,
    REAL,
    broadcast_operands,
    compare_text,
    elementwise,
    lower_chlo,
    lower_elementwise,
    scalar_like,
    unbroadcast,
)
from covector.lax.accuracy import RoundingMethod
from covector.lax.compare import eq, ge, lower_extremum, select_n_p, zero_unless
from covector.lax.complex_numbers import complex, imag, lower_complex, real
from covector.lax.convert import convert_element_type as convert_element_type
from covector.lax.convert import convert_element_type_p as convert_element_type_p
from covector.lax.convert import convert_type as convert_type
from covector.lax.convert import kind_changes_need_care as kind_changes_need_care

# --- products in linear code ----------------------------------------------------------------------


def scale(tangent: Any, coefficient: Any) -> Any:
    """``tangent * coefficient`` in linear code, where a zero tangent annihilates.

    `0 * inf` and `0 * nan` are 0 here, so that the branch of a `where` that was not taken cannot
    poison a gradient. The flag `annihilating_zeros` restores IEEE products.
    """
    return (scale_p if annihilating_zeros.value else mul_p).bind(tangent, coefficient)


def unscale(tangent: Any, divisor: Any) -> Any:
    """``tangent / divisor`` in linear code, where a zero tangent annihilates (see `scale`)."""
    return (unscale_p if annihilating_zeros.value else div_p).bind(tangent, divisor)


def _lower_annihilating(op: str, *, mutual: bool = False) -> Any:
    """``select(t == 0, 0, t op c)``; where c is an ordinary constant, just ``t op c``.

    With ``mutual``, a zero of either operand annihilates.
    """

    def lower(ctx: Any, args: Any, in_avals: Any, out_avals: Any) -> list[str]:
        out = out_avals[0]
        t, c = broadcast_operands(ctx, args, in_avals, out)
        product = ctx.simple(op, [t, c], out)
        if args[1] in ctx.ordinary:
            return [product]
        zero = ctx.constant(0, out)
        is_zero = compare_text(ctx, "EQ", t, zero, out)
        if mutual:
            is_zero = ctx.simple("or", [is_zero, compare_text(ctx, "EQ", c, zero, out)], out.mask)
        text = f"stablehlo.select {is_zero}, {zero}, {product} : {out.mask.mlir}, {out.mlir}"
        return ctx.emit(text)

    return lower


def _transpose_product(product: Any) -> Any:
    return lambda ct, x, y: [
        unbroadcast(product(ct, y), x) if isinstance(x, Linear) else None,
        unbroadcast(product(ct, x), y) if isinstance(y, Linear) else None,
    ]


def _divisor_slope(quotient: Any, divisor: Any) -> Any:
    """``-quotient / divisor``, the slope of a quotient in its divisor.

    Not as a division, since XLA makes one of two: by the divisor's square, which may overflow.
    """
    return neg(scale(quotient, div(scalar_like(divisor, 1), divisor)))


# The derivative of `scale` in the coefficient is a product in which either zero annihilates: where
# the tangent was zero, so was the product, whatever the coefficient.
scale_p = elementwise(
    "scale",
    _lower_annihilating("multiply"),
    NUMBER,
    lambda dt, out, t, c: scale_p.bind(dt, c),
    lambda dc, out, t, c: mutual_scale_p.bind(dc, t),
    transpose=_transpose_product(lambda ct, x: scale_p.bind(ct, x)),
)
mutual_scale_p = elementwise(
    "mutual_scale",
    _lower_annihilating("multiply", mutual=True),
    NUMBER,
    lambda dt, out, t, c: mutual_scale_p.bind(dt, c),
    lambda dc, out, t, c: mutual_scale_p.bind(dc, t),
    transpose=_transpose_product(lambda ct, x: mutual_scale_p.bind(ct, x)),
)
unscale_p = elementwise(
    "unscale",
    _lower_annihilating("divide"),
    NUMBER,
    lambda dt, out, t, c: unscale_p.bind(dt, c),
    lambda dc, out, t, c: mutual_scale_p.bind(dc, _divisor_slope(out, c)),
    transpose=lambda ct, t, c: [unbroadcast(unscale_p.bind(ct, c), t), None],
)


# --- sums -----------------------------------------------------------------------------------------


def add(x: Any, y: Any) -> Any:
    """``x + y``, elementwise, for numbers of one dtype.

    >>> import covector
    >>> float(covector.lax.add(1.0, 2.0))
    3.0
    """
    return add_p.bind(x, y)


def add_any(x: Any, y: Any) -> Any:
    """The sum of two tangents or cotangents."""
    return add_any_p.bind(x, y)


def sub(x: Any, y: Any) -> Any:
    """``x - y``, elementwise, for numbers of one dtype.

    >>> import covector
    >>> float(covector.lax.sub(1.0, 2.0))
    -1.0
    """
    return sub_p.bind(x, y)


def neg(x: Any) -> Any:
    """``-x``, elementwise; of unsigned integers, modulo their range.

    >>> import covector
    >>> float(covector.lax.neg(2.0))
    -2.0
    """
    return neg_p.bind(x)


def identity(t: Any, out: Any, *operands: Any) -> Any:
    """The derivative of a sum."""
    return t


def _transpose_add(ct: Any, x: Any, y: Any) -> list[Any]:
    return [unbroadcast(ct, v) if isinstance(v, Linear) else None for v in (x, y)]


def _transpose_sub(ct: Any, x: Any, y: Any) -> list[Any]:
    return [
        unbroadcast(ct, x) if isinstance(x, Linear) else None,
        unbroadcast(neg(ct), y) if isinstance(y, Linear) else None,
    ]


add_p = elementwise("add", "add", NUMBER, identity, identity, transpose=_transpose_add)
add_any_p = elementwise("add_any", "add", NUMBER, identity, identity, transpose=_transpose_add)
sub_p = elementwise(
    "sub", "subtract", NUMBER, identity, lambda t, out, x, y: neg(t), transpose=_transpose_sub
)
neg_p = elementwise("neg", "negate", NUMBER, LINEAR)


# --- products and quotients -----------------------------------------------------------------------


def mul(x: Any, y: Any, *, out_dtype: Any = None) -> Any:
    """``x * y``, elementwise, for numbers of one dtype.

    With ``out_dtype``, the operands (then of any dtypes) are converted to it first.

    >>> import covector
    >>> float(covector.lax.mul(2.0, 3.0))
    6.0
    """
    if out_dtype is None:
        return mul_p.bind(x, y)
    weak = typeof(x).weak_type and typeof(y).weak_type
    x, y = (convert_type(v, out_dtype, weak_type=weak) for v in (x, y))
    return mul_p.bind(x, y)


def div(x: Any, y: Any) -> Any:
    """``x / y``, elementwise, for numbers of one dtype.

    Integer quotients are cut toward zero; division by zero gives all bits set (-1), and the
    smallest integer divided by -1 gives itself.

    >>> import covector
    >>> int(covector.lax.div(-7, 2))
    -3
    """
    return div_p.bind(x, y)


def rem(x: Any, y: Any) -> Any:
    """The remainder of `div`, elementwise, with the sign of ``x``; for zero ``y``, ``x`` or nan.

    >>> import covector
    >>> float(covector.lax.rem(-7.5, 2.0))
    -1.5
    """
    return rem_p.bind(x, y)


def _transpose_mul(ct: Any, x: Any, y: Any) -> list[Any]:
    return [
        unbroadcast(scale(ct, y), x) if isinstance(x, Linear) else None,
        unbroadcast(scale(ct, x), y) if isinstance(y, Linear) else None,
    ]


def _rem_quotient(x: Any, y: Any, remainder: Any) -> Any:
    """The whole number n with ``x = n y + remainder``; x / y itself may round up to n + 1."""
    return round(div(sub(x, remainder), y), RoundingMethod.TO_NEAREST_EVEN)


def _lower_signed_zero(ctx: Any, args: Any, in_avals: Any, out_avals: Any) -> list[str]:
    out = out_avals[0]
    x, like = broadcast_operands(ctx, args, in_avals, out)
    zero, minus_zero = ctx.constant(0.0, out), ctx.constant(-0.0, out)
    select = f"stablehlo.select {{}}, {{}}, {{}} : {out.mask.mlir}, {out.mlir}"
    is_negative = compare_text(ctx, "LT", like, zero, out)
    signed = ctx.emit(select.format(is_negative, minus_zero, zero))[0]
    return ctx.emit(select.format(compare_text(ctx, "EQ", x, zero, out), signed, x))


mul_p = elementwise(
    "mul",
    "multiply",
    NUMBER,
    lambda t, out, x, y: scale(t, y),
    lambda t, out, x, y: scale(t, x),
    transpose=_transpose_mul,
)
div_p = elementwise(
    "div",
    "divide",
    NUMBER,
    lambda t, out, x, y: unscale(t, y),
    # In this order, the pullback begins with the division that the first operand's is, and needs
    # nothing but the operands and the result.
    lambda t, out, x, y: unscale(scale(neg(t), out), y),
    transpose=lambda ct, x, y: [unbroadcast(unscale(ct, y), x), None],
)
rem_p = elementwise(
    "rem",
    "remainder",
    REAL,
    identity,
    lambda t, out, x, y: scale(t, neg(_rem_quotient(x, y, out))),
)

# The first operand, where it is zero with the sign of the second: what is left when a division that
# rounds down leaves no remainder.
signed_zero_p = elementwise("signed_zero", _lower_signed_zero, FLOAT, identity, None)


# --- sign and rounding ----------------------------------------------------------------------------


def abs(x: Any) -> Any:
    """The absolute value, elementwise; of complex numbers, the modulus, which is real.

    The derivative at zero is one for real numbers, and zero for complex ones.

    >>> import covector
    >>> float(covector.lax.abs(3 + 4j))
    5.0
    """
    return abs_p.bind(x)


def sign(x: Any) -> Any:
    """-1, 0 or 1, elementwise; of a complex number ``x / abs(x)``, and 0 for 0.

    >>> import covector
    >>> float(covector.lax.sign(-2.0))
    -1.0
    """
    return sign_p.bind(x)


def floor(x: Any) -> Any:
    """The largest whole number that is at most ``x``, elementwise.

    >>> import covector
    >>> float(covector.lax.floor(-1.5))
    -2.0
    """
    return floor_p.bind(x)


def ceil(x: Any) -> Any:
    """The smallest whole number that is at least ``x``, elementwise.

    >>> import covector
    >>> float(covector.lax.ceil(-1.5))
    -1.0
    """
    return ceil_p.bind(x)


def round(x: Any, rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO) -> Any:
    """The nearest whole number, elementwise; halves away from zero, or to the even one.

    >>> import covector
    >>> float(covector.lax.round(2.5))
    3.0
    >>> float(covector.lax.round(2.5, covector.lax.RoundingMethod.TO_NEAREST_EVEN))
    2.0
    """
    return round_p.bind(x, rounding_method=RoundingMethod(rounding_method))


def _abs_tangent(t: Any, out: Any, x: Any) -> Any:
    if not dtypes.is_complex(typeof(x).dtype):
        return select_n_p.bind(ge(x, scalar_like(x, 0)), neg(t), t)
    direction = sign(x)
    return add_any(scale(real(t), real(direction)), scale(imag(t), imag(direction)))


def _sign_tangent(t: Any, out: Any, x: Any) -> Any:
    if not dtypes.is_complex(typeof(x).dtype):
        return None
    # The direction turns by the part of t that is perpendicular to it, over the distance.
    perpendicular = sub(scale(imag(t), real(out)), scale(real(t), imag(out)))
    turn = unscale(perpendicular, abs(x))
    return complex(neg(scale(turn, imag(out))), scale(turn, real(out)))


def _lower_sign(ctx: Any, args: Any, in_avals: Any, out_avals: Any) -> list[str]:
    out = out_avals[0]
    if not dtypes.is_unsigned(out.dtype):
        return [ctx.simple("sign", args, out)]
    return [ctx.simple("minimum", [args[0], ctx.constant(1, out)], out)]


def _lower_round(
    ctx: Any, args: Any, in_avals: Any, out_avals: Any, *, rounding_method: RoundingMethod
) -> list[str]:
    even = rounding_method is RoundingMethod.TO_NEAREST_EVEN
    op = "round_nearest_even" if even else "round_nearest_afz"
    return [ctx.simple(op, args, out_avals[0])]


abs_p = elementwise(
    "abs",
    lower_complex("abs", lower_elementwise("abs")),
    "fci",
    _abs_tangent,
    out_dtype=dtypes.to_real_dtype,
)
sign_p = elementwise("sign", _lower_sign, NUMBER, _sign_tangent)
floor_p = elementwise("floor", "floor", FLOAT)
ceil_p = elementwise("ceil", "ceil", FLOAT)
round_p = elementwise("round", _lower_round, FLOAT)


# --- neighbours -----------------------------------------------------------------------------------


def max(x: Any, y: Any) -> Any:
    """The larger of two, elementwise; nan if either is. Complex numbers: by real part first.

    Where both are equal, each gets half of the derivative.

    >>> import covector
    >>> float(covector.lax.max(1.0, 2.0))
    2.0
    """
    return max_p.bind(x, y)


def min(x: Any, y: Any) -> Any:
    """The smaller of two, elementwise; nan if either is. Complex numbers: by real part first.

    Where both are equal, each gets half of the derivative.

    >>> import covector
    >>> float(covector.lax.min(1.0, 2.0))
    1.0
    """
    return min_p.bind(x, y)


def nextafter(x1: Any, x2: Any) -> Any:
    """The floating point number next to ``x1`` in the direction of ``x2``, elementwise.

    >>> import covector
    >>> float(covector.lax.nextafter(1.0, 2.0)) > 1.0
    True
    """
    return nextafter_p.bind(x1, x2)


def _extremum_tangent(position: int) -> Any:
    def tangent(t: Any, out: Any, *operands: Any) -> Any:
        half = mul(t, scalar_like(t, 0.5))
        shared = select_n_p.bind(eq(*operands), t, half)
        return zero_unless(eq(operands[position], out), shared)

    return tangent


max_p = elementwise(
    "max", lower_extremum("maximum", "GT"), ANY, _extremum_tangent(0), _extremum_tangent(1)
)
min_p = elementwise(
    "min", lower_extremum("minimum", "LT"), ANY, _extremum_tangent(0), _extremum_tangent(1)
)
nextafter_p = elementwise("nextafter", lower_chlo("next_after"), FLOAT, identity, None)

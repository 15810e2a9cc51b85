"""Operations on bits: and or xor not, shifts, population_count, clz, mulhi."""

from __future__ import annotations

from typing import Any

import numpy as np

from covector._ir import dtypes
from covector._lower.module import lower_by
from covector._trace.trace import typeof
from covector.lax._nary import BITS, INTEGER, broadcast_operands, elementwise, scalar_like


def bitwise_and(x: Any, y: Any) -> Any:
    """The bits set in both integers; of booleans, whether both hold.

    >>> import covector
    >>> int(covector.lax.bitwise_and(6, 3))
    2
    """
    return and_p.bind(x, y)


def bitwise_or(x: Any, y: Any) -> Any:
    """The bits set in either integer; of booleans, whether one holds.

    >>> import covector
    >>> int(covector.lax.bitwise_or(6, 3))
    7
    """
    return or_p.bind(x, y)


def bitwise_xor(x: Any, y: Any) -> Any:
    """The bits set in exactly one of the integers; of booleans, whether they differ.

    >>> import covector
    >>> int(covector.lax.bitwise_xor(6, 3))
    5
    """
    return xor_p.bind(x, y)


def bitwise_not(x: Any) -> Any:
    """All bits flipped; of a boolean, its negation.

    >>> import covector
    >>> int(covector.lax.bitwise_not(0))
    -1
    """
    return not_p.bind(x)


and_p = elementwise("and", "and", BITS, operands=2)
or_p = elementwise("or", "or", BITS, operands=2)
xor_p = elementwise("xor", "xor", BITS, operands=2)
not_p = elementwise("not", "not", BITS)


def shift_left(x: Any, y: Any) -> Any:
    """``x`` shifted left by ``y`` bits; zero if ``y`` is negative or at least the width.

    >>> import covector
    >>> int(covector.lax.shift_left(1, 4))
    16
    """
    return shift_left_p.bind(x, y)


def shift_right_arithmetic(x: Any, y: Any) -> Any:
    """``x`` shifted right by ``y`` bits, the sign bit filling up.

    >>> import covector
    >>> int(covector.lax.shift_right_arithmetic(-8, 1))
    -4
    """
    return shift_right_arithmetic_p.bind(x, y)


def shift_right_logical(x: Any, y: Any) -> Any:
    """``x`` shifted right by ``y`` bits, zeros filling up.

    >>> import covector
    >>> int(covector.lax.shift_right_logical(-1, 31))
    1
    """
    return shift_right_logical_p.bind(x, y)


shift_left_p = elementwise("shift_left", "shift_left", INTEGER, operands=2)
shift_right_arithmetic_p = elementwise(
    "shift_right_arithmetic", "shift_right_arithmetic", INTEGER, operands=2
)
shift_right_logical_p = elementwise(
    "shift_right_logical", "shift_right_logical", INTEGER, operands=2
)


def population_count(x: Any) -> Any:
    """How many bits of each integer are set.

    >>> import covector
    >>> int(covector.lax.population_count(7))
    3
    """
    return population_count_p.bind(x)


def clz(x: Any) -> Any:
    """How many zero bits precede the highest set bit of each integer.

    >>> import covector, numpy
    >>> int(covector.lax.clz(numpy.int8(1)))
    7
    """
    return clz_p.bind(x)


population_count_p = elementwise("population_count", "popcnt", INTEGER)
clz_p = elementwise("clz", "count_leading_zeros", INTEGER)


# --- the high half of a product -------------------------------------------------------------------


def mulhi(x: Any, y: Any, /) -> Any:
    """The high half of the double-width product of two integers, elementwise.

    >>> import covector
    >>> int(covector.lax.mulhi(2**30, 8))
    2
    """
    return mulhi_p.bind(x, y)


def _lower_mulhi(ctx: Any, args: Any, in_avals: Any, out_avals: Any) -> list[str]:
    """By a product in twice the width; 64-bit integers by halves."""
    out = out_avals[0]
    bits = dtypes.itemsize_bits(out.dtype)
    if bits == 64:
        return _lower_mulhi_by_halves(ctx, args, in_avals, out_avals)
    kind = "uint" if dtypes.is_unsigned(out.dtype) else "int"
    wide = out.update(dtype=np.dtype(f"{kind}{2 * max(bits, 4)}"))
    x, y = (ctx.convert(v, out, wide) for v in broadcast_operands(ctx, args, in_avals, out))
    shift = "shift_right_logical" if kind == "uint" else "shift_right_arithmetic"
    product = ctx.simple("multiply", [x, y], wide)
    return [ctx.convert(ctx.simple(shift, [product, ctx.constant(bits, wide)], wide), wide, out)]


def _mulhi_by_halves(x: Any, y: Any) -> Any:
    """Schoolbook multiplication by 32-bit digits, then the correction for signs.

    After Warren, Hacker's Delight (2nd ed., 2013), section 8-2.
    """
    from covector.lax.compare import lt, zero_unless
    from covector.lax.elementwise import add, mul, sub

    half, low_bits = scalar_like(x, 32), scalar_like(x, 2**32 - 1)

    def digits(v: Any) -> tuple[Any, Any]:
        return bitwise_and(v, low_bits), shift_right_logical(v, half)

    (x0, x1), (y0, y1) = digits(x), digits(y)
    low, carry = digits(add(mul(x1, y0), shift_right_logical(mul(x0, y0), half)))
    middle = shift_right_logical(add(low, mul(x0, y1)), half)
    high = add(add(mul(x1, y1), carry), middle)
    if dtypes.is_unsigned(typeof(x).dtype):
        return high
    zero = scalar_like(x, 0)
    return sub(sub(high, zero_unless(lt(x, zero), y)), zero_unless(lt(y, zero), x))


_lower_mulhi_by_halves = lower_by(_mulhi_by_halves)

mulhi_p = elementwise("mulhi", _lower_mulhi, INTEGER, operands=2)

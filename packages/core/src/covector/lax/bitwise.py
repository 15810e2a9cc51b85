"""Operations on bits: and or xor not, shifts, population_count, clz, mulhi."""

from __future__ import annotations

from typing import Any

from covector.lax._nary import BITS, INTEGER, elementwise


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

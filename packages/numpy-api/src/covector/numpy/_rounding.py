"""Signs, rounding, and bounds, elementwise."""

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
    promote_inexact,
    scalar,
    zero,
)
from covector.numpy._ufunc import binary, keep, unary


def _unless_boolean(compute: Any) -> Any:
    """Leave booleans as they are."""
    return lambda x: x if typeof(x).dtype == bool else compute(x)


def _unless_exact(compute: Any) -> Any:
    """Leave booleans and integers as they are: they are round already."""

    def rounded(x: Any) -> Any:
        dtype = typeof(x).dtype
        return x if dtypes.is_integer(dtype) or dtypes.is_bool(dtype) else compute(x)

    return rounded


def magnitude(x: Any) -> Any:
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


def truncate(x: Any) -> Any:
    return lax.select(lax.lt(x, zero(typeof(x).dtype)), lax.ceil(x), lax.floor(x))


def _to_even(x: Any) -> Any:
    if dtypes.is_complex(typeof(x).dtype):
        return lax.complex(_to_even(lax.real(x)), _to_even(lax.imag(x)))
    return lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)


def promote_rint(name: str, x: Any) -> list[Any]:
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
    "abs", _unless_boolean(magnitude), "The absolute value, elementwise; of complex numbers, real.",
    ("abs(jnp.array([-2, 3]))", "[2 3]"), keep,
)  # fmt: skip
absolute = unary(
    "absolute", _unless_boolean(magnitude), "The absolute value, elementwise. See `abs`.",
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
    "trunc", _unless_exact(truncate), "The integer next to zero: digits after the point cut off.",
    ("trunc(-1.5)", "-1.0"), keep,
)  # fmt: skip
rint = unary(
    "rint", _to_even, "The nearest integer as a floating-point number; of two, the even one.",
    ("rint(2.5)", "2.0"), promote_rint,
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

"""Elementwise exponentials, logarithms, trigonometric and hyperbolic functions, and roots.

Each row: the function's name, the function of `covector.lax` (or a formula), one line about it,
an example and what it prints. Integers and booleans are computed as floating-point numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from covector import lax
from covector._ir import dtypes
from covector._trace.trace import typeof
from covector.numpy._operands import full_shape, promote_inexact, scalar, zero
from covector.numpy._ufunc import binary, ufunc, unary


def _scaled(compute: Any, factor: float) -> Any:
    """A function's result times a constant."""
    return lambda x: lax.mul(compute(x), scalar(factor, typeof(x).dtype))


# --- exponentials and logarithms -----------------------------------------------------------------

exp = unary("exp", "exp", "The exponential of each element.", ("exp(1.0)", "2.7182817"))
exp2 = unary("exp2", "exp2", "Two to the power of each element.", ("exp2(3)", "8.0"))
expm1 = unary("expm1", "expm1", "exp(x) - 1, exact also near zero.", ("expm1(1e-8)", "1e-08"))
log = unary("log", "log", "The natural logarithm of each element.", ("log(jnp.e)", "1.0"))
log1p = unary("log1p", "log1p", "log(1 + x), exact also near zero.", ("log1p(1e-8)", "1e-08"))
log2 = unary("log2", "log2", "The logarithm to base two.", ("log2(8)", "3.0"))


def _log10(x: Any) -> Any:
    natural = lax.log(x)
    if not dtypes.is_complex(typeof(x).dtype):
        return lax.mul(natural, scalar(1 / np.log(10), typeof(x).dtype))
    parts = lax.real(natural), lax.imag(natural)  # apart, since an infinite part times zero is nan
    return lax.complex(*[lax.mul(p, scalar(1 / np.log(10), typeof(p).dtype)) for p in parts])


log10 = unary("log10", _log10, "The logarithm to base ten.", ("log10(100)", "2.0"))


def _logaddexp(base: float) -> Any:
    """log_b(b**x + b**y): the larger of the two, and what the other adds to it."""

    def compute(x: Any, y: Any) -> Any:
        dtype = typeof(x).dtype
        unit = np.log(base)
        if dtypes.is_complex(dtype):
            return _complex_logaddexp(x, y, unit)
        top, gap = lax.max(x, y), lax.sub(x, y)
        decay = lax.exp(lax.mul(lax.neg(lax.abs(gap)), scalar(unit, dtype)))
        more = lax.div(lax.log1p(decay), scalar(unit, dtype)) if unit != 1 else lax.log1p(decay)
        # Where the two are equal infinities, or one is NaN, the sum is right and the gap is not.
        return lax.select(lax.ne(gap, gap), lax.add(x, y), lax.add(top, more))

    return compute


def _complex_logaddexp(x: Any, y: Any, unit: float) -> Any:
    factor = scalar(unit, typeof(x).dtype)
    first = lax.ge(lax.real(x), lax.real(y))
    x, y = [full_shape(v, first) for v in (x, y)]
    top, low = lax.select(first, x, y), lax.select(first, y, x)
    gap = lax.sub(low, top)
    equal = lax.ne(lax.real(gap), lax.real(gap))
    gap = lax.select(equal, full_shape(zero(typeof(gap).dtype), gap), gap)
    return lax.add(top, lax.div(lax.log1p(lax.exp(lax.mul(gap, factor))), factor))


logaddexp = ufunc(
    "logaddexp", _logaddexp(np.e), "log(exp(x) + exp(y)), without overflow.",
    ("logaddexp(1000.0, 1000.0)", "1000.6932"), -np.inf, promote_inexact,
)  # fmt: skip
logaddexp2 = ufunc(
    "logaddexp2", _logaddexp(2), "log2(2**x + 2**y), without overflow.",
    ("logaddexp2(1000.0, 1000.0)", "1001.0"), -np.inf, promote_inexact,
)  # fmt: skip

# --- roots ---------------------------------------------------------------------------------------

sqrt = unary("sqrt", "sqrt", "The square root of each element.", ("sqrt(9)", "3.0"))
cbrt = unary("cbrt", "cbrt", "The cube root of each element.", ("cbrt(27)", "3.0"))


def _hypot(x: Any, y: Any) -> Any:
    dtype = typeof(x).dtype
    if dtypes.is_complex(dtype):
        raise ValueError("hypot: the arguments must be real; take abs(x) and abs(y) first.")
    x, y = lax.abs(x), lax.abs(y)
    large, small = lax.max(x, y), lax.min(x, y)
    nothing = zero(dtype)
    one = full_shape(scalar(1, dtype), large)
    at_zero = lax.eq(large, nothing)
    ratio = lax.div(small, lax.select(at_zero, one, full_shape(large, one)))
    length = lax.mul(large, lax.sqrt(lax.add(lax.mul(ratio, ratio), scalar(1, dtype))))
    infinite = lax.eq(large, scalar(np.inf, dtype))
    either = lax.bitwise_or(lax.eq(x, scalar(np.inf, dtype)), lax.eq(y, scalar(np.inf, dtype)))
    infinite = lax.bitwise_or(infinite, either)
    result = lax.select(at_zero, full_shape(nothing, length), length)
    return lax.select(infinite, full_shape(scalar(np.inf, dtype), length), result)


hypot = binary(
    "hypot", _hypot, "The length of the hypotenuse, sqrt(x1**2 + x2**2), without overflow.",
    ("hypot(3, 4)", "5.0"), promote_inexact,
)  # fmt: skip

# --- angles --------------------------------------------------------------------------------------

sin = unary("sin", "sin", "The sine of an angle in radians.", ("sin(0.5)", "0.47942555"))
cos = unary("cos", "cos", "The cosine of an angle in radians.", ("cos(0.5)", "0.87758255"))
tan = unary("tan", "tan", "The tangent of an angle in radians.", ("tan(0.5)", "0.5463025"))
arcsin = unary("arcsin", "asin", "The angle whose sine it is.", ("arcsin(0.5)", "0.5235988"))
arccos = unary("arccos", "acos", "The angle whose cosine it is.", ("arccos(0.5)", "1.0471976"))
arctan = unary("arctan", "atan", "The angle whose tangent it is.", ("arctan(0.5)", "0.4636476"))
asin = unary("asin", "asin", "The angle whose sine it is.", ("asin(0.5)", "0.5235988"))
acos = unary("acos", "acos", "The angle whose cosine it is.", ("acos(0.5)", "1.0471976"))
atan = unary("atan", "atan", "The angle whose tangent it is.", ("atan(0.5)", "0.4636476"))
arctan2 = binary(
    "arctan2", "atan2", "The angle of the point (x2, x1), between -pi and pi.",
    ("arctan2(1, -1)", "2.3561945"), promote_inexact,
)  # fmt: skip
atan2 = binary(
    "atan2", "atan2", "The angle of the point (x2, x1), between -pi and pi.",
    ("atan2(1, -1)", "2.3561945"), promote_inexact,
)  # fmt: skip
_to_degrees = _scaled(lambda x: x, 180 / np.pi)
_to_radians = _scaled(lambda x: x, np.pi / 180)
degrees = unary("degrees", _to_degrees, "Radians as degrees.", ("degrees(jnp.pi)", "180.0"))
rad2deg = unary("rad2deg", _to_degrees, "Radians as degrees.", ("rad2deg(jnp.pi)", "180.0"))
radians = unary("radians", _to_radians, "Degrees as radians.", ("radians(180)", "3.1415927"))
deg2rad = unary("deg2rad", _to_radians, "Degrees as radians.", ("deg2rad(180)", "3.1415927"))


def _sinc(x: Any) -> Any:
    """sin(pi x) / (pi x). Near zero by its series, so that all derivatives are right there."""
    dtype = typeof(x).dtype
    angle = lax.mul(x, scalar(np.pi, dtype))
    square = lax.mul(angle, angle)
    near = lax.lt(lax.abs(angle), scalar(0.25, lax.abs(angle).dtype))
    one = full_shape(scalar(1, dtype), x)
    far_angle = lax.select(near, one, angle)
    # The terms (-1)**k angle**(2 k) / (2 k + 1)!; the next one is below double precision.
    series = scalar(0, dtype)
    for k in range(7, -1, -1):
        term = (-1.0) ** k / float(np.prod(np.arange(1.0, 2 * k + 2)))
        series = lax.add(lax.mul(square, series), scalar(term, dtype))
    return lax.select(near, full_shape(series, one), lax.div(lax.sin(far_angle), far_angle))


sinc = unary("sinc", _sinc, "sin(pi x) / (pi x), and 1 at zero.", ("sinc(0.5)", "0.63661975"))

# --- hyperbolic functions ------------------------------------------------------------------------

sinh = unary("sinh", "sinh", "The hyperbolic sine.", ("sinh(1.0)", "1.1752012"))
cosh = unary("cosh", "cosh", "The hyperbolic cosine.", ("cosh(0.0)", "1.0"))
tanh = unary("tanh", "tanh", "The hyperbolic tangent.", ("tanh(1.0)", "0.7615942"))
arcsinh = unary("arcsinh", "asinh", "The inverse of sinh.", ("arcsinh(0.5)", "0.48121184"))
arccosh = unary("arccosh", "acosh", "The inverse of cosh.", ("arccosh(2.0)", "1.316958"))
arctanh = unary("arctanh", "atanh", "The inverse of tanh.", ("arctanh(0.5)", "0.54930615"))
asinh = unary("asinh", "asinh", "The inverse of sinh.", ("asinh(0.5)", "0.48121184"))
acosh = unary("acosh", "acosh", "The inverse of cosh.", ("acosh(2.0)", "1.316958"))
atanh = unary("atanh", "atanh", "The inverse of tanh.", ("atanh(0.5)", "0.54930615"))

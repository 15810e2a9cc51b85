"""Exponentials, logarithms, circular and hyperbolic functions and their inverses.

Derivatives are written so that they hold over the whole range: nothing in them overflows or cancels
where the derivative itself is an ordinary number.
"""

from __future__ import annotations

import math
from typing import Any

from covector._ir import dtypes
from covector._lower.module import lower_by
from covector._trace.trace import typeof
from covector.lax._nary import INEXACT, elementwise, lower_chlo, scalar_like
from covector.lax.accuracy import bind, lower_with_accuracy
from covector.lax.arctangent import lower_atan, lower_real_atan2
from covector.lax.barriers import stop_gradient
from covector.lax.compare import eq, lt, select_n_p, zero_unless
from covector.lax.complex_numbers import complex, imag, lower_complex, real
from covector.lax.convert import convert_type
from covector.lax.elementwise import abs, add, div, max, mul, neg, scale, sub, unscale
from covector.lax.powers import pow, reciprocal, rsqrt, sqrt, square

# --- exponentials and logarithms ------------------------------------------------------------------


def exp(x: Any, *, accuracy: Any = None) -> Any:
    """``e ** x``, elementwise.

    >>> import covector
    >>> float(covector.lax.exp(0.0))
    1.0
    """
    return bind(exp_p, x, accuracy)


def exp2(x: Any, *, accuracy: Any = None) -> Any:
    """``2 ** x``, elementwise.

    >>> import covector
    >>> float(covector.lax.exp2(3.0))
    8.0
    """
    return bind(exp2_p, x, accuracy)


def expm1(x: Any, *, accuracy: Any = None) -> Any:
    """``e ** x - 1``, elementwise, accurate for small ``x``.

    >>> import covector
    >>> float(covector.lax.expm1(0.0))
    0.0
    """
    return bind(expm1_p, x, accuracy)


def log(x: Any, *, accuracy: Any = None) -> Any:
    """The natural logarithm, elementwise; nan for negative real numbers.

    >>> import covector
    >>> float(covector.lax.log(1.0))
    0.0
    """
    return bind(log_p, x, accuracy)


def log2(x: Any, *, accuracy: Any = None) -> Any:
    """The logarithm to base 2, elementwise.

    >>> import covector
    >>> float(covector.lax.log2(8.0))
    3.0
    """
    return bind(log2_p, x, accuracy)


def log1p(x: Any, *, accuracy: Any = None) -> Any:
    """``log(1 + x)``, elementwise, accurate for small ``x``.

    >>> import covector
    >>> float(covector.lax.log1p(0.0))
    0.0
    """
    return bind(log1p_p, x, accuracy)


def logistic(x: Any, *, accuracy: Any = None) -> Any:
    """``1 / (1 + e ** -x)``, elementwise.

    >>> import covector
    >>> float(covector.lax.logistic(0.0))
    0.5
    """
    return bind(logistic_p, x, accuracy)


def _exp2(x: Any, **accuracy: Any) -> Any:
    """A power of two, which is 50 times as accurate as the exponential of a rounded product."""
    if accuracy or dtypes.is_complex(typeof(x).dtype):
        return exp(mul(x, scalar_like(x, math.log(2))), **accuracy)
    return pow(scalar_like(x, 2), x)


def _log2(x: Any, **accuracy: Any) -> Any:
    natural = log(x, **accuracy)
    if not dtypes.is_complex(typeof(x).dtype):
        return mul(natural, scalar_like(x, 1 / math.log(2)))
    parts = real(natural), imag(natural)  # apart, since an infinite part times zero is nan
    return complex(*[mul(part, scalar_like(part, 1 / math.log(2))) for part in parts])


def _logistic_slope(x: Any, y: Any, **accuracy: Any) -> Any:
    """``y (1 - y)``, where ``1 - y`` is taken as the function at ``-x``, since it cancels."""
    return mul(y, logistic(neg(x), **accuracy))


exp_p = elementwise(
    "exp",
    lower_complex("exp", lower_with_accuracy("exponential")),
    INEXACT,
    lambda t, y, x, **accuracy: scale(t, y),
)
exp2_p = elementwise(
    "exp2",
    lower_by(_exp2),
    INEXACT,
    lambda t, y, x, **accuracy: scale(t, mul(y, scalar_like(y, math.log(2)))),
)
expm1_p = elementwise(
    "expm1",
    lower_complex("expm1", lower_with_accuracy("exponential_minus_one")),
    INEXACT,
    lambda t, y, x, **accuracy: scale(t, exp(x, **accuracy)),  # 1 + y cancels where y is near -1
)
log_p = elementwise(
    "log",
    lower_complex("log", lower_with_accuracy("log")),
    INEXACT,
    lambda t, y, x, **accuracy: unscale(t, x),
)
log2_p = elementwise(
    "log2",
    lower_by(_log2),
    INEXACT,
    lambda t, y, x, **accuracy: unscale(t, mul(x, scalar_like(x, math.log(2)))),
)
log1p_p = elementwise(
    "log1p",
    lower_complex("log1p", lower_with_accuracy("log_plus_one")),
    INEXACT,
    lambda t, y, x, **accuracy: unscale(t, add(x, scalar_like(x, 1))),
)
logistic_p = elementwise(
    "logistic",
    lower_with_accuracy("logistic"),
    INEXACT,
    lambda t, y, x, **accuracy: scale(t, _logistic_slope(x, y, **accuracy)),
)


# --- circular functions ---------------------------------------------------------------------------


def sin(x: Any, *, accuracy: Any = None) -> Any:
    """The sine of an angle in radians, elementwise.

    >>> import covector
    >>> float(covector.lax.sin(0.0))
    0.0
    """
    return bind(sin_p, x, accuracy)


def cos(x: Any, *, accuracy: Any = None) -> Any:
    """The cosine of an angle in radians, elementwise.

    >>> import covector
    >>> float(covector.lax.cos(0.0))
    1.0
    """
    return bind(cos_p, x, accuracy)


def tan(x: Any, *, accuracy: Any = None) -> Any:
    """The tangent of an angle in radians, elementwise.

    >>> import covector
    >>> float(covector.lax.tan(0.0))
    0.0
    """
    return bind(tan_p, x, accuracy)


def _tan_slope(x: Any, y: Any) -> Any:
    """``1 + y**2``; for complex numbers as that of tanh(ix), since it cancels where y is near i."""
    if not dtypes.is_complex(typeof(x).dtype):
        return add(square(y), scalar_like(y, 1))
    return sech_squared_p.bind(mul(x, scalar_like(x, 1j)))


sin_p = elementwise(
    "sin",
    lower_complex("sin", lower_with_accuracy("sine")),
    INEXACT,
    lambda t, y, x, **accuracy: scale(t, cos(x, **accuracy)),
)
cos_p = elementwise(
    "cos",
    lower_complex("cos", lower_with_accuracy("cosine")),
    INEXACT,
    lambda t, y, x, **accuracy: scale(t, neg(sin(x, **accuracy))),
)
tan_p = elementwise(
    "tan",
    lower_complex("tan", lower_with_accuracy("tan")),
    INEXACT,
    lambda t, y, x, **accuracy: scale(t, _tan_slope(x, y)),
)


def asin(x: Any) -> Any:
    """The inverse sine, elementwise.

    >>> import covector
    >>> float(covector.lax.asin(0.0))
    0.0
    """
    return asin_p.bind(x)


def acos(x: Any) -> Any:
    """The inverse cosine, elementwise.

    >>> import covector
    >>> float(covector.lax.acos(1.0))
    0.0
    """
    return acos_p.bind(x)


def atan(x: Any) -> Any:
    """The inverse tangent, elementwise.

    >>> import covector
    >>> float(covector.lax.atan(0.0))
    0.0
    """
    return atan_p.bind(x)


def atan2(x: Any, y: Any) -> Any:
    """The angle of the point ``(y, x)`` (in this order), elementwise: `atan(x / y)` by quadrant.

    >>> import covector
    >>> float(covector.lax.atan2(0.0, 1.0))
    0.0
    """
    return atan2_p.bind(x, y)


def _asin_slope(x: Any) -> Any:
    """``1 / sqrt(1 - x**2)``, by two factors that neither cancel nor overflow."""
    one = scalar_like(x, 1)
    return mul(rsqrt(sub(one, x)), rsqrt(add(one, x)))


def _atan_slope(x: Any) -> Any:
    """``1 / (1 + x**2)``; for complex numbers as ``1 / ((1 - ix) (1 + ix))``: no cancellation."""
    one = scalar_like(x, 1)
    if not dtypes.is_complex(typeof(x).dtype):
        return reciprocal(add(one, square(x)))
    ix = mul(x, scalar_like(x, 1j))
    return reciprocal(mul(sub(one, ix), add(one, ix)))


def _atan2_slope(numerator: Any, x: Any, y: Any) -> Any:
    """``numerator / (x**2 + y**2)``, with all lengths in units of the longest."""
    unit = stop_gradient(max(abs(x), abs(y)))
    is_infinite = eq(unit, scalar_like(unit, math.inf))
    unit = convert_type(unit, typeof(x).dtype, weak_type=typeof(unit).weak_type)
    squares = add(square(div(x, unit)), square(div(y, unit)))
    slope = mul(div(div(numerator, unit), squares), reciprocal(unit))
    return zero_unless(eq(is_infinite, False), slope)


def _lower_atan2(ctx: Any, args: Any, in_avals: Any, out_avals: Any) -> list[str]:
    is_complex = dtypes.is_complex(out_avals[0].dtype)
    rule = _lower_complex_atan2 if is_complex else lower_real_atan2
    return rule(ctx, args, in_avals, out_avals)


def _complex_atan2(x: Any, y: Any) -> Any:
    """``-i log((y + i x) / sqrt(x**2 + y**2))``, the analytic continuation."""
    i = scalar_like(x, 1j)
    return mul(neg(i), log(div(add(y, mul(i, x)), sqrt(add(square(x), square(y))))))


_lower_complex_atan2 = lower_by(_complex_atan2)

asin_p = elementwise(
    "asin",
    lower_complex("asin", lower_chlo("asin")),
    INEXACT,
    lambda t, y, x: scale(t, _asin_slope(x)),
)
acos_p = elementwise(
    "acos",
    lower_complex("acos", lower_chlo("acos")),
    INEXACT,
    lambda t, y, x: scale(t, neg(_asin_slope(x))),
)
atan_p = elementwise(
    "atan", lower_complex("atan", lower_atan), INEXACT, lambda t, y, x: scale(t, _atan_slope(x))
)
atan2_p = elementwise(
    "atan2",
    _lower_atan2,
    INEXACT,
    lambda t, out, x, y: scale(t, _atan2_slope(y, x, y)),
    lambda t, out, x, y: scale(t, neg(_atan2_slope(x, x, y))),
)


# --- hyperbolic functions -------------------------------------------------------------------------


def sinh(x: Any) -> Any:
    """The hyperbolic sine, elementwise.

    >>> import covector
    >>> float(covector.lax.sinh(0.0))
    0.0
    """
    return sinh_p.bind(x)


def cosh(x: Any) -> Any:
    """The hyperbolic cosine, elementwise.

    >>> import covector
    >>> float(covector.lax.cosh(0.0))
    1.0
    """
    return cosh_p.bind(x)


def tanh(x: Any, *, accuracy: Any = None) -> Any:
    """The hyperbolic tangent, elementwise.

    >>> import covector
    >>> float(covector.lax.tanh(0.0))
    0.0
    """
    return bind(tanh_p, x, accuracy)


def asinh(x: Any) -> Any:
    """The inverse hyperbolic sine, elementwise.

    >>> import covector
    >>> float(covector.lax.asinh(0.0))
    0.0
    """
    return asinh_p.bind(x)


def acosh(x: Any) -> Any:
    """The inverse hyperbolic cosine, elementwise.

    >>> import covector
    >>> float(covector.lax.acosh(1.0))
    0.0
    """
    return acosh_p.bind(x)


def atanh(x: Any) -> Any:
    """The inverse hyperbolic tangent, elementwise.

    >>> import covector
    >>> float(covector.lax.atanh(0.0))
    0.0
    """
    return atanh_p.bind(x)


def _sech_squared(x: Any) -> Any:
    """``1 - tanh(x)**2`` without cancellation: ``4 e / (1 + e)**2`` with ``e = exp(-2 |x|)``."""
    minus_two = scalar_like(x, -2)
    if dtypes.is_complex(typeof(x).dtype):
        is_left = lt(real(x), scalar_like(real(x), 0))
        e = exp(mul(select_n_p.bind(is_left, x, neg(x)), minus_two))
    else:
        e = exp(mul(abs(x), minus_two))
    return div(mul(e, scalar_like(x, 4)), square(add(e, scalar_like(x, 1))))


def _asinh_slope(x: Any) -> Any:
    """``1 / sqrt(1 + x**2)``, without the square of a large number."""
    one = scalar_like(x, 1)
    if dtypes.is_complex(typeof(x).dtype):
        ix = complex(neg(imag(x)), real(x))
        return mul(rsqrt(sub(one, ix)), rsqrt(add(one, ix)))
    unit = stop_gradient(max(abs(x), one))
    inverse = div(one, unit)
    return mul(inverse, rsqrt(add(square(inverse), square(div(x, unit)))))


def _acosh_slope(x: Any) -> Any:
    one = scalar_like(x, 1)
    return mul(rsqrt(sub(x, one)), rsqrt(add(x, one)))


def _atanh_slope(x: Any) -> Any:
    one = scalar_like(x, 1)
    return reciprocal(mul(sub(one, x), add(one, x)))


sinh_p = elementwise(
    "sinh", lower_complex("sinh", lower_chlo("sinh")), INEXACT, lambda t, y, x: scale(t, cosh(x))
)
cosh_p = elementwise(
    "cosh", lower_complex("cosh", lower_chlo("cosh")), INEXACT, lambda t, y, x: scale(t, sinh(x))
)
tanh_p = elementwise(
    "tanh",
    lower_complex("tanh", lower_with_accuracy("tanh")),
    INEXACT,
    lambda t, y, x, **accuracy: scale(t, sech_squared_p.bind(x)),
)
# A primitive, so that its derivative does not go through that of the absolute value.
sech_squared_p = elementwise(
    "sech_squared",
    lower_by(_sech_squared),
    INEXACT,
    lambda t, y, x: scale(t, mul(mul(y, tanh(x)), scalar_like(x, -2))),
)
asinh_p = elementwise(
    "asinh",
    lower_complex("asinh", lower_chlo("asinh")),
    INEXACT,
    lambda t, y, x: scale(t, _asinh_slope(x)),
)
acosh_p = elementwise(
    "acosh",
    lower_complex("acosh", lower_chlo("acosh")),
    INEXACT,
    lambda t, y, x: scale(t, _acosh_slope(x)),
)
atanh_p = elementwise(
    "atanh",
    lower_complex("atanh", lower_chlo("atanh")),
    INEXACT,
    lambda t, y, x: scale(t, _atanh_slope(x)),
)

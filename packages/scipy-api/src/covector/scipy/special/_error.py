"""The error function, and the normal distribution function, its logarithm and inverse."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import covector.numpy as jnp
from covector import lax
from covector._api.jit import library_function
from covector._trace.trace import typeof
from covector.custom_derivatives import custom_jvp
from covector.lax.elementwise import scale
from covector.scipy._operands import promote_real


@library_function
def erf(x: Any) -> Any:
    """The error function.

    >>> print(covector.scipy.special.erf(0.5))
    0.5204999
    """
    return lax.erf(*promote_real("erf", x))


@library_function
def erfc(x: Any) -> Any:
    """The complement of the error function, 1 - erf(x), exact also where it is small.

    >>> print(covector.scipy.special.erfc(0.5))
    0.47950017
    """
    return lax.erfc(*promote_real("erfc", x))


@library_function
def erfinv(x: Any) -> Any:
    """The inverse of the error function.

    >>> print(covector.scipy.special.erfinv(0.0))
    0.0
    """
    return lax.erf_inv(*promote_real("erfinv", x))


@library_function
def ndtr(x: Any) -> Any:
    """The distribution function of the standard normal distribution.

    >>> print(covector.scipy.special.ndtr(0.0))
    0.5
    """
    (x,) = promote_real("ndtr", x)
    return _ndtr(x)


def _ndtr(x: Any) -> Any:
    """By erf in the middle, and by erfc of positive arguments in the tails."""
    half = x * math.sqrt(0.5)
    tail = lax.erfc(jnp.abs(half))
    outer = jnp.where(half > 0, 2 - tail, tail)
    return 0.5 * jnp.where(jnp.abs(half) < math.sqrt(0.5), 1 + lax.erf(half), outer)


def log_ndtr(x: Any, series_order: int = 3) -> Any:
    """The logarithm of `ndtr`, exact also where that is near 0 or 1.

    ``series_order`` is there for the API's sake: the terms that the dtype needs are taken.

    >>> print(covector.scipy.special.log_ndtr(-40.0))
    -804.60846
    """
    if not isinstance(series_order, int):
        raise TypeError(f"log_ndtr: series_order must be an int, got {series_order!r}.")
    if series_order < 0:
        raise ValueError(f"log_ndtr: series_order must be nonnegative, got {series_order}.")
    return _log_ndtr(x)


@library_function
def _log_ndtr(x: Any) -> Any:
    (x,) = promote_real("log_ndtr", x)
    far, above = x < -5, x > 0
    middle = jnp.log(_ndtr(jnp.where(far | above, -1, x)))
    upper = jnp.log1p(-_ndtr(-jnp.where(above, x, 1)))
    below = jnp.where(far, x, -5)
    lower = -below * below / 2 - math.log(2 * math.pi) / 2 + jnp.log(_mills_ratio(-below))
    return jnp.where(above, upper, jnp.where(far, lower, middle))


def _mills_ratio(x: Any) -> Any:
    """(1 - ndtr(x)) / density(x) for x >= 5, by Laplace's continued fraction.

    Abramowitz and Stegun, Handbook of Mathematical Functions, 26.2.14.
    """
    terms = 24 if typeof(x).dtype.itemsize == 8 else 8
    below = x
    for k in range(terms, 0, -1):
        below = x + k / below
    return 1 / below


@library_function
def ndtri(p: Any) -> Any:
    """The inverse of `ndtr`: the quantile function of the standard normal distribution.

    NaN outside of [0, 1].

    >>> print(covector.scipy.special.ndtri(0.5))
    0.0
    """
    (p,) = promote_real("ndtri", p)
    return _quantile(p)


@custom_jvp
def _quantile(p: Any) -> Any:
    """By the rational approximations of Wichura (1988), Algorithm AS 241, accurate to 1e-16."""
    q = p - 0.5
    central = jnp.abs(q) <= 0.425
    r = 0.180625 - jnp.where(central, q, 0) ** 2
    middle = q * _ratio(_CENTRAL, r)
    rest = jnp.where(central, 0.05, jnp.where(q < 0, p, 1 - p))
    r = jnp.sqrt(-jnp.log(rest))
    near, far = _ratio(_NEAR, jnp.minimum(r, 5) - 1.6), _ratio(_FAR, jnp.maximum(r, 5) - 5)
    tail = jnp.where(r <= 5, near, far)
    tail = jnp.where(r == jnp.inf, jnp.inf, tail)
    return jnp.where(central, middle, jnp.where(q < 0, -tail, tail))


@_quantile.defjvp
def _quantile_jvp(primals: Any, tangents: Any) -> Any:
    """The derivative is one over the density at the quantile."""
    (p,), (t,) = primals, tangents
    x = _quantile(p)
    return x, scale(t, math.sqrt(2 * math.pi) * jnp.exp(x * x / 2))


def _ratio(coefficients: tuple[Sequence[float], Sequence[float]], x: Any) -> Any:
    top, bottom = [_polynomial(c, x) for c in coefficients]
    return top / bottom


def _polynomial(coefficients: Sequence[float], x: Any) -> Any:
    result = jnp.full_like(x, coefficients[-1])
    for c in coefficients[-2::-1]:
        result = result * x + c
    return result


# Numerators and denominators, lowest powers first: |p - 1/2| <= 0.425; then by the distance from
# the nearer end, exp(-25) and beyond.
_CENTRAL = (
    (
        3.3871328727963666080, 1.3314166789178437745e2, 1.9715909503065514427e3,
        1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
        3.3430575583588128105e4, 2.5090809287301226727e3,
    ),
    (
        1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
        2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4,
        5.2264952788528545610e3,
    ),
)  # fmt: skip
_NEAR = (
    (
        1.42343711074968357734, 4.63033784615654529590, 5.76949722146069140550,
        3.64784832476320460504, 1.27045825245236838258, 2.41780725177450611770e-1,
        2.27238449892691845833e-2, 7.74545014278341407640e-4,
    ),
    (
        1.0, 2.05319162663775882187, 1.67638483018380384940, 6.89767334985100004550e-1,
        1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
        1.05075007164441684324e-9,
    ),
)  # fmt: skip
_FAR = (
    (
        6.65790464350110377720, 5.46378491116411436990, 1.78482653991729133580,
        2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
        2.71155556874348757815e-5, 2.01033439929228813265e-7,
    ),
    (
        1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
        7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
        2.04426310338993978564e-15,
    ),
)  # fmt: skip

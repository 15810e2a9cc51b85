"""The standard normal distribution function, its logarithm and its inverse."""

from __future__ import annotations

import math
from typing import Any

import covector.numpy as jnp
from covector import lax
from covector._api.jit import library_function
from covector.scipy._elementwise import polynomial, promote_real, strong, with_slopes
from covector.scipy.special._error_function import scaled_erfc

_ROOT_HALF = math.sqrt(0.5)
_ROOT_TWO_PI = math.sqrt(2 * math.pi)

# --- the distribution function -------------------------------------------------------------------


def _density(x: Any) -> Any:
    return jnp.exp(-0.5 * jnp.square(x)) / _ROOT_TWO_PI


_ndtr = with_slopes(lambda x: 0.5 * lax.erfc(x * -_ROOT_HALF), _density)


@library_function
def ndtr(x: Any) -> Any:
    """The standard normal distribution function, elementwise: the probability of less than x.

    Raises `TypeError` for complex numbers.

    >>> print(ndtr(1.0))
    0.8413447
    """
    return strong(_ndtr(*promote_real("ndtr", x)))


# --- its logarithm -------------------------------------------------------------------------------


def _log_ndtr_value(x: Any) -> Any:
    """In the lower tail ``log(scaled_erfc(-x / sqrt(2)) / 2) - x**2 / 2``."""
    low = x < -1.0
    tail = jnp.log(0.5 * scaled_erfc(_tail_argument(x, low))) - 0.5 * jnp.square(x)
    return jnp.where(low, tail, jnp.log1p(-0.5 * lax.erfc(x * _ROOT_HALF)))


def _log_ndtr_slope(x: Any) -> Any:
    """The density over the distribution function, both without their factor that vanishes."""
    low = x < -1.0
    tail = math.sqrt(2 / math.pi) / scaled_erfc(_tail_argument(x, low))
    return jnp.where(low, tail, _density(x) / (0.5 * lax.erfc(x * -_ROOT_HALF)))


def _tail_argument(x: Any, low: Any) -> Any:
    return jnp.where(low, x, -1.0) * -_ROOT_HALF


_log_ndtr = with_slopes(_log_ndtr_value, _log_ndtr_slope)


def log_ndtr(x: Any, series_order: int = 3) -> Any:
    """The logarithm of `ndtr`, elementwise, accurate in both tails, and so is its derivative.

    Args:
      series_order: from 0 to 30; every order gives the full precision of the dtype, since no
        asymptotic series is cut here.

    Raises `TypeError` for complex numbers, or an order that is no int; `ValueError` for an order
    out of range.

    >>> print(log_ndtr(-10.0))
    -53.231285
    """
    if not isinstance(series_order, int):
        raise TypeError(f"log_ndtr: series_order must be a Python int, got {series_order!r}.")
    if not 0 <= series_order <= 30:
        raise ValueError(f"log_ndtr: series_order must be from 0 to 30, got {series_order}.")
    return _log_ndtr_jitted(x)


@library_function
def _log_ndtr_jitted(x: Any) -> Any:
    return strong(_log_ndtr(*promote_real("log_ndtr", x)))


# --- its inverse ---------------------------------------------------------------------------------

# PPND16 of Wichura's algorithm AS 241 (Applied Statistics 37, 477-484, 1988): numerator and
# denominator, the highest power first.
_CENTER = (
    (
        2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4,
        4.5921953931549871457e4, 1.3731693765509461125e4, 1.9715909503065514427e3,
        1.3314166789178437745e2, 3.3871328727963666080,
    ),
    (
        5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4,
        2.1213794301586595867e4, 5.3941960214247511077e3, 6.8718700749205790830e2,
        4.2313330701600911252e1, 1.0,
    ),
)  # fmt: skip
_MIDDLE = (
    (
        7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1,
        1.27045825245236838258, 3.64784832476320460504, 5.76949722146069140550,
        4.63033784615654529590, 1.42343711074968357734,
    ),
    (
        1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2,
        1.48103976427480074590e-1, 6.89767334985100004550e-1, 1.67638483018380384940,
        2.05319162663775882187, 1.0,
    ),
)  # fmt: skip
_TAIL = (
    (
        2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3,
        2.65321895265761230930e-2, 2.96560571828504891230e-1, 1.78482653991729133580,
        5.46378491116411436990, 6.65790464350110377720,
    ),
    (
        2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5,
        7.86869131145613259100e-4, 1.48753612908506148525e-2, 1.36929880922735805310e-1,
        5.99832206555887937690e-1, 1.0,
    ),
)  # fmt: skip


def _ratio(coefficients: tuple[tuple[float, ...], tuple[float, ...]], x: Any) -> Any:
    top, bottom = coefficients
    return polynomial(top, x) / polynomial(bottom, x)


def _ndtri_value(p: Any) -> Any:
    offset = p - 0.5
    center = offset * _ratio(_CENTER, 0.180625 - jnp.square(offset))
    root = jnp.sqrt(-jnp.log(jnp.where(offset < 0, p, 1.0 - p)))
    distance = jnp.where(root <= 5.0, _ratio(_MIDDLE, root - 1.6), _ratio(_TAIL, root - 5.0))
    distance = jnp.where(jnp.isposinf(root), jnp.inf, distance)
    outer = jnp.where(offset < 0, -distance, distance)
    return jnp.where(jnp.abs(offset) <= 0.425, center, outer)


def _ndtri_slope(p: Any) -> Any:
    return _ROOT_TWO_PI * jnp.exp(0.5 * jnp.square(_ndtri(p)))


_ndtri = with_slopes(_ndtri_value, _ndtri_slope)


@library_function
def ndtri(p: Any) -> Any:
    """The inverse of `ndtr`, elementwise: infinite at 0 and 1, NaN beyond.

    Raises `TypeError` for complex numbers. After M. J. Wichura, "Algorithm AS 241: The percentage
    points of the normal distribution" (1988).

    >>> print(ndtri(0.75))
    0.6744898
    """
    return strong(_ndtri(*promote_real("ndtri", p)))

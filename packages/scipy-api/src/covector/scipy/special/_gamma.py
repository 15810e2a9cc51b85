"""The gamma function, its logarithm and derivative, factorials and the beta function."""

from __future__ import annotations

import math
from typing import Any

import covector.numpy as jnp
from covector import lax
from covector._api.jit import library_function
from covector._trace.trace import typeof
from covector.scipy._elementwise import (
    polynomial,
    promote_real,
    strong,
    with_slopes,
)

# --- logarithm and derivative --------------------------------------------------------------------


@library_function
def gammaln(x: Any) -> Any:
    """The logarithm of the absolute value of the gamma function, elementwise.

    Raises `TypeError` for complex numbers.

    >>> print(gammaln(5.0))
    3.1780539
    """
    return lax.lgamma(*promote_real("gammaln", x))


@library_function
def digamma(x: Any) -> Any:
    """The derivative of `gammaln`, elementwise.

    Raises `TypeError` for complex numbers.

    >>> print(digamma(1.0))
    -0.5772154
    """
    return lax.digamma(*promote_real("digamma", x))


@library_function
def gammasgn(x: Any) -> Any:
    """The sign of the gamma function, elementwise; NaN at its poles but zero.

    Raises `TypeError` for complex numbers.

    >>> print(gammasgn(jnp.array([1.5, -0.5, -1.5])))
    [ 1. -1.  1.]
    """
    return _sign(*promote_real("gammasgn", x))


def _sign(x: Any) -> Any:
    floor = jnp.floor(x)
    negative = jnp.where(_is_odd(floor), -1.0, 1.0)
    negative = jnp.where((x == floor) | jnp.isnan(x), jnp.nan, negative)
    positive = jnp.where(jnp.signbit(x), -1.0, 1.0)
    sign = jnp.where((x < 0) | jnp.isnan(x), negative, positive)
    return lax.convert_element_type(sign, typeof(x).dtype)


def _is_odd(whole: Any) -> Any:
    return jnp.abs(whole - 2.0 * jnp.floor(0.5 * whole)) == 1.0


# --- the gamma function --------------------------------------------------------------------------

# The coefficients B(2k) / (2k (2k - 1)) of Stirling's series in 1 / x**2, the last one first
# (Abramowitz and Stegun, Handbook of Mathematical Functions, 6.1.40).
_STIRLING = (
    -3617 / 122400, 1 / 156, -691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12,
)  # fmt: skip
_SHIFT = 8  # from here on the series is exact to double precision


def _stirling_rest(x: Any) -> Any:
    """``gammaln(x) - ((x - 1/2) log(x) - x + log(2 pi) / 2)``, for x of at least `_SHIFT`."""
    return polynomial(_STIRLING, jnp.square(1.0 / x)) / x


def _gamma_value(x: Any) -> Any:
    reflected = x < 0.5
    upper = _upper_gamma(jnp.where(reflected, 1.0 - x, x))
    whole = jnp.round(x)
    offset = jnp.where(whole == 0, x, x - whole)  # keeps the sign of zero
    sine = jnp.sin(math.pi * offset) * jnp.where(_is_odd(whole), -1.0, 1.0)
    lower = math.pi / (sine * upper)
    return jnp.where((x < 0) & (x == whole), jnp.nan, jnp.where(reflected, lower, upper))


def _upper_gamma(x: Any) -> Any:
    """The gamma function from 1/2 on: by Stirling's series at x or, for small x, at x + 8.

    The power is a square of its root, which is in range wherever the result is.
    """
    small = x < _SHIFT
    base = jnp.where(small, x + float(_SHIFT), jnp.minimum(x, _largest(x) + 1.0))
    root = jnp.power(base, 0.5 * base - 0.25)
    rest = math.sqrt(2 * math.pi) * jnp.exp(_stirling_rest(base))
    out = root * jnp.exp(-base) * root * rest
    product = x
    for k in range(1, _SHIFT):
        product = product * (x + float(k))
    out = jnp.where(small, out / product, jnp.where(x > _largest(x), jnp.inf, out))
    return jnp.where(x == jnp.floor(x), jnp.round(out), out)  # a factorial is an integer


def _largest(x: Any) -> float:
    """Beyond this, the gamma function overflows ``x``'s dtype."""
    return 172.0 if typeof(x).dtype.itemsize == 8 else 36.0


_gamma = with_slopes(_gamma_value, lambda x: _gamma(x) * lax.digamma(x))


@library_function
def gamma(x: Any) -> Any:
    """The gamma function, elementwise: ``(x - 1)!`` for positive integers; NaN at negative ones.

    Raises `TypeError` for complex numbers. By Stirling's series, reflected below 1/2 (Abramowitz
    and Stegun, 6.1.17 and 6.1.40).

    >>> print(gamma(5.0))
    24.0
    """
    return strong(_gamma(*promote_real("gamma", x)))


def factorial(n: Any, exact: bool = False) -> Any:
    """``n!`` as a floating-point number, elementwise; for other numbers than integers
    ``gamma(n + 1)``, and 0 for negative ones.

    Raises `NotImplementedError` for ``exact=True``: integers here have no more than 64 bits.

    >>> print(factorial(jnp.arange(5)))
    [ 1.  1.  2.  6. 24.]
    """
    if exact:
        raise NotImplementedError(
            "factorial: exact=True is not supported. Use math.factorial for a Python int."
        )
    return _factorial(n)


@library_function
def _factorial(n: Any) -> Any:
    (n,) = promote_real("factorial", n)
    return jnp.where(n < 0, 0.0, _gamma(n + 1.0))


# --- the beta function ---------------------------------------------------------------------------


def _betaln_value(a: Any, b: Any) -> Any:
    """Where an operand is large, Stirling's series of what is left when the large terms cancel.

    The same idea as in A. R. DiDonato and A. H. Morris, "Algorithm 708: Significant digit
    computation of the incomplete beta function ratios" (ACM TOMS 18, 360-373, 1992).
    """
    low, high = jnp.minimum(a, b), jnp.maximum(a, b)
    plain = lax.lgamma(low) + (lax.lgamma(high) - lax.lgamma(low + high))
    # Elsewhere, what the series cannot take is replaced, so that nothing overflows.
    one_large = (high >= _SHIFT) & (low >= 0)
    both_large = low >= _SHIFT
    p, q = jnp.where(one_large, low, 1.0), jnp.where(one_large, high, float(_SHIFT))
    tail = _stirling_rest(q) - _stirling_rest(p + q) - (q - 0.5) * jnp.log1p(p / q)
    mixed = lax.lgamma(p) + p - p * jnp.log(p + q) + tail
    large = jnp.where(both_large, low, float(_SHIFT))
    stirling = 0.5 * jnp.log(2 * math.pi / large) - large * jnp.log1p(q / large)
    stirling = stirling + _stirling_rest(large) + tail
    return jnp.where(both_large, stirling, jnp.where(one_large, mixed, plain))


# B(2k) / (2k) of the series of the digamma function (Abramowitz and Stegun, 6.3.18), last first.
_DIGAMMA = (
    -3617 / 8160, 1 / 12, -691 / 32760, 1 / 132, -1 / 240, 1 / 252, -1 / 120, 1 / 12, 0.0,
)  # fmt: skip


def _digamma_step(x: Any, step: Any) -> Any:
    """``digamma(x) - digamma(x + step)``; for large ``x`` by its series, since the two cancel."""
    large = (x >= _SHIFT) & (step >= 0)
    start, added = jnp.where(large, x, float(_SHIFT)), jnp.where(large, step, 1.0)
    end = start + added
    rest = [polynomial(_DIGAMMA, jnp.square(1.0 / z)) for z in (start, end)]
    series = -jnp.log1p(added / start) - 0.5 * added / start / end - (rest[0] - rest[1])
    return jnp.where(large, series, lax.digamma(x) - lax.digamma(x + step))


_betaln = with_slopes(
    _betaln_value,
    lambda a, b: _digamma_step(a, b),
    lambda a, b: _digamma_step(b, a),
)


@library_function
def betaln(a: Any, b: Any) -> Any:
    """The logarithm of the absolute value of the beta function, elementwise.

    Raises `TypeError` for complex numbers.

    >>> print(betaln(2.0, 3.0))
    -2.4849067
    """
    return _betaln(*promote_real("betaln", a, b))


@library_function
def beta(a: Any, b: Any) -> Any:
    """The beta function, elementwise: ``gamma(a) * gamma(b) / gamma(a + b)``.

    Raises `TypeError` for complex numbers.

    >>> print(beta(2.0, 3.0))
    0.08333333
    """
    a, b = promote_real("beta", a, b)
    return strong(_sign(a) * _sign(b) * _sign(a + b) * jnp.exp(_betaln(a, b)))

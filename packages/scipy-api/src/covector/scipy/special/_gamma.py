"""The gamma function, its logarithm and derivatives, and functions made of them."""

from __future__ import annotations

import math
from operator import index
from typing import Any

import covector.numpy as jnp
from covector import lax
from covector._api.jit import library_function
from covector._trace.trace import typeof
from covector.scipy._operands import check_arraylike, promote_real


@library_function
def gammaln(x: Any) -> Any:
    """The logarithm of the absolute value of the gamma function.

    >>> print(covector.scipy.special.gammaln(1.0))
    0.0
    """
    return lax.lgamma(*promote_real("gammaln", x))


@library_function
def loggamma(x: Any) -> Any:
    """The logarithm of the gamma function; NaN where that is negative.

    >>> print(covector.scipy.special.loggamma(2.0))
    0.0
    """
    (x,) = promote_real("loggamma", x)
    return jnp.where(x < 0, jnp.nan, lax.lgamma(x))


@library_function
def gammasgn(x: Any) -> Any:
    """The sign of the gamma function; NaN at its poles below zero.

    >>> print(covector.scipy.special.gammasgn(-0.5))
    -1.0
    """
    (x,) = promote_real("gammasgn", x)
    return _gammasgn(x)


def _gammasgn(x: Any) -> Any:
    floor = jnp.floor(x)
    sign = jnp.where(jnp.mod(floor, 2) == 0, 1, -1).astype(typeof(x).dtype)
    at_pole = (x < 0) & (floor == x)
    positive = jnp.copysign(jnp.ones_like(x), x)
    result = jnp.where(x < 0, jnp.where(at_pole, jnp.nan, sign), positive)
    return jnp.where(jnp.isnan(x) | (x == -jnp.inf), jnp.nan, result)


@library_function
def gamma(x: Any) -> Any:
    """The gamma function; NaN at its poles below zero.

    >>> print(covector.scipy.special.gamma(3.0))
    2.0
    """
    (x,) = promote_real("gamma", x)
    return _gammasgn(x) * jnp.exp(lax.lgamma(x))


@library_function
def digamma(x: Any) -> Any:
    """The derivative of `gammaln`.

    >>> print(covector.scipy.special.digamma(1.0))
    -0.5772154
    """
    return lax.digamma(*promote_real("digamma", x))


@library_function
def polygamma(n: Any, x: Any) -> Any:
    """The n-th derivative of `digamma`.

    >>> print(covector.scipy.special.polygamma(1, 1.0))
    1.644934
    """
    check_arraylike("polygamma", n, x)
    n, x = jnp.broadcast_arrays(*promote_real("polygamma", n, x))
    return lax.polygamma(n, x)


@library_function
def zeta(x: Any, q: Any = None) -> Any:
    """Hurwitz's zeta function, the sum of (k + q)**-x over k >= 0; Riemann's without ``q``.

    >>> print(covector.scipy.special.zeta(2.0, 1.0))
    1.644934
    """
    x, q = jnp.broadcast_arrays(*promote_real("zeta", x, 1.0 if q is None else q))
    return lax.zeta(x, q)


# Coefficients of 1/z, 1/z**3, ... in Stirling's series (Abramowitz and Stegun, 6.1.41).
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)


def _stirling_correction(z: Any) -> Any:
    """lgamma(z) - ((z - 1/2) log z - z + log(2 pi) / 2), for z >= 10."""
    inverse = 1 / z
    square = inverse * inverse
    result = jnp.zeros_like(z)
    for c in reversed(_STIRLING):
        result = result * square + c
    return result * inverse


@library_function
def betaln(a: Any, b: Any) -> Any:
    """The logarithm of the absolute value of the beta function.

    Where an argument is large, the terms of Stirling's series that cancel are left out
    (DiDonato and Morris, ACM TOMS 18, 1992, algorithm 708).

    >>> print(covector.scipy.special.betaln(1.0, 1.0))
    0.0
    """
    a, b = promote_real("betaln", a, b)
    a, b = jnp.minimum(a, b), jnp.maximum(a, b)
    small = lax.lgamma(a) + lax.lgamma(b) - lax.lgamma(a + b)
    big_b = jnp.maximum(b, 10)
    total = jnp.maximum(a, 0) + big_b
    difference = _stirling_correction(big_b) - _stirling_correction(total)
    ratio = jnp.log1p(jnp.maximum(a, 0) / big_b)
    one_large = lax.lgamma(a) + difference + a - a * jnp.log(total) - (big_b - 0.5) * ratio
    big_a = jnp.maximum(a, 10)
    total = big_a + big_b
    difference = _stirling_correction(big_b) - _stirling_correction(total)
    both_large = (
        0.5 * math.log(2 * math.pi)
        - 0.5 * jnp.log(big_b)
        + (big_a - 0.5) * jnp.log(big_a / total)
        - big_b * jnp.log1p(big_a / big_b)
        + _stirling_correction(big_a)
        + difference
    )
    large = jnp.where(a < 10, one_large, both_large)
    return jnp.where((b < 10) | (a < 0), small, large)


@library_function
def beta(a: Any, b: Any) -> Any:
    """The beta function, gamma(a) gamma(b) / gamma(a + b).

    >>> print(covector.scipy.special.beta(1.0, 1.0))
    1.0
    """
    a, b = promote_real("beta", a, b)
    sign = _gammasgn(a) * _gammasgn(b) * _gammasgn(a + b)
    return sign * jnp.exp(betaln(a, b))


def multigammaln(a: Any, d: int) -> Any:
    """The logarithm of the multivariate gamma function of dimension ``d``.

    >>> print(covector.scipy.special.multigammaln(2.0, 1))
    0.0
    """
    return _multigammaln(a, d=index(d))


@library_function(static_argnames="d")
def _multigammaln(a: Any, *, d: int) -> Any:
    (a,) = promote_real("multigammaln", a)
    terms = [lax.lgamma(a - k / 2) for k in range(d)]
    constant = d * (d - 1) / 4 * math.log(math.pi)
    return jnp.sum(jnp.stack(terms), 0) + constant


def factorial(n: Any, exact: bool = False) -> Any:
    """n!, in floating point; 0 for negative n.

    >>> print(covector.scipy.special.factorial(0))
    1.0
    """
    if exact:
        raise NotImplementedError("factorial: exact=True is not offered; the result is a float.")
    return _factorial(n)


@library_function
def _factorial(n: Any) -> Any:
    (n,) = promote_real("factorial", n)
    return jnp.where(n < 0, 0, jnp.exp(lax.lgamma(jnp.maximum(n, 0) + 1)))


@library_function
def poch(z: Any, m: Any) -> Any:
    """Pochhammer's symbol, gamma(z + m) / gamma(z).

    >>> print(covector.scipy.special.poch(2.0, 0.0))
    1.0
    """
    z, m = promote_real("poch", z, m)
    ratio = _gammasgn(z + m) * _gammasgn(z) * jnp.exp(lax.lgamma(z + m) - lax.lgamma(z))
    return jnp.where(m == 0, 1, ratio)


def comb(N: Any, k: Any, *, repetition: bool = False) -> Any:
    """How many ways there are to choose k of N, without or with repetition, in floating point.

    >>> print(covector.scipy.special.comb(5, 0))
    1.0
    """
    return _comb(N, k, repetition=bool(repetition))


@library_function(static_argnames="repetition")
def _comb(N: Any, k: Any, *, repetition: bool) -> Any:
    N, k = promote_real("comb", N, k)
    if repetition:
        N = N + k - 1
    log = -betaln(N - k + 1, k + 1) - jnp.log1p(N)
    value = jnp.exp(log)
    return jnp.where((k < 0) | (k > N), 0, jnp.where(k == 0, 1, value))

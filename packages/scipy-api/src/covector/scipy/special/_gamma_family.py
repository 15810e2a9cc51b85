"""What is made of the gamma function: its multivariate form, ratios, and higher derivatives."""

from __future__ import annotations

import math
from operator import index
from typing import Any

import covector.numpy as jnp
from covector import lax
from covector._api.jit import library_function
from covector.scipy._elementwise import promote_real
from covector.scipy.special._gamma import betaln, gammasgn


@library_function
def loggamma(x: Any) -> Any:
    """The logarithm of the gamma function of real numbers, elementwise; NaN for negative ones.

    >>> print(loggamma(2.0))
    0.0
    """
    (x,) = promote_real("loggamma", x)
    return jnp.where(x < 0, jnp.nan, lax.lgamma(x))


def multigammaln(a: Any, d: int) -> Any:
    """The logarithm of the multivariate gamma function of dimension ``d``, elementwise.

    >>> print(multigammaln(2.0, 1))
    0.0
    """
    return _multigammaln(a, d=index(d))


@library_function(static_argnames="d")
def _multigammaln(a: Any, *, d: int) -> Any:
    (a,) = promote_real("multigammaln", a)
    terms = [lax.lgamma(a - k / 2) for k in range(d)]
    constant = d * (d - 1) / 4 * math.log(math.pi)
    return jnp.sum(jnp.stack(terms), 0) + constant


@library_function
def polygamma(n: Any, x: Any) -> Any:
    """The n-th derivative of `digamma`, elementwise; not differentiable in ``n``.

    >>> print(polygamma(1, 1.0))
    1.644934
    """
    return lax.polygamma(*promote_real("polygamma", n, x))


@library_function
def zeta(x: Any, q: Any = None) -> Any:
    """Hurwitz's zeta function, the sum of ``(k + q)**-x`` over k >= 0; Riemann's without ``q``.

    >>> print(zeta(2.0, 1.0))
    1.644934
    """
    return lax.zeta(*promote_real("zeta", x, 1.0 if q is None else q))


@library_function
def poch(z: Any, m: Any) -> Any:
    """Pochhammer's symbol, ``gamma(z + m) / gamma(z)``, elementwise.

    >>> print(poch(2.0, 0.0))
    1.0
    """
    z, m = promote_real("poch", z, m)
    ratio = gammasgn(z + m) * gammasgn(z) * jnp.exp(lax.lgamma(z + m) - lax.lgamma(z))
    return jnp.where(m == 0, 1, ratio)


def comb(N: Any, k: Any, *, repetition: bool = False) -> Any:
    """How many ways there are to choose k of N, without or with repetition, in floating point.

    >>> print(comb(5, 0))
    1.0
    """
    return _comb(N, k, repetition=bool(repetition))


@library_function(static_argnames="repetition")
def _comb(N: Any, k: Any, *, repetition: bool) -> Any:
    N, k = promote_real("comb", N, k)
    if repetition:
        N = N + k - 1
    value = jnp.exp(-betaln(N - k + 1, k + 1) - jnp.log1p(N))
    return jnp.where((k < 0) | (k > N), 0, jnp.where(k == 0, 1, value))

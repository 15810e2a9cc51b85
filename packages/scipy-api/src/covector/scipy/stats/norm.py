"""The normal distribution. All functions are elementwise, with ``loc`` the mean and ``scale`` the
standard deviation; arguments are broadcast. They raise `TypeError` for complex numbers.
"""

from __future__ import annotations

import math
from typing import Any

import covector.numpy as jnp
from covector._api.jit import library_function
from covector.scipy._elementwise import promote_real
from covector.scipy.special import log_ndtr, ndtr, ndtri

_ROOT_TWO_PI = math.sqrt(2 * math.pi)
_LOG_ROOT_TWO_PI = 0.5 * math.log(2 * math.pi)


def _standard(name: str, x: Any, loc: Any, scale: Any) -> Any:
    """How many standard deviations from the mean, and the standard deviation."""
    x, loc, scale = promote_real(f"norm.{name}", x, loc, scale)
    return (x - loc) / scale, scale


@library_function
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability density at ``x``.

    >>> print(pdf(1.0))
    0.24197073
    """
    z, scale = _standard("pdf", x, loc, scale)
    return jnp.exp(-0.5 * jnp.square(z)) / (_ROOT_TWO_PI * jnp.abs(scale))


@library_function
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of `pdf`.

    >>> print(logpdf(1.0))
    -1.4189385
    """
    z, scale = _standard("logpdf", x, loc, scale)
    return -0.5 * jnp.square(z) - (jnp.log(jnp.abs(scale)) + _LOG_ROOT_TWO_PI)


@library_function
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of less than ``x``.

    >>> print(cdf(1.0))
    0.8413447
    """
    return ndtr(_standard("cdf", x, loc, scale)[0])


@library_function
def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of `cdf`, accurate in both tails.

    >>> print(logcdf(-10.0))
    -53.231285
    """
    return log_ndtr(_standard("logcdf", x, loc, scale)[0])


@library_function
def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of more than ``x``: ``1 - cdf(x)``, accurate where that is tiny.

    >>> print(sf(1.0))
    0.15865527
    """
    return ndtr(-_standard("sf", x, loc, scale)[0])


@library_function
def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of `sf`, accurate in both tails.

    >>> print(logsf(10.0))
    -53.231285
    """
    return log_ndtr(-_standard("logsf", x, loc, scale)[0])


@library_function
def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of `cdf`: NaN outside of 0 to 1.

    >>> print(ppf(0.75))
    0.6744898
    """
    q, loc, scale = promote_real("norm.ppf", q, loc, scale)
    return ndtri(q) * scale + loc


@library_function
def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of `sf`: NaN outside of 0 to 1.

    >>> print(isf(0.25))
    0.6744898
    """
    q, loc, scale = promote_real("norm.isf", q, loc, scale)
    return loc - ndtri(q) * scale

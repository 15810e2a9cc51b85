"""The normal distribution: density, distribution function, quantiles, and their logarithms.

All functions take ``loc``, the mean, and ``scale``, the standard deviation; arguments broadcast.
"""

from __future__ import annotations

import math
from typing import Any

import covector.numpy as jnp
from covector._api.jit import library_function
from covector.scipy import special
from covector.scipy._operands import promote_real

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


@library_function
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density.

    >>> print(covector.scipy.stats.norm.logpdf(0.0))
    -0.9189385
    """
    x, loc, scale = promote_real("norm.logpdf", x, loc, scale)
    z = (x - loc) / scale
    return -z * z / 2 - math.log(2 * math.pi) / 2 - jnp.log(scale)


@library_function
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density.

    >>> print(covector.scipy.stats.norm.pdf(0.0))
    0.3989423
    """
    return jnp.exp(logpdf(x, loc, scale))


@library_function
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The distribution function: the probability of at most x.

    >>> print(covector.scipy.stats.norm.cdf(0.0))
    0.5
    """
    x, loc, scale = promote_real("norm.cdf", x, loc, scale)
    return special.ndtr((x - loc) / scale)


@library_function
def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the distribution function.

    >>> print(covector.scipy.stats.norm.logcdf(-40.0))
    -804.60846
    """
    x, loc, scale = promote_real("norm.logcdf", x, loc, scale)
    return special.log_ndtr((x - loc) / scale)


@library_function
def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The survival function: the probability of more than x.

    >>> print(covector.scipy.stats.norm.sf(0.0))
    0.5
    """
    x, loc, scale = promote_real("norm.sf", x, loc, scale)
    return special.ndtr((loc - x) / scale)


@library_function
def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the survival function.

    >>> print(covector.scipy.stats.norm.logsf(40.0))
    -804.60846
    """
    x, loc, scale = promote_real("norm.logsf", x, loc, scale)
    return special.log_ndtr((loc - x) / scale)


@library_function
def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The quantile function, the inverse of `cdf`.

    >>> print(covector.scipy.stats.norm.ppf(0.5))
    0.0
    """
    q, loc, scale = promote_real("norm.ppf", q, loc, scale)
    return special.ndtri(q) * scale + loc


@library_function
def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of `sf`.

    >>> print(covector.scipy.stats.norm.isf(0.5))
    -0.0
    """
    q, loc, scale = promote_real("norm.isf", q, loc, scale)
    return -special.ndtri(q) * scale + loc

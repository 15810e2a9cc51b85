"""Products with logarithms that are zero at zero, and the entropies made of them."""

from __future__ import annotations

from typing import Any

import covector.numpy as jnp
from covector._api.jit import library_function
from covector._ir import dtypes
from covector._trace.trace import typeof
from covector.scipy._elementwise import promote_inexact, promote_real, with_slopes

# --- products ------------------------------------------------------------------------------------


def _vanishing(x: Any, y: Any, out: Any) -> Any:
    """``out``, but zero where ``x`` is zero, unless ``y`` is NaN."""
    return jnp.where((x == 0) & ~jnp.isnan(y), 0.0, out)


_xlogy = with_slopes(
    lambda x, y: _vanishing(x, y, x * jnp.log(y)),
    lambda x, y: jnp.log(y),
    lambda x, y: _vanishing(x, y, x / y),
)
_xlog1py = with_slopes(
    lambda x, y: _vanishing(x, y, x * jnp.log1p(y)),
    lambda x, y: jnp.log1p(y),
    lambda x, y: _vanishing(x, y, x / (1.0 + y)),
)


@library_function
def xlogy(x: Any, y: Any) -> Any:
    """``x * log(y)``, elementwise, and 0 where ``x`` is 0; the derivative in ``y`` is too.

    >>> print(xlogy(jnp.array([0.0, 2.0]), jnp.array([0.0, 1.5])))
    [0.        0.8109302]
    """
    return _xlogy(*promote_inexact("xlogy", x, y))


@library_function
def xlog1py(x: Any, y: Any) -> Any:
    """``x * log(1 + y)``, elementwise, exact near y = 0, and 0 where ``x`` is 0.

    >>> print(xlog1py(jnp.array([0.0, 2.0]), jnp.array([-1.0, 1.0])))
    [0.        1.3862944]
    """
    return _xlog1py(*promote_inexact("xlog1py", x, y))


# --- entropies -----------------------------------------------------------------------------------

_entr = with_slopes(
    lambda x: jnp.where(x < 0, -jnp.inf, _vanishing(x, x, -x * jnp.log(x))),
    lambda x: -jnp.log(x) - 1.0,
)


@library_function
def entr(x: Any) -> Any:
    """``-x * log(x)``, elementwise: 0 at 0, and minus infinity below.

    Raises `ValueError` for complex numbers.

    >>> print(entr(jnp.array([0.25, 0.5])))
    [0.3465736 0.3465736]
    """
    return _entr(*promote_real("entr", x, error=ValueError))


def _log_ratio(x: Any, y: Any) -> Any:
    """``log(x / y)``: exact where the two are close, and in range where their ratio is not."""
    close = jnp.abs(x - y) < 0.5 * y
    ratio = x / y
    inside = (ratio > float(dtypes.finfo(typeof(x).dtype).smallest_normal)) & (ratio < jnp.inf)
    apart = jnp.where(inside, jnp.log(ratio), jnp.log(x) - jnp.log(y))
    return jnp.where(close, jnp.log1p((x - y) / y), apart)


def _inside_or(x: Any, y: Any, value: Any, at_zero: Any) -> Any:
    """``value`` for positive operands, ``at_zero`` where x is 0, infinity outside."""
    positive, zero = (x > 0) & (y > 0), (x == 0) & (y >= 0)
    either = jnp.isnan(x) | jnp.isnan(y)
    out = jnp.where(positive, value, jnp.where(zero, at_zero, jnp.inf))
    return jnp.where(either, jnp.nan, out)


_rel_entr = with_slopes(
    lambda x, y: _inside_or(x, y, x * _log_ratio(x, y), 0.0),
    lambda x, y: _positive_or_zero(x, y, _log_ratio(x, y) + 1.0),
    lambda x, y: _positive_or_zero(x, y, -(x / y)),
)
_kl_div = with_slopes(
    lambda x, y: _inside_or(x, y, x * _log_ratio(x, y) - x + y, y),
    lambda x, y: _positive_or_zero(x, y, _log_ratio(x, y)),
    lambda x, y: jnp.where((x == 0) & (y >= 0), 1.0, _positive_or_zero(x, y, 1.0 - x / y)),
)


def _positive_or_zero(x: Any, y: Any, slope: Any) -> Any:
    return jnp.where((x > 0) & (y > 0), slope, 0.0)


@library_function
def rel_entr(p: Any, q: Any) -> Any:
    """``p * log(p / q)``, elementwise: 0 where p is 0, infinite where either is out of range.

    The derivative where ``p`` is 0 is taken as 0, so that it stays finite. Raises `ValueError` for
    complex numbers.

    >>> print(rel_entr(jnp.array([0.0, 0.5]), jnp.array([0.5, 0.25])))
    [0.        0.3465736]
    """
    return _rel_entr(*promote_real("rel_entr", p, q, error=ValueError))


@library_function
def kl_div(p: Any, q: Any) -> Any:
    """``p * log(p / q) - p + q``, elementwise: `rel_entr` made nonnegative.

    Raises `ValueError` for complex numbers.

    >>> print(kl_div(jnp.array([0.0, 0.5]), jnp.array([0.5, 0.25])))
    [0.5        0.09657359]
    """
    return _kl_div(*promote_real("kl_div", p, q, error=ValueError))

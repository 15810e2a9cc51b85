"""Logistic functions, sums of exponentials, and powers that pass into logarithms."""

from __future__ import annotations

from operator import index
from typing import Any

import covector.numpy as jnp
import numpy as np
from covector import lax
from covector._api.jit import library_function
from covector._ir import dtypes
from covector._trace.trace import typeof
from covector.scipy._operands import check_arraylike, promote_inexact


@library_function
def expit(x: Any) -> Any:
    """The logistic function, 1 / (1 + exp(-x)).

    >>> print(covector.scipy.special.expit(0.0))
    0.5
    """
    return lax.logistic(*promote_inexact("expit", x))


@library_function
def logit(x: Any) -> Any:
    """The inverse of `expit`, log(x / (1 - x)).

    >>> print(covector.scipy.special.logit(0.5))
    0.0
    """
    (x,) = promote_inexact("logit", x)
    return jnp.log(x / (1 - x))


def logsumexp(
    a: Any,
    axis: Any = None,
    b: Any = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: Any = None,
) -> Any:
    """log(sum(exp(a))) along axes, without overflow.

    Args:
      axis: an axis or several; None for all.
      b: factors of the exponentials.
      return_sign: return ``(log of the absolute value, sign)``; without it, the logarithm of a
        negative sum is NaN.
      where: which elements to include.

    >>> print(covector.scipy.special.logsumexp(jnp.array([1000.0, 1000.0])))
    1000.6932
    """
    axes = tuple([index(i) for i in axis]) if isinstance(axis, (tuple, list)) else axis
    value, sign = _logsumexp(a, b, where, axis=axes, keepdims=bool(keepdims))
    if return_sign:
        return value, sign
    if b is None:
        return value
    return jnp.where(sign < 0, jnp.nan, value) if not jnp.iscomplexobj(value) else value


@library_function(static_argnames=("axis", "keepdims"))
def _logsumexp(a: Any, b: Any, where: Any, *, axis: Any, keepdims: bool) -> tuple[Any, Any]:
    if b is None:
        (a,) = promote_inexact("logsumexp", a)
    else:
        a, b = promote_inexact("logsumexp", a, b)
        a = jnp.where(b == 0, -jnp.inf, a)
    if where is not None:
        a = jnp.where(where, a, -jnp.inf)
    is_complex = dtypes.is_complex(typeof(a).dtype)
    real = lax.real(a) if is_complex else a
    top = jnp.max(lax.stop_gradient(real), axis, keepdims=True, initial=-jnp.inf)
    shift = jnp.where(jnp.isfinite(top), top, 0)
    terms = jnp.exp(a - shift)
    total = jnp.sum(terms if b is None else b * terms, axis, keepdims=keepdims)
    shift = shift if keepdims else jnp.reshape(shift, typeof(total).shape)
    if is_complex and b is None:
        return jnp.log(total) + shift, jnp.ones_like(total)
    return jnp.log(jnp.abs(total)) + shift, jnp.sign(total)


def softmax(x: Any, /, *, axis: Any = None) -> Any:
    """exp(x) divided by its sum along axes.

    >>> print(covector.scipy.special.softmax(jnp.zeros(4)))
    [0.25 0.25 0.25 0.25]
    """
    check_arraylike("softmax", x)
    return _softmax(x, axis=_static(axis))


def log_softmax(x: Any, /, *, axis: Any = None) -> Any:
    """The logarithm of `softmax`.

    >>> print(covector.scipy.special.log_softmax(jnp.zeros(1)))
    [0.]
    """
    check_arraylike("log_softmax", x)
    return _log_softmax(x, axis=_static(axis))


def _static(axis: Any) -> Any:
    return tuple(map(index, axis)) if isinstance(axis, (tuple, list)) else axis


@library_function(static_argnames="axis")
def _softmax(x: Any, *, axis: Any) -> Any:
    (x,) = promote_inexact("softmax", x)
    terms = jnp.exp(x - _top(x, axis))
    return terms / jnp.sum(terms, axis, keepdims=True)


@library_function(static_argnames="axis")
def _log_softmax(x: Any, *, axis: Any) -> Any:
    (x,) = promote_inexact("log_softmax", x)
    shifted = x - _top(x, axis)
    return shifted - jnp.log(jnp.sum(jnp.exp(shifted), axis, keepdims=True))


def _top(x: Any, axis: Any) -> Any:
    return jnp.max(lax.stop_gradient(x), axis, keepdims=True, initial=-np.inf)


@library_function
def boxcox(x: Any, lmbda: Any) -> Any:
    """(x**lmbda - 1) / lmbda, and log(x) for lmbda = 0.

    >>> print(covector.scipy.special.boxcox(1.0, 2.0))
    0.0
    """
    x, power = promote_inexact("boxcox", x, lmbda)
    return _power_transform(jnp.log(x), power)


@library_function
def boxcox1p(x: Any, lmbda: Any) -> Any:
    """`boxcox` of 1 + x, exact also near zero.

    >>> print(covector.scipy.special.boxcox1p(0.0, 2.0))
    0.0
    """
    x, power = promote_inexact("boxcox1p", x, lmbda)
    return _power_transform(jnp.log1p(x), power)


def _power_transform(log: Any, power: Any) -> Any:
    """(exp(power * log) - 1) / power, by expm1, so that small powers are exact."""
    safe = jnp.where(power == 0, 1, power)
    return jnp.where(power == 0, log, jnp.expm1(safe * log) / safe)

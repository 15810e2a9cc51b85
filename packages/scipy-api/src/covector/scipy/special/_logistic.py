"""The logistic function and its inverse, and sums of exponentials: softmax, logsumexp."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import index
from typing import Any

import covector.numpy as jnp
from covector import lax
from covector._api.jit import library_function
from covector._ir import dtypes
from covector._trace.trace import typeof
from covector.scipy._elementwise import promote_inexact, strong, with_slopes

Axes = int | Sequence[int] | None

# --- elementwise ---------------------------------------------------------------------------------


@library_function
def expit(x: Any) -> Any:
    """The logistic function ``1 / (1 + exp(-x))``, elementwise; its derivative is right far out.

    >>> print(expit(0.0))
    0.5
    """
    return lax.logistic(*promote_inexact("expit", x))


def _logit_value(x: Any) -> Any:
    far = jnp.log(x) - jnp.log1p(-x)
    if dtypes.is_complex(typeof(x).dtype):
        return far
    # Near 1/2 the two logarithms cancel.
    return jnp.where(jnp.abs(x - 0.5) < 0.25, 2.0 * jnp.arctanh(2.0 * x - 1.0), far)


_logit = with_slopes(_logit_value, lambda x: 1.0 / (x * (1.0 - x)))


@library_function
def logit(x: Any) -> Any:
    """``log(x / (1 - x))``, elementwise, the inverse of `expit`; infinite at 0 and 1, NaN beyond.

    >>> print(logit(0.25))
    -1.0986123
    """
    return _logit(*promote_inexact("logit", x))


# --- sums of exponentials ------------------------------------------------------------------------


def softmax(x: Any, /, *, axis: Axes = None) -> Any:
    """``exp(x) / sum(exp(x))``, without overflow, along ``axis``: one, several, or None for all.

    A slice without a finite element, or with an infinite one, is NaN.

    >>> print(softmax(jnp.array([0.0, 0.0, jnp.log(2.0)])))
    [0.25 0.25 0.5 ]
    """
    return _softmax(x, axis=_hashable(axis))


def log_softmax(x: Any, /, *, axis: Axes = None) -> Any:
    """The logarithm of `softmax`, accurate also where that is tiny.

    >>> print(log_softmax(jnp.array([0.0, -1000.0])))
    [    0. -1000.]
    """
    return _log_softmax(x, axis=_hashable(axis))


@library_function(static_argnames=("axis",))
def _softmax(x: Any, *, axis: Axes) -> Any:
    powers = jnp.exp(_below_maximum("softmax", x, axis))
    return powers / jnp.sum(powers, axis=axis, keepdims=True)


@library_function(static_argnames=("axis",))
def _log_softmax(x: Any, *, axis: Axes) -> Any:
    below = _below_maximum("log_softmax", x, axis)
    return below - jnp.log(jnp.sum(jnp.exp(below), axis=axis, keepdims=True))


def _below_maximum(name: str, x: Any, axis: Axes) -> Any:
    (x,) = promote_inexact(name, x)
    top = jnp.max(jnp.real(x), axis=axis, keepdims=True, initial=-jnp.inf)
    return strong(x - lax.stop_gradient(top))


def logsumexp(
    a: Any,
    axis: Axes = None,
    b: Any = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: Any = None,
) -> Any:
    """``log(sum(b * exp(a)))`` along axes, by default of all elements, without overflow.

    Args:
      b: factors, broadcast against ``a``; an infinite element with the factor 0 does not count.
      keepdims: leave the axes with size one.
      return_sign: return also the sign of the sum (of a complex sum, its phase), and the
        logarithm of the absolute value. Without it, a negative sum gives NaN.
      where: which elements to include.

    The sum of nothing is 0, its logarithm minus infinity. The derivative there is taken as 0.

    >>> print(logsumexp(jnp.array([1000.0, 1000.0])))
    1000.6932
    >>> print(logsumexp(jnp.array([0.0, 0.0]), b=jnp.array([1.0, -3.0]), return_sign=True))
    (Array(0.6931472, dtype=float32), Array(-1., dtype=float32))
    """
    return _logsumexp(
        a, b, where, axis=_hashable(axis), keepdims=bool(keepdims), return_sign=bool(return_sign)
    )


@library_function(static_argnames=("axis", "keepdims", "return_sign"))
def _logsumexp(a: Any, b: Any, where: Any, *, axis: Axes, keepdims: bool, return_sign: bool) -> Any:
    a, b, where = _summands(a, b, where)
    counted = a if b is None else jnp.where(b != 0, a, -jnp.inf)
    top = jnp.max(jnp.real(counted), axis=axis, keepdims=True, initial=-jnp.inf, where=where)
    top = lax.stop_gradient(top)
    shift = jnp.where(jnp.isfinite(top), top, 0.0)
    powers = jnp.exp(a - shift) if b is None else b * _powers(a, b, shift)
    total = jnp.sum(powers, axis=axis, keepdims=True, where=where)
    # Nothing is left to differentiate where all summands are zero.
    empty = top == -jnp.inf
    total = jnp.where(empty, 1.0, total)
    size = jnp.abs(total) if return_sign else total
    if not (return_sign or dtypes.is_complex(typeof(a).dtype)):
        size = jnp.where(total < 0, jnp.nan, total)
    out = jnp.where(empty, -jnp.inf, jnp.log(size) + shift)
    sign = jnp.where(empty, 0.0, jnp.sign(total))
    if not keepdims:
        out, sign = [jnp.squeeze(x, axis) for x in (out, sign)]
    return (strong(out), strong(sign)) if return_sign else strong(out)


def _summands(a: Any, b: Any, where: Any) -> tuple[Any, Any, Any]:
    """The operands, those that are given promoted and broadcast."""
    operands = promote_inexact("logsumexp", a) if b is None else promote_inexact("logsumexp", a, b)
    if where is not None:
        operands = jnp.broadcast_arrays(*operands, where)
        where = operands.pop() if isinstance(operands, list) else operands[-1]
    a = operands[0]
    return a, None if b is None else operands[1], where


def _powers(a: Any, b: Any, shift: Any) -> Any:
    """``exp(a - shift)``; 0 where the factor is 0 and the power would overflow.

    Elsewhere the power stays beside a factor of 0, whose derivative it is.
    """
    exponent = a - shift
    limit = 0.5 * math.log(float(dtypes.finfo(typeof(shift).dtype).max))
    beyond = (b == 0) & ~(jnp.real(exponent) < limit)
    return jnp.where(beyond, 0.0, jnp.exp(exponent))


def _hashable(axis: Any) -> Any:
    """An ``axis`` argument in a form that can be static: an int, a tuple of ints, or None."""
    if axis is None or hasattr(axis, "__index__"):
        return axis if axis is None else index(axis)
    return tuple([index(a) for a in axis])

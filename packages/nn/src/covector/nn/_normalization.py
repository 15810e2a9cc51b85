"""Functions along axes: softmax and its kin, standardization, and one-hot codes."""

from __future__ import annotations

import math
from functools import partial
from operator import index
from typing import Any

import covector.numpy as jnp
import numpy as np
from covector import lax
from covector._api.jit import library_function
from covector._ir import dtypes
from covector._trace.trace import Tracer, typeof
from covector.custom_derivatives import custom_jvp
from covector.errors import ConcretizationTypeError, ShapeError
from covector.lax.elementwise import scale
from covector.lax.filling import place
from covector.nn._operands import check_arraylike, hashable_axes, strong
from covector.scipy import special

# --- shares --------------------------------------------------------------------------------------


def softmax(x: Any, axis: Any = -1, where: Any = None) -> Any:
    """``exp(x) / sum(exp(x))`` along ``axis``, without overflow.

    Args:
      axis: one axis, several, or None for all.
      where: which elements to include; the others get 0.

    A slice without a finite element, or with an infinite one, is NaN.

    >>> print(nn.softmax(jnp.array([0.0, 0.0, jnp.log(2.0)])))
    [0.25 0.25 0.5 ]
    """
    check_arraylike("softmax", x)
    return _softmax(x, where, axis=hashable_axes(axis))


@library_function(static_argnames="axis")
def _softmax(x: Any, where: Any, *, axis: Any) -> Any:
    return shares(x, where, axis)


@partial(custom_jvp, nondiff_argnums=(2,))
def shares(x: Any, where: Any, axis: Any) -> Any:
    """`softmax` in library code. Its derivative needs of all that was computed the shares alone."""
    powers = jnp.exp(_below_maximum(x, where, axis))
    if where is None:
        return powers / jnp.sum(powers, axis=axis, keepdims=True)
    powers = jnp.where(where, powers, 0)
    total = jnp.sum(powers, axis=axis, keepdims=True)
    return powers / jnp.where(total == 0, 1, total)


@shares.defjvp
def _shares_jvp(axis: Any, primals: Any, tangents: Any) -> Any:
    x, where = primals
    out = shares(x, where, axis)
    tangent = tangents[0] if where is None else jnp.where(where, tangents[0], 0)
    part = scale(tangent, out)
    return out, part - scale(jnp.sum(part, axis=axis, keepdims=True), out)


def log_softmax(x: Any, axis: Any = -1, where: Any = None) -> Any:
    """The logarithm of `softmax`, accurate also where that is tiny.

    Args:
      axis: one axis, several, or None for all.
      where: which elements to include; the others get minus infinity.

    >>> print(nn.log_softmax(jnp.array([0.0, -1000.0])))
    [    0. -1000.]
    """
    check_arraylike("log_softmax", x)
    return _log_softmax(x, where, axis=hashable_axes(axis))


@library_function(static_argnames="axis")
def _log_softmax(x: Any, where: Any, *, axis: Any) -> Any:
    below = _below_maximum(x, where, axis)
    total = jnp.sum(jnp.exp(below), axis=axis, keepdims=True, where=where)
    out = strong(below - jnp.log(total))
    return out if where is None else jnp.where(where, out, -jnp.inf)


def _below_maximum(x: Any, where: Any, axis: Any) -> Any:
    top = jnp.max(x, axis=axis, keepdims=True, where=where, initial=-jnp.inf)
    return strong(x) - lax.stop_gradient(top)


# --- sums ----------------------------------------------------------------------------------------


def logsumexp(
    a: Any,
    axis: Any = None,
    b: Any = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: Any = None,
) -> Any:
    """``log(sum(b * exp(a)))`` along axes, by default of all elements, without overflow.

    It is `covector.scipy.special.logsumexp`, which says more about the arguments.

    >>> print(nn.logsumexp(jnp.array([1000.0, 1000.0])))
    1000.6932
    """
    return special.logsumexp(a, axis, b, keepdims, return_sign, where)


def logmeanexp(x: Any, axis: Any = None, where: Any = None, keepdims: bool = False) -> Any:
    """``log(mean(exp(x)))`` along axes, by default of all elements, without overflow.

    Args:
      axis: one axis, several, or None for all.
      where: which elements to include.
      keepdims: leave the axes with size one.

    The mean of nothing is NaN.

    >>> print(nn.logmeanexp(jnp.array([1000.0, 1000.0])))
    1000.0
    """
    check_arraylike("logmeanexp", x)
    return _logmeanexp(x, where, axis=hashable_axes(axis), keepdims=bool(keepdims))


@library_function(static_argnames=("axis", "keepdims"))
def _logmeanexp(x: Any, where: Any, *, axis: Any, keepdims: bool) -> Any:
    total = logsumexp(x, axis, where=where, keepdims=keepdims)
    if where is None:
        axes = range(typeof(x).ndim) if axis is None else np.atleast_1d(axis)
        count = math.prod([typeof(x).shape[a] for a in axes])
        return total - (math.log(count) if count else -math.inf)
    included = jnp.broadcast_to(where, typeof(x).shape)
    count = jnp.sum(included, axis=axis, keepdims=keepdims, dtype=typeof(total).dtype)
    return total - jnp.log(count)


# --- standardization -----------------------------------------------------------------------------


def standardize(
    x: Any,
    axis: Any = -1,
    mean: Any = None,
    variance: Any = None,
    epsilon: Any = 1e-5,
    where: Any = None,
    *,
    algorithm: str = "fast",
) -> Any:
    """``(x - mean) / sqrt(variance + epsilon)``: mean 0 and variance 1 along axes.

    Args:
      axis: one axis, several, or None for all.
      mean, variance: those of ``x`` by default.
      where: which elements to include in these.
      algorithm: for the variance. "fast" is the mean of squares less the square of the mean, which
        loses digits where the mean is large; "stable" is the mean of squared differences.

    Raises:
      ValueError: ``algorithm`` is unknown, or ``x`` is complex.

    >>> print(nn.standardize(jnp.array([1.0, 3.0]), epsilon=0.0))
    [-1.  1.]
    """
    check_arraylike("standardize", x)
    if algorithm not in ("fast", "stable"):
        raise ValueError(
            f"standardize: algorithm must be 'fast' or 'stable', but got {algorithm!r}."
        )
    axis = hashable_axes(axis)
    return _standardize(x, mean, variance, epsilon, where, axis=axis, algorithm=algorithm)


@library_function(static_argnames=("axis", "algorithm"))
def _standardize(
    x: Any, mean: Any, variance: Any, epsilon: Any, where: Any, *, axis: Any, algorithm: str
) -> Any:
    if dtypes.is_complex(typeof(x).dtype):
        raise ValueError(f"standardize takes real numbers, got dtype {typeof(x).dtype}.")

    def average(values: Any) -> Any:
        return jnp.mean(values, axis=axis, keepdims=True, where=where)

    mean = average(x) if mean is None else mean
    if variance is None and algorithm == "stable":
        variance = average(jnp.square(x - mean))
    elif variance is None:
        variance = jnp.maximum(average(jnp.square(x)) - jnp.square(mean), 0)
    return (x - mean) * lax.rsqrt(variance + epsilon)


# --- one-hot codes -------------------------------------------------------------------------------


def one_hot(
    x: Any, num_classes: int, *, dtype: Any = None, axis: Any = -1, out_sharding: Any = None
) -> Any:
    """For each index, zeros but for a one at its position; of an index out of range, all zeros.

    Args:
      x: integers, or floating-point numbers that are.
      num_classes: the size of the new axis.
      dtype: of the result, by default the default float type.
      axis: where the new axis stands; or the name of a mapped axis, over which it lies.
      out_sharding: where to put the result.

    Raises:
      ConcretizationTypeError: ``num_classes`` is traced.
      TypeError: ``x`` is boolean, or ``num_classes`` is no integer.

    >>> print(nn.one_hot(jnp.array([2, 0, 3]), 3))
    [[0. 0. 1.]
     [1. 0. 0.]
     [0. 0. 0.]]
    """
    if isinstance(num_classes, Tracer):
        raise ConcretizationTypeError(
            "one_hot: num_classes is the size of an axis, so it must be known while the function "
            f"is traced, but it is {num_classes}. Mark it static."
        )
    dtype = (
        dtypes.scalar_dtype(float) if dtype is None else dtypes.check_user_dtype(dtype, "one_hot")
    )
    size = index(num_classes)
    if size < 0:
        raise TypeError(f"one_hot: num_classes must not be negative, but got {size}.")
    axis = axis if isinstance(axis, str) else index(axis)
    out = _one_hot(jnp.asarray(x), size=size, dtype=dtype, axis=axis)
    return place(out, out_sharding)


@library_function(static_argnames=("size", "dtype", "axis"))
def _one_hot(x: Any, *, size: int, dtype: Any, axis: Any) -> Any:
    aval = typeof(x)
    if dtypes.is_bool(aval.dtype):
        raise TypeError("one_hot: x must be indices, but it is boolean. Convert it to integers.")
    if dtypes.is_integer(aval.dtype) and aval.dtype.itemsize < 4:
        x = lax.convert_element_type(x, np.int32)  # the positions may be beyond a narrow type
    if isinstance(axis, str):
        if lax.axis_size(axis) != size:
            raise ShapeError(
                f"one_hot: num_classes must be the size of the axis {axis!r}, which is "
                f"{lax.axis_size(axis)}, but it is {size}."
            )
        return lax.convert_element_type(x == lax.axis_index(axis), dtype)
    ndim = aval.ndim + 1
    if not -ndim <= axis < ndim:
        raise ValueError(f"one_hot: axis {axis} is out of bounds for {ndim} axes.")
    shape = list(aval.shape)
    shape.insert(axis % ndim, size)
    positions = lax.broadcasted_iota(typeof(x).dtype, shape, axis % ndim)
    return lax.convert_element_type(jnp.expand_dims(x, axis % ndim) == positions, dtype)

"""Discrete distributions: `bernoulli`, `rademacher`, `geometric`, `categorical`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from covector import lax
from covector._api.jit import library_function
from covector._ir import dtypes
from covector._trace.trace import typeof
from covector.errors import ShapeError
from covector.lax.filling import place
from covector.random._arguments import array_of, check_parameters, shape_of, single_key
from covector.random._continuous import gumbel_mode, gumbel_numbers
from covector.random._implementation import KeyImplementation, Shape
from covector.random._layout import from_work_shape
from covector.random._sampling import Source, check_real, integer_dtype, scalar
from covector.random._uniform import broadcast_parameter, unit_interval


def bernoulli(
    key: Any, p: Any = 0.5, shape: Any = None, mode: str = "low", *, out_sharding: Any = None
) -> Any:
    """Booleans that are True with probability ``p``.

    Args:
      key: a typed key, or a plain one of shape ``(2,)``.
      p: floating-point numbers.
      shape: of the result, to which ``p`` broadcasts; the shape of ``p`` by default.
      mode: with "high", two random numbers make one draw, so that small probabilities are right.

    Raises:
      TypeError: ``key`` is no key, or ``p`` not floating-point.
      ValueError: ``mode`` is unknown, or ``p`` does not broadcast to ``shape``.

    >>> from covector import random
    >>> random.bernoulli(random.key(0), 0.3, (3,))
    Array([False, False, False], dtype=bool)
    """
    implementation, data, _ = single_key("bernoulli", key)
    if mode not in ("high", "low"):
        raise ValueError(f"bernoulli: got mode={mode!r}, expected 'high' or 'low'")
    shape = None if shape is None else shape_of("bernoulli", shape)
    shape = check_parameters("bernoulli", shape, p=p)
    if not dtypes.is_float(typeof(p).dtype):
        raise TypeError(
            f"bernoulli: probability `p` must have a floating dtype, got {typeof(p).dtype}."
        )
    return place(_bernoulli(data, p, implementation, shape, mode), out_sharding)


@library_function(static_argnums=(2, 3, 4))
def _bernoulli(
    data: Any, p: Any, implementation: KeyImplementation, shape: Shape, mode: str
) -> Any:
    dtype = typeof(p).dtype
    p = broadcast_parameter(lax.convert_element_type(p, dtype), shape)
    if mode == "low":
        return lax.lt(unit_interval(data, implementation, shape, dtype), p)
    coarse, fine = lax.unstack(unit_interval(data, implementation, (2, *shape), dtype))
    epsilon = np.asarray(dtypes.finfo(dtype).eps).astype(dtype)[()]
    return lax.lt(lax.mul(fine, epsilon), lax.sub(p, coarse))


def rademacher(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """1 and -1, equally likely.

    Args:
      key: a typed key, or a plain one of shape ``(2,)``.
      shape: of the result.
      dtype: of the result, an integer type by default.

    Raises:
      TypeError: ``key`` is no key, or ``shape`` no sequence of integers.

    >>> from covector import random
    >>> random.rademacher(random.key(0), (4,))
    Array([-1, -1,  1,  1], dtype=int32)
    """
    implementation, data, _ = single_key("rademacher", key)
    if dtype is None:
        dtype = dtypes.scalar_dtype(int)
    dtype = dtypes.check_user_dtype(dtype, "rademacher")
    drawn = _rademacher(data, implementation, shape_of("rademacher", shape), dtype)
    return place(drawn, out_sharding)


@library_function(static_argnums=(1, 2, 3))
def _rademacher(data: Any, implementation: KeyImplementation, shape: Shape, dtype: np.dtype) -> Any:
    work_shape = implementation.work_shape(shape)
    return from_work_shape(Source(data, implementation).sign(work_shape, dtype), shape)


def geometric(
    key: Any, p: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """How many independent trials it takes to succeed, each with probability ``p``.

    Args:
      key: a typed key, or a plain one of shape ``(2,)``.
      p: probabilities above 0.
      shape: of the result, to which ``p`` broadcasts; the shape of ``p`` by default.
      dtype: an integer type.

    Raises:
      TypeError: ``key`` is no key, or ``shape`` no sequence of integers.
      ValueError: ``dtype`` is no integer type, or ``p`` does not broadcast to ``shape``.

    >>> from covector import random
    >>> random.geometric(random.key(0), 0.3, (4,))
    Array([1, 1, 4, 3], dtype=int32)
    """
    implementation, data, _ = single_key("geometric", key)
    dtype = integer_dtype("geometric", dtype)
    shape = None if shape is None else shape_of("geometric", shape)
    shape = check_parameters("geometric", shape, p=p)
    check_real("geometric", "p", p)
    return place(_geometric(data, p, implementation, shape, dtype), out_sharding)


@library_function(static_argnums=(2, 3, 4))
def _geometric(
    data: Any, p: Any, implementation: KeyImplementation, shape: Shape, dtype: np.dtype
) -> Any:
    """The inverse of the distribution function."""
    work = dtypes.to_inexact_dtype(typeof(p).dtype)
    p, one = lax.convert_element_type(p, work), scalar(1, work)
    scalar_p = not typeof(p).ndim
    work_shape = implementation.work_shape(shape) if scalar_p else shape
    unit = Source(data, implementation).unit(work_shape, work)
    unit = lax.select(lax.eq(unit, scalar(0, work)), lax.full_like(unit, 1), unit)
    log_failure = broadcast_parameter(lax.log1p(lax.neg(p)), shape)
    drawn = lax.add(lax.floor(lax.div(lax.log(unit), log_failure)), one)
    drawn = lax.convert_element_type(drawn, dtype)
    return from_work_shape(drawn, shape) if scalar_p else drawn


def categorical(
    key: Any,
    logits: Any,
    axis: int = -1,
    shape: Any = None,
    replace: bool = True,
    mode: str | None = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Positions along an axis, drawn with probabilities proportional to ``exp(logits)``.

    Args:
      key: a typed key, or a plain one of shape ``(2,)``.
      logits: floating-point numbers; -inf for what is not to be drawn.
      axis: the axis of ``logits`` whose positions are drawn.
      shape: of the result: that of ``logits`` without ``axis``, after any axes for more draws.
      replace: whether a position may be drawn again. Without, the axes for more draws are drawn
        together, all different.
      mode: "high" draws from more random bits, so that small probabilities are right.

    Raises:
      TypeError: ``key`` is no key, or ``logits`` no array.
      ValueError: ``shape`` does not end as it must, or there are too few positions to draw.
      IndexError: there is no such axis.

    >>> from covector import random
    >>> import numpy as np
    >>> random.categorical(random.key(0), np.zeros((4, 5), np.float32))
    Array([1, 3, 0, 0], dtype=int32)
    """
    implementation, data, _ = single_key("categorical", key)
    logits = array_of("categorical", "logits", logits)
    aval = typeof(logits)
    if not dtypes.is_float(aval.dtype):
        raise ValueError(f"categorical: logits must be floating-point, got dtype {aval.dtype}.")
    if not -aval.ndim <= axis < aval.ndim:
        raise IndexError(
            f"categorical: axis {axis} is out of bounds for logits of shape {aval.shape}."
        )
    axis %= aval.ndim
    batch = aval.shape[:axis] + aval.shape[axis + 1 :]
    shape = batch if shape is None else shape_of("categorical", shape)
    first = len(shape) - len(batch)
    fits = first >= 0 and all(n in (1, m) for n, m in zip(batch, shape[first:]))
    if not fits or (not replace and shape[first:] != batch):
        raise ShapeError(
            f"categorical: shape must end with the shape of logits without axis {axis}, {batch}, "
            f"but got {shape}."
        )
    draws, choices = math.prod(shape[:first]), aval.shape[axis]
    if not choices or (not replace and draws > choices):
        raise ValueError(
            f"categorical: cannot draw from {choices} categories"
            + ("." if replace else f" {draws} times without replacement.")
        )
    mode = gumbel_mode("categorical", mode)
    indices = _categorical(data, logits, implementation, axis, shape, bool(replace), mode)
    return place(indices, out_sharding)


@library_function(static_argnums=(2, 3, 4, 5, 6))
def _categorical(
    data: Any,
    logits: Any,
    implementation: KeyImplementation,
    axis: int,
    shape: Shape,
    replace: bool,
    mode: str,
) -> Any:
    """Adding Gumbel noise to logits makes the largest one a draw, the k largest k draws.

    Source: W. Kool, H. van Hoof, M. Welling, "Stochastic beams and where to find them" (ICML 2019).
    """
    aval = typeof(logits)
    first = len(shape) - aval.ndim + 1
    index_dtype = dtypes.scalar_dtype(int)
    if not replace:
        noise = gumbel_numbers(data, implementation, aval.shape, aval.dtype, mode)
        noisy = lax.add(logits, noise)
        indices = lax.top_k(noisy, math.prod(shape[:first]), axis=axis)[1]
        others = [a for a in range(aval.ndim) if a != axis]
        return lax.reshape(lax.transpose(indices, (axis, *others)), shape)
    full = list(shape)
    full.insert(first + axis, aval.shape[axis])
    noise = gumbel_numbers(data, implementation, tuple(full), aval.dtype, mode)
    noisy = lax.add(noise, broadcast_parameter(logits, tuple(full)))
    return lax.argmax(noisy, first + axis, index_dtype)

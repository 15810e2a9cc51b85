"""Continuous distributions whose inverse is simple: `exponential`, `gumbel`."""

from __future__ import annotations

from typing import Any

import numpy as np
from covector import lax
from covector._api.jit import library_function
from covector._config import config
from covector._ir import dtypes
from covector.lax.filling import place
from covector.random._arguments import float_dtype, shape_of, single_key
from covector.random._implementation import KeyImplementation, Shape
from covector.random._layout import from_work_shape
from covector.random._uniform import between, unit_interval


def exponential(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Numbers of the exponential distribution with mean one.

    Args:
      key: a typed key, or a plain one of shape ``(2,)``.
      shape: of the result.
      dtype: a floating-point type.

    Raises:
      TypeError: ``key`` is no key, or ``shape`` no sequence of integers.
      ValueError: ``dtype`` is no floating-point type.

    >>> from covector import random
    >>> random.exponential(random.key(0), (2,))
    Array([2.950128 , 3.8434246], dtype=float32)
    """
    implementation, data, _ = single_key("exponential", key)
    shape, dtype = shape_of("exponential", shape), float_dtype("exponential", dtype)
    return place(_exponential(data, implementation, shape, dtype), out_sharding)


@library_function(static_argnums=(1, 2, 3))
def _exponential(
    data: Any, implementation: KeyImplementation, shape: Shape, dtype: np.dtype
) -> Any:
    unit = unit_interval(data, implementation, implementation.work_shape(shape), dtype)
    return from_work_shape(lax.neg(lax.log1p(lax.neg(unit))), shape)


def gumbel(
    key: Any,
    shape: Any = (),
    dtype: Any = None,
    mode: str | None = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Numbers of the standard Gumbel distribution.

    Args:
      key: a typed key, or a plain one of shape ``(2,)``.
      shape: of the result.
      dtype: a floating-point type.
      mode: with "high", two random numbers make one draw, so that the upper tail is longer; "low"
        by default (or as the flag `jax_high_dynamic_range_gumbel` says).

    Raises:
      TypeError: ``key`` is no key, or ``shape`` no sequence of integers.
      ValueError: ``dtype`` is no floating-point type, or ``mode`` unknown.

    >>> from covector import random
    >>> random.gumbel(random.key(0), (2,))
    Array([2.9233725, 3.8326178], dtype=float32)
    """
    implementation, data, _ = single_key("gumbel", key)
    shape, dtype = shape_of("gumbel", shape), float_dtype("gumbel", dtype)
    drawn = _gumbel(data, implementation, shape, dtype, gumbel_mode("gumbel", mode))
    return place(drawn, out_sharding)


def gumbel_mode(name: str, mode: str | None) -> str:
    """The mode of an argument."""
    if mode is None:
        return "high" if config.jax_high_dynamic_range_gumbel else "low"
    if mode not in ("high", "low"):
        raise ValueError(f"{name}: mode must be 'high', 'low' or None, but got {mode!r}.")
    return mode


@library_function(static_argnums=(1, 2, 3, 4))
def _gumbel(
    data: Any, implementation: KeyImplementation, shape: Shape, dtype: np.dtype, mode: str
) -> Any:
    if mode == "high":
        return gumbel_numbers(data, implementation, shape, dtype, mode)
    work_shape = implementation.work_shape(shape)
    drawn = gumbel_numbers(data, implementation, work_shape, dtype, mode)
    return from_work_shape(drawn, shape)


def gumbel_numbers(
    data: Any, implementation: KeyImplementation, shape: Shape, dtype: np.dtype, mode: str
) -> Any:
    """Gumbel noise, in library code."""
    info = dtypes.finfo(dtype)
    tiny, one = np.array([info.tiny, 1]).astype(dtype)
    if mode == "low":
        unit = unit_interval(data, implementation, shape, dtype)
        return lax.neg(lax.log(lax.neg(lax.log(between(unit, tiny, one)))))
    coarse, fine = lax.unstack(unit_interval(data, implementation, (2, *shape), dtype))
    epsilon = np.asarray(info.eps).astype(dtype)[()]
    # A half of the last unit keeps small numbers from being zero.
    half = np.asarray(max(float(info.eps) ** 2 / 2, float(info.tiny))).astype(dtype)[()]
    finer = lax.add(lax.add(coarse, lax.mul(epsilon, fine)), half)
    large = lax.ge(coarse, np.asarray(0.5).astype(dtype)[()])
    unit = lax.select(large, coarse, finer)
    return lax.neg(lax.log(lax.neg(lax.log1p(lax.neg(unit)))))

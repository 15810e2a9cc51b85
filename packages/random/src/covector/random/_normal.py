"""Normally distributed numbers: `normal`, `truncated_normal`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from covector import lax
from covector._api.jit import library_function
from covector._ir import dtypes
from covector.lax.filling import place
from covector.random._arguments import check_parameters, float_dtype, shape_of, single_key
from covector.random._implementation import KeyImplementation, Shape
from covector.random._layout import from_work_shape
from covector.random._uniform import between, broadcast_parameter, unit_interval


def normal(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Numbers of the standard normal distribution.

    Args:
      key: a typed key, or a plain one of shape ``(2,)``.
      shape: of the result.
      dtype: a floating-point type, or a complex one: then real and imaginary parts have variance
        1/2 each.

    Raises:
      TypeError: ``key`` is no key, or ``shape`` no sequence of integers.
      ValueError: ``dtype`` is neither floating-point nor complex.

    >>> from covector import random
    >>> random.normal(random.key(0), (2,))
    Array([1.6226422, 2.0252647], dtype=float32)
    """
    implementation, data, _ = single_key("normal", key)
    shape, dtype = shape_of("normal", shape), float_dtype("normal", dtype, also_complex=True)
    return place(_normal(data, implementation, shape, dtype), out_sharding)


@library_function(static_argnums=(1, 2, 3))
def _normal(data: Any, implementation: KeyImplementation, shape: Shape, dtype: np.dtype) -> Any:
    work_shape = implementation.work_shape(shape)
    return from_work_shape(normal_numbers(data, implementation, work_shape, dtype), shape)


def normal_numbers(
    data: Any, implementation: KeyImplementation, shape: Shape, dtype: np.dtype
) -> Any:
    """Real or complex numbers, in library code."""
    if not dtypes.is_complex(dtype):
        return _real_normal(data, implementation, shape, dtype)
    part = dtypes.to_real_dtype(dtype)
    real, imaginary = [
        _real_normal(key, implementation, shape, part)
        for key in lax.unstack(implementation.split(data, (2,)))
    ]
    root = np.asarray(math.sqrt(2)).astype(dtype)[()]
    return lax.div(lax.complex(real, imaginary), root)


def _real_normal(
    data: Any, implementation: KeyImplementation, shape: Shape, dtype: np.dtype
) -> Any:
    """The inverse of the distribution function at uniform numbers of the open interval (-1, 1)."""
    low, zero, high = np.array([-1, 0, 1]).astype(dtype)
    unit = unit_interval(data, implementation, shape, dtype)
    root = np.asarray(math.sqrt(2)).astype(dtype)[()]
    return lax.mul(root, lax.erf_inv(between(unit, np.nextafter(low, zero), high)))


def truncated_normal(
    key: Any,
    lower: Any,
    upper: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Numbers of the standard normal distribution between ``lower`` and ``upper``.

    They have derivatives in the bounds.

    Args:
      key: a typed key, or a plain one of shape ``(2,)``.
      shape: of the result, to which the bounds broadcast; by default what they broadcast to.
      dtype: a floating-point type.

    Raises:
      TypeError: ``key`` is no key, or ``shape`` no sequence of integers.
      ValueError: ``dtype`` is no floating-point type, or the bounds do not broadcast to ``shape``.

    >>> from covector import random
    >>> random.truncated_normal(random.key(0), -1.0, 2.0, (2,))
    Array([1.5094677, 1.747393 ], dtype=float32)
    """
    implementation, data, _ = single_key("truncated_normal", key)
    dtype = float_dtype("truncated_normal", dtype)
    shape = None if shape is None else shape_of("truncated_normal", shape)
    shape = check_parameters("truncated_normal", shape, lower=lower, upper=upper)
    return place(_truncated(data, lower, upper, implementation, shape, dtype), out_sharding)


@library_function(static_argnums=(3, 4, 5))
def _truncated(
    data: Any,
    lower: Any,
    upper: Any,
    implementation: KeyImplementation,
    shape: Shape,
    dtype: np.dtype,
) -> Any:
    bounds = [lax.convert_element_type(x, dtype) for x in (lower, upper)]
    work_shape = shape
    if bounds[0].ndim or bounds[1].ndim:
        bounds = [broadcast_parameter(x, shape) for x in bounds]
    else:
        work_shape = implementation.work_shape(shape)
    root = np.asarray(math.sqrt(2)).astype(dtype)[()]
    unit = unit_interval(data, implementation, work_shape, dtype)
    drawn = between(unit, *[lax.erf(lax.div(x, root)) for x in bounds])
    drawn = lax.mul(root, lax.erf_inv(drawn))
    # Rounding may reach the bounds, which are not between themselves.
    infinity = np.asarray(math.inf).astype(dtype)[()]
    least = lax.nextafter(lax.stop_gradient(bounds[0]), infinity)
    most = lax.nextafter(lax.stop_gradient(bounds[1]), -infinity)
    return from_work_shape(lax.min(most, lax.max(least, drawn)), shape)

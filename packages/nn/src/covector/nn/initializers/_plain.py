"""Initializers that do not depend on the shape: constants, and numbers of one distribution."""

from __future__ import annotations

from typing import Any, Protocol

import covector.numpy as jnp
import numpy as np
from covector import random
from covector._ir import dtypes
from covector._run.array import Array
from covector._trace.trace import Tracer
from covector.lax.filling import place


class Initializer(Protocol):
    """What initializers are: functions that make an array of a key, a shape and a dtype.

    >>> initializer = nn.initializers.normal(stddev=1.0)
    >>> initializer(covector.random.key(0), (2, 3), np.float16).dtype
    dtype('float16')
    """

    def __call__(
        self, key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None
    ) -> Array: ...


def zeros(key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Array:
    """Zeros. The key is not used.

    >>> print(nn.initializers.zeros(None, (3,)))
    [0. 0. 0.]
    """
    return place(jnp.zeros(shape, dtype), out_sharding)


def ones(key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Array:
    """Ones. The key is not used.

    >>> print(nn.initializers.ones(None, (3,)))
    [1. 1. 1.]
    """
    return place(jnp.ones(shape, dtype), out_sharding)


def constant(value: Any, dtype: Any = None) -> Initializer:
    """An initializer that gives ``value``, which broadcasts to the shape. The key is not used.

    >>> print(nn.initializers.constant(5)(None, (3,)))
    [5. 5. 5.]
    """
    default = dtype

    def init(key: Any, shape: Any, dtype: Any = default, out_sharding: Any = None) -> Array:
        return place(jnp.full(shape, value, as_dtype("constant", dtype)), out_sharding)

    return init


def uniform(scale: Any = 1e-2, dtype: Any = None) -> Initializer:
    """An initializer that draws evenly from ``[0, scale)``.

    >>> print(nn.initializers.uniform(10.0)(covector.random.key(0), (2,)))
    [9.47667  9.785799]
    """
    default = dtype

    def init(key: Any, shape: Any, dtype: Any = default, out_sharding: Any = None) -> Array:
        dtype = as_dtype("uniform", dtype)
        return place(random.uniform(key, shape, dtype) * of_dtype(scale, dtype), out_sharding)

    return init


def normal(stddev: Any = 1e-2, dtype: Any = None) -> Initializer:
    """An initializer that draws from the normal distribution with this standard deviation.

    >>> print(nn.initializers.normal(10.0)(covector.random.key(0), (2,)))
    [16.226421 20.252647]
    """
    default = dtype

    def init(key: Any, shape: Any, dtype: Any = default, out_sharding: Any = None) -> Array:
        dtype = as_dtype("normal", dtype)
        return place(random.normal(key, shape, dtype) * of_dtype(stddev, dtype), out_sharding)

    return init


def truncated_normal(
    stddev: Any = 1e-2, dtype: Any = None, lower: Any = -2.0, upper: Any = 2.0
) -> Initializer:
    """An initializer that draws normal numbers between bounds.

    Args:
      stddev: the standard deviation before numbers beyond the bounds are left out.
      lower, upper: the bounds, in units of ``stddev``.

    >>> print(nn.initializers.truncated_normal(10.0)(covector.random.key(0), (2,)))
    [14.559592 17.147488]
    """
    default = dtype

    def init(key: Any, shape: Any, dtype: Any = default, out_sharding: Any = None) -> Array:
        dtype = as_dtype("truncated_normal", dtype)
        drawn = random.truncated_normal(key, lower, upper, shape, dtype)
        return place(drawn * of_dtype(stddev, dtype), out_sharding)

    return init


def as_dtype(name: str, dtype: Any) -> np.dtype:
    """A ``dtype`` argument, by default the default float type."""
    return dtypes.scalar_dtype(float) if dtype is None else dtypes.check_user_dtype(dtype, name)


def of_dtype(number: Any, dtype: np.dtype) -> Any:
    """A number, which may be traced, in a dtype."""
    if isinstance(number, (Array, Tracer)):
        return number.astype(dtype)
    return np.asarray(number).astype(dtype)[()]

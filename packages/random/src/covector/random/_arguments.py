"""Checks of the arguments that all random functions share: keys, shapes and dtypes.

They run on every eager call, so the common case comes first and costs well under a microsecond.
"""

from __future__ import annotations

from typing import Any

import jaxlib._jax as _jaxlib
import numpy as np
from covector._config import legacy_prng_key
from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector._trace.trace import Tracer
from covector.errors import ShapeError, warn_user
from covector.lax._axes import sizes_of
from covector.random._implementation import KeyImplementation, Shape, resolve
from covector.random._key_array import PRNGKeyArray

_UINT32 = np.dtype(np.uint32)
_REMEDY = (
    "Make a key with covector.random.key(seed), or wrap existing uint32 words with "
    "covector.random.wrap_key_data."
)


# --- keys -----------------------------------------------------------------------------------------


def key_parts(name: str, key: Any) -> tuple[KeyImplementation, Any, bool]:
    """Of a typed or plain key array: its implementation, its `uint32` array, is it typed."""
    if type(key) is PRNGKeyArray:
        implementation, data = key._impl, key._base_array
        check_key_data(name, implementation, data)
        return implementation, data, True
    implementation = resolve(None)
    check_key_data(name, implementation, key)
    if legacy_prng_key.value != "allow":
        _object_to_plain_key(name)
    return implementation, key, False


def single_key(name: str, key: Any) -> tuple[KeyImplementation, Any, bool]:
    """Like `key_parts`, for functions that take one key, not an array of them."""
    parts = key_parts(name, key)
    implementation, data, _ = parts
    if data.shape != implementation.key_shape:
        shape = data.shape if key is data else key.shape
        raise ValueError(
            f"{name} accepts a single key, but was given a key array of shape {shape}. Use "
            f"covector.vmap to map {name} over keys."
        )
    return parts


def check_key_data(name: str, implementation: KeyImplementation, data: Any) -> None:
    """Raise `TypeError` unless ``data`` is an array of words of keys."""
    if not isinstance(data, (_jaxlib.ArrayImpl, Tracer, np.ndarray)):
        raise TypeError(
            f"{name}: key must be a key array, but got {data!r:.80} of type {type(data)}. {_REMEDY}"
        )
    if data.dtype != _UINT32:
        raise TypeError(
            f"{name}: the data of keys must have dtype uint32, but got an array of dtype "
            f"{data.dtype} and shape {data.shape}. {_REMEDY}"
        )
    shape = implementation.key_shape
    if data.shape[-len(shape) :] != shape:
        raise TypeError(
            f"{name}: the shape of the data of keys must end with {shape} for the implementation "
            f"{implementation.name!r}, but got shape {data.shape}. {_REMEDY}"
        )


def _object_to_plain_key(name: str) -> None:
    message = (
        f"{name} was given an untyped uint32 key. Make typed keys with covector.random.key(seed) "
        "in place of PRNGKey(seed), or wrap the data with covector.random.wrap_key_data. (The flag "
        "jax_legacy_prng_key asks for this.)"
    )
    if legacy_prng_key.value == "error":
        raise ValueError(message)
    warn_user(message)


# --- shapes ---------------------------------------------------------------------------------------


def shape_of(name: str, shape: Any, argument: str = "shape") -> Shape:
    """A ``shape=`` argument as a tuple of Python integers."""
    if type(shape) is tuple:
        for n in shape:
            if type(n) is not int or n < 0:
                break
        else:
            return shape
    return sizes_of(name, argument, shape)


def check_parameter_shapes(name: str, shape: Shape, **parameters: ShapedArray) -> None:
    """Raise `ShapeError` unless each parameter broadcasts to ``shape``."""
    for parameter, aval in parameters.items():
        given = aval.shape
        ends = shape[len(shape) - len(given) :]
        fits = len(given) <= len(shape) and all(
            n in (1, m) for n, m in zip(given, ends, strict=True)
        )
        if not fits:
            raise ShapeError(
                f"{name}: {parameter} must broadcast to the result's shape {shape}, but it has "
                f"shape {given}. Give a shape that the parameters broadcast to."
            )


# --- dtypes ---------------------------------------------------------------------------------------


def float_dtype(name: str, dtype: Any, *, also_complex: bool = False) -> np.dtype:
    """A ``dtype=`` argument that must be a floating-point type (float by default)."""
    if dtype is None:
        return dtypes.scalar_dtype(float)
    dtype = dtypes.check_user_dtype(dtype, name)
    if dtypes.is_float(dtype) or (also_complex and dtypes.is_complex(dtype)):
        return dtype
    kind = "float or complex" if also_complex else "float"
    raise ValueError(f"dtype argument to `{name}` must be a {kind} dtype, got {dtype}")

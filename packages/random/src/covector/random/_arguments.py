"""Checks of the arguments that all random functions share: keys, shapes and dtypes.

They run on every eager call, so the common case comes first and costs well under a microsecond.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

import jaxlib._jax as _jaxlib
import numpy as np
from covector._config import debug_key_reuse, enable_custom_prng, legacy_prng_key
from covector._ir import dtypes
from covector._trace.trace import Tracer, typeof
from covector.errors import ShapeError, TracerIntegerConversionError, warn_user
from covector.lax._axes import sizes_of
from covector.lax.shape import broadcast_shapes
from covector.random._implementation import KeyImplementation, Shape, resolve
from covector.random._key_array import PRNGKeyArray

_FOLDER = os.path.dirname(__file__)
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
    if getattr(key, "aval", None) is not implementation.key_aval:
        check_key_data(name, implementation, key)
    if legacy_prng_key.value != "allow":
        _object_to_plain_key(name)
    if enable_custom_prng.value:
        warn_user(f"{name}: a plain uint32 key was taken for a typed one. {_REMEDY}", FutureWarning)
        return implementation, key, True
    return implementation, key, False


def single_key(name: str, key: Any) -> tuple[KeyImplementation, Any, bool]:
    """Like `key_parts`, for functions that take one key, not an array of them."""
    if type(key) is PRNGKeyArray:
        implementation = key._impl
        if debug_key_reuse.value and name != "fold_in":
            key = _used(name, key)
        if getattr(key._base_array, "aval", None) is implementation.key_aval:
            return implementation, key._base_array, True
    parts = key_parts(name, key)
    implementation, data, typed = parts
    if data.shape != implementation.key_shape:
        shape = key.shape if typed else data.shape
        raise ValueError(
            f"{name} accepts a single key, but was given a key array of shape {shape}. Use "
            f"covector.vmap to map {name} over keys."
        )
    return parts


_last_use = threading.local()


def _used(name: str, key: PRNGKeyArray) -> PRNGKeyArray:
    """The key, marked as used by the function that the user called (and not by what that calls)."""
    from covector._transform.key_reuse import use_key

    frame: Any = sys._getframe(2)
    while frame.f_back and frame.f_back.f_code.co_filename.startswith(_FOLDER):
        frame = frame.f_back
    if getattr(_last_use, "frame", None) is frame:
        return key
    _last_use.frame = frame
    return PRNGKeyArray(key._impl, use_key(name, key._base_array))


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
    if data.shape[data.ndim - len(shape) :] != shape:
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
    try:
        return sizes_of(name, argument, shape)
    except TracerIntegerConversionError as error:
        raise TracerIntegerConversionError(
            f"{name}: {argument} must be integers that are known while tracing, but got {shape}. "
            f"Shapes cannot depend on traced values. {error}"
        ) from None


def check_parameters(name: str, shape: Shape | None, **parameters: Any) -> Shape:
    """The shape that parameters broadcast to: ``shape`` if given, which must hold them.

    Raises:
      TypeError: a parameter is no array or number.
      ShapeError: the shapes do not fit.
    """
    shapes = [_parameter_shape(name, argument, x) for argument, x in parameters.items()]
    if shape is None:
        return broadcast_shapes(*shapes) if any(shapes) else ()
    for argument, given in zip(parameters, shapes, strict=True):
        ends = shape[max(len(shape) - len(given), 0) :]
        if len(given) > len(shape) or any(n not in (1, m) for n, m in zip(given, ends)):
            raise ShapeError(
                f"{name}: {argument} must broadcast to the result's shape {shape}, but it has "
                f"shape {given}. Give a shape that all parameters broadcast to."
            )
    return shape


def _parameter_shape(name: str, argument: str, x: Any) -> Shape:
    return typeof(array_of(name, argument, x)).shape


def array_of(name: str, argument: str, x: Any) -> Any:
    """``x``, after a check that it is an array or a number."""
    try:
        typeof(x)
    except TypeError as error:
        raise TypeError(f"{name}: {argument} must be an array or a number. {error}") from None
    return x


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

"""Making keys: from seeds, from other keys, from their data, and back."""

from __future__ import annotations

from typing import Any, NewType

import jaxlib._jax as _jaxlib
import numpy as np
from covector import lax
from covector._api.device import device_put
from covector._api.jit import library_function
from covector._config import debug_key_reuse, enable_custom_prng, enable_x64, random_seed_offset
from covector._ir import dtypes
from covector._trace.trace import Tracer, typeof
from covector.random._arguments import check_key_data, key_parts, shape_of, single_key
from covector.random._implementation import (
    KeyDType,
    KeyImplementation,
    Shape,
    is_registered,
    resolve,
)
from covector.random._key_array import PRNGKeyArray
from covector.random._threefry import THREEFRY

Key = NewType("Key", PRNGKeyArray)

_UINT32 = np.dtype(np.uint32)


# --- from seeds -----------------------------------------------------------------------------------


def key(seed: Any, *, impl: Any = None, dtype: Any = None) -> Any:
    """A typed random key from an integer.

    Args:
      seed: a scalar integer. While x64 is off, its lowest 32 bits count.
      impl: the key implementation: "threefry2x32" (or "threefry4x32", "philox2x32", "philox4x32",
        "rbg", "unsafe_rbg"), or what `define_prng_impl` gives. The flag `default_prng_impl` by
        default.
      dtype: the same by a key's dtype, such as ``key_dtype()``.

    Raises:
      TypeError: the seed is no scalar integer.
      ValueError: there is no such implementation, or both ``impl`` and ``dtype`` are given.
      OverflowError: the seed does not fit 64 bits.

    >>> from covector import random
    >>> random.key(0)
    Array((), dtype=key<fry>) overlaying:
    [0 0]
    """
    if dtype is not None:
        if impl is not None:
            raise ValueError("key: give impl or dtype, not both.")
        impl = dtype
    implementation = resolve(impl)
    return PRNGKeyArray(implementation, _from_seed("key", implementation, seed))


def PRNGKey(seed: Any, *, impl: Any = None) -> Any:
    """A random key as a plain `uint32` array; `key` makes a typed one.

    >>> from covector import random
    >>> random.PRNGKey(7)
    Array([0, 7], dtype=uint32)
    """
    implementation = resolve(impl)
    data = _from_seed("PRNGKey", implementation, seed)
    return PRNGKeyArray(implementation, data) if enable_custom_prng.value else data


def _from_seed(name: str, implementation: KeyImplementation, seed: Any) -> Any:
    if isinstance(seed, (_jaxlib.ArrayImpl, Tracer)):
        _check_seed(name, seed.shape, seed.dtype)
        return _seed(seed, implementation, random_seed_offset.value)
    number, wide = _host_seed(name, seed, random_seed_offset.value)
    if implementation is THREEFRY:  # no program to compile
        high = number >> 32 if wide else 0
        return device_put(np.array([high & _MASK, number & _MASK], _UINT32))
    dtype = np.dtype(np.uint64 if wide else np.uint32)
    return _seed(dtype.type(number % 2 ** (64 if wide else 32)), implementation, 0)


_MASK = 2**32 - 1


def _check_seed(name: str, shape: Shape, dtype: np.dtype) -> None:
    if shape != ():
        raise TypeError(
            f"{name} accepts a scalar seed, but was given an array of shape {shape}. Use "
            "covector.vmap to make many keys."
        )
    if not (dtypes.is_integer(dtype) or dtypes.is_bool(dtype)):
        raise TypeError(f"{name}: seed must be an integer, but its dtype is {dtype}.")


def _host_seed(name: str, seed: Any, offset: int) -> tuple[int, bool]:
    """A Python or NumPy integer plus the offset, and whether it counts as one of 64 bits."""
    if type(seed) is int:
        if not -(2**63) <= seed < 2**63:
            raise OverflowError(f"{name}: seed must fit 64 bits, but got {seed}.")
        return seed + offset, enable_x64.value
    if type(seed) is PRNGKeyArray:
        raise TypeError(f"{name} accepts a scalar seed, but was given a PRNG key.")
    if not isinstance(seed, (int, float, np.ndarray, np.generic)):
        raise TypeError(
            f"{name}: seed must be a scalar integer, but got {seed!r:.80} of type {type(seed)}."
        )
    array = np.asarray(seed)
    _check_seed(name, array.shape, array.dtype)
    if offset:
        array = array + np.asarray(offset % 2**64, np.uint64).astype(array.dtype)
    return int(array), enable_x64.value and array.dtype.itemsize == 8


@library_function(static_argnums=(1, 2))
def _seed(seed: Any, implementation: KeyImplementation, offset: int) -> Any:
    if offset:
        dtype = typeof(seed).dtype
        bits = dtypes.itemsize_bits(dtype)
        seed = lax.add(seed, np.asarray(offset % 2**bits, f"uint{bits}").astype(dtype)[()])
    return implementation.seed(seed)


# --- from keys ------------------------------------------------------------------------------------


def split(key: Any, num: Any = 2) -> Any:
    """New keys from one, which should not be used again.

    Args:
      key: a typed key, or a plain one of shape ``(2,)``.
      num: how many, or the shape of the array of new keys.

    Raises:
      TypeError: ``key`` is no key, or ``num`` no integer or shape.
      ValueError: ``key`` is an array of many keys (use `covector.vmap`), or ``num`` is negative.

    >>> from covector import random
    >>> key, subkey = random.split(random.key(0))
    >>> random.split(key, (2, 3)).shape
    (2, 3)
    """
    implementation, data, typed = single_key("split", key)
    new = _split(data, implementation, shape_of("split", num, "num"))
    return PRNGKeyArray(implementation, new) if typed else new


@library_function(static_argnums=(1, 2))
def _split(data: Any, implementation: KeyImplementation, shape: Shape) -> Any:
    return implementation.split(data, shape)


def fold_in(key: Any, data: Any) -> Any:
    """A new key from a key and an integer, such as the number of a step.

    Args:
      data: a scalar, of which the lowest 32 bits count. A Python number must fit them.

    Raises:
      TypeError: ``key`` is no key, or ``data`` no scalar.
      ValueError: ``key`` is an array of many keys (use `covector.vmap`).
      OverflowError: ``data`` is a Python number below 0 or beyond 32 bits.

    >>> from covector import random
    >>> key = random.key(0)
    >>> bool(random.fold_in(key, 1) == random.fold_in(key, 2))
    False
    """
    implementation, words, typed = single_key("fold_in", key)
    new = _fold_in(words, _foldable(data), implementation)
    return PRNGKeyArray(implementation, new) if typed else new


@library_function(static_argnums=(2,))
def _fold_in(words: Any, data: Any, implementation: KeyImplementation) -> Any:
    return implementation.fold_in(words, lax.convert_element_type(data, _UINT32))


def _foldable(data: Any) -> Any:
    """A scalar that converts to `uint32`: an array, or a Python integer that fits 32 bits."""
    if isinstance(data, (_jaxlib.ArrayImpl, Tracer)) or type(data) is PRNGKeyArray:
        shape, dtype = data.shape, data.dtype
        number = None
    else:
        array = np.asarray(data)
        shape, dtype = array.shape, array.dtype
        number = data
    if shape != ():
        raise TypeError(
            f"fold_in accepts a scalar, but was given an array of shape {shape}. Use "
            "covector.vmap for many."
        )
    extended = isinstance(dtype, dtypes.ExtendedDType)
    if extended or (dtype.kind not in "biuf" and not dtypes.is_float(dtype)):
        raise TypeError(f"fold_in: data must be an integer, but its dtype is {dtype}.")
    return data if number is None else _signed(number)


def _signed(number: Any) -> int:
    """The integer with the sign that lets 32 bits hold it."""
    whole = int(number)
    if isinstance(number, (np.integer, np.ndarray)):
        whole &= _MASK
    elif not 0 <= whole <= _MASK:
        raise OverflowError(
            f"fold_in: data must be an integer from 0 to {_MASK}, but got {number}."
        )
    return whole - 2**32 if whole >= 2**31 else whole


def clone(key: Any) -> Any:
    """The same key, for one that is meant to be used again (see the flag `debug_key_reuse`).

    >>> from covector import random
    >>> key = random.key(0)
    >>> bool(random.clone(key) == key)
    True
    """
    if type(key) is not PRNGKeyArray:
        return key
    return key._with(_as_another_key(key._base_array))


def _as_another_key(data: Any) -> Any:
    """The words of a key that counts as unused."""
    if not debug_key_reuse.value:
        return data
    from covector._transform.key_reuse import clone_key

    return clone_key(data)


# --- keys and their data --------------------------------------------------------------------------


def key_data(keys: Any) -> Any:
    """The words that keys are made of, as a plain `uint32` array.

    >>> from covector import random
    >>> random.key_data(random.key(7))
    Array([0, 7], dtype=uint32)
    """
    _, data, _ = key_parts("key_data", keys)
    return device_put(data) if isinstance(data, np.ndarray) else data


def wrap_key_data(key_bits_array: Any, *, impl: Any = None, dtype: Any = None) -> Any:
    """Typed keys from their words: the inverse of `key_data`.

    Args:
      key_bits_array: a `uint32` array whose last axes are the words of one key.
      impl, dtype: the implementation, as in `key`.

    Raises:
      TypeError: the array's dtype or last axes are not those of keys.
      ValueError: there is no such implementation, or both ``impl`` and ``dtype`` are given.

    >>> from covector import random
    >>> import numpy as np
    >>> random.wrap_key_data(np.array([0, 7], np.uint32)) == random.key(7)
    Array(True, dtype=bool)
    """
    if dtype is not None:
        if impl is not None:
            raise ValueError("wrap_key_data: give impl or dtype, not both.")
        impl = dtype
    implementation = resolve(impl)
    check_key_data("wrap_key_data", implementation, key_bits_array)
    data = key_bits_array
    if isinstance(data, np.ndarray):
        data = device_put(data)
    else:
        data = _as_another_key(data)
    return PRNGKeyArray(implementation, data)


def key_impl(keys: Any) -> str | KeyImplementation:
    """The name of the implementation of keys (or one of the user's own), good as ``impl=``.

    >>> from covector import random
    >>> random.key_impl(random.key(0))
    'threefry2x32'
    """
    implementation = key_parts("key_impl", keys)[0]
    return implementation.name if is_registered(implementation) else implementation


def key_dtype(impl_spec: Any = None) -> KeyDType:
    """The dtype of the keys of an implementation.

    >>> from covector import random
    >>> random.key_dtype()
    key<fry>
    """
    return resolve(impl_spec).dtype

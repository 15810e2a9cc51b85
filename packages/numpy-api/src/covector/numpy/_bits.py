"""Bits packed into bytes, and the distance of floating-point numbers."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np
from covector import lax
from covector._api.jit import library_function
from covector._ir import dtypes
from covector._trace.trace import typeof
from covector.numpy import _reductions
from covector.numpy._manipulation import moveaxis, ravel, reshape
from covector.numpy._operands import (
    Array,
    ArrayLike,
    as_boolean,
    canonical_axis,
    check_arraylike,
    promote_inexact,
    scalar,
)
from covector.numpy._searching import where

_BYTE = np.dtype("uint8")


@library_function(operands=("a",))
def packbits(a: ArrayLike, axis: int | None = None, bitorder: str = "big") -> Array:
    """Whether elements are nonzero, eight to a byte along an axis; zeros fill up the last byte.

    Args:
      bitorder: "big" if the first is the highest bit, "little" if it is the lowest.

    >>> print(jnp.packbits(jnp.array([1, 0, 0, 0, 0, 0, 1, 1])))
    [131]
    """
    check_arraylike("packbits", a)
    if not (dtypes.is_integer(typeof(a).dtype) or dtypes.is_bool(typeof(a).dtype)):
        raise TypeError(f"packbits: expected integers or booleans, got {typeof(a).dtype}.")
    _check_order("packbits", bitorder)
    axis = None if axis is None else canonical_axis(axis, typeof(a).ndim)
    return _packbits(a, axis=axis, bitorder=bitorder)


def _check_order(name: str, bitorder: str) -> None:
    if bitorder not in ("big", "little"):
        raise ValueError(f"{name}: bitorder must be 'big' or 'little', got {bitorder!r}.")


def _weights(bitorder: str) -> np.ndarray:
    powers = 2 ** np.arange(8)
    return (powers[::-1] if bitorder == "big" else powers).astype(_BYTE)


def _packbits(a: Any, *, axis: int | None, bitorder: str) -> Any:
    bits = ravel(as_boolean(a)) if axis is None else moveaxis(as_boolean(a), axis, -1)
    *batch, n = typeof(bits).shape
    padding = [(0, 0, 0)] * len(batch) + [(0, -n % 8, 0)]
    bits = lax.pad(bits.astype(_BYTE), _BYTE.type(0), padding)
    groups = reshape(bits, (*batch, -(-n // 8), 8))
    packed = _reductions.sum(groups * _weights(bitorder), -1, dtype=_BYTE)
    return packed if axis is None else moveaxis(packed, -1, axis)


@library_function(operands=("a",))
def unpackbits(
    a: ArrayLike, axis: int | None = None, count: int | None = None, bitorder: str = "big"
) -> Array:
    """The bits of bytes along an axis, each as a number 0 or 1.

    Args:
      count: how many bits to give, filled up with zeros; negative to leave so many out.

    >>> print(jnp.unpackbits(jnp.array([131], dtype=jnp.uint8)))
    [1 0 0 0 0 0 1 1]
    """
    check_arraylike("unpackbits", a)
    if typeof(a).dtype != _BYTE:
        raise TypeError(f"unpackbits: expected dtype uint8, got {typeof(a).dtype}.")
    _check_order("unpackbits", bitorder)
    axis = None if axis is None else canonical_axis(axis, typeof(a).ndim)
    return _unpackbits(
        a, axis=axis, count=None if count is None else index(count), bitorder=bitorder
    )


def _unpackbits(a: Any, *, axis: int | None, count: int | None, bitorder: str) -> Any:
    rows = ravel(a) if axis is None else moveaxis(a, axis, -1)
    *batch, n = typeof(rows).shape
    bits = (rows[..., None] & _weights(bitorder)) != 0
    bits = reshape(bits.astype(_BYTE), (*batch, 8 * n))
    if count is not None:
        kept = 8 * n + count if count < 0 else count
        padding = [(0, 0, 0)] * len(batch) + [(0, max(kept - 8 * n, 0), 0)]
        bits = lax.pad(bits, _BYTE.type(0), padding)[..., :kept]
    return bits if axis is None else moveaxis(bits, -1, axis)


@library_function
def spacing(x: ArrayLike, /) -> Array:
    """The distance to the next floating-point number further from zero, with the sign of ``x``.

    >>> print(jnp.spacing(1.0) == jnp.finfo(jnp.float32).eps)
    True
    """
    (x,) = promote_inexact("spacing", x)
    dtype = typeof(x).dtype
    if dtypes.is_complex(dtype):
        raise ValueError("spacing: complex numbers are not supported.")
    x = lax.convert_element_type(x, dtype)
    away = where(lax.lt(x, scalar(0, dtype)), -np.inf, np.inf).astype(dtype)
    step = lax.sub(lax.nextafter(x, away), x)
    return where(lax.is_finite(x), step, np.nan)

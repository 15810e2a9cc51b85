"""What stands along the axes of a transform: its frequencies, and their order."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np
from covector import device_put, lax
from covector._api.jit import library_function
from covector._ir import dtypes
from covector._trace.trace import Tracer, typeof
from covector.errors import ShapeError
from covector.numpy._creation import asarray
from covector.numpy._operands import (
    Array,
    ArrayLike,
    Axes,
    DTypeLike,
    check_arraylike,
    concrete,
    hashable_axes,
    requested_dtype,
)

# --- frequencies ---------------------------------------------------------------------------------


def fftfreq(
    n: int, d: ArrayLike = 1.0, *, dtype: DTypeLike | None = None, device: Any = None
) -> Array:
    """The frequencies that `fft` of ``n`` samples has, in its order: 0, the positive, the negative.

    Args:
      d: the distance of two samples; it may be traced.
      dtype: of the result, by default the default float type.
      device: where to put the result.

    Raises:
      ValueError: ``n`` or ``d`` is a list or a tuple.

    >>> print(jnp.fft.fftfreq(4, d=0.5))
    [ 0.   0.5 -1.  -0.5]
    """
    n = _count("fftfreq", n)
    steps = np.roll(np.arange(n) - n // 2, -(n // 2))
    return _frequencies("fftfreq", steps, n, d, dtype, device)


def rfftfreq(
    n: int, d: ArrayLike = 1.0, *, dtype: DTypeLike | None = None, device: Any = None
) -> Array:
    """The frequencies that `rfft` of ``n`` samples has, from 0 up.

    Args:
      d: the distance of two samples; it may be traced.
      dtype: of the result, by default the default float type.
      device: where to put the result.

    Raises:
      ValueError: ``n`` or ``d`` is a list or a tuple.

    >>> print(jnp.fft.rfftfreq(4, d=0.5))
    [0.  0.5 1. ]
    """
    n = _count("rfftfreq", n)
    return _frequencies("rfftfreq", np.arange(n // 2 + 1), n, d, dtype, device)


def _count(name: str, n: Any) -> int:
    if isinstance(n, (list, tuple)):
        raise ValueError(f"{name}: n is the number of samples, one integer, but got {n!r}.")
    return max(int(concrete(name, "n", n)), 0)


def _frequencies(name: str, steps: np.ndarray, n: int, d: Any, dtype: Any, device: Any) -> Any:
    if isinstance(d, (list, tuple)):
        raise ValueError(f"{name}: d is the distance of samples, one number, but got {d!r}.")
    if typeof(d).size != 1:
        raise ShapeError(f"{name}: d must be one number, but it has shape {typeof(d).shape}.")
    dtype = requested_dtype(dtype, name) or dtypes.scalar_dtype(float)
    if isinstance(d, (Tracer, Array)):
        length = lax.convert_element_type(lax.reshape(d, ()) * n, dtype)
        out = lax.div(lax.convert_element_type(steps, dtype), lax.broadcast(length, steps.shape))
    else:
        # Once on the host, as it is the same whenever the arguments are.
        with np.errstate(divide="ignore", invalid="ignore"):
            length = np.asarray(np.asarray(d).reshape(()) * n).astype(dtype)
            out = asarray((steps.astype(dtype) / length).astype(dtype))
    return out if device is None else device_put(out, device)


# --- their order ---------------------------------------------------------------------------------


def fftshift(x: ArrayLike, axes: Axes = None) -> Array:
    """``x`` with frequency 0 moved from the front to the middle of ``axes`` (None for all).

    Raises:
      IndexError: an axis is out of range.

    >>> print(jnp.fft.fftshift(jnp.fft.fftfreq(4)))
    [-0.5  -0.25  0.    0.25]
    """
    check_arraylike("fftshift", x)
    return _shifted(x, name="fftshift", axes=hashable_axes(axes), inverse=False)


def ifftshift(x: ArrayLike, axes: Axes = None) -> Array:
    """The inverse of `fftshift`: ``x`` with frequency 0 moved from the middle to the front.

    Raises:
      IndexError: an axis is out of range.

    >>> print(jnp.fft.ifftshift(jnp.arange(-2, 3)))
    [ 0  1  2 -2 -1]
    """
    check_arraylike("ifftshift", x)
    return _shifted(x, name="ifftshift", axes=hashable_axes(axes), inverse=True)


@library_function(static_argnames=("name", "axes", "inverse"))
def _shifted(x: Any, *, name: str, axes: Any, inverse: bool) -> Any:
    ndim = typeof(x).ndim
    for axis in _as_tuple(axes, ndim):
        if not -ndim <= axis < ndim:
            raise IndexError(f"{name}: axis {axis} is out of range for {ndim} axes.")
        n = typeof(x).shape[axis]
        start = n // 2 if inverse else n - n // 2
        if start % n if n else 0:
            parts = (
                lax.slice_in_dim(x, start, n, axis=axis),
                lax.slice_in_dim(x, 0, start, axis=axis),
            )
            x = lax.concatenate(parts, axis % ndim)
    return x


def _as_tuple(axes: Any, ndim: int) -> tuple[int, ...]:
    if axes is None:
        return tuple(range(ndim))
    return axes if isinstance(axes, tuple) else (index(axes),)

"""The transforms along one axis, two, or several, each with its scale.

All are one function, `_transform`, of what is transformed into what: complex numbers, real ones
into the half of the frequencies that says all, or that half into real ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np
from covector import lax
from covector._api.jit import library_function
from covector._ir import dtypes
from covector._trace.trace import typeof
from covector.errors import ShapeError
from covector.numpy._operands import Array, ArrayLike, canonical_axis, check_arraylike, scalar

# What the scale is made of, the size of the transform: of the forward and the inverse transforms.
_POWERS = {"backward": (0.0, -1.0), "ortho": (-0.5, -0.5), "forward": (-1.0, 0.0)}
_OPPOSITE = {"backward": "forward", "ortho": "ortho", "forward": "backward"}
_MOST_AXES = 3  # of one operation

# --- one axis ------------------------------------------------------------------------------------


def fft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The discrete Fourier transform along ``axis``: ``sum(a[k] * exp(-2j * pi * k * m / n))``.

    Args:
      n: the number of elements to transform, by default all. The axis is cut to it, or filled with
        zeros.
      norm: which way divides by the size ``n``: "backward" (None, the default) or "forward";
        "ortho" divides by its root both ways.

    Raises:
      ValueError: ``n`` is not positive, or ``axis`` or ``norm`` is not one that there is.

    >>> print(jnp.fft.fft(jnp.array([1.0, 0.0, 0.0, 0.0])))
    [1.+0.j 1.+0.j 1.+0.j 1.+0.j]
    """
    return _along_axis("fft", "FFT", a, n, axis, norm)


def ifft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The inverse of `fft`, whose arguments it has.

    >>> print(jnp.fft.ifft(jnp.array([4.0, 0.0, 0.0, 0.0])))
    [1.+0.j 1.+0.j 1.+0.j 1.+0.j]
    """
    return _along_axis("ifft", "IFFT", a, n, axis, norm)


def rfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """`fft` of real numbers: its first ``n // 2 + 1`` elements, whose conjugates the others are.

    Raises:
      ValueError: ``a`` is complex, or as `fft`.

    >>> print(jnp.fft.rfft(jnp.ones(4)))
    [4.+0.j 0.+0.j 0.+0.j]
    """
    return _along_axis("rfft", "RFFT", a, n, axis, norm)


def irfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The inverse of `rfft`: ``n`` real numbers, by default ``2 * (size - 1)``.

    >>> print(jnp.fft.irfft(jnp.array([4.0, 0.0, 0.0])))
    [1. 1. 1. 1.]
    """
    return _along_axis("irfft", "IRFFT", a, n, axis, norm)


def hfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """`fft` of a signal whose second half mirrors the first, conjugated: ``n`` real numbers.

    ``a`` holds the first ``n // 2 + 1`` elements; ``n`` is by default ``2 * (size - 1)``.

    >>> print(jnp.fft.hfft(jnp.array([1.0, 0.0, 0.0])))
    [1. 1. 1. 1.]
    """
    return _along_axis("hfft", "IRFFT", a, n, axis, _opposite("hfft", norm), mirrored=True)


def ihfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The inverse of `hfft`: the first ``n // 2 + 1`` elements of the signal.

    Raises:
      ValueError: ``a`` is complex, or as `fft`.

    >>> print(jnp.fft.ihfft(jnp.ones(4)))
    [1.-0.j 0.-0.j 0.-0.j]
    """
    return _along_axis("ihfft", "RFFT", a, n, axis, _opposite("ihfft", norm), mirrored=True)


def _opposite(name: str, norm: Any) -> str:
    return _OPPOSITE[_known_norm(name, norm)]


def _along_axis(
    name: str, kind: str, a: Any, n: Any, axis: Any, norm: Any, *, mirrored: bool = False
) -> Any:
    if isinstance(axis, (tuple, list)):
        raise ValueError(f"{name}: axis must be one axis, but got {axis}. See fftn for several.")
    axes = None if axis is None else (index(axis),)
    return _call(name, kind, a, None if n is None else (index(n),), axes, norm, mirrored)


# --- two axes ------------------------------------------------------------------------------------


def fft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Array:
    """`fftn` along two axes, by default the last two.

    >>> print(jnp.fft.fft2(jnp.ones((2, 2))).real)
    [[4. 0.]
     [0. 0.]]
    """
    return _along_two("fft2", "FFT", a, s, axes, norm)


def ifft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Array:
    """`ifftn` along two axes, by default the last two.

    >>> print(jnp.fft.ifft2(jnp.ones((2, 2))).real)
    [[1. 0.]
     [0. 0.]]
    """
    return _along_two("ifft2", "IFFT", a, s, axes, norm)


def rfft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Array:
    """`rfftn` along two axes, by default the last two.

    >>> print(jnp.fft.rfft2(jnp.ones((2, 4))).real)
    [[8. 0. 0.]
     [0. 0. 0.]]
    """
    return _along_two("rfft2", "RFFT", a, s, axes, norm)


def irfft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Array:
    """`irfftn` along two axes, by default the last two.

    >>> print(jnp.fft.irfft2(jnp.ones((2, 2))))
    [[1. 0.]
     [0. 0.]]
    """
    return _along_two("irfft2", "IRFFT", a, s, axes, norm)


def _along_two(name: str, kind: str, a: Any, s: Any, axes: Any, norm: Any) -> Any:
    if len(axes) != 2:
        raise ValueError(f"{name} transforms two axes, but got axes={axes}. See fftn for others.")
    return _call(name, kind, a, _integers(s), _integers(axes), norm)


# --- several -------------------------------------------------------------------------------------


def fftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """`fft` along each of ``axes``, by default all, or the last ``len(s)``.

    Args:
      s: the sizes to transform, one for each axis. An axis is cut to its size, or filled with
        zeros.
      norm: as of `fft`; the size is the product of the sizes.

    Raises:
      ValueError: ``s`` and ``axes`` have different lengths, an axis is named twice, or as `fft`.

    >>> print(jnp.fft.fftn(jnp.ones((2, 2, 2))).real[0])
    [[8. 0.]
     [0. 0.]]
    """
    return _call("fftn", "FFT", a, _integers(s), _integers(axes), norm)


def ifftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """The inverse of `fftn`, whose arguments it has.

    >>> print(jnp.fft.ifftn(jnp.ones((2, 2, 2))).real[0])
    [[1. 0.]
     [0. 0.]]
    """
    return _call("ifftn", "IFFT", a, _integers(s), _integers(axes), norm)


def rfftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """`rfft` along the last of ``axes``, and `fft` along the others; arguments as of `fftn`.

    >>> print(jnp.fft.rfftn(jnp.ones((2, 2, 2))).real[0])
    [[8. 0.]
     [0. 0.]]
    """
    return _call("rfftn", "RFFT", a, _integers(s), _integers(axes), norm)


def irfftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """The inverse of `rfftn`, whose arguments it has.

    The last axis gets by default ``2 * (size - 1)`` elements.

    >>> print(jnp.fft.irfftn(jnp.ones((2, 2, 2)))[0])
    [[1. 0.]
     [0. 0.]]
    """
    return _call("irfftn", "IRFFT", a, _integers(s), _integers(axes), norm)


def _integers(numbers: Any) -> tuple[int, ...] | None:
    return None if numbers is None else tuple([index(n) for n in numbers])


# --- all -----------------------------------------------------------------------------------------


def _known_norm(name: str, norm: Any) -> str:
    norm = "backward" if norm is None else norm
    if norm not in _POWERS:
        raise ValueError(
            f"{name}: norm must be 'backward', 'ortho', 'forward' or None, got {norm!r}."
        )
    return norm


def _call(
    name: str, kind: str, a: Any, s: Any, axes: Any, norm: Any, mirrored: bool = False
) -> Any:
    check_arraylike(name, a)
    norm = _known_norm(name, norm)
    return _transform(a, name=name, kind=kind, s=s, axes=axes, norm=norm, mirrored=mirrored)


@library_function(static_argnames=("name", "kind", "s", "axes", "norm", "mirrored"))
def _transform(
    a: Any, *, name: str, kind: str, s: Any, axes: Any, norm: str, mirrored: bool
) -> Any:
    """The transform named ``kind``; with ``mirrored``, the conjugate on its complex side."""
    if kind == "RFFT" and dtypes.is_complex(typeof(a).dtype):
        raise ValueError(
            f"{name} transforms real numbers, but a has dtype {typeof(a).dtype}. Take its real "
            "part, or use fft or fftn."
        )
    dtype = dtypes.to_complex_dtype(typeof(a).dtype)
    a = lax.convert_element_type(a, dtypes.to_real_dtype(dtype) if kind == "RFFT" else dtype)
    if mirrored and kind == "IRFFT":
        a = lax.conj(a)
    ndim = typeof(a).ndim
    axes = _checked_axes(name, s, axes, ndim)
    if not axes:
        return a
    sizes = _checked_sizes(name, kind, s, axes, typeof(a).shape)
    held = (*sizes[:-1], sizes[-1] // 2 + 1) if kind == "IRFFT" else sizes
    a = _resized(a, dict(zip(axes, held)))
    order = [n for n in range(ndim) if n not in axes] + list(axes)
    moved = order != list(range(ndim))
    out = _along_last(lax.transpose(a, order) if moved else a, kind, sizes)
    out = _scaled(out, norm, kind in ("FFT", "RFFT"), math.prod(sizes))
    if mirrored and kind == "RFFT":
        out = lax.conj(out)
    return lax.transpose(out, np.argsort(order)) if moved else out


def _checked_axes(name: str, s: Any, axes: Any, ndim: int) -> tuple[int, ...]:
    """``axes`` counted from the front, after checks."""
    if axes is None:
        axes = tuple(range(-len(s) if s is not None else -ndim, 0))
    if s is not None and len(s) != len(axes):
        raise ShapeError(f"{name}: s and axes must have one length, got s={s} and axes={axes}.")
    given = tuple([canonical_axis(axis, ndim) for axis in axes])
    if len(set(given)) != len(given):
        raise ValueError(f"{name} transforms no axis twice, but got axes={axes}.")
    return given


def _checked_sizes(name: str, kind: str, s: Any, axes: Any, shape: Any) -> tuple[int, ...]:
    if s is None:
        sizes = [shape[axis] for axis in axes]
        if kind == "IRFFT":
            sizes[-1] = max(2 * (sizes[-1] - 1), 0)
        return tuple(sizes)
    if any(n < 1 for n in s):
        raise ShapeError(
            f"{name}: sizes to transform must be positive, got {', '.join(map(str, s))}."
        )
    return s


def _resized(a: Any, sizes: dict[int, int]) -> Any:
    """``a`` with axes cut to a size, or filled up with zeros."""
    shape = typeof(a).shape
    padding = [(0, sizes.get(axis, n) - n, 0) for axis, n in enumerate(shape)]
    if not any(width for _, width, _ in padding):
        return a
    return lax.pad(a, np.zeros((), typeof(a).dtype)[()], padding)


def _along_last(a: Any, kind: str, sizes: tuple[int, ...]) -> Any:
    """The transform of the last axes, in groups of as many as one operation takes."""
    if len(sizes) <= _MOST_AXES:
        return lax.fft(a, kind, sizes)
    if kind == "IRFFT":
        return lax.fft(_others(a, "IFFT", sizes), kind, sizes[-_MOST_AXES:])
    return _others(lax.fft(a, kind, sizes[-_MOST_AXES:]), kind.removeprefix("R"), sizes)


def _others(a: Any, kind: str, sizes: tuple[int, ...]) -> Any:
    """The transform of all but the last axes of a group."""
    ndim = typeof(a).ndim
    order = [*range(ndim - _MOST_AXES, ndim), *range(ndim - _MOST_AXES)]
    out = _along_last(lax.transpose(a, order), kind, sizes[:-_MOST_AXES])
    return lax.transpose(out, np.argsort(order))


def _scaled(x: Any, norm: str, forward: bool, size: int) -> Any:
    """``x`` times a power of the size, beside the one that the operation has by itself."""
    power = _POWERS[norm][not forward] - (0.0 if forward else -1.0)
    if power == 0.0 or size == 0:
        return x
    factor = float(size) ** power
    if not dtypes.is_complex(typeof(x).dtype):
        return lax.mul(x, scalar(factor, typeof(x).dtype))
    # By parts: a product of complex numbers has four terms, and makes NaN of infinity.
    parts = [lax.real(x), lax.imag(x)]
    return lax.complex(*[lax.mul(part, scalar(factor, typeof(part).dtype)) for part in parts])

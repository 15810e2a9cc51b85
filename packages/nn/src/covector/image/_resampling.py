"""`resize` and `scale_and_translate`.

But for nearest pixels, an image is multiplied along each axis that changes by a matrix of weights,
which say how much of each pixel is in each pixel of the result. With a distance d between them, in
pixels of the image, or of the result where that is coarser and ``antialias`` is on, the weight is a
function of d, divided by the sum over pixels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import covector.numpy as jnp
import numpy as np
from covector import lax
from covector._api.jit import library_function
from covector._ir import dtypes
from covector._trace.trace import is_arraylike, typeof
from covector.errors import ShapeError
from covector.image._methods import WEIGHTS, ResizeMethod, keys_cubic
from covector.lax._axes import canonical_axis, int_tuple
from covector.lax.convert import convert_type
from covector.lax.precision import Precision


def resize(
    image: Any,
    shape: Sequence[int],
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = Precision.HIGHEST,
) -> Any:
    """``image`` in another shape, each axis scaled to its new size.

    Args:
      shape: of the result, with the number of axes of ``image``. Axes of batches and channels keep
        their sizes.
      method: a `ResizeMethod`, or its name: "nearest"; "linear" ("bilinear", "trilinear",
        "triangle"); "cubic" ("bicubic", "tricubic"); "lanczos3"; "lanczos5"; "cubic-pytorch"
        ("bicubic-pytorch"); "area".
      antialias: when an axis shrinks, average over what lies between the pixels that stay.
      precision: of products.

    Returns:
      In the dtype of ``image`` if it is floating-point or complex, or for "nearest"; else float.

    Raises:
      ValueError: ``method`` is unknown, or the number of axes another.

    >>> print(covector.image.resize(jnp.array([0.0, 1.0]), (4,), "linear"))
    [0.   0.25 0.75 1.  ]
    """
    method = _method("resize", method)
    sizes = _checked_shape("resize", image, shape)
    if method is ResizeMethod.NEAREST:
        return _nearest(image, sizes)
    return _resize(image, sizes, method, bool(antialias), precision)


def scale_and_translate(
    image: Any,
    shape: Sequence[int],
    spatial_dims: Sequence[int],
    scale: Any,
    translation: Any,
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = Precision.HIGHEST,
) -> Any:
    """``image`` scaled, then moved: what was at x is then at ``x * scale + translation``.

    The middle of the first pixel is at 0.5. A pixel of the result whose middle was outside of the
    image is 0. Both ``scale`` and ``translation`` have derivatives.

    Args:
      shape: of the result. The sizes of other axes than ``spatial_dims`` do not matter.
      spatial_dims: the axes to scale.
      scale, translation: arrays with one number for each of these axes.
      method, antialias, precision: as of `resize`, but not "nearest".

    Raises:
      ValueError: ``method`` is unknown or "nearest", or the number of axes another.
      TypeError: ``scale`` or ``translation`` is no array.

    >>> row, one = jnp.array([1.0, 2.0, 3.0]), jnp.ones(1)
    >>> print(covector.image.scale_and_translate(row, (3,), (0,), one, one, "linear"))
    [0. 1. 2.]
    """
    name = "scale_and_translate"
    method = _method(name, method)
    if method is ResizeMethod.NEAREST:
        raise ValueError(f"{name}: the method 'nearest' is not supported. See resize.")
    sizes = _checked_shape(name, image, shape)
    axes = tuple([canonical_axis(name, a, len(sizes)) for a in spatial_dims])
    for argument, x in (("scale", scale), ("translation", translation)):
        if not is_arraylike(x) or not typeof(x).ndim:
            raise TypeError(f"{name}: {argument} must be an array, but got {x!r}.")
        if typeof(x).shape != (len(axes),):
            raise ShapeError(
                f"{name}: {argument} must have one number for each of the {len(axes)} axes in "
                f"spatial_dims, but has shape {typeof(x).shape}."
            )
    kept = tuple([(a, sizes[a]) for a in axes])
    return _scale_and_translate(image, scale, translation, kept, method, bool(antialias), precision)


# --- checks --------------------------------------------------------------------------------------


def _method(name: str, method: Any) -> ResizeMethod:
    if isinstance(method, str):
        return ResizeMethod.from_string(method)
    if not isinstance(method, ResizeMethod):
        raise TypeError(f"{name}: method must be a ResizeMethod or its name, but got {method!r}.")
    return method


def _checked_shape(name: str, image: Any, shape: Any) -> tuple[int, ...]:
    if not is_arraylike(image):
        raise TypeError(f"{name}: image must be an array, but got {type(image)}.")
    sizes = int_tuple(name, "shape", shape)
    before = typeof(image).shape
    if len(sizes) != len(before):
        raise ShapeError(
            f"{name}: shape must have one size for each axis of image, but it is {sizes}, and "
            f"image has shape {before}."
        )
    if any(n > 0 and not m for n, m in zip(sizes, before)):
        raise ShapeError(f"{name}: image has no pixels (shape {before}) to make {sizes} of.")
    return tuple([max(n, 0) for n in sizes])


# --- nearest pixels ------------------------------------------------------------------------------


@library_function(static_argnums=1)
def _nearest(x: Any, sizes: tuple[int, ...]) -> Any:
    for axis, n in enumerate(sizes):
        x = _nearest_along(x, axis, n)
    return x


def _nearest_along(x: Any, axis: int, n: int) -> Any:
    m = typeof(x).shape[axis]
    if n == m:
        return x
    if n and n % m == 0:
        return jnp.repeat(x, n // m, axis)
    if n and m % n == 0:
        step = m // n
        return lax.slice_in_dim(x, step // 2, None, step, axis)
    return jnp.take(x, (2 * np.arange(n) + 1) * m // (2 * max(n, 1)), axis)


# --- weighed pixels ------------------------------------------------------------------------------


@library_function(static_argnums=(1, 2, 3, 4))
def _resize(
    x: Any, sizes: tuple[int, ...], method: ResizeMethod, antialias: bool, precision: Any
) -> Any:
    x = _inexact(x)
    shape = typeof(x).shape
    changed = [axis for axis, n in enumerate(sizes) if n != shape[axis]]
    factors = [sizes[axis] / shape[axis] for axis in changed]
    return _resampled(
        x, changed, sizes, factors, [0.0] * len(changed), method, antialias, precision
    )


@library_function(static_argnums=(3, 4, 5, 6))
def _scale_and_translate(
    x: Any,
    scale: Any,
    translation: Any,
    kept: tuple[tuple[int, int], ...],
    method: ResizeMethod,
    antialias: bool,
    precision: Any,
) -> Any:
    x = _inexact(x)
    axes = [axis for axis, _ in kept]
    sizes = list(typeof(x).shape)
    for axis, n in kept:
        sizes[axis] = n
    real = dtypes.to_real_dtype(typeof(x).dtype)
    factors, shifts = [
        [lax.index_in_dim(v.astype(real), i, keepdims=False) for i in range(len(axes))]
        for v in (scale, translation)
    ]
    return _resampled(x, axes, sizes, factors, shifts, method, antialias, precision)


def _inexact(x: Any) -> Any:
    aval = typeof(x)
    dtype = dtypes.canonicalize_dtype(dtypes.to_inexact_dtype(aval.dtype))
    return convert_type(x, dtype, weak_type=aval.weak_type)


def _resampled(
    x: Any,
    axes: Sequence[int],
    sizes: Sequence[int],
    factors: Sequence[Any],
    shifts: Sequence[Any],
    method: ResizeMethod,
    antialias: bool,
    precision: Any,
) -> Any:
    """The image times the weights of each axis, those first that shrink it the most."""
    shape, dtype = typeof(x).shape, typeof(x).dtype
    real = dtypes.to_real_dtype(dtype)
    turns = sorted(range(len(axes)), key=lambda i: sizes[axes[i]] / max(shape[axes[i]], 1))
    order = list(dict.fromkeys([axes[i] for i in turns]))
    others = [axis for axis in range(len(shape)) if axis not in order]
    # With the axes in front, each product is one of two matrices, which has the new axis in front.
    x = lax.transpose(x, order + others)
    for done, i in enumerate(turns):
        weights = _weights(
            typeof(x).shape[done], sizes[axes[i]], factors[i], shifts[i], method, antialias, real
        ).astype(dtype)
        x = lax.dot_general(weights, x, (((0,), (done,)), ((), ())), precision=precision)
    return lax.transpose(x, np.argsort(order[::-1] + others))


def _weights(
    pixels: int,
    size: int,
    factor: Any,
    shift: Any,
    method: ResizeMethod,
    antialias: bool,
    dtype: np.dtype,
) -> Any:
    """How much of each of ``pixels`` (rows) is in each pixel of the result (columns)."""
    # Positions need more digits than the weights of narrow dtypes have.
    wide = np.dtype(np.float32) if dtype.itemsize < 4 else dtype
    step = 1 / jnp.asarray(factor, wide)
    middle = (jnp.arange(size, dtype=wide) + 0.5) * step - shift * step
    at = middle - 0.5
    place = lax.broadcasted_iota(wide, (pixels, size), 0)
    if method is ResizeMethod.CUBIC_PYTORCH and not antialias:
        return _edges_continued(at, place, pixels).astype(dtype)
    if method is ResizeMethod.AREA:
        half = jnp.abs(step) / 2
        ends = jnp.minimum(place + 1, middle + half), jnp.maximum(place, middle - half)
        weights = jnp.maximum(ends[0] - ends[1], 0)
    else:
        width = jnp.maximum(step, 1) if antialias else 1
        weights = WEIGHTS[method](jnp.abs(at - place) / width)
    total = jnp.sum(weights, axis=0, keepdims=True)
    enough = jnp.abs(total) > 1000 * float(jnp.finfo(np.float32).eps)
    weights = jnp.where(enough, weights / jnp.where(enough, total, 1), 0)
    inside = (at >= -0.5) & (at <= pixels - 0.5)
    return jnp.where(inside, weights, 0).astype(dtype)


def _edges_continued(at: Any, place: Any, pixels: int) -> Any:
    """Cubic weights of the four pixels around each position, those outside given to the edges."""
    first = jnp.floor(at) - 1
    taps = [
        jnp.where(
            jnp.clip(first + tap, 0, pixels - 1) == place,
            keys_cubic(jnp.abs(at - (first + tap)), slope=-0.75),
            0,
        )
        for tap in range(4)
    ]
    return sum(taps[1:], taps[0])

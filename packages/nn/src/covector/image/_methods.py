"""The methods of resampling, and what weights they give to pixels by their distance."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

import covector.numpy as jnp


class ResizeMethod(enum.Enum):
    """How an image is resampled.

    NEAREST takes the nearest pixel, LINEAR interpolates between two along each axis, CUBIC
    between four (Keys, "Cubic convolution interpolation", 1981), LANCZOS3 and LANCZOS5 between six
    and ten (Duchon, "Lanczos filtering", 1979). CUBIC_PYTORCH is CUBIC where it smooths; elsewhere
    its curve is steeper, and the pixels at the edges continue beyond them. AREA averages the pixels
    that an output pixel covers.

    >>> covector.image.ResizeMethod.from_string("bicubic").name
    'CUBIC'
    """

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6

    @staticmethod
    def from_string(s: str) -> ResizeMethod:
        """The method of a name; ValueError if there is none."""
        if s not in _NAMES:
            raise ValueError(f"Unknown resize method {s!r}. Known are {', '.join(sorted(_NAMES))}.")
        return _NAMES[s]


_NAMES = {
    "nearest": ResizeMethod.NEAREST,
    **dict.fromkeys(("linear", "bilinear", "trilinear", "triangle"), ResizeMethod.LINEAR),
    "lanczos3": ResizeMethod.LANCZOS3,
    "lanczos5": ResizeMethod.LANCZOS5,
    **dict.fromkeys(("cubic", "bicubic", "tricubic"), ResizeMethod.CUBIC),
    **dict.fromkeys(("cubic-pytorch", "bicubic-pytorch"), ResizeMethod.CUBIC_PYTORCH),
    "area": ResizeMethod.AREA,
}


def triangle(distance: Any) -> Any:
    """1 at distance 0, falling to 0 at distance 1."""
    return jnp.maximum(1 - distance, 0)


def keys_cubic(distance: Any, slope: float = -0.5) -> Any:
    """The cubic curve of Keys, whose slope at distance 1 is given; 0 from distance 2 on."""
    near = ((slope + 2) * distance - (slope + 3)) * distance * distance + 1
    far = ((slope * distance - 5 * slope) * distance + 8 * slope) * distance - 4 * slope
    return jnp.where(distance < 1, near, jnp.where(distance < 2, far, 0))


def lanczos(radius: float) -> Callable[[Any], Any]:
    """The product of two sinc functions, of which the second is 0 at ``radius`` and ends there."""

    def weight(distance: Any) -> Any:
        product = jnp.sinc(distance) * jnp.sinc(distance / radius)
        return jnp.where(distance > radius, 0, product)

    return weight


WEIGHTS: dict[ResizeMethod, Callable[[Any], Any]] = {
    ResizeMethod.LINEAR: triangle,
    ResizeMethod.LANCZOS3: lanczos(3.0),
    ResizeMethod.LANCZOS5: lanczos(5.0),
    ResizeMethod.CUBIC: keys_cubic,
    ResizeMethod.CUBIC_PYTORCH: keys_cubic,
}

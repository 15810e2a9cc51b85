"""Windows that slide along axes: how many fit, and what padding ``"SAME"`` and ``"VALID"`` mean."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

from covector.errors import ShapeError

Pads = tuple[tuple[int, int], ...]


def dilated_size(size: int, dilation: int) -> int:
    """The length of an axis after ``dilation - 1`` gaps were put between its elements."""
    return 0 if size == 0 else (size - 1) * dilation + 1


def num_windows(size: int, window: int, stride: int) -> int:
    """How many windows fit into an axis of ``size``, a ``stride`` apart."""
    return 0 if size < window else (size - window) // stride + 1


def padtype_to_pads(
    in_shape: Sequence[int],
    window_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str,
) -> list[tuple[int, int]]:
    """The padding before and after each axis that ``padding`` stands for.

    ``"VALID"`` is none. ``"SAME"`` is so much that the result has the axis's size divided by the
    stride, rounded up; an odd rest goes behind, and with ``"SAME_LOWER"`` in front. Case does not
    matter.

    Raises:
      RuntimeError: another text.
      TypeError: not a text.

    >>> padtype_to_pads((8, 9), (3, 2), (2, 2), "SAME")
    [(0, 1), (0, 1)]
    """
    if not isinstance(padding, str):
        raise TypeError(f"Unknown padding type: {padding}.")
    kind = padding.upper()
    if kind == "VALID":
        return [(0, 0)] * len(in_shape)
    if kind not in ("SAME", "SAME_LOWER"):
        raise RuntimeError(
            f"Unrecognized padding type: expected 'VALID', 'SAME', or 'SAME_LOWER', got {padding}."
        )
    pads = []
    for size, window, stride in zip(in_shape, window_shape, window_strides, strict=True):
        out = -(-size // stride)
        total = max((out - 1) * stride + window - size, 0)
        low = (total + 1) // 2 if kind == "SAME_LOWER" else total // 2
        pads.append((int(low), int(total - low)))
    return pads


def explicit_pads(name: str, padding: Any) -> Pads:
    """Pairs of integers, as tuples."""
    try:
        return tuple([(index(low), index(high)) for low, high in padding])
    except (TypeError, ValueError) as error:
        raise ShapeError(
            f"{name}: padding must be 'SAME', 'VALID', 'SAME_LOWER', or a pair (before, after) of "
            f"integers for each spatial axis, got {padding!r}"
        ) from error

"""Lanes: the members of a batch, where each goes its own way through branches and loops.

A `mask` is a boolean array with one element a lane.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from covector import lax
from covector._trace.trace import typeof


def any_lane(mask: Any) -> Any:
    """Whether the mask holds anywhere."""
    return lax.reduce_or(mask, (0,))


def select_lanes(mask: Any, chosen: Any, other: Any, dim: int = 0) -> Any:
    """``chosen`` in the lanes of the mask, else ``other``; both have their lanes along ``dim``."""
    full = lax.broadcast_in_dim(mask, typeof(chosen).shape, (dim,))
    return lax.select(full, chosen, other)


def borrow_lane(mask: Any, values: Sequence[Any], dims: Sequence[int | None]) -> list[Any]:
    """``values`` with what lanes outside the mask hold replaced by what a lane inside holds.

    So that a program never meets values that no lane meant for it.
    """
    first = lax.argmax(mask, 0, np.int32)

    def borrowed(x: Any, dim: int | None) -> Any:
        if dim is None:
            return x
        row = lax.dynamic_slice_in_dim(x, first, 1, dim)
        shape = typeof(x).shape
        return select_lanes(mask, x, lax.broadcast_in_dim(row, shape, range(len(shape))), dim)

    return [borrowed(x, d) for x, d in zip(values, dims, strict=True)]

"""Checks of sizes and axes that the operations of `covector.lax` share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import index
from typing import Any

from covector._trace.trace import Tracer
from covector.errors import ShapeError


def int_tuple(name: str, argument: str, values: Any) -> tuple[int, ...]:
    """``values`` (an integer or a sequence of them) as a tuple of Python integers."""
    try:
        return (index(values),)
    except TypeError:
        pass
    try:
        return tuple(map(index, values))
    except TypeError:
        if any(isinstance(v, Tracer) for v in _items(values)):
            raise
        raise TypeError(
            f"{name}: {argument} must be a sequence of integers known before the call, got {values}"
        ) from None


def _items(values: Any) -> Iterable[Any]:
    return values if isinstance(values, Iterable) and not isinstance(values, Tracer) else (values,)


def sizes_of(name: str, argument: str, values: Any) -> tuple[int, ...]:
    """Like `int_tuple`, for lengths: none may be negative."""
    sizes = int_tuple(name, argument, values)
    if any(n < 0 for n in sizes):
        raise ShapeError(f"{name}: {argument} must have every element be nonnegative, got {sizes}.")
    return sizes


def canonical_axis(name: str, axis: Any, ndim: int) -> int:
    """``axis`` counted from the front: negative ones count from the back."""
    axis = index(axis)
    if not -ndim <= axis < ndim:
        raise ValueError(f"{name}: axis {axis} is out of bounds for array of dimension {ndim}")
    return axis + ndim if axis < 0 else axis


def canonical_axes(name: str, axes: Any, ndim: int) -> tuple[int, ...]:
    """Distinct axes, each counted from the front, in the given order."""
    result = tuple([canonical_axis(name, a, ndim) for a in axes])
    if len(set(result)) != len(result):
        raise ValueError(f"{name}: axes are not unique: {tuple(axes)} of an array of rank {ndim}")
    return result


def shift_axes(axes: Sequence[int], dim: int) -> tuple[int, ...]:
    """``axes`` after an axis was inserted at ``dim``."""
    return tuple([a + (a >= dim) for a in axes])


def insert(values: Sequence[Any], position: int, value: Any) -> tuple[Any, ...]:
    """``values`` with one more at ``position``."""
    return (*values[:position], value, *values[position:])


def common_batch_axis(dims: Sequence[int | None]) -> int:
    """Where to put the operands' batch axes: where the first one is."""
    return next(d for d in dims if d is not None)

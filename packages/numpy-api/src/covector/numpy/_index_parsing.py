"""What an index means: ``x[...]`` and ``x.at[...]`` as entries, one for each axis or new axis.

`parse` resolves the ellipsis, counts slices and Python ints from the front, checks every index
whose value is known, and says where the axes made by index arrays go (NumPy's rule). What it gives
depends on shapes and static parts alone; index arrays stay operands. Read next: `_indexing.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any, NamedTuple

import jaxlib._jax as _jaxlib
import numpy as np
from covector._api.ds import Slice
from covector._ir import dtypes
from covector._trace.trace import Tracer, typeof
from covector.errors import NonConcreteBooleanIndexError

ArrayImpl = _jaxlib.ArrayImpl
Shape = tuple[int, ...]


class NewAxis(NamedTuple):
    """A new axis of size one (`None`), or of size 0 or 1 by a boolean scalar."""

    size: int = 1


class Span(NamedTuple):
    """A slice of an axis: ``size`` elements from ``start`` on, ``step`` apart.

    The start is a Python int, but for that of a `covector.ds`, which may be a scalar.
    """

    start: Any
    size: int
    step: int

    def is_whole(self, n: int) -> bool:
        return self.step == 1 and self.size == n


class Point(NamedTuple):
    """One position: a Python int within bounds, or a traced or device scalar."""

    position: Any


class Points(NamedTuple):
    """An array of positions along one axis. `known` is its value, if it came from the host."""

    positions: Any


class Mask(NamedTuple):
    """A boolean array over ``ndim`` axes, left for a selection."""

    mask: Any
    ndim: int


Entry = NewAxis | Span | Point | Points | Mask


class Index(NamedTuple):
    """The entries of an index, in order, and how NumPy lays out its result."""

    entries: tuple[Entry, ...]

    @property
    def is_basic(self) -> bool:
        """Whether there are no index arrays."""
        return not any(isinstance(e, (Points, Mask)) for e in self.entries)


def parse(
    expression: Any,
    shape: Shape,
    *,
    keep_masks: bool = False,
    checked: bool = True,
    wrap: bool = True,
) -> Index:
    """The entries of an index expression for an array of ``shape``.

    Args:
      keep_masks: leave boolean arrays as `Mask`; otherwise they become `Points`, which needs
        their values.
      checked: raise `IndexError` for positions that are known to be out of bounds; otherwise they
        stay as they are, for a ``mode`` to deal with.
      wrap: count negative ints from the back.
    """
    parts = expression if isinstance(expression, tuple) else (_not_a_sequence(expression),)
    if any(isinstance(p, (list, tuple)) for p in parts):
        parts = tuple([np.asarray(p) if isinstance(p, (list, tuple)) else p for p in parts])
    parts = _with_ellipsis_resolved(parts, shape)
    entries: list[Entry] = []
    axis = 0
    for part in parts:
        found = _entry(part, shape, axis, keep_masks, checked, wrap)
        entries += found
        axis += sum([e.ndim if isinstance(e, Mask) else not isinstance(e, NewAxis) for e in found])
    entries += [Span(0, n, 1) for n in shape[axis:]]
    return Index(tuple(entries))


def _not_a_sequence(x: Any) -> Any:
    if isinstance(x, list):
        raise TypeError(
            "Using a non-tuple sequence for multidimensional indexing is not allowed; use "
            "`x[jnp.array(seq)]` to index with an array, or `x[tuple(seq)]` for one index an axis."
        )
    return x


def _with_ellipsis_resolved(parts: tuple, shape: Shape) -> tuple:
    """The parts with ``...`` replaced by whole slices."""
    consumed = sum(map(_axes_of, parts))
    if consumed > len(shape):
        raise IndexError(
            f"Too many indices: array is {len(shape)}-dimensional, but {consumed} were indexed"
        )
    places = [i for i, p in enumerate(parts) if p is Ellipsis]
    if not places:
        return parts
    if len(places) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    at = places[0]
    return (*parts[:at], *[slice(None)] * (len(shape) - consumed), *parts[at + 1 :])


def _axes_of(part: Any) -> int:
    """How many axes of the array a part of an index takes."""
    if part is None or part is Ellipsis or isinstance(part, (bool, np.bool_)):
        return 0
    dtype = getattr(part, "dtype", None)
    return part.ndim if dtype is not None and dtype.kind == "b" else 1


def _entry(
    part: Any, shape: Shape, axis: int, keep_masks: bool, checked: bool, wrap: bool
) -> list[Entry]:
    if part is None:
        return [NewAxis()]
    if isinstance(part, slice):
        return [_span(part, shape[axis])]
    if isinstance(part, Slice):
        return [_window(part, shape[axis])]
    if isinstance(part, (bool, np.bool_)):
        return [NewAxis(int(part))]
    if isinstance(part, np.ndarray) and part.ndim == 0 and part.dtype.kind in "iu":
        part = part[()]
    if isinstance(part, (int, np.integer)):
        if not wrap:
            return [Point(int(part))]
        return [Point(_in_bounds(int(part), shape[axis], axis, checked))]
    if isinstance(part, (np.ndarray, ArrayImpl, Tracer)):
        return _array_entry(part, shape, axis, keep_masks, checked)
    raise _not_an_index(part)


def _not_an_index(part: Any) -> Exception:
    if isinstance(part, str):
        return TypeError(f"Arrays have no fields, so a string is no index; got {part!r}.")
    if isinstance(part, (float, complex, np.generic)):
        dtype = np.asarray(part).dtype
        return TypeError(
            f"Indexer must have integer or boolean type, got indexer with type {dtype}: {part!r}"
        )
    return IndexError(
        "only integers, slices (`:`), ellipsis (`...`), newaxis (`None`) and integer or boolean "
        f"arrays are valid indices. Got {part!r}"
    )


def _span(part: slice, n: int) -> Span:
    try:
        bounds = [None if v is None else index(v) for v in (part.start, part.stop, part.step)]
    except TypeError:
        if not any(isinstance(v, Tracer) for v in (part.start, part.stop, part.step)):
            raise TypeError(
                f"The start, stop and step of a slice must be integers or None, got {part}."
            ) from None
        raise IndexError(
            "Array slice indices must have static start/stop/step to be used with NumPy indexing "
            f"syntax. Got {part}. For a part of known size at a traced start, write "
            "x[covector.ds(start, size)] or use covector.lax.dynamic_slice."
        ) from None
    start, stop, step = slice(*bounds).indices(n)
    return Span(start, len(range(start, stop, step)), step)


def _window(part: Slice, n: int) -> Span:
    """A slice whose start need not be known."""
    if part.is_dynamic_size:
        raise TypeError(f"ds: the size of a slice must be a Python int, got {part.size!r:.80}.")
    size, stride = index(part.size), index(part.stride)
    if not part.is_dynamic_start:
        start = index(part.start)
        return _span(slice(start, start + size, stride), n)
    if stride < 1 or size < 0:
        raise ValueError(
            f"ds: where the start is not known, size and stride must be positive, got size={size} "
            f"and stride={stride}."
        )
    return Span(part.start, -(-size // stride), stride)


def _in_bounds(position: int, n: int, axis: int, checked: bool) -> int:
    """A Python int counted from the front."""
    if checked and not -n <= position < n:
        raise IndexError(
            f"index {position} is out of bounds for axis {axis} with size {n}. (Give a mode, as in "
            "x.at[index].get(mode='clip'), if that is meant.)"
        )
    return position + n if -n <= position < 0 else position


def _array_entry(
    part: Any, shape: Shape, axis: int, keep_masks: bool, checked: bool
) -> list[Entry]:
    aval = typeof(part)
    if dtypes.is_bool(aval.dtype):
        return _mask_entry(part, aval.shape, shape, axis, keep_masks)
    if not dtypes.is_integer(aval.dtype):
        if aval.size == 0 and isinstance(part, np.ndarray):
            return [Points(part.astype(np.int32))]  # np.asarray([]) is a float array
        raise TypeError(
            f"Indexer must have integer or boolean type, got indexer with type {aval.dtype}"
        )
    if isinstance(part, np.ndarray) and checked:
        check_known(part, shape[axis], axis)
    if aval.size and shape[axis] == 0:
        raise IndexError(f"index is out of bounds for axis {axis} with size 0")
    return [Point(part) if aval.ndim == 0 else Points(part)]


def check_known(positions: np.ndarray | np.generic | int, n: int, axis: int) -> None:
    """Raise `IndexError` for positions that are out of bounds."""
    if type(positions) is int and -n <= positions < n:
        return
    positions = np.asarray(positions)
    outside = (positions < -n) | (positions >= n)
    if outside.any():
        raise IndexError(
            f"index {positions[outside][0]} is out of bounds for axis {axis} with size {n}. (Give "
            "a mode, as in x.at[index].get(mode='clip'), if that is meant.)"
        )


def _mask_entry(
    mask: Any, mask_shape: Shape, shape: Shape, axis: int, keep_masks: bool
) -> list[Entry]:
    ndim = len(mask_shape)
    own = shape[axis : axis + ndim]
    if mask_shape != own and not (
        ndim == 1 and mask_shape == (0,) and isinstance(mask, np.ndarray)
    ):
        raise IndexError(
            f"boolean index did not match shape of indexed array in index {axis}: got "
            f"{mask_shape}, expected {list(own)}"
        )
    if keep_masks and ndim:
        return [Mask(mask, ndim)]
    value = mask.concrete() if isinstance(mask, Tracer) else mask
    if isinstance(value, Tracer):
        raise unknown_mask(value)
    value = np.asarray(value)
    if ndim == 0:
        return [NewAxis(int(value))]
    return [Points(np.asarray(p, np.int32)) for p in np.nonzero(value)]


def unknown_mask(mask: Any) -> Exception:
    """The error for a mask whose value the result's shape depends on."""
    return NonConcreteBooleanIndexError(
        f"Array boolean indices must be concrete; got {typeof(mask).str_short()}. The number of "
        "elements that it selects decides the result's shape, which must be known while a function "
        "is traced. Use jnp.where(mask, x, fill) to keep the shape, jnp.nonzero(mask, size=n), or "
        "x.at[mask].set(scalar)."
    )


def array_group(entries: Sequence[Entry]) -> tuple[bool, int]:
    """Where the axes made by index arrays go: whether side by side, and after how many entries.

    NumPy counts ints as index arrays here. If they all stand side by side, the new axes take
    their place; otherwise they come first.
    """
    places = [i for i, e in enumerate(entries) if isinstance(e, (Point, Points, Mask))]
    together = places[-1] - places[0] + 1 == len(places)
    return together, places[0] if together else 0

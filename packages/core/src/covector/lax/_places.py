"""How the axes of gathers and scatters relate: dimension numbers, modes, and their checks."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector.lax._axes import int_tuple
from covector.lax._nary import check_same_dtype


class GatherDimensionNumbers(NamedTuple):
    """How the axes of a gather's operand, indices and result relate.

    The last axis of the indices holds the coordinates of one slice's start. The other axes of the
    indices are axes of the result, in their order; the remaining axes of the slices take the
    result's places ``offset_dims``.

    - ``offset_dims``: axes of the result that run over the slices;
    - ``collapsed_slice_dims``: axes of the operand, of slice size 1, that the result lacks;
    - ``start_index_map``: the operand's axis for each coordinate;
    - ``operand_batching_dims`` and ``start_indices_batching_dims``: axes of the operand (slice
      size 1) and of the indices that run together.

    >>> lax.GatherDimensionNumbers((1,), (0,), (0,)).collapsed_slice_dims
    (0,)
    """

    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    start_indices_batching_dims: tuple[int, ...] = ()


class ScatterDimensionNumbers(NamedTuple):
    """How the axes of a scatter's operand, indices and updates relate.

    Like `GatherDimensionNumbers`, with the updates in place of the result:

    - ``update_window_dims``: axes of the updates that run over the slices;
    - ``inserted_window_dims``: axes of the operand that the slices lack;
    - ``scatter_dims_to_operand_dims``: the operand's axis for each coordinate;
    - ``operand_batching_dims`` and ``scatter_indices_batching_dims``: axes that run together.

    >>> lax.ScatterDimensionNumbers((1,), (0,), (0,)).update_window_dims
    (1,)
    """

    update_window_dims: tuple[int, ...]
    inserted_window_dims: tuple[int, ...]
    scatter_dims_to_operand_dims: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    scatter_indices_batching_dims: tuple[int, ...] = ()


class GatherScatterMode(enum.Enum):
    """What happens where a slice does not lie within the operand.

    - ``CLIP``: it is moved to lie within;
    - ``FILL_OR_DROP``: a gather gives a fill value for the whole slice; a scatter leaves it out;
    - ``PROMISE_IN_BOUNDS``: the caller promises that it does not happen;
    - ``ONE_HOT``: a gather gives zeros.

    >>> lax.GatherScatterMode.from_any("clip")
    <GatherScatterMode.CLIP: 1>
    """

    CLIP = enum.auto()
    FILL_OR_DROP = enum.auto()
    PROMISE_IN_BOUNDS = enum.auto()
    ONE_HOT = enum.auto()

    @staticmethod
    def from_any(s: Any) -> GatherScatterMode:
        """The mode named by a string ("clip", "fill", "drop", "promise_in_bounds", "one_hot").

        None stands for ``FILL_OR_DROP``.
        """
        if isinstance(s, GatherScatterMode):
            return s
        if s is None:
            return GatherScatterMode.FILL_OR_DROP
        if isinstance(s, str) and s in _MODES:
            return _MODES[s]
        raise ValueError(f'Unknown gather mode "{s}": expected one of {", ".join(_MODES)}')


_MODES = {
    "clip": GatherScatterMode.CLIP,
    "fill": GatherScatterMode.FILL_OR_DROP,
    "drop": GatherScatterMode.FILL_OR_DROP,
    "promise_in_bounds": GatherScatterMode.PROMISE_IN_BOUNDS,
    "one_hot": GatherScatterMode.ONE_HOT,
}


def as_tuples(cls: type, numbers: Any) -> Any:
    """Dimension numbers with tuples of Python integers in each field."""
    fields = [int_tuple(cls.__name__, name, getattr(numbers, name)) for name in cls._fields]
    return cls(*fields)


def ordered(params: dict[str, Any]) -> dict[str, Any]:
    """Parameters in one order, so that equal applications have equal keys."""
    return dict(sorted(params.items()))


def last_starts(
    shape: Sequence[int], start_index_map: Sequence[int], window: Sequence[int], dtype: np.dtype
) -> np.ndarray:
    """The largest coordinates at which a slice still fits."""
    limits = np.array([shape[d] - window[d] for d in start_index_map], np.int64)
    return np.minimum(limits, np.iinfo(dtype).max).astype(dtype)


# --- checks --------------------------------------------------------------------------------------


def check_indices(name: str, indices: ShapedArray) -> None:
    """The indices of a gather or scatter must be integers with an axis of coordinates."""
    if not dtypes.is_integer(indices.dtype):
        raise ValueError(f"{name}: indices must have an integer type, got {indices.str_short()}")
    if indices.ndim == 0:
        raise TypeError(f"{name}: indices need a last axis that holds coordinates, got a scalar")


def check_gather_places(
    name: str,
    operand: ShapedArray,
    indices: ShapedArray,
    numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
) -> None:
    rank = operand.ndim
    if len(slice_sizes) != rank:
        raise TypeError(
            f"{name}: there must be one slice size for each of the operand's {rank} axes, got "
            f"{slice_sizes}"
        )
    for size, bound in zip(slice_sizes, operand.shape, strict=True):
        if not 0 <= size <= bound:
            raise TypeError(
                f"{name}: slice sizes must lie within the operand's shape {operand.shape}, got "
                f"{slice_sizes}"
            )
    for field in ("collapsed_slice_dims", "start_index_map", "operand_batching_dims"):
        check_axes(name, field, getattr(numbers, field), rank)
    removed = (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)
    if len(set(removed)) != len(removed) or any(slice_sizes[d] > 1 for d in removed):
        raise TypeError(
            f"{name}: collapsed_slice_dims and operand_batching_dims must be different axes of "
            f"slice size 1, got {removed} with slice sizes {slice_sizes}"
        )
    check_coordinates(name, operand, indices, numbers)


def check_axes(name: str, field: str, axes: Sequence[int], rank: int) -> None:
    """Axes in a dimension number must exist, and be named once."""
    if any(not 0 <= d < rank for d in axes) or len(set(axes)) != len(axes):
        raise TypeError(f"{name}: {field} must be distinct axes in [0, {rank}), got {tuple(axes)}")


def check_coordinates(
    name: str, operand: ShapedArray, indices: ShapedArray, numbers: GatherDimensionNumbers
) -> None:
    """The indices' last axis and batching axes must fit the operand."""
    if indices.shape[-1] != len(numbers.start_index_map):
        raise TypeError(
            f"{name}: the last axis of the indices, of size {indices.shape[-1]}, must hold one "
            f"coordinate for each of the operand's axes {numbers.start_index_map}"
        )
    batch = numbers.start_indices_batching_dims
    check_axes(name, "batching dims of the indices", batch, indices.ndim - 1)
    ours = [operand.shape[d] for d in numbers.operand_batching_dims]
    theirs = [indices.shape[d] for d in batch]
    if ours != theirs:
        raise TypeError(
            f"{name}: batching axes must have the same sizes, got {ours} in the operand and "
            f"{theirs} in the indices"
        )


def check_scatter_places(
    name: str,
    operand: ShapedArray,
    indices: ShapedArray,
    updates: ShapedArray,
    numbers: ScatterDimensionNumbers,
) -> None:
    check_same_dtype(name, (operand, updates))
    check_indices(name, indices)
    window_dims = numbers.update_window_dims
    rank = indices.ndim - 1 + len(window_dims)
    if updates.ndim != rank:
        raise TypeError(f"{name}: updates must be of rank {rank}, got shape {updates.shape}")
    if list(window_dims) != sorted(window_dims):
        raise TypeError(f"{name}: update_window_dims must be increasing, got {window_dims}")
    check_axes(name, "update_window_dims", window_dims, rank)
    for field in (
        "inserted_window_dims",
        "scatter_dims_to_operand_dims",
        "operand_batching_dims",
    ):
        check_axes(name, field, getattr(numbers, field), operand.ndim)
    removed = (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
    if len(set(removed)) != len(removed) or len(window_dims) + len(removed) != operand.ndim:
        raise TypeError(
            f"{name}: update_window_dims, inserted_window_dims and operand_batching_dims must "
            f"together stand for the operand's {operand.ndim} axes, got {tuple(numbers)}"
        )
    check_coordinates(name, operand, indices, GatherDimensionNumbers(*numbers))
    _check_update_sizes(name, operand, indices, updates, numbers)


def _check_update_sizes(
    name: str,
    operand: ShapedArray,
    indices: ShapedArray,
    updates: ShapedArray,
    numbers: ScatterDimensionNumbers,
) -> None:
    window = window_sizes(operand.shape, updates.shape, numbers)
    if any(n > m for n, m in zip(window, operand.shape, strict=True) if n != 1):
        raise TypeError(
            f"{name}: the slices must not be larger than the operand, got updates of shape "
            f"{updates.shape}, that is slices of shape {window}, for operand shape {operand.shape}"
        )
    places = [n for i, n in enumerate(updates.shape) if i not in numbers.update_window_dims]
    if tuple(places) != indices.shape[:-1]:
        raise TypeError(
            f"{name}: the axes of updates that are not update_window_dims must be those of the "
            f"indices without the last, {indices.shape[:-1]}, got {tuple(places)}"
        )


def window_sizes(
    shape: Sequence[int], update_shape: Sequence[int], numbers: ScatterDimensionNumbers
) -> tuple[int, ...]:
    """The size of the slices along each axis of the operand."""
    removed = (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
    sizes = iter([update_shape[d] for d in numbers.update_window_dims])
    return tuple([1 if i in removed else next(sizes) for i in range(len(shape))])

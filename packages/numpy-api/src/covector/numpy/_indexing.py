"""Reading by index: ``x[...]``, and ``x.at[...].get``.

An index is parsed (`_index_parsing.py`) into a block (`_index_block.py`) and, if there are index
arrays, a gather within it. Both are programs that depend on the static parts only; positions are
operands. Updates are in `_index_update.py`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jaxlib._jax as _jaxlib
import numpy as np
from covector import lax
from covector._api.jit import library_function
from covector._trace.trace import staging_state, typeof
from covector.numpy._index_block import (
    Block,
    block_of,
    locate,
    read_block,
    wrapped,
)
from covector.numpy._index_parsing import (
    Entry,
    Index,
    NewAxis,
    Point,
    Points,
    Span,
    array_group,
    parse,
)
from covector.numpy._operands import broadcast_to_shape, common_shape

ArrayImpl = _jaxlib.ArrayImpl
Shape = tuple[int, ...]


def index_array(x: Any, expression: Any) -> Any:
    """``x[expression]`` for an array. Hot for an int or a slice: one call into C++."""
    kind, shape = type(expression), x.aval.shape
    if kind in _FAST and shape and not staging_state.value:
        n = shape[0]
        if kind is int:
            if -n <= expression < n:
                return _row(x, expression if expression >= 0 else expression + n)
        elif expression.step is None and _are_ints(expression.start, expression.stop):
            start, stop, _ = expression.indices(n)
            if start < stop:
                return _rows(x, start, size=stop - start)
    index = parse(expression, x.aval.shape)
    if index.is_basic:
        return _read_basic(x, index)
    return _read_arrays(x, index)


_FAST = frozenset({int, slice})


def _are_ints(start: Any, stop: Any) -> bool:
    return (start is None or type(start) is int) and (stop is None or type(stop) is int)


@library_function(static_argnames="size")
def _rows(x: Any, start: Any, *, size: int) -> Any:
    return lax.dynamic_slice_in_dim(x, start, size, 0, allow_negative_indices=False)


@library_function
def _row(x: Any, position: Any) -> Any:
    return lax.dynamic_index_in_dim(x, position, 0, keepdims=False, allow_negative_indices=False)


def _read_basic(x: Any, index: Index) -> Any:
    """A result without index arrays: a block, reshaped."""
    block, starts = block_of(index.entries, x.aval.shape)
    shape = result_shape(index.entries, block)
    if staging_state.value:
        return _read(x, starts, block, shape)
    return _read_jitted(x, starts, block=block, shape=shape)


def _read(x: Any, starts: Any, block: Block, shape: Shape) -> Any:
    if 0 in shape and 0 not in block.shape:  # x[False]
        return lax.full(shape, 0, typeof(x).dtype)
    place = locate(x, starts, block, checked=False)
    return lax.reshape(read_block(x, place, block), shape)


@library_function(static_argnames=("block", "shape"))
def _read_jitted(x: Any, starts: Any, *, block: Block, shape: Shape) -> Any:
    return _read(x, starts, block, shape)


def result_shape(entries: tuple[Entry, ...], block: Block) -> Shape:
    """The block's shape with the new axes."""
    sizes = iter(block.shape)
    return tuple(
        [
            e.size if isinstance(e, NewAxis) else next(sizes)
            for e in entries
            if not isinstance(e, Point)
        ]
    )


# --- index arrays --------------------------------------------------------------------------------


class Layout(NamedTuple):
    """Where index arrays stand in a block, and where the axes that they make go."""

    axes: Shape  # the block's axes that they index
    position: int  # how many of the block's other axes come before theirs
    full_shape: Shape  # the result's shape
    squeezed: Shape  # the result's shape without new axes


def layout_of(index: Index, block: Block) -> Layout:
    """The layout of an index with index arrays."""
    together, first = array_group(index.entries)
    shapes = [typeof(e.positions).shape for e in index.entries if isinstance(e, Points)]
    batch = common_shape("indexing", *shapes)
    axes: list[int] = []
    full: list[int] = [] if together else list(batch)
    squeezed: list[int] = [] if together else list(batch)
    position = axis = 0
    for i, entry in enumerate(index.entries):
        if together and i == first:
            full += batch
            squeezed += batch
        if isinstance(entry, NewAxis):
            full.append(entry.size)
        elif isinstance(entry, Span):
            position += together and i < first
            full.append(block.shape[axis])
            squeezed.append(block.shape[axis])
            axis += 1
        elif isinstance(entry, Points):
            axes.append(axis)
            axis += 1
    return Layout(tuple(axes), position, tuple(full), tuple(squeezed))


def _read_arrays(
    x: Any,
    index: Index,
    mode: Any = None,
    fill_value: Any = None,
    wrap: bool = True,
    **hints: bool,
) -> Any:
    block, starts = block_of(index.entries, x.aval.shape, wrap)
    layout = layout_of(index, block)
    arrays = [e.positions for e in index.entries if isinstance(e, Points)]
    return _gather(
        x,
        starts,
        arrays,
        fill_value,
        block=block,
        layout=layout,
        mode=mode,
        hints=tuple(hints.items()),
    )


@library_function(static_argnames=("block", "layout", "mode", "hints"))
def _gather(
    x: Any,
    starts: Any,
    arrays: Any,
    fill_value: Any,
    *,
    block: Block,
    layout: Layout,
    mode: Any,
    hints: tuple,
) -> Any:
    place = locate(x, starts, block, checked=fills(mode))
    part = read_block(x, place, block)
    shape = typeof(part).shape
    indices = stacked_positions(arrays, [shape[a] for a in layout.axes], block.wrap)
    batch_ndim = typeof(indices).ndim - 1
    batch = range(layout.position, layout.position + batch_ndim)
    numbers = lax.GatherDimensionNumbers(
        offset_dims=tuple([i for i in range(len(layout.squeezed)) if i not in batch]),
        collapsed_slice_dims=layout.axes,
        start_index_map=layout.axes,
    )
    sizes = [1 if i in layout.axes else n for i, n in enumerate(shape)]
    out = lax.gather(
        part,
        indices,
        numbers,
        sizes,
        mode=mode or lax.GatherScatterMode.PROMISE_IN_BOUNDS,
        fill_value=fill_value,
        **dict(hints),
    )
    if place.inside is not None:
        out = filled_outside(out, place.inside, fill_value)
    return lax.reshape(out, layout.full_shape)


def stacked_positions(arrays: Any, sizes: list[int], wrap: bool) -> Any:
    """Index arrays, counted from the front and broadcast, stacked along a new last axis."""
    arrays = [wrapped(a, n, wrap) for a, n in zip(arrays, sizes, strict=True)]
    dtype = max([typeof(a).dtype for a in arrays], key=lambda d: d.itemsize)
    shape = common_shape("indexing", *[typeof(a).shape for a in arrays])
    columns = [
        lax.expand_dims(broadcast_to_shape(lax.convert_element_type(a, dtype), shape), [len(shape)])
        for a in arrays
    ]
    return columns[0] if len(columns) == 1 else lax.concatenate(columns, len(shape))


# --- modes ---------------------------------------------------------------------------------------


def fills(mode: Any) -> bool:
    """Whether positions out of bounds are filled (or dropped, in updates)."""
    return mode is not None and lax.GatherScatterMode.from_any(mode) == (
        lax.GatherScatterMode.FILL_OR_DROP
    )


def filled_outside(x: Any, inside: Any, fill_value: Any) -> Any:
    """``x`` where ``inside``, else the fill value (see `default_fill`)."""
    aval = typeof(x)
    fill = default_fill(aval.dtype) if fill_value is None else fill_value
    fill = lax.convert_element_type(fill, aval.dtype)
    spread = [broadcast_to_shape(v, aval.shape) for v in (inside, fill)]
    return lax.select(spread[0], x, spread[1])


def default_fill(dtype: np.dtype) -> Any:
    """What an element out of bounds reads as in mode 'fill'."""
    from covector._ir import dtypes
    from covector.numpy._reductions import highest, lowest

    if dtypes.is_inexact(dtype):
        return dtype.type(np.nan)
    return dtype.type(lowest(dtype) if dtypes.is_signed(dtype) else highest(dtype))


def read_with_mode(
    x: Any,
    expression: Any,
    *,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: Any,
    fill_value: Any,
    wrap: bool,
) -> Any:
    """``x.at[expression].get(...)``."""
    index = parse(expression, x.aval.shape, checked=mode is None and wrap, wrap=wrap)
    if not index.is_basic:
        return _read_arrays(
            x,
            index,
            mode,
            fill_value,
            wrap,
            indices_are_sorted=indices_are_sorted,
            unique_indices=unique_indices,
        )
    block, starts = block_of(index.entries, x.aval.shape, wrap)
    shape = result_shape(index.entries, block)
    if not (block.uncertain and fills(mode)):
        return _read_jitted(x, starts, block=block, shape=shape)
    return _read_filled(x, starts, fill_value, block=block, shape=shape)


@library_function(static_argnames=("block", "shape"))
def _read_filled(x: Any, starts: Any, fill_value: Any, *, block: Block, shape: Shape) -> Any:
    place = locate(x, starts, block, checked=True)
    out = lax.reshape(read_block(x, place, block), shape)
    return filled_outside(out, place.inside, fill_value)

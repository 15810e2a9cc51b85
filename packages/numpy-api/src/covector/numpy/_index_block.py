"""The rectangular part of an array that slices and single positions select: reading, writing.

Every index, also one with index arrays, is a block and what is done in it. `Block` is the static
side of it: sizes, steps, and the shape of the result. Where a block starts stays an operand, so
that eager code compiles one program for all of ``x[0]``, ``x[1]``, ...
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from covector import lax
from covector._ir import dtypes
from covector._trace.trace import typeof
from covector.numpy._index_parsing import Entry, NewAxis, Point, Span
from covector.numpy._operands import broadcast_to_shape

Shape = tuple[int, ...]


class Block(NamedTuple):
    """What a block is, but for where it starts."""

    extents: Shape  # of each axis, how much the block spans
    strides: Shape  # of each axis, the distance of its elements
    flipped: Shape  # axes that run backwards
    moving: Shape  # axes whose start is an operand; others are whole
    uncertain: Shape  # axes among them whose start may be negative or out of bounds
    shape: Shape  # the elements, without the axes of single positions
    dropped: Shape  # the axes of single positions
    wrap: bool  # whether negative positions count from the back

    @property
    def is_strided(self) -> bool:
        return any(s != 1 for s in self.strides)


def block_of(
    entries: tuple[Entry, ...], shape: Shape, wrap: bool = True
) -> tuple[Block, list[Any]]:
    """The block of some entries (whole along index arrays), and the starts of its moving axes."""
    extents, strides, flipped, moving, uncertain, dropped = [], [], [], [], [], []
    starts: list[Any] = []
    axis = 0
    for entry in entries:
        if isinstance(entry, NewAxis):
            continue
        n = shape[axis]
        start, extent, step = 0, n, 1
        if isinstance(entry, Span) and not entry.is_whole(n):
            start, extent, step = _span_block(entry)
            if not isinstance(start, int):
                uncertain.append(axis)
        elif isinstance(entry, Point):
            start, extent = entry.position, 1
            dropped.append(axis)
            if not (isinstance(start, int) and 0 <= start < n):
                uncertain.append(axis)
        if step < 0:
            flipped.append(axis)
        if extent < n or axis in uncertain:
            moving.append(axis)
            starts.append(start)
        extents.append(extent)
        strides.append(abs(step))
        axis += getattr(entry, "ndim", 1)
        for covered in range(len(extents), axis):  # the further axes of a mask
            extents.append(shape[covered])
            strides.append(1)
    sizes = [-(-extent // stride) for extent, stride in zip(extents, strides)]
    kept = tuple([n for i, n in enumerate(sizes) if i not in dropped])
    block = Block(
        tuple(extents),
        tuple(strides),
        tuple(flipped),
        tuple(moving),
        tuple(uncertain),
        kept,
        tuple(dropped),
        wrap,
    )
    return block, starts


def _span_block(span: Span) -> tuple[int, int, int]:
    """First position, extent and step of a slice, counted upwards."""
    extent = (span.size - 1) * abs(span.step) + 1 if span.size else 0
    start = (
        span.start if span.step > 0 or not span.size else span.start + (span.size - 1) * span.step
    )
    return (start if span.size else 0), extent, span.step if span.size else 1


class Place(NamedTuple):
    """Where a block starts, and whether it is within bounds (None: certainly, or not asked)."""

    firsts: list[Any]
    inside: Any


def locate(x: Any, starts: Any, block: Block, *, checked: bool) -> Place:
    """The place of a block, from the starts of its moving axes; negative ones are wrapped.

    ``checked``: find out whether it is within bounds.
    """
    firsts: list[Any] = [0] * len(block.extents)
    inside = None
    for axis, start in zip(block.moving, starts, strict=True):
        if axis in block.uncertain:
            n = typeof(x).shape[axis]
            start = wrapped(start, n, block.wrap)
            if checked:
                kind = typeof(start).dtype
                here = lax.bitwise_and(lax.ge(start, kind.type(0)), lax.lt(start, kind.type(n)))
                inside = here if inside is None else lax.bitwise_and(inside, here)
        firsts[axis] = start
    if not all(isinstance(f, int) for f in firsts):
        dtype = max([typeof(f).dtype for f in firsts], key=lambda d: d.itemsize)
        firsts = [lax.convert_element_type(f, dtype) for f in firsts]
    return Place(firsts, inside)


def wrapped(positions: Any, n: int, wrap: bool = True) -> Any:
    """Positions with negative ones counted from the back, in a dtype wide enough."""
    dtype = typeof(positions).dtype
    wide = np.dtype("int64") if n > np.iinfo(np.int32).max else np.dtype("int32")
    if dtype.itemsize < wide.itemsize or dtypes.is_unsigned(dtype):
        dtype = dtypes.canonicalize_dtype("int64" if dtype.itemsize >= 4 else wide)
    positions = lax.convert_element_type(positions, dtype)
    if not wrap or dtypes.is_unsigned(typeof(positions).dtype):
        return positions
    negative = lax.lt(positions, dtype.type(0))
    return lax.select(negative, lax.add(positions, dtype.type(n)), positions)


def read_block(x: Any, place: Place, block: Block) -> Any:
    """The block's elements, of shape ``block.shape``; an uncertain start is clamped."""
    raw = _strided(_sliced(x, place, block), block)
    if block.flipped:
        raw = lax.rev(raw, block.flipped)
    return lax.squeeze(raw, block.dropped) if block.dropped else raw


def write_block(x: Any, value: Any, place: Place, block: Block) -> Any:
    """``x`` with the block replaced by ``value``, which has its shape.

    Where the place is found out to be out of bounds, nothing is written.
    """
    value = lax.expand_dims(value, block.dropped) if block.dropped else value
    if block.flipped:
        value = lax.rev(value, block.flipped)
    if block.is_strided or place.inside is not None:
        old = _sliced(x, place, block)
        if place.inside is not None:
            mask = broadcast_to_shape(place.inside, typeof(value).shape)
            value = lax.select(mask, value, _strided(old, block))
        if block.is_strided:
            value = _woven(value, old, block)
    if not block.moving:
        return value
    return lax.dynamic_update_slice(x, value, place.firsts, allow_negative_indices=False)


def _sliced(x: Any, place: Place, block: Block) -> Any:
    """All that the block spans, between its elements too."""
    if not block.moving:
        return x
    firsts = place.firsts
    if all(isinstance(f, int) for f in firsts):
        return lax.slice(x, firsts, [f + n for f, n in zip(firsts, block.extents)])
    return lax.dynamic_slice(x, firsts, block.extents, allow_negative_indices=False)


def _strided(x: Any, block: Block) -> Any:
    if not block.is_strided:
        return x
    return lax.slice(x, [0] * len(block.extents), block.extents, block.strides)


def _woven(value: Any, old: Any, block: Block) -> Any:
    """``value`` spread over the block's extent, with old elements in between."""
    gaps = [(0, 0, stride - 1) for stride in block.strides]
    spread = lax.pad(value, typeof(value).dtype.type(0), gaps)
    integer = np.dtype("int32")
    ours = None
    for axis, stride in enumerate(block.strides):
        if stride != 1:
            position = lax.broadcasted_iota(integer, block.extents, axis)
            here = lax.eq(lax.rem(position, integer.type(stride)), integer.type(0))
            ours = here if ours is None else lax.bitwise_and(ours, here)
    return lax.select(ours, spread, old)

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
    parts = (extents, strides, flipped, moving, uncertain)
    return Block(*map(tuple, parts), kept, tuple(dropped), wrap), starts


def _span_block(span: Span) -> tuple[int, int, int]:
    """First position, extent and step of a slice, counted upwards."""
    extent = (span.size - 1) * abs(span.step) + 1 if span.size else 0
    start = (
        span.start if span.step > 0 or not span.size else span.start + (span.size - 1) * span.step
    )
    return (start if span.size else 0), extent, span.step if span.size else 1


def read_block(x: Any, starts: Any, block: Block) -> Any:
    """The block's elements, of shape ``block.shape``; an uncertain start is clamped."""
    raw = _strided(_sliced(x, _firsts(x, starts, block), block), block)
    if block.flipped:
        raw = lax.rev(raw, block.flipped)
    return lax.squeeze(raw, block.dropped) if block.dropped else raw


def write_block(x: Any, value: Any, starts: Any, block: Block, clip: bool = False) -> Any:
    """``x`` with the block replaced by ``value``, which has its shape.

    Where an uncertain start is out of bounds nothing is written, unless ``clip``.
    """
    value = lax.expand_dims(value, block.dropped) if block.dropped else value
    if block.flipped:
        value = lax.rev(value, block.flipped)
    if not block.moving and not _is_strided(block):
        return value
    firsts = _firsts(x, starts, block)
    if block.uncertain and not clip:
        inside = inside_bounds(x, starts, block)
        mask = broadcast_to_shape(inside, typeof(value).shape)
        value = lax.select(mask, value, _strided(_sliced(x, firsts, block), block))
    if _is_strided(block):
        value = _woven(value, _sliced(x, firsts, block), block)
    if not block.moving:
        return value
    return lax.dynamic_update_slice(x, value, firsts)


def inside_bounds(x: Any, starts: Any, block: Block) -> Any:
    """Whether all uncertain starts are within bounds."""
    inside = None
    for axis, start in zip(block.moving, starts, strict=True):
        if axis in block.uncertain:
            n = typeof(x).shape[axis]
            start = wrapped(start, n, block.wrap)
            kind = typeof(start).dtype
            here = lax.bitwise_and(lax.ge(start, kind.type(0)), lax.lt(start, kind.type(n)))
            inside = here if inside is None else lax.bitwise_and(inside, here)
    return inside


def wrapped(positions: Any, n: int, wrap: bool = True) -> Any:
    """Positions with negative ones counted from the back, in a dtype wide enough."""
    dtype = typeof(positions).dtype
    wide = np.dtype("int64") if n > np.iinfo(np.int32).max else np.dtype("int32")
    if dtype.itemsize < wide.itemsize or dtypes.is_unsigned(dtype):
        dtype = dtypes.canonicalize_dtype("int64" if dtype.itemsize >= 4 else wide)
    positions = lax.convert_element_type(positions, dtype)
    if not wrap:
        return positions
    negative = lax.lt(positions, dtype.type(0))
    return lax.select(negative, lax.add(positions, dtype.type(n)), positions)


def _firsts(x: Any, starts: Any, block: Block) -> list[Any]:
    """Where the block starts along every axis, as integers of one dtype (or all Python ints)."""
    firsts: list[Any] = [0] * len(block.extents)
    for axis, start in zip(block.moving, starts, strict=True):
        if axis in block.uncertain:
            start = wrapped(start, typeof(x).shape[axis], block.wrap)
        firsts[axis] = start
    if all(isinstance(f, int) for f in firsts):
        return firsts
    dtype = max([typeof(f).dtype for f in firsts], key=lambda d: d.itemsize)
    return [lax.convert_element_type(f, dtype) for f in firsts]


def _sliced(x: Any, firsts: list[Any], block: Block) -> Any:
    if not block.moving:
        return x
    if all(isinstance(f, int) for f in firsts):
        return lax.slice(x, firsts, [f + n for f, n in zip(firsts, block.extents)])
    return lax.dynamic_slice(x, firsts, block.extents)


def _is_strided(block: Block) -> bool:
    return any(s != 1 for s in block.strides)


def _strided(x: Any, block: Block) -> Any:
    if not _is_strided(block):
        return x
    return lax.slice(x, [0] * len(block.extents), block.extents, block.strides)


def _woven(value: Any, old: Any, block: Block) -> Any:
    """``value`` spread over the block's extent, with old elements in between."""
    gaps = [(0, 0, stride - 1) for stride in block.strides]
    spread = lax.pad(value, typeof(value).dtype.type(0), gaps)
    ours = None
    for axis, stride in enumerate(block.strides):
        if stride != 1:
            position = np.arange(block.extents[axis]) % stride == 0
            here = lax.broadcast_in_dim(position, block.extents, (axis,))
            ours = here if ours is None else lax.bitwise_and(ours, here)
    return lax.select(ours, spread, old)

"""Threefry-2x32: the counter-based pseudo-random function behind the default keys.

From J. Salmon, M. Moraes, R. Dror and D. Shaw, "Parallel random numbers: as easy as 1, 2, 3"
(SC 2011): 20 rounds of add, rotate and xor encrypt a counter of two words under a key of two words.
The primitive is elementwise in both. It is lowered with its rounds written out, so that counters,
rounds and whatever is made of the bits are one fused kernel that touches memory once.

How the counters of an array are laid out is the flag `threefry_partitionable`. On: element i has
the 64-bit counter i, so each shard of an array can draw its part alone. Off: the words 0, 1, ...
are cut into two halves that are encrypted pairwise (the order of earlier versions, kept for their
numbers).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from covector import lax
from covector._config import threefry_partitionable
from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector._lower.fences import DEPTH
from covector._trace.primitive import Primitive
from covector._trace.trace import typeof
from covector.lax._nary import batch_elementwise, common_shape
from covector.random._implementation import KeyImplementation, Shape, register
from covector.random._layout import flat_work_shape, goes_last

UINT32 = np.dtype(np.uint32)
UINT64 = np.dtype(np.uint64)

# --- the primitive --------------------------------------------------------------------------------

_PARITY = 0x1BD11BDA  # the key schedule's third word is this and both words of the key, by xor
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))  # of four rounds each, in turn
_GROUPS = 5  # of four rounds, after each of which words of the schedule are added


def threefry2x32(key_words: Sequence[Any], counter_words: Sequence[Any]) -> list[Any]:
    """Two random words for each pair of counter words; all are `uint32`.

    Operands of rank zero go with arrays, and axes of size one are stretched.

    Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
    """
    return threefry2x32_p.bind(*key_words, *counter_words)


def _abstract(*avals: ShapedArray) -> list[ShapedArray]:
    if any(a.dtype != UINT32 for a in avals):
        raise TypeError(
            "threefry2x32 takes two key words and two counter words of dtype uint32, got "
            f"{', '.join([a.str_short() for a in avals])}."
        )
    return [ShapedArray(common_shape("threefry2x32", avals), UINT32)] * 2


def _lower(
    ctx: Any, args: Sequence[str], in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray]
) -> list[str]:
    out = out_avals[0]
    schedule, key_aval = _key_schedule(ctx, args[:2], in_avals[:2])

    def add(x: str, y: str, y_aval: ShapedArray) -> str:
        return ctx.simple("add", [x, ctx.broadcast(y, y_aval, out, range(y_aval.ndim))], out)

    x, y = [
        add(ctx.broadcast(counter, aval, out, range(aval.ndim)), word, key_aval)
        for counter, aval, word in zip(args[2:], in_avals[2:], schedule[:2], strict=True)
    ]
    for group in range(1, _GROUPS + 1):
        for distance in _ROTATIONS[(group - 1) % 2]:
            x = ctx.simple("add", [x, y], out)
            y = ctx.simple("xor", [x, _rotate_left(ctx, y, distance, out)], out)
        flips = group == _GROUPS and ctx.platform == "cpu"
        x = add(x, schedule[group % 3], key_aval)
        number = ctx.constant(group + flips * _SIGN, key_aval)
        y = add(y, ctx.simple("add", [schedule[(group + 1) % 3], number], key_aval), key_aval)
    if flips:
        y = _flip_sign(ctx, y, out)
    if ctx.fences.enabled:  # a hundred operations are never to be repeated in each user of the bits
        ctx.fences.depth.update({x: DEPTH, y: DEPTH})
    return [x, y]


def _key_schedule(
    ctx: Any, words: Sequence[str], avals: Sequence[ShapedArray]
) -> tuple[list[str], ShapedArray]:
    """The key's two words and the third that follows from them, of one type."""
    aval = ShapedArray(common_shape("threefry2x32", avals), UINT32)
    words = [ctx.broadcast(w, a, aval, range(a.ndim)) for w, a in zip(words, avals, strict=True)]
    both = ctx.simple("xor", words, aval)
    third = ctx.simple("xor", [both, ctx.constant(_PARITY, aval)], aval)
    return [*words, third], aval


_SIGN = 0x80000000


def _flip_sign(ctx: Any, word: str, aval: ShapedArray) -> str:
    """The word with its highest bit changed, by the negation of a floating-point number.

    It undoes what was added to the key. LLVM's vectorizer asks of each value in turn whether all
    of its users need one lane only; through additions and xors it asks the users of the users, so
    here along 2**20 paths, but at a negation it stops. This halves the time to compile a draw.
    """
    floats = aval.update(dtype=np.float32)
    [number] = ctx.typed("bitcast_convert", [word], [aval], [floats])
    negative = ctx.simple("negate", [number], floats)
    return ctx.typed("bitcast_convert", [negative], [floats], [aval])[0]


def _rotate_left(ctx: Any, word: str, distance: int, aval: ShapedArray) -> str:
    left = ctx.simple("shift_left", [word, ctx.constant(distance, aval)], aval)
    right = ctx.simple("shift_right_logical", [word, ctx.constant(32 - distance, aval)], aval)
    return ctx.simple("or", [left, right], aval)


def _batch(axis: Any, args: list[Any], dims: Any) -> tuple[list[Any], list[int]]:
    ranks = [typeof(x).ndim - (d is not None) for x, d in zip(args, dims, strict=True)]
    if ranks[:2] == [0, 0] and dims[2:] == (None, None):  # many keys, the counters of one draw
        counter_shape = common_shape("threefry2x32", [typeof(x) for x in args[2:]])
        if goes_last(axis.size, counter_shape):
            rank = len(counter_shape)
            return threefry2x32_p.bind(*_batch_last(args, dims, rank)), [rank, rank]
    outs, dim = batch_elementwise(threefry2x32_p, axis, args, dims, {})
    return list(outs), [dim, dim]


def _batch_last(args: list[Any], dims: Any, rank: int) -> list[Any]:
    """Operands that broadcast to the counters' axes, and the keys' axis behind them."""
    keys = [
        x if d is None else lax.reshape(x, (1,) * rank + typeof(x).shape)
        for x, d in zip(args[:2], dims[:2], strict=True)
    ]
    counters = [lax.reshape(x, (*typeof(x).shape, 1)) if typeof(x).ndim else x for x in args[2:]]
    return keys + counters


threefry2x32_p = Primitive(
    "threefry2x32",
    abstract=_abstract,
    lower=_lower,
    batch=_batch,
    multiple_results=True,
    differentiable=False,
)

# --- words ----------------------------------------------------------------------------------------


def _to(x: Any, dtype: np.dtype) -> Any:
    """Integers modulo the range of ``dtype``, which may be a 64-bit one even while x64 is off."""
    if typeof(x).dtype == dtype:
        return x
    return lax.convert_element_type_p.bind(x, new_dtype=dtype, weak_type=False)


def _scalar(number: int, dtype: np.dtype) -> Any:
    """A constant. One of 64 bits is put together from words, to be that even while x64 is off."""
    if dtype.itemsize < 8:
        return dtype.type(number)
    words = np.array([number % 2**32, number >> 32], UINT32)
    return lax.bitcast_convert_type_p.bind(words, new_dtype=dtype)


def _join(high: Any, low: Any) -> Any:
    """64-bit integers from their two words."""
    high = lax.shift_left(_to(high, UINT64), _scalar(32, UINT64))
    return lax.bitwise_or(high, _to(low, UINT64))


def _pair(first: Any, second: Any) -> Any:
    """Two arrays of words as one of pairs, along a new last axis.

    By way of 64-bit integers, it is one vectorized kernel; a concatenation is one with a branch.
    """
    return lax.bitcast_convert_type(_join(second, first), UINT32)


def _counters(shape: Shape) -> list[Any]:
    """The high and low words of 0, 1, ... along the elements of an array."""
    wide = math.prod(shape) > 2**32
    dtype = UINT64 if wide else UINT32
    total = None
    for axis in range(len(shape)):
        position = lax.iota_p.bind(dtype=dtype, shape=shape, dimension=axis)
        step = math.prod(shape[axis + 1 :])
        if step != 1:
            position = lax.mul(position, _scalar(step, dtype))
        total = position if total is None else lax.add(total, position)
    if total is None:
        return [np.uint32(0)] * 2
    high = lax.shift_right_logical(total, _scalar(32, UINT64)) if wide else np.uint32(0)
    return [_to(high, UINT32), _to(total, UINT32)]


_BLOCK = 2**32 - 1  # words that one key gives in halves; beyond, it is split


def _words_in_halves(key: Any, size: int) -> Any:
    """``size`` words: the encrypted pairs of a first half of counters with a second."""
    blocks, rest = divmod(size, _BLOCK)
    if not blocks:
        return _block_in_halves(lax.unstack(key), size)
    sizes = [_BLOCK] * blocks + [rest]
    keys = lax.unstack(lax.reshape(_words_in_halves(key, 2 * len(sizes)), (len(sizes), 2)))
    parts = [_block_in_halves(lax.unstack(k), n) for k, n in zip(keys, sizes, strict=True)]
    return lax.concatenate(parts, 0)


def _block_in_halves(key_words: Sequence[Any], size: int) -> Any:
    half = -(-size // 2)
    first, second = threefry2x32(key_words, _half_counters(size))
    # Chosen from both results, not concatenated: the kernel's loop has no branch.
    shape = (2, half)
    in_second = lax.eq(lax.broadcasted_iota(UINT32, shape, 0), np.uint32(1))
    first, second = [lax.broadcast_in_dim(w, shape, (1,)) for w in (first, second)]
    words = lax.reshape(lax.select(in_second, second, first), (2 * half,))
    return lax.slice(words, (0,), (size,)) if size % 2 else words


def _half_counters(size: int) -> list[Any]:
    """0, 1, ... in two halves; if the second lacks one, it ends in a zero."""
    half = -(-size // 2)
    first = lax.iota(UINT32, half)
    second = lax.add(first, np.uint32(half))
    if size % 2:
        beyond = lax.eq(second, np.uint32(size))
        second = lax.select(beyond, lax.full((half,), 0, UINT32), second)
    return [first, second]


# --- the implementation ---------------------------------------------------------------------------


def seed(number: Any) -> Any:
    """The key that holds an integer: a 64-bit one fills both words, any other the second alone."""
    aval = typeof(number)
    if dtypes.itemsize_bits(aval.dtype) == 64:
        high = lax.shift_right_logical(number, _scalar(32, aval.dtype))
        return lax.stack([_to(high, UINT32), _to(number, UINT32)])
    signed = dtypes.is_signed(aval.dtype)
    low = _to(_to(number, np.dtype(np.int32)) if signed else number, UINT32)
    return lax.stack([np.uint32(0), low])


def split(key: Any, shape: Shape) -> Any:
    """New keys: the pairs of words at counters 0, 1, ..., or pairs of the words in halves."""
    if threefry_partitionable.value:
        return _pair(*threefry2x32(lax.unstack(key), _counters(shape)))
    return lax.reshape(_words_in_halves(key, 2 * math.prod(shape)), (*shape, 2))


def fold_in(key: Any, data: Any) -> Any:
    """The key made of the pair of words at the counter ``data``."""
    return lax.stack(threefry2x32(lax.unstack(key), [np.uint32(0), data]))


def random_bits(key: Any, width: int, shape: Shape) -> Any:
    """Random unsigned integers of ``width`` bits: 8, 16, 32 or 64."""
    dtype = np.dtype(f"uint{width}")
    if threefry_partitionable.value:
        first, second = threefry2x32(lax.unstack(key), _counters(shape))
        if width == 64:
            return _join(first, second)
        return _to(lax.bitwise_xor(first, second), dtype)
    return lax.reshape(_bits_in_halves(key, width, math.prod(shape)), shape)


def _bits_in_halves(key: Any, width: int, size: int) -> Any:
    dtype = np.dtype(f"uint{width}")
    if width == 64 and 2 * size <= _BLOCK:
        return _join(*threefry2x32(lax.unstack(key), _half_counters(2 * size)))
    if width == 64:
        return _join(*lax.split(_words_in_halves(key, 2 * size), (size, size)))
    words = _words_in_halves(key, -(-size * width // 32))
    if width == 32:
        return words
    pieces = lax.bitcast_convert_type(words, dtype)  # of each word, the lowest first
    return lax.slice(lax.reshape(pieces, (math.prod(pieces.shape),)), (0,), (size,))


def work_shape(shape: Shape) -> Shape:
    """Where each element has its own counter, any shape will do."""
    return flat_work_shape(shape) if threefry_partitionable.value else shape


THREEFRY = register(
    KeyImplementation(
        "threefry2x32",
        "fry",
        (2,),
        seed=seed,
        split=split,
        fold_in=fold_in,
        random_bits=random_bits,
        work_shape=work_shape,
    )
)

"""Order statistics: the elements that sorting would put at given ranks.

On CPUs a few ranks of a long axis are found without sorting: by bisection on the bits of the keys,
from the highest down. Each bit takes one count of the keys below a bound (measured: the median of a
million float32 takes a third of the time that sorting takes).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from covector import lax
from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector._trace.primitive import Primitive
from covector._trace.trace import typeof
from covector._transform.batch import move_batch_axis
from covector.errors import ShapeError
from covector.lax.shape import broadcast_in_dim
from covector.lax.sort import lower_by_platform, reordered, sort, sorting_permutation
from covector.lax.sort_keys import decode, encode

# Bisection takes a pass over the keys for each bit and rank; sorting takes more the longer the row.
_FEW_RANKS = 2
_LONG_AXIS = 4096


def order_statistics(operand: Any, ranks: Any) -> list[Any]:
    """The elements at ``ranks`` of each row (the last axis), if it were sorted, and those after.

    Args:
      operand: real numbers; nan comes last.
      ranks: integers, of ``operand``'s shape but for the last axis; each at least 0 and less than
        the length of a row. Not differentiated.

    Returns a list of the elements at ``ranks`` and of those at ``ranks + 1`` (the last has itself).

    >>> order_statistics(np.array([3., 1., 2.], np.float32), np.array([0, 2]))
    [Array([1., 3.], dtype=float32), Array([2., 3.], dtype=float32)]
    """
    return list(order_statistics_p.bind(operand, lax.convert_element_type(ranks, np.int32)))


def _abstract(operand: ShapedArray, ranks: ShapedArray) -> list[ShapedArray]:
    if operand.shape[:-1] != ranks.shape[:-1]:
        raise ShapeError(
            f"order_statistics: operand {operand.str_short()} and ranks {ranks.str_short()} must "
            "have the same shape but for the last axis."
        )
    return [operand.update(shape=ranks.shape)] * 2


def _next(ranks: Any, length: int) -> Any:
    return lax.min(lax.add(ranks, np.int32(1)), np.int32(length - 1))


def _taken(x: Any, places: Any) -> Any:
    return reordered(x, places, typeof(x).ndim - 1, may_repeat=True)


def _on_cpu(x: Any, ranks: Any) -> list[Any]:
    few = typeof(ranks).shape[-1] <= _FEW_RANKS
    if few and x.shape[-1] >= _LONG_AXIS and not dtypes.is_complex(x.dtype):
        return _by_bisection(x, ranks)
    return _by_sorting(x, ranks)


def _by_sorting(x: Any, ranks: Any) -> list[Any]:
    row = sort(x, is_stable=False)
    return [_taken(row, r) for r in (ranks, _next(ranks, x.shape[-1]))]


def _by_bisection(x: Any, ranks: Any) -> list[Any]:
    """The key of a rank is the greatest bound that has at most ``rank`` keys below it.

    The key after it is the same if more keys are not above it, else the least of those above.
    """
    word = encode(x, equal_zeros=False)
    if dtypes.is_bool(word.value.dtype):
        word = word._replace(value=lax.convert_element_type(word.value, np.uint8))
    unsigned = word.value.dtype
    shape, last = (*typeof(ranks).shape, x.shape[-1]), x.ndim
    keys = broadcast_in_dim(word.value, shape, (*range(last - 1), last))

    def spread(bound: Any) -> Any:
        return broadcast_in_dim(bound, shape, range(last))

    def count(mask: Any) -> Any:
        return lax.reduce_sum(lax.convert_element_type(mask, np.int32), (last,))

    def with_bit(step: Any, found: Any) -> Any:
        bit = lax.sub(unsigned.type(word.bits - 1), lax.convert_element_type(step, unsigned))
        bound = lax.bitwise_or(found, lax.shift_left(unsigned.type(1), bit))
        return lax.select(lax.le(count(lax.lt(keys, spread(bound))), ranks), bound, found)

    found = lax.fori_loop(0, word.bits, with_bit, lax.full(typeof(ranks).shape, 0, unsigned))
    is_above = lax.gt(keys, spread(found))
    most = lax.full(shape, unsigned.type(np.iinfo(unsigned).max))
    above = lax.reduce_min(lax.select(is_above, keys, most), (last,))
    not_above = lax.sub(np.int32(x.shape[-1]), count(is_above))
    after = lax.select(lax.lt(_next(ranks, x.shape[-1]), not_above), found, above)
    return [decode(key, None, x.dtype) for key in (found, after)]


def _jvp(primals: list, tangents: list) -> tuple[list, list]:
    operand, ranks = primals
    last = typeof(operand).ndim - 1
    order = sorting_permutation([operand], last)
    places = [_taken(order, r) for r in (ranks, _next(ranks, typeof(operand).shape[-1]))]
    outs, out_tangents = [[_taken(x, p) for p in places] for x in (operand, tangents[0])]
    return outs, out_tangents


def _batch(axis: Any, args: list, dims: tuple) -> tuple[list, list]:
    operand, ranks = (move_batch_axis(x, axis.size, d, 0) for x, d in zip(args, dims))
    return order_statistics(operand, ranks), [0, 0]


order_statistics_p = Primitive(
    "order_statistics",
    abstract=_abstract,
    lower=lower_by_platform(_on_cpu, _by_sorting),
    jvp=_jvp,
    batch=_batch,
    multiple_results=True,
)

__all__ = ["order_statistics", "order_statistics_p"]

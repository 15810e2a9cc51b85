"""Reductions over segments: the rows of an array, combined by group.

Each function gives, at position i, the combination of those rows of ``data`` whose segment id is
i. It is the neutral element where there are none, and ids out of range are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from covector import lax
from covector._ir import dtypes
from covector._trace.trace import Tracer, typeof
from covector.errors import ConcretizationTypeError
from covector.lax.scatter import ScatterDimensionNumbers


def _lowest(dtype: np.dtype) -> Any:
    return False if dtype.kind == "b" else _bound(dtype, "min")


def _greatest(dtype: np.dtype) -> Any:
    return True if dtype.kind == "b" else _bound(dtype, "max")


def _bound(dtype: np.dtype, which: str) -> Any:
    if dtypes.is_float(dtype):
        return -np.inf if which == "min" else np.inf
    return getattr(dtypes.iinfo(dtype), which)


# name: how to scatter, the neutral element of a dtype, how to reduce over axes
_KINDS: dict[str, tuple[Callable[..., Any], Callable[[np.dtype], Any], str]] = {
    "segment_sum": (lax.scatter_add, lambda dtype: 0, "reduce_sum"),
    "segment_prod": (lax.scatter_mul, lambda dtype: 1, "reduce_prod"),
    "segment_max": (lax.scatter_max, _lowest, "reduce_max"),
    "segment_min": (lax.scatter_min, _greatest, "reduce_min"),
}


def _segments(
    name: str,
    data: Any,
    ids: Any,
    num_segments: int | None,
    indices_are_sorted: bool,
    unique_indices: bool,
    bucket_size: int | None,
    mode: Any,
    out_sharding: Any,
) -> Any:
    if out_sharding is not None:
        raise NotImplementedError(f"{name}: out_sharding is not offered.")
    scatter, neutral, reduce = _KINDS[name]
    data, ids = [x if hasattr(x, "aval") else np.asarray(x) for x in (data, ids)]
    aval, places = typeof(data), typeof(ids)
    if len(places.shape) != 1 or aval.shape[:1] != places.shape:
        raise ValueError(
            f"{name}: segment_ids must be one-dimensional, with an id for each row of data, but "
            f"segment_ids has shape {places.shape} and data has shape {aval.shape}."
        )
    length = _number_of_segments(name, ids, num_segments)
    rest = aval.shape[1:]
    where = lax.reshape(ids, (places.size, 1))
    size = max(places.size, 1) if bucket_size is None else int(bucket_size)
    numbers = ScatterDimensionNumbers(
        update_window_dims=tuple(range(1, 1 + len(rest))),
        inserted_window_dims=(0,),
        scatter_dims_to_operand_dims=(0,),
    )
    start = lax.full((length, *rest), np.asarray(neutral(aval.dtype), aval.dtype))

    def combine(first: int) -> Any:
        last = min(first + size, places.size)
        return scatter(
            start,
            lax.slice_in_dim(where, first, last),
            lax.slice_in_dim(data, first, last),
            numbers,
            indices_are_sorted=indices_are_sorted,
            unique_indices=unique_indices,
            mode=lax.GatherScatterMode.FILL_OR_DROP if mode is None else mode,
        )

    parts = [combine(first) for first in range(0, max(places.size, 1), size)]
    if len(parts) == 1:
        return parts[0]
    stacked = lax.concatenate([lax.expand_dims(x, (0,)) for x in parts], 0)
    return getattr(lax, reduce)(stacked, (0,))


def _number_of_segments(name: str, ids: Any, given: int | None) -> int:
    if given is None:
        if isinstance(ids, Tracer):
            raise ConcretizationTypeError(
                f"{name}: num_segments must be given where segment_ids is traced, since it sets "
                "the result's shape. Pass it as a Python int."
            )
        return max(int(np.max(np.asarray(ids), initial=-1)) + 1, 0)
    if given < 0:
        raise ValueError(f"{name}: num_segments must be non-negative, got {given}.")
    return int(given)


# --- what users call ------------------------------------------------------------------------------

_DOC = """{verb} of the rows of each segment.

    Args:
      data: an array of shape ``(n, ...)``.
      segment_ids: integers of shape ``(n,)``, which may repeat, and need not be sorted. Negative
        ids are out of range.
      num_segments: the length of the result; by default one more than the largest id. Must be
        given where the ids are traced.
      indices_are_sorted: promise that the ids are in order, which may be faster.
      unique_indices: promise that no id occurs twice.
      bucket_size: combine so many rows at a time, and then the results, which rounds sums less.
      mode: what to do with ids out of range, a `lax.GatherScatterMode`; by default they are
        dropped.

    Raises:
      ConcretizationTypeError: the ids are traced, and ``num_segments`` is not given.
      ValueError: ``num_segments`` is negative, or there is not one id for each row of data.
      NotImplementedError: ``out_sharding`` is given.

    >>> import covector.ops, numpy
    >>> print(covector.ops.{name}(numpy.array([2.0, 3.0, 4.0]), numpy.array([0, 0, 1])))
    {example}
    """


def _segment(name: str, verb: str, example: str) -> Callable[..., Any]:
    def segment(
        data: Any,
        segment_ids: Any,
        num_segments: int | None = None,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        bucket_size: int | None = None,
        mode: Any = None,
        out_sharding: Any = None,
    ) -> Any:
        return _segments(
            name,
            data,
            segment_ids,
            num_segments,
            indices_are_sorted,
            unique_indices,
            bucket_size,
            mode,
            out_sharding,
        )

    segment.__name__ = segment.__qualname__ = name
    segment.__doc__ = _DOC.format(verb=verb, name=name, example=example)
    return segment


segment_sum = _segment("segment_sum", "Sums", "[5. 4.]")
segment_prod = _segment("segment_prod", "Products", "[6. 4.]")
segment_max = _segment("segment_max", "Maxima", "[3. 4.]")
segment_min = _segment("segment_min", "Minima", "[2. 4.]")

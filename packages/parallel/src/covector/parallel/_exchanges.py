"""Collectives that move data along a named axis: `all_gather`, `all_to_all`, `ppermute`, ...

The primitives work along one axis and on tiles: pieces of an array's axis. A collective over
several axes is one over each; the untiled forms add, drop or move an axis of size one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from covector import lax, tree
from covector._ir.avals import ShapedArray
from covector._trace.primitive import LINEAR, Primitive
from covector._trace.stage import stage_rule
from covector._trace.trace import typeof
from covector._transform.batch import NamedAxis, move_batch_axis
from covector.lax._axes import canonical_axis
from covector.lax._region import lower_with_region
from covector.lax.compare import zero_unless
from covector.lax.filling import full_of
from covector.lax.shape import move_axis
from covector.parallel._devices import (
    channel,
    device_groups,
    device_index,
    group_attributes,
    manual_axis,
)
from covector.parallel._names import (
    AxisName,
    axis_size,
    bound_size,
    index_groups,
    names_in,
    single_name,
)
from covector.parallel._reductions import no_groups, psum

# --- what users call: gathering and scattering ----------------------------------------------------


def all_gather(
    x: Any,
    axis_name: AxisName,
    *,
    axis_index_groups: Any = None,
    axis: int = 0,
    tiled: bool = False,
    to: str = "varying",
) -> Any:
    """All the values of ``x`` along a named axis, stacked in a new ``axis``; trees leaf by leaf.

    Args:
      axis_index_groups: lists of indices along the axis, of one size; each gathers among its own.
      tiled: join the values along an ``axis`` that ``x`` has, instead of making a new one.
      to: only 'varying' is offered: the result is one value for each index.

    Raises:
      NameError: no enclosing function brings the name into scope.
      ValueError: ``axis`` is out of bounds.

    >>> covector.vmap(lambda x: lax.all_gather(x, "i"), axis_name="i")(np.arange(2))
    Array([[0, 1],
           [0, 1]], dtype=int32)
    """
    if to != "varying":
        raise NotImplementedError(f"all_gather: to must be 'varying', got {to!r}.")
    names, sizes, groups = _bound_axes("all_gather", axis_name, axis_index_groups)

    def one(x: Any) -> Any:
        position = canonical_axis("all_gather", axis, typeof(x).ndim + (not tiled))
        if not tiled:
            x = lax.expand_dims(x, (position,))
        for name, size in reversed(list(zip(names, sizes, strict=True))):
            count = len(groups[0]) if groups else size
            x = all_gather_p.bind(x, axis_name=name, count=count, dimension=position, groups=groups)
        return x

    return tree.map(one, x)


def psum_scatter(
    x: Any,
    axis_name: AxisName,
    *,
    scatter_dimension: int = 0,
    axis_index_groups: Any = None,
    tiled: bool = False,
) -> Any:
    """`psum`, of which each index of the named axis keeps its own piece of ``scatter_dimension``.

    That axis has the named axis's size, and is dropped; with ``tiled`` it is only divided by it.

    Raises:
      NameError: no enclosing function brings the name into scope.
      ValueError: ``scatter_dimension`` is out of bounds, or of another size.

    >>> covector.vmap(lambda x: lax.psum_scatter(x, "i"), axis_name="i")(np.ones((3, 3)))
    Array([3., 3., 3.], dtype=float32)
    """
    names, sizes, groups = _bound_axes("psum_scatter", axis_name, axis_index_groups)
    total = len(groups[0]) if groups else math.prod(sizes)

    def one(x: Any) -> Any:
        shape = typeof(x).shape
        position = canonical_axis("psum_scatter", scatter_dimension, len(shape))
        _check_pieces("psum_scatter", "scatter_dimension", shape, position, total, tiled)
        for name, size in zip(names, sizes, strict=True):
            count = len(groups[0]) if groups else size
            x = reduce_scatter_p.bind(
                x, axis_name=name, count=count, dimension=position, groups=groups
            )
        return x if tiled else lax.squeeze(x, (position,))

    return tree.map(one, x)


def psum_scatter_start(*args: Any, **kwargs: Any) -> Any:
    """The first half of an asynchronous `psum_scatter`, which no platform offers here.

    Raises `NotImplementedError`; use `psum_scatter`.
    """
    raise NotImplementedError(
        "psum_scatter_start: asynchronous collectives are not offered. Use psum_scatter; the "
        "compiler overlaps it with other work where it can."
    )


def _bound_axes(function: str, axis_name: AxisName, axis_index_groups: Any) -> tuple:
    names = names_in(axis_name)
    sizes = [bound_size(name, function) for name in names]
    if axis_index_groups is not None and len(names) != 1:
        raise ValueError(f"{function}: axis_index_groups needs a single axis name, got {names}.")
    return names, sizes, index_groups(axis_index_groups, math.prod(sizes), function)


def _check_pieces(
    function: str, argument: str, shape: tuple, axis: int, count: int, tiled: bool
) -> None:
    """An axis falls into ``count`` pieces: of size one, unless ``tiled``."""
    if shape[axis] % count or not (tiled or shape[axis] == count):
        raise ValueError(
            f"{function}: the size of {argument} must {'be divisible by' if tiled else 'equal'} "
            f"that of the named axis, {count}, but {argument} {axis} of the operand, which has "
            f"shape {shape}, has size {shape[axis]}."
        )


# --- what users call: exchanging ------------------------------------------------------------------


def all_to_all(
    x: Any,
    axis_name: AxisName,
    split_axis: int,
    concat_axis: int,
    *,
    axis_index_groups: Any = None,
    tiled: bool = False,
) -> Any:
    """Split ``x`` along ``split_axis``, send piece i to index i, and stack what arrives.

    Args:
      split_axis: has the size of the named axis, and is dropped.
      concat_axis: where the received pieces' axis stands in the result.
      tiled: ``split_axis`` is only divided by that size, and ``concat_axis`` multiplied by it.

    Raises:
      NameError: no enclosing function brings the name into scope.
      ValueError: an axis is out of bounds, or of another size.

    >>> transposed = covector.vmap(lambda x: lax.all_to_all(x, "i", 0, 0), axis_name="i")
    >>> transposed(np.arange(4).reshape(2, 2))
    Array([[0, 2],
           [1, 3]], dtype=int32)
    """
    names, sizes, groups = _bound_axes("all_to_all", axis_name, axis_index_groups)
    exchange = partial(_all_to_all, names=names, sizes=sizes, groups=groups, tiled=tiled)
    return tree.map(lambda leaf: exchange(leaf, split_axis, concat_axis), x)


def _all_to_all(
    x: Any, split: int, concat: int, *, names: Any, sizes: Any, groups: Any, tiled: bool
) -> Any:
    shape = typeof(x).shape
    split = canonical_axis("all_to_all", split, len(shape))
    concat = canonical_axis("all_to_all", concat, len(shape))
    total = len(groups[0]) if groups else math.prod(sizes)
    _check_pieces("all_to_all", "split_axis", shape, split, total, tiled)
    # Pieces are exchanged in place, each named axis along an array axis of its own, then moved.
    counts = [len(groups[0])] if groups else list(sizes)
    piece = shape[split] // total
    x = lax.reshape(x, (*shape[:split], *counts, piece, *shape[split + 1 :]))
    for i, (name, count) in enumerate(zip(names, counts, strict=True)):
        x = all_to_all_p.bind(x, axis_name=name, count=count, dimension=split + i, groups=groups)
    x = lax.reshape(x, (*shape[:split], total, piece, *shape[split + 1 :]))
    if not tiled:
        return move_axis(lax.squeeze(x, (split + 1,)), split, concat)
    x = move_axis(x, split, concat)  # just before the axis that it multiplies
    result = list(shape)
    result[split] = piece
    result[concat] *= total
    return lax.reshape(x, tuple(result))


def pswapaxes(x: Any, axis_name: AxisName, axis: int, *, axis_index_groups: Any = None) -> Any:
    """Exchange a named axis with ``axis`` of the array, which has the same size.

    Raises `NameError` if no enclosing function brings the name into scope.

    >>> covector.vmap(lambda x: lax.pswapaxes(x, "i", 0), axis_name="i")(np.arange(4).reshape(2, 2))
    Array([[0, 2],
           [1, 3]], dtype=int32)
    """
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


def ppermute(x: Any, axis_name: AxisName, perm: Sequence[tuple[int, int]]) -> Any:
    """Send ``x`` from index ``s`` to ``d`` for each pair ``(s, d)`` of ``perm``; others get zeros.

    Raises:
      NameError: no enclosing function brings the name into scope.
      ValueError: an index occurs twice as a source or destination, or is out of range.

    >>> shift = covector.vmap(lambda x: lax.ppermute(x, "i", [(0, 1), (1, 2)]), axis_name="i")
    >>> shift(np.arange(1, 4))
    Array([0, 1, 2], dtype=int32)
    """
    names = names_in(axis_name)
    size = math.prod([bound_size(name, "ppermute") for name in names])
    pairs = tuple([(int(source), int(destination)) for source, destination in perm])
    for indices in (list(side) for side in zip(*pairs)):
        if len(set(indices)) != len(indices):
            raise ValueError(f"ppermute sources and destinations must be unique, got {pairs}.")
        if not all(0 <= i < size for i in indices):
            raise ValueError(
                f"ppermute: perm must hold indices from 0 to {size - 1} along axis {axis_name!r}, "
                f"got {pairs}."
            )
    return tree.map(lambda leaf: ppermute_p.bind(leaf, axes=names, perm=pairs), x)


def pshuffle(x: Any, axis_name: AxisName, perm: Sequence[int]) -> Any:
    """Reorder ``x`` along a named axis: index i of the result is index ``perm[i]`` of ``x``.

    Raises:
      NameError: no enclosing function brings the name into scope.
      ValueError: ``perm`` is no order of the axis's indices.

    >>> covector.vmap(lambda x: lax.pshuffle(x, "i", [2, 0, 1]), axis_name="i")(np.arange(3))
    Array([2, 0, 1], dtype=int32)
    """
    size = axis_size(axis_name)
    if sorted(perm) != list(range(size)):
        raise ValueError(f"pshuffle: perm must be an order of 0 to {size - 1}, got {list(perm)}.")
    return ppermute(x, axis_name, list(zip(perm, range(size))))


def pbroadcast(x: Any, axis_name: AxisName, source: int) -> Any:
    """The ``x`` of index ``source`` along a named axis, for every index.

    Raises `NameError` if no enclosing function brings the name into scope.

    >>> covector.vmap(lambda x: lax.pbroadcast(x, "i", 1), axis_name="i")(np.arange(3))
    Array([1, 1, 1], dtype=int32)
    """
    is_source = lax.eq(axis_index(axis_name), np.int32(source))
    return tree.map(
        lambda leaf: lax.convert_element_type(
            psum(zero_unless(is_source, leaf), axis_name), typeof(leaf).dtype
        ),
        x,
    )


def axis_index(axis_name: AxisName) -> Any:
    """This position along a named axis, an int32; along several, counted in row-major order.

    Raises `NameError` if no enclosing function brings the name into scope.

    >>> covector.vmap(lambda x: lax.add(x, lax.axis_index("i")), axis_name="i")(np.ones(3, int))
    Array([1, 2, 3], dtype=int32)
    """
    index = None
    for name in names_in(axis_name):
        size = bound_size(name, "axis_index")
        here = axis_index_p.bind(axis_name=name, size=size)
        index = here if index is None else lax.add(lax.mul(index, np.int32(size)), here)
    return np.int32(0) if index is None else index


# --- the primitives -------------------------------------------------------------------------------


def _effects_of_name(params: dict) -> frozenset:
    return frozenset([NamedAxis(params["axis_name"])])


def _to_front(axis: Any, x: Any, dim: int | None) -> Any:
    return move_batch_axis(x, axis.size, dim, 0)


def _along_dimension(
    name: str,
    attributes: str,
    resize: Callable[[int, int], int],
    own: Callable[..., tuple[Any, int | None]],
    transpose: Callable[[], Primitive],
) -> Primitive:
    """A primitive among the ``count`` indices of one named axis, along one ``dimension``.

    ``attributes`` are those of the StableHLO operation of that ``name``, ``resize`` maps the
    dimension's size and the count to the new size. ``own(x, count, dimension)`` is the batching
    rule over that very axis, which is in front; along another axis, all dimensions move up.
    """

    def abstract(aval: ShapedArray, *, dimension: int, count: int, **params: Any) -> ShapedArray:
        shape = list(aval.shape)
        shape[dimension] = resize(shape[dimension], count)
        return aval.update(shape=tuple(shape))

    def lower(ctx: Any, args: Any, in_avals: Any, out_avals: Any, **params: Any) -> Any:
        if params["count"] == 1:
            return args
        groups = device_groups(ctx, [params["axis_name"]], params["groups"])
        among = group_attributes(ctx, groups, global_ids=name != "all_to_all")
        text = f"{attributes.format(**params)}, {among}"
        if name == "reduce_scatter":
            scalar = out_avals[0].update(shape=())
            body = stage_rule(lambda x, y: [lax.add(x, y)], [scalar, scalar])
            return lower_with_region(ctx, name, args, text, body, in_avals, out_avals)
        types = f"({in_avals[0].mlir}) -> {out_avals[0].mlir}"
        return ctx.emit(f'"stablehlo.{name}"({args[0]}) <{{{text}}}> : {types}')

    def batch(axis: Any, args: Any, dims: Any, **params: Any) -> tuple[Any, Any]:
        (x,), (dim,) = args, dims
        if axis.name is not None and axis.name == params["axis_name"]:
            if params["groups"] is not None:
                raise no_groups(name)
            return own(_to_front(axis, x, dim), params["count"], params["dimension"])
        if dim is None:
            return primitive.bind(x, **params), None
        params["dimension"] += 1
        return primitive.bind(_to_front(axis, x, dim), **params), 0

    primitive = Primitive(
        name,
        abstract=abstract,
        lower=lower,
        jvp=LINEAR,
        transpose=lambda ct, x, **params: [transpose().bind(ct, **params)],
        batch=batch,
        effects=_effects_of_name,
    )
    return primitive


def _own_gather(x: Any, count: int, dimension: int) -> tuple[Any, None]:
    x = move_axis(x, 0, dimension)
    return lax.collapse(x, dimension, dimension + 2), None


def _own_scatter(x: Any, count: int, dimension: int) -> tuple[Any, int]:
    return _in_pieces(lax.reduce_sum(x, (0,)), count, dimension), dimension


def _own_exchange(x: Any, count: int, dimension: int) -> tuple[Any, int]:
    """The mapped axis and the pieces' axis change places."""
    shape = typeof(x).shape
    x = _in_pieces(x, count, dimension + 1)
    order = list(range(len(shape) + 1))
    order[0], order[dimension + 1] = order[dimension + 1], order[0]
    return lax.reshape(lax.transpose(x, order), shape), 0


def _in_pieces(x: Any, count: int, dimension: int) -> Any:
    shape = typeof(x).shape
    pieces = (count, shape[dimension] // count)
    return lax.reshape(x, (*shape[:dimension], *pieces, *shape[dimension + 1 :]))


all_gather_p = _along_dimension(
    "all_gather",
    "all_gather_dim = {dimension} : i64",
    lambda size, count: size * count,
    _own_gather,
    lambda: reduce_scatter_p,
)
reduce_scatter_p = _along_dimension(
    "reduce_scatter",
    "scatter_dimension = {dimension} : i64",
    lambda size, count: size // count,
    _own_scatter,
    lambda: all_gather_p,
)
all_to_all_p = _along_dimension(
    "all_to_all",
    "split_dimension = {dimension} : i64, concat_dimension = {dimension} : i64, "
    "split_count = {count} : i64",
    lambda size, count: size,
    _own_exchange,
    lambda: all_to_all_p,
)


def _lower_ppermute(
    ctx: Any, args: Any, in_avals: Any, out_avals: Any, *, axes: Any, perm: Any
) -> list[str]:
    if not perm:
        return [ctx.constant(0, out_avals[0])]
    groups = device_groups(ctx, axes)
    pairs = [f"[{group[s]}, {group[d]}]" for group in groups for s, d in perm]
    if len(groups[0]) == 1:
        return args
    return ctx.emit(
        f'"stablehlo.collective_permute"({args[0]}) <{{source_target_pairs = '
        f"dense<[{', '.join(pairs)}]> : tensor<{len(pairs)}x2xi64>, {channel(ctx)}}}> : "
        f"({in_avals[0].mlir}) -> {out_avals[0].mlir}"
    )


def _batch_ppermute(axis: Any, args: Any, dims: Any, *, axes: Any, perm: Any) -> tuple[Any, Any]:
    (x,), (dim,) = args, dims
    if axis.name is None or axis.name not in axes:
        return ppermute_p.bind(x, axes=axes, perm=perm), dim
    single_name(axes, "ppermute over axes of vmap")
    x = _to_front(axis, x, dim)
    sources = np.full(axis.size, -1, np.int32)
    for source, destination in perm:
        sources[destination] = source
    received = lax.index_take(x, (np.maximum(sources, 0),), (0,))
    if (sources >= 0).all():
        return received, 0
    arrived = np.broadcast_to((sources >= 0).reshape(-1, *[1] * (x.ndim - 1)), x.shape)
    return lax.select(arrived, received, full_of(x.aval, 0)), 0


ppermute_p = Primitive(
    "ppermute",
    abstract=lambda aval, *, axes, perm: aval,
    lower=_lower_ppermute,
    jvp=LINEAR,
    transpose=lambda ct, x, *, axes, perm: [
        ppermute_p.bind(ct, axes=axes, perm=tuple([(d, s) for s, d in perm]))
    ],
    batch=_batch_ppermute,
    effects=lambda params: frozenset([NamedAxis(a) for a in params["axes"]]),
)

axis_index_p = Primitive(
    "axis_index",
    abstract=lambda *, axis_name, size: ShapedArray((), np.int32),
    lower=lambda ctx, args, in_avals, out_avals, *, axis_name, size: [
        device_index(ctx, manual_axis(ctx, axis_name))
    ],
    batch=lambda axis, args, dims, *, axis_name, size: (
        (lax.iota(np.int32, size), 0)
        if axis.name == axis_name
        else (axis_index_p.bind(axis_name=axis_name, size=size), None)
    ),
    effects=_effects_of_name,
    differentiable=False,
)

"""Products of matrices with groups of rows: `ragged_dot` and `ragged_dot_general`.

Rows of one operand belong to groups, one after the other, whose sizes are data. What users call
brings every form into one of two: `grouped_rows_p`, in which the rows of a group meet a matrix of
their own, and `grouped_outer_p`, in which each group has a sum of its own. Each is the other's
derivative.

On CPU a loop over the groups takes a block of rows at a time, so that each row is multiplied once.
(Masking a product for every group, which XLA does, multiplies each row as often as there are
groups.) Elsewhere XLA's own ``chlo.ragged_dot`` is used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import index
from typing import Any, NamedTuple

import numpy as np

from covector import lax
from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector._lower.module import by_platform, lower_by
from covector._trace.primitive import Linear, Primitive
from covector._trace.trace import typeof
from covector._transform.batch import move_batch_axis
from covector.errors import ShapeError
from covector.lax.dot import (
    DimensionNumbers,
    DotDimensionNumbers,
    check_axes,
    dot_general,
    dot_general_p,
    other_axes,
    product_dtype,
)
from covector.lax.elementwise import add_any
from covector.lax.filling import full
from covector.lax.precision import (
    Precision,
    PrecisionLike,
    canonicalize_precision,
    swap_precision,
)
from covector.lax.shape import move_axis, reshape, transpose

Axes = tuple[int, ...]


@dataclass(frozen=True, init=False)
class RaggedDotDimensionNumbers:
    """Which axes a ragged product contracts, batches and divides into groups.

    Args:
      dot_dimension_numbers: as for `dot_general`.
      lhs_ragged_dimensions: the one axis of ``lhs`` that is divided into groups.
      rhs_group_dimensions: the axis of ``rhs`` that counts the groups, if the ragged axis is
        neither contracted nor a batch axis; else none.

    >>> RaggedDotDimensionNumbers((([1], [1]), ([], [])), [0], [0]).lhs_ragged_dimensions
    (0,)
    """

    dot_dimension_numbers: DimensionNumbers
    lhs_ragged_dimensions: Axes
    rhs_group_dimensions: Axes

    def __init__(
        self,
        dot_dimension_numbers: DotDimensionNumbers,
        lhs_ragged_dimensions: Sequence[int],
        rhs_group_dimensions: Sequence[int],
    ):
        (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dot_dimension_numbers
        contract = _axes(lhs_contract), _axes(rhs_contract)
        batch = _axes(lhs_batch), _axes(rhs_batch)
        object.__setattr__(self, "dot_dimension_numbers", (contract, batch))
        object.__setattr__(self, "lhs_ragged_dimensions", _axes(lhs_ragged_dimensions))
        object.__setattr__(self, "rhs_group_dimensions", _axes(rhs_group_dimensions))


def _axes(axes: Sequence[int]) -> Axes:
    return tuple([index(a) for a in axes])


def ragged_dot(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    group_offset: Any = None,
    out_sharding: Any = None,
) -> Any:
    """The product of each group of rows of ``lhs`` with a matrix of its own.

    Args:
      lhs: of shape ``(m, k)``.
      rhs: of shape ``(g, k, n)``: a matrix for each group.
      group_sizes: of shape ``(g,)``: the numbers of rows, integers. Rows after the last group give
        zeros.

    Returns an array of shape ``(m, n)``.

    Raises:
      TypeError: shapes do not fit, or sizes are no integers.
      NotImplementedError: ``group_offset`` or ``out_sharding`` is given.

    >>> import numpy as np
    >>> rows, matrices = np.ones((3, 1)), np.array([[[1.0]], [[2.0]]])
    >>> ragged_dot(rows, matrices, np.array([1, 2])).ravel()
    Array([1., 2., 2.], dtype=float32)
    """
    numbers = RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))
    options = (precision, preferred_element_type, group_offset, out_sharding)
    return _ragged_dot("ragged_dot", lhs, rhs, group_sizes, numbers, *options)


def ragged_dot_general(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    group_offset: Any = None,
    out_sharding: Any = None,
) -> Any:
    """A product of arrays, of which one axis of ``lhs`` is divided into groups of given sizes.

    If that axis is free, each group of it meets a part of ``rhs`` of its own. If it is contracted,
    each group has a result of its own, along a new first axis. If it is a batch axis, the groups
    make no difference, and the result is that of `dot_general`.

    Args:
      group_sizes: integers of shape ``(g,)``; or with leading axes for the batch axes of ``lhs``
        and for those of the ragged axis' kind (free or contracted) that come before it.

    Raises:
      TypeError: shapes or dimension numbers do not fit, or sizes are no integers.
      NotImplementedError: ``group_offset`` or ``out_sharding`` is given.

    >>> import numpy as np
    >>> numbers = RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), (0,), ())
    >>> ragged_dot_general(np.ones((5, 2)), np.ones((5, 3)), np.array([1, 4]), numbers).shape
    (2, 2, 3)
    """
    options = (precision, preferred_element_type, group_offset, out_sharding)
    numbers = ragged_dot_dimension_numbers
    return _ragged_dot("ragged_dot_general", lhs, rhs, group_sizes, numbers, *options)


def _ragged_dot(
    name: str,
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    numbers: RaggedDotDimensionNumbers,
    precision: PrecisionLike,
    preferred: Any,
    group_offset: Any,
    out_sharding: Any,
) -> Any:
    for argument, value in (("group_offset", group_offset), ("out_sharding", out_sharding)):
        if value is not None:
            raise NotImplementedError(f"{name}: {argument} is not offered; pass None.")
    form = _check(name, typeof(lhs), typeof(rhs), typeof(group_sizes), numbers)
    if form == "batch":
        return dot_general(lhs, rhs, numbers.dot_dimension_numbers, precision, preferred)
    dtype = product_dtype(name, typeof(lhs).dtype, typeof(rhs).dtype)
    if preferred is not None:
        dtype = dtypes.check_user_dtype(preferred, name)
    params = {"precision": canonicalize_precision(precision), "out_dtype": dtype}
    if form == "contract":
        return _contract_groups(lhs, rhs, group_sizes, numbers, params)
    return _multiply_groups(lhs, rhs, group_sizes, numbers, params)


# --- checks ---------------------------------------------------------------------------------------


def _check(
    name: str,
    lhs: ShapedArray,
    rhs: ShapedArray,
    sizes: ShapedArray,
    numbers: RaggedDotDimensionNumbers,
) -> str:
    """What kind of axis the ragged one is: "free", "contract" or "batch"."""
    if not dtypes.is_integer(sizes.dtype):
        raise TypeError(f"{name}: group_sizes must be integers, got {sizes.str_short()}.")
    check_axes(name, lhs, rhs, numbers.dot_dimension_numbers)
    ragged, groups = numbers.lhs_ragged_dimensions, numbers.rhs_group_dimensions
    if len(ragged) != 1:
        raise TypeError(f"{name} takes exactly one ragged axis of lhs, got {ragged}.")
    for which, axes, operand in (("lhs ragged", ragged, lhs), ("rhs group", groups, rhs)):
        if not all(0 <= a < operand.ndim for a in axes):
            raise ShapeError(
                f"{name}: {which} dimension numbers must be nonnegative and less than the number "
                f"of axes, got {axes} for an operand of shape {operand.shape}."
            )
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = numbers.dot_dimension_numbers
    form = "batch" if ragged[0] in lhs_batch else "free"
    form = "contract" if ragged[0] in lhs_contract else form
    if len(groups) != (form == "free"):
        raise TypeError(
            f"{name}: rhs must have {'one group axis' if form == 'free' else 'no group axis'} "
            f"when the ragged axis of lhs is a {form} axis, got {groups}."
        )
    if set(groups) & {*rhs_contract, *rhs_batch}:
        raise ShapeError(
            f"{name}: the group axis of rhs, {groups[0]}, must be none of its contracting and "
            f"batch axes {(*rhs_contract, *rhs_batch)}."
        )
    _check_sizes(name, lhs, rhs, sizes, numbers, form)
    return form


def _check_sizes(
    name: str,
    lhs: ShapedArray,
    rhs: ShapedArray,
    sizes: ShapedArray,
    numbers: RaggedDotDimensionNumbers,
    form: str,
) -> None:
    if sizes.ndim == 0:
        raise ShapeError(f"{name}: group_sizes must have at least one axis, got shape ().")
    num_groups = sizes.shape[-1]
    if form == "free" and rhs.shape[numbers.rhs_group_dimensions[0]] != num_groups:
        raise ShapeError(
            f"{name}: group_sizes of shape {sizes.shape} counts {num_groups} groups, but the group "
            f"axis of rhs (of shape {rhs.shape}) has size "
            f"{rhs.shape[numbers.rhs_group_dimensions[0]]}."
        )
    outer = _outer_axes(lhs.ndim, numbers, form)
    shape = (*[lhs.shape[a] for a in outer], num_groups)
    if sizes.ndim > 1 and sizes.shape != shape:
        raise ShapeError(
            f"{name}: group_sizes must have shape {(num_groups,)} or {shape}, got {sizes.shape}."
        )


def _outer_axes(ndim: int, numbers: RaggedDotDimensionNumbers, form: str) -> Axes:
    """The axes of ``lhs`` by whose positions the sizes of groups may differ."""
    (contract, _), (batch, _) = numbers.dot_dimension_numbers
    ragged = numbers.lhs_ragged_dimensions[0]
    if form == "batch":
        return batch[: batch.index(ragged)]
    kind = contract if form == "contract" else other_axes(ndim, contract, batch)
    return (*batch, *kind[: kind.index(ragged)])


# --- into the two forms ---------------------------------------------------------------------------


class _Rows(NamedTuple):
    """How the axes of the ragged axis' kind are put: those with sizes of their own, then rows."""

    outer: Axes
    inner: Axes


def _rows(kind: Axes, ragged: int, sizes_differ: bool) -> _Rows:
    """``kind`` holds axes, or positions of them in a list; so does the result."""
    before, after = kind[: kind.index(ragged)], kind[kind.index(ragged) + 1 :]
    return _Rows(before, after) if sizes_differ else _Rows((), before + after)


def _segments(group_sizes: Any, num_segments: int, row: int) -> Any:
    """The sizes of each segment's groups, counted in rows, of which ``row`` are one step."""
    sizes = lax.convert_element_type(group_sizes, np.int32)
    num_groups = sizes.shape[-1]
    if sizes.ndim == 1:
        sizes = lax.broadcast_in_dim(sizes, (num_segments, num_groups), (1,))
    sizes = reshape(sizes, (num_segments, num_groups))
    return sizes if row == 1 else lax.mul(sizes, np.int32(row))


def _shape(x: Any, axes: Axes) -> Axes:
    return tuple([typeof(x).shape[a] for a in axes])


def _multiply_groups(
    lhs: Any, rhs: Any, sizes: Any, numbers: RaggedDotDimensionNumbers, params: dict[str, Any]
) -> Any:
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = numbers.dot_dimension_numbers
    ragged, group = numbers.lhs_ragged_dimensions[0], numbers.rhs_group_dimensions[0]
    free = other_axes(typeof(lhs).ndim, lhs_contract, lhs_batch)
    rhs_free = other_axes(typeof(rhs).ndim, rhs_contract, rhs_batch, (group,))
    outer, inner = _rows(free, ragged, typeof(sizes).ndim > 1)
    batch, extra = _shape(lhs, lhs_batch), _shape(lhs, outer)
    inner_shape, columns = _shape(lhs, inner), _shape(rhs, rhs_free)
    num_groups, depth = typeof(rhs).shape[group], math.prod(_shape(lhs, lhs_contract))
    num_segments, row = math.prod(batch + extra), math.prod(inner_shape)
    length = typeof(lhs).shape[ragged]

    rows = transpose(lhs, (*lhs_batch, *outer, ragged, *inner, *lhs_contract))
    rows = reshape(rows, (num_segments, length * row, depth))
    matrices = transpose(rhs, (*rhs_batch, group, *rhs_contract, *rhs_free))
    shape = (num_groups, depth, math.prod(columns))
    matrices = reshape(matrices, (math.prod(batch), 1, *shape))
    matrices = lax.broadcast_in_dim(
        matrices, (math.prod(batch), math.prod(extra), *shape), range(5)
    )
    matrices = reshape(matrices, (num_segments, *shape))
    out = grouped_rows_p.bind(rows, matrices, _segments(sizes, num_segments, row), **params)
    out = reshape(out, (*batch, *extra, length, *inner_shape, *columns))
    present = (*outer, ragged, *inner)
    order = [len(batch) + present.index(a) for a in free]
    first = len(batch) + len(free)
    return transpose(out, (*range(len(batch)), *order, *range(first, first + len(columns))))


def _contract_groups(
    lhs: Any, rhs: Any, sizes: Any, numbers: RaggedDotDimensionNumbers, params: dict[str, Any]
) -> Any:
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = numbers.dot_dimension_numbers
    ragged = numbers.lhs_ragged_dimensions[0]
    lhs_free = other_axes(typeof(lhs).ndim, lhs_contract, lhs_batch)
    rhs_free = other_axes(typeof(rhs).ndim, rhs_contract, rhs_batch)
    outer, inner = _rows(lhs_contract, ragged, typeof(sizes).ndim > 1)
    batch, extra = math.prod(_shape(lhs, lhs_batch)), math.prod(_shape(lhs, outer))
    row = math.prod(_shape(lhs, inner))
    of_rhs = dict(zip(lhs_contract, rhs_contract, strict=True))

    def flat(x: Any, batch_axes: Axes, contract: Axes, free: Axes) -> Any:
        shape = (batch * extra, math.prod(_shape(x, contract)) // max(extra, 1))
        x_columns = math.prod(_shape(x, free))
        return reshape(transpose(x, (*batch_axes, *contract, *free)), (*shape, x_columns))

    order = (*outer, ragged, *inner)
    left = flat(lhs, lhs_batch, order, lhs_free)
    right = flat(rhs, rhs_batch, tuple([of_rhs[a] for a in order]), rhs_free)
    num_groups = typeof(sizes).shape[-1]
    out = grouped_outer_p.bind(left, right, _segments(sizes, batch * extra, row), **params)
    if outer:
        out = reshape(out, (batch, extra, *out.shape[1:]))
        out = lax.reduce(out, np.zeros((), out.dtype)[()], _plus, (1,))
    shape = (*_shape(lhs, lhs_batch), num_groups, *_shape(lhs, lhs_free), *_shape(rhs, rhs_free))
    return move_axis(reshape(out, shape), len(lhs_batch), 0)


def _plus(x: Any, y: Any) -> Any:
    return lax.bitwise_or(x, y) if dtypes.is_bool(typeof(x).dtype) else add_any(x, y)


# --- lowering on CPU ------------------------------------------------------------------------------


def _block_rows(length: int, num_groups: int) -> int:
    """How many rows to multiply at a time: about a group's, so that few are multiplied in vain."""
    average = -(-length // max(num_groups, 1))
    return min(256, max(8, 1 << (average - 1).bit_length()))


class _Groups(NamedTuple):
    """Where each group of each segment begins and ends, as rows of all segments together."""

    starts: Any
    ends: Any

    def bounds(self, i: Any) -> tuple[Any, Any]:
        return _element(self.starts, i), _element(self.ends, i)


def _element(x: Any, i: Any) -> Any:
    return lax.dynamic_index_in_dim(x, i, 0, keepdims=False)


def _groups(sizes: Any, length: int) -> _Groups:
    num_segments, num_groups = sizes.shape
    ends = lax.clamp(np.int32(0), lax.cumsum(sizes, axis=1), np.int32(length))
    zeros = full((num_segments, 1), 0, np.int32)
    starts = lax.concatenate([zeros, lax.slice_in_dim(ends, 0, num_groups - 1, axis=1)], 1)
    first = lax.mul(lax.broadcasted_iota(np.int32, sizes.shape, 0), np.int32(length))
    return _Groups(*[reshape(lax.add(x, first), (sizes.size,)) for x in (starts, ends)])


def _padded_rows(x: Any, block: int) -> Any:
    """The rows of all segments, and a block of zeros, so that the last block is a whole one."""
    rows = reshape(x, (x.shape[0] * x.shape[1], x.shape[2]))
    return lax.pad(rows, np.zeros((), x.dtype)[()], [(0, block, 0), (0, 0, 0)])


def _rows_from(rows: Any, start: Any, block: int) -> Any:
    return lax.dynamic_slice_in_dim(rows, start, block, 0)


def _zero_from(rows: Any, count: Any) -> Any:
    """``rows`` with zeros from row ``count`` on."""
    inside = lax.lt(lax.broadcasted_iota(np.int32, rows.shape, 0), count)
    return lax.select_n(inside, full(rows.shape, 0, rows.dtype), rows)


def _each_block(groups: _Groups, i: Any, block: int, body: Any, carry: Any) -> Any:
    """``carry = body(first row, number of rows, carry)`` for each block of group ``i``."""
    start, end = groups.bounds(i)
    size = lax.max(lax.sub(end, start), np.int32(0))
    count = lax.div(lax.add(size, np.int32(block - 1)), np.int32(block))

    def step(j: Any, carry: Any) -> Any:
        row = lax.add(start, lax.mul(j, np.int32(block)))
        return body(row, lax.sub(end, row), carry)

    return lax.fori_loop(np.int32(0), count, step, carry)


_MATRIX = (((1,), (0,)), ((), ()))
_OUTER = (((0,), (0,)), ((), ()))


def _grouped_rows_on_cpu(lhs: Any, rhs: Any, sizes: Any, *, precision: Any, out_dtype: Any) -> Any:
    """Groups in order: what a block writes beyond its group, the next group writes again."""
    num_segments, length, _ = lhs.shape
    columns = rhs.shape[-1]
    if 0 in (lhs.size, rhs.size):
        return full((num_segments, length, columns), 0, out_dtype)
    block = _block_rows(length, sizes.shape[1])
    rows = _padded_rows(lhs, block)
    matrices = reshape(rhs, (sizes.size, *rhs.shape[2:]))
    groups = _groups(sizes, length)

    def group(i: Any, out: Any) -> Any:
        matrix = _element(matrices, i)

        def write(row: Any, count: Any, out: Any) -> Any:
            product = dot_general_p.bind(
                _rows_from(rows, row, block),
                matrix,
                dimension_numbers=_MATRIX,
                precision=precision,
                preferred_element_type=out_dtype,
            )
            return lax.dynamic_update_slice_in_dim(out, _zero_from(product, count), row, 0)

        return _each_block(groups, i, block, write, out)

    out = full((num_segments * length + block, columns), 0, out_dtype)
    out = lax.fori_loop(np.int32(0), np.int32(sizes.size), group, out)
    return reshape(lax.slice_in_dim(out, 0, num_segments * length), (num_segments, length, columns))


def _grouped_outer_on_cpu(lhs: Any, rhs: Any, sizes: Any, *, precision: Any, out_dtype: Any) -> Any:
    num_segments, length, num_rows = lhs.shape
    shape = (num_rows, rhs.shape[-1])
    if 0 in (lhs.size, rhs.size, sizes.size):
        return full((num_segments, sizes.shape[1], *shape), 0, out_dtype)
    block = _block_rows(length, sizes.shape[1])
    left, right = _padded_rows(lhs, block), _padded_rows(rhs, block)
    groups = _groups(sizes, length)
    # Sums over blocks are kept in 32 bits, as a single product keeps its sums.
    wide = np.dtype(np.float32) if out_dtype.itemsize < 4 else out_dtype
    kept = wide if dtypes.is_float(out_dtype) else out_dtype

    def group(i: Any, out: Any) -> Any:
        def accumulate(row: Any, count: Any, total: Any) -> Any:
            product = dot_general_p.bind(
                _zero_from(_rows_from(left, row, block), count),
                _zero_from(_rows_from(right, row, block), count),
                dimension_numbers=_OUTER,
                precision=precision,
                preferred_element_type=kept,
            )
            return _plus(total, product)

        total = _each_block(groups, i, block, accumulate, full(shape, 0, kept))
        total = lax.convert_element_type(total, out_dtype)
        return lax.dynamic_update_index_in_dim(out, total, i, 0)

    out = full((sizes.size, *shape), 0, out_dtype)
    out = lax.fori_loop(np.int32(0), np.int32(sizes.size), group, out)
    return reshape(out, (num_segments, sizes.shape[1], *shape))


# --- lowering elsewhere ---------------------------------------------------------------------------


def _native(contract: tuple[int, int], groups: str) -> Any:
    """A lowering rule to XLA's own operation; its result has a new axis first for an outer one."""

    def rule(
        ctx: Any, args: Any, in_avals: Any, out_avals: Any, *, precision: Any, out_dtype: Any
    ) -> list[str]:
        names = ("DEFAULT", "DEFAULT")
        if isinstance(precision, tuple) and all(isinstance(p, Precision) for p in precision):
            names = tuple([p.name for p in precision])
        config = ", ".join([f"#chlo<precision {name}>" for name in names])
        numbers = (
            "lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], "
            f"lhs_contracting_dimensions = [{contract[0]}], "
            f"rhs_contracting_dimensions = [{contract[1]}], lhs_ragged_dimensions = [1]{groups}"
        )
        types = ", ".join([a.mlir for a in in_avals])
        out = out_avals[0]
        if not groups:
            out = out.update(shape=(out.shape[1], out.shape[0], *out.shape[2:]))
        result = ctx.emit(
            f'"chlo.ragged_dot"({", ".join(args)}) <{{precision_config = [{config}], '
            f"ragged_dot_dimension_numbers = #chlo.ragged_dot<{numbers}>}}> : "
            f"({types}) -> {out.mlir}"
        )
        if groups:
            return result
        return ctx.typed("transpose", result, [out], out_avals, "dims = [1, 0, 2, 3]")

    return rule


# --- the primitives -------------------------------------------------------------------------------


def _abstract_rows(
    lhs: ShapedArray, rhs: ShapedArray, sizes: ShapedArray, *, precision: Any, out_dtype: Any
) -> ShapedArray:
    return ShapedArray((*lhs.shape[:2], rhs.shape[3]), out_dtype)


def _abstract_outer(
    lhs: ShapedArray, rhs: ShapedArray, sizes: ShapedArray, *, precision: Any, out_dtype: Any
) -> ShapedArray:
    return ShapedArray((*sizes.shape, lhs.shape[2], rhs.shape[2]), out_dtype)


def _bilinear(primitive: Any) -> Any:
    """The jvp rule of a product of the first two operands."""

    def jvp(primals: list, tangents: list, **params: Any) -> tuple[Any, Any]:
        lhs, rhs, sizes = primals
        out = primitive().bind(*primals, **params)
        if not out.aval.has_tangent:
            return out, None
        terms = []
        if tangents[0] is not None:
            terms.append(primitive().bind(tangents[0], rhs, sizes, **params))
        if tangents[1] is not None:
            terms.append(primitive().bind(lhs, tangents[1], sizes, **params))
        return out, terms[0] if len(terms) == 1 else add_any(*terms)

    return jvp


def _cotangent(primitive: Any, to: ShapedArray, x: Any, y: Any, sizes: Any, precision: Any) -> Any:
    """``primitive`` of ``x`` and ``y`` as a cotangent of an operand of type ``to``."""
    dtype = product_dtype("ragged_dot", typeof(x).dtype, typeof(y).dtype)
    product = primitive.bind(x, y, sizes, precision=precision, out_dtype=dtype)
    if dtypes.is_complex(dtype) and not dtypes.is_complex(to.dtype):
        product = lax.real(product)
    return lax.convert_element_type(product, to.dtype)


def _swap(x: Any) -> Any:
    """``x`` with its last two axes exchanged."""
    return move_axis(x, x.ndim - 1, x.ndim - 2)


def _transpose_rows(
    ct: Any, lhs: Any, rhs: Any, sizes: Any, *, precision: Any, out_dtype: Any
) -> list[Any]:
    if isinstance(lhs, Linear):
        operands = (ct, _swap(rhs), sizes)
        return [_cotangent(grouped_rows_p, lhs.aval, *operands, precision), None, None]
    return [None, _cotangent(grouped_outer_p, rhs.aval, lhs, ct, sizes, precision), None]


def _transpose_outer(
    ct: Any, lhs: Any, rhs: Any, sizes: Any, *, precision: Any, out_dtype: Any
) -> list[Any]:
    if isinstance(lhs, Linear):
        operands = (rhs, _swap(ct), sizes, swap_precision(precision))
        return [_cotangent(grouped_rows_p, lhs.aval, *operands), None, None]
    return [None, _cotangent(grouped_rows_p, rhs.aval, lhs, ct, sizes, precision), None]


def _batch_rows(axis: Any, args: list, dims: tuple, **params: Any) -> tuple[Any, int]:
    lhs, rhs, sizes = args
    if dims[1] is None and dims[2] is None:  # more rows of each group
        lhs = move_batch_axis(lhs, axis.size, dims[0], 2)
        segments, length, size, depth = lhs.shape
        rows = reshape(lhs, (segments, length * size, depth))
        out = grouped_rows_p.bind(rows, rhs, lax.mul(sizes, np.int32(size)), **params)
        return reshape(out, (segments, length, size, out.shape[2])), 2
    if dims[0] is None and dims[2] is None:  # more columns of each matrix
        rhs = move_batch_axis(rhs, axis.size, dims[1], 4)
        columns = rhs.shape[3]
        matrices = reshape(rhs, (*rhs.shape[:3], columns * axis.size))
        out = grouped_rows_p.bind(lhs, matrices, sizes, **params)
        return reshape(out, (*out.shape[:2], columns, axis.size)), 3
    return _batch_segments(grouped_rows_p, axis, args, dims, params)


def _batch_outer(axis: Any, args: list, dims: tuple, **params: Any) -> tuple[Any, int]:
    lhs, rhs, sizes = args
    if dims[2] is None and None in dims[:2]:  # more rows or columns of each result
        which = 0 if dims[1] is None else 1
        x = move_batch_axis(args[which], axis.size, dims[which], 3)
        columns = x.shape[2]
        x = reshape(x, (*x.shape[:2], columns * axis.size))
        operands = (x, rhs) if which == 0 else (lhs, x)
        out = grouped_outer_p.bind(*operands, sizes, **params)
        split = (*out.shape[: 2 + which], columns, axis.size, *out.shape[3 + which :])
        return reshape(out, split), 3 + which
    return _batch_segments(grouped_outer_p, axis, args, dims, params)


def _batch_segments(
    primitive: Primitive, axis: Any, args: list, dims: tuple, params: dict[str, Any]
) -> tuple[Any, int]:
    """The members of the batch as further segments."""
    moved = [move_batch_axis(x, axis.size, d, 0) for x, d in zip(args, dims, strict=True)]
    flat = [reshape(x, (axis.size * x.shape[1], *x.shape[2:])) for x in moved]
    out = primitive.bind(*flat, **params)
    return reshape(out, (axis.size, moved[0].shape[1], *out.shape[1:])), 0


# (segments, rows, depth), (segments, groups, depth, columns), (segments, groups) ->
# (segments, rows, columns)
grouped_rows_p = Primitive(
    "grouped_rows",
    abstract=_abstract_rows,
    lower=by_platform(
        lower_by(_grouped_rows_on_cpu), _native((2, 2), ", rhs_group_dimensions = [1]")
    ),
    jvp=_bilinear(lambda: grouped_rows_p),
    transpose=_transpose_rows,
    batch=_batch_rows,
)

# (segments, depth, rows), (segments, depth, columns), (segments, groups) ->
# (segments, groups, rows, columns)
grouped_outer_p = Primitive(
    "grouped_outer",
    abstract=_abstract_outer,
    lower=by_platform(lower_by(_grouped_outer_on_cpu), _native((1, 1), "")),
    jvp=_bilinear(lambda: grouped_outer_p),
    transpose=_transpose_outer,
    batch=_batch_outer,
)

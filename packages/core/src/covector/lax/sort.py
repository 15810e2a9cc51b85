"""Sorting: `sort` of one array or of several by keys, `sort_key_val`, `top_k`.

The order is total: numbers in their order, then nan. Equal are 0.0 and -0.0, and any two nans.
Complex numbers are ordered by their real, then imaginary parts. How CPUs do it is in
`sort_keys.py`; elsewhere arrays are sorted by a comparison of the keys themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from covector import lax
from covector._config import enable_x64
from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector._lower.module import by_platform, lower_by
from covector._trace.primitive import Primitive
from covector._trace.stage import stage_rule
from covector._trace.trace import typeof
from covector._transform.batch import move_batch_axis
from covector.errors import ShapeError
from covector.lax._axes import canonical_axis
from covector.lax._region import lower_with_region
from covector.lax.compare import eq_to_p, lt_to_p
from covector.lax.filling import full
from covector.lax.gather import GatherDimensionNumbers, gather
from covector.lax.shape import expand_dims, move_axis
from covector.lax.sort_keys import Packing, decode, encode, stored_dtype


def sort(operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Any:
    """Sort one array along an axis, or several arrays together.

    Args:
      operand: an array, or a sequence of arrays of one shape, which are all brought into the order
        of the first ``num_keys`` of them (compared one after the other).
      is_stable: whether elements with equal keys keep their order.

    Returns an array, or a tuple of arrays.

    Raises:
      TypeError: no array, or arrays of different shapes.
      ValueError: ``dimension`` or ``num_keys`` out of range.

    >>> sort(np.array([3., np.nan, 1.]))
    Array([ 1.,  3., nan], dtype=float32)
    >>> sort((np.array([2, 1, 2]), np.array([7, 8, 9])))[1]
    Array([8, 7, 9], dtype=int32)
    """
    several = isinstance(operand, Sequence)
    operands = tuple(operand) if several else (operand,)
    if not operands:
        raise TypeError("Sort requires at least one operand: lax.sort got an empty sequence")
    if several and not 1 <= num_keys <= len(operands):
        raise ValueError(
            f"sort: num_keys={num_keys} must be between 1 and len(operand)={len(operands)}"
        )
    if not several and num_keys != 1:
        raise ValueError(f"sort: num_keys={num_keys} must equal 1 for a single operand.")
    axis = canonical_axis("sort", dimension, typeof(operands[0]).ndim)
    outs = sort_p.bind(*operands, dimension=axis, is_stable=bool(is_stable), num_keys=num_keys)
    return tuple(outs) if several else outs[0]


def sort_key_val(keys: Any, values: Any, dimension: int = -1, is_stable: bool = True) -> Any:
    """Sort ``keys``, and bring ``values`` into the same order.

    >>> sort_key_val(np.array([2, 1]), np.array([7, 8]))[1]
    Array([8, 7], dtype=int32)
    """
    return sort((keys, values), dimension, is_stable, 1)


def sorting_permutation(keys: Sequence[Any], dimension: int, is_stable: bool = True) -> Any:
    """The positions along ``dimension`` that sort ``keys``, compared one after the other (int32).

    >>> sorting_permutation([np.array([3, 1, 2])], 0)
    Array([1, 2, 0], dtype=int32)
    """
    return argsort_p.bind(*keys, dimension=dimension, is_stable=is_stable)


def top_k(operand: Any, k: int, *, axis: int = -1, is_stable: bool = True) -> list[Any]:
    """The ``k`` largest elements along an axis, in descending order, and their positions.

    Of equal elements the first ones are taken. Here 0.0 is larger than -0.0, and a nan without a
    sign larger than anything.

    Returns a list of the values and of the positions (int32).

    Raises:
      ValueError: ``k`` is negative or larger than the axis, or the numbers are complex.

    >>> top_k(np.array([1, 3, 2]), 2)
    [Array([3, 2], dtype=int32), Array([1, 2], dtype=int32)]
    """
    aval = typeof(operand)
    axis = canonical_axis("top_k", axis, aval.ndim)
    k = int(k)
    if k < 0:
        raise ValueError(f"k argument to top_k must be nonnegative, got {k}")
    if k > aval.shape[axis]:
        raise ValueError(
            f"k argument to top_k must be no larger than size along axis; got k={k} with "
            f"shape={list(aval.shape)} and axis={axis}"
        )
    if dtypes.is_complex(aval.dtype):
        raise ValueError(f"top_k is not compatible with complex inputs, got {aval.str_short()}.")
    return list(top_k_p.bind(operand, axis=axis, is_stable=bool(is_stable), k=k))


# --- sort ----------------------------------------------------------------------------------------


def _abstract_sort(*avals: ShapedArray, **params: Any) -> list[ShapedArray]:
    shapes = [a.shape for a in avals]
    if len(set(shapes)) > 1:
        raise ShapeError(
            f"Arguments to sort must have equal shapes, got: {' '.join(map(str, shapes))}"
        )
    return list(avals)


def _jvp_sort(
    primals: list, tangents: list, *, dimension: int, is_stable: bool, num_keys: int
) -> tuple[list, list]:
    order = sorting_permutation(primals[:num_keys], dimension, is_stable)
    outs = [reordered(x, order, dimension) for x in primals]
    out_tangents = [None if t is None else reordered(t, order, dimension) for t in tangents]
    return outs, out_tangents


def _batch_sort(
    axis: Any, args: list, dims: tuple, *, dimension: int, **params: Any
) -> tuple[list, list]:
    batched, dim = _bring_together(axis, args, dims)
    outs = sort_p.bind(*batched, dimension=dimension + (dim <= dimension), **params)
    return outs, [dim] * len(outs)


def _bring_together(axis: Any, args: list, dims: tuple) -> tuple[list, int]:
    """All operands with their batch axis where the first one has it."""
    dim = next(d for d in dims if d is not None)
    moved = [move_batch_axis(x, axis.size, d, dim) for x, d in zip(args, dims, strict=True)]
    return moved, dim


def reordered(x: Any, order: Any, axis: int, *, may_repeat: bool = False) -> Any:
    """``x`` with its elements along ``axis`` in ``order``, which has the same rank."""
    if typeof(order).size == 0:
        return full(typeof(order).shape, 0, typeof(x).dtype)
    others = tuple([i for i in range(typeof(x).ndim) if i != axis])
    numbers = GatherDimensionNumbers((), (axis,), (axis,), others, others)
    indices = expand_dims(order, (typeof(order).ndim,))
    sizes = (1,) * typeof(x).ndim
    unique = typeof(x).shape == typeof(order).shape and not may_repeat
    return gather(x, indices, numbers, sizes, unique_indices=unique, mode="promise_in_bounds")


def lower_by_platform(on_cpu: Any, elsewhere: Any) -> Any:
    """A lowering rule from two functions of operands and parameters."""
    return by_platform(lower_by(_in_64_bits(on_cpu)), lower_by(_in_64_bits(elsewhere)))


def _in_64_bits(function: Any) -> Any:
    """Keys are packed into 64 bits whether or not the user's arrays may have as many."""

    def wide(*args: Any, **params: Any) -> Any:
        with enable_x64(True):
            return function(*args, **params)

    return wide


def _sort_on_cpu(*operands: Any, dimension: int, is_stable: bool, num_keys: int) -> Sequence[Any]:
    if operands[0].shape[dimension] <= 1 or operands[0].size == 0:
        return operands
    widened = [_widened(x) for x in operands]  # XLA's sort of 2-bit integers is wrong
    if len(operands) == 1 and not dtypes.is_complex(operands[0].dtype):
        outs = [_sort_alone(widened[0], dimension, is_stable)]
    else:
        outs = _sort_together(widened, dimension, is_stable, num_keys)
    return [lax.convert_element_type(y, x.dtype) for x, y in zip(operands, outs, strict=True)]


def _widened(x: Any) -> Any:
    return (
        lax.convert_element_type(x, stored_dtype(x.dtype))
        if x.dtype in dtypes.NARROW_INTEGERS
        else x
    )


def _sort_alone(x: Any, dimension: int, is_stable: bool) -> Any:
    if not dtypes.is_float(x.dtype):
        return _sort_plain(x, dimension)
    if is_stable and Packing.fits([x.dtype], x.shape[dimension]):
        return _sort_packed([x], dimension)[0][0]
    # Words alone: in their order -0.0 comes before 0.0, which are equal.
    words = _sort_plain(encode(x, equal_zeros=False).value, dimension)
    return decode(words, None, x.dtype)


def _sort_together(
    operands: Sequence[Any], dimension: int, is_stable: bool, num_keys: int
) -> Sequence[Any]:
    keys = operands[:num_keys]
    if not Packing.fits([k.dtype for k in keys], keys[0].shape[dimension]):
        return _sort_by_words(operands, dimension, is_stable, num_keys)
    sorted_keys, order = _sort_packed(keys, dimension)
    return [*sorted_keys, *[reordered(x, order, dimension) for x in operands[num_keys:]]]


def _sort_plain(x: Any, dimension: int) -> Any:
    """Integers, by ``<`` of the processor."""
    # Equal integers are alike, so either way is right: merging is faster but for short rows.
    is_stable = x.shape[dimension] > 64
    return _sort_by(lambda a: a, 1, [x], dimension, is_stable)[0]


def _sort_packed(keys: Sequence[Any], dimension: int) -> tuple[list[Any], Any]:
    """The sorted keys and the permutation that sorts them, of keys that fit into one integer."""
    packing = Packing([k.dtype for k in keys], keys[0].shape[dimension])
    words = [encode(k) for k in keys]
    packed = _sort_plain(packing.pack(words, dimension), dimension)
    values, position, signs = packing.unpack(packed, words)
    decoded = [decode(v, s, k.dtype) for v, s, k in zip(values, signs, keys, strict=True)]
    return decoded, lax.convert_element_type(position, np.int32)


def _sort_by_words(
    operands: Sequence[Any], dimension: int, is_stable: bool, num_keys: int
) -> Sequence[Any]:
    """Keys that are too wide to be packed: as unsigned integers, beside the operands."""
    words = [encode(part).value for key in operands[:num_keys] for part in _parts(key)]
    outs = _sort_by(lambda a: a, len(words), [*words, *operands], dimension, is_stable)
    return outs[len(words) :]


def _parts(key: Any) -> list[Any]:
    return [lax.real(key), lax.imag(key)] if dtypes.is_complex(key.dtype) else [key]


def _sort_by_comparison(
    *operands: Any, dimension: int, is_stable: bool, num_keys: int
) -> Sequence[Any]:
    return _sort_by(_comparable, num_keys, operands, dimension, is_stable)


def _comparable(x: Any) -> Any:
    """A scalar key as it is compared: zeros alike, nans alike."""
    if not dtypes.is_float(x.dtype):
        return x
    zero, nan = np.zeros((), x.dtype)[()], np.asarray(np.nan, x.dtype)[()]
    return lax.select(lax.ne(x, x), nan, lax.select(lax.eq(x, zero), zero, x))


def _sort_by(
    comparable: Any, num_keys: int, operands: Sequence[Any], dimension: int, is_stable: bool
) -> Sequence[Any]:
    """Sort by the first operands, one after the other, each as ``comparable`` makes it."""

    def less(*pairs: Any) -> list[Any]:
        keys = [
            (comparable(x), comparable(y))
            for a, b in zip(pairs[: 2 * num_keys : 2], pairs[1 : 2 * num_keys : 2], strict=True)
            for x, y in zip(_parts(a), _parts(b), strict=True)
        ]
        result = None
        for x, y in reversed(keys):
            is_float = dtypes.is_float(x.dtype)
            below = (lt_to_p if is_float else lax.lt_p).bind(x, y)
            if result is not None:
                equal = (eq_to_p if is_float else lax.eq_p).bind(x, y)
                below = lax.bitwise_or(below, lax.bitwise_and(equal, result))
            result = below
        return [result]

    scalars = [typeof(x).update(shape=(), weak_type=False) for x in operands for _ in range(2)]
    comparison = stage_rule(less, scalars)
    return sort_by_p.bind(
        *operands, comparison=comparison, dimension=dimension, is_stable=is_stable
    )


def _lower_sort_by(
    ctx: Any, args: Any, in_avals: Any, out_avals: Any, *, comparison: Any, dimension: int,
    is_stable: bool,
) -> list[str]:  # fmt: skip
    attributes = f"dimension = {dimension} : i64, is_stable = {'true' if is_stable else 'false'}"
    return lower_with_region(ctx, "sort", args, attributes, comparison, in_avals, out_avals)


# StableHLO's own sort, by a program that compares; what the others are lowered to.
sort_by_p = Primitive(
    "sort_by",
    abstract=_abstract_sort,
    lower=_lower_sort_by,
    multiple_results=True,
)

sort_p = Primitive(
    "sort",
    abstract=_abstract_sort,
    lower=lower_by_platform(_sort_on_cpu, _sort_by_comparison),
    jvp=_jvp_sort,
    batch=_batch_sort,
    multiple_results=True,
)


# --- the permutation alone -----------------------------------------------------------------------


def _abstract_argsort(*avals: ShapedArray, dimension: int, is_stable: bool) -> ShapedArray:
    return ShapedArray(_abstract_sort(*avals)[0].shape, np.int32)


def _argsort_on_cpu(*keys: Any, dimension: int, is_stable: bool) -> Any:
    if Packing.fits([k.dtype for k in keys], keys[0].shape[dimension]) and keys[0].size:
        return _sort_packed(keys, dimension)[1]
    words = [encode(part).value for key in keys for part in _parts(key)]
    position = lax.broadcasted_iota(np.int32, keys[0].shape, dimension)
    return _sort_by(lambda a: a, len(words), [*words, position], dimension, is_stable)[-1]


def _argsort_by_comparison(*keys: Any, dimension: int, is_stable: bool) -> Any:
    position = lax.broadcasted_iota(np.int32, keys[0].shape, dimension)
    return _sort_by(_comparable, len(keys), [*keys, position], dimension, is_stable)[-1]


def _batch_argsort(
    axis: Any, args: list, dims: tuple, *, dimension: int, is_stable: bool
) -> tuple[Any, int]:
    batched, dim = _bring_together(axis, args, dims)
    return sorting_permutation(batched, dimension + (dim <= dimension), is_stable), dim


argsort_p = Primitive(
    "argsort",
    abstract=_abstract_argsort,
    lower=lower_by_platform(_argsort_on_cpu, _argsort_by_comparison),
    differentiable=False,
    batch=_batch_argsort,
)


# --- top_k ---------------------------------------------------------------------------------------


def _abstract_top_k(aval: ShapedArray, *, axis: int, is_stable: bool, k: int) -> list[ShapedArray]:
    out = aval.update(shape=(*aval.shape[:axis], k, *aval.shape[axis + 1 :]))
    return [out, ShapedArray(out.shape, np.int32, out.weak_type)]


def _top_k_native(x: Any, *, axis: int, is_stable: bool, k: int) -> Sequence[Any]:
    last = x.ndim - 1
    values, positions = top_k_last_p.bind(move_axis(x, axis, last), k=k)
    return move_axis(values, last, axis), move_axis(positions, last, axis)


# Below this share of the axis, finding the largest elements is faster than sorting all (measured).
_SORTED_SHARE = 1 / 8


def _top_k_on_cpu(x: Any, *, axis: int, is_stable: bool, k: int) -> Sequence[Any]:
    size = x.shape[axis]
    if k <= size * _SORTED_SHARE or size < 64 or not Packing.fits([x.dtype], size):
        return _top_k_native(x, axis=axis, is_stable=is_stable, k=k)
    word = encode(x, equal_zeros=False, equal_nans=False)
    packing = Packing([x.dtype], size)
    ones = word.value.dtype.type((1 << word.bits) - 1)
    word = word._replace(value=lax.bitwise_xor(word.value, ones))
    packed = _sort_plain(packing.pack([word], axis), axis)
    values, position, _ = packing.unpack(lax.slice_in_dim(packed, 0, k, axis=axis), [word])
    value = lax.bitwise_xor(values[0], values[0].dtype.type(ones))
    return decode(value, None, x.dtype), lax.convert_element_type(position, np.int32)


def _lower_top_k_last(ctx: Any, args: Any, in_avals: Any, out_avals: Any, *, k: int) -> list[str]:
    types = f"{in_avals[0].mlir} -> ({out_avals[0].mlir}, {out_avals[1].mlir})"
    return ctx.emit(f"chlo.top_k({args[0]}, k = {k}) : {types}", 2)


top_k_last_p = Primitive(
    "top_k_last",
    abstract=lambda aval, *, k: _abstract_top_k(aval, axis=aval.ndim - 1, is_stable=True, k=k),
    lower=_lower_top_k_last,
    multiple_results=True,
)


def _jvp_top_k(
    primals: list, tangents: list, *, axis: int, is_stable: bool, k: int
) -> tuple[list, list]:
    values, positions = top_k_p.bind(*primals, axis=axis, is_stable=is_stable, k=k)
    return [values, positions], [reordered(tangents[0], positions, axis), None]


def _batch_top_k(
    batch_axis: Any, args: list, dims: tuple, *, axis: int, is_stable: bool, k: int
) -> tuple[list, list]:
    dim = dims[0]
    outs = top_k_p.bind(args[0], axis=axis + (dim <= axis), is_stable=is_stable, k=k)
    return outs, [dim, dim]


top_k_p = Primitive(
    "top_k",
    abstract=_abstract_top_k,
    lower=lower_by_platform(_top_k_on_cpu, _top_k_native),
    jvp=_jvp_top_k,
    batch=_batch_top_k,
    multiple_results=True,
)

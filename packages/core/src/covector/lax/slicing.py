"""Parts of arrays: `slice` at known places, `dynamic_slice` at computed ones.

At the level of `covector.lax` a dynamic part that would reach over the end is moved back so that
it fits (clamping); a known index that is out of bounds is an error.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from operator import index as as_index
from typing import Any

import numpy as np

from covector import lax
from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector._lower.stablehlo import int_list
from covector._trace.primitive import LINEAR, Linear, Primitive
from covector._trace.trace import typeof
from covector._transform.batch import move_batch_axis
from covector.errors import ShapeError
from covector.lax._axes import canonical_axis, insert, int_tuple
from covector.lax._nary import check_same_dtype
from covector.lax.filling import zeros_of
from covector.lax.shape import expand_dims, squeeze

# --- slice ---------------------------------------------------------------------------------------


def slice(
    operand: Any,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> Any:
    """The elements from ``start_indices`` to before ``limit_indices``, every ``strides``-th.

    Raises:
      TypeError: the bounds do not lie within the operand, or a stride is not positive.

    >>> lax.slice(np.arange(10), (2,), (9,), (3,))
    Array([2, 5, 8], dtype=int32)
    """
    start = int_tuple("slice", "start_indices", start_indices)
    limit = int_tuple("slice", "limit_indices", limit_indices)
    steps = None if strides is None else int_tuple("slice", "strides", strides)
    if steps is not None and builtins.all(s == 1 for s in steps) and len(steps) == len(start):
        steps = None
    whole = not any(start) and len(start) == len(limit) and steps is None
    if whole and hasattr(operand, "aval") and limit == operand.aval.shape:
        return operand
    return slice_p.bind(operand, start_indices=start, limit_indices=limit, strides=steps)


def _abstract_slice(
    aval: ShapedArray, *, start_indices: Any, limit_indices: Any, strides: Any
) -> ShapedArray:
    steps = strides or (1,) * aval.ndim
    lengths = {
        "start_indices": start_indices,
        "limit_indices": limit_indices,
        "strides": steps,
    }
    for name, values in lengths.items():
        if len(values) != aval.ndim:
            raise ShapeError(
                f"slice: {name} must have one entry for each axis of the operand, got {values} "
                f"for shape {aval.shape}"
            )
    if any(s <= 0 for s in steps):
        raise TypeError(f"slice: strides must be positive, got {strides}")
    bounds = zip(start_indices, limit_indices, aval.shape, strict=True)
    if not builtins.all(0 <= a <= b <= n for a, b, n in bounds):
        raise TypeError(
            f"slice: expected 0 <= start_indices <= limit_indices <= shape, got start_indices "
            f"{start_indices}, limit_indices {limit_indices}, shape {aval.shape}"
        )
    sizes = zip(start_indices, limit_indices, steps, strict=True)
    return aval.update(shape=tuple([-((a - b) // s) for a, b, s in sizes]))


def _lower_slice(
    ctx: Any, args: Any, in_avals: Any, out_avals: Any, *, start_indices, limit_indices, strides
) -> list[str]:
    steps = strides or (1,) * len(start_indices)
    bounds = [f"{a}:{b}:{s}" for a, b, s in zip(start_indices, limit_indices, steps, strict=True)]
    return ctx.emit(
        f"stablehlo.slice {args[0]} [{', '.join(bounds)}] : "
        f"({in_avals[0].mlir}) -> {out_avals[0].mlir}"
    )


def _transpose_slice(ct: Any, x: Any, *, start_indices, limit_indices, strides) -> list[Any]:
    steps = strides or (1,) * len(start_indices)
    config = []
    for start, step, n, size in zip(start_indices, steps, ct.shape, x.shape, strict=True):
        covered = (n - 1) * step + 1 if n else 0
        config.append((start, size - start - covered, step - 1))
    return [lax.pad(ct, np.zeros((), ct.dtype)[()], config)]


def _batch_slice(
    axis: Any, args: Any, dims: Any, *, start_indices, limit_indices, strides
) -> tuple[Any, int]:
    dim = dims[0]
    steps = None if strides is None else insert(strides, dim, 1)
    start, limit = insert(start_indices, dim, 0), insert(limit_indices, dim, axis.size)
    return slice(args[0], start, limit, steps), dim


slice_p = Primitive(
    "slice",
    abstract=_abstract_slice,
    lower=_lower_slice,
    jvp=LINEAR,
    transpose=_transpose_slice,
    batch=_batch_slice,
)


def slice_in_dim(
    operand: Any,
    start_index: int | None,
    limit_index: int | None,
    stride: int = 1,
    axis: int = 0,
) -> Any:
    """`slice` along one axis. Negative bounds count from the end; None means the whole way.

    >>> lax.slice_in_dim(np.arange(10), -3, None)
    Array([7, 8, 9], dtype=int32)
    """
    shape = typeof(operand).shape
    axis = _axis("slice_in_dim", axis, len(shape))
    size = shape[axis]
    start = 0 if start_index is None else as_index(start_index)
    limit = size if limit_index is None else as_index(limit_index)
    start, limit = [n + size if n < 0 else n for n in (start, limit)]
    starts, limits, strides = [0] * len(shape), list(shape), [1] * len(shape)
    starts[axis], limits[axis], strides[axis] = start, limit, as_index(stride)
    return slice(operand, starts, limits, strides)


def _axis(name: str, axis: Any, ndim: int) -> int:
    """An axis, counted from the front; errors as those of sequences."""
    try:
        return canonical_axis(name, axis, ndim)
    except ValueError as error:
        raise _AxisIndexError(str(error)) from None


class _AxisIndexError(IndexError, ValueError):
    """An axis that does not exist (NumPy's AxisError is both, too)."""


def index_in_dim(operand: Any, index: int, axis: int = 0, keepdims: bool = True) -> Any:
    """The elements at ``index`` of ``axis``, which stays with size 1 if ``keepdims``.

    Raises:
      IndexError: the index is out of bounds.

    >>> lax.index_in_dim(np.array([[1, 2], [3, 4]]), -1, axis=1, keepdims=False)
    Array([2, 4], dtype=int32)
    """
    shape = typeof(operand).shape
    axis = _axis("index_in_dim", axis, len(shape))
    index, size = as_index(index), shape[axis]
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of bounds for axis {axis} with size {size}")
    index %= size
    part = slice_in_dim(operand, index, index + 1, 1, axis)
    return part if keepdims else squeeze(part, (axis,))


# --- dynamic_slice -------------------------------------------------------------------------------


def dynamic_slice(
    operand: Any,
    start_indices: Any,
    slice_sizes: Sequence[int],
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Any:
    """The part of ``operand`` of ``slice_sizes`` that starts at computed indices.

    A start from which the part would reach over the end is moved back.

    Args:
      start_indices: an integer scalar for each axis (or one array of them).
      allow_negative_indices: whether a negative start counts from the end (for all axes, or each);
        False saves the test.

    Raises:
      TypeError: a size is negative or larger than the axis, or indices are no integer scalars of
        one dtype.

    >>> lax.dynamic_slice(np.arange(5), (np.int32(4),), (2,))
    Array([3, 4], dtype=int32)
    """
    starts = _start_indices("dynamic_slice", operand, start_indices, allow_negative_indices)
    sizes = int_tuple("dynamic_slice", "slice_sizes", slice_sizes)
    return dynamic_slice_p.bind(operand, *starts, slice_sizes=sizes)


def _start_indices(name: str, operand: Any, indices: Any, allow_negative: Any) -> list[Any]:
    """One nonnegative scalar for each axis of ``operand``."""
    shape = typeof(operand).shape
    if hasattr(indices, "aval") or isinstance(indices, np.ndarray):
        aval = typeof(indices)
        if aval.ndim != 1 or aval.size != len(shape):
            raise _length_error(name, f"shape {aval.shape}", shape)
        indices = [index_in_dim(indices, i, keepdims=False) for i in range(len(shape))]
    indices = list(indices)
    if len(indices) != len(shape):
        raise _length_error(name, f"{len(indices)} of them", shape)
    if isinstance(allow_negative, (bool, np.bool_)):
        allow_negative = [allow_negative] * len(shape)
    allow_negative = list(allow_negative)
    if len(allow_negative) != len(shape):
        raise ShapeError(
            f"{name}: allow_negative_indices must be a bool, or one for each axis of the operand's "
            f"shape {shape}, got {allow_negative}"
        )
    indices = _of_one_dtype(indices)
    return [
        _from_front(name, i, n, bool(negative))
        for i, n, negative in zip(indices, shape, allow_negative, strict=True)
    ]


def _length_error(name: str, got: str, shape: tuple[int, ...]) -> Exception:
    return ShapeError(
        f"{name}: start_indices must hold a scalar for each axis of the operand's shape {shape}, "
        f"got {got}"
    )


def _of_one_dtype(indices: list[Any]) -> list[Any]:
    """Python integers take the dtype of the other indices."""
    strong = [typeof(i).dtype for i in indices if not _is_python_int(i)]
    dtype = strong[0] if strong else dtypes.canonicalize_dtype(np.int64)
    if not dtypes.is_integer(dtype):
        return indices
    if dtype.itemsize < 4 and builtins.all(d == dtype for d in strong):
        # Such integers may not hold the axes' sizes.
        indices = [
            i if _is_python_int(i) else lax.convert_element_type(i, np.int32) for i in indices
        ]
        dtype = np.dtype(np.int32)
    return [dtype.type(i) if _is_python_int(i) and _fits(i, dtype) else i for i in indices]


def _is_python_int(i: Any) -> bool:
    return isinstance(i, int) and not isinstance(i, bool)


def _fits(i: int, dtype: np.dtype) -> bool:
    info = np.iinfo(dtype)
    return info.min <= i <= info.max


def _from_front(name: str, index: Any, size: int, allow_negative: bool) -> Any:
    """``index`` with negative values counted from the end of an axis of ``size``."""
    aval = typeof(index)
    if not dtypes.is_integer(aval.dtype) or aval.dtype.kind == "u" or aval.shape != ():
        return index  # unsigned; or wrong, and refused by the abstract rule
    if isinstance(index, np.integer):
        if index < 0 and not allow_negative:
            raise ValueError(
                f"{name}: index {index} is out of bounds for an axis of size {size} with "
                "allow_negative_indices=False"
            )
        return aval.dtype.type(builtins.max(int(index) + size, 0)) if index < 0 else index
    if not allow_negative:
        return index
    zero, length = np.zeros((), aval.dtype)[()], np.asarray(size).astype(aval.dtype)[()]
    return lax.select_n(lax.lt(index, zero), index, lax.add(index, length))


def _check_starts(name: str, starts: Sequence[ShapedArray]) -> None:
    if any(not dtypes.is_integer(a.dtype) for a in starts) or len({a.dtype for a in starts}) > 1:
        raise TypeError(
            f"{name}: index arguments must be integers of the same type, got "
            f"{', '.join(a.dtype.name for a in starts)}"
        )
    if any(a.shape for a in starts):
        raise TypeError(
            f"{name}: start_indices must be scalars, got {', '.join(a.str_short() for a in starts)}"
        )


def _abstract_dynamic_slice(
    aval: ShapedArray, *starts: ShapedArray, slice_sizes: tuple[int, ...]
) -> ShapedArray:
    if len(slice_sizes) != aval.ndim:
        raise ShapeError(
            f"dynamic_slice: slice_sizes must have one entry for each axis of the operand, got "
            f"{slice_sizes} for shape {aval.shape}"
        )
    if not builtins.all(0 <= n <= m for n, m in zip(slice_sizes, aval.shape, strict=True)):
        raise TypeError(
            f"dynamic_slice: slice_sizes must be at least 0 and at most the operand's shape "
            f"{aval.shape}, got {slice_sizes}"
        )
    _check_starts("dynamic_slice", starts)
    return aval.update(shape=slice_sizes)


def _lower_dynamic_slice(
    ctx: Any, args: Any, in_avals: Any, out_avals: Any, *, slice_sizes: Any
) -> list[str]:
    if not slice_sizes:
        return args[:1]
    return ctx.typed("dynamic_slice", args, in_avals, out_avals, f"sizes = {int_list(slice_sizes)}")


def _jvp_dynamic_slice(primals: Any, tangents: Any, *, slice_sizes: Any) -> tuple[Any, Any]:
    operand, *starts = primals
    out = dynamic_slice_p.bind(operand, *starts, slice_sizes=slice_sizes)
    if tangents[0] is None:
        return out, None
    return out, dynamic_slice_p.bind(tangents[0], *starts, slice_sizes=slice_sizes)


def _transpose_dynamic_slice(ct: Any, x: Any, *starts: Any, slice_sizes: Any) -> list[Any]:
    whole = dynamic_update_slice_p.bind(zeros_of(x.aval.tangent), ct, *starts)
    return [whole, *[None] * len(starts)]


def _batch_dynamic_slice(axis: Any, args: Any, dims: Any, *, slice_sizes: Any) -> tuple[Any, int]:
    operand, *starts = args
    dim, *start_dims = dims
    if not any(d is not None for d in start_dims):
        starts = insert(starts, dim, _zero_like(starts))
        sizes = insert(slice_sizes, dim, axis.size)
        return dynamic_slice_p.bind(operand, *starts, slice_sizes=sizes), dim
    from covector.lax.gather import batched_dynamic_slice

    return batched_dynamic_slice(axis, operand, starts, dim, start_dims, slice_sizes)


def _zero_like(starts: Sequence[Any]) -> Any:
    dtype = typeof(starts[0]).dtype if starts else np.dtype(np.int32)
    return np.zeros((), dtype)[()]


dynamic_slice_p = Primitive(
    "dynamic_slice",
    abstract=_abstract_dynamic_slice,
    lower=_lower_dynamic_slice,
    jvp=_jvp_dynamic_slice,
    transpose=_transpose_dynamic_slice,
    batch=_batch_dynamic_slice,
)


def dynamic_slice_in_dim(
    operand: Any,
    start_index: Any,
    slice_size: int,
    axis: int = 0,
    *,
    allow_negative_indices: bool = True,
) -> Any:
    """`dynamic_slice` along one axis.

    >>> lax.dynamic_slice_in_dim(np.arange(5), np.int32(1), 3)
    Array([1, 2, 3], dtype=int32)
    """
    shape = typeof(operand).shape
    axis = _axis("dynamic_slice_in_dim", axis, len(shape))
    starts = insert([0] * (len(shape) - 1), axis, start_index)
    sizes = (*shape[:axis], as_index(slice_size), *shape[axis + 1 :])
    return dynamic_slice(operand, starts, sizes, allow_negative_indices=allow_negative_indices)


def dynamic_index_in_dim(
    operand: Any,
    index: Any,
    axis: int = 0,
    keepdims: bool = True,
    *,
    allow_negative_indices: bool = True,
) -> Any:
    """The elements at a computed ``index`` of ``axis``, which stays with size 1 if ``keepdims``.

    >>> lax.dynamic_index_in_dim(np.arange(5), np.int32(-1), keepdims=False)
    Array(4, dtype=int32)
    """
    axis = _axis("dynamic_index_in_dim", axis, typeof(operand).ndim)
    part = dynamic_slice_in_dim(
        operand, index, 1, axis, allow_negative_indices=allow_negative_indices
    )
    return part if keepdims else squeeze(part, (axis,))


# --- dynamic_update_slice ------------------------------------------------------------------------


def dynamic_update_slice(
    operand: Any,
    update: Any,
    start_indices: Any,
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Any:
    """``operand`` with ``update`` in place of the part that starts at computed indices.

    A start from which the update would reach over the end is moved back.

    Raises:
      TypeError: the update has another dtype or rank, or is larger than the operand.

    >>> lax.dynamic_update_slice(np.zeros(4, int), np.array([7, 8]), (np.int32(1),))
    Array([0, 7, 8, 0], dtype=int32)
    """
    name = "dynamic_update_slice"
    starts = _start_indices(name, operand, start_indices, allow_negative_indices)
    return dynamic_update_slice_p.bind(operand, update, *starts)


def _abstract_dynamic_update_slice(
    aval: ShapedArray, update: ShapedArray, *starts: ShapedArray
) -> ShapedArray:
    check_same_dtype("dynamic_update_slice", (aval, update))
    if update.ndim != aval.ndim:
        raise TypeError(
            "dynamic_update_slice: update must have the same rank as operand, got update shape "
            f"{update.shape} for operand shape {aval.shape}"
        )
    if any(n > m for n, m in zip(update.shape, aval.shape, strict=True)):
        raise TypeError(
            "dynamic_update_slice: update must not be larger than operand, got update shape "
            f"{update.shape} for operand shape {aval.shape}"
        )
    _check_starts("dynamic_update_slice", starts)
    return aval.strip_weak_type()


def _lower_dynamic_update_slice(ctx: Any, args: Any, in_avals: Any, out_avals: Any) -> list[str]:
    if not out_avals[0].shape:
        return args[1:2]
    return ctx.typed("dynamic_update_slice", args, in_avals, out_avals)


def _jvp_dynamic_update_slice(primals: Any, tangents: Any) -> tuple[Any, Any]:
    operand, update, *starts = primals
    out = dynamic_update_slice_p.bind(operand, update, *starts)
    if tangents[0] is None and tangents[1] is None:
        return out, None
    t_operand, t_update = [
        zeros_of(typeof(x).tangent) if t is None else t
        for x, t in zip(primals[:2], tangents[:2], strict=True)
    ]
    return out, dynamic_update_slice_p.bind(t_operand, t_update, *starts)


def _transpose_dynamic_update_slice(ct: Any, operand: Any, update: Any, *starts: Any) -> list[Any]:
    ct_operand = ct_update = None
    shape = update.shape if isinstance(update, Linear) else typeof(update).shape
    if isinstance(operand, Linear):
        hole = zeros_of(typeof(ct).update(shape=shape))
        ct_operand = dynamic_update_slice_p.bind(ct, hole, *starts)
    if isinstance(update, Linear):
        ct_update = dynamic_slice_p.bind(ct, *starts, slice_sizes=shape)
    return [ct_operand, ct_update, *[None] * len(starts)]


def _batch_dynamic_update_slice(axis: Any, args: Any, dims: Any) -> tuple[Any, int]:
    operand, update, *starts = args
    if any(d is not None for d in dims[2:]):
        from covector.lax.scatter import batched_dynamic_update_slice

        return batched_dynamic_update_slice(axis, args, dims)
    dim = dims[0] if dims[0] is not None else dims[1]
    operand = move_batch_axis(operand, axis.size, dims[0], dim)
    update = move_batch_axis(update, axis.size, dims[1], dim)
    starts = insert(starts, dim, _zero_like(starts))
    return dynamic_update_slice_p.bind(operand, update, *starts), dim


dynamic_update_slice_p = Primitive(
    "dynamic_update_slice",
    abstract=_abstract_dynamic_update_slice,
    lower=_lower_dynamic_update_slice,
    jvp=_jvp_dynamic_update_slice,
    transpose=_transpose_dynamic_update_slice,
    batch=_batch_dynamic_update_slice,
)


def dynamic_update_slice_in_dim(
    operand: Any,
    update: Any,
    start_index: Any,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> Any:
    """`dynamic_update_slice` along one axis.

    >>> lax.dynamic_update_slice_in_dim(np.zeros(4, int), np.array([7, 8]), np.int32(3), 0)
    Array([0, 0, 7, 8], dtype=int32)
    """
    ndim = typeof(operand).ndim
    axis = _axis("dynamic_update_slice_in_dim", axis, ndim)
    starts = insert([0] * (ndim - 1), axis, start_index)
    return dynamic_update_slice(
        operand, update, starts, allow_negative_indices=allow_negative_indices
    )


def dynamic_update_index_in_dim(
    operand: Any,
    update: Any,
    index: Any,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> Any:
    """``operand`` with ``update`` at a computed ``index`` of ``axis``.

    ``update`` has that axis with size 1, or lacks it.

    >>> lax.dynamic_update_index_in_dim(np.zeros(3, int), np.array(7), np.int32(1), 0)
    Array([0, 7, 0], dtype=int32)
    """
    ndim = typeof(operand).ndim
    axis = _axis("dynamic_update_index_in_dim", axis, ndim)
    if typeof(update).ndim == ndim - 1:
        update = expand_dims(update, (axis,))
    return dynamic_update_slice_in_dim(
        operand, update, index, axis, allow_negative_indices=allow_negative_indices
    )

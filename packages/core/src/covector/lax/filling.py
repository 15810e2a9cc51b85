"""Arrays made from nothing: full, iota, empty."""

from __future__ import annotations

from typing import Any

import numpy as np

from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector._trace.primitive import Primitive
from covector._trace.trace import typeof
from covector.lax._axes import sizes_of


def full(shape: Any, fill_value: Any, dtype: Any = None, *, sharding: Any = None) -> Any:
    """An array of ``shape`` filled with one value.

    Args:
      shape: a sequence of sizes, or one size.
      fill_value: a scalar.
      dtype: the value's by default (weakly typed if it is a Python number).

    Raises:
      TypeError: ``fill_value`` is not a scalar.

    >>> lax.full((2,), 3.0, np.float32)
    Array([3., 3.], dtype=float32)
    """
    from covector.lax.shape import broadcast_in_dim_p

    shape = sizes_of("full", "shape", shape)
    aval = typeof(fill_value)
    if aval.shape != ():
        raise TypeError(f"full must be called with scalar fill_value, got shape {aval.shape}.")
    target = aval.update(dtype=aval.dtype if dtype is None else dtypes.canonicalize_dtype(dtype))
    if dtype is not None:
        target = target.strip_weak_type()
    if isinstance(target.dtype, dtypes.ExtendedDType) and target.dtype is not aval.dtype:
        extended, whole = target.dtype, (*shape, *target.dtype.element_shape)
        return extended.wrap(full(whole, fill_value, extended.base_dtype, sharding=sharding))
    return place(
        broadcast_in_dim_p.bind(_scalar(fill_value, target), shape=shape, broadcast_dimensions=()),
        sharding,
    )


def place(x: Any, sharding: Any) -> Any:
    """``x`` put where ``sharding`` (or None) says."""
    if sharding is None:
        return x
    from covector import device_put

    return device_put(x, sharding)


def _scalar(value: Any, target: ShapedArray) -> Any:
    """A scalar converted to a type: on the host where NumPy converts as XLA does."""
    from covector.lax.elementwise import convert_element_type_p, kind_changes_need_care

    aval = typeof(value)
    if aval == target:
        return value
    host = isinstance(value, (bool, int, float, complex, np.generic, np.ndarray))
    if host and not target.weak_type and not kind_changes_need_care(aval.dtype, target.dtype):
        return np.asarray(value).astype(aval.dtype).astype(target.dtype)[()]
    return convert_element_type_p.bind(value, new_dtype=target.dtype, weak_type=target.weak_type)


def full_like(
    x: Any, fill_value: Any, dtype: Any = None, shape: Any = None, sharding: Any = None
) -> Any:
    """An array of ``x``'s shape and dtype, unless given, filled with one value.

    >>> lax.full_like(np.ones(2, np.float32), 7)
    Array([7., 7.], dtype=float32)
    """
    aval = typeof(x)
    filled = full(
        aval.shape if shape is None else shape,
        fill_value,
        aval.dtype if dtype is None else dtype,
        sharding=sharding,
    )
    if dtype is None and aval.weak_type:
        from covector.lax.elementwise import convert_element_type_p

        return convert_element_type_p.bind(filled, new_dtype=aval.dtype, weak_type=True)
    return filled


def empty(shape: Any, dtype: Any, *, out_sharding: Any = None) -> Any:
    """An array of ``shape`` whose values do not matter (they are zeros).

    >>> lax.empty((2, 3), np.float32).shape
    (2, 3)
    """
    return full(shape, 0, dtype, sharding=out_sharding)


def shape_as_value(shape: Any) -> Any:
    """A shape as an integer array.

    >>> lax.shape_as_value((2, 3))
    array([2, 3], dtype=int32)
    """
    sizes = sizes_of("shape_as_value", "shape", shape)
    return np.array(sizes, dtypes.canonicalize_dtype(np.int64))


def zeros_of(aval: ShapedArray) -> Any:
    """Zeros of a type."""
    return full_of(aval, 0)


def full_of(aval: ShapedArray, value: Any) -> Any:
    """An array of a type, filled with one Python number."""
    from covector.lax.convert import convert_type
    from covector.lax.shape import broadcast_in_dim_p

    if aval.dtype == dtypes.float0:
        return np.zeros(aval.shape, dtypes.float0)
    scalar = np.asarray(value).astype(aval.dtype)[()]
    filled = broadcast_in_dim_p.bind(scalar, shape=aval.shape, broadcast_dimensions=())
    if aval.weak_type:
        return convert_type(filled, aval.dtype, weak_type=True)
    return filled


# --- iota ----------------------------------------------------------------------------------------


def iota(dtype: Any, size: int) -> Any:
    """The numbers 0, 1, ..., ``size`` - 1.

    >>> lax.iota(np.float32, 3)
    Array([0., 1., 2.], dtype=float32)
    """
    return broadcasted_iota(dtype, (size,), 0)


def broadcasted_iota(dtype: Any, shape: Any, dimension: int, *, out_sharding: Any = None) -> Any:
    """Each element's position along axis ``dimension``.

    Raises:
      TypeError: ``dtype`` is bool.
      ValueError: there is no such axis.

    >>> lax.broadcasted_iota(np.int32, (2, 3), 1)
    Array([[0, 1, 2],
           [0, 1, 2]], dtype=int32)
    """
    shape = sizes_of("iota", "shape", shape)
    dtype = dtypes.canonicalize_dtype(dtype)
    return place(iota_p.bind(dtype=dtype, shape=shape, dimension=int(dimension)), out_sharding)


def _abstract_iota(*, dtype: np.dtype, shape: tuple[int, ...], dimension: int) -> ShapedArray:
    if dtypes.is_bool(dtype):
        raise TypeError("iota does not accept dtype bool: expected an integer, real or complex one")
    if not 0 <= dimension < len(shape):
        raise ValueError(
            f"iota: dimension must be an axis of the shape {shape}, at least 0, got {dimension}"
        )
    return ShapedArray(shape, dtype)


iota_p = Primitive(
    "iota",
    abstract=_abstract_iota,
    lower=lambda ctx, args, in_avals, out_avals, *, dtype, shape, dimension: ctx.emit(
        f"stablehlo.iota dim = {dimension} : {out_avals[0].mlir}"
    ),
    differentiable=False,
)

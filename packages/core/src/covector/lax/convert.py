"""Conversions of element types: convert_element_type, bitcast_convert_type, reduce_precision."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np

from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector._ir.jaxpr import Literal
from covector._trace.primitive import Primitive
from covector._trace.trace import typeof
from covector._transform.batch import move_batch_axis
from covector.errors import warn_user
from covector.lax._nary import FLOAT, LINEAR, elementwise, elementwise_batch

# --- dtype ----------------------------------------------------------------------------------------


def dtype(x: Any) -> Any:
    """The element type that an array of ``x`` has: of a value, or of what names a dtype.

    Raises:
      TypeError: ``x`` has no dtype.
      ValueError: ``x`` is None.

    >>> dtype(1.0), dtype("bfloat16")
    (dtype('float32'), dtype(bfloat16))
    """
    if x is None:
        raise ValueError("dtype: x must be an array or a dtype, got None.")
    return dtypes.dtype(x, canonicalize=True)


# --- convert_element_type -------------------------------------------------------------------------


def convert_element_type(operand: Any, new_dtype: Any) -> Any:
    """``operand`` with its elements converted to ``new_dtype``.

    A float becomes an integer by cutting its fraction off; out of range it becomes the nearest
    integer, and nan zero. A complex number loses its imaginary part, with a warning.

    Args:
      new_dtype: a dtype, or what names one.

    Raises:
      TypeError: ``operand`` is no array, or ``new_dtype`` no dtype of arrays.
      ValueError: ``new_dtype`` is None.

    >>> import covector
    >>> int(covector.lax.convert_element_type(2.7, "int32"))
    2
    """
    return convert_type(operand, new_dtype, weak_type=False)


def convert_type(operand: Any, new_dtype: Any, *, weak_type: bool) -> Any:
    """`convert_element_type`, and whether the result's type is weak."""
    if type(new_dtype) is not np.dtype or new_dtype.itemsize == 8:
        new_dtype = _user_dtype(new_dtype, "convert_element_type")
    aval = typeof(operand)
    if aval.dtype == new_dtype and aval.weak_type == weak_type and hasattr(operand, "aval"):
        return operand
    if dtypes.is_complex(aval.dtype) and not (
        dtypes.is_complex(new_dtype) or dtypes.is_bool(new_dtype)
    ):
        warn_user(
            "convert_element_type: converting complex values to real ones drops the imaginary "
            "part. Use covector.lax.real to say that this is meant.",
            np.exceptions.ComplexWarning,
        )
    return convert_element_type_p.bind(operand, new_dtype=new_dtype, weak_type=weak_type)


def _user_dtype(new_dtype: Any, name: str) -> Any:
    if new_dtype is None:
        raise ValueError(f"{name}: new_dtype must be a dtype, got None.")
    return dtypes.check_user_dtype(new_dtype, name)


def _abstract_convert(aval: ShapedArray, *, new_dtype: Any, weak_type: bool) -> ShapedArray:
    return ShapedArray(aval.shape, new_dtype, weak_type)


def _lower_convert(ctx: Any, args: Any, in_avals: Any, out_avals: Any, **params: Any) -> list[str]:
    operand, out = in_avals[0], out_avals[0]
    if dtypes.is_complex(operand.dtype) and not (
        dtypes.is_complex(out.dtype) or dtypes.is_bool(out.dtype)
    ):
        part = operand.update(dtype=dtypes.to_real_dtype(operand.dtype))
        args, operand = ctx.typed("real", args, [operand], [part]), part
    return [ctx.convert(args[0], operand, out)]


def _fold_convert(literals: list[Literal], params: dict, out_aval: ShapedArray) -> Literal | None:
    value, aval = literals[0].val, literals[0].aval
    if aval.shape != () or kind_changes_need_care(aval.dtype, out_aval.dtype):
        return None
    with np.errstate(over="ignore"):  # to infinity, as at run time
        return Literal(np.asarray(value, aval.dtype).astype(out_aval.dtype)[()], out_aval)


def kind_changes_need_care(old: np.dtype, new: np.dtype) -> bool:
    """Whether NumPy and XLA may convert a constant differently.

    So it is from complex numbers, from floating point to integers, and where a dtype is narrow.
    """
    return old != new and (
        dtypes.is_complex(old)
        or (dtypes.is_float(old) and not dtypes.is_inexact(new))
        or not _NARROW.isdisjoint((old, new))
    )


_NARROW = dtypes.NARROW_FLOATS | dtypes.NARROW_INTEGERS


def _jvp_convert(primals: Any, tangents: Any, *, new_dtype: Any, weak_type: bool) -> Any:
    out = convert_element_type_p.bind(primals[0], new_dtype=new_dtype, weak_type=weak_type)
    if not dtypes.is_inexact(new_dtype):
        return out, None
    return out, convert_element_type_p.bind(tangents[0], new_dtype=new_dtype, weak_type=weak_type)


convert_element_type_p = Primitive(
    "convert_element_type",
    abstract=_abstract_convert,
    lower=_lower_convert,
    fold=_fold_convert,
    jvp=_jvp_convert,
    transpose=lambda ct, x, *, new_dtype, weak_type: [
        convert_element_type_p.bind(ct, new_dtype=x.dtype, weak_type=x.aval.weak_type)
    ],
    batch=elementwise_batch(lambda: convert_element_type_p),
    elementwise=True,
)


# --- bitcast_convert_type -------------------------------------------------------------------------


def bitcast_convert_type(operand: Any, new_dtype: Any) -> Any:
    """The bits of ``operand`` read as another dtype.

    To a narrower dtype, the result has one more axis, the last, for the pieces of each element,
    the lowest first; to a wider one, the last axis holds the pieces, and goes.

    Raises:
      TypeError: booleans or complex numbers meet another dtype.
      ValueError: the last axis does not hold as many pieces as the new dtype needs.

    >>> import covector, numpy
    >>> hex(int(covector.lax.bitcast_convert_type(numpy.float32(1), numpy.uint32)))
    '0x3f800000'
    """
    new_dtype = _user_dtype(new_dtype, "bitcast_convert_type")
    return bitcast_convert_type_p.bind(operand, new_dtype=new_dtype)


def _abstract_bitcast(aval: ShapedArray, *, new_dtype: Any) -> ShapedArray:
    old, shape = aval.dtype, aval.shape
    old_bits, new_bits = dtypes.itemsize_bits(old), dtypes.itemsize_bits(new_dtype)
    if new_bits < old_bits:
        shape = (*shape, old_bits // new_bits)
    elif new_bits > old_bits:
        if not shape or shape[-1] * old_bits != new_bits:
            raise ValueError(
                f"bitcast_convert_type: the last axis of the operand must hold "
                f"{new_bits // old_bits} elements of {old} ({old_bits} bits) for one of "
                f"{new_dtype} ({new_bits} bits), but the operand has shape {shape}."
            )
        shape = shape[:-1]
    if old != new_dtype and not {old, new_dtype} <= dtypes.INTEGERS | dtypes.FLOATS:
        raise TypeError(
            "lax.bitcast_convert_type does not take boolean or complex values to or from another "
            f"dtype, got operand dtype {old} and new_dtype {new_dtype}. Take complex numbers apart "
            "with covector.lax.real and imag."
        )
    return ShapedArray(shape, new_dtype)


def _batch_bitcast(axis: Any, args: Any, dims: Any, *, new_dtype: Any) -> tuple[Any, int]:
    x, to = args[0], dims[0]
    widens = dtypes.itemsize_bits(new_dtype) > dtypes.itemsize_bits(typeof(x).dtype)
    if widens and to == typeof(x).ndim - 1:
        x, to = move_batch_axis(x, axis.size, to, 0), 0  # the last axis, which holds pieces, goes
    return bitcast_convert_type_p.bind(x, new_dtype=new_dtype), to


bitcast_convert_type_p = Primitive(
    "bitcast_convert_type",
    abstract=_abstract_bitcast,
    lower=lambda ctx, args, in_avals, out_avals, *, new_dtype: ctx.typed(
        "bitcast_convert", args, in_avals, out_avals
    ),
    batch=_batch_bitcast,
    elementwise=True,
    differentiable=False,
)


# --- reduce_precision -----------------------------------------------------------------------------


def reduce_precision(operand: Any, exponent_bits: int, mantissa_bits: int) -> Any:
    """``operand`` rounded as a float of so many exponent and mantissa bits would be.

    Raises:
      TypeError: the operand is not floating point, or a number of bits no integer.
      ValueError: ``exponent_bits`` is below one, or ``mantissa_bits`` negative.

    >>> import covector
    >>> float(covector.lax.reduce_precision(1.1, exponent_bits=5, mantissa_bits=2))
    1.0
    """
    exponent_bits, mantissa_bits = index(exponent_bits), index(mantissa_bits)
    if exponent_bits < 1:
        raise ValueError(f"reduce_precision: exponent_bits must be positive, got {exponent_bits}.")
    if mantissa_bits < 0:
        raise ValueError(
            f"reduce_precision: mantissa_bits must not be negative, got {mantissa_bits}."
        )
    return reduce_precision_p.bind(
        operand, exponent_bits=exponent_bits, mantissa_bits=mantissa_bits
    )


def _lower_reduce_precision(
    ctx: Any, args: Any, in_avals: Any, out_avals: Any, *, exponent_bits: int, mantissa_bits: int
) -> list[str]:
    return ctx.emit(
        f"stablehlo.reduce_precision {args[0]}, format = e{exponent_bits}m{mantissa_bits} : "
        f"{out_avals[0].mlir}"
    )


reduce_precision_p = elementwise("reduce_precision", _lower_reduce_precision, FLOAT, LINEAR)

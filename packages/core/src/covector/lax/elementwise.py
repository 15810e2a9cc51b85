"""Elementwise arithmetic: the table of operations, and those that need more than a row."""

from __future__ import annotations

from typing import Any

import numpy as np

from covector._config import annihilating_zeros
from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector._ir.jaxpr import Literal
from covector._trace.primitive import Linear, Primitive
from covector._trace.trace import typeof
from covector.lax._nary import (
    ANY,
    INEXACT,
    LINEAR,
    NUMBER,
    batch_elementwise,
    broadcast_operands,
    elementwise,
    unbroadcast,
)

# --- products in linear code ------------------------------------------------------------------


def scale(tangent: Any, coefficient: Any) -> Any:
    """``tangent * coefficient`` in linear code, where a zero tangent annihilates.

    `0 * inf` and `0 * nan` are 0 here, so that the branch of a `where` that was not taken cannot
    poison a gradient. The flag `annihilating_zeros` restores IEEE products.
    """
    return (scale_p if annihilating_zeros.value else mul_p).bind(tangent, coefficient)


def _lower_scale(ctx: Any, args: Any, in_avals: Any, out_avals: Any) -> list[str]:
    out = out_avals[0]
    t, c = broadcast_operands(ctx, args, in_avals, out)
    zero = ctx.broadcast(ctx.constant(0, out.update(shape=())), out.update(shape=()), out)
    kind = "FLOAT" if dtypes.is_float(out.dtype) or dtypes.is_complex(out.dtype) else "SIGNED"
    mask = out.update(dtype=np.bool_, weak_type=False)
    is_zero = ctx.emit(
        f"stablehlo.compare EQ, {t}, {zero}, {kind} : ({out.mlir}, {out.mlir}) -> {mask.mlir}"
    )[0]
    product = ctx.simple("multiply", [t, c], out)
    return ctx.emit(f"stablehlo.select {is_zero}, {zero}, {product} : {mask.mlir}, {out.mlir}")


scale_p = elementwise(
    "scale",
    _lower_scale,
    NUMBER,
    lambda t, out, x, c: scale_p.bind(t, c),
    lambda t, out, x, c: scale_p.bind(t, x),
    transpose=lambda ct, x, c: [
        unbroadcast(scale_p.bind(ct, c), x) if isinstance(x, Linear) else None,
        unbroadcast(scale_p.bind(ct, x), c) if isinstance(c, Linear) else None,
    ],
)


def _transpose_add(ct: Any, x: Any, y: Any) -> list[Any]:
    return [unbroadcast(ct, v) if isinstance(v, Linear) else None for v in (x, y)]


def _transpose_sub(ct: Any, x: Any, y: Any) -> list[Any]:
    return [
        unbroadcast(ct, x) if isinstance(x, Linear) else None,
        unbroadcast(neg(ct), y) if isinstance(y, Linear) else None,
    ]


def _transpose_mul(ct: Any, x: Any, y: Any) -> list[Any]:
    return [
        unbroadcast(scale(ct, y), x) if isinstance(x, Linear) else None,
        unbroadcast(scale(ct, x), y) if isinstance(y, Linear) else None,
    ]


def _transpose_div(ct: Any, x: Any, y: Any) -> list[Any]:
    return [unbroadcast(div(ct, y), x), None]


def identity(t: Any, out: Any, *operands: Any) -> Any:
    """The derivative of a sum."""
    return t


# --- the four operations ----------------------------------------------------------------------

add_p = elementwise("add", "add", ANY, identity, identity, transpose=_transpose_add)
add_any_p = elementwise("add_any", "add", ANY, identity, identity, transpose=_transpose_add)
sub_p = elementwise(
    "sub", "subtract", NUMBER, identity, lambda t, out, x, y: neg(t), transpose=_transpose_sub
)
mul_p = elementwise(
    "mul",
    "multiply",
    ANY,
    lambda t, out, x, y: scale(t, y),
    lambda t, out, x, y: scale(t, x),
    transpose=_transpose_mul,
)
div_p = elementwise(
    "div",
    "divide",
    NUMBER,
    lambda t, out, x, y: div(t, y),
    lambda t, out, x, y: scale(t, neg(div(out, y))),
    transpose=_transpose_div,
)
neg_p = elementwise("neg", "negate", NUMBER, LINEAR)

sin_p = elementwise("sin", "sine", INEXACT, lambda t, y, x: scale(t, cos(x)))
cos_p = elementwise("cos", "cosine", INEXACT, lambda t, y, x: scale(t, neg(sin(x))))
exp_p = elementwise("exp", "exponential", INEXACT, lambda t, y, x: scale(t, y))


def add_any(x: Any, y: Any) -> Any:
    """The sum of two tangents or cotangents."""
    return add_any_p.bind(x, y)


def add(x: Any, y: Any) -> Any:
    """Elementwise sum."""
    return add_p.bind(x, y)


def neg(x: Any) -> Any:
    """Elementwise negation."""
    return neg_p.bind(x)


def mul(x: Any, y: Any) -> Any:
    """Elementwise product."""
    return mul_p.bind(x, y)


def sub(x: Any, y: Any) -> Any:
    """Elementwise difference."""
    return sub_p.bind(x, y)


def div(x: Any, y: Any) -> Any:
    """Elementwise quotient."""
    return div_p.bind(x, y)


def sin(x: Any) -> Any:
    """Elementwise sine."""
    return sin_p.bind(x)


def cos(x: Any) -> Any:
    """Elementwise cosine."""
    return cos_p.bind(x)


def exp(x: Any) -> Any:
    """Elementwise exponential."""
    return exp_p.bind(x)


# --- conversion of dtype ------------------------------------------------------------------------


def convert_element_type(operand: Any, new_dtype: Any, *, weak_type: bool = False) -> Any:
    """``operand`` with its elements converted to ``new_dtype``."""
    aval = typeof(operand)
    new_dtype = dtypes.canonicalize_dtype(new_dtype)
    if aval.dtype == new_dtype and aval.weak_type == weak_type and hasattr(operand, "aval"):
        return operand
    return convert_element_type_p.bind(operand, new_dtype=new_dtype, weak_type=weak_type)


def _abstract_convert(aval: ShapedArray, *, new_dtype: Any, weak_type: bool) -> ShapedArray:
    return ShapedArray(aval.shape, new_dtype, weak_type)


def _lower_convert(ctx: Any, args: Any, in_avals: Any, out_avals: Any, **params: Any) -> list[str]:
    return [ctx.convert(args[0], in_avals[0], out_avals[0])]


def _fold_convert(literals: list[Literal], params: dict, out_aval: ShapedArray) -> Literal | None:
    value, aval = literals[0].val, literals[0].aval
    if aval.shape != () or kind_changes_need_care(aval.dtype, out_aval.dtype):
        return None
    return Literal(np.asarray(value, aval.dtype).astype(out_aval.dtype)[()], out_aval)


def kind_changes_need_care(old: np.dtype, new: np.dtype) -> bool:
    """Whether NumPy and XLA may convert a constant differently (float to integer, complex)."""
    return dtypes.is_complex(old) or (
        dtypes.is_float(old) and not (dtypes.is_float(new) or dtypes.is_complex(new))
    )


def _jvp_convert(primals: Any, tangents: Any, *, new_dtype: Any, weak_type: bool) -> Any:
    out = convert_element_type_p.bind(primals[0], new_dtype=new_dtype, weak_type=weak_type)
    if not (dtypes.is_float(new_dtype) or dtypes.is_complex(new_dtype)):
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
    batch=lambda axis, args, dims, **params: batch_elementwise(
        convert_element_type_p, axis, args, dims, params
    ),
    elementwise=True,
)

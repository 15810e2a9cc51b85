"""Complex numbers and their parts: complex, real, imag, conj.

Cotangents follow the convention that the transpose of a product with a complex number is the
product with that number, not with its conjugate; so `imag` has the transpose ``ct -> -i ct``.
"""

from __future__ import annotations

from typing import Any

from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector._trace.primitive import LINEAR, Linear, Primitive
from covector._trace.trace import typeof
from covector.lax._nary import (
    broadcast_operands,
    broadcast_to_shape,
    check_kind,
    check_same_dtype,
    common_shape,
    elementwise,
    elementwise_batch,
    scalar_like,
    unbroadcast,
)

_PARTS = (dtypes.DTYPES["float32"], dtypes.DTYPES["float64"])


# --- complex --------------------------------------------------------------------------------------


def complex(x: Any, y: Any) -> Any:
    """The complex numbers ``x + i y``, of float32 or float64 parts.

    >>> import covector
    >>> covector.lax.complex(1.0, 2.0).item()
    (1+2j)
    """
    return complex_p.bind(x, y)


def _abstract_complex(x: ShapedArray, y: ShapedArray) -> ShapedArray:
    for position, aval in enumerate((x, y)):
        if aval.dtype not in _PARTS:
            raise TypeError(
                f"complex does not accept dtype {aval.dtype} at position {position}. "
                f"Accepted dtypes at position {position} are: float32, float64."
            )
    check_same_dtype("complex", (x, y))
    shape = common_shape("complex", (x, y))
    return ShapedArray(shape, dtypes.to_complex_dtype(x.dtype), x.weak_type and y.weak_type)


def _lower_complex(ctx: Any, args: Any, in_avals: Any, out_avals: Any) -> list[str]:
    part = in_avals[0].update(shape=out_avals[0].shape)
    x, y = broadcast_operands(ctx, args, in_avals, part)
    return ctx.emit(f"stablehlo.complex {x}, {y} : {out_avals[0].mlir}")


def _jvp_complex(primals: Any, tangents: Any) -> tuple[Any, Any]:
    out = complex_p.bind(*primals)
    zero = scalar_like(real_p.bind(out), 0)
    tangent = complex_p.bind(*[zero if t is None else t for t in tangents])
    return out, broadcast_to_shape(tangent, out.shape)


complex_p = Primitive(
    "complex",
    abstract=_abstract_complex,
    lower=_lower_complex,
    jvp=_jvp_complex,
    transpose=lambda ct, x, y: [
        unbroadcast(real_p.bind(ct), x) if isinstance(x, Linear) else None,
        unbroadcast(imag_p.bind(conj_p.bind(ct)), y) if isinstance(y, Linear) else None,
    ],
    batch=elementwise_batch(lambda: complex_p),
    elementwise=True,
)


# --- its parts ------------------------------------------------------------------------------------


def real(x: Any) -> Any:
    """The real part of complex numbers.

    >>> import covector
    >>> float(covector.lax.real(1 + 2j))
    1.0
    """
    return real_p.bind(x)


real_p = elementwise(
    "real",
    "real",
    "c",
    LINEAR,
    out_dtype=dtypes.to_real_dtype,
    transpose=lambda ct, x: [complex_p.bind(ct, scalar_like(ct, 0))],
)


def imag(x: Any) -> Any:
    """The imaginary part of complex numbers.

    >>> import covector
    >>> float(covector.lax.imag(1 + 2j))
    2.0
    """
    return imag_p.bind(x)


imag_p = elementwise(
    "imag",
    "imag",
    "c",
    LINEAR,
    out_dtype=dtypes.to_real_dtype,
    transpose=lambda ct, x: [conj_p.bind(complex_p.bind(scalar_like(ct, 0), ct))],
)


# --- conj -----------------------------------------------------------------------------------------


def conj(x: Any) -> Any:
    """The complex conjugate; a real number comes out as a complex one.

    >>> import covector
    >>> covector.lax.conj(1 + 2j).item()
    (1-2j)
    """
    return conj_p.bind(x)


def _abstract_conj(x: ShapedArray) -> ShapedArray:
    if x.dtype not in _PARTS:
        check_kind("conj", x, "c")
    return x.update(dtype=dtypes.to_complex_dtype(x.dtype))


def _lower_conj(ctx: Any, args: Any, in_avals: Any, out_avals: Any) -> list[str]:
    operand, out = in_avals[0], out_avals[0]
    if not dtypes.is_complex(operand.dtype):
        zero = ctx.constant(0, operand)
        return ctx.emit(f"stablehlo.complex {args[0]}, {zero} : {out.mlir}")
    part = out.update(dtype=dtypes.to_real_dtype(out.dtype))
    re, im = (ctx.typed(op, args, [operand], [part])[0] for op in ("real", "imag"))
    minus = ctx.simple("negate", [im], part)
    return ctx.emit(f"stablehlo.complex {re}, {minus} : {out.mlir}")


def _transpose_conj(ct: Any, x: Any) -> list[Any]:
    ct = conj_p.bind(ct)
    return [ct if dtypes.is_complex(typeof(x).dtype) else real_p.bind(ct)]


conj_p = Primitive(
    "conj",
    abstract=_abstract_conj,
    lower=_lower_conj,
    jvp=LINEAR,
    transpose=_transpose_conj,
    batch=elementwise_batch(lambda: conj_p),
    elementwise=True,
)


# --- functions of them ----------------------------------------------------------------------------


def lower_complex(name: str, of_real: Any) -> Any:
    """A lowering rule: ``of_real`` for real numbers, that of `complex_functions` for complex ones.

    A function that is asked for an accuracy is XLA's for both.
    """

    def rule(ctx: Any, args: Any, in_avals: Any, out_avals: Any, **accuracy: Any) -> list[str]:
        if accuracy or not dtypes.is_complex(in_avals[0].dtype):
            return of_real(ctx, args, in_avals, out_avals, **accuracy)
        from covector.lax.complex_functions import LOWERINGS

        return LOWERINGS[name](ctx, args, in_avals, out_avals)

    return rule

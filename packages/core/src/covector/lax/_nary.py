"""The common form of elementwise primitives, whatever their number of operands.

Operands have one dtype and one shape; an operand of rank zero stands for an array of that value.
A row of a table (see `elementwise.py`) says only what is particular to the operation: its StableHLO
name, the kinds of dtypes it takes, and its derivative with respect to each operand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector._trace.primitive import LINEAR, Linear, Primitive
from covector._trace.trace import typeof
from covector._transform.batch import move_batch_axis

# Kinds of dtypes: f(loat) c(omplex) i(nteger, signed) u(nsigned) b(ool).
FLOAT, INEXACT, INTEGER, NUMBER, ANY = "f", "fc", "iu", "fciu", "fciub"
_KIND_WORDS = {
    "f": "floating point",
    "c": "complex",
    "i": "signed integer",
    "u": "unsigned integer",
    "b": "boolean",
}


def kind_of(dtype: np.dtype) -> str:
    """One letter for the family of a dtype."""
    if dtypes.is_float(dtype):
        return "f"
    if dtypes.is_complex(dtype):
        return "c"
    if dtypes.is_bool(dtype):
        return "b"
    return "u" if dtype.kind == "u" or dtype.name.startswith("uint") else "i"


def check_kind(name: str, aval: ShapedArray, kinds: str, position: int = 0) -> None:
    """Raise `TypeError` unless the operand's dtype is of one of ``kinds``."""
    if kind_of(aval.dtype) not in kinds:
        words = ", ".join(_KIND_WORDS[k] for k in kinds)
        raise TypeError(
            f"{name} does not accept dtype {aval.dtype.name} at position {position}. "
            f"Accepted dtypes at position {position} are: {words}."
        )


def check_same_dtype(name: str, avals: Sequence[ShapedArray]) -> None:
    """Raise `TypeError` unless all operands have one dtype."""
    if any(a.dtype is not avals[0].dtype and a.dtype != avals[0].dtype for a in avals):
        raise TypeError(
            f"lax.{name} requires arguments to have the same dtypes, got "
            f"{', '.join(a.dtype.name for a in avals)}. (Convert one of them with "
            "covector.lax.convert_element_type; covector.numpy promotes dtypes by itself.)"
        )


def common_shape(name: str, avals: Sequence[ShapedArray]) -> tuple[int, ...]:
    """The one shape of the operands that are not of rank zero."""
    shapes = {a.shape for a in avals if a.shape}
    if len(shapes) > 1:
        raise TypeError(
            f"{name} got incompatible shapes for broadcasting: "
            f"{', '.join(str(a.shape) for a in avals)}. All operands must have one shape (or rank "
            "zero); covector.numpy broadcasts by itself."
        )
    return shapes.pop() if shapes else ()


def elementwise(
    name: str,
    op: str | Callable[..., Any],
    kinds: str,
    *derivatives: Any,
    out_dtype: Callable[[np.dtype], np.dtype] | None = None,
    kinds_by_position: Sequence[str] | None = None,
    differentiable: bool = True,
    transpose: Callable[..., Any] | None = None,
) -> Primitive:
    """An elementwise primitive.

    ``op`` is the StableHLO operation's name, or a lowering rule. Each of ``derivatives`` (one an
    operand, or none) is `LINEAR`, or a function ``(tangent, out, *operands) -> tangent``, or None
    for an operand without a derivative. ``out_dtype`` maps the operands' dtype to the result's.
    """
    num_operands = max(1, len(derivatives))

    def abstract(*avals: ShapedArray, **params: Any) -> ShapedArray:
        check_same_dtype(name, avals)
        for i, a in enumerate(avals):
            check_kind(name, a, kinds_by_position[i] if kinds_by_position else kinds, i)
        dtype = avals[0].dtype if out_dtype is None else out_dtype(avals[0].dtype)
        weak = all(a.weak_type for a in avals) and not dtypes.is_bool(dtype)
        return ShapedArray(common_shape(name, avals), dtype, weak)

    def jvp(primals: list[Any], tangents: list[Any], **params: Any) -> tuple[Any, Any]:
        out = primitive.bind(*primals, **params)
        total = None
        for derivative, tangent in zip(derivatives, tangents, strict=True):
            if tangent is None or derivative is None:
                continue
            if derivative == LINEAR:
                term = primitive.bind(tangent, **params)
            else:
                term = derivative(tangent, out, *primals, **params)
            term = broadcast_to_shape(term, out.shape)
            total = term if total is None else _add_any(total, term)
        return out, total

    primitive = Primitive(
        name,
        abstract=abstract,
        lower=lower_elementwise(op) if isinstance(op, str) else op,
        jvp=jvp if derivatives else None,
        transpose=transpose
        or (linear_transpose_of(lambda: primitive) if LINEAR in derivatives else None),
        batch=lambda axis, args, dims, **params: batch_elementwise(
            primitive, axis, args, dims, params
        ),
        elementwise=True,
        differentiable=differentiable and bool(derivatives),
    )
    primitive.num_operands = num_operands  # type: ignore[attr-defined]
    return primitive


def lower_elementwise(op: str) -> Callable[..., list[str]]:
    """Broadcast rank-zero operands, then ``stablehlo.OP`` on all of them."""

    def lower(ctx: Any, args: Any, in_avals: Any, out_avals: Any, **params: Any) -> list[str]:
        args = broadcast_operands(ctx, args, in_avals, out_avals[0])
        return [ctx.simple(op, args, out_avals[0])]

    return lower


def lower_chlo(op: str) -> Callable[..., list[str]]:
    """Like `lower_elementwise` for the operations of the ``chlo`` dialect."""

    def lower(ctx: Any, args: Any, in_avals: Any, out_avals: Any, **params: Any) -> list[str]:
        out = out_avals[0]
        args = broadcast_operands(ctx, args, in_avals, out)
        types = ", ".join([out.mlir] * len(args))
        return ctx.emit(f"chlo.{op} {', '.join(args)} : {types} -> {out.mlir}")

    return lower


def broadcast_operands(ctx: Any, args: Any, in_avals: Any, out: ShapedArray) -> list[str]:
    """Names of the operands, each of the result's shape."""
    return [
        a if v.shape == out.shape else ctx.broadcast(a, v, v.update(shape=out.shape))
        for a, v in zip(args, in_avals, strict=True)
    ]


def linear_transpose_of(primitive: Callable[[], Primitive]) -> Callable[..., list[Any]]:
    """For an operation of one operand that is its own transpose (negation, real scaling)."""
    return lambda ct, x, **params: [primitive().bind(ct, **params)]


def batch_elementwise(
    primitive: Primitive, axis: Any, args: list[Any], dims: Any, params: dict[str, Any]
) -> tuple[Any, int]:
    """Bring batch axes to one place; operands of rank zero stay as they are if not batched."""
    ranks = [typeof(x).ndim - (d is not None) for x, d in zip(args, dims, strict=True)]
    rank = max(ranks)
    full = [d for d, r in zip(dims, ranks, strict=True) if d is not None and r == rank]
    to = full[0] if full else 0
    moved = []
    for x, d, r in zip(args, dims, ranks, strict=True):
        if d is None and r == 0:
            moved.append(x)
        elif r < rank:
            moved.append(_spread(x, to, rank, axis.size, args, dims, ranks))
        else:
            moved.append(move_batch_axis(x, axis.size, d, to))
    return primitive.bind(*moved, **params), to


def _spread(x: Any, to: int, rank: int, size: int, args: Any, dims: Any, ranks: Any) -> Any:
    """A batch of scalars as a batch of arrays of the common shape."""
    from covector.lax.shape import broadcast_in_dim

    i = ranks.index(rank)
    shape = list(typeof(args[i]).shape)
    if dims[i] is not None:
        del shape[dims[i]]
    shape.insert(to, size)
    return broadcast_in_dim(x, shape, (to,))


def broadcast_to_shape(x: Any, shape: tuple[int, ...]) -> Any:
    """A rank-zero value spread over ``shape`` (others must have it already)."""
    from covector.lax.shape import broadcast_in_dim

    aval = typeof(x)
    return x if aval.shape == shape else broadcast_in_dim(x, shape, ())


def unbroadcast(ct: Any, operand: Any) -> Any:
    """The cotangent of an operand from that of the result: summed if it had rank zero."""
    from covector.lax.reduce import reduce_sum

    aval = operand.aval if isinstance(operand, Linear) else typeof(operand)
    ct_aval = typeof(ct)
    return ct if aval.shape == ct_aval.shape else reduce_sum(ct, tuple(range(ct_aval.ndim)))


def _add_any(x: Any, y: Any) -> Any:
    from covector.lax.elementwise import add_any

    return add_any(x, y)

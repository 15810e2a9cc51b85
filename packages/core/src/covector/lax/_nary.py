"""The common form of elementwise primitives, whatever their number of operands.

Operands have one dtype and one shape; an operand of rank zero stands for an array of that value,
and an axis of size one for one of any size. A block (see `elementwise.py`) says only what is
particular to the operation: its StableHLO name, the kinds of dtypes it takes, and its derivative
with respect to each operand.

Derivatives multiply tangents by `scale` and divide them by `unscale` (`elementwise.py`), in which
a tangent of zero annihilates. A tangent that is passed on or dropped is selected, not multiplied by
one or zero, so that an infinite one leaves no nan behind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector._trace.primitive import LINEAR, Primitive
from covector._trace.trace import typeof
from covector._transform.batch import move_batch_axis

# Kinds of dtypes: f(loat) c(omplex) i(nteger, signed) u(nsigned) b(ool).
FLOAT, INEXACT, INTEGER, NUMBER, ANY = "f", "fc", "iu", "fciu", "fciub"
REAL, ORDERED, BITS = "fiu", "fiub", "iub"
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
    return "u" if dtypes.is_unsigned(dtype) else "i"


# --- checks ---------------------------------------------------------------------------------------


def check_kind(name: str, aval: ShapedArray, kinds: str, position: int | None = None) -> None:
    """Raise `TypeError` unless the operand's dtype is of one of ``kinds``."""
    if aval.dtype not in dtypes.DTYPE_TO_MLIR or kind_of(aval.dtype) not in kinds:
        at = "" if position is None else f" at position {position}"
        words = ", ".join(_KIND_WORDS[k] for k in kinds)
        raise TypeError(
            f"{name} does not accept dtype {aval.str_short().split('[')[0]} ({aval.dtype}){at}. "
            f"Accepted dtypes{at} are: {words}. "
            "(Convert it with covector.lax.convert_element_type.)"
        )


def check_same_dtype(name: str, avals: Sequence[ShapedArray]) -> None:
    """Raise `TypeError` unless all operands have one dtype."""
    dtype = avals[0].dtype
    if any(a.dtype != dtype for a in avals):
        raise TypeError(
            f"lax.{name} requires arguments to have the same dtypes, got "
            f"{', '.join(str(a.dtype) for a in avals)}. (Convert one of them with "
            "covector.lax.convert_element_type; covector.numpy promotes dtypes by itself.)"
        )


def common_shape(name: str, avals: Sequence[ShapedArray]) -> tuple[int, ...]:
    """The one shape of the operands, apart from those of rank zero and from axes of size one."""
    shapes = list(dict.fromkeys([a.shape for a in avals if a.shape]))
    if len(shapes) < 2:
        return shapes[0] if shapes else ()
    if len({len(s) for s in shapes}) == 1:
        sizes = [set(axis) - {1} for axis in zip(*shapes, strict=True)]
        if all(len(s) <= 1 for s in sizes):
            return tuple([s.pop() if s else 1 for s in sizes])
    raise TypeError(
        f"{name} got incompatible shapes for broadcasting: "
        f"{', '.join(str(a.shape) for a in avals)}. Operands must have one number of axes (or "
        "none), and axes must agree in size or have size one; covector.numpy broadcasts by itself."
    )


# --- the primitive --------------------------------------------------------------------------------


def elementwise(
    name: str,
    op: str | Callable[..., Any],
    kinds: str,
    *derivatives: Any,
    operands: int = 1,
    out_dtype: Callable[[np.dtype], np.dtype] | None = None,
    transpose: Callable[..., Any] | None = None,
) -> Primitive:
    """An elementwise primitive.

    ``op`` is the StableHLO operation's name, or a lowering rule. Each of ``derivatives`` (one an
    operand, or none at all) is `LINEAR`, or a function ``(tangent, out, *operands, **params) ->
    tangent``, or None for an operand without a derivative. A derivative may come out as None: zero.
    ``operands`` need be told only without derivatives. ``out_dtype`` maps the operands' dtype to
    the result's.
    """
    operands = len(derivatives) or operands

    def abstract(*avals: ShapedArray, **params: Any) -> ShapedArray:
        for i, a in enumerate(avals):
            check_kind(name, a, kinds, i if operands > 1 else None)
        check_same_dtype(name, avals)
        dtype = avals[0].dtype if out_dtype is None else out_dtype(avals[0].dtype)
        return ShapedArray(common_shape(name, avals), dtype, all(a.weak_type for a in avals))

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
            if term is not None:
                term = broadcast_to_shape(term, out.shape)
                total = term if total is None else _add_any(total, term)
        return out, total

    if transpose is None and LINEAR in derivatives:
        transpose = _self_transpose(lambda: primitive)
    primitive = Primitive(
        name,
        abstract=abstract,
        lower=lower_elementwise(op) if isinstance(op, str) else op,
        jvp=jvp if derivatives else None,
        transpose=transpose,
        batch=elementwise_batch(lambda: primitive),
        elementwise=True,
        differentiable=bool(derivatives),
    )
    return primitive


def _self_transpose(primitive: Callable[[], Primitive]) -> Callable[..., list[Any]]:
    """For an operation of one operand that is its own transpose (negation)."""
    return lambda ct, x, **params: [primitive().bind(ct, **params)]


def _add_any(x: Any, y: Any) -> Any:
    from covector.lax.elementwise import add_any

    return add_any(x, y)


# --- lowering -------------------------------------------------------------------------------------


def lower_elementwise(op: str) -> Callable[..., list[str]]:
    """Broadcast operands to the result's shape, then ``stablehlo.OP`` on all of them."""

    def lower(ctx: Any, args: Any, in_avals: Any, out_avals: Any) -> list[str]:
        args = broadcast_operands(ctx, args, in_avals, out_avals[0])
        if in_avals[0].dtype == out_avals[0].dtype:
            return [ctx.simple(op, args, out_avals[0])]
        operand = in_avals[0].update(shape=out_avals[0].shape)
        return ctx.typed(op, args, [operand] * len(args), out_avals)

    return lower


def lower_chlo(op: str) -> Callable[..., list[str]]:
    """Like `lower_elementwise` for the operations of the ``chlo`` dialect."""

    def lower(ctx: Any, args: Any, in_avals: Any, out_avals: Any) -> list[str]:
        out = out_avals[0]
        args = broadcast_operands(ctx, args, in_avals, out)
        types = ", ".join([out.mlir] * len(args))
        return ctx.emit(f"chlo.{op} {', '.join(args)} : {types} -> {out.mlir}")

    return lower


def broadcast_operands(ctx: Any, args: Any, in_avals: Any, out: ShapedArray) -> list[str]:
    """Names of the operands, each of the result's shape."""
    return [
        a if v.shape == out.shape else ctx.broadcast(a, v, v.update(shape=out.shape), range(v.ndim))
        for a, v in zip(args, in_avals, strict=True)
    ]


_COMPARE_TYPES = {"f": "FLOAT", "c": "FLOAT", "i": "SIGNED", "u": "UNSIGNED", "b": "UNSIGNED"}


def compare_text(
    ctx: Any, direction: str, x: str, y: str, aval: ShapedArray, compare_type: str | None = None
) -> str:
    """The name of ``x DIRECTION y`` (EQ, NE, LT, LE, GT, GE) for two operands of one type."""
    compare_type = compare_type or _COMPARE_TYPES[kind_of(aval.dtype)]
    return ctx.emit(
        f"stablehlo.compare {direction}, {x}, {y}, {compare_type} : "
        f"({aval.mlir}, {aval.mlir}) -> {aval.mask.mlir}"
    )[0]


# --- batching -------------------------------------------------------------------------------------


def elementwise_batch(primitive: Callable[[], Primitive]) -> Callable[..., Any]:
    """The batching rule of an elementwise primitive."""
    return lambda axis, args, dims, **params: batch_elementwise(
        primitive(), axis, args, dims, params
    )


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
            moved.append(_along_axis(x, to, rank))
        elif d is None:
            moved.append(_with_unit_axis(x, to))
        else:
            moved.append(move_batch_axis(x, axis.size, d, to))
    return primitive.bind(*moved, **params), to


def _along_axis(x: Any, to: int, rank: int) -> Any:
    """A batch of scalars as an array with that batch at axis ``to`` and other axes of size one."""
    from covector.lax.shape import reshape

    shape = [1] * (rank + 1)
    shape[to] = typeof(x).size
    return reshape(x, shape)


def _with_unit_axis(x: Any, to: int) -> Any:
    from covector.lax.shape import reshape

    shape = list(typeof(x).shape)
    shape.insert(to, 1)
    return reshape(x, shape)


# --- shapes of tangents and cotangents ------------------------------------------------------------


def broadcast_to_shape(x: Any, shape: tuple[int, ...]) -> Any:
    """An operand spread over the result's ``shape``."""
    from covector.lax.shape import broadcast_in_dim

    aval = typeof(x)
    return x if aval.shape == shape else broadcast_in_dim(x, shape, range(aval.ndim))


def spread_together(name: str, *args: Any) -> list[Any]:
    """The operands of an elementwise operation, each of their common shape."""
    shape = common_shape(name, [typeof(x) for x in args])
    return [broadcast_to_shape(x, shape) for x in args]


def unbroadcast(ct: Any, operand: Any) -> Any:
    """The cotangent of an operand from that of the result: summed where the operand was spread."""
    from covector.lax.reduce import reduce_sum
    from covector.lax.shape import reshape

    shape, ct_shape = typeof(operand).shape, typeof(ct).shape
    if shape == ct_shape:
        return ct
    if not shape:
        return reduce_sum(ct, tuple(range(len(ct_shape))))
    pairs = zip(shape, ct_shape, strict=True)
    return reshape(reduce_sum(ct, tuple([i for i, (n, m) in enumerate(pairs) if n != m])), shape)


def scalar_like(x: Any, value: Any) -> Any:
    """A number in the dtype of ``x``, as an operand of rank zero; weak-typed if ``x`` is."""
    aval = typeof(x)
    if aval.weak_type and aval.dtype not in dtypes.BOOLS:
        kind = dtypes.scalar_type_of_dtype(aval.dtype)
        if dtypes.scalar_dtype(kind) == aval.dtype:
            return kind(value)
    return np.asarray(value).astype(aval.dtype)[()]

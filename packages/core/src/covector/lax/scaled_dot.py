"""`scaled_dot`: the product of arrays of narrow numbers with a scale for each block of them."""

from __future__ import annotations

from typing import Any

import ml_dtypes

from covector import lax
from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector._lower.module import by_platform, lower_by
from covector._trace.primitive import Primitive
from covector._trace.stage import stage_rule
from covector._trace.trace import current_trace_state, typeof
from covector._transform.batch import move_batch_axis
from covector._transform.jvp import jvp
from covector.errors import ShapeError
from covector.lax._axes import shift_axes
from covector.lax.composite import attribute_text, composite_text
from covector.lax.dot import DimensionNumbers, DotDimensionNumbers, check_axes, dot_general
from covector.lax.filling import full


def scaled_dot(
    lhs: Any,
    rhs: Any,
    *,
    lhs_scale: Any = None,
    rhs_scale: Any = None,
    dimension_numbers: DotDimensionNumbers | None = None,
    preferred_element_type: Any = None,
) -> Any:
    """``(lhs * lhs_scale) @ (rhs * rhs_scale)``, each scale spread over blocks of its operand.

    Args:
      lhs_scale, rhs_scale: of the operand's shape, but for contracting axes: each is shorter there
        by a whole factor of two or more, the length of a block. None stands for ones.
      dimension_numbers: as for `dot_general`; by default those of a product of matrices, for each
        index of the leading axes.
      preferred_element_type: of the result and of what is multiplied; ``bfloat16`` by default.

    Raises:
      TypeError: the shapes do not fit.

    >>> rows, scale = np.ones((1, 4), np.float32), np.array([[2.0, 3.0]], np.float32)
    >>> float(scaled_dot(rows, np.ones((4, 1), np.float32), lhs_scale=scale)[0, 0])
    10.0
    """
    operands = {"lhs": lhs, "rhs": rhs, "lhs_scale": lhs_scale, "rhs_scale": rhs_scale}
    avals = {name: typeof(x) for name, x in operands.items() if x is not None}
    ranks = {aval.ndim for aval in avals.values()}
    if len(ranks) != 1 or min(ranks) < 2:
        raise ShapeError(
            "scaled_dot: operands and scales must have one number of axes, two or more, got "
            + ", ".join([f"{name} of shape {aval.shape}" for name, aval in avals.items()])
        )
    numbers = _numbers(dimension_numbers, avals["lhs"].ndim)
    check_axes("scaled_dot", avals["lhs"], avals["rhs"], numbers)
    scales = [
        _scale(name, avals[name], operands[f"{name}_scale"], contract)
        for name, contract in zip(("lhs", "rhs"), numbers[0], strict=True)
    ]
    preferred = ml_dtypes.bfloat16 if preferred_element_type is None else preferred_element_type
    dtype = dtypes.check_user_dtype(preferred, "scaled_dot")
    params = {"dimension_numbers": numbers, "preferred_element_type": dtype}
    return scaled_dot_p.bind(lhs, rhs, *scales, **params)


def _numbers(dimension_numbers: DotDimensionNumbers | None, ndim: int) -> DimensionNumbers:
    if dimension_numbers is None:
        batch = tuple(range(ndim - 2))
        return (((ndim - 1,), (ndim - 2,)), (batch, batch))
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    return (tuple(lhs_contract), tuple(rhs_contract)), (tuple(lhs_batch), tuple(rhs_batch))


def _scale(name: str, operand: ShapedArray, scale: Any, contract: tuple[int, ...]) -> Any:
    """The scale of an operand, checked; of ones if there is none."""
    if scale is None:
        shape = [1 if i in contract else n for i, n in enumerate(operand.shape)]
        return full(shape, 1, ml_dtypes.float8_e8m0fnu)
    pairs = zip(operand.shape, typeof(scale).shape, strict=True)
    for axis, (size, blocks) in enumerate(pairs):
        if axis not in contract and size != blocks:
            rule = "agree, for it is not contracted"
        elif axis in contract and (blocks == 0 or size % blocks or size // blocks < 2):
            rule = "divide into blocks of two or more elements"
        else:
            continue
        raise ShapeError(
            f"scaled_dot: axis {axis} of {name} and of {name}_scale must {rule}, but {name} has "
            f"shape {operand.shape} and {name}_scale has shape {typeof(scale).shape}."
        )
    return scale


def _abstract(
    lhs: ShapedArray,
    rhs: ShapedArray,
    lhs_scale: ShapedArray,
    rhs_scale: ShapedArray,
    *,
    dimension_numbers: DimensionNumbers,
    preferred_element_type: Any,
) -> ShapedArray:
    return lax.dot_general_p.abstract(
        lhs.update(dtype=preferred_element_type, weak_type=False),
        rhs.update(dtype=preferred_element_type, weak_type=False),
        dimension_numbers=dimension_numbers,
        precision=None,
        preferred_element_type=None,
    )


def _spread(scale: Any, shape: tuple[int, ...]) -> Any:
    """Each element of ``scale`` repeated over its block."""
    aval = typeof(scale)
    blocks, axes = [], []
    for size, count in zip(shape, aval.shape, strict=True):
        axes.append(len(blocks))
        blocks += [size] if size == count else [count, size // count]
    return lax.reshape(lax.broadcast_in_dim(scale, blocks, axes), shape)


def _decomposed(
    lhs: Any, rhs: Any, lhs_scale: Any, rhs_scale: Any, *, dimension_numbers: Any,
    preferred_element_type: Any,
) -> Any:  # fmt: skip
    """The same in terms of other operations."""
    dtype = preferred_element_type
    left, right = [
        lax.mul(
            lax.convert_element_type(x, dtype),
            lax.convert_element_type(_spread(scale, typeof(x).shape), dtype),
        )
        for x, scale in ((lhs, lhs_scale), (rhs, rhs_scale))
    ]
    return dot_general(left, right, dimension_numbers)


def _program(avals: Any, params: dict[str, Any]) -> Any:
    return stage_rule(lambda *xs: [_decomposed(*xs, **params)], avals)


def _named(ctx: Any, args: Any, in_avals: Any, out_avals: Any, **params: Any) -> list[str]:
    """The compilers of accelerators know this operation by its name."""
    attributes = [(key, attribute_text(key, value)) for key, value in params.items()]
    return composite_text(ctx, args, _program(in_avals, params), "xla.scaled_dot", 0, attributes)


def _jvp(primals: list, tangents: list, **params: Any) -> tuple[Any, Any]:
    program = _program([typeof(x) for x in primals], params)
    derived, out_mask = jvp(program, tuple([t is not None for t in tangents]))
    given = [t for t in tangents if t is not None]
    out, *tangent = current_trace_state.value.call(derived, [*primals, *given])
    return out, tangent[0] if out_mask[0] else None


def _batch(
    axis: Any, args: list, dims: tuple, *, dimension_numbers: DimensionNumbers, **params: Any
) -> tuple[Any, int]:
    """A batch axis of both operands is a further batch axis; of one only, a further free axis."""
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    args = list(args)
    batched = []
    for operand, scale in ((0, 2), (1, 3)):
        batched.append(dims[operand] is not None or dims[scale] is not None)
        if batched[-1]:
            for i in (operand, scale):
                args[i] = move_batch_axis(args[i], axis.size, dims[i], 0)
    if batched[0]:
        lhs_contract, lhs_batch = shift_axes(lhs_contract, 0), shift_axes(lhs_batch, 0)
    if batched[1]:
        rhs_contract, rhs_batch = shift_axes(rhs_contract, 0), shift_axes(rhs_batch, 0)
    if all(batched):
        lhs_batch, rhs_batch, out_dim = (0, *lhs_batch), (0, *rhs_batch), 0
    elif batched[0]:
        out_dim = len(lhs_batch)
    else:
        out_dim = typeof(args[0]).ndim - len(lhs_contract)
    numbers = ((lhs_contract, rhs_contract), (lhs_batch, rhs_batch))
    return scaled_dot_p.bind(*args, dimension_numbers=numbers, **params), out_dim


scaled_dot_p = Primitive(
    "scaled_dot",
    abstract=_abstract,
    lower=by_platform(lower_by(_decomposed), _named),
    jvp=_jvp,
    batch=_batch,
)

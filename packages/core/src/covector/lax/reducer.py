"""`reduce`: reduce arrays by any associative function of scalars."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from covector import lax
from covector._api.tracing import stage_function
from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector._ir.jaxpr import Jaxpr
from covector._trace.primitive import Primitive
from covector._trace.trace import Tracer, typeof
from covector._transform.batch import move_batch_axis
from covector._transform.jvp import is_whole
from covector._tree.registry import dispatch_registry
from covector.errors import ShapeError
from covector.lax._axes import int_tuple, shift_axes
from covector.lax._region import lower_reduction
from covector.lax._rules import call_on_scalars, tangents_by
from covector.lax.filling import place
from covector.lax.reduce import REDUCTION_BY, halves, reduced_shape, rows_of
from covector.lax.shape import reshape


def reduce(
    operands: Any,
    init_values: Any,
    computation: Callable[[Any, Any], Any],
    dimensions: Sequence[int],
    out_sharding: Any = None,
) -> Any:
    """Reduce arrays along ``dimensions`` by ``computation``, beginning with ``init_values``.

    Args:
      operands: an array, or a tree of arrays of one shape, which are reduced together.
      init_values: scalars in the same structure, which must be the identity of ``computation``.
      computation: takes two trees of scalars (what is reduced so far, and further elements),
        returns one. It must be associative and commutative: the order is not defined.

    A reduction by one operation with an identity (add, mul, max, ...) is done by `reduce_sum` and
    its kin, which have better derivatives.

    Raises:
      ValueError: the structures differ, an init value is no scalar, or a dimension is wrong.

    >>> lax.reduce(np.arange(6).reshape(2, 3), 1, lambda x, y: lax.mul(x, lax.add(y, 1)), (0,))
    Array([ 4, 10, 18], dtype=int32)
    """
    leaves, tree = dispatch_registry.flatten(operands)
    inits, init_tree = dispatch_registry.flatten(init_values)
    if tree != init_tree:
        raise ValueError(
            f"reduce: operands and init_values must have the same tree structure, got {tree} and "
            f"{init_tree}"
        )
    axes = int_tuple("reduce", "dimensions", dimensions)
    avals = [typeof(x) for x in leaves]
    inits = [as_init("reduce", x, a) for x, a in zip(inits, avals, strict=True)]
    if avals:
        reduced_shape("reduce", avals[0], axes)  # in the name of what was called
    scalars = [a.update(shape=(), weak_type=False) for a in avals]
    jaxpr = stage_computation("reduce", computation, tree, scalars)
    operation = named_reduction(jaxpr, inits, avals)
    if operation is not None:
        outs = [REDUCTION_BY[operation][0].bind(leaves[0], axes=axes)]
    else:
        outs = reduce_p.bind(*leaves, *inits, jaxpr=jaxpr, dimensions=axes)
    return tree.unflatten([place(x, out_sharding) for x in outs])


def as_init(name: str, value: Any, operand: ShapedArray) -> Any:
    """An init value in the operand's dtype."""
    aval = typeof(value)
    if aval.shape != ():
        raise ShapeError(f"{name}: init_values must be scalars, got one of shape {aval.shape}")
    if hasattr(value, "aval"):
        return lax.convert_element_type(value, operand.dtype)
    return np.asarray(value).astype(operand.dtype)[()]


def stage_computation(
    name: str, computation: Callable[..., Any], tree: Any, scalars: list[ShapedArray]
) -> Jaxpr:
    """The program of a reduction's ``computation``: (accumulators, elements) -> accumulators."""

    def combine(accumulated: Any, elements: Any) -> Any:
        out = computation(accumulated, elements)
        out_tree = dispatch_registry.flatten(out)[1]
        if out_tree != tree:
            raise ValueError(
                f"{name}: computation must return the operands' structure {tree}, got {out_tree}"
            )
        return out

    example = tree.unflatten([0] * len(scalars))
    in_tree = dispatch_registry.flatten(((example, example), {}))[1]
    staged = stage_function(combine, in_tree, [*scalars, *scalars], embed_constants=True)
    if staged.consts:
        raise NotImplementedError(f"{name}: computation must not close over traced arrays")
    for out, scalar in zip(staged.jaxpr.out_avals, scalars, strict=True):
        if (out.shape, out.dtype) != (scalar.shape, scalar.dtype):
            raise ValueError(
                f"{name}: computation must give scalars of the operands' dtypes, got "
                f"{out.str_short()} for {scalar.str_short()}"
            )
    return staged.jaxpr


def named_reduction(jaxpr: Jaxpr, inits: Sequence[Any], avals: Sequence[ShapedArray]) -> str | None:
    """The operation (see `REDUCTION_BY`) of a reduction by just that, begun with its identity."""
    if len(inits) != 1 or len(jaxpr.eqns) != 1 or not is_whole(jaxpr):
        return None
    name = jaxpr.eqns[0].primitive.name
    found = REDUCTION_BY.get(name)
    if found is None or isinstance(inits[0], Tracer):
        return None
    if dtypes.is_bool(avals[0].dtype) and name in ("add", "mul"):
        return None
    expected = np.asarray(found[1](avals[0].dtype)).astype(avals[0].dtype)
    return name if np.array_equal(np.asarray(inits[0]), expected) else None


# --- rules ---------------------------------------------------------------------------------------


def _split(values: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    half = len(values) // 2
    return list(values[:half]), list(values[half:])


def _abstract_reduce(
    *avals: ShapedArray, jaxpr: Jaxpr, dimensions: tuple[int, ...]
) -> list[ShapedArray]:
    operands, _ = _split(avals)
    if len({a.shape for a in operands}) != 1:
        raise ValueError(
            f"reduce: operands must have one shape, got {', '.join(str(a.shape) for a in operands)}"
        )
    shape = reduced_shape("reduce", operands[0], dimensions)
    return [a.update(shape=shape, weak_type=False) for a in operands]


def _lower_reduce(
    ctx: Any, args: Any, in_avals: Any, out_avals: Any, *, jaxpr: Jaxpr, dimensions: Any
) -> list[str]:
    operands, inits = _split(args)
    avals, _ = _split(in_avals)
    return lower_reduction(ctx, jaxpr, operands, inits, avals, out_avals, dimensions)


def _by_tree(
    operands: Sequence[Any], inits: Sequence[Any], jaxpr: Jaxpr, axes: tuple[int, ...]
) -> list[Any]:
    """The reduction as a tree of pairs, of operations that have rules of their own.

    The init values are scalars, or have the shape of the result.
    """
    others = tuple([n for i, n in enumerate(operands[0].shape) if i not in axes])
    rows = [rows_of(x, axes) for x in operands]
    columns = rows[0].shape[1]
    start = [_as_row(x, columns) for x in inits]
    while rows[0].shape[0] > 1:
        pairs = [halves(_even(x, row)) for x, row in zip(rows, start, strict=True)]
        rows = call_on_scalars(jaxpr, [*[p[0] for p in pairs], *[p[1] for p in pairs]])
    if rows[0].shape[0] == 1:
        start = call_on_scalars(jaxpr, [*start, *rows])
    return [reshape(x, others) for x in start]


def _as_row(init: Any, columns: int) -> Any:
    if typeof(init).shape == ():
        return lax.broadcast(init, (1, columns))
    return reshape(init, (1, columns))


def _even(rows: Any, filler: Any) -> Any:
    return lax.concatenate([rows, filler], 0) if rows.shape[0] % 2 else rows


def _jvp_reduce(primals: Any, tangents: Any, *, jaxpr: Jaxpr, dimensions: Any) -> Any:
    outs = reduce_p.bind(*primals, jaxpr=jaxpr, dimensions=dimensions)

    def tree(*args: Any) -> list[Any]:
        operands, inits = _split(args)
        return _by_tree(operands, inits, jaxpr, dimensions)

    return outs, tangents_by(tree, primals, tangents)


def _batch_reduce(axis: Any, args: Any, dims: Any, *, jaxpr: Jaxpr, dimensions: Any) -> Any:
    operands, inits = _split(args)
    dims, init_dims = _split(dims)
    moved = [move_batch_axis(x, axis.size, d, 0) for x, d in zip(operands, dims, strict=True)]
    axes = shift_axes(dimensions, 0)
    if all(d is None for d in init_dims):
        outs = reduce_p.bind(*moved, *inits, jaxpr=jaxpr, dimensions=axes)
    else:
        shape = [n for i, n in enumerate(moved[0].shape) if i not in axes]
        starts = [
            x if d is None else lax.broadcast_in_dim(x, shape, (0,))
            for x, d in zip(inits, init_dims, strict=True)
        ]
        outs = _by_tree(moved, starts, jaxpr, axes)
    return outs, [0] * len(outs)


reduce_p = Primitive(
    "reduce",
    abstract=_abstract_reduce,
    lower=_lower_reduce,
    jvp=_jvp_reduce,
    batch=_batch_reduce,
    multiple_results=True,
)

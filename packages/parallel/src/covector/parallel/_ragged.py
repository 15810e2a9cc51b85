"""`ragged_all_to_all`: exchange slices of any sizes between the indices of a named axis."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from covector import lax
from covector._ir import dtypes
from covector._trace.primitive import Primitive
from covector._trace.stage import stage_rule
from covector._trace.trace import typeof
from covector._transform.linearize import linearize
from covector.lax.call import batch_call, jvp_call
from covector.lax.shape import broadcast_new_axis
from covector.parallel._exchanges import all_gather, all_to_all
from covector.parallel._names import AxisName, bound_size, index_groups, names_in


def ragged_all_to_all(
    operand: Any,
    output: Any,
    input_offsets: Any,
    send_sizes: Any,
    output_offsets: Any,
    recv_sizes: Any,
    *,
    axis_name: AxisName,
    axis_index_groups: Any = None,
) -> Any:
    """Send slices of ``operand``'s leading axis, and write what is received into ``output``.

    The arrays of offsets and sizes have one length, a multiple of the named axis's size: each index
    gets a share of the slices. Slice ``i`` is ``operand[input_offsets[i]:][:send_sizes[i]]``; its
    receiver writes it at ``output_offsets[i]``. ``recv_sizes`` holds the sizes of what is received,
    by sender, and must agree with what is sent.

    The whole operand goes to each index, which takes what is meant for it.

    Returns an array like ``output``.

    Raises:
      NameError: no enclosing function brings the name into scope.
      ValueError: types or shapes do not fit.

    >>> def exchange(x, starts, sizes, to, expected):
    ...     out = np.zeros(4, np.int32)
    ...     return lax.ragged_all_to_all(x, out, starts, sizes, to, expected, axis_name="i")
    >>> x, starts = np.array([[1, 2, 2], [3, 4, 0]]), np.array([[0, 1], [0, 1]])
    >>> sizes, to = np.array([[1, 2], [1, 1]]), np.array([[0, 0], [1, 2]])
    >>> covector.vmap(exchange, axis_name="i")(x, starts, sizes, to, sizes.T)
    Array([[1, 3, 0, 0],
           [2, 2, 4, 0]], dtype=int32)
    """
    names = names_in(axis_name)
    total = math.prod([bound_size(name, "ragged_all_to_all") for name in names])
    groups = index_groups(axis_index_groups, total, "ragged_all_to_all")
    senders = len(groups[0]) if groups else total
    lists = {
        "input_offsets": input_offsets,
        "send_sizes": send_sizes,
        "output_offsets": output_offsets,
        "recv_sizes": recv_sizes,
    }
    _check(operand, output, lists, senders)
    operands = [operand, output, *lists.values()]

    def exchange(*values: Any) -> list[Any]:
        return [_exchange(*values, axis_name=names, groups=groups, senders=senders)]

    return ragged_all_to_all_p.bind(
        *operands,
        jaxpr=stage_rule(exchange, [typeof(x) for x in operands]),
        axis_name=names,
        axis_index_groups=groups,
    )[0]


def _exchange(
    operand: Any,
    output: Any,
    input_offsets: Any,
    send_sizes: Any,
    output_offsets: Any,
    recv_sizes: Any,
    *,
    axis_name: AxisName,
    groups: Any,
    senders: int,
) -> Any:
    """The exchange by other collectives. (What is sent is what is received: it is not read.)"""
    num_rows, length = operand.shape[0], output.shape[0]
    if not num_rows:
        return output

    def exchanged(x: Any) -> Any:
        x = lax.convert_element_type(x, np.int32)
        return all_to_all(x, axis_name, 0, 0, axis_index_groups=groups, tiled=True)

    starts, places = exchanged(input_offsets), exchanged(output_offsets)
    sizes = lax.convert_element_type(recv_sizes, np.int32)
    everything = all_gather(operand, axis_name, axis_index_groups=groups, axis=0, tiled=True)
    slices, inside = _slice_of_each_row(places, sizes, length)
    row = lax.iota(np.int32, length)
    sender = lax.div(slices, np.int32(starts.shape[0] // senders))
    within = lax.add(_pick(starts, slices), lax.sub(row, _pick(places, slices)))
    received = _pick(everything, lax.add(lax.mul(sender, np.int32(num_rows)), within))
    inside = lax.broadcast_in_dim(inside, received.shape, (0,))
    return lax.select(inside, received, output)


def _slice_of_each_row(places: Any, sizes: Any, length: int) -> tuple[Any, Any]:
    """For each row of the output, the last slice that covers it, and whether one does."""
    shape = (length, places.shape[0])
    row = lax.broadcasted_iota(np.int32, shape, 0)
    first = broadcast_new_axis(places, length, 0)
    end = broadcast_new_axis(lax.add(places, sizes), length, 0)
    covers = lax.bitwise_and(lax.ge(row, first), lax.lt(row, end))
    from_the_end = lax.argmax(lax.rev(covers, (1,)), 1, np.int32)
    return lax.sub(np.int32(shape[1] - 1), from_the_end), lax.reduce_or(covers, (1,))


def _pick(x: Any, positions: Any) -> Any:
    """The rows of ``x`` at ``positions``."""
    rest = x.shape[1:]
    numbers = lax.GatherDimensionNumbers(tuple(range(1, 1 + len(rest))), (0,), (0,))
    indices = lax.expand_dims(positions, (1,))
    return lax.gather(x, indices, numbers, (1, *rest), mode="clip")


def _check(operand: Any, output: Any, lists: dict[str, Any], senders: int) -> None:
    x, y = typeof(operand), typeof(output)
    if not x.ndim or not y.ndim or (x.shape[1:], x.dtype) != (y.shape[1:], y.dtype):
        raise ValueError(
            "ragged_all_to_all: operand and output must agree but for the size of their leading "
            f"axis, got {x.str_short()} and {y.str_short()}."
        )
    first = typeof(lists["input_offsets"])
    for name, values in lists.items():
        aval = typeof(values)
        if not dtypes.is_integer(aval.dtype):
            raise ValueError(f"ragged_all_to_all: {name} must be integers, got {aval.dtype}.")
        if aval.ndim != 1 or not aval.size or aval.size % senders or aval.shape != first.shape:
            raise ValueError(
                f"ragged_all_to_all: {', '.join(lists)} must have one axis of one size, a positive "
                f"multiple of {senders}, which is the size of the named axis; {name} has shape "
                f"{aval.shape}."
            )


# It stands for a program of other collectives, and derives by that one's rules.
ragged_all_to_all_p = Primitive(
    "ragged_all_to_all",
    abstract=lambda *avals, jaxpr, **params: list(jaxpr.out_avals),
    lower=lambda ctx, args, in_avals, out_avals, *, jaxpr, **params: ctx.inline(jaxpr, args),
    jvp=lambda primals, tangents, *, jaxpr, **params: jvp_call(
        primals, tangents, jaxpr=jaxpr, name="ragged_all_to_all"
    ),
    linearize=lambda call, mask, instantiate: linearize(
        call.eqns[0].params["jaxpr"], mask, instantiate
    ),
    batch=lambda axis, args, dims, *, jaxpr, **params: batch_call(
        axis, args, dims, jaxpr=jaxpr, name="ragged_all_to_all"
    ),
    effects=lambda params: params["jaxpr"].effects,
    multiple_results=True,
)

"""Loops of known length over the leading axis of arrays: `scan`, and `map`.

The body is a program (constants, carry, slice of xs) -> (carry, slice of ys). Derivatives are scans
again. Linearized, the forward scan stacks what the linear one reads in each step (the residuals),
but for what is known anyway: slices of xs and ys are taken from there, and what depends on the
constants alone is computed once, before the loop. The rules are in `scan_rules.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import Any, NamedTuple

import numpy as np

from covector import lax
from covector._api.autodiff import as_array
from covector._api.tracing import Staged, function_name
from covector._config import disable_jit
from covector._ir.avals import ShapedArray
from covector._ir.jaxpr import Jaxpr
from covector._trace.primitive import Primitive
from covector._trace.trace import typeof
from covector._tree.prefix import path_text
from covector._tree.registry import registry
from covector.errors import ConcretizationTypeError, ShapeError, TracerIntegerConversionError
from covector.lax.control import scan_rules
from covector.lax.control.bodies import (
    Carry,
    carry_of,
    check_callable,
    invariant_carries,
    leaf_avals,
    map_arrays,
    promote_weak,
    stage,
    type_text,
)
from covector.lax.control.programs import check_operands, pick, rewire, split, spread, write_while

# --- what users call ------------------------------------------------------------------------------


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
) -> tuple[Any, Any]:
    """Carry a value along the leading axis of ``xs``: ``carry, y = f(carry, x)`` for each slice.

    Returns the last carry and the stacked ys. One step is compiled, whatever the length.

    Args:
      f: takes the carry and a slice of xs; returns a pair of the next carry (of the same structure,
        shapes and dtypes) and a tree of outputs, or None.
      init: the first carry, an array or a tree of them.
      xs: an array or a tree of them, of one leading size; or None, with ``length``.
      reverse: go from the last slice to the first (ys are in the order of xs in any case).
      unroll: how many steps to write out in one turn of the loop; True, or 0, for all.
      _split_transpose: in reverse-mode derivatives, go back through the steps for the carry alone,
        and compute the cotangents of constants and xs for all steps together, afterwards. This
        takes memory for the carry's cotangent at each step, and makes larger operations of small
        ones.

    Raises:
      TypeError: f returns no pair, or a carry of another type.
      ValueError: the leading sizes differ, or neither ``xs`` nor ``length`` is given.

    >>> import numpy
    >>> from covector import lax
    >>> total, sums = lax.scan(lambda c, x: (lax.add(c, x), lax.add(c, x)), 0.0, numpy.ones(3))
    >>> float(total), sums.tolist()
    (3.0, [1.0, 2.0, 3.0])
    """
    check_callable("scan", f=f)
    slices = _slices_of("scan", xs, length)
    unroll = _unroll_count("scan", unroll, slices.length)
    if disable_jit.value:
        return _scan_in_python(f, init, xs, slices, reverse)

    def body(carry: Any, x: Any) -> tuple[Any, Any]:
        out = f(carry, x)
        if not (isinstance(out, (tuple, list)) and len(out) == 2):
            raise TypeError(
                f"scan body output must be a pair (carry, y), but {function_name(f)} returned "
                f"{_described(out)}. Return (carry, None) from a function without outputs."
            )
        return out

    carry = carry_of("scan", f, 0, init)
    return _scan(body, carry, xs, slices, bool(reverse), unroll, bool(_split_transpose))


def _described(out: Any) -> str:
    if isinstance(out, (tuple, list)):
        return f"a {type(out).__name__} of {len(out)}"
    return f"an array of type {type_text(out.aval)}" if hasattr(out, "aval") else f"{out!r:.80}"


def map(f: Callable[[Any], Any], xs: Any, *, batch_size: int | None = None) -> Any:
    """Apply ``f`` to each slice of ``xs`` along its leading axis, one after the other; stack.

    Like ``vmap(f)(xs)`` in the memory of one slice; or of ``batch_size`` slices, which are then
    computed together.

    Args:
      f: takes a slice of xs, returns a tree of arrays.
      xs: an array or a tree of them, of one leading size.
      batch_size: how many slices to vectorize over; the last batch may be smaller.

    >>> import numpy
    >>> from covector import lax
    >>> lax.map(lax.neg, numpy.arange(3.0)).tolist()
    [-0.0, -1.0, -2.0]
    """
    check_callable("map", f=f)
    if not batch_size:
        return scan(lambda _, x: ((), f(x)), (), xs)[1]
    size = index(batch_size)
    if size < 0:
        raise ShapeError(f"lax.map: batch_size must be positive, got {size}.")
    return _map_in_batches(f, xs, size)


def _map_in_batches(f: Callable[[Any], Any], xs: Any, size: int) -> Any:
    from covector._api.vmap import vmap

    count, rest = divmod(_slices_of("map", xs, None).length, size)
    whole = count * size
    vectorized = vmap(f)

    def grouped(x: Any) -> Any:
        return lax.reshape(lax.slice_in_dim(x, 0, whole), (count, size, *typeof(x).shape[1:]))

    def flattened(y: Any) -> Any:
        shape = typeof(y).shape
        return lax.reshape(y, (shape[0] * shape[1], *shape[2:]))

    parts = []
    if count or not rest:
        ys = scan(lambda _, x: ((), vectorized(x)), (), map_arrays(grouped, xs))[1]
        parts.append(map_arrays(flattened, ys))
    if rest:
        parts.append(vectorized(map_arrays(lambda x: lax.slice_in_dim(x, whole, whole + rest), xs)))
    if len(parts) == 1:
        return parts[0]
    return map_arrays(lambda a, b: lax.concatenate([a, b], 0), *parts)


def scan_carry(step: Callable[[Any], Any], carry: Carry, length: int, unroll: Any) -> Any:
    """The carry after ``length`` steps (for `fori_loop`)."""

    def body(state: Any, _: None) -> tuple[Any, None]:
        return step(state), None

    unroll = _unroll_count(carry.caller, unroll, length)
    return _scan(body, carry, None, _Slices([], (), length), False, unroll)[0]


# --- arguments ------------------------------------------------------------------------------------


class _Slices(NamedTuple):
    leaves: list[Any]
    avals: tuple[ShapedArray, ...]  # of one slice
    length: int


def _slices_of(caller: str, xs: Any, length: Any) -> _Slices:
    leaves, avals = leaf_avals(caller, "xs", xs)
    sizes: dict[int, str] = {}
    for path, x in registry.flatten_with_path(xs)[0]:
        shape = x.shape if hasattr(x, "shape") else typeof(x).shape
        name = f"xs{path_text(path)}"
        if not shape:
            raise ValueError(
                f"{caller} got value with no leading axis to scan over: {name} is a scalar. Values "
                "that do not vary belong into the carry, or into the function's closure."
            )
        sizes.setdefault(shape[0], name)
    if len(sizes) > 1:
        found = ", ".join(f"{n} ({name})" for n, name in sizes.items())
        raise ValueError(f"{caller} got values with different leading axis sizes: {found}.")
    if length is not None:
        length = _length(caller, length)
        if sizes and length not in sizes:
            raise ValueError(
                f"{caller} got `length` argument of {length} which disagrees with leading axis "
                f"sizes {list(sizes)}. Leave `length` out where there are xs."
            )
    elif sizes:
        (length,) = sizes
    else:
        raise ValueError(f"{caller} got no values to scan over and `length` not provided.")
    slices = tuple([aval.update(shape=aval.shape[1:]) for aval in avals])
    return _Slices(leaves, slices, length)


def _length(caller: str, length: Any) -> int:
    try:
        result = index(length)
    except TracerIntegerConversionError as error:
        raise ConcretizationTypeError(
            f"The `length` argument to `{caller}` expects a concrete `int` value. For scan-like "
            f"iteration with a dynamic length, use `while_loop` or `fori_loop`. {error}"
        ) from None
    except TypeError:
        if not isinstance(length, (float, np.floating)) or int(length) != length:
            raise TypeError(f"{caller}: length must be an integer, got {length!r}.") from None
        result = int(length)
    if result < 0:
        raise ValueError(f"{caller}: length must not be negative, got {result}.")
    return result


def _unroll_count(caller: str, unroll: Any, length: int) -> int:
    """How many steps a turn of the loop has, at least one."""
    if isinstance(unroll, (bool, np.bool_)):
        return max(length, 1) if unroll else 1
    try:
        count = index(unroll)
    except TypeError:
        count = -1
    if count < 0:
        raise ValueError(
            f"{caller}: `unroll` must be a `bool` or a non-negative `int`, got {unroll!r}."
        )
    return max(length, 1) if count == 0 else min(count, max(length, 1))


def _scan_in_python(f: Callable, init: Any, xs: Any, slices: _Slices, reverse: bool) -> Any:
    """Step by step, for `disable_jit`."""
    if slices.length == 0:
        raise ValueError(
            "zero-length scan is not supported in disable_jit() mode because the output type is "
            "unknown."
        )
    order = range(slices.length)
    carry, ys = map_arrays(as_array, init), []
    for i in reversed(order) if reverse else order:
        carry, y = f(carry, map_arrays(lambda x, i=i: lax.index_in_dim(x, i, 0, False), xs))
        ys.append(y)
    if reverse:
        ys.reverse()
    expanded = [map_arrays(lambda y: lax.expand_dims(as_array(y), (0,)), y) for y in ys]
    return carry, map_arrays(lambda *parts: lax.concatenate(parts, 0), *expanded)


def _scan(
    body: Callable,
    carry: Carry,
    xs: Any,
    slices: _Slices,
    reverse: bool,
    unroll: int,
    split_transpose: bool = False,
) -> tuple[Any, Any]:
    """Stage the body, and apply `scan_p` to what varies."""
    leaves, staged = _stage_body(body, carry, xs, slices)
    jaxpr, num_consts, count = staged.jaxpr, len(staged.consts), len(leaves)
    # What the body hands on as it is need not be carried.
    fixed = invariant_carries(jaxpr, num_consts, count)
    varying = [not f for f in fixed]
    consts, carried, inputs = split(jaxpr.invars, num_consts, count)
    last, ys = split(jaxpr.outvars, count)
    inputs = [*consts, *pick(carried, fixed), *pick(carried, varying), *inputs]
    outs = scan_rules.bind_scan(
        [[*staged.consts, *pick(leaves, fixed)], pick(leaves, varying), slices.leaves],
        rewire(jaxpr, inputs, [*pick(last, varying), *ys]),
        {
            "jaxpr": None,
            "length": slices.length,
            "reverse": reverse,
            "unroll": unroll,
            "num_consts": 0,
            "num_carry": 0,
            "split_transpose": split_transpose,
        },
    )
    finals, stacks = split(outs, sum(varying))
    finals = [x if f is None else f for f, x in zip(spread(finals, varying), leaves, strict=True)]
    return staged.out_tree.unflatten([as_array(x) for x in (*finals, *stacks)])


def _stage_body(body: Callable, carry: Carry, xs: Any, slices: _Slices) -> tuple[list[Any], Staged]:
    """The initial carry, promoted where the body returns a wider type, and the body's program."""
    leaves, _ = leaf_avals(carry.caller, carry.root, carry.tree)
    promoted: list[Any] | None = leaves
    while promoted is not None:
        leaves, avals = promoted, [typeof(x) for x in promoted]
        staged = stage(body, (carry.tree, xs), (*avals, *slices.avals), carry.function)
        out_tree = staged.out_tree.children()[0]
        out_avals = staged.jaxpr.out_avals[: out_tree.num_leaves]
        promoted = promote_weak(leaves, avals, out_avals)
    carry.check(out_tree, avals, out_avals)
    return leaves, staged


# --- the primitive --------------------------------------------------------------------------------


def _abstract(
    *avals: ShapedArray, jaxpr: Jaxpr, length: int, num_consts: int, num_carry: int, **params: Any
) -> list[ShapedArray]:
    consts, carry, xs = split(avals, num_consts, num_carry)
    slices = [a.update(shape=a.shape[1:]) for a in xs]
    check_operands("scan", [*consts, *carry, *slices], jaxpr.in_avals)
    check_operands("scan", carry, jaxpr.out_avals[:num_carry])
    carry, ys = split(jaxpr.out_avals, num_carry)
    return [*carry, *[a.update(shape=(length, *a.shape)) for a in ys]]


class _Steps:
    """Writes the steps of a scan: slices of xs in, slices of ys out."""

    def __init__(self, ctx: Any, args: Any, in_avals: Any, out_avals: Any, params: dict[str, Any]):
        num_consts, num_carry = params["num_consts"], params["num_carry"]
        self.ctx = ctx
        self.jaxpr: Jaxpr = params["jaxpr"]
        self.length: int = params["length"]
        self.reverse: bool = params["reverse"]
        self.num_carry = num_carry
        self.consts, self.inits, self.xs = split(args, num_consts, num_carry)
        self.x_avals = split(in_avals, num_consts, num_carry)[2]
        self.carry_avals, self.y_avals = split(out_avals, num_carry)
        self.counter = ShapedArray((), np.int32 if self.length < 2**31 else np.int64)

    def run(self, carry: Sequence[str], xs: Sequence[str]) -> tuple[list[str], list[str]]:
        outs = self.ctx.inline(self.jaxpr, [*self.consts, *carry, *xs])
        return outs[: self.num_carry], outs[self.num_carry :]

    def position(self, step: int) -> int:
        """Which slice a step works on."""
        return self.length - 1 - step if self.reverse else step

    def at_known_position(self, carry: Sequence[str], step: int) -> tuple[list[str], list[str]]:
        """One step; ys come with a leading axis of size one."""
        k = self.position(step)
        xs = []
        for x, aval in zip(self.xs, self.x_avals, strict=True):
            ranges = ", ".join([f"{k}:{k + 1}", *[f"0:{n}" for n in aval.shape[1:]]])
            row = _row(aval)
            name = self.ctx.emit(f"stablehlo.slice {x} [{ranges}] : ({aval.mlir}) -> {row.mlir}")
            xs.append(self._without_axis(name[0], row))
        carry, ys = self.run(carry, xs)
        return carry, [self._with_axis(y, a) for y, a in zip(ys, self.y_avals, strict=True)]

    def at_index(
        self, carry: Sequence[str], stacks: Sequence[str], name: str
    ) -> tuple[list[str], list[str]]:
        """One step on the slice of the index ``name``, with ys written into their stacks."""
        xs = []
        for x, aval in zip(self.xs, self.x_avals, strict=True):
            row = _row(aval)
            sizes = ", ".join(str(n) for n in row.shape)
            indices, types = self._indices(name, aval)
            text = f"stablehlo.dynamic_slice {x}, {indices}, sizes = [{sizes}] : "
            piece = self.ctx.emit(f"{text}({aval.mlir}, {types}) -> {row.mlir}")[0]
            xs.append(self._without_axis(piece, row))
        carry, ys = self.run(carry, xs)
        rows = [self._with_axis(y, a) for y, a in zip(ys, self.y_avals, strict=True)]
        return carry, self.write_rows(stacks, rows, name)

    def write_rows(self, stacks: Sequence[str], rows: Sequence[str], name: str) -> list[str]:
        """The stacks with a row each replaced at the index ``name``."""
        updated = []
        for stack, row, aval in zip(stacks, rows, self.y_avals, strict=True):
            indices, types = self._indices(name, aval)
            text = f"stablehlo.dynamic_update_slice {stack}, {row}, {indices} : "
            text += f"({aval.mlir}, {_row(aval).mlir}, {types}) -> {aval.mlir}"
            updated += self.ctx.emit(text)
        return updated

    def _indices(self, name: str, aval: ShapedArray) -> tuple[str, str]:
        others = aval.ndim - 1
        zero = self.ctx.constant(0, self.counter) if others else ""
        names = ", ".join([name, *[zero] * others])
        return names, ", ".join([self.counter.mlir] * (1 + others))

    def _with_axis(self, name: str, stacked: ShapedArray) -> str:
        row = _row(stacked)
        return self.ctx.typed("reshape", [name], [row.update(shape=row.shape[1:])], [row])[0]

    def _without_axis(self, name: str, row: ShapedArray) -> str:
        return self.ctx.typed("reshape", [name], [row], [row.update(shape=row.shape[1:])])[0]


def _row(stacked: ShapedArray) -> ShapedArray:
    return stacked.update(shape=(1, *stacked.shape[1:]))


def _lower(ctx: Any, args: Any, in_avals: Any, out_avals: Any, **params: Any) -> list[str]:
    steps = _Steps(ctx, args, in_avals, out_avals, params)
    unroll = params["unroll"]
    turns = steps.length // unroll
    if turns <= 1:
        return _lower_straight(ctx, steps)
    carry, stacks = _lower_loop(ctx, steps, turns, unroll)
    for step in range(turns * unroll, steps.length):
        carry, rows = steps.at_known_position(carry, step)
        where = ctx.constant(steps.position(step), steps.counter)
        stacks = steps.write_rows(stacks, rows, where)
    return [*carry, *stacks]


def _lower_straight(ctx: Any, steps: _Steps) -> list[str]:
    """All steps one after the other, without a loop."""
    carry, rows = steps.inits, []
    for step in range(steps.length):
        carry, ys = steps.at_known_position(carry, step)
        rows.append(ys)
    if steps.reverse:
        rows.reverse()
    if not rows:
        return [*carry, *[_zeros(ctx, a) for a in steps.y_avals]]
    if len(rows) == 1:
        return [*carry, *rows[0]]
    stacks = []
    for parts, aval in zip(zip(*rows, strict=True), steps.y_avals, strict=True):
        types = ", ".join([_row(aval).mlir] * len(parts))
        text = f"stablehlo.concatenate {', '.join(parts)}, dim = 0 : ({types}) -> {aval.mlir}"
        stacks += ctx.emit(text)
    return [*carry, *stacks]


def _zeros(ctx: Any, aval: ShapedArray) -> str:
    scalar = aval.update(shape=())
    return ctx.broadcast(ctx.constant(0, scalar), scalar, aval)


def _lower_loop(ctx: Any, steps: _Steps, turns: int, unroll: int) -> tuple[list[str], list[str]]:
    """A loop over a counter of steps, the carry, and the stacks of ys."""
    counter = steps.counter
    stop = turns * unroll

    def condition(state: list[str]) -> str:
        types = f"({counter.mlir}, {counter.mlir}) -> tensor<i1>"
        bound = ctx.constant(stop, counter)
        return ctx.emit(f"stablehlo.compare LT, {state[0]}, {bound}, SIGNED : {types}")[0]

    def body(state: list[str]) -> list[str]:
        first = state[0]
        carry, stacks = split(state[1:], steps.num_carry)
        for k in range(unroll):
            step = ctx.simple("add", [first, ctx.constant(k, counter)], counter) if k else first
            where = step
            if steps.reverse:
                last = ctx.constant(steps.length - 1, counter)
                where = ctx.simple("subtract", [last, step], counter)
            carry, stacks = steps.at_index(carry, stacks, where)
        following = ctx.simple("add", [first, ctx.constant(unroll, counter)], counter)
        return [following, *carry, *stacks]

    inits = [ctx.constant(0, counter), *steps.inits, *[_zeros(ctx, a) for a in steps.y_avals]]
    avals = [counter, *steps.carry_avals, *steps.y_avals]
    names = write_while(ctx, inits, avals, condition, body, steps.jaxpr)
    carry, stacks = split(names[1:], steps.num_carry)
    return carry, stacks


scan_p = Primitive(
    "scan",
    abstract=_abstract,
    lower=_lower,
    jvp=scan_rules.jvp_scan,
    linearize=scan_rules.linearize_scan,
    divide=scan_rules.divide_scan,
    prune=scan_rules.prune_scan,
    transpose=scan_rules.transpose_scan,
    batch=scan_rules.batch_scan,
    effects=lambda params: params["jaxpr"].effects,
    multiple_results=True,
)

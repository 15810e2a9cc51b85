"""Branches: `cond`, `switch`, and `platform_dependent`.

All become one primitive. Its first operand selects a branch: a boolean (false: the first of two
branches) or an int32 in range. Its branches have the same inputs and outputs. Where a batch has a
selector of its own for each member, all branches run and each member keeps its own result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from covector import lax
from covector._api.tracing import Staged, function_name
from covector._config import disable_jit
from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector._ir.jaxpr import Equation, Jaxpr, Var
from covector._trace.primitive import Linear, Primitive
from covector._trace.stage import stage_rule
from covector._trace.trace import Tracer, current_trace_state, typeof
from covector._transform.batch import batch
from covector._transform.divide import divide
from covector._transform.jvp import jvp, zeros
from covector._transform.linearize import Linearized, linearize
from covector._transform.transpose import transpose
from covector._tree.prefix import path_text
from covector._tree.registry import dispatch_registry
from covector.lax.control.bodies import (
    check_callable,
    leaf_avals,
    merge_constants,
    stage,
    tree_difference,
    type_text,
    what_differs,
)
from covector.lax.control.lanes import any_lane, borrow_lane, select_lanes
from covector.lax.control.programs import (
    check_operands,
    contains,
    filled,
    nonzero,
    pick,
    rewire,
    split,
    spread,
    union,
    write_branches,
)

_NO_OPERAND = object()

# --- what users call ------------------------------------------------------------------------------


def cond(
    pred: Any,
    true_fun: Callable[..., Any],
    false_fun: Callable[..., Any],
    *operands: Any,
    operand: Any = _NO_OPERAND,
) -> Any:
    """``true_fun(*operands)`` if ``pred`` holds, else ``false_fun(*operands)``; only one is run.

    Both are traced, and must return the same structure, shapes and dtypes. Under `vmap` with a
    batched ``pred``, both are run and each element's result is selected.

    Args:
      pred: a scalar, boolean or number (which counts as true unless it is zero).
      operands: arrays, or trees of them.
      operand: the single operand, in place of ``operands``.

    Raises:
      TypeError: ``pred`` is no scalar, or what the functions return differs.

    >>> import covector
    >>> from covector import lax
    >>> float(lax.cond(True, lambda x: lax.add(x, 1.0), lax.neg, 2.0))
    3.0
    """
    if not callable(true_fun) and len(operands) == 2 and callable(operands[1]):
        # The old form: cond(pred, true_operand, true_fun, false_operand, false_fun).
        first, second = false_fun, operands[1]
        return cond(pred, lambda x, y: first(x), lambda x, y: second(y), true_fun, operands[0])
    operands = _operands("cond", operands, operand)
    check_callable("cond", true_fun=true_fun, false_fun=false_fun)
    truth = _predicate(pred)
    if disable_jit.value and not _is_abstract(truth):
        return (true_fun if truth else false_fun)(*operands)
    return _select("cond", truth, (false_fun, true_fun), ("false_fun", "true_fun"), operands)


def switch(
    index: Any,
    branches: Sequence[Callable[..., Any]],
    *operands: Any,
    operand: Any = _NO_OPERAND,
) -> Any:
    """``branches[index](*operands)``, with ``index`` clamped into range; only one branch is run.

    All branches are traced, and must return the same structure, shapes and dtypes.

    Args:
      index: an integer scalar.
      branches: functions of the operands.
      operands: arrays, or trees of them.
      operand: the single operand, in place of ``operands``.

    Raises:
      TypeError: ``index`` is no integer scalar, or what the branches return differs.
      ValueError: there is no branch.

    >>> from covector import lax
    >>> float(lax.switch(1, [lax.sin, lax.neg, lax.exp], 2.0))
    -2.0
    """
    operands = _operands("switch", operands, operand)
    if not isinstance(branches, Iterable):
        raise TypeError(f"lax.switch: branches must be a sequence of callables, got {branches!r}.")
    branches = tuple(branches)
    names = [f"branches[{i}]" for i in range(len(branches))]
    check_callable("switch", **dict(zip(names, branches, strict=True)))
    clamped = _branch_index(index, len(branches))
    if len(branches) == 1:
        return branches[0](*operands)
    if disable_jit.value and not _is_abstract(clamped):
        return branches[int(clamped)](*operands)
    return _select("switch", clamped, branches, names, operands)


def platform_dependent(
    *args: Any, default: Callable[..., Any] | None = None, **per_platform: Callable[..., Any]
) -> Any:
    """The function for the platform that the program is compiled for, applied to ``args``.

    All functions are traced, whatever the platform, and must return the same types; only one is
    compiled.

    Args:
      default: the function for all other platforms.
      per_platform: ``cpu=``, ``cuda=``, ``rocm=``, ``tpu=``: functions of ``args``.

    Raises `NotImplementedError` when compiling for a platform that has no function.

    >>> from covector import lax
    >>> float(lax.platform_dependent(2.0, cpu=lax.neg, default=lax.exp))
    -2.0
    """
    functions = {**per_platform, **({} if default is None else {"default": default})}
    check_callable("platform_dependent", **functions)
    if not functions:
        raise NotImplementedError("lax.platform_dependent: no function is given for any platform.")
    if disable_jit.value:
        from covector._run.client import default_device

        return functions[platform_choice(tuple(functions), default_device().platform)](*args)
    return _select(
        "platform_dependent",
        np.int32(0),
        tuple(functions.values()),
        list(functions),
        args,
        platforms=tuple(functions),
    )


def platform_choice(platforms: Sequence[str], platform: str) -> str:
    """Which of ``platforms`` stands for ``platform``."""
    names = (platform, "default")
    if platform == "gpu":
        names = ("cuda", "gpu", "rocm", "default")
    for name in names:
        if name in platforms:
            return name
    raise NotImplementedError(
        f"lax.platform_dependent: there is no function for the platform {platform!r}, only for "
        f"{', '.join(platforms)}. Give a default."
    )


# --- arguments ------------------------------------------------------------------------------------


def _operands(caller: str, operands: tuple, operand: Any) -> tuple:
    if operand is _NO_OPERAND:
        return operands
    if operands:
        raise TypeError(
            f"lax.{caller}: if the 'operand' keyword is passed then no positional operands can be "
            f"passed, got operand={operand!r:.60} and positional operands {operands!r:.60}"
        )
    return (operand,)


def _predicate(pred: Any) -> Any:
    """The predicate as a boolean scalar."""
    if pred is None:
        raise TypeError("lax.cond: the predicate is None; it must be a boolean scalar.")
    if not hasattr(pred, "aval") and np.shape(pred) == () and isinstance(pred, (str, bytes)):
        raise TypeError(f"lax.cond: Pred must be a scalar, got {pred!r} of type {type(pred)}.")
    try:
        aval = typeof(pred)
    except TypeError as error:
        raise TypeError(f"lax.cond: Pred must be a scalar. {error}") from None
    if aval.shape:
        raise TypeError(
            f"lax.cond: Pred must be a scalar, got an array of shape {aval.shape}. Reduce it with "
            "all or any, or select elementwise with covector.numpy.where."
        )
    if dtypes.is_bool(aval.dtype):
        return pred
    if not (dtypes.is_integer(aval.dtype) or dtypes.is_float(aval.dtype)):
        raise TypeError(
            f"lax.cond: Pred type must be either boolean or number, got {aval.dtype.name}."
        )
    if not hasattr(pred, "aval"):
        return bool(pred)
    return lax.ne(pred, np.zeros((), aval.dtype)[()])


def _branch_index(index: Any, count: int) -> Any:
    """The index as an int32 in range."""
    try:
        aval = typeof(index)
    except TypeError as error:
        raise TypeError(f"lax.switch: Index type must be an integer. {error}") from None
    if aval.shape:
        raise TypeError(
            f"lax.switch: Branch index must be scalar, got an array of shape {aval.shape}."
        )
    if not dtypes.is_integer(aval.dtype):
        raise TypeError(f"lax.switch: Index type must be an integer, got {aval.dtype.name}.")
    if count == 0:
        raise ValueError("lax.switch: Empty branch sequence; give at least one function.")
    if not hasattr(index, "aval"):
        return np.int32(min(max(int(index), 0), count - 1))
    # Clamp before narrowing, in a type that holds both the index and the bounds.
    top = min(count - 1, int(np.iinfo(aval.dtype).max))
    clamped = lax.clamp(np.asarray(0, aval.dtype)[()], index, np.asarray(top, aval.dtype)[()])
    return lax.convert_element_type(clamped, np.int32)


def _is_abstract(x: Any) -> bool:
    return isinstance(x, Tracer) and isinstance(x.concrete(), Tracer)


def _select(
    caller: str,
    selector: Any,
    functions: Sequence[Callable[..., Any]],
    names: Sequence[str],
    operands: tuple,
    platforms: tuple[str, ...] | None = None,
) -> Any:
    """Stage all branches and apply `cond_p`."""
    leaves, avals = leaf_avals(caller, "operands", operands)
    programs = [stage(f, operands, avals) for f in functions]
    _check_branches(caller, functions, names, programs)
    constants, branches = merge_constants(programs)
    outs = cond_p.bind(selector, *constants, *leaves, branches=tuple(branches), platforms=platforms)
    return programs[0].out_tree.unflatten(outs)


def _check_branches(
    caller: str, functions: Sequence[Any], names: Sequence[str], programs: Sequence[Staged]
) -> None:
    """Raise `TypeError` unless all branches return the same structure and types."""
    who = [f"{n} ({function_name(f)})" for n, f in zip(names, functions, strict=True)]
    first = programs[-1] if caller == "cond" else programs[0]
    others = programs[:-1] if caller == "cond" else programs[1:]
    who_first, *who_others = [*who[-1:], *who[:-1]] if caller == "cond" else who
    for who_other, other in zip(who_others, others, strict=True):
        if other.out_tree != first.out_tree:
            difference = tree_difference(
                _skeleton(first),
                _skeleton(other),
                f"the output of {who_first}",
                f"the output of {who_other}",
            )
            raise TypeError(
                f"{caller} branch outputs must have the same pytree structure, but they differ: "
                f"{difference} Revise {who_first} and/or {who_other}."
            )
        paths = [path for path, _ in dispatch_registry.flatten_with_path(_skeleton(first))[0]]
        for path, a, b in zip(paths, first.jaxpr.out_avals, other.jaxpr.out_avals, strict=True):
            if (a.shape, a.dtype) != (b.shape, b.dtype):
                where = f" at path {path_text(path)}" if path else ""
                raise TypeError(
                    f"{caller} branches must have equal output types but they differ: the output"
                    f"{where} is {type_text(a)} from {who_first} but {type_text(b)} from "
                    f"{who_other}, so the {what_differs(a, b)}. Convert one of them."
                )


def _skeleton(program: Staged) -> Any:
    """A tree of the structure that the function returned."""
    return program.out_tree.unflatten([0] * program.out_tree.num_leaves)


# --- the primitive --------------------------------------------------------------------------------


def _abstract(
    selector: ShapedArray, *avals: ShapedArray, branches: tuple[Jaxpr, ...], platforms: Any
) -> list[ShapedArray]:
    for branch in branches:
        check_operands("cond", avals, branch.in_avals)
        check_operands("cond", branches[0].out_avals, branch.out_avals)
    return list(branches[0].out_avals)


def _lower(
    ctx: Any, args: Any, in_avals: Any, out_avals: Any, *, branches: Any, platforms: Any
) -> list[str]:
    selector, *operands = args
    if platforms is not None:
        choice = platforms.index(platform_choice(platforms, ctx.platform))
        return ctx.inline(branches[choice], operands)
    if dtypes.is_bool(in_avals[0].dtype):
        return write_branches(ctx, "if", selector, in_avals[0], branches[::-1], operands)
    return write_branches(ctx, "case", selector, in_avals[0], branches, operands)


def _jvp(primals: list, tangents: list, **params: Any) -> tuple[list, list]:
    branches = params.pop("branches")
    mask = nonzero(tangents[1:])
    wanted = union(*[jvp(b, mask).out_mask for b in branches])
    derived = tuple([jvp(b, mask, wanted).jaxpr for b in branches])
    outs = cond_p.bind(
        *primals, *[t for t in tangents if t is not None], branches=derived, **params
    )
    values, given = split(outs, len(wanted))
    return values, spread(given, wanted)


def _linearize(call: Jaxpr, mask: tuple, instantiate: tuple | None) -> Linearized:
    branches = call.eqns[0].params["branches"]
    mask = mask[1:]
    wanted = union(*[linearize(b, mask).out_mask for b in branches])
    if instantiate is not None:
        wanted = union(wanted, instantiate)
    return _in_two(call, [linearize(b, mask, wanted) for b in branches], wanted)


def _divide(call: Jaxpr, wanted: tuple, policy: Any) -> Linearized:
    return _in_two(
        call, [divide(b, wanted, policy) for b in call.eqns[0].params["branches"]], wanted
    )


def _in_two(call: Jaxpr, splits: Sequence[Linearized], out_mask: tuple) -> Linearized:
    """Two `cond`s, of the first and of the second halves of the branches.

    The residuals of a branch are inputs, outputs, or slots that all branches share by type. Only
    one branch runs, so a slot holds the residual of that one; the others leave zeros in it.
    """
    platforms = call.eqns[0].params["platforms"]
    num_given = len(call.in_avals) - 1 + len(call.out_avals)
    slots, slot_avals = _share_slots([s.forward.out_avals[s.num_outs :] for s in splits])
    # Positions among a branch's inputs, outputs and slots; in the program of the cond, the
    # selector stands before them.
    positions = [
        [p if p < num_given else num_given + own[p - num_given] for p in s.residuals]
        for s, own in zip(splits, slots, strict=True)
    ]
    residuals = sorted(set().union(*positions))
    avals = [*call.in_avals[1:], *call.out_avals, *slot_avals]
    residual_avals = [avals[p] for p in residuals]
    forward = [_fill_slots(s, own, slot_avals) for s, own in zip(splits, slots, strict=True)]
    second = [
        _take_residuals(s.tangent, own, residuals, residual_avals)
        for s, own in zip(splits, positions, strict=True)
    ]
    return Linearized(
        _program(call.in_avals, forward, platforms),
        len(call.out_avals),
        (0, *[1 + p for p in residuals]),
        _program((call.in_avals[0], *second[0].in_avals), second, platforms),
        out_mask,
    )


def _program(avals: Sequence[ShapedArray], branches: Sequence[Jaxpr], platforms: Any) -> Jaxpr:
    return cond_p.jaxpr(tuple(avals), {"branches": tuple(branches), "platforms": platforms})


def _share_slots(avals: Sequence[Sequence[ShapedArray]]) -> tuple[list[list[int]], list]:
    """For each branch the slots of its values, different ones; and the slots' types."""
    slot_avals: list[ShapedArray] = []
    assigned = []
    for own in avals:
        free = list(enumerate(slot_avals))
        slots = []
        for aval in own:
            slot = next((i for i, a in free if a is aval), len(slot_avals))
            if slot == len(slot_avals):
                slot_avals.append(aval)
            free = [(i, a) for i, a in free if i != slot]
            slots.append(slot)
        assigned.append(slots)
    return assigned, slot_avals


def _fill_slots(split_branch: Linearized, slots: list[int], avals: Sequence[ShapedArray]) -> Jaxpr:
    """The forward program with its further residuals in their slots, and zeros in the others."""
    forward, num_outs = split_branch.forward, split_branch.num_outs

    def with_slots(*args: Any) -> list[Any]:
        outs = current_trace_state.value.call(forward, args)
        held = dict(zip(slots, outs[num_outs:], strict=True))
        return [
            *outs[:num_outs],
            *[held[i] if i in held else zeros(a) for i, a in enumerate(avals)],
        ]

    return stage_rule(with_slots, forward.in_avals)


def _take_residuals(
    tangent: Jaxpr, own: list[int], residuals: list[int], avals: Sequence[ShapedArray]
) -> Jaxpr:
    """The linear program of a branch with the residuals of all branches as inputs."""
    own_vars, tangents = split(tangent.invars, len(own))
    variables = dict(zip(own, own_vars, strict=True))
    inputs = [variables.get(p) or Var(a) for p, a in zip(residuals, avals, strict=True)]
    return rewire(tangent, [*inputs, *tangents], tangent.outvars)


def _transpose(cts: list, selector: Any, *args: Any, branches: Any, platforms: Any) -> list:
    linear = tuple([isinstance(x, Linear) for x in args])
    ct_mask = nonzero(cts)
    derived = [transpose(b, linear, ct_mask) for b in branches]
    wanted = union(*[d.out_mask for d in derived])
    avals = [x.aval for x in pick(args, linear)]
    known = [x for x in args if not isinstance(x, Linear)]
    outs = cond_p.bind(
        selector,
        *known,
        *[ct for ct in cts if ct is not None],
        branches=tuple([_instantiate(d.jaxpr, d.out_mask, wanted, avals) for d in derived]),
        platforms=platforms,
    )
    return [None, *spread(spread(outs, wanted), linear)]


def _instantiate(program: Jaxpr, mask: Any, wanted: Any, avals: Sequence[ShapedArray]) -> Jaxpr:
    """The program with zeros for those wanted outputs that it does not have."""
    if mask == wanted:
        return program

    def instantiated(*args: Any) -> list[Any]:
        outs = current_trace_state.value.call(program, args)
        return filled(spread(outs, mask), avals, wanted)

    return stage_rule(instantiated, program.in_avals)


def _batch(axis: Any, args: list, dims: tuple, *, branches: Any, platforms: Any) -> tuple:
    if dims[0] is not None:
        return _batch_selector(axis, args, dims[1:], branches)
    found = zip(*[batch(b, axis, dims[1:]).out_dims for b in branches], strict=True)
    out_dims = tuple([next((d for d in own if d is not None), None) for own in found])
    derived = tuple([batch(b, axis, dims[1:], out_dims).jaxpr for b in branches])
    return cond_p.bind(*args, branches=derived, platforms=platforms), out_dims


def _batch_selector(axis: Any, args: list, dims: tuple, branches: Any) -> tuple[list, list]:
    """Run every branch on all lanes, and keep in each lane what its own branch gives."""
    selector, *operands = args
    outs: list[Any] = []
    for position, branch in enumerate(branches):
        if dtypes.is_bool(selector.dtype):
            mask = selector if position else lax.bitwise_not(selector)
        else:
            mask = lax.eq(selector, np.int32(position))
        results = _run_in_lanes(axis, mask, operands, dims, branch)
        outs = (
            [select_lanes(mask, new, old) for new, old in zip(results, outs, strict=True)]
            if position
            else results
        )
    return outs, [0] * len(outs)


def _run_in_lanes(axis: Any, mask: Any, operands: list, dims: tuple, branch: Jaxpr) -> list:
    """The branch on all lanes; its outputs have their batch axis first.

    A lane for which the branch was not meant might send a loop in it around for ever, so such lanes
    get the operands of one for which it was; and if there is none, the branch does not run at all.
    """
    program = batch(branch, axis, dims, (0,) * len(branch.out_avals)).jaxpr
    if not contains(branch, "while"):
        return current_trace_state.value.call(program, operands)
    skip = stage_rule(lambda *_: [zeros(a) for a in program.out_avals], program.in_avals)
    operands = borrow_lane(mask, operands, dims)
    return cond_p.bind(any_lane(mask), *operands, branches=(skip, program), platforms=None)


def _prune(eqn: Equation, used: tuple) -> Equation:
    branches = [rewire(b, b.invars, pick(b.outvars, used)) for b in eqn.params["branches"]]
    reads = union(*[b.used_inputs() for b in branches])
    return Equation(
        cond_p,
        {
            **eqn.params,
            "branches": tuple([rewire(b, pick(b.invars, reads), b.outvars) for b in branches]),
        },
        pick(eqn.invars, (True, *reads)),
        pick(eqn.outvars, used),
        eqn.source,
    )


cond_p = Primitive(
    "cond",
    abstract=_abstract,
    lower=_lower,
    jvp=_jvp,
    linearize=_linearize,
    divide=_divide,
    prune=_prune,
    transpose=_transpose,
    batch=_batch,
    effects=lambda params: frozenset().union(*[b.effects for b in params["branches"]]),
    multiple_results=True,
)

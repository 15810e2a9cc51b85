"""Loops that run until a condition fails: `while_loop`, and `fori_loop`.

The condition and the body are programs of a carry; values that they closed over are constants of
the loop, of the one and the other. A loop whose length is not known cannot be differentiated in
reverse: nothing says how many residuals there would be. Forward mode works.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from covector import lax
from covector._api.autodiff import as_array
from covector._config import disable_jit
from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector._ir.jaxpr import Jaxpr, Var
from covector._trace.primitive import Primitive
from covector._trace.stage import stage_rule
from covector._trace.trace import current_trace_state, typeof
from covector._transform.batch import batch, move_batch_axis
from covector._transform.jvp import jvp
from covector._transform.linearize import Linearized
from covector._tree.registry import dispatch_registry
from covector.errors import JAXTypeError
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
from covector.lax.control.lanes import any_lane, borrow_lane, select_lanes
from covector.lax.control.programs import (
    check_operands,
    contains,
    filled,
    fixpoint,
    interleave,
    nonzero,
    pick,
    rewire,
    split,
    spread,
    write_while,
)

# --- what users call ------------------------------------------------------------------------------


def while_loop(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any
) -> Any:
    """Apply ``body_fun`` to a value as long as ``cond_fun`` of it holds.

    Can be differentiated in forward mode (`jvp`) only; for reverse mode use `scan`, or `fori_loop`
    with bounds that are known when tracing.

    Args:
      cond_fun: takes the value, returns a boolean scalar.
      body_fun: takes the value, returns the next one, of the same structure, shapes and dtypes.
      init_val: an array, or a tree of them.

    Raises `TypeError` if a function returns something else.

    >>> from covector import lax
    >>> float(lax.while_loop(lambda x: lax.lt(x, 100.0), lambda x: lax.mul(x, 2.0), 1.0))
    128.0
    """
    check_callable("while_loop", cond_fun=cond_fun, body_fun=body_fun)
    if disable_jit.value:
        try:
            init_val = map_arrays(as_array, init_val)
            while cond_fun(init_val):
                init_val = body_fun(init_val)
            return init_val
        except JAXTypeError:
            pass  # The condition is not known: the loop is staged, from where it has got to.
    return _while(cond_fun, body_fun, carry_of("while_loop", body_fun, 0, init_val))


def _while(cond_fun: Callable, body_fun: Callable, carry: Carry) -> Any:
    tree = dispatch_registry.flatten(carry.tree)[1]
    leaves, avals = leaf_avals(carry.caller, carry.root, carry.tree)
    promoted: list[Any] | None = leaves
    while promoted is not None:
        leaves, avals = promoted, tuple([typeof(x) for x in promoted])
        body = stage(body_fun, (carry.tree,), avals)
        promoted = promote_weak(leaves, avals, body.jaxpr.out_avals)
    carry.check(body.out_tree, avals, body.jaxpr.out_avals)
    condition = stage(cond_fun, (carry.tree,), avals)
    _check_condition(condition.out_tree, condition.jaxpr.out_avals)

    # What the body hands on as it is need not be carried.
    fixed = invariant_carries(body.jaxpr, len(body.consts), len(avals))
    varying = [not f for f in fixed]
    cond_jaxpr = _fix_carries(condition.jaxpr, len(condition.consts), fixed)
    body_jaxpr = _fix_carries(body.jaxpr, len(body.consts), fixed)
    body_jaxpr = rewire(body_jaxpr, body_jaxpr.invars, pick(body_jaxpr.outvars, varying))
    constants = pick(leaves, fixed)
    outs = while_p.bind(
        *[*condition.consts, *constants],
        *[*body.consts, *constants],
        *pick(leaves, varying),
        cond_jaxpr=cond_jaxpr,
        cond_nconsts=len(condition.consts) + len(constants),
        body_jaxpr=body_jaxpr,
        body_nconsts=len(body.consts) + len(constants),
    )
    results = [
        as_array(x) if o is None else o for x, o in zip(leaves, spread(outs, varying), strict=True)
    ]
    return tree.unflatten(results)


def _check_condition(tree: Any, avals: tuple[ShapedArray, ...]) -> None:
    if tree != dispatch_registry.flatten(0)[1]:
        raise TypeError(
            f"while_loop: cond_fun must return a boolean scalar, but got a tree: {tree}."
        )
    if avals[0].shape or not dtypes.is_bool(avals[0].dtype):
        raise TypeError(
            "while_loop: cond_fun must return a boolean scalar, but got output of type "
            f"{type_text(avals[0])}. Compare, or reduce with all or any."
        )


def _fix_carries(jaxpr: Jaxpr, num_consts: int, fixed: tuple[bool, ...]) -> Jaxpr:
    """The program with those carries as constants, after the others that it has."""
    consts, carry = split(jaxpr.invars, num_consts)
    varying = [not f for f in fixed]
    return rewire(jaxpr, [*consts, *pick(carry, fixed), *pick(carry, varying)], jaxpr.outvars)


def fori_loop(
    lower: Any,
    upper: Any,
    body_fun: Callable[[Any, Any], Any],
    init_val: Any,
    *,
    unroll: int | bool | None = None,
) -> Any:
    """``for i in range(lower, upper): val = body_fun(i, val)``, beginning with ``init_val``.

    With bounds that are known when tracing it is a `scan`, which can be differentiated in reverse;
    otherwise a `while_loop`, which cannot.

    Args:
      lower, upper: integers; the loop does not run if ``upper <= lower``.
      body_fun: takes the index and the value, returns the next value, of the same structure,
        shapes and dtypes.
      unroll: how many steps to write out in one turn of the loop; True for all.

    Raises:
      TypeError: the body changes the value's type, or the bounds differ in dtype.
      ValueError: ``unroll`` is given but the bounds are not known.

    >>> from covector import lax
    >>> int(lax.fori_loop(0, 5, lambda i, total: lax.add(total, i), 0))
    10
    """
    check_callable("fori_loop", body_fun=body_fun)
    dtype = _loop_dtype(lower, upper)
    bounds = _known_bounds(lower, upper)
    carry = carry_of("fori_loop", body_fun, 1, init_val)
    if bounds is None:
        if unroll is not None:
            raise ValueError(
                "fori_loop: Can only use `unroll` in `fori_loop` if the loop bounds are statically "
                "known."
            )
        return _fori_while(lower, upper, dtype, body_fun, carry)
    first, last = bounds
    if disable_jit.value:
        for i in range(first, last):
            init_val = body_fun(as_array(i), init_val)
        return init_val
    return _fori_scan(first, max(last - first, 0), body_fun, carry, 1 if unroll is None else unroll)


def _loop_dtype(lower: Any, upper: Any) -> np.dtype:
    """The dtype of the index: that of the bounds, where a Python number takes the other's."""
    avals = [typeof(lower), typeof(upper)]
    for name, aval in zip(("lower", "upper"), avals, strict=True):
        if aval.shape:
            raise TypeError(
                f"fori_loop: {name} must be an integer scalar, got an array of shape {aval.shape}."
            )
    weak = [aval.weak_type for aval in avals]
    if weak[0] == weak[1] and avals[0].dtype != avals[1].dtype:
        mismatch = True
    else:
        mismatch = dtypes.is_integer(avals[0].dtype) != dtypes.is_integer(avals[1].dtype)
    if mismatch:
        raise TypeError(
            "lower and upper arguments to fori_loop must have equal types, got "
            f"{avals[0].dtype.name} and {avals[1].dtype.name}."
        )
    return avals[1].dtype if weak[0] else avals[0].dtype


def _known_bounds(lower: Any, upper: Any) -> tuple[int, int] | None:
    try:
        return int(lower), int(upper)
    except JAXTypeError:
        return None


def _fori_scan(first: int, length: int, body_fun: Callable, carry: Carry, unroll: Any) -> Any:
    from covector.lax.control.scan import scan_carry

    def step(state: tuple[Any, Any]) -> tuple[Any, Any]:
        i, value = state
        return lax.add(i, 1), body_fun(i, value)

    counted = carry._replace(tree=(first, carry.tree), counted=True)
    return scan_carry(step, counted, length, unroll)[1]


def _with_dtype(bound: Any, dtype: np.dtype) -> Any:
    return (
        as_array(bound) if typeof(bound).dtype == dtype else lax.convert_element_type(bound, dtype)
    )


def _fori_while(lower: Any, upper: Any, dtype: np.dtype, body_fun: Callable, carry: Carry) -> Any:
    start, stop = [_with_dtype(x, dtype) for x in (lower, upper)]
    one = 1 if typeof(start).weak_type else np.ones((), dtype)[()]
    counted = carry._replace(tree=(start, carry.tree), counted=True)
    return _while(
        lambda state: lax.lt(state[0], stop),
        lambda state: (lax.add(state[0], one), body_fun(state[0], state[1])),
        counted,
    )[1]


# --- the primitive --------------------------------------------------------------------------------


def _sizes(params: dict[str, Any]) -> tuple[int, int]:
    return params["cond_nconsts"], params["body_nconsts"]


def _abstract(*avals: ShapedArray, **params: Any) -> list[ShapedArray]:
    cond_consts, body_consts, carry = split(avals, *_sizes(params))
    check_operands("while", [*cond_consts, *carry], params["cond_jaxpr"].in_avals)
    check_operands("while", [*body_consts, *carry], params["body_jaxpr"].in_avals)
    check_operands("while", carry, params["body_jaxpr"].out_avals)
    return list(params["body_jaxpr"].out_avals)


def _lower(ctx: Any, args: Any, in_avals: Any, out_avals: Any, **params: Any) -> list[str]:
    cond_consts, body_consts, inits = split(args, *_sizes(params))
    avals = split(in_avals, *_sizes(params))[2]
    if not inits:  # StableHLO wants a state
        flag = ShapedArray((), np.bool_)
        inits, avals = [ctx.constant(False, flag)], [flag]
    count = len(out_avals)
    cond_jaxpr, body_jaxpr = params["cond_jaxpr"], params["body_jaxpr"]
    names = write_while(
        ctx,
        inits,
        avals,
        lambda state: ctx.inline(cond_jaxpr, [*cond_consts, *state[:count]])[0],
        lambda state: [*ctx.inline(body_jaxpr, [*body_consts, *state[:count]]), *state[count:]],
        body_jaxpr,
    )
    return names[:count]


def _jvp(primals: list, tangents: list, **params: Any) -> tuple[list, list]:
    cond_nconsts, body_nconsts = _sizes(params)
    body = params["body_jaxpr"]
    cond_consts, consts, inits = split(primals, cond_nconsts, body_nconsts)
    _, t_consts, t_inits = split(tangents, cond_nconsts, body_nconsts)
    count = len(inits)
    mask = fixpoint(
        lambda carry: jvp(body, (*nonzero(t_consts), *carry), carry).out_mask, nonzero(t_inits)
    )
    if True not in mask:
        return while_p.bind(*primals, **params), [None] * count
    derived = jvp(body, (*nonzero(t_consts), *mask), mask).jaxpr
    num_tangents = sum(nonzero(t_consts))
    values, directions = split(derived.invars, body_nconsts + count)
    inputs = interleave(split(values, body_nconsts), split(directions, num_tangents))
    t_inits = filled(t_inits, [typeof(x) for x in inits], mask)
    outs = while_p.bind(
        *cond_consts,
        *consts,
        *[t for t in t_consts if t is not None],
        *inits,
        *t_inits,
        cond_jaxpr=_ignore_tangents(params["cond_jaxpr"], [typeof(t) for t in t_inits]),
        cond_nconsts=cond_nconsts,
        body_jaxpr=rewire(derived, inputs, derived.outvars),
        body_nconsts=body_nconsts + num_tangents,
    )
    return outs[:count], spread(outs[count:], mask)


def _ignore_tangents(cond_jaxpr: Jaxpr, avals: list[ShapedArray]) -> Jaxpr:
    """The condition with further parts of the carry, which it does not read."""
    return rewire(cond_jaxpr, [*cond_jaxpr.invars, *map(Var, avals)], cond_jaxpr.outvars)


def _linearize(call: Jaxpr, mask: tuple, instantiate: tuple | None) -> Linearized:
    """The linear part is the whole loop again, with tangents: there are no other residuals."""
    derived, out_mask = jvp(call, mask, instantiate)
    num_in, num_outs = len(call.in_avals), len(call.out_avals)
    tangent = rewire(derived, derived.invars, derived.outvars[num_outs:])
    return Linearized(call, num_outs, tuple(range(num_in)), tangent, out_mask)


def _transpose(cts: list, *args: Any, **params: Any) -> list:
    raise ValueError(
        "Reverse-mode differentiation does not work for lax.while_loop, or for lax.fori_loop with "
        "bounds that are not known when tracing. Use lax.scan, or lax.fori_loop with static "
        "bounds, or forward mode (covector.jvp, covector.jacfwd)."
    )


def _batch(axis: Any, args: list, dims: tuple, **params: Any) -> tuple[list, list]:
    cond_nconsts, body_nconsts = _sizes(params)
    cond_jaxpr, body_jaxpr = params["cond_jaxpr"], params["body_jaxpr"]
    cond_dims, body_dims, init_dims = split(dims, cond_nconsts, body_nconsts)
    carry_dims = _carry_dims(axis, body_jaxpr, body_dims, init_dims)
    own_way = batch(cond_jaxpr, axis, (*cond_dims, *carry_dims)).out_dims[0] is not None
    if own_way:
        carry_dims = (0,) * len(carry_dims)
    cond_consts, body_consts, inits = split(args, cond_nconsts, body_nconsts)
    inits = [
        x if to is None else move_batch_axis(x, axis.size, d, to)
        for x, d, to in zip(inits, init_dims, carry_dims, strict=True)
    ]
    condition = batch(cond_jaxpr, axis, (*cond_dims, *carry_dims), (0,) if own_way else None).jaxpr
    body = batch(body_jaxpr, axis, (*body_dims, *carry_dims), carry_dims).jaxpr
    if own_way:
        outs = _loop_until_all_done(
            condition,
            body,
            cond_consts,
            body_consts,
            inits,
            body_dims if contains(body_jaxpr, "while") else None,
        )
    else:
        outs = while_p.bind(
            *cond_consts,
            *body_consts,
            *inits,
            cond_jaxpr=condition,
            cond_nconsts=cond_nconsts,
            body_jaxpr=body,
            body_nconsts=body_nconsts,
        )
    return outs, list(carry_dims)


def _carry_dims(axis: Any, body: Jaxpr, const_dims: list, dims: list) -> tuple[int | None, ...]:
    """The carry's batch axes: those of the initial values, or what the body makes batched."""
    while True:
        found = batch(body, axis, (*const_dims, *dims), tuple(dims)).out_dims
        if list(found) == dims:
            return tuple(dims)
        dims = list(found)


def _loop_until_all_done(
    condition: Jaxpr,
    body: Jaxpr,
    cond_consts: list,
    body_consts: list,
    inits: list,
    borrow: list | None,
) -> list:
    """A loop that goes on while any lane does; lanes that are done keep their carry.

    The state begins with which lanes go on. With ``borrow`` (the batch axes of the body's
    constants), lanes that are done let the body work on what one that is not holds: a loop inside
    the body might not end on a carry that the outer condition has ruled out.
    """
    call = current_trace_state.value.call
    going = call(condition, [*cond_consts, *inits])[0]
    num_body, num_cond = len(body_consts), len(cond_consts)

    def step(*inputs: Any) -> list[Any]:
        consts, more, (going, *carry) = split(inputs, num_body, num_cond)
        call = current_trace_state.value.call
        values = [*consts, *carry]
        if borrow is not None:
            values = borrow_lane(going, values, [*borrow, *[0] * len(carry)])
        new = call(body, values)
        kept = [select_lanes(going, n, old) for n, old in zip(new, carry, strict=True)]
        return [*call(condition, [*more, *kept]), *kept]

    state = [going, *inits]
    avals = [typeof(x) for x in [*body_consts, *cond_consts, *state]]
    outs = while_p.bind(
        *body_consts,
        *cond_consts,
        *state,
        cond_jaxpr=stage_rule(
            lambda going, *carry: [any_lane(going)], avals[num_body + num_cond :]
        ),
        cond_nconsts=0,
        body_jaxpr=stage_rule(step, avals),
        body_nconsts=num_body + num_cond,
    )
    return outs[1:]


while_p = Primitive(
    "while",
    abstract=_abstract,
    lower=_lower,
    jvp=_jvp,
    linearize=_linearize,
    transpose=_transpose,
    batch=_batch,
    effects=lambda params: params["cond_jaxpr"].effects | params["body_jaxpr"].effects,
    multiple_results=True,
)

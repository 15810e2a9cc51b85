"""Linear functions and closures: `linear_transpose`, `linear_call`, `closure_convert`, and
`custom_gradient`, which needs the latter.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from covector._api.tracing import abstract_leaves, argument_avals, function_name, stage_function
from covector._ir.jaxpr import Jaxpr, Var, make_jaxpr_object
from covector._trace.primitive import Primitive
from covector._trace.trace import Tracer, current_trace_state, typeof
from covector._transform.batch import BatchAxis, batch, move_batch_axis
from covector._transform.jvp import zeros
from covector._transform.transpose import transpose
from covector._tree.registry import dispatch_registry

# --- linear_transpose -----------------------------------------------------------------------------


def linear_transpose(
    fun: Callable[..., Any], *primals: Any, reduce_axes: Sequence[Any] = ()
) -> Callable[..., Any]:
    """The transpose of a linear function: a function from cotangents of its output to its inputs'.

    Args:
      fun: linear in all its arguments together.
      primals: arguments, or `ShapeDtypeStruct`s like them; only their types matter.

    Returns a function of one value with the structure of ``fun``'s output, whose result is a tuple
    with an entry for each of ``primals``.

    Raises:
      TypeError: an input or output is neither floating point nor complex; or, from the returned
        function, the cotangent has not the output's structure, shapes and dtypes.
      NotImplementedError: ``fun`` is not linear.

    >>> import covector
    >>> transposed = covector.linear_transpose(lambda x: covector.lax.mul(x, 2.0), 1.0)
    >>> float(transposed(3.0)[0])
    6.0
    """
    leaves, tree = dispatch_registry.flatten(primals)
    avals = abstract_leaves(leaves)
    staged = stage_function(fun, dispatch_registry.flatten((primals, {}))[1], avals)
    outs = staged.jaxpr.out_avals
    if not all(a.has_tangent for a in [*avals, *outs]):
        given, made = [[a.dtype for a in group] for group in (avals, outs)]
        raise TypeError(
            "linear_transpose only supports functions from floating point or complex arrays to "
            f"such arrays, but got {given} -> {made}."
        )
    linear = (False,) * len(staged.consts) + (True,) * len(avals)

    def transposed(ct: Any) -> Any:
        cts, ct_tree = dispatch_registry.flatten(ct)
        if ct_tree != staged.out_tree:
            raise TypeError(
                "cotangent tree does not match function output, expected "
                f"{staged.out_tree} but got {ct_tree}"
            )
        if [(typeof(x).shape, typeof(x).dtype) for x in cts] != [(a.shape, a.dtype) for a in outs]:
            raise TypeError(
                f"cotangent type does not match function output, expected {list(outs)} but got "
                f"{[typeof(x) for x in cts]}"
            )
        program, _ = transpose(staged.jaxpr, linear, (True,) * len(outs), instantiate=True)
        return tree.unflatten(current_trace_state.value.call(program, [*staged.consts, *cts]))

    return transposed


# --- closure_convert ------------------------------------------------------------------------------


def closure_convert(
    fun: Callable[..., Any], *example_args: Any
) -> tuple[Callable[..., Any], list[Any]]:
    """``fun`` with what it closes over, and is being differentiated or traced, as arguments.

    Returns ``(converted, consts)``: ``converted(*args, *consts)`` is ``fun(*args)``, for arguments
    of the structure, shapes and dtypes of ``example_args``.

    >>> import covector
    >>> def f(x):
    ...     g, consts = covector.closure_convert(lambda y: covector.lax.mul(x, y), 1.0)
    ...     return g(3.0, *consts)
    >>> float(covector.grad(f)(2.0))
    3.0
    """
    leaves, tree = dispatch_registry.flatten((example_args, {}))
    avals = argument_avals(leaves, tree, function_name(fun))
    staged = stage_function(fun, tree, avals)
    hoisted = [isinstance(c, Tracer) and c.aval.has_tangent for c in staged.consts]
    num_hoisted = sum(hoisted)

    def converted(*args: Any) -> Any:
        if len(args) != len(example_args) + num_hoisted:
            raise TypeError(
                f"the closure-converted {function_name(fun)} takes {len(example_args)} arguments "
                f"and {num_hoisted} hoisted values, but got {len(args)} arguments."
            )
        values, given_tree = dispatch_registry.flatten((args[: len(example_args)], {}))
        if given_tree != tree:
            raise TypeError(
                f"the closure-converted {function_name(fun)} must be given arguments of the "
                f"structure of its example_args, {tree}, but got {given_tree}."
            )
        given = iter(args[len(example_args) :])
        consts = [next(given) if h else c for c, h in zip(staged.consts, hoisted, strict=True)]
        outs = current_trace_state.value.call(staged.jaxpr, [*consts, *values])
        return staged.out_tree.unflatten(outs)

    return converted, [c for c, h in zip(staged.consts, hoisted, strict=True) if h]


# --- custom_gradient ------------------------------------------------------------------------------


def custom_gradient(
    fun: Callable[..., Any] | None = None,
    *,
    with_logs: bool = False,
    remat: bool = False,
    with_accums: Any = None,
) -> Callable[..., Any]:
    """A function with a gradient of its own: ``fun(*args) -> (out, ct of out -> cts of args)``.

    The second function may close over values that the first computes. With one argument its result
    is the cotangent itself, with more a tuple (or list) of them.

    Raises:
      NotImplementedError: ``with_logs``, ``remat`` or ``with_accums`` is given.

    >>> import covector
    >>> @covector.custom_gradient
    ... def f(x):
    ...     return covector.lax.mul(x, x), lambda ct: covector.lax.mul(ct, 5.0)
    >>> float(f(3.0)), float(covector.grad(f)(3.0))
    (9.0, 5.0)
    """
    if with_logs or remat or with_accums is not None:
        raise NotImplementedError(
            "custom_gradient: with_logs, remat and with_accums are not offered."
        )
    if fun is None:
        return custom_gradient
    from covector.custom_derivatives import custom_vjp
    from covector.tree_util import Partial

    @functools.wraps(fun)
    def value(*args: Any, **kwargs: Any) -> Any:
        return fun(*args, **kwargs)[0]

    def forward(*args: Any) -> Any:
        out, pull_back = fun(*args)
        leaves, tree = dispatch_registry.flatten(out)
        in_tree = dispatch_registry.flatten(((tree.unflatten(leaves),), {}))[1]
        staged = stage_function(pull_back, in_tree, [typeof(x).tangent for x in leaves])
        return out, Partial(_Pullback(staged.jaxpr, staged.out_tree, len(args)), *staged.consts)

    def backward(pull_back: Partial, ct: Any) -> tuple:
        return pull_back(*dispatch_registry.flatten(ct)[0])

    function = custom_vjp(value)
    function.defvjp(forward, backward)
    return function


class _Pullback(NamedTuple):
    """The program of a user's pullback: what it closes over, then cotangents -> cotangents."""

    jaxpr: Jaxpr
    out_tree: Any
    num_args: int

    def __call__(self, *values: Any) -> tuple:
        found = self.out_tree.unflatten(current_trace_state.value.call(self.jaxpr, values))
        if isinstance(found, (tuple, list)) and len(found) == self.num_args:
            return tuple(found)
        return (found,)


# --- linear_call ----------------------------------------------------------------------------------


def linear_call(
    fun: Callable[..., Any],
    fun_transpose: Callable[..., Any],
    residual_args: Any,
    linear_args: Any,
) -> Any:
    """``fun(residual_args, linear_args)``, linear in the latter, with a transpose of its own.

    ``fun_transpose(residual_args, ct)`` gives the cotangents of ``linear_args``. Nobody checks that
    it is the transpose.

    Raises:
      TypeError: the transpose's result has not the structure, shapes and dtypes of ``linear_args``.
      NotImplementedError: it is differentiated in a residual.

    >>> import covector
    >>> f = lambda x: covector.custom_derivatives.linear_call(
    ...     lambda r, x: covector.lax.div(x, r), lambda r, ct: covector.lax.div(ct, r), 2.0, x)
    >>> float(covector.grad(f)(3.0))
    0.5
    """
    residuals, residual_tree = dispatch_registry.flatten(residual_args)
    operands, linear_tree = dispatch_registry.flatten(linear_args)
    residual_avals = [typeof(x) for x in residuals]
    avals = [typeof(x) for x in operands]

    def stage(function: Callable[..., Any], tree: Any, inputs: list) -> Any:
        example = residual_tree.unflatten(residuals), tree.unflatten([0] * tree.num_leaves)
        in_tree = dispatch_registry.flatten((example, {}))[1]
        return stage_function(function, in_tree, [*residual_avals, *inputs])

    callee = stage(fun, linear_tree, avals)
    back = stage(fun_transpose, callee.out_tree, [a.tangent for a in callee.jaxpr.out_avals])
    _check_transpose(back, linear_tree, avals)
    # Both programs take the same residuals: what either closes over, and the given ones.
    consts = [*callee.consts, *back.consts]
    num_callee = len(callee.consts)
    used = (range(num_callee), range(num_callee, len(consts)))
    programs = [
        _widen(staged.jaxpr, chosen, consts, len(residuals))
        for staged, chosen in zip((callee, back), used, strict=True)
    ]
    outs = linear_call_p.bind(
        *consts,
        *residuals,
        *operands,
        callee=programs[0],
        transpose=programs[1],
        num_residuals=len(consts) + len(residuals),
    )
    return callee.out_tree.unflatten(outs)


def _check_transpose(back: Any, tree: Any, avals: Sequence[Any]) -> None:
    given = [(a.shape, a.dtype) for a in back.jaxpr.out_avals]
    wanted = [(a.shape, a.tangent.dtype) for a in avals]
    if back.out_tree != tree or given != wanted:
        raise TypeError(
            "linear_call: the transpose must give cotangents like linear_args, of structure "
            f"{tree} and types {list(avals)}, but gives structure {back.out_tree} and types "
            f"{list(back.jaxpr.out_avals)}."
        )


def _widen(jaxpr: Jaxpr, chosen: Sequence[int], consts: Sequence[Any], num_given: int) -> Jaxpr:
    """The same program with all of ``consts`` as inputs, of which it reads the chosen ones."""
    own, others = jaxpr.invars[: len(chosen)], jaxpr.invars[len(chosen) :]
    place = dict(zip(chosen, own, strict=True))
    invars = [place.get(i) or Var(typeof(c)) for i, c in enumerate(consts)]
    return make_jaxpr_object([*invars, *others], jaxpr.eqns, jaxpr.outvars)


def _jvp_linear_call(
    primals: list, tangents: list, *, num_residuals: int, **params: Any
) -> tuple[list, list]:
    if any(t is not None for t in tangents[:num_residuals]):
        raise NotImplementedError(
            "linear_call: its derivative in residual_args is not known (only fun's transpose in "
            "linear_args is). Use stop_gradient on the residuals, or linear_args."
        )
    linear = [
        zeros(typeof(x).tangent) if t is None else t
        for x, t in zip(primals[num_residuals:], tangents[num_residuals:], strict=True)
    ]
    params["num_residuals"] = num_residuals
    outs = linear_call_p.bind(*primals, **params)
    return outs, linear_call_p.bind(*primals[:num_residuals], *linear, **params)


def _transpose_linear_call(
    cts: list, *args: Any, callee: Jaxpr, transpose: Jaxpr, num_residuals: int
) -> list:
    full = [zeros(a.tangent) if ct is None else ct for ct, a in zip(cts, callee.out_avals)]
    found = linear_call_p.bind(
        *args[:num_residuals],
        *full,
        callee=transpose,
        transpose=callee,
        num_residuals=num_residuals,
    )
    return [None] * num_residuals + found


def _batch_linear_call(
    axis: BatchAxis,
    args: list,
    dims: tuple,
    *,
    callee: Jaxpr,
    transpose: Jaxpr,
    num_residuals: int,
) -> tuple[list, list]:
    residuals, linear = dims[:num_residuals], args[num_residuals:]
    moved = [
        move_batch_axis(x, axis.size, d, 0)
        for x, d in zip(linear, dims[num_residuals:], strict=True)
    ]
    program, back = [
        batch(
            jaxpr,
            axis,
            (*residuals, *[0] * (len(jaxpr.in_avals) - num_residuals)),
            (0,) * len(jaxpr.out_avals),
        ).jaxpr
        for jaxpr in (callee, transpose)
    ]
    outs = linear_call_p.bind(
        *args[:num_residuals], *moved, callee=program, transpose=back, num_residuals=num_residuals
    )
    return outs, [0] * len(outs)


linear_call_p = Primitive(
    "linear_call",
    abstract=lambda *avals, callee, transpose, num_residuals: list(callee.out_avals),
    lower=lambda ctx, args, in_avals, out_avals, *, callee, transpose, num_residuals: ctx.inline(
        callee, args
    ),
    jvp=_jvp_linear_call,
    transpose=_transpose_linear_call,
    batch=_batch_linear_call,
    effects=lambda params: params["callee"].effects,
    multiple_results=True,
)

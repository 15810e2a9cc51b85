"""Derivative rules of one's own: `custom_jvp` and `custom_vjp`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from covector._api.linear import closure_convert as closure_convert
from covector._api.linear import custom_gradient as custom_gradient
from covector._api.linear import linear_call as linear_call
from covector._api.static_arguments import dynamic_arguments, merge_arguments
from covector._api.tracing import check_outputs, function_name
from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector._trace.trace import current_trace_state, typeof
from covector._transform.custom import CustomJVP, CustomVJP, custom_jvp_call_p, custom_vjp_call_p
from covector._transform.custom import remat_opt_p as remat_opt_p
from covector._transform.symbolic_zeros import CustomVJPPrimal as CustomVJPPrimal
from covector._transform.symbolic_zeros import SymbolicZero as SymbolicZero
from covector._transform.symbolic_zeros import (
    custom_vjp_primal_tree_values as custom_vjp_primal_tree_values,
)
from covector._transform.symbolic_zeros import fill_zeros
from covector._transform.symbolic_zeros import zero_from_primal as zero_from_primal
from covector._tree.registry import dispatch_registry

__all__ = [
    "CustomVJPPrimal",
    "SymbolicZero",
    "closure_convert",
    "custom_gradient",
    "custom_jvp",
    "custom_jvp_call_p",
    "custom_vjp",
    "custom_vjp_call_p",
    "custom_vjp_primal_tree_values",
    "linear_call",
    "remat_opt_p",
    "zero_from_primal",
]


class _Call:
    """One call's arguments: which are differentiated, flattened, and how to put them back."""

    def __init__(
        self, fun: Callable[..., Any], args: tuple, kwargs: dict, nondiff: tuple[int, ...]
    ):
        self.fun = fun
        args = resolve_keywords(fun, args, kwargs)
        positions = {i % len(args) for i in nondiff} if nondiff else set()
        self.all_args = args
        self.positions = positions
        self.nondiff = tuple([args[i] for i in sorted(positions)])
        self.dynamic = dynamic_arguments(args, positions)
        self.leaves, self.tree = dispatch_registry.flatten(self.dynamic)
        self.out_tree: Any = None

    def merge(self, dynamic: Sequence[Any]) -> list[Any]:
        return merge_arguments(self.all_args, self.positions, dynamic)

    def run(self, *leaves: Any) -> list[Any]:
        """The function itself on flat arguments, to flat outputs."""
        out = self.fun(*self.merge(self.tree.unflatten(leaves)))
        outs, self.out_tree = dispatch_registry.flatten(out)
        check_outputs(outs, function_name(self.fun))
        return outs


def resolve_keywords(fun: Callable[..., Any], args: tuple, kwargs: dict) -> tuple:
    """All arguments by position, with defaults filled in."""
    if not kwargs:
        try:
            parameters = inspect.signature(fun).parameters.values()
        except (ValueError, TypeError):
            return args
        if len(args) >= sum(
            p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters
        ):
            return args
    bound = inspect.signature(fun).bind(*args, **kwargs)
    bound.apply_defaults()
    if bound.kwargs:
        raise TypeError(
            f"{function_name(fun)}: functions with derivative rules take positional arguments; "
            f"could not give {sorted(bound.kwargs)} by position."
        )
    return bound.args


class _WithRules:
    """What both decorators share: the function, and its arguments that are never differentiated."""

    def __init__(
        self,
        fun: Callable[..., Any],
        nondiff_argnums: Sequence[int] = (),
        nondiff_argnames: Sequence[str] = (),
    ):
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.nondiff_argnums = _nondiff_positions(fun, nondiff_argnums, nondiff_argnames)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__}.__call__")

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)


class custom_jvp(_WithRules):
    """A function whose derivative is given by a rule, for both modes of differentiation.

    >>> import covector
    >>> @covector.custom_jvp
    ... def f(x):
    ...     return covector.lax.sin(x)
    >>> @f.defjvp
    ... def f_jvp(primals, tangents):
    ...     (x,), (t,) = primals, tangents
    ...     return f(x), covector.lax.mul(t, 3.0)
    >>> float(covector.grad(f)(0.0))
    3.0
    """

    def __init__(
        self,
        fun: Callable[..., Any],
        nondiff_argnums: Sequence[int] = (),
        nondiff_argnames: Sequence[str] = (),
    ):
        super().__init__(fun, nondiff_argnums, nondiff_argnames)
        self.jvp: Callable[..., Any] | None = None
        self.symbolic_zeros = False

    def defjvp(self, jvp: Callable[..., Any], symbolic_zeros: bool = False) -> Callable[..., Any]:
        """Set the rule: ``jvp(*nondiff, primals, tangents) -> (out, tangent of out)``.

        With ``symbolic_zeros``, a tangent known to be zero is a `SymbolicZero`, in both.
        """
        self.jvp = jvp
        self.symbolic_zeros = symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Set a rule for each argument: ``jvp(tangent, out, *args) -> tangent``; None is zero."""
        if self.nondiff_argnums:
            raise TypeError("Can't use ``defjvps`` with ``nondiff_argnums``.")

        def jvp(primals: tuple, tangents: tuple) -> tuple[Any, Any]:
            from covector.lax.elementwise import add_any
            from covector.lax.shape import zeros_of

            out = self(*primals)
            terms = [f(t, out, *primals) for f, t in zip(jvps, tangents, strict=True) if f]
            total = functools.reduce(add_any, terms) if terms else zeros_of(typeof(out).tangent)
            return out, total

        self.defjvp(jvp)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = function_name(self.fun)
        if self.jvp is None:
            raise AttributeError(
                f"No JVP defined for custom_jvp function {name} using defjvp. Define one, or call "
                "the function without the decorator."
            )
        call = _Call(self.fun, args, kwargs, self.nondiff_argnums)

        def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list, list]:
            assert self.jvp is not None
            avals = [typeof(x) for x in primals]
            full = fill_zeros(tangents, avals, self.symbolic_zeros)
            result = self.jvp(
                *call.nondiff, call.tree.unflatten(primals), call.tree.unflatten(full)
            )
            outs, out_tangents, call.out_tree = _check_rule_result(result, self, name)
            return outs, out_tangents

        outs = current_trace_state.value.custom_call(CustomJVP(name, call.run, rule), call.leaves)
        return call.out_tree.unflatten(outs)


def _nondiff_positions(fun: Any, argnums: Any, argnames: Any) -> tuple[int, ...]:
    positions = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    names = (argnames,) if isinstance(argnames, str) else tuple(argnames)
    if names:
        parameters = list(inspect.signature(fun).parameters)
        unknown = [n for n in names if n not in parameters]
        if unknown:
            raise ValueError(
                f"nondiff_argnames {unknown} are not arguments of {function_name(fun)}: "
                f"{parameters}"
            )
        positions = tuple(sorted({*positions, *[parameters.index(n) for n in names]}))
    return positions


def _check_rule_result(result: Any, function: custom_jvp, name: str) -> tuple[list, list, Any]:
    """Flat outputs and tangents of a rule (None: zero), and the form of its output."""
    rule = function_name(function.jvp)  # type: ignore[arg-type]
    if not (isinstance(result, (list, tuple)) and len(result) == 2):
        raise TypeError(
            f"Custom JVP rule {rule} for function {name} must produce a pair (list or tuple of "
            f"length two) representing primal and tangent outputs, but got {result!r:.100}."
        )
    outs, tree = dispatch_registry.flatten(result[0])
    tangents, tangent_tree = dispatch_registry.flatten(result[1])
    if tree != tangent_tree:
        raise TypeError(
            f"Custom JVP rule {rule} for function {name} must produce primal and tangent outputs "
            f"with equal container (pytree) structures, but got {tree} and {tangent_tree}."
        )
    for x, t in zip(outs, tangents, strict=True):
        expected = typeof(x).tangent
        if expected.dtype == dtypes.float0:
            continue
        if type(t) is SymbolicZero and not function.symbolic_zeros:
            raise TypeError(
                f"Custom JVP rule {rule} for function {name} returned a SymbolicZero, which takes "
                "defjvp(..., symbolic_zeros=True)."
            )
        got = typeof(t)
        if (got.shape, got.dtype) != (expected.shape, expected.dtype):
            raise TypeError(
                f"Custom JVP rule {rule} for function {name} must produce primal and tangent "
                f"outputs with corresponding shapes and dtypes. Expected a tangent of type "
                f"{expected.str_short()}, got {got.str_short()}."
            )
    return outs, [None if type(t) is SymbolicZero else t for t in tangents], tree


class custom_vjp(_WithRules):
    """A function whose reverse-mode derivative is given by a forward and a backward rule.

    >>> import covector
    >>> @covector.custom_vjp
    ... def f(x):
    ...     return covector.lax.sin(x)
    >>> f.defvjp(lambda x: (f(x), None), lambda residuals, ct: (covector.lax.mul(ct, 3.0),))
    >>> float(covector.grad(f)(0.0))
    3.0
    """

    def __init__(
        self,
        fun: Callable[..., Any],
        nondiff_argnums: Sequence[int] = (),
        nondiff_argnames: Sequence[str] = (),
    ):
        super().__init__(fun, nondiff_argnums, nondiff_argnames)
        self.fwd: Callable[..., Any] | None = None
        self.bwd: Callable[..., Any] | None = None
        self.symbolic_zeros = False
        self.optimize_remat = False

    def defvjp(
        self,
        fwd: Callable[..., Any],
        bwd: Callable[..., Any],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
        generic_batching: bool = False,
    ) -> None:
        """Set ``fwd(*args) -> (out, residuals)`` and ``bwd(*nondiff, residuals, ct) -> cts``.

        With ``symbolic_zeros``, ``fwd`` gets a `CustomVJPPrimal` for each array, which says whether
        it is differentiated, and ``bwd`` a `SymbolicZero` for each cotangent known to be zero.
        With ``optimize_remat``, a `checkpoint` around the function runs the function itself in the
        forward pass, and ``fwd`` in the backward pass only. This helps where ``fwd`` is one opaque
        operation, such as a kernel, that cannot leave out the residuals. ``generic_batching`` asks
        for what is done anyway: under `vmap`, the cotangent of an output that is the same for the
        whole batch goes to the first example.
        """
        self.fwd = fwd
        self.bwd = bwd
        self.symbolic_zeros = symbolic_zeros
        self.optimize_remat = optimize_remat

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = function_name(self.fun)
        if self.fwd is None or self.bwd is None:
            raise AttributeError(
                f"No VJP defined for custom_vjp function {name} using defvjp. Define one, or call "
                "the function without the decorator."
            )
        call = _Call(self.fun, args, kwargs, self.nondiff_argnums)

        def forward(leaves: Sequence[Any], perturbed: Sequence[bool]) -> tuple[list, Any]:
            assert self.fwd is not None
            if self.symbolic_zeros:
                pairs = zip(leaves, perturbed, strict=True)
                leaves = [CustomVJPPrimal(x, p) for x, p in pairs]
            result = self.fwd(*call.merge(call.tree.unflatten(leaves)))
            if not (isinstance(result, (list, tuple)) and len(result) == 2):
                raise TypeError(
                    f"Custom VJP fwd rule {function_name(self.fwd)} for function {name} must "
                    "produce a pair (list or tuple of length two) of the output and the residuals, "
                    f"but got {result!r:.100}."
                )
            outs, call.out_tree = dispatch_registry.flatten(result[0])
            return outs, result[1]

        def backward(residuals: Any, cts: Sequence[Any], avals: Sequence[ShapedArray]) -> list[Any]:
            assert self.bwd is not None
            full = fill_zeros(cts, avals, self.symbolic_zeros)
            result = self.bwd(*call.nondiff, residuals, call.out_tree.unflatten(full))
            return _check_cotangents(result, call, self.bwd, name)

        custom = CustomVJP(name, call.run, forward, backward, self.optimize_remat)
        outs = current_trace_state.value.custom_call(custom, call.leaves)
        return call.out_tree.unflatten(outs)


def _check_cotangents(result: Any, call: _Call, bwd: Any, name: str) -> list[Any]:
    """Flat cotangents for the differentiated leaves; None where the rule gave None."""
    rule = function_name(bwd)
    if isinstance(result, list):
        result = tuple(result)
    if not isinstance(result, tuple) or len(result) != len(call.dynamic):
        raise TypeError(
            f"Custom VJP bwd rule {rule} for function {name} must produce a tuple of length equal "
            f"to the number of differentiated arguments ({len(call.dynamic)}), but got "
            f"{result!r:.100}."
        )
    flat: list[Any] = []
    for position, (ct, arg) in enumerate(zip(result, call.dynamic, strict=True)):
        flat += _cotangents_of(ct, arg, f"argument {position}", rule, name)
    return flat


def _cotangents_of(ct: Any, arg: Any, where: str, rule: str, name: str) -> list[Any]:
    leaves, tree = dispatch_registry.flatten(arg)
    if ct is None:
        return [None] * len(leaves)
    try:
        cts = tree.flatten_up_to(ct)
    except ValueError as error:
        raise TypeError(
            f"Custom VJP bwd rule {rule} for function {name} must produce cotangents with the same "
            f"container (pytree) structure as the arguments, but for {where} it did not: {error}"
        ) from None
    found = []
    for x, t in zip(leaves, cts, strict=True):
        aval = typeof(x)
        if t is None or not aval.has_tangent:
            found.append(None)
            continue
        got = typeof(t)
        if got.shape != aval.shape or got.dtype != aval.dtype:
            raise ValueError(
                f"Custom VJP bwd rule {rule} for function {name} must produce cotangents of the "
                f"shapes and dtypes of the arguments: for {where} expected {aval.str_short()}, got "
                f"{got.str_short()}."
            )
        found.append(None if type(t) is SymbolicZero else t)
    return found

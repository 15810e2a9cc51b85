"""Batching rules of one's own: `custom_vmap` and `sequential_vmap`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from covector import lax
from covector._api.autodiff import jvp
from covector._api.tracing import check_outputs, function_name
from covector._ir.jaxpr import Jaxpr
from covector._trace.primitive import Primitive
from covector._trace.trace import current_trace_state, typeof, use_trace
from covector._transform.batch import BatchAxis, BatchTracer, move_batch_axis
from covector._transform.custom import CustomFunction, Flat
from covector._transform.jvp import JVPTracer
from covector._tree.registry import dispatch_registry
from covector.custom_derivatives import resolve_keywords
from covector.errors import UnexpectedTracerError

__all__ = ["custom_vmap", "sequential_vmap"]


class custom_vmap:
    """A function whose batching is given by a rule.

    >>> import covector, numpy
    >>> @covector.custom_batching.custom_vmap
    ... def f(x):
    ...     return covector.lax.sin(x)
    >>> @f.def_vmap
    ... def f_vmap(axis_size, in_batched, x):
    ...     return covector.lax.mul(x, 3.0), in_batched[0]
    >>> print(covector.vmap(f)(numpy.ones(2)))
    [3. 3.]
    """

    def __init__(self, fun: Callable[..., Any]):
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.vmap_rule: Callable[..., Any] | None = None

    def def_vmap(self, vmap_rule: Callable[..., Any]) -> Callable[..., Any]:
        """Set ``rule(axis_size, in_batched, *args) -> (out, out_batched)``.

        ``in_batched`` and ``out_batched`` have the structure of the arguments and the output, with
        a bool for each array: whether it has the batch axis, as its first.
        """
        self.vmap_rule = vmap_rule
        return vmap_rule

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = function_name(self.fun)
        args = resolve_keywords(self.fun, args, kwargs)
        leaves, in_tree = dispatch_registry.flatten(args)
        out_trees: list[Any] = []

        def run(*values: Any) -> Flat:
            outs, tree = dispatch_registry.flatten(self.fun(*in_tree.unflatten(values)))
            check_outputs(outs, name)
            out_trees.append(tree)
            return outs

        def rule(size: int, batched: Sequence[bool], values: Sequence[Any]) -> tuple[Flat, list]:
            if self.vmap_rule is None:
                raise AttributeError(
                    f"No batching rule defined for custom_vmap function {name} using def_vmap."
                )
            in_batched = list(in_tree.unflatten(batched))
            result = self.vmap_rule(size, in_batched, *in_tree.unflatten(values))
            if not (isinstance(result, (tuple, list)) and len(result) == 2):
                raise TypeError(
                    f"the def_vmap rule of {name} must return a pair (out, out_batched), but it "
                    f"returned {result!r:.100}."
                )
            outs, tree = dispatch_registry.flatten(result[0])
            out_trees.append(tree)
            return outs, _out_batched(name, tree, result[1])

        outs = current_trace_state.value.custom_call(CustomVmap(name, run, rule), leaves)
        return out_trees[0].unflatten(outs)


def _out_batched(name: str, tree: Any, out_batched: Any) -> list[bool]:
    """The rule's bools, one for each output."""
    flags, flags_tree = dispatch_registry.flatten(out_batched)
    if flags_tree != tree:
        raise ValueError(
            f"the def_vmap rule of {name} must return out_batched of the structure of its output, "
            f"{tree}, but it is {flags_tree}."
        )
    return [bool(flag) for flag in flags]


class CustomVmap(CustomFunction):
    """`rule(axis size, which inputs are batched, inputs) -> (outs, which are batched)`, flat."""

    def __init__(self, name: str, run: Callable[..., Flat], rule: Callable[..., Any]):
        super().__init__(name, run)
        self.rule = rule
        self.primitive = custom_vmap_call_p

    def apply(self, axis: BatchAxis, args: Sequence[Any], dims: Sequence[Any]) -> tuple[Flat, list]:
        """Outputs by the rule, and their batch axes."""
        values = [
            x if d is None else move_batch_axis(x, axis.size, d, 0)
            for x, d in zip(args, dims, strict=True)
        ]
        outs, batched = self.rule(axis.size, [d is not None for d in dims], values)
        return outs, [0 if b else None for b in batched]

    def batch(self, trace: Any, args: Sequence[Any]) -> Flat:
        values, dims = trace.split(args)
        if all(d is None for d in dims):
            return trace.parent.custom_call(self, values)
        with use_trace(trace.parent):
            outs, out_dims = self.apply(trace.axis, values, dims)
        return [
            x if d is None else BatchTracer(trace, x, d)
            for x, d in zip(outs, out_dims, strict=True)
        ]

    def jvp(self, trace: Any, args: Sequence[Any]) -> Flat:
        primals, tangents = trace.split(args)
        if all(t is None for t in tangents):
            return trace.parent.custom_call(self, primals)
        with use_trace(trace.parent):
            outs, out_tangents = self.push_forward(primals, tangents)
        return [
            x if t is None else JVPTracer(trace, x, t)
            for x, t in zip(outs, out_tangents, strict=True)
        ]

    def push_forward(self, primals: Flat, tangents: Flat) -> tuple[Flat, Flat]:
        """Outputs and tangents, by a function of both whose batching rule is the rule's jvp."""
        mask = [t is not None for t in tangents]
        has_tangent: list[bool] = []

        def derive(function: Callable[[Flat], Flat], values: Sequence[Any]) -> Flat:
            fixed, given = values[: len(mask)], values[len(mask) :]
            moving = [x for x, m in zip(fixed, mask, strict=True) if m]

            def of_moving(*xs: Any) -> Flat:
                it = iter(xs)
                return function([next(it) if m else x for x, m in zip(fixed, mask, strict=True)])

            outs, out_tangents = jvp(of_moving, moving, list(given))
            has_tangent[:] = [typeof(x).has_tangent for x in outs]
            kept = [t for t, m in zip(out_tangents, has_tangent, strict=True) if m]
            return [*outs, *kept]

        def rule(size: int, batched: Sequence[bool], values: Sequence[Any]) -> tuple[Flat, list]:
            # A primal and its tangent get the batch axis together.
            where = [i for i, m in enumerate(mask) if m]
            either, values = list(batched[: len(mask)]), list(values)
            for j, i in enumerate(where, len(mask)):
                either[i] = batched[i] or batched[j]
                for k in (i, j):
                    if either[i] and not batched[k]:
                        values[k] = move_batch_axis(values[k], size, None, 0)
            out_batched: list[bool] = []

            def function(xs: Flat) -> Flat:
                outs, out_batched[:] = self.rule(size, either, xs)
                return outs

            results = derive(function, values)
            more = [b for b, m in zip(out_batched, has_tangent, strict=True) if m]
            return results, [*out_batched, *more]

        custom = CustomVmap(
            f"jvp_{self.name}", lambda *xs: derive(lambda ys: self.run(*ys), xs), rule
        )
        values = [*primals, *[t for t in tangents if t is not None]]
        results = current_trace_state.value.custom_call(custom, values)
        given = iter(results[len(has_tangent) :])
        return results[: len(has_tangent)], [next(given) if m else None for m in has_tangent]

    def linearize(self, trace: Any, args: Sequence[Any]) -> Flat:
        if any(trace.owns(x) for x in args):
            raise _reverse_mode_error(self.name)
        return trace.parent.custom_call(self, args)


def _reverse_mode_error(name: str) -> ValueError:
    return ValueError(
        f"the custom_vmap function {name} cannot be differentiated in reverse mode: its batching "
        "rule would be lost. Wrap it in a custom_vjp whose rules call it."
    )


def _refuse_linearize(call: Jaxpr, mask: tuple, instantiate: tuple | None) -> Any:
    raise _reverse_mode_error(call.eqns[0].params["custom"].name)


def _refuse_closure(values: Sequence[Any], custom: CustomVmap) -> None:
    if any(x is not None for x in values):
        raise UnexpectedTracerError(
            f"The custom_vmap function {custom.name} closes over a value that is being mapped or "
            "differentiated. Its rule cannot know about it: pass the value as an argument."
        )


def _jvp(
    primals: Flat, tangents: Flat, *, jaxpr: Jaxpr, custom: CustomVmap, num_consts: int
) -> tuple[Flat, Flat]:
    _refuse_closure(tangents[:num_consts], custom)
    return custom.push_forward(primals[num_consts:], tangents[num_consts:])


def _batch(
    axis: BatchAxis, args: Flat, dims: tuple, *, jaxpr: Jaxpr, custom: CustomVmap, num_consts: int
) -> tuple[Flat, list]:
    _refuse_closure(dims[:num_consts], custom)
    return custom.apply(axis, args[num_consts:], dims[num_consts:])


custom_vmap_call_p = Primitive(
    "custom_vmap_call",
    abstract=lambda *avals, jaxpr, custom, num_consts: list(jaxpr.out_avals),
    lower=lambda ctx, args, in_avals, out_avals, *, jaxpr, custom, num_consts: ctx.inline(
        jaxpr, args
    ),
    jvp=_jvp,
    linearize=_refuse_linearize,
    batch=_batch,
    effects=lambda params: params["jaxpr"].effects,
    multiple_results=True,
)


def sequential_vmap(f: Callable[..., Any]) -> custom_vmap:
    """``f``, which is batched by a loop: by `lax.map` over the members of the batch.

    >>> import covector, numpy
    >>> f = covector.custom_batching.sequential_vmap(covector.lax.neg)
    >>> print(covector.vmap(f)(numpy.ones(2)))
    [-1. -1.]
    """
    function = custom_vmap(f)

    @function.def_vmap
    def rule(axis_size: int, in_batched: Sequence[Any], *args: Any) -> tuple[Any, Any]:
        leaves, tree = dispatch_registry.flatten(args)
        mask = dispatch_registry.flatten(tuple(in_batched))[0]

        def member(batched: Sequence[Any]) -> Any:
            given = iter(batched)
            return f(
                *tree.unflatten(
                    [next(given) if m else x for x, m in zip(leaves, mask, strict=True)]
                )
            )

        out = lax.map(member, [x for x, m in zip(leaves, mask, strict=True) if m])
        leaves_out, out_tree = dispatch_registry.flatten(out)
        return out, out_tree.unflatten([True] * len(leaves_out))

    return function

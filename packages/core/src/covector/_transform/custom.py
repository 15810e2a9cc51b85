"""Functions with derivative rules of their own: how each trace runs them.

`custom_jvp` and `custom_vjp` (in `custom_derivatives.py`) flatten a call into a `CustomJVP` or
`CustomVJP`: a function of a flat list of arrays with its rules. `Trace.custom_call` gives it to the
trace, which asks it for the right method. In eager code everything is plain Python, so the function
and its rules may look at values. While staging, the call becomes an equation that keeps the rules
beside the program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from covector._api.float0 import is_float0
from covector._ir.avals import ShapedArray
from covector._ir.jaxpr import Equation, Jaxpr
from covector._trace.primitive import Primitive
from covector._trace.stage import StageTrace, prune_call, stage_rule, staging
from covector._trace.trace import current_trace_state, typeof, use_trace
from covector._transform.batch import BatchAxis, BatchTracer, batch, move_batch_axis
from covector._transform.jvp import JVPTracer
from covector._transform.linearize import (
    CustomTapeEntry,
    Linearized,
    TapeEntry,
    assemble,
    linearize,
)
from covector._tree.registry import dispatch_registry
from covector.lax.call import jit_p, jvp_call

Flat = list[Any]


def _stage(function: Callable[..., Flat], args: Sequence[Any], name: str) -> tuple[Jaxpr, Flat]:
    """The program of ``function`` at the types of ``args``, and what it closes over."""
    trace = StageTrace(name=name)
    with staging(trace):
        outs = function(*[trace.new_input(typeof(x)) for x in args])
        return trace.finish(outs), trace.consts


class CustomFunction:
    """What both kinds share: running, and becoming an equation."""

    primitive: Primitive

    def __init__(self, name: str, run: Callable[..., Flat]):
        self.name = name
        self.run = run  # flat values -> flat outputs
        # Of a vectorized function, known once it has run: the outputs that are the same for all
        # members of the batch, and have no batch axis.
        self.shared: list[bool] | None = None

    def stage(self, trace: StageTrace, args: Sequence[Any]) -> Flat:
        if trace.parent is not None and not any(getattr(x, "trace", None) is trace for x in args):
            return trace.parent.custom_call(self, args)
        jaxpr, consts = _stage(self.run, args, self.name)
        params = {"jaxpr": jaxpr, "custom": self, "num_consts": len(consts)}
        values = [*consts, *args]
        program = self.primitive.jaxpr(tuple([typeof(x) for x in values]), params)
        return trace.call(program, values)

    def vectorized(self, axis: BatchAxis, dims: tuple) -> CustomFunction:
        """The same kind of function on arrays with a batch axis; its outputs have it first."""
        raise NotImplementedError

    def batch(self, trace: Any, args: Sequence[Any]) -> Flat:
        values, dims = trace.split(args)
        if all(d is None for d in dims):
            return trace.parent.custom_call(self, values)
        vectorized = self.vectorized(trace.axis, tuple(dims))
        outs = trace.parent.custom_call(vectorized, values)
        assert vectorized.shared is not None
        pairs = zip(outs, vectorized.shared, strict=True)
        return [x if shared else BatchTracer(trace, x, 0) for x, shared in pairs]

    def conform(self, outs: Flat, shared: list[bool], axis: BatchAxis) -> Flat:
        """Outputs with a batch axis where this vectorized function's have one.

        What is batched though it should not be is equal for all members if the rule is right.
        """
        if self.shared is None:
            self.shared = shared
        return [
            x if has == wanted or x is None else _first(x) if wanted else _for_each(x, axis)
            for x, has, wanted in zip(outs, shared, self.shared, strict=True)
        ]


def _vmap(function: Callable[..., Any], axis: BatchAxis, in_axes: Any, out_axes: Any = 0) -> Any:
    from covector._api.vmap import vmap

    return vmap(function, in_axes, out_axes, axis_name=axis.name, axis_size=axis.size)


def _vmap_flat(
    function: Callable[..., Flat], axis: BatchAxis, in_axes: tuple
) -> Callable[..., tuple[Flat, list[bool]]]:
    """Vectorize a function from flat values to flat ones; say which of these have no batch axis."""

    def vectorized(*args: Any) -> tuple[Flat, list[bool]]:
        common: Flat = []

        def batched_ones(*xs: Any) -> Flat:
            outs = function(*xs)
            trace = current_trace_state.value
            own = [type(x) is BatchTracer and x._trace is trace for x in outs]
            common[:] = [None if m else x for x, m in zip(outs, own, strict=True)]
            return [x for x, m in zip(outs, own, strict=True) if m]

        given = iter(_vmap(batched_ones, axis, in_axes)(*args))
        shared = [x is not None for x in common]
        return [x if s else next(given) for x, s in zip(common, shared, strict=True)], shared

    return vectorized


def _first(x: Any) -> Any:
    """The first member of a batch."""
    from covector.lax.slicing import index_in_dim

    return x[0] if is_float0(x) else index_in_dim(x, 0, 0, False)


def _for_each(x: Any, axis: BatchAxis) -> Any:
    """The same value for each member of a batch."""
    if is_float0(x):
        return np.zeros((axis.size, *x.shape), x.dtype)
    return move_batch_axis(x, axis.size, None, 0)


def _for_first(ct: Any, axis: BatchAxis) -> Any:
    """A cotangent for a batch, of which the first member gets all."""
    from covector import lax

    zero = np.zeros((), typeof(ct).dtype)[()]
    config = [(0, axis.size - 1, 0)] + [(0, 0, 0)] * typeof(ct).ndim
    return lax.pad(lax.expand_dims(ct, (0,)), zero, config)


# --- custom_jvp -----------------------------------------------------------------------------------


class CustomJVP(CustomFunction):
    """`rule(primals, tangents) -> (outs, tangents of outs)`, all flat; a tangent None is zero."""

    def __init__(self, name: str, run: Callable[..., Flat], rule: Callable[..., Any]):
        super().__init__(name, run)
        self.rule = rule
        self.primitive = custom_jvp_call_p

    def vectorized(self, axis: BatchAxis, dims: tuple) -> CustomJVP:
        def run(*xs: Any) -> Flat:
            return new.conform(*_vmap_flat(self.run, axis, dims)(*xs), axis)

        def rule(primals: Flat, tangents: Flat) -> Any:
            out_mask: list[bool] = []

            def present(*values: Any) -> Flat:
                given = _spread(values[len(primals) :], tangents)
                outs, out_tangents = self.rule(list(values[: len(primals)]), given)
                out_mask[:] = [t is not None for t in out_tangents]
                return [*outs, *_present(out_tangents)]

            in_axes = (*dims, *_where(dims, tangents))
            values, shared = _vmap_flat(present, axis, in_axes)(*primals, *_present(tangents))
            count = len(out_mask)
            outs = new.conform(values[:count], shared[:count], axis)
            like = [True if m else None for m in out_mask]
            out_tangents = _spread(values[count:], like)
            shared_tangents = [bool(s) for s in _spread(shared[count:], like)]
            return outs, new.conform(out_tangents, shared_tangents, axis)

        new = CustomJVP(self.name, run, rule)
        return new

    def jvp(self, trace: Any, args: Sequence[Any]) -> Flat:
        primals, tangents = trace.split(args)
        if all(t is None for t in tangents):
            return trace.parent.custom_call(self, primals)
        with use_trace(trace.parent):
            outs, out_tangents = self.rule(primals, tangents)
        return [
            JVPTracer(trace, x, t) if typeof(x).has_tangent and t is not None else x
            for x, t in zip(outs, out_tangents, strict=True)
        ]

    def linearize(self, trace: Any, args: Sequence[Any]) -> Flat:
        """Run the rule on known primals and unknown tangents: what it stages is the linear part."""
        primals = [trace.primal(x) for x in args]
        mine = [x for x in args if trace.owns(x)]
        if not mine:
            return trace.parent.custom_call(self, primals)
        linear = StageTrace(parent=trace.parent, name=self.name)
        with use_trace(linear):
            unknown = iter([linear.new_input(x.aval.tangent) for x in mine])
            tangents = [next(unknown) if trace.owns(x) else None for x in args]
            outs, out_tangents = self.rule(primals, tangents)
            pairs = list(zip(outs, out_tangents, strict=True))
            mask = tuple([typeof(x).has_tangent and t is not None for x, t in pairs])
            program = linear.finish([t for t, m in zip(out_tangents, mask, strict=True) if m])
        residuals = linear.consts
        split = Linearized(program, len(outs), tuple(range(len(residuals))), program, mask)
        nodes = [x.node for x in mine]
        avals = [typeof(x) for x in outs]
        return trace.record(TapeEntry, (split, residuals), nodes, outs, mask, avals)


def _present(values: Sequence[Any]) -> Flat:
    return [v for v in values if v is not None]


def _where(xs: Sequence[Any], values: Sequence[Any]) -> tuple:
    """Those ``xs`` whose value is not None."""
    return tuple([x for x, v in zip(xs, values, strict=True) if v is not None])


def _spread(given: Sequence[Any], like: Sequence[Any]) -> Flat:
    """``given`` in the places in which ``like`` is not None."""
    rest = iter(given)
    return [None if v is None else next(rest) for v in like]


def _jvp_custom_jvp(
    primals: Flat, tangents: Flat, *, jaxpr: Jaxpr, custom: CustomJVP, num_consts: int
) -> Any:
    _refuse_perturbed_consts(tangents[:num_consts], custom)
    outs, out_tangents = custom.rule(primals[num_consts:], tangents[num_consts:])
    return outs, [
        t if typeof(x).has_tangent else None for x, t in zip(outs, out_tangents, strict=True)
    ]


def _refuse_perturbed_consts(tangents: Sequence[Any], custom: CustomFunction) -> None:
    if any(t is not None for t in tangents):
        from covector.errors import UnexpectedTracerError

        raise UnexpectedTracerError(
            f"The function {custom.name} has a derivative rule of its own, and closes over a value "
            "that is being differentiated. The rule cannot know about it: pass the value as an "
            "argument."
        )


def _batch_custom(
    axis: BatchAxis,
    args: Flat,
    dims: tuple,
    *,
    jaxpr: Jaxpr,
    custom: CustomFunction,
    num_consts: int,
) -> tuple[Flat, list[int | None]]:
    found = batch(jaxpr, axis, dims).out_dims
    out_dims = tuple([None if d is None else 0 for d in found])
    vectorized = custom.vectorized(axis, dims[num_consts:])
    vectorized.shared = [d is None for d in found]
    params = {
        "jaxpr": batch(jaxpr, axis, dims, out_dims).jaxpr,
        "custom": vectorized,
        "num_consts": num_consts,
    }
    return custom.primitive.bind(*args, **params), list(out_dims)


def _custom_primitive(name: str, **rules: Any) -> Primitive:
    return Primitive(
        name,
        abstract=lambda *avals, jaxpr, custom, num_consts: list(jaxpr.out_avals),
        lower=lambda ctx, args, in_avals, out_avals, *, jaxpr, custom, num_consts: ctx.inline(
            jaxpr, args
        ),
        batch=_batch_custom,
        effects=lambda params: params["jaxpr"].effects,
        multiple_results=True,
        **rules,
    )


custom_jvp_call_p = _custom_primitive("custom_jvp_call", jvp=_jvp_custom_jvp)


# --- custom_vjp -----------------------------------------------------------------------------------


class CustomVJP(CustomFunction):
    """`forward(args, perturbed) -> (outs, residuals)`; `backward(residuals, cts, avals) -> cts`.

    All are flat. `perturbed` says which arguments are differentiated. `avals` are the types of the
    outputs, whose cotangents `cts` are; a cotangent may be None, for zero, as may the results.
    """

    def __init__(
        self,
        name: str,
        run: Callable[..., Flat],
        forward: Callable[..., tuple[Flat, Any]],
        backward: Callable[[Any, Flat, Sequence[ShapedArray]], Flat],
        optimize_remat: bool = False,
    ):
        super().__init__(name, run)
        self.forward = forward
        self.backward = backward
        self.optimize_remat = optimize_remat
        self.primitive = custom_vjp_call_p

    def vectorized(self, axis: BatchAxis, dims: tuple) -> CustomVJP:
        def run(*xs: Any) -> Flat:
            return new.conform(*_vmap_flat(self.run, axis, dims)(*xs), axis)

        def forward(args: Flat, perturbed: Sequence[bool]) -> tuple[Flat, Any]:
            forms: list[Any] = []

            def flat(*xs: Any) -> Flat:
                outs, residuals = self.forward(list(xs), perturbed)
                leaves, tree = dispatch_registry.flatten(residuals)
                forms[:] = len(outs), tree
                return [*outs, *leaves]

            values, shared = _vmap_flat(flat, axis, dims)(*args)
            count, tree = forms
            kept = zip(values[count:], shared[count:], strict=True)
            residuals = tree.unflatten([_for_each(x, axis) if s else x for x, s in kept])
            return new.conform(values[:count], shared[:count], axis), residuals

        def backward(residuals: Any, cts: Flat, avals: Sequence[ShapedArray]) -> Flat:
            given: list[bool] = []
            shared = new.shared
            assert shared is not None
            rows = [a if s else _row(a) for a, s in zip(avals, shared, strict=True)]
            cts = [
                _for_first(ct, axis) if s and ct is not None else ct
                for ct, s in zip(cts, shared, strict=True)
            ]

            def present(residuals: Any, given_cts: Flat) -> Flat:
                found = self.backward(residuals, _spread(given_cts, cts), rows)
                given[:] = [ct is not None for ct in found]
                return _present(found)

            results = iter(_vmap(present, axis, (0, 0))(residuals, _present(cts)))
            return [
                _unbatch(next(results), d) if g else None for g, d in zip(given, dims, strict=True)
            ]

        new = CustomVJP(self.name, run, forward, backward, self.optimize_remat)
        return new

    def jvp(self, trace: Any, args: Sequence[Any]) -> Flat:
        primals, tangents = trace.split(args)
        if all(t is None for t in tangents):
            return trace.parent.custom_call(self, primals)
        raise forward_mode_error(self.name)

    def linearize(self, trace: Any, args: Sequence[Any]) -> Flat:
        primals = [trace.primal(x) for x in args]
        owned = [trace.owns(x) for x in args]
        if True not in owned:
            return trace.parent.custom_call(self, primals)
        with use_trace(trace.parent):
            outs, residuals = self.forward(primals, owned)
        avals = [typeof(x) for x in outs]
        mask = tuple([a.has_tangent for a in avals])

        def pull_back(cts: Flat) -> Flat:
            given = iter(cts)
            full = [next(given) if m else None for m in mask]
            found = self.backward(residuals, full, avals)
            return [ct for ct, m in zip(found, owned, strict=True) if m]

        nodes = [x.node for x in args if trace.owns(x)]
        return trace.record(CustomTapeEntry, (pull_back,), nodes, outs, mask, avals)


def _row(aval: ShapedArray) -> ShapedArray:
    return aval.update(shape=aval.shape[1:])


def forward_mode_error(name: str) -> TypeError:
    """The error for forward-mode differentiation of a custom_vjp function."""
    return TypeError(
        "can't apply forward-mode differentiation (jvp) to a custom_vjp function: "
        f"{name}. Define a custom_jvp rule instead if both modes are needed."
    )


def _unbatch(ct: Any, dim: int | None) -> Any:
    """A cotangent with its batch axis first, as its argument has it (summed if it has none)."""
    from covector.lax.reduce import reduce_sum
    from covector.lax.shape import move_axis

    if getattr(ct, "dtype", None) is not None and not hasattr(ct, "aval"):
        return ct[0] if dim is None else ct  # float0
    if dim is None:
        return reduce_sum(ct, (0,))
    return ct if dim == 0 else move_axis(ct, 0, dim)


def _linearize_custom_vjp(call: Jaxpr, mask: tuple, instantiate: tuple | None) -> Linearized:
    """Stage the forward rule; the linear part is one equation that only knows its transpose."""
    params = call.eqns[0].params
    custom, num_consts = params["custom"], params["num_consts"]
    _refuse_perturbed_consts([True if m else None for m in mask[:num_consts]], custom)
    trace = StageTrace(embed_constants=True, name=custom.name)
    with staging(trace):
        inputs = [trace.new_input(a) for a in call.in_avals]
        if custom.optimize_remat:
            outs, leaves, tree = _forward_as_one(call, mask, inputs)
        else:
            outs, residuals = custom.forward(inputs[num_consts:], mask[num_consts:])
            leaves, tree = dispatch_registry.flatten(residuals)
        num_forward = len(trace.eqns)
        out_mask = tuple([a.has_tangent for a in call.out_avals])
        tangents = [
            trace.new_input(a.tangent) for a, m in zip(call.in_avals, mask, strict=True) if m
        ]
        out_tangents = custom_vjp_linear_p.bind(
            *leaves,
            *tangents,
            custom=custom,
            tree=tree,
            mask=mask[num_consts:],
            out_avals=tuple(call.out_avals),
        )
        out_atoms = [trace.constant(x) for x in outs]
        tangent_atoms = [t.atom for t in out_tangents]
    num_in = len(inputs)
    return assemble(
        trace.invars[:num_in],
        trace.invars[num_in:],
        trace.eqns[:num_forward],
        trace.eqns[num_forward:],
        out_atoms,
        tangent_atoms,
        out_mask,
    )


def _forward_as_one(call: Jaxpr, mask: tuple, inputs: Flat) -> tuple[Flat, Flat, Any]:
    """The outputs, residuals, and the residuals' tree, by one equation that knows the function."""
    params = call.eqns[0].params
    custom, num_consts = params["custom"], params["num_consts"]
    tree: Any = None

    def forward(*args: Any) -> Flat:
        nonlocal tree
        outs, residuals = custom.forward(list(args[num_consts:]), mask[num_consts:])
        leaves, tree = dispatch_registry.flatten(residuals)
        return [*outs, *leaves]

    program = stage_rule(forward, call.in_avals)
    results = remat_opt_p.bind(*inputs, fun=params["jaxpr"], fwd=program, name=custom.name)
    num_outs = len(call.out_avals)
    return results[:num_outs], results[num_outs:], tree


def _transpose_linear(
    cts: Flat, *args: Any, custom: CustomVJP, tree: Any, mask: tuple, out_avals: tuple
) -> Flat:
    num_residuals = tree.num_leaves
    given = iter(cts)
    full = [next(given) if a.has_tangent else None for a in out_avals]
    found = custom.backward(tree.unflatten(args[:num_residuals]), full, out_avals)
    return [None] * num_residuals + [ct for ct, m in zip(found, mask, strict=True) if m]


def _refuse_forward(*args: Any, custom: CustomVJP, **_: Any) -> Any:
    raise forward_mode_error(custom.name)


def _jvp_custom_vjp(primals: Flat, tangents: Flat, *, custom: CustomVJP, **_: Any) -> Any:
    raise forward_mode_error(custom.name)


custom_vjp_call_p = _custom_primitive(
    "custom_vjp_call", jvp=_jvp_custom_vjp, linearize=_linearize_custom_vjp
)

# The tangent map of a custom_vjp function: it has a transpose, and nothing else.
custom_vjp_linear_p = Primitive(
    "custom_vjp_linear",
    abstract=lambda *avals, custom, tree, mask, out_avals: [
        a.tangent for a in out_avals if a.has_tangent
    ],
    lower=lambda ctx, args, in_avals, out_avals, **params: _refuse_forward(**params),
    transpose=_transpose_linear,
    multiple_results=True,
)


# --- optimize_remat -------------------------------------------------------------------------------


def _prune_remat_opt(eqn: Equation, used: Sequence[bool]) -> Equation:
    """The function itself, if no residual is needed: its forward rule may be one opaque call."""
    fun, name = eqn.params["fun"], eqn.params["name"]
    num_outs = len(fun.out_avals)
    if any(used[num_outs:]):
        return eqn
    outvars = eqn.outvars[:num_outs]
    called = Equation(jit_p, {"jaxpr": fun, "name": name}, eqn.invars, outvars, eqn.source)
    return called if all(used[:num_outs]) else prune_call(called, used[:num_outs])


def _batch_remat_opt(
    axis: BatchAxis, args: Flat, dims: tuple, *, fun: Jaxpr, fwd: Jaxpr, name: str
) -> tuple[Flat, list[int | None]]:
    fun, fwd = [batch(p, axis, dims, (0,) * len(p.out_avals)).jaxpr for p in (fun, fwd)]
    return remat_opt_p.bind(*args, fun=fun, fwd=fwd, name=name), [0] * len(fwd.out_avals)


# The forward rule `fwd` of a function `fun`: outputs, then residuals.
remat_opt_p = Primitive(
    "remat_opt",
    abstract=lambda *avals, fun, fwd, name: list(fwd.out_avals),
    lower=lambda ctx, args, in_avals, out_avals, *, fun, fwd, name: ctx.inline(fwd, args),
    jvp=lambda primals, tangents, *, fun, fwd, name: jvp_call(
        primals, tangents, jaxpr=fwd, name=name
    ),
    linearize=lambda call, mask, instantiate: linearize(
        call.eqns[0].params["fwd"], mask, instantiate
    ),
    batch=_batch_remat_opt,
    prune=_prune_remat_opt,
    effects=lambda params: params["fwd"].effects,
    multiple_results=True,
)

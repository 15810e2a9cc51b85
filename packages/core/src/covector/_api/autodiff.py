"""Differentiation as users call it: `grad`, `vjp`, `jvp`, `linearize`. See `jacobians.py` too."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from covector._api.float0 import is_float0
from covector._api.tracing import argument_avals, function_name
from covector._config import check_tracer_leaks
from covector._ir import dtypes
from covector._ir.avals import ShapedArray, short_dtype_name
from covector._ir.source import hide_frames
from covector._run.client import default_device
from covector._run.transfer import put_on_device
from covector._trace.leaks import without_leaks
from covector._trace.trace import current_trace_state, staging_state, typeof, use_trace
from covector._transform.jvp import JVPTrace, JVPTracer, zeros
from covector._transform.linearize import LinearizeTrace
from covector._tree.registry import dispatch_registry

Argnums = int | Sequence[int]


def grad(
    fun: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[..., Any]:
    """The gradient of a scalar-valued function, by reverse-mode differentiation.

    Args:
      fun: takes arrays (or trees of them) of floating point or complex dtype at ``argnums`` and
        returns a scalar (or ``(scalar, aux)`` with ``has_aux``).
      argnums: which positional argument(s) to differentiate with respect to.
      holomorphic: promise that ``fun`` is holomorphic: complex in, complex out.
      allow_int: let integer arguments through; their gradient has dtype float0.

    Raises `TypeError` if the result is no scalar, or an argument or the result has a wrong dtype.

    >>> import covector
    >>> float(covector.grad(covector.lax.sin)(0.0))
    1.0
    """
    value_and_gradient = value_and_grad(
        fun, argnums, has_aux=has_aux, holomorphic=holomorphic, allow_int=allow_int
    )

    @functools.wraps(fun)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, result = value_and_gradient(*args, **kwargs)
        return (result, value[1]) if has_aux else result

    return gradient


def value_and_grad(
    fun: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[..., Any]:
    """Like `grad`, but gives ``(value, gradient)``.

    >>> import covector
    >>> value, slope = covector.value_and_grad(covector.lax.cos)(0.0)
    >>> float(value), float(slope)
    (1.0, -0.0)
    """
    check_callable(fun, "grad")
    positions = check_argnums(argnums)

    @functools.wraps(fun)
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        try:
            if check_tracer_leaks.value:
                return without_leaks(function_name(fun), evaluate, args, kwargs)
            return evaluate(args, kwargs)
        except Exception as error:
            raise hide_frames(error)  # noqa: B904  the same error, shorter

    def evaluate(args: tuple, kwargs: dict) -> Any:
        differentiated = pick_arguments(args, positions, argnums, fun)
        leaves, tree = dispatch_registry.flatten(differentiated)
        for x in leaves:
            _check_grad_input(x, holomorphic, allow_int)
        trace = LinearizeTrace(current_trace_state.value)
        tracers = [_wrap_input(trace, x) for x in leaves]
        with use_trace(trace):
            out = fun(
                *replace_arguments(args, positions, argnums, tree.unflatten(tracers)), **kwargs
            )
        trace.alive = False
        aux = None
        if has_aux:
            out, aux = _split_aux(out, "grad")
            aux = _primals(aux, trace)
        _check_grad_output(out, holomorphic)
        value = as_array(trace.primal(out))
        cotangents = trace.pull_back([out], [_one(value.aval)])
        gradients = [_finish_cotangent(t, cotangents, x) for t, x in zip(tracers, leaves)]
        result = tree.unflatten(gradients)
        return ((value, aux) if has_aux else value), result

    return value_and_gradient


_ones: dict[Any, Any] = {}


def _one(aval: ShapedArray) -> Any:
    """The cotangent that a gradient starts from: an array made once, or a literal if staging."""
    if staging_state.value:
        return np.ones((), aval.dtype)[()]
    key = (aval, default_device())
    one = _ones.get(key)
    if one is None:
        one = _ones[key] = put_on_device(np.ones((), aval.dtype), key[1], False, aval)
    return one


def check_callable(fun: Any, name: str) -> None:
    """Raise `TypeError` unless the transformation ``name`` was given a function."""
    if not callable(fun):
        raise TypeError(f"{name}: expected a callable first argument, got {fun!r} of {type(fun)}")


def check_argnums(argnums: Argnums) -> tuple[int, ...]:
    """The positions to differentiate at, as a tuple."""
    if isinstance(argnums, (int, np.integer)):
        return (int(argnums),)
    if isinstance(argnums, Sequence) and all(isinstance(i, (int, np.integer)) for i in argnums):
        return tuple([int(i) for i in argnums])
    raise TypeError(
        f"argnums must be an int or a sequence of ints, got {argnums!r} of type {type(argnums)}"
    )


def pick_arguments(args: tuple, positions: tuple[int, ...], argnums: Argnums, fun: Any) -> Any:
    """The argument at ``argnums``, or a tuple of them."""
    for i in positions:
        if not -len(args) <= i < len(args):
            raise TypeError(
                f"differentiating with respect to argnums={argnums} requires at least "
                f"{i + 1 if i >= 0 else -i} positional arguments to be passed by the caller of "
                f"{function_name(fun)}, but got only {len(args)} positional arguments."
            )
    if isinstance(argnums, (int, np.integer)):
        return args[positions[0]]
    return tuple([args[i] for i in positions])


def replace_arguments(
    args: tuple, positions: tuple[int, ...], argnums: Argnums, new: Any
) -> list[Any]:
    replaced = list(args)
    values = (new,) if isinstance(argnums, (int, np.integer)) else new
    for i, x in zip(positions, values, strict=True):
        replaced[i] = x
    return replaced


def _check_grad_input(x: Any, holomorphic: bool, allow_int: bool) -> None:
    dtype = typeof(x).dtype
    if holomorphic and not dtypes.is_complex(dtype):
        raise TypeError(
            f"grad with holomorphic=True requires inputs with complex dtype, but got {dtype.name}."
        )
    if not (dtypes.is_float(dtype) or dtypes.is_complex(dtype)) and not allow_int:
        raise TypeError(
            f"grad requires real- or complex-valued inputs (input dtype that is a sub-dtype of "
            f"np.inexact), but got {dtype.name}. If you want to use Boolean- or integer-valued "
            "inputs, use vjp or set allow_int to True."
        )


def _check_grad_output(out: Any, holomorphic: bool) -> None:
    leaves, tree = dispatch_registry.flatten(out)
    if len(leaves) != 1 or tree != dispatch_registry.flatten(0)[1]:
        raise TypeError(
            f"Gradient only defined for scalar-output functions. Output was: {_describe(out)}. "
            "(Return one scalar; with has_aux=True further results go into a second value.)"
        )
    try:
        aval = typeof(out)
    except TypeError:
        raise TypeError(
            f"Gradient only defined for scalar-output functions. Output was: {_describe(out)}."
        ) from None
    if aval.shape != ():
        raise TypeError(
            f"Gradient only defined for scalar-output functions. Output had shape: {aval.shape}. "
            "Sum it up, or use covector.jacrev for all its elements."
        )
    if holomorphic:
        if not dtypes.is_complex(aval.dtype):
            raise TypeError(
                "grad with holomorphic=True requires outputs with complex dtype, but got "
                f"{aval.dtype.name}."
            )
    elif not dtypes.is_float(aval.dtype):
        remedy = (
            " For holomorphic differentiation, pass holomorphic=True. For differentiation of "
            "non-holomorphic functions involving complex outputs, use covector.vjp directly."
            if dtypes.is_complex(aval.dtype)
            else " For differentiation of functions with integer outputs, use covector.vjp."
        )
        raise TypeError(
            f"grad requires real-valued outputs (output dtype that is a sub-dtype of np.floating), "
            f"but got {aval.dtype.name}.{remedy}"
        )


def _describe(x: Any) -> str:
    text = repr(x)
    return text if len(text) < 100 else text[:97] + "..."


def _split_aux(out: Any, name: str) -> tuple[Any, Any]:
    if not (isinstance(out, (tuple, list)) and len(out) == 2):
        raise TypeError(
            f"{name} with has_aux=True: the function must return a pair (output, aux), but it "
            f"returned {_describe(out)}"
        )
    return out[0], out[1]


def _wrap_input(trace: LinearizeTrace, x: Any) -> Any:
    """A tracer where there is something to differentiate; integers go in as they are."""
    return trace.wrap(x) if typeof(x).has_tangent else x


def as_array(x: Any) -> Any:
    """``x`` as an array or tracer (a Python or NumPy number becomes an array)."""
    if hasattr(x, "aval") or is_float0(x):
        return x
    from covector.lax.convert import convert_type

    aval = typeof(x)
    return convert_type(x, aval.dtype, weak_type=aval.weak_type)


def _finish_cotangent(tracer: Any, cotangents: dict[int, Any], primal: Any) -> Any:
    ct = cotangents.get(tracer.node) if hasattr(tracer, "node") else None
    return zeros(typeof(primal).tangent) if ct is None else as_array(ct)


def _primals(tree: Any, trace: LinearizeTrace) -> Any:
    leaves, treedef = dispatch_registry.flatten(tree)
    return treedef.unflatten([trace.primal(x) for x in leaves])


# --- vjp and linearize ----------------------------------------------------------------------------


class _Linearization:
    """A function run once under a tape: its outputs, and walks of the tape in both directions."""

    def __init__(self, fun: Callable[..., Any], primals: tuple, has_aux: bool, name: str):
        check_callable(fun, name)
        self.name = function_name(fun)
        self.leaves, self.in_tree = dispatch_registry.flatten(primals)
        self.in_avals = argument_avals(
            self.leaves, dispatch_registry.flatten((primals, {}))[1], self.name
        )
        self.trace = LinearizeTrace(current_trace_state.value)
        self.tracers = [_wrap_input(self.trace, x) for x in self.leaves]
        with use_trace(self.trace):
            out = fun(*self.in_tree.unflatten(self.tracers))
        self.trace.alive = False
        self.aux = None
        if has_aux:
            out, aux = _split_aux(out, name)
            self.aux = _primals(aux, self.trace)
        self.outs, self.out_tree = dispatch_registry.flatten(out)
        self.out_avals = [typeof(x) for x in self.outs]
        self.value = self.out_tree.unflatten([as_array(self.trace.primal(x)) for x in self.outs])

    def pull_back(self, ct: Any) -> Any:
        cts, tree = dispatch_registry.flatten(ct)
        _check_tree("vjp function", tree, self.out_tree, "cotangent", "output")
        for x, aval in zip(cts, self.out_avals, strict=True):
            _check_tangent("vjp function", "cotangent", x, aval)
        cts = [x if a.has_tangent else None for x, a in zip(cts, self.out_avals, strict=True)]
        sums = self.trace.pull_back(self.outs, cts)
        results = [
            _finish_cotangent(t, sums, x) for t, x in zip(self.tracers, self.leaves, strict=True)
        ]
        return self.in_tree.unflatten(results)

    def push_forward(self, *tangents: Any) -> Any:
        given, tree = dispatch_registry.flatten(tangents)
        _check_tree("linearized function", tree, self.in_tree, "tangent", "primal")
        for x, aval in zip(given, self.in_avals, strict=True):
            _check_tangent("linearized function", "tangent", x, aval)
        mine = [x for x, t in zip(given, self.tracers, strict=True) if self.trace.owns(t)]
        outs = self.trace.push_forward(self.tracers, mine, self.outs)
        return self.out_tree.unflatten(
            [
                zeros(a.tangent) if t is None else as_array(t)
                for t, a in zip(outs, self.out_avals, strict=True)
            ]
        )


def vjp(
    fun: Callable[..., Any],
    *primals: Any,
    has_aux: bool = False,
    reduce_axes: Sequence[Any] = (),
    saveable_args: bool = True,
    in_nzs: Any = None,
) -> Any:
    """``fun``'s value at ``primals``, and the function from cotangents of the output to inputs'.

    Returns ``(value, vjp_function)``, or ``(value, vjp_function, aux)`` with ``has_aux``.
    ``vjp_function(ct)`` takes one value of the output's structure and gives a tuple, a cotangent
    for each of ``primals``.

    >>> import covector
    >>> value, pull_back = covector.vjp(covector.lax.mul, 2.0, 3.0)
    >>> [float(ct) for ct in pull_back(1.0)]
    [3.0, 2.0]
    """
    run = _Linearization(fun, primals, has_aux, "vjp")
    return (run.value, run.pull_back, run.aux) if has_aux else (run.value, run.pull_back)


def linearize(
    fun: Callable[..., Any], *primals: Any, has_aux: bool = False, in_nzs: Any = None
) -> Any:
    """``fun``'s value at ``primals``, and the linear function of tangents there.

    Like `jvp`, but the work that depends on ``primals`` alone is done once.

    >>> import covector
    >>> value, push_forward = covector.linearize(covector.lax.sin, 0.0)
    >>> float(push_forward(2.0))
    2.0
    """
    run = _Linearization(fun, primals, has_aux, "linearize")
    return (run.value, run.push_forward, run.aux) if has_aux else (run.value, run.push_forward)


def _check_tree(name: str, got: Any, expected: Any, what: str, like: str) -> None:
    if got != expected:
        raise TypeError(
            f"{name}: the {what}'s tree must match the {like}'s. The {what} has structure {got}, "
            f"but the {like} has {expected}."
        )


def _shape_and_dtype(x: Any) -> tuple[tuple[int, ...], Any]:
    """Of a tangent, which may be of dtype float0 and so have no abstract value."""
    if getattr(x, "dtype", None) == dtypes.float0:
        return x.shape, dtypes.float0
    aval = typeof(x)
    return aval.shape, aval.dtype


def _check_tangent(name: str, what: str, x: Any, aval: ShapedArray) -> None:
    expected = aval.tangent
    shape, dtype = _shape_and_dtype(x)
    if shape != expected.shape or dtype != expected.dtype:
        raise (TypeError if dtype != expected.dtype else ValueError)(
            f"{name}: a {what} must have the shape of its value and the tangent dtype of its "
            f"value's dtype: expected {expected.str_short()}, got "
            f"{ShapedArray(shape, dtype).str_short()}."
        )


# --- forward mode ---------------------------------------------------------------------------------


def jvp(
    fun: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: bool = False,
) -> Any:
    """``fun`` at ``primals``, and its derivative in the direction ``tangents``.

    Returns ``(value, tangent)``, or ``(value, tangent, aux)`` with ``has_aux``.

    >>> import covector
    >>> value, slope = covector.jvp(covector.lax.sin, (0.0,), (2.0,))
    >>> float(value), float(slope)
    (0.0, 2.0)
    """
    check_callable(fun, "jvp")
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError(
            "jvp: primals and tangents must be tuples or lists, one entry for each argument of "
            f"{function_name(fun)}; got {type(primals)} and {type(tangents)}."
        )
    leaves, tree = dispatch_registry.flatten(tuple(primals))
    given, tangent_tree = dispatch_registry.flatten(tuple(tangents))
    if tangent_tree != tree:
        from covector._api.extended import with_float0

        given, tangent_tree = dispatch_registry.flatten(with_float0(tuple(tangents), primals))
    _check_tree("jvp", tangent_tree, tree, "tangent", "primal")
    trace = JVPTrace(current_trace_state.value)
    tracers = []
    for x, t in zip(leaves, given, strict=True):
        aval = typeof(x)
        _check_jvp_tangent(fun, t, aval)
        tracers.append(JVPTracer(trace, x, t) if aval.has_tangent else x)
    with use_trace(trace):
        out = fun(*tree.unflatten(tracers))
    trace.alive = False
    aux = None
    if has_aux:
        out, aux = _split_aux(out, "jvp")
        aux_leaves, aux_tree = dispatch_registry.flatten(aux)
        aux = aux_tree.unflatten(trace.split(aux_leaves)[0])
    outs, out_tree = dispatch_registry.flatten(out)
    values, out_tangents = trace.split(outs)
    value = out_tree.unflatten([as_array(x) for x in values])
    tangent = out_tree.unflatten(
        [
            zeros(typeof(x).tangent) if t is None else as_array(t)
            for x, t in zip(values, out_tangents, strict=True)
        ]
    )
    return (value, tangent, aux) if has_aux else (value, tangent)


def _check_jvp_tangent(fun: Any, t: Any, aval: ShapedArray) -> None:
    shape, dtype = _shape_and_dtype(t)
    expected = aval.tangent
    if dtype != expected.dtype:
        wanted, got_name = [short_dtype_name(d) for d in (expected.dtype, dtype)]
        raise TypeError(
            "primal and tangent arguments to jvp do not match; dtypes must be equal, or in case of "
            f"int/bool primal dtype the tangent dtype must be float0. Got primal dtype "
            f"{aval.dtype.name} and so expected tangent dtype {wanted}, but got tangent dtype "
            f"{got_name} instead."
        )
    if shape != aval.shape:
        raise ValueError(
            "jvp called with different primal and tangent shapes; got primal shape "
            f"{aval.shape} and tangent shape {shape}"
        )


__all__ = ["grad", "jvp", "linearize", "value_and_grad", "vjp"]

"""Running programs eagerly: each jaxpr has one `PjitFunction`, whose hits never see Python."""

from __future__ import annotations

import functools
import weakref
from collections import namedtuple
from collections.abc import Callable, Sequence
from typing import Any

import jaxlib._jax as _jaxlib
import numpy as np

import covector._run.array
import covector._trace.concrete  # noqa: F401  and what a tracer says when asked for its value
from covector._config import (
    debug_infs,
    debug_key_reuse,
    debug_nans,
    enable_x64_state,
    no_execution,
)
from covector._ir.jaxpr import Jaxpr
from covector._run.compile import Execution, execution_of
from covector._run.placement import Placement, placement_of
from covector._run.transfer import put_on_sharding
from covector._trace.trace import EVAL, Tracer, escaped_tracer_error, not_an_array, typeof
from covector._tree.registry import dispatch_registry

ArrayImpl = _jaxlib.ArrayImpl

# Read by jaxlib, by these names.
FastPath = namedtuple(
    "FastPath",
    "xla_executable out_pytree_def in_shardings out_shardings out_avals out_committed "
    "kept_var_bitvec in_device_local_layouts const_args",
)


def fast_path(
    execution: Execution,
    out_tree: Any,
    placement: Placement,
    consts: Sequence[Any],
    args: Sequence[Any],
) -> FastPath | None:
    """What lets C++ run the next call of this signature alone; None keeps it in Python."""
    if debug_nans.value or debug_infs.value or debug_key_reuse.value or placement.moves:
        return None  # C++ compares the number of an array's devices only
    # Host integers may be 64-bit ones that do not fit 32 bits: C++ would cut them silently.
    if not enable_x64_state.value and any(
        isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "iu" and x.dtype.itemsize >= 4
        for x in args
    ):
        return None
    num_in, num_out = len(execution.in_shardings), len(execution.jaxpr.out_avals)
    return FastPath(
        execution.executable,
        out_tree,
        execution.in_shardings,
        execution.out_shardings,
        list(execution.jaxpr.out_avals),
        [placement.committed] * num_out,
        list(execution.kept),
        [None] * num_in,
        list(consts),
    )


def check_concrete(args: Sequence[Any]) -> None:
    """Raise the right error for what cannot be executed on: escaped tracers, odd objects."""
    for x in args:
        if isinstance(x, Tracer):
            raise escaped_tracer_error(x)
        if not isinstance(x, ArrayImpl):
            typeof(x)
            if hasattr(x, "aval"):  # it has a type, but is no value (a SymbolicZero)
                raise not_an_array(x)
        elif x.is_deleted():
            raise RuntimeError(
                f"Array of type {x.aval.str_short()} has been deleted or donated. A buffer given "
                "to a jitted function with donate_argnums cannot be used again: use the function's "
                "result, or do not donate it."
            )


def execute(
    jaxpr: Jaxpr,
    args: Sequence[Any],
    *,
    name: str,
    donated: tuple[bool, ...] | None = None,
    keep_unused: bool = False,
    compiler_options: tuple[tuple[str, Any], ...] = (),
    device: Any = None,
) -> tuple[list[Any], Execution, Placement]:
    """Compile (or find) and run a program on concrete arguments."""
    if no_execution.value:
        raise RuntimeError(f"Tried to execute {name}, but the flag no_execution is set.")
    check_concrete(args)
    placement = placement_of(args, device, jaxpr.effects)
    execution = execution_of(
        jaxpr,
        placement,
        name=name,
        donated=donated,
        keep_unused=keep_unused,
        compiler_options=compiler_options,
    )
    if debug_key_reuse.value:
        from covector._transform.key_reuse import at_execution

        tell_outputs = at_execution(jaxpr, args)
        outs = execution.run(args, placement.committed)
        tell_outputs(outs)
    else:
        outs = execution.run(args, placement.committed)
    if debug_nans.value or debug_infs.value:
        _check_finite(outs, name)
    return outs, execution, placement


def _check_finite(outs: Sequence[Any], name: str) -> None:
    for x in outs:
        if x.dtype.kind in "fc" or x.dtype.name.startswith(("bfloat", "float")):
            value = np.asarray(x).astype(np.complex128 if x.dtype.kind == "c" else np.float64)
            if debug_nans.value and np.isnan(value).any():
                raise FloatingPointError(f"invalid value (nan) encountered in {name}")
            if debug_infs.value and np.isinf(value).any():
                raise FloatingPointError(f"invalid value (inf) encountered in {name}")


def executable_of(jaxpr: Jaxpr) -> Any:
    """The callable that runs ``jaxpr`` on concrete arguments and gives a list."""
    if any(eqn.primitive.evaluate is not None for eqn in jaxpr.eqns):
        jaxpr._executable = functools.partial(_run_equations, jaxpr)
        return jaxpr._executable
    name = jaxpr.eqns[0].primitive.name if len(jaxpr.eqns) == 1 else "program"
    out_tree = dispatch_registry.flatten([0] * len(jaxpr.out_avals))[1]

    def cache_miss(*args: Any) -> tuple[Any, Any, bool]:
        outs, execution, placement = execute(jaxpr, args, name=name)
        return outs, fast_path(execution, out_tree, placement, (), args), False

    function = _jaxlib.pjit(
        name, None, cache_miss, [], [], ("jaxpr",), dispatch_registry, put_fallback
    )
    jaxpr._executable = function
    return function


def _run_equations(jaxpr: Jaxpr, *args: Any) -> list[Any]:
    """Run a program one equation after the other: one of them is no compiled program's."""
    from covector._transform.jvp import is_whole, run_equations

    eqn = jaxpr.eqns[0]
    evaluate = eqn.primitive.evaluate
    if evaluate is not None and len(jaxpr.eqns) == 1 and is_whole(jaxpr):
        return [evaluate(*args, **eqn.params)]
    return run_equations(jaxpr, args, EVAL)


def weakly_referable(fun: Callable[..., Any]) -> Callable[..., Any]:
    """``fun``, or a function that calls it if it cannot be referred to weakly.

    jaxlib's shared cache of calls holds its functions weakly, and crashes on one that it cannot.
    """
    try:
        weakref.ref(fun)
    except TypeError:
        return lambda *args, **kwargs: fun(*args, **kwargs)
    return fun


def put_fallback(x: Any, sharding: Any, layout: Any) -> Any:
    """Called by C++ for arguments that it cannot place by itself."""
    return put_on_sharding(x, typeof(x), sharding)

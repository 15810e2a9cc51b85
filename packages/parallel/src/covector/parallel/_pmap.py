"""`pmap`: run a function on several devices at once, each on its own part of the arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import jaxlib._jax as _jaxlib
from covector._api.static_arguments import dynamic_arguments, of_dynamic_arguments
from covector._api.tracing import (
    argument_avals,
    argument_name,
    flatten_abstract,
    function_name,
    named_axes,
    stage_function,
)
from covector._api.vmap import check_axes, vmap
from covector._config import disable_jit, trace_context
from covector._ir.jaxpr import ClosedJaxpr, Jaxpr
from covector._ir.source import hide_frames
from covector._run.client import local_devices
from covector._run.dispatch import execute, fast_path, put_fallback, weakly_referable
from covector._run.transfer import put_on_sharding
from covector._trace.caches import MemosByFunction
from covector._trace.trace import Tracer, current_trace_state, staging_state, typeof
from covector._transform.batch import NamedAxis
from covector._tree.prefix import flatten_axes
from covector._tree.registry import dispatch_registry, hidden_axes
from covector.parallel._pmap_rules import drop_axis, map_program

_fast_calls = _jaxlib.PjitFunctionCache(4096)
_staged_by_function = MemosByFunction()


def pmap(
    fun: Callable[..., Any],
    axis_name: Hashable | None = None,
    *,
    in_axes: Any = 0,
    out_axes: Any = 0,
    static_broadcasted_argnums: int | Iterable[int] = (),
    devices: Sequence[Any] | None = None,
    backend: str | None = None,
    axis_size: int | None = None,
    donate_argnums: int | Iterable[int] = (),
) -> Callable[..., Any]:
    """Run ``fun`` on several devices at once, each on its own part of the arguments.

    Like `vmap`, with each index of the mapped axis on a device of its own. Results stay spread over
    the devices. Maps nest: one over n inside one over m runs on m x n devices.

    Args:
      axis_name: a name by which collectives inside (`lax.psum`, ...) refer to the axis.
      in_axes: for each positional argument, the axis to map over, or None to give it whole to every
        device: an int, or a tuple with an entry (int, None or a tree of them) for each argument.
        Keyword arguments are mapped over axis 0.
      out_axes: where the mapped axis goes in the results. With None, one device's value is taken.
      static_broadcasted_argnums: positional arguments that are compile-time constants (hashable).
      devices: which to use; by default those where the arguments are, or the first ones.
      backend: the platform whose devices to use.
      axis_size: the size of the mapped axis, if it should be checked.
      donate_argnums: positional arguments whose buffers the results may take over.

    Raises:
      ValueError: there are too few devices, sizes of mapped axes differ, nothing is mapped, an axis
        is out of range, or ``in_axes`` does not match the arguments' structure.
      TypeError: ``in_axes`` or ``out_axes`` is of a wrong type.

    >>> total = covector.pmap(lambda x: lax.psum(x, "i"), axis_name="i")
    >>> total(np.ones((1, 3)))
    Array([[1., 1., 1.]], dtype=float32)
    """
    if not callable(fun):
        raise TypeError(f"pmap expects a callable first argument, got {fun!r} of type {type(fun)}")
    check_axes("pmap in_axes", in_axes)
    check_axes("pmap out_axes", out_axes)
    state = _Pmap(
        fun,
        axis_name,
        tuple(in_axes) if isinstance(in_axes, list) else in_axes,
        out_axes,
        _positions(static_broadcasted_argnums),
        _devices(devices, backend),
        axis_size,
        _positions(donate_argnums),
    )
    wrapped = _jaxlib.pjit(
        state.name,
        weakly_referable(fun),
        state.miss,
        list(state.static),
        [],
        state.options,
        dispatch_registry,
        put_fallback,
        _fast_calls,
    )
    functools.update_wrapper(wrapped, fun)
    wrapped.trace, wrapped.lower, wrapped.eval_shape = state.trace, state.lower, state.eval_shape
    return wrapped


class _Staged(NamedTuple):
    """What a call's signature is traced to: the mapped program, the values closed over, ..."""

    program: Jaxpr
    consts: list[Any]
    out_tree: Any


class _Pmap:
    """What a mapped function knows besides its C++ part."""

    def __init__(
        self,
        fun: Callable[..., Any],
        axis_name: Any,
        in_axes: Any,
        out_axes: Any,
        static: tuple[int, ...],
        devices: tuple[Any, ...] | None,
        axis_size: int | None,
        donate: tuple[int, ...],
    ):
        self.fun = fun
        self.name = function_name(fun)
        self.axis_name = axis_name
        self.in_axes = in_axes
        self.out_axes = out_axes
        self.static = static
        self.devices = devices
        self.axis_size = axis_size
        self.donate = donate
        self.options = (
            axis_name,
            _hashable(in_axes),
            _hashable(out_axes),
            static,
            devices,
            axis_size,
            donate,
        )
        self.staged = _staged_by_function.of(fun)

    # -- calls -------------------------------------------------------------------------------------

    def miss(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, bool]:
        """Called by C++ when it cannot make the call alone."""
        try:
            return self._miss(args, kwargs)
        except Exception as error:
            raise hide_frames(error)  # noqa: B904  the same error, shorter

    def _miss(self, args: tuple, kwargs: dict) -> tuple[Any, Any, bool]:
        if disable_jit.value:
            return self._one_by_one(args, kwargs), None, True
        staged, leaves = self.stage(args, kwargs)
        values = [*staged.consts, *leaves]
        program = staged.program
        if (
            staging_state.value
            or any(isinstance(x, Tracer) for x in values)
            or any(type(e) is NamedAxis for e in program.effects)
        ):
            outs = current_trace_state.value.call(program, values)
            return staged.out_tree.unflatten(outs), None, True
        donated = self._donated(args, kwargs, len(staged.consts)) if self.donate else None
        outs, execution, placement = execute(
            program, values, name=f"pmap_{self.name}", donated=donated
        )
        consts = self._placed(staged.consts, execution)
        fast = fast_path(execution, staged.out_tree, placement, consts, leaves)
        return staged.out_tree.unflatten(outs), fast, False

    def _one_by_one(self, args: tuple, kwargs: dict) -> Any:
        """The call where `jit` is disabled: operation by operation, vectorized."""
        fun, _, args, in_axes = self._split(args)
        return vmap(fun, in_axes, self.out_axes, self.axis_name)(*args, **kwargs)

    def _placed(self, consts: Sequence[Any], execution: Any) -> list[Any]:
        """The values closed over, where the program wants them: so no call moves them again."""
        shardings = iter(execution.in_shardings)
        return [
            put_on_sharding(x, typeof(x), next(shardings)) if kept else x
            for x, kept in zip(consts, execution.kept)
        ]

    def stage(self, args: tuple, kwargs: dict) -> tuple[_Staged, list[Any]]:
        """The program for a call's signature, and the call's dynamic leaves."""
        fun, static_key, args, in_axes = self._split(args)
        leaves, tree = dispatch_registry.flatten((args, kwargs))
        avals = argument_avals(leaves, tree, self.name)
        return self._stage(fun, static_key, args, tree, avals, in_axes), leaves

    def _stage(
        self, fun: Any, static_key: Any, args: tuple, tree: Any, avals: Sequence[Any], in_axes: Any
    ) -> _Staged:
        key = (static_key, tree, tuple(avals), self.options, trace_context())
        staged = self.staged.get(key)
        if staged is None:
            dims = flatten_axes("pmap in_axes", tree.children()[0], in_axes)
            dims += [0] * (len(avals) - len(dims))  # keyword arguments
            staged = self._trace(fun, tree, avals, dims)
            if not any(isinstance(x, Tracer) for x in staged.consts):
                staged = self.staged.store(key, staged)
        return staged

    def _trace(self, fun: Any, tree: Any, avals: Sequence[Any], dims: list) -> _Staged:
        dims, size = self._mapped_size(tree, avals, dims)
        body_avals = [drop_axis(a, d) for a, d in zip(avals, dims, strict=True)]
        scope = [] if self.axis_name is None else [(self.axis_name, size)]
        with named_axes(scope):
            body = stage_function(fun, tree, body_avals, name=self.name)
        outs = flatten_axes("pmap out_axes", body.out_tree, self.out_axes)
        hidden = hidden_axes(body.out_tree)
        program = map_program(
            body.jaxpr,
            (*[None] * len(body.consts), *dims),
            out_axes=[
                self._out_axis(d, a, a.ndim - h)
                for d, a, h in zip(outs, body.jaxpr.out_avals, hidden, strict=True)
            ],
            name=self.name,
            axis_name=self.axis_name,
            axis_size=size,
            devices=self.devices,
        )
        return _Staged(program, body.consts, body.out_tree)

    # -- arguments ---------------------------------------------------------------------------------

    def _split(self, args: tuple) -> tuple[Any, Any, tuple, Any]:
        """Set static arguments aside: the function of the dynamic ones, and the statics' key."""
        if not self.static:
            return self.fun, None, args, self.in_axes
        count = len(args)
        if any(not -count <= i < count for i in self.static):
            raise ValueError(
                f"pmapped function {self.name} has static_broadcasted_argnums={self.static} but "
                f"was called with only {count} positional arguments. All static broadcasted "
                "arguments must be passed positionally."
            )
        static = {i % count for i in self.static}
        in_axes = self.in_axes
        if isinstance(in_axes, tuple):
            in_axes = dynamic_arguments(in_axes, static)
        fun = of_dynamic_arguments(self.fun, args, static)
        key = tuple([(i, type(args[i]), args[i]) for i in sorted(static)])
        return fun, key, dynamic_arguments(args, static), in_axes

    def _mapped_size(
        self, tree: Any, avals: Sequence[Any], dims: Sequence[int | None]
    ) -> tuple[list[int | None], int]:
        """Non-negative axes, and their common size."""
        result: list[int | None] = []
        sizes: dict[int, str] = {}
        for i, (aval, d, hidden) in enumerate(zip(avals, dims, hidden_axes(tree), strict=True)):
            if d is not None:
                where = f"{self._argument(tree, i)} of type {aval.str_short()}"
                ndim = aval.ndim - hidden
                if not -ndim <= d < ndim:
                    raise ValueError(
                        f"pmap of {self.name} was requested to map its argument along axis {d}, "
                        f"which does not exist: {where}."
                    )
                d %= ndim
                sizes.setdefault(aval.shape[d], f"{where}, axis {d}")
            result.append(d)
        if not sizes:
            raise ValueError(
                f"pmap of {self.name} requires at least one argument with a mapped axis, but "
                "in_axes maps none."
            )
        if len(sizes) > 1:
            found = "; ".join([f"size {n}: {where}" for n, where in sizes.items()])
            raise ValueError(
                f"pmap of {self.name} got inconsistent sizes for array axes to be mapped: {found}."
            )
        return result, self._checked_size(next(iter(sizes)))

    def _checked_size(self, size: int) -> int:
        if self.axis_size is not None and self.axis_size != size:
            raise ValueError(
                f"pmap of {self.name}: specified axis_size {self.axis_size} doesn't match received "
                f"axis_size {size}."
            )
        if not size:
            raise ValueError(f"pmap of {self.name} cannot map over an axis of size 0.")
        return size

    def _argument(self, tree: Any, position: int) -> str:
        paths = dispatch_registry.flatten_with_path(tree.unflatten([0] * tree.num_leaves))[0]
        return argument_name(paths[position][0])

    def _out_axis(self, axis: int | None, aval: Any, ndim: int) -> int | None:
        if axis is None:
            return None
        if not -ndim - 1 <= axis <= ndim:
            raise ValueError(
                f"pmap of {self.name}: out_axes has an axis {axis} out of range for a result of "
                f"type {aval.str_short()}."
            )
        return axis % (ndim + 1)

    def _donated(self, args: tuple, kwargs: dict, num_consts: int) -> tuple[bool, ...]:
        """For each input of the program, whether its buffer may be reused."""
        count = len(args)
        donated = {i % count for i in self.donate if -count <= i < count}
        static = {i % count for i in self.static}
        mask = [False] * num_consts
        for i, x in enumerate(args):
            if i not in static:
                mask += [i in donated] * len(dispatch_registry.flatten(x)[0])
        return tuple(mask + [False] * len(dispatch_registry.flatten(kwargs)[0]))

    # -- ahead of time -----------------------------------------------------------------------------

    def trace(self, *args: Any, **kwargs: Any) -> Any:
        """Trace for arguments (values or `ShapeDtypeStruct`s) without compiling."""
        from covector.stages import Traced

        donated = self._donated(args, kwargs, 0)
        fun, static_key, args, in_axes = self._split(args)
        avals, tree = flatten_abstract(args, kwargs)
        staged = self._stage(fun, static_key, args, tree, avals, in_axes)
        closed = ClosedJaxpr(staged.program, staged.consts)
        return Traced(closed, tree, staged.out_tree, self.name, donated, ())

    def lower(self, *args: Any, **kwargs: Any) -> Any:
        """Trace and lower for arguments; `.compile()` goes on from there."""
        return self.trace(*args, **kwargs).lower()

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """The result's shapes and dtypes, without computing it."""
        return self.trace(*args, **kwargs).out_info


# --- checks of what `pmap` is given ---------------------------------------------------------------


def _hashable(axes: Any) -> Any:
    leaves, tree = dispatch_registry.flatten(axes, lambda x: x is None)
    return tuple(leaves), tree


def _positions(argnums: int | Iterable[int]) -> tuple[int, ...]:
    return (argnums,) if isinstance(argnums, int) else tuple([int(i) for i in argnums])


def _devices(devices: Sequence[Any] | None, backend: str | None) -> tuple[Any, ...] | None:
    if devices is None:
        return None if backend is None else tuple(local_devices(backend=backend))
    if not len(devices):
        raise ValueError("pmap: 'devices' must not be empty; leave it out for the default ones.")
    return tuple(devices)

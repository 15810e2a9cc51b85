"""`jit`: trace a function once per signature, compile it, and let C++ make the calls.

A jitted function is a jaxlib `PjitFunction`. On a hit, C++ does everything. On a miss (a new
signature, or a tracer among the arguments) it calls `_Jit.miss`, which finds the staged program and
either executes it, or hands it to the current trace. `library_function` is the same for Covector's
own functions: their programs are spliced into what is being traced instead of called.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ParamSpec, TypeVar, overload

import jaxlib._jax as _jaxlib

from covector._api.float0 import hide_float0
from covector._api.static_arguments import dynamic_arguments, of_dynamic_arguments
from covector._api.tracing import (
    Staged,
    argument_avals,
    eval_shape,
    flatten_abstract,
    function_name,
    make_jaxpr,
    stage_function,
)
from covector._config import disable_jit, explain_cache_misses, no_tracing, trace_context
from covector._ir.jaxpr import ClosedJaxpr
from covector._ir.source import hide_frames
from covector._run.dispatch import execute, fast_path, put_fallback, weakly_referable
from covector._trace.caches import Memo, MemosByFunction, on_clear
from covector._trace.primitive import is_hashable
from covector._trace.trace import Tracer, current_trace_state, staging_state, typeof
from covector._transform.batch import NamedAxis
from covector._tree.registry import dispatch_registry
from covector.lax.call import call_program

_LEAF = dispatch_registry.flatten(0)[1]

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])

_fast_calls = _jaxlib.PjitFunctionCache(8192)
_staged_by_function = MemosByFunction()


@on_clear
def _clear_fast_calls() -> None:
    _jaxlib.PjitFunctionCache.clear_all()


class Statics:
    """Which arguments are static, or donated: positions and names, each inferred from the other."""

    __slots__ = ("names", "positions")

    def __init__(self, fun: Callable[..., Any], argnums: Any, argnames: Any, what: str):
        positions = _as_tuple(argnums, int, f"{what}_argnums")
        names = _as_tuple(argnames, str, f"{what}_argnames")
        # Reading a signature costs 50 us, and most functions have nothing static.
        parameters = _parameters(fun) if positions or names else None
        if parameters is not None:
            positional = [
                p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
            ]
            _check_known(fun, parameters, positional, positions, names, what)
            if argnames is not None and argnums is None:
                positions = tuple([i for i, n in enumerate(positional) if n in names])
            elif argnums is not None and argnames is None:
                names = tuple(
                    [positional[i] for i in positions if -len(positional) <= i < len(positional)]
                )
        self.positions = positions
        self.names = frozenset(names)

    @classmethod
    def all_but(cls, fun: Callable[..., Any], operands: Iterable[str]) -> Statics:
        """All arguments of a Python function but ``operands``. Its code is read: a signature costs
        ten times as much.
        """
        operands = {*operands, "out"}  # which is None, or refused by the function
        code = fun.__code__
        positional = code.co_varnames[: code.co_argcount]
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        statics = cls(fun, None, None, "static")
        statics.positions = tuple([i for i, n in enumerate(positional) if n not in operands])
        statics.names = frozenset(names[code.co_posonlyargcount :]).difference(operands)
        return statics

    def where(self, count: int) -> set[int]:
        """The positions among ``count`` positional arguments."""
        return (
            {i % count for i in self.positions if -count <= i < count} if self.positions else set()
        )

    def __bool__(self) -> bool:
        return bool(self.positions or self.names)


def _as_tuple(value: Any, kind: type, what: str) -> tuple:
    if value is None:
        return ()
    if isinstance(value, kind):
        return (value,)
    if isinstance(value, Iterable) and not isinstance(value, str):
        values = tuple(value)
        if kind is int:
            values = tuple([v.__index__() if hasattr(v, "__index__") else v for v in values])
        if all(isinstance(v, kind) for v in values):
            return values
    raise TypeError(f"jit: {what} must be {kind.__name__} or a sequence of them, got {value!r}")


def _parameters(fun: Callable[..., Any]) -> list[inspect.Parameter] | None:
    try:
        return list(inspect.signature(fun).parameters.values())
    except (ValueError, TypeError):
        return None


def _check_known(
    fun: Any, parameters: list, positional: list, positions: tuple, names: tuple, what: str
) -> None:
    variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    keywords = any(p.kind is p.VAR_KEYWORD for p in parameters)
    for i in positions:
        if not variadic and not -len(positional) <= i < len(positional):
            raise ValueError(
                f"jitted function has {what}_argnums={positions}, but {function_name(fun)} takes "
                f"{len(positional)} positional arguments: {positional}"
            )
    known = {p.name for p in parameters if p.kind not in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL)}
    for name in names:
        if not keywords and name not in known:
            raise ValueError(
                f"jitted function has invalid argnames {{{name!r}}} in {what}_argnames. "
                f"{function_name(fun)} has arguments {[p.name for p in parameters]}"
            )


class _Jit:
    """What a jitted function knows besides its C++ part."""

    def __init__(
        self,
        fun: Callable[..., Any],
        static: Statics,
        donate: Statics,
        *,
        inline: bool,
        library: bool,
        keep_unused: bool,
        device: Any,
        compiler_options: dict[str, Any] | None,
        shardings: Any = None,
    ):
        self.fun = fun if shardings is None else shardings.around(fun)
        self.shardings = shardings
        # What `_take` computes is `take` to those who read its errors.
        self.name = function_name(fun).lstrip("_") if library else function_name(fun)
        self.static = static
        self.donate = donate
        self.inline = inline
        self.library = library
        self.keep_unused = keep_unused
        self.device = device
        self.compiler_options = tuple(sorted((compiler_options or {}).items()))
        self.key = (
            static.positions,
            tuple(sorted(static.names)),
            donate.positions,
            tuple(sorted(donate.names)),
            inline,
            library,
            keep_unused,
            device,
            self.compiler_options,
        )
        self.staged = _staged_by_function.of(self.fun)
        self.flat = Memo()  # for `traced`: (types, context) -> program, form of the result

    # -- calls ------------------------------------------------------------------------------------

    def miss(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, bool]:
        """Called by C++ when it cannot make the call alone."""
        try:
            return self._miss(args, kwargs)
        except Exception as error:
            raise hide_frames(error)  # noqa: B904  the same error, shorter

    def _miss(self, args: tuple, kwargs: dict) -> tuple[Any, Any, bool]:
        if disable_jit.value and not self.library:
            return self.fun(*args, **kwargs), None, True
        staged, leaves = self.stage(args, kwargs)
        if (
            staging_state.value
            or staged.closes_over_tracers
            or any(isinstance(x, Tracer) for x in leaves)
            or any(type(e) is NamedAxis for e in staged.jaxpr.effects)
        ):
            program = staged.jaxpr if self.inline else call_program(staged.jaxpr, self.name)
            outs = current_trace_state.value.call(program, [*staged.consts, *leaves])
            return staged.out_tree.unflatten(outs), None, True
        if self.shardings is not None:
            self.shardings.check(args)
        donated = self._donated(args, kwargs, len(staged.consts)) if self.donate else None
        outs, execution, placement = execute(
            staged.jaxpr,
            [*staged.consts, *leaves],
            name=self.name,
            donated=donated,
            keep_unused=self.keep_unused,
            compiler_options=self.compiler_options,
            device=self.device,
        )
        fast = fast_path(execution, staged.out_tree, placement, staged.consts, leaves)
        return staged.out_tree.unflatten(outs), fast, False

    def traced(self, *args: Any) -> Any:
        """The call of a library function with array arguments of which some are tracers.

        What the operators of a tracer call: no trip through C++, no flattening of trees.
        """
        key = (tuple([typeof(x) for x in args]), trace_context())
        found = self.flat.get(key)
        if found is None:
            staged, leaves = self.stage(args, {})
            if len(leaves) != len(args):
                raise TypeError(f"{self.name}: arguments must be arrays, got {args!r:.80}")
            single = staged.out_tree == _LEAF
            found = self.flat.store(key, (staged.jaxpr, staged.out_tree, single))
        jaxpr, out_tree, single = found
        outs = current_trace_state.value.call(jaxpr, args)
        return outs[0] if single else out_tree.unflatten(outs)

    def stage(self, args: tuple, kwargs: dict) -> tuple[Staged, Sequence[Any]]:
        """The program for a call's signature, and the call's dynamic leaves."""
        fun, static_key, args, kwargs = self._split(args, kwargs)
        leaves, tree = hide_float0(*dispatch_registry.flatten((args, kwargs)))
        avals = argument_avals(leaves, tree, self.name)
        return self._stage(fun, static_key, tree, avals), leaves

    def _stage(self, fun: Any, static_key: Any, tree: Any, avals: tuple) -> Staged:
        key = (self.library, static_key, tree, avals, trace_context())
        staged = self.staged.get(key)
        if staged is None:
            if no_tracing.value or (explain_cache_misses.value and not self.library):
                from covector._api.cache_misses import on_miss

                on_miss(self.name, key[1:], [k[1:] for k in self.staged])
            staged = stage_function(fun, tree, avals, name=self.name, embed_constants=self.library)
            if not staged.closes_over_tracers:
                staged = self.staged.store(key, staged)
        return staged

    def _split(self, args: tuple, kwargs: dict) -> tuple[Any, Any, tuple, dict]:
        """Set static arguments aside: the function of the dynamic ones, and the statics' key."""
        if not self.static:
            return self.fun, None, args, kwargs
        positions = self.static.where(len(args))
        names = [n for n in sorted(kwargs) if n in self.static.names] if kwargs else ()
        if not positions and not names:
            return self.fun, None, args, kwargs
        static = [(i, args[i]) for i in sorted(positions)] + [(n, kwargs[n]) for n in names]
        key = tuple([(where, type(value), value) for where, value in static])
        try:
            hash(key)
        except TypeError:
            bad = [(w, v) for w, v in static if not is_hashable(v)]
            raise ValueError(
                f"Non-hashable static arguments are not supported: {self.name} was called with "
                + ", ".join(f"{w!r} = {v!r:.60} of type {type(v)}" for w, v in bad)
                + ". Use a hashable value, such as a tuple in place of a list."
            ) from None
        fixed = {n: kwargs[n] for n in names}
        fun = of_dynamic_arguments(self.fun, args, positions, fixed)
        dynamic_kwargs = {n: v for n, v in kwargs.items() if n not in fixed}
        return fun, key, dynamic_arguments(args, positions), dynamic_kwargs

    def _donated(self, args: tuple, kwargs: dict, num_consts: int) -> tuple[bool, ...]:
        """For each input of the program, whether its buffer may be reused."""
        static = self.static.where(len(args))
        positions = self.donate.where(len(args))
        mask = [False] * num_consts
        for i, x in enumerate(args):
            if i not in static:
                mask += [i in positions] * len(dispatch_registry.flatten(x)[0])
        for name in sorted(kwargs):
            if name not in self.static.names:
                count = len(dispatch_registry.flatten(kwargs[name])[0])
                mask += [name in self.donate.names] * count
        return tuple(mask)

    # -- ahead of time ---------------------------------------------------------------------------

    def trace(self, *args: Any, **kwargs: Any) -> Any:
        """Trace for arguments (values or `ShapeDtypeStruct`s) without compiling."""
        from covector.stages import Traced

        fun, static_key, args, kwargs = self._split(args, kwargs)
        avals, tree = flatten_abstract(args, kwargs)
        staged = self._stage(fun, static_key, tree, tuple(avals))
        donated = self._donated(args, kwargs, 0) if self.donate else (False,) * len(avals)
        return Traced(
            ClosedJaxpr(staged.jaxpr, staged.consts),
            tree,
            staged.out_tree,
            self.name,
            donated,
            self.compiler_options,
            self.keep_unused,
        )

    def lower(self, *args: Any, **kwargs: Any) -> Any:
        """Trace and lower for arguments; `.compile()` goes on from there."""
        return self.trace(*args, **kwargs).lower()

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """The result's shapes and dtypes, without computing it."""
        fun, _, args, kwargs = self._split(args, kwargs)
        return eval_shape(fun, *args, **kwargs)


def _make(fun: Callable[..., Any], state: _Jit) -> Any:
    wrapped = _jaxlib.pjit(
        state.name,
        weakly_referable(state.fun),
        state.miss,
        list(state.static.positions),
        sorted(state.static.names),
        state.key,
        dispatch_registry,
        put_fallback,
        _fast_calls,
    )
    functools.update_wrapper(wrapped, fun)
    wrapped.trace = state.trace
    wrapped.lower = state.lower
    wrapped.eval_shape = state.eval_shape
    wrapped.clear_cache = functools.partial(_clear_cache, wrapped, state)
    wrapped.traced = state.traced
    wrapped._jit = state
    return wrapped


def _clear_cache(wrapped: Any, state: _Jit) -> None:
    wrapped._clear_cache()
    state.staged.clear()
    state.flat.clear()


class _Missing:
    def __repr__(self) -> str:
        return "<not-specified>"


_MISSING: Any = _Missing()


def jit(
    fun: Callable[P, R] = _MISSING,
    /,
    *,
    in_shardings: Any = None,
    out_shardings: Any = None,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    keep_unused: bool = False,
    device: Any = None,
    backend: str | None = None,
    inline: bool = False,
    compiler_options: dict[str, Any] | None = None,
) -> Callable[P, R]:
    """Compile ``fun`` with XLA, once for each signature of its arguments.

    Args:
      fun: a pure function of arrays, Python numbers, and trees of them.
      in_shardings, out_shardings: how the positional arguments that are not static, and the
        results, lie over devices: a sharding, None (the compiler chooses), or a tree of them that
        is a prefix of the arguments' tuple, or of the results.
      static_argnums, static_argnames: arguments that are compile-time constants (hashable); a
        new value compiles anew.
      donate_argnums, donate_argnames: arguments whose buffers the result may take over.
      keep_unused: keep arguments that the result does not depend on as inputs of the executable,
        instead of dropping them.
      inline: when called inside another traced function, splice the program instead of calling it.
      device, backend: where to run when no argument is committed to a device.

    Returns a function with the same arguments, with methods `trace`, `lower`, `eval_shape`.

    Raises:
      ValueError: a static argument is not hashable, or a position or name does not exist; an
        argument is committed to another sharding than the given one.
      TypeError: an argument that is not static is no array.

    >>> import covector
    >>> @covector.jit
    ... def f(x):
    ...     return covector.lax.add(x, x)
    >>> float(f(2.0))
    4.0
    """
    if fun is _MISSING:
        options = {k: v for k, v in locals().items() if k != "fun"}
        return functools.partial(jit, **options)  # type: ignore[return-value]
    if not callable(fun):
        raise TypeError(f"jit expects a callable first argument, got {fun!r} of type {type(fun)}")
    if inspect.isgeneratorfunction(fun) or inspect.iscoroutinefunction(fun):
        raise TypeError(
            f"jit expects a plain function, but {function_name(fun)} is a generator or coroutine."
        )
    static = Statics(fun, static_argnums, static_argnames, "static")
    shardings = None
    if in_shardings is not None or out_shardings is not None:
        from covector._api.argument_shardings import ArgumentShardings

        shardings = ArgumentShardings(in_shardings, out_shardings, static.where)
        device = shardings.device if device is None else device
    if backend is not None and device is None:
        from covector._run.client import local_devices

        device = local_devices(backend=backend)[0]
    state = _Jit(
        fun,
        static,
        Statics(fun, donate_argnums, donate_argnames, "donate"),
        inline=inline,
        library=False,
        keep_unused=keep_unused,
        device=device,
        compiler_options=compiler_options,
        shardings=shardings,
    )
    return _make(fun, state)


@overload
def library_function(fun: F, /, *, static_argnames: str | Iterable[str] | None = None) -> F: ...
@overload
def library_function(
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    operands: Iterable[str] | None = None,
) -> Callable[[F], F]: ...
def library_function(
    fun: Callable[P, R] | None = None,
    /,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    operands: Iterable[str] | None = None,
) -> Any:
    """A function of Covector's own: one executable when eager, spliced when staged.

    Its body runs once per signature, abstractly, so it must not read values. Static is what
    ``static_argnums`` and ``static_argnames`` say, or else all arguments but ``operands``. What
    checks and prepares arguments belongs into the body: before it, it costs time at each call.
    """
    if fun is None:
        return functools.partial(
            library_function,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            operands=operands,
        )
    state = _Jit(
        fun,
        Statics(fun, static_argnums, static_argnames, "static")
        if operands is None
        else Statics.all_but(fun, operands),
        Statics(fun, None, None, "donate"),
        inline=True,
        library=True,
        keep_unused=False,
        device=None,
        compiler_options=None,
    )
    return _make(fun, state)


__all__ = ["eval_shape", "jit", "library_function", "make_jaxpr"]

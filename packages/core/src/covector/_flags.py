"""How a configuration flag is declared, checked, read from the environment and scoped.

A `Flag` is a jaxlib `Config` (so that reading `flag.value` costs one C++ attribute access and the
value takes part in the keys of compiled calls) with a name, a kind of value, and a call that makes
a `with` block. The table of all flags is in `_config.py`.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import jaxlib._jax as m

__all__ = ["Flag", "KeyedState", "Kind", "Scope", "TraceContext", "trace_context"]

UNSET = m.config.unset
FLAGS: dict[str, Flag] = {}  # every flag by its bare name, in the order of declaration


class Kind(NamedTuple):
    """The values that a flag takes: how to check one, and how to read it from text."""

    description: str
    accepts: Callable[[Any], bool]
    parse: Callable[[str], Any]
    normalize: Callable[[Any], Any] = lambda value: value


_TRUTHS: dict[str, bool] = dict.fromkeys(("1", "true", "t", "yes", "y", "on"), True)
_TRUTHS |= dict.fromkeys(("0", "false", "f", "no", "n", "off", ""), False)


def _parse_boolean(text: str) -> bool:
    try:
        return _TRUTHS[text.strip().lower()]
    except KeyError:
        raise ValueError(text) from None


def _is_boolean(value: Any) -> bool:
    """Whether value is a Python or NumPy bool, or the integer 0 or 1 (no import of NumPy)."""
    return (isinstance(value, int) and value in (0, 1)) or type(value).__name__ in ("bool", "bool_")


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


BOOLEAN = Kind("a bool", _is_boolean, _parse_boolean, bool)
INTEGER = Kind("an int", _is_integer, int)
NUMBER = Kind("a number", _is_number, float)
STRING = Kind("a str", lambda value: isinstance(value, str), str)


def optional(kind: Kind) -> Kind:
    """The same values, or None."""
    return Kind(
        f"{kind.description} or None",
        lambda value: value is None or kind.accepts(value),
        kind.parse,
        lambda value: None if value is None else kind.normalize(value),
    )


def choice(*options: str) -> Kind:
    """One of these strings."""

    description = "one of " + ", ".join(map(repr, options))
    return Kind(description, lambda value: isinstance(value, str) and value in options, str)


class TraceContext:
    """The values, at one moment, of all state that a memo may depend on; interned.

    Equal contexts are one object, so it is hashed and compared by identity.
    """

    __slots__ = ("__weakref__", "values")

    def __init__(self, values: tuple) -> None:
        self.values = values

    def __repr__(self) -> str:
        names = m.config.trace_context_names()
        inside = ", ".join(f"{n}={v!r}" for n, v in zip(names, self.values, strict=False))
        return f"TraceContext({inside})"


# A context lives as long as a memo is keyed by it, or a thread is in it.
_contexts: weakref.WeakValueDictionary[tuple, TraceContext] = weakref.WeakValueDictionary()
_contexts_lock = threading.Lock()
_generation = object()  # replaced whenever a process-wide value changes
_STALE = (None, None)
_current = m.config.Config("trace_context", _STALE)  # thread-local: (generation, context)


def trace_context() -> TraceContext:
    """The trace context of this thread now. Hot: 0.1 us, it is part of every memo key."""
    generation, context = _current.value
    return context if generation is _generation else _renewed_context()


def _renewed_context() -> TraceContext:
    generation = _generation  # before the values: a change in between is then seen next time
    values = m.config.trace_context()
    context = _contexts.get(values)
    if context is None:
        with _contexts_lock:
            context = _contexts.setdefault(values, TraceContext(values))
    _current.set_local((generation, context))
    return context


_swap_local = m.config.Config.swap_local
_set_global = m.config.Config.set_global


class KeyedState(m.config.Config):
    """State that belongs to the trace context and to the keys of compiled calls.

    Everything in the trace context must be one of these, never a bare jaxlib `Config`, since
    changing the value also renews what `trace_context()` returns.
    """

    __slots__ = ("in_key",)

    def __init__(self, name: str, value: Any, *, in_key: bool = True) -> None:
        super().__init__(name, value, include_in_jit_key=in_key, include_in_trace_context=in_key)
        self.in_key = in_key
        _renew()

    def set_global(self, value: Any) -> None:
        """Set the process-wide value."""
        _set_global(self, value)
        _renew()

    def swap_local(self, value: Any) -> Any:
        """Set the thread-local value (UNSET removes it) and return the old one."""
        old = _swap_local(self, value)
        if self.in_key:
            _current.set_local(_STALE)
        return old

    def set_local(self, value: Any) -> None:
        """Set the thread-local value (UNSET removes it)."""
        self.swap_local(value)


def _renew() -> None:
    global _generation
    _generation = object()


class Flag(KeyedState):
    """One configuration flag; `flag.value` is its value in this thread, `flag(v)` scopes a value.

    >>> from covector._config import enable_x64
    >>> with enable_x64(True):
    ...     enable_x64.value
    True
    >>> enable_x64.value
    False
    """

    __slots__ = ("bare", "default", "flag_name", "help", "kind", "members", "on_change")

    def __init__(
        self,
        name: str,
        default: Any,
        kind: Kind,
        help: str,
        *,
        in_key: bool = False,
        bare: Any = ...,
        also: tuple[Flag, ...] = (),
    ) -> None:
        """Declare a flag.

        Args:
            name: the bare name, as in `config.update("enable_x64", ...)`.
            default: the value when neither the environment nor the program sets one.
            kind: the values that it takes.
            help: one sentence for the documentation.
            in_key: whether the value can change a traced program or how it executes.
            bare: what `with flag():` means; by default True for booleans, an error for others.
            also: other flags that always receive the same value with this one.
        """
        value = _from_environment(name, kind, default)
        super().__init__(name, value, in_key=in_key)
        self.flag_name, self.default, self.kind, self.help = name, default, kind, help
        self.bare = True if bare is ... and kind is BOOLEAN else bare
        self.members = (self, *also)
        self.on_change: list[Callable[[Any, bool], None]] = []
        FLAGS[name] = self

    def __call__(self, new_val: Any = ...) -> Scope:
        """A context manager, and decorator, in which the flag has the value `new_val`."""
        if new_val is ...:
            new_val = self.bare
        if new_val is ...:
            raise TypeError(
                f"{self.flag_name}: the new value is missing; write `with {self.flag_name}(value):`"
                f" where value is {self.kind.description}."
            )
        return Scope(self.members, self.check(new_val))

    def check(self, value: Any) -> Any:
        """The value in its normal form; `ValueError` if the flag does not take it."""
        if not self.kind.accepts(value):
            raise ValueError(
                f"{self.flag_name}: the value must be {self.kind.description}, "
                f"but got {value!r} of type {type(value).__name__}."
            )
        return self.kind.normalize(value)

    def update(self, value: Any) -> None:
        """Set the process-wide value."""
        value = self.check(value)
        for flag in self.members:
            flag._notify(value, False)
            flag.set_global(value)

    def swap_local(self, value: Any) -> Any:
        """Set the thread-local value (UNSET removes it) and return the old one."""
        if self.on_change:
            self._notify(None if value is UNSET else value, True)
        old = _swap_local(self, value)
        if self.in_key:
            _current.set_local(_STALE)
        return old

    def notify(self, callback: Callable[[Any, bool], None]) -> None:
        """Call `callback(value, is_thread_local)` before each change; it may raise to refuse it.

        A thread-local value that is removed is reported as None.
        """
        self.on_change.append(callback)

    def _notify(self, value: Any, thread_local: bool) -> None:
        for callback in self.on_change:
            callback(value, thread_local)

    def __bool__(self) -> bool:
        raise TypeError(
            f"the flag {self.flag_name} has no truth value; did you mean {self.flag_name}.value?"
        )

    def __repr__(self) -> str:
        return f"<flag {self.flag_name}={self.value!r}>"


class Scope:
    """A `with` block, or decorator, in which some flags have a given value in this thread."""

    __slots__ = ("_flags", "_saved", "_value")

    def __init__(self, flags: tuple[Flag, ...], value: Any) -> None:
        self._flags, self._value = flags, value
        # A scope may be entered by several threads at once, and again while it is active.
        self._saved: dict[int, list[list[Any]]] = {}

    def __enter__(self) -> None:
        value = self._value
        old = [flag.swap_local(value) for flag in self._flags]
        self._saved.setdefault(threading.get_ident(), []).append(old)

    def __exit__(self, *exception: object) -> None:
        thread = threading.get_ident()
        stack = self._saved[thread]
        for flag, old in zip(self._flags, stack.pop()):
            flag.swap_local(old)
        if not stack:
            del self._saved[thread]

    def __call__[**P, R](self, fun: Callable[P, R]) -> Callable[P, R]:
        from functools import wraps

        @wraps(fun)
        def scoped(*args: P.args, **kwargs: P.kwargs) -> R:
            with self:
                return fun(*args, **kwargs)

        return scoped


def find(name: str) -> Flag | None:
    """The flag of a name with or without the prefix `jax_` or `covector_`."""
    return FLAGS.get(name, FLAGS.get(name.removeprefix("jax_").removeprefix("covector_")))


def environment_names(name: str) -> tuple[str, str]:
    """The variables that set a flag; the first one that exists wins.

    >>> environment_names("enable_x64")
    ('COVECTOR_ENABLE_X64', 'JAX_ENABLE_X64')
    """
    upper = name.upper()
    return f"COVECTOR_{upper}", upper if upper.startswith("JAX") else f"JAX_{upper}"


def _from_environment(name: str, kind: Kind, default: Any) -> Any:
    for variable in environment_names(name):
        text = os.environ.get(variable)
        if text is not None:
            return parse(text, kind, f"the environment variable {variable}")
    return default


def parse(text: str, kind: Kind, source: str) -> Any:
    """The value that a text stands for; `ValueError` naming the source if there is none."""
    try:
        value = kind.parse(text)
    except ValueError:
        value = _NO_VALUE
    if not kind.accepts(value):
        raise ValueError(f"{source} must be {kind.description}, but is {text!r}.")
    return value


_NO_VALUE = object()  # of no kind

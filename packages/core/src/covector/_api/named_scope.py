"""Names for parts of a program: `named_scope` and `named_call`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from covector._api.tracing import function_name
from covector._ir.source import scope_state

P = ParamSpec("P")
R = TypeVar("R")


class named_scope:
    """Context manager and decorator: operations inside bear a name, which profilers show.

    In the compiled program an operation is called ``outer/inner/sin``. Of derivatives, the backward
    pass is called ``transpose(jvp(outer))/inner/...``. Code that is not traced is not affected.

    Raises:
      TypeError: the name is no string.

    >>> import covector
    >>> def layer(x):
    ...     with covector.named_scope("activation"):
    ...         return covector.lax.tanh(x)
    >>> covector.make_jaxpr(layer)(1.0).eqns[0].source_info.name_stack
    'activation'
    """

    def __init__(self, name: str):
        if not isinstance(name, str):
            raise TypeError(f"named_scope: name must be a string, got {name!r} of {type(name)}.")
        self.name = name
        self._outer: list[tuple[str, ...]] = []

    def __enter__(self) -> str:
        """Enter the scope; gives the names of all scopes now, as in ``outer/inner``."""
        scope = (*scope_state.value, self.name)
        self._outer.append(scope_state.swap_local(scope))
        return "/".join(scope)

    def __exit__(self, *exc: Any) -> None:
        scope_state.set_local(self._outer.pop())

    def __call__(self, fun: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(fun)
        def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
            with named_scope(self.name):
                return fun(*args, **kwargs)

        return wrapped


def named_call(fun: Callable[P, R], *, name: str | None = None) -> Callable[P, R]:
    """``fun`` inside a `named_scope`, of its own name by default.

    Raises `TypeError` if ``fun`` is no function.

    >>> import covector
    >>> f = covector.named_call(covector.lax.sin, name="wave")
    >>> covector.make_jaxpr(f)(1.0).eqns[0].source_info.name_stack
    'wave'
    """
    if not callable(fun):
        raise TypeError(f"named_call: expected a callable first argument, got {fun!r}")
    return named_scope(function_name(fun) if name is None else name)(fun)

"""How elementwise functions are made: `unary`, `binary` and `ufunc`, which the tables call.

A function is one jitted program per signature of its operands: its body promotes and broadcasts
them and applies a function of `covector.lax`. Each is a jaxlib `PjitFunction`, so an eager call
is C++ all the way. Those with a reduction (`jnp.add.reduce`) are made by `ufunc`.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

from covector import lax
from covector._api.jit import library_function
from covector._trace.trace import typeof
from covector.numpy import _operands
from covector.numpy._operands import Array, ArrayLike

# What a function computes: a function of covector.lax, by name, or one of promoted operands.
Compute = str | Callable[..., Any]
# What it does to its operands first: one of the functions `promote...` of `_operands`.
Promote = Callable[..., list[Any]]


def keep(name: str, x: Any) -> list[Any]:
    """The operand as it is, whatever its dtype."""
    _operands.check_arraylike(name, x)
    return [x]


def unary(
    name: str,
    compute: Compute,
    doc: str,
    example: tuple[str, str],
    promote: Promote = _operands.promote_inexact,
) -> Callable[[ArrayLike], Array]:
    """An elementwise function of one array; ``example`` is a call and what that prints."""

    def function(x: Any, /) -> Any:
        return _resolve(compute)(*promote(name, x))

    return publish(function, name, doc, example)


def binary(
    name: str,
    compute: Compute,
    doc: str,
    example: tuple[str, str],
    promote: Promote = _operands.promote,
    parameters: str = "x1, x2, /",
) -> Callable[[ArrayLike, ArrayLike], Array]:
    """An elementwise function of two arrays, which are broadcast. See `unary`."""

    def function(x1: Any, x2: Any, /) -> Any:
        x1, x2 = promote(name, x1, x2)
        return _as_strong(_resolve(compute)(x1, x2), x1, x2)

    function.__signature__ = _signature(parameters)
    return publish(function, name, doc, example)


def ufunc(
    name: str,
    compute: Compute,
    doc: str,
    example: tuple[str, str],
    identity: Any = None,
    promote: Promote = _operands.promote,
    operands: int = 2,
) -> Any:
    """A function with the attributes and methods of `numpy.ufunc`, such as ``reduce``."""

    def one(x: Any, /, *, out: None = None, where: None = None) -> Any:
        _check_options(name, out, where)
        return _resolve(compute)(*promote(name, x))

    def two(x: Any, y: Any, /, *, out: None = None, where: None = None) -> Any:
        _check_options(name, out, where)
        x, y = promote(name, x, y)
        return _as_strong(_resolve(compute)(x, y), x, y)

    function = two if operands == 2 else one
    function.__signature__ = _signature("*args, out, where")
    jitted = publish(function, name, doc, example)
    jitted.nin, jitted.nout, jitted.nargs, jitted.identity = operands, 1, operands + 1, identity
    for method in _METHODS:
        setattr(jitted, method, _method(jitted, method))
    return jitted


_METHODS = ("accumulate", "at", "outer", "reduce", "reduceat")


def _method(function: Any, name: str) -> Callable[..., Any]:
    def method(*args: Any, **kwargs: Any) -> Any:
        from covector.numpy import _ufunc_methods

        return getattr(_ufunc_methods, name)(function, *args, **kwargs)

    method.__name__ = name
    return method


def _check_options(name: str, out: Any, where: Any) -> None:
    for argument, value in (("out", out), ("where", where)):
        if value is not None:
            raise NotImplementedError(
                f"{argument} argument of jnp.{name} is not supported: arrays are immutable, so "
                "use the function's result, and covector.numpy.where to keep some elements."
            )


def _as_strong(out: Any, x: Any, y: Any) -> Any:
    """The result, not weak unless both operands are, also where it is made of one of them."""
    aval = typeof(out)
    if aval.weak_type and not (typeof(x).weak_type and typeof(y).weak_type):
        return lax.convert_element_type(out, aval.dtype)
    return out


def publish(function: Any, name: str, doc: str, example: tuple[str, str]) -> Any:
    """A `library_function` of this name, documented, in the module that the table stands in."""
    call, result = example
    function.__name__ = function.__qualname__ = name
    function.__module__ = sys._getframe(2).f_globals["__name__"]
    result = result.replace("\n", "\n    ")
    prompt = ">" * 3
    function.__doc__ = f"{doc}\n\n    {prompt} print(jnp.{call})\n    {result}\n    "
    return library_function(function)


def _signature(parameters: str) -> inspect.Signature:
    """The signature with these parameters; those after ``*args`` are optional."""
    kinds = inspect.Parameter
    kind, default, found = kinds.POSITIONAL_OR_KEYWORD, kinds.empty, []
    for name in parameters.split(", "):
        if name == "/":
            found = [p.replace(kind=kinds.POSITIONAL_ONLY) for p in found]
        elif name.startswith("*"):
            found.append(kinds(name[1:], kinds.VAR_POSITIONAL))
            kind, default = kinds.KEYWORD_ONLY, None
        else:
            found.append(kinds(name, kind, default=default))
    return inspect.Signature(found)


def _resolve(compute: Compute) -> Callable[..., Any]:
    return getattr(lax, compute) if isinstance(compute, str) else compute

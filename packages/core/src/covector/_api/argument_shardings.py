"""`jit(in_shardings=, out_shardings=)`: how arguments and results lie over devices.

The function that is traced constrains its arguments and its results; the compiler does the rest.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jaxlib._jax as _jaxlib

from covector._api.static_arguments import dynamic_arguments, merge_arguments
from covector._trace.trace import typeof
from covector._tree.registry import dispatch_registry
from covector.lax.sharding_constraint import constrained, shardings_of_leaves

IN, OUT = "jit: in_shardings", "jit: out_shardings"


class ArgumentShardings:
    """The shardings that a call of `jit` was given; each a prefix of what it describes."""

    def __init__(self, arguments: Any, results: Any, is_static: Callable[[int], set[int]]):
        self.arguments = arguments
        self.results = results
        self.is_static = is_static

    def around(self, fun: Callable[..., Any]) -> Callable[..., Any]:
        """``fun`` with its arguments and results constrained."""

        @functools.wraps(fun)
        def constrained_function(*args: Any, **kwargs: Any) -> Any:
            if self.arguments is not None:
                args = self._constrain(args, kwargs)
            result = fun(*args, **kwargs)
            return result if self.results is None else constrained(result, self.results, OUT)

        return constrained_function

    def _constrain(self, args: tuple, kwargs: dict) -> tuple:
        if kwargs:
            raise ValueError(
                f"{IN} describes positional arguments: pass {', '.join(sorted(kwargs))} by "
                "position, too."
            )
        static = self.is_static(len(args))
        dynamic = constrained(dynamic_arguments(args, static), self.arguments, IN)
        return tuple(merge_arguments(args, static, dynamic))

    def check(self, args: tuple) -> None:
        """Raise `ValueError` for an argument that is bound to another place than the given one."""
        if self.arguments is None:
            return
        leaves, tree = dispatch_registry.flatten(dynamic_arguments(args, self.is_static(len(args))))
        places = shardings_of_leaves(tree, self.arguments, IN)
        for x, sharding in zip(leaves, places, strict=True):
            bound = isinstance(x, _jaxlib.ArrayImpl) and x._committed
            if bound and not _same(sharding, x._sharding, x.ndim):
                raise ValueError(
                    f"{IN}: an argument of type {typeof(x).str_short()} is committed to "
                    f"{x._sharding}, but {sharding} was given for it. Move it there with "
                    "covector.device_put, or leave the sharding out (None)."
                )

    @property
    def device(self) -> Any:
        """The device, if the shardings name nothing but one."""
        leaves = dispatch_registry.flatten([self.arguments, self.results])[0]
        devices = {getattr(s, "_device", None) for s in leaves}
        return devices.pop() if len(devices) == 1 else None


def _same(wanted: Any, actual: Any, ndim: int) -> bool:
    return not isinstance(wanted, _jaxlib.Sharding) or wanted.is_equivalent_to(actual, ndim)

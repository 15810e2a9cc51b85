"""Python asks a tracer for its value: `bool`, `float`, `int`, `len`, `np.asarray`, formatting.

Under `jvp` and `linearize` in eager code the value is there, and is given. While staging, and for
a batch, it is not: the error says which operation asked, where the value was made, and what to do.
Importing this module attaches these conversions to `Tracer`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from covector._trace.trace import Tracer
from covector.errors import (
    ConcretizationTypeError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
)


def _message(tracer: Tracer, action: str, remedy: str) -> str:
    origin = tracer.origin()
    made = f" It was made {origin}." if origin else ""
    return (
        f"{action} needs the value of a traced array of type {tracer.aval.str_short()}, which is "
        f"not known while the function is being traced.{made} {remedy}"
    )


def _conversion(
    error: Callable[[str], Exception], action: str, remedy: str, convert: Callable[[Any], Any]
) -> Callable[..., Any]:
    """A method that converts the concrete value behind the tracer, or raises."""

    def method(tracer: Tracer, *args: Any, **kwargs: Any) -> Any:
        value = tracer.concrete()
        if isinstance(value, Tracer):
            raise error(_message(value, action, remedy))
        return convert(value, *args, **kwargs)

    return method


_STATIC = "or mark the argument static (static_argnums, static_argnames)."
_CONVERSIONS: dict[str, tuple[Any, str, str, Callable[..., Any]]] = {
    # method        error class                 what asked                    remedy
    "__bool__": (
        TracerBoolConversionError,
        "A Python branch or bool()",
        "Use covector.numpy.where, covector.lax.cond or covector.lax.while_loop, " + _STATIC,
        bool,
    ),
    "__index__": (
        TracerIntegerConversionError,
        "A Python integer (an axis, a size, an index of a list, the end of a range)",
        "Index an array in place of a list, loop with covector.lax.fori_loop, " + _STATIC,
        lambda x: x.__index__() if hasattr(x, "__index__") else int(x),
    ),
    "__array__": (
        TracerArrayConversionError,
        "Conversion to a NumPy array",
        "Use covector.numpy in place of numpy on traced values, " + _STATIC,
        lambda x, dtype=None, copy=None: np.asarray(x, dtype=dtype),
    ),
    "tolist": (
        ConcretizationTypeError,
        "tolist()",
        "Return the array from the function and convert it outside, " + _STATIC,
        lambda x: np.asarray(x).tolist(),
    ),
    "item": (
        ConcretizationTypeError,
        "item()",
        "Return the array from the function and convert it outside, " + _STATIC,
        lambda x, *args: np.asarray(x).item(*args),
    ),
    **{
        f"__{kind.__name__}__": (
            ConcretizationTypeError,
            f"{kind.__name__}()",
            f"Use .astype({kind.__name__}) to convert inside the traced function, " + _STATIC,
            kind,
        )
        for kind in (float, int, complex)
    },
}

for _name, (_error, _action, _remedy, _convert) in _CONVERSIONS.items():
    setattr(Tracer, _name, _conversion(_error, _action, _remedy, _convert))


def _format(tracer: Tracer, spec: str) -> str:
    value = tracer.concrete() if spec else tracer
    if spec and isinstance(value, Tracer):
        raise TypeError(
            f"The value of {tracer} is not known while it is traced, so it cannot be formatted by "
            f"{spec!r}. Leave the format out to see its type."
        )
    return format(value, spec) if spec else repr(tracer)


Tracer.__format__ = _format

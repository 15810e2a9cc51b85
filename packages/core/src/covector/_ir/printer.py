"""Programs as text: ``{ lambda ; a:f32[3]. let b:f32[3] = sin a in (b,) }``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from covector._ir.avals import ShapedArray
from covector._ir.jaxpr import ClosedJaxpr, Equation, Jaxpr, Literal


def variable_name(number: int) -> str:
    """a, b, ..., z, ba, bb, ...: a number in base 26."""
    digits = ""
    while True:
        number, digit = divmod(number, 26)
        digits = chr(ord("a") + digit) + digits
        if number == 0:
            return digits


class _Names:
    def __init__(self) -> None:
        self.of: dict[Any, str] = {}

    def __call__(self, atom: Any) -> str:
        if type(atom) is Literal:
            return literal_to_string(atom)
        if atom not in self.of:
            self.of[atom] = variable_name(len(self.of))
        return self.of[atom]

    def typed(self, var: Any, aval: ShapedArray | None = None) -> str:
        return f"{self(var)}:{(var.aval if aval is None else aval).str_short()}"


def literal_to_string(literal: Literal) -> str:
    """``2.0:f32[]``."""
    value = np.asarray(literal.val)
    text = str(value) if value.ndim == 0 else "[...]"
    return f"{text}:{literal.aval.str_short()}"


def jaxpr_to_string(
    jaxpr: Jaxpr, num_consts: int = 0, indent: int = 0, in_types: Sequence[ShapedArray] = ()
) -> str:
    """The whole program, an equation a line; ``in_types`` are shown for its inputs, if given."""
    names = _Names()
    consts = " ".join(names.typed(v) for v in jaxpr.invars[:num_consts])
    arguments = jaxpr.invars[num_consts:]
    inputs = " ".join(map(names.typed, arguments, in_types or [v.aval for v in arguments]))
    pad = " " * indent
    lines = [f"{{ lambda {consts}{' ' if consts else ''}; {inputs}. let"]
    for eqn in jaxpr.eqns:
        lines.append(f"{pad}    {_equation(eqn, names, indent + 4)}")
    outs = ", ".join(names(v) for v in jaxpr.outvars)
    lines.append(f"{pad}  in ({outs}{',' if len(jaxpr.outvars) == 1 else ''}) }}")
    return "\n".join(lines)


def equation_to_string(eqn: Equation) -> str:
    """One equation by itself."""
    return _equation(eqn, _Names(), 0)


def _equation(eqn: Equation, names: _Names, indent: int) -> str:
    inputs = " ".join(names(a) for a in eqn.invars)
    outputs = " ".join(names.typed(v) for v in eqn.outvars)
    params = ""
    if eqn.params:
        shown = [f"{k}={_param(v, indent + 2)}" for k, v in sorted(eqn.params.items())]
        one_line = "[" + " ".join(shown) + "]"
        pad = "\n" + " " * (indent + 2)
        params = (
            one_line
            if len(one_line) < 80 and "\n" not in one_line
            else "[" + "".join(pad + s for s in shown) + "\n" + " " * indent + "]"
        )
    return f"{outputs} = {eqn.primitive.name}{params} {inputs}".rstrip()


def _param(value: Any, indent: int) -> str:
    if isinstance(value, Jaxpr):
        return jaxpr_to_string(value, indent=indent)
    if isinstance(value, ClosedJaxpr):
        return jaxpr_to_string(value.jaxpr, len(value.consts), indent)
    if isinstance(value, tuple) and value and all(isinstance(v, Jaxpr) for v in value):
        pad = "\n" + " " * (indent + 2)
        return "(" + "".join(pad + jaxpr_to_string(v, indent=indent + 2) for v in value) + " )"
    if isinstance(value, np.dtype):
        return value.name
    if isinstance(value, ShapedArray):
        return value.str_short()
    if callable(value) and hasattr(value, "__name__"):
        return value.__name__
    return str(value)


__all__ = ["equation_to_string", "jaxpr_to_string", "variable_name"]

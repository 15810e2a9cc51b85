"""The rules of the intermediate representation, as code: `check_jaxpr`, `check_derived`.

Nothing in Covector relies on these checks. With the flag `enable_checks` each new program is
checked when it is interned, and each derived program against the one that it derives from; tests
call them directly. A failure means that a rule of some primitive, or a transformation, is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

import numpy as np

from covector._ir.avals import ShapedArray
from covector._ir.jaxpr import (
    NO_EFFECTS,
    ClosedJaxpr,
    Equation,
    Jaxpr,
    Literal,
    Var,
    structure_key,
)
from covector.errors import JaxprTypeError


def check_jaxpr(jaxpr: Jaxpr | ClosedJaxpr) -> None:
    """Raise `JaxprTypeError` unless the program, and those in its parameters, keep the rules.

    - A variable is defined once: as an input, or as an output of one equation.
    - What an equation reads is a literal, or a variable defined before.
    - Abstract values are interned; a literal's value has its type.
    - Parameters are hashable. The primitive's abstract rule, given them and the inputs' types,
      gives the outputs' shapes and dtypes (weakness may have been dropped).
    - The outputs are literals or variables that are defined.
    - What the program says of itself (types, effects, key) agrees with its equations.

    >>> import covector
    >>> check_jaxpr(covector.make_jaxpr(covector.lax.sin)(1.0))
    """
    if isinstance(jaxpr, ClosedJaxpr):
        _check_consts(jaxpr)
        jaxpr = jaxpr.jaxpr
    if jaxpr.memo.get("checked"):
        return
    defined: set[Var] = set()
    for v in jaxpr.invars:
        _define(jaxpr, defined, v, "input")
    for position, eqn in enumerate(jaxpr.eqns):
        _check_equation(jaxpr, eqn, f"equation {position} ({eqn.primitive})", defined)
    for atom in jaxpr.outvars:
        _check_read(jaxpr, defined, atom, "output of the program")
    _check_summary(jaxpr)
    jaxpr.memo["checked"] = True


def _fail(jaxpr: Jaxpr, rule: str) -> NoReturn:
    raise JaxprTypeError(f"{rule}, in the program\n{_text(jaxpr)}")


def _text(jaxpr: Jaxpr) -> str:
    try:
        return repr(jaxpr)
    except Exception as error:  # a broken program may not even print
        return f"(which cannot be printed: {error!r})"


def _define(jaxpr: Jaxpr, defined: set[Var], v: Any, what: str) -> None:
    if type(v) is not Var:
        _fail(jaxpr, f"{what}: {v!r} is no variable")
    _check_aval(jaxpr, v.aval, what)
    if v in defined:
        _fail(jaxpr, f"{what}: the variable {v!r} is defined twice")
    defined.add(v)


def _check_aval(jaxpr: Jaxpr, aval: Any, what: str) -> None:
    if not isinstance(aval, ShapedArray):
        _fail(jaxpr, f"{what}: {aval!r} is no abstract value")
    if aval is not ShapedArray(aval.shape, aval.dtype, aval.weak_type):
        _fail(jaxpr, f"{what}: the abstract value {aval!r} is not interned")


def _check_read(jaxpr: Jaxpr, defined: set[Var], atom: Any, what: str) -> None:
    if type(atom) is Literal:
        _check_aval(jaxpr, atom.aval, what)
        if np.shape(atom.val) != atom.aval.shape:
            _fail(jaxpr, f"{what}: a literal of shape {np.shape(atom.val)} says {atom.aval!r}")
    elif type(atom) is not Var:
        _fail(jaxpr, f"{what}: {atom!r} is neither a variable nor a literal")
    elif atom not in defined:
        _fail(jaxpr, f"{what}: the variable {atom!r} is read but was not defined before")


def _check_equation(jaxpr: Jaxpr, eqn: Equation, what: str, defined: set[Var]) -> None:
    for atom in eqn.invars:
        _check_read(jaxpr, defined, atom, what)
    for name, value in eqn.params.items():
        try:
            hash(value)
        except TypeError:
            _fail(jaxpr, f"{what}: the parameter {name} is not hashable: {value!r}")
        for program in _programs(value):
            check_jaxpr(program)
    _check_types(jaxpr, eqn, what)
    for v in eqn.outvars:
        _define(jaxpr, defined, v, what)


def _programs(value: Any) -> Iterable[Jaxpr | ClosedJaxpr]:
    if isinstance(value, (Jaxpr, ClosedJaxpr)):
        return [value]
    if isinstance(value, tuple):
        return [program for part in value for program in _programs(part)]
    return []


def _check_types(jaxpr: Jaxpr, eqn: Equation, what: str) -> None:
    avals = [a.aval for a in eqn.invars]
    try:
        outs = eqn.primitive.abstract(*avals, **eqn.params)
    except Exception as error:
        listed = ", ".join(map(repr, avals))
        reason = f"{what}: the abstract rule does not take ({listed}): {error}"
        raise JaxprTypeError(f"{reason}, in the program\n{_text(jaxpr)}") from error
    expected = list(outs) if eqn.primitive.multiple_results else [outs]
    actual = [v.aval for v in eqn.outvars]
    if not _same_types(actual, expected):
        _fail(jaxpr, f"{what}: its outputs are {actual}, but the abstract rule gives {expected}")


def _same_types(xs: Sequence[ShapedArray], ys: Sequence[ShapedArray]) -> bool:
    """Equal shapes and dtypes, one by one; weakness is not compared."""
    return [(x.shape, x.dtype) for x in xs] == [(y.shape, y.dtype) for y in ys]


def _check_summary(jaxpr: Jaxpr) -> None:
    if jaxpr.in_avals != tuple([v.aval for v in jaxpr.invars]):
        _fail(jaxpr, f"in_avals are {jaxpr.in_avals}, not the inputs' types")
    if jaxpr.out_avals != tuple([v.aval for v in jaxpr.outvars]):
        _fail(jaxpr, f"out_avals are {jaxpr.out_avals}, not the outputs' types")
    effects = NO_EFFECTS.union(*[eqn.effects for eqn in jaxpr.eqns])
    if jaxpr.effects != effects:
        _fail(jaxpr, f"effects are {set(jaxpr.effects)}, but the equations' are {set(effects)}")
    if jaxpr.key != structure_key(jaxpr.invars, jaxpr.eqns, jaxpr.outvars):
        _fail(jaxpr, "the key is another program's")


def _check_consts(closed: ClosedJaxpr) -> None:
    avals = closed.jaxpr.in_avals[: len(closed.consts)]
    if len(avals) < len(closed.consts):
        _fail(closed.jaxpr, f"there are {len(closed.consts)} constants for {len(avals)} inputs")
    for const, aval in zip(closed.consts, avals, strict=True):
        if np.shape(const) != aval.shape:
            _fail(closed.jaxpr, f"a constant has shape {np.shape(const)}, its input is {aval!r}")


# --- derived programs ---------------------------------------------------------------------------


def check_derived(jaxpr: Jaxpr, key: tuple, derived: Any) -> None:
    """Raise `JaxprTypeError` unless what a transformation memoizes has the types that it should.

    ``key`` is the memo's key: the transformation's name, then its arguments.
    """
    rule = _DERIVED.get(key[0]) if isinstance(key, tuple) else None
    if rule is not None:
        rule(jaxpr, key, derived)


def _expect(
    jaxpr: Jaxpr, key: tuple, what: str, actual: Iterable[Any], expected: Iterable[Any]
) -> None:
    actual, expected = list(actual), list(expected)
    if not _same_types(actual, expected):
        arguments = ", ".join(map(repr, key[1:-1]))
        _fail(jaxpr, f"{key[0]}({arguments}): {what} are {actual}, but should be {expected}")


def _tangents(avals: Sequence[ShapedArray], mask: Sequence[bool]) -> list[ShapedArray]:
    return [a.tangent for a, m in zip(avals, mask, strict=True) if m]


def _check_jvp(jaxpr: Jaxpr, key: tuple, derived: Any) -> None:
    program, out_mask = derived
    tangents = _tangents(jaxpr.in_avals, key[1])
    _expect(jaxpr, key, "inputs", program.in_avals, [*jaxpr.in_avals, *tangents])
    out_tangents = _tangents(jaxpr.out_avals, out_mask)
    _expect(jaxpr, key, "outputs", program.out_avals, [*jaxpr.out_avals, *out_tangents])


def _check_linearized(jaxpr: Jaxpr, key: tuple, split: Any) -> None:
    forward, tangent = split.forward, split.tangent
    _expect(jaxpr, key, "inputs of forward", forward.in_avals, jaxpr.in_avals)
    _expect(jaxpr, key, "outputs", forward.out_avals[: split.num_outs], jaxpr.out_avals)
    known = [*forward.in_avals, *forward.out_avals]
    if any(not 0 <= i < len(known) for i in split.residuals):
        _fail(jaxpr, f"linearize: residuals {split.residuals} are not among {len(known)} values")
    tangents = _tangents(jaxpr.in_avals, key[1])
    expected = [*[known[i] for i in split.residuals], *tangents]
    _expect(jaxpr, key, "inputs of tangent", tangent.in_avals, expected)
    out_tangents = _tangents(jaxpr.out_avals, split.out_mask)
    _expect(jaxpr, key, "outputs of tangent", tangent.out_avals, out_tangents)


def _check_transposed(jaxpr: Jaxpr, key: tuple, derived: Any) -> None:
    _, linear, ct_mask, *_ = key
    program, out_mask = derived
    known = [a for a, m in zip(jaxpr.in_avals, linear, strict=True) if not m]
    cotangents = _tangents(jaxpr.out_avals, ct_mask)
    _expect(jaxpr, key, "inputs", program.in_avals, [*known, *cotangents])
    targets = [a for a, m in zip(jaxpr.in_avals, linear, strict=True) if m]
    _expect(jaxpr, key, "outputs", program.out_avals, _tangents(targets, out_mask))


def _check_batched(jaxpr: Jaxpr, key: tuple, derived: Any) -> None:
    _, axis, dims, wanted, *_ = key
    program, out_dims = derived
    _expect(jaxpr, key, "inputs", program.in_avals, _batched(jaxpr.in_avals, axis.size, dims))
    _expect(
        jaxpr, key, "outputs", program.out_avals, _batched(jaxpr.out_avals, axis.size, out_dims)
    )
    for got, want in zip(out_dims, wanted or (), strict=False):
        if want is not None and got != want:
            _fail(jaxpr, f"batch: an output's batch axis is {got}, but {want} was asked for")


def _batched(avals: Iterable[ShapedArray], size: int, dims: Sequence[int | None]) -> list[Any]:
    return [
        a if d is None else a.update(shape=(*a.shape[:d], size, *a.shape[d:]))
        for a, d in zip(avals, dims, strict=True)
    ]


_DERIVED: dict[str, Callable[[Jaxpr, tuple, Any], None]] = {
    "jvp": _check_jvp,
    "linearize": _check_linearized,
    "transpose": _check_transposed,
    "batch": _check_batched,
}

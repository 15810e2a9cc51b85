"""The intermediate representation: closed, typed, immutable, hash-consed programs.

A `Jaxpr` has input variables, equations and outputs. An `Equation` applies a primitive with static
`params` to atoms (variables or literals). Programs are closed: array constants of user code are
inputs like any other; only scalars, and small arrays made inside Covector's own rules, are
literals.

`Jaxpr` objects are interned by structure (primitives, params, types, wiring, named scopes; not
source lines), so two traces of equal functions give one object, and with it one set of derived
programs and one executable. What is derived from a jaxpr is memoized on it, in `jaxpr.memo`.

Invariants are written as code in `check.py`. Read next: `_trace/trace.py`.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from covector._config import enable_checks
from covector._ir.avals import ShapedArray

if TYPE_CHECKING:
    from covector._ir.source import Source
    from covector._trace.primitive import Primitive

NO_EFFECTS: frozenset = frozenset()

# Derived programs and executables kept for one program: masks, batch sizes, placements, contexts.
_MEMO_BOUND = 1024


@final
class Var:
    """A variable: a place for a value of one type. Identity is all that it has."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray):
        self.aval = aval

    def __repr__(self) -> str:
        return f"Var:{self.aval!r}"


@final
class Literal:
    """A constant written into the program: a scalar, or a small array inside Covector's rules."""

    __slots__ = ("_key", "aval", "val")

    def __init__(self, val: Any, aval: ShapedArray):
        self.val = val
        self.aval = aval
        self._key = None

    @property
    def key(self) -> tuple:
        """Identity of the value bit by bit (so that nan is nan, and -0.0 is not 0.0)."""
        if self._key is None:
            self._key = (self.aval, np.asarray(self.val, self.aval.dtype).tobytes())
        return self._key

    def __repr__(self) -> str:
        return f"{self.val}:{self.aval!r}"


Atom = Var | Literal


class Equation:
    """One application of a primitive."""

    __slots__ = ("invars", "outvars", "params", "primitive", "source")

    def __init__(
        self,
        primitive: Primitive,
        params: dict[str, Any],
        invars: Sequence[Atom],
        outvars: Sequence[Var],
        source: Source | None,
    ):
        self.primitive = primitive
        self.params = params
        self.invars = invars
        self.outvars = outvars
        self.source = source

    @property
    def jaxpr(self) -> Jaxpr:
        """The memoized one-equation program of this equation's primitive at its types."""
        return self.primitive.jaxpr(tuple([v.aval for v in self.invars]), self.params)

    @property
    def effects(self) -> frozenset:
        return self.primitive.effects(self.params)

    @property
    def scope(self) -> tuple[str, ...]:
        """The names of the scopes that the equation is in, outermost first."""
        return () if self.source is None else self.source.scope

    @property
    def source_info(self) -> Source | None:
        """Where the equation comes from: ``source_info.name_stack``, ``.file``, ``.line``."""
        return self.source

    def __repr__(self) -> str:
        from covector._ir.printer import equation_to_string

        return equation_to_string(self)


class Step(NamedTuple):
    """An equation by positions: how to append it to another program without looking at names."""

    primitive: Primitive
    params: dict[str, Any]
    inputs: tuple[int, ...]
    out_avals: tuple[ShapedArray, ...]


class Plan(NamedTuple):
    """A program by positions in one list: inputs, then literals, then each equation's outputs."""

    literals: list[Literal]
    steps: list[Step]
    outputs: tuple[int, ...]


class Jaxpr:
    """A closed program. Build it with `make_jaxpr_object`, which interns."""

    __slots__ = (
        "__weakref__",
        "_executable",
        "_plan",
        "effects",
        "eqns",
        "forwarded",
        "in_avals",
        "invars",
        "key",
        "memo",
        "out_avals",
        "outvars",
        "weak_scalars",
    )

    def __init__(
        self, invars: Sequence[Var], eqns: Sequence[Equation], outvars: Sequence[Atom], key: Any
    ):
        self.invars = tuple(invars)
        self.eqns = tuple(eqns)
        self.outvars = tuple(outvars)
        self.in_avals = tuple([v.aval for v in invars])
        self.out_avals = tuple([v.aval for v in outvars])
        # Positions of inputs that may be Python numbers.
        self.weak_scalars = [i for i, a in enumerate(self.in_avals) if a.weak_type and not a.shape]
        # The inputs that the outputs are, for a program that computes nothing (the transpose of a
        # sum is one), which then need not run.
        self.forwarded: list[int] | None = None
        if not self.eqns and all(v in self.invars for v in self.outvars):
            self.forwarded = [self.invars.index(v) for v in self.outvars]
        self.effects = _union_effects(eqns)
        self.key = key
        self.memo: dict[Any, Any] = {}
        self._plan: Plan | None = None
        self._executable: Any = None

    constvars: tuple = ()

    @property
    def plan(self) -> Plan:
        if self._plan is None:
            self._plan = _make_plan(self)
        return self._plan

    def remember(self, key: Any, value: Any) -> Any:
        """Keep something derived from this program; if another thread was first, give its value."""
        if enable_checks.value:
            from covector._ir.check import check_derived

            check_derived(self, key, value)
        value = self.memo.setdefault(key, value)
        if len(self.memo) > _MEMO_BOUND:
            self.memo.pop(next(iter(self.memo)), None)
        return value

    def used_inputs(self) -> tuple[bool, ...]:
        """Which inputs the program reads at all."""
        used = {v for eqn in self.eqns for v in eqn.invars if type(v) is Var}
        used.update(v for v in self.outvars if type(v) is Var)
        return tuple([v in used for v in self.invars])

    def __repr__(self) -> str:
        from covector._ir.printer import jaxpr_to_string

        return jaxpr_to_string(self)


class ClosedJaxpr:
    """A program with the values of its leading inputs: what `covector.make_jaxpr` returns.

    ``in_types`` are the types of the other inputs as users see them: a program takes the words of
    a typed key, but ``key<fry>[]`` is what it prints.
    """

    __slots__ = ("consts", "in_types", "jaxpr")

    def __init__(
        self, jaxpr: Jaxpr, consts: Sequence[Any] = (), in_types: Sequence[ShapedArray] = ()
    ):
        self.jaxpr = jaxpr
        self.consts = list(consts)
        self.in_types = tuple(in_types)

    literals = property(lambda self: self.consts)
    eqns = property(lambda self: self.jaxpr.eqns)
    effects = property(lambda self: self.jaxpr.effects)
    in_avals = property(lambda self: list(self.jaxpr.in_avals[len(self.consts) :]))
    out_avals = property(lambda self: list(self.jaxpr.out_avals))

    def __repr__(self) -> str:
        from covector._ir.printer import jaxpr_to_string

        return jaxpr_to_string(self.jaxpr, len(self.consts), in_types=self.in_types)


def _union_effects(eqns: Iterable[Equation]) -> frozenset:
    effects: frozenset = NO_EFFECTS
    for eqn in eqns:
        more = eqn.primitive.effects(eqn.params)
        if more:
            effects = effects | more
    return effects


def _make_plan(jaxpr: Jaxpr) -> Plan:
    position: dict[Any, int] = {v: i for i, v in enumerate(jaxpr.invars)}
    literals: list[Literal] = []
    first = len(position)

    def place(atom: Atom) -> int:
        if type(atom) is Var:
            return position[atom]
        if atom not in position:
            position[atom] = first + len(literals)
            literals.append(atom)
        return position[atom]

    for eqn in jaxpr.eqns:
        for atom in eqn.invars:
            if type(atom) is not Var:
                place(atom)
    for atom in jaxpr.outvars:
        if type(atom) is not Var:
            place(atom)
    steps = []
    for eqn in jaxpr.eqns:
        inputs = tuple([place(a) for a in eqn.invars])
        for v in eqn.outvars:
            position[v] = len(position)
        out_avals = tuple([v.aval for v in eqn.outvars])
        steps.append(Step(eqn.primitive, eqn.params, inputs, out_avals))
    return Plan(literals, steps, tuple([place(a) for a in jaxpr.outvars]))


# --- hash-consing -------------------------------------------------------------------------------

_interned: weakref.WeakValueDictionary[Any, Jaxpr] = weakref.WeakValueDictionary()
_lock = threading.Lock()


def structure_key(
    invars: Sequence[Var], eqns: Sequence[Equation], outvars: Sequence[Atom]
) -> tuple:
    """A hashable value equal for programs of equal structure."""
    number: dict[Var, int] = {v: i for i, v in enumerate(invars)}

    def atom_key(atom: Atom) -> Any:
        return number[atom] if type(atom) is Var else atom.key

    parts: list[Any] = [tuple([v.aval for v in invars])]
    for eqn in eqns:
        inputs = tuple([atom_key(a) for a in eqn.invars])
        for v in eqn.outvars:
            number[v] = len(number)
        out_avals = tuple([v.aval for v in eqn.outvars])
        parts.append((eqn.primitive, tuple(eqn.params.items()), inputs, out_avals))
        if eqn.source is not None and eqn.source.scope:
            parts.append(eqn.source.scope)
    parts.append(tuple([atom_key(a) for a in outvars]))
    return tuple(parts)


def make_jaxpr_object(
    invars: Sequence[Var], eqns: Sequence[Equation], outvars: Sequence[Atom]
) -> Jaxpr:
    """The one `Jaxpr` of this structure (a new one the first time)."""
    key = structure_key(invars, eqns, outvars)
    with _lock:
        jaxpr = _interned.get(key)
        if jaxpr is None:
            jaxpr = Jaxpr(invars, eqns, outvars, key)
            _interned[key] = jaxpr
    if enable_checks.value:
        from covector._ir.check import check_jaxpr

        check_jaxpr(jaxpr)
    return jaxpr


def interned_jaxprs() -> list[Jaxpr]:
    """All programs alive, for clearing their memos."""
    with _lock:
        return list(_interned.values())

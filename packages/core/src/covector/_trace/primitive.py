"""Primitives: the vocabulary of programs. A primitive carries every rule about itself.

`Primitive(name, abstract=..., lower=..., jvp=..., transpose=..., batch=...)`, all in one block, in
the file of its family under `lax/`. The rules' forms (`args` are atoms' values, `params` static):

- ``abstract(*avals, **params) -> aval`` (a list of avals with ``multiple_results``);
- ``lower(ctx, args, in_avals, out_avals, **params) -> list of names`` (see `_lower/module.py`);
- ``jvp(primals, tangents, **params) -> (out, tangent)``; a tangent that is zero is ``None``, on the
  way in and out (lists of outs and tangents with ``multiple_results``); or `LINEAR` for an
  operation that is linear in all its differentiable operands together (concatenate, reshape, ...);
- ``transpose(cotangent, *args, **params) -> list``: ``args`` holds a `Linear(aval)` where the
  program is linear in the operand, values elsewhere; the result holds the operands' cotangents,
  ``None`` for zeros and for operands that are not `Linear`;
- ``batch(axis, args, dims, **params) -> (out, dim)``: ``dims`` holds each operand's batch axis, or
  ``None``; ``axis`` has ``size`` and ``name`` (lists of outs and dims with ``multiple_results``);
- ``linearize(jaxpr, mask, instantiate) -> Linearized`` only where `_transform/linearize.py`'s way
  (jvp, then partial evaluation) does not do: control flow and calls;
- ``divide(jaxpr, wanted, policy) -> Linearized`` only where an application holds programs into
  which the policy of a `remat` shall see (see `_transform/divide.py`);
- ``evaluate(*args, **params) -> out`` only where an eager application is no program's run;
- ``prune(eqn, used) -> Equation`` only where an application can do without some of its results.

A rule is staged once per signature, so it must not read values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from covector._ir.avals import ShapedArray
from covector._ir.dtypes import ExtendedDType
from covector._ir.jaxpr import NO_EFFECTS, Equation, Jaxpr, Literal, Var, make_jaxpr_object
from covector._trace.caches import Memo
from covector._trace.trace import current_trace_state, typeof

LINEAR = "linear"  # a jvp rule: the operation itself, applied to the tangents


class Linear:
    """Stands in a transpose rule's arguments for an operand in which the program is linear."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray):
        self.aval = aval

    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: self.aval.dtype)
    ndim = property(lambda self: self.aval.ndim)


def undefined(reason: str) -> Callable[..., Any]:
    """A rule that does not exist, with the reason: ``jvp=undefined("integer valued")``."""

    def rule(*args: Any, **params: Any) -> Any:
        raise NotImplementedError(reason)

    rule.reason = reason
    return rule


class Primitive:
    """One operation of the vocabulary, with its rules (see the module's text)."""

    def __init__(
        self,
        name: str,
        *,
        abstract: Callable[..., Any],
        lower: Callable[..., Any] | None = None,
        jvp: Callable[..., Any] | str | None = None,
        transpose: Callable[..., Any] | None = None,
        batch: Callable[..., Any] | None = None,
        linearize: Callable[..., Any] | None = None,
        divide: Callable[..., Any] | None = None,
        evaluate: Callable[..., Any] | None = None,
        prune: Callable[..., Any] | None = None,
        fold: Callable[..., Literal | None] | None = None,
        effects: Callable[[dict], frozenset] | None = None,
        multiple_results: bool = False,
        elementwise: bool = False,
        differentiable: bool = True,
    ):
        self.name = name
        self.abstract = abstract
        self.lower = lower
        self.jvp = jvp
        self.transpose = transpose
        self.batch = batch
        self.linearize = linearize
        self.divide = divide
        self.evaluate = evaluate
        self.prune = prune
        # `fold(literals, params, out_aval)` may give the literal that the operation comes to.
        self.fold = fold
        self._effects = effects
        self.multiple_results = multiple_results
        # Elementwise operations may be fused by the compiler into each of their users.
        self.elementwise = elementwise
        # False: no tangent ever flows through (comparisons, integer results, stop_gradient).
        self.differentiable = differentiable
        self._jaxprs = Memo()

    def effects(self, params: dict) -> frozenset:
        """The effects of an application: named axes used, callbacks, ..."""
        return NO_EFFECTS if self._effects is None else self._effects(params)

    def bind(self, *args: Any, **params: Any) -> Any:
        """Apply the primitive in the current trace. Hot: under 2 us above the executable's call."""
        avals = tuple([typeof(x) for x in args])
        jaxpr = self._jaxprs.get((avals, tuple(params.items())))
        if jaxpr is None:
            if any(isinstance(a.dtype, ExtendedDType) for a in avals):
                from covector._api.extended import bind_extended

                return bind_extended(self, args, params)
            jaxpr = self.jaxpr(avals, params)
        outs = current_trace_state.value.call(jaxpr, args)
        return outs if self.multiple_results else outs[0]

    def jaxpr(self, avals: tuple[ShapedArray, ...], params: dict[str, Any]) -> Jaxpr:
        """The one-equation program of this primitive at these types, memoized."""
        key = (avals, tuple(params.items()))
        try:
            jaxpr = self._jaxprs.get(key)
        except TypeError as error:
            bad = [name for name, value in params.items() if not is_hashable(value)]
            raise TypeError(
                f"{self.name}: static parameters must be hashable, but {', '.join(bad)} "
                f"{'is' if len(bad) == 1 else 'are'} not: {[params[name] for name in bad]}"
            ) from error
        if jaxpr is None:
            jaxpr = self._jaxprs.store(key, self._build(avals, params))
        return jaxpr

    def _build(self, avals: Sequence[ShapedArray], params: dict[str, Any]) -> Jaxpr:
        out_avals = self.abstract(*avals, **params)
        if not self.multiple_results:
            out_avals = [out_avals]
        if any(isinstance(a.dtype, ExtendedDType) for a in out_avals):
            raise TypeError(f"{self.name} cannot make values of dtype {out_avals[0].dtype.name}.")
        invars = [Var(a) for a in avals]
        outvars = [Var(a) for a in out_avals]
        return make_jaxpr_object(invars, [Equation(self, params, invars, outvars, None)], outvars)

    def __repr__(self) -> str:
        return self.name


def is_hashable(value: Any) -> bool:
    """Whether a value can be part of a memo's key."""
    try:
        hash(value)
    except TypeError:
        return False
    return True

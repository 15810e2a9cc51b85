"""How users' derivative rules meet zeros that are known as such, if they ask to.

Inside Covector such a zero is None. A rule with ``symbolic_zeros=True`` gets a `SymbolicZero` in
its place, and may return one; the forward rule of a `custom_vjp` gets a `CustomVJPPrimal` for each
array.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from covector._ir.avals import ShapedArray
from covector._trace.trace import typeof
from covector._transform.jvp import zeros
from covector._tree.registry import dispatch_registry


class SymbolicZero:
    """A tangent or cotangent that is known to be zero; it has a shape and a dtype, and no value.

    >>> SymbolicZero(ShapedArray((3,), "float32")).shape
    (3,)
    """

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray):
        self.aval = aval

    @staticmethod
    def from_primal_value(val: Any) -> SymbolicZero:
        """The zero tangent of a value."""
        return SymbolicZero(typeof(val).tangent)

    def __getattr__(self, name: str) -> Any:
        if name in ("shape", "dtype", "ndim", "size", "weak_type"):
            return getattr(self.aval, name)
        raise AttributeError(f"a SymbolicZero has no attribute {name!r}", name=name, obj=self)

    def __repr__(self) -> str:
        return "SymbolicZero"


@dataclass
class CustomVJPPrimal:
    """What the forward rule of a `custom_vjp` gets for an array, with ``symbolic_zeros=True``.

    Attributes:
      value: the array.
      perturbed: whether it is differentiated with respect to.
    """

    value: Any
    perturbed: bool


def custom_vjp_primal_tree_values(tree: Any) -> Any:
    """The tree with the value of each `CustomVJPPrimal` in its place.

    Raises:
      TypeError: a leaf is something else.

    >>> custom_vjp_primal_tree_values({"a": CustomVJPPrimal(1.0, perturbed=True)})
    {'a': 1.0}
    """
    leaves, structure = dispatch_registry.flatten(tree)
    for leaf in leaves:
        if type(leaf) is not CustomVJPPrimal:
            raise TypeError(
                "custom_vjp_primal_tree_values: leaves must be CustomVJPPrimal, as the forward "
                f"rule gets them with symbolic_zeros=True, got {leaf!r:.80} of type {type(leaf)}."
            )
    return structure.unflatten([leaf.value for leaf in leaves])


def zero_from_primal(val: Any, symbolic_zeros: bool = False) -> Any:
    """The zero tangent of a value: an array (of dtype float0 for integers), or a `SymbolicZero`.

    >>> float(zero_from_primal(2.0))
    0.0
    """
    return SymbolicZero.from_primal_value(val) if symbolic_zeros else zeros(typeof(val).tangent)


def fill_zeros(
    values: Sequence[Any], avals: Sequence[ShapedArray], symbolic_zeros: bool
) -> list[Any]:
    """The tangents or cotangents of values of types ``avals``, with something for each None."""
    make = SymbolicZero if symbolic_zeros else zeros
    return [make(a.tangent) if v is None else v for v, a in zip(values, avals, strict=True)]

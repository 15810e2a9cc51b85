"""How accurate a function shall be, and how to round: AccuracyMode, Tolerance, RoundingMethod."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

from covector._trace.primitive import Primitive


class RoundingMethod(enum.IntEnum):
    """What `round` does with a number halfway between two integers."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


class AccuracyMode(enum.Enum):
    """Which implementation of a function to compile: the most accurate, or the usual one."""

    HIGHEST = 1
    DEFAULT = 2


@dataclass(frozen=True)
class Tolerance:
    """How far a function's value may be off: absolutely, relatively, in units in the last place.

    Raises:
      ValueError: none of the three is set, or one is negative.

    >>> Tolerance(rtol=1e-5)
    Tolerance(atol=0.0, rtol=1e-05, ulps=0)
    """

    atol: float = 0.0
    rtol: float = 0.0
    ulps: int = 0

    def __post_init__(self) -> None:
        if self.atol < 0 or self.rtol < 0 or self.ulps < 0:
            raise ValueError(f"Tolerance: atol, rtol and ulps must not be negative, got {self}.")
        if not (self.atol or self.rtol or self.ulps):
            raise ValueError("Tolerance: at least one of atol, rtol and ulps must be set.")


def bind(primitive: Primitive, x: Any, accuracy: Any) -> Any:
    """Apply a primitive of one operand, with an ``accuracy`` if one is asked for."""
    if accuracy is None:
        return primitive.bind(x)
    if not isinstance(accuracy, (AccuracyMode, Tolerance)):
        raise NotImplementedError(
            f"{primitive.name}: accuracy must be an AccuracyMode or a Tolerance of covector.lax, "
            f"got {accuracy!r}."
        )
    return primitive.bind(x, accuracy=accuracy)


def accuracy_attribute(accuracy: Any) -> str:
    """The attribute of a StableHLO operation that asks for an accuracy."""
    if accuracy is None:
        return ""
    if isinstance(accuracy, AccuracyMode):
        body = f"mode = #stablehlo.result_accuracy_mode<{accuracy.name}>"
    else:
        body = (
            f"atol = {float(accuracy.atol):.17e}, rtol = {float(accuracy.rtol):.17e}, "
            f"ulps = {int(accuracy.ulps)}, mode = #stablehlo.result_accuracy_mode<TOLERANCE>"
        )
    return f" {{result_accuracy = #stablehlo.result_accuracy<{body}>}}"


def lower_with_accuracy(op: str) -> Any:
    """Lowering of ``stablehlo.OP`` on one operand, with the attribute if there is an accuracy."""

    def lower(
        ctx: Any, args: Any, in_avals: Any, out_avals: Any, accuracy: Any = None
    ) -> list[str]:
        out = out_avals[0].mlir
        return ctx.emit(f"stablehlo.{op} {args[0]}{accuracy_attribute(accuracy)} : {out}")

    return lower

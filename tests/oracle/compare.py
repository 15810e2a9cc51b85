"""When two outcomes agree: structure, kind, shape, dtype, weak type and value; or error class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from .snippet import Leaf, Node, Outcome, Raised

# Both implementations compile with the same XLA, but may fuse differently, which moves roundings.
DEFAULT_ULPS = 4


@dataclass(frozen=True)
class Tolerance:
    """How far numbers may lie apart: ``|actual - expected| <= atol + rtol * |expected|``.

    Without ``rtol``, four units in the last place of the expected dtype (``4 * eps``), and never
    less than its smallest normal number, since XLA flushes what is smaller. ``rtol`` and
    ``atol`` are numbers, or mappings from dtype names to numbers. Booleans, integers and text are
    always exact; NaN equals NaN. ``exact`` compares bits: zeros must have the same sign too.
    """

    rtol: float | Mapping[str, float] | None = None
    atol: float | Mapping[str, float] | None = None
    exact: bool = False
    check_dtype: bool = True
    check_weak_type: bool = True

    def of(self, dtype: str) -> tuple[float, float]:
        """The relative and absolute tolerance for a floating or complex dtype."""
        info = ml_dtypes.finfo(np.dtype(dtype))
        rtol = self._given(self.rtol, dtype)
        atol = self._given(self.atol, dtype) or 0.0
        rtol = DEFAULT_ULPS * float(info.eps) if rtol is None else rtol
        return rtol, max(atol, float(info.smallest_normal))

    @staticmethod
    def _given(tolerance: float | Mapping[str, float] | None, dtype: str) -> float | None:
        return tolerance.get(dtype) if isinstance(tolerance, Mapping) else tolerance


def agree(actual: Outcome, expected: Outcome, tolerance: Tolerance | None = None) -> list[str]:
    """List the ways in which two outcomes differ; empty if they agree."""
    if actual.error or expected.error:
        return list(_differences_of_errors(actual, expected))
    differences = list(_differences(actual.result, expected.result, tolerance or Tolerance(), ""))
    if actual.printed != expected.printed:
        differences.append(f"printed {actual.printed!r}, expected {expected.printed!r}")
    return differences


def _differences_of_errors(actual: Outcome, expected: Outcome) -> Iterator[str]:
    if expected.error is None:
        assert actual.error is not None
        yield f"raised, but the oracle did not:\n{actual.error.traceback}"
    elif actual.error is None:
        yield f"did not raise, but the oracle raised {expected.error}"
    elif missing := missing_classes(actual.error, expected.error):
        yield (
            f"raised {actual.error.names}, which lacks {missing} of the oracle's\n"
            f"{expected.error}\n{actual.error.traceback}"
        )


def missing_classes(actual: Raised, expected: Raised) -> list[str]:
    """The classes that catch the oracle's error but would not catch ours. More classes are fine."""
    return [name for name in expected.names if name not in actual.names]


def _differences(actual: Any, expected: Any, tolerance: Tolerance, where: str) -> Iterator[str]:
    if isinstance(actual, Node) and isinstance(expected, Node):
        if (actual.kind, actual.keys) != (expected.kind, expected.keys):
            yield f"result{where}: {_outline(actual)}, expected {_outline(expected)}"
            return
        for key, ours, theirs in zip(actual.keys, actual.children, expected.children):
            yield from _differences(ours, theirs, tolerance, f"{where}[{key!r}]")
    elif isinstance(actual, Leaf) and isinstance(expected, Leaf):
        yield from (f"result{where}: {text}" for text in _of_leaves(actual, expected, tolerance))
    else:
        yield f"result{where}: {_outline(actual)}, expected {_outline(expected)}"


def _of_leaves(actual: Leaf, expected: Leaf, tolerance: Tolerance) -> Iterator[str]:
    checked = ["kind", "shape"]
    checked += ["dtype"] if tolerance.check_dtype else []
    checked += ["weak_type"] if tolerance.check_weak_type else []
    for name in checked:
        ours, theirs = getattr(actual, name), getattr(expected, name)
        if ours != theirs:
            yield f"{name} is {ours}, expected {theirs}"
    if (actual.kind, actual.shape) == (expected.kind, expected.shape):
        yield from _of_values(actual, expected, tolerance)


def _of_values(actual: Leaf, expected: Leaf, tolerance: Tolerance) -> Iterator[str]:
    if expected.dtype == "float0":
        return
    if not isinstance(expected.value, np.ndarray | float | complex):
        if actual.value != expected.value or type(actual.value) is not type(expected.value):
            yield f"is {actual.value!r}, expected {expected.value!r}"
        return
    ours, theirs = np.asarray(actual.value), np.asarray(expected.value)
    wrong = _wrong(ours, theirs, tolerance)
    if wrong.any():
        yield _worst(ours, theirs, wrong, tolerance)


def _wrong(actual: np.ndarray, expected: np.ndarray, tolerance: Tolerance) -> np.ndarray:
    """Mark the elements that lie too far apart."""
    if not is_inexact(expected.dtype) or not is_inexact(actual.dtype):
        return np.asarray(actual != expected)
    if tolerance.exact:
        return _wrong_bits(actual, expected)
    rtol, atol = tolerance.of(str(expected.dtype))
    ours, theirs = widened(actual), widened(expected)
    with np.errstate(all="ignore"):
        bound = atol + rtol * np.abs(theirs)
        close = np.abs(ours - theirs) <= bound
    finite = np.isfinite(ours) & np.isfinite(theirs)
    return ~np.where(finite, close, _same_parts(ours, theirs, bound))


def _same_parts(actual: np.ndarray, expected: np.ndarray, bound: np.ndarray) -> np.ndarray:
    """Compare elements that are not finite, a complex one part by part."""
    same = np.ones(actual.shape, bool)
    for part in (np.real, np.imag) if np.iscomplexobj(expected) else (np.real,):
        ours, theirs = part(actual), part(expected)
        with np.errstate(all="ignore"):
            near = np.isfinite(theirs) & (np.abs(ours - theirs) <= bound)
        same &= (ours == theirs) | (np.isnan(ours) & np.isnan(theirs)) | near
    return same


def _wrong_bits(actual: np.ndarray, expected: np.ndarray) -> np.ndarray:
    ours, theirs = widened(actual), widened(expected)
    parts = (np.real, np.imag) if np.iscomplexobj(theirs) else (np.real,)
    wrong = np.zeros(ours.shape, bool)
    for part in parts:
        a, b = part(ours), part(theirs)
        both_nan = np.isnan(a) & np.isnan(b)
        wrong |= ~both_nan & ((a != b) | (np.signbit(a) != np.signbit(b)))
    return wrong


def is_inexact(dtype: np.dtype) -> bool:
    """Whether a dtype is floating or complex; ``ml_dtypes``' floats count, its integers do not."""
    if dtype.kind == "V" or dtype.kind not in "biufcSUO":
        return _is_ml_float(dtype)
    return dtype.kind in "fc"


def _is_ml_float(dtype: np.dtype) -> bool:
    try:
        ml_dtypes.finfo(dtype)
    except (ValueError, TypeError):
        return False
    return True


def widened(values: np.ndarray) -> np.ndarray:
    """The same numbers in double precision."""
    return values.astype(np.complex128 if values.dtype.kind == "c" else np.float64)


def _worst(
    actual: np.ndarray, expected: np.ndarray, wrong: np.ndarray, tolerance: Tolerance
) -> str:
    """Say how many elements differ, and show the one that differs most."""
    where = tuple(int(i) for i in np.argwhere(wrong)[0])
    allowed = ""
    if is_inexact(expected.dtype) and is_inexact(actual.dtype):
        with np.errstate(all="ignore"):
            apart = np.abs(widened(actual) - widened(expected))
        apart = np.where(wrong, np.where(np.isnan(apart), np.inf, apart), -1)
        where = tuple(int(i) for i in np.unravel_index(np.argmax(apart), apart.shape))
        rtol, atol = tolerance.of(str(expected.dtype))
        allowed = " (bits)" if tolerance.exact else f" (rtol {rtol:.3g}, atol {atol:.3g})"
    return (
        f"{int(wrong.sum())} of {wrong.size} elements differ{allowed}; "
        f"at {where}: {actual[where]!r}, expected {expected[where]!r}"
    )


def _outline(description: Any) -> str:
    if isinstance(description, Node):
        return f"{description.kind} of {list(description.keys)}"
    if isinstance(description, Leaf):
        return f"{description.kind} {description.dtype} {description.shape}"
    return repr(description)

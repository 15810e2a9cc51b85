"""A value that was read, with where it was read, or the reason why it is unknown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")

OK, ABSENT, DENIED, ERROR, TIMEOUT, SKIPPED = (
    "ok",
    "absent",
    "denied",
    "error",
    "timeout",
    "skipped",
)


@dataclass(frozen=True)
class Value(Generic[T]):
    """One fact: `state` says whether `value` is known, `source` where it was looked for.

    >>> known("2.35", "confstr").value, bool(absent("/proc/version"))
    ('2.35', False)
    """

    state: str
    value: T | None
    source: str
    note: str = ""

    def __bool__(self) -> bool:
        """Whether the fact is known and is not empty or false."""
        return self.state == OK and bool(self.value)

    @property
    def is_known(self) -> bool:
        """Whether it was read, be it empty."""
        return self.state == OK


def known(value: T, source: str) -> Value[T]:
    """A value that was read."""
    return Value(OK, value, source)


def absent(source: str, note: str = "") -> Value[Any]:
    """Looked for and not there."""
    return Value(ABSENT, None, source, note)


def denied(source: str) -> Value[Any]:
    """There, and not for this user."""
    return Value(DENIED, None, source, "permission denied")


def failed(source: str, note: str) -> Value[Any]:
    """There, and not understood."""
    return Value(ERROR, None, source, note)


def timed_out(source: str, note: str) -> Value[Any]:
    """No answer in time."""
    return Value(TIMEOUT, None, source, note)


def skipped(source: str, note: str) -> Value[Any]:
    """Not looked for."""
    return Value(SKIPPED, None, source, note)

"""Find tracers that outlive the transformation that made them (the flag `check_tracer_leaks`)."""

from __future__ import annotations

import gc
from collections.abc import Callable
from types import FrameType
from typing import Any

from covector._trace.trace import Trace, Tracer
from covector.errors import UnexpectedTracerError


def without_leaks(name: str, function: Callable[..., Any], *args: Any) -> Any:
    """``function(*args)``; raises if traces that it began are still referred to afterwards.

    Raises:
      UnexpectedTracerError: a tracer of ``name`` leaked; says what refers to it.
    """
    before = set(map(id, _traces()))
    result = function(*args)
    gc.collect()
    for trace in _traces():
        if id(trace) not in before and not trace.alive:
            raise UnexpectedTracerError(_describe(name, trace))
    return result


def _traces() -> list[Trace]:
    return [x for x in gc.get_objects() if isinstance(x, Trace)]


def _describe(name: str, trace: Trace) -> str:
    lines = []
    for tracer in gc.get_referrers(trace):
        if isinstance(tracer, Tracer):
            holders = {_kind(h) for h in gc.get_referrers(tracer) if not isinstance(h, FrameType)}
            held_by = ", ".join(sorted(holders)) or "?"
            lines.append(f"  {tracer!r} {tracer.origin()}, held by {held_by}")
    found = "\n".join(lines) or f"  {trace!r}"
    return (
        f"Leaked trace {type(trace).__name__}: {name} has ended, but these of its tracers are "
        f"still referred to:\n{found}\nReturn values from the function instead of storing them."
    )


def _kind(holder: Any) -> str:
    if isinstance(holder, dict) and "__name__" in holder:
        return f"a global of {holder['__name__']}"
    return f"a {type(holder).__name__}"

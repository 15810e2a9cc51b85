"""Where in the user's program an equation comes from.

Recording must be cheap (it happens for every staged call), so a source is just the code object and
instruction offset of the first frame outside Covector, and the names of the scopes that it is in;
file and line are worked out when asked.
"""

from __future__ import annotations

import os
import sys
from types import CodeType, TracebackType
from typing import Any, NamedTuple

import jaxlib._jax as _jaxlib

import covector
from covector._config import traceback_filtering

# The folder of each installed piece: what lies in one of them is ours.
_ROOTS = tuple([os.path.abspath(path) + os.sep for path in covector.__path__])
_is_internal: dict[CodeType, bool] = {}


Scope = tuple[str, ...]

# The names of the scopes that this thread is in (`named_scope`), outermost first.
scope_state = _jaxlib.config.Config("named_scope", ())


class within_scope:
    """Context manager: what is staged is in this scope, and no other."""

    __slots__ = ("old", "scope")

    def __init__(self, scope: Scope):
        self.scope = scope

    def __enter__(self) -> None:
        self.old = scope_state.swap_local(self.scope)

    def __exit__(self, *exc: Any) -> None:
        scope_state.set_local(self.old)


def transformed_scope(transformation: str, scope: Scope) -> Scope:
    """``("jvp(a)", "b")`` for ``("a", "b")``: where derived equations are."""
    return (f"{transformation}({scope[0]})", *scope[1:]) if scope else ()


class Source(NamedTuple):
    """A place in the user's code: a code object and the offset of an instruction in it."""

    code: CodeType
    offset: int
    scope: Scope = ()

    @property
    def file(self) -> str:
        return self.code.co_filename

    @property
    def function(self) -> str:
        return self.code.co_qualname

    @property
    def line(self) -> int:
        positions = list(self.code.co_positions())
        line = positions[self.offset // 2][0] if self.offset // 2 < len(positions) else None
        return line if line is not None else self.code.co_firstlineno

    @property
    def name_stack(self) -> str:
        """The names of the scopes around, as in ``outer/inner``."""
        return "/".join(self.scope)

    def __str__(self) -> str:
        return f"{self.file}:{self.line} ({self.function})"


def is_internal(code: CodeType) -> bool:
    """Whether a code object belongs to Covector itself."""
    known = _is_internal.get(code)
    if known is None:
        name = code.co_filename
        known = name.startswith(("<frozen", *_ROOTS))
        _is_internal[code] = known
    return known


def current_source() -> Source | None:
    """The innermost frame that is not Covector's own. Hot: 0.3 us at usual depths."""
    frame = sys._getframe(1)
    internal = _is_internal
    while frame is not None:
        code = frame.f_code
        known = internal.get(code)
        if known is None:
            known = is_internal(code)
        if not known:
            return Source(code, frame.f_lasti, scope_state.value)
        frame = frame.f_back
    return None


def user_traceback(traceback: TracebackType | None) -> TracebackType | None:
    """The traceback without Covector's own frames (all of it when nothing would be left)."""
    kept = []
    walk = traceback
    while walk is not None:
        if not is_internal(walk.tb_frame.f_code):
            kept.append(walk)
        walk = walk.tb_next
    if not kept:
        return traceback
    result = None
    for part in reversed(kept):
        result = TracebackType(result, part.tb_frame, part.tb_lasti, part.tb_lineno)
    return result


_NOTE = "(Covector's own frames are hidden; COVECTOR_TRACEBACK_FILTERING=off shows them.)"


def hide_frames(error: Exception) -> Exception:
    """The error, with a traceback of the user's frames alone: ``raise hide_frames(error)``."""
    if traceback_filtering.value == "off":
        return error
    shorter = user_traceback(error.__traceback__)
    if shorter is not error.__traceback__:
        error.__traceback__ = shorter
        if _NOTE not in getattr(error, "__notes__", ()):
            error.add_note(_NOTE)
    return error

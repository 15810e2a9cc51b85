"""Bounded memos, and the one place that can empty them all."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

from covector._ir.jaxpr import interned_jaxprs

_MISSING = object()


class Memo(dict):
    """A dictionary that forgets its oldest entries beyond `bound`, emptied by `clear_caches`."""

    __slots__ = ("__weakref__", "bound")

    def __init__(self, bound: int = 4096):
        super().__init__()
        self.bound = bound
        _memos.append(weakref.ref(self, _memos.remove))

    def store(self, key: Any, value: Any) -> Any:
        """Keep ``value``; if another thread was first, return what it kept."""
        value = self.setdefault(key, value)
        while len(self) > self.bound:
            with _lock:
                if len(self) > self.bound:
                    self.pop(next(iter(self)), None)
        return value


class MemosByFunction:
    """A memo for each function, that goes when the function does."""

    def __init__(self) -> None:
        self._memos: weakref.WeakKeyDictionary[Any, Memo] = weakref.WeakKeyDictionary()

    def of(self, fun: Callable[..., Any]) -> Memo:
        """The memo of ``fun``; a new one for a callable that cannot be a key."""
        try:
            memo = self._memos.get(fun)
            return self._memos.setdefault(fun, Memo()) if memo is None else memo
        except TypeError:  # not hashable or not weakly referable
            return Memo()


_memos: list[weakref.ref[Memo]] = []
_lock = threading.Lock()
_on_clear: list[Callable[[], None]] = []


def on_clear(function: Callable[[], None]) -> Callable[[], None]:
    """Have ``function`` called by `clear_caches` too."""
    _on_clear.append(function)
    return function


def clear_caches() -> None:
    """Forget every traced program, derived program and compiled executable in memory.

    The disk cache stays; see `docs/configuration.md` for its place and how to switch it off.

    >>> import covector
    >>> covector.clear_caches()
    """
    for reference in list(_memos):
        memo = reference()
        if memo is not None:
            memo.clear()
    for jaxpr in interned_jaxprs():
        jaxpr.memo.clear()
        jaxpr._executable = None
    for function in _on_clear:
        function()

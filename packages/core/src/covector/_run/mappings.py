"""Keep the process below the system's limit of memory mappings.

An executable for the CPU takes three mappings or more, and Linux allows a process 65,530 by
default. Beyond that XLA does not report an error, but crashes. So when most of them are taken,
executables are forgotten; a program that is called again is compiled again, or loaded from disk.
"""

from __future__ import annotations

import functools
import gc

import jaxlib._jax as _jaxlib

from covector._ir.jaxpr import interned_jaxprs

_SHARE = 0.7  # of the limit, at which executables are forgotten
_EVERY = 64  # how many executables are made between two looks

_made = 0


@functools.cache
def limit() -> int | None:
    """How many mappings the process may have, or None where that is not known."""
    try:
        with open("/proc/sys/vm/max_map_count", encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return None


def count() -> int:
    """How many mappings the process has."""
    with open("/proc/self/maps", "rb") as file:
        return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))


def make_room() -> None:
    """Called before an executable is made: forget others if there is little room."""
    global _made
    _made += 1
    most = limit()
    if _made % _EVERY == 0 and most is not None and count() > _SHARE * most:
        forget_executables()


def forget_executables() -> None:
    """Let go of all executables that no user holds. Traced programs are kept."""
    for jaxpr in interned_jaxprs():
        jaxpr._executable = None
        for key in [k for k in list(jaxpr.memo) if isinstance(k, tuple) and k[0] == "execution"]:
            jaxpr.memo.pop(key, None)
    _jaxlib.PjitFunctionCache.clear_all()
    gc.collect()

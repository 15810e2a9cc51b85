"""Why a jitted function is traced: the flags `no_tracing` and `explain_cache_misses`."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import jaxlib._jax as _jaxlib

from covector._api.tracing import argument_name
from covector._config import explain_cache_misses, no_tracing
from covector._tree.registry import dispatch_registry

PARTS = ("static arguments", "structure of the arguments", "types", "configuration")


def on_miss(name: str, key: tuple, seen: Sequence[tuple]) -> None:
    """A call of ``name`` is about to be traced; these keys were ``seen`` before.

    A key is (static arguments, structure, types, trace context).

    Raises:
      RuntimeError: the flag `no_tracing` is on.
    """
    if no_tracing.value:
        raise RuntimeError(f"re-tracing function {name} for `jit`, but 'no_tracing' is set.")
    if explain_cache_misses.value:
        logging.getLogger("covector").warning("TRACING CACHE MISS: %s", explain(name, key, seen))


def explain(name: str, key: tuple, seen: Sequence[tuple]) -> str:
    """What is new about a call's key, against the most similar of those before."""
    if not seen:
        return f"{name} was never traced before (a new function object is a new function)."
    differing = [[i for i in range(len(PARTS)) if old[i] != key[i]] for old in seen]
    closest = min(range(len(seen)), key=lambda i: len(differing[i]))
    lines = [f"{name} is traced again. Against the most similar call before, new are:"]
    for i in differing[closest]:
        lines += _difference(i, key, seen[closest])
    return "\n".join(lines)


def _difference(part: int, key: tuple, old: tuple) -> list[str]:
    if PARTS[part] == "configuration":
        changed = [
            f"{name} is {value!r}, was {before!r}"
            for name, value, before in zip(
                _jaxlib.config.trace_context_names(), key[3].values, old[3].values
            )
            if value != before
        ]
        return [f"  {PARTS[part]}: {', '.join(changed)}"]
    if PARTS[part] != "types" or key[1] != old[1]:
        return [f"  {PARTS[part]}: now {key[part]}, before {old[part]}"]
    paths = dispatch_registry.flatten_with_path(key[1].unflatten(range(len(key[2]))))[0]
    return [
        f"  {argument_name(path)}: now {new!r}, before {before!r}"
        for (path, _), new, before in zip(paths, key[2], old[2])
        if new is not before
    ]

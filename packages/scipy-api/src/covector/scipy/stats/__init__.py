"""Probability distributions: the contents page of `covector.scipy.stats`.

A distribution is a module of functions, and is imported when it is first used:

    import covector.scipy.stats as stats

    stats.norm.cdf(0.0)
"""

from typing import Any

# Keep in order of the alphabet; a distribution stands in the file of its name.
_DISTRIBUTIONS = ("norm",)


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _DISTRIBUTIONS:
        raise AttributeError(f"module 'covector.scipy.stats' has no attribute {name!r}")
    return import_module(f"covector.scipy.stats.{name}")


def __dir__() -> list[str]:
    return sorted(_DISTRIBUTIONS)

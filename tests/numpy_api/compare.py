"""Compare a list of snippets with the oracle, each with the inputs that it names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from oracle import Case
from oracle.compare import Tolerance

from numpy_api.inputs import used


def compare_all(oracle: Any, snippets: str | Iterable[str], **tolerance: Any) -> None:
    """Assert that each snippet gives the same value, dtype and shape in both implementations.

    ``snippets`` is a text with one in each line, or a list.
    """
    cases = [Case(s, used(s), Tolerance(**tolerance)) for s in _each(snippets)]
    oracle.compare_many(cases)


def compare_errors(oracle: Any, snippets: str | Iterable[str]) -> None:
    """Assert that each snippet raises in both, so that what catches JAX's error catches ours."""
    for snippet in _each(snippets):
        oracle.compare_error(snippet, **used(snippet))


def _each(snippets: str | Iterable[str]) -> list[str]:
    lines = snippets.splitlines() if isinstance(snippets, str) else list(snippets)
    return [line.strip() for line in lines if line.strip()]

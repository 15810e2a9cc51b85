"""Compare a list of snippets with the oracle, each with the inputs that it names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from oracle import Case
from oracle.compare import Tolerance

from numpy_api.inputs import used


def compare_all(oracle: Any, snippets: Iterable[str], **tolerance: Any) -> None:
    """Assert that each snippet gives the same value, dtype and shape in both implementations."""
    cases = [Case(s, used(s), Tolerance(**tolerance)) for s in snippets]
    oracle.compare_many(cases)


def compare_errors(oracle: Any, snippets: Iterable[str]) -> None:
    """Assert that each snippet raises in both, so that what catches JAX's error catches ours."""
    for snippet in snippets:
        oracle.compare_error(snippet, **used(snippet))

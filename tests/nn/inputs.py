"""Arrays that the tables of this folder's tests name, seeded; and comparing with the oracle."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
from oracle import Case
from oracle.compare import Tolerance

_rng = np.random.default_rng(0)
X = np.array([-30.0, -3.0, -1.0, -0.5, -0.0, 0.0, 0.25, 1.0, 3.0, 6.0, 40.0, 1e4], np.float32)
ARRAYS = {
    "x": X,
    "edge": np.array([np.inf, -np.inf, np.nan, 1e-45, 1e30, -1e30], np.float32),
    "i": np.array([[-2, 0], [3, 7]], np.int32),
    "b": np.array([True, False]),
    "h": X[1:-2].astype(ml_dtypes.bfloat16),
    "c": np.array([-1.0 + 1j, 0.5, 0.25 - 2j, 2j], np.complex64),
    "m": _rng.normal(size=(3, 4)).astype(np.float32),
    "w": _rng.normal(size=(3, 4)) > 0,
    "none": np.zeros((2, 0), np.float32),
    "empty": np.zeros((0, 3), np.float32),
}


def compare_all(oracle: Any, snippets: str, arrays: dict[str, Any] = ARRAYS, **tolerance: Any):
    """Assert that each line gives the same value, dtype and shape in both implementations."""
    lines = [line.strip() for line in snippets.splitlines() if line.strip()]
    oracle.compare_many([Case(s, used(s, arrays), Tolerance(**tolerance)) for s in lines])


def compare_errors(oracle: Any, snippets: str, arrays: dict[str, Any] = ARRAYS) -> None:
    """Assert that each line raises in both, so that what catches JAX's error catches ours."""
    for line in filter(None, map(str.strip, snippets.splitlines())):
        oracle.compare_error(line, **used(line, arrays))


def used(snippet: str, arrays: dict[str, Any]) -> dict[str, Any]:
    """The arrays that a snippet names."""
    words = set(re.findall(r"[A-Za-z_]\w*", snippet))
    return {name: value for name, value in arrays.items() if name in words}


def together(arguments: str, calls: list[str]) -> str:
    """A snippet of one program that makes all calls, to be compiled once."""
    return f"jax.jit(lambda {arguments}: [{', '.join(calls)}])({arguments})"

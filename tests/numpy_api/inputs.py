"""Arrays that the tables of this folder's tests name: one letter a dtype, seeded."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np


def arrays() -> dict[str, np.ndarray]:
    """Inputs by name: ``f`` float32 (2, 3), ``v`` a vector, ``i`` int32, ``c`` complex64, ..."""
    rng = np.random.default_rng(0)
    f = rng.normal(size=(2, 3)).astype(np.float32)
    return {
        "f": f,
        "g": rng.normal(size=(2, 3)).astype(np.float32),
        "v": rng.normal(size=3).astype(np.float32),
        "w": rng.normal(size=(3, 4)).astype(np.float32),
        "t": rng.normal(size=(2, 3, 4)).astype(np.float32),
        "p": rng.uniform(0.1, 0.9, size=(2, 3)).astype(np.float32),
        "h": rng.normal(size=(2, 3)).astype(ml_dtypes.bfloat16),
        "i": rng.integers(-5, 6, size=(2, 3)).astype(np.int32),
        "j": rng.integers(1, 6, size=(2, 3)).astype(np.int32),
        "i8": rng.integers(-5, 6, size=(2, 3)).astype(np.int8),
        "u8": rng.integers(0, 9, size=(2, 3)).astype(np.uint8),
        "b": np.array([[True, False, True], [False, False, True]]),
        "c": (f + 1j * rng.normal(size=(2, 3))).astype(np.complex64),
        "edge": np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 3.4e38, -1.5], np.float32),
        "empty": np.zeros((0, 3), np.float32),
        "s": np.float32(1.5).reshape(()),
    }


def used(snippet: str) -> dict[str, Any]:
    """The inputs that a snippet names."""
    import re

    words = set(re.findall(r"[A-Za-z_]\w*", snippet))
    return {name: value for name, value in arrays().items() if name in words}

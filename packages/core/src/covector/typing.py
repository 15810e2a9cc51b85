"""`covector.typing`: types for annotations of functions that take arrays.

>>> from covector.typing import ArrayLike
>>> isinstance(1.0, ArrayLike), isinstance([1.0], ArrayLike)
(True, False)
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from covector._run.array import Array


class SupportsDType(Protocol):
    """Anything with a ``dtype``."""

    @property
    def dtype(self) -> np.dtype: ...


# What operations take in place of an array. (Lists and tuples are no arrays: see `jnp.array`.)
ArrayLike = Array | np.ndarray | np.bool | np.number | bool | int | float | complex

# What names an element type: a name, a scalar type, a NumPy dtype, or something that has one.
DTypeLike = str | type[Any] | np.dtype | SupportsDType

__all__ = ["ArrayLike", "DTypeLike"]

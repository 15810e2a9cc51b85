"""What code that follows the array API standard asks of the namespace."""

from __future__ import annotations

from typing import Any

import numpy as np
from covector._ir import dtypes
from covector._run import client
from covector.numpy._scalar_types import isdtype

_NAMES = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128"
)
_DEFAULTS = {
    "real floating": float,
    "complex floating": complex,
    "integral": int,
    "indexing": int,
}


def __array_namespace_info__() -> ArrayNamespaceInfo:
    """An object that says what the namespace offers: capabilities, devices, dtypes.

    >>> jnp.__array_namespace_info__().default_dtypes()["real floating"]
    dtype('float32')
    """
    return ArrayNamespaceInfo()


class ArrayNamespaceInfo:
    """What `covector.numpy` offers, in the words of the array API standard."""

    def capabilities(self) -> dict[str, Any]:
        """Which optional parts hold everywhere; shapes that depend on data do not under `jit`."""
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 64}

    def default_device(self) -> Any:
        """The device that new arrays are put on."""
        return client.default_device()

    def devices(self) -> list[Any]:
        """All devices that arrays can be put on."""
        return client.devices()

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype]:
        """The dtypes of numbers that come without one; the same on every device."""
        return {kind: dtypes.scalar_dtype(scalar) for kind, scalar in _DEFAULTS.items()}

    def dtypes(
        self, *, device: Any = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, np.dtype]:
        """The dtypes of the standard by name, or those of a kind (see `isdtype`).

        There are more than the standard's; those of 64 bits are there if they are enabled.

        Raises:
          ValueError: ``kind`` is none of the standard's.
        """
        found = [np.dtype(name) for name in _NAMES.split()]
        found = [d for d in found if dtypes.canonicalize_dtype(d) == d]
        return {d.name: d for d in found if kind is None or isdtype(d, kind)}

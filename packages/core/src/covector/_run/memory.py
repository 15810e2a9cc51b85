"""The memories of a device, by what they are for."""

from __future__ import annotations

import enum
from types import SimpleNamespace
from typing import Any


class MemorySpace(enum.Enum):
    """Where a value is: `Device` is the memory next to the processor, `Host` that of the CPU."""

    Device = enum.auto()
    Host = enum.auto()
    Any = enum.auto()

    def __repr__(self) -> str:
        return f"MemorySpace.{self.name}"

    @property
    def kind(self) -> str | None:
        """The name that a device and shardings have for it; None for any."""
        return _KINDS.get(self)


_KINDS = {MemorySpace.Device: "device", MemorySpace.Host: "pinned_host"}


def memory_kind_of(place: Any) -> str | None:
    """The kind of memory that a place asks for, if it asks for one."""
    if isinstance(place, MemorySpace):
        return place.kind
    return getattr(place, "_memory_kind", None)


def memory_space(kind: Any) -> Any:
    """A policy's or user's name of a memory, as a place: ``"pinned_host"`` is the host's."""
    if isinstance(kind, str):
        return MemorySpace.Device if kind == "device" else MemorySpace.Host
    return kind


memory = SimpleNamespace(Space=MemorySpace)

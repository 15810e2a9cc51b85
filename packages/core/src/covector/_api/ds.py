"""`ds`: a part of an axis by its start, which may be traced, and its size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from covector.tree_util import register_pytree_node

_UNGIVEN: Any = type("_Ungiven", (), {"__repr__": lambda self: "..."})()


@dataclass(frozen=True)
class Slice:
    """An index for a part of an axis: ``start:start + size:stride``. Made by `ds`."""

    start: Any
    size: Any
    stride: int = 1

    @property
    def is_dynamic_start(self) -> bool:
        """Whether the start is an array or traced."""
        return hasattr(self.start, "aval")

    @property
    def is_dynamic_size(self) -> bool:
        """Whether the size is an array or traced (which no index may be)."""
        return hasattr(self.size, "aval")

    @classmethod
    def from_slice(cls, part: slice, size: int) -> Slice:
        """A slice of an axis of that size."""
        start, stop, stride = part.indices(size)
        return cls(start, len(range(start, stop, stride)), stride)


def _flatten(part: Slice) -> tuple[tuple, tuple]:
    values = (part.start, part.size)
    return tuple([v for v in values if hasattr(v, "aval")]), (
        *[None if hasattr(v, "aval") else v for v in values],
        part.stride,
    )


def _unflatten(known: tuple, given: Any) -> Slice:
    rest = iter(given)
    start, size = [next(rest) if v is None else v for v in known[:2]]
    return Slice(start, size, known[2])


register_pytree_node(Slice, _flatten, _unflatten)


def ds(start: Any, size: Any = _UNGIVEN, stride: int | None = None) -> slice | Slice:
    """An index for ``size`` elements from ``start`` on, which may be traced.

    ``ds(None)`` is ``:``, ``ds(j)`` is ``:j``, ``ds(i, j)`` is ``i:i + j``, and
    ``ds(i, j, stride)`` is ``i:i + j:stride``. Where a start that is not known lies too near the
    end of the axis, it is moved back, so that there are ``size`` elements.

    Raises:
      TypeError: a start or stride of None goes with no size.

    >>> import covector.numpy as jnp
    >>> jnp.arange(5)[covector.ds(1, 2)]
    Array([1, 2], dtype=int32)
    >>> covector.jit(lambda i: jnp.arange(5)[covector.ds(i, 2)])(3)
    Array([3, 4], dtype=int32)
    """
    if size is _UNGIVEN:
        if start is None:
            return slice(None)
        start, size = 0, start
    elif size is None:
        raise TypeError(f"ds: size must be an integer, got None (with start={start!r}).")
    return Slice(0 if start is None else start, size, 1 if stride is None else stride)

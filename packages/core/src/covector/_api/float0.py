"""float0 arrays, the tangents of integers, on their way into and out of programs.

They hold nothing, and no program can take one. So they travel as part of the tree's structure: a
`Float0Zeros` is a node without leaves, which becomes a NumPy array again when the tree is rebuilt.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from covector._ir.dtypes import float0
from covector._tree.registry import dispatch_registry, register_dispatch_node


class Float0Zeros:
    """Stands in a tree for a float0 array of this shape."""

    __slots__ = ("shape",)

    def __init__(self, shape: tuple[int, ...]):
        self.shape = shape


register_dispatch_node(
    Float0Zeros, lambda zeros: ((), zeros.shape), lambda shape, _: np.zeros(shape, float0)
)


def is_float0(x: Any) -> bool:
    """Whether a value is an array of dtype float0."""
    return isinstance(x, np.ndarray) and x.dtype == float0


def hide_float0(leaves: Sequence[Any], tree: Any) -> tuple[Sequence[Any], Any]:
    """A flattened tree in which float0 arrays are part of the structure."""
    for x in leaves:  # not any(...): this is part of every call with tracers
        if isinstance(x, np.ndarray) and x.dtype == float0:
            break
    else:
        return leaves, tree
    hidden = [Float0Zeros(x.shape) if is_float0(x) else x for x in leaves]
    return dispatch_registry.flatten(tree.unflatten(hidden))

"""Functions on trees of containers, under short names: `covector.tree`."""

from __future__ import annotations

from typing import Any

from covector.tree_util import tree_all as all
from covector.tree_util import tree_broadcast as broadcast
from covector.tree_util import tree_flatten as flatten
from covector.tree_util import tree_flatten_with_path as flatten_with_path
from covector.tree_util import tree_leaves as leaves
from covector.tree_util import tree_leaves_with_path as leaves_with_path
from covector.tree_util import tree_map as map
from covector.tree_util import tree_map_with_path as map_with_path
from covector.tree_util import tree_reduce as reduce
from covector.tree_util import tree_reduce_associative as reduce_associative
from covector.tree_util import tree_structure as structure
from covector.tree_util import tree_transpose as transpose
from covector.tree_util import tree_unflatten as unflatten

__all__ = [
    "all",
    "broadcast",
    "flatten",
    "flatten_with_path",
    "leaves",
    "leaves_with_path",
    "map",
    "map_with_path",
    "reduce",
    "reduce_associative",
    "static",
    "structure",
    "transpose",
    "unflatten",
]


def static(**kwargs: Any) -> Any:
    """A dataclass field that `covector.tree_util.register_dataclass` takes as metadata.

    Args:
        **kwargs: as for `dataclasses.field`.

    >>> import dataclasses
    >>> from covector.tree_util import register_dataclass
    >>> @register_dataclass
    ... @dataclasses.dataclass
    ... class Dropout:
    ...     mask: float
    ...     rate: float = static(default=0.5)
    >>> leaves(Dropout(1.0))
    [1.0]
    """
    import dataclasses

    metadata = {"static": True, **(kwargs.pop("metadata", None) or {})}
    return dataclasses.field(metadata=metadata, **kwargs)

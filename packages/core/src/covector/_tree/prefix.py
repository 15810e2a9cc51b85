"""Prefix trees: one value that stands for a whole subtree, and messages when it cannot.

`in_axes=(0, None)` is a prefix of the arguments `((x, y), z)`: 0 holds for x and y, None for z. The
work is done on treedefs alone, without building objects of the user's classes, and memoized.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from covector._tree.registry import PyTreeDef, registry


def is_none(x: Any) -> bool:
    """Whether x is None: the predicate that makes None a leaf."""
    return x is None


def flatten_axes(name: str, treedef: PyTreeDef, axis_tree: Any) -> list[Any]:
    """One value of a prefix tree for each leaf of a tree; None counts as a value.

    Args:
        name: what the prefix tree specifies, for messages: "vmap: in_axes".
        treedef: structure of the whole tree.
        axis_tree: the prefix tree.

    Raises:
        ValueError: it is not a prefix; says where and how the two differ.

    >>> _, treedef = registry.flatten(((1, 2), 3))
    >>> flatten_axes("in_axes", treedef, (0, None))
    [0, 0, None]
    """
    if type(axis_tree) in (int, type(None)):
        return [axis_tree] * treedef.num_leaves
    leaves, prefix = registry.flatten(axis_tree, is_none)
    counts = _leaf_counts(prefix, treedef)
    if counts is None:
        mismatch = find_mismatch(axis_tree, treedef, is_none, (name, "the value"))
        raise ValueError(
            f"{name} must have the structure of the value that it describes, or be a prefix of "
            f"it, but {mismatch}\nIt is {axis_tree!r}, the value has the structure {treedef}."
        )
    return _repeat(leaves, counts)


def broadcast_prefix(
    prefix_tree: Any, full_tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> list[Any]:
    """One value of a prefix tree for each leaf of a tree; None is an empty tree.

    Args:
        prefix_tree: a tree whose leaves stand for subtrees of full_tree.
        full_tree: the whole tree.
        is_leaf: what else counts as a leaf of prefix_tree.

    Raises:
        ValueError: prefix_tree is not a prefix of full_tree.

    >>> broadcast_prefix({"a": 0, "b": 1}, {"a": [5, 6], "b": 7})
    [0, 0, 1]
    """
    leaves, prefix = registry.flatten(prefix_tree, is_leaf)
    full = registry.flatten(full_tree)[1]
    counts = _leaf_counts(prefix, full)
    if counts is None:
        raise ValueError(
            "broadcast_prefix: the first tree must be a prefix of the second, but "
            + find_mismatch(prefix_tree, full, is_leaf)
        )
    return _repeat(leaves, counts)


def prefix_errors(
    prefix_tree: Any, full_tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> list[str]:
    """Why one tree is not a prefix of another: the first difference as text, or nothing.

    >>> prefix_errors([0, 0], [1, 2, 3])
    ['at the top, the first is a list of 2 but the second is a list of 3.']
    >>> prefix_errors([0, 0], [1, {"a": 2}])
    []
    """
    message = find_mismatch(prefix_tree, registry.flatten(full_tree)[1], is_leaf)
    return [message] if message else []


@functools.lru_cache(4096)
def _leaf_counts(prefix: PyTreeDef, full: PyTreeDef) -> tuple[int, ...] | None:
    """For each leaf of a prefix the number of leaves that it stands for; None if it is none."""
    node = prefix.node_data()
    if node is None:
        return (full.num_leaves,)
    children, full_children = prefix.children(), full.children()
    if node != full.node_data() or len(children) != len(full_children):
        return None
    counts: list[int] = []
    for child, full_child in zip(children, full_children, strict=True):
        inner = _leaf_counts(child, full_child)
        if inner is None:
            return None
        counts.extend(inner)
    return tuple(counts)


def _repeat(leaves: list[Any], counts: tuple[int, ...]) -> list[Any]:
    return [leaf for leaf, count in zip(leaves, counts, strict=True) for _ in range(count)]


def find_mismatch(
    prefix_tree: Any,
    full: PyTreeDef,
    is_leaf: Callable[[Any], bool] | None = None,
    names: tuple[str, str] = ("the first", "the second"),
    path: tuple[Any, ...] = (),
) -> str:
    """The first place where a tree is not a prefix of a structure, as text; "" if nowhere."""
    one_level = registry.flatten(
        prefix_tree, lambda x: x is not prefix_tree or (is_leaf is not None and is_leaf(x))
    )[1]
    if one_level.node_data() is None:
        return ""
    children, full_children = one_level.children(), full.children()
    if one_level.node_data() != full.node_data() or len(children) != len(full_children):
        where = f"at {path_text(path)}" if path else "at the top"
        first, second = names
        return f"{where}, {first} is {_describe(one_level)} but {second} is {_describe(full)}."
    keyed_children = registry.flatten_one_level_with_keys(prefix_tree)[0]
    for (key, child), full_child in zip(keyed_children, full_children, strict=True):
        message = find_mismatch(child, full_child, is_leaf, names, (*path, key))
        if message:
            return message
    return ""


def path_text(path: tuple[Any, ...]) -> str:
    """A key path as Python would write it: ``['a'][0].weight``."""
    return "".join(map(str, path))


def _describe(treedef: PyTreeDef) -> str:
    """A node in words: its type, and what distinguishes it from others of the type."""
    node = treedef.node_data()
    if node is None:
        return "a leaf"
    kind, data = node
    if kind is type(None):
        return "None"
    if kind is dict:
        return f"a dict with the keys {list(data)}"
    if data is None or isinstance(data, type) or kind in (list, tuple):
        return f"a {kind.__name__} of {len(treedef.children())}"
    return f"a {kind.__name__} with the metadata {data!r}"

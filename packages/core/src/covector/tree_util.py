"""Trees of containers: flatten them, map over them, and register your own: `covector.tree_util`.

A pytree is nested tuples, lists, dicts, named tuples, None, and registered types; everything else
is a leaf. `covector.tree` has the same functions under short names.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable
from typing import Any, TypeVar

from covector._tree.prefix import broadcast_prefix, find_mismatch
from covector._tree.registration import Partial as Partial
from covector._tree.registration import register_dataclass as register_dataclass
from covector._tree.registration import register_pytree_node as register_pytree_node
from covector._tree.registration import register_pytree_node_class as register_pytree_node_class
from covector._tree.registration import register_pytree_with_keys as register_pytree_with_keys
from covector._tree.registration import (
    register_pytree_with_keys_class as register_pytree_with_keys_class,
)
from covector._tree.registration import register_static as register_static
from covector._tree.registry import PyTreeDef as PyTreeDef
from covector._tree.registry import pytree as _pytree
from covector._tree.registry import registry as default_registry

__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "Partial",
    "PyTreeDef",
    "SequenceKey",
    "all_leaves",
    "default_registry",
    "flatten_one_level",
    "flatten_one_level_with_keys",
    "is_tree_node",
    "keystr",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "tree_all",
    "tree_broadcast",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_with_path",
    "tree_reduce",
    "tree_reduce_associative",
    "tree_structure",
    "tree_transpose",
    "tree_unflatten",
    "treedef_children",
    "treedef_is_leaf",
    "treedef_tuple",
]

SequenceKey = _pytree.SequenceKey
DictKey = _pytree.DictKey
GetAttrKey = _pytree.GetAttrKey
FlattenedIndexKey = _pytree.FlattenedIndexKey

KeyEntry = TypeVar("KeyEntry", bound=Hashable)
KeyPath = tuple[KeyEntry, ...]
IsLeaf = Callable[..., bool]

_MISSING: Any = object()

# --- Flatten and map --------------------------------------------------------------------------


def tree_flatten(tree: Any, is_leaf: IsLeaf | None = None) -> tuple[list[Any], PyTreeDef]:
    """The leaves of a tree, and its structure.

    Args:
        tree: any pytree. None has no leaves; dicts are in the order of their sorted keys.
        is_leaf: called on each node; where it returns true, the node is a leaf.

    Raises:
        ValueError: a dict has keys that cannot be sorted.

    >>> tree_flatten({"b": 1, "a": (2, None)})
    ([2, 1], PyTreeDef({'a': (*, None), 'b': *}))
    """
    return default_registry.flatten(tree, is_leaf)


def tree_unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """The tree of this structure with these leaves.

    Raises:
        ValueError: the number of leaves is wrong.

    >>> leaves, treedef = tree_flatten({"a": 1, "b": (2, 3)})
    >>> tree_unflatten(treedef, [10, 20, 30])
    {'a': 10, 'b': (20, 30)}
    """
    return treedef.unflatten(leaves)


def tree_leaves(tree: Any, is_leaf: IsLeaf | None = None) -> list[Any]:
    """The leaves of a tree.

    >>> tree_leaves([1, (2, [3]), None])
    [1, 2, 3]
    """
    return default_registry.flatten(tree, is_leaf)[0]


def tree_structure(tree: Any, is_leaf: IsLeaf | None = None) -> PyTreeDef:
    """The structure of a tree: hashable, and equal for trees that differ only in leaves.

    >>> tree_structure([1, 2]) == tree_structure(["a", "b"])
    True
    """
    return default_registry.flatten(tree, is_leaf)[1]


def tree_map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf | None = None) -> Any:
    """The tree of the results of f on the leaves.

    Args:
        f: called with one leaf of each tree.
        tree: gives the structure of the result.
        *rest: trees of the same structure, or of which it is a prefix: where tree has a leaf,
            f gets their whole subtree.
        is_leaf: what else is a leaf of tree.

    Raises:
        ValueError: another tree has a different structure; says where.

    >>> tree_map(lambda x, y: x + y, {"a": 1, "b": (2, 3)}, {"a": 10, "b": (20, 30)})
    {'a': 11, 'b': (22, 33)}
    """
    leaves, treedef = default_registry.flatten(tree, is_leaf)
    if not rest:
        return treedef.unflatten(map(f, leaves))
    others = _flatten_others("tree_map", tree, treedef, rest, is_leaf)
    return treedef.unflatten(map(f, leaves, *others))


def _flatten_others(
    name: str, tree: Any, treedef: PyTreeDef, rest: tuple, is_leaf: IsLeaf | None
) -> list[list[Any]]:
    """The subtrees of further trees at the leaves of the first one."""
    try:
        return [treedef.flatten_up_to(other) for other in rest]
    except ValueError as error:
        for position, other in enumerate(rest, start=2):
            mismatch = find_mismatch(tree, tree_structure(other), is_leaf)
            if mismatch:
                raise ValueError(
                    f"{name}: tree {position} must have the structure of the first tree, "
                    f"but {mismatch}"
                ) from None
        raise ValueError(f"{name}: {error}") from None


def tree_reduce(
    function: Callable[[Any, Any], Any],
    tree: Any,
    initializer: Any = _MISSING,
    is_leaf: IsLeaf | None = None,
) -> Any:
    """The leaves combined from left to right, as `functools.reduce`.

    >>> import operator
    >>> tree_reduce(operator.add, {"a": 1, "b": [2, 3]})
    6
    """
    start = () if initializer is _MISSING else (initializer,)
    return functools.reduce(function, tree_leaves(tree, is_leaf), *start)


def tree_reduce_associative(
    operation: Callable[[Any, Any], Any],
    tree: Any,
    *,
    identity: Any = _MISSING,
    is_leaf: IsLeaf | None = None,
) -> Any:
    """The leaves combined pairwise in a balanced way, so that partial results are independent.

    Args:
        operation: an associative function of two values.
        identity: the result for a tree without leaves.

    >>> tree_reduce_associative(lambda x, y: f"({x}{y})", list("abcd"))
    '((ab)(cd))'
    """
    leaves = tree_leaves(tree, is_leaf)
    if not leaves:
        if identity is _MISSING:
            raise TypeError("tree_reduce_associative: a tree without leaves needs an identity.")
        return identity

    def reduce(values: list[Any]) -> Any:
        if len(values) == 1:
            return values[0]
        half = len(values) // 2
        return operation(reduce(values[:half]), reduce(values[half:]))

    return reduce(leaves)


def tree_all(tree: Any, *, is_leaf: IsLeaf | None = None) -> bool:
    """Whether all leaves are true.

    >>> tree_all({"a": True, "b": [1, 0]})
    False
    """
    return all(tree_leaves(tree, is_leaf))


def all_leaves(iterable: Iterable[Any], is_leaf: IsLeaf | None = None) -> bool:
    """Whether no element is itself a tree node.

    >>> all_leaves([1, 2]), all_leaves([1, (2, 3)])
    (True, False)
    """
    elements = list(iterable)
    leaves = tree_leaves(elements, is_leaf)
    return len(leaves) == len(elements) and all(map(_is, leaves, elements))


def _is(a: Any, b: Any) -> bool:
    return a is b


def tree_broadcast(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf | None = None) -> Any:
    """A tree of the structure of full_tree, with the values of a prefix of it.

    Args:
        prefix_tree: each of its leaves stands for the subtree of full_tree at that place.
        full_tree: gives the structure.
        is_leaf: what else is a leaf, of both.

    Raises:
        ValueError: prefix_tree is not a prefix of full_tree.

    >>> tree_broadcast({"a": 0, "b": 1}, {"a": [5, 6], "b": 7})
    {'a': [0, 0], 'b': 1}
    """
    values = broadcast_prefix(prefix_tree, full_tree, is_leaf)
    return tree_structure(full_tree).unflatten(values)


def tree_transpose(
    outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: Any
) -> Any:
    """Exchange the levels of a tree of trees: a list of dicts becomes a dict of lists.

    Args:
        outer_treedef: the structure of the outer levels.
        inner_treedef: the structure of each of their leaves; None takes that of the first.
        pytree_to_transpose: a tree whose structure is the two composed.

    Raises:
        TypeError: it has another structure.

    >>> outer, inner = tree_structure([0, 0]), tree_structure({"a": 0, "b": 0})
    >>> tree_transpose(outer, inner, [{"a": 1, "b": 2}, {"a": 3, "b": 4}])
    {'a': [1, 3], 'b': [2, 4]}
    """
    leaves, treedef = tree_flatten(pytree_to_transpose)
    if inner_treedef is None:
        inner_treedef = tree_structure(outer_treedef.flatten_up_to(pytree_to_transpose)[0])
    expected = outer_treedef.compose(inner_treedef)
    if treedef != expected:
        raise TypeError(
            f"tree_transpose: the tree must have the structure\n    {expected}\n"
            f"(outer composed with inner), but has\n    {treedef}"
        )
    width, height = inner_treedef.num_leaves, outer_treedef.num_leaves
    columns = [leaves[i : width * height : width] for i in range(width)]
    return inner_treedef.unflatten(map(outer_treedef.unflatten, columns))


# --- Paths ------------------------------------------------------------------------------------


def tree_flatten_with_path(
    tree: Any, is_leaf: IsLeaf | None = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
    """The leaves, each with the path that leads to it, and the structure.

    Args:
        tree: any pytree.
        is_leaf: what else is a leaf.
        is_leaf_takes_path: call `is_leaf(path, node)` instead of `is_leaf(node)`.

    >>> pairs, _ = tree_flatten_with_path({"a": [1, 2]})
    >>> [(keystr(path), leaf) for path, leaf in pairs]
    [("['a'][0]", 1), ("['a'][1]", 2)]
    """
    if is_leaf is None or is_leaf_takes_path:
        predicate = is_leaf
    else:
        predicate = lambda path, node: is_leaf(node)
    return default_registry.flatten_with_path(tree, predicate)


def tree_leaves_with_path(
    tree: Any, is_leaf: IsLeaf | None = None, is_leaf_takes_path: bool = False
) -> list[tuple[KeyPath, Any]]:
    """The leaves, each with the path that leads to it.

    >>> tree_leaves_with_path([7])
    [((SequenceKey(idx=0),), 7)]
    """
    return tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


def tree_map_with_path(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: IsLeaf | None = None,
    is_leaf_takes_path: bool = False,
) -> Any:
    """`tree_map` with a function that gets the path before the leaves.

    >>> tree_map_with_path(lambda path, x: f"{keystr(path)}={x}", {"a": [1, 2]})
    {'a': ["['a'][0]=1", "['a'][1]=2"]}
    """
    pairs, treedef = tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    paths, leaves = [path for path, _ in pairs], [leaf for _, leaf in pairs]
    others = _flatten_others(
        "tree_map_with_path", tree, treedef, rest, None if is_leaf_takes_path else is_leaf
    )
    return treedef.unflatten(map(f, paths, leaves, *others))


def keystr(keys: KeyPath, *, simple: bool = False, separator: str = "") -> str:
    """A path as text.

    Args:
        keys: a path, as in `tree_flatten_with_path`.
        simple: write the bare names and indices instead of Python's syntax.
        separator: what stands between them; only with `simple`.

    >>> path = (DictKey("layers"), SequenceKey(0), GetAttrKey("weight"))
    >>> keystr(path), keystr(path, simple=True, separator="/")
    ("['layers'][0].weight", 'layers/0/weight')
    """
    if not simple:
        return "".join(map(str, keys))
    return separator.join(map(_bare_key, keys))


def _bare_key(key: Any) -> str:
    for attribute in ("key", "idx", "name"):
        if isinstance(key, _KEY_CLASSES) and hasattr(key, attribute):
            return str(getattr(key, attribute))
    return str(key)


_KEY_CLASSES = (SequenceKey, DictKey, GetAttrKey, FlattenedIndexKey)

# --- Structures -------------------------------------------------------------------------------


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """The structure of a tuple of trees of these structures.

    >>> treedef_tuple([tree_structure(0), tree_structure([0])])
    PyTreeDef((*, [*]))
    """
    return _pytree.treedef_tuple(default_registry, list(treedefs))


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """The structures of the children of the root.

    >>> treedef_children(tree_structure([0, (0, 0)]))
    [PyTreeDef(*), PyTreeDef((*, *))]
    """
    return treedef.children()


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Whether the structure is a single node: a leaf, None, or an empty container.

    >>> treedef_is_leaf(tree_structure(0)), treedef_is_leaf(tree_structure([0]))
    (True, False)
    """
    return treedef.num_nodes == 1


def is_tree_node(typ: type) -> bool:
    """Whether values of a type are nodes, not leaves.

    >>> is_tree_node(dict), is_tree_node(float)
    (True, False)
    """
    return default_registry.is_node(typ)


def flatten_one_level(tree: Any) -> tuple[Iterable[Any], Hashable]:
    """The children of the root, and its metadata.

    Raises:
        ValueError: tree is a leaf.

    >>> flatten_one_level({"b": 1, "a": (2, 3)})
    (((2, 3), 1), ('a', 'b'))
    """
    return _one_level("flatten_one_level", default_registry.flatten_one_level(tree), tree)


def flatten_one_level_with_keys(tree: Any) -> tuple[Iterable[tuple[Any, Any]], Hashable]:
    """The children of the root, each with its key, and its metadata.

    Raises:
        ValueError: tree is a leaf.

    >>> flatten_one_level_with_keys([5])
    (((SequenceKey(idx=0), 5),), None)
    """
    result = default_registry.flatten_one_level_with_keys(tree)
    return _one_level("flatten_one_level_with_keys", result, tree)


def _one_level(name: str, result: Any, tree: Any) -> Any:
    if result is None:
        raise ValueError(f"{name}: a value of type {type(tree).__name__} is a leaf of a pytree.")
    return result

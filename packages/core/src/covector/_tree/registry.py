"""The two pytree registries: which container types there are, for users and for dispatch.

`registry` is the public one: what is not registered in it is a leaf of every tree that a user
sees. `dispatch_registry` is given to jaxlib's compiled calls. It knows all of the same types, and
beyond them those that are leaves for the user but that C++ cannot pass to a program as they are,
such as typed random keys, which it takes apart into the arrays that they wrap.

They are our own instances, not jaxlib's default one, which a `jax` in the same process would fill.
Treedefs of the two are equal if their structures are.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any

from covector._flags import m

pytree = m.pytree

if TYPE_CHECKING:

    class PyTreeDef:
        """The structure of a tree, as far as a type checker must know jaxlib's class."""

        num_leaves: int
        num_nodes: int

        def unflatten(self, leaves: Iterable[Any]) -> Any: ...
        def flatten_up_to(self, tree: Any) -> list[Any]: ...
        def compose(self, inner: PyTreeDef) -> PyTreeDef: ...
        def children(self) -> list[PyTreeDef]: ...
        def node_data(self) -> tuple[Any, Any] | None: ...

else:
    PyTreeDef = pytree.PyTreeDef

registry = pytree.PyTreeRegistry()
dispatch_registry = pytree.PyTreeRegistry()

# A treedef is pickled with its registry, and that by the global name that these two state.
registry.__module__, registry.__name__ = "covector.tree_util", "default_registry"
dispatch_registry.__module__, dispatch_registry.__name__ = __name__, "dispatch_registry"

Flatten = Callable[[Any], tuple[Iterable[Any], Hashable]]
Unflatten = Callable[[Any, Any], Any]

_lock = Lock()  # the two registries change together


def register_node(
    node_type: type,
    flatten: Flatten,
    unflatten: Unflatten,
    flatten_with_keys: Flatten | None = None,
) -> None:
    """Register a container type for users and for dispatch."""
    _check_is_new(node_type)
    with _lock:
        registry.register_node(node_type, flatten, unflatten, flatten_with_keys)
        dispatch_registry.register_node(node_type, flatten, unflatten, flatten_with_keys)


def register_dataclass_node(
    node_type: type, data_fields: list[str], meta_fields: list[str]
) -> None:
    """Register a type whose attributes are its children, read and rebuilt by C++."""
    _check_is_new(node_type)
    with _lock:
        registry.register_dataclass_node(node_type, data_fields, meta_fields)
        dispatch_registry.register_dataclass_node(node_type, data_fields, meta_fields)


def register_dispatch_node(
    node_type: type,
    flatten: Flatten,
    unflatten: Unflatten,
    hidden_axes: Callable[[Any], int] = lambda metadata: 0,
) -> None:
    """Register a type that is a leaf for users, and is taken apart only by compiled calls.

    ``hidden_axes`` gives, from the node's metadata, how many of the last axes of its arrays the
    user does not see. They are not counted when an axis is named (`vmap(in_axes=-1)`).
    """
    with _lock:
        dispatch_registry.register_node(node_type, flatten, unflatten)
        _hidden_axes[node_type] = hidden_axes


_hidden_axes: dict[Any, Callable[[Any], int]] = {}


def hidden_axes(treedef: PyTreeDef) -> tuple[int, ...]:
    """For each leaf of a dispatch tree, how many of its last axes the user does not see."""
    return _count_hidden_axes(treedef) if _hidden_axes else (0,) * treedef.num_leaves


@lru_cache(4096)
def _count_hidden_axes(treedef: PyTreeDef) -> tuple[int, ...]:
    node = treedef.node_data()
    if node is None:
        return (0,)
    count = _hidden_axes.get(node[0])
    if count is not None:
        return (count(node[1]),) * treedef.num_leaves
    return tuple([n for child in treedef.children() for n in _count_hidden_axes(child)])


def _check_is_new(node_type: Any) -> None:
    if not isinstance(node_type, type):
        raise TypeError(f"a pytree node must be a type, but got {node_type!r}.")
    if registry.is_node(node_type) or dispatch_registry.is_node(node_type):
        raise ValueError(f"the type {node_type.__qualname__} is already registered as a pytree.")


def _register_dictionaries() -> None:
    def with_keys(keys: Iterable[Any], mapping: dict) -> tuple:
        return tuple((pytree.DictKey(key), mapping[key]) for key in keys)

    register_node(
        OrderedDict,
        lambda mapping: (tuple(mapping.values()), tuple(mapping)),
        lambda keys, values: OrderedDict(zip(keys, values, strict=True)),
        lambda mapping: (with_keys(mapping, mapping), tuple(mapping)),
    )

    def sorted_items(mapping: defaultdict) -> tuple[tuple, tuple]:
        keys = tuple(sorted(mapping))
        return tuple(mapping[key] for key in keys), (mapping.default_factory, keys)

    register_node(
        defaultdict,
        sorted_items,
        lambda aux, values: defaultdict(aux[0], zip(aux[1], values, strict=True)),
        lambda mapping: (with_keys(sorted(mapping), mapping), sorted_items(mapping)[1]),
    )


_register_dictionaries()

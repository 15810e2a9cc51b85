"""Register container types: functions, class decorators, dataclasses; and `Partial`.

Public through `covector.tree_util`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

from covector._tree.registry import register_dataclass_node, register_node


def register_pytree_node(
    nodetype: type,
    flatten_func: Callable[[Any], tuple[Iterable[Any], Hashable]],
    unflatten_func: Callable[[Any, Any], Any],
    flatten_with_keys_func: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Hashable]]
    | None = None,
) -> None:
    """Make values of a type nodes of pytrees.

    Args:
        nodetype: the type itself; subclasses are not included.
        flatten_func: from a value to its children and its metadata, which must be hashable and
            comparable. It must not convert or copy the children.
        unflatten_func: from the metadata and the children to a value. The children may be
            anything: tracers, None, objects; do not check them.
        flatten_with_keys_func: from a value to pairs (key, child) and the metadata, so that paths
            show names.

    Raises:
        ValueError: the type is registered already.

    >>> from covector.tree_util import tree_leaves
    >>> class Pair:
    ...     def __init__(self, left, right):
    ...         self.left, self.right = left, right
    >>> register_pytree_node(
    ...     Pair, lambda pair: ((pair.left, pair.right), None), lambda _, children: Pair(*children)
    ... )
    >>> tree_leaves(Pair(1, [2, 3]))
    [1, 2, 3]
    """
    register_node(nodetype, flatten_func, unflatten_func, flatten_with_keys_func)


def register_pytree_with_keys(
    nodetype: type,
    flatten_with_keys: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Hashable]],
    unflatten_func: Callable[[Any, Any], Any],
    flatten_func: Callable[[Any], tuple[Iterable[Any], Hashable]] | None = None,
) -> None:
    """`register_pytree_node` for a flattening that gives the key of each child.

    Args:
        nodetype: the type.
        flatten_with_keys: from a value to pairs (key, child) and the metadata.
        unflatten_func: from the metadata and the children to a value.
        flatten_func: the same without keys, if that is faster.

    >>> from covector.tree_util import GetAttrKey, keystr, tree_leaves_with_path
    >>> class Point:
    ...     def __init__(self, x):
    ...         self.x = x
    >>> register_pytree_with_keys(
    ...     Point, lambda p: (((GetAttrKey("x"), p.x),), None), lambda _, children: Point(*children)
    ... )
    >>> [keystr(path) for path, _ in tree_leaves_with_path(Point(1))]
    ['.x']
    """

    def without_keys(value: Any) -> tuple[list[Any], Hashable]:
        pairs, metadata = flatten_with_keys(value)
        return [child for _, child in pairs], metadata

    register_node(nodetype, flatten_func or without_keys, unflatten_func, flatten_with_keys)


def register_pytree_node_class[T: type](cls: T) -> T:
    """Class decorator: register a class by its methods `tree_flatten` and `tree_unflatten`.

    >>> from covector.tree_util import tree_map
    >>> @register_pytree_node_class
    ... class Box:
    ...     def __init__(self, content):
    ...         self.content = content
    ...     def tree_flatten(self):
    ...         return (self.content,), None
    ...     @classmethod
    ...     def tree_unflatten(cls, metadata, children):
    ...         return cls(*children)
    >>> tree_map(lambda x: x + 1, Box(1)).content
    2
    """
    register_pytree_node(cls, lambda value: value.tree_flatten(), cls.tree_unflatten)
    return cls


def register_pytree_with_keys_class[T: type](cls: T) -> T:
    """Class decorator: as `register_pytree_node_class`, with a method `tree_flatten_with_keys`."""
    flatten = (lambda value: value.tree_flatten()) if hasattr(cls, "tree_flatten") else None
    register_pytree_with_keys(
        cls, lambda value: value.tree_flatten_with_keys(), cls.tree_unflatten, flatten
    )
    return cls


def register_static[T: type](cls: T) -> T:
    """Class decorator: values of the class are structure without leaves; they must be hashable.

    >>> from covector.tree_util import tree_leaves
    >>> @register_static
    ... class Name(str):
    ...     pass
    >>> tree_leaves([Name("relu"), 1])
    [1]
    """
    register_node(cls, lambda value: ((), value), lambda value, _: value, None)
    return cls


def register_dataclass[T: type](
    nodetype: T,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> T:
    """Register a dataclass, or a class that is constructed by keywords like one.

    Args:
        nodetype: the class.
        data_fields: names of the attributes that are children.
        meta_fields: names of the attributes that are metadata: hashable and comparable. If neither
            is given, they are the fields marked by `covector.tree.static()` (metadata
            ``static=True``), and data_fields are all others that the constructor takes.
        drop_fields: names of fields that are neither, and get their default when rebuilt.

    Raises:
        TypeError: only one of the two is given, or neither and it is no dataclass.
        ValueError: the names are not those of the fields that the constructor takes.

    >>> import dataclasses
    >>> from covector.tree_util import tree_map
    >>> @register_dataclass
    ... @dataclasses.dataclass
    ... class Layer:
    ...     weight: float
    ...     name: str = dataclasses.field(metadata={"static": True})
    >>> tree_map(lambda x: 2 * x, Layer(1.5, "first"))
    Layer(weight=3.0, name='first')
    """
    data, meta = _dataclass_fields(nodetype, data_fields, meta_fields, drop_fields)
    register_dataclass_node(nodetype, data, meta)
    return nodetype


def _dataclass_fields(
    cls: type,
    data_fields: Sequence[str] | None,
    meta_fields: Sequence[str] | None,
    drop_fields: Sequence[str],
) -> tuple[list[str], list[str]]:
    import dataclasses

    if (data_fields is None) != (meta_fields is None):
        raise TypeError(
            "register_dataclass: give both data_fields and meta_fields or neither, but got "
            f"data_fields={data_fields} and meta_fields={meta_fields}."
        )
    is_dataclass = dataclasses.is_dataclass(cls)
    if data_fields is None or meta_fields is None:
        if not is_dataclass:
            raise TypeError(
                f"register_dataclass: {cls.__qualname__} is not a dataclass, "
                "so data_fields and meta_fields are required."
            )
        fields = [f for f in dataclasses.fields(cls) if f.name not in drop_fields and f.init]
        meta_fields = [f.name for f in fields if f.metadata.get("static", False)]
        data_fields = [f.name for f in fields if f.name not in meta_fields]
    data, meta = list(data_fields), list(meta_fields)
    if set(data) & set(meta):
        raise ValueError(
            "register_dataclass: data_fields and meta_fields share the names "
            f"{sorted(set(data) & set(meta))}."
        )
    if is_dataclass:
        _check_field_names(cls, {*data, *meta}, set(drop_fields))
    return data, meta


def _check_field_names(cls: type, given: set[str], dropped: set[str]) -> None:
    import dataclasses

    expected = {field.name for field in dataclasses.fields(cls) if field.init}
    missing, unexpected = expected - given - dropped, given - expected
    if missing or unexpected:
        raise ValueError(
            f"register_dataclass: data_fields and meta_fields of {cls.__qualname__} must be the "
            f"fields that its constructor takes; missing: {sorted(missing)}, unexpected: "
            f"{sorted(unexpected)}. A field with a default may be listed in drop_fields."
        )


class _Hidden:
    """A `functools.partial` that `functools.partial` does not merge into itself."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Hidden) and self.function == other.function

    def __hash__(self) -> int:
        return hash(self.function)

    def __repr__(self) -> str:
        return repr(self.function)


class Partial(functools.partial):
    """`functools.partial` that is a pytree: its arguments are children, its function metadata.

    So a function with data can be passed through `jit` and other transformations.

    >>> import operator
    >>> from covector.tree_util import tree_map
    >>> add_one = Partial(operator.add, 1)
    >>> tree_map(lambda x: 10 * x, add_one)(5)
    15
    """

    def __new__(cls, func: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Partial:
        """Bind arguments to a callable."""
        if isinstance(func, functools.partial):
            func = _Hidden(func)
        return super().__new__(cls, func, *args, **kwargs)


register_node(
    Partial,
    lambda partial: ((partial.args, partial.keywords), partial.func),
    lambda func, children: Partial(func, *children[0], **children[1]),
)


Partial.__module__ = "covector.tree_util"

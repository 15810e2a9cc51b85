"""Named axes: what `vmap(axis_name=)` and `pmap` bring into scope, and collectives refer to."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

from covector._api.tracing import axis_env_state

AxisName = Hashable | Sequence[Hashable]


def names_in(axis_name: AxisName) -> tuple[Any, ...]:
    """The names that an ``axis_name`` argument stands for: several in a tuple or list."""
    return tuple(axis_name) if isinstance(axis_name, (tuple, list)) else (axis_name,)


def bound_size(name: Any, function: str) -> int:
    """The size of the innermost axis of that name. Raises `NameError` if there is none."""
    for bound, size in reversed(axis_env_state.value):
        if bound == name:
            return size
    raise unbound(name, function, [bound for bound, _ in axis_env_state.value])


def unbound(name: Any, function: str, known: Sequence[Any]) -> NameError:
    """The error for a name that no enclosing function brings into scope."""
    scope = f"Names in scope: {', '.join(map(repr, known))}." if known else "None is in scope."
    return NameError(
        f"unbound axis name: {name}. {function} must be called in a function that is mapped over "
        f"an axis of this name, as by vmap(..., axis_name={name!r}) or pmap. {scope}"
    )


def axis_size(axis_name: AxisName) -> int:
    """The size of a named axis (of several: the product), as a Python int.

    Raises `NameError` if no enclosing `vmap` or `pmap` has an axis of that name.

    >>> covector.vmap(lambda x: lax.mul(x, lax.axis_size("i")), axis_name="i")(np.arange(3))
    Array([0, 3, 6], dtype=int32)
    """
    return math.prod([bound_size(name, "axis_size") for name in names_in(axis_name)])


def single_name(axis_name: AxisName, function: str) -> Any:
    """The only name of an ``axis_name`` argument."""
    names = names_in(axis_name)
    if len(names) != 1:
        raise NotImplementedError(f"{function}: axis_name must be a single name, got {names}.")
    return names[0]


def index_groups(groups: Any, size: int, function: str, *, equal: bool = True) -> Any:
    """``axis_index_groups`` as a tuple of tuples: each index of the axis in just one group.

    Raises:
      ValueError: an index is missing or in two groups, or groups that must not do differ in size.
    """
    if groups is None:
        return None
    groups = tuple([tuple([int(i) for i in group]) for group in groups])
    if sorted(i for group in groups for i in group) != list(range(size)):
        raise ValueError(
            f"{function}: axis_index_groups must hold each index from 0 to {size - 1} just once, "
            f"got {groups}."
        )
    if equal and len({len(group) for group in groups}) > 1:
        raise ValueError(f"{function}: axis_index_groups must be groups of one size, got {groups}.")
    return groups

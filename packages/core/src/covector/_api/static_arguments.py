"""Setting arguments aside that are Python values, and putting them back among the others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any


def dynamic_arguments(args: Sequence[Any], positions: Collection[int]) -> tuple:
    """The arguments that are not at ``positions``.

    >>> dynamic_arguments((1, 2, 3), {1})
    (1, 3)
    """
    return tuple([x for i, x in enumerate(args) if i not in positions])


def merge_arguments(args: Sequence[Any], positions: Collection[int], dynamic: Any) -> list[Any]:
    """All arguments: those of ``args`` that are at ``positions``, and ``dynamic`` for the others.

    >>> merge_arguments((1, 2, 3), {1}, ["a", "b"])
    ['a', 2, 'b']
    """
    given = iter(dynamic)
    return [x if i in positions else next(given) for i, x in enumerate(args)]


def of_dynamic_arguments(
    fun: Callable[..., Any],
    args: tuple,
    positions: Collection[int],
    named: Mapping[str, Any] | None = None,
) -> Callable[..., Any]:
    """``fun`` as a function of its dynamic arguments; ``named`` are static keyword arguments."""

    def function(*dynamic: Any, **kwargs: Any) -> Any:
        if named:
            kwargs = {**kwargs, **named}
        return fun(*merge_arguments(args, positions, dynamic), **kwargs)

    return function

"""One flat vector for all numbers of a tree, and back: `covector.flatten_util`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from covector._ir.dtypes import canonicalize_dtype, dtype_and_weak_type, lattice_result_type
from covector._tree.registry import PyTreeDef
from covector.tree_util import tree_flatten

__all__ = ["ravel_pytree"]


def ravel_pytree(pytree: Any) -> tuple[Any, Unravel]:
    """All leaves of a tree in one vector, and the function that brings the tree back.

    Args:
        pytree: a tree of arrays and scalars.

    Returns:
        The vector, in the common dtype of the leaves (float32 for a tree without leaves), and a
        hashable function from a vector of that length to a tree of the same structure and shapes.
        If the leaves have several dtypes, it converts each part back and takes only vectors of the
        common dtype; otherwise the tree gets the dtype of the vector.

    Raises:
        TypePromotionError: the leaves have no common dtype.

    >>> vector, unravel = ravel_pytree({"w": np.ones((2, 2), np.float32), "b": 3.0})
    >>> vector.shape
    (5,)
    >>> unravel(2 * np.asarray(vector))["w"].shape
    (2, 2)
    """
    from covector.lax.elementwise import convert_element_type
    from covector.lax.joining import concatenate
    from covector.lax.shape import reshape

    leaves, treedef = tree_flatten(pytree)
    dtypes, common = _dtypes(leaves)
    unravel = Unravel(treedef, tuple(map(np.shape, leaves)), dtypes, common)
    if not leaves:
        return convert_element_type(np.zeros(0, np.float32), common), unravel
    parts = [
        reshape(leaf if dtype == common else convert_element_type(leaf, common), (size,))
        for leaf, dtype, size in zip(leaves, dtypes, unravel.sizes, strict=True)
    ]
    return concatenate(parts, 0), unravel


def _dtypes(leaves: Sequence[Any]) -> tuple[tuple[Any, ...], Any]:
    """The dtype of each leaf, and the common one."""
    dtypes = []
    for leaf in leaves:
        own, _ = dtype_and_weak_type(leaf)
        dtypes.append(own if hasattr(leaf, "aval") else canonicalize_dtype(own))
    if not dtypes:
        return (), np.dtype(np.float32)
    # Weak types count as strong, so that unravel gives each leaf exactly its own dtype.
    return tuple(dtypes), lattice_result_type(tuple(dtypes), (False,) * len(dtypes))[0]


class Unravel:
    """The inverse of `ravel_pytree` for trees of one structure; compares and hashes by value."""

    __slots__ = ("common", "dtypes", "shapes", "sizes", "treedef")

    def __init__(
        self,
        treedef: PyTreeDef,
        shapes: tuple[tuple[int, ...], ...],
        dtypes: tuple[Any, ...],
        common: Any,
    ) -> None:
        self.treedef, self.shapes, self.dtypes, self.common = treedef, shapes, dtypes, common
        self.sizes = tuple(map(math.prod, shapes))

    def _key(self) -> tuple:
        return self.treedef, self.shapes, self.dtypes, self.common

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unravel) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"<unravel {self.common}[{sum(self.sizes)}] to {self.treedef}>"

    def __call__(self, vector: Any) -> Any:
        """The tree whose numbers are those of a vector."""
        from covector.lax.elementwise import convert_element_type
        from covector.lax.joining import split
        from covector.lax.shape import reshape

        self._check(vector)
        if not self.sizes:
            return self.treedef.unflatten(())
        parts = map(reshape, split(reshape(vector, (sum(self.sizes),)), self.sizes), self.shapes)
        if any(dtype != self.common for dtype in self.dtypes):
            parts = map(convert_element_type, parts, self.dtypes)
        return self.treedef.unflatten(parts)

    def _check(self, vector: Any) -> None:
        size, dtype = math.prod(np.shape(vector)), dtype_and_weak_type(vector)[0]
        if size != sum(self.sizes) and self.sizes:
            raise ValueError(
                f"unravel: the vector must have {sum(self.sizes)} elements, as the tree that was "
                f"raveled, but has the shape {np.shape(vector)}."
            )
        if any(own != self.common for own in self.dtypes) and dtype != self.common:
            raise TypeError(
                f"unravel: the vector must have the dtype {self.common}, to which the leaves were "
                f"promoted, but has {dtype}; write unravel(vector.astype('{self.common}'))."
            )

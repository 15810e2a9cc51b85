"""Prefix sums of any associative operation, in a logarithmic number of vectorized steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from covector import lax
from covector._api.autodiff import as_array
from covector._trace.trace import typeof
from covector._tree.prefix import path_text
from covector._tree.registry import dispatch_registry
from covector.lax.control.bodies import check_callable, leaf_avals, tree_difference


def associative_scan(
    fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0
) -> Any:
    """All partial results of an associative operation along an axis, computed in parallel.

    Element i of the result is ``fn`` of elements 0 to i (with ``reverse``, of the last to i).

    Args:
      fn: takes two trees like ``elems``, of any size along ``axis``, and combines them elementwise
        along that axis, as ``lax.add`` and ``lax.max`` do, and matrix products vectorized over it.
        The first argument holds the earlier elements (the later ones with ``reverse``).
      elems: an array, or a tree of them, of one size along ``axis``.

    Raises:
      ValueError: the sizes differ, ``axis`` is out of range, or ``fn`` returns another structure.

    The algorithm, which applies ``fn`` less than 2n times in all: R. E. Ladner and M. J. Fischer,
    Parallel prefix computation, J. ACM 27 (1980); G. E. Blelloch, Prefix sums and their
    applications, CMU-CS-90-190 (1990).

    >>> import numpy
    >>> from covector import lax
    >>> lax.associative_scan(lax.add, numpy.arange(5)).tolist()
    [0, 1, 3, 6, 10]
    """
    check_callable("associative_scan", fn=fn)
    leaves, _ = leaf_avals("associative_scan", "elems", elems)
    tree = dispatch_registry.flatten(elems)[1]
    if not leaves:
        return elems
    axis, size = _scanned_axis(elems, axis)
    arrays = [as_array(x) for x in leaves]
    if reverse:
        arrays = [lax.rev(x, (axis,)) for x in arrays]

    def combine(first: Sequence[Any], second: Sequence[Any]) -> list[Any]:
        result = fn(tree.unflatten(first), tree.unflatten(second))
        outs, out_tree = dispatch_registry.flatten(result)
        if out_tree != tree:
            difference = tree_difference(elems, result, "elems", "the result of fn")
            raise ValueError(
                "associative_scan: fn must return the structure of its arguments, but they "
                f"differ: {difference}"
            )
        for x, out in zip(first, outs, strict=True):
            if typeof(x).shape != typeof(out).shape:
                raise ValueError(
                    "associative_scan: fn must return arrays of the shapes of its arguments, but "
                    f"from {typeof(x).shape} it made {typeof(out).shape}."
                )
        return outs

    arrays = _prefixes(combine, arrays, axis, size)
    if reverse:
        arrays = [lax.rev(x, (axis,)) for x in arrays]
    return tree.unflatten(arrays)


def _scanned_axis(elems: Any, axis: int) -> tuple[int, int]:
    """The axis, not negative, and its size."""
    sizes: dict[int, str] = {}
    first = None
    for path, x in dispatch_registry.flatten_with_path(elems)[0]:
        shape = typeof(x).shape
        name = f"elems{path_text(path)}"
        if not -len(shape) <= axis < len(shape):
            raise ValueError(
                f"associative_scan: axis {axis} is out of bounds for array of dimension "
                f"{len(shape)}: {name} has shape {shape}."
            )
        first = axis % len(shape) if first is None else first
        sizes.setdefault(shape[first] if first < len(shape) else -1, f"{name} of shape {shape}")
    if len(sizes) > 1:
        raise ValueError(
            "Array inputs to associative_scan must have the same size along the axis, but "
            f"{' and '.join(sizes.values())} differ along axis {axis}."
        )
    assert first is not None
    return first, next(iter(sizes))


def _prefixes(combine: Callable, arrays: list[Any], axis: int, size: int) -> list[Any]:
    """Combine neighbours, find the prefixes of these half as many, and fill in those between."""
    if size < 2:
        return arrays
    lower = [_every_second(x, axis, 0, size - 1) for x in arrays]
    upper = [_every_second(x, axis, 1, size) for x in arrays]
    odd = _prefixes(combine, combine(lower, upper), axis, size // 2)
    later = [_every_second(x, axis, 2, size) for x in arrays]
    before = [_part(x, axis, 0, (size - 1) // 2) for x in odd]
    even = combine(before, later) if size > 2 else later
    first = [_part(x, axis, 0, 1) for x in arrays]
    return [
        _interleave(_join([a, e], axis), o, axis) for a, e, o in zip(first, even, odd, strict=True)
    ]


def _every_second(x: Any, axis: int, start: int, stop: int) -> Any:
    return lax.slice_in_dim(x, min(start, stop), stop, 2, axis)


def _part(x: Any, axis: int, start: int, stop: int) -> Any:
    return x if stop - start == typeof(x).shape[axis] else lax.slice_in_dim(x, start, stop, 1, axis)


def _join(parts: list[Any], axis: int) -> Any:
    parts = [x for x in parts if typeof(x).shape[axis]]
    return parts[0] if len(parts) == 1 else lax.concatenate(parts, axis)


def _interleave(even: Any, odd: Any, axis: int) -> Any:
    """Elements of ``even`` and ``odd`` in turn; ``even`` may have one more."""
    shape = typeof(odd).shape
    count = shape[axis]
    head = _part(even, axis, 0, count)
    pairs = lax.concatenate(
        [lax.expand_dims(head, (axis + 1,)), lax.expand_dims(odd, (axis + 1,))], axis + 1
    )
    merged = lax.reshape(pairs, (*shape[:axis], 2 * count, *shape[axis + 1 :]))
    rest = lax.slice_in_dim(even, count, typeof(even).shape[axis], 1, axis)
    return _join([merged, rest], axis)

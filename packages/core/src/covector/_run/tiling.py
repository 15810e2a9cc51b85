"""How an array lies over a mesh: between mesh axes by dimension and XLA's `HloSharding`.

`Axes` is the common form: for each dimension, the positions of the mesh axes that split it, major
first. A mesh is known here by its axes' sizes alone, its devices counted in row-major order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import jaxlib._hlo as _hlo
import numpy as np

Axes = tuple[tuple[int, ...], ...]
Sizes = tuple[int, ...]

REPLICATED = _hlo.HloSharding.replicate()


def hlo_sharding(axes: Axes, sizes: Sizes) -> Any:
    """XLA's form of ``axes`` over a mesh of ``sizes``."""
    tiles = [math.prod([sizes[a] for a in group]) for group in axes]
    if math.prod(tiles) == 1:
        return REPLICATED
    used = [a for group in axes for a in group]
    rest = [a for a in range(len(sizes)) if a not in used]
    copies = math.prod([sizes[a] for a in rest])
    proto = _hlo.OpSharding()
    proto.type = _hlo.OpSharding_Type.OTHER
    proto.tile_assignment_dimensions = tiles + [copies] * (copies > 1)
    proto.iota_reshape_dims = list(sizes)
    proto.iota_transpose_perm = used + rest
    if copies > 1:
        proto.last_tile_dims = [_hlo.OpSharding_Type.REPLICATED]
    return _hlo.HloSharding.from_proto(proto)


def axes_of(sharding: Any, sizes: Sizes, ndim: int) -> Axes | None:
    """The inverse of `hlo_sharding`; None if axes of this mesh cannot express the sharding."""
    if sharding.is_replicated():
        return ((),) * ndim
    if sharding.to_proto().type != _hlo.OpSharding_Type.OTHER:
        return None
    tiles = list(sharding.to_proto().tile_assignment_dimensions)
    positions = tile_positions(sharding)
    if len(positions) != math.prod(sizes) or len(tiles) < ndim:
        return None
    grid = positions.reshape(*sizes, len(tiles))
    groups = [_axes_along(grid[..., d], sizes, tiles[d]) for d in range(ndim)]
    return None if any(g is None for g in groups) else tuple(groups)  # type: ignore[arg-type]


def tile_positions(sharding: Any) -> np.ndarray:
    """For each device in order, the position of its tile: shape (devices, tile dimensions)."""
    tiles = list(sharding.to_proto().tile_assignment_dimensions)
    order = np.asarray(sharding.tile_assignment_devices()).reshape(-1)
    positions = np.empty((order.size, len(tiles)), np.int64)
    positions[order] = np.stack([i.ravel() for i in np.indices(tiles)], axis=-1)
    return positions


def _axes_along(tile: np.ndarray, sizes: Sizes, count: int) -> tuple[int, ...] | None:
    """The mesh axes that number the ``count`` tiles of one dimension, major first."""
    steps = {}
    for a, size in enumerate(sizes):
        if size > 1:
            steps[a] = int(tile[tuple([int(a == b) for b in range(len(sizes))])])
    group = tuple(sorted([a for a in steps if steps[a]], key=lambda a: -steps[a]))
    if math.prod([sizes[a] for a in group]) != count:
        return None
    expected = np.zeros(sizes, np.int64)
    stride = count
    for a in group:
        stride //= sizes[a]
        shape = [1] * len(sizes)
        shape[a] = sizes[a]
        expected = expected + stride * np.arange(sizes[a]).reshape(shape)
    return group if np.array_equal(expected, tile) else None


def refine(meshes: Iterable[Sequence[int]]) -> Sizes | None:
    """The coarsest axis sizes of which all of these sizes (of equal product) are products.

    >>> refine([(8,), (4, 2)]), refine([(2, 3), (3, 2)])
    ((4, 2), None)
    """
    strides = {1}
    for sizes in meshes:
        strides.update([math.prod(sizes[i:]) for i in range(len(sizes))])
    ordered = sorted(strides, reverse=True)
    pairs = list(pairwise(ordered))
    if any(big % small for big, small in pairs):
        return None
    return tuple([big // small for big, small in pairs])


def parts(sharding: Any, shape: Sequence[int], count: int) -> list[tuple[slice, ...]]:
    """For each of ``count`` devices, the slices of an array of ``shape`` that it holds."""
    if sharding.is_replicated():
        return [tuple([slice(None)] * len(shape))] * count
    tiles = list(sharding.to_proto().tile_assignment_dimensions)
    indices = []
    for position in tile_positions(sharding):
        index = []
        for size, tile_count, at in zip(shape, tiles, position):
            step = size // tile_count
            whole = tile_count == 1
            index.append(slice(None) if whole else slice(int(at) * step, int(at + 1) * step))
        indices.append(tuple(index))
    return indices

"""Which devices take part in a collective: from named axes to numbers of a program's devices.

Inside a `pmap`, each axis of it (and of those around it) is a `ManualAxis` of the module that is
being lowered: neighbours along it are `stride` devices apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from covector._ir.avals import ShapedArray
from covector._lower.module import ManualAxis
from covector.parallel._names import unbound

INDEX = ShapedArray((), np.int32)


def manual_axis(ctx: Any, name: Any) -> ManualAxis:
    """The innermost axis of that name around what is being lowered."""
    for axis in reversed(ctx.module.manual_axes):
        if axis.name == name:
            return axis
    raise unbound(name, "A collective", [axis.name for axis in ctx.module.manual_axes])


def device_groups(ctx: Any, names: Sequence[Any], index_groups: Any = None) -> list[list[int]]:
    """The groups of devices that differ along the named axes alone, in these axes' order.

    With ``index_groups``, only those devices form a group whose indices do.
    """
    axes = [manual_axis(ctx, name) for name in names]
    devices = np.arange(ctx.module.num_partitions)
    offsets = np.zeros(1, np.int64)
    first = devices
    for axis in axes:
        offsets = (offsets[:, None] + axis.stride * np.arange(axis.size)).ravel()
        first = first - axis.stride * (devices // axis.stride % axis.size)
    chosen = [offsets] if index_groups is None else [offsets[list(g)] for g in index_groups]
    return [(start + group).tolist() for start in sorted(set(first.tolist())) for group in chosen]


def group_attributes(ctx: Any, groups: list[list[int]], *, global_ids: bool = True) -> str:
    """The attributes of a collective among ``groups``."""
    longest = max(map(len, groups))
    rows = [f"[{', '.join(map(str, g + [-1] * (longest - len(g))))}]" for g in groups]
    flag = ", use_global_device_ids" if global_ids else ""
    return (
        f"replica_groups = dense<[{', '.join(rows)}]> : tensor<{len(rows)}x{longest}xi64>, "
        f"{channel(ctx)}{flag}"
    )


def channel(ctx: Any) -> str:
    """A fresh channel, by which the parts of one collective find each other."""
    number = ctx.module.next_channel()
    return f"channel_handle = #stablehlo.channel_handle<handle = {number}, type = 1>"


def device_index(ctx: Any, axis: ManualAxis) -> str:
    """The name of this device's index along ``axis``, an int32 scalar."""
    if axis.size == 1:
        return ctx.constant(0, INDEX)
    unsigned = ctx.emit("stablehlo.partition_id : tensor<ui32>")[0]
    number = ctx.emit(f"stablehlo.convert {unsigned} : (tensor<ui32>) -> {INDEX.mlir}")[0]
    if axis.stride > 1:
        number = ctx.simple("divide", [number, ctx.constant(axis.stride, INDEX)], INDEX)
    return ctx.simple("remainder", [number, ctx.constant(axis.size, INDEX)], INDEX)

"""`device_put` of values that are traced: the primitive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jaxlib._jax as _jaxlib

from covector._ir.avals import ShapedArray
from covector._ir.jaxpr import NO_EFFECTS
from covector._run.memory import memory_kind_of
from covector._trace.primitive import LINEAR, Primitive
from covector._trace.trace import typeof
from covector.lax import sharding_constraint as constraint


def _evaluate(x: Any, *, device: Any, src: Any) -> Any:
    from covector._api.device import put

    return put(x, constraint.without_free_axes(device))


def _lower(
    ctx: Any, args: Sequence[str], in_avals: Any, out_avals: Any, *, device: Any, src: Any
) -> list[str]:
    """Where a value lies among devices, and in which memory. (The CPU has one; which single device
    a program runs on is not for one of its operations to say.)"""
    names = list(args)
    if is_spread(device):
        names = constraint.lower_constraint(ctx, names, out_avals[0], device)
    kind = memory_kind_of(device)
    if kind is None or ctx.platform == "cpu":
        return names
    aval = out_avals[0].mlir
    placement = f'{{_xla_buffer_placement = "{kind}"}}'
    return ctx.emit(
        f"stablehlo.custom_call @annotate_device_placement({names[0]}) {{has_side_effect = true, "
        f"mhlo.frontend_attributes = {placement}}} : ({aval}) -> {aval}"
    )


def is_spread(place: Any) -> bool:
    """Whether a place is a sharding over several devices."""
    return isinstance(place, _jaxlib.Sharding) and len(place._internal_device_list) > 1


def _batch(axis: Any, args: list, dims: tuple, *, device: Any, src: Any) -> tuple[Any, Any]:
    ndim = typeof(args[0]).ndim - 1
    device, src = [
        constraint.with_free_axis(p, dims[0], ndim) if is_spread(p) else p for p in (device, src)
    ]
    return device_put_p.bind(args[0], device=device, src=src), dims[0]


def _transpose(ct: Any, x: Any, *, device: Any, src: Any) -> list:
    """The cotangent goes back to where the value came from, if that is known."""
    return [device_put_p.bind(ct, device=src, src=device)]


def _abstract(aval: ShapedArray, *, device: Any, src: Any) -> ShapedArray:
    return aval


device_put_p = Primitive(
    "device_put",
    abstract=_abstract,
    lower=_lower,
    evaluate=_evaluate,
    jvp=LINEAR,
    transpose=_transpose,
    batch=_batch,
    effects=lambda params: (
        constraint.devices_of(params["device"]) if is_spread(params["device"]) else NO_EFFECTS
    ),
)

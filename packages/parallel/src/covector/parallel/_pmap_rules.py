"""The primitive behind `pmap`: a program that each device of an axis runs on its own part.

`in_axes` and `out_axes` hold, for each operand and result, which of its axes is spread over the
devices; None for one that all devices have whole. The rules are those of the body, memoized on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from covector import lax
from covector._ir.avals import ShapedArray
from covector._ir.jaxpr import Jaxpr, make_jaxpr_object
from covector._run.placement import DeviceGrid
from covector._trace.primitive import Linear, Primitive
from covector._transform.batch import BatchAxis, NamedAxis, batch
from covector._transform.jvp import jvp
from covector._transform.linearize import Linearized, linearize
from covector._transform.transpose import transpose
from covector.lax.filling import full_of
from covector.parallel._pmap_lowering import lower_pmap

OptionalAxes = tuple[int | None, ...]


def add_axis(aval: ShapedArray, axis: int | None, size: int) -> ShapedArray:
    """The type of an array whose parts have type ``aval``."""
    if axis is None:
        return aval
    return aval.update(shape=(*aval.shape[:axis], size, *aval.shape[axis:]))


def drop_axis(aval: ShapedArray, axis: int | None) -> ShapedArray:
    """The type of the parts of an array."""
    if axis is None:
        return aval
    return aval.update(shape=(*aval.shape[:axis], *aval.shape[axis + 1 :]))


def map_program(jaxpr: Jaxpr, in_axes: OptionalAxes, **params: Any) -> Jaxpr:
    """The one-equation program that maps ``jaxpr`` over devices."""
    size = params["axis_size"]
    avals = tuple([add_axis(a, d, size) for a, d in zip(jaxpr.in_avals, in_axes, strict=True)])
    return pmap_p.jaxpr(avals, _params(jaxpr, in_axes, **params))


def _params(
    jaxpr: Jaxpr,
    in_axes: Sequence[int | None],
    *,
    out_axes: Sequence[int | None],
    name: str,
    axis_name: Any,
    axis_size: int,
    devices: tuple[Any, ...] | None,
) -> dict[str, Any]:
    """All parameters, in the order that every application gives them in."""
    return {
        "jaxpr": jaxpr,
        "in_axes": tuple(in_axes),
        "out_axes": tuple(out_axes),
        "name": name,
        "axis_name": axis_name,
        "axis_size": axis_size,
        "devices": devices,
    }


def _abstract(*avals: ShapedArray, jaxpr: Jaxpr, out_axes: Any, axis_size: int, **_: Any) -> list:
    return [add_axis(a, d, axis_size) for a, d in zip(jaxpr.out_avals, out_axes, strict=True)]


def _effects(params: dict) -> frozenset:
    """The body's, but for its own axis; and the grid of devices, with those of nested pmaps."""
    effects = params["jaxpr"].effects
    inner = [e for e in effects if type(e) is DeviceGrid]
    if any(g.devices is not None for g in inner):
        raise ValueError(
            f"pmap of {params['name']}: only the outermost of nested pmaps can be given devices."
        )
    largest = max(inner, key=lambda g: (g.total, g.sizes, repr(g.names)), default=None)
    grid = DeviceGrid(
        (params["axis_size"], *(largest.sizes if largest else ())),
        (params["axis_name"], *(largest.names if largest else ())),
        params["devices"],
    )
    return effects - {NamedAxis(params["axis_name"]), *inner} | {grid}


# --- differentiation ------------------------------------------------------------------------------


def _picked(values: Sequence[Any], mask: Sequence[bool]) -> list[Any]:
    return [v for v, m in zip(values, mask, strict=True) if m]


def _spread(values: Sequence[Any], mask: Sequence[bool]) -> list[Any]:
    given = iter(values)
    return [next(given) if m else None for m in mask]


def _jvp(primals: list, tangents: list, *, jaxpr: Jaxpr, in_axes: Any, out_axes: Any, **rest: Any):
    mask = tuple([t is not None for t in tangents])
    derived, out_mask = jvp(jaxpr, mask)
    outs = pmap_p.bind(
        *primals,
        *_picked(tangents, mask),
        **_params(
            derived,
            [*in_axes, *_picked(in_axes, mask)],
            out_axes=[*out_axes, *_picked(out_axes, out_mask)],
            **rest,
        ),
    )
    return outs[: len(out_mask)], _spread(outs[len(out_mask) :], out_mask)


def _linearize(call: Jaxpr, mask: tuple, instantiate: tuple | None) -> Linearized:
    """Residuals that are neither arguments nor results are stacked in front."""
    params = dict(call.eqns[0].params)
    in_axes, out_axes = params.pop("in_axes"), params.pop("out_axes")
    split = linearize(params.pop("jaxpr"), mask, instantiate)
    forward, residuals = _with_stacked_residuals(split, in_axes, out_axes)
    num_extra = len(forward.out_avals) - split.num_outs
    forward_axes = (*out_axes, *[0] * num_extra)
    places = (*in_axes, *forward_axes)
    return Linearized(
        map_program(forward, in_axes, out_axes=forward_axes, **params),
        split.num_outs,
        residuals,
        map_program(
            split.tangent,
            (*[places[i] for i in residuals], *_picked(in_axes, mask)),
            out_axes=_picked(out_axes, split.out_mask),
            **{**params, "name": f"linear_{params['name']}"},
        ),
        split.out_mask,
    )


def _with_stacked_residuals(
    split: Linearized, in_axes: OptionalAxes, out_axes: OptionalAxes
) -> tuple[Jaxpr, tuple[int, ...]]:
    """A result of which only one device's value is kept is no residual: return it once more."""
    forward = split.forward
    num_in = len(in_axes)
    outvars = list(forward.outvars)
    residuals = []
    for i in split.residuals:
        if num_in <= i < num_in + split.num_outs and out_axes[i - num_in] is None:
            outvars.append(forward.outvars[i - num_in])
            i = num_in + len(outvars) - 1
        residuals.append(i)
    if len(outvars) > len(forward.outvars):
        forward = make_jaxpr_object(forward.invars, forward.eqns, outvars)
    return forward, tuple(residuals)


def _transpose(
    cts: list,
    *args: Any,
    jaxpr: Jaxpr,
    in_axes: Any,
    out_axes: Any,
    name: str,
    axis_size: int,
    **rest: Any,
) -> list:
    """Cotangents of what all devices have whole are summed over the devices.

    Of a result that is one device's, each device gets its share of the cotangent: so it is right
    for results that are equal on all devices.
    """
    linear = tuple([isinstance(x, Linear) for x in args])
    ct_mask = tuple([ct is not None for ct in cts])
    derived, out_mask = transpose(jaxpr, linear, ct_mask)
    known = [not m for m in linear]
    shares = [
        ct if axis is not None or ct is None else _share(ct, axis_size)
        for ct, axis in zip(cts, out_axes, strict=True)
    ]
    targets = _picked(_picked(in_axes, linear), out_mask)
    outs = pmap_p.bind(
        *_picked(args, known),
        *_picked(shares, ct_mask),
        **_params(
            derived,
            [*_picked(in_axes, known), *_picked(out_axes, ct_mask)],
            out_axes=[0 if d is None else d for d in targets],
            name=f"t_{name}",
            axis_size=axis_size,
            **rest,
        ),
    )
    summed = [lax.reduce_sum(x, (0,)) if d is None else x for x, d in zip(outs, targets)]
    return _spread(_spread(summed, out_mask), linear)


def _share(ct: Any, count: int) -> Any:
    return lax.div(ct, full_of(ct.aval.update(shape=()), count))


# --- vectorization --------------------------------------------------------------------------------


def _batch(
    axis: BatchAxis,
    args: list,
    dims: tuple,
    *,
    jaxpr: Jaxpr,
    in_axes: Any,
    out_axes: Any,
    axis_name: Any,
    **rest: Any,
) -> tuple[list, list]:
    """Both axes are axes of each operand: the body has one without the other."""
    inner = BatchAxis(axis.size) if axis.name == axis_name else axis  # the body's name hides it
    mapped = [_after(a, d) for a, d in zip(in_axes, dims, strict=True)]
    inner_dims = tuple([_without(d, a) for d, a in zip(dims, mapped, strict=True)])
    derived, body_dims = batch(jaxpr, inner, inner_dims)
    pairs = list(zip(out_axes, body_dims, strict=True))
    new_axes = [a if a is None or d is None else a + (d < a) for a, d in pairs]
    outs = pmap_p.bind(
        *args, **_params(derived, mapped, out_axes=new_axes, axis_name=axis_name, **rest)
    )
    return outs, [_after(d, a) for a, d in zip(new_axes, body_dims, strict=True)]


def _after(axis: int | None, inserted: int | None) -> int | None:
    """Where an axis stands after another was inserted."""
    return axis if axis is None or inserted is None else axis + (inserted <= axis)


def _without(axis: int | None, removed: int | None) -> int | None:
    """Where an axis stands after another was removed."""
    return axis if axis is None or removed is None else axis - (removed < axis)


pmap_p = Primitive(
    "pmap",
    abstract=_abstract,
    lower=lower_pmap,
    jvp=_jvp,
    linearize=_linearize,
    transpose=_transpose,
    batch=_batch,
    effects=_effects,
    multiple_results=True,
)

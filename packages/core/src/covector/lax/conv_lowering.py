"""The StableHLO of convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector._lower.stablehlo import int_list
from covector.lax.conv_shapes import ConvDimensionNumbers
from covector.lax.precision import precision_pair


def lower_conv(ctx: Any, args: Any, in_avals: Any, out_avals: Any, **params: Any) -> list[str]:
    """One operation; for complex operands one for each product of parts."""
    out = out_avals[0]
    if out.size == 0 or in_avals[0].size == 0 or in_avals[1].size == 0:
        scalar = out.update(shape=())
        return [ctx.broadcast(ctx.constant(0, scalar), scalar, out)]
    text = _attributes(len(in_avals[0].shape) - 2, **params)
    if dtypes.is_complex(in_avals[0].dtype):
        return [_lower_complex(ctx, args, in_avals, out, text)]
    return [_emit(ctx, args, in_avals, out, text)]


def _emit(ctx: Any, args: Sequence[str], in_avals: Any, out: ShapedArray, text: str) -> str:
    types = f"({in_avals[0].mlir}, {in_avals[1].mlir}) -> {out.mlir}"
    return ctx.emit(f"stablehlo.convolution({args[0]}, {args[1]}) {text} : {types}")[0]


def _lower_complex(ctx: Any, args: Any, in_avals: Any, out: ShapedArray, text: str) -> str:
    """Real convolutions of real and imaginary parts: the platforms have no complex ones."""
    parts = []
    for name, aval in zip(args, in_avals, strict=True):
        part = aval.update(dtype=dtypes.to_real_dtype(aval.dtype))
        parts.append([ctx.typed(op, [name], [aval], [part])[0] for op in ("real", "imag")])
    stored = [a.update(dtype=dtypes.to_real_dtype(a.dtype)) for a in in_avals]
    part_out = out.update(dtype=dtypes.to_real_dtype(out.dtype))
    (x_re, x_im), (w_re, w_im) = parts

    def product(x: str, w: str) -> str:
        return _emit(ctx, [x, w], stored, part_out, text)

    real = ctx.simple("subtract", [product(x_re, w_re), product(x_im, w_im)], part_out)
    imag = ctx.simple("add", [product(x_re, w_im), product(x_im, w_re)], part_out)
    return ctx.emit(f"stablehlo.complex {real}, {imag} : {out.mlir}")[0]


def _attributes(
    num_spatial: int, *, window_strides: Any, padding: Any, lhs_dilation: Any, rhs_dilation: Any,
    dimension_numbers: ConvDimensionNumbers, feature_group_count: int, batch_group_count: int,
    precision: Any, preferred_element_type: Any,
) -> str:  # fmt: skip
    specs = zip(dimension_numbers, ("bf", "oi", "bf"), strict=True)
    lhs, rhs, out = (_labels(spec, names) for spec, names in specs)
    pads = "[" + ", ".join(int_list(p) for p in padding) + "]"
    reverse = "[" + ", ".join(["false"] * num_spatial) + "]"
    window = (
        f"{{stride = {int_list(window_strides)}, pad = {pads}, lhs_dilate = "
        f"{int_list(lhs_dilation)}, rhs_dilate = {int_list(rhs_dilation)}, reverse = {reverse}}}"
    )
    precisions = ", ".join(f"#stablehlo<precision {p.name}>" for p in precision_pair(precision))
    return (
        f"dim_numbers = {lhs}x{rhs}->{out}, window = {window} {{batch_group_count = "
        f"{batch_group_count} : i64, feature_group_count = {feature_group_count} : i64, "
        f"precision_config = [{precisions}]}}"
    )


def _labels(spec: Sequence[int], names: str) -> str:
    """``[b, 0, 1, f]`` for the axes (batch, feature, spatial...)."""
    labels = [""] * len(spec)
    for axis, label in zip(spec, (*names, *range(len(spec) - 2)), strict=True):
        labels[axis] = str(label)
    return f"[{', '.join(labels)}]"

"""Convolutions: `conv_general_dilated`, a bilinear primitive, and functions in terms of it.

In one spatial dimension, with x the left operand (``lhs_dilation - 1`` zeros put between its
elements, padded) and w the kernel, ``out[o] = sum_k x[o * stride + k * rhs_dilation] * w[k]``,
summed over input features too: w is not reversed. With ``feature_group_count`` the features, and
with ``batch_group_count`` the batch, are cut into groups (the slowest varying part of the axis),
each with its own part of the kernel's output features.

The cotangent of either operand is again a convolution; so both rules below only work out windows
and regroup axes. Dumoulin and Visin, "A guide to convolution arithmetic for deep learning",
https://arxiv.org/abs/1603.07285, has the arithmetic.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from operator import index
from typing import Any

from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector._trace.primitive import Linear, Primitive
from covector._trace.trace import typeof
from covector.errors import ShapeError
from covector.lax._nary import check_same_dtype
from covector.lax.conv_lowering import lower_conv
from covector.lax.conv_shapes import (
    ConvDimensionNumbers,
    Window,
    conv_dimension_numbers,
    conv_transpose_pads,
)
from covector.lax.convert import convert_element_type
from covector.lax.elementwise import add_any
from covector.lax.filling import zeros_of
from covector.lax.padding import dilated_size, explicit_pads, padtype_to_pads
from covector.lax.precision import canonicalize_precision
from covector.lax.shape import move_axis, reshape, rev


def conv_general_dilated(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: Any,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Convolve ``lhs`` with the kernel ``rhs`` (without reversing it) over any number of axes.

    Args:
      window_strides: how far the kernel moves, for each spatial axis.
      padding: ``"SAME"``, ``"SAME_LOWER"``, ``"VALID"``, or (before, after) for each spatial axis;
        negative padding cuts.
      lhs_dilation, rhs_dilation: put zeros between the elements of an operand.
      dimension_numbers: which axis is what, see `conv_dimension_numbers`; by default batch and
        features lead: ``NCHW``, ``OIHW``.
      feature_group_count, batch_group_count: cut features, or the batch, into groups that are
        convolved separately; at most one of them may be above 1.
      precision: see `Precision`; by default the flag ``default_matmul_precision``. The algorithms
        of matrix products have no meaning here and are ignored.
      preferred_element_type: the result's dtype, not narrower than the operands'.

    Raises:
      ValueError, TypeError: shapes, groups, window parameters or dtypes do not fit.

    >>> import numpy as np
    >>> x, w = np.ones((1, 8, 8, 3), np.float32), np.ones((3, 3, 3, 4), np.float32)
    >>> conv_general_dilated(x, w, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")).shape
    (1, 4, 4, 4)

    https://openxla.org/stablehlo/spec#convolution
    """
    if out_sharding is not None:
        raise NotImplementedError("conv_general_dilated: out_sharding is not offered; pass None.")
    numbers = conv_dimension_numbers(typeof(lhs).shape, typeof(rhs).shape, dimension_numbers)
    window = _normalize_window(
        tuple([typeof(lhs).shape[i] for i in numbers.lhs_spec[2:]]),
        tuple([typeof(rhs).shape[i] for i in numbers.rhs_spec[2:]]),
        tuple(map(index, window_strides)),
        padding if isinstance(padding, str) else explicit_pads("conv_general_dilated", padding),
        None if lhs_dilation is None else tuple(map(index, lhs_dilation)),
        None if rhs_dilation is None else tuple(map(index, rhs_dilation)),
    )
    preferred = preferred_element_type
    if preferred is not None:
        preferred = dtypes.check_user_dtype(preferred, "conv_general_dilated")
    return bind(
        lhs, rhs, window, numbers, index(feature_group_count), index(batch_group_count),
        canonicalize_precision(precision), preferred,
    )  # fmt: skip


def bind(
    lhs: Any, rhs: Any, window: Window, numbers: ConvDimensionNumbers, feature_groups: int = 1,
    batch_groups: int = 1, precision: Any = None, preferred: Any = None,
) -> Any:  # fmt: skip
    """Apply the primitive to normalized parameters."""
    return conv_general_dilated_p.bind(
        lhs,
        rhs,
        window_strides=window.strides,
        padding=window.padding,
        lhs_dilation=window.lhs_dilation,
        rhs_dilation=window.rhs_dilation,
        dimension_numbers=numbers,
        feature_group_count=feature_groups,
        batch_group_count=batch_groups,
        precision=precision,
        preferred_element_type=preferred,
    )


@functools.lru_cache(1024)
def _normalize_window(
    lhs_sizes: tuple, rhs_sizes: tuple, strides: tuple, padding: Any, lhs_dilation: Any,
    rhs_dilation: Any,
) -> Window:  # fmt: skip
    """Fill in defaults, and turn padding given by name into numbers."""
    num_spatial = len(lhs_sizes)
    lhs_dilation = (1,) * num_spatial if lhs_dilation is None else lhs_dilation
    rhs_dilation = (1,) * num_spatial if rhs_dilation is None else rhs_dilation
    for name, values in (
        ("window_strides", strides),
        ("lhs_dilation", lhs_dilation),
        ("rhs_dilation", rhs_dilation),
    ):
        if len(values) != num_spatial:
            raise ShapeError(
                f"conv_general_dilated window and {name} must have the same number of dimensions, "
                f"but got {num_spatial} and {len(values)}: {name} is {values}"
            )
        if any(v < 1 for v in values):
            raise ShapeError(f"conv_general_dilated: all of {name} must be positive, got {values}.")
    if isinstance(padding, str):
        if any(d != 1 for d in lhs_dilation):
            raise ValueError(
                "conv_general_dilated: String padding is not implemented for transposed "
                f"convolution (lhs_dilation {lhs_dilation}). Please either exactly specify the "
                "required padding or use conv_transpose."
            )
        windows = [dilated_size(k, d) for k, d in zip(rhs_sizes, rhs_dilation, strict=True)]
        padding = tuple(padtype_to_pads(lhs_sizes, windows, strides, padding))
    if len(padding) != num_spatial:
        raise ShapeError(
            f"Wrong number of explicit pads for convolution: expected {num_spatial}, got "
            f"{len(padding)}."
        )
    return Window(strides, padding, lhs_dilation, rhs_dilation)


def conv(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """`conv_general_dilated` with axes in the default order and no dilation.

    >>> import numpy as np
    >>> conv(np.ones((1, 3, 8, 8)), np.ones((4, 3, 3, 3)), (1, 1), "VALID").shape
    (1, 4, 6, 6)
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_with_general_padding(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: Any,
    lhs_dilation: Sequence[int] | None,
    rhs_dilation: Sequence[int] | None,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """`conv_general_dilated` with axes in the default order.

    >>> import numpy as np
    >>> x, w = np.ones((1, 3, 8)), np.ones((4, 3, 3))
    >>> conv_with_general_padding(x, w, (1,), ((1, 2),), (2,), None).shape
    (1, 4, 16)
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


_DEFAULT_SPATIAL = {0: "", 1: "H", 2: "HW", 3: "HWD"}


def conv_transpose(
    lhs: Any,
    rhs: Any,
    strides: Sequence[int],
    padding: Any,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    transpose_kernel: bool = False,
    precision: Any = None,
    preferred_element_type: Any = None,
    use_consistent_padding: bool = False,
) -> Any:
    """The transposed ("fractionally strided") convolution: it enlarges by ``strides``.

    Args:
      padding: ``"SAME"``, ``"VALID"``, or (before, after) for each spatial axis: of the dilated
        operand, or with ``use_consistent_padding`` of the convolution that this one transposes.
      dimension_numbers: by default the features are last: ``("NHWC", "HWIO", "NHWC")``.
      transpose_kernel: reverse the kernel's spatial axes and exchange its features, so that this
        is the transpose of the convolution with the kernel ``rhs``.

    >>> import numpy as np
    >>> conv_transpose(np.ones((1, 4, 4, 3)), np.ones((3, 3, 3, 5)), (2, 2), "SAME").shape
    (1, 8, 8, 5)
    """
    ndim = typeof(lhs).ndim
    if dimension_numbers is None:
        spatial = _DEFAULT_SPATIAL.get(ndim - 2)
        if spatial is None:
            raise ValueError(
                "No 4+ dimensional dimension_number defaults: conv_transpose needs "
                f"dimension_numbers for an operand of rank {ndim}."
            )
        dimension_numbers = (f"N{spatial}C", f"{spatial}IO", f"N{spatial}C")
    rhs_shape = typeof(rhs).shape
    numbers = conv_dimension_numbers(typeof(lhs).shape, rhs_shape, dimension_numbers)
    kernel = [rhs_shape[i] for i in numbers.rhs_spec[2:]]
    dilation = (1,) * len(kernel) if rhs_dilation is None else tuple(map(index, rhs_dilation))
    for word, given in (("strides", strides), ("rhs_dilation", dilation)):
        if len(given) != len(kernel):
            raise ShapeError(
                f"conv_transpose: {word} must have one entry for each of the {len(kernel)} spatial "
                f"axes of rhs (of shape {rhs_shape}), got {tuple(given)}."
            )
    windows = [dilated_size(k, d) for k, d in zip(kernel, dilation, strict=True)]
    if isinstance(padding, str) and padding in ("SAME", "VALID"):
        pads = [conv_transpose_pads(k, s, padding) for k, s in zip(windows, strides, strict=True)]
    elif use_consistent_padding and not isinstance(padding, str):
        pairs = explicit_pads("conv_transpose", padding)
        pads = [(k - 1 - lo, k - 1 - hi) for k, (lo, hi) in zip(windows, pairs, strict=True)]
    else:
        pads = padding
    if transpose_kernel:
        rhs = rev(rhs, numbers.rhs_spec[2:])
        out_feature, in_feature, *spatial_axes = numbers.rhs_spec
        numbers = numbers._replace(rhs_spec=(in_feature, out_feature, *spatial_axes))
    ones = (1,) * len(kernel)
    return conv_general_dilated(
        lhs, rhs, ones, pads, strides, rhs_dilation, numbers, 1, 1, precision,
        preferred_element_type,
    )  # fmt: skip


# --- the primitive: types ----------------------------------------------------------------------


def _abstract(lhs: ShapedArray, rhs: ShapedArray, **params: Any) -> ShapedArray:
    window, numbers, feature_groups, batch_groups = unpack(params)
    _check_groups(lhs, rhs, numbers, feature_groups, batch_groups)
    check_same_dtype("conv_general_dilated", (lhs, rhs))
    sizes = window.out_sizes(
        [lhs.shape[i] for i in numbers.lhs_spec[2:]], [rhs.shape[i] for i in numbers.rhs_spec[2:]]
    )
    batch = lhs.shape[numbers.lhs_spec[0]] // batch_groups
    features = rhs.shape[numbers.rhs_spec[0]]
    shape = [0] * lhs.ndim
    for axis, size in zip(numbers.out_spec, (batch, features, *sizes), strict=True):
        shape[axis] = size
    dtype = _result_dtype(lhs.dtype, params["preferred_element_type"])
    return ShapedArray(shape, dtype, lhs.weak_type and rhs.weak_type)


def unpack(params: dict[str, Any]) -> tuple[Window, ConvDimensionNumbers, int, int]:
    """The window, the axes and the numbers of groups in an equation's parameters."""
    window = Window(
        params["window_strides"], params["padding"], params["lhs_dilation"], params["rhs_dilation"]
    )
    groups = params["feature_group_count"], params["batch_group_count"]
    return window, params["dimension_numbers"], *groups


def _check_groups(
    lhs: ShapedArray,
    rhs: ShapedArray,
    numbers: ConvDimensionNumbers,
    feature_groups: int,
    batch_groups: int,
) -> None:
    batch, features = lhs.shape[numbers.lhs_spec[0]], lhs.shape[numbers.lhs_spec[1]]
    out_features, in_features = rhs.shape[numbers.rhs_spec[0]], rhs.shape[numbers.rhs_spec[1]]
    problem = None
    for name, count in (
        ("feature_group_count", feature_groups),
        ("batch_group_count", batch_groups),
    ):
        if count < 1:
            problem = f"{name} must be a positive integer, got {count}"
        elif out_features % count:
            problem = (
                f"rhs output feature dimension size must be a multiple of {name}, but "
                f"{out_features} is not a multiple of {count}"
            )
        if problem:
            break
    if problem is None and batch % batch_groups:
        problem = (
            f"batch_group_count must divide lhs batch dimension size, but {batch_groups} does not "
            f"divide {batch}"
        )
    if problem is None and (features % feature_groups or features // feature_groups != in_features):
        problem = (
            "lhs feature dimension size divided by feature_group_count must equal the rhs input "
            f"feature dimension size, but {features} // {feature_groups} != {in_features}"
        )
    if problem is None and feature_groups > 1 and batch_groups > 1:
        problem = (
            "At most one of batch_group_count and feature_group_count may be > 1, got "
            f"batch_group_count={batch_groups} and feature_group_count={feature_groups}"
        )
    if problem:
        raise ShapeError(
            f"conv_general_dilated {problem} (lhs has shape {lhs.shape}, rhs has shape "
            f"{rhs.shape}, and dimension_numbers is {numbers})."
        )


def _result_dtype(dtype: Any, preferred: Any) -> Any:
    if preferred is None or preferred == dtype:
        return dtype
    integer, real = dtypes.is_integer(dtype), dtypes.is_float(dtype)
    compatible = (
        (integer and (dtypes.is_integer(preferred) or dtypes.is_float(preferred)))
        or (real and dtypes.is_float(preferred))
        or (dtypes.is_complex(dtype) and dtypes.is_complex(preferred))
    )
    if not compatible:
        raise TypeError(
            f"conv_general_dilated: operands of dtype {dtype.name} are incompatible with a "
            f"`preferred_element_type` of {preferred.name}. It may be integral or floating for "
            "integers, floating for floating and complex for complex operands."
        )
    if dtypes.itemsize_bits(preferred) < dtypes.itemsize_bits(dtype):
        raise TypeError(
            "conv_general_dilated: `preferred_element_type` must not be narrower than the original "
            f"type, got {preferred.name} for operands of dtype {dtype.name}."
        )
    return preferred


# --- derivatives -------------------------------------------------------------------------------


def _jvp(primals: list, tangents: list, **params: Any) -> tuple[Any, Any]:
    lhs, rhs = primals
    terms = []
    if tangents[0] is not None:
        terms.append(conv_general_dilated_p.bind(tangents[0], rhs, **params))
    if tangents[1] is not None:
        terms.append(conv_general_dilated_p.bind(lhs, tangents[1], **params))
    out = conv_general_dilated_p.bind(lhs, rhs, **params)
    return out, terms[0] if len(terms) == 1 else add_any(*terms)


def _transpose(ct: Any, lhs: Any, rhs: Any, **params: Any) -> list[Any]:
    if isinstance(lhs, Linear):
        rhs = convert_element_type(rhs, ct.dtype)
        out = _transpose_lhs(ct, lhs.shape, rhs, params)
        return [convert_element_type(out, lhs.dtype), None]
    lhs = convert_element_type(lhs, ct.dtype)
    out = _transpose_rhs(ct, lhs, rhs.shape, params)
    return [None, convert_element_type(out, rhs.dtype)]


def _transpose_lhs(ct: Any, lhs_shape: tuple, rhs: Any, params: dict[str, Any]) -> Any:
    """``x[i] = sum of ct[o] w[k]`` over ``o * stride + k * rhs_dilation - low = i * lhs_dilation``.

    That is ``ct``, dilated by the strides, convolved with the reversed kernel. Each group's output
    features become its input features and the other way round.
    """
    window, numbers, feature_groups, batch_groups = unpack(params)
    out_axis, in_axis, *spatial = numbers.rhs_spec
    rhs = rev(rhs, spatial)
    groups = feature_groups * batch_groups
    if groups > 1:  # (O, I) -> (groups * I, O / groups)
        rhs = _merge_axis(_split_axis(rhs, out_axis, groups), in_axis)
    back = _back_window(window, lhs_shape, rhs.shape, ct.shape, numbers)
    out_numbers = ConvDimensionNumbers(
        numbers.out_spec, (in_axis, out_axis, *spatial), numbers.lhs_spec
    )
    out = bind(ct, rhs, back, out_numbers, groups, 1, params["precision"])
    if batch_groups > 1:  # features (groups, C) -> batch (groups, N)
        batch_axis, feature_axis = numbers.lhs_spec[:2]
        out = _merge_axis(_split_axis(out, feature_axis, batch_groups), batch_axis)
    return out


def _back_window(
    window: Window, lhs_shape: tuple, rhs_shape: tuple, ct_shape: tuple,
    numbers: ConvDimensionNumbers,
) -> Window:  # fmt: skip
    pads = []
    for i, (stride, (low, _), lhs_dilation, rhs_dilation) in enumerate(zip(*window, strict=True)):
        reach = dilated_size(rhs_shape[numbers.rhs_spec[2 + i]], rhs_dilation) - 1
        size = dilated_size(lhs_shape[numbers.lhs_spec[2 + i]], lhs_dilation)
        ct_size = dilated_size(ct_shape[numbers.out_spec[2 + i]], stride)
        before = reach - low
        pads.append((before, size + reach - before - ct_size))
    return Window(window.lhs_dilation, tuple(pads), window.strides, window.rhs_dilation)


def _transpose_rhs(ct: Any, lhs: Any, rhs_shape: tuple, params: dict[str, Any]) -> Any:
    """``w[k] = sum over o of x[o * stride + k * rhs_dilation - low] * ct[o]``.

    That is a convolution with ``ct`` as the kernel, batch and features exchanged; so groups of
    features become groups of the batch, and the other way round.
    """
    window, numbers, feature_groups, batch_groups = unpack(params)
    batch_axis, feature_axis, *lhs_spatial = numbers.lhs_spec
    ct_batch, ct_feature, *ct_spatial = numbers.out_spec
    out_axis, in_axis, *rhs_spatial = numbers.rhs_spec
    pads = []
    for i, (stride, (low, _), lhs_dilation, rhs_dilation) in enumerate(zip(*window, strict=True)):
        size = dilated_size(lhs.shape[lhs_spatial[i]], lhs_dilation)
        ct_size = dilated_size(ct.shape[ct_spatial[i]], stride)
        reach = dilated_size(rhs_shape[rhs_spatial[i]], rhs_dilation) - 1
        pads.append((low, reach + ct_size - size - low))
    back = Window(window.rhs_dilation, tuple(pads), window.lhs_dilation, window.strides)
    out_numbers = ConvDimensionNumbers(
        (feature_axis, batch_axis, *lhs_spatial),
        (ct_feature, ct_batch, *ct_spatial),
        (in_axis, out_axis, *rhs_spatial),
    )
    return bind(lhs, ct, back, out_numbers, batch_groups, feature_groups, params["precision"])


def _split_axis(x: Any, axis: int, groups: int) -> Any:
    """``axis`` cut into ``groups`` parts: their number becomes a new leading axis."""
    shape = typeof(x).shape
    split = (*shape[:axis], groups, shape[axis] // groups, *shape[axis + 1 :])
    return move_axis(reshape(x, split), axis, 0)


def _merge_axis(x: Any, axis: int) -> Any:
    """The leading axis put in front of axis ``axis`` (counted without it), both made one."""
    moved = move_axis(x, 0, axis)
    shape = typeof(moved).shape
    return reshape(moved, (*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :]))


# --- batching ----------------------------------------------------------------------------------


def _batch(axis: Any, args: list, dims: tuple, **params: Any) -> tuple[Any, int]:
    """A batch axis joins the batch (of lhs), the output features (of rhs), or becomes groups."""
    lhs, rhs = args
    lhs_dim, rhs_dim = dims
    if axis.size == 0:
        return _empty_batch(args, dims, params)
    numbers, groups = params["dimension_numbers"], params["feature_group_count"]
    batch_groups = params["batch_group_count"]
    batch_axis, feature_axis = numbers.lhs_spec[:2]
    out_batch, out_feature = numbers.out_spec[:2]
    if rhs_dim is None:
        lhs = _join(lhs, lhs_dim, batch_axis, batch_groups)
        out = conv_general_dilated_p.bind(lhs, rhs, **params)
        return _part(out, out_batch, axis.size, 1)
    if lhs_dim is None:
        rhs = _join(rhs, rhs_dim, numbers.rhs_spec[0], groups * batch_groups)
        out = conv_general_dilated_p.bind(lhs, rhs, **params)
        return _part(out, out_feature, axis.size, groups * batch_groups)
    rhs = _join(rhs, rhs_dim, numbers.rhs_spec[0], 1)
    if batch_groups > 1:
        lhs = _join(lhs, lhs_dim, batch_axis, 1)
        params["batch_group_count"] = axis.size * batch_groups
    else:
        lhs = _join(lhs, lhs_dim, feature_axis, 1)
        params["feature_group_count"] = axis.size * groups
    out = conv_general_dilated_p.bind(lhs, rhs, **params)
    return _part(out, out_feature, axis.size, 1)


def _empty_batch(args: list, dims: tuple, params: dict[str, Any]) -> tuple[Any, int]:
    avals = [
        a if d is None else a.update(shape=a.shape[:d] + a.shape[d + 1 :])
        for a, d in zip(map(typeof, args), dims, strict=True)
    ]
    out = _abstract(*avals, **params)
    return zeros_of(out.update(shape=(0, *out.shape))), 0


def _join(x: Any, dim: int, axis: int, groups: int) -> Any:
    """Make the batch axis ``dim`` part of ``axis``: inside its groups, in front of the rest."""
    x = move_axis(x, dim, 0)
    size, *shape = typeof(x).shape
    split = (size, *shape[:axis], groups, shape[axis] // groups, *shape[axis + 1 :])
    x = move_axis(reshape(x, split), 0, axis + 1)
    return reshape(x, (*shape[:axis], size * shape[axis], *shape[axis + 1 :]))


def _part(x: Any, axis: int, size: int, groups: int) -> tuple[Any, int]:
    """Undo `_join`: the batch axis comes out of ``axis``, at ``axis``."""
    shape = typeof(x).shape
    rest = shape[axis] // (groups * size)
    x = reshape(x, (*shape[:axis], groups, size, rest, *shape[axis + 1 :]))
    x = move_axis(x, axis + 1, axis)
    return reshape(x, (*shape[:axis], size, groups * rest, *shape[axis + 1 :])), axis


conv_general_dilated_p = Primitive(
    "conv_general_dilated",
    abstract=_abstract,
    lower=lower_conv,
    jvp=_jvp,
    transpose=_transpose,
    batch=_batch,
)

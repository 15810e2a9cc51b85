"""Which axis of a convolution's operands is what, and the shape of its result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from covector.errors import ShapeError
from covector.lax.padding import Pads, dilated_size, explicit_pads, num_windows, padtype_to_pads

Axes = tuple[int, ...]


class ConvDimensionNumbers(NamedTuple):
    """The axes of a convolution's operands and result.

    ``lhs_spec`` and ``out_spec`` are (batch axis, feature axis, spatial axes...); ``rhs_spec`` is
    (output feature axis, input feature axis, spatial axes...).
    """

    lhs_spec: Axes
    rhs_spec: Axes
    out_spec: Axes


ConvGeneralDilatedDimensionNumbers = tuple[str, str, str] | ConvDimensionNumbers | None


def conv_dimension_numbers(
    lhs_shape: Sequence[int], rhs_shape: Sequence[int], dimension_numbers: Any
) -> ConvDimensionNumbers:
    """What users may write about axes, as `ConvDimensionNumbers`.

    ``dimension_numbers`` is None (batch and features lead), three texts such as
    ``("NHWC", "HWIO", "NHWC")``, or a `ConvDimensionNumbers`. In texts N is the batch, C the
    feature axis, O and I the kernel's output and input features; the other letters are spatial.

    Raises:
      TypeError: another form, or texts that do not fit the shapes or each other.

    >>> conv_dimension_numbers((1, 8, 8, 3), (3, 3, 3, 4), ("NHWC", "HWIO", "NHWC"))
    ConvDimensionNumbers(lhs_spec=(0, 3, 1, 2), rhs_spec=(3, 2, 0, 1), out_spec=(0, 3, 1, 2))
    """
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return dimension_numbers
    ndim = len(lhs_shape)
    if ndim != len(rhs_shape):
        raise ShapeError(
            f"convolution requires lhs and rhs ndim to be equal, got {ndim} and {len(rhs_shape)} "
            f"(shapes {tuple(lhs_shape)} and {tuple(rhs_shape)})."
        )
    if dimension_numbers is None:
        order = tuple(range(ndim))
        return ConvDimensionNumbers(order, order, order)
    if not isinstance(dimension_numbers, (list, tuple)):
        raise TypeError(
            f"convolution dimension_numbers must be tuple/list or None, got "
            f"{type(dimension_numbers)}."
        )
    if len(dimension_numbers) != 3:
        raise TypeError(
            f"convolution dimension_numbers list/tuple must be length 3, got "
            f"{len(dimension_numbers)}."
        )
    if not all(isinstance(spec, str) for spec in dimension_numbers):
        kinds = tuple(type(spec) for spec in dimension_numbers)
        raise TypeError(f"convolution dimension_numbers elements must be strings, got {kinds}.")
    for i, spec in enumerate(dimension_numbers):
        if len(spec) != ndim:
            raise ShapeError(
                f"convolution dimension_numbers[{i}] must have len equal to the ndim of lhs and "
                f"rhs, got {len(spec)} for lhs and rhs shapes {tuple(lhs_shape)} and "
                f"{tuple(rhs_shape)}."
            )
    return ConvDimensionNumbers(*conv_general_permutations(dimension_numbers))


def conv_general_permutations(dimension_numbers: Sequence[str]) -> tuple[Axes, Axes, Axes]:
    """The axes of lhs, rhs and result, each in the order of `ConvDimensionNumbers`.

    >>> conv_general_permutations(("NHWC", "HWIO", "NCHW"))
    ((0, 3, 1, 2), (3, 2, 0, 1), (0, 1, 2, 3))
    """
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    specs = ((lhs_spec, "NC"), (rhs_spec, "OI"), (out_spec, "NC"))
    for i, (spec, (first, second)) in enumerate(specs):
        if spec.count(first) != 1 or spec.count(second) != 1:
            raise TypeError(
                f"convolution dimension_numbers[{i}] must contain the characters '{first}' and "
                f"'{second}' exactly once, got {spec}."
            )
        if len(set(spec)) != len(spec):
            raise TypeError(
                f"convolution dimension_numbers[{i}] cannot have duplicate characters, got {spec}."
            )
    spatial = [c for c in rhs_spec if c not in "OI"]
    if not set(spatial) == set(lhs_spec) - set("NC") == set(out_spec) - set("NC"):
        raise TypeError(
            "convolution dimension_numbers elements must each have the same set of spatial "
            f"characters, got {tuple(dimension_numbers)}."
        )
    lhs, rhs, out = (tuple(map(spec.index, (*pair, *spatial))) for spec, pair in specs)
    return lhs, rhs, out


class Window(NamedTuple):
    """How the kernel moves over the operand: an entry for each spatial axis."""

    strides: Axes
    padding: Pads
    lhs_dilation: Axes
    rhs_dilation: Axes

    def out_sizes(self, lhs_sizes: Sequence[int], rhs_sizes: Sequence[int]) -> Axes:
        """The result's spatial sizes."""
        sizes = []
        for n, k, stride, (low, high), lhs_dilation, rhs_dilation in zip(
            lhs_sizes, rhs_sizes, *self, strict=True
        ):
            padded = dilated_size(n, lhs_dilation) + low + high
            if padded < 0:
                raise ShapeError(
                    "convolution: negative padding cuts more than there is: the spatial sizes of "
                    f"lhs are {tuple(lhs_sizes)}, dilated by {self.lhs_dilation}, and padding is "
                    f"{self.padding}."
                )
            sizes.append(num_windows(padded, dilated_size(k, rhs_dilation), stride))
        return tuple(sizes)


def conv_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    strides: Sequence[int],
    pads: Any,
    batch_group_count: int = 1,
) -> tuple[int, ...]:
    """The result's shape, all axes in the default order (batch, features, spatial...).

    >>> conv_shape_tuple((2, 3, 8, 9), (4, 3, 3, 2), (1, 2), "VALID")
    (2, 4, 6, 4)
    """
    num_spatial = len(lhs_shape) - 2
    if isinstance(pads, str):
        pads = padtype_to_pads(lhs_shape[2:], rhs_shape[2:], strides, pads)
    if len(pads) != num_spatial:
        raise ShapeError(
            f"Wrong number of explicit pads for convolution: expected {num_spatial}, got "
            f"{len(pads)}."
        )
    ones = (1,) * num_spatial
    window = Window(tuple(strides), explicit_pads("conv_shape_tuple", pads), ones, ones)
    sizes = window.out_sizes(lhs_shape[2:], rhs_shape[2:])
    return (lhs_shape[0] // batch_group_count, rhs_shape[0], *sizes)


def _general_shape(
    lhs_shape: Sequence[int], rhs_shape: Sequence[int], dimension_numbers: Any, default_order: Any
) -> tuple[int, ...]:
    """A shape worked out in the default order of axes, in the order of the result's axes."""
    lhs_perm, rhs_perm, out_perm = conv_general_permutations(dimension_numbers)
    shape = default_order([lhs_shape[i] for i in lhs_perm], [rhs_shape[i] for i in rhs_perm])
    return tuple([shape[out_perm.index(i)] for i in range(len(shape))])


def conv_general_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
    dimension_numbers: Any,
) -> tuple[int, ...]:
    """The result's shape for axes in the order that ``dimension_numbers`` says.

    >>> numbers = ("NCHW", "OIHW", "NHWC")
    >>> conv_general_shape_tuple((2, 3, 8, 9), (4, 3, 3, 2), (1, 2), "SAME", numbers)
    (2, 8, 5, 4)
    """
    return _general_shape(
        lhs_shape,
        rhs_shape,
        dimension_numbers,
        lambda lhs, rhs: conv_shape_tuple(lhs, rhs, window_strides, padding),
    )


def conv_transpose_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
    dimension_numbers: Any,
) -> tuple[int, ...]:
    """The shape of what the convolution with these parameters maps to ``lhs_shape``.

    >>> numbers = ("NCHW", "OIHW", "NHWC")
    >>> conv_transpose_shape_tuple((2, 3, 8, 9), (4, 3, 3, 2), (1, 2), "VALID", numbers)
    (2, 10, 18, 4)
    """

    def shape(lhs: list[int], rhs: list[int]) -> tuple[int, ...]:
        pads = padding
        if isinstance(pads, str):
            pads = [
                conv_transpose_pads(k, s, pads)
                for k, s in zip(rhs[2:], window_strides, strict=True)
            ]
        sizes = [
            dilated_size(n, s) + low + high - k + 1
            for n, k, s, (low, high) in zip(lhs[2:], rhs[2:], window_strides, pads, strict=True)
        ]
        return (lhs[0], rhs[0], *sizes)

    return _general_shape(lhs_shape, rhs_shape, dimension_numbers, shape)


def conv_transpose_pads(window: int, stride: int, padding: str) -> tuple[int, int]:
    """The padding of a transposed convolution along an axis.

    The axis is dilated by the stride and then covered with stride 1. ``"SAME"`` makes the result
    ``stride`` times as long; ``"VALID"`` as long as all of the kernel's positions reach.

    Dumoulin and Visin, "A guide to convolution arithmetic for deep learning",
    https://arxiv.org/abs/1603.07285
    """
    total = window + stride - 2
    if padding == "SAME":
        low = window - 1 if stride > window - 1 else -(-total // 2)
    elif padding == "VALID":
        total += max(window - stride, 0)
        low = window - 1
    else:
        raise ValueError(f"conv_transpose: padding must be 'SAME' or 'VALID', got {padding!r}")
    return low, total - low

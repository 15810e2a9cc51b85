"""Convolution as patches: the windows as an axis of their own, and a kernel for each place."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from covector._trace.trace import typeof
from covector.lax.conv import conv_general_dilated
from covector.lax.conv_shapes import ConvDimensionNumbers, conv_dimension_numbers
from covector.lax.dot import dot_general
from covector.lax.shape import transpose


def conv_general_dilated_patches(
    lhs: Any,
    filter_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """The windows that a convolution sees, each flattened along the feature axis.

    The result's features are the operand's, each with the elements of a window of
    ``filter_shape`` in row-major order. It is computed as a convolution, so a nan or an infinity
    spreads over the windows that it is in.

    >>> conv_general_dilated_patches(np.arange(3.).reshape(1, 1, 3), (2,), (1,), "VALID")
    Array([[[0., 1.],
            [1., 2.]]], dtype=float32)
    """
    aval = typeof(lhs)
    sizes = tuple(filter_shape)
    numbers = conv_dimension_numbers(aval.shape, (1, 1, *sizes), dimension_numbers)
    features = aval.shape[numbers.lhs_spec[1]]
    window = math.prod(sizes)
    kernel = np.tile(np.eye(window, dtype=aval.dtype), (features, 1))
    kernel = kernel.reshape(features * window, 1, *sizes)
    kernel = np.transpose(kernel, np.argsort(numbers.rhs_spec))
    return conv_general_dilated(
        lhs,
        kernel,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        numbers,
        feature_group_count=features,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_general_dilated_local(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: Any,
    filter_shape: Sequence[int],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    precision: Any = None,
) -> Any:
    """A convolution whose kernel is another at each place: "locally connected", "unshared".

    Args:
      rhs: for each place of the result a kernel: its spatial axes have the result's sizes, and its
        input feature axis runs over (input feature, window), see `conv_general_dilated_patches`.
      filter_shape: the window's sizes.

    >>> kernels = np.array([[[1., 0.], [0., 1.]]])
    >>> conv_general_dilated_local(np.arange(3.).reshape(1, 1, 3), kernels, (1,), "VALID", (2,))
    Array([[[0., 2.]]], dtype=float32)
    """
    numbers = conv_dimension_numbers(typeof(lhs).shape, typeof(rhs).shape, dimension_numbers)
    _, feature_axis, *lhs_spatial = numbers.lhs_spec
    _, in_axis, *rhs_spatial = numbers.rhs_spec
    patches = conv_general_dilated_patches(
        lhs,
        filter_shape,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        ConvDimensionNumbers(numbers.lhs_spec, numbers.rhs_spec, numbers.lhs_spec),
        precision,
    )
    contract = ((feature_axis,), (in_axis,))
    out = dot_general(patches, rhs, (contract, (tuple(lhs_spatial), tuple(rhs_spatial))), precision)
    # The product's axes: spatial, batch, feature.
    num_spatial = len(lhs_spatial)
    order = [num_spatial, num_spatial + 1, *range(num_spatial)]
    return transpose(out, tuple(order[i] for i in np.argsort(numbers.out_spec)))

"""Products of block-scaled matrices: `scaled_matmul`, `scaled_dot_general`.

In a block-scaled format, elements of a narrow dtype share a scale in blocks along an axis.
Source: "OCP Microscaling formats (MX) specification", 2023.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import covector.numpy as jnp
import ml_dtypes
import numpy as np
from covector import lax
from covector._api.jit import library_function
from covector._ir import dtypes
from covector.errors import ShapeError


@dataclass
class BlockScaleConfig:
    """A block-scaled format: what `get_scaled_dot_general_config` gives."""

    mode: str
    block_size: int
    data_type: Any
    scale_type: Any
    global_scale: Any
    infer_only: bool = False


# mode: block size, data type, scale type
_FORMATS: dict[str, tuple[int, Any, Any]] = {
    "nvfp4": (16, ml_dtypes.float4_e2m1fn, ml_dtypes.float8_e4m3fn),
    "mxfp8": (32, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e8m0fnu),
    "mxfp4": (32, ml_dtypes.float4_e2m1fn, ml_dtypes.float8_e8m0fnu),
}


def get_scaled_dot_general_config(mode: str, global_scale: Any = None) -> BlockScaleConfig:
    """The block-scaled format named "nvfp4", "mxfp8" or "mxfp4".

    ``global_scale``, a scale of whole matrices, is kept for "nvfp4" alone, and by default 1.

    Raises:
      ValueError: there is no such format.

    >>> nn.get_scaled_dot_general_config("mxfp8").block_size
    32
    """
    if mode not in _FORMATS:
        raise ValueError(
            f"get_scaled_dot_general_config: unknown mode {mode!r}, expected one of "
            f"{', '.join(_FORMATS)}."
        )
    scale = None
    if mode == "nvfp4":
        scale = jnp.ones((1,), np.float32) if global_scale is None else global_scale
    return BlockScaleConfig(mode, *_FORMATS[mode], scale)


def scaled_matmul(
    lhs: Any,
    rhs: Any,
    lhs_scales: Any,
    rhs_scales: Any,
    preferred_element_type: Any = np.float32,
) -> Any:
    """Products of rows with rows, ``einsum("bmk,bnk->bmn")``, of matrices scaled in blocks.

    Args:
      lhs: shape (B, M, K).
      rhs: shape (B, N, K).
      lhs_scales: shape (B, M, K / k) for blocks of k elements along the last axis.
      rhs_scales: shape (B, N, K / k), where k may be another.
      preferred_element_type: the dtype of the result. Sums are made in float32.

    Raises:
      ShapeError: the shapes do not fit.

    >>> lhs, rhs = jnp.array([[[1.0, 2.0, 3.0]]]), jnp.array([[[4.0, 5.0, 6.0]]])
    >>> print(nn.scaled_matmul(lhs, rhs, jnp.array([[[0.5]]]), jnp.array([[[0.5]]])))
    [[[8.]]]
    """
    operands = [jnp.asarray(x) for x in (lhs, rhs, lhs_scales, rhs_scales)]
    _check_shapes(*[x.shape for x in operands])
    dtype = dtypes.check_user_dtype(preferred_element_type, "scaled_matmul")
    return _scaled_matmul(*operands, dtype=dtype)


def _check_shapes(a: Any, b: Any, a_scales: Any, b_scales: Any) -> None:
    shapes = (
        f"lhs has shape {a}, rhs {b}, lhs_scales {a_scales}, rhs_scales {b_scales}. They must be "
        "(B, M, K), (B, N, K), (B, M, K / k) and (B, N, K / k)."
    )
    if not all(len(shape) == 3 for shape in (a, b, a_scales, b_scales)):
        raise ShapeError(f"scaled_matmul: all operands must have three axes, but {shapes}")
    if a[0] != b[0] or a[2] != b[2]:
        raise ShapeError(f"scaled_matmul: lhs and rhs must agree in B and K, but {shapes}")
    if a[:2] != a_scales[:2] or b[:2] != b_scales[:2]:
        raise ShapeError(f"scaled_matmul: scales must agree with what they scale, but {shapes}")
    if any(scales[2] == 0 or a[2] % scales[2] for scales in (a_scales, b_scales)):
        raise ShapeError(
            f"scaled_matmul: K must be a multiple of the numbers of scales, but {shapes}"
        )


@library_function(static_argnames="dtype")
def _scaled_matmul(lhs: Any, rhs: Any, lhs_scales: Any, rhs_scales: Any, *, dtype: Any) -> Any:
    rows = [_unscaled(lhs, lhs_scales), _unscaled(rhs, rhs_scales)]
    out = lax.dot_general(
        *rows, (((2,), (2,)), ((0,), (0,))), preferred_element_type=np.dtype(np.float32)
    )
    return lax.convert_element_type(out, dtype)


def _unscaled(x: Any, scales: Any) -> Any:
    """The numbers that a block-scaled matrix stands for, in single precision."""
    blocks = x.astype(np.float32).reshape(*scales.shape, -1)
    return (blocks * scales.astype(np.float32)[..., None]).reshape(x.shape)


def scaled_dot_general(
    lhs: Any,
    rhs: Any,
    dimension_numbers: Any,
    preferred_element_type: Any = np.float32,
    configs: Any = None,
    implementation: str | None = None,
) -> Any:
    """`lax.dot_general`; quantizing its operands in blocks (``configs``) is not offered.

    Quantized matrices can be multiplied by `scaled_matmul`. ``implementation`` has no meaning.

    Raises:
      NotImplementedError: ``configs`` is given.

    >>> x = jnp.ones((2, 3))
    >>> print(nn.scaled_dot_general(x, x, (((1,), (1,)), ((), ()))))
    [[3. 3.]
     [3. 3.]]
    """
    if configs is not None:
        raise NotImplementedError(
            "scaled_dot_general: configs, which quantize the operands, are not offered. Leave them "
            "out, or multiply quantized matrices by covector.nn.scaled_matmul."
        )
    return lax.dot_general(
        lhs, rhs, dimension_numbers, preferred_element_type=preferred_element_type
    )

"""Attention: `dot_product_attention`."""

from __future__ import annotations

import math
from operator import index
from typing import Any

import covector.numpy as jnp
import numpy as np
from covector import lax
from covector._api.jit import library_function
from covector._ir import dtypes
from covector._trace.trace import typeof
from covector.errors import ShapeError
from covector.nn._normalization import shares
from covector.nn._operands import strong
from covector.scipy.special import logsumexp

NAME = "dot_product_attention"


def dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    bias: Any = None,
    mask: Any = None,
    *,
    scale: Any = None,
    is_causal: bool = False,
    query_seq_lengths: Any = None,
    key_value_seq_lengths: Any = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: str | None = None,
    return_residual: bool = False,
) -> Any:
    """``softmax(query @ key.T * scale + bias) @ value``, for each sequence and head.

    Sizes are named B (sequences), T (queries), S (keys), N (heads of queries), K (heads of keys;
    N is a multiple of K, and consecutive query heads share one) and H (features). Without B, for
    one sequence. Scores and shares are float32 at least.

    Args:
      query: shape (B, T, N, H).
      key, value: shape (B, S, K, H), and the dtype of ``query``.
      bias: added to the scores; broadcasts to (B, N, T, S).
      mask: boolean, broadcasts likewise; a key counts for a query where it is true. A query for
        which none counts gets the mean of all values.
      scale: of the products, by default ``1 / sqrt(H)``.
      is_causal: each query sees the keys up to its own position.
      query_seq_lengths: shape (B,), how many queries there are; the results beyond are 0.
      key_value_seq_lengths: shape (B,), how many keys count.
      local_window_size: how many keys before and behind its own position a query sees; one number
        for both.
      implementation: "xla" or None. "cudnn" is not offered.
      return_residual: also return the logarithms of the sums of exponentials, shape (B, T, N).

    Returns:
      Shape (B, T, N, H), in the dtype of ``query``.

    Raises:
      ValueError: shapes or dtypes do not fit (`ShapeError` for shapes).
      NotImplementedError: ``implementation`` is "cudnn".

    Source: Vaswani et al., "Attention is all you need", 2017, https://arxiv.org/abs/1706.03762;
    shared heads: Ainslie et al., "GQA", 2023, https://arxiv.org/abs/2305.13245.

    >>> x = jnp.array([[[1.0, 0.0]], [[0.0, 1.0]]])  # two positions, one head
    >>> print(nn.dot_product_attention(x, x, x, scale=100.0, is_causal=True)[:, 0])
    [[1. 0.]
     [0. 1.]]
    """
    _check_implementation(implementation)
    arrays = [jnp.asarray(x) for x in (query, key, value)]
    single = arrays[0].ndim == 3
    if single:
        arrays = [x[None] for x in arrays]
    lengths = [
        _checked_lengths(argument, x, arrays[0].shape[0])
        for argument, x in [
            ("query_seq_lengths", query_seq_lengths),
            ("key_value_seq_lengths", key_value_seq_lengths),
        ]
    ]
    out = _attend(
        arrays,
        lengths,
        bias,
        mask,
        scale,
        is_causal=bool(is_causal),
        window=_window(local_window_size),
        return_residual=bool(return_residual),
    )
    if single:
        out = [x[0] for x in out]
    return tuple(out) if return_residual else out[0]


@library_function(static_argnames=("is_causal", "window", "return_residual"))
def _attend(
    arrays: list[Any],
    lengths: list[Any],
    bias: Any,
    mask: Any,
    scale: Any,
    *,
    is_causal: bool,
    window: tuple[int, int] | None,
    return_residual: bool,
) -> list[Any]:
    query, key, value = arrays
    query_lengths, key_lengths = lengths
    _check_operands(query, key, value, mask)
    shape, dtype = query.shape, query.dtype
    scores = _scores(query, key) * (1 / math.sqrt(shape[-1]) if scale is None else scale)
    if bias is not None:
        scores = strong(scores + _of_rank_4("bias", bias))
    counted = _counted(scores.shape, mask, query_lengths, key_lengths, is_causal, window)
    if counted is not None:
        # Finite, so that a query without keys has equal shares and no NaN.
        scores = jnp.where(counted, scores, -0.7 * float(jnp.finfo(scores.dtype).max))
    out = _weighed(shares(scores, None, -1).astype(dtype), value, shape)
    if query_lengths is not None:
        positions = lax.broadcasted_iota(query_lengths.dtype, shape[:2], 1)
        out = jnp.where((positions < query_lengths[:, None])[:, :, None, None], out, 0)
    if not return_residual:
        return [out]
    return [out, jnp.swapaxes(logsumexp(scores, axis=-1), 1, 2).astype(dtype)]


def _scores(query: Any, key: Any) -> Any:
    """The products of each query with each key, shape (B, N, T, S)."""
    batches, queries, heads, features = query.shape
    groups = key.shape[2]
    # The query heads that share a key head are rows of one matrix.
    rows = query.reshape(batches, queries, groups, heads // groups, features)
    rows = rows.transpose(0, 2, 3, 1, 4).reshape(
        batches, groups, heads // groups * queries, features
    )
    wide = dtypes.promote_types(query.dtype, np.float32)
    out = lax.dot_general(rows, key, (((3,), (3,)), ((0, 1), (0, 2))), preferred_element_type=wide)
    return out.reshape(batches, heads, queries, key.shape[1])


def _weighed(weights: Any, value: Any, shape: tuple[int, ...]) -> Any:
    """The sums of values, each times its share."""
    batches, queries, heads, features = shape
    groups = value.shape[2]
    rows = weights.reshape(batches, groups, heads // groups * queries, value.shape[1])
    out = lax.dot_general(rows, value, (((3,), (1,)), ((0, 1), (0, 2))))
    out = out.reshape(batches, groups, heads // groups, queries, features)
    return out.transpose(0, 3, 1, 2, 4).reshape(shape)


def _counted(
    shape: tuple[int, ...],
    mask: Any,
    query_lengths: Any,
    key_lengths: Any,
    is_causal: bool,
    window: tuple[int, int] | None,
) -> Any:
    """Which keys count for which queries, broadcasting to ``shape``; None for all."""
    row = lax.broadcasted_iota(np.int32, shape[2:], 0)
    column = lax.broadcasted_iota(np.int32, shape[2:], 1)
    terms = [] if mask is None else [_of_rank_4("mask", mask)]
    if is_causal:
        terms.append(column <= row)
    if window is not None:
        before, behind = window
        terms += [column >= row - before, column <= row + behind]
    if query_lengths is not None:
        terms.append(row < query_lengths[:, None, None, None])
    if key_lengths is not None:
        terms.append(column < key_lengths[:, None, None, None])
    out = terms[0] if terms else None
    for term in terms[1:]:
        out = out & term
    return out


# --- checks --------------------------------------------------------------------------------------


def _check_implementation(implementation: str | None) -> None:
    if implementation == "cudnn":
        raise NotImplementedError(
            f"{NAME}: the implementation 'cudnn' is not offered. Leave the argument out."
        )
    if implementation not in (None, "xla"):
        raise ValueError(f"{NAME}: implementation must be 'xla' or None, got {implementation!r}.")


def _checked_lengths(argument: str, lengths: Any, batches: int) -> Any:
    if lengths is None:
        return None
    lengths = jnp.asarray(lengths)
    if lengths.shape != (batches,):
        raise ShapeError(
            f"{NAME}: {argument} must have shape ({batches},), one number for each sequence, but "
            f"it has shape {lengths.shape}."
        )
    if not dtypes.is_integer(lengths.dtype):
        raise ValueError(f"{NAME}: {argument} must be integers, but has dtype {lengths.dtype}.")
    return lengths


def _window(size: Any) -> tuple[int, int] | None:
    if size is None:
        return None
    if hasattr(size, "__index__"):
        return index(size), index(size)
    if len(size) != 2:
        raise ValueError(f"{NAME}: local_window_size must be one number or two, got {size}.")
    return index(size[0]), index(size[1])


def _check_operands(query: Any, key: Any, value: Any, mask: Any) -> None:
    if query.ndim != 4 or key.ndim != 4:
        raise ShapeError(
            f"{NAME}: query and key must have shapes (B, T, N, H) and (B, S, K, H), or both "
            f"without B, but they have {query.shape} and {key.shape}."
        )
    if value.shape != key.shape:
        raise ShapeError(
            f"{NAME}: key and value must have one shape, but have {key.shape} and {value.shape}."
        )
    if (query.shape[0], query.shape[3]) != (key.shape[0], key.shape[3]):
        raise ShapeError(
            f"{NAME}: query and key must agree in their first and last axes, but have shapes "
            f"{query.shape} and {key.shape}."
        )
    if query.shape[2] % max(key.shape[2], 1):
        raise ShapeError(
            f"{NAME}: the number of query heads must be a multiple of that of key heads, but they "
            f"are {query.shape[2]} and {key.shape[2]}."
        )
    if not query.dtype == key.dtype == value.dtype:
        raise ValueError(
            f"{NAME}: query, key and value must have one dtype, but have {query.dtype}, "
            f"{key.dtype} and {value.dtype}."
        )
    if mask is not None and not dtypes.is_bool(typeof(mask).dtype):
        raise ValueError(f"{NAME}: mask must be boolean, but has dtype {typeof(mask).dtype}.")


def _of_rank_4(argument: str, x: Any) -> Any:
    if typeof(x).ndim > 4:
        raise ShapeError(
            f"{NAME}: {argument} must broadcast to (B, N, T, S), but has shape {typeof(x).shape}."
        )
    return jnp.reshape(x, (1,) * (4 - typeof(x).ndim) + tuple(typeof(x).shape))

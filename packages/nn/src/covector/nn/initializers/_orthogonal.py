"""Initializers of orthogonal matrices, and of convolutions by them."""

from __future__ import annotations

import math
from typing import Any

import covector.numpy as jnp
import numpy as np
from covector import lax, random
from covector._api.jit import library_function
from covector._run.array import Array
from covector.lax._axes import canonical_axis, sizes_of
from covector.lax.filling import place
from covector.nn.initializers._plain import Initializer, as_dtype, of_dtype


def orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = None) -> Initializer:
    """An initializer that draws orthogonal matrices evenly, times ``scale``.

    The array is a matrix whose columns lie along ``column_axis``, the other axes being one. If it
    is not square, its rows or its columns are orthogonal, whichever are fewer.

    Raises:
      ValueError: the array has less than two axes.

    Sources: Saxe et al., "Exact solutions to the nonlinear dynamics of learning", 2013,
    https://arxiv.org/abs/1312.6120; Mezzadri, "How to generate random matrices", 2006,
    https://arxiv.org/abs/math-ph/0609050.

    >>> x = nn.initializers.orthogonal()(covector.random.key(0), (3, 2))
    >>> print(jnp.abs(x.T @ x).round(5))
    [[1. 0.]
     [0. 1.]]
    """
    default = dtype

    def init(key: Any, shape: Any, dtype: Any = default, out_sharding: Any = None) -> Array:
        dtype = as_dtype("orthogonal", dtype)
        shape = sizes_of("orthogonal", "shape", shape)
        if len(shape) < 2:
            raise ValueError(f"orthogonal: the shape must have two axes at least, got {shape}.")
        axis = canonical_axis("orthogonal", column_axis, len(shape))
        columns, rows = shape[axis], math.prod(shape[:axis] + shape[axis + 1 :])
        drawn = random.normal(key, (max(rows, columns), min(rows, columns)), dtype)
        return place(_arranged(drawn, of_dtype(scale, dtype), shape, axis), out_sharding)

    return init


@library_function(static_argnums=(2, 3))
def _arranged(drawn: Any, scale: Any, shape: tuple[int, ...], axis: int) -> Any:
    q, r = jnp.linalg.qr(drawn)
    # With a positive diagonal of R the factors are unique, so Q is distributed evenly.
    q = q * jnp.sign(jnp.diagonal(r))
    columns = shape[axis]
    rows = math.prod(shape) // max(columns, 1)
    q = q.T if rows < columns else q
    others = shape[:axis] + shape[axis + 1 :]
    return scale * jnp.moveaxis(jnp.reshape(q, (*others, columns)), -1, axis)


def delta_orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = None) -> Initializer:
    """An initializer of convolutions: an orthogonal matrix in the window's middle, 0 elsewhere.

    The shape is that of a window of one, two or three axes, followed by inputs and outputs, of
    which there must not be fewer.

    Raises:
      ValueError: the shape is another.

    Source: Xiao et al., "Dynamical isometry and a mean field theory of CNNs", 2018,
    https://arxiv.org/abs/1806.05393.

    >>> x = nn.initializers.delta_orthogonal()(covector.random.key(0), (3, 2, 2))
    >>> print(jnp.abs(x[1].T @ x[1]).round(5), abs(x[0]).max(), abs(x[2]).max())
    [[1. 0.]
     [0. 1.]] 0.0 0.0
    """
    default = dtype

    def init(key: Any, shape: Any, dtype: Any = default, out_sharding: Any = None) -> Array:
        dtype = as_dtype("delta_orthogonal", dtype)
        shape = sizes_of("delta_orthogonal", "shape", shape)
        if len(shape) not in (3, 4, 5):
            raise ValueError(f"delta_orthogonal: the shape must have 3 to 5 axes, got {shape}.")
        if shape[-1] < shape[-2]:
            raise ValueError(
                f"delta_orthogonal: there must not be fewer outputs than inputs, but the shape is "
                f"{shape}."
            )
        matrix = orthogonal(scale, column_axis)(key, shape[-2:], dtype)
        edges = [((n - 1) // 2, n - 1 - (n - 1) // 2, 0) for n in shape[:-2]]
        window = jnp.reshape(matrix, (1,) * len(edges) + shape[-2:])
        padded = lax.pad(window, np.zeros((), dtype)[()], [*edges, (0, 0, 0), (0, 0, 0)])
        return place(padded, out_sharding)

    return init

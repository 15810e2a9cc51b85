"""What the distributions share: a key to draw from, and the way from a call to its program.

A distribution is two functions. The public one names the arguments and hands them to `sample`,
with a kernel: what makes the numbers, in library code. The kernel gets a `Source`, the result's
shape and dtype, and the parameters as arrays of them (scalars stay scalars).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from covector import lax
from covector._api.jit import library_function
from covector._ir import dtypes
from covector._trace.trace import typeof
from covector.errors import ShapeError, TypePromotionError
from covector.lax.filling import place
from covector.lax.shape import broadcast_shapes
from covector.random._arguments import check_parameters, float_dtype, shape_of, single_key
from covector.random._implementation import KeyImplementation, Shape
from covector.random._layout import from_work_shape
from covector.random._normal import normal_numbers
from covector.random._uniform import between, broadcast_parameter, unit_interval

Number = float | np.floating


class Source:
    """A key in library code, and what is drawn from it."""

    __slots__ = ("data", "implementation")

    def __init__(self, data: Any, implementation: KeyImplementation):
        self.data = data
        self.implementation = implementation

    def split(self, count: int = 2) -> list[Source]:
        """New sources, in the place of this one."""
        keys = lax.unstack(self.implementation.split(self.data, (count,)))
        return [Source(key, self.implementation) for key in keys]

    def unit(self, shape: Shape, dtype: np.dtype) -> Any:
        """Numbers of ``[0, 1)``."""
        return unit_interval(self.data, self.implementation, shape, dtype)

    def uniform(self, shape: Shape, dtype: np.dtype, low: Number, high: Number) -> Any:
        """Numbers of ``[low, high)``, which are rounded to ``dtype``."""
        return between(self.unit(shape, dtype), scalar(low, dtype), scalar(high, dtype))

    def normal(self, shape: Shape, dtype: np.dtype) -> Any:
        """Numbers of the standard normal distribution, real or complex."""
        return normal_numbers(self.data, self.implementation, shape, dtype)

    def exponential(self, shape: Shape, dtype: np.dtype) -> Any:
        """Numbers of the exponential distribution with mean one."""
        return lax.neg(lax.log1p(lax.neg(self.unit(shape, dtype))))

    def sign(self, shape: Shape, dtype: np.dtype) -> Any:
        """1 and -1, equally likely."""
        uniform = self.unit(shape, dtypes.scalar_dtype(float))
        up = lax.lt(uniform, scalar(0.5, uniform.dtype))
        return lax.select(up, *[lax.full(shape, x, dtype) for x in (1, -1)])


def scalar(number: Number, dtype: np.dtype) -> Any:
    """A constant of a dtype."""
    return np.asarray(number).astype(dtype)[()]


def sample(
    name: str,
    kernel: Callable[..., Any],
    key: Any,
    shape: Any,
    dtype: Any,
    out_sharding: Any = None,
    *,
    safe: bool = True,
    also_complex: bool = False,
    work: Callable[[np.dtype], np.dtype] = lambda dtype: dtype,
    **parameters: Any,
) -> Any:
    """What ``kernel(source, shape, dtype, *parameters)`` draws, elementwise in the parameters.

    Args:
      name: of the function that was called.
      shape: of the result, to which parameters broadcast; None for what they broadcast to.
      safe: whether a parameter of a wider dtype than the result's is an error.
      also_complex: whether the dtype may be complex.
      work: gives the dtype that the kernel works in; its result is converted.
    """
    implementation, data, _ = single_key(name, key)
    dtype = float_dtype(name, dtype, also_complex=also_complex)
    shape = None if shape is None else shape_of(name, shape)
    shape = check_parameters(name, shape, **parameters)
    for argument, x in parameters.items():
        check_real(name, argument, x, dtype if safe else None)
    drawn = _sample(kernel, implementation, shape, dtype, work(dtype), data, *parameters.values())
    return place(drawn, out_sharding)


def check_real(name: str, argument: str, x: Any, dtype: np.dtype | None = None) -> None:
    """Raise unless a parameter is real, and if ``dtype`` is given, no wider than it."""
    given = typeof(x)
    if dtypes.is_complex(given.dtype):
        wide = True
    else:
        wide = dtype is not None and not given.weak_type and given.dtype != dtype
        wide = wide and dtypes.result_type(dtype, given.dtype) != dtype
    if wide:
        raise TypePromotionError(
            f"{name}: cannot safely cast {argument} of dtype {given.dtype} to "
            f"{'a real dtype' if dtype is None else dtype}. Convert it, or give a wider dtype."
        )


def batch_shape(name: str, shape: Any, **batches: Shape) -> Shape:
    """``shape``, by default what the parameters' leading axes broadcast to.

    Raises:
      ShapeError: they do not broadcast to it.
    """
    if shape is None:
        return broadcast_shapes(*batches.values())
    shape = shape_of(name, shape)
    for argument, batch in batches.items():
        ends = shape[max(len(shape) - len(batch), 0) :]
        if len(batch) > len(shape) or any(n not in (1, m) for n, m in zip(batch, ends)):
            raise ShapeError(
                f"{name}: the axes of {argument} that count draws, of shape {batch}, must "
                f"broadcast to shape {shape}."
            )
    return shape


def integer_dtype(name: str, dtype: Any) -> np.dtype:
    """A ``dtype=`` argument that must be an integer type (int by default)."""
    if dtype is None:
        return dtypes.scalar_dtype(int)
    dtype = dtypes.check_user_dtype(dtype, name)
    if not dtypes.is_integer(dtype):
        raise ValueError(f"dtype argument to `{name}` must be an int dtype, got {dtype}")
    return dtype


@library_function(static_argnums=(0, 1, 2, 3, 4))
def _sample(
    kernel: Callable[..., Any],
    implementation: KeyImplementation,
    shape: Shape,
    dtype: np.dtype,
    work: np.dtype,
    data: Any,
    *parameters: Any,
) -> Any:
    source = Source(data, implementation)
    parameters = tuple([lax.convert_element_type(x, work) for x in parameters])
    alike = not any(typeof(x).ndim for x in parameters)
    work_shape = equal_work_shape(implementation, shape) if alike else shape
    drawn = kernel(source, work_shape, work, *[broadcast_parameter(x, shape) for x in parameters])
    drawn = lax.convert_element_type(drawn, dtype)
    return from_work_shape(drawn, shape) if alike else drawn


def at_least_single(dtype: np.dtype) -> np.dtype:
    """``dtype``, or `float32` for a narrower one."""
    return dtype if dtypes.itemsize_bits(dtype) >= 32 else np.dtype(np.float32)


def total(x: Any, axis: int) -> Any:
    """The sum along an axis, added up in 32 bits or more."""
    dtype = typeof(x).dtype
    wide = lax.convert_element_type(x, at_least_single(dtype))
    return lax.convert_element_type(lax.reduce_sum(wide, (axis,)), dtype)


def equal_work_shape(implementation: KeyImplementation, shape: Shape) -> Shape:
    """The work shape if it is not padded, for what depends on how many numbers are drawn."""
    work_shape = implementation.work_shape(shape)
    return work_shape if math.prod(work_shape) == math.prod(shape) else shape

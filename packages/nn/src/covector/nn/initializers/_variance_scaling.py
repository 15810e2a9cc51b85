"""Initializers whose scale follows from the numbers of inputs and outputs: `variance_scaling`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import covector.numpy as jnp
import numpy as np
from covector import random
from covector._ir import dtypes
from covector._run.array import Array
from covector._trace.trace import Tracer
from covector.lax._axes import sizes_of
from covector.lax.filling import place
from covector.nn.initializers._plain import Initializer, as_dtype, of_dtype

Axes = int | Sequence[int]

# mode: what the variance is divided by, of the numbers of inputs and of outputs
_MODES: dict[str, Callable[[float, float], float]] = {
    "fan_in": lambda inputs, outputs: inputs,
    "fan_out": lambda inputs, outputs: outputs,
    "fan_avg": lambda inputs, outputs: (inputs + outputs) / 2,
    "fan_geo_avg": lambda inputs, outputs: math.sqrt(inputs * outputs),
}
# The standard deviations of normal numbers of variance 1 without those beyond 2.
_TRUNCATED = 0.87962566103423978
_COMPLEX_TRUNCATED = 0.95311164380491208


def variance_scaling(
    scale: Any,
    mode: str,
    distribution: str,
    in_axis: Axes = -2,
    out_axis: Axes = -1,
    batch_axis: Axes = (),
    dtype: Any = None,
) -> Initializer:
    """An initializer that draws numbers of mean 0 and variance ``scale / n``.

    Args:
      mode: what n is: the number of inputs of a unit ("fan_in"), that of outputs ("fan_out"), or
        their arithmetic or geometric mean ("fan_avg", "fan_geo_avg"). Axes that none of the next
        arguments names, such as those of a convolution's window, count for both.
      distribution: "normal"; "truncated_normal", which leaves out what lies beyond two standard
        deviations; or "uniform", of an interval (for complex dtypes, of a disk).
      in_axis, out_axis: the axes of inputs and outputs.
      batch_axis: axes that do not count.

    Raises:
      ValueError: ``mode`` or ``distribution`` is unknown, or the array has less than two axes.

    Sources: LeCun et al., "Efficient BackProp", 1998; Glorot and Bengio, "Understanding the
    difficulty of training deep feedforward neural networks", 2010; He et al., "Delving deep into
    rectifiers", 2015, https://arxiv.org/abs/1502.01852.

    >>> initializer = nn.initializers.variance_scaling(1.0, "fan_in", "uniform")
    >>> print(initializer(covector.random.key(0), (3, 2))[0])
    [0.895334   0.95715976]
    """
    default = dtype

    def init(key: Any, shape: Any, dtype: Any = default, out_sharding: Any = None) -> Array:
        dtype = as_dtype("variance_scaling", dtype)
        shape = sizes_of("variance_scaling", "shape", shape)
        inputs, outputs = _numbers(shape, in_axis, out_axis, batch_axis)
        if mode not in _MODES:
            raise ValueError(
                f"variance_scaling: mode must be one of {', '.join(_MODES)}, but got {mode!r}."
            )
        variance = of_dtype(scale / _MODES[mode](inputs, outputs), dtype)
        return place(_draw(distribution, key, shape, dtype, variance), out_sharding)

    return init


def _numbers(shape: Any, in_axis: Axes, out_axis: Axes, batch_axis: Axes) -> tuple[float, float]:
    """How many inputs and how many outputs a unit has."""
    if len(shape) < 2 and in_axis == -2:
        raise ValueError(
            f"variance_scaling: the weights have shape {shape}, whose inputs and outputs are not "
            "known. Give two axes at least, or say in_axis and out_axis."
        )
    inputs, outputs, batches = [
        math.prod([shape[a] for a in ((axes,) if isinstance(axes, int) else axes)])
        for axes in (in_axis, out_axis, batch_axis)
    ]
    window = math.prod(shape) / max(inputs * outputs * batches, 1)
    return max(inputs * window, 1), max(outputs * window, 1)


def _draw(distribution: str, key: Any, shape: Any, dtype: np.dtype, variance: Any) -> Any:
    root = (jnp if isinstance(variance, (Array, Tracer)) else np).sqrt
    is_complex = dtypes.is_complex(dtype)
    if distribution == "normal":
        return random.normal(key, shape, dtype) * root(variance)
    if distribution == "uniform" and is_complex:
        return _in_disk(key, shape, dtype, jnp.sqrt) * root(2 * variance)
    if distribution == "uniform":
        return random.uniform(key, shape, dtype, -1) * root(of_dtype(3, dtype) * variance)
    if distribution == "truncated_normal" and is_complex:
        drawn = _in_disk(key, shape, dtype, _truncated_radius)
        return drawn * (root(variance) / of_dtype(_COMPLEX_TRUNCATED, dtype))
    if distribution == "truncated_normal":
        drawn = random.truncated_normal(key, -2, 2, shape, dtype)
        return drawn * (root(variance) / of_dtype(_TRUNCATED, dtype))
    raise ValueError(
        "variance_scaling: distribution must be 'normal', 'truncated_normal' or 'uniform', but got "
        f"{distribution!r}."
    )


def _in_disk(key: Any, shape: Any, dtype: np.dtype, radius: Callable[[Any], Any]) -> Any:
    """Complex numbers of any angle, whose radius is a function of a uniform number."""
    radius_key, angle_key = random.split(key)
    part = dtypes.to_real_dtype(dtype)
    angle = 2 * np.pi * random.uniform(angle_key, shape, part)
    return (radius(random.uniform(radius_key, shape, part)) * jnp.exp(1j * angle)).astype(dtype)


def _truncated_radius(unit: Any) -> Any:
    """The radius of a complex normal number within 2: the inverse of ``1 - exp(-r**2)``."""
    return jnp.sqrt(-jnp.log(1 - (1 - math.exp(-4)) * unit))


# --- the members of the family -------------------------------------------------------------------

_DOCUMENTATION = """`variance_scaling` with scale {scale} and mode "{mode}", of the distribution
    "{distribution}".

    Args:
      in_axis, out_axis: the axes of inputs and outputs.
      batch_axis: axes that do not count.

    >>> nn.initializers.{name}()(covector.random.key(0), (3, 2)).shape
    (3, 2)
    """


def _member(name: str, scale: float, mode: str, distribution: str) -> Callable[..., Initializer]:
    def build(
        in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None
    ) -> Initializer:
        return variance_scaling(scale, mode, distribution, in_axis, out_axis, batch_axis, dtype)

    build.__name__ = build.__qualname__ = name
    build.__doc__ = _DOCUMENTATION.format(
        name=name, scale=scale, mode=mode, distribution=distribution
    )
    return build


glorot_normal = _member("glorot_normal", 1.0, "fan_avg", "truncated_normal")
glorot_uniform = _member("glorot_uniform", 1.0, "fan_avg", "uniform")
he_normal = _member("he_normal", 2.0, "fan_in", "truncated_normal")
he_uniform = _member("he_uniform", 2.0, "fan_in", "uniform")
lecun_normal = _member("lecun_normal", 1.0, "fan_in", "truncated_normal")
lecun_uniform = _member("lecun_uniform", 1.0, "fan_in", "uniform")
kaiming_normal, kaiming_uniform = he_normal, he_uniform
xavier_normal, xavier_uniform = glorot_normal, glorot_uniform

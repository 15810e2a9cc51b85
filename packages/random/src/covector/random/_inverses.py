"""Continuous distributions by arithmetic on uniform, normal or exponential numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from covector import lax
from covector._api.jit import library_function
from covector._ir.dtypes import finfo
from covector.lax.shape import broadcast_shapes
from covector.random._arguments import check_parameters, float_dtype, shape_of, single_key
from covector.random._implementation import KeyImplementation, Shape
from covector.random._sampling import Source, check_real, sample, scalar, total
from covector.random._uniform import broadcast_parameter

# --- without parameters ---------------------------------------------------------------------------


def cauchy(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Numbers of the standard Cauchy distribution.

    Args:
      key: a typed key, or a plain one of shape ``(2,)``.
      shape: of the result.
      dtype: a floating-point type.

    Raises:
      TypeError: ``key`` is no key, or ``shape`` no sequence of integers.
      ValueError: ``dtype`` is no floating-point type.

    >>> from covector import random
    >>> random.cauchy(random.key(0), (2,))
    Array([ 6.0274944, 14.837895 ], dtype=float32)
    """
    return sample("cauchy", _cauchy, key, shape_of("cauchy", shape), dtype, out_sharding)


def _cauchy(source: Source, shape: Shape, dtype: np.dtype) -> Any:
    unit = source.uniform(shape, dtype, finfo(dtype).eps, 1)
    return lax.tan(lax.mul(scalar(math.pi, dtype), lax.sub(unit, scalar(0.5, dtype))))


def laplace(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Numbers of the standard Laplace distribution. Arguments and errors are those of `cauchy`.

    >>> from covector import random
    >>> random.laplace(random.key(0), (2,))
    Array([-2.2569816, -3.1502788], dtype=float32)
    """
    return sample("laplace", _laplace, key, shape_of("laplace", shape), dtype, out_sharding)


def _laplace(source: Source, shape: Shape, dtype: np.dtype) -> Any:
    low = np.nextafter(scalar(-1, dtype), scalar(0, dtype))
    signed = source.uniform(shape, dtype, low, 1)
    return lax.mul(lax.sign(signed), lax.log1p(lax.neg(lax.abs(signed))))


def logistic(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Numbers of the standard logistic distribution. Arguments and errors are those of `cauchy`.

    >>> from covector import random
    >>> random.logistic(random.key(0), (2,))
    Array([2.896376 , 3.8217716], dtype=float32)
    """
    return sample("logistic", _logistic, key, shape_of("logistic", shape), dtype, out_sharding)


def _logistic(source: Source, shape: Shape, dtype: np.dtype) -> Any:
    unit = source.uniform(shape, dtype, finfo(dtype).tiny, 1)
    return lax.sub(lax.log(unit), lax.log1p(lax.neg(unit)))


# --- with a parameter -----------------------------------------------------------------------------


def pareto(
    key: Any, b: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Numbers of the Pareto distribution with exponent ``b``: at least 1, density ``b/x**(b+1)``.

    Args:
      key: a typed key, or a plain one of shape ``(2,)``.
      b: positive numbers.
      shape: of the result, to which ``b`` broadcasts; the shape of ``b`` by default.
      dtype: a floating-point type.

    Raises:
      TypeError: ``key`` is no key, or ``shape`` no sequence of integers.
      ValueError: ``dtype`` is no floating-point type or narrower than that of ``b``, or ``b`` does
        not broadcast to ``shape``.

    >>> from covector import random
    >>> random.pareto(random.key(0), 2.0, (2,))
    Array([4.371316, 6.832648], dtype=float32)
    """
    return sample("pareto", _pareto, key, shape, dtype, out_sharding, b=b)


def _pareto(source: Source, shape: Shape, dtype: np.dtype, b: Any) -> Any:
    return lax.exp(lax.div(source.exponential(shape, dtype), b))


def rayleigh(
    key: Any, scale: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Numbers of the Rayleigh distribution, multiplied by ``scale``: lengths of normal pairs.

    Arguments and errors are those of `pareto`, with ``scale`` for ``b``.

    >>> from covector import random
    >>> random.rayleigh(random.key(0), 2.0, (2,))
    Array([0.65575665, 0.41620055], dtype=float32)
    """
    return sample("rayleigh", _rayleigh, key, shape, dtype, out_sharding, scale=scale)


def _rayleigh(source: Source, shape: Shape, dtype: np.dtype, scale: Any) -> Any:
    double = lax.mul(lax.log(source.unit(shape, dtype)), scalar(-2, dtype))
    return lax.mul(scale, lax.sqrt(double))


def lognormal(
    key: Any,
    sigma: Any = np.float32(1.0),  # noqa: B008  a scalar, and that of jax.random
    shape: Any = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Numbers whose logarithms are normally distributed with standard deviation ``sigma``.

    Arguments and errors are those of `pareto`, with ``sigma`` for ``b``; ``dtype`` may be complex.

    >>> from covector import random
    >>> random.lognormal(random.key(0), 0.5, (2,))
    Array([2.2508795, 2.752838 ], dtype=float32)
    """
    return sample(
        "lognormal", _lognormal, key, shape, dtype, out_sharding, also_complex=True, sigma=sigma
    )


def _lognormal(source: Source, shape: Shape, dtype: np.dtype, sigma: Any) -> Any:
    return lax.exp(lax.mul(source.normal(shape, dtype), sigma))


def wald(
    key: Any, mean: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Numbers of the Wald (inverse Gaussian) distribution with that mean and scale one.

    Arguments and errors are those of `pareto`, with ``mean`` for ``b``.

    Source: J. R. Michael, W. R. Schucany, R. W. Haas, "Generating random variates using
    transformations with multiple roots" (1976).

    >>> from covector import random
    >>> random.wald(random.key(0), 2.0, (2,))
    Array([0.533422  , 0.59811544], dtype=float32)
    """
    return sample("wald", _wald, key, shape, dtype, out_sharding, mean=mean)


def _wald(source: Source, shape: Shape, dtype: np.dtype, mean: Any) -> Any:
    first, second = source.split()
    normal, unit = first.normal(shape, dtype), second.unit(shape, dtype)
    two, four = scalar(2, dtype), scalar(4, dtype)
    square, mean_square = lax.square(normal), lax.square(mean)
    inner = lax.mul(lax.mul(four, mean), square)
    root = lax.sqrt(lax.add(inner, lax.mul(mean_square, lax.square(square))))
    far = lax.add(mean, lax.div(lax.mul(mean_square, square), two))
    smaller = lax.sub(far, lax.mul(lax.div(mean, two), root))
    chosen = lax.le(unit, lax.div(mean, lax.add(mean, smaller)))
    return lax.select(chosen, smaller, lax.div(mean_square, smaller))


# --- with several ---------------------------------------------------------------------------------


def triangular(
    key: Any,
    left: Any,
    mode: Any,
    right: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Numbers from ``left`` to ``right`` whose density has a peak at ``mode``, and straight sides.

    Args:
      key: a typed key, or a plain one of shape ``(2,)``.
      left, mode, right: numbers in this order, of which first and last differ.
      shape: of the result, to which they broadcast; by default what they broadcast to.
      dtype: a floating-point type.

    Raises:
      TypeError: ``key`` is no key, or ``shape`` no sequence of integers.
      ValueError: ``dtype`` is no floating-point type or narrower than that of a parameter, or the
        parameters do not broadcast to ``shape``.

    >>> from covector import random
    >>> random.triangular(random.key(0), 0.0, 1.0, 4.0, (2,))
    Array([3.2075381, 3.4930074], dtype=float32)
    """
    parameters = {"left": left, "mode": mode, "right": right}
    return sample("triangular", _triangular, key, shape, dtype, out_sharding, **parameters)


def _triangular(
    source: Source, shape: Shape, dtype: np.dtype, left: Any, mode: Any, right: Any
) -> Any:
    unit, one = source.unit(shape, dtype), scalar(1, dtype)
    width, rise, fall = lax.sub(right, left), lax.sub(mode, left), lax.sub(right, mode)
    below = lax.add(left, lax.sqrt(lax.mul(lax.mul(unit, width), rise)))
    rest = lax.mul(lax.mul(lax.sub(one, unit), width), fall)
    above = lax.sub(right, lax.sqrt(rest))
    return lax.select(lax.lt(unit, lax.div(rise, width)), below, above)


def weibull_min(
    key: Any, scale: Any, concentration: Any, shape: Any = (), dtype: Any = None
) -> Any:
    """Numbers of the Weibull distribution: powers ``1 / concentration`` of exponential ones.

    Args:
      key: a typed key, or a plain one of shape ``(2,)``.
      scale: what the numbers are multiplied with.
      concentration: positive numbers.
      shape: of the random numbers, which broadcast with the parameters.
      dtype: a floating-point type.

    Raises:
      TypeError: ``key`` is no key, or ``shape`` no sequence of integers.
      ValueError: ``dtype`` is no floating-point type, or the shapes do not broadcast.

    >>> from covector import random
    >>> random.weibull_min(random.key(0), 2.0, 1.5, (2,))
    Array([4.1139336, 4.9072957], dtype=float32)
    """
    implementation, data, _ = single_key("weibull_min", key)
    shape, dtype = shape_of("weibull_min", shape), float_dtype("weibull_min", dtype)
    parameters = {"scale": scale, "concentration": concentration}
    _check_all_real("weibull_min", parameters)
    out = broadcast_shapes(shape, check_parameters("weibull_min", None, **parameters))
    return _weibull_min(data, scale, concentration, implementation, shape, out, dtype)


def _check_all_real(name: str, parameters: dict[str, Any]) -> None:
    check_parameters(name, None, **parameters)
    for argument, x in parameters.items():
        check_real(name, argument, x)


@library_function(static_argnums=(3, 4, 5, 6))
def _weibull_min(
    data: Any,
    scale: Any,
    concentration: Any,
    implementation: KeyImplementation,
    shape: Shape,
    out: Shape,
    dtype: np.dtype,
) -> Any:
    scale, concentration = [
        broadcast_parameter(lax.convert_element_type(x, dtype), out) for x in (scale, concentration)
    ]
    drawn = Source(data, implementation).exponential(shape, dtype)
    drawn = broadcast_parameter(drawn, out) if shape != out else drawn
    return lax.mul(lax.pow(drawn, lax.div(scalar(1, dtype), concentration)), scale)


# --- lengths of normal vectors --------------------------------------------------------------------


def maxwell(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Numbers of the Maxwell distribution with scale one: lengths of normal triples.

    Arguments and errors are those of `cauchy`.

    >>> from covector import random
    >>> random.maxwell(random.key(0), (2,))
    Array([2.6310966 , 0.99103284], dtype=float32)
    """
    return sample("maxwell", _maxwell, key, shape_of("maxwell", shape), dtype, out_sharding)


def _maxwell(source: Source, shape: Shape, dtype: np.dtype) -> Any:
    triples = source.normal((*shape, 3), dtype)
    return lax.sqrt(total(lax.mul(triples, triples), len(shape)))


def double_sided_maxwell(key: Any, loc: Any, scale: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Numbers of `maxwell` with random signs, multiplied by ``scale`` and moved by ``loc``.

    Args:
      key: a typed key, or a plain one of shape ``(2,)``.
      loc, scale: numbers.
      shape: the axes of the result before those that ``loc`` and ``scale`` broadcast to.
      dtype: a floating-point type.

    Raises:
      TypeError: ``key`` is no key, or ``shape`` no sequence of integers.
      ValueError: ``dtype`` is no floating-point type, or ``loc`` and ``scale`` do not broadcast.

    >>> from covector import random
    >>> random.double_sided_maxwell(random.key(0), 1.0, 2.0, (2,))
    Array([4.091442 , 4.1482553], dtype=float32)
    """
    name, parameters = "double_sided_maxwell", {"loc": loc, "scale": scale}
    shape = shape_of(name, shape)
    _check_all_real(name, parameters)
    shape = (*shape, *check_parameters(name, None, **parameters))
    return sample(name, _double_sided_maxwell, key, shape, dtype, safe=False, **parameters)


def _double_sided_maxwell(
    source: Source, shape: Shape, dtype: np.dtype, loc: Any, scale: Any
) -> Any:
    first, second = source.split()
    signed = lax.mul(second.sign(shape, dtype), _maxwell(first, shape, dtype))
    return lax.add(lax.mul(signed, scale), loc)

"""Distributions made of gamma distributed numbers: `beta`, `chisquare`, `f`, `t`, ..."""

from __future__ import annotations

from typing import Any

import numpy as np
from covector import lax
from covector._api.jit import library_function
from covector._trace.trace import typeof
from covector.errors import ShapeError
from covector.lax.filling import place
from covector.random._arguments import array_of, float_dtype, shape_of, single_key
from covector.random._gamma import (
    by_method,
    draw_gamma,
    draw_gamma_pair,
    loggamma_approximate,
)
from covector.random._implementation import KeyImplementation, Shape
from covector.random._sampling import Source, batch_shape, check_real, sample, scalar, total
from covector.random._uniform import broadcast_parameter


def beta(
    key: Any,
    a: Any,
    b: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    method: str = "exact",
    out_sharding: Any = None,
) -> Any:
    """Numbers of the beta distribution, with derivatives in ``a`` and ``b``.

    Args:
      key: a typed key, or a plain one of shape ``(2,)``.
      a, b: positive numbers.
      shape: of the result, to which they broadcast; by default what they broadcast to.
      dtype: a floating-point type.
      method: "exact" or "approximate", as for `gamma`.

    Raises:
      TypeError: ``key`` is no key, or ``shape`` no sequence of integers.
      ValueError: ``dtype`` is no floating-point type or narrower than that of a parameter,
        ``method`` is unknown, or the parameters do not broadcast to ``shape``.

    >>> from covector import random
    >>> random.beta(random.key(0), 2.0, 3.0, (2,))
    Array([0.23627362, 0.49045956], dtype=float32)
    """
    kernel = by_method("beta", method, exact=_beta, approximate=_beta_approximate)
    return sample("beta", kernel, key, shape, dtype, out_sharding, a=a, b=b)


def _beta(source: Source, shape: Shape, dtype: np.dtype, a: Any, b: Any) -> Any:
    return _share(*draw_gamma_pair(source.split(), shape, (a, b), log_space=True))


def _beta_approximate(source: Source, shape: Shape, dtype: np.dtype, a: Any, b: Any) -> Any:
    first, second = source.split()
    pairs = ((first, a), (second, b))
    return _share(*[loggamma_approximate(part, shape, dtype, x) for part, x in pairs])


def _share(first: Any, second: Any) -> Any:
    """Of two numbers with these logarithms, the first one's share of the sum."""
    largest = lax.max(first, second)
    first, second = [lax.exp(lax.sub(log, largest)) for log in (first, second)]
    return lax.div(first, lax.add(first, second))


def chisquare(
    key: Any,
    df: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    method: str = "exact",
    out_sharding: Any = None,
) -> Any:
    """Numbers of the chi-square distribution, with derivatives in the degrees of freedom ``df``.

    Args:
      key: a typed key, or a plain one of shape ``(2,)``.
      df: positive numbers.
      shape: of the result, to which ``df`` broadcasts; the shape of ``df`` by default.
      dtype: a floating-point type.
      method: "exact" or "approximate", as for `gamma`.

    Raises:
      TypeError: ``key`` is no key, or ``shape`` no sequence of integers.
      ValueError: ``dtype`` is no floating-point type or narrower than that of ``df``, ``method`` is
        unknown, or ``df`` does not broadcast to ``shape``.

    >>> from covector import random
    >>> random.chisquare(random.key(0), 3.0, (2,))
    Array([2.205084 , 2.4899669], dtype=float32)
    """
    kernel = by_method("chisquare", method, exact=_chisquare, approximate=_chisquare_approximate)
    return sample("chisquare", kernel, key, shape, dtype, out_sharding, df=df)


def _chisquare(source: Source, shape: Shape, dtype: np.dtype, df: Any) -> Any:
    return _doubled(draw_gamma(source, shape, _half(df), log_space=True))


def _chisquare_approximate(source: Source, shape: Shape, dtype: np.dtype, df: Any) -> Any:
    return _doubled(loggamma_approximate(source, shape, dtype, _half(df)))


def _half(x: Any) -> Any:
    return lax.div(x, scalar(2, typeof(x).dtype))


def _doubled(log: Any) -> Any:
    """Twice the number with that logarithm."""
    return lax.mul(lax.exp(log), scalar(2, typeof(log).dtype))


def f(
    key: Any,
    dfnum: Any,
    dfden: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Numbers of the F distribution: ratios of two `chisquare`, each over its degrees of freedom.

    Args:
      key: a typed key, or a plain one of shape ``(2,)``.
      dfnum, dfden: the degrees of freedom, positive numbers.
      shape: of the result, to which they broadcast; by default what they broadcast to.
      dtype: a floating-point type.

    Raises:
      TypeError: ``key`` is no key, or ``shape`` no sequence of integers.
      ValueError: ``dtype`` is no floating-point type or narrower than that of a parameter, or the
        parameters do not broadcast to ``shape``.

    >>> from covector import random
    >>> random.f(random.key(0), 3.0, 5.0, (2,))
    Array([2.5797074 , 0.19219677], dtype=float32)
    """
    return sample("f", _f, key, shape, dtype, out_sharding, dfnum=dfnum, dfden=dfden)


def _f(source: Source, shape: Shape, dtype: np.dtype, dfnum: Any, dfden: Any) -> Any:
    halves = (_half(dfden), _half(dfnum))
    logs = draw_gamma_pair(source.split(), shape, halves, log_space=True)
    below, above = [lax.div(_doubled(log), df) for log, df in zip(logs, (dfden, dfnum))]
    return lax.div(above, below)


def t(key: Any, df: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Numbers of Student's t distribution. Arguments and errors are those of `chisquare`.

    >>> from covector import random
    >>> random.t(random.key(0), 3.0, (2,))
    Array([ 0.69022465, -3.2393365 ], dtype=float32)
    """
    return sample("t", _t, key, shape, dtype, out_sharding, df=df)


def _t(source: Source, shape: Shape, dtype: np.dtype, df: Any) -> Any:
    first, second = source.split()
    half = _half(df)
    root = lax.sqrt(lax.div(half, draw_gamma(second, shape, half)))
    return lax.mul(first.normal(shape, dtype), root)


def generalized_normal(
    key: Any, p: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Numbers with a density proportional to ``exp(-abs(x)**p)``.

    Args:
      key: a typed key, or a plain one of shape ``(2,)``.
      p: positive numbers: 1 makes `laplace`, 2 a narrower `normal`.
      shape: of the result, to which ``p`` broadcasts.
      dtype: a floating-point type.

    Raises:
      TypeError: ``key`` is no key, or ``shape`` no sequence of integers.
      ValueError: ``dtype`` is no floating-point type, or ``p`` does not broadcast to ``shape``.

    >>> from covector import random
    >>> random.generalized_normal(random.key(0), 3.0, (2,))
    Array([0.89282674, 0.09650236], dtype=float32)
    """
    name = "generalized_normal"
    shape = shape_of(name, shape)
    return sample(name, draw_generalized, key, shape, dtype, out_sharding, safe=False, p=p)


def draw_generalized(source: Source, shape: Shape, dtype: np.dtype, p: Any) -> Any:
    """The kernel of `generalized_normal`."""
    first, second = source.split()
    inverse = lax.div(scalar(1, dtype), p)
    size = lax.pow(draw_gamma(first, shape, inverse), inverse)
    return lax.mul(second.sign(shape, dtype), size)


# --- dirichlet ------------------------------------------------------------------------------------


def dirichlet(
    key: Any, alpha: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Vectors of the Dirichlet distribution: positive numbers whose sum is one.

    They have derivatives in ``alpha``.

    Args:
      key: a typed key, or a plain one of shape ``(2,)``.
      alpha: positive numbers, vectors along the last axis.
      shape: of the result without its last axis, to which the other axes of ``alpha`` broadcast;
        theirs by default.
      dtype: a floating-point type.

    Raises:
      TypeError: ``key`` is no key, or ``shape`` no sequence of integers.
      ValueError: ``dtype`` is no floating-point type, ``alpha`` is a scalar, or its axes do not
        broadcast to ``shape``.

    >>> from covector import random
    >>> import numpy as np
    >>> random.dirichlet(random.key(0), np.ones(3, np.float32))
    Array([0.36472055, 0.4282893 , 0.20699008], dtype=float32)
    """
    implementation, data, _ = single_key("dirichlet", key)
    dtype = float_dtype("dirichlet", dtype)
    aval = typeof(array_of("dirichlet", "alpha", alpha))
    check_real("dirichlet", "alpha", alpha)
    if not aval.ndim:
        raise ShapeError("dirichlet: alpha must have at least one axis, but got a scalar.")
    batch = batch_shape("dirichlet", shape, alpha=aval.shape[:-1])
    drawn = _dirichlet(data, alpha, implementation, (*batch, aval.shape[-1]), dtype)
    return place(drawn, out_sharding)


@library_function(static_argnums=(2, 3, 4))
def _dirichlet(
    data: Any, alpha: Any, implementation: KeyImplementation, shape: Shape, dtype: np.dtype
) -> Any:
    alpha = broadcast_parameter(lax.convert_element_type(alpha, dtype), shape)
    logs = draw_gamma(Source(data, implementation), shape, alpha, log_space=True)
    axis, kept = len(shape) - 1, range(len(shape) - 1)
    largest = lax.stop_gradient(lax.reduce_max(logs, (axis,)))
    shares = lax.exp(lax.sub(logs, lax.broadcast_in_dim(largest, shape, kept)))
    return lax.div(shares, lax.broadcast_in_dim(total(shares, axis), shape, kept))

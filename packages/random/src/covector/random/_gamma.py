"""Gamma distributed numbers: `gamma`, `loggamma`, and the primitive that draws them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from covector import lax
from covector._api.vmap import vmap
from covector._ir.avals import ShapedArray
from covector._ir.dtypes import finfo
from covector._lower.module import lower_by
from covector._trace.primitive import Primitive
from covector._trace.trace import typeof
from covector._transform.batch import move_batch_axis
from covector.lax.elementwise import scale
from covector.random._implementation import KeyImplementation, Shape
from covector.random._layout import unfenced_p
from covector.random._sampling import Source, at_least_single, sample, scalar
from covector.random._threefry import THREEFRY


def gamma(
    key: Any,
    a: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    method: str = "exact",
    out_sharding: Any = None,
) -> Any:
    """Numbers of the gamma distribution with shape parameter ``a`` and scale one.

    They have derivatives in ``a``.

    Args:
      key: a typed key, or a plain one of shape ``(2,)``.
      a: positive numbers.
      shape: of the result, to which ``a`` broadcasts; the shape of ``a`` by default.
      dtype: a floating-point type.
      method: "exact", or "approximate": without rejections, so faster, and off by little.

    Raises:
      TypeError: ``key`` is no key, or ``shape`` no sequence of integers.
      ValueError: ``dtype`` is no floating-point type, ``method`` is unknown, or ``a`` does not
        broadcast to ``shape``.

    Source: G. Marsaglia, W. W. Tsang, "A simple method for generating gamma variables" (2000).

    >>> from covector import random
    >>> random.gamma(random.key(0), 2.5, (2,))
    Array([2.078842 , 2.2727783], dtype=float32)
    """
    kernel = by_method("gamma", method, exact=_gamma, approximate=_gamma_approximate)
    return sample(
        "gamma", kernel, key, shape, dtype, out_sharding, safe=False, work=_WORK[method], a=a
    )


def loggamma(
    key: Any,
    a: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    method: str = "exact",
    out_sharding: Any = None,
) -> Any:
    """The logarithms of `gamma`'s numbers, which are precise where those would be almost zero.

    The arguments and errors are those of `gamma`.

    >>> from covector import random
    >>> random.loggamma(random.key(0), 0.001, (2,))
    Array([-110.61791,  -95.54807], dtype=float32)
    """
    kernel = by_method("loggamma", method, exact=_loggamma, approximate=loggamma_approximate)
    return sample(
        "loggamma", kernel, key, shape, dtype, out_sharding, safe=False, work=_WORK[method], a=a
    )


def by_method(name: str, method: Any, **kernels: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel that the argument ``method`` names."""
    if not isinstance(method, str) or method not in kernels:
        raise ValueError(
            f"method argument to `{name}` must be one of {{'exact', 'approximate'}}, got {method!r}"
        )
    return kernels[method]


# Of a method, from the dtype of the result, the one to compute in.
_WORK: dict[str, Callable[[np.dtype], np.dtype]] = {
    "exact": lambda dtype: dtype,
    "approximate": at_least_single,
}

# --- exact ----------------------------------------------------------------------------------------


def _gamma(source: Source, shape: Shape, dtype: np.dtype, a: Any) -> Any:
    return draw_gamma(source, shape, a)


def _loggamma(source: Source, shape: Shape, dtype: np.dtype, a: Any) -> Any:
    return draw_gamma(source, shape, a, log_space=True)


def draw_gamma(source: Source, shape: Shape, a: Any, *, log_space: bool = False) -> Any:
    """Gamma distributed numbers, or their logarithms, in library code."""
    if typeof(a).shape != shape:
        a = lax.broadcast_in_dim(a, shape, ())
    return random_gamma_p.bind(
        source.data, a, implementation=source.implementation, log_space=log_space
    )


def draw_gamma_pair(
    sources: list[Source], shape: Shape, parameters: tuple[Any, Any], *, log_space: bool
) -> list[Any]:
    """What `draw_gamma` draws from two sources; of Threefry's keys, in one loop."""
    if sources[0].implementation is not THREEFRY:  # under vmap, others may draw something else
        pairs = zip(sources, parameters, strict=True)
        return [draw_gamma(source, shape, a, log_space=log_space) for source, a in pairs]
    a = [x if typeof(x).shape == shape else lax.broadcast_in_dim(x, shape, ()) for x in parameters]
    implementation = sources[0].implementation
    keys = lax.stack([source.data for source in sources])
    drawn = random_gamma_p.bind(
        keys, lax.stack(a), implementation=implementation, log_space=log_space
    )
    return lax.unstack(drawn)


def _draw(keys: Any, a: Any, *, implementation: KeyImplementation, log_space: bool) -> Any:
    """Each element of ``a`` has a key of its own, split off the key at its leading axes."""
    shape = a.shape
    num_batch_axes = keys.ndim - len(implementation.key_shape)
    batch, rest = math.prod(shape[:num_batch_axes]), math.prod(shape[num_batch_axes:])
    key_shape = implementation.key_shape
    if num_batch_axes:
        keys = lax.reshape(keys, (batch, *key_shape))
        keys = vmap(lambda key: implementation.split(key, (rest,)))(keys)
    else:
        keys = implementation.split(keys, (rest,))
    keys = lax.optimization_barrier(lax.reshape(keys, (batch * rest, *key_shape)))
    drawn = _each(keys, lax.reshape(a, (batch * rest,)), implementation, log_space)
    return lax.reshape(drawn, shape)


def _each(keys: Any, a: Any, implementation: KeyImplementation, log_space: bool) -> Any:
    if implementation is THREEFRY:
        return _rejection(keys, a, implementation, log_space)

    def one(pair: tuple[Any, Any]) -> Any:
        key, a = [lax.expand_dims(x, (0,)) for x in pair]
        return lax.squeeze(_rejection(key, a, implementation, log_space), (0,))

    return lax.map(one, (keys, a))  # other keys may all draw from the first one when mapped


def _rejection(keys: Any, a: Any, implementation: KeyImplementation, log_space: bool) -> Any:
    """Marsaglia and Tsang's method for ``a >= 1``; below, a draw for ``a + 1`` is scaled down."""
    dtype = typeof(a).dtype
    one, third = scalar(1, dtype), scalar(1 / 3, dtype)
    large = lax.ge(a, one)
    center = lax.sub(lax.select(large, a, lax.add(a, one)), third)
    keys, scale_keys = _split_each(keys, implementation, 2)
    cube = _cubes(keys, center, lax.div(third, lax.sqrt(center)), implementation)
    unit = _uniforms(scale_keys, implementation, dtype)
    exponent = lax.div(one, a)
    if not log_space:
        small = lax.pow(lax.sub(one, unit), exponent)
        return lax.mul(lax.mul(center, cube), lax.select(large, lax.full_like(a, 1), small))
    log = lax.log1p(lax.neg(unit))
    zero = lax.full_like(a, 0)
    whole = lax.bitwise_or(large, lax.eq(log, zero))
    small = lax.select(whole, zero, lax.mul(log, exponent))
    return lax.add(lax.add(lax.log(center), lax.log(cube)), small)


def _cubes(keys: Any, center: Any, width: Any, implementation: KeyImplementation) -> Any:
    """``(1 + width x)**3`` for the first accepted normal ``x`` of each key.

    A proposal has three new keys: for the next one, for normals, and for the uniform number that
    decides. While the cube would not be positive, only another normal is drawn. Elements that are
    done go on like the others, but keep their cubes. The barriers are where the compiler would
    else compute random bits again in each of their users.
    """
    count, dtype = center.shape[0], typeof(center).dtype
    one, squeeze, half = [scalar(x, dtype) for x in (1, 0.0331, 0.5)]
    axes = tuple(range(keys.ndim))

    def unfinished(state: tuple) -> Any:
        return lax.reduce_or(lax.bitwise_not(state[-1]), (0,))

    def step(state: tuple) -> tuple:
        *old, cube, fresh, done = state
        fresh = lax.broadcast_in_dim(fresh, keys.shape, axes[:1])
        new = _split_each(old[0], implementation, 3)
        key, normal_key, unit_key = [lax.select(fresh, *pair) for pair in zip(new, old)]
        normal_key, now = _split_each(normal_key, implementation, 2)
        x = _normals(now, implementation, dtype)
        unit = _uniforms(unit_key, implementation, dtype)
        root = lax.add(one, lax.mul(x, width))
        square, proposal = lax.mul(x, x), lax.mul(lax.mul(root, root), root)
        outside = lax.ge(unit, lax.sub(one, lax.mul(squeeze, lax.mul(square, square))))
        bound = lax.mul(center, lax.add(lax.sub(one, proposal), lax.log(proposal)))
        bound = lax.add(lax.mul(square, half), bound)
        rejected = lax.bitwise_and(outside, lax.ge(lax.log(unit), bound))
        fresh = lax.bitwise_not(lax.le(root, scalar(0, dtype)))
        accepted = lax.bitwise_and(fresh, lax.bitwise_not(rejected))
        cube = lax.select(done, cube, proposal)
        return key, normal_key, unit_key, cube, fresh, lax.bitwise_or(done, accepted)

    flags = [lax.full((count,), x) for x in (True, False)]
    state = (keys, keys, keys, lax.full_like(center, 1), *flags)
    return lax.while_loop(unfinished, step, state)[3]


def _split_each(keys: Any, implementation: KeyImplementation, count: int) -> list[Any]:
    """Of each key, ``count`` new ones, in as many arrays."""
    new = vmap(lambda key: tuple(lax.unstack(implementation.split(key, (count,)))))(keys)
    return list(lax.optimization_barrier(new))


def _uniforms(keys: Any, implementation: KeyImplementation, dtype: np.dtype) -> Any:
    drawn = vmap(lambda key: Source(key, implementation).unit((), dtype))(keys)
    return lax.optimization_barrier(drawn)


def _normals(keys: Any, implementation: KeyImplementation, dtype: np.dtype) -> Any:
    drawn = vmap(lambda key: Source(key, implementation).normal((), dtype))(keys)
    return lax.optimization_barrier(drawn)


# --- the primitive --------------------------------------------------------------------------------


def _abstract(keys: ShapedArray, a: ShapedArray, **params: Any) -> ShapedArray:
    return ShapedArray(a.shape, a.dtype)


def _jvp(primals: Any, tangents: Any, *, log_space: bool, **params: Any) -> tuple[Any, Any]:
    keys, a = primals
    drawn = random_gamma_p.bind(keys, a, log_space=log_space, **params)
    tangent = tangents[1]
    if tangent is None:
        return drawn, None
    slope = _log_slope(a, drawn) if log_space else lax.random_gamma_grad(a, drawn)
    return drawn, scale(tangent, slope)


def _log_slope(a: Any, log: Any) -> Any:
    """The derivative of a logarithm; where its number underflows, by the density's leading term."""
    tiny = scalar(finfo(typeof(a).dtype).tiny, typeof(a).dtype)
    number = lax.exp(log)
    underflows = lax.le(number, tiny)
    number = lax.select(underflows, lax.full_like(number, 1), number)
    slope = lax.div(lax.random_gamma_grad(a, number), number)
    leading = lax.div(lax.sub(lax.digamma(lax.add(a, scalar(1, typeof(a).dtype))), log), a)
    return lax.select(underflows, leading, slope)


def _batch(axis: Any, args: Any, dims: Any, **params: Any) -> tuple[Any, int]:
    keys, a = [move_batch_axis(x, axis.size, d, 0) for x, d in zip(args, dims, strict=True)]
    return random_gamma_p.bind(keys, a, **params), 0


random_gamma_p = Primitive(
    "random_gamma",
    abstract=_abstract,
    lower=lower_by(_draw),
    jvp=_jvp,
    batch=_batch,
)

# --- approximate ----------------------------------------------------------------------------------

# Coefficients of powers of x, each a polynomial in 1 / (2 b): the cube root of a gamma distributed
# number with parameter b >= 4, over that of b, at x = normal / sqrt(2 b). Its leading terms are
# E. B. Wilson and M. M. Hilferty's, "The distribution of chi-square" (1931).
_CUBE_ROOT = (
    (1.0, -0.2237368, -0.01513904),
    (0.4713941, 0.02607083, -0.008986007),
    (0.0001348028, 0.01128186, 0.02277679),
    (-0.008553069, -0.01153761, -0.01323293),
    (0.00312558, 0.005169654, -0.006950356),
    (-0.0008426812, 0.00253001, 0.001060438),
    (9.780499e-05, -0.001450117, 0.001565326),
)
_BOOSTS = 4


def loggamma_approximate(source: Source, shape: Shape, dtype: np.dtype, a: Any) -> Any:
    """A draw for ``a + 4``, scaled down four times. Computed in 32 bits or more."""
    narrow, dtype = dtype, at_least_single(dtype)
    a = lax.convert_element_type(a, dtype)
    if typeof(a).shape != shape:
        a = lax.broadcast_in_dim(a, shape, ())
    first, second = source.split()
    large = lax.add(a, scalar(_BOOSTS, dtype))
    double = lax.mul(scalar(2, dtype), large)
    x = unfenced_p.bind(lax.mul(first.normal(shape, dtype), lax.rsqrt(double)))
    inverse = lax.div(scalar(1, dtype), double)
    root = polynomial(
        x, [polynomial(inverse, [scalar(c, dtype) for c in row]) for row in _CUBE_ROOT]
    )
    root = lax.max(root, scalar(finfo(dtype).tiny, dtype))
    log = lax.add(lax.log(large), lax.mul(scalar(3, dtype), lax.log(root)))
    several = (_BOOSTS, *shape)
    steps = lax.broadcasted_iota(dtype, several, 0)
    parameters = lax.add(lax.broadcast_in_dim(a, several, range(1, len(several))), steps)
    scales = lax.div(lax.neg(second.exponential(several, dtype)), parameters)
    log = lax.add(log, lax.reduce_sum(scales, (0,)))
    return lax.convert_element_type(log, narrow)


def polynomial(x: Any, coefficients: list[Any]) -> Any:
    """By Horner's rule; the constant is the first coefficient."""
    total = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        total = lax.add(lax.mul(total, x), coefficient)
    return total


def _gamma_approximate(source: Source, shape: Shape, dtype: np.dtype, a: Any) -> Any:
    return lax.exp(loggamma_approximate(source, shape, dtype, a))

"""Poisson distributed numbers: `poisson`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from covector import lax
from covector._api.jit import library_function
from covector._ir import dtypes
from covector._trace.trace import typeof
from covector.lax.filling import place
from covector.random._arguments import check_parameters, shape_of, single_key
from covector.random._gamma import by_method, polynomial
from covector.random._implementation import KeyImplementation, Shape
from covector.random._layout import from_work_shape
from covector.random._rejection import any_of, transformed_rejection
from covector.random._sampling import Source, check_real, equal_work_shape, integer_dtype, scalar
from covector.random._threefry import THREEFRY
from covector.random._uniform import broadcast_parameter

_FLOAT = np.dtype(np.float32)  # in which exact numbers are computed, whatever the flag x64
_SMALL_MEAN = 10.0


def poisson(
    key: Any,
    lam: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    method: str = "exact",
    out_sharding: Any = None,
) -> Any:
    """Numbers of the Poisson distribution with mean ``lam``.

    Args:
      key: a typed key, or a plain one of shape ``(2,)``.
      lam: nonnegative numbers; for others the result is -1.
      shape: of the result, to which ``lam`` broadcasts; the shape of ``lam`` by default.
      dtype: an integer type.
      method: "exact", or "approximate": without loops, so faster, and off by less than one draw
        in 10,000.

    Raises:
      TypeError: ``key`` is no key, or ``shape`` no sequence of integers.
      ValueError: ``dtype`` is no integer type, ``method`` is unknown, or ``lam`` does not broadcast
        to ``shape``.
      NotImplementedError: exact numbers need a Threefry key.

    >>> from covector import random
    >>> random.poisson(random.key(0), 4.0, (4,))
    Array([0, 1, 5, 5], dtype=int32)
    """
    implementation, data, _ = single_key("poisson", key)
    dtype = integer_dtype("poisson", dtype)
    kernel = by_method("poisson", method, exact=_exact, approximate=_approximate)
    if kernel is _exact and implementation is not THREEFRY:
        raise NotImplementedError(
            "poisson: method='exact' needs a key of the implementation 'threefry2x32', but got one "
            f"of {implementation.name!r}. Use method='approximate'."
        )
    shape = None if shape is None else shape_of("poisson", shape)
    shape = check_parameters("poisson", shape, lam=lam)
    check_real("poisson", "lam", lam)
    drawn = _poisson(data, lam, implementation, shape, dtype, kernel)
    return place(drawn, out_sharding)


@library_function(static_argnums=(2, 3, 4, 5))
def _poisson(
    data: Any,
    lam: Any,
    implementation: KeyImplementation,
    shape: Shape,
    dtype: np.dtype,
    kernel: Any,
) -> Any:
    source = Source(data, implementation)
    lam = lax.convert_element_type(lam, _FLOAT if kernel is _exact else dtypes.scalar_dtype(float))
    if typeof(lam).ndim:
        return kernel(source, broadcast_parameter(lam, shape), dtype)
    work_shape = equal_work_shape(implementation, shape)
    lam = lax.broadcast_in_dim(lam, work_shape, ())
    return from_work_shape(kernel(source, lam, dtype), shape)


# --- exact ----------------------------------------------------------------------------------------


def _exact(source: Source, lam: Any, dtype: np.dtype) -> Any:
    small = lax.bitwise_or(lax.ne(lam, lam), lax.lt(lam, scalar(_SMALL_MEAN, _FLOAT)))
    infinite = lax.eq(lam, scalar(math.inf, _FLOAT))
    # Where a method is not used, it gets a mean that it is quick at.
    others = lax.bitwise_or(small, infinite)
    below = _by_multiplication(source, lax.select(small, lam, lax.full_like(lam, 0)), dtype)
    above = _by_rejection(source, lax.select(others, lax.full_like(lam, 1e5), lam), dtype)
    drawn = lax.select(small, below, above)
    drawn = lax.select(lax.eq(lam, scalar(0, _FLOAT)), lax.full_like(drawn, 0), drawn)
    most = lax.full_like(drawn, int(dtypes.iinfo(dtype).max))
    return lax.select(infinite, most, drawn)


def _by_multiplication(source: Source, lam: Any, dtype: np.dtype) -> Any:
    """How many uniform numbers have a product above ``exp(-lam)``.

    Source: D. E. Knuth, "The art of computer programming", volume 2, 3.4.1.
    """
    shape, implementation = typeof(lam).shape, source.implementation

    def unfinished(state: tuple) -> Any:
        return any_of(lax.gt(state[2], lax.neg(lam)))

    def step(state: tuple) -> tuple:
        key, count, log_product = state
        key, now = Source(key, implementation).split()
        more = lax.convert_element_type(lax.gt(log_product, lax.neg(lam)), dtype)
        unit = lax.optimization_barrier(now.unit(shape, _FLOAT))
        return key.data, lax.add(count, more), lax.add(log_product, lax.log(unit))

    state = (source.data, lax.full(shape, 0, dtype), lax.full(shape, 0, _FLOAT))
    return lax.sub(lax.while_loop(unfinished, step, state)[1], scalar(1, dtype))


def _by_rejection(source: Source, lam: Any, dtype: np.dtype) -> Any:
    """The algorithm PTRS, for means of ten or more.

    Source: W. Hörmann, "The transformed rejection method for generating Poisson random variables"
    (1993).
    """
    propose = _RejectionConstants(lam).propose
    drawn = transformed_rejection(source, typeof(lam).shape, _FLOAT, propose)
    return lax.convert_element_type(drawn, dtype)


class _RejectionConstants:
    """The constants of PTRS that depend on the mean, under their names in the paper."""

    def __init__(self, lam: Any):
        c = self._scalar
        self.lam, self.log_lam = lam, lax.log(lam)
        self.b = lax.add(c(0.931), lax.mul(c(2.53), lax.sqrt(lam)))
        self.a = lax.add(c(-0.059), lax.mul(c(0.02483), self.b))
        self.inverse_alpha = lax.add(c(1.1239), lax.div(c(1.1328), lax.sub(self.b, c(3.4))))
        self.v_r = lax.sub(c(0.9277), lax.div(c(3.6224), lax.sub(self.b, c(2.0))))

    @staticmethod
    def _scalar(number: float) -> Any:
        return scalar(number, _FLOAT)

    def propose(self, u: Any, v: Any) -> tuple[Any, Any]:
        """A proposal from ``u`` in [-1/2, 1/2) and ``v`` in [0, 1), and whether it is accepted."""
        c = self._scalar
        u_shifted = lax.sub(c(0.5), lax.abs(u))
        spread = lax.add(lax.div(lax.mul(c(2), self.a), u_shifted), self.b)
        k = lax.floor(lax.add(lax.add(lax.mul(spread, u), self.lam), c(0.43)))
        hat = lax.add(lax.div(self.a, lax.mul(u_shifted, u_shifted)), self.b)
        s = lax.log(lax.div(lax.mul(v, self.inverse_alpha), hat))
        t = lax.add(lax.neg(self.lam), lax.mul(k, self.log_lam))
        t = lax.sub(t, lax.lgamma(lax.add(k, c(1))))
        at_once = lax.bitwise_and(lax.ge(u_shifted, c(0.07)), lax.le(v, self.v_r))
        edge = lax.bitwise_and(lax.lt(u_shifted, c(0.013)), lax.gt(v, u_shifted))
        rejected = lax.bitwise_or(lax.lt(k, c(0)), edge)
        accepted = lax.bitwise_and(lax.bitwise_not(rejected), lax.le(s, t))
        return k, lax.bitwise_or(at_once, accepted)


# --- approximate ----------------------------------------------------------------------------------

_LARGEST_SUMMED, _SUMMED_BELOW = 18, 7.0


def _approximate(source: Source, lam: Any, dtype: np.dtype) -> Any:
    """The inverse distribution function at the level of a normal number.

    For small means by the sum of probabilities, else a first guess by E. A. Cornish and
    R. A. Fisher's expansion (1938), set right by the approximation of D. B. Peizer and J. W. Pratt,
    "A normal approximation for binomial, F, beta, and other common, related tail probabilities"
    (1968).
    """
    c = _constants(lam)
    normal = lax.optimization_barrier(source.normal(typeof(lam).shape, typeof(lam).dtype))
    below, above = _by_summing(lam, normal), _near_quantile(lam, normal)
    drawn = lax.select(lax.lt(lam, c(_SUMMED_BELOW)), below, above)
    return lax.convert_element_type(drawn, dtype)


def _by_summing(lam: Any, normal: Any) -> Any:
    """How many sums of probabilities lie below the level."""
    c = _constants(lam)
    x = lax.mul(normal, c(math.sqrt(0.5)))
    size, half, two = lax.abs(x), c(0.5), c(2)
    near = lax.lt(size, c(math.sqrt(0.5)))
    tail = lax.erfc(size)
    upper = lax.select(lax.gt(x, c(0)), lax.sub(two, tail), tail)
    level = lax.mul(half, lax.select(near, lax.add(c(1), lax.erf(x)), upper))
    term = total = lax.exp(lax.neg(lam))
    count = lax.convert_element_type(lax.lt(total, level), typeof(lam).dtype)
    for n in range(1, _LARGEST_SUMMED + 1):
        term = lax.mul(term, lax.div(lam, c(n)))
        total = lax.add(total, term)
        count = lax.add(count, lax.convert_element_type(lax.lt(total, level), typeof(lam).dtype))
    return count


def _near_quantile(lam: Any, normal: Any) -> Any:
    """The number whose level is near, of three around a first guess."""
    c = _constants(lam)
    one, zero = c(1), c(0)
    guess = _first_guess(lam, normal)
    drawn = lax.add(guess, one)
    for k in (guess, lax.sub(guess, one)):
        reached = lax.ge(_normal_level(lam, k), normal)
        drawn = lax.sub(drawn, lax.convert_element_type(reached, typeof(lam).dtype))
    return lax.max(drawn, zero)


def _first_guess(lam: Any, normal: Any) -> Any:
    c = _constants(lam)
    root, square = lax.sqrt(lam), lax.square(normal)
    mean = lax.sub(lax.add(lam, lax.mul(root, normal)), c(2 / 3))
    skew = lax.add(mean, lax.div(square, c(6)))
    third = lax.mul(normal, lax.sub(c(1), square))
    third = lax.div(third, lax.mul(c(72), root))
    return lax.ceil(lax.add(lax.add(skew, third), c(0.6)))


def _normal_level(lam: Any, k: Any) -> Any:
    """The normal number whose level is about that of ``k``: Peizer and Pratt's approximation."""
    c = _constants(lam)
    one, zero = c(1), c(0)
    whole = lax.max(k, zero)
    ratio = lax.div(lax.add(whole, c(0.5)), lam)
    distance = lax.add(lax.sub(whole, lam), c(2 / 3))
    distance = lax.add(distance, lax.div(c(0.02), lax.add(whole, one)))
    spread = lax.sqrt(lax.div(lax.add(one, _skewness(ratio)), lam))
    level = lax.mul(distance, spread)
    return lax.select(lax.lt(k, zero), lax.full_like(level, -math.inf), level)


# Of (1 - y**2 + 2 y log y) / (1 - y)**2 in powers of y - 1, from the first.
_SKEWNESS = [2 * (-1) ** n / ((n + 1) * (n + 2)) for n in range(1, 10)]


def _skewness(y: Any) -> Any:
    """``(1 - y**2 + 2 y log y) / (1 - y)**2``, near one by its series."""
    c = _constants(y)
    one, two = c(1), c(2)
    z = lax.sub(y, one)
    near = lax.lt(lax.abs(z), c(0.25))
    series = lax.mul(z, polynomial(z, [c(x) for x in _SKEWNESS]))
    y = lax.select(near, lax.full_like(y, 2), y)
    z = lax.select(near, lax.full_like(z, 1), z)
    logs = lax.mul(lax.mul(two, y), lax.log(y))
    far = lax.div(lax.add(lax.sub(one, lax.square(y)), logs), lax.square(z))
    return lax.select(near, series, far)


def _constants(like: Any) -> Callable[[float], Any]:
    """Makes constants of an array's dtype."""
    return lambda number: scalar(number, typeof(like).dtype)

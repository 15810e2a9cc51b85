"""Counts of successes: `binomial`, `multinomial`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from covector import lax
from covector._api.jit import library_function
from covector._ir import dtypes
from covector._trace.trace import typeof
from covector.errors import ShapeError
from covector.random._arguments import array_of, single_key
from covector.random._implementation import KeyImplementation, Shape
from covector.random._rejection import any_of, transformed_rejection
from covector.random._sampling import (
    Source,
    at_least_single,
    batch_shape,
    check_real,
    sample,
    scalar,
)
from covector.random._uniform import broadcast_parameter

# --- binomial -------------------------------------------------------------------------------------


def binomial(key: Any, n: Any, p: Any, shape: Any = None, dtype: Any = None) -> Any:
    """How many of ``n`` independent trials succeed, each with probability ``p``.

    The numbers are floating-point ones. Where ``n`` is negative or ``p`` no probability, they are
    nan.

    Args:
      key: a typed key, or a plain one of shape ``(2,)``.
      n: whole numbers; others are rounded down.
      p: probabilities.
      shape: of the result, to which both broadcast; by default what they broadcast to.
      dtype: a floating-point type.

    Raises:
      TypeError: ``key`` is no key, or ``shape`` no sequence of integers.
      ValueError: ``dtype`` is no floating-point type, or the parameters do not broadcast to
        ``shape``.

    >>> from covector import random
    >>> random.binomial(random.key(0), 100, 0.3, (3,))
    Array([23., 28., 24.], dtype=float32)
    """
    n, p = array_of("binomial", "n", n), array_of("binomial", "p", p)
    work = _work_dtype(n, p)
    return sample(
        "binomial", _binomial, key, shape, dtype, safe=False, work=lambda _: work, n=n, p=p
    )


def _work_dtype(n: Any, p: Any) -> np.dtype:
    """The dtype to compute in: that of the parameters together, but of 32 bits or more."""
    return at_least_single(dtypes.to_inexact_dtype(dtypes.result_type(n, p)))


def _binomial(source: Source, shape: Shape, dtype: np.dtype, n: Any, p: Any) -> Any:
    if typeof(n).ndim or typeof(p).ndim:
        n, p = [
            x if typeof(x).shape == shape else lax.broadcast_in_dim(x, shape, ()) for x in (n, p)
        ]
    return draw_binomial(source, n, p, shape)


def draw_binomial(source: Source, n: Any, p: Any, shape: Shape) -> Any:
    """Binomial numbers, in library code: by gaps for small means, else by rejection.

    The parameters are of the same shape: ``shape``, or that of scalars.
    """
    dtype = typeof(n).dtype
    zero, one, half = [scalar(x, dtype) for x in (0, 1, 0.5)]
    rare = lax.lt(p, half)
    q = lax.select(rare, p, lax.sub(one, p))
    no_count = lax.bitwise_or(lax.ne(n, n), lax.lt(n, zero))
    no_number = lax.ne(q, q)
    no_chance = lax.bitwise_or(no_number, lax.lt(q, zero))
    infinite = lax.eq(lax.abs(n), scalar(math.inf, dtype))
    q = lax.select(no_chance, lax.full_like(q, 0.01), q)
    small = lax.bitwise_or(no_count, lax.le(lax.mul(n, q), scalar(10, dtype)))
    whole = lax.floor(n)
    # Where a method is not used, it gets parameters that it is quick at.
    below = _by_gaps(source, lax.select(small, whole, lax.full_like(n, 0)), q, shape)
    many = lax.select(small, lax.full_like(n, 10_000), whole)
    above = _by_rejection(source, many, lax.select(small, lax.full_like(q, 0.5), q), shape)
    drawn = lax.select(small, below, above)
    wrong = lax.bitwise_or(no_chance, no_count)
    drawn = lax.select(wrong, lax.full_like(drawn, math.nan), drawn)
    endless = lax.bitwise_and(infinite, lax.bitwise_not(wrong))
    drawn = lax.select(endless, lax.full_like(drawn, math.inf), drawn)
    kept = lax.bitwise_or(lax.bitwise_or(rare, no_count), lax.bitwise_or(no_number, infinite))
    return lax.select(kept, drawn, lax.sub(whole, drawn))


def _by_gaps(source: Source, n: Any, q: Any, shape: Shape) -> Any:
    """How many gaps between successes, which are geometric numbers, fit into the trials.

    Source: L. Devroye, "Non-uniform random variate generation" (1986), X.4.3.
    """
    dtype, implementation = typeof(n).dtype, source.implementation
    zeros = lax.full(shape, 0, dtype)
    log_failure = lax.log1p(lax.neg(q))

    def unfinished(state: tuple) -> Any:
        return any_of(lax.le(state[2], n))

    def step(state: tuple) -> tuple:
        key, count, total = state
        now, key = Source(key, implementation).split()
        more = lax.convert_element_type(lax.le(total, n), dtype)
        gap = lax.ceil(lax.div(lax.log(now.unit(shape, dtype)), log_failure))
        return key.data, lax.add(count, more), lax.add(total, gap)

    count = lax.while_loop(unfinished, step, (source.data, zeros, zeros))[1]
    return lax.sub(count, scalar(1, dtype))


def _by_rejection(source: Source, n: Any, q: Any, shape: Shape) -> Any:
    """The algorithm BTRS, for means of ten or more.

    Source: W. Hörmann, "The generation of binomial random variates" (1993).
    """
    propose = _RejectionConstants(n, q).propose
    return transformed_rejection(source, shape, typeof(n).dtype, propose)


class _RejectionConstants:
    """The constants of BTRS that depend on the parameters, under their names in the paper."""

    def __init__(self, n: Any, p: Any):
        self._dtype = typeof(n).dtype
        c = self._scalar
        self.n, failure = n, lax.sub(c(1), p)
        mean = lax.mul(n, p)
        deviation = lax.sqrt(lax.mul(mean, failure))
        self.b = lax.add(c(1.15), lax.mul(c(2.53), deviation))
        self.a = lax.add(lax.add(c(-0.0873), lax.mul(c(0.0248), self.b)), lax.mul(c(0.01), p))
        self.center = lax.add(mean, c(0.5))
        self.v_r = lax.sub(c(0.92), lax.div(c(4.2), self.b))
        self.odds = lax.div(p, failure)
        self.alpha = lax.mul(lax.add(c(2.83), lax.div(c(5.1), self.b)), deviation)
        self.mode = lax.floor(lax.mul(lax.add(n, c(1)), p))
        # Of the logarithm of the ratio of probabilities, what does not depend on the proposal.
        self.rest = lax.add(lax.sub(n, self.mode), c(1))
        ratio = lax.div(lax.add(self.mode, c(1)), lax.mul(self.odds, self.rest))
        self.at_mode = lax.mul(lax.add(self.mode, c(0.5)), lax.log(ratio))
        self.tails = [_stirling_rest(self.mode), _stirling_rest(lax.sub(n, self.mode))]

    def _scalar(self, number: float) -> Any:
        return scalar(number, self._dtype)

    def propose(self, u: Any, v: Any) -> tuple[Any, Any]:
        """A proposal from ``u`` in [-1/2, 1/2) and ``v`` in [0, 1), and whether it is accepted."""
        c = self._scalar
        u_shifted = lax.sub(c(0.5), lax.abs(u))
        at_once = lax.bitwise_and(lax.ge(u_shifted, c(0.07)), lax.le(v, self.v_r))
        spread = lax.add(lax.div(lax.mul(c(2), self.a), u_shifted), self.b)
        k = lax.floor(lax.add(lax.mul(spread, u), self.center))
        beyond = lax.bitwise_or(lax.lt(k, c(0)), lax.gt(k, self.n))
        hat = lax.add(lax.div(self.a, lax.mul(u_shifted, u_shifted)), self.b)
        level = lax.log(lax.div(lax.mul(v, self.alpha), hat))
        likely = lax.le(level, self._log_ratio(k))
        accepted = lax.bitwise_and(lax.bitwise_not(beyond), likely)
        return k, lax.bitwise_or(at_once, accepted)

    def _log_ratio(self, k: Any) -> Any:
        """The logarithm of the probability of ``k`` over that of the mode."""
        c = self._scalar
        failures = lax.add(lax.sub(self.n, k), c(1))
        log = lax.log(lax.div(self.rest, failures))
        total = lax.add(self.at_mode, lax.mul(lax.add(self.n, c(1)), log))
        log = lax.log(lax.div(lax.mul(self.odds, failures), lax.add(k, c(1))))
        total = lax.add(total, lax.mul(lax.add(k, c(0.5)), log))
        total = lax.add(lax.add(total, self.tails[0]), self.tails[1])
        return lax.sub(lax.sub(total, _stirling_rest(k)), _stirling_rest(lax.sub(self.n, k)))


# Of k! over Stirling's formula for it, the logarithm, for k from 0 to 9.
_RESTS = (
    *(0.08106146679532726, 0.04134069595540929, 0.02767792568499834, 0.02079067210376509),
    *(0.01664469118982119, 0.01387612882307075, 0.01189670994589177, 0.01041126526197209),
    *(0.009255462182712733, 0.008330563433362871),
)


def _stirling_rest(k: Any) -> Any:
    """``log(k!)`` less Stirling's formula for it: above nine, what its series gives at nine.

    The series in ``k`` itself would be right by up to 1% more. With this one, the numbers equal
    those of `jax.random`.
    """
    dtype = typeof(k).dtype
    zero, one, nine = [scalar(x, dtype) for x in (0, 1, 9)]
    small = lax.clamp(zero, k, nine)
    raised = lax.add(small, one)
    square = lax.mul(raised, raised)
    inner = lax.sub(scalar(1 / 360, dtype), lax.div(scalar(1 / 1260, dtype), square))
    series = lax.div(lax.sub(scalar(1 / 12, dtype), lax.div(inner, square)), raised)
    index, rest = lax.floor(small), lax.full_like(small, _RESTS[0])
    for i, value in enumerate(_RESTS[1:], 1):  # a table would be read in a kernel of its own
        rest = lax.select(lax.lt(index, scalar(i, dtype)), rest, lax.full_like(rest, value))
    return lax.select(lax.le(k, nine), rest, series)


# --- multinomial ----------------------------------------------------------------------------------


def multinomial(
    key: Any, n: Any, p: Any, *, shape: Any = None, dtype: Any = None, unroll: int | bool = 1
) -> Any:
    """How often each outcome comes in ``n`` independent trials.

    Args:
      key: a typed key, or a plain one of shape ``(2,)``.
      n: whole numbers.
      p: the outcomes' probabilities, along the last axis; they are scaled to a sum of one.
      shape: of the result without its last axis, to which ``n`` and the other axes of ``p``
        broadcast; by default what they broadcast to.
      dtype: of the result, a floating-point type by default.
      unroll: how many outcomes a step of the loop draws.

    Raises:
      TypeError: ``key`` is no key, or ``shape`` no sequence of integers.
      ValueError: ``p`` is a scalar, or the parameters do not broadcast to ``shape``.

    >>> from covector import random
    >>> import numpy as np
    >>> random.multinomial(random.key(0), 10, np.array([0.2, 0.3, 0.5], np.float32))
    Array([1., 1., 8.], dtype=float32)
    """
    implementation, data, _ = single_key("multinomial", key)
    n, p = array_of("multinomial", "n", n), array_of("multinomial", "p", p)
    for argument, x in (("n", n), ("p", p)):
        check_real("multinomial", argument, x)
    aval = typeof(p)
    if not aval.ndim:
        raise ShapeError("multinomial: p must have at least one axis, but got a scalar.")
    batch = batch_shape("multinomial", shape, n=typeof(n).shape, p=aval.shape[:-1])
    dtype = (
        dtypes.scalar_dtype(float)
        if dtype is None
        else dtypes.check_user_dtype(dtype, "multinomial")
    )
    return _multinomial(data, n, p, implementation, batch, dtype, unroll)


@library_function(static_argnums=(3, 4, 5, 6))
def _multinomial(
    data: Any,
    n: Any,
    p: Any,
    implementation: KeyImplementation,
    batch: Shape,
    dtype: np.dtype,
    unroll: int,
) -> Any:
    """Each outcome's share of the trials that are left is a binomial number."""
    work = _work_dtype(n, p)
    outcomes, last = typeof(p).shape[-1], len(batch)
    n, p = [lax.convert_element_type(x, work) for x in (n, p)]
    n = broadcast_parameter(n, batch) if typeof(n).ndim else lax.broadcast_in_dim(n, batch, ())
    p = broadcast_parameter(p, (*batch, outcomes))
    p = lax.transpose(p, (last, *range(last)))
    zero, one = scalar(0, work), scalar(1, work)
    rest = lax.cumsum(p, reverse=True)
    share = lax.div(p, lax.select(lax.eq(rest, zero), lax.full_like(rest, 1), rest))
    keys = implementation.split(data, (outcomes,))

    def step(left: Any, x: tuple[Any, Any]) -> tuple[Any, Any]:
        key, share = x
        share = lax.min(one, lax.max(share, zero))
        count = draw_binomial(Source(key, implementation), left, share, typeof(left).shape)
        return lax.sub(left, count), count

    counts = lax.scan(step, n, (keys, share), unroll=unroll)[1]
    counts = lax.transpose(counts, (*range(1, last + 1), 0))
    return lax.convert_element_type(counts, dtype)

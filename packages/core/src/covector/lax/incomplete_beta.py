"""The incomplete beta function: `betainc`, with derivatives in every argument.

By its continued fraction (A. R. DiDonato, A. H. Morris, "Algorithm 708: significant digit
computation of the incomplete beta function ratios", 1992; DLMF 8.17.22), of ``1 - x`` where ``x``
is above the mean. The derivatives in ``a`` and ``b`` are those of this program, by forward mode, in
double precision.
"""

from __future__ import annotations

import math
from typing import Any

from covector import lax
from covector.lax._double import (
    STIRLING_FROM,
    choose,
    derivative,
    log1p_minus,
    lower_in_double,
    stirling_rest,
)
from covector.lax._nary import FLOAT, elementwise, scalar_like, spread_together
from covector.lax.elementwise import scale
from covector.lax.incomplete_gamma import SLOPE_STEPS, lentz
from covector.lax.special import lgamma


def betainc(a: Any, b: Any, x: Any) -> Any:
    """The regularized incomplete beta function ``I(a, b, x)``, elementwise.

    >>> import covector
    >>> round(float(covector.lax.betainc(2.0, 3.0, 0.4)), 4)
    0.5248
    """
    return regularized_incomplete_beta_p.bind(a, b, x)


_MAX_STEPS = 2000


def _both(*masks: Any) -> Any:
    total = masks[0]
    for mask in masks[1:]:
        total = lax.bitwise_and(total, mask)
    return total


def _prefactor(a: Any, b: Any, x: Any) -> Any:
    """``x**a (1 - x)**b / B(a, b)``; by Stirling's series where both ``a`` and ``b`` are large."""
    large = _both(lax.ge(a, STIRLING_FROM), lax.ge(b, STIRLING_FROM))
    c, d = choose(large, a, 100.0), choose(large, b, 100.0)
    total = lax.add(c, d)
    excess = lax.sub(lax.mul(x, d), lax.mul(lax.sub(1.0, x), c))
    parts = lax.add(
        lax.mul(c, log1p_minus(lax.div(excess, c))),
        lax.mul(d, log1p_minus(lax.neg(lax.div(excess, d)))),
    )
    rests = lax.sub(stirling_rest(total), lax.add(stirling_rest(c), stirling_rest(d)))
    root = lax.sqrt(lax.div(lax.mul(c, lax.div(d, total)), 2 * math.pi))
    by_stirling = lax.mul(root, lax.exp(lax.add(parts, rests)))
    c, d = choose(large, 1.0, a), choose(large, 1.0, b)
    plain = lax.exp(
        lax.sub(
            lax.add(lax.mul(c, lax.log(x)), lax.mul(d, lax.log1p(lax.neg(x)))),
            _precise_log_beta(c, d),
        )
    )
    return lax.select(large, by_stirling, plain)


def _log_beta(a: Any, b: Any) -> Any:
    return lax.sub(lax.add(lgamma(a), lgamma(b)), lgamma(lax.add(a, b)))


def _precise_log_beta(a: Any, b: Any) -> Any:
    """By Stirling's series where one is large, since large logarithms would cancel."""
    p, q = lax.max(a, b), lax.min(a, b)
    large = lax.ge(p, STIRLING_FROM)
    c = choose(large, p, 100.0)
    total = lax.add(c, q)
    powers = lax.add(lax.mul(lax.sub(total, 0.5), lax.log1p(lax.div(q, c))), lax.mul(q, lax.log(c)))
    rests = lax.sub(stirling_rest(c), stirling_rest(total))
    by_stirling = lax.add(lgamma(q), lax.add(lax.sub(q, powers), rests))
    return lax.select(large, by_stirling, _log_beta(choose(large, 1.0, a), choose(large, 1.0, b)))


def _fraction(a: Any, b: Any, x: Any, min_steps: int) -> Any:
    """``a I / prefactor``: one over the continued fraction, whose terms come in pairs."""
    one = lax.full_like(x, 1.0)

    def terms(n: Any) -> tuple[Any, Any]:
        m = lax.floor(lax.mul(n, 0.5))
        even = lax.eq(lax.mul(m, 2.0), n)
        place = lax.add(a, lax.mul(m, 2.0))
        of_even = lax.div(lax.mul(m, lax.sub(b, m)), lax.mul(lax.sub(place, 1.0), place))
        sums = lax.mul(lax.add(a, m), lax.add(lax.add(a, b), m))
        of_odd = lax.neg(lax.div(sums, lax.mul(place, lax.add(place, 1.0))))
        return lax.mul(x, lax.select_n(even, of_odd, of_even)), one

    return lax.div(1.0, lentz(one, terms, _MAX_STEPS, min_steps))


def _incomplete(a: Any, b: Any, x: Any, min_steps: int = 0) -> Any:
    inside = _both(lax.gt(x, 0.0), lax.lt(x, 1.0), lax.is_finite(a), lax.is_finite(b))
    ordinary = _both(inside, lax.gt(a, 0.0), lax.gt(b, 0.0))
    p, q = choose(ordinary, a, 1.0), choose(ordinary, b, 1.0)
    y = choose(ordinary, x, 0.5)
    mean = lax.div(lax.add(p, 1.0), lax.add(lax.add(p, q), 2.0))
    swap = lax.gt(y, mean)
    rest = lax.sub(1.0, y)
    first, second = lax.select(swap, q, p), lax.select(swap, p, q)
    part = _fraction(first, second, lax.select(swap, rest, y), min_steps)
    part = lax.mul(part, lax.div(_prefactor(p, q, y), first))
    value = lax.select(swap, lax.sub(1.0, part), part)
    return _at_edges(a, b, x, lax.select(ordinary, value, lax.full_like(value, math.nan)))


def _at_edges(a: Any, b: Any, x: Any, value: Any) -> Any:
    """``value``, but a step where all mass lies at one end, and nan where arguments are wrong."""
    at_zero = lax.bitwise_xor(lax.eq(a, 0.0), lax.eq(b, math.inf))
    at_one = lax.bitwise_xor(lax.eq(b, 0.0), lax.eq(a, math.inf))
    undecided = lax.bitwise_or(
        _both(lax.eq(a, 0.0), lax.eq(b, 0.0)), _both(lax.eq(a, math.inf), lax.eq(b, math.inf))
    )
    value = choose(at_zero, 1.0, choose(at_one, 0.0, value))
    value = choose(lax.eq(x, 0.0), 0.0, choose(lax.eq(x, 1.0), 1.0, value))
    good = _both(lax.ge(a, 0.0), lax.ge(b, 0.0), lax.ge(x, 0.0), lax.le(x, 1.0))
    return choose(_both(good, lax.bitwise_not(undecided)), value, math.nan)


def _slope(a: Any, b: Any, x: Any, *, in_a: int, in_b: int) -> Any:
    def value(a: Any, b: Any, x: Any) -> Any:
        return _incomplete(a, b, x, SLOPE_STEPS)

    slope = derivative(derivative(value, 0, in_a), 1, in_b)(a, b, x)
    ends = lax.bitwise_or(lax.eq(x, 0.0), lax.eq(x, 1.0))
    good = _both(lax.gt(a, 0.0), lax.gt(b, 0.0), lax.ge(x, 0.0), lax.le(x, 1.0))
    return choose(good, choose(ends, 0.0, slope), math.nan)


def _density(a: Any, b: Any, x: Any) -> Any:
    """The derivative of ``I`` in ``x``."""
    one = scalar_like(x, 1)
    left = _times_log(lax.sub(a, one), lax.log(x))
    right = _times_log(lax.sub(b, one), lax.log1p(lax.neg(x)))
    return lax.exp(lax.sub(lax.add(left, right), _log_beta(a, b)))


def _times_log(x: Any, log: Any) -> Any:
    """``x * log``, and 0 where ``x`` is."""
    product = lax.mul(x, log)
    return lax.select_n(lax.eq(x, scalar_like(x, 0)), product, lax.full_like(product, 0))


def _density_slope(in_a: int, in_b: int, *args: Any) -> Any:
    operands = spread_together("betainc", *args)
    return derivative(derivative(_density, 0, in_a), 1, in_b)(*operands)


def _bind_slope(in_a: int, in_b: int, *args: Any) -> Any:
    return incomplete_beta_slope_p.bind(*args, in_a=in_a, in_b=in_b)


regularized_incomplete_beta_p = elementwise(
    "regularized_incomplete_beta",
    lower_in_double(_incomplete),
    FLOAT,
    lambda t, out, *args: scale(t, _bind_slope(1, 0, *args)),
    lambda t, out, *args: scale(t, _bind_slope(0, 1, *args)),
    lambda t, out, *args: scale(t, _density_slope(0, 0, *args)),
)
# The derivative of order `in_a` in a, and `in_b` in b.
incomplete_beta_slope_p = elementwise(
    "incomplete_beta_slope",
    lower_in_double(_slope),
    FLOAT,
    lambda t, out, *args, in_a, in_b: scale(t, _bind_slope(in_a + 1, in_b, *args)),
    lambda t, out, *args, in_a, in_b: scale(t, _bind_slope(in_a, in_b + 1, *args)),
    lambda t, out, *args, in_a, in_b: scale(t, _density_slope(in_a, in_b, *args)),
)

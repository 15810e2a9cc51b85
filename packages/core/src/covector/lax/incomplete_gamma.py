"""The incomplete gamma function: `igamma`, `igammac`, their derivatives, `random_gamma_grad`.

``P(a, x)`` by its power series for ``x`` below ``a`` or 1, ``Q = 1 - P`` by Legendre's continued
fraction otherwise (A. Gil, J. Segura, N. M. Temme, "Efficient and accurate algorithms for the
computation and inversion of the incomplete gamma function ratios", 2012; the fraction in Lentz's
modified form), and for large ``a`` near ``x`` by Temme's uniform expansion ("The asymptotic
expansion of the incomplete gamma functions", 1979; DLMF 8.12), whose coefficients in
``eta`` are Taylor series computed in exact fractions. Where both are at most 1, ``Q`` has a series
of its own: for tiny ``a`` it is as small, and ``1 - P`` would be all rounding (W. Gautschi, "A
computational procedure for incomplete gamma functions", 1979).

The derivatives in ``a`` are those of these programs, by forward mode, in double precision.
"""

from __future__ import annotations

import math
from typing import Any

from covector import lax
from covector._trace.primitive import undefined
from covector.lax._double import (
    STIRLING_FROM,
    choose,
    derivative,
    horner,
    log1p_minus,
    log1p_rest,
    lower_in_double,
    stirling_rest,
)
from covector.lax._nary import FLOAT, elementwise, scalar_like, spread_together
from covector.lax.elementwise import scale
from covector.lax.special import digamma, lgamma

Pair = tuple[Any, Any]

# --- what users call ------------------------------------------------------------------------------


def igamma(a: Any, x: Any) -> Any:
    """The regularized lower incomplete gamma function ``P(a, x)``, elementwise.

    >>> import covector
    >>> round(float(covector.lax.igamma(1.0, 2.0)), 5)
    0.86466
    """
    return igamma_p.bind(a, x)


def igammac(a: Any, x: Any) -> Any:
    """The regularized upper incomplete gamma function ``1 - P(a, x)``, elementwise.

    >>> import covector
    >>> round(float(covector.lax.igammac(1.0, 2.0)), 5)
    0.13534
    """
    return igammac_p.bind(a, x)


def igamma_grad_a(a: Any, x: Any) -> Any:
    """The derivative of ``igamma(a, x)`` in ``a``, elementwise.

    >>> import covector
    >>> round(float(covector.lax.igamma_grad_a(1.0, 2.0)), 5)
    -0.22083
    """
    return igamma_grad_a_p.bind(a, x, order=1)


def random_gamma_grad(*args: Any) -> Any:
    """The derivative in ``a`` of a gamma-distributed sample: ``random_gamma_grad(a, sample)``.

    It is that of the sample with ``igamma(a, sample)`` held fixed (implicit reparameterization:
    M. Figurnov, S. Mohamed, A. Mnih, "Implicit reparameterization gradients", 2018).

    >>> import covector
    >>> round(float(covector.lax.random_gamma_grad(1.0, 2.0)), 4)
    1.6317
    """
    if len(args) != 2:
        raise TypeError(f"random_gamma_grad takes a and sample, got {len(args)} arguments.")
    return random_gamma_grad_p.bind(*args)


# --- the ways to compute it -----------------------------------------------------------------------

_MAX_STEPS = 2000
_COMPLEMENT_TERMS = 18  # 1 / 19! is below the rounding
# Where a fraction ends of itself (at whole numbers), its derivatives still go on.
SLOPE_STEPS = 200
_TEMME_FROM, _TEMME_WIDTH = 200.0, 0.3


def _prefactor(a: Any, x: Any) -> Any:
    """``x**a exp(-x) / gamma(a + 1)``; for large ``a`` by Stirling's series."""
    large = lax.ge(a, STIRLING_FROM)
    b = choose(large, a, 100.0)
    ratio = lax.div(lax.sub(x, b), b)
    log_large = lax.sub(lax.mul(b, log1p_minus(ratio)), stirling_rest(b))
    by_stirling = lax.div(lax.exp(log_large), lax.sqrt(lax.mul(b, 2 * math.pi)))
    c = choose(large, 1.0, a)
    power = lax.sub(lax.mul(c, lax.log(x)), x)
    plain = lax.exp(lax.sub(power, lgamma(lax.add(c, 1.0))))
    return lax.select(large, by_stirling, plain)


def _series(a: Any, x: Any) -> Any:
    """``P / prefactor``: the sum of ``x**n / ((a + 1) ... (a + n))`` (DLMF 8.7.1)."""
    tiny = _epsilon(x) / 100
    one = lax.full_like(x, 1.0)

    def unfinished(state: Any) -> Any:
        n, term, total = state
        small = lax.le(lax.abs(term), lax.mul(lax.abs(total), tiny))
        return lax.bitwise_and(lax.lt(n, float(_MAX_STEPS)), _any(lax.bitwise_not(small)))

    def step(state: Any) -> Any:
        n, term, total = state
        n = lax.add(n, 1.0)
        term = lax.mul(term, lax.div(x, lax.add(a, n)))
        return n, term, lax.add(total, term)

    return lax.while_loop(unfinished, step, (_number(x, 0), one, one))[2]


def _complement(a: Any, x: Any) -> Any:
    """``Q`` for ``a`` and ``x`` in (0, 1], by the other series of ``P`` (DLMF 8.7.1).

    ``P = x**a / gamma(1 + a) (1 + a S)`` with ``S`` the sum of ``(-x)**n / (n! (a + n))``, and
    ``1 / gamma(1 + a) = 1 + a g(a)``. What is left of ``1 - P`` has the factor ``a`` in each term.
    """
    slope = horner(a, _RECIPROCAL_GAMMA)
    reciprocal = lax.add(lax.mul(a, slope), 1.0)
    growth = lax.expm1(lax.mul(a, lax.log(x)))
    total = lax.full_like(x, 0.0)
    for n in range(_COMPLEMENT_TERMS, 0, -1):
        term = lax.div((-1.0) ** n / math.factorial(n), lax.add(a, float(n)))
        total = lax.mul(x, lax.add(total, term))
    rest = lax.mul(lax.mul(a, total), lax.mul(lax.add(growth, 1.0), reciprocal))
    return lax.neg(lax.add(lax.add(lax.mul(growth, reciprocal), lax.mul(a, slope)), rest))


def _fraction(a: Any, x: Any, min_steps: int = 0) -> Any:
    """``Q / (a prefactor)``: Legendre's continued fraction (DLMF 8.9.2)."""
    first = lax.sub(lax.add(x, 1.0), a)

    def terms(n: Any) -> tuple[Any, Any]:
        return lax.mul(n, lax.sub(a, n)), lax.add(first, lax.mul(n, 2.0))

    return lax.div(1.0, lentz(first, terms, _MAX_STEPS, min_steps))


def _long_fraction(a: Any, x: Any) -> Any:
    return _fraction(a, x, SLOPE_STEPS)


def lentz(start: Any, terms: Any, max_steps: int, min_steps: int) -> Any:
    """A continued fraction ``start + a1 / (b1 + a2 / (b2 + ...))`` by Lentz's modified algorithm.

    ``terms(n)`` gives ``(an, bn)``, for n a scalar. (I. J. Thompson and A. R. Barnett, "Coulomb and
    Bessel functions of complex arguments and order", 1986.)
    """
    tiny = 1e-30

    def away_from_zero(x: Any) -> Any:
        return choose(lax.lt(lax.abs(x), tiny), tiny, x)

    def unfinished(state: Any) -> Any:
        n, _, _, _, change = state
        moving = lax.gt(lax.abs(lax.sub(change, 1.0)), _epsilon(start))
        needed = lax.bitwise_or(lax.lt(n, float(min_steps)), _any(moving))
        return lax.bitwise_and(lax.lt(n, float(max_steps)), needed)

    def step(state: Any) -> Any:
        n, value, c, d, _ = state
        n = lax.add(n, 1.0)
        numerator, denominator = terms(n)
        d = lax.div(1.0, away_from_zero(lax.add(denominator, lax.mul(numerator, d))))
        c = away_from_zero(lax.add(denominator, lax.div(numerator, c)))
        change = lax.mul(c, d)
        return n, lax.mul(value, change), c, d, change

    value = away_from_zero(start)
    none = lax.full_like(start, 0.0)
    state = (_number(start, 0), value, value, none, none)
    return lax.while_loop(unfinished, step, state)[1]


def _temme(a: Any, x: Any) -> tuple[Any, Any]:
    """``(P, Q)`` for large ``a`` and ``x`` not far from it (DLMF 8.12.3, 8.12.4, 8.12.7)."""
    ratio = lax.div(lax.sub(x, a), a)
    eta = lax.mul(ratio, lax.sqrt(lax.mul(log1p_rest(ratio), 2.0)))
    half = lax.mul(a, 0.5)
    total = horner(eta, _TEMME[-1])
    for coefficients in reversed(_TEMME[:-1]):
        total = lax.add(lax.div(total, a), horner(eta, coefficients))
    gauss = lax.exp(lax.neg(lax.mul(half, lax.mul(eta, eta))))
    rest = lax.div(lax.mul(gauss, total), lax.sqrt(lax.mul(a, 2 * math.pi)))
    argument = lax.mul(eta, lax.sqrt(half))
    lower = lax.sub(lax.mul(lax.erfc(lax.neg(argument)), 0.5), rest)
    upper = lax.add(lax.mul(lax.erfc(argument), 0.5), rest)
    return lower, upper


def _any(mask: Any) -> Any:
    return lax.reduce_or(mask, range(mask.ndim)) if mask.ndim else mask


def _number(like: Any, value: float) -> Any:
    return scalar_like(like, value)


def _epsilon(x: Any) -> float:
    return 2.0**-52 if x.dtype.itemsize == 8 else 2.0**-23


# --- the parts together ---------------------------------------------------------------------------


def _regions(a: Any, x: Any) -> tuple[Any, Any, Any]:
    """Where both are ordinary numbers; of these, where Temme's expansion holds; and the series."""
    positive = lax.bitwise_and(lax.gt(a, 0.0), lax.gt(x, 0.0))
    ordinary = lax.bitwise_and(positive, lax.bitwise_and(lax.is_finite(a), lax.is_finite(x)))
    near = lax.lt(lax.abs(lax.sub(x, a)), lax.mul(a, _TEMME_WIDTH))
    uniform = lax.bitwise_and(lax.bitwise_and(near, lax.gt(a, _TEMME_FROM)), ordinary)
    others = lax.bitwise_and(ordinary, lax.bitwise_not(uniform))
    by_series = lax.bitwise_and(others, lax.bitwise_or(lax.le(x, 1.0), lax.le(x, a)))
    return ordinary, uniform, by_series


def _parts(a: Any, x: Any) -> tuple[Any, Any, Any, Pair, Pair, Pair]:
    """The regions, then the arguments, replaced by harmless ones where each way is not used."""
    ordinary, uniform, by_series = _regions(a, x)
    by_fraction = lax.bitwise_and(ordinary, lax.bitwise_not(lax.bitwise_or(uniform, by_series)))
    series = choose(by_series, a, 1.0), choose(by_series, x, 0.0)
    fraction = choose(by_fraction, a, 1.0), choose(by_fraction, x, 10.0)
    temme = choose(uniform, a, 1000.0), choose(uniform, x, 1000.0)
    return uniform, by_series, by_fraction, series, fraction, temme


def _incomplete(a: Any, x: Any, *, upper: bool, min_steps: int = 0) -> Any:
    uniform, by_series, by_fraction, series, fraction, temme = _parts(a, x)
    elsewhere = lax.bitwise_or(by_series, by_fraction)
    prefactor = _prefactor(choose(elsewhere, a, 1.0), choose(elsewhere, x, 1.0))
    lower_part = lax.mul(prefactor, _series(*series))
    upper_part = lax.mul(prefactor, lax.mul(fraction[0], _fraction(*fraction, min_steps)))
    if upper:
        value = lax.select(by_series, lax.sub(1.0, lower_part), upper_part)
        small = lax.bitwise_and(by_series, lax.le(lax.max(a, x), 1.0))
        value = lax.select(small, _complement(*[choose(small, z, 1.0) for z in (a, x)]), value)
    else:
        value = lax.select(by_series, lower_part, lax.sub(1.0, upper_part))
    value = lax.select(uniform, _temme(*temme)[upper], value)
    return _at_edges(a, x, value, float(upper))


def _at_edges(a: Any, x: Any, value: Any, below: float) -> Any:
    """``value``, but where an argument is 0 or infinite (``below``: at the left end), or wrong."""
    above = 1.0 - below
    left = lax.bitwise_or(lax.eq(x, 0.0), lax.eq(a, math.inf))
    right = lax.bitwise_or(lax.eq(a, 0.0), lax.eq(x, math.inf))
    value = choose(left, below, choose(right, above, value))
    wrong = lax.bitwise_or(lax.lt(x, 0.0), lax.lt(a, 0.0))
    for z in (lax.bitwise_and(left, right), lax.ne(a, a), lax.ne(x, x)):
        wrong = lax.bitwise_or(wrong, z)
    return choose(wrong, math.nan, value)


def _grad_a(a: Any, x: Any, *, order: int) -> Any:
    def lower(a: Any, x: Any) -> Any:
        return _incomplete(a, x, upper=False, min_steps=SLOPE_STEPS)

    slope = derivative(lower, 0, order)(a, x)
    ends = lax.bitwise_or(lax.eq(x, 0.0), lax.eq(x, math.inf))
    good = lax.bitwise_and(lax.bitwise_and(lax.gt(a, 0.0), lax.is_finite(a)), lax.ge(x, 0.0))
    return choose(good, choose(ends, 0.0, slope), math.nan)


def _sample_grad(a: Any, x: Any) -> Any:
    """``-(dP/da) / (dP/dx)``, the prefactor of both cancelled, so that tails are right too."""
    uniform, by_series, _, series, fraction, temme = _parts(a, x)
    log = lax.sub(
        lax.log(choose(by_series, x, 1.0)), digamma(lax.add(choose(by_series, a, 1.0), 1.0))
    )
    inner = lax.add(lax.mul(log, _series(*series)), derivative(_series, 0)(*series))
    below = lax.neg(lax.div(lax.mul(x, inner), choose(by_series, a, 1.0)))
    b, y = fraction
    log = lax.sub(lax.log(y), digamma(b))
    inner = lax.add(lax.mul(log, _fraction(b, y)), derivative(_long_fraction, 0)(b, y))
    value = lax.select(by_series, below, lax.mul(y, inner))
    near = lax.select(uniform, _sample_grad_near(*temme), value)
    good = lax.bitwise_and(lax.bitwise_and(lax.gt(a, 0.0), lax.is_finite(a)), lax.ge(x, 0.0))
    good = lax.bitwise_and(good, lax.is_finite(x))
    return choose(good, choose(lax.eq(x, 0.0), 0.0, near), math.nan)


def _sample_grad_near(a: Any, x: Any) -> Any:
    """By Temme's expansion; where the density underflows, the leading term ``x / a``."""
    slope = derivative(lambda a, x: _temme(a, x)[0], 0)(a, x)
    density = lax.div(lax.mul(_prefactor(a, x), a), x)
    positive = lax.gt(density, 1e-290 if x.dtype.itemsize == 8 else 1e-30)
    ratio = lax.neg(lax.div(slope, choose(positive, density, 1.0)))
    return lax.select(positive, ratio, lax.div(x, a))


# --- derivatives ----------------------------------------------------------------------------------


def _density(a: Any, x: Any) -> Any:
    """The derivative of ``P`` in ``x``."""
    one = lax.sub(a, scalar_like(a, 1))
    at_one = lax.eq(one, scalar_like(one, 0))
    power = lax.mul(one, lax.log(x))
    power = lax.select_n(at_one, power, lax.full_like(power, 0))
    return lax.exp(lax.sub(lax.sub(power, x), lgamma(a)))


def _density_slope(order: int, a: Any, x: Any) -> Any:
    return derivative(_density, 0, order)(*spread_together("igamma", a, x))


igamma_p = elementwise(
    "igamma",
    lower_in_double(lambda a, x: _incomplete(a, x, upper=False)),
    FLOAT,
    lambda t, out, a, x: scale(t, igamma_grad_a(a, x)),
    lambda t, out, a, x: scale(t, _density_slope(0, a, x)),
)
igammac_p = elementwise(
    "igammac",
    lower_in_double(lambda a, x: _incomplete(a, x, upper=True)),
    FLOAT,
    lambda t, out, a, x: scale(t, lax.neg(igamma_grad_a(a, x))),
    lambda t, out, a, x: scale(t, lax.neg(_density_slope(0, a, x))),
)
# With `order`, derivatives of any order in a.
igamma_grad_a_p = elementwise(
    "igamma_grad_a",
    lower_in_double(_grad_a),
    FLOAT,
    lambda t, out, a, x, *, order: scale(t, igamma_grad_a_p.bind(a, x, order=order + 1)),
    lambda t, out, a, x, *, order: scale(t, _density_slope(order, a, x)),
)
random_gamma_grad_p = elementwise(
    "random_gamma_grad",
    lower_in_double(_sample_grad),
    FLOAT,
    undefined("random_gamma_grad has no derivative"),
    undefined("random_gamma_grad has no derivative"),
)


# --- coefficients ---------------------------------------------------------------------------------

# Row k: the Taylor coefficients in eta of the k-th function of the expansion (DLMF 8.12.9).
_TEMME = [
    [
        -0.3333333333333333,
        0.08333333333333333,
        -0.014814814814814815,
        0.0011574074074074073,
        0.0003527336860670194,
        -0.0001787551440329218,
        3.919263178522438e-05,
        -2.185448510679992e-06,
        -1.85406221071516e-06,
        8.296711340953087e-07,
        -1.7665952736826078e-07,
        6.707853543401498e-09,
        1.0261809784240309e-08,
        -4.382036018453353e-09,
        9.14769958223679e-10,
        -2.5514193994946248e-11,
    ],
    [
        -0.001851851851851852,
        -0.003472222222222222,
        0.0026455026455026454,
        -0.0009902263374485596,
        0.00020576131687242798,
        -4.018775720164609e-07,
        -1.8098550334489977e-05,
        7.64916091608111e-06,
        -1.6120900894563446e-06,
        4.647127802807434e-09,
        1.378633446915721e-07,
        -5.752545603517705e-08,
        1.1951628599778148e-08,
        -1.7543241719747647e-11,
    ],
    [
        0.004133597883597883,
        -0.0026813271604938273,
        0.0007716049382716049,
        2.0093878600823047e-06,
        -0.0001073665322636516,
        5.2923448829120125e-05,
        -1.2760635188618728e-05,
        3.423578734096138e-08,
        1.3721957309062934e-06,
        -6.298992138380055e-07,
        1.4280614206064242e-07,
        -2.0477098421990866e-10,
    ],
    [
        0.0006494341563786008,
        0.00022947209362139917,
        -0.0004691894943952557,
        0.00026772063206283885,
        -7.561801671883977e-05,
        -2.396505113867297e-07,
        1.1082654115347302e-05,
        -5.6749528269915965e-06,
        1.4230900732435883e-06,
        -2.7861080291528143e-11,
    ],
    [
        -0.0008618882909167117,
        0.0007840392217200666,
        -0.0002990724803031902,
        -1.4638452578843418e-06,
        6.641498215465122e-05,
        -3.968365047179435e-05,
        1.1375726970678419e-05,
        2.507497226237533e-10,
    ],
    [
        -0.00033679855336635813,
        -6.972813758365857e-05,
        0.0002772753244959392,
        -0.00019932570516188847,
        6.797780477937208e-05,
        1.419062920643967e-07,
    ],
]

# ``1 / gamma(1 + a)`` is ``1 + a`` times the polynomial with these coefficients (DLMF 5.7.1).
_RECIPROCAL_GAMMA = [
    0.5772156649015329,
    -0.6558780715202539,
    -0.04200263503409524,
    0.16653861138229148,
    -0.04219773455554433,
    -0.009621971527876973,
    0.0072189432466631,
    -0.0011651675918590652,
    -0.00021524167411495098,
    0.0001280502823881162,
    -2.013485478078824e-05,
    -1.2504934821426706e-06,
    1.133027231981696e-06,
    -2.056338416977607e-07,
    6.116095104481416e-09,
    5.002007644469223e-09,
    -1.18127457048702e-09,
    1.0434267116911005e-10,
    7.782263439905071e-12,
    -3.696805618642206e-12,
    5.100370287454476e-13,
    -2.0583260535665066e-14,
    -5.348122539423018e-15,
    1.2267786282382608e-15,
]

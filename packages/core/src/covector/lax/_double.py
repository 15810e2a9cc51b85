"""Special functions that are programs of `lax` operations, computed in double precision.

So results in single precision and below are correctly rounded, almost always. TPUs have no doubles:
there such programs run in single precision.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from covector import lax
from covector._config import enable_x64
from covector._ir import dtypes
from covector._lower.module import lower_by
from covector._trace.trace import typeof
from covector.lax._nary import broadcast_operands
from covector.lax._rules import tangents_by
from covector.lax.filling import full_of


def lower_in_double(function: Callable[..., Any]) -> Callable[..., list[str]]:
    """A lowering rule from a function of arrays of one shape and dtype.

    Python numbers in ``function`` have that dtype.
    """
    lower = lower_by(function)

    def rule(ctx: Any, args: Any, in_avals: Any, out_avals: Any, **params: Any) -> list[str]:
        out = out_avals[0]
        single = ctx.platform == "tpu"
        wide = out.update(dtype=dtypes.DTYPES["float32" if single else "float64"], weak_type=False)
        names = broadcast_operands(ctx, args, in_avals, out)
        names = [ctx.convert(name, out, wide) for name in names]
        with enable_x64(not single):
            (name,) = lower(ctx, names, [wide] * len(names), [wide], **params)
        return [ctx.convert(name, wide, out)]

    return rule


def derivative(function: Callable[..., Any], position: int, order: int = 1) -> Callable[..., Any]:
    """The derivative of an elementwise function in one argument, by forward mode."""
    if order == 0:
        return function
    inner = derivative(function, position, order - 1)

    def slope(*args: Any) -> Any:
        tangents: list[Any] = [None] * len(args)
        tangents[position] = full_of(typeof(args[position]).update(weak_type=False), 1)
        (tangent,) = tangents_by(lambda *xs: [inner(*xs)], args, tangents)
        return full_of(typeof(args[0]), 0) if tangent is None else tangent

    return slope


def horner(x: Any, coefficients: Sequence[float]) -> Any:
    """The polynomial with these coefficients, the constant first."""
    total = full_of(typeof(x), coefficients[-1])
    for c in reversed(coefficients[:-1]):
        total = lax.add(lax.mul(total, x), c)
    return total


def chebyshev(t: Any, coefficients: tuple[float, ...]) -> Any:
    """The Chebyshev series at ``t`` in [-1, 1], for coefficients that fall quickly.

    By powers of ``t``. In Clenshaw's recurrence (1955) each step is used twice, so the compiler,
    which computes what is fused where it is used, would compute the early ones many times.
    """
    return horner(t, _powers(coefficients))


@functools.cache
def _powers(coefficients: tuple[float, ...]) -> list[float]:
    """The coefficients of the powers, from those of the Chebyshev polynomials; without rounding."""
    total = [Fraction(0)] * len(coefficients)
    previous, current = [Fraction(0)], [Fraction(1)]  # of T(k - 1) and T(k)
    for k, c in enumerate(coefficients):
        for i, power in enumerate(current):
            total[i] += Fraction(c) * power
        factor = 1 if k == 0 else 2
        following = [Fraction(0), *[factor * power for power in current]]
        for i, power in enumerate(previous):
            following[i] -= power
        previous, current = current, following
    return [float(x) for x in total]


def log1p_rest(x: Any) -> Any:
    """``(x - log1p(x)) / x**2`` for small ``x``, up to 0.4 in size, without cancellation.

    By ``log1p(x) = 2 artanh(r)`` with ``r = x / (2 + x)``.
    """
    base = lax.add(x, 2.0)
    r = lax.div(x, base)
    series = horner(lax.mul(r, r), [2 / (2 * k + 1) for k in range(1, 18)])
    return lax.div(lax.sub(1.0, lax.div(lax.mul(r, series), base)), base)


def log1p_minus(x: Any) -> Any:
    """``log1p(x) - x``, for ``x`` above -1."""
    small = lax.lt(lax.abs(x), 0.4)
    near = lax.select(small, x, full_of(typeof(x), 0))
    rest = lax.neg(lax.mul(lax.mul(near, near), log1p_rest(near)))
    return lax.select(small, rest, lax.sub(lax.log1p(x), x))


# Stirling's series: lgamma(a) - ((a - 1/2) log(a) - a + log(2 pi) / 2), in 1 / a (A&S 6.1.41).
_STIRLING = [1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156]
STIRLING_FROM = 20.0  # where the series has full precision


def stirling_rest(a: Any) -> Any:
    """The sum of Stirling's series, for ``a`` of at least `STIRLING_FROM`."""
    inverse = lax.div(1.0, a)
    return lax.mul(inverse, horner(lax.mul(inverse, inverse), _STIRLING))


def choose(mask: Any, x: Any, y: Any) -> Any:
    """``x`` where the mask holds, else ``y``; either may be a Python number."""
    aval = typeof(mask)
    like = next(z for z in (x, y) if typeof(z).shape == aval.shape and not isinstance(z, float))
    x, y = [full_of(typeof(like), z) if isinstance(z, float) else z for z in (x, y)]
    return lax.select(mask, x, y)

"""Special functions that XLA expands itself: erf erfc erf_inv, lgamma digamma polygamma zeta."""

from __future__ import annotations

import math
from typing import Any

from covector._ir import dtypes
from covector._trace.primitive import undefined
from covector.lax._nary import FLOAT, elementwise, lower_chlo, scalar_like
from covector.lax.elementwise import add, mul, neg, scale
from covector.lax.powers import square
from covector.lax.transcendental import exp

# --- the error function ---------------------------------------------------------------------------


def erf(x: Any) -> Any:
    """The error function, elementwise.

    >>> import covector
    >>> float(covector.lax.erf(0.0))
    0.0
    """
    return erf_p.bind(x)


def erfc(x: Any, *, accuracy: Any = None) -> Any:
    """``1 - erf(x)``, elementwise, accurate for large ``x``. Any ``accuracy`` is met alike.

    >>> import covector
    >>> float(covector.lax.erfc(0.0))
    1.0
    """
    return erfc_p.bind(x)


def erf_inv(x: Any) -> Any:
    """The inverse of `erf`, elementwise; infinite at -1 and 1.

    >>> import covector
    >>> float(covector.lax.erf_inv(0.0))
    0.0
    """
    return erf_inv_p.bind(x)


def _erf_slope(x: Any) -> Any:
    return mul(exp(neg(square(x))), scalar_like(x, 2 / math.sqrt(math.pi)))


erf_p = elementwise("erf", lower_chlo("erf"), FLOAT, lambda t, y, x: scale(t, _erf_slope(x)))
erfc_p = elementwise(
    "erfc", lower_chlo("erfc"), FLOAT, lambda t, y, x: scale(t, neg(_erf_slope(x)))
)
erf_inv_p = elementwise(
    "erf_inv",
    lower_chlo("erf_inv"),
    FLOAT,
    lambda t, y, x: scale(t, mul(exp(square(y)), scalar_like(y, math.sqrt(math.pi) / 2))),
)


# --- the gamma function ---------------------------------------------------------------------------


def lgamma(x: Any) -> Any:
    """The logarithm of the absolute value of the gamma function, elementwise.

    >>> import covector
    >>> float(covector.lax.lgamma(2.0))
    0.0
    """
    return lgamma_p.bind(x)


def digamma(x: Any) -> Any:
    """The derivative of `lgamma`, elementwise.

    >>> import covector
    >>> round(float(covector.lax.digamma(0.5)), 4)
    -1.9635
    """
    return digamma_p.bind(x)


def polygamma(m: Any, x: Any) -> Any:
    """The derivative of order ``m`` of `digamma`, elementwise. There is no derivative in ``m``.

    >>> import covector
    >>> round(float(covector.lax.polygamma(1.0, 1.0)), 4)
    1.6449
    """
    return polygamma_p.bind(m, x)


def zeta(x: Any, q: Any) -> Any:
    """Hurwitz's zeta function, the sum of ``(n + q) ** -x`` over n = 0, 1, ..., elementwise.

    There is no derivative in ``x``.

    >>> import covector
    >>> round(float(covector.lax.zeta(2.0, 1.0)), 4)
    1.6449
    """
    return zeta_p.bind(x, q)


def _lower_lgamma(ctx: Any, args: Any, in_avals: Any, out_avals: Any) -> list[str]:
    """In double precision: XLA's sum for single precision is far off near 1 and negative roots."""
    aval = in_avals[0]
    wide = aval if ctx.platform == "tpu" else aval.update(dtype=dtypes.DTYPES["float64"])
    name = ctx.convert(args[0], aval, wide)
    name = ctx.emit(f"chlo.lgamma {name} : {wide.mlir} -> {wide.mlir}")[0]
    return [ctx.convert(name, wide, aval)]


lgamma_p = elementwise("lgamma", _lower_lgamma, FLOAT, lambda t, y, x: scale(t, digamma(x)))
digamma_p = elementwise(
    "digamma",
    lower_chlo("digamma"),
    FLOAT,
    lambda t, y, x: scale(t, polygamma(scalar_like(x, 1), x)),
)
polygamma_p = elementwise(
    "polygamma",
    lower_chlo("polygamma"),
    FLOAT,
    undefined("polygamma has no derivative in its order m"),
    lambda t, y, m, x: scale(t, polygamma(add(m, scalar_like(m, 1)), x)),
)
zeta_p = elementwise(
    "zeta",
    lower_chlo("zeta"),
    FLOAT,
    undefined("zeta has no derivative in its exponent x"),
    lambda t, y, x, q: scale(t, mul(neg(x), zeta(add(x, scalar_like(x, 1)), q))),
)

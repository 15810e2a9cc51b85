"""Functions of complex numbers, with the signs and infinities that C's Annex G and NumPy give them.

XLA's complex functions lose the signs of zeros, which makes them wrong on one side of a branch cut
(``sqrt(-1 - 0j)`` is ``-1j``), and answer most infinities with nan. Here a function is computed in
the part of the plane from which its symmetry gives the rest: ``f(conj(z)) = conj(f(z))`` holds for
all, and ``f(-z)`` is ``-f(z)`` or ``f(z)`` for many. There its formula, or what XLA gives, is
mended where a part is zero, infinite or nan. Circular functions are hyperbolic ones with the axes
swapped: ``sin(x + iy) = q + ip`` where ``sinh(y + ix) = p + iq``.

Sources: ISO/IEC 9899:2018, Annex G.6; Kahan, Branch cuts for complex elementary functions (1987).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from covector._ir.dtypes import to_real_dtype
from covector._lower.module import lower_by
from covector._trace.trace import typeof
from covector.lax._nary import INEXACT, elementwise, lower_chlo, scalar_like
from covector.lax.accuracy import lower_with_accuracy
from covector.lax.bitwise import bitwise_and, bitwise_not, bitwise_or, bitwise_xor
from covector.lax.compare import eq, is_finite, lt, ne, select_n
from covector.lax.complex_numbers import complex, imag, real
from covector.lax.convert import bitcast_convert_type
from covector.lax.elementwise import abs, mul, neg
from covector.lax.filling import full_like

Parts = tuple[Any, Any]

# Functions as XLA has them, of real and complex numbers: only in lowering.
_AS_XLA_HAS_THEM = {
    name: elementwise(f"xla_{name}", rule, INEXACT)
    for name, rule in {
        "exp": lower_with_accuracy("exponential"),
        "expm1": lower_with_accuracy("exponential_minus_one"),
        "log": lower_with_accuracy("log"),
        "log1p": lower_with_accuracy("log_plus_one"),
        "sqrt": lower_with_accuracy("sqrt"),
        "sin": lower_with_accuracy("sine"),
        "cos": lower_with_accuracy("cosine"),
        "tanh": lower_with_accuracy("tanh"),
        **{f: lower_chlo(f) for f in ("sinh", "cosh", "acos", "acosh", "asinh", "atanh")},
    }.items()
}
_AS_XLA_HAS_THEM["abs"] = elementwise("xla_abs", "abs", "c", out_dtype=to_real_dtype)


def _xla(name: str, x: Any, y: Any) -> Parts:
    out = _AS_XLA_HAS_THEM[name].bind(complex(x, y))
    return real(out), imag(out)


def _of_real(name: str, x: Any) -> Any:
    return _AS_XLA_HAS_THEM[name].bind(x)


# --- choices --------------------------------------------------------------------------------------


def _where(condition: Any, value: Any, otherwise: Any) -> Any:
    if isinstance(value, float):
        value = full_like(otherwise, value)
    return select_n(condition, otherwise, value)


def _is(x: Any, value: float) -> Any:
    return eq(x, scalar_like(x, value))


def _is_infinite(x: Any) -> Any:
    return _is(abs(x), math.inf)


def _is_nan(x: Any) -> Any:
    return ne(x, x)


def _not_finite(x: Any) -> Any:
    return bitwise_not(is_finite(x))


def _is_negative(x: Any) -> Any:
    """Whether the sign is set: of -0.0, too."""
    bits = bitcast_convert_type(x, np.dtype(f"int{8 * typeof(x).dtype.itemsize}"))
    return lt(bits, np.zeros((), bits.dtype))


# --- functions of the parts, in their part of the plane -------------------------------------------


def _exp(x: Any, y: Any) -> Parts:
    u, v = _xla("exp", x, y)
    endless = _not_finite(y)
    vanishes = bitwise_and(endless, _is(x, -math.inf))
    explodes = bitwise_and(endless, _is(x, math.inf))
    u = _where(vanishes, 0.0, _where(explodes, math.inf, u))
    return u, _where(bitwise_or(vanishes, _is(y, 0)), 0.0, v)


def _expm1(x: Any, y: Any) -> Parts:
    u, v = _xla("expm1", x, y)
    return u, _where(_is(y, 0), 0.0, v)


def _logarithm(name: str) -> Callable[[Any, Any], Parts]:
    def compute(x: Any, y: Any) -> Parts:
        u, v = _xla(name, x, y)
        return _where(bitwise_or(_is_infinite(x), _is_infinite(y)), math.inf, u), v

    return compute


def _sqrt(x: Any, y: Any) -> Parts:
    u, v = _xla("sqrt", x, y)
    high = _is_infinite(y)
    u = _where(bitwise_or(high, _is(x, math.inf)), math.inf, u)
    return u, _where(bitwise_or(high, _is(x, -math.inf)), math.inf, v)


def _vanishing(part: Any, *factors: Any) -> Any:
    """A product that is nan though one of its factors was zero is zero."""
    for x in factors:
        part = _where(bitwise_and(_is(x, 0), _is_nan(part)), 0.0, part)
    return part


def _sinh(x: Any, y: Any) -> Parts:
    u = mul(_of_real("sinh", x), _of_real("cos", y))
    v = mul(_of_real("cosh", x), _of_real("sin", y))
    u = _where(bitwise_and(_not_finite(y), _is(x, math.inf)), math.inf, u)
    return _vanishing(u, x), _vanishing(v, y)


def _cosh(x: Any, y: Any) -> Parts:
    u = mul(_of_real("cosh", x), _of_real("cos", y))
    v = mul(_of_real("sinh", x), _of_real("sin", y))
    u = _where(bitwise_and(_not_finite(y), _is(x, math.inf)), math.inf, u)
    return u, _vanishing(v, x, y)


def _tanh(x: Any, y: Any) -> Parts:
    u, v = _xla("tanh", x, y)
    return _where(_is(x, 0), 0.0, u), _where(_is(y, 0), 0.0, v)


def _asinh(x: Any, y: Any) -> Parts:
    u, v = _xla("asinh", x, y)
    return u, _where(_is(y, 0), 0.0, v)


def _acos(x: Any, y: Any) -> Parts:
    u, v = _xla("acos", x, y)
    return _where(_is(x, 0), math.pi / 2, u), v


def _acosh(x: Any, y: Any) -> Parts:
    u, v = _xla("acosh", x, y)
    return u, _where(_is(x, 0), math.pi / 2, v)


def _atanh(x: Any, y: Any) -> Parts:
    u, v = _xla("atanh", x, y)
    unknown = bitwise_or(_is_nan(x), _is_nan(y))
    high = _is_infinite(y)
    vanishes = bitwise_or(bitwise_or(_is(x, 0), _is_infinite(x)), high)
    u = _where(unknown, math.nan, u)
    v = _where(unknown, _where(high, math.pi / 2, full_like(v, math.nan)), v)
    return _where(vanishes, 0.0, u), v


def _swapped(compute: Callable[[Any, Any], Parts]) -> Callable[[Any, Any], Parts]:
    """The function ``-i f(iz)`` of the first quadrant: both the plane's axes are swapped."""
    return lambda x, y: compute(y, x)[::-1]


def _cos(x: Any, y: Any) -> Parts:
    u, v = _cosh(y, x)
    return u, neg(v)


# --- the whole plane ------------------------------------------------------------------------------


def _by_conjugates(compute: Callable[[Any, Any], Parts]) -> Callable[[Any], Any]:
    def function(z: Any) -> Any:
        x, y = real(z), imag(z)
        u, v = compute(x, abs(y))
        return complex(u, _where(_is_negative(y), neg(v), v))

    return function


def _odd(compute: Callable[[Any, Any], Parts]) -> Callable[[Any], Any]:
    def function(z: Any) -> Any:
        x, y = real(z), imag(z)
        u, v = compute(abs(x), abs(y))
        return complex(
            _where(_is_negative(x), neg(u), u),
            _where(_is_negative(y), neg(v), v),
        )

    return function


def _even(compute: Callable[[Any, Any], Parts]) -> Callable[[Any], Any]:
    def function(z: Any) -> Any:
        x, y = real(z), imag(z)
        u, v = compute(abs(x), abs(y))
        return complex(u, _where(bitwise_xor(_is_negative(x), _is_negative(y)), neg(v), v))

    return function


def _abs(z: Any) -> Any:
    infinite = bitwise_or(_is_infinite(real(z)), _is_infinite(imag(z)))
    return _where(infinite, math.inf, _AS_XLA_HAS_THEM["abs"].bind(z))


_FUNCTIONS = {
    "abs": _abs,
    "exp": _by_conjugates(_exp),
    "expm1": _by_conjugates(_expm1),
    "log": _by_conjugates(_logarithm("log")),
    "log1p": _by_conjugates(_logarithm("log1p")),
    "sqrt": _by_conjugates(_sqrt),
    "acos": _by_conjugates(_acos),
    "acosh": _by_conjugates(_acosh),
    "sinh": _odd(_sinh),
    "sin": _odd(_swapped(_sinh)),
    "tanh": _odd(_tanh),
    "tan": _odd(_swapped(_tanh)),
    "asinh": _odd(_asinh),
    "asin": _odd(_swapped(_asinh)),
    "atanh": _odd(_atanh),
    "atan": _odd(_swapped(_atanh)),
    "cosh": _even(_cosh),
    "cos": _even(_cos),
}

LOWERINGS = {name: lower_by(function) for name, function in _FUNCTIONS.items()}

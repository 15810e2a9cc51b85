"""`polynomial`: the value of a polynomial, by Horner's rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from covector import lax
from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector._lower.module import lower_by
from covector._trace.primitive import Linear, Primitive
from covector._trace.trace import typeof
from covector.lax._nary import (
    NUMBER,
    broadcast_to_shape,
    check_kind,
    check_same_dtype,
    common_shape,
    elementwise_batch,
    scalar_like,
    unbroadcast,
)
from covector.lax.elementwise import add_any, scale
from covector.lax.filling import full

# Up to so many coefficients are written out; more are the elements of a loop.
_WRITTEN_OUT = 32


def polynomial(x: Any, coeffs: Sequence[Any], *, unroll: int | bool | None = None) -> Any:
    """``coeffs[0] + coeffs[1] * x + coeffs[2] * x**2 + ...``, elementwise, in the dtype of ``x``.

    Its derivative in ``x`` is evaluated as a polynomial, too.

    Args:
      coeffs: a sequence of numbers or arrays (or an array, along its first axis), each a scalar or
        of the rank of ``x``, with axes that agree or have size one. None at all give zero.
      unroll: how many terms to write out; if there are more, they are computed in a loop. True
        stands for all, None for 32.

    Raises:
      TypeError: ``coeffs`` is no sequence, shapes do not fit, or a coefficient is complex and
        ``x`` is not.
      ValueError: ``unroll`` is negative.

    >>> float(polynomial(3.0, [1.0, 5.0, 2.0]))
    34.0
    """
    if unroll is not None and not isinstance(unroll, bool) and unroll < 0:
        raise ValueError(f"polynomial: unroll must be a bool or not negative, got {unroll}.")
    aval = typeof(x)
    if hasattr(coeffs, "aval") and typeof(coeffs).ndim:
        coeffs = lax.unstack(coeffs)
    terms = [_coefficient(x, aval.dtype, c) for c in coeffs]
    written_out = len(terms) if unroll is True else _WRITTEN_OUT if unroll is None else int(unroll)
    return polynomial_p.bind(x, *terms, written_out=len(terms) <= max(written_out, 1))


def _coefficient(x: Any, dtype: np.dtype, c: Any) -> Any:
    """A coefficient in the dtype of ``x``; weakly typed, if it is a number, as ``x`` is."""
    aval = typeof(c)
    if dtypes.is_complex(aval.dtype) and not dtypes.is_complex(dtype):
        raise TypeError(
            f"polynomial: a coefficient has dtype {aval.dtype}, but x has dtype {dtype}. Convert x "
            "to a complex dtype."
        )
    if isinstance(c, (bool, int, float, complex)):
        return scalar_like(x, c)
    return c if aval.dtype == dtype else lax.convert_element_type(c, dtype)


def _abstract(x: ShapedArray, *coefficients: ShapedArray, written_out: bool) -> ShapedArray:
    avals = (x, *coefficients)
    for i, aval in enumerate(avals):
        check_kind("polynomial", aval, NUMBER, i)
    check_same_dtype("polynomial", avals)
    weak_type = all(a.weak_type for a in avals)
    return ShapedArray(common_shape("polynomial", avals), x.dtype, weak_type)


def _horner(x: Any, *coefficients: Any, written_out: bool) -> Any:
    shape = common_shape("polynomial", [typeof(v) for v in (x, *coefficients)])
    if not coefficients:
        return full(shape, 0, x.dtype)

    def step(total: Any, c: Any) -> Any:
        return lax.add(lax.mul(total, x), c)

    if written_out:
        total = coefficients[-1]
        for c in reversed(coefficients[:-1]):
            total = step(total, c)
        return broadcast_to_shape(total, shape)
    common = common_shape("polynomial", [typeof(c) for c in coefficients])
    rows = lax.stack([broadcast_to_shape(c, common) for c in coefficients])
    total = full(shape, 0, x.dtype)
    return lax.scan(lambda t, c: (step(t, c), None), total, rows, reverse=True)[0]


def _jvp(primals: list, tangents: list, *, written_out: bool) -> tuple[Any, Any]:
    x, *coefficients = primals
    x_tangent, *rates = tangents
    out = polynomial_p.bind(*primals, written_out=written_out)
    terms = []
    if x_tangent is not None and len(coefficients) > 1:
        lower = [lax.mul(c, scalar_like(c, i)) for i, c in enumerate(coefficients[1:], 1)]
        slope = polynomial_p.bind(x, *lower, written_out=written_out)
        terms.append(scale(x_tangent, slope))
    power = None  # of x; None is one
    for rate in rates:
        if rate is not None:
            terms.append(rate if power is None else scale(rate, power))
        power = x if power is None else lax.mul(power, x)
    total = None
    for term in terms:
        term = broadcast_to_shape(term, out.shape)
        total = term if total is None else add_any(total, term)
    return out, total


def _transpose(ct: Any, x: Any, *coefficients: Any, written_out: bool) -> list[Any]:
    """In the coefficients, in which it is linear."""
    if isinstance(x, Linear):
        raise NotImplementedError("polynomial cannot be transposed in x: it is not linear in it.")
    cts: list[Any] = [None]
    power = None
    for c in coefficients:
        term = ct if power is None else scale(ct, power)
        cts.append(unbroadcast(term, c) if isinstance(c, Linear) else None)
        power = x if power is None else lax.mul(power, x)
    return cts


polynomial_p = Primitive(
    "polynomial",
    abstract=_abstract,
    lower=lower_by(_horner),
    jvp=_jvp,
    transpose=_transpose,
    batch=elementwise_batch(lambda: polynomial_p),
    elementwise=True,
)

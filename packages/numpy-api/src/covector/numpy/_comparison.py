"""Elementwise comparison, logic, bits, and tests of numbers; `isclose`, `array_equal`."""

from __future__ import annotations

from typing import Any

import numpy as np
from covector import lax
from covector._api.jit import library_function
from covector._ir import dtypes
from covector._trace.trace import typeof
from covector.numpy import _operands
from covector.numpy._operands import (
    Array,
    ArrayLike,
    as_boolean,
    check_arraylike,
    full_shape,
    promote_inexact,
    promote_numeric,
    scalar,
)
from covector.numpy._ufunc import binary, keep, ufunc, unary

# --- comparison ----------------------------------------------------------------------------------


def _ordered(comparison: str) -> Any:
    """A comparison; complex numbers by their real parts, then by their imaginary ones."""

    def compute(x: Any, y: Any) -> Any:
        compare = getattr(lax, comparison)
        if not dtypes.is_complex(typeof(x).dtype):
            return compare(x, y)
        real_x, real_y = lax.real(x), lax.real(y)
        tie = lax.eq(real_x, real_y)
        first = (lax.lt if comparison in ("lt", "le") else lax.gt)(real_x, real_y)
        return lax.bitwise_or(first, lax.bitwise_and(tie, compare(lax.imag(x), lax.imag(y))))

    return compute


equal = binary(
    "equal", "eq", "Whether the elements are equal.",
    ("equal(1, jnp.array([1, 2]))", "[ True False]"),
    parameters="x, y, /",
)  # fmt: skip
not_equal = binary(
    "not_equal", "ne", "Whether the elements differ.",
    ("not_equal(1, jnp.array([1, 2]))", "[False  True]"), parameters="x, y, /",
)  # fmt: skip
less = binary(
    "less", _ordered("lt"), "Whether ``x < y``, elementwise.", ("less(1, 2)", "True"),
    parameters="x, y, /",
)  # fmt: skip
less_equal = binary(
    "less_equal", _ordered("le"), "Whether ``x <= y``, elementwise.", ("less_equal(2, 2)", "True"),
    parameters="x, y, /",
)  # fmt: skip
greater = binary(
    "greater", _ordered("gt"), "Whether ``x > y``, elementwise.", ("greater(1, 2)", "False"),
    parameters="x, y, /",
)  # fmt: skip
greater_equal = binary(
    "greater_equal", _ordered("ge"), "Whether ``x >= y``, elementwise.",
    ("greater_equal(2, 2)", "True"), parameters="x, y, /",
)  # fmt: skip

# --- logic ---------------------------------------------------------------------------------------


def _promote_to_boolean(name: str, *operands: Any) -> list[Any]:
    """Whether each is nonzero. In strict mode operands of unlike dtypes are refused here, too."""
    check_arraylike(name, *operands)
    _operands.common_type(*operands)
    return _operands.broadcast(name, *[as_boolean(x) for x in operands])


logical_and = ufunc(
    "logical_and", "bitwise_and", "Whether both are nonzero, elementwise.",
    ("logical_and(True, 0)", "False"), True, _promote_to_boolean,
)  # fmt: skip
logical_or = ufunc(
    "logical_or", "bitwise_or", "Whether either is nonzero, elementwise.",
    ("logical_or(True, 0)", "True"), False, _promote_to_boolean,
)  # fmt: skip
logical_xor = ufunc(
    "logical_xor", "bitwise_xor", "Whether exactly one is nonzero, elementwise.",
    ("logical_xor(True, 3)", "False"), False, _promote_to_boolean,
)  # fmt: skip
logical_not = unary(
    "logical_not", "bitwise_not", "Whether each element is zero.", ("logical_not(0)", "True"),
    _promote_to_boolean,
)  # fmt: skip

# --- bits ----------------------------------------------------------------------------------------

bitwise_and = ufunc(
    "bitwise_and", "bitwise_and", "Bits set in both, elementwise.", ("bitwise_and(6, 3)", "2"), -1
)
bitwise_or = ufunc(
    "bitwise_or", "bitwise_or", "Bits set in either, elementwise.", ("bitwise_or(6, 3)", "7"), 0
)
bitwise_xor = ufunc(
    "bitwise_xor",
    "bitwise_xor",
    "Bits set in one of two, elementwise.",
    ("bitwise_xor(6, 3)", "5"),
    0,
)
invert = unary("invert", "bitwise_not", "All bits inverted.", ("invert(5)", "-6"), keep)
bitwise_not = unary(
    "bitwise_not", "bitwise_not", "All bits inverted.", ("bitwise_not(5)", "-6"), keep
)
bitwise_invert = unary(
    "bitwise_invert", "bitwise_not", "All bits inverted.", ("bitwise_invert(5)", "-6"), keep
)


def _bitwise_count(x: Any) -> Any:
    bits = lax.population_count(_operands_abs(x))
    return lax.convert_element_type(bits, np.dtype("uint8"))


def _operands_abs(x: Any) -> Any:
    return lax.abs(x) if dtypes.is_signed(typeof(x).dtype) else x


bitwise_count = unary(
    "bitwise_count", _bitwise_count, "How many bits the absolute value has set.",
    ("bitwise_count(7)", "3"), promote_numeric,
)  # fmt: skip


def _shift_right(x: Any, y: Any) -> Any:
    unsigned = dtypes.is_unsigned(typeof(x).dtype)
    return (lax.shift_right_logical if unsigned else lax.shift_right_arithmetic)(x, y)


left_shift = binary(
    "left_shift", "shift_left", "Bits moved to the left.", ("left_shift(1, 3)", "8"),
    promote_numeric, "x, y, /",
)  # fmt: skip
bitwise_left_shift = binary(
    "bitwise_left_shift", "shift_left", "Bits moved to the left.",
    ("bitwise_left_shift(1, 3)", "8"), promote_numeric, "x, y, /",
)  # fmt: skip
right_shift = binary(
    "right_shift", _shift_right, "Bits moved to the right; the sign is kept.",
    ("right_shift(-8, 1)", "-4"), promote_numeric,
)  # fmt: skip
bitwise_right_shift = binary(
    "bitwise_right_shift", _shift_right, "Bits moved to the right; the sign is kept.",
    ("bitwise_right_shift(-8, 1)", "-4"), promote_numeric,
)  # fmt: skip

# --- tests of numbers ----------------------------------------------------------------------------


def _constant(x: Any, value: bool) -> Any:
    return full_shape(np.bool_(value), x)


def _isfinite(x: Any) -> Any:
    dtype = typeof(x).dtype
    if dtypes.is_complex(dtype):
        return lax.bitwise_and(lax.is_finite(lax.real(x)), lax.is_finite(lax.imag(x)))
    return lax.is_finite(x) if dtypes.is_float(dtype) else _constant(x, True)


def _isinf(x: Any) -> Any:
    dtype = typeof(x).dtype
    if dtypes.is_complex(dtype):
        return lax.bitwise_or(_isinf(lax.real(x)), _isinf(lax.imag(x)))
    if not dtypes.is_float(dtype):
        return _constant(x, False)
    return lax.eq(lax.abs(x), scalar(np.inf, dtype))


def _isnan(x: Any) -> Any:
    return lax.ne(x, x) if dtypes.is_inexact(typeof(x).dtype) else _constant(x, False)


def _is_infinity(sign: int, name: str) -> Any:
    def compute(x: Any) -> Any:
        dtype = typeof(x).dtype
        if dtypes.is_complex(dtype):
            raise ValueError(f"{name}: complex numbers have no sign; take real or imag first.")
        return (
            lax.eq(x, scalar(sign * np.inf, dtype))
            if dtypes.is_float(dtype)
            else _constant(x, False)
        )

    return compute


isfinite = unary(
    "isfinite", _isfinite, "Whether each element is neither infinite nor NaN.",
    ("isfinite(jnp.inf)", "False"), keep,
)  # fmt: skip
isinf = unary(
    "isinf", _isinf, "Whether each element is infinite.", ("isinf(jnp.inf)", "True"), keep
)
isnan = unary("isnan", _isnan, "Whether each element is NaN.", ("isnan(jnp.nan)", "True"), keep)
_isposinf = unary("isposinf", _is_infinity(1, "isposinf"), "", ("isposinf(jnp.inf)", "True"), keep)
_isneginf = unary(
    "isneginf", _is_infinity(-1, "isneginf"), "", ("isneginf(jnp.inf)", "False"), keep
)


def isposinf(x: ArrayLike, /, out: None = None) -> Array:
    """Whether each element is positive infinity.

    >>> print(jnp.isposinf(jnp.inf))
    True
    """
    _operands.check_no_out("isposinf", out)
    return _isposinf(x)


def isneginf(x: ArrayLike, /, out: None = None) -> Array:
    """Whether each element is negative infinity.

    >>> print(jnp.isneginf(jnp.inf))
    False
    """
    _operands.check_no_out("isneginf", out)
    return _isneginf(x)


@library_function
def isreal(x: ArrayLike) -> Array:
    """Whether each element has no imaginary part.

    >>> print(jnp.isreal(jnp.array([1j, 2])))
    [False  True]
    """
    check_arraylike("isreal", x)
    if not dtypes.is_complex(typeof(x).dtype):
        return _constant(x, True)
    imaginary = lax.imag(x)
    return lax.eq(imaginary, scalar(0, typeof(imaginary).dtype))


@library_function
def iscomplex(x: ArrayLike) -> Array:
    """Whether each element has an imaginary part.

    >>> print(jnp.iscomplex(jnp.array([1j, 2])))
    [ True False]
    """
    return lax.bitwise_not(isreal(x))


# --- equality up to rounding, and of whole arrays ------------------------------------------------


@library_function(static_argnames="equal_nan")
def isclose(
    a: ArrayLike,
    b: ArrayLike,
    rtol: ArrayLike = 1e-5,
    atol: ArrayLike = 1e-8,
    equal_nan: bool = False,
) -> Array:
    """Whether ``abs(a - b) <= atol + rtol * abs(b)``, elementwise; equal infinities are close.

    >>> print(jnp.isclose(1.0, jnp.array([1.0, 1.1])))
    [ True False]
    """
    a, b = _operands.promote("isclose", a, b)
    dtype = typeof(a).dtype
    if dtypes.is_bool(dtype):
        return lax.eq(a, b)
    if not dtypes.is_inexact(dtype):
        a, b = promote_inexact("isclose", a, b)
        dtype = typeof(a).dtype
    real = dtypes.to_real_dtype(dtype)
    rtol, atol = [lax.convert_element_type(v, real) for v in (rtol, atol)]
    limit = lax.add(*_operands.broadcast("isclose", atol, *_products(rtol, lax.abs(b))))
    near = lax.le(*_operands.broadcast("isclose", lax.abs(lax.sub(a, b)), limit))
    finite = lax.bitwise_and(_isfinite(a), _isfinite(b))
    near = lax.bitwise_and(*_operands.broadcast("isclose", near, finite))
    close = lax.bitwise_or(*_operands.broadcast("isclose", near, lax.eq(a, b)))
    if equal_nan:
        both = lax.bitwise_and(_isnan(a), _isnan(b))
        close = lax.bitwise_or(*_operands.broadcast("isclose", close, both))
    return close


def _products(x: Any, y: Any) -> list[Any]:
    return [lax.mul(*_operands.broadcast("isclose", x, y))]


@library_function(static_argnames="equal_nan")
def allclose(
    a: ArrayLike,
    b: ArrayLike,
    rtol: ArrayLike = 1e-5,
    atol: ArrayLike = 1e-8,
    equal_nan: bool = False,
) -> Array:
    """Whether all elements are close. See `isclose`.

    >>> print(jnp.allclose(jnp.array([1.0, 2.0]), jnp.array([1.0, 2.0 + 1e-6])))
    True
    """
    return _all(isclose(a, b, rtol, atol, equal_nan=equal_nan))


def _all(x: Any) -> Any:
    return lax.reduce_and(x, tuple(range(typeof(x).ndim)))


def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: bool = False) -> Array:
    """Whether two arrays have one shape and equal elements; ``equal_nan``: NaN equals NaN.

    >>> print(jnp.array_equal(jnp.arange(3), jnp.array([0, 1, 2])))
    True
    """
    from covector.numpy._creation import asarray

    a1, a2 = asarray(a1), asarray(a2)
    if typeof(a1).shape != typeof(a2).shape:
        return asarray(False)
    return _array_equal(a1, a2, equal_nan=equal_nan)


def array_equiv(a1: ArrayLike, a2: ArrayLike) -> Array:
    """Whether two arrays broadcast to one shape, and are equal then.

    >>> print(jnp.array_equiv(jnp.ones(3), 1))
    True
    """
    from covector.numpy._creation import asarray

    a1, a2 = asarray(a1), asarray(a2)
    try:
        np.broadcast_shapes(typeof(a1).shape, typeof(a2).shape)
    except ValueError:
        return asarray(False)
    return _array_equal(a1, a2, equal_nan=False)


@library_function(static_argnames="equal_nan")
def _array_equal(a1: Any, a2: Any, *, equal_nan: bool) -> Any:
    same = equal(a1, a2)
    if equal_nan:
        both = lax.bitwise_and(*_operands.broadcast("array_equal", _isnan(a1), _isnan(a2)))
        same = lax.bitwise_or(same, both)
    return _all(same)

"""Polynomials as vectors of coefficients, highest powers first."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np
from covector import lax
from covector._api.jit import library_function
from covector._ir import dtypes
from covector._trace.trace import typeof
from covector.errors import ShapeError
from covector.numpy._correlation import convolve
from covector.numpy._creation import asarray, ones
from covector.numpy._joining import concatenate
from covector.numpy._manipulation import atleast_1d
from covector.numpy._matrices import eye, vander
from covector.numpy._operands import (
    Array,
    ArrayLike,
    broadcast_to_shape,
    check_arraylike,
    common_shape,
    concrete,
    promote_dtypes,
    promote_dtypes_inexact,
)


@library_function(operands=("p", "x"))
def polyval(p: ArrayLike, x: ArrayLike, *, unroll: int | None = None) -> Array:
    """The value of a polynomial, by Horner's rule.

    ``unroll`` is there for the API's sake: the steps are unrolled.

    >>> print(jnp.polyval(jnp.array([1, 0, 2]), 3))
    11
    """
    check_arraylike("polyval", p, x)
    p, x = promote_dtypes(p, x)
    trailing = typeof(p).shape[1:]
    shape = common_shape("polyval", trailing, typeof(x).shape)
    x = broadcast_to_shape(x, shape)
    result = lax.full(shape, 0, typeof(x).dtype)
    if typeof(p).shape[0] > 64:
        step = lambda y, c: (lax.add(lax.mul(y, x), broadcast_to_shape(c, shape)), None)
        return lax.scan(step, result, p)[0]
    for c in lax.unstack(p):
        result = lax.add(lax.mul(result, x), broadcast_to_shape(c, shape))
    return result


@library_function(operands=("a1", "a2"))
def polyadd(a1: ArrayLike, a2: ArrayLike) -> Array:
    """The sum of two polynomials.

    >>> print(jnp.polyadd(jnp.array([1, 2]), jnp.array([1, 0, 0])))
    [1 1 2]
    """
    a1, a2 = _same_length("polyadd", a1, a2)
    return lax.add(a1, a2)


@library_function(operands=("a1", "a2"))
def polysub(a1: ArrayLike, a2: ArrayLike) -> Array:
    """The difference of two polynomials.

    >>> print(jnp.polysub(jnp.array([1, 2]), jnp.array([1, 0, 0])))
    [-1  1  2]
    """
    a1, a2 = _same_length("polysub", a1, a2)
    return lax.sub(a1, a2)


def _same_length(name: str, a1: Any, a2: Any) -> list[Any]:
    check_arraylike(name, a1, a2)
    vectors = promote_dtypes(asarray(a1), asarray(a2))
    longest = max(typeof(v).shape[0] for v in vectors)
    return [
        lax.pad(v, typeof(v).dtype.type(0), [(longest - typeof(v).shape[0], 0, 0)]) for v in vectors
    ]


def polymul(a1: ArrayLike, a2: ArrayLike, *, trim_leading_zeros: bool = False) -> Array:
    """The product of two polynomials.

    >>> print(jnp.polymul(jnp.array([1.0, 2.0]), jnp.array([1.0, -2.0])))
    [ 1.  0. -4.]
    """
    check_arraylike("polymul", a1, a2)
    factors = [asarray(a1), asarray(a2)]
    if trim_leading_zeros and any(len(v) > 1 for v in factors):
        from covector.numpy._editing import trim_zeros

        factors = [trim_zeros(v, trim="f") for v in factors]
    left, right = [v if typeof(v).size else asarray([0.0]) for v in factors]
    return convolve(left, right, mode="full")


@library_function(operands=("p",))
def polyder(p: ArrayLike, m: int = 1) -> Array:
    """The m-th derivative of a polynomial.

    >>> print(jnp.polyder(jnp.array([1.0, 2.0, 3.0])))
    [2. 2.]
    """
    check_arraylike("polyder", p)
    m = index(m)
    if m < 0:
        raise ValueError("Order of derivative must be positive")
    (result,) = promote_dtypes_inexact(_vector("polyder", p))
    for _ in range(m):
        n, dtype = typeof(result).shape[0], typeof(result).dtype
        result = result[:-1] * np.arange(n - 1, 0, -1).astype(dtype)
    return result


@library_function(operands=("p", "k"))
def polyint(p: ArrayLike, m: int = 1, k: Any = None) -> Array:
    """The m-th integral of a polynomial, with the constants ``k``.

    >>> print(jnp.polyint(jnp.array([2.0, 2.0]), k=3))
    [1. 2. 3.]
    """
    m = index(m)
    check_arraylike("polyint", p, *([] if k is None else [k]))
    constants = asarray(0.0 if k is None else k)
    result, constants = promote_dtypes_inexact(_vector("polyint", p), constants)
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    constants = atleast_1d(constants)
    if typeof(constants).shape == (1,):
        constants = broadcast_to_shape(constants, (m,))
    if typeof(constants).shape != (m,):
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or m.")
    for i in range(m):
        n, dtype = typeof(result).shape[0], typeof(result).dtype
        result = concatenate([result / np.arange(n, 0, -1).astype(dtype), constants[i : i + 1]])
    return result


def _vector(name: str, p: Any) -> Any:
    """The coefficients as an array; a number alone is refused."""
    p = asarray(p)
    if typeof(p).ndim == 0:
        raise ShapeError(f"{name}: the coefficients must be a vector, got a scalar.")
    return p


@library_function(operands=("seq_of_zeros",))
def poly(seq_of_zeros: ArrayLike) -> Array:
    """The polynomial with given zeros and the leading coefficient one.

    Of a square matrix, the characteristic polynomial: its zeros are the eigenvalues.

    Raises:
      ValueError: the operand is neither a vector nor a square matrix.

    >>> print(jnp.poly(jnp.array([1.0, 2.0])))
    [ 1. -3.  2.]
    """
    check_arraylike("poly", seq_of_zeros)
    (zeros,) = promote_dtypes_inexact(atleast_1d(asarray(seq_of_zeros)))
    shape = typeof(zeros).shape
    if shape == (0,):
        return ones((), dtype=typeof(zeros).dtype)
    if len(shape) == 2 and shape[0] == shape[1] > 0:
        from covector.numpy import linalg

        zeros = linalg.eigvals(zeros)
    elif len(shape) != 1:
        raise ValueError(f"poly: the operand must be a vector or a square matrix, got {shape}.")
    result = ones((1,), dtype=typeof(zeros).dtype)
    for zero in lax.unstack(zeros) if typeof(zeros).size else ():
        result = convolve(result, concatenate([ones(1, typeof(zeros).dtype), -zero[None]]))
    return result


def polydiv(u: ArrayLike, v: ArrayLike, *, trim_leading_zeros: bool = False) -> tuple[Array, Array]:
    """Quotient and remainder of two polynomials.

    Args:
      trim_leading_zeros: drop the leading zeros of the remainder, which needs its values.

    >>> print(*jnp.polydiv(jnp.array([1.0, -3.0, 2.0]), jnp.array([1.0, -1.0])))
    [ 1. -2.] [0. 0. 0.]
    """
    check_arraylike("polydiv", u, v)
    quotient, rest = _polydiv(_vector("polydiv", u), _vector("polydiv", v))
    if trim_leading_zeros:
        from covector.numpy._editing import trim_zeros

        rest = trim_zeros(rest, trim="f")
        rest = rest if typeof(rest).size else asarray([0.0], typeof(rest).dtype)
    return quotient, rest


@library_function
def _polydiv(u: Any, v: Any) -> tuple[Any, Any]:
    """Long division: each step takes off the leading power that is left."""
    u, v = promote_dtypes_inexact(u, v)
    m, n = typeof(u).shape[0], typeof(v).shape[0]
    terms = []
    for k in range(max(m - n + 1, 0)):
        factor = u[k] / v[0]
        terms.append(factor)
        u = u.at[k : k + n].add(-factor * v)
    quotient = lax.stack(terms) if terms else lax.full((1,), 0, typeof(u).dtype)
    return quotient, u


def roots(p: ArrayLike, *, strip_zeros: bool = True) -> Array:
    """The complex roots of a polynomial: the eigenvalues of its companion matrix.

    Args:
      strip_zeros: drop zeros at both ends first, which needs the values; without it, a leading zero
        gives NaN.

    >>> print(jnp.roots(jnp.array([1.0, -3.0, 2.0])))
    [2.+0.j 1.+0.j]
    """
    check_arraylike("roots", p)
    (c,) = promote_dtypes_inexact(atleast_1d(asarray(p)))
    if typeof(c).ndim != 1:
        raise ValueError(f"roots: p must be a vector, got shape {typeof(c).shape}.")
    zeros_at_zero = 0
    if strip_zeros and typeof(c).size > 1:
        found = np.nonzero(concrete("roots (unless strip_zeros is False)", "p", c))[0].tolist()
        first, last = (found[0], found[-1]) if found else (0, 0)
        zeros_at_zero = typeof(c).shape[0] - 1 - last if found else 0
        c = c[first : last + 1]
    return _roots(c, zeros_at_zero=zeros_at_zero)


@library_function(static_argnames="zeros_at_zero")
def _roots(p: Any, *, zeros_at_zero: int) -> Any:
    from covector.numpy import linalg

    n = typeof(p).shape[0] - 1
    dtype = dtypes.to_complex_dtype(typeof(p).dtype)
    zeros = lax.full((zeros_at_zero,), 0, dtype)
    if n < 1:
        return zeros
    companion = lax.concatenate([(-p[1:] / p[0])[None], eye(n - 1, n, dtype=typeof(p).dtype)], 0)
    return lax.concatenate([linalg.eigvals(companion), zeros], 0)


@library_function(operands=("x", "y", "w"))
def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: ArrayLike | None = None,
    cov: Any = False,
) -> Any:
    """The polynomial of a degree for which the sum of squared errors at points is smallest.

    Args:
      rcond: see `linalg.lstsq`; by default len(x) * eps.
      full: give also residuals, rank, singular values and rcond.
      w: weights of the errors.
      cov: give also the covariance of the coefficients; "unscaled" for known weights.

    >>> print(jnp.abs(jnp.round(jnp.polyfit(jnp.arange(4.0), jnp.arange(4.0) ** 2, 2), 3)))
    [1. 0. 0.]
    """
    from covector.numpy import linalg

    check_arraylike("polyfit", x, y, *([] if w is None else [w]))
    deg = index(deg)
    x, y = promote_dtypes_inexact(asarray(x), asarray(y))
    if deg < 0:
        raise ValueError("expected deg >= 0")
    if typeof(x).ndim != 1 or typeof(y).ndim not in (1, 2) or not typeof(x).size:
        raise TypeError("polyfit: x must be a vector that is not empty, y a vector or matrix.")
    if typeof(x).shape[0] != typeof(y).shape[0]:
        raise TypeError("expected x and y to have same length")
    if rcond is None:
        rcond = typeof(x).shape[0] * float(dtypes.finfo(typeof(x).dtype).eps)
    rows, targets = vander(x, deg + 1), y
    if w is not None:
        weights = asarray(w)
        if typeof(weights).shape != typeof(x).shape:
            raise TypeError("expected w and y to have the same length")
        rows = rows * weights[:, None]
        targets = targets * (weights if typeof(y).ndim == 1 else weights[:, None])
    scale = lax.sqrt((rows * rows).sum(0))
    c, residuals, rank, s = linalg.lstsq(rows / scale, targets, rcond)
    c = (c.T / scale).T
    if full:
        return c, residuals, rank, s, asarray(rcond)
    if not cov:
        return c
    base = linalg.inv((rows / scale).T @ (rows / scale)) / (scale[:, None] * scale)
    if cov == "unscaled":
        return c, base
    if typeof(x).shape[0] <= deg + 1:
        raise ValueError(
            "the number of data points must exceed order to scale the covariance matrix"
        )
    spread = residuals / (typeof(x).shape[0] - deg - 1)
    return c, base * (spread[0] if typeof(y).ndim == 1 else spread)

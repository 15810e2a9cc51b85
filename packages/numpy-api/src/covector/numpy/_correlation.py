"""Covariance, correlation and convolution."""

from __future__ import annotations

from typing import Any

from covector import lax
from covector._api.jit import library_function
from covector._ir import dtypes
from covector._trace.trace import typeof
from covector.numpy import _reductions
from covector.numpy._creation import asarray
from covector.numpy._joining import concatenate
from covector.numpy._manipulation import atleast_2d, expand_dims
from covector.numpy._operands import (
    Array,
    ArrayLike,
    DTypeLike,
    check_arraylike,
    promote_dtypes_inexact,
    requested_dtype,
)
from covector.numpy._products import dot
from covector.numpy._statistics import average


@library_function(operands=("m", "y", "fweights", "aweights"))
def cov(
    m: ArrayLike,
    y: ArrayLike | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: ArrayLike | None = None,
    aweights: ArrayLike | None = None,
    dtype: DTypeLike = None,
) -> Array:
    """The covariances of variables, the rows of ``m`` (and ``y``), or columns without ``rowvar``.

    Args:
      bias: divide by the number of observations, not by one less; ``ddof`` says what less.
      fweights: how often each observation counts, integers.
      aweights: how much each observation counts.

    >>> print(jnp.cov(jnp.array([[0.0, 2.0], [1.0, 5.0]])))
    [[2. 4.]
     [4. 8.]]
    """
    check_arraylike("cov", m, *([] if y is None else [y]))
    if ddof is None:
        ddof = 0 if bias else 1
    m, y = asarray(m), None if y is None else asarray(y)
    if typeof(m).ndim > 2 or (y is not None and typeof(y).ndim > 2):
        raise ValueError("cov: m and y must have at most 2 axes.")
    first, *rest = promote_dtypes_inexact(m, *([] if y is None else [y]))
    if dtype is not None:
        first = first.astype(requested_dtype(dtype, "cov"))
    x = atleast_2d(first)
    x = x.T if not rowvar and typeof(m).ndim > 1 else x
    if rest:
        other = atleast_2d(rest[0])
        other = other.T if not rowvar and typeof(other).shape[0] != 1 else other
        x = concatenate([x, other], 0)
    return _covariance(x, _weights(x, fweights, aweights), aweights is not None, ddof)


def _weights(x: Any, fweights: Any, aweights: Any) -> Any:
    count = typeof(x).shape[1]
    total = None
    for name, w in (("fweights", fweights), ("aweights", aweights)):
        if w is None:
            continue
        check_arraylike("cov", w)
        w = asarray(w)
        if typeof(w).shape != (count,):
            raise ValueError(f"cov: {name} must have one element for each of {count} observations.")
        if name == "fweights" and not dtypes.is_integer(typeof(w).dtype):
            raise TypeError(f"cov: fweights must be integers, got {typeof(w).dtype}.")
        w = abs(w)
        total = w if total is None else total * w
    return total


def _covariance(x: Any, weights: Any, unequal: bool, ddof: Any) -> Any:
    count = typeof(x).shape[1]
    mean, total = average(x, 1, weights, returned=True)
    total = total[0] if typeof(x).shape[0] else count
    centered = x - expand_dims(mean, 1)
    weighted = centered if weights is None else centered * weights
    if weights is None:
        divisor = count - ddof
    elif unequal and ddof:
        divisor = total - ddof * _reductions.sum(weights * weights) / total
    else:
        divisor = total - ddof
    right = centered.conj() if dtypes.is_complex(typeof(x).dtype) else centered
    product = dot(weighted, right.T)
    return (product / divisor).squeeze()


@library_function(operands=("x", "y"))
def corrcoef(
    x: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True, dtype: DTypeLike = None
) -> Array:
    """The correlation coefficients of variables. Arguments: see `cov`.

    >>> print(jnp.round(jnp.corrcoef(jnp.array([[0.0, 1.0], [0.0, -1.0]])), 3))
    [[ 1. -1.]
     [-1.  1.]]
    """
    c = cov(x, y, rowvar, dtype=dtype)
    if typeof(c).ndim == 0:
        return c / c
    deviation = lax.sqrt(c.diagonal().real)
    c = c / deviation[:, None] / deviation[None, :]
    if dtypes.is_complex(typeof(c).dtype):
        return lax.complex(c.real.clip(-1, 1), c.imag.clip(-1, 1))
    return c.clip(-1, 1)


@library_function(operands=("a", "v"))
def convolve(
    a: ArrayLike,
    v: ArrayLike,
    mode: str = "full",
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:
    """The convolution of two vectors.

    Args:
      mode: "full" (every overlap), "same" (as long as the longer one), "valid" (whole overlaps).

    >>> print(jnp.convolve(jnp.array([1.0, 2.0]), jnp.array([1.0, 1.0, 1.0])))
    [1. 3. 3. 2.]
    """
    return _sliding("convolve", a, v, mode, precision, preferred_element_type)


@library_function(operands=("a", "v"))
def correlate(
    a: ArrayLike,
    v: ArrayLike,
    mode: str = "valid",
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:
    """The sums of products of ``a`` with ``v``, conjugated, at each shift. See `convolve`.

    >>> print(jnp.correlate(jnp.array([1.0, 2.0, 3.0]), jnp.array([0.0, 1.0])))
    [2. 3.]
    """
    return _sliding("correlate", a, v, mode, precision, preferred_element_type)


def _sliding(name: str, a: Any, v: Any, mode: str, precision: Any, preferred: Any) -> Any:
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"{name}: mode must be 'full', 'same' or 'valid', got {mode!r}.")
    return _slide(
        a,
        v,
        name=name,
        mode=mode,
        precision=precision,
        preferred=requested_dtype(preferred, name),
    )


def _slide(a: Any, v: Any, *, name: str, mode: str, precision: Any, preferred: Any) -> Any:
    check_arraylike(name, a, v)
    if typeof(a).ndim != 1 or typeof(v).ndim != 1:
        raise ValueError(
            f"{name}: only vectors are supported, got {typeof(a).shape}, {typeof(v).shape}."
        )
    if 0 in (typeof(a).size, typeof(v).size):
        raise ValueError(f"{name}: the vectors must not be empty.")
    a, v = promote_dtypes_inexact(a, v)
    if name == "correlate" and dtypes.is_complex(typeof(v).dtype):
        v = lax.conj(v)
    swapped = typeof(a).shape[0] < typeof(v).shape[0]
    long, short = (v, a) if swapped else (a, v)
    kernel = short if name == "correlate" else lax.rev(short, (0,))
    n = typeof(short).shape[0]
    pads = {"valid": (0, 0), "same": (n // 2, n - n // 2 - 1), "full": (n - 1, n - 1)}[mode]
    out = lax.conv_general_dilated(
        long[None, None, :],
        kernel[None, None, :],
        (1,),
        [pads],
        precision=precision,
        preferred_element_type=preferred,
    )[0, 0]
    # Correlating the other way round gives the result backwards.
    return lax.rev(out, (0,)) if swapped and name == "correlate" else out

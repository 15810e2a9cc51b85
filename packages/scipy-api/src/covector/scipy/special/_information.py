"""Products with logarithms that are zero where a factor is, and entropies made of them."""

from __future__ import annotations

from typing import Any

import covector.numpy as jnp
from covector._api.jit import library_function
from covector.custom_derivatives import custom_jvp
from covector.lax.elementwise import scale
from covector.scipy._operands import promote_inexact, promote_real


@library_function
def xlogy(x: Any, y: Any) -> Any:
    """x * log(y), and 0 where x = 0 (unless y is NaN).

    >>> print(covector.scipy.special.xlogy(0.0, 0.0))
    0.0
    """
    x, y = promote_inexact("xlogy", x, y)
    return _xlogy(x, y)


@custom_jvp
def _xlogy(x: Any, y: Any) -> Any:
    nothing = (x == 0) & ~jnp.isnan(y)
    return jnp.where(nothing, 0, x * jnp.log(jnp.where(nothing, 1, y)))


@_xlogy.defjvp
def _xlogy_jvp(primals: Any, tangents: Any) -> Any:
    (x, y), (tx, ty) = primals, tangents
    by_y = jnp.where(x == 0, 0, x / jnp.where(x == 0, 1, y))
    return _xlogy(x, y), _total(x, y, tx, jnp.log(y), ty, by_y)


@library_function
def xlog1py(x: Any, y: Any) -> Any:
    """x * log1p(y), and 0 where x = 0 (unless y is NaN).

    >>> print(covector.scipy.special.xlog1py(0.0, -1.0))
    0.0
    """
    x, y = promote_inexact("xlog1py", x, y)
    return _xlog1py(x, y)


@custom_jvp
def _xlog1py(x: Any, y: Any) -> Any:
    nothing = (x == 0) & ~jnp.isnan(y)
    return jnp.where(nothing, 0, x * jnp.log1p(jnp.where(nothing, 0, y)))


@_xlog1py.defjvp
def _xlog1py_jvp(primals: Any, tangents: Any) -> Any:
    (x, y), (tx, ty) = primals, tangents
    by_y = jnp.where(x == 0, 0, x / jnp.where(x == 0, 1, 1 + y))
    return _xlog1py(x, y), _total(x, y, tx, jnp.log1p(y), ty, by_y)


def _total(x: Any, y: Any, tx: Any, by_x: Any, ty: Any, by_y: Any) -> Any:
    """The sum of both terms of a total derivative; a zero tangent annihilates an infinity."""
    terms = [jnp.broadcast_arrays(t, c) for t, c in ((tx, by_x), (ty, by_y))]
    return scale(*terms[0]) + scale(*terms[1])


@library_function
def entr(x: Any) -> Any:
    """-x * log(x): 0 at 0, and -inf for negative x.

    >>> print(covector.scipy.special.entr(1.0))
    -0.0
    """
    (x,) = promote_real("entr", x)
    return jnp.where(x < 0, -jnp.inf, -_xlogy(x, jnp.where(x < 0, 1, x)))


@library_function
def rel_entr(p: Any, q: Any) -> Any:
    """p * log(p / q): 0 where p = 0 and q >= 0, and inf outside of p > 0, q > 0.

    >>> print(covector.scipy.special.rel_entr(0.0, 1.0))
    0.0
    """
    p, q = promote_real("rel_entr", p, q)
    return _relative_entropy(p, q)


def _relative_entropy(p: Any, q: Any) -> Any:
    inside = (p > 0) & (q > 0)
    at_zero = (p == 0) & (q >= 0)
    safe_p, safe_q = jnp.where(inside, p, 1), jnp.where(inside, q, 1)
    value = _xlogy(safe_p, safe_p) - _xlogy(safe_p, safe_q)
    undefined = jnp.isnan(p) | jnp.isnan(q)
    outside = jnp.where(undefined, jnp.nan, jnp.where(at_zero, 0, jnp.inf))
    return jnp.where(inside, value, outside)


@library_function
def kl_div(p: Any, q: Any) -> Any:
    """p * log(p / q) - p + q, with the limits of `rel_entr`.

    >>> print(covector.scipy.special.kl_div(0.0, 1.0))
    1.0
    """
    p, q = promote_real("kl_div", p, q)
    return _relative_entropy(p, q) - p + q

"""The Box-Cox transformation: powers that pass into the logarithm."""

from __future__ import annotations

from typing import Any

import covector.numpy as jnp
from covector._api.jit import library_function
from covector.scipy._elementwise import promote_inexact


@library_function
def boxcox(x: Any, lmbda: Any) -> Any:
    """``(x**lmbda - 1) / lmbda``, elementwise, and ``log(x)`` for lmbda = 0.

    >>> print(boxcox(1.0, 2.0))
    0.0
    """
    x, power = promote_inexact("boxcox", x, lmbda)
    return _power_transform(jnp.log(x), power)


@library_function
def boxcox1p(x: Any, lmbda: Any) -> Any:
    """`boxcox` of 1 + x, exact also near zero.

    >>> print(boxcox1p(0.0, 2.0))
    0.0
    """
    x, power = promote_inexact("boxcox1p", x, lmbda)
    return _power_transform(jnp.log1p(x), power)


def _power_transform(log: Any, power: Any) -> Any:
    """(exp(power * log) - 1) / power, by expm1, so that small powers are exact."""
    safe = jnp.where(power == 0, 1, power)
    return jnp.where(power == 0, log, jnp.expm1(safe * log) / safe)

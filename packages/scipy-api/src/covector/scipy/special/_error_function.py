"""The error function, its complement, its inverse, and the complement scaled by ``exp(x**2)``."""

from __future__ import annotations

from typing import Any

import covector.numpy as jnp
from covector import lax
from covector._api.jit import library_function
from covector.scipy._elementwise import polynomial, promote_real


@library_function
def erf(x: Any) -> Any:
    """The error function, elementwise: 2 / sqrt(pi) times the integral of exp(-t**2) from 0 to x.

    Raises `TypeError` for complex numbers.

    >>> print(erf(0.5))
    0.5204999
    """
    return lax.erf(*promote_real("erf", x))


@library_function
def erfc(x: Any) -> Any:
    """``1 - erf(x)``, elementwise, accurate also where that is tiny.

    Raises `TypeError` for complex numbers.

    >>> print(erfc(2.0))
    0.004677735
    """
    return lax.erfc(*promote_real("erfc", x))


@library_function
def erfinv(x: Any) -> Any:
    """The inverse of `erf`, elementwise: infinite at -1 and 1, NaN beyond.

    Raises `TypeError` for complex numbers.

    >>> print(erfinv(0.5))
    0.47693628
    """
    return lax.erf_inv(*promote_real("erfinv", x))


# Cody's rational approximations (Math. Comp. 23, 631-637, 1969): the highest power first.
_MIDDLE_TOP = (
    2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594, 6.61191906371416295e1,
    2.98635138197400131e2, 8.81952221241769090e2, 1.71204761263407058e3, 2.05107837782607147e3,
    1.23033935479799725e3,
)  # fmt: skip
_MIDDLE_BOTTOM = (
    1.0, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2,
    1.62138957456669019e3, 3.29079923573345963e3, 4.36261909014324716e3, 3.43936767414372164e3,
    1.23033935480374942e3,
)  # fmt: skip
_FAR_TOP = (
    1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1,
    1.25781726111229246e-1, 1.60837851487422766e-2, 6.58749161529837803e-4,
)  # fmt: skip
_FAR_BOTTOM = (
    1.0, 2.56852019228982242, 1.87295284992346047, 5.27905102951428412e-1,
    6.05183413124413191e-2, 2.33520497626869185e-3,
)  # fmt: skip
_INVERSE_ROOT_PI = 5.6418958354775628695e-1


def scaled_erfc(x: Any) -> Any:
    """``exp(x**2) * erfc(x)`` for x of 0.47 or more, which neither overflows nor vanishes there.

    After W. J. Cody, "Rational Chebyshev approximations for the error function" (1969).
    """
    far = x > 4.0
    near_x, far_x = jnp.where(far, 1.0, x), jnp.where(far, x, 5.0)
    middle = polynomial(_MIDDLE_TOP, near_x) / polynomial(_MIDDLE_BOTTOM, near_x)
    power = jnp.square(1.0 / far_x)
    tail = power * polynomial(_FAR_TOP, power) / polynomial(_FAR_BOTTOM, power)
    return jnp.where(far, (_INVERSE_ROOT_PI - tail) / far_x, middle)

"""Windows of signal processing, and the Bessel function that one of them needs."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np
from covector import lax
from covector._api.jit import library_function
from covector._ir import dtypes
from covector._trace.trace import typeof
from covector.numpy._creation import asarray
from covector.numpy._operands import Array, ArrayLike, promote_inexact

_NAMES = ("bartlett", "blackman", "hamming", "hanning")


def _window(name: str, doc: str, example: str) -> Any:
    """A window made on the host: its size is static."""

    def function(M: int) -> Any:
        return asarray(getattr(np, name)(index(M)))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{doc}

    Args:
      M: the number of points.

    {">" * 3} print(jnp.round(jnp.{name}(3), 2))
    {example}
    """
    return function


bartlett = _window("bartlett", "The triangular window.", "[0. 1. 0.]")
blackman = _window("blackman", "Blackman's window, of three cosines.", "[-0.  1. -0.]")
hamming = _window("hamming", "Hamming's window, a raised cosine.", "[0.08 1.   0.08]")
hanning = _window("hanning", "Hann's window, a cosine.", "[0. 1. 0.]")


@library_function
def i0(x: ArrayLike) -> Array:
    """The modified Bessel function of the first kind and order 0.

    >>> print(jnp.i0(0.0))
    1.0
    """
    (x,) = promote_inexact("i0", x)
    if dtypes.is_complex(typeof(x).dtype):
        raise ValueError(f"i0: x must be real numbers, got dtype {typeof(x).dtype}.")
    return lax.mul(lax.exp(lax.abs(x)), lax.bessel_i0e(x))


def kaiser(M: int, beta: Any) -> Any:
    """Kaiser's window, by a Bessel function.

    Args:
      M: the number of points.
      beta: the shape, a number that is known.

    >>> print(jnp.round(jnp.kaiser(3, 2.0), 2))
    [0.44 1.   0.44]
    """
    from covector.numpy._operands import concrete

    return asarray(np.kaiser(index(M), float(concrete("kaiser", "beta", beta))))

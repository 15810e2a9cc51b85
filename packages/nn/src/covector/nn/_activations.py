"""Activation functions: rectifiers, sigmoid functions, and products with them.

All are elementwise, but `glu`. Each is computed in the dtype of its operand; an integer operand
gives integers where the formula does, else floating-point numbers.
"""

from __future__ import annotations

import math
from typing import Any

import covector.numpy as jnp
from covector import lax
from covector._api.jit import library_function
from covector._trace.trace import typeof
from covector.custom_derivatives import custom_jvp
from covector.errors import ShapeError
from covector.lax.elementwise import scale
from covector.nn._operands import check_arraylike, is_inexact, strong, to_inexact

# --- rectifiers ----------------------------------------------------------------------------------


@custom_jvp
def _relu(x: Any) -> Any:
    return jnp.maximum(x, 0)


@custom_jvp
def _relu6(x: Any) -> Any:
    return jnp.minimum(jnp.maximum(x, 0), 6.0)


# The derivative at a corner is 0, where that of `maximum` would be a half.
_relu.defjvps(lambda t, out, x: jnp.where(x > 0, t, 0))
_relu6.defjvps(lambda t, out, x: jnp.where((x > 0) & (x < 6), t, 0))


@library_function
def relu(x: Any) -> Any:
    """``max(x, 0)``, the rectified linear unit. Its derivative at 0 is 0.

    >>> print(nn.relu(jnp.array([-2.0, 0.0, 3.0])))
    [0. 0. 3.]
    """
    check_arraylike("relu", x)
    return _relu(x) if is_inexact(x) else jnp.maximum(x, 0)


@library_function
def relu6(x: Any) -> Any:
    """``min(max(x, 0), 6)``. Its derivative at 0 and at 6 is 0.

    Source: Howard et al., "MobileNets", 2017, https://arxiv.org/abs/1704.04861.

    >>> print(nn.relu6(jnp.array([-2.0, 3.0, 8.0])))
    [0. 3. 6.]
    """
    check_arraylike("relu6", x)
    return _relu6(x) if is_inexact(x) else jnp.minimum(jnp.maximum(x, 0), 6.0)


@library_function
def leaky_relu(x: Any, negative_slope: Any = 1e-2) -> Any:
    """``x`` where it is not negative, else ``negative_slope * x``.

    >>> print(nn.leaky_relu(jnp.array([-2.0, 3.0])))
    [-0.02  3.  ]
    """
    check_arraylike("leaky_relu", x)
    return jnp.where(x >= 0, x, negative_slope * x)


@library_function
def elu(x: Any, alpha: Any = 1.0) -> Any:
    """``x`` where it is positive, else ``alpha * (exp(x) - 1)``.

    Source: Clevert et al., "Exponential linear units", 2015, https://arxiv.org/abs/1511.07289.

    >>> print(nn.elu(jnp.array([-1.0, 3.0])))
    [-0.63212055  3.        ]
    """
    check_arraylike("elu", x)
    return jnp.where(x > 0, x, alpha * jnp.expm1(_not_positive(x)))


@library_function
def celu(x: Any, alpha: Any = 1.0) -> Any:
    """``x`` where it is positive, else ``alpha * (exp(x / alpha) - 1)``.

    Source: Barron, "Continuously differentiable exponential linear units", 2017,
    https://arxiv.org/abs/1704.07483.

    >>> print(nn.celu(jnp.array([-1.0, 3.0]), alpha=2.0))
    [-0.78693867  3.        ]
    """
    check_arraylike("celu", x)
    return jnp.where(x > 0, x, alpha * jnp.expm1(_not_positive(x) / alpha))


def _not_positive(x: Any) -> Any:
    """``x``, or 0 where the branch that is not taken would overflow."""
    return jnp.where(x > 0, 0.0, x)


@library_function
def selu(x: Any) -> Any:
    """``1.0507 * elu(x, 1.6733)``, which keeps mean 0 and variance 1 of what passes through.

    Source: Klambauer et al., "Self-normalizing neural networks", 2017,
    https://arxiv.org/abs/1706.02515.

    >>> print(nn.selu(jnp.array([-1.0, 3.0])))
    [-1.1113307  3.152103 ]
    """
    check_arraylike("selu", x)
    return 1.0507009873554804934193349852946 * elu(x, 1.6732632423543772848170429916717)


@library_function
def squareplus(x: Any, b: Any = 4) -> Any:
    """``(x + sqrt(x**2 + b)) / 2``, a smooth `relu` without exponentials.

    Source: Barron, "Squareplus", 2021, https://arxiv.org/abs/2112.11687.

    >>> print(nn.squareplus(jnp.array([-1.0, 0.0, 3.0])))
    [0.618034  1.        3.3027756]
    """
    check_arraylike("squareplus", x, b)
    return (x + jnp.sqrt(jnp.square(x) + b)) / 2


@library_function
def softplus(x: Any) -> Any:
    """``log(1 + exp(x))``, a smooth `relu`, without overflow.

    >>> print(nn.softplus(jnp.array([-500.0, 0.0, 500.0])))
    [  0.          0.6931472 500.       ]
    """
    check_arraylike("softplus", x)
    return jnp.logaddexp(x, 0)


@library_function
def sparse_plus(x: Any) -> Any:
    """0 up to -1, ``x`` from 1 on, and ``(x + 1)**2 / 4`` between: `softplus` that reaches 0.

    >>> print(nn.sparse_plus(jnp.array([-2.0, 0.0, 3.0])))
    [0.   0.25 3.  ]
    """
    check_arraylike("sparse_plus", x)
    between = jnp.square(x + 1.0) / 4
    return jnp.where(x <= -1.0, 0.0, jnp.where(x >= 1.0, x, between))


# --- sigmoid functions ---------------------------------------------------------------------------


@library_function
def sigmoid(x: Any) -> Any:
    """``1 / (1 + exp(-x))`` of floating-point or complex numbers.

    >>> print(nn.sigmoid(jnp.array([0.0, 100.0])))
    [0.5 1. ]
    """
    check_arraylike("sigmoid", x)
    return lax.logistic(x)


@library_function
def log_sigmoid(x: Any) -> Any:
    """``log(sigmoid(x))``, accurate also where `sigmoid` is tiny.

    >>> print(nn.log_sigmoid(jnp.array([-50.0, 0.0])))
    [-50.         -0.6931472]
    """
    check_arraylike("log_sigmoid", x)
    return -softplus(-x)


@library_function
def hard_sigmoid(x: Any) -> Any:
    """``relu6(x + 3) / 6``, a `sigmoid` of straight pieces.

    >>> print(nn.hard_sigmoid(jnp.array([-4.0, 0.0, 1.5])))
    [0.   0.5  0.75]
    """
    check_arraylike("hard_sigmoid", x)
    return relu6(x + 3.0) / 6.0


@library_function
def sparse_sigmoid(x: Any) -> Any:
    """``(x + 1) / 2`` between 0 and 1, the derivative of `sparse_plus`.

    >>> print(nn.sparse_sigmoid(jnp.array([-4.0, 0.5, 1.5])))
    [0.   0.75 1.  ]
    """
    check_arraylike("sparse_sigmoid", x)
    return 0.5 * jnp.clip(x + 1.0, 0.0, 2.0)


@library_function
def tanh(x: Any, /) -> Any:
    """The hyperbolic tangent.

    >>> print(nn.tanh(jnp.array([-1.0, 0.0])))
    [-0.7615942  0.       ]
    """
    check_arraylike("tanh", x)
    return jnp.tanh(x)


@library_function
def hard_tanh(x: Any) -> Any:
    """``x`` between -1 and 1, a `tanh` of straight pieces. Its derivative at -1 and 1 is 1.

    >>> print(nn.hard_tanh(jnp.array([-4.0, 0.5, 1.5])))
    [-1.   0.5  1. ]
    """
    check_arraylike("hard_tanh", x)
    return jnp.where(x > 1, 1, jnp.where(x < -1, -1, x))


@library_function
def soft_sign(x: Any) -> Any:
    """``x / (abs(x) + 1)``.

    >>> print(nn.soft_sign(jnp.array([-1.0, 3.0])))
    [-0.5   0.75]
    """
    check_arraylike("soft_sign", x)
    return x / (jnp.abs(x) + 1)


# --- products with sigmoid functions -------------------------------------------------------------


@library_function
def silu(x: Any) -> Any:
    """``x * sigmoid(x)``, of floating-point or complex numbers; also named `swish`.

    >>> print(nn.silu(jnp.array([-1.0, 0.0, 3.0])))
    [-0.26894143  0.          2.8577223 ]
    """
    check_arraylike("silu", x)
    return x * lax.logistic(x)


swish = silu


@library_function
def hard_silu(x: Any) -> Any:
    """``x * hard_sigmoid(x)``; also named `hard_swish`.

    Source: Howard et al., "Searching for MobileNetV3", 2019, https://arxiv.org/abs/1905.02244.

    >>> print(nn.hard_silu(jnp.array([-4.0, 1.0, 4.0])))
    [-0.         0.6666667  4.       ]
    """
    check_arraylike("hard_silu", x)
    return x * hard_sigmoid(x)


hard_swish = hard_silu


@library_function
def mish(x: Any) -> Any:
    """``x * tanh(softplus(x))``.

    Source: Misra, "Mish", 2019, https://arxiv.org/abs/1908.08681.

    >>> print(nn.mish(jnp.array([-1.0, 0.0, 3.0])))
    [-0.30340144  0.          2.9865355 ]
    """
    check_arraylike("mish", x)
    return x * jnp.tanh(softplus(x))


def gelu(x: Any, approximate: bool = True) -> Any:
    """``x`` times the probability that a normal number is below ``x``.

    With ``approximate``, which is the default, that is taken as
    ``(1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))) / 2``.

    Source: Hendrycks and Gimpel, "Gaussian error linear units", 2016,
    https://arxiv.org/abs/1606.08415.

    >>> print(nn.gelu(jnp.array([-1.0, 0.0, 3.0])))
    [-0.15880796  0.          2.9963627 ]
    """
    check_arraylike("gelu", x)
    return _gelu(x, approximate=bool(approximate))


@library_function(static_argnames="approximate")
def _gelu(x: Any, *, approximate: bool) -> Any:
    return (_gelu_by_tanh if approximate else _gelu_by_erfc)(strong(to_inexact(x)))


_ROOT = math.sqrt(2 / math.pi)
_CUBE = 0.044715


@custom_jvp
def _gelu_by_tanh(x: Any) -> Any:
    return x * (0.5 * (1.0 + jnp.tanh(_ROOT * (x + _CUBE * (x * x * x)))))


@custom_jvp
def _gelu_by_erfc(x: Any) -> Any:
    return 0.5 * x * lax.erfc(-x * math.sqrt(0.5))


def _slope_by_tanh(x: Any) -> Any:
    t = jnp.tanh(_ROOT * (x + _CUBE * (x * x * x)))
    rise = (1.0 - t * t) * (_ROOT * x * (1.0 + (3 * _CUBE) * (x * x)))
    return 0.5 * (1.0 + t + jnp.where(abs(t) == 1.0, 0.0, rise))


def _slope_by_erfc(x: Any) -> Any:
    density = jnp.exp(-0.5 * (x * x)) * (0.5 * _ROOT)
    return 0.5 * lax.erfc(-x * math.sqrt(0.5)) + jnp.where(density == 0.0, 0.0, x * density)


# A slope is one factor of the tangent, and no term of it spoils it where the curve is straight.
_gelu_by_tanh.defjvps(lambda t, out, x: scale(t, _slope_by_tanh(x)))
_gelu_by_erfc.defjvps(lambda t, out, x: scale(t, _slope_by_erfc(x)))


def glu(x: Any, axis: int = -1) -> Any:
    """The first half of ``x`` along ``axis``, times the `sigmoid` of the second.

    Source: Dauphin et al., "Gated convolutional networks", 2016, https://arxiv.org/abs/1612.08083.

    Raises:
      IndexError: there is no such axis.
      ShapeError: its size is odd.

    >>> print(nn.glu(jnp.array([1.0, 2.0, 0.0, 100.0])))
    [0.5 2. ]
    """
    check_arraylike("glu", x)
    return _glu(x, axis=axis)


@library_function(static_argnames="axis")
def _glu(x: Any, *, axis: int) -> Any:
    ndim = typeof(x).ndim
    if not -ndim <= axis < ndim:
        raise IndexError(f"glu: axis {axis} is out of range for {ndim} axes.")
    if typeof(x).shape[axis] % 2:
        raise ShapeError(f"glu halves axis {axis}, but its size is odd: x has {typeof(x).shape}.")
    values, gates = jnp.split(x, 2, axis)
    return values * sigmoid(gates)


# --- others --------------------------------------------------------------------------------------


@library_function
def identity(x: Any) -> Any:
    """``x`` itself, as an array.

    >>> print(nn.identity(jnp.array([-1.0, 3.0])))
    [-1.  3.]
    """
    check_arraylike("identity", x)
    return x


@custom_jvp
def _log1mexp(x: Any) -> Any:
    # Each logarithm where its argument is exact.
    return jnp.where(x < math.log(2), jnp.log(-jnp.expm1(-x)), jnp.log1p(-jnp.exp(-x)))


_log1mexp.defjvps(lambda t, out, x: scale(t, 1.0 / jnp.expm1(x)))


@library_function
def log1mexp(x: Any) -> Any:
    """``log(1 - exp(-x))`` of positive numbers, accurate near 0 and far from it.

    Source: Mächler, "Accurately computing log(1 - exp(-|a|))", 2012,
    https://cran.r-project.org/web/packages/Rmpfr/vignettes/log1mexp-note.pdf.

    >>> print(nn.log1mexp(jnp.array([0.0, 1e-20, 1.0])))
    [        -inf -46.0517      -0.45867515]
    """
    check_arraylike("log1mexp", x)
    return _log1mexp(x) if is_inexact(x) else _log1mexp.fun(x)

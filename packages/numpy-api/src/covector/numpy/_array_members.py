"""NumPy's operators and methods, attached to arrays and tracers; core imports this module.

On an array, an operator is one test of the other operand's type and a call into C++. On a tracer,
it goes to the function's program by a shorter way (`_Jit.traced`). An operand of an unknown type
gives `NotImplemented`, so that its own operator is asked.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import jaxlib._jax as _jaxlib
import numpy as np
from covector._trace.trace import Tracer
from covector.numpy import _arithmetic, _comparison, _number_parts, _rounding
from covector.numpy._indexing import index_array
from covector.numpy._products import matmul

ArrayImpl = _jaxlib.ArrayImpl

_CONCRETE = (ArrayImpl, int, float, complex, np.ndarray, np.generic)

# --- operators -----------------------------------------------------------------------------------


def _binary(
    function: Any, reflected: bool = False
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """An operator's methods, for arrays and for tracers. Hot: 0.2 us above the function's call."""
    traced = function._jit.traced if hasattr(function, "_jit") else function

    def on_array(self: Any, other: Any) -> Any:
        if isinstance(other, _CONCRETE):
            return function(other, self) if reflected else function(self, other)
        return on_tracer(self, other)

    def on_tracer(self: Any, other: Any) -> Any:
        if not isinstance(other, Tracer) and not isinstance(other, _CONCRETE):
            if not hasattr(other, "__jax_array__"):
                return NotImplemented
            other = other.__jax_array__()
        return traced(other, self) if reflected else traced(self, other)

    return on_array, on_tracer


def _equality(function: Any, symbol: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Like `_binary`, but a sequence is an error: ``x == [1, 2]`` would be False in silence."""

    def checked(compare: Callable[..., Any]) -> Callable[..., Any]:
        def method(self: Any, other: Any) -> Any:
            if isinstance(other, (list, tuple)):
                raise TypeError(
                    f"unsupported operand type(s) for {symbol}: 'Array' and "
                    f"'{type(other).__name__}'. Convert the sequence with covector.numpy.array."
                )
            return compare(self, other)

        return method

    on_array, on_tracer = _binary(function)
    return checked(on_array), checked(on_tracer)


def _unary(function: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    traced = function._jit.traced
    return (lambda self: function(self)), (lambda self: traced(self))


_BINARY_OPERATORS = {
    "add": _arithmetic.add,
    "sub": _arithmetic.subtract,
    "mul": _arithmetic.multiply,
    "truediv": _arithmetic.true_divide,
    "floordiv": _arithmetic.floor_divide,
    "mod": _arithmetic.remainder,
    "divmod": _arithmetic.divmod,
    "pow": _arithmetic.power,
    "matmul": matmul,
    "and": _comparison.bitwise_and,
    "or": _comparison.bitwise_or,
    "xor": _comparison.bitwise_xor,
    "lshift": _comparison.left_shift,
    "rshift": _comparison.right_shift,
}
_COMPARISONS = {
    "lt": _comparison.less,
    "le": _comparison.less_equal,
    "gt": _comparison.greater,
    "ge": _comparison.greater_equal,
}
_UNARY_OPERATORS = {
    "neg": _arithmetic.negative,
    "pos": _arithmetic.positive,
    "abs": _rounding.abs,
    "invert": _comparison.invert,
}


def _operators() -> dict[str, tuple[Callable[..., Any], Callable[..., Any]]]:
    operators: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
        "__getitem__": (index_array, index_array)
    }
    for name, function in _BINARY_OPERATORS.items():
        operators[f"__{name}__"] = _binary(function)
        operators[f"__r{name}__"] = _binary(function, reflected=True)
    for name, function in _COMPARISONS.items():
        operators[f"__{name}__"] = _binary(function)
    for name, function in _UNARY_OPERATORS.items():
        operators[f"__{name}__"] = _unary(function)
    operators["__eq__"] = _equality(_comparison.equal, "==")
    operators["__ne__"] = _equality(_comparison.not_equal, "!=")
    operators["__round__"] = (_round, _round)
    return operators


def _round(self: Any, ndigits: int | None = None) -> Any:
    """``round(x)`` gives integers, as of Python's floats; ``round(x, n)`` keeps the dtype."""
    if ndigits is None:
        return _astype(_rounding.round(self), int)
    return _rounding.round(self, ndigits)


# --- methods -------------------------------------------------------------------------------------


def _function(module: str, name: str) -> Callable[..., Any]:
    """A method that is a function of this package, which is imported at the first call."""
    found: Any = None

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal found
        if found is None:
            found = getattr(importlib.import_module(f"covector.numpy.{module}"), name)
        return found(self, *args, **kwargs)

    method.__name__ = name
    method.__doc__ = f"See `covector.numpy.{name}`."
    return method


# module: its functions that are methods too, with the array as first argument
_FUNCTIONS = {
    "_rounding": "clip round",
    "_number_parts": "conj conjugate",
    "_joining": "repeat",
    "_manipulation": "ravel squeeze swapaxes view",
    "_matrices": "diagonal trace",
    "_products": "dot",
    "_reductions": "all any argmax argmin cumprod cumsum max min prod ptp sum",
    "_searching": "nonzero searchsorted",
    "_sorting": "argpartition argsort sort",
    "_statistics": "mean std var",
    "_taking": "choose take",
}


def _reshape(self: Any, *args: Any, order: str = "C", out_sharding: Any = None) -> Any:
    """The elements in another shape: ``x.reshape(2, -1)`` or ``x.reshape((2, -1))``."""
    from covector.numpy._manipulation import reshape

    return reshape(self, args[0] if len(args) == 1 else args, order)


def _transpose(self: Any, *args: Any) -> Any:
    """The axes in another order: ``x.transpose(1, 0)``, or reversed."""
    from covector.numpy._manipulation import transpose

    axes = args[0] if len(args) == 1 and not hasattr(args[0], "__index__") else args
    return transpose(self, axes or None)


def _flatten(self: Any, order: str = "C", *, out_sharding: Any = None) -> Any:
    """The elements along one axis. See `covector.numpy.ravel`."""
    from covector.numpy._manipulation import ravel

    return ravel(self, order)


def _astype(self: Any, dtype: Any, copy: bool = False, device: Any = None) -> Any:
    """The elements converted. See `covector.numpy.astype`."""
    from covector.numpy._creation import astype

    return astype(self, dtype, copy=copy, device=device)


def _copy(self: Any) -> Any:
    """A copy. See `covector.numpy.copy`."""
    from covector.numpy._creation import copy

    return copy(self)


def _compress(
    self: Any,
    condition: Any,
    axis: int | None = None,
    *,
    out: None = None,
    size: int | None = None,
    fill_value: Any = 0,
) -> Any:
    """The parts along an axis where a condition holds. See `covector.numpy.compress`."""
    from covector.numpy._searching import compress

    return compress(condition, self, axis, size=size, fill_value=fill_value, out=out)


def _array_namespace(self: Any, *, api_version: str | None = None) -> Any:
    """The module of functions for arrays, for code that follows the array API standard."""
    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12", "2025.12"):
        raise ValueError(f"The version {api_version!r} of the array API standard is not offered.")
    return importlib.import_module("covector.numpy")


def _byteswap(self: Any) -> Any:
    """The elements with their bytes in reverse order."""
    from covector.numpy._creation import asarray

    swapped = np.asarray(self).byteswap()
    return asarray(swapped, dtype=self.dtype)


def _to_device(self: Any, device: Any, *, stream: Any = None) -> Any:
    """The array on a device or sharding, for code that follows the array API standard."""
    if stream is not None:
        raise NotImplementedError("to_device: stream is not supported.")
    from covector._api.device import device_put

    return device_put(self, device)


def _tobytes(self: Any, order: str = "C") -> bytes:
    """The elements' bytes."""
    return np.asarray(self).tobytes(order)  # type: ignore[arg-type]


def _flat(self: Any) -> Any:
    raise NotImplementedError(
        "x.flat is not offered: arrays are immutable. Use x.ravel(), or iterate over it."
    )


def _index_update(self: Any) -> Any:
    from covector.numpy._index_update import IndexUpdate

    return IndexUpdate(self)


def _real(self: Any) -> Any:
    return _number_parts.real(self)


def _imag(self: Any) -> Any:
    return _number_parts.imag(self)


def _matrix_transpose(self: Any) -> Any:
    from covector.numpy._manipulation import matrix_transpose

    return matrix_transpose(self)


_METHODS = {
    "reshape": _reshape,
    "transpose": _transpose,
    "flatten": _flatten,
    "astype": _astype,
    "copy": _copy,
    "compress": _compress,
    "byteswap": _byteswap,
    "to_device": _to_device,
    "tobytes": _tobytes,
    "__array_namespace__": _array_namespace,
}
_PROPERTIES = {
    "T": lambda self: self if self.ndim < 2 else _transpose(self),
    "mT": _matrix_transpose,
    "at": _index_update,
    "real": _real,
    "imag": _imag,
    "flat": _flat,
}


def _attach() -> None:
    for name, (on_array, on_tracer) in _operators().items():
        setattr(ArrayImpl, name, on_array)
        setattr(Tracer, name, on_tracer)
    methods = dict(_METHODS)
    for module, names in _FUNCTIONS.items():
        methods |= {name: _function(module, name) for name in names.split()}
    for cls in (ArrayImpl, Tracer):
        for name, method in methods.items():
            setattr(cls, name, method)
        for name, getter in _PROPERTIES.items():
            setattr(cls, name, property(getter))


_attach()

"""The methods of functions with the interface of `numpy.ufunc`: ``jnp.add.reduce`` and its kin.

`add`, `multiply`, ... have a reduction of their own; any other function is folded in order.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from covector import lax
from covector._trace.trace import typeof
from covector.numpy import _reductions
from covector.numpy._creation import asarray, full
from covector.numpy._manipulation import moveaxis, ravel, reshape
from covector.numpy._operands import (
    canonical_axes,
    canonical_axis,
    check_arraylike,
    check_no_out,
)

# function: its reduction, and its running form
_REDUCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any] | None]] = {
    "add": (_reductions.sum, _reductions.cumsum),
    "multiply": (_reductions.prod, _reductions.cumprod),
    "maximum": (_reductions.max, partial(_reductions.running_extremum, "cummax")),
    "minimum": (_reductions.min, partial(_reductions.running_extremum, "cummin")),
    "logical_and": (_reductions.all, None),
    "logical_or": (_reductions.any, None),
}


class UFuncType(type):
    """The class of `ufunc`: functions with the interface of `numpy.ufunc` are its instances."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return hasattr(instance, "nin") and hasattr(instance, "_jit")


class ufunc(metaclass=UFuncType):
    """What functions like `covector.numpy.add` are instances of.

    >>> isinstance(jnp.add, jnp.ufunc), jnp.add.identity
    (True, 0)
    >>> print(jnp.maximum.reduce(jnp.array([3, 7, 5])), jnp.add.outer(jnp.arange(2), jnp.arange(2)))
    7 [[0 1]
     [1 2]]
    """


def _check_binary(function: Any, method: str) -> None:
    if function.nin != 2:
        raise ValueError(
            f"{function.__name__}.{method}: only functions of two arguments have this method."
        )


def reduce(
    function: Any,
    a: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """All elements along axes combined by the function, from first to last."""
    name = function.__name__
    _check_binary(function, "reduce")
    check_no_out(f"{name}.reduce", out)
    if name in _REDUCTIONS:
        if dtype is not None and name in ("add", "multiply"):
            return _REDUCTIONS[name][0](
                a, axis, dtype, keepdims=keepdims, initial=initial, where=where
            )
        a = a if dtype is None else asarray(a, dtype)
        options = {"keepdims": keepdims, "where": where}
        if name not in ("logical_and", "logical_or"):
            options["initial"] = initial
        return _REDUCTIONS[name][0](a, axis, **options)
    if where is not None:
        raise NotImplementedError(f"{name}.reduce: where is not supported.")
    return _fold(function, asarray(a, dtype), axis, keepdims, initial)


def _fold(function: Any, a: Any, axis: Any, keepdims: bool, initial: Any) -> Any:
    shape = typeof(a).shape
    axes = canonical_axes(axis, len(shape))
    kept = [n for i, n in enumerate(shape) if i not in axes]
    rows = reshape(moveaxis(a, axes, range(len(axes))), (-1, *kept)) if axes else a[None]
    first = function.identity if initial is None and not typeof(rows).shape[0] else initial
    if first is None:
        if not typeof(rows).shape[0]:
            raise ValueError(
                f"{function.__name__}.reduce: there are no elements, and no identity; give initial."
            )
        state, rows = rows[0], rows[1:]
    else:
        state = full(tuple(kept), first, typeof(rows).dtype)
    out, _ = lax.scan(lambda state, row: (function(state, row), None), state, rows)
    return _reductions.keep_axes(out, shape, axes) if keepdims else out


def accumulate(function: Any, a: Any, axis: int = 0, dtype: Any = None, out: None = None) -> Any:
    """The results of combining ever more elements along an axis."""
    name = function.__name__
    _check_binary(function, "accumulate")
    check_no_out(f"{name}.accumulate", out)
    check_arraylike(f"{name}.accumulate", a)
    running = _REDUCTIONS.get(name, (None, None))[1]
    if running is not None:
        return running(a, axis, dtype)
    a = asarray(a, dtype)
    axis = canonical_axis(axis, typeof(a).ndim)
    rows = moveaxis(a, axis, 0)
    if not typeof(rows).shape[0]:
        return a

    def step(state: Any, row: Any) -> tuple[Any, Any]:
        state = function(state, row)
        return state, state

    _, results = lax.scan(step, rows[0], rows[1:])
    joined = lax.concatenate([rows[:1], results], 0)
    return moveaxis(joined, 0, axis)


def outer(function: Any, a: Any, b: Any, /) -> Any:
    """The function of each element of ``a`` with each of ``b``."""
    _check_binary(function, "outer")
    check_arraylike(f"{function.__name__}.outer", a, b)
    a, b = asarray(a), asarray(b)
    wide = reshape(ravel(a), (-1, 1)), reshape(ravel(b), (1, -1))
    return reshape(function(*wide), typeof(a).shape + typeof(b).shape)


def at(function: Any, a: Any, indices: Any, b: Any = None, /, *, inplace: bool = True) -> Any:
    """``a`` with the function applied at positions, in order; pass ``inplace=False``."""
    name = function.__name__
    if inplace:
        raise NotImplementedError(
            f"{name}.at: arrays are immutable. Pass inplace=False, and use the function's result."
        )
    update = asarray(a).at[indices]
    if function.nin == 1:
        return update.apply(function)
    known = {"add": "add", "subtract": "subtract", "multiply": "multiply"}
    known |= {"maximum": "max", "minimum": "min"}
    if name in known:
        return getattr(update, known[name])(b)
    return update.set(function(update.get(), b))


def reduceat(
    function: Any, a: Any, indices: Any, axis: int = 0, dtype: Any = None, out: None = None
) -> Any:
    """The reductions of the parts of an axis that start at ``indices``.

    A part ends where the next one starts; one that starts at or after that has one element.
    """
    name = function.__name__
    _check_binary(function, "reduceat")
    check_no_out(f"{name}.reduceat", out)
    from covector.numpy._operands import concrete

    a = asarray(a, dtype)
    axis = canonical_axis(axis, typeof(a).ndim)
    starts = concrete(f"{name}.reduceat", "indices", indices).tolist()
    ends = [*starts[1:], typeof(a).shape[axis]]
    rows = moveaxis(a, axis, 0)
    parts = [reduce(function, rows[i:j], 0) if i < j else rows[i] for i, j in zip(starts, ends)]
    return moveaxis(lax.stack(parts, 0), 0, axis)

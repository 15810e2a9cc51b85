"""Reductions: sums, products, extrema and logic along axes, and their running forms.

`_Reduction` is the form that `sum`, `prod`, `max`, `min`, `all` and `any` share; a row of the table
says what is particular to one. The public functions bring arguments to a static form.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from covector import lax
from covector._api.jit import library_function
from covector._ir import dtypes
from covector._trace.trace import typeof
from covector.numpy._operands import (
    Array,
    ArrayLike,
    Axes,
    DTypeLike,
    as_boolean,
    broadcast_to_shape,
    canonical_axes,
    check_arraylike,
    check_no_out,
    common_shape,
    hashable_axes,
    known_axis,
    requested_dtype,
    scalar,
)


class _Reduction(NamedTuple):
    """What is particular to one reduction."""

    name: str
    reduce: str  # the function of covector.lax
    combine: str  # the one that combines two results
    identity: Callable[[np.dtype], Any]  # what to put where `where` is false
    dtype: Callable[[np.dtype, bool], np.dtype]  # the dtype to compute in
    needs_initial: bool = False  # there is no identity that is right for every dtype


def _number_dtype(dtype: np.dtype, promote_integers: bool) -> np.dtype:
    """Booleans and small integers are summed in the default integer type."""
    if dtypes.is_bool(dtype):
        return dtypes.canonicalize_dtype("int64")
    if promote_integers and dtypes.is_integer(dtype):
        default = dtypes.canonicalize_dtype("uint64" if dtypes.is_unsigned(dtype) else "int64")
        return default if default.itemsize > dtype.itemsize else dtype
    return dtype


def _same_dtype(dtype: np.dtype, promote_integers: bool) -> np.dtype:
    return dtype


def _bool_dtype(dtype: np.dtype, promote_integers: bool) -> np.dtype:
    return np.dtype(bool)


def lowest(dtype: np.dtype) -> Any:
    """The least value of a dtype."""
    if dtypes.is_inexact(dtype):
        return -np.inf
    return False if dtypes.is_bool(dtype) else int(dtypes.iinfo(dtype).min)


def highest(dtype: np.dtype) -> Any:
    """The greatest value of a dtype."""
    if dtypes.is_inexact(dtype):
        return np.inf
    return True if dtypes.is_bool(dtype) else int(dtypes.iinfo(dtype).max)


def reduction(row: _Reduction) -> Callable[..., Any]:
    """The library function of a row."""

    def function(
        a: Any,
        initial: Any = None,
        where: Any = None,
        *,
        axis: Axes = None,
        dtype: Any = None,
        keepdims: bool = False,
        promote_integers: bool = True,
    ) -> Any:
        check_arraylike(row.name, a)
        if dtypes.is_extended(typeof(a).dtype):
            raise TypeError(f"{row.name} does not accept operands of dtype {typeof(a).dtype}.")
        axes = canonical_axes(axis, typeof(a).ndim)
        _check_identity(row, typeof(a).shape, axes, initial, where)
        result_dtype = dtype or row.dtype(typeof(a).dtype, promote_integers)
        x = _to(a, _accurate(result_dtype, row)) if row.dtype is not _bool_dtype else as_boolean(a)
        if where is not None:
            x = _masked(row, x, where)
        out = getattr(lax, row.reduce)(x, axes)
        if initial is not None:
            out = _with_initial(row, out, initial)
        out = _to(out, result_dtype)
        return keep_axes(out, typeof(x).shape, axes) if keepdims else out

    function.__name__ = row.name
    return library_function(
        function, static_argnames=("axis", "dtype", "keepdims", "promote_integers")
    )


def _to(x: Any, dtype: np.dtype) -> Any:
    """``x`` of a dtype, and not weak: a reduction's result is not."""
    return lax.convert_element_type(x, dtype)


def _accurate(dtype: np.dtype, row: _Reduction) -> np.dtype:
    """Half precision accumulates in single precision."""
    sums = row.combine in ("add", "mul")
    return np.dtype("float32") if sums and dtype.itemsize < 4 and dtypes.is_float(dtype) else dtype


def _check_identity(row: _Reduction, shape: Any, axes: Any, initial: Any, where: Any) -> None:
    if not row.needs_initial or initial is not None:
        return
    if where is not None:
        raise ValueError(
            f"reduction operation {row.name} does not have an identity, so to use a where mask one "
            "has to specify 'initial'"
        )
    if builtins.any(shape[i] == 0 for i in axes):
        raise ValueError(
            f"zero-size array to reduction operation {row.name} which has no identity: give "
            f"'initial', or an array with elements (the shape is {shape})."
        )


def _masked(row: _Reduction, x: Any, where: Any) -> Any:
    """``x`` with the identity where the mask is false."""
    check_arraylike(row.name, where)
    mask = as_boolean(where)
    shape = common_shape(row.name, typeof(x).shape, typeof(mask).shape)
    neutral = scalar(row.identity(typeof(x).dtype), typeof(x).dtype)
    return lax.select(
        broadcast_to_shape(mask, shape),
        broadcast_to_shape(x, shape),
        broadcast_to_shape(neutral, shape),
    )


def _with_initial(row: _Reduction, out: Any, initial: Any) -> Any:
    check_arraylike(row.name, initial)
    if typeof(initial).shape:
        raise ValueError(
            f"{row.name}: initial value must be a scalar, got shape {typeof(initial).shape}."
        )
    initial = lax.convert_element_type(initial, typeof(out).dtype)
    if row.dtype is _bool_dtype:
        initial = as_boolean(initial)
    return getattr(lax, row.combine)(out, initial)


def keep_axes(x: Any, shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    """A reduced array with axes of size one where they were."""
    return lax.reshape(x, [1 if i in axes else n for i, n in enumerate(shape)])


SUM = _Reduction("sum", "reduce_sum", "add", lambda dtype: 0, _number_dtype)
PROD = _Reduction("prod", "reduce_prod", "mul", lambda dtype: 1, _number_dtype)
MAX = _Reduction("max", "reduce_max", "max", lowest, _same_dtype, needs_initial=True)
MIN = _Reduction("min", "reduce_min", "min", highest, _same_dtype, needs_initial=True)
ALL = _Reduction("all", "reduce_and", "bitwise_and", lambda dtype: True, _bool_dtype)
ANY = _Reduction("any", "reduce_or", "bitwise_or", lambda dtype: False, _bool_dtype)

_sum, _prod, _max, _min, _all, _any = map(reduction, (SUM, PROD, MAX, MIN, ALL, ANY))


def sum(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
    promote_integers: bool = True,
) -> Array:
    """The sum along axes, by default of all elements.

    Args:
      axis: an axis or several; None for all.
      dtype: what to compute in; by default integers narrower than the default are widened
        (unless ``promote_integers`` is false).
      keepdims: leave the reduced axes with size one.
      initial: what to add to the result.
      where: which elements to include.

    >>> print(jnp.sum(jnp.arange(6).reshape(2, 3), axis=0))
    [3 5 7]
    """
    if out is not None:
        check_no_out("sum", out)
    return _sum(
        a,
        initial,
        where,
        axis=hashable_axes(axis),
        dtype=requested_dtype(dtype, "sum"),
        keepdims=keepdims,
        promote_integers=promote_integers,
    )


def prod(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
    promote_integers: bool = True,
) -> Array:
    """The product along axes, by default of all elements. Arguments: see `sum`.

    >>> print(jnp.prod(jnp.arange(1, 5)))
    24
    """
    if out is not None:
        check_no_out("prod", out)
    return _prod(
        a,
        initial,
        where,
        axis=hashable_axes(axis),
        dtype=requested_dtype(dtype, "prod"),
        keepdims=keepdims,
        promote_integers=promote_integers,
    )


def max(
    a: ArrayLike,
    axis: Axes = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """The largest element along axes, by default of all; NaN if one is. Arguments: see `sum`.

    Raises:
      ValueError: there are no elements, or a ``where``, and no ``initial``.

    >>> print(jnp.max(jnp.array([[1, 5], [7, 2]]), axis=0))
    [7 5]
    """
    if out is not None:
        check_no_out("max", out)
    return _max(a, initial, where, axis=hashable_axes(axis), keepdims=keepdims)


def min(
    a: ArrayLike,
    axis: Axes = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """The smallest element along axes, by default of all; NaN if one is. Arguments: see `sum`.

    Raises:
      ValueError: there are no elements, or a ``where``, and no ``initial``.

    >>> print(jnp.min(jnp.array([[1, 5], [7, 2]]), axis=0))
    [1 2]
    """
    if out is not None:
        check_no_out("min", out)
    return _min(a, initial, where, axis=hashable_axes(axis), keepdims=keepdims)


def amax(
    a: ArrayLike,
    axis: Axes = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """The largest element along axes. An alias of `max`.

    >>> print(jnp.amax(jnp.array([3, 1])))
    3
    """
    return max(a, axis, out, keepdims, initial, where)


def amin(
    a: ArrayLike,
    axis: Axes = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """The smallest element along axes. An alias of `min`.

    >>> print(jnp.amin(jnp.array([3, 1])))
    1
    """
    return min(a, axis, out, keepdims, initial, where)


@library_function(operands=("a", "initial", "where"))
def minmax(
    a: ArrayLike,
    axis: Axes = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> tuple[Array, Array]:
    """The smallest and the largest element along axes.

    >>> print(*jnp.minmax(jnp.array([3, 1, 2])))
    1 3
    """
    return min(a, axis, out, keepdims, initial, where), max(a, axis, out, keepdims, initial, where)


def all(
    a: ArrayLike,
    axis: Axes = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Array:
    """Whether all elements along axes are nonzero.

    >>> print(jnp.all(jnp.array([1, 0])))
    False
    """
    if out is not None:
        check_no_out("all", out)
    return _all(a, None, where, axis=hashable_axes(axis), keepdims=keepdims)


def any(
    a: ArrayLike,
    axis: Axes = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Array:
    """Whether any element along axes is nonzero.

    >>> print(jnp.any(jnp.array([1, 0])))
    True
    """
    if out is not None:
        check_no_out("any", out)
    return _any(a, None, where, axis=hashable_axes(axis), keepdims=keepdims)


def ptp(a: ArrayLike, axis: Axes = None, out: None = None, keepdims: bool = False) -> Array:
    """The distance from the smallest to the largest element along axes.

    >>> print(jnp.ptp(jnp.array([3, 1, 7])))
    6
    """
    check_no_out("ptp", out)
    return _ptp(a, hashable_axes(axis), keepdims)


@library_function(operands=("a",))
def _ptp(a: Any, axis: Axes, keepdims: bool) -> Any:
    from covector.numpy._arithmetic import subtract

    check_arraylike("ptp", a)
    return subtract(max(a, axis, keepdims=keepdims), min(a, axis, keepdims=keepdims))


@library_function(operands=("a",))
def count_nonzero(a: ArrayLike, axis: Axes = None, keepdims: bool = False) -> Array:
    """How many elements along axes are not zero.

    >>> print(jnp.count_nonzero(jnp.array([0, 3, 5])))
    2
    """
    from covector.numpy._comparison import not_equal

    check_arraylike("count_nonzero", a)
    return sum(not_equal(a, 0), axis=axis, dtype=int, keepdims=keepdims)


# --- positions of extrema ------------------------------------------------------------------------


def argmax(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """The index of the first largest element (of the first NaN, if any) along an axis.

    Args:
      axis: None for the index into the flattened array.
      keepdims: leave the axis (or with None all axes) with size one.

    Raises:
      ValueError: there are no elements.

    >>> print(jnp.argmax(jnp.array([[1, 5], [7, 2]]), axis=1))
    [1 0]
    """
    check_no_out("argmax", out)
    return _arg_extremum(a, kind="argmax", axis=_one_axis(axis), keepdims=bool(keepdims))


def argmin(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """The index of the first smallest element along an axis. Arguments: see `argmax`.

    >>> print(jnp.argmin(jnp.array([[1, 5], [7, 2]]), axis=1))
    [0 1]
    """
    check_no_out("argmin", out)
    return _arg_extremum(a, kind="argmin", axis=_one_axis(axis), keepdims=bool(keepdims))


def _one_axis(axis: Any) -> int | None:
    return None if axis is None else known_axis(axis)


@library_function(static_argnames=("kind", "axis", "keepdims"))
def _arg_extremum(a: Any, *, kind: str, axis: int | None, keepdims: bool) -> Any:
    check_arraylike(kind, a)
    shape = typeof(a).shape
    x, at = (lax.reshape(a, (typeof(a).size,)), 0) if axis is None else (a, axis)
    (at,) = canonical_axes(at, typeof(x).ndim)
    if typeof(x).shape[at] == 0:
        raise ValueError(f"attempt to get {kind} of an empty sequence")
    if dtypes.is_complex(typeof(x).dtype):
        x = _ranked(x, at, lowest=kind == "argmin")
    out = getattr(lax, kind)(x, at, dtypes.canonicalize_dtype("int64"))
    axes = canonical_axes(axis, len(shape))
    return keep_axes(out, shape, axes) if keepdims else out


def _ranked(x: Any, axis: int, *, lowest: bool) -> Any:
    """Real numbers whose first extremum is that of complex ones, ordered by real part first: the
    imaginary parts where the real part is extreme. NaN stays first of all.
    """
    real, imag = lax.real(x), lax.imag(x)
    extreme = (lax.reduce_min if lowest else lax.reduce_max)(real, (axis,))
    others = [i for i in range(typeof(x).ndim) if i != axis]
    dtype, shape = typeof(real).dtype, typeof(real).shape
    extreme = lax.broadcast_in_dim(extreme, shape, others)
    beyond = lax.full(shape, np.inf if lowest else -np.inf, dtype)
    ranked = lax.select(lax.eq(real, extreme), imag, beyond)
    return lax.select(lax.ne(x, x), lax.full(shape, np.nan, dtype), ranked)


# --- running forms -------------------------------------------------------------------------------


@library_function(operands=("a",))
def cumsum(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike = None, out: None = None
) -> Array:
    """The running sum along an axis, or of the flattened array.

    >>> print(jnp.cumsum(jnp.array([1, 2, 3])))
    [1 3 6]
    """
    check_no_out("cumsum", out)
    return _cumulate(a, name="cumsum", axis=_one_axis(axis), dtype=requested_dtype(dtype, "cumsum"))


@library_function(operands=("a",))
def cumprod(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike = None, out: None = None
) -> Array:
    """The running product along an axis, or of the flattened array.

    >>> print(jnp.cumprod(jnp.array([1, 2, 3])))
    [1 2 6]
    """
    check_no_out("cumprod", out)
    return _cumulate(
        a, name="cumprod", axis=_one_axis(axis), dtype=requested_dtype(dtype, "cumprod")
    )


def running_extremum(name: str, a: ArrayLike, axis: int | None, dtype: DTypeLike = None) -> Array:
    """``cummax`` or ``cummin`` (the ``name``) along an axis, by default in the operand's dtype.

    It is what ``maximum.accumulate`` does.
    """
    check_arraylike(name, a)
    kept = requested_dtype(dtype, name) or typeof(a).dtype
    return _cumulate(a, name=name, axis=_one_axis(axis), dtype=kept)


def _cumulate(a: Any, *, name: str, axis: int | None, dtype: Any) -> Any:
    check_arraylike(name, a)
    x = a if axis is not None else lax.reshape(a, (typeof(a).size,))
    (at,) = canonical_axes(axis or 0, typeof(x).ndim)
    own = typeof(x).dtype
    dtype = dtype or (dtypes.canonicalize_dtype("int64") if dtypes.is_bool(own) else own)
    if dtypes.is_bool(dtype):
        x = lax.convert_element_type(as_boolean(x), dtypes.canonicalize_dtype("int64"))
        return as_boolean(getattr(lax, name)(x, at))
    return getattr(lax, name)(lax.convert_element_type(x, dtype), at)


@library_function(operands=("x",))
def cumulative_sum(
    x: ArrayLike,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike = None,
    include_initial: bool = False,
) -> Array:
    """The running sum along an axis; ``include_initial`` puts a zero in front.

    >>> print(jnp.cumulative_sum(jnp.array([1, 2, 3]), include_initial=True))
    [0 1 3 6]
    """
    return _cumulative("cumulative_sum", "cumsum", 0, x, axis, dtype, include_initial)


@library_function(operands=("x",))
def cumulative_prod(
    x: ArrayLike,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike = None,
    include_initial: bool = False,
) -> Array:
    """The running product along an axis; ``include_initial`` puts a one in front.

    >>> print(jnp.cumulative_prod(jnp.array([1, 2, 3]), include_initial=True))
    [1 1 2 6]
    """
    return _cumulative("cumulative_prod", "cumprod", 1, x, axis, dtype, include_initial)


def _cumulative(
    name: str, kind: str, initial: int, x: Any, axis: Any, dtype: Any, include_initial: bool
) -> Any:
    check_arraylike(name, x)
    ndim = typeof(x).ndim
    if ndim == 0 or (axis is None and ndim > 1):
        raise ValueError(
            f"The input array has rank {ndim}, however axis was not set to an explicit value. The "
            f"axis argument of {name} is only optional for one-dimensional arrays."
            if ndim
            else f"{name}: the input must have an axis, got a scalar."
        )
    (at,) = canonical_axes(axis or 0, ndim)
    dtype = requested_dtype(dtype, name) or _number_dtype(typeof(x).dtype, True)
    out = _cumulate(x, name=kind, axis=at, dtype=dtype)
    if not include_initial:
        return out
    first = [1 if i == at else n for i, n in enumerate(typeof(out).shape)]
    return lax.concatenate([lax.full(first, initial, typeof(out).dtype), out], at)

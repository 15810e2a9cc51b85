"""Jacobians and Hessians: `grad` for functions of many outputs, by rows or by columns."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from covector._api.autodiff import (
    Argnums,
    check_argnums,
    check_callable,
    jvp,
    pick_arguments,
    replace_arguments,
    vjp,
)
from covector._api.vmap import vmap
from covector._ir import dtypes
from covector._trace.trace import typeof
from covector._tree.registry import dispatch_registry


def jacfwd(
    fun: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., Any]:
    """The Jacobian of ``fun``, column by column, by forward mode (good for tall Jacobians).

    The result has the output's structure; each of its leaves has the argument's structure, with
    arrays of shape ``output shape + input shape``.

    >>> import covector, numpy
    >>> covector.jacfwd(covector.lax.sin)(numpy.zeros(2, "float32")).shape
    (2, 2)
    """
    check_callable(fun, "jacfwd")
    positions = check_argnums(argnums)

    @functools.wraps(fun)
    def jacobian_function(*args: Any, **kwargs: Any) -> Any:
        differentiated = pick_arguments(args, positions, argnums, fun)
        leaves, tree = dispatch_registry.flatten(differentiated)
        for x in leaves:
            _check_jacobian_dtype(x, holomorphic, "jacfwd", "input", complex_ok=False)

        def partial(values: Any) -> Any:
            return fun(*replace_arguments(args, positions, argnums, values), **kwargs)

        def column(tangent: Any) -> Any:
            result = jvp(partial, (differentiated,), (tangent,), has_aux=has_aux)
            return result if has_aux else (*result, None)

        out_axes = (None, -1, None)
        value, columns, aux = vmap(column, out_axes=out_axes)(_standard_basis(leaves, tree))
        for y in dispatch_registry.flatten(value)[0]:
            _check_jacobian_dtype(y, holomorphic, "jacfwd", "output")
        jacobian = _split_columns(columns, leaves, tree)
        return (jacobian, aux) if has_aux else jacobian

    return jacobian_function


def jacrev(
    fun: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., Any]:
    """The Jacobian of ``fun``, row by row, by reverse mode (good for wide Jacobians).

    The result has the form that `jacfwd` gives.

    >>> import covector, numpy
    >>> covector.jacrev(covector.lax.sin)(numpy.zeros(2, "float32")).shape
    (2, 2)
    """
    check_callable(fun, "jacrev")
    positions = check_argnums(argnums)

    @functools.wraps(fun)
    def jacobian_function(*args: Any, **kwargs: Any) -> Any:
        differentiated = pick_arguments(args, positions, argnums, fun)
        in_leaves, in_tree = dispatch_registry.flatten(differentiated)
        for x in in_leaves:
            _check_jacobian_dtype(x, holomorphic, "jacrev", "input", allow_int=allow_int)

        def partial(values: Any) -> Any:
            return fun(*replace_arguments(args, positions, argnums, values), **kwargs)

        value, pull_back, *aux = vjp(partial, differentiated, has_aux=has_aux)
        outs, out_tree = dispatch_registry.flatten(value)
        for y in outs:
            _check_jacobian_dtype(y, holomorphic, "jacrev", "output", complex_ok=False)
        (rows,) = vmap(pull_back)(_standard_basis(outs, out_tree))
        jacobian = _split_rows(rows, in_tree, outs, out_tree)
        return (jacobian, aux[0]) if has_aux else jacobian

    return jacobian_function


jacobian = jacrev


def hessian(
    fun: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., Any]:
    """The matrix of second derivatives, as forward mode over reverse mode.

    >>> import covector
    >>> float(covector.hessian(covector.lax.exp)(0.0))
    1.0
    """
    return jacfwd(
        jacrev(fun, argnums, has_aux=has_aux, holomorphic=holomorphic),
        argnums,
        has_aux=has_aux,
        holomorphic=holomorphic,
    )


def _check_jacobian_dtype(
    x: Any,
    holomorphic: bool,
    name: str,
    what: str,
    *,
    complex_ok: bool = True,
    allow_int: bool = False,
) -> None:
    dtype = typeof(x).dtype
    if holomorphic:
        if not dtypes.is_complex(dtype):
            raise TypeError(
                f"{name} with holomorphic=True requires {what}s with complex dtype, but got "
                f"{dtype.name}."
            )
    elif dtypes.is_complex(dtype):
        if not complex_ok:
            raise TypeError(
                f"{name} requires real-valued {what}s ({what} dtype that is a sub-dtype of "
                f"np.floating), but got {dtype.name}. For holomorphic differentiation, pass "
                "holomorphic=True. For differentiation of non-holomorphic functions involving "
                f"complex {what}s, use covector.{'jvp' if name == 'jacfwd' else 'vjp'} directly."
            )
    elif not dtypes.is_float(dtype) and not allow_int:
        raise TypeError(
            f"{name} requires real-valued {what}s ({what} dtype that is a sub-dtype of "
            f"np.floating), but got {dtype.name}. For integer {what}s use "
            f"covector.{'jvp' if name == 'jacfwd' else 'vjp'} directly."
        )


def _standard_basis(leaves: Sequence[Any], tree: Any) -> Any:
    """A tree like the given one whose leaves have a leading axis over all unit vectors."""
    avals = [typeof(x) for x in leaves]
    sizes = [a.size for a in avals]
    total = sum(sizes)
    basis = []
    offset = 0
    for aval, size in zip(avals, sizes, strict=True):
        if aval.has_tangent:
            part = np.zeros((total, size), aval.dtype)
            part[offset : offset + size, :] = np.eye(size, dtype=aval.dtype)
            basis.append(part.reshape(total, *aval.shape))
        else:
            basis.append(np.zeros((total, *aval.shape), dtypes.float0))
        offset += size
    return tree.unflatten(basis)


def _split_columns(columns: Any, in_leaves: Sequence[Any], in_tree: Any) -> Any:
    """Cut the last axis of each output leaf into the argument's leaves."""
    from covector.lax.index import slice_in_dim
    from covector.lax.shape import reshape

    def split(y: Any) -> Any:
        parts, offset = [], 0
        for x in in_leaves:
            aval = typeof(x)
            part = slice_in_dim(y, offset, offset + aval.size, axis=-1)
            parts.append(reshape(part, (*y.shape[:-1], *aval.shape)))
            offset += aval.size
        return in_tree.unflatten(parts)

    leaves, tree = dispatch_registry.flatten(columns)
    return tree.unflatten([split(y) for y in leaves])


def _split_rows(rows: Any, in_tree: Any, outs: Sequence[Any], out_tree: Any) -> Any:
    """Cut the first axis of each argument leaf into the output's leaves, output outermost."""
    from covector.lax.index import slice_in_dim
    from covector.lax.shape import reshape

    row_leaves = dispatch_registry.flatten(rows)[0]
    results, offset = [], 0
    for y in outs:
        aval = typeof(y)
        parts = [
            reshape(
                slice_in_dim(r, offset, offset + aval.size, axis=0), (*aval.shape, *r.shape[1:])
            )
            for r in row_leaves
        ]
        results.append(in_tree.unflatten(parts))
        offset += aval.size
    return out_tree.unflatten(results)


__all__ = ["hessian", "jacfwd", "jacobian", "jacrev"]

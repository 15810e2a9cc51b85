"""Systems of equations with a triangular matrix."""

from __future__ import annotations

from typing import Any

from covector import lax
from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector._lower.module import lower_by
from covector._trace.primitive import Linear, Primitive
from covector._trace.trace import typeof
from covector.lax.linalg import _kernels
from covector.lax.linalg._matrix import (
    batch_of_right_sides,
    conjugate,
    lower_part,
    product,
    transposed,
    upper_part,
    weak_if_all,
)


def triangular_solve(
    a: Any,
    b: Any,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Any:
    """The x with ``op(a) @ x = b``, or ``x @ op(a) = b``, for triangular ``a``.

    Args:
      a: of shape (..., n, n); only one triangle is read.
      b: of shape (..., n, k) with ``left_side``, else (..., k, n); or (..., n).
      left_side: whether ``a`` stands left of x.
      lower: whether ``a`` is lower triangular.
      transpose_a, conjugate_a: what ``op`` does to ``a``.
      unit_diagonal: take ``a``'s diagonal for ones, unread.

    Returns:
      x, of ``b``'s shape.

    Raises:
      TypeError: dtypes differ or are not floating point or complex.
      ValueError: shapes do not fit.

    >>> a = np.array([[2.0, 0.0], [1.0, 1.0]])
    >>> lax.linalg.triangular_solve(a, np.array([2.0, 3.0]), left_side=True, lower=True)
    Array([1., 2.], dtype=float32)
    """
    conjugate_a = conjugate_a and dtypes.is_complex(typeof(a).dtype)
    vector = typeof(b).ndim == typeof(a).ndim - 1
    axis = typeof(b).ndim if left_side else typeof(b).ndim - 1
    out = triangular_solve_p.bind(
        a,
        lax.expand_dims(b, (axis,)) if vector else b,
        left_side=left_side,
        lower=lower,
        transpose_a=transpose_a,
        conjugate_a=conjugate_a,
        unit_diagonal=unit_diagonal,
    )
    return lax.squeeze(out, (axis,)) if vector else out


@weak_if_all
def _abstract(a: ShapedArray, b: ShapedArray, *, left_side: bool, **params: Any) -> ShapedArray:
    name = "triangular_solve"
    for position, aval in enumerate((a, b)):
        if not dtypes.is_inexact(aval.dtype):
            raise TypeError(
                f"{name} does not accept dtype {aval.dtype} at position {position}. Accepted "
                f"dtypes at position {position} are: floating point, complex."
            )
    if a.dtype != b.dtype:
        raise TypeError(
            f"lax.{name} requires arguments to have the same dtypes, got {a.dtype}, {b.dtype}."
        )
    for position, aval in enumerate((a, b)):
        if aval.ndim < 2:
            raise TypeError(
                f"Input {position} to {name} must have rank at least 2, but got shape={aval.shape}"
            )
    if a.shape[-1] != a.shape[-2]:
        raise ValueError(f"The first input to {name} must be a square matrix. Got shape {a.shape}.")
    if a.shape[:-2] != b.shape[:-2] or a.shape[-1] != b.shape[-2 if left_side else -1]:
        raise ValueError(
            f"{name}: a of shape {a.shape} does not fit b of shape {b.shape} with "
            f"left_side={left_side}: leading axes must be equal, and b must have as many "
            f"{'rows' if left_side else 'columns'} as a."
        )
    return b


def _trsm(
    a: Any,
    b: Any,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> Any:
    aval = typeof(b)
    if conjugate_a and not transpose_a:
        a = conjugate(a)
    (out,) = _kernels.lapack(
        "trsm",
        [a, b],
        [(aval.shape, aval.dtype)],
        matrices=("mm", "m"),
        aliases=[(1, 0)],
        side="L" if left_side else "R",
        uplo="L" if lower else "U",
        trans_x=("C" if conjugate_a else "T") if transpose_a else "N",
        diag="U" if unit_diagonal else "N",
    )
    return out


_lower_by_lapack = lower_by(_trsm)


def _lower(ctx: Any, args: Any, in_avals: Any, out_avals: Any, **params: Any) -> list[str]:
    if 0 in out_avals[0].shape:
        return [args[1]]
    if ctx.platform == "cpu" and out_avals[0].dtype.name in _kernels.LETTERS:
        return _lower_by_lapack(ctx, args, in_avals, out_avals, **params)
    a = args[0]
    if params["conjugate_a"] and not params["transpose_a"]:
        a = lower_by(conjugate)(ctx, [a], in_avals[:1], in_avals[:1])[0]
    kind = "NO_TRANSPOSE"
    if params["transpose_a"]:
        kind = "ADJOINT" if params["conjugate_a"] else "TRANSPOSE"
    flags = [
        f"{name} = {'true' if params[name] else 'false'}"
        for name in ("left_side", "lower", "unit_diagonal")
    ]
    flags.append(f"transpose_a = #stablehlo<transpose {kind}>")
    signature = f"({in_avals[0].mlir}, {in_avals[1].mlir}) -> {out_avals[0].mlir}"
    return ctx.emit(
        f'"stablehlo.triangular_solve"({a}, {args[1]}) <{{{", ".join(flags)}}}> : {signature}'
    )


def _jvp(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
    """``dx = op(a)^-1 (db - op(da) x)``."""
    (a, b), (da, db) = primals, tangents
    x = triangular_solve_p.bind(a, b, **params)
    change = db
    if da is not None:
        offset = int(params["unit_diagonal"])
        da = lower_part(da, -offset) if params["lower"] else upper_part(da, offset)
        da = transposed(da) if params["transpose_a"] else da
        da = conjugate(da) if params["conjugate_a"] else da
        term = lax.neg(product(da, x) if params["left_side"] else product(x, da))
        change = term if db is None else lax.add(db, term)
    return x, triangular_solve_p.bind(a, change, **params)


def _transpose(ct: Any, a: Any, b: Any, *, transpose_a: bool, **params: Any) -> list[Any]:
    if isinstance(a, Linear):
        raise NotImplementedError("triangular_solve is linear in b only, not in a")
    params = {**params, "transpose_a": not transpose_a}
    order = ("left_side", "lower", "transpose_a", "conjugate_a", "unit_diagonal")
    return [None, triangular_solve_p.bind(a, ct, **{name: params[name] for name in order})]


triangular_solve_p = Primitive(
    "triangular_solve",
    abstract=_abstract,
    lower=_lower,
    jvp=_jvp,
    transpose=_transpose,
    batch=batch_of_right_sides(
        lambda: triangular_solve_p, in_rows=lambda params: not params["left_side"]
    ),
)

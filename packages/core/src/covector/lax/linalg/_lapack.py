"""Calls of LAPACK on CPU, as a primitive that only lowering rules use.

LAPACK's matrices are column major, which the call's layouts say, so that XLA transposes. A failure
is a number, ``info``, for each matrix; `nan_unless` turns the results of failed matrices into nan.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from covector import lax
from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector._lower.module import function_type
from covector._trace.primitive import Primitive
from covector._trace.trace import typeof

LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
INT32 = np.dtype(np.int32)


def call(
    routine: str,
    args: Sequence[Any],
    outs: Sequence[tuple[Sequence[int], Any]],
    *,
    matrices: tuple[str, str],
    aliases: Sequence[tuple[int, int]] = (),
    **attributes: Any,
) -> list[Any]:
    """Apply ``routine`` (its name without the letter of the dtype).

    Args:
      outs: shapes and dtypes of the results.
      matrices: for operands and for results, a letter each: "m" for matrices, "-" for others.
      aliases: pairs of an operand and the result that may take its place.
      attributes: characters, booleans and (32-bit) integers.
    """
    letter = LETTERS[typeof(args[0]).dtype.name]
    texts = [f"{name} = {_attribute(value)}" for name, value in sorted(attributes.items())]
    return lapack_p.bind(
        *args,
        target=f"lapack_{letter}{routine}_ffi",
        outs=tuple([ShapedArray(tuple(shape), dtype) for shape, dtype in outs]),
        matrices=matrices,
        aliases=tuple(aliases),
        attributes=", ".join(texts),
    )


def _attribute(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{ord(value)} : ui8" if isinstance(value, str) else f"{value} : i32"


def _layouts(kinds: str, avals: Sequence[ShapedArray]) -> str:
    """Minor to major axes: of matrices, rows vary fastest."""
    texts = []
    for kind, aval in zip(kinds, avals, strict=True):
        order = list(range(aval.ndim))[::-1]
        if kind == "m":
            order[:2] = order[1], order[0]
        texts.append(f"dense<{order if order else ''}> : tensor<{len(order)}xindex>")
    return ", ".join(texts)


def _alias(operand: int, result: int, num_results: int) -> str:
    place = f"[{result}]" if num_results > 1 else "[]"
    return (
        f"#stablehlo.output_operand_alias<output_tuple_indices = {place}, operand_index = "
        f"{operand}, operand_tuple_indices = []>"
    )


def _lower(
    ctx: Any,
    args: Any,
    in_avals: Any,
    out_avals: Any,
    *,
    target: str,
    outs: Any,
    matrices: tuple[str, str],
    aliases: Any,
    attributes: str,
) -> list[str]:
    if ctx.platform != "cpu":
        raise NotImplementedError(
            f"{target}: this matrix factorization is available on CPU only, not on "
            f"{ctx.platform}. Move its operands there with covector.device_put."
        )
    places = ", ".join([_alias(i, o, len(out_avals)) for i, o in aliases])
    return ctx.emit(
        f"stablehlo.custom_call @{target}({', '.join(args)}) {{api_version = 4 : i32, "
        f"backend_config = {{{attributes}}}, operand_layouts = [{_layouts(matrices[0], in_avals)}],"
        f" result_layouts = [{_layouts(matrices[1], out_avals)}], output_operand_aliases = "
        f"[{places}]}} : {function_type(in_avals, out_avals)}",
        len(out_avals),
    )


lapack_p = Primitive(
    "lapack",
    abstract=lambda *avals, outs, **params: list(outs),
    lower=_lower,
    multiple_results=True,
    differentiable=False,
)


def nan_unless(ok: Any, x: Any) -> Any:
    """``x``, with nan in all of a matrix (or vector) where ``ok``, of the batch's shape, is not."""
    aval = typeof(x)
    mask = lax.broadcast_in_dim(ok, aval.shape, tuple(range(typeof(ok).ndim)))
    value = complex(np.nan, np.nan) if dtypes.is_complex(aval.dtype) else np.nan
    return lax.select(mask, x, lax.full(aval.shape, value, aval.dtype))


def succeeded(info: Any) -> Any:
    """Where LAPACK reported no failure."""
    return lax.eq(info, np.int32(0))

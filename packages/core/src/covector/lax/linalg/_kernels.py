"""Calls of jaxlib's kernels: LAPACK on CPU; cuSOLVER, cuSPARSE and jaxlib's own on GPU.

`kernel_p` is a primitive that only lowering rules use. The kernels' matrices are column major,
which the call's layouts say, so that XLA transposes. A failure is a number, ``info``, for each
matrix; `nan_unless` turns the results of failed matrices into nan.

The forms of the GPU kernels are those that JAX writes (``tests/core/test_linalg_gpu.py`` compares
the two); none was run here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from covector import lax
from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector._lower.module import function_type, lower_by
from covector._trace.primitive import Primitive
from covector._trace.trace import typeof

LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
INT32 = np.dtype(np.int32)


# --- calls ----------------------------------------------------------------------------------------


class Enumerator(NamedTuple):
    """A kernel's attribute that is a small number on the C++ side."""

    number: int


def lapack(routine: str, args: Sequence[Any], outs: Sequence[Any], **options: Any) -> list[Any]:
    """Apply a routine of LAPACK, named without the letter of the dtype (see `kernel`)."""
    letter = LETTERS[typeof(args[0]).dtype.name]
    options = {k: Enumerator(ord(v)) if type(v) is str else v for k, v in options.items()}
    return kernel(f"lapack_{letter}{routine}_ffi", args, outs, **options)


def kernel(
    target: str,
    args: Sequence[Any],
    outs: Sequence[tuple[Sequence[int], Any]],
    *,
    matrices: tuple[str, str],
    aliases: Sequence[tuple[int, int]] = (),
    **attributes: Any,
) -> list[Any]:
    """Apply the kernel that is registered as ``target``.

    Args:
      outs: shapes and dtypes of the results.
      matrices: for operands and for results, a letter each: "m" for matrices, "-" for others (row
        major matrices among them).
      aliases: pairs of an operand and the result that may take its place.
      attributes: texts, booleans, `Enumerator`s and (32-bit) integers.
    """
    texts = [f"{name} = {_attribute(value)}" for name, value in sorted(attributes.items())]
    return kernel_p.bind(
        *args,
        target=target,
        outs=tuple([ShapedArray(tuple(shape), dtype) for shape, dtype in outs]),
        matrices=matrices,
        aliases=tuple(aliases),
        attributes=", ".join(texts),
    )


def tpu_kernel(
    target: str,
    args: Sequence[Any],
    outs: Sequence[tuple[Sequence[int], Any]],
    *,
    config: str = "",
    version: int = 1,
) -> list[Any]:
    """Apply a function that XLA has for TPU, by its name. Layouts are XLA's choice."""
    return kernel_p.bind(
        *args,
        target=target,
        outs=tuple([ShapedArray(tuple(shape), dtype) for shape, dtype in outs]),
        matrices=None,
        aliases=(),
        attributes=f'api_version = {version} : i32, backend_config = "{config}"',
    )


def _attribute(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{value}"'
    return f"{value.number} : ui8" if isinstance(value, Enumerator) else f"{value} : i32"


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
    matrices: tuple[str, str] | None,
    aliases: Any,
    attributes: str,
) -> list[str]:
    if matrices is None:
        return ctx.emit(
            f"stablehlo.custom_call @{target}({', '.join(args)}) {{{attributes}}} : "
            f"{function_type(in_avals, out_avals)}",
            len(out_avals),
        )
    places = ", ".join([_alias(i, o, len(out_avals)) for i, o in aliases])
    return ctx.emit(
        f"stablehlo.custom_call @{target}({', '.join(args)}) {{api_version = 4 : i32, "
        f"backend_config = {{{attributes}}}, operand_layouts = [{_layouts(matrices[0], in_avals)}],"
        f" result_layouts = [{_layouts(matrices[1], out_avals)}], output_operand_aliases = "
        f"[{places}]}} : {function_type(in_avals, out_avals)}",
        len(out_avals),
    )


kernel_p = Primitive(
    "kernel",
    abstract=lambda *avals, outs, **params: list(outs),
    lower=_lower,
    multiple_results=True,
    differentiable=False,
)


# --- platforms ------------------------------------------------------------------------------------


def lower_on(
    name: str,
    *,
    cpu: Callable[..., Any],
    gpu: Callable[..., Any] | None = None,
    tpu: Callable[..., Any] | None = None,
    other: Callable[..., Any] | None = None,
) -> Callable[..., list[str]]:
    """A lowering rule from functions in terms of other primitives, by platform.

    ``name`` is what the user called, for the error where there is none for the platform.
    """
    functions = {"cpu": cpu, "gpu": gpu, "tpu": tpu, "other": other}
    rules = {place: lower_by(f) for place, f in functions.items() if f is not None}

    def lower(ctx: Any, *args: Any, **params: Any) -> list[str]:
        place = "gpu" if ctx.platform == "cuda" else ctx.platform
        rule = rules.get(place) or rules.get("other")
        if rule is None:
            raise NotImplementedError(
                f"{name}: available on {', '.join(rules)}, not on {ctx.platform}. Move its "
                "operands to the CPU with covector.device_put."
            )
        return rule(ctx, *args, **params)

    return lower


# --- failures -------------------------------------------------------------------------------------


def nan_unless(ok: Any, x: Any) -> Any:
    """``x``, with nan in all of a matrix (or vector) where ``ok``, of the batch's shape, is not."""
    aval = typeof(x)
    mask = lax.broadcast_in_dim(ok, aval.shape, tuple(range(typeof(ok).ndim)))
    value = complex(np.nan, np.nan) if dtypes.is_complex(aval.dtype) else np.nan
    return lax.select(mask, x, lax.full(aval.shape, value, aval.dtype))


def nan_where_failed(info: Any, *outs: Any) -> list[Any]:
    """``outs``, with nan where the kernel reported a failure."""
    ok = succeeded(info)
    return [nan_unless(ok, x) for x in outs]


def succeeded(info: Any) -> Any:
    """Where the kernel reported no failure."""
    return lax.eq(info, np.int32(0))

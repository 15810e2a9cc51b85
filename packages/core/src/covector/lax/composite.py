"""`composite`: a function that the compiler may know by its name."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from covector._api.tracing import function_name, stage_function
from covector._ir.avals import ShapedArray
from covector._ir.dtypes import DTYPE_TO_MLIR
from covector._ir.jaxpr import Jaxpr
from covector._lower.module import function_type
from covector._lower.stablehlo import constant_text, element_text, quoted
from covector._trace.primitive import Primitive, undefined
from covector._trace.trace import Tracer, typeof
from covector._tree.registry import dispatch_registry
from covector.errors import UnexpectedTracerError


def composite(decomposition: Callable[..., Any], name: str, version: int = 0) -> Callable[..., Any]:
    """The function ``decomposition`` as one operation, which a compiler may know by its name.

    A compiler that does not know it compiles the decomposition. Positional arguments of the result
    are operands (arrays, or trees of them); keyword arguments are attributes of the operation
    (numbers, strings, dtypes, NumPy arrays, and tuples, lists and dicts of them), in the
    decomposition as they are. An attribute that is None is left out.

    It has neither derivatives nor a batching rule: give it a `custom_jvp` or `custom_vmap` rule if
    it needs one.

    Raises:
      UnexpectedTracerError: the decomposition closes over a value that is being transformed.
      TypeError: an attribute is of another kind.

    >>> import functools
    >>> from covector import lax
    >>> @functools.partial(lax.composite, name="my.scale")
    ... def scale(x, /, *, factor):
    ...     return lax.mul(x, factor)
    >>> float(scale(2.0, factor=3.0))
    6.0
    """

    @functools.wraps(decomposition)
    def call(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = dispatch_registry.flatten((args, {}))
        staged = stage_function(
            functools.partial(decomposition, **kwargs),
            tree,
            [typeof(x) for x in leaves],
            name=function_name(decomposition),
        )
        if staged.closes_over_tracers:
            tracer = next(c for c in staged.consts if isinstance(c, Tracer))
            raise UnexpectedTracerError(
                f"The decomposition of the composite operation {name!r} closes over a value of "
                f"type {tracer.aval.str_short()} that is being transformed. Pass it as an argument."
            )
        attributes = tuple(
            [(key, attribute_text(key, v)) for key, v in sorted(kwargs.items()) if v is not None]
        )
        outs = composite_p.bind(
            *staged.consts,
            *leaves,
            jaxpr=staged.jaxpr,
            name=str(name),
            version=version,
            attributes=attributes,
        )
        return staged.out_tree.unflatten(outs)

    return call


# --- attributes -----------------------------------------------------------------------------------


def attribute_text(key: str, value: Any) -> str:
    """A Python value as an attribute of an operation: ``[1, 2.5e+00]``, ``"a"``, ``3 : i64``."""
    if isinstance(value, bytes):
        value = value.decode()
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, np.dtype):
        return DTYPE_TO_MLIR[value]
    if isinstance(value, dict):
        pairs = [f"{quoted(name)} = {attribute_text(key, v)}" for name, v in value.items()]
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, (tuple, list)):
        return "[" + ", ".join([attribute_text(key, v) for v in value]) + "]"
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, np.ndarray) and value.dtype in DTYPE_TO_MLIR:
        return constant_text(value, ShapedArray(value.shape, value.dtype)).split(" ", 1)[1]
    number = np.asarray(value) if isinstance(value, (int, float, np.generic)) else None
    if number is not None and number.dtype.kind in "iuf":
        return f"{element_text(number[()])} : {DTYPE_TO_MLIR[number.dtype]}"
    raise TypeError(
        f"composite: the attribute {key!r} must be a number, a string, a dtype, a NumPy array, or "
        f"a tuple, list or dict of them, got {value!r:.80} of type {type(value)}. Pass arrays that "
        "are computed as positional arguments."
    )


# --- the primitive --------------------------------------------------------------------------------


def composite_text(
    ctx: Any, args: Sequence[str], jaxpr: Jaxpr, name: str, version: int, attributes: Any
) -> list[str]:
    """Append ``stablehlo.composite`` with ``jaxpr`` as its decomposition."""
    function = ctx.module.function_for(jaxpr, name)
    parts = [f"decomposition = @{function}"]
    if version:
        parts.append(f"version = {version} : i32")
    if attributes:
        inner = ", ".join([f"{key} = {text}" for key, text in attributes])
        parts.insert(0, f"composite_attributes = {{{inner}}}")
    signature = function_type(jaxpr.in_avals, jaxpr.out_avals)
    operands = f" {', '.join(args)}" if args else ""
    text = f"stablehlo.composite {quoted(name)}{operands} {{{', '.join(parts)}}} : {signature}"
    return ctx.emit(text, len(jaxpr.out_avals))


def _lower(
    ctx: Any, args: Any, in_avals: Any, out_avals: Any, *, jaxpr: Jaxpr, name: str, version: int,
    attributes: Any,
) -> list[str]:  # fmt: skip
    return composite_text(ctx, args, jaxpr, name, version, attributes)


def _no_derivative(primals: list, tangents: list, *, name: str, **_: Any) -> Any:
    raise ValueError(
        f"The composite operation {name!r} has no derivative of its own. Give the function that "
        "calls it a rule with covector.custom_jvp."
    )


composite_p = Primitive(
    "composite",
    abstract=lambda *avals, jaxpr, name, version, attributes: list(jaxpr.out_avals),
    lower=_lower,
    jvp=_no_derivative,
    batch=undefined(
        "A composite operation has no batching rule. Give the function that calls it a rule with "
        "covector.custom_batching.custom_vmap."
    ),
    effects=lambda params: params["jaxpr"].effects,
    multiple_results=True,
)

"""Arrays of extended dtypes (typed random keys) under the primitives that only move elements.

Such an array is an object around a plain array with further axes at the end, those of an element
(see `ExtendedDType`). No program and no rule meets one: to move elements is to move their parts,
so the primitive is mapped over the further axes, as `vmap` does.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from covector._api.float0 import is_float0
from covector._api.jit import library_function
from covector._api.vmap import vmap
from covector._ir.dtypes import ExtendedDType, float0
from covector._trace.primitive import Primitive
from covector._trace.trace import typeof
from covector._tree.registry import registry

# What may be done to elements without knowing what they are.
_MOVES = (
    *("broadcast_in_dim", "concatenate", "dynamic_slice", "dynamic_update_slice", "gather"),
    *("optimization_barrier", "pad", "reshape", "rev", "scatter", "select_n", "slice", "split"),
    *("squeeze", "stack", "stop_gradient", "tile", "transpose", "unstack"),
)
_COMPARISONS = ("eq", "ne")


def bind_extended(primitive: Primitive, args: tuple, params: dict[str, Any]) -> Any:
    """Apply a primitive to operands of which some are of an extended dtype.

    Raises:
      TypeError: it does more than move or compare elements, or the dtypes differ.
    """
    avals = [typeof(x) for x in args]
    given = [isinstance(a.dtype, ExtendedDType) for a in avals]
    names = ", ".join([a.dtype.name for a in avals])
    if primitive.name not in _MOVES and primitive.name not in _COMPARISONS:
        raise TypeError(f"{primitive.name} does not accept dtypes {names}.")
    [dtype, *others] = {a.dtype for a in avals if isinstance(a.dtype, ExtendedDType)}
    if others or (primitive.name != "select_n" and not _same_kind(primitive.name, given)):
        raise TypeError(f"{primitive.name}: the operands' dtypes must be equal, but got {names}.")
    bases = [x._base_array if e else x for x, e in zip(args, given, strict=True)]
    outs = _on_parts(primitive, tuple(params.items()), dtype, tuple(given), *bases)
    if primitive.name in _COMPARISONS:
        return outs[0]
    wrapped = [dtype.wrap(x) for x in outs]
    return wrapped if primitive.multiple_results else wrapped[0]


def _same_kind(name: str, given: list[bool]) -> bool:
    """Whether all operands that hold elements are of the extended dtype; the others are indices."""
    holders = {"dynamic_slice": 1, "dynamic_update_slice": 2, "gather": 1}
    if name == "scatter":
        return given == [True, False, True]
    return all(given[: holders.get(name, len(given))])


@library_function(static_argnums=(0, 1, 2, 3))
def _on_parts(
    primitive: Primitive,
    params: tuple,
    dtype: ExtendedDType,
    given: tuple[bool, ...],
    *bases: Any,
) -> list[Any]:
    """The primitive for each part of the elements, as one axis at the end."""
    rank, size = len(dtype.element_shape), math.prod(dtype.element_shape)
    flat = [_with_parts(x, rank, (size,)) if e else x for x, e in zip(bases, given, strict=True)]

    def bind(*parts: Any) -> list[Any]:
        outs = primitive.bind(*parts, **dict(params))
        return list(outs) if primitive.multiple_results else [outs]

    outs = vmap(bind, in_axes=tuple([-1 if e else None for e in given]), out_axes=-1)(*flat)
    if primitive.name in _COMPARISONS:
        from covector import lax

        reduce = lax.reduce_and if primitive.name == "eq" else lax.reduce_or
        return [reduce(x, (x.ndim - 1,)) for x in outs]
    return [_with_parts(x, 1, dtype.element_shape) for x in outs]


def _with_parts(x: Any, rank: int, shape: tuple[int, ...]) -> Any:
    """An array with its last ``rank`` axes in another shape."""
    from covector import lax

    whole = typeof(x).shape
    new = (*whole[: len(whole) - rank], *shape)
    return x if new == whole else lax.reshape(x, new)


def with_float0(tangents: tuple, primals: Any) -> tuple:
    """Tangents in which float0 arrays for arrays of extended dtypes have the form of these."""
    leaves, tree = registry.flatten(tuple(primals))
    try:
        given = tree.flatten_up_to(tangents)
    except (TypeError, ValueError):
        return tangents  # which the caller reports
    for i, (x, t) in enumerate(zip(leaves, given, strict=True)):
        if isinstance(getattr(x, "dtype", None), ExtendedDType) and is_float0(t):
            given[i] = x.dtype.wrap(np.zeros(x._base_array.shape, float0))
    return tree.unflatten(given)


def describe(x: Any) -> Any:
    """Of a description of an extended array (its type, say), that of its plain array, wrapped.

    Anything else is returned as it is.
    """
    from covector._api.shape_dtype_struct import ShapeDtypeStruct

    dtype = getattr(x, "dtype", None)
    if isinstance(dtype, ExtendedDType) and not hasattr(x, "_base_array"):
        shape = (*x.shape, *dtype.element_shape)
        return dtype.wrap(ShapeDtypeStruct(shape, dtype.base_dtype))
    return x


__all__ = ["bind_extended", "describe", "with_float0"]

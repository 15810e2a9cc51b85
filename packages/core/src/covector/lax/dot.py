"""Products of arrays: `dot_general`, and `dot` and `batch_matmul` in terms of it.

`dot_general` is bilinear. Its dimension numbers are ``((lhs_contracting, rhs_contracting),
(lhs_batch, rhs_batch))``; the result's axes are the batch axes in that order, then the other axes
of the left operand, then those of the right one.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from covector._config import default_matmul_precision
from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector._lower.stablehlo import int_list
from covector._trace.caches import Memo
from covector._trace.primitive import Linear, Primitive
from covector._trace.trace import typeof
from covector.errors import ShapeError
from covector.lax._axes import shift_axes
from covector.lax.complex_numbers import real
from covector.lax.convert import convert_element_type
from covector.lax.elementwise import add_any
from covector.lax.precision import (
    DotAlgorithm,
    DotAlgorithmPreset,
    PrecisionLike,
    canonicalize_precision,
    lower_algorithm,
    swap_precision,
)
from covector.lax.shape import transpose

Axes = tuple[int, ...]
DimensionNumbers = tuple[tuple[Axes, Axes], tuple[Axes, Axes]]
# What users may write.
DotDimensionNumbers = tuple[
    tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]
]


def dot_general(
    lhs: Any,
    rhs: Any,
    dimension_numbers: DotDimensionNumbers,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """The product of two arrays, summed over contracting axes, for each index of the batch axes.

    Args:
      dimension_numbers: ``((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch))``, each a
        sequence of axes.
      precision: see `Precision` and `DotAlgorithmPreset`; by default the flag
        ``default_matmul_precision``.
      preferred_element_type: the result's dtype, in which sums are accumulated; by default the
        wider of the operands' dtypes, which may differ.

    Returns an array of shape (batch..., lhs's other axes..., rhs's other axes...).

    Raises:
      TypeError: axes out of range, named twice, or of different sizes.

    >>> import numpy as np
    >>> dot_general(np.ones((5, 2, 3)), np.ones((5, 3, 4)), (((2,), (1,)), ((0,), (0,)))).shape
    (5, 2, 4)

    https://openxla.org/stablehlo/spec#dot_general
    """
    key = (dimension_numbers, precision, preferred_element_type, default_matmul_precision.value)
    try:
        params = _params_memo.get(key)
    except TypeError:  # lists among the dimension numbers
        params = key = None
    if params is None:
        params = _params(key, dimension_numbers, precision, preferred_element_type)
    if out_sharding is not None:
        raise NotImplementedError("dot_general: out_sharding is not offered; pass None.")
    return dot_general_p.bind(lhs, rhs, **params)


# Hot: from the user's arguments to the equation's in one look-up.
_params_memo = Memo()


def _params(key: Any, dimension_numbers: Any, precision: Any, preferred: Any) -> dict[str, Any]:
    dtype = None if preferred is None else dtypes.check_user_dtype(preferred, "dot_general")
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    params = {
        "dimension_numbers": (
            (_axes(lhs_contract), _axes(rhs_contract)),
            (_axes(lhs_batch), _axes(rhs_batch)),
        ),
        "precision": canonicalize_precision(precision),
        "preferred_element_type": dtype,
    }
    narrowed = dtype is not None and dtype != np.dtype(preferred)  # that warns each time
    return params if key is None or narrowed else _params_memo.store(key, params)


def _axes(axes: Any) -> Axes:
    return tuple([index(a) for a in axes]) if not isinstance(axes, int) else (axes,)


def dot(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: DotDimensionNumbers | None = None,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """The product of vectors and matrices; with ``dimension_numbers``, `dot_general`.

    >>> import numpy as np
    >>> dot(np.ones((2, 3)), np.ones(3)).shape
    (2,)
    """
    if dimension_numbers is None:
        lhs_shape, rhs_shape = typeof(lhs).shape, typeof(rhs).shape
        if not (1 <= len(lhs_shape) <= 2 and 1 <= len(rhs_shape) <= 2):
            raise ShapeError(
                f"dot: operands must be vectors or matrices unless dimension_numbers is given, but "
                f"lhs has shape {lhs_shape} and rhs has shape {rhs_shape}. Use dot_general, or "
                "batch_matmul."
            )
        if lhs_shape[-1] != rhs_shape[0]:
            raise ShapeError(
                f"dot: the last axis of lhs and the first of rhs must agree, but lhs has shape "
                f"{lhs_shape} and rhs has shape {rhs_shape}."
            )
        dimension_numbers = (((len(lhs_shape) - 1,), (0,)), ((), ()))
    return dot_general(
        lhs, rhs, dimension_numbers, precision, preferred_element_type, out_sharding=out_sharding
    )


def batch_matmul(lhs: Any, rhs: Any, precision: PrecisionLike = None) -> Any:
    """Matrix products over the last two axes, for each index of the leading axes.

    >>> import numpy as np
    >>> batch_matmul(np.ones((5, 2, 3)), np.ones((5, 3, 4))).shape
    (5, 2, 4)
    """
    ndim, other = typeof(lhs).ndim, typeof(rhs).ndim
    if min(ndim, other) < 2:
        raise ShapeError(f"Arguments to batch_matmul must be at least 2D, got {ndim}, {other}")
    if ndim != other:
        raise ShapeError(f"Arguments to batch_matmul must have same ndim, got {ndim}, {other}")
    batch = tuple(range(ndim - 2))
    return dot_general(lhs, rhs, (((ndim - 1,), (ndim - 2,)), (batch, batch)), precision)


# --- the primitive: types ----------------------------------------------------------------------


def other_axes(ndim: int, *used: Axes) -> Axes:
    """The axes that are in none of ``used``, in order."""
    taken = set().union(*used)
    return tuple([i for i in range(ndim) if i not in taken])


def check_axes(
    function: str, lhs: ShapedArray, rhs: ShapedArray, numbers: DimensionNumbers
) -> None:
    """Raise unless the dimension numbers fit the operands of the product ``function``."""
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = numbers
    for name, aval, batch, contract in (
        ("lhs", lhs, lhs_batch, lhs_contract),
        ("rhs", rhs, rhs_batch, rhs_contract),
    ):
        axes = batch + contract
        if not all(0 <= a < aval.ndim for a in axes):
            raise ShapeError(
                f"{function} requires {name} dimension numbers to be nonnegative and less than "
                f"the number of axes of the {name} value, got {name}_batch of {batch} and "
                f"{name}_contracting of {contract} for {name} of shape {aval.shape}"
            )
        if len(set(axes)) != len(axes):
            raise ShapeError(
                f"{function} requires {name} dimension numbers to be distinct, got {name}_batch "
                f"{batch} and {name}_contracting {contract}"
            )
    for kind, lhs_axes, rhs_axes in (
        ("batch", lhs_batch, rhs_batch),
        ("contracting", lhs_contract, rhs_contract),
    ):
        lhs_sizes = tuple([lhs.shape[a] for a in lhs_axes])
        rhs_sizes = tuple([rhs.shape[a] for a in rhs_axes])
        if lhs_sizes != rhs_sizes:
            raise ShapeError(
                f"{function} requires {kind} dimensions of lhs and rhs to have the same shape, "
                f"but axes {lhs_axes} of lhs (of shape {lhs.shape}) have shape {lhs_sizes}, and "
                f"axes {rhs_axes} of rhs (of shape {rhs.shape}) have shape {rhs_sizes}."
            )


def _width(dtype: np.dtype) -> tuple[int, Any, bool]:
    """Where a dtype stands in the order from narrow to wide: by kind, then by range."""
    if dtypes.is_bool(dtype):
        return 0, 0, False
    if dtypes.is_integer(dtype):
        return 1, dtypes.itemsize_bits(dtype), dtypes.is_signed(dtype)
    if dtypes.is_complex(dtype):
        return 3, dtype.itemsize, False
    return 2, float(ml_dtypes.finfo(dtype).max), False


def product_dtype(name: str, lhs: np.dtype, rhs: np.dtype) -> np.dtype:
    """The wider of two dtypes, in a total order of all (not the lattice of promotion).

    Raises:
      TypeError: they differ but none is wider.
    """
    if lhs == rhs:
        return lhs
    lhs_width, rhs_width = _width(lhs), _width(rhs)
    if lhs_width == rhs_width:
        raise TypeError(
            f"{name}: the dtypes {lhs.name} and {rhs.name} have the same range, so neither can "
            "stand for both. Convert one operand with covector.lax.convert_element_type."
        )
    return lhs if lhs_width > rhs_width else rhs


def check_preferred(name: str, dtype: np.dtype, preferred: np.dtype | None) -> np.dtype:
    """The result's dtype, given the operands' common one and the preferred element type."""
    if preferred is None:
        return dtype
    if (
        dtypes.is_integer(dtype)
        and dtypes.is_integer(preferred)
        and dtypes.itemsize_bits(preferred) < dtypes.itemsize_bits(dtype)
    ):
        raise TypeError(
            f"{name}: `preferred_element_type` must not be narrower than the original type, got "
            f"{preferred.name} for a result of dtype {dtype.name}."
        )
    return preferred


def _abstract(
    lhs: ShapedArray,
    rhs: ShapedArray,
    *,
    dimension_numbers: DimensionNumbers,
    precision: Any,
    preferred_element_type: Any,
) -> ShapedArray:
    check_axes("dot_general", lhs, rhs, dimension_numbers)
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    shape = (
        *[lhs.shape[a] for a in lhs_batch],
        *[lhs.shape[a] for a in other_axes(lhs.ndim, lhs_contract, lhs_batch)],
        *[rhs.shape[a] for a in other_axes(rhs.ndim, rhs_contract, rhs_batch)],
    )
    dtype = product_dtype("dot_general", lhs.dtype, rhs.dtype)
    dtype = check_preferred("dot_general", dtype, preferred_element_type)
    return ShapedArray(shape, dtype, lhs.weak_type and rhs.weak_type)


# --- lowering ----------------------------------------------------------------------------------


_DEFAULT = "precision = [DEFAULT, DEFAULT]"


class _Storage(NamedTuple):
    """What operands are converted to, what the product is computed in, and how."""

    lhs: np.dtype
    rhs: np.dtype
    out: np.dtype
    attributes: str


def _lower(
    ctx: Any, args: Any, in_avals: Any, out_avals: Any, *, dimension_numbers: Any, precision: Any,
    preferred_element_type: Any,
) -> list[str]:  # fmt: skip
    out = out_avals[0]
    lhs_dtype, rhs_dtype, dtype, attributes = _storage(
        in_avals[0].dtype, in_avals[1].dtype, out.dtype, precision, ctx.platform
    )
    stored = [in_avals[0].update(dtype=lhs_dtype), in_avals[1].update(dtype=rhs_dtype)]
    operands = [ctx.convert(*x) for x in zip(args, in_avals, stored, strict=True)]
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    parts = [f"contracting_dims = {int_list(lhs_contract)} x {int_list(rhs_contract)}", attributes]
    if lhs_batch:
        parts.insert(0, f"batching_dims = {int_list(lhs_batch)} x {int_list(rhs_batch)}")
    product = out.update(dtype=dtype)
    result = ctx.typed("dot_general", operands, stored, [product], ", ".join(parts))[0]
    return [ctx.convert(result, product, out)]


def _storage(
    lhs: np.dtype, rhs: np.dtype, out: np.dtype, precision: Any, platform: str
) -> _Storage:
    """XLA's products take operands of one dtype; those of eight bits may differ."""
    # An algorithm states real types: on complex operands it would drop imaginary parts.
    if isinstance(precision, (DotAlgorithm, DotAlgorithmPreset)):
        if not dtypes.is_complex(product_dtype("dot_general", lhs, rhs)):
            algorithm = lower_algorithm(precision, lhs, rhs, out, platform)
            if algorithm is not None:
                text, lhs, rhs, dtype = algorithm
                return _Storage(lhs, rhs, dtype, f"precision = [DEFAULT, DEFAULT], {text}")
        precision = None
    text = f"precision = [{', '.join(p.name for p in precision)}]" if precision else _DEFAULT
    both_float8 = lhs in dtypes.NARROW_FLOATS and rhs in dtypes.NARROW_FLOATS
    widened = {lhs, rhs} & dtypes.NARROW_INTEGERS and out not in dtypes.NARROW_INTEGERS
    if (lhs != rhs and not both_float8) or widened:
        lhs = rhs = out
    return _Storage(lhs, rhs, out, text)


# --- derivatives -------------------------------------------------------------------------------


def _jvp(primals: list, tangents: list, **params: Any) -> tuple[Any, Any]:
    lhs, rhs = primals
    out = dot_general_p.bind(lhs, rhs, **params)
    if out.aval.tangent.dtype == dtypes.float0:
        return out, None
    terms = []
    if tangents[0] is not None:
        terms.append(dot_general_p.bind(tangents[0], rhs, **params))
    if tangents[1] is not None:
        terms.append(dot_general_p.bind(lhs, tangents[1], **params))
    return out, terms[0] if len(terms) == 1 else add_any(*terms)


class _Axes(NamedTuple):
    """The axes of one operand, by their part in the product."""

    batch: Axes
    contract: Axes
    other: Axes


def _transpose(
    ct: Any,
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: DimensionNumbers,
    precision: Any,
    preferred_element_type: Any,
) -> list[Any]:
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    lhs_axes = _Axes(lhs_batch, lhs_contract, other_axes(lhs.ndim, lhs_contract, lhs_batch))
    rhs_axes = _Axes(rhs_batch, rhs_contract, other_axes(rhs.ndim, rhs_contract, rhs_batch))
    first = len(lhs_batch) + len(lhs_axes.other)
    ct_lhs, ct_rhs = tuple(range(len(lhs_batch), first)), tuple(range(first, ct.ndim))
    if isinstance(lhs, Linear):
        return [_cotangent(ct, ct_rhs, lhs.aval, lhs_axes, rhs, rhs_axes, precision), None]
    precision = swap_precision(precision)
    return [None, _cotangent(ct, ct_lhs, rhs.aval, rhs_axes, lhs, lhs_axes, precision)]


def _cotangent(
    ct: Any,
    ct_known: Axes,
    aval: ShapedArray,
    axes: _Axes,
    known: Any,
    known_axes: _Axes,
    precision: Any,
) -> Any:
    """The cotangent of one operand: the product of ``ct`` and the ``known`` operand.

    It is contracted over ``ct_known``, the axes of ``ct`` that come from the known operand. Either
    order of the factors gives the result, with its axes in another order: the one is taken that
    leaves the last axis in place, which mostly means that no transposition is needed.
    """
    ct_batch = tuple(range(len(axes.batch)))
    # The known operand's contracting axes come out in their order there.
    contract = tuple([axes.contract[i] for i in np.argsort(known_axes.contract)])
    order = (*axes.batch, *axes.other, *contract)
    swapped_order = (*axes.batch, *contract, *axes.other)
    params = {"precision": precision, "preferred_element_type": None}
    if order[-1:] != (aval.ndim - 1,) and swapped_order[-1:] == (aval.ndim - 1,):
        order = swapped_order
        numbers = ((known_axes.other, ct_known), (known_axes.batch, ct_batch))
        params["precision"] = swap_precision(precision)
        product = dot_general_p.bind(known, ct, dimension_numbers=numbers, **params)
    else:
        numbers = ((ct_known, known_axes.other), (ct_batch, known_axes.batch))
        product = dot_general_p.bind(ct, known, dimension_numbers=numbers, **params)
    product = transpose(product, tuple(int(i) for i in np.argsort(order)))
    if dtypes.is_complex(product.dtype) and not dtypes.is_complex(aval.dtype):
        product = real(product)
    return convert_element_type(product, aval.dtype)


# --- batching ----------------------------------------------------------------------------------


def _batch(
    axis: Any, args: list, dims: tuple, *, dimension_numbers: DimensionNumbers, **params: Any
) -> tuple[Any, int]:
    """A batch axis of both operands is a further batch axis; of one only, a further free axis."""
    lhs_dim, rhs_dim = dims
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    if lhs_dim is not None:
        lhs_contract, lhs_batch = shift_axes(lhs_contract, lhs_dim), shift_axes(lhs_batch, lhs_dim)
    if rhs_dim is not None:
        rhs_contract, rhs_batch = shift_axes(rhs_contract, rhs_dim), shift_axes(rhs_batch, rhs_dim)
    if lhs_dim is not None and rhs_dim is not None:
        lhs_batch, rhs_batch = (lhs_dim, *lhs_batch), (rhs_dim, *rhs_batch)
        out_dim = 0
    elif lhs_dim is not None:
        other = other_axes(typeof(args[0]).ndim, lhs_contract, lhs_batch)
        out_dim = len(lhs_batch) + other.index(lhs_dim)
    else:
        num_lhs = typeof(args[0]).ndim - len(lhs_contract)
        other = other_axes(typeof(args[1]).ndim, rhs_contract, rhs_batch)
        out_dim = num_lhs + other.index(rhs_dim)
    numbers = ((lhs_contract, rhs_contract), (lhs_batch, rhs_batch))
    return dot_general_p.bind(*args, dimension_numbers=numbers, **params), out_dim


dot_general_p = Primitive(
    "dot_general",
    abstract=_abstract,
    lower=_lower,
    jvp=_jvp,
    transpose=_transpose,
    batch=_batch,
)

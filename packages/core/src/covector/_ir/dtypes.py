"""The element types: which there are, their StableHLO names, and how they are promoted.

Promotion is a lattice: the common type of several is their least upper bound. Beside the dtypes
the lattice has three weak nodes, Python's `int`, `float` and `complex`, that stand for values
whose kind is known but whose width is free (Python scalars, and arrays made of nothing else).
The lattice is the one documented as "JAX type promotion semantics"; a test compares every pair.

Everything here is a pure function of dtypes and of three flags, and is memoized.
"""

from __future__ import annotations

import functools
from typing import Any

import ml_dtypes
import numpy as np

from covector._config import enable_x64, explicit_x64_dtypes, numpy_dtype_promotion
from covector.errors import TypePromotionError, warn_user

DType = Any  # a numpy dtype or an ExtendedDType

# Every type that arrays can have, and its name in StableHLO, which has no integers of one bit:
# arrays of these are moved and read, but no program takes them.
_MLIR_NAMES = {
    "bool": "i1",
    "int1": "",
    "int2": "i2",
    "int4": "i4",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint1": "",
    "uint2": "ui2",
    "uint4": "ui4",
    "uint8": "ui8",
    "uint16": "ui16",
    "uint32": "ui32",
    "uint64": "ui64",
    "float4_e2m1fn": "f4E2M1FN",
    "float6_e2m3fn": "f6E2M3FN",
    "float6_e3m2fn": "f6E3M2FN",
    "float8_e3m4": "f8E3M4",
    "float8_e4m3": "f8E4M3",
    "float8_e4m3b11fnuz": "f8E4M3B11FNUZ",
    "float8_e4m3fn": "f8E4M3FN",
    "float8_e4m3fnuz": "f8E4M3FNUZ",
    "float8_e5m2": "f8E5M2",
    "float8_e5m2fnuz": "f8E5M2FNUZ",
    "float8_e8m0fnu": "f8E8M0FNU",
    "bfloat16": "bf16",
    "float16": "f16",
    "float32": "f32",
    "float64": "f64",
    "complex64": "complex<f32>",
    "complex128": "complex<f64>",
}

# Older versions of ml_dtypes have no int1 and uint1.
DTYPES: dict[str, np.dtype] = {
    name: np.dtype(getattr(ml_dtypes, name, name))
    for name in _MLIR_NAMES
    if hasattr(ml_dtypes, name) or hasattr(np, name)
}

#: The tangent type of integers and booleans: it has one value and takes no memory.
float0 = np.dtype([("float0", np.void, 0)])

DTYPE_TO_MLIR: dict[np.dtype, str] = {d: _MLIR_NAMES[name] for name, d in DTYPES.items()}
DTYPE_TO_MLIR[float0] = "i1"

bfloat16 = ml_dtypes.bfloat16


class extended(np.generic):
    """Abstract type of all dtypes that NumPy does not have, for `issubdtype`."""


class prng_key(extended):
    """Abstract type of the dtypes of random keys, for `issubdtype`."""


class ExtendedDType:
    """Base of dtypes that NumPy does not have. A subclass sets `type`, `name` and `itemsize`.

    An array of such a dtype is an object around a plain array of `base_dtype`, in which each
    element is a block of shape `element_shape`, on further axes at the end (see
    `_api/extended.py`).
    """

    type: type[extended] = extended
    name: str = "extended"
    itemsize: int = 0
    element_shape: tuple[int, ...] = ()
    base_dtype: Any = None

    def wrap(self, base_array: Any) -> Any:
        """The array of this dtype around a plain one (an array, a tracer, a description)."""
        raise NotImplementedError(f"{self.name}.wrap")


# --- Kinds ------------------------------------------------------------------------------------

# ml_dtypes has types of the kinds V and f that NumPy's `kind` does not classify, so the families
# are sets. Membership is one hash of a dtype.
BOOLS = frozenset({DTYPES["bool"]})
SIGNED = frozenset(d for n, d in DTYPES.items() if n.startswith("int"))
UNSIGNED = frozenset(d for n, d in DTYPES.items() if n.startswith("uint"))
INTEGERS = SIGNED | UNSIGNED
NARROW_FLOATS = frozenset(
    d for n, d in DTYPES.items() if n.startswith(("float4_", "float6_", "float8_"))
)
FLOATS = frozenset(d for n, d in DTYPES.items() if "float" in n)
COMPLEXES = frozenset(d for n, d in DTYPES.items() if n.startswith("complex"))
INEXACTS = FLOATS | COMPLEXES
NARROW_INTEGERS = frozenset(d for d in INTEGERS if d.name.rstrip("124") in ("int", "uint"))


def is_bool(dtype: DType) -> bool:
    """Whether a dtype is the boolean type."""
    return dtype in BOOLS


def is_integer(dtype: DType) -> bool:
    """Whether a dtype is a signed or unsigned integer type."""
    return dtype in INTEGERS


def is_signed(dtype: DType) -> bool:
    """Whether a dtype is a signed integer type."""
    return dtype in SIGNED


def is_unsigned(dtype: DType) -> bool:
    """Whether a dtype is an unsigned integer type."""
    return dtype in UNSIGNED


def is_float(dtype: DType) -> bool:
    """Whether a dtype is a real floating-point type."""
    return dtype in FLOATS


def is_complex(dtype: DType) -> bool:
    """Whether a dtype is a complex type."""
    return dtype in COMPLEXES


def is_inexact(dtype: DType) -> bool:
    """Whether a dtype is a real or complex floating-point type."""
    return dtype in INEXACTS


def is_extended(dtype: DType) -> bool:
    """Whether a dtype is one that NumPy does not have, such as that of a random key."""
    return isinstance(dtype, ExtendedDType)


def tangent_dtype(dtype: DType) -> np.dtype:
    """The dtype of tangents: itself for floating-point types, `float0` for all others.

    >>> tangent_dtype(np.dtype("int32")) == float0
    True
    """
    return dtype if dtype in INEXACTS else float0


def to_inexact_dtype(dtype: DType) -> np.dtype:
    """The type of, say, a mean: itself if inexact, else float32 (float64 for 64-bit integers).

    >>> to_inexact_dtype(np.dtype("int8"))
    dtype('float32')
    """
    dtype = np.dtype(dtype)
    if dtype in INEXACTS:
        return dtype
    return _FLOAT64 if dtype in (_INT64, _UINT64) else _FLOAT32


def to_complex_dtype(dtype: DType) -> np.dtype:
    """The complex type that holds values of a dtype.

    >>> to_complex_dtype(np.dtype("float64"))
    dtype('complex128')
    """
    dtype = np.dtype(dtype)
    if dtype in COMPLEXES:
        return dtype
    return _COMPLEX128 if to_inexact_dtype(dtype) == _FLOAT64 else _COMPLEX64


def to_real_dtype(dtype: DType) -> np.dtype:
    """The type of the real part: float32 for complex64, the dtype itself if it is real.

    >>> to_real_dtype(np.dtype("complex64"))
    dtype('float32')
    """
    dtype = np.dtype(dtype)
    return _REAL_PARTS.get(dtype) or dtype


_INT32, _INT64 = DTYPES["int32"], DTYPES["int64"]
_UINT32, _UINT64 = DTYPES["uint32"], DTYPES["uint64"]
_FLOAT32, _FLOAT64 = DTYPES["float32"], DTYPES["float64"]
_COMPLEX64, _COMPLEX128 = DTYPES["complex64"], DTYPES["complex128"]
_REAL_PARTS = {_COMPLEX64: _FLOAT32, _COMPLEX128: _FLOAT64}

# --- 64 bits ----------------------------------------------------------------------------------

_NARROWED = {_INT64: _INT32, _UINT64: _UINT32, _FLOAT64: _FLOAT32, _COMPLEX128: _COMPLEX64}


def canonicalize_dtype(dtype: DType, x64: bool | None = None) -> DType:
    """The dtype that arrays really get: 64-bit types become 32-bit ones while x64 is off.

    Args:
        dtype: a NumPy dtype or what `numpy.dtype` takes; an extended dtype is returned as is.
        x64: whether 64-bit types are allowed; None reads the flag `jax_enable_x64`.

    >>> canonicalize_dtype("float64", x64=False)
    dtype('float32')
    """
    if not isinstance(dtype, np.dtype):
        if isinstance(dtype, ExtendedDType):
            return dtype
        dtype = np.dtype(dtype)
    if enable_x64.value if x64 is None else x64:
        return dtype
    return _NARROWED.get(dtype, dtype)


# --- Python scalars ---------------------------------------------------------------------------

python_scalar_types = (bool, int, float, complex)

_SCALAR_DTYPES = {
    bool: DTYPES["bool"],
    int: _INT64,
    float: _FLOAT64,
    complex: _COMPLEX128,
}


def scalar_dtype(scalar_type: type, x64: bool | None = None) -> np.dtype:
    """The dtype that a Python scalar of this type gets when nothing else decides it.

    >>> scalar_dtype(float, x64=False)
    dtype('float32')
    """
    return canonicalize_dtype(_SCALAR_DTYPES[scalar_type], x64)


def scalar_type_of_dtype(dtype: DType) -> type:
    """The Python type of the elements of a dtype: bool, int, float or complex."""
    for family, scalar_type in _FAMILIES:
        if dtype in family:
            return scalar_type
    raise TypeError(f"the dtype {dtype} has no Python scalar type; it must be boolean or numeric.")


_FAMILIES = ((FLOATS, float), (INTEGERS, int), (BOOLS, bool), (COMPLEXES, complex))


def dtype(x: Any, *, canonicalize: bool = False) -> DType:
    """The dtype of an array, scalar, abstract value, or of anything that names a dtype.

    A Python scalar (and its type) counts with 64 bits; `canonicalize=True` narrows the result
    when x64 is off.

    >>> dtype(1.5), dtype(np.zeros(2, np.int8))
    (dtype('float64'), dtype('int8'))
    """
    result = dtype_and_weak_type(x)[0]
    return canonicalize_dtype(result) if canonicalize else result


def dtype_and_weak_type(x: Any) -> tuple[DType, bool]:
    """The dtype of x, not narrowed, and whether it is weak.

    Args:
        x: an array, a traced value, an abstract value, a Python or NumPy scalar, or what names a
            dtype (a NumPy dtype or scalar type, a Python scalar type, a string).

    Raises:
        TypeError: x has no dtype, or one that XLA does not compute with.
    """
    scalar_type = type(x)
    if scalar_type in _SCALAR_DTYPES:
        return _SCALAR_DTYPES[scalar_type], scalar_type is not bool
    aval = getattr(x, "aval", None)
    if aval is not None and hasattr(aval, "dtype"):
        return aval.dtype, aval.weak_type
    if isinstance(x, type) and x in _SCALAR_DTYPES:
        return _SCALAR_DTYPES[x], x is not bool
    own = getattr(x, "dtype", None)
    if isinstance(own, np.dtype):
        return _checked(own, x), bool(getattr(x, "weak_type", False)) and not isinstance(x, type)
    if isinstance(own, ExtendedDType) or isinstance(x, ExtendedDType):
        return (x if own is None else own), False
    if isinstance(x, (np.dtype, str, type)):
        return _checked(np.dtype(x), x), False
    for scalar_type in python_scalar_types:  # subclasses, such as an IntEnum
        if isinstance(x, scalar_type):
            return _SCALAR_DTYPES[scalar_type], scalar_type is not bool
    raise TypeError(f"the dtype of {x!r} (of type {type(x).__name__}) cannot be determined.")


def _checked(dtype: np.dtype, x: Any) -> np.dtype:
    if dtype not in DTYPE_TO_MLIR:
        raise TypeError(
            f"{x!r} has the dtype {dtype}, which arrays cannot have; "
            "supported are booleans, integers, floating-point and complex numbers."
        )
    return dtype


# --- Promotion --------------------------------------------------------------------------------


def _edges(strict: bool, x64: bool) -> dict[Any, list[Any]]:
    """The lattice: from each node to those directly above it."""
    names: dict[Any, list[Any]] = {
        int: [*sorted(d.name for d in NARROW_INTEGERS), "int8", "uint8", float],
        float: ["bfloat16", "float16", *sorted(d.name for d in NARROW_FLOATS), complex],
        complex: ["complex64"],
    }
    if strict:
        names[int] = [*sorted(d.name for d in INTEGERS), float]
        names[float] = [*sorted(d.name for d in FLOATS), complex]
        names[complex] = [*sorted(d.name for d in COMPLEXES)]
    else:
        names |= {
            "bool": [int],
            "uint8": ["int16", "uint16"],
            "uint16": ["int32", "uint32"],
            "uint32": ["int64" if x64 else "int32", "uint64"],
            "uint64": [float],
            "int8": ["int16"],
            "int16": ["int32"],
            "int32": ["int64"],
            "int64": [float],
            "bfloat16": ["float32"],
            "float16": ["float32"],
            "float32": ["float64", "complex64"],
            "float64": ["complex128"],
            "complex64": ["complex128"],
        }
    edges = {_node(name): [_node(above) for above in aboves] for name, aboves in names.items()}
    return {node: edges.get(node, []) for node in (*DTYPES.values(), int, float, complex)}


def _node(name: Any) -> Any:
    return DTYPES[name] if isinstance(name, str) else name


@functools.cache
def _upper_bounds(strict: bool, x64: bool) -> dict[Any, frozenset]:
    """For each node the set of it and all nodes above it."""
    edges = _edges(strict, x64)

    @functools.cache
    def above(node: Any) -> frozenset:
        return frozenset({node}).union(*map(above, edges[node]))

    return {node: above(node) for node in edges}


def _least_upper_bound(nodes: frozenset, strict: bool, x64: bool) -> Any:
    bounds = _upper_bounds(strict, x64)
    for node in nodes:
        if node not in bounds:
            raise ValueError(f"the dtype {node} takes no part in type promotion.")
    common = frozenset.intersection(*(bounds[node] for node in nodes))
    least = [node for node in common if bounds[node] == common]
    if not least:
        raise TypePromotionError(_promotion_message(nodes, strict))
    return least[0]


def _promotion_message(nodes: frozenset, strict: bool) -> str:
    names = sorted(node.__name__ if isinstance(node, type) else node.name for node in nodes)
    message = f"the types {', '.join(names)} have no common type to be promoted to"
    if strict:
        return (
            f"{message} while jax_numpy_dtype_promotion is 'strict'. Convert one explicitly with "
            "x.astype(dtype), or set jax_numpy_dtype_promotion to 'standard'."
        )
    return (
        f"{message}: a type narrower than 16 bits (8 for integers) would lose precision silently, "
        "so it is never converted. Convert explicitly, for example with x.astype('float32')."
    )


@functools.lru_cache(4096)
def _lattice_result_type(
    dtypes: tuple[np.dtype, ...], weak_types: tuple[bool, ...], strict: bool, x64: bool
) -> tuple[np.dtype, bool]:
    if len(dtypes) == 1:
        return dtypes[0], weak_types[0]
    if len(set(dtypes)) == 1 and not all(weak_types):
        return dtypes[0], False
    if all(weak_types) and not strict:  # the bound of the dtypes, so that a weak int8 stays int8
        bound, weak = _least_upper_bound(frozenset(dtypes), strict, x64), True
    else:
        bound = _least_upper_bound(frozenset(map(_weak_node, dtypes, weak_types)), strict, x64)
        weak = bound in _SCALAR_DTYPES
    return (scalar_dtype(bound, x64) if bound in _SCALAR_DTYPES else bound), weak


def _weak_node(dtype: np.dtype, weak: bool) -> Any:
    return scalar_type_of_dtype(dtype) if weak and dtype not in BOOLS else dtype


def lattice_result_type(
    dtypes: tuple[DType, ...], weak_types: tuple[bool, ...]
) -> tuple[np.dtype, bool]:
    """The dtype and weakness of an operation on arrays of these dtypes. Hot; memoized.

    Args:
        dtypes: a tuple of the dtypes that the arrays really have (see `canonicalize_dtype`).
        weak_types: for each whether it is weak.

    Returns:
        The common dtype, and whether it is weak.

    Raises:
        TypePromotionError: there is no common type.

    >>> lattice_result_type((np.dtype("int8"), np.dtype("int32")), (False, True))
    (dtype('int8'), False)
    """
    strict = numpy_dtype_promotion.value == "strict"
    return _lattice_result_type(dtypes, weak_types, strict, enable_x64.value)


def promote_types(a: Any, b: Any) -> np.dtype:
    """The common dtype of two, never narrowed: the library's counterpart of NumPy's function.

    Args:
        a, b: dtypes, or Python scalar types, which are weak.

    >>> promote_types("int32", "float32"), promote_types("float16", float)
    (dtype('float32'), dtype('float16'))
    """
    nodes = frozenset(_promotion_node(x) for x in (a, b))
    strict = numpy_dtype_promotion.value == "strict"
    bound = _least_upper_bound(nodes, strict, enable_x64.value)
    return scalar_dtype(bound, x64=True) if bound in _SCALAR_DTYPES else bound


def _promotion_node(x: Any) -> Any:
    if isinstance(x, type) and x in (int, float, complex):
        return x
    return x if isinstance(x, ExtendedDType) else np.dtype(x)


def result_type(*args: Any, return_weak_type_flag: bool = False) -> Any:
    """The dtype that results from combining the arguments, as the library's functions do.

    Args:
        *args: arrays, scalars, or dtypes.
        return_weak_type_flag: also return whether the result is weak.

    Raises:
        TypePromotionError: there is no common type.

    >>> result_type(np.zeros(3, np.int8), 1.5)
    dtype('float32')
    >>> result_type(np.zeros(3, np.float16), 1.5)
    dtype('float16')
    """
    if not args:
        raise ValueError("result_type: at least one array or dtype is required.")
    dtypes, weak_types = zip(*map(_result_type_argument, args), strict=True)
    result, weak = lattice_result_type(dtypes, weak_types)
    if weak:
        result = scalar_dtype(scalar_type_of_dtype(result))
    return (result, weak) if return_weak_type_flag else result


def _result_type_argument(x: Any) -> tuple[DType, bool]:
    if x is None:
        return scalar_dtype(float), False
    if isinstance(x, (np.dtype, str)) or (isinstance(x, type) and issubclass(x, np.generic)):
        return check_user_dtype(x, "result_type"), False
    dtype, weak = dtype_and_weak_type(x)
    return (dtype if hasattr(x, "aval") else canonicalize_dtype(dtype)), weak


# --- What the user asks for -------------------------------------------------------------------


def check_user_dtype(dtype: Any, function_name: str) -> DType:
    """The dtype that a `dtype=` argument stands for, narrowed when x64 is off.

    Args:
        dtype: what the user gave: a NumPy dtype, a string, a scalar type of NumPy or Python.
        function_name: the function that the user called, for messages.

    Returns:
        The NumPy dtype (or the extended dtype).

    Raises:
        TypeError: arrays cannot have this dtype.

    Warns:
        UserWarning: a 64-bit type was named and x64 is off (see `jax_explicit_x64_dtypes`).

    >>> check_user_dtype(float, "zeros")
    dtype('float32')
    """
    if isinstance(dtype, ExtendedDType):
        return dtype
    if isinstance(dtype, (np.ndarray, np.generic)) or hasattr(dtype, "aval"):
        error = TypeError if isinstance(dtype, (np.ndarray, np.generic)) else ValueError
        raise error(f"{function_name}: dtype must not be an array; write dtype=x.dtype.")
    own = getattr(dtype, "dtype", None)
    requested = own if isinstance(own, np.dtype) else np.dtype(dtype)
    if requested not in DTYPE_TO_MLIR:
        raise TypeError(
            f"{function_name}: arrays cannot have the dtype {requested}; supported are booleans, "
            "integers, floating-point and complex numbers."
        )
    result = canonicalize_dtype(requested)
    # By identity: a dtype equals the Python type that has its width.
    if result == requested or any(dtype is t for t in (None, int, float, complex)):
        return result
    return _explicitly_wide(requested, result, function_name)


def _explicitly_wide(requested: np.dtype, result: np.dtype, function_name: str) -> np.dtype:
    """What a 64-bit dtype that was asked for by name becomes while x64 is off."""
    mode = explicit_x64_dtypes.value
    if mode == "allow":
        return requested
    message = (
        f"Explicitly requested dtype {requested} requested in {function_name} is not available, "
        f"and will be truncated to dtype {result}. To enable more dtypes, set the jax_enable_x64 "
        "configuration option or the COVECTOR_ENABLE_X64 environment variable."
    )
    if mode == "error":
        raise ValueError(message)
    warn_user(message)
    return result


def issubdtype(a: Any, b: Any) -> bool:
    """Whether a dtype belongs to a family of dtypes, as `numpy.issubdtype`, with ml_dtypes.

    >>> issubdtype(bfloat16, np.floating), issubdtype("int4", np.signedinteger)
    (True, True)
    """
    if isinstance(b, ExtendedDType):
        return a is b or a == b
    a_type, b_type = _numpy_type(a), _numpy_type(b)
    return issubclass(a_type, b_type) or issubclass(_ML_PARENTS.get(a_type, a_type), b_type)


def _numpy_type(x: Any) -> type:
    if isinstance(x, ExtendedDType):
        return x.type
    if isinstance(x, type) and issubclass(x, np.generic):
        return x
    return np.dtype(x).type


# The classes of ml_dtypes derive from numpy.generic alone.
_PARENT_BY_PREFIX = {
    "uint": np.unsignedinteger,
    "int": np.signedinteger,
    "float": np.floating,
    "bfloat": np.floating,
    "complex": np.complexfloating,
    "bcomplex": np.complexfloating,
}
_ML_PARENTS: dict[type, type] = {
    cls: _PARENT_BY_PREFIX[name.split("_")[0].rstrip("0123456789")]
    for name, cls in vars(ml_dtypes).items()
    if not name.startswith("_") and isinstance(cls, type) and issubclass(cls, np.generic)
}

finfo = ml_dtypes.finfo
iinfo = ml_dtypes.iinfo


def itemsize_bits(dtype: Any) -> int:
    """The bits that one element takes: 4 for int4, although NumPy stores it in a byte.

    >>> itemsize_bits("int4"), itemsize_bits("complex64")
    (4, 64)
    """
    try:
        known = None if dtype is None else np.dtype(dtype)
    except TypeError:
        known = None
    if known is None or known not in DTYPE_TO_MLIR or known == float0:
        raise ValueError(f"itemsize_bits: {dtype} is not a dtype that arrays can have.")
    return _BITS[known] if known in _BITS else 8 * known.itemsize


_BITS = {d: int(d.name.lstrip("uint")) for d in NARROW_INTEGERS}
_BITS |= {d: int(d.name[5]) for d in NARROW_FLOATS}  # float4_e2m1fn

"""The scalar types of the namespace: `jnp.float32`, `jnp.int8`, `jnp.bool_`, ...

Each stands for its dtype wherever one is expected (``x.dtype == jnp.float32``, ``dtype=jnp.int8``,
``np.dtype(jnp.bfloat16)``), and called, it makes an array: ``jnp.float32(1.5)``.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from covector._ir import dtypes


class ScalarType(type):
    """The class of scalar types: equal to their dtypes, and callable to make arrays."""

    dtype: np.dtype

    def __call__(cls, x: Any = 0) -> Any:
        from covector.numpy._creation import asarray

        return asarray(x, dtype=cls.dtype)

    def __hash__(cls) -> int:
        return hash(cls.dtype.type)

    def __eq__(cls, other: Any) -> bool:
        return other is cls or cls.dtype.type == other

    def __ne__(cls, other: Any) -> bool:
        return not cls == other

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.dtype.type)

    def __repr__(cls) -> str:
        return f"<class 'covector.numpy.{cls.__name__}'>"

    def __reduce__(cls) -> str:
        return cls.__name__


def _scalar_type(name: str, scalar: type) -> Any:
    members = {
        "dtype": np.dtype(scalar),
        "__module__": "covector.numpy",
        "__doc__": f"The type of {name} scalars, and its dtype. Called, it makes an array.\n\n"
        f"    >>> jnp.zeros(2, jnp.{name}).dtype == jnp.{name}\n    True\n    "
        if scalar in _ALWAYS_THERE
        else f"The type of {name} scalars, and its dtype. Called, it makes an array.",
    }
    return ScalarType(name, (object,), members)


_ALWAYS_THERE = (np.float32, np.int32, np.bool_, ml_dtypes.bfloat16)

bool_ = _scalar_type("bool_", np.bool_)
int2 = _scalar_type("int2", ml_dtypes.int2)
int4 = _scalar_type("int4", ml_dtypes.int4)
int8 = _scalar_type("int8", np.int8)
int16 = _scalar_type("int16", np.int16)
int32 = _scalar_type("int32", np.int32)
int64 = _scalar_type("int64", np.int64)
uint2 = _scalar_type("uint2", ml_dtypes.uint2)
uint4 = _scalar_type("uint4", ml_dtypes.uint4)
uint8 = _scalar_type("uint8", np.uint8)
uint16 = _scalar_type("uint16", np.uint16)
uint32 = _scalar_type("uint32", np.uint32)
uint64 = _scalar_type("uint64", np.uint64)
float4_e2m1fn = _scalar_type("float4_e2m1fn", ml_dtypes.float4_e2m1fn)
float6_e2m3fn = _scalar_type("float6_e2m3fn", ml_dtypes.float6_e2m3fn)
float6_e3m2fn = _scalar_type("float6_e3m2fn", ml_dtypes.float6_e3m2fn)
float8_e3m4 = _scalar_type("float8_e3m4", ml_dtypes.float8_e3m4)
float8_e4m3 = _scalar_type("float8_e4m3", ml_dtypes.float8_e4m3)
float8_e4m3b11fnuz = _scalar_type("float8_e4m3b11fnuz", ml_dtypes.float8_e4m3b11fnuz)
float8_e4m3fn = _scalar_type("float8_e4m3fn", ml_dtypes.float8_e4m3fn)
float8_e4m3fnuz = _scalar_type("float8_e4m3fnuz", ml_dtypes.float8_e4m3fnuz)
float8_e5m2 = _scalar_type("float8_e5m2", ml_dtypes.float8_e5m2)
float8_e5m2fnuz = _scalar_type("float8_e5m2fnuz", ml_dtypes.float8_e5m2fnuz)
float8_e8m0fnu = _scalar_type("float8_e8m0fnu", ml_dtypes.float8_e8m0fnu)
bfloat16 = _scalar_type("bfloat16", ml_dtypes.bfloat16)
float16 = _scalar_type("float16", np.float16)
float32 = _scalar_type("float32", np.float32)
float64 = _scalar_type("float64", np.float64)
complex64 = _scalar_type("complex64", np.complex64)
complex128 = _scalar_type("complex128", np.complex128)

if hasattr(ml_dtypes, "int1"):  # older versions have none
    int1 = _scalar_type("int1", ml_dtypes.int1)
    uint1 = _scalar_type("uint1", ml_dtypes.uint1)

bool = bool_
single, double = float32, float64
csingle, cdouble = complex64, complex128


def __getattr__(name: str) -> Any:
    """The types whose width follows the flag ``jax_enable_x64``: `int_`, `uint`, `float_`, ..."""
    kinds = {"int_": int64, "uint": uint64, "float_": float64, "complex_": complex128}
    if name not in kinds:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals()[dtypes.canonicalize_dtype(kinds[name].dtype).name]


# --- abstract types and information --------------------------------------------------------------

generic = np.generic
number = np.number
integer = np.integer
signedinteger = np.signedinteger
unsignedinteger = np.unsignedinteger
inexact = np.inexact
floating = np.floating
complexfloating = np.complexfloating
flexible = np.flexible
character = np.character
object_ = np.object_
dtype = np.dtype
finfo = dtypes.finfo
iinfo = dtypes.iinfo


def issubdtype(arg1: Any, arg2: Any) -> Any:
    """Whether a dtype belongs to a family of dtypes.

    >>> jnp.issubdtype(jnp.bfloat16, jnp.floating)
    True
    """
    return dtypes.issubdtype(arg1, arg2)


def promote_types(a: Any, b: Any) -> np.dtype:
    """The dtype of an operation on these two.

    >>> jnp.promote_types("int32", "float32")
    dtype('float32')
    """
    return dtypes.promote_types(a, b)


def result_type(*args: Any) -> np.dtype:
    """The dtype of an operation on these arrays, scalars and dtypes.

    >>> jnp.result_type(jnp.int8(1), 1.5)
    dtype('float32')
    """
    return dtypes.result_type(*args)


def isdtype(dtype: Any, kind: Any) -> Any:
    """Whether a dtype is of a kind: a name of the array API, a dtype, or a tuple of them.

    Raises:
      TypeError, ValueError: the kind is not one of these.

    >>> jnp.isdtype(jnp.float32, "real floating")
    True
    """
    dtype = np.dtype(dtype)
    return any(_is_kind(dtype, k) for k in (kind if isinstance(kind, tuple) else (kind,)))


_KINDS = {
    "bool": dtypes.BOOLS,
    "signed integer": dtypes.SIGNED,
    "unsigned integer": dtypes.UNSIGNED,
    "integral": dtypes.INTEGERS,
    "real floating": dtypes.FLOATS,
    "complex floating": dtypes.COMPLEXES,
    "numeric": dtypes.INTEGERS | dtypes.INEXACTS,
}


def _is_kind(dtype: np.dtype, kind: Any) -> Any:
    if isinstance(kind, str):
        if kind not in _KINDS:
            raise ValueError(
                f"isdtype: kind must be one of {list(_KINDS)} or a dtype, got {kind!r}."
            )
        return dtype in _KINDS[kind]
    if isinstance(kind, (np.dtype, type)):
        return dtype == np.dtype(kind)
    raise TypeError(f"isdtype: kind must be a string, a dtype, or a tuple of them, got {kind!r}.")


def can_cast(from_: Any, to: Any, casting: str = "safe") -> Any:
    """Whether values of one dtype convert to another under a rule; as `numpy.can_cast`.

    >>> jnp.can_cast("int32", "float64")
    True
    """
    return np.can_cast(from_, to, casting=casting)  # type: ignore[arg-type]

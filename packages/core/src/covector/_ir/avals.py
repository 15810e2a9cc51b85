"""Abstract values: what a program knows of an array before it runs.

A `ShapedArray` is a shape, a dtype and a weak-type flag. Abstract values are interned: building an
equal one gives the same object, so equality is identity and hashing is free. Every memo in
Covector relies on that. Read next: `jaxpr.py`, the programs that are typed by them.
"""

from __future__ import annotations

import math
from operator import index
from typing import Any

import numpy as np
from jaxlib.weakref_lru_cache import weak_value_interner

from covector._ir.dtypes import DTYPE_TO_MLIR, DType, ExtendedDType, is_inexact, tangent_dtype

Shape = tuple[int, ...]


class ShapedArray:
    """The type of an array: `shape`, `dtype` and `weak_type`; equal ones are one object.

    >>> ShapedArray((3,), "float32") is ShapedArray([3], np.float32)
    True
    >>> ShapedArray((2, 3), "int32")
    i32[2,3]
    """

    __slots__ = (
        "__weakref__",
        "_mask",
        "_mlir",
        "_scalar",
        "_tangent",
        "dtype",
        "ndim",
        "shape",
        "size",
        "weak_type",
    )

    shape: Shape
    dtype: DType
    weak_type: bool
    ndim: int
    size: int
    _mask: ShapedArray | None
    _mlir: str | None
    _scalar: ShapedArray | None
    _tangent: ShapedArray | None

    def __new__(cls, shape: Any, dtype: Any, weak_type: bool = False) -> ShapedArray:
        if not isinstance(dtype, ExtendedDType):
            dtype = np.dtype(dtype)
        return _intern(tuple(map(index, shape)), dtype, bool(weak_type))

    @property
    def mlir(self) -> str:
        """The StableHLO type, for instance ``tensor<2x3xf32>``."""
        if self._mlir is None:
            element = DTYPE_TO_MLIR[self.dtype]
            if not element:
                raise TypeError(
                    f"XLA has no operations on arrays of dtype {self.dtype}; they can be moved and "
                    "read only. Convert them with NumPy: numpy.asarray(x).astype('int8')."
                )
            dims = "".join(f"{d}x" for d in self.shape)
            self._mlir = f"tensor<{dims}{element}>"
        return self._mlir

    @property
    def tangent(self) -> ShapedArray:
        """The type of tangents and cotangents (float0 for integers and booleans)."""
        if self._tangent is None:
            self._tangent = ShapedArray(self.shape, tangent_dtype(self.dtype), self.weak_type)
        return self._tangent

    @property
    def scalar(self) -> ShapedArray:
        """The type of one element."""
        if self._scalar is None:
            self._scalar = self.update(shape=())
        return self._scalar

    @property
    def mask(self) -> ShapedArray:
        """The type of booleans in this shape."""
        if self._mask is None:
            self._mask = ShapedArray(self.shape, np.bool_)
        return self._mask

    @property
    def has_tangent(self) -> bool:
        """Whether values of this type have tangents: floats and complex numbers do."""
        return is_inexact(self.dtype)

    def update(
        self, *, shape: Any = None, dtype: Any = None, weak_type: bool | None = None
    ) -> ShapedArray:
        """This type with some parts replaced."""
        return ShapedArray(
            self.shape if shape is None else shape,
            self.dtype if dtype is None else dtype,
            self.weak_type if weak_type is None else weak_type,
        )

    def strip_weak_type(self) -> ShapedArray:
        """This type without the weak flag."""
        return self.update(weak_type=False) if self.weak_type else self

    def str_short(self) -> str:
        """The form used in printed programs and error messages: ``f32[2,3]``."""
        return f"{short_dtype_name(self.dtype)}[{','.join(map(str, self.shape))}]"

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __repr__(self) -> str:
        return self.str_short() + (" weak" if self.weak_type else "")

    def __reduce__(self) -> tuple:
        return ShapedArray, (self.shape, self.dtype, self.weak_type)


def _create(shape: Shape, dtype: DType, weak_type: bool) -> ShapedArray:
    aval = object.__new__(ShapedArray)
    aval.shape = shape
    aval.dtype = dtype
    aval.weak_type = weak_type
    aval.ndim = len(shape)
    aval.size = math.prod(shape)
    aval._mask = aval._mlir = aval._scalar = aval._tangent = None
    return aval


_intern = weak_value_interner(_create)

_SHORT_NAMES = {"bfloat16": "bf16", "float0": "float0", "bool": "bool"}


def short_dtype_name(dtype: DType) -> str:
    """The dtype's name in printed programs: ``f32``, ``i8``, ``bf16``, ``key<fry>``."""
    if isinstance(dtype, ExtendedDType):
        return dtype.name
    name = _SHORT_NAMES.get(dtype.name)
    if name is None:
        if dtype.kind == "V" and dtype.fields and "float0" in dtype.fields:
            return "float0"
        name = dtype.name
        for long, short in (("float", "f"), ("uint", "u"), ("int", "i"), ("complex", "c")):
            if name.startswith(long):
                return short + name[len(long) :]
    return name

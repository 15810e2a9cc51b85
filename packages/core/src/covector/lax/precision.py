"""How exactly products are computed: `Precision`, and the algorithms of matrix products.

`canonicalize_precision` turns what users may write into the one form that equations hold: ``None``,
a pair of `Precision`s (of the left and the right operand), a `DotAlgorithmPreset` or a
`DotAlgorithm`. Where nothing is given, the flag `default_matmul_precision` decides.
"""

from __future__ import annotations

import enum
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from covector._config import default_matmul_precision
from covector._ir.dtypes import DTYPE_TO_MLIR, NARROW_FLOATS
from covector.errors import did_you_mean


class Precision(enum.Enum):
    """How closely a product approximates that of full 32-bit numbers, on accelerators.

    CPUs always use full precision. ``DEFAULT`` (also written ``"fastest"``, ``"bfloat16"``) is the
    fastest, ``HIGH`` (``"tensorfloat32"``, ``"bfloat16_3x"``) is between, and ``HIGHEST``
    (``"float32"``) is exact to 32 bits.

    >>> Precision("float32")
    Precision.HIGHEST
    """

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    __hash__ = object.__hash__  # members are unique objects: no call into Python for a memo's key

    @classmethod
    def _missing_(cls, value: object) -> Precision | None:
        return _PRECISION_NAMES.get(value) if isinstance(value, (str, type(None))) else None

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    def __str__(self) -> str:
        return self.name


_PRECISION_NAMES: dict[Any, Precision] = {
    "highest": Precision.HIGHEST,
    "float32": Precision.HIGHEST,
    "high": Precision.HIGH,
    "bfloat16_3x": Precision.HIGH,
    "tensorfloat32": Precision.HIGH,
    "default": Precision.DEFAULT,
    "bfloat16": Precision.DEFAULT,
    "fastest": Precision.DEFAULT,
    None: Precision.DEFAULT,
}


class DotAlgorithm(NamedTuple):
    """The algorithm of a matrix product, part by part, as StableHLO's ``dot_general`` has it.

    Operands are rounded to ``lhs_precision_type`` and ``rhs_precision_type`` and summed in
    ``accumulation_type``. The counts are above one where an operand is split into several parts,
    or several products are summed, to reach a higher precision. Hardware supports few
    combinations: `DotAlgorithmPreset` lists them.

    >>> DotAlgorithm(np.float16, np.float16, np.float32).accumulation_type.__name__
    'float32'
    """

    lhs_precision_type: Any
    rhs_precision_type: Any
    accumulation_type: Any
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False

    def swapped(self) -> DotAlgorithm:
        """The same algorithm with the operands exchanged."""
        return self._replace(
            lhs_precision_type=self.rhs_precision_type,
            rhs_precision_type=self.lhs_precision_type,
            lhs_component_count=self.rhs_component_count,
            rhs_component_count=self.lhs_component_count,
        )


class DotAlgorithmPreset(enum.Enum):
    """Algorithms known to exist on some platform, named by operand and accumulation types.

    On CPU: ``DEFAULT``, ``F16_F16_F16``, ``F32_F32_F32``, ``F64_F64_F64``, ``BF16_BF16_F32``,
    ``BF16_BF16_F32_X3`` and ``BF16_BF16_F32_X6``.
    """

    DEFAULT = enum.auto()
    ANY_F8_ANY_F8_F32 = enum.auto()
    ANY_F8_ANY_F8_F32_FAST_ACCUM = enum.auto()
    ANY_F8_ANY_F8_ANY = enum.auto()
    ANY_F8_ANY_F8_ANY_FAST_ACCUM = enum.auto()
    F16_F16_F16 = enum.auto()
    F16_F16_F32 = enum.auto()
    BF16_BF16_BF16 = enum.auto()
    BF16_BF16_F32 = enum.auto()
    BF16_BF16_F32_X3 = enum.auto()
    BF16_BF16_F32_X6 = enum.auto()
    BF16_BF16_F32_X9 = enum.auto()
    TF32_TF32_F32 = enum.auto()
    TF32_TF32_F32_X3 = enum.auto()
    F32_F32_F32 = enum.auto()
    F64_F64_F64 = enum.auto()

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    def __str__(self) -> str:
        return self.name

    @property
    def supported_lhs_types(self) -> tuple[Any, ...] | None:
        """Dtypes in which the left operand may be stored; None: any."""
        row = _ALGORITHMS.get(self.name)
        return row.storage if row else None

    supported_rhs_types = supported_lhs_types

    @property
    def accumulation_type(self) -> Any:
        """The dtype of the sums; None: not specified."""
        row = _ALGORITHMS.get(self.name)
        if row is not None:
            return row.accumulation
        return np.float32 if "F8_F32" in self.name else None

    def supported_output_types(self, lhs_dtype: Any, rhs_dtype: Any) -> tuple[Any, ...] | None:
        """Dtypes in which the result can be had, given the operands'; None: any."""
        row = _ALGORITHMS.get(self.name)
        if row is None:
            return None
        outputs = (row.accumulation,)
        narrow = row.storage[0]
        both_narrow = np.dtype(lhs_dtype) == np.dtype(rhs_dtype) == np.dtype(narrow)
        if row.narrow_output and both_narrow and narrow not in outputs:
            outputs += (narrow,)
        return outputs


class _Algorithm(NamedTuple):
    precision: str  # the type that operands are rounded to, in StableHLO's words
    storage: tuple[Any, ...]  # the types that operands may be stored in, the first by default
    accumulation: Any
    operations: int = 1
    narrow_output: bool = False
    on_cpu: bool = False


_BF16, _F16, _F32, _F64 = ml_dtypes.bfloat16, np.float16, np.float32, np.float64

_ALGORITHMS: dict[str, _Algorithm] = {
    "F16_F16_F16": _Algorithm("f16", (_F16,), _F16, on_cpu=True),
    "F16_F16_F32": _Algorithm("f16", (_F16,), _F32, narrow_output=True),
    "BF16_BF16_BF16": _Algorithm("bf16", (_BF16, _F32), _BF16),
    "BF16_BF16_F32": _Algorithm("bf16", (_BF16, _F32), _F32, narrow_output=True, on_cpu=True),
    "BF16_BF16_F32_X3": _Algorithm("bf16", (_F32,), _F32, operations=3, on_cpu=True),
    "BF16_BF16_F32_X6": _Algorithm("bf16", (_F32,), _F32, operations=6, on_cpu=True),
    "BF16_BF16_F32_X9": _Algorithm("bf16", (_F32,), _F32, operations=9),
    "TF32_TF32_F32": _Algorithm("tf32", (_F32,), _F32),
    "TF32_TF32_F32_X3": _Algorithm("tf32", (_F32,), _F32, operations=3),
    "F32_F32_F32": _Algorithm("f32", (_F32,), _F32, on_cpu=True),
    "F64_F64_F64": _Algorithm("f64", (_F64,), _F64, on_cpu=True),
}

PrecisionLike = (
    None | str | Precision | tuple[str, str] | tuple[Precision, Precision] | DotAlgorithm
    | DotAlgorithmPreset
)  # fmt: skip
CanonicalPrecision = None | tuple[Precision, Precision] | DotAlgorithm | DotAlgorithmPreset


def canonicalize_precision(precision: Any) -> CanonicalPrecision:
    """The form of ``precision`` that equations hold; None reads `default_matmul_precision`.

    Raises:
      ValueError: it names no precision and no algorithm.

    >>> canonicalize_precision("high")
    (Precision.HIGH, Precision.HIGH)
    """
    if precision is None:
        precision = default_matmul_precision.value
        if precision is None:
            return None
    if isinstance(precision, DotAlgorithmPreset):
        return precision
    if isinstance(precision, DotAlgorithm):
        lhs, rhs, accumulation = map(np.dtype, precision[:3])
        return DotAlgorithm(lhs, rhs, accumulation, *precision[3:])
    if isinstance(precision, str) and precision in DotAlgorithmPreset.__members__:
        return DotAlgorithmPreset[precision]
    if isinstance(precision, (str, Precision)):
        one = _one_precision(precision)
        if one is not None:
            return one, one
    elif isinstance(precision, (tuple, list)) and len(precision) == 2:
        left, right = (_one_precision(p) for p in precision)
        if left is not None and right is not None:
            return left, right
    raise ValueError(_precision_message(precision))


def _one_precision(precision: Any) -> Precision | None:
    if isinstance(precision, Precision):
        return precision
    return _PRECISION_NAMES.get(precision) if isinstance(precision, (str, type(None))) else None


def _precision_message(precision: Any) -> str:
    names = [n for n in _PRECISION_NAMES if n]
    presets = list(DotAlgorithmPreset.__members__)
    hint = did_you_mean(precision, names + presets) if isinstance(precision, str) else ""
    return (
        f"precision must be None, one of the strings {names}, a lax.Precision, a pair of these, "
        f"a lax.DotAlgorithmPreset or its name, or a lax.DotAlgorithm; got {precision!r}.{hint}"
    )


def swap_precision(precision: CanonicalPrecision) -> CanonicalPrecision:
    """The precision of a product whose operands are exchanged."""
    if isinstance(precision, DotAlgorithm):
        return precision.swapped()
    if isinstance(precision, tuple):
        return precision[1], precision[0]
    return precision


def precision_pair(precision: CanonicalPrecision) -> tuple[Precision, Precision]:
    """The precisions of both operands; algorithms, which only matrix products have, are ignored."""
    if precision is None or isinstance(precision, (DotAlgorithm, DotAlgorithmPreset)):
        return Precision.DEFAULT, Precision.DEFAULT
    return precision


# --- algorithms in StableHLO -------------------------------------------------------------------


class LoweredAlgorithm(NamedTuple):
    """An algorithm for operands of given types: its text, and the dtypes to store values in."""

    text: str
    lhs_dtype: np.dtype
    rhs_dtype: np.dtype
    out_dtype: np.dtype


def lower_algorithm(
    algorithm: DotAlgorithm | DotAlgorithmPreset, lhs: np.dtype, rhs: np.dtype, out: np.dtype,
    platform: str,
) -> LoweredAlgorithm | None:  # fmt: skip
    """How to state ``algorithm`` for operands of these dtypes; None where it states nothing.

    Raises:
      ValueError: the platform does not have it, or it does not take these operands.
    """
    if algorithm is DotAlgorithmPreset.DEFAULT:
        return None
    row = None if isinstance(algorithm, DotAlgorithm) else _ALGORITHMS.get(algorithm.name)
    if platform == "cpu" and not (row.on_cpu if row else algorithm in _on_cpu()):
        raise ValueError(
            f"The precision '{algorithm}' is not supported by dot_general on CPU. Supported there: "
            f"{', '.join(['DEFAULT', *[n for n, a in _ALGORITHMS.items() if a.on_cpu]])}."
        )
    if isinstance(algorithm, DotAlgorithm):
        return _lower_custom(algorithm)
    if row is None:
        return _lower_float8(algorithm, lhs, rhs, out)
    storage = [np.dtype(t) for t in row.storage]
    lhs = lhs if lhs in storage else storage[0]
    rhs = rhs if rhs in storage else storage[0]
    outputs = [np.dtype(t) for t in algorithm.supported_output_types(lhs, rhs) or ()]
    accumulation = np.dtype(row.accumulation)
    text = _algorithm_text(
        row.precision, row.precision, DTYPE_TO_MLIR[accumulation], 1, 1, row.operations, False
    )
    return LoweredAlgorithm(text, lhs, rhs, out if out in outputs else accumulation)


def _on_cpu() -> set[DotAlgorithm]:
    return {
        DotAlgorithm(np.dtype(row.storage[0]), np.dtype(row.storage[0]), np.dtype(row.accumulation))
        for row in _ALGORITHMS.values()
        if row.on_cpu and row.operations == 1
    }


def _lower_custom(algorithm: DotAlgorithm) -> LoweredAlgorithm:
    lhs, rhs, accumulation = algorithm[:3]
    left, right, total = (DTYPE_TO_MLIR[t] for t in (lhs, rhs, accumulation))
    text = _algorithm_text(left, right, total, *algorithm[3:])
    return LoweredAlgorithm(text, lhs, rhs, accumulation)


def _lower_float8(
    preset: DotAlgorithmPreset, lhs: np.dtype, rhs: np.dtype, out: np.dtype
) -> LoweredAlgorithm:
    if lhs not in NARROW_FLOATS or rhs not in NARROW_FLOATS:
        raise ValueError(
            f"The dot algorithm '{preset}' requires both inputs to have float8 dtypes. Got "
            f"{lhs.name} and {rhs.name} instead."
        )
    imprecise = preset.name.endswith("FAST_ACCUM")
    text = _algorithm_text(DTYPE_TO_MLIR[lhs], DTYPE_TO_MLIR[rhs], "f32", 1, 1, 1, imprecise)
    return LoweredAlgorithm(text, lhs, rhs, out)


def _algorithm_text(
    lhs: str, rhs: str, accumulation: str, lhs_count: int, rhs_count: int, operations: int,
    imprecise: bool,
) -> str:  # fmt: skip
    return (
        f"algorithm = <lhs_precision_type = {lhs}, rhs_precision_type = {rhs}, "
        f"accumulation_type = {accumulation}, lhs_component_count = {lhs_count}, "
        f"rhs_component_count = {rhs_count}, num_primitive_operations = {operations}, "
        f"allow_imprecise_accumulation = {'true' if imprecise else 'false'}>"
    )

"""Values and types of the elementwise operations, against the oracle, in every dtype they take."""

import covector
import ml_dtypes
import numpy as np
import pytest
from covector import dtypes
from oracle import Case

SIGNED = ("int2", "int4", "int8", "int16", "int32", "int64")
UNSIGNED = ("uint2", "uint4", "uint8", "uint16", "uint32", "uint64")
INTEGERS = ("int2", "int4", "int8", "int32", "int64", "uint4", "uint8", "uint32", "uint64")
NARROW = (
    "float4_e2m1fn",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
)
FLOATS = ("bfloat16", "float16", "float32", "float64")
COMPLEXES = ("complex64", "complex128")
INEXACTS = FLOATS + COMPLEXES
NUMBERS = INEXACTS + INTEGERS
ALL_DTYPES = ("bool", *SIGNED, *UNSIGNED, *NARROW, *FLOATS, *COMPLEXES)

UNARY = {
    # name            dtypes whose values are compared
    "abs": (*INEXACTS, *SIGNED[2:]),
    "acos": INEXACTS,
    "acosh": INEXACTS,
    "asin": INEXACTS,
    "asinh": INEXACTS,
    "atan": INEXACTS,
    "atanh": INEXACTS,
    "bitwise_not": ("bool", *INTEGERS),
    "cbrt": FLOATS,
    "ceil": FLOATS,
    "clz": INTEGERS,
    "conj": ("float32", "float64", *COMPLEXES),
    "cos": INEXACTS,
    "cosh": INEXACTS,
    "digamma": FLOATS,
    "erf": FLOATS,
    "erf_inv": FLOATS,
    "erfc": FLOATS,
    "exp": INEXACTS,
    "exp2": INEXACTS,
    "expm1": INEXACTS,
    "floor": FLOATS,
    "imag": COMPLEXES,
    "is_finite": FLOATS,
    "lgamma": FLOATS,
    "log": INEXACTS,
    "log1p": INEXACTS,
    "log2": INEXACTS,
    "logistic": INEXACTS,
    "neg": NUMBERS,
    "one_minus_square": NUMBERS,
    "population_count": INTEGERS,
    "real": COMPLEXES,
    "reciprocal": INEXACTS,
    "round": FLOATS,
    "rsqrt": INEXACTS,
    "sign": NUMBERS,
    "sin": INEXACTS,
    "sinh": INEXACTS,
    "sqrt": INEXACTS,
    "square": NUMBERS,
    "tan": INEXACTS,
    "tanh": INEXACTS,
}
BINARY = {
    "add": NUMBERS,
    "atan2": INEXACTS,
    "bitwise_and": ("bool", *INTEGERS),
    "bitwise_or": ("bool", *INTEGERS),
    "bitwise_xor": ("bool", *INTEGERS),
    "complex": ("float32", "float64"),
    "div": NUMBERS,
    "eq": ("bool", *NUMBERS),
    "ge": ("bool", *FLOATS, *INTEGERS),
    "gt": ("bool", *FLOATS, *INTEGERS),
    "le": ("bool", *FLOATS, *INTEGERS),
    "lt": ("bool", *FLOATS, *INTEGERS),
    "max": ("bool", *NUMBERS),
    "min": ("bool", *NUMBERS),
    "mul": NUMBERS,
    "mulhi": ("int8", "int32", "int64", "uint8", "uint32", "uint64"),
    "ne": ("bool", *NUMBERS),
    "nextafter": FLOATS,
    "polygamma": ("float32", "float64"),
    "pow": INEXACTS,
    "rem": (*FLOATS, *INTEGERS),
    "shift_left": INTEGERS,
    "shift_right_arithmetic": INTEGERS,
    "shift_right_logical": INTEGERS,
    "sub": NUMBERS,
    "zeta": ("float32", "float64"),
}
OPERATIONS = {name: (1, dtypes) for name, dtypes in UNARY.items()}
OPERATIONS |= {name: (2, dtypes) for name, dtypes in BINARY.items()}
OPERATIONS["clamp"] = (3, ("bool", *NUMBERS))

# The reference rounds exp2's argument times log(2), and loses digits for large arguments.
TOLERANCES = {
    "exp2": {"bfloat16": 0.1, "float16": 0.02, "float32": 1e-5, "float64": 1e-13},
    "atan2": {"complex64": 1e-5, "complex128": 1e-13},
}
TOLERANCES["exp2"] |= TOLERANCES["atan2"]


def samples(dtype: str, kind: int = 0) -> np.ndarray:
    """Ordinary and extreme values; those of another ``kind`` in another order."""
    dtype = np.dtype(getattr(ml_dtypes, dtype, dtype))
    if dtype == np.bool_:
        values = np.array([False, True, True, False])
        return np.roll(values, kind)
    if dtype.kind in "iu" or dtype.name.startswith(("int", "uint")):
        info = ml_dtypes.iinfo(dtype)
        values = [info.min, info.max, 0, 1, info.max // 2 + 1, info.min // 2, 2, 3 % info.max]
        wide = np.int64 if ml_dtypes.iinfo(dtype).bits < 8 else dtype
        return np.roll(np.array(values, wide).astype(dtype), 3 * kind)
    real = [0.5, -0.3, 1.7, -2.9, 0.0, -0.0, 1.0, -1.0, 3.0, 30.0, np.inf, -np.inf, np.nan]
    if dtype.kind == "c":
        real = [0.5 - 0.2j, -0.3 + 1j, 1.7, 2.9j, 0.0, 1.0 + 2j, 3 - 1j]
    return np.roll(np.array(real).astype(dtype), 5 * kind)


@pytest.mark.parametrize("name", OPERATIONS)
def test_values_in_each_dtype(oracle, name):
    count, dtypes = OPERATIONS[name]
    operands = {dtype: tuple(samples(dtype, i) for i in range(count)) for dtype in dtypes}
    if name == "pow":  # of a complex zero it is nan in the oracle, and 0 here
        operands |= {
            d: (np.where(x == 0, 1, x), y) for d, (x, y) in operands.items() if d[0] == "c"
        }
    oracle.using(x64=True).compare(
        f"jax.jit(lambda cases: {{d: lax.{name}(*xs) for d, xs in cases.items()}})(cases)",
        rtol=TOLERANCES.get(name),
        cases=operands,
    )


@pytest.mark.parametrize("name", OPERATIONS)
def test_dtypes_accepted_and_returned(oracle, name):
    count, _ = OPERATIONS[name]
    snippet = f"jax.eval_shape(lax.{name}, *[jax.ShapeDtypeStruct((2,), d)] * {count})"
    wider = {"abs": {"int2", "int4"}}.get(name, set())
    cases = [
        Case(snippet, {"d": np.dtype(getattr(ml_dtypes, d, d))}, may_raise=True)
        for d in ALL_DTYPES
        if d not in wider
    ]
    oracle.using(x64=True).compare_many(cases)


NARROW_OPERATIONS = "add mul sub neg abs exp log tanh max min sqrt sign floor erf lt eq div"


@pytest.mark.parametrize("dtype", NARROW)
def test_narrow_floats(oracle, dtype):
    """Types of eight bits and less are computed in a wider one and rounded."""
    x = samples("float32").astype(getattr(ml_dtypes, dtype))
    calls = [
        f"{name!r}: lax.{name}({'x, y' if OPERATIONS[name][0] == 2 else 'x'})"
        for name in NARROW_OPERATIONS.split()
    ]
    oracle.compare(
        f"jax.jit(lambda x, y: {{{', '.join(calls)}}})(x, y)",
        x=x,
        y=np.roll(x, 5),
    )


@pytest.mark.parametrize("dtype", [*SIGNED, *UNSIGNED])
def test_mulhi_in_each_width(dtype):
    info = ml_dtypes.iinfo(getattr(ml_dtypes, dtype, dtype))
    numbers = [int(info.min), int(info.max), int(info.max) // 2, int(info.max) // 3, 1, 0]
    wide = np.uint64 if dtype == "uint64" else np.int64
    x, y = (np.array(v, wide).astype(info.dtype) for v in (numbers * 6, sorted(numbers * 6)))
    with covector.enable_x64(True):
        result = np.asarray(covector.lax.mulhi(x, y)).astype(wide).tolist()
    bits = dtypes.itemsize_bits(info.dtype)
    assert result == [int(a) * int(b) >> bits for a, b in zip(x, y, strict=True)]

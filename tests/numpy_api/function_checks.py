"""What must hold for each row of `function_rows.py`, checked for many rows at once.

One program holds what is compiled for a topic: the calls in each dtype, their derivatives, and
their batched forms. What is compared with the oracle beyond values needs no program at all: dtypes,
shapes, weak types and errors come from `eval_shape` in both implementations.
"""

from __future__ import annotations

import inspect
import itertools
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import covector
import covector.numpy as jnp
import ml_dtypes
import numpy as np
from covector import image, nn
from oracle import Oracle
from oracle.compare import is_inexact, widened

from numpy_api.function_rows import OPERANDS, REAL, Row

# --- calls ----------------------------------------------------------------------------------------

SCOPE = {"jnp": jnp, "nn": nn, "image": image, "np": np, "random": covector.random}
NUMPY_SCOPE = {"jnp": np, "np": np}


def function_of(row: Row) -> Callable[..., Any]:
    """The call as a function of its operands."""
    return eval(f"lambda {', '.join(row.operands)}: {row.call}", dict(SCOPE))


def expected_of(row: Row) -> Callable[..., Any]:
    """The same for NumPy."""
    return eval(f"lambda {', '.join(row.operands)}: {row.numpy}", dict(NUMPY_SCOPE))


def operands_of(row: Row) -> list[np.ndarray]:
    return [OPERANDS[letter] for letter in row.operands]


def varied(row: Row) -> str:
    """The operands whose dtype is varied: the real ones, or all if none is."""
    return "".join(filter(REAL.__contains__, row.operands)) or row.operands


# --- dtypes, shapes, weak types and errors, without running anything ------------------------------

# Specifications of operands: a dtype and a shape; or a Python value.
COMMON = ["bool", "int32", "bfloat16"]
OTHERS = ["int8", "uint8", "complex64", "float32", "int64", "float8_e4m3fn", "int16", "float16"]
OTHERS += ["uint32", "float64", "uint16", "uint64", "float8_e5m2", "complex128"]
WEAK = (2, 0.5, 2j)
STRICT = [("int32", "float32"), ("float32", "float64"), ("int8", "int32")]
STRICT += [(0.5, "float32"), (2, "int8")]
# One for each way to promote: as they are, to floats, to numbers, to nothing, and by the pieces.
EVERY_PAIR = ("jnp.add", "jnp.divide", "jnp.remainder", "jnp.less", "jnp.concatenate")
NOT_ARRAYS = ([1.0, 2.0], "text", None, {})

ABSTRACT = """
from jax import image

SCOPE = {"jax": jax, "jnp": jnp, "nn": nn, "np": np, "image": image, "random": random}

def described(leaf):
    return str(leaf.dtype), tuple(leaf.shape), bool(getattr(leaf, "weak_type", False))

def outcome(call, letters, specs):
    arrays = {l: jax.ShapeDtypeStruct(s[1], jnp.dtype(s[0])) for l, s in zip(letters, specs)
              if s[0] != "value"}
    others = {l: s[1] for l, s in zip(letters, specs) if s[0] == "value"}
    weak = {l: v for l, v in others.items() if type(v) in (int, float, complex)}
    others = {l: v for l, v in others.items() if l not in weak}
    function = eval(f"lambda {', '.join(letters)}: {call}", dict(SCOPE))
    try:
        result = jax.eval_shape(lambda given: function(**given, **others), {**arrays, **weak})
    except Exception as error:
        classes = [c for c in type(error).__mro__ if issubclass(c, Exception)]
        public = [c for c in classes if c.__module__.partition(".")[0] not in ("jax", "covector")
                  or hasattr(jax.errors, c.__name__)]
        return "raises", [c.__name__ for c in public], str(error)
    return "gives", [described(leaf) for leaf in jax.tree.leaves(result)], ""

[outcome(*case) for case in cases]
"""

Case = tuple[str, str, list[tuple[str, Any]]]


def specs(row: Row, changes: dict[str, tuple[str, Any]]) -> Case:
    """The row's call with some operands changed."""
    given = [
        changes.get(letter, (str(OPERANDS[letter].dtype), OPERANDS[letter].shape))
        for letter in row.operands
    ]
    return row.call, row.operands, given


def typed(row: Row, letter: str, dtype: Any) -> tuple[str, Any]:
    """An operand in another dtype, or a Python number in its place."""
    if isinstance(dtype, str):
        return dtype, OPERANDS[letter].shape
    return "value", dtype


def dtype_cases(row: Row, number: int) -> Iterator[Case]:
    """All operands that vary in three dtypes, every seventh of the others, and a Python number."""
    letters = varied(row)
    if letters:
        for dtype in (*COMMON, *OTHERS[number % 7 :: 7], WEAK[number % 3]):
            yield specs(row, {letter: typed(row, letter, dtype) for letter in letters})


def pair_cases(row: Row, number: int) -> Iterator[Case]:
    """Pairs of dtypes, the first operand's and the others': all where a function stands for many
    that promote alike, elsewhere every 24th, another set for each row.
    """
    first, *others = varied(row)
    pairs = list(itertools.combinations((*COMMON, *OTHERS, *WEAK), 2))
    chosen = pairs if row.function in EVERY_PAIR else pairs[number % 24 :: 24]
    for one, other in chosen:
        changes = {letter: typed(row, letter, other) for letter in others}
        yield specs(row, {first: typed(row, first, one), **changes})


def strict_cases(row: Row, number: int) -> Iterator[Case]:
    """In strict mode: pairs that may not be promoted, and pairs that may."""
    first, *others = varied(row)
    for one, other in (STRICT[number % 3], STRICT[3 + number % 2]):
        changes = {letter: typed(row, letter, other) for letter in others}
        yield specs(row, {first: typed(row, first, one), **changes})


def shape_cases(row: Row, number: int) -> Iterator[Case]:
    """Empty operands, scalars, and operands that broadcast or do not fit."""

    def shaped(change: Callable[[tuple, int], tuple], letters: str) -> Case:
        return specs(
            row,
            {
                letter: (str(OPERANDS[letter].dtype), change(OPERANDS[letter].shape, position))
                for position, letter in enumerate(letters)
            },
        )

    if row.operands:
        yield shaped(lambda shape, i: (0, *shape[1:]) if shape else shape, row.operands)
        yield shaped(lambda shape, i: (*shape[:-1], 0) if shape else shape, row.operands)
        yield shaped(lambda shape, i: (), row.operands)
    if len(row.operands) > 1:
        first, last = row.operands[0], row.operands[-1]
        yield shaped(lambda shape, i: (), first)
        yield shaped(lambda shape, i: (1,), last)
        yield shaped(lambda shape, i: (5, *shape), last)
        yield shaped(lambda shape, i: (1, *shape[:-1], 7), last)


def bad_cases(row: Row, number: int) -> Iterator[Case]:
    """What is not an array in an operand's place; options that nothing has."""
    if row.operands:
        letter = row.operands[number % len(row.operands)]
        yield specs(row, {letter: ("value", NOT_ARRAYS[number % 4])})
    try:
        parameters = tuple(inspect.signature(eval(row.function, dict(SCOPE))).parameters)
    except (TypeError, ValueError):
        parameters = ()
    for option in ("axis=9", "dtype='nothing'", "out=np.zeros(3)", "unknown=1"):
        name = option.partition("=")[0]
        known = name in parameters or name == "unknown"
        if known and row.call[-1] == ")" and f"{name}=" not in row.call:
            call = f"{row.call[:-1]}, {option})".replace("(, ", "(")
            yield (call, *specs(row, {})[1:])


CASES = {
    "dtypes": dtype_cases,
    "pairs": pair_cases,
    "strict": strict_cases,
    "shapes": shape_cases,
    "bad": bad_cases,
}
SETTINGS = {"strict": {"numpy_dtype_promotion": "strict"}}


def cases_of(kind: str, rows: list[Row]) -> list[Case]:
    found = []
    for number, row in enumerate(rows):
        if kind not in ("pairs", "strict") or (row.pairs and len(varied(row)) > 1):
            found += CASES[kind](row, number)
    return found


def oracle_differences(oracle: Oracle, kind: str, rows: list[Row]) -> dict[str, list[str]]:
    """How the outcomes of calls differ from the oracle's, by function."""
    cases = cases_of(kind, rows)
    oracle = oracle.using(x64=True, **SETTINGS.get(kind, {}))
    expected = oracle.run(ABSTRACT, cases=cases).value
    actual = oracle.run_covector(ABSTRACT, cases=cases).value
    found: dict[str, list[str]] = {}
    for (call, _, given), ours, theirs in zip(cases, actual, expected):
        if not same(ours, theirs):
            text = f"{call} of {given}: {shown(ours)}, the oracle {shown(theirs)}"
            found.setdefault(call.partition("(")[0], []).append(text)
    return found


# Errors that the oracle meets by accident, in its own Python: that ours is of the kinds that users
# catch is enough.
ACCIDENTS = (
    "index out of range|len.. of unsized|is out of bounds for axis|not enough values to unpack|"
    "not compatible with finfo|Named reductions|unbound axis name|Slice size at index"
)
CAUGHT = {"TypeError", "ValueError", "IndexError", "NotImplementedError"}


def same(ours: tuple, theirs: tuple) -> bool:
    """Whether two outcomes agree: what catches the oracle's error must catch ours."""
    if ours[0] == theirs[0] == "raises":
        accident = re.search(ACCIDENTS, theirs[2]) or theirs[1][0] == "AssertionError"
        return set(theirs[1]) <= set(ours[1]) or bool(accident and CAUGHT & set(ours[1]))
    if ours[0] != theirs[0]:
        return False
    # Whether a boolean is weak changes nothing: promotion never comes to it.
    strong = [[(d, s, w and d != "bool") for d, s, w in outcome[1]] for outcome in (ours, theirs)]
    return strong[0] == strong[1]


def shown(outcome: tuple) -> str:
    kind, found, message = outcome
    return f"raises {found[0]} ({message[:70]!r})" if kind == "raises" else f"gives {found}"


# --- values ---------------------------------------------------------------------------------------

# What is allowed beyond the call's own tolerance: a few roundings of the dtype. Sums of products in
# the short types are accumulated in single precision, but rounded between the steps of a call.
ROUNDINGS = {"float32": 64, "complex64": 64, "bfloat16": 8, "float16": 16}
VALUE_DTYPES = ("bool", "int32", "bfloat16", "complex64")

# A topic's program is compiled once and run once: that LLVM leaves it as it is halves the time.
QUICKLY = {"xla_backend_optimization_level": 0}


def cast(x: np.ndarray, dtype: str) -> np.ndarray:
    """An operand in another dtype: not only of numbers that all dtypes have."""
    if dtype == "bool":
        return x > 0
    if x.dtype.kind == "c":
        return x
    if dtype == "int32":
        return np.round(2 * np.nan_to_num(x)).astype(np.int32) if x.dtype.kind == "f" else x
    if dtype == "complex64":
        return (x + 0.3j * np.roll(x, 1)).astype(np.complex64) if x.dtype.kind == "f" else x
    return x.astype(dtype if dtype != "bfloat16" else ml_dtypes.bfloat16)


def wide(x: np.ndarray) -> np.ndarray:
    """The same numbers in a dtype that NumPy computes with."""
    return x if x.dtype.kind in "biu" else widened(x)


def dtype_operands(row: Row, dtype: str) -> list[np.ndarray]:
    return [
        cast(OPERANDS[letter], dtype) if letter in varied(row) else OPERANDS[letter]
        for letter in row.operands
    ]


def compare_values(where: str, actual: Any, expected: Any, rtol: float) -> list[str]:
    """How results differ from NumPy's, beyond the roundings of their dtypes."""
    ours = [np.asarray(x) for x in covector.tree.leaves(actual)]
    theirs = [np.asarray(x) for x in covector.tree.leaves(expected)]
    if len(ours) != len(theirs):
        return [f"{where}: {len(ours)} results, expected {len(theirs)}"]
    found = []
    for x, y in zip(ours, theirs):
        eps = max(epsilon_of(x), epsilon_of(y))
        bound = max(rtol, ROUNDINGS.get(str(x.dtype), 4) * eps)
        scale = np.max(np.abs(wide(y)), initial=1.0, where=np.isfinite(wide(y)))
        if x.shape != y.shape:
            found.append(f"{where}: shape {x.shape}, expected {y.shape}")
        elif not np.allclose(wide(x), wide(y), bound, bound * scale, equal_nan=True):
            found.append(f"{where}: {x.tolist()}, expected {y.tolist()}")
    return found


def epsilon_of(x: np.ndarray) -> float:
    return float(ml_dtypes.finfo(x.dtype).eps) if is_inexact(x.dtype) else 0.0


def value_differences(rows: list[Row]) -> list[str]:
    """Calls in single precision and another dtype, in one program, against NumPy in double."""
    inputs = {
        (i, dtype): dtype_operands(row, dtype)
        for i, row in enumerate(rows)
        for dtype in ("float32", VALUE_DTYPES[i % len(VALUE_DTYPES)])
    }
    expected, found = {}, []
    for key, operands in list(inputs.items()):
        row = rows[key[0]]
        try:
            with warnings.catch_warnings(action="ignore"):
                expected[key] = expected_of(row)(*[wide(x) for x in operands])
        except (TypeError, ValueError):
            del inputs[key]  # NumPy has no answer; that we say the same as the oracle is checked

    def program(inputs: Any) -> Any:
        results = {}
        for key, operands in inputs.items():
            try:
                results[key] = function_of(rows[key[0]])(*operands)
            except (TypeError, ValueError, NotImplementedError):
                continue  # as the oracle does: the outcomes of all dtypes are compared with it
        return results

    for key, result in covector.jit(program, compiler_options=QUICKLY)(inputs).items():
        row = rows[key[0]]
        found += compare_values(f"{row.call} in {key[1]}", result, expected[key], row.rtol)
    return found


def compare_with_oracle(oracle: Oracle, rows: list[Row]) -> None:
    """The values of calls that NumPy does not have, in one program, against the oracle."""
    letters = sorted({letter for row in rows for letter in row.operands})
    calls = ", ".join([f"jax.tree.leaves({row.call})" for row in rows])
    arguments = ", ".join(letters)
    snippet = f"from jax import image\njax.jit(lambda {arguments}: [{calls}])({arguments})"
    operands = {letter: OPERANDS[letter] for letter in letters}
    loose = max(1e-9, *[row.rtol for row in rows])
    oracle.using(x64=True).compare(
        snippet, rtol=loose, atol=loose, check_weak_type=False, **operands
    )


# --- transformations ------------------------------------------------------------------------------


def eager_differences(rows: list[Row]) -> list[str]:
    """Calls whose shapes depend on values, in double precision, against NumPy."""
    found = []
    for row in rows:
        xs = operands_of(row)
        found += compare_values(row.call, function_of(row)(*xs), expected_of(row)(*xs), row.rtol)
    return found


def transform_differences(rows: list[Row]) -> list[str]:
    """Eager against NumPy, vmap and jit against eager, derivatives against differences.

    All in double precision. Where a call can be batched, its derivatives are taken in the batch.
    """
    functions = [function_of(row) for row in rows]
    operands = [operands_of(row) for row in rows]
    transformed = covector.jit(
        lambda given: [_transformed(*each) for each in zip(rows, functions, given)],
        compiler_options=QUICKLY,
    )
    found = []
    for row, f, xs, results in zip(rows, functions, operands, transformed(operands)):
        for i, result in enumerate(results):
            value, derivative = result
            varied = [variant(x, i) for x in xs]
            expected = f(*varied)
            if row.numpy and i == 0:
                found += compare_values(row.call, expected, expected_of(row)(*xs), row.rtol)
            found += compare_values(f"transformed {row.call}", value, expected, row.rtol)
            if derivative is not None and i == 0:
                found += _derivative_differences(row, f, varied, *derivative)
    return found


def variant(x: np.ndarray, i: int) -> np.ndarray:
    """Other numbers of the same kind."""
    return x * (1 - 0.0625 * i) if x.dtype.kind in "fc" else x


def tangent_of(x: np.ndarray) -> np.ndarray:
    return np.cos(3 * np.arange(x.size) + 1).reshape(x.shape).astype(x.dtype)


def smooth(row: Row) -> list[int]:
    return [i for i, letter in enumerate(row.operands) if OPERANDS[letter].dtype.kind in "fc"]


def _inexact(tree: Any) -> list[Any]:
    return [x for x in covector.tree.leaves(tree) if is_inexact(np.dtype(x.dtype))]


def _of_smooth(row: Row, f: Callable[..., Any], xs: list[Any]) -> Callable[..., list[Any]]:
    """The call as a function of its real and complex operands alone."""

    def function(*variables: Any) -> list[Any]:
        full = list(xs)
        for i, x in zip(smooth(row), variables):
            full[i] = x
        return _inexact(f(*full))

    return function


def _transformed(row: Row, f: Callable[..., Any], xs: list[Any]) -> list[Any]:
    """Value and derivatives: of the operands, and if the call can be batched, of a variant, too."""
    if not (row.batched and xs):
        return [_with_derivatives(row, f, *xs)]
    stacked = [jnp.stack([variant(x, i) for i in range(2)]) for x in xs]
    batched = covector.vmap(lambda *xs: _with_derivatives(row, f, *xs))(*stacked)
    return [covector.tree.map(lambda leaf, i=i: leaf[i], batched) for i in range(2)]


def _with_derivatives(row: Row, f: Callable[..., Any], *xs: Any) -> tuple[Any, Any]:
    if not row.derivative:
        return f(*xs), None
    g, variables = _of_smooth(row, f, list(xs)), [xs[i] for i in smooth(row)]
    tangents = [tangent_of(x) for x in variables]
    outs, out_tangents = covector.jvp(g, tuple(variables), tuple(tangents))
    cotangents = [y + 0.25 for y in outs]
    return f(*xs), (out_tangents, cotangents, covector.vjp(g, *variables)[1](cotangents))


def _derivative_differences(
    row: Row, f: Any, xs: list[Any], tangents: Any, cotangents: Any, pulled: Any
) -> list[str]:
    step, variables = 2.0**-20, [xs[i] for i in smooth(row)]
    directions = [tangent_of(x) for x in variables]
    g = _of_smooth(row, f, xs)
    ahead = g(*[x + step * t for x, t in zip(variables, directions)])
    behind = g(*[x - step * t for x, t in zip(variables, directions)])
    differences = [(np.asarray(a) - np.asarray(b)) / (2 * step) for a, b in zip(ahead, behind)]
    found = compare_values(f"jvp of {row.call}", tangents, differences, 1e-6)
    forward, reverse = _pairing(cotangents, tangents), _pairing(pulled, directions)
    if not np.isclose(forward, reverse, rtol=1e-9, atol=1e-9):
        found.append(f"vjp of {row.call}: pairs to {reverse}, the jvp to {forward}")
    return found


def _pairing(xs: Any, ys: Any) -> float:
    return float(sum([np.real(np.asarray(x) * np.asarray(y)).sum() for x, y in zip(xs, ys)]))

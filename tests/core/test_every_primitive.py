"""What must hold for every primitive; the rows are in `primitive_rows`, and one without fails.

Against itself: a function's program holds the primitive and keeps the rules of the representation,
its text compiles again, eager and jitted results agree, `vmap` agrees with a loop, and derivatives
(first and second, forward and reverse) agree with differences and with each other. Against the
oracle: the types of results for every dtype, weak type, zero-length axis and number of axes (or the
class of the error), values, `jvp` and `vjp` in double and single precision, and on empty operands.
More values, edges and messages are the matter of the files by topic.
"""

import re
from pathlib import Path

import covector
import numpy as np
import pytest
from core.primitive_checks import (
    check_batched,
    check_derivatives,
    check_program,
    check_staged,
    is_inexact,
)
from core.primitive_rows import ELSEWHERE, PRIMITIVES, ROWS
from oracle import Outcome, Tolerance, agree

FOLDERS = Path(__file__).parents[1]
COMPARED = {name: row for name, row in ROWS.items() if row.text is not None}

# Programs that take long to compile: their values in single precision and second derivatives are
# tested by topic.
COSTLY = ("igamma", "igammac", "regularized_incomplete_beta")
LONG = (*COSTLY, "bessel_i0e", "bessel_i1e", "random_gamma_grad")

# In which operands a primitive is differentiated, if not in all.
DIFFERENTIATED = {"zeta": (1,), "random_gamma_grad": ()}


def test_every_primitive_has_a_row():
    elsewhere = {name for names in ELSEWHERE.values() for name in names}
    assert set(ROWS) | elsewhere == set(PRIMITIVES)
    assert not set(ROWS) & elsewhere
    for file, names in ELSEWHERE.items():
        text = (FOLDERS / file).read_text(encoding="utf-8")
        for name, word in names.items():
            assert word in text, f"{file} does not test {name}"


@pytest.mark.parametrize("name", ROWS)
def test_primitive(name):
    function, operands, _ = ROWS[name]
    with covector.enable_x64(True):
        operands = covector.device_put(operands)
        check_program(function, *operands, holds=name)
        check_staged(function, *operands, ulps=16)
        if operands and PRIMITIVES[name].batch is not None:
            check_batched(function, *operands, axes=(0,), ulps=1024)
        if PRIMITIVES[name].jvp is not None:
            wrt = DIFFERENTIATED.get(name)
            order = 1 if name in ("eig", *COSTLY) else 2  # eig: of eigenvectors, not defined
            check_derivatives(covector.jit(function), *operands, wrt=wrt, order=order)


# --- against the oracle ---------------------------------------------------------------------------

# All rows in one program: to compile them one by one takes several times as long.
FUNCTIONS = (
    "functions = {\n" + "".join(f"    {n!r}: {r.text},\n" for n, r in COMPARED.items()) + "}\n"
)
QUICK = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}

EVERYTHING = """
def derivatives(f, args, wrt):
    def of(*variables):
        full = list(args)
        for i, x in zip(wrt, variables):
            full[i] = x
        return [y for y in jax.tree.leaves(f(*full)) if jax.dtypes.issubdtype(y.dtype, np.inexact)]

    def direction(y):
        t = np.cos(1.0 + np.arange(y.size)).reshape(y.shape)
        t = (t - 1j * t if y.dtype.kind == "c" else t).astype(y.dtype)
        return jax.device_put(t)  # as an array: the oracle indexes some by tracers

    variables = [args[i] for i in wrt]
    outs, pullback = jax.vjp(of, *variables)
    tangents = jax.jvp(of, variables, [direction(x) for x in variables])[1]
    return tangents, pullback([direction(y) for y in outs])

def everything(operands):
    values = {name: functions[name](*args) for name, args in operands.items()}
    slopes = {
        name: derivatives(functions[name], args, wrt[name])
        for name, args in operands.items()
        if name in wrt
    }
    return {name: (value, slopes.get(name)) for name, value in values.items()}

results = {**jax.jit(everything, compiler_options=options)(operands), **everything(costly)}
{name: results[name] for name in sorted(results)}
"""
PROGRAM = FUNCTIONS + EVERYTHING

# The oracle has no derivatives of these.
WITHOUT = (
    *("cholesky_update", "hessenberg", "householder_product", "random_gamma_grad", "reduce_window"),
    *("scatter_apply", "schur", "symmetric_product", "tridiagonal"),
)
# Nor in all operands of these.
IN_SOME = {"clamp": (1,), "regularized_incomplete_beta": (2,), "zeta": ()}


def differentiated(name):
    """The positions of the operands that the oracle differentiates in."""
    primitive, operands = PRIMITIVES[name], ROWS[name].operands
    if name in WITHOUT or primitive.jvp is None or not primitive.differentiable:
        return ()
    chosen = IN_SOME.get(name, range(len(operands)))
    return tuple([i for i in chosen if is_inexact(operands[i].dtype)])


def in_precision(dtype, operands):
    """The operands, the inexact ones in this precision."""
    complex_dtype = np.result_type(dtype, np.complex64)
    names = {"f": dtype, "c": complex_dtype}
    return [x.astype(names.get(x.dtype.kind, x.dtype)) for x in operands]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_values_and_derivatives_are_the_oracle_s(oracle, dtype):
    """Derivatives in double precision: their rules do not depend on it."""
    double = dtype == "float64"
    operands = {name: in_precision(dtype, row.operands) for name, row in COMPARED.items()}
    long = {name: operands.pop(name) for name in LONG}
    wrt = {name: wrt for name in COMPARED if (wrt := differentiated(name))}
    inputs = {"operands": operands, "costly": {}, "wrt": wrt if double else {}, "options": QUICK}
    oracle = oracle.using(x64=double)
    if double:  # ours one by one: `test_primitive` compiles the same
        actual = oracle.run_covector(PROGRAM, **{**inputs, "costly": long})
        expected = oracle.run(PROGRAM, **{**inputs, "operands": {**operands, **long}})
    else:
        actual, expected = oracle.run_covector(PROGRAM, **inputs), oracle.run(PROGRAM, **inputs)
    assert_rows_agree(actual, expected, np.finfo(dtype).eps)


def in_dtype(dtype, row):
    """The operands with those of the first one's dtype in another; nothing if that is refused."""
    first = row.operands[0].dtype if row.operands else None
    if dtype == "int64" and np.iscomplexobj(row.operands[:1]):
        return None
    change = np.exp(0.7j) if dtype == "complex128" else 3
    operands = [(x * change).astype(dtype) if x.dtype == first else x for x in row.operands]
    try:
        covector.eval_shape(row.function, *operands)
    except (TypeError, ValueError, OverflowError, RuntimeWarning):  # of an infinity as an integer
        return None
    return operands


@pytest.mark.parametrize("dtype", ["complex128", "int64"])
def test_values_in_other_dtypes_are_the_oracle_s(oracle, dtype):
    with covector.enable_x64(True):
        operands = {name: in_dtype(dtype, row) for name, row in COMPARED.items()}
    operands = {name: args for name, args in operands.items() if args is not None}
    inputs = {"operands": operands, "costly": {}, "wrt": {}, "options": QUICK}
    oracle = oracle.using(x64=True)
    actual, expected = oracle.run_covector(PROGRAM, **inputs), oracle.run(PROGRAM, **inputs)
    assert_rows_agree(actual, expected, np.finfo(np.float64).eps)


def assert_rows_agree(actual, expected, epsilon):
    """Each row of the results, to 64 units in the last place; all that differ are reported."""
    for outcome in (actual, expected):
        assert outcome.error is None, outcome.error.traceback
    ours, theirs = actual.result, expected.result
    assert ours.keys == theirs.keys
    failures = []
    for name, x, y in zip(ours.keys, ours.children, theirs.children, strict=True):
        bound = 64 * epsilon
        failures += [
            f"{name}: {text}" for text in agree(Outcome(x), Outcome(y), Tolerance(bound, bound))
        ]
    assert not failures, "\n".join(failures)


# --- types of results -----------------------------------------------------------------------------

TYPES = """
def described(function, specs):
    structs = [jax.ShapeDtypeStruct(s, np.dtype(d), weak_type=w) for s, d, w in specs]
    try:
        leaves = jax.tree.leaves(jax.eval_shape(function, *structs))
    except Exception as error:
        return tuple([c.__name__ for c in type(error).__mro__ if c.__module__ == "builtins"])
    return " ".join([f"{y.dtype}{list(y.shape)}{'*' if y.weak_type else ''}" for y in leaves])

{
    name: {label: described(functions[name], specs) for label, specs in variants.items()}
    for name, variants in rows.items()
}
"""
DTYPES = {
    False: ("float32", "bfloat16", "complex64", "int32", "uint8", "int4", "bool"),
    True: ("float64", "float16", "float8_e4m3fn", "complex128", "int64", "uint32", "int8"),
}


def specs_of(operands):
    return [(x.shape, x.dtype.name, False) for x in operands]


def variants_of_dtype(operands, dtypes):
    """Operands of the first one's dtype in others; and in its own, all or one of them weak."""
    specs = specs_of(operands)
    first = specs[0][1] if specs else None
    for dtype in dtypes:
        yield dtype, [(s, dtype if d == first else d, w) for s, d, w in specs]
    for i in [*range(len(specs)), None]:
        yield f"weak {i}", [(s, d, i in (k, None)) for k, (s, d, _) in enumerate(specs)]


def variants_of_shape(operands):
    """An axis of length zero in one operand, or in all that have an axis of that size; no axes."""
    specs = specs_of(operands)
    for i, (shape, dtype, weak) in enumerate(specs):
        for axis, size in enumerate(shape):
            changed = (*shape[:axis], 0, *shape[axis + 1 :])
            yield f"{i}.{axis}", [*specs[:i], (changed, dtype, weak), *specs[i + 1 :]]
            every = [(tuple([0 if n == size else n for n in s]), d, w) for s, d, w in specs]
            yield f"all of size {size}", every
        yield f"{i} scalar", [*specs[:i], ((), dtype, weak), *specs[i + 1 :]]
    yield "all scalars", [((), d, w) for _, d, w in specs]


# Labels of variants whose type is another one than the oracle's, with the reason.
BETTER = {
    # The oracle's types hold, but the operation does not: it fails when it is lowered.
    **dict.fromkeys(("argmax", "argmin"), "complex"),
    "cumlogsumexp": "u?int",
    "reshape": ".*scalar",
    # The oracle takes no integers of four bits.
    **dict.fromkeys(("abs", "reduce_and", "reduce_or", "reduce_xor"), "int4|.*scalar"),
    # A matrix of truth values becomes one of floats, weakly typed in the oracle.
    "eigh": "bool",
    # Out of bounds: the oracle says so with an IndexError of Python's.
    "reduce": ".*scalar",
    # Elementwise, which the oracle's (a loop) is not: weak if both are, and with its error.
    "random_gamma_grad": "weak None|.*0",
}


@pytest.mark.parametrize("x64", [False, True])
def test_types_are_the_oracle_s(oracle, x64):
    """For every dtype, weak type, zero-length axis and number of axes: a type, or an error."""
    rows = {}
    for name, row in COMPARED.items():
        operands = in_precision("float64" if x64 else "float32", row.operands)
        rows[name] = dict(variants_of_dtype(operands, DTYPES[x64]))
        rows[name] |= {} if x64 else dict(variants_of_shape(operands))
    oracle = oracle.using(x64=x64)
    expected = oracle.value(FUNCTIONS + TYPES, rows=rows)
    actual = oracle.run_covector(FUNCTIONS + TYPES, rows=rows).value
    failures = [
        f"{name}, {label}: {ours}, expected {theirs}"
        for name, types in expected.items()
        for label, theirs in types.items()
        if not same_type_or_error(ours := actual[name][label], theirs)
        and not (name in BETTER and re.match(BETTER[name], label))
    ]
    assert not failures, "\n".join(failures)


def same_type_or_error(ours, theirs):
    """Equal types, or an error that is caught by what catches the oracle's."""
    if isinstance(ours, tuple) and isinstance(theirs, tuple):
        return set(ours) >= set(theirs)
    return ours == theirs


# --- empty operands, and operands without axes ----------------------------------------------------

EDGES = """
def edges(function, args, wrt):
    def of(*variables):
        full = list(args)
        for i, x in zip(wrt, variables):
            full[i] = x
        return function(*full)

    stacked = [lax.broadcast(x, (2,)) for x in args]
    variables = [args[i] for i in wrt]
    tangents = jax.jvp(of, variables, variables)[1] if wrt else None
    return function(*args), jax.vmap(function)(*stacked), tangents

def everything(operands):
    return {
        name: {label: edges(functions[name], args, wrt[name]) for label, args in variants.items()}
        for name, variants in operands.items()
    }

jax.jit(everything, compiler_options=options)(operands)
"""


# What the oracle cannot compile, batch or differentiate when it is empty.
FULL = ("cholesky_update", "hessenberg", "scatter", "scatter_max", "scatter_min")


def accepted_edges(name, row):
    """Of the shapes that the function accepts: one with a length of zero, one without axes."""
    found = {}
    for label, specs in variants_of_shape(row.operands):
        kind = "scalars" if label.endswith("scalars") else "empty"
        if kind in found or label.endswith("scalar") or (kind == "empty" and name in FULL):
            continue
        operands = [np.resize(x, s) for x, (s, _, _) in zip(row.operands, specs, strict=True)]
        try:
            covector.eval_shape(row.function, *operands)
        except (TypeError, ValueError, IndexError):  # the last by the text itself
            continue
        found[kind] = operands
    return found


def test_values_at_edges_are_the_oracle_s(oracle):
    """Values, batches and tangents, where an axis has length zero, and where there are no axes."""
    with covector.enable_x64(True):
        operands = {n: accepted_edges(n, row) for n, row in COMPARED.items() if row.operands}
    inputs = {
        "operands": {name: variants for name, variants in operands.items() if variants},
        "wrt": {name: differentiated(name) for name in COMPARED},
        "options": QUICK,
    }
    oracle = oracle.using(x64=True)
    expected = oracle.run(FUNCTIONS + EDGES, **inputs)
    actual = oracle.run_covector(FUNCTIONS + EDGES, **inputs)
    assert_rows_agree(actual, expected, np.finfo(np.float64).eps)

"""Sorting and top_k, against the oracle and NumPy, under every transformation."""

import covector
import ml_dtypes
import numpy as np
import pytest
from core import primitive_checks as checks
from covector import lax
from covector._ir import dtypes
from covector.lax.sort import reordered, sorting_permutation
from oracle import Case, Tolerance

EXACT = Tolerance(exact=True)
NAN, NEGATIVE_NAN = np.uint32([0x7FC00000, 0xFFC00000]).view(np.float32)
EDGES = np.array(
    [1, -0.0, 0.0, NAN, -1, NEGATIVE_NAN, np.inf, -np.inf, 0.0, -0.0, 3e38, -3e38, 2, 2, NAN],
    np.float32,
)


def sample(shape, dtype, seed=0):
    """Few different values, so that there are ties."""
    dtype = dtypes.DTYPES.get(dtype, dtype)
    values = np.random.default_rng(seed).integers(-4, 5, shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * np.random.default_rng(seed + 1).integers(-1, 2, shape)
    if dtypes.is_unsigned(dtype) or dtypes.is_bool(dtype) or "e8m0" in np.dtype(dtype).name:
        values = np.abs(values)
    if dtype in (ml_dtypes.int2, ml_dtypes.uint2):
        values = values % 2
    if "e8m0" in np.dtype(dtype).name:
        values = 2.0**values
    return values.astype(dtype)


def wide(x):
    return np.asarray(x).astype(np.float64) if np.asarray(x).dtype.kind == "V" else np.asarray(x)


# --- values --------------------------------------------------------------------------------------


# XLA computes with none of these on CPU: it has no one-bit arrays, and no code for six-bit floats.
NOT_COMPUTED = ("int1", "uint1", "float6_e2m3fn", "float6_e3m2fn")


@pytest.mark.parametrize("dtype", [d for d in dtypes.DTYPES if d not in NOT_COMPUTED])
def test_every_dtype(dtype):
    """One array, and the positions of equal elements, along each axis, against NumPy."""
    x = sample((3, 70), dtype)
    places = np.indices(x.shape)

    @covector.jit
    def results(x, places):
        return [
            (lax.sort(x, axis), *lax.sort_key_val(x, places[axis], axis),
             sorting_permutation([x], axis))
            for axis in (0, 1)
        ]  # fmt: skip

    with covector.enable_x64(True):
        for axis, (alone, keys, carried, order) in enumerate(results(x, tuple(places))):
            expected = np.argsort(wide(x), axis=axis, kind="stable")
            np.testing.assert_array_equal(carried, expected)
            np.testing.assert_array_equal(order, expected)
            assert (alone.dtype, keys.dtype) == (x.dtype, x.dtype)
            in_order = np.take_along_axis(wide(x), expected, axis)
            np.testing.assert_array_equal(wide(alone), in_order)
            np.testing.assert_array_equal(wide(keys), in_order)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "float8_e5m2"])
@pytest.mark.parametrize("copies", [1, 20])
def test_edges(oracle, dtype, copies):
    """Zeros of both signs are equal, nans of both signs are equal and last: bit for bit."""
    x = np.tile(EDGES, copies)
    with np.errstate(over="ignore"):
        x = x.astype(dtypes.DTYPES[dtype])
    snippets = [
        "lax.sort(x)",
        "lax.sort((x, i))",
        "lax.sort((x, i), num_keys=2)",
        "lax.sort((i, x), num_keys=2)",
        "lax.sort((lax.rem(i, np.int32(3)), x, i), num_keys=2)",
    ]
    i = np.arange(x.size, dtype=np.int32)
    oracle.compare_many([Case(s, {"x": x, "i": i}, EXACT) for s in snippets])


def test_edges_in_double_precision(oracle):
    x = np.tile(EDGES, 2).astype(np.float64)
    values = {"x": x, "i": np.arange(x.size)}
    oracle = oracle.using(x64=True)
    oracle.compare_many([Case("lax.sort(x)", values)])  # but for the order of -0.0 and 0.0
    oracle.compare_many([Case("lax.sort((x, i))", values, EXACT)])


def test_edges_of_complex_numbers(oracle):
    parts = np.array([1, -0.0, 0.0, np.nan, -1, np.inf], np.float32)
    x = np.stack(np.meshgrid(parts, parts[::-1]), axis=-1).view(np.complex64).reshape(-1)
    i = np.arange(x.size, dtype=np.int32)
    oracle.compare_many([Case(s, {"x": x, "i": i}) for s in ("lax.sort(x)", "lax.sort((x, i))[1]")])


def test_integers_at_the_ends_of_their_range(oracle):
    for dtype in ("int8", "uint8", "int16", "uint16", "int32", "uint32"):
        info = np.iinfo(dtype)
        x = np.array([5, info.max, info.min, 0, info.max - 1, info.min + 1, 5], dtype)
        oracle.compare_many([Case("lax.sort((x, lax.iota('int32', 7)))", {"x": x}, EXACT)])


def test_subnormal_numbers_are_ordered():
    """The processor takes them for zeros in comparisons; the order of keys does not."""
    x = np.array([2e-45, -1e-42, 0, 1e-42, -0.0, -3e-45], np.float32)
    result = np.asarray(lax.sort(x))
    np.testing.assert_array_equal(result.view(np.int32), np.sort(x, kind="stable").view(np.int32))


@pytest.mark.parametrize("num_keys", [1, 2, 3])
@pytest.mark.parametrize("kinds", [("int8", "uint8", "bool"), ("float32", "int32", "float32"),
                                   ("complex64", "bfloat16", "int32")])  # fmt: skip
def test_several_keys(oracle, kinds, num_keys):
    """Narrow keys are packed together, wide ones are compared one after the other."""
    operands = [sample((4, 30), kind, seed) for seed, kind in enumerate(kinds)]
    operands.append(np.arange(120, dtype=np.int32).reshape(4, 30))
    values = {"operands": operands, "n": num_keys}
    snippets = ["lax.sort(tuple(operands), num_keys=n)", "lax.sort(operands, 0, num_keys=n)"]
    oracle.compare_many([Case(s, values, EXACT) for s in snippets])


@pytest.mark.parametrize(
    "snippet",
    [
        "lax.sort(np.ones((0,)))",
        "lax.sort(np.ones((3, 0)), 0)",
        "lax.sort((np.ones((3, 0)), np.ones((3, 0))), 0)",
        "lax.sort((np.ones((1, 2)), np.zeros((1, 2))), 0)",
        "lax.sort(lax.full((3,), 1.0))",
        "lax.sort((lax.full((3,), 1.0), lax.full((3,), 2)))",
        "lax.sort([np.array([2, 1])])",
        "lax.sort_key_val(np.array([2., 1.]), np.array([True, False]))",
        "lax.top_k(lax.full((3,), 1.0), 2)[0]",
    ],
)
def test_forms(oracle, snippet):
    oracle.compare(snippet)


# --- transformations -----------------------------------------------------------------------------


def distinct(shape, dtype=np.float64, seed=0):
    """Values far apart, so that finite differences do not change their order."""
    x = np.random.default_rng(seed).permutation(np.prod(shape)).reshape(shape) / 4
    return (x * (1 + 1j) if np.dtype(dtype).kind == "c" else x).astype(dtype)


@pytest.mark.parametrize(
    ("function", "count"),
    [
        (lambda x: lax.sort(x, 0), 1),
        (lambda x: lax.sort(x), 1),
        (lambda x, y: lax.sort((x, y)), 2),
        (lambda x, y: lax.sort((x, y), num_keys=2), 2),
        (lambda x, y: lax.sort_key_val(x, y, 0), 2),
        (lambda x: lax.top_k(x, 2), 1),
        (lambda x: lax.top_k(x, 2, axis=0), 1),
    ],
)
def test_transformations(function, count):
    checks.check_all(function, *[distinct((3, 4), seed=i) for i in range(count)], order=1)


def test_transformations_of_complex_keys():
    checks.check_all(lax.sort, distinct((3, 4), np.complex128), order=1)


def test_integer_keys_of_differentiable_values():
    keys = sample((3, 4), "int32")
    checks.check_all(lambda y: lax.sort((keys, y))[1], distinct((3, 4)))


def test_derivative_runs_one_sort():
    program = covector.make_jaxpr(lambda x: covector.jvp(lax.sort, (x,), (x,)))(np.ones(4))
    assert [e.primitive.name for e in program.eqns].count("argsort") == 1
    assert "sort" not in [e.primitive.name for e in program.eqns]


def test_reordered():
    x = sample((3, 4), "float32")
    for axis in (0, 1):
        order = np.argsort(x, axis)
        np.testing.assert_array_equal(
            reordered(x, order.astype(np.int32), axis), np.take_along_axis(x, order, axis)
        )


# --- other platforms -----------------------------------------------------------------------------


def test_elsewhere_keys_are_compared_as_they_are(monkeypatch):
    """The lowering for accelerators, run here: the same results."""
    from covector._lower.module import FunctionBuilder

    x, y = np.tile(EDGES, 3), np.arange(45, dtype=np.int32)
    z = sample((45,), "complex64")
    programs = [
        lambda x, y, z: lax.sort(x),
        lambda x, y, z: lax.sort((x, y)),
        lambda x, y, z: lax.sort((z, x, y), num_keys=2),
        lambda x, y, z: (sorting_permutation([x], 0), sorting_permutation([z, x], 0)),
        lambda x, y, z: lax.top_k(x, 30),
    ]
    expected = [covector.jit(f)(x, y, z) for f in programs]
    original = FunctionBuilder.__init__

    def pretend(self, module):
        original(self, module)
        self.platform = "elsewhere"

    covector.clear_caches()
    monkeypatch.setattr(FunctionBuilder, "__init__", pretend)
    with covector.enable_x64(True):  # other keys of every memo
        results = [covector.jit(f)(x, y, z) for f in programs]
    monkeypatch.undo()
    covector.clear_caches()
    for ours, theirs in zip(checks.leaves(results), checks.leaves(expected), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_on_cpu_one_array_of_integers_is_sorted():
    text = covector.jit(lambda x, y: lax.sort((x, y))).lower(EDGES, EDGES).as_text()
    (line,) = [line for line in text.splitlines() if "stablehlo.sort" in line]
    assert line.count("%") == 2, "one operand, one result"
    assert "tensor<15xui64>" in text


# --- top_k ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [0, 1, 3, 40, 80])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32", "uint8", "int8", "bool"])
def test_top_k(oracle, dtype, k):
    """Few elements are searched for, many are sorted."""
    x = sample((3, 80), dtype)
    oracle.compare_many([Case("lax.top_k(x, k)", {"x": x, "k": k}, EXACT)])


@pytest.mark.parametrize("k", [2, 15, 60, 150])
def test_top_k_edges(oracle, k):
    """0.0 is above -0.0, a positive nan above everything, a negative one below."""
    x = np.tile(EDGES, 10)
    oracle.compare_many([Case("lax.top_k(x, k)", {"x": x, "k": k}, EXACT)])


def test_top_k_along_axes(oracle):
    x = sample((70, 3, 4), "float32")
    snippets = [f"lax.top_k(x, {k}, axis={a})" for k, a in [(2, 0), (50, 0), (2, 1), (3, -1)]]
    oracle.compare_many([Case(s, {"x": x}, EXACT) for s in snippets])


# --- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("snippet", "words"),
    [
        ("lax.sort(())", "at least one"),
        ("lax.sort(np.ones((2, 3)), 2)", "out of bounds"),
        ("lax.sort(np.ones((2, 3)), -3)", "out of bounds"),
        ("lax.sort((np.ones(2), np.ones(3)))", "equal shapes"),
        ("lax.sort((np.ones(2), np.ones(2)), num_keys=3)", "num_keys=3"),
        ("lax.sort((np.ones(2), np.ones(2)), num_keys=0)", "num_keys=0"),
        ("lax.sort(np.ones(2), num_keys=2)", "num_keys=2"),
        ("lax.sort(np.ones(2), 0.5)", "integer"),
        ("lax.top_k(np.ones(3), 4)", "k=4"),
        ("lax.top_k(np.ones(3), -1)", "-1"),
        ("lax.top_k(np.ones(3), 1, axis=1)", "out of bounds"),
        ("lax.top_k(1.0, 1)", "out of bounds"),
        ("lax.top_k(np.ones(3, complex), 1)", "complex"),
        ("lax.top_k([1, 2], 1)", "list"),
    ],
)
def test_errors(oracle, snippet, words):
    assert words in oracle.compare_error(snippet).message

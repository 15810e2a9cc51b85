"""Products of arrays, against the oracle and NumPy, under every transformation."""

import covector
import ml_dtypes
import numpy as np
import pytest
from core import primitive_checks as checks
from covector import lax
from covector._ir import dtypes
from oracle import Case, Tolerance

# name: shapes of the operands, and dimension numbers ((contracting), (batch))
PRODUCTS = {
    "scalars": ((), (), (((), ()), ((), ()))),
    "inner": ((3,), (3,), (((0,), (0,)), ((), ()))),
    "outer": ((3,), (2,), (((), ()), ((), ()))),
    "matrix_vector": ((2, 3), (3,), (((1,), (0,)), ((), ()))),
    "matrices": ((2, 3), (3, 4), (((1,), (0,)), ((), ()))),
    "transposed_lhs": ((3, 2), (3, 4), (((0,), (0,)), ((), ()))),
    "transposed_rhs": ((2, 3), (4, 3), (((1,), (1,)), ((), ()))),
    "both_transposed": ((3, 2), (4, 3), (((0,), (1,)), ((), ()))),
    "full_contraction": ((2, 3), (3, 2), (((0, 1), (1, 0)), ((), ()))),
    "two_contracting": ((2, 3, 4), (4, 5, 3), (((1, 2), (2, 0)), ((), ()))),
    "contracting_out_of_order": ((2, 3, 4), (5, 4, 3), (((2, 1), (1, 2)), ((), ()))),
    "batch": ((2, 3, 4), (2, 4, 5), (((2,), (1,)), ((0,), (0,)))),
    "batch_elsewhere": ((3, 4, 2), (4, 2, 5), (((1,), (0,)), ((2,), (1,)))),
    "two_batch": ((3, 2, 4), (2, 4, 3), (((2,), (1,)), ((0, 1), (2, 0)))),
    "batch_only": ((2, 3), (3, 2), (((), ()), ((0, 1), (1, 0)))),
    "nothing_to_sum": ((2, 0), (0, 3), (((1,), (0,)), ((), ()))),
    "empty": ((0, 3), (3, 2), (((1,), (0,)), ((), ()))),
    "empty_batch": ((0, 2, 3), (0, 3, 2), (((2,), (1,)), ((0,), (0,)))),
}
DOT = "lax.dot_general(x, y, numbers, **options)"


def sample(shape, dtype, seed=0):
    """Small whole numbers: products and their sums are exact in most dtypes."""
    values = np.random.default_rng(seed).integers(-3, 4, shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * np.random.default_rng(seed + 1).integers(-3, 4, shape)
    if dtypes.is_unsigned(np.dtype(dtype)) or "e8m0" in np.dtype(dtype).name:
        values = np.abs(values) + 1
    return values.astype(dtype)


def real_sample(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def case(x, y, numbers, **options):
    return Case(DOT, {"x": x, "y": y, "numbers": numbers, "options": options})


def test_values(oracle):
    oracle.compare_many(
        [
            case(sample(a, np.float32), sample(b, np.float32, 7), numbers)
            for a, b, numbers in PRODUCTS.values()
        ]
    )


@pytest.mark.parametrize("name", PRODUCTS)
def test_transformations(name):
    a, b, numbers = PRODUCTS[name]
    checks.check_all(
        lambda x, y: lax.dot_general(x, y, numbers),
        real_sample(a),
        real_sample(b, 7),
        rtol=1e-4,
        order=2 if name in ("matrices", "batch_elsewhere") else 1,
    )


@pytest.mark.parametrize("name", ["matrices", "batch_elsewhere"])
def test_transformations_of_complex_products(name):
    a, b, numbers = PRODUCTS[name]
    x, y = (real_sample(s, i) + 1j * real_sample(s, i + 5) for i, s in enumerate((a, b)))
    checks.check_all(lambda x, y: lax.dot_general(x, y, numbers), x, y, rtol=1e-4)


@pytest.mark.parametrize(("left", "right"), [("f8", "c16"), ("c16", "f8")])
def test_transformations_of_mixed_real_and_complex(left, right):
    """The cotangent of a real operand is real, and no warning of a lost part is given."""
    x, y = sample((2, 3), left), sample((3, 2), right, 7)
    checks.check_all(lax.dot, x, y, rtol=1e-4)


def test_same_operand_twice():
    checks.check_all(lambda x: lax.dot(x, x), real_sample((3, 3)), rtol=1e-4)


# --- dtypes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("x64", [False, True])
def test_result_dtypes(oracle, x64):
    """Every pair of dtypes: the result's dtype, or an error."""
    names = [n for n in dtypes.DTYPES if x64 or "64" not in n or n == "complex64"]
    # XLA has no one-bit arrays; the oracle finds a type for some products of them.
    names = [n for n in names if n not in ("int1", "uint1")]
    body = """
import ml_dtypes
def of(a, b):
    shape = lambda name: jax.ShapeDtypeStruct((2, 2), np.dtype(getattr(ml_dtypes, name, name)))
    f = lambda x, y: lax.dot_general(x, y, (((1,), (0,)), ((), ())))
    try:
        return jax.eval_shape(f, shape(a), shape(b)).dtype.name
    except TypeError:
        return "TypeError"
[[of(a, b) for b in names] for a in names]
"""
    oracle.using(x64=x64, timeout=300).compare(body, names=names)


# Left and right dtypes, and the preferred element type.
MIXED = [
    ("float32", "bfloat16", None),
    ("float32", "int8", None),
    ("float16", "bfloat16", None),
    ("bfloat16", "bfloat16", "float32"),
    ("float16", "bfloat16", "float32"),
    ("complex64", "float32", None),
    ("bool", "bool", None),
    ("bool", "bool", "int32"),
    ("bool", "float32", None),
    ("int8", "int8", None),
    ("int8", "int8", "int32"),
    ("int8", "int8", "float32"),
    ("int8", "uint8", None),
    ("uint8", "uint8", "int32"),
    ("int32", "int32", None),
    ("uint16", "int32", None),
    ("int8", "float32", "int32"),
    ("float32", "float32", "int32"),
    ("float32", "float32", "bfloat16"),
    ("float32", "float32", "complex64"),
    ("complex64", "complex64", "float32"),
    ("float8_e4m3fn", "float8_e5m2", None),
    ("float8_e4m3fn", "float8_e5m2", "float32"),
    ("float8_e4m3fn", "bfloat16", None),
    ("float32", "float8_e5m2", "bfloat16"),
    ("int4", "int4", None),
]


@pytest.mark.parametrize(("left", "right", "preferred"), MIXED)
def test_dtypes(oracle, left, right, preferred):
    x, y = (sample((2, 3), dtypes.DTYPES[left]), sample((3, 2), dtypes.DTYPES[right], 7))
    numbers = (((1,), (0,)), ((), ()))
    oracle.compare(DOT, x=x, y=y, numbers=numbers, options={"preferred_element_type": preferred})


def test_wider_sums_of_narrow_integers():
    """XLA's CPU back end refuses them; the operands are widened first."""
    x = sample((2, 3), ml_dtypes.int4)
    y = lax.dot_general(x, x, (((1,), (1,)), ((), ())), preferred_element_type=np.int32)
    wide = x.astype(np.int32)
    assert y.dtype == np.int32
    np.testing.assert_array_equal(y, wide @ wide.T)


@pytest.mark.parametrize("snippet", ["lax.dot_general(2.0, 3.0, {0})",
                                     "lax.dot_general(2, 3.0, {0})",
                                     "lax.dot_general(2.0, np.float32(3), {0})",
                                     "lax.dot_general(x, lax.full((), 2.0), {0})"])  # fmt: skip
def test_weak_types(oracle, snippet):
    oracle.compare(snippet.format("(((), ()), ((), ()))"), x=np.ones((2,), np.float32))


@pytest.mark.parametrize(
    ("left", "right", "preferred"), [m for m in MIXED if "float8" not in m[0] and "int4" not in m]
)
def test_cotangents_have_the_operands_dtypes(oracle, left, right, preferred):
    """Mixed operands, and sums in another dtype than theirs."""
    names = {"left": left, "right": right, "preferred": preferred}
    snippet = """
f = lambda x, y: lax.dot_general(x, y, (((1,), (0,)), ((), ())), preferred_element_type=preferred)
inexact = [i for i, v in enumerate((x, y)) if v.dtype.kind in "fcV"]
out = f(x, y)
if out.dtype.kind not in "fcV" or not inexact:
    result = []
else:
    def of(*vs):
        full = [x, y]
        for i, v in zip(inexact, vs):
            full[i] = v
        return f(*full)
    ct = lax.convert_element_type(ct, out.dtype)
    result = jax.vjp(of, *[(x, y)[i] for i in inexact])[1](ct)
result
"""
    if (left, preferred) in (("complex64", "float32"), ("float32", "complex64")):
        snippet = snippet.replace("result\n", "[r.dtype.name for r in result]\n")
    x, y = sample((2, 3), dtypes.DTYPES[left]), sample((3, 2), dtypes.DTYPES[right], 7)
    ct = sample((2, 2), np.float32, 3)
    oracle.compare(snippet, x=x, y=y, ct=ct, rtol=0.02, **names)


# --- precision -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "precision",
    [
        *["default", "high", "highest", "bfloat16", "tensorfloat32", "float32", "fastest"],
        *["F32_F32_F32", "BF16_BF16_F32", "BF16_BF16_F32_X3", "BF16_BF16_F32_X6", "F64_F64_F64"],
        *["F16_F16_F16", "DEFAULT", ("high", "default")],
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8"])
def test_precisions(oracle, precision, dtype):
    x, y = sample((2, 3), dtypes.DTYPES[dtype]), sample((3, 2), dtypes.DTYPES[dtype], 7)
    numbers = (((1,), (0,)), ((), ()))
    oracle.compare(DOT, x=x, y=y, numbers=numbers, options={"precision": precision})


@pytest.mark.parametrize(
    ("precision", "options"),
    [
        ("F16_F16_F32", {}),
        ("TF32_TF32_F32", {}),
        ("ANY_F8_ANY_F8_F32", {}),
        ("foo", {}),
        (3, {}),
        (("high",) * 3, {}),
    ],
)
def test_refused_precisions(oracle, precision, options):
    x = np.ones((2, 2), np.float32)
    error = oracle.compare_error(
        DOT, x=x, y=x, numbers=(((1,), (0,)), ((), ())), options={"precision": precision}
    )
    assert str(precision) in error.message


def test_precision_in_programs():
    def params(precision=None):
        x = np.ones((2, 2), np.float32)
        program = covector.make_jaxpr(lambda x: lax.dot(x, x, precision=precision))(x)
        return program.eqns[0].params["precision"]

    high, highest = lax.Precision.HIGH, lax.Precision.HIGHEST
    assert params() is None
    assert params("high") == (high, high)
    assert params(("float32", lax.Precision.HIGH)) == (highest, high)
    assert params("F32_F32_F32") is lax.DotAlgorithmPreset.F32_F32_F32
    with covector.default_matmul_precision("high"):
        assert params() == (high, high)
        assert params("highest") == (highest, highest)
    with covector.default_matmul_precision("BF16_BF16_F32"):
        assert params() is lax.DotAlgorithmPreset.BF16_BF16_F32
    assert params() is None


def text_of(platform, *dtypes_of_operands, **options):
    from covector._lower.module import LoweringOptions, lower_module

    avals = [covector.ShapeDtypeStruct((2, 2), dtypes.DTYPES[name]) for name in dtypes_of_operands]
    program = covector.make_jaxpr(lambda x, y: lax.dot(x, y, **options))(*avals).jaxpr
    lowered = lower_module(program, LoweringOptions("f", platform, (True,) * 2, (False,) * 2))
    return next(line for line in lowered.bare_text.splitlines() if "dot_general" in line)


@pytest.mark.parametrize(
    ("preset", "dtype", "words"),
    [
        ("TF32_TF32_F32", "float32", "lhs_precision_type = tf32"),
        ("TF32_TF32_F32_X3", "float32", "num_primitive_operations = 3"),
        ("BF16_BF16_F32_X9", "float32", "num_primitive_operations = 9"),
        ("F16_F16_F32", "float16", "-> tensor<2x2xf16>"),
        ("F16_F16_F32", "float32", "-> tensor<2x2xf32>"),
        ("BF16_BF16_BF16", "float32", "(tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xbf16>"),
        ("ANY_F8_ANY_F8_F32", "float8_e4m3fn", "lhs_precision_type = f8E4M3FN"),
        ("ANY_F8_ANY_F8_F32_FAST_ACCUM", "float8_e5m2", "allow_imprecise_accumulation = true"),
    ],
)
def test_algorithms_of_accelerators(preset, dtype, words):
    assert words in text_of("cuda", dtype, dtype, precision=preset)


def test_float8_algorithms_refuse_other_dtypes():
    with pytest.raises(ValueError, match="float8 dtypes"):
        text_of("cuda", "float32", "float32", precision="ANY_F8_ANY_F8_F32")


def test_own_algorithm():
    algorithm = lax.DotAlgorithm(np.float32, np.float32, np.float32)
    x = sample((2, 3), np.float32)
    np.testing.assert_array_equal(lax.dot(x, x.T, precision=algorithm), x @ x.T)
    with pytest.raises(ValueError, match="not supported by dot_general on CPU"):
        lax.dot(x, x.T, precision=lax.DotAlgorithm(np.float16, np.float16, np.float32))


def test_algorithm_keeps_imaginary_parts():
    """An algorithm of real types on complex operands: JAX drops their imaginary parts."""
    x = sample((2, 2), np.complex64)
    np.testing.assert_array_equal(lax.dot(x, x, precision="F32_F32_F32"), x @ x)


def test_enumerations(oracle):
    oracle.compare(
        "[(p.name, p.value, repr(p), str(p)) for p in (*lax.Precision, *lax.DotAlgorithmPreset)]"
    )
    names = [n for n in lax.DotAlgorithmPreset.__members__ if not n.startswith("ANY")][1:]
    oracle.compare(
        """
def of(p):
    types = lambda ts: [np.dtype(t).name for t in ts]
    return types(p.supported_lhs_types), types(p.supported_rhs_types), types([p.accumulation_type])
[of(lax.DotAlgorithmPreset[n]) for n in names]
""",
        names=names,
    )
    oracle.compare("[lax.Precision(s) is lax.Precision.HIGH for s in ('high', 'tensorfloat32', 1)]")


# --- what users may write ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "snippet",
    [
        "lax.dot_general(x, y, (([1], [0]), ([], [])))",
        "lax.dot_general(x, y, ((1, 0), ([], [])))",
        "lax.dot_general(x, y, ((np.array([1]), (np.int64(0),)), ((), ())))",
        "lax.dot(x, y)",
        "lax.dot(x, y[:, 0])",
        "lax.dot(x[0], y)",
        "lax.dot(x[0], y[:, 0])",
        "lax.dot(x, y, dimension_numbers=(((1,), (0,)), ((), ())), precision='high')",
        "lax.dot(x, y, preferred_element_type=float)",
        "lax.batch_matmul(x, y)",
        "lax.batch_matmul(np.ones((2, 3, 4), 'f4'), np.ones((2, 4, 5), 'f4'), 'highest')",
        "lax.batch_matmul(np.ones((2, 3, 4), 'f4'), np.ones((2, 4, 5), 'i4'))",
    ],
)
def test_forms(oracle, snippet):
    snippet = snippet.replace("y[:, 0]", "v").replace("x[0]", "w")
    x, y = sample((2, 3), np.float32), sample((3, 4), np.float32, 7)
    oracle.compare(snippet, x=x, y=y, v=y[:, 0].copy(), w=x[0].copy())


@pytest.mark.parametrize(
    ("snippet", "words"),
    [
        ("lax.dot_general(x, x, (((1,), (0,)), ((), ())))", "contracting"),
        ("lax.dot_general(x, y, (((1,), (0,)), ((0,), (1,))))", "batch"),
        ("lax.dot_general(x, y, (((1,), (0,)), ((0,), (0,))))", "distinct"),
        ("lax.dot_general(x, y, (((1, 1), (0, 1)), ((), ())))", "distinct"),
        ("lax.dot_general(x, y, (((1,), (0, 1)), ((), ())))", "same shape"),
        ("lax.dot_general(x, y, (((5,), (0,)), ((), ())))", "nonnegative"),
        ("lax.dot_general(x, y, (((-1,), (0,)), ((), ())))", "nonnegative"),
        ("lax.dot_general(x, y, (((1,), (0,)), ((0,), ())))", "same shape"),
        ("lax.dot_general(x, y, (((1.5,), (0,)), ((), ())))", "integer"),
        ("lax.dot_general(x, y, ((1,), (0,)))", ""),
        ("lax.dot_general([1.0], y, (((0,), (0,)), ((), ())))", "list"),
        ("lax.dot(x, x)", "dot"),
        ("lax.dot(2.0, x)", "dot_general"),
        ("lax.dot(np.ones((2, 2, 2)), x)", "dot_general"),
        ("lax.batch_matmul(np.ones(3), np.ones(3))", "2D"),
        ("lax.batch_matmul(x, np.ones((2, 3, 4)))", "ndim"),
        ("lax.batch_matmul(np.ones((1, 2, 3)), np.ones((2, 3, 4)))", "batch"),
        ("lax.dot(i, i, preferred_element_type='int8')", "narrower"),
    ],
)
def test_errors(oracle, snippet, words):
    x, y = sample((2, 3), np.float32), sample((3, 4), np.float32)
    error = oracle.compare_error(snippet, x=x, y=y, i=sample((2, 2), np.int32))
    assert words in error.message


def test_sharding_is_not_ignored():
    x = np.ones((2, 2))
    with pytest.raises(NotImplementedError, match="out_sharding"):
        lax.dot_general(x, x, (((1,), (0,)), ((), ())), out_sharding="somewhere")


# --- programs ------------------------------------------------------------------------------------


def names_of(program):
    return [eqn.primitive.name for eqn in program.eqns]


@pytest.mark.parametrize("name", ["matrices", "transposed_lhs", "transposed_rhs", "batch"])
def test_cotangents_need_no_transposition(name):
    a, b, numbers = PRODUCTS[name]
    x, y = real_sample(a), real_sample(b)
    out = lax.dot_general(x, y, numbers)

    def pullback(ct):
        return covector.vjp(lambda x, y: lax.dot_general(x, y, numbers), x, y)[1](ct)

    program = covector.make_jaxpr(pullback)(np.asarray(out))
    assert set(names_of(program)) == {"dot_general"}


def test_parameters_are_normalized_once(monkeypatch):
    from covector.lax import precision
    from covector.lax.dot import _params_memo

    _params_memo.clear()
    x = np.ones((2, 2), np.float32)
    for _ in range(3):
        lax.dot_general(x, x, (((1,), (0,)), ((), ())))
    assert len(_params_memo) == 1
    assert precision.canonicalize_precision(None) is None


def test_tolerance_of_narrow_sums(oracle):
    """Sums of many terms in 16 bits agree with the oracle's."""
    x = np.random.default_rng(0).standard_normal((16, 300)).astype(np.float16)
    tolerance = Tolerance(rtol=2e-2, atol=2e-2)
    oracle.compare_many([Case("lax.dot(x, y)", {"x": x, "y": x.T.copy()}, tolerance)])

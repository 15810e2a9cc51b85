"""Convolutions, against the oracle, under every transformation."""

import itertools

import covector
import numpy as np
import pytest
from core import primitive_checks as checks
from covector import lax
from covector._ir import dtypes
from oracle import Case, Tolerance

CLOSE = Tolerance(rtol=1e-4, atol=1e-4)
CONV = "lax.conv_general_dilated(x, w, *window, **options)"

# name: operands' shapes, (strides, padding, lhs_dilation, rhs_dilation), options
CONVOLUTIONS = {
    "points": ((2, 3), (4, 3), ((), "VALID"), {}),
    "line": ((2, 3, 8), (4, 3, 3), ((1,), "VALID"), {}),
    "same": ((2, 3, 5, 4), (4, 3, 3, 2), ((1, 2), "SAME"), {}),
    "same_lower": ((1, 2, 5, 4), (3, 2, 2, 4), ((2, 1), "same_lower"), {}),
    "padded": ((1, 2, 5, 4), (3, 2, 2, 3), ((1, 1), ((1, 2), (0, 3))), {}),
    "cut": ((1, 2, 6, 5), (3, 2, 2, 2), ((1, 2), ((-1, 0), (2, -2))), {}),
    "strided": ((1, 2, 7, 9), (2, 2, 2, 3), ((3, 2), ((1, 0), (0, 1))), {}),
    "lhs_dilated": ((1, 2, 4, 3), (2, 2, 2, 3), ((1, 2), ((1, 1), (2, 0)), (2, 3)), {}),
    "rhs_dilated": ((1, 2, 7, 6), (2, 2, 2, 3), ((2, 1), "VALID", None, (3, 2)), {}),
    "all_of_it": ((2, 2, 4, 5), (2, 2, 3, 2), ((2, 3), ((1, 3), (0, 2)), (2, 1), (1, 2)), {}),
    "channels_last": (
        (2, 5, 4, 3),
        (3, 2, 3, 4),
        ((1, 1), "SAME"),
        {"dimension_numbers": ("NHWC", "HWIO", "NHWC")},
    ),
    "mixed_axes": (
        (5, 2, 3, 4),
        (2, 4, 3, 3),
        ((1, 2), ((1, 0), (0, 1))),
        {"dimension_numbers": ("HNCW", "WOIH", "CWNH")},
    ),
    "feature_groups": ((2, 4, 6), (6, 2, 3), ((2,), "SAME"), {"feature_group_count": 2}),
    "depthwise": ((1, 3, 5, 4), (6, 1, 2, 2), ((1, 1), "VALID"), {"feature_group_count": 3}),
    "batch_groups": ((4, 3, 6), (4, 3, 3), ((2,), ((1, 1),)), {"batch_group_count": 2}),
    "groups_and_axes": (
        (5, 4, 2),
        (3, 2, 6),
        ((1,), "SAME"),
        {"feature_group_count": 2, "dimension_numbers": ("WCN", "WIO", "NWC")},
    ),
    "volume": ((1, 2, 4, 3, 3), (2, 2, 2, 2, 3), ((1, 2, 1), "SAME"), {}),
    "kernel_too_large": ((1, 2, 3), (2, 2, 5), ((1,), "VALID"), {}),
    "empty_batch": ((0, 2, 5), (3, 2, 2), ((1,), "VALID"), {}),
    "no_features": ((2, 0, 5), (3, 0, 2), ((1,), "VALID"), {}),
}
BATCHED = ["points", "same", "all_of_it", "mixed_axes", "feature_groups", "batch_groups",
           "groups_and_axes", "volume", "no_features"]  # fmt: skip


def sample(shape, dtype=np.float32, seed=0):
    values = np.random.default_rng(seed).standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * np.random.default_rng(seed + 1).standard_normal(shape)
    return (3 * values).astype(dtype)


def inputs(name, dtype=np.float32):
    a, b, window, options = CONVOLUTIONS[name]
    return {
        "x": sample(a, dtype),
        "w": sample(b, dtype, 7),
        "window": window,
        "options": options,
    }


def test_values(oracle):
    oracle.compare_many([Case(CONV, inputs(name), CLOSE) for name in CONVOLUTIONS])


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_derivatives(oracle, name):
    """Both cotangents, the tangent, and the derivative of a cotangent."""
    snippet = """
f = lambda x, w: lax.conv_general_dilated(x, w, *window, **options)
tx, tw = lax.sin(x), lax.sin(w)
out, tangent = jax.jvp(f, (x, w), (tx, tw))
ct = lax.cos(out)
back = lambda x, w: jax.vjp(f, x, w)[1](ct)
tangent, jax.jit(back)(x, w), jax.jvp(back, (x, w), (tx, tw))[1]
"""
    oracle.compare_many([Case(snippet, inputs(name), CLOSE)])


@pytest.mark.parametrize("name", BATCHED)
def test_batching(oracle, name):
    """Each operand with a batch axis at the front or the back, and both; the cotangents too."""
    snippet = """
f = lambda x, w: lax.conv_general_dilated(x, w, *window, **options)
pair = lambda v, axis: lax.concatenate([lax.expand_dims(u, [axis]) for u in (v, lax.sin(v))], axis)
def of(g):
    return [
        jax.vmap(g, (None if i is None else i, None if j is None else j))(
            x if i is None else pair(x, i), w if j is None else pair(w, j)
        )
        for i, j in ((0, None), (x.ndim, None), (None, 0), (None, w.ndim), (1, 1), (0, 2))
    ]
back = lambda x, w: jax.vjp(f, x, w)[1](lax.cos(f(x, w)))
jax.jit(lambda: (of(f), of(back)[2:5]))()
"""
    oracle.compare_many([Case(snippet, inputs(name), CLOSE)])


def test_batching_over_nothing():
    x, w = np.ones((0, 2, 3, 5), np.float32), np.ones((0, 4, 3, 2), np.float32)
    conv = covector.vmap(lambda x, w: lax.conv(x, w, (1,), "VALID"))
    assert conv(x, w).shape == (0, 2, 4, 4)


@pytest.mark.parametrize("name", ["line", "feature_groups"])
def test_transformations(name):
    """Derivatives against finite differences, to the second order."""
    a, b, window, options = CONVOLUTIONS[name]
    checks.check_all(
        lambda x, w: lax.conv_general_dilated(x, w, *window, **options),
        sample(a, np.float64),
        sample(b, np.float64, 7),
        rtol=1e-4,
        order=2 if name == "line" else 1,
    )


def test_same_operand_twice():
    x = sample((2, 2, 3), np.float64)
    checks.check_all(lambda x: lax.conv(x, x, (1,), "SAME"), x, rtol=1e-4, order=1)


# --- dtypes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "preferred"),
    [
        ("bfloat16", None),
        ("bfloat16", "float32"),
        ("float16", None),
        ("float64", None),
        ("int8", None),
        ("int8", "int32"),
        ("int8", "float32"),
        ("uint8", None),
        ("int32", None),
        ("bool", None),
        ("complex64", None),
        ("complex128", None),
        ("complex64", "complex128"),
        ("float8_e5m2", None),
    ],
)
def test_dtypes(oracle, dtype, preferred):
    values = inputs("channels_last")
    values["x"] = np.abs(values["x"]).astype(dtypes.DTYPES[dtype])
    values["w"] = np.abs(values["w"]).astype(dtypes.DTYPES[dtype])
    values["options"] = {**values["options"], "preferred_element_type": preferred}
    oracle = oracle.using(x64="64" in dtype or "128" in dtype or "128" in str(preferred))
    rtol = {"bfloat16": 3e-2, "float16": 1e-2, "float8_e5m2": 0.5}
    tolerance = Tolerance(rtol={**rtol, "float32": 1e-5, "float64": 1e-12, "complex64": 1e-5,
                                "complex128": 1e-6}, atol=1e-4)  # fmt: skip
    oracle.compare_many([Case(CONV, values, tolerance)])


def test_complex_derivatives(oracle):
    snippet = """
f = lambda x, w: lax.conv_general_dilated(x, w, *window, **options)
jax.vjp(f, x, w)[1](f(x, w)), jax.jvp(f, (x, w), (w, x))[1] if x.shape == w.shape else 0
"""
    oracle.compare_many([Case(snippet, inputs("same", np.complex64), CLOSE)])


def test_wider_sums_have_cotangents_of_the_operands_dtype(oracle):
    snippet = """
f = lambda x, w: lax.conv(x, w, (1,), "SAME", preferred_element_type="float32")
jax.vjp(f, x, w)[1](f(x, w))
"""
    x, w = (inputs("line", dtypes.bfloat16)[n] for n in "xw")
    oracle.compare_many([Case(snippet, {"x": x, "w": w}, Tolerance(rtol=2e-2, atol=0.1))])


def test_precision(oracle):
    names = ["high", ("highest", "default"), "F32_F32_F32", "BF16_BF16_F32"]
    oracle.compare_many(
        [
            Case(CONV, {**inputs("line"), "options": {"precision": p}}, Tolerance(rtol=1e-5))
            for p in names
        ]
    )
    high = lax.Precision.HIGH
    with covector.default_matmul_precision("high"):
        program = covector.make_jaxpr(lambda x, w: lax.conv(x, w, (1,), "SAME"))(
            *(inputs("line")[n] for n in "xw")
        )
    assert program.eqns[0].params["precision"] == (high, high)


# --- other ways to call it -----------------------------------------------------------------------


@pytest.mark.parametrize("consistent", [False, True])
@pytest.mark.parametrize(
    ("strides", "dilation"), [((1, 1), None), ((2, 3), None), ((2, 3), (2, 2)), ((4, 5), (1, 2))]
)
def test_conv_transpose(oracle, strides, dilation, consistent):
    snippet = """
lax.conv_transpose(x, w, strides, padding, dilation, use_consistent_padding=consistent)
"""
    x, w = sample((1, 3, 2, 2)), sample((3, 2, 2, 3), seed=7)
    common = {"x": x, "w": w, "strides": strides, "dilation": dilation, "consistent": consistent}
    oracle.compare_many(
        [
            Case(snippet, {**common, "padding": padding}, CLOSE)
            for padding in ("SAME", "VALID", ((1, 2), (0, 1)))
        ]
    )


@pytest.mark.parametrize(
    "snippet",
    [
        "lax.conv(x, w, (1, 2), 'SAME')",
        "lax.conv(x, w, (1, 2), ((1, 0), (2, 2)), 'high', 'float32')",
        "lax.conv_with_general_padding(x, w, (1, 2), 'SAME', None, (2, 1))",
        "lax.conv_with_general_padding(x, w, (1, 1), ((1, 0), (2, 2)), (2, 1), None)",
        "lax.conv_transpose(lax.transpose(x, (0, 2, 3, 1)), lax.transpose(w, (2, 3, 1, 0)), (2, 2),"
        " 'SAME')",
        "lax.conv_transpose(x, v, (2, 1), 'VALID', dimension_numbers=('NCHW', 'OIHW', 'NCHW'),"
        " transpose_kernel=True)",
        "lax.conv_general_dilated(x, w, [1, 1], [[0, 1], (2, 0)])",
        "lax.conv_general_dilated(x, w, np.array([1, 2]), 'VALID', None, np.array([1, 1]))",
        "lax.conv_general_dilated(x, w, (1, 1), 'SAME', dimension_numbers="
        "lax.ConvDimensionNumbers((0, 1, 2, 3), (0, 1, 2, 3), (0, 2, 3, 1)))",
    ],
)
def test_forms(oracle, snippet):
    x, w, v = sample((2, 3, 5, 4)), sample((4, 3, 2, 3), seed=7), sample((3, 5, 2, 3), seed=8)
    oracle.compare_many([Case(snippet, {"x": x, "w": w, "v": v}, CLOSE)])


def test_transposed_kernel_is_the_transpose():
    x, w = sample((1, 2, 9)), sample((4, 2, 3), seed=7)
    conv = lambda x: lax.conv(x, w, (2,), "VALID")
    ct = sample(conv(x).shape, seed=3)
    numbers = ("NCH", "OIH", "NCH")
    (expected,) = covector.vjp(conv, x)[1](ct)
    actual = lax.conv_transpose(
        ct, w, (2,), "VALID", dimension_numbers=numbers, transpose_kernel=True
    )
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("numbers", [None, ("NCHW", "OIHW", "NHWC"), ("NHCW", "HWIO", "WNHC")])
def test_patches(oracle, numbers):
    x = sample((2, 3, 5, 4)) if numbers is None or numbers[0] == "NCHW" else sample((2, 5, 3, 4))
    snippet = """
[lax.conv_general_dilated_patches(x, (2, 3), (1, 2), padding, dimension_numbers=numbers)
 for padding in ("VALID", "SAME", ((1, 0), (0, 2)))]
"""
    oracle.compare_many([Case(snippet, {"x": x, "numbers": numbers}, CLOSE)])


@pytest.mark.parametrize("numbers", [None, ("NCHW", "HWIO", "NHWC")])
def test_unshared_kernels(oracle, numbers):
    x = sample((2, 3, 5, 4))
    kernels = sample((4, 18, 4, 2), seed=7) if numbers is None else sample((4, 2, 18, 4), seed=7)
    snippet = """
lax.conv_general_dilated_local(x, w, (1, 1), "VALID", (2, 3), dimension_numbers=numbers)
"""
    oracle.compare_many([Case(snippet, {"x": x, "w": kernels, "numbers": numbers}, CLOSE)])


SHAPES = ((2, 3, 8, 9), (4, 3, 3, 2))


def test_shapes(oracle):
    numbers = [("NCHW", "OIHW", "NHWC"), ("NHCW", "OWIH", "CWNH")]
    calls = [
        *[f"lax.conv_dimension_numbers(*shapes, {n})" for n in (None, *numbers)],
        *[f"lax.conv_general_permutations({n})" for n in numbers],
        "lax.conv_shape_tuple(*shapes, (1, 2), ((0, 0), (1, 1)))",
        "lax.conv_shape_tuple(*shapes, (1, 2), 'SAME', 2)",
        "lax.conv_shape_tuple(*shapes, (1, 2), 'VALID')",
    ]
    for function, padding, n in itertools.product(
        ("conv_general_shape_tuple", "conv_transpose_shape_tuple"),
        ("'SAME'", "'VALID'", "((0, 0), (1, 1))"),
        numbers[:1],
    ):
        calls.append(f"lax.{function}(*shapes, (1, 2), {padding}, {n})")
    listed = [
        c if c.startswith("[") else f"[*map(lambda s: np.array(s).tolist(), {c})]" for c in calls
    ]
    oracle.compare_many([Case(c, {"shapes": SHAPES}) for c in listed])


@pytest.mark.parametrize("kind", ["SAME", "same_lower", "VALID", "Same"])
def test_padtype_to_pads(oracle, kind):
    snippet = "[(int(a), int(b)) for a, b in lax.padtype_to_pads(n, k, s, kind)]"
    cases = [((8, 9), (3, 2), (2, 2)), ((5, 1), (4, 3), (3, 1)), ((0, 4), (2, 2), (1, 5))]
    oracle.compare_many(
        [Case(snippet, {"n": n, "k": k, "s": s, "kind": kind}) for n, k, s in cases]
    )


# --- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("(x, w, (1, 1), 'FOO')", "FOO"),
        ("(x, w, (1, 1), 3)", "padding"),
        ("(x, w, (1, 1), [(0, 0)])", "expected 2, got 1"),
        ("(x, w, (1,), 'SAME')", "window_strides"),
        ("(x, w, (1, 1, 1), 'SAME')", "window_strides"),
        ("(x, w, (0, 1), 'VALID')", "positive"),
        ("(x, w, 1, 'VALID')", "iterable"),
        ("(x, w, (1, 1), [(0, 0), (0, 0)], (0, 1))", "lhs_dilation"),
        ("(x, w, (1, 1), [(0, 0), (0, 0)], None, (0, 1))", "rhs_dilation"),
        ("(x, w, (1, 1), [(-9, 0), (0, 0)])", "padding"),
        ("(x, w, (1, 1), 'SAME', (2, 1))", "conv_transpose"),
        ("(x, w, (1, 1), 'SAME', feature_group_count=3)", "feature_group_count"),
        ("(x, w, (1, 1), 'SAME', feature_group_count=0)", "positive"),
        ("(x, w, (1, 1), 'SAME', batch_group_count=3)", "batch_group_count"),
        ("(x, w, (1, 1), 'SAME', batch_group_count=0)", "positive"),
        ("(x, k, (1, 1), 'SAME', feature_group_count=3, batch_group_count=2)", "At most one"),
        ("(x, v, (1, 1), 'SAME')", "input feature"),
        ("(x, lax.full((4, 3, 3, 2), 1), (1, 1), 'SAME')", "same dtypes"),
        ("(x, lax.full((4, 3, 3), 1.0), (1, 1), 'SAME')", "ndim"),
        ("(x, w, (1, 1), 'SAME', preferred_element_type='bfloat16')", "narrower"),
        ("(x, w, (1, 1), 'SAME', preferred_element_type='int32')", "incompatible"),
        ("(x, w, (1, 1), 'SAME', dimension_numbers=('NCHW', 'OIHW'))", "length 3"),
        ("(x, w, (1, 1), 'SAME', dimension_numbers=('NCH', 'OIHW', 'NCHW'))", "len equal"),
        ("(x, w, (1, 1), 'SAME', dimension_numbers=('NCHX', 'OIHW', 'NCHW'))", "spatial"),
        ("(x, w, (1, 1), 'SAME', dimension_numbers=('NXHW', 'OIHW', 'NCHW'))", "exactly once"),
        ("(x, w, (1, 1), 'SAME', dimension_numbers=('NCHH', 'OIHH', 'NCHH'))", "duplicate"),
        ("(x, w, (1, 1), 'SAME', dimension_numbers='NCHW')", "tuple/list"),
        ("(x, w, (1, 1), 'SAME', dimension_numbers=((0, 1), (0, 1), (0, 1)))", "strings"),
        ("(x, w, (1, 1), 'SAME', precision='foo')", "foo"),
    ],
)
def test_errors(oracle, call, words):
    error = oracle.compare_error(
        f"lax.conv_general_dilated{call}",
        x=sample((2, 3, 8, 9)),
        w=sample((4, 3, 3, 2)),
        v=sample((4, 2, 3, 2)),
        k=sample((6, 1, 3, 2)),
    )
    assert words in error.message


def test_more_errors(oracle):
    six = "lax.full((1,) * 6, 1.0)"
    for call, words in [
        (f"lax.conv_transpose({six}, {six}, (1,) * 4, 'SAME')", "dimension_numbers"),
        ("lax.conv_transpose(x, w, (1, 1), 'FOO')", "adding"),
        ("lax.padtype_to_pads((8, 9), (3, 2), (2, 2), 3)", "padding"),
        ("lax.padtype_to_pads((8, 9), (3, 2), (2, 2), 'foo')", "foo"),
    ]:
        error = oracle.compare_error(call, x=sample((1, 4, 4, 3)), w=sample((3, 3, 3, 2)))
        assert words in error.message
    with pytest.raises(NotImplementedError, match="out_sharding"):
        lax.conv_general_dilated(
            np.ones((1, 1)), np.ones((1, 1)), (), "VALID", out_sharding="somewhere"
        )

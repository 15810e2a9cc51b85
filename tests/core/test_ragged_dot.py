"""Products with groups of rows, against the oracle and NumPy, under every transformation."""

import itertools

import covector
import ml_dtypes
import numpy as np
import pytest
from core import primitive_checks as checks
from covector import lax
from covector._lower.module import LoweringOptions, lower_module
from oracle import Case, Tolerance

GENERAL = """
numbers = lax.RaggedDotDimensionNumbers(dot, ragged, group)
lax.ragged_dot_general(x, y, sizes, numbers, **options)
"""
# name: shapes of the operands, ((contracting), (batch)), ragged axes, group axes
FORMS = {
    "rows": ((9, 4), (3, 4, 5), (((1,), (1,)), ((), ())), [0], [0]),
    "group_axis_last": ((4, 9), (5, 4, 3), (((0,), (1,)), ((), ())), [1], [2]),
    "batch": ((2, 9, 4), (3, 2, 4, 5), (((2,), (2,)), ((0,), (1,)))) + ([1], [0]),
    "free_axes_around": ((2, 9, 3, 4), (3, 4, 5, 2), (((3,), (1,)), ((), ())), [1], [0]),
    "no_columns": ((9, 4), (3, 4), (((1,), (1,)), ((), ())), [0], [0]),
    "contracted": ((9, 4), (9, 5), (((0,), (0,)), ((), ())), [0], []),
    "contracted_batch": ((2, 4, 9), (2, 9, 5), (((2,), (1,)), ((0,), (0,))), [2], []),
    "two_contracted": ((2, 9, 4), (4, 5, 9, 2)) + ((((1, 0), (2, 3)), ((), ())), [1], []),
    "contracted_last": ((2, 9, 4), (9, 5, 2), (((0, 1), (2, 0)), ((), ())), [1], []),
    "batch_axis": ((9, 2, 4), (9, 4, 3), (((2,), (1,)), ((0,), (0,))), [0], []),
}
SIZES = {
    "whole": np.int32([2, 0, 7]),
    "fewer": np.int32([1, 2, 3]),
    "more": np.int64([4, 30, 1]),
    "unsigned": np.uint8([200, 3, 3]),
}


def sample(shape, dtype=np.float32, seed=0):
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(dtype)


def inputs(name, sizes, dtype=np.float32, **options):
    left, right, dot, ragged, group = FORMS[name]
    x, y = sample(left, dtype), sample(right, dtype, 7)
    return {"x": x, "y": y, "sizes": sizes, "dot": dot, "ragged": ragged, "group": group,
            "options": options}  # fmt: skip


def test_values(oracle):
    """Each form with some sizes; of the plain form, all sizes."""
    pairs = [*zip(FORMS, itertools.cycle(SIZES.values())), *[("rows", s) for s in SIZES.values()]]
    oracle.compare_many([Case(GENERAL, inputs(name, s)) for name, s in pairs])


def test_sizes_that_differ(oracle):
    """Sizes for each index of the batch axes, and of the free or contracted axes before."""
    cases = {
        "batch": np.int32([[1, 2, 6], [3, 3, 0]]),
        "free_axes_around": np.int32([[1, 2, 6], [3, 3, 0]]),
        "contracted_batch": np.int32([[1, 2, 6], [3, 3, 0]]),
        "contracted_last": np.int32([[1, 2, 6], [3, 3, 0]]),
        "two_contracted": np.int32([1, 2, 6]),
    }
    oracle.compare_many([Case(GENERAL, inputs(name, s)) for name, s in cases.items()])


def test_many_rows():
    """More rows than are multiplied at a time, and groups that end within a block."""
    x, y = sample((700, 3)), sample((5, 3, 2), seed=1)
    sizes = np.array([300, 0, 1, 299, 40])
    expected = np.zeros((700, 2), np.float32)
    ends = np.cumsum(sizes)
    for i, (start, end) in enumerate(zip(ends - sizes, ends, strict=True)):
        expected[start:end] = x[start:end] @ y[i]
    np.testing.assert_array_equal(lax.ragged_dot(x, y, sizes), expected)
    numbers = lax.RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), [0], [])
    out = lax.ragged_dot_general(x, expected, sizes, numbers)
    np.testing.assert_allclose(out[3], x[301:600].T @ expected[301:600], rtol=1e-6)


@pytest.mark.parametrize("name", ["rows", "contracted"])
def test_derivatives(name):
    """Forms differ in what they transpose and reshape; the two primitives are here."""
    left, right, dot, ragged, group = FORMS[name]
    numbers = lax.RaggedDotDimensionNumbers(dot, ragged, group)
    x, y = (np.random.default_rng(i).standard_normal(s) for i, s in enumerate((left, right)))
    product = covector.jit(lambda x, y: lax.ragged_dot_general(x, y, SIZES["fewer"], numbers))
    checks.check_derivatives(product, x, y, rtol=1e-4, order=2 if name == "rows" else 1)


@pytest.mark.parametrize("name", ["rows", "contracted"])
def test_complex_and_real(name):
    left, right, dot, ragged, group = FORMS[name]
    numbers = lax.RaggedDotDimensionNumbers(dot, ragged, group)
    x, y = sample(left, np.float64), sample(right, np.complex128, 7)
    product = covector.jit(lambda x, y: lax.ragged_dot_general(x, y, SIZES["whole"], numbers))
    checks.check_derivatives(product, x, y, order=1)


@pytest.mark.parametrize("name", ["batch", "contracted"])
def test_batched(name):
    left, right, dot, ragged, group = FORMS[name]
    numbers = lax.RaggedDotDimensionNumbers(dot, ragged, group)
    checks.check_batched(
        covector.jit(lambda x, y, s: lax.ragged_dot_general(x, y, s, numbers)),
        sample(left),
        sample(right, seed=7),
        SIZES["fewer"],
        axes=(0,),
    )


def test_gradients_like_the_oracle(oracle):
    body = """
f = lambda x, y: jnp.sum(jnp.sin(lax.ragged_dot(x, y, sizes)))
jax.jit(jax.grad(f, (0, 1)))(x, y)
"""
    x, y = sample((9, 4)), sample((3, 4, 5), seed=7)
    oracle.compare(body, x=x, y=y, sizes=SIZES["fewer"], rtol=1e-5)


def test_dtypes(oracle):
    """The result's dtype, and sums of narrow numbers."""
    dtypes = ["bfloat16", "float16", "int8", "int32", "complex64", "bool"]
    dtypes = [np.dtype(getattr(ml_dtypes, d, d)) for d in dtypes]
    cases = [inputs("rows", SIZES["fewer"], d) for d in dtypes]
    cases.append(inputs("contracted", SIZES["fewer"], np.bool_))
    cases += [
        inputs(f, SIZES["whole"], np.dtype(d), preferred_element_type=p)
        for f in ("rows", "contracted")
        for d, p in ((ml_dtypes.bfloat16, "float32"), ("float32", "bfloat16"), ("int8", "int32"))
    ]
    mixed = inputs("rows", SIZES["whole"], np.float32)
    mixed["y"] = mixed["y"].astype(ml_dtypes.bfloat16)
    oracle.compare_many([Case(GENERAL, c) for c in [*cases, mixed]])


def test_wide_dtypes(oracle):
    cases = [
        Case(GENERAL, inputs(f, np.int64([1, 2, 3]), d))
        for f in ("rows", "contracted")
        for d in (np.float64, np.int64)
    ]
    oracle.using(x64=True).compare_many(cases)


def test_empty(oracle):
    shapes = [((0, 4), (3, 4, 5)), ((9, 0), (3, 0, 5)), ((9, 4), (3, 4, 0)), ((9, 4), (0, 4, 5))]
    oracle.compare_many(
        [
            Case("lax.ragged_dot(x, y, sizes)", {
                "x": np.ones(a, np.float32), "y": np.ones(b, np.float32),
                "sizes": np.zeros(b[0], np.int32)})
            for a, b in shapes
        ]
    )  # fmt: skip


def test_not_in_a_group(oracle):
    """What belongs to no group leaves no trace, even if it is nan."""
    x = np.array([[1, 1], [2, 1], [np.nan, np.inf]], np.float32)
    oracle.compare(
        "lax.ragged_dot(x, y, sizes)", x=x, y=sample((2, 2, 2)), sizes=np.int32([1, 1]),
    )  # fmt: skip
    numbers = lax.RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), [0], [])
    out = lax.ragged_dot_general(x, x, np.int32([1, 1]), numbers)
    np.testing.assert_array_equal(out, [[[1, 1], [1, 1]], [[4, 2], [2, 1]]])


BAD = {
    "sizes_not_integer": ("rows", np.float32([1, 2, 3]), {}),
    "number_of_sizes": ("rows", np.int32([1, 2]), {}),
    "shape_of_sizes": ("rows", np.int32([[1, 2, 3]]), {}),
    "rank_of_sizes": ("rows", np.int32(3), {}),
    "contracted_sizes": ("rows", np.int32([1, 2, 3]), {"dot": (((1,), (2,)), ((), ()))}),
    "two_ragged": ("rows", np.int32([1, 2, 3]), {"ragged": [0, 1]}),
    "no_group": ("rows", np.int32([1, 2, 3]), {"group": []}),
    "group_of_contracted": ("contracted", np.int32([1, 2, 3]), {"group": [1]}),
    "ragged_out_of_range": ("rows", np.int32([1, 2, 3]), {"ragged": [5]}),
    "negative": ("rows", np.int32([1, 2, 3]), {"group": [-3]}),
    "group_is_contracted": ("rows", np.int32([1, 2, 3]), {"group": [1]}),
    "group_offset": ("rows", np.int32([1, 2, 3]), {"options": {"group_offset": 0}}),
}


@pytest.mark.parametrize("name", BAD)
def test_errors(oracle, name):
    form, sizes, changes = BAD[name]
    error = oracle.compare_error(GENERAL, **{**inputs(form, sizes), **changes})
    assert "ragged_dot_general" in error.message


def test_error_names_the_function_called():
    with pytest.raises(TypeError, match=r"ragged_dot: group_sizes .* \(2,\) counts 2 groups"):
        lax.ragged_dot(np.ones((4, 2)), np.ones((3, 2, 1)), np.array([1, 3]))


def test_text_for_accelerators():
    """Elsewhere than on CPU it is XLA's own operation."""
    x, y, sizes = sample((4, 3)), sample((2, 3, 5)), np.int32([1, 3])
    gradient = covector.grad(lambda y: lax.reduce_sum(lax.ragged_dot(x, y, sizes), (0, 1)))
    for function, shape in (
        (lambda y: lax.ragged_dot(x, y, sizes), "1x4x5"),
        (gradient, "2x1x3x5"),
    ):
        program = covector.make_jaxpr(function)(y).jaxpr
        count = len(program.in_avals)
        options = LoweringOptions("f", "cuda", (True,) * count, (False,) * count)
        text = lower_module(program, options).text
        assert "chlo.ragged_dot" in text
        assert f"-> tensor<{shape}xf32>" in text


# --- scaled_dot ----------------------------------------------------------------------------------

SCALED = "lax.scaled_dot(x, y, lhs_scale=a, rhs_scale=b, **options)"


def scaled_inputs(left=(4, 64), right=(64, 5), a=(4, 2), b=(2, 5), **options):
    rng = np.random.default_rng(0)
    narrow, exponent = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e8m0fnu
    scales = [
        None if s is None else (2.0 ** rng.integers(-2, 3, s)).astype(exponent) for s in (a, b)
    ]
    x, y = (rng.integers(-3, 4, s).astype(narrow) for s in (left, right))
    return {"x": x, "y": y, "a": scales[0], "b": scales[1], "options": options}


def test_scaled(oracle):
    cases = [
        scaled_inputs(),
        scaled_inputs(preferred_element_type="float32"),
        scaled_inputs(a=None),
        scaled_inputs(b=None, preferred_element_type="float16"),
        scaled_inputs((2, 4, 8), (2, 8, 3), (2, 4, 1), (2, 4, 3)),
        scaled_inputs((1, 2, 4, 8), (1, 2, 8, 3), (1, 2, 4, 2), None),
        scaled_inputs((8, 4), (3, 8), (2, 4), (3, 4), dimension_numbers=(((0,), (1,)), ((), ()))),
        scaled_inputs((0, 4), (4, 5), (0, 2), (1, 5)),
    ]
    oracle.compare_many([Case(SCALED, c, Tolerance(rtol=1e-2)) for c in cases])


def test_scaled_under_transformations():
    """The oracle refuses derivatives; here they are those of the parts."""
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(s) for s in ((2, 4), (4, 3), (2, 2), (1, 3))]

    def product(x, y, a, b):
        return lax.scaled_dot(x, y, lhs_scale=a, rhs_scale=b, preferred_element_type=np.float64)

    checks.check_all(covector.jit(product), *arrays, rtol=1e-4, order=1)


@pytest.mark.parametrize(
    ("left", "right", "a", "b"),
    [
        ((4, 64), (64, 5), (4, 3), None),
        ((4, 64), (64, 5), (3, 2), None),
        ((4, 64), (64, 5), (4,), None),
        ((4, 64), (64, 5), (4, 64), None),
        ((4, 64), (64, 5), None, (64, 5)),
        ((64,), (64,), None, None),
        ((4, 64), (3, 5), None, None),
    ],
)
def test_scaled_errors(oracle, left, right, a, b):
    error = oracle.compare_error(SCALED, **scaled_inputs(left, right, a, b))
    assert "scaled_dot" in error.message

"""Scalars, weak types, shapes, selection, conversions and bad input, against the oracle."""

import itertools
import warnings

import covector
import ml_dtypes
import numpy as np
import pytest
from covector import lax
from oracle import Case, Tolerance

X = np.array([1.5, -2.0, 0.25], np.float32)
N = np.array([7, -3, 2], np.int32)
Z = np.array([1 + 2j, -1j, 3.0], np.complex64)
B = np.array([True, False, True])
INPUTS = {"x": X, "n": N, "z": Z, "b": B}

# --- scalars and weak types -----------------------------------------------------------------------

SCALARS = """
    lax.add(x, 1.0)
    lax.add(n, 1)
    lax.add(1, 2)
    lax.add(1.0, 2.0)
    lax.add(x, np.float32(1))
    lax.add(x, np.float64(1))
    lax.add(x, np.ones(3))
    lax.add(np.float32(1), 2.0)
    lax.add(jnp.asarray(1.0), 2.0)
    lax.mul(1 + 2j, z)
    lax.neg(3)
    lax.abs(3 + 4j)
    lax.abs(-3)
    lax.real(1 + 2j)
    lax.conj(2.0)
    lax.complex(1.0, 2.0)
    lax.complex(x, 1.0)
    lax.sign(-0.0)
    lax.round(2.5)
    lax.round(-2.5)
    lax.round(2.5, lax.RoundingMethod.TO_NEAREST_EVEN)
    lax.round(2.5, 1)
    lax.eq(1.0, 1.0)
    lax.lt(True, False)
    lax.is_finite(1.0)
    lax.bitwise_not(5)
    lax.bitwise_not(True)
    lax.bitwise_and(n, 1)
    lax.shift_left(1, 40)
    lax.shift_left(1, -1)
    lax.shift_right_arithmetic(-8, 40)
    lax.shift_right_logical(-8, 1)
    lax.population_count(255)
    lax.clz(1)
    lax.pow(2.0, 3)
    lax.pow(x, 2)
    lax.pow(x, n)
    lax.pow(z, n)
    lax.pow(2.0, np.int8(3))
    lax.integer_pow(2, 3)
    lax.integer_pow(x, -2)
    lax.integer_pow(x, np.int32(3))
    lax.integer_pow(n, 5)
    lax.square(2)
    lax.reciprocal(2.0)
    lax.sqrt(2.0)
    lax.max(float("nan"), 1.0)
    lax.min(1.0, float("nan"))
    lax.max(0.0, -0.0)
    lax.min(0.0, -0.0)
    lax.max(1 + 2j, 1 + 3j)
    lax.rem(-7.5, 2.0)
    lax.rem(7.5, 0.0)
    lax.rem(1.0, float("inf"))
    lax.div(jnp.array([7, -(2**31), 0, -7]), jnp.array([0, -1, 0, 2]))
    lax.rem(jnp.array([7, -(2**31), 0, -7]), jnp.array([0, -1, 0, 2]))
    lax.div(np.uint8(3), np.uint8(0))
    lax.rem(np.uint8(3), np.uint8(0))
    lax.nextafter(0.0, 1.0)
    lax.nextafter(x, 2.0)
    lax.mul(1.5, 2.0, out_dtype="int32")
    lax.mul(x, n, out_dtype="float32")
    lax.mul(np.int8(100), np.int8(100), out_dtype="int32")
    lax.mul(x, x, out_dtype="bfloat16")
    lax.mul(x, 2.0, out_dtype="complex64")
    lax.clamp(0.0, x, 1.0)
    lax.clamp(0.0, x, np.ones(3, np.float32))
    lax.clamp(0.0, 5.0, 1.0)
    lax.clamp(0, n, 1)
    lax.clamp(3.0, x, 1.0)
    lax.clamp(float("nan"), x, 1.0)
    lax.clamp(False, b, True)
    lax.stop_gradient(x)
    lax.optimization_barrier({"a": x, "b": 1})
    lax.optimization_barrier(())
    lax.optimization_barrier(1.0)
    lax.exp(x, accuracy=lax.AccuracyMode.HIGHEST)
    lax.tanh(x, accuracy=lax.Tolerance(atol=1e-3, rtol=1e-3, ulps=2))
    jax.jit(lambda x: lax.add(x, 1.0))(2.0)
    jax.vmap(lambda x: lax.add(x, 1.0))(x)
    jax.vmap(lax.eq, (0, None))(x, 1.5)
"""

# --- shapes ---------------------------------------------------------------------------------------

SHAPES = """
    lax.add(jnp.ones((2, 3)), jnp.ones(()))
    lax.add(jnp.ones((2, 3)), jnp.ones((1, 3)))
    lax.add(jnp.ones((2, 1)), jnp.ones((1, 3)))
    lax.add(jnp.ones(3), jnp.ones(1))
    lax.add(jnp.ones((0, 3)), jnp.ones((1, 3)))
    lax.atan2(jnp.ones((2, 1)), jnp.ones((2, 3)))
    lax.eq(jnp.ones((2, 1)), jnp.ones((1, 3)))
    lax.sin(jnp.ones((0, 2)))
    lax.sin(jnp.ones((2, 0, 1)))
"""

# --- selection ------------------------------------------------------------------------------------

SELECTION = """
    lax.select(True, x, -1.0 * x)
    lax.select(b, x, lax.neg(x))
    lax.select_n(np.array([0, 1, 2], np.int32), x, lax.neg(x), lax.square(x))
    lax.select_n(np.int32(1), x, lax.neg(x), lax.square(x))
    lax.select_n(np.int32(5), x, lax.neg(x), lax.square(x))
    lax.select_n(np.int32(-5), x, lax.neg(x), lax.square(x))
    lax.select_n(np.array([5, -5, 1], np.int32), x, lax.neg(x), lax.square(x))
    lax.select_n(np.array([0, 1, 0], np.uint8), x, lax.neg(x))
    lax.select_n(n, x, lax.neg(x))
    lax.select_n(True, x)
    lax.select_n(0, 1.0, 2.0)
    lax.select_n(True, 1.0, 2.0)
    lax.select_n(True, 1.0, np.float32(2.0))
    lax.select_n(b, z, lax.neg(z))
    lax.select_n(b, b, lax.bitwise_not(b))
    lax.select_n(b, n, lax.neg(n))
    jax.vmap(lax.select_n, (0, 0, None))(b, x, 2.0)
    jax.vmap(lax.select_n, (0, None, None))(b, x, lax.neg(x))
    jax.vmap(lax.select_n, (None, 0, 0))(True, x, lax.neg(x))
    jax.vmap(lax.select_n, (0, 1, 0))(b, jnp.ones((2, 3)), jnp.zeros((3, 2)))
    jax.vmap(lax.clamp, (0, None, None))(x, jnp.ones(2), 2.0)
    jax.vmap(lax.clamp, (None, 0, 0))(0.0, jnp.ones((3, 2)), x)
"""

# --- conversions ----------------------------------------------------------------------------------

CONVERSIONS = """
    lax.convert_element_type(x, jnp.int32)
    lax.convert_element_type(x, int)
    lax.convert_element_type(x, "complex64")
    lax.convert_element_type(1.5, int)
    lax.convert_element_type(1.5, float)
    lax.convert_element_type(1.5, complex)
    lax.convert_element_type(True, float)
    lax.convert_element_type(x, float)
    lax.convert_element_type(jnp.asarray(1.0), jnp.float32)
    lax.convert_element_type(np.float64(1.5), np.float32)
    lax.convert_element_type(np.array([300]), np.int8)
    lax.convert_element_type(300, np.int8)
    lax.convert_element_type(z, bool)
    lax.convert_element_type(x, bool)
    lax.convert_element_type(b, np.float16)
    lax.convert_element_type(n, np.uint8)
    lax.convert_element_type(n, "int4")
    lax.convert_element_type(x, "float8_e4m3fn")
    jax.jit(lambda x: lax.convert_element_type(x, "int8"))(jnp.array([300.0, -1.5, 2.7, -300.0]))
    lax.bitcast_convert_type(x, jnp.int32)
    lax.bitcast_convert_type(x, jnp.uint8)
    lax.bitcast_convert_type(jnp.ones((2, 4), "uint8"), jnp.float32)
    lax.bitcast_convert_type(jnp.ones((3, 2), "int4"), jnp.int8)
    lax.bitcast_convert_type(jnp.ones(3, "int8"), jnp.int4)
    lax.bitcast_convert_type(1.0, int)
    lax.bitcast_convert_type(jnp.asarray(1.0), jnp.float32)
    lax.bitcast_convert_type(jnp.ones(()), jnp.uint8)
    lax.bitcast_convert_type(z, jnp.complex64)
    lax.bitcast_convert_type(b, bool)
    lax.bitcast_convert_type(jnp.ones(2, "bfloat16"), jnp.uint16)
    lax.bitcast_convert_type(jnp.ones(2, "float8_e5m2"), jnp.uint8)
    lax.reduce_precision(x, 8, 7)
    lax.reduce_precision(x, 5, 2)
    lax.reduce_precision(x, 8, 0)
    lax.reduce_precision(1.1, 8, 7)
    lax.reduce_precision(jnp.array([1.1], "bfloat16"), 5, 2)
"""

# --- derivatives of conversions and complex functions ---------------------------------------------

DERIVATIVES = """
    jax.jvp(lambda x: lax.reduce_precision(x, 5, 2), (1.1,), (1.1,))
    jax.grad(lambda x: lax.reduce_precision(x, 5, 2))(1.1)
    jax.grad(lambda x: lax.real(lax.convert_element_type(x, "complex64")))(1.0)
    jax.vjp(lambda x: lax.convert_element_type(x, "complex64"), 1.0)[1](jnp.complex64(1 + 2j))
    jax.grad(lambda x: lax.convert_element_type(lax.convert_element_type(x, int), float))(1.0)
    jax.grad(lambda x: lax.convert_element_type(lax.convert_element_type(x, "int8"), float))(1.0)
    jax.grad(lambda x: lax.convert_element_type(x, "float16").astype(float))(1.0)
    jax.grad(lambda z: lax.real(z))(1.0 + 2j)
    jax.grad(lambda z: lax.imag(z))(1.0 + 2j)
    jax.grad(lambda z: lax.abs(z))(3.0 + 4j)
    jax.grad(lambda z: lax.abs(z))(0.0 + 0j)
    jax.grad(lambda z: lax.real(lax.sign(z)))(3.0 + 4j)
    jax.grad(lambda x: lax.real(lax.conj(x)))(1.0)
    jax.grad(lambda z: lax.real(lax.conj(z)))(1.0 + 2j)
    jax.grad(lambda z: lax.imag(lax.conj(z)))(1.0 + 2j)
    jax.grad(lambda x, y: lax.imag(lax.complex(x, y)), (0, 1))(1.0, 2.0)
    jax.grad(lambda x: lax.abs(lax.complex(x, 2.0)))(1.0)
    jax.grad(lax.exp, holomorphic=True)(1.0 + 2j)
    jax.grad(lax.tan, holomorphic=True)(1.0 + 2j)
    jax.grad(lax.asin, holomorphic=True)(0.5 + 0.2j)
"""


def cases(block: str) -> list[str]:
    return [line.strip() for line in block.strip().splitlines()]


@pytest.mark.parametrize(
    "block",
    [SCALARS, SHAPES, SELECTION, CONVERSIONS],
    ids=["scalars", "shapes", "selection", "conversions"],
)
def test_against_the_oracle(oracle, block):
    oracle.compare_many([Case(snippet, INPUTS) for snippet in cases(block)])


def test_derivatives_against_the_oracle(oracle):
    """Here a gradient is as weak as its argument; in JAX that depends on the operation."""
    tolerance = Tolerance(rtol=1e-5, check_weak_type=False)
    oracle.compare_many([Case(snippet, INPUTS, tolerance) for snippet in cases(DERIVATIVES)])


# --- bad input ------------------------------------------------------------------------------------

ERRORS = """
    lax.add(x, 1)
    lax.add(n, 1.0)
    lax.add(1, 1.0)
    lax.add(x, True)
    lax.add(True, 1)
    lax.add(x, n)
    lax.add(x, jnp.ones((3, 1)))
    lax.add(x, jnp.ones(2))
    lax.add(x, "a")
    lax.add(x, None)
    lax.add([1.0], x)
    lax.sin(n)
    lax.exp(1)
    lax.sqrt(4)
    lax.neg(True)
    lax.floor(n)
    lax.round(n)
    lax.is_finite(n)
    lax.erf(z)
    lax.real(x)
    lax.imag(1.0)
    lax.conj(n)
    lax.complex(jnp.ones(2, "float16"), jnp.ones(2, "float16"))
    lax.lt(z, z)
    lax.rem(z, z)
    lax.bitwise_and(x, x)
    lax.population_count(b)
    lax.shift_left(x, x)
    lax.pow(n, n)
    lax.pow(n, x)
    lax.pow(2, 3)
    lax.pow(x, z)
    lax.pow(x, b)
    lax.integer_pow(n, -3)
    lax.integer_pow(b, 3)
    lax.integer_pow(x, 2.5)
    lax.reciprocal(n)
    lax.select(b, x, 1.0)
    lax.select(b, x, n)
    lax.select(x, x, x)
    lax.select(jnp.array([True]), x, x)
    lax.select_n(b, x, x, x)
    lax.select_n(True)
    lax.select_n(True, 1, 2.0)
    lax.select_n(True, x, jnp.ones((3, 1)))
    lax.select_n(jnp.array([True, False]), 1.0, 2.0)
    lax.clamp(0, x, 1)
    lax.clamp(x, 1.0, x)
    lax.clamp(jnp.zeros(2), x, 1.0)
    lax.clamp(jnp.zeros(1), x, 1.0)
    lax.convert_element_type(x, None)
    lax.convert_element_type([1, 2], np.int8)
    lax.convert_element_type("a", float)
    lax.bitcast_convert_type(jnp.ones((2, 3), "uint8"), jnp.float32)
    lax.bitcast_convert_type(x, jnp.complex64)
    lax.bitcast_convert_type(z, jnp.float32)
    lax.bitcast_convert_type(b, jnp.int8)
    lax.bitcast_convert_type(np.uint8(1), jnp.float32)
    lax.bitcast_convert_type(jnp.ones(3, "int4"), jnp.int8)
    lax.reduce_precision(n, 8, 7)
    lax.reduce_precision(x, 0, 7)
    lax.reduce_precision(x, 8, -1)
    lax.reduce_precision(x, 8.0, 7)
    lax.reduce_precision(z, 8, 7)
    lax.stop_gradient("abc")
    lax.exp(x, accuracy="highest")
    lax.exp(x, accuracy=3)
    lax.Tolerance()
    lax.Tolerance(atol=-1.0, rtol=1.0)
"""


@pytest.mark.parametrize("snippet", cases(ERRORS))
def test_error_classes(oracle, snippet):
    raised = oracle.compare_error(snippet, **INPUTS)
    name = snippet.partition("(")[0].removeprefix("lax.")
    shown = {"bitwise_and": "and", "reciprocal": "integer_pow", "select": "select_n"}.get(
        name, name
    )
    by_python = ("Value ", "'float' object", "data type")  # said before the function is reached
    assert shown in raised.message or raised.message.startswith(by_python), raised.message


def test_messages_say_what_to_do():
    with pytest.raises(TypeError, match=r"float32, int32.*convert_element_type"):
        lax.add(X, N)
    with pytest.raises(TypeError, match=r"sin does not accept dtype i32.*floating point"):
        lax.sin(N)
    with pytest.raises(TypeError, match=r"\(3,\), \(2,\).*covector.numpy broadcasts"):
        lax.add(X, X[:2])
    with pytest.raises(TypeError, match="clamp: min must have rank zero or the shape of x"):
        lax.clamp(X[:2], X, 1.0)
    with pytest.raises(OverflowError, match="too large to convert to int32"):
        lax.convert_element_type(2**40, np.int32)


def test_complex_to_real_warns():
    with pytest.warns(np.exceptions.ComplexWarning, match="imaginary part"):
        np.testing.assert_array_equal(lax.convert_element_type(Z, np.float32), Z.real)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lax.convert_element_type(Z, np.complex64)
        lax.convert_element_type(Z, bool)


def test_explicit_double_warns_without_x64():
    with pytest.warns(UserWarning, match="float64 requested in convert_element_type"):
        assert lax.convert_element_type(X, "float64").dtype == np.float32


# --- staging --------------------------------------------------------------------------------------


def equations(function, *args):
    return covector.make_jaxpr(function)(*args).jaxpr.eqns


def test_one_equation_for_each_call():
    """User functions add nothing around their primitive: no conversion, no broadcast of scalars."""
    for function in (
        lambda x: lax.add(x, 1.0),
        lambda x: lax.clamp(0.0, x, 1.0),
        lambda x: lax.pow(x, 2),
        lambda x: lax.integer_pow(x, 3),
        lambda x: lax.select(True, x, x),
        lambda x: lax.exp(x, accuracy=lax.AccuracyMode.HIGHEST),
    ):
        assert len(equations(function, X)) == 1


CONSTANTS = [0, 1, -3, 200, 2**31 - 1, True, 0.0, -0.0, 1.1, -2.5, 1e30, 1e-30, float("inf")]
CONSTANTS += [np.float32(0.1), np.int8(-3), np.uint8(200), np.float16(0.1), ml_dtypes.bfloat16(0.1)]
TARGETS = ["bool", "int8", "uint8", "int32", "float16", "bfloat16", "float32", "complex64"]


@pytest.mark.parametrize("value, target", list(itertools.product(CONSTANTS, TARGETS)))
def test_constants_fold_to_what_conversion_gives(value, target):
    """A literal that is converted while staging has the bits that the operation gives."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy's, of overflow
        convert = lambda: lax.convert_element_type(value, target)
        folded = covector.jit(convert)()
        primitive = lax.convert_element_type_p
        run = covector.jit(lambda x: lax.convert_element_type(x, target))(value)
    assert folded.dtype == run.dtype == np.dtype(target)
    assert np.asarray(folded).tobytes() == np.asarray(run).tobytes()
    folds = not any(e.primitive is primitive for e in equations(convert))
    kind = np.asarray(value).dtype
    is_float = covector.dtypes.issubdtype(kind, np.floating)
    to_inexact = covector.dtypes.issubdtype(target, np.inexact)
    assert folds == (kind == target or not is_float or to_inexact)


def test_products_with_ordinary_constants_are_plain():
    """In linear code, a finite constant needs no comparison of the tangent with zero."""
    text = covector.jit(covector.grad(lambda x: lax.mul(x, 3.0))).lower(2.0).as_text()
    assert "compare" not in text
    text = covector.jit(covector.grad(lambda x: lax.mul(x, lax.log(x)))).lower(2.0).as_text()
    assert "compare" in text


def test_accuracy_reaches_the_compiler():
    tolerance = lax.Tolerance(rtol=1e-3)
    for function in (lax.exp, lax.sin, lax.tan, lax.log1p, lax.sqrt, lax.cbrt, lax.logistic):
        for accuracy, word in ((lax.AccuracyMode.HIGHEST, "HIGHEST"), (tolerance, "TOLERANCE")):
            compute = covector.jit(lambda x, f=function, a=accuracy: f(x, accuracy=a))
            assert f"mode = #stablehlo.result_accuracy_mode<{word}>" in compute.lower(X).as_text()
            compute(np.float32(0.5))
    derivative = covector.jit(covector.grad(lambda x: lax.sin(x, accuracy=tolerance)))
    assert "cosine" in derivative.lower(1.0).as_text()
    assert "TOLERANCE" in derivative.lower(1.0).as_text()


def test_lgamma_is_accurate_in_single_precision(oracle):
    special = pytest.importorskip("scipy.special")
    x = np.concatenate([np.linspace(0.9, 2.2, 500), np.linspace(-5.9, -0.1, 500)]).astype("float32")
    expected = special.gammaln(x.astype(np.float64))
    np.testing.assert_allclose(lax.lgamma(x), expected, rtol=2e-7)
    assert float(lax.lgamma(1.0)) == float(lax.lgamma(2.0)) == 0.0


def test_exp2_is_accurate_for_large_exponents():
    x = np.linspace(-126, 127, 1001).astype(np.float32)
    np.testing.assert_allclose(lax.exp2(x), np.exp2(x.astype(np.float64)), rtol=1.2e-7)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_atan2_is_accurate_in_every_octant_and_at_the_edges(dtype):
    rng = np.random.default_rng(0)
    y, x = (rng.standard_normal((2, 100_000)) * 10.0 ** rng.uniform(-6, 6, (2, 100_000))).astype(
        dtype
    )
    edges = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-30, -1e30, 2.0, -0.5]
    corners = np.array(list(itertools.product(edges, edges)), dtype).T
    y, x = np.concatenate([[y, x], corners], axis=1)
    with covector.enable_x64(True):
        actual = {
            "atan2": (np.asarray(lax.atan2(y, x)), np.arctan2(*np.longdouble([y, x]))),
            "atan": (np.asarray(lax.atan(y)), np.arctan(np.longdouble(y))),
        }
    for angle, expected in actual.values():
        assert angle.dtype == dtype
        known = ~np.isnan(expected)
        np.testing.assert_array_equal(np.isnan(angle), ~known)
        angle, expected = angle[known], expected[known]
        np.testing.assert_array_equal(np.signbit(angle), np.signbit(expected))
        assert np.max(np.abs(angle - expected) / np.spacing(np.abs(angle))) < 2

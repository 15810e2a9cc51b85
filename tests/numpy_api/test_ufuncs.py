"""Elementwise functions against the oracle: values, dtypes, weak types, over tables."""

import covector.numpy as jnp
import numpy as np
import pytest

from numpy_api.compare import compare_all, compare_errors

ANY_UNARY = [
    "abs",
    "absolute",
    "positive",
    "isfinite",
    "isinf",
    "isnan",
    "logical_not",
    "real",
    "imag",
    "conj",
    "conjugate",
]
ANY_UNARY += ["square", "isreal", "iscomplex"]
NUMBER_UNARY = ["negative", "sign"]
REAL_UNARY = ["floor", "ceil", "trunc", "signbit", "isposinf", "isneginf", "fabs"]
FLOAT_UNARY = [
    "sin",
    "cos",
    "tan",
    "sinh",
    "cosh",
    "tanh",
    "arcsin",
    "arccos",
    "arctan",
    "arcsinh",
    "arctanh",
    "asin",
    "acos",
    "atan",
    "asinh",
    "atanh",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log1p",
    "log2",
    "log10",
    "sqrt",
    "reciprocal",
    "degrees",
    "radians",
    "rad2deg",
    "deg2rad",
    "sinc",
    "rint",
]
INTEGER_UNARY = ["invert", "bitwise_not", "bitwise_invert", "bitwise_count"]

ANY_BINARY = "add multiply maximum minimum equal not_equal less less_equal greater greater_equal "
ANY_BINARY = (ANY_BINARY + "logical_and logical_or logical_xor").split()
NUMBER_BINARY = ["subtract", "true_divide", "divide"]
REAL_BINARY = [
    "floor_divide",
    "remainder",
    "mod",
    "fmod",
    "arctan2",
    "atan2",
    "hypot",
    "copysign",
    "heaviside",
    "fmax",
    "fmin",
    "logaddexp",
    "logaddexp2",
    "nextafter",
]
INTEGER_BINARY = [
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "left_shift",
    "right_shift",
    "gcd",
    "lcm",
]

PAIRS = ["f, g", "f, v", "2.5, f", "i, j", "i, 2", "i, 2.5", "i8, u8", "h, 2"]
# The result of a comparison of weak operands is no less certain than that of others.
BOOLEAN = [
    "isfinite",
    "isinf",
    "isnan",
    "isposinf",
    "isneginf",
    "logical_not",
    "isreal",
    "iscomplex",
]


# Where the oracle's result is weak or not by an accident of how it is computed.
ACCIDENTAL = ["signbit", "log10", "heaviside", "logaddexp2"]


def weak_matters(name):
    return name not in BOOLEAN + ACCIDENTAL


@pytest.mark.parametrize("name", ANY_UNARY + NUMBER_UNARY + REAL_UNARY + FLOAT_UNARY)
def test_unary(oracle, name):
    operands = ["p", "i", "u8", "h", "2", "empty"]
    if name not in REAL_UNARY + ["rint"]:
        operands += ["c"]
    if name in ANY_UNARY + ["floor", "ceil", "trunc"]:
        operands += ["b"]
    if name == "sinc":
        operands.remove("h")  # the oracle's loses accuracy in half precision
    compare_all(
        oracle,
        [f"jnp.{name}({x})" for x in operands],
        rtol={"float32": 1e-5, "bfloat16": 2e-2, "complex64": 1e-5},
        atol=1e-6,
        check_weak_type=weak_matters(name),
    )


@pytest.mark.parametrize(
    "name", ["abs", "sign", "floor", "ceil", "trunc", "rint", "signbit", "sqrt"]
)
def test_edges_of_the_range(oracle, name):
    compare_all(oracle, [f"jnp.{name}(edge)"], exact=name not in ("sqrt", "sign"))


@pytest.mark.parametrize("name", INTEGER_UNARY)
def test_unary_of_integers(oracle, name):
    compare_all(oracle, [f"jnp.{name}({x})" for x in ["i", "i8", "u8", "5"]])


@pytest.mark.parametrize("name", ANY_BINARY + NUMBER_BINARY + REAL_BINARY)
def test_binary(oracle, name):
    pairs = list(PAIRS)
    if name in ANY_BINARY:
        pairs += ["b, b", "b, 1", "b, i8"]
    if name in ANY_BINARY + NUMBER_BINARY:
        pairs += ["c, f", "c, c", "c, 2j"]
    if name == "nextafter":
        pairs.remove("h, 2")
    compare_all(
        oracle,
        [f"jnp.{name}({pair})" for pair in pairs],
        rtol={"float32": 1e-5, "bfloat16": 2e-2, "complex64": 1e-5},
        atol=1e-6,
        check_weak_type=weak_matters(name),
    )


@pytest.mark.parametrize("name", INTEGER_BINARY)
def test_binary_of_integers(oracle, name):
    compare_all(oracle, [f"jnp.{name}({pair})" for pair in ["i, j", "i8, u8", "j, 2", "u8, u8"]])


def test_division_at_the_edges(oracle):
    pairs = ["(edge, 2.0)", "(3.0, edge)", "(-3.0, edge)", "(edge[:, None], edge[:6])"]
    compare_all(
        oracle, [f"jnp.floor_divide{p}" for p in pairs] + [f"jnp.remainder{p}" for p in pairs]
    )
    compare_all(
        oracle,
        """
            jnp.remainder(i, 0)
            jnp.divmod(i, j)
            """,
    )
    compare_all(
        oracle,
        """
            jnp.divmod(f, g)
            divmod(i, 2)
            jnp.divmod(7, -2)
            """,
    )


def test_powers(oracle):
    compare_all(
        oracle,
        """
            jnp.power(f, 2)
            jnp.power(i, 3)
            jnp.power(p, 0.5)
            jnp.power(i, 2.0)
            jnp.power(2, j)
            jnp.power(j, j)
            jnp.power(f, -2)
            jnp.power(b, 2)
            jnp.power(f, j)
            2.0 ** j
            i ** 0
            f ** 1
            h ** 2
            c ** 2
            c ** 0.5
            jnp.float_power(2, 3)
            jnp.power(p, p)
            2 ** p
            jnp.power(u8, u8)
            True ** i
            """,
        rtol={"float32": 1e-5, "bfloat16": 2e-2, "complex64": 1e-5},
        check_weak_type=False,
    )


@pytest.mark.parametrize("exponent", [0, 1, 31, 64, 65, 67])
def test_large_powers_of_integers_are_numpys(exponent):
    base = np.array([2, -1, 0, 1, 3, -3], np.int32)
    actual = jnp.power(jnp.asarray(base), jnp.array([exponent]))
    np.testing.assert_array_equal(actual, np.power(base, np.int32(exponent)))


def test_infinities_have_no_fraction():
    fraction, whole = jnp.modf(jnp.array([jnp.inf, -jnp.inf]))
    np.testing.assert_array_equal(fraction, [0.0, 0.0])
    np.testing.assert_array_equal(whole, [np.inf, -np.inf])


def test_rounding(oracle):
    compare_all(
        oracle,
        """
            jnp.round(f, 1)
            jnp.round(100 * f, -1)
            jnp.round(h, 1)
            jnp.round(c, 1)
            jnp.round(jnp.array([0.5, 1.5, 2.5, -0.5]))
            round(f, 1)
            round(s)
            jnp.round(i)
            jnp.around(f)
            f.round(2)
            jnp.round(edge)
            """,
        rtol={"float32": 1e-5, "bfloat16": 1e-2, "complex64": 1e-5},
    )


def test_clip(oracle):
    compare_all(
        oracle,
        """
            jnp.clip(i, -1, 3)
            jnp.clip(f, None, 0.5)
            jnp.clip(f, 0)
            jnp.clip(f)
            jnp.clip(f, v, 1.0)
            jnp.clip(i, 0.5, 2)
            jnp.clip(b, 0, 1)
            f.clip(min=0)
            jnp.clip(f, 1, -1)
            jnp.clip(f, max=0)
            jnp.clip(edge, -1, 1)
            jnp.clip(2, 0, 1)
            """,
    )


def test_parts_of_numbers(oracle):
    compare_all(
        oracle,
        """
            jnp.angle(c)
            jnp.angle(f)
            jnp.angle(c, deg=True)
            jnp.angle(-1)
            jnp.modf(f)
            jnp.modf(i)
            jnp.frexp(f)
            jnp.frexp(i)
            jnp.frexp(edge[:5])
            jnp.ldexp(f, i)
            jnp.ldexp(i, j)
            jnp.nan_to_num(edge)
            jnp.nan_to_num(i)
            jnp.nan_to_num(edge, nan=7.0, posinf=1.0, neginf=-1.0)
            c.real
            c.imag
            f.imag
            """,
        rtol={"float32": 1e-5},
    )


def test_equality_of_arrays(oracle):
    compare_all(
        oracle,
        """
            jnp.isclose(f, f + 1e-6)
            jnp.isclose(i, 1)
            jnp.isclose(edge, edge)
            jnp.isclose(edge, edge, equal_nan=True)
            jnp.isclose(c, c)
            jnp.isclose(b, b)
            jnp.allclose(f, g)
            jnp.allclose(f, f)
            jnp.allclose(edge, edge, equal_nan=True)
            jnp.array_equal(f, g)
            jnp.array_equal(f, f)
            jnp.array_equal(f, v)
            jnp.array_equal(edge, edge, equal_nan=True)
            jnp.array_equiv(f, f[None])
            jnp.isclose(f, g, rtol=1.0, atol=0.5)
            jnp.isclose(s, 1.5)
            """,
    )


def test_errors(oracle):
    compare_errors(
        oracle,
        """
            jnp.sin([1.0])
            jnp.add([1], [2])
            jnp.add(f, None)
            jnp.add(f)
            jnp.sin(f, f)
            jnp.negative(b)
            jnp.invert(f)
            jnp.left_shift(f, 1)
            jnp.bitwise_and(f, 1)
            b - b
            jnp.add(f, jnp.ones(2))
            jnp.add(f, f, out=f)
            jnp.add(f, f, where=b)
            jnp.floor(c)
            jnp.power(2, -1)
            i ** -1
            jnp.clip(c, 0, 1)
            jnp.hypot(c, c)
            jnp.gcd(1.5, 2)
            jnp.ldexp(1.0, 2.0)
            jnp.cbrt(c)
            jnp.sin('a')
            jnp.sin(x=f)
            jnp.round(123, -1)
            jnp.floor_divide(c, c)
            """,
    )

"""Elementwise special functions: values against SciPy, slopes, dtypes, transformations, errors."""

import covector
import numpy as np
import pytest
import scipy.special as reference
from covector.scipy import special
from oracle import Case
from oracle.compare import Tolerance

TINY = np.exp(-np.arange(1.0, 80.0, 7.0))
INSIDE = np.concatenate([np.linspace(0.01, 0.99, 34), TINY])
UNIT = np.concatenate([INSIDE, [0.0, 0.5, 1.0, -1.0, 2.0, np.nan]])
LINE = np.concatenate([np.linspace(-12.0, 12.0, 41), [-1e8, 1e8, 0.0, -np.inf, np.inf, np.nan]])
POLES = np.array([0.0, -0.0, -1.0, -2.0, -np.inf, np.inf, np.nan])
GAMMA = np.concatenate([np.arange(1.0, 34.0, 2.0), np.linspace(-9.7, 33.3, 41), [1e-5, -1e-5]])
LARGE = np.exp(np.linspace(-4.0, 12.0, 9))
PAIRS = [x.ravel() for x in np.meshgrid(LARGE, LARGE)]
SHARES = [x.ravel() for x in np.meshgrid(*[[-1.0, 0.0, 1e-30, 0.3, 0.5, 1.0, np.nan]] * 2)]
FACTORS = [x.ravel() for x in np.meshgrid([-2.0, 0.0, 0.5, np.nan], [0.0, 0.3, 1.0, 1e30, np.nan])]

VALUES = {
    # function: operands; SciPy has each by the same name
    "expit": [LINE],
    "logit": [UNIT],
    "entr": [UNIT],
    "erf": [LINE],
    "erfc": [LINE],
    "erfinv": [np.linspace(-1.0, 1.0, 21)],
    "ndtr": [LINE],
    "ndtri": [UNIT],
    "log_ndtr": [LINE],
    "gammaln": [GAMMA],
    "gammasgn": [np.concatenate([GAMMA, POLES])],
    "digamma": [GAMMA],
    "gamma": [np.concatenate([GAMMA, POLES[:4], POLES[5:]])],
    "factorial": [np.array([0.0, 1.0, 2.0, 5.0, 9.0, 10.0, 2.5, 30.0, -1.0, -0.5, np.nan])],
    "beta": [x.clip(max=50.0) for x in PAIRS],  # SciPy is off at larger ones
    "xlogy": FACTORS,
    "xlog1py": FACTORS,
    "rel_entr": SHARES,
    "kl_div": SHARES,
}
# What is lost by the rounding of operands or results that a function amplifies, in units of eps.
AMPLIFIED = {"digamma": 300, "beta": 300, "gammaln": 200, "gamma": 20, "kl_div": 30}
AMPLIFIED |= {"erfc": 60, "ndtr": 60, "log_ndtr": 100}


def close(ours, right, units, dtype):
    info = np.finfo(dtype)
    ours, right = np.asarray(ours, "float64"), np.asarray(right, "float64")
    right = np.where(np.abs(right) > float(info.max), np.copysign(np.inf, right), right)
    atol = float(info.smallest_normal)
    np.testing.assert_allclose(ours, right, rtol=units * float(info.eps), atol=atol)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", VALUES)
def test_values(name, dtype):
    operands = [x.astype(dtype) for x in VALUES[name]]
    with np.errstate(all="ignore"), covector.enable_x64(dtype == "float64"):
        ours = getattr(special, name)(*operands)
        right = getattr(reference, name)(*[x.astype("float64") for x in operands])
    assert ours.dtype == dtype
    close(ours, right, AMPLIFIED.get(name, 8), dtype)


# Values to 16 digits by multiple precision, where SciPy itself is off.
BETALN = [
    # a, b, value
    (0.1450163661824612, 602660.441554325, -0.06665350849052303),
    (1e8, 1.0, -18.420680743952367),
    (1e6, 1e6, -1386300.0033629211),
    (2.0, 3.0, -2.4849066497880004),
    (-0.5, 0.25, 0.9639593356315369),
]


@pytest.mark.parametrize("a, b, value", BETALN)
def test_betaln(a, b, value):
    with covector.enable_x64(True):
        np.testing.assert_allclose(special.betaln(a, b), value, rtol=1e-13)
        np.testing.assert_allclose(special.betaln(b, a), value, rtol=1e-13)


def test_factorials_are_integers():
    np.testing.assert_array_equal(special.factorial(np.arange(10)), reference.factorial(range(10)))


# --- derivatives ---------------------------------------------------------------------------------

SLOPES = [
    # function, operands, position, derivative by formula or limit (float64)
    ("expit", (40.0,), 0, 4.248354255291589e-18),
    ("logit", (1e-10,), 0, 1.0000000001e10),
    ("logit", (0.0,), 0, np.inf),
    ("logit", (1.0,), 0, np.inf),
    ("xlogy", (0.0, 0.0), 0, -np.inf),
    ("xlogy", (0.0, 0.0), 1, 0.0),
    ("xlogy", (0.0, 2.0), 0, np.log(2.0)),
    ("xlogy", (3.0, 2.0), 1, 1.5),
    ("xlog1py", (0.0, -1.0), 1, 0.0),
    ("xlog1py", (3.0, 1.0), 1, 1.5),
    ("entr", (0.5,), 0, np.log(2.0) - 1),
    ("entr", (0.0,), 0, np.inf),
    ("rel_entr", (0.0, 1.0), 0, 0.0),
    ("rel_entr", (0.5, 0.25), 0, np.log(2.0) + 1),
    ("rel_entr", (0.5, 0.25), 1, -2.0),
    ("kl_div", (0.5, 0.25), 0, np.log(2.0)),
    ("kl_div", (0.0, 0.25), 1, 1.0),
    ("erf", (1.0,), 0, 0.41510749742059477),
    ("erfc", (1.0,), 0, -0.41510749742059477),
    ("ndtr", (-10.0,), 0, 7.694598626706419e-23),
    ("ndtri", (0.5,), 0, 2.5066282746310002),
    ("ndtri", (0.0,), 0, np.inf),
    ("log_ndtr", (-1e8,), 0, 1e8),
    ("log_ndtr", (-1e10,), 0, 1e10),
    ("log_ndtr", (-3.0,), 0, 3.2830986543362395),
    ("log_ndtr", (0.0,), 0, 0.7978845608028654),
    ("log_ndtr", (10.0,), 0, 7.694598626706419e-23),
    ("gammaln", (5.0,), 0, 1.5061176684318005),
    ("gamma", (5.0,), 0, 36.14682404236321),
    ("gamma", (0.0,), 0, -np.inf),
    ("digamma", (1.0,), 0, np.pi**2 / 6),
    ("factorial", (4.0,), 0, 36.14682404236321),
    ("factorial", (-2.0,), 0, 0.0),
    ("betaln", (1e8, 1.0), 0, -9.99999995e-9),
    ("beta", (-0.5, 0.25), 0, -7.545361682487623),
]


@pytest.mark.parametrize("name, operands, position, right", SLOPES)
def test_slopes(name, operands, position, right):
    function = getattr(special, name)
    with covector.enable_x64(True):
        slope = covector.grad(function, position)(*operands)
        tangents = [float(i == position) for i in range(len(operands))]
        _, forward = covector.jvp(function, operands, tuple(tangents))
    np.testing.assert_allclose(slope, right, rtol=1e-8)
    np.testing.assert_allclose(forward, right, rtol=1e-8)


def test_log_ndtr_in_single_precision():
    np.testing.assert_allclose(covector.grad(special.log_ndtr)(-1e6), 1e6, rtol=1e-6)


CURVED = {"log_ndtr": -3.0, "ndtri": 0.3, "gamma": 2.5, "logit": 0.3, "ndtr": -1.0, "entr": 0.3}


@pytest.mark.parametrize("name", CURVED)
def test_second_derivatives(name):
    slope = covector.grad(getattr(special, name))
    x, step = CURVED[name], 1e-5
    with covector.enable_x64(True):
        difference = (slope(x + step) - slope(x - step)) / (2 * step)
        np.testing.assert_allclose(covector.grad(slope)(x), difference, rtol=1e-7)
        np.testing.assert_allclose(covector.jacfwd(slope)(x), difference, rtol=1e-7)


# --- transformations -----------------------------------------------------------------------------

SMALL = np.array([0.2, 0.4, 0.7], np.float32)


@pytest.mark.parametrize("name", [*VALUES, "betaln"])
def test_transformations(name):
    function = getattr(special, name)
    arguments = (SMALL,) if len(VALUES.get(name, (0, 0))) == 1 else (SMALL, SMALL[::-1])
    eager = function(*arguments)
    np.testing.assert_allclose(covector.jit(function)(*arguments), eager, rtol=1e-6)
    np.testing.assert_allclose(covector.vmap(function)(*arguments), eager, rtol=1e-6)
    total = covector.grad(lambda *xs: function(*xs).sum())(*arguments)
    each = covector.vmap(covector.grad(function))(*arguments)
    np.testing.assert_allclose(total, each, rtol=1e-6)


def test_one_operand_is_broadcast():
    slope = covector.grad(lambda y: special.xlogy(SMALL, y).sum())(2.0)
    np.testing.assert_allclose(slope, SMALL.sum() / 2, rtol=1e-6)
    mapped = covector.vmap(special.betaln, (None, 0))(2.0, SMALL)
    np.testing.assert_allclose(mapped, special.betaln(2.0, SMALL), rtol=1e-6)


# --- dtypes and errors ---------------------------------------------------------------------------

OPERANDS = ["1.0", "np.float32(0.5)", "jnp.bfloat16(0.5)", "np.ones((2, 0), 'float16')"]
ANY_OPERAND = [*OPERANDS, "1", "True", "np.int8(1)"]
NOT_NARROW = ["ndtr", "ndtri", "log_ndtr"]  # of these, JAX takes single and double precision only
PAIR_OPERANDS = ["1.0, 2", "np.float32(1), 2", "jnp.float16(1), 1", "np.int8(1), True"]
PAIR_OPERANDS += ["np.ones((2, 1)), np.ones(3)"]


def shapes(oracle, name, operands):
    return [
        Case(f"jax.eval_shape(jax.scipy.special.{name}, {x})", {}, Tolerance()) for x in operands
    ]


@pytest.mark.parametrize("name", VALUES)
def test_dtypes(oracle, name):
    if len(VALUES[name]) == 2:
        operands = PAIR_OPERANDS
    else:
        operands = OPERANDS[:2] if name in NOT_NARROW else ANY_OPERAND
    oracle.compare_many(shapes(oracle, name, operands))


@pytest.mark.parametrize("name", NOT_NARROW)
def test_half_precision_and_integers(name):
    assert getattr(special, name)(SMALL.astype("float16")).dtype == "float16"
    assert getattr(special, name)(1).dtype == "float32"


def test_complex_numbers(oracle):
    for name in ("expit", "logit"):
        oracle.compare(f"jax.scipy.special.{name}(0.3 + 0.2j)", rtol=1e-5)


@pytest.mark.parametrize(
    "call",
    [
        "expit([1.0])",
        "xlogy(1.0, [1.0])",
        "expit(None)",
        "entr(1j)",
        "kl_div(1j, 1)",
        "ndtr(1j)",
        "erf(1j)",
        "erfinv(1j)",
        "log_ndtr(0.0, series_order=2.5)",
        "log_ndtr(0.0, series_order=-1)",
        "log_ndtr(0.0, series_order=31)",
        "factorial(3, exact=True)",
        "xlogy(jnp.ones(2), jnp.ones(3))",
        "no_such_function",
    ],
)
def test_errors(oracle, call):
    error = oracle.compare_error(f"jax.scipy.special.{call}")
    assert call.partition("(")[0] in str(error.message) or "broadcast" in str(error.message)

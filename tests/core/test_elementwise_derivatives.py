"""Derivatives of the elementwise operations: of first and second order, and at the edges."""

import functools

import covector
import ml_dtypes
import numpy as np
import pytest
from core.primitive_checks import check_all, check_batched
from covector import lax

WIDE = np.array([[-3.1, -1.7, 0.4], [1.2, 2.6, 5.3]])
INSIDE = np.array([[-0.8, -0.3, 0.2], [0.5, 0.9, -0.6]])
POSITIVE = np.array([[0.2, 0.9, 0.35], [0.5, 0.7, 0.6]])
COMPLEX = INSIDE + 1j * POSITIVE

EVERYWHERE = """
    abs asinh atan cbrt ceil cos cosh erf erfc exp exp2 expm1 floor logistic neg one_minus_square
    reciprocal round sign sin sinh square tan tanh
"""
BETWEEN_ZERO_AND_ONE = "acos asin atanh digamma erf_inv lgamma log log1p log2 rsqrt sqrt"
OF_COMPLEX = """
    abs acos acosh asin asinh atan atanh conj cos cosh exp exp2 expm1 imag log log1p log2 logistic
    neg one_minus_square real reciprocal rsqrt sign sin sinh sqrt square tan tanh
"""
OF_TWO_COMPLEX = "add atan2 div max min mul pow sub"
CASES = dict.fromkeys(EVERYWHERE.split(), (WIDE,))
CASES |= dict.fromkeys(BETWEEN_ZERO_AND_ONE.split(), (POSITIVE,))
CASES |= {
    "acosh": (POSITIVE + 1,),
    "add": (WIDE, INSIDE),
    "atan2": (WIDE, INSIDE),
    "complex": (WIDE, INSIDE),
    "div": (WIDE, INSIDE),
    "max": (WIDE, INSIDE),
    "min": (WIDE, INSIDE),
    "mul": (WIDE, INSIDE),
    "nextafter": (WIDE, INSIDE),
    "pow": (POSITIVE, INSIDE),
    "rem": (WIDE, POSITIVE),
    "sub": (WIDE, INSIDE),
    "clamp": (np.array(-0.5), INSIDE, np.array(0.4)),
}
COMPLEX_CASES = dict.fromkeys(OF_COMPLEX.split(), (COMPLEX,))
COMPLEX_CASES |= dict.fromkeys(OF_TWO_COMPLEX.split(), (COMPLEX, COMPLEX[::-1] * 1.1))
COMPLEX_CASES["clamp"] = (COMPLEX - 0.3, COMPLEX, COMPLEX[::-1] + 0.2)


@pytest.mark.parametrize("name", CASES)
def test_real(name):
    check_all(getattr(lax, name), *CASES[name])


@pytest.mark.parametrize("name", COMPLEX_CASES)
def test_complex(name):
    check_all(getattr(lax, name), *COMPLEX_CASES[name])


OTHERS = {
    "polygamma": (lambda x: lax.polygamma(np.ones_like(POSITIVE), x), (POSITIVE,)),
    "zeta": (lambda q: lax.zeta(np.full_like(POSITIVE, 2.5), q), (POSITIVE,)),
    **{
        f"integer_pow {y}": (lambda x, y=y: lax.integer_pow(x, y), (INSIDE,))
        for y in (-3, -1, 0, 1, 2, 3, 7)
    },
    "pow by integers": (lambda x: lax.pow(x, np.array([[0, 1, 2], [3, -1, -2]])), (INSIDE,)),
    "select_n": (
        lambda x, y: lax.select_n(np.array([[True, False, True], [False, False, True]]), x, y),
        (WIDE, INSIDE),
    ),
    "select_n of three": (
        lambda x, y, z: lax.select_n(np.array([[0, 1, 2], [2, 1, 0]], np.int32), x, y, z),
        (WIDE, INSIDE, POSITIVE),
    ),
    "select_n by a scalar": (lambda x, y: lax.select_n(True, x, y), (WIDE, INSIDE)),
    "convert to complex": (lambda x: lax.convert_element_type(x, np.complex128), (WIDE,)),
    "multiply in another dtype": (lambda x: lax.mul(x, x, out_dtype=np.complex128), (WIDE,)),
    "optimization_barrier": (
        lambda x, y: lax.optimization_barrier((lax.sin(x), lax.mul(x, y))),
        (WIDE, INSIDE),
    ),
    "broadcasting of scalars": (lambda x, y: lax.mul(lax.sub(x, y), y), (WIDE, np.array(0.3))),
    "broadcasting of unit axes": (lambda x, y: lax.atan2(x, y), (WIDE[:, :1], POSITIVE[:1])),
    "clamp between arrays": (lax.clamp, (INSIDE - 0.2, INSIDE, INSIDE + 0.1)),
    "stop_gradient": (lambda x: lax.mul(x, lax.stop_gradient(2.0)), (WIDE,)),
}


@pytest.mark.parametrize("name", OTHERS)
def test_others(name):
    function, args = OTHERS[name]
    check_all(function, *args)


@pytest.mark.parametrize("shape", [(), (0,), (1, 3), (2, 0)])
@pytest.mark.parametrize("name", ["sin", "atan2", "max", "select_n"])
def test_odd_shapes(name, shape):
    x = np.linspace(0.1, 0.9, int(np.prod(shape))).reshape(shape)
    functions = {
        "sin": (lax.sin, (x,)),
        "atan2": (lax.atan2, (x, x + 1)),
        "max": (lax.max, (x, x + 1)),
        "select_n": (lambda w, x, y: lax.select_n(w, x, y), (x > 0.5, x, x + 1)),
    }
    function, args = functions[name]
    check_all(function, *args)


@pytest.mark.parametrize(
    "function",
    [lax.bitwise_and, lax.shift_left, lax.div, lax.rem, lax.eq, lax.lt, lax.max, lax.mul],
    ids=lambda f: f.__name__,
)
def test_batching_of_integers(function):
    x = np.array([[5, -3, 2], [7, 1, 9]], np.int32)
    check_batched(function, x, np.array([[1, 2, 3], [2, 4, 1]], np.int32))
    check_batched(function, x, np.array(2, np.int32))


def test_batching_of_conversions():
    x = np.arange(8, dtype=np.int32).reshape(2, 4)
    check_batched(lambda x: lax.bitcast_convert_type(x, np.float32), x)
    check_batched(lambda x: lax.bitcast_convert_type(x, np.int8), x)
    check_batched(lambda x: lax.bitcast_convert_type(x, np.int32), x.astype(np.int8))
    check_batched(lambda x: lax.convert_element_type(x, np.float16), x)
    check_batched(lambda x: lax.reduce_precision(x, 5, 2), x.astype(np.float32))


# --- at the edges of the range --------------------------------------------------------------------

INF, NAN = float("inf"), float("nan")
AT_EDGES = [
    # name, points, derivative at each (of a function of one argument, in float64)
    ("abs", [0.0, -0.0, -INF, INF], [1.0, 1.0, -1.0, 1.0]),
    ("sqrt", [0.0, INF], [INF, 0.0]),
    ("rsqrt", [0.0, INF, 1e-200], [-INF, -0.0, -5e299]),
    ("cbrt", [0.0, -8.0, 1e300], [INF, 1 / 12, 1e-200 / 3]),
    ("log", [0.0, 1e-300, INF], [INF, 1e300, 0.0]),
    ("log1p", [-1.0, -1 + 2**-52, 1e300], [INF, 2.0**52, 1e-300]),
    ("log2", [1e-300], [1e300 / np.log(2)]),
    ("exp", [-INF, -700.0], [0.0, np.exp(-700.0)]),
    ("expm1", [-40.0, -700.0], [np.exp(-40.0), np.exp(-700.0)]),
    ("logistic", [40.0, -40.0, 700.0, INF, -INF], [np.exp(-40.0)] * 2 + [np.exp(-700.0), 0.0, 0.0]),
    ("tanh", [20.0, -300.0, INF], [4 * np.exp(-40.0), 4 * np.exp(-600.0), 0.0]),
    ("asinh", [1e200, -1e300, 0.0], [1e-200, 1e-300, 1.0]),
    ("acosh", [1 + 2**-50, 1e200], [2.0**24.5, 1e-200]),
    ("asin", [1 - 2**-53, 0.0], [2.0**26, 1.0]),
    ("acos", [1 - 2**-53], [-(2.0**26)]),
    ("atanh", [1 - 2**-53], [2.0**52]),
    ("atan", [1e200, INF], [0.0, 0.0]),
    ("erf_inv", [1.0, 0.0], [INF, np.sqrt(np.pi) / 2]),
    ("erfc", [1e200], [0.0]),
    ("reciprocal", [1e-160, INF], [-INF, -0.0]),
]


@pytest.mark.parametrize("jit", [False, True], ids=["eager", "jit"])
@pytest.mark.parametrize("name, points, expected", AT_EDGES, ids=[c[0] for c in AT_EDGES])
def test_derivative_at_edges(name, points, expected, jit):
    function = getattr(lax, name)
    forward = lambda x: covector.jvp(function, (x,), (np.ones_like(points),))[1]
    reverse = lambda x: covector.vjp(function, x)[1](np.ones_like(points))[0]
    with covector.enable_x64(True):
        for derivative in (forward, reverse):
            result = (covector.jit(derivative) if jit else derivative)(np.array(points))
            np.testing.assert_allclose(result, expected, rtol=1e-9)


BINARY_AT_EDGES = [
    # name, x, y, derivative in x, derivative in y
    ("pow", 0.0, 0.0, 0.0, 0.0),
    ("pow", 0.0, 1.0, 1.0, 0.0),
    ("pow", 0.0, 2.0, 0.0, 0.0),
    ("pow", 0.0, 0.5, INF, 0.0),
    ("pow", 0.0, -1.0, -INF, -INF),
    ("pow", INF, -1.0, -0.0, 0.0),
    ("pow", -2.0, 3.0, 12.0, NAN),
    ("max", 1.0, 1.0, 0.5, 0.5),
    ("min", 1.0, 1.0, 0.5, 0.5),
    ("max", 0.0, -0.0, 0.5, 0.5),
    ("max", INF, INF, 0.5, 0.5),
    ("max", 1.0, INF, 0.0, 1.0),
    ("atan2", 1e-200, 1e-200, 5e199, -5e199),
    ("atan2", 1e200, 1e200, 5e-201, -5e-201),
    ("atan2", 1.0, INF, 0.0, 0.0),
    ("atan2", 1e-300, 1.0, 1.0, -1e-300),
    ("atan2", 0.0, 0.0, NAN, NAN),
    ("rem", 7.5, 2.0, 1.0, -3.0),
    ("rem", -7.5, 2.0, 1.0, 3.0),
    ("rem", 1.0, INF, 1.0, 0.0),
    ("div", 1e200, 1e200, 1e-200, -1e-200),
    ("div", 0.0, 1e-300, 1e300, 0.0),
    ("nextafter", 1.0, 2.0, 1.0, 0.0),
]


@pytest.mark.parametrize("jit", [False, True], ids=["eager", "jit"])
@pytest.mark.parametrize(
    "name, x, y, in_x, in_y",
    BINARY_AT_EDGES,
    ids=[f"{c[0]}({c[1]},{c[2]})" for c in BINARY_AT_EDGES],
)
def test_binary_derivative_at_edges(name, x, y, in_x, in_y, jit):
    function = getattr(lax, name)
    gradient = covector.grad(function, (0, 1))
    with covector.enable_x64(True):
        result = (covector.jit(gradient) if jit else gradient)(x, y)
        np.testing.assert_allclose(result, (in_x, in_y), rtol=1e-9)
        forward = [
            covector.jvp(function, (x, y), tangents)[1] for tangents in ((1.0, 0.0), (0.0, 1.0))
        ]
        np.testing.assert_allclose(forward, (in_x, in_y), rtol=1e-9)


def test_ties_of_clamp_against_the_oracle(oracle):
    points = [(0.0, 0.0, 1.0), (0.0, 1.0, 1.0), (0.0, 0.5, 1.0), (0.0, -1.0, 1.0), (0.0, 2.0, 1.0)]
    for low, x, high in [*points, (3.0, 2.0, 1.0)]:
        oracle.compare("jax.grad(lax.clamp, (0, 1, 2))(a, b, c)", a=low, b=x, c=high)


def test_integer_power_of_zero(oracle):
    """The derivative of ``x ** 0`` at zero is zero in both modes, for each way to write it."""
    for power in (
        lambda x: lax.pow(x, 0),
        lambda x: lax.integer_pow(x, 0),
        lambda x: lax.pow(x, 0.0),
    ):
        for derivative in (covector.grad(power), covector.jacfwd(power)):
            assert float(derivative(0.0)) == 0.0
            assert float(covector.jit(derivative)(0.0)) == 0.0


def test_float_to_array_of_integer_exponents():
    """Known bug jax#14397: the exponents 0 and 1 of a base of one."""
    f = lambda z: lax.reduce_sum(lax.pow(z, np.arange(2)), (0,))
    assert float(covector.grad(f)(1.0)) == 1.0


def test_odd_exponents_beyond_the_mantissa():
    """-1 to an odd power is -1, although the power as a float32 is even."""
    x = np.float32(-1)
    np.testing.assert_array_equal(lax.pow(x, np.array([2**24 + 1, 2**24], np.int32)), [-1, 1])


@pytest.mark.parametrize("x", [0.5, -3.0, 20.0])
@pytest.mark.parametrize("name", ["tanh", "logistic", "asinh"])
def test_third_derivatives(oracle, name, x):
    """The forms of these derivatives are smooth, so that they can be differentiated again."""
    snippet = f"jax.grad(jax.grad(jax.grad(lax.{name})))(x)"
    oracle.using(x64=True).compare(snippet, x=x, rtol=1e-7, atol=1e-13)


# --- zeros annihilate -----------------------------------------------------------------------------


@pytest.fixture(params=["eager", "jit"])
def run(request):
    return covector.jit if request.param == "jit" else lambda f: f


def test_untaken_branch_does_not_poison(run):
    """Known bugs jax#5798, #347, #1052 on `select_n`."""
    f = lambda x: lax.select(lax.lt(x, 1.0), x, lax.sqrt(x))
    assert float(run(covector.grad(f))(0.0)) == 1.0
    assert float(run(covector.grad(f))(-1.0)) == 1.0

    def g(x):
        logs = lax.select(lax.gt(x, np.zeros(2, np.float32)), lax.log(x), lax.mul(x, 0.0))
        return lax.reduce_sum(logs, (0,))

    x = np.array([0.0, 2.0], np.float32)
    np.testing.assert_allclose(run(covector.grad(g))(x), [0.0, 0.5])
    np.testing.assert_allclose(run(covector.vmap(covector.grad(f)))(x - 1), [1.0, 0.5])
    np.testing.assert_allclose(run(covector.jacfwd(g))(x), [0.0, 0.5])


@pytest.mark.parametrize(
    "unsafe",
    [
        lambda x: lax.div(x, x),
        lambda x: lax.div(lax.mul(x, 0.0), x),
        lambda x: lax.atan2(x, x),
        lambda x: lax.pow(x, x),
        lambda x: lax.rsqrt(x),
        lambda x: lax.mul(lax.log(x), lax.sqrt(x)),
        lambda x: lax.cbrt(x),
        lambda x: lax.lgamma(x),
        lambda x: lax.acosh(lax.add(x, 1.0)),
        lambda x: lax.exp(lax.div(1.0, x)),
    ],
)
def test_unsafe_branches(run, unsafe):
    f = lambda x: lax.select(lax.eq(x, 0.0), lax.mul(x, 3.0), unsafe(x))
    assert float(run(covector.grad(f))(0.0)) == 3.0
    assert float(run(covector.jacfwd(f))(0.0)) == 3.0
    assert float(run(covector.grad(lambda x: covector.jvp(f, (x,), (1.0,))[1]))(0.0)) == 0.0


def test_nan_in_one_element_leaves_the_rows_of_others(run):
    """Known bug jax#29152."""
    f = lambda a: lax.mul(a, lax.log(lax.cos(a)))
    for jacobian in (covector.jacrev(f), covector.jacfwd(f)):
        rows = np.asarray(run(jacobian)(np.array([6.0, 7.0, 8.0], np.float32)))
        expected = [[1.7053925200, 0, 0], [0, -6.3826284346, 0]]
        np.testing.assert_allclose(rows[:2], expected, rtol=1e-5)
        assert np.isnan(rows[2, 2]) and rows[2, 0] == 0 and rows[2, 1] == 0


def test_nan_in_one_output_leaves_the_hessian_of_others(run):
    """Known bug jax#4900."""
    y = np.array([1.0, 2.0, np.nan], np.float32)
    f = lambda t: lax.pow(lax.broadcast_in_dim(y, (3,), (0,)), t)
    for hessian in (
        covector.jacfwd(covector.jacrev(f)),
        covector.jacfwd(covector.jacfwd(f)),
        covector.jacrev(covector.jacfwd(f)),
        covector.hessian(f),
    ):
        result = np.asarray(run(hessian)(np.float32(1)))
        np.testing.assert_allclose(result[:2], [0.0, 0.960906027836], rtol=1e-5)
        assert np.isnan(result[2])


def test_flag_restores_ieee_products():
    f = lambda x: lax.select(lax.lt(x, 1.0), x, lax.sqrt(x))
    before = covector.config.annihilating_zeros
    covector.config.update("annihilating_zeros", False)
    try:
        assert np.isnan(covector.grad(f)(0.0))
        assert np.isnan(covector.jit(covector.grad(f))(0.0))
    finally:
        covector.config.update("annihilating_zeros", before)
    assert float(covector.grad(f)(0.0)) == 1.0


def test_infinite_tangents_are_dropped_not_multiplied_by_zero():
    """Where a tangent does not pass, it leaves no nan behind."""
    t = np.float32(np.inf)
    for function, args in [
        (lax.max, (0.0, 1.0)),
        (lax.min, (1.0, 0.0)),
        (lambda x, y: lax.clamp(1.0, x, y), (0.0, 2.0)),
        (lambda x, y: lax.select(False, x, y), (0.0, 2.0)),
    ]:
        assert float(covector.jvp(function, args, (t, np.float32(1)))[1]) in (0.0, 1.0)


def test_stop_gradient_of_trees():
    tree = {"a": np.ones(3, np.float32), "b": (1, 2.5)}
    stopped = lax.stop_gradient(tree)
    assert stopped["b"] == (1, 2.5)
    f = lambda x: lax.mul(x, lax.stop_gradient({"y": x})["y"])
    assert float(covector.grad(f)(3.0)) == 3.0
    assert float(covector.jvp(lax.stop_gradient, (3.0,), (1.0,))[1]) == 0.0
    assert float(covector.vmap(lax.stop_gradient)(np.ones(3))[0]) == 1.0


def test_no_derivative_in_the_order_of_polygamma_and_zeta():
    for function in (lax.polygamma, lax.zeta):
        with pytest.raises(NotImplementedError, match=function.__name__):
            covector.grad(function)(2.0, 3.0)


# --- types ----------------------------------------------------------------------------------------

INEXACT = ["float8_e4m3fn", "bfloat16", "float16", "float32", "float64", "complex64", "complex128"]
NOT_OF_COMPLEX = """
    cbrt ceil complex digamma erf erf_inv erfc floor lgamma nextafter rem round
"""
OF_COMPLEX_ONLY = {"real", "imag"}


def operations_on(dtype):
    """The operations with derivatives in a dtype, and how many operands each has."""
    for name, args in (CASES | COMPLEX_CASES).items():
        if "complex" in dtype:
            taken = name not in NOT_OF_COMPLEX.split()
        else:
            taken = name not in ("real", "imag")
            taken &= name not in ("complex", "conj") or dtype in ("float32", "float64")
        if taken:
            yield name, len(args)


@pytest.mark.parametrize("weak", [False, True], ids=["strong", "weak"])
@pytest.mark.parametrize("dtype", INEXACT)
def test_types_of_derivatives(dtype, weak):
    """Tangents and cotangents have the dtypes of what they belong to, to second order."""
    with covector.enable_x64(True):
        aval = covector.ShapeDtypeStruct((2,), getattr(ml_dtypes, dtype, dtype), weak_type=weak)
        for name, count in operations_on(dtype):
            derivatives = functools.partial(_derivatives, getattr(lax, name))
            out, pushed, pulled, twice = covector.eval_shape(derivatives, *[aval] * count)
            assert pushed.dtype == out.dtype, name
            assert [x.dtype for x in (*pulled, *twice)] == [aval.dtype] * 2 * count, name


def _derivatives(function, *xs):
    out, pushed = covector.jvp(function, xs, xs)
    _, pullback = covector.vjp(function, *xs)
    pulled = pullback(out)
    twice = covector.vjp(lambda *xs: covector.jvp(function, xs, xs)[1], *xs)[1](pushed)
    return out, pushed, pulled, twice

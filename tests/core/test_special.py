"""Bessel functions, incomplete gamma and beta functions: against SciPy, and their derivatives."""

import covector
import numpy as np
import pytest
import scipy.special
from covector import lax

RNG = np.random.default_rng(0)
SIZES = 10 ** RNG.uniform(-2, 5, (2, 400))
SPREAD = RNG.standard_normal(400)
GAMMA = (SIZES[0], np.abs(SIZES[0] + SPREAD * np.sqrt(SIZES[0])))
MEAN = SIZES[0] / (SIZES[0] + SIZES[1])
WIDTH = np.sqrt(MEAN * (1 - MEAN) / (SIZES.sum(0) + 1))
BETA = (*SIZES, np.clip(MEAN + SPREAD * WIDTH, 1e-6, 1 - 1e-6))
BESSEL = (np.concatenate([30 * SPREAD, [0.0, 8.0, np.nextafter(8, 9), 1e30, -1e-30]]),)

# name: SciPy's function, samples, relative error in double precision. Exponents of thousands cost
# the incomplete functions some digits (SciPy's too).
FUNCTIONS = {
    "bessel_i0e": (scipy.special.i0e, BESSEL, 1e-15),
    "bessel_i1e": (scipy.special.i1e, BESSEL, 2e-15),
    "igamma": (scipy.special.gammainc, GAMMA, 1e-11),
    "igammac": (scipy.special.gammaincc, GAMMA, 1e-11),
    "betainc": (scipy.special.betainc, BETA, 1e-10),
}
SMALL = {
    "bessel_i0e": (np.array([-9.0, -0.5, 2.0, 12.0]),),
    "bessel_i1e": (np.array([-9.0, -0.5, 2.0, 12.0]),),
    "igamma": (np.array([0.5, 2.0, 3.0, 250.0]), np.array([0.4, 1.0, 5.0, 240.0])),
    "igammac": (np.array([0.5, 2.0, 3.0, 250.0]), np.array([0.4, 1.0, 5.0, 240.0])),
    "igamma_grad_a": (np.array([0.5, 2.0, 3.0]), np.array([0.4, 1.0, 5.0])),
    "betainc": (np.array([0.5, 2.0, 3.0]), np.array([1.5, 3.0, 0.7]), np.array([0.2, 0.4, 0.9])),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_are_scipy_s(name):
    reference, samples, rtol = FUNCTIONS[name]
    function = getattr(lax, name)
    with covector.enable_x64(True):
        out = np.asarray(function(*samples))
        np.testing.assert_allclose(out, reference(*samples), rtol=rtol, atol=1e-280)
    singles = [x.astype(np.float32) for x in samples]
    expected = reference(*[x.astype(np.float64) for x in singles]).astype(np.float32)
    out = np.asarray(function(*singles))
    assert out.dtype == np.float32
    np.testing.assert_allclose(out, expected, rtol=1.2e-7, atol=1e-37)  # one unit in the last place


@pytest.mark.parametrize("name", SMALL)
def test_gradients_and_batches(name):
    function, samples = covector.jit(getattr(lax, name)), SMALL[name]
    with covector.enable_x64(True):
        out, pullback = covector.vjp(function, *samples)
        np.testing.assert_allclose(covector.vmap(function)(*samples), out, rtol=1e-14)
        gradients = pullback(np.ones(out.shape))
        for i, gradient in enumerate(gradients):
            near = [[x + h * (i == k) for k, x in enumerate(samples)] for h in (1e-5, -1e-5)]
            ahead, behind = [np.asarray(function(*xs)) for xs in near]
            np.testing.assert_allclose(gradient, (ahead - behind) / 2e-5, rtol=1e-6, atol=1e-9)


def test_the_beta_function_s_derivatives_in_a_and_b():
    with covector.enable_x64(True):
        in_a, in_b = covector.grad(lax.betainc, (0, 1))(2.0, 3.0, 0.4)
    # By numerical differentiation in 30 digits.
    np.testing.assert_allclose([in_a, in_b], [-0.240869376087557, 0.156344336413599], rtol=1e-14)


# a, x, igammac(a, x) and its derivative in a, by numerical differentiation in 100 digits. For tiny
# a the value is that small too, which 1 - igamma(a, x) is not; the oracle gives 0 or rounding.
TINY = [
    (1e-30, 1e-30, 6.850033712491985e-29, 68.50033712491984),
    (1e-30, 1.0, 2.193839343955203e-31, 0.21938393439552029),
    (1e-12, 1e-10, 2.2448635264887774e-11, 22.44863526463663),
    (1e-12, 1.5, 1.0001958240676601e-13, 0.10001958240689938),
    (1e-05, 0.001, 6.331347140529355e-05, 6.331154920592733),
    (1e-05, 10.0, 4.157092171326943e-11, 4.1572154144548135e-06),
    (0.001, 0.4, 0.0007026403592272346, 0.7029001684561276),
    (0.05, 1e-30, 0.9675165505480319, 2.2277054717040183),
    (0.05, 1.0, 0.011523652948539912, 0.24142256706363507),
    (0.7, 1e-10, 0.9999998899452595, 2.5570557322525357e-06),
]


def test_igammac_at_tiny_a():
    a, x, value, slope = np.array(TINY).T
    with covector.enable_x64(True):
        out, tangent = covector.jvp(lambda a: lax.igammac(a, x), (a,), (np.ones_like(a),))
    np.testing.assert_allclose(out, value, rtol=4e-15)
    np.testing.assert_allclose(tangent, slope, rtol=2e-14)
    single = lax.igammac(a.astype(np.float32), x.astype(np.float32))
    np.testing.assert_allclose(single, value, rtol=3e-6)  # the arguments are rounded too


def test_a_gamma_sample_s_gradient():
    a, x = (z[:200] for z in GAMMA)
    with covector.enable_x64(True):
        out = np.asarray(lax.random_gamma_grad(a, x))
        slope = np.asarray(lax.igamma_grad_a(a, x))
        log_density = (a - 1) * np.log(x) - x - scipy.special.gammaln(a)
        np.testing.assert_allclose(out, -slope / np.exp(log_density), rtol=1e-6)
        # So far out that slope and density are zero.
        tiny = np.asarray(lax.random_gamma_grad(0.01, 1e-300))
    # To first order, x = (p gamma(a + 1)) ** (1 / a).
    expected = 1e-300 / 0.01 * -(np.log(1e-300) - scipy.special.digamma(1.01))
    np.testing.assert_allclose(tiny, expected, rtol=1e-12)


INFINITY, NAN = np.inf, np.nan
EDGES = {
    "igamma": ([0, 0, 1, 1, -1, 1, INFINITY, 1, 0], [0, 1, 0, -1, 1, INFINITY, 1, NAN, INFINITY]),
    "igammac": ([0, 0, 1, 1, -1, 1, INFINITY, 1, 0], [0, 1, 0, -1, 1, INFINITY, 1, NAN, INFINITY]),
    "betainc": (
        [0, 1, 1, 1, 1, 1, -1, INFINITY, 0, 0],
        [1, 0, 1, 1, 1, 1, 1, 1, 1, 0],
        [0.5, 0.5, 0, 1, -1, 2, 0.5, 0.5, 0, 0.5],
    ),
    "bessel_i0e": ([INFINITY, -INFINITY, NAN],),
    "bessel_i1e": ([INFINITY, -INFINITY, NAN, 0],),
}


@pytest.mark.parametrize("name", EDGES)
def test_edges_are_the_oracle_s(oracle, name):
    arrays = {f"x{i}": np.array(x, np.float32) for i, x in enumerate(EDGES[name])}
    oracle.compare(f"lax.{name}({', '.join(arrays)})", **arrays)


def test_weak_types_narrow_types_and_bad_input():
    assert lax.igamma(1.0, 2.0).weak_type
    assert lax.bessel_i0e(np.float16(1)).dtype == np.float16
    with pytest.raises(TypeError, match="incomplete_beta"):
        lax.betainc(1, 2, 3)
    with pytest.raises(TypeError, match="same dtypes"):
        lax.igamma(np.float32(1), np.float16(1))
    with pytest.raises(TypeError, match="random_gamma_grad"):
        lax.random_gamma_grad(1.0)

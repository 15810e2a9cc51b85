"""Special functions and the normal distribution against SciPy, in double precision."""

import covector
import covector.numpy as jnp
import covector.scipy as jsp
import numpy as np
import pytest
import scipy.special
import scipy.stats

REALS = np.array([-40.0, -12.0, -5.5, -3.0, -1.0, -0.3, -0.0, 0.0, 1e-8, 0.5, 1.5, 4.0, 7.0, 30.0])
POSITIVE = np.array([1e-5, 0.3, 0.999, 1.0, 2.5, 9.9, 10.1, 33.0, 150.0])
UNIT = np.array([0.0, 1e-300, 1e-10, 0.02, 0.3, 0.5, 0.7, 0.98, 1 - 1e-10, 1.0])
SIGNED = np.array([-3.7, -2.5, -0.5, 0.5, 1.0, 3.0, 6.5, np.inf])

UNARY = {
    # name: where it is compared
    "erf": REALS,
    "erfc": REALS,
    "erfinv": np.array([-0.99, -0.5, 0.0, 1e-9, 0.3, 0.9]),
    "ndtr": REALS,
    "log_ndtr": REALS,
    "ndtri": UNIT,
    "expit": REALS,
    "logit": UNIT,
    "gammaln": SIGNED,
    "gamma": SIGNED,
    "gammasgn": np.array([-3.7, -2.5, -1.0, -0.0, 0.0, 2.0, np.nan]),
    "loggamma": POSITIVE,
    "digamma": SIGNED[:-1],
    "entr": np.array([-1.0, 0.0, 0.5, 2.0, np.nan]),
    "factorial": np.array([-1.0, 0.0, 1.0, 3.5, 10.0]),
}
GRID = np.meshgrid(POSITIVE, POSITIVE)
PROBABILITIES = np.meshgrid([0.0, 0.3, 1.0, -1.0, np.nan], [0.0, 0.2, 1.0, -1.0])
BINARY = {
    "betaln": GRID,
    "beta": np.meshgrid(POSITIVE[:6], POSITIVE[:6]),
    "xlogy": PROBABILITIES,
    "xlog1py": PROBABILITIES,
    "rel_entr": PROBABILITIES,
    "kl_div": PROBABILITIES,
    "boxcox": np.meshgrid([0.5, 1.0, 3.0], [-1.0, 0.0, 1e-9, 0.5, 2.0]),
    "boxcox1p": np.meshgrid([1e-9, 1.0, 3.0], [-1.0, 0.0, 1e-9, 0.5, 2.0]),
    "poch": np.meshgrid([0.5, 2.0, 7.0], [0.0, 1.0, 2.5]),
    "zeta": np.meshgrid([1.5, 2.0, 5.0], [0.5, 1.0, 3.0]),
    "comb": np.meshgrid([3.0, 5.0, 20.0], [-1.0, 0.0, 2.0, 7.0]),
    "polygamma": np.meshgrid([0.0, 1.0, 3.0], [0.5, 1.0, 3.0]),
}


@pytest.fixture(autouse=True)
def in_double_precision():
    with covector.enable_x64(True):
        yield


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    x = UNARY[name]
    with np.errstate(all="ignore"):
        expected = getattr(scipy.special, name)(x)
    actual = getattr(jsp.special, name)(x)
    assert actual.dtype == jnp.float64
    atol = 2e-15 if "gamma" in name else 1e-300  # the logarithm of gamma has zeros
    np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=atol)


@pytest.mark.parametrize("name", BINARY)
def test_binary(name):
    x, y = BINARY[name]
    with np.errstate(all="ignore"):
        expected = getattr(scipy.special, name)(x, y)
    np.testing.assert_allclose(getattr(jsp.special, name)(x, y), expected, rtol=3e-12, atol=1e-14)


@pytest.mark.parametrize("name", [n for n in UNARY if n not in ("gammasgn", "entr", "factorial")])
def test_derivatives(name):
    function = getattr(jsp.special, name)
    inside = {"ndtri": UNIT[2:-2], "logit": UNIT[2:-2]}.get(name, UNARY[name])
    x = inside[np.isfinite(inside) & (np.abs(inside) < 31)]
    step = 1e-6 * np.maximum(np.abs(x), 1e-3)
    if name in ("ndtri", "logit"):
        step = 1e-6 * np.minimum(x, 1 - x)
    numeric = (np.asarray(function(x + step)) - np.asarray(function(x - step))) / (2 * step)
    exact = covector.vmap(covector.grad(function))(x)
    np.testing.assert_allclose(exact, numeric, rtol=2e-5, atol=1e-8)


def test_derivatives_at_the_edges():
    xlogy = covector.grad(jsp.special.xlogy, argnums=(0, 1))
    np.testing.assert_array_equal(xlogy(0.0, 2.0), (np.log(2.0), 0.0))
    np.testing.assert_array_equal(xlogy(0.0, 0.0), (-np.inf, 0.0))
    assert covector.grad(covector.grad(jsp.special.xlogy))(0.5, 2.0) == 0.0
    np.testing.assert_allclose(covector.grad(jsp.special.log_ndtr)(-100.0), 100.00999800099926)
    assert covector.grad(jsp.special.logsumexp)(np.array([-np.inf, 0.0])).tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    "options", [{}, {"axis": 1}, {"axis": (0, 1)}, {"axis": 0, "keepdims": True}]
)
def test_logsumexp(options):
    x = np.array([[1000.0, 999.0, -np.inf], [0.0, 1.0, 2.0]])
    b = np.array([[1.0, -2.0, 5.0], [0.0, 1.0, -1.0]])
    np.testing.assert_allclose(
        jsp.special.logsumexp(x, **options), scipy.special.logsumexp(x, **options)
    )
    actual = jsp.special.logsumexp(x, b=b, return_sign=True, **options)
    expected = scipy.special.logsumexp(x, b=b, return_sign=True, **options)
    for a, e in zip(actual, expected, strict=True):
        np.testing.assert_allclose(a, e, rtol=1e-12)
    for name in ("softmax", "log_softmax"):
        if "keepdims" not in options:
            np.testing.assert_allclose(
                getattr(jsp.special, name)(x, **options), getattr(scipy.special, name)(x, **options)
            )


def test_logsumexp_at_its_limits():
    assert jsp.special.logsumexp(jnp.zeros(0)) == -np.inf
    assert jsp.special.logsumexp(jnp.array([-np.inf, -np.inf])) == -np.inf
    assert jsp.special.logsumexp(jnp.array([np.inf, 1.0])) == np.inf
    masked = jsp.special.logsumexp(jnp.array([1.0, 500.0]), where=jnp.array([True, False]))
    assert masked == 1.0
    assert np.isnan(jsp.special.logsumexp(jnp.array([0.0]), b=-1.0))


def test_multigammaln():
    np.testing.assert_allclose(jsp.special.multigammaln(4.0, 2), scipy.special.multigammaln(4.0, 2))


@pytest.mark.parametrize("name", ["logpdf", "pdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf"])
def test_normal_distribution(name):
    x = UNIT if name in ("ppf", "isf") else REALS
    for loc, scale in ((0, 1), (1.5, 2.0)):
        np.testing.assert_allclose(
            getattr(jsp.stats.norm, name)(x, loc, scale),
            getattr(scipy.stats.norm, name)(x, loc, scale),
            rtol=1e-12,
            atol=1e-300,
        )


def test_single_precision():
    with covector.enable_x64(False):
        x = REALS.astype(np.float32)
        for name in ("log_ndtr", "ndtr", "expit"):
            actual = getattr(jsp.special, name)(x)
            assert actual.dtype == jnp.float32
            expected = getattr(scipy.special, name)(x.astype(np.float64))
            np.testing.assert_allclose(actual, expected, rtol=3e-6, atol=1e-37)


@pytest.mark.parametrize(
    "call",
    [
        lambda: jsp.special.erf([1.0]),
        lambda: jsp.special.erf(1j),
        lambda: jsp.special.logsumexp([1.0, 2.0]),
        lambda: jsp.special.log_ndtr(1.0, series_order=1.5),
        lambda: jsp.stats.norm.logpdf("a"),
    ],
)
def test_bad_operands(call):
    with pytest.raises(TypeError):
        call()


def test_what_is_not_offered():
    with pytest.raises(NotImplementedError):
        jsp.special.factorial(3, exact=True)
    with pytest.raises(AttributeError, match=r"covector\.scipy\.special"):
        _ = jsp.special.nothing

"""The normal distribution: against SciPy, with its derivatives, dtypes and transformations."""

import covector
import numpy as np
import pytest
import scipy.stats
from covector.scipy.stats import norm
from oracle import Case
from oracle.compare import Tolerance

POINTS = np.array([-30.0, -8.0, -1.5, 0.0, 0.7, 5.0, 30.0, np.inf, -np.inf, np.nan])
SHARES = np.array([1e-30, 0.01, 0.5, 0.7, 0.999, 0.0, 1.0, -0.1, 1.1, np.nan])
OPERANDS = dict.fromkeys(("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf"), POINTS)
OPERANDS |= dict.fromkeys(("ppf", "isf"), SHARES)
SCALES = [(0.0, 1.0), (-1.25, 0.5), (np.array([[2.0], [0.5]]), 3.0)]


@pytest.mark.parametrize("dtype, rtol", [("float32", 2e-5), ("float64", 1e-13)])
@pytest.mark.parametrize("name", OPERANDS)
def test_values(name, dtype, rtol):
    x = OPERANDS[name].astype(dtype)
    for loc, scale in SCALES:
        loc, scale = np.asarray(loc, dtype), np.asarray(scale, dtype)
        right = getattr(scipy.stats.norm, name)(x.astype("float64"), loc, scale)
        with covector.enable_x64(dtype == "float64"):
            ours = getattr(norm, name)(x, loc, scale)
        assert ours.dtype == dtype
        atol = float(np.finfo(dtype).smallest_normal)
        np.testing.assert_allclose(
            ours, right, rtol=rtol, atol=max(atol, 1e-15 * (name in "ppf isf"))
        )


TYPES = ["0.5", "1", "np.float32(0.5)", "np.float32(0.5), 1, 2", "np.zeros(3), np.zeros((2, 1))"]


@pytest.mark.parametrize("name", OPERANDS)
def test_dtypes(oracle, name):
    types = [t for t in TYPES if name in ("pdf", "logpdf") or t != "1"]
    calls = [f"jax.eval_shape(jax.scipy.stats.norm.{name}, {t})" for t in types]
    oracle.compare_many([Case(call, {}, Tolerance()) for call in calls])


def test_integers_are_taken():
    np.testing.assert_allclose(norm.cdf(0), 0.5)
    np.testing.assert_allclose(norm.pdf(np.arange(2), 0, 1), [0.3989423, 0.2419707], rtol=1e-6)


SLOPES = [
    # function, x, derivatives in x, loc, scale at loc 0 and scale 1
    ("logpdf", 2.0, (-2.0, 2.0, 3.0)),
    ("pdf", 0.0, (0.0, 0.0, -0.3989422804014327)),
    ("cdf", 0.0, (0.3989422804014327, -0.3989422804014327, 0.0)),
    ("logcdf", -1e8, (1e8, -1e8, 1e16)),
    ("logsf", 1e8, (-1e8, 1e8, 1e16)),
    ("sf", 0.0, (-0.3989422804014327, 0.3989422804014327, 0.0)),
    ("ppf", 0.5, (2.5066282746310002, 1.0, 0.0)),
    ("isf", 0.5, (-2.5066282746310002, 1.0, 0.0)),
]


@pytest.mark.parametrize("name, x, right", SLOPES)
def test_slopes(name, x, right):
    with covector.enable_x64(True):
        slopes = covector.grad(getattr(norm, name), (0, 1, 2))(x, 0.0, 1.0)
    np.testing.assert_allclose(slopes, right, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", OPERANDS)
def test_transformations(name):
    function = getattr(norm, name)
    x = np.array([0.2, 0.4, 0.7], np.float32)
    eager = function(x, loc=0.1, scale=x)
    np.testing.assert_allclose(covector.vmap(function, (0, None, 0))(x, 0.1, x), eager, rtol=1e-6)
    np.testing.assert_allclose(covector.jit(function)(x, 0.1, x), eager, rtol=1e-6)


def test_errors(oracle):
    for call in ("pdf([1.0])", "cdf('a')"):
        oracle.compare_error(f"jax.scipy.stats.norm.{call}")
    with pytest.raises(AttributeError, match="no attribute 'normal'"):
        from covector.scipy import stats

        getattr(stats, "normal")  # noqa: B009  the look-up itself raises

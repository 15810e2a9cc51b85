"""Linear equations, determinants, factors and eigenvalues: against NumPy, and their derivatives."""

import covector
import covector.numpy as jnp
import numpy as np
import pytest

from numpy_api.compare import compare_errors

RNG = np.random.default_rng(0)
GENERAL = RNG.normal(size=(3, 5, 5))
TALL, WIDE = RNG.normal(size=(2, 5, 3)), RNG.normal(size=(2, 3, 5))
POSITIVE = GENERAL @ GENERAL.swapaxes(-1, -2) + np.eye(5)
COMPLEX = GENERAL + 1j * RNG.normal(size=(3, 5, 5))
HERMITIAN = COMPLEX + COMPLEX.conj().swapaxes(-1, -2)
SINGULAR = np.stack([np.ones((5, 5)), np.zeros((5, 5)), np.diag([1.0, 2, 3, 4, 0])])


@pytest.fixture(autouse=True)
def in_double_precision():
    with covector.enable_x64(True):
        yield


@pytest.mark.parametrize("name", ["inv", "det", "slogdet", "eigvalsh", "svdvals", "pinv", "cond"])
@pytest.mark.parametrize("a", [GENERAL, COMPLEX, POSITIVE], ids=["real", "complex", "positive"])
def test_values_are_numpys(name, a):
    a = HERMITIAN if name == "eigvalsh" and a is not POSITIVE else a
    expected = getattr(np.linalg, name)(a)
    actual = getattr(jnp.linalg, name)(a)
    for x, y in zip(actual, expected, strict=True) if name == "slogdet" else [(actual, expected)]:
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("shape", [(5,), (5, 2), (3, 5, 2), (4, 1, 5, 2)])
@pytest.mark.parametrize("a", [GENERAL, GENERAL[0], COMPLEX], ids=["batch", "one", "complex"])
def test_solve(a, shape):
    b = RNG.normal(size=shape)
    np.testing.assert_allclose(jnp.linalg.solve(a, b), np.linalg.solve(a, b), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("a", [TALL, WIDE, GENERAL], ids=["tall", "wide", "square"])
def test_factors_multiply_to_the_matrix(a):
    for mode in ("reduced", "complete"):
        q, r = jnp.linalg.qr(a, mode)
        np.testing.assert_allclose(q @ r, a, atol=1e-12)
        np.testing.assert_allclose(np.abs(r), np.abs(np.linalg.qr(a, mode).R), atol=1e-12)
    np.testing.assert_allclose(jnp.linalg.qr(a, "r"), jnp.linalg.qr(a)[1])
    for actual, expected in zip(jnp.linalg.qr(a, "raw"), np.linalg.qr(a, "raw")):
        np.testing.assert_allclose(actual, expected, atol=1e-12)
    u, s, vh = jnp.linalg.svd(a, full_matrices=False)
    np.testing.assert_allclose((u * s[..., None, :]) @ vh, a, atol=1e-12)
    full = jnp.linalg.svd(a)
    assert full.U.shape[-1] == a.shape[-2] and full.Vh.shape[-1] == a.shape[-1]


def test_symmetric_factors():
    factor = jnp.linalg.cholesky(POSITIVE)
    np.testing.assert_allclose(factor, np.linalg.cholesky(POSITIVE), atol=1e-12)
    upper = jnp.linalg.cholesky(POSITIVE, upper=True)
    np.testing.assert_allclose(upper.mT @ upper, POSITIVE, atol=1e-12)
    assert np.isnan(jnp.linalg.cholesky(-jnp.eye(2))).any()
    for uplo in ("L", "U", None):
        w, v = jnp.linalg.eigh(HERMITIAN, uplo)
        np.testing.assert_allclose(HERMITIAN @ v, v * w[..., None, :], atol=1e-10)
    u, s, vh = jnp.linalg.svd(HERMITIAN, hermitian=True)
    np.testing.assert_allclose((u * s[..., None, :]) @ vh, HERMITIAN, atol=1e-10)
    np.testing.assert_allclose(s, np.linalg.svd(HERMITIAN, compute_uv=False), rtol=1e-9)


def test_general_eigenvalues():
    w, v = jnp.linalg.eig(GENERAL)
    np.testing.assert_allclose(GENERAL @ v, v * w[..., None, :], atol=1e-10)
    np.testing.assert_allclose(np.sort(jnp.linalg.eigvals(GENERAL)), np.sort(w), atol=1e-10)


def test_ranks_and_least_squares():
    np.testing.assert_array_equal(jnp.linalg.matrix_rank(SINGULAR), [1, 0, 4])
    np.testing.assert_allclose(jnp.linalg.pinv(SINGULAR), np.linalg.pinv(SINGULAR), atol=1e-12)
    np.testing.assert_allclose(jnp.linalg.pinv(TALL), np.linalg.pinv(TALL), atol=1e-12)
    for a in (TALL[0], WIDE[0], SINGULAR[2]):
        for b in (RNG.normal(size=a.shape[0]), RNG.normal(size=(a.shape[0], 2))):
            actual = jnp.linalg.lstsq(a, b, numpy_resid=True)
            for x, y in zip(actual, np.linalg.lstsq(a, b), strict=True):
                np.testing.assert_allclose(x, y, atol=1e-11)


def test_tensors_and_powers():
    a = RNG.normal(size=(2, 3, 6))
    b = RNG.normal(size=(2, 3))
    np.testing.assert_allclose(jnp.linalg.tensorsolve(a, b), np.linalg.tensorsolve(a, b))
    np.testing.assert_allclose(jnp.linalg.tensorinv(a), np.linalg.tensorinv(a))
    for n in (-2, 0, 3):
        expected = np.linalg.matrix_power(GENERAL, n)
        np.testing.assert_allclose(
            jnp.linalg.matrix_power(GENERAL, n), expected, rtol=1e-8, atol=1e-10
        )
    chain = [TALL[0], WIDE[0], GENERAL[0], RNG.normal(size=5)]
    np.testing.assert_allclose(jnp.linalg.multi_dot(chain), np.linalg.multi_dot(chain), rtol=1e-10)
    for ord in (2, -2, "nuc"):
        for axis in ((0, 1), (1, 0)):
            expected = np.linalg.norm(TALL[0], ord, axis)
            np.testing.assert_allclose(jnp.linalg.norm(TALL[0], ord, axis), expected)


SMOOTH = {
    "solve": (lambda a: jnp.linalg.solve(a, jnp.arange(5.0)), GENERAL[0]),
    "inv": (jnp.linalg.inv, GENERAL[0]),
    "det": (jnp.linalg.det, GENERAL[0]),
    "det of 3": (jnp.linalg.det, GENERAL[0, :3, :3]),
    "det of a singular matrix": (jnp.linalg.det, SINGULAR[2]),
    "slogdet": (lambda a: jnp.linalg.slogdet(a).logabsdet, GENERAL[0]),
    "cholesky": (jnp.linalg.cholesky, POSITIVE[0]),
    "qr": (lambda a: jnp.linalg.qr(a)[1], TALL[0]),
    "eigvalsh": (jnp.linalg.eigvalsh, POSITIVE[0]),
    "svdvals": (jnp.linalg.svdvals, TALL[0]),
    "pinv": (jnp.linalg.pinv, TALL[0]),
    "lstsq": (lambda a: jnp.linalg.lstsq(a, jnp.arange(5.0))[0], TALL[0]),
    "nuclear norm": (lambda a: jnp.linalg.norm(a, "nuc"), TALL[0]),
    "size of an eigenvector's element": (
        lambda a: jnp.abs(jnp.linalg.eig(a).eigenvectors[0]) ** 2,
        np.diag([1.0, 2.0, 4.0]) + 0.1 * TALL[0, :3],
    ),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives(name):
    function, a = SMOOTH[name]
    direction = np.random.default_rng(1).normal(size=a.shape)
    if name in ("cholesky", "eigvalsh"):
        direction = direction + direction.T
    step = 1e-6
    change = np.asarray(function(a + step * direction)) - np.asarray(function(a - step * direction))
    value, forward = covector.jvp(function, (a,), (direction,))
    np.testing.assert_allclose(forward, change / (2 * step), rtol=2e-6, atol=1e-7)
    weights = np.random.default_rng(2).normal(size=np.shape(value))
    gradient = covector.jit(covector.grad(lambda x: jnp.sum(weights * function(x))))(a)
    np.testing.assert_allclose(np.sum(gradient * direction), np.sum(weights * forward), rtol=1e-9)


@pytest.mark.parametrize("name", ["det", "slogdet", "inv"])
def test_second_derivatives(name):
    function = SMOOTH[name][0]
    a, direction = POSITIVE[0, :4, :4], np.random.default_rng(3).normal(size=(4, 4))

    def slope(x):
        return jnp.sum(covector.grad(lambda v: jnp.sum(function(v)))(x) * direction)

    step = 1e-5
    numeric = (slope(a + step * direction) - slope(a - step * direction)) / (2 * step)
    np.testing.assert_allclose(np.sum(covector.grad(slope)(a) * direction), numeric, rtol=1e-5)


def test_gradient_with_equal_singular_values():
    def length(a):
        u, s, vh = jnp.linalg.svd(a, full_matrices=False)
        return jnp.linalg.norm((u * s) @ vh)

    a = np.diag([1.0, 1.0, 2.0, 3.0])
    np.testing.assert_allclose(covector.grad(length)(a), a / np.sqrt(15.0), atol=1e-6)


def test_batches():
    for function in (jnp.linalg.inv, jnp.linalg.det, jnp.linalg.cholesky):
        np.testing.assert_allclose(
            covector.vmap(function)(POSITIVE), function(POSITIVE), rtol=1e-12
        )
    gradient = covector.vmap(covector.grad(jnp.linalg.det))(SINGULAR)
    np.testing.assert_allclose(gradient[2], np.diag([0, 0, 0, 0, 24.0]), atol=1e-12)


def test_errors(oracle):
    compare_errors(
        oracle,
        """
        jnp.linalg.inv(f)
        jnp.linalg.solve(f, v)
        jnp.linalg.cholesky(f)
        jnp.linalg.det(f)
        jnp.linalg.eigh(f @ f.T, 'X')
        jnp.linalg.qr(f, 'foo')
        jnp.linalg.eig(f)
        jnp.linalg.inv([[1.0]])
        jnp.linalg.multi_dot([t, f])
        jnp.linalg.tensorinv(f)
        jnp.linalg.tensorinv(f, 0)
        jnp.linalg.lstsq(f, v)
        jnp.linalg.slogdet(f)
        """,
    )

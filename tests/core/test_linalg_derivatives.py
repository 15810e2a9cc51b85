"""First and second derivatives of matrix factorizations, also where eigenvalues are equal."""

import covector
import numpy as np
import pytest
from core import primitive_checks as checks
from covector import lax
from covector._config import annihilating_zeros
from covector.lax import linalg

RNG = np.random.default_rng(8)
STEP = 1e-6


def quick(function):
    """`jit`, with little effort in compiling."""
    options = {"xla_backend_optimization_level": 0}
    return covector.jit(function, compiler_options=options)


def sample(*shape, dtype=np.complex128):
    x = RNG.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * RNG.standard_normal(shape)
    return x.astype(dtype)


def adjoint(x):
    return lax.conj(transposed(x))


def transposed(x):
    return lax.transpose(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def product(*factors):
    first, *others = factors
    for y in others:
        n, stack = first.ndim, tuple(range(first.ndim - 2))
        first = lax.dot_general(first, y, (((n - 1,), (n - 2,)), (stack, stack)))
    return first


def graded(x):
    """``x`` with its column j multiplied by j + 1: each column counts differently."""
    factors = np.arange(1, x.shape[-1] + 1).astype(x.dtype)
    return lax.mul(x, lax.broadcast_in_dim(factors, x.shape, (x.ndim - 1,)))


# --- everything against central differences -------------------------------------------------------


def definite(x):
    return lax.add(product(x, adjoint(x)), lax.broadcast_in_dim(np.eye(3) + 0j, x.shape, (1, 2)))


def of_eigh(x):
    """What does not depend on the eigenvectors' phases."""
    v, w = linalg.eigh(x)
    return w, product(graded(v), adjoint(v))


def of_svd(x):
    u, s, vh = linalg.svd(x, full_matrices=False)
    return s, product(graded(u), vh), product(graded(u), adjoint(u))


def of_left_eigenvectors(x):
    return linalg.eig(x, compute_right_eigenvectors=False, enable_eigvec_derivs=True)[1]


def of_tridiagonal(x):
    rows = [lax.index_in_dim(x, i, 1, keepdims=False) for i in range(3)]
    return linalg.tridiagonal_solve(*rows, transposed(x))


def of_triangular(x):
    options = {"transpose_a": True, "conjugate_a": True, "unit_diagonal": True}
    return linalg.triangular_solve(lax.slice_in_dim(x, 0, 3, axis=1), x, **options)


CASES = {
    "cholesky": (lambda x: linalg.cholesky(definite(x)), (3, 3)),
    "lu tall": (lambda x: linalg.lu(x)[0], (4, 3)),
    "lu wide": (lambda x: linalg.lu(x)[0], (2, 3)),
    "qr full": (linalg.qr, (5, 3)),
    "qr thin, pivoting": (lambda x: linalg.qr(x, pivoting=True, full_matrices=False)[:2], (4, 3)),
    "qr wide": (linalg.qr, (2, 4)),
    "eigh": (of_eigh, (3, 3)),
    "svd tall": (of_svd, (4, 3)),
    "svd wide": (of_svd, (2, 3)),
    "svd values": (lambda x: linalg.svd(x, compute_uv=False), (3, 3)),
    "eig": (lambda x: linalg.eig(x, enable_eigvec_derivs=True), (3, 3)),
    "eig left": (of_left_eigenvectors, (2, 2)),
    "triangular_solve": (of_triangular, (4, 3)),
    "tridiagonal_solve": (of_tridiagonal, (3, 3)),
}


def pull_back(function, x, cts):
    """The values and the gradient of the sum of their products with ``cts``."""
    values, pullback = covector.vjp(lambda x: checks.leaves(function(x)), x)
    return values, pullback(cts)[0]


@pytest.mark.parametrize("name", CASES)
def test_derivatives(name):
    """Jvp against differences, vjp against jvp, and jvp of vjp against differences; of a stack."""
    function, shape = CASES[name]
    dtype = np.float64 if name == "svd values" else np.complex128
    x, t = sample(2, *shape, dtype=dtype), sample(2, *shape, dtype=dtype)
    with covector.enable_x64(True):
        cts = [checks.direction(y, RNG) for y in checks.leaves(covector.eval_shape(function, x))]

        @quick
        def at(xs):
            return covector.vmap(lambda x: pull_back(function, x, cts))(xs)

        @quick
        def along(x, t):
            return covector.jvp(lambda x: pull_back(function, x, cts), (x,), (t,))

        values, gradients = at(np.stack([x, x + STEP * t, x - STEP * t]))
        (primals, gradient), (tangents, hessian_product) = along(x, t)
    for y, dy, several in zip(primals, tangents, values, strict=True):
        several = np.asarray(several)
        np.testing.assert_allclose(y, several[0], atol=1e-12)
        close(dy, (several[1] - several[2]) / (2 * STEP))
    np.testing.assert_allclose(
        checks.inner([gradient], [t]), checks.inner(cts, tangents), rtol=1e-10
    )
    gradients = np.asarray(gradients)
    np.testing.assert_allclose(gradient, gradients[0], atol=1e-12 * checks.scale_of(gradient))
    close(hessian_product, (gradients[1] - gradients[2]) / (2 * STEP))


def close(actual, expected, rtol=1e-5):
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=rtol * checks.scale_of(expected))


# --- equal eigenvalues and singular values --------------------------------------------------------

ROTATION = np.linalg.qr(np.random.default_rng(0).standard_normal((4, 4)))[0]


def reconstruction_norm(a):
    u, s, vh = linalg.svd(a, full_matrices=False)
    y = product(lax.mul(u, lax.broadcast_in_dim(s, u.shape, (1,))), vh)
    return lax.sqrt(lax.reduce_sum(lax.mul(y, y), (0, 1)))


def projected(a):
    """A form of the projection on the eigenvectors of the two smallest eigenvalues."""
    v, _ = linalg.eigh(a)
    v = lax.slice_in_dim(v, 0, 2, axis=1)
    form = (ROTATION * np.arange(4)).astype(a.dtype)
    return lax.reduce_sum(lax.mul(product(v, transposed(v)), form), (0, 1))


def log_determinant(a):
    return lax.reduce_sum(lax.log(linalg.eigh(a)[1]), (0,))


EQUAL = {
    "svd": (reconstruction_norm, np.diag([1.0, 1, 2, 3])),
    "svd rotated": (reconstruction_norm, ROTATION @ np.diag([1.0, 1, 2, 3]) @ ROTATION),
    "svd of a multiple of an isometry": (reconstruction_norm, 2 * ROTATION),
    "eigh, diagonal": (projected, np.diag([1.0, 1, 3, 3])),
    "eigh, rotated": (projected, ROTATION @ np.diag([1.0, 1, 2, 3]) @ ROTATION.T),
    "eigh of the identity": (log_determinant, np.eye(4)),
}


@pytest.mark.parametrize("name", EQUAL)
def test_smooth_functions_of_equal_values(name):
    """They do not depend on how vectors of equal values are chosen; neither do derivatives."""
    function, a = EQUAL[name]
    t = ROTATION + ROTATION.T
    with covector.enable_x64(True):
        gradient, product_ = quick(
            lambda a: covector.jvp(covector.grad(function), (a,), (t.astype(a.dtype),))
        )(a)
        ahead, behind = (float(function(a + h * t)) for h in (STEP, -STEP))
        _, slope = covector.jvp(function, (a,), (t,))
    expected = (ahead - behind) / (2 * STEP)
    np.testing.assert_allclose(slope, expected, rtol=1e-6)
    np.testing.assert_allclose(np.sum(np.asarray(gradient) * t), expected, rtol=1e-6)
    assert np.isfinite(product_).all()


def test_gradient_of_norm_at_equal_singular_values():
    a = np.diag([1.0, 1.0, 2.0, 3.0]).astype(np.float32)
    np.testing.assert_allclose(covector.grad(reconstruction_norm)(a), a / np.sqrt(15), atol=1e-6)


def test_without_annihilating_zeros_equal_eigenvalues_give_nan():
    with annihilating_zeros(False):
        assert np.isnan(covector.grad(projected)(np.diag([1.0, 1, 3, 3]))).all()


def test_gradient_of_a_component_of_an_eigenvector():
    def f(a):
        w, v = linalg.eig(a, compute_left_eigenvectors=False, enable_eigvec_derivs=True)
        size = lax.abs(lax.dynamic_index_in_dim(v, lax.argmin(lax.real(w), 0, np.int32), 1))
        return lax.reduce_sum(lax.integer_pow(lax.slice_in_dim(size, 0, 1), 2), (0, 1))

    gradient = covector.grad(f)(np.array([[1.0, 2.0], [3.0, 4.0]]))
    expected = [[-0.0757702, 0.0519890], [-0.1104296, 0.0757702]]
    np.testing.assert_allclose(gradient, expected, atol=1e-5)


# --- undefined ------------------------------------------------------------------------------------

UNDEFINED = {
    "svd: .*full_matrices": lambda x: linalg.svd(x),
    "svd: .*subset": lambda x: linalg.svd(x, full_matrices=False, subset_by_index=(0, 1)),
    "eigh: .*subset": lambda x: linalg.eigh(product(x, transposed(x)), subset_by_index=(0, 1)),
    "eig: .*enable_eigvec_derivs": lambda x: linalg.eig(lax.slice_in_dim(x, 0, 2)),
    "schur": lambda x: linalg.schur(lax.slice_in_dim(x, 0, 2)),
}


@pytest.mark.parametrize("message", UNDEFINED)
def test_undefined_derivatives(message):
    with pytest.raises(NotImplementedError, match=message):
        covector.jvp(UNDEFINED[message], (np.ones((3, 2)),), (np.ones((3, 2)),))

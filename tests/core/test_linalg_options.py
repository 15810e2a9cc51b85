"""What matrix functions take besides a matrix: options, several operands, batch axes."""

import itertools
import warnings

import covector
import numpy as np
import pytest
from core import primitive_checks as checks
from covector import lax
from covector.lax import linalg
from oracle import Case, Tolerance

RNG = np.random.default_rng(9)
CLOSE = Tolerance(rtol=1e-4, atol=1e-5)


def sample(*shape, dtype=np.float64):
    x = RNG.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * RNG.standard_normal(shape)
    return x.astype(dtype)


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def quick(function):
    """`jit`, with little effort in compiling."""
    options = {"xla_backend_optimization_level": 0}
    return covector.jit(function, compiler_options=options)


# --- batch axes -----------------------------------------------------------------------------------


def right_solve(a, b):
    return linalg.triangular_solve(a, b, transpose_a=True, conjugate_a=True, lower=True)


SQUARE = sample(3, 3) + 3 * np.eye(3)
DIAGONALS = [sample(3), sample(3) + 4, sample(3)]
BATCHED = {
    "cholesky": (linalg.cholesky, SQUARE @ SQUARE.T),
    "eig": (linalg.eig, SQUARE),
    "eigh": (linalg.eigh, SQUARE),
    "hessenberg": (linalg.hessenberg, SQUARE),
    "lu": (linalg.lu, SQUARE),
    "lu_pivots": (lambda p: linalg.lu_pivots_to_permutation(p, 4), np.array([2, 2, 3], np.int32)),
    "qr": (lambda x: linalg.qr(x, pivoting=True), SQUARE),
    "schur": (linalg.schur, SQUARE),
    "svd": (linalg.svd, SQUARE[:2]),
    "tridiagonal": (linalg.tridiagonal, SQUARE),
    "qdwh": (linalg.qdwh, SQUARE[:, :2]),
    "householder_product": (linalg.householder_product, sample(3, 2), sample(2)),
    "ormqr": (linalg.ormqr, sample(3, 2), sample(2), sample(3, 2)),
    "symmetric_product": (linalg.symmetric_product, sample(3, 2), SQUARE + SQUARE.T),
    "cholesky_update": (linalg.cholesky_update, np.triu(SQUARE), sample(3)),
    "triangular_solve": (right_solve, SQUARE + 1j, sample(2, 3, dtype=complex)),
    "tridiagonal_solve": (linalg.tridiagonal_solve, *DIAGONALS, sample(3, 2)),
}


@pytest.mark.parametrize("name", BATCHED)
def test_vmap_is_a_loop(name):
    """Over each set of arguments, the batch axis last; and staged results are the eager ones."""
    function, *samples = BATCHED[name]
    stacks = [np.stack([x, x[::-1] if x.dtype.kind == "i" else 1.5 * x], -1) for x in samples]
    choices = list(itertools.product([-1, None], repeat=len(samples)))[:-1]

    def of(stacks):
        mapped, looped = [], []
        for dims in choices:
            args = [s if d == -1 else s[..., 0] for s, d in zip(stacks, dims, strict=True)]
            mapped.append(covector.vmap(function, in_axes=dims)(*args))
            rows = [
                function(*[s[..., i if d == -1 else 0] for s, d in zip(stacks, dims, strict=True)])
                for i in range(2)
            ]
            looped.append(covector.tree.map(lambda *ys: lax.concatenate(ys, 0), *stacked(rows)))
        return mapped, looped

    def stacked(rows):
        return [covector.tree.map(lambda y: lax.expand_dims(y, (0,)), row) for row in rows]

    with covector.enable_x64(True):
        mapped, looped = quick(of)([covector.device_put(s) for s in stacks])
        eager = checks.leaves(function(*samples))
    for y, expected in zip(checks.leaves(mapped), checks.leaves(looped), strict=True):
        assert (y.dtype, y.shape) == (expected.dtype, expected.shape)
        np.testing.assert_allclose(y, expected, rtol=1e-12, atol=1e-14)
    for y, expected in zip(checks.leaves(looped), eager, strict=False):
        assert y.dtype == expected.dtype
        np.testing.assert_allclose(y[0], expected, rtol=1e-12, atol=1e-14)


# --- polar decomposition --------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_qdwh(dtype):
    x = sample(5, 3, dtype=dtype)
    with covector.enable_x64(True):
        u, h, _, converged = map(np.asarray, linalg.qdwh(x))
    eps = 30 * np.finfo(dtype).eps
    assert (u.dtype, h.dtype) == (dtype, dtype)
    assert converged
    np.testing.assert_allclose(u @ h, x, atol=eps)
    np.testing.assert_allclose(adjoint(u) @ u, np.eye(3), atol=eps)
    np.testing.assert_array_equal(h, adjoint(h))
    assert np.linalg.eigvalsh(h).min() > 0


def test_qdwh_as_jax(oracle):
    x = sample(4, 4, dtype=np.float32)
    ill = np.diag([1.0, 1e-3, 1e-6]).astype(np.float32)
    inputs = {"x": x, "ill": ill, "zero": np.zeros((2, 2), np.float32)}
    options = [
        "x",
        "x + x.T, is_hermitian=True",
        "x, max_iterations=2",
        "x[:, :3], dynamic_shape=(3, 2)",
        "ill",
        "zero",
    ]
    oracle.compare_many([Case(f"lax.linalg.qdwh({o})", inputs, CLOSE) for o in options])
    oracle.compare_error("lax.linalg.qdwh(x[:2])", x=x)
    oracle.compare_error("lax.linalg.qdwh(x[None])", x=x)


def test_qdwh_of_traced_shapes():
    x = sample(4, 3, dtype=np.float32)
    f = quick(lambda x, m, n: linalg.qdwh(x, dynamic_shape=(m, n)))
    u, h, _, _ = map(np.asarray, f(x, 3, 2))
    np.testing.assert_allclose((u @ h)[:3, :2], x[:3, :2], atol=1e-5)
    assert not np.any(u[3:])
    assert not np.any(h[2:])
    tangent = covector.jvp(lambda x: linalg.qdwh(x)[0], (x,), (x,))[1]
    np.testing.assert_allclose(tangent, np.zeros((4, 3)), atol=1e-5)


# --- options --------------------------------------------------------------------------------------


def test_options_as_jax(oracle):
    """Also of complex matrices, and those that a platform does not have."""
    x = sample(2, 3, 3, dtype=np.float32)
    off = np.ones(3, np.float32)
    inputs = {"x": x, "z": (x + 1j * x[::-1]).astype(np.complex64)}
    solves = {"o": off, "d": np.array([0, 0, 1], np.float32), "b": np.ones((3, 2), np.float32)}
    singular = {"o": 0 * off, "d": np.array([2, 0, 1], np.float32), "b": solves["b"]}
    expressions = [
        "eigh(z, symmetrize_input=False, lower=False)[1]",
        "eigh(x, implementation='qr', sort_eigenvalues=False)[1]",
        "eigh(x, implementation=lax.linalg.EighImplementation.JACOBI)",
        "eigh(x, implementation=lax.linalg.EighImplementation.QDWH)",
        "svd(z, algorithm=lax.linalg.SvdAlgorithm.QR, compute_uv=False)",
        "svd(x, algorithm=lax.linalg.SvdAlgorithm.POLAR)",
        "svd(x, algorithm=lax.linalg.SvdAlgorithm.JACOBI)",
        "svd(x, subset_by_index=(0, 2))",
        "eig(x, implementation=lax.linalg.EigImplementation.LAPACK)[0]",
        "eig(x, implementation=lax.linalg.EigImplementation.CUSOLVER)",
        "qr(x, use_magma=True)",
        "schur(x, select_callable=lambda re, im: re > 0)",
        "schur(x, sort_eig_vals=True, select_callable=lambda re, im: re > 0)",
        "schur(z, compute_schur_vectors=False)",
        "cholesky(x @ x.mT + 2 * jnp.eye(3), symmetrize_input=False)",
        "tridiagonal(z, lower=False)[1:3]",
        "symmetric_product(x, x + x.mT, beta=1.0)",
        "symmetric_product(z, z)",
        "cholesky_update(z[0], z[0, 0])",
    ]
    cases = [Case(f"lax.linalg.{e}", inputs, CLOSE, may_raise=True) for e in expressions]
    for case in (solves, singular):
        for perturb in (False, True):
            snippet = f"lax.linalg.tridiagonal_solve(o, d, o, b, perturb_singular={perturb})"
            cases.append(Case(snippet, case, CLOSE))
    snippet = "lax.linalg.tridiagonal_solve(o + 0j, 0j * d, 1j * o, b + 0j, perturb_singular=True)"
    cases.append(Case(snippet, solves, CLOSE))
    oracle.compare_many(cases)


def test_subsets():
    """Of singular values the largest, of eigenvalues the smallest come first."""
    x = sample(4, 3)
    with covector.enable_x64(True):
        u, s, vh = map(np.asarray, linalg.svd(x, full_matrices=False, subset_by_index=(1, 3)))
        only = linalg.svd(x, compute_uv=False, subset_by_index=(1, 3))
        v, w = map(np.asarray, linalg.eigh(x.T @ x, subset_by_index=(0, 2)))
    np.testing.assert_allclose(s, np.linalg.svd(x)[1][1:], rtol=1e-10)
    np.testing.assert_allclose(only, s, rtol=1e-10)
    np.testing.assert_allclose(x @ vh.T, u * s, atol=1e-12)
    np.testing.assert_allclose(w, s[::-1] ** 2, rtol=1e-10)
    np.testing.assert_allclose(x.T @ x @ v, v * w, atol=1e-12)
    for function in (linalg.svd, linalg.eigh):
        with pytest.raises(ValueError, match="range of positions"):
            function(np.eye(2), subset_by_index=(1, 3))


def test_use_magma_of_eig_is_deprecated():
    with pytest.warns(DeprecationWarning, match="use_magma"):
        linalg.eig(np.eye(2, dtype=np.float32), use_magma=False)
    with warnings.catch_warnings(), pytest.raises(ValueError, match="MAGMA"):
        warnings.simplefilter("ignore")
        linalg.eig(np.eye(2, dtype=np.float32), use_magma=True)


# --- products and updates -------------------------------------------------------------------------


def test_pivots_to_permutation(oracle):
    pivots = np.array([[2, 2, 2], [0, 3, 3]], np.int32)
    oracle.compare_many([Case("lax.linalg.lu_pivots_to_permutation(p, 4)", {"p": pivots})])


def test_cholesky_update():
    r, w = np.triu(sample(4, 4)), sample(4)
    with covector.enable_x64(True):
        out = np.asarray(linalg.cholesky_update(r, w))
    np.testing.assert_allclose(out.T @ out, r.T @ r + np.outer(w, w), atol=1e-12)


@pytest.mark.parametrize("left", [True, False])
def test_ormqr(left):
    a, taus = np.tril(sample(3, 3, dtype=complex), -1), sample(3, dtype=complex)
    with covector.enable_x64(True):
        q, c = np.asarray(linalg.householder_product(a, taus)), sample(3, 3, dtype=complex)
        out = linalg.ormqr(a, taus, c, left=left, transpose=True)
    np.testing.assert_allclose(out, adjoint(q) @ c if left else c @ adjoint(q), atol=1e-12)


def test_symmetric_product():
    a, c = sample(3, 2), SQUARE @ SQUARE.T

    def f(a, c):
        return linalg.symmetric_product(a, c, alpha=2.0, beta=0.5, symmetrize_output=True)

    with covector.enable_x64(True):
        np.testing.assert_allclose(f(a, c), 2 * a @ a.T + c / 2, atol=1e-12)
        checks.check_derivatives(f, a, c, order=1)

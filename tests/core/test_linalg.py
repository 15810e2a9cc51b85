"""Matrix factorizations and solves, against NumPy and the oracle."""

import subprocess
import sys

import covector
import numpy as np
import pytest
from core import primitive_checks as checks
from covector.lax import linalg
from oracle import Case, Tolerance

RNG = np.random.default_rng(7)
CLOSE = Tolerance(rtol=1e-4, atol=1e-5)


def sample(*shape, dtype=np.float64):
    x = RNG.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * RNG.standard_normal(shape)
    return x.astype(dtype)


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def positive(x):
    return (x @ adjoint(x) + np.eye(x.shape[-2])).astype(x.dtype)


# --- each factorization multiplies to the matrix -------------------------------------------------


def residual_cholesky(x):
    x = positive(x[..., :2, :])[..., :2, :2]
    factor = np.asarray(linalg.cholesky(x))
    assert (np.triu(factor, 1) == 0).all()
    return factor @ adjoint(factor) - x


def residual_lu(x):
    packed, _, order = map(np.asarray, linalg.lu(x))
    k = min(x.shape[-2:])
    lower = np.tril(packed[..., :k], -1) + np.eye(x.shape[-2], k)
    return lower @ np.triu(packed[..., :k, :]) - np.take_along_axis(x, order[..., None], -2)


def residual_qr(x):
    q, r = map(np.asarray, linalg.qr(x))
    assert q.shape[-1] == x.shape[-2]
    return q @ r - x


def residual_qr_pivoting(x):
    q, r, order = map(np.asarray, linalg.qr(x, pivoting=True, full_matrices=False))
    return q @ r - np.take_along_axis(x, order[..., None, :], -1)


def residual_eigh(x):
    x = positive(x[..., :2, :])
    v, w = map(np.asarray, linalg.eigh(x))
    assert w.dtype == x.real.dtype
    return v * w[..., None, :] @ adjoint(v) - x


def residual_svd(x):
    u, s, vh = map(np.asarray, linalg.svd(x, full_matrices=True))
    k = s.shape[-1]
    np.testing.assert_allclose(s, np.linalg.svd(x, compute_uv=False), rtol=1e-4)
    return u[..., :k] * s[..., None, :] @ vh[..., :k, :] - x


def residual_eig(x):
    x = x[..., :2, :2]
    w, left, right = map(np.asarray, linalg.eig(x))
    both = (x @ right - right * w[..., None, :], adjoint(left) @ x - w[..., None] * adjoint(left))
    return np.stack(both)


def residual_schur(x):
    x = x[..., :2, :2]
    form, z = map(np.asarray, linalg.schur(x))
    return z @ form @ adjoint(z) - x


def residual_hessenberg(x):
    x = positive(x)[..., :2, :2]
    packed, taus = map(np.asarray, linalg.hessenberg(x))
    q = np.broadcast_to(np.eye(2, dtype=x.dtype), x.shape).copy()
    q[..., 1, 1] = 1 - taus[..., 0]
    return q @ packed @ adjoint(q) - x


def residual_tridiagonal(x):
    x = positive(x[..., :2, :])
    _, d, e, _ = map(np.asarray, linalg.tridiagonal(x))
    whole = np.zeros(x.shape, d.dtype)
    whole[..., 0, 0], whole[..., 1, 1] = d[..., 0], d[..., 1]
    whole[..., 0, 1] = whole[..., 1, 0] = e[..., 0]
    return np.linalg.eigvalsh(whole) - np.linalg.eigvalsh(x)


RESIDUALS = {n[9:]: f for n, f in globals().items() if n.startswith("residual_")}


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@pytest.mark.parametrize("name", RESIDUALS)
def test_factors_multiply_to_the_matrix(name, dtype):
    """In batches, and for wide and tall matrices."""
    with covector.enable_x64(True):
        for shape in [(2, 2, 3), (3, 2)]:
            error = RESIDUALS[name](sample(*shape, dtype=dtype))
            assert np.abs(error).max() < 60 * np.finfo(dtype).eps


def test_dtypes_stay():
    names = ["cholesky", "lu", "qr", "svd", "eigh", "eig", "schur", "hessenberg", "tridiagonal"]
    with covector.enable_x64(True):
        for dtype in ("float64", "complex64"):
            for name in names:
                x = covector.eval_shape(getattr(linalg, name), np.eye(2, dtype=dtype))
                assert np.finfo(checks.leaves(x)[0].dtype).bits == np.finfo(dtype).bits


# --- solves ---------------------------------------------------------------------------------------

SOLVES = [
    {"left_side": True, "lower": True},
    {"transpose_a": True, "conjugate_a": True},
    {"left_side": True, "conjugate_a": True, "unit_diagonal": True},
]


@pytest.mark.parametrize("params", SOLVES)
def test_triangular_solve(params):
    def solve(a, b):
        return linalg.triangular_solve(a, b, **params)

    a, b = sample(2, 2, dtype=complex) + 2 * np.eye(2), sample(2, 2, dtype=complex)
    matrix = np.tril(a) if params.get("lower") else np.triu(a)
    if params.get("unit_diagonal"):
        matrix = matrix - np.diag(np.diag(matrix)) + np.eye(2)
    matrix = np.conj(matrix) if params.get("conjugate_a") else matrix
    matrix = matrix.T if params.get("transpose_a") else matrix
    with covector.enable_x64(True):
        x = np.asarray(solve(a, b))
        left = params.get("left_side")
        np.testing.assert_allclose(matrix @ x if left else x @ matrix, b, atol=1e-12)
        checks.check_batched(solve, a, b, axes=(-1,), ulps=64)


def test_triangular_solve_of_narrow_floats_and_vectors():
    a = np.array([[2.0, 0.0], [1.0, 1.0]], np.float16)
    x = linalg.triangular_solve(a, np.array([2.0, 3.0], np.float16), left_side=True, lower=True)
    assert x.dtype == "float16"
    np.testing.assert_array_equal(x, [1, 2])


def test_tridiagonal_solve():
    args = [sample(3), sample(3) + 3, sample(3), sample(3, 2)]
    matrix = np.diag(args[1]) + np.diag(args[0][1:], -1) + np.diag(args[2][:-1], 1)
    with covector.enable_x64(True):
        x = linalg.tridiagonal_solve(*args)
        np.testing.assert_allclose(x, np.linalg.solve(matrix, args[3]), rtol=1e-10)


# --- edges ----------------------------------------------------------------------------------------

NAMES = ["cholesky", "eigh", "lu", "qr", "svd", "schur", "hessenberg", "eig"]


def test_not_finite_and_singular(oracle):
    """In a stack with an ordinary matrix, which is not affected."""
    partly = np.array([[1, np.nan], [2, 3]])
    infinite = np.array([[1, np.inf], [np.inf, 1]])
    matrices = [np.full((2, 2), np.nan), partly, infinite, np.zeros((2, 2)), 2 * np.eye(2)]
    x = np.stack(matrices).astype(np.float32)
    calls = [f"{name}(x)" for name in [*NAMES, "tridiagonal"]]
    calls += ["qr(x, pivoting=True)", "svd(x, algorithm=lax.linalg.SvdAlgorithm.QR)"]
    calls += ["triangular_solve(x, x)", "eig(x + 0j)", "cholesky(-x)"]
    oracle.compare_many([Case(f"lax.linalg.{call}", {"x": x}, CLOSE) for call in calls])


@pytest.mark.parametrize("name", NAMES)
def test_empty_and_single(name):
    function = getattr(linalg, name)
    for n in (0, 1):
        for x in checks.leaves(function(np.ones((n, n), np.float32))):
            assert set(x.shape) <= {n, max(n - 1, 0)}
    for x in checks.leaves(function(np.ones((0, 2, 2), np.float32))):
        assert x.shape[0] == 0


def test_empty_factors_are_identities():
    for name in ("qr", "svd"):
        first = getattr(linalg, name)(np.zeros((3, 0), np.float32))[0]
        np.testing.assert_array_equal(first, np.eye(3))


@pytest.mark.parametrize("name", [*NAMES, "tridiagonal"])
def test_bad_input(name):
    function = getattr(linalg, name)
    error = ValueError if name in ("cholesky", "eigh") else TypeError
    with pytest.raises(error, match=name):
        function(np.ones(3, np.float32))
    with pytest.raises(TypeError, match=f"{name} does not accept dtype bfloat16"):
        function(np.ones((2, 2), covector.dtypes.bfloat16))
    if name not in ("lu", "qr", "svd"):
        with pytest.raises(ValueError, match="must be a square matrix"):
            function(np.ones((2, 3), np.float32))


# --- start-up -------------------------------------------------------------------------------------

_PROGRAM = """
import sys, numpy as np, covector
covector.config.update("jax_compilation_cache_dir", sys.argv[1])
covector.lax.add(1.0, 1.0)
assert "scipy" not in sys.modules
print(np.asarray(covector.lax.linalg.cholesky(np.eye(2)))[0, 0])
"""


def test_lapack_is_set_up_for_executables_from_the_disk_cache(tmp_path):
    """To run one without is a crash. Programs without LAPACK do not load scipy."""
    for _ in range(2):
        command = [sys.executable, "-c", _PROGRAM, str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip() == "1.0"

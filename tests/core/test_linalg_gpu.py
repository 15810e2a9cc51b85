"""What factorizations become on GPUs and TPUs: the text of modules, against JAX's.

No such device is needed, nor used: that the kernels do what they are asked for is not tested.
"""

import re
import types

import covector
import jaxlib._jax
import jaxlib.gpu_solver
import numpy as np
import pytest
from covector import lax
from covector._lower.module import LoweringOptions, lower_module
from covector._run import gpu_kernels

# Expressions of a: (2, 4, 4), t: (2, 5, 3), w: (2, 3, 5), v: (2, 3) and p: (2, 3) int32.
ON_GPU = """
linalg.cholesky(a)
linalg.lu(t)
linalg.lu_pivots_to_permutation(p, 6)
linalg.qr(t)
linalg.qr(t, full_matrices=False)
linalg.qr(w, pivoting=True)
linalg.qr(t, pivoting=True, use_magma=False)
linalg.eigh(a)
linalg.eigh(a, lower=False, implementation=linalg.EighImplementation.QR)
linalg.eigh(a, implementation=linalg.EighImplementation.JACOBI)
linalg.svd(t)
linalg.svd(w, full_matrices=False)
linalg.svd(w, compute_uv=False)
linalg.svd(t, algorithm=linalg.SvdAlgorithm.QR)
linalg.svd(w, algorithm=linalg.SvdAlgorithm.QR)
linalg.svd(w, algorithm=linalg.SvdAlgorithm.QR, full_matrices=False)
linalg.svd(w, algorithm=linalg.SvdAlgorithm.QR, compute_uv=False)
linalg.svd(t, algorithm=linalg.SvdAlgorithm.POLAR, full_matrices=False)
linalg.svd(lax.full((2, 1025), 0, w.dtype), compute_uv=False)
linalg.eig(a)
linalg.eig(a, implementation=linalg.EigImplementation.MAGMA, compute_left_eigenvectors=False)
linalg.eig(a, implementation=linalg.EigImplementation.LAPACK)
linalg.tridiagonal(a, lower=False)
linalg.householder_product(t, v)
linalg.ormqr(t, v, w, left=False, transpose=True)
linalg.triangular_solve(a[..., :3, :3], w, left_side=True, lower=True)
linalg.tridiagonal_solve(v, v, v, w)
linalg.tridiagonal_solve(v, v, v, w, perturb_singular=True)
"""
REAL_ON_GPU = """
linalg.symmetric_product(w, a[..., :3, :3], alpha=2.0, beta=0.5)
linalg.symmetric_product(w, a[..., :3, :3], symmetrize_output=True)
linalg.cholesky_update(a[0], a[0, 0])
"""
ON_TPU = """
linalg.cholesky(a)
linalg.lu(t)
linalg.qr(t)
linalg.eigh(a, lower=False)
linalg.householder_product(t, v)
"""

_JAX = """
def text(expression):
    f = eval(f"lambda a, t, w, v, p: {expression}", {"linalg": lax.linalg, "lax": lax})
    return jax.jit(f).trace(*arguments).lower(lowering_platforms=(platform,)).as_text()
[text(expression) for expression in expressions]
"""


def arguments(dtype):
    shapes = [(2, 4, 4), (2, 5, 3), (2, 3, 5), (2, 3)]
    return [*[np.zeros(shape, dtype) for shape in shapes], np.zeros((2, 3), np.int32)]


def module_text(expression, args, platform):
    """Covector's module for a platform that this machine need not have."""
    function = eval(f"lambda a, t, w, v, p: {expression}", {"linalg": lax.linalg, "lax": lax})
    program = covector.jit(function, keep_unused=True).trace(*args).jaxpr
    assert not program.consts
    kept = (True,) * len(program.in_avals)
    options = LoweringOptions("f", platform, kept, (False,) * len(kept))
    return lower_module(program.jaxpr, options).bare_text


def calls(text):
    """The calls of kernels with layouts, attributes and aliases, as XLA prints them."""
    hlo = jaxlib._jax.mlir.mlir_module_to_xla_computation(text).as_hlo_text()
    lines = [x for x in hlo.splitlines() if re.search(r" (custom-call|cholesky|triang\S*)\(", x)]
    details = [r", frontend_attributes=\{.*\}(?=, backend)", r", metadata=\{.*?\}", r"/\*.*?\*/"]
    pattern = "|".join([*details, r"\w+\.\d+"])  # the last: names of operands
    return [re.sub(pattern, "", line.split(" = ", 1)[1]) for line in lines]


@pytest.mark.parametrize(
    ("platform", "expressions", "dtype"),
    [
        ("cuda", ON_GPU, "float32"),
        ("cuda", ON_GPU, "complex64"),
        ("cuda", REAL_ON_GPU, "float32"),
        ("tpu", ON_TPU, "float32"),
    ],
)
def test_kernels_are_called_as_jax_calls_them(oracle, platform, expressions, dtype):
    expressions = expressions.strip().splitlines()
    args = arguments(dtype)
    expected = oracle.value(_JAX, expressions=expressions, arguments=args, platform=platform)
    for expression, theirs in zip(expressions, expected, strict=True):
        ours = calls(module_text(expression, args, platform))
        assert ours == calls(theirs), expression
        assert ours, expression


@pytest.mark.parametrize(
    ("platform", "expression", "message"),
    [
        ("cuda", "linalg.schur(a)", "schur: available on cpu, not on cuda"),
        ("tpu", "linalg.svd(a)", "svd: available on cpu, gpu, not on tpu"),
        ("cuda", "linalg.eigh(a, implementation='qdwh')", "QDWH is not available on GPU"),
        (
            "cuda",
            "linalg.svd(a, algorithm=linalg.SvdAlgorithm.DIVIDE_AND_CONQUER)",
            "DIVIDE_AND_CONQUER is not available on GPUs",
        ),
    ],
)
def test_what_a_platform_lacks_is_said(platform, expression, message):
    with pytest.raises(NotImplementedError, match=message):
        module_text(expression, arguments("float32"), platform)


# --- registration ---------------------------------------------------------------------------------


class Extension(types.ModuleType):
    """Stands in for the plugin's extension module, and keeps what is registered."""

    def __init__(self):
        super().__init__("extension")
        self.registered = []

    def ffi_types(self):
        return {"state": "type"}

    def ffi_handlers(self):
        return {"callback": "handler"}

    def register_custom_type(self, *args):
        self.registered.append(args)

    register_custom_call_target = register_custom_type


def test_kernels_are_registered_with_the_plugin(monkeypatch):
    extension = Extension()
    monkeypatch.setattr(gpu_kernels, "_extension", lambda: extension)
    monkeypatch.setattr(jaxlib.gpu_solver, "registrations", lambda: {"CUDA": [("syevd", "k", 1)]})
    gpu_kernels.register("api")
    assert extension.registered == [
        ("api", "state", "type"),
        ("api", "callback", "handler", "CUDA", 1, 0),
        ("api", "syevd", "k", "CUDA", 1, 0),
    ]


def test_without_the_wheel_of_kernels_none_is_registered():
    gpu_kernels.register("api")


def test_host_kernels_are_prepared_for_the_programs_that_call_them(monkeypatch):
    calls = []
    monkeypatch.setattr(jaxlib.gpu_solver, "initialize_hybrid_kernels", lambda: calls.append(1))
    gpu_kernels._initialize.cache_clear()
    gpu_kernels.prepare_for("stablehlo.add")
    assert not calls
    gpu_kernels.prepare_for("stablehlo.custom_call @cuhybrid_eig_real(%0)")
    gpu_kernels.prepare_for("stablehlo.custom_call @cuhybrid_eig_real(%0)")
    assert calls == [1]
    gpu_kernels._initialize.cache_clear()

"""One row for every primitive, and what must hold for each: a primitive without a row fails.

A row is a function that comes to the primitive, and operands in double precision. Checked: the
function's program holds the primitive and keeps the rules of the representation, eager and jitted
results agree, `vmap` agrees with a loop, and derivatives (first and second, forward and reverse)
agree with differences and with each other. Values against the oracle, edges and errors are the
matter of the files by topic. What needs more than operands (devices, rules of the user's, ...) is
in `ELSEWHERE`, with the file that tests it.
"""

import importlib
import math
import pkgutil
from functools import partial
from pathlib import Path

import covector
import numpy as np
import pytest
from core.primitive_checks import check_batched, check_derivatives, check_staged
from covector import lax
from covector._ir.check import check_jaxpr
from covector._trace.primitive import Primitive

FOLDERS = Path(__file__).parents[1]
SEED = np.random.default_rng(1)  # not that of the directions in `primitive_checks`

# Operands: away from each other, from integers and from the points where functions have corners.
REAL = np.array([-1.7, -0.6, 0.3, 0.9, 1.4, 2.2])
INSIDE = np.array([-0.83, -0.31, 0.12, 0.44, 0.63, 0.91])
POSITIVE = np.array([0.35, 0.72, 1.15, 1.62, 2.31, 3.14])
OTHER = np.array([2.6, 0.45, -1.3, 1.8, -0.7, 0.55])
COMPLEX = REAL + 1j * OTHER
INTEGERS = np.array([3, 14, -15, 92, 65, -35], np.int32)
SHIFTS = np.array([1, 2, 0, 3, 5, 7], np.int32)
TRUTHS = np.array([True, False, True, True, False, False])
SQUARE = np.array([[2.0, 0.3, -0.5], [0.7, 1.5, 0.4], [-0.2, 0.6, 3.0]])
SYMMETRIC = SQUARE + SQUARE.T
DEFINITE = SQUARE @ SQUARE.T + np.eye(3)
TALL = SEED.standard_normal((4, 3))
GRID = SEED.permutation(24).reshape(4, 6) / 3 - 2.1
IMAGE = SEED.standard_normal((1, 2, 5, 6))
TRIDIAGONAL = [np.array([0.0, 0.3, 0.5]), np.array([2.0, 2.5, 3.0]), np.array([0.4, -0.2, 0.0])]


def all_primitives() -> dict[str, Primitive]:
    found = {}
    for module in pkgutil.walk_packages(covector.__path__, "covector."):
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, Primitive):
                found[value.name] = value
    return found


PRIMITIVES = all_primitives()
ROWS: dict[str, tuple] = {}


def rows(names: str, *operands: np.ndarray) -> None:
    """Rows of primitives without parameters."""
    for name in names.split():
        ROWS[name] = (PRIMITIVES[name].bind, *operands)


rows("abs asinh atan cbrt ceil cosh erf floor is_finite neg one_minus_square sech_squared", REAL)
rows("sign sinh square bessel_i0e bessel_i1e stop_gradient optimization_barrier copy", REAL)
rows("asin acos atanh erf_inv", INSIDE)
rows("erfc lgamma digamma", POSITIVE)
rows("acosh", 1 + POSITIVE)
rows("real imag", COMPLEX)
rows("conj", REAL)
rows("add add_any sub mul scale mutual_scale atan2 max min eq ne lt le gt ge complex", REAL, OTHER)
rows("eq_to lt_to le_to nextafter rem div unscale signed_zero", REAL, OTHER + 0.07)
rows("and or xor", INTEGERS, SHIFTS)
rows("mulhi", INTEGERS, INTEGERS[::-1])
rows("shift_left shift_right_arithmetic shift_right_logical", INTEGERS, SHIFTS)
rows("not population_count clz", INTEGERS)
rows("clamp", np.array(-1.0), REAL, np.array(1.5))
rows("select_n", TRUTHS, REAL, OTHER)
rows("igamma igammac random_gamma_grad", POSITIVE, POSITIVE[::-1] + 0.1)
rows("zeta", 1.5 + POSITIVE, POSITIVE)
rows("regularized_incomplete_beta", POSITIVE, POSITIVE[::-1], np.abs(INSIDE))

for _name in ("exp", "exp2", "expm1", "logistic", "sin", "cos", "tan", "tanh"):
    ROWS[_name] = (getattr(lax, _name), REAL)
for _name in ("log", "log2", "log1p", "sqrt", "rsqrt"):
    ROWS[_name] = (getattr(lax, _name), POSITIVE)
for _name in ("sum", "prod", "max", "min"):
    ROWS[f"reduce_{_name}"] = (partial(getattr(lax, f"reduce_{_name}"), axes=(1,)), GRID)
for _name in ("and", "or", "xor"):
    ROWS[f"reduce_{_name}"] = (partial(getattr(lax, f"reduce_{_name}"), axes=(0,)), INTEGERS)
for _name in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"):
    ROWS[_name] = (partial(getattr(lax, _name), axis=1), GRID)
for _name in ("argmax", "argmin"):
    ROWS[_name] = (partial(getattr(lax, _name), axis=1, index_dtype=np.int32), GRID)


def row(name, function, *operands):
    ROWS[name] = (function, *operands)


WINDOW = {"window_dimensions": (2, 3), "window_strides": (2, 1), "padding": "SAME"}
GATHER = lax.GatherDimensionNumbers((1,), (0,), (0,))
SCATTER = lax.ScatterDimensionNumbers((1,), (0,), (0,))
PLACES = np.array([[3], [0]], np.int32)
UPDATES = SEED.standard_normal((2, 6))
DOT = (((1,), (0,)), ((), ()))


def log_add(a, b):
    return lax.log(lax.add(lax.exp(a), lax.exp(b)))


def eigenvalues(x):
    return lax.linalg.eig(x, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0]


row("round", lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN), REAL)
row("integer_pow", lambda x: lax.integer_pow(x, 3), REAL)
row("pow", lax.pow, POSITIVE, OTHER)
row("polygamma", lambda x: lax.polygamma(np.float64(1.0), x), POSITIVE)
row("reduce_precision", lambda x: lax.reduce_precision(x, 11, 52), REAL)
row("convert_element_type", lambda x: lax.convert_element_type(x, np.complex128), REAL)
row("bitcast_convert_type", lambda x: lax.bitcast_convert_type(x, np.int64), REAL)
row("broadcast_in_dim", lambda x: lax.broadcast_in_dim(x, (2, 6), (1,)), REAL)
row("reshape", lambda x: lax.reshape(x, (2, 3)), REAL)
row("squeeze", lambda x: lax.squeeze(x, (0,)), REAL[None])
row("transpose", lambda x: lax.transpose(x, (1, 0)), GRID)
row("rev", lambda x: lax.rev(x, (0,)), GRID)
row("iota", lambda: lax.iota(np.float64, 5))
row("concatenate", lambda x, y: lax.concatenate([x, y], 0), REAL, OTHER)
row("pad", lambda x, y: lax.pad(x, y, [(1, 2, 1)]), REAL, np.array(0.5))
row("split", lambda x: lax.split(x, [2, 4]), REAL)
row("tile", lambda x: lax.tile(x, (2,)), REAL)
row("stack", lambda x, y: lax.stack([x, y]), REAL, OTHER)
row("unstack", lambda x: lax.unstack(x), GRID[:2])
row("slice", lambda x: lax.slice(x, (1,), (6,), (2,)), REAL)
row("dynamic_slice", lambda x, i: lax.dynamic_slice(x, (i,), (3,)), REAL, np.array(2))
row(
    "dynamic_update_slice",
    lambda x, y, i: lax.dynamic_update_slice(x, y, (i,)),
    REAL,
    OTHER[:2],
    np.array(1),
)
row("gather", lambda x, i: lax.gather(x, i, GATHER, (1, 6)), GRID, PLACES)
for _scatter in (lax.scatter, lax.scatter_add, lax.scatter_sub, lax.scatter_min, lax.scatter_max):
    row(
        _scatter.__name__,
        partial(_scatter, dimension_numbers=SCATTER),
        GRID,
        PLACES,
        UPDATES,
    )
row(
    "scatter_mul",
    lambda x, i, u: lax.scatter_mul(x, i, u, SCATTER, unique_indices=True),
    GRID,
    PLACES,
    UPDATES,
)
row(
    "scatter_apply",
    lambda x, i: lax.scatter_apply(
        x, i, lax.sin, SCATTER, update_shape=(2, 6), unique_indices=True
    ),
    GRID,
    PLACES,
)
row("dot_general", lambda x, y: lax.dot_general(x, y, DOT), TALL, SQUARE)
row(
    "conv_general_dilated",
    lambda x, k: lax.conv_general_dilated(x, k, (2, 1), "SAME", rhs_dilation=(1, 2)),
    IMAGE,
    SEED.standard_normal((3, 2, 2, 2)),
)
row("fft", lambda x: lax.fft(x, "FFT", 6), COMPLEX)
row("reduce", lambda x: lax.reduce(x, np.float64(-np.inf), log_add, (1,)), GRID)
row("reduce_window", lambda x: lax.reduce_window(x, 1.0, lax.mul, **WINDOW), GRID)
for _name, _init, _operation in (
    ("sum", 0.0, lax.add),
    ("max", -math.inf, lax.max),
    ("min", math.inf, lax.min),
):
    row(
        f"reduce_window_{_name}",
        lambda x, init=_init, operation=_operation: lax.reduce_window(x, init, operation, **WINDOW),
        GRID,
    )
row("linear_recurrence", partial(PRIMITIVES["linear_recurrence"].bind, axis=0, reverse=True), *(
    (INSIDE, REAL)
))  # fmt: skip
row("sort", lambda x, y: lax.sort((x, y)), GRID, GRID[::-1])
row("argsort", partial(PRIMITIVES["argsort"].bind, dimension=1, is_stable=True), GRID)
row("top_k", lambda x: lax.top_k(x, 2), GRID)
row("approx_top_k", lambda x: lax.approx_max_k(x, 2), GRID)
row(
    "order_statistics",
    lambda x: PRIMITIVES["order_statistics"].bind(x, np.array([[2]] * 4, np.int32)),
    GRID,
)
row("cholesky", lambda x: lax.linalg.cholesky(lax.add(x, lax.transpose(x, (1, 0)))), DEFINITE)
row("cholesky_update", lax.linalg.cholesky_update, np.linalg.cholesky(DEFINITE).T, REAL[:3])
row("eigh", lambda x: lax.linalg.eigh(x)[1], SYMMETRIC)
row("eig", eigenvalues, SQUARE)
row("svd", lambda x: lax.linalg.svd(x, compute_uv=False), TALL)
row("qr", lambda x: lax.linalg.qr(x, full_matrices=False), TALL)
row("lu", lambda x: lax.linalg.lu(x)[0], SQUARE)
row(
    "lu_pivots_to_permutation",
    lambda p: lax.linalg.lu_pivots_to_permutation(p, 4),
    np.array([1, 1, 3], np.int32),
)
row("schur", lambda x: lax.linalg.schur(x)[0], SQUARE)
row("hessenberg", lambda x: lax.linalg.hessenberg(x)[0], SQUARE)
row("tridiagonal", lambda x: lax.linalg.tridiagonal(x)[1], SYMMETRIC)
row("householder_product", lax.linalg.householder_product, TALL / 3, REAL[1:4])
row("geqrf", lambda x: PRIMITIVES["geqrf"].bind(x), TALL)
row("triangular_solve", partial(lax.linalg.triangular_solve, left_side=True), SQUARE, SYMMETRIC)
row("tridiagonal_solve", lax.linalg.tridiagonal_solve, *TRIDIAGONAL, SQUARE)
row("symmetric_product", lambda a, c: lax.linalg.symmetric_product(a, c), SQUARE, SYMMETRIC)

# Programs that take long to compile; their second derivatives are tested by topic.
COSTLY = ("igamma", "igammac", "regularized_incomplete_beta")

# In which operands a primitive is differentiated, if not in all.
DIFFERENTIATED = {"zeta": (1,), "random_gamma_grad": ()}

# Primitives that need more than operands, or that users never meet as such: who tests them, and
# what stands there for them.
ELSEWHERE = {
    "core/test_composite.py": {"composite": "lax.composite"},
    "core/test_cond.py": {"cond": "lax.cond"},
    "core/test_custom_batching.py": {"custom_vmap_call": "custom_vmap"},
    "core/test_custom_derivatives.py": {
        "custom_jvp_call": "custom_jvp",
        "custom_vjp_call": "custom_vjp",
        "custom_vjp_linear": "custom_vjp",
    },
    "core/test_jit.py": {"jit": "jit"},
    "core/test_linalg.py": {"kernel": "linalg", "ormqr": "qr"},
    "core/test_linear_transpose.py": {"linear_call": "linear_call"},
    "core/test_loops.py": {"while": "while_loop"},
    "core/test_polynomial.py": {"polynomial": "polynomial"},
    "core/test_elementwise.py": {"power": "pow"},
    "core/test_ragged_dot.py": {
        "grouped_outer": "ragged_dot",
        "grouped_rows": "ragged_dot",
        "scaled_dot": "scaled_dot",
    },
    "core/test_remat.py": {"remat": "remat", "name": "checkpoint_name"},
    "core/test_rng.py": {"rng_bit_generator": "rng_bit_generator", "rng_uniform": "rng_uniform"},
    "core/test_scan.py": {"scan": "lax.scan"},
    "core/test_sharding_constraint.py": {"sharding_constraint": "with_sharding_constraint"},
    "core/test_solves.py": {"custom_linear_solve": "custom_linear_solve"},
    "core/test_sort.py": {"sort_by": "sort", "top_k_last": "top_k"},
    "core/test_special.py": {"igamma_grad_a": "igamma_grad_a", "incomplete_beta_slope": "betainc"},
    "core/test_tokens.py": {
        "after_all": "after_all",
        "create_token": "create_token",
        "dce_sink": "dce_sink",
        "stage": "stage",
    },
    "core/test_windows.py": {
        "select_and_gather_add": "select_and_gather_add",
        "select_and_scatter": "select_and_scatter",
        "select_and_scatter_add": "select_and_scatter_add",
    },
    "parallel/test_collectives.py": {
        "all_gather": "all_gather",
        "all_to_all": "all_to_all",
        "axis_index": "axis_index",
        "pmax": "pmax",
        "pmin": "pmin",
        "ppermute": "ppermute",
        "psum": "psum",
        "reduce_scatter": "psum_scatter",
    },
    "parallel/test_pmap.py": {"pmap": "pmap"},
    "random/test_bits_equal.py": {"threefry2x32": "bits", "drawn": "bits"},
    "random/test_families_equal.py": {"random_gamma": "gamma"},
    "random/test_keys_reuse.py": {"random_use": "KeyReuseError", "random_clone": "clone"},
}


def holds(jaxpr, name: str) -> bool:
    """Whether a program, or one inside it, has an equation of this primitive."""
    for eqn in jaxpr.eqns:
        if eqn.primitive.name == name:
            return True
        if any(hasattr(p, "eqns") and holds(p, name) for p in eqn.params.values()):
            return True
    return False


def test_every_primitive_has_a_row():
    elsewhere = {name for names in ELSEWHERE.values() for name in names}
    assert set(ROWS) | elsewhere == set(PRIMITIVES)
    assert not set(ROWS) & elsewhere
    for file, names in ELSEWHERE.items():
        text = (FOLDERS / file).read_text(encoding="utf-8")
        for name, word in names.items():
            assert word in text, f"{file} does not test {name}"


@pytest.mark.parametrize("name", ROWS)
def test_primitive(name):
    function, *operands = ROWS[name]
    with covector.enable_x64(True):
        program = covector.make_jaxpr(function)(*operands)
        assert holds(program.jaxpr, name)
        check_jaxpr(program)
        check_staged(function, *operands, ulps=16)
        if operands and PRIMITIVES[name].batch is not None:
            check_batched(function, *operands, axes=(0,), ulps=1024)
        if PRIMITIVES[name].jvp is not None:
            wrt = DIFFERENTIATED.get(name)
            order = 1 if name in ("eig", *COSTLY) else 2  # eig: of eigenvectors, not defined
            check_derivatives(covector.jit(function), *operands, wrt=wrt, order=order)

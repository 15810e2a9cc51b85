"""One row for every primitive: a function that comes to it, and operands in double precision.

The function is text, for the oracle evaluates it too, where `lax` and `jax` are JAX's. Primitives
that JAX has no function for are in `OURS`, bound to their operands. What needs more than operands
(devices, rules of the user's, ...) is in `ELSEWHERE`, with the file that tests it.
"""

import importlib
import pkgutil
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import covector
import numpy as np
from covector import lax
from covector._trace.primitive import Primitive

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
KERNEL = SEED.standard_normal((3, 2, 2, 2))
UPDATES = SEED.standard_normal((2, 6))
PLACES = np.array([[3], [0]], np.int32)
TRIDIAGONAL = [np.array([0.0, 0.3, 0.5]), np.array([2.0, 2.5, 3.0]), np.array([0.4, -0.2, 0.0])]


class Row(NamedTuple):
    """A function and its operands; ``text``: what the oracle evaluates to the function, if any."""

    function: Callable[..., Any]
    operands: tuple[np.ndarray, ...]
    text: str | None = None


def all_primitives() -> dict[str, Primitive]:
    found = {}
    for module in pkgutil.walk_packages(covector.__path__, "covector."):
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, Primitive):
                found[value.name] = value
    return found


PRIMITIVES = all_primitives()
ROWS: dict[str, Row] = {}


def row(name: str, text: str, *operands: np.ndarray) -> None:
    """The row of one primitive."""
    function = eval(text, {"lax": lax, "jax": covector, "np": np})
    ROWS[name] = Row(function, operands, text)


def rows(names: str, *operands: np.ndarray) -> None:
    """Rows of primitives whose function has their name, and no other parameters."""
    for name in names.split():
        row(name, f"lax.{name}", *operands)


def ours(names: str, *operands: np.ndarray, **params: Any) -> None:
    """Rows of primitives that the oracle has no function for."""
    for name in names.split():
        ROWS[name] = Row(partial(PRIMITIVES[name].bind, **params), operands)


# --- elementwise ----------------------------------------------------------------------------------

rows("abs asinh atan cbrt ceil cosh erf floor is_finite neg sign sinh square", REAL)
rows("exp exp2 expm1 logistic sin cos tan tanh bessel_i0e bessel_i1e stop_gradient", REAL)
rows("optimization_barrier", REAL)
rows("asin acos atanh erf_inv", INSIDE)
rows("erfc lgamma digamma log log2 log1p sqrt rsqrt", POSITIVE)
rows("acosh", 1 + POSITIVE)
rows("real imag", COMPLEX)
rows("conj", REAL)
rows("add sub mul atan2 max min eq ne lt le gt ge complex", REAL, OTHER)
rows("nextafter rem div", REAL, OTHER + 0.07)
rows("shift_left shift_right_arithmetic shift_right_logical", INTEGERS, SHIFTS)
rows("mulhi", INTEGERS, INTEGERS[::-1])
rows("population_count clz", INTEGERS)
for _name in ("and", "or", "xor"):
    row(_name, f"lax.bitwise_{_name}", INTEGERS, SHIFTS)
row("not", "lax.bitwise_not", INTEGERS)
rows("clamp", np.array(-1.0), REAL, np.array(1.5))
rows("select_n", TRUTHS, REAL, OTHER)
rows("igamma igammac random_gamma_grad", POSITIVE, POSITIVE[::-1] + 0.1)
rows("zeta", 1.5 + POSITIVE, POSITIVE)
row("regularized_incomplete_beta", "lax.betainc", POSITIVE, POSITIVE[::-1], np.abs(INSIDE))
row("round", "lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)", REAL)
row("integer_pow", "lambda x: lax.integer_pow(x, 3)", REAL)
rows("pow", POSITIVE, OTHER)
row("polygamma", "lambda x: lax.polygamma(np.ones((), x.dtype), x)", POSITIVE)
row("reduce_precision", "lambda x: lax.reduce_precision(x, 11, 52)", REAL)
row("convert_element_type", "lambda x: lax.convert_element_type(x, np.complex128)", REAL)
row("bitcast_convert_type", "lambda x: lax.bitcast_convert_type(x, np.int64)", REAL)
ours("one_minus_square sech_squared copy", REAL)
ours("add_any scale mutual_scale", REAL, OTHER)
ours("eq_to lt_to le_to unscale signed_zero", REAL, OTHER + 0.07)

# --- shapes ---------------------------------------------------------------------------------------

row("broadcast_in_dim", "lambda x: lax.broadcast_in_dim(x, (2, *x.shape), (1,))", REAL)
row("reshape", "lambda x: lax.reshape(x, (2, x.size // 2))", REAL)
row("squeeze", "lambda x: lax.squeeze(x, (0,))", REAL[None])
row("transpose", "lambda x: lax.transpose(x, (1, 0))", GRID)
row("rev", "lambda x: lax.rev(x, (0,))", GRID)
row("iota", "lambda: lax.iota(np.float64, 5)")
row("concatenate", "lambda x, y: lax.concatenate([x, y], 0)", REAL, OTHER)
row("pad", "lambda x, y: lax.pad(x, y, [(1, 2, 1)])", REAL, np.array(0.5))
row("split", "lambda x: lax.split(x, [2, x.shape[0] - 2])", REAL)
row("tile", "lambda x: lax.tile(x, (2,))", REAL)
row("stack", "lambda x, y: lax.stack([x, y])", REAL, OTHER)
row("unstack", "lambda x: lax.unstack(x)", GRID[:2])

# --- reductions and windows -----------------------------------------------------------------------

for _name in ("sum", "prod", "max", "min"):
    row(f"reduce_{_name}", f"lambda x: lax.reduce_{_name}(x, axes=(1,))", GRID)
for _name in ("and", "or", "xor"):
    row(f"reduce_{_name}", f"lambda x: lax.reduce_{_name}(x, axes=(0,))", INTEGERS)
for _name in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"):
    row(_name, f"lambda x: lax.{_name}(x, axis=1)", GRID)
for _name in ("argmax", "argmin"):
    row(_name, f"lambda x: lax.{_name}(x, axis=1, index_dtype=np.int32)", GRID)

LOG_ADD = "lambda a, b: lax.log(lax.add(lax.exp(a), lax.exp(b)))"
WINDOW = "window_dimensions=(2, 3), window_strides=(2, 1), padding='SAME'"
row("reduce", f"lambda x: lax.reduce(x, np.array(-np.inf, x.dtype), {LOG_ADD}, (1,))", GRID)
row(
    "reduce_window",
    f"lambda x: lax.reduce_window(x, np.ones((), x.dtype), lax.mul, {WINDOW})",
    GRID,
)
for _name, _init, _operation in (
    ("sum", "0.0", "add"),
    ("max", "-np.inf", "max"),
    ("min", "np.inf", "min"),
):
    row(
        f"reduce_window_{_name}",
        f"lambda x: lax.reduce_window(x, {_init}, lax.{_operation}, {WINDOW})",
        GRID,
    )
ours("linear_recurrence", INSIDE, REAL, axis=0, reverse=True)

# --- indexing -------------------------------------------------------------------------------------

GATHER = "lax.GatherDimensionNumbers((1,), (0,), (0,))"
SCATTER = "lax.ScatterDimensionNumbers((1,), (0,), (0,))"
row("slice", "lambda x: lax.slice(x, (1,), (6,), (2,))", REAL)
row("dynamic_slice", "lambda x, i: lax.dynamic_slice(x, (i,), (3,))", REAL, np.array(2))
row(
    "dynamic_update_slice",
    "lambda x, y, i: lax.dynamic_update_slice(x, y, (i,))",
    REAL,
    OTHER[:2],
    np.array(1),
)
row("gather", f"lambda x, i: lax.gather(x, i, {GATHER}, (1, x.shape[1]))", GRID, PLACES)
for _name in ("scatter", "scatter_add", "scatter_sub", "scatter_min", "scatter_max"):
    row(_name, f"lambda x, i, u: lax.{_name}(x, i, u, {SCATTER})", GRID, PLACES, UPDATES)
row(
    "scatter_mul",
    f"lambda x, i, u: lax.scatter_mul(x, i, u, {SCATTER}, unique_indices=True)",
    GRID,
    PLACES,
    UPDATES,
)
row(
    "scatter_apply",
    f"lambda x, i: lax.scatter_apply(x, i, lax.sin, {SCATTER}, "
    "update_shape=(i.shape[0], x.shape[1]), unique_indices=True)",
    GRID,
    PLACES,
)

# --- products, Fourier transforms, order ----------------------------------------------------------

row("dot_general", "lambda x, y: lax.dot_general(x, y, (((1,), (0,)), ((), ())))", TALL, SQUARE)
row(
    "conv_general_dilated",
    "lambda x, k: lax.conv_general_dilated(x, k, (2, 1), 'SAME', rhs_dilation=(1, 2))",
    IMAGE,
    KERNEL,
)
row("fft", "lambda x: lax.fft(x, 'FFT', (6,))", COMPLEX)
row("sort", "lambda x, y: lax.sort((x, y))", GRID, GRID[::-1])
row("top_k", "lambda x: lax.top_k(x, 2)", GRID)
row("approx_top_k", "lambda x: lax.approx_max_k(x, 2)", GRID)
ours("argsort", GRID, dimension=1, is_stable=True)
ours("order_statistics", GRID, np.array([[2]] * 4, np.int32))

# --- linear algebra -------------------------------------------------------------------------------

row(
    "cholesky",
    "lambda x: lax.linalg.cholesky(lax.add(x, lax.transpose(x, (1, 0))))",
    DEFINITE,
)
row("cholesky_update", "lax.linalg.cholesky_update", np.linalg.cholesky(DEFINITE).T, REAL[:3])
row("eigh", "lambda x: lax.linalg.eigh(x)[1]", SYMMETRIC)
row(
    "eig",
    "lambda x: lax.linalg.eig("
    "x, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0]",
    SQUARE,
)
row("svd", "lambda x: lax.linalg.svd(x, compute_uv=False)", TALL)
row("qr", "lambda x: lax.linalg.qr(x, full_matrices=False)", TALL)
row("lu", "lambda x: lax.linalg.lu(x)[0]", SQUARE)
row(
    "lu_pivots_to_permutation",
    "lambda p: lax.linalg.lu_pivots_to_permutation(p, 4)",
    np.array([1, 1, 3], np.int32),
)
row("schur", "lambda x: lax.linalg.schur(x)[0]", SQUARE)
row("hessenberg", "lambda x: lax.linalg.hessenberg(x)[0]", SQUARE)
row("tridiagonal", "lambda x: lax.linalg.tridiagonal(x)[1]", SYMMETRIC)
row("householder_product", "lax.linalg.householder_product", TALL / 3, REAL[1:4])
row(
    "triangular_solve",
    "lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True)",
    SQUARE,
    SYMMETRIC,
)
row("tridiagonal_solve", "lax.linalg.tridiagonal_solve", *TRIDIAGONAL, SQUARE)
row(
    "symmetric_product",
    "lambda a, c: lax.linalg.symmetric_product(a, c)",
    SQUARE,
    SYMMETRIC,
)
ours("geqrf", TALL)

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
    "core/test_device_put.py": {"device_put": "device_put_p"},
    "core/test_remat.py": {"remat": "remat", "name": "checkpoint_name"},
    "core/test_remat_policies.py": {"remat_opt": "remat_opt_p"},
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
    "parallel/test_ragged.py": {"ragged_all_to_all": "ragged_all_to_all_p"},
    "random/test_bits_equal.py": {"threefry2x32": "bits", "drawn": "bits"},
    "random/test_families_equal.py": {"random_gamma": "gamma", "unfenced": "gamma"},
    "random/test_keys_reuse.py": {"random_use": "KeyReuseError", "random_clone": "clone"},
}

"""Gather and scatter: against the oracle, and the rules of each."""

import covector
import ml_dtypes
import numpy as np
import pytest
from core.primitive_checks import check_all, check_batched, check_derivatives
from covector import lax
from oracle import Case, Tolerance

X = np.arange(12.0, dtype=np.float32).reshape(4, 3)
ROWS = np.array([[0], [5], [-1], [2], [0]], np.int32)
NUMBERS = ("int8", "uint8", "int32", "bfloat16", "float32", "complex64")
MODES = (None, "clip", "fill", "drop", "promise_in_bounds")

# How x, of shape (4, 3), is gathered from, and scattered to.
#   name: (numbers, indices, slice sizes)
PLACES = {
    "rows": (((1,), (0,), (0,)), ROWS, (1, 3)),
    "parts of rows": (((1,), (0,), (0, 1)), np.array([[1, 1], [3, 2], [0, -1]]), (1, 2)),
    "elements": (((), (0, 1), (0, 1)), np.array([[[1, 1], [3, 2]], [[0, 0], [4, 0]]]), (1, 1)),
    "columns": (((0,), (1,), (1,)), np.array([[2], [0]]), (4, 1)),
    "windows": (((0, 1), (), (1, 0)), np.array([1, 2]), (2, 2)),
    "all": (((0, 1), (), ()), np.zeros((0,), int), (4, 3)),
    "batched": (((), (1,), (1,), (0,), (0,)), np.array([[2], [0], [7], [1]]), (1, 1)),
    "nothing": (((1,), (0,), (0,)), np.zeros((0, 1), int), (1, 3)),
}


def in_dtype(x, dtype):
    return x.astype(np.int32).astype(np.dtype(getattr(ml_dtypes, dtype, dtype)))


def gather_text(name, options=""):
    numbers, _, sizes = PLACES[name]
    return f"lax.gather(x, i, lax.GatherDimensionNumbers(*{numbers}), {sizes}, {options})"


@pytest.mark.parametrize("mode", MODES)
def test_gathers_are_the_oracle_s(oracle, mode):
    cases = []
    for name, (_, indices, _) in PLACES.items():
        inputs = {"x": X, "i": indices.astype(np.int32)}
        cases.append(Case(gather_text(name, f"mode={mode!r}"), inputs, Tolerance(exact=True)))
    oracle.compare_many(cases)


@pytest.mark.parametrize("dtype", ("bool", *NUMBERS))
def test_what_is_out_of_bounds_is_filled_as_by_the_oracle(oracle, dtype):
    inputs = {"x": in_dtype(X, dtype), "i": ROWS}
    texts = [
        gather_text("rows", "mode='fill'"),
        gather_text("rows", "mode='fill', fill_value=1"),
        gather_text("rows", "mode='clip', fill_value=1"),
    ]
    oracle.compare_many([Case(t, inputs) for t in texts])


@pytest.mark.parametrize("dtype", ("int8", "uint8", "int16", "uint32"))
def test_narrow_and_unsigned_indices(oracle, dtype):
    x = np.arange(300.0, dtype=np.float32)
    indices = np.array([[0], [100], [-2]]).astype(np.int32).astype(dtype)
    inputs = {"x": x, "i": indices}
    numbers = "lax.GatherDimensionNumbers((), (0,), (0,)), (1,)"
    scatter = "lax.ScatterDimensionNumbers((), (0,), (0,))"
    cases = [Case(f"lax.gather(x, i, {numbers}, mode={m!r})", inputs) for m in ("clip", "fill")]
    for mode in ("clip", "drop"):
        cases.append(Case(f"lax.scatter_add(x, i, x[:3], {scatter}, mode={mode!r})", inputs))
    oracle.compare_many(cases)


SCATTERS = {
    "scatter": ("bool", *NUMBERS),
    "scatter_add": NUMBERS,
    "scatter_sub": NUMBERS,
    "scatter_mul": NUMBERS,
    "scatter_min": ("bool", *NUMBERS),
    "scatter_max": ("bool", *NUMBERS),
}


def updates_for(name, dtype="float32", seed=0):
    """An array of the shape that gathering from the places would give."""
    numbers, indices, sizes = PLACES[name]
    zeros = np.zeros((4, 3), np.float32)
    shape = lax.gather(zeros, indices, lax.GatherDimensionNumbers(*numbers), sizes).shape
    return in_dtype(np.random.default_rng(seed).integers(0, 9, shape), dtype)


@pytest.mark.parametrize("name", SCATTERS)
def test_scatters_are_the_oracle_s(oracle, name):
    cases = []
    for place, (numbers, indices, _) in PLACES.items():
        text = f"lax.{name}(x, i, u, lax.ScatterDimensionNumbers(*{numbers}), mode=mode)"
        inputs = {"x": X, "i": indices.astype(np.int32), "u": updates_for(place)}
        if name == "scatter" and place in ("rows", "elements"):
            inputs["i"] = inputs["i"][:2]  # else the winner is not defined
            inputs["u"] = inputs["u"][:2]
        for mode in ("clip", "drop") if place != "nothing" else (None,):
            cases.append(Case(text, {**inputs, "mode": mode}, Tolerance(rtol=1e-6)))
    for dtype in SCATTERS[name]:
        inputs = {"x": in_dtype(X, dtype), "i": ROWS[:4], "u": updates_for("rows", dtype)[:4]}
        text = f"lax.{name}(x, i, u, lax.ScatterDimensionNumbers((1,), (0,), (0,)))"
        cases.append(Case(text, inputs))
    oracle.compare_many(cases)


OTHERS = """
lax.scatter_apply(x, i[:2], jnp.sin, sn, update_shape=(2, 3))
lax.scatter_apply(x, i, lambda x: x + 1, sn, update_shape=(5, 3))
lax.scatter_add(lax.full((4, 3), 1.0), i[:3], lax.full((3, 3), 1.0), sn)
lax.scatter_add(x, i[:3], lax.full((3, 3), 1.0), sn)
lax.gather(lax.full((4, 3), 1.0), i, gn, (1, 3))
lax.index_take(x, (jnp.array([0, -1]),), (0,))
lax.index_take(x, (jnp.array([0, 1, 6]), jnp.array([1, -1, 4])), (0, 1))
lax.index_take(x, (jnp.array([2, 1]),), (1,))
lax.GatherScatterMode.from_any(None).name
lax.GatherScatterMode.from_any("clip").value
[m.name for m in lax.GatherScatterMode]
tuple(gn), tuple(sn)
""".strip().splitlines()
NUMBERS_OF_ROWS = """
gn = lax.GatherDimensionNumbers((1,), (0,), (0,))
sn = lax.ScatterDimensionNumbers((1,), (0,), (0,))
"""


def test_other_ways_are_the_oracle_s(oracle):
    oracle.compare_many([Case(NUMBERS_OF_ROWS + s, {"x": X, "i": ROWS}) for s in OTHERS])


WRONG = """
lax.gather(x, i.astype(float), gn, (1, 3))
lax.gather(x, i, gn, (1, 4))
lax.gather(x, i, gn, (2, 3))
lax.gather(x, i, gn, (1,))
lax.gather(x, i, gn._replace(offset_dims=(5,)), (1, 3))
lax.gather(x, i, gn._replace(collapsed_slice_dims=(7,)), (1, 3))
lax.gather(x, i, gn._replace(start_index_map=(9,)), (1, 3))
lax.gather(x, i, gn._replace(start_index_map=(0, 1)), (1, 3))
lax.gather(x, i, gn._replace(offset_dims=(1, 0), collapsed_slice_dims=()), (1, 3))
lax.gather(x, jnp.int32(1), gn, (1, 3))
lax.gather(x, i, gn, (1, 3), mode="bad")
lax.gather(x, i, gn, (1, 3), mode=3)
lax.scatter_add(x, i, x.astype(int), sn)
lax.scatter_add(x, i.astype(float), u, sn)
lax.scatter_add(x, i, jnp.ones((5, 4)), sn)
lax.scatter_add(x, i, jnp.ones((2, 3)), sn)
lax.scatter_add(x, i, jnp.ones(3), sn)
lax.scatter(x, i, u, sn._replace(scatter_dims_to_operand_dims=(7,)))
lax.scatter(x, i, u, sn._replace(update_window_dims=(7,)))
lax.scatter(x, i, u, sn._replace(inserted_window_dims=(7,)))
lax.scatter(x, i, u, sn._replace(inserted_window_dims=()))
lax.scatter_add(x > 0, i, u > 0, sn)
lax.scatter_mul(x > 0, i, u > 0, sn)
lax.scatter_apply(x, i, lambda x: x + 1, sn)
jax.grad(lambda u: lax.scatter_mul(x, i, u, sn).sum())(u)
jax.grad(lambda x: lax.scatter_apply(x, i, jnp.sin, sn, update_shape=(5, 3)).sum())(x)
""".strip().splitlines()


@pytest.mark.parametrize("snippet", WRONG)
def test_wrong_arguments_raise_what_the_oracle_raises(oracle, snippet):
    text = NUMBERS_OF_ROWS + "u = jnp.ones((5, 3))\n" + snippet
    assert oracle.compare_error(text, x=X, i=ROWS).message


@pytest.mark.parametrize("mode", ("clip", "fill"))
@pytest.mark.parametrize("place", PLACES)
def test_rules_of_gather(place, mode):
    numbers, indices, sizes = PLACES[place]
    numbers = lax.GatherDimensionNumbers(*numbers)

    def function(x, i):
        return lax.gather(x, i, numbers, sizes, mode=mode, fill_value=7)

    check_all(function, X.astype(np.float64), indices, order=1)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", SCATTERS)
def test_batching_of_scatters(name, place):
    numbers, indices, _ = PLACES[place]
    numbers = lax.ScatterDimensionNumbers(*numbers)
    updates = updates_for(place)

    def function(x, i, u):
        return getattr(lax, name)(x, i, u, numbers)

    check_batched(function, X, indices, updates, axes=(0,))


UNIQUE = np.array([[2], [7], [0]])


@pytest.mark.parametrize("name", SCATTERS)
def test_derivatives_of_scatters_to_unique_places(name):
    numbers = lax.ScatterDimensionNumbers((1,), (0,), (0,))
    rng = np.random.default_rng(0)
    x, u = rng.standard_normal((4, 3)), rng.standard_normal((3, 3))
    for mode in ("drop", "clip"):

        def function(x, u, mode=mode):
            return getattr(lax, name)(x, UNIQUE, u, numbers, unique_indices=True, mode=mode)

        check_derivatives(function, x, u, order=2 if mode == "drop" else 1)


@pytest.mark.parametrize("name", sorted(set(SCATTERS) - {"scatter_mul"}))
def test_derivatives_of_scatters_to_places_that_coincide(name):
    numbers = lax.ScatterDimensionNumbers((1,), (0,), (0,))
    rng = np.random.default_rng(0)
    x, u = rng.standard_normal((4, 3)), rng.standard_normal((5, 3))
    check_derivatives(lambda x, u: getattr(lax, name)(x, ROWS, u, numbers), x, u, order=1)


def test_derivatives_of_scatter_mul_in_the_operand_alone():
    numbers = lax.ScatterDimensionNumbers((1,), (0,), (0,))
    u = np.random.default_rng(0).standard_normal((5, 3))
    x = X.astype(np.float64)
    check_derivatives(lambda x: lax.scatter_mul(x, ROWS, u, numbers), x, order=1)


def test_derivatives_of_scatter_apply():
    numbers = lax.ScatterDimensionNumbers((1,), (0,), (0,))

    def function(x):
        return lax.scatter_apply(
            x, UNIQUE, lax.sin, numbers, update_shape=(3, 3), unique_indices=True
        )

    check_derivatives(function, X.astype(np.float64))
    check_batched(function, X)


def test_ties_of_scatter_extrema_share_the_derivative(oracle):
    text = NUMBERS_OF_ROWS + "jax.grad(lambda x, u: lax.{}(x, i, u, sn).sum(), (0, 1))(x, u)"
    x = np.ones((4, 3), np.float32)
    for name in ("scatter_max", "scatter_min"):
        oracle.compare(text.format(name), x=x, i=ROWS, u=np.ones((5, 3), np.float32))


def test_elements_of_complex_and_nested_batches():
    x = X + 1j * X[::-1]

    def take(x, i):
        return lax.index_take(x, (i,), (0,))

    indices = np.array([[[0, 1], [2, 3]], [[3, 3], [0, 1]]])
    out = covector.vmap(covector.vmap(take, in_axes=(None, 0)), in_axes=(None, 0))(x, indices)
    np.testing.assert_array_equal(out, x.astype(np.complex64)[indices])

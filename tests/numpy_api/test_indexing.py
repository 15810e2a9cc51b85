"""Indexing: every kind against NumPy, bounds, traced indices, and what eager code compiles."""

import re

import covector
import covector.numpy as jnp
import numpy as np
import pytest
from covector._run import compile as compilation

from numpy_api.compare import compare_all, compare_errors

X = np.arange(2 * 3 * 4, dtype=np.float32).reshape(2, 3, 4)
ROWS, GRID = np.array([1, 0, 1]), np.array([[0, 1], [1, -1]])
MASK = np.array([True, False, True])

# One index in each column, as it stands between brackets.
BASIC_TEXT = """
0           -1          1, 2        1, -1, 3    :           1:          :-1         ::-1
:, 0:3:2    5:9         2:0         :, ::-2     ...         ..., 0      0, ..., -1  ..., 1:3
None        None, 0     0, None     ..., None   :, None, :1  ()  1, :, 2     :, 1, 3:0:-1
-9:9:2      True        False       True, 0     :, :, 3::-3  1, ::-1, None  np.int64(1)
np.array(1)
"""
ADVANCED_TEXT = """
ROWS                    :, ROWS                 GRID                    ROWS, ROWS
ROWS, :, ROWS           0, :, ROWS              :, 0, ROWS              ROWS, 1:, 0
GRID, :, GRID[0]        :, MASK                 0, MASK                 None, ROWS
ROWS, None, ROWS        :, GRID, 1:3            ..., GRID               ROWS, ...
::-1, ROWS, ::2         ROWS.astype('u1'), -1   X > 5                   0, X[0] > 3
MASK[:2]                ROWS[:1], MASK          np.array([], int)       :, [0, 2]
ROWS, [0, 1, 2], [3, 2, 1]                      MASK[:2], 1             :1, None, ROWS, None
ROWS[:, None], None, :, ROWS
"""


def expressions(text):
    return [part for line in text.splitlines() for part in re.split(r"\s{2,}", line) if part]


def index_of(expression):
    return eval(f"np.s_[{expression}]")


BASIC, ADVANCED = expressions(BASIC_TEXT), expressions(ADVANCED_TEXT)
EVERY = BASIC + ADVANCED


@pytest.mark.parametrize("expression", EVERY)
def test_reading(expression):
    index = index_of(expression)
    expected = X[index]
    x = jnp.asarray(X)
    assert x[index].dtype == jnp.float32
    np.testing.assert_array_equal(x[index], expected)
    np.testing.assert_array_equal(covector.jit(lambda v: v[index])(x), expected)


@pytest.mark.parametrize("expression", [e for e in EVERY if X[index_of(e)].size])
def test_gradients_of_reading(expression):
    index = index_of(expression)
    weights = np.arange(1, X[index].size + 1, dtype=np.float32).reshape(X[index].shape)
    expected = np.zeros_like(X)
    np.add.at(expected, index, weights)

    def loss(v):
        return jnp.sum(v[index] * weights)

    np.testing.assert_allclose(covector.grad(loss)(X), expected)
    np.testing.assert_allclose(covector.jit(covector.grad(loss))(X), expected)


@pytest.mark.parametrize("expression", ["ROWS,", ":, GRID", "ROWS, :, ROWS"])
def test_arrays_of_all_kinds_as_indices(expression):
    index = index_of(expression)
    arrays = [i for i in index if isinstance(i, np.ndarray)]

    def read(v, *given):
        given = iter(given)
        return v[tuple([next(given) if isinstance(i, np.ndarray) else i for i in index])]

    np.testing.assert_array_equal(covector.jit(read)(X, *arrays), X[index])
    np.testing.assert_array_equal(read(jnp.asarray(X), *map(jnp.asarray, arrays)), X[index])
    batched = covector.vmap(read, in_axes=(0, *[None] * len(arrays)))(np.stack([X, X + 1]), *arrays)
    np.testing.assert_array_equal(batched, np.stack([X[index], (X + 1)[index]]))


def test_traced_positions():
    for i in (0, 1, -1, -2):
        np.testing.assert_array_equal(covector.jit(lambda v, k: v[k])(X, i), X[i])
        np.testing.assert_array_equal(covector.jit(lambda v, k: v[:, k, 1:])(X, i), X[:, i, 1:])
        np.testing.assert_array_equal(covector.jit(lambda v, k: v[k, :, ROWS])(X, i), X[i, :, ROWS])
    rows = covector.vmap(lambda v, k: v[k])(X, np.array([2, -1]))
    np.testing.assert_array_equal(rows, [X[0, 2], X[1, -1]])
    gradient = covector.grad(lambda v, k: v[k].sum())(X, 1)
    np.testing.assert_array_equal(gradient, [np.zeros((3, 4)), np.ones((3, 4))])


def test_out_of_bounds(oracle):
    compare_all(
        oracle,
        """
            f[jnp.array([5, -7, 1])]
            f[jnp.array(9)]
            i.at[jnp.array([5])].get(mode='fill')
            f.at[jnp.array([5])].get(mode='fill')
            f.at[5].get(mode='clip')
            f.at[-5].get(mode='clip')
            f.at[5].get(mode='fill')
            f.at[7, 1].get(mode='fill', fill_value=3.0)
            u8.at[jnp.array([5])].get(mode='drop')
            i.at[5].get(mode='fill', fill_value=-1)
            f.at[jnp.array([-1])].get(mode='fill')
            jax.jit(lambda x, k: x[k])(v, 7)
        jax.jit(lambda x, k: x[k])(v, -5)
        jax.jit(lambda x, k: x[k, 1:])(f, -3)
            f.at[0, jnp.array([5, 1])].get(mode='fill')
            f.at[9, jnp.array([1])].get(mode='fill')
            v.at[jnp.array([-1])].get(mode='clip', wrap_negative_indices=False)
            v.at[-1].get(mode='fill', wrap_negative_indices=False)
            """,
    )


@pytest.mark.parametrize(
    "index",
    [5, -3, (0, 3), np.int32(2), np.array([0, 2]), (slice(None), np.array([[-4]])), (0, 0, 4)],
    ids=str,
)
def test_known_positions_out_of_bounds_are_errors(index):
    with pytest.raises(IndexError, match="out of bounds"):
        jnp.asarray(X)[index]
    with pytest.raises(IndexError, match="out of bounds"):
        covector.jit(lambda v: v[index])(X)
    with pytest.raises(IndexError, match="out of bounds"):
        jnp.asarray(X).at[index].set(0.0)


def test_errors(oracle):
    compare_errors(
        oracle,
        """
            f[1.0]
            f['a']
            f[[0, 1]]
            f[jnp.array([True])]
            f[0, 0, 0]
            f[..., ...]
            f[0.5:]
            f[:, v]
            f[object()]
            jax.jit(lambda x, k: x[k:])(f, 1)
            jax.jit(lambda x, m: x[m])(f, b)
            s[0]
            f[jnp.ones((2, 2), bool)]
            empty[0]
            f[jnp.zeros(2, int), jnp.zeros(3, int)]
            f.at[0].get(mode='foo')
            f[np.array([1.5])]
            """,
    )


def test_a_traced_mask_names_the_remedy():
    with pytest.raises(covector.errors.NonConcreteBooleanIndexError, match=r"jnp\.where"):
        covector.jit(lambda v: v[v > 2])(X)


def test_masks_work_on_values_known_under_grad():
    gradient = covector.grad(lambda v: jnp.sum(v[v > 20] ** 2))(X)
    np.testing.assert_array_equal(gradient, np.where(X > 20, 2 * X, 0))


@pytest.fixture
def compiles(monkeypatch):
    """The programs compiled during the test."""
    texts = []
    real = compilation.compile_text

    def counted(*args, **kwargs):
        texts.append(args)
        return real(*args, **kwargs)

    monkeypatch.setattr(compilation, "compile_text", counted)
    return texts


def test_eager_code_compiles_once_for_all_positions(compiles):
    x = jnp.arange(53.0)
    for i in range(20):
        assert float(x[i]) == i
        assert x[i : i + 3].shape == (3,)
        assert float(x.at[i].set(-1.0)[i]) == -1.0
        covector.grad(lambda v, k=i: v[k] * 2)(x)
    covector.clear_caches()
    compiles.clear()
    for i in range(20):
        x[i], x[i : i + 3], x.at[i].set(-1.0)
    assert len(compiles) == 3


ONE_PROGRAM = """
x[i]; x[-i - 1]; x[i : i + 7]; x[i + 9 : i + 1 : -2]; y[i % 40, i % 25]; y[i % 40, 2:]; y[:, i % 50]
y[i % 40, ::-2]; y[None, i % 40, ..., i % 50]; x[np.array([i, i + 1])]; y[i % 40, np.array([1, 2])]
x.at[i : i + 3].add(1.0)
"""


def test_a_thousand_positions_compile_one_program_for_each_form(compiles):
    x, y = jnp.arange(1010.0), jnp.ones((40, 50))
    for form in ONE_PROGRAM.replace(";", "\n").strip().splitlines():
        code = compile(form.strip(), "form", "eval")
        positions = range(1000) if form.startswith("x[i]") else range(0, 1000, 29)
        compiles.clear()
        for i in positions:
            eval(code, {"np": np, "x": x, "y": y, "i": i})
        assert len(compiles) <= 1, form


def test_small_index_dtypes_reach_all_positions():
    x = jnp.arange(300)
    assert x[jnp.array([-1], jnp.int8)][0] == 299
    assert x[jnp.array([200], jnp.uint8)][0] == 200


def test_iteration_and_length():
    assert [float(v) for v in jnp.arange(3.0)] == [0.0, 1.0, 2.0]
    assert len(jnp.zeros((4, 2))) == 4
    total = covector.jit(lambda v: sum(row.sum() for row in v))(X)
    assert float(total) == X.sum()

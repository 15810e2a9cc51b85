"""`vmap`: axes in and out, nesting with other transformations, and what it refuses."""

from __future__ import annotations

import covector as cv
import numpy as np
import pytest
from covector import lax

X = np.arange(6.0, dtype=np.float32).reshape(2, 3)
Y = np.arange(3.0, dtype=np.float32)


def add(x, y):
    return lax.add(x, y)


CASES = {
    # in_axes, out_axes, args, expected
    "first axis": (0, 0, (X, X), X + X),
    "last axis": (-1, 0, (X, X), (X + X).T),
    "out last": (0, 1, (X, X), (X + X).T),
    "out negative": (0, -1, (X, X), (X + X).T),
    "one unmapped": ((0, None), 0, (X, Y), X + Y),
    "other unmapped": ((None, 0), 0, (Y, X), X + Y),
    "mixed axes": ((0, 1), 0, (X, X.T.copy()), X + X),
    "scalar unmapped": ((0, None), 0, (X, 1.0), X + 1),
    "batch of scalars": ((0, None), 0, (Y, Y), Y[:, None] + Y),
}


@pytest.mark.parametrize("wrap", [lambda f: f, cv.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("name", CASES)
def test_axes(name, wrap):
    in_axes, out_axes, args, expected = CASES[name]
    np.testing.assert_array_equal(wrap(cv.vmap(add, in_axes, out_axes))(*args), expected)


def test_trees_and_keywords():
    def f(tree, *, k):
        return {"s": lax.add(tree[0], k), "t": tree[1]["a"]}

    out = cv.vmap(f, in_axes=((0, {"a": None}),), out_axes={"s": 0, "t": None})(
        (X, {"a": 2.0}), k=X
    )
    np.testing.assert_array_equal(out["s"], X + X)
    assert float(out["t"]) == 2.0


def test_unmapped_output_is_broadcast():
    assert cv.vmap(lambda x: 1.0)(X).shape == (2,)
    assert cv.vmap(lambda x: x, in_axes=None, axis_size=4)(Y).shape == (4, 3)


def test_nested():
    outer = cv.vmap(cv.vmap(add, (None, 0)), (0, None))
    np.testing.assert_array_equal(outer(Y, Y), Y[:, None] + Y)


def test_per_example_gradients():
    def loss(w, x):
        return lax.reduce_sum(lax.sin(lax.mul(w, x)), (0,))

    per_example = cv.vmap(cv.grad(loss), (None, 0))
    expected = np.stack([np.cos(Y * x) * x for x in X])
    np.testing.assert_allclose(per_example(Y, X), expected, rtol=1e-5)
    np.testing.assert_allclose(cv.jit(per_example)(Y, X), expected, rtol=1e-5)


def test_grad_of_vmap_sums_over_the_shared_operand():
    g = cv.grad(lambda y: lax.reduce_sum(cv.vmap(lax.mul, (0, None))(X, y), (0, 1)))(Y)
    np.testing.assert_array_equal(g, X.sum(0))


def test_equals_the_oracle(oracle):
    oracle.compare("jax.vmap(lambda x, y: lax.mul(x, y), (0, None), 1)(x, y)", x=X, y=Y)
    oracle.compare("jax.vmap(jax.grad(lambda x: lax.sin(x)))(y)", y=Y)


REFUSED = {
    "sizes": (lambda: cv.vmap(add)(X, Y), ValueError, "inconsistent sizes.*args\\[1\\]"),
    "axis": (lambda: cv.vmap(add, 2)(X, X), ValueError, "axis 2"),
    "scalar": (lambda: cv.vmap(lax.sin)(1.0), ValueError, "rank"),
    "length": (lambda: cv.vmap(add, (0,))(X, X), ValueError, "len\\(in_axes\\)=1"),
    "type": (lambda: cv.vmap(add, "x"), TypeError, "in_axes"),
    "leaf type": (lambda: cv.vmap(add, (0, 1.5)), TypeError, "in_axes"),
    "structure": (lambda: cv.vmap(add, ((0, 0), 0))(X, X), ValueError, "in_axes"),
    "nothing mapped": (lambda: cv.vmap(add, None)(X, X), ValueError, "non-None"),
    "out None": (lambda: cv.vmap(add, out_axes=None)(X, X), ValueError, "out_axes is None"),
    "out range": (lambda: cv.vmap(add, out_axes=5)(X, X), ValueError, "out_axes"),
    "not callable": (lambda: cv.vmap(1), TypeError, "callable"),
    "branch": (
        lambda: cv.vmap(lambda x: 1 if x > 0 else 2)(Y),
        cv.errors.TracerBoolConversionError,
        "covector.numpy.where",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refuses(name):
    call, error, message = REFUSED[name]
    with pytest.raises(error, match=message):
        call()

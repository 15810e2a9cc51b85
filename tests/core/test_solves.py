"""`custom_linear_solve` and `custom_root`: derivatives of equations, against the oracle."""

from __future__ import annotations

import covector as cv
import numpy as np
import pytest
from core.transformed import check
from covector import lax
from oracle import Case

LINEAR = """
def solve(matvec, b):
    return lax.div(b, matvec(np.ones(2, np.float32)))
def f(w, b):
    matvec = lambda x: lax.mul(x, lax.mul(w, w))
    return lax.custom_linear_solve(matvec, b, solve, {rest})
args = (np.array([0.5, 2.0], np.float32), np.array([1.0, 3.0], np.float32))
"""
PROGRAMS = {
    "transpose_solve": LINEAR.replace("{rest}", "solve"),
    "symmetric": LINEAR.replace("{rest}", "symmetric=True"),
    "trees": """
def solve(matvec, b):
    return {"u": b["u"], "v": lax.sub(b["v"], lax.mul(w0, b["u"]))}, b["v"]
w0 = np.float32(0.5)
def back(vecmat, b):
    return {"u": lax.sub(b["u"], lax.mul(w0, b["v"])), "v": b["v"]}, b["u"]
def f(u, v):
    matvec = lambda x: {"u": x["u"], "v": lax.add(lax.mul(w0, x["u"]), x["v"])}
    return lax.custom_linear_solve(matvec, {"u": u, "v": v}, solve, back, has_aux=True)
args = (np.float32(0.5), np.float32(0.25))
""",
    "root": """
def f(y, z):
    g = lambda x: lax.sub(lax.mul(x, x), lax.mul(y, z))
    newton = lambda f: lambda i, x: lax.sub(x, lax.div(f(x), lax.mul(x, np.float32(2))))
    solve = lambda f, x: lax.fori_loop(0, 12, newton(f), x)
    return lax.custom_root(g, np.float32(1), solve, lambda g, t: lax.div(t, g(np.float32(1))))
args = (np.float32(2.0), np.float32(3.0))
""",
}
VALUES = (
    "lax.custom_root(lambda x: (x, x), 1.0, lambda f, x: x, lambda g, y: y)",
    "lax.custom_root(lambda x: x, 1.0, lambda f, x: (x, x), lambda g, y: y)",
    "lax.custom_root(lambda x: x, 2.0, lambda f, x: (lax.neg(x), {'steps': lax.abs(x)}), "
    "lambda g, y: y, has_aux=True)",
    "lax.custom_linear_solve(lambda x: (x, x), 1.0, lambda f, x: x)",
    "lax.custom_linear_solve(lambda x: x, 1.0, lambda f, x: (x, x))",
    "lax.custom_linear_solve(lambda x: lax.mul(2.0, x), 1.0, lambda f, x: lax.div(x, f(1.0)))",
    "jax.grad(lambda b: lax.custom_linear_solve(lambda x: x, b, lambda f, x: lax.neg(x)))(1.0)",
    "jax.jvp(lambda b: lax.custom_linear_solve(lambda x: x, b, lambda f, x: lax.neg(x)), "
    "(1.0,), (2.0,))",
)


@pytest.mark.parametrize("name", PROGRAMS)
def test_under_transformations(oracle, name):
    check(oracle, PROGRAMS[name])


def test_values(oracle):
    oracle.compare_many([Case(value, may_raise=True) for value in VALUES])


def test_second_derivative_of_a_root():
    def root(y):
        def solve(f, x):
            return lax.sqrt(lax.add(lax.neg(f(0.0)), 0.0))

        return lax.custom_root(
            lambda x: lax.sub(lax.mul(x, x), y), 1.0, solve, lambda g, t: lax.div(t, g(1.0))
        )

    for wrap in (lambda f: f, cv.jit):
        np.testing.assert_allclose(wrap(cv.grad(cv.grad(root)))(4.0), -1 / 32, rtol=1e-6)

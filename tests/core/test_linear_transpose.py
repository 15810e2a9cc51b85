"""`linear_transpose`, `linear_call`, `closure_convert`, `custom_gradient`, against the oracle."""

from __future__ import annotations

import covector as cv
import numpy as np
import pytest
from core.transformed import check
from covector import lax
from oracle import Case

CASES = (
    "jax.linear_transpose(lambda x: lax.mul(x, np.float32(2)), np.float32(1))(np.float32(3))",
    "jax.linear_transpose(lambda x, y: {'a': lax.sub(x, y), 'b': lax.neg(x)}, np.float32(1), "
    "np.float32(1))({'a': np.float32(3), 'b': np.float32(5)})",
    "jax.linear_transpose(lambda x, y: lax.neg(x), np.float32(1), np.ones(2, np.float32))"
    "(np.float32(3))",
    "jax.linear_transpose(lambda d: lax.dot(np.ones((2, 3), np.float32), d['x']), "
    "{'x': jax.ShapeDtypeStruct((3,), np.float32)})(np.ones(2, np.float32))",
    "jax.jit(lambda w, ct: jax.linear_transpose(lambda x: lax.mul(x, w), w)(ct))"
    "(np.float32(2), np.float32(3))",
    "jax.vmap(jax.linear_transpose(lambda x: lax.mul(x, np.float32(2)), np.float32(1)))"
    "(np.ones(3, np.float32))",
    "jax.linear_transpose(lambda x: lax.sin(x), 1.0)(3.0)",
    "jax.linear_transpose(lambda x: lax.mul(x, 2.0), 1.0)((3.0,))",
    "jax.linear_transpose(lambda x: lax.mul(x, 2.0), 1.0)(np.ones(3))",
    "jax.linear_transpose(lambda x: lax.convert_element_type(x, np.int32), 1.0)(3)",
    "jax.grad(jax.custom_gradient(lambda x, y: (lax.mul(x, y), lambda ct: (ct, lax.neg(x)))), "
    "(0, 1))(np.float32(3), np.float32(2))",
    "jax.vmap(jax.grad(jax.custom_gradient(lambda x: (lax.sin(x), lambda ct: lax.mul(ct, x)))))"
    "(np.ones(3, np.float32))",
    "jax.jit(jax.grad(jax.custom_gradient(lambda x: (lax.sin(x), lambda ct: (lax.mul(ct, x),)))))"
    "(np.float32(3))",
    "jax.custom_gradient(lambda x: (lax.sin(x), lambda ct: ct))(np.float32(3))",
)


def test_values(oracle):
    oracle.compare_many([Case(case, may_raise=True) for case in CASES])


LINEAR_CALL = """
from jax.custom_derivatives import linear_call
back = lambda r, ct: {"u": lax.mul(lax.div(ct, r), np.float32(3)), "v": lax.neg(ct)}
def f(u, v):
    fun = lambda r, t: lax.sub(lax.div(t["u"], r), t["v"])
    return linear_call(fun, back, np.float32(2), {"u": u, "v": v})
args = (np.float32(0.5), np.float32(0.25))
expected = [f(*args), jax.grad(f, (0, 1))(*args), jax.jit(jax.grad(f, (0, 1)))(*args)]
twice = jax.linear_transpose(jax.linear_transpose(f, *args), np.float32(1))
expected.append(twice(jax.grad(f, (0, 1))(*args)))
expected
"""


def test_linear_call(oracle):
    oracle.compare(LINEAR_CALL)


def test_linear_call_in_a_batch():
    def divide(r, x):
        return cv.custom_derivatives.linear_call(
            lambda r, x: lax.div(x, r), lambda r, ct: lax.mul(ct, r), r, x
        )

    r, x = np.array([1, 2], np.float32), np.array([3, 5], np.float32)
    np.testing.assert_array_equal(cv.vmap(divide)(r, x), x / r)
    np.testing.assert_array_equal(cv.vmap(cv.grad(divide, 1), (0, None))(r, x[0]), r)
    np.testing.assert_array_equal(cv.vmap(cv.grad(divide, 1), (None, 0))(r[0], x), [1, 1])


def test_linear_call_refuses():
    call = cv.custom_derivatives.linear_call
    with pytest.raises(NotImplementedError, match=r"linear_call.*residual_args"):
        cv.grad(lambda r: call(lax.div, lax.div, r, 1.0))(2.0)
    with pytest.raises(TypeError, match="linear_call: the transpose must give"):
        call(lax.div, lambda r, ct: (ct, ct), 2.0, 1.0)


CLOSURE = """
def f(x, y):
    closed = lambda z: {"a": lax.mul(lax.sin(x), z), "b": lax.mul(y, np.float32(2))}
    converted, consts = jax.closure_convert(closed, y)
    return converted(lax.cos(x), *consts)
args = (np.float32(0.5), np.float32(0.25))
"""


def test_closure_convert(oracle):
    check(oracle, CLOSURE)
    assert cv.closure_convert(lambda x: lax.mul(x, np.ones(2)), np.ones(2))[1] == []


def test_closure_convert_refuses():
    converted, _ = cv.closure_convert(lambda x: x, 1.0)
    for bad, message in [((1.0, 2.0), "takes 1 arguments"), (((1.0,),), "structure")]:
        with pytest.raises(TypeError, match=message):
            converted(*bad)


def test_custom_gradient_refuses():
    with pytest.raises(NotImplementedError, match="with_logs"):
        cv.custom_gradient(lambda x: (x, lambda ct: ct), with_logs=True)

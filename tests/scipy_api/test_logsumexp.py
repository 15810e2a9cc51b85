"""logsumexp, softmax and log_softmax against the oracle, and their derivatives at the edges."""

import covector
import covector.numpy as jnp
import numpy as np
import pytest
from covector.scipy.special import log_softmax, logsumexp, softmax
from oracle import Case
from oracle.compare import Tolerance

inf, nan = np.inf, np.nan
LOOSE = Tolerance(rtol={"float32": 5e-6, "float16": 3e-3, "complex64": 2e-6}, atol=1e-6)

CALLS = """
    logsumexp(x)
    logsumexp(x, axis=0)
    logsumexp(x, axis=-1, keepdims=True)
    logsumexp(x, axis=(0, 1), keepdims=True, return_sign=True)
    logsumexp(x, axis=())
    logsumexp(1)
    logsumexp(1.0, return_sign=True)
    logsumexp(i)
    logsumexp(i, axis=1, return_sign=True)
    logsumexp(1000 + x)
    logsumexp(x, b=b, axis=1)
    logsumexp(x, b=b, axis=1, return_sign=True)
    logsumexp(x, b=b[:1], axis=0, return_sign=True, keepdims=True)
    logsumexp(v, b=x, axis=0)
    logsumexp(x, b=0.0, return_sign=True)
    logsumexp(x, where=x > 0)
    logsumexp(v, where=x > 0, axis=0, keepdims=True)
    logsumexp(x, axis=1, b=b, where=x > 0, return_sign=True)
    logsumexp(x.astype('float16'))
    logsumexp(x.astype('float16'), b=b, axis=0, return_sign=True)
    logsumexp(c)
    logsumexp(c, axis=0, return_sign=True)
    logsumexp(x, b=c, axis=1)
    logsumexp(x[:0])
    logsumexp(x[:0], axis=0, return_sign=True)
    logsumexp(e)
    logsumexp(e[1:3])
    logsumexp(e[2:])
    logsumexp(e[1:2], return_sign=True)
    logsumexp(e[:2], b=jnp.array([1.0, 0.0]))
    logsumexp(e[2:3], b=0.0)
    logsumexp(jnp.array([1000.0, 0.0]), b=jnp.array([0.0, 1.0]))
    softmax(x)
    softmax(x, axis=0)
    softmax(x, axis=(0, 1))
    softmax(i, axis=-1)
    softmax(1.0)
    softmax(x.astype('float16'), axis=1)
    softmax(1000 + x)
    softmax(x[:0])
    softmax(e[1:2])
    softmax(e[:2])
    softmax(c)
    log_softmax(x)
    log_softmax(x, axis=0)
    log_softmax(i, axis=1)
    log_softmax(1000 * x)
    log_softmax(e[:2])
"""
INPUTS = {
    "x": np.random.default_rng(0).normal(size=(2, 3)).astype(np.float32),
    "b": np.array([[1.0, -2.0, 0.0], [0.5, 3.0, -1.0]], np.float32),
    "v": np.array([0.5, -1.0, 2.0], np.float32),
    "i": np.arange(6, dtype=np.int32).reshape(2, 3),
    "c": np.array([[0.5 + 1j, 2.0], [1.0, -1j]], np.complex64),
    "e": np.array([1.0, -inf, inf, nan], np.float32),
}


def inputs_of(call):
    if "b=c" in call:  # of one shape with c
        return {**INPUTS, "x": INPUTS["x"][:, :2]}
    return INPUTS


def test_values(oracle):
    calls = [line.strip() for line in CALLS.splitlines() if line.strip()]
    oracle.compare_many([Case(f"jax.scipy.special.{c}", inputs_of(c), LOOSE) for c in calls])


def test_derivatives_are_softmax():
    x = INPUTS["x"]
    slope = covector.grad(logsumexp)(x)
    np.testing.assert_allclose(slope, softmax(x), rtol=1e-6)
    curve = covector.hessian(logsumexp)(x[0])
    p = np.asarray(softmax(x[0]))
    np.testing.assert_allclose(curve, np.diag(p) - np.outer(p, p), atol=1e-6)
    shares = covector.jacobian(softmax)(x[0])
    np.testing.assert_allclose(shares, np.diag(p) - np.outer(p, p), atol=1e-6)
    logs = covector.jacobian(log_softmax)(x[0])
    np.testing.assert_allclose(logs, np.eye(3) - p, atol=1e-6)


def test_derivatives_at_infinity():
    """Of the sum of nothing, 0; an element that counts for nothing spoils no other."""
    np.testing.assert_array_equal(covector.grad(logsumexp)(jnp.array([-inf, -inf])), [0, 0])
    np.testing.assert_array_equal(covector.grad(logsumexp)(jnp.array([1.0, -inf])), [1, 0])
    rows = jnp.array([[-inf, -inf], [0.0, 0.0]])
    slopes = covector.grad(lambda x: logsumexp(x, axis=1)[1])(rows)
    np.testing.assert_allclose(slopes, [[0, 0], [0.5, 0.5]])
    masked = covector.grad(lambda x: logsumexp(x, where=jnp.array([True, False])))
    np.testing.assert_array_equal(masked(jnp.array([1.0, nan])), [1, 0])


def test_derivatives_in_the_factors():
    slope = covector.grad(lambda b: logsumexp(jnp.array([1.0, 2.0]), b=b))
    np.testing.assert_allclose(slope(jnp.array([0.0, 1.0])), np.exp([-1.0, 0.0]), rtol=1e-6)
    huge = covector.grad(lambda b: logsumexp(jnp.array([1000.0, 2.0]), b=b))
    np.testing.assert_allclose(huge(jnp.array([0.0, 1.0])), [0.0, 1.0])


@pytest.mark.parametrize("function", [logsumexp, softmax, log_softmax])
def test_transformations(function):
    x = INPUTS["x"]
    rows = [function(row) for row in x]
    np.testing.assert_allclose(covector.vmap(function)(x), np.stack(rows), rtol=1e-6)
    jitted = covector.jit(lambda x: function(x, axis=1))(x)
    np.testing.assert_allclose(jitted, np.stack(rows), rtol=1e-6)


def test_errors(oracle):
    for call in ("logsumexp([1.0])", "softmax([1.0])", "log_softmax([1.0])"):
        oracle.compare_error(f"jax.scipy.special.{call}")
    for call in ("logsumexp(x, axis=2)", "softmax(x, axis=2)", "logsumexp(x, axis=(0, 0))"):
        oracle.compare_error(f"jax.scipy.special.{call}", x=INPUTS["x"])

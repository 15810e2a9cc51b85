"""`fwd_and_bwd`: forward and backward passes as two compiled functions."""

import covector
import numpy as np
import pytest
from covector import lax
from oracle import Case

SETUP = """
def passes(fun, argnums, *args, ct=1.0, **options):
    forward, backward = jax.fwd_and_bwd(fun, argnums, **options)
    value, residuals, *aux = forward(*args)
    return value, backward(residuals, ct), aux
"""
CALLS = [
    "passes(lambda a, b: a * b * b, (0, 1), 2.0, 3.0)",
    "passes(lambda a, b: a * b * b, 1, 2.0, 3.0)",
    "passes(lambda a, b: a * b, -1, 2.0, 3.0)",
    "passes(lambda a, b: (a * b, {'b': b}), 0, 2.0, 3.0, has_aux=True)",
    "passes(lambda a, b: a * b, (1,), 2.0, 3.0, jitted=False)",
    "passes(lambda t, n: {'y': jnp.sin(t['x']) * n}, 0, {'x': x}, 2, ct={'y': x})",
    "passes(lambda x: (x, x + 1), 0, x, ct=(x, x))",
    "passes(lambda x: 3.0, 0, x)",
    "passes(lambda a: a * x, 0, np.float32(2.0), ct=x)",
    "jax.jit(lambda a: passes(lambda u: u * u, 0, a))(3.0)",
    "jax.vmap(lambda a: passes(lambda u: u * u, 0, a))(x)",
    "jax.grad(lambda a: passes(lambda u: u * u * u, 0, a)[1])(3.0)",
]


def test_values(oracle):
    x = np.float32([0.5, 1.0])
    oracle.compare_many([Case(f"{SETUP}\n{call}", {"x": x}) for call in CALLS])


def test_integers():
    """Their cotangents, and those of integer results, are of dtype float0."""
    forward, backward = covector.fwd_and_bwd(lambda x, n: (lax.mul(x, 2.0), n), (0, 1))
    residuals = forward(2.0, 3)[1]
    cts = backward(residuals, (1.0, np.zeros((), covector.float0)))
    assert float(cts[0]) == 2.0
    assert cts[1].dtype == covector.float0


def test_keyword_arguments():
    forward, backward = covector.fwd_and_bwd(lambda x, *, k: lax.mul(x, k), 0)
    assert float(backward(forward(2.0, k=3.0)[1], 1.0)) == 3.0


def test_compiles_once():
    """Calls of one signature trace the function once."""
    traces = []

    def f(x):
        traces.append(x)
        return lax.sin(x)

    forward, backward = covector.fwd_and_bwd(f, 0)
    for x in (0.0, 1.0, 2.0):
        _, residuals = forward(x)
        np.testing.assert_allclose(backward(residuals, 2.0), 2 * np.cos(x), rtol=1e-6)
    assert len(traces) == 1
    assert [leaf.shape for leaf in covector.tree.leaves(residuals)] == [()]


@pytest.mark.parametrize(
    "call",
    [
        "jax.fwd_and_bwd(lambda a: a * 2, 5)[0](1.0)",
        "passes(lambda a: a * 2, 0, 3.0, ct=jnp.ones(3))",
        "passes(lambda a: a * 2, 0, 3.0, ct=1)",
        "passes(lambda a: a * 2, 0, 3.0, ct=(1.0, 1.0))",
        "jax.fwd_and_bwd(3, 0)",
    ],
)
def test_errors(oracle, call):
    oracle.compare_error(f"{SETUP}\n{call}")

"""`ravel_pytree` against the oracle: values, dtypes, the inverse, transformations and errors."""

import numpy as np
import pytest
from covector.flatten_util import ravel_pytree

PRELUDE = "from jax.flatten_util import ravel_pytree\n"

TREES = [
    "{}",
    "[None]",
    "3",
    "[1, 2.0, x]",
    "[1.0, 2.0]",
    "[1, 1j, True]",
    "{'w': x, 'b': (np.float32(7), None)}",
    "[np.zeros(0), np.zeros((2, 0))]",
    "[np.int8(1), np.int16([[2, 3]])]",
    "[True, False]",
    "[np.ones(2, np.uint8), np.float16(1)]",
    "[np.arange(3), np.float64(1)]",
]


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("x64", [False, True])
def test_ravel_and_unravel(oracle, tree, x64):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    session = oracle.using(x64=x64)
    session.compare(f"{PRELUDE}ravel_pytree({tree})[0]", x=x)
    session.compare(f"{PRELUDE}vector, unravel = ravel_pytree({tree})\nunravel(vector)", x=x)


@pytest.mark.parametrize(
    "snippet",
    [
        "ravel_pytree([1, 2])[1](x)",  # a tree of one dtype takes that of the vector
        "ravel_pytree([1, 2])[1](lax.reshape(x, (2, 1)))",
        "jax.jit(lambda t: ravel_pytree(t)[0])([1.0, x])",
        "jax.vmap(lambda t: ravel_pytree(t)[1](lax.neg(ravel_pytree(t)[0])))([x, x])",
        "jax.jacfwd(lambda t: ravel_pytree([t, lax.mul(t, t)])[0])(x)",
        "jax.jacrev(lambda t: ravel_pytree([t, lax.mul(t, t)])[0])(x)",
        "jax.jacrev(ravel_pytree([1.0, 2.0])[1])(x)",
    ],
)
def test_uses(oracle, snippet):
    oracle.compare(PRELUDE + snippet, x=np.float32([1.5, 2.5]))


@pytest.mark.parametrize(
    "snippet",
    [
        "ravel_pytree([1, 2.0])[1](x)",
        "ravel_pytree([1, 2.0])[1](np.int32([1, 2]))",
        "ravel_pytree(['text'])",
        "ravel_pytree([np.int32(1), np.ones(1, 'S1')])",
    ],
)
def test_errors(oracle, snippet):
    oracle.compare_error(PRELUDE + snippet, x=np.ones(3, np.float32))


def test_unravel_is_a_value():
    first, second, other = (ravel_pytree(tree)[1] for tree in ([1, 2.0], [3, 4.0], [3.0, 4.0]))
    assert first == second and hash(first) == hash(second)
    assert first != other
    assert repr(first) == "<unravel float32[2] to PyTreeDef([*, *])>"

"""Ten seconds over every package: the first tests to run, and the first to read.

They also run on the oldest jaxlib that is supported, where neither JAX nor hypothesis is installed.
"""

from __future__ import annotations

import subprocess
import sys

import covector as cv
import covector.numpy as jnp
import numpy as np
from covector import lax, random


def test_arrays_look_like_numpys():
    x = jnp.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(x.T @ np.ones((2, 1), np.float32), [[3], [5], [7]])
    np.testing.assert_array_equal(x.at[0, 1].set(9.0)[0], [0, 9, 2])
    assert f"{x[1, 2]:.2f}" == "5.00" and float(x.sum()) == 15.0
    assert jnp.sin(x).dtype == jnp.float32


def test_differentiate_compile_vectorize():
    def f(x):
        return jnp.sum(jnp.tanh(x) ** 2)

    x = np.linspace(-1, 1, 5, dtype=np.float32)
    slope = 2 * np.tanh(x) * (1 - np.tanh(x) ** 2)
    np.testing.assert_allclose(cv.grad(f)(x), slope, rtol=1e-5)
    np.testing.assert_allclose(cv.jit(cv.grad(f))(x), slope, rtol=1e-5)
    np.testing.assert_allclose(cv.vmap(cv.grad(jnp.tanh))(x), 1 - np.tanh(x) ** 2, rtol=1e-5)
    np.testing.assert_allclose(cv.hessian(f)(x), cv.jacrev(cv.jacfwd(f))(x), rtol=1e-4, atol=1e-6)


def test_control_flow():
    def power(x, n):
        return lax.fori_loop(0, n, lambda i, y: y * x, 1.0)

    assert float(power(2.0, 5)) == 32.0
    assert float(cv.grad(power)(2.0, 5)) == 80.0
    total, partial = lax.scan(lambda c, x: (c + x, c), 0.0, jnp.arange(4.0))
    assert float(total) == 6.0 and partial.tolist() == [0.0, 0.0, 1.0, 3.0]
    assert float(lax.cond(True, lambda x: x + 1, lambda x: x, 1.0)) == 2.0


def test_random_numbers():
    key, other = random.split(random.key(0))
    assert random.normal(key, (3,)).shape == (3,)
    assert not np.array_equal(random.uniform(key, (3,)), random.uniform(other, (3,)))
    np.testing.assert_array_equal(
        random.bits(key, (2,)), cv.jit(lambda k: random.bits(k, (2,)))(key)
    )


def test_parallel():
    n = min(2, cv.local_device_count())
    shares = cv.pmap(lambda x: x / lax.psum(x, "i"), axis_name="i")(jnp.ones((n, 1)))
    np.testing.assert_array_equal(shares, np.full((n, 1), 1 / n))


def test_scipy():
    from covector.scipy.special import logsumexp
    from covector.scipy.stats import norm

    np.testing.assert_allclose(logsumexp(jnp.zeros(4)), np.log(4.0), rtol=1e-6)
    np.testing.assert_allclose(norm.pdf(0.0), 0.39894228, rtol=1e-6)


def test_import_loads_neither_jax_nor_jaxlib():
    code = (
        "import sys, covector; "
        "assert not {'jaxlib', 'numpy', 'jax'} & set(sys.modules); "
        "import covector.numpy; covector.numpy.ones(3) + 1; "
        "assert 'jax' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)

"""Functions of `covector.numpy`, jitted, on about a million elements: against JAX, and NumPy."""

import numpy as np
from workload import Repeated

SIDE, COUNT = 1000, 1_000_000


def normal(*shape):
    return np.random.default_rng(0).standard_normal(shape, np.float32)


def integers(high, count):
    return np.random.default_rng(1).integers(0, high, count, np.int32)


LINE, PLANE = normal(COUNT), normal(SIDE, SIDE)
MATRIX = normal(200, 200)
SYMMETRIC = MATRIX @ MATRIX.T + 200 * np.eye(200, dtype=np.float32)

# Each is an expression of jnp (which is NumPy on the other side) and of the arrays that it names.
ARRAYS = {
    "x": LINE,
    "y": LINE[::-1].copy(),
    "positive": np.abs(LINE) + 1,
    "plane": PLANE,
    "mask": LINE > 5,  # no element holds
    "sparse": np.where(integers(2, COUNT) == 0, LINE, 0),
    "few": integers(1000, COUNT),
    "rows": integers(SIDE, COUNT // 10),
    "matrix": MATRIX,
    "symmetric": SYMMETRIC,
    "vector": PLANE[0].copy(),
    "sorted_line": np.sort(LINE),
    "waves": normal(1 << 18),
    "kernel": normal(64),
}
EXPRESSIONS = """
jnp.add(x, y)
jnp.multiply(x, y)
jnp.sqrt(positive)
jnp.exp(x)
jnp.log(positive)
jnp.sin(x)
jnp.tanh(x)
jnp.power(positive, y)
jnp.arctan2(x, y)
jnp.maximum(x, y)
jnp.where(x > 0, x, y)
jnp.sum(x)
jnp.max(x)
jnp.mean(plane, axis=0)
jnp.var(x)
jnp.argmax(x)
jnp.argmax(plane, axis=1)
jnp.any(mask)
jnp.count_nonzero(few)
jnp.cumsum(x)
jnp.maximum.accumulate(x)
jnp.diff(x)
jnp.sort(x)
jnp.sort(plane, axis=1)
jnp.argsort(x)
jnp.partition(x, 500000)
jnp.median(x)
jnp.percentile(x, 37.0)
jnp.unique(few, **SIZED)
jnp.nonzero(sparse, **SIZED)
jnp.searchsorted(sorted_line, y)
jnp.bincount(few, **LENGTH)
jnp.histogram(x, bins=100)
jnp.take(plane, rows, axis=0)
jnp.tile(vector, 1000)
jnp.repeat(vector, 1000)
jnp.concatenate([x, y])
jnp.stack([x, y])
jnp.roll(x, 1000)
jnp.flip(x)
jnp.transpose(plane) + 1
jnp.pad(plane, 1)
jnp.interp(y, sorted_line, x)
jnp.convolve(waves, kernel)
jnp.outer(vector, vector)
jnp.inner(x, y)
plane @ vector
matrix @ matrix
jnp.einsum('ij,kj->ik', matrix, matrix)
jnp.linalg.inv(symmetric)
jnp.linalg.cholesky(symmetric)
jnp.linalg.eigh(symmetric)
jnp.linalg.svd(matrix)
jnp.linalg.solve(symmetric, matrix)
jnp.linalg.norm(plane)
"""
# What results have no fixed size need told to a compiled function.
SIZES = {
    "jnp.unique": {"size": 1000},
    "jnp.nonzero": {"size": int(np.count_nonzero(ARRAYS["sparse"]))},
    "jnp.bincount": {"length": 1000},
}
NUMPYS = {"jnp.bincount": {"minlength": 1000}}


def compiled(expression):
    function = expression.partition("(")[0]
    names = [name for name in ARRAYS if name in _words(expression)]

    def setup(ns):
        sizes = (NUMPYS if ns.implementation == "numpy" else SIZES).get(function, {})
        scope = {"jnp": ns.jnp, "SIZED": sizes, "LENGTH": sizes}
        f = eval(f"lambda {', '.join(names)}: {expression}", scope)
        f = f if ns.implementation == "numpy" else ns.jax.jit(f)
        return {"f": f, "arrays": [ns.array(ARRAYS[name]) for name in names]}

    return setup


def _words(expression):
    return "".join(c if c.isalnum() or c == "_" else " " for c in expression).split()


WORKLOADS = [
    Repeated(f"{e}{against}", bar, compiled(e), "f(*arrays)", "0", {}, baseline, 4)
    for e in EXPRESSIONS.strip().splitlines()
    for against, baseline, bar in (("", "jax", 1.05), (", against NumPy", "numpy", 1.2))
]

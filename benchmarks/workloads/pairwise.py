"""Distances between all pairs of 10,000 points in the plane, in double precision."""

import numpy as np
from workload import Repeated


def points(ns):
    def distances(x):
        return ns.jnp.sqrt(ns.jnp.sum((x.reshape(-1, 1, 2) - x.reshape(1, -1, 2)) ** 2, axis=-1))

    f = distances if ns.implementation == "numpy" else ns.jax.jit(distances)
    return {"f": f, "x": ns.array(np.random.default_rng(0).standard_normal((10_000, 2)))}


COMMON = {
    "setup": points,
    "statement": "f(x)",
    "result": "result[::97, ::89]",
    "flags": {"jax_enable_x64": True},
}

WORKLOADS = [
    Repeated("pairwise distances, jitted, 10,000 points, float64", 1.0, rounds=7, **COMMON),
    Repeated(
        "pairwise distances, jitted, against NumPy", 0.1, baseline="numpy", rounds=3, **COMMON
    ),
]

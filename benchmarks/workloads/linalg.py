"""Factorizations of a matrix by LAPACK, which both sides call: the bar is 1, and some noise."""

import numpy as np
from workload import Repeated


def matrix(ns):
    """A well-conditioned matrix of 200 by 200, and its symmetric part."""
    x = np.random.default_rng(0).standard_normal((200, 200)).astype(np.float32)
    x += 20 * np.eye(200, dtype=np.float32)
    return {"linalg": ns.jnp.linalg, "x": ns.array(x), "symmetric": ns.array(x + x.T)}


def gradient(ns):
    """The gradient of a function of the factors of 8 matrices of 50 by 50."""

    def f(x):
        q, r = ns.jnp.linalg.qr(x)
        return (r**2 * q).sum()

    x = np.random.default_rng(0).standard_normal((8, 50, 50)).astype(np.float32)
    return {"f": ns.jax.jit(ns.jax.grad(f)), "x": ns.array(x)}


WORKLOADS = [
    Repeated("linalg: svd of 200 x 200", 1.05, matrix, "linalg.svd(x)", "result[1]"),
    Repeated("linalg: eigh of 200 x 200", 1.05, matrix, "linalg.eigh(symmetric)", "result[0]"),
    Repeated("linalg: qr of 200 x 200", 1.05, matrix, "linalg.qr(x)"),
    Repeated("linalg: inv of 200 x 200", 1.05, matrix, "linalg.inv(x)"),
    Repeated("linalg: gradient of qr of 8 x 50 x 50", 1.05, gradient, "f(x)"),
]

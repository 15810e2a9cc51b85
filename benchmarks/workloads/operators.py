"""Operators on arrays of a million elements or so, jitted."""

import numpy as np
from workload import Repeated

COUNT = 1_000_000


def normal(*shape):
    return np.random.default_rng(0).standard_normal(shape, np.float32)


def jitted(function, *arguments):
    """A workload's setup: ``function(ns, *arrays)``, compiled."""

    def setup(ns):
        f = ns.jax.jit(lambda *args: function(ns, *args))
        return {"f": f, "args": [ns.array(x) for x in arguments]}

    return setup


def convolve(ns, images, kernels):
    return ns.lax.conv_general_dilated(
        images, kernels, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def scatter_add(ns, table, where, updates):
    return table.at[where].add(updates)


WHERE = np.random.default_rng(1).integers(0, 1000, 200_000, np.int32)

CASES = [
    # name, bar, function, arguments
    ("cumsum of 1e6", 1.0, lambda ns, x: ns.jnp.cumsum(x), normal(COUNT)),
    ("sort of 1e6", 0.3, lambda ns, x: ns.jnp.sort(x), normal(COUNT)),
    ("argsort of 1e6", 0.3, lambda ns, x: ns.jnp.argsort(x), normal(COUNT)),
    ("argmax of 1e6", 0.2, lambda ns, x: ns.jnp.argmax(x), normal(COUNT)),
    ("atan2 of 1e6", 0.15, lambda ns, x, y: ns.jnp.arctan2(x, y), normal(COUNT), normal(COUNT)),
    ("exp of 1e6", 1.0, lambda ns, x: ns.jnp.exp(x), normal(COUNT)),
    ("log of 1e6", 1.0, lambda ns, x: ns.jnp.log(x), np.abs(normal(COUNT))),
    ("tanh of 1e6", 1.0, lambda ns, x: ns.jnp.tanh(x), normal(COUNT)),
    ("convolution", 1.0, convolve, normal(8, 32, 32, 16), normal(3, 3, 16, 32)),
    (
        "scatter-add of 2e5 into 1e3",
        1.0,
        scatter_add,
        np.zeros(1000, np.float32),
        WHERE,
        normal(WHERE.size),
    ),
]

WORKLOADS = [
    Repeated(name, bar, jitted(function, *arguments), "f(*args)", "result", rounds=9)
    for name, bar, function, *arguments in CASES
]

"""Calls of compiled functions that compute next to nothing."""

from workload import Repeated


def two_arguments(ns):
    @ns.jax.jit
    def f(x, y):
        return x * y + 1.0

    return {"f": f, "x": ns.jnp.arange(3.0), "y": ns.jnp.ones(3)}


def large_tree(ns):
    """A tree of 200 leaves, shaped like the parameters of a network, through one function."""

    @ns.jax.jit
    def f(tree):
        return [{name: leaf + 1.0 for name, leaf in layer.items()} for layer in tree]

    layer = {"weights": ns.jnp.ones((2, 2)), "bias": ns.jnp.zeros(2)}
    return {"f": f, "tree": [dict(layer) for _ in range(100)]}


WORKLOADS = [
    Repeated("jitted two-argument function", 1.05, two_arguments, "f(x, y)"),
    Repeated("jitted tree of 200 leaves", 1.05, large_tree, "f(tree)"),
]

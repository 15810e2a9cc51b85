"""Single operations on three elements: what is timed is the way to the runtime and back."""

from workload import Repeated


def two_vectors(ns):
    return {"jnp": ns.jnp, "x": ns.jnp.arange(3.0), "y": ns.jnp.ones(3)}


WORKLOADS = [
    Repeated("eager x + y", 1.1, two_vectors, "x + y"),
    Repeated("eager jnp.sum(x)", 1.1, two_vectors, "jnp.sum(x)"),
    Repeated("eager jnp.sin(x)", 1.1, two_vectors, "jnp.sin(x)"),
    Repeated("eager x[0]", 0.35, two_vectors, "x[0]"),
    Repeated("eager x[1:]", 0.35, two_vectors, "x[1:]"),
]

"""Single operations on three elements: what is timed is the way to the runtime and back."""

from workload import Repeated


def two_vectors(ns):
    return {"jnp": ns.jnp, "x": ns.jnp.arange(3.0), "y": ns.jnp.ones(3)}


FUNCTIONS = {
    "jnp.zeros(3)": 0.4,
    "jnp.asarray([1.0, 2.0])": 0.4,
    "float(x[0])": 0.4,
    "x.at[0].set(1.0)": 0.4,
    "jnp.einsum('i,i->', x, y)": 0.4,
    "jnp.stack([x, y])": 0.4,
    "jnp.concatenate([x, y])": 0.4,
    "jnp.maximum(x, y)": 1.0,
    "jnp.where(x > 1, x, y)": 1.0,
    "jnp.mean(x)": 1.0,
    "jnp.dot(x, y)": 1.0,
    "x.reshape(3, 1)": 1.0,
    "x.astype(int)": 1.0,
    "jnp.arange(3)": 1.0,
    "jnp.linspace(0.0, 1.0, 3)": 1.0,
    "jnp.linalg.norm(x)": 1.0,
    "-x": 1.0,
    "x > y": 1.0,
    "x ** 2": 1.0,
    "x.T": 1.0,
    "x @ y": 1.0,
    "jnp.cumsum(x)": 1.0,
    "jnp.sort(x)": 1.0,
    "jnp.argmax(x)": 1.0,
    "jnp.clip(x, 0, 1)": 1.0,
    "jnp.squeeze(x)": 1.0,
    "jnp.broadcast_to(x, (2, 3))": 1.0,
    "jnp.take(x, 1)": 1.0,
    "jnp.outer(x, y)": 1.0,
}

WORKLOADS = [
    Repeated("eager x + y", 1.1, two_vectors, "x + y"),
    Repeated("eager jnp.sum(x)", 1.1, two_vectors, "jnp.sum(x)"),
    Repeated("eager jnp.sin(x)", 1.1, two_vectors, "jnp.sin(x)"),
    Repeated("eager x[0]", 0.35, two_vectors, "x[0]"),
    Repeated("eager x[1:]", 0.35, two_vectors, "x[1:]"),
    *[Repeated(f"eager {e}", bar, two_vectors, e) for e, bar in FUNCTIONS.items()],
]

"""The start of a new process. The first, untimed run leaves compiled bytecode behind, and whatever
an implementation caches on disk by default.
"""

from workload import Started

WORKLOADS = [
    Started("import covector", 0.06, "import jax"),
    Started("import covector.numpy", 0.3, "import jax.numpy"),
    Started(
        "first result of jnp.ones(3) + 1",
        0.35,
        "import jax.numpy as jnp; print(jnp.ones(3) + 1)",
    ),
]

"""The start of a new process. The first, untimed run leaves compiled bytecode behind, and whatever
an implementation caches on disk by default.
"""

from workload import Started

# What an implementation does not cache by default, it is asked to.
FIRST_CALLS = """
import os, tempfile
import jax, jax.numpy as jnp

folder = os.path.join(tempfile.gettempdir(), "first-calls-of-jax")
jax.config.update("jax_compilation_cache_dir", folder)
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
x, m = jnp.arange(3.0), jnp.eye(3)
results = [
    x + x, x * 2, x - 1, x / 2, x**2, -x, x > 1, x @ x, m.T, x[0], x[1:], x.at[0].set(1.0),
    jnp.sum(x), jnp.mean(x), jnp.max(x), jnp.exp(x), jnp.sin(x), jnp.sqrt(x), jnp.dot(m, x),
    jnp.where(x > 1, x, 0), jnp.concatenate([x, x]), jnp.stack([x, x]), jnp.linspace(0, 1, 3),
    jnp.argmax(x),
    jnp.sort(x), jnp.cumsum(x), jnp.clip(x, 0, 1), x.reshape(3, 1), jnp.maximum(x, 1), jnp.var(x),
]
print(sum(float(jnp.sum(r)) for r in results if r.dtype == x.dtype))
"""

WORKLOADS = [
    Started("import covector", 0.06, "import jax"),
    Started("import covector.numpy", 0.3, "import jax.numpy"),
    Started(
        "first result of jnp.ones(3) + 1",
        0.35,
        "import jax.numpy as jnp; print(jnp.ones(3) + 1)",
    ),
    Started("first calls of 30 functions, cached on disk", 0.3, FIRST_CALLS),
]

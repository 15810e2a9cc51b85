"""Random numbers: draws of many numbers, small eager draws, and compiling."""

import time

from workload import Repeated, Staged

# statement, the bar of its time, of `key` and `logits`
LARGE = {
    "random.bits(key, (10_000_000,))": 0.45,
    "random.normal(key, (10_000_000,))": 0.45,
    "random.uniform(key, (10_000_000,))": 0.5,
    "random.permutation(key, 1_000_000)": 0.9,
    "random.categorical(key, logits)": 0.9,
    "random.gamma(key, 2.5, (1_000_000,))": 0.9,
    "random.split(key, 1_000_000)": 0.9,
}
SMALL = {
    "random.split(key)": 0.5,
    "random.fold_in(key, 3)": 0.5,
    "random.normal(key, (3,))": 0.5,
}

# Distributions whose compile time alone is compared. (All others are made of the same parts.)
COMPILED = [
    "random.truncated_normal(key, -1.0, 2.0, (10_000,))",
    "random.gumbel(key, (10_000,), mode='high')",
    "random.cauchy(key, (10_000,))",
    "random.wald(key, 2.0, (10_000,))",
    "random.maxwell(key, (10_000,))",
    "random.randint(key, (10_000,), 0, 10)",
    "random.poisson(key, 4.0, (10_000,))",
    "random.poisson(key, 4.0, (10_000,), method='approximate')",
    "random.binomial(key, 100.0, 0.3, (10_000,))",
    "random.gamma(key, 2.5, (10_000,), method='approximate')",
]


def variables(ns):
    return {
        "random": ns.random,
        "key": ns.random.PRNGKey(0),
        "logits": ns.jnp.zeros((100_000, 100)),
    }


def compiling(statement):
    """The time from a function to its executable."""

    def run(ns):
        ns.jax.clear_caches()
        known = variables(ns)
        draw = ns.jax.jit(lambda key: eval(statement, known, {"key": key}))
        start = time.perf_counter()
        compiled = draw.lower(known["key"]).compile()
        return {name: time.perf_counter() - start}, compiled(known["key"])[::9973]

    name = f"compile {statement}"
    return Staged(name, {name: 1.0}, run, flags={"jax_enable_compilation_cache": False})


WORKLOADS = [
    *[
        Repeated(statement, bar, variables, statement, result="result[::9973]", rounds=5)
        for statement, bar in LARGE.items()
    ],
    *[Repeated(statement, bar, variables, statement) for statement, bar in SMALL.items()],
    *[compiling(statement) for statement in [*LARGE, *COMPILED]],
]

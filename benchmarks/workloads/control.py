"""Control flow: a recurrent network by `scan`, and how long each construct takes to trace."""

import numpy as np
from workload import Repeated

STEPS, UNITS, BATCH = 2000, 32, 4


def recurrent(gradient):
    def setup(ns):
        jnp = ns.jnp
        draw = np.random.default_rng(0).standard_normal

        def loss(parameters, inputs):
            weights, inner, bias = parameters

            def step(state, x):
                return jnp.tanh(x @ weights + state @ inner + bias), None

            state, _ = ns.lax.scan(step, jnp.zeros((BATCH, UNITS)), inputs)
            return jnp.mean(state**2)

        parameters = [jnp.asarray(draw((UNITS, UNITS), np.float32) / 8) for _ in range(2)]
        parameters.append(jnp.zeros(UNITS))
        inputs = jnp.asarray(draw((STEPS, BATCH, UNITS), np.float32))
        f = ns.jax.jit(ns.jax.grad(loss) if gradient else loss)
        return {"f": f, "parameters": parameters, "inputs": inputs}

    return setup


def constructs(ns):
    """Functions with one construct each, of a body of some ten operations."""
    jnp, lax = ns.jnp, ns.lax

    def body(x):
        for _ in range(5):
            x = jnp.sin(x) * x + 1.0
        return x

    return {
        "cond": lambda x: lax.cond(x[0] > 0, body, lambda x: -body(x), x),
        "switch": lambda x: lax.switch(2, [body, jnp.cos, lambda x: -body(x)], x),
        "while_loop": lambda x: lax.while_loop(lambda x: x[0] < 5, body, x),
        "fori_loop": lambda x: lax.fori_loop(0, 5, lambda i, x: body(x), x),
        "scan": lambda x: lax.scan(lambda c, y: (body(c), y), x, x)[0],
        "map": lambda x: lax.map(body, x),
        "associative_scan": lambda x: lax.associative_scan(lambda a, b: body(a) + b, x),
    }


def traced(name):
    """The construct is staged anew each time: the function and the body are new objects."""

    def setup(ns):
        x = ns.jnp.ones(8)
        return {"stage": lambda: ns.jax.make_jaxpr(constructs(ns)[name])(x)}

    return setup


NAMES = ["cond", "switch", "while_loop", "fori_loop", "scan", "map", "associative_scan"]

WORKLOADS = [
    Repeated(f"scan of {STEPS} recurrent steps", 1.0, recurrent(False), "f(parameters, inputs)"),
    Repeated(
        f"gradient through {STEPS} recurrent steps", 1.0, recurrent(True), "f(parameters, inputs)"
    ),
    *[Repeated(f"tracing of {n}", 0.5, traced(n), "stage()", "0") for n in NAMES],
]

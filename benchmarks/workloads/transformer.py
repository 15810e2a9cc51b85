"""A training step of a language model: 24 transformer layers, written out one after the other.

Width 64, 4 heads, 16 tokens. What takes time is the way to a compiled program, stage by stage. Each
round starts from empty caches, in memory and on disk, with new function objects.
"""

import time

import numpy as np
from workload import Staged

LAYERS, WIDTH, HEADS, TOKENS, VOCABULARY = 24, 64, 4, 16, 128
CALLS = 20


def parameters_of():
    """Random parameters, as NumPy arrays."""
    rng = np.random.default_rng(0)

    def draw(*shape):
        return rng.standard_normal(shape, np.float32) * np.float32(0.5 / shape[0] ** 0.5)

    def layer():
        return {
            "attention": {
                "scale": np.ones(WIDTH, np.float32),
                "query_key_value": draw(WIDTH, 3 * WIDTH),
                "out": draw(WIDTH, WIDTH),
            },
            "feed_forward": {
                "scale": np.ones(WIDTH, np.float32),
                "up": draw(WIDTH, 4 * WIDTH),
                "up_bias": np.zeros(4 * WIDTH, np.float32),
                "down": draw(4 * WIDTH, WIDTH),
                "down_bias": np.zeros(WIDTH, np.float32),
            },
        }

    return {
        "embedding": draw(VOCABULARY, WIDTH),
        "position": draw(TOKENS, WIDTH),
        "layers": [layer() for _ in range(LAYERS)],
        "scale": np.ones(WIDTH, np.float32),
    }


def new_loss(ns):
    """Make the loss out of function objects that no cache knows."""
    jnp = ns.jnp

    def normalize(x, scale):
        centered = x - jnp.mean(x, axis=-1, keepdims=True)
        variance = jnp.mean(centered**2, axis=-1, keepdims=True)
        return centered / jnp.sqrt(variance + 1e-5) * scale

    def softmax(x):
        powers = jnp.exp(x - jnp.max(x, axis=-1, keepdims=True))
        return powers / jnp.sum(powers, axis=-1, keepdims=True)

    def attention(p, x):
        heads = (normalize(x, p["scale"]) @ p["query_key_value"]).reshape(TOKENS, 3, HEADS, -1)
        query, key, value = (heads[:, i].transpose(1, 0, 2) for i in range(3))
        scores = query @ key.transpose(0, 2, 1) / (WIDTH / HEADS) ** 0.5
        causal = np.tril(np.ones((TOKENS, TOKENS), bool))
        weights = softmax(jnp.where(causal, scores, -1e9))
        return (weights @ value).transpose(1, 0, 2).reshape(TOKENS, WIDTH) @ p["out"]

    def feed_forward(p, x):
        up = normalize(x, p["scale"]) @ p["up"] + p["up_bias"]
        gelu = 0.5 * up * (1.0 + jnp.tanh(0.7978845608 * (up + 0.044715 * up**3)))
        return gelu @ p["down"] + p["down_bias"]

    def loss(parameters, tokens, targets):
        x = parameters["embedding"][tokens] + parameters["position"]
        for layer in parameters["layers"]:
            x = x + attention(layer["attention"], x)
            x = x + feed_forward(layer["feed_forward"], x)
        logits = normalize(x, parameters["scale"]) @ parameters["embedding"].T
        logits = logits - jnp.max(logits, axis=-1, keepdims=True)
        log_probabilities = logits - jnp.log(jnp.sum(jnp.exp(logits), axis=-1, keepdims=True))
        return -jnp.mean(log_probabilities[np.arange(TOKENS), targets])

    return loss


def timed(seconds, stage, function, *args):
    start = time.perf_counter()
    result = function(*args)
    seconds[stage] = time.perf_counter() - start
    return result


def training_step(ns):
    ns.jax.clear_caches()
    rng = np.random.default_rng(1)
    tokens, targets = rng.integers(0, VOCABULARY, (2, TOKENS), np.int32)
    args = ns.jax.device_put((parameters_of(), tokens, targets))
    ns.wait(args)

    def new_step():
        return ns.jax.jit(ns.jax.value_and_grad(new_loss(ns)))

    seconds = {}
    traced = timed(seconds, TRACE, new_step().trace, *args)
    timed(seconds, TRACE_AGAIN, new_step().trace, *args)
    lowered = timed(seconds, LOWER, traced.lower)
    compiled = timed(seconds, COMPILE, lowered.compile)
    result = ns.wait(compiled(*args))
    seconds[RUN] = min(timed({}, RUN, call_seconds, ns, compiled, args) for _ in range(CALLS))
    loss, gradients = result
    return seconds, [loss, gradients["embedding"], gradients["layers"][0]["attention"]["out"]]


def call_seconds(ns, function, args):
    start = time.perf_counter()
    ns.wait(function(*args))
    return time.perf_counter() - start


STEP = "jit(value_and_grad(24-layer transformer loss))"
TRACE = f"{STEP}.trace(...)"
TRACE_AGAIN = f"{STEP}.trace(...), of a new closure"
LOWER = f"{STEP}.lower()"
COMPILE = f"{STEP}.compile()"
RUN = f"{STEP} run"

WORKLOADS = [
    Staged(
        "transformer",
        {TRACE: 0.3, TRACE_AGAIN: 0.3, LOWER: 0.5, COMPILE: 0.35, RUN: 0.8},
        training_step,
        flags={"jax_enable_compilation_cache": False},
    )
]

"""A training step of a language model: 24 transformer layers, written out one after the other.

Width 64, 4 heads, 16 tokens. What takes time is the way to a compiled program, stage by stage. Each
round starts from empty caches, in memory and on disk, with new function objects.

Two models, because the way a layer is written decides what JAX's compiler makes of it. The first is
GPT-2's layer with a normalization by `jnp.mean` and `jnp.var`, which read the residual stream one
by one: XLA computes the stream anew in each reader, and works for a minute. The second centers
once and takes the variance of that (and has hardly a bias): fewer readers, some ten seconds. It is
the readers that count, not the biases: GPT-2's layer with the second normalization is as quick.
"""

import time
from functools import partial

import numpy as np
from workload import Staged

LAYERS, WIDTH, HEADS, TOKENS, VOCABULARY = 24, 64, 4, 16, 128
CALLS = 20


def parameters_of(biased):
    """Random parameters, as NumPy arrays."""
    rng = np.random.default_rng(0)

    def draw(*shape):
        return rng.standard_normal(shape, np.float32) * np.float32(0.5 / shape[0] ** 0.5)

    def dense(inputs, outputs, bias):
        weights = {"weights": draw(inputs, outputs)}
        return weights | ({"bias": np.zeros(outputs, np.float32)} if bias else {})

    def norm():
        scale = {"scale": np.ones(WIDTH, np.float32)}
        return scale | ({"bias": np.zeros(WIDTH, np.float32)} if biased else {})

    def layer():
        return {
            "attention_norm": norm(),
            "query_key_value": dense(WIDTH, 3 * WIDTH, biased),
            "out": dense(WIDTH, WIDTH, biased),
            "feed_forward_norm": norm(),
            "up": dense(WIDTH, 4 * WIDTH, True),
            "down": dense(4 * WIDTH, WIDTH, True),
        }

    return {
        "embedding": draw(VOCABULARY, WIDTH),
        "position": draw(TOKENS, WIDTH),
        "layers": [layer() for _ in range(LAYERS)],
        "norm": norm(),
    }


def new_loss(ns):
    """Make the loss out of function objects that no cache knows."""
    jnp, lax = ns.jnp, ns.lax

    def normalize(p, x):
        mean = jnp.mean(x, axis=-1, keepdims=True)
        if "bias" in p:
            variance = jnp.var(x, axis=-1, keepdims=True)
            return (x - mean) / jnp.sqrt(variance + 1e-5) * p["scale"] + p["bias"]
        centered = x - mean
        variance = jnp.mean(centered**2, axis=-1, keepdims=True)
        return centered / jnp.sqrt(variance + 1e-5) * p["scale"]

    def dense(p, x):
        return x @ p["weights"] + p["bias"] if "bias" in p else x @ p["weights"]

    def softmax(x):
        powers = jnp.exp(x - lax.stop_gradient(jnp.max(x, axis=-1, keepdims=True)))
        return powers / jnp.sum(powers, axis=-1, keepdims=True)

    def attention(p, x):
        heads = dense(p["query_key_value"], x).reshape(TOKENS, 3, HEADS, -1)
        query, key, value = (heads[:, i].transpose(1, 0, 2) for i in range(3))
        scores = query @ key.transpose(0, 2, 1) / (WIDTH / HEADS) ** 0.5
        causal = np.tril(np.ones((TOKENS, TOKENS), bool))
        weights = softmax(jnp.where(causal, scores, -1e9))
        return dense(p["out"], (weights @ value).transpose(1, 0, 2).reshape(TOKENS, WIDTH))

    def feed_forward(p, x):
        up = dense(p["up"], x)
        gelu = 0.5 * up * (1.0 + jnp.tanh(0.7978845608 * (up + 0.044715 * up**3)))
        return dense(p["down"], gelu)

    def loss(parameters, tokens, targets):
        x = parameters["embedding"][tokens] + parameters["position"]
        for layer in parameters["layers"]:
            x = x + attention(layer, normalize(layer["attention_norm"], x))
            x = x + feed_forward(layer, normalize(layer["feed_forward_norm"], x))
        logits = normalize(parameters["norm"], x) @ parameters["embedding"].T
        logits = logits - lax.stop_gradient(jnp.max(logits, axis=-1, keepdims=True))
        log_probabilities = logits - jnp.log(jnp.sum(jnp.exp(logits), axis=-1, keepdims=True))
        return -jnp.mean(log_probabilities[np.arange(TOKENS), targets])

    return loss


def timed(seconds, stage, function, *args):
    start = time.perf_counter()
    result = function(*args)
    seconds[stage] = time.perf_counter() - start
    return result


def training_step(ns, step, biased):
    ns.jax.clear_caches()
    rng = np.random.default_rng(1)
    tokens, targets = rng.integers(0, VOCABULARY, (2, TOKENS), np.int32)
    args = ns.jax.device_put((parameters_of(biased), tokens, targets))
    ns.wait(args)

    def new_step():
        return ns.jax.jit(ns.jax.value_and_grad(new_loss(ns)))

    seconds = {}
    traced = timed(seconds, f"{step}.trace(...)", new_step().trace, *args)
    timed(seconds, f"{step}.trace(...), of a new closure", new_step().trace, *args)
    lowered = timed(seconds, f"{step}.lower()", traced.lower)
    compiled = timed(seconds, f"{step}.compile()", lowered.compile)
    loss, gradients = ns.wait(compiled(*args))
    seconds[f"{step} run"] = min(call_seconds(ns, compiled, args) for _ in range(CALLS))
    out = gradients["layers"][0]["out"]["weights"]
    return seconds, [loss, gradients["embedding"], out]


def call_seconds(ns, function, args):
    start = time.perf_counter()
    ns.wait(function(*args))
    return time.perf_counter() - start


BARS = {
    ".trace(...)": 0.3,
    ".trace(...), of a new closure": 0.3,
    ".lower()": 0.5,
    ".compile()": 0.35,
    " run": 0.8,
}


def model(name, loss, biased):
    step = f"jit(value_and_grad({loss}))"
    return Staged(
        name,
        {step + stage: bar for stage, bar in BARS.items()},
        partial(training_step, step=step, biased=biased),
        flags={"jax_enable_compilation_cache": False},
        rounds=2,
    )


WORKLOADS = [
    model("transformer", "24-layer transformer loss", True),
    model("transformer without biases", "24-layer loss without biases", False),
]

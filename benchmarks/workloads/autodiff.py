"""Derivatives without ``jit``."""

import numpy as np
from workload import Repeated


def sigmoid_of(ns):
    def sigmoid(x):
        return 1.0 / (1.0 + ns.jnp.exp(-x))

    return sigmoid


def gradient(ns):
    return {"g": ns.jax.grad(sigmoid_of(ns))}


def third_derivative(ns):
    grad = ns.jax.grad
    return {"g": grad(grad(grad(sigmoid_of(ns))))}


def gradients_of_points(ns):
    g = ns.jax.vmap(ns.jax.grad(sigmoid_of(ns)))
    return {"g": g, "x": ns.jnp.linspace(-5.0, 5.0, 1000)}


def three_layers(ns):
    """The gradient of a network of three layers at a batch of 32, with respect to its weights."""
    jnp = ns.jnp
    draw = np.random.default_rng(0).standard_normal
    sizes = [(64, 128), (128, 128), (128, 10)]

    def loss(parameters, x, y):
        *hidden, (last_weights, last_bias) = parameters
        for weights, bias in hidden:
            x = jnp.tanh(x @ weights + bias)
        return jnp.mean((x @ last_weights + last_bias - y) ** 2)

    parameters = [
        (jnp.asarray(draw(size, np.float32) / 8), jnp.asarray(draw(size[1], np.float32)))
        for size in sizes
    ]
    x, y = jnp.asarray(draw((32, 64), np.float32)), jnp.asarray(draw((32, 10), np.float32))
    return {"g": ns.jax.grad(loss), "parameters": parameters, "x": x, "y": y}


def many_variables(transform):
    """A transformation of Rosenbrock's function in 50 variables."""

    def setup(ns):
        def rosenbrock(x):
            return ns.jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)

        def residuals(x):
            return ns.jnp.concatenate([10.0 * (x[1:] - x[:-1] ** 2), 1.0 - x[:-1]])

        functions = {"jacfwd": residuals, "hessian": rosenbrock}
        g = getattr(ns.jax, transform)(functions[transform])
        return {"g": g, "x": ns.jnp.linspace(-1.0, 1.0, 50)}

    return setup


WORKLOADS = [
    Repeated("eager grad(sigmoid)(0.01)", 0.1, gradient, "g(0.01)"),
    Repeated("eager third derivative", 0.15, third_derivative, "g(0.01)"),
    Repeated("eager vmap(grad(sigmoid)) of 1,000 points", 0.1, gradients_of_points, "g(x)"),
    Repeated("eager grad of a 3-layer MLP", 0.15, three_layers, "g(parameters, x, y)"),
    Repeated("eager jacfwd in 50 variables", 0.15, many_variables("jacfwd"), "g(x)"),
    Repeated("eager hessian in 50 variables", 0.15, many_variables("hessian"), "g(x)"),
]

"""Initializers: the same numbers as the oracle's, their statistics, and errors."""

import inspect

import covector
import covector.numpy as jnp
import numpy as np
import pytest
from covector import nn, random

from nn.inputs import compare_all, compare_errors

MEMBERS = ["glorot_normal", "glorot_uniform", "he_normal", "he_uniform", "lecun_normal"]
MEMBERS += ["lecun_uniform"]


def drawn(calls, argument="2.0"):
    """A snippet of one program, of a key and a number."""
    calls = ", ".join(f"nn.initializers.{call}" for call in calls)
    return f"jax.jit(lambda key, s: [{calls}])(jax.random.key(7), {argument})"


def test_numbers(oracle):
    """Equal bits are drawn; what is made of them may be rounded in another order."""
    calls = [f"{name}()(key, (4, 3))" for name in MEMBERS]
    calls += [
        "zeros(key, (2, 3), 'bfloat16')",
        "ones(key, 3, int)",
        "constant(5)(key, (2, 3))",
        "constant(5, int)(key, (2,))",
        "constant(jnp.arange(3), 'bfloat16')(key, (2, 3), float)",
        "uniform()(key, (2, 3))",
        "uniform(2, 'bfloat16')(key, (5,))",
        "normal()(key, (2, 3))",
        "normal(1, 'float16')(key, 4)",
        "normal(2.0, complex)(key, (2, 3))",
        "normal(s)(key, (2,))",
        "normal()(jax.random.PRNGKey(1), (2,))",
        "truncated_normal(2, lower=-1, upper=0.5)(key, (2, 3))",
        "glorot_normal(0, (1, 2))(key, (5, 2, 3))",
        "he_uniform((0, 1), 2, 3)(key, (3, 4, 5, 2))",
        "lecun_normal(dtype=complex)(key, (4, 3))",
        "lecun_uniform(dtype=complex)(key, (4, 3))",
        "variance_scaling(s, 'fan_out', 'normal')(key, (4, 3))",
        "variance_scaling(1, 'fan_geo_avg', 'uniform')(key, (4, 3))",
        "variance_scaling(1, 'fan_in', 'truncated_normal', dtype='bfloat16')(key, (4, 3))",
        "variance_scaling(0, 'fan_in', 'uniform')(key, (0, 3))",
        "variance_scaling(1, 'fan_in', 'normal', (), ())(key, (4, 3))",
    ]
    compare_all(oracle, drawn(calls), rtol={"float32": 1e-6, "bfloat16": 0.008}, atol=1e-7)


def test_bits_are_equal_without_a_program(oracle):
    for call in ("normal(0.5)", "he_uniform()"):
        oracle.compare(f"nn.initializers.{call}(jax.random.key(3), (5, 2))", exact=True)


def test_a_derivative_in_a_parameter(oracle):
    call = "jax.grad(lambda s: nn.initializers.uniform(s)(jax.random.key(7), ()))(2.0)"
    oracle.compare(call, rtol=1e-6)


def test_orthogonal_numbers(oracle):
    calls = [
        "orthogonal()(key, (3, 5))",
        "orthogonal(2.0)(key, (5, 3))",
        "orthogonal(s, 0)(key, (2, 3, 4))",
        "orthogonal(dtype=complex)(key, (4, 3))",
        "delta_orthogonal()(key, (3, 3, 2, 4))",
        "delta_orthogonal(2.0, 0)(key, (4, 3, 3))",
        "delta_orthogonal()(key, (1, 2, 3, 2, 2))",
    ]
    compare_all(oracle, drawn(calls), rtol=1e-4, atol=2e-6)


@pytest.mark.parametrize("shape, axis", [((3, 5), -1), ((2, 3, 4), 0)])
def test_orthogonal(shape, axis):
    x = np.asarray(nn.initializers.orthogonal(2.0, axis)(random.key(3), shape))
    x = np.moveaxis(x, axis, -1).reshape(-1, shape[axis])
    x = x if x.shape[0] >= x.shape[1] else x.T
    np.testing.assert_allclose(x.T @ x, 4 * np.eye(x.shape[1]), atol=1e-5)


@pytest.mark.parametrize("distribution", ["normal", "truncated_normal", "uniform"])
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_variance(distribution, dtype):
    x = nn.initializers.variance_scaling(2.0, "fan_in", distribution)(
        random.key(0), (400, 100), dtype
    )
    np.testing.assert_allclose(jnp.mean(jnp.abs(x) ** 2), 2.0 / 400, rtol=0.02)
    np.testing.assert_allclose(abs(jnp.mean(x)), 0.0, atol=1e-3)


def test_all_are_initializers():
    wanted = list(inspect.signature(nn.initializers.Initializer.__call__).parameters)[1:]
    functions = [getattr(nn.initializers, name)() for name in MEMBERS]
    functions += [nn.initializers.zeros, nn.initializers.ones, nn.initializers.constant(1)]
    functions += [nn.initializers.orthogonal(), nn.initializers.delta_orthogonal()]
    functions += [nn.initializers.normal(), nn.initializers.uniform()]
    functions += [nn.initializers.truncated_normal()]
    for function in functions:
        assert list(inspect.signature(function).parameters) == wanted
    assert nn.initializers.kaiming_normal is nn.initializers.he_normal
    assert nn.initializers.xavier_uniform is nn.initializers.glorot_uniform


def test_mapped_over_keys():
    keys = random.split(random.key(0), 3)
    initializer = nn.initializers.he_normal()
    mapped = covector.vmap(lambda key: initializer(key, (4, 3)))(keys)
    each = np.stack([initializer(key, (4, 3)) for key in keys])
    np.testing.assert_allclose(mapped, each, rtol=1e-6)


def test_errors(oracle):
    calls = [
        f"nn.initializers.{call}"
        for call in [
            "constant(jnp.arange(4))(jax.random.key(7), (2, 3))",
            "uniform(dtype=int)(jax.random.key(7), (2, 3))",
            "truncated_normal(dtype=complex)(jax.random.key(7), (2, 3))",
            "glorot_normal()(jax.random.key(7), (30,))",
            "glorot_normal(5)(jax.random.key(7), (3, 3))",
            "variance_scaling(1, 'fan_x', 'uniform')(jax.random.key(7), (3, 2))",
            "variance_scaling(1, 'fan_in', 'gamma')(jax.random.key(7), (3, 2))",
            "variance_scaling(1, 'fan_in', 'uniform', dtype=int)(jax.random.key(7), (3, 2))",
            "orthogonal()(jax.random.key(7), (4,))",
            "orthogonal(dtype=int)(jax.random.key(7), (4, 4))",
            "delta_orthogonal()(jax.random.key(7), (4, 5))",
            "delta_orthogonal()(jax.random.key(7), (3, 5, 4))",
            "normal()(0, (2,))",
        ]
    ]
    compare_errors(oracle, "\n".join(calls))

"""Tokens, dce_sink, and the identities stage and copy."""

import covector
import numpy as np
import pytest
from core import primitive_checks as checks
from covector import lax
from oracle import Case

X = np.float32([1.0, 2.0, 3.0])


def names(program):
    return [eqn.primitive.name for eqn in program.eqns]


# --- tokens --------------------------------------------------------------------------------------


def test_tokens_under_transformations():
    def f(x):
        return lax.after_all(lax.create_token(x), lax.create_token()), lax.mul(x, x)

    for function in (f, covector.jit(f), covector.vmap(f)):
        token, out = function(X)
        assert token.size == 0
        np.testing.assert_array_equal(out, X * X)
    assert float(covector.grad(lambda x: f(x)[1])(3.0)) == 6.0
    assert names(covector.make_jaxpr(f)(X)) == ["create_token", "create_token", "after_all", "mul"]


def test_batched_tokens():
    tokens = np.zeros((4, 0), bool)
    out = covector.vmap(lambda t: lax.after_all(t, lax.create_token()), out_axes=None)(tokens)
    assert out.shape == (0,)


def test_after_nothing():
    assert lax.after_all().size == 0


def test_after_all_of_arrays(oracle):
    error = oracle.compare_error("lax.after_all(x)", x=X)
    assert "after_all" in error.message
    assert "f32[3]" in error.message


# --- dce_sink ------------------------------------------------------------------------------------


def sunk(x):
    lax.dce_sink({"a": lax.sin(x), "b": 1.0}, prevent_mlir_dce=True)
    return lax.mul(x, x)


@pytest.mark.parametrize(
    "function",
    [
        sunk,
        covector.jit(sunk),
        covector.vmap(sunk),
        lambda x: covector.jvp(sunk, (x,), (x,))[0],
        lambda x: covector.vjp(sunk, x)[0],
        lambda x: lax.scan(lambda c, _: (sunk(c), None), x, None, length=1)[0],
        lambda x: lax.cond(True, sunk, sunk, x),
    ],
)
def test_sink(function):
    """It stays in the program under every transformation, and so does what it reads."""
    np.testing.assert_array_equal(function(X), X * X)
    text = covector.jit(function).lower(X).compile().as_text()
    assert "dce_sink" in text
    assert "sine(" in text


def test_sink_in_the_program_only(oracle):
    def f(x):
        assert lax.dce_sink(lax.sin(x)) is None
        return x

    program = covector.make_jaxpr(f)(X)
    assert names(program) == ["sin", "dce_sink"]
    assert "dce_sink" not in covector.jit(f).lower(X).compile().as_text()
    oracle.compare_error("lax.dce_sink('a')")


# --- stage, copy, and names of others ------------------------------------------------------------


def test_stage(oracle):
    calls = [
        "lax.stage(x)",
        "lax.stage(2)",
        "jax.jit(lax.stage)(x)",
        "jax.vmap(lax.stage)(x)",
        "jax.grad(lambda x: lax.mul(lax.stage(x), lax.stage(2.0)))(3.0)",
    ]
    oracle.compare_many([Case(call, {"x": X}) for call in calls])
    for value in ("{'a': 1.0}", "jnp.sin", "None"):
        oracle.compare_error(f"lax.stage({value})")


def test_stage_lifts():
    """A number becomes a value of the trace."""
    kinds = []
    covector.make_jaxpr(lambda x: kinds.append(type(lax.stage(2.0))) or x)(X)
    assert issubclass(kinds[0], covector.core.Tracer)


@pytest.mark.parametrize("primitive", [lax.copy_p, lax.stage_p])
def test_identities(primitive):
    checks.check_all(lambda x: primitive.bind(x), X.astype(float))


def test_copy_is_another_buffer():
    x = covector.device_put(X)
    y = lax.copy_p.bind(x)
    assert x.unsafe_buffer_pointer() != y.unsafe_buffer_pointer()


def test_linear_solve_p():
    solve = lambda b: lax.custom_linear_solve(
        lambda x: lax.mul(x, 2.0), b, lambda _, b: lax.div(b, 2.0), symmetric=True
    )
    assert covector.make_jaxpr(solve)(X).eqns[0].primitive is lax.linear_solve_p

"""Derivatives of collectives and of `pmap`, inside and outside of the map, against the oracle."""

import covector
import covector.numpy as jnp
import numpy as np
import pytest
from covector import grad, lax, pmap, vmap
from oracle import Case, Tolerance

TOLERANCE = Tolerance(rtol=2e-5, atol=2e-5)
rng = np.random.default_rng(0)
x = rng.normal(size=8).astype(np.float32)
m = rng.normal(size=(8, 8)).astype(np.float32)
t = rng.normal(size=(8, 16, 3)).astype(np.float32)

# Linear and nonlinear functions of `v`, a part of the operand.
BODIES = [
    ("lax.psum(v, 'i')", "x"),
    ("lax.psum(v * v, 'i') * v", "x"),
    ("lax.psum(lax.psum(v * v, 'i') * v, 'i')", "m"),
    ("lax.pmean(jnp.sin(v), 'i') + v", "m"),
    ("lax.all_gather(jnp.sin(v), 'i')", "m"),
    ("lax.all_gather(v * v, 'i', axis=1, tiled=True)", "t"),
    ("lax.psum_scatter(v * v, 'i')", "m"),
    ("lax.psum_scatter(v * v, 'i', scatter_dimension=0, tiled=True)", "t"),
    ("lax.all_to_all(v * v, 'i', 0, 0)", "m"),
    ("lax.all_to_all(v * v, 'i', 0, 1, tiled=True)", "t"),
    ("lax.pswapaxes(jnp.cos(v), 'i', 0)", "m"),
    ("lax.ppermute(v * v, 'i', [(k, (k + 3) % 8) for k in range(8)])", "m"),
    ("lax.axis_index('i') * v ** 2", "x"),
    ("lax.psum(1, 'i') * v ** 2", "x"),
    ("v / lax.psum(v * v, 'i')", "m"),
    ("jax.jit(lambda u: u * lax.psum(u, 'i'))(v)", "m"),
    ("lax.scan(lambda c, u: (c * lax.pmean(u, 'i'), c), v[0], v)[1]", "m"),
]
MEASURES = {
    "gradient inside": "jax.MAP(jax.grad(lambda v: jnp.sum(jnp.cos(BODY))), axis_name='i')(ARG)",
    "gradient outside": (
        "jax.grad(lambda a: jnp.sum(jnp.cos(jax.MAP(lambda v: BODY, axis_name='i')(a))))(ARG)"
    ),
    "jvp outside": "jax.jvp(jax.MAP(lambda v: BODY, axis_name='i'), (ARG,), (jnp.cos(ARG),))",
    "jvp inside": (
        "jax.MAP(lambda v: jax.jvp(lambda v: BODY, (v,), (jnp.cos(v),)), axis_name='i')(ARG)"
    ),
}


@pytest.mark.parametrize("mapping", ["vmap", "pmap"])
@pytest.mark.parametrize("measure", MEASURES)
def test_equals_the_oracle(oracle, mapping, measure):
    inputs = {"x": x, "m": m, "t": t}
    oracle.compare_many(
        [
            Case(
                MEASURES[measure].replace("MAP", mapping).replace("BODY", body).replace("ARG", arg),
                {arg: inputs[arg]},
                tolerance=TOLERANCE,
            )
            for body, arg in BODIES
        ]
    )


def both_ways(function, argument):
    """The same derivative through `pmap` and through `vmap`."""
    return [np.asarray(function(mapping)(argument)) for mapping in (pmap, vmap)]


def test_second_derivatives():
    def loss(mapping):
        body = mapping(lambda v: v * lax.psum(jnp.sin(v), "i") + lax.pmax(v, "i"), axis_name="i")
        return lambda a: jnp.sum(body(a) ** 2)

    def direct(a):
        return jnp.sum((a * jnp.sum(jnp.sin(a)) + jnp.max(a)) ** 2)

    expected = np.asarray(covector.hessian(direct)(x))
    for mapping in (pmap, vmap):
        hessian = covector.hessian(loss(mapping))(x)
        np.testing.assert_allclose(np.asarray(hessian), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("extremum, reduce", [(lax.pmax, jnp.max), (lax.pmin, jnp.min)])
def test_extrema(extremum, reduce):
    # The oracle has no derivative of these.
    ties = np.array([1, 3, 0, 3, 2, 0, 3, 1], np.float32)
    expected = np.asarray(grad(lambda a: 8 * jnp.sin(reduce(a)))(ties))

    def through(mapping):
        body = mapping(lambda v: jnp.sin(extremum(v, "i")), axis_name="i")
        return grad(lambda a: jnp.sum(body(a)))

    for result in both_ways(through, ties):
        np.testing.assert_allclose(result, expected, rtol=1e-6)
    for mapping in (pmap, vmap):
        _, tangent = covector.jvp(mapping(lambda v: extremum(v, "i"), axis_name="i"), (x,), (m[0],))
        chosen = m[0][np.argmax(x) if extremum is lax.pmax else np.argmin(x)]
        np.testing.assert_allclose(np.asarray(tangent), np.full(8, chosen), rtol=1e-6)


def test_all_to_all_that_moves_the_axis():
    # The oracle's gradient fails for axes that differ.
    def exchanged(mapping):
        body = mapping(lambda v: lax.all_to_all(v.reshape(2, 8, 3) ** 2, "i", 1, 0), axis_name="i")
        return grad(lambda a: jnp.sum(jnp.cos(body(a))))

    expected = np.asarray(grad(lambda a: jnp.sum(jnp.cos(a**2)))(t))
    for result in both_ways(exchanged, t):
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


def test_partial_permutations_and_broadcasts():
    def shifted(mapping):
        pairs = [(k, k + 1) for k in range(7)]
        body = mapping(lambda v: lax.ppermute(v * v, "i", pairs), axis_name="i")
        return grad(lambda a: jnp.sum(body(a)))

    def spread(mapping):
        body = mapping(lambda v: lax.pbroadcast(v * v, "i", 2) * v, axis_name="i")
        return grad(lambda a: jnp.sum(body(a)))

    for result in both_ways(shifted, x):
        np.testing.assert_allclose(result, np.append(2 * x[:-1], 0), rtol=1e-6)
    expected = np.where(np.arange(8) == 2, x[2] ** 2 + 2 * x[2] * x.sum(), x[2] ** 2)
    for result in both_ways(spread, x):
        np.testing.assert_allclose(result, expected, rtol=1e-5)


# --- of pmap's operands and results ---------------------------------------------------------------

OF_PMAP = [
    "jax.grad(lambda w: jax.pmap(lambda v, w: jnp.sin(v * w), in_axes=(0, None))(x, w).sum())(2.0)",
    "jax.grad(lambda w: jax.pmap(lambda v: jnp.sin(v * w))(x).sum())(2.0)",
    "jax.grad(lambda w: jax.pmap(lambda v: jnp.sin(v @ w))(m).sum())(x)",
    "jax.grad(lambda a: jax.pmap(lambda v: v ** 2, out_axes=None)(a))(x)",
    "jax.grad(lambda a: jax.pmap(lambda v: lax.psum(v ** 2, 'i'), 'i', out_axes=None)(a))(x)",
    "jax.grad(lambda a: jax.pmap(lambda v: jnp.exp(v), out_axes=1, in_axes=1)(a).sum())(m)",
    "jax.grad(lambda a: (jax.pmap(lambda v: (v, jnp.sin(v)), out_axes=(None, 0))(a)[1]).sum())(x)",
    "jax.value_and_grad(lambda d: jax.pmap(lambda d: d['a'] * d['b'])(d).sum())({'a': x, 'b': x})",
    "jax.vjp(jax.pmap(lambda v, n: v * n), x, np.arange(8))[1](x)",
    "jax.linearize(jax.pmap(lambda v: jnp.sin(v)), x)[1](x)",
    "jax.jacrev(jax.pmap(lambda v: lax.psum(jnp.sin(v), 'i') * v, 'i'))(x)",
    "jax.jacfwd(jax.pmap(lambda v: lax.psum(jnp.sin(v), 'i') * v, 'i'))(x)",
    "jax.vmap(jax.grad(lambda a: jax.pmap(jnp.sin)(a).sum()))(m)",
    "jax.jit(jax.grad(lambda a: jax.pmap(lambda v: jnp.sin(v) * v)(a).sum()))(x)",
]


def test_of_pmap(oracle):
    oracle.compare_many([Case(s, {"x": x, "m": m}, tolerance=TOLERANCE) for s in OF_PMAP])


def nested(mapping):
    @mapping
    def f(x):
        y = jnp.sin(x)

        @mapping
        def g(z):
            return jnp.cos(z) * jnp.tan(y.sum()) * jnp.tanh(x).sum()

        return grad(lambda w: jnp.sum(g(w)))(x)

    return f


def test_nested_maps():
    a = m[:4, :2]
    np.testing.assert_allclose(np.asarray(nested(pmap)(a)), np.asarray(nested(vmap)(a)), rtol=1e-5)
    through, expected = both_ways(lambda mapping: grad(lambda a: jnp.sum(nested(mapping)(a))), a)
    np.testing.assert_allclose(through, expected, rtol=1e-4)


def test_nested_maps_with_collectives():
    def loss(mapping):
        def body(v):
            total = lax.psum(jnp.sin(v), ("i", "j"))
            return lax.psum(v * total, "j") + lax.all_gather(v * v, "i").sum()

        inner = mapping(body, axis_name="j", in_axes=1)
        return grad(lambda a: jnp.sum(jnp.cos(mapping(inner, axis_name="i")(a))))

    through, expected = both_ways(loss, t[:2, :3, :3])
    np.testing.assert_allclose(through, expected, rtol=1e-4, atol=1e-5)

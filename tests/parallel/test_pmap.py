"""`pmap`: arguments, results, nesting, transformations, errors."""

import functools

import covector
import covector.numpy as jnp
import numpy as np
import pytest
from covector import P, jit, lax, pmap, vmap
from covector.parallel._pmap import _Pmap
from covector.sharding import NamedSharding, make_mesh
from oracle import Case

x = np.arange(8, dtype=np.float32)
m = np.arange(64, dtype=np.float32).reshape(8, 8)

SNIPPETS = [
    "jax.pmap(lambda v: v * 2)(x)",
    "jax.pmap(lambda v: v * 2)(x[:3])",
    "jax.pmap(lambda v: v @ v)(m)",
    "jax.pmap(jnp.mean)(m)",
    "jax.pmap(lambda v: 1.0)(x)",
    "jax.pmap(lambda v: (v, None, [1, True]))(x)",
    "jax.pmap(lambda v: None)(x)",
    "jax.pmap(lambda v, w: v)(x, m)",
    "jax.pmap(lambda v: v, in_axes=1)(m[:, :4])",
    "jax.pmap(lambda v: v, in_axes=1, out_axes=1)(m[:, :4])",
    "jax.pmap(lambda v, w: v + w, in_axes=(0, None))(x, m)",
    "jax.pmap(lambda v, w: v + w, in_axes=(None, 1), out_axes=1)(x, m)",
    "jax.pmap(lambda d: d['a'] + d['b'][0], in_axes=({'a': 0, 'b': None},))({'a': m, 'b': [x]})",
    "jax.pmap(lambda v: {'a': v, 'b': v.sum()}, out_axes={'a': 1, 'b': None})(m * 0)",
    "jax.pmap(lambda v: lax.psum(v, 'i'), axis_name='i', out_axes=None)(x)",
    "jax.pmap(lambda v, *, k: v + k)(x, k=x)",
    "jax.pmap(lambda v, n: v * n, static_broadcasted_argnums=1)(x, 3)",
    "jax.pmap(lambda n, v: v * n, in_axes=(None, 0), static_broadcasted_argnums=(0,))(3, x)",
    "jax.pmap(lambda v: v, axis_size=8)(x)",
    "jax.pmap(lambda v: v, devices=jax.devices()[4:])(x[:2])",
    "jax.pmap(lambda v: v, backend='cpu')(x)",
    "jax.pmap(lambda v: v + 1)(np.arange(8))",
    "jax.pmap(lambda v: v + 1)([True] * 0 or np.array([True] * 8))",
    "jax.pmap(lambda v: v + 1)(jax.pmap(lambda v: v * 2)(x))",
    "jnp.mean(jax.pmap(lambda v: v * 2)(m))",
    "jax.pmap(lambda v: v * 2)(m)[3]",
    "jax.pmap(lambda v: v * 2)(m)[2:5, ::2]",
    "jax.pmap(lambda v: v * 2)(m).T + x",
    "jax.jit(lambda v: v * 2)(jax.pmap(lambda v: v)(m))",
    "jax.jit(jax.pmap(lambda v: lax.psum(v, 'i'), axis_name='i'))(x)",
    "jax.jit(lambda a: jax.pmap(lambda v: v + 1)(a).sum())(m)",
    "jax.vmap(jax.pmap(lambda v: lax.psum(v, 'i'), axis_name='i'))(m)",
    "jax.vmap(jax.pmap(lambda v, w: v + w, in_axes=(0, None), out_axes=1), in_axes=(1, 0))(m, m)",
    "jax.vmap(jax.pmap(lambda v, w: v * w, in_axes=(1, 0)), (2, None))(m.reshape(1, 8, 8), x)",
    "jax.vmap(jax.pmap(lambda v: v), in_axes=1, out_axes=1)(m[:, :3])",
    "jax.pmap(jax.vmap(lambda v: lax.psum(v, 'i'), in_axes=0), axis_name='i')(m)",
    "jax.eval_shape(jax.pmap(lambda v: v.sum()), m)",
    "jax.pmap(lambda v: v.sum()).lower(m).compile()(m)",
    "jax.pmap(lambda v: lax.sort(v)[::-1])(m)",
    "str(jax.pmap(lambda v: v * 2)(x))",
]


def test_equals_the_oracle(oracle):
    oracle.compare_many([Case(snippet, {"x": x, "m": m}) for snippet in SNIPPETS])


# --- nesting --------------------------------------------------------------------------------------

NESTED = {
    "two": lambda mapping: mapping(mapping(lambda v: v * 2)),
    "three": lambda mapping: mapping(mapping(mapping(jnp.sin))),
    "axes": lambda mapping: mapping(mapping(jnp.sum, in_axes=1, out_axes=0), in_axes=1, out_axes=1),
    "whole operands": lambda mapping: mapping(
        lambda v: mapping(lambda w, u: w * u.sum(), in_axes=(0, None))(v, v)
    ),
    "two inside": lambda mapping: mapping(
        lambda v: mapping(jnp.sin)(v) + mapping(jnp.cos)(v[::-1]).sum()
    ),
    "in a loop": lambda mapping: mapping(
        lambda v: lax.fori_loop(0, 3, lambda k, c: mapping(lambda u: u + 1)(c), v)
    ),
    "under jit": lambda mapping: mapping(jit(mapping(lambda v: v * 3))),
}


@pytest.mark.parametrize("case", NESTED)
def test_nested_maps(case):
    a = np.arange(2 * 2 * 2 * 3, dtype=np.float32).reshape(2, 2, 2, 3)
    expected = np.asarray(NESTED[case](vmap)(a))
    np.testing.assert_allclose(np.asarray(NESTED[case](pmap)(a)), expected, rtol=1e-6)
    np.testing.assert_allclose(np.asarray(jit(NESTED[case](pmap))(a)), expected, rtol=1e-6)
    expected = np.asarray(vmap(NESTED[case](vmap))(a[None]))
    np.testing.assert_allclose(np.asarray(vmap(NESTED[case](pmap))(a[None])), expected, rtol=1e-6)


def test_a_grid_of_devices():
    inner = pmap(lambda v: lax.axis_index("i") * 10 + lax.axis_index("j"), axis_name="j")
    result = pmap(inner, axis_name="i")(x.reshape(4, 2))
    assert np.asarray(result).tolist() == [[0, 1], [10, 11], [20, 21], [30, 31]]
    assert result.sharding.mesh.shape == {"i": 4, "j": 2}
    assert len(result.sharding.device_set) == 8


@pytest.mark.parametrize("name", ["i", 3, ("a", "b"), None, object()])
def test_any_hashable_names_an_axis(name):
    result = pmap(lambda v: v * 2, axis_name=name)(x)
    np.testing.assert_array_equal(
        np.asarray(pmap(lambda v: v + 1, axis_name=name)(result)), x * 2 + 1
    )
    if name == "i":
        assert result.sharding.mesh.axis_names == ("i",)


# --- where results are ----------------------------------------------------------------------------


def test_results_are_spread():
    result = pmap(lambda v: v, axis_name="i")(m)
    assert result.sharding.spec == P("i") and result.committed
    assert result.sharding.mesh.axis_names == ("i",)
    assert [s.data.shape for s in result.addressable_shards] == [(1, 8)] * 8
    assert [s.device for s in result.addressable_shards] == covector.devices()[:8]
    moved = pmap(lambda v: v, axis_name="i", out_axes=1)(m)
    assert moved.sharding.spec == P(None, "i")
    total = pmap(lambda v: lax.psum(v, "i"), axis_name="i", out_axes=None)(m)
    assert total.is_fully_replicated


def test_devices_are_chosen_or_follow():
    last = covector.devices()[4:]
    double = pmap(lambda v: v * 2, devices=last)
    assert double(x[:4]).devices() == set(last)
    spread = pmap(lambda v: v)(x[:4])
    for _ in range(2):  # arrays on other devices move, at every call
        np.testing.assert_array_equal(np.asarray(double(spread)), x[:4] * 2)
    follow = pmap(lambda v: v + 1)
    assert follow(double(x[:4])).devices() == set(last)
    np.testing.assert_array_equal(np.asarray(follow(spread)), x[:4] + 1)
    eight = pmap(lambda v: v)(m)[:4]  # on eight devices: each does its part twice
    assert len(follow(eight).devices()) == 8
    np.testing.assert_array_equal(np.asarray(follow(eight)), m[:4] + 1)


@pytest.mark.parametrize("place", [None, 0, 5])
def test_arguments_from_one_device(place):
    device = None if place is None else covector.devices()[place]
    array = covector.device_put(m, device)
    body = pmap(lambda v, w: v + w, in_axes=(0, None))
    for _ in range(2):
        np.testing.assert_array_equal(np.asarray(body(array, array)), m[:, None] + m)


def test_arguments_spread_otherwise():
    columns = pmap(lambda v: v, out_axes=1)(m)
    for _ in range(2):
        np.testing.assert_array_equal(np.asarray(pmap(lambda v: v * 2)(columns)), m.T * 2)
        both = pmap(lambda v, w: v + w)(columns, m)
        np.testing.assert_array_equal(np.asarray(both), m.T + m)


@pytest.mark.parametrize("sizes", [(2, 4), (4, 2)])
def test_arguments_spread_over_meshes(sizes):
    mesh = make_mesh(sizes, ("x", "y"))
    total = pmap(lambda v: lax.psum(v, "i"), axis_name="i")
    program = jit(lambda a: pmap(lambda v: v * 2)(a[:4]).sum(0) + a.T)
    for spec in (P("x"), P("y", "x"), P(("x", "y"))):
        a = covector.device_put(m, NamedSharding(mesh, spec))
        np.testing.assert_array_equal(np.asarray(pmap(lambda v: v * 2)(a)), m * 2)
        np.testing.assert_array_equal(
            np.asarray(total(a[:4])), np.broadcast_to(m[:4].sum(0), (4, 8))
        )
        np.testing.assert_array_equal(np.asarray(program(a)), (m[:4] * 2).sum(0) + m.T)


def test_a_training_step():
    inputs = np.random.default_rng(0).normal(size=(8, 16, 4)).astype(np.float32)

    def loss(weights, inputs):
        return jnp.mean((inputs @ weights - inputs.sum(-1)) ** 2)

    def step(weights, inputs):
        return weights - 0.1 * lax.pmean(covector.grad(loss)(weights, inputs), "data")

    train = pmap(step, axis_name="data", in_axes=(None, 0), out_axes=None)
    weights = np.zeros(4, np.float32)
    for _ in range(60):
        weights = train(weights, inputs)
    np.testing.assert_allclose(np.asarray(weights), np.ones(4), atol=1e-3)
    assert weights.is_fully_replicated and train._cache_size() == 2  # NumPy first, then arrays


def test_donation():
    array = pmap(lambda v: v)(m)
    pmap(lambda v, w: v + w, donate_argnums=0)(array, m)
    assert array.is_deleted()
    with pytest.raises(RuntimeError, match="deleted or donated"):
        array + 1


def test_large_constants_stay_on_the_devices():
    table = np.arange(3.0, dtype=np.float32)
    function = pmap(lambda v: v + table)
    np.testing.assert_array_equal(np.asarray(function(x)), x[:, None] + table)
    table += 1  # a traced function keeps what it saw
    np.testing.assert_array_equal(np.asarray(function(x)), x[:, None] + np.arange(3))


# --- how often is traced --------------------------------------------------------------------------


def test_traces_once_for_a_signature():
    traces = []

    def body(v):
        traces.append(v.aval.str_short())
        return lax.psum(v, "i")

    function = pmap(body, axis_name="i")
    for _ in range(3):
        function(x)
        function(covector.device_put(x))
        function(function(x))
        pmap(body, axis_name="i")(x)
    assert traces == ["f32[]"]
    function(m)
    function(x[:4])
    assert traces == ["f32[]", "f32[8]", "f32[]"]
    pmap(body, axis_name="i", out_axes=None)(x)
    assert len(traces) == 4


def test_fresh_functions_share_their_programs():
    first, second = (pmap(lambda v: v * 2 + 1).lower(x).as_text() for _ in range(2))
    assert first == second
    programs = [covector.make_jaxpr(pmap(lambda v: v * 2 + 1))(x).eqns[0] for _ in range(2)]
    assert programs[0].params["jaxpr"] is programs[1].params["jaxpr"]


def test_hits_never_see_python(monkeypatch):
    function = pmap(lambda v: v * 2)
    array = function(x)
    function(array)
    misses = []
    monkeypatch.setattr(_Pmap, "_miss", lambda self, *args: misses.append(args))
    for _ in range(3):
        function(array)
        function(x)
    assert misses == []


def test_without_jit():
    seen = []

    def body(v):
        seen.append(v)
        return lax.psum(v, "i") * 2

    with covector.disable_jit():
        for _ in range(2):
            result = pmap(body, axis_name="i")(x)
    np.testing.assert_array_equal(np.asarray(result), np.full(8, 56))
    assert len(seen) == 2


# --- with other transformations -------------------------------------------------------------------


@covector.custom_jvp
def odd_jvp(v):
    return v * v


@covector.custom_vjp
def odd_vjp(v):
    return v * v


odd_jvp.defjvp(lambda primals, tangents: (primals[0] ** 2, 7.0 * tangents[0]))
odd_vjp.defvjp(lambda v: (v * v, v), lambda residual, ct: (5.0 * ct,))


@pytest.mark.parametrize("function, slope", [(odd_jvp, 7), (odd_vjp, 5)])
def test_custom_derivatives(function, slope):
    outside = covector.grad(lambda a: jnp.sum(pmap(function)(a)))
    inside = pmap(covector.grad(function))
    for derivative in (outside, inside, jit(outside), jit(inside)):
        np.testing.assert_array_equal(np.asarray(derivative(x)), np.full(8, slope))


def in_a_scan(mapping):
    body = mapping(lambda v: jnp.sin(v) * lax.psum(v, "i"), axis_name="i")
    return lambda a: jnp.sum(lax.scan(lambda c, _: (body(c), None), a, None, length=2)[0])


def in_a_branch(mapping):
    body = mapping(lambda v: jnp.sin(v) * lax.psum(v, "i"), axis_name="i")
    return lambda a: jnp.sum(lax.cond(a[0] < 1, body, lambda c: c, a))


@pytest.mark.parametrize("program", [in_a_scan, in_a_branch])
def test_derivatives_through_control_flow(program):
    expected = np.asarray(covector.grad(program(vmap))(x / 8))
    for gradient in (covector.grad(program(pmap)), jit(covector.grad(program(pmap)))):
        np.testing.assert_allclose(np.asarray(gradient(x / 8)), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("hashable", [True, False])
def test_any_callable(hashable):
    class Triple:
        __slots__ = ()  # not weakly referable
        __hash__ = object.__hash__ if hashable else None

        def __call__(self, v):
            return v * 3

    for function in (Triple(), functools.partial(lax.mul, np.float32(3))):
        np.testing.assert_array_equal(np.asarray(pmap(function)(x)), x * 3)


# --- errors ---------------------------------------------------------------------------------------

ERRORS = [
    "jax.pmap(lambda v: v)(1.0)",
    "jax.pmap(lambda v: v)(np.ones(9))",
    "jax.pmap(lambda a, b: a)(x, x[:4])",
    "jax.pmap(lambda v: v, axis_size=3)(x)",
    "jax.pmap(lambda v: v, in_axes=None)(x)",
    "jax.pmap(lambda v: v, in_axes=(0, 0))(x)",
    "jax.pmap(lambda v: v, in_axes='a')(x)",
    "jax.pmap(3)",
    "jax.pmap(lambda: 1.0)()",
    "jax.pmap(lambda v: 'a')(x)",
    "jax.pmap(lambda v: v)(np.zeros((0,)))",
    "jax.pmap(lambda v: v, out_axes=3)(x)",
    "jax.pmap(lambda v: v, devices=[])(x)",
    "jax.pmap(lambda v, w: v, static_broadcasted_argnums=(1,))(x)",
    "jax.pmap(lambda v, w: v, static_broadcasted_argnums=(1,))(x, [1])",
    "jax.pmap(lambda v: v + 'a')(x)",
    "jax.pmap(lambda v: v if v > 0 else -v)(x)",
]


def test_errors_of_the_oracle(oracle):
    oracle.compare_many([Case(snippet, {"x": x}, may_raise=True) for snippet in ERRORS])


MESSAGES = {
    "pmap(lambda v: v)(np.ones(9))": (
        ValueError,
        r"pmap over 9 needs 9 devices, but there are only 8 .*'jax_num_cpu_devices', 9\)",
    ),
    "pmap(pmap(lambda v: v))(np.ones((4, 4)))": (ValueError, "pmap over 4 x 4 needs 16 devices"),
    "pmap(lambda v: v, devices=covector.devices()[:2])(x)": (ValueError, "only 2 of the devices"),
    "pmap(lambda a, b: a)(x, {'k': x[:4]})": (
        ValueError,
        r"size 8: args\[0\] of type f32\[8\], axis 0; size 4: args\[1\]\['k'\] of type f32\[4\]",
    ),
    "pmap(lambda v: v, in_axes=2)(x)": (ValueError, r"axis 2, which does not exist: args\[0\]"),
    "pmap(lambda v: pmap(lambda w: w, devices=covector.devices())(v))(x.reshape(4, 2))": (
        ValueError,
        "only the outermost of nested pmaps can be given devices",
    ),
    "pmap(lambda v: v)(m) + pmap(lambda v: v)(m[:4]).sum()": (ValueError, "incompatible devices"),
    "jit(lambda a: pmap(lambda v: v)(a) + pmap(lambda v: v)(a[:3]).sum())(x)": (
        ValueError,
        r"maps over grids of .* cannot share its 8 devices",
    ),
}


@pytest.mark.parametrize("snippet", MESSAGES)
def test_error_messages(snippet):
    error, message = MESSAGES[snippet]
    with pytest.raises(error, match=message):
        eval(snippet)

"""`device_put` of traced values: staged, transformed, and into other memories."""

from __future__ import annotations

import covector as cv
import numpy as np
import pytest
from covector import lax
from covector._lower.module import LoweringOptions, lower_module
from covector.ad_checkpoint import checkpoint_name, saved_residuals
from covector.sharding import NamedSharding, PartitionSpec, SingleDeviceSharding

X = np.arange(4.0, dtype=np.float32)
FIRST, SECOND = cv.devices()[:2]


def on_second(x):
    return lax.sin(cv.device_put(x, SECOND))


def total(x):
    return lax.reduce_sum(on_second(x), (0,))


def devices(tree):
    return [next(iter(x.devices())) for x in cv.tree.leaves(tree)]


def test_is_a_primitive():
    program = cv.make_jaxpr(lambda x: cv.device_put({"a": x, "b": x}, {"a": FIRST, "b": None}))(X)
    assert [eqn.primitive for eqn in program.eqns] == [lax.device_put_p]


def test_values_under_transformations():
    """It changes nothing but where values are."""
    x = cv.device_put(X, FIRST)
    functions = {
        "value": lambda f, x: f(x),
        "jit": lambda f, x: cv.jit(f)(x),
        "jvp": lambda f, x: cv.jvp(f, (x,), (x,))[1],
        "vjp": lambda f, x: cv.vjp(f, x)[1](f(x)),
        "second": lambda f, x: cv.jacfwd(cv.jacrev(f))(x),
        "vmap": lambda f, x: cv.vmap(f)(lax.broadcast(x, (2,))),
        "transposed": lambda f, x: cv.linear_transpose(lambda x: cv.device_put(x, SECOND), x)(x),
        "scan": lambda f, x: lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0],
        "remat": lambda f, x: cv.vjp(cv.checkpoint(f), x)[1](X),
        "while": lambda f, x: lax.fori_loop(0, x.size, lambda i, c: f(c), x),
    }
    for name, function in functions.items():
        want, got = [cv.tree.leaves(function(f, x))[0] for f in (lax.sin, on_second)]
        np.testing.assert_allclose(got, want, rtol=1e-6, err_msg=name)


def test_eager_values_are_on_the_device():
    x = cv.device_put(X, FIRST)
    assert devices(cv.value_and_grad(total)(x)) == [SECOND, FIRST]  # cotangents go back
    assert devices(cv.jvp(on_second, (x,), (x,))) == [SECOND, SECOND]
    assert devices(cv.vmap(on_second)(x)) == [SECOND]
    assert devices(cv.linearize(on_second, x)[1](x)) == [SECOND]
    assert devices(cv.hessian(total)(x)) == [FIRST]
    moved = cv.vjp(lambda x: cv.device_put(x, SECOND, src=cv.devices()[2]), X)[1]
    assert devices(moved(cv.device_put(X, SECOND))) == [cv.devices()[2]]


def test_spread_over_a_mesh():
    mesh = cv.make_mesh((2,), ("i",))
    rows = NamedSharding(mesh, PartitionSpec("i"))
    for function in (lambda x: x, lambda f: cv.jit(f)):
        assert function(lambda x: cv.device_put(x, rows))(X).sharding.spec == PartitionSpec("i")
    batched = cv.vmap(lambda x: cv.device_put(x, rows))(np.ones((3, 4), np.float32))
    assert tuple(batched.sharding.spec) == (None, "i")
    with pytest.raises(ValueError, match="3"):
        cv.jit(lambda x: cv.device_put(x, rows))(np.ones(3, np.float32))


def test_errors(oracle):
    for call in (
        "jax.device_put(x, 3)",
        "jax.jit(lambda x: jax.device_put(x, 3))(x)",
        "jax.device_put(x, may_alias=True, donate=True)",
        "jax.device_put(x, jax.sharding.PartitionSpec())",
    ):
        oracle.compare_error(call, x=X)


def test_copy():
    x = cv.device_put(X, FIRST)
    assert cv.device_put(x, FIRST) is x
    copy = cv.device_put(x, FIRST, may_alias=False)
    assert copy.unsafe_buffer_pointer() != x.unsafe_buffer_pointer()
    np.testing.assert_array_equal(copy, X)


# --- memories -------------------------------------------------------------------------------------

HOST, DEVICE = cv.memory.Space.Host, cv.memory.Space.Device


def test_memories():
    pinned = SingleDeviceSharding(FIRST, "pinned_host")
    x = cv.device_put(X, HOST)
    assert x.sharding.memory_kind == "pinned_host"
    assert cv.device_put(x, DEVICE).sharding.memory_kind == "device"
    assert cv.device_put(X, pinned).sharding == pinned
    mesh = cv.make_mesh((2,), ("i",))
    rows = NamedSharding(mesh, PartitionSpec("i"))
    spread = cv.device_put(X, rows.with_memory_kind("pinned_host"))
    assert (spread.sharding.memory_kind, spread.sharding.spec) == (
        "pinned_host",
        PartitionSpec("i"),
    )
    np.testing.assert_array_equal(lax.add(x, X), X + X)
    np.testing.assert_array_equal(cv.jit(lambda x: cv.device_put(x, HOST))(X), X)
    np.testing.assert_array_equal(cv.grad(lambda x: cv.device_put(x[0], HOST))(X), [1, 0, 0, 0])
    with pytest.raises(ValueError, match="no memory of the kind 'attic'"):
        rows.with_memory_kind("attic")


def test_memories_of_other_platforms():
    program = cv.jit(lambda x: cv.device_put(lax.sin(x), HOST)).trace(X).jaxpr.jaxpr
    text = lower_module(program, LoweringOptions("f", "cuda", (True,), (False,))).bare_text
    assert "custom_call @annotate_device_placement" in text
    assert '_xla_buffer_placement = "pinned_host"' in text


OFFLOAD = cv.checkpoint_policies.save_and_offload_only_these_names(
    names_which_can_be_saved=[],
    names_which_can_be_offloaded=["z"],
    offload_src="device",
    offload_dst="pinned_host",
)


def test_residuals_are_moved_to_the_host_and_back():
    def f(x):
        return lax.reduce_sum(lax.sin(checkpoint_name(lax.sin(x), "z")), (0,))

    def in_a_scan(x):
        step = lambda c, _: (lax.sin(checkpoint_name(lax.sin(c), "z")), None)
        return lax.reduce_sum(lax.scan(step, x, None, length=2)[0], (0,))

    for function in (f, in_a_scan):
        derivative = cv.grad(cv.checkpoint(function, policy=OFFLOAD))
        program = str(cv.make_jaxpr(derivative)(X))
        assert program.count("MemorySpace.Host src=MemorySpace.Device") == 1
        assert program.count("MemorySpace.Device src=MemorySpace.Host") == 1
        for compiled in (derivative, cv.jit(derivative)):
            np.testing.assert_allclose(compiled(X), cv.grad(function)(X), rtol=1e-6)
    kept = saved_residuals(cv.checkpoint(f, policy=OFFLOAD), X)
    assert len(kept) == 2

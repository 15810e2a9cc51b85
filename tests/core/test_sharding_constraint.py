"""with_sharding_constraint: where values of a program lie, and that they stay what they are."""

import covector
import numpy as np
import pytest
from covector import lax
from covector.sharding import NamedSharding, PartitionSpec

X = np.arange(32, dtype=np.float32).reshape(8, 4)


@pytest.fixture
def mesh(device_count):
    assert device_count == 8
    return covector.make_mesh((4, 2), ("a", "b"))


def sharded(mesh, *spec):
    return NamedSharding(mesh, PartitionSpec(*spec))


SPECS = [("a",), ("a", "b"), (None, "b"), (("a", "b"),), (("b", "a"), None), ()]


@pytest.mark.parametrize("spec", SPECS)
def test_the_result_lies_as_it_should(mesh, spec):
    sharding = sharded(mesh, *spec)
    for function in (
        lambda x: lax.with_sharding_constraint(x, sharding),
        covector.jit(lambda x: lax.with_sharding_constraint(x, sharding)),
        covector.jit(lambda x: lax.with_sharding_constraint(lax.mul(x, 1.0), sharding)),
    ):
        out = function(X)
        np.testing.assert_array_equal(out, X)
        assert out.sharding.is_equivalent_to(sharding, 2)


def test_it_is_in_the_program(mesh):
    sharding = sharded(mesh, "a", "b")
    f = covector.jit(lambda x: lax.sin(lax.with_sharding_constraint(lax.cos(x), sharding)))
    text = f.lower(X).as_text()
    assert 'sdy.sharding_constraint %0 <@mesh, [{"a0"}, {"a1"}]>' in text
    np.testing.assert_allclose(f(X), np.sin(np.cos(X)), rtol=1e-6)


def test_it_meets_sharded_arguments(mesh):
    """The argument lies one way, the result another."""
    x = covector.device_put(X, sharded(mesh, "b"))
    out = covector.jit(lambda x: lax.with_sharding_constraint(x, sharded(mesh, None, "a")))(x)
    np.testing.assert_array_equal(out, X)
    assert out.sharding.is_equivalent_to(sharded(mesh, None, "a"), 2)


def test_transformations(mesh):
    rows, first = sharded(mesh, "a"), sharded(mesh, "b")

    def f(x):
        y = lax.mul(x, x)
        return lax.with_sharding_constraint(y, rows if y.ndim == 2 else first)

    total = covector.jit(lambda x: lax.reduce_sum(f(x), (0, 1)))
    np.testing.assert_array_equal(covector.grad(total)(X), 2 * X)
    np.testing.assert_array_equal(covector.jvp(covector.jit(f), (X,), (X,))[1], 2 * X * X)
    for axis in (0, 1):
        out = covector.jit(covector.vmap(f, axis, axis))(X)
        np.testing.assert_array_equal(out, X * X)
    looped = covector.jit(lambda x: lax.fori_loop(0, 2, lambda _, c: f(c), x))
    np.testing.assert_array_equal(looped(X), X**4)


def test_trees_and_gaps(mesh):
    sharding = sharded(mesh, "a", PartitionSpec.UNCONSTRAINED)
    tree = {"x": X, "y": (X, X)}
    f = covector.jit(lambda t: lax.with_sharding_constraint(t, {"x": sharding, "y": None}))
    out = f(tree)
    assert out["x"].sharding.shard_shape(X.shape)[0] == 2
    np.testing.assert_array_equal(out["y"][1], X)


def test_one_device(oracle):
    """Nothing happens there."""
    oracle.compare(
        """
mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("a",))
sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("a"))
jax.jit(lambda x: lax.with_sharding_constraint(x, sharding))(x)
""",
        x=X,
    )


def test_errors(mesh, oracle):
    oracle.compare_error("lax.with_sharding_constraint(x, jax.sharding.PartitionSpec('a'))", x=X)
    oracle.compare_error("lax.with_sharding_constraint(x, jax.devices()[0])", x=X)
    with pytest.raises(ValueError, match="splits axis 1 into 8 parts"):
        covector.jit(lambda x: lax.with_sharding_constraint(x, sharded(mesh, None, ("a", "b"))))(X)
    with pytest.raises(ValueError, match="at least 3 axes"):
        covector.jit(lambda x: lax.with_sharding_constraint(x, sharded(mesh, "a", None, "b")))(X)


def test_device_put_of_a_traced_value(mesh):
    """It is a constraint too; the device of a value within a program is the compiler's choice."""
    sharding = sharded(mesh, "a", "b")
    for function in (
        covector.jit(lambda x: covector.device_put(lax.mul(x, x), sharding)),
        covector.jit(lambda x: covector.device_put({"y": lax.mul(x, x)}, {"y": sharding})["y"]),
    ):
        out = function(X)
        np.testing.assert_array_equal(out, X * X)
        assert out.sharding.is_equivalent_to(sharding, 2)
    gradient = covector.grad(
        lambda x: lax.reduce_sum(covector.device_put(lax.mul(x, x), sharding), (0, 1))
    )
    np.testing.assert_array_equal(gradient(X), 2 * X)
    same = covector.jit(lambda x: covector.device_put(x, covector.devices()[0]))
    np.testing.assert_array_equal(same(X), X)

"""jit(in_shardings=, out_shardings=): where arguments and results lie, and what is refused."""

import covector
import numpy as np
import pytest
from covector import lax
from covector.sharding import NamedSharding, PartitionSpec, SingleDeviceSharding

X = np.arange(8, dtype=np.float32)


def doubled(x):
    return lax.mul(x, np.float32(2))


@pytest.fixture
def rows(device_count):
    return NamedSharding(covector.make_mesh((device_count,), ("i",)), PartitionSpec("i"))


@pytest.fixture
def whole(rows):
    return NamedSharding(rows.mesh, PartitionSpec())


def check(out, expected, sharding):
    np.testing.assert_array_equal(out, expected)
    assert out.sharding.is_equivalent_to(sharding, out.ndim)


def test_arguments_and_results(rows, whole):
    for options in ({"in_shardings": rows}, {"out_shardings": rows}):
        f = covector.jit(doubled, **options)
        for _ in range(3):  # the later calls are C++'s own
            check(f(X), 2 * X, rows)
        check(f(covector.device_put(X, rows)), 2 * X, rows)
    assert covector.jit(doubled)(X).sharding.num_devices == 1  # the same function, without them


def test_a_sharding_for_each(rows, whole):
    f = covector.jit(
        lambda x, rest: (doubled(x), rest["y"]),
        in_shardings=(rows, {"y": None}),
        out_shardings=(whole, rows),
    )
    first, second = f(X, {"y": X + 1})
    check(first, 2 * X, whole)
    check(second, X + 1, rows)


def test_static_and_donated_arguments(rows):
    f = covector.jit(
        lambda n, x: lax.mul(x, np.float32(n)),
        in_shardings=(rows,),
        out_shardings=rows,
        static_argnums=0,
        donate_argnums=1,
    )
    x = covector.device_put(X, rows)
    check(f(3, x), 3 * X, rows)
    assert x.is_deleted()


def test_inside_transformations(rows):
    f = covector.jit(doubled, in_shardings=rows)
    check(covector.jit(lambda x: f(f(x)))(X), 4 * X, rows)
    gradient = covector.grad(lambda x: lax.reduce_sum(f(x), (0,)))(X)
    np.testing.assert_array_equal(gradient, np.full(8, 2.0))
    np.testing.assert_array_equal(covector.vmap(f)(np.stack([X, X])), np.stack([2 * X, 2 * X]))


def test_ahead_of_time(rows):
    compiled = covector.jit(doubled, in_shardings=rows).lower(X).compile()
    assert compiled.input_shardings[0][0].is_equivalent_to(rows, 1)
    check(compiled(X), 2 * X, rows)


@pytest.mark.parametrize("argument", ["in_shardings", "out_shardings"])
def test_one_device(device_count, argument):
    sharding = SingleDeviceSharding(covector.devices()[2])
    check(covector.jit(doubled, **{argument: sharding})(X), 2 * X, sharding)


def test_what_is_refused(rows, whole):
    f = covector.jit(doubled, in_shardings=rows)
    for elsewhere in (whole, covector.devices()[1]):
        with pytest.raises(ValueError, match=r"f32\[8\] is committed to .*device_put"):
            f(covector.device_put(X, elsewhere))
    with pytest.raises(ValueError, match="pass x by position"):
        f(x=X)
    with pytest.raises(ValueError, match="jit: in_shardings must have the structure"):
        covector.jit(lambda x, y: x, in_shardings=(rows,))(X, X)
    with pytest.raises(TypeError, match="jit: out_shardings must be shardings or None, got 3"):
        covector.jit(doubled, out_shardings=3)(X)
    with pytest.raises(RuntimeError, match=r"P\('i',\) names axes of a mesh"):
        covector.jit(doubled, in_shardings=PartitionSpec("i"))(X)
    with pytest.raises(ValueError, match="axis 0 into 8 parts, but its size is 7"):
        f(X[:7])

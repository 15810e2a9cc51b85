"""ragged_all_to_all and pcast, under `vmap` and `pmap`, against NumPy."""

import covector
import numpy as np
import pytest
from covector import lax, pmap, vmap

SIZE = 4


def exchange(*args):
    return lax.ragged_all_to_all(*args, axis_name="i")


def sample(per_index=2, rows=11, length=20, width=3, seed=0):
    """Slices of random sizes, and places without overlap for them."""
    rng = np.random.default_rng(seed)
    count = SIZE * per_index
    operand = rng.standard_normal((SIZE, rows, width)).astype(np.float32)
    output = rng.standard_normal((SIZE, length, width)).astype(np.float32)
    sent = rng.integers(0, 3, (SIZE, count)).astype(np.int32)
    starts = rng.integers(0, rows - 2, (SIZE, count)).astype(np.int32)
    received = sent.reshape(SIZE, SIZE, per_index).swapaxes(0, 1).reshape(SIZE, count)
    places = np.cumsum(received, 1, dtype=np.int32) - received
    places = places.reshape(SIZE, SIZE, per_index).swapaxes(0, 1).reshape(SIZE, count)
    return operand, output, starts, sent, places, received


def expected(operand, output, starts, sent, places, received):
    result = output.copy()
    per_index = starts.shape[1] // SIZE
    for sender in range(SIZE):
        for k in range(starts.shape[1]):
            start, place, size = starts[sender, k], places[sender, k], sent[sender, k]
            result[k // per_index, place : place + size] = operand[sender, start : start + size]
    return result


@pytest.mark.parametrize(("mapped", "per_index"), [(vmap, 1), (vmap, 2), (pmap, 2)])
def test_values(mapped, per_index):
    args = sample(per_index)
    np.testing.assert_array_equal(mapped(exchange, axis_name="i")(*args), expected(*args))


def test_groups():
    """Each group exchanges among its own."""
    args = sample(1)
    pairs = [a[:, :2] if a.ndim == 2 else a for a in args[2:]]
    groups = [[0, 1], [2, 3]]
    f = pmap(
        lambda *a: lax.ragged_all_to_all(*a, axis_name="i", axis_index_groups=groups),
        axis_name="i",
    )
    sizes = np.ones((SIZE, 2), np.int32)
    places = np.array([[0, 0], [1, 1]] * 2, np.int32)
    out = f(args[0], args[1], pairs[0], sizes, places, sizes)
    for i in range(SIZE):
        for k in range(2):
            sender = i // 2 * 2 + k
            row = args[0][sender, pairs[0][sender, i % 2]]
            np.testing.assert_array_equal(out[i, k], row)


def test_derivatives():
    """It is linear in operand and output."""
    operand, output, *lists = sample()
    f = vmap(exchange, axis_name="i")
    rng = np.random.default_rng(1)
    ct = rng.standard_normal(output.shape).astype(np.float32)
    cts = covector.vjp(lambda x, y: f(x, y, *lists), operand, output)[1](ct)
    left = sum(np.vdot(a, b) for a, b in zip(cts, (operand, output), strict=True))
    np.testing.assert_allclose(left, np.vdot(ct, expected(operand, output, *lists)), rtol=1e-4)


def test_batched():
    """A batch axis besides the named one."""
    args = [np.stack(pair, 1) for pair in zip(sample(seed=0), sample(seed=1), strict=True)]
    out = vmap(vmap(exchange), axis_name="i")(*args)
    for k in range(2):
        np.testing.assert_array_equal(out[:, k], expected(*[a[:, k] for a in args]))


def test_empty_operand():
    args = sample()
    zeros = np.zeros_like(args[3])
    out = vmap(exchange, axis_name="i")(args[0][:, :0], args[1], args[2], zeros, args[4], zeros)
    np.testing.assert_array_equal(out, args[1])


BAD = [(0, np.ones((SIZE, 3))), (1, np.ones((SIZE, 3, 5))), (2, np.ones((SIZE, 8)))]
BAD += [(3, np.ones((SIZE, 8, 1), int)), (5, np.ones((SIZE, 4), int)), (4, np.ones((SIZE, 0), int))]


@pytest.mark.parametrize(("position", "value"), BAD)
def test_errors(position, value):
    args = list(sample())
    args[position] = value
    with pytest.raises(ValueError, match="ragged_all_to_all"):
        vmap(exchange, axis_name="i")(*args)


def test_unbound():
    with pytest.raises(NameError, match="ragged_all_to_all"):
        exchange(*[a[0] for a in sample()])


def test_is_a_primitive():
    args = sample()
    program = str(covector.make_jaxpr(exchange, axis_env=[("i", SIZE)])(*[a[0] for a in args]))
    assert program.count("ragged_all_to_all[") == 1
    assert lax.ragged_all_to_all_p.name == "ragged_all_to_all"


@pytest.mark.parametrize("mapped", [vmap, pmap])
def test_both_modes_agree(mapped):
    operand, output, *lists = sample()
    f = mapped(exchange, axis_name="i")
    square = lambda x, y: f(lax.mul(x, x), lax.mul(y, y), *lists)
    out, pull_back = covector.vjp(square, operand, output)
    weights = np.arange(out.size, dtype=np.float32).reshape(out.shape)
    slopes = pull_back(weights)
    tangents = [np.cos(operand), np.cos(output)]
    _, moved = covector.jvp(square, (operand, output), tangents)
    forward, backward = (
        np.sum(weights * moved),
        sum(np.sum(s * t) for s, t in zip(slopes, tangents)),
    )
    np.testing.assert_allclose(forward, backward, rtol=1e-5)


def test_psum_scatter_start_is_not_offered(oracle):
    oracle.compare_error(
        "jax.vmap(lambda x: lax.psum_scatter_start(x, 'i'), axis_name='i')(np.ones((2, 2)))"
    )


# --- pcast ---------------------------------------------------------------------------------------


def test_pcast(oracle):
    x = np.arange(4.0, dtype=np.float32)
    for mapped in (vmap, pmap):
        f = mapped(lambda v: lax.pcast(v, "i", to="varying"), axis_name="i")
        np.testing.assert_array_equal(f(x), x)
    np.testing.assert_array_equal(pmap(lambda v: lax.pcast(v, "i", to="reduced"), "i")(x), x)
    oracle.compare_error("jax.pmap(lambda v: lax.pcast(v, 'i', to='unreduced'), 'i')(x)", x=x[:1])
    oracle.compare("lax.pcast(x, (), to='varying')", x=x)
    oracle.compare("lax.pcast(x, None, to='reduced')", x=x)
    for call in (
        "lax.pcast(x, 'i', to='varying')",
        "lax.pcast(x, 'i', to='other')",
        "lax.pcast(x, 'i', to='reduced')",
        "lax.pcast(x, 'i', to='unreduced')",
    ):
        oracle.compare_error(call, x=x)

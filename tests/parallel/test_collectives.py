"""Collectives over a named axis, under `vmap` and under `pmap`, against the oracle and NumPy."""

import covector
import numpy as np
import pytest
from covector import lax, pmap, vmap
from oracle import Case

x = np.arange(8, dtype=np.float32)
m = np.arange(64, dtype=np.float32).reshape(8, 8)
t = np.arange(8 * 16 * 3, dtype=np.float32).reshape(8, 16, 3)
GROUPS = "[[0, 2, 4, 6], [1, 3, 5, 7]]"

# What a mapped function of `v`, the part of `x`, `m` or `t`, gives. (function, operand)
BOTH = [
    ("lax.psum(v, 'i')", "x"),
    ("lax.psum(v, ('i',))", "m"),
    ("lax.psum(v > 3, 'i')", "m"),
    ("lax.psum(v.astype('int8'), 'i')", "x"),
    ("lax.psum(v.astype(complex) * 1j, 'i')", "x"),
    ("lax.psum({'a': v, 'b': (v * 2, 1)}, 'i')", "x"),
    ("lax.psum(1, 'i') * v", "x"),
    ("lax.psum(2.5, 'i') + v", "x"),
    ("lax.psum(np.arange(2), 'i') + v", "x"),
    ("lax.psum(jnp.arange(2), 'i') + v", "x"),
    ("lax.psum(v, ())", "x"),
    ("lax.pmean(v, 'i')", "m"),
    ("lax.pmean(v.astype(int), 'i')", "x"),
    ("lax.pmean((v, 3), 'i')", "x"),
    ("lax.pmax(v, 'i')", "m"),
    ("lax.pmin(v, 'i')", "m"),
    ("lax.pmax(v > 3, 'i')", "x"),
    ("lax.pmin({'a': v.astype('int16')}, 'i')", "x"),
    ("lax.all_gather(v, 'i')", "x"),
    ("lax.all_gather(v, 'i', axis=1)", "m"),
    ("lax.all_gather(v, 'i', axis=-1)", "t"),
    ("lax.all_gather(v, 'i', axis=1, tiled=True)", "t"),
    ("lax.all_gather({'a': v}, 'i')", "x"),
    ("lax.all_gather(1.0, 'i') + v", "x"),
    ("lax.psum_scatter(v, 'i')", "m"),
    ("lax.psum_scatter(v, 'i', scatter_dimension=0, tiled=True)", "t"),
    ("lax.psum_scatter(v.T, 'i', scatter_dimension=1, tiled=True)", "t"),
    ("lax.psum_scatter(v.reshape(2, 8, 3), 'i', scatter_dimension=1)", "t"),
    ("lax.all_to_all(v, 'i', 0, 0)", "m"),
    ("lax.all_to_all(v, 'i', 0, 0, tiled=True)", "t"),
    ("lax.all_to_all(v, 'i', 0, 1, tiled=True)", "t"),
    ("lax.all_to_all(v.T, 'i', 1, 0, tiled=True)", "t"),
    ("lax.all_to_all(v.reshape(8, 2, 3), 'i', 0, 2)", "t"),
    ("lax.all_to_all(v.reshape(2, 8, 3), 'i', 1, 0)", "t"),
    ("lax.pswapaxes(v, 'i', 0)", "m"),
    ("lax.pswapaxes(v.reshape(2, 8, 3), 'i', 1)", "t"),
    ("lax.ppermute(v, 'i', [(k, (k + 3) % 8) for k in range(8)])", "m"),
    ("lax.ppermute((v, {'b': v + 1}), 'i', [(k, 7 - k) for k in range(8)])", "x"),
    ("lax.pshuffle(v, 'i', [3, 1, 2, 0, 7, 6, 5, 4])", "m"),
    ("lax.axis_index('i')", "x"),
    ("lax.axis_index('i') * v + lax.axis_size('i')", "m"),
    ("lax.psum(lax.axis_index('i'), 'i') + lax.psum(v, 'i')", "x"),
    ("jax.jit(lambda u: u / lax.psum(u, 'i'))(v)", "m"),
    ("lax.fori_loop(0, 3, lambda k, c: c + lax.pmean(c, 'i'), v)", "x"),
    ("lax.scan(lambda c, u: (c + lax.psum(u, 'i'), lax.pmax(c, 'i')), v[0], v)", "m"),
    ("lax.cond(lax.psum(v, 'i') > 3, lambda u: lax.psum(u, 'i'), lambda u: u, v)", "x"),
]
# What the oracle has under pmap alone.
ONLY_PMAP = [
    (f"lax.psum(v, 'i', axis_index_groups={GROUPS})", "x"),
    ("lax.psum(v, 'i', axis_index_groups=[[0, 1, 2], [3, 4, 5, 6, 7]])", "x"),
    (f"lax.pmax(v, 'i', axis_index_groups={GROUPS})", "m"),
    (f"lax.all_gather(v, 'i', axis_index_groups={GROUPS})", "m"),
    (f"lax.psum_scatter(v[:4], 'i', axis_index_groups={GROUPS})", "m"),
    (f"lax.all_to_all(v[:4], 'i', 0, 0, axis_index_groups={GROUPS})", "m"),
    ("lax.ppermute(v, 'i', [(k, k + 1) for k in range(7)])", "m"),
]


@pytest.mark.parametrize("mapping", ["vmap", "pmap"])
def test_equals_the_oracle(oracle, mapping):
    inputs = {"x": x, "m": m, "t": t}
    oracle.compare_many(
        [
            Case(f"jax.{mapping}(lambda v: {body}, axis_name='i')({arg})", {arg: inputs[arg]})
            for body, arg in (BOTH if mapping == "vmap" else BOTH + ONLY_PMAP)
        ]
    )


def under(mapping, function, *args):
    return np.asarray(mapping(function, axis_name="i")(*args))


@pytest.mark.parametrize("mapping", [vmap, pmap])
def test_what_the_oracle_lacks(mapping):
    shift = under(mapping, lambda v: lax.ppermute(v, "i", [(k, k + 1) for k in range(7)]), m)
    np.testing.assert_array_equal(shift, np.concatenate([np.zeros_like(m[:1]), m[:-1]]))
    nothing = under(mapping, lambda v: lax.ppermute(v, "i", []), x)
    np.testing.assert_array_equal(nothing, np.zeros(8))
    np.testing.assert_array_equal(
        under(mapping, lambda v: lax.pbroadcast(v, "i", 2), m), m[[2] * 8]
    )
    mask = under(mapping, lambda v: lax.pbroadcast(lax.gt(v, np.float32(3)), "i", 5), x)
    np.testing.assert_array_equal(mask, [True] * 8)
    largest = under(mapping, lambda v: lax.pmax(lax.complex(v, v), "i"), x)
    np.testing.assert_array_equal(largest, [7 + 7j] * 8)


def test_means_of_uneven_groups():
    # The oracle divides all sums by the size of the first group.
    groups = [[0, 1, 2], [3, 4, 5, 6, 7]]
    means = under(pmap, lambda v: lax.pmean(v, "i", axis_index_groups=groups), x)
    np.testing.assert_array_equal(means, [1] * 3 + [5] * 5)


# Several names: the second mapping is inside the first.
SEVERAL = {
    "lax.psum(v, ('i', 'j'))": lambda a: np.full(a.shape, a.sum()),
    "lax.psum(v, 'i')": lambda a: np.broadcast_to(a.sum(0), a.shape),
    "lax.psum(v, 'j')": lambda a: np.broadcast_to(a.sum(1, keepdims=True), a.shape),
    "lax.pmean(v, ('j', 'i'))": lambda a: np.full(a.shape, a.mean()),
    "lax.axis_index(('i', 'j'))": lambda a: np.arange(8).reshape(a.shape),
    "lax.axis_index(('j', 'i'))": lambda a: np.arange(8).reshape(a.shape[::-1]).T,
    "lax.all_gather(v, ('i', 'j'))": lambda a: np.broadcast_to(a.ravel(), (*a.shape, 8)),
    "lax.all_gather(v, ('j', 'i'))": lambda a: np.broadcast_to(a.T.ravel(), (*a.shape, 8)),
    "lax.all_gather(v, 'j')": lambda a: np.broadcast_to(a[:, None], (*a.shape, a.shape[1])),
    "lax.psum_scatter(lax.all_gather(v, ('i', 'j')), ('i', 'j'))": lambda a: 8 * a,
    "lax.psum_scatter(lax.all_gather(v, ('j', 'i')), ('j', 'i'))": lambda a: 8 * a,
    "lax.all_to_all(lax.all_gather(v, ('i', 'j')), ('i', 'j'), 0, 0)": lambda a: np.broadcast_to(
        a[..., None], (*a.shape, 8)
    ),
    "lax.axis_size(('i', 'j'))": lambda a: np.full(a.shape, 8),
}


@pytest.mark.parametrize("outer", [vmap, pmap])
@pytest.mark.parametrize("inner", [vmap, pmap])
@pytest.mark.parametrize("body", SEVERAL)
def test_several_names(outer, inner, body):
    a = np.arange(8, dtype=np.float32).reshape(4, 2)
    function = eval(f"lambda v: {body}", {"lax": lax})
    mapped = outer(inner(function, axis_name="j"), axis_name="i")
    np.testing.assert_array_equal(np.asarray(mapped(a)), SEVERAL[body](a))


def test_ppermute_over_two_axes_of_devices():
    pairs = [(k, (k + 1) % 8) for k in range(8)]
    both = pmap(pmap(lambda v: lax.ppermute(v, ("i", "j"), pairs), axis_name="j"), axis_name="i")
    np.testing.assert_array_equal(np.asarray(both(x.reshape(4, 2))), np.roll(x, 1).reshape(4, 2))


def test_the_innermost_axis_of_a_name_counts():
    for outer in (vmap, pmap):
        for inner in (vmap, pmap):
            total = outer(inner(lambda v: lax.psum(v, "i"), axis_name="i"), axis_name="i")
            a = x.reshape(4, 2)
            expected = np.broadcast_to(a.sum(1, keepdims=True), a.shape)
            np.testing.assert_array_equal(np.asarray(total(a)), expected)


def test_positional_axes():
    total = vmap(lambda v: lax.psum(v, ("i", 0)), axis_name="i")(m)
    np.testing.assert_array_equal(np.asarray(total), np.full(8, m.sum()))
    largest = pmap(lambda v: lax.pmax(v, ("i", 0)), axis_name="i")(m)
    np.testing.assert_array_equal(np.asarray(largest), np.full(8, m.max()))


def test_psum_of_a_number_is_a_number():
    seen = []

    def body(v):
        seen.extend([lax.psum(1, "i"), lax.psum(True, "i"), lax.psum(2.5, "i"), lax.axis_size("i")])
        return v

    for mapping in (vmap, pmap):
        mapping(body, axis_name="i")(x)
        assert seen == [8, 8, 20.0, 8] and [type(v) for v in seen] == [int, int, float, int]
        seen.clear()


def test_a_collective_of_what_is_not_mapped():
    w = np.float32(2)
    closed_over = covector.device_put(w)
    for mapping in (vmap, pmap):
        summed = under(mapping, lambda v: lax.add(v, lax.psum(lax.mul(closed_over, w), "i")), x)
        np.testing.assert_array_equal(summed, x + 32)
        inner = covector.jit(lambda: lax.axis_index("i"))
        index = under(mapping, lambda v, inner=inner: lax.add(inner(), np.int32(1)), x)
        np.testing.assert_array_equal(index, np.arange(1, 9))


UNBOUND = [
    "lax.psum(1.0, 'i')",
    "lax.pmean(1.0, 'i')",
    "lax.pmax(1.0, 'i')",
    "lax.all_gather(1.0, 'i')",
    "lax.psum_scatter(1.0, 'i')",
    "lax.axis_index('i')",
    "lax.axis_size('i')",
    "covector.jit(lambda v: lax.psum(v, 'i'))(1.0)",
    "vmap(lambda v: lax.psum(v, 'j'), axis_name='i')(x)",
    "pmap(lambda v: lax.psum(v, 'j'), axis_name='i')(x)",
]


@pytest.mark.parametrize("snippet", UNBOUND)
def test_unbound_names(snippet):
    with pytest.raises(NameError, match="unbound axis name: "):
        eval(snippet)


ERRORS = [
    "jax.vmap(lambda v: lax.psum('a', 'i'), axis_name='i')(x)",
    "jax.vmap(lambda v: lax.all_gather(v, 'i', axis=2), axis_name='i')(x)",
    "jax.vmap(lambda v: lax.psum_scatter(v, 'i', scatter_dimension=2), axis_name='i')(x)",
    "jax.vmap(lambda v: lax.all_to_all(v, 'i', 0, 0), axis_name='i')(x)",
    "jax.vmap(lambda v: lax.all_to_all(v[:4], 'i', 0, 0), axis_name='i')(m)",
    "jax.pmap(lambda v: lax.ppermute(v, 'i', [(0, 1), (0, 2)]), axis_name='i')(x)",
    f"jax.vmap(lambda v: lax.psum(v, 'i', axis_index_groups={GROUPS}), axis_name='i')(x)",
    f"jax.vmap(lambda v: lax.all_gather(v, 'i', axis_index_groups={GROUPS}), axis_name='i')(x)",
]


def test_errors_of_the_oracle(oracle):
    oracle.compare_many([Case(snippet, {"x": x, "m": m}, may_raise=True) for snippet in ERRORS])


MESSAGES = {
    "lax.psum(v, 'j')": (NameError, r"unbound axis name: j\. psum .*axis_name='j'.*scope: 'i'"),
    "lax.psum(v, ('i', 'i'))": (ValueError, "psum: axis_name names an axis more than once"),
    "lax.psum(v, ('i', 'j'), axis_index_groups=[[0]])": (NameError, "unbound axis name: j"),
    "lax.psum(v, 'i', axis_index_groups=[[0, 1], [2, 3]])": (ValueError, "from 0 to 7 just once"),
    "lax.all_gather(v, 'i', axis_index_groups=[[0, 1, 2], [3, 4, 5, 6, 7]])": (
        ValueError,
        "groups of one size",
    ),
    "lax.all_gather(v, 'i', to='reduced')": (NotImplementedError, "to must be 'varying'"),
    "lax.ppermute(v, 'i', [(0, 1), (9, 2)])": (ValueError, "indices from 0 to 7 along axis 'i'"),
    "lax.pshuffle(v, 'i', [1, 0, 2])": (ValueError, "pshuffle: perm must be an order of 0 to 7"),
    "lax.psum_scatter(lax.full((6,), v), 'i', tiled=True)": (
        ValueError,
        "divisible by .*8.* size 6",
    ),
    "lax.all_to_all(lax.full((4,), v), 'i', 0, 0)": (
        ValueError,
        "split_axis must equal .*8.*size 4",
    ),
}


@pytest.mark.parametrize("mapping", [vmap, pmap])
@pytest.mark.parametrize("body", MESSAGES)
def test_error_messages(mapping, body):
    error, message = MESSAGES[body]
    with pytest.raises(error, match=message):
        mapping(eval(f"lambda v: {body}", {"lax": lax}), axis_name="i")(x)

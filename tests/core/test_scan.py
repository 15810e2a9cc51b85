"""`scan`, `map`, `associative_scan`: values, derivatives, batching, what is stacked, bad input."""

from __future__ import annotations

import covector as cv
import numpy as np
import pytest
from core.transformed import check
from covector import lax
from covector._run import compile as compile_module
from covector._transform.transpose import transpose
from oracle import Case

SCANS = {
    "running sum": """
f = lambda c, xs: lax.scan(lambda c, x: (lax.add(c, x), lax.mul(c, x)), c, xs)
args = (np.float32(0.5), np.array([0.1, 0.2, 0.3], np.float32))
""",
    "recurrent network": """
def f(w, h, xs):
    def step(h, x):
        rows = lax.mul(w, lax.broadcast_in_dim(h, (2, 2), (1,)))
        h = lax.tanh(lax.add(lax.reduce_sum(rows, (1,)), x))
        return h, lax.mul(h, h)
    return lax.scan(step, h, xs)
args = (np.array([[0.1, 0.5], [-0.4, 0.3]], np.float32), np.array([1.0, 0.5], np.float32),
        np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]], np.float32))
""",
    "integer carry": """
table = np.array([0.2, 0.4, 0.6, 0.8], np.float32)
def f(x, xs):
    def step(carry, y):
        i, c = carry
        here = lax.dynamic_index_in_dim(xs, i, 0, False)
        c = lax.mul(lax.add(c, here), lax.dynamic_index_in_dim(table, i, 0, False))
        return (lax.add(i, 1), c), (i, lax.mul(c, y))
    return lax.scan(step, (0, x), xs)
args = (np.float32(0.5), np.array([0.1, 0.2, 0.3], np.float32))
""",
    "reverse, unrolled": """
f = lambda c, xs: lax.scan(lambda c, x: (lax.sin(lax.mul(c, x)), c), c, xs, reverse=True, unroll=2)
args = (np.float32(0.5), np.array([1.1, 1.2, 1.3, 1.4, 1.5], np.float32))
""",
    "written out": """
f = lambda c, xs: lax.scan(lambda c, x: (lax.sin(lax.mul(c, x)), c), c, xs, unroll=True)
args = (np.float32(0.5), np.array([1.1, 1.2, 1.3], np.float32))
""",
    "written out in reverse": """
f = lambda c, xs: lax.scan(lambda c, x: (lax.sin(lax.mul(c, x)), c), c, xs, reverse=True, unroll=7)
args = (np.float32(0.5), np.array([1.1, 1.2, 1.3], np.float32))
""",
    "transposed apart": """
def f(w, b, h, xs):
    def step(h, x):
        h = lax.tanh(lax.add(lax.dot(h, w), lax.mul(b, x)))
        return h, lax.mul(h, x)
    return lax.scan(step, h, xs, _split_transpose=True)
args = (np.array([[0.1, 0.5], [-0.4, 0.3]], np.float32), np.array([[1.0, 0.5]], np.float32),
        np.array([[0.3, 0.2]], np.float32),
        np.array([[[0.1, 0.2]], [[0.3, 0.4]], [[0.5, 0.6]]], np.float32))
""",
    "no xs": """
f = lambda c, w: lax.scan(lambda c, _: (lax.mul(lax.sin(c), w), None), c, None, length=4)
args = (np.float32(0.5), np.float32(1.5))
""",
    "no carry": """
f = lambda w, xs: lax.scan(lambda c, x: (c, {"y": lax.mul(lax.exp(w), x)}), (), xs)
args = (np.float32(0.5), np.array([1.1, 1.2, 1.3], np.float32))
""",
    "no steps": """
f = lambda c, xs: lax.scan(lambda c, x: (lax.mul(c, x), lax.sin(x)), c, lax.slice(xs, (0,), (0,)))
args = (np.float32(0.5), np.array([1.1, 1.2, 1.3], np.float32))
""",
    "one step": """
f = lambda c, xs: lax.scan(lambda c, x: (lax.mul(c, x), lax.sin(x)), c, xs)
args = (np.float32(0.5), np.array([1.1], np.float32))
""",
    "constant carry begins at zero": """
def f(w, xs):
    step = lambda c, x: (lax.add(lax.mul(lax.sin(w), x), c), lax.mul(c, w))
    return lax.scan(step, np.float32(0.0), xs)
args = (np.float32(0.5), np.array([1.1, 1.2, 1.3], np.float32))
""",
    "carries change places": """
def f(a, b, c):
    def step(carry, _):
        a, b, c = carry
        return (b, c, lax.mul(lax.cos(a), np.float32(2))), a
    return lax.scan(step, (a, np.float32(0.25), c), None, length=5)
args = (np.float32(0.5), np.float32(0.7), np.float32(0.3))
""",
    "trees": """
def f(a, xs, ys):
    def step(carry, z):
        out = {"new": lax.mul(carry["p"][0], z[0])}
        q = lax.add(carry["p"][1], z[1]["v"])
        return {"p": (carry["q"], carry["p"][0]), "q": q}, (out, [])
    init = {"p": (a, np.float32(2)), "q": np.float32(3)}
    return lax.scan(step, init, (xs, {"v": ys, "n": None}))
args = (np.float32(0.5), np.array([1.1, 1.2], np.float32), np.array([1.4, 1.5], np.float32))
""",
    "passes through": """
def f(a, b, xs):
    step = lambda c, x: ((c[0], lax.mul(lax.sin(c[0]), c[1])), (x, c[0], c[1]))
    return lax.scan(step, (a, b), xs)
args = (np.float32(0.5), np.float32(0.7), np.array([1.1, 1.2, 1.3], np.float32))
""",
    "nested": """
def f(w, xs):
    def outer(c, row):
        inner = lambda d, x: (lax.mul(lax.sin(d), lax.add(x, c)), lax.mul(d, w))
        d, ys = lax.scan(inner, c, row)
        return lax.mul(d, w), ys
    return lax.scan(outer, w, xs)
args = (np.float32(1.5), np.array([[1.1, 1.2, 1.3], [0.4, 0.5, 0.6]], np.float32))
""",
    "scan of cond": """
def f(w, xs):
    def step(c, x):
        other = lambda c: lax.sin(lax.add(c, x))
        c = lax.cond(lax.gt(x, np.float32(0)), lambda c: lax.mul(c, w), other, c)
        return c, c
    return lax.scan(step, w, xs)
args = (np.float32(1.5), np.array([1.1, -1.2, 1.3], np.float32))
""",
    "hoisted": """
def f(w, xs):
    def step(c, x):
        return lax.mul(lax.add(c, x), lax.mul(lax.sin(w), lax.exp(w))), lax.mul(x, lax.sin(w))
    return lax.scan(step, w, xs)
args = (np.float32(1.5), np.array([1.1, -1.2, 1.3], np.float32))
""",
    "complex": """
def f(w, xs):
    def step(c, x):
        z = lax.mul(c, lax.complex(w, x))
        return z, lax.real(z)
    return lax.scan(step, np.complex64(1 + 2j), xs)
args = (np.float32(0.5), np.array([1.1, -1.2, 1.3], np.float32))
""",
    "jitted body": """
def f(w, xs):
    step = jax.jit(lambda c, x: ((lax.add(c[0], 1), lax.mul(lax.sin(c[1]), x)), lax.mul(c[1], w)))
    return lax.scan(step, (0, w), xs)
args = (np.float32(0.5), np.array([1.1, -1.2, 1.3], np.float32))
""",
    "map": """
f = lambda w, xs: lax.map(lambda x: lax.mul(lax.sin(x), w), xs)
args = (np.float32(0.5), np.array([1.1, -1.2, 1.3], np.float32))
""",
    "map in batches": """
f = lambda w, xs: lax.map(lambda x: (lax.mul(lax.sin(x), w), 2), xs, batch_size=2)
args = (np.float32(0.5), np.array([1.1, -1.2, 1.3, 1.4, 1.5], np.float32))
""",
}


# Those that go through every stack of transformations; the others through a few.
THOROUGH = ("recurrent network", "integer carry", "carries change places", "nested", "scan of cond")


@pytest.mark.parametrize("name", SCANS)
def test_scan_under_transformations(oracle, name):
    check(oracle, SCANS[name], "reverse" if name in THOROUGH else "few")


def test_scan_in_double_precision(oracle):
    check(oracle.using(x64=True), SCANS["recurrent network"].replace("float32", "float64"))


# Results with their dtypes and weak types.
VALUES = (
    "lax.scan(lambda c, x: (lax.add(c, 1.0), x), 0.0, ones)",
    "lax.scan(lambda c, x: (lax.add(c, x), c), 0.0, ones)",
    "lax.scan(lambda c, x: (lax.mul(lax.convert_element_type(c, np.float32), x), c), 0, ones)",
    "lax.scan(lambda c, x: (2.0, c), np.float32(1), ones)",
    "lax.scan(lambda c, x: (lax.mul(c, 2.0), 1), np.float32(1), ones)",
    "lax.scan(lambda c, x: ((c[1], x), c), (0.0, 0.0), ones)",
    "lax.scan(lambda c, x: [lax.add(c, x), {'y': x}], 1.0, ones, reverse=True)",
    "lax.scan(lambda c, x: (None, None), None, ones)",
    "lax.scan(lambda c, x: (lax.bitwise_not(c), c), True, None, length=3)",
    "lax.scan(lambda c, x: (lax.add(c, x), c), np.int8(1), np.arange(3, dtype=np.int8))",
    "lax.scan(lambda c, x: (lax.mul(c, x), c), np.float32(1), ones, _split_transpose=True)",
    "lax.scan(lambda c, x: (lax.add(c, x), x), np.float32(1), ones, unroll=False)",
    "lax.scan(lambda c, x: (lax.add(c, 1), lax.mul(x, x)), 0, np.ones((3, 0), np.float32))",
    "lax.map(lambda x: 1.0, ones)",
    "lax.map(lambda x: (x, 2), {'a': ones})",
    "lax.map(lambda x: (lax.neg(x), 2), {'a': np.arange(5)}['a'], batch_size=2)",
    "lax.map(lambda x: (lax.neg(x['a']), 2), {'a': np.arange(4)}, batch_size=2)",
    "lax.map(lambda x: lax.neg(x), np.ones((0, 3), np.float32), batch_size=2)",
    "lax.map(lambda x: lax.neg(x), np.ones((2, 3), np.float32), batch_size=7)",
    "lax.associative_scan(lax.add, np.arange(6))",
    "[lax.associative_scan(lax.mul, np.arange(1, n + 1)) for n in (2, 3, 4, 7)]",
    "[lax.associative_scan(lax.max, np.cos(np.arange(5.0)), reverse=r) for r in (False, True)]",
    "lax.associative_scan(lambda a, b: (lax.mul(a[0], b[0]), lax.add(lax.mul(a[1], b[0]), b[1])), "
    "(np.linspace(0.5, 1, 14).reshape(2, 7), np.linspace(2, 3, 14).reshape(2, 7)), axis=-1)",
    "jax.grad(lambda x: lax.reduce_sum(lax.associative_scan(lax.mul, x), (0,)))(ones)",
    "jax.vmap(lambda x: lax.associative_scan(lax.add, x))(np.ones((2, 3), np.float32))",
)


def test_values(oracle):
    prelude = "ones = jax.device_put(np.ones(2, np.float32))\n"
    oracle.compare_many([Case(prelude + value) for value in VALUES])


# What a JAX user gets for bad input, and a part of our message.
ERRORS = {
    "lax.scan(lambda c, x: (lax.convert_element_type(c, np.int32), x), ones, ones)": (
        r"c comes in as float32\[2\] and goes out as int32\[2\], so the dtypes do not match"
    ),
    "lax.scan(lambda c, x: ({**c, 'b': np.float32(1)}, x), {'a': 1.0, 'b': ones}, ones)": (
        r"c\['b'\] comes in as float32\[2\] and goes out as float32\[\], so the shapes"
    ),
    "lax.scan(lambda c, x: ((c, c), x), ones, ones)": "the output is a tuple of 2 but the input is",
    "lax.scan(lambda c, x: ({'b': c['a']}, x), {'a': 1.0}, ones)": (
        r"the input is a dict with the keys \['a'\] but the output is a dict with the keys \['b'\]"
    ),
    "lax.scan(lambda c, x: c, ones, ones)": r"a pair \(carry, y\), but <lambda> returned an array",
    "lax.scan(lambda c, x: (c, x, x), ones, ones)": "returned a tuple of 3",
    "lax.scan(lambda c, x: (c, x), 0.0, (ones, np.ones(3)))": (
        r"different leading axis sizes: 2 \(xs\[0\]\), 3 \(xs\[1\]\)"
    ),
    "lax.scan(lambda c, x: (c, x), 0.0, ones, length=3)": "`length` argument of 3 which disagrees",
    "lax.scan(lambda c, x: (c, x), 0.0, 1.0)": "no leading axis to scan over: xs is a scalar",
    "lax.scan(lambda c, x: (c, x), 0.0, [1.0, 2.0])": r"over: xs\[0\] is a scalar",
    "lax.scan(lambda c, x: (c, x), 0.0)": "no values to scan over and `length` not provided",
    "lax.scan(lambda c, x: (c, x), 'a', ones)": "lax.scan: c is not a valid argument.*'a'",
    "lax.scan(lambda c, x: (c, x), 0.0, 'ab')": "lax.scan: xs is not a valid argument.*'ab'",
    "lax.scan(lambda c, x: (c, 'a'), 0.0, ones)": "<lambda> returned a value of type <class 'str'>",
    "lax.scan(lambda c, x: (c, x), 0.0, ones, unroll=-1)": "non-negative `int`, got -1",
    "lax.scan(3, 0.0, ones)": "f argument should be a callable, got 3",
    "jax.jit(lambda n: lax.scan(lambda c, x: (c, x), 0.0, None, length=n))(3)": (
        "`length` argument to `scan` expects a concrete `int`"
    ),
    "lax.map(lambda x: x, 1.0)": "no leading axis",
    "lax.map(lambda x: x, (ones, np.ones(3)))": "different leading axis sizes",
    "lax.map(lambda x: x, ones, batch_size=-3)": "batch_size must be positive, got -3",
    "lax.associative_scan(3, ones)": "fn argument should be a callable",
    "lax.associative_scan(lambda a, b: a, (ones, np.ones(3)))": (
        r"elems\[0\] of shape \(2,\) and elems\[1\] of shape \(3,\) differ along axis 0"
    ),
    "lax.associative_scan(lambda a, b: a, ones, axis=1)": "axis 1 is out of bounds",
    "lax.associative_scan(lambda a, b: (a, a), ones)": "the result of fn is a tuple of 2",
}


@pytest.mark.parametrize(("snippet", "message"), ERRORS.items(), ids=ERRORS)
def test_bad_input(oracle, snippet, message):
    error = oracle.compare_error(f"ones = jax.device_put(np.ones(2, np.float32))\n{snippet}")
    with pytest.raises(Exception, match=message):
        raise Exception(error.message)  # the message alone, whatever the class


@pytest.mark.parametrize("length", [-1, 2.5, "a"])
def test_length_must_be_a_count(length):
    with pytest.raises((TypeError, ValueError), match="length"):
        lax.scan(lambda c, x: (c, x), 0.0, None, length=length)


def test_associative_scan_wants_the_shapes_of_its_arguments():
    with pytest.raises(ValueError, match=r"from \(2,\) it made \(1,\)"):
        lax.associative_scan(lambda a, b: lax.slice_in_dim(a, 0, 1), np.ones(4, np.float32))


# --- what is stacked ------------------------------------------------------------------------------


def scans_of(function, *args):
    """The scans in the program of a function, outermost only."""
    jaxpr = cv.make_jaxpr(function)(*args).jaxpr
    return [eqn for eqn in jaxpr.eqns if eqn.primitive.name == "scan"]


def total_of(ys):
    return lax.reduce_sum(ys, tuple(range(ys.ndim)))


def test_residuals_that_do_not_vary_are_not_stacked():
    def f(w, xs):
        def step(c, x):
            gain = lax.mul(lax.exp(w), lax.sin(w))  # depends on a constant alone
            return lax.mul(gain, lax.add(c, x)), None

        return total_of(lax.scan(step, lax.full_like(w, 0.5), xs)[0])

    w, xs = np.ones((7, 7), np.float32), np.ones((3, 7, 7), np.float32)
    forward, backward = scans_of(cv.grad(f), w, xs)
    # Only the sum c + x varies; the two factors and the gain are computed before the loop.
    assert [v.aval.shape for v in forward.outvars] == [(7, 7), (3, 7, 7)]
    assert not any(eqn.primitive.name in ("exp", "sin") for eqn in forward.params["jaxpr"].eqns)
    stacked = backward.invars[backward.params["num_consts"] + backward.params["num_carry"] :]
    assert [v.aval.shape for v in stacked] == [(3, 7, 7)]


def test_residuals_are_taken_from_xs_and_ys():
    def f(c, xs):
        def step(c, x):
            y = lax.exp(lax.mul(c, x))  # needs c, x and y
            return y, y

        return total_of(lax.scan(step, c, xs)[1])

    forward, backward = scans_of(cv.grad(f, (0, 1)), np.float32(0.5), np.ones(3, np.float32))
    # One carry, one y, and the carry that came in: neither x nor y a second time.
    assert len(forward.outvars) == 3
    assert forward.outvars[1] in backward.invars
    assert forward.invars[-1] in backward.invars


def test_of_a_value_that_is_spread_only_the_source_is_stacked():
    def f(w, xs):
        def step(c, x):
            wide = lax.broadcast_in_dim(lax.exp(x), (9, 5), (1,))
            return lax.add(c, lax.mul(w, wide)), None

        return total_of(lax.scan(step, w, xs)[0])

    w, xs = np.ones((9, 5), np.float32), np.ones((3, 5), np.float32)
    forward, _ = scans_of(cv.grad(f), w, xs)
    assert [v.aval.shape for v in forward.outvars] == [(9, 5), (3, 5)]


def test_carries_that_never_change_are_not_carried():
    def f(a, b, xs):
        return lax.scan(lambda c, x: ((c[0], lax.mul(c[1], c[0])), x), (a, b), xs)

    (scan,) = scans_of(f, np.float32(1), np.float32(2), np.ones(3, np.float32))
    assert (scan.params["num_consts"], scan.params["num_carry"]) == (1, 1)
    assert len(scan.outvars) == 1  # and xs are not copied into ys


def test_tangents_only_where_there_are_any():
    def f(x, xs):
        def step(carry, y):
            i, a, b = carry
            return (lax.add(i, 1), lax.mul(a, x), lax.add(b, y)), b

        return lax.scan(step, (0, np.float32(1), np.float32(2)), xs)

    direction = lambda x: cv.jvp(lambda x: f(x, np.ones(3, np.float32)), (x,), (x,))[1]
    (scan,) = scans_of(direction, np.float32(2))
    assert scan.params["num_carry"] == 4  # i, a, b, and the tangent of a


def test_a_carry_that_is_known_is_computed_before_the_transpose():
    def f(x):
        def step(carry, _):
            i, c = carry
            return (lax.add(i, 1.0), lax.mul(c, i)), lax.mul(c, 2.0)

        return lax.scan(step, (1.0, x), None, length=3)

    jaxpr = cv.make_jaxpr(f)(np.float32(1)).jaxpr
    # The known carry's cotangent is ignored: it does not depend on x.
    derived, out_mask = transpose(jaxpr, (True,), (False, True, True))
    assert out_mask == (True,)
    (ct,) = cv._trace.trace.EVAL.call(derived, [np.float32(1), np.ones(3, np.float32)])
    assert float(ct) == 1 * 2 * 3 + 2 * (1 + 1 + 2)


# --- compiling ------------------------------------------------------------------------------------


@pytest.fixture
def compiles(monkeypatch):
    """The names of programs compiled (or loaded from disk) during the test."""
    names = []
    real = compile_module.compile_text

    def counted(lowered, *args, **kwargs):
        names.append(lowered.bare_text.split('"')[1])
        return real(lowered, *args, **kwargs)

    monkeypatch.setattr(compile_module, "compile_text", counted)
    return names


def test_fresh_bodies_are_compiled_once(compiles):
    xs = np.arange(11, dtype=np.float32)
    for _ in range(3):
        lax.scan(lambda c, x: (lax.sub(c, x), c), np.float32(1), xs)
        cv.grad(lambda a: lax.scan(lambda c, x: (lax.mul(lax.cos(c), x), None), a, xs)[0])(1.5)
    assert compiles.count("jit_scan") == 3  # the first, and the two halves of the second


def test_a_body_sees_rebound_variables():
    factor = 2.0
    body = lambda c, x: (lax.mul(c, factor), None)
    assert float(lax.scan(body, 1.0, None, length=2)[0]) == 4.0
    factor = 3.0
    assert float(lax.scan(body, 1.0, None, length=2)[0]) == 9.0


@pytest.mark.parametrize(
    ("length", "unroll", "loops", "steps"),
    [(6, 1, 1, 1), (7, 3, 1, 4), (4, True, 0, 4), (1, 1, 0, 1)],
)
def test_unrolling_in_the_module(length, unroll, loops, steps):
    def f(c, xs):
        return lax.scan(lambda c, x: (lax.mul(lax.sin(c), x), c), c, xs, unroll=unroll)

    xs = np.ones(length, np.float32)
    text = cv.jit(f).lower(np.float32(1), xs).as_text()
    assert text.count("stablehlo.while") == loops
    assert text.count("stablehlo.sine") == steps


# --- in company -----------------------------------------------------------------------------------


def test_without_jit_bodies_run_as_python():
    seen = []

    def step(c, x):
        seen.append(float(x))
        return lax.add(c, x), {"y": (c, None)}

    with cv.disable_jit():
        carry, ys = lax.scan(step, 0.0, np.arange(3, dtype=np.float32), reverse=True)
        with pytest.raises(ValueError, match="zero-length scan"):
            lax.scan(step, 0.0, np.arange(0, dtype=np.float32))
    assert seen == [2.0, 1.0, 0.0]
    assert float(carry) == 3.0
    np.testing.assert_array_equal(ys["y"][0], [3.0, 2.0, 0.0])


def test_derivative_rules_of_functions_inside():
    @cv.custom_vjp
    def square(x):
        return lax.mul(x, x)

    square.defvjp(lambda x: (lax.mul(x, x), x), lambda x, ct: (lax.mul(ct, lax.mul(x, 10.0)),))

    def f(x):
        return lax.scan(lambda c, _: (square(c), None), x, None, length=2)[0]

    expected = 10.0 * 1.5 * 10.0 * 1.5**2
    np.testing.assert_allclose(cv.grad(f)(1.5), expected, rtol=1e-6)
    np.testing.assert_allclose(cv.jit(cv.grad(f))(1.5), expected, rtol=1e-6)


def test_collectives_inside():
    def f(x):
        def step(c, _):
            return lax.psum(lax.mul(c, np.float32(0.5)), "i"), lax.axis_index("i")

        return lax.scan(step, x, None, length=3)

    carry, indices = cv.vmap(f, axis_name="i")(np.arange(3, dtype=np.float32))
    np.testing.assert_array_equal(carry, [3.375] * 3)
    np.testing.assert_array_equal(indices, [[0] * 3, [1] * 3, [2] * 3])


def test_an_escaped_slice_is_reported():
    kept = []

    def step(c, x):
        kept.append(x)
        return c, x

    lax.scan(step, 0.0, np.ones(3, np.float32))
    with pytest.raises(cv.errors.UnexpectedTracerError, match="had ended"):
        lax.sin(kept[0])


def test_typed_keys_are_carried_and_scanned():
    random = pytest.importorskip("covector.random", reason="typed keys are covector-random's")
    keys = random.split(random.key(0), 3)
    alone = [float(random.uniform(keys[i])) for i in range(3)]
    f = random.uniform
    np.testing.assert_array_equal(lax.scan(lambda c, k: (c, f(k)), 0.0, keys)[1], alone)
    np.testing.assert_array_equal(lax.map(f, keys, batch_size=2), alone)
    with cv.disable_jit():
        np.testing.assert_array_equal(lax.scan(lambda c, k: (c, f(k)), 0.0, keys)[1], alone)
    carried, _ = lax.scan(lambda k, _: (random.split(k)[0], None), keys[0], None, length=2)
    np.testing.assert_array_equal(
        random.key_data(carried), random.key_data(random.split(random.split(keys[0])[0])[0])
    )
    with pytest.raises(ValueError, match="no leading axis to scan over: xs is a scalar"):
        lax.scan(lambda c, k: (c, f(k)), 0.0, keys[0])
    with pytest.raises(TypeError, match="c comes in as"):
        lax.scan(lambda c, _: (random.split(c), None), keys[0], None, length=2)


def test_transposed_apart():
    """Backward, the loop is for the carry alone; the weights' gradient is one product."""
    xs, w = np.ones((5, 2, 3), np.float32), np.full((3, 3), 0.1, np.float32)

    def total(w, split):
        def step(h, x):
            return lax.tanh(lax.add(lax.dot(h, w), x)), None

        h = lax.scan(step, lax.full((2, 3), 0.0), xs, _split_transpose=split)[0]
        return lax.reduce_sum(h, (0, 1))

    apart, together = (cv.make_jaxpr(cv.grad(lambda w, s=s: total(w, s)))(w) for s in (True, False))
    backward = [[e for e in p.eqns if e.primitive.name == "scan"][1] for p in (apart, together)]
    carries = [eqn.params["num_carry"] for eqn in backward]
    assert carries == [1, 2]
    assert apart.eqns[-1].primitive.name == "dot_general"
    results = [cv.jit(cv.grad(lambda w, s=s: total(w, s)))(w) for s in (True, False)]
    np.testing.assert_allclose(results[0], results[1], rtol=1e-5)

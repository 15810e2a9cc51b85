"""`while_loop`, `fori_loop`: values, derivatives, batching, and bad input."""

from __future__ import annotations

import covector as cv
import numpy as np
import pytest
from core.transformed import check
from covector import lax
from covector._run import compile as compile_module
from oracle import Case

FORI_LOOPS = {
    "known bounds": """
def f(x, w):
    step = lambda i, c: lax.mul(lax.sin(c), lax.add(w, lax.convert_element_type(i, np.float32)))
    return lax.fori_loop(1, 4, step, x)
args = (np.float32(0.5), np.float32(0.25))
""",
    "known bounds, unrolled": """
step = lambda i, c: lax.mul(lax.sin(c), lax.convert_element_type(i, np.float32))
f = lambda x: lax.fori_loop(np.int32(-1), np.int32(4), step, x, unroll=2)
args = (np.float32(0.5),)
""",
    "no steps": """
f = lambda x: lax.fori_loop(4, 1, lambda i, c: (lax.sin(c[0]), c[1]), (x, x))
args = (np.float32(0.5),)
""",
}
WHILE_LOOPS = {
    "bounds that are traced": """
def f(x, w):
    step = lambda i, c: lax.mul(lax.sin(c), lax.add(w, lax.convert_element_type(i, np.float32)))
    n = lax.convert_element_type(lax.mul(w, np.float32(8)), np.int32)
    return jax.jit(lambda n: lax.fori_loop(0, n, step, x))(n)
args = (np.float32(0.5), np.float32(0.5))
""",
    "one carry": """
f = lambda x, w: lax.while_loop(lambda c: lax.lt(c, np.float32(5)), lambda c: lax.mul(c, w), x)
args = (np.float32(0.5), np.float32(1.5))
""",
    "condition closes over": """
step = lambda c: lax.mul(c, np.float32(1.5))
f = lambda x, stop: lax.while_loop(lambda c: lax.lt(c, stop), step, x)
args = (np.float32(0.5), np.float32(5))
""",
    "a counter": """
def f(x, v):
    step = lambda c: (lax.add(c[0], 1), {"a": lax.mul(lax.sin(c[1]["a"]), v), "b": c[1]["a"]})
    return lax.while_loop(lambda c: lax.lt(c[0], 3), step, (0, {"a": v, "b": lax.mul(v, x)}))[1]
args = (np.float32(0.5), np.array([0.5, 0.25], np.float32))
""",
    "passes through": """
def f(x, y):
    step = lambda c: (lax.mul(c[0], np.float32(2)), c[1], lax.mul(c[2], c[1]))
    return lax.while_loop(lambda c: lax.lt(c[0], np.float32(9)), step, (x, y, np.float32(1)))
args = (np.float32(0.5), np.float32(0.25))
""",
    "nested": """
def f(x, y):
    def inner(c):
        going = lambda d: lax.lt(d, lax.mul(c, np.float32(4)))
        return lax.while_loop(going, lambda d: lax.mul(d, y), c)
    return lax.while_loop(lambda c: lax.lt(c, np.float32(50)), inner, x)
args = (np.float32(0.5), np.float32(1.5))
""",
    "in a scan": """
def f(x, ys):
    def inner(c, y):
        going = lambda d: lax.lt(d, lax.add(c, y))
        return lax.while_loop(going, lambda d: lax.mul(d, np.float32(1.5)), c)
    return lax.scan(lambda c, y: (inner(c, y), c), x, ys)
args = (np.float32(0.5), np.array([0.5, 0.25], np.float32))
""",
    "in a branch": """
def f(x, y):
    loop = lambda c: lax.while_loop(lambda d: lax.lt(d, np.float32(2)), lambda d: lax.mul(d, y), c)
    return lax.cond(lax.gt(x, np.float32(0.4)), loop, lambda c: lax.mul(c, y), x)
args = (np.float32(0.5), np.float32(1.5))
""",
}


@pytest.mark.parametrize("name", FORI_LOOPS)
def test_fori_loop_under_transformations(oracle, name):
    check(oracle, FORI_LOOPS[name], "reverse" if name == "known bounds" else "few")


@pytest.mark.parametrize("name", WHILE_LOOPS)
def test_while_loop_under_transformations(oracle, name):
    check(oracle, WHILE_LOOPS[name], "forward")


# Results with their dtypes and weak types.
VALUES = (
    "lax.while_loop(lambda x: lax.lt(x, 3.0), lambda x: lax.add(x, 1.5), 0.0)",
    "lax.while_loop(lambda x: lax.lt(x, x), lambda x: 5.0, np.float32(0))",
    "lax.while_loop(lambda x: lax.lt(lax.convert_element_type(x, np.float32), 3.0), "
    "lambda x: 5.0, 0)",
    "lax.while_loop(lambda x: lax.lt(x['i'], 3), "
    "lambda x: {'i': lax.add(x['i'], 1), 'n': None, 'v': lax.neg(x['v'])}, "
    "{'i': 0, 'n': None, 'v': np.ones(2, np.float32)})",
    "lax.fori_loop(0, 3, lambda i, x: lax.add(x, lax.convert_element_type(i, np.float32)), 1.0)",
    "lax.fori_loop(0, 3, lambda i, x: i, 1)",
    "lax.fori_loop(np.int8(0), 3, lambda i, x: i, 1)",
    "lax.fori_loop(np.uint8(0), np.uint8(3), lambda i, x: (i, lax.add(x[1], 1)), (1, 2))",
    "lax.fori_loop(5, 3, lambda i, x: i, 1)",
    "lax.fori_loop(0.0, 2.5, lambda i, x: i, 1)",
    "lax.fori_loop(0, 5, lambda i, x: lax.add(x, i), 0, unroll=2)",
    "lax.fori_loop(0, 5, lambda i, x: lax.add(x, i), 0, unroll=True)",
    "jax.jit(lambda n: lax.fori_loop(0, n, lambda i, x: i, 1))(3)",
    "jax.jit(lambda n: lax.fori_loop(0, n, lambda i, x: i, 1))(np.int8(3))",
    "jax.jit(lambda n: lax.fori_loop(n, 5, lambda i, x: lax.add(x, i), 1))(3)",
    "jax.jit(lambda n: lax.fori_loop(np.int8(1), n, lambda i, x: i, np.int8(1)))(np.int8(3))",
    "jax.vmap(lambda n: lax.fori_loop(0, n, lambda i, x: lax.add(x, i), 0))(np.array([3, 0, 5]))",
    # Bounds that are concrete arrays, and what does not depend on a loop, can be differentiated.
    "jax.grad(lambda x: lax.fori_loop(np.int32(0), np.int32(3), lambda i, c: lax.mul(c, 2.0), x))"
    "(1.0)",
    "jax.grad(lambda x: lax.while_loop(lambda c: lax.lt(c[0], 10.0), "
    "lambda c: (lax.mul(2.0, c[0]), c[1]), (x, x))[1])(1.0)",
    "jax.grad(lambda x: lax.mul(lax.while_loop(lambda c: lax.lt(c[0], 10.0), "
    "lambda c: (lax.mul(2.0, c[0]), lax.mul(c[1], 2.0)), (1.0, x))[0], x))(1.0)",
    "jax.grad(lambda x: lax.mul(lax.while_loop(lambda c: lax.lt(c, x), "
    "lambda c: lax.mul(2.0, c), 1.0), x))(3.0)",
)


def test_values(oracle):
    oracle.compare_many([Case(value) for value in VALUES])


# What a JAX user gets for bad input, and a part of our message.
ERRORS = {
    "lax.while_loop(lambda x: x, lambda x: x, 1.0)": r"boolean scalar, but got.*float32\[\]",
    "lax.while_loop(lambda x: (x, x), lambda x: x, 1.0)": "boolean scalar, but got a tree",
    "lax.while_loop(lambda x: lax.lt(x, x), lambda x: x, np.ones(3))": r"got.*bool\[3\]. Compare",
    "lax.while_loop(lambda x: True, lambda x: (x, x), 1.0)": (
        "while_loop.*the output is a tuple of 2 but the input is a leaf"
    ),
    "lax.while_loop(lambda x: True, lambda x: lax.slice(x, (0,), (2,)), np.ones(3))": (
        r"x comes in as float32\[3\] and goes out as float32\[2\], so the shapes"
    ),
    "lax.while_loop(lambda x: True, lambda x: {'a': 1}, {'a': np.float32(1.0)})": (
        r"x\['a'\] comes in as float32\[\] and goes out as int32\[\], so the dtypes"
    ),
    "lax.while_loop(3, lambda x: x, 1.0)": "cond_fun argument should be a callable, got 3",
    "lax.while_loop(lambda x: True, 3, 1.0)": "body_fun argument should be a callable, got 3",
    "lax.while_loop(lambda x: True, lambda x: x, 'a')": "x is not a valid argument.*'a'",
    "jax.grad(lambda x: lax.while_loop("
    "lambda c: lax.lt(c, 9.0), lambda c: lax.mul(c, 2.0), x))(1.0)": (
        "Reverse-mode differentiation does not work for lax.while_loop.*Use lax.scan"
    ),
    "jax.grad(lambda x: jax.jit(lambda n: "
    "lax.fori_loop(0, n, lambda i, c: lax.mul(c, x), 1.0))(3))(1.0)": "Reverse-mode",
    "lax.fori_loop(0, 2.5, lambda i, x: x, 1.0)": "equal types, got int32 and float32",
    "lax.fori_loop(0, np.ones(2, np.int32), lambda i, x: x, 1.0)": r"upper must be.*shape \(2,\)",
    "lax.fori_loop(np.int8(0), np.int16(3), lambda i, x: x, 1.0)": "got int8 and int16",
    "lax.fori_loop(0, 3, lambda i, val: (val, val), 1.0)": (
        "fori_loop.*the output is a tuple of 2 but the input is a leaf.*its parameter val"
    ),
    "lax.fori_loop(0, 3, lambda i, val: np.ones(3), 1.0)": (
        r"val comes in as float32\[\] and goes out as float32\[3\]"
    ),
    "jax.jit(lambda n: lax.fori_loop(0, n, lambda i, val: {'a': 1}, {'a': 1.5}))(3)": (
        r"fori_loop.*val\['a'\] comes in as float32\[\]"
    ),
    "jax.jit(lambda n: lax.fori_loop(0, n, lambda i, x: x, 1.0, unroll=2))(3)": (
        "only use `unroll`"
    ),
    "lax.fori_loop('a', 3, lambda i, x: x, 1.0)": "'a'",
    "lax.fori_loop(0, 3, 4, 1.0)": "body_fun argument should be a callable, got 4",
}


@pytest.mark.parametrize(("snippet", "message"), ERRORS.items(), ids=ERRORS)
def test_bad_input(oracle, snippet, message):
    error = oracle.compare_error(snippet)
    with pytest.raises(Exception, match=message):
        raise Exception(error.message)  # the message alone, whatever the class


# --- what runs ------------------------------------------------------------------------------------


def whiles_of(function, *args):
    """The loops in the program of a function, outermost only."""
    jaxpr = cv.make_jaxpr(function)(*args).jaxpr
    return [eqn for eqn in jaxpr.eqns if eqn.primitive.name == "while"]


def test_what_never_changes_is_not_carried():
    def f(x, y):
        step = lambda c: (lax.mul(c[0], c[1]), c[1])
        return lax.while_loop(lambda c: lax.lt(c[0], c[1]), step, (x, y))

    (loop,) = whiles_of(f, 1.0, 2.0)
    assert (loop.params["cond_nconsts"], loop.params["body_nconsts"]) == (1, 1)
    assert len(loop.outvars) == 1


def test_tangents_only_where_there_are_any():
    def f(x):
        step = lambda c: (lax.add(c[0], 1), lax.mul(c[1], x), lax.add(c[2], 1.0))
        return lax.while_loop(lambda c: lax.lt(c[0], 3), step, (0, 1.0, 2.0))

    (loop,) = whiles_of(lambda x: cv.jvp(f, (x,), (x,))[1][1], 2.0)
    assert len(loop.outvars) == 4  # the carry, and the tangent of its second part


def test_a_condition_of_its_own_in_each_lane():
    def f(x):
        return lax.while_loop(lambda c: lax.lt(c, 10.0), lambda c: lax.mul(c, 3.0), x)

    x = np.array([1.0, 5.0, 20.0], np.float32)
    np.testing.assert_array_equal(cv.vmap(f)(x), [27.0, 15.0, 20.0])
    (loop,) = whiles_of(cv.vmap(f), x)
    assert [v.aval.dtype.name for v in loop.outvars] == ["bool", "float32"]


def test_a_condition_in_common_makes_no_lanes():
    def f(x):
        step = lambda c: (lax.add(c[0], 1), lax.mul(c[1], 3.0))
        return lax.while_loop(lambda c: lax.lt(c[0], 2), step, (0, x))

    (loop,) = whiles_of(cv.vmap(f), np.ones(3, np.float32))
    assert [v.aval.shape for v in loop.outvars] == [(), (3,)]


def test_a_lane_that_is_done_does_not_loop_inside_the_body(oracle):
    """The inner loop would never end on the carry that ends the outer one."""
    snippet = """
grow = lambda c: lax.while_loop(lambda y: lax.lt(y, 100.0), lambda y: lax.mul(y, c), c)
step = lambda c: lax.div(lax.add(c, lax.mul(0.0, grow(c))), 1.5)
f = lambda x: lax.while_loop(lambda c: lax.gt(c, 1.0), step, x)
xs = np.array([1.5, 2.9, 9.0], np.float32)
(jax.vmap(f)(xs), [f(x) for x in xs])
"""
    lanes, alone = oracle.using(devices=1, timeout=60).run_covector(snippet).value
    np.testing.assert_allclose(lanes, alone, rtol=1e-6)


def test_bounds_that_are_traced_are_compiled_once(monkeypatch):
    compiled = []
    real = compile_module.compile_text
    monkeypatch.setattr(
        compile_module,
        "compile_text",
        lambda lowered, *args, **kwargs: (
            compiled.append("stablehlo.while" in lowered.text) or real(lowered, *args, **kwargs)
        ),
    )

    def count(stop):
        return lax.while_loop(lambda c: lax.lt(c, stop), lambda c: lax.add(c, 0.625), 0.0)

    def count_to(stop):
        step = lambda c: (lax.add(c[0], 0.875), c[1])
        return lax.while_loop(lambda c: lax.lt(c[0], c[1]), step, (0.0, stop))

    for stop in (3.0, 4.0, 5.0):
        count(stop)
        count_to(stop)
    # A Python number that is closed over is a part of the program; one that is carried is not.
    assert compiled.count(True) == 3 + 1


def test_without_jit_loops_run_as_python():
    seen = []

    def step(c):
        seen.append(int(c))
        return lax.add(c, 1)

    def double(x):
        return lax.while_loop(lambda c: lax.lt(c, 9.0), lambda c: lax.mul(c, 2.0), x)

    with cv.disable_jit():
        lax.fori_loop(0, 3, lambda i, c: step(i), 1)
        out = lax.while_loop(lambda c: lax.lt(c, 3), step, 1)
        slope = cv.grad(double)(1.0)
        lanes = cv.vmap(double)(np.array([1.0, 3.0, 10.0]))
    np.testing.assert_array_equal(lanes, [16.0, 12.0, 10.0])
    assert seen == [0, 1, 2, 1, 2]
    assert int(out) == 3
    assert float(slope) == 16.0


def test_collectives_inside():
    def f(x):
        return lax.while_loop(
            lambda c: lax.lt(lax.psum(c, "i"), 100.0), lambda c: lax.mul(c, 2.0), x
        )

    out = cv.vmap(f, axis_name="i")(np.arange(3, dtype=np.float32))
    np.testing.assert_array_equal(out, [0.0, 64.0, 128.0])

"""`cond`, `switch`, `platform_dependent`: values, derivatives, batching, and bad input."""

from __future__ import annotations

import covector as cv
import numpy as np
import pytest
from core.transformed import check
from covector import lax
from covector._run import compile as compile_module
from oracle import Case

CONDS = {
    "two branches": """
def f(x, y):
    then = lambda x, y: lax.mul(x, y)
    return lax.cond(lax.gt(x, np.float32(0.4)), then, lambda x, y: lax.sin(x), x, y)
args = (np.float32(0.5), np.float32(0.25))
""",
    "closures": """
def f(x, y):
    w = lax.exp(y)
    v = lax.sin(x)
    then = lambda: lax.mul(v, w)
    return lax.cond(lax.gt(x, np.float32(0.4)), then, lambda: lax.add(w, lax.cos(v)))
args = (np.float32(0.5), np.float32(0.25))
""",
    "a predicate of its own": """
def f(p, x):
    then = lambda x: lax.mul(lax.sin(x), x)
    return lax.cond(lax.gt(p, np.float32(0.4)), then, lambda x: lax.cos(x), x)
args = (np.float32(0.5), np.array([0.25, 0.5], np.float32))
""",
    "trees": """
def f(x, y):
    t = lambda d, z: {"a": lax.mul(d["x"], z), "b": (lax.sin(z), None, 1)}
    e = lambda d, z: {"a": lax.add(d["x"], z), "b": (lax.cos(d["y"]), None, 2)}
    out = lax.cond(lax.lt(x, y), t, e, {"x": x, "y": y}, y)
    return out
args = (np.float32(0.5), np.float32(0.25))
""",
    "one branch is constant": """
def f(x, y):
    then = lambda y: np.float32(3)
    return lax.cond(lax.gt(x, np.float32(0.4)), then, lambda y: lax.exp(y), y)
args = (np.float32(0.45), np.float32(0.25))
""",
    "branches with different residuals": """
def f(x, v):
    first = lambda v: lax.reduce_sum(lax.mul(lax.sin(v), lax.exp(v)), (0,))
    second = lambda v: lax.tanh(lax.mul(lax.reduce_max(v, (0,)), x))
    third = lambda v: lax.add(lax.mul(x, x), lax.reduce_sum(lax.log(v), (0,)))
    index = lax.convert_element_type(lax.mul(x, np.float32(3.9)), np.int32)
    return lax.switch(index, [first, second, third], v)
args = (np.float32(0.5), np.array([0.25, 0.5, 0.75], np.float32))
""",
    "nested": """
def f(x, y):
    inner = lambda x: lax.cond(lax.gt(y, np.float32(0.2)), lax.sin, lambda z: lax.mul(z, y), x)
    return lax.cond(lax.gt(x, np.float32(0.4)), inner, lambda z: lax.mul(z, inner(z)), x)
args = (np.float32(0.5), np.float32(0.25))
""",
    "cond of scan": """
def f(x, xs):
    scanned = lambda c: lax.scan(lambda c, z: (lax.mul(lax.sin(c), z), c), c, xs)
    return lax.cond(lax.gt(x, np.float32(0.4)), scanned, lambda c: (c, lax.mul(xs, c)), x)
args = (np.float32(0.5), np.array([0.25, 0.5, 0.75], np.float32))
""",
    "jitted branches": """
def f(x, y):
    t, e = jax.jit(lambda x: lax.mul(lax.sin(x), y)), jax.jit(lambda x: lax.exp(x))
    return lax.cond(lax.gt(x, np.float32(0.4)), t, e, x)
args = (np.float32(0.5), np.float32(0.25))
""",
}

# Those that go through every stack of transformations; the others through a few.
THOROUGH = ("closures", "trees", "branches with different residuals", "cond of scan")


@pytest.mark.parametrize("name", CONDS)
def test_cond_under_transformations(oracle, name):
    check(oracle, CONDS[name], "reverse" if name in THOROUGH else "few")


# Results with their dtypes and weak types.
PREDICATES = "(2, 0, 0.5, -0.0, np.nan, np.int8(1), np.uint8(0), True, np.bool_(False))"
VALUES = (
    "lax.cond(True, lambda x: x, lambda x: 2.0, np.float32(1))",
    "lax.cond(True, lambda x: 2.0, lambda x: x, np.float32(1))",
    "lax.cond(True, lambda x: x, lambda x: 2.0, 1.0)",
    f"[lax.cond(p, lambda x: x, lambda x: 2.0, 1.0) for p in {PREDICATES}]",
    f"[jax.jit(lambda p: lax.cond(p, lambda x: x, lambda x: 2.0, 1.0))(p) for p in {PREDICATES}]",
    "lax.cond(True, lambda x: None, lambda x: None, 1.0)",
    "lax.cond(True, lambda: 1, lambda: 2)",
    "lax.cond(True, lambda *a: a, lambda *a: a, 1, 2, 3)",
    "lax.cond(True, lambda x: (x, 1), lambda x: (x, 2), operand=None)",
    "lax.cond(pred=True, true_fun=lambda a: a, false_fun=lambda a: a, operand=3)",
    "lax.cond(False, 1.0, lambda x: lax.mul(2.0, x), 3.0, lambda x: lax.mul(4.0, x))",
    "[lax.switch(i, [lambda x: 1, lambda x: 2, lambda x: 3], 1) for i in (-5, 0, 1, 2, 3, 300)]",
    "[jax.jit(lambda i: lax.switch(i, [lambda x: 1, lambda x: 2, lambda x: 3], 1))(i)"
    " for i in (-5, 0, 1, 2, 3, 300, np.int8(-1), np.uint8(255))]",
    "lax.switch(1, (lax.sin, lax.neg), operand=np.float32(2))",
    "jax.vmap(lambda i, x: lax.switch(i, [lax.sin, lax.neg, lax.exp], x))"
    "(np.array([2, 0, 1, -3, 7]), np.arange(5, dtype=np.float32))",
    "lax.platform_dependent(2.0, cpu=lambda x: lax.mul(x, 3.0), default=lambda x: x)",
    "lax.platform_dependent(2.0, tpu=lambda x: lax.mul(x, 3.0), default=lambda x: lax.neg(x))",
    "jax.grad(lambda x: lax.platform_dependent("
    "x, tpu=lambda x: lax.mul(x, 3.0), default=lambda x: lax.mul(x, x)))(2.0)",
    "jax.vmap(lambda x: lax.platform_dependent(x, tpu=lax.neg, default=lax.sin))"
    "(np.ones(3, np.float32))",
)


def test_values(oracle):
    oracle.compare_many([Case(value) for value in VALUES])


def test_index_of_many_bits_is_clamped_before_it_is_narrowed():
    functions = [lambda: 0, lambda: 1, lambda: 2]
    assert int(cv.jit(lambda i: lax.switch(i, functions))(np.uint32(2**32 - 1))) == 2  # JAX: 0


# What a JAX user gets for bad input, and a part of our message.
ERRORS = {
    "lax.cond(np.array([True]), lambda x: x, lambda x: x, 1.0)": r"array of shape \(1,\)",
    "lax.cond('a', lambda x: x, lambda x: x, 1.0)": "Pred must be a scalar, got 'a'",
    "lax.cond(None, lambda x: x, lambda x: x, 1.0)": "predicate is None",
    "lax.cond(1j, lambda x: x, lambda x: x, 1.0)": "boolean or number, got complex64",
    "lax.cond(True, lambda x: x, lambda x: (x, x), 1.0)": (
        r"the output of false_fun \(<lambda>\) is a tuple of 2 but the output of true_fun"
    ),
    "lax.cond(True, lambda x: x, lambda x: 2, 1.0)": (
        r"is float32\[\] from true_fun \(<lambda>\) but int32\[\] from false_fun"
    ),
    "lax.cond(True, lambda x: {'a': x}, lambda x: {'a': lax.slice(x, (0,), (2,))}, np.ones(3))": (
        r"at path \['a'\] is float32\[3\] from true_fun.*so the shapes do not match"
    ),
    "lax.cond(True, 3, lambda x: x, 1.0)": "true_fun argument should be a callable, got 3",
    "lax.cond(True, lambda: 3, lambda x: x, 1.0)": "takes 0 positional arguments",
    "lax.cond(True, lambda x: x, lambda x: x, 1.0, operand=1.0)": "'operand' keyword is passed",
    "lax.cond(True, lambda x: x, lambda x: x, 'a')": r"operands\[0\] is not a valid argument.*'a'",
    "lax.cond(True, lambda x: 'a', lambda x: x, 1.0)": "returned a value of type <class 'str'>",
    "lax.switch(np.array([1]), [lambda x: x, lambda x: x], 1.0)": r"index must be scalar.*\(1,\)",
    "lax.switch(1.0, [lambda x: x, lambda x: x], 1.0)": "must be an integer, got float32",
    "lax.switch(True, [lambda x: x, lambda x: x], 1.0)": "must be an integer, got bool",
    "lax.switch('a', [lambda x: x, lambda x: x], 1.0)": "must be an integer.*'a'",
    "lax.switch(1, [], 1.0)": "Empty branch sequence",
    "lax.switch(1, [lambda x: x, 3], 1.0)": r"branches\[1\] argument should be a callable, got 3",
    "lax.switch(1, 3, 1.0)": "branches must be a sequence of callables, got 3",
    "lax.switch(1, [lambda x: x, lambda x: x, lambda x: np.ones(3)], 1.0)": (
        r"float32\[\] from branches\[0\] \(<lambda>\) but float32\[3\] from branches\[2\]"
    ),
    "lax.platform_dependent(1.0, tpu=lambda x: x)": "no function for the platform 'cpu'.*for tpu",
    "lax.platform_dependent(1.0)": "no function is given",
}


@pytest.mark.parametrize(("snippet", "message"), ERRORS.items(), ids=ERRORS)
def test_bad_input(oracle, snippet, message):
    error = oracle.compare_error(snippet)
    with pytest.raises(Exception, match=message):
        raise Exception(error.message)  # the message alone, whatever the class


# --- what runs ------------------------------------------------------------------------------------


def test_residuals_of_branches_share_their_places():
    def f(x, v):
        first = lambda v: lax.mul(lax.sin(v), lax.exp(lax.sin(v)))
        second = lambda v: lax.mul(lax.tanh(v), lax.log(lax.tanh(v)))
        return lax.reduce_sum(lax.cond(lax.gt(x, 0.0), first, second, v), (0,))

    jaxpr = cv.make_jaxpr(cv.grad(f, 1))(1.0, np.ones(3, np.float32)).jaxpr
    forward = next(eqn for eqn in jaxpr.eqns if eqn.primitive.name == "cond")
    assert len(forward.outvars) == 1 + 5  # five residuals of the one branch, four of the other


def test_closed_over_values_are_passed_once():
    def f(x):
        w = lax.exp(x)
        return lax.cond(lax.gt(x, 0.0), lambda: lax.mul(w, x), lambda: lax.sub(w, x))

    (cond,) = [e for e in cv.make_jaxpr(f)(1.0).jaxpr.eqns if e.primitive.name == "cond"]
    assert len(cond.invars) == 3  # the predicate, w and x


def test_branches_are_branches_in_the_module():
    two = cv.jit(lambda p, x: lax.cond(p, lax.sin, lax.cos, x)).lower(True, 1.0).as_text()
    assert two.count("stablehlo.if") == 1
    three = cv.jit(lambda i, x: lax.switch(i, [lax.sin, lax.cos, lax.exp], x)).lower(1, 1.0)
    assert three.as_text().count("stablehlo.case") == 1


def test_functions_for_other_platforms_are_not_lowered():
    f = lambda x: lax.platform_dependent(x, cpu=lax.sin, tpu=lax.cos, default=lax.exp)
    text = cv.jit(f).lower(1.0).as_text()
    assert "sine" in text
    assert "cosine" not in text
    assert "exponential" not in text


def test_fresh_branches_are_compiled_once(monkeypatch):
    compiled = []
    real = compile_module.compile_text
    monkeypatch.setattr(
        compile_module,
        "compile_text",
        lambda lowered, *args, **kwargs: (
            compiled.append("stablehlo.if" in lowered.text) or real(lowered, *args, **kwargs)
        ),
    )
    for pred in (True, False, True):
        lax.cond(pred, lambda x: lax.mul(x, 1.625), lambda x: lax.mul(x, 2.375), 1.0)
    assert compiled.count(True) == 1


def test_without_jit_one_branch_runs_as_python():
    ran = []
    with cv.disable_jit():
        lax.cond(True, lambda x: ran.append(float(x)), lambda x: ran.append("other"), 1.0)
        lax.switch(7, [lambda x: ran.append("other"), lambda x: ran.append(float(x))], 2.0)
        out = cv.vmap(lambda p: lax.cond(p, lambda: 1, lambda: 2))(np.array([True, False]))
    assert ran == [1.0, 2.0]
    np.testing.assert_array_equal(out, [1, 2])


def test_a_lane_does_not_loop_in_a_branch_that_is_not_its_own(oracle):
    """jax#2947: both branches run on the batch, and each ends only for the values meant for it."""
    snippet = """
positive = lambda y: lax.bitwise_or(lax.le(y, 0.0), lax.gt(y, 1e-6))
pos = lambda x: lax.while_loop(positive, lambda y: lax.mul(y, 0.1), x)
neg = lambda x: lax.while_loop(lambda y: lax.lt(y, -1e-6), lambda y: lax.mul(y, 0.1), x)
f = jax.vmap(lambda x: lax.cond(lax.ge(x, 0.0), pos, neg, x))
scaled = lambda x, s: lax.while_loop(lambda y: lax.lt(y, 100.0), lambda y: lax.mul(y, s), x)
g = jax.vmap(lambda x, s: lax.switch(
    lax.convert_element_type(x, np.int32), [lax.neg, lambda x: scaled(x, s), lambda x: x], x))
one_each = np.array([1.0, -1.0], np.float32)
[
    f(one_each),
    jax.jit(f)(lax.abs(one_each)),
    f(lax.neg(lax.abs(one_each))),
    jax.vmap(f)(np.array([[1.0, -1.0], [3.0, 2.0], [-2.0, -1.0]], np.float32)),
    jax.jvp(f, (one_each,), (one_each,)),
    g(np.arange(3, dtype=np.float32), np.array([0.0, 2.0, 1.0], np.float32)),
]
"""
    outcome = oracle.using(devices=1, timeout=60).run_covector(snippet)
    both, up, down, nested, (_, tangents), switched = outcome.value
    ends = [1e-7, -1e-7]
    np.testing.assert_allclose(both, ends, rtol=1e-5)
    np.testing.assert_allclose(up, [1e-7, 1e-7], rtol=1e-5)
    np.testing.assert_allclose(down, [-1e-7, -1e-7], rtol=1e-5)
    np.testing.assert_allclose(nested, [ends, [3e-7, 2e-7], [-2e-7, -1e-7]], rtol=1e-5)
    np.testing.assert_allclose(tangents, ends, rtol=1e-5)
    np.testing.assert_array_equal(switched, [0.0, 128.0, 2.0])


def test_collectives_inside():
    f = lambda x: lax.cond(True, lambda: lax.psum(x, "i"), lambda: x)
    np.testing.assert_array_equal(cv.vmap(f, axis_name="i")(np.arange(3.0)), [3.0, 3.0, 3.0])

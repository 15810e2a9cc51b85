"""Policies see inside of loops, branches and calls: what is kept, and what is computed again.

The oracle says which residuals there are, and how often each operation stands in the program of the
gradient. Fewer operations than there are an improvement; different residuals are not.
"""

from __future__ import annotations

import covector as cv
import numpy as np
import pytest
from covector import lax
from covector.ad_checkpoint import checkpoint_name, saved_residuals

SETUP = """
import collections, contextlib, io
from jax.ad_checkpoint import checkpoint_name, print_saved_residuals
cp, policies = jax.checkpoint, jax.checkpoint_policies
dots, everything = policies.checkpoint_dots, policies.everything_saveable
names, others = policies.save_only_these_names("z"), policies.save_anything_except_these_names("z")
product = lambda w, x: lax.dot_general(w, x, (((1,), (0,)), ((), ())))

def step(c, w):
    z = checkpoint_name(product(w, lax.sin(c)), "z")
    y = lax.tanh(z)
    return y, lax.exp(y)

scanned = lambda w, x: lax.scan(step, x, w)
sines = lambda w, x: lax.sin(lax.sin(product(w, x)))
positive = lambda x: lax.gt(lax.index_in_dim(x, 0, keepdims=False), 0.0)
branches = lambda w, x: lax.cond(
    positive(x), lambda x: sines(w, x), lambda x: lax.tanh(product(lax.exp(w), x)), x)
three = lambda w, x: lax.switch(
    lax.convert_element_type(positive(x), int),
    [lambda x: lax.sin(checkpoint_name(lax.sin(x), "a")),
     lambda x: lax.sin(checkpoint_name(product(w, x), "z")), lambda x: x], x)
counted = lambda w, x: lax.fori_loop(0, 5, lambda i, c: lax.tanh(product(w, c)), x)

@jax.custom_jvp
def with_jvp(w, x):
    return lax.sin(product(w, x))
@with_jvp.defjvp
def _(primals, tangents):
    (w, x), (dw, dx) = primals, tangents
    z, t = product(w, x), lax.add(product(w, dx), product(dw, x))
    return lax.sin(z), lax.mul(lax.cos(z), t)

@jax.custom_vjp
def with_vjp(x):
    return lax.sin(lax.sin(x))
with_vjp.defvjp(lambda x: (with_vjp(x), lax.cos(lax.tanh(x))), lambda r, ct: (lax.mul(r, ct),))

def until(w, x):
    start = lax.stop_gradient(lax.mul(lax.index_in_dim(x, 0, keepdims=False), 0.0))
    return lax.sin(lax.mul(product(w, x), lax.while_loop(lambda c: lax.lt(c, 4.0), lax.exp, start)))

W, WS, X = [np.full(s, 0.2, np.float32) for s in [(4, 4), (3, 4, 4), (4,)]]
KINDS = ("sin", "cos", "tanh", "exp", "dot_general", "scan", "while", "cond")

def total(f):
    add_up = lambda x: lax.reduce_sum(x, tuple(range(x.ndim)))
    return lambda *args: sum([add_up(x) for x in tree.leaves(f(*args))])

def count(jaxpr, counts):
    for eqn in jaxpr.eqns:
        counts[eqn.primitive.name] += 1
        for value in eqn.params.values():
            for inner in value if isinstance(value, (tuple, list)) else [value]:
                inner = getattr(inner, "jaxpr", inner)
                if hasattr(inner, "eqns"):
                    count(inner, counts)
    return counts

def look_at(f, *args):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        print_saved_residuals(f, *args)
    kept = sorted(line.split()[0] for line in out.getvalue().splitlines())
    jaxpr = jax.make_jaxpr(jax.grad(total(f), (0, 1)))(*args).jaxpr
    counts = count(jaxpr, collections.Counter())
    return kept, {kind: counts[kind] for kind in KINDS}
"""

# Of matrices WS (a stack) or W, and a vector X.
PROGRAMS = {
    "scan, nothing": ("cp(scanned)", "WS"),
    "scan, dots": ("cp(scanned, policy=dots)", "WS"),
    "scan, names": ("cp(scanned, policy=names)", "WS"),
    "scan, all but names": ("cp(scanned, policy=others)", "WS"),
    "scan, everything": ("cp(scanned, policy=everything)", "WS"),
    "scan in reverse": (
        "cp(lambda w, x: lax.scan(step, x, w, reverse=True), policy=dots)",
        "WS",
    ),
    "scan of a jit": ("cp(lambda w, x: lax.scan(jax.jit(step), x, w), policy=dots)", "WS"),
    "scan of a jit, everything": (
        "cp(lambda w, x: lax.scan(jax.jit(step), x, w), policy=everything)",
        "WS",
    ),
    "in a scan, nothing": ("lambda w, x: lax.scan(cp(step), x, w)", "WS"),
    "in a scan, dots": ("lambda w, x: lax.scan(cp(step, policy=dots), x, w)", "WS"),
    "in a scan, names": ("lambda w, x: lax.scan(cp(step, policy=names), x, w)", "WS"),
    "in a scan, everything": ("lambda w, x: lax.scan(cp(step, policy=everything), x, w)", "WS"),
    "scan of a remat": ("cp(lambda w, x: lax.scan(cp(step), x, w), policy=dots)", "WS"),
    "scan of a scan": (
        "cp(lambda w, x: lax.scan(lambda c, w: lax.scan("
        "lambda c, _: (step(c, w)[0], None), c, None, length=2), x, w), policy=dots)",
        "WS",
    ),
    "scan of a cond": (
        "cp(lambda w, x: lax.scan(lambda c, w: (branches(w, c), None), x, w), policy=dots)",
        "WS",
    ),
    "cond of a scan": (
        "cp(lambda w, x: lax.cond(positive(x), scanned, "
        "lambda w, x: (x, lax.full((3, 4), 0.0)), w, x), policy=dots)",
        "WS",
    ),
    "product of constants in a scan": (
        "cp(lambda w, x: lax.scan(lambda c, _: (lax.sin(lax.mul(c, product(w, x))), None), "
        "x, None, length=3), policy=dots)",
        "W",
    ),
    "fori, dots": ("cp(counted, policy=dots)", "W"),
    "fori, everything": ("cp(counted, policy=everything)", "W"),
    "while, dots": ("cp(until, policy=dots)", "W"),
    "cond, nothing": ("cp(branches)", "W"),
    "cond, dots": ("cp(branches, policy=dots)", "W"),
    "switch, nothing": ("cp(three)", "W"),
    "switch, dots": ("cp(three, policy=dots)", "W"),
    "switch, names": ("cp(three, policy=names)", "W"),
    "jit": ("cp(jax.jit(sines), policy=dots)", "W"),
    "remat": ("cp(cp(sines), policy=dots)", "W"),
    "remat with a policy": ("cp(cp(sines, policy=dots))", "W"),
    "remat with a policy, everything": ("cp(cp(sines, policy=dots), policy=everything)", "W"),
    "custom_jvp": ("cp(lambda w, x: lax.sin(with_jvp(w, x)), policy=dots)", "W"),
    "custom_vjp": ("cp(lambda w, x: lax.sin(with_vjp(product(w, x))), policy=dots)", "W"),
}


def test_residuals_and_operations(oracle):
    rows = ",\n".join([f"{n!r}: look_at({f}, {w}, X)" for n, (f, w) in PROGRAMS.items()])
    snippet = f"{SETUP}\n{{\n{rows}\n}}"
    expected, actual = oracle.run(snippet), oracle.run_covector(snippet)
    assert expected.error is None, expected.error.traceback
    assert actual.error is None, actual.error.traceback
    wrong = []
    for name, (kept, counts) in expected.value.items():
        our_kept, ours = actual.value[name]
        if our_kept != kept or any(ours[kind] > n for kind, n in counts.items()):
            wrong.append(f"{name}: {our_kept} {ours}, not {kept} {counts}")
    assert not wrong, "\n".join(wrong)


def test_gradients(oracle):
    rows = [f"jax.grad(total({f}), (0, 1))({w}, X)" for f, w in PROGRAMS.values()]
    for name in ("scan, dots", "scan of a remat", "cond, dots"):
        f, w = PROGRAMS[name]
        rows.append(f"jax.jacrev(jax.grad(total({f}), 1), 1)({w}, X)")
        rows.append(f"jax.vmap(jax.grad(total({f})), (None, 0))({w}, W)")
    rows = ",\n".join(rows)
    program = f"{SETUP}\njax.jit(lambda W, WS, X: [\n{rows}\n])(W, WS, X)"
    oracle.using(timeout=240, enable_checks=True).compare(program, rtol=2e-5, atol=2e-5)


def test_everything_of_a_cond_but_its_predicate_is_of_one_type():
    def branches(w, x):
        return lax.cond(w, lambda x: lax.sin(lax.sin(x)), lax.tanh, x)

    policy = cv.checkpoint_policies.everything_saveable
    kept = saved_residuals(cv.checkpoint(branches, policy=policy), True, np.ones(3, np.float32))
    assert sorted(a.str_short() for a, _ in kept) == ["bool[]", "f32[3]", "f32[3]"]


OPTIMIZED = """
from jax.custom_derivatives import remat_opt_p
assert remat_opt_p.name == "remat_opt"

def loop(x):  # stands for an operation that gives outputs and residuals, and is opaque
    step = lambda s: (s[0] + 1, lax.sin(s[1]), lax.exp(s[2]))
    return lax.while_loop(lambda s: s[0] < 2, step, (0, x, x))[1:]

def made(optimize):
    f = jax.custom_vjp(lambda x: lax.sin(lax.sin(x)))
    rule = lambda x: (lambda y, r: (y, (r,)))(*loop(x))
    f.defvjp(rule, lambda r, ct: (lax.mul(r[0], ct),), optimize_remat=optimize)
    return f

def gradient(optimize, wrap=lambda f: f):
    f = jax.checkpoint(lambda x: lax.cos(wrap(made(optimize))(x)))
    return jax.grad(lambda x: lax.reduce_sum(f(x), (0,)))

def loops(f):
    return count(jax.make_jaxpr(f)(X).jaxpr, collections.Counter())["while"]

(
    [loops(gradient(o, w)) for o in (True, False) for w in (lambda f: f, jax.jit, jax.vmap)],
    jax.jit(lambda x: [gradient(o, w)(x) for o in (True, False) for w in (jax.jit, jax.vmap)])(X),
    jax.vmap(gradient(True))(W),
)
"""


def test_forward_rule_runs_in_the_backward_pass_only(oracle):
    outcome = oracle.compare(SETUP + OPTIMIZED, check_weak_type=False)
    assert outcome.value[0] == [1, 1, 1, 2, 2, 2]


def test_second_derivative_of_an_optimized_rule():
    def second(optimize):
        f = cv.custom_vjp(lambda x: lax.tanh(x))
        f.defvjp(lambda x: (lax.tanh(x), (lax.exp(x),)), lambda r, ct: (lax.mul(r[0], ct),), False)
        f.optimize_remat = optimize
        return cv.grad(cv.grad(cv.checkpoint(lambda x: lax.sin(f(x)))))(0.5)

    assert float(second(True)) == float(second(False))  # JAX cannot differentiate the first


def test_a_loop_is_kept_or_run_again_as_a_whole():
    def until(x):
        start = lax.stop_gradient(lax.mul(x, 0.0))
        return lax.sin(lax.mul(x, lax.while_loop(lambda c: lax.lt(c, 4.0), lax.exp, start)))

    for name, loops in {"everything_saveable": 1, "nothing_saveable": 2}.items():
        f = cv.checkpoint(until, policy=getattr(cv.checkpoint_policies, name))
        text = cv.jit(cv.grad(f)).lower(1.0).as_text()
        assert text.count("stablehlo.while") == loops, name


@pytest.mark.parametrize("order", [1, 2])
def test_equal_policies_make_one_program(order):
    def derivative():
        policy = cv.checkpoint_policies.save_only_these_names("z")
        inner = cv.checkpoint(lambda x: lax.sin(checkpoint_name(lax.sin(x), "z")), policy=policy)
        f = cv.checkpoint(lambda x: inner(lax.sin(x)), policy=policy)
        for _ in range(order):
            f = cv.grad(f)
        return cv.make_jaxpr(f)(1.0).jaxpr

    assert derivative() is derivative()

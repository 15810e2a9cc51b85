"""`custom_jvp` and `custom_vjp` under every transformation, eager and staged."""

from __future__ import annotations

import functools

import covector as cv
import numpy as np
import pytest
from covector import lax
from oracle import Case, Tolerance

X = np.array([0.5, 1.0, 2.0], np.float32)


@cv.custom_jvp
def tripled(x, y):
    """sin(x) * y, whose derivative in x is, falsely, 3 y: so one sees that the rule is used."""
    return lax.mul(lax.sin(x), y)


@tripled.defjvp
def _(primals, tangents):
    (x, y), (dx, dy) = primals, tangents
    out_tangent = lax.add(lax.mul(lax.mul(dx, 3.0), y), lax.mul(dy, lax.sin(x)))
    return tripled(x, y), out_tangent


@cv.custom_vjp
def fourfold(x, y):
    """The same by a reverse rule, with 4 y."""
    return lax.mul(lax.sin(x), y)


fourfold.defvjp(
    lambda x, y: (fourfold(x, y), (y, lax.sin(x))),
    lambda residuals, ct: (
        lax.mul(lax.mul(ct, 4.0), residuals[0]),
        lax.mul(ct, residuals[1]),
    ),
)

FUNCTIONS = {"jvp": (tripled, 3.0), "vjp": (fourfold, 4.0)}
STACKS = {
    "grad": cv.grad,
    "jit of grad": lambda f: cv.jit(cv.grad(f)),
    "grad of jit": lambda f: cv.grad(cv.jit(f)),
    "grad of jit of jit": lambda f: cv.grad(cv.jit(lambda *a: cv.jit(f)(*a))),
}


@pytest.mark.parametrize("kind", FUNCTIONS)
@pytest.mark.parametrize("stack", STACKS)
def test_rule_is_used(kind, stack):
    f, factor = FUNCTIONS[kind]
    assert float(STACKS[stack](f)(0.7, 2.0)) == factor * 2.0
    np.testing.assert_allclose(f(0.7, 2.0), 2 * np.sin(0.7), rtol=1e-6)


@pytest.mark.parametrize("kind", FUNCTIONS)
@pytest.mark.parametrize("stack", STACKS)
def test_vmap_of(kind, stack):
    f, factor = FUNCTIONS[kind]
    mapped = cv.vmap(STACKS[stack](f), (0, None))
    np.testing.assert_array_equal(mapped(X, 2.0), np.full(3, factor * 2.0, np.float32))
    np.testing.assert_array_equal(cv.jit(mapped)(X, 2.0), mapped(X, 2.0))


@pytest.mark.parametrize("kind", FUNCTIONS)
@pytest.mark.parametrize("wrap", [lambda f: f, cv.jit], ids=["eager", "jit"])
def test_gradient_of_vmap_sums_the_unmapped_argument(kind, wrap):
    f, factor = FUNCTIONS[kind]

    def total(x, y):
        return lax.reduce_sum(wrap(cv.vmap(f, (0, None)))(x, y), (0,))

    dx, dy = wrap(cv.grad(total, (0, 1)))(X, 2.0)
    np.testing.assert_array_equal(dx, np.full(3, factor * 2.0, np.float32))
    np.testing.assert_allclose(dy, np.sin(X).sum(), rtol=1e-6)


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_second_derivative_goes_through_the_rule(kind):
    f, factor = FUNCTIONS[kind]
    mixed = cv.grad(cv.grad(f, 0), 1)
    assert float(mixed(0.7, 2.0)) == factor
    assert float(cv.jit(mixed)(0.7, 2.0)) == factor


def test_rules_may_look_at_values_in_eager_code():
    @cv.custom_jvp
    def absolute(x):
        return x if x > 0 else lax.neg(x)

    @absolute.defjvp
    def _(primals, tangents):
        return absolute(*primals), tangents[0] if primals[0] > 0 else lax.neg(tangents[0])

    assert float(cv.grad(absolute)(-2.0)) == -1.0


def test_nondiff_argnums():
    @functools.partial(cv.custom_jvp, nondiff_argnums=(0,))
    def apply(f, x):
        return f(x)

    @apply.defjvp
    def _(f, primals, tangents):
        return f(*primals), lax.mul(tangents[0], 5.0)

    assert float(cv.grad(lambda x: apply(lax.sin, x))(0.0)) == 5.0

    @functools.partial(cv.custom_vjp, nondiff_argnums=(0,))
    def call(f, x):
        return f(x)

    call.defvjp(lambda f, x: (f(x), None), lambda f, residuals, ct: (lax.mul(ct, 6.0),))
    assert float(cv.grad(lambda x: call(lax.sin, x))(0.0)) == 6.0


def test_keywords_and_trees():
    @cv.custom_vjp
    def f(tree, scale=2.0):
        return {"out": lax.mul(tree["x"], scale)}

    f.defvjp(
        lambda tree, scale: (f(tree, scale), None),
        lambda residuals, ct: ({"x": lax.mul(ct["out"], 7.0)}, None),
    )
    g = cv.grad(lambda x: f({"x": x})["out"])
    assert float(g(1.0)) == 7.0 and float(cv.jit(g)(1.0)) == 7.0


def test_defjvps():
    @cv.custom_jvp
    def f(x, y):
        return lax.mul(x, y)

    f.defjvps(lambda t, out, x, y: lax.mul(t, 10.0), None)
    assert float(cv.grad(f)(1.0, 2.0)) == 10.0
    assert float(cv.grad(f, 1)(1.0, 2.0)) == 0.0


def test_forward_mode_of_custom_vjp_is_refused():
    for f in (fourfold, cv.jit(fourfold)):
        with pytest.raises(TypeError, match="can't apply forward-mode differentiation"):
            cv.jvp(f, (1.0, 2.0), (1.0, 0.0))


def _bad(jvp=None, fwd=None, bwd=None):
    if jvp is not None:
        f = cv.custom_jvp(lambda x: x)
        f.defjvp(jvp)
    else:
        f = cv.custom_vjp(lambda x: x)
        f.defvjp(fwd or (lambda x: (x, None)), bwd)
    return lambda: cv.grad(f)(1.0)


REFUSED = {
    "no rule": (lambda: cv.custom_jvp(lax.sin)(1.0), AttributeError, "defjvp"),
    "no rules": (lambda: cv.custom_vjp(lax.sin)(1.0), AttributeError, "defvjp"),
    "not a pair": (_bad(jvp=lambda p, t: p[0]), TypeError, "pair"),
    "trees": (_bad(jvp=lambda p, t: (p[0], (t[0],))), TypeError, "structures"),
    "shape": (
        _bad(jvp=lambda p, t: (p[0], np.ones(2, np.float32))),
        TypeError,
        "shapes and dtypes",
    ),
    "fwd": (_bad(fwd=lambda x: x, bwd=lambda r, ct: (ct,)), TypeError, "fwd rule"),
    "bwd length": (_bad(bwd=lambda r, ct: (ct, ct)), TypeError, "bwd rule"),
    "bwd shape": (_bad(bwd=lambda r, ct: (np.ones(2, np.float32),)), ValueError, "bwd rule"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refuses(name):
    call, error, message = REFUSED[name]
    with pytest.raises(error, match=message):
        call()


# --- zeros that are known as such ----------------------------------------------------------------

JVP_RULE = """
seen = []
@jax.custom_jvp
def f(a, b, c):
    return lax.mul(a, b), c
def rule(primals, tangents):
    seen.append([type(t).__name__ == "SymbolicZero" for t in tangents])
    zero = jax.custom_derivatives.SymbolicZero
    ta, tb, tc = tangents
    terms = [lax.mul(t, x) for t, x in ((ta, primals[1]), (tb, primals[0])) if type(t) is not zero]
    out = zero.from_primal_value(primals[0]) if not terms else terms[0]
    return f(*primals), (lax.add(*terms) if len(terms) == 2 else out, tc)
f.defjvp(rule, symbolic_zeros=True)
x = jnp.array(x)
"""
VJP_RULE = """
seen = []
@jax.custom_vjp
def f(a, b):
    return lax.mul(a["a"], b), a["a"]
def forward(a, b):
    seen.append([a["a"].perturbed, b.perturbed])
    a, b = jax.custom_derivatives.custom_vjp_primal_tree_values((a, b))
    return f(a, b), (a["a"], b)
def backward(residuals, cts):
    zero = jax.custom_derivatives.SymbolicZero
    seen.append([type(ct) is zero for ct in cts])
    ct = cts[0]
    if type(ct) is zero:
        return {"a": cts[1]}, ct
    a, b = residuals
    return {"a": lax.mul(ct, b)}, lax.mul(ct, a)
f.defvjp(forward, backward, symbolic_zeros=True)
g = lambda a, b: f({"a": a}, b)
x = jnp.array(x)
"""
SYMBOLIC = [
    (JVP_RULE, "jax.jvp(lambda a: f(a, 2.0, 3), (x[0],), (x[0],))[1][0]"),
    (JVP_RULE, "jax.jvp(lambda c: f(x, x, c), (x,), (x,))[1]"),
    (JVP_RULE, "jax.jvp(f, (x, x, x), (x, x, x))"),
    (JVP_RULE, "jax.grad(lambda a: f(a, 2.0, 3.0)[0])(x[0])"),
    (JVP_RULE, "jax.jit(jax.grad(lambda a: f(a, 2.0, 3.0)[0]))(x[0])"),
    (JVP_RULE, "jax.jvp(jax.jit(lambda a: f(a, 2.0, 3.0)), (x,), (x,))"),
    (JVP_RULE, "jax.jvp(jax.vmap(lambda a: f(a, 2.0, x)), (x,), (x,))"),
    (JVP_RULE, "jax.vmap(jax.grad(lambda a: f(2.0, a, 3.0)[0]))(x)"),
    (VJP_RULE, "jax.grad(lambda a: g(a, 2.0)[0])(x[0])"),
    (VJP_RULE, "jax.grad(lambda a: g(a, 2.0)[1])(x[0])"),
    (VJP_RULE, "jax.grad(lambda a, b: g(a, b)[0], (0, 1))(x[0], x[1])"),
    (VJP_RULE, "jax.jit(jax.grad(lambda a: g(a, 2.0)[0]))(x[0])"),
    (VJP_RULE, "jax.grad(jax.jit(lambda a: g(a, 2.0)[1]))(x[0])"),
    (VJP_RULE, "jax.grad(lambda a: jnp.sum(jax.vmap(lambda u: g(u, 2.0)[1])(a)))(x)"),
    (VJP_RULE, "jax.vmap(jax.grad(lambda b: g(2.0, b)[0]))(x)"),
]


def test_symbolic_zeros(oracle):
    """Rules see the same zeros as in the oracle, and give the same derivatives."""
    from oracle import Case

    oracle.compare_many([Case(f"{rule}({call}, seen)", {"x": X}) for rule, call in SYMBOLIC])


def test_symbolic_zero_is_no_array():
    zero = cv.custom_derivatives.zero_from_primal(X, symbolic_zeros=True)
    assert (zero.shape, zero.dtype, zero.ndim, zero.size) == ((3,), np.float32, 1, 3)
    with pytest.raises(TypeError, match="SymbolicZero"):
        lax.sin(zero)
    assert cv.custom_derivatives.zero_from_primal(3).dtype == cv.float0
    np.testing.assert_array_equal(cv.custom_derivatives.zero_from_primal(X), np.zeros(3))


@pytest.mark.parametrize("symbolic_zeros", [False, True])
def test_wrong_symbolic_zeros(symbolic_zeros):
    """Of another shape, or from a rule that did not ask for them."""
    f = cv.custom_jvp(lambda x: x)
    wrong = cv.custom_derivatives.SymbolicZero(cv.typeof(X if symbolic_zeros else 1.0))
    f.defjvp(lambda primals, tangents: (primals[0], wrong), symbolic_zeros=symbolic_zeros)
    with pytest.raises(TypeError, match="f32\\[3\\]" if symbolic_zeros else "symbolic_zeros=True"):
        cv.grad(f)(1.0)
    g = cv.custom_vjp(lambda x: x)
    wrong = cv.custom_derivatives.SymbolicZero(cv.typeof(X))
    g.defvjp(lambda x: (x, None), lambda _, ct: (wrong,), symbolic_zeros=False)
    with pytest.raises(ValueError, match="argument 0"):
        cv.grad(g)(1.0)


def test_values_of_something_else():
    with pytest.raises(TypeError, match="custom_vjp_primal_tree_values"):
        cv.custom_derivatives.custom_vjp_primal_tree_values({"a": 1.0})


SHARED = """
f = jax.custom_vjp(lambda x, y: (lax.mul(x, y), lax.mul(y, 2.0)))
f.defvjp(
    lambda x, y: ((lax.mul(x, y), lax.mul(y, 2.0)), (x, y)),
    lambda r, g: (lax.mul(g[0], r[1]), lax.add(lax.mul(g[0], r[0]), lax.mul(g[1], 2.0))),
    generic_batching=True,
)
g = jax.custom_jvp(lambda x, y: (lax.mul(x, y), lax.mul(y, 2.0)))
@g.defjvp
def _(primals, tangents):
    (x, y), (dx, dy) = primals, tangents
    moved = (lax.add(lax.mul(dx, y), lax.mul(x, dy)), lax.mul(dy, 2.0))
    return (lax.mul(x, y), lax.mul(y, 2.0)), moved

def mapped(f, *axes):
    return jax.vmap(f, (0, None), axes)

def total(f, *axes):
    def added(x, y):
        first, second = mapped(f, *axes)(x, y)
        return lax.add(lax.reduce_sum(first, (0,)), lax.reduce_sum(second, range(second.ndim)))
    return added

x, y = np.arange(3.0, dtype=np.float32), np.float32(2.0)
"""
SHARED_CALLS = [
    f"[{wrap}({call})(x, y) for f in (f, g)]"
    for wrap in ("", "jax.jit")
    for call in (
        "mapped(f, 0, None)",
        "mapped(jax.jit(f), 0, None)",
        "mapped(f, 0, 0)",
        "jax.grad(total(f, 0, None), (0, 1))",
        "jax.grad(total(f, 0, 0), (0, 1))",
        "jax.grad(total(jax.jit(f), 0, None), (0, 1))",
    )
]


def test_outputs_that_a_batch_shares(oracle):
    snippets = [SHARED + call for call in SHARED_CALLS]
    snippets.append(SHARED + "jax.vmap(mapped(f, 0, None), (None, 0), (0, 0))(x, x)")
    snippets.append(SHARED + "jax.jvp(lambda x, y: mapped(g, 0, None)(x, y), (x, y), (x, y))")
    oracle.compare_many([Case(s, tolerance=Tolerance(check_weak_type=False)) for s in snippets])

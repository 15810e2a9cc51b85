"""Names of parts of a program: where they appear, and that they are no part of its meaning."""

import re

import covector
import numpy as np
import pytest
from covector import lax, named_call, named_scope

X = np.float32([0.5, 1.0, 2.0])


def locations(function, *args):
    """The names of operations in the program's text."""
    text = covector.jit(function).lower(*args).as_text(debug_info=True)
    return set(re.findall(r'loc\("([^"]*)"', text))


@named_scope("outer")
def wave(x):
    with named_scope("inner"):
        return lax.sin(x)


def total(x):
    return lax.reduce_sum(wave(x), (0,))


def test_name_stack():
    def f(x):
        with named_scope("a") as name:
            assert name == "a"
            with named_scope("b") as name:
                assert name == "a/b"
                y = lax.sin(x)
            y = lax.cos(y)
        return lax.neg(y)

    eqns = covector.make_jaxpr(f)(X).eqns
    assert [eqn.source_info.name_stack for eqn in eqns] == ["a/b", "a", ""]


TRANSFORMED = [
    (wave, {"outer/inner/sin"}),
    (covector.vmap(wave), {"outer/inner/sin"}),
    (lambda x: covector.jvp(wave, (x,), (x,)), {"outer/inner/cos", "outer/inner/scale"}),
    (covector.grad(total), {"outer/inner/cos", "transpose(jvp(outer))/inner/scale"}),
    (covector.grad(covector.jit(total)), {"outer/inner/cos", "transpose(jvp(outer))/inner/scale"}),
    (lambda x: covector.linearize(wave, x)[1](x), {"jvp(outer)/inner/scale"}),
    (
        lambda x: named_call(lambda x: lax.fori_loop(0, 3, lambda _, c: wave(c), x), name="f")(x),
        {"f/outer/inner/sin", "f/scan"},
    ),
    (lambda x: named_call(covector.jit(wave), name="f")(x), {"f/jit", "outer/inner/sin"}),
    (covector.checkpoint(wave), {"outer/inner/sin"}),
]


@pytest.mark.parametrize(("function", "names"), TRANSFORMED)
def test_locations(function, names):
    assert names <= locations(function, X)


def test_compiled_program():
    """The compiler keeps the names, and does not take another program's from the disk cache."""
    for name in ("first", "second"):
        f = named_scope(name)(lambda x: lax.sin(x))
        text = covector.jit(f).lower(X).compile().as_text()
        assert f'op_name="{name}/sin"' in text


def test_a_jitted_function_is_in_no_scope_of_its_first_call():
    f = covector.jit(lambda x: lax.tan(lax.sin(x)))
    with named_scope("first"):
        f(X)
    assert locations(f, X) == {"sin", "tan"} | {n for n in locations(f, X) if n == "jit"}


def test_eager_is_not_affected():
    with named_scope("eager"):
        np.testing.assert_array_equal(wave(X), lax.sin(X))
        np.testing.assert_array_equal(covector.grad(total)(X), lax.cos(X))


def test_left_after_an_error():
    with pytest.raises(ZeroDivisionError), named_scope("a"):
        1 / 0
    with named_scope("b") as name:
        assert name == "b"


def test_recursion():
    scope = named_scope("r")

    @scope
    def f(x, depth):
        return lax.sin(x) if depth == 0 else f(x, depth - 1)

    assert covector.make_jaxpr(lambda x: f(x, 2))(X).eqns[0].source_info.name_stack == "r/r/r"
    with scope, scope as name:
        assert name == "r/r"


def test_names_that_need_care():
    assert locations(named_scope('a"b\\c')(lambda x: lax.sin(x)), X) == {"a\\22b\\5Cc/sin"}
    covector.jit(named_scope('a"b\\c')(lambda x: lax.sin(x)))(X)


def test_errors(oracle):
    oracle.compare_error("jax.named_scope(3)")
    oracle.compare_error("with jax.named_scope(None):\n    pass\n")
    oracle.compare("jax.named_call(jnp.sin).__name__")
    with pytest.raises(TypeError, match="named_call: expected a callable"):
        covector.named_call(3)

"""The checker: right programs pass, under every transformation, and each broken rule is named."""

import covector
import numpy as np
import pytest
from covector import lax
from covector._ir.avals import ShapedArray
from covector._ir.check import check_derived, check_jaxpr
from covector._ir.jaxpr import Equation, Jaxpr, Literal, Var, structure_key
from covector._transform.batch import BatchAxis, batch
from covector._transform.jvp import jvp
from covector._transform.linearize import linearize
from covector._transform.transpose import transpose
from covector.errors import JaxprTypeError
from covector.lax.call import jit_p

VECTOR, MATRIX = ShapedArray((3,), np.float32), ShapedArray((3, 3), np.float32)
SCALAR = ShapedArray((), np.float32)


def program(invars, eqns, outvars):
    """A program that is not interned, and so not checked."""
    try:
        key = structure_key(invars, eqns, outvars)
    except (KeyError, TypeError, AttributeError):  # broken
        key = None
    return Jaxpr(invars, eqns, outvars, key)


def equation(primitive, inputs, outputs, **params):
    return Equation(primitive, params, inputs, outputs, None)


def sines(count):
    """A chain of sines: variables, and equations."""
    v = [Var(VECTOR) for _ in range(count + 1)]
    return v, [equation(lax.sin_p, [v[i]], [v[i + 1]], accuracy=None) for i in range(count)]


def test_right_programs():
    v, eqns = sines(3)
    check_jaxpr(program(v[:1], eqns, v[3:]))
    check_jaxpr(program(v[:1], eqns, [v[0], v[3], v[3], Literal(1.0, SCALAR)]))
    check_jaxpr(program([], [], []))
    closed = covector.make_jaxpr(lambda x: lax.add(x, np.ones(3, np.float32)))(np.ones(3))
    assert closed.consts
    check_jaxpr(closed)


def undefined_input():
    v, eqns = sines(2)
    return program(v[:1], eqns[::-1], v[2:])


def never_defined():
    v, eqns = sines(1)
    return program([], eqns, v[1:])


def defined_twice():
    v, eqns = sines(2)
    eqns[1].outvars = [v[1]]
    return program(v[:1], eqns, v[1:2])


def input_named_twice():
    v = Var(VECTOR)
    return program([v, v], [], [v])


def input_redefined():
    v, eqns = sines(1)
    eqns[0].outvars = [v[0]]
    return program(v[:1], eqns, v[:1])


def undefined_output():
    v, eqns = sines(1)
    return program(v[:1], eqns, [Var(VECTOR)])


def literal_input():
    return program([Literal(1.0, SCALAR)], [], [])


def value_as_atom():
    v, eqns = sines(1)
    eqns[0].invars = [2.0]
    return Jaxpr(v[:1], eqns, v[1:], None)


def wrong_shape():
    x, y = Var(VECTOR), Var(MATRIX)
    return program([x], [equation(lax.sin_p, [x], [y], accuracy=None)], [y])


def wrong_dtype():
    x, y = Var(VECTOR), Var(VECTOR.update(dtype=np.int32))
    return program([x], [equation(lax.sin_p, [x], [y], accuracy=None)], [y])


def too_many_outputs():
    x, y, z = Var(VECTOR), Var(VECTOR), Var(VECTOR)
    return program([x], [equation(lax.sin_p, [x], [y, z], accuracy=None)], [y])


def refused_operands():
    x, y, z = Var(VECTOR), Var(MATRIX), Var(VECTOR)
    return program([x, y], [equation(lax.add_p, [x, y], [z])], [z])


def unknown_parameter():
    x, y = Var(VECTOR), Var(VECTOR)
    return program([x], [equation(lax.transpose_p, [x], [y], permutation=(0,), flavor=1)], [y])


def unhashable_parameter():
    x, y = Var(VECTOR), Var(SCALAR)
    return program([x], [equation(lax.reduce_sum_p, [x], [y], axes=[0])], [y])


def literal_of_another_shape():
    x, y = Var(VECTOR), Var(VECTOR)
    one = Literal(np.ones(2, np.float32), VECTOR)
    return program([x], [equation(lax.add_p, [x, one], [y])], [y])


def aval_not_interned():
    other = object.__new__(ShapedArray)
    for name in ("shape", "dtype", "weak_type", "ndim", "size", "_mlir", "_tangent"):
        setattr(other, name, getattr(VECTOR, name))
    return program([Var(other)], [], [])


def wrong_summary():
    v, eqns = sines(1)
    jaxpr = program(v[:1], eqns, v[1:])
    jaxpr.out_avals = (MATRIX,)
    return jaxpr


def wrong_effects():
    v, eqns = sines(1)
    jaxpr = program(v[:1], eqns, v[1:])
    jaxpr.effects = frozenset({"fire"})
    return jaxpr


def wrong_key():
    v, eqns = sines(2)
    jaxpr = program(v[:1], eqns, v[2:])
    jaxpr.key = structure_key(v[:1], eqns[:1], v[1:2])
    return jaxpr


def broken_program_inside():
    inner = wrong_shape()
    x, y = Var(VECTOR), Var(MATRIX)
    return program([x], [equation(jit_p, [x], [y], jaxpr=inner, name="f")], [y])


def call_with_other_types():
    v, eqns = sines(1)
    inner = program(v[:1], eqns, v[1:])
    x, y = Var(MATRIX), Var(VECTOR)
    return program([x], [equation(jit_p, [x], [y], jaxpr=inner, name="f")], [y])


BROKEN = {
    undefined_input: "not defined before",
    never_defined: "not defined before",
    defined_twice: "defined twice",
    input_named_twice: "defined twice",
    input_redefined: "defined twice",
    undefined_output: "not defined before",
    literal_input: "no variable",
    value_as_atom: "neither a variable nor a literal",
    wrong_shape: "abstract rule gives",
    wrong_dtype: "abstract rule gives",
    too_many_outputs: "abstract rule gives",
    refused_operands: "abstract rule does not take",
    unknown_parameter: "abstract rule does not take",
    unhashable_parameter: "not hashable",
    literal_of_another_shape: "literal of shape",
    aval_not_interned: "not interned",
    wrong_summary: "out_avals",
    wrong_effects: "effects",
    wrong_key: "key",
    broken_program_inside: "abstract rule gives",
    call_with_other_types: "the program f takes",
}


@pytest.mark.parametrize("broken", BROKEN, ids=lambda f: f.__name__)
def test_broken_programs(broken):
    with pytest.raises(JaxprTypeError, match=BROKEN[broken]):
        check_jaxpr(broken())


def test_constants_of_another_shape():
    closed = covector.make_jaxpr(lambda x: lax.add(x, np.ones(3, np.float32)))(np.ones(3))
    closed.consts[0] = np.ones(4)
    with pytest.raises(JaxprTypeError, match="constant"):
        check_jaxpr(closed)


def test_weakness_may_differ():
    x, y = Var(VECTOR.update(weak_type=True)), Var(VECTOR)
    check_jaxpr(program([x], [equation(lax.sin_p, [x], [y], accuracy=None)], [y]))


# --- derived programs ----------------------------------------------------------------------------


def product():
    x = np.ones((3, 3), np.float32)
    return covector.make_jaxpr(lambda x, y: lax.sin(lax.dot(x, y)))(x, x).jaxpr


def derivations():
    """Name, the memo's key, and the derived program, for each transformation of a product."""
    jaxpr, axis = product(), BatchAxis(5)
    (doubling,) = covector.make_jaxpr(lambda x: lax.mul(x, np.float32(2)))(np.ones((3, 3))).eqns
    linear = doubling.jaxpr
    return {
        "jvp": (jaxpr, ("jvp", (True, False), None, 0), jvp(jaxpr, (True, False))),
        "linearize": (jaxpr, ("linearize", (True, True), None, 0), linearize(jaxpr, (True, True))),
        "transpose": (
            linear,
            ("transpose", (True, False), (True,), False, 0),
            transpose(linear, (True, False), (True,)),
        ),
        "batch": (jaxpr, ("batch", axis, (0, None), (1,), 0), batch(jaxpr, axis, (0, None), (1,))),
    }


@pytest.mark.parametrize("name", ["jvp", "linearize", "transpose", "batch"])
def test_derived_programs(name):
    jaxpr, key, derived = derivations()[name]
    check_derived(jaxpr, key, derived)


@pytest.mark.parametrize(
    ("name", "position", "argument"),
    [
        ("jvp", 1, (True, True)),
        ("linearize", 1, (True, False)),
        ("transpose", 1, (False, True)),
        ("transpose", 2, (False,)),
        ("batch", 1, BatchAxis(4)),
        ("batch", 2, (0, 0)),
        ("batch", 3, (2,)),
    ],
)
def test_derived_for_other_arguments(name, position, argument):
    """The program that belongs to one key is refused under another."""
    jaxpr, key, derived = derivations()[name]
    key = (*key[:position], argument, *key[position + 1 :])
    with pytest.raises(JaxprTypeError, match=name):
        check_derived(jaxpr, key, derived)


def test_residuals_that_do_not_exist():
    jaxpr, key, split = derivations()["linearize"]
    split = type(split)(split.forward, split.num_outs, (99,), split.tangent, split.out_mask)
    with pytest.raises(JaxprTypeError, match="residuals"):
        check_derived(jaxpr, key, split)


# --- the flag ------------------------------------------------------------------------------------


def test_flag_checks_what_is_interned():
    """A primitive whose rules contradict each other is found where it is first used."""
    from covector._trace.primitive import Primitive

    avals = iter([VECTOR, MATRIX])
    fickle = Primitive("fickle", abstract=lambda x: next(avals))
    with covector.enable_checks(True), pytest.raises(JaxprTypeError, match="fickle"):
        covector.make_jaxpr(fickle.bind)(np.ones(3, np.float32))


FUNCTIONS = {
    "elementwise": lambda x: lax.sin(lax.mul(x, x)),
    "reduction": lambda x: lax.reduce_max(lax.exp(x), (0,)),
    "product": lambda x: lax.dot(x, x),
    "sort": lambda x: lax.sort(x, 0),
    "call": covector.jit(lambda x: lax.cos(lax.dot(x, x))),
    "branch": lambda x: lax.cond(True, lax.sin, lax.cos, x),
    "loop": lambda x: lax.fori_loop(0, 3, lambda i, c: lax.sin(c), x),
    "scan": lambda x: lax.scan(
        lambda c, row: (lax.mul(c, row), c), lax.full((3,), 1.0, x.dtype), x
    ),
    "indexing": lambda x: lax.dynamic_slice(x, (1, 0), (2, 2)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_transformed_programs_pass(name):
    """With the flag on, every program of a stack of transformations is checked."""
    function = FUNCTIONS[name]
    x = np.linspace(0, 1, 9, dtype=np.float32).reshape(3, 3)

    def total(x):
        leaves = covector.tree.leaves(function(x))
        sums = [lax.reduce_sum(y, tuple(range(y.ndim))) for y in leaves]
        return lax.reduce_sum(lax.concatenate([lax.reshape(s, (1,)) for s in sums], 0), (0,))

    covector.clear_caches()
    with covector.enable_checks(True):
        gradient = covector.jit(covector.vmap(covector.grad(total)))(np.stack([x, x + 1]))
        second = covector.jvp(covector.grad(total), (x,), (x,))[1]
        program = covector.make_jaxpr(covector.grad(total))(x)
    check_jaxpr(program)
    expected = covector.vmap(covector.grad(total))(np.stack([x, x + 1]))
    np.testing.assert_allclose(gradient, expected, rtol=1e-6)
    assert second.shape == x.shape

"""Reductions, argmax and argmin: against the oracle, and the rules of each."""

import covector
import ml_dtypes
import numpy as np
import pytest
from core.primitive_checks import check_all, check_batched
from covector import lax
from oracle import Case, Tolerance

NUMBERS = ("int8", "uint32", "int32", "bfloat16", "float16", "float32", "complex64")
REDUCTIONS = {
    "reduce_sum": NUMBERS,
    "reduce_prod": NUMBERS,
    "reduce_max": ("bool", *NUMBERS),
    "reduce_min": ("bool", *NUMBERS),
    "reduce_and": ("bool", "int8", "uint32"),
    "reduce_or": ("bool", "int8", "uint32"),
    "reduce_xor": ("bool", "int8", "uint32"),
}
AXES = [(0,), (1,), (0, 2), (2, 1, 0), ()]


def samples(dtype, shape=(3, 4, 5), seed=0):
    rng = np.random.default_rng(seed)
    dtype = np.dtype(getattr(ml_dtypes, dtype, dtype))
    if dtype.kind in "biu":
        return rng.integers(0, 2 if dtype.kind == "b" else 9, shape).astype(dtype)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if dtype.kind == "c" else x).astype(dtype)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_are_the_oracle_s(oracle, name):
    text = f"jax.jit(lambda x: [lax.{name}(x, a) for a in axes])(x)"
    cases = []
    for dtype in REDUCTIONS[name]:
        cases.append(Case(text, {"x": samples(dtype), "axes": AXES}))
        cases.append(Case(f"lax.{name}(x, ())", {"x": samples(dtype, ())}))
    for shape in ((0, 2), (2, 0), (1, 1)):
        x = samples(dtype, shape)
        cases.append(Case(f"lax.{name}(x, (0,))", {"x": x}, Tolerance(exact=True)))
    oracle.compare_many(cases)


def test_narrow_floats_without_infinities_have_extrema(oracle):
    x = samples("float8_e4m3fn", (4, 3))
    cases = [Case(f"lax.{f}(x, (0,))", {"x": x}) for f in ("reduce_max", "reduce_min")]
    oracle.compare_many(cases)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_weak_types_are_the_oracle_s(oracle, name):
    oracle.compare(f"lax.{name}(lax.full((2,), 1), (0,))")


SPECIAL = [
    [1.0, np.nan, 2.0],
    [np.nan, np.nan],
    [-np.inf, np.inf],
    [-np.inf, -np.inf],
    [0.0, -0.0],
    [3.0, 1.0, 3.0],
]


@pytest.mark.parametrize("values", SPECIAL)
def test_extrema_of_special_values(oracle, values):
    x = np.array(values, np.float32)
    oracle.compare_many(
        [
            Case("lax.reduce_max(x, (0,)), lax.reduce_min(x, (0,))", {"x": x}),
            Case("lax.argmax(x, 0, np.int32), lax.argmin(x, 0, np.int32)", {"x": x}),
        ]
    )


@pytest.mark.parametrize("dtype", ("bool", "int8", "uint32", "bfloat16", "float16", "float32"))
def test_argmax_and_argmin_are_the_oracle_s(oracle, dtype):
    x = samples(dtype)
    indices = "[np.int32, np.int8, np.uint16]"
    cases = [
        Case(f"jax.jit(lambda x: [lax.{f}(x, i, d) for i, d in enumerate({indices})])(x)", {"x": x})
        for f in ("argmax", "argmin")
    ]
    cases.append(Case("lax.argmax(x[:, :0], 0, np.int32)", {"x": x}))
    oracle.compare_many(cases)


@pytest.mark.parametrize("name", ("argmax", "argmin"))
def test_argmax_and_argmin_batch_and_stop_derivatives(name):
    function = getattr(lax, name)
    x = samples("float64", (3, 4))
    check_batched(lambda x: function(x, 1, np.int32), x)
    index = covector.grad(lambda x: lax.convert_element_type(function(x[0], 0, np.int32), float))
    np.testing.assert_array_equal(index(x), np.zeros((3, 4)))


WRONG = """
lax.reduce_sum(x, (-1,))
lax.reduce_sum(x, (1, 1))
lax.reduce_max(x, (2,))
lax.reduce_sum(x, 1)
lax.reduce_sum(x > 0, (0,))
lax.reduce_prod(x > 0, (0,))
lax.reduce_and(x, (0,))
lax.reduce_or(x, (0,))
lax.reduce_xor(x, (0,))
lax.reduce_sum([1, 2], (0,))
lax.argmax(x, -1, np.int32)
lax.argmax(x, 2, np.int32)
lax.argmin(x, 1, np.float32)
lax.argmax(x[:0], 0, np.int32)
lax.argmax(x, None, np.int32)
lax.argmin(x + 1j, 0, np.int32)
lax.reduce(x, 0.0, lax.add, (-1,))
lax.reduce(x, 0.0, lax.add, (2,))
lax.reduce({'a': x}, 0.0, lambda a, b: a, (1,))
lax.reduce(x, 0.0, lambda a, b: (a, b), (1,))
lax.reduce(x, 0.0, lambda a, b: a > b, (1,))
lax.reduce((x, x[0]), (1.0, 1.0), lambda a, b: a, (0,))
lax.reduce(x, jnp.ones(2), lambda a, b: a, (0,))
""".strip().splitlines()


@pytest.mark.parametrize("snippet", WRONG)
def test_wrong_arguments_raise_what_the_oracle_raises(oracle, snippet):
    assert oracle.compare_error(snippet, x=samples("float32", (2, 3))).message


RULES = {
    "sum": (lambda x: lax.reduce_sum(x, (0, 2)), (3, 4, 2)),
    "sum of none": (lambda x: lax.reduce_sum(x, (0,)), (0, 2)),
    "max": (lambda x: lax.reduce_max(x, (1,)), (3, 4)),
    "min": (lambda x: lax.reduce_min(x, (0, 1)), (3, 4)),
    "prod": (lambda x: lax.reduce_prod(x, (1,)), (3, 5)),
    "prod of two axes": (lambda x: lax.reduce_prod(x, (2, 0)), (2, 2, 3)),
    "prod of none": (lambda x: lax.reduce_prod(x, (0,)), (0, 2)),
    "prod of one": (lambda x: lax.reduce_prod(x, (0,)), (1, 2)),
    "reduce": (lambda x: lax.reduce(x, 0.0, _smooth, (1,)), (3, 5)),
    "reduce from": (lambda x: lax.reduce(x, 0.5, lax.add, (0,)), (3, 2)),
    "reduce of two": (lambda x: lax.reduce((x, x), (0.0, 1.0), _pair, (0, 1)), (3, 3)),
    "reduce of none": (lambda x: lax.reduce(x, 0.5, _smooth, (0,)), (0, 2)),
}


def _smooth(x, y):
    return lax.add(lax.add(x, y), lax.mul(x, y))  # associative, commutative


def _pair(x, y):
    return lax.add(x[0], y[0]), lax.mul(x[1], lax.sub(2.0, lax.sub(2.0, y[1])))


@pytest.mark.parametrize("name", RULES)
def test_derivatives_batching_and_staging(name):
    function, shape = RULES[name]
    check_all(function, samples("float64", shape))


def test_complex_derivatives():
    for function in (lax.reduce_sum, lax.reduce_prod):
        check_all(lambda x, f=function: f(x, (0,)), samples("complex128", (3, 2)))


def test_the_derivative_of_a_product_with_zeros():
    x = np.array([[0.0, 2.0, 3.0], [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]])
    first = [[6.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    np.testing.assert_array_equal(covector.vmap(covector.grad(_product))(x), first)
    second = covector.vmap(covector.hessian(_product))(x)
    np.testing.assert_array_equal(second[0], [[0, 3, 2], [3, 0, 0], [2, 0, 0]])
    np.testing.assert_array_equal(second[1], [[0, 3, 0], [3, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(second[2], np.zeros((3, 3)))


def _product(x):
    return lax.reduce_prod(x, (0,))


def test_equal_extrema_share_the_derivative(oracle):
    x = np.array([[1.0, 2.0, 2.0, 0.0], [3.0, 3.0, 3.0, 3.0]], np.float32)
    for name in ("reduce_max", "reduce_min"):
        oracle.compare(f"jax.jacrev(lambda x: lax.{name}(x, (1,)))(x)", x=x)
        oracle.compare(f"jax.jacfwd(lambda x: lax.{name}(x, (1,)))(x)", x=x)


def test_the_derivative_of_an_extremum_that_is_nan_is_nan_there_only():
    x = np.array([[1.0, np.nan], [1.0, 2.0]], np.float32)
    gradient = covector.grad(lambda x: lax.reduce_sum(lax.reduce_max(x, (1,)), (0,)))(x)
    np.testing.assert_array_equal(gradient, [[0.0, np.nan], [0.0, 1.0]])


GENERAL = """
lax.reduce(x, 0.0, lax.add, (1,))
lax.reduce(x, 0, lax.add, (1,))
lax.reduce(x, -np.inf, lax.max, (0, 1))
lax.reduce(x, 1.0, lambda a, b: a * b, (0,))
lax.reduce(x, 2.0, lax.add, (0,))
lax.reduce(x, 0.0, lambda a, b: a + b + a * b, (0, 1))
lax.reduce((x, x), (0.0, 1.0), lambda a, b: (a[0] + b[0], a[1] * b[1]), (1,))
lax.reduce({'a': x}, {'a': 0.0}, lambda a, b: {'a': a['a'] + b['a']}, (1,))
lax.reduce(x.astype(int), 0, lax.bitwise_or, (1,))
lax.reduce(x > 0, False, lax.bitwise_or, (1,))
lax.reduce(x > 0, True, lax.bitwise_and, (1,))
lax.reduce(x > 0, False, lax.bitwise_xor, (1,))
lax.reduce(x + 0j, 0j, lax.add, (1,))
lax.reduce(x, 0.0, lax.add, ())
lax.reduce(x[:0], 7.0, lambda a, b: a + b + a * b, (0,))
jax.vmap(lambda x: lax.reduce(x, 0.0, lambda a, b: a + b + a * b, (0,)))(x)
jax.grad(lambda x: lax.reduce(x, 1.0, lax.mul, (0, 1)))(x)
""".strip().splitlines()


def test_the_general_reduction_is_the_oracle_s(oracle):
    x = samples("float32", (3, 4))
    oracle.compare_many([Case(s, {"x": x}) for s in GENERAL])


def test_the_general_reduction_takes_batched_initial_values():
    x, start = samples("float64", (3, 4)), samples("float64", (2,))
    with covector.enable_x64(True):
        out = covector.vmap(lambda v: lax.reduce(x, v, _smooth, (1,)))(start)
        for row, v in zip(out, start):
            np.testing.assert_allclose(row, lax.reduce(x, v, _smooth, (1,)), rtol=1e-12)


def test_reductions_by_one_operation_become_the_named_ones():
    x = samples("float32", (3, 4))
    for function, init, name in [
        (lambda a, b: lax.add(a, b), 0.0, "reduce_sum"),
        (lambda a, b: lax.mul(b, a), 1.0, "reduce"),
        (lax.mul, 1.0, "reduce_prod"),
        (lax.max, -np.inf, "reduce_max"),
        (lax.max, 0.0, "reduce"),
    ]:
        jaxpr = covector.make_jaxpr(lambda x, f=function, v=init: lax.reduce(x, v, f, (0,)))(x)
        assert [e.primitive.name for e in jaxpr.eqns] == [name]


# Large operands are reduced in other ways than small ones on CPU. JAX 0.12 loses nan there.
LARGE = [((5000,), (0,)), ((71, 70), (1,)), ((70, 71), (0,)), ((20, 30, 11), (0, 2))]


@pytest.mark.parametrize("dtype", ("float16", "bfloat16", "float32"))
@pytest.mark.parametrize(("shape", "axes"), LARGE)
def test_extrema_of_many_elements_keep_nan(shape, axes, dtype):
    function = covector.jit(lambda x: (lax.reduce_max(x, axes), lax.reduce_min(x, axes)))
    for places in ([], [0], [0, -1], [777]):
        x = samples(dtype, shape)
        x.reshape(-1)[places] = np.nan
        for out, expected in zip(function(x), (np.max, np.min)):
            np.testing.assert_array_equal(out, expected(x.astype(np.float32), axis=axes))


@pytest.mark.parametrize(
    ("shape", "axis"), [((1024,), 0), ((5003,), 0), ((3, 2000), 1), ((2, 331, 3), 1), ((257, 2), 0)]
)
@pytest.mark.parametrize("dtype", ("bool", "int8", "float32"))
def test_argmax_and_argmin_along_a_long_axis(shape, axis, dtype):
    function = covector.jit(lambda x: [f(x, axis, np.int32) for f in (lax.argmax, lax.argmin)])
    rng = np.random.default_rng(0)
    for nans in (0, 1, 2, shape[axis]):
        x = samples(dtype, shape, seed=nans)
        if dtype == "float32":
            x.reshape(-1)[rng.integers(0, x.size, nans)] = np.nan
        for out, expected in zip(function(x), (np.argmax, np.argmin)):
            np.testing.assert_array_equal(out, expected(x, axis))
    equal = np.full(shape, -np.inf if dtype == "float32" else 1).astype(dtype)
    assert not np.any(function(equal)[0])


@pytest.mark.parametrize("shape", [(4096,), (64, 80), (5001,)])
@pytest.mark.parametrize("dtype", ("bool", "int8"))
def test_totals_of_many_bytes(shape, dtype):
    axes = tuple(range(len(shape)))
    names = {
        "reduce_and": np.bitwise_and,
        "reduce_or": np.bitwise_or,
        "reduce_xor": np.bitwise_xor,
        "reduce_max": np.maximum,
        "reduce_min": np.minimum,
    }
    x = samples(dtype, shape) | (samples(dtype, shape, seed=1) > 0)
    out = covector.jit(lambda x: [getattr(lax, name)(x, axes) for name in names])(x)
    for y, function in zip(out, names.values()):
        np.testing.assert_array_equal(y, function.reduce(x, axis=None))

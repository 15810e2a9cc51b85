"""Python's operators on arrays and traced values, and what happens with operands of other types."""

import operator
import subprocess
import sys

import covector
import covector.numpy as jnp
import numpy as np
import pytest

from numpy_api.compare import compare_all, compare_errors

BINARY = ["+", "-", "*", "/", "//", "%", "**"]
BITWISE = ["&", "|", "^", "<<", ">>"]
COMPARISONS = ["==", "!=", "<", "<=", ">", ">="]


@pytest.mark.parametrize("symbol", BINARY + COMPARISONS)
def test_with_numbers_and_numpy(oracle, symbol):
    compare_all(
        oracle,
        [
            f"f {symbol} g",
            f"j {symbol} 2",
            f"2 {symbol} j",
            f"f {symbol} np.float32(2)",
            f"np.float32(2) {symbol} p",
            f"np.ones(3, np.float32) {symbol} p",
            f"p {symbol} np.ones(3)",
        ],
        rtol={"float32": 1e-5},
        check_weak_type=symbol not in COMPARISONS + ["**"],
    )


@pytest.mark.parametrize("symbol", BITWISE)
def test_bits(oracle, symbol):
    compare_all(oracle, [f"i {symbol} j", f"j {symbol} 1", f"1 {symbol} j"])


def test_unary(oracle):
    compare_all(
        oracle,
        """
            -f
            +f
            abs(f)
            ~i
            ~b
            round(f)
            round(f, 1)
            divmod(j, 2)
            divmod(7, j)
            """,
    )


def test_matrix_product(oracle):
    compare_all(
        oracle,
        """
            f @ w
            v @ w
            f @ v
            t[:, :2] @ w.T[None]
            np.ones((4, 2), np.float32) @ f
            """,
        rtol=1e-5,
    )


@pytest.mark.parametrize(
    "name", ["add", "sub", "mul", "truediv", "matmul", "pow", "floordiv", "mod"]
)
def test_traced_operands(name):
    function = getattr(operator, name)
    x = np.array([[1.5, 2.0], [3.0, 4.0]], np.float32)
    y = np.array([[2.0, 1.0], [1.0, 3.0]], np.float32)
    expected = function(jnp.asarray(x), jnp.asarray(y))
    np.testing.assert_allclose(covector.jit(function)(x, y), expected, rtol=1e-6)
    np.testing.assert_allclose(covector.jit(lambda a: function(a, y))(x), expected, rtol=1e-6)
    np.testing.assert_allclose(covector.jit(lambda b: function(x, b))(y), expected, rtol=1e-6)
    np.testing.assert_allclose(
        covector.jit(lambda b: function(jnp.asarray(x), b))(y), expected, rtol=1e-6
    )


class Other:
    """Not an array, but knows how to add one."""

    def __radd__(self, other):
        return "their sum"

    __array_ufunc__ = None


def test_unknown_types_are_asked():
    assert jnp.ones(3) + Other() == "their sum"
    assert covector.make_jaxpr(lambda x: x * (0 if x + Other() else 1))(1.0)


def test_errors(oracle):
    compare_errors(
        oracle,
        """
            f + [1, 2, 3]
            [1, 2, 3] + f
            f + None
            f + 'a'
            f == [1, 2, 3]
            f @ f
            f & 1
            v[0] @ v
            f < 'a'
            f < None
            """,
    )


def test_comparison_with_what_is_no_array(oracle):
    assert (jnp.ones(3) == "a") is False
    assert (jnp.ones(3) != "a") is True
    assert (jnp.ones(3) == None) is False  # noqa: E711
    compare_all(
        oracle,
        """
            f == None
            f != 'a'
            """,
    )


def test_item_assignment_names_the_remedy():
    x = jnp.zeros(3)
    with pytest.raises(TypeError, match=r"x\.at\[idx\]\.set\(y\)"):
        x[0] = 1.0
    with pytest.raises(TypeError, match=r"x\.at\[idx\]\.set\(y\)"):
        covector.jit(lambda x: x.__setitem__(0, 1.0))(x)


def test_rank_promotion_flag():
    with covector.numpy_rank_promotion("raise"):
        with pytest.raises(ValueError, match="rank_promotion"):
            jnp.ones((2, 3)) + jnp.ones(3)
        assert (jnp.ones((2, 3)) + 1).shape == (2, 3)
    with covector.numpy_rank_promotion("warn"), pytest.warns(UserWarning, match="rank_promotion"):
        jnp.ones((4, 3)) + jnp.ones(3)
    assert (jnp.ones((2, 3)) + jnp.ones(3)).shape == (2, 3)


def test_strict_promotion_flag():
    with covector.numpy_dtype_promotion("strict"):
        with pytest.raises(covector.errors.TypePromotionError):
            jnp.ones(3) + jnp.arange(3)
        assert (jnp.ones(3) + 1).dtype == jnp.float32


def test_array_namespace():
    assert jnp.ones(3).__array_namespace__() is jnp


def test_a_sum_of_equal_types_is_one_equation():
    program = covector.make_jaxpr(lambda x, y: x * y + 2.0)(
        np.ones(3, np.float32), np.ones(3, np.float32)
    )
    assert [e.primitive.name for e in program.eqns] == ["mul", "add"]


@pytest.mark.parametrize(
    "program",
    [
        "covector.make_jaxpr(lambda v: v + v[0])(x)",
        "covector.grad(lambda v: (v * v)[0])(x)",
        "covector.vmap(lambda v: -v)(x)",
        "covector.eval_shape(lambda v: v.sum(), x)",
        "covector.jvp(lambda v: v[0] + v[1], (x,), (x,))",
        "covector.lax.add(x, x) + 1",
    ],
)
def test_operators_are_there_from_the_first_call_on(program):
    source = f"import covector, numpy as np; x = np.ones(3, np.float32); {program}"
    outcome = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True)
    assert outcome.returncode == 0, outcome.stderr

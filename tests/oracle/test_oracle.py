"""The oracle itself: what it describes, what it tells apart, and what it does when things go wrong.

Both sides run under JAX here, so that these tests hold whatever Covector does.
"""

import os
import time

import ml_dtypes
import numpy as np
import pytest

from oracle import Case, OracleError, Tolerance, WorkerCrash, WorkerTimeout, agree
from oracle.snippet import Outcome


def described(oracle, snippet, **inputs):
    return oracle.run(snippet, **inputs).result


def test_last_expression_is_the_result(oracle):
    assert oracle.value("y = jnp.sin(x)\ny + 1", x=np.zeros(2, np.float32)).tolist() == [1, 1]
    assert oracle.run("y = jnp.sin(x)", x=1.0).value is None


def test_arrays_carry_dtype_shape_and_weak_type(oracle):
    leaf = described(oracle, "jnp.asarray(2.0)")
    assert (leaf.kind, leaf.dtype, leaf.shape, leaf.weak_type) == ("array", "float32", (), True)
    leaf = described(oracle, "x", x=np.ones((2, 3), ml_dtypes.bfloat16))
    assert (leaf.kind, leaf.dtype, leaf.shape, leaf.weak_type) == (
        "array",
        "bfloat16",
        (2, 3),
        False,
    )
    assert leaf.value.dtype == ml_dtypes.bfloat16


@pytest.mark.parametrize("dtype", ["int4", "uint2", "float8_e4m3fn", "bool", "complex64"])
def test_every_kind_of_dtype_returns(oracle, dtype):
    leaf = described(oracle, f"jnp.ones(3, {dtype!r})")
    assert leaf.dtype == dtype
    assert leaf.value.astype(complex).tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    "snippet, kind, dtype",
    [
        ("random.key(3)", "array", "key<fry>"),
        ("np.float32(1)", "numpy", "float32"),
        ("jax.jvp(lambda n: n, (1,), (np.zeros((), jax.dtypes.float0),))[1]", "numpy", "float0"),
        ("x.shape[0]", "python", "int"),
        ("jax.eval_shape(jnp.sin, x)", "struct", "float32"),
        ("jnp.int32", "dtype", None),
        ("x.dtype", "dtype", None),
        ("jax.make_jaxpr(jnp.sin)(x)", "object", None),
    ],
)
def test_kinds_of_leaves(oracle, snippet, kind, dtype):
    leaf = described(oracle, snippet, x=np.ones(3, np.float32))
    assert (leaf.kind, leaf.dtype) == (kind, dtype)


def test_containers_keep_their_structure(oracle):
    node = described(oracle, "{'a': (1, [2]), 'b': jnp.linalg.slogdet(jnp.eye(2))}")
    assert node.kind == "dict" and node.keys == ("a", "b")
    pair, named = node.children
    assert (pair.kind, pair.children[1].kind) == ("tuple", "list")
    assert (named.kind, named.keys) == ("SlogdetResult", ("sign", "logabsdet"))


def test_inputs_in_containers_become_arrays(oracle):
    assert oracle.value("[type(x['a'][0]).__name__, type(n).__name__]", x={"a": (np.ones(2),)}, n=1)
    assert oracle.value("isinstance(x['a'][0], jax.Array)", x={"a": (np.ones(2),)}) is True
    assert oracle.value("type(n) is int", n=1) is True


def test_errors_keep_their_public_classes_and_message(oracle):
    error = oracle.run("jax.jit(lambda x: 1 if x > 0 else 0)(1.0)").error
    assert error.names == (
        "TracerBoolConversionError",
        "ConcretizationTypeError",
        "JAXTypeError",
        "TypeError",
        "Exception",
    )
    assert "traced array" in error.message and "if x > 0" in error.traceback
    with pytest.raises(AssertionError, match="the snippet raised"):
        oracle.value("1 / 0")


def test_prints_and_warnings_are_kept(oracle):
    outcome = oracle.run("print(jnp.arange(2))\njnp.zeros(1, 'float64')")
    assert outcome.printed == "[0 1]\n"
    assert any("float64" in message for _, message in outcome.warnings)


def test_settings_hold_for_one_run(oracle):
    assert described(oracle.using(x64=True), "jnp.ones(1)").dtype == "float64"
    assert described(oracle, "jnp.ones(1)").dtype == "float32"
    strict = oracle.using(numpy_dtype_promotion="strict")
    assert "strict" in strict.run("jnp.int32(1) + jnp.float32(1)").error.message
    legacy = oracle.using(threefry_partitionable=False)
    draw = "random.bits(random.PRNGKey(0), (2,))"
    assert legacy.value(draw).tolist() != oracle.value(draw).tolist()


def test_number_of_devices(oracle, device_count):
    assert oracle.value("len(jax.devices())") == device_count
    assert oracle.using(devices=3).value("len(jax.devices())") == 3


def test_named_functions(oracle):
    assert oracle.call("jnp.linalg.norm", np.ones(4, np.float32), ord=1).value == 4


def test_imports_are_translated():
    from oracle.snippet import _compile

    body, last, names = _compile("import jax\nfrom jax.numpy import sin\njax.grad(sin)", "covector")
    assert set(body.co_names) >= {"covector", "jax", "covector.numpy", "sin"}
    assert "jax" in names and last.co_names == ("jax", "grad", "sin")


PAIRS = [
    # what, actual, expected, tolerance, whether they agree
    ("equal", "jnp.arange(3.)", "jnp.arange(3.)", {}, True),
    ("two ulps", "jnp.float32(1 + 2**-22)", "jnp.float32(1)", {}, True),
    ("ten ulps", "jnp.float32(1 + 10 * 2**-23)", "jnp.float32(1)", {}, False),
    ("ten ulps, allowed", "jnp.float32(1 + 10 * 2**-23)", "jnp.float32(1)", {"rtol": 1e-5}, True),
    ("by dtype", "jnp.float32(1.1)", "jnp.float32(1)", {"rtol": {"float32": 0.2}}, True),
    ("other dtype", "jnp.float32(1.1)", "jnp.float32(1)", {"rtol": {"float64": 0.2}}, False),
    ("atol", "jnp.float32(1e-3)", "jnp.float32(0)", {"atol": 1e-2}, True),
    ("near zero", "jnp.float32(1e-3)", "jnp.float32(0)", {}, False),
    ("denormal", "jnp.float32(1e-40)", "jnp.float32(0)", {}, True),
    ("exact", "jnp.float32(1 + 2**-23)", "jnp.float32(1)", {"exact": True}, False),
    ("sign of zero", "jnp.float32(-0.)", "jnp.float32(0.)", {}, True),
    ("sign of zero, exact", "jnp.float32(-0.)", "jnp.float32(0.)", {"exact": True}, False),
    ("nan", "jnp.float32('nan')", "jnp.float32('nan')", {}, True),
    ("nan, exact", "jnp.float32('nan')", "jnp.float32('nan')", {"exact": True}, True),
    ("nan is not a number", "jnp.float32('nan')", "jnp.float32(1)", {"rtol": 1.0}, False),
    ("infinity", "jnp.float32('inf')", "jnp.float32('inf')", {}, True),
    ("other infinity", "jnp.float32('inf')", "jnp.float32('-inf')", {"rtol": 1.0}, False),
    ("infinity is not large", "jnp.float32(3e38)", "jnp.float32('inf')", {"rtol": 1.0}, False),
    ("bfloat16", "jnp.bfloat16(1.0078125)", "jnp.bfloat16(1)", {}, True),
    ("bfloat16 far", "jnp.bfloat16(1.1)", "jnp.bfloat16(1)", {}, False),
    ("float8", "jnp.ones(2, 'float8_e5m2')", "jnp.zeros(2, 'float8_e5m2')", {}, False),
    ("complex", "jnp.complex64(1 + 1e-7j)", "jnp.complex64(1)", {}, True),
    ("complex far", "jnp.complex64(1 + 1e-3j)", "jnp.complex64(1)", {}, False),
    ("complex nan", "np.complex64('nan+1j')", "np.complex64('nan+2j')", {}, False),
    ("integers are exact", "jnp.int32(1000)", "jnp.int32(1001)", {"rtol": 0.1}, False),
    ("int4", "jnp.ones(2, 'int4')", "jnp.zeros(2, 'int4')", {"rtol": 9.0}, False),
    ("booleans", "jnp.array(True)", "jnp.array(False)", {"rtol": 9.0}, False),
    ("dtype", "jnp.int32(1)", "jnp.float32(1)", {}, False),
    ("dtype, unchecked", "jnp.int32(1)", "jnp.float32(1)", {"check_dtype": False}, True),
    ("weak type", "jnp.asarray(1.)", "jnp.float32(1.)", {}, False),
    ("weak, unchecked", "jnp.asarray(1.)", "jnp.float32(1.)", {"check_weak_type": False}, True),
    ("shape", "jnp.ones(1)", "jnp.ones((1, 1))", {}, False),
    ("array or scalar", "1.0", "jnp.float32(1.0)", {}, False),
    ("array or NumPy", "np.ones(1, np.float32)", "jnp.ones(1)", {}, False),
    ("int or bool", "1", "True", {}, False),
    ("text", "'a'", "'b'", {}, False),
    ("python floats", "0.1 + 0.2", "0.3", {}, True),
    ("list or tuple", "[1]", "(1,)", {}, False),
    ("keys", "{'a': 1}", "{'b': 1}", {}, False),
    ("length", "(1, 2)", "(1,)", {}, False),
    ("deep", "{'a': [jnp.ones(2)]}", "{'a': [jnp.zeros(2)]}", {}, False),
    ("struct", "jax.eval_shape(jnp.sin, 1.)", "jax.eval_shape(jnp.sin, jnp.ones(1))", {}, False),
    ("key arrays", "random.key(0)", "random.key(1)", {}, False),
    ("dtypes", "jnp.int8", "jnp.dtype('int8')", {}, True),
    ("printed", "print('a')", "print('b')", {}, False),
    ("raised or not", "1 / 0", "1", {}, False),
    ("returned or not", "1", "1 / 0", {}, False),
    ("same error", "1 / 0", "2 // 0", {}, True),
    ("other error", "1 / 0", "[][0]", {}, False),
    ("derived error", "[][0]", "raise LookupError", {}, True),
    ("base error", "raise LookupError", "[][0]", {}, False),
]  # fmt: skip


@pytest.mark.parametrize(
    "actual, expected, tolerance, same", [p[1:] for p in PAIRS], ids=[p[0] for p in PAIRS]
)
def test_what_agrees(oracle, actual, expected, tolerance, same):
    differences = agree(oracle.run(actual), oracle.run(expected), Tolerance(**tolerance))
    assert (differences == []) is same, differences


def test_a_difference_names_place_and_worst_element(oracle):
    ours, theirs = (
        oracle.run("{'a': jnp.array([1., 2., 3.])}"),
        oracle.run("{'a': jnp.array([1., 4., 9.])}"),
    )
    (text,) = agree(ours, theirs)
    assert "result['a']" in text and "2 of 3 elements differ" in text
    assert "(2,)" in text and "expected np.float32(9.0)" in text


@pytest.fixture
def twice(oracle, monkeypatch):
    """An oracle in which JAX plays Covector's part too."""

    def run_covector(self, snippet, **inputs):
        return oracle.run(snippet.replace("OURS", "True"), **inputs)

    monkeypatch.setattr(type(oracle), "run_covector", run_covector)
    return oracle


def test_compare(twice):
    assert twice.compare("jnp.sin(x)", x=np.ones(2)).value.shape == (2,)
    twice.compare_call("jnp.add", np.ones(2), 1)


def test_compare_does_not_take_two_errors_for_agreement(twice):
    with pytest.raises(OracleError, match="use compare_error"):
        twice.compare("jnp.ones(2) + jnp.ones(3)")
    twice.compare("jnp.ones(2) + jnp.ones(3)", may_raise=True)
    assert "TypeError" in twice.compare_error("jnp.ones(2) + jnp.ones(3)").names
    with pytest.raises(AssertionError, match="neither implementation raised"):
        twice.compare_error("jnp.ones(2)")


def test_a_slip_in_the_snippet_is_no_agreement(twice):
    with pytest.raises(OracleError, match="slip"):
        twice.compare_error("jnp.sin(misspelled)")
    with pytest.raises(SyntaxError):
        twice.compare_error("jnp.sin(")


def test_compare_many_reports_every_failure(oracle, monkeypatch):
    monkeypatch.setattr(type(oracle), "run_covector", lambda self, s, **i: Outcome(error=None))
    cases = [Case("jnp.ones(1)"), Case("x + 1", {"x": 1}), Case("y = 2")]
    with pytest.raises(AssertionError, match="3 of 3 differ") as failure:
        oracle.compare_many(cases)
    assert "x = 1" in str(failure.value)


def test_a_crash_says_so_and_the_next_request_runs(oracle):
    with pytest.raises(WorkerCrash, match="exit code 7") as failure:
        oracle.run(
            "import os, sys\nsys.stderr.write('last words')\nsys.stderr.flush()\nos._exit(7)"
        )
    assert "last words" in str(failure.value) and "while it ran" in str(failure.value)
    assert oracle.value("1 + 1") == 2


def test_a_hang_is_ended(oracle):
    started = time.monotonic()
    with pytest.raises(WorkerTimeout, match="gave no answer"):
        oracle.using(timeout=0.5).run("import time\ntime.sleep(60)")
    assert time.monotonic() - started < 10
    assert oracle.value("1 + 1") == 2


def test_worker_is_another_process(oracle):
    assert oracle.value("import os\nos.getpid()") != os.getpid()


def test_jax_cannot_be_imported_here():
    with pytest.raises(ModuleNotFoundError, match="oracle's process"):
        __import__("jax")

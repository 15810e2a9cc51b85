"""`jit`: signatures, static and donated arguments, nesting, closures, stages, refusals."""

from __future__ import annotations

import functools

import covector as cv
import numpy as np
import pytest
from covector import lax
from covector._run import compile as compile_module

X = np.arange(3.0, dtype=np.float32)


@pytest.fixture
def compiles(monkeypatch):
    """The names of programs compiled (or loaded from disk) during the test."""
    names: list[str] = []
    real = compile_module.compile_text

    def counted(lowered, *args, **kwargs):
        names.append(lowered.bare_text.split('"', 2)[1])
        return real(lowered, *args, **kwargs)

    monkeypatch.setattr(compile_module, "compile_text", counted)
    return names


def test_value_dtype_and_weak_type():
    f = cv.jit(lambda x: lax.add(x, x))
    assert f(2).dtype == np.int32 and f(2).weak_type and int(f(2)) == 4
    assert f(X).dtype == np.float32 and not f(X).weak_type
    np.testing.assert_array_equal(f(X), 2 * X)


def test_traces_once_per_signature():
    traces = []

    @cv.jit
    def f(x, y):
        traces.append((x.aval, y.aval))
        return lax.add(x, y)

    for _ in range(3):
        f(X, X)
        f(1.0, 2.0)
    assert len(traces) == 2
    cv.jit(f.__wrapped__)(X, X)
    assert len(traces) == 2, "jits of one function share their programs"


def test_fresh_lambdas_are_compiled_once(compiles):
    values = [float(cv.jit(lambda x: lax.mul(lax.sin(x), 1.25))(2.0)) for _ in range(5)]
    assert len(set(values)) == 1
    assert len(compiles) == 1


def test_trees_and_keyword_arguments():
    @cv.jit
    def f(tree, *, scale):
        return {"a": lax.mul(tree["x"], scale), "b": (tree["y"][0],)}

    out = f({"x": X, "y": [1]}, scale=2.0)
    np.testing.assert_array_equal(out["a"], 2 * X)
    assert int(out["b"][0]) == 1


@pytest.mark.parametrize("call", [lambda f: f(X, 3), lambda f: f(X, n=3)])
def test_static_argument_by_position_and_name(call):
    @functools.partial(cv.jit, static_argnames="n")
    def f(x, n):
        assert type(n) is int
        for _ in range(n):
            x = lax.add(x, x)
        return x

    np.testing.assert_array_equal(call(f), 8 * X)


def test_static_arguments_are_told_apart_by_type():
    seen = []

    @functools.partial(cv.jit, static_argnums=0)
    def f(n, x):
        seen.append(type(n))
        return lax.mul(x, float(n))

    for n in (1, 1.0, True):
        f(n, 2.0)
    assert seen == [int, float, bool]


def test_donated_argument_is_consumed():
    f = cv.jit(lambda x: lax.add(x, 1.0), donate_argnums=0)
    x = cv.device_put(X)
    np.testing.assert_array_equal(f(x), X + 1)
    assert x.is_deleted()
    with pytest.raises(RuntimeError, match="deleted or donated"):
        f(x)


def test_nested_jit_is_one_equation_of_the_outer_program():
    inner = cv.jit(lambda x: lax.sin(x))
    closed = cv.make_jaxpr(lambda x: inner(inner(x)))(X)
    assert [e.primitive.name for e in closed.eqns] == ["jit", "jit"]
    inlined = cv.jit(lambda x: lax.sin(x), inline=True)
    closed = cv.make_jaxpr(lambda x: inlined(inlined(x)))(X)
    assert [e.primitive.name for e in closed.eqns] == ["sin", "sin"]


def test_closures_over_arrays_and_tracers():
    w = cv.device_put(X)
    f = cv.jit(lambda x: lax.mul(x, w))
    np.testing.assert_array_equal(f(X), X * X)
    np.testing.assert_array_equal(f(X), X * X)
    slope = cv.grad(lambda y: cv.jit(lambda x: lax.mul(x, y))(3.0))(2.0)
    assert float(slope) == 3.0
    outer = cv.jit(lambda y: cv.jit(lambda x: lax.mul(x, y))(3.0))
    assert float(outer(2.0)) == 6.0 and float(outer(4.0)) == 12.0


def test_methods_are_bound():
    class Model:
        scale = 3.0

        @functools.partial(cv.jit, static_argnums=0)
        def apply(self, x):
            return lax.mul(x, self.scale)

    np.testing.assert_array_equal(Model().apply(X), 3 * X)


def test_stages():
    f = cv.jit(lambda x, y: (lax.add(x, y), x))
    traced = f.trace(X, cv.ShapeDtypeStruct((3,), np.float32))
    assert traced.out_info[0].shape == (3,)
    lowered = traced.lower()
    assert "stablehlo.add" in lowered.as_text() and "loc(" in lowered.as_text(debug_info=True)
    assert "HloModule" in lowered.as_text(dialect="hlo")
    compiled = lowered.compile()
    np.testing.assert_array_equal(compiled(X, X)[0], 2 * X)
    assert compiled.cost_analysis()["flops"] == 3.0
    assert "HloModule" in compiled.as_text()
    with pytest.raises(TypeError, match=r"compiled for an argument of type f32\[3\]"):
        compiled(X[:2], X[:2])
    with pytest.raises(TypeError, match="Cannot apply a transformation"):
        cv.grad(lambda x: lax.reduce_sum(compiled(x, X)[0], (0,)))(X)


def test_eval_shape_and_make_jaxpr():
    shape = cv.eval_shape(lambda x: {"y": lax.sin(x)}, cv.ShapeDtypeStruct((2, 3), np.float32))
    assert shape == {"y": cv.ShapeDtypeStruct((2, 3), np.float32)}
    closed, shape = cv.make_jaxpr(lambda x, n: lax.mul(x, float(n)), 1, return_shape=True)(X, 2)
    assert str(closed) == "{ lambda ; a:f32[3]. let\n    b:f32[3] = mul a 2.0:f32[]\n  in (b,) }"
    assert shape.shape == (3,)


def test_disable_jit_runs_python_each_time():
    seen = []

    @cv.jit
    def f(x):
        seen.append(float(x))
        return lax.add(x, 1.0) if x > 0 else x

    with cv.disable_jit():
        f(1.0), f(1.0)
    assert seen == [1.0, 1.0]


def test_debug_nans_names_the_operation():
    with cv.debug_nans(True), pytest.raises(FloatingPointError, match="nan"):
        lax.log(-1.0)


def test_host_integers_that_do_not_fit_raise_and_do_not_wrap():
    f = cv.jit(lambda x: lax.add(x, 0))
    assert int(f(np.array([5]))[0]) == 5
    assert int(f(np.array([5]))[0]) == 5
    with pytest.raises(OverflowError, match="does not fit int32"):
        f(np.array([2**32 + 5]))
    with pytest.raises(OverflowError, match="too large"):
        f(2**40)


REFUSED = {
    # name: (call, error class, message)
    "not callable": (lambda: cv.jit(3), TypeError, "expects a callable"),
    "generator": (lambda: cv.jit(lambda: (yield)), TypeError, "generator"),
    "unhashable static": (
        lambda: cv.jit(lambda x, n: x, static_argnums=1)(X, [1]),
        ValueError,
        "Non-hashable static arguments",
    ),
    "static position": (
        lambda: cv.jit(lambda x: x, static_argnums=3),
        ValueError,
        "static_argnums",
    ),
    "static name": (
        lambda: cv.jit(lambda x: x, static_argnames="z"),
        ValueError,
        "invalid argnames",
    ),
    "string": (lambda: cv.jit(lambda x: x)("a"), TypeError, r"args\[0\]"),
    "list of strings": (
        lambda: cv.jit(lambda x: x)({"k": [1, "a"]}),
        TypeError,
        r"args\[0\]\['k'\]\[1\]",
    ),
    "result": (lambda: cv.jit(lambda x: "a")(X), TypeError, "not an array"),
    "branch": (
        lambda: cv.jit(lambda x: 1 if x > 0 else 2)(1.0),
        cv.errors.TracerBoolConversionError,
        "lax.cond",
    ),
    "float": (
        lambda: cv.jit(lambda x: float(x))(1.0),
        cv.errors.ConcretizationTypeError,
        r"float\(\)",
    ),
    "numpy": (
        lambda: cv.jit(lambda x: np.sin(np.asarray(x)))(1.0),
        cv.errors.TracerArrayConversionError,
        "covector.numpy",
    ),
    "range": (
        lambda: cv.jit(lambda n: len(range(n)))(3),
        cv.errors.TracerIntegerConversionError,
        "static",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refuses(name):
    call, error, message = REFUSED[name]
    with pytest.raises(error, match=message):
        call()


def test_leaked_tracer_is_reported_with_its_line():
    leaked = []

    @cv.jit
    def f(x):
        leaked.append(lax.sin(x))
        return x

    f(1.0)
    for use in (
        lambda: lax.add(leaked[0], 1.0),
        lambda: cv.jit(lambda x: lax.add(x, leaked[0]))(1.0),
    ):
        with pytest.raises(cv.errors.UnexpectedTracerError, match=r"test_jit\.py:\d+ .*f\)"):
            use()


def test_errors_show_the_users_frames_only():
    def helper(x):
        return lax.add(x, np.ones(4, np.float32))

    with pytest.raises(TypeError) as caught:
        cv.jit(lambda x: helper(x))(X)
    internal = [e for e in caught.traceback if "covector" in str(e.path) and "core" in str(e.path)]
    assert len([e for e in internal if "tests" not in str(e.path)]) <= 1
    assert any("hidden" in note for note in caught.value.__notes__)


def test_committed_arguments_must_agree_on_a_device():
    if cv.device_count() < 2:
        pytest.skip("needs two devices")
    first, second = cv.devices()[:2]
    x = cv.device_put(X, second)
    out = cv.jit(lambda x: lax.add(x, x))(x)
    assert out.devices() == {second}
    assert lax.add(x, cv.device_put(X)).devices() == {second}
    with pytest.raises(ValueError, match="incompatible devices"):
        lax.add(x, cv.device_put(X, first))


@pytest.mark.parametrize("hashable", [True, False])
def test_callables_that_cannot_be_referred_to_weakly(hashable):
    class Triple:
        __slots__ = ()
        __hash__ = object.__hash__ if hashable else None

        def __call__(self, x):
            return lax.mul(x, 3.0)

    for _ in range(100):  # jaxlib's cache of calls must not mistake one for another, or crash
        np.testing.assert_array_equal(cv.jit(Triple())(X), 3 * X)


# --- arguments that are not used ------------------------------------------------------------------


def inputs_of(compiled):
    """The types of the executable's inputs, from the first line of its text."""
    return compiled.as_text().partition("entry_computation_layout={(")[2].partition(")->")[0]


def test_keep_unused():
    """An argument that the result does not depend on stays an input, if asked for."""
    x, y = np.ones(3, np.float32), np.arange(4, dtype=np.int32)

    def f(x, y):
        return lax.add(x, 1.0)

    dropped, kept = cv.jit(f), cv.jit(f, keep_unused=True)
    assert inputs_of(dropped.lower(x, y).compile()) == "f32[3]{0}"
    assert inputs_of(kept.lower(x, y).compile()) == "f32[3]{0}, s32[4]{0}"
    for _ in range(2):
        np.testing.assert_array_equal(dropped(x, y), x + 1)
        np.testing.assert_array_equal(kept(x, y), x + 1)
    np.testing.assert_array_equal(kept.lower(x, y).compile()(x, y), x + 1)


def test_keep_unused_and_donated():
    """The buffer of an argument that is not used serves the result."""
    f = cv.jit(lambda x, y: lax.add(x, 1.0), keep_unused=True, donate_argnums=1)
    x, y = cv.device_put(np.ones(3, np.float32)), cv.device_put(np.zeros(3, np.float32))
    np.testing.assert_array_equal(f(x, y), [2, 2, 2])
    assert y.is_deleted()
    assert not x.is_deleted()

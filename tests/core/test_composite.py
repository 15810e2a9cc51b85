"""composite: one operation that a compiler may know by name, against the oracle."""

import covector
import numpy as np
import pytest
from covector import lax
from oracle import Case

X = np.arange(6, dtype=np.float32).reshape(2, 3)
CALLS = {
    "attribute": "lax.composite(lambda x, *, n: lax.mul(x, n), 'my.scale')(x, n=2.0)",
    "result_tree": "lax.composite(lambda x, *, axis: {'a': lax.reduce_sum(x, axis), 'b': x}, 'm.t')"
    "(x, axis=(0, 1))",
    "operand_tree": "lax.composite(lambda t, y: lax.mul(t['a'], y), 'm.t')({'a': x}, 3.0)",
    "default": "lax.composite(lambda x, /, *, n=2.0: lax.mul(x, n), 'm.t', version=3)(x)",
    "none": "lax.composite(lambda x, *, n: x, 'm.t')(x, n=None)",
    "closure": "k = jnp.ones((2, 3)); lax.composite(lambda x: lax.mul(x, k), 'm.t')(x)",
    "no_operand": "lax.composite(lambda: jnp.ones(2), 'm.t')()",
    "no_result": "lax.composite(lambda x: None, 'm.t')(x)",
    "jit": "jax.jit(lax.composite(lambda x: lax.sin(x), 'm.t'))(x)",
    "jit_around": "jax.jit(lambda x: lax.composite(lambda y: lax.sin(y), 'm.t')(x))(x)",
    "in_a_loop": "f = lax.composite(lambda y: lax.sin(y), 'm.t')\n"
    "lax.fori_loop(0, 3, lambda i, x: f(x), x)",
}


def test_values(oracle):
    oracle.compare_many([Case(call, {"x": X}) for call in CALLS.values()])


@pytest.mark.parametrize(
    "call",
    [
        "jax.grad(lambda x: lax.composite(lambda y: lax.mul(y, y), 'm.t')(x))(2.0)",
        "jax.jvp(lax.composite(lambda y: lax.mul(y, y), 'm.t'), (2.0,), (1.0,))",
        "jax.vmap(lax.composite(lambda y: lax.mul(y, y), 'm.t'))(x)",
        "jax.jit(lambda x: lax.composite(lambda y: lax.mul(x, y), 'm.t')(x))(x)",
        "lax.composite(lambda y: 'a', 'm.t')(x)",
        "jax.jit(lambda x: lax.composite(lambda y, *, n: y, 'm.t')(x, n=object()))(x)",
        "jax.jit(lambda x: lax.composite(lambda y, *, n: y, 'm.t')(x, n=1j))(x)",
    ],
)
def test_errors(oracle, call):
    oracle.compare_error(call, x=X)


ATTRIBUTES = [
    (b"hello", '"hello"'),
    ('q"uote\n', '"q\\22uote\\0A"'),
    ({"a": 1, "b": [2, 3.0]}, '{"a" = 1 : i64, "b" = [2 : i64, 3.e+00 : f64]}'),
    (np.float32(3), "3.e+00 : f32"),
    (np.int8(-3), "-3 : i8"),
    (np.dtype("int8"), "i8"),
    ((), "[]"),
    ((1, (2, True)), "[1 : i64, [2 : i64, true]]"),
    (np.bool_(False), "false"),
    (1 << 40, "1099511627776 : i64"),
    (float("inf"), "0x7FF0000000000000 : f64"),
    (np.arange(3), "dense<[0, 1, 2]> : tensor<3xi64>"),
    (np.ones((2, 2), np.float32), "dense<1.e+00> : tensor<2x2xf32>"),
]


@pytest.mark.parametrize(("value", "text"), ATTRIBUTES)
def test_attributes(value, text):
    f = covector.jit(lambda x: lax.composite(lambda x, **k: x, "a.b")(x, k=value))
    lowered = f.lower(X)
    assert f"composite_attributes = {{k = {text}}}, decomposition" in lowered.as_text()
    lowered.compile()


def test_text():
    f = covector.jit(lax.composite(lambda x: lax.sin(x), "my.sine", version=2))
    text = f.lower(X).as_text()
    assert 'stablehlo.composite "my.sine" %arg0' in text
    assert "version = 2 : i32" in text


def test_nothing_when_an_attribute_is_none():
    f = covector.jit(lambda x: lax.composite(lambda x, *, n: x, "m.t")(x, n=None))
    assert "composite_attributes" not in f.lower(X).as_text()

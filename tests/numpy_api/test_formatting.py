"""Arrays in f-strings and other formats, against the oracle."""

import covector
import covector.numpy as jnp
import pytest

from numpy_api.compare import compare_all, compare_errors


def test_scalars_format_as_numbers(oracle):
    texts = [
        "f'{s}', f'{s:.2f}', f'{s:0.4f}', f'{s:10.3e}', f'{s!r:>40}', f'{s!s}', '%.3f' % s",
        "f'{jnp.float32(1.23456)}', str(jnp.float32(1.23456))",
        "f'{jnp.int32(7):05d}', f'{jnp.int8(7):x}', f'{jnp.int32(7):.2f}', '%d' % jnp.int32(7)",
        "f'{jnp.array(True)}', f'{jnp.array(True):d}', f'{jnp.complex64(1 + 2j):.1f}'",
        "f'{jnp.bfloat16(1.5)}', f'{jnp.bfloat16(1.5):.3f}'",
        "f'{v}', f'{i}', format(empty)",
    ]
    compare_all(oracle, texts)


def test_known_values_format_while_differentiated():
    texts = []
    covector.grad(lambda x: texts.append(f"{x:.2f}") or x)(1.0)
    assert texts == ["1.00"]


def test_errors(oracle):
    calls = """
        f'{v:.2f}'
        f'{jnp.ones((1, 1)):.2f}'
        format(s, 'd')
        jax.jit(lambda x: f'{x:.2f}' and x)(s)
        jnp.array(['a'])
        jnp.array([1, 'a'])
        jnp.array([b'a', 2.0])
        jnp.asarray('a')
    """
    compare_errors(oracle, calls)


def test_messages_say_what_is_wrong():
    with pytest.raises(TypeError, match="Value 'a' with dtype <U1 is not a valid array"):
        jnp.array([1, "a"])
    with pytest.raises(TypeError, match=r"cannot be formatted by '\.2f'"):
        covector.jit(lambda x: f"{x:.2f}" and x)(jnp.float32(1))

"""Attention and products of scaled matrices against the oracle, their derivatives and errors."""

import covector
import covector.numpy as jnp
import numpy as np
import pytest
from covector import nn

from nn.inputs import compare_all, compare_errors, together

B, T, S, N, K, H = 2, 3, 5, 4, 2, 6
rng = np.random.default_rng(0)
ARRAYS = {
    "q": rng.normal(size=(B, T, N, H)).astype(np.float32),
    "k": rng.normal(size=(B, S, K, H)).astype(np.float32),
    "v": rng.normal(size=(B, S, K, H)).astype(np.float32),
    "kn": rng.normal(size=(B, S, N, H)).astype(np.float32),
    "bias": rng.normal(size=(B, N, T, S)).astype(np.float32),
    "mask": rng.normal(size=(B, N, T, S)) > 0,
    "lengths": np.array([1, 3], np.int32),
    "none": np.array([0, 5], np.int32),
    "a": rng.normal(size=(2, 3, 8)).astype(np.float32),
    "b": rng.normal(size=(2, 4, 8)).astype(np.float32),
    "sa": np.exp2(rng.integers(-3, 3, size=(2, 3, 2))).astype(np.float32),
    "sb": np.exp2(rng.integers(-3, 3, size=(2, 4, 2))).astype(np.float32),
}
CLOSE = {"rtol": {"float32": 1e-5, "bfloat16": 0.02, "float16": 2e-3}, "atol": 2e-6}
ARGUMENTS = "q, k, v, kn, bias, mask, lengths, none"
OPTIONS = [
    "",
    "return_residual=True",
    "bias, mask, scale=2, return_residual=True",
    "bias=bias[:1, :1], mask=mask[:, :1, :1], implementation='xla'",
    "bias=bias[0], mask=mask[0, 0]",
    "bias=bias.astype('bfloat16')[..., :1]",
    "mask=mask & False, return_residual=True",
    "is_causal=True",
    "is_causal=True, local_window_size=1",
    "local_window_size=(1, 0)",
    "local_window_size=[0, 2], mask=mask",
    "query_seq_lengths=lengths, return_residual=True",
    "key_value_seq_lengths=none, return_residual=True",
    "query_seq_lengths=[1, 3], key_value_seq_lengths=lengths, is_causal=True, bias=bias",
]


def test_values(oracle):
    calls = [f"nn.dot_product_attention(q, k, v, {options})" for options in OPTIONS]
    calls += [
        "nn.dot_product_attention(q, kn, kn, is_causal=True)",
        "nn.dot_product_attention(q[0], k[0], v[0], bias=bias[0], return_residual=True)",
        "nn.dot_product_attention(k, k, v, is_causal=True)",
        "nn.dot_product_attention(q, k, v, scale=jnp.float32(0.3))",
    ]
    calls += [
        f"nn.dot_product_attention(*[x.astype('{t}') for x in (q, k, v)], return_residual=True)"
        for t in ("bfloat16", "int32")
    ]
    compare_all(oracle, together(ARGUMENTS, calls), ARRAYS, **CLOSE)


def test_derivatives(oracle):
    attend = "jax.grad(lambda *x: (nn.dot_product_attention(*x, {}) ** 2).sum(), (0, 1, 2))"
    calls = [
        f"{attend.format('bias=bias, is_causal=True')}(q, k, v)",
        f"{attend.format('mask=mask, query_seq_lengths=lengths')}(q, k, v)",
        "jax.grad(lambda x: nn.dot_product_attention(q, k, v, bias=x)[0, 0, 0, 0])(bias)",
        "jax.grad(lambda x: nn.dot_product_attention(q, k, v, scale=x)[0, 0, 0, 0])(q[0, 0, 0, 0])",
    ]
    compare_all(oracle, together(ARGUMENTS, calls), ARRAYS, rtol=2e-4, atol=1e-5)


def test_half_precision_is_scored_in_single():
    halves = [ARRAYS[name].astype("float16") for name in ("q", "k", "v")]
    out, residual = covector.jit(nn.dot_product_attention, static_argnames="return_residual")(
        *halves, return_residual=True
    )
    right = nn.dot_product_attention(*[x.astype("float32") for x in halves])
    assert out.dtype == residual.dtype == "float16"
    np.testing.assert_allclose(out, right, rtol=2e-3, atol=1e-3)


def test_mapped():
    q, k, v = ARRAYS["q"], ARRAYS["k"], ARRAYS["v"]
    whole = nn.dot_product_attention(q, k, v, is_causal=True)
    mapped = covector.vmap(lambda *x: nn.dot_product_attention(*x, is_causal=True))(q, k, v)
    np.testing.assert_allclose(mapped, whole, rtol=1e-5, atol=1e-6)


def test_errors(oracle):
    lines = """
        q.astype('bfloat16'), k, v
        q, k, v.astype('bfloat16')
        q, k, v[..., :3]
        q, k[:1], v
        q, k, v[:, :3]
        q[None], k, v
        q[0, 0], k, v
        q, k[0], v[0]
        q, kn[:, :, :3], kn[:, :, :3]
        q, k, v, bias[:, :, :, :2]
        q, k, v, bias[:1, :, :2]
        q, k, v, mask=bias
        q, k, v, query_seq_lengths=[1, 3, 3]
        q, k, v, query_seq_lengths=[1.0, 3.0]
        q, k, v, key_value_seq_lengths=3
        q, k, v, local_window_size=(1,)
        q, k, v, implementation='cudnn'
        q, k, v, implementation='foo'
    """
    calls = [f"nn.dot_product_attention({line.strip()})" for line in lines.strip().splitlines()]
    compare_errors(oracle, "\n".join(calls), ARRAYS)


# --- scaled products -----------------------------------------------------------------------------


def test_scaled_products(oracle):
    calls = """
        nn.scaled_matmul(a, b, sa, sb)
        nn.scaled_matmul(a, b, sa, sb, 'bfloat16').dtype
        nn.scaled_matmul(a.astype('float8_e4m3fn'), b, sa.astype('float8_e8m0fnu'), sb)
        nn.scaled_dot_general(a, b, (((2,), (2,)), ((0,), (0,))))
        nn.get_scaled_dot_general_config('mxfp8').data_type
        nn.get_scaled_dot_general_config('nvfp4').global_scale
        nn.get_scaled_dot_general_config('nvfp4', 2.0).global_scale
    """
    compare_all(oracle, calls, ARRAYS, **CLOSE)


def test_blocks_may_have_two_sizes():
    a, b, sa = (ARRAYS[name] for name in ("a", "b", "sa"))
    ours = nn.scaled_matmul(a, b, sa, np.full((2, 4, 8), 2.0, np.float32))
    right = np.einsum("bmk,bnk->bmn", a * np.repeat(sa, 4, -1), b * 2)
    np.testing.assert_allclose(ours, right, rtol=1e-5, atol=1e-5)


def test_errors_of_scaled_products(oracle):
    compare_errors(
        oracle,
        """
        nn.scaled_matmul(a, b, sa, sb[:, :3])
        nn.scaled_matmul(a, b[:1], sa, sb)
        nn.scaled_matmul(a[0], b, sa, sb)
        nn.get_scaled_dot_general_config('int3')
        """,
        ARRAYS,
    )
    x = jnp.ones((2, 32))
    configs = [nn.get_scaled_dot_general_config("mxfp8")] * 3
    with pytest.raises(NotImplementedError, match="scaled_dot_general: configs"):
        nn.scaled_dot_general(x, x, (((1,), (1,)), ((), ())), configs=configs)
    with pytest.raises(ValueError, match="K must be a multiple of the numbers of scales"):
        nn.scaled_matmul(x[None], x[None], jnp.ones((1, 2, 3)), jnp.ones((1, 2, 1)))

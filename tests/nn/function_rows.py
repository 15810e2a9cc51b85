"""A row for each public function of `covector.nn`, its initializers, and `covector.image`.

See `numpy_api/function_rows.py`. NumPy has none of them: what it is asked is the definition.
"""

from __future__ import annotations

from numpy_api.function_rows import rows

rows(
    "activations",
    """
    celu(x, 1.5) == np.where(x > 0, x, 1.5 * np.expm1(np.minimum(x, 0) / 1.5))
    elu(x) == np.where(x > 0, x, np.expm1(np.minimum(x, 0)))
    glu(t) == t[..., :2] / (1 + np.exp(-t[..., 2:]))
    hard_sigmoid(x) == np.clip(x / 6 + 0.5, 0, 1)
    hard_silu(x) == x * np.clip(x / 6 + 0.5, 0, 1)
    hard_swish(x) == x * np.clip(x / 6 + 0.5, 0, 1)
    hard_tanh(x) == np.clip(x, -1, 1)
    identity(x) == x
    leaky_relu(x) == np.where(x > 0, x, 0.01 * x)
    log_sigmoid(x) == -np.log1p(np.exp(-x))
    mish(x) == x * np.tanh(np.log1p(np.exp(x)))
    relu(x) == np.maximum(x, 0)
    relu6(x) == np.clip(x, 0, 6)
    sigmoid(x) == 1 / (1 + np.exp(-x))
    silu(x) == x / (1 + np.exp(-x))
    soft_sign(x) == x / (1 + np.abs(x))
    softplus(x) == np.log1p(np.exp(x))
    sparse_plus(x) == np.where(np.abs(x) < 1, (x + 1) ** 2 / 4, np.maximum(x, 0))
    sparse_sigmoid(x) == np.clip((x + 1) / 2, 0, 1)
    squareplus(x) == (x + np.sqrt(x * x + 4)) / 2
    swish(x) == x / (1 + np.exp(-x))
    tanh(x) == np.tanh(x)
    gelu(x) == x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    log1mexp(p) == np.log1p(-np.exp(-p))
    """,
    module="nn",
    derivative=True,
    dtypes=False,
    rtol=1e-12,
)
rows("activations", "selu(x)", module="nn", derivative=True, dtypes=False, numpy=False)
rows(
    "normalization",
    """
    log_softmax(x) == x - np.log(np.exp(x).sum(-1, keepdims=True))
    softmax(x, axis=0) == np.exp(x) / np.exp(x).sum(0)
    logsumexp(x, axis=1) == np.log(np.exp(x).sum(1))
    logmeanexp(x, axis=0) == np.log(np.exp(x).mean(0))
    standardize(x) == (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    """,
    module="nn",
    derivative=True,
    dtypes=False,
    rtol=1e-12,
)
rows("normalization", "one_hot(i, 4) == np.eye(4)[i]", module="nn", dtypes=False)
rows(
    "attention",
    """
    dot_product_attention(t[:, :, None], t[:, :, None], t[:, :, None])
    scaled_matmul(t, t, t[..., :1], t[..., :1])
    """,
    module="nn",
    numpy=False,
    dtypes=False,
    batched=False,
    rtol=1e-6,  # the oracle takes shares in single precision
)
rows(
    "images",
    """
    resize(x, (4, 6), 'linear')
    resize(t, (2, 5, 4), 'cubic')
    scale_and_translate(x, (4, 4), (0, 1), v[:2] + 2, v[1:], 'linear')
    """,
    module="image",
    numpy=False,
    derivative=True,
    dtypes=False,
    pairs=False,
)
INITIALIZERS = """
constant(0.5)(random.key(0), (3, 2))
delta_orthogonal()(random.key(0), (3, 2, 2))
glorot_normal()(random.key(0), (3, 2))
glorot_uniform()(random.key(0), (3, 2))
he_normal()(random.key(0), (3, 2))
he_uniform()(random.key(0), (3, 2))
kaiming_normal()(random.key(0), (3, 2))
kaiming_uniform()(random.key(0), (3, 2))
lecun_normal()(random.key(0), (3, 2))
lecun_uniform()(random.key(0), (3, 2))
normal()(random.key(0), (3, 2))
ones(random.key(0), (3, 2))
orthogonal()(random.key(0), (3, 2))
truncated_normal()(random.key(0), (3, 2))
uniform()(random.key(0), (3, 2))
variance_scaling(1.0, 'fan_in', 'normal')(random.key(0), (3, 2))
xavier_normal()(random.key(0), (3, 2))
xavier_uniform()(random.key(0), (3, 2))
zeros(random.key(0), (3, 2))
"""
rows("initializers", INITIALIZERS, module="nn.initializers", numpy=False, dtypes=False)

# The file that tests what needs more than operands.
ELSEWHERE = {"test_attention.py": "get_scaled_dot_general_config scaled_dot_general"}

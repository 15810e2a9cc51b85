"""Every code example of the page "JAXを使ってみよう" ("Let us use JAX"), in its order.

Each stands as printed there, but for the import line. Where the page has a slip, the test says what
was mended. ``%timeit`` lines are plain calls. Values that the page leaves to its reader (the
parameters of a network, a batch of inputs) are made up here.
"""
# ruff: noqa: RUF001, the page's own punctuation

from functools import partial

import covector as jax
import covector.numpy as jnp
import numpy as np
import pytest
from covector import grad, jit, vmap

# The page prints results of an older release, whose last digit may differ by rounding.
ROUNDING = 3e-7


def printed_number(capsys):
    return float(capsys.readouterr().out)


def tanh(x):  # 関数を定義
    y = jnp.exp(-2.0 * x)
    return (1.0 - y) / (1.0 + y)


def test_gradient_of_tanh(capsys):
    grad_tanh = grad(tanh)  # 勾配関数を取得
    print(grad_tanh(1.0))  # x = 1.0 を計算
    assert printed_number(capsys) == pytest.approx(0.4199743, rel=ROUNDING)


def test_third_derivative_of_tanh(capsys):
    print(grad(grad(grad(tanh)))(1.0))
    assert printed_number(capsys) == pytest.approx(0.62162673, rel=ROUNDING)


def test_hessian_from_jacobians():
    from covector import jacfwd, jacrev, jit

    def hessian(fun):
        return jit(jacfwd(jacrev(fun)))

    def rosenbrock(x):
        return (1.0 - x[0]) ** 2 + 100.0 * (x[1] - x[0] ** 2) ** 2

    exact = [[2 - 400 * 0.5 + 1200 * 1.5**2, -400 * 1.5], [-400 * 1.5, 200.0]]
    np.testing.assert_allclose(hessian(rosenbrock)(jnp.array([1.5, 0.5])), exact, rtol=1e-6)


def test_gradient_through_python_control_flow(capsys):
    def abs_val(x):
        if x > 0:
            return x
        else:
            return -x

    abs_val_grad = grad(abs_val)
    print(abs_val_grad(1.0))  # 出力は 1.0
    print(abs_val_grad(-1.0))  # 出力は -1.0 (abs_valを再評価)
    assert capsys.readouterr().out == "1.0\n-1.0\n"


def test_compilation():
    def slow_f(x):
        # 要素ごとの操作は、コンパイルで大きな性能向上が得られる
        return x * x + x * 2.0

    x = jnp.ones((5000, 5000))
    fast_f = jit(slow_f)
    fast, slow = fast_f(x), slow_f(x)  # each a %timeit line
    assert fast.shape == slow.shape == (5000, 5000)
    assert (np.asarray(fast) == 3).all() and (np.asarray(slow) == 3).all()


def predict(params, input_vec):
    assert input_vec.ndim == 1
    activations = input_vec  # mended: the page says `inputs`, which does not exist
    for W, b in params:
        outputs = jnp.dot(W, activations) + b  # input_vec は右側
        activations = jnp.tanh(outputs)
    return outputs


def loss(params, input_vec, target):  # the page uses a loss, and leaves it to the reader
    return jnp.sum((predict(params, input_vec) - target) ** 2)


@pytest.fixture
def network():
    """Parameters of two layers, a batch of seven inputs, and targets."""
    draw = np.random.default_rng(0).standard_normal
    sizes = [(4, 3), (2, 4)]
    params = [(draw(size).astype("f4"), draw(size[0]).astype("f4")) for size in sizes]
    return params, draw((7, 3)).astype("f4"), draw((7, 2)).astype("f4")


def predicted_by_numpy(params, batch):
    (W1, b1), (W2, b2) = params
    return np.tanh(batch @ W1.T + b1) @ W2.T + b2


def test_batch_by_a_python_loop(network):
    params, input_batch, _ = network
    predictions = jnp.stack(list(map(partial(predict, params), input_batch)))
    np.testing.assert_allclose(predictions, predicted_by_numpy(params, input_batch), rtol=1e-5)


def test_batch_by_vmap(network):
    params, input_batch, _ = network
    predictions = vmap(partial(predict, params))(input_batch)
    # または、代わりに
    alternative = vmap(predict, in_axes=(None, 0))(params, input_batch)
    expected = predicted_by_numpy(params, input_batch)
    np.testing.assert_allclose(predictions, expected, rtol=1e-5)
    np.testing.assert_allclose(alternative, expected, rtol=1e-5)


def test_per_example_gradients(network):
    params, inputs, targets = network
    per_example_gradients = vmap(partial(grad(loss), params))(inputs, targets)

    (W1, b1), (W2, b2) = params
    hidden = np.tanh(inputs @ W1.T + b1)
    error = 2 * (hidden @ W2.T + b2 - targets)
    inner = error @ W2 * (1 - hidden**2)
    expected = [
        (inner[:, :, None] * inputs[:, None, :], inner),
        (error[:, :, None] * hidden[:, None, :], error),
    ]
    for (W, b), (expected_W, expected_b) in zip(per_example_gradients, expected):
        np.testing.assert_allclose(W, expected_W, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(b, expected_b, rtol=1e-4, atol=1e-5)


# The examples of several devices run as printed, in a process with eight simulated CPU devices;
# the oracle's worker translates the import lines.

RANDOM_MATRICES = """
from jax import random, pmap
import jax.numpy as jnp

# GPUごとに1つずつ、8つのランダムな5000 x6000マトリックスを作成
keys = random.split(random.PRNGKey(0), 8)
mats = pmap(lambda key: random.normal(key, (5000, 6000)))(keys)
# 各デバイスでローカルmatmulを並行して実行（データ転送なし）
result = pmap(lambda x: jnp.dot(x, x.T))(mats)  # result.shape (8, 5000, 5000)
# 各デバイスの平均を並行して計算し、結果を出力
print(pmap(jnp.mean)(result))
"""


def test_pmap_on_eight_devices(oracle):
    smaller = RANDOM_MATRICES.replace("(5000, 6000)", "(50, 60)") + (
        "{'mats': mats, 'result': result, 'devices': len(result.devices())}"
    )
    eight = oracle.using(devices=8, threefry_partitionable=False)
    ours = eight.run_covector(smaller)
    values, expected = ours.value, eight.value(smaller)
    assert values["devices"] == 8 and values["result"].shape == (8, 50, 50)
    # The bits are equal; `normal` takes them through a polynomial.
    np.testing.assert_allclose(values["mats"], expected["mats"], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        values["result"], values["mats"] @ values["mats"].swapaxes(1, 2), rtol=1e-4, atol=1e-4
    )
    means = np.array(ours.printed.strip("[] \n").split(), float)
    np.testing.assert_allclose(means, values["result"].mean((1, 2)), rtol=1e-4)


NORMALIZE = """
from functools import partial
from jax import lax, pmap
import jax.numpy as jnp

@partial(pmap, axis_name='i')
def normalize(x):
    return x / lax.psum(x, 'i')

print(normalize(jnp.arange(4.)))
"""


def test_collective_communication(oracle):
    outcome = oracle.using(devices=8).run_covector(NORMALIZE)
    assert outcome.error is None, outcome.error.traceback
    assert outcome.printed == "[0.         0.16666667 0.33333334 0.5       ]\n"


NESTED = """
from jax import grad, pmap
import jax.numpy as jnp

@pmap
def f(x):
    y = jnp.sin(x)

    @pmap
    def g(z):
        return jnp.cos(z) * jnp.tan(y.sum()) * jnp.tanh(x).sum()

    return grad(lambda w: jnp.sum(g(w)))(x)

print(f(x))
print(grad(lambda x: jnp.sum(f(x)))(x))
"""
# The page does not say what x is: here, a value for each of 4 x 2 devices. It prints no result.
# That which JAX's own introduction printed for this x when JAX still nested `pmap`:
PRINTED_F = [
    [0, -0.7170853],
    [-3.1085174, -0.4824318],
    [10.366636, 13.135289],
    [0.22163185, -0.52112055],
]
PRINTED_GRAD = [[-3.2369726, -1.6356447], [4.7572474, 11.606951], [-98.524414, 42.76499], [-1.6007166, -1.2568436]]  # fmt: skip


def test_nested_pmap_and_its_gradient(oracle):
    both = NESTED + "(f(x), grad(lambda x: jnp.sum(f(x)))(x))"
    x = np.arange(8, dtype=np.float32).reshape(4, 2)
    eight = oracle.using(devices=8)
    results = eight.run_covector(both, x=x).value
    by_vmap = eight.value(both.replace("pmap", "vmap"), x=x)  # JAX's pmap does not nest any more
    for result, expected, printed in zip(results, by_vmap, (PRINTED_F, PRINTED_GRAD)):
        np.testing.assert_allclose(result, expected, rtol=1e-4)
        np.testing.assert_allclose(result, printed, rtol=1e-4)


# What the page says about limits.


def test_impure_functions_are_reported():
    kept = []

    @jit
    def impure(x):
        kept.append(x)
        return x

    impure(1.0)
    with pytest.raises(jax.errors.UnexpectedTracerError):
        kept[0] + 1.0


def test_no_updates_in_place():
    x, y, i = jnp.zeros(3), 1.0, 1
    with pytest.raises(TypeError, match=r"\.at\["):
        x[i] += y
    np.testing.assert_array_equal(x.at[i].add(y), [0, 1, 0])


def test_python_scalars_do_not_widen():
    # mended: the page writes `numpy.add(1, np.array([2], np.float32))`, meaning `jax.numpy`
    assert jnp.add(1, np.array([2], np.float32)).dtype == jnp.float32


def test_static_arguments():
    @partial(jit, static_argnums=1)
    def power(x, n):
        return x * power(x, n - 1) if n > 0 else jnp.ones_like(x)

    assert power(2.0, 5) == 32

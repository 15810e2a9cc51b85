"""Every code example of the page "Introducción: Transformaciones básicas de JAX", in its order.

Each stands as printed there, but for the import line; ``%timeit`` lines are plain calls. What the
page prints is checked digit by digit, the random draws too: it was written when
``jax_threefry_partitionable`` was off, and it turns 64-bit numbers on at its second example.
Its arrays print as ``DeviceArray``, the name that the class had then; today it is ``Array``.
"""

import covector as jax
import covector.numpy as jnp
import numpy as np
import pytest

SETTINGS = {"jax_enable_x64": True, "jax_threefry_partitionable": False}


@pytest.fixture(autouse=True)
def settings_of_the_page():
    before = {flag: getattr(jax.config, flag) for flag in SETTINGS}
    for flag, value in SETTINGS.items():
        jax.config.update(flag, value)
    yield
    for flag, value in before.items():
        jax.config.update(flag, value)


def test_devices():
    devices = jax.devices()
    # The page's machine has one device; the tests may simulate more.
    assert str(devices[:1]) == "[CpuDevice(id=0)]"


def distancia_pares_np(data):
    return np.sqrt(np.sum((data.reshape(-1, 1, 2) - data.reshape(1, -1, 2)) ** 2, axis=-1))


def distancia_pares_jnp(data):
    return jnp.sqrt(jnp.sum((data.reshape(-1, 1, 2) - data.reshape(1, -1, 2)) ** 2, axis=-1))


def test_pairwise_distances(capsys):
    np.random.seed(0)
    data = np.random.randn(10000, 2)
    print(type(data))
    jax.config.update("jax_enable_x64", True)
    jax_data = jnp.array(data, dtype=jnp.float64)
    assert isinstance(jax_data, jax.Array)  # the page prints its old name, DeviceArray
    print(np.allclose(distancia_pares_np(data), distancia_pares_jnp(jax_data)))
    assert capsys.readouterr().out == "<class 'numpy.ndarray'>\nTrue\n"
    # The first %timeit line gives the function NumPy's array; methods of it are NumPy's.
    distancia_pares_jnp(data).block_until_ready()


def test_where_an_array_lives():
    x = jnp.array([0.0, 1.0, 2.0])
    # mended: the page reads `x.device_buffer.device()`, which is no more
    assert str(x.devices()) == "{CpuDevice(id=0)}"
    moved = jax.device_put(x, device=jax.devices()[0])
    assert repr(moved) == "Array([0., 1., 2.], dtype=float64)"  # the page: DeviceArray


def test_arrays_are_immutable():
    x = jnp.array([0.0, 1.0, 2.0])
    with pytest.raises(TypeError, match=r"\.at\["):
        x[0] = 1.0


def test_compiled_pairwise_distances(capsys):
    np.random.seed(0)
    data = np.random.randn(10000, 2)
    jax_data = jnp.array(data, dtype=jnp.float64)
    distancia_pares_jit = jax.jit(distancia_pares_jnp)
    print(np.allclose(distancia_pares_np(data), distancia_pares_jit(jax_data)))
    assert capsys.readouterr().out == "True\n"


def sigmoid(x):
    return 1.0 / (1.0 + jnp.exp(-x))


SIGMOID_TABLE = """\
x:-3.0000 df(x)/dx:0.0452 f(x)(1-f(x)):0.0452
x:-2.4000 df(x)/dx:0.0763 f(x)(1-f(x)):0.0763
x:-1.8000 df(x)/dx:0.1217 f(x)(1-f(x)):0.1217
x:-1.2000 df(x)/dx:0.1779 f(x)(1-f(x)):0.1779
x:-0.6000 df(x)/dx:0.2288 f(x)(1-f(x)):0.2288
x:0.0000 df(x)/dx:0.2500 f(x)(1-f(x)):0.2500
x:0.6000 df(x)/dx:0.2288 f(x)(1-f(x)):0.2288
x:1.2000 df(x)/dx:0.1779 f(x)(1-f(x)):0.1779
x:1.8000 df(x)/dx:0.1217 f(x)(1-f(x)):0.1217
x:2.4000 df(x)/dx:0.0763 f(x)(1-f(x)):0.0763
x:3.0000 df(x)/dx:0.0452 f(x)(1-f(x)):0.0452
"""


def printed_table(capsys):
    """What was printed; the page shows the tab between two columns as a space."""
    return capsys.readouterr().out.replace("\t ", " ").replace("\t", " ")


def test_gradient_of_sigmoid(capsys):
    diff_sigmoid = jax.grad(sigmoid)
    for x in jnp.linspace(-3.0, 3.0, 11):
        print(
            f"x:{x:0.4f}\tdf(x)/dx:{diff_sigmoid(x):0.4f}\t "
            f"f(x)(1-f(x)):{sigmoid(x) * (1.0 - sigmoid(x)):0.4f}"
        )
    assert printed_table(capsys) == SIGMOID_TABLE


def test_compiled_gradient(capsys):
    diff_sigmoid = jax.grad(sigmoid)
    jit_diff_sigmoid = jax.jit(diff_sigmoid)
    print(np.allclose(diff_sigmoid(0.01), jit_diff_sigmoid(0.01)))
    assert capsys.readouterr().out == "True\n"
    diff_sigmoid(0.01).block_until_ready()
    jit_diff_sigmoid(0.01).block_until_ready()


POLYNOMIAL_TABLE = """\
x:-3.0000 df:-4.0000 df2:2.0000 df3:0.0000
x:-2.4000 df:-2.8000 df2:2.0000 df3:0.0000
x:-1.8000 df:-1.6000 df2:2.0000 df3:0.0000
x:-1.2000 df:-0.4000 df2:2.0000 df3:0.0000
x:-0.6000 df:0.8000 df2:2.0000 df3:0.0000
x:0.0000 df:2.0000 df2:2.0000 df3:0.0000
x:0.6000 df:3.2000 df2:2.0000 df3:0.0000
x:1.2000 df:4.4000 df2:2.0000 df3:0.0000
x:1.8000 df:5.6000 df2:2.0000 df3:0.0000
x:2.4000 df:6.8000 df2:2.0000 df3:0.0000
x:3.0000 df:8.0000 df2:2.0000 df3:0.0000
"""


def test_derivatives_of_higher_order(capsys):
    def poly(x):
        return x**2 + 2 * x + 3.0

    dpoly = jax.grad(poly)
    d2poly = jax.grad(dpoly)
    d3poly = jax.grad(d2poly)
    for x in jnp.linspace(-3.0, 3.0, 11):
        print(f"x:{x:0.4f}\tdf:{dpoly(x):0.4f}\t df2:{d2poly(x):0.4f}\t df3:{d3poly(x):0.4f}")
    assert printed_table(capsys) == POLYNOMIAL_TABLE


def test_argnums(capsys):
    def f(x, w):
        return jnp.dot(x, w)

    x = jnp.array([-2.0, 2.0])
    w = jnp.array([1.0, -1.0])
    dfdx = jax.grad(f, argnums=0)
    print(dfdx(x, w))
    dfdw = jax.grad(f, argnums=1)
    print(dfdw(x, w))
    # The page shows one space in the second line, where two were printed.
    assert capsys.readouterr().out == "[ 1. -1.]\n[-2.  2.]\n"


def f(x):
    return 1.0 / (1.0 + jnp.exp(-x))


def test_vectorized_gradient(capsys):
    df = jax.grad(f)  # Recibe y retorna escalares
    vdf = jax.vmap(df)  # Recibe y retorna arreglos
    vdf_jit = jax.jit(vdf)
    x = jnp.linspace(-5, 5, 1000)
    print(np.allclose(vdf(x), vdf_jit(x)))
    assert capsys.readouterr().out == "True\n"
    one_by_one = jnp.array([df(x_) for x_ in x])
    np.testing.assert_allclose(one_by_one, vdf(x).block_until_ready(), rtol=1e-12)
    np.testing.assert_allclose(one_by_one, vdf_jit(x).block_until_ready(), rtol=1e-12)


@pytest.mark.filterwarnings("ignore")  # of the plotting library's own
def test_plot_of_a_gradient():
    hv = pytest.importorskip("holoviews", reason="this example plots with holoviews and bokeh")
    vdf_jit = jax.jit(jax.vmap(jax.grad(f)))
    x = jnp.linspace(-5, 5, 1000)
    hv.extension("bokeh")
    hv.opts.defaults(hv.opts.Curve(width=400))
    plot = hv.Curve((x, f(x)), label="f(x)") * hv.Curve((x, vdf_jit(x)), label="df/dx")
    value, slope = (curve.dimension_values("y") for curve in plot)
    expected = 1 / (1 + np.exp(-np.linspace(-5, 5, 1000)))
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(slope, expected * (1 - expected), rtol=1e-12)


def test_vectorized_layer():
    def Dense(x, w):
        return w[0] + jnp.sum(w[len(x) :] * x)

    N, D = 5, 3
    data = jnp.ones(shape=(N, D))
    param = jnp.ones(shape=(D + 1))
    vDense = jax.jit(jax.vmap(Dense, in_axes=[0, None]))
    result = vDense(data, param)
    assert repr(result) == "Array([4., 4., 4., 4., 4.], dtype=float64)"  # the page: DeviceArray


def test_random_numbers_of_numpy(capsys):
    np.random.seed(1234)  # Configura el estado inicial de forma global
    for i in range(3):
        print(np.random.randn())  # Cada llamada actualiza el estado global
    printed = "0.47143516373249306\n-1.1909756947064645\n1.4327069684260973\n"
    assert capsys.readouterr().out == printed


def test_one_key_gives_one_number(capsys):
    import covector.random as random

    key = random.PRNGKey(1234)  # Estado inicial
    for i in range(3):
        print(random.normal(key))  # Ocupa la llave, pero la actualiza
    assert capsys.readouterr().out == "0.4395758528880331\n" * 3


def test_split_keys_give_new_numbers(capsys):
    import covector.random as random

    key = random.PRNGKey(1234)
    for i in range(3):
        key, subkey = random.split(key)  # Genera dos llaves nuevas
        print(random.normal(subkey))
    printed = "-1.7366326757754018\n-0.74630100088392\n-0.17782682174856315\n"
    assert capsys.readouterr().out == printed

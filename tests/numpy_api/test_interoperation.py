"""Arrays among others: NumPy, SciPy and DLPack, Python's protocols, pickles, tables, plots."""

import copy
import dataclasses
import functools
import io
import json
import math
import operator
import pickle
from collections import namedtuple

import covector
import covector.dlpack
import covector.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
import scipy.sparse.linalg
import scipy.special

ArrayImpl = type(jnp.zeros(1))
VECTOR = np.array([1.0, 4.0, 9.0], np.float32)
MATRIX = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 4.0]], np.float32)


@pytest.fixture
def x():
    return jnp.asarray(VECTOR)


@pytest.fixture
def matrix():
    return jnp.asarray(MATRIX)


# --- NumPy ----------------------------------------------------------------------------------------

# Functions of NumPy take arrays, and answer in NumPy's.
OF_NUMPY = """
    np.asarray(x)
    np.array(x, dtype=np.float64)
    np.add(x, 1)
    np.add(1, x)
    np.sin(x)
    np.add.reduce(x)
    np.multiply.outer(x, x)
    np.dot(x, x)
    np.concatenate([x, x])
    np.stack([x, np.ones(3, np.float32)])
    np.where(x > 3, x, 0)
    np.isclose(x, x)
    np.array_equal(x, x)
    np.full(2, x[1])
    np.array([x[0], x[1]])
    np.array([x, x])
    np.arange(10)[x.astype(int)]
    np.arange(10)[x.astype(int)[1]]
    np.ones(3)[x > 3]
    np.zeros(x[0].astype(int))
    np.frombuffer(x, np.float32)
    np.linalg.norm(x)
    np.linalg.solve(matrix, x)
    np.linalg.svd(matrix)[1]
    np.linalg.eigh(matrix)[0]
    np.linalg.inv(matrix)
"""


@pytest.mark.parametrize("call", OF_NUMPY.strip().splitlines())
def test_functions_of_numpy_take_arrays(call, x, matrix):
    out = eval(call, {"np": np, "x": x, "matrix": matrix})
    expected = eval(call, {"np": np, "x": VECTOR, "matrix": MATRIX})
    assert type(out) is type(expected)
    np.testing.assert_array_equal(out, expected)


MIXED = """
    n + x
    x + n
    n - x
    n * x
    n / x
    n ** x
    n // x
    n % x
    n == x
    n < x
    n @ x
    x @ n
    matrix @ n
    m @ x
    np.float32(2) * x
    x - np.int32(3)
    np.ones((2, 3), np.float32) + x
"""


def test_functions_of_numpy_that_call_methods_give_arrays(x):
    for out in (np.sum(x), np.max(x), np.cumsum(x), np.searchsorted(x, 4.5)):
        assert isinstance(out, ArrayImpl)
    assert float(np.sum(x)) == 14


@pytest.mark.parametrize("call", MIXED.strip().splitlines())
def test_operators_between_the_two_give_arrays(call, x, matrix):
    names = {"np": np, "n": VECTOR + 1, "m": MATRIX}
    out = eval(call, {**names, "x": x, "matrix": matrix})
    expected = eval(call, {**names, "x": VECTOR, "matrix": MATRIX})
    assert isinstance(out, ArrayImpl) and x.__array_priority__ == 100
    np.testing.assert_allclose(out, expected, rtol=1e-6)


def test_ufuncs_write_to_numpy_arrays_only(x):
    out = np.zeros(3, np.float32)
    assert np.add(x, 1, out=out) is out and out.tolist() == [2, 5, 10]
    assert np.add(out, x, out=out).tolist() == [3, 9, 19]
    with pytest.raises(TypeError, match="return arrays must be of ArrayType"):
        np.add(VECTOR, 1, out=x)


def test_as_numpy_arrays_share_memory_and_are_read_only(x):
    view = np.asarray(x)
    assert not view.flags.writeable and view.ctypes.data == x.unsafe_buffer_pointer()
    assert np.array(x).flags.writeable
    assert not np.shares_memory(np.asarray(x, copy=True), view)
    with pytest.raises(ValueError, match="avoid copy"):
        np.asarray(x, dtype=np.float64, copy=False)
    buffer = memoryview(x)
    assert buffer.readonly and np.asarray(buffer).tolist() == VECTOR.tolist()
    assert bytes(x) == x.tobytes() == VECTOR.tobytes()


def test_files(x):
    file = io.BytesIO()
    np.savez(file, x=x, y=x.astype("int8"))
    file.seek(0)
    found = np.load(file)
    assert found["x"].tolist() == x.tolist() and found["y"].dtype == np.int8


def test_functions_of_scipy_take_arrays(x, matrix):
    np.testing.assert_allclose(scipy.special.gammaln(x), scipy.special.gammaln(VECTOR))
    np.testing.assert_allclose(scipy.linalg.expm(matrix), scipy.linalg.expm(MATRIX))
    solution, status = scipy.sparse.linalg.cg(scipy.sparse.csr_matrix(matrix), x, rtol=1e-6)
    assert status == 0
    np.testing.assert_allclose(MATRIX @ solution, VECTOR, rtol=1e-4)

    def loss(v):
        return jnp.sum((v - x) ** 2)

    found = scipy.optimize.minimize(loss, np.zeros(3), jac=covector.grad(loss))
    np.testing.assert_allclose(found.x, VECTOR, rtol=1e-4)


# --- DLPack ---------------------------------------------------------------------------------------

EXCHANGED = "bool int8 int16 int32 uint8 uint16 uint32 float16 float32 complex64"


@pytest.mark.parametrize("dtype", EXCHANGED.split())
def test_dlpack_both_ways_with_numpy(dtype):
    source = np.arange(6).reshape(2, 3).astype(dtype)
    assert covector.dlpack.is_supported_dtype(dtype)
    for value in (source, source.T, source[:, ::2], source[::-1], source[:0], source[0, 0, None]):
        np.testing.assert_array_equal(jnp.from_dlpack(value), value, strict=True)
    x = jnp.asarray(source)
    out = np.from_dlpack(x)
    np.testing.assert_array_equal(out, source, strict=True)
    assert out.ctypes.data == x.unsafe_buffer_pointer() and not out.flags.writeable


def aligned(dtype):
    """Sixteen ones at an address that the runtime can use as it is."""
    memory = np.ones(256, np.uint8)
    start = -memory.ctypes.data % 64
    values = memory[start : start + 16 * np.dtype(dtype).itemsize].view(dtype)
    values[:] = 1
    return values


def test_dlpack_shares_memory_unless_asked_to_copy():
    source = aligned(np.float32)
    x = jnp.from_dlpack(source, copy=False)
    assert x.unsafe_buffer_pointer() == source.ctypes.data
    x = jnp.from_dlpack(source, copy=True)
    source[:] = 2
    assert x.tolist() == [1] * 16
    source.flags.writeable = False
    assert jnp.from_dlpack(source).tolist() == [2] * 16
    x = jnp.from_dlpack(source, device=covector.devices()[0])
    assert x.committed and x.device == covector.devices()[0]
    out = np.from_dlpack(x, copy=True)
    assert not np.shares_memory(out, source)


def test_dlpack_of_bfloat16():
    x = jnp.array([1.0, 2.0], "bfloat16")
    assert jnp.from_dlpack(x).dtype == "bfloat16" and jnp.from_dlpack(x).tolist() == [1, 2]
    assert not covector.dlpack.is_supported_dtype("int4")


def test_dlpack_of_64_bits():
    with pytest.raises(OverflowError, match="int64"):
        jnp.from_dlpack(np.array([2**40]))
    assert jnp.from_dlpack(np.array([2**20])).dtype == np.int32
    with covector.enable_x64(True):
        assert jnp.from_dlpack(np.array([2**40])).tolist() == [2**40]


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: jnp.from_dlpack([1]), TypeError, "__dlpack__ and __dlpack_device__, got list"),
        (lambda: jnp.from_dlpack(np.ones(8)[::2], copy=False), ValueError, "copy must be made"),
        (lambda: jnp.from_dlpack(aligned("int64"), copy=False), ValueError, "int64 is disabled"),
        (lambda: jnp.ones(2).__dlpack__(dl_device=(2, 0)), BufferError, r"not on \(2, 0\)"),
    ],
)
def test_dlpack_refuses(call, error, message):
    with pytest.raises(error, match=message):
        call()


TORCH = "float16 float32 float64 bfloat16 int8 int16 int32 int64 uint8 bool complex64"


def test_dlpack_both_ways_with_pytorch():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    with covector.enable_x64(True):
        for name in TORCH.split():
            tensor = torch.arange(6).reshape(2, 3).to(getattr(torch, name))
            x = jnp.from_dlpack(tensor)
            assert x.dtype == name
            back = torch.from_dlpack(x)
            assert back.dtype == tensor.dtype and bool((back == tensor).all())
            assert back.data_ptr() == x.unsafe_buffer_pointer()
            assert jnp.from_dlpack(tensor.T).shape == (3, 2)
    assert jnp.asarray(torch.ones(2)).tolist() == [1, 1]
    np.testing.assert_array_equal(jnp.ones(3) + torch.ones(3).numpy(), 2)
    with pytest.raises(RuntimeError, match="require gradient"):
        jnp.from_dlpack(torch.ones(2, requires_grad=True))


# --- Python's protocols ---------------------------------------------------------------------------

BUILTINS = """
    len(x), list(map(float, x)), [float(v) for v in reversed(x)]
    float(sum(x)), float(max(x)), float(min(x)), any(x), all(x)
    [float(v) for v in sorted(x, key=lambda v: -v)]
    4 in x, 5 in x
    int(x[1]), float(x[1]), complex(x[1]), bool(x[1])
    float(round(x[1], 1)), int(round(x[1])), float(abs(-x[1]))
    [float(v) for v in divmod(x[2], 4)]
    float(pow(x[1], 2)), float(pow(2, x[1]))
    math.sqrt(x[1]), math.exp(x[0]), math.floor(x[1]), math.isclose(x[1], 4)
    [10, 20, 30][i], range(i)[-1], "ab" * i, hex(i), slice(i).indices(9)
    operator.index(i), list(range(5))[:i]
    f"{x[1]:0.4f} {x[1]:>8.1e} {x[1]} {x} {i:03d}", "%.2f %d" % (x[1], i)
    json.loads(json.dumps({"x": x.tolist(), "y": x[1].item()}))
    float(functools.reduce(operator.add, x))
    functools.reduce(operator.mul, [x, x, x]).tolist()
    dict(zip("abc", x.tolist())), [type(v) for v in x.tolist()]
    x.item(1), x[1].item(), x.tolist()
"""
MODULES = {"math": math, "operator": operator, "json": json, "functools": functools, "np": np}


@pytest.mark.parametrize("call", BUILTINS.strip().splitlines())
def test_builtins_take_arrays_like_those_of_numpy(call, x):
    names = {**MODULES, "x": x, "i": jnp.array(2)}
    assert eval(call, names) == eval(call, {**MODULES, "x": VECTOR, "i": 2})


REFUSED = [
    (lambda x: hash(x), TypeError, "unhashable"),
    (lambda x: {x: 1}, TypeError, "unhashable"),
    (lambda x: bool(x), ValueError, r"more than one element is ambiguous. Use a.any\(\)"),
    (lambda x: bool(x[:0]), ValueError, "empty array is ambiguous"),
    (lambda x: x in [VECTOR + 1], ValueError, "more than one element"),
    (lambda x: len(x[0]), TypeError, "unsized"),
    (lambda x: list(x[0]), TypeError, "0-d"),
    (lambda x: float(x), TypeError, r"got f32\[3\]"),
    (lambda x: int(x[:1]), TypeError, r"item\(\)"),
    (lambda x: float(x[0] * 1j), TypeError, "complex"),
    (lambda x: operator.index(x[0]), TypeError, r"got f32\[\]"),
    (lambda x: range(x[0]), TypeError, "Only integer scalar arrays"),
    (lambda x: f"{x:.2f}", TypeError, "format"),
    (lambda x: json.dumps(x), TypeError, "not JSON serializable"),
    (lambda x: x.foo, AttributeError, "no attribute 'foo'"),
]


@pytest.mark.parametrize("call, error, message", REFUSED)
def test_what_arrays_refuse(call, error, message, x):
    with pytest.raises(error, match=message):
        call(x)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles(protocol):
    values = {
        "float": jnp.ones((2, 0)),
        "half": jnp.array([1.5], "bfloat16"),
        "narrow": jnp.array([1, 2], "int4"),
        "key": covector.random.key(3),
        "raw key": covector.random.PRNGKey(3),
        "weak": jnp.asarray(1.0),
    }
    found = pickle.loads(pickle.dumps(values, protocol))
    for name, value in values.items():
        assert found[name].dtype == value.dtype and found[name].shape == value.shape
        assert bool((found[name] == value).all())
    assert found["weak"].weak_type
    assert covector.random.bits(found["key"]) == covector.random.bits(values["key"])


def test_copies(x):
    tree = {"x": [x, covector.random.key(0)]}
    for duplicate in (copy.copy(x), copy.deepcopy(x), copy.deepcopy(tree)["x"][0], x.copy()):
        assert isinstance(duplicate, ArrayImpl) and duplicate.tolist() == x.tolist()
    assert copy.deepcopy(x) is not x


Point = namedtuple("Point", "x y")


@functools.partial(
    covector.tree_util.register_dataclass, data_fields=["weights"], meta_fields=["name"]
)
@dataclasses.dataclass
class Layer:
    weights: object
    name: str


def test_namedtuples_and_dataclasses_are_trees(x):
    point, layer = Point(x, {"z": x}), Layer(x, "first")
    doubled = covector.jit(lambda tree: covector.tree.map(lambda v: v * 2, tree))((point, layer))
    assert isinstance(doubled[0], Point) and doubled[0].y["z"].tolist() == (2 * VECTOR).tolist()
    assert isinstance(doubled[1], Layer) and doubled[1].name == "first"
    slope = covector.grad(lambda layer: (layer.weights**2).sum())(layer)
    assert slope.weights.tolist() == (2 * VECTOR).tolist()
    assert dataclasses.replace(layer, name="second").weights is x


# --- tables, plots, notebooks ---------------------------------------------------------------------


def test_pandas(x, matrix):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    series = pandas.Series(x)
    assert series.dtype == np.float32 and series.sum() == 14
    frame = pandas.DataFrame({"x": x, "n": VECTOR})
    assert (frame["x"] == frame["n"]).all() and frame.shape == (3, 2)
    assert pandas.DataFrame(matrix, columns=list("abc")).loc[1, "b"] == 3
    np.testing.assert_array_equal(jnp.asarray(frame["x"]), VECTOR)
    np.testing.assert_array_equal(jnp.asarray(frame.to_numpy()) @ jnp.ones(2), 2 * VECTOR)


def test_matplotlib(x, matrix):
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    figure = Figure()
    lines, image, bars = figure.subplots(1, 3)
    (line,) = lines.plot(x, x**2)
    lines.scatter(x, x, c=x)
    lines.axvline(x[0])
    image.imshow(matrix)
    bars.hist(x, bins=3)
    figure.savefig(io.BytesIO())
    np.testing.assert_array_equal(line.get_ydata(), VECTOR**2)


def test_progress_bars(x):
    tqdm = pytest.importorskip("tqdm", reason="tqdm is not installed")
    bar = tqdm.tqdm(x, file=io.StringIO())
    assert bar.total == 3 and [float(v) for v in bar] == VECTOR.tolist()
    bar = tqdm.trange(jnp.array(3), file=io.StringIO())
    bar.set_postfix(loss=x[1])
    assert len(list(bar)) == 3


def test_notebooks_show_the_text(x):
    pretty = pytest.importorskip("IPython.lib.pretty", reason="IPython is not installed")
    assert pretty.pretty(x) == repr(x) == "Array([1., 4., 9.], dtype=float32)"
    assert not hasattr(x, "_repr_html_")

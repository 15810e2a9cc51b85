"""What the array API standard (2024.12) asks of functions, dtypes and the array object.

Values at the edges are NumPy's, which has those of the standard (and of C's Annex G for complex
numbers) but for the cases in `NOT_NUMPY`.
"""

import inspect
import math
import operator

import covector
import covector.numpy as jnp
import numpy as np
import pytest

inf, nan = math.inf, math.nan

# --- special values -------------------------------------------------------------------------------

REALS = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, math.pi, 1e-10, 1e10, inf]
REALS = [*REALS, *[-x for x in REALS], nan]
PARTS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3.5, inf, -inf, nan]
COMPLEXES = [complex(a, b) for a in PARTS for b in PARTS]

OF_ONE = """
    abs acos acosh asin asinh atan atanh conj cos cosh exp expm1 isfinite isinf isnan log log1p log2
    log10 negative positive real round sign sin sinh square sqrt tan tanh
"""
OF_ONE_REAL = "ceil floor imag signbit trunc reciprocal"
OF_TWO = "add equal multiply not_equal subtract"
OF_TWO_REAL = """
    atan2 copysign divide floor_divide greater greater_equal hypot less less_equal logaddexp maximum
    minimum nextafter pow remainder
"""

# Where the standard says something else than NumPy: of complex numbers with such parts.
NOT_NUMPY = {
    "expm1": lambda z: np.where(((z.real == inf) | np.isnan(z)) & (z.imag == 0), z, np.expm1(z)),
    "sign": lambda z: np.where(np.isnan(z), complex(nan, nan), np.sign(z)),
}
UNSIGNED_ZEROS = ("maximum", "minimum", "expm1", "sign")  # of two zeros, or of a complex one


def the_same_part(x, y, ulps, signed):
    """Elementwise: equal to so many units in the last place, with the sign of a zero, or nan."""
    close = np.abs(x - y) <= ulps * np.finfo(x.dtype).eps * np.abs(y)
    signs = (np.signbit(x) == np.signbit(y)) | ~signed
    return (np.isnan(x) & np.isnan(y)) | (((x == y) | close) & signs)


def the_same(x, y, ulps=8, signed=True):
    """Elementwise: the same parts. Beside a nan, the sign of an infinity or zero is not defined."""
    if x.dtype == bool:
        return x == y
    if x.dtype.kind != "c":
        return the_same_part(x, y, ulps, np.asarray(signed))
    settled = ~np.isnan(x) & signed & np.isfinite(x)

    def part(z):
        return np.where(np.isinf(z) & ~settled, np.abs(z), z)

    pairs = (x.real, y.real), (x.imag, y.imag)
    return np.logical_and(*[the_same_part(part(p), part(q), ulps, settled) for p, q in pairs])


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_special_values(dtype):
    values = np.array(COMPLEXES if dtype == "complex64" else REALS, dtype)
    pairs = [v.ravel() for v in np.meshgrid(values, values, indexing="ij")]
    of_one, of_two = OF_ONE.split(), OF_TWO.split()
    if dtype != "complex64":
        of_one += OF_ONE_REAL.split()
        of_two += OF_TWO_REAL.split()

    @covector.jit
    def compute(values, pairs):
        ones = {name: getattr(jnp, name)(values) for name in of_one}
        return ones | {name: getattr(jnp, name)(*pairs) for name in of_two}

    wrong = []
    with covector.enable_x64(True), np.errstate(all="ignore"):
        for name, out in compute(values, pairs).items():
            args = pairs if name in of_two else [values]
            reference = getattr(np, name)
            if dtype == "complex64":
                reference = NOT_NUMPY.get(name, reference)
            expected, out = reference(*args), np.asarray(out)
            assert out.dtype == expected.dtype, name
            signed = name not in UNSIGNED_ZEROS or (name == "sign" and dtype != "complex64")
            same = the_same(out, expected, signed=signed)
            for i in np.flatnonzero(~same)[:5]:
                at = ", ".join(str(a[i]) for a in args)
                wrong.append(f"{name}({at}) = {out[i]}, expected {expected[i]}")
    assert not wrong, "\n".join(wrong)


BRANCH_CUTS = """
    sqrt(-4-0j) = -2j
    log(-1-0j) = -3.141592653589793j
    acos(2-0j) = 1.3169578969248166j
    asin(2-0j) = 1.5707963267948966-1.3169578969248166j
    asinh(0+2j) = 1.3169578969248166+1.5707963267948966j
    atan(0+2j) = 1.5707963267948966+0.5493061443340549j
    atanh(2-0j) = 0.5493061443340549-1.5707963267948966j
    acosh(-2-0j) = 1.3169578969248166-3.141592653589793j
"""


def test_branch_cuts_have_two_sides():
    """A zero's sign tells the side; C's Annex G has the values."""
    rows = [line.replace(")", "(").split("(") for line in BRANCH_CUTS.split("\n") if line.strip()]
    names, arguments = [r[0].strip() for r in rows], [complex(r[1]) for r in rows]
    expected = [complex(r[2].strip(" =")) for r in rows]

    @covector.jit
    def compute(arguments):
        return [getattr(jnp, name)(z) for name, z in zip(names, arguments, strict=True)]

    with covector.enable_x64(True):
        out = compute([np.array(z) for z in arguments])
        conjugate = compute([np.array(z.conjugate()) for z in arguments])
    np.testing.assert_allclose(out, expected, rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(conjugate, np.conj(expected), rtol=1e-14, atol=1e-15)


def test_powers_of_a_complex_zero():
    exponents = np.array([1 + 1j, 0.5 - 2j, 2, 0], "complex64")
    np.testing.assert_array_equal(jnp.zeros((), "complex64") ** exponents, [0, 0, 0, 1])
    np.testing.assert_array_equal(jnp.zeros((), "complex64") ** np.array([3, 0]), [0, 1])


# --- names and parameters -------------------------------------------------------------------------

# Each function's parameters by position, then those by keyword. Elementwise functions have only
# operands: one (the names in `OF_ONE`), or two.
PARAMETERS = """
    arange start stop step ; dtype device
    asarray obj ; dtype device copy
    astype x dtype ; copy device
    broadcast_arrays *arrays
    broadcast_shapes *shapes
    broadcast_to x shape
    can_cast from_ to
    clip x min max
    concat arrays ; axis
    count_nonzero x ; axis keepdims
    cumulative_prod x ; axis dtype include_initial
    cumulative_sum x ; axis dtype include_initial
    diff x ; axis n prepend append
    empty shape ; dtype device
    empty_like x ; dtype device
    expand_dims x ; axis
    eye n m ; k dtype device
    finfo type
    flip x ; axis
    from_dlpack x ; device copy
    full shape value ; dtype device
    full_like x value ; dtype device
    iinfo type
    isdtype dtype kind
    isin x y ; invert
    linspace start stop num ; dtype device endpoint
    matmul x y
    matrix_transpose x
    max x ; axis keepdims
    mean x ; axis keepdims
    meshgrid *arrays ; indexing
    min x ; axis keepdims
    moveaxis x source destination
    nonzero x
    ones shape ; dtype device
    permute_dims x axes
    prod x ; axis dtype keepdims
    repeat x repeats ; axis
    reshape x shape ; copy
    result_type *operands
    roll x shift ; axis
    searchsorted x y ; side sorter
    sort x ; axis descending stable
    argsort x ; axis descending stable
    argmax x ; axis keepdims
    argmin x ; axis keepdims
    all x ; axis keepdims
    any x ; axis keepdims
    squeeze x ; axis
    stack arrays ; axis
    std x ; axis correction keepdims
    sum x ; axis dtype keepdims
    take x indices ; axis
    take_along_axis x indices ; axis
    tensordot x y ; axes
    tile x repetitions
    tril x ; k
    triu x ; k
    unique_all x
    unique_counts x
    unique_inverse x
    unique_values x
    unstack x ; axis
    var x ; axis correction keepdims
    vecdot x y ; axis
    where condition x y
    zeros shape ; dtype device
    zeros_like x ; dtype device
    linalg.cholesky x ; upper
    linalg.cross x y ; axis
    linalg.det x
    linalg.diagonal x ; offset
    linalg.eig x
    linalg.eigh x
    linalg.eigvals x
    linalg.eigvalsh x
    linalg.inv x
    linalg.matmul x y
    linalg.matrix_norm x ; keepdims ord
    linalg.matrix_power x n
    linalg.matrix_rank x ; rtol
    linalg.matrix_transpose x
    linalg.outer x y
    linalg.pinv x ; rtol
    linalg.qr x ; mode
    linalg.slogdet x
    linalg.solve x y
    linalg.svd x ; full_matrices
    linalg.svdvals x
    linalg.tensordot x y ; axes
    linalg.trace x ; offset dtype
    linalg.vecdot x y ; axis
    linalg.vector_norm x ; axis keepdims ord
    fft.fft x ; n axis norm
    fft.ifft x ; n axis norm
    fft.fftn x ; s axes norm
    fft.ifftn x ; s axes norm
    fft.rfft x ; n axis norm
    fft.irfft x ; n axis norm
    fft.rfftn x ; s axes norm
    fft.irfftn x ; s axes norm
    fft.hfft x ; n axis norm
    fft.ihfft x ; n axis norm
    fft.fftfreq n ; d device dtype
    fft.rfftfreq n ; d device dtype
    fft.fftshift x ; axes
    fft.ifftshift x ; axes
"""
BITWISE = """
    bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor logical_and logical_or
    logical_xor
"""


def elementwise_names():
    one = f"{OF_ONE} {OF_ONE_REAL} bitwise_invert logical_not".split()
    return dict.fromkeys(one, 1) | dict.fromkeys(f"{OF_TWO} {OF_TWO_REAL} {BITWISE}".split(), 2)


def found(name):
    holder = jnp
    for part in name.split("."):
        holder = getattr(holder, part)
    return holder


def parameters_of_the_standard():
    rows = {name: (["x"] * count, []) for name, count in elementwise_names().items()}
    for line in PARAMETERS.strip().splitlines():
        name, *positional = line.split(";")[0].split()
        rows[name] = (positional, line.partition(";")[2].split())
    return rows


@pytest.mark.parametrize("name", parameters_of_the_standard())
def test_parameters(name):
    positional, keywords = parameters_of_the_standard()[name]
    signature = inspect.signature(found(name))
    if name in ("add", "multiply", "equal"):  # ufuncs, whose operands have no names
        return
    arguments = [None] * (2 if "*" in positional[0] else len(positional))
    bound = signature.bind(*arguments, **dict.fromkeys(keywords))
    assert "kwargs" not in bound.arguments


# --- the namespace --------------------------------------------------------------------------------


def test_arrays_know_their_namespace():
    x = jnp.ones(2)
    assert x.__array_namespace__() is jnp
    for version in (None, "2022.12", "2024.12", jnp.__array_api_version__):
        assert x.__array_namespace__(api_version=version) is jnp
    with pytest.raises(ValueError, match=r"'1999.1'"):
        x.__array_namespace__(api_version="1999.1")
    names = []
    covector.jit(lambda x: names.append(x.__array_namespace__()))(x)
    assert names == [jnp]


KINDS = {
    "bool": "bool",
    "signed integer": "int8 int16 int32 int64",
    "unsigned integer": "uint8 uint16 uint32 uint64",
    "integral": "int8 int16 int32 int64 uint8 uint16 uint32 uint64",
    "real floating": "float32 float64",
    "complex floating": "complex64 complex128",
    "numeric": "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 "
    "complex128",
}
DTYPES = ["bool", *KINDS["numeric"].split()]


def test_what_the_namespace_offers():
    info = jnp.__array_namespace_info__()
    assert set(info.capabilities()) == {
        "boolean indexing",
        "data-dependent shapes",
        "max dimensions",
    }
    assert info.devices() == covector.devices()
    assert info.default_device() == jnp.zeros(1).device
    with covector.enable_x64(True):
        assert list(info.dtypes()) == DTYPES
        assert info.dtypes(kind=("bool", "complex floating")).keys() == {
            "bool",
            "complex64",
            "complex128",
        }
        assert info.default_dtypes(device=info.default_device()) == {
            "real floating": np.dtype("float64"),
            "complex floating": np.dtype("complex128"),
            "integral": np.dtype("int64"),
            "indexing": np.dtype("int64"),
        }
        for kind, names in KINDS.items():
            assert list(info.dtypes(kind=kind)) == names.split()
    assert [n for n in info.dtypes() if "64" in n] == ["complex64"]
    assert info.default_dtypes()["indexing"] == np.int32
    with pytest.raises(ValueError, match="'floating'"):
        info.dtypes(kind="floating")


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_of_dtypes(kind):
    for name in DTYPES:
        expected = name in KINDS[kind].split()
        assert jnp.isdtype(np.dtype(name), kind) is expected
        assert jnp.isdtype(getattr(jnp, name), (kind, np.dtype("float16"))) is expected


# --- dtypes ---------------------------------------------------------------------------------------


def promoted(a, b):
    """The standard's table: within a kind, the wider; of signed and unsigned, one for both."""
    a, b = sorted([np.dtype(a), np.dtype(b)], key=lambda d: ("biufc".index(d.kind), d.itemsize))
    if a.kind == b.kind or (a.kind, b.kind) in (("f", "c"), ("i", "u")):
        both = np.promote_types(a, b)
        return None if (a.kind, b.kind) == ("i", "u") and both.kind == "f" else both
    return None


PAIRS = [(a, b) for a in DTYPES for b in DTYPES if promoted(a, b) is not None]


def test_promotion():
    with covector.enable_x64(True):
        arrays = {d: jnp.zeros((), d) for d in DTYPES}
        sums = covector.eval_shape(lambda x: [jnp.add(x[a], x[b]) for a, b in PAIRS], arrays)
        for (a, b), out in zip(PAIRS, sums, strict=True):
            expected = promoted(a, b)
            assert jnp.result_type(arrays[a], np.dtype(b)) == expected, (a, b)
            assert out.dtype == expected, (a, b)


SCALARS = {"b": True, "i": 3, "u": 3, "f": 3.5, "c": 2j}
OPERATORS = {"b": "& | ^", "i": "+ - * // % ** & | ^ << >>", "f": "+ - * / // % **", "c": "+ - * /"}


def test_python_scalars_take_the_dtype_of_the_array():
    def compute(x, scalar, symbols):
        return [eval(f"x {s} y, y {s} x", {"x": x, "y": scalar}) for s in symbols.split()]

    with covector.enable_x64(True):
        for name in DTYPES:
            kind = np.dtype(name).kind
            symbols = OPERATORS["i" if kind == "u" else kind]
            shape = covector.ShapeDtypeStruct((2,), name)
            outs = covector.eval_shape(lambda x: compute(x, SCALARS[kind], symbols), shape)  # noqa: B023
            assert {o.dtype.name for pair in outs for o in pair} == {name}


ACCUMULATED = {"int8": "int64", "int32": "int64", "uint8": "uint64", "uint32": "uint64"}
ACCUMULATED |= {d: d for d in ("int64", "uint64", "float32", "float64", "complex64", "complex128")}


@pytest.mark.parametrize("name", ["sum", "prod", "cumulative_sum", "cumulative_prod"])
def test_sums_and_products_accumulate_in_the_default_integer(name):
    with covector.enable_x64(True):
        for dtype, expected in ACCUMULATED.items():
            shape = covector.ShapeDtypeStruct((3,), dtype)
            assert covector.eval_shape(getattr(jnp, name), shape).dtype == expected, dtype


def test_dtypes_of_creation():
    with covector.enable_x64(True):
        assert [jnp.asarray(v).dtype for v in (True, 1, 1.0, 1j)] == [bool, int, float, complex]
        assert [jnp.full(2, v).dtype for v in (True, 1, 1.0, 1j)] == [bool, int, float, complex]
        assert [jnp.arange(v).dtype for v in (3, 3.0)] == [int, float]
        assert jnp.linspace(0, 1, 3).dtype == float and jnp.eye(2).dtype == float
        for name in DTYPES:
            x = jnp.zeros(2, name)
            assert x.dtype == getattr(jnp, name) == np.dtype(name)
            likes = [jnp.zeros_like(x), jnp.ones_like(x), jnp.empty_like(x), jnp.full_like(x, 1)]
            assert {y.dtype.name for y in likes} == {name}


# --- the array object -----------------------------------------------------------------------------


def test_attributes():
    x = jnp.zeros((2, 3, 4))
    assert (x.ndim, x.shape, x.size, x.dtype) == (3, (2, 3, 4), 24, np.float32)
    assert x.mT.shape == (2, 4, 3) and x[0].T.shape == (4, 3)
    assert x.to_device(x.device).device == x.device == covector.devices()[0]
    with pytest.raises(NotImplementedError, match="stream"):
        x.to_device(x.device, stream=1)


@pytest.mark.parametrize(
    "index, shape",
    [
        ((), (2, 3, 4)),
        (..., (2, 3, 4)),
        (None, (1, 2, 3, 4)),
        ((..., 0), (2, 3)),
        ((0, ..., slice(None, None, -1)), (3, 4)),
        ((slice(5, None),), (0, 3, 4)),
        ((slice(-9, 9, 2), 1), (1, 4)),
        (np.ones((2, 3), bool), (6, 4)),
        (np.array(True), (1, 2, 3, 4)),
        ((np.array([0, 1]), np.array([[1], [0]])), (2, 2, 4)),
        (np.array(1), (3, 4)),
    ],
)
def test_indexing(index, shape):
    assert jnp.zeros((2, 3, 4))[index].shape == shape


def test_conversions_to_python_scalars():
    for dtype in ("bool", "int8", "uint32", "float32"):
        one = jnp.ones((), dtype)
        assert (bool(one), int(one), float(one), complex(one)) == (True, 1, 1.0, 1 + 0j)
    assert operator.index(jnp.array(3, "int8")) == 3
    assert complex(jnp.array(2j)) == 2j and bool(jnp.array(nan))
    for convert, error in ((int, ValueError), (operator.index, TypeError)):
        with pytest.raises(error):
            convert(jnp.array(nan))
    with pytest.raises(OverflowError):
        int(jnp.array(inf))


# --- functions ------------------------------------------------------------------------------------


def test_unique():
    """Nan is unequal to itself, so each counts; the inverse has the shape of the operand."""
    x = jnp.array([[3.0, nan, 1.0], [1.0, nan, 3.0]])
    out = jnp.unique_all(x)
    assert out._fields == ("values", "indices", "inverse_indices", "counts")
    np.testing.assert_array_equal(out.values, [1, 3, nan, nan])
    assert out.counts.tolist() == [2, 2, 1, 1]
    np.testing.assert_array_equal(out.values[out.inverse_indices], x)
    np.testing.assert_array_equal(x.ravel()[out.indices], out.values)
    assert jnp.unique_counts(x)._fields == ("values", "counts")
    inverse = jnp.unique_inverse(x)
    assert inverse._fields == ("values", "inverse_indices")
    assert inverse.inverse_indices.shape == x.shape
    np.testing.assert_array_equal(jnp.unique_values(x), out.values)


def test_copies():
    """``copy=True`` owns its elements; the memory of a NumPy array may change after the call."""
    for make in (jnp.asarray, jnp.array, jnp.from_dlpack):
        source = np.ones(1000, np.float32)
        x = make(source, copy=True)
        source[:] = 2
        assert float(x[0]) == 1
    x = jnp.ones(3)
    assert jnp.asarray(x) is x and jnp.asarray(x, copy=False) is x
    assert jnp.asarray(x, copy=True) is not x and jnp.astype(x, "float32", copy=True) is not x
    assert jnp.reshape(x, (3, 1), copy=True).shape == (3, 1)


def test_named_results_of_linear_algebra():
    x = jnp.array([[2.0, 1.0], [1.0, 3.0]])
    linalg = jnp.linalg
    assert linalg.eigh(x)._fields == ("eigenvalues", "eigenvectors")
    assert linalg.qr(x)._fields == ("Q", "R")
    assert linalg.slogdet(x)._fields == ("sign", "logabsdet")
    assert linalg.svd(x)._fields == ("U", "S", "Vh")
    np.testing.assert_allclose(linalg.cholesky(x, upper=True), np.linalg.cholesky(x).T, rtol=1e-6)
    # A vector is one only if it has one axis: a stack of systems with one right side.
    assert linalg.solve(jnp.stack([x, x]), jnp.ones(2)).shape == (2, 2)
    assert linalg.vector_norm(jnp.ones((2, 3, 4)), axis=(0, 1), keepdims=True).shape == (1, 1, 4)
    assert complex(jnp.vecdot(jnp.array([1j]), jnp.array([1j]))) == 1


def test_bit_shifts_beyond_the_width():
    """Not defined by the processor, and here as in NumPy: nothing is left, or the sign."""
    one, minus = jnp.array([1], "int8"), jnp.array([-7], "int8")
    assert jnp.bitwise_left_shift(one, jnp.array([9], "int8")).tolist() == [0]
    assert jnp.bitwise_right_shift(minus, jnp.array([9], "int8")).tolist() == [-1]


@pytest.mark.parametrize(
    "call",
    [
        lambda: jnp.squeeze(jnp.ones((2, 1)), 0),
        lambda: jnp.cumulative_sum(jnp.ones((2, 2))),
        lambda: jnp.nonzero(jnp.array(1)),
        lambda: jnp.isdtype(jnp.float32, "floating"),
        lambda: jnp.expand_dims(jnp.ones(2), axis=3),
        lambda: jnp.bitwise_and(jnp.ones(2), jnp.ones(2)),
        lambda: jnp.floor_divide(1j, 2),
        lambda: jnp.remainder(1j, 2),
        lambda: jnp.matmul(jnp.array(1.0), jnp.ones(2)),
        lambda: jnp.concat([jnp.ones(2), jnp.ones((2, 2))]),
        lambda: float(jnp.array(1j)),
        lambda: float(jnp.ones(1)),
        lambda: bool(jnp.ones(2)),
    ],
)
def test_what_is_refused(call):
    with pytest.raises((TypeError, ValueError)):
        call()


@pytest.mark.parametrize(
    "name", ["expand_dims", "flip", "roll", "sum", "argmax", "std", "stack", "all"]
)
def test_an_axis_out_of_bounds_is_an_index_error_too(name):
    x = [jnp.ones(2)] * 2 if name == "stack" else jnp.ones(2)
    shift = (1,) if name == "roll" else ()
    with pytest.raises(IndexError, match="axis 5 is out of bounds"):
        getattr(jnp, name)(x, *shift, axis=5)

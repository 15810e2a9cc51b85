"""Element types: promotion against the oracle, pair by pair, and the public functions."""

import warnings

import ml_dtypes
import numpy as np
import pytest
from covector import dtypes
from covector._config import enable_x64, explicit_x64_dtypes, numpy_dtype_promotion
from covector._ir import dtypes as internal
from covector._ir.avals import ShapedArray
from covector.errors import TypePromotionError

NAMES = list(internal.DTYPES)
FEWER_NAMES = [
    n for n in NAMES if not n.startswith(("float8_e4m3", "float8_e5m2f", "uint2", "int2"))
]
PYTHON = {"bool*": bool, "int*": int, "float*": float, "complex*": complex}


def outcome_of(function, *args):
    """A dtype's name, with a star if it is weak; or the error's class."""
    try:
        result = function(*args)
    except (TypeError, ValueError) as error:
        return type(error).__name__
    dtype, weak = result if isinstance(result, tuple) else (result, False)
    return np.dtype(dtype).name + "*" * weak


PRELUDE = """
import builtins
import warnings
warnings.simplefilter("ignore")
import ml_dtypes
def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name, name))
def outcome_of(function, *args):
    try:
        result = function(*args)
    except (TypeError, ValueError) as error:
        return type(error).__name__
    dtype, weak = result if isinstance(result, tuple) else (result, False)
    return np.dtype(dtype).name + "*" * bool(weak)
def argument(name):
    return getattr(builtins, name[:-1]) if name.endswith("*") else dtype_of(name)
def result_type(*args):
    return jax.dtypes.result_type(*args, return_weak_type_flag=True)
def lower_triangle(function, argument):
    rows = enumerate(NAMES)
    return [outcome_of(function, argument(a), argument(b)) for i, a in rows for b in NAMES[:i+1]]
"""


@pytest.fixture(params=[("standard", False), ("standard", True), ("strict", True)])
def mode(request, oracle):
    """A promotion mode and an x64 mode, set here and in the oracle."""
    promotion, x64 = request.param
    with numpy_dtype_promotion(promotion), enable_x64(x64), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield oracle.using(numpy_dtype_promotion=promotion, x64=x64, timeout=300)


def pairs(names):
    return [(a, b) for i, a in enumerate(names) for b in names[: i + 1]]


def ours(name):
    """The function under test; oracle snippets call theirs by the same name."""
    if name == "jnp.promote_types":
        return internal.promote_types
    return lambda *args: dtypes.result_type(*args, return_weak_type_flag=True)


@pytest.mark.parametrize("function", ["jnp.promote_types", "result_type"])
def test_promotion_of_every_pair_of_dtypes(mode, function):
    names = [*NAMES, *PYTHON]
    expected = mode.value(f"{PRELUDE}NAMES = {names}\nlower_triangle({function}, argument)")

    def argument(name):
        return PYTHON.get(name) or internal.DTYPES[name]

    actual = [outcome_of(ours(function), argument(a), argument(b)) for a, b in pairs(names)]
    assert dict(zip(pairs(names), actual)) == dict(zip(pairs(names), expected))


def test_promotion_of_every_pair_of_arrays(mode):
    """With weak arrays of every width, which only programs make, not scalars."""
    weak = [n for n in FEWER_NAMES if n != "bool" and not n.startswith("float8")]
    names = [*FEWER_NAMES, *(f"{name}*" for name in weak)]
    expected = mode.value(
        f"{PRELUDE}NAMES = {names}"
        """
def promoted(a, b):
    out = jax.eval_shape(lambda x, y: jnp.where(True, x, y), a, b)
    return out.dtype, out.weak_type
def struct(name):
    return jax.ShapeDtypeStruct((), dtype_of(name.rstrip("*")), weak_type="*" in name)
lower_triangle(promoted, struct)
"""
    )

    def promoted(a, b):
        given = [internal.canonicalize_dtype(internal.DTYPES[n.rstrip("*")]) for n in (a, b)]
        return internal.lattice_result_type(tuple(given), ("*" in a, "*" in b))

    actual = [outcome_of(promoted, a, b) for a, b in pairs(names)]
    assert dict(zip(pairs(names), actual)) == dict(zip(pairs(names), expected))


def test_promotion_is_a_lattice():
    """Least upper bounds do not depend on order or grouping."""
    names = [n for n in NAMES if internal.DTYPES[n] not in internal.NARROW_INTEGERS]
    wide = [internal.DTYPES[n] for n in names if internal.DTYPES[n] not in internal.NARROW_FLOATS]
    with enable_x64(True):
        for a in wide:
            for b in wide:
                assert internal.promote_types(a, b) == internal.promote_types(b, a)
                for c in wide:
                    left = internal.promote_types(internal.promote_types(a, b), c)
                    all_at_once = internal.result_type(a, b, c)
                    assert left == all_at_once or internal.is_integer(a) or internal.is_integer(b)


@pytest.mark.parametrize(
    "args",
    [
        "(1, 2.0)",
        "(np.float64(1),)",
        "(np.int8(1), 1)",
        "(np.zeros(2, np.float16), np.float32(1))",
        "(np.zeros(2, np.int16), True)",
        "('float16', 2.5)",
        "(jax.device_put(1.5), np.int8(1))",
        "(jax.device_put(np.zeros(2, jax.dtypes.bfloat16)), 1j)",
        "(None, 1)",
        "('float32', 'int32')",
        "(jax.dtypes.bfloat16(1), 'float16')",
        "(jax.ShapeDtypeStruct((2,), np.int8), 1)",
    ],
)
def test_result_type_of_values(oracle, args):
    oracle.compare(f"jax.dtypes.result_type(*{args}, return_weak_type_flag=True)")


@pytest.mark.parametrize(
    "args",
    [
        "()",
        "([1, 2],)",
        "('no_such_dtype',)",
        "(np.array('text'),)",
        "(np.array([None]),)",
        "(jax.dtypes.float0, 1.0)",
        "('float8_e4m3fn', 'bfloat16')",
        "('int4', 'int8')",
    ],
)
def test_result_type_errors(oracle, args):
    oracle.compare_error(f"jax.dtypes.result_type(*{args})")


def test_promotion_errors_name_the_types_and_a_remedy():
    with pytest.raises(TypePromotionError, match=r"float32, float8_e4m3fn.*astype"):
        internal.promote_types(ml_dtypes.float8_e4m3fn, "float32")
    with numpy_dtype_promotion("strict"), pytest.raises(TypePromotionError, match="standard"):
        internal.promote_types("int32", "float32")


@pytest.mark.parametrize("x64", [False, True])
def test_canonicalize_dtype(oracle, x64):
    expected = oracle.using(x64=x64).value(
        f"{PRELUDE}NAMES = {NAMES}\n"
        "[jax.dtypes.canonicalize_dtype(dtype_of(n)).name for n in NAMES]"
    )
    with enable_x64(x64):
        assert [dtypes.canonicalize_dtype(d).name for d in internal.DTYPES.values()] == expected
        assert dtypes.canonicalize_dtype(int) == internal.scalar_dtype(int)
    assert [internal.canonicalize_dtype(d, x64).name for d in internal.DTYPES.values()] == expected


def test_canonicalize_dtype_refuses_extended_types():
    class Key(internal.ExtendedDType):
        type = dtypes.prng_key

    key = Key()
    with pytest.raises(ValueError, match="allow_extended_dtype"):
        dtypes.canonicalize_dtype(key)
    assert dtypes.canonicalize_dtype(key, allow_extended_dtype=True) is key
    assert dtypes.issubdtype(key, dtypes.prng_key) and dtypes.issubdtype(key, dtypes.extended)
    assert dtypes.issubdtype(key, np.generic) and not dtypes.issubdtype(key, np.number)
    assert dtypes.issubdtype(key, key) and not dtypes.issubdtype(np.float32, key)
    with pytest.raises(ValueError, match="no part in type promotion"):
        dtypes.result_type(key, 1)


SUBTYPES = (
    "[np.generic, np.number, np.integer, np.signedinteger, np.unsignedinteger, np.inexact,"
    " np.floating, np.complexfloating, np.bool_, np.flexible, np.character, object, np.int8,"
    " np.float16, np.float32, np.float64, np.int64, np.complex64, np.uint8, np.str_, bool, int,"
    " float, complex, np.dtype('int8'), 'int8', jax.dtypes.extended, jax.dtypes.prng_key,"
    " jax.dtypes.float0, jax.dtypes.bfloat16, np.dtype(jax.dtypes.bfloat16), 'bfloat16', 'int4',"
    " 'float8_e5m2', 'float4_e2m1fn', 'uint2', np.dtype('V3')]"
)


def test_issubdtype(oracle):
    oracle.compare(
        f"import ml_dtypes\nkinds = {SUBTYPES}\n"
        "[[jax.dtypes.issubdtype(a, b) for b in kinds] for a in kinds]"
    )


@pytest.mark.parametrize("name", NAMES)
def test_descriptions_of_dtypes(oracle, name):
    oracle.compare(
        f"import ml_dtypes\nd = np.dtype(getattr(ml_dtypes, {name!r}, {name!r}))\n"
        "[jax.dtypes.itemsize_bits(d), jax.dtypes.scalar_type_of(np.zeros(2, d)).__name__]"
    )
    dtype = internal.DTYPES[name]
    limits = dtypes.finfo if internal.is_inexact(dtype) else dtypes.iinfo
    if not internal.is_bool(dtype):
        assert limits(dtype).bits == dtypes.itemsize_bits(dtype) // (
            2 if internal.is_complex(dtype) else 1
        )


@pytest.mark.parametrize("snippet", ["None", "object", "jax.dtypes.float0", "'S3'"])
def test_itemsize_bits_errors(oracle, snippet):
    oracle.compare_error(f"jax.dtypes.itemsize_bits({snippet})")


@pytest.mark.parametrize("snippet", ["object()", "np.array('a')", "'no_such'"])
def test_scalar_type_of_errors(oracle, snippet):
    oracle.compare_error(f"jax.dtypes.scalar_type_of({snippet})")


@pytest.mark.parametrize("name", NAMES)
def test_kinds(name):
    dtype = internal.DTYPES[name]
    kinds = {
        np.bool_: internal.is_bool,
        np.signedinteger: internal.is_signed,
        np.unsignedinteger: internal.is_unsigned,
        np.floating: internal.is_float,
        np.complexfloating: internal.is_complex,
        np.integer: internal.is_integer,
        np.inexact: internal.is_inexact,
    }
    for family, predicate in kinds.items():
        assert predicate(dtype) == dtypes.issubdtype(dtype, family)
    assert internal.tangent_dtype(dtype) == (dtype if internal.is_inexact(dtype) else dtypes.float0)


@pytest.mark.parametrize("x64", [False, True])
def test_to_inexact_dtype(oracle, x64):
    narrow = internal.NARROW_FLOATS | internal.NARROW_INTEGERS
    names = [n for n in NAMES if internal.DTYPES[n] not in narrow]
    expected = oracle.using(x64=x64).value(
        f"{PRELUDE}NAMES = {names}\n"
        "structs = [jax.ShapeDtypeStruct((), dtype_of(name)) for name in NAMES]\n"
        "[jax.eval_shape(jnp.sin, struct).dtype.name for struct in structs]"
    )
    with enable_x64(x64):
        given = [internal.canonicalize_dtype(internal.DTYPES[name]) for name in names]
        assert [internal.to_inexact_dtype(dtype).name for dtype in given] == expected


@pytest.mark.parametrize(
    "name, real, complex_",
    [
        ("complex64", "float32", "complex64"),
        ("complex128", "float64", "complex128"),
        ("float64", "float64", "complex128"),
        ("int64", "int64", "complex128"),
        ("int8", "int8", "complex64"),
        ("bfloat16", "bfloat16", "complex64"),
    ],
)
def test_real_and_complex_counterparts(name, real, complex_):
    assert internal.to_real_dtype(internal.DTYPES[name]).name == real
    assert internal.to_complex_dtype(internal.DTYPES[name]).name == complex_


REQUESTS = [
    "float",
    "int",
    "complex",
    "bool",
    "'float64'",
    "np.int64",
    "np.float64",
    "np.dtype('uint64')",
    "'complex128'",
    "'float32'",
    "jax.dtypes.bfloat16",
    "'int4'",
    "None",
]


@pytest.mark.parametrize("request_", REQUESTS)
@pytest.mark.parametrize("x64", [False, True])
def test_requested_dtypes(oracle, request_, x64):
    run = oracle.using(x64=x64).run(f"jnp.zeros(2, {request_}).dtype.name")
    with enable_x64(x64), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        dtype = eval(request_, {"np": np, "jax": type("jax", (), {"dtypes": dtypes})})
        result = internal.check_user_dtype(dtype, "zeros")
    assert result.name == run.value
    assert [w.category.__name__ for w in caught] == [name for name, _ in run.warnings]


def test_truncation_warning_names_function_and_line():
    with pytest.warns(UserWarning, match=r"float64 requested in zeros.*jax_enable_x64") as caught:
        internal.check_user_dtype("float64", "zeros")
    assert caught[0].filename == __file__


def test_truncation_modes():
    with explicit_x64_dtypes("error"), pytest.raises(ValueError, match="float64"):
        internal.check_user_dtype("float64", "zeros")
    with explicit_x64_dtypes("allow"):
        assert internal.check_user_dtype("float64", "zeros") == np.float64
        assert internal.check_user_dtype(float, "zeros") == np.float32
        assert dtypes.result_type("int8", "uint64", return_weak_type_flag=True) == ("f4", True)


@pytest.mark.parametrize(
    "request_", ["object", "'S3'", "'foo'", "np.longdouble", "[('a', 'f')]", "np.zeros(1)", "'>f4'"]
)
def test_refused_dtypes(oracle, request_):
    error = oracle.run(f"jnp.zeros(2, {request_})").error
    expected = {"TypeError": TypeError, "ValueError": ValueError}[error.names[-2]]
    with pytest.raises(expected):
        internal.check_user_dtype(eval(request_), "zeros")


def test_unsupported_types_of_ml_dtypes_are_refused():
    with pytest.raises(TypeError, match="zeros: arrays cannot have the dtype complex32"):
        internal.check_user_dtype(ml_dtypes.complex32, "zeros")


@pytest.mark.parametrize(
    "value, name, weak",
    [
        (True, "bool", False),
        (1, "int64", True),
        (1.5, "float64", True),
        (1j, "complex128", True),
        (np.float32(1), "float32", False),
        (np.zeros(2, np.int8), "int8", False),
        (float, "float64", True),
        (bool, "bool", False),
        (np.int8, "int8", False),
        ("bfloat16", "bfloat16", False),
        (ShapedArray((2,), "float16", True), "float16", True),
        (ShapedArray((2,), "float16"), "float16", False),
    ],
)
def test_dtype_and_weak_type(value, name, weak):
    dtype, is_weak = internal.dtype_and_weak_type(value)
    assert (dtype.name, is_weak) == (name, weak)


def test_dtype_of_subclasses_of_scalars():
    import enum

    class Level(enum.IntEnum):
        LOW = 1

    assert internal.dtype_and_weak_type(Level.LOW) == (np.int64, True)
    assert internal.dtype(Level.LOW, canonicalize=True) == np.int32


def test_memo_of_promotion_holds_every_flag():
    given = (np.dtype("int8"), np.dtype("uint64")), (False, False)
    with enable_x64(True):
        assert internal.lattice_result_type(*given) == (np.float64, True)
    with enable_x64(False):
        assert internal.lattice_result_type(*given) == (np.float32, True)
    with numpy_dtype_promotion("strict"), pytest.raises(TypePromotionError):
        internal.lattice_result_type(*given)

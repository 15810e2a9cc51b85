"""What the array API standard (2024.12) asks of functions, dtypes and the array object.

Values at the edges are NumPy's, which has those of the standard (and of C's Annex G for complex
numbers) but for the cases in `NOT_NUMPY`.
"""

import math

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

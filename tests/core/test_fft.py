"""Fourier transforms, against NumPy and the oracle, under every transformation."""

import covector
import numpy as np
import pytest
from core import primitive_checks as checks
from covector import lax
from oracle import Case

RNG = np.random.default_rng(0)

# kind, NumPy's function, shape of the operand, lengths
ROWS = [
    ("FFT", np.fft.fftn, (2, 5), (5,)),
    ("FFT", np.fft.fftn, (2, 3, 4), (2, 3, 4)),
    ("IFFT", np.fft.ifftn, (3, 4), (3, 4)),
    ("RFFT", np.fft.rfftn, (2, 5), (5,)),
    ("RFFT", np.fft.rfftn, (3, 4), (3, 4)),
    ("IRFFT", np.fft.irfftn, (2, 3), (4,)),
    ("IRFFT", np.fft.irfftn, (2, 3, 3), (2, 3, 5)),
    ("FFT", np.fft.fftn, (2, 1), (1,)),
]


def sample(kind, shape, dtype=np.float64):
    x = RNG.standard_normal(shape)
    if kind != "RFFT":
        x = x + 1j * RNG.standard_normal(shape)
    return x.astype(np.result_type(dtype, np.complex64) if kind != "RFFT" else dtype)


@pytest.mark.parametrize(("kind", "reference", "shape", "lengths"), ROWS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_values(kind, reference, shape, lengths, dtype):
    x = sample(kind, shape, dtype)
    axes = tuple(range(-len(lengths), 0))
    with covector.enable_x64(True):
        out = lax.fft(x, kind, lengths)
    assert np.finfo(out.dtype).bits == np.finfo(dtype).bits
    expected = reference(x, s=lengths, axes=axes)
    np.testing.assert_allclose(out, expected, rtol=0, atol=30 * np.finfo(dtype).eps)


@pytest.mark.parametrize(("kind", "shape", "lengths"), [(r[0], *r[2:]) for r in ROWS[1::2]])
def test_transformations(kind, shape, lengths):
    def f(x):
        return lax.fft(x, kind, lengths)

    x = sample(kind, shape)
    with covector.enable_x64(True):
        checks.check_staged(f, x)
        checks.check_derivatives(f, x, order=1)
        out = f(x)
        for axis in range(len(shape) + 1):
            stacked = np.stack([x, 2 * x], axis)
            batched = covector.vmap(f, in_axes=axis)(stacked)
            np.testing.assert_allclose(batched, np.stack([out, 2 * out.__array__()]), atol=1e-12)


def test_gradient_of_an_irfft_is_that_of_the_oracle(oracle):
    snippet = "jax.grad(lambda x: lax.fft(x, 'IRFFT', (2, 4)).sum() ** 2, holomorphic=False)(x)"
    oracle.compare_many(
        [
            Case(snippet, {"x": sample("IRFFT", (2, 3), "float32")}),
            Case("jax.grad(lambda x: abs(lax.fft(x, 'RFFT', (4,))).sum())(x)", {"x": np.r_[1.0:5]}),
        ]
    )


def test_dtypes_and_empty_arrays():
    assert lax.fft(np.arange(4), lax.FftType.FFT, [4]).dtype == "complex64"
    assert lax.fft(np.arange(4), "RFFT", [4]).shape == (3,)
    assert lax.fft(np.zeros((0, 4), "complex64"), "FFT", (4,)).shape == (0, 4)
    with covector.enable_x64(True):
        assert lax.fft(np.arange(4), "FFT", (4,)).dtype == "complex128"


@pytest.mark.parametrize(
    ("shape", "dtype", "kind", "lengths", "words"),
    [
        ((3, 3), "complex64", "FFT", (3, 3, 3), "at least as many input dimensions"),
        ((3, 3), "float32", "RFFT", (4,), "minor dimensions"),
        ((3,), "float32", "BAD", (3,), "unknown fft_type 'BAD'"),
        ((3,), "float16", "RFFT", (3,), "must be float32 or float64"),
        ((3,), "complex64", "RFFT", (3,), "must be float32 or float64"),
        ((2, 2, 2, 2), "complex64", "FFT", (2, 2, 2, 2), "at most 3 axes"),
        ((3,), "complex64", "IRFFT", (7,), "halved"),
    ],
)
def test_bad_input(shape, dtype, kind, lengths, words):
    with pytest.raises(ValueError, match=words):
        lax.fft(np.zeros(shape, dtype), kind, lengths)

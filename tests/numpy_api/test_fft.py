"""Discrete Fourier transforms against the oracle, their derivatives, batches and errors."""

import covector
import covector.numpy as jnp
import numpy as np
import pytest

from numpy_api.compare import compare_all, compare_errors

# The same algorithm, but scaled in another order: a few units of the largest frequency.
CLOSE = {"rtol": 2e-6, "atol": 5e-6}

ONE_AXIS = [
    f"jnp.fft.{name}({call})"
    for name in ("fft", "ifft", "hfft", "irfft")
    for call in (
        "t",
        "c, n=5",
        "c, 2, 0, 'ortho'",
        "c, axis=0, norm='forward'",
        "i, norm='backward'",
    )
]
ONE_REAL_AXIS = [
    f"jnp.fft.{name}({call})"
    for name in ("rfft", "ihfft")
    for call in ("t", "t, n=5, norm='ortho'", "t, n=2, axis=0", "i8, norm='forward'", "b")
]
TWO_AXES = [
    f"jnp.fft.{name}({call})"
    for name in ("fft2", "ifft2", "rfft2", "irfft2")
    for call in ("t", "t, s=(3, 5), norm='ortho'", "t, axes=(2, 0)", "t, (3, 1), (0, 1), 'forward'")
]
SEVERAL = [
    f"jnp.fft.{name}({call})"
    for name in ("fftn", "ifftn", "rfftn", "irfftn")
    for call in (
        "t",
        "t, s=(2, 5), axes=(1, 0), norm='ortho'",
        "t, axes=()",
        "t[None, :, None], norm='forward'",
        "t[:, None, :, :, None], axes=(4, 0, 3, 2, 1)",
        "s",
    )
]
OTHERS = """
    jnp.fft.fft(h)
    jnp.fft.fft(t, axis=None)
    jnp.fft.fft(empty)
    jnp.fft.fft(empty, axis=0)
    jnp.fft.irfft(empty[:, :1])
    jnp.fft.irfft(v[:1])
    jnp.fft.fftfreq(5), jnp.fft.fftfreq(6, 0.1), jnp.fft.fftfreq(0), jnp.fft.fftfreq(1)
    jnp.fft.rfftfreq(5), jnp.fft.rfftfreq(6, 0.1), jnp.fft.rfftfreq(0), jnp.fft.rfftfreq(4, d=0)
    jnp.fft.fftfreq(5, d=s), jnp.fft.rfftfreq(5, jnp.ones(1), dtype='float16')
    jnp.fft.fftfreq(8, 0.3, dtype=jnp.bfloat16), jnp.fft.fftfreq(5, dtype=complex)
    jax.jit(lambda d: jnp.fft.fftfreq(5, d))(3)
    jnp.fft.fftfreq(5, device=jax.devices()[0])
    jnp.fft.fftshift(t), jnp.fft.ifftshift(t), jnp.fft.fftshift(i, axes=1)
    jnp.fft.fftshift(i8, axes=(0, -1)), jnp.fft.ifftshift(i8, axes=[1]), jnp.fft.fftshift(b, ())
    jnp.fft.fftshift(v, axes=(0, 0)), jnp.fft.fftshift(1.0), jnp.fft.ifftshift(empty)
"""


@pytest.mark.parametrize("calls", [ONE_AXIS, ONE_REAL_AXIS, TWO_AXES, SEVERAL, OTHERS])
def test_values(oracle, calls):
    compare_all(oracle, calls, **CLOSE)


def test_64_bits(oracle):
    calls = """
        jnp.fft.fft(np.arange(4)), jnp.fft.fft(np.arange(4, dtype='int32'))
        jnp.fft.rfft(np.arange(4.0), norm='ortho'), jnp.fft.irfft(np.ones(4, 'int32'))
        jnp.fft.fftfreq(5), jnp.fft.fftfreq(5, d=jnp.ones((), 'float32'))
    """
    compare_all(oracle.using(x64=True), calls, rtol=1e-15, atol=1e-15)


def test_half_precision_is_transformed_in_single(oracle):
    for x in (jnp.arange(6, dtype="float16"), jnp.arange(6, dtype="bfloat16")):
        np.testing.assert_allclose(jnp.fft.rfft(x), np.fft.rfft(np.arange(6.0)), rtol=1e-5)


@pytest.mark.parametrize(
    "norm, shape",
    [("ortho", (3, 5)), ("forward", (2, 3, 2, 3)), ("backward", (2, 1, 2, 3, 2, 2, 3))],
)
def test_inverses(norm, shape):
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    there = jnp.fft.rfftn(x, norm=norm)
    np.testing.assert_allclose(there, np.fft.rfftn(x, norm=norm), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(jnp.fft.irfftn(there, shape, norm=norm), x, atol=1e-5)
    there = jnp.fft.fftn(x, norm=norm)
    np.testing.assert_allclose(there, np.fft.fftn(x, norm=norm), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(jnp.fft.ifftn(there, norm=norm), x, atol=1e-5)


def test_infinity_stays_beside_a_scale():
    x = jnp.array([jnp.inf, 1.0])
    np.testing.assert_array_equal(jnp.fft.fft(x, norm="forward").real, [np.inf, np.inf])
    assert not np.isnan(jnp.fft.fft(x, n=1, norm="ortho").real).any()


# --- transformations -----------------------------------------------------------------------------

REAL = ["rfft", "ihfft", "fft2", "rfftn", "fftshift"]
COMPLEX = ["fft", "irfft", "hfft", "irfftn"]
X = np.random.default_rng(1).normal(size=(3, 2, 4)).astype(np.float32)
CALLS = [(name, X) for name in REAL] + [(name, X * np.complex64(1 + 0.5j)) for name in COMPLEX]


@pytest.mark.parametrize("name, x", CALLS, ids=[f"{name}-{x.dtype}" for name, x in CALLS])
def test_linear(name, x):
    """A transform is its own derivative, and its transpose has the same inner products."""
    function = covector.jit(getattr(jnp.fft, name))
    out, tangent = covector.jvp(function, (x[0],), (x[1],))
    np.testing.assert_allclose(tangent, function(x[1]), rtol=1e-5, atol=1e-5)
    rng = np.random.default_rng(2)
    ct = rng.normal(size=out.shape) + 1j * rng.normal(size=out.shape)
    ct = (ct if jnp.iscomplexobj(out) else ct.real).astype(out.dtype)
    _, pullback = covector.vjp(function, x[0])
    (back,) = pullback(ct)
    assert (back.shape, back.dtype) == (x[0].shape, x.dtype)
    ours, theirs = np.sum(np.asarray(back) * x[1]), np.sum(ct * np.asarray(tangent))
    np.testing.assert_allclose(np.real(ours), np.real(theirs), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["fft", "rfftn"])
@pytest.mark.parametrize("axes", [(0, 0), (1, 2)])
def test_mapped(name, axes):
    function = getattr(jnp.fft, name)
    mapped = covector.vmap(function, *axes)(X)
    each = np.stack([function(x) for x in np.moveaxis(X, axes[0], 0)], axes[1])
    np.testing.assert_allclose(mapped, each, rtol=1e-5, atol=1e-5)


def test_frequencies_have_a_derivative_in_the_distance():
    slope = covector.jacobian(lambda d: jnp.fft.fftfreq(4, d))(0.5)
    np.testing.assert_allclose(slope, -np.fft.fftfreq(4, 0.5) / 0.5)


def test_transforms_without_moves_are_one_equation():
    for call in (jnp.fft.rfft, lambda x: jnp.fft.irfftn(x, axes=(0, 1, 2))):
        assert len(covector.make_jaxpr(call)(X).eqns) <= 2  # a real operand is converted first


# --- errors --------------------------------------------------------------------------------------


def test_errors(oracle):
    compare_errors(
        oracle,
        """
        jnp.fft.fft(1.0)
        jnp.fft.fft([1.0])
        jnp.fft.fft('a')
        jnp.fft.fft(v, n=0)
        jnp.fft.rfft(v, n=-1)
        jnp.fft.fft(v, n=2.0)
        jnp.fft.fft(v, axis=1)
        jnp.fft.fft(f, axis=(0,))
        jnp.fft.fft(v, norm='foo')
        jnp.fft.hfft(v, norm='foo')
        jnp.fft.ihfft(c)
        jnp.fft.rfft(c)
        jnp.fft.rfftn(c)
        jnp.fft.fftn(f, axes=(0, 0))
        jnp.fft.fftn(f, axes=(0, 2))
        jnp.fft.fftn(f, axes=1)
        jnp.fft.fftn(f, s=3)
        jnp.fft.fftn(f, s=(2, 2), axes=(0,))
        jnp.fft.fftn(f, s=(2, -1), axes=(0, 1))
        jnp.fft.fftn(f, s=(2, None), axes=(0, 1))
        jnp.fft.fft2(v)
        jnp.fft.fft2(t, axes=(0,))
        jnp.fft.fft2(t, axes=None)
        jnp.fft.irfft2(t, s=(2,))
        jnp.fft.fftfreq([2])
        jnp.fft.rfftfreq(5, [1])
        jnp.fft.fftfreq(5, d=v)
        jax.jit(jnp.fft.fftfreq)(4)
        jax.jit(jnp.fft.fft)(f, 4)
        jnp.fft.fftshift(f, axes=5)
        jnp.fft.fftshift([1, 2])
        """,
    )


def test_messages_name_the_function_and_the_argument():
    with pytest.raises(ValueError, match=r"ihfft: norm must be .* got 'foo'"):
        jnp.fft.ihfft(X, norm="foo")
    with pytest.raises(ValueError, match=r"rfft2 transforms real numbers, but a has .* complex64"):
        jnp.fft.rfft2(X * np.complex64(1j))

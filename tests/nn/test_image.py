"""Resampling of images against the oracle, its derivatives and errors."""

import covector
import covector.numpy as jnp
import numpy as np
import pytest
from covector import image

from nn.inputs import compare_all, compare_errors, together

ARRAYS = {
    "x": np.random.default_rng(0).normal(size=(4, 6, 2)).astype(np.float32),
    "e": np.eye(5, dtype=np.float32),
    "scale": np.array([0.7, 1.5], np.float32),
    "shift": np.array([2.0, -1.2], np.float32),
}
METHODS = ["linear", "lanczos3", "lanczos5", "cubic", "cubic-pytorch", "area"]
CLOSE = {"rtol": {"float32": 1e-5}, "atol": {"float32": 3e-6, "complex64": 3e-6, "bfloat16": 4e-3}}


def resized(*calls):
    return [f"jax.image.resize({call})" for call in calls]


def moved(*calls):
    return [f"jax.image.scale_and_translate({call})" for call in calls]


def test_resize(oracle):
    calls = resized(*[f"x, (7, 3, 2), '{method}', {aa}" for method in METHODS for aa in (0, 1)])
    calls += resized(*[f"x, {shape}, 'nearest'" for shape in ((8, 3, 2), (7, 4, 2), (3, 5, 1))])
    calls += resized(
        *[f"x[:, :, 0], (8, 3), '{name}'" for name in ("triangle", "tricubic", "bicubic-pytorch")],
        "x, (2, 2, 2), jax.image.ResizeMethod.CUBIC, precision='high'",
        "x.astype('bfloat16'), (2, 8, 2), 'linear'",
        "x.astype('int32'), (2, 8, 2), 'linear'",
        "x.astype('int32'), (3, 8, 2), 'nearest'",
        "x > 0, (4, 6, 2), 'linear'",
        "x > 0, (2, 6, 2), 'nearest'",
        "x + 1j, (2, 8, 2), 'linear'",
        "x, (0, 2, 2), 'linear'",
        "x, (0, 2, 2), 'nearest'",
        "x, np.array([2, 3, 2]), 'area'",
        "1.0, (), 'linear'",
    )
    compare_all(oracle, together("x, e, scale, shift", calls), ARRAYS, **CLOSE)


def test_scale_and_translate(oracle):
    calls = moved(
        *[
            f"e, (8, 6), (0, 1), scale, shift, '{method}', {aa}"
            for method in METHODS
            for aa in (0, 1)
        ],
        "x, (3, 3, 1), (1, -3), scale, shift, 'linear'",
        "x, (3, 9, 2), (1,), scale[:1], shift[:1], 'cubic'",
        "x, (3, 3, 2), (0, 1), jnp.array([1, 1]), jnp.array([1, 0]), 'linear'",
        "x.astype('int32'), (3, 3, 2), (0, 1), scale, shift, 'linear'",
        "x, (4, 6, 2), (), jnp.zeros(0), jnp.zeros(0), 'linear'",
        "x, (3, 6, 2), (0,), jnp.array([-0.5]), jnp.array([3.0]), 'linear'",
    )
    compare_all(oracle, together("x, e, scale, shift", calls), ARRAYS, **CLOSE)


def test_derivatives(oracle):
    calls = [
        f"jax.grad(lambda x: (jax.image.resize(x, (7, 3, 2), '{method}') ** 2).sum())(x)"
        for method in ("cubic", "nearest")
    ]
    for method in ("'cubic'", "'cubic-pytorch', False"):
        call = f"jax.image.scale_and_translate(e[2], (7,), (0,), s, t, {method})"
        calls.append(f"jax.jacobian(lambda s, t: {call}, (0, 1))(scale[:1], shift[:1])")
    compare_all(oracle, together("x, e, scale, shift", calls), ARRAYS, rtol=1e-4, atol=1e-4)


def test_mapped():
    x = ARRAYS["x"]
    mapped = covector.vmap(lambda x: image.resize(x, (8, 3), "linear"), 2, 2)(x)
    np.testing.assert_allclose(mapped, image.resize(x, (8, 3, 2), "linear"), atol=1e-6)


def test_nearest_of_many_pixels_is_exact():
    """Positions are ratios of integers, beyond what single precision tells apart."""
    n, m = 20_000_001, 3
    picked = covector.jit(lambda x: image.resize(x, (m,), "nearest"))(jnp.arange(n))
    np.testing.assert_array_equal(picked, [(2 * i + 1) * n // (2 * m) for i in range(m)])


@pytest.mark.parametrize("name", ["linear", "bilinear", "trilinear", "triangle"])
def test_names(name):
    assert image.ResizeMethod.from_string(name) is image.ResizeMethod.LINEAR


def test_errors(oracle):
    lines = resized(
        "x, (2, 2), 'linear'",
        "x, (2, 2, 2), 'LINEAR'",
        "x, (2.0, 2, 2), 'linear'",
    ) + moved(
        "x, (3, 3), (0, 1), scale, shift, 'linear'",
        "x, (3, 3, 2), (0, 1), scale, shift, 'nearest'",
        "x, (3, 3, 2), (0, 5), scale, shift, 'linear'",
        "x, (3, 3, 2), (0, 1), [0.5, 0.5], [1.0, 0.0], 'linear'",
        "x, (3, 3, 2), (0, 1), scale[0], shift[0], 'linear'",
    )
    compare_errors(oracle, "\n".join(lines + ["jax.image.ResizeMethod.from_string('x')"]), ARRAYS)


def test_errors_that_say_more():
    x = ARRAYS["x"]
    with pytest.raises(ValueError, match="image has no pixels"):
        image.resize(x[:0], (2, 2, 2), "linear")
    with pytest.raises(TypeError, match="image must be an array, but got <class 'list'>"):
        image.resize([[1.0]], (2, 2), "linear")
    with pytest.raises(ValueError, match="scale must have one number for each of the 2 axes"):
        image.scale_and_translate(x, (3, 3, 2), (0, 1), jnp.ones(1), jnp.ones(2), "linear")
    with pytest.raises(TypeError, match="method must be a ResizeMethod or its name, but got 1"):
        image.resize(x, (2, 2, 2), 1)

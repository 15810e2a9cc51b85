"""Faults that were reported of JAX, with the right values; each by the number of its report.

Those of `covector.lax` alone stand beside its tests, those of `scipy` and `nn` in theirs.
"""

import covector
import covector.numpy as jnp
import numpy as np
import pytest

inf, nan = float("inf"), float("nan")


# --- derivatives ----------------------------------------------------------------------------------


def test_5798_and_347_and_1052_the_branch_not_taken():
    slope = covector.grad(lambda x: jnp.where(x < 1, x, jnp.sqrt(x)))
    assert float(slope(0.0)) == float(covector.jit(slope)(0.0)) == 1
    slope = covector.grad(lambda x: jnp.sum(jnp.where(x > 0, jnp.log(x), 0.0)))
    x = np.array([0.0, 2.0])
    for f in (slope, covector.jit(slope), covector.vmap(slope)):
        np.testing.assert_allclose(f(x[None])[0] if f is not slope else f(x), [0, 0.5])


def test_29152_a_nan_stays_in_its_row():
    jacobian = covector.jacobian(lambda a: a * jnp.log(jnp.cos(a)))(np.array([6.0, 7.0, 8.0]))
    expected = [[1.7053925200, 0, 0], [0, -6.3826284346, 0], [0, 0, nan]]
    np.testing.assert_allclose(jacobian, expected, rtol=1e-5)


def test_4900_a_nan_stays_in_its_element():
    y = np.array([1.0, 2.0, nan])
    second = covector.hessian(lambda t: y**t)(1.0)
    np.testing.assert_allclose(second, [0, 0.960906027836, nan], rtol=1e-5)


def test_2311_and_8732_equal_singular_values():
    def f(a):
        u, s, vh = jnp.linalg.svd(a, full_matrices=False)
        return jnp.linalg.norm((u * s) @ vh)

    a = np.diag([1.0, 1.0, 2.0, 3.0]).astype(np.float32)
    np.testing.assert_allclose(covector.grad(f)(a), a / np.sqrt(15.0), atol=1e-6)


def test_669_equal_eigenvalues():
    """No nan. Of a sum like ``(v * exp(w)) @ v.T`` no rule for the factors can know all (see
    docs/differences.md): what the equal values determine together is right.
    """

    def f(a):
        w, v = jnp.linalg.eigh(a)
        return jnp.sum((v * jnp.exp(w)) @ v.T)

    slope = covector.grad(f)(np.eye(3))
    assert np.isfinite(slope).all()
    np.testing.assert_allclose(np.diag(slope), np.e, rtol=1e-6)
    slope = covector.grad(lambda a: jnp.sum(jnp.exp(jnp.linalg.eigh(a)[0])))(np.eye(3))
    np.testing.assert_allclose(slope, np.e * np.eye(3), rtol=1e-6, atol=1e-6)


def test_2748_eigenvectors():
    def f(a):  # does not depend on the phase of the vector
        w, v = jnp.linalg.eig(a)
        return jnp.abs(v[0, jnp.argmin(w.real)]) ** 2

    slope = covector.grad(f)(np.array([[1.0, 2.0], [3.0, 4.0]]))
    expected = [[-0.0757702, 0.0519890], [-0.1104296, 0.0757702]]
    np.testing.assert_allclose(slope, expected, atol=1e-5)


def test_14397_and_18450_powers():
    assert covector.grad(lambda z: jnp.sum(z ** jnp.arange(0, 2)))(1.0) == 1
    for power in (lambda x: x**0, lambda x: jnp.power(x, 0)):
        assert covector.grad(power)(0.0) == covector.jit(covector.grad(power))(0.0) == 0
        assert covector.jvp(power, (0.0,), (1.0,))[1] == 0


def test_the_derivative_of_arctan2_near_the_origin():
    with covector.enable_x64(True):
        np.testing.assert_allclose(covector.grad(jnp.arctan2)(1e-200, 1e-200), 5e199, rtol=1e-12)


def test_the_derivative_of_the_spread_of_equal_numbers():
    """Stated: where the numbers are all equal, the standard deviation has the derivative 0."""
    np.testing.assert_array_equal(covector.grad(jnp.std)(jnp.ones(3)), 0)


# --- values and dtypes ----------------------------------------------------------------------------


def test_26888_corners_of_padding():
    x = np.arange(1, 10).reshape(3, 3)
    out = jnp.pad(x, 3, constant_values=(1, 2))
    np.testing.assert_array_equal(out, np.pad(x, 3, constant_values=(1, 2)))


def test_22501_indices_of_64_bits():
    with covector.enable_x64(True):
        assert jnp.indices((4,)).dtype == np.int64
        assert int(2 ** jnp.indices((40,))[0, 35]) == 2**35


def test_15275_and_3840_integers_are_not_cut_in_silence():
    big = np.array([2**32 + 5])
    for call in (covector.jit(lambda x: x + 0), jnp.asarray, lambda x: jnp.ones(1, int) + x):
        with pytest.raises(OverflowError):
            call(big)


def test_zeros_and_infinities():
    assert jnp.interp(0.5, np.array([0.0, 1.0]), np.array([-inf, 1.0])) == -inf
    assert not jnp.signbit(jnp.mod(-0.0, 1.0))
    assert not jnp.signbit(covector.jit(lambda x: x % 1.0)(-0.0))
    assert jnp.floor_divide(1, 0) == 0 and (jnp.array([-3, 0, 3]) // 0).tolist() == [0, 0, 0]
    assert (jnp.array([5], "uint8") // jnp.array([0], "uint8")).tolist() == [0]
    assert [int(v) for v in divmod(jnp.array(7), 0)] == [0, 0]


def test_counts_are_integers():
    counts, _ = jnp.histogram(jnp.array([1]), bins=1)
    assert jnp.issubdtype(counts.dtype, jnp.integer) and counts.tolist() == [1]


# --- indexing -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda: jnp.arange(3)[5],
        lambda: jnp.ones((10, 10))[10, :],
        lambda: jnp.take(jnp.arange(5), 10),
        lambda: jnp.arange(10)[np.array([13])],
        lambda: covector.jit(lambda x: x[5])(np.arange(3)),
        lambda: covector.jit(lambda x: x[np.array([0, 13])])(np.arange(3)),
    ],
)
def test_278_and_4383_and_11277_and_3774_known_indices_out_of_bounds(call):
    with pytest.raises(IndexError):
        call()


def test_21994_and_4418_updates_by_a_mask_under_jit():
    x = np.arange(16).reshape(4, 4)
    out = covector.jit(lambda x: x.at[:4, jnp.mod(x[0], 2) == 0].set(0))(x)
    np.testing.assert_array_equal(out, np.where(np.arange(4) % 2 == 0, 0, x))
    out = covector.jit(lambda x: x.at[x < 5].set(0))(jnp.arange(10))
    assert out.tolist() == [0, 0, 0, 0, 0, 5, 6, 7, 8, 9]

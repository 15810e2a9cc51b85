"""Making arrays against the oracle: values, dtypes, weak types, errors."""

import covector
import covector.numpy as jnp
import numpy as np
import pytest

from numpy_api.compare import compare_all, compare_errors


def test_array(oracle):
    compare_all(
        oracle,
        """
            jnp.array(1.0)
            jnp.array(1)
            jnp.array(True)
            jnp.array(1j)
            jnp.array([1, 2])
            jnp.array([1, 2.5])
            jnp.array([[1, 2], [3, 4]], dtype=float)
            jnp.array([])
            jnp.array((1, (2,)[0]))
            jnp.array([s, 2])
            jnp.array([f, f])
            jnp.array([[s, 1], [2, s]])
            jnp.array(np.float64(1.5))
            jnp.array(np.arange(3))
            jnp.array(f)
            jnp.array(1.0, ndmin=2)
            jnp.array(f, dtype=jnp.int32)
            jnp.array([True, 2])
            jnp.array(range(3))
            jnp.array([np.float16(1), np.float16(2)])
            jnp.array(jnp.asarray(1.0))
            jnp.array(1, jnp.int8)
            jnp.asarray([1.5, 2], jnp.bfloat16)
            jnp.asarray(i8)
            jnp.array(bytearray(b'ab'))
            jnp.array([[], []])
            jnp.array(jnp.int8(3))
            jnp.float32(1.5)
            jnp.int8([1, 2])
            jnp.bool_(3)
            jnp.complex64(1 + 2j)
            """,
    )


def test_filled(oracle):
    compare_all(
        oracle,
        """
            jnp.zeros(3)
            jnp.zeros((2, 0))
            jnp.zeros([2, 1], int)
            jnp.ones((), bool)
            jnp.full(2, 1)
            jnp.full((2,), 1.5)
            jnp.full((2, 3), v)
            jnp.full((2,), 7, jnp.int8)
            jnp.full((2,), s)
            jnp.zeros_like(i)
            jnp.ones_like(f, dtype=int)
            jnp.zeros_like(1.0)
            jnp.full_like(f, 2)
            jnp.full_like(i, 2.7)
            jnp.full_like(f, v)
            jnp.zeros_like(f, shape=(4,))
            jnp.empty((2,)).shape
            jnp.empty_like(f).dtype
            jnp.zeros(np.int32(2))
            jnp.ones_like(3)
            jnp.full((300, 300), 2.0)[0, :2]
            jax.jit(lambda: jnp.ones((2, 3)))()
            """,
    )


def test_ranges(oracle):
    compare_all(
        oracle,
        """
            jnp.arange(3)
            jnp.arange(3.0)
            jnp.arange(1, 7, 2)
            jnp.arange(0.0, 1.0, 0.1)
            jnp.arange(5, 0, -2)
            jnp.arange(3, dtype=float)
            jnp.arange(np.int8(3))
            jnp.arange(1, 3, 0.5)
            jnp.arange(jnp.array(3))
            jnp.arange(0)
            jnp.arange(5, 2)
            jnp.arange(-2, 2)
            jax.jit(lambda: jnp.arange(2, 9, 3))()
            jax.jit(lambda: jnp.arange(3.0))()
            jnp.arange(2, step=1)
            """,
    )
    compare_all(
        oracle,
        """
            jnp.linspace(0, 1, 5)
            jnp.linspace(-3.0, 3.0, 11)
            jnp.linspace(0, 10, 5, dtype=int)
            jnp.linspace(0, 1, 5, endpoint=False)
            jnp.linspace(0, 1, 5, retstep=True)
            jnp.linspace(v, 1, 4)
            jnp.linspace(v, 1, 4, axis=1)
            jnp.linspace(0, 1, 1)
            jnp.linspace(0, 1, 0)
            jnp.linspace(1j, 1, 3)
            jnp.logspace(0, 2, 3)
            jnp.logspace(0, 2, 4, base=2)
            jnp.geomspace(1, 16, 5)
            jnp.geomspace(-1.0, -8.0, 4)
            jnp.linspace(0, 1, 3, dtype=jnp.bfloat16)
            """,
        rtol={"float32": 1e-5, "complex64": 1e-5},
        atol=1e-6,
    )


def test_matrices(oracle):
    compare_all(
        oracle,
        """
            jnp.eye(3)
            jnp.eye(2, 3, 1)
            jnp.eye(3, k=-1, dtype=int)
            jnp.identity(2)
            jnp.tri(3)
            jnp.tri(2, 4, 1)
            jnp.tril(t)
            jnp.triu(w, 1)
            jnp.tril(w, -1)
            jnp.diag(v)
            jnp.diag(v, 1)
            jnp.diag(v, -2)
            jnp.diag(w)
            jnp.diag(w, 2)
            jnp.diag(w, -1)
            jnp.diag(w, 9)
            jnp.diagonal(t)
            jnp.diagonal(t, 1, 1, 2)
            jnp.diagonal(t, -1, 2, 0)
            jnp.diagflat(f)
            jnp.trace(w)
            t.trace(1, 0, 2)
            jnp.meshgrid(v, i8[0])
            jnp.meshgrid(v, v, sparse=True)
            jnp.meshgrid(v, f[0], indexing='ij')
            jnp.meshgrid(v)
            jnp.indices((2, 3))
            jnp.indices((2, 3), sparse=True)
            jnp.ix_(v, f[0])
            jnp.tril_indices(3)
            jnp.triu_indices(3, 1)
            jnp.diag_indices(3)
            jnp.vander(v)
            jnp.vander(i[0], 4, increasing=True)
            jax.jit(lambda: jnp.eye(2))()
            f.diagonal()
            jnp.tril_indices_from(f)
            """,
        rtol={"float32": 1e-5},
    )


def test_conversion(oracle):
    compare_all(
        oracle,
        """
            f.astype(jnp.int32)
            i.astype(float)
            f.astype(bool)
            jnp.astype(i, jnp.int8)
            u8.astype('float32')
            h.astype(jnp.float32)
            b.astype(int)
            jnp.asarray(1.0).astype(jnp.float32)
            f.astype(jnp.complex64)
            c.astype(bool)
            jnp.copy(f)
            f.copy()
            f.view(jnp.int32)
            i8.view(jnp.uint8)
            t.view(jnp.int8).shape
            """,
    )


def test_dtype_questions(oracle):
    compare_all(
        oracle,
        """
            jnp.result_type(i, 1.5)
            jnp.promote_types('int8', 'uint8')
            jnp.issubdtype(h.dtype, jnp.floating)
            jnp.finfo(jnp.float32).eps == np.finfo(np.float32).eps
            jnp.iinfo(jnp.int8).max
            jnp.float32 == f.dtype
            f.dtype == jnp.float32
            jnp.isdtype(f.dtype, 'real floating')
            jnp.isdtype(i.dtype, ('bool', 'integral'))
            np.dtype(jnp.bfloat16) == h.dtype
            hash(jnp.int8) == hash(np.int8)
            jnp.can_cast('int32', 'float64')
            """,
    )


def test_errors(oracle):
    compare_errors(
        oracle,
        """
            jnp.array([[1, 2], [3]])
            jnp.array('a')
            jnp.array(None)
            jnp.array(['a'])
            jnp.array(2**40)
            jnp.array([2**40])
            jnp.zeros(2.0)
            jnp.zeros(-1)
            jnp.zeros_like([1, 2])
            jnp.array([f, v])
            jnp.full((2,), [1, 2])
            jnp.linspace(0, 1, -1)
            jnp.zeros(3, dtype='S1')
            jnp.eye(-1)
            jax.jit(jnp.arange)(3)
            jax.jit(jnp.zeros)(3)
            jnp.diag(t)
            jnp.tril(v)
            jnp.meshgrid(f)
                jnp.array([None])
            jnp.arange(f)
            """,
    )


def test_integers_beyond_32_bits_are_refused():
    with pytest.raises(OverflowError, match="does not fit int32"):
        jnp.asarray(np.array([2**32 + 5]))


def test_sequences_of_traced_values_are_stacked():
    result = covector.jit(lambda x: jnp.array([x, 2 * x, 3]))(1.5)
    np.testing.assert_array_equal(result, [1.5, 3.0, 3.0])


def test_a_copy_is_another_buffer():
    x = jnp.arange(3.0)
    y = jnp.array(x)
    assert x.unsafe_buffer_pointer() != y.unsafe_buffer_pointer()


def test_complex_values_lose_their_imaginary_part_with_a_warning():
    with pytest.warns(np.exceptions.ComplexWarning):
        assert float(jnp.array(1 + 2j).astype(jnp.float32)) == 1.0


def test_device_argument():
    device = covector.devices()[-1]
    for x in (
        jnp.zeros(3, device=device),
        jnp.array([1, 2], device=device),
        jnp.eye(2, device=device),
    ):
        assert x.devices() == {device} and x.committed

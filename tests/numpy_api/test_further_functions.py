"""Vectorized functions, index tricks, edited arrays, files, polynomials, windows, bits."""

import io

import covector
import covector.numpy as jnp
import numpy as np
import pytest

from numpy_api.compare import compare_all, compare_errors


def test_functions_of_functions(oracle):
    compare_all(
        oracle,
        """
        jnp.vectorize(lambda x, y: x * y + 1)(f, v)
        jnp.vectorize(lambda x, y: x * y + 1)(f, 2)
        jnp.vectorize(lambda x: (x, 2 * x))(f[None])
        jnp.vectorize(jnp.dot, signature='(n),(n)->()')(f, v)
        jnp.vectorize(jnp.matmul, signature='(n,m),(m,k)->(n,k)')(t[None].mT, t[:, None])
        jnp.vectorize(lambda x: jnp.outer(x, x), signature='(n)->(n,n)')(f)
        jnp.vectorize(lambda x, n: x[:n].sum(), signature='(n)->()', excluded={1})(t, 2)
        jnp.apply_along_axis(jnp.sort, 0, f)
        jnp.apply_along_axis(lambda x: jnp.outer(x, x), 1, t)
        jnp.apply_along_axis(jnp.sum, -1, t)
        jnp.apply_over_axes(jnp.sum, t, (0, 2))
        jnp.frompyfunc(lambda x, y: x * y + 1, 2, 1)(f, v)
        jnp.frompyfunc(lambda x, y: x * y, 2, 1, identity=1).reduce(f)
        jnp.frompyfunc(lambda x, y: x - y, 2, 1).accumulate(f, axis=1)
        """,
        rtol=1e-5,
    )


def test_index_tricks(oracle):
    compare_all(
        oracle,
        """
        jnp.mgrid[0:3]
        jnp.mgrid[0:2, 1:4]
        jnp.mgrid[0:1:3j, 0:2]
        jnp.ogrid[0:2, 0:3]
        jnp.s_[1:]
        jnp.index_exp[1:]
        jnp.r_[1:4, 9, v]
        jnp.r_['0,2', v, v]
        jnp.r_['-1', f, g]
        jnp.r_['0,2,0', v, v]
        jnp.c_[v, v]
        jnp.c_[f, g]
        jnp.r_[0:1:5j]
        jnp.unravel_index(jnp.array([1, 5, -1, 9]), (2, 3))
        jnp.unravel_index(4, (2, 3))
        jnp.ravel_multi_index((jnp.array([0, 1]), jnp.array([1, 2])), (2, 3))
        jnp.ravel_multi_index((jnp.array([0, 4]), jnp.array([1, 2])), (2, 3), mode='clip')
        jnp.ravel_multi_index((jnp.array([0, -4]), jnp.array([1, 2])), (2, 3), mode='wrap')
        jnp.ravel_multi_index((jnp.array([0, 1]), jnp.array([1, 2])), (2, 3), order='F')
        """,
        check_weak_type=False,
    )


def test_edited_arrays(oracle):
    compare_all(
        oracle,
        """
        jnp.delete(v, 1)
        jnp.delete(f, 0, axis=0)
        jnp.delete(f, jnp.array([0, 2]), axis=1)
        jnp.delete(f, slice(None, None, 2), axis=1)
        jnp.delete(v, jnp.array([True, False, True]))
        jnp.delete(f, -1)
        jnp.delete(v, jnp.array([0, 0]))
        jax.jit(lambda x, k: jnp.delete(x, k, assume_unique_indices=True))(v, jnp.array([0, 2]))
        jnp.insert(v, 1, 5)
        jnp.insert(v, jnp.array([0, 2]), jnp.array([7.0, 8.0]))
        jnp.insert(f, 1, jnp.array([7.0, 8.0]), axis=1)
        jnp.insert(f, jnp.array([0, 0]), 9.0, axis=0)
        jnp.insert(f, 0, v, axis=0)
        jnp.insert(v, jnp.array([2, 0]), jnp.array([7.0, 8.0]))
        jnp.insert(f, jnp.array([1]), g, axis=0)
        jnp.insert(v, slice(0, 2), 9)
        jnp.insert(f, -1, 5)
        jnp.resize(v, (2, 4))
        jnp.resize(f, 4)
        jnp.resize(f, (0, 2))
        jnp.fill_diagonal(w, 5.0, inplace=False)
        jnp.fill_diagonal(w, jnp.array([1.0, 2.0]), inplace=False)
        jnp.place(f, b, jnp.array([7.0, 8.0]), inplace=False)
        jnp.trim_zeros(jnp.array([0, 0, 1, 0, 2, 0]))
        jnp.trim_zeros(jnp.array([0, 0, 1, 0, 2, 0]), 'f')
        jnp.trim_zeros(jnp.zeros(3))
        jnp.mask_indices(3, jnp.tril)
        """,
    )


def test_polynomials_windows_and_bits(oracle):
    compare_all(
        oracle,
        """
        jnp.polyval(v, f)
        jnp.polyval(i[0], 3)
        jnp.polyval(w, 2.0)
        jnp.polyadd(v, i[0, :2])
        jnp.polysub(i[0, :2], v)
        jnp.polymul(v, f[0])
        jnp.polymul(i[0], i[1])
        jnp.polyder(v)
        jnp.polyder(v, 2)
        jnp.polyint(v)
        jnp.polyint(v, 2, k=jnp.array([1.0, 2.0]))
        jnp.poly(v)
        jnp.poly(i[0])
        jnp.polydiv(f.ravel(), v)
        jnp.polydiv(v, f.ravel())
        jnp.sort_complex(jnp.roots(jnp.array([0.0, 1.0, -3.0, 2.0, 0.0])))
        jnp.roots(jnp.array([1.0, -3.0, 2.0]), strip_zeros=False)
        jnp.roots(jnp.zeros(3))
        jnp.i0(f)
        jnp.bartlett(5)
        jnp.blackman(5)
        jnp.hamming(5)
        jnp.hanning(1)
        jnp.kaiser(5, 2.0)
        jnp.packbits(b)
        jnp.packbits(b, axis=1, bitorder='little')
        jnp.packbits(jnp.arange(11) % 3)
        jnp.unpackbits(u8)
        jnp.unpackbits(u8, axis=0, bitorder='little')
        jnp.unpackbits(u8, count=5)
        jnp.unpackbits(u8, axis=1, count=-3)
        jnp.spacing(f)
        """,
        rtol=1e-5,
        atol=1e-5,
        check_weak_type=False,
    )


def test_polyfit_is_numpys():
    rng = np.random.default_rng(0)
    x, y, w = rng.normal(size=(3, 9))
    with covector.enable_x64(True):
        for options in ({}, {"w": w}, {"full": True}, {"cov": True}, {"cov": "unscaled"}):
            actual, expected = jnp.polyfit(x, y, 2, **options), np.polyfit(x, y, 2, **options)
            pairs = zip(actual, expected) if isinstance(expected, tuple) else [(actual, expected)]
            for a, e in pairs:
                np.testing.assert_allclose(a, e, rtol=1e-8)


def test_buffers_text_and_functions(oracle):
    compare_all(
        oracle,
        """
        jnp.frombuffer(b'ab', dtype=jnp.uint8)
        jnp.fromstring('1 2 3', dtype=int, sep=' ')
        jnp.fromfunction(lambda i, j: 10 * i + j, (2, 3), dtype=int)
        jnp.isscalar(3.0), jnp.isscalar(s), jnp.isscalar(v), jnp.iterable(v), jnp.iterable(s)
        jnp.iscomplexobj(c), jnp.isrealobj(f), jnp.iscomplexobj([1j])
        jnp.array_str(i)
        """,
    )


def test_what_the_oracle_does_not_do():
    scaled = jnp.vectorize(lambda x, scale=1.0: x * scale)(jnp.arange(3.0), scale=3.0)
    np.testing.assert_array_equal(scaled, [0, 3, 6])
    left = covector.jit(lambda x, k: jnp.delete(x, k))(np.arange(3), 1)
    np.testing.assert_array_equal(left, [0, 2])
    made = jnp.fromfunction(lambda i, *, scale: i * scale, (3,), scale=2.0)
    np.testing.assert_array_equal(made, [0, 2, 4])


def test_what_leaves_a_numpy_array_as_it_is_gives_an_array():
    x = np.eye(2, dtype=np.float32)
    for result in (
        jnp.rot90(x, 4),
        jnp.linalg.matrix_power(x, 1),
        jnp.apply_over_axes(jnp.sum, x, ()),
    ):
        assert isinstance(result, jnp.ndarray)
        np.testing.assert_array_equal(result, x)


def test_files():
    file = io.BytesIO()
    jnp.savez(file, jnp.arange(3), x=jnp.ones(2))
    file.seek(0)
    found = jnp.load(file)
    np.testing.assert_array_equal(found["arr_0"], [0, 1, 2])
    np.testing.assert_array_equal(found["x"], [1, 1])


def test_dlpack():
    x = jnp.arange(3.0)
    np.testing.assert_array_equal(jnp.from_dlpack(x), x)
    np.testing.assert_array_equal(np.from_dlpack(x), x)


def test_errors(oracle):
    compare_errors(
        oracle,
        """
        jnp.vectorize(jnp.dot, signature='(n),(n)')(v, v)
        jnp.vectorize(jnp.dot, signature='(n),(n)->()')(v)
        jnp.vectorize(jnp.dot, signature='(n),(n)->()')(v, w)
        jnp.vectorize(jnp.sin, signature='(n)->()')(v)
        jnp.vectorize(jnp.sin, excluded={-1})
        jnp.ravel_multi_index((jnp.array([0, 4]), jnp.array([1, 2])), (2, 3))
        jnp.fill_diagonal(f, 1.0)
        jnp.place(f, b, v)
        jnp.delete([1, 2], 0)
        jnp.fromfile('data')
        jnp.fromiter(iter([1]), int)
        jnp.packbits(f)
        jnp.unpackbits(i)
        jnp.packbits(b, bitorder='foo')
        jnp.resize(f, (-1,))
        jnp.polyfit(v, f[0, :2], 1)
        jnp.polyfit(v, v, -1)
        jax.jit(jnp.roots)(v)
        jnp.polyder(v, -1)
        jax.jit(jnp.trim_zeros)(v)
        """,
    )


def test_methods_that_numpys_arrays_have():
    x = jnp.array([[1, 2], [3, 4]], jnp.int16)
    assert x.tobytes() == np.asarray(x).tobytes()
    np.testing.assert_array_equal(x.byteswap(), np.asarray(x).byteswap())
    assert x.to_device(covector.devices()[0]).devices() == {covector.devices()[0]}
    with pytest.raises(NotImplementedError, match="ravel"):
        _ = x.flat

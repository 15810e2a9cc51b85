"""Rows of `covector.numpy.linalg` and `covector.numpy.fft`. See `function_rows.py`."""

from __future__ import annotations

from numpy_api.function_rows import rows

# Of decompositions, what no choice of signs or of order changes.
rows(
    "linear algebra",
    """
    linalg.cholesky(d)
    linalg.det(a)
    linalg.inv(a)
    linalg.slogdet(a)
    linalg.solve(a, v)
    linalg.solve(a, b)
    linalg.eigvalsh(d)
    linalg.svdvals(l)
    linalg.pinv(l)
    linalg.matrix_power(a, 3)
    linalg.matrix_power(a, -2)
    linalg.norm(x)
    linalg.norm(l, ord='nuc')
    linalg.norm(x, ord=1, axis=1)
    linalg.matrix_norm(x, ord=2)
    linalg.vector_norm(x, axis=0, ord=3)
    linalg.cond(a)
    linalg.tensorsolve(a, v)
    linalg.tensorinv(a, ind=1) == jnp.linalg.inv(a)
    """,
    derivative=True,
    dtypes=False,
    rtol=1e-11,
)
rows(
    "linear algebra",
    """
    linalg.eigvals(a) == np.sort(np.linalg.eigvals(a)) + 0j
    linalg.lstsq(l, l[:, 0])
    linalg.matrix_rank(l)
    """,
    dtypes=False,
    rtol=1e-10,
)
rows(
    "linear algebra",
    """
    linalg.eigh(d)[0]
    linalg.qr(a)[1] ** 2
    linalg.svd(a)[1]
    """,
    derivative=True,
    dtypes=False,
    rtol=1e-11,
)
rows("linear algebra", "linalg.eig(a)", derivative=False, dtypes=False, numpy=False)
rows(
    "linear algebra",
    """
    linalg.cross(x, y)
    linalg.diagonal(a, offset=1)
    linalg.matmul(x, a)
    linalg.matrix_transpose(x)
    linalg.multi_dot([x, a, v])
    linalg.outer(v, w)
    linalg.tensordot(x, a, axes=1)
    linalg.trace(a, offset=-1)
    linalg.vecdot(x, y)
    """,
    derivative=True,
)
rows(
    "transforms",
    """
    fft.fft(e)
    fft.fft(x, 4, norm='ortho')
    fft.ifft(x, axis=0)
    fft.fft2(x)
    fft.ifft2(x, norm='forward')
    fft.fftn(t, axes=(0, 2))
    fft.ifftn(t)
    fft.rfft(e)
    fft.irfft(c)
    fft.irfft(c, 5, norm='ortho')
    fft.rfft2(x)
    fft.irfft2(c)
    fft.rfftn(t)
    fft.irfftn(c, (2, 3))
    fft.hfft(c)
    fft.ihfft(e)
    fft.fftshift(x, axes=1)
    fft.ifftshift(e)
    """,
    derivative=True,
    dtypes=False,
)
rows("transforms", "fft.fftfreq(5, d=0.5)\nfft.rfftfreq(6)")

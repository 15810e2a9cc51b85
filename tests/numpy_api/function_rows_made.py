"""Rows of functions that make arrays, or whose results' sizes depend on values."""

from __future__ import annotations

from numpy_api.function_rows import rows

# --- data-dependent shapes ------------------------------------------------------------------------

rows(
    "given sizes",
    """
    nonzero(m, size=5, fill_value=-1)
    flatnonzero(m, size=5)
    argwhere(m, size=5)
    unique(k, size=4)
    unique_values(k, size=4)
    unique_counts(k, size=4)
    unique_inverse(k, size=5)
    unique_all(k, size=5)
    union1d(k, h, size=5)
    intersect1d(k, h, size=5)
    setdiff1d(k, h, size=5)
    setxor1d(k, h, size=5)
    extract(m, x, size=3)
    compress(m[0], x, axis=1, size=3)
    """,
    numpy=False,
    dtypes=False,
    pairs=False,
)
rows(
    "sizes from values",
    """
    nonzero(k - 3)
    flatnonzero(m)
    argwhere(m)
    unique(k)
    unique(x)
    unique_values(k) == np.unique(k)
    unique_counts(k)
    unique_inverse(k)
    unique_all(k)
    union1d(k, h)
    intersect1d(k, h)
    setdiff1d(k, h)
    setxor1d(k, h)
    extract(m, x)
    compress(m[0], x, axis=1)
    trim_zeros(v)
    bincount(i)
    """,
    staged=False,
    dtypes=False,
    pairs=False,
)

# --- creation -------------------------------------------------------------------------------------

rows(
    "creation",
    """
    zeros_like(x)
    ones_like(x)
    full_like(x, 2)
    full((2, 3), s)
    linspace(s, 3, 4)
    linspace(v, w, 3, endpoint=False)
    logspace(v, w, 3)
    geomspace(p, r, 3)
    ix_(i, i)
    diag_indices_from(a)
    tril_indices_from(a)
    triu_indices_from(a, 1)
    unravel_index(i, (2, 2))
    ravel_multi_index((i % 2, i), (2, 3), mode='clip')
    """,
    rtol=1e-12,
)
rows("creation", "empty_like(x) == jnp.zeros_like(x)")
rows(
    "creation",
    """
    arange(5)
    arange(1, 3, 0.5)
    zeros((2, 3))
    ones(3)
    empty((2,)) == jnp.zeros((2,))
    eye(3, 4, 1)
    identity(3)
    tri(3, 4, -1)
    indices((2, 3))
    diag_indices(3)
    tril_indices(3)
    triu_indices(3, 1)
    bartlett(5)
    blackman(5)
    hamming(5)
    hanning(5)
    kaiser(5, 2.0)
    fromfunction(lambda i, j: i + j, (2, 3))
    """,
    rtol=1e-12,
)

rows("creation", "mask_indices(3, jnp.tril)", staged=False)

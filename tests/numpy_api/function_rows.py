"""A row for each public function of `covector.numpy`: calls, by what holds for them.

A line is a call, without its module; letters are operands (see `OPERANDS`). After ``==`` stands
the same for NumPy, where that says it otherwise. A function may have several lines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

SEED = np.random.default_rng(3)
A = np.array([[2.0, 0.3, -0.5], [0.7, 1.5, 0.4], [-0.2, 0.6, 3.0]])

# Operands, in double precision. The real ones lie apart from each other, from integers and from the
# points where functions have corners, so that neither rounding nor a difference moves one across.
OPERANDS: dict[str, np.ndarray] = {
    "x": np.array([[-1.71, -0.62, 0.33], [0.94, 1.43, 2.26]]),
    "y": np.array([[2.57, 0.45, -1.32], [1.81, -0.74, 0.52]]),
    "z": np.array([[0.23, -1.17, 0.87], [-0.36, 2.04, 1.12]]),
    "s": np.array(0.71),
    "v": np.array([0.37, -1.28, 2.15]),
    "w": np.array([1.64, 0.58, -0.43]),
    "p": np.array([[0.35, 0.72, 1.15], [1.62, 2.31, 3.14]]),
    "r": np.array([[1.21, 0.44, 2.52], [0.83, 1.37, 0.66]]),
    "u": np.array([[-0.83, -0.31, 0.12], [0.44, 0.63, 0.91]]),
    "g": np.array([[1.35, 1.72, 2.15], [2.62, 3.31, 4.14]]),
    "e": np.array([-1.9, -0.8, 0.15, 0.85, 2.4]),
    "a": A,
    "b": A[::-1] + np.diag([0.5, -1.0, 0.25]),
    "d": A @ A.T + np.eye(3),
    "l": SEED.standard_normal((4, 3)),
    "t": SEED.standard_normal((2, 3, 4)),
    "c": np.array([[-1.71 + 0.4j, -0.62j, 0.33], [0.94 - 2j, 1.43j + 1, 2.26]]),
    "n": np.array([[-1.71, np.nan, 0.33], [0.94, 1.43, np.nan]]),
    "k": np.array([[3, 14, 5], [-2, 6, 3]], np.int32),
    "h": np.array([[1, 2, 0], [3, 1, 2]], np.int32),
    "i": np.array([2, 0, 1, 2], np.int32),
    "j": np.array([[1, 0, 2], [2, 1, 0]], np.int32),
    "m": np.array([[True, False, True], [False, True, True]]),
    "o": np.array([7, 130, 255], np.uint8),
}
REAL = frozenset("xyzsvwpruegabdltn")


@dataclass(frozen=True)
class Row:
    """A call, and what holds for it."""

    call: str
    numpy: str  # what NumPy is asked for the values; empty where JAX is
    operands: str  # the letters of its operands, in their order
    derivative: bool  # it is differentiable in its real and complex operands
    staged: bool  # works under jit and vmap: shapes do not depend on values
    batched: bool
    dtypes: bool  # its values are compared in each dtype, not just in double precision
    pairs: bool  # its dtypes are compared for each pair of dtypes of its operands
    rtol: float  # of values in double precision; roundings of the others are in their own eps

    @property
    def function(self) -> str:
        return self.call.partition("(")[0]


ROWS: dict[str, list[Row]] = {}


def rows(
    topic: str,
    lines: str,
    *,
    module: str = "jnp",
    numpy: bool = True,
    derivative: bool = False,
    staged: bool = True,
    batched: bool = True,
    dtypes: bool = True,
    pairs: bool = True,
    rtol: float = 1e-13,
) -> None:
    """Rows of a topic, one a line."""
    for line in filter(None, map(str.strip, lines.splitlines())):
        call, _, expected = line.partition(" == ")
        call = f"{module}.{call}"
        found = ROWS.setdefault(topic, [])
        found.append(
            Row(
                call,
                expected or (call if numpy else ""),
                letters(call),
                derivative,
                staged,
                batched and staged,
                dtypes,
                pairs,
                rtol,
            )
        )


def letters(call: str) -> str:
    """The operands that a call names."""
    code = compile(call, "row", "eval")
    return "".join([name for name in code.co_names if name in OPERANDS] or names_inside(code))


def names_inside(code: Any) -> list[str]:
    inner = [c for c in code.co_consts if hasattr(c, "co_names")]
    return [name for c in inner for name in c.co_names if name in OPERANDS]


# --- elementwise ----------------------------------------------------------------------------------

rows(
    "smooth functions",
    """
    sin(x)
    cos(x)
    tan(x)
    sinh(x)
    cosh(x)
    tanh(x)
    arcsin(u)
    asin(u) == jnp.arcsin(u)
    arccos(u)
    acos(u) == jnp.arccos(u)
    arctan(x)
    atan(x) == jnp.arctan(x)
    arcsinh(x)
    asinh(x) == jnp.arcsinh(x)
    arccosh(g)
    acosh(g) == jnp.arccosh(g)
    arctanh(u)
    atanh(u) == jnp.arctanh(u)
    exp(x)
    exp2(x)
    expm1(x)
    log(p)
    log1p(p)
    log2(p)
    log10(p)
    sqrt(p)
    cbrt(x)
    square(x)
    reciprocal(p)
    negative(x)
    positive(x)
    sinc(x)
    deg2rad(x)
    rad2deg(x)
    degrees(x)
    radians(x)
    i0(v)
    """,
    derivative=True,
)
rows(
    "corners and steps",
    """
    abs(x)
    absolute(x)
    fabs(x)
    real(c)
    imag(c)
    conj(c)
    conjugate(c)
    angle(x)
    nan_to_num(x)
    clip(x, -0.9, y)
    clip(x, 0.1) == np.clip(x, 0.1, None)
    """,
    derivative=True,
)
rows(
    "without derivative",
    """
    sign(x)
    floor(x)
    ceil(x)
    trunc(x)
    rint(x)
    round(x, 1)
    around(x)
    signbit(x)
    isfinite(x)
    isinf(x)
    isnan(n)
    isneginf(n)
    isposinf(n)
    iscomplex(c)
    isreal(c)
    logical_not(x)
    """,
)
rows("without derivative", "spacing(p)", dtypes=False)
rows(
    "of two operands",
    """
    add(x, y)
    subtract(x, y)
    multiply(x, y)
    divide(x, y)
    true_divide(x, y)
    power(p, y)
    pow(p, y) == jnp.power(p, y)
    float_power(p, y)
    arctan2(x, y)
    atan2(x, y) == jnp.arctan2(x, y)
    hypot(x, y)
    logaddexp(x, y)
    logaddexp2(x, y)
    maximum(x, y)
    minimum(x, y)
    fmax(x, y)
    fmin(x, y)
    """,
    derivative=True,
)
rows(
    "of two operands, stepwise",
    """
    floor_divide(x, y)
    mod(x, y)
    remainder(x, y)
    fmod(x, y)
    copysign(x, y)
    heaviside(x, y)
    divmod(x, y)
    modf(x)
    frexp(x)
    nextafter(p, r)
    """,
)
rows(
    "comparisons",
    """
    equal(x, y)
    not_equal(x, y)
    less(x, y)
    less_equal(x, y)
    greater(x, y)
    greater_equal(x, y)
    logical_and(x, y)
    logical_or(x, y)
    logical_xor(x, y)
    isclose(x, y)
    allclose(x, y)
    array_equal(x, y)
    array_equiv(x, y)
    """,
)
rows(
    "integers",
    """
    bitwise_and(k, h)
    bitwise_or(k, h)
    bitwise_xor(k, h)
    bitwise_not(k) == jnp.invert(k)
    bitwise_invert(k) == jnp.invert(k)
    invert(k)
    bitwise_count(k)
    left_shift(k, h)
    right_shift(k, h)
    bitwise_left_shift(k, h) == jnp.left_shift(k, h)
    bitwise_right_shift(k, h) == jnp.right_shift(k, h)
    gcd(k, h)
    lcm(k, h)
    packbits(m)
    packbits(m, axis=1, bitorder='little')
    unpackbits(o)
    unpackbits(o, axis=0, count=11)
    """,
)
rows("integers", "ldexp(x, h)", pairs=False)

# --- reductions and statistics --------------------------------------------------------------------

rows(
    "reductions",
    """
    sum(x, axis=0)
    sum(x, axis=(0, -1), keepdims=True, initial=2, where=m)
    prod(x, axis=1)
    prod(p, where=m, initial=2)
    max(x, axis=0)
    max(x, axis=1, initial=0, where=m)
    min(x, axis=-1, keepdims=True)
    amax(x)
    amin(x)
    ptp(x, axis=0)
    mean(x, axis=(0, 1))
    mean(x, axis=1, where=m)
    std(x, axis=0, ddof=1)
    var(x, axis=1, keepdims=True)
    nansum(x, axis=0)
    nanprod(x, axis=0)
    nanmax(x, axis=0)
    nanmin(x, axis=1)
    nanmean(x)
    nanvar(x, axis=1)
    nanstd(x, axis=0)
    average(x, axis=0)
    average(x, axis=1, weights=p)
    median(x, axis=0)
    nanmedian(x, axis=1)
    quantile(x, 0.3, axis=1)
    percentile(x, 30, axis=0)
    nanquantile(x, 0.3, axis=1)
    nanpercentile(x, 30)
    cumsum(x, axis=1)
    cumprod(p)
    nancumsum(x, axis=0)
    nancumprod(p, axis=1)
    cumulative_sum(x, axis=1)
    cumulative_prod(p, axis=1, include_initial=True)
    trapezoid(x, axis=0)
    trapezoid(x, y)
    """,
    derivative=True,
)
rows("reductions", "minmax(x, axis=0) == (jnp.min(x, axis=0), jnp.max(x, axis=0))", derivative=True)
rows(
    "orders",
    """
    all(m, axis=0)
    any(m, axis=1, keepdims=True)
    count_nonzero(m, axis=1)
    argmax(x, axis=1)
    argmin(x)
    nanargmax(n, axis=1)
    nanargmin(n)
    nansum(n, axis=0)
    nanmax(n, axis=0)
    nancumsum(n, axis=1)
    nanmedian(n, axis=1)
    nanquantile(n, 0.7)
    argsort(x, axis=1)
    argpartition(v, 1) == jnp.argsort(v)
    lexsort((x, y))
    searchsorted(e, x)
    searchsorted(e, v, side='right', method='sort') == jnp.searchsorted(e, v, side='right')
    digitize(x, e)
    isin(k, h)
    """,
)
rows(
    "orders",
    """
    sort(x, axis=0)
    sort_complex(v)
    partition(v, 1) == jnp.sort(v)
    """,
    derivative=True,
)
rows("orders", "top_k(v, 2)", numpy=False, derivative=True, dtypes=False)
rows(
    "histograms",
    """
    histogram(x, bins=4)
    histogram(x, bins=e, weights=y) == jnp.histogram(x, bins=e, weights=y)
    histogram_bin_edges(x, bins=3)
    histogram2d(v, w, bins=3)
    histogramdd(l, bins=(2, 3, 2))
    corrcoef(x, y)
    cov(x)
    cov(x, y, ddof=0, rowvar=False)
    """,
    dtypes=False,
    batched=False,
)
rows("histograms", "bincount(i, length=5) == np.bincount(i, minlength=5)", dtypes=False)

# --- shapes ---------------------------------------------------------------------------------------

rows(
    "shapes",
    """
    reshape(x, (3, -1))
    ravel(x)
    ravel(x, order='F')
    transpose(t, (2, 0, 1))
    permute_dims(t, (1, 0, 2))
    matrix_transpose(t)
    swapaxes(t, 0, 2)
    moveaxis(t, 0, -1)
    rollaxis(t, 2)
    squeeze(x)
    expand_dims(x, (0, 2))
    flip(x, axis=1)
    fliplr(x)
    flipud(x)
    rot90(x, 3)
    roll(x, 2, axis=1)
    roll(x, 1)
    broadcast_to(v, (2, 3))
    broadcast_arrays(x, v)
    atleast_1d(s)
    atleast_2d(v)
    atleast_3d(x)
    concatenate([x, y], axis=1)
    concat([x, y])
    stack([x, y], axis=-1)
    unstack(x, axis=1)
    hstack([v, w])
    vstack([v, w])
    dstack([x, y])
    column_stack([v, w])
    append(x, y, axis=0)
    append(x, v)
    block([[x, y], [y, x]])
    tile(x, (2, 2))
    repeat(x, 2, axis=1)
    split(x, 3, axis=1)
    array_split(x, 2, axis=1)
    hsplit(x, 3)
    vsplit(x, 2)
    dsplit(t, 2)
    pad(x, 1)
    pad(x, ((0, 1), (2, 0)), mode='reflect')
    diag(v, 1)
    diag(a)
    diagflat(v)
    diagonal(a, 1)
    trace(a, -1)
    tril(a, 1)
    triu(a)
    vander(v)
    meshgrid(v, w, indexing='ij')
    resize(x, (4, 2))
    astype(x, 'float64') == x.astype('float64')
    copy(x)
    array(x)
    asarray(x)
    """,
    derivative=True,
)
rows(
    "editing",
    """
    take(x, i, axis=1)
    take(x, h, mode='wrap')
    take_along_axis(x, j, axis=1)
    choose(h % 2, [x, y], mode='clip')
    where(m, x, y)
    select([m, x > 1], [x, y], -1.5) == jnp.select([m, x > 1], [x, y], -1.5)
    delete(x, 1, axis=1)
    insert(x, 1, 5, axis=1)
    diff(x, axis=0)
    diff(v, n=2, prepend=1, append=w)
    ediff1d(x)
    gradient(x, axis=1)
    gradient(e, 0.5)
    interp(x, e, e * e)
    unwrap(x)
    convolve(e, v)
    correlate(e, v, mode='valid')
    """,
    derivative=True,
)
rows(
    "editing",
    """
    put(x, i, w[0], mode='wrap', inplace=False)
    put_along_axis(x, j, y, 1, inplace=False)
    place(x, m, v, inplace=False)
    fill_diagonal(a, s, inplace=False)
    piecewise(x, [x < 0, x > 1], [jnp.sin, jnp.cos, 0.5])
    apply_along_axis(jnp.cumsum, 1, x)
    apply_over_axes(jnp.sum, t, (0, 2))
    vectorize(lambda x, y: x * y, signature='(),()->()')(x, y)
    frompyfunc(lambda x, y: x * y, 2, 1)(x, y)
    """,
    numpy=False,
    derivative=True,
    dtypes=False,
)

# --- products and polynomials ---------------------------------------------------------------------

rows(
    "products",
    """
    dot(x, a)
    vdot(x, y)
    inner(x, y)
    outer(v, w)
    matmul(x, a)
    matvec(x, v)
    vecmat(v, a)
    vecdot(x, y)
    tensordot(t, x, ((0, 1), (0, 1)))
    kron(x, v)
    cross(x, y)
    einsum('ij,kj->ik', x, y)
    einsum('ii', a)
    """,
    derivative=True,
)
rows(
    "polynomials",
    """
    poly(v)
    polyadd(v, e)
    polysub(e, v)
    polymul(v, w)
    polyder(e, 2)
    polyint(e)
    polyval(v, x)
    """,
    derivative=True,
)
rows("polynomials", "polydiv(e, v)[0]\npolyfit(e, e * e, 1)", derivative=True, rtol=1e-11)
rows("polynomials", "roots(v)", dtypes=False, staged=False)

# Functions that do not compute with arrays: the file that tests each.
ELSEWHERE = {
    "test_creation.py": "can_cast isdtype issubdtype promote_types result_type",
    "test_further_functions.py": "frombuffer fromfile fromiter fromstring from_dlpack iscomplexobj "
    "isrealobj isscalar iterable load save savez",
    "test_host_functions.py": "array_repr array_str printoptions get_printoptions set_printoptions "
    "einsum_path",
    "test_manipulation.py": "broadcast_shapes ndim shape size",
}

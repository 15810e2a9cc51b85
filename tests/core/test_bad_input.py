"""Wrong shapes, dtypes and axes: each rule of `lax` has its error, in one table.

What catches the oracle's error catches ours; the message names the function, and the shapes, dtypes
and axes of both sides. Control flow, sorting, windows, elementwise operations, FFT and tokens have
more such calls in the files of their topics.
"""

from oracle import Case

ARRAYS = """
x, v, s = (jnp.ones(shape, np.float32) for shape in ((2, 3), (3,), (3, 3)))
n = jnp.arange(3, dtype=np.int32)
image, i = s[None, None], n[:, None]
taken = lax.GatherDimensionNumbers((1,), (0,), (0,))
put = lax.ScatterDimensionNumbers((1,), (0,), (0,))
"""

# A call, and below it what the message must hold, in this order or another.
WRONG = """
lax.dot_general(x, x, (((1,), (0,)), ((), ())))
    dot_general; (1,); (2, 3); (3,); (0,); (2,)
lax.dot_general(x, x, (((1,), (1,)), ((0,), (1,))))
    dot_general; (1,)
lax.dot_general(x, x, (((5,), (0,)), ((), ())))
    dot_general; (5,); (2, 3)
lax.dot_general(x, x, (((1, 1), (0, 0)), ((), ())))
    dot_general; (1, 1)
lax.dot_general(x, x, (((0, 1), (0,)), ((), ())))
    dot_general; (0, 1); (2, 3); (0,); (2,)
lax.dot(x, x)
    dot; (2, 3)
lax.dot(x, jnp.float32(1))
    dot; (2, 3)
lax.batch_matmul(x, x)
    dot_general; (1,); (2, 3); (3,); (0,); (2,)
lax.ragged_dot(x, s[None], n)
    ragged_dot; (3,); (1, 3, 3)
lax.ragged_dot(x, s[None, :2], n[:1])
    ragged_dot; (1,); (2, 3); (3,); (1, 2, 3); (2,)
lax.scaled_dot(x, x)
    scaled_dot; (1,); (2, 3); (3,); (0,); (2,)
lax.conv_general_dilated(image, image[None], (1, 1), 'SAME')
    convolution; got 4; (1, 1, 3, 3); (1, 1, 1, 3, 3)
lax.conv_general_dilated(image, image, (1,), 'SAME')
    conv_general_dilated; got 2; (1,)
lax.conv_general_dilated(image, jnp.ones((1, 2, 2, 2)), (1, 1), 'SAME')
    conv_general_dilated; (1, 1, 3, 3); (1, 2, 2, 2); (0, 1, 2, 3)
lax.conv_general_dilated(image, image, (1, 1), 'SAME', feature_group_count=2)
    conv_general_dilated; (1, 1, 3, 3); (0, 1, 2, 3)
lax.conv_general_dilated(image, image, (1, 1), 'SAME', feature_group_count=0)
    conv_general_dilated; got 0; (1, 1, 3, 3); (0, 1, 2, 3)
lax.conv_general_dilated(image, image, (1, 1), 'SAME', batch_group_count=2)
    conv_general_dilated; (1, 1, 3, 3); (0, 1, 2, 3)
lax.conv_general_dilated(image, image.astype(int), (1, 1), 'SAME')
    conv_general_dilated; float32; int32
lax.conv_general_dilated(image, image, (0, 1), 'SAME')
    conv_general_dilated; (0, 1)
lax.conv_general_dilated(image, image, (1, 1), 'SAME', lhs_dilation=(0, 1))
    conv_general_dilated; (0, 1)
lax.conv_general_dilated(image, image, (1, 1), 'SAME', rhs_dilation=(1,))
    conv_general_dilated; got 2; (1,)
lax.conv_general_dilated(image, image, (1, 1), [(0, 0)])
    convolution; got 1
lax.conv_general_dilated(image, image, (1, 1), 'MIDDLE')
    padding type
lax.conv_general_dilated(image, image, (1, 1), 'SAME', dimension_numbers=('NCHW', 'OIHW', 'NCH'))
    convolution; got 3; (1, 1, 3, 3)
lax.conv_general_dilated_patches(s, (2, 2), (1, 1), 'SAME')
    convolution; got 2; (3, 3); (1, 1, 2, 2)
lax.gather(x, i.astype(float), taken, (1, 3))
    gather; f32[3,1]
lax.gather(x, i, taken, (1, 4))
    gather; (2, 3); (1, 4)
lax.gather(x, i, taken, (1,))
    gather; (1,)
lax.gather(x, i, taken._replace(start_index_map=(5,)), (1, 3))
    gather; (5,)
lax.gather(x, i, taken, (1, 3), mode='best')
    gather
lax.scatter_add(x, i, s.astype(int), put)
    scatter_add; float32; int32
lax.scatter_add(x, i, jnp.ones((2, 3)), put)
    scatter_add; (3,); (2,)
lax.scatter(x, i, jnp.ones((3, 4)), put)
    scatter; (3, 4); (1, 4); (2, 3)
lax.scatter_max(x, i, s, put._replace(inserted_window_dims=(7,)))
    scatter_max; (7,)
lax.reduce_window(x, 0., lax.add, (2,))
    reduce_window; (2, 3); (2,)
lax.reduce_window(x, 0., lax.add, (2, 2), (1, 0))
    reduce_window; (1, 0)
lax.concatenate([x, s.T[:2, :2]], 0)
    oncatenate; (2, 3); (2, 2)
lax.concatenate([x, n], 0)
    oncatenate; (2, 3); (3,)
lax.concatenate([x, x.astype(int)], 0)
    oncatenate; float32; int32
lax.concatenate([x, x], 3)
    oncatenate; (2, 3)
lax.pad(x, 0, [(0, 0, 0), (1, 0, 0)])
    pad; float32; int32
lax.pad(x, 0., [(0, 0, 0)])
    pad; (0, 0, 0); (2, 3)
lax.pad(x, v, [(0, 0, 0), (1, 0, 0)])
    pad; (3,)
lax.pad(x, 0., [(0, 0, 0), (1, 0, -1)])
    pad; (0, 0, 0); (1, 0, -1)
lax.slice(x, (0, 0), (3, 3))
    slice; (0, 0); (3, 3); (2, 3)
lax.slice(x, (1, 2), (1, 1))
    slice; (1, 2); (1, 1); (2, 3)
lax.dynamic_slice(x, (0, 0), (3, 3))
    dynamic_slice; (2, 3); (3, 3)
lax.dynamic_slice(x, (0,), (1, 1))
    dynamic_slice; (2, 3); got 1
lax.dynamic_slice(x, (0., 0.), (1, 1))
    dynamic_slice; float32
lax.dynamic_slice(x, (n, 0), (1, 1))
    dynamic_slice; i32[3]; i32[]
lax.dynamic_update_slice(x, s, (0, 0))
    dynamic_update_slice; (3, 3); (2, 3)
lax.dynamic_update_slice(x, v, (0, 0))
    dynamic_update_slice; (3,); (2, 3)
lax.dynamic_update_slice(x, x.astype(int), (0, 0))
    dynamic_update_slice; float32; int32
lax.dynamic_update_slice(x, x, (0,))
    dynamic_update_slice; (2, 3); got 1
lax.broadcast_in_dim(x, (2, 4), (0, 1))
    broadcast_in_dim; axis 1; (2, 4); (2, 3); (0, 1)
lax.broadcast_in_dim(x, (2, 3), (0,))
    broadcast_in_dim; (0,)
lax.broadcast_in_dim(x, (2, 3), (1, 0))
    broadcast_in_dim; (2, 3); (1, 0)
lax.broadcast_in_dim(x, (2, 3), (0, 5))
    broadcast_in_dim; (2, 3); (0, 5)
lax.reshape(x, (4, 2))
    reshape; (2, 3); (4, 2)
lax.reshape(x, (-2, -3))
    reshape; (2, 3); (-2, -3)
lax.transpose(x, (0, 0))
    transpose; (2, 3); (0, 0)
lax.transpose(x, (0,))
    transpose; (2, 3); (0,)
lax.squeeze(x, (0,))
    squeeze; (2, 3); (0,)
lax.squeeze(x, (4,))
    squeeze; axis 4
lax.expand_dims(x, (7,))
    expand_dims; axis 7
lax.rev(x, (3,))
    rev; (3,)
lax.select(x > 0, x, s)
    select_n; (3, 3); (2, 3)
lax.select(v > 0, x, x)
    select_n; (3,); (2, 3)
lax.select(x > 0, x, x.astype(int))
    select_n; int32; float32
lax.select_n(x, x, x)
    select_n; float32
lax.select_n(x.astype(int), x, s)
    select_n; (2, 3); (3, 3)
lax.clamp(v, x, 1.)
    clamp; (3,); (2, 3)
lax.clamp(0, x, 1.)
    clamp; int32; float32
lax.sort((x, s))
    sort; (2, 3); (3, 3)
lax.sort(x, 5)
    sort; axis 5
lax.top_k(x, 7)
    top_k; k=7; shape=[2, 3]
lax.approx_max_k(x, 7)
    approx_max_k; axis -1; got 7
lax.approx_max_k(n, 2)
    approx_max_k; int32
lax.argmax(x, 2, np.int32)
    argmax; axis 2; (2, 3)
lax.argmin(x, 0, np.float32)
    argmin; float32
lax.cumsum(x, 2)
    cumsum; f32[2,3]; got 2
lax.cummax(x, -1)
    cummax; f32[2,3]; got -1
lax.cumlogsumexp(n > 0, 0)
    cumlogsumexp
lax.reduce_sum(x, (2,))
    reduce_sum; f32[2,3]; (2,)
lax.reduce_max(x, (1, 1))
    reduce_max; (1, 1)
lax.reduce_and(x, (0,))
    reduce_and; float32
lax.reduce(x, 0., lax.add, (3,))
    reduce; f32[2,3]; (3,)
lax.reduce(x, v, lax.add, (0,))
    reduce; (3,)
lax.reduce((x, v), (0., 0.), lambda a, b: a, (0,))
    reduce; (2, 3); (3,)
lax.reduce_precision(n, 8, 7)
    reduce_precision; int32
lax.add(x, s)
    add; (2, 3); (3, 3)
lax.add(x, n[:2, None])
    add; float32; int32
lax.sin(n)
    sin; int32
lax.complex(x, s)
    complex; (2, 3); (3, 3)
lax.iota(np.float32, -1)
    iota; (-1,)
lax.broadcasted_iota(np.float32, (2, 3), 2)
    iota; (2, 3); got 2
lax.split(x, (1, 1), 1)
    split; axis 1; (2, 3); (1, 1)
lax.split(x, (1, 2), 4)
    split; axis 4
lax.tile(x, (2,))
    tile; (2,); (2, 3)
lax.stack([x, s])
    stack; (2, 3); (3, 3)
lax.unstack(x, 4)
    unstack; axis 4
lax.fft(x, 'FFT', (4,))
    FFT; (2, 3); (4,)
lax.fft(x, 'RFFT', (2, 2, 3))
    FFT; (2, 3); (2, 2, 3)
lax.fft(x + 1j, 'RFFT', (3,))
    FFT; float32; complex64
lax.rng_bit_generator(jnp.zeros(4, np.uint32), (3,), np.float32)
    rng_bit_generator; float32
lax.rng_uniform(0., v, (2,))
    rng_uniform; (3,)
lax.rng_uniform(0, 1., (2,))
    rng_uniform; int32; float32
lax.linalg.cholesky(x)
    cholesky; (2, 3)
lax.linalg.cholesky_update(s, v[:2])
    cholesky_update; (3, 3); (2,)
lax.linalg.eig(x)
    eig; (2, 3)
lax.linalg.eigh(x)
    eigh; (2, 3)
lax.linalg.hessenberg(x)
    hessenberg; (2, 3)
lax.linalg.schur(x)
    schur; (2, 3)
lax.linalg.tridiagonal(x)
    tridiagonal; (2, 3)
lax.linalg.lu(v)
    lu; (3,)
lax.linalg.qr(v)
    qr; (3,)
lax.linalg.svd(v)
    svd; (3,)
lax.linalg.svd(i)
    svd; int32
lax.linalg.svd(x, subset_by_index=(0, 5))
    svd; (0, 5)
lax.linalg.lu_pivots_to_permutation(n, 2)
    lu_pivots_to_permutation; (3,)
lax.linalg.lu_pivots_to_permutation(v, 4)
    lu_pivots_to_permutation; int32; float32
lax.linalg.householder_product(s, jnp.ones(4))
    householder_product; (4,); (3, 3)
lax.linalg.householder_product(s, n)
    householder_product; float32; int32
lax.linalg.triangular_solve(x, x)
    triangular_solve; (2, 3)
lax.linalg.triangular_solve(s, x, left_side=True)
    triangular_solve; (3, 3); (2, 3)
lax.linalg.tridiagonal_solve(v, v, v, x)
    tridiagonal_solve; (3,); (2, 3)
lax.linalg.tridiagonal_solve(v, v[:2], v, s)
    tridiagonal_solve; (2,); (3, 3)
lax.linalg.symmetric_product(x, s)
    symmetric_product; (2, 3); (3, 3)
lax.linalg.symmetric_product(x, s[:2, :2].astype(int))
    symmetric_product; int32
lax.conv_transpose(x, x, (1,), 'SAME')
    conv_transpose; (2, 3); (1,)
lax.conj(n)
    conj; int32
lax.igamma(n, n)
    igamma; int32
lax.betainc(v, v, x)
    regularized_incomplete_beta; (3,); (2, 3)
lax.integer_pow(n, -1)
    integer_pow; i32[3]
lax.population_count(x)
    population_count; float32
lax.shift_left(v, v)
    shift_left; float32
lax.convert_element_type(x + 1j, 'str')
    convert_element_type
lax.full((2,), v)
    full; (3,)
lax.random_gamma_grad(v, x)
    random_gamma_grad; (3,); (2, 3)
lax.nextafter(n, n)
    nextafter; int32
lax.polygamma(v, x)
    polygamma; (3,); (2, 3)
"""


def test_errors_are_the_oracle_s_and_say_what_came(oracle):
    lines = WRONG.strip().splitlines()
    calls, words = lines[::2], [line.strip().split("; ") for line in lines[1::2]]
    outcomes = oracle.compare_many([Case(ARRAYS + call, may_raise=True) for call in calls])
    failures = []
    for call, wanted, outcome in zip(calls, words, outcomes, strict=True):
        message = "nothing" if outcome.error is None else outcome.error.message
        missing = [word for word in wanted if word not in message]
        if missing or outcome.error is None:
            failures.append(f"{call}: {missing} not in {message!r}")
    assert not failures, "\n".join(failures)

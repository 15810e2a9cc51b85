"""Every function of `covector.numpy`, eager, on a few elements: what a call costs.

What a constant of the module, a dtype or an alias of a function in the table is has no row.
"""

import numpy as np
from workload import Repeated

UNARY = """
abs acos acosh all amax amin angle any arccos arccosh arcsin arcsinh arctan arctanh argmax argmin
argsort argwhere around array asarray asin atleast_1d atleast_2d atleast_3d average cbrt ceil conj
copy corrcoef cos cosh count_nonzero cov cumprod cumsum cumulative_prod cumulative_sum deg2rad diag
diagflat diff ediff1d empty_like exp exp2 expm1 fabs flatnonzero flip floor frexp gradient i0 imag
isfinite isinf isnan isneginf isposinf isreal iscomplexobj log log10 log1p log2 max mean median min
minmax modf nan_to_num nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin
nanprod nanstd nansum nanvar ndim negative nonzero ones_like positive prod ptp rad2deg ravel real
reciprocal rint roots round shape sign signbit sin sinc sinh size sort sqrt square squeeze std sum
tan tanh trapezoid trim_zeros trunc unique unwrap vander var zeros_like
"""
BINARY = """
add allclose append arctan2 array_equal convolve copysign correlate divide divmod dot equal
float_power floor_divide fmax fmin fmod greater greater_equal heaviside hypot inner isclose isin
kron less less_equal logaddexp logaddexp2 logical_and logical_or logical_xor matmul maximum minimum
mod multiply nextafter not_equal outer polyadd polymul polysub polyval power remainder searchsorted
setdiff1d subtract true_divide union1d vdot vecdot
"""
OF_INTEGERS = """
bitwise_and(n,n) bitwise_or(n,n) bitwise_xor(n,n) invert(n) bitwise_count(n) left_shift(n,n)
right_shift(n,n) gcd(n,n) lcm(n,n) bincount(n) ldexp(x,n) take(x,n) choose(n,[x,x,x]) compress(b,x)
extract(b,x) delete(x,1) insert(x,1,2.0) put(x,n,y,inplace=False) digitize(y,x) select([b],[x])
where(b,x,y) piecewise(x,[b],[1.0,2.0]) packbits(b) unpackbits(u) unravel_index(n,(3,3))
ravel_multi_index((n,n),(3,3)) logical_not(b) take_along_axis(x,n,0) repeat(x,2) tile(x,2) roll(x,1)
pad(x,1) clip(x,0,1) quantile(x,0.5) percentile(x,50.0) nanquantile(x,0.5) nanpercentile(x,50.0)
partition(x,1) argpartition(x,1) top_k(x,2) histogram(x) interp(y,x,x) lexsort((x,y)) cross(x,y)
polyfit(x,y,1) polyder(x) polyint(x) poly(x) resize(x,(2,2)) reshape(x,(3,1)) expand_dims(x,0)
broadcast_to(x,(2,3)) broadcast_arrays(x,m) full_like(x,2.0) astype(x,int) stack([x,y])
hstack([x,y]) vstack([x,y]) dstack([x,y]) column_stack([x,y]) concatenate([x,y]) block([x,y])
array_split(x,2) split(x,3) hsplit(x,3) meshgrid(x,y) ix_(n,n) isscalar(x) result_type(x,y)
"""
OF_MATRICES = """
fliplr(m) flipud(m) rot90(m) transpose(m) swapaxes(m,0,1) moveaxis(m,0,1) rollaxis(m,1)
matrix_transpose(m) permute_dims(m,(1,0)) diagonal(m) trace(m) tril(m) triu(m) tensordot(m,m)
einsum('ij,jk',m,m) vsplit(m,3) unstack(m) matvec(m,x) vecmat(x,m)
fill_diagonal(m,1.0,inplace=False)
diag_indices_from(m) tril_indices_from(m) linalg.norm(m) linalg.inv(m) linalg.det(m)
linalg.slogdet(m) linalg.solve(m,x) linalg.cholesky(m) linalg.eigh(m) linalg.eigvalsh(m)
linalg.svd(m) linalg.qr(m) linalg.pinv(m) linalg.matrix_power(m,2) linalg.matrix_rank(m)
linalg.lstsq(m,x) linalg.cond(m) linalg.multi_dot([m,m]) linalg.matrix_norm(m) linalg.vector_norm(x)
linalg.trace(m) linalg.diagonal(m) linalg.outer(x,y) linalg.cross(x,y) linalg.tensorinv(m,ind=1)
linalg.tensorsolve(m,x) fft.fft(x) fft.ifft(x) fft.rfft(x) fft.irfft(x) fft.fft2(m) fft.fftn(m)
fft.fftshift(x) fft.fftfreq(3)
"""
MADE = """
arange(3) zeros(3) ones(3) full(3,2.0) empty(3) eye(3) identity(3) linspace(0.0,1.0,3) tri(3)
logspace(0.0,1.0,3) geomspace(1.0,2.0,3) indices((2,2)) tril_indices(3) triu_indices(3)
diag_indices(3) bartlett(3) blackman(3) hamming(3) hanning(3) kaiser(3,1.0) asarray(1.0)
array([1.0,2.0]) asarray(v) fromfunction(jnp.add,(2,2)) broadcast_shapes((3,),(1,))
"""
METHODS = """
-x abs(x) x+1 1-x x*2.0 x/y x//y x%y x**2 x**0.5 x@y x<y x==y n&n ~n n<<1 x.T x[-1] x[::2] x[None]
x[n] x[b] m[1,2] m[:,1] m[n,n] x.at[1].add(2.0) x.at[n].set(y) x.sum() x.mean() x.max()
x.reshape(-1)
x.astype(int) x.ravel() x.flatten() x.copy() x.item(0) x.tolist() x.dot(y) x.round() x.clip(0,1)
x.argsort() x.std() float(x[1]) len(x) list(x) m.T m.trace() m.diagonal() m.transpose(1,0) x.shape
x.real x.nbytes x.astype('float16') divmod(x,y) x.view(int) x.repeat(2) x.take(1) x.any()
"""


def operands(ns):
    """Three elements of each kind, and a matrix of 3 by 3."""
    matrix = np.array([[4, 1, 0], [1, 3, 1], [0, 1, 2]], np.float32)
    return {
        "jnp": ns.jnp,
        "x": ns.array(np.array([0.25, 0.5, 0.75], np.float32)),
        "y": ns.array(np.array([0.5, 0.25, 1.0], np.float32)),
        "n": ns.array(np.array([0, 1, 2], np.int32)),
        "b": ns.array(np.array([True, False, True])),
        "u": ns.array(np.array([1, 2, 3], np.uint8)),
        "m": ns.array(matrix),
        "v": matrix[0],
    }


EXPRESSIONS = [
    *(f"jnp.{name}(x)" for name in UNARY.split()),
    *(f"jnp.{name}(x,y)" for name in BINARY.split()),
    *(f"jnp.{call}" for call in (OF_INTEGERS + OF_MATRICES + MADE).split()),
    *METHODS.split(),
]
WORKLOADS = [
    Repeated(f"call of {expression}", 1.0, operands, expression, "0", rounds=5)
    for expression in EXPRESSIONS
]

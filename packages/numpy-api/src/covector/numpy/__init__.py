"""NumPy's API, differentiable and compiled: the contents page of `covector.numpy`.

    import covector.numpy as jnp

Each name stands under the module that defines it, and is imported when it is first used, so
importing this package costs little.
"""

__version__ = "0.1.0"
__array_api_version__ = "2025.12"

pi = 3.141592653589793
e = 2.718281828459045
euler_gamma = 0.5772156649015329
inf = float("inf")
nan = float("nan")
newaxis = None

_CONTENTS: dict[str, str] = {
    # module: public names
    "_scalar_types": "bfloat16 bool bool_ can_cast cdouble character complex128 complex64 complex_ "
    "complexfloating csingle double dtype finfo flexible float16 float32 float4_e2m1fn float64 "
    "float6_e2m3fn float6_e3m2fn float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn "
    "float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float_ floating generic iinfo "
    "inexact int1 int16 int2 int32 int4 int64 int8 int_ integer isdtype issubdtype number object_ "
    "promote_types result_type signedinteger single uint uint1 uint16 uint2 uint32 uint4 uint64 "
    "uint8 unsignedinteger",
    "_operands": "ComplexWarning ndarray",
    "_creation": "arange array asarray astype copy empty empty_like full full_like geomspace "
    "linspace logspace ones ones_like zeros zeros_like",
    "_arithmetic": "add divide divmod float_power floor_divide fmax fmin fmod gcd lcm maximum "
    "minimum mod multiply negative positive pow power reciprocal remainder square "
    "subtract true_divide",
    "_rounding": "abs absolute around ceil clip fabs floor heaviside rint round sign trunc",
    "_number_parts": "angle conj conjugate copysign frexp imag ldexp modf nan_to_num nextafter "
    "real signbit",
    "_transcendental": "acos acosh arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh "
    "atan atan2 atanh cbrt cos cosh deg2rad degrees exp exp2 expm1 hypot log log10 log1p log2 "
    "logaddexp logaddexp2 rad2deg radians sin sinc sinh sqrt tan tanh",
    "_comparison": "allclose array_equal array_equiv bitwise_and bitwise_count bitwise_invert "
    "bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor equal greater "
    "greater_equal invert isclose iscomplex isfinite isinf isnan isneginf isposinf isreal "
    "left_shift less less_equal logical_and logical_not logical_or logical_xor not_equal "
    "right_shift",
    "_reductions": "all amax amin any argmax argmin count_nonzero cumprod cumsum cumulative_prod "
    "cumulative_sum max min minmax prod ptp sum",
    "_manipulation": "atleast_1d atleast_2d atleast_3d broadcast_arrays broadcast_shapes "
    "broadcast_to expand_dims flip fliplr flipud matrix_transpose moveaxis ndim permute_dims ravel "
    "reshape roll rollaxis rot90 shape size squeeze swapaxes transpose",
    "_joining": "append array_split block column_stack concat concatenate dsplit dstack hsplit "
    "hstack pad repeat split stack tile unstack vsplit vstack",
    "_taking": "choose put put_along_axis take take_along_axis",
    "_searching": "argwhere compress digitize extract flatnonzero isin nonzero piecewise "
    "searchsorted select where",
    "_matrices": "diag diag_indices diag_indices_from diagflat diagonal eye identity indices ix_ "
    "meshgrid trace tri tril tril_indices tril_indices_from triu triu_indices triu_indices_from "
    "vander",
    "_statistics": "average mean nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmin "
    "nanprod nanstd nansum nanvar std var",
    "_ufunc_methods": "ufunc",
    "_sorting": "argpartition argsort lexsort partition sort sort_complex top_k",
    "_inspection": "array_repr array_str get_printoptions iscomplexobj isrealobj isscalar iterable "
    "printoptions set_printoptions",
    "_differences": "diff ediff1d gradient interp trapezoid unwrap",
    "_quantiles": "median nanmedian nanpercentile nanquantile percentile quantile",
    "_sets": "intersect1d setdiff1d setxor1d union1d unique unique_all unique_counts "
    "unique_inverse unique_values",
    "_histograms": "bincount histogram histogram2d histogram_bin_edges histogramdd",
    "_correlation": "convolve corrcoef correlate cov",
    "_vectorizing": "apply_along_axis apply_over_axes frompyfunc vectorize",
    "_index_tricks": "c_ index_exp mgrid ogrid r_ ravel_multi_index s_ unravel_index",
    "_editing": "delete fill_diagonal insert mask_indices place resize trim_zeros",
    "_files": "from_dlpack frombuffer fromfile fromfunction fromiter fromstring load save savez",
    "_polynomials": "poly polyadd polyder polydiv polyfit polyint polymul polysub polyval roots",
    "_windows": "bartlett blackman hamming hanning i0 kaiser",
    "_bits": "packbits spacing unpackbits",
    "_einsum": "einsum einsum_path",
    "_array_api": "__array_namespace_info__",
    "_products": "cross dot inner kron matmul matvec outer tensordot vdot vecdot vecmat",
}

# Public modules inside, imported at first use like any name.
_SUBMODULES = ("fft", "linalg")

_MODULE_OF = {name: module for module, names in _CONTENTS.items() for name in names.split()}
_CONSTANTS = ("e", "euler_gamma", "inf", "nan", "newaxis", "pi")
_WIDTH_BY_FLAG = ("complex_", "float_", "int_", "uint")


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _SUBMODULES:
        return import_module(f"covector.numpy.{name}")
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'covector.numpy' has no attribute {name!r}")
    value = getattr(import_module(f"covector.numpy.{module}"), name)
    if name not in _WIDTH_BY_FLAG:
        globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*_MODULE_OF, *_SUBMODULES, *_CONSTANTS])

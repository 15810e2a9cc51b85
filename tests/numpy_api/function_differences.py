"""Where functions differ from the oracle, and why: on purpose, or since its outcome is an accident.

For each function: the kinds of cases that differ (`CASES` of `function_checks.py`), and the reason.
"""

WIDE_INDEX = "positions have the default integer type, as NumPy's and those of the standard"
LENIENT = "gives the result that NumPy gives"
WEAK = "the oracle's result is weak, or is not, by an accident of how it is computed"
FLOAT8 = "works for 8-bit floats"
EMPTY = "of no elements there is a result, NaN or zero, as in NumPy"
SCALAR = "NumPy's error, or its result, for scalars"
FLOAT32 = "the oracle's integers become a float32 or a float64 by an accident of how it computes"

FILLED = "a size above the number of elements is filled, as by nonzero"
LISTS = "takes lists, as NumPy does"
FIRST = "what is no array is refused before anything else is asked"

DIFFERENT: dict[str, tuple[str, str]] = {
    "jnp.argpartition": ("dtypes", WIDE_INDEX),
    "jnp.array_equiv": ("pairs strict", "compares by promotion, as array_equal does in the oracle"),
    "jnp.average": ("bad", FIRST),
    "jnp.atleast_2d": ("bad", LISTS),
    "jnp.clip": ("bad", FIRST),
    "jnp.einsum": ("bad", FIRST),
    "jnp.fromfunction": ("bad", "an argument that the function does not take is NumPy's error"),
    "jnp.histogram": ("dtypes pairs shapes bad", "counts are integers, as NumPy's; no named edges"),
    "jnp.unique": ("bad", "an axis that does not exist is refused before values are asked for"),
    "jnp.vectorize": ("bad", "an argument that the function does not take is an error"),
    "image.resize": ("bad shapes", "the oracle divides by zero, or asks None for its rank"),
    "jnp.around": ("dtypes", LENIENT),
    "jnp.choose": ("dtypes pairs", WEAK),
    "jnp.copysign": ("pairs", FLOAT8),
    "jnp.cumulative_prod": ("dtypes", "the default integer type, as without include_initial"),
    "jnp.delete": ("shapes", "positions that do not exist are ignored on every axis"),
    "jnp.digitize": ("dtypes pairs strict shapes", WIDE_INDEX),
    "jnp.ediff1d": ("dtypes", "differences of booleans are booleans, as those of diff"),
    "jnp.extract": (
        "shapes bad dtypes",
        "a size above the number of elements is filled, as by nonzero",
    ),
    "jnp.compress": ("shapes", "a size above the number of elements is filled, as by nonzero"),
    "jnp.fft.ihfft": ("dtypes shapes", LENIENT),
    "jnp.fft.rfft": ("dtypes", LENIENT),
    "jnp.fft.rfft2": ("dtypes", LENIENT),
    "jnp.fft.rfftn": ("dtypes", LENIENT),
    "jnp.gradient": ("dtypes", FLOAT32),
    "jnp.heaviside": ("pairs", WEAK),
    "jnp.histogram2d": ("strict shapes", SCALAR),
    "jnp.ix_": ("shapes", "of no elements the dtype stays"),
    "jnp.linalg.matrix_norm": ("shapes", "NumPy's error"),
    "jnp.linalg.matrix_rank": ("dtypes shapes", WIDE_INDEX),
    "jnp.linalg.multi_dot": ("pairs", LENIENT),
    "jnp.linalg.tensorsolve": ("dtypes", WEAK),
    "jnp.linalg.vector_norm": ("dtypes", "of integers a float, as with other orders"),
    "jnp.log10": ("dtypes", WEAK),
    "jnp.logaddexp": ("pairs", WEAK),
    "jnp.logaddexp2": ("pairs", WEAK),
    "jnp.median": ("shapes", EMPTY),
    "jnp.meshgrid": ("dtypes pairs strict shapes", SCALAR),
    "jnp.nancumsum": ("dtypes", SCALAR),
    "jnp.pad": ("dtypes", WEAK),
    "jnp.percentile": ("shapes", EMPTY),
    "jnp.place": ("strict", "what is put has the array's dtype, as in x.at[...].set"),
    "jnp.polydiv": ("pairs", WEAK),
    "jnp.polyfit": ("dtypes", LENIENT),
    "jnp.polyint": ("dtypes", FLOAT32),
    "jnp.pow": ("dtypes", WEAK),
    "jnp.put": ("shapes", LENIENT),
    "jnp.quantile": ("shapes", EMPTY),
    "jnp.ravel_multi_index": ("dtypes", "NumPy's error"),
    "jnp.repeat": ("dtypes shapes", SCALAR),
    "jnp.round": ("dtypes", LENIENT),
    "jnp.searchsorted": ("dtypes pairs shapes", WIDE_INDEX),
    "jnp.take": ("shapes", "the positions' shape, whether or not there are elements"),
    "jnp.trapezoid": ("dtypes shapes", FLOAT32),
    "jnp.union1d": ("dtypes", WEAK),
    "jnp.unique_counts": ("dtypes", WEAK),
    "jnp.unravel_index": ("dtypes", "NumPy's error"),
    "jnp.vander": ("dtypes", LENIENT),
    "jnp.vecdot": ("pairs", WEAK),
    "nn.dot_product_attention": ("shapes", "of no features there is no scale, and it raises"),
    "nn.scaled_matmul": ("shapes", "of no elements it raises"),
}

# Values that NumPy has otherwise, by the beginning of the call.
VALUES = {
    "jnp.floor_divide(x, y) in bool": "division by zero",
    "jnp.fmod(x, y) in bool": "division by zero",
    "jnp.divmod(x, y) in bool": "division by zero",
    "jnp.floor_divide(x, y) in int32": "division by zero",
    "jnp.reciprocal(p) in int32": "of integers a float",
    "jnp.trapezoid(x, axis=0) in bool": "NumPy's difference of booleans is boolean",
    "jnp.trapezoid(x, y) in bool": "NumPy's difference of booleans is boolean",
    "jnp.nancumsum(n, axis=1) in int32": "a NaN is no integer",
    "jnp.convolve(e, v) in bool": "of booleans a number",
    "jnp.correlate(e, v, mode='valid') in bool": "of booleans a number",
}

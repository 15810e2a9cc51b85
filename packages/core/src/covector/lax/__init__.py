"""`covector.lax`: the operations that programs are made of, strict in dtypes and shapes.

The contents page: each name stands under the module that defines it, and is loaded at first use.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

from covector import _namespace

_CONTENTS: dict[str, str] = {
    # module: public names
    "elementwise": "abs abs_p add add_p ceil ceil_p div div_p floor floor_p max max_p min min_p "
    "mul mul_p neg neg_p nextafter nextafter_p rem rem_p round round_p sign sign_p sub sub_p",
    "powers": "cbrt cbrt_p integer_pow integer_pow_p one_minus_square one_minus_square_p pow "
    "pow_p reciprocal rsqrt rsqrt_p sqrt sqrt_p square square_p",
    "polynomial": "polynomial polynomial_p",
    "transcendental": "acos acos_p acosh acosh_p asin asin_p asinh asinh_p atan atan2 atan2_p "
    "atan_p atanh atanh_p cos cos_p cosh cosh_p exp exp2 exp2_p exp_p expm1 expm1_p log log1p "
    "log1p_p log2 log2_p log_p logistic logistic_p sin sin_p sinh sinh_p tan tan_p tanh tanh_p",
    "special": "digamma digamma_p erf erf_inv erf_inv_p erf_p erfc erfc_p lgamma lgamma_p "
    "polygamma polygamma_p zeta zeta_p",
    "bessel": "bessel_i0e bessel_i0e_p bessel_i1e bessel_i1e_p",
    "incomplete_beta": "betainc regularized_incomplete_beta_p",
    "incomplete_gamma": "igamma igamma_grad_a igamma_grad_a_p igamma_p igammac igammac_p "
    "random_gamma_grad",
    "compare": "clamp clamp_p eq eq_p eq_to_p ge ge_p gt gt_p is_finite is_finite_p le le_p "
    "le_to_p lt lt_p lt_to_p ne ne_p select select_n select_n_p",
    "bitwise": "and_p bitwise_and bitwise_not bitwise_or bitwise_xor clz clz_p mulhi mulhi_p "
    "not_p or_p population_count population_count_p shift_left shift_left_p shift_right_arithmetic "
    "shift_right_arithmetic_p shift_right_logical shift_right_logical_p xor_p",
    "complex_numbers": "complex complex_p conj conj_p imag imag_p real real_p",
    "convert": "bitcast_convert_type bitcast_convert_type_p convert_element_type "
    "convert_element_type_p dtype reduce_precision reduce_precision_p",
    "barriers": "copy_p optimization_barrier optimization_barrier_p stage stage_p stop_gradient "
    "stop_gradient_p",
    "sharding_constraint": "sharding_constraint_p with_sharding_constraint",
    "tokens": "after_all after_all_p create_token create_token_p dce_sink",
    "accuracy": "AccuracyMode RoundingMethod Tolerance",
    "shape": "broadcast broadcast_in_dim broadcast_in_dim_p broadcast_like broadcast_shapes "
    "broadcast_to_rank collapse expand_dims reshape reshape_p rev rev_p squeeze squeeze_p "
    "transpose transpose_p",
    "filling": "broadcasted_iota empty full full_like iota iota_p shape_as_value",
    "joining": "concatenate concatenate_p pad pad_p split split_p stack stack_p tile tile_p "
    "unstack unstack_p",
    "argmax": "argmax argmax_p argmin argmin_p",
    "reduce": "reduce_and reduce_and_p reduce_max reduce_max_p "
    "reduce_min reduce_min_p reduce_or reduce_or_p reduce_prod reduce_prod_p reduce_sum "
    "reduce_sum_p reduce_xor reduce_xor_p",
    "reducer": "reduce reduce_p",
    "windows": "reduce_window reduce_window_max_p reduce_window_min_p reduce_window_p "
    "reduce_window_shape_tuple reduce_window_sum_p",
    "window_selection": "select_and_gather_add_p select_and_scatter_add_p select_and_scatter_p",
    "cumulative": "cumlogsumexp cumlogsumexp_p cummax cummax_p cummin cummin_p cumprod cumprod_p "
    "cumsum cumsum_p",
    "gather": "GatherDimensionNumbers GatherScatterMode gather gather_p index_take",
    "scatter": "ScatterDimensionNumbers scatter scatter_add scatter_add_p scatter_apply "
    "scatter_max scatter_max_p scatter_min scatter_min_p scatter_mul scatter_mul_p scatter_p "
    "scatter_sub scatter_sub_p",
    "slicing": "dynamic_index_in_dim dynamic_slice dynamic_slice_in_dim dynamic_slice_p "
    "dynamic_update_index_in_dim dynamic_update_slice dynamic_update_slice_in_dim "
    "dynamic_update_slice_p index_in_dim slice slice_in_dim slice_p",
    "dot": "DotDimensionNumbers batch_matmul dot dot_general dot_general_p",
    "ragged_dot": "RaggedDotDimensionNumbers ragged_dot ragged_dot_general",
    "scaled_dot": "scaled_dot",
    "composite": "composite",
    "precision": "DotAlgorithm DotAlgorithmPreset Precision PrecisionLike",
    "conv": "conv conv_general_dilated conv_general_dilated_p conv_transpose "
    "conv_with_general_padding",
    "conv_patches": "conv_general_dilated_local conv_general_dilated_patches",
    "conv_shapes": "ConvDimensionNumbers ConvGeneralDilatedDimensionNumbers conv_dimension_numbers "
    "conv_general_permutations conv_general_shape_tuple conv_shape_tuple "
    "conv_transpose_shape_tuple",
    "padding": "padtype_to_pads",
    "fft": "FftType fft fft_p",
    "sort": "sort sort_key_val sort_p top_k top_k_p",
    "approx_top_k": "approx_max_k approx_min_k approx_top_k_p",
    "rng": "RandomAlgorithm rng_bit_generator rng_bit_generator_p rng_uniform rng_uniform_p",
    "control.cond": "cond cond_p platform_dependent switch",
    "control.loops": "fori_loop while_loop while_p",
    "control.scan": "map scan scan_p",
    "control.associative_scan": "associative_scan",
    "device_put": "device_put_p",
    "solves": "custom_linear_solve custom_root linear_solve_p",
}

_MODULE_OF = {name: module for module, names in _CONTENTS.items() for name in names.split()}

# Extension point: the collectives, which the distribution covector-parallel ships.
COLLECTIVES_MODULE = "covector.parallel"
_COLLECTIVES = (
    "all_gather all_gather_p all_to_all all_to_all_p axis_index axis_index_p axis_size pbroadcast "
    "pcast pmax pmax_p pmean pmin pmin_p ppermute ppermute_p pshuffle psum psum_p psum_scatter "
    "psum_scatter_start pswapaxes ragged_all_to_all ragged_all_to_all_p"
)


def __getattr__(name: str) -> Any:
    if name in _COLLECTIVES.split():
        return _collective(name)
    if name == "linalg":
        return importlib.import_module("covector.lax.linalg")
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'covector.lax' has no attribute '{name}'")
    value = getattr(importlib.import_module(f"covector.lax.{module}"), name)
    globals()[name] = value
    return value


def _collective(name: str) -> Any:
    """A collective, if it is installed."""
    try:
        module = importlib.import_module(COLLECTIVES_MODULE)
    except ModuleNotFoundError as error:
        if error.name != _namespace.PARALLEL:
            raise
        message = _namespace.missing(f"covector.lax.{name}", _namespace.PARALLEL)
        raise AttributeError(message, name=name, obj=sys.modules[__name__]) from None
    value = globals()[name] = getattr(module, name)
    return value


def __dir__() -> list[str]:
    return sorted([*_MODULE_OF, *_COLLECTIVES.split(), "linalg"])


class _Lax(ModuleType):
    """Importing a submodule does not hide the function of its name (`reduce`, `sort`, ...)."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (isinstance(value, ModuleType) and name in _MODULE_OF):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Lax

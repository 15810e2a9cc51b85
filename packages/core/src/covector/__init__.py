"""NumPy and SciPy APIs that differentiate, compile, vectorize and parallelize.

    import covector
    import covector.numpy as jnp

    covector.grad(lambda x: jnp.sum(jnp.sin(x)))(jnp.zeros(3))

The names are listed in `_namespace.py` and imported when first used.
"""

import os
import sys

from covector import _namespace

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")  # read when jaxlib is loaded

__path__ = _namespace.extend_path(__path__)
__version__ = "0.1.0"

if _namespace.MissingPieceFinder not in sys.meta_path:
    sys.meta_path.append(_namespace.MissingPieceFinder)

# What `__getattr__` does, for editors and type checkers. A test compares it with the table.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import covector.ad_checkpoint as ad_checkpoint
    import covector.core as core
    import covector.custom_batching as custom_batching
    import covector.custom_derivatives as custom_derivatives
    import covector.dlpack as dlpack
    import covector.dtypes as dtypes
    import covector.errors as errors
    import covector.image as image
    import covector.lax as lax
    import covector.nn as nn
    import covector.numpy as numpy
    import covector.ops as ops
    import covector.parallel as parallel
    import covector.random as random
    import covector.scipy as scipy
    import covector.sharding as sharding
    import covector.stages as stages
    import covector.tree as tree
    import covector.tree_util as tree_util
    import covector.typing as typing
    from covector._api.assemble import make_array_from_callback as make_array_from_callback
    from covector._api.assemble import (
        make_array_from_single_device_arrays as make_array_from_single_device_arrays,
    )
    from covector._api.autodiff import grad as grad
    from covector._api.autodiff import jvp as jvp
    from covector._api.autodiff import linearize as linearize
    from covector._api.autodiff import value_and_grad as value_and_grad
    from covector._api.autodiff import vjp as vjp
    from covector._api.device import block_until_ready as block_until_ready
    from covector._api.device import copy_to_host_async as copy_to_host_async
    from covector._api.device import device_get as device_get
    from covector._api.device import device_put as device_put
    from covector._api.device import effects_barrier as effects_barrier
    from covector._api.ds import ds as ds
    from covector._api.environment import host_count as host_count
    from covector._api.environment import host_id as host_id
    from covector._api.environment import host_ids as host_ids
    from covector._api.environment import live_arrays as live_arrays
    from covector._api.environment import print_environment_info as print_environment_info
    from covector._api.environment import process_indices as process_indices
    from covector._api.forward_backward import fwd_and_bwd as fwd_and_bwd
    from covector._api.jacobians import hessian as hessian
    from covector._api.jacobians import jacfwd as jacfwd
    from covector._api.jacobians import jacobian as jacobian
    from covector._api.jacobians import jacrev as jacrev
    from covector._api.jit import jit as jit
    from covector._api.linear import closure_convert as closure_convert
    from covector._api.linear import custom_gradient as custom_gradient
    from covector._api.linear import linear_transpose as linear_transpose
    from covector._api.named_scope import named_call as named_call
    from covector._api.named_scope import named_scope as named_scope
    from covector._api.shape_dtype_struct import ShapeDtypeStruct as ShapeDtypeStruct
    from covector._api.tracing import eval_shape as eval_shape
    from covector._api.tracing import make_jaxpr as make_jaxpr
    from covector._api.vmap import vmap as vmap
    from covector._config import allow_f16_reductions as allow_f16_reductions
    from covector._config import array_garbage_collection_guard as array_garbage_collection_guard
    from covector._config import auto_pcast as auto_pcast
    from covector._config import check_tracer_leaks as check_tracer_leaks
    from covector._config import checking_leaks as checking_leaks
    from covector._config import config as config
    from covector._config import debug_infs as debug_infs
    from covector._config import debug_key_reuse as debug_key_reuse
    from covector._config import debug_nans as debug_nans
    from covector._config import default_device as default_device
    from covector._config import default_matmul_precision as default_matmul_precision
    from covector._config import default_prng_impl as default_prng_impl
    from covector._config import disable_jit as disable_jit
    from covector._config import enable_checks as enable_checks
    from covector._config import enable_custom_prng as enable_custom_prng
    from covector._config import enable_x64 as enable_x64
    from covector._config import explain_cache_misses as explain_cache_misses
    from covector._config import (
        jax2tf_associative_scan_reductions as jax2tf_associative_scan_reductions,
    )
    from covector._config import legacy_prng_key as legacy_prng_key
    from covector._config import log_compiles as log_compiles
    from covector._config import no_execution as no_execution
    from covector._config import no_tracing as no_tracing
    from covector._config import numpy_dtype_promotion as numpy_dtype_promotion
    from covector._config import numpy_rank_promotion as numpy_rank_promotion
    from covector._config import (
        remove_size_one_mesh_axis_from_type as remove_size_one_mesh_axis_from_type,
    )
    from covector._config import softmax_custom_jvp as softmax_custom_jvp
    from covector._config import thread_guard as thread_guard
    from covector._config import threefry_partitionable as threefry_partitionable
    from covector._config import transfer_guard as transfer_guard
    from covector._config import transfer_guard_device_to_device as transfer_guard_device_to_device
    from covector._config import transfer_guard_device_to_host as transfer_guard_device_to_host
    from covector._config import transfer_guard_host_to_device as transfer_guard_host_to_device
    from covector._run.array import Array as Array
    from covector._run.array import Shard as Shard
    from covector._run.client import Device as Device
    from covector._run.client import default_backend as default_backend
    from covector._run.client import device_count as device_count
    from covector._run.client import devices as devices
    from covector._run.client import local_device_count as local_device_count
    from covector._run.client import local_devices as local_devices
    from covector._run.client import process_count as process_count
    from covector._run.client import process_index as process_index
    from covector._run.memory import memory as memory
    from covector._trace.caches import clear_caches as clear_caches
    from covector._trace.trace import typeof as typeof
    from covector.ad_checkpoint import checkpoint as checkpoint
    from covector.ad_checkpoint import checkpoint_policies as checkpoint_policies
    from covector.ad_checkpoint import remat as remat
    from covector.core import ensure_compile_time_eval as ensure_compile_time_eval
    from covector.custom_derivatives import custom_jvp as custom_jvp
    from covector.custom_derivatives import custom_vjp as custom_vjp
    from covector.dtypes import float0 as float0
    from covector.parallel import pmap as pmap
    from covector.sharding import NamedSharding as NamedSharding
    from covector.sharding import P as P
    from covector.sharding import make_mesh as make_mesh


def __getattr__(name: str) -> object:
    value = globals()[name] = _namespace.resolve(name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_namespace.public_names()})

"""Configuration: one table of flags, each of them a jaxlib `Config` object.

A flag has a process-wide value (`config.update("jax_enable_x64", True)`, or the environment) and,
on top of it, a thread-local one that lives as long as a `with enable_x64(True):` block. The flag
is the C++ object itself, so `enable_x64.value` is one C++ attribute read.

The invariant: a flag whose value can change a traced program or its execution is declared
`in_key=True`. It is then part of the key of every compiled call (in C++) and of `trace_context()`,
which every memo in Covector has in its key. A memo may not read any other flag.

How flags are checked and scoped is in `_flags.py`. docs/configuration.md shows this table to the
user; a test compares the two.
"""

from __future__ import annotations

from typing import Any

from covector._flags import (
    BOOLEAN,
    FLAGS,
    INTEGER,
    NUMBER,
    STRING,
    Flag,
    KeyedState,
    Kind,
    Scope,
    choice,
    find,
    m,
    optional,
    parse,
    trace_context,
)
from covector.errors import did_you_mean, warn_user

__all__ = ["Config", "Flag", "KeyedState", "Scope", "config", "trace_context"]

# --- Numbers ---------------------------------------------------------------------------------

enable_x64 = Flag(
    "enable_x64",
    False,
    BOOLEAN,
    "Allow 64-bit dtypes; when off, they become their 32-bit counterparts.",
    in_key=True,
)
explicit_x64_dtypes = Flag(
    "explicit_x64_dtypes",
    "warn",
    choice("warn", "error", "allow"),
    "What happens when a 64-bit dtype is asked for by name while x64 is off.",
    in_key=True,
)
numpy_dtype_promotion = Flag(
    "numpy_dtype_promotion",
    "standard",
    choice("standard", "strict"),
    "Whether mixed dtypes are promoted, or refused unless one is a Python scalar.",
    in_key=True,
)
numpy_rank_promotion = Flag(
    "numpy_rank_promotion",
    "allow",
    choice("allow", "warn", "raise"),
    "What happens when arrays of different ranks are broadcast together.",
    in_key=True,
)
_MATMUL_PRECISIONS = (
    *("default", "high", "highest", "bfloat16", "tensorfloat32", "float32"),
    *("ANY_F8_ANY_F8_F32", "ANY_F8_ANY_F8_F32_FAST_ACCUM"),
    *("ANY_F8_ANY_F8_ANY", "ANY_F8_ANY_F8_ANY_FAST_ACCUM"),
    *("F16_F16_F16", "F16_F16_F32", "BF16_BF16_BF16", "BF16_BF16_F32"),
    *("BF16_BF16_F32_X3", "BF16_BF16_F32_X6", "BF16_BF16_F32_X9"),
    *("TF32_TF32_F32", "TF32_TF32_F32_X3", "F32_F32_F32", "F64_F64_F64"),
)
default_matmul_precision = Flag(
    "default_matmul_precision",
    None,
    optional(choice(*_MATMUL_PRECISIONS)),
    "Precision, or algorithm, of matrix products and convolutions that do not state one.",
    in_key=True,
)
allow_f16_reductions = Flag(
    "allow_f16_reductions",
    True,
    BOOLEAN,
    "No effect. In JAX: allow sums of 16-bit floats to be accumulated in 16 bits.",
    in_key=True,
)
softmax_custom_jvp = Flag(
    "softmax_custom_jvp",
    False,
    BOOLEAN,
    "No effect. In JAX: differentiate softmax by a rule of its own.",
    in_key=True,
)
annihilating_zeros = Flag(
    "annihilating_zeros",
    True,
    BOOLEAN,
    "In tangents and cotangents, zero times infinity or nan is zero; off gives IEEE products.",
    in_key=True,
)

# --- Random numbers --------------------------------------------------------------------------

threefry_partitionable = Flag(
    "threefry_partitionable",
    True,
    BOOLEAN,
    "Draw Threefry bits in the order that can be computed shard by shard.",
    in_key=True,
)
default_prng_impl = Flag(
    "default_prng_impl",
    "threefry2x32",
    choice("threefry2x32", "threefry4x32", "rbg", "unsafe_rbg", "philox2x32", "philox4x32"),
    "Implementation of the keys that `random.key` and `random.PRNGKey` make.",
    in_key=True,
)
enable_custom_prng = Flag(
    "enable_custom_prng",
    False,
    BOOLEAN,
    "Make `random.PRNGKey` return a typed key array, as `random.key` does.",
    in_key=True,
)
legacy_prng_key = Flag(
    "legacy_prng_key",
    "allow",
    choice("allow", "warn", "error"),
    "What happens when an untyped uint32 key is given to a random function.",
    in_key=True,
)
debug_key_reuse = Flag(
    "debug_key_reuse",
    False,
    BOOLEAN,
    "Raise KeyReuseError when a random key is consumed twice.",
    in_key=True,
)
random_seed_offset = Flag(
    "random_seed_offset",
    0,
    INTEGER,
    "An integer added to every seed, to vary a whole program's random numbers.",
    in_key=True,
)

# --- Tracing and debugging -------------------------------------------------------------------


class _DisableJit(Flag):
    __slots__ = ()

    def __call__(self, disable: bool = True) -> Scope:
        """A context manager in which jitted functions run operation by operation."""
        return super().__call__(disable)


disable_jit = _DisableJit(
    "disable_jit",
    False,
    BOOLEAN,
    "Run jitted functions operation by operation, for debugging.",
    in_key=True,
)
debug_nans = Flag(
    "debug_nans",
    False,
    BOOLEAN,
    "Check every result for nan and raise FloatingPointError at the operation that made it.",
    in_key=True,
)
debug_infs = Flag(
    "debug_infs",
    False,
    BOOLEAN,
    "Check every result for infinity and raise FloatingPointError at the operation.",
    in_key=True,
)
check_tracer_leaks = Flag(
    "check_tracer_leaks",
    False,
    BOOLEAN,
    "After each trace, raise if one of its tracers is still referenced.",
    in_key=True,
)
enable_checks = Flag(
    "enable_checks",
    False,
    BOOLEAN,
    "Check every program after each transformation; for developers of Covector.",
    in_key=True,
)
no_tracing = Flag(
    "no_tracing",
    False,
    BOOLEAN,
    "Raise when a function would have to be traced again.",
)
no_execution = Flag(
    "no_execution",
    False,
    BOOLEAN,
    "Raise when a computation would have to be executed.",
    in_key=True,
)
explain_cache_misses = Flag(
    "explain_cache_misses",
    False,
    BOOLEAN,
    "Log, for each new trace of a jitted function, what changed since the last call.",
)
log_compiles = Flag(
    "log_compiles",
    False,
    BOOLEAN,
    "Log every trace and compilation, with its time, as a warning.",
)
traceback_filtering = Flag(
    "traceback_filtering",
    "auto",
    choice("auto", "off", "tracebackhide", "remove_frames", "quiet_remove_frames"),
    "How the library's own frames are hidden from tracebacks.",
)
tracer_error_num_traceback_frames = Flag(
    "tracer_error_num_traceback_frames",
    5,
    INTEGER,
    "No effect. In JAX: frames shown in an error for the place where a leaked tracer was made.",
)
pprint_use_color = Flag(
    "pprint_use_color",
    True,
    BOOLEAN,
    "No effect. In JAX: use color when a program is printed to a terminal.",
)

# --- Devices and transfers -------------------------------------------------------------------

_PLATFORM_NAMES = ("cpu", "gpu", "tpu", "cuda", "rocm", "metal", "METAL", "oneapi")
_DEVICE = Kind(
    "a Device such as covector.devices('cpu')[0], a platform name such as 'cpu' or 'gpu', or None",
    lambda value: (
        value is None
        or isinstance(value, m.Device)
        or (isinstance(value, str) and value in _PLATFORM_NAMES)
    ),
    str,
)
default_device = Flag(
    "default_device",
    None,
    _DEVICE,
    "Where computations run and arrays are put when nothing else says so.",
    in_key=True,
)
platforms = Flag(
    "platforms",
    None,
    optional(STRING),
    "Comma-separated platforms to start, the first being the default, for example 'cuda,cpu'.",
)
platform_name = Flag(
    "platform_name",
    "",
    STRING,
    "Older form of jax_platforms: the name of the default platform.",
)
num_cpu_devices = Flag(
    "num_cpu_devices",
    -1,
    INTEGER,
    "How many CPU devices to simulate; -1 leaves it to XLA_FLAGS. Set it before the first use.",
)
cpu_enable_async_dispatch = Flag(
    "cpu_enable_async_dispatch",
    True,
    BOOLEAN,
    "Whether CPU computations may run while Python continues.",
)
cpu_collectives_implementation = Flag(
    "cpu_collectives_implementation",
    "gloo",
    optional(choice("gloo", "mpi", "none")),
    "No effect. In JAX: library for collectives between CPU processes.",
)
cuda_visible_devices = Flag(
    "cuda_visible_devices",
    "all",
    STRING,
    "Comma-separated indices of the CUDA devices that this process uses, or 'all'.",
)
_GUARD_LEVELS = optional(choice("allow", "log", "disallow", "log_explicit", "disallow_explicit"))
transfer_guard_host_to_device = Flag(
    "transfer_guard_host_to_device",
    None,
    _GUARD_LEVELS,
    "What happens on an implicit transfer from the host to a device.",
)
transfer_guard_device_to_device = Flag(
    "transfer_guard_device_to_device",
    None,
    _GUARD_LEVELS,
    "What happens on an implicit transfer between devices.",
)
transfer_guard_device_to_host = Flag(
    "transfer_guard_device_to_host",
    None,
    _GUARD_LEVELS,
    "What happens on an implicit transfer from a device to the host.",
)
transfer_guard = Flag(
    "transfer_guard",
    None,
    _GUARD_LEVELS,
    "What happens on any implicit transfer: sets the three flags above together.",
    also=(
        transfer_guard_host_to_device,
        transfer_guard_device_to_device,
        transfer_guard_device_to_host,
    ),
)
array_garbage_collection_guard = Flag(
    "array_garbage_collection_guard",
    None,
    optional(choice("allow", "log", "fatal")),
    "What happens when an array is freed by the cycle collector instead of by reference count.",
)
thread_guard = Flag(
    "thread_guard",
    False,
    BOOLEAN,
    "Raise when several threads use a multi-process device at once.",
)

# --- Compilation -----------------------------------------------------------------------------

fusion_fences = Flag(
    "fusion_fences",
    True,
    BOOLEAN,
    "On CPU, put optimization barriers where XLA's fusion would recompute shared values.",
    in_key=True,
)
enable_compilation_cache = Flag(
    "enable_compilation_cache",
    True,
    BOOLEAN,
    "Keep compiled programs on disk and use them in later processes.",
)
compilation_cache_dir = Flag(
    "compilation_cache_dir",
    None,
    optional(STRING),
    "Folder of the disk cache; None is a folder in the user's cache directory.",
)
compilation_cache_max_size = Flag(
    "compilation_cache_max_size",
    -1,
    INTEGER,
    "Bytes that the disk cache may hold; -1 is Covector's own bound.",
)
persistent_cache_min_compile_time_secs = Flag(
    "persistent_cache_min_compile_time_secs",
    0.0,
    NUMBER,
    "Programs that compile faster than this are not written to disk.",
)
persistent_cache_min_entry_size_bytes = Flag(
    "persistent_cache_min_entry_size_bytes",
    0,
    INTEGER,
    "Programs smaller than this are not written to disk.",
)
raise_persistent_cache_errors = Flag(
    "raise_persistent_cache_errors",
    False,
    BOOLEAN,
    "Raise errors of reading or writing the disk cache, instead of treating them as misses.",
)
disable_most_optimizations = Flag(
    "disable_most_optimizations",
    False,
    BOOLEAN,
    "Compile faster to slower code.",
    in_key=True,
)
_EFFORTS = ("UNKNOWN", "O0", "O1", "O2", "O3")
optimization_level = Flag(
    "optimization_level",
    "UNKNOWN",
    choice(*_EFFORTS),
    "How hard the compiler tries to make the program fast.",
    in_key=True,
)
memory_fitting_level = Flag(
    "memory_fitting_level",
    "O2",
    choice(*_EFFORTS),
    "How hard the compiler tries to make the program fit in device memory.",
    in_key=True,
)
dump_ir_to = Flag(
    "dump_ir_to",
    "",
    STRING,
    "A folder into which every lowered program is written; empty writes none.",
)
dump_ir_modes = Flag(
    "dump_ir_modes",
    "stablehlo",
    STRING,
    "Comma-separated forms to write: 'stablehlo', 'jaxpr'.",
)
include_full_tracebacks_in_locations = Flag(
    "include_full_tracebacks_in_locations",
    True,
    BOOLEAN,
    "No effect. In JAX: put the whole call stack, not only the user's line, into the locations "
    "of a lowered program.",
)

# --- Sharding and interoperation -------------------------------------------------------------

auto_pcast = Flag(
    "auto_pcast",
    True,
    BOOLEAN,
    "No effect. In JAX: in shard_map, convert values that are equal on all devices to varying "
    "ones where needed.",
    in_key=True,
)
remove_size_one_mesh_axis_from_type = Flag(
    "remove_size_one_mesh_axis_from_type",
    False,
    BOOLEAN,
    "No effect. In JAX: leave mesh axes of size one out of array types.",
    in_key=True,
)
jax2tf_associative_scan_reductions = Flag(
    "jax2tf_associative_scan_reductions",
    False,
    BOOLEAN,
    "No effect. In JAX: lower cumulative operations to associative scans.",
    in_key=True,
)

# --- The states that jaxlib's C++ asks for ----------------------------------------------------

enable_x64_state = enable_x64
disable_jit_state = disable_jit
post_hook_state = m.config.Config("post_hook", None)
_disable_jit_in_cpp = m.config.Config("covector_disable_jit_in_cpp", False)  # see the top

m.jax_jit.set_enable_x64_state(enable_x64)
m.jax_jit.set_disable_jit_state(_disable_jit_in_cpp)
m.jax_jit.set_post_hook_state(post_hook_state)


def _mirror_in_cpp(flag: Flag, attribute: str, levels: Any) -> None:
    """Keep one field of jaxlib's guard state equal to a flag."""

    def mirror(value: str | None, thread_local: bool) -> None:
        level = None if value is None else getattr(levels, value.upper())
        state = m.guard_lib.thread_local_state() if thread_local else m.guard_lib.global_state()
        setattr(state, attribute, level)

    flag.notify(mirror)
    if flag.value is not None:  # from the environment
        mirror(flag.value, False)


for _flag, _attribute in (
    (transfer_guard_host_to_device, "host_to_device"),
    (transfer_guard_device_to_device, "device_to_device"),
    (transfer_guard_device_to_host, "device_to_host"),
):
    if transfer_guard.value is not None and _flag.value is None:
        _flag.set_global(transfer_guard.value)
    _mirror_in_cpp(_flag, _attribute, m.guard_lib.TransferGuardLevel)
_mirror_in_cpp(
    array_garbage_collection_guard, "garbage_collect_array", m.guard_lib.GarbageCollectionGuardLevel
)

thread_guard.notify(lambda value, _: m.guard_lib.update_thread_guard_global_state(bool(value)))


def checking_leaks() -> Scope:
    """A context manager in which `check_tracer_leaks` is on."""
    return check_tracer_leaks(True)


# Flags of JAX that have no counterpart here, with JAX's defaults. They can be read and set, so
# that programs run unchanged; setting one to another value warns that it has no effect.
INERT: dict[str, Any] = {
    "check_vma": False,
    "eager_constant_folding": False,
    "jax2tf_default_native_serialization": True,
    "jax_accurate_erf_inv": False,
    "jax_captured_constants_report_frames": 0,
    "jax_captured_constants_warn_bytes": 2_000_000_000,
    "jax_check_static_indices": False,
    "jax_compilation_cache_check_contents": False,
    "jax_compilation_cache_expect_pgle": False,
    "jax_compilation_cache_include_metadata_in_key": False,
    "jax_compiler_detailed_logging_min_ops": 10,
    "jax_compiler_enable_remat_pass": True,
    "jax_custom_jvp3": False,
    "jax_custom_vjp3": False,
    "jax_debug_log_modules": "",
    "jax_disable_bwd_checks": False,
    "jax_disable_vmap_shmap_error": False,
    "jax_distributed_debug": False,
    "jax_embedded_constants_max_bytes": 32,
    "jax_enable_pgle": False,
    "jax_error_checking_behavior_divide": "ignore",
    "jax_error_checking_behavior_nan": "ignore",
    "jax_error_checking_behavior_oob": "ignore",
    "jax_high_dynamic_range_gumbel": False,
    "jax_hlo_source_file_canonicalization_regex": None,
    "jax_logging_level": "NOTSET",
    "jax_mutable_array_checks": True,
    "jax_persistent_cache_enable_xla_caches": "xla_gpu_per_fusion_autotune_cache_dir",
    "jax_remat3": False,
    "jax_scan3": False,
    "jax_send_traceback_to_runtime": "off",
    "jax_serialization_version": 0,
    "jax_sort_devices_by_process_index": True,
    "jax_threefry_gpu_kernel_lowering": False,
    "jax_traceback_in_locations_limit": 100,
    "jax_use_direct_linearize": True,
    "jax_use_magma": "auto",
    "jax_use_shardy_partitioner": True,
    "jax_use_simplified_jaxpr_constants": False,
    "jax_xla_backend": "",
}


class Config:
    """The configuration of the process: `covector.config`.

    A flag is named with the prefix `jax_`, as in JAX, or without.

    >>> config.update("jax_enable_x64", True)
    >>> config.jax_enable_x64, config.enable_x64
    (True, True)
    >>> config.update("enable_x64", False)
    """

    __slots__ = ()

    def update(self, name: str, value: Any) -> None:
        """Set a flag for the whole process.

        Args:
            name: the flag, with or without the prefix `jax_`.
            value: the new value.

        Raises:
            AttributeError: there is no such flag.
            ValueError: the flag does not take this value.
        """
        flag = find(name)
        if flag is not None:
            flag.update(value)
        elif name in INERT:
            self._update_inert(name, value)
        else:
            raise AttributeError(_unknown(name))

    def _update_inert(self, name: str, value: Any) -> None:
        if value != INERT[name]:
            warn_user(f"config.update: {name} has no effect in Covector.")
        INERT[name] = value

    def read(self, name: str) -> Any:
        """The value of a flag in this thread."""
        flag = find(name)
        if flag is not None:
            return flag.value
        if name in INERT:
            return INERT[name]
        raise AttributeError(_unknown(name))

    def __getattr__(self, name: str) -> Any:
        return self.read(name)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(
            f"config.{name} cannot be assigned; write config.update({name!r}, {value!r})."
        )

    def parse_flags_with_absl(self) -> None:
        """Set the flags that the command line gives as `--jax_enable_x64=True`.

        Other arguments, and `sys.argv` itself, are left alone; absl is not needed.
        """
        import sys

        for argument in sys.argv[1:]:
            name, assigned, text = argument.removeprefix("--").partition("=")
            flag = find(name) if argument.startswith(("--jax", "--covector")) else None
            if flag is not None:
                flag.update(parse(text if assigned else "true", flag.kind, argument))

    config_with_absl = parse_flags_with_absl

    @property
    def values(self) -> dict[str, Any]:
        """The value of every flag in this thread, by its name with the prefix `jax_`."""
        return {full_name(flag.flag_name): flag.value for flag in FLAGS.values()}

    @property
    def x64_enabled(self) -> bool:
        """Whether 64-bit dtypes are on."""
        return enable_x64.value

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *self.values, *FLAGS})

    def __repr__(self) -> str:
        changed = {
            full_name(flag.flag_name): flag.value
            for flag in FLAGS.values()
            if flag.value != flag.default
        }
        return f"<covector.config, changed from the defaults: {changed}>"


def full_name(name: str) -> str:
    """The name of a flag as JAX writes it.

    >>> full_name("enable_x64"), full_name("jax2tf_associative_scan_reductions")
    ('jax_enable_x64', 'jax2tf_associative_scan_reductions')
    """
    return name if name.startswith("jax") else f"jax_{name}"


def _unknown(name: str) -> str:
    known = [*FLAGS, *(full_name(flag) for flag in FLAGS), *INERT]
    return f"config has no flag {name!r}.{did_you_mean(name, known)}"


config = Config()

"""The contents page of `covector`: where each public name is defined, and what ships it.

Several distributions share the namespace `covector`, and core alone ships its `__init__.py`.
`import covector` must cost milliseconds, so a name's module is imported when the name is first
asked for (PEP 562). A name whose distribution is not installed says what to install, on each of
the ways to ask: `covector.random`, `from covector import random`, `import covector.random`.

Only `os` and `sys`, which every Python process has loaded, are imported here.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

CORE = "covector-core"
NUMPY = "covector-numpy-api"
SCIPY = "covector-scipy-api"
RANDOM = "covector-random"
PARALLEL = "covector-parallel"
NN = "covector-nn"

# Submodules that are names of `covector` by themselves: `covector.lax` needs no import of its own.
MODULES: dict[str, str] = {
    "ad_checkpoint": CORE,
    "core": CORE,
    "custom_batching": CORE,
    "custom_derivatives": CORE,
    "dlpack": CORE,
    "dtypes": CORE,
    "errors": CORE,
    "lax": CORE,
    "ops": CORE,
    "sharding": CORE,
    "stages": CORE,
    "tree": CORE,
    "tree_util": CORE,
    "typing": CORE,
    "image": NN,
    "nn": NN,
    "numpy": NUMPY,
    "scipy": SCIPY,
    "random": RANDOM,
    "parallel": PARALLEL,
}

# Names that a module of covector defines, grouped by (distribution, module).
DEFINITIONS: dict[tuple[str, str], tuple[str, ...]] = {
    (CORE, "_api.jit"): ("jit",),
    (CORE, "_api.tracing"): ("eval_shape", "make_jaxpr"),
    (CORE, "_api.autodiff"): ("grad", "jvp", "linearize", "value_and_grad", "vjp"),
    (CORE, "_api.jacobians"): ("hessian", "jacfwd", "jacobian", "jacrev"),
    (CORE, "_api.vmap"): ("vmap",),
    (CORE, "_api.assemble"): (
        "make_array_from_callback",
        "make_array_from_single_device_arrays",
    ),
    (CORE, "_api.device"): (
        "block_until_ready",
        "copy_to_host_async",
        "device_get",
        "device_put",
        "effects_barrier",
    ),
    (CORE, "_run.memory"): ("memory",),
    (CORE, "_api.ds"): ("ds",),
    (CORE, "_api.environment"): (
        "host_count",
        "host_id",
        "host_ids",
        "live_arrays",
        "print_environment_info",
        "process_indices",
    ),
    (CORE, "_api.forward_backward"): ("fwd_and_bwd",),
    (CORE, "_api.named_scope"): ("named_call", "named_scope"),
    (CORE, "_api.shape_dtype_struct"): ("ShapeDtypeStruct",),
    (CORE, "ad_checkpoint"): ("checkpoint", "checkpoint_policies", "remat"),
    (CORE, "_api.linear"): ("closure_convert", "custom_gradient", "linear_transpose"),
    (CORE, "custom_derivatives"): ("custom_jvp", "custom_vjp"),
    (CORE, "_run.array"): ("Array", "Shard"),
    (CORE, "_run.client"): (
        "Device",
        "default_backend",
        "device_count",
        "devices",
        "local_device_count",
        "local_devices",
        "process_count",
        "process_index",
    ),
    (CORE, "_trace.caches"): ("clear_caches",),
    (CORE, "_trace.trace"): ("typeof",),
    (CORE, "core"): ("ensure_compile_time_eval",),
    (CORE, "sharding"): ("NamedSharding", "P", "make_mesh"),
    (CORE, "dtypes"): ("float0",),
    (CORE, "_config"): (
        "config",
        "allow_f16_reductions",
        "array_garbage_collection_guard",
        "auto_pcast",
        "check_tracer_leaks",
        "checking_leaks",
        "debug_infs",
        "debug_key_reuse",
        "debug_nans",
        "default_device",
        "default_matmul_precision",
        "default_prng_impl",
        "disable_jit",
        "enable_checks",
        "enable_custom_prng",
        "enable_x64",
        "explain_cache_misses",
        "jax2tf_associative_scan_reductions",
        "legacy_prng_key",
        "log_compiles",
        "no_execution",
        "no_tracing",
        "numpy_dtype_promotion",
        "numpy_rank_promotion",
        "remove_size_one_mesh_axis_from_type",
        "softmax_custom_jvp",
        "thread_guard",
        "threefry_partitionable",
        "transfer_guard",
        "transfer_guard_device_to_device",
        "transfer_guard_device_to_host",
        "transfer_guard_host_to_device",
    ),
    (PARALLEL, "parallel"): ("pmap",),
}

# name -> (module, attribute of it or None for the module itself, distribution)
NAMES: dict[str, tuple[str, str | None, str]] = {
    **{name: (f"covector.{name}", None, owner) for name, owner in MODULES.items()},
    **{
        name: (f"covector.{module}", name, owner)
        for (owner, module), names in DEFINITIONS.items()
        for name in names
    },
}


def extend_path(path: "Iterable[str]") -> list[str]:
    """`path` with the `covector` folder of every entry of `sys.path` that has one.

    This is what `pkgutil.extend_path` computes for folders, without the 15 ms that importing
    `pkgutil` takes. Editable installs need it: each piece then lies in a folder of its own.
    """
    folders = (os.path.join(entry, "covector") for entry in sys.path)
    return list(dict.fromkeys([*path, *filter(os.path.isdir, folders)]))


def resolve(name: str) -> object:
    """The value of `covector.<name>`.

    Raises AttributeError for a name that is not public, or whose distribution is not installed.
    """
    from importlib import import_module

    if name not in NAMES:
        raise _attribute_error(f"module 'covector' has no attribute {name!r}", name)
    module_name, attribute, distribution = NAMES[name]
    try:
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name != distribution:
            raise
        raise _attribute_error(missing(f"covector.{name}", distribution), name) from None
    return module if attribute is None else getattr(module, attribute)


def public_names() -> list[str]:
    """The names of `covector` that this installation can resolve, for `dir()` and completion."""
    found = {name: _is_installed(name) for name, owner in MODULES.items() if owner != CORE}
    installed = {CORE} | {MODULES[name] for name, is_found in found.items() if is_found}
    return [name for name, (_, _, owner) in NAMES.items() if owner in installed]


def missing(name: str, distribution: str) -> str:
    """What to tell a user who asked for `name` without having `distribution`."""
    return (
        f"{name} is part of the distribution {distribution}, which is not installed. "
        f"Install it with: pip install {distribution}"
    )


class MissingPieceFinder:
    """The last finder of `sys.meta_path`: explains the import of a piece that is not installed.

    It is asked only for what no other finder has found.
    """

    @staticmethod
    def find_spec(fullname: str, path: object = None, target: object = None) -> None:
        """None for all but the pieces of covector; ModuleNotFoundError for a missing piece."""
        package, _, name = fullname.rpartition(".")
        if package != "covector" or name not in NAMES:
            return
        module_name, _, distribution = NAMES[name]
        piece = module_name.removeprefix("covector.")
        if distribution != CORE and not _is_installed(piece):
            # Python swallows the error of `from covector import <name>` if it bears that module's
            # name, and says less. What was not found is the distribution, so the error bears that.
            raise ModuleNotFoundError(missing(fullname, distribution), name=distribution)


def _is_installed(piece: str) -> bool:
    from importlib.machinery import PathFinder

    path = sys.modules["covector"].__path__
    return PathFinder.find_spec(f"covector.{piece}", path) is not None


def _attribute_error(message: str, name: str) -> AttributeError:
    return AttributeError(message, name=name, obj=sys.modules["covector"])

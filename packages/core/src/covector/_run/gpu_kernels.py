"""jaxlib's kernels for GPUs of NVIDIA: cuSOLVER, cuSPARSE and its own, given to the plugin.

They are in the wheel `jax-cuda13-plugin` (or 12), beside the runtime's own wheel. This follows
jaxlib's interface, and was not run on a GPU.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

_PLATFORM = "CUDA"
_EXTENSIONS = (
    "jax_cuda13_plugin.cuda_plugin_extension",
    "jax_cuda12_plugin.cuda_plugin_extension",
)
_FAMILIES = ("gpu_linalg", "gpu_prng", "gpu_solver", "gpu_sparse")
_ON_HOST = "@cuhybrid_"  # kernels that call LAPACK on the host


def register(api: Any) -> None:
    """Make the kernels known to the plugin ``api``, before its client is made.

    Without their wheel, programs that need one fail when they are compiled.
    """
    extension = _extension()
    if extension is None:
        return
    for name, value in extension.ffi_types().items():
        extension.register_custom_type(api, name, value)
    for name, handler in extension.ffi_handlers().items():
        extension.register_custom_call_target(api, name, handler, _PLATFORM, 1, 0)
    for family in _FAMILIES:
        module = importlib.import_module(f"jaxlib.{family}")
        for name, kernel, version in module.registrations()[_PLATFORM]:
            extension.register_custom_call_target(api, name, kernel, _PLATFORM, version, 0)


def _extension() -> Any:
    for name in _EXTENSIONS:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    return None


def prepare_for(text: str) -> None:
    """Make LAPACK ready if the module ``text`` calls a kernel that needs it on the host."""
    if _ON_HOST in text:
        _initialize()


@cache
def _initialize() -> None:
    from jaxlib import gpu_solver

    gpu_solver.initialize_hybrid_kernels()

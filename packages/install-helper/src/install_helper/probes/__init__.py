"""Probes fill `Facts`: one small function for each fact, reading through the host alone.

A probe never raises and never imports what it examines. `gather` calls them in an order in which
later ones use earlier ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from install_helper.facts import Facts
from install_helper.host import Host
from install_helper.probes import accelerators, cuda, nvidia, packages, python, system

VARIABLES = (
    "LD_LIBRARY_PATH", "LD_PRELOAD", "PATH", "CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "CUDA_DIR",
    "XLA_FLAGS", "TF_XLA_FLAGS", "LIBTPU_INIT_ARGS", "PYTHONPATH", "CONDA_PREFIX",
    "CONDA_OVERRIDE_CUDA", "VIRTUAL_ENV", "ROCM_PATH", "HIP_PATH", "HSA_OVERRIDE_GFX_VERSION",
    "ENABLE_PJRT_COMPATIBILITY", "PJRT_NAMES_AND_LIBRARY_PATHS", "TF_FORCE_GPU_ALLOW_GROWTH",
    "TPU_LIBRARY_PATH", "TPU_SKIP_MDS_QUERY", "TPU_VISIBLE_DEVICES", "TPU_WORKER_ID",
    "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES", "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES", "ONEAPI_DEVICE_SELECTOR", "ONEAPI_ROOT", "SLURM_JOB_ID",
    "MAMBA_EXE", "SLURM_JOB_GPUS", "SLURM_GPUS_ON_NODE", "LOADEDMODULES", "PYTHONNOUSERSITE",
)  # fmt: skip
FAMILIES = ("JAX_", "COVECTOR_", "CUDA_", "XLA_PYTHON_CLIENT_", "XLA_CLIENT_")
LONGEST = 20_000


def variables(env: Mapping[str, str]) -> dict[str, str]:
    """The variables that change what is loaded or seen; none that is likely to hold a secret."""
    return {
        name: value[:LONGEST]
        for name, value in sorted(env.items())
        if name in VARIABLES or name.startswith(FAMILIES)
    }


def gather(host: Host, interpreter: Mapping[str, Any] | None = None) -> Facts:
    """Read everything through a host."""
    env = variables(host.env)
    about_system = system.probe(host)
    about_python = python.probe(host, interpreter)
    about_packages = packages.probe(host, about_python)
    cards = accelerators.cards(host)
    about_nvidia = nvidia.probe(host, about_python)
    return Facts(
        system=about_system,
        python=about_python,
        packages=about_packages,
        cards=cards,
        nvidia=about_nvidia,
        cuda=cuda.probe(host, about_python, about_packages, about_system),
        tpu=accelerators.tpu(host, cards),
        rocm=accelerators.rocm(host),
        oneapi=accelerators.oneapi(host),
        env=env,
    )

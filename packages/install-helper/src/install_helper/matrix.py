"""The table of releases: which jaxlib exists for which Python, platform, CUDA and driver.

The table is data from package metadata (see `tools/refresh_matrix.py`). A release newer than the
table is not an error: callers then rely on the metadata of what is installed.
"""

from __future__ import annotations

import json
import os
from functools import lru_cache
from typing import Any

from install_helper.versions import at_least, numbers, older, same_release

COVECTOR_PYTHON = "3.12"
COVECTOR_JAXLIB = ">=0.11.2,<0.13"
COVECTOR_EXTRAS_JAXLIB = "0.12.0.1"  # what the extras of this release of Covector pin


@lru_cache(maxsize=1)
def table() -> dict[str, Any]:
    """The whole table."""
    path = os.path.join(os.path.dirname(__file__), "data", "matrix.json")
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def jaxlib(version: str | None) -> dict[str, Any] | None:
    """The row of a jaxlib release, or None where the table has none."""
    return next((r for r in table()["jaxlibs"] if same_release(r["jaxlib"], version)), None)


def framework(version: str | None) -> dict[str, Any] | None:
    """The row of a jax release, or None."""
    return next((r for r in table()["frameworks"] if same_release(r["version"], version)), None)


def newest_jaxlib() -> str:
    """The newest release that the table knows."""
    return table()["jaxlibs"][-1]["jaxlib"]


def platform_key(system: str | None, machine: str | None) -> str | None:
    """The table's name of a platform, or None where no wheel was ever built for it.

    >>> platform_key("Linux", "x86_64"), platform_key("Windows", "ARM64")
    ('linux_x86_64', None)
    """
    arch = {"amd64": "x86_64", "arm64": "aarch64"}.get((machine or "").lower(), machine)
    known = {
        ("Linux", "x86_64"): "linux_x86_64",
        ("Linux", "aarch64"): "linux_aarch64",
        ("Darwin", "aarch64"): "macos_arm64",
        ("Darwin", "x86_64"): "macos_x86_64",
        ("Windows", "x86_64"): "windows_x86_64",
    }
    return known.get((system or "", arch or ""))


def pythons(row: dict[str, Any], platform: str) -> tuple[str, ...]:
    """The Pythons that a jaxlib release has wheels for on a platform."""
    if not row.get("platforms", {}).get(platform):
        return ()
    offered = row.get("on_main_index_wheels")
    return tuple(offered.get(platform, ()) if offered else row["python"])


def glibc_least(row: dict[str, Any], platform: str) -> str | None:
    """The least glibc of a release's wheel, or None where it has no Linux wheel there."""
    return (row.get("glibc_min") or {}).get(platform.replace("linux_", ""))


def has_free_threaded(row: dict[str, Any], python: str) -> bool:
    """Whether a release has a wheel for the free-threaded build of a Python."""
    return f"cp{python.replace('.', '')}t" in row.get("python_free_threaded", ())


def jaxlibs_for(
    python: str, platform: str, glibc: str | None = None, *, free_threaded: bool = False
) -> list[dict[str, Any]]:
    """The releases that a Python on a platform can install, oldest first."""
    found = []
    for row in table()["jaxlibs"]:
        if python not in pythons(row, platform):
            continue
        if glibc and older(glibc, glibc_least(row, platform)):
            continue
        if free_threaded and not has_free_threaded(row, python):
            continue
        found.append(row)
    return found


def plugin_versions(package: str, platform: str, python: str) -> tuple[str, ...]:
    """The releases of an accelerator package for a platform and Python, newest first."""
    return tuple(table()["plugins"].get(package, {}).get(platform, {}).get(python, ()))


def cuda_build(row: dict[str, Any], major: int, *, plugin: bool = True) -> dict[str, Any] | None:
    """The CUDA build of a release for a CUDA major: its plugin, or the build inside the wheel."""
    for build in reversed(row.get("cuda", ())):
        if build["cuda_major"] == major and (build["mechanism"] == "pjrt_plugin") == plugin:
            return build
    return None


def wheel_bounds(plugin: str, version: str | None) -> dict[str, str]:
    """The bounds that a plugin's release sets for NVIDIA wheels.

    Between the releases that were read the nearest older one answers.
    """
    rows = table()["nvidia_wheel_bounds"].get(plugin, {})
    fitting = [v for v in rows if at_least(version, v)]
    return dict(rows[fitting[-1]]["wheels"]) if fitting else {}


def family(major: int) -> dict[str, Any]:
    """Least driver and compute capability of a CUDA major."""
    return next((r for r in table()["cuda_families"] if r["major"] == major), {})


def driver_cuda(driver: str | None) -> str | None:
    """The CUDA version that a driver serves, from the number of its branch.

    >>> driver_cuda("550.54.14"), driver_cuda("999.1")
    ('12.4', None)
    """
    branch = numbers(driver, 1)
    if branch is None:
        return None
    value = table()["driver_branch_to_cuda"].get(str(branch[0]))
    if value:
        return value.split()[0]
    below = [int(b) for b in table()["driver_branch_to_cuda"] if int(b) <= branch[0]]
    # Between two known branches the older one's answer is safe; beyond the last one nothing is.
    if not below or max(below) == max(int(b) for b in table()["driver_branch_to_cuda"]):
        return None
    return table()["driver_branch_to_cuda"][str(max(below))].split()[0]


def cuda_for_gpu(capability: str | None) -> str | None:
    """The least CUDA toolkit that knows a GPU, or None where the table does not say."""
    value = table()["gpu_min_cuda"].get(capability or "")
    return value.split()[0] if value else None


def architecture(capability: str | None) -> str:
    """The name of a GPU generation, empty where unknown."""
    return table()["gpu_arch_names"].get(capability or "", "")


def libtpu_pin(jax: str | None) -> str | None:
    """The libtpu requirement of a jax release, or None."""
    return next((p["libtpu"] for p in table()["tpu"]["pins"] if same_release(p["jax"], jax)), None)


def numpy_least(jaxlib_version: str | None) -> str | None:
    """The least NumPy of a jaxlib release."""
    row = jaxlib(jaxlib_version)
    return row.get("numpy_min") if row else None


def is_newer_than_table(version: str | None) -> bool:
    """Whether a release came after the table was written."""
    return older(newest_jaxlib(), version)


def local_build_tags() -> dict[str, tuple[str, str]]:
    """Each local label such as ``cuda111``: the first and the last jaxlib that had it."""
    spans: dict[str, tuple[str, str]] = {}
    for row in table()["jaxlibs"]:
        for build in row.get("cuda", ()):
            if build["mechanism"] == "local_version_find_links":
                first = spans.get(build["tag"], (row["jaxlib"],))[0]
                spans[build["tag"]] = (first, row["jaxlib"])
    return spans

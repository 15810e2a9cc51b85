"""The builds before plugins: one jaxlib for each CUDA, as the table has them."""

from __future__ import annotations

from install_helper import matrix
from install_helper.versions import at_least, numbers, satisfies


def toolkit_of(build: dict) -> str:
    """The toolkits that a build accepts, in words."""
    least, major = build["cuda_min"], build["cuda_major"]
    return least if build.get("cuda_exact") else f"{least} or a newer {major}.x"


def builds_for(toolkit: str | None, oldest_gpu: str | None) -> list[tuple[dict, dict]]:
    """The builds for a toolkit (None: CUDA 11) and a GPU, oldest first."""
    version = toolkit or "11.8"
    major, found = (numbers(version, 1) or (0,))[0], []
    for row in matrix.table()["jaxlibs"]:
        for build in row.get("cuda", ()):
            if build["mechanism"] != "local_version_find_links" or build["cuda_major"] != major:
                continue
            exact = numbers(version, 2) == numbers(build["cuda_min"], 2)
            new_enough = at_least(version, build["cuda_min"])
            gpu = not oldest_gpu or at_least(oldest_gpu, build["compute_capability_min"])
            if gpu and (exact if build.get("cuda_exact") else new_enough):
                found.append((row, build))
    return found


def jax_for(jaxlib: str, python: str | None) -> str:
    """The newest jax that accepts a jaxlib and a Python."""
    fitting = [
        row["version"]
        for row in matrix.table()["frameworks"]
        if satisfies(jaxlib, f">={row['jaxlib_min']}")
        and satisfies(python, row.get("requires_python") or "") is not False
        and (not row.get("jaxlib_max") or at_least(row["jaxlib_max"], jaxlib))
    ]
    return fitting[-1] if fitting else jaxlib

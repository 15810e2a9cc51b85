"""Installed distributions: their versions, bounds and files, without importing any.

Directory names give names and versions of all; the metadata are read of those that matter only,
so that ten thousand packages cost no more than a listing.
"""

from __future__ import annotations

import json
import re

from install_helper.facts import Distribution, Packages, Python
from install_helper.host import Host
from install_helper.values import Value, absent, known
from install_helper.versions import normalize, requirement

INTERESTING = re.compile(
    r"(jax.*|covector.*|nvidia-.*|libtpu.*|torch|torchvision|triton|tensorflow.*|cupy-.*|"
    r"onnxruntime-gpu|numpy|scipy|ml-dtypes|flax|pip|uv|intel-extension-for-openxla)$"
)
CHECKED = re.compile(r"(nvidia-.*|jax.*-(plugin|pjrt)|jaxlib|libtpu)$")
TAGGED = re.compile(r"(jaxlib|jax-.*-plugin|numpy|scipy|ml-dtypes)$")
CONDA_NAMES = re.compile(
    r"(jaxlib?|cuda-version|cuda-nvcc.*|cudatoolkit|cudnn|nccl|libcublas|numpy|python|"
    r"jax-cuda\d+-(plugin|pjrt))-\d"
)
# Names of packages, and of standard modules that they import and users like to take.
SHADOWS = (
    "jax", "jaxlib", "numpy", "covector", "scipy", "random", "types", "typing", "enum", "copy",
    "logging", "inspect", "queue", "secrets", "numbers", "operator", "token",
)  # fmt: skip
FOLDER = re.compile(r"(?P<name>.+?)-(?P<version>\d[^-]*?)(?:-py3.*)?\.(?:dist-info|egg-info)$")
RECORD_LINES = 4000


def probe(host: Host, python: Python) -> Packages:
    """Read the module path of an interpreter."""
    user_site = (python.user_site,) if python.user_site else ()
    paths: list[str] = list(dict.fromkeys((*python.paths, *user_site)))
    found, total, unreadable = [], 0, []
    for path in paths[:200]:
        names = host.names(path)
        if names.state == "denied":
            unreadable.append(path)
        for name in names.value or ():
            if name.endswith((".dist-info", ".egg-info")):
                total += 1
                _append(found, distribution(host, path, name))
    return Packages(
        distributions=known(tuple(found), ", ".join(paths[:4])) if paths else absent("sys.path"),
        total=total,
        conda=conda_packages(host, python) if python.conda else absent("conda-meta"),
        plugin_folders=plugin_folders(host, paths),
        shadows=shadows(host, python),
        wanted=wanted(host, python.working_directory),
        unreadable=tuple(unreadable),
    )


def _append(found: list[Distribution], item: Distribution | None) -> None:
    if item is not None:
        found.append(item)


def distribution(host: Host, path: str, folder: str) -> Distribution | None:
    """Read one metadata directory; None where its name does not matter."""
    match = FOLDER.match(folder)
    name = normalize(match["name"] if match else folder.rsplit(".", 1)[0])
    if not INTERESTING.match(name):
        return None
    text = host.read(f"{path}/{folder}/METADATA", 1 << 18)
    header = (text.value or "").partition("\n\n")[0]
    version = re.search(r"^Version:\s*(\S+)", header, re.M)
    guessed = match["version"] if match and text.is_known is False else None
    return Distribution(
        name=name,
        version=version[1] if version else guessed,
        location=path,
        installer=(host.read(f"{path}/{folder}/INSTALLER", 100).value or "").strip()[:40],
        requires=tuple(re.findall(r"^Requires-Dist:\s*(.+?)\s*$", header, re.M)[:500]),
        missing=missing_files(host, path, folder) if CHECKED.match(name) else (),
        tags=wheel_tags(host, path, folder) if TAGGED.match(name) else (),
    )


def wheel_tags(host: Host, path: str, folder: str) -> tuple[str, ...]:
    """What a wheel was built for, such as ``cp312-cp312-manylinux_2_27_x86_64``."""
    text = host.read(f"{path}/{folder}/WHEEL", 1 << 14).value or ""
    return tuple(re.findall(r"^Tag:\s*(\S+)", text, re.M)[:20])


def missing_files(host: Host, path: str, folder: str) -> tuple[str, ...]:
    """Libraries and programs that RECORD lists and that are gone."""
    record = host.read(f"{path}/{folder}/RECORD")
    gone = []
    for line in (record.value or "").splitlines()[:RECORD_LINES]:
        name = line.rsplit(",", 2)[0].strip('"')
        matters = ".so" in name or "/bin/" in name or name.endswith(".bc")
        if matters and not name.startswith("..") and not host.exists(f"{path}/{name}"):
            gone.append(name)
    return tuple(gone[:20])


def conda_packages(host: Host, python: Python) -> Value[tuple[Distribution, ...]]:
    """What conda recorded of the packages that matter."""
    folder = f"{python.prefix}/conda-meta"
    names = host.names(folder)
    if not names.is_known:
        return names  # type: ignore[return-value]
    found = []
    for name in names.value or ():
        if name.endswith(".json") and CONDA_NAMES.match(name):
            _append(found, _conda_package(host, f"{folder}/{name}"))
    return known(tuple(found), folder)


def _conda_package(host: Host, path: str) -> Distribution | None:
    try:
        row = json.loads(host.read(path, 1 << 22).value or "")
        name, version = str(row["name"]), str(row["version"])
        build = str(row.get("build") or row.get("build_string") or "")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return Distribution(name, version, path, installer="conda", build=build)


def plugin_folders(host: Host, paths: list[str]) -> tuple[tuple[str, str], ...]:
    """Every directory below a `jax_plugins` directory on the path: jax imports each."""
    return tuple(
        (name, f"{path}/jax_plugins/{name}")
        for path in paths[:200]
        for name in host.list(f"{path}/jax_plugins")
        if name.startswith("xla_") or name == "metal_plugin"
    )


def shadows(host: Host, python: Python) -> tuple[str, ...]:
    """Files of the working directory that hide a package of their name."""
    here = python.working_directory
    names = set(host.list(here))
    if here in python.paths[1:] or any(n.endswith(".dist-info") for n in names):
        return ()
    return tuple(f"{here.rstrip('/')}/{n}.py" for n in SHADOWS if f"{n}.py" in names)


def wanted(host: Host, folder: str) -> tuple[tuple[str, str], ...]:
    """The requirements in requirement files of the working directory that matter here."""
    found = []
    for name in host.list(folder):
        if re.match(r"requirements.*\.(txt|in)$", name):
            text = host.read(f"{folder}/{name}", 1 << 16).value or ""
            for line in text.splitlines()[:2000]:
                asked = requirement(line) if line.strip() and line[0] not in "#-" else None
                if asked and INTERESTING.match(asked.name):
                    found.append((f"{asked.name}{asked.bounds}", f"{folder}/{name}"))
    return tuple(found[:200])

"""Write the compact table of releases that the wheel carries.

    python tools/refresh_matrix.py --full matrix.json        # compact a full table
    python tools/refresh_matrix.py --wheels DIR              # add the releases of the wheels in DIR

The wheels are what ``pip download --no-deps jax==V jaxlib==V jax-cuda12-plugin==V ...`` leaves, for
each Python and platform (``--python-version``, ``--platform``): the names of the files, and the
metadata inside them, are all that is read, so the second form needs no network.
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
import zipfile
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent.parent / "src" / "install_helper" / "data" / "matrix.json"

# What the rules and the solver read; the rest of the full table is provenance.
FRAMEWORK = ("version", "requires_python", "jaxlib_min", "jaxlib_max", "extras", "libtpu")
JAXLIB = ("jaxlib", "python", "python_free_threaded", "on_main_index", "on_main_index_wheels",
          "platforms", "glibc_min", "cpu_features_x86_64", "numpy_min", "numpy2_ok",
          "scipy_min")  # fmt: skip
CUDA = ("tag", "mechanism", "requirement", "packages", "cuda_min", "cuda_major", "cuda_exact",
        "cuda_built", "cudnn_min", "cudnn_major", "driver_linux_min",
        "driver_linux_min_minor_compat", "compute_capability_min", "os_arch")  # fmt: skip
WHOLE = ("as_of", "nvidia_wheel_bounds", "nvidia_wheel_layout", "cuda_families", "cuda_toolkits",
         "driver_branch_to_cuda", "ptxas", "gpu_arch_names", "gpu_min_cuda", "tpu", "rocm",
         "oneapi", "apple", "newest_nvidia_wheels_seen")  # fmt: skip


def compact(full: dict[str, Any]) -> dict[str, Any]:
    """The part of a full table that the package reads."""
    table = {"schema_version": 1, **{key: full[key] for key in WHOLE}}
    table["frameworks"] = [_pick(row, FRAMEWORK) for row in full["framework_releases"]]
    table["jaxlibs"] = [
        {**_pick(row, JAXLIB), "cuda": [_pick(build, CUDA) for build in row["cuda"]]}
        for row in full["jaxlib_releases"]
    ]
    table["plugins"] = {
        package: {
            platform: {python: row["versions"] for python, row in pythons.items()}
            for platform, pythons in platforms.items()
        }
        for package, platforms in full["plugin_python_support"].items()
    }
    return table


def _pick(row: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: row[key] for key in keys if row.get(key) not in (None, [], "")}


def add_wheels(table: dict[str, Any], folder: Path) -> list[str]:
    """Add to the table what the wheels in a folder say of themselves; name what was added."""
    added = []
    # jaxlib first: a plugin's build stands in the row of its jaxlib.
    wheels = sorted(folder.glob("*.whl"), key=lambda path: (path.name[:7] != "jaxlib-", path.name))
    for wheel in wheels:
        metadata = _metadata(wheel)
        name = re.sub(r"[-_.]+", "-", metadata["Name"][0]).lower()
        version = metadata["Version"][0].partition("+")[0]
        add = {"jax": _add_framework, "jaxlib": _add_jaxlib}.get(name, _add_plugin)
        if add is not _add_plugin or name in table["nvidia_wheel_bounds"]:
            add(table, name, version, metadata, wheel.name)
            added.append(f"{name} {version}")
    return added


def _metadata(wheel: Path) -> dict[str, list[str]]:
    with zipfile.ZipFile(wheel) as archive:
        member = next(n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        text = archive.read(member).decode("utf-8", "replace")
    found: dict[str, list[str]] = {}
    for line in text.partition("\n\n")[0].splitlines():
        key, colon, value = line.partition(": ")
        if colon:
            found.setdefault(key, []).append(value.strip())
    return found


def _row(rows: list[dict[str, Any]], key: str, version: str) -> dict[str, Any]:
    for row in rows:
        if row[key] == version:
            return row
    # A new release is like the one before it until its own metadata say otherwise.
    rows.append({**rows[-1], key: version})
    return rows[-1]


def _jaxlib_row(table: dict[str, Any], version: str) -> dict[str, Any]:
    """The row of a jaxlib; a new one knows no Python yet: its wheels tell."""
    known = any(row["jaxlib"] == version for row in table["jaxlibs"])
    row = _row(table["jaxlibs"], "jaxlib", version)
    if not known:
        row.update(python=[], python_free_threaded=[], on_main_index_wheels={}, cuda=[])
        row["glibc_min"] = dict(row.get("glibc_min", {}))
    return row


def _requirement(metadata: dict[str, list[str]], name: str) -> str:
    for line in metadata.get("Requires-Dist", ()):
        match = re.match(rf"{name}\s*\(?([^;)]*)", line)
        if match and "extra" not in line:
            return match[1]
    return ""


def _least(bounds: str) -> str | None:
    match = re.search(r">=\s*([\d.]+)", bounds)
    return match[1] if match else None


def _add_framework(table, name, version, metadata, file) -> None:
    row = _row(table["frameworks"], "version", version)
    row["requires_python"] = metadata.get("Requires-Python", [">=3.9"])[0]
    row["jaxlib_min"] = _least(_requirement(metadata, "jaxlib")) or row["jaxlib_min"]
    row["jaxlib_max"] = version
    row["extras"] = metadata.get("Provides-Extra", [])
    for line in metadata.get("Requires-Dist", ()):
        if line.startswith("libtpu") and "tpu" in line.partition(";")[2]:
            row["libtpu"] = line.partition(";")[0].strip().replace(" ", "")


# What a wheel's platform tag is called in the table.
PLATFORMS = (
    (r"manylinux.*x86_64|linux_x86_64", "linux_x86_64"),
    (r"manylinux.*aarch64", "linux_aarch64"),
    (r"macosx.*arm64", "macos_arm64"),
    (r"macosx.*x86_64", "macos_x86_64"),
    (r"win_amd64", "windows_x86_64"),
)


def _tags(file: str) -> tuple[str, str, str]:
    """The Python, the ABI and the platform that a wheel's name states, as the table has them."""
    python, abi, place = file[: -len(".whl")].split("-")[-3:]
    match = re.match(r"cp(\d)(\d+)$", python)
    platform = next((name for words, name in PLATFORMS if re.search(words, place)), "")
    return (f"{match[1]}.{match[2]}" if match else ""), abi, platform


def _by_minor(pythons: set[str]) -> list[str]:
    return sorted(pythons, key=lambda python: int(python.split(".")[1]))


def _add_jaxlib(table, name, version, metadata, file) -> None:
    row = _jaxlib_row(table, version)
    python, abi, platform = _tags(file)
    if abi.endswith("t"):
        row["python_free_threaded"] = sorted({*row.get("python_free_threaded", ()), abi})
    elif python:
        row["python"] = _by_minor({*row["python"], python})
        offered = row["on_main_index_wheels"]
        offered[platform] = _by_minor({*offered.get(platform, ()), python})
    glibc = re.search(r"manylinux_(\d+)_(\d+)_(\w+)\.whl$", file)
    if glibc:
        row.setdefault("glibc_min", {})[glibc[3]] = f"{glibc[1]}.{glibc[2]}"
    row["numpy_min"] = _least(_requirement(metadata, "numpy")) or row.get("numpy_min")
    row["scipy_min"] = _least(_requirement(metadata, "scipy")) or row.get("scipy_min")
    row["on_main_index"] = True


def _add_plugin(table, name, version, metadata, file) -> None:
    wheels, pjrt = {}, None
    for line in metadata.get("Requires-Dist", ()):
        match = re.match(r"([\w.-]+)\s*\(?([^;)]*)", line)
        if match and match[1].startswith("nvidia"):
            wheels[match[1]] = match[2].strip().replace(" ", "") or "*"
        elif match and "pjrt" in match[1]:
            pjrt = f"{match[1]}{match[2].strip()}"
    extras = metadata.get("Provides-Extra") or [None]
    python, _, platform = _tags(file)
    if python:
        offered = table["plugins"][name].setdefault(platform, {}).setdefault(python, [])
        if version not in offered:
            offered.insert(0, version)
    _add_build(table, name, version, wheels)
    table["nvidia_wheel_bounds"][name][version] = {
        "requires_python": metadata.get("Requires-Python", [""])[0],
        "pjrt": pjrt,
        "extra": extras[0],
        "wheels": wheels,
    }


def _add_build(table, name, version, wheels) -> None:
    """The CUDA build of a new release: that of the release before it, with this one's bounds."""
    match = re.match(r"jax-cuda(\d+)-plugin$", name)
    rows = {row["jaxlib"]: row for row in table["jaxlibs"]}
    if not match or version not in rows:
        return
    major = int(match[1])
    if any(build["cuda_major"] == major for build in rows[version]["cuda"]):
        return
    before = [
        b for row in table["jaxlibs"] for b in row.get("cuda", ()) if b["cuda_major"] == major
    ]
    build = {**before[-1], "requirement": f"{name}[with-cuda]=={version}"}
    build["packages"] = [f"{name}=={version}", f"jax-cuda{major}-pjrt=={version}"]
    build["cudnn_min"] = _least(wheels.get(f"nvidia-cudnn-cu{major}", "")) or build["cudnn_min"]
    rows[version]["cuda"].append(build)


def main() -> None:
    """Read the arguments, write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--full", type=Path, help="a full table to compact")
    source.add_argument("--wheels", type=Path, help="a folder of wheels to add")
    parser.add_argument("--output", type=Path, default=DATA)
    options = parser.parse_args()
    if options.full:
        table = compact(json.loads(options.full.read_text(encoding="utf-8")))
    else:
        table = json.loads(options.output.read_text(encoding="utf-8"))
        for line in add_wheels(table, options.wheels):
            print("added", line)
        table["as_of"] = datetime.date.today().isoformat()
    options.output.write_text(json.dumps(table, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

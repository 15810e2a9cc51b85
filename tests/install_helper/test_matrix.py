"""The table that the wheel carries, and the script that adds releases to it."""

from __future__ import annotations

import importlib.util
import json
import zipfile
from itertools import pairwise
from pathlib import Path

import pytest
from install_helper import matrix
from install_helper.versions import at_least, older, parse, satisfies

PACKAGE = Path(__file__).parents[2] / "packages" / "install-helper"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location(
        "refresh_matrix", PACKAGE / "tools" / "refresh_matrix.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_releases_are_in_order_and_their_bounds_hold():
    table = matrix.table()
    names = [row["jaxlib"] for row in table["jaxlibs"]]
    assert all(older(a, b) for a, b in pairwise(names))
    for row in table["frameworks"]:
        least, most = row["jaxlib_min"], row.get("jaxlib_max")
        assert most is None or at_least(most, least), row
    for versions in table["nvidia_wheel_bounds"].values():
        for row in versions.values():
            assert all(satisfies("1.0", bound) is not None for bound in row["wheels"].values())


@pytest.mark.parametrize(
    "driver, cuda",
    [("418.39", "10.1"), ("470.57.02", "11.4"), ("525.60.13", "12.0"), ("537.13", "12.2"),
     ("580.95.05", "13.0"), ("999.1", None), ("junk", None), (None, None)],
)  # fmt: skip
def test_cuda_of_a_driver(driver, cuda):
    assert matrix.driver_cuda(driver) == cuda


def test_between_the_releases_that_were_read_the_older_answers():
    plugin = "jax-cuda12-plugin"
    assert matrix.wheel_bounds(plugin, "0.8.0") == matrix.wheel_bounds(plugin, "0.7.2")
    assert matrix.wheel_bounds(plugin, "0.1") == {}


def test_wheels_add_a_release(script, tmp_path):
    metadata = {
        "jax-0.13.0-py3-none-any.whl": "Name: jax\nVersion: 0.13.0\nRequires-Python: >=3.13\n"
        "Requires-Dist: jaxlib<=0.13.0,>=0.12.0\nProvides-Extra: tpu\n"
        'Requires-Dist: libtpu==0.0.60.*; extra == "tpu"\n',
        "jax_cuda13_plugin-0.13.0-cp313-cp313-manylinux_2_27_x86_64.whl": "Name: jax-cuda13-plugin"
        "\nVersion: 0.13.0\nRequires-Python: >=3.13\nProvides-Extra: with-cuda\n"
        'Requires-Dist: nvidia-cudnn-cu13<10.0,>=9.15; extra == "with-cuda"\n'
        "Requires-Dist: jax-cuda13-pjrt==0.13.0\n",
    }
    for name, text in metadata.items():
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("x.dist-info/METADATA", f"{text}\nRequires-Dist: not-a-header\n")
    table = json.loads(json.dumps(matrix.table()))
    assert script.add_wheels(table, tmp_path) == ["jax 0.13.0", "jax-cuda13-plugin 0.13.0"]
    assert table["plugins"]["jax-cuda13-plugin"]["linux_x86_64"]["3.13"][0] == "0.13.0"
    row = table["frameworks"][-1]
    assert (row["version"], row["jaxlib_min"], row["jaxlib_max"]) == ("0.13.0", "0.12.0", "0.13.0")
    assert row["libtpu"] == "libtpu==0.0.60.*"
    bounds = table["nvidia_wheel_bounds"]["jax-cuda13-plugin"]["0.13.0"]
    assert bounds["wheels"] == {"nvidia-cudnn-cu13": "<10.0,>=9.15"}
    assert bounds["pjrt"] == "jax-cuda13-pjrt==0.13.0"


def wheels_of(row, table, folder):
    """Wheels that say of themselves what the table says of a release."""
    version = row["jaxlib"]
    tags = {"linux_x86_64": "manylinux_2_27_x86_64", "linux_aarch64": "manylinux_2_27_aarch64",
            "macos_arm64": "macosx_11_0_arm64", "windows_x86_64": "win_amd64"}  # fmt: skip
    names = {}
    for platform, pythons in row["on_main_index_wheels"].items():
        for python in pythons:
            number = python.replace(".", "")
            names[f"jaxlib-{version}-cp{number}-cp{number}-{tags[platform]}.whl"] = (
                f"Name: jaxlib\nVersion: {version}\nRequires-Dist: numpy>={row['numpy_min']}\n"
                f"Requires-Dist: scipy>={row['scipy_min']}\n"
            )
    for abi in row["python_free_threaded"]:
        names[f"jaxlib-{version}-{abi[:-1]}-{abi}-manylinux_2_27_x86_64.whl"] = (
            f"Name: jaxlib\nVersion: {version}\nRequires-Dist: numpy>={row['numpy_min']}\n"
            f"Requires-Dist: scipy>={row['scipy_min']}\n"
        )
    for build in row["cuda"]:
        plugin = f"jax-cuda{build['cuda_major']}-plugin"
        about = table["nvidia_wheel_bounds"][plugin][version]
        lines = [f"Name: {plugin}", f"Version: {version}", f"Requires-Dist: {about['pjrt']}"]
        lines += [f"Requires-Python: {about['requires_python']}", "Provides-Extra: with-cuda"]
        lines += [f'Requires-Dist: {name}{bound if bound != "*" else ""}; extra == "with-cuda"'
                  for name, bound in about["wheels"].items()]  # fmt: skip
        for platform, pythons in table["plugins"][plugin].items():
            for python in (p for p, versions in pythons.items() if version in versions):
                number = python.replace(".", "")
                stem = plugin.replace("-", "_")
                names[f"{stem}-{version}-cp{number}-cp{number}-{tags[platform]}.whl"] = "\n".join(
                    lines
                )
    for name, text in names.items():
        with zipfile.ZipFile(folder / name, "w") as archive:
            archive.writestr("x.dist-info/METADATA", text + "\n")


@pytest.mark.parametrize("version", ["0.11.2", "0.12.0.1"])
def test_a_release_is_made_again_from_its_wheels(script, tmp_path, version):
    known = matrix.table()
    table = json.loads(json.dumps(known))
    row = next(row for row in known["jaxlibs"] if row["jaxlib"] == version)
    wheels_of(row, known, tmp_path)
    table["jaxlibs"] = [r for r in table["jaxlibs"] if older(r["jaxlib"], version)]
    for versions in table["nvidia_wheel_bounds"].values():
        versions.pop(version, None)
    for package in ("jax-cuda12-plugin", "jax-cuda13-plugin"):
        for pythons in table["plugins"][package].values():
            for offered in pythons.values():
                if version in offered:
                    offered.remove(version)
    script.add_wheels(table, tmp_path)
    made = table["jaxlibs"][-1]
    assert {**made, "cuda": None} == {**row, "cuda": None}
    builds = {b["cuda_major"]: b for b in made["cuda"]}
    for build in row["cuda"]:
        again = builds[build["cuda_major"]]
        for key in ("requirement", "packages", "cuda_major", "cudnn_min", "mechanism"):
            assert again[key] == build[key], key
        plugin = f"jax-cuda{build['cuda_major']}-plugin"
        bounds = table["nvidia_wheel_bounds"][plugin][version]
        assert bounds["wheels"] == known["nvidia_wheel_bounds"][plugin][version]["wheels"]
        for platform, pythons in known["plugins"][plugin].items():
            offering = {p for p, v in table["plugins"][plugin][platform].items() if version in v}
            assert offering == {p for p, v in pythons.items() if version in v}


def test_a_full_table_is_made_small(script):
    full = {key: f"whole {key}" for key in script.WHOLE}
    full["framework_releases"] = [{"version": "1", "jaxlib_min": "1", "date": "today"}]
    full["jaxlib_releases"] = [{"jaxlib": "1", "notes": "x", "cuda": [{"tag": "t", "sass": []}]}]
    full["plugin_python_support"] = {"p": {"linux": {"3.12": {"versions": ["1"], "first": "1"}}}}
    table = script.compact(full)
    assert table["frameworks"] == [{"version": "1", "jaxlib_min": "1"}]
    assert table["jaxlibs"] == [{"jaxlib": "1", "cuda": [{"tag": "t"}]}]
    assert table["plugins"] == {"p": {"linux": {"3.12": ["1"]}}}
    assert table["ptxas"] == "whole ptxas" and table["schema_version"] == 1


def test_covectors_own_bounds_are_those_of_its_packages():
    import tomllib

    root = PACKAGE.parents[1]
    core = tomllib.loads((root / "packages/core/pyproject.toml").read_text(encoding="utf-8"))
    assert f"jaxlib{matrix.COVECTOR_JAXLIB}" in core["project"]["dependencies"]
    assert core["project"]["requires-python"] == f">={matrix.COVECTOR_PYTHON}"
    umbrella = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for lines in umbrella["optional-dependencies"].values():
        if any(line.startswith("jaxlib") for line in lines):
            assert f"jaxlib=={matrix.COVECTOR_EXTRAS_JAXLIB}" in lines


def test_the_wheel_stays_small(tmp_path):
    source = PACKAGE / "src"
    archive = tmp_path / "package.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in source.rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                packed.write(path, path.relative_to(source))
    assert archive.stat().st_size < 300_000


def test_newest_release_is_parsed():
    assert parse(matrix.newest_jaxlib())

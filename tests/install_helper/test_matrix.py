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
    row = table["frameworks"][-1]
    assert (row["version"], row["jaxlib_min"], row["jaxlib_max"]) == ("0.13.0", "0.12.0", "0.13.0")
    assert row["libtpu"] == "libtpu==0.0.60.*"
    bounds = table["nvidia_wheel_bounds"]["jax-cuda13-plugin"]["0.13.0"]
    assert bounds["wheels"] == {"nvidia-cudnn-cu13": "<10.0,>=9.15"}
    assert bounds["pjrt"] == "jax-cuda13-pjrt==0.13.0"


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

"""What a plan prints resolves on the package index. Only run when asked for: ``-m network``."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

from install_helper import Request, recommend
from simulator import Machine

pytestmark = pytest.mark.network


@pytest.fixture(autouse=True)
def asked_for(request):
    if "network" not in (request.config.getoption("-m") or ""):
        pytest.skip("asks the package index: run with -m network")
    if shutil.which("uv") is None:
        pytest.skip("resolves with uv, which is not installed")


@pytest.mark.parametrize(
    "python, driver, capability, request_",
    [
        ("3.12", "580.95.05", "9.0", {}),
        ("3.13", "570.124.06", "8.0", {}),
        ("3.12", "535.183.01", "6.1", {}),
        ("3.11", "580.95.05", "8.9", {}),
        ("3.10", "550.54.14", "8.0", {}),
        ("3.12", None, None, {"cuda": "none"}),
        ("3.12", None, None, {"tpu": True}),
        ("3.12", None, None, {"rocm": True}),
    ],
)
def test_requirements_resolve(tmp_path, python, driver, capability, request_):
    machine = Machine(tmp_path / "root")
    if driver:
        machine.driver(driver, (capability,))
    made = recommend(machine.inspect(), Request(python=python, framework="jax", **request_))
    assert made.fits, made.blocked
    command = ["uv", "pip", "compile", "-", "--python-version", python, "--quiet",
               "--python-platform", "x86_64-manylinux_2_31", "--only-binary", ":all:"]  # fmt: skip
    answer = subprocess.run(
        command, input="\n".join(made.requirements), capture_output=True, text=True, timeout=120,
        check=False, cwd=tmp_path,
    )  # fmt: skip
    assert answer.returncode == 0, answer.stderr
    for line in made.resolved:
        name = line.split("==")[0].split(">")[0].split("<")[0].split("[")[0]
        assert f"{name}==" in answer.stdout, name
    assert f"jaxlib=={made.jaxlib}" in answer.stdout

"""Every distinct install command that is printed resolves on the package index: ``-m network``.

The commands are those of all simulated systems, broken and healthy. What the index cannot answer is
left out: releases newer than the table, and the two old pages of wheels. Covector's own pieces are
replaced by what they require.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

from healthy import HEALTHY
from install_helper import Request, commands, diagnose, matrix, recommend
from printed import installs
from scenarios import SCENARIOS
from simulator import Machine

pytestmark = pytest.mark.network
ROOT = Path(__file__).parents[2]
PLATFORMS = {
    ("Linux", "x86_64"): "x86_64-manylinux_2_31",
    ("Linux", "aarch64"): "aarch64-manylinux_2_31",
    ("Darwin", "arm64"): "aarch64-apple-darwin",
    ("Darwin", "x86_64"): "x86_64-apple-darwin",
    ("Windows", "AMD64"): "x86_64-pc-windows-msvc",
}


@pytest.fixture(autouse=True)
def asked_for(request):
    if "network" not in (request.config.getoption("-m") or ""):
        pytest.skip("asks the package index: run with -m network")
    if shutil.which("uv") is None:
        pytest.skip("resolves with uv, which is not installed")


def plans(facts):
    """The plans of a machine for each framework and kind of accelerator."""
    for framework in ("jax", "covector"):
        for request in ({}, {"cuda": "none"}, {"cuda": "12"}, {"cuda": "13"}, {"cuda": "local"}):
            yield recommend(facts, Request(framework=framework, **request))
        yield recommend(facts, Request(framework=framework, tpu=True))
        yield recommend(facts, Request(framework=framework, rocm=True))


def printed(folder):
    """Each distinct install command: Python, platform, options, requirements."""
    found = {}
    for number, build in enumerate([*(b for _, _, b in SCENARIOS), *HEALTHY]):
        machine = Machine(folder / str(number))
        build(machine)
        facts = machine.inspect()
        lines = [step.command for one in diagnose(facts) for step in one.steps]
        lines += [plan.command for plan in plans(facts) if plan.fits]
        platform = PLATFORMS.get((facts.system.name.value, facts.system.machine.value))
        if (facts.system.libc.value or ("", ""))[1] == "2.17":
            platform = "x86_64-manylinux2014"
        version = ".".join(str(facts.python.version.value).split(".")[:2])
        for line in filter(None, lines):
            options, requirements = installs(line) or ((), ())
            if requirements and platform:
                key = (version, platform, tuple(options), tuple(requirements))
                found.setdefault(key, f"{build.__name__}: {line}")
    return found


def asks_for(requirements):
    """Requirements with Covector's pieces replaced by what they require."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    core = tomllib.loads((ROOT / "packages/core/pyproject.toml").read_text(encoding="utf-8"))
    lines = []
    for line in requirements:
        match = re.match(r"covector(?:\[(\w+)\])?$", line)
        if match is None:
            lines.append(line)
            continue
        lines += core["project"]["dependencies"]
        lines += project["optional-dependencies"][match[1]] if match[1] else []
    return lines


def is_beyond_the_index(options, requirements):
    """Whether only another page, or a later day, can answer."""
    later = any(
        matrix.is_newer_than_table(r.partition("==")[2]) for r in requirements if "jax" in r
    )
    return later or any(page in options for page in (commands.OLD_WHEELS, commands.OLD_CUDA_WHEELS))


def resolve(version, platform, options, requirements):
    """What uv says of requirements, and what it finds."""
    command = ["uv", "pip", "compile", "-", "--python-version", version, "--quiet",
               "--python-platform", platform, "--only-binary", ":all:"]  # fmt: skip
    command += ["--no-deps"] if "--no-deps" in options else []
    return subprocess.run(
        command, input="\n".join(requirements), capture_output=True, text=True, timeout=300,
        check=False, cwd="/",
    )  # fmt: skip


def test_every_printed_command_resolves(tmp_path):
    found = {
        key: why for key, why in printed(tmp_path).items() if not is_beyond_the_index(*key[2:])
    }
    assert len(found) > 60
    with ThreadPoolExecutor(2) as pool:
        answers = pool.map(lambda key: resolve(key[0], key[1], key[2], asks_for(key[3])), found)
        failed = [
            f"{found[key]} (Python {key[0]}, {key[1]})\n{answer.stderr}"
            for key, answer in zip(found, answers, strict=True)
            if answer.returncode
        ]
    assert not failed, "\n".join(failed)


@pytest.mark.parametrize(
    "python, driver, capability, request_",
    [
        ("3.12", "580.95.05", "9.0", {}),
        ("3.13", "570.124.06", "8.0", {}),
        ("3.12", "535.183.01", "6.1", {}),
        ("3.11", "580.95.05", "8.9", {}),
        ("3.10", "550.54.14", "8.0", {}),
        ("3.9", "535.183.01", "7.0", {}),
        ("3.12", None, None, {"cuda": "none"}),
        ("3.12", None, None, {"tpu": True}),
        ("3.12", None, None, {"rocm": True}),
    ],
)
def test_what_is_resolved_is_what_the_plan_says(tmp_path, python, driver, capability, request_):
    machine = Machine(tmp_path / "root")
    if driver:
        machine.driver(driver, (capability,))
    made = recommend(machine.inspect(), Request(python=python, framework="jax", **request_))
    assert made.fits, made.blocked
    answer = resolve(python, "x86_64-manylinux_2_31", (), made.requirements)
    assert answer.returncode == 0, answer.stderr
    for line in made.resolved:
        name = re.split(r"[=<>\[]", line)[0]
        assert f"{name}==" in answer.stdout, name
    assert f"jaxlib=={made.jaxlib}" in answer.stdout


@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_the_installers_take_the_commands_as_they_are(tmp_path, installer):
    """Small ones, run with --dry-run: pip fetches the wheels that it is asked about."""
    environment = tmp_path / "env"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    python = environment / "bin" / "python"
    machine = Machine(tmp_path / "root")
    if installer == "uv":
        machine.file("/venv/pyvenv.cfg", "home = /usr/bin\nuv = 0.8.0\n")
        machine.program("/usr/bin/uv", "#!/bin/sh\n")
    from install_helper import installing
    from install_helper.reading import Reading

    machine.python["executable"] = str(python)
    reading = Reading(machine.inspect())
    for line in (
        commands.install(reading, "numpy<2.4", options=("--upgrade",)),
        commands.install(reading, "ml_dtypes>=0.5", "opt_einsum"),
        commands.reinstall(reading, "ml_dtypes==0.5.1"),
    ):
        words = installing.executable_words(reading, line)
        # Elsewhere than in the repository, whose settings uv would apply.
        answer = subprocess.run(
            [*words, "--dry-run"], capture_output=True, text=True, check=False, cwd=tmp_path
        )
        assert answer.returncode == 0, answer.stderr

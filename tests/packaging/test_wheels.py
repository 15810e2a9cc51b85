"""Any subset of the distributions works, from wheels and editable, in a clean environment.

Each environment is made by uv with what the distributions themselves declare, and probed by
`probe.py` in a process of its own.
"""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = sorted(path.name for path in (ROOT / "packages").iterdir())
EVERYTHING = [f"covector-{package}" for package in PACKAGES]

# what is asked for -> what is there then
SUBSETS = {
    "core": (["covector-core"], ["covector-core"]),
    "core + random": (["covector-core", "covector-random"], ["covector-core", "covector-random"]),
    "core + numpy-api": (["covector-numpy-api"], ["covector-core", "covector-numpy-api"]),
    "umbrella": (["covector"], EVERYTHING),
}


def uv(*arguments: str | Path) -> None:
    """Run uv in the repository, whose constraints it heeds; ask the registry only if it must."""
    command = os.environ.get("UV") or shutil.which("uv")
    assert command, "the packaging tests need uv: python3 -m pip install uv"
    for network in (["--offline"], []):
        outcome = subprocess.run(
            [command, *arguments, "--quiet", *network], cwd=ROOT, capture_output=True, text=True
        )
        if outcome.returncode == 0:
            return
    pytest.fail(outcome.stderr)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory) -> Path:
    """A folder with the wheel of every distribution."""
    folder = tmp_path_factory.mktemp("wheels")
    options = ["--wheel", "--no-build-isolation", "--python", sys.executable]
    uv("build", "--all-packages", *options, "--out-dir", folder)
    return folder


@pytest.fixture
def environment(tmp_path) -> Path:
    """The Python of an empty virtual environment."""
    uv("venv", "--python", sys.executable, tmp_path / "environment")
    return tmp_path / "environment/bin/python"


@pytest.fixture
def same_jaxlib(tmp_path) -> Path:
    """A constraints file: the jaxlib that the other tests run on."""
    file = tmp_path / "constraints.txt"
    file.write_text(f"jaxlib=={version('jaxlib')}\n")
    return file


def probe(python: Path, installed: list[str]) -> dict[str, str]:
    """What went wrong in an environment, by the name of the check."""
    script = Path(__file__).with_name("probe.py")
    plain = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    outcome = subprocess.run(
        [python, "-I", script, *installed], capture_output=True, text=True, env=plain
    )
    assert outcome.returncode == 0, outcome.stderr
    return json.loads(outcome.stdout.splitlines()[-1])


def describe(failures: dict[str, str]) -> str:
    return "\n\n".join(f"{check}:\n{error}" for check, error in failures.items())


@pytest.mark.parametrize("subset", SUBSETS)
def test_from_wheels(subset, wheels, environment, same_jaxlib):
    wanted, installed = SUBSETS[subset]
    options = ["--python", environment, "--constraints", same_jaxlib, "--find-links", wheels]
    uv("pip", "install", *options, *wanted)
    failures = probe(environment, installed)
    assert not failures, describe(failures)


@pytest.mark.parametrize("subset", SUBSETS)
def test_editable(subset, environment, same_jaxlib):
    wanted, installed = SUBSETS[subset]
    options = ["--python", environment, "--constraints", same_jaxlib]
    uv("pip", "install", *options, *(part for name in wanted for part in editable(name)))
    failures = probe(environment, installed)
    assert not failures, describe(failures)


def editable(distribution: str) -> tuple[str, Path]:
    folder = ROOT / "packages" / distribution.removeprefix("covector-")
    return "--editable", ROOT if distribution == "covector" else folder


def test_editable_and_wheel_mix(wheels, environment, same_jaxlib):
    options = ["--python", environment, "--constraints", same_jaxlib]
    uv("pip", "install", *options, "--find-links", wheels, "covector-core")
    uv("pip", "install", *options, "--no-deps", *editable("covector-random"))
    failures = probe(environment, ["covector-core", "covector-random"])
    assert not failures, describe(failures)


def contents(wheels: Path, package: str) -> set[str]:
    """The files of a wheel that lie in the namespace, as paths."""
    (wheel,) = wheels.glob(f"covector_{package.replace('-', '_')}-*.whl")
    return set(zipfile.ZipFile(wheel).namelist())


@pytest.mark.parametrize("package", PACKAGES)
def test_wheel_has_types_and_licence(package, wheels):
    names = contents(wheels, package)
    assert any(name.endswith("/py.typed") for name in names)
    assert any(name.endswith("/licenses/LICENSE") for name in names)
    assert (ROOT / "packages" / package / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


def test_no_file_is_in_two_wheels(wheels):
    shared = [name for package in PACKAGES for name in contents(wheels, package)]
    assert len(shared) == len(set(shared))


def test_umbrella_has_no_code(wheels):
    (wheel,) = wheels.glob("covector-[0-9]*.whl")
    assert not [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".py")]

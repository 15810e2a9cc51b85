"""The solver: what it picks, why, and what it says where nothing fits."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

import install_helper
from install_helper import Request, formats, recommend
from install_helper.versions import satisfies
from simulator import RELEASE, TRIPLET, Machine


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def plan(machine, **request):
    request.setdefault("framework", "jax")
    return recommend(machine.inspect(), Request(**request))


@pytest.mark.parametrize(
    "driver, capability, target",
    [
        ("580.95.05", "9.0", "cuda13"),
        ("595.71.05", "7.5", "cuda13"),
        ("580.95.05", "7.0", "cuda12"),
        ("575.57.08", "9.0", "cuda12"),
        ("525.60.13", "6.1", "cuda12"),
        ("535.183.01", "5.2", "cuda12"),
    ],
)
def test_family_by_gpu_and_driver(machine, driver, capability, target):
    machine.driver(driver, (capability,))
    made = plan(machine)
    assert made.target == target
    assert made.requirements[0] == f"jax[{target}]=={RELEASE}"
    held = "nvidia-cudnn-cu12<9.11" in made.requirements
    assert held == (float(capability) < 7.5)
    assert made.reasons


def test_the_lowest_gpu_decides(machine):
    machine.driver("580.95.05", ("9.0", "6.1"))
    assert plan(machine).target == "cuda12"


@pytest.mark.parametrize(
    "python, jaxlib",
    [
        ("3.9", "0.4.30"),
        ("3.10", "0.6.2"),
        ("3.11", "0.10.2"),
        ("3.12", RELEASE),
        ("3.15", RELEASE),
    ],
)
def test_release_by_python(machine, python, jaxlib):
    assert plan(machine, python=python).jaxlib == jaxlib


@pytest.mark.parametrize(
    "glibc, jaxlib", [("2.17", "0.7.0"), ("2.26", "0.7.0"), ("2.27", "0.10.2")]
)
def test_release_by_glibc(machine, glibc, jaxlib):
    machine.libc = ("glibc", glibc)
    machine.python["version"] = "3.11.4"
    assert plan(machine).jaxlib == jaxlib


def test_the_installed_release_is_kept(machine):
    machine.driver()
    machine.cpu("0.9.2")
    made = plan(machine)
    assert made.requirements == ("jax[cuda12]==0.9.2",)


def test_leftovers_of_the_other_family_are_removed_first(machine):
    machine.driver("570.124.06")
    machine.cuda(13)
    made = plan(machine)
    assert made.target == "cuda12"
    assert "jax-cuda13-plugin" in made.before[0] and "uninstall" in made.before[0]


def test_covector_names_its_own_extra(machine):
    machine.driver("580.95.05", ("9.0",))
    made = plan(machine, framework="covector")
    assert made.requirements == ("covector[cuda13]", f"jaxlib=={RELEASE}")


@pytest.mark.parametrize(
    "change, request_, words",
    [
        ({}, {"cuda": "13", "driver": "470.57.02"}, "needs driver 580"),
        ({}, {"cuda": "13", "driver": "570.124.06"}, "use --cuda 12"),
        ({"system": "Windows", "machine": "AMD64", "libc": None}, {"cuda": "12"}, "WSL2"),
        ({"system": "Darwin", "machine": "arm64", "libc": None}, {"cuda": "local"}, "Linux"),
        ({}, {"python": "3.8", "framework": "covector"}, "Python 3.12 or newer"),
        ({}, {"python": "3.3"}, "No jaxlib wheel"),
        ({"libc": ("glibc", "2.5")}, {}, "glibc 2.5 is older"),
        ({"libc": ("musl", "")}, {}, "musl"),
        ({"machine": "riscv64"}, {}, "no wheel for Linux on riscv64"),
        ({}, {"cuda": "local"}, "No CUDA toolkit"),
        ({"machine": "aarch64"}, {"tpu": True}, "x86_64 only"),
        ({"libc": ("glibc", "2.28")}, {"tpu": True}, "2.31"),
        ({"machine": "aarch64"}, {"rocm": True}, "x86_64 only"),
    ],
)
def test_what_cannot_be_says_what_can(machine, change, request_, words):
    for name, value in change.items():
        setattr(machine, name, value)
    request_ = dict(request_)
    driver = request_.pop("driver", None)
    if driver:
        machine.driver(driver)
    made = plan(machine, **request_)
    assert not made.fits
    assert words in made.blocked[0], made.blocked


@pytest.mark.parametrize(
    "toolkit, wheel, cudnn",
    [("10.1.243", "cuda101", 7), ("10.2.89", "cuda102", 7), ("11.0.3", "cuda110", 8),
     ("11.1.1", "cuda111", 8)],
)  # fmt: skip
def test_old_toolkits_have_the_wheels_of_their_time(machine, toolkit, wheel, cudnn):
    machine.python["version"] = "3.8.10"
    machine.file("/usr/local/cuda/version.txt", f"CUDA Version {toolkit}\n")
    made = plan(machine, cuda="local")
    assert made.fits and made.target == "legacy"
    text = " ".join(made.reasons)
    assert f"jaxlib==0.1.59+{wheel}" in text and f"cuDNN {cudnn}" in text and "525" in text
    assert f"+{wheel[:6]}" in made.command and " -f " in made.command


def test_old_toolkits_on_a_new_python_name_the_wheel_and_the_python(machine):
    machine.file("/usr/local/cuda/version.txt", "CUDA Version 11.0.3\n")
    made = plan(machine, cuda="local")
    assert not made.fits
    assert "jaxlib==0.1.59+cuda110" in made.blocked[0] and "3.9" in made.blocked[0]


def test_a_toolkit_elsewhere_gets_the_flag(machine):
    machine.driver()
    machine.toolkit("12.8.1", "/usr/lib/nvidia-cuda-toolkit")
    machine.library("libcudnn.so", "9", "9.10.2", TRIPLET)
    made = plan(machine, cuda="local")
    flag = "--xla_gpu_cuda_data_dir=/usr/lib/nvidia-cuda-toolkit"
    assert made.variables == {"XLA_FLAGS": flag}
    assert any("ln -s" in reason for reason in made.reasons)
    assert f"jax[cuda12-local]=={RELEASE}" in made.requirements


def test_what_is_resolved_meets_the_table(machine):
    machine.driver("525.60.13", ("6.1",))
    made = plan(machine)
    bounds = dict(line.split(">=", 1) for line in made.resolved if ">=" in line and "<" not in line)
    assert all(satisfies("99.0", f">={bound}") for bound in bounds.values())
    cudnn = next(line for line in made.resolved if "cudnn" in line)
    assert satisfies("9.10.2.21", cudnn.replace("nvidia-cudnn-cu12", ""))
    assert satisfies("9.11.0.98", cudnn.replace("nvidia-cudnn-cu12", "")) is False


@pytest.mark.parametrize(
    "change, release, request_, words",
    [
        ({"libc": ("glibc", "2.17")}, None, {"cuda": "12"}, "jax[cuda12]==0.5.3"),
        ({}, "0.4.35", {"tpu": True}, "jax[tpu]==0.12.0.1"),
        ({}, "0.9.0", {"rocm": True}, "jax==0.12.0"),
    ],
)
def test_what_the_index_lacks_is_not_planned(machine, change, release, request_, words):
    """Faults that resolving every printed command on the index showed."""
    machine.python["version"] = "3.12.3"
    for name, value in change.items():
        setattr(machine, name, value)
    if release:
        machine.cpu(release)
    assert words in plan(machine, **request_).requirements


def test_rocm_needs_a_newer_glibc(machine):
    machine.libc = ("glibc", "2.17")
    assert "2.28" in plan(machine, rocm=True).blocked[0]


@pytest.mark.parametrize("name", formats.FORMATS)
@pytest.mark.parametrize("cuda", ["none", "12", "13"])
@pytest.mark.parametrize("framework", ["jax", "covector"])
def test_formats(machine, name, cuda, framework):
    machine.driver("580.95.05", ("9.0",))
    made = plan(machine, cuda=cuda, framework=framework)
    text = formats.WRITERS[name](made)
    assert framework in text and text.isascii()
    if name in ("command", "pip", "uv"):
        assert shlex.split(text)[-1]
    if name == "requirements":
        for line in text.splitlines():
            assert line.startswith("#") or install_helper.versions.requirement(line)


def test_as_json(machine):
    from install_helper.render import plan_dict

    assert json.loads(json.dumps(plan_dict(plan(machine))))["fits"] is True

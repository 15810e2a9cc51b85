"""Two faults at once are both found, and no third."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

from scenarios import SCENARIOS
from simulator import Machine


def hidden(m):
    m.env["CUDA_VISIBLE_DEVICES"] = "-1"


def loader(m):
    m.env["LD_LIBRARY_PATH"] = "/opt/old/lib64"
    m.library("libnvJitLink.so", "12", "12.2.140", "/opt/old/lib64")


def dash(m):
    m.env["XLA_FLAGS"] = "xla_dump_to=/tmp"


def missing_backend(m):
    m.env["JAX_PLATFORMS"] = "rocm,cuda"
    m.package("jax-rocm7-pjrt", "0.12.0")


def old_numpy(m):
    m.remove("numpy")
    m.package("numpy", "1.16.0")


def old_cudnn(m):
    m.remove("nvidia-cudnn-cu12")
    m.package("nvidia-cudnn-cu12", "9.1.0.70", files=["nvidia/cudnn/lib/libcudnn.so.9"])


def gone_file(m):
    m.path(f"{m.site}/nvidia/cufft/lib/libcufft.so.11").unlink()


def newer_jaxlib(m):
    m.remove("jax")
    m.package("jax", "0.11.0", ["jaxlib<=0.11.0,>=0.10.0"])


def both_families(m):
    m.package("nvidia-nccl-cu13", "2.27.7")


def memory(m):
    m.program("/usr/bin/nvidia-smi", m.path("/usr/bin/nvidia-smi").read_text().replace(
        "81559, 80000", "81559, 4000"))  # fmt: skip


def percentage(m):
    m.env["XLA_PYTHON_CLIENT_MEM_FRACTION"] = "90"


def orphan(m):
    m.file(f"{m.site}/jax_plugins/xla_cuda13/xla_cuda_plugin.so")


def other_python(m):
    m.package("scipy", "1.16.0", tag="cp311-cp311-manylinux_2_27_x86_64")


def shadow(m):
    m.file("/home/user/numpy.py")


FAULTS = {
    hidden: "C10",
    loader: "C13",
    dash: "C29",
    old_numpy: "C53",
    old_cudnn: "C15",
    gone_file: "C23",
    newer_jaxlib: "C30",
    both_families: "C18",
    memory: "C51",
    shadow: "C60",
    missing_backend: "C48",
    percentage: "C74",
    orphan: "C34",
    other_python: "C70",
}
# The GPU is hidden: how much of its memory is free does not matter then.
EXPLAINED = {
    frozenset({hidden, memory}): {"C10"},
    # The share that is asked for is wrong: whether there is so much is not asked.
    frozenset({percentage, memory}): {"C74"},
}
PAIRS = [(a, b) for i, a in enumerate(FAULTS) for b in list(FAULTS)[i + 1 :]]


@pytest.mark.parametrize(
    "first, second", PAIRS, ids=[f"{a.__name__}-{b.__name__}" for a, b in PAIRS]
)
def test_both_are_found_and_no_third(tmp_path, first, second):
    machine = Machine(tmp_path)
    machine.driver()
    machine.cuda()
    first(machine)
    second(machine)
    expected = EXPLAINED.get(frozenset({first, second}), {FAULTS[first], FAULTS[second]})
    findings = machine.findings()
    assert {one.id for one in findings} == expected, [
        (one.id, [s.text for s in one.seen]) for one in findings
    ]


@pytest.mark.parametrize("seed", range(30))
def test_any_two_cases_together_break_no_check(tmp_path, seed):
    machine = Machine(tmp_path)
    for _, _, build in random.Random(seed).sample(SCENARIOS, 2):
        try:
            build(machine)
        except FileNotFoundError:
            pass  # the first took away what the second would break
    assert "C68" not in {one.id for one in machine.findings()}

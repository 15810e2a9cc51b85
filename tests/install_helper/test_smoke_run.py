"""The smoke run: once really, on this machine; crashes and hangs by a fake Python."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

import install_helper
from install_helper import smoke
from install_helper.reading import Reading
from simulator import Machine


def test_programs_run_on_this_machine():
    run = smoke.smoke(Reading(install_helper.inspect()))
    assert run.state == "ok", (run.stage, run.detail, run.log)
    assert {"matmul", "solver", "convolution"} <= {s["stage"] for s in run.stages}
    assert not smoke.findings(run)


@pytest.fixture
def fake(tmp_path):
    """Run the smoke run with a script in the place of Python."""

    def run(script, seconds=5.0):
        machine = Machine(tmp_path / "root")
        machine.cpu()
        program = tmp_path / "python"
        program.write_text("#!/bin/sh\n" + script)
        program.chmod(0o755)
        machine.python["executable"] = str(program)
        return smoke.smoke(Reading(machine.inspect()), seconds)

    return run


STAGE = """echo '{"stage": "matmul", "platform": "cuda:12"}'\n"""


@pytest.mark.parametrize(
    "script, state, id",
    [
        (STAGE + "kill -SEGV $$\n", "crashed", "C61"),
        (STAGE + "kill -ILL $$\n", "crashed", "C61"),
        (STAGE + "echo 'RuntimeError: Unable to load cuSPARSE. Is it installed?' >&2; exit 1\n",
         "failed", "C13"),
        (STAGE + "echo 'F Check failed: no words that anybody knows' >&2; kill -ABRT $$\n",
         "crashed", "C61"),
        (STAGE + "echo \"Unsupported .version 8.4; current version is '8.2'\" >&2; exit 1\n",
         "failed", "C25"),
        ("exit 3\n", "failed", "C63"),
        ("echo '[[[['; exit 0\n", "failed", "C63"),
    ],
)  # fmt: skip
def test_what_happens_becomes_a_finding(fake, script, state, id):
    run = fake(script)
    assert run.state == state
    (finding,) = smoke.findings(run)
    assert finding.id == id and finding.level == "error" and finding.seen


def test_a_hang_is_a_finding(fake):
    run = fake("sleep 60\n", 0.5)
    assert run.state == "hung" and smoke.findings(run)[0].id == "C62"


def test_a_hang_tells_where_it_was_and_its_last_lines(fake):
    run = fake(STAGE + "echo 'no words that anybody knows' >&2\nsleep 60\n", 1.0)
    assert (run.state, run.stage) == ("hung", "matmul")
    (finding,) = smoke.findings(run)
    texts = [seen.text for seen in finding.seen]
    assert finding.id == "C62" and "'matmul'" in texts[0]
    assert "no words that anybody knows" in texts
    known = fake("echo 'Unable to load cuSPARSE. Is it installed?' >&2\nsleep 60\n", 1.0)
    assert smoke.findings(known)[0].id == "C13"


@pytest.mark.parametrize("kind", ["cuda", "rocm", "tpu"])
def test_each_accelerator_with_its_plugin_is_run(tmp_path, kind):
    machine = Machine(tmp_path)
    if kind == "cuda":
        machine.driver()
        machine.cuda()
    if kind == "rocm":
        machine.cpu("0.12.0")
        machine.package("jax-rocm7-plugin", "0.12.0")
        properties = "/sys/class/kfd/kfd/topology/nodes/1/properties"
        machine.file(properties, "simd_count 304\ngfx_target_version 90402\n")
    if kind == "tpu":
        machine.card("0x1ae0", "0x0063", "vfio-pci")
        machine.cpu()
        machine.package("libtpu", "0.0.50.1")
    wanted = smoke.platforms(Reading(machine.inspect()))
    assert [name.partition(":")[0] for name in wanted] == ["cpu", kind]


def test_older_library_at_run_time(fake):
    versions = '{"stage": "versions", "cudnn_get_version": 90100, "cudnn_build_version": 90800}'
    run = fake(f"echo '{versions}'\necho '{{\"stage\": \"done\"}}'\n")
    (finding,) = smoke.findings(run)
    assert finding.id == "C15" and "9.1.0" in finding.seen[0].text
    newer = versions.replace("90100", "91002")
    assert not smoke.findings(fake(f"echo '{newer}'\necho '{{\"stage\": \"done\"}}'\n"))


def test_without_jaxlib_it_is_skipped(tmp_path):
    run = smoke.smoke(Reading(Machine(tmp_path).inspect()))
    assert run.state == "skipped" and not smoke.findings(run)

"""The command line: statuses, sentences for bad input, JSON, columns, colors, redaction."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

from install_helper import Request, cli, findings, recommend, render, report
from printed import installs
from scenarios import SCENARIOS
from simulator import Machine


def with_uv(m):
    m.file("/venv/pyvenv.cfg", "home = /usr/bin\nuv = 0.8.0\n")
    m.program("/usr/bin/uv", "#!/bin/sh\n")


def with_conda(m):
    m.directory(f"{m.prefix}/conda-meta")


def managed(m):
    """The Python of a system whose pip refuses to install into it."""
    if m.prefix == "/venv":
        m.python |= {"base_prefix": "/venv", "stdlib": "/usr/lib/python3"}
        m.file("/usr/lib/python3/EXTERNALLY-MANAGED")


def inactive(m):
    m.env |= {"PATH": "/usr/bin", "VIRTUAL_ENV": "/other/place"}


OF_KIND = {"pip": lambda m: None, "uv": with_uv, "conda": with_conda, "managed": managed,
           "inactive": inactive}  # fmt: skip


@pytest.fixture
def broken(tmp_path):
    machine = Machine(tmp_path)
    machine.driver()
    machine.cuda()
    machine.env["CUDA_VISIBLE_DEVICES"] = ""
    machine.describe()
    return machine


def run(capsys, *arguments):
    try:
        status = cli.main(list(arguments))
    except SystemExit as left:
        status = left.code
    out, err = capsys.readouterr()
    return status, out, err


def test_doctor_reports_and_leaves_with_one(broken, capsys):
    status, out, err = run(capsys, "doctor", "--root", str(broken.root), "--run-programs")
    assert status == 1 and not err
    assert "ERROR C10:" in out and "unset CUDA_VISIBLE_DEVICES" in out
    assert "install-helper explain C10" in out and "Recommended for this machine" in out


def test_doctor_on_a_healthy_root(tmp_path, capsys):
    machine = Machine(tmp_path)
    machine.cpu()
    machine.describe()
    status, out, _ = run(capsys, "doctor", "--root", str(tmp_path))
    assert status == 0 and "No problem found." in out


def test_json_schema(broken, capsys):
    status, out, _ = run(capsys, "doctor", "--root", str(broken.root), "--run-programs", "--json")
    row = json.loads(out)
    assert status == 1
    assert list(row) == [
        "schema_version", "tool_version", "table", "healthy", "framework", "summary", "findings",
        "plan", "smoke", "facts",
    ]  # fmt: skip
    assert row["schema_version"] == 1 and row["healthy"] is False
    finding = row["findings"][0]
    assert set(finding) == {"id", "slug", "level", "title", "seen", "why", "steps", "sure"}
    assert set(finding["seen"][0]) == {"text", "source"}
    assert set(finding["steps"][0]) == {"text", "command"}
    state = row["facts"]["nvidia"]["module_version"]
    assert set(state) == {"state", "value", "source", "note"}


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["doctor", "--frob"], "--frob"),
        (["frob"], "invalid choice"),
        (["plan", "--cuda", "9"], "invalid choice: '9'"),
        (["doctor", "--root", "/no/such/place"], "cannot be read"),
        (["doctor", "--interpreter", "/bin/false"], "does not answer as a Python"),
        (["doctor", "--smoke-seconds", "x"], "no number of seconds"),
        (["plan", "--python", "three"], "no version such as 3.13"),
        (["plan", "--python", "3.8", "--for", "covector"], "Python 3.12"),
        (["plan", "--tpu", "--rocm"], "exclude each other"),
        (["plan", "--offline-wheels", "/no/such/place"], "cannot be read"),
        (["install", "--root", "/"], "works on this machine"),
        (["doctor", "--no-smoke", "--smoke"], "not allowed with"),
    ],
)
def test_bad_input_gets_one_sentence_and_status_two(capsys, arguments, words):
    status, out, err = run(capsys, *arguments)
    assert status == 2 and not out
    assert words in err and err.count("\n") == 1 and "Traceback" not in err


@pytest.mark.parametrize("driver, words", [("470.57.02", "needs driver 580 or newer")])
def test_impossible_plan(tmp_path, capsys, driver, words):
    machine = Machine(tmp_path)
    machine.driver(driver)
    machine.describe()
    status, out, err = run(capsys, "plan", "--cuda", "13", "--root", str(tmp_path))
    assert status == 2 and words in err and not out


def test_windows_has_no_cuda(tmp_path, capsys):
    machine = Machine(tmp_path)
    machine.system, machine.machine, machine.libc = "Windows", "AMD64", None
    machine.describe()
    status, _, err = run(capsys, "plan", "--cuda", "12", "--root", str(tmp_path))
    assert status == 2 and "WSL2" in err


def test_without_a_command_it_lists_the_pieces(capsys):
    status, out, _ = run(capsys)
    assert status == 0 and "covector-install-helper" in out


@pytest.mark.parametrize("color", ["never", "always"])
def test_eighty_columns(tmp_path, capsys, color):
    for number, (_, _, build) in enumerate(SCENARIOS[::6]):
        machine = Machine(tmp_path / str(number))
        build(machine)
        machine.describe()
        _, out, _ = run(capsys, "doctor", "--root", str(machine.root), "--color", color)
        assert ("\x1b[" in out) == (color == "always")
        for line in re.sub(r"\x1b\[[\d;]*m", "", out).splitlines():
            # A command is never broken; a word may be longer than a line.
            command = line.startswith(("        ", "  ")) and not line.startswith("  seen")
            assert len(line) <= 80 or command, line


@pytest.mark.parametrize("kind", ["pip", "uv", "conda", "managed", "inactive"])
def test_every_printed_command_is_one_that_its_program_takes(tmp_path, kind):
    count = 0
    for number, (_, _, build) in enumerate(SCENARIOS[:: 1 if kind == "pip" else 4]):
        machine = Machine(tmp_path / str(number))
        build(machine)
        OF_KIND[kind](machine)
        for line in printed_by(machine):
            assert "\n" not in line
            installs(line)
            count += 1
    assert count > 80


def printed_by(machine):
    """Every command that the findings and the plan of a machine print."""
    facts = machine.inspect()
    lines = [step.command for item in findings.diagnose(facts) for step in item.steps]
    for request in (Request(), Request(python="3.13"), Request(framework="covector")):
        plan = recommend(facts, request)
        lines += [*plan.before, plan.command]
    return [line for line in lines if line]


@pytest.mark.parametrize("installer, start", [("uv", "uv pip"), ("pip", "python -m pip")])
def test_commands_are_those_of_the_installer(tmp_path, installer, start):
    machine = Machine(tmp_path)
    machine.driver()
    machine.cpu()
    if installer == "uv":
        machine.file("/venv/pyvenv.cfg", "home = /usr/bin\nuv = 0.8.0\n")
        machine.program("/usr/bin/uv", "#!/bin/sh\n")
    assert machine.findings()[0].steps[-1].command.startswith(start)


@pytest.mark.parametrize("program", ["conda", "mamba", "micromamba"])
def test_conda_environments_get_their_program(tmp_path, program):
    machine = Machine(tmp_path)
    machine.driver()
    machine.prefix = "/opt/conda"
    machine.conda(("jaxlib", "0.9.0", "cpu_py312h_0"), ("jax", "0.9.0", "pyh_0"))
    machine.env["MAMBA_EXE"] = f"/opt/bin/{program}" if program != "conda" else ""
    command = machine.findings()[0].steps[0].command
    assert f" {program} install -c conda-forge" in command and "cuda" in command


def test_control_characters_do_not_reach_the_terminal(tmp_path, capsys):
    machine = Machine(tmp_path)
    machine.cpu()
    machine.env["JAX_PLATFORMS"] = "\x1b]0;owned\x07"
    machine.describe()
    _, out, _ = run(capsys, "doctor", "--root", str(tmp_path))
    assert "\x1b" not in out and "\x07" not in out and "C52" in out


def test_report_tells_nothing_of_the_person(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(report, "own_names", lambda: ["ada", "ada-workstation"])
    machine = Machine(tmp_path)
    machine.driver()
    machine.cuda()
    site = "/home/ada/My Secrets/.venv/lib/python3.12/site-packages"
    machine.package("scipy", "1.16.0", site=site, tag="cp311-cp311-manylinux_2_27_x86_64")
    machine.python |= {
        "working_directory": "/home/ada/secret-project",
        "paths": [site, machine.site],
    }
    machine.env |= {
        "JAX_TOKEN": "hunter2hunter2",
        "XLA_FLAGS": "--xla_dump_to=/home/ada/dump",
        "CUDA_VISIBLE_DEVICES": "GPU-5f3a9c11-0000-1111-2222-333344445555",
        "PATH": "/home/ada/bin",
        "JAX_COORDINATOR": "ada-workstation",
        "JAX_COORDINATOR_ADDRESS": "node17.cluster.example:1234",
        "CUDA_HOME": "/home/ada/My Secrets/cuda",
        "COVECTOR_SERVICE": "trainer.example.org:8476",
        "CUDA_PROXY": "https://ada:hunter2@proxy/",
    }
    machine.describe()
    status, out, _ = run(capsys, "report", "--root", str(tmp_path), "--run-programs")
    assert status == 0
    secrets = ("hunter2", "/home/ada", "ada-workstation", "5f3a9c11", "GPU-01f2", "ecret",
               "/dump",
               "node17", "example")  # fmt: skip
    for secret in secrets:
        assert secret not in out, secret
    assert "570.124.06" in out and "jax-cuda12-plugin" in out and "C70" in out
    assert "~/.../site-packages" in out and "pip install" in out


def test_explain_reads_a_log_from_standard_input(capsys, monkeypatch):
    class Input:
        buffer = io.BytesIO(b"junk \xff\xfe\nUnable to load cuSPARSE. Is it installed?\n")

        @staticmethod
        def isatty():
            return False

    monkeypatch.setattr(sys, "stdin", Input())
    status, out, _ = run(capsys, "explain", "-")
    assert status == 0 and "C13" in out


def test_nothing_of_the_runtime_is_imported():
    code = (
        "import sys; from install_helper import cli; cli.main(['doctor', '--no-smoke']);"
        "print(sorted(n for n in sys.modules if n.partition('.')[0] in "
        "('jax', 'jaxlib', 'covector', 'numpy')))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert answer.stdout.strip().splitlines()[-1] == "[]", answer.stdout + answer.stderr


def test_plain_text_is_shortened_and_cleaned(monkeypatch):
    monkeypatch.setenv("HOME", "/home/ada")
    assert render.clean("/home/ada/x /home/adam") == "~/x /home/adam"


def test_offline_wheels(tmp_path, capsys):
    machine = Machine(tmp_path / "root")
    machine.describe()
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    arguments = ["plan", "--root", str(machine.root), "--for", "jax", "--cuda", "none",
                 "--offline-wheels", str(wheels)]  # fmt: skip
    (wheels / "jax-0.12.0.1-py3-none-any.whl").touch()
    (wheels / "jaxlib-0.11.0-cp312-cp312-manylinux_2_27_x86_64.whl").touch()
    status, _, err = run(capsys, *arguments)
    assert status == 2 and "jaxlib==0.12.0.1" in err and "pip download" in err
    (wheels / "jaxlib-0.12.0.1-cp312-cp312-manylinux_2_27_x86_64.whl").touch()
    status, out, _ = run(capsys, *arguments)
    assert status == 0 and f"--no-index --find-links {wheels}" in out


def test_a_fault_in_a_check_is_told_and_hides_nothing(broken, monkeypatch):
    def faulty(reading):
        raise ZeroDivisionError

    broken.findings()
    monkeypatch.setattr(findings, "RULES", [findings.Rule(faulty, ()), *findings.RULES])
    assert {one.id for one in broken.findings()} == {"C10", "C68"}


def test_a_fault_of_ours_is_one_sentence(capsys, monkeypatch):
    monkeypatch.setitem(cli.ACTIONS, "doctor", lambda options: {}["missing"])
    status, _, err = run(capsys, "doctor")
    assert status == 2 and "could not inspect: KeyError" in err and err.count("\n") == 1

"""Carrying out a plan with a fake installer: asking, streaming, failing midway, putting back."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

from install_helper import cli, installing, recommend
from install_helper.plan import Plan
from install_helper.reading import Reading
from simulator import Machine

# A pip that keeps its packages in a file, and fails midway through what it is told to.
PIP = """#!/bin/sh
state={state}
shift 2
echo "pip $*" >> {log}
case "$1" in
  freeze) cat "$state" ;;
  install) case "$*" in
    *fail*) echo "half==1.0" >> "$state"; echo "ERROR: no space left"; exit 1 ;;
    *-r*) for last; do :; done; cat "$last" > "$state" ;;
    *) echo "new==1.0" >> "$state"; echo "Successfully installed new" ;;
    esac ;;
  uninstall) grep -v half "$state" > "$state.new"; mv "$state.new" "$state" ;;
esac
"""


@pytest.fixture
def environment(tmp_path):
    """A reading of a machine whose Python is the fake pip, its state file and its log."""
    machine = Machine(tmp_path / "root")
    state, log = tmp_path / "state", tmp_path / "log"
    state.write_text("numpy==2.0.0\njax==0.9.0\n")
    log.write_text("")
    fake = tmp_path / "python"
    fake.write_text(PIP.format(state=state, log=log))
    fake.chmod(0o755)
    machine.python["executable"] = str(fake)
    return Reading(machine.inspect()), state, log


def plan(command, before=()):
    return Plan("cpu", "jax", "3.12", command=command, before=before)


def test_a_plan_is_carried_out_and_streamed(environment):
    reading, state, log = environment
    said = []
    made = plan("python -m pip install new", before=("python -m pip uninstall -y old",))
    assert installing.carry_out(reading, made, said.append) == 0
    assert "Successfully installed new" in said and "new==1.0" in state.read_text()
    commands = log.read_text().splitlines()
    assert commands[0] == "pip freeze"
    assert commands[1:3] == ["pip uninstall -y old", "pip install new"]
    assert said[-2] == "To go back to what was there:"
    assert said[-1].endswith("-m pip uninstall -y new")


def test_a_failure_midway_leaves_things_as_they_were(environment):
    reading, state, _ = environment
    before, said = state.read_text(), []
    assert installing.carry_out(reading, plan("python -m pip install fail"), said.append) == 1
    assert state.read_text() == before
    assert "ERROR: no space left" in said and said[-1] == "The environment is as it was."
    assert any("recorded in" in line for line in said)


def test_an_interrupted_installer_leaves_things_as_they_were(environment, monkeypatch):
    reading, state, _ = environment
    before, said, real = state.read_text(), [], installing.run

    def interrupted(words, say):
        real(words, say)
        if "fail" in words:
            raise KeyboardInterrupt
        return 0

    monkeypatch.setattr(installing, "run", interrupted)
    assert installing.carry_out(reading, plan("python -m pip install fail"), said.append) == 1
    assert state.read_text() == before
    assert "The installer was interrupted." in said and said[-1] == "The environment is as it was."


def test_conda_installs_and_goes_back_by_conda(tmp_path, monkeypatch):
    monkeypatch.delenv("CONDA_EXE", raising=False)
    machine = Machine(tmp_path / "root")
    machine.prefix = "/opt/conda"
    machine.conda(("jaxlib", "0.9.0", "cpu_py312h_0"))
    reading = Reading(machine.inspect())
    words = installing.executable_words(reading, 'conda install -c conda-forge "jax=0.9.0"')
    assert words == ["conda", "install", "-y", "-p", "/opt/conda", "-c", "conda-forge", "jax=0.9.0"]
    assert installing.freeze_words(reading)[1:3] == ["list", "--explicit"]
    back = installing.rollback_lines(reading, installing.Freeze(("a",), "/tmp/freeze"), ("b",))
    assert back == [["conda", "install", "-y", "-p", "/opt/conda", "--file", "/tmp/freeze"]]


def test_uv_is_told_the_environment(tmp_path):
    machine = Machine(tmp_path / "root")
    machine.file("/venv/pyvenv.cfg", "home = /usr/bin\nuv = 0.8.0\n")
    machine.program("/usr/bin/uv", "#!/bin/sh\n")
    reading = Reading(machine.inspect())
    words = installing.executable_words(reading, "uv pip install jax")
    assert words == ["uv", "pip", "install", "--python", "/venv/bin/python", "jax"]
    machine.env["VIRTUAL_ENV"] = "/elsewhere"
    reading = Reading(machine.inspect())
    assert recommend(reading.facts).command.startswith("uv pip install --python /venv ")


def test_an_installer_that_cannot_list_changes_nothing(environment, tmp_path):
    reading, state, _ = environment
    (tmp_path / "python").write_text("#!/bin/sh\necho No module named pip >&2\nexit 1\n")
    before, said = state.read_text(), []
    assert installing.carry_out(reading, plan("python -m pip install new"), said.append) == 1
    assert "No module named pip" in said[-1] and state.read_text() == before


def test_rollback_commands_remove_the_new_and_restore_the_old(environment):
    reading, *_ = environment
    before = installing.Freeze(("a==1", "b==2"), "/tmp/freeze.txt")
    lines = installing.rollback_lines(reading, before, ("a==1", "b==3", "c==1"))
    assert lines[0][-2:] == ["-y", "c"]
    assert lines[1][-3:] == ["--no-deps", "-r", "/tmp/freeze.txt"]
    assert installing.rollback_lines(reading, before, before.lines) == []


def test_dry_run_runs_nothing(capsys, monkeypatch):
    monkeypatch.setattr(installing, "run", None)
    assert cli.main(["install", "--dry-run", "--for", "jax", "--cuda", "none"]) == 0
    assert "jax" in capsys.readouterr().out


def test_without_a_terminal_it_asks_for_yes(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    assert cli.main(["install", "--for", "jax", "--cuda", "none"]) == 2
    assert "--yes" in capsys.readouterr().err

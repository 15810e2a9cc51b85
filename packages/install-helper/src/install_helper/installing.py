"""Carry out a plan: record what is there, run the installer, put it back if that fails."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass

from install_helper.plan import Plan
from install_helper.reading import Reading

Say = Callable[[str], None]


@dataclass(frozen=True)
class Freeze:
    """The distributions of an environment before anything was changed."""

    lines: tuple[str, ...]
    path: str


def executable_words(reading: Reading, line: str) -> list[str]:
    """A printed command as words, run by the very Python that was examined."""
    words = shlex.split(line)
    if words[0].startswith("py") and words[1:3] == ["-m", "pip"]:
        words[0] = reading.facts.python.executable
    elif words[:2] == ["uv", "pip"]:
        words[3:3] = ["--python", reading.facts.python.executable]
    return words


def freeze_words(reading: Reading) -> list[str]:
    """The command that lists distributions."""
    python = reading.facts.python.executable
    if reading.facts.python.installer.value == "uv":
        return ["uv", "pip", "freeze", "--python", python]
    return [python, "-m", "pip", "freeze"]


def freeze(reading: Reading) -> Freeze:
    """List distributions and write the list to a file. Raises OSError where that fails."""
    answer = subprocess.run(freeze_words(reading), capture_output=True, check=False)
    if answer.returncode:
        text = answer.stderr.decode("utf-8", "replace").strip().splitlines()
        raise OSError(text[-1] if text else "the installer does not list its packages")
    lines = tuple(answer.stdout.decode("utf-8", "replace").splitlines())
    handle, path = tempfile.mkstemp(prefix="install-helper-freeze-", suffix=".txt")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    return Freeze(lines, path)


def rollback_lines(reading: Reading, before: Freeze, after: tuple[str, ...]) -> list[list[str]]:
    """The commands that lead back: remove what is new, install what was there."""
    python = reading.facts.python.executable
    uv = reading.facts.python.installer.value == "uv"
    start = ["uv", "pip"] if uv else [python, "-m", "pip"]
    tail = ["--python", python] if uv else []
    old = {_name(line) for line in before.lines}
    new = sorted({_name(line) for line in after} - old - {""})
    lines = []
    if new:
        lines.append([*start, "uninstall", *tail, *([] if uv else ["-y"]), *new])
    if set(before.lines) - set(after):
        lines.append([*start, "install", *tail, "--no-deps", "-r", before.path])
    return lines


def _name(line: str) -> str:
    return line.split("==")[0].split(" @ ")[0].strip() if line and line[0] not in "#-" else ""


def run(words: list[str], say: Say) -> int:
    """Run a command, its output streamed; an installer that is missing is status 127."""
    say("$ " + " ".join(shlex.quote(word) for word in words))
    try:
        with subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
        ) as process:
            for line in process.stdout or ():
                say(line.decode("utf-8", "replace").rstrip())
        return process.returncode
    except OSError as error:
        say(f"cannot run {words[0]}: {error.strerror}")
        return 127


def carry_out(reading: Reading, plan: Plan, say: Say) -> int:
    """Run a plan; 0 where it worked. Where it fails midway, put the environment back."""
    try:
        before = freeze(reading)
    except OSError as error:
        say(f"Nothing was changed: the present packages cannot be recorded ({error}).")
        return 1
    say(f"The present packages are recorded in {before.path}")
    for line in [*plan.before, plan.command]:
        status = run(executable_words(reading, line), say)
        if status:
            say(f"The installer failed with status {status}.")
            put_back(reading, before, say)
            return 1
    return 0


def put_back(reading: Reading, before: Freeze, say: Say) -> None:
    """Undo what a failed installer changed, and say how to do it by hand."""
    try:
        after = freeze(reading)
        os.unlink(after.path)
    except OSError as error:
        say(f"The packages cannot be listed ({error}); to go back by hand:")
        say(f"  {sys.executable} -m pip install --no-deps -r {before.path}")
        return
    steps = rollback_lines(reading, before, after.lines)
    if not steps:
        say("The environment is as it was.")
        return
    failed = [step for step in steps if run(step, say)]
    if failed:
        say("Not everything could be put back; to do it by hand:")
        for step in failed:
            say("  " + " ".join(shlex.quote(word) for word in step))
    else:
        say("The environment is as it was.")

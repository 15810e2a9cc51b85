"""Carry out a plan: record what is there, run the installer, put it back if that fails."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass

from install_helper import commands
from install_helper.plan import Plan
from install_helper.reading import Reading

Say = Callable[[str], None]


@dataclass(frozen=True)
class Freeze:
    """The distributions of an environment before anything was changed."""

    lines: tuple[str, ...]
    path: str


def is_conda(reading: Reading) -> bool:
    """Whether conda carries out the plan, and takes it back."""
    return commands.installer(reading) == "conda"


def conda_program(reading: Reading) -> str:
    """conda as a program: what a shell calls conda is a function."""
    name = commands.conda(reading)
    variable = "CONDA_EXE" if name == "conda" else "MAMBA_EXE"
    return os.environ.get(variable) or name


def executable_words(reading: Reading, line: str) -> list[str]:
    """A printed command as words, run by the very Python that was examined."""
    words = shlex.split(line)
    python = reading.facts.python
    if words[1:3] == ["-m", "pip"]:
        words[0] = python.executable
    elif words[:2] == ["uv", "pip"] and "--python" not in words:
        words[3:3] = ["--python", python.executable]
    elif words[0] == commands.conda(reading) and words[1] == "install":
        named = [] if "-p" in words else ["-p", python.prefix]
        words[:2] = [conda_program(reading), "install", "-y", *named]
    return words


def freeze_words(reading: Reading) -> list[str]:
    """The command that lists distributions."""
    python = reading.facts.python.executable
    if is_conda(reading):
        prefix = reading.facts.python.prefix
        return [conda_program(reading), "list", "--explicit", "-p", prefix]
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
    if is_conda(reading):
        prefix = reading.facts.python.prefix
        words = [conda_program(reading), "install", "-y", "-p", prefix, "--file", before.path]
        return [words] if set(before.lines) != set(after) else []
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


def shown(words: list[str]) -> str:
    """Words as they are typed."""
    return " ".join(shlex.quote(word) for word in words)


def run(words: list[str], say: Say) -> int:
    """Run a command; an installer that is missing is status 127.

    Its output is streamed; on a terminal the installer has it to itself, for its progress bars.
    """
    say("$ " + shown(words))
    try:
        if sys.stdout.isatty():
            return subprocess.call(words, stdin=subprocess.DEVNULL)
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
        try:
            status = run(executable_words(reading, line), say)
        except KeyboardInterrupt:
            status = 130
        if status:
            end = "was interrupted" if status == 130 else f"failed with status {status}"
            say(f"The installer {end}.")
            put_back(reading, before, say)
            return 1
    _say_how_to_return(reading, before, say)
    return 0


def _say_how_to_return(reading: Reading, before: Freeze, say: Say) -> None:
    """The commands that would undo a plan that was carried out."""
    try:
        after = freeze(reading)
        os.unlink(after.path)
    except OSError:
        return
    steps = rollback_lines(reading, before, after.lines)
    if steps:
        say("To go back to what was there:")
    for step in steps:
        say(f"  {shown(step)}")


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
            say(f"  {shown(step)}")
    else:
        say("The environment is as it was.")

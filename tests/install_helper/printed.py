"""Read a printed command as the shell and its program would; a wrong one raises ValueError."""

from __future__ import annotations

import re
import shlex

from packaging.requirements import Requirement

# Programs whose arguments are fixed words of ours: how many there must be at least.
PLAIN = {
    "sudo": 1, "echo": 1, "grep": 2, "unset": 1, "docker": 2, "podman": 2, "apptainer": 3,
    "singularity": 3, "srun": 2, "wsl": 1, "rm": 2, "rmdir": 1, "ps": 2, "set": 1,
    "install-helper": 2,
}  # fmt: skip
PIP_OPTIONS = {"--upgrade": 0, "--force-reinstall": 0, "--no-deps": 0, "-f": 1, "-y": 0,
               "--break-system-packages": 0, "--no-index": 0, "--find-links": 1}  # fmt: skip
UV_OPTIONS = {"--upgrade": 0, "--reinstall": 0, "--no-deps": 0, "-f": 1, "--python": 1,
              "--no-index": 0, "--find-links": 1}  # fmt: skip
CONDA_OPTIONS = {"-c": 1, "-p": 1, "-n": 1, "--force-reinstall": 0}
CONDA_SPEC = re.compile(
    r"[a-z][\w-]*((==?|>=|<=|<|>)[\w.*]+(,(==?|>=|<=|<|>)[\w.*]+)*(=[\w*]+)?)?$"
)


def arguments(words: list[str], known: dict[str, int]) -> tuple[list[str], list[str]]:
    """The options with their values, and the other words."""
    options, rest, words = [], [], list(words)
    while words:
        word = words.pop(0)
        if not word.startswith("-"):
            rest.append(word)
            continue
        if word not in known:
            raise ValueError(f"unknown option {word}")
        options += [word, *(words.pop(0) for _ in range(known[word]))]
    return options, rest


def installs(line: str) -> tuple[list[str], list[str]] | None:
    """The options and requirements of a pip or uv install command, else None.

    Raises ValueError where the command is none that its program takes.
    """
    for part in re.split(r" && | \| ", line):
        found = _one(shlex.split(part))
        if found:
            return found
    return None


def _one(words: list[str]) -> tuple[list[str], list[str]] | None:
    while words and re.match(r"[A-Z_]+=", words[0]):
        words = words[1:]
    if words[1:3] == ["-m", "pip"]:
        return _packages(words[3], words[4:], PIP_OPTIONS)
    if words[:2] == ["uv", "pip"]:
        return _packages(words[2], words[3:], UV_OPTIONS)
    if words[:2] == ["uv", "venv"] or words[1:3] == ["-m", "venv"]:
        return None
    if words[0] in ("conda", "mamba", "micromamba"):
        if words[1] == "run":
            return _one(words[words.index("python") :])
        for name in arguments(words[2:], CONDA_OPTIONS)[1]:
            if not CONDA_SPEC.match(name):
                raise ValueError(f"{name} is nothing that conda takes")
        return None
    if words[0] == "export":
        if not re.match(r"[A-Z_]+=", words[1]) or len(words) != 2:
            raise ValueError(f"{words} sets no variable")
        return None
    if words[0] == "py" and words[2:] == ["-m", "venv", ".venv"]:
        return None
    if words[-1] in ("PROGRAM",) or len(words) > PLAIN.get(words[0], 99):
        return None
    raise ValueError(f"{words[0]} is no program that is known here")


def _packages(
    verb: str, words: list[str], known: dict[str, int]
) -> tuple[list[str], list[str]] | None:
    options, rest = arguments(words, known)
    for name in rest:
        Requirement(name)
    if not rest or verb not in ("install", "uninstall"):
        raise ValueError(f"{verb} of nothing")
    return (options, rest) if verb == "install" else None

"""Commands for the installer that a user has: pip, uv or conda."""

from __future__ import annotations

import re
from collections.abc import Iterable

from install_helper.reading import Reading

OLD_WHEELS = "https://storage.googleapis.com/jax-releases/jax_releases.html"
OLD_CUDA_WHEELS = "https://storage.googleapis.com/jax-releases/jax_cuda_releases.html"


def quote(text: str) -> str:
    """A word as every shell takes it."""
    return f'"{text}"' if re.search(r"[^\w./:=+@,-]", text) else text


def installer(reading: Reading) -> str:
    """pip, uv or conda. In a conda environment whose jaxlib came from pip it is pip."""
    kind = reading.facts.python.installer.value or "pip"
    item = reading.installed.get("jaxlib")
    by_pip = item is not None and item.installer in ("pip", "uv")
    return "pip" if kind == "conda" and by_pip and "jaxlib" not in reading.conda else kind


def conda(reading: Reading) -> str:
    """The program of a conda environment: conda, mamba or micromamba."""
    name = (reading.env("MAMBA_EXE") or "").replace("\\", "/").rpartition("/")[2]
    name = name.partition(".")[0]
    return name if name in ("mamba", "micromamba") else "conda"


def conda_install(reading: Reading, *requirements: str) -> str:
    """The command that installs conda's packages."""
    return " ".join([conda(reading), "install", "-c", "conda-forge", *map(quote, requirements)])


def words(reading: Reading, verb: str, kind: str | None = None) -> list[str]:
    """The beginning of an install or uninstall command, as a list of words."""
    kind = kind or installer(reading)
    python = reading.facts.python
    if kind == "uv":
        return ["uv", "pip", verb]
    if kind == "conda" and verb == "install":
        return [conda(reading), "install", "-c", "conda-forge"]
    name = "python" if python.environment != "system" else f"python{reading.python or ''}"
    if reading.system == "Windows":
        name = "python" if python.environment != "system" else "py"
    return [name, "-m", "pip", verb, *(["-y"] if verb == "uninstall" else [])]


def install(reading: Reading, *requirements: str, options: Iterable[str] = ()) -> str:
    """The command that installs requirements.

    conda does not know extras: callers give conda's own names where they differ.
    """
    start = words(reading, "install")
    if "conda-forge" in start:
        requirements = tuple(name for r in requirements for name in conda_names(r))
        options = ()
    return " ".join([*start, *options, *(quote(r) for r in requirements)])


def conda_names(text: str) -> tuple[str, ...]:
    """A requirement in conda's words: it knows no extras, and chooses CUDA by the build's name.

    >>> conda_names("jax[cuda12]==0.9.2"), conda_names("jaxlib==0.9.2")
    (('jax==0.9.2', 'jaxlib=*=*cuda*'), ('jaxlib==0.9.2',))
    """
    match = re.match(r"([\w.-]+)(?:\[([^\]]*)\])?(.*)", text)
    if match is None:
        return (text,)
    plain = f"{match[1]}{match[3]}"
    return (plain, "jaxlib=*=*cuda*") if (match[2] or "").startswith("cuda") else (plain,)


def uninstall(reading: Reading, *names: str) -> str:
    """The command that removes distributions that pip or uv installed."""
    kind = installer(reading)
    return " ".join([*words(reading, "uninstall", "pip" if kind == "conda" else kind), *names])


def reinstall(reading: Reading, *requirements: str) -> str:
    """The command that unpacks distributions again, whatever is there, and nothing else."""
    kind = installer(reading)
    option = "--reinstall" if kind == "uv" else "--force-reinstall"
    start = words(reading, "install", "pip" if kind == "conda" else kind)
    return " ".join([*start, option, "--no-deps", *(quote(r) for r in requirements)])

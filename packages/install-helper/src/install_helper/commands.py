"""Commands for the installer that a user has: pip, uv or conda.

A printed command is meant to be copied: it names the Python that was examined, whatever Python a
shell finds first, and it is one that this installer takes.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

from install_helper.reading import Reading

OLD_WHEELS = "https://storage.googleapis.com/jax-releases/jax_releases.html"
OLD_CUDA_WHEELS = "https://storage.googleapis.com/jax-releases/jax_cuda_releases.html"
NEW_ENVIRONMENT = "accelerated"  # the name of a conda environment that a command makes

# conda-forge's names of NVIDIA's wheels, without ``nvidia-`` and ``-cuNN``.
CONDA_NAMES = {
    "cudnn": "cudnn",
    "nccl": "nccl",
    "nvshmem": "libnvshmem",
    "cublas": "libcublas",
    "cufft": "libcufft",
    "cusolver": "libcusolver",
    "cusparse": "libcusparse",
    "nvjitlink": "libnvjitlink",
    "cuda-runtime": "cuda-cudart",
    "cuda-cupti": "cuda-cupti",
    "cuda-nvcc": "cuda-nvcc",
    "cuda-nvrtc": "cuda-nvrtc",
    "nvvm": "cuda-nvcc",
}


def quote(text: str) -> str:
    """A word as every shell takes it.

    >>> quote("numpy"), quote("jax[cuda12]"), quote("$(reboot)")
    ('numpy', '"jax[cuda12]"', "'$(reboot)'")
    """
    if re.search(r"[$`\"!]", text):
        return shlex.quote(text)
    return f'"{text}"' if not text or re.search(r"[^\w./:=+@,\\-]", text) else text


def unset(reading: Reading, name: str) -> str:
    """The command that takes a variable away."""
    return f"set {name}=" if reading.system == "Windows" else f"unset {name}"


def export(reading: Reading, name: str, value: str) -> str:
    """The command that sets a variable."""
    if reading.system == "Windows":
        return f'set "{name}={value}"'
    return f"export {name}={quote(value)}"


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


def conda_start(reading: Reading) -> list[str]:
    """The beginning of conda's install command; it names the environment if that is not active."""
    prefix = reading.facts.python.prefix
    where = [] if reading.env("CONDA_PREFIX") == prefix else ["-p", quote(prefix)]
    return [conda(reading), "install", *where, "-c", "conda-forge"]


def conda_install(reading: Reading, *requirements: str) -> str:
    """The command that installs conda's packages."""
    return " ".join([*conda_start(reading), *map(quote, requirements)])


def is_managed(reading: Reading) -> bool:
    """Whether this Python belongs to the system, whose pip then refuses to install."""
    python = reading.facts.python
    return python.externally_managed and python.environment == "system"


def words(reading: Reading, verb: str, kind: str | None = None) -> list[str]:
    """The beginning of an install or uninstall command, as a list of words."""
    kind = kind or installer(reading)
    python = reading.facts.python
    if kind == "uv":
        return ["uv", "pip", verb, *([] if python.active else ["--python", quote(python.prefix)])]
    if kind == "conda" and verb == "install":
        return conda_start(reading)
    managed = ["--break-system-packages"] if is_managed(reading) else []
    return [
        quote(python.command), "-m", "pip", verb, *(["-y"] if verb == "uninstall" else []), *managed
    ]  # fmt: skip


def fresh(reading: Reading, python: str | None = None) -> tuple[str, list[str]]:
    """The command that makes an environment, and the beginning of an install into it.

    `python` is the version of another Python than the one that was examined.
    """
    kind = installer(reading)
    ours = python in (None, reading.python)
    if kind == "uv":
        return f"uv venv --python {python}", ["uv", "pip", "install", "--python", ".venv"]
    if kind == "conda":
        make = f"{conda(reading)} create -n {NEW_ENVIRONMENT} -c conda-forge python={python} pip"
        run = [conda(reading), "run", "-n", NEW_ENVIRONMENT, "python", "-m", "pip", "install"]
        return make, run
    windows = reading.system == "Windows"
    start = reading.facts.python.command if ours else f"python{python}"
    start = f"py -{python}" if windows and not ours else quote(start)
    folder = ".venv\\Scripts\\python" if windows else ".venv/bin/python"
    return f"{start} -m venv .venv", [folder, "-m", "pip", "install"]


def install(reading: Reading, *requirements: str, options: Iterable[str] = ()) -> str:
    """The command that installs requirements.

    conda does not know extras, and has no covector: its own names are given, or pip is taken.
    """
    kind, options = installer(reading), list(options)
    if kind == "conda" and not any(r.startswith("covector") for r in requirements):
        names = dict.fromkeys(name for r in requirements for name in conda_names(r))
        return " ".join([*conda_start(reading), *map(quote, names)])
    start = words(reading, "install", "pip" if kind == "conda" else kind)
    if is_managed(reading) and reading.jaxlib is None:
        make, start = fresh(reading)
        start = [make, "&&", *start]
    return " ".join([*start, *options, *map(quote, requirements)])


def conda_names(text: str) -> tuple[str, ...]:
    """A requirement in conda's words: it knows no extras, and chooses CUDA by the build's name.

    conda-forge gives no fourth number to some releases: three numbers match both forms.

    >>> conda_names("jax[cuda12]==0.12.0.1"), conda_names("nvidia-cudnn-cu12<9.11")
    (('jax=0.12.0', 'jaxlib=*=*cuda*'), ('cudnn<9.11',))
    """
    match = re.match(r"([\w.-]+)(?:\[([^\]]*)\])?(.*)", text)
    if match is None:
        return (text,)
    name, extra, bounds = match[1], match[2] or "", match[3]
    bounds = re.sub(r"^==(\d+\.\d+\.\d+)(\.\d+)*$", r"=\1", bounds)
    if re.match(r"jax-cuda\d+-(plugin|pjrt)$", name):
        return (f"jaxlib{bounds or '=*'}=*cuda*",)  # conda's jaxlib holds the plugin
    wheel = re.match(r"nvidia-(.+?)(?:-cu\d+)?$", name)
    if wheel:
        # The fourth number of NVIDIA's wheels is of the wheel; conda's versions differ there.
        short = re.sub(r"==?(\d+\.\d+\.\d+)\.\d+", r"=\1", bounds)
        return (f"{CONDA_NAMES.get(wheel[1], wheel[1])}{short}",)
    cuda = ("jaxlib=*=*cuda*",) if extra.startswith("cuda") else ()
    return (f"{name}{bounds}", *cuda)


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


def remove_folder(reading: Reading, path: str) -> str:
    """The command that deletes a folder."""
    return f"rmdir /s {quote(path)}" if reading.system == "Windows" else f"rm -r {quote(path)}"

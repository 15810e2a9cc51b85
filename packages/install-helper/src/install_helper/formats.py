"""A plan as a command, a requirements file, a conda environment, or a Dockerfile."""

from __future__ import annotations

import re
from collections.abc import Callable

from install_helper import commands
from install_helper.plan import CONDA_TARGETS, Plan

FORMATS = ("command", "pip", "uv", "requirements", "conda", "docker")


def command(plan: Plan) -> str:
    """The command for the installer of this machine."""
    return "\n".join([*plan.before, plan.command])


def _with(start: str) -> Callable[[Plan], str]:
    def text(plan: Plan) -> str:
        return " ".join([start, *map(commands.quote, [*plan.options, *plan.requirements])])

    return text


def option_lines(plan: Plan) -> list[str]:
    """The options of pip as a requirements file takes them: one in a line."""
    lines: list[str] = []
    for word in plan.options:
        if word.startswith("-"):
            lines.append(word)
        else:
            lines[-1] += f" {word}"
    return lines


def requirements(plan: Plan) -> str:
    """A requirements file: the framework, then the pins that go with it."""
    lines = [f"# {plan.target} for Python {plan.python}", *option_lines(plan), *plan.requirements]
    # Bounds of NVIDIA wheels come with the extra; the pins are what must not move apart.
    pins = [r for r in plan.resolved if "==" in r and "[" not in r and not r.startswith("nvidia")]
    named = {re.split(r"[=<\[]", r)[0] for r in plan.requirements}
    lines += [pin for pin in pins if pin.split("==")[0] not in named]
    return "\n".join(lines)


def conda(plan: Plan) -> str:
    """A conda environment file; what conda-forge does not carry is installed by its pip."""
    lines = [f"name: {commands.NEW_ENVIRONMENT}", "channels:", "  - conda-forge", "dependencies:"]
    lines.append(f"  - python={plan.python}")
    if plan.framework == "jax" and plan.target in CONDA_TARGETS:
        jax, *others = (n for r in plan.requirements for n in commands.conda_names(r))
        build = "cuda" if plan.target.startswith("cuda") else "cpu"
        lines += [f"  - {jax}", f"  - jaxlib=*=*{build}*"]
        lines += [f"  - {name}" for name in others if not name.startswith("jaxlib")]
        if build == "cuda":
            lines += [f"  - cuda-version={plan.target[4:]}.*", "  - cuda-nvcc"]
        return "\n".join(lines)
    lines += ["  - pip", "  - pip:"]
    lines += [f"      - {line}" for line in [*option_lines(plan), *plan.requirements]]
    return "\n".join(lines)


def docker(plan: Plan) -> str:
    """Lines of a Dockerfile. The image holds no driver: the host's is passed in at start.

    Raises ValueError where the plan needs a CUDA or ROCm of the machine, which no image has.
    """
    if plan.target in ("cuda-local", "legacy", "rocm"):
        raise ValueError(
            f"--format docker has no image for a plan of kind {plan.target}: such an image must "
            "hold the vendor's libraries; take one of the vendor's, or --cuda 12 or 13."
        )
    lines = [f"FROM python:{plan.python}-slim"]
    options = list(plan.options)
    if "--find-links" in options:
        folder = options.index("--find-links") + 1
        name = options[folder].rstrip("/").rpartition("/")[2]
        lines.append(
            "# build in the folder that holds the wheels' folder: docker copies from there"
        )
        lines.append(f"COPY {commands.quote(name)} /wheels")
        options[folder] = "/wheels"
    words = map(commands.quote, [*options, *plan.requirements])
    lines.append(f"RUN pip install --no-cache-dir {' '.join(words)}")
    if plan.target.startswith("cuda"):
        lines += [
            "ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility",
            "# docker run --gpus all IMAGE",
        ]
    if plan.target == "tpu":
        lines.append("# docker run --privileged --net=host IMAGE")
    return "\n".join(lines)


WRITERS: dict[str, Callable[[Plan], str]] = {
    "command": command,
    "pip": _with("python -m pip install"),
    "uv": _with("uv pip install"),
    "requirements": requirements,
    "conda": conda,
    "docker": docker,
}

"""A plan as a command, a requirements file, a conda environment, or a Dockerfile."""

from __future__ import annotations

from collections.abc import Callable

from install_helper import commands
from install_helper.plan import Plan

FORMATS = ("command", "pip", "uv", "requirements", "conda", "docker")


def command(plan: Plan) -> str:
    """The command for the installer of this machine."""
    return "\n".join([*plan.before, plan.command])


def _with(start: str) -> Callable[[Plan], str]:
    def text(plan: Plan) -> str:
        words = [start, *plan.options, *(commands.quote(r) for r in plan.requirements)]
        return " ".join(words)

    return text


def requirements(plan: Plan) -> str:
    """A requirements file: the framework, then the pins that go with it."""
    lines = [f"# {plan.target} for Python {plan.python}"]
    lines += [" ".join(plan.options)] if plan.options else []
    lines += [*plan.requirements]
    # Bounds of NVIDIA wheels come with the extra; the pins are what must not move apart.
    pins = [r for r in plan.resolved if "==" in r and "[" not in r and not r.startswith("nvidia")]
    named = {r.split("==")[0] for r in plan.requirements}
    lines += [pin for pin in pins if pin.split("==")[0] not in named]
    return "\n".join(lines)


def conda(plan: Plan) -> str:
    """A conda environment file; what conda-forge does not carry is installed by its pip."""
    lines = ["name: accelerated", "channels:", "  - conda-forge", "dependencies:"]
    lines.append(f"  - python={plan.python}")
    if plan.framework == "jax" and plan.target in ("cpu", "cuda12", "cuda13"):
        lines.append(f"  - jax={plan.jaxlib}")
        build = "*cuda*" if plan.target.startswith("cuda") else "*cpu*"
        lines.append(f"  - jaxlib={plan.jaxlib}={build}")
        if plan.target.startswith("cuda"):
            lines += [f"  - cuda-version={plan.target[4:]}.*", "  - cuda-nvcc"]
        return "\n".join(lines)
    lines += ["  - pip", "  - pip:"]
    lines += [f"      - {line}" for line in [" ".join(plan.options), *plan.requirements] if line]
    return "\n".join(lines)


def docker(plan: Plan) -> str:
    """Lines of a Dockerfile. The image holds no driver: the host's is passed in at start."""
    words = [*plan.options, *(commands.quote(r) for r in plan.requirements)]
    lines = [f"FROM python:{plan.python}-slim", f"RUN pip install --no-cache-dir {' '.join(words)}"]
    if plan.target.startswith("cuda"):
        lines += [
            "ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility",
            "# docker run --gpus all IMAGE",
        ]
    lines += [f"ENV {name}={value}" for name, value in plan.variables.items()]
    return "\n".join(lines)


WRITERS: dict[str, Callable[[Plan], str]] = {
    "command": command,
    "pip": _with("python -m pip install"),
    "uv": _with("uv pip install"),
    "requirements": requirements,
    "conda": conda,
    "docker": docker,
}

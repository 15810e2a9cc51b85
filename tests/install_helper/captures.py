"""The captures of `docs/install-helper.md`, made from simulated systems.

python tests/install_helper/captures.py    # write them into the page
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.append(str(Path(__file__).parent))

from install_helper import cli, facts, matrix
from simulator import Machine

# The keys below `facts`; the other records stand in lists.
KEYS = {name: f"`{name.lower()}`" for name in (
    "System", "Python", "Packages", "Nvidia", "Cuda", "Tpu", "Rocm", "Oneapi")}  # fmt: skip
RECORDS = ("System", "Python", "Packages", "Distribution", "Card", "Node", "Nvidia", "Gpu",
           "Driver", "Cuda", "Toolkit", "Tool", "Library", "Tpu", "Rocm", "Oneapi")  # fmt: skip
PAGE = Path(__file__).parents[2] / "docs" / "install-helper.md"


def good_machine(m: Machine) -> None:
    m.driver("580.95.05", ("9.0",))
    m.cuda(13)


def old_library(m: Machine) -> None:
    m.driver()
    m.cuda()
    m.env["LD_LIBRARY_PATH"] = "/opt/old/lib64"
    m.library("libnvJitLink.so", "12", "12.2.140", "/opt/old/lib64")


def cpu_only(m: Machine) -> None:
    m.driver("580.95.05", ("6.1",))
    m.cpu()


def toolkit(m: Machine) -> None:
    m.driver()
    m.toolkit("12.8.1", "/usr/lib/nvidia-cuda-toolkit")


CAPTURES: dict[str, tuple[Callable[[Machine], None], list[str]]] = {
    "doctor-good": (good_machine, ["doctor"]),
    "doctor-library": (old_library, ["doctor"]),
    "doctor-cpu-only": (cpu_only, ["doctor"]),
    "plan-local": (toolkit, ["plan", "--cuda", "local", "--for", "jax"]),
    "plan-docker": (good_machine, ["plan", "--format", "docker", "--for", "jax"]),
    "explain": (good_machine, ["explain", "Unable to load cuSPARSE. Is it installed?"]),
}


def capture(name: str) -> str:
    """What a command prints on its system."""
    build, arguments = CAPTURES[name]
    with tempfile.TemporaryDirectory() as folder:
        machine = Machine(Path(folder))
        build(machine)
        machine.describe()
        root = [] if arguments[0] == "explain" else ["--root", folder, "--run-programs"]
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            cli.main([*arguments, *root])
    return printed.getvalue().rstrip()


def cuda_table() -> str:
    """CUDA majors: drivers, GPUs, and the releases that serve them."""
    lines = [
        "| CUDA | driver | compute capability | jaxlib | how |",
        "| --- | --- | --- | --- | --- |",
    ]
    for major, name in ((13, "jax-cuda13-plugin"), (12, "jax-cuda12-plugin")):
        row = matrix.family(major)
        rows = [(r, matrix.cuda_build(r, major)) for r in matrix.table()["jaxlibs"]]
        rows = [(r, b) for r, b in rows if b]
        least = rows[-1][1]["compute_capability_min"]
        span = f"{rows[0][0]['jaxlib']} to {rows[-1][0]['jaxlib']}"
        driver = row["driver_linux_min_minor_compat"]
        lines.append(f"| {major} | {driver} or newer | {least} or newer | {span} | `{name}` |")
    drivers = {b["tag"]: b["driver_linux_min"] for r in matrix.table()["jaxlibs"]
               for b in r.get("cuda", ())}  # fmt: skip
    least = {b["tag"]: (b["cuda_min"], b["cudnn_min"], b["compute_capability_min"])
             for r in matrix.table()["jaxlibs"] for b in r.get("cuda", ())}  # fmt: skip
    for tag, (first, last) in matrix.local_build_tags().items():
        cuda, cudnn, gpu = least[tag]
        lines.append(
            f"| {cuda}, cuDNN {cudnn} | {drivers[tag]} or newer | {gpu} or newer | "
            f"{first} to {last} | `jaxlib==V+{tag}` |"
        )
    return "\n".join(lines)


def facts_table() -> str:
    """What JSON holds below `facts`: each record with its fields, from the classes themselves."""
    lines = ["| record | fields |", "| --- | --- |"]
    for name in RECORDS:
        kind = getattr(facts, name)
        fields = ", ".join(f"`{field.name}`" for field in dataclasses.fields(kind))
        about = (kind.__doc__ or "").split("\n")[0].rstrip(".")
        where = KEYS.get(name, f"in a list ({name.lower()})")
        lines.append(f"| {where}: {about} | {fields} |")
    return "\n".join(lines)


def fill(text: str) -> str:
    """The page with every capture and the table as they are now."""

    def block(match: re.Match[str]) -> str:
        name = match[1]
        tables = {"cuda-table": cuda_table, "facts-table": facts_table}
        shown = tables[name]() if name in tables else f"```text\n{capture(name)}\n```"
        return f"<!-- {name} -->\n{shown}\n<!-- end -->"

    return re.sub(r"<!-- ([a-z-]+) -->\n.*?<!-- end -->", block, text, flags=re.DOTALL)


if __name__ == "__main__":
    PAGE.write_text(fill(PAGE.read_text(encoding="utf-8")), encoding="utf-8")

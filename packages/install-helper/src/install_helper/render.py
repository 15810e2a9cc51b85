"""Reports as text of 80 columns, and as JSON."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from install_helper import matrix
from install_helper.commands import quote
from install_helper.facts import SCHEMA_VERSION, plain
from install_helper.findings import Finding
from install_helper.plan import Plan
from install_helper.reading import Reading
from install_helper.versions import numbers

WIDTH = 80
COLORS = {"error": "\033[31;1m", "warn": "\033[33;1m", "info": "\033[36m", "bold": "\033[1m"}
SHOWN_ROWS = 100
SHOWN = ("covector", "jax", "jaxlib", "numpy", "libtpu", "jax-metal", "torch", "tensorflow")


def plain_text(text: str) -> str:
    """Text without control characters."""
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]", "?", text)


def clean(text: str) -> str:
    """Text without control characters, and with the home directory shortened."""
    text = plain_text(text)
    home = os.path.expanduser("~")
    return re.sub(rf"{re.escape(home)}(?=[/\\]|$)", "~", text) if len(home) > 1 else text


def paint(text: str, color: str, use: bool) -> str:
    """Text in a color, where colors are wanted."""
    return f"{COLORS[color]}{text}\033[0m" if use else text


def wrap(text: str, first: str = "", rest: str | None = None) -> str:
    """Wrapped text; `first` begins the first line and `rest` the others."""
    rest = " " * len(first) if rest is None else rest
    return textwrap.fill(
        clean(text),
        WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def summary(reading: Reading) -> list[tuple[str, str]]:
    """What the machine is, as short lines with a heading each."""
    lines = [("System", _system(reading)), ("Python", _python(reading))]
    lines.append(("Packages", _packages(reading)))
    for heading, text in (
        ("GPU", _gpus(reading)),
        ("CUDA", _cuda(reading)),
        ("TPU", _tpu(reading)),
        ("ROCm", _rocm(reading)),
        ("Set", _variables(reading)),
        ("Unknown", _unknown(reading)),
    ):
        if text:
            lines.append((heading, text))
    return lines


def _system(reading: Reading) -> str:
    system = reading.facts.system
    libc = system.libc.value
    parts = [f"{reading.system} {reading.machine}", system.distribution.value or ""]
    parts.append(f"{libc[0]} {libc[1]}".strip() if libc else "")
    parts.append(f"{reading.container} container" if reading.container else "")
    parts.append(f"WSL{reading.wsl}" if reading.wsl else "")
    return ", ".join(part for part in parts if part)


def _python(reading: Reading) -> str:
    python = reading.facts.python
    kind = " free-threaded" if python.free_threaded.value else ""
    where = "" if python.environment == "system" else f" ({python.environment} {python.prefix})"
    return f"{python.version.value or 'none'}{kind}{where}, packages by {python.installer.value}"


def _packages(reading: Reading) -> str:
    names = [n for n in SHOWN if n in reading.installed]
    names += [n for n in sorted(reading.installed) if n.endswith("-plugin")]
    found = [f"{n} {reading.version(n) or '?'}" for n in names]
    found += [
        f"{d.name} {d.version} {d.build} (conda)"
        for d in reading.conda.values()
        if d.name == "jaxlib"
    ]
    total = reading.facts.packages.total
    return ", ".join(found) if found else f"neither jax nor jaxlib among {total} packages"


def _gpus(reading: Reading) -> str:
    gpus: dict[str, int] = {}
    for gpu in reading.gpus:
        kind = matrix.architecture(gpu.capability).split(" ")[0]
        about = f" (compute capability {gpu.capability}{', ' + kind if kind else ''})"
        name = gpu.name + (about if gpu.capability else "")
        gpus[name] = gpus.get(name, 0) + 1
    parts = [f"{count} x {name}" if count > 1 else name for name, count in gpus.items()]
    if not parts and reading.cards:
        parts = [f"{len(reading.cards)} NVIDIA card(s) on the bus, none reached"]
    if not parts and reading.wsl and reading.gpu_nodes:
        parts = ["one that Windows shares through /dev/dxg"]
    if not parts and reading.sees_gpu:
        parts = [node.path for node in reading.gpu_nodes]
    if reading.driver:
        parts.append(f"driver {reading.driver} (CUDA {reading.driver_cuda or '?'})")
    return "; ".join(parts)


def _cuda(reading: Reading) -> str:
    parts = []
    if reading.wheels:
        cudnn = reading.version(f"nvidia-cudnn-cu{reading.cuda_major}")
        parts.append(f"{len(reading.wheels)} wheels for CUDA {reading.cuda_major}")
        parts.append(f"cuDNN {cudnn}" if cudnn else "no cuDNN wheel")
    parts += [f"toolkit {k.version or '?'} in {k.path}" for k in reading.facts.cuda.toolkits[:3]]
    return ", ".join(parts)


def _tpu(reading: Reading) -> str:
    chips = reading.facts.tpu.chips
    kind = matrix.table()["tpu"]["pci_device_ids"].get(chips[0].device, "") if chips else ""
    return f"{len(chips)} chip(s) {kind}".strip() if chips else ""


def _rocm(reading: Reading) -> str:
    rocm = reading.facts.rocm
    parts = [*rocm.gpus[:8], *(f"ROCm {version} in {path}" for path, version in rocm.versions)]
    return ", ".join(parts)


def _variables(reading: Reading) -> str:
    hidden = ("PATH", "MAMBA_EXE", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH")
    shown = [(n, v) for n, v in reading.facts.env.items() if n not in hidden]
    return ", ".join(f"{n}={v if len(v) < 60 else v[:57] + '...'}" for n, v in shown[:6])


def _unknown(reading: Reading) -> str:
    nvidia = reading.facts.nvidia
    values = {
        "nvidia-smi": nvidia.smi,
        "libcuda": nvidia.driver,
        "kernel module": nvidia.module_version,
        "bus": reading.facts.cards,
        "processor": reading.facts.system.cpu_flags,
    }
    bad = [
        f"{n} ({v.note or v.state})"
        for n, v in values.items()
        if v.state in ("denied", "timeout", "error")
    ]
    return ", ".join(bad)


def finding_text(finding: Finding, color: bool) -> str:
    """One finding: what was seen, why it matters, what to type."""
    head = f"{finding.level.upper()} {finding.id}: {finding.title}"
    lines = [paint(head, finding.level, color)]
    for seen in finding.seen:
        where = f"  [{seen.source}]" if seen.source else ""
        lines.append(wrap(seen.text + where, "  seen  "))
    if finding.why:
        sure = "" if finding.sure == "high" else f" (how sure: {finding.sure})"
        lines.append(wrap(finding.why + sure, "  why   "))
    for step in finding.steps:
        lines.append(wrap(step.text + (":" if step.command else ""), "  fix   "))
        if step.command:
            # Never wrapped, no path shortened: a command is copied whole.
            lines.append(f"        {paint(plain_text(step.command), 'bold', color)}")
    lines.append(f"        more: install-helper explain {finding.id}")
    return "\n".join(lines)


def doctor_text(
    reading: Reading,
    findings: Sequence[Finding],
    plan: Plan,
    *,
    smoke: str = "",
    verbose: bool = False,
    color: bool = False,
) -> str:
    """The whole report."""
    lines = [wrap(text, f"{heading:<10}", " " * 10) for heading, text in summary(reading)]
    if smoke:
        lines.append(wrap(smoke, f"{'Smoke run':<10}", " " * 10))
    newer = next(
        (v for v in (reading.release("jax"), reading.jaxlib) if matrix.is_newer_than_table(v)), None
    )
    if newer:
        lines.append(
            wrap(
                f"{newer} is newer than my table of {matrix.table()['as_of']}: the "
                "packages' own bounds decide.",
                f"{'Note':<10}",
                " " * 10,
            )
        )
    lines += ["", count_text(findings, color)]
    for finding in findings:
        lines += ["", finding_text(finding, color)]
    lines += ["", *plan_lines(plan, color)]
    if verbose:
        lines += ["", "Facts", *fact_lines(reading.facts.as_dict())]
    return "\n".join(lines)


def count_text(findings: Sequence[Finding], color: bool) -> str:
    """How many findings there are, in a line."""
    if not findings:
        return paint("No problem found.", "bold", color)
    names = {"error": "error", "warn": "warning", "info": "note"}
    counts = [(names[lv], sum(f.level == lv for f in findings)) for lv in names]
    return "Found " + ", ".join(f"{n} {w}{'s' if n > 1 else ''}" for w, n in counts if n) + "."


def plan_lines(plan: Plan, color: bool) -> Iterable[str]:
    """The recommended command, or why there is none."""
    if not plan.fits:
        yield paint("Nothing fits this machine:", "bold", color)
        for text in plan.blocked:
            yield wrap(text, "  ")
        return
    yield paint(f"Recommended for this machine ({plan.target}):", "bold", color)
    for line in (*plan.before, plan.command):
        yield f"  {paint(plain_text(line), 'bold', color)}"
    for name, value in plan.variables.items():
        yield f"  export {name}={quote(plain_text(value))}"
    for reason in plan.reasons:
        yield wrap(reason, "  - ")


def fact_lines(facts: Any, indent: str = "  ") -> list[str]:
    """Every fact in a line, with where it was read."""
    lines = []
    for name, value in facts.items() if isinstance(facts, dict) else ():
        if isinstance(value, dict) and "state" in value and "source" in value:
            shown = value["value"] if value["state"] == "ok" else f"({value['state']})"
            where = f"[{value['source'][:60]}]"
            rows = shown if isinstance(shown, list) and shown and isinstance(shown[0], dict) else ()
            text = f"{name}:  {where}" if rows else f"{name}: {_short(shown)}  {where}"
            lines.append(wrap(text, indent, indent + "    "))
            lines += _rows(rows, indent + "  ")
        elif isinstance(value, dict):
            lines += [f"{indent}{name}", *fact_lines(value, indent + "  ")]
        elif isinstance(value, list) and value:
            lines += [f"{indent}{name}", *_rows(value, indent + "  ")]
        else:
            lines.append(wrap(f"{name}: {_short(value)}", indent, indent + "    "))
    return lines


def _rows(rows: Sequence[Any], indent: str) -> list[str]:
    """One line for each row of a list; where it is a record, its fields that say something."""
    lines = []
    for row in rows[:SHOWN_ROWS]:
        fields = row.items() if isinstance(row, dict) else ()
        told = [f"{k} {_short(v)}" for k, v in fields if v not in (None, "", [], ())]
        text = ", ".join(told) if isinstance(row, dict) else _short(row)
        lines.append(wrap(text, indent, indent + "    "))
    more = len(rows) - SHOWN_ROWS
    return [*lines, f"{indent}and {more} more"] if more > 0 else lines


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) < 400 else text[:397] + "..."


def plan_dict(plan: Plan) -> dict[str, Any]:
    """A plan for JSON."""
    return {"fits": plan.fits, **plain(plan)}


def doctor_dict(
    reading: Reading, findings: Sequence[Finding], plan: Plan, smoke: dict[str, Any] | None
) -> dict[str, Any]:
    """The whole report for JSON; `docs/install-helper.md` documents it."""
    from install_helper import __version__

    return {
        "schema_version": SCHEMA_VERSION,
        "tool_version": __version__,
        "table": matrix.table()["as_of"],
        "healthy": not any(f.level in ("error", "warn") for f in findings),
        "framework": reading.framework,
        "summary": {heading.lower(): clean(text) for heading, text in summary(reading)},
        "findings": [plain(f) for f in findings],
        "plan": plan_dict(plan),
        "smoke": smoke,
        "facts": reading.facts.as_dict(),
    }


def python_tag(version: str | None) -> str:
    """A Python's version as images are tagged: ``3.13``."""
    found = numbers(version, 2)
    return f"{found[0]}.{found[1]}" if found else "3.13"

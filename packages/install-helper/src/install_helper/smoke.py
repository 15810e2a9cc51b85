"""Run small programs in a process of its own, and turn what happens into findings."""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import dataclass
from typing import Any

from install_helper.cases import search
from install_helper.explain import readable
from install_helper.findings import Finding, Seen, Step, found
from install_helper.host import run_limited
from install_helper.reading import Reading

SECONDS = 120.0


@dataclass(frozen=True)
class Smoke:
    """How a smoke run ended: ok, failed, crashed, hung or skipped; and its stages."""

    state: str
    stage: str
    detail: str
    stages: tuple[dict[str, Any], ...]
    log: str

    @property
    def summary(self) -> str:
        """One line."""
        if self.state == "ok":
            if not self.stages[-1].get("programs", True):
                return "ok: jaxlib loads; it is too old for the programs of this helper"
            devices = [d for s in self.stages for d in s.get("devices", ())]
            return f"ok: programs ran on {', '.join(devices[:4])}"
        return f"{self.state} at '{self.stage}': {self.detail}"


def platforms(reading: Reading) -> list[str]:
    """The CPU, and each accelerator that a plugin is installed for."""
    wanted = ["cpu"]
    if reading.plugins and reading.system == "Linux" and reading.sees_gpu:
        wanted.append(f"cuda:{max(reading.plugins)}")
    if reading.rocm_plugins and reading.facts.rocm.gpus:
        wanted.append(f"rocm:{max(reading.rocm_plugins)}")
    if reading.facts.tpu.chips and "libtpu" in reading.installed:
        wanted.append("tpu")
    return wanted


def smoke(reading: Reading, seconds: float = SECONDS) -> Smoke:
    """Run the stages under a time limit. Memory is taken as needed, a few MiB in all."""
    if reading.jaxlib is None:
        return Smoke("skipped", "", "jaxlib is not installed", (), "")
    python = reading.facts.python.executable
    python = python if os.path.isfile(python) else sys.executable
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "smoke_child.py")
    env = {**os.environ, "XLA_PYTHON_CLIENT_PREALLOCATE": "false", "TF_CPP_MIN_LOG_LEVEL": "0"}
    words = [python, script, *platforms(reading)]
    answer = run_limited(words, seconds, env, "smoke run", partial=True)
    if answer.value is None:
        return Smoke("failed", "start", answer.note or answer.state, (), "")
    stages = tuple(_stages(answer.value.out))
    last = stages[-1]["stage"] if stages else "start"
    log = answer.value.err[-20_000:]
    if answer.state == "timeout":
        return Smoke("hung", last, f"no end within {seconds:g} s", stages, log)
    status = answer.value.status
    if status == 0 and last == "done":
        return Smoke("ok", last, "", stages, log)
    if status < 0 or status >= 128:
        return Smoke("crashed", last, _signal(status), stages, log)
    lines = [line for line in log.strip().splitlines() if line.strip()]
    return Smoke("failed", last, lines[-1][:300] if lines else f"status {status}", stages, log)


def _signal(status: int) -> str:
    number = -status if status < 0 else status - 128
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _stages(text: str) -> list[dict[str, Any]]:
    found_lines = []
    for line in text.splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict) and "stage" in row:
            found_lines.append(row)
    return found_lines


ENDS = {"crashed": "C61", "hung": "C62", "failed": "C63"}


def findings(run: Smoke) -> list[Finding]:
    """What a smoke run tells: a known case by its words, else how it ended."""
    found_here = [*_versions(run)]
    if run.state not in ENDS:
        return found_here
    seen = [Seen(f"the smoke run {run.state} at '{run.stage or 'start'}': {run.detail}")]
    tail = [line.strip() for line in run.log.strip().splitlines() if line.strip()][-3:]
    seen += [Seen(line[:300], "log") for line in tail if line[:300] != run.detail]
    matches = search(run.log)
    if matches:
        best = matches[0].case
        return [*found_here, found(best.id, [*seen, Seen(matches[0].line, "log")])]
    return [
        *found_here,
        found(
            ENDS[run.state],
            seen,
            [Step("Search the log for known words", "install-helper explain - < LOG")],
        ),
    ]


def _versions(run: Smoke) -> list[Finding]:
    """Libraries older at run time than those the plugin was compiled with."""
    row = next((s for s in run.stages if s["stage"] == "versions"), {})
    seen = []
    for name, built in row.items():
        if not name.endswith("_build_version") or not isinstance(built, int):
            continue
        loaded = row.get(name.replace("_build_", "_get_"))
        library = name[: -len("_build_version")]
        # The patch number may be lower: the interface is that of the minor release.
        if isinstance(loaded, int) and loaded // 100 < built // 100 and library == "cudnn":
            have, want = readable("cuDNN", str(loaded)), readable("cuDNN", str(built))
            seen.append(Seen(f"cuDNN {have} loaded, compiled with {want}", "plugin"))
    return [found("C15", seen)] if seen else []

"""Time Covector and JAX on the same workloads, in alternation, and print the ratios.

    python benchmarks/run.py                    # everything; a few minutes
    python benchmarks/run.py --only eager       # the workloads with "eager" in their name
    python benchmarks/run.py --alone jax        # one side alone

Each workload is sampled A B A B ... in two processes, of which one waits while the other works. A
row shows the fastest sample of either side, their ratio, and the bar: the ratio that Covector may
have at most. The results of both sides are compared too. The exit code is 1 if a row fails.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sides import Failure, Side
from workload import Workload
from workloads import WORKLOADS

TOLERANCE = 1e-4


@dataclass
class Row:
    """One line of the report. Samples are seconds."""

    name: str
    bar: float
    baseline: str
    baseline_samples: list[float] = field(default_factory=list)
    covector_samples: list[float] = field(default_factory=list)
    failure: str | None = None

    @property
    def ratio(self) -> float | None:
        if not self.baseline_samples or not self.covector_samples:
            return None
        return min(self.covector_samples) / min(self.baseline_samples)

    @property
    def passed(self) -> bool:
        return self.failure is None and self.ratio is not None and self.ratio <= self.bar

    def verdict(self) -> str:
        if self.failure is not None:
            return self.failure.partition("\n")[0]
        if self.ratio is None:
            return ""
        return "pass" if self.passed else "FAIL"


def measure(number: int, sides: dict[str, Side], rounds: int | None) -> list[Row]:
    """Sample one workload on the given sides in alternation, after an untimed start of each."""
    workload = WORKLOADS[number]
    rows = {name: Row(name, bar, workload.baseline) for name, bar in workload.rows.items()}
    taking_part = [side for side in (workload.baseline, "covector") if side in sides]
    results: dict[str, Any] = {}
    try:
        for name in taking_part:
            results[name] = _first(workload, number, sides[name])
        for _ in range(rounds or workload.rounds):
            for name in taking_part:
                seconds, _result = sides[name].sample(workload, number)
                for row, value in seconds.items():
                    _samples(rows[row], name).append(value)
    except Failure as failure:
        for row in rows.values():
            row.failure = f"{name}: {failure}"
        return list(rows.values())
    if len(results) == 2 and not same(*results.values()):
        for row in rows.values():
            row.failure = "the results of the two sides differ"
    return list(rows.values())


def _first(workload: Workload, number: int, side: Side) -> Any:
    """The workload's result. What this run costs is not counted: it compiles and fills caches."""
    _, result = side.sample(workload, number)
    return result


def _samples(row: Row, side: str) -> list[float]:
    return row.covector_samples if side == "covector" else row.baseline_samples


def same(first: Any, second: Any) -> bool:
    """Whether two results agree, up to rounding."""
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same(first[k], second[k]) for k in first)
    if isinstance(first, list):
        return len(first) == len(second) and all(map(same, first, second))
    if isinstance(first, str):
        return first == second
    if first.dtype != second.dtype or first.shape != second.shape:
        return False
    scale = max(1e-30, float(np.max(np.abs(first), initial=0)))
    return bool(np.allclose(first, second, rtol=TOLERANCE, atol=TOLERANCE * scale))


def shown(seconds: list[float]) -> str:
    """The fastest sample, in a unit that suits it."""
    if not seconds:
        return "-"
    fastest = min(seconds)
    units = {"s": 1.0, "ms": 1e-3, "us": 1e-6}
    unit = next((unit for unit, scale in units.items() if fastest >= scale), "us")
    return f"{fastest / units[unit]:.3g} {unit}"


COLUMNS: list[tuple[str, int, Callable[[Row], str]]] = [
    ("workload", 75, lambda row: row.name),
    ("baseline", 10, lambda row: shown(row.baseline_samples)),
    ("covector", 10, lambda row: shown(row.covector_samples)),
    ("ratio", 7, lambda row: "-" if row.ratio is None else f"{row.ratio:.3f}"),
    ("bar", 5, lambda row: f"{row.bar:g}"),
    ("", 4, Row.verdict),
]


def line(texts: list[str]) -> str:
    widths = (width for _, width, _ in COLUMNS)
    cells = [
        t.ljust(w) if i in (0, 5) else t.rjust(w) for i, (t, w) in enumerate(zip(texts, widths))
    ]
    return "  ".join(cells).rstrip()


def machine() -> dict[str, Any]:
    """What the numbers depend on."""
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "jax": version("jax"),
        "jaxlib": version("jaxlib"),
        "numpy": version("numpy"),
    }


def options_of(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Time Covector and JAX on the same workloads.")
    parser.add_argument("--only", action="append", default=[], help="part of a workload's name")
    parser.add_argument("--rounds", type=int, help="samples of each side (default: per workload)")
    parser.add_argument("--alone", choices=["jax", "covector"], help="run one side alone")
    parser.add_argument("--json", type=Path, help="write all samples to this file")
    parser.add_argument("--traceback", action="store_true", help="show failures in full")
    return parser.parse_args(arguments)


def chosen(only: list[str]) -> list[int]:
    """The positions of the workloads with a row whose name contains one of the texts."""
    return [
        number
        for number, workload in enumerate(WORKLOADS)
        if not only
        or any(text in name for text in only for name in (workload.name, *workload.rows))
    ]


def main(arguments: list[str] | None = None) -> int:
    options = options_of(arguments)
    names = [options.alone] if options.alone else ["jax", "numpy", "covector"]
    sides = {name: Side(name) for name in names}
    rows: list[Row] = []
    print(line([title for title, _, _ in COLUMNS]))
    try:
        for number in chosen(options.only):
            measured = measure(number, sides, options.rounds)
            rows += measured
            for row in measured:
                print(line([text(row) for _, _, text in COLUMNS]), flush=True)
            if options.traceback and measured[0].failure:
                print(measured[0].failure, file=sys.stderr)
    finally:
        for side in sides.values():
            side.close()
    if options.json:
        report = {"machine": machine(), "rows": [asdict(r) | {"ratio": r.ratio} for r in rows]}
        options.json.write_text(json.dumps(report, indent=1))
    return int(any(row.failure or (row.ratio is not None and not row.passed) for row in rows))


if __name__ == "__main__":
    sys.exit(main())

"""The benchmarks run, and compare results of both sides. How fast they run is not tested."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def run():
    """The module ``benchmarks/run.py``."""
    sys.path.append(str(BENCHMARKS))
    try:
        spec = importlib.util.spec_from_file_location("benchmarks_run", BENCHMARKS / "run.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(BENCHMARKS))
    return module


def test_both_sides_agree(tmp_path):
    report = tmp_path / "report.json"
    names = ["eager x", "eager grad(sigmoid)", "jitted t"]
    only = [option for name in names for option in ("--only", name)]
    options = [*only, "--rounds", "1", "--json", report]
    command = [sys.executable, BENCHMARKS / "run.py", *options]
    outcome = subprocess.run(command, capture_output=True, text=True)
    assert outcome.returncode in (0, 1), outcome.stderr
    rows = json.loads(report.read_text())["rows"]
    assert {name for name in names for row in rows if name in row["name"]} == set(names)
    for row in rows:
        assert row["failure"] is None and row["ratio"] > 0, row
        assert row["name"] in outcome.stdout


def test_names_are_distinct(run):
    names = [name for workload in run.WORKLOADS for name in workload.rows]
    assert names
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    "baseline, covector, bar, verdict",
    [
        ([2.0, 1.0], [0.5, 3.0], 0.5, "pass"),
        ([2.0, 1.0], [0.6, 3.0], 0.5, "FAIL"),
        ([1.0], [], 0.5, ""),
    ],
)
def test_a_row_compares_the_fastest_samples(run, baseline, covector, bar, verdict):
    assert run.Row("name", bar, "jax", baseline, covector).verdict() == verdict


def test_a_failure_never_passes(run):
    row = run.Row("name", 1.0, "jax", [1.0], [0.1], failure="covector: NameError: x\nTraceback")
    assert row.verdict() == "covector: NameError: x" and not row.passed


@pytest.mark.parametrize(
    "first, second, same",
    [
        (np.float32(1), np.float32(1 + 1e-6), True),
        (np.float32(1), np.float32(1.1), False),
        (np.float32(1), np.float64(1), False),
        (np.ones(2), np.ones(3), False),
        ({"a": [np.ones(2)]}, {"a": [np.ones(2)]}, True),
        ({"a": [np.ones(2)]}, {"b": [np.ones(2)]}, False),
        ([np.ones(2)], [np.ones(2), np.ones(2)], False),
        ("[2. 2. 2.]\n", "[2. 2. 3.]\n", False),
        (np.array(np.nan), np.array(1.0), False),
    ],
)
def test_results_that_differ_are_found(run, first, second, same):
    assert run.same(first, second) is same

"""The example that trains on real data: it learns, on one device and on several, and says so."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "digits.py"


@pytest.mark.parametrize("devices", [1, 4])
def test_digits(tmp_path, devices):
    figure = tmp_path / "new folder" / "digits.png"
    command = [sys.executable, EXAMPLE, "--devices", str(devices), "--figure", figure]
    outcome = subprocess.run(command, capture_output=True, text=True, env=without_xla_flags())
    assert outcome.returncode == 0, outcome.stderr
    assert f"devices:          {devices} x cpu\n" in outcome.stdout
    assert float(re.search(r"test accuracy: +([\d.]+)%", outcome.stdout)[1]) > 96
    assert float(re.search(r"time per step: +([\d.]+) ms", outcome.stdout)[1]) > 0
    assert "100%" in outcome.stderr, "the progress bar comes to its end"
    assert figure.read_bytes().startswith(b"\x89PNG") and str(figure) in outcome.stdout


def test_a_batch_must_divide_among_the_devices():
    command = [sys.executable, EXAMPLE, "--devices", "3"]
    outcome = subprocess.run(command, capture_output=True, text=True, env=without_xla_flags())
    assert outcome.returncode == 2
    assert "a batch of 64 images does not divide among 3 devices" in outcome.stderr


def without_xla_flags():
    """The environment, without the number of devices that the tests' own process simulates."""
    return {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}

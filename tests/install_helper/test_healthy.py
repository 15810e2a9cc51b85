"""A set-up in which nothing is wrong has no finding, not even a note."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

from healthy import HEALTHY
from simulator import Machine


@pytest.mark.parametrize("build", HEALTHY, ids=lambda build: build.__name__)
def test_nothing_is_found(tmp_path, build):
    machine = Machine(tmp_path)
    build(machine)
    findings = machine.findings()
    assert not findings, [(one.id, [s.text for s in one.seen]) for one in findings]


def test_there_are_enough_of_them():
    assert len(HEALTHY) >= 20

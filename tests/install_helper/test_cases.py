"""Each case is found as its id, at its level, with nothing else beside it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

from install_helper.cases import all_cases
from scenarios import SCENARIOS
from simulator import Machine


@pytest.mark.parametrize(
    "id, level, build", SCENARIOS, ids=[f"{id}-{build.__name__}" for id, _, build in SCENARIOS]
)
def test_case_is_found_alone(tmp_path, id, level, build):
    machine = Machine(tmp_path)
    build(machine)
    findings = machine.findings()
    assert [(one.id, one.level) for one in findings] == [(id, level)], [
        (one.id, [s.text for s in one.seen]) for one in findings
    ]
    assert all(one.seen and one.steps and one.why for one in findings)


def test_every_case_has_a_system_or_comes_from_elsewhere():
    elsewhere = {"C61", "C62", "C63", "C68", "C76", "C77", "C78"}
    assert {id for id, _, _ in SCENARIOS} | elsewhere == set(all_cases())

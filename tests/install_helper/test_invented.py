"""Set-ups of kinds that no list names: found, or honestly silent; never a wrong advice."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

from install_helper import Request, recommend
from invented import INVENTED
from printed import installs
from simulator import Machine


@pytest.mark.parametrize("row", INVENTED, ids=lambda row: row.build.__name__)
def test_found_or_silent(tmp_path, row):
    machine = Machine(tmp_path)
    row.build(machine)
    found = machine.findings()
    assert {one.id for one in found} == row.ids, [(one.id, one.seen) for one in found]
    plan = recommend(machine.inspect())
    lines = [step.command for one in found for step in one.steps] + [*plan.before, plan.command]
    text = "\n".join([*lines, *(step.text for one in found for step in one.steps)])
    assert all(words in text for words in row.advised), text
    assert not any(words in text for words in row.refused), text
    for line in filter(None, lines):
        installs(line)


def test_there_are_enough_of_them():
    assert len(INVENTED) >= 25


def test_every_plan_keeps_to_what_covector_takes(tmp_path):
    for number, row in enumerate(INVENTED[::3]):
        machine = Machine(tmp_path / str(number))
        row.build(machine)
        plan = recommend(machine.inspect(), Request(framework="covector"))
        assert not plan.fits or plan.framework == "jax" or plan.jaxlib in ("0.12.0.1", "0.12.0")

"""The page shows what the command prints now."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))

import captures
from install_helper.cases import all_cases


def test_captures_are_current():
    text = captures.PAGE.read_text(encoding="utf-8")
    assert all(
        f"<!-- {name} -->" in text for name in (*captures.CAPTURES, "cuda-table", "facts-table")
    )
    assert captures.fill(text) == text, "run python tests/install_helper/captures.py"


def test_the_table_of_facts_tells_every_record_of_the_json(tmp_path):
    import json

    from simulator import Machine

    machine = Machine(tmp_path)
    machine.driver()
    machine.cuda()
    machine.toolkit("12.8.1")
    row = json.loads(json.dumps(machine.inspect().as_dict()))
    assert set(row) - {"cards", "env"} == {key.strip("`") for key in captures.KEYS.values()}
    table = captures.facts_table()
    cuda, nvidia = row["cuda"], row["nvidia"]
    records = [row[key.strip("`")] for key in captures.KEYS.values()]
    records += [cuda["libraries"][0], cuda["ptxas"][0], cuda["toolkits"][0], nvidia["nodes"][0]]
    records += [nvidia["gpus"]["value"][0], row["cards"]["value"][0]]
    records += [row["packages"]["distributions"]["value"][0]]
    for record in records:
        assert all(f"`{field}`" in table for field in record), record


def test_every_case_that_the_page_names_exists():
    import re

    named = set(re.findall(r"\bC\d\d\b", captures.PAGE.read_text(encoding="utf-8")))
    assert len(named) >= 10 and named <= set(all_cases())

"""The page shows what the command prints now."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))

import captures
from install_helper.cases import all_cases


def test_captures_are_current():
    text = captures.PAGE.read_text(encoding="utf-8")
    assert all(f"<!-- {name} -->" in text for name in (*captures.CAPTURES, "cuda-table"))
    assert captures.fill(text) == text, "run python tests/install_helper/captures.py"


def test_every_case_that_the_page_names_exists():
    import re

    named = set(re.findall(r"\bC\d\d\b", captures.PAGE.read_text(encoding="utf-8")))
    assert len(named) >= 10 and named <= set(all_cases())

"""The Python programs of the READMEs run, each file in a process of its own.

A line that ends in a comment prints what the comment says.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
READMES = sorted(
    str(page.relative_to(ROOT)) for page in [ROOT / "README.md", *ROOT.glob("packages/*/README.md")]
)


def program_of(page: str) -> str:
    text = (ROOT / page).read_text("utf-8")
    return "\n".join(re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S))


@pytest.mark.parametrize("page", [page for page in READMES if program_of(page)])
def test_readme(page):
    program = program_of(page)
    plain = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    outcome = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=plain
    )
    assert outcome.returncode == 0, outcome.stderr
    for printed in re.findall(r"^print\(.*\) +# (.*)$", program, re.M):
        assert printed in outcome.stdout.splitlines()


def test_the_commands_to_start_with():
    text = (ROOT / "README.md").read_text("utf-8")
    for command in ("uv run examples/digits.py", "uv run pytest"):
        assert f"python3 -m pip install uv && {command}\n" in text
    checked = (ROOT / ".ci/run").read_text("utf-8").splitlines()
    assert "python3 -m pip install uv && uv run pytest" in checked

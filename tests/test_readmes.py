"""The Python programs of the READMEs run, each file in a process of its own.

A line that ends in a comment prints what the comment says.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
READMES = sorted([ROOT / "README.md", *ROOT.glob("packages/*/README.md")])


def program_of(page: Path) -> str:
    return "\n".join(re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S))


@pytest.mark.parametrize(
    "page", filter(program_of, READMES), ids=lambda page: str(page.relative_to(ROOT))
)
def test_readme(page):
    program = program_of(page)
    outcome = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert outcome.returncode == 0, outcome.stderr
    for printed in re.findall(r"^print\(.*\) +# (.*)$", program, re.M):
        assert printed in outcome.stdout.splitlines()


def test_the_commands_to_start_with():
    text = (ROOT / "README.md").read_text("utf-8")
    for command in ("uv run examples/digits.py", "uv run pytest"):
        assert f"python3 -m pip install uv && {command}\n" in text
    checked = (ROOT / ".ci/run").read_text("utf-8").splitlines()
    assert "python3 -m pip install uv && uv run pytest" in checked

"""What type checkers read of modules whose names load at first use: the files `__init__.pyi`.

Run as a program, this file writes them anew: `uv run tests/test_stubs.py`. Those of
`covector.numpy` and `covector.nn` are written by the tests of their contents pages.
"""

from importlib import import_module
from pathlib import Path

import pytest

MODULES = ["covector.numpy.fft", "covector.numpy.linalg", "covector.scipy.special"]


def stub(name: str) -> str:
    """The contents page as imports."""
    lines = ['"""The names of `__init__.py`, for type checkers. A test writes it."""', ""]
    for source, names in sorted(import_module(name)._CONTENTS.items()):
        lines += [imported(f"{name}.{source}", each) for each in sorted(names.split())]
    return "\n".join([*lines, ""])


def imported(path: str, name: str) -> str:
    line = f"from {path} import {name} as {name}"
    return line if len(line) <= 100 else f"from {path} import (\n    {name} as {name},\n)"


def stub_file(name: str) -> Path:
    return Path(import_module(name).__file__).with_suffix(".pyi")


@pytest.mark.parametrize("name", MODULES)
def test_type_checkers_see_the_same_names(name):
    # The formatter has an order of its own for names with numbers.
    written = stub_file(name).read_text("utf-8").splitlines()
    assert sorted(written) == sorted(stub(name).splitlines())


if __name__ == "__main__":
    for each in MODULES:
        stub_file(each).write_text(stub(each), "utf-8")

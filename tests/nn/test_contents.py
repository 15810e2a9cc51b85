"""The contents pages: every name resolves, every function has an example that runs and uses it.

Run as a program, this file writes anew what type checkers read, the files `__init__.pyi`.
"""

import doctest
from pathlib import Path

import covector
import covector.numpy as jnp
import numpy as np
import pytest
from covector import image, nn

OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
FUNCTIONS = [f"nn.{name}" for name in nn.__all__ if name != "initializers"]
FUNCTIONS += [f"nn.initializers.{name}" for name in nn.initializers.__all__]
FUNCTIONS += ["image.resize", "image.scale_and_translate", "image.ResizeMethod"]
SECOND_NAMES = ("kaiming", "xavier", "swish", "hard_swish", "Initializer")


@pytest.mark.parametrize("path", FUNCTIONS)
def test_example_runs(path):
    value = covector
    for part in path.split("."):
        value = getattr(value, part)
    names = {"covector": covector, "nn": nn, "jnp": jnp, "np": np, "image": image}
    test = doctest.DocTestParser().get_doctest(value.__doc__, names, path, None, 0)
    text: list[str] = []
    outcome = doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=text.append)
    assert outcome.attempted and not outcome.failed, "".join(text)
    name = path.split(".")[-1]
    assert name.startswith(SECOND_NAMES) or any(name in e.source for e in test.examples)


def stub(module):
    """For type checkers: the contents page as imports."""
    lines = ['"""The names of `__init__.py`, for type checkers. Its test writes it."""', ""]
    submodules = getattr(module, "_SUBMODULES", ())
    lines += [f"from {module.__name__} import {name} as {name}" for name in submodules]
    for source, names in sorted(module._CONTENTS.items()):
        path = f"{module.__name__}.{source}"
        lines += [imported(path, name) for name in sorted(names.split())]
    return "\n".join([*lines, ""])


def imported(path, name):
    line = f"from {path} import {name} as {name}"
    return line if len(line) <= 100 else f"from {path} import (\n    {name} as {name},\n)"


def stub_file(module):
    return Path(module.__file__).with_suffix(".pyi")


@pytest.mark.parametrize("module", [nn, nn.initializers])
def test_type_checkers_see_the_same_names(module):
    # The formatter has an order of its own for names with numbers.
    written = stub_file(module).read_text("utf-8").splitlines()
    assert sorted(written) == sorted(stub(module).splitlines())


@pytest.mark.parametrize("module", [nn, nn.initializers])
def test_unknown_names(module):
    with pytest.raises(AttributeError, match=f"module '{module.__name__}' has no .* 'nothing'"):
        _ = module.nothing


if __name__ == "__main__":
    for page in (nn, nn.initializers):
        stub_file(page).write_text(stub(page), "utf-8")

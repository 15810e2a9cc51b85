"""The contents page: every name resolves, every function is documented by an example that runs.

Run as a program, this file writes anew what type checkers read, `__init__.pyi`.
"""

import doctest
import inspect
from pathlib import Path

import covector
import covector.numpy as jnp
import numpy as np
import pytest

FUNCTIONS = [
    name
    for name in sorted(jnp._MODULE_OF)
    if callable(getattr(jnp, name)) and not isinstance(getattr(jnp, name), type)
]
FUNCTIONS += [f"{part}.{name}" for part in jnp._SUBMODULES for name in getattr(jnp, part).__all__]
STUB = Path(jnp.__file__).with_suffix(".pyi")
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def found(name):
    value = jnp
    for part in name.split("."):
        value = getattr(value, part)
    return value


@pytest.mark.parametrize("name", FUNCTIONS)
def test_example_runs(name):
    function = found(name)
    names = {"covector": covector, "jnp": jnp, "np": np}
    test = doctest.DocTestParser().get_doctest(function.__doc__, names, name, None, 0)
    assert test.examples, f"jnp.{name} has no example"
    text: list[str] = []
    outcome = doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=text.append)
    assert not outcome.failed, "".join(text)
    used = [e for e in test.examples if name.split(".")[-1] in e.source]
    assert used, f"the example of jnp.{name} does not use it"


def stub() -> str:
    """For type checkers: the contents page as imports."""
    lines = ['"""The names of `__init__.py`, for type checkers. Its test writes it."""', ""]
    lines += [f"from covector.numpy import {name} as {name}" for name in jnp._SUBMODULES]
    for module, names in sorted(jnp._CONTENTS.items()):
        path = f"covector.numpy.{module}"
        lines += [f"from {path} import {name} as {name}" for name in sorted(names.split())]
    lines += ["", *[f"{name}: float" for name in jnp._CONSTANTS if name != "newaxis"]]
    return "\n".join([*lines, "newaxis: None", ""])


def test_type_checkers_see_the_same_names():
    # The formatter has an order of its own for names with numbers.
    assert sorted(STUB.read_text("utf-8").splitlines()) == sorted(stub().splitlines())


def test_every_module_is_listed_and_every_name_is_where_the_page_says():
    assert set(jnp._MODULE_OF) <= set(dir(jnp))
    for name in jnp._MODULE_OF:
        assert getattr(jnp, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = jnp.nothing


def test_widths_follow_the_flag():
    assert jnp.int_ is jnp.int32 and jnp.float_ is jnp.float32
    with covector.enable_x64(True):
        assert jnp.int_ is jnp.int64 and jnp.float_ is jnp.float64
        assert jnp.arange(3).dtype == np.int64 and jnp.zeros(1).dtype == np.float64
    assert jnp.int_ is jnp.int32


def test_functions_have_names_and_signatures():
    for name in ("sin", "add", "sum", "where", "matmul", "reshape"):
        function = getattr(jnp, name)
        assert function.__name__ == name
        assert inspect.signature(function).parameters


if __name__ == "__main__":
    STUB.write_text(stub(), "utf-8")

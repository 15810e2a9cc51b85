"""The lazy names of `covector`: their table, its static twin, and what importing loads."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import covector
import pytest
from covector import _namespace


@pytest.mark.parametrize("name", sorted(_namespace.NAMES))
def test_name_resolves(name):
    module, attribute, _ = _namespace.NAMES[name]
    value = getattr(covector, name)
    home = import_module(module)
    assert value is (getattr(home, attribute) if attribute else home)
    assert name in dir(covector)


def test_static_imports_say_what_the_table_says():
    tree = ast.parse(Path(covector.__file__).read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If) and is_for_checkers(node))
    static = {}
    for node in block.body:
        if isinstance(node, ast.Import):
            static |= {alias.asname: (alias.name, None) for alias in node.names}
        else:
            static |= {alias.asname: (node.module, alias.name) for alias in node.names}
    assert static == {name: entry[:2] for name, entry in _namespace.NAMES.items()}


def is_for_checkers(node: ast.If) -> bool:
    return ast.unparse(node.test) == "TYPE_CHECKING"


def test_an_unknown_name_suggests_a_near_one():
    with pytest.raises(AttributeError, match="module 'covector' has no attribute 'grd'") as caught:
        covector.grd
    assert (caught.value.name, caught.value.obj) == ("grd", covector)


def test_an_unknown_module_is_not_found_as_usual():
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'covector\.nowhere'"):
        import_module("covector.nowhere")


def test_import_loads_next_to_nothing():
    program = "import sys; old = {*sys.modules}; import covector; print(*{*sys.modules} - old)"
    loaded = subprocess.check_output([sys.executable, "-c", program], text=True).split()
    assert set(loaded) == {"covector", "covector._namespace"}

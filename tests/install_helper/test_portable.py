"""The package runs on Python 3.9 with the standard library alone."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import install_helper
import pytest

MODULES = sorted(Path(install_helper.__file__).parent.rglob("*.py"))
# Run by the Python that is examined, which has them.
LOADED_BY_NAME = {"jaxlib", "jax_plugins"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_module_is_of_python_3_9_and_the_standard_library(path):
    tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 9))
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        for name in names:
            top = name.partition(".")[0]
            assert top == "install_helper" or top in sys.stdlib_module_names, name


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_annotations_are_not_evaluated(path):
    """Python 3.9 has no ``X | None`` at run time."""
    text = path.read_text(encoding="utf-8")
    annotated = any(
        isinstance(node, (ast.AnnAssign, ast.FunctionDef)) and "|" in ast.unparse(node)
        for node in ast.walk(ast.parse(text))
    )
    assert not annotated or "from __future__ import annotations" in text

"""Imports point one way: core <- numpy <- scipy <- nn, core <- random <- nn, core <- parallel.

The sources are read, not run, so an import inside a function counts like one at the top. What a
package may take from another: public modules of the packages it depends on, and of core also its
`covector._*` modules, which are core's interface for extensions.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ROOT / "packages"

# package -> the packages whose modules it may import, besides its own
MAY_IMPORT = {
    "core": set(),
    "numpy-api": {"core"},
    "scipy-api": {"core", "numpy-api"},
    "random": {"core"},
    "nn": {"core", "numpy-api", "scipy-api", "random"},
    "parallel": {"core"},
    "install-helper": set(),
}
# Submodules of covector that belong to another package than core.
OWNERS = {
    "numpy": "numpy-api",
    "scipy": "scipy-api",
    "random": "random",
    "nn": "nn",
    "image": "nn",
    "parallel": "parallel",
    "pmap": "parallel",
}
# Core's optional extension points: imported by name where the other package is installed.
EXTENSION_POINTS = {("core", "covector.numpy._array_members"), ("core", "covector.parallel")}
# The contents page names every piece, for type checkers; nothing of it is imported.
CONTENTS_PAGE = PACKAGES / "core/src/covector/__init__.py"


def sources_of(package: str) -> list[Path]:
    return sorted(set((PACKAGES / package).glob("src/**/*.py")) - {CONTENTS_PAGE})


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGES).with_suffix("").parts[2:]).removesuffix(".__init__")


def imported_by(path: Path) -> list[tuple[int, str]]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return list(imported(tree, module_of(path), path.name == "__init__.py"))


def imported(tree: ast.Module, module: str, is_package: bool) -> Iterator[tuple[int, str]]:
    """(line, dotted name) of all that a source imports, by statement, by name or by attribute."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(names=names):
                base = absolute(node, module, is_package)
                yield from ((node.lineno, f"{base}.{alias.name}") for alias in names)
            case ast.Call(func=function, args=[ast.Constant(value=str(name)), *_]):
                if ast.unparse(function).endswith(("import_module", "__import__")):
                    yield node.lineno, name
            case ast.Attribute():
                dotted = ast.unparse(node)
                if re.fullmatch(r"covector(\.\w+)+", dotted):
                    yield node.lineno, dotted


def absolute(node: ast.ImportFrom, module: str, is_package: bool) -> str:
    if not node.level:
        return node.module or ""
    parts = module.split(".")
    parent = parts[: len(parts) - node.level + is_package]
    return ".".join([*parent, *(node.module or "").split(".")]).rstrip(".")


def owner_of(name: str) -> str | None:
    """The package that ships the module or name, or None if it is not ours."""
    top, *rest = name.split(".")
    if top == "install_helper":
        return "install-helper"
    return OWNERS.get(rest[0] if rest else "", "core") if top == "covector" else None


def violations(imports: Iterable[tuple[int, str]], package: str) -> list[str]:
    """Which of a source's imports break the layering of its package."""
    found = []
    for line, name in imports:
        owner = owner_of(name)
        if name.split(".")[0] in ("jax", "jax_plugins"):
            found.append(f"line {line}: {name}: no package imports jax")
        elif owner in (None, package) or (package, name) in EXTENSION_POINTS:
            continue
        elif owner not in MAY_IMPORT[package]:
            found.append(f"line {line}: {name}: {package} may not import {owner}")
        elif owner != "core" and any(part.startswith("_") for part in name.split(".")):
            found.append(f"line {line}: {name} is internal to {owner}")
    return found


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_imports_point_one_way(package):
    found = {
        module_of(path): wrong
        for path in sources_of(package)
        if (wrong := violations(imported_by(path), package))
    }
    assert found == {}


def imports_of(source: str) -> Iterator[tuple[int, str]]:
    return imported(ast.parse(source), "covector.lax.elementwise", is_package=False)


@pytest.mark.parametrize(
    "package, source",
    [
        ("core", "import covector.numpy"),
        ("core", "def f():\n    from covector import numpy as jnp"),
        ("core", "import covector\ncovector.random.key(0)"),
        ("core", "from importlib import import_module\nimport_module('covector.scipy.special')"),
        ("core", "from .. import numpy"),
        ("core", "import jax"),
        ("core", "from jax.numpy import sin"),
        ("core", "import jax_plugins.xla_cuda12"),
        ("numpy-api", "from covector.random import key"),
        ("numpy-api", "from covector import pmap"),
        ("random", "from covector.numpy import sin"),
        ("random", "import covector.parallel"),
        ("parallel", "from covector.numpy._indexing import index"),
        ("scipy-api", "from covector.numpy._indexing import index"),
        ("scipy-api", "from covector.numpy import _indexing"),
        ("scipy-api", "from covector import random"),
        ("random", "from covector import nn"),
        ("nn", "from covector.random._keys import key"),
        ("install-helper", "import covector"),
    ],
)
def test_a_wrong_arrow_is_found(package, source):
    assert violations(imports_of(source), package)


@pytest.mark.parametrize(
    "package, source",
    [
        ("core", "import jaxlib._jax"),
        ("core", "from .._trace.primitive import Primitive"),
        (
            "core",
            "from importlib import import_module\nimport_module('covector.numpy._array_members')",
        ),
        ("numpy-api", "from covector._trace.primitive import Primitive\nimport numpy as np"),
        ("scipy-api", "import covector.numpy as jnp\nfrom covector import lax"),
        ("random", "import covector\ncovector.config.update"),
        ("nn", "from covector import random\nfrom covector.scipy.special import logsumexp"),
    ],
)
def test_a_right_arrow_is_not(package, source):
    assert not violations(imports_of(source), package)


def declared_dependencies(package: str) -> set[str]:
    """The distributions that a package and those it builds on declare, as import names."""
    project = tomllib.loads((PACKAGES / package / "pyproject.toml").read_text())["project"]
    own = {re.match(r"[\w-]+", text)[0] for text in project["dependencies"]}
    ours = {name.removeprefix("covector-") for name in own if name.startswith("covector-")}
    return own.union(*map(declared_dependencies, ours))


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_third_party_imports_are_declared(package):
    allowed = declared_dependencies(package) | {"covector", "install_helper"}
    undeclared = {
        f"{module_of(path)}:{line}: {name}"
        for path in sources_of(package)
        for line, name in imported_by(path)
        if name.split(".")[0] not in allowed | sys.stdlib_module_names
    }
    assert undeclared == set()


def test_declared_dependencies_follow_the_same_arrows():
    for package, below in MAY_IMPORT.items():
        ours = {n for n in declared_dependencies(package) if n.startswith("covector-")}
        assert ours == {f"covector-{name}" for name in below}


def test_core_alone_ships_the_namespace():
    packages = {path.parents[2].name for path in PACKAGES.glob("*/src/covector/*.py")}
    assert packages == {"core"}

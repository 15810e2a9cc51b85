"""Every example in a docstring or in a page of `docs/` runs and prints what it says."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def with_examples(pattern: str) -> list[Path]:
    return sorted(path for path in ROOT.glob(pattern) if ">>> " in path.read_text("utf-8"))


def module_name(path: Path) -> str:
    source = path.relative_to(ROOT / "packages").parts[2:]
    return ".".join(source).removesuffix(".py").removesuffix(".__init__")


def common_names() -> dict[str, object]:
    """What an example may use without importing it."""
    import covector
    import covector.numpy as jnp
    import numpy as np
    from covector import lax, nn

    return {"covector": covector, "lax": lax, "jnp": jnp, "nn": nn, "np": np}


MODULES = [module_name(path) for path in with_examples("packages/*/src/**/*.py")]


@pytest.mark.parametrize("module", MODULES)
def test_docstrings(module):
    outcome = doctest.testmod(
        import_module(module), extraglobs=common_names(), optionflags=OPTIONS, report=True
    )
    assert outcome.attempted
    assert not outcome.failed, "see the captured output"


@pytest.mark.parametrize("page", with_examples("docs/**/*.md"), ids=lambda page: page.stem)
def test_pages(page):
    outcome = doctest.testfile(
        str(page), module_relative=False, globs=common_names(), optionflags=OPTIONS
    )
    assert not outcome.failed, "see the captured output"

"""What every test has: the oracle, simulated devices, and a process in which JAX cannot load."""

from __future__ import annotations

import importlib.abc
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

# Last on the path: some of these folders have the names of well-known modules.
sys.path.append(str(Path(__file__).resolve().parent))

from oracle import Oracle
from oracle.client import environment, simulated_devices

# Tests of several devices need no process of their own. This must precede jaxlib's start.
if "XLA_FLAGS" not in os.environ:
    os.environ["XLA_FLAGS"] = environment(devices=8)["XLA_FLAGS"]


class NoJax(importlib.abc.MetaPathFinder):
    """Refuse to import ``jax``: a process holds either it or Covector."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> None:
        if fullname.partition(".")[0] == "jax":
            raise ModuleNotFoundError("jax runs in the oracle's process only", name=fullname)


sys.meta_path.insert(0, NoJax())


@pytest.fixture(scope="session")
def oracle() -> Iterator[Oracle]:
    """Compare Covector with JAX, which runs in a process of its own. See ``tests/oracle``."""
    session = Oracle()
    yield session
    session.close()


@pytest.fixture(scope="session")
def device_count() -> int:
    """The number of CPU devices of this process."""
    return simulated_devices()

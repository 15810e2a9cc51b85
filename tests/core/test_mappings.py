"""Many executables do not exhaust the memory mappings of the process."""

import sys

import covector
import numpy as np
import pytest
from covector import lax
from covector._run import mappings

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads Linux's /proc")


def compile_some(count, start):
    """Compile and run programs, each of another shape."""
    for i in range(start, start + count):
        x = np.ones(i, np.float32)
        assert float(covector.jit(lambda x: lax.reduce_sum(x, (0,)))(x)) == i


def test_the_limit_is_kept(monkeypatch):
    assert mappings.limit() > 1000
    before = mappings.count()
    monkeypatch.setattr(mappings, "_SHARE", 1.0)
    monkeypatch.setattr(mappings, "_EVERY", 10)
    monkeypatch.setattr(mappings, "limit", lambda: before + 60)
    kept = covector.jit(lax.sin)
    assert float(kept(0.0)) == 0.0
    compile_some(150, 3000)
    assert mappings.count() < before + 200  # each of them took three
    assert float(kept(0.0)) == 0.0


def test_an_unknown_limit_is_none(monkeypatch):
    monkeypatch.setattr(mappings, "_EVERY", 1)
    monkeypatch.setattr(mappings, "limit", lambda: None)
    monkeypatch.setattr(mappings, "forget_executables", lambda: pytest.fail("nothing is full"))
    compile_some(2, 4000)

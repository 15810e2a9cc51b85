"""The cache of executables on disk: hits, corruption, limits, and switching it off."""

from __future__ import annotations

import os

import covector as cv
import numpy as np
import pytest
from covector import lax
from covector._run import disk_cache


@pytest.fixture
def folder(tmp_path):
    old = cv.config.jax_compilation_cache_dir
    cv.config.update("jax_compilation_cache_dir", str(tmp_path))
    yield tmp_path
    cv.config.update("jax_compilation_cache_dir", old)


def run():
    """A program that no other test has, compiled anew."""
    cv.clear_caches()
    return np.asarray(cv.jit(lambda x: lax.mul(lax.sin(x), 0.123456))(np.float32(1.0)))


def entries(folder):
    return sorted(p for p in folder.iterdir() if not p.name.startswith("."))


def test_second_run_loads_what_the_first_stored(folder):
    first = run()
    stored = entries(folder)
    assert stored
    times = [p.stat().st_mtime_ns for p in stored]
    os.utime(stored[0], (1, 1))
    assert run() == first
    assert entries(folder) == stored
    assert stored[0].stat().st_mtime > 1, "a hit marks the entry as used"
    assert len(times) == len(stored)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[: len(data) // 2],
        lambda data: data[:-1] + bytes([data[-1] ^ 255]),
        lambda data: b"something else entirely",
    ],
    ids=["empty", "truncated", "flipped bit", "foreign"],
)
def test_damaged_entry_is_a_miss(folder, damage):
    first = run()
    for path in entries(folder):
        path.write_bytes(damage(path.read_bytes()))
    assert run() == first
    for path in entries(folder):
        assert disk_cache.load(path.name) is not None, "it was written again"


def test_intact_entry_with_wrong_content_is_a_miss(folder):
    first = run()
    for path in entries(folder):
        disk_cache.store(path.name, b"not an executable")
    assert run() == first


def test_switched_off(folder):
    cv.config.update("jax_enable_compilation_cache", False)
    try:
        run()
        assert entries(folder) == []
    finally:
        cv.config.update("jax_enable_compilation_cache", True)


def test_unwritable_folder_is_no_error(folder, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    cv.config.update("jax_compilation_cache_dir", str(blocked / "cache"))
    run()


def test_bounded(folder, monkeypatch):
    monkeypatch.setattr(disk_cache, "_LIMIT_BYTES", 3000)
    monkeypatch.setattr(disk_cache, "_writes", 0)
    for i in range(5):
        (folder / f"old{i}").write_bytes(bytes(1000))
        os.utime(folder / f"old{i}", (i + 1, i + 1))
    disk_cache.store("new", bytes(500))
    left = {p.name for p in entries(folder)}
    assert "new" in left and "old0" not in left and "old4" in left


def test_key_depends_on_its_parts():
    assert disk_cache.key_of(b"ab", b"c") != disk_cache.key_of(b"a", b"bc")

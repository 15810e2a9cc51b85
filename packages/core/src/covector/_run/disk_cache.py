"""Compiled executables on disk, so that a program is compiled once per machine.

One file an executable, named by a hash of everything it depends on: the module's text without
source lines, compile options, jaxlib, platform, processor features, devices. Writes are atomic. A
file begins with a digest of its content: a truncated, corrupted or foreign one is a miss, never an
error. The folder is bounded: beyond the limit, the entries used longest ago are removed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from functools import cache
from pathlib import Path

from covector._config import config

_MAGIC = b"covector-executable-1\n"
_LIMIT_BYTES = 2 * 2**30
_writes = 0


def directory() -> Path | None:
    """The cache's folder, or None when it is switched off."""
    if not config.jax_enable_compilation_cache:
        return None
    configured = config.jax_compilation_cache_dir
    if configured:
        return Path(configured)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "covector"


@cache
def machine_key() -> bytes:
    """What the object code depends on besides the program: jaxlib, processor, XLA's flags."""
    import platform

    import jaxlib.version

    parts = [jaxlib.version.__version__, platform.machine(), os.environ.get("XLA_FLAGS", "")]
    parts.append(os.environ.get("LIBTPU_INIT_ARGS", ""))
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            parts += [
                line
                for line in file.read(8192).split("\n\n")[0].splitlines()
                if line.startswith(("flags", "Features", "model name"))
            ]
    except OSError:
        parts.append(platform.processor())
    return "\n".join(parts).encode()


def key_of(*parts: bytes) -> str:
    """The file name for an executable that depends on ``parts``."""
    digest = hashlib.sha256(machine_key())
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


def load(key: str) -> bytes | None:
    """The stored executable, or None."""
    folder = directory()
    if folder is None:
        return None
    path = folder / key
    try:
        data = path.read_bytes()
    except OSError:
        return None
    body = data[len(_MAGIC) + 32 :]
    intact = data.startswith(_MAGIC) and (
        hashlib.sha256(body).digest() == data[len(_MAGIC) : len(_MAGIC) + 32]
    )
    if not intact:
        discard(key)
        return None
    with contextlib.suppress(OSError):
        os.utime(path)
    return body


def discard(key: str) -> None:
    """Remove an entry that turned out to be of no use."""
    folder = directory()
    if folder is not None:
        with contextlib.suppress(OSError):
            (folder / key).unlink()


def store(key: str, body: bytes) -> None:
    """Keep an executable; failing to (a full disk, no permission) is not an error.

    It is with the flag `raise_persistent_cache_errors`.
    """
    global _writes
    folder = directory()
    if folder is None:
        return
    if len(body) < config.jax_persistent_cache_min_entry_size_bytes:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=".new-")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(_MAGIC + hashlib.sha256(body).digest() + body)
            os.replace(temporary, folder / key)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError:
        if config.jax_raise_persistent_cache_errors:
            raise
        return
    _writes += 1
    if _writes % 64 == 1:
        _shrink(folder)


def _shrink(folder: Path) -> None:
    """Remove the entries used longest ago until the folder is within its limit."""
    entries = []
    try:
        for entry in os.scandir(folder):
            with contextlib.suppress(OSError):
                status = entry.stat()
                entries.append((status.st_mtime, status.st_size, entry.path))
    except OSError:
        return
    limit = config.jax_compilation_cache_max_size
    limit = _LIMIT_BYTES if limit < 0 else limit
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries):
        if total <= limit:
            break
        with contextlib.suppress(OSError):
            os.unlink(path)
        total -= size

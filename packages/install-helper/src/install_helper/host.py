"""The one door to the machine: files, directories, programs and variables below a root.

Every probe reads through a `Host`. Tests and `--root` give another root, other variables and a
table of what native calls answered; nothing else is replaced. Nothing here raises for what a
machine may look like: each answer is a `Value` with a state. Programs run without a shell, with
their output capped, and share one budget of time.
"""

from __future__ import annotations

import errno
import os
import posixpath
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from install_helper.values import Value, absent, denied, failed, known, skipped, timed_out

READ_LIMIT = 1 << 20
OUTPUT_LIMIT = 1 << 18
NAMES_LIMIT = 200_000


class Output(NamedTuple):
    """What a program answered."""

    status: int
    out: str
    err: str

    @property
    def text(self) -> str:
        """Both streams together."""
        return f"{self.out}\n{self.err}".strip()


@dataclass(frozen=True)
class Description:
    """What is told of a system instead of read from it: for mounted roots and for tests."""

    system: str | None = None
    machine: str | None = None
    libc: tuple[str, str] | None = None
    python: Mapping[str, Any] | None = None
    native: Mapping[str, Any] | None = None
    sysctl: Mapping[str, str] | None = None
    denied: tuple[str, ...] = ()


class Host:
    """Read one system. Paths are absolute paths of that system, with ``/`` between the names."""

    def __init__(
        self,
        root: str | None = None,
        env: Mapping[str, str] | None = None,
        *,
        run_programs: bool | None = None,
        description: Description | None = None,
        program_seconds: float = 3.0,
    ) -> None:
        self.root = os.path.abspath(root) if root else None
        self.env = dict(env if env is not None else {} if root else os.environ)
        self.run_programs = run_programs if run_programs is not None else root is None
        self.description = description or Description()
        self._left = program_seconds

    @property
    def simulated(self) -> bool:
        """Whether another root than this machine's is read."""
        return self.root is not None

    def real(self, path: str) -> str:
        """The path in our own file system of a path of that system, its links not yet followed."""
        if self.root is None:
            return path
        return os.path.join(self.root, path.lstrip("/\\"))

    def resolve(self, path: str) -> str:
        """Follow links as that system would, inside its root."""
        if self.root is None:
            return os.path.realpath(path)
        done, rest, hops = "/", [part for part in path.split("/") if part], 0
        while rest:
            part = rest.pop(0)
            if part == "..":
                done = posixpath.dirname(done)
                continue
            here = posixpath.join(done, part) if part != "." else done
            try:
                target = os.readlink(self.real(here))
            except (OSError, ValueError):
                done = here
                continue
            hops += 1
            if hops > 40:
                return path
            if target.startswith("/"):
                done = "/"
            rest = [name for name in target.split("/") if name] + rest
        return done

    def _inside(self, path: str) -> str:
        return self.real(self.resolve(path)) if self.root is not None else path

    def is_denied(self, path: str) -> bool:
        """Whether the description says that a path may not be opened."""
        return any(
            path == p or path.startswith(p.rstrip("/") + "/") for p in self.description.denied
        )

    def read(self, path: str, limit: int = READ_LIMIT) -> Value[str]:
        """The text of a regular file, at most `limit` bytes of it."""
        if self.is_denied(path):
            return denied(path)
        try:
            # A pipe or a device must not make the reader wait.
            handle = os.open(self._inside(path), os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        except (OSError, ValueError) as error:
            return _from_error(error, path)
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return failed(path, "not a regular file")
            chunks, size = [], 0
            while size < limit:
                chunk = os.read(handle, min(limit - size, 1 << 16))
                if not chunk:
                    break
                chunks.append(chunk)
                size += len(chunk)
            return known(b"".join(chunks).decode("utf-8", "replace"), path)
        except OSError as error:
            return _from_error(error, path)
        finally:
            os.close(handle)

    def head(self, path: str, count: int) -> bytes:
        """The first bytes of a file, none where it cannot be read."""
        try:
            handle = os.open(self._inside(path), os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        except (OSError, ValueError):
            return b""
        try:
            return os.read(handle, count) if stat.S_ISREG(os.fstat(handle).st_mode) else b""
        except OSError:
            return b""
        finally:
            os.close(handle)

    def names(self, path: str) -> Value[tuple[str, ...]]:
        """The names in a directory, sorted."""
        if self.is_denied(path):
            return denied(path)
        try:
            with os.scandir(self._inside(path)) as entries:
                found = [entry.name for entry, _ in zip(entries, range(NAMES_LIMIT))]
        except (OSError, ValueError) as error:
            return _from_error(error, path)
        return known(tuple(sorted(found)), path)

    def list(self, path: str) -> tuple[str, ...]:
        """The names in a directory, none where it cannot be read."""
        return self.names(path).value or ()

    def exists(self, path: str) -> bool:
        """Whether a path leads somewhere."""
        try:
            return os.path.exists(self._inside(path))
        except (OSError, ValueError):
            return False

    def is_dir(self, path: str) -> bool:
        """Whether a path leads to a directory."""
        try:
            return os.path.isdir(self._inside(path))
        except (OSError, ValueError):
            return False

    def size(self, path: str) -> int | None:
        """The size of a file, or None."""
        try:
            return os.stat(self._inside(path)).st_size
        except (OSError, ValueError):
            return None

    def mode(self, path: str) -> int | None:
        """The mode bits of a path, or None."""
        try:
            return os.stat(self._inside(path)).st_mode
        except (OSError, ValueError):
            return None

    def link(self, path: str) -> str | None:
        """What a link names, or None."""
        try:
            return os.readlink(self.real(path))
        except (OSError, ValueError):
            return None

    def may_use(self, path: str) -> bool | None:
        """Whether this user may read and write a device node."""
        if self.is_denied(path):
            return False
        if self.simulated:
            return True
        try:
            return os.access(path, os.R_OK | os.W_OK)
        except (OSError, ValueError):
            return None

    def find(self, program: str, extra: Sequence[str] = ()) -> str | None:
        """The path of a program on PATH, then in the directories of `extra`."""
        directories = [d for d in self.env.get("PATH", "").split(os.pathsep)[:200] if d]
        for directory in [*directories, *extra]:
            for name in (program, program + ".exe") if self._windows() else (program,):
                path = posixpath.join(directory, name)
                mode = self.mode(path)
                if mode is not None and stat.S_ISREG(mode) and mode & 0o111:
                    return path
        return None

    def _windows(self) -> bool:
        return sys.platform == "win32" or self.description.system == "Windows"

    def run(self, argv: Sequence[str], seconds: float) -> Value[Output]:
        """Run a program that `find` found, within `seconds` and the budget of all programs."""
        source = " ".join(argv)
        if not self.run_programs:
            return skipped(source, "programs of another root are not run")
        limit = min(seconds, self._left)
        if limit <= 0:
            return timed_out(source, "the time for running programs is used up")
        begun = time.monotonic()
        try:
            return run_limited(
                [self._inside(argv[0]), *argv[1:]], limit, self._program_env(), source
            )
        finally:
            self._left -= time.monotonic() - begun

    def _program_env(self) -> dict[str, str]:
        env = {**(os.environ if not self.simulated else self.env), "LC_ALL": "C"}
        if self.simulated:  # the fake programs are scripts of our own system
            env["PATH"] = os.environ.get("PATH", "")
            env.pop("LD_LIBRARY_PATH", None)
            env.pop("LD_PRELOAD", None)
        return env


def run_limited(
    argv: Sequence[str],
    seconds: float,
    env: Mapping[str, str] | None,
    source: str,
    *,
    partial: bool = False,
) -> Value[Output]:
    """Run a program with a time limit and a limit on what is kept of its output.

    With `partial` a program that did not end in time still has what it printed until then.
    """
    try:
        process = subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(env) if env is not None else None,
            start_new_session=os.name == "posix",
        )
    except (OSError, ValueError) as error:
        return _from_error(error, source)
    kept: dict[str, bytes] = {}
    readers = [
        threading.Thread(target=_drain, args=(process, pipe, kept, key), daemon=True)
        for key, pipe in (("out", process.stdout), ("err", process.stderr))
    ]
    for reader in readers:
        reader.start()
    try:
        status = process.wait(seconds)
    except subprocess.TimeoutExpired:
        status = None
    else:
        for reader in readers:
            reader.join(0.5)  # a child of the program may still hold the pipe
    kill(process)
    out, err = (kept.get(key, b"").decode("utf-8", "replace") for key in ("out", "err"))
    if status is not None:
        return known(Output(status, out, err), source)
    late = timed_out(source, f"no answer within {seconds:.1f} s")
    return replace(late, value=Output(0, out, err)) if partial else late


def _drain(process: Any, pipe: Any, kept: dict[str, bytes], key: str) -> None:
    try:
        while True:
            chunk = os.read(pipe.fileno(), 1 << 16)
            if not chunk:
                break
            kept[key] = kept.get(key, b"") + chunk
            if len(kept[key]) > OUTPUT_LIMIT:
                kept[key] = kept[key][:OUTPUT_LIMIT]
                kill(process)
                break
    except (OSError, ValueError):
        pass
    finally:
        pipe.close()


def kill(process: Any) -> None:
    """End a program and what it started."""
    try:
        if os.name == "posix":
            import signal

            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.wait(1)
    except (OSError, subprocess.TimeoutExpired):
        pass


def _from_error(error: Exception, source: str) -> Value[Any]:
    code = getattr(error, "errno", None)
    if code in (errno.EACCES, errno.EPERM):
        return denied(source)
    if code in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
        return absent(source)
    return failed(source, str(error))

"""Start, feed and end worker processes. A worker that dies or hangs is an error that says so."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

from .snippet import Outcome

ORACLE_VERSION = "0.12.0.1"
START_TIMEOUT = 240.0  # seconds; importing JAX takes one to four on an idle machine
DEVICE_COUNT = "--xla_force_host_platform_device_count"

Request = tuple[str, dict[str, Any], dict[str, Any]]


class OracleError(Exception):
    """The oracle itself failed: this says nothing of the code under test."""


class WorkerCrash(OracleError):
    """A worker process died."""


class WorkerTimeout(OracleError):
    """A worker process gave no answer in time, and was killed."""


class Worker:
    """One process that runs snippets under ``implementation`` with ``devices`` CPU devices.

    It starts at the first request, and again at the first request after it died or was killed.
    """

    def __init__(self, implementation: str, devices: int) -> None:
        self.implementation = implementation
        self.devices = devices
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, requests: Sequence[Request], timeout: float) -> Iterator[Outcome]:
        """Yield the outcome of each request; ``timeout`` holds for each one, in seconds."""
        if self._process is None or self._process.poll() is not None:
            self._start()
        try:
            self._connection.send(list(requests))
        except (BrokenPipeError, ConnectionError):
            raise self._crash("while it took a request") from None
        for snippet, _, _ in requests:
            yield self._receive(timeout, f"while it ran\n{snippet}")

    def close(self) -> None:
        """End the process, if one runs."""
        if self._process is not None:
            self._connection.close()
            self._process.kill()
            self._process.wait()
            self._errors.close()
            self._process = None

    def _start(self) -> None:
        self.close()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115, until close()
        self._connection, theirs = Pipe()
        script = str(Path(__file__).with_name("worker.py"))
        self._process = subprocess.Popen(
            [sys.executable, script, self.implementation, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=self._errors,
            stderr=self._errors,
            env=environment(self.devices),
        )
        theirs.close()
        _, version, devices = self._receive(START_TIMEOUT, "at its start")
        if self.implementation == "jax" and version != ORACLE_VERSION:
            self.close()
            raise OracleError(f"the oracle is jax {ORACLE_VERSION}, but jax {version} is installed")
        if devices != self.devices:
            self.close()
            raise OracleError(f"the worker has {devices} devices; it was asked for {self.devices}")

    def _receive(self, timeout: float, when: str) -> Any:
        try:
            if self._connection.poll(timeout):
                return self._connection.recv()
        except (EOFError, ConnectionError):
            raise self._crash(when) from None
        self.close()
        raise WorkerTimeout(
            f"the {self.implementation} worker gave no answer in {timeout:g} s {when}"
        )

    def _crash(self, when: str) -> WorkerCrash:
        assert self._process is not None
        try:
            code = self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            code = "none"
        self._errors.seek(0)
        said = self._errors.read().decode(errors="replace")[-4000:]
        self.close()
        return WorkerCrash(
            f"the {self.implementation} worker died (exit code {code}) {when}\n{said}"
        )


def environment(devices: int) -> dict[str, str]:
    """The environment of a process with that many simulated CPU devices."""
    flags = re.sub(rf"{DEVICE_COUNT}=\d+", "", os.environ.get("XLA_FLAGS", ""))
    flags = f"{flags} {DEVICE_COUNT}={devices}".strip()
    return {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}


def simulated_devices() -> int:
    """The number of CPU devices that this process's environment asks for."""
    found = re.search(rf"{DEVICE_COUNT}=(\d+)", os.environ.get("XLA_FLAGS", ""))
    return int(found[1]) if found else 1

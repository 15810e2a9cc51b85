"""The two sides of a comparison: long-lived processes, and processes that start for one sample."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

from workload import Started, Workload

TIMEOUT = 900.0  # seconds for one sample; compiling the transformer takes JAX twenty or more


class Failure(Exception):
    """A workload did not run on one side."""


class Side:
    """One implementation, in a process of its own that starts when it is first needed."""

    def __init__(self, implementation: str) -> None:
        self.implementation = implementation
        self._process: subprocess.Popen[bytes] | None = None

    def sample(self, workload: Workload, number: int) -> tuple[dict[str, float], Any]:
        """One sample of the workload: seconds by row, and its result if that is new."""
        if isinstance(workload, Started):
            return start(workload, self.implementation)
        if self._process is None:
            self._start()
        try:
            self._connection.send(number)
            if not self._connection.poll(TIMEOUT):
                self.close()
                raise Failure(f"no sample in {TIMEOUT:g} s")
            kind, answer = self._connection.recv()
        except (EOFError, ConnectionError):
            self.close()
            raise Failure("the process died; what it said stands above") from None
        if kind == "error":
            raise Failure(answer)
        return answer

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._connection.close()
            self._process.kill()
            self._process.wait()
            self._process = None

    def _start(self) -> None:
        self._connection, theirs = Pipe()
        child = str(Path(__file__).with_name("child.py"))
        self._process = subprocess.Popen(
            [sys.executable, child, self.implementation, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            env=environment() | self._blas_threads(),
        )
        theirs.close()

    def _blas_threads(self) -> dict[str, str]:
        """One thread of BLAS where it serves compiled programs, through LAPACK alone. Threads of
        BLAS go on spinning after a call, in the time of the other side, and take turns with XLA's:
        two equal programs then differ by up to 1.8. NumPy, whose products are BLAS, keeps its own.
        """
        return {} if self.implementation == "numpy" else {"OPENBLAS_NUM_THREADS": "1"}


def start(workload: Started, implementation: str) -> tuple[dict[str, float], str]:
    """Run a program in a new process; the whole process is timed."""
    program = re.sub(r"\bjax\b", implementation, workload.program)
    begin = time.perf_counter()
    outcome = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment()
    )
    seconds = time.perf_counter() - begin
    if outcome.returncode:
        *_, last = outcome.stderr.strip().splitlines() or ["no message"]
        raise Failure(f"{last}\n{outcome.stderr}")
    return {workload.name: seconds}, outcome.stdout


def environment() -> dict[str, str]:
    """The environment of every process: one CPU device, and bytecode that is compiled once."""
    left_out = ("PYTHONDONTWRITEBYTECODE", "XLA_FLAGS")
    kept = {name: value for name, value in os.environ.items() if name not in left_out}
    return {**kept, "JAX_PLATFORMS": "cpu"}

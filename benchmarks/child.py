"""A long-lived process that times workloads on one implementation: ``child.py NAME SOCKET``.

A request is the position of a workload in ``WORKLOADS``. The answer is one sample, a mapping from
rows to seconds; and, the first time, the workload's result.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import itertools
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from workload import Namespace, Repeated, Staged
from workloads import WORKLOADS

SAMPLE_SECONDS = 0.03

LOOP = """
def loop(count):
    start = clock()
    for _ in repeat(None, count):
        result = {statement}
    wait(result)
    return clock() - start
"""


def namespace_of(implementation: str) -> Namespace:
    """Import an implementation."""
    if implementation == "numpy":
        return Namespace("numpy", None, np, None, None)
    names = ("", ".numpy", ".lax", ".random")
    return Namespace(implementation, *(importlib.import_module(implementation + n) for n in names))


@contextlib.contextmanager
def flags_set(ns: Namespace, flags: dict[str, Any]) -> Iterator[None]:
    """Set configuration flags for the duration of the block."""
    if ns.implementation == "numpy":
        flags = {}
    before = {name: getattr(ns.jax.config, name) for name in flags}
    for name, value in flags.items():
        ns.jax.config.update(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            ns.jax.config.update(name, value)


class Repetition:
    """A statement, ready to be timed: warm, and with a number of repetitions that lasts a while."""

    def __init__(self, ns: Namespace, workload: Repeated) -> None:
        variables = workload.setup(ns)
        variables |= {"clock": time.perf_counter, "repeat": itertools.repeat, "wait": ns.wait}
        exec(LOOP.format(statement=workload.statement), variables)
        self.name = workload.name
        self.loop: Callable[[int], float] = variables["loop"]
        variables["result"] = ns.wait(eval(workload.statement, variables))
        self.result = to_numpy(eval(workload.result, variables))
        del variables["result"]
        self.loop(1)
        self.count = self._calibrated()

    def _calibrated(self) -> int:
        count = 1
        while (seconds := self.loop(count)) < SAMPLE_SECONDS / 2:
            count = max(2 * count, min(10 * count, int(count * SAMPLE_SECONDS / (seconds + 1e-9))))
        return count

    def sample(self) -> dict[str, float]:
        return {self.name: self.loop(self.count) / self.count}


def to_numpy(tree: Any) -> Any:
    """Containers of arrays, as containers of NumPy arrays."""
    if isinstance(tree, dict):
        return {key: to_numpy(child) for key, child in tree.items()}
    if isinstance(tree, list | tuple):
        return [to_numpy(child) for child in tree]
    return np.asarray(tree)


class Timer:
    """Takes samples of workloads; keeps those that repeat ready in between, one at a time."""

    def __init__(self, ns: Namespace) -> None:
        self.ns = ns
        self.current: int | None = None
        self.repetition: Repetition | None = None

    def sample(self, number: int) -> tuple[dict[str, float], Any]:
        """One sample of a workload: seconds by row, and the result if it is a new one."""
        workload = WORKLOADS[number]
        with flags_set(self.ns, workload.flags), without_garbage_collection():
            if isinstance(workload, Staged):
                seconds, result = workload.run(self.ns)
                return seconds, to_numpy(result)
            result = None
            if self.current != number:
                self.current, self.repetition = number, None  # lets go of the last one's arrays
                self.repetition = Repetition(self.ns, workload)
                result = self.repetition.result
            return self.repetition.sample(), result


@contextlib.contextmanager
def without_garbage_collection() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def serve(connection: Connection, implementation: str) -> None:
    """Answer requests until the other side closes the socket."""
    timer = Timer(namespace_of(implementation))
    while True:
        number = connection.recv()
        try:
            connection.send(("sample", timer.sample(number)))
        except Exception as error:
            summary = f"{type(error).__name__}: {error}".partition("\n")[0]
            connection.send(("error", f"{summary}\n{traceback.format_exc()}"))


if __name__ == "__main__":
    with contextlib.suppress(EOFError, ConnectionError, KeyboardInterrupt):
        serve(Connection(int(sys.argv[2])), sys.argv[1])

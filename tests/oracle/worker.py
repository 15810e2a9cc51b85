"""A process that runs snippets under one implementation: ``worker.py (jax|covector) SOCKET``.

It takes lists of requests from the socket and sends back one outcome for each, as it comes.
"""

from __future__ import annotations

import sys
from multiprocessing.connection import Connection
from pathlib import Path

# This file's folder holds modules with everyday names; the package stands beside it.
sys.path[0] = str(Path(__file__).resolve().parent.parent)

import importlib  # noqa: E402

from oracle.snippet import evaluate  # noqa: E402

# Compiled programs of past snippets are of no use; without this the process grows without bound.
CLEAR_CACHES_EVERY = 2_000


def serve(connection: Connection, implementation: str) -> None:
    """Answer requests until the other side closes the socket."""
    module = importlib.import_module(implementation)
    connection.send(("ready", module.__version__, len(module.devices())))
    served = 0
    while True:
        for snippet, inputs, settings in connection.recv():
            connection.send(evaluate(snippet, inputs, implementation, settings))
            served += 1
            if served % CLEAR_CACHES_EVERY == 0:
                module.clear_caches()


if __name__ == "__main__":
    try:
        serve(Connection(int(sys.argv[2])), sys.argv[1])
    except (EOFError, ConnectionError, KeyboardInterrupt):
        sys.exit(0)

"""Compare Covector with JAX: the same snippet runs in both, each in a process that holds only one.

``snippet.py`` runs a snippet and describes what came out; ``worker.py`` is the process that does
so under JAX (or under Covector with another number of devices); ``client.py`` starts, feeds and
ends such processes; ``compare.py`` says when two outcomes agree; ``fixture.py`` is what tests use.
"""

from .client import OracleError, WorkerCrash, WorkerTimeout
from .compare import Tolerance, agree
from .fixture import Case, Oracle
from .snippet import Leaf, Node, Outcome, Raised

__all__ = [
    "Case",
    "Leaf",
    "Node",
    "Oracle",
    "OracleError",
    "Outcome",
    "Raised",
    "Tolerance",
    "WorkerCrash",
    "WorkerTimeout",
    "agree",
]

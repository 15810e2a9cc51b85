"""What a workload is. Each is written once, as a function of a namespace, and runs on both sides.

- ``Repeated``: a statement, timed many times over in a long-lived process
- ``Staged``: a function that times stages of its own, from cold caches each time
- ``Started``: a program, timed from the start of a new process to its end
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Namespace:
    """One implementation: ``jax`` or ``covector`` with its modules, or plain ``numpy``."""

    implementation: str
    jax: Any
    jnp: Any
    lax: Any
    random: Any

    def array(self, values: np.ndarray) -> Any:
        return values if self.implementation == "numpy" else self.jnp.asarray(values)

    def wait(self, value: Any) -> Any:
        """Wait until ``value`` is computed."""
        return value if self.implementation == "numpy" else self.jax.block_until_ready(value)


@dataclass(frozen=True)
class Repeated:
    """``setup`` gives the variables of ``statement``. ``result``, an expression of the variable
    ``result``, is what both sides must agree on.
    """

    name: str
    bar: float
    setup: Callable[[Namespace], dict[str, Any]]
    statement: str
    result: str = "result"
    flags: dict[str, Any] = field(default_factory=dict)
    baseline: str = "jax"
    rounds: int = 15

    @property
    def rows(self) -> dict[str, float]:
        return {self.name: self.bar}


@dataclass(frozen=True)
class Staged:
    """``run`` gives the seconds of each stage, by name, and a result that both sides agree on."""

    name: str
    rows: dict[str, float]
    run: Callable[[Namespace], tuple[dict[str, float], Any]]
    flags: dict[str, Any] = field(default_factory=dict)
    baseline: str = "jax"
    rounds: int = 3


@dataclass(frozen=True)
class Started:
    """``program`` is Python source, in which ``jax`` becomes the implementation's name. What it
    prints is what both sides must agree on.
    """

    name: str
    bar: float
    program: str
    baseline: str = "jax"
    rounds: int = 9

    @property
    def rows(self) -> dict[str, float]:
        return {self.name: self.bar}


Workload = Repeated | Staged | Started

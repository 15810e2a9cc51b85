"""What tests use: the session's ``oracle``."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .client import OracleError, Worker, simulated_devices
from .compare import Tolerance, agree
from .snippet import Outcome, Raised, evaluate

# An unknown name is a slip in the snippet, in whichever implementation it runs.
SLIPS = ("NameError", "SyntaxError", "ModuleNotFoundError")


@dataclass(frozen=True)
class Case:
    """One comparison of :meth:`Oracle.compare_many`: a snippet, its inputs, and a tolerance."""

    snippet: str
    inputs: dict[str, Any] = field(default_factory=dict)
    tolerance: Tolerance = field(default_factory=Tolerance)
    may_raise: bool = False


class Oracle:
    """Runs snippets under JAX, and compares Covector with it. See ``snippet.py`` on snippets.

    >>> oracle.compare("jnp.sin(x) + 1", x=np.ones(3))                      # doctest: +SKIP
    >>> oracle.using(x64=True).compare("jnp.sin(x)", rtol=1e-15, x=np.ones(3))  # doctest: +SKIP
    >>> oracle.compare_error("jax.grad(jnp.sin)(x)", x=np.ones(3))           # doctest: +SKIP
    >>> oracle.value("jnp.sin(x)", x=np.ones(3))                             # doctest: +SKIP
    """

    def __init__(self) -> None:
        self._workers: dict[tuple[str, int], Worker] = {}
        self._settings: dict[str, Any] = {}
        self._devices: int | None = None
        self._timeout = 120.0

    def using(
        self, *, devices: int | None = None, timeout: float | None = None, **settings: Any
    ) -> Oracle:
        """This oracle with other settings: configuration flags by name, such as ``x64=True`` or
        ``numpy_dtype_promotion="strict"``. With ``devices``, both implementations run in processes
        that have so many CPU devices. ``timeout`` is in seconds, for each snippet.
        """
        other = Oracle()
        other._workers = self._workers
        other._settings = {**self._settings, **settings}
        other._devices = self._devices if devices is None else devices
        other._timeout = self._timeout if timeout is None else timeout
        return other

    def run(self, snippet: str, **inputs: Any) -> Outcome:
        """What the snippet does under JAX."""
        return self._expected([(snippet, inputs)])[0]

    def value(self, snippet: str, **inputs: Any) -> Any:
        """The snippet's result under JAX, in NumPy arrays."""
        return self.run(snippet, **inputs).value

    def call(self, name: str, *args: Any, **kwargs: Any) -> Outcome:
        """What a named function does under JAX, such as ``"jnp.linalg.det"`` or ``"lax.sin"``."""
        return self.run(f"{name}(*args, **kwargs)", args=args, kwargs=kwargs)

    def run_covector(self, snippet: str, **inputs: Any) -> Outcome:
        """What the snippet does under Covector: in this process, unless ``devices`` are set."""
        if self._devices is None:
            return evaluate(snippet, inputs, "covector", self._settings)
        requests = [(snippet, inputs, self._settings)]
        return next(iter(list(self._worker("covector").run(requests, self._timeout))))

    def compare(
        self,
        snippet: str,
        *,
        rtol: Any = None,
        atol: Any = None,
        exact: bool = False,
        check_dtype: bool = True,
        check_weak_type: bool = True,
        may_raise: bool = False,
        **inputs: Any,
    ) -> Outcome:
        """Assert that the snippet does the same in both; give what Covector did.

        An error is a failure, even when both raise, unless ``may_raise``: then both or neither
        must raise, and what catches JAX's error must catch ours. See :class:`Tolerance`.
        """
        tolerance = Tolerance(rtol, atol, exact, check_dtype, check_weak_type)
        return self.compare_many([Case(snippet, inputs, tolerance, may_raise)])[0]

    def compare_call(self, name: str, *args: Any, **kwargs: Any) -> Outcome:
        """Assert that a named function does the same in both, with the default tolerance."""
        return self.compare(f"{name}(*args, **kwargs)", args=args, kwargs=kwargs)

    def compare_error(self, snippet: str, **inputs: Any) -> Raised:
        """Assert that both raise, and that what catches JAX's error catches ours; give ours."""
        outcome = self.compare(snippet, may_raise=True, **inputs)
        if outcome.error is None:
            raise AssertionError(f"neither implementation raised for\n{snippet}")
        return outcome.error

    def compare_many(self, cases: Sequence[Case]) -> list[Outcome]:
        """Compare many cases in one exchange; report every failure, not just the first."""
        everything_expected = self._expected([(case.snippet, case.inputs) for case in cases])
        outcomes, failures = [], []
        for case, expected in zip(cases, everything_expected):
            if expected.error and not case.may_raise:
                raise OracleError(
                    f"the oracle raised; if it should, use compare_error or may_raise=True\n"
                    f"{case.snippet}\n{expected.error.traceback}"
                )
            actual = self.run_covector(case.snippet, **case.inputs)
            outcomes.append(actual)
            differences = agree(actual, expected, case.tolerance)
            if differences:
                failures.append("\n".join([case.snippet.strip(), *_shown(case), *differences]))
        if failures:
            raise AssertionError(
                f"{len(failures)} of {len(cases)} differ\n" + "\n\n".join(failures)
            )
        return outcomes

    def close(self) -> None:
        """End all worker processes."""
        for worker in self._workers.values():
            worker.close()
        self._workers.clear()

    def _expected(self, cases: Sequence[tuple[str, dict[str, Any]]]) -> list[Outcome]:
        for snippet, _ in cases:
            ast.parse(snippet)
        requests = [(snippet, inputs, self._settings) for snippet, inputs in cases]
        outcomes = list(self._worker("jax").run(requests, self._timeout))
        for (snippet, _), outcome in zip(cases, outcomes):
            if outcome.error and outcome.error.names[0] in SLIPS:
                raise OracleError(f"the snippet has a slip\n{snippet}\n{outcome.error.traceback}")
        return outcomes

    def _worker(self, implementation: str) -> Worker:
        devices = simulated_devices() if self._devices is None else self._devices
        key = (implementation, devices)
        if key not in self._workers:
            self._workers[key] = Worker(implementation, devices)
        return self._workers[key]


def _shown(case: Case) -> list[str]:
    """The inputs of a failed case, as far as they are short."""
    texts = (f"  {name} = {value!r}" for name, value in case.inputs.items())
    return [text if len(text) < 300 else text[:300] + " ..." for text in texts]

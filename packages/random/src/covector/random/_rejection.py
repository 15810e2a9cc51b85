"""Loops that draw until every element has been accepted, all from one key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from covector import lax
from covector.random._implementation import Shape
from covector.random._sampling import Source, scalar

Proposal = tuple[Any, Any]  # numbers, and which of them are accepted


def transformed_rejection(
    source: Source, shape: Shape, dtype: np.dtype, propose: Callable[[Any, Any], Proposal]
) -> Any:
    """Accepted ones of ``propose(u, v)``, for ``u`` in [-1/2, 1/2) and ``v`` in [0, 1).

    As long as any element has none, all draw again, and each element's last one counts.

    Source: W. Hörmann, "The transformed rejection method for generating Poisson random variables"
    (1993).
    """

    def unfinished(state: tuple) -> Any:
        return any_of(lax.bitwise_not(state[2]))

    def step(state: tuple) -> tuple:
        key, drawn, done = state
        key, first, second = Source(key, source.implementation).split(3)
        u, v = lax.optimization_barrier((first.unit(shape, dtype), second.unit(shape, dtype)))
        proposal, accepted = propose(lax.sub(u, scalar(0.5, dtype)), v)
        return key.data, lax.select(accepted, proposal, drawn), lax.bitwise_or(done, accepted)

    state = (source.data, lax.full(shape, -1, dtype), lax.full(shape, False))
    return lax.while_loop(unfinished, step, state)[1]


def any_of(mask: Any) -> Any:
    """Whether any element is True: a sum, since that of floats is the quickest to compile."""
    total = lax.reduce_sum(lax.convert_element_type(mask, np.float32), range(mask.ndim))
    return lax.gt(total, np.float32(0))

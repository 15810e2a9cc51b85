"""`covector.ops`: reductions over segments, against the oracle."""

from __future__ import annotations

import covector as cv
import numpy as np
import pytest
from core.transformed import check
from oracle import Case

NAMES = ("segment_sum", "segment_prod", "segment_max", "segment_min")
ARGUMENTS = (
    "x, ids, 4",
    "x, ids",
    "x, np.array([0, -1, 2, 7, 1]), 4",
    "x, np.array([0, 1, 2, 3, 4]), unique_indices=True, indices_are_sorted=True",
    "x, ids, 4, bucket_size=2",
    "np.ones((5, 3), np.float32), ids, 3",
    "np.arange(5, dtype=np.int32), ids, 4",
    "np.arange(5, dtype=np.uint8), ids, 4",
    "np.zeros((0,), np.float32), np.zeros((0,), np.int32), 3",
    "x, ids, 4, mode='clip'",
    "x, ids, -1",
)


@pytest.mark.parametrize("name", NAMES)
def test_values(oracle, name):
    setup = (
        "x = np.linspace(-1, 1, 5).astype(np.float32); ids = np.array([0, 0, 2, 3, 2]); "
        f"import jax.ops\njax.ops.{name}"
    )
    oracle.compare_many([Case(f"{setup}({a})", may_raise=True) for a in ARGUMENTS])


@pytest.mark.parametrize("name", NAMES)
def test_under_transformations(oracle, name):
    # Only of products of unique ids is the derivative known.
    ids = "np.array([0, 1, 2, 3]), 4, unique_indices=True"
    ids = ids if name == "segment_prod" else "np.array([0, 0, 2, 2]), 4"
    check(
        oracle,
        f"import jax.ops\nf = lambda x: jax.ops.{name}(x, {ids})\n"
        "f = (lambda g: lambda x: lax.clamp(np.float32(-9), g(x), np.float32(9)))(f)\n"
        "args = (np.array([0.5, 0.25, -1.0, 2.0], np.float32),)",
    )


@pytest.mark.parametrize("name", NAMES)
def test_bad_input(name):
    function = getattr(cv.ops, name)
    with pytest.raises(cv.errors.ConcretizationTypeError, match=f"{name}: num_segments"):
        cv.jit(function)(np.ones(2), np.zeros(2, np.int32))
    with pytest.raises(ValueError, match=f"{name}: segment_ids must"):
        function(np.ones(2), np.zeros(3, np.int32), 2)
    with pytest.raises(ValueError, match=f"{name}: segment_ids must"):
        function(np.ones((2, 2)), np.zeros((2, 2), np.int32), 2)
    with pytest.raises(NotImplementedError, match="out_sharding"):
        function(np.ones(2), np.zeros(2, np.int32), 2, out_sharding=1)

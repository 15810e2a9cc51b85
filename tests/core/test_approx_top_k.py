"""approx_max_k and approx_min_k, which are exact on CPU, against the oracle."""

import covector
import ml_dtypes
import numpy as np
import pytest
from core import primitive_checks as checks
from covector import lax
from covector._lower.module import LoweringOptions, lower_module
from oracle import Case, Tolerance

BOTH = "lax.approx_max_k(x, *args, **options), lax.approx_min_k(x, *args, **options)"
EDGES = np.float32([np.nan, 1, np.inf, -np.inf, -np.nan, -0.0, 2])


def sample(shape, dtype=np.float32):
    """Different values: the order of equal ones is not stated."""
    size = int(np.prod(shape))
    return np.random.default_rng(0).permutation(size).reshape(shape).astype(dtype)


def test_values(oracle):
    calls = [
        (sample((4, 6)), (2,), {}),
        (sample((4, 6)), (2, 0), {}),
        (sample((2, 3, 5)), (5, 1 - 2), {}),
        (sample(7), (1,), {"recall_target": 1.0}),
        (sample((4, 6)).astype(ml_dtypes.bfloat16), (3,), {}),
        (sample((4, 6)).astype(np.float16), (3,), {}),
        (sample((0, 6)), (3,), {}),
        (sample((4, 6)), (2,), {"reduction_input_size_override": 100}),
    ]
    oracle.compare_many(
        [
            Case(BOTH, {"x": x, "args": args, "options": options}, Tolerance(exact=True))
            for x, args, options in calls
        ]
    )


def test_wide(oracle):
    oracle.using(x64=True).compare(BOTH, x=sample((3, 50), np.float64), args=(7,), options={})


def test_nan():
    """Nan is larger than any number, whatever its sign."""
    values, positions = lax.approx_max_k(EDGES, 4)
    np.testing.assert_array_equal(values, [np.nan, np.nan, np.inf, 2])
    assert sorted(positions[:2].tolist()) == [0, 4]
    values, positions = lax.approx_min_k(EDGES, 6)
    np.testing.assert_array_equal(values, [-np.inf, 0, 1, 2, np.inf, np.nan])
    np.testing.assert_array_equal(positions[:5], [3, 5, 1, 6, 2])


def test_unaggregated(oracle):
    """As many elements as in the oracle, the best among them."""
    body = "[v.shape for v in lax.approx_max_k(x, 2, aggregate_to_topk=False, **options)]"
    x = sample((2, 1000))
    sizes = ({}, {"recall_target": 0.5}, {"reduction_input_size_override": 100000})
    oracle.compare_many([Case(body, {"x": x, "options": options}) for options in sizes])
    values, positions = lax.approx_min_k(x, 2, aggregate_to_topk=False)
    np.testing.assert_array_equal(np.sort(values)[:, :2], np.sort(x)[:, :2])
    np.testing.assert_array_equal(np.take_along_axis(x, np.asarray(positions), 1), values)


@pytest.mark.parametrize("function", [lax.approx_max_k, lax.approx_min_k])
def test_transformations(function):
    checks.check_all(lambda x: function(x, 2, 0)[0], sample((5, 2), np.float64), order=1)


BAD = {
    "integers": (np.arange(5), (2,), {}),
    "complex": (np.ones(5, np.complex64), (2,), {}),
    "scalar": (np.float32(1), (1,), {}),
    "too_large": (sample(5), (6,), {}),
    "zero": (sample(5), (0,), {}),
    "empty": (sample((2, 0)), (1,), {}),
    "axis": (sample(5), (1, 3), {}),
    "recall_above": (sample(5), (1,), {"recall_target": 1.5}),
    "recall_zero": (sample(5), (1,), {"recall_target": 0.0}),
    "override": (sample(5), (1,), {"reduction_input_size_override": 3}),
}


@pytest.mark.parametrize("name", BAD)
def test_errors(oracle, name):
    x, args, options = BAD[name]
    error = oracle.compare_error(BOTH, x=x, args=args, options=options)
    assert "approx_max_k" in error.message


def test_text_for_tpus():
    program = covector.make_jaxpr(lambda x: lax.approx_min_k(x, 2))(sample((4, 6))).jaxpr
    text = lower_module(program, LoweringOptions("f", "tpu", (True,), (False,))).text
    assert "stablehlo.custom_call @ApproxTopK" in text
    assert "stablehlo.compare LT" in text

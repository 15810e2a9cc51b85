"""Reductions, statistics and running forms against the oracle."""

import covector.numpy as jnp
import numpy as np
import pytest

from numpy_api.compare import compare_all, compare_errors

TOLERANCE = {"float32": 1e-5, "bfloat16": 2e-2, "complex64": 1e-5}


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "all", "any", "mean", "var", "std"])
def test_dtypes(oracle, name):
    operands = ["f", "i", "i8", "u8", "h", "b", "s", "2", "0.5"]
    if name not in ("max", "min"):
        operands.append("c")
    compare_all(oracle, [f"jnp.{name}({x})" for x in operands], rtol=TOLERANCE, atol=1e-6)


@pytest.mark.parametrize("name", ["sum", "max", "all", "mean", "var", "argmax", "argmin", "ptp"])
def test_axes(oracle, name):
    axes = ["axis=0", "axis=-1", "0", "keepdims=True", "axis=1, keepdims=True"]
    if name not in ("argmax", "argmin"):
        axes += ["axis=(0, 1)", "axis=[0, 1]", "axis=()", "axis=np.int64(1)"]
    compare_all(oracle, [f"jnp.{name}(f, {a})" for a in axes], rtol=TOLERANCE, atol=1e-6)
    compare_all(oracle, [f"t.{name}(axis=1)", f"f.{name}()"], rtol=TOLERANCE, atol=1e-6)


def test_masks_and_initial_values(oracle):
    compare_all(
        oracle,
        """
            jnp.sum(f, where=b)
            jnp.sum(f, initial=2)
            jnp.max(f, where=b, initial=0.0)
            jnp.min(i, initial=-7)
            jnp.prod(f, where=b, initial=2.0)
            jnp.mean(f, where=b)
            jnp.var(f, where=b)
            jnp.all(b, where=~b)
            jnp.sum(f, axis=0, where=v > 0)
            jnp.mean(f, where=f > 100)
            jnp.std(f, axis=1, where=b, ddof=1)
            jnp.any(i, axis=0)
            """,
        rtol=TOLERANCE,
    )


def test_dtype_arguments(oracle):
    compare_all(
        oracle,
        """
            jnp.sum(i8, dtype=jnp.float32)
            jnp.sum(f, dtype=int)
            jnp.mean(i, dtype=jnp.bfloat16)
            jnp.sum(i8, promote_integers=False)
            jnp.prod(b, dtype='int8')
            jnp.var(f, ddof=1)
            jnp.var(f, correction=1)
            jnp.std(h, ddof=1)
            jnp.var(f, mean=0.5)
            jnp.var(f, ddof=9)
            jnp.mean(f, dtype=jnp.int32)
            """,
        rtol=TOLERANCE,
    )


def test_empty_and_nan(oracle):
    compare_all(
        oracle,
        """
            jnp.sum(empty)
            jnp.prod(empty, axis=0)
            jnp.mean(empty)
            jnp.all(empty)
            jnp.max(empty, axis=1)
            jnp.max(edge)
            jnp.min(edge)
            jnp.argmax(edge)
            jnp.argmin(edge)
            jnp.max(empty, initial=1.0)
            jnp.var(empty)
            """,
    )


def test_running_forms(oracle):
    compare_all(
        oracle,
        """
            jnp.cumsum(f)
            jnp.cumsum(f, axis=1)
            jnp.cumsum(b)
            jnp.cumsum(i8)
            jnp.cumprod(f, 0)
            jnp.cumsum(f, axis=0, dtype=jnp.int32)
            jnp.cumsum(s)
            f.cumsum(axis=-1)
            jnp.cumprod(u8)
            jnp.cumulative_sum(v)
            jnp.cumulative_sum(i8, axis=1, include_initial=True)
            jnp.cumulative_prod(v, include_initial=True)
            jnp.nancumsum(edge[2:])
            """,
        rtol=TOLERANCE,
    )


@pytest.mark.parametrize(
    "name", ["nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd"]
)
def test_ignoring_nan(oracle, name):
    holes = "jnp.where(b, jnp.nan, f)"
    compare_all(
        oracle,
        [
            f"jnp.{name}({holes})",
            f"jnp.{name}({holes}, axis=0)",
            f"jnp.{name}(i)",
            f"jnp.{name}(f, keepdims=True)",
        ],
        rtol=TOLERANCE,
    )


def test_positions_ignoring_nan(oracle):
    holes = "jnp.where(b, jnp.nan, f)"
    compare_all(
        oracle, [f"jnp.nanargmax({holes}, axis=1)", f"jnp.nanargmin({holes})", "jnp.nanargmax(i)"]
    )
    compare_all(
        oracle,
        """
            jnp.nanargmax(jnp.array([jnp.nan]))
            jnp.nanmax(jnp.array([jnp.nan]))
            """,
    )


def test_averages_and_counts(oracle):
    compare_all(
        oracle,
        """
            jnp.average(f)
            jnp.average(f, axis=1, weights=v)
            jnp.average(i, returned=True)
            jnp.average(f, weights=p, axis=0, keepdims=True)
            jnp.count_nonzero(i)
            jnp.count_nonzero(i, axis=0, keepdims=True)
            jnp.minmax(f)
            jnp.amax(f, 0)
            """,
        rtol=TOLERANCE,
    )


def test_errors(oracle):
    compare_errors(
        oracle,
        """
            jnp.sum([1, 2])
            jnp.sum(f, axis=5)
            jnp.max(empty)
            jnp.argmax(empty)
            jnp.max(f, where=b)
            jnp.sum(f, initial=jnp.ones(3))
            jnp.sum(f, axis=(0, 0))
            jnp.sum(f, out=f)
            jnp.sum(f, axis=1.0)
            jnp.var(f, ddof=1, correction=1)
            jnp.argmax(f, axis=(0, 1))
            jnp.cumulative_sum(f)
            jnp.cumsum(f, axis=2)
            jnp.average(f, weights=v)
            jnp.mean('a')
            """,
    )


def test_half_precision_sums_in_single():
    ones = jnp.ones(4096, jnp.bfloat16)
    assert float(jnp.sum(ones)) == 4096.0
    assert float(jnp.mean(ones)) == 1.0


def test_a_sum_is_one_program():
    import covector

    text = str(covector.make_jaxpr(lambda x: jnp.sum(x, axis=0))(np.ones((2, 3), np.float32)))
    assert text.count("=") == 2, text  # reduce_sum, and its parameter

"""`lax.dtype`, against the oracle."""

import numpy as np
from covector import lax
from oracle import Case


def test_dtype(oracle):
    calls = ["np.zeros(2)", "jnp.zeros(2, 'int8')", "1", "1.0", "True", "1j", "np.float16(1)"]
    calls += ["int", "float", "'bfloat16'", "np.int8", "jax.ShapeDtypeStruct((), 'int8')"]
    for settings in ({}, {"x64": True}):
        oracle.using(**settings).compare_many([Case(f"lax.dtype({call})") for call in calls])


def test_errors(oracle):
    for call in ("'a'", "[1.0]", "None", "{}", "object", "object()"):
        oracle.compare_error(f"lax.dtype({call})")


def test_of_a_wide_name():
    assert lax.dtype(np.float64) == np.float32

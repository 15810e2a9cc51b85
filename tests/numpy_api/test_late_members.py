"""Methods of arrays are attached when the first of them is asked for, each of them."""

import subprocess
import sys

from covector._run import array
from covector.numpy import _array_members as members


def names():
    functions = {name for part in members._FUNCTIONS.values() for name in part.split()}
    return {*members._METHODS, *members._PROPERTIES, *functions}


def test_the_core_waits_for_every_one():
    assert names() | {"__array_ufunc__"} == array._LAZY_ATTRIBUTES


def test_one_that_is_the_first():
    program = "import covector.numpy as jnp; print(len(jnp.zeros(3).tobytes()))"
    outcome = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert outcome.stdout == "12\n", outcome.stderr

"""A row for every public function of `covector.nn` and `covector.image`: see `function_rows.py`.

What is checked of them is what is of those of `covector.numpy`.
"""

from pathlib import Path

import covector
import pytest
from covector import nn
from numpy_api.function_checks import (
    CASES,
    compare_with_oracle,
    oracle_differences,
    transform_differences,
)
from numpy_api.function_differences import DIFFERENT
from numpy_api.function_rows import ROWS

from nn.function_rows import ELSEWHERE

TOPICS = {topic: rows for topic, rows in ROWS.items() if not rows[0].call.startswith("jnp.")}


def test_every_function_has_a_row():
    functions = {f"nn.{name}" for name in nn.__all__ if name != "initializers"}
    of_initializers = set(nn.initializers.__all__) - {"Initializer"}  # a protocol
    functions |= {f"nn.initializers.{name}" for name in of_initializers}
    functions |= {"image.resize", "image.scale_and_translate"}
    with_rows = {row.function for rows in TOPICS.values() for row in rows}
    elsewhere = {f"nn.{name}" for names in ELSEWHERE.values() for name in names.split()}
    assert with_rows | elsewhere == functions
    for file, names in ELSEWHERE.items():
        text = Path(__file__).with_name(file).read_text(encoding="utf-8")
        assert all(name in text for name in names.split())


@pytest.mark.parametrize("kind", CASES)
def test_outcomes(oracle, kind):
    """Dtypes, shapes, weak types and errors are the oracle's, but for what is listed."""
    rows = [row for rows in TOPICS.values() for row in rows]
    found = oracle_differences(oracle, kind, rows)
    listed = {name for name, (kinds, _) in DIFFERENT.items() if kind in kinds.split()}
    assert not {name: texts for name, texts in found.items() if name not in listed}
    assert listed.intersection(row.function for row in rows) <= set(found)


def test_values_that_numpy_does_not_have(oracle):
    compare_with_oracle(oracle, [r for rows in TOPICS.values() for r in rows if not r.numpy])


@pytest.mark.parametrize("topic", TOPICS)
def test_transformations(topic):
    with covector.enable_x64(True):
        found = transform_differences(TOPICS[topic])
    assert not found, "\n".join(found)

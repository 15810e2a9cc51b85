"""A row for every public function, and what must hold for each: one without a row fails.

The rows stand in the files `function_rows*.py`, what is checked of them in
`function_checks.py`. Options and edges of each function are the matter of the files by topic.
"""

import warnings
from pathlib import Path

import covector
import covector.numpy as jnp
import pytest

from numpy_api import function_rows_linear, function_rows_made
from numpy_api.function_checks import (
    CASES,
    compare_with_oracle,
    eager_differences,
    oracle_differences,
    transform_differences,
    value_differences,
)
from numpy_api.function_differences import DIFFERENT, VALUES
from numpy_api.function_rows import ELSEWHERE, ROWS

# Importing them adds their rows.
assert function_rows_linear and function_rows_made
TOPICS = {topic: rows for topic, rows in ROWS.items() if rows[0].call.startswith("jnp.")}
FOLDER = Path(__file__).parent


def public_functions(module, prefix):
    return {
        f"{prefix}.{name}"
        for name in module._MODULE_OF
        if not name.startswith("_")
        and callable(getattr(module, name))
        and not isinstance(getattr(module, name), type)
    }


def test_every_function_has_a_row():
    functions = public_functions(jnp, "jnp")
    functions |= public_functions(jnp.linalg, "jnp.linalg")
    functions |= public_functions(jnp.fft, "jnp.fft")
    with_rows = {row.function for rows in TOPICS.values() for row in rows}
    elsewhere = {f"jnp.{name}" for names in ELSEWHERE.values() for name in names.split()}
    assert with_rows | elsewhere == functions
    assert not with_rows & elsewhere
    for file, names in ELSEWHERE.items():
        text = (FOLDER / file).read_text(encoding="utf-8")
        for name in names.split():
            assert name in text, f"{file} does not test {name}"


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("topic", TOPICS)
def test_outcomes(oracle, topic, kind):
    """Dtypes, shapes, weak types and errors are the oracle's, but for what is listed."""
    found = oracle_differences(oracle, kind, TOPICS[topic])
    listed = [name for name, (kinds, _) in DIFFERENT.items() if kind in kinds.split()]
    unlisted = [text for name, texts in found.items() if name not in listed for text in texts]
    assert not unlisted, "\n".join(unlisted)
    here = {row.function for row in TOPICS[topic]}
    there = {row.function for name, rows in TOPICS.items() if name != topic for row in rows}
    assert kind == "bad" or (here - there).intersection(listed) <= set(found), (
        "listed, but not different"
    )


WITHOUT_NUMPY = [row for rows in TOPICS.values() for row in rows if not row.numpy]


def test_values_that_numpy_does_not_have(oracle):
    compare_with_oracle(oracle, WITHOUT_NUMPY)


@pytest.mark.parametrize("topic", TOPICS)
def test_values(topic):
    rows = [row for row in TOPICS[topic] if row.dtypes and row.numpy and row.staged]
    with covector.enable_x64(True):
        found = value_differences(rows)
        found += eager_differences([row for row in TOPICS[topic] if not row.staged])
    unlisted = [text for text in found if not text.startswith(tuple(VALUES))]
    assert not unlisted, "\n".join(unlisted)


@pytest.mark.parametrize("topic", TOPICS)
def test_transformations(topic):
    with covector.enable_x64(True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = transform_differences([row for row in TOPICS[topic] if row.staged])
    assert not found, "\n".join(found)

"""Covector's own warning that it found no accelerator leads to the command."""

from __future__ import annotations

import logging

import pytest
from covector._config import config
from covector._run import client


@pytest.fixture
def backend(monkeypatch):
    """Choose the default backend again, on a machine with these nodes and plugins."""

    def choose(nodes=(), plugins=()):
        monkeypatch.setattr(client, "_ACCELERATOR_NODES", nodes)
        monkeypatch.setattr(client, "_platforms", lambda: [*plugins, "cpu"])
        return client.default_backend.__wrapped__()

    return choose


@pytest.mark.parametrize(
    "nodes, plugins, words",
    [
        (["/dev/null"], (), "/dev/null is there, and no plugin for it is installed"),
        ((), ("cuda",), "No plugin for platform 'cuda' is installed"),
    ],
)
def test_falling_back_to_the_cpu_names_the_command(backend, caplog, nodes, plugins, words):
    with caplog.at_level(logging.WARNING, "covector"):
        assert backend(nodes, plugins) == "cpu"
    (record,) = caplog.records
    text = record.getMessage()
    assert words in text and "No accelerator found" in text
    assert "'install-helper doctor'" in text


def test_on_a_machine_without_accelerator_it_is_silent(backend, caplog):
    assert backend(["/dev/no-such-node"]) == "cpu"
    assert not caplog.records


def test_a_cpu_that_was_asked_for_is_not_explained(backend, caplog, monkeypatch):
    monkeypatch.setattr(type(config), "jax_platforms", "cpu", raising=False)
    assert backend(["/dev/null"]) == "cpu"
    assert not caplog.records

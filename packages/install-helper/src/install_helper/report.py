"""A text for bug reports, without user and host names, home paths, tokens or serial numbers."""

from __future__ import annotations

import dataclasses
import getpass
import os
import re
import socket
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from install_helper.facts import Facts

HOMES = r"(?:/home/|/Users/|/var/home/|[A-Za-z]:[\\/]Users[\\/])[^/\\\s,:;\"']+"
HIDE = (
    (r"(?i)\b(GPU|MIG)-[0-9a-f][0-9a-f-]{3,}[\w/-]*", r"\1-..."),
    (r"(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "..."),
    (
        r"(?i)(\w*(?:token|secret|password|passwd|api_?key|credential)\w*['\"]?\s*[=:]\s*)\S+",
        r"\1...",
    ),
    (r"(?i)\b(hf_|ghp_|github_pat_|glpat-|pypi-|sk-|xox[abp]-|AKIA)[\w-]{8,}", r"\1..."),
    (r"([a-z][a-z+]*://)[^/\s@]+@", r"\1...@"),
    (r"(?i)(serial(?: number)?\s*[=:]\s*)\S+", r"\1..."),
    (r"\b[\w.+-]+@[\w-]+\.[\w.-]+\b", "(mail)"),
    (r"(?<![\w.])[\w-]+(?:\.[\w-]+)+(?=:\d{2,5}\b)", "(address)"),
    (r"(?i)\b([0-9a-f]{2}:){5}[0-9a-f]{2}\b", "(address)"),
)
# Variables that name machines, whatever their form.
HOST_VARIABLES = re.compile(r"(HOST|COORDINATOR|ADDRESS|SERVER|MASTER|NODELIST|NODENAME)")
# Names that are words of the report itself, or tell nothing of a person.
COMMON = {"root", "user", "localhost", "ubuntu", "admin", "jax", "cuda", "python", "gpu", "cpu"}
# What is kept of a path below a home directory: from here on it is that of a package.
KEPT = re.compile(r"[/\\](?:site-packages|dist-packages)(?:[/\\].*)?$|[/\\]bin[/\\][\w.-]+$")


def own_names() -> list[str]:
    """The names of this user and this host."""
    names = []
    for ask in (getpass.getuser, socket.gethostname, os.getlogin):
        try:
            names.append(ask())
        except (OSError, KeyError, ImportError):
            pass
    return names


def _hide_path(path: str) -> str:
    kept = KEPT.search(path)
    return "~/..." + (kept[0] if kept else "")


def redact(text: str, names: Iterable[str] | None = None) -> str:
    """Text with everything replaced that names a person, a machine, or a secret.

    >>> redact("/home/ada/x/bin/python GPU-5f3a9c11-aa token=abc", names=["ada"])
    '~/.../bin/python GPU-... token=...'
    """
    for words, instead in HIDE:
        text = re.sub(words, instead, text)
    home = os.path.expanduser("~")
    homes = (
        HOMES if len(home) < 2 else f"(?:{HOMES}|{re.escape(home)}(?![\\w.-])|(?<![\\w/])~(?=/))"
    )
    text = re.sub(rf"{homes}(?:[/\\][^\s,:;\"'\])]*)?", lambda match: _hide_path(match[0]), text)
    for name in own_names() if names is None else names:
        if len(name) > 2 and name.lower() not in COMMON:
            text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "(name)", text)
    return text


def whole(text: str) -> str:
    """One value, redacted: a path below a home directory is one whatever blanks it has."""
    parts = re.split(r"(:(?![\\/]))", text) if "/" in text else [text]
    home = os.path.expanduser("~")
    below = re.compile(rf"{HOMES}([/\\]|$)|{re.escape(home)}([/\\]|$)" if len(home) > 1 else HOMES)
    parts = [_hide_path(part) if below.match(part) else part for part in parts]
    return redact("".join(parts))


def redacted(facts: Facts, *others: Any) -> tuple[Any, ...]:
    """Facts, and what was made of them, with every text in them redacted."""
    hidden = _mapped(facts, whole)
    if hidden.python.environment != facts.python.environment:
        python = dataclasses.replace(hidden.python, base_prefix="(base)")
        hidden = dataclasses.replace(hidden, python=python)
    # Sentences and commands hold paths among other words: those with blanks are known from facts.
    paths: list[str] = []
    _mapped(facts, lambda text: paths.append(text) or text if " " in text else text)
    known = {path: whole(path) for path in sorted(set(paths), key=len, reverse=True)}

    def change(text: str) -> str:
        for path, instead in known.items():
            if path != instead:
                text = text.replace(path, instead)
        return redact(text)

    return (hidden, *(_mapped(other, change) for other in others))


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = (field.name for field in dataclasses.fields(value))
        return dataclasses.replace(
            value, **{name: _mapped(getattr(value, name), change) for name in fields}
        )
    if isinstance(value, (tuple, list)):
        return type(value)(_mapped(item, change) for item in value)
    if isinstance(value, Mapping):
        return {key: _variable(str(key), item, change) for key, item in value.items()}
    return value


def _variable(name: str, value: Any, change: Callable[[str], str]) -> Any:
    if HOST_VARIABLES.search(name) and isinstance(value, str) and value:
        return "(address)"
    return _mapped(value, change)

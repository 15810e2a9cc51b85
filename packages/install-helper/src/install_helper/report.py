"""A text for bug reports, without user and host names, home paths, tokens or serial numbers."""

from __future__ import annotations

import getpass
import os
import re
import socket
from collections.abc import Iterable

HIDE = (
    (r"(?i)\b(GPU|MIG)-[0-9a-f][0-9a-f-]{3,}[\w/-]*", r"\1-..."),
    (r"(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "..."),
    (r"(?i)(\w*(?:token|secret|password|passwd|api_?key|credential)\w*\s*[=:]\s*)\S+", r"\1..."),
    (r"(?i)\b(hf_|ghp_|github_pat_|glpat-|pypi-|sk-|xox[abp]-|AKIA)[\w-]{8,}", r"\1..."),
    (r"([a-z][a-z+]*://)[^/\s:@]+:[^/\s@]+@", r"\1...@"),
    (r"(?i)(serial(?: number)?\s*[=:]\s*)\S+", r"\1..."),
    (r"\b[\w.+-]+@[\w-]+\.[\w.-]+\b", "(mail)"),
    (r"\b(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)\b(?=:\d)", "(address)"),
    (r"(?i)\b([0-9a-f]{2}:){5}[0-9a-f]{2}\b", "(address)"),
    (r"(/home/|/Users/|C:\\Users\\|C:/Users/)[^/\\\s,:;\"']+", r"\1(user)"),
)
# Names that are words of the report itself, or tell nothing of a person.
COMMON = {"root", "user", "localhost", "ubuntu", "admin", "jax", "cuda", "python", "gpu", "cpu"}


def own_names() -> list[str]:
    """The names of this user and this host."""
    names = []
    for ask in (getpass.getuser, socket.gethostname, os.getlogin):
        try:
            names.append(ask())
        except (OSError, KeyError, ImportError):
            pass
    return names


def redact(text: str, names: Iterable[str] | None = None) -> str:
    """Text with everything replaced that names a person, a machine, or a secret.

    >>> redact("/home/ada/x GPU-5f3a9c11-aa token=abc", names=["ada"])
    '/home/(user)/x GPU-... token=...'
    """
    for words, instead in HIDE:
        text = re.sub(words, instead, text)
    home = os.path.expanduser("~")
    if len(home) > 1:
        text = re.sub(rf"{re.escape(home)}(?=[/\\\s]|$)", "~", text)
    for name in own_names() if names is None else names:
        if len(name) > 2 and name.lower() not in COMMON:
            text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "(name)", text)
    return text

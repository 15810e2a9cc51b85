"""The known cases: what each looks like, why it happens, what helps, and the words it prints."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from functools import lru_cache

LEVELS = ("error", "warn", "info")


@dataclass(frozen=True)
class Case:
    """One kind of trouble. `signatures` are the telling words of its messages."""

    id: str
    slug: str
    title: str
    level: str
    sure: str
    symptom: str
    facts: str
    cause: str
    fix: str
    links: tuple[str, ...]
    signatures: tuple[str, ...]


@lru_cache(maxsize=1)
def all_cases() -> dict[str, Case]:
    """Every case by its id."""
    path = os.path.join(os.path.dirname(__file__), "data", "cases.json")
    with open(path, encoding="utf-8") as file:
        rows = json.load(file)["cases"]
    return {
        row["id"]: Case(
            **{**row, "links": tuple(row["links"]), "signatures": tuple(row["signatures"])}
        )
        for row in rows
    }


def case(id: str) -> Case:
    """The case of an id. Raises KeyError where there is none."""
    return all_cases()[id]


@lru_cache(maxsize=1024)
def pattern(signature: str, loose: bool = False) -> re.Pattern[str]:
    """The words of a signature, whatever its numbers and its ``<...>`` are in one message.

    A `loose` one also takes other case, and lines broken between its words.

    >>> bool(pattern("Found <name> version 8600").search("Found cuDNN version 90100, but"))
    True
    """
    parts = re.split(r"(<\w+>|\d+(?:\.\d+)*)", signature)
    text = "".join(
        r"\S+?"
        if part.startswith("<") and part.endswith(">")
        else r"\d[\w.]*"
        if part[:1].isdigit() and "so" not in signature
        else re.escape(part)
        for part in parts
    )
    if loose:
        return re.compile(text.replace("\\ ", r"\s+"), re.IGNORECASE)
    return re.compile(text)


@dataclass(frozen=True)
class Match:
    """A case whose words stand in a text, and the line in which they do."""

    case: Case
    words: str
    line: str
    score: int
    span: tuple[int, int] = (0, 0)


def search(text: str) -> list[Match]:
    """The cases whose words stand in a text, the most telling first.

    >>> [match.case.id for match in search("unable to load\\ncusparse. is it installed?")]
    ['C13']
    """
    text = re.sub(r"\x1b\[[\d;]*m", "", text[-400_000:])  # colors
    return _search(text, False) or _search(text[-100_000:], True)


def _search(text: str, loose: bool) -> list[Match]:
    found = []
    for one in all_cases().values():
        hits = [(s, pattern(s, loose).search(text)) for s in one.signatures]
        hits = [(s, hit) for s, hit in hits if hit]
        if hits:
            words, hit = max(hits, key=lambda item: len(item[0]))
            begin = text.rfind("\n", 0, hit.start()) + 1
            end = text.find("\n", hit.end())
            line = text[begin : end if end >= 0 else None].strip()[:200]
            score = len(words) + 20 * (len(hits) - 1)
            found.append(Match(one, words, line, score, hit.span()))
    ranked = sorted(found, key=lambda match: (-match.score, match.case.id))
    return _causes_first(ranked)


def _causes_first(ranked: list[Match]) -> list[Match]:
    """In a line such as ``cannot start: no device`` what stands last is the cause.

    >>> text = "Unable to initialize backend 'cuda': FAILED_PRECONDITION: No visible GPU devices."
    >>> [match.case.id for match in search(text)]
    ['C10', 'C52']
    """
    if not ranked:
        return ranked
    first = ranked[0]
    behind = [m for m in ranked if m.line == first.line and m.span[0] >= first.span[1]]
    cause = max(behind, key=lambda match: match.span[0], default=first)
    return [cause, *(match for match in ranked if match is not cause)]

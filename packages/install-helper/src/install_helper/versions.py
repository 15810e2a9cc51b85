"""Versions, bounds and environment markers, as far as wheels of this family use them.

A small reading of PEP 440 and PEP 508: release numbers, pre, post and dev parts, local parts
ignored, and the markers that name platforms, Pythons and extras. Text that is no version is None,
and a comparison with it is unknown, never false.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

_VERSION = re.compile(
    r"\s*v?(?P<release>\d+(?:\.\d+)*)"
    r"(?:[-_.]?(?P<stage>a|b|c|rc|alpha|beta|pre|preview)[-_.]?(?P<stage_number>\d*))?"
    r"(?P<post>[-_.]?post[-_.]?\d*|-\d+)?(?P<dev>[-_.]?dev[-_.]?\d*)?"
    r"(?:\+(?P<local>[\w.-]+))?\s*$",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"\s*(===|==|!=|<=|>=|~=|<|>)\s*([^\s,;]+)\s*$")

Release = tuple[int, ...]


class Version(NamedTuple):
    """One version: `key` orders, `release` are its numbers, `local` is what follows the plus."""

    key: tuple[Release, int, int]
    release: Release
    local: str


@lru_cache(maxsize=4096)
def parse(text: str | None) -> Version | None:
    """The version that a text holds, or None.

    >>> parse("0.4.25+cuda12.cudnn89").local
    'cuda12.cudnn89'
    """
    match = _VERSION.match(text) if text and len(text) < 200 else None
    if match is None:
        return None
    release = tuple(int(part) for part in match["release"].split("."))
    number = int(match["stage_number"] or 0)
    order = 0
    if match["stage"]:
        order = -3 + "abr".find(match["stage"][0].lower().replace("p", "r").replace("c", "r"))
    elif match["dev"]:
        order = -4
    elif match["post"]:
        order, number = 1, int(re.sub(r"\D", "", match["post"]) or 0)
    return Version((_strip(release), order, number), release, match["local"] or "")


def _strip(release: Release) -> Release:
    while len(release) > 1 and release[-1] == 0:
        release = release[:-1]
    return release


def compare(a: str | None, b: str | None) -> int | None:
    """-1, 0 or 1 as `a` is older than, equal to or newer than `b`; None where one is no version.

    >>> compare("0.4.9", "0.4.10"), compare("1.0", "1.0.0"), compare("?", "1")
    (-1, 0, None)
    """
    left, right = parse(a), parse(b)
    if left is None or right is None:
        return None
    return (left.key > right.key) - (left.key < right.key)


def older(a: str | None, b: str | None) -> bool:
    """Whether `a` is known to be older than `b`."""
    return compare(a, b) == -1


def at_least(a: str | None, b: str | None) -> bool:
    """Whether `a` is known to be `b` or newer."""
    return compare(a, b) in (0, 1)


def numbers(text: str | None, count: int | None = None) -> Release | None:
    """The first numbers of a version, as many as asked for.

    >>> numbers("12.4.127", 2)
    (12, 4)
    """
    version = parse(text)
    if version is None:
        return None
    if count is None:
        return version.release
    return (version.release + (0,) * count)[:count]


def same_release(a: str | None, b: str | None) -> bool | None:
    """Whether two versions have the same numbers, whatever follows them; None where unknown."""
    left, right = parse(a), parse(b)
    return None if left is None or right is None else _strip(left.release) == _strip(right.release)


def satisfies(version: str | None, bounds: str) -> bool | None:
    """Whether a version meets bounds such as ``>=9.1,<10``; None where either is not understood.

    >>> satisfies("9.0.0.312", "<10.0,>=9.1"), satisfies("0.12.0.1", "==0.12.*")
    (False, True)
    """
    known = True
    for clause in bounds.strip("() ").split(","):
        if clause.strip() in ("", "*"):
            continue
        answer = _clause(version, clause)
        if answer is False:
            return False
        known = known and answer is not None
    return True if known and parse(version) else None


def _clause(version: str | None, clause: str) -> bool | None:
    match = _CLAUSE.match(clause)
    ours = parse(version)
    if match is None or ours is None:
        return None
    operator, bound = match[1], match[2]
    if bound.endswith(".*"):
        wanted = numbers(bound[:-2])
        equal = wanted is not None and (ours.release + (0,) * len(wanted))[: len(wanted)] == wanted
        return equal if operator == "==" else not equal if operator == "!=" else None
    if operator == "===":
        return version == bound
    order = compare(version, bound)
    if order is None:
        return None
    if operator == "~=":
        prefix = parse(bound).release[:-1]  # type: ignore[union-attr]
        return order >= 0 and ours.release[: len(prefix)] == prefix
    if operator == "==" and parse(bound).local:  # type: ignore[union-attr]
        return order == 0 and ours.local == parse(bound).local  # type: ignore[union-attr]
    return {
        "==": order == 0,
        "!=": order != 0,
        "<": order < 0,
        ">": order > 0,
        "<=": order <= 0,
        ">=": order >= 0,
    }[operator]


class Requirement(NamedTuple):
    """One Requires-Dist line: normalised name, extras, bounds, marker text."""

    name: str
    extras: tuple[str, ...]
    bounds: str
    marker: str


def normalize(name: str) -> str:
    """The form of a distribution's name that indexes compare.

    >>> normalize("ml_dtypes")
    'ml-dtypes'
    """
    return re.sub(r"[-_.]+", "-", name).lower()


_REQUIREMENT = re.compile(
    r"\s*([A-Za-z0-9][\w.-]*)\s*(?:\[([^\]]*)\])?\s*([^;@]*)(?:@[^;]*)?(?:;(.*))?$"
)


def requirement(line: str) -> Requirement | None:
    """Read one requirement, or None where it is none.

    >>> requirement('jaxlib<=0.12,>=0.11.2; extra == "cuda"').bounds
    '<=0.12,>=0.11.2'
    """
    match = _REQUIREMENT.match(line.split(" #")[0]) if len(line) < 2000 else None
    if match is None:
        return None
    extras = tuple(normalize(e.strip()) for e in (match[2] or "").split(",") if e.strip())
    return Requirement(
        normalize(match[1]), extras, match[3].strip().strip("()").strip(), (match[4] or "").strip()
    )


_TOKEN = re.compile(
    r"""\s*(?:(?P<text>'[^']*'|"[^"]*")|(?P<word>[A-Za-z_.]+)|(?P<sign>===|==|!=|<=|>=|~=|<|>|\(|\)))"""
)


def marker_holds(marker: str, environment: Mapping[str, str]) -> bool | None:
    """Whether a marker holds in an environment; None where it is not understood.

    >>> marker_holds('sys_platform == "linux" and extra == "cuda"', {"sys_platform": "linux"})
    False
    """
    if not marker:
        return True
    tokens, position = [], 0
    while position < len(marker.rstrip()):
        match = _TOKEN.match(marker, position)
        if match is None:
            return None
        tokens.append(match.group(match.lastgroup or 0))
        position = match.end()
    try:
        value, rest = _either(tokens, environment)
    except (IndexError, RecursionError):
        return None
    return value if not rest else None


def _either(tokens: list[str], environment: Mapping[str, str]) -> tuple[bool | None, list[str]]:
    value, tokens = _both(tokens, environment)
    while tokens and tokens[0] == "or":
        other, tokens = _both(tokens[1:], environment)
        value = True if value or other else None if value is None or other is None else False
    return value, tokens


def _both(tokens: list[str], environment: Mapping[str, str]) -> tuple[bool | None, list[str]]:
    value, tokens = _atom(tokens, environment)
    while tokens and tokens[0] == "and":
        other, tokens = _atom(tokens[1:], environment)
        known = value is not None and other is not None
        value = False if value is False or other is False else (True if known else None)
    return value, tokens


def _atom(tokens: list[str], environment: Mapping[str, str]) -> tuple[bool | None, list[str]]:
    if tokens[0] == "(":
        value, rest = _either(tokens[1:], environment)
        return value, rest[1:]
    if tokens[0] == "not":
        value, rest = _atom(tokens[1:], environment)
        return (None if value is None else not value), rest
    left, sign, rest = tokens[0], tokens[1], tokens[2:]
    if sign == "not":
        sign, rest = "not in", rest[1:]
    return _test(left, sign, rest[0], environment), rest[1:]


def _test(left: str, sign: str, right: str, environment: Mapping[str, str]) -> bool | None:
    a, b = (_operand(text, environment) for text in (left, right))
    if a is None or b is None:
        return None
    if "extra" in (left, right):
        a, b = normalize(a), normalize(b)
    if sign in ("in", "not in"):
        return (a in b) == (sign == "in")
    if "python" in left and parse(a) and parse(b.replace(".*", "")):
        return _clause(a, f"{sign}{b}")
    return {"==": a == b, "!=": a != b}.get(sign)


def _operand(text: str, environment: Mapping[str, str]) -> str | None:
    if text[0] in "'\"":
        return text[1:-1]
    return environment.get(text, "" if text == "extra" else None)

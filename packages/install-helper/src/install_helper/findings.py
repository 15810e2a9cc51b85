"""What a rule reports: a case, what was seen and where, and the steps that put it right."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from install_helper.cases import LEVELS, case
from install_helper.facts import Facts
from install_helper.reading import Reading


@dataclass(frozen=True)
class Seen:
    """One fact that a finding rests on, and where it was read."""

    text: str
    source: str = ""


@dataclass(frozen=True)
class Step:
    """One thing to do: in words, or a command to type."""

    text: str
    command: str = ""


@dataclass(frozen=True)
class Finding:
    """A problem of this machine. `id` is what ``install-helper explain`` expands."""

    id: str
    slug: str
    level: str
    title: str
    seen: tuple[Seen, ...]
    why: str
    steps: tuple[Step, ...]
    sure: str


def found(
    id: str, seen: Iterable[Seen], steps: Iterable[Step] = (), *, level: str = "", title: str = ""
) -> Finding:
    """A finding of a case; level and title are the case's own where none is given."""
    about = case(id)
    return Finding(
        id=id,
        slug=about.slug,
        level=level or about.level,
        title=title or about.title,
        seen=tuple(seen),
        why=about.cause,
        steps=tuple(steps) or (Step(about.fix),),
        sure=about.sure,
    )


Check = Callable[[Reading], Iterator[Finding]]


@dataclass(frozen=True)
class Rule:
    """A check, and the cases that explain what it sees better than it does."""

    check: Check
    unless: tuple[str, ...]


RULES: list[Rule] = []


def rule(*, unless: tuple[str, ...] = ()) -> Callable[[Check], Check]:
    """Register a check. Its findings are dropped where one of the cases in `unless` is found."""

    def register(check: Check) -> Check:
        RULES.append(Rule(check, unless))
        return check

    return register


def _apply(one: Rule, reading: Reading) -> list[Finding]:
    """What a rule finds. A fault in one rule is told, and does not hide what the others find."""
    try:
        return list(one.check(reading))
    except Exception as error:
        text = f"the check {one.check.__name__} failed with {type(error).__name__}"
        return [found("C68", [Seen(text, "install-helper")])]


def diagnose(facts: Facts, framework: str | None = None) -> list[Finding]:
    """Apply every rule to the facts; the gravest findings come first.

    A rule whose facts are unknown reports nothing.
    """
    import install_helper.rules  # noqa: F401  registers the rules

    reading = Reading(facts, framework)
    pairs = [(item, one) for one in RULES for item in _apply(one, reading)]
    ids = {item.id for item, _ in pairs}
    kept = [item for item, one in pairs if not ids.intersection(one.unless) - {item.id}]
    unique = {(item.id, item.seen): item for item in kept}
    return sorted(unique.values(), key=lambda item: (LEVELS.index(item.level), item.id))

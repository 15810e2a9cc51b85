"""A case in full, found by its id or by words of a message or a log."""

from __future__ import annotations

import re

from install_helper import matrix
from install_helper.cases import Case, Match, all_cases, search
from install_helper.render import paint, wrap


def case_text(case: Case, color: bool = False) -> str:
    """Everything known of a case."""
    lines = [paint(f"{case.id} {case.title} ({case.level})", "bold", color)]
    for heading, text in (
        ("looks like", case.symptom),
        ("found by", case.facts),
        ("cause", case.cause),
        ("fix", case.fix),
        ("seen in", ", ".join(case.links)),
        ("how sure", case.sure),
    ):
        if text:
            lines.append(wrap(text, f"  {heading:<11}"))
    return "\n".join(lines)


def by_id(text: str) -> Case | None:
    """The case of an id or a slug."""
    word = text.strip()
    known = all_cases()
    return known.get(word.upper()) or next((c for c in known.values() if c.slug == word), None)


def explain(text: str, color: bool = False) -> tuple[str, bool]:
    """The explanation of an id or of pasted words, and whether there is one.

    >>> explain("C43")[1], explain("it does not work")[1]
    (True, False)
    """
    known = by_id(text)
    if known:
        return case_text(known, color), True
    matches = search(text)
    if re.match(r"\s*[cC]\d{1,3}\s*$", text):
        last = list(all_cases())[-1]
        return f"There is no case {text.strip()}; there are C01 to {last}.", False
    if not matches:
        return (
            wrap(
                "No known case has these words. Paste the whole log with 'install-helper explain "
                "- < LOG', or run 'install-helper doctor' on the machine itself."
            ),
            False,
        )
    lines = [wrap(f"{matches[0].line}", "in your text: ")]
    number = _numbers(text)
    lines += [wrap(number, "it says: ")] if number else []
    lines += ["", case_text(matches[0].case, color)]
    others = matches[1:6]
    if others:
        lines += ["", "Also possible:"]
        lines += [wrap(_other(match), "  ", "      ") for match in others]
    return "\n".join(lines), True


def _other(match: Match) -> str:
    return f"{match.case.id} {match.case.title} (words: {match.words})"


def _numbers(text: str) -> str:
    """The versions that a message writes as whole numbers, in the usual form."""
    pair = re.search(
        r"Found (cu\w+|CUDA\w*) version (\d{4,6}), but JAX was built against "
        r"version (\d{4,6})",
        text,
    )
    if pair:
        return f"{pair[1]} {readable(pair[1], pair[2])} found, {readable(pair[1], pair[3])} wanted"
    ptx = re.search(r"Unsupported \.version ([\d.]+); current version is '([\d.]+)'", text)
    if ptx:
        names = {isa: cuda for cuda, isa in matrix.table()["ptxas"]["ptx_isa_of_cuda"].items()}
        if ptx[1] in names and ptx[2] in names:
            return f"CUDA {names[ptx[1]]} is written, ptxas is of CUDA {names[ptx[2]]}"
    return ""


def readable(name: str, number: str) -> str:
    """A library's whole number as a version.

    >>> readable("cuDNN", "8907"), readable("cuDNN", "91002"), readable("CUDA", "12020")
    ('8.9.7', '9.10.2', '12.2')
    """
    value = int(number)
    if name.lower() == "cudnn":
        scale = 1000 if value < 10000 else 10000
        return f"{value // scale}.{value % scale // 100}.{value % 100}"
    if name.upper() == "CUDA":
        return f"{value // 1000}.{value % 1000 // 10}"
    return f"{value // 10000}.{value % 10000 // 100}.{value % 100}"

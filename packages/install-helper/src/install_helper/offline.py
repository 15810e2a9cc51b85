"""A plan from a folder of wheels alone: what the folder holds, and what it lacks."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from install_helper.commands import quote
from install_helper.plan import Plan, with_command
from install_helper.probes.packages import INTERESTING
from install_helper.reading import Reading
from install_helper.versions import (
    Requirement,
    marker_holds,
    normalize,
    parse,
    requirement,
    satisfies,
)

MACHINES = {"linux": "linux", "macos": "macosx", "windows": "win"}


@dataclass(frozen=True)
class Wheel:
    """One wheel that this Python on this platform takes."""

    name: str
    version: str
    path: str

    def requires(self) -> list[str]:
        """The requirements in its metadata, none where it cannot be read."""
        try:
            with zipfile.ZipFile(self.path) as archive:
                names = archive.namelist()
                member = next(n for n in names if n.endswith(".dist-info/METADATA"))
                text = archive.read(member).decode("utf-8", "replace")
        except (OSError, ValueError, StopIteration, zipfile.BadZipFile):
            return []
        return re.findall(r"^Requires-Dist:\s*(.+?)\s*$", text.partition("\n\n")[0], re.M)


def wheels(folder: str, python: str, platform: str) -> list[Wheel]:
    """The wheels in a folder that fit, newest first. Raises OSError where it cannot be read."""
    found = []
    for file in os.listdir(folder):
        parts = file[: -len(".whl")].split("-") if file.endswith(".whl") else []
        if len(parts) in (5, 6) and _fits(parts[-3:], python, platform):
            found.append(Wheel(normalize(parts[0]), parts[1], os.path.join(folder, file)))
    parsed = [
        (version.key, wheel) for wheel in found for version in [parse(wheel.version)] if version
    ]
    return [wheel for _, wheel in sorted(parsed, key=lambda pair: pair[0], reverse=True)]


def _fits(tags: list[str], python: str, platform: str) -> bool:
    pythons, abis, places = (tag.split(".") for tag in tags)
    system, _, machine = platform.partition("_")
    place = any(
        p == "any"
        or (MACHINES[system] in p and (machine in p or "universal2" in p or p == "win_amd64"))
        for p in places
    )
    number = "cp" + python.replace(".", "")
    any_python = "py3" in pythons or "abi3" in abis
    return place and (any_python or number in pythons)


def offline(reading: Reading, plan: Plan, folder: str) -> Plan:
    """The plan from a folder of wheels alone.

    Raises OSError where the folder cannot be read, and LookupError where it lacks wheels.
    """
    have = wheels(folder, plan.python or "", reading.platform or "linux_x86_64")
    missing = dict.fromkeys(_missing(reading, plan, have))
    lacks = [name for name in missing if INTERESTING.match(re.split(r"[^\w.-]", name)[0])]
    if lacks:
        pins = " ".join(["--only-binary :all:", *map(quote, plan.requirements)])
        raise LookupError(
            f"{folder} lacks wheels for {', '.join(lacks[:6])}; where there is a network: "
            f"pip download -d {quote(folder)} --python-version {plan.python} {pins}"
        )
    others = [name for name in missing if name not in lacks]
    why = f"{', '.join(others[:8])} must be installed already: no wheel is in the folder"
    made = replace(plan, options=("--no-index", "--find-links", folder))
    return with_command(reading, replace(made, reasons=(*made.reasons, *([why] if others else ()))))


def _missing(reading: Reading, plan: Plan, have: list[Wheel]) -> Iterator[str]:
    """The requirements that no wheel meets, followed through the metadata of those that do."""
    environment = reading.environment(plan.python)
    ours = plan.python == reading.python
    queue = [pin for pin in map(requirement, (*plan.requirements, *plan.resolved)) if pin]
    done = set()
    while queue:
        pin = queue.pop(0)
        if pin in done or len(done) > 500:
            continue
        done.add(pin)
        wheel = next(
            (
                w
                for w in have
                if w.name == pin.name and satisfies(w.version, pin.bounds) is not False
            ),
            None,
        )
        if wheel:
            queue += _needed(wheel, pin, environment)
        elif not (ours and satisfies(reading.version(pin.name), pin.bounds)):
            yield f"{pin.name}{pin.bounds}"


def _needed(wheel: Wheel, pin: Requirement, environment: Mapping[str, str]) -> list[Requirement]:
    asked = [r for r in map(requirement, wheel.requires()) if r]
    extras = [{**environment, "extra": extra} for extra in (*pin.extras, "")]
    return [r for r in asked if any(marker_holds(r.marker, extra) for extra in extras)]

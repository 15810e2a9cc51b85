"""Shared libraries: which copy a loader takes, and whether it is new enough."""

from __future__ import annotations

import re
from collections.abc import Iterator

from install_helper import commands
from install_helper.facts import Library
from install_helper.findings import Finding, Seen, Step, found, rule
from install_helper.reading import SHARED_WHEELS, Reading
from install_helper.versions import (
    at_least,
    marker_holds,
    numbers,
    older,
    requirement,
    satisfies,
)

STEMS = (
    "libnvJitLink",
    "libcusparse",
    "libcusolver",
    "libcublas",
    "libcublasLt",
    "libcudart",
    "libcufft",
    "libcupti",
    "libnvrtc",
    "libcudnn",
    "libnccl",
    "libnvshmem_host",
)
LOADER_FIRST_UNTIL = "0.4.19"


def _pairs(reading: Reading) -> Iterator[tuple[Library, Library]]:
    """Each library of a wheel with the copy of one name on LD_LIBRARY_PATH."""
    for stem in STEMS:
        for ours in reading.libraries(stem, "wheel"):
            for theirs in reading.libraries(stem, "LD_LIBRARY_PATH"):
                if theirs.name == ours.name:
                    yield ours, theirs
                    break


def _loader_steps(reading: Reading) -> list[Step]:
    return [
        Step("Unset it for this process", commands.unset(reading, "LD_LIBRARY_PATH")),
        Step("or take the CUDA directories out of it where it is set"),
    ]


@rule()
def loader_path_hides_wheels(reading: Reading) -> Iterator[Finding]:
    """LD_LIBRARY_PATH leads to an older copy of a library that a wheel's library needs."""
    old = older(reading.release("jaxlib"), LOADER_FIRST_UNTIL)
    if not reading.has_cuda_build or not reading.env("LD_LIBRARY_PATH"):
        return
    for ours, theirs in _pairs(reading):
        # The wheels of one minor release go together; before, any difference mattered.
        count = 3 if old else 2
        own, other = numbers(ours.version, count), numbers(theirs.version, count)
        if own is None or other is None or own == other or (not old and other > own):
            continue
        yield found(
            "C14" if old else "C13",
            [
                Seen(f"{theirs.name} {theirs.version} through LD_LIBRARY_PATH", theirs.path),
                Seen(f"the wheel's is {ours.version}", ours.path),
            ],
            _loader_steps(reading)
            + ([Step("or upgrade: from 0.4.19 on the wheels come first")] if old else []),
        )
        return


def chosen_cudnn(reading: Reading) -> tuple[str | None, str, str]:
    """The version, path and kind of the cuDNN that would be loaded."""
    name = f"nvidia-cudnn-cu{reading.cuda_major}"
    wheel = reading.installed.get(name)
    loader = [b for b in reading.reachable("libcudnn") if b.version]
    first_loader = older(reading.release("jaxlib"), LOADER_FIRST_UNTIL)
    if wheel and not (first_loader and loader):
        return wheel.version, wheel.location, name
    if "cudnn" in reading.conda and not loader:
        return reading.conda["cudnn"].version, reading.conda["cudnn"].location, "conda"
    if loader:
        return loader[0].version, loader[0].path, "loader"
    return None, "", ""


def _cudnn_least(reading: Reading) -> str | None:
    bound = reading.bounds.get(f"nvidia-cudnn-cu{reading.cuda_major}", "")
    match = re.search(r">=\s*([\d.]+)", bound)
    if match:
        return match[1]
    return reading.build["cudnn_min"] if reading.build else None


@rule(unless=("C14",))
def cudnn_too_old(reading: Reading) -> Iterator[Finding]:
    """The cuDNN that would be loaded is older than the build wants."""
    version, path, kind = chosen_cudnn(reading)
    least = _cudnn_least(reading)
    ours, bound = numbers(version, 2), numbers(least, 2)
    if not reading.has_cuda_build or ours is None or bound is None:
        return
    if reading.is_local_install and not reading.has_own_cuda:
        return  # C23 tells: the whole CUDA is another one
    if reading.build and reading.build.get("cudnn_major") == 7 and ours[0] == 7:
        return
    if ours >= bound and ours[0] == bound[0]:
        if kind.startswith("nvidia") and numbers(version, 3) == (9, 10, 0):
            yield _cudnn(reading, "C16", version, path, kind, "9.10.1")
        return
    if not _pinned_by_torch(reading, kind):
        strict = at_least(reading.release("jaxlib"), "0.4.17") and older(
            reading.release("jaxlib"), "0.4.31"
        )
        yield _cudnn(reading, "C16" if strict else "C15", version, path, kind, least)


def _cudnn(
    reading: Reading, id: str, version: str | None, path: str, kind: str, least: str | None
) -> Finding:
    name = f"nvidia-cudnn-cu{reading.cuda_major}"
    ceiling = (numbers(least, 1) or (9,))[0] + 1
    line = commands.install(reading, f"{name}>={least},<{ceiling}", options=("--upgrade",))
    steps = [Step("Bring cuDNN up to what the build wants", line)]
    if kind == "loader":
        steps = [Step("Install that cuDNN, or take the older one off the loader's path")]
    if kind == "conda":
        steps = [Step("Bring cuDNN up", commands.conda_install(reading, f"cudnn>={least}"))]
    return found(
        id,
        [Seen(f"cuDNN {version} would be loaded", path), Seen(f"the build wants {least} or newer")],
        steps,
    )


def _pinned_by_torch(reading: Reading, name: str) -> bool:
    return any(name == pin for pin, _, _ in torch_pins(reading))


def torch_pins(reading: Reading) -> list[tuple[str, str, str]]:
    """The NVIDIA wheels that torch or tensorflow pins: name, bounds, whose.

    Those of an extra count for nothing: the metadata do not tell whether it was asked for.
    """
    found_pins, environment = [], reading.environment()
    for owner in ("torch", "tensorflow"):
        item = reading.installed.get(owner)
        for line in item.requires if item else ():
            asked = requirement(line)
            ours = asked and asked.name.startswith("nvidia-") and asked.bounds
            if asked and ours and marker_holds(asked.marker, environment):
                found_pins.append((asked.name, asked.bounds, owner))
    return found_pins


@rule()
def torch_and_jax_disagree(reading: Reading) -> Iterator[Finding]:
    """torch pins NVIDIA wheels that the plugin's bounds exclude, or the installed ones break it."""
    if not reading.plugins:
        return
    seen: list[Seen] = []
    owner = "torch"
    for name, pin, owner in torch_pins(reading):
        item, bound = reading.installed.get(name), reading.bounds.get(name)
        if item is None:
            continue
        for who, bounds in ((owner, pin), (f"jax-cuda{reading.cuda_major}-plugin", bound)):
            if bounds and satisfies(item.version, bounds) is False:
                seen.append(Seen(f"{name} {item.version}, and {who} wants {bounds}", item.location))
    if seen:
        extra = f"{reading.framework}[cuda{reading.cuda_major}]"
        line = commands.install(reading, owner, extra, options=("--upgrade",))
        yield found(
            "C17",
            seen[:4],
            [
                Step("Install both in one command, so that the resolver sees all bounds", line),
                Step("Where none fits, use two environments"),
            ],
        )


@rule(unless=("C17",))
def first_library_wins(reading: Reading) -> Iterator[Finding]:
    """torch carries another cuDNN of the same name: which one is taken depends on import order."""
    if not reading.has_cuda_build or not (
        reading.installed.get("torch") or reading.installed.get("tensorflow")
    ):
        return
    ours = reading.libraries("libcudnn", "wheel")
    for theirs in reading.libraries("libcudnn", "package"):
        for own in ours:
            same = own.name == theirs.name
            a, b = numbers(own.version, 3), numbers(theirs.version, 3)
            if same and a and b and a != b:
                yield found(
                    "C20",
                    [
                        Seen(f"{own.name} {own.version}", own.path),
                        Seen(f"{theirs.name} {theirs.version}", theirs.path),
                    ],
                    [Step("Import jax before the other library, or make the versions agree")],
                )
                return


@rule(unless=("C08",))
def cudnn_off_the_path(reading: Reading) -> Iterator[Finding]:
    """A self-installed cuDNN that the loader does not find, or one for another CUDA."""
    if not reading.is_local_install or reading.cuda_major is None:
        return
    for name, version in reading.facts.cuda.flavours:
        match = re.search(r"\+cuda(\d+)", version)
        if match and int(match[1]) != reading.cuda_major:
            yield found(
                "C24",
                [
                    Seen(f"{name} {version} is for CUDA {match[1]}", "/var/lib/dpkg/status"),
                    Seen(f"the build is for CUDA {reading.cuda_major}"),
                ],
                [
                    Step(
                        "Install cuDNN for the right CUDA, or let pip bring the libraries",
                        commands.install(reading, f"{reading.framework}[cuda{reading.cuda_major}]"),
                    )
                ],
            )
            return
    hidden = reading.libraries("libcudnn", "toolkit", "other")
    if hidden and not reading.reachable("libcudnn"):
        folder = hidden[0].path.rpartition("/")[0]
        yield found(
            "C24",
            [Seen("libcudnn is there, and the loader does not search its directory", folder)],
            [
                Step(
                    "Tell the loader",
                    f"echo {commands.quote(folder)} | sudo tee /etc/ld.so.conf.d/cuda.conf "
                    "&& sudo ldconfig",
                )
            ],
        )


@rule()
def shared_wheel_files(reading: Reading) -> Iterator[Finding]:
    """Wheels of CUDA 12 and 13 that own the same files, or one left with files gone."""
    for stem in SHARED_WHEELS:
        pair = [reading.installed.get(f"nvidia-{stem}-cu{major}") for major in (12, 13)]
        present = [item for item in pair if item]
        gone = [item for item in present if item.missing]
        if len(present) == 2 or gone:
            keep = f"nvidia-{stem}-cu{reading.cuda_major or 12}"
            version = reading.version(keep)
            keep += f"=={version}" if version else ""
            seen = [Seen(f"{item.name} {item.version}", item.location) for item in present]
            seen += [
                Seen(f"{g.name} lists {g.missing[0]}, which is gone", g.location) for g in gone
            ]
            steps = [
                Step("Remove both", commands.uninstall(reading, *(i.name for i in present))),
                Step("then unpack the wanted one again", commands.reinstall(reading, keep)),
            ]
            yield found("C18", seen, steps, level="error" if gone else "warn")

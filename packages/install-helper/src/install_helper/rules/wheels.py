"""NVIDIA wheels: are they there, whole, and within the plugin's bounds."""

from __future__ import annotations

import re
from collections.abc import Iterator

from install_helper import commands
from install_helper.findings import Finding, Seen, Step, found, rule
from install_helper.reading import SHARED_WHEELS, Reading
from install_helper.rules.libraries import torch_pins
from install_helper.versions import at_least, marker_holds, numbers, older, requirement, satisfies

PRE_TURING = "7.5"
SUFFIXED = re.compile(r"nvidia-(?!cudnn|nccl|nvshmem)[a-z-]+-cu13$")
MISSING = "A package that an installed one needs is missing"
HALVES = re.compile(r"jax-cuda(\d+)-(plugin|pjrt)$")


def again(reading: Reading, text: str = "Install the full extra again") -> Step:
    """The command that brings all NVIDIA wheels of the installed plugin."""
    plugin = reading.plugins.get(reading.cuda_major or 0)
    name = f"{plugin.name}[with-cuda]=={plugin.version}" if plugin else "jax[cuda12]"
    if plugin and older(plugin.version, "0.5.3"):
        name = name.replace("with-cuda", "with_cuda")
    return Step(text, commands.install(reading, name, options=("--upgrade",)))


@rule(unless=("C23", "C24", "C32", "C34"))
def some_wheels_missing(reading: Reading) -> Iterator[Finding]:
    """The plugin is there with some of its NVIDIA wheels, and others are found nowhere."""
    if not reading.wheels or not reading.plugins or reading.conda_cuda:
        return
    missing = [
        name
        for name in reading.bounds
        if name not in reading.installed
        and "nvcc" not in name
        and "nvvm" not in name
        and not _elsewhere(reading, name)
    ]
    if missing:
        yield found(
            "C02",
            [
                Seen(f"{name} is not installed, and no copy is on the loader's path", "sys.path")
                for name in missing[:4]
            ],
            [again(reading)],
        )


def _elsewhere(reading: Reading, wheel: str) -> bool:
    """Whether the loader finds what a missing wheel would bring."""
    from install_helper import matrix

    layout = matrix.table()["nvidia_wheel_layout"]
    row = layout["cu12"].get(wheel) or layout["cu13"].get(wheel) or {}
    sonames = row.get("sonames", ())
    reached = {b.name for b in reading.facts.cuda.libraries if b.source != "toolkit"}
    return bool(sonames) and all(name in reached for name in sonames)


@rule()
def half_a_plugin(reading: Reading) -> Iterator[Finding]:
    """A plugin without its pjrt package, or the other way round."""
    names = {(int(m[1]), m[2]) for m in map(HALVES.match, reading.installed) if m}
    for major, kind in sorted(names):
        other = "pjrt" if kind == "plugin" else "plugin"
        item = reading.installed[f"jax-cuda{major}-{kind}"]
        if (major, other) not in names and reading.jaxlib and not reading.local_label:
            line = commands.install(reading, f"jax-cuda{major}-plugin[with-cuda]=={item.version}")
            yield found(
                "C23",
                [Seen(f"{item.name} {item.version} without its {other} package", item.location)],
                [Step("Install the pair", line)],
            )
            return


@rule()
def no_libraries_at_all(reading: Reading) -> Iterator[Finding]:
    """A plugin without any library to work with, or a wheel whose files are gone."""
    broken = [i for i in reading.installed.values() if i.missing and not _is_shared(i.name)]
    if broken:
        pins = (f"{i.name}=={i.version}" for i in broken[:8])
        yield found(
            "C23",
            [Seen(f"{i.name} lists {i.missing[0]}, which is gone", i.location) for i in broken[:4]],
            [Step("Unpack it again", commands.reinstall(reading, *pins))],
        )
    elif len(reading.plugins) == 1 and reading.is_local_install and not reading.has_own_cuda:
        kit = next(iter(reading.facts.cuda.toolkits), None)
        other = f"the toolkit in {kit.path} is CUDA {kit.version}" if kit else ""
        yield found(
            "C23",
            [
                Seen(f"a plugin for CUDA {reading.cuda_major}, no NVIDIA wheel", "sys.path"),
                Seen(
                    f"and no CUDA {reading.cuda_major} on the loader's path or in a toolkit",
                    "ld.so.conf",
                ),
                *([Seen(other, kit.path)] if kit else []),
            ],
            [again(reading, "Install the plugin with its libraries")],
        )


def _is_shared(name: str) -> bool:
    return any(name.startswith(f"nvidia-{stem}-cu") for stem in SHARED_WHEELS)


@rule(unless=("C23", "C32"))
def wheel_below_bound(reading: Reading) -> Iterator[Finding]:
    """NVIDIA wheels older than the plugin's bounds; cuDNN, ptxas and torch's pins apart."""
    pinned = {name for name, _, _ in torch_pins(reading)}
    low = [
        (item, bound)
        for name, bound in reading.bounds.items()
        for item in [reading.installed.get(name)]
        if item
        and name not in pinned
        and satisfies(item.version, bound) is False
        and "cudnn" not in name
        and "nvcc" not in name
        and "nvjitlink" not in name
    ]
    if low:
        yield found(
            "C16",
            [
                Seen(f"{item.name} {item.version}, wanted {bound}", item.location)
                for item, bound in low[:4]
            ],
            [again(reading, "Upgrade the wheels together")],
        )


@rule(unless=("C17", "C23"))
def stale_nvjitlink(reading: Reading) -> Iterator[Finding]:
    """nvJitLink was left behind when the other wheels were upgraded, or lies twice."""
    name = "nvidia-nvjitlink-cu12" if reading.cuda_major == 12 else "nvidia-nvjitlink"
    item = reading.installed.get(name)
    if not reading.plugins or item is None:
        return
    runtime = reading.release(name.replace("nvjitlink", "cuda-runtime"))
    ours, theirs = numbers(item.version, 2), numbers(runtime, 2)
    behind = ours is not None and theirs is not None and ours < theirs
    bound = reading.bounds.get(name, "")
    if behind or satisfies(item.version, bound) is False:
        yield found(
            "C21",
            [
                Seen(f"{name} {item.version}", item.location),
                Seen(f"the CUDA runtime beside it is {runtime}" if behind else f"wanted {bound}"),
            ],
            [again(reading, "Upgrade the wheels together")],
        )
        return
    user = reading.facts.python.user_site
    copies = [d for d in reading.facts.packages.distributions.value or () if d.name == name]
    if user and len({c.version for c in copies}) > 1 and any(c.location == user for c in copies):
        yield found(
            "C21",
            [Seen(f"{name} {c.version}", c.location) for c in copies],
            [Step("Remove the copy of the user's site", f"{commands.uninstall(reading, name)}")],
        )


@rule()
def cudnn_without_old_gpus(reading: Reading) -> Iterator[Finding]:
    """cuDNN 9.11 or later, and a GPU that it holds no code for."""
    name, oldest = "nvidia-cudnn-cu12", reading.oldest_gpu
    item = reading.installed.get(name)
    if item and oldest and older(oldest, PRE_TURING) and at_least(item.version, "9.11"):
        if reading.cuda_major not in (None, 12):
            return
        yield found(
            "C22",
            [
                Seen(f"compute capability {oldest}", reading.facts.nvidia.gpus.source),
                Seen(f"{name} {item.version}", item.location),
            ],
            [Step("Hold cuDNN below 9.11", commands.install(reading, f"{name}==9.10.2.21"))],
        )


@rule()
def suffixed_names(reading: Reading) -> Iterator[Finding]:
    """Names of CUDA 13 wheels that are placeholders."""
    seen = [
        Seen(f"{item.name} is a placeholder", item.location)
        for item in reading.installed.values()
        if SUFFIXED.match(item.name)
    ]
    names = [text.split(" ")[0] for text, _ in reading.facts.packages.wanted]
    for text, source in reading.facts.packages.wanted:
        if SUFFIXED.match(re.split(r"[=<>!~]", text)[0]):
            seen.append(Seen(f"{text} is asked for", source))
    if seen or any(SUFFIXED.match(name) for name in names):
        bad = [s.text.split(" ")[0] for s in seen]
        right = [re.split(r"[=<>!~]", name)[0].replace("-cu13", "") for name in bad]
        yield found(
            "C19",
            seen[:4],
            [Step("Use the names without suffix", commands.install(reading, *sorted(set(right))))],
        )


@rule(
    unless=(
        "C02",
        "C15",
        "C16",
        "C17",
        "C21",
        "C22",
        "C23",
        "C25",
        "C30",
        "C31",
        "C32",
        "C33",
        "C34",
        "C35",
        "C49",
        "C53",
        "C59",
        "C64",
        "C67",
    )
)
def requirement_not_met(reading: Reading) -> Iterator[Finding]:
    """Any installed package of the family whose own requirements what is installed breaks."""
    environment = reading.environment()
    seen = []
    for item in reading.installed.values():
        if not re.match(r"(jax.*|covector.*|ml-dtypes)$", item.name):
            continue
        for line in item.requires:
            asked = requirement(line)
            other = reading.installed.get(asked.name) if asked else None
            if asked is None or not marker_holds(asked.marker, environment):
                continue
            if other is None:
                if _is_missing(reading, asked.name):
                    text = f"{item.name} {item.version} needs {asked.name}, which is not there"
                    seen.append((Seen(text, item.location), asked))
                continue
            if satisfies(other.version, asked.bounds) is False:
                text = f"{item.name} {item.version} wants {asked.name}{asked.bounds}"
                seen.append((Seen(f"{text}, installed is {other.version}", other.location), asked))
    if seen:
        names = sorted({f"{asked.name}{asked.bounds}" for _, asked in seen})
        yield found(
            "C58",
            [s for s, _ in seen[:4]],
            [Step("Bring them together", commands.install(reading, *names[:4]))],
            title="" if any("wants" in s.text for s, _ in seen) else MISSING,
        )


def _is_missing(reading: Reading, name: str) -> bool:
    """Whether a package is known not to be there: only of some are the records read."""
    readable = not reading.facts.packages.unreadable and not reading.facts.python.conda
    return name in ("numpy", "scipy", "ml-dtypes") and readable

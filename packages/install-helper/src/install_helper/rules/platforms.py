"""Platforms and processors that no wheel serves, and the environment itself."""

from __future__ import annotations

from collections.abc import Iterator

from install_helper import commands, matrix
from install_helper.findings import Finding, Seen, Step, found, rule
from install_helper.reading import Reading
from install_helper.versions import at_least, numbers, older


@rule(unless=("C40",))
def no_avx(reading: Reading) -> Iterator[Finding]:
    """An x86 processor, or a virtual machine, without AVX."""
    flags = reading.facts.system.cpu_flags
    x86 = reading.machine in ("x86_64", "AMD64")
    if not flags.is_known or not x86 or "avx" in (flags.value or ()) or len(flags.value or ()) < 5:
        return
    if reading.jaxlib and older(reading.jaxlib, "0.1.62"):
        return
    steps = [Step("Use another machine, or build jaxlib from source for this processor")]
    if "hypervisor" in (flags.value or ()):
        steps = [
            Step(
                "This is a virtual machine: give it the host's processor model "
                "(-cpu host in QEMU, host-passthrough in libvirt)"
            )
        ]
    yield found("C39", [Seen("no avx among the processor's features", flags.source)], steps)


@rule()
def rosetta(reading: Reading) -> Iterator[Finding]:
    """An x86 Python on Apple silicon."""
    flag = reading.facts.system.translated
    if reading.system == "Darwin" and flag.value:
        yield found(
            "C40",
            [Seen("this x86_64 Python runs under Rosetta on Apple silicon", flag.source)],
            [
                Step(
                    "Make the environment again with an arm64 Python",
                    "uv venv --python cpython-3.13-macos-aarch64"
                    if commands.installer(reading) == "uv"
                    else "",
                )
            ],
        )


@rule(unless=("C40",))
def intel_mac(reading: Reading) -> Iterator[Finding]:
    """An Intel Mac, for which wheels ended with 0.4.38."""
    if reading.system != "Darwin" or reading.machine != "x86_64":
        return
    jax = reading.release("jax")
    held = at_least("0.4.38", reading.release("jaxlib")) and (not jax or at_least("0.4.38", jax))
    if not held:
        yield found(
            "C41",
            [
                Seen("macOS on x86_64", "platform.machine"),
                Seen(f"jax {jax or 'none'}, jaxlib {reading.jaxlib or 'none'}"),
            ],
            [
                Step(
                    "Hold both at the last release, with Python 3.10 to 3.13",
                    commands.install(reading, "jax==0.4.38", "jaxlib==0.4.38"),
                )
            ],
        )


@rule()
def windows(reading: Reading) -> Iterator[Finding]:
    """Native Windows with a GPU build, on ARM, or with a 32-bit Python."""
    if reading.system != "Windows":
        return
    bits, wsl = reading.facts.python.bits.value, Step("Use WSL2 for the GPU", "wsl --install")
    if reading.has_cuda_build:
        yield found(
            "C42",
            [
                Seen("native Windows", "platform.system"),
                Seen(f"a CUDA build for CUDA {reading.cuda_major}", "sys.path"),
            ],
            [wsl],
        )
    elif bits == 32 or (reading.machine or "").upper() == "ARM64":
        what = "a 32-bit Python" if bits == 32 else "Windows on ARM"
        yield found(
            "C42",
            [Seen(f"{what}: no wheel exists for it", "platform.machine")],
            [Step("Install a 64-bit x86 Python")],
        )
    elif reading.facts.nvidia.smi.value == "fine":
        yield found(
            "C42",
            [
                Seen(
                    "an NVIDIA GPU on native Windows: jaxlib has CPU builds only here",
                    reading.facts.nvidia.smi.source,
                )
            ],
            [wsl],
            level="info",
        )


@rule(unless=("C39", "C40", "C41", "C42", "C43", "C44"))
def no_wheel_for_platform(reading: Reading) -> Iterator[Finding]:
    """A system or an architecture that no wheel is built for, or a 32-bit Python."""
    bits, machine = reading.facts.python.bits.value, reading.machine
    if reading.jaxlib or not (reading.system and machine) or reading.python is None:
        return
    if reading.platform is None or bits == 32:
        what = f"{reading.system} on {machine}" + (", a 32-bit Python" if bits == 32 else "")
        steps = [Step("Use a 64-bit Python" if reading.platform else "Use another machine")]
        yield found("C69", [Seen(what, reading.facts.system.machine.source)], steps)


@rule(unless=("C59",))
def built_for_another(reading: Reading) -> Iterator[Finding]:
    """A compiled package whose wheel is of another Python or architecture."""
    seen = []
    for item in reading.installed.values():
        if item.tags and not any(_runs_here(reading, tag) for tag in item.tags):
            seen.append((item, Seen(f"{item.name} {item.version}: {item.tags[0]}", item.location)))
    if not seen:
        return
    leaks = [p for p in (reading.env("PYTHONPATH") or "").split(":") if p]
    if any(item.location.startswith(tuple(leaks)) for item, _ in seen) if leaks else False:
        steps = [Step("Take it off the module path", commands.unset(reading, "PYTHONPATH"))]
    else:
        pins = (f"{item.name}=={item.version}" for item, _ in seen[:4])
        steps = [
            Step("Unpack them again for this Python", commands.reinstall(reading, *pins)),
            Step("or make the environment anew"),
        ]
    ours = Seen(f"this is Python {reading.python} on {reading.machine}", "sys.version")
    yield found("C70", [*(s for _, s in seen[:4]), ours], steps)


def _runs_here(reading: Reading, tag: str) -> bool:
    """Whether a wheel's tag allows this Python and machine; true where that is not known."""
    python, abi, place = (*tag.split("-", 2), "", "")[:3]
    number, machine = (reading.python or "").replace(".", ""), (reading.machine or "").lower()
    if not number or not machine:
        return True
    if python.startswith("cp") and not abi.startswith("abi3"):
        free = reading.facts.python.free_threaded.value
        if python != f"cp{number}" or (abi.startswith("cp") and abi.endswith("t") != bool(free)):
            return False
    known = ("x86_64", "aarch64", "arm64", "amd64", "i686", "ppc64le", "armv7l", "riscv64")
    names = {name for name in known if name in place}
    same = {"amd64": "x86_64", "arm64": "aarch64"}
    return not names or same.get(machine, machine) in {same.get(name, name) for name in names}


@rule()
def musl(reading: Reading) -> Iterator[Finding]:
    """A musl system."""
    if reading.is_musl:
        yield found(
            "C43",
            [Seen("the C library is musl", reading.facts.system.libc.source)],
            [Step("Use an image with glibc", "docker run python:3.13-slim")],
        )


@rule()
def old_glibc(reading: Reading) -> Iterator[Finding]:
    """A glibc older than the wheels ask for."""
    glibc, platform = reading.glibc, reading.platform
    if glibc is None or platform is None:
        return
    source = reading.facts.system.libc.source
    if reading.facts.tpu.chips and older(glibc, "2.31"):
        yield found(
            "C44",
            [Seen(f"glibc {glibc}, libtpu needs 2.31", source)],
            [Step("Use a newer distribution or container")],
        )
        return
    row = reading.jaxlib_row if reading.jaxlib else matrix.table()["jaxlibs"][-1]
    least = matrix.glibc_least(row, platform) if row else None
    if older(glibc, least):
        rows = matrix.jaxlibs_for(reading.python or "", platform, glibc)
        steps = [Step("Use a newer distribution or container")]
        if rows:
            last = rows[-1]["jaxlib"]
            steps.append(
                Step(
                    f"or the last release for this glibc, {last}",
                    commands.install(reading, f"jax=={last}", f"jaxlib=={last}"),
                )
            )
        name = f"jaxlib {reading.jaxlib or matrix.newest_jaxlib()}"
        yield found("C44", [Seen(f"glibc {glibc}", source), Seen(f"{name} needs {least}")], steps)


@rule()
def installed_twice(reading: Reading) -> Iterator[Finding]:
    """Two metadata directories of one distribution in one place."""
    seen: dict[tuple[str, str], list[str]] = {}
    for item in reading.facts.packages.distributions.value or ():
        if item.name.startswith(("jax", "covector", "nvidia-", "numpy", "libtpu")):
            seen.setdefault((item.name, item.location), []).append(item.version or "?")
    for (name, location), versions in seen.items():
        if len(set(versions)) > 1:
            newest = max(versions, key=lambda v: numbers(v) or ())
            yield found(
                "C59",
                [Seen(f"{name} {' and '.join(sorted(versions))}", location)],
                [
                    Step("Remove it until none is left", commands.uninstall(reading, name)),
                    Step("then install it again", commands.install(reading, f"{name}=={newest}")),
                ],
            )


@rule()
def hidden_by_user_site(reading: Reading) -> Iterator[Finding]:
    """A copy in the user's site comes before the environment's, and has another version."""
    # Over the system's own packages the user's are meant to come first.
    inside = reading.facts.python.environment != "system"
    user = reading.facts.python.user_site if inside else None
    copies = reading.facts.packages.distributions.value or ()
    for name in ("jaxlib", "jax", "covector-core", "numpy", "ml-dtypes"):
        mine = [d for d in copies if d.name == name]
        if not user or len(mine) < 2 or mine[0].location != user:
            continue
        other = next((d for d in mine if d.location != user and d.version != mine[0].version), None)
        if other:
            yield found(
                "C59",
                [Seen(f"{name} {d.version}", d.location) for d in (mine[0], other)],
                [
                    Step("Remove the user's copy", commands.uninstall(reading, name)),
                    Step("or leave it out", commands.export(reading, "PYTHONNOUSERSITE", "1")),
                ],
                level="error",
                title="A package in the user's site hides the environment's",
            )
            return


@rule()
def shadowed(reading: Reading) -> Iterator[Finding]:
    """A file of the working directory hides a package."""
    if reading.facts.packages.shadows:
        seen = [
            Seen("this file is imported in the package's place", path)
            for path in reading.facts.packages.shadows
        ]
        yield found("C60", seen, [Step("Rename it")])


@rule()
def other_environment(reading: Reading) -> Iterator[Finding]:
    """The active environment is not the one of this Python."""
    python = reading.facts.python
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        active = reading.env(name)
        if name == "CONDA_PREFIX" and not python.conda:
            continue  # a virtual environment made inside a conda one is ordinary
        if active and active.rstrip("/") != python.prefix.rstrip("/") and reading.jaxlib is None:
            yield found(
                "C65",
                [Seen(f"{name}={active}", "environment"), Seen(f"this Python: {python.prefix}")],
                [
                    Step(
                        "Examine the Python of the active environment",
                        "install-helper doctor --interpreter "
                        + commands.quote(f"{active}/bin/python"),
                    )
                ],
            )
            return


@rule()
def unreadable_path(reading: Reading) -> Iterator[Finding]:
    """A directory of the module path that may not be read."""
    for path in reading.facts.packages.unreadable:
        if path.endswith(("site-packages", "dist-packages")):
            yield found("C66", [Seen("may not be read", path)])
            return

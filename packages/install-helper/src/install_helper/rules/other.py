"""TPU, ROCm, Apple, Jetson, and the choice of a platform."""

from __future__ import annotations

import re
from collections.abc import Iterator

from install_helper import commands, matrix
from install_helper.findings import Finding, Seen, Step, found, rule
from install_helper.plan import Request, solve
from install_helper.reading import Reading
from install_helper.versions import numbers, older, satisfies

BUILTIN = ("cpu", "interpreter", "")


@rule()
def tpu_held(reading: Reading) -> Iterator[Finding]:
    """Another process has the TPU, or a lock file was left."""
    tpu = reading.facts.tpu
    if tpu.holders:
        yield found(
            "C45",
            [Seen(f"process {pid} has the TPU open", f"/proc/{pid}/fd") for pid in tpu.holders[:3]],
            [Step("End that process if it is yours", f"ps -fp {tpu.holders[0]}")],
        )
    elif tpu.lock and (tpu.chips or tpu.nodes):
        yield found(
            "C45",
            [Seen("a lock file, and no process seen to hold the TPU", tpu.lock)],
            [
                Step("Make sure that no process of another user holds it", "sudo lsof /dev/accel0"),
                Step("then remove the stale lock", f"sudo rm {tpu.lock}"),
            ],
        )


@rule(unless=("C35", "C44", "C67"))
def tpu_library(reading: Reading) -> Iterator[Finding]:
    """TPU chips without libtpu, or libtpu without chips."""
    tpu, libtpu = reading.facts.tpu, reading.installed.get("libtpu")
    libtpu = libtpu or reading.installed.get("libtpu-nightly")
    named = reading.env("TPU_LIBRARY_PATH")
    if tpu.chips and not libtpu and not named and reading.jaxlib:
        plan = solve(reading, Request(tpu=True))
        chip = matrix.table()["tpu"]["pci_device_ids"].get(tpu.chips[0].device, "")
        steps = [Step("Install the library", plan.command)] if plan.fits else []
        yield found(
            "C46",
            [
                Seen(
                    f"{len(tpu.chips)} TPU chip(s) {chip}".strip(),
                    f"/sys/bus/pci/devices/{tpu.chips[0].bus}",
                ),
                Seen("no libtpu", "sys.path"),
            ],
            steps or [Step(plan.blocked[0])],
        )
    elif (
        libtpu and reading.facts.cards.is_known and not (tpu.chips or tpu.nodes or reading.has_gpu)
    ):
        yield found(
            "C46",
            [
                Seen(f"libtpu {libtpu.version}", libtpu.location),
                Seen("no TPU chip on the bus", "/sys/bus/pci/devices"),
            ],
            [Step("On a TPU machine: make it again. Elsewhere: nothing, it is not used")],
            level="info",
        )


@rule(unless=("C46",))
def libtpu_pin(reading: Reading) -> Iterator[Finding]:
    """libtpu of another version than the framework pins."""
    item, jax = reading.installed.get("libtpu"), reading.release("jax") or reading.release("jaxlib")
    pin = matrix.libtpu_pin(jax)
    if item and pin and pin.startswith("libtpu==") and reading.facts.tpu.chips:
        meets = satisfies(item.version, pin[len("libtpu") :])
        if meets is False:
            yield found(
                "C64",
                [Seen(f"libtpu {item.version}", item.location), Seen(f"jax {jax} pins {pin}")],
                [Step("Install the pinned one", commands.install(reading, pin))],
            )


@rule()
def rocm_differs(reading: Reading) -> Iterator[Finding]:
    """The ROCm plugin was built for another ROCm."""
    versions = reading.facts.rocm.versions
    for number, item in reading.rocm_plugins.items():
        wanted = _plugin_rocm(number, item.version)
        if not versions or wanted is None:
            continue
        path, have = versions[0]
        count = min(len(wanted), 2)
        ours = numbers(have, count)
        if ours != wanted[:count]:
            name = ".".join(map(str, wanted))
            yield found(
                "C47",
                [
                    Seen(f"ROCm {have}", path),
                    Seen(f"{item.name} {item.version} is built for ROCm {name}", item.location),
                ],
                [
                    Step(
                        f"Install ROCm {name}, or the plugin for ROCm {have}, or use the "
                        "vendor's container"
                    )
                ],
            )


def _plugin_rocm(number: int, version: str | None) -> tuple[int, ...] | None:
    """The ROCm that a plugin was built for: exact where the metadata said so, else its major."""
    rows = matrix.table()["nvidia_wheel_bounds"].get(f"jax-rocm{number}-plugin", {})
    exact = numbers(rows.get(version or "", {}).get("summary_rocm"))
    if exact:
        return exact
    return {60: (6,), 7: (7,), 10: (10,)}.get(number)


@rule()
def rocm_without_plugin(reading: Reading) -> Iterator[Finding]:
    """ROCm is asked for or half installed."""
    asked = (reading.env("JAX_PLATFORMS") or "").split(",")
    rocm, seen = reading.facts.rocm, []
    if "rocm" in asked and not reading.rocm_plugins and reading.jaxlib:
        seen.append(Seen("JAX_PLATFORMS=rocm and no ROCm plugin", "environment"))
    pairs = {re.sub(r"-(plugin|pjrt)$", "", n) for n in reading.installed if "jax-rocm" in n}
    for name in sorted(pairs):
        lacks = [k for k in ("plugin", "pjrt") if f"{name}-{k}" not in reading.installed]
        seen += [Seen(f"{name}-{k} is not installed, its partner is", "sys.path") for k in lacks]
    if reading.rocm_plugins and not seen:
        if rocm.kfd is None and not reading.wsl:
            seen.append(Seen("a ROCm plugin, and no /dev/kfd", "/dev"))
        elif rocm.kfd and rocm.kfd.usable is False:
            seen.append(Seen("this user may not open /dev/kfd", "/dev/kfd"))
        elif not rocm.gpus and not reading.wsl:
            seen.append(Seen("the kernel lists no AMD GPU", "/sys/class/kfd"))
    if seen:
        yield found("C48", seen, _rocm_steps(reading))


def _rocm_steps(reading: Reading) -> list[Step]:
    plan = solve(reading, Request(rocm=True))
    steps = [Step("Install the pair", plan.command)] if plan.fits else []
    if reading.container:
        return [
            *steps,
            Step("Pass the devices in", "docker run --device /dev/kfd --device /dev/dri IMAGE"),
        ]
    return [
        *steps,
        Step("Join the groups that own the nodes", 'sudo usermod -a -G video,render "$USER"'),
    ]


@rule()
def metal(reading: Reading) -> Iterator[Finding]:
    """jax-metal beside a release that it does not know."""
    item = reading.installed.get("jax-metal")
    newer = older("0.5.0", reading.release("jax")) or older("0.5.0", reading.release("jaxlib"))
    if item and newer:
        yield found(
            "C49",
            [
                Seen(f"jax-metal {item.version}", item.location),
                Seen(f"jax {reading.release('jax')}, and it fits 0.5.0 and older"),
            ],
            [
                Step("Remove it and use the CPU", commands.uninstall(reading, "jax-metal")),
                Step(
                    "or hold both at 0.5.0",
                    commands.install(reading, "jax==0.5.0", "jaxlib==0.5.0"),
                ),
            ],
        )


@rule()
def jetson(reading: Reading) -> Iterator[Finding]:
    """CUDA wheels for servers on a Jetson."""
    if reading.tegra and reading.machine in ("aarch64", "arm64") and reading.plugins:
        item = next(iter(reading.plugins.values()))
        yield found(
            "C50",
            [
                Seen("a Jetson", reading.facts.system.tegra.source),
                Seen(f"{item.name} {item.version} holds code for servers only", item.location),
            ],
            [
                Step("Use the vendor's build for JetPack, or build for this GPU from source"),
                Step(
                    "or use the CPU",
                    commands.uninstall(reading, item.name, item.name.replace("plugin", "pjrt")),
                ),
            ],
        )


@rule(unless=("C48",))
def missing_backend(reading: Reading) -> Iterator[Finding]:
    """JAX_PLATFORMS names what is not installed."""
    name = "JAX_PLATFORMS" if reading.env("JAX_PLATFORMS") else "JAX_PLATFORM_NAME"
    value = reading.env(name) or ""
    if not reading.jaxlib:
        return
    right = ",".join(word.strip().lower() for word in value.split(","))
    for word in value.split(","):
        exact = word.strip() if reading.framework == "jax" else word.strip().lower()
        if word != word.strip() or exact not in (word.strip().lower(), "METAL"):
            yield found(
                "C52",
                [
                    Seen(
                        f'{name}="{value[:80]}": blanks and capitals are taken as they are',
                        "environment",
                    )
                ],
                [Step("Write it so", commands.export(reading, name, right))],
            )
            return
        word = word.strip().lower()
        if word in BUILTIN or _has_backend(reading, word):
            continue
        yield found(
            "C52",
            [
                Seen(f"{name}={value[:80]}", "environment"),
                Seen(f"nothing installed serves '{word[:40]}'", "sys.path"),
            ],
            [Step("Unset it, or list what is there", commands.unset(reading, name))],
        )
        return


def _has_backend(reading: Reading, word: str) -> bool:
    names = reading.installed
    present = {
        "cuda": reading.has_cuda_build and (reading.has_gpu or bool(reading.wsl)),
        "rocm": bool(reading.rocm_plugins),
        "tpu": "libtpu" in names
        or "libtpu-nightly" in names
        or bool(reading.env("TPU_LIBRARY_PATH")),
        "metal": "jax-metal" in names,
        "mps": "jax-mps" in names,
        "oneapi": "jax-oneapi-plugin" in names,
    }
    if word == "gpu":
        # Until 0.4.36 the alias meant every kind of GPU, and each had to start.
        old = older(reading.release("jax"), "0.4.37")
        return not old and any(present[k] for k in ("cuda", "rocm", "oneapi"))
    return present.get(word, _is_named_plugin(reading, word))


def _is_named_plugin(reading: Reading, word: str) -> bool:
    """A backend of a plugin that nobody here knows."""
    text = reading.env("PJRT_NAMES_AND_LIBRARY_PATHS") or ""
    folders = (name for name, _ in reading.facts.packages.plugin_folders)
    return word in text or any(word in name for name in folders)

"""The operating system: kernel, C library, processor, containers, WSL."""

from __future__ import annotations

import os
import platform
import re
import sys

from install_helper.facts import System
from install_helper.host import Host
from install_helper.values import Value, absent, failed, known, skipped

MAC_VERSION = "/System/Library/CoreServices/SystemVersion.plist"
ELF_MACHINES = {3: "i686", 21: "ppc64le", 22: "s390x", 40: "armv7l", 62: "x86_64", 183: "aarch64",
                243: "riscv64"}  # fmt: skip
CONTAINER_WORDS = ("docker", "kubepods", "containerd", "libpod", "lxc")


def probe(host: Host) -> System:
    """Read the operating system."""
    name = system_name(host)
    machine = architecture(host)
    kernel = host.read("/proc/sys/kernel/osrelease")
    mac = name.value == "Darwin"
    return System(
        name=name,
        machine=machine,
        kernel=_text(kernel),
        distribution=distribution(host),
        libc=libc(host, name.value or ""),
        cpu_flags=cpu_flags_of_mac(host) if mac else cpu_flags(host),
        wsl=wsl(host, kernel),
        container=container(host),
        translated=translated(host) if mac else absent("sysctl", "not macOS"),
        modules=modules(host),
        secure_boot=secure_boot(host),
        tegra=tegra(host),
        shared_memory=shared_memory(host),
    )


def _text(value: Value[str]) -> Value[str]:
    return known((value.value or "").strip()[:200], value.source) if value.is_known else value


def system_name(host: Host) -> Value[str]:
    """Linux, Darwin or Windows."""
    if host.description.system:
        return known(host.description.system, "description")
    return known("Linux" if host.simulated else platform.system(), "platform.system")


def architecture(host: Host) -> Value[str]:
    """The machine's architecture; of another root, that of its programs."""
    if host.description.machine:
        return known(host.description.machine, "description")
    for path in ("/bin/sh", "/usr/bin/env", "/bin/bash") if host.simulated else ():
        head = host.head(path, 20)
        if head[:4] == b"\x7fELF" and len(head) == 20:
            number = int.from_bytes(head[18:20], "big" if head[5] == 2 else "little")
            return known(ELF_MACHINES.get(number, f"ELF machine {number}"), path)
    return known(platform.machine(), "platform.machine")


def distribution(host: Host) -> Value[str]:
    """The name and version in os-release, or of macOS."""
    text = host.read(MAC_VERSION, 1 << 14)
    match = re.search(r"ProductVersion</key>\s*<string>([\d.]+)<", text.value or "")
    if match:
        return known(f"macOS {match[1]}", MAC_VERSION)
    for path in ("/etc/os-release", "/usr/lib/os-release"):
        text = host.read(path)
        if text.is_known:
            fields = dict(re.findall(r"^(ID|VERSION_ID)=[\"']?([\w.-]+)", text.value or "", re.M))
            return known(f"{fields.get('ID', '?')} {fields.get('VERSION_ID', '')}".strip(), path)
    if host.root is None and sys.platform == "win32":
        return known(f"Windows {platform.version()}"[:60], "platform.version")
    return absent("/etc/os-release")


def libc(host: Host, system: str) -> Value[tuple[str, str]]:
    """The C library and its version: wheels are chosen by it."""
    if host.description.libc:
        return known(tuple(host.description.libc), "description")  # type: ignore[arg-type]
    if system != "Linux":
        return absent("confstr", "not Linux")
    loaders = [n for n in host.list("/lib") if n.startswith("ld-musl-")]
    if not host.simulated:
        try:
            kind, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
            if kind == "glibc" and not loaders:
                return known((kind, version), "confstr CS_GNU_LIBC_VERSION")
        except (ValueError, OSError, AttributeError):
            pass
    if loaders:
        return known(("musl", ""), f"/lib/{loaders[0]}")
    return _libc_of_root(host)


def _libc_of_root(host: Host) -> Value[tuple[str, str]]:
    for folder in ("/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/lib64", "/usr/lib64"):
        for name in host.list(folder):
            match = re.match(r"libc-(\d+\.\d+)\.so$", name)
            if match:
                return known(("glibc", match[1]), f"{folder}/{name}")
        # Since 2.34 the file's name tells nothing; the library prints its version when it is run.
        text = host.read(f"{folder}/libc.so.6", 8 << 20)
        match = re.search(r"GNU C Library [^\n]*version (\d+\.\d+)", text.value or "")
        if match:
            return known(("glibc", match[1]), text.source)
    return absent("/lib", "no C library recognised")


def cpu_flags(host: Host) -> Value[tuple[str, ...]]:
    """The feature words of the first processor."""
    text = host.read("/proc/cpuinfo", 1 << 16)
    if not text.is_known:
        return text  # type: ignore[return-value]
    match = re.search(r"^(?:flags|Features)\s*:\s*(.+)$", text.value or "", re.M)
    if match is None:
        return failed(text.source, "no line of feature flags")
    return known(tuple(match[1].split()[:400]), text.source)


def _sysctl(host: Host, name: str) -> Value[str]:
    if host.description.sysctl is not None:
        value = host.description.sysctl.get(name)
        return known(value, f"sysctl {name}") if value is not None else absent(f"sysctl {name}")
    program = host.find("sysctl", ("/usr/sbin", "/sbin"))
    if program is None:
        return absent("sysctl")
    answer = host.run([program, "-n", name], 1.0)
    if answer.value is None or answer.value.status:
        return absent(f"sysctl {name}")
    return known(answer.value.out.strip(), f"sysctl {name}")


def cpu_flags_of_mac(host: Host) -> Value[tuple[str, ...]]:
    """Whether an Intel Mac, or Rosetta, offers AVX."""
    flag = _sysctl(host, "hw.optional.avx1_0")
    return known(("avx",) if flag.value == "1" else (), flag.source) if flag.is_known else flag  # type: ignore[return-value]


def translated(host: Host) -> Value[bool]:
    """Whether an x86 process runs on Apple silicon."""
    flag = _sysctl(host, "sysctl.proc_translated")
    silicon = _sysctl(host, "hw.optional.arm64")
    if flag.value == "1":
        return known(True, flag.source)
    machine = host.description.machine or platform.machine()
    return known(silicon.value == "1" and machine == "x86_64", silicon.source)


def wsl(host: Host, kernel: Value[str]) -> Value[int]:
    """0, or the version of the Windows subsystem."""
    text = (kernel.value or "").lower()
    if not kernel.is_known:
        return kernel  # type: ignore[return-value]
    if "microsoft" not in text:
        return known(0, kernel.source)
    return known(2 if "wsl2" in text or host.exists("/dev/dxg") else 1, kernel.source)


def container(host: Host) -> Value[str]:
    """The kind of container, empty where there is none."""
    env = host.env
    for name, kind in (("APPTAINER_NAME", "apptainer"), ("SINGULARITY_NAME", "singularity")):
        if env.get(name):
            return known(kind, name)
    for path, kind in (("/.dockerenv", "docker"), ("/run/.containerenv", "podman")):
        if host.exists(path):
            return known(kind, path)
    if env.get("container"):
        return known(env["container"][:40], "variable container")
    if env.get("KUBERNETES_SERVICE_HOST"):
        return known("kubernetes", "KUBERNETES_SERVICE_HOST")
    for path in ("/run/systemd/container", "/proc/1/cgroup"):
        text = host.read(path, 1 << 14).value or ""
        for word in CONTAINER_WORDS:
            if word in text:
                return known(word, path)
    return known("", "/proc/1/cgroup")


def modules(host: Host) -> Value[tuple[str, ...]]:
    """The loaded kernel modules that drive GPUs."""
    text = host.read("/proc/modules")
    if not text.is_known:
        return text  # type: ignore[return-value]
    names = {line.split(" ")[0] for line in (text.value or "").splitlines()}
    wanted = {"nvidia", "nvidia_uvm", "nouveau", "amdgpu", "xe", "i915"}
    return known(tuple(sorted(names & wanted)), text.source)


def secure_boot(host: Host) -> Value[bool]:
    """Whether the firmware refuses unsigned modules."""
    folder = "/sys/firmware/efi/efivars"
    for name in host.list(folder):
        if name.startswith("SecureBoot-"):
            text = host.read(f"{folder}/{name}", 16)
            if text.value:
                return known(text.value[-1] == "\x01", text.source)
    return skipped(folder, "not readable or not EFI")


def tegra(host: Host) -> Value[bool]:
    """Whether this is a Jetson."""
    if host.exists("/etc/nv_tegra_release"):
        return known(True, "/etc/nv_tegra_release")
    text = host.read("/proc/device-tree/compatible", 4096)
    return known("tegra" in (text.value or ""), text.source)


def shared_memory(host: Host) -> Value[int]:
    """The size in MiB that /dev/shm was mounted with."""
    for path in ("/proc/mounts", "/proc/self/mounts"):
        text = host.read(path).value or ""
        match = re.search(r"^\S+ /dev/shm tmpfs \S*?\bsize=(\d{1,12})([kmg]?)\b", text, re.M)
        if match:
            scale = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}[match[2]]
            return known(int(match[1]) * scale >> 20, path)
    return absent("/proc/mounts", "no size given")

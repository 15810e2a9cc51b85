"""Cards on the bus, TPU chips, AMD GPUs."""

from __future__ import annotations

import os
import re

from install_helper.facts import Card, Node, Oneapi, Rocm, Tpu
from install_helper.host import Host
from install_helper.values import Value, known

PCI = "/sys/bus/pci/devices"
VENDORS = {"0x10de": "nvidia", "0x1002": "amd", "0x8086": "intel", "0x1ae0": "tpu"}
LOCK = "/tmp/libtpu_lockfile"


def cards(host: Host) -> Value[tuple[Card, ...]]:
    """The display, compute and TPU devices that sysfs lists."""
    names = host.names(PCI)
    if not names.is_known:
        return names  # type: ignore[return-value]
    found = []
    for bus in (names.value or ())[:4000]:
        vendor = _word(host, f"{PCI}/{bus}/vendor")
        kind = _word(host, f"{PCI}/{bus}/class")
        if vendor == "0x1ae0" or (vendor in VENDORS and kind[:4] in ("0x03", "0x12")):
            driver = os.path.basename(host.link(f"{PCI}/{bus}/driver") or "")
            device = _word(host, f"{PCI}/{bus}/device")
            found.append(Card(bus, VENDORS[vendor], device, kind, driver))
    return known(tuple(found), PCI)


def _word(host: Host, path: str) -> str:
    return (host.read(path, 64).value or "").strip().lower()


def nodes(host: Host, paths: list[str]) -> tuple[Node, ...]:
    """The device nodes that exist, and whether this user may open them."""
    return tuple(Node(path, host.may_use(path)) for path in paths if host.exists(path))


def tpu(host: Host, on_bus: Value[tuple[Card, ...]]) -> Tpu:
    """TPU chips, nodes, lock file and holders."""
    chips = tuple(card for card in on_bus.value or () if card.vendor == "tpu")
    paths = [f"/dev/{n}" for n in host.list("/dev") if re.match(r"accel\d+$", n)]
    if chips:
        paths += [f"/dev/vfio/{n}" for n in host.list("/dev/vfio") if n.isdigit()]
    return Tpu(
        chips=chips,
        nodes=nodes(host, paths),
        lock=LOCK if host.exists(LOCK) else None,
        holders=holders(host, set(paths)) if paths else (),
    )


def holders(host: Host, paths: set[str]) -> tuple[int, ...]:
    """The processes, among those that may be looked at, that have one of the nodes open."""
    found = []
    for pid in host.list("/proc")[:50_000]:
        if pid.isdigit():
            handles = host.list(f"/proc/{pid}/fd")[:500]
            if any(host.link(f"/proc/{pid}/fd/{handle}") in paths for handle in handles):
                found.append(int(pid))
    return tuple(found)


def rocm(host: Host) -> Rocm:
    """AMD GPUs that the kernel lists, the node they are reached by, and ROCm installations."""
    topology = "/sys/class/kfd/kfd/topology/nodes"
    gpus = []
    for name in host.list(topology):
        text = host.read(f"{topology}/{name}/properties").value or ""
        fields = dict(re.findall(r"^(\w+) (\d+)$", text, re.M))
        if int(fields.get("simd_count", 0)) > 0:
            gpus.append(_gfx(int(fields.get("gfx_target_version", 0))))
    kfd = nodes(host, ["/dev/kfd"])
    return Rocm(tuple(gpus), kfd[0] if kfd else None, rocm_versions(host))


def _gfx(number: int) -> str:
    return f"gfx{number // 10000}{number // 100 % 100:x}{number % 100:x}"


def rocm_versions(host: Host) -> tuple[tuple[str, str], ...]:
    """The directory and version of each ROCm installation."""
    candidates = [host.env.get("ROCM_PATH", ""), host.env.get("HIP_PATH", ""), "/opt/rocm"]
    candidates += [f"/opt/{n}" for n in host.list("/opt") if n.startswith("rocm-")]
    found: dict[str, tuple[str, str]] = {}
    for path in filter(None, candidates):
        text = host.read(f"{path}/.info/version", 100).value or ""
        match = re.match(r"\s*(\d+(?:\.\d+)+)", text)
        if match:
            found.setdefault(host.resolve(path), (path, match[1]))
    return tuple(found.values())


def oneapi(host: Host) -> Oneapi:
    """The directory and version of each oneAPI compiler, and the loader of Level Zero."""
    found: dict[str, str] = {}
    for root in filter(None, (host.env.get("ONEAPI_ROOT", "").rstrip("/"), "/opt/intel/oneapi")):
        for name in host.list(f"{root}/compiler"):
            if re.match(r"\d+(\.\d+)+$", name):
                found.setdefault(host.resolve(f"{root}/compiler/{name}"), name)
    folders = ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib")
    loaders = (f"{folder}/libze_loader.so.1" for folder in folders)
    return Oneapi(tuple(found.items()), next((p for p in loaders if host.exists(p)), None))

"""The NVIDIA driver: nodes, kernel module, nvidia-smi, and libcuda in a process of its own."""

from __future__ import annotations

import json
import os
import re
import sys

from install_helper.facts import Driver, Gpu, Node, Nvidia, Python
from install_helper.host import Host, run_limited
from install_helper.probes.accelerators import nodes
from install_helper.values import Value, absent, failed, known, skipped, timed_out
from install_helper.versions import parse

SMI_FOLDERS = ("/usr/bin", "/usr/lib/wsl/lib", "/usr/local/bin", "/bin",
               "C:/Windows/System32", "/usr/local/nvidia/bin")  # fmt: skip
FIELDS = ("index", "name", "uuid", "driver_version", "memory.total", "memory.free")
SMI_SECONDS = 2.0
SMI_STATES = (
    ("Driver/library version mismatch", "mismatch"),
    ("couldn't communicate with the NVIDIA driver", "no driver"),
    ("GPU is lost", "lost card"),
    ("Unable to determine the device handle", "lost card"),
    ("No devices were found", "no device"),
    ("Insufficient Permissions", "no permission"),
    ("Failed to initialize NVML: Unknown Error", "unknown error"),
    ("Failed to initialize NVML: Driver Not Loaded", "no driver"),
)


def probe(host: Host, python: Python) -> Nvidia:
    """Read the NVIDIA side of a machine."""
    about_nodes = device_nodes(host)
    path = host.find("nvidia-smi", SMI_FOLDERS)
    state, gpus = smi(host, path)
    mig = any(gpu.mig for gpu in gpus.value or ())
    return Nvidia(
        nodes=about_nodes,
        module_version=module_version(host),
        smi=state,
        smi_path=path,
        gpus=gpus,
        mig_instances=mig_instances(host, path) if path and mig else absent("nvidia-smi -L"),
        holders=holders(host, path) if path and gpus else absent("nvidia-smi"),
        driver=user_driver(host, python, about_nodes),
        modprobe=modprobe(host),
        blacklisted=blacklisted(host),
    )


def device_nodes(host: Host) -> tuple[Node, ...]:
    """The nodes through which a process reaches the GPUs; /dev/dxg under WSL."""
    names = [n for n in host.list("/dev") if re.match(r"(nvidia(\d+|ctl|-uvm)|dxg)$", n)]
    return nodes(host, [f"/dev/{name}" for name in names])


def module_version(host: Host) -> Value[str]:
    """The version of the loaded kernel module."""
    for path in ("/proc/driver/nvidia/version", "/sys/module/nvidia/version"):
        text = host.read(path, 4096)
        if text.is_known:
            match = re.search(r"(?:^|\s)(\d{3}\.\d+(?:\.\d+)?)(?=\s|$)", text.value or "")
            return known(match[1], path) if match else failed(path, "no version in it")
        if text.state == "denied":
            return text
    return absent("/proc/driver/nvidia/version")


def smi(host: Host, path: str | None) -> tuple[Value[str], Value[tuple[Gpu, ...]]]:
    """The state that nvidia-smi shows, in one word, and the GPUs it lists."""
    if path is None:
        missing = absent("nvidia-smi", "not on PATH")
        return missing, missing
    for extra in (("compute_cap", "mig.mode.current", "compute_mode"), ()):
        query = ",".join(FIELDS + extra)
        answer = host.run(
            [path, f"--query-gpu={query}", "--format=csv,noheader,nounits"], SMI_SECONDS
        )
        output = answer.value
        if output is None:
            return answer, answer  # type: ignore[return-value]
        if "not a valid field" not in output.text:
            break
    state = next((word for text, word in SMI_STATES if text in output.text), None)
    rows = tuple(filter(None, (_gpu(line, extra) for line in output.out.splitlines()[:256])))
    if state is None:
        state = "fine" if output.status == 0 and rows else "error"
    note = " ".join(output.text.split())[:200]
    return known(state, f"{path}: {note}" if state != "fine" else path), known(rows, path)


def _gpu(line: str, extra: tuple[str, ...]) -> Gpu | None:
    parts = [part.strip() for part in line.split(",")]
    after = 4 + len(extra)
    if len(parts) < 2 + after or not parts[0].isdigit():
        return None
    name = ", ".join(parts[1:-after])
    uuid, driver, total, free = parts[-after:][:4]
    capability, mig, mode = parts[-3:] if extra else ("", "", "")
    return Gpu(
        index=int(parts[0][:9]),
        name=name[:80],
        uuid=uuid,
        driver=driver if parse(driver) else None,
        memory_total=_whole(total),
        memory_free=_whole(free),
        capability=capability if re.match(r"\d+\.\d+$", capability) else None,
        mig={"Enabled": True, "Disabled": False}.get(mig),
        mode=mode[:40],
    )


def _whole(text: str) -> int | None:
    return int(text) if re.match(r"\d{1,9}$", text) else None


def mig_instances(host: Host, path: str) -> Value[tuple[str, ...]]:
    """The identifiers of MIG instances."""
    answer = host.run([path, "-L"], SMI_SECONDS)
    if answer.value is None:
        return answer  # type: ignore[return-value]
    return known(tuple(re.findall(r"UUID:\s*(MIG-[\w/-]+)", answer.value.out)), f"{path} -L")


def holders(host: Host, path: str) -> Value[tuple[tuple[str, int], ...]]:
    """The processes that compute on the GPUs, with the MiB they hold."""
    answer = host.run(
        [path, "--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits"], 1.0
    )
    if answer.value is None or answer.value.status:
        return absent(path, "no list of processes")
    rows = re.findall(r"^(\d+),\s*(\d{1,9})", answer.value.out, re.M)
    return known(tuple((pid, int(used)) for pid, used in rows[:64]), path)


def modprobe(host: Host) -> bool | None:
    """Whether nvidia-modprobe is there and may create nodes for a user."""
    path = host.find("nvidia-modprobe", ("/usr/bin",))
    return None if path is None else bool((host.mode(path) or 0) & 0o4000)


def blacklisted(host: Host) -> tuple[str, ...]:
    """The files that keep the kernel from loading the NVIDIA module."""
    found = []
    for folder in ("/etc/modprobe.d", "/run/modprobe.d", "/lib/modprobe.d"):
        for name in host.list(folder)[:200]:
            text = host.read(f"{folder}/{name}", 1 << 16).value or ""
            if re.search(r"^[ \t]*blacklist[ \t]+nvidia[ \t]*$", text, re.M):
                found.append(f"{folder}/{name}")
    return tuple(found)


def user_driver(host: Host, python: Python, about_nodes: tuple[Node, ...]) -> Value[Driver]:
    """What libcuda answers. It may hang or crash, so a process of its own asks."""
    if host.description.native is not None:
        return _driver(dict(host.description.native), "description")
    if host.simulated:
        return skipped("libcuda", "libraries of another root are not loaded")
    if not about_nodes and not host.find("nvidia-smi", SMI_FOLDERS):
        return absent("libcuda", "no NVIDIA device node and no nvidia-smi")
    script = os.path.join(os.path.dirname(__file__), "libcuda.py")
    executable = python.executable if os.path.isfile(python.executable) else sys.executable
    answer = run_limited([executable, "-S", script], 4.0, None, "libcuda")
    if answer.state == "timeout":
        return timed_out("libcuda", "cuInit did not return")
    if answer.value is None:
        return failed("libcuda", answer.note)
    if answer.value.status < 0:
        return failed("libcuda", f"signal {-answer.value.status} in cuInit")
    try:
        return _driver(json.loads(answer.value.out), "libcuda")
    except (ValueError, TypeError):
        return failed("libcuda", "no answer")


def _driver(row: dict[str, object], source: str) -> Value[Driver]:
    if row.get("timeout"):
        return timed_out(source, "cuInit did not return")
    cuda = row.get("cuda")
    return known(
        Driver(
            loaded=bool(row.get("loaded")),
            path=str(row.get("path") or ""),
            cuda=f"{cuda // 1000}.{cuda % 1000 // 10}" if isinstance(cuda, int) else None,
            init=row["init"] if isinstance(row.get("init"), int) else None,  # type: ignore[arg-type]
            count=row["count"] if isinstance(row.get("count"), int) else None,  # type: ignore[arg-type]
            capabilities=tuple(map(str, row.get("capabilities") or ())),  # type: ignore[call-overload]
            error=str(row.get("error") or ""),
        ),
        source,
    )

"""Which GPUs a process sees: containers, WSL, filters, MIG, permissions, memory."""

from __future__ import annotations

import re
from collections.abc import Iterator

from install_helper import commands
from install_helper.findings import Finding, Seen, Step, found, rule
from install_helper.reading import Reading

FRACTION = "XLA_PYTHON_CLIENT_MEM_FRACTION"
START = {
    "docker": "docker run --gpus all IMAGE",
    "podman": "podman run --device nvidia.com/gpu=all IMAGE",
    "apptainer": "apptainer exec --nv IMAGE COMMAND",
    "singularity": "singularity exec --nv IMAGE COMMAND",
}


@rule()
def container_without_gpu(reading: Reading) -> Iterator[Finding]:
    """A container with CUDA packages, and no GPU in it."""
    if not reading.container or reading.wsl:
        return
    kind, nodes = reading.container, reading.gpu_nodes
    smi = reading.facts.nvidia.smi
    seen = [Seen(f"a {kind} container", reading.facts.system.container.source)]
    if smi.value == "unknown error":
        seen.append(Seen("NVML cannot be initialised: a cgroup rule denies the device", smi.source))
    elif not reading.has_cuda_build or smi.value == "fine":
        return
    elif reading.wants_cpu or (reading.facts.cards.is_known and not reading.cards and not nodes):
        return  # the host has no card to pass in
    elif not nodes:
        seen.append(Seen("no /dev/nvidia* node", "/dev"))
    elif kind in ("apptainer", "singularity") and not reading.reachable("libcuda"):
        seen.append(Seen("the nodes are there, libcuda.so.1 is not", "loader path"))
    else:
        return
    line = START.get(kind, START["docker"])
    steps = [
        Step("Start the container with the GPU", line),
        Step(
            "On the host, set up the NVIDIA container toolkit if that flag is refused",
            "sudo nvidia-ctk runtime configure --runtime=docker",
        ),
    ]
    yield found("C08", seen, steps)


@rule()
def wsl_with_linux_driver(reading: Reading) -> Iterator[Finding]:
    """WSL2 whose own libcuda is hidden by a Linux driver, or not on the loader's path."""
    if reading.wsl < 2 or not any(n.path == "/dev/dxg" for n in reading.facts.nvidia.nodes):
        return
    reached = reading.reachable("libcuda")
    ours = [b for b in reached if b.path.startswith("/usr/lib/wsl/")]
    others = [b for b in reached if not b.path.startswith("/usr/lib/wsl/")]
    node = Seen("WSL2 with a GPU", "/dev/dxg")
    if others:
        branch = re.match(r"(\d{3})", others[0].version or "")
        name = f"'^libnvidia-compute-{branch[1] if branch else ''}.*'"
        apt = reading.distribution in ("ubuntu", "debian")
        line = f"sudo apt-get purge {name} '^nvidia-driver-.*'" if apt else ""
        yield found(
            "C09",
            [node, Seen(f"a Linux driver's libcuda {others[0].version or ''}", others[0].path)],
            [Step("Remove the Linux driver from WSL; keep the one of Windows", line)],
        )
    elif not ours and reading.libraries("libcuda", "other"):
        line = "echo /usr/lib/wsl/lib | sudo tee /etc/ld.so.conf.d/ld.wsl.conf && sudo ldconfig"
        yield found(
            "C09",
            [node, Seen("the loader does not search /usr/lib/wsl/lib", "/etc/ld.so.conf.d")],
            [Step("Add it to the loader's path", line)],
        )


@rule()
def wsl_1(reading: Reading) -> Iterator[Finding]:
    """WSL1, which passes no GPU through, and a CUDA build."""
    if reading.wsl == 1 and reading.has_cuda_build and not reading.wants_cpu:
        kernel = reading.facts.system.kernel
        yield found(
            "C72",
            [Seen(f"WSL1: kernel {kernel.value}", kernel.source), Seen("no /dev/dxg", "/dev")],
            [Step("In Windows, turn it into WSL2", "wsl --set-version DISTRIBUTION 2")],
        )


@rule(unless=("C72", "C08", "C42", "C50", "C46"))
def no_gpu_at_all(reading: Reading) -> Iterator[Finding]:
    """A CUDA build where no NVIDIA GPU is: right where the CPU is meant."""
    cards = reading.facts.cards
    if not reading.has_cuda_build or reading.wants_cpu or reading.container or reading.wsl:
        return
    if cards.is_known and not reading.has_gpu and reading.facts.nvidia.smi_path is None:
        what = Seen(f"a build for CUDA {reading.cuda_major or '?'}", "sys.path")
        yield found("C73", [what, Seen("no NVIDIA card on the bus", cards.source)])


@rule()
def small_shared_memory(reading: Reading) -> Iterator[Finding]:
    """Several GPUs in a container with Docker's default of 64 MiB shared memory."""
    size = reading.facts.system.shared_memory
    count = len(reading.gpus) or sum(n.path != "/dev/dxg" for n in reading.gpu_nodes)
    small = size.value is not None and size.value <= 64
    if small and count > 1 and reading.container and reading.has_cuda_build:
        yield found(
            "C75",
            [Seen(f"/dev/shm has {size.value} MiB, {count} GPUs", size.source)],
            [Step("Start the container with more", "docker run --gpus all --shm-size=1g IMAGE")],
        )


@rule(unless=("C05", "C06", "C08"))
def prohibited(reading: Reading) -> Iterator[Finding]:
    """The administrator forbade computing on a GPU, or allows one process that is there."""
    holders = reading.facts.nvidia.holders.value or ()
    for gpu in reading.gpus:
        if gpu.mode == "Prohibited" or (gpu.mode == "Exclusive_Process" and holders):
            seen = [
                Seen(f"GPU {gpu.index}: compute mode {gpu.mode}", reading.facts.nvidia.gpus.source)
            ]
            seen += [Seen(f"process {pid} has a GPU", "nvidia-smi") for pid, _ in holders[:3]]
            line = f"sudo nvidia-smi -i {gpu.index} -c DEFAULT"
            yield found("C56", seen, [Step("Allow several processes, or end that one", line)])
            return


def visible(value: str, count: int, uuids: list[str]) -> tuple[int, str | None]:
    """How many devices CUDA_VISIBLE_DEVICES leaves, and the first entry that is none.

    The driver stops at the first entry that names no device.

    >>> visible("0,7,1", 2, []), visible("", 2, [])
    ((1, '7'), (0, ''))
    """
    shown = 0
    for entry in (part.strip() for part in value.split(",")[:1000]):
        if re.match(r"\d{1,6}$", entry):
            known = int(entry) < count
        elif entry.startswith(("GPU-", "MIG-")):
            known = not uuids or sum(u.startswith(entry) for u in uuids) == 1
        else:
            known = False
        if not known:
            return shown, entry
        shown += 1
    return shown, None


@rule(unless=("C05", "C06", "C08", "C57"))
def hidden_by_filter(reading: Reading) -> Iterator[Finding]:
    """CUDA_VISIBLE_DEVICES hides devices."""
    for name in ("CUDA_VISIBLE_DEVICES", "JAX_CUDA_VISIBLE_DEVICES"):
        value = reading.env(name)
        if value is None or not reading.sees_gpu or reading.wants_cpu:
            continue
        if value == "all" and name == "JAX_CUDA_VISIBLE_DEVICES":
            continue
        count = len(reading.gpus) or len(reading.gpu_nodes)
        uuids = [g.uuid for g in reading.gpus] + list(
            reading.facts.nvidia.mig_instances.value or ()
        )
        shown, wrong = visible(value, count, uuids)
        if wrong is None:
            continue
        steps = [Step("Unset it, or list devices that exist", commands.unset(reading, name))]
        if value == "NoDevFiles" or (not value and reading.env("SLURM_JOB_ID")):
            steps.append(Step("In Slurm ask for a GPU", "srun --gres=gpu:1 COMMAND"))
        yield found(
            "C10",
            [
                Seen(f'{name}="{value[:80]}"', "environment"),
                Seen(
                    f"{count} GPU(s) there, {shown} visible"
                    + (f"; '{wrong}' names none" if wrong else ""),
                    reading.facts.nvidia.smi.source,
                ),
            ],
            steps,
        )


@rule(unless=("C05", "C06", "C08", "C10"))
def mig(reading: Reading) -> Iterator[Finding]:
    """MIG is on, and a process can use one instance only."""
    if not any(g.mig for g in reading.gpus):
        return
    instances = reading.facts.nvidia.mig_instances
    value = reading.env("CUDA_VISIBLE_DEVICES") or ""
    asked = [e for e in value.split(",") if e.strip().startswith("MIG-")]
    seen = [Seen("MIG is on", reading.facts.nvidia.gpus.source)]
    if instances.is_known and not instances.value:
        line = "sudo nvidia-smi mig -cgi 0 -C"
        yield found(
            "C11",
            [*seen, Seen("and no instance exists", instances.source)],
            [Step("Create an instance, or turn MIG off", line)],
        )
    elif len(asked) > 1 or (not asked and len(instances.value or ()) > 1):
        one = (instances.value or ("MIG-UUID",))[0]
        what = (
            f"CUDA_VISIBLE_DEVICES lists {len(asked)} instances"
            if asked
            else (f"{len(instances.value or ())} instances and no choice between them")
        )
        yield found(
            "C11",
            [*seen, Seen(what, "environment")],
            [
                Step(
                    "Start one process for each instance",
                    f"CUDA_VISIBLE_DEVICES={one} python PROGRAM",
                )
            ],
        )


@rule(unless=("C05", "C06", "C08"))
def node_permission(reading: Reading) -> Iterator[Finding]:
    """A node may not be opened, or the one of unified memory is missing."""
    nvidia = reading.facts.nvidia
    nodes = [n for n in nvidia.nodes if n.path != "/dev/dxg"]
    refused = [n.path for n in nodes if n.usable is False]
    if refused:
        yield found(
            "C12",
            [Seen(f"this user may not open {path}", path) for path in refused[:3]],
            [
                Step(
                    "Join the groups that own the nodes, then log in again",
                    'sudo usermod -a -G video,render "$USER"',
                )
            ],
        )
        return
    has_gpu = any(re.match(r"/dev/nvidia\d", n.path) for n in nodes)
    uvm = any(n.path == "/dev/nvidia-uvm" for n in nodes)
    driver = nvidia.driver.value
    if has_gpu and not uvm and not nvidia.modprobe and not (driver and driver.init == 0):
        yield found(
            "C12",
            [
                Seen("/dev/nvidia-uvm is missing", "/dev"),
                Seen(
                    "nvidia-modprobe, which creates it for users, is "
                    + ("not there" if nvidia.modprobe is None else "not setuid"),
                    "PATH",
                ),
            ],
            [
                Step("Create it now", "sudo nvidia-modprobe -u -c=0"),
                Step("and at each start", "sudo systemctl enable --now nvidia-persistenced"),
            ],
        )


@rule()
def amd_hidden(reading: Reading) -> Iterator[Finding]:
    """HIP_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES hides AMD GPUs."""
    count = len(reading.facts.rocm.gpus)
    for name in ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"):
        value = reading.env(name)
        if value is None or not count or not reading.rocm_plugins or reading.wants_cpu:
            continue
        shown, wrong = visible(value, count, [])
        if wrong is not None:
            yield found(
                "C10",
                [
                    Seen(f'{name}="{value[:80]}"', "environment"),
                    Seen(f"{count} GPU(s) there, {shown} visible", "/sys/class/kfd"),
                ],
                [Step("Unset it, or list devices that exist", commands.unset(reading, name))],
            )


@rule(unless=("C05", "C06", "C08", "C10", "C74"))
def memory_taken(reading: Reading) -> Iterator[Finding]:
    """Others hold GPU memory, and the client wants three quarters of it."""
    if not reading.has_cuda_build or not reading.gpus:
        return
    fraction = _fraction(reading)
    if (reading.env("XLA_PYTHON_CLIENT_PREALLOCATE") or "").lower() in ("false", "0"):
        return
    off = commands.export(reading, "XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    for gpu in reading.gpus:
        if not gpu.memory_total or gpu.memory_free is None:
            continue
        free = gpu.memory_free / gpu.memory_total
        if free < fraction:
            holders = reading.facts.nvidia.holders.value or ()
            seen = [
                Seen(
                    f"GPU {gpu.index}: {gpu.memory_free} of {gpu.memory_total} MiB free",
                    reading.facts.nvidia.gpus.source,
                )
            ]
            seen += [Seen(f"process {pid} holds {used} MiB", "nvidia-smi") for pid, used in holders]
            steps = [
                Step("Let memory be taken as needed", off),
                Step(
                    "or end the other process, or take a smaller share",
                    commands.export(reading, FRACTION, f"{max(free - 0.05, 0.05):.2f}"),
                ),
            ]
            yield found("C51", seen[:5], steps)
            return
    if fraction > 0.95:
        yield found(
            "C51",
            [Seen(f"XLA_PYTHON_CLIENT_MEM_FRACTION={fraction:g}", "environment")],
            [Step("Leave room for the libraries", commands.export(reading, FRACTION, "0.85"))],
        )


def _fraction(reading: Reading) -> float:
    text = reading.env("XLA_PYTHON_CLIENT_MEM_FRACTION") or reading.env("XLA_CLIENT_MEM_FRACTION")
    try:
        return float(text) if text else 0.75
    except ValueError:
        return 0.75

"""The NVIDIA driver: is it there, is it loaded, is it one, is it new enough."""

from __future__ import annotations

from collections.abc import Iterator

from install_helper import commands, matrix
from install_helper.findings import Finding, Seen, Step, found, rule
from install_helper.plan import Request, solve
from install_helper.probes.cuda import NIX_DRIVER
from install_helper.reading import Reading
from install_helper.versions import numbers, older

# The commands of the distributions whose names of packages are known; others get the words alone.
COMPUTE_PART = {
    "ubuntu": "sudo apt-get install libnvidia-compute-{branch}",
    "debian": "sudo apt-get install libcuda1",
    "arch": "sudo pacman -S nvidia-utils",
}
INSTALL_DRIVER = {
    "ubuntu": "sudo ubuntu-drivers install",
    "debian": "sudo apt-get install nvidia-driver",
    "arch": "sudo pacman -S nvidia",
}
UNREACHABLE = ("C05", "C06", "C07", "C08", "C09", "C12")
INIT = {
    2: ("out of memory", "Free memory of the GPU or raise the limits of the process."),
    34: ("a stub library", "Take the toolkit's lib64/stubs directory off LD_LIBRARY_PATH."),
    46: ("device unavailable", "Another process has the GPU in exclusive mode; end it."),
    101: ("invalid device", "Unset CUDA_VISIBLE_DEVICES; for a vGPU check its licence."),
    802: ("system not ready", "Start it: sudo systemctl start nvidia-fabricmanager"),
    804: (
        "compatibility library not for this GPU",
        "Take the cuda-compat directory off LD_LIBRARY_PATH, or update the driver.",
    ),
    999: ("unknown error", "Load the uvm module (sudo nvidia-modprobe -u), or reboot."),
}


def install_step(reading: Reading, text: str = "Install the build for this machine") -> list[Step]:
    """The recommended install command, or why there is none."""
    plan = solve(reading, Request())
    steps = [Step("First", line) for line in plan.before]
    if plan.fits:
        return [*steps, Step(text, plan.command)]
    return [Step(plan.blocked[0])]


@rule(unless=(*UNREACHABLE, "C38", "C42", "C50", "C43", "C44", "C35", "C40", "C67", "C23"))
def cpu_only_install(reading: Reading) -> Iterator[Finding]:
    """A GPU is there, and nothing installed can drive it."""
    driven = reading.has_cuda_build or reading.rocm_plugins or reading.wants_cpu
    if driven or reading.system != "Linux" or not reading.sees_gpu or not reading.jaxlib:
        return
    nodes = [node.path for node in reading.gpu_nodes]
    names = [gpu.name for gpu in reading.gpus] or nodes or ["one that libcuda lists"]
    source = reading.facts.nvidia.smi.source if reading.gpus else "/dev"
    yield found(
        "C01",
        [
            Seen(f"GPU: {', '.join(names[:8])}", source),
            Seen(f"jaxlib {reading.jaxlib} and no CUDA plugin", _where(reading, "jaxlib")),
        ],
        install_step(reading),
    )


def _where(reading: Reading, name: str) -> str:
    item = reading.installed.get(name) or reading.conda.get(name)
    return item.location if item else ""


@rule(unless=("C05", "C06"))
def driver_too_old(reading: Reading) -> Iterator[Finding]:
    """The driver is below the least one of the installed CUDA family."""
    branch, major = numbers(reading.driver, 1), reading.cuda_major
    if branch is None or major is None or reading.wsl:
        return
    if reading.newest_gpu and older(reading.newest_gpu, "5.0"):
        return  # no newer driver serves such a GPU: C55 tells
    least = numbers(matrix.family(major).get("driver_linux_min_minor_compat"), 1)
    if least and branch[0] < least[0] and not _compatible_user_driver(reading, major):
        plugin = reading.plugins.get(major)
        name = f"{plugin.name} {plugin.version}" if plugin else f"jaxlib {reading.jaxlib}"
        yield found(
            "C03" if major == 13 else "C54",
            [
                Seen(
                    f"driver {reading.driver} (CUDA {reading.driver_cuda or '?'})",
                    reading.driver_source,
                ),
                Seen(f"{name} needs driver {least[0]} or newer"),
            ],
            [
                Step(
                    f"Update the driver{' of the host' if reading.container else ''} to "
                    f"{least[0]} or newer"
                ),
                *install_step(reading, "or install the build that this driver serves"),
            ],
        )


def _compatible_user_driver(reading: Reading, major: int) -> bool:
    """Whether a cuda-compat library serves this CUDA major on the older kernel driver."""
    driver = reading.facts.nvidia.driver.value
    served = numbers(driver.cuda, 1) if driver and driver.init == 0 else None
    return served is not None and served[0] >= major


@rule(unless=("C03", "C54", "C25", "C05", "C06"))
def driver_older_than_ptxas(reading: Reading) -> Iterator[Finding]:
    """Same CUDA major, and the driver is older than the ptxas in use."""
    if not reading.has_cuda_build or not reading.facts.cuda.ptxas:
        return
    tool, driver = reading.facts.cuda.ptxas[0], reading.driver_cuda
    ours, theirs = numbers(driver, 2), numbers(tool.version, 2)
    if ours and theirs and ours[0] == theirs[0] and ours < theirs:
        bound = reading.bounds.get("nvidia-cuda-nvcc-cu12", "")
        steps = [Step(f"Update the driver to one for CUDA {theirs[0]}.{theirs[1]} or newer")]
        if tool.source.startswith("wheel") and reading.cuda_major == 12:
            wanted = f"nvidia-cuda-nvcc-cu12<{ours[0]}.{ours[1] + 1}"
            if not bound or not older(f"{ours[0]}.{ours[1]}.999", bound.replace(">=", "")):
                steps.append(Step("or take an older ptxas", commands.install(reading, wanted)))
        steps.append(Step("or ignore it: only parallel compilation is off"))
        yield found(
            "C04",
            [
                Seen(f"driver {reading.driver or '?'} serves CUDA {driver}", reading.driver_source),
                Seen(f"ptxas {tool.version}", tool.path),
            ],
            steps,
        )


@rule(unless=("C09",))
def two_driver_versions(reading: Reading) -> Iterator[Finding]:
    """Kernel module and user-mode libraries come from two driver versions."""
    nvidia = reading.facts.nvidia
    module = nvidia.module_version.value
    driver = nvidia.driver.value
    seen = []
    if nvidia.smi.value == "mismatch":
        seen.append(Seen("nvidia-smi: Driver/library version mismatch", nvidia.smi.source))
    if driver and driver.init == 803:
        seen.append(Seen("cuInit answers 803, system driver mismatch", nvidia.driver.source))
    user = _user_driver_file(reading)
    if (
        module
        and user
        and user.version
        and user.version != module
        and not (driver and driver.count)
    ):
        seen.append(Seen(f"kernel module {module}", nvidia.module_version.source))
        seen.append(Seen(f"libcuda {user.version}", user.path))
    if seen:
        steps = [Step("Reboot, so that the new kernel module is loaded", "sudo reboot")]
        yield found(
            "C05", seen, [*steps, Step("If it stays, install all driver packages from one source")]
        )


def _user_driver_file(reading: Reading):
    """The libcuda that a loader finds, unless it is a compatibility library."""
    copies = [b for b in reading.reachable("libcuda") if (numbers(b.version, 1) or (0,))[0] > 99]
    return copies[0] if copies and "compat" not in copies[0].path else None


@rule(unless=("C05", "C08", "C57"))
def no_kernel_module(reading: Reading) -> Iterator[Finding]:
    """An NVIDIA card is on the bus, and its driver is not loaded."""
    nvidia, modules = reading.facts.nvidia, reading.facts.system.modules.value or ()
    if not reading.cards or reading.wsl or nvidia.module_version.state != "absent":
        return
    if reading.container or nvidia.smi.value == "fine" or reading.system != "Linux":
        return
    card = reading.cards[0]
    seen = [
        Seen(
            f"NVIDIA card {card.device}, driven by {card.driver or 'nothing'}",
            f"/sys/bus/pci/devices/{card.bus}",
        ),
        Seen("no NVIDIA kernel module is loaded", "/proc/driver/nvidia/version"),
    ]
    steps = []
    for path in nvidia.blacklisted[:1]:
        seen.append(Seen("the nvidia module is kept from loading", path))
        steps.append(Step("Let it load: on a laptop switch the GPU on, else remove that line"))
        if reading.distribution == "ubuntu":
            steps[-1] = Step("Switch the GPU on, then reboot", "sudo prime-select on-demand")
    if "nouveau" in modules or card.driver == "nouveau":
        seen.append(Seen("the nouveau driver is loaded", "/proc/modules"))
        line = 'echo "blacklist nouveau" | sudo tee /etc/modprobe.d/blacklist-nouveau.conf'
        steps.append(Step("Keep nouveau from the card, then reboot", line))
    if reading.facts.system.secure_boot.value:
        seen.append(Seen("Secure Boot is on", reading.facts.system.secure_boot.source))
        steps.append(Step("Enrol the key that signs the module", "sudo mokutil --import KEY.der"))
    yield found("C06", seen, [*steps, *([] if nvidia.blacklisted else _driver_steps(reading))])


def _driver_steps(reading: Reading) -> list[Step]:
    """Rebuild the module where the driver's other parts are there, else install the driver."""
    if reading.facts.nvidia.smi_path or reading.reachable("libcuda"):
        kernel = reading.facts.system.kernel.value
        line = f"sudo dkms autoinstall -k {commands.quote(kernel)}" if kernel else ""
        return [Step("Rebuild the module for this kernel, then reboot", line)]
    line = INSTALL_DRIVER.get(reading.distribution, "")
    return [Step("Install NVIDIA's driver with the system's packages, then reboot", line)]


@rule(unless=("C09", "C08", "C05"))
def libcuda_missing(reading: Reading) -> Iterator[Finding]:
    """nvidia-smi works, and libcuda.so.1 does not load."""
    nvidia = reading.facts.nvidia
    if nvidia.smi.value != "fine" or reading.system != "Linux" or reading.wsl:
        return
    driver = nvidia.driver.value
    loads = driver.loaded if driver else bool(reading.reachable("libcuda"))
    if loads:
        return
    seen = [
        Seen("nvidia-smi lists a GPU", nvidia.smi.source),
        Seen(
            "libcuda.so.1 is in no directory that the loader searches",
            driver.error if driver and driver.error else "LD_LIBRARY_PATH, ld.so.conf",
        ),
    ]
    hidden = reading.libraries("libcuda", "other", "toolkit")
    seen += [Seen("a copy lies where the loader does not look", b.path) for b in hidden[:1]]
    asked = reading.env("NVIDIA_DRIVER_CAPABILITIES")
    branch = (numbers(reading.driver, 1) or ("",))[0]
    if reading.container:
        seen.append(Seen(f"NVIDIA_DRIVER_CAPABILITIES={asked or ''}", "environment"))
        line = "docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility IMAGE"
        yield found("C07", seen, [Step("Start the container with the compute capability", line)])
    elif hidden and hidden[0].path.startswith(NIX_DRIVER):
        line = commands.export(reading, "LD_LIBRARY_PATH", NIX_DRIVER)
        yield found("C07", seen, [Step("Lead the loader to NixOS's driver", line)])
    else:
        line = COMPUTE_PART.get(reading.distribution, "").format(branch=branch)
        yield found("C07", seen, [Step("Install the compute part of the same driver", line)])


@rule(unless=("C05", "C08", "C09", "C10", "C12", "C57"))
def init_fails(reading: Reading) -> Iterator[Finding]:
    """cuInit answers with a value that names its cause."""
    driver = reading.facts.nvidia.driver
    answer = driver.value
    if driver.state in ("timeout", "error"):
        yield found("C57", [Seen(driver.note or "cuInit did not return", driver.source)])
    elif answer and answer.loaded and answer.init in INIT:
        words, advice = INIT[answer.init]
        yield found(
            "C56",
            [Seen(f"cuInit answers {answer.init}: {words}", answer.path or driver.source)],
            [Step(advice)],
        )
    elif answer is None and _is_stub(reading):
        path = reading.reachable("libcuda")[0].path
        seen = [Seen("the loader finds the toolkit's stub of libcuda first", path)]
        yield found("C56", seen, [Step(INIT[34][1])])
    elif answer and answer.init == 100 and reading.cards and not reading.wsl:
        yield found("C56", [Seen("cuInit answers 100: no device", answer.path or driver.source)])


def _is_stub(reading: Reading) -> bool:
    copies = reading.reachable("libcuda")
    return bool(copies) and "/stubs" in copies[0].path


@rule()
def smi_hangs(reading: Reading) -> Iterator[Finding]:
    """nvidia-smi does not return, or says that a card is lost."""
    smi = reading.facts.nvidia.smi
    hangs, lost = smi.state == "timeout", smi.value == "lost card"
    if hangs or lost:
        text = "nvidia-smi did not answer" if hangs else "nvidia-smi says that a GPU is lost"
        steps = [Step("Look for Xid lines, then reboot", "sudo dmesg | grep -i xid")]
        yield found("C57", [Seen(text, smi.source)], steps)


@rule(unless=("C03", "C54"))
def gpu_older_than_build(reading: Reading) -> Iterator[Finding]:
    """A GPU is below the least compute capability of the installed build."""
    build, newest = reading.build, reading.newest_gpu
    least = build["compute_capability_min"] if build else None
    if least and newest and older(newest, least):
        gpu = f"compute capability {newest} {matrix.architecture(newest)}".strip()
        yield found(
            "C55",
            [
                Seen(gpu, reading.facts.nvidia.gpus.source),
                Seen(f"the build for CUDA {reading.cuda_major} needs {least} or newer"),
            ],
            install_step(reading, "Install the build that drives this GPU"),
        )
    elif least and reading.oldest_gpu and older(reading.oldest_gpu, least):
        low = [g for g in reading.gpus if g.capability and older(g.capability, least)]
        kept = ",".join(str(g.index) for g in reading.gpus if g not in low)
        if low and reading.env("CUDA_VISIBLE_DEVICES") is None:
            yield found(
                "C55",
                [
                    Seen(
                        f"GPU {low[0].index} has compute capability {low[0].capability}",
                        reading.facts.nvidia.gpus.source,
                    ),
                    Seen(f"the build for CUDA {reading.cuda_major} needs {least} or newer"),
                ],
                [
                    Step("Leave it out", commands.export(reading, "CUDA_VISIBLE_DEVICES", kept)),
                    *install_step(reading, "or install a build that drives all of them"),
                ],
                level="warn",
                title="One of the GPUs is older than the build serves",
            )

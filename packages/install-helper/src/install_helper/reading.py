"""Questions about facts that rules and the solver share, each answered once.

Where the facts do not tell, the answer is None: rules then stay silent.
"""

from __future__ import annotations

import re
from functools import cached_property

from install_helper import matrix
from install_helper.facts import Distribution, Facts, Gpu, Library
from install_helper.versions import compare, numbers, parse, requirement

PLUGIN = re.compile(r"jax-(cuda|rocm)(\d+)-plugin$")
SHARED_WHEELS = ("cudnn", "nccl", "nvshmem")


class Reading:
    """The facts of one machine, seen through the questions that rules ask."""

    def __init__(self, facts: Facts, framework: str | None = None) -> None:
        self.facts = facts
        self.framework = framework or ("jax" if self._only_jax(facts) else "covector")

    @staticmethod
    def _only_jax(facts: Facts) -> bool:
        names = {d.name for d in facts.packages.distributions.value or ()}
        names |= {d.name for d in facts.packages.conda.value or ()}
        return "jax" in names and not any(n.startswith("covector") for n in names)

    # Distributions

    @cached_property
    def installed(self) -> dict[str, Distribution]:
        """Every distribution that matters, the first on the path where it is there twice."""
        found: dict[str, Distribution] = {}
        for item in self.facts.packages.distributions.value or ():
            found.setdefault(item.name, item)
        return found

    def version(self, name: str) -> str | None:
        """The installed version of a distribution, or None."""
        item = self.installed.get(name)
        return item.version if item else None

    def release(self, name: str) -> str | None:
        """The installed version without its local part."""
        version = self.version(name)
        return version.partition("+")[0] if version else None

    @cached_property
    def conda(self) -> dict[str, Distribution]:
        """What conda recorded, by name."""
        return {d.name: d for d in self.facts.packages.conda.value or ()}

    @cached_property
    def jaxlib(self) -> str | None:
        """The version of jaxlib, from pip's or conda's records."""
        return self.version("jaxlib") or (
            self.conda["jaxlib"].version if "jaxlib" in self.conda else None
        )

    @cached_property
    def jaxlib_row(self) -> dict | None:
        """The table's row of that jaxlib."""
        return matrix.jaxlib(self.jaxlib.partition("+")[0]) if self.jaxlib else None

    @cached_property
    def plugins(self) -> dict[int, Distribution]:
        """The CUDA plugins, by CUDA major."""
        return {
            int(match[2]): item
            for name, item in self.installed.items()
            for match in [PLUGIN.match(name)]
            if match and match[1] == "cuda"
        }

    @cached_property
    def rocm_plugins(self) -> dict[int, Distribution]:
        """The ROCm plugins, by the number in their name."""
        return {
            int(match[2]): item
            for name, item in self.installed.items()
            for match in [PLUGIN.match(name)]
            if match and match[1] == "rocm"
        }

    @cached_property
    def local_label(self) -> str:
        """The label such as ``cuda12.cudnn89`` of a jaxlib that holds its own CUDA build."""
        version = parse(self.jaxlib)
        return version.local if version and version.local.startswith("cuda") else ""

    @cached_property
    def conda_cuda(self) -> bool:
        """Whether conda's jaxlib is a CUDA build."""
        return "cuda" in self.conda["jaxlib"].build if "jaxlib" in self.conda else False

    @cached_property
    def has_cuda_build(self) -> bool:
        """Whether anything installed can drive an NVIDIA GPU."""
        return bool(self.plugins or self.local_label or self.conda_cuda)

    @cached_property
    def cuda_major(self) -> int | None:
        """The CUDA major of what is installed."""
        if self.plugins:
            return max(self.plugins)
        match = re.match(r"cuda(1\d)", self.local_label)
        if match:
            return int(match[1])
        version = self.conda["cuda-version"].version if "cuda-version" in self.conda else None
        first = numbers(version, 1)
        return first[0] if first and self.conda_cuda else None

    @cached_property
    def build(self) -> dict | None:
        """The table's row of the installed CUDA build."""
        if self.jaxlib_row is None or self.cuda_major is None:
            return None
        if self.local_label:
            tags = (b for b in self.jaxlib_row.get("cuda", ()) if b["tag"] == self.local_label)
            return next(tags, None)
        return matrix.cuda_build(self.jaxlib_row, self.cuda_major)

    @cached_property
    def bounds(self) -> dict[str, str]:
        """The bounds on NVIDIA wheels: from the plugin's metadata, else from the table."""
        plugin = self.plugins.get(self.cuda_major or 0)
        if plugin is None:
            return {}
        lines = [requirement(line) for line in plugin.requires]
        own = {r.name: r.bounds for r in lines if r and r.name.startswith("nvidia-") and r.marker}
        return own or matrix.wheel_bounds(plugin.name, plugin.version)

    @cached_property
    def wheels(self) -> dict[str, Distribution]:
        """The NVIDIA wheels of the installed CUDA major."""
        names = self.bounds or {}
        suffix = f"-cu{self.cuda_major}"
        return {
            name: item
            for name, item in self.installed.items()
            if name in names or (name.startswith("nvidia-") and name.endswith(suffix))
        }

    @property
    def is_local_install(self) -> bool:
        """Whether a CUDA build is there without any NVIDIA wheel."""
        return self.has_cuda_build and not self.wheels and not self.conda_cuda

    @property
    def has_own_cuda(self) -> bool:
        """Whether a toolkit, or its libraries, of the build's CUDA major is there."""
        copies = [b.name.rpartition(".")[2] for b in self.libraries("libcudart")]
        kits = [numbers(kit.version, 1) for kit in self.facts.cuda.toolkits]
        return str(self.cuda_major) in copies or (self.cuda_major,) in kits or None in kits

    # Machine

    @property
    def system(self) -> str | None:
        """Linux, Darwin or Windows."""
        return self.facts.system.name.value

    @property
    def machine(self) -> str | None:
        """The architecture as the system names it."""
        return self.facts.system.machine.value

    @property
    def platform(self) -> str | None:
        """The table's name of this platform."""
        return matrix.platform_key(self.system, self.machine)

    @property
    def distribution(self) -> str:
        """The Linux distribution's id, such as ubuntu, or empty."""
        return (self.facts.system.distribution.value or "").partition(" ")[0]

    @property
    def python(self) -> str | None:
        """The Python's major and minor number."""
        found = numbers(self.facts.python.version.value, 2)
        return f"{found[0]}.{found[1]}" if found else None

    @property
    def glibc(self) -> str | None:
        """The version of glibc."""
        libc = self.facts.system.libc.value
        return libc[1] if libc and libc[0] == "glibc" else None

    @property
    def is_musl(self) -> bool:
        """Whether the C library is musl."""
        libc = self.facts.system.libc.value
        return bool(libc) and libc[0] == "musl"

    @property
    def container(self) -> str:
        """The kind of container, or empty."""
        return self.facts.system.container.value or ""

    @property
    def wsl(self) -> int:
        """0, or the version of the Windows subsystem."""
        return self.facts.system.wsl.value or 0

    @property
    def tegra(self) -> bool:
        """Whether this is a Jetson."""
        return bool(self.facts.system.tegra.value)

    def environment(self, python: str | None = None) -> dict[str, str]:
        """What markers of requirements ask for; `python` is another version than the examined."""
        system, windows = self.system or "", self.system == "Windows"
        full = self.facts.python.version.value or ""
        return {
            "sys_platform": {"Linux": "linux", "Darwin": "darwin", "Windows": "win32"}.get(
                system, ""
            ),
            "platform_system": system,
            "platform_machine": self.machine or "",
            "python_version": python or self.python or "",
            "python_full_version": full if python in (None, self.python) else f"{python}.0",
            "os_name": "nt" if windows else "posix",
            "implementation_name": "cpython",
            "platform_python_implementation": "CPython",
        }

    # NVIDIA

    @cached_property
    def cards(self) -> list:
        """NVIDIA cards on the bus that are not handed to a virtual machine."""
        cards = self.facts.cards.value or ()
        return [c for c in cards if c.vendor == "nvidia" and c.driver != "vfio-pci"]

    @cached_property
    def gpu_nodes(self) -> list:
        """The nodes of single GPUs, and WSL's node."""
        nodes = self.facts.nvidia.nodes
        return [n for n in nodes if re.match(r"/dev/(nvidia\d+|dxg)$", n.path)]

    @property
    def gpus(self) -> tuple[Gpu, ...]:
        """The GPUs that nvidia-smi lists."""
        return self.facts.nvidia.gpus.value or ()

    @property
    def sees_gpu(self) -> bool:
        """Whether an NVIDIA GPU can be reached from here."""
        smi = self.facts.nvidia.smi.value
        driver = self.facts.nvidia.driver.value
        native = driver is not None and bool(driver.count)
        nodes = [n for n in self.gpu_nodes if n.path != "/dev/dxg"]
        return smi == "fine" or native or bool(nodes)

    @property
    def has_gpu(self) -> bool:
        """Whether an NVIDIA GPU is there, reachable or not."""
        return self.sees_gpu or bool(self.cards)

    @cached_property
    def driver(self) -> str | None:
        """The version of the kernel driver."""
        module = self.facts.nvidia.module_version.value
        return module or next((g.driver for g in self.gpus if g.driver), None)

    @property
    def driver_source(self) -> str:
        """Where the driver's version was read."""
        module = self.facts.nvidia.module_version
        return module.source if module else self.facts.nvidia.smi.source

    @cached_property
    def driver_cuda(self) -> str | None:
        """The CUDA version that the driver serves."""
        driver = self.facts.nvidia.driver.value
        return (driver.cuda if driver else None) or matrix.driver_cuda(self.driver)

    @cached_property
    def capabilities(self) -> list[str]:
        """The compute capabilities of the GPUs, lowest first."""
        driver = self.facts.nvidia.driver.value
        found = {g.capability for g in self.gpus if g.capability}
        found |= set(driver.capabilities) if driver else set()
        return sorted((c for c in found if parse(c)), key=lambda c: numbers(c, 2) or (0, 0))

    @property
    def oldest_gpu(self) -> str | None:
        """The lowest compute capability."""
        return self.capabilities[0] if self.capabilities else None

    @property
    def newest_gpu(self) -> str | None:
        """The highest compute capability."""
        return self.capabilities[-1] if self.capabilities else None

    def libraries(self, stem: str, *sources: str) -> list[Library]:
        """The copies of a library such as ``libcudnn``, of the given sources, in loader order."""
        match = re.compile(re.escape(stem) + r"\.so(\.\d+)?$")
        found = self.facts.cuda.libraries
        return [b for b in found if match.match(b.name) and (not sources or b.source in sources)]

    def reachable(self, stem: str) -> list[Library]:
        """The copies that a loader finds by name."""
        return self.libraries(stem, "LD_LIBRARY_PATH", "cache", "default")

    def env(self, name: str) -> str | None:
        """A variable, or None where it is not set."""
        return self.facts.env.get(name)

    @property
    def wants_cpu(self) -> bool:
        """Whether the user asked for the CPU."""
        asked = self.env("JAX_PLATFORMS") or self.env("JAX_PLATFORM_NAME") or ""
        return asked.strip().lower() == "cpu"

    def older_than(self, version: str | None, least: str | None, count: int = 3) -> bool:
        """Whether a version is older than a bound in its first numbers."""
        ours, bound = numbers(version, count), numbers(least, count)
        return ours is not None and bound is not None and ours < bound

    def newer(self, name: str, other: str) -> bool:
        """Whether one installed distribution is newer than another."""
        return compare(self.release(name), self.release(other)) == 1

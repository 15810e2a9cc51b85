"""What is known of a machine: immutable records that probes fill and rules read."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from install_helper.values import Value

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class System:
    """The operating system, its C library and the processor; `shared_memory` is MiB of /dev/shm."""

    name: Value[str]
    machine: Value[str]
    kernel: Value[str]
    distribution: Value[str]
    libc: Value[tuple[str, str]]
    cpu_flags: Value[tuple[str, ...]]
    wsl: Value[int]
    container: Value[str]
    translated: Value[bool]
    modules: Value[tuple[str, ...]]
    secure_boot: Value[bool]
    tegra: Value[bool]
    shared_memory: Value[int]


@dataclass(frozen=True)
class Python:
    """The interpreter that is examined, and who installs packages for it.

    `command` is the word by which a shell finds it, `active` whether uv finds its environment.
    """

    executable: str
    command: str
    active: bool
    version: Value[str]
    implementation: Value[str]
    free_threaded: Value[bool]
    bits: Value[int]
    prefix: str
    base_prefix: str
    paths: tuple[str, ...]
    user_site: str | None
    conda: bool
    externally_managed: bool
    working_directory: str
    installer: Value[str]

    @property
    def environment(self) -> str:
        """One word for the kind of environment."""
        return "conda" if self.conda else "venv" if self.prefix != self.base_prefix else "system"


@dataclass(frozen=True)
class Distribution:
    """One installed distribution, as its metadata tell."""

    name: str
    version: str | None
    location: str
    installer: str = ""
    requires: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    build: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Packages:
    """Installed distributions, the records of conda, and what else lies on the module path."""

    distributions: Value[tuple[Distribution, ...]]
    total: int
    conda: Value[tuple[Distribution, ...]]
    plugin_folders: tuple[tuple[str, str], ...]
    shadows: tuple[str, ...]
    wanted: tuple[tuple[str, str], ...]
    unreadable: tuple[str, ...]


@dataclass(frozen=True)
class Card:
    """A display or compute device on the bus."""

    bus: str
    vendor: str
    device: str
    kind: str
    driver: str


@dataclass(frozen=True)
class Node:
    """A device node and whether this user may open it."""

    path: str
    usable: bool | None


@dataclass(frozen=True)
class Gpu:
    """One GPU as nvidia-smi or the driver lists it; None is unknown."""

    index: int
    name: str
    uuid: str
    driver: str | None
    memory_total: int | None
    memory_free: int | None
    capability: str | None
    mig: bool | None
    mode: str = ""


@dataclass(frozen=True)
class Driver:
    """What the user-mode driver answered in a process of its own."""

    loaded: bool
    path: str
    cuda: str | None
    init: int | None
    count: int | None
    capabilities: tuple[str, ...]
    error: str


@dataclass(frozen=True)
class Library:
    """A shared library: where it lies, its version, and how a loader would come to it.

    `source` is one of wheel, LD_LIBRARY_PATH, cache, default, toolkit, package, other.
    """

    name: str
    path: str
    version: str | None
    source: str


@dataclass(frozen=True)
class Nvidia:
    """Cards, nodes, kernel module, nvidia-smi and the user-mode driver."""

    nodes: tuple[Node, ...]
    module_version: Value[str]
    smi: Value[str]
    smi_path: str | None
    gpus: Value[tuple[Gpu, ...]]
    mig_instances: Value[tuple[str, ...]]
    holders: Value[tuple[tuple[str, int], ...]]
    driver: Value[Driver]
    modprobe: bool | None
    blacklisted: tuple[str, ...] = ()


@dataclass(frozen=True)
class Tool:
    """A ptxas or nvcc, with the version it prints."""

    path: str
    version: str | None
    source: str


@dataclass(frozen=True)
class Toolkit:
    """A CUDA toolkit in a directory."""

    path: str
    real_path: str
    version: str | None
    has_ptxas: bool
    has_libdevice: bool
    cudnn: str | None


@dataclass(frozen=True)
class Cuda:
    """Toolkits, compilers and libraries of CUDA, in the order a loader would meet them."""

    toolkits: tuple[Toolkit, ...]
    nvcc: Tool | None
    ptxas: tuple[Tool, ...]
    libdevice: tuple[str, ...]
    libraries: tuple[Library, ...]
    flavours: tuple[tuple[str, str], ...]
    loader_truncated: bool


@dataclass(frozen=True)
class Tpu:
    """TPU chips, their nodes, lock file and who holds them."""

    chips: tuple[Card, ...]
    nodes: tuple[Node, ...]
    lock: str | None
    holders: tuple[int, ...]


@dataclass(frozen=True)
class Rocm:
    """AMD GPUs and ROCm installations."""

    gpus: tuple[str, ...]
    kfd: Node | None
    versions: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Oneapi:
    """oneAPI installations, and the Level Zero loader through which Intel GPUs are reached."""

    versions: tuple[tuple[str, str], ...]
    loader: str | None


@dataclass(frozen=True)
class Facts:
    """All that was read of one machine; see `install_helper.inspect`."""

    system: System
    python: Python
    packages: Packages
    cards: Value[tuple[Card, ...]]
    nvidia: Nvidia
    cuda: Cuda
    tpu: Tpu
    rocm: Rocm
    oneapi: Oneapi
    env: Mapping[str, str]

    def as_dict(self) -> dict[str, Any]:
        """The facts as plain dictionaries, lists, numbers and texts."""
        return plain(self)


def plain(value: Any) -> Any:
    """Records as dictionaries, for JSON."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    return value

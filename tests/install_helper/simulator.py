"""Simulated systems: a root of plain files, fake programs, fake site-packages."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import install_helper
from install_helper import Description, matrix

TRIPLET = "/usr/lib/x86_64-linux-gnu"
RELEASE = "0.12.0.1"
# The environment is active: its programs come first.
PATH = "/venv/bin:/opt/conda/bin:/usr/local/bin:/usr/bin:/bin"

# Wheels that belong together, as a resolver would have picked them.
WHEELS = {
    12: {
        "nvidia-cublas-cu12": "12.8.4.1",
        "nvidia-cuda-cupti-cu12": "12.8.90",
        "nvidia-cuda-nvcc-cu12": "12.8.93",
        "nvidia-cuda-nvrtc-cu12": "12.8.93",
        "nvidia-cuda-runtime-cu12": "12.8.90",
        "nvidia-cudnn-cu12": "9.10.2.21",
        "nvidia-cufft-cu12": "11.3.3.83",
        "nvidia-cusolver-cu12": "11.7.3.90",
        "nvidia-cusparse-cu12": "12.5.8.93",
        "nvidia-nccl-cu12": "2.27.3",
        "nvidia-nvjitlink-cu12": "12.8.93",
        "nvidia-nvshmem-cu12": "3.3.20",
    },
    13: {
        "nvidia-cublas": "13.0.2.14",
        "nvidia-cuda-cupti": "13.0.85",
        "nvidia-cuda-nvcc": "13.0.88",
        "nvidia-cuda-nvrtc": "13.0.88",
        "nvidia-cuda-runtime": "13.0.96",
        "nvidia-cudnn-cu13": "9.13.0.50",
        "nvidia-cufft": "12.0.0.61",
        "nvidia-cusolver": "12.0.4.66",
        "nvidia-cusparse": "12.6.3.3",
        "nvidia-nccl-cu13": "2.27.7",
        "nvidia-nvjitlink": "13.0.88",
        "nvidia-nvshmem-cu13": "3.3.24",
        "nvidia-nvvm": "13.0.88",
    },
}

SMI = """#!/bin/sh
case "$*" in
  *compute-apps*) printf '%s' '{processes}' ;;
  -L) printf '%s' '{listing}' ;;
  *compute_cap*) if [ -n '{old}' ]; then
    echo 'Field "compute_cap" is not a valid field to query.'; exit 2
    else printf '%s' '{rows}'; fi ;;
  *--query-gpu*) printf '%s' '{old}' ;;
esac
"""


class Machine:
    """One simulated system below a directory."""

    def __init__(self, root: Path, *, python: str = "3.12", machine: str = "x86_64") -> None:
        self.root = root
        self.env: dict[str, str] = {"PATH": PATH}
        self.system = "Linux"
        self.machine = machine
        self.libc: tuple[str, str] | None = ("glibc", "2.35")
        self.native: dict[str, Any] | None = None
        self.sysctl: dict[str, str] | None = None
        self.denied: list[str] = []
        self.prefix = "/venv"
        self.python: dict[str, Any] = {"version": f"{python}.1"}
        self.file(
            "/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu sse sse2 ssse3 fma avx avx2 xsave\n"
        )
        self.file("/proc/sys/kernel/osrelease", "6.8.0-45-generic\n")
        self.file("/etc/os-release", 'ID=ubuntu\nVERSION_ID="24.04"\n')
        self.file("/etc/ld.so.conf", "include /etc/ld.so.conf.d/*.conf\n")
        self.file("/proc/modules", "")
        self.directory("/sys/bus/pci/devices")
        self.package("pip", "25.0", files=["pip/__init__.py"])

    @property
    def site(self) -> str:
        """The site-packages directory."""
        version = ".".join(self.python["version"].split(".")[:2])
        return f"{self.prefix}/lib/python{version}/site-packages"

    def path(self, path: str) -> Path:
        """Where a path of the system lies for us."""
        return self.root / path.lstrip("/")

    def directory(self, path: str) -> None:
        """Make a directory."""
        self.path(path).mkdir(parents=True, exist_ok=True)

    def file(self, path: str, text: str | bytes = "", mode: int = 0o644) -> None:
        """Write a file."""
        where = self.path(path)
        where.parent.mkdir(parents=True, exist_ok=True)
        where.write_bytes(text.encode() if isinstance(text, str) else text)
        where.chmod(mode)

    def link(self, path: str, target: str) -> None:
        """Make a link."""
        where = self.path(path)
        where.parent.mkdir(parents=True, exist_ok=True)
        where.unlink(missing_ok=True)
        where.symlink_to(target)

    def program(self, path: str, text: str) -> None:
        """Write an executable script."""
        self.file(path, text, 0o755)

    def package(
        self,
        name: str,
        version: str,
        requires: Iterable[str] = (),
        *,
        files: Iterable[str] = (),
        missing: Iterable[str] = (),
        installer: str = "pip",
        site: str | None = None,
        tag: str = "",
    ) -> None:
        """Install a distribution; `missing` files are listed and not there."""
        site = site or self.site
        folder = f"{site}/{name.replace('-', '_')}-{version}.dist-info"
        lines = [f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}"]
        lines += [f"Requires-Dist: {line}" for line in requires]
        self.file(f"{folder}/METADATA", "\n".join(lines) + "\n\ndescription\n")
        self.file(f"{folder}/INSTALLER", installer + "\n")
        self.file(f"{folder}/WHEEL", f"Wheel-Version: 1.0\nTag: {tag}\n" if tag else "")
        self.file(f"{folder}/RECORD", "".join(f"{f},sha256=x,1\n" for f in [*files, *missing]))
        for file in files:
            self.file(f"{site}/{file}", "x")

    def remove(self, name: str) -> None:
        """Remove a distribution's metadata, and leave its files."""
        for folder in self.path(self.site).glob(f"{name.replace('-', '_')}-*.dist-info"):
            for file in folder.iterdir():
                file.unlink()
            folder.rmdir()

    def cpu(self, version: str = RELEASE, *, numpy: str = "2.3.0") -> None:
        """Install jax and jaxlib."""
        row = matrix.framework(version) or {}
        least = row.get("jaxlib_min", version)
        self.package("jax", version, [f"jaxlib<={version},>={least}"])
        self.package("jaxlib", version, ["numpy>=1.20"])
        self.package("numpy", numpy)

    def cuda(self, major: int = 12, version: str = RELEASE, **wheels: str | None) -> None:
        """Install jax with a CUDA plugin and its wheels; `wheels` replace versions, None omits.

        The keywords are the short names: ``cudnn="9.1.0.70"``, ``nvjitlink=None``.
        """
        self.cpu(version)
        self.plugin(major, version)
        layout = matrix.table()["nvidia_wheel_layout"][f"cu{major}"]
        bounds = matrix.wheel_bounds(f"jax-cuda{major}-plugin", version)
        for name, usual in WHEELS[major].items():
            short = name.replace("nvidia-", "").replace(f"-cu{major}", "").replace("-", "_")
            chosen = wheels.get(short, usual)
            if chosen is None or name not in bounds:
                continue
            row = layout[name]
            files = [f"{row['dir']}/{so}" for so in row.get("sonames", ())]
            files += [f"{row['dir']}/{f}" for f in row.get("files", ())]
            self.package(name, chosen, files=files)

    def plugin(self, major: int, version: str, pjrt: str | None = None) -> None:
        """Install a CUDA plugin with its pjrt package."""
        name = f"jax-cuda{major}-plugin"
        bounds = matrix.wheel_bounds(name, version)
        requires = [f"jax-cuda{major}-pjrt=={version}"]
        requires += [f'{n}{b if b != "*" else ""}; extra == "with-cuda"' for n, b in bounds.items()]
        self.package(name, version, requires)
        self.package(
            f"jax-cuda{major}-pjrt",
            pjrt or version,
            files=[f"jax_plugins/xla_cuda{major}/xla_cuda_plugin.so"],
        )

    def card(self, vendor: str = "0x10de", device: str = "0x2330", driver: str = "nvidia") -> None:
        """Put a card on the bus."""
        devices = self.path("/sys/bus/pci/devices")
        bus = f"0000:{len(list(devices.iterdir())):02x}:00.0"
        base = f"/sys/bus/pci/devices/{bus}"
        self.file(f"{base}/vendor", vendor + "\n")
        self.file(f"{base}/device", device + "\n")
        self.file(f"{base}/class", "0x030200\n" if vendor != "0x1ae0" else "0x120000\n")
        if driver:
            self.link(f"{base}/driver", f"../../../bus/pci/drivers/{driver}")

    def driver(
        self,
        version: str = "570.124.06",
        capabilities: Iterable[str] = ("8.0",),
        *,
        free: int = 80000,
        mig: str = "[N/A]",
        mode: str = "Default",
        listing: str = "",
        processes: str = "",
        module: str | None = None,
        old: bool = False,
    ) -> None:
        """A working NVIDIA driver with one GPU for each capability."""
        rows, short = [], []
        for index, capability in enumerate(capabilities):
            self.card()
            self.file(f"/dev/nvidia{index}")
            start = f"{index}, NVIDIA Card {index}, GPU-{index}1f2, {version}, 81559, {free}"
            rows.append(f"{start}, {capability}, {mig}, {mode}\n")
            short.append(f"{start}\n")
        for name in ("nvidiactl", "nvidia-uvm"):
            self.file(f"/dev/{name}")
        self.file(
            "/proc/driver/nvidia/version",
            f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {module or version}  Tue\nGCC 12\n",
        )
        self.libcuda(version)
        text = SMI.format(
            rows="".join(rows),
            listing=listing,
            processes=processes,
            old="".join(short) if old else "",
        )
        self.program("/usr/bin/nvidia-smi", text)

    def libcuda(self, version: str) -> None:
        """A user-mode driver."""
        folder = TRIPLET.replace("x86_64", self.machine) if self.system == "Linux" else TRIPLET
        self.library("libcuda.so", "1", version, folder)

    def library(self, stem: str, major: str, version: str, folder: str) -> None:
        """A shared library with its soname link."""
        self.file(f"{folder}/{stem}.{version}", "x")
        self.link(f"{folder}/{stem}.{major}", f"{stem}.{version}")

    def toolkit(
        self,
        version: str,
        path: str | None = None,
        *,
        ptxas: bool = True,
        libdevice: bool = True,
        cudnn: str | None = None,
    ) -> str:
        """A CUDA toolkit with its version file."""
        short = ".".join(version.split(".")[:2])
        path = path or f"/usr/local/cuda-{short}"
        self.file(f"{path}/version.json", json.dumps({"cuda": {"version": version}}))
        self.library("libcudart.so", short.split(".")[0], version, f"{path}/lib64")
        if ptxas:
            self.ptxas(f"{path}/bin/ptxas", version)
        if libdevice:
            self.file(f"{path}/nvvm/libdevice/libdevice.10.bc")
        if cudnn:
            parts = zip(("MAJOR", "MINOR", "PATCHLEVEL"), cudnn.split("."))
            text = "".join(f"#define CUDNN_{name} {value}\n" for name, value in parts)
            self.file(f"{path}/include/cudnn_version.h", text)
        return path

    def ptxas(self, path: str, version: str) -> None:
        """A ptxas that prints its version."""
        short = ".".join(version.split(".")[:2])
        self.program(
            path, f"#!/bin/sh\necho 'Cuda compilation tools, release {short}, V{version}'\n"
        )

    def conda(self, *packages: tuple[str, str, str]) -> None:
        """A conda environment with records of packages: name, version, build."""
        self.directory(f"{self.prefix}/conda-meta")
        for name, version, build in packages:
            row = {"name": name, "version": version, "build": build}
            self.file(f"{self.prefix}/conda-meta/{name}-{version}-{build}.json", json.dumps(row))

    def wsl(self) -> None:
        """Turn into WSL2 with a GPU."""
        self.file("/proc/sys/kernel/osrelease", "5.15.153.1-microsoft-standard-WSL2\n")
        self.file("/dev/dxg")
        self.file("/usr/lib/wsl/lib/libcuda.so.1")

    def interpreter(self) -> dict[str, Any]:
        """What the Python says of itself."""
        base = "/usr" if self.prefix == "/venv" else self.prefix
        name = "VIRTUAL_ENV" if self.prefix == "/venv" else "CONDA_PREFIX"
        self.env.setdefault(name, self.prefix)
        self.program(f"{self.prefix}/bin/python", "#!/bin/sh\n")
        return {
            "prefix": self.prefix,
            "base_prefix": base,
            "paths": [self.site],
            "executable": f"{self.prefix}/bin/python",
            "working_directory": "/home/user",
            **self.python,
        }

    def description(self) -> Description:
        """What is told of the system instead of read."""
        return Description(
            system=self.system,
            machine=self.machine,
            libc=self.libc,
            python=self.interpreter(),
            native=self.native,
            sysctl=self.sysctl,
            denied=tuple(self.denied),
        )

    def describe(self) -> None:
        """Write the description into the root, for the command line."""
        described = self.description()
        row = {name: getattr(described, name) for name in described.__dataclass_fields__}
        self.file("/install-helper.json", json.dumps({**row, "env": self.env}))

    def inspect(self) -> install_helper.Facts:
        """Read the system."""
        return install_helper.inspect(
            self.root, env=self.env, description=self.description(), run_programs=True
        )

    def findings(self) -> list[install_helper.Finding]:
        """What the rules find."""
        return install_helper.diagnose(self.inspect())

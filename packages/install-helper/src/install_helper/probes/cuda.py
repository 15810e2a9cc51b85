"""CUDA toolkits, ptxas, libdevice and shared libraries, in the order a loader would meet them."""

from __future__ import annotations

import json
import re

from install_helper import matrix
from install_helper.facts import Cuda, Library, Packages, Python, System, Tool, Toolkit
from install_helper.host import Host
from install_helper.versions import parse

LIBRARY = re.compile(
    r"lib(cuda|cudart|cublas|cublasLt|cudnn|cufft|cusolver|cusparse|nvJitLink|cupti|nvrtc|nccl|"
    r"nvshmem_host|nvidia-ml|rocm_smi64|amdhip64|rocprofiler-sdk-attach|tpu)\.so(\.[\d.]+)?$"
)
LOADER_FOLDERS = 256
NIX_DRIVER = "/run/opengl-driver/lib"
DEFAULT_FOLDERS = ("/lib64", "/usr/lib64", "/lib", "/usr/lib")
TRIPLETS = {"x86_64": "x86_64-linux-gnu", "aarch64": "aarch64-linux-gnu"}


def probe(host: Host, python: Python, packages: Packages, system: System) -> Cuda:
    """Read what CUDA there is."""
    kits = toolkits(host, python)
    sites = tuple(p for p in python.paths if p.endswith(("site-packages", "dist-packages")))
    path = [d for d in host.env.get("LD_LIBRARY_PATH", "").split(":") if d.startswith("/")]
    return Cuda(
        toolkits=kits,
        nvcc=compiler_on_path(host),
        ptxas=compilers(host, kits, sites, packages, python),
        libdevice=libdevice(host, kits, sites, python),
        libraries=libraries(host, kits, sites, system, packages),
        flavours=flavours(host),
        loader_truncated=len(path) > LOADER_FOLDERS,
    )


def flag_directory(host: Host) -> str | None:
    """The CUDA directory that XLA_FLAGS names."""
    match = re.search(r"--xla_gpu_cuda_data_dir=(\S+)", host.env.get("XLA_FLAGS", "")[:20_000])
    return match[1].strip("'\"") if match else None


def toolkit_folders(host: Host, python: Python) -> list[str]:
    """Where toolkits are looked for, the most telling first."""
    found = [host.env.get(n, "") for n in ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "CUDA_DIR")]
    found.append(flag_directory(host) or "")
    for program in ("nvcc", "ptxas"):
        path = host.find(program)
        if path and path.endswith(f"/bin/{program}"):
            found.append(path[: -len(f"/bin/{program}")])
    found.append("/usr/local/cuda")
    found += [f"/usr/local/{n}" for n in host.list("/usr/local") if n.startswith("cuda-")]
    found += ["/opt/cuda", "/usr/lib/cuda", "/usr/lib/nvidia-cuda-toolkit"]
    if python.conda:
        found.append(python.prefix)
    return [path.rstrip("/") for path in dict.fromkeys(found) if path.startswith("/")]


def toolkits(host: Host, python: Python) -> tuple[Toolkit, ...]:
    """The toolkits that were found, each directory once."""
    found: dict[str, Toolkit] = {}
    for path in toolkit_folders(host, python)[:64]:
        real = host.resolve(path)
        if path in ("/usr", "/usr/local", "") or real in found or not host.is_dir(path):
            continue
        version = toolkit_version(host, path)
        ptxas = host.exists(f"{path}/bin/ptxas")
        device = host.exists(f"{path}/nvvm/libdevice/libdevice.10.bc")
        if version or ptxas or device:
            found[real] = Toolkit(path, real, version, ptxas, device, cudnn_header(host, path))
    return tuple(found.values())


def toolkit_version(host: Host, path: str) -> str | None:
    """A toolkit's version: from its version file, its header, nvcc, or its directory's name."""
    try:
        version = json.loads(host.read(f"{path}/version.json", 1 << 16).value or "")
        return str(version["cuda"]["version"])
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    match = re.search(
        r"CUDA Version (\d+\.\d+(?:\.\d+)?)", host.read(f"{path}/version.txt", 999).value or ""
    )
    if match:
        return match[1]
    header = host.read(f"{path}/include/cuda.h", 1 << 18).value or ""
    match = re.search(r"#define CUDA_VERSION (\d{4,6})\s", header)
    if match:
        return f"{int(match[1]) // 1000}.{int(match[1]) % 1000 // 10}"
    if host.exists(f"{path}/bin/nvcc"):
        version = program_version(host, f"{path}/bin/nvcc")
        if version:
            return version
    match = re.search(r"cuda-(\d+\.\d+)$", host.resolve(path))
    return match[1] if match else None


def program_version(host: Host, path: str) -> str | None:
    """The number behind V in what ``nvcc --version`` and ``ptxas --version`` print."""
    answer = host.run([path, "--version"], 1.0).value
    match = re.search(r"release [\d.]+, V(\d+\.\d+\.\d+)", answer.out if answer else "")
    return match[1] if match else None


def compiler_on_path(host: Host) -> Tool | None:
    """The nvcc that a shell finds."""
    path = host.find("nvcc")
    return Tool(path, program_version(host, path), "PATH") if path else None


def cudnn_header(host: Host, path: str) -> str | None:
    """The cuDNN version that a header states."""
    for name in ("cudnn_version.h", "cudnn.h"):
        text = host.read(f"{path}/include/{name}", 1 << 16).value or ""
        parts = [
            re.search(rf"#define CUDNN_{p}\s+(\d+)", text) for p in ("MAJOR", "MINOR", "PATCHLEVEL")
        ]
        if all(parts):
            return ".".join(part[1] for part in parts if part)
    return None


def compilers(
    host: Host,
    kits: tuple[Toolkit, ...],
    sites: tuple[str, ...],
    packages: Packages,
    python: Python,
) -> tuple[Tool, ...]:
    """Every ptxas, in the order in which it is looked for."""
    candidates = []
    for site in sites:
        candidates += [(f"{site}/nvidia/cuda_nvcc/bin/ptxas", "wheel nvidia-cuda-nvcc-cu12")]
        candidates += [(f"{site}/nvidia/cu13/bin/ptxas", "wheel nvidia-cuda-nvcc")]
    named = flag_directory(host)
    candidates += [(f"{named}/bin/ptxas", "XLA_FLAGS")] if named else []
    on_path = host.find("ptxas")
    candidates += [(on_path, "PATH")] if on_path else []
    candidates += [(f"{kit.path}/bin/ptxas", "toolkit") for kit in kits]
    candidates += [(f"{python.prefix}/bin/ptxas", "conda")] if python.conda else []
    versions = {d.name: d.version for d in packages.distributions.value or ()}
    found: dict[str, Tool] = {}
    for path, source in candidates[:32]:
        real = host.resolve(path)
        if real in found or not host.exists(path):
            continue
        if source.startswith("wheel"):
            version = versions.get(source.split()[1])
        else:
            version = program_version(host, path) or _kit_version(kits, path)
        found[real] = Tool(path, version, source)
    return tuple(found.values())


def _kit_version(kits: tuple[Toolkit, ...], path: str) -> str | None:
    return next((kit.version for kit in kits if path.startswith(kit.path + "/")), None)


def libdevice(
    host: Host, kits: tuple[Toolkit, ...], sites: tuple[str, ...], python: Python
) -> tuple[str, ...]:
    """Every libdevice where XLA looks: wheels, XLA_FLAGS, /usr/local, /opt."""
    folders = [f"{site}/nvidia/{d}" for site in sites for d in ("cuda_nvcc", "cu13")]
    folders += [flag_directory(host) or "", "/usr/local/cuda", "/opt/cuda"]
    folders += [kit.path for kit in kits if kit.path.startswith("/usr/local/cuda-")]
    folders += [python.prefix] if python.conda else []
    paths = [f"{folder}/nvvm/libdevice/libdevice.10.bc" for folder in folders if folder]
    return tuple(path for path in paths if host.exists(path))


def libraries(
    host: Host,
    kits: tuple[Toolkit, ...],
    sites: tuple[str, ...],
    system: System,
    packages: Packages,
) -> tuple[Library, ...]:
    """The libraries of the CUDA and ROCm families, a loader's order within each source."""
    found = []
    for source, folders in _folders(host, kits, sites, system):
        for folder in folders:
            found += _libraries_in(host, folder, source)
    wheels = _wheel_versions(packages)
    return tuple(
        item
        if item.version or item.source != "wheel"
        else Library(item.name, item.path, wheels.get(item.name), item.source)
        for item in found[:2000]
    )


def _folders(
    host: Host, kits: tuple[Toolkit, ...], sites: tuple[str, ...], system: System
) -> list[tuple[str, list[str]]]:
    wheels = [
        f"{site}/nvidia/{name}/lib" for site in sites for name in host.list(f"{site}/nvidia")[:100]
    ]
    loader = [d for d in host.env.get("LD_LIBRARY_PATH", "").split(":") if d.startswith("/")]
    cached = cache_folders(host)
    triplet = TRIPLETS.get(system.machine.value or "", "x86_64-linux-gnu")
    default = [f"/lib/{triplet}", f"/usr/lib/{triplet}", *DEFAULT_FOLDERS]
    reached = {host.resolve(f) for f in [*cached, *default]}
    toolkit = [
        f"{kit.path}/{d}" for kit in kits for d in ("lib64", "lib", "targets/x86_64-linux/lib")
    ]
    other = ["/usr/lib/wsl/lib", "/opt/rocm/lib", "/usr/lib/nvidia", NIX_DRIVER]
    return [
        ("wheel", wheels),
        ("LD_LIBRARY_PATH", list(dict.fromkeys(loader))[:LOADER_FOLDERS]),
        ("cache", cached),
        ("default", [f for f in default if f not in cached]),
        ("toolkit", [f for f in toolkit if host.resolve(f) not in reached]),
        ("package", [f"{site}/torch/lib" for site in sites]),
        ("other", [f for f in other if host.resolve(f) not in reached]),
    ]


def cache_folders(host: Host) -> list[str]:
    """The directories that the loader's cache covers, from its configuration files."""
    texts = [host.read("/etc/ld.so.conf").value or ""]
    for name in host.list("/etc/ld.so.conf.d")[:200]:
        if name.endswith(".conf"):
            texts.append(host.read(f"/etc/ld.so.conf.d/{name}", 1 << 14).value or "")
    lines = [line.strip() for text in texts for line in text.splitlines()]
    return list(dict.fromkeys(line.rstrip("/") for line in lines if line.startswith("/")))[:200]


def _libraries_in(host: Host, folder: str, source: str) -> list[Library]:
    found: dict[str, Library] = {}
    for name in host.list(folder):
        match = LIBRARY.match(name)
        if match is None:
            continue
        path = f"{folder}/{name}"
        version = re.search(r"\.so\.([\d.]+)$", host.resolve(path))
        # One name is enough: libX.so.9 and libX.so.9.1.0 are one library.
        key = f"lib{match[1]}.so.{(match[2] or '.').split('.')[1]}".rstrip(".")
        text = version[1] if version and "." in version[1] else None
        best = found.get(key)
        if best is None or (text and not best.version):
            found[key] = Library(key, path, text if parse(text) else None, source)
    return list(found.values())


def _wheel_versions(packages: Packages) -> dict[str, str | None]:
    installed = {d.name: d.version for d in packages.distributions.value or ()}
    layout = matrix.table()["nvidia_wheel_layout"]
    return {
        soname: installed[name]
        for family in ("cu12", "cu13")
        for name, row in layout[family].items()
        if name in installed
        for soname in row.get("sonames", ())
    }


def flavours(host: Host) -> tuple[tuple[str, str], ...]:
    """The cuDNN packages of the distribution; their version names the CUDA they were built for."""
    status = host.read("/var/lib/dpkg/status", 8 << 20).value or ""
    return tuple(
        re.findall(r"^Package: (libcudnn\d\S*)\n(?:.+\n)*?Version: (\S+)", status, re.M)[:8]
    )

"""Set-ups in which nothing is wrong."""

from __future__ import annotations

from collections.abc import Callable

from scenarios import TRIPLET
from simulator import RELEASE, Machine

HEALTHY: list[Callable[[Machine], None]] = []


def healthy(build: Callable[[Machine], None]) -> Callable[[Machine], None]:
    """Register a set-up."""
    HEALTHY.append(build)
    return build


@healthy
def bare_machine(m):
    pass


@healthy
def cpu_only(m):
    m.cpu()


@healthy
def covector_on_cpu(m):
    m.package("covector-core", "0.1.0", ["jaxlib>=0.11.2,<0.13", "ml_dtypes>=0.5", "numpy>=2.0"])
    m.package("jaxlib", RELEASE, ["numpy>=2.0"])
    m.package("numpy", "2.3.0")
    m.package("ml-dtypes", "0.5.1")


@healthy
def cuda_12(m):
    m.driver()
    m.cuda()


@healthy
def cuda_13(m):
    m.driver("580.95.05", ("9.0",))
    m.cuda(13)


@healthy
def cuda_12_on_a_driver_for_13(m):
    m.driver("595.71.05", ("7.0",))
    m.cuda()


@healthy
def eight_gpus(m):
    m.driver("580.95.05", ("9.0",) * 8)
    m.cuda(13)
    m.env["CUDA_VISIBLE_DEVICES"] = "0,1,2,3,4,5,6,7"


@healthy
def gpu_chosen_by_uuid(m):
    m.driver(capabilities=("8.0", "8.0"))
    m.cuda()
    m.env["CUDA_VISIBLE_DEVICES"] = "GPU-11f2"


@healthy
def one_mig_instance(m):
    m.driver(mig="Enabled", listing="  MIG 1g.5gb Device 0: (UUID: MIG-aa0)\n")
    m.cuda()
    m.env["CUDA_VISIBLE_DEVICES"] = "MIG-aa0"


@healthy
def pascal_with_held_cudnn(m):
    m.driver("570.124.06", ("6.1",))
    m.cuda(cudnn="9.10.2.21")


@healthy
def blackwell(m):
    m.driver("590.48.01", ("12.0",))
    m.cuda(13)


@healthy
def old_release_of_its_time(m):
    m.driver("550.54.14")
    m.cuda(12, "0.4.38", cuda_nvcc="12.4.131", nvjitlink="12.4.127", cuda_runtime="12.4.127",
           cudnn="9.1.0.70")  # fmt: skip
    m.remove("nvidia-cuda-nvcc-cu12")
    m.package("nvidia-cuda-nvcc-cu12", "12.6.85",
              files=["nvidia/cuda_nvcc/nvvm/libdevice/libdevice.10.bc"])  # fmt: skip
    m.native = {"loaded": True, "cuda": 12060, "init": 0, "count": 1, "capabilities": ["8.0"]}


@healthy
def monolithic_jaxlib(m):
    m.driver("535.183.01")
    m.package("jax", "0.4.20")
    m.package("jaxlib", "0.4.20+cuda12.cudnn89", ["numpy>=1.22"])
    m.package("numpy", "1.26.4")
    m.toolkit("12.2.2", "/usr/local/cuda")
    m.library("libcudnn.so", "8", "8.9.7", TRIPLET)


@healthy
def own_toolkit(m):
    m.driver()
    m.cpu()
    m.plugin(12, RELEASE)
    m.toolkit("12.8.1", "/usr/local/cuda")
    m.file("/etc/ld.so.conf.d/cuda.conf", "/usr/local/cuda/lib64\n")
    m.library("libcudnn.so", "9", "9.10.2", TRIPLET)
    m.env["PATH"] = "/usr/local/cuda/bin:/usr/bin"


@healthy
def toolkit_beside_wheels(m):
    m.driver()
    m.cuda()
    m.toolkit("12.8.1")
    m.link("/usr/local/cuda", "cuda-12.8")


@healthy
def newer_libraries_on_the_loader_path(m):
    m.driver("580.95.05")
    m.cuda()
    m.env["LD_LIBRARY_PATH"] = "/opt/new/lib64:/home/user/lib"
    m.library("libnvJitLink.so", "12", "12.9.86", "/opt/new/lib64")


@healthy
def torch_in_agreement(m):
    m.driver("575.57.08")
    m.cuda()
    m.package("torch", "2.8.0", ["nvidia-cudnn-cu12==9.10.2.21; platform_system == 'Linux'"])


@healthy
def docker_with_gpu(m):
    m.driver()
    m.cuda()
    m.file("/.dockerenv")
    m.env |= {"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "compute,utility"}


@healthy
def docker_on_cpu(m):
    m.card()
    m.cpu()
    m.file("/.dockerenv")


@healthy
def cuda_image_on_a_host_without_card(m):
    m.cuda()
    m.file("/.dockerenv")
    m.env["NVIDIA_VISIBLE_DEVICES"] = "all"


@healthy
def toolkit_of_the_same_minor_on_the_loader_path(m):
    m.driver()
    m.cuda()
    m.env["LD_LIBRARY_PATH"] = "/opt/cuda-12.8/lib64"
    m.library("libnvJitLink.so", "12", "12.8.61", "/opt/cuda-12.8/lib64")


@healthy
def wsl(m):
    m.wsl()
    m.file("/etc/ld.so.conf.d/ld.wsl.conf", "/usr/lib/wsl/lib\n")
    m.cuda()
    row = "0, NVIDIA RTX, GPU-01f2, 572.61, 24564, 23000"
    answer = f"*_cap*) echo '{row}, 8.6, [N/A], Default';;"
    m.program("/usr/lib/wsl/lib/nvidia-smi", f'#!/bin/sh\ncase "$*" in {answer} esac\n')


@healthy
def conda_cuda(m):
    m.driver()
    m.prefix = "/opt/conda"
    m.conda(("jaxlib", "0.9.0", "cuda128py312h_0"), ("jax", "0.9.0", "pyh_0"),
            ("cuda-nvcc-tools", "12.8.93", "h_0"), ("cuda-version", "12.8", "h_3"),
            ("cudnn", "9.10.2", "h_0"))  # fmt: skip
    m.package("jax-cuda12-plugin", "0.9.0", installer="conda")
    m.package("jax-cuda12-pjrt", "0.9.0", installer="conda")
    m.package("jaxlib", "0.9.0", installer="conda")
    m.ptxas("/opt/conda/bin/ptxas", "12.8.93")
    m.file("/opt/conda/nvvm/libdevice/libdevice.10.bc")


@healthy
def conda_cpu(m):
    m.prefix = "/opt/conda"
    m.conda(("jaxlib", "0.9.0", "cpu_py312h_0"), ("jax", "0.9.0", "pyh_0"))


@healthy
def tpu(m):
    m.card("0x1ae0", "0x0063", "vfio-pci")
    m.file("/dev/accel0")
    m.cpu()
    m.package("libtpu", "0.0.50.1")


@healthy
def rocm(m):
    m.card("0x1002", "0x74a1", "amdgpu")
    m.cpu("0.12.0")
    m.package("jax-rocm7-plugin", "0.12.0")
    m.package("jax-rocm7-pjrt", "0.12.0")
    m.file("/opt/rocm/.info/version", "7.14.0-43\n")
    m.file("/dev/kfd")
    m.file("/sys/class/kfd/kfd/topology/nodes/1/properties",
           "simd_count 304\ngfx_target_version 90402\n")  # fmt: skip
    m.env["JAX_PLATFORMS"] = "rocm,cpu"


@healthy
def apple_silicon(m):
    m.system, m.machine, m.libc = "Darwin", "arm64", None
    m.sysctl = {"hw.optional.arm64": "1", "sysctl.proc_translated": "0"}
    m.cpu()


@healthy
def metal_of_its_time(m):
    m.system, m.machine, m.libc = "Darwin", "arm64", None
    m.sysctl = {"hw.optional.arm64": "1"}
    m.cpu("0.5.0")
    m.package("jax-metal", "0.1.1", ["jax>=0.4.34"])


@healthy
def intel_mac_held(m):
    m.system, m.machine, m.libc = "Darwin", "x86_64", None
    m.sysctl = {"hw.optional.avx1_0": "1"}
    m.cpu("0.4.38")


@healthy
def windows_cpu(m):
    m.system, m.machine, m.libc = "Windows", "AMD64", None
    m.cpu()


@healthy
def old_glibc_with_its_release(m):
    m.libc = ("glibc", "2.17")
    m.python["version"] = "3.11.9"
    m.cpu("0.7.0")


@healthy
def server_arm(m):
    m.machine = "aarch64"
    m.file("/proc/cpuinfo", "Features\t: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics\n")
    m.driver("580.95.05", ("9.0",))
    m.cuda(13)


@healthy
def cpu_wanted_on_a_gpu_machine(m):
    m.driver()
    m.cpu()
    m.env["JAX_PLATFORMS"] = "cpu"


@healthy
def release_newer_than_the_table(m):
    m.driver("595.71.05", ("9.0",))
    version = "0.15.0"
    m.package("jax", version, ["jaxlib<=0.15.0,>=0.14.0"])
    m.package("jaxlib", version, ["numpy>=2.4"])
    m.package("numpy", "2.6.0")
    names = {"nvidia-cublas": "13.4.0.1", "nvidia-cudnn-cu13": "9.28.1.4", "nvidia-nvvm": "13.2.9"}
    m.package("jax-cuda13-plugin", version,
              [f"jax-cuda13-pjrt=={version}",
               *(f'{n}>=9; extra == "with-cuda"' for n in names)])  # fmt: skip
    m.package("jax-cuda13-pjrt", version)
    for name, number in names.items():
        m.package(name, number)
    m.file(f"{m.site}/nvidia/cu13/nvvm/libdevice/libdevice.10.bc")


@healthy
def xla_flags_in_order(m):
    m.cpu()
    m.env["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8 '--xla_dump_to=/tmp/a b'"


@healthy
def free_threaded(m):
    m.python |= {"version": "3.14.1", "free_threaded": True}
    m.cpu()


@healthy
def laptop_card_for_a_guest(m):
    m.card(driver="vfio-pci")
    m.cpu()

"""One simulated system for each case, and the levels at which it must be found."""

from __future__ import annotations

from collections.abc import Callable

from simulator import TRIPLET, Machine

Scenario = tuple[str, str, Callable[[Machine], None]]
SCENARIOS: list[Scenario] = []


def case(id: str, level: str = "error"):
    """Register a function that breaks a machine in the way of a case."""

    def register(build: Callable[[Machine], None]) -> Callable[[Machine], None]:
        SCENARIOS.append((id, level, build))
        return build

    return register


@case("C01", "warn")
def cpu_only(m):
    m.driver()
    m.cpu()


@case("C02")
def some_wheel_missing(m):
    m.driver()
    m.cuda(cusolver=None)


@case("C03")
def old_driver_for_13(m):
    m.driver("570.124.06")
    m.cuda(13)


@case("C04", "warn")
def driver_older_than_ptxas(m):
    m.driver("550.54.14")
    m.cuda()


@case("C05")
def smi_mismatch(m):
    m.driver()
    m.cuda()
    m.program(
        "/usr/bin/nvidia-smi",
        "#!/bin/sh\necho 'Failed to initialize NVML: Driver/library version mismatch'\nexit 18\n",
    )


@case("C05")
def two_versions_on_disk(m):
    m.driver("570.124.06", module="570.86.15")
    m.cuda()


@case("C06")
def nouveau(m):
    m.card(driver="nouveau")
    m.file("/proc/modules", "nouveau 2396160 1 - Live 0x0\n")
    m.cuda()


@case("C06")
def secure_boot(m):
    m.card(driver="")
    m.cpu()
    m.file("/sys/firmware/efi/efivars/SecureBoot-8be4", b"\x06\0\0\0\x01")
    m.program(
        "/usr/bin/nvidia-smi",
        "#!/bin/sh\necho \"NVIDIA-SMI has failed because it couldn't "
        'communicate with the NVIDIA driver."\nexit 9\n',
    )


@case("C07")
def no_libcuda(m):
    m.driver()
    m.cuda()
    for name in ("libcuda.so.1", "libcuda.so.570.124.06"):
        m.path(f"{TRIPLET}/{name}").unlink()


@case("C08")
def docker_without_gpus(m):
    m.card()
    m.file("/.dockerenv")
    m.cuda()


@case("C08")
def apptainer_without_nv(m):
    m.env["APPTAINER_NAME"] = "image.sif"
    m.file("/dev/nvidia0")
    m.file("/dev/nvidiactl")
    m.file("/dev/nvidia-uvm")
    m.cuda()


@case("C08")
def rootless_cgroups(m):
    m.driver()
    m.cuda()
    m.file("/run/.containerenv")
    m.program(
        "/usr/bin/nvidia-smi",
        "#!/bin/sh\necho 'Failed to initialize NVML: Unknown Error'\nexit 255\n",
    )


@case("C09")
def linux_driver_in_wsl(m):
    m.wsl()
    m.file("/etc/ld.so.conf.d/ld.wsl.conf", "/usr/lib/wsl/lib\n")
    m.libcuda("535.183.01")
    m.cuda()


@case("C09")
def wsl_loader_path(m):
    m.wsl()
    m.cuda()


@case("C10")
def all_hidden(m):
    m.driver()
    m.cuda()
    m.env["CUDA_VISIBLE_DEVICES"] = ""


@case("C10")
def index_too_large(m):
    m.driver(capabilities=("8.0", "8.0"))
    m.cuda()
    m.env["CUDA_VISIBLE_DEVICES"] = "0,4"


@case("C10")
def slurm(m):
    m.driver()
    m.cuda()
    m.env |= {"CUDA_VISIBLE_DEVICES": "NoDevFiles", "SLURM_JOB_ID": "7"}


@case("C11", "warn")
def no_mig_instance(m):
    m.driver(mig="Enabled", listing="GPU 0: NVIDIA Card 0 (UUID: GPU-01f2)\n")
    m.cuda()


@case("C11", "warn")
def two_mig_instances(m):
    lines = "".join(f"  MIG 1g Device {i}: (UUID: MIG-aa{i})\n" for i in range(2))
    m.driver(mig="Enabled", listing=lines)
    m.cuda()
    m.env["CUDA_VISIBLE_DEVICES"] = "MIG-aa0,MIG-aa1"


@case("C12")
def node_denied(m):
    m.driver()
    m.cuda()
    m.denied.append("/dev/nvidia0")


@case("C12")
def no_uvm(m):
    m.driver()
    m.cuda()
    m.path("/dev/nvidia-uvm").unlink()


def _loader(m, folder="/opt/old/lib64"):
    m.env["LD_LIBRARY_PATH"] = folder
    return folder


@case("C13")
def older_nvjitlink(m):
    m.driver()
    m.cuda()
    m.library("libnvJitLink.so", "12", "12.2.140", _loader(m))


@case("C14")
def loader_first(m):
    m.driver()
    m.cpu("0.4.16", numpy="1.26.4")
    m.remove("jaxlib")
    m.package("jaxlib", "0.4.16+cuda12.cudnn89", ["numpy>=1.22"])
    m.package("nvidia-cudnn-cu12", "8.9.7.29", files=["nvidia/cudnn/lib/libcudnn.so.8"])
    m.package(
        "nvidia-cuda-runtime-cu12", "12.2.140", files=["nvidia/cuda_runtime/lib/libcudart.so.12"]
    )
    m.library("libcudart.so", "12", "12.0.107", _loader(m))
    m.file(f"{m.site}/nvidia/cuda_nvcc/nvvm/libdevice/libdevice.10.bc")


@case("C15")
def old_cudnn_wheel(m):
    m.driver()
    m.cuda(cudnn="9.1.0.70")


@case("C15")
def old_cudnn_of_the_system(m):
    m.driver()
    m.cpu()
    m.plugin(12, "0.12.0.1")
    m.toolkit("12.8.1", "/usr/local/cuda")
    m.file("/etc/ld.so.conf.d/cuda.conf", "/usr/local/cuda/lib64\n")
    m.library("libcudnn.so", "9", "9.3.0", TRIPLET)


@case("C16")
def old_cublas_wheel(m):
    m.driver()
    m.cuda(cublas="12.0.1.189")


@case("C16")
def strict_release(m):
    m.driver()
    m.cuda(version="0.4.30", cudnn="8.9.7.29")


@case("C17")
def torch_pins_cudnn(m):
    m.driver()
    m.cuda(cudnn="9.1.0.70")
    m.package("torch", "2.5.1", ["nvidia-cudnn-cu12==9.1.0.70", "nvidia-cublas-cu12==12.8.4.1"])


@case("C17")
def torch_broken_by_upgrade(m):
    m.driver()
    m.cuda()
    m.package("torch", "2.4.0", ["nvidia-cudnn-cu12==9.1.0.70; platform_system == 'Linux'"])


@case("C18", "warn")
def both_families(m):
    m.driver()
    m.cuda()
    m.package("nvidia-nccl-cu13", "2.27.7")


@case("C18")
def shared_file_gone(m):
    m.driver("580.95.05", ("9.0",))
    m.cuda(13)
    m.path(f"{m.site}/nvidia/nvshmem/lib/libnvshmem_host.so.3").unlink()


@case("C19")
def placeholder_asked_for(m):
    m.driver("580.95.05", ("9.0",))
    m.cuda(13)
    m.file("/home/user/requirements.txt", "nvidia-cusparse-cu13>=12\n")


@case("C20", "warn")
def torch_has_its_own_cudnn(m):
    m.driver()
    m.cuda()
    m.package("torch", "2.6.0")
    m.library("libcudnn.so", "9", "9.1.0", f"{m.site}/torch/lib")


@case("C21")
def nvjitlink_left_behind(m):
    m.driver()
    m.cuda(nvjitlink="12.1.105")


@case("C22")
def pascal_with_new_cudnn(m):
    m.driver("570.124.06", ("6.1",))
    m.cuda(cudnn="9.28.0.42")


@case("C22")
def one_old_gpu_of_two(m):
    m.driver("570.124.06", ("8.6", "7.0"))
    m.cuda(cudnn="9.11.0.98")


@case("C23")
def plugin_without_libraries(m):
    m.driver()
    m.cpu()
    m.plugin(12, "0.12.0.1")


@case("C23")
def wheel_files_gone(m):
    m.driver()
    m.cuda()
    m.path(f"{m.site}/nvidia/cusolver/lib/libcusolver.so.11").unlink()


@case("C23")
def pjrt_alone(m):
    m.driver()
    m.cuda()
    m.remove("jax-cuda12-plugin")


def _local(m, cuda="12.8.1"):
    m.driver()
    m.cpu()
    m.plugin(12, "0.12.0.1")
    return m.toolkit(cuda, "/usr/local/cuda")


@case("C24")
def cudnn_not_searched(m):
    m.library("libcudnn.so", "9", "9.10.2", f"{_local(m)}/lib64")


@case("C24")
def cudnn_of_other_cuda(m):
    _local(m)
    m.file(
        "/var/lib/dpkg/status",
        "Package: libcudnn9-cuda-11\nStatus: ok\nVersion: 9.10.2.21-1+cuda11.8\n\n",
    )


@case("C25")
def old_ptxas_first(m):
    _local(m)
    m.file("/etc/ld.so.conf.d/cuda.conf", "/usr/local/cuda/lib64\n")
    m.ptxas("/opt/cuda-12.0/bin/ptxas", "12.0.140")
    m.env["PATH"] = "/opt/cuda-12.0/bin:/usr/bin"


@case("C25")
def old_ptxas_wheel(m):
    m.driver()
    m.cuda(cuda_nvcc="12.2.140")


@case("C26")
def conda_without_ptxas(m):
    m.driver()
    m.prefix = "/opt/conda"
    m.conda(
        ("jaxlib", "0.5.3", "cuda126py312hd27b167_200"),
        ("jax", "0.5.3", "pyh_0"),
        ("cudnn", "9.10.1", "h7646684_1"),
    )


@case("C27")
def no_libdevice(m):
    m.driver()
    m.cuda(cuda_nvcc=None)


@case("C27")
def debian_toolkit(m):
    m.driver()
    m.cuda(cuda_nvcc=None)
    m.toolkit("12.8.1", "/usr/lib/nvidia-cuda-toolkit")


@case("C28")
def gpu_newer_than_build(m):
    m.driver("575.57.08", ("12.0",))
    m.cuda(version="0.5.3")


@case("C29")
def tpu_flag(m):
    m.cpu()
    m.env["XLA_FLAGS"] = "--xla_tpu_enable_latency_hiding_scheduler=true"


@case("C29")
def long_dash(m):
    m.cpu()
    m.env["XLA_FLAGS"] = "\u2013xla_dump_to=/tmp/x"


@case("C29")
def data_dir_missing(m):
    m.driver()
    m.cuda()
    m.env["XLA_FLAGS"] = "--xla_gpu_cuda_data_dir=/nowhere"


@case("C30")
def newer_jaxlib(m):
    m.cpu("0.4.35")
    m.remove("jaxlib")
    m.package("jaxlib", "0.5.1")


@case("C31")
def older_jaxlib(m):
    m.cpu("0.6.2")
    m.remove("jaxlib")
    m.package("jaxlib", "0.4.35", ["numpy>=1.24"])


@case("C32")
def other_plugin_version(m):
    m.driver()
    m.cuda(version="0.9.2")
    for name in ("jax", "jaxlib"):
        m.remove(name)
        m.package(name, "0.9.0.1")


@case("C33")
def other_pjrt_version(m):
    m.driver()
    m.cuda()
    m.remove("jax-cuda12-pjrt")
    m.package("jax-cuda12-pjrt", "0.11.0")


def _monolithic(m, version="0.4.20", label="cuda12.cudnn89"):
    m.driver()
    m.package("jax", version)
    m.package("jaxlib", f"{version}+{label}", ["numpy>=1.22"])
    m.package("numpy", "1.26.4")
    m.library("libcudnn.so", "8", "8.9.7", TRIPLET)
    m.library("libcudart.so", "12", "12.8.90", TRIPLET)


@case("C34")
def leftover_plugin(m):
    _monolithic(m)
    m.file(f"{m.site}/jax_plugins/xla_cuda12/xla_cuda_plugin.so")


@case("C35")
def python_too_old(m):
    m.python["version"] = "3.10.4"


@case("C35")
def free_threaded(m):
    m.python |= {"version": "3.13.1", "free_threaded": True}


@case("C36")
def pin_is_gone(m):
    m.file("/home/user/requirements.txt", "jaxlib==0.4.6\n")
    m.python["version"] = "3.11.2"


@case("C37")
def old_pip(m):
    m.remove("pip")
    m.package("pip", "19.1")


@case("C38", "warn")
def conda_cpu_build(m):
    m.driver()
    m.prefix = "/opt/conda"
    m.conda(("jaxlib", "0.9.0", "cpu_py312h7d7d8ba_0"), ("jax", "0.9.0", "pyh_0"))


@case("C38", "warn")
def conda_and_pip(m):
    m.prefix = "/opt/conda"
    m.cpu()
    m.conda(("jaxlib", "0.9.0", "cpu_py312h7d7d8ba_0"))


@case("C39")
def no_avx(m):
    m.file("/proc/cpuinfo", "flags\t: fpu sse sse2 ssse3 hypervisor cx16 sse4_1\n")
    m.cpu()


def _mac(m, machine):
    m.system, m.machine, m.libc = "Darwin", machine, None
    m.sysctl = {"hw.optional.avx1_0": "1"}


@case("C40")
def rosetta(m):
    _mac(m, "x86_64")
    m.sysctl = {"sysctl.proc_translated": "1", "hw.optional.arm64": "1", "hw.optional.avx1_0": "0"}


@case("C41")
def intel_mac(m):
    _mac(m, "x86_64")


@case("C42")
def windows_cuda(m):
    m.system, m.machine, m.libc = "Windows", "AMD64", None
    m.cuda()


@case("C42", "info")
def windows_with_gpu(m):
    m.driver()
    m.system, m.machine, m.libc = "Windows", "AMD64", None
    m.cpu()


@case("C43")
def alpine(m):
    m.libc = None
    m.file("/lib/ld-musl-x86_64.so.1")


@case("C44")
def centos_7(m):
    m.libc = ("glibc", "2.17")


@case("C44")
def tpu_on_old_glibc(m):
    m.libc = ("glibc", "2.28")
    m.card("0x1ae0", "0x0063", "")
    m.cpu()


def _tpu(m, libtpu="0.0.50.1"):
    m.card("0x1ae0", "0x0063", "vfio-pci")
    m.file("/dev/accel0")
    m.cpu()
    if libtpu:
        m.package("libtpu", libtpu)


@case("C45")
def tpu_in_use(m):
    _tpu(m)
    m.link("/proc/4321/fd/7", "/dev/accel0")


@case("C45")
def stale_lock(m):
    _tpu(m)
    m.file("/tmp/libtpu_lockfile")


@case("C46")
def no_libtpu(m):
    _tpu(m, libtpu="")


@case("C46", "info")
def no_chip(m):
    m.cpu()
    m.package("libtpu", "0.0.50.1")


def _rocm(m, rocm="7.14.0", kfd=True):
    m.card("0x1002", "0x74a1", "amdgpu")
    m.cpu("0.12.0")
    m.package("jax-rocm7-plugin", "0.12.0")
    m.package("jax-rocm7-pjrt", "0.12.0")
    m.file("/opt/rocm/.info/version", f"{rocm}-43\n")
    if kfd:
        m.file("/dev/kfd")
        m.file(
            "/sys/class/kfd/kfd/topology/nodes/1/properties",
            "simd_count 304\ngfx_target_version 90402\n",
        )


@case("C47")
def other_rocm(m):
    _rocm(m, "6.4.1")


@case("C48")
def no_kfd(m):
    _rocm(m, kfd=False)


@case("C48")
def rocm_asked_for(m):
    m.cpu()
    m.env["JAX_PLATFORMS"] = "rocm"


@case("C49")
def metal(m):
    _mac(m, "arm64")
    m.cpu()
    m.package("jax-metal", "0.1.1", ["jax>=0.4.34"])


@case("C50")
def jetson(m):
    m.machine = "aarch64"
    m.file("/etc/nv_tegra_release", "# R36")
    m.cuda()


@case("C51", "warn")
def memory_taken(m):
    m.driver(free=9000, processes="812, 70000\n")
    m.cuda()


@case("C52")
def platform_not_there(m):
    m.cpu()
    m.env["JAX_PLATFORMS"] = "cuda"


@case("C53")
def numpy_2(m):
    m.cpu("0.4.20", numpy="2.1.0")


@case("C53")
def numpy_too_old(m):
    m.cpu(numpy="1.26.4")
    m.remove("jaxlib")
    m.package("jaxlib", "0.12.0.1", ["numpy>=2.0"])


@case("C54")
def old_driver_for_12(m):
    m.driver("470.57.02", old=True)
    m.cuda()


@case("C55")
def old_gpu_for_13(m):
    m.driver("580.95.05", ("6.1",))
    m.cuda(13)


@case("C56")
def stub_library(m):
    m.driver()
    m.cuda()
    m.native = {"loaded": True, "cuda": 12080, "init": 34}


@case("C57")
def lost_card(m):
    m.driver()
    m.cuda()
    m.program(
        "/usr/bin/nvidia-smi",
        "#!/bin/sh\necho 'Unable to determine the device handle for GPU: GPU is lost.'\nexit 15\n",
    )


@case("C58")
def covector_wants_other_dtypes(m):
    m.package("covector-core", "0.1.0", ["jaxlib>=0.11.2,<0.13", "ml_dtypes>=0.5", "numpy>=2.0"])
    m.package("jaxlib", "0.12.0.1")
    m.package("numpy", "2.3.0")
    m.package("ml-dtypes", "0.4.0")


@case("C59", "warn")
def installed_twice(m):
    m.cpu()
    m.package("jax", "0.11.0")


@case("C60")
def shadow(m):
    m.cpu()
    m.file("/home/user/jax.py")


@case("C64", "warn")
def other_libtpu(m):
    _tpu(m, "0.0.40.1")


@case("C65", "warn")
def other_environment(m):
    m.env["VIRTUAL_ENV"] = "/home/user/.venv"


@case("C66", "warn")
def unreadable_site(m):
    m.cpu()
    m.python["paths"] = [m.site, "/opt/secret/lib/python3.12/site-packages"]
    m.denied.append("/opt/secret")


@case("C67")
def no_jaxlib(m):
    m.package("jax", "0.12.0.1")


@case("C69")
def arm_32_bit(m):
    m.machine = "armv7l"


@case("C69")
def a_32_bit_python(m):
    m.python["bits"] = 32


@case("C70")
def copied_environment(m):
    m.cpu()
    m.remove("jaxlib")
    m.package("jaxlib", "0.12.0.1", ["numpy>=2.0"], tag="cp313-cp313-manylinux_2_27_x86_64")


@case("C70")
def other_machine(m):
    m.machine = "aarch64"
    m.cpu()
    m.remove("numpy")
    m.package("numpy", "2.3.0", tag="cp312-cp312-manylinux_2_27_x86_64.manylinux_2_28_x86_64")


@case("C70")
def leaking_python_path(m):
    m.cpu()
    other = "/opt/modules/python3.11/site-packages"
    m.package("scipy", "1.15.0", site=other, tag="cp311-cp311-manylinux_2_17_x86_64")
    m.env["PYTHONPATH"] = other
    m.python["paths"] = [other, m.site]


@case("C71", "warn")
def two_plugins(m):
    m.driver("595.71.05", ("9.0",))
    m.cuda()
    m.plugin(13, "0.12.0.1")


@case("C72")
def wsl_1(m):
    m.file("/proc/sys/kernel/osrelease", "4.4.0-19041-Microsoft\n")
    m.cuda()


@case("C73", "info")
def no_gpu(m):
    m.cuda()


@case("C74")
def percentage(m):
    m.driver()
    m.cuda()
    m.env["XLA_PYTHON_CLIENT_MEM_FRACTION"] = "90"


@case("C74")
def no_that_means_yes(m):
    m.driver()
    m.cuda()
    m.env["XLA_PYTHON_CLIENT_PREALLOCATE"] = "no"


@case("C74")
def no_truth_value(m):
    m.cpu()
    m.env["JAX_ENABLE_X64"] = "64"


@case("C75", "warn")
def docker_shared_memory(m):
    m.driver(capabilities=("8.0", "8.0"))
    m.cuda()
    m.file("/.dockerenv")
    m.file("/proc/mounts", "shm /dev/shm tmpfs rw,nosuid,nodev,noexec,size=65536k 0 0\n")


@case("C10")
def all_is_no_device(m):
    m.driver()
    m.cuda()
    m.env["CUDA_VISIBLE_DEVICES"] = "all"


@case("C10")
def amd_hidden(m):
    _rocm(m)
    m.env["HIP_VISIBLE_DEVICES"] = "-1"


@case("C34")
def orphaned_folder(m):
    m.driver()
    m.cuda()
    m.file(f"{m.site}/jax_plugins/xla_cuda13/xla_cuda_plugin.so")


@case("C56")
def compute_prohibited(m):
    m.driver(mode="Prohibited")
    m.cuda()


@case("C06")
def laptop_with_the_gpu_off(m):
    m.card(driver="")
    m.cuda()
    m.libcuda("570.124.06")
    m.file("/lib/modprobe.d/blacklist-nvidia.conf", "blacklist nvidia\nblacklist nvidia-drm\n")


@case("C07")
def nixos(m):
    m.driver()
    m.cuda()
    m.file("/etc/os-release", 'ID=nixos\nVERSION_ID="25.05"\n')
    for name in ("libcuda.so.1", "libcuda.so.570.124.06"):
        m.path(f"{TRIPLET}/{name}").unlink()
    m.library("libcuda.so", "1", "570.124.06", "/run/opengl-driver/lib")

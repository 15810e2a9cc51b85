"""Broken set-ups that no list of cases names: what the mechanism makes of them.

Each row: the ids that must be found, words of the commands or steps that must be advised, and words
that must not. An empty set of ids means: nothing can be known of it, so nothing may be said.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from simulator import RELEASE, TRIPLET, Machine


class Row(NamedTuple):
    """One set-up and what is expected of it."""

    build: Callable[[Machine], None]
    ids: set[str]
    advised: tuple[str, ...]
    refused: tuple[str, ...]


INVENTED: list[Row] = []


def expect(*ids: str, advised: tuple[str, ...] = (), refused: tuple[str, ...] = ()):
    """Register a set-up."""

    def register(build: Callable[[Machine], None]) -> Callable[[Machine], None]:
        INVENTED.append(Row(build, set(ids), advised, refused))
        return build

    return register


@expect("C23", advised=("jax-cuda12-plugin[with-cuda]",), refused=("off PATH",))
def plugin_for_12_and_a_toolkit_of_11(m):
    m.driver()
    m.cpu()
    m.plugin(12, RELEASE)
    m.toolkit("11.8.0", "/usr/local/cuda")
    m.file("/etc/ld.so.conf.d/cuda.conf", "/usr/local/cuda/lib64\n")
    m.library("libcudnn.so", "8", "8.6.0", TRIPLET)


@expect()  # the extra and-cuda may never have been asked for
def tensorflow_for_the_cpu_beside_cuda(m):
    m.driver()
    m.cuda()
    m.package("tensorflow", "2.20.0", ["nvidia-cublas-cu12==12.5.3.2; extra == 'and-cuda'"])


@expect(
    "C59", advised=("uninstall -y jaxlib", "PYTHONNOUSERSITE=1"), refused=("uninstall -y jax ",)
)
def old_jaxlib_in_the_user_site_of_conda(m):
    m.prefix = "/opt/conda"
    m.conda(("jaxlib", "0.9.0", "cpu_py312h_0"), ("jax", "0.9.0", "pyh_0"))
    user = "/home/ada/.local/lib/python3.12/site-packages"
    m.package("jaxlib", "0.4.35", ["numpy>=1.24"], site=user)
    m.package("jax", "0.9.0", ["jaxlib<=0.9.0,>=0.9.0"], installer="conda")
    m.package("jaxlib", "0.9.0", installer="conda")
    m.package("numpy", "2.3.0", installer="conda")
    m.python |= {"paths": [user, m.site], "user_site": user}


@expect()  # that is what the user's site is for
def newer_numpy_in_the_user_site_of_the_system(m):
    user = "/home/ada/.local/lib/python3.12/site-packages"
    m.cpu()
    m.package("numpy", "2.4.0", site=user)
    m.python |= {"paths": [user, m.site], "user_site": user, "base_prefix": m.prefix}


@expect("C31", advised=('"jax[cuda12]==0.12.0.1"',), refused=('"jaxlib>=',))
def jax_upgraded_alone_with_its_plugin_left(m):
    m.driver()
    m.cuda(version="0.9.2")
    m.remove("jax")
    m.package("jax", RELEASE, ["jaxlib<=0.12.0.1,>=0.11.2"])


@expect("C30", advised=("jax==0.9.2", "jax-cuda12-plugin==0.9.2", "jax-cuda12-pjrt==0.9.2"))
def jax_held_back_by_another_package(m):
    m.driver()
    m.cuda()
    m.remove("jax")
    m.package("jax", "0.9.2", ["jaxlib<=0.9.2,>=0.9.0"])


COVECTOR = ["jaxlib>=0.11.2,<0.13", "ml_dtypes>=0.5", "numpy>=2.0"]


@expect("C58", advised=('"jaxlib>=0.11.2,<0.13"', "jaxlib==0.12.0.1"), refused=("jaxlib==0.14",))
def jaxlib_newer_than_covector_takes(m):
    m.package("covector-core", "0.1.0", COVECTOR)
    m.package("jaxlib", "0.14.0", ["numpy>=2.0"])
    m.package("numpy", "2.3.0")
    m.package("ml-dtypes", "0.5.1")


@expect("C10", advised=("unset CUDA_VISIBLE_DEVICES",))
def devices_listed_with_blanks(m):
    m.driver(capabilities=("8.0", "8.0"))
    m.cuda()
    m.env["CUDA_VISIBLE_DEVICES"] = "0 1"


@expect("C52", advised=("export JAX_PLATFORMS=cuda,cpu",))
def platforms_with_a_blank(m):
    m.driver()
    m.cuda()
    m.env["JAX_PLATFORMS"] = "cuda, cpu"


@expect("C52", advised=("export JAX_PLATFORMS=cuda",), refused=("unset",))
def platforms_in_capitals(m):
    m.driver()
    m.cuda()
    m.env["JAX_PLATFORMS"] = "CUDA"


@expect("C52", advised=("unset JAX_PLATFORMS",))
def platform_by_the_vendors_name(m):
    m.driver()
    m.cuda()
    m.env["JAX_PLATFORMS"] = "nvidia"


@expect("C52", advised=("set JAX_PLATFORMS=",), refused=("unset", "export"))
def platform_on_windows(m):
    m.system, m.machine, m.libc = "Windows", "AMD64", None
    m.cpu()
    m.env["JAX_PLATFORMS"] = "cuda"


@expect("C56", advised=("stubs",))
def stubs_on_the_loader_path(m):
    m.driver()
    m.cuda()
    folder = f"{m.toolkit('12.8.1')}/lib64/stubs"
    m.file(f"{folder}/libcuda.so")
    m.link(f"{folder}/libcuda.so.1", "libcuda.so")
    m.env["LD_LIBRARY_PATH"] = folder


@expect("C03", advised=("of the host", '"jax[cuda12]', "uninstall -y jax-cuda13-plugin"))
def container_on_a_host_with_an_old_driver(m):
    m.file("/.dockerenv")
    m.driver("535.183.01", ("8.0",))
    m.cuda(13)


@expect("C15", advised=("nvidia-cudnn-cu12>=9.10.2.21,<10",))
def cudnn_of_another_major(m):
    m.driver()
    m.cuda(cudnn="8.9.7.29")


@expect("C55", advised=("3.8, 3.9, 3.10, 3.11", "5.2 or newer"), refused=("Update the driver",))
def kepler_with_a_build_for_12(m):
    m.driver("470.57.02", ("3.7",))
    m.cuda()


@expect("C55", advised=("CUDA_VISIBLE_DEVICES=1", '"nvidia-cudnn-cu12<9.11"'))
def pascal_beside_hopper_with_a_build_for_13(m):
    m.driver("580.95.05", ("6.1", "9.0"))
    m.cuda(13)


@expect("C28", advised=("--upgrade",), refused=("0.4.38",))
def blackwell_with_a_release_before_it(m):
    m.driver("575.57.08", ("10.0",))
    m.cuda(version="0.4.38")


@expect("C29", advised=("--xla_force_host_platform_device_count=8",))
def flag_with_its_value_apart(m):
    m.cpu()
    m.env["XLA_FLAGS"] = "--xla_force_host_platform_device_count 8"


@expect("C58", advised=('"numpy>=1.20"',))
def numpy_removed(m):
    m.cpu()
    m.remove("numpy")


@expect(
    "C25", advised=("sudo ln -sfn /usr/local/cuda-12.8 /usr/local/cuda",), refused=("off PATH",)
)
def link_to_the_older_of_two_toolkits(m):
    m.driver()
    m.cpu()
    m.plugin(12, RELEASE)
    m.toolkit("12.0.0")
    m.toolkit("12.8.1")
    m.link("/usr/local/cuda", "cuda-12.0")
    m.file("/etc/ld.so.conf.d/cuda.conf", "/usr/local/cuda-12.8/lib64\n")
    m.library("libcudnn.so", "9", "9.10.2", TRIPLET)


@expect("C46", advised=('"jax[tpu]',), refused=("attach a GPU",))
def cuda_packages_on_a_tpu_machine(m):
    m.card("0x1ae0", "0x0063", "vfio-pci")
    m.file("/dev/vfio/0")
    m.cuda()


@expect()
def amd_graphics_in_the_processor(m):
    m.driver()
    m.cuda()
    m.card("0x1002", "0x1638", "amdgpu")
    m.file("/sys/class/kfd/kfd/topology/nodes/1/properties",
           "simd_count 28\ngfx_target_version 90012\n")  # fmt: skip


@expect("C38", advised=("-p /opt/conda/envs/x",))
def conda_environment_that_is_not_active(m):
    m.driver()
    m.prefix = "/opt/conda/envs/x"
    m.conda(("jaxlib", "0.9.0", "cpu_py312h_0"), ("jax", "0.9.0", "pyh_0"))
    m.env["CONDA_PREFIX"] = "/opt/conda"


@expect("C06", advised=("sudo ubuntu-drivers install",), refused=("dkms",))
def card_and_no_driver_at_all(m):
    m.card(driver="")
    m.cuda()


@expect("C06", refused=("apt-get", "ubuntu", "dkms"))
def card_and_no_driver_on_fedora(m):
    m.card(driver="")
    m.cuda()
    m.file("/etc/os-release", "ID=fedora\nVERSION_ID=41\n")


@expect("C60", advised=("Rename",))
def a_script_called_random(m):
    m.cpu()
    m.file("/home/user/random.py")


@expect("C53", advised=('"numpy<2"',))
def old_release_with_numpy_2(m):
    m.cpu("0.4.24", numpy="2.2.0")


@expect("C35", advised=("python3.14 -m venv .venv",), refused=("pip install",))
def pypy(m):
    m.python |= {"implementation": "pypy"}


@expect()  # the loader takes it first, and what it does then is not known
def preloaded_library(m):
    m.driver()
    m.cuda()
    m.env["LD_PRELOAD"] = "/opt/old/libcudnn.so.9"

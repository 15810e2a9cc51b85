"""Load jaxlib and a plugin, list devices, run small programs; a script for a process of its own.

Prints one line of JSON for each stage, the first before it begins: the last line tells where a
crash happened. Nothing larger than a few MiB is put on a device.
"""

import importlib
import json
import sys

MATMUL = """
func.func public @main() -> tensor<256x256xf32> {
  %a = stablehlo.iota dim = 0 : tensor<256x256xf32>
  %b = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0]
    : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  return %b : tensor<256x256xf32>
}
"""
SOLVER = """
func.func public @main() -> tensor<16x16xf32> {
  %r = stablehlo.iota dim = 0 : tensor<16x16xi32>
  %c = stablehlo.iota dim = 1 : tensor<16x16xi32>
  %p = stablehlo.compare EQ, %r, %c : (tensor<16x16xi32>, tensor<16x16xi32>) -> tensor<16x16xi1>
  %f = stablehlo.convert %p : (tensor<16x16xi1>) -> tensor<16x16xf32>
  %l = stablehlo.cholesky %f, lower = true : tensor<16x16xf32>
  return %l : tensor<16x16xf32>
}
"""
CONVOLUTION = """
func.func public @main() -> tensor<1x30x30x8xf32> {
  %x = stablehlo.iota dim = 1 : tensor<1x32x32x4xf32>
  %w = stablehlo.iota dim = 0 : tensor<3x3x4x8xf32>
  %y = stablehlo.convolution(%x, %w)
    dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {stride = [1, 1], pad = [[0, 0], [0, 0]]}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<1x32x32x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x30x30x8xf32>
  return %y : tensor<1x30x30x8xf32>
}
"""
PROGRAMS = (("matmul", MATMUL), ("solver", SOLVER), ("convolution", CONVOLUTION))
LIBRARIES = {"cuda": "xla_cuda_plugin.so", "rocm": "xla_rocm_plugin.so", "tpu": "libtpu.so"}
PRELOAD = ("cudart", "nvrtc", "cublasLt", "cublas", "nccl", "cupti", "nvJitLink", "cusparse",
           "cusolver", "cufft", "nvshmem_host", "cudnn")  # fmt: skip


def say(stage, **values):
    """One line of JSON."""
    print(json.dumps(dict(stage=stage, **values)), flush=True)


def load(module):
    """Import a module of what is examined: none of it is a requirement of this package."""
    return importlib.import_module(module)


def folder_of(module):
    """The directory of a module, found without importing it."""
    import importlib.util
    import os

    try:
        found = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return None
    return os.path.dirname(found.origin) if found and found.origin else None


def preload(major):
    """Load the libraries of the NVIDIA wheels, as the plugin would, and name what failed."""
    import ctypes
    import glob

    failed = {}
    for root in sys.path:
        for name in PRELOAD:
            for path in sorted(glob.glob(f"{root}/nvidia/*/lib/lib{name}.so.*")):
                folder = path.replace("\\", "/").split("/")[-3]
                # Both families share the folders of these three; the others are of one.
                if folder in ("cudnn", "nccl", "nvshmem") or (folder == "cu13") == (major == 13):
                    try:
                        ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
                    except OSError as error:
                        failed[name] = str(error)
    return failed


def versions(major):
    """What the plugin was compiled for and what it loaded, by the names its module offers."""
    module = load(f"jax_cuda{major}_plugin._versions")
    found = {}
    for name in dir(module):
        if name.endswith(("_get_version", "_build_version")):
            try:
                found[name] = int(getattr(module, name)())
            except Exception as error:
                found[name] = str(error)
    return found


def run(client, device, text):
    """Compile and run one program on one device."""
    _jax = load("jaxlib._jax")
    options = _jax.CompileOptions()
    text = f"module {{ {text} }}"
    executable = client.compile_and_load(text, _jax.DeviceList((device,)), options)
    results = executable.execute_sharded([], with_tokens=True)
    results.consume_token().block_until_ready()


def client_of(platform):
    """The client of a platform."""
    _jax, xla_client = load("jaxlib._jax"), load("jaxlib.xla_client")
    if platform == "cpu":
        return xla_client.make_cpu_client()
    name, _, major = platform.partition(":")
    module = "libtpu" if name == "tpu" else f"jax_plugins.xla_{name}{major}"
    folder = folder_of(module)
    if folder is None:
        raise RuntimeError(f"{module} is not installed")
    if name == "cuda":
        say("preload", failed=preload(int(major)))
    say("load plugin", path=folder)
    _jax.load_pjrt_plugin(name, f"{folder}/{LIBRARIES[name]}", None)
    _jax.initialize_pjrt_plugin(name)
    if name == "cuda":
        try:
            say("versions", **versions(int(major)))
        except ImportError as error:
            say("versions", error=str(error))
    options = xla_client.generate_pjrt_gpu_plugin_options() if name in ("cuda", "rocm") else {}
    if name == "rocm":
        options["platform_name"] = "ROCM"
    return _jax.get_c_api_client(name, options)


def is_supported():
    """Whether this jaxlib has the interface that the programs are run through (0.11 and newer)."""
    try:
        runtime = load("jaxlib._jax")
    except ImportError:
        load("jaxlib.xla_client")  # an older one: it must load all the same
        return False
    return hasattr(runtime, "load_pjrt_plugin") and hasattr(runtime, "DeviceList")


def main(platforms):
    """Go through the stages for each platform."""
    say("import jaxlib")
    supported = is_supported()
    say("jaxlib", version=getattr(load("jaxlib"), "__version__", "?"))
    for platform in platforms if supported else ():
        say("client", platform=platform)
        client = client_of(platform)
        devices = client.local_devices()
        say("devices", platform=platform, devices=[str(d) for d in devices])
        for name, text in PROGRAMS:
            say(name, platform=platform)
            run(client, devices[0], text)
    say("done", programs=supported)


if __name__ == "__main__":
    # Our own folder, whose files have common names.
    own = __file__.replace("\\", "/").rpartition("/")[0]
    sys.path[:] = [path for path in sys.path if path.replace("\\", "/") != own]
    main(sys.argv[1:])

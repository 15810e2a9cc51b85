"""The runtime client and its devices, made at first use. CPU is built in, GPU and TPU plugins."""

from __future__ import annotations

import importlib.util
import os
import threading
from functools import cache
from typing import Any

import jaxlib._jax as _jaxlib
import numpy as np
from jaxlib import xla_client

from covector._config import config
from covector._config import default_device as default_device_flag
from covector._ir.avals import ShapedArray
from covector._run import gpu_kernels
from covector._run.runtime import prime_lookups, refuse_jax

Device = _jaxlib.Device

_clients: dict[str, Any] = {}
_lock = threading.RLock()

# Names of PJRT plugins by platform; each wheel ships its library in the package named here.
_PLUGINS = {"cuda": ("jax_plugins.xla_cuda13", "jax_plugins.xla_cuda12"), "tpu": ("libtpu",)}
_LIBRARIES = {"cuda": "xla_cuda_plugin.so", "tpu": "libtpu.so"}
_ALIASES = {"gpu": "cuda", "CPU": "cpu", "GPU": "cuda", "TPU": "tpu"}


def _make_cpu_client() -> Any:
    count = config.jax_num_cpu_devices
    if count is not None and count < 1:
        count = None
    client = xla_client.make_cpu_client(
        asynchronous=config.jax_cpu_enable_async_dispatch, num_devices=count
    )
    device = client.local_devices()[0]
    aval = ShapedArray((1,), np.float32)

    def put() -> Any:
        sharding = single_device_sharding(device)
        return _jaxlib.batched_device_put(
            aval, sharding, [np.zeros(1, np.float32)], [device], enable_x64=True
        )

    prime_lookups(device, put)
    return client


def _plugin_library(platform: str) -> str | None:
    for package in _PLUGINS[platform]:
        try:
            spec = importlib.util.find_spec(package)
        except ModuleNotFoundError:
            continue
        if spec is not None and spec.origin:
            return os.path.join(os.path.dirname(spec.origin), _LIBRARIES[platform])
    return None


def _make_plugin_client(platform: str) -> Any:
    path = _plugin_library(platform)
    if path is None:
        raise RuntimeError(
            f"No plugin for platform '{platform}' is installed. Install one with "
            f"'pip install covector[{'cuda13' if platform == 'cuda' else platform}]', and run "
            "'install-helper doctor' if that does not help."
        )
    api = None
    if not _jaxlib.pjrt_plugin_loaded(platform):
        api = _jaxlib.load_pjrt_plugin(platform, path, None)
    if not _jaxlib.pjrt_plugin_initialized(platform):
        _jaxlib.initialize_pjrt_plugin(platform)
    if platform == "cuda" and api is not None:
        gpu_kernels.register(api)
    options = _cuda_options() if platform == "cuda" else {}
    return _jaxlib.get_c_api_client(platform, options)


def _cuda_options() -> dict[str, Any]:
    options: dict[str, Any] = dict(xla_client.generate_pjrt_gpu_plugin_options())
    visible: str = config.jax_cuda_visible_devices
    if visible != "all":
        options["visible_devices"] = [int(i) for i in visible.split(",")]
    return options


def _platforms() -> list[str]:
    """Platforms to try, best first."""
    wanted: str | None = config.jax_platforms or config.jax_platform_name
    if wanted:
        return [_ALIASES.get(p, p) for p in wanted.split(",")]
    found = [p for p in _PLUGINS if _plugin_library(p) is not None]
    return [*found, "cpu"]


def get_client(platform: str | None = None) -> Any:
    """The client of a platform, or of the best one that works."""
    if platform is None:
        platform = default_backend()
    platform = _ALIASES.get(platform, platform)
    client = _clients.get(platform)
    if client is None:
        with _lock:
            client = _clients.get(platform)
            if client is None:
                refuse_jax()
                if platform == "cpu":
                    client = _make_cpu_client()
                elif platform in _PLUGINS:
                    get_client("cpu")  # primes jaxlib's look-ups
                    client = _make_plugin_client(platform)
                else:
                    raise RuntimeError(
                        f"Unknown backend '{platform}'. Platforms that Covector knows: cpu, "
                        "cuda (gpu), tpu."
                    )
                _clients[platform] = client
    return client


@cache
def default_backend() -> str:
    """The name of the platform that operations run on unless told otherwise.

    >>> import covector
    >>> covector.default_backend() in ("cpu", "gpu", "tpu", "cuda")
    True
    """
    errors: list[str] = []
    for platform in _platforms():
        try:
            get_client(platform)
        except Exception as error:
            errors.append(f"{platform}: {error}")
            continue
        if platform == "cpu" and not config.jax_platforms:
            _say_why_cpu(errors)
        return platform
    raise RuntimeError("No backend could be initialized: " + "; ".join(errors))


# Nodes that the drivers of NVIDIA GPUs and of TPUs make.
_ACCELERATOR_NODES = ("/dev/nvidiactl", "/dev/accel0")


def _say_why_cpu(errors: list[str]) -> None:
    """Warn where the CPU stands in for an accelerator: its plugin fails, or is not installed."""
    node = next((path for path in _ACCELERATOR_NODES if os.path.exists(path)), None)
    if not errors and node is None:
        return
    import logging

    logging.getLogger("covector").warning(
        "No accelerator found, the CPU is used (%s). Run 'install-helper doctor': it finds the "
        "cause and says what to install.",
        "; ".join(errors) or f"{node} is there, and no plugin for it is installed",
    )


def devices(backend: str | None = None) -> list[Any]:
    """All devices of a platform ('cpu', 'gpu', 'tpu'; None: the default one).

    >>> import covector
    >>> len(covector.devices("cpu")) >= 1
    True
    """
    return get_client(backend).devices()


def local_devices(
    process_index: int | None = None, backend: str | None = None, host_id: int | None = None
) -> list[Any]:
    """Those devices of a platform that belong to a process (None: this one)."""
    client = get_client(backend)
    if process_index is None:
        return client.local_devices()
    return [d for d in client.devices() if d.process_index == process_index]


def device_count(backend: str | None = None) -> int:
    """How many devices a platform has, over all processes."""
    return get_client(backend).device_count()


def local_device_count(backend: str | None = None) -> int:
    """How many devices of a platform belong to this process."""
    return get_client(backend).local_device_count()


def process_index(backend: str | None = None) -> int:
    """The number of this process among those of the run."""
    return get_client(backend).process_index()


def process_count(backend: str | None = None) -> int:
    """How many processes take part in the run."""
    return max([d.process_index for d in devices(backend)]) + 1


def default_device() -> Any:
    """The device that uncommitted values go to: the flag's, or the default backend's first."""
    chosen = default_device_flag.value
    if chosen is None:
        return _first_device(default_backend())
    if isinstance(chosen, str):
        return local_devices(backend=chosen)[0]
    return chosen


@cache
def _first_device(platform: str) -> Any:
    return get_client(platform).local_devices()[0]


@cache
def single_device_sharding(device: Any) -> Any:
    """The sharding 'all on one device' (one object a device)."""
    return _jaxlib.SingleDeviceSharding(device)


@cache
def device_list(devices: tuple[Any, ...]) -> Any:
    """jaxlib's list of these devices (one object a tuple)."""
    return _jaxlib.DeviceList(devices)

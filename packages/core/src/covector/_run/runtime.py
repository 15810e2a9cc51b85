"""Start-up of jaxlib in the order that works, once per process.

jaxlib's C++ looks up a few names in the `jax` package by itself. They are answered once from
stand-in modules that are removed again, so `jax` is never imported, installed or not.
"""

from __future__ import annotations

import sys
import types
from typing import Any

import jaxlib._jax as _jaxlib

from covector._ir.avals import ShapedArray


def refuse_jax() -> None:
    """Raise if the real `jax` is loaded: both cannot drive one jaxlib in one process."""
    module = sys.modules.get("jax")
    if module is not None and getattr(module, "__file__", None):
        raise ImportError(
            "This process has imported both covector and jax. They set up the same jaxlib in "
            "different ways and cannot share a process: import only one of them, or run the other "
            "in a process of its own."
        )


class _HostArray:
    """What jaxlib asks for as its literal class; it is never made."""

    val: Any = None
    weak_type = False


def prime_lookups(device: Any, put: Any) -> None:
    """Answer jaxlib's look-ups in the `jax` package before anything else can."""
    refuse_jax()

    def single_device_sharding(device: Any, memory_kind: Any = None) -> Any:
        return _jaxlib.SingleDeviceSharding(device, memory_kind)

    names: dict[str, dict[str, Any]] = {
        "jax": {},
        "jax._src": {},
        "jax.core": {"ShapedArray": ShapedArray},
        "jax._src.literals": {"TypedNdArray": _HostArray},
        "jax._src.named_sharding": {"check_pspec": lambda mesh, spec: mesh._check_spec(spec)},
        "jax._src.sharding_impls": {"make_single_device_sharding": single_device_sharding},
    }
    for name, members in names.items():
        module = types.ModuleType(name)
        module.__dict__.update(members)
        sys.modules[name] = module
    try:
        devices = _jaxlib.DeviceList((device,))
        mesh = types.SimpleNamespace(
            size=1, _internal_device_list=devices, _check_spec=lambda spec: None
        )
        _jaxlib.NamedSharding(mesh, ())
        _ = put()._arrays
    finally:
        for name in names:
            del sys.modules[name]


def shards(array: Any) -> list[Any]:
    """An array's per-device arrays, without letting C++ import an installed `jax`."""
    name = "jax._src.sharding_impls"
    sys.modules[name] = None  # type: ignore[assignment]
    try:
        return array._arrays
    finally:
        sys.modules.pop(name, None)

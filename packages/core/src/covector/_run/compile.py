"""Compiling a program for devices, and running the executable on arrays.

`Execution` is one compiled form of a jaxpr: for one placement (devices and input shardings) and one
choice of donated inputs. It knows how to bring arguments to the devices and to wrap the results.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import jaxlib._hlo as _hlo
import jaxlib._jax as _jaxlib
import numpy as np

from covector._config import (
    config,
    disable_most_optimizations,
    dump_ir_to,
    memory_fitting_level,
    optimization_level,
    trace_context,
)
from covector._ir.avals import ShapedArray
from covector._ir.jaxpr import Jaxpr
from covector._lower.module import Lowered, LoweringOptions, lower_module
from covector._run import disk_cache, gpu_kernels, lapack, mappings
from covector._run.client import device_list, single_device_sharding
from covector._run.placement import Placement
from covector._run.transfer import put_on_sharding


class Execution:
    """One compiled form of a program."""

    __slots__ = (
        "devices",
        "executable",
        "handlers",
        "in_avals",
        "in_shardings",
        "jaxpr",
        "kept",
        "lowered",
        "out_shardings",
    )

    def __init__(self, jaxpr: Jaxpr, executable: Any, placement: Placement, kept: tuple[bool, ...]):
        self.jaxpr = jaxpr
        self.executable = executable
        self.devices = placement.devices
        self.kept = kept
        self.in_avals = [a for a, k in zip(jaxpr.in_avals, kept, strict=True) if k]
        if placement.mesh is None:
            sharding = single_device_sharding(placement.devices[0])
            self.in_shardings = [sharding] * len(self.in_avals)
            self.out_shardings = [sharding] * len(jaxpr.out_avals)
        else:
            given = [s for s, k in zip(placement.in_shardings, kept, strict=True) if k]
            chosen = _shardings(placement, executable.get_parameter_shardings(), self.in_avals)
            self.in_shardings = [g or c for g, c in zip(given, chosen, strict=True)]
            self.out_shardings = _shardings(
                placement, executable.get_output_shardings(), jaxpr.out_avals
            )
        self.handlers: dict[bool, list[Any]] = {}

    def handlers_for(self, committed: bool) -> list[Any]:
        """What wraps the results into arrays."""
        handlers = self.handlers.get(committed)
        if handlers is None:
            handlers = self.handlers[committed] = [
                _jaxlib.array_result_handler(aval, sharding, committed)
                for aval, sharding in zip(self.jaxpr.out_avals, self.out_shardings, strict=True)
            ]
        return handlers

    def run(self, args: Sequence[Any], committed: bool) -> list[Any]:
        """Execute on the program's arguments (all of them; unused ones are dropped here)."""
        used = [x for x, k in zip(args, self.kept, strict=True) if k]
        buffers = [
            put_on_sharding(x, aval, sharding)
            for x, aval, sharding in zip(used, self.in_avals, self.in_shardings, strict=True)
        ]
        results = self.executable.execute_sharded(buffers)
        return results.consume_with_handlers(self.handlers_for(committed))


def _shardings(placement: Placement, protos: Any, avals: Sequence[ShapedArray]) -> list[Any]:
    """The shardings that the compiler chose (it names none for a single device)."""
    if protos is None:
        return [placement.sharding(None, aval.ndim) for aval in avals]
    return [  # a program without results is said to have one
        placement.sharding(_hlo.HloSharding.from_proto(proto), aval.ndim)
        for proto, aval in zip(protos, avals)
    ]


def execution_of(
    jaxpr: Jaxpr,
    placement: Placement,
    *,
    name: str,
    donated: tuple[bool, ...] | None = None,
    keep_unused: bool = False,
    compiler_options: tuple[tuple[str, Any], ...] = (),
) -> Execution:
    """The compiled form of ``jaxpr`` for this placement, memoized on it."""
    key = ("execution", placement.key, donated, keep_unused, compiler_options, trace_context())
    execution = jaxpr.memo.get(key)
    if execution is None:
        lowered, kept = lower(jaxpr, placement, name=name, donated=donated, keep_unused=keep_unused)
        executable = compile_text(lowered, placement, kept, compiler_options)
        execution = Execution(jaxpr, executable, placement, kept)
        execution = jaxpr.remember(key, execution)
    return execution


def lower(
    jaxpr: Jaxpr,
    placement: Placement,
    *,
    name: str,
    donated: tuple[bool, ...] | None = None,
    keep_unused: bool = False,
) -> tuple[Lowered, tuple[bool, ...]]:
    """The module's text, and which inputs it takes: those that are used, or all."""
    kept = (True,) * len(jaxpr.in_avals) if keep_unused else jaxpr.used_inputs()
    options = LoweringOptions(
        name=f"jit_{name}",
        platform=placement.devices[0].platform,
        kept=kept,
        donated=donated or (False,) * len(kept),
        mesh=placement.mesh or (),
        in_axes=placement.in_axes,
    )
    lowered = lower_module(jaxpr, options)
    if dump_ir_to.value:
        from covector._run.dump import dump

        dump(options.name, jaxpr, lowered.text)
    return lowered, kept


# XLA ends the process when the devices of a collective do not all arrive within 40 seconds. On CPU
# the devices are threads, and on a busy machine one of them may well take longer.
_PATIENCE = (
    ("xla_cpu_collective_call_terminate_timeout_seconds", 600),
    ("xla_cpu_collective_timeout_seconds", 600),
)


# The numbers that XLA has for them.
_EFFORTS = {"UNKNOWN": 0, "O0": 9, "O1": 19, "O2": 29, "O3": 39}


def _set_effort(build: Any) -> None:
    """Set how hard the compiler tries, if a flag says so."""
    build.optimization_level = _EFFORTS[optimization_level.value]
    if memory_fitting_level.value != memory_fitting_level.default:
        build.memory_fitting_level = _EFFORTS[memory_fitting_level.value]
    if disable_most_optimizations.value:
        build.debug_options.xla_backend_optimization_level = 0
        build.debug_options.xla_llvm_disable_expensive_passes = True


def compile_options(
    devices: Sequence[Any], open_inputs: Sequence[bool], overrides: Sequence[tuple[str, Any]] = ()
) -> Any:
    """jaxlib's options for a program over ``devices``, which places its ``open_inputs`` itself."""
    options = _jaxlib.CompileOptions()
    build = options.executable_build_options
    options.num_replicas = build.num_replicas = 1
    options.num_partitions = build.num_partitions = len(devices)
    if len(devices) > 1:
        build.use_spmd_partitioning = True
        build.use_shardy_partitioner = True
        build.allow_spmd_sharding_propagation_to_parameters = list(open_inputs)
        build.allow_spmd_sharding_propagation_to_output = [True]
    ids = np.array([d.id for d in devices], np.int32).reshape(1, len(devices))
    options.device_assignment = _jaxlib.DeviceAssignment.create(ids)
    _set_effort(build)
    waits = len(devices) > 1 and devices[0].platform == "cpu"
    flags = [*_PATIENCE, *overrides] if waits else list(overrides)
    if flags:
        options.env_option_overrides = [(name, value) for name, value in flags]
    return options


def compile_text(
    lowered: Lowered,
    placement: Placement,
    kept: Sequence[bool],
    compiler_options: Sequence[tuple[str, Any]] = (),
) -> Any:
    """Compile a module, or take its executable from the disk cache."""
    devices = placement.devices
    client = devices[0].client
    open_inputs = [axes is None for axes, k in zip(placement.in_axes, kept, strict=False) if k]
    options = compile_options(devices, open_inputs, compiler_options)
    key = disk_cache.key_of(
        (lowered.bare_text + lowered.scopes).encode(),
        options.SerializeAsString(),
        f"{client.platform} {client.platform_version} {devices[0].device_kind}".encode(),
    )
    if client.platform == "cpu":
        mappings.make_room()
        lapack.prepare_for(lowered.bare_text)
    else:
        gpu_kernels.prepare_for(lowered.bare_text)
    blob = disk_cache.load(key)
    if blob is not None:
        try:
            return client.deserialize_executable(blob, device_list(devices), options)
        except _jaxlib.JaxRuntimeError:
            disk_cache.discard(key)
    start = time.perf_counter()
    executable = client.compile_and_load(lowered.text, device_list(devices), options)
    seconds = time.perf_counter() - start
    if config.jax_log_compiles:
        import logging

        name = lowered.bare_text.split('"', 2)[1]
        logging.getLogger("covector").warning("Compiled %s in %.3f s", name, seconds)
    worthwhile = seconds >= config.jax_persistent_cache_min_compile_time_secs
    if worthwhile and disk_cache.directory() is not None:
        try:
            disk_cache.store(key, client.serialize_executable(executable))
        except _jaxlib.JaxRuntimeError:
            pass  # some executables (host callbacks) cannot be serialized
    return executable

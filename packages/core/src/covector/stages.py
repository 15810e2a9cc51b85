"""The stages of ahead-of-time compilation: `Traced`, `Lowered`, `Compiled`.

>>> import covector
>>> lowered = covector.jit(covector.lax.sin).lower(covector.ShapeDtypeStruct((3,), "float32"))
>>> compiled = lowered.compile()
>>> compiled(covector.device_put(covector.lax.full((3,), 0.0))).shape
(3,)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jaxlib._jax as _jaxlib

from covector._api.tracing import describe_outputs
from covector._ir.jaxpr import ClosedJaxpr
from covector._run.compile import Execution, compile_text, lower
from covector._run.placement import placement_of
from covector._trace.trace import Tracer, typeof
from covector._tree.registry import dispatch_registry

Wrapped = Callable[..., Any]
CompilerOptions = dict


class ArgInfo(NamedTuple):
    """What is known of an argument: its shape and dtype, and whether it is donated."""

    shape: tuple[int, ...]
    dtype: Any
    donated: bool


class _Signature(NamedTuple):
    jaxpr: ClosedJaxpr
    in_tree: Any
    out_tree: Any
    name: str
    donated: tuple[bool, ...]
    compiler_options: tuple[tuple[str, Any], ...]
    keep_unused: bool = False

    @property
    def in_avals(self) -> list[Any]:
        return self.jaxpr.in_avals

    @property
    def args_info(self) -> Any:
        return self.in_tree.unflatten(
            [ArgInfo(a.shape, a.dtype, d) for a, d in zip(self.in_avals, self.donated, strict=True)]
        )

    @property
    def out_info(self) -> Any:
        return describe_outputs(self.out_tree, self.jaxpr.out_avals)


class Traced:
    """A function traced for one signature: `jaxpr`, and `lower()` to go on."""

    def __init__(self, *parts: Any):
        self._signature = _Signature(*parts)

    jaxpr = property(lambda self: self._signature.jaxpr)
    in_tree = property(lambda self: self._signature.in_tree)
    out_tree = property(lambda self: self._signature.out_tree)
    fun_name = property(lambda self: self._signature.name)
    args_info = property(lambda self: self._signature.args_info)
    out_info = property(lambda self: self._signature.out_info)
    in_avals = property(lambda self: self.in_tree.unflatten(self._signature.in_avals))
    out_avals = property(lambda self: self.out_tree.unflatten(self.jaxpr.out_avals))

    def lower(self, *, lowering_platforms: Any = None, **_: Any) -> Lowered:
        """The program as a StableHLO module for the default device."""
        return Lowered(self._signature)


class Lowered:
    """A module ready to compile: `as_text()`, and `compile()` to go on."""

    def __init__(self, signature: _Signature):
        self._signature = signature
        program = signature.jaxpr
        self._placement = placement_of(
            [*program.consts, *[None] * len(program.in_avals)], effects=program.effects
        )
        donated = (False,) * len(program.consts) + signature.donated
        self._lowered, self._kept = lower(
            program.jaxpr,
            self._placement,
            name=signature.name,
            donated=donated,
            keep_unused=signature.keep_unused,
        )

    in_tree = property(lambda self: self._signature.in_tree)
    out_tree = property(lambda self: self._signature.out_tree)
    args_info = property(lambda self: self._signature.args_info)
    out_info = property(lambda self: self._signature.out_info)

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """The module's text: dialect 'stablehlo' (default) or 'hlo'."""
        if dialect in (None, "stablehlo"):
            return self._lowered.text if debug_info else self._lowered.bare_text
        if dialect == "hlo":
            computation = _jaxlib.mlir.mlir_module_to_xla_computation(self._lowered.text)
            return computation.as_hlo_text()
        raise ValueError(f"as_text: dialect must be 'stablehlo' or 'hlo', got {dialect!r}")

    def compiler_ir(self, dialect: str | None = None) -> str:
        """The module, as text (no bindings of a compiler library are loaded)."""
        return self.as_text(dialect)

    def compile(self, compiler_options: dict[str, Any] | None = None) -> Compiled:
        """An executable for the default device."""
        options = self._signature.compiler_options + tuple(sorted((compiler_options or {}).items()))
        executable = compile_text(self._lowered, self._placement, self._kept, options)
        execution = Execution(self._signature.jaxpr.jaxpr, executable, self._placement, self._kept)
        return Compiled(self._signature, execution, self._placement.committed)

    def cost_analysis(self) -> dict[str, float]:
        """XLA's estimate of the work: 'flops', 'bytes accessed', ..."""
        return self.compile().cost_analysis()


class Compiled:
    """An executable for one signature. Call it with arguments of exactly those types."""

    def __init__(self, signature: _Signature, execution: Execution, committed: bool):
        self._signature = signature
        self._execution = execution
        self._committed = committed

    in_tree = property(lambda self: self._signature.in_tree)
    out_tree = property(lambda self: self._signature.out_tree)
    args_info = property(lambda self: self._signature.args_info)
    out_info = property(lambda self: self._signature.out_info)

    @property
    def input_shardings(self) -> Any:
        """The sharding of each argument, in the arguments' structure."""
        consts = len(self._signature.jaxpr.consts)
        given = iter(self._execution.in_shardings)
        every = [next(given) if k else None for k in self._execution.kept]
        return self.in_tree.unflatten(every[consts:])

    @property
    def output_shardings(self) -> Any:
        """The sharding of each result, in the result's structure."""
        return self.out_tree.unflatten(self._execution.out_shardings)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves, tree = dispatch_registry.flatten((args, kwargs))
        name = self._signature.name
        if tree != self.in_tree:
            raise TypeError(
                f"{name} was compiled for arguments of structure {self.in_tree}, but was called "
                f"with {tree}."
            )
        for x, aval in zip(leaves, self._signature.in_avals, strict=True):
            if isinstance(x, Tracer):
                raise TypeError(
                    f"Cannot apply a transformation to {name}, which was lowered and compiled for "
                    "a particular signature. Transform the function itself, before lowering it."
                )
            got = typeof(x)
            if (got.shape, got.dtype) != (aval.shape, aval.dtype):
                raise TypeError(
                    f"{name} was compiled for an argument of type {aval.str_short()}, but was "
                    f"called with {got.str_short()}. Compile it for these arguments too."
                )
        consts = self._signature.jaxpr.consts
        outs = self._execution.run([*consts, *leaves], self._committed)
        return self.out_tree.unflatten(outs)

    def as_text(self) -> str:
        """The optimized program, in HLO."""
        return self._execution.executable.get_hlo_text()

    def cost_analysis(self) -> dict[str, float]:
        """XLA's estimate of the work: 'flops', 'bytes accessed', ..."""
        return self._execution.executable.cost_analysis()

    def memory_analysis(self) -> Any:
        """Sizes of arguments, results, temporaries and code, in bytes."""
        return self._execution.executable.get_compiled_memory_stats()

    def runtime_executable(self) -> Any:
        """jaxlib's executable object."""
        return self._execution.executable

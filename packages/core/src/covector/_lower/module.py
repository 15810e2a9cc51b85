"""Lowering: a jaxpr becomes the text of a StableHLO module.

`ModuleBuilder` holds the functions and location aliases of one module. `FunctionBuilder`, the `ctx`
of lowering rules, appends lines to one function. A rule gets its operands' names and types and
gives names back, for instance::

    def lower_sine(ctx, args, in_avals, out_avals):
        return [ctx.simple("sine", args, out_avals[0])]

Read next: `_run/compile.py`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from covector._config import fusion_fences
from covector._ir.avals import ShapedArray
from covector._ir.jaxpr import Equation, Jaxpr, Literal
from covector._ir.source import Scope
from covector._lower.fences import Fences
from covector._lower.stablehlo import constant_text, int_list, quoted
from covector._trace.caches import Memo
from covector._trace.stage import stage_rule
from covector._trace.trace import trace_context


class Lowered(NamedTuple):
    """A module's text, with locations for people and tools, and without them for cache keys."""

    text: str
    bare_text: str
    scopes: str = ""  # the names that operations have in the compiled program, if there are any


class LoweringOptions(NamedTuple):
    """What the text depends on besides the program."""

    name: str
    platform: str
    kept: tuple[bool, ...]
    donated: tuple[bool, ...]
    mesh: tuple[int, ...] = ()  # axis sizes of the devices' mesh; empty for one device
    in_axes: tuple[Any, ...] = ()  # by input and dimension, mesh axes; None: the compiler's choice

    @property
    def num_partitions(self) -> int:
        return math.prod(self.mesh)


class ManualAxis(NamedTuple):
    """A named axis over devices (pmap): consecutive indices are ``stride`` devices apart."""

    name: Any
    size: int
    stride: int


def lower_module(jaxpr: Jaxpr, options: LoweringOptions) -> Lowered:
    """The module whose ``main`` computes ``jaxpr`` on its kept inputs."""
    builder = ModuleBuilder(options.platform, options.mesh)
    main = FunctionBuilder(builder)
    args, signature = [], []
    aliases = _donation_attributes(jaxpr, options)
    for i, aval in enumerate(jaxpr.in_avals):
        args.append(f"%arg{i}")
        if options.kept[i]:
            attributes = [aliases[i]] if aliases[i] else []
            if builder.num_partitions > 1 and options.in_axes[i] is not None:
                attributes.append(f"sdy.sharding = #sdy.sharding{mesh_axes(options.in_axes[i])}")
            suffix = f" {{{', '.join(attributes)}}}" if attributes else ""
            signature.append(f"%arg{i}: {aval.mlir}{suffix}")
    outs = main.inline(jaxpr, args)
    main.finish(outs, jaxpr.out_avals)
    results = ", ".join([a.mlir for a in jaxpr.out_avals])
    builder.add_function("public @main", ", ".join(signature), results, main)
    return builder.module(options)


def mesh_axes(axes: Sequence[Sequence[int]]) -> str:
    """A sharding over the module's mesh: by dimension, the mesh axes that split it."""
    groups = ["{" + ", ".join([f'"a{a}"' for a in group]) + "}" for group in axes]
    return f"<@mesh, [{', '.join(groups)}]>"


def _donation_attributes(jaxpr: Jaxpr, options: LoweringOptions) -> list[str]:
    """For each input, the attribute that gives its buffer to an output of the same type."""
    free = list(enumerate(jaxpr.out_avals))
    attributes = []
    for aval, donated, kept in zip(jaxpr.in_avals, options.donated, options.kept, strict=True):
        text = ""
        if donated and kept:
            same = [i for i, out in free if (out.shape, out.dtype) == (aval.shape, aval.dtype)]
            if same and options.num_partitions == 1:
                free = [(i, out) for i, out in free if i != same[0]]
                text = f"tf.aliasing_output = {same[0]} : i32"
            else:
                text = "jax.buffer_donor = true"
        attributes.append(text)
    return attributes


class ModuleBuilder:
    """The functions of one module, and where its lines come from."""

    def __init__(self, platform: str, mesh: tuple[int, ...] = ()):
        self.platform = platform
        self.mesh = mesh
        self.num_partitions = math.prod(mesh)
        self.functions: list[tuple[str, str, str, FunctionBuilder]] = []
        self.function_names: dict[Any, str] = {}
        self.locations: dict[tuple, int] = {}
        self.fences = fusion_fences.value and platform == "cpu"
        self.num_channels = 0
        # The axes of the manual programs (pmap) around what is being lowered, outermost first.
        self.manual_axes: tuple[ManualAxis, ...] = ()

    def add_function(self, head: str, args: str, results: str, body: FunctionBuilder) -> None:
        self.functions.append((head, args, results, body))

    def function_for(self, jaxpr: Jaxpr, name: str) -> str:
        """The name of a private function computing ``jaxpr``, made at the first request."""
        key = (jaxpr, self.manual_axes)
        if key not in self.function_names:
            unique = f"{_identifier(name)}_{len(self.function_names)}"
            self.function_names[key] = unique
            body = FunctionBuilder(self)
            args = [f"%arg{i}" for i in range(len(jaxpr.in_avals))]
            body.finish(body.inline(jaxpr, args), jaxpr.out_avals)
            signature = [f"{n}: {a.mlir}" for n, a in zip(args, jaxpr.in_avals, strict=True)]
            results = ", ".join(a.mlir for a in jaxpr.out_avals)
            self.add_function(f"private @{unique}", ", ".join(signature), results, body)
        return self.function_names[key]

    def next_channel(self) -> int:
        """A fresh channel number for a collective."""
        self.num_channels += 1
        return self.num_channels

    def location(self, eqn: Equation, scope: Scope) -> int:
        """The number of the alias for an equation's place in the user's code, and its scopes."""
        key = ("/".join([*scope, eqn.primitive.name]), eqn.source)
        number = self.locations.get(key)
        if number is None:
            number = self.locations[key] = len(self.locations)
        return number

    def module(self, options: LoweringOptions) -> Lowered:
        head = (
            f'module @"{_module_name(options.name)}" attributes {{mhlo.num_partitions = '
            f"{self.num_partitions} : i32, mhlo.num_replicas = 1 : i32}} {{"
        )
        located, bare = [head], [head]
        if self.num_partitions > 1:
            sizes = ", ".join([f'"a{i}"={size}' for i, size in enumerate(self.mesh)])
            located.append(f"  sdy.mesh @mesh = <[{sizes}]>")
            bare.append(located[-1])
        for function_head, args, results, body in self.functions:
            line = f"  func.func {function_head}({args}) -> ({results}) {{"
            located.append(line)
            bare.append(line)
            for text, location in body.lines:
                bare.append(text)
                located.append(text if location is None else f"{text} loc(#l{location})")
            located.append("  }")
            bare.append("  }")
        located.append("}")
        bare.append("}")
        aliases = [_location_alias(n, *key) for key, n in self.locations.items()]
        scopes = "\n".join([name for name, _ in self.locations if "/" in name])
        return Lowered("\n".join([*aliases, *located]), "\n".join(bare), scopes)


def _location_alias(number: int, name: str, source: Any) -> str:
    if source is None:
        return f"#l{number} = loc({quoted(name)})"
    file = source.file.replace("\\", "/").replace('"', "'")
    return f'#l{number} = loc({quoted(name)}("{os.path.basename(file)}":{source.line}:0))'


def _identifier(name: str) -> str:
    return "".join(c if c.isalnum() or c == "_" else "_" for c in name)


def _module_name(name: str) -> str:
    return "".join(c if c.isalnum() or c in "_.<>-" else "_" for c in name)


class FunctionBuilder:
    """The `ctx` of lowering rules: appends operations to one function."""

    def __init__(self, module: ModuleBuilder):
        self.module = module
        self.platform = module.platform
        self.lines: list[tuple[str, int | None]] = []
        self.num_names = 0
        self.current_location: int | None = None
        self.scope: Scope = ()  # the named scopes around what is being lowered
        self.constants: dict[Any, str] = {}
        # Names of constants that are finite and not zero, which need no care in linear code.
        self.ordinary: set[str] = set()
        self.scalars: dict[str, Any] = {}  # values of constants of rank zero
        self.fences = Fences(module.fences)

    # -- appending operations --------------------------------------------------------------------

    def emit(self, text: str, num_results: int = 1) -> list[str]:
        """Append ``%n = text``; the names of its results."""
        name = f"%{self.num_names}"
        self.num_names += 1
        location = self.current_location
        if num_results == 1:
            self.lines.append((f"    {name} = {text}", location))
            return [name]
        if num_results == 0:
            self.lines.append((f"    {text}", location))
            return []
        self.lines.append((f"    {name}:{num_results} = {text}", location))
        return [f"{name}#{i}" for i in range(num_results)]

    def line(self, text: str) -> None:
        """Append a line that is no operation of its own (part of a region's syntax)."""
        self.lines.append((f"    {text}", None))

    def simple(self, op: str, args: Sequence[str], aval: ShapedArray) -> str:
        """``stablehlo.OP %a, %b : T``, for operations whose operands and result share a type."""
        return self.emit(f"stablehlo.{op} {', '.join(args)} : {aval.mlir}")[0]

    def typed(
        self,
        op: str,
        args: Sequence[str],
        in_avals: Sequence[ShapedArray],
        out_avals: Sequence[ShapedArray],
        attributes: str = "",
    ) -> list[str]:
        """``stablehlo.OP %a, %b, attributes : (types) -> types``."""
        middle = f", {attributes}" if attributes else ""
        signature = function_type(in_avals, out_avals)
        return self.emit(f"stablehlo.{op} {', '.join(args)}{middle} : {signature}", len(out_avals))

    def constant(self, value: Any, aval: ShapedArray) -> str:
        """The name of a constant, made once in this function or region."""
        text = constant_text(value, aval)
        name = self.constants.get(text)
        if name is None:
            name = self.constants[text] = self.emit(text)[0]
            array = np.asarray(value, aval.dtype)
            if not aval.shape:
                self.scalars[name] = value
            if (np.isfinite(array) & (array != 0)).all():
                self.ordinary.add(name)
        return name

    def broadcast(
        self,
        name: str,
        from_aval: ShapedArray,
        to_aval: ShapedArray,
        dims: Sequence[int] = (),
    ) -> str:
        """``name`` broadcast to ``to_aval``; its axis i becomes axis ``dims[i]``."""
        if from_aval.shape == to_aval.shape:
            return name
        if name in self.scalars:
            return self.constant(self.scalars[name], to_aval)
        attributes = f"dims = {int_list(dims)}"
        return self.typed("broadcast_in_dim", [name], [from_aval], [to_aval], attributes)[0]

    def convert(self, name: str, from_aval: ShapedArray, to_aval: ShapedArray) -> str:
        """``name`` converted to ``to_aval``'s dtype."""
        if from_aval.dtype == to_aval.dtype:
            return name
        return self.typed("convert", [name], [from_aval], [to_aval])[0]

    # -- programs inside programs ----------------------------------------------------------------

    def inline(self, jaxpr: Jaxpr, args: Sequence[str]) -> list[str]:
        """Append all of ``jaxpr``'s operations here; the names of its outputs."""
        env: dict[Any, str] = dict(zip(jaxpr.invars, args, strict=True))
        uses = self.fences.use_counts(jaxpr)
        outer, outer_scope = self.current_location, self.scope
        for eqn in jaxpr.eqns:
            names = [self._read(env, a) for a in eqn.invars]
            self.scope = outer_scope + eqn.scope
            if eqn.source is not None or outer is None:
                self.current_location = self.module.location(eqn, self.scope)
            outs = self._lower_equation(eqn, names)
            if uses and outs and self.fences.wanted(eqn, names, outs[0], uses[eqn.outvars[0]]):
                outs = [self.simple("optimization_barrier", outs, eqn.outvars[0].aval)]
            env.update(zip(eqn.outvars, outs, strict=True))
        self.current_location, self.scope = outer, outer_scope
        return [self._read(env, a) for a in jaxpr.outvars]

    def _lower_equation(self, eqn: Equation, names: list[str]) -> list[str]:
        rule = eqn.primitive.lower
        if rule is None:
            raise NotImplementedError(f"'{eqn.primitive.name}' has no lowering.")
        in_avals = [a.aval for a in eqn.invars]
        out_avals = [v.aval for v in eqn.outvars]
        outs = rule(self, names, in_avals, out_avals, **eqn.params)
        return [outs] if isinstance(outs, str) else list(outs)

    def _read(self, env: dict[Any, str], atom: Any) -> str:
        if type(atom) is Literal:
            return self.constant(atom.val, atom.aval)
        return env[atom]

    def call(self, jaxpr: Jaxpr, args: Sequence[str], name: str) -> list[str]:
        """Call ``jaxpr`` as a function of the module (shared by equal programs)."""
        function = self.module.function_for(jaxpr, name)
        signature = function_type(jaxpr.in_avals, jaxpr.out_avals)
        text = f"func.call @{function}({', '.join(args)}) : {signature}"
        return self.emit(text, len(jaxpr.out_avals))

    @contextmanager
    def region(self) -> Iterator[None]:
        """Lines appended inside belong to a nested region: constants made there stay there."""
        outer, fences = self.constants, self.fences
        self.constants = dict(outer)
        self.fences = Fences(False)
        try:
            yield
        finally:
            self.constants, self.fences = outer, fences

    def yield_(self, names: Sequence[str], avals: Sequence[ShapedArray]) -> None:
        """The last line of a region."""
        self.line(f"stablehlo.return {', '.join(names)} : {', '.join(a.mlir for a in avals)}")

    def finish(self, names: Sequence[str], avals: Sequence[ShapedArray]) -> None:
        types = ", ".join(a.mlir for a in avals)
        self.line(f"return {', '.join(names)} : {types}" if names else "return")


def function_type(in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray]) -> str:
    """``(T, T) -> T``, with the results in parentheses unless there is exactly one."""
    results = ", ".join(a.mlir for a in out_avals)
    if len(out_avals) != 1:
        results = f"({results})"
    return f"({', '.join(a.mlir for a in in_avals)}) -> {results}"


def by_platform(on_cpu: Callable[..., Any], elsewhere: Callable[..., Any]) -> Callable[..., Any]:
    """A lowering rule that is one rule on CPUs and another on all other platforms."""

    def rule(ctx: FunctionBuilder, *args: Any, **params: Any) -> Any:
        return (on_cpu if ctx.platform == "cpu" else elsewhere)(ctx, *args, **params)

    return rule


def lower_by(function: Callable[..., Any]) -> Callable[..., list[str]]:
    """A lowering rule from a function in terms of other primitives, staged once per signature."""
    memo = Memo()

    def rule(
        ctx: FunctionBuilder,
        args: Sequence[str],
        in_avals: Sequence[ShapedArray],
        out_avals: Sequence[ShapedArray],
        **params: Any,
    ) -> list[str]:
        key = (tuple(in_avals), tuple(params.items()), trace_context())
        jaxpr = memo.get(key)
        if jaxpr is None:

            def body(*xs: Any) -> list[Any]:
                out = function(*xs, **params)
                return list(out) if isinstance(out, (list, tuple)) else [out]

            jaxpr = memo.store(key, stage_rule(body, in_avals))
        return ctx.inline(jaxpr, args)

    return rule

"""Traces: interpreters of programs, with one essential method, ``call(jaxpr, args) -> outs``.

Applying a primitive is calling a one-equation jaxpr. Every thread has a current trace; a trace has
a parent, and sees any value that is not a tracer of its own as a constant. So nested
transformations cannot confuse their tracers, whatever order they run in.

The five traces are `EvalTrace` (below), `StageTrace` (`stage.py`), and `JVPTrace`,
`LinearizeTrace` and `BatchTrace` (`_transform/`). Read next: `primitive.py`, `stage.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jaxlib._jax as _jaxlib
import numpy as np

from covector._config import enable_x64_state
from covector._config import trace_context as trace_context
from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector._ir.jaxpr import Jaxpr
from covector._trace.caches import Memo
from covector.errors import UnexpectedTracerError

if TYPE_CHECKING:
    from covector._run.array_type import Array as _Operators
else:
    _Operators = object


class Trace:
    """An interpreter of programs. `parent` is where the values that it wraps live."""

    __slots__ = ("__weakref__", "alive", "parent")

    def __init__(self, parent: Trace | None):
        self.parent = parent
        self.alive = True

    def call(self, jaxpr: Jaxpr, args: Sequence[Any]) -> list[Any]:
        """Run ``jaxpr`` on ``args``, which may hold tracers of this trace or constants."""
        raise NotImplementedError(f"{type(self).__name__}.call")

    def custom_call(self, function: Any, args: Sequence[Any]) -> list[Any]:
        """Run a function with derivative rules of its own (see `_transform/custom.py`)."""
        raise NotImplementedError(f"{type(self).__name__}.custom_call")


_scalars: Memo = Memo(bound=512)


def _scalar_on_device(x: float) -> Any:
    """A Python float as an array: the constants of a program are few, and transfers are not free.

    (A hit saves 5 us. Zero is left alone because its sign would be lost, nan because it is no key.)
    """
    if x == 0.0 or x != x:
        return x
    key = (x, trace_context())
    array = _scalars.get(key)
    if array is None:
        from covector._run.client import default_device
        from covector._run.transfer import put_on_device

        array = _scalars.store(key, put_on_device(x, default_device(), False, typeof(x)))
    return array


class EvalTrace(Trace):
    """Runs each program's compiled executable on concrete arrays."""

    __slots__ = ()

    def call(self, jaxpr: Jaxpr, args: Sequence[Any]) -> list[Any]:
        if jaxpr.forwarded is not None:
            return [args[i] for i in jaxpr.forwarded]
        executable = jaxpr._executable
        if executable is None:
            from covector._run.dispatch import executable_of

            executable = executable_of(jaxpr)
        if jaxpr.weak_scalars:
            args = list(args)
            for i in jaxpr.weak_scalars:
                if type(args[i]) is float:
                    args[i] = _scalar_on_device(args[i])
        return executable(*args)

    def custom_call(self, function: Any, args: Sequence[Any]) -> list[Any]:
        return function.run(*args)


EVAL = EvalTrace(None)

# The current trace of each thread. `staging_state` is part of jaxlib's jit key: it is what keeps
# the C++ fast path from running an operation that must be written into a program instead.
current_trace_state = _jaxlib.config.Config("current_trace", EVAL)
staging_state = _jaxlib.config.Config("staging", False, include_in_jit_key=True)


def current_trace() -> Trace:
    """The trace that operations of this thread go to."""
    return current_trace_state.value


class use_trace:
    """Context manager: make ``trace`` current in this thread. Hot: 0.4 us."""

    __slots__ = ("old", "trace")

    def __init__(self, trace: Trace):
        self.trace = trace

    def __enter__(self) -> Trace:
        self.old = current_trace_state.swap_local(self.trace)
        return self.trace

    def __exit__(self, *exc: Any) -> None:
        current_trace_state.set_local(self.old)


class use_base_trace(use_trace):
    """Like `use_trace` for a trace without a parent: staging, or evaluation in its midst."""

    __slots__ = ("old_staging",)

    def __enter__(self) -> Trace:
        self.old_staging = staging_state.swap_local(self.trace is not EVAL)
        return super().__enter__()

    def __exit__(self, *exc: Any) -> None:
        super().__exit__()
        staging_state.set_local(self.old_staging)


class Tracer(_Operators):
    """A value inside a transformation. Array operators and methods are attached to this class."""

    __slots__ = ("__weakref__", "_trace", "aval")

    _trace: Trace
    aval: ShapedArray

    def _is_traced_array(self) -> bool:
        return True

    # `concrete` is the value behind the tracer where there is one (jvp, linearize), else itself.
    def concrete(self) -> Any:
        """The innermost value that this tracer stands for, if transformations keep it."""
        return self

    def origin(self) -> str:
        """Where the value was made, for error messages: "at file.py:3 (f)"."""
        return ""

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape

    @property
    def dtype(self) -> np.dtype:
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        return self.aval.ndim

    @property
    def size(self) -> int:
        return self.aval.size

    @property
    def weak_type(self) -> bool:
        return self.aval.weak_type

    def __repr__(self) -> str:
        kind = type(self).__name__
        return f"{kind}<{self.aval.str_short()}>"

    def __hash__(self) -> int:
        """Refused: ``==`` of tracers is no bool. (jaxlib shows this text for a static argument.)"""
        raise TypeError(
            f"unhashable type: '{type(self).__name__}'. A traced array of type "
            f"{self.aval.str_short()} stands where a value must be known: as a static argument, or "
            "as the key of a dictionary. Mark the argument that it comes from static "
            "(static_argnums, static_argnames)."
        )


_jaxlib.set_tracer_class(Tracer)


def escaped_tracer_error(tracer: Tracer) -> UnexpectedTracerError:
    """The error for a tracer met outside the transformation that made it."""
    origin = tracer.origin()
    return UnexpectedTracerError(
        f"A value of type {tracer.aval.str_short()} was used after the transformation that made it "
        f"(jit, grad, vmap, scan, ...) had ended{'; it was made ' + origin if origin else ''}. "
        "This happens when a traced function stores a value in a global, an attribute or a list "
        "that outlives the call. Return the value from the function instead."
    )


# --- types of values ----------------------------------------------------------------------------

_scalar_avals: dict[Any, ShapedArray] = {}


def typeof(x: Any) -> ShapedArray:
    """The abstract value of an array, tracer, NumPy array or Python scalar.

    >>> typeof(1.0)
    f32[] weak
    """
    aval = getattr(x, "aval", None)
    return _type_of_host_value(x) if aval is None else aval


def _type_of_host_value(x: Any) -> ShapedArray:
    kind = type(x)
    if kind is float:
        return _type_of_scalar(kind)
    if isinstance(x, np.ndarray | np.generic):
        check_fits_32_bits(x)
        return ShapedArray(x.shape, dtypes.canonicalize_dtype(x.dtype))
    if isinstance(x, int) and not isinstance(x, bool):
        _check_python_int(x)
        return _type_of_scalar(int)
    if isinstance(x, bool | float | complex):
        return _type_of_scalar(kind)
    raise not_an_array(x)


def _type_of_scalar(kind: type) -> ShapedArray:
    """The type of a Python number: weak, except for bool."""
    key = (kind, enable_x64_state.value)
    aval = _scalar_avals.get(key)
    if aval is None:
        base = next(t for t in (bool, int, float, complex) if issubclass(kind, t))
        aval = ShapedArray((), dtypes.scalar_dtype(base), base is not bool)
        _scalar_avals[key] = aval
    return aval


def _check_python_int(x: int) -> None:
    wide = enable_x64_state.value
    if not -(2**63 if wide else 2**31) <= x < (2**63 if wide else 2**31):
        remedy = (
            "Use a float, or an array of dtype uint64."
            if wide
            else "Enable 64-bit types with covector.config.update('jax_enable_x64', True), or pass "
            "an array of another dtype."
        )
        raise OverflowError(
            f"Python int {x} too large to convert to {'int64' if wide else 'int32'}. {remedy}"
        )


def check_fits_32_bits(x: Any) -> None:
    """Raise `OverflowError` for 64-bit integers that the 32-bit default cannot hold."""
    if x.dtype.itemsize == 8 and x.dtype.kind in "iu" and not enable_x64_state.value and x.size:
        info = np.iinfo(np.int32 if x.dtype.kind == "i" else np.uint32)
        low, high = x.min(), x.max()
        if low < info.min or high > info.max:
            raise OverflowError(
                f"An array of dtype {x.dtype} holds {low if low < info.min else high}, which does "
                f"not fit {info.dtype}, the widest integer while 64-bit types are off. Enable them "
                "with covector.config.update('jax_enable_x64', True), or convert the array first."
            )


def not_an_array(x: Any) -> TypeError:
    """The error for a value that no operation takes."""
    hint = ""
    if isinstance(x, (list, tuple)):
        hint = " Convert a sequence with covector.numpy.array first."
    elif x is None or isinstance(x, (str, bytes)) or callable(x):
        hint = " Under jit, mark such an argument static (static_argnums, static_argnames)."
    described = repr(x)
    if len(described) > 80:
        described = described[:77] + "..."
    return TypeError(
        f"Value {described} of type {type(x)} is not a valid array: expected an array, a tracer, "
        f"a NumPy array or a Python number.{hint}"
    )


def is_arraylike(x: Any) -> bool:
    """Whether `typeof` takes ``x``."""
    return hasattr(x, "aval") or isinstance(x, (np.ndarray, np.generic, bool, int, float, complex))

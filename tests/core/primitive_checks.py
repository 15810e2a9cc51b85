"""What every primitive must satisfy, as checks of any function of arrays.

Each takes a function of arrays (params closed over) that gives an array or a tree of them, and
sample arguments. `check_derivatives` wants float64 or complex128 samples, and compares with central
differences; the other checks take any dtype. Directions and cotangents are drawn from a fixed seed.

    check_all(lax.atan2, x, y)                       # everything below
    check_staged(f, *args)                           # jit and eager agree
    check_derivatives(f, *args, wrt=(0,), order=2)   # jvp, vjp, and those of the derivative
    check_batched(f, *args)                          # vmap agrees with a loop, for each axis
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import covector
import jaxlib._jax as _jaxlib
import ml_dtypes
import numpy as np
from covector._ir.check import check_jaxpr
from covector._lower.module import Lowered

Function = Callable[..., Any]


def check_all(
    function: Function,
    *args: Any,
    wrt: Sequence[int] | None = None,
    order: int = 2,
    rtol: float = 1e-5,
) -> None:
    """Run all checks. ``wrt``: which arguments to differentiate in (None: all inexact ones)."""
    with covector.enable_x64(True):
        check_staged(function, *args)
        check_batched(function, *args)
        check_derivatives(function, *args, wrt=wrt, order=order, rtol=rtol)


# --- programs -------------------------------------------------------------------------------------


def check_program(function: Function, *args: Any, holds: str) -> None:
    """The program keeps the rules of the representation, and its text compiles to the same."""
    program = covector.make_jaxpr(function)(*args)
    assert _holds(program.jaxpr, holds)
    check_jaxpr(program)
    _check_text(function, args)


def _check_text(function: Function, args: tuple) -> None:
    """XLA parses the module's text, and what it prints of it compiles to the same function."""
    lowered = covector.jit(function).lower(*args)
    text = lowered.as_text()
    computation = _jaxlib.mlir.mlir_module_to_xla_computation(text)
    printed = _jaxlib.mlir.xla_computation_to_mlir_module(computation)
    lowered._lowered = Lowered(printed, text)
    compiled = lowered.compile({"xla_backend_optimization_level": 0})
    for x, expected in zip(leaves(compiled(*args)), leaves(function(*args)), strict=True):
        assert (x.dtype, x.shape, x.weak_type) == (
            expected.dtype,
            expected.shape,
            expected.weak_type,
        )
        assert_close(x, expected, rtol=64 * epsilon(x.dtype), atol=64 * epsilon(x.dtype))


def _holds(jaxpr: Any, name: str) -> bool:
    """Whether a program, or one inside it, has an equation of this primitive."""
    return any(
        eqn.primitive.name == name
        or any(hasattr(p, "eqns") and _holds(p, name) for p in eqn.params.values())
        for eqn in jaxpr.eqns
    )


# --- staging --------------------------------------------------------------------------------------


def check_staged(function: Function, *args: Any, ulps: int = 4) -> None:
    """Jitted and eager results agree in value, dtype and weak type."""
    eager, jitted = leaves(function(*args)), leaves(covector.jit(function)(*args))
    avals = leaves(covector.eval_shape(function, *args))
    for x, y, aval in zip(eager, jitted, avals, strict=True):
        assert (x.dtype, x.shape, x.weak_type) == (y.dtype, y.shape, y.weak_type)
        assert (x.dtype, x.shape, x.weak_type) == (aval.dtype, aval.shape, aval.weak_type)
        assert_close(y, x, rtol=ulps * epsilon(x.dtype))


# --- derivatives ----------------------------------------------------------------------------------


def check_derivatives(
    function: Function,
    *args: Any,
    wrt: Sequence[int] | None = None,
    order: int = 2,
    rtol: float = 1e-5,
    step: float = 1e-5,
) -> None:
    """Jvp against central differences, vjp against jvp, and likewise for the derivatives."""
    with covector.enable_x64(True):
        args = tuple([covector.device_put(np.asarray(x)) for x in args])
        if wrt is None:
            wrt = [i for i, x in enumerate(args) if is_inexact(x.dtype)]
        variables = [args[i] for i in wrt]

        def of_variables(*xs: Any) -> list[Any]:
            full = list(args)
            for i, x in zip(wrt, xs, strict=True):
                full[i] = x
            return [y for y in leaves(function(*full)) if is_inexact(y.dtype)]

        _check_derivatives(of_variables, variables, order, rtol, step, np.random.default_rng(0))


def _check_derivatives(
    function: Function, args: list, order: int, rtol: float, step: float, rng: Any
) -> None:
    if order == 0 or not function(*args):
        return
    tangents = [direction(x, rng) for x in args]
    outs, out_tangents = covector.jvp(function, tuple(args), tuple(tangents))
    for y, expected in zip(outs, function(*args), strict=True):
        assert_close(y, expected, rtol=4 * epsilon(y.dtype))
    differences = central_differences(function, args, tangents, step)
    for t, expected in zip(out_tangents, differences, strict=True):
        assert_close(t, expected, rtol=rtol, atol=rtol * scale_of(expected))
    _check_transpose(function, args, tangents, outs, out_tangents, rng)
    if order > 1:
        # Jitted: here only the derivatives' values matter, and one program compiles faster.
        cts = [direction(y, rng) for y in outs]
        forward = covector.jit(lambda *xs: covector.jvp(function, xs, tuple(tangents))[1])
        reverse = covector.jit(lambda *xs: list(covector.vjp(function, *xs)[1](cts)))
        _check_derivatives(forward, args, order - 1, rtol * 10, step, rng)
        _check_derivatives(reverse, args, order - 1, rtol * 10, step, rng)


def _check_transpose(
    function: Function, args: list, tangents: list, outs: list, out_tangents: list, rng: Any
) -> None:
    """``<ct, J t> == <J^T ct, t>``."""
    cts = [direction(y, rng) for y in outs]
    primals, pullback = covector.vjp(function, *args)
    for y, z in zip(primals, outs, strict=True):
        assert_close(y, z, rtol=4 * epsilon(y.dtype))
    results = pullback(cts)
    for ct, x in zip(results, args, strict=True):
        assert (ct.shape, ct.dtype) == (x.shape, x.dtype)
    size = sum([np.abs(host(a) * host(b)).sum() for a, b in zip(cts, out_tangents, strict=True)])
    expected = inner(cts, out_tangents)
    np.testing.assert_allclose(inner(results, tangents), expected, rtol=1e-9, atol=1e-9 * size)


def central_differences(function: Function, args: list, tangents: list, step: float) -> list:
    """The directional derivative of each output, to about ``step ** 2``."""
    ahead = function(*[host(x) + step * host(t) for x, t in zip(args, tangents, strict=True)])
    behind = function(*[host(x) - step * host(t) for x, t in zip(args, tangents, strict=True)])
    return [(host(a) - host(b)) / (2 * step) for a, b in zip(ahead, behind, strict=True)]


def inner(xs: Sequence[Any], ys: Sequence[Any]) -> float:
    """The real part of the sum of products: the pairing that transposition preserves."""
    return float(sum([np.real(host(x) * host(y)).sum() for x, y in zip(xs, ys, strict=True)]))


# --- batching -------------------------------------------------------------------------------------


def check_batched(
    function: Function, *args: Any, size: int = 2, ulps: int = 8, axes: Sequence[int] | None = None
) -> None:
    """Vmap agrees with a loop, for each set of batched arguments and each place of the batch axis.

    ``axes`` limits the places of the batch axis; by default it is put first and last.
    """
    args = tuple([covector.device_put(np.asarray(x)) for x in args])
    for chosen in itertools.product([False, True], repeat=len(args)):
        if not any(chosen):
            continue
        for place in (0, -1) if axes is None else axes:
            dims = tuple([place if c else None for c in chosen])
            if place != 0 and all(x.ndim == 0 for x, c in zip(args, chosen, strict=True) if c):
                continue
            _check_batched(function, args, dims, size, ulps)


def _check_batched(function: Function, args: tuple, dims: tuple, size: int, ulps: int) -> None:
    stacked = [
        x if d is None else np.stack([variant(x, i) for i in range(size)], axis=d)
        for x, d in zip(args, dims, strict=True)
    ]
    batched = leaves(covector.vmap(function, in_axes=dims)(*stacked))
    for i in range(size):
        single = function(
            *[x if d is None else variant(x, i) for x, d in zip(args, dims, strict=True)]
        )
        for row, expected in zip(batched, leaves(single), strict=True):
            assert row.dtype == expected.dtype, f"axes {dims}"
            tolerance = ulps * epsilon(expected.dtype)
            assert_close(host(row)[i], expected, rtol=tolerance, message=f"axes {dims}")


def variant(x: Any, i: int) -> np.ndarray:
    """Another sample of the same kind: the elements of ``x`` in another order."""
    return np.roll(host(x), i)


# --- values ---------------------------------------------------------------------------------------


def leaves(tree: Any) -> list[Any]:
    return covector.tree.leaves(tree)


def host(x: Any) -> np.ndarray:
    """The value as a NumPy array."""
    return np.asarray(x)


def wide(x: Any) -> np.ndarray:
    """The value in double precision (of integers and booleans, as it is)."""
    x = host(x)
    if not is_inexact(x.dtype):
        return x.astype(np.int64) if x.dtype.kind == "V" or x.dtype.name[:3] == "int" else x
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def is_inexact(dtype: Any) -> bool:
    return covector.dtypes.issubdtype(dtype, np.inexact)


def epsilon(dtype: Any) -> float:
    return float(ml_dtypes.finfo(dtype).eps) if is_inexact(dtype) else 0.0


def scale_of(x: Any) -> float:
    """The largest finite absolute value."""
    size = np.abs(host(x))
    return float(np.max(size, initial=0.0, where=np.isfinite(size)))


def direction(x: Any, rng: Any) -> np.ndarray:
    """A random array of ``x``'s type."""
    t = rng.standard_normal(x.shape)
    if np.dtype(x.dtype).kind == "c":
        t = t + 1j * rng.standard_normal(x.shape)
    return np.asarray(t).astype(x.dtype)


def assert_close(
    actual: Any, expected: Any, *, rtol: float, atol: float = 0.0, message: str = ""
) -> None:
    """Equal but for rounding; nan equals nan, and infinities of one sign are equal."""
    expected = wide(expected)
    np.testing.assert_allclose(wide(actual), expected, rtol=rtol, atol=atol, err_msg=message)

"""Variables whose values are refused, or mean something else than they seem to."""

from __future__ import annotations

from collections.abc import Iterator

from install_helper import commands
from install_helper.findings import Finding, Seen, Step, found, rule
from install_helper.reading import Reading

TRUTH = ("y", "yes", "t", "true", "on", "1", "n", "no", "f", "false", "off", "0")
BOOLEANS = (
    "JAX_ENABLE_X64", "JAX_DEBUG_NANS", "JAX_DEBUG_INFS", "JAX_DISABLE_JIT", "JAX_LOG_COMPILES",
    "JAX_ENABLE_CHECKS", "JAX_ENABLE_COMPILATION_CACHE", "JAX_THREEFRY_PARTITIONABLE",
)  # fmt: skip
ALLOCATORS = ("default", "platform", "bfc", "cuda_async", "vmm", "address")
PREALLOCATE = "XLA_PYTHON_CLIENT_PREALLOCATE"
FRACTIONS = ("XLA_PYTHON_CLIENT_MEM_FRACTION", "XLA_CLIENT_MEM_FRACTION")


@rule()
def refused_value(reading: Reading) -> Iterator[Finding]:
    """A variable of the framework or of its GPU client holds what it does not take."""
    if not reading.jaxlib:
        return
    for name, problem, better in (*_booleans(reading), *_client(reading)):
        value = reading.env(name) or ""
        steps = [Step("Unset it", commands.unset(reading, name))]
        if better:
            steps = [Step("Write it so", commands.export(reading, name, better))]
        yield found("C74", [Seen(f"{name}={value[:60]}: {problem}", "environment")], steps)
        return


def _booleans(reading: Reading) -> Iterator[tuple[str, str, str]]:
    for name in BOOLEANS:
        value = reading.env(name)
        if value and value.lower() not in TRUTH:
            yield name, "no truth value, such as true or false", ""


def _client(reading: Reading) -> Iterator[tuple[str, str, str]]:
    """The variables that the CUDA client reads."""
    if not reading.has_cuda_build:
        return
    value = reading.env(PREALLOCATE)
    if value and value not in ("0", "1", "false", "true", "False", "True"):
        off = value.lower() in TRUTH[6:]
        yield PREALLOCATE, "taken as true" if off else "no truth value", "false" if off else ""
    for name in FRACTIONS:
        value = reading.env(name)
        if value and not _is_fraction(value):
            yield name, "a fraction above 0 and up to 1 is wanted", _as_fraction(value)
    value = reading.env("XLA_PYTHON_CLIENT_ALLOCATOR")
    if value and value.lower() not in ALLOCATORS:
        yield "XLA_PYTHON_CLIENT_ALLOCATOR", f"one of {', '.join(ALLOCATORS)} is wanted", ""


def _is_fraction(text: str) -> bool:
    try:
        return 0 < float(text) <= 1
    except ValueError:
        return False


def _as_fraction(text: str) -> str:
    """A percentage as a fraction, or nothing."""
    number = text.strip().rstrip("%").strip()
    return f"{int(number) / 100:g}" if number.isdigit() and 1 < int(number) <= 100 else ""

"""What the flags for tracing, guards, compiling and the disk cache do."""

import logging
import os

import covector
import numpy as np
import pytest
from covector import lax
from covector._run import disk_cache
from covector.errors import JaxRuntimeError, UnexpectedTracerError

X = np.ones(3, np.float32)


@pytest.fixture
def config():
    """`config.update`; values are put back."""
    before = dict(covector.config.values)
    yield covector.config.update
    for name, value in before.items():
        if covector.config.read(name) != value:
            covector.config.update(name, value)


def doubled(x):
    return lax.add(x, x)


def test_no_tracing():
    f = covector.jit(doubled)
    f(X)
    with covector.no_tracing(True):
        assert f(X).tolist() == [2, 2, 2]
        with pytest.raises(RuntimeError, match=r"re-tracing function doubled .*'no_tracing'"):
            f(np.ones(4, np.float32))


def test_no_execution():
    f = covector.jit(doubled)
    f(X)
    with covector.no_execution(True):
        covector.make_jaxpr(doubled)(X)
        for call in (lambda: f(X), lambda: lax.add(X, X)):
            with pytest.raises(RuntimeError, match="flag no_execution is set"):
                call()
    assert f(X).tolist() == [2, 2, 2]


held = []


def leaky(x):
    held.append(lax.sin(x))
    return x


@pytest.mark.parametrize(
    "transformed",
    [
        covector.jit(leaky),
        covector.grad(leaky),
        covector.vmap(leaky, axis_size=3, in_axes=None, out_axes=None),
        lambda x: lax.scan(lambda c, y: (leaky(c), y), x, X),
        covector.vmap(lambda x: lax.add(leaky(x), covector.jit(doubled)(x)), in_axes=0),
    ],
    ids=["jit", "grad", "vmap unmapped", "scan", "vmap"],
)
def test_leaks(transformed, request):
    argument = X if request.node.callspec.id == "vmap" else np.float32(1)
    leaks = "unmapped" not in request.node.callspec.id  # an unmapped value is no tracer
    with covector.checking_leaks():
        if leaks:
            with pytest.raises(UnexpectedTracerError, match=r"(?s)Leaked trace .* held by a list"):
                transformed(argument)
        else:
            transformed(argument)
        held.clear()
        covector.grad(covector.jit(lambda x: lax.mul(x, x)))(2.0)  # nothing leaks


def test_cache_misses_are_explained(config, caplog):
    config("explain_cache_misses", True)
    f = covector.jit(lambda x, n: lax.mul(x["a"], x["a"]), static_argnums=1)
    with caplog.at_level(logging.WARNING, logger="covector"):
        f({"a": X}, 1)
        f({"a": np.ones(4, np.float32)}, 1)
        f({"a": X}, 2)
        with covector.default_matmul_precision("highest"):
            f({"a": X}, 1)
    never, types, static, context = [r.getMessage() for r in caplog.records]
    assert "never traced before" in never
    assert "args[0]['a']: now f32[4], before f32[3]" in types
    assert "static arguments" in static and "2" in static
    assert "default_matmul_precision is 'highest', was None" in context


def test_dump(config, tmp_path):
    config("dump_ir_to", str(tmp_path / "programs"))
    config("dump_ir_modes", "stablehlo,jaxpr")

    @covector.jit
    def tripled(x):
        return lax.mul(x, np.float32(3))

    tripled(X)
    text, program = [
        next((tmp_path / "programs").glob(f"covector_*_jit_tripled.{form}")).read_text()
        for form in ("mlir", "jaxpr.txt")
    ]
    assert "stablehlo.multiply" in text
    assert "mul" in program
    config("dump_ir_modes", "llvm")
    with pytest.raises(ValueError, match="'stablehlo' and 'jaxpr', got llvm"):
        covector.jit(lambda x: lax.mul(x, np.float32(4)))(X)


@pytest.mark.parametrize(
    "flag, value",
    [
        ("optimization_level", "O0"),
        ("memory_fitting_level", "O0"),
        ("disable_most_optimizations", True),
    ],
)
def test_compiler_effort(config, flag, value):
    """The compiler is told, and the program is compiled anew."""
    from covector._run.compile import compile_options

    plain = compile_options([covector.devices()[0]], []).SerializeAsString()
    f = covector.jit(lambda x: lax.mul(x, np.float32(5)))
    f(X)
    config(flag, value)
    assert compile_options([covector.devices()[0]], []).SerializeAsString() != plain
    assert f(X).tolist() == [5, 5, 5]


def test_transfer_guards():
    f = covector.jit(doubled)
    f(X)
    with covector.transfer_guard("disallow"):
        on_device = covector.device_put(X)
        assert covector.device_get(f(on_device)).tolist() == [2, 2, 2]
        with pytest.raises(JaxRuntimeError, match="Disallowed host-to-device transfer"):
            f(X)
    with (
        covector.transfer_guard("disallow_explicit"),
        pytest.raises(JaxRuntimeError, match="Disallowed host-to-device transfer"),
    ):
        covector.device_put(X)
    assert f(X).tolist() == [2, 2, 2]


def entries(folder):
    return [name for name in os.listdir(folder) if not name.startswith(".")]


@pytest.fixture
def folder(config, tmp_path):
    config("enable_compilation_cache", True)
    config("compilation_cache_dir", str(tmp_path))
    return tmp_path


def compile_one(factor):
    covector.jit(lambda x: lax.mul(x, np.float32(factor)))(X)


def test_what_the_disk_cache_takes(config, folder):
    config("persistent_cache_min_compile_time_secs", 1000.0)
    compile_one(7)
    assert entries(folder) == []
    config("persistent_cache_min_compile_time_secs", 0.0)
    config("persistent_cache_min_entry_size_bytes", 10**9)
    compile_one(8)
    assert entries(folder) == []
    config("persistent_cache_min_entry_size_bytes", 0)
    compile_one(9)
    assert len(entries(folder)) == 1


def test_what_the_disk_cache_may_hold(config, folder, monkeypatch):
    config("compilation_cache_max_size", 2500)
    for i in range(4):
        monkeypatch.setattr(disk_cache, "_writes", 0)  # each write looks at the size
        disk_cache.store(f"entry{i}", bytes(1000))
    assert len(entries(folder)) == 2


def test_errors_of_the_disk_cache(config, folder):
    blocked = folder / "file"
    blocked.write_text("not a folder")
    config("compilation_cache_dir", str(blocked))
    disk_cache.store("entry", b"content")  # not an error
    config("raise_persistent_cache_errors", True)
    with pytest.raises(OSError):
        disk_cache.store("entry", b"content")

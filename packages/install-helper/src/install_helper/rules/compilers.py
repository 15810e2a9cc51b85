"""ptxas, libdevice and the flags of XLA."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from install_helper import commands, matrix
from install_helper.findings import Finding, Seen, Step, found, rule
from install_helper.reading import Reading
from install_helper.rules.wheels import again
from install_helper.versions import at_least, numbers, older

BUNDLED_LIBDEVICE = ("0.1.66", "0.4.31")
LONG_DASHES = "\u2012\u2013\u2014\u2015\u2212"
EMPTY_OK = ("--xla_dump_to", "--xla_gpu_dump_llvmir")


def ptxas_least(reading: Reading) -> str | None:
    """The oldest ptxas that the build works with."""
    for name in ("nvidia-cuda-nvcc-cu12", "nvidia-cuda-nvcc"):
        match = re.search(r">=\s*([\d.]+)", reading.bounds.get(name, ""))
        if match:
            return match[1]
    return reading.build["cuda_min"] if reading.build else None


@rule(unless=("C23", "C71"))
def ptxas_too_old(reading: Reading) -> Iterator[Finding]:
    """A ptxas that is found before the newest one is older than the build wants."""
    least, tools = ptxas_least(reading), reading.facts.cuda.ptxas
    if not reading.has_cuda_build or not least:
        return
    known = [t for t in tools if t.version]
    low = [t for t in known if reading.older_than(t.version, least)]
    first_good = next((i for i, t in enumerate(known) if t not in low), len(known))
    # One that stands behind a good one in the order of search is harmless, PATH apart: the order
    # changed between releases.
    bad = [t for i, t in enumerate(known) if t in low and (i < first_good or t.source == "PATH")]
    if bad:
        tool = bad[0]
        seen = [
            Seen(f"ptxas {tool.version} ({tool.source})", tool.path),
            Seen(f"the build wants {least} or newer"),
        ]
        yield found("C25", seen, _ptxas_steps(reading, tool.source, tool.path, least))


def _ptxas_steps(reading: Reading, source: str, path: str, least: str) -> list[Step]:
    name = "nvidia-cuda-nvcc-cu12" if reading.cuda_major == 12 else "nvidia-cuda-nvcc"
    if source.startswith("wheel"):
        line = commands.install(reading, f"{name}>={least}", options=("--upgrade",))
        return [Step("Upgrade the wheel that holds it", line)]
    folder = path.rpartition("/")[0]
    steps = [Step(f"Take {folder} off PATH, or unload its module")]
    if source != "PATH":
        kits = reading.facts.cuda.toolkits
        newer = next((k for k in kits if k.has_ptxas and at_least(k.version, least)), None)
        steps = [Step(f"Install a CUDA toolkit {least} or newer in its place")]
        if newer and folder == "/usr/local/cuda/bin":
            line = f"sudo ln -sfn {commands.quote(newer.path)} /usr/local/cuda"
            steps = [Step(f"Lead /usr/local/cuda to CUDA {newer.version}", line)]
    if name not in reading.installed:
        steps.append(Step("and install the wheel", commands.install(reading, f"{name}>={least}")))
    return steps


@rule(unless=("C23",))
def ptxas_missing(reading: Reading) -> Iterator[Finding]:
    """conda's CUDA build without any ptxas."""
    has_package = any(name.startswith("cuda-nvcc") for name in reading.conda)
    if reading.conda_cuda and not reading.facts.cuda.ptxas and not has_package:
        build = reading.conda["jaxlib"]
        yield found(
            "C26",
            [
                Seen(f"jaxlib {build.version} {build.build}", build.location),
                Seen("no ptxas in the environment, on PATH or in /usr/local", "PATH"),
            ],
            [Step("Add the compiler", commands.conda_install(reading, "cuda-nvcc"))],
        )


@rule(unless=("C23", "C24", "C26", "C08"))
def libdevice_missing(reading: Reading) -> Iterator[Finding]:
    """libdevice.10.bc is in none of the places where XLA looks."""
    version = reading.release("jaxlib") or reading.jaxlib
    if not reading.has_cuda_build or reading.facts.cuda.libdevice or version is None:
        return
    first, last = BUNDLED_LIBDEVICE
    if at_least(version, first) and older(version, last):
        return
    kit = next((k for k in reading.facts.cuda.toolkits if k.has_libdevice), None)
    seen = [Seen("nvvm/libdevice/libdevice.10.bc is in no wheel, /usr/local/cuda or /opt/cuda")]
    if kit:
        seen.append(Seen(f"it is in the toolkit {kit.version or ''}", kit.path))
        flags = f"{reading.env('XLA_FLAGS') or ''} --xla_gpu_cuda_data_dir={kit.path}".strip()
        line = commands.export(reading, "XLA_FLAGS", flags)
        steps = [Step("Lead XLA to it", line)]
    else:
        name = "nvidia-nvvm" if reading.cuda_major == 13 else "nvidia-cuda-nvcc-cu12"
        steps = [Step("Install the wheel that holds it", commands.install(reading, name))]
    yield found("C27", seen, steps)


@rule(unless=("C25",))
def gpu_newer_than_toolkit(reading: Reading) -> Iterator[Finding]:
    """The newest GPU needs a CUDA that ptxas, or the build, is older than."""
    newest = reading.newest_gpu
    least = matrix.cuda_for_gpu(newest)
    if not least or not reading.has_cuda_build or matrix.is_newer_than_table(reading.jaxlib):
        return
    gpu = Seen(
        f"compute capability {newest} {matrix.architecture(newest)}".strip(),
        reading.facts.nvidia.gpus.source,
    )
    tools = [t for t in reading.facts.cuda.ptxas if t.version]
    built = reading.build.get("cuda_built") if reading.build else None
    if tools and reading.older_than(tools[0].version, least, 2):
        tool = tools[0]
        yield found(
            "C28",
            [gpu, Seen(f"ptxas {tool.version}, {least} is needed", tool.path)],
            [again(reading, "Install the libraries with pip, or a newer toolkit")],
        )
    elif built and numbers(built, 1) == numbers(least, 1) and older(built, least):
        yield found(
            "C28",
            [gpu, Seen(f"jaxlib {reading.jaxlib} is built with CUDA {built}, {least} is needed")],
            [
                Step(
                    "Install a newer release",
                    commands.install(
                        reading,
                        f"{reading.framework}[cuda{reading.cuda_major}]",
                        options=("--upgrade",),
                    ),
                )
            ],
        )


@rule()
def unknown_xla_flag(reading: Reading) -> Iterator[Finding]:
    """XLA_FLAGS holds what XLA will refuse."""
    value = reading.env("XLA_FLAGS")
    if not value or value.startswith(("@", "/")) or len(value) >= 20_000:
        return
    try:
        words = shlex.split(value)
    except ValueError:
        words = value.split()
    for before, word in zip(["", *words], words):
        problem, advice = _flag(reading, word)
        if problem and before.startswith("--xla") and "=" not in before and word[0] != "-":
            problem, advice = (
                f"it stands apart from {before[:60]}",
                f"Write {before[:60]}={word[:40]}",
            )
        if problem:
            yield found(
                "C29",
                [Seen(f"XLA_FLAGS holds {word[:80]}: {problem}", "environment")],
                [Step(advice)],
            )
            return


def _flag(reading: Reading, word: str) -> tuple[str, str]:
    if word[0] in LONG_DASHES:
        return "it begins with a typographic dash", "Type two plain hyphens."
    if not word.startswith("--"):
        return "it does not begin with two hyphens", "Begin each flag with --."
    if word.startswith("--xla_tpu_"):
        return "a TPU flag", "Move it to LIBTPU_INIT_ARGS."
    if not word.startswith("--xla"):
        return "no flag of XLA begins so", "Take it out."
    name, _, path = word.partition("=")
    if name == "--xla_gpu_cuda_data_dir" and path:
        known = [kit.path for kit in reading.facts.cuda.toolkits]
        if path.rstrip("/") not in known and not _reaches(reading, path):
            return (
                "no CUDA is there",
                "Name a directory that holds bin/ptxas and nvvm/, or unset it.",
            )
    return "", ""


def _reaches(reading: Reading, path: str) -> bool:
    return any(p.startswith(path.rstrip("/") + "/") for p in reading.facts.cuda.libdevice)

"""Which distributions fit this machine: a solver over the table of releases.

First what rules everything out (libc, platform, Python), then which accelerator, then which CUDA
family by GPU and driver, then which release. Each choice leaves a reason; where nothing fits, the
plan says what would have to change.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from install_helper import commands, legacy, matrix
from install_helper.facts import Facts, Toolkit
from install_helper.reading import SHARED_WHEELS, Reading
from install_helper.versions import (
    at_least,
    compare,
    numbers,
    older,
    requirement,
    same_release,
    satisfies,
)

PRE_TURING_CUDNN = "nvidia-cudnn-cu12<9.11"
LEAST_DRIVER = {13: 580, 12: 525, 11: 450}
LEAST_GPU = {13: "7.5", 12: "5.2", 11: "3.5"}
LAST_CUDNN_OF_OLD_GLIBC = "9.5.0.50"
# Plugins that the main index lists and that cannot be installed from it.
BROKEN_ROCM = ("0.0.0", "0.9.0")
CONDA_TARGETS = ("cpu", "cuda12", "cuda13")  # what conda-forge carries


@dataclass(frozen=True)
class Request:
    """What the user asked for."""

    cuda: str = "auto"
    tpu: bool = False
    rocm: bool = False
    python: str | None = None
    framework: str | None = None


@dataclass(frozen=True)
class Plan:
    """What to install. Where `blocked` is not empty nothing fits, and it says what must change."""

    target: str
    framework: str
    python: str | None
    jaxlib: str | None = None
    requirements: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    resolved: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    before: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()
    command: str = ""

    @property
    def fits(self) -> bool:
        """Whether there is anything to install."""
        return not self.blocked


class NoFit(Exception):
    """Nothing fits; the message says why, and what would."""


def recommend(facts: Facts, request: Request | None = None) -> Plan:
    """The plan for a machine.

    >>> import install_helper
    >>> plan = install_helper.recommend(install_helper.inspect())
    >>> isinstance(plan.command, str)
    True
    """
    return solve(Reading(facts, request.framework if request else None), request or Request())


def solve(reading: Reading, request: Request) -> Plan:
    """The plan for a reading."""
    start = Plan("cpu", reading.framework, request.python or reading.python)
    try:
        _ground(reading, start)
        plan = _hold_numpy(_choose(reading, request, start))
    except NoFit as reason:
        return replace(start, blocked=(str(reason),))
    return with_command(reading, plan)


def _hold_numpy(plan: Plan) -> Plan:
    """Add the bound on NumPy that releases built for NumPy 1 do not state themselves."""
    row = matrix.jaxlib((plan.jaxlib or "").partition("+")[0])
    if not row or row.get("numpy2_ok") is not False:
        return plan
    plan = _add(plan, f"jaxlib {row['jaxlib']} was built for NumPy 1, hence numpy<2")
    return replace(plan, requirements=(*plan.requirements, "numpy<2"))


def with_command(reading: Reading, plan: Plan) -> Plan:
    """Add the install command, and an environment for it where one is needed first."""
    conda = commands.installer(reading) == "conda"
    by_conda = conda and plan.target in CONDA_TARGETS and plan.framework == "jax"
    by_conda = by_conda and not plan.options  # those are pip's
    other, managed = plan.python != reading.python, commands.is_managed(reading)
    if other or managed:
        make, start = commands.fresh(reading, plan.python)
        why = "pip does not install into the system's own Python" if managed and not other else ""
        plan = replace(_add(plan, why), before=(make,))
        if by_conda:
            start = [commands.conda(reading), "install", "-n", commands.NEW_ENVIRONMENT]
            start += ["-c", "conda-forge"]
    elif by_conda:
        start = commands.conda_start(reading)
    else:
        start = commands.words(reading, "install", "pip" if conda else None)
    named = plan.requirements
    if by_conda:
        named = tuple(dict.fromkeys(n for r in named for n in commands.conda_names(r)))
    words = [*start, *map(commands.quote, plan.options), *map(commands.quote, named)]
    return replace(plan, command=" ".join(words))


def _ground(reading: Reading, plan: Plan) -> None:
    """Rule out what no wheel was ever built for."""
    if plan.python is None:
        raise NoFit("No Python was found; name one with --python X.Y.")
    if reading.is_musl:
        raise NoFit("There is no wheel for musl (Alpine); use an image with glibc 2.27 or newer.")
    if reading.platform is None:
        raise NoFit(
            f"There is no wheel for {reading.system} on {reading.machine}; there are for Linux on "
            "x86_64 and aarch64, macOS on arm64, and 64-bit Windows on x86_64."
        )
    if reading.facts.system.translated.value:
        raise NoFit("This Python runs under Rosetta; install an arm64 Python, then ask again.")
    if reading.facts.python.bits.value == 32:
        raise NoFit("This Python is a 32-bit one; install a 64-bit Python, then ask again.")
    implementation = reading.facts.python.implementation.value
    if implementation not in (None, "cpython"):
        raise NoFit(f"There are wheels for CPython only, and this is {implementation}.")


def _choose(reading: Reading, request: Request, plan: Plan) -> Plan:
    if request.tpu:
        return _tpu(reading, plan)
    if request.rocm:
        return _rocm(reading, plan)
    if request.cuda == "none":
        return _cpu(reading, plan, "CPU was asked for")
    if request.cuda == "local":
        return _local(reading, plan)
    if request.cuda in ("12", "13"):
        major = int(request.cuda)
        _check_cuda(reading, major)
        if not reading.has_gpu:
            need = (
                f"driver {LEAST_DRIVER[major]} and compute capability {LEAST_GPU[major]} or newer"
            )
            plan = _add(plan, f"no NVIDIA GPU is seen here; it will need {need}")
        return _cuda(reading, plan, major, f"CUDA {major} was asked for")
    return _automatic(reading, plan)


def _automatic(reading: Reading, plan: Plan) -> Plan:
    if reading.facts.tpu.chips:
        return _tpu(reading, plan)
    if reading.has_gpu and reading.system == "Linux" and not reading.tegra:
        if not reading.sees_gpu:
            plan = _add(plan, "the NVIDIA card cannot be reached yet; put the driver right first")
        major, reason = pick_family(reading)
        if major == 0:
            return _cpu(reading, plan, reason)
        if major == 11:
            return _legacy(reading, plan, None, reason)
        return _cuda(reading, plan, major, reason)
    if reading.facts.rocm.gpus and reading.system == "Linux":
        if plan.framework == "covector":
            why = "Covector drives NVIDIA GPUs and TPUs; --rocm plans jax for this AMD GPU"
            return _cpu(reading, plan, why)
        try:
            return _rocm(reading, plan)
        except NoFit as reason:
            return _cpu(reading, plan, str(reason))
    return _cpu(reading, plan, _why_cpu(reading))


def _why_cpu(reading: Reading) -> str:
    if reading.tegra:
        return "the CUDA wheels hold no code for Jetson, so the CPU build is what there is"
    if reading.system == "Windows":
        return "native Windows has CPU wheels only; a GPU works in WSL2"
    return "no accelerator was found"


def pick_family(reading: Reading) -> tuple[int, str]:
    """The CUDA major that GPU and driver allow (0: none), and why."""
    oldest, driver = reading.oldest_gpu, numbers(reading.driver, 1)
    branch = driver[0] if driver else None
    gpu = f"compute capability {oldest}" if oldest else "a GPU of unknown compute capability"
    if oldest and older(oldest, "5.2"):
        if branch is not None and branch >= 450 and at_least(oldest, "3.5"):
            return 11, f"{gpu} is below 5.2, so only builds for CUDA 11 drive it"
        return 0, f"{gpu} is below what any build drives with this driver"
    if branch is None:
        return 12, f"{gpu}, and the driver's version is not known: CUDA 12 serves most drivers"
    if branch >= 580 and oldest and at_least(oldest, "7.5"):
        return 13, f"driver {reading.driver} (580 or newer) and {gpu} (7.5 or newer) take CUDA 13"
    if branch >= 525:
        why = "below 7.5" if oldest and older(oldest, "7.5") else "driver below 580"
        why = "which is not known to be 7.5 or newer" if not oldest else why
        return 12, f"driver {reading.driver} and {gpu} ({why}) take CUDA 12"
    if branch >= 450:
        return 11, f"driver {reading.driver} is older than 525, so only builds for CUDA 11 run"
    return 0, f"driver {reading.driver} is older than 450, so no build that is still offered runs"


def _check_cuda(reading: Reading, major: int) -> None:
    """Refuse a CUDA family that this machine cannot run."""
    if reading.system != "Linux":
        raise NoFit(
            f"There is no CUDA build for {reading.system}; there is one for Linux and WSL2."
        )
    if reading.tegra:
        raise NoFit("The CUDA wheels hold no code for Jetson; use the vendor's builds.")
    branch = numbers(reading.driver, 1)
    least = LEAST_DRIVER[major]
    if branch is not None and branch[0] < least:
        lower = next((m for m in (12, 11) if m < major and branch[0] >= LEAST_DRIVER[m]), None)
        instead = (
            f"update the driver, or use --cuda {lower}" if lower == 12 else "update the driver"
        )
        raise NoFit(
            f"CUDA {major} needs driver {least} or newer, and this one is {reading.driver}: "
            f"{instead}."
        )
    oldest = reading.oldest_gpu
    if oldest and older(oldest, LEAST_GPU[major]):
        instead = "use --cuda 12" if major == 13 and at_least(oldest, "5.2") else "use --cuda none"
        raise NoFit(
            f"CUDA {major} builds need compute capability {LEAST_GPU[major]}, and a GPU here has "
            f"{oldest} {matrix.architecture(oldest)}: {instead}."
        )


def _rows(reading: Reading, plan: Plan) -> list[dict]:
    """The releases that fit Python and platform; raises NoFit where there is none."""
    free_threaded = bool(reading.facts.python.free_threaded.value)
    ours = plan.python == reading.python
    rows = matrix.jaxlibs_for(
        plan.python or "",
        reading.platform or "",
        reading.glibc,
        free_threaded=free_threaded and ours,
    )
    if plan.framework == "covector":
        if older(plan.python, matrix.COVECTOR_PYTHON):
            raise NoFit(
                f"Covector needs Python {matrix.COVECTOR_PYTHON} or newer, and this is "
                f"{plan.python}; {_older_python_offer(rows)}."
            )
        bounds = _covector_bounds(reading)
        rows = [row for row in rows if satisfies(row["jaxlib"], bounds)]
    if not rows:
        raise NoFit(_no_row(reading, plan, free_threaded and ours))
    return rows


def _covector_bounds(reading: Reading) -> str:
    """The jaxlibs that covector takes: what is installed says it, else the table."""
    item = reading.installed.get("covector-core")
    asked = [a for a in map(requirement, item.requires if item else ()) if a and not a.marker]
    return next((a.bounds for a in asked if a.name == "jaxlib"), matrix.COVECTOR_JAXLIB)


def _older_python_offer(rows: list[dict]) -> str:
    if not rows:
        return "no jaxlib exists for this Python either"
    return f"with --for jax the newest that this Python has is jaxlib {rows[-1]['jaxlib']}"


def _no_row(reading: Reading, plan: Plan, free_threaded: bool) -> str:
    newest = matrix.table()["jaxlibs"][-1]
    offered = ", ".join(matrix.pythons(newest, reading.platform or "")) or "none on this platform"
    if reading.glibc and older(reading.glibc, "2.27"):
        return (
            f"glibc {reading.glibc} is older than 2.27, which every wheel for Python "
            f"{plan.python} needs; use a newer distribution or container."
        )
    kind = (
        f"the free-threaded build of Python {plan.python}"
        if free_threaded
        else (f"Python {plan.python}")
    )
    return f"No jaxlib wheel exists for {kind} here; {newest['jaxlib']} has: {offered}."


def _release(
    reading: Reading, plan: Plan, rows: list[dict], offered: tuple[str, ...] | None
) -> tuple[str, str]:
    """The release to install: the installed one where it fits, else the newest that does."""
    fitting = [r["jaxlib"] for r in rows if offered is None or r["jaxlib"] in offered]
    if not fitting:
        raise NoFit(
            "No release has this accelerator's plugin for this Python; "
            "another Python (3.12 to 3.14) has."
        )
    ours = reading.release("jax") or reading.release("jaxlib")
    taken = plan.framework == "jax" or satisfies(ours, _covector_bounds(reading))
    if ours and taken and matrix.is_newer_than_table(ours):
        return ours, f"{ours} is installed and newer than the table: its own metadata decide"
    mine = (reading.release("jax"), reading.release("jaxlib"), reading.jaxlib)
    same = next((v for m in mine for v in fitting if compare(v, m) == 0), None)
    if same:
        return same, f"{same} is installed and has wheels for this"
    why = f"{ours} has none" if ours else f"Python {plan.python} on {reading.platform}"
    return fitting[-1], f"{fitting[-1]} is the newest that fits ({why})"


def _add(plan: Plan, *reasons: str) -> Plan:
    return replace(plan, reasons=(*plan.reasons, *(r for r in reasons if r)))


def _framework(
    reading: Reading, plan: Plan, jaxlib: str, extra: str = "", plugin: str = ""
) -> tuple[str, ...]:
    """The requirement that names the framework with its extra.

    Covector's extras pin the jaxlib of their day; another one is named with its plugin.
    """
    tail = f"[{extra}]" if extra else ""
    if plan.framework == "jax":
        own = _own_pin(plan, jaxlib)[0].replace("jax", f"jax{tail}", 1)
        same = own.endswith(f"=={jaxlib}")
        return (own,) if same else (own, f"jaxlib=={jaxlib}")
    if extra and not same_release(jaxlib, _pinned_by_extra(reading, extra)):
        return ("covector", f"jaxlib=={jaxlib}", plugin)
    return (f"covector{tail}", f"jaxlib=={jaxlib}")


def _pinned_by_extra(reading: Reading, extra: str) -> str:
    """The jaxlib that an extra of Covector pins: the installed one's metadata, else the table."""
    item = reading.installed.get("covector")
    for asked in map(requirement, item.requires if item else ()):
        if (
            asked
            and asked.name == "jaxlib"
            and re.search(rf"extra\s*==\s*.{extra}\b", asked.marker)
        ):
            return asked.bounds.lstrip("=")
    return matrix.COVECTOR_EXTRAS_JAXLIB


def _cpu(reading: Reading, plan: Plan, why: str) -> Plan:
    version, reason = _release(reading, plan, _rows(reading, plan), None)
    gone = (matrix.jaxlib(version) or {}).get("on_main_index") is False
    old = f"{version} has left the main index; whether the old page still has it was not checked"
    return replace(
        _add(plan, why, reason, old if gone else ""),
        target="cpu",
        options=("-f", commands.OLD_WHEELS) if gone else (),
        jaxlib=version,
        requirements=_framework(reading, plan, version),
        resolved=(*_own_pin(plan, version), f"jaxlib=={version}"),
    )


def _cuda(reading: Reading, plan: Plan, major: int, why: str) -> Plan:
    plugin = f"jax-cuda{major}-plugin"
    offered = matrix.plugin_versions(plugin, reading.platform or "", plan.python or "")
    offered = tuple(v for v in offered if _knows_gpu(reading, v, major))
    if reading.glibc and older(reading.glibc, "2.27"):
        offered = tuple(v for v in offered if _has_old_cudnn(plugin, v))
    version, reason = _release(reading, plan, _rows(reading, plan), offered)
    plan = _add(plan, why, reason)
    full = f"{plugin}[with-cuda]=={version}"
    requirements = _framework(reading, plan, version, f"cuda{major}", full)
    bounds = matrix.wheel_bounds(plugin, version)
    if reading.oldest_gpu and older(reading.oldest_gpu, "7.5"):
        requirements += (PRE_TURING_CUDNN,)
        bounds["nvidia-cudnn-cu12"] = bounds.get("nvidia-cudnn-cu12", "") + ",<9.11"
        plan = _add(plan, "cuDNN 9.11 and later hold no code for GPUs below 7.5, hence <9.11")
    other = [m for m in reading.plugins if m != major]
    return replace(
        plan,
        target=f"cuda{major}",
        jaxlib=version,
        requirements=requirements,
        resolved=(
            *_own_pin(plan, version),
            f"jaxlib=={version}",
            full,
            f"jax-cuda{major}-pjrt=={version}",
            *(
                f"{n}{b if b != '*' else ''}".replace("==,", "==")
                for n, b in sorted(bounds.items())
            ),
        ),
        before=tuple(commands.uninstall(reading, *_leftovers(reading, m)) for m in other),
    )


def _knows_gpu(reading: Reading, version: str, major: int) -> bool:
    """Whether a release's CUDA build is new enough for the newest GPU."""
    least, row = matrix.cuda_for_gpu(reading.newest_gpu), matrix.jaxlib(version)
    build = matrix.cuda_build(row, major) if row else None
    built = build.get("cuda_built") if build else None
    return not (least and built and numbers(least, 1) == (major,) and older(built, least))


def _has_old_cudnn(plugin: str, version: str) -> bool:
    """Whether a release takes the last cuDNN that has a wheel for a glibc older than 2.27."""
    bounds = matrix.wheel_bounds(plugin, version)
    bound = next((b for name, b in bounds.items() if "cudnn" in name), None)
    return bound is not None and satisfies(LAST_CUDNN_OF_OLD_GLIBC, bound) is True


def _own_pin(plan: Plan, version: str) -> tuple[str, ...]:
    """The jax that goes with a jaxlib: since 0.3 of one version, before that of others."""
    if plan.framework != "jax":
        return ()
    same = matrix.framework(version) or matrix.is_newer_than_table(version)
    return (f"jax=={version if same else legacy.jax_for(version, plan.python)}",)


def _leftovers(reading: Reading, major: int) -> list[str]:
    """The installed distributions that stand in the way of another CUDA major.

    Both families' cuDNN, NCCL and NVSHMEM own the same files: removing one breaks the other, so
    both go, and the wanted one is unpacked anew.
    """
    names = [f"jax-cuda{major}-plugin", f"jax-cuda{major}-pjrt"]
    shared = [stem for stem in SHARED_WHEELS if f"nvidia-{stem}-cu{major}" in reading.installed]
    names += [f"nvidia-{stem}-cu{m}" for stem in shared for m in (12, 13)]
    return [name for name in names if name in reading.installed]


def _tpu(reading: Reading, plan: Plan) -> Plan:
    if reading.platform != "linux_x86_64":
        raise NoFit(f"libtpu exists for Linux on x86_64 only, not for {reading.platform}.")
    if reading.glibc and older(reading.glibc, "2.31"):
        raise NoFit(f"libtpu needs glibc 2.31 or newer, and this is {reading.glibc}.")
    # Before, jax pinned nightly builds, which are gone from the index.
    rows = matrix.table()["jaxlibs"]
    pins = {row["jaxlib"]: matrix.libtpu_pin(row["jaxlib"]) or "" for row in rows}
    offered = tuple(v for v, p in pins.items() if p.startswith("libtpu==") and at_least(v, "0.5.1"))
    version, reason = _release(reading, plan, _rows(reading, plan), offered)
    pin = pins.get(version) or "libtpu"
    return replace(
        _add(
            plan,
            "TPU chips are on the bus" if reading.facts.tpu.chips else "TPU was asked for",
            reason,
        ),
        target="tpu",
        jaxlib=version,
        requirements=_framework(reading, plan, version, "tpu", pin),
        resolved=(*_own_pin(plan, version), f"jaxlib=={version}", pin),
    )


def _rocm(reading: Reading, plan: Plan) -> Plan:
    if reading.platform != "linux_x86_64":
        raise NoFit(f"ROCm plugins exist for Linux on x86_64 only, not for {reading.platform}.")
    version = reading.facts.rocm.versions[0][1] if reading.facts.rocm.versions else None
    major = (numbers(version, 1) or (7,))[0]
    plugin = f"jax-rocm{ {6: 60}.get(major, major) }-plugin".replace(" ", "")
    offered = matrix.plugin_versions(plugin, "linux_x86_64", plan.python or "")
    offered = tuple(v for v in offered if v not in BROKEN_ROCM)
    if reading.glibc and older(reading.glibc, "2.28"):
        raise NoFit(f"ROCm plugins need glibc 2.28 or newer, and this is {reading.glibc}.")
    if not offered:
        raise NoFit(f"No {plugin} exists for Python {plan.python} and ROCm {version or '?'}.")
    if plan.framework == "covector":
        plan = replace(plan, framework="jax")
        plan = _add(plan, "Covector drives NVIDIA GPUs and TPUs; ROCm is served by jax alone")
    jaxlib, reason = _release(reading, plan, _rows(reading, plan), offered)
    pair = (f"{plugin}=={jaxlib}", f"{plugin[:-6]}pjrt=={jaxlib}")
    return replace(
        _add(
            plan,
            f"ROCm {version} takes {plugin}"
            if version
            else "ROCm itself is not installed; it must be, the plugin does not bring it",
            reason,
        ),
        target="rocm",
        jaxlib=jaxlib,
        requirements=(*_framework(reading, plan, jaxlib), *pair),
        resolved=(*_own_pin(plan, jaxlib), f"jaxlib=={jaxlib}", *pair),
    )


def _local(reading: Reading, plan: Plan) -> Plan:
    if reading.system != "Linux":
        raise NoFit(
            f"There is no CUDA build for {reading.system}; there is one for Linux and WSL2."
        )
    kits = [kit for kit in reading.facts.cuda.toolkits if kit.version]
    if not kits:
        raise NoFit(
            "No CUDA toolkit was found in /usr/local/cuda-X.Y, /opt/cuda or on PATH; "
            "use --cuda 12 or --cuda 13, which bring their own libraries."
        )
    kit = kits[0]
    major = (numbers(kit.version, 1) or (0,))[0]
    if major < 12:
        return _legacy(reading, plan, kit, f"the toolkit in {kit.path} is CUDA {kit.version}")
    _check_cuda(reading, min(major, 13))
    made = _cuda(reading, plan, min(major, 13), f"the toolkit in {kit.path} is CUDA {kit.version}")
    version = made.jaxlib or ""
    dash = "-" if at_least(version, "0.6.0") else "_"
    names = (f"jax-cuda{min(major, 13)}-{kind}=={version}" for kind in ("plugin", "pjrt"))
    pair = tuple(names)
    covector = made.framework == "covector"
    extra = "" if covector else f"cuda{min(major, 13)}{dash}local"
    requirements = _framework(reading, plan, version, extra)
    return replace(
        made,
        target="cuda-local",
        requirements=(*requirements, *(pair if covector else ())),
        resolved=(*_own_pin(plan, version), f"jaxlib=={version}", *pair),
        variables=_data_dir(kit),
        reasons=(*made.reasons, *_local_advice(reading, kit, version, major)),
    )


def _data_dir(kit: Toolkit) -> dict[str, str]:
    """The variable that leads XLA to a toolkit that is not where it looks."""
    if kit.path == "/usr/local/cuda" or kit.real_path.startswith("/usr/local/cuda"):
        return {}
    return {"XLA_FLAGS": f"--xla_gpu_cuda_data_dir={kit.path}"}


def _local_advice(reading: Reading, kit: Toolkit, version: str, major: int) -> list[str]:
    row = matrix.jaxlib(version)
    build = matrix.cuda_build(row, major) if row else None
    advice = []
    least = build["cudnn_min"] if build else None
    have = kit.cudnn or next((b.version for b in reading.reachable("libcudnn") if b.version), None)
    if least:
        state = f"found {have}" if have else "none found on the loader's path"
        advice.append(f"cuDNN {least} or newer is needed, {state}")
    if build and older(kit.version, build["cuda_min"]):
        advice.append(f"this release needs CUDA {build['cuda_min']}: the toolkit is too old")
    if _data_dir(kit):
        advice.append(
            f"XLA looks in /usr/local/cuda: set XLA_FLAGS as shown, or make a link with "
            f"'sudo ln -s {commands.quote(kit.path)} /usr/local/cuda'"
        )
    return advice


def _legacy(reading: Reading, plan: Plan, kit: Toolkit | None, why: str) -> Plan:
    """The builds before plugins: one jaxlib for each CUDA, from the project's old page."""
    if plan.framework == "covector" and reading.framework == "covector":
        plan = _add(plan, "Covector needs CUDA 12 or newer; these are the jax builds of that time")
    fitting = legacy.builds_for(kit.version if kit else None, reading.oldest_gpu)
    if not fitting:
        raise NoFit(f"{why}, and no build for it is known; update driver and toolkit.")
    runs = [(row, build) for row, build in fitting if plan.python in row["python"]]
    row, build = (runs or fitting)[-1]
    first, last = fitting[0], fitting[-1]
    span = f"{first[1]['requirement']} to {last[1]['requirement']}"
    upgrade = "today's releases need driver 525 or newer (CUDA 12), or 580 or newer (CUDA 13)"
    if reading.oldest_gpu and older(reading.oldest_gpu, LEAST_GPU[12]):
        upgrade = f"today's releases need a GPU of compute capability {LEAST_GPU[12]} or newer"
    cudnn = f"cuDNN {build['cudnn_major']} ({build['cudnn_min']} or newer)"
    if not runs:
        raise NoFit(
            f"{why}: its builds are {span} with {cudnn}, for Python {', '.join(row['python'])}, "
            f"and this is {plan.python}; install such a Python ({upgrade})."
        )
    driver = build.get("driver_linux_min_minor_compat") or build["driver_linux_min"]
    if reading.driver and older(reading.driver, driver):
        raise NoFit(
            f"{why}: {build['requirement']} needs driver {driver} or newer, and this one is "
            f"{reading.driver}; update the driver."
        )
    label = build["tag"].startswith(("cuda10", "cuda110", "cuda111"))
    toolkit = "" if kit else f"CUDA {legacy.toolkit_of(build)} and "
    page = commands.OLD_WHEELS if label else commands.OLD_CUDA_WHEELS
    return replace(
        _add(
            plan,
            why,
            f"its builds are {span}",
            f"needs {toolkit}{cudnn}, installed by hand",
            upgrade,
            "whether the old page still holds the file was not checked",
        ),
        target="legacy",
        framework="jax",
        jaxlib=build["requirement"].partition("==")[2],
        requirements=(f"jax=={legacy.jax_for(row['jaxlib'], plan.python)}", build["requirement"]),
        options=("-f", page),
        resolved=(build["requirement"],),
    )

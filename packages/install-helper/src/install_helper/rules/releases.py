"""Which release goes with which: jax, jaxlib, plugins, Python, index, pip, conda, NumPy."""

from __future__ import annotations

import re
from collections.abc import Iterator

from install_helper import commands, matrix
from install_helper.findings import Finding, Seen, Step, found, rule
from install_helper.plan import Request, solve
from install_helper.reading import Reading
from install_helper.rules.driver import install_step
from install_helper.versions import (
    at_least,
    compare,
    numbers,
    older,
    requirement,
    same_release,
    satisfies,
)

PIP_FOR_TAG = (("manylinux_2_27", "20.3"), ("manylinux2014", "19.3"), ("manylinux2010", "19.0"))
NO_WHEEL = ("C39", "C40", "C41", "C42", "C43", "C44")


def _seen(reading: Reading, name: str) -> Seen:
    item = reading.installed.get(name) or reading.conda.get(name)
    return Seen(f"{name} {item.version if item else '?'}", item.location if item else "")


@rule(unless=("C59",))
def jaxlib_newer(reading: Reading) -> Iterator[Finding]:
    """jaxlib is newer than jax."""
    jax, jaxlib = reading.release("jax"), reading.release("jaxlib")
    if not (jax and jaxlib and at_least(jax, "0.3.0")):
        return
    # The two carry different fourth numbers for repairs of one of them.
    if compare(jaxlib, jax) == 1 and numbers(jaxlib, 3) != numbers(jax, 3):
        yield found(
            "C30",
            [_seen(reading, "jax"), _seen(reading, "jaxlib")],
            [
                Step(
                    "Give all of them one version" if reading.plugins else "Give both one version",
                    commands.install(
                        reading,
                        f"jax=={jax}",
                        *(
                            f"{name}=={_at_most(jax)}"
                            for name in ("jaxlib", *_plugin_names(reading))
                        ),
                    ),
                )
            ],
        )


def _plugin_names(reading: Reading) -> list[str]:
    """The installed halves of CUDA plugins, which must have jaxlib's version."""
    return [n for n in reading.installed if re.match(r"jax-cuda\d+-(plugin|pjrt)$", n)]


def _at_most(jax: str) -> str:
    """The newest jaxlib that a jax accepts."""
    rows = [r["jaxlib"] for r in matrix.table()["jaxlibs"] if at_least(jax, r["jaxlib"])]
    return rows[-1] if rows and not matrix.is_newer_than_table(jax) else jax


@rule(unless=("C41", "C49", "C59"))
def jaxlib_too_old(reading: Reading) -> Iterator[Finding]:
    """jaxlib is older than jax or covector asks for."""
    version = reading.release("jaxlib") or reading.jaxlib
    if version is None:
        return
    for name in ("jax", "covector-core"):
        item = reading.installed.get(name)
        if item is None:
            continue
        least = _least_jaxlib(item.requires)
        if least is None and name == "jax":
            row = matrix.framework(item.version)
            least = row["jaxlib_min"] if row else None
        if older(version, least):
            yield found(
                "C31",
                [_seen(reading, name), Seen(f"jaxlib {version}, wanted {least} or newer")],
                install_step(reading, "Bring them and the plugin to one release")
                if reading.plugins
                else [
                    Step(
                        "Raise jaxlib",
                        commands.install(reading, f"jaxlib>={least}", f"{name}=={item.version}"),
                    )
                ],
            )


def _least_jaxlib(lines: tuple[str, ...]) -> str | None:
    for line in lines:
        asked = requirement(line)
        if asked and asked.name == "jaxlib" and not asked.marker:
            match = re.search(r">=\s*([\d.]+)", asked.bounds)
            return match[1] if match else None
    return None


@rule()
def plugin_differs(reading: Reading) -> Iterator[Finding]:
    """A CUDA plugin of another version than jaxlib, or than its own pjrt package."""
    jaxlib = reading.release("jaxlib")
    for major, item in reading.plugins.items():
        if jaxlib is None or reading.local_label:
            continue
        if same_release(item.version, jaxlib) is False:
            yield found(
                "C32",
                [Seen(f"{item.name} {item.version}", item.location), _seen(reading, "jaxlib")],
                [_align(reading, major, jaxlib)],
            )
            continue
        pjrt = reading.installed.get(f"jax-cuda{major}-pjrt")
        if pjrt and same_release(pjrt.version, item.version) is False:
            yield found(
                "C33",
                [
                    Seen(f"{pjrt.name} {pjrt.version}", pjrt.location),
                    Seen(f"{item.name} {item.version}", item.location),
                ],
                [_align(reading, major, jaxlib)],
            )


def _align(reading: Reading, major: int, jaxlib: str) -> Step:
    names = [f"jax-cuda{major}-plugin", f"jax-cuda{major}-pjrt"]
    jax = [f"jax=={reading.release('jax')}"] if reading.release("jax") else []
    pins = [*jax, f"jaxlib=={jaxlib}", *(f"{n}=={jaxlib}" for n in names)]
    return Step("Give all of them one version", commands.install(reading, *pins))


@rule()
def leftover_plugin(reading: Reading) -> Iterator[Finding]:
    """A plugin beside a jaxlib that holds its own CUDA build, or a folder that nobody owns."""
    if not reading.local_label:
        return
    folders = [p for n, p in reading.facts.packages.plugin_folders if n.startswith("xla_cuda")]
    names = [f"jax-cuda{m}-{k}" for m in (11, 12, 13) for k in ("plugin", "pjrt")]
    names = [n for n in names if n in reading.installed]
    if folders or names:
        id = "C34" if older(reading.release("jaxlib"), "0.4.23") else "C33"
        seen = [_seen(reading, "jaxlib"), *(Seen("a plugin beside it", p) for p in folders[:2])]
        seen += [_seen(reading, n) for n in names[:2]]
        line = commands.uninstall(reading, *(names or ["jax-cuda12-plugin", "jax-cuda12-pjrt"]))
        steps = [Step("Remove the leftover", line)]
        if folders and not names:
            steps = [
                Step(
                    "No package owns the folder: delete it",
                    commands.remove_folder(reading, folders[0]),
                )
            ]
        yield found(id, seen, steps)


@rule()
def orphaned_plugin_folder(reading: Reading) -> Iterator[Finding]:
    """A plugin's folder that no installed package owns; jax imports it all the same."""
    for name, path in reading.facts.packages.plugin_folders:
        match = re.match(r"xla_(cuda|rocm)(\d+)$", name)
        owner = f"jax-{match[1]}{match[2]}-pjrt" if match else ""
        if not match or reading.local_label or reading.conda_cuda or not reading.jaxlib:
            continue
        halves = (owner, owner.replace("pjrt", "plugin"))
        if not any(half in reading.installed for half in halves):
            yield found(
                "C34",
                [Seen(f"no {owner} is installed, its folder is there", path)],
                [Step("Delete what no package owns", commands.remove_folder(reading, path))],
                title="A leftover plugin folder that no package owns",
            )
            return


@rule()
def two_cuda_plugins(reading: Reading) -> Iterator[Finding]:
    """Plugins of two CUDA majors in one environment."""
    if len(reading.plugins) < 2 or reading.local_label:
        return
    items = [reading.plugins[major] for major in sorted(reading.plugins)]
    plan = solve(reading, Request())
    steps = [Step("First remove one", line) for line in plan.before]
    if plan.fits and plan.target.startswith("cuda"):
        steps.append(Step("then install the other again", plan.command))
    yield found(
        "C71",
        [Seen(f"{item.name} {item.version}", item.location) for item in items],
        steps if plan.before else (),
    )


@rule()
def other_plugin_generation(reading: Reading) -> Iterator[Finding]:
    """A oneAPI plugin of another release than jaxlib."""
    item, jaxlib = reading.installed.get("jax-oneapi-plugin"), reading.release("jaxlib")
    if item and jaxlib and same_release(item.version, jaxlib) is False:
        yield found(
            "C33",
            [Seen(f"{item.name} {item.version}", item.location), _seen(reading, "jaxlib")],
            [
                Step(
                    "Give both one version",
                    commands.install(reading, f"jax=={item.version}", f"jaxlib=={item.version}"),
                )
            ],
        )


@rule(unless=(*NO_WHEEL, "C36"))
def no_wheel_for_python(reading: Reading) -> Iterator[Finding]:
    """jaxlib is not installed, and the wanted release has no wheel for this Python."""
    python, platform = reading.python, reading.platform
    if reading.jaxlib or python is None or platform is None:
        return
    wanted = _wanted_release(reading) or matrix.newest_jaxlib()
    row = matrix.jaxlib(wanted)
    implementation = reading.facts.python.implementation.value
    if row is None and implementation == "cpython":
        return
    free = bool(reading.facts.python.free_threaded.value)
    fits = row is not None and python in matrix.pythons(row, platform)
    fits = fits and (not free or matrix.has_free_threaded(row or {}, python))
    if fits and implementation in (None, "cpython"):
        return
    kind = "Python" if implementation in (None, "cpython") else implementation
    kind = f"free-threaded {kind}" if free else kind
    offered = matrix.pythons(row, platform) if row else ()
    yield found(
        "C35",
        [
            Seen(f"{kind} {python}", reading.facts.python.executable),
            Seen(f"jaxlib {wanted} has wheels for {', '.join(offered) or 'none'} on {platform}"),
        ],
        _python_steps(reading, offered, python, platform),
    )


def _python_steps(
    reading: Reading, offered: tuple[str, ...], python: str, platform: str
) -> list[Step]:
    """Another Python, or the last release that this one has."""
    steps = [Step("Use CPython 3.12 to 3.14")]
    if len(offered) > 1:
        # The newest Python of a release lacks wheels of many other packages.
        line, _ = commands.fresh(reading, offered[-2])
        steps = [Step(f"Use a Python of {', '.join(offered)}", line)]
    free = bool(reading.facts.python.free_threaded.value)
    rows = matrix.jaxlibs_for(python, platform, reading.glibc, free_threaded=free)
    if rows and reading.facts.python.implementation.value in (None, "cpython"):
        newest = rows[-1]["jaxlib"]
        line = commands.install(reading, f"jax=={newest}", f"jaxlib=={newest}")
        steps.append(Step(f"or the newest that this Python has, {newest}", line))
    return steps


def _wanted_release(reading: Reading) -> str | None:
    """The jaxlib that a requirement file or an installed jax asks for."""
    for text, _ in reading.facts.packages.wanted:
        match = re.match(r"(?:jaxlib|jax)\s*===?\s*([\d.]+)$", text)
        if match:
            return match[1]
    return reading.release("jax")


@rule(unless=NO_WHEEL)
def gone_from_index(reading: Reading) -> Iterator[Finding]:
    """A requirement file pins a release that the index no longer has."""
    if reading.jaxlib:
        return
    for text, source in reading.facts.packages.wanted:
        match = re.match(r"jaxlib\s*==\s*([\d.]+)(\+\w+)?", text)
        row = matrix.jaxlib(match[1]) if match else None
        if match and row and row.get("on_main_index") is False:
            line = commands.install(
                reading, f"jaxlib=={match[1]}{match[2] or ''}", options=("-f", commands.OLD_WHEELS)
            )
            yield found(
                "C36",
                [Seen(f"{text} is asked for", source), Seen("it is no longer on the main index")],
                [Step("Move to a release that is offered, or use the old page", line)],
            )


@rule(unless=NO_WHEEL)
def pip_too_old(reading: Reading) -> Iterator[Finding]:
    """pip does not know the tag of the wheels."""
    pip = reading.version("pip")
    if reading.system != "Linux" or reading.jaxlib or commands.installer(reading) != "pip":
        return
    row = matrix.jaxlib(_wanted_release(reading)) or matrix.jaxlib(matrix.newest_jaxlib())
    tag = (row or {}).get("platforms", {}).get(reading.platform or "") or ""
    least = next((version for start, version in PIP_FOR_TAG if tag.startswith(start)), None)
    if pip and older(pip, least):
        yield found(
            "C37",
            [_seen(reading, "pip"), Seen(f"wheels tagged {tag} need pip {least} or newer")],
            [Step("Upgrade pip first", commands.install(reading, "pip", options=("--upgrade",)))],
        )


@rule(unless=("C05", "C06", "C07", "C12", "C59"))
def conda_build(reading: Reading) -> Iterator[Finding]:
    """conda chose the CPU build on a GPU machine, or conda and pip both own jaxlib."""
    row = reading.conda.get("jaxlib")
    if row is None:
        return
    item = reading.installed.get("jaxlib")
    if item and item.installer in ("pip", "uv"):
        yield found(
            "C38",
            [
                Seen(f"jaxlib {row.version} {row.build} by conda", row.location),
                Seen(f"jaxlib {item.version} by {item.installer}", item.location),
            ],
            [
                Step(
                    "Keep to one: remove pip's copy", commands.uninstall(reading, "jax", "jaxlib")
                ),
                Step(
                    "then let conda put its own back",
                    commands.conda_install(
                        reading, "--force-reinstall", "jax", f"jaxlib={row.version}"
                    ),
                ),
            ],
        )
    elif reading.sees_gpu and not ("cuda" in row.build or reading.wants_cpu or reading.plugins):
        yield found(
            "C38",
            [
                Seen(f"jaxlib {row.version} {row.build}, a CPU build", row.location),
                Seen("an NVIDIA GPU is there", reading.facts.nvidia.smi.source),
            ],
            [
                Step(
                    "Ask for the CUDA build",
                    "CONDA_OVERRIDE_CUDA=12.9 "
                    + commands.conda_install(reading, "jaxlib=*=*cuda*"),
                )
            ],
        )


@rule()
def numpy_interface(reading: Reading) -> Iterator[Finding]:
    """NumPy is newer or older than jaxlib was built for."""
    numpy, row = reading.version("numpy"), reading.jaxlib_row
    if numpy is None or row is None:
        return
    if at_least(numpy, "2") and row.get("numpy2_ok") is False:
        yield found(
            "C53",
            [_seen(reading, "numpy"), Seen(f"jaxlib {reading.jaxlib} was built for NumPy 1")],
            [
                Step("Hold NumPy below 2", commands.install(reading, "numpy<2")),
                Step("or upgrade jaxlib to 0.4.26 or newer"),
            ],
        )
        return
    item = reading.installed.get("jaxlib")
    asked = [requirement(line) for line in (item.requires if item else ())]
    bounds = next((r.bounds for r in asked if r and r.name == "numpy" and not r.marker), "")
    bounds = bounds or (f">={row['numpy_min']}" if row.get("numpy_min") else "")
    if bounds and satisfies(numpy, bounds) is False:
        yield found(
            "C53",
            [_seen(reading, "numpy"), Seen(f"jaxlib {reading.jaxlib} wants numpy{bounds}")],
            [Step("Bring NumPy to it", commands.install(reading, f"numpy{bounds}"))],
        )


@rule(unless=(*NO_WHEEL, "C35", "C36", "C37"))
def framework_without_jaxlib(reading: Reading) -> Iterator[Finding]:
    """jax or covector is there, jaxlib is not."""
    names = [n for n in ("jax", "covector-core") if n in reading.installed]
    if names and reading.jaxlib is None:
        yield found(
            "C67",
            [_seen(reading, n) for n in names] + [Seen("no jaxlib", "sys.path")],
            install_step(reading),
        )

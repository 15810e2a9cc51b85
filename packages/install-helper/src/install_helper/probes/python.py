"""The interpreter that is examined: version, environment, module path, installer."""

from __future__ import annotations

import json
import os
import re
import struct
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from typing import Any

from install_helper.facts import Python
from install_helper.host import Host
from install_helper.values import Value, absent, known

SITE = re.compile(r"python3\.\d+t?$")
PREFIXES = ("/usr/local", "/usr", "/opt/venv", "/venv", "/opt/conda", "/opt/miniconda3",
            "/opt/miniforge3", "/root/miniconda3")  # fmt: skip
QUESTION = """
import sys, sysconfig, struct, site, os, json
print(json.dumps(dict(
    executable=sys.executable, version=".".join(map(str, sys.version_info[:3])),
    implementation=sys.implementation.name,
    free_threaded=bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
    bits=struct.calcsize("P") * 8, prefix=sys.prefix,
    base_prefix=getattr(sys, "base_prefix", sys.prefix), paths=[p for p in sys.path if p],
    user_site=site.getusersitepackages() if site.ENABLE_USER_SITE else None,
    stdlib=sysconfig.get_path("stdlib"), working_directory=os.getcwd())))
"""


def ask(executable: str, seconds: float = 10.0) -> dict[str, Any]:
    """What another interpreter says of itself.

    Raises ValueError where it does not answer.
    """
    try:
        answer = subprocess.run(
            [executable, "-c", QUESTION],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
            check=True,
        )
        return dict(json.loads(answer.stdout))
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise ValueError(f"{executable} does not answer as a Python does: {error}") from None


def ourselves() -> dict[str, Any]:
    """The same of the interpreter that runs this."""
    import site

    return {
        "executable": sys.executable or "python",
        "version": ".".join(map(str, sys.version_info[:3])),
        "implementation": sys.implementation.name,
        "free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
        "bits": struct.calcsize("P") * 8,
        "prefix": sys.prefix,
        "base_prefix": sys.base_prefix,
        "paths": [p for p in sys.path if p],
        "user_site": site.getusersitepackages() if site.ENABLE_USER_SITE else None,
        "stdlib": sysconfig.get_path("stdlib"),
        "working_directory": _working_directory(),
    }


def _working_directory() -> str:
    try:
        return os.getcwd()
    except OSError:
        return "/"


def probe(host: Host, interpreter: Mapping[str, Any] | None = None) -> Python:
    """Read the interpreter: the one described, another one's answer, or this one."""
    if interpreter is None:
        interpreter = host.description.python or (of_root(host) if host.simulated else ourselves())
    prefix = interpreter.get("prefix") or "/usr"
    version = interpreter.get("version")
    source = interpreter.get("executable") or "description"
    stdlib = interpreter.get("stdlib") or ""
    conda = host.is_dir(f"{prefix}/conda-meta")
    paths = tuple(interpreter.get("paths") or ())
    executable = interpreter.get("executable") or "python"
    base = interpreter.get("base_prefix") or prefix
    here = interpreter.get("working_directory") or "/"
    return Python(
        executable=executable,
        command=command(host, executable, prefix, base, str(version or "")),
        active=active(host, prefix, here),
        version=known(str(version), source) if version else absent("python", "none found"),
        implementation=known(interpreter.get("implementation") or "cpython", source),
        free_threaded=known(bool(interpreter.get("free_threaded")), source),
        bits=known(int(interpreter.get("bits") or 64), source),
        prefix=prefix,
        base_prefix=base,
        paths=paths,
        user_site=interpreter.get("user_site"),
        conda=conda,
        externally_managed=bool(stdlib) and host.exists(f"{stdlib}/EXTERNALLY-MANAGED"),
        working_directory=here,
        installer=installer(host, prefix, paths, conda),
    )


def _slashes(path: str) -> str:
    return path.replace("\\", "/").rstrip("/")


def command(host: Host, executable: str, prefix: str, base_prefix: str, version: str) -> str:
    """What to type for this interpreter: a name, where a shell finds this one by it."""
    names = ["python", "python3", "python" + ".".join(version.split(".")[:2])]
    inside = prefix != base_prefix or host.is_dir(f"{prefix}/conda-meta")
    for name in names if inside else reversed(names):
        path = host.find(name)
        if path is None:
            continue
        folder = _slashes(path).rpartition("/")[0]
        # A link inside an environment leads to the base; it is the environment's all the same.
        ours = folder in (
            f"{_slashes(prefix)}/bin",
            f"{_slashes(prefix)}/Scripts",
            _slashes(prefix),
        )
        if ours if inside else host.resolve(path) == host.resolve(executable):
            return name
    return executable


def active(host: Host, prefix: str, working_directory: str) -> bool:
    """Whether uv, started here, takes this environment: the active one, or the one in .venv."""
    named = host.env.get("VIRTUAL_ENV") or host.env.get("CONDA_PREFIX")
    return _slashes(named or f"{_slashes(working_directory)}/.venv") == _slashes(prefix)


def installer(host: Host, prefix: str, paths: Sequence[str], conda: bool) -> Value[str]:
    """Who installs packages here: conda, uv or pip."""
    if conda:
        return known("conda", f"{prefix}/conda-meta")
    configuration = host.read(f"{prefix}/pyvenv.cfg", 4096)
    pip = next((f"{p}/pip" for p in paths if host.is_dir(f"{p}/pip")), None)
    uv = host.find("uv")
    if re.search(r"^uv\s*=", configuration.value or "", re.M) and (uv or not pip):
        return known("uv", configuration.source)
    if uv and not pip:
        return known("uv", uv)
    return known("pip", pip or "default")


def of_root(host: Host, prefixes: Sequence[str] = PREFIXES) -> dict[str, Any]:
    """The Python of a mounted system, from its files: the one with the most packages."""
    found = []
    for prefix in prefixes:
        for name in host.list(f"{prefix}/lib"):
            if not SITE.match(name):
                continue
            paths = [f"{prefix}/lib/{name}/{d}" for d in ("site-packages", "dist-packages")]
            if prefix == "/usr":  # Debian keeps its packages in these
                paths += [f"/usr/local/lib/{name}/dist-packages", "/usr/lib/python3/dist-packages"]
            paths = [p for p in paths if host.is_dir(p)]
            if paths:
                found.append((sum(len(host.list(p)) for p in paths), prefix, name, paths))
    if not found:
        return {}
    _, prefix, name, paths = max(found)
    configuration = host.read(f"{prefix}/pyvenv.cfg", 4096).value or ""
    home = re.search(r"^home\s*=\s*(\S+)/bin\s*$", configuration, re.M)
    return {
        "version": name[len("python") :].rstrip("t"),
        "free_threaded": name.endswith("t"),
        "prefix": prefix,
        "base_prefix": home[1] if home else "/usr" if configuration else prefix,
        "paths": paths,
        "stdlib": f"{prefix}/lib/{name}",
        "executable": f"{prefix}/bin/python" if configuration else f"{prefix}/bin/python3",
    }


def of_executable(host: Host, executable: str) -> dict[str, Any]:
    """The same of the interpreter at a path of a mounted system.

    Raises ValueError where there is none.
    """
    prefix = executable.rpartition("/bin/")[0]
    found = of_root(host, (prefix,)) if prefix else {}
    if not found:
        raise ValueError(
            f"{executable} is no Python below {host.root}; give its path there, such as "
            "/opt/env/bin/python."
        )
    return {**found, "executable": executable}

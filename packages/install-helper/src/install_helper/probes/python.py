"""The interpreter that is examined: version, environment, module path, installer."""

from __future__ import annotations

import json
import os
import re
import struct
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from typing import Any

from install_helper.facts import Python
from install_helper.host import Host
from install_helper.values import Value, absent, known

SITE = re.compile(r"python3\.\d+t?$")
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
        interpreter = host.description.python or (_of_root(host) if host.simulated else ourselves())
    prefix = interpreter.get("prefix") or "/usr"
    version = interpreter.get("version")
    source = interpreter.get("executable") or "description"
    stdlib = interpreter.get("stdlib") or ""
    conda = host.is_dir(f"{prefix}/conda-meta")
    return Python(
        executable=interpreter.get("executable") or "python",
        version=known(str(version), source) if version else absent("python", "none found"),
        implementation=known(interpreter.get("implementation") or "cpython", source),
        free_threaded=known(bool(interpreter.get("free_threaded")), source),
        bits=known(int(interpreter.get("bits") or 64), source),
        prefix=prefix,
        base_prefix=interpreter.get("base_prefix") or prefix,
        paths=tuple(interpreter.get("paths") or ()),
        user_site=interpreter.get("user_site"),
        conda=conda,
        externally_managed=bool(stdlib) and host.exists(f"{stdlib}/EXTERNALLY-MANAGED"),
        working_directory=interpreter.get("working_directory") or "/",
        installer=installer(host, prefix, conda),
    )


def installer(host: Host, prefix: str, conda: bool) -> Value[str]:
    """Who installs packages here: conda, uv or pip."""
    if conda:
        return known("conda", f"{prefix}/conda-meta")
    configuration = host.read(f"{prefix}/pyvenv.cfg", 4096)
    if re.search(r"^uv\s*=", configuration.value or "", re.M):
        return known("uv", configuration.source)
    return known("pip", "default")


def _of_root(host: Host) -> dict[str, Any]:
    """The Python of a mounted system: the newest one that has a site-packages directory."""
    found = []
    for prefix in ("/usr/local", "/usr", "/opt/venv", "/opt/conda", "/venv"):
        for name in host.list(f"{prefix}/lib"):
            if not SITE.match(name):
                continue
            paths = [f"{prefix}/lib/{name}/{d}" for d in ("site-packages", "dist-packages")]
            paths = [p for p in paths if host.is_dir(p)]
            if paths:
                found.append((len(host.list(paths[0])), prefix, name, paths))
    if not found:
        return {}
    _, prefix, name, paths = max(found)
    return {
        "version": name[len("python") :].rstrip("t"),
        "free_threaded": name.endswith("t"),
        "prefix": prefix,
        "paths": paths,
        "executable": f"{prefix}/bin/python",
    }

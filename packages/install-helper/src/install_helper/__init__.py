"""What a machine has, what is wrong with its accelerator set-up, and which packages fit it.

    facts = install_helper.inspect()
    for finding in install_helper.diagnose(facts):
        print(finding.level, finding.id, finding.title)
    print(install_helper.recommend(facts).command)

The standard library is all that this package imports: it also runs where jaxlib does not. Nothing
is imported to learn about it, nothing is changed, and no network is used.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from install_helper.facts import Facts
from install_helper.findings import Finding, diagnose
from install_helper.host import Description, Host
from install_helper.plan import Plan, Request, recommend
from install_helper.probes import gather

__version__ = "0.1.0"

__all__ = [
    "DISTRIBUTIONS",
    "Description",
    "Facts",
    "Finding",
    "Plan",
    "Request",
    "diagnose",
    "inspect",
    "installed_versions",
    "recommend",
]

DISTRIBUTIONS = (
    "covector",
    "covector-core",
    "covector-numpy-api",
    "covector-scipy-api",
    "covector-random",
    "covector-nn",
    "covector-parallel",
    "covector-install-helper",
    "jaxlib",
    "numpy",
    "scipy",
    "ml_dtypes",
    "jax-cuda12-plugin",
    "jax-cuda13-plugin",
    "libtpu",
    "jax",
)


def inspect(
    root: str | os.PathLike[str] | None = None,
    *,
    env: Mapping[str, str] | None = None,
    interpreter: str | None = None,
    description: Description | None = None,
    run_programs: bool | None = None,
) -> Facts:
    """Read this machine, or the system mounted below `root`.

    Under another root no program is run and no library loaded unless `run_programs` is true, and
    variables are those of `env`. `interpreter` names the Python whose packages are examined; under
    another root it is a path in that system.

    Raises ValueError where `root` is no directory that can be read, or `interpreter` is no Python.

    >>> inspect().system.name.value in ("Linux", "Darwin", "Windows")
    True
    """
    from install_helper.probes.python import ask, of_executable

    if root is not None:
        try:
            os.listdir(root)
        except OSError as error:
            raise ValueError(
                f"inspect: root {os.fspath(root)!r} cannot be read ({error.strerror}); "
                "name the directory in which a system is mounted."
            ) from None
    host = Host(
        os.fspath(root) if root is not None else None,
        env,
        description=description,
        run_programs=run_programs,
    )
    try:
        about = interpreter and (of_executable(host, interpreter) if root else ask(interpreter))
    except ValueError as error:
        raise ValueError(f"inspect: {error}") from None
    return gather(host, about or None)


def installed_versions() -> dict[str, str | None]:
    """The version of each of `DISTRIBUTIONS`, or None where it is not installed.

    >>> sorted(installed_versions()) == sorted(DISTRIBUTIONS)
    True
    """
    return {name: _version(name) for name in DISTRIBUTIONS}


def _version(distribution: str) -> str | None:
    from importlib import metadata  # slow to load, and the doctor does not need it

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None

"""What this Python has of Covector and of what lies under it.

The standard library is all that this package imports: it also runs where jaxlib does not.
"""

from __future__ import annotations

from importlib import metadata

__version__ = "0.1.0"

__all__ = ["DISTRIBUTIONS", "installed_versions"]

DISTRIBUTIONS = (
    "covector",
    "covector-core",
    "covector-numpy-api",
    "covector-scipy-api",
    "covector-random",
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


def installed_versions() -> dict[str, str | None]:
    """The version of each of `DISTRIBUTIONS`, or None where it is not installed.

    >>> sorted(installed_versions()) == sorted(DISTRIBUTIONS)
    True
    """
    return {name: _version(name) for name in DISTRIBUTIONS}


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None

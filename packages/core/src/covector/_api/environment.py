"""What the processes of a run are, what is in their memory, and what is installed."""

from __future__ import annotations

import warnings
from typing import Any

from covector._run.client import (
    default_backend,
    devices,
    get_client,
    local_devices,
    process_count,
    process_index,
)


def process_indices(backend: str | None = None) -> list[int]:
    """The numbers of all processes of the run.

    >>> process_indices()
    [0]
    """
    return sorted({d.process_index for d in devices(backend)})


def host_id(backend: str | None = None) -> int:
    """The old name of `process_index`."""
    _say_renamed("host_id", "process_index")
    return process_index(backend)


def host_ids(backend: str | None = None) -> list[int]:
    """The old name of `process_indices`."""
    _say_renamed("host_ids", "process_indices")
    return process_indices(backend)


def host_count(backend: str | None = None) -> int:
    """The old name of `process_count`."""
    _say_renamed("host_count", "process_count")
    return process_count(backend)


def _say_renamed(old: str, new: str) -> None:
    message = f"covector.{old} has been renamed to covector.{new}; the old name will go."
    warnings.warn(message, UserWarning, stacklevel=3)


def live_arrays(platform: str | None = None) -> list[Any]:
    """All arrays that are in the memory of a platform's devices now (None: of the default one).

    >>> import covector
    >>> x = covector.device_put(1.0)
    >>> any(y is x for y in live_arrays())
    True
    """
    return get_client(platform).live_arrays()


def print_environment_info(return_string: bool = False) -> str | None:
    """Print versions, devices and system, to put into a report; or return them as text.

    >>> "jaxlib:" in print_environment_info(return_string=True)
    True
    """
    import platform
    import sys
    from importlib.metadata import version

    import jaxlib.version
    import numpy as np

    import covector

    local = local_devices()
    shown = {
        "covector": covector.__version__,
        "jaxlib": jaxlib.version.__version__,
        "numpy": np.__version__,
        "ml_dtypes": version("ml_dtypes"),
        "python": sys.version.replace("\n", " "),
        "devices": f"{len(local)} local of {local[0].device_kind} ({default_backend()})",
        "process_count": process_count(),
        "platform": platform.uname(),
    }
    text = "\n".join([f"{name}: {value}" for name, value in shown.items()])
    if return_string:
        return text
    print(text)
    return None

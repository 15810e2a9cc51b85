"""The rules: each a small check over the facts that yields findings. Importing registers them."""

from install_helper.rules import (
    compilers,
    devices,
    driver,
    libraries,
    other,
    platforms,
    releases,
    settings,
    wheels,
)

__all__ = [
    "compilers",
    "devices",
    "driver",
    "libraries",
    "other",
    "platforms",
    "releases",
    "settings",
    "wheels",
]

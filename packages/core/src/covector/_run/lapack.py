"""LAPACK behind XLA's custom calls on CPU, set up when the first program needs it.

jaxlib's kernels call scipy's LAPACK through pointers that `_lapack.initialize` fills: to run one
before is a crash. Loading scipy takes half a second, so programs without LAPACK never do it.
"""

from __future__ import annotations

from functools import cache

import jaxlib._jax as _jaxlib

TARGET_PREFIX = "lapack_"


def prepare_for(text: str) -> None:
    """Make LAPACK ready if the module ``text`` calls it, compiled now or in an earlier process."""
    if f"@{TARGET_PREFIX}" in text or "@tridiagonal_solve_perturbed" in text:
        _initialize()


@cache
def _initialize() -> None:
    from jaxlib import lapack
    from jaxlib.cpu import _lapack

    _lapack.initialize()
    for name, capsule, version in lapack.registrations()["cpu"]:
        _jaxlib.register_custom_call_target(name, capsule, "cpu", api_version=version)
    for name in lapack.batch_partitionable_targets():
        _jaxlib.register_custom_call_as_batch_partitionable(name)

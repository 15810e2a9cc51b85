"""Versions, bounds and markers against `packaging`, which pip carries."""

from __future__ import annotations

import random

import pytest
from install_helper.versions import compare, marker_holds, requirement, satisfies
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

VERSIONS = [
    "0", "0.4.9", "0.4.10", "0.12.0.1", "1.0", "1.0.0", "1.0rc1", "1.0a2", "1.0.dev3",
    "0.9.2.post1", "9.10.2.21", "9.1.0.70", "12.8.93", "2025.1", "0.4.25+cuda12.cudnn89",
]  # fmt: skip
BOUNDS = [
    ">=0.4.10", "<10.0,>=9.1", "==0.12.*", "!=1.0", "~=9.1", "~=0.4.9", "==1.0", ">1.0", "<=1.0",
    "==0.0.50.*", "<9.11", ">=12.1.105", "",
]  # fmt: skip
MARKERS = [
    'sys_platform == "linux"',
    'python_version >= "3.13"',
    'python_version < "3.9" and extra == "with-cuda"',
    'extra == "with_cuda"',
    '(sys_platform == "win32" or platform_machine == "x86_64") and extra == "cuda"',
    'platform_machine in "x86_64 AMD64"',
    'sys_platform not in "win32 darwin"',
    'python_full_version >= "3.12.1"',
]


def test_order_is_that_of_packaging():
    for a in VERSIONS:
        for b in VERSIONS:
            public = [Version(v.partition("+")[0]) for v in (a, b)]
            expected = (public[0] > public[1]) - (public[0] < public[1])
            assert compare(a, b) == expected, (a, b)


@pytest.mark.parametrize("bounds", BOUNDS)
def test_bounds_are_those_of_packaging(bounds):
    for version in VERSIONS:
        if "+" in version:
            continue
        expected = SpecifierSet(bounds).contains(version, prereleases=True)
        special = version in ("1.0rc1", "1.0a2", "1.0.dev3", "0.9.2.post1")
        if not (special and any(c in bounds for c in "<>~")):
            assert satisfies(version, bounds) == expected, version


@pytest.mark.parametrize("marker", MARKERS)
@pytest.mark.parametrize("extra", ["", "cuda", "with-cuda"])
def test_markers_are_those_of_packaging(marker, extra):
    environment = {"sys_platform": "linux", "platform_machine": "x86_64", "extra": extra,
                   "python_version": "3.12", "python_full_version": "3.12.4"}  # fmt: skip
    assert marker_holds(marker, environment) == Marker(marker).evaluate(environment)


@pytest.mark.parametrize(
    "line",
    ["jaxlib<=0.12.0.1,>=0.11.2", "ml_dtypes>=0.5", 'nvidia-cudnn-cu12 (>=9.1,<10); extra == "x"',
     "jax[cuda12,k8s]==0.5.0", "opt_einsum"],
)  # fmt: skip
def test_requirements_are_those_of_packaging(line):
    ours, theirs = requirement(line), Requirement(line)
    assert ours.name == theirs.name.replace("_", "-")
    assert set(ours.extras) == theirs.extras
    assert SpecifierSet(ours.bounds) == theirs.specifier


@pytest.mark.parametrize("seed", range(20))
def test_any_text_is_taken(seed):
    source = random.Random(seed)
    text = "".join(source.choice("()<>=!~.,;'\"and or not 019[]extra") for _ in range(60))
    requirement(text)
    marker_holds(text, {})
    satisfies(text, text)
    compare(text, "1.0")

"""libcuda is asked in a process of its own; here a stub library with four functions answers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import install_helper.probes
import pytest

SCRIPT = Path(install_helper.probes.__file__).parent / "libcuda.py"
STUB = """
int cuDriverGetVersion(int *v) { *v = 12040; return 0; }
int cuInit(unsigned flags) { return %d; }
int cuDeviceGetCount(int *n) { *n = 2; return 0; }
int cuDeviceGetAttribute(int *v, int what, int device) { *v = what == 75 ? 8 : device; return 0; }
"""
compiler = shutil.which("cc")
pytestmark = pytest.mark.skipif(
    compiler is None or sys.platform != "linux", reason="needs Linux and a C compiler"
)


def ask(folder):
    env = {**os.environ, "LD_LIBRARY_PATH": str(folder)}
    out = subprocess.check_output([sys.executable, "-S", SCRIPT], env=env, timeout=30)
    return json.loads(out)


@pytest.mark.parametrize("code", [0, 34, 100, 803, 999])
def test_each_code(tmp_path, code):
    (tmp_path / "stub.c").write_text(STUB % code)
    library = tmp_path / "libcuda.so.1"
    subprocess.run([compiler, "-shared", "-o", library, tmp_path / "stub.c"], check=True)
    answer = ask(tmp_path)
    assert answer["loaded"] and answer["init"] == code and answer["cuda"] == 12040
    assert answer["path"].endswith("libcuda.so.1")
    assert answer.get("capabilities") == (["8.0", "8.1"] if code == 0 else None)


def test_a_text_in_the_place_of_a_library(tmp_path):
    (tmp_path / "libcuda.so.1").write_text("INPUT(libcuda.so)")
    answer = ask(tmp_path)
    assert not answer["loaded"] and "error" in answer

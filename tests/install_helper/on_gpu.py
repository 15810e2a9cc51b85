"""Checks for a machine with an NVIDIA GPU; a script, since the tests run everywhere.

    python tests/install_helper/on_gpu.py

It makes an environment with the plan of this machine, looks at it, breaks it, and looks again.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "packages" / "install-helper" / "src"


def helper(*arguments: str, **variables: str) -> tuple[int, str]:
    """Run the command; its status and what it printed."""
    env = {**os.environ, "PYTHONPATH": str(SOURCE), **variables}
    answer = subprocess.run(
        [sys.executable, "-m", "install_helper", *arguments],
        env=env, stdout=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    print(f"$ install-helper {' '.join(arguments)}  -> {answer.returncode}", flush=True)
    return answer.returncode, answer.stdout


def findings(*arguments: str, **variables: str) -> set[str]:
    """The ids that doctor finds."""
    _, out = helper("doctor", "--json", *arguments, **variables)
    return {one["id"] for one in json.loads(out)["findings"]}


def main() -> None:
    """Install, look, break, look."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", f"{folder}/env"], check=True)
        python = f"{folder}/env/bin/python"
        which = ["--interpreter", python, "--for", "jax"]
        print(helper("plan", *which)[1])
        status, out = helper("install", "--yes", *which)
        print(out[-2000:])
        assert status == 0
        status, out = helper("doctor", "--smoke", *which)
        print(out)
        assert "Smoke run ok" in out
        # The newest ptxas may be newer than the driver: a warning, and right.
        assert findings("--no-smoke", *which) <= {"C04"}
        assert "C10" in findings("--no-smoke", *which, CUDA_VISIBLE_DEVICES="-1")
        old = Path(folder, "old")
        old.mkdir()
        major = "13" if '"cuda13"' in helper("plan", "--json", *which)[1] else "12"
        (old / f"libnvJitLink.so.{major}.0.1").write_bytes(b"")
        (old / f"libnvJitLink.so.{major}").symlink_to(f"libnvJitLink.so.{major}.0.1")
        broken = findings("--no-smoke", *which, LD_LIBRARY_PATH=str(old))
        assert "C13" in broken, broken
    print("all as expected")


if __name__ == "__main__":
    main()

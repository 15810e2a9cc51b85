"""Whatever a machine holds: no traceback, an answer within five seconds, a documented status."""

from __future__ import annotations

import os
import random
import sys
import time
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

import install_helper
from install_helper import cli
from simulator import Machine

LIMIT = 5.0
GARBAGE = {
    "nothing": b"",
    "zeros": bytes(4096),
    "bytes": random.Random(0).randbytes(20_000),
    "long line": b"9" * 300_000,
    "lines": b"\n" * 50_000,
    "words": b"Version: \nflags : avx\n" * 3000 + b"{[[[[",
    "nesting": b"[" * 100_000,
}
PROBED = (
    "/proc/cpuinfo", "/proc/modules", "/proc/sys/kernel/osrelease", "/proc/driver/nvidia/version",
    "/proc/1/cgroup", "/etc/os-release", "/etc/ld.so.conf", "/etc/ld.so.conf.d/a.conf",
    "/var/lib/dpkg/status", "/usr/local/cuda/version.json", "/usr/local/cuda/version.txt",
    "/usr/local/cuda/include/cuda.h", "/usr/local/cuda/include/cudnn_version.h",
    "/opt/rocm/.info/version", "/sys/class/kfd/kfd/topology/nodes/1/properties",
    "/sys/bus/pci/devices/0000:01:00.0/vendor", "/venv/pyvenv.cfg",
    "/venv/lib/python3.12/site-packages/jaxlib-0.12.0.1.dist-info/WHEEL", "/proc/mounts",
    "/etc/modprobe.d/nvidia.conf", "/System/Library/CoreServices/SystemVersion.plist",
    "/venv/conda-meta/jaxlib-1.json", "/home/user/requirements.txt", "/install-helper.json",
    "/venv/lib/python3.12/site-packages/jaxlib-0.12.0.1.dist-info/METADATA",
    "/venv/lib/python3.12/site-packages/jaxlib-0.12.0.1.dist-info/RECORD",
    "/venv/lib/python3.12/site-packages/nvidia_cudnn_cu12-9.10.2.21.dist-info/METADATA",
)  # fmt: skip


def status_of(machine: Machine, capsys, *options: str) -> int:
    """Run doctor on a machine within the limit and return its status."""
    begun = time.process_time(), time.monotonic()
    status = cli.main(["doctor", "--root", str(machine.root), *options])
    # The processor's time, since this machine is shared; the clock's for what waits.
    assert time.process_time() - begun[0] < LIMIT
    assert time.monotonic() - begun[1] < 4 * LIMIT
    assert capsys.readouterr().out
    assert status in (0, 1)
    return status


@pytest.fixture
def machine(tmp_path):
    made = Machine(tmp_path)
    made.driver()
    made.cuda()
    made.describe()
    return made


@pytest.mark.parametrize("name", GARBAGE)
def test_garbage_in_every_file(machine, capsys, name):
    for path in PROBED:
        machine.file(path, GARBAGE[name])
    status_of(machine, capsys)
    assert install_helper.diagnose(machine.inspect()) is not None


@pytest.mark.parametrize("seed", range(10))
def test_random_garbage_in_random_files(machine, capsys, seed):
    source = random.Random(seed)
    for path in source.sample(PROBED, 8):
        machine.file(path, source.randbytes(source.randrange(2000)))
    install_helper.diagnose(machine.inspect())
    status_of(machine, capsys, "--verbose")


@pytest.mark.parametrize(
    "text, id",
    [
        ("#!/bin/sh\nsleep 60\n", "C57"),
        ("#!/bin/sh\ncat /dev/urandom\n", None),
        ("#!/bin/sh\nyes 0, a, b, c, d, e, f, g\n", None),
        ("#!/bin/sh\nkill -9 $$\n", None),
        ("#!/nowhere/sh\n", None),
        ("\x7fELF nonsense", None),
        ("#!/bin/sh\nsleep 60 &\n", None),
    ],
    ids=["hangs", "random", "endless", "killed", "no interpreter", "no program", "leaves a child"],
)
def test_a_strange_nvidia_smi(machine, capsys, text, id):
    machine.program("/usr/bin/nvidia-smi", text)
    status_of(machine, capsys, "--run-programs")
    if id:
        assert id in {one.id for one in machine.findings()}


def test_every_program_hangs(machine, capsys):
    machine.toolkit("12.8.1", "/usr/local/cuda")
    for path in ("/usr/bin/nvidia-smi", "/usr/local/cuda/bin/ptxas", "/usr/local/bin/ptxas"):
        machine.program(path, "#!/bin/sh\nsleep 60\n")
    begun = time.monotonic()
    status_of(machine, capsys, "--run-programs")
    assert time.monotonic() - begun < 4 * LIMIT


def test_unreadable_everything(tmp_path, capsys):
    machine = Machine(tmp_path)
    machine.denied = ["/proc", "/sys", "/dev", "/etc", "/usr", "/venv", "/opt", "/home"]
    assert [one.id for one in machine.findings()] == ["C66"]


def test_an_empty_root_is_healthy_and_knows_no_python(tmp_path, capsys):
    assert cli.main(["doctor", "--root", str(tmp_path)]) == 0
    assert "No Python was found" in " ".join(capsys.readouterr().out.split())


def test_ten_thousand_packages(machine, capsys):
    site = machine.path(machine.site)
    for number in range(10_000):
        os.mkdir(site / f"package_{number}-1.{number}.dist-info")
    status_of(machine, capsys)


def test_enormous_loader_path(machine, capsys):
    machine.env["LD_LIBRARY_PATH"] = ":".join(f"/opt/{n}/lib" for n in range(100_000)) + "::."
    machine.env["XLA_FLAGS"] = "--xla_a=1 " * 100_000
    machine.env["CUDA_VISIBLE_DEVICES"] = "0," * 100_000
    machine.describe()
    status_of(machine, capsys)
    machine.findings()


def test_names_that_are_no_text(machine, capsys):
    for folder in (machine.site, "/usr/local", "/opt", "/dev", "/sys/bus/pci/devices"):
        machine.directory(folder)
        os.mkdir(os.fsencode(machine.path(folder)) + b"/cuda-\xff\xfe-1.0.dist-info")
    machine.env["LD_LIBRARY_PATH"] = "/opt/\udcff\udcfe"
    status_of(machine, capsys, "--verbose")
    machine.findings()


def test_files_of_other_kinds(machine, capsys):
    for path in ("/etc/ld.so.conf", "/proc/cpuinfo", "/home/user/requirements.txt"):
        where = machine.path(path)
        where.parent.mkdir(parents=True, exist_ok=True)
        where.unlink(missing_ok=True)
        os.mkfifo(where)
    machine.link("/usr/local/cuda", "cuda")
    machine.link("/etc/os-release", "/etc/os-release")
    machine.link(f"{machine.site}/nvidia/loop", ".")
    status_of(machine, capsys)


def test_links_stay_inside_the_root(tmp_path):
    (tmp_path / "outside").write_text("ID=secret\nVERSION_ID=1\n")
    root = tmp_path / "root"
    machine = Machine(root)
    machine.link("/etc/os-release", "../../../outside")
    machine.path("/etc/os-release").unlink()
    machine.link("/etc/os-release", "/../outside")
    assert "secret" not in str(machine.inspect().system.distribution.value)


def test_nothing_is_run_or_written_under_a_mounted_root(machine):
    machine.program("/usr/bin/nvidia-smi", f"#!/bin/sh\ntouch {machine.root}/was-run\n")
    before = sorted(os.listdir(machine.root))
    facts = install_helper.inspect(machine.root, env=machine.env)
    assert facts.nvidia.smi.state == "skipped"
    assert sorted(os.listdir(machine.root)) == before


@pytest.mark.parametrize(
    "path, text",
    [("/lib64/libc-2.28.so", ""),
     ("/lib/x86_64-linux-gnu/libc.so.6", "\0GNU C Library (Debian) release version 2.28.\0")],
)  # fmt: skip
def test_glibc_of_a_mounted_root(tmp_path, path, text):
    machine = Machine(tmp_path)
    machine.libc = None
    machine.file(path, text)
    assert machine.inspect().system.libc.value == ("glibc", "2.28")

"""The command `install-helper`."""

from __future__ import annotations

import argparse
import platform
import sys
from collections.abc import Sequence

from install_helper import __version__, installed_versions


def main(arguments: Sequence[str] | None = None) -> int:
    """Print this Python, this platform and the installed pieces; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="install-helper",
        description="List the pieces of Covector that this Python has, and what lies under them.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    parser.parse_args(arguments)
    print(f"Python {platform.python_version()} on {platform.platform()}")
    for name, version in installed_versions().items():
        print(f"{name:26}{version or '-'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

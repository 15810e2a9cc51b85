"""The command `install-helper`."""

from __future__ import annotations

import sys

from install_helper.cli import main

if __name__ == "__main__":
    sys.exit(main())

"""The packages have no type errors, as a basic check by pyright sees them.

Type checkers do not merge a package whose parts lie in several folders, so the sources are put
together first, as an installation does.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

PACKAGES = Path(__file__).parents[1] / "packages"
SETTINGS = {
    "typeCheckingMode": "basic",
    "pythonVersion": "3.12",
    "reportMissingModuleSource": False,
}


def test_no_type_errors(tmp_path):
    for source in sorted(PACKAGES.glob("*/src")):
        without = shutil.ignore_patterns("__pycache__")
        shutil.copytree(source, tmp_path, dirs_exist_ok=True, ignore=without)
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(SETTINGS))
    command = [sys.executable, "-m", "basedpyright", "--level", "error", "--outputjson"]
    command += ["--pythonpath", sys.executable, "--project", str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    report = json.loads(result.stdout)
    assert report["summary"]["filesAnalyzed"] > 200
    errors = [
        f"{Path(found['file']).relative_to(tmp_path)}:{found['range']['start']['line'] + 1}: "
        + found["message"].partition("\n")[0]
        for found in report["generalDiagnostics"]
    ]
    assert not errors, "\n".join(errors)

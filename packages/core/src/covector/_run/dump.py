"""Write every lowered program into a folder (the flags `dump_ir_to` and `dump_ir_modes`)."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

from covector._config import dump_ir_modes, dump_ir_to
from covector._ir.jaxpr import Jaxpr

_numbers = itertools.count()


def dump(name: str, jaxpr: Jaxpr, text: str) -> None:
    """Write a program in the forms that are asked for, as ``covector_NUMBER_NAME.FORM``.

    Raises:
      ValueError: a form that is neither 'stablehlo' nor 'jaxpr'.
    """
    modes = [mode.strip() for mode in dump_ir_modes.value.split(",")]
    if unknown := set(modes) - {"stablehlo", "jaxpr"}:
        raise ValueError(
            f"dump_ir_modes: the forms are 'stablehlo' and 'jaxpr', got {', '.join(unknown)}."
        )
    folder = Path(dump_ir_to.value)
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"covector_{next(_numbers):05d}_{re.sub(r'[^\w.-]', '_', name)}"
    if "stablehlo" in modes:
        (folder / f"{stem}.mlir").write_text(text, encoding="utf-8")
    if "jaxpr" in modes:
        (folder / f"{stem}.jaxpr.txt").write_text(f"{jaxpr}\n", encoding="utf-8")

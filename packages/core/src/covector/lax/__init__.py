"""`covector.lax`: the operations that programs are made of, strict in dtypes and shapes.

The contents page: each name stands under the module that defines it, and is loaded at first use.
"""

from __future__ import annotations

import importlib
from typing import Any

_CONTENTS: dict[str, str] = {
    # module: public names
    "elementwise": "add sub mul div neg sin cos exp convert_element_type",
    "shape": "broadcast_in_dim reshape transpose",
    "reduce": "reduce_sum",
}

_MODULE_OF = {name: module for module, names in _CONTENTS.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'covector.lax' has no attribute '{name}'")
    value = getattr(importlib.import_module(f"covector.lax.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(_MODULE_OF)

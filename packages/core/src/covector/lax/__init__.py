"""`covector.lax`: the operations that programs are made of, strict in dtypes and shapes.

The contents page: each name stands under the module that defines it, and is loaded at first use.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

_CONTENTS: dict[str, str] = {
    # module: public names
    "elementwise": "add sub mul div neg sin cos exp convert_element_type",
    "shape": "broadcast broadcast_in_dim broadcast_in_dim_p broadcast_like broadcast_shapes "
    "broadcast_to_rank collapse expand_dims reshape reshape_p rev rev_p squeeze squeeze_p transpose "
    "transpose_p",
    "filling": "broadcasted_iota empty full full_like iota iota_p shape_as_value",
    "joining": "concatenate concatenate_p pad pad_p split split_p stack stack_p tile tile_p unstack "
    "unstack_p",
    "reduce": "argmax argmax_p argmin argmin_p reduce_and reduce_and_p reduce_max reduce_max_p "
    "reduce_min reduce_min_p reduce_or reduce_or_p reduce_prod reduce_prod_p reduce_sum "
    "reduce_sum_p reduce_xor reduce_xor_p",
    "slicing": "dynamic_index_in_dim dynamic_slice dynamic_slice_in_dim dynamic_slice_p "
    "dynamic_update_index_in_dim dynamic_update_slice dynamic_update_slice_in_dim "
    "dynamic_update_slice_p index_in_dim slice slice_in_dim slice_p",
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


class _Lax(ModuleType):
    """Importing a submodule does not hide the function of its name (`reduce`, `sort`, `dot`, ...)."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (isinstance(value, ModuleType) and name in _MODULE_OF):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Lax

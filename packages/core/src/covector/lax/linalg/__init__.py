"""`covector.lax.linalg`: factorizations of matrices and solutions of structured systems.

All take arrays of shape (..., m, n): leading axes count matrices. The contents page: each name
stands under the module that defines it, and is loaded at first use.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

_CONTENTS: dict[str, str] = {
    # module: public names
    "cholesky": "cholesky cholesky_p",
    "tridiagonal_solve": "tridiagonal_solve tridiagonal_solve_p",
    "triangular": "triangular_solve triangular_solve_p",
    "householder": "hessenberg hessenberg_p householder_product householder_product_p tridiagonal "
    "tridiagonal_p",
    "qdwh": "qdwh",
    "qr": "qr qr_p",
    "eigh": "EighImplementation eigh eigh_p",
    "eig": "EigImplementation eig eig_p",
    "schur": "schur schur_p",
    "svd": "SvdAlgorithm svd svd_p",
    "updates": "cholesky_update cholesky_update_p ormqr ormqr_p symmetric_product "
    "symmetric_product_p",
    "lu": "lu lu_p lu_pivots_to_permutation lu_pivots_to_permutation_p",
}

_MODULE_OF = {name: module for module, names in _CONTENTS.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'covector.lax.linalg' has no attribute '{name}'")
    value = getattr(importlib.import_module(f"covector.lax.linalg.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(_MODULE_OF)


class _Linalg(ModuleType):
    """Importing a submodule does not hide the function of its name (`cholesky`, `lu`, ...)."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (isinstance(value, ModuleType) and name in _MODULE_OF):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Linalg

"""Linear algebra: the contents page of `covector.numpy.linalg`.

import covector.numpy as jnp

jnp.linalg.solve(a, b)
"""

from typing import Any

_CONTENTS: dict[str, str] = {
    # module: public names
    "_norms": "matrix_norm norm vector_norm",
    "_products": "cross diagonal matmul matrix_power matrix_transpose multi_dot outer tensordot "
    "trace vecdot",
    "_solving": "det inv slogdet solve tensorinv tensorsolve",
    "_decompositions": "cholesky cond eig eigh eigvals eigvalsh lstsq matrix_rank pinv qr svd "
    "svdvals",
}

_MODULE_OF = {name: module for module, names in _CONTENTS.items() for name in names.split()}
__all__ = sorted(_MODULE_OF)  # noqa: PLE0605  names that `__getattr__` finds


def __getattr__(name: str) -> Any:
    from importlib import import_module

    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'covector.numpy.linalg' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"covector.numpy.linalg.{module}"), name)
    return value


def __dir__() -> list[str]:
    return list(__all__)

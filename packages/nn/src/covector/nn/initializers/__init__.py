"""Initializers of weights: the contents page of `covector.nn.initializers`.

Each takes its parameters and gives a function of a key, a shape and a dtype; `zeros` and `ones` are
such functions themselves. Of the same key they draw the numbers that `jax.nn.initializers` does.
"""

_CONTENTS: dict[str, str] = {
    # module: public names
    "_plain": "Initializer constant normal ones truncated_normal uniform zeros",
    "_variance_scaling": "glorot_normal glorot_uniform he_normal he_uniform kaiming_normal "
    "kaiming_uniform lecun_normal lecun_uniform variance_scaling xavier_normal xavier_uniform",
    "_orthogonal": "delta_orthogonal orthogonal",
}

_MODULE_OF = {name: module for module, names in _CONTENTS.items() for name in names.split()}
__all__ = sorted(_MODULE_OF)  # noqa: PLE0605  names that `__getattr__` finds


def __getattr__(name: str) -> object:
    from importlib import import_module

    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'covector.nn.initializers' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"covector.nn.initializers.{module}"), name)
    return value


def __dir__() -> list[str]:
    return list(__all__)

"""Functions that neural networks are made of: the contents page of `covector.nn`.

    from covector import nn

    nn.relu(x)

Each name stands under the module that defines it, and is imported when it is first used.
"""

__version__ = "0.1.0"

_CONTENTS: dict[str, str] = {
    # module: public names
    "_activations": "celu elu gelu glu hard_sigmoid hard_silu hard_swish hard_tanh identity "
    "leaky_relu log1mexp log_sigmoid mish relu relu6 selu sigmoid silu soft_sign softplus "
    "sparse_plus sparse_sigmoid squareplus swish tanh",
    "_normalization": "log_softmax logmeanexp logsumexp one_hot softmax standardize",
    "_attention": "dot_product_attention",
    "_scaled_products": "get_scaled_dot_general_config scaled_dot_general scaled_matmul",
}

_MODULE_OF = {name: module for module, names in _CONTENTS.items() for name in names.split()}
_SUBMODULES = ("initializers",)
__all__ = sorted([*_MODULE_OF, *_SUBMODULES])  # noqa: PLE0605  names that `__getattr__` finds


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _SUBMODULES:
        return import_module(f"covector.nn.{name}")
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'covector.nn' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"covector.nn.{module}"), name)
    return value


def __dir__() -> list[str]:
    return list(__all__)

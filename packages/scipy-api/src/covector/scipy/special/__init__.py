"""Special functions, differentiable and compiled: the contents page of `covector.scipy.special`.

Each name stands under the module that defines it, and is imported when it is first used.
"""

from typing import Any

_CONTENTS: dict[str, str] = {
    # module: public names
    "_logistic": "expit log_softmax logit logsumexp softmax",
    "_entropy": "entr kl_div rel_entr xlog1py xlogy",
    "_error_function": "erf erfc erfinv",
    "_gamma": "beta betaln digamma factorial gamma gammaln gammasgn",
    "_gamma_family": "comb loggamma multigammaln poch polygamma zeta",
    "_box_cox": "boxcox boxcox1p",
    "_normal": "log_ndtr ndtr ndtri",
}

_MODULE_OF = {name: module for module, names in _CONTENTS.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'covector.scipy.special' has no attribute {name!r}")
    value = getattr(import_module(f"covector.scipy.special.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(_MODULE_OF)

"""SciPy's special functions, differentiable and compiled: the contents page.

import covector.scipy as jsp

jsp.special.logsumexp(x, axis=-1)
"""

_CONTENTS: dict[str, str] = {
    # module: public names
    "_error": "erf erfc erfinv log_ndtr ndtr ndtri",
    "_exponential": "boxcox boxcox1p expit log_softmax logit logsumexp softmax",
    "_gamma": "beta betaln comb digamma factorial gamma gammaln gammasgn loggamma multigammaln "
    "poch polygamma zeta",
    "_information": "entr kl_div rel_entr xlog1py xlogy",
}

_MODULE_OF = {name: module for module, names in _CONTENTS.items() for name in names.split()}


def __getattr__(name: str) -> object:
    from importlib import import_module

    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'covector.scipy.special' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"covector.scipy.special.{module}"), name)
    return value


def __dir__() -> list[str]:
    return sorted(_MODULE_OF)

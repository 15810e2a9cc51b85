"""`covector.random`: pseudo-random numbers from explicit keys.

A key is made from a seed and used once; `split` makes new keys of it. The bits equal those of
`jax.random`, key by key. Where to start reading: `_keys.py`, then `_threefry.py`; of the
distributions, `_sampling.py`.
"""

from covector.random._continuous import exponential as exponential
from covector.random._continuous import gumbel as gumbel
from covector.random._discrete import bernoulli as bernoulli
from covector.random._discrete import categorical as categorical
from covector.random._discrete import geometric as geometric
from covector.random._discrete import rademacher as rademacher
from covector.random._implementation import define_prng_impl as define_prng_impl
from covector.random._integers import randint as randint
from covector.random._keys import Key as Key
from covector.random._keys import PRNGKey as PRNGKey
from covector.random._keys import clone as clone
from covector.random._keys import fold_in as fold_in
from covector.random._keys import key as key
from covector.random._keys import key_data as key_data
from covector.random._keys import key_dtype as key_dtype
from covector.random._keys import key_impl as key_impl
from covector.random._keys import split as split
from covector.random._keys import wrap_key_data as wrap_key_data
from covector.random._normal import normal as normal
from covector.random._normal import truncated_normal as truncated_normal
from covector.random._shuffling import choice as choice
from covector.random._shuffling import permutation as permutation
from covector.random._uniform import bits as bits
from covector.random._uniform import uniform as uniform

# The families of distributions, each loaded when the first of its names is used.
_CONTENTS: dict[str, str] = {
    # module: public names
    "_inverses": "cauchy double_sided_maxwell laplace logistic lognormal maxwell pareto rayleigh "
    "triangular wald weibull_min",
    "_gamma": "gamma loggamma random_gamma_p",
    "_from_gamma": "beta chisquare dirichlet f generalized_normal t",
    "_poisson": "poisson",
    "_binomial": "binomial multinomial",
    "_multivariate": "ball multivariate_normal orthogonal",
}

_MODULE_OF = {name: module for module, names in _CONTENTS.items() for name in names.split()}


def __getattr__(name: str) -> object:
    from importlib import import_module

    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'covector.random' has no attribute '{name}'")
    value = getattr(import_module(f"covector.random.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF})

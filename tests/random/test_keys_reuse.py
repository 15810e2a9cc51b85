"""The flag `debug_key_reuse`: a key that is used twice is an error that names both uses."""

import inspect
import re

import covector
import covector.numpy as jnp
import numpy as np
import pytest
from covector import lax, random
from covector.errors import KeyReuseError

# What the oracle finds too.
REUSED = {
    "two draws": lambda k: (random.normal(k), random.uniform(k)),
    "split, then draw": lambda k: (random.split(k), random.normal(k)),
    "split twice": lambda k: (random.split(k), random.split(k)),
    "draw, then split": lambda k: (random.bits(k), random.split(k)),
    "a copy": lambda k: (random.normal(k), random.normal(k.copy())),
    "reshaped": lambda k: (random.normal(k), random.normal(k[None].reshape(()))),
    "one of many twice": lambda k: [random.normal(x[1]) for x in [random.split(k, 3)] * 2],
    "mapped twice": lambda k: [covector.vmap(random.normal)(x) for x in [random.split(k)] * 2],
    "mapped, then one": lambda k: (lambda ks: (covector.vmap(random.bits)(ks), random.bits(ks[1])))(
        random.split(k)
    ),
    "one, then mapped": lambda k: (lambda ks: (random.bits(ks[1]), covector.vmap(random.bits)(ks)))(
        random.split(k)
    ),
    "stacked": lambda k: covector.vmap(random.normal)(jnp.stack([k, k])),
    "in jit": lambda k: covector.jit(lambda k: random.normal(k) + random.uniform(k))(k),
    "in jits within jit": lambda k: covector.jit(
        lambda k: covector.jit(random.normal)(k) + covector.jit(random.uniform)(k)
    )(k),
    "jit, then eager": lambda k: (covector.jit(random.normal)(k), random.normal(k)),
    "eager, then jit": lambda k: (random.normal(k), covector.jit(random.normal)(k)),
    "jit closes over it": lambda k: (random.normal(k), covector.jit(lambda: random.normal(k))()),
    "jit gives it back": lambda k: random.normal(
        covector.jit(lambda k: (k, random.normal(k)))(k)[0]
    ),
    "one of many in jit": lambda k: covector.jit(
        lambda ks: random.normal(ks[0]) + random.normal(ks[0])
    )(random.split(k)),
    "scan closes over it": lambda k: lax.scan(
        lambda c, _: (c + random.normal(k), None), 0.0, None, length=3
    ),
    "scan carries it": lambda k: lax.scan(lambda k, _: (k, random.normal(k)), k, None, length=3),
    "fori_loop": lambda k: lax.fori_loop(0, 3, lambda i, x: x + random.normal(k), 0.0),
    "the condition of a loop": lambda k: lax.while_loop(
        lambda x: random.normal(k) < x, lambda x: x + 1, 0
    ),
    "cond, then draw": lambda k: (
        lax.cond(True, random.normal, lambda k: 0.0, k),
        random.normal(k),
    ),
    "cond in jit, then draw": lambda k: covector.jit(
        lambda k: lax.cond(True, random.normal, lambda k: 0.0, k) + random.normal(k)
    )(k),
    "in grad": lambda k: covector.grad(lambda x: x * random.normal(k) * random.normal(k))(1.0),
    "grad, then draw": lambda k: (
        covector.grad(lambda x: x * random.normal(k))(1.0),
        random.normal(k),
    ),
}

# What the oracle does not find.
FOUND_HERE_ALONE = {
    "repeated": lambda k: covector.vmap(random.normal)(jnp.broadcast_to(k, (2,))),
    "two arguments": lambda k: covector.jit(lambda a, b: random.normal(a) + random.normal(b))(k, k),
    "iterated twice": lambda k: [random.bits(x) for ks in [random.split(k)] * 2 for x in ks],
    "jit hands it on": lambda k: random.normal(covector.jit(lambda k: k)(k)) + random.normal(k),
}

FINE = {
    "folded": lambda k: (random.fold_in(k, 1), random.fold_in(k, 2), random.normal(k)),
    "drawn, then folded": lambda k: (random.normal(k), random.fold_in(k, 1)),
    "cloned": lambda k: (random.normal(k), random.normal(random.clone(k))),
    "cloned in jit": lambda k: covector.jit(
        lambda k: random.normal(k) + random.normal(random.clone(k))
    )(k),
    "wrapped": lambda k: (random.normal(k), random.bits(random.wrap_key_data(random.key_data(k)))),
    "looked at": lambda k: (random.normal(k), random.key_data(k), k == k, repr(k)),
    "plain": lambda k: [random.normal(x) for x in [random.PRNGKey(0)] * 2],
    "one of many each": lambda k: (lambda ks: (random.bits(ks[0]), random.bits(ks[1])))(
        random.split(k)
    ),
    "unpacked": lambda k: [random.normal(x) for x in random.split(k, 3)],
    "in jit": lambda k: covector.jit(lambda ks: random.normal(ks[0]) + random.normal(ks[1]))(
        random.split(k)
    ),
    "mapped": lambda k: covector.vmap(random.normal)(random.split(k)),
    "mapped, the key not": lambda k: covector.vmap(lambda x: x + random.normal(k))(jnp.arange(3.0)),
    "scan splits it": lambda k: lax.scan(lambda k, _: tuple(random.split(k)), k, None, length=3),
    "scan over keys": lambda k: lax.scan(lambda c, k: (c, random.normal(k)), 0, random.split(k, 3)),
    "fori_loop folds": lambda k: lax.fori_loop(
        0, 3, lambda i, x: x + random.normal(random.fold_in(k, i)), 0.0
    ),
    "branches": lambda k: lax.cond(True, random.normal, random.uniform, k),
    "grad": lambda k: covector.grad(lambda x: x * random.normal(k))(1.0),
    "grad of jit": lambda k: covector.jit(covector.grad(lambda x: x * random.normal(k)))(1.0),
    "computed again": lambda k: covector.grad(
        covector.checkpoint(lambda x: jnp.sin(x * random.normal(k)))
    )(1.0),
    "another of the seed": lambda k: [random.normal(random.key(3)) for _ in range(2)],
}


@pytest.fixture
def flag():
    with covector.debug_key_reuse(True):
        yield


@pytest.mark.usefixtures("flag")
@pytest.mark.parametrize("name", [*REUSED, *FOUND_HERE_ALONE])
def test_found(name):
    with pytest.raises(KeyReuseError, match="is used"):
        (REUSED | FOUND_HERE_ALONE)[name](random.key(0))


@pytest.mark.usefixtures("flag")
@pytest.mark.parametrize("name", FINE)
def test_not_found(name):
    FINE[name](random.key(0))


def test_as_the_oracle(oracle):
    session = oracle.using(debug_key_reuse=True)
    # The oracle's processes import neither these tests nor their lambdas.
    session.compare_error("[random.normal(k) for k in [random.key(0)] * 2]")
    session.compare_error("jax.jit(lambda k: random.normal(k) + random.bits(k))(random.key(0))")
    session.compare_error(
        "(lambda k: lax.scan(lambda c, _: (c, random.normal(k)), 0, None, length=3))(random.key(0))"
    )
    session.compare(
        "[random.normal(random.fold_in(k, i)) for i, k in enumerate([random.key(0)] * 2)]"
    )
    session.compare("[random.normal(k) for k in random.split(random.key(0), 2)]")


def line_of(text):
    """The line of this file that holds a text, once."""
    lines, _ = inspect.getsourcelines(inspect.getmodule(line_of))
    [number] = [i for i, line in enumerate(lines, 1) if text in line and "line_of" not in line]
    return number


@pytest.mark.usefixtures("flag")
def test_the_error_names_both_uses():
    key = random.key(0)
    random.normal(key)  # the first
    with pytest.raises(KeyReuseError) as caught:
        random.uniform(key, (3,))  # the second
    message = str(caught.value)
    first, second = re.findall(r"(\w+) at \S*test_keys_reuse.py:(\d+)", message)
    assert first == ("normal", str(line_of("# the first")))
    assert second == ("uniform", str(line_of("# the second")))


@pytest.mark.usefixtures("flag")
def test_the_error_names_the_lines_of_this_program():
    """Programs that differ in lines alone are one, but not while the flag is on."""

    def before(key):
        return random.bits(key)

    def function(key):
        return random.bits(key)  # within

    key = random.key(0)
    covector.jit(before)(random.clone(key))
    covector.jit(function)(key)  # called
    with pytest.raises(KeyReuseError) as caught:
        random.bits(key)
    lines = re.findall(r"test_keys_reuse.py:(\d+)", str(caught.value))
    assert lines[:2] == [str(line_of("# within")), str(line_of("# called"))]


# Arguments for each function that draws.
ONES = np.ones(3, np.float32)
ARGUMENTS = {
    **dict.fromkeys(["bernoulli", "bits", "exponential", "gumbel", "normal", "uniform"], ()),
    **dict.fromkeys(["cauchy", "laplace", "logistic", "lognormal", "maxwell", "rademacher"], ()),
    **dict.fromkeys(["chisquare", "gamma", "generalized_normal", "loggamma", "pareto"], (2.0,)),
    **dict.fromkeys(["poisson", "rayleigh", "t", "wald"], (2.0,)),
    **dict.fromkeys(["beta", "double_sided_maxwell", "f", "weibull_min"], (2.0, 3.0)),
    **dict.fromkeys(["ball", "choice", "orthogonal", "permutation"], (4,)),
    **dict.fromkeys(["categorical", "dirichlet"], (ONES,)),
    "binomial": (5, 0.3),
    "geometric": (0.3,),
    "multinomial": (5, ONES / 3),
    "multivariate_normal": (ONES, np.eye(3, dtype=np.float32)),
    "randint": ((), 0, 5),
    "triangular": (0.0, 0.5, 1.0),
    "truncated_normal": (-1.0, 1.0),
}


@pytest.mark.usefixtures("flag")
def test_every_function_uses_its_key_once():
    """Also one that calls others with the same key."""
    functions = [getattr(random, name) for name in dir(random)]
    names = [f.__name__ for f in functions if inspect.isfunction(f) and takes_key(f)]
    assert {"normal", "choice"} <= set(names)
    for name in sorted({*names} - {"clone", "fold_in", "split"}):

        def draw(key, times, name=name):
            return [getattr(random, name)(key, *ARGUMENTS[name]) for _ in range(times)]

        covector.make_jaxpr(draw, static_argnums=1)(random.key(0), 1)
        with pytest.raises(KeyReuseError, match=f"used by {name} at .* again by {name} at"):
            covector.make_jaxpr(draw, static_argnums=1)(random.key(0), 2)
    weights = ONES / 3
    random.choice(random.key(0), 3, (2,), replace=False, p=weights)


def takes_key(function):
    return next(iter(inspect.signature(function).parameters), None) == "key"


def test_it_is_off_by_default():
    key = random.key(0)
    random.normal(key)
    random.normal(key)
    assert "random_use" not in str(covector.make_jaxpr(random.normal)(key))
    with covector.debug_key_reuse(True):
        assert "random_use" in str(covector.make_jaxpr(random.normal)(key))

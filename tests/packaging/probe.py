"""Run by the Python of a clean environment: checks the pieces of Covector that are installed there.

Its arguments are the distributions that are said to be installed. It prints a JSON object of what
went wrong, by the name of the check: empty if all is well.
"""

import importlib
import json
import subprocess
import sys
import traceback


def import_is_lazy():
    import covector

    assert covector.__version__
    dir(covector)
    heavy = {"jaxlib", "numpy", "ml_dtypes", "scipy"} & set(sys.modules)
    assert not heavy, f"import covector has loaded {heavy}"


def core_works():
    import covector

    assert float(covector.jit(lambda x: covector.lax.add(x, x))(21.0)) == 42.0
    assert float(covector.grad(lambda x: covector.lax.mul(x, x))(3.0)) == 6.0


def random_works():
    import covector
    import numpy as np

    draws = np.asarray(covector.random.normal(covector.random.key(0), (3,)))
    assert draws.shape == (3,) and len(set(draws.tolist())) == 3


def numpy_works():
    import covector.numpy as jnp

    assert (jnp.ones(3) + 1).tolist() == [2.0, 2.0, 2.0]


def scipy_works():
    from covector.scipy.stats import norm

    assert float(norm.cdf(0.0)) == 0.5


def nn_works():
    from covector import image, nn, random

    weights = nn.initializers.lecun_normal()(random.key(0), (3, 2))
    assert nn.relu(weights).min() == 0.0
    assert image.resize(weights, (6, 2), "linear").shape == (6, 2)


def parallel_works():
    import covector
    import numpy as np

    doubled = covector.pmap(lambda x: covector.lax.add(x, x))(np.ones((1, 3), np.float32))
    assert np.asarray(doubled).tolist() == [[2.0, 2.0, 2.0]]


def install_helper_works():
    command = [sys.executable, "-I", "-m", "install_helper"]
    assert "covector-install-helper" in subprocess.check_output(command, text=True)


WORKS = {
    "covector-core": core_works,
    "covector-random": random_works,
    "covector-numpy-api": numpy_works,
    "covector-scipy-api": scipy_works,
    "covector-nn": nn_works,
    "covector-parallel": parallel_works,
    "covector-install-helper": install_helper_works,
}
NAMES = {
    "covector-random": ["random"],
    "covector-numpy-api": ["numpy"],
    "covector-scipy-api": ["scipy"],
    "covector-nn": ["nn", "image"],
    "covector-parallel": ["parallel", "pmap"],
}


def is_listed(name):
    import covector

    assert name in dir(covector)


def says_what_to_install(name, distribution):
    """Each way to ask for a name says so, by the error class that this way has in Python."""
    import covector

    def by_attribute():
        getattr(covector, name)

    def by_from_import():
        exec(f"from covector import {name}")

    def by_import():
        importlib.import_module(f"covector.{name}")

    for ask, kind in [
        (by_attribute, AttributeError),
        (by_from_import, ImportError),
        (by_import, ModuleNotFoundError),
    ]:
        try:
            ask()
        except kind as error:
            assert f"pip install {distribution}" in str(error), (ask.__name__, str(error))
        else:
            raise AssertionError(f"{ask.__name__} of {name} found something")
    assert not hasattr(covector, name)
    assert name not in dir(covector)


def checks(installed):
    yield "import is lazy", import_is_lazy
    for distribution, names in NAMES.items():
        for name in names:
            if distribution in installed:
                yield f"dir lists {name}", lambda name=name: is_listed(name)
            else:
                yield (
                    f"{name} is missing",
                    lambda name=name, owner=distribution: says_what_to_install(name, owner),
                )
    for distribution in installed:
        yield f"{distribution} works", WORKS[distribution]


def main(installed):
    failures = {}
    for name, check in checks(installed):
        try:
            check()
        except BaseException:
            failures[name] = traceback.format_exc()
    print(json.dumps(failures))


main(sys.argv[1:])

"""The contents pages: every name resolves, every function has an example that runs and uses it."""

import doctest

import covector
import covector.numpy as jnp
import numpy as np
import pytest
from covector import image, nn

OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
FUNCTIONS = [f"nn.{name}" for name in nn.__all__ if name not in ("initializers", "logsumexp")]
FUNCTIONS += [f"nn.initializers.{name}" for name in nn.initializers.__all__]
FUNCTIONS += ["image.resize", "image.scale_and_translate", "image.ResizeMethod"]
SECOND_NAMES = ("kaiming", "xavier", "swish", "hard_swish", "Initializer")


@pytest.mark.parametrize("path", FUNCTIONS)
def test_example_runs(path):
    value = covector
    for part in path.split("."):
        value = getattr(value, part)
    names = {"covector": covector, "nn": nn, "jnp": jnp, "np": np, "image": image}
    test = doctest.DocTestParser().get_doctest(value.__doc__, names, path, None, 0)
    text: list[str] = []
    outcome = doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=text.append)
    assert outcome.attempted and not outcome.failed, "".join(text)
    name = path.split(".")[-1]
    assert name.startswith(SECOND_NAMES) or any(name in e.source for e in test.examples)


@pytest.mark.parametrize("module", [nn, nn.initializers])
def test_unknown_names(module):
    with pytest.raises(AttributeError, match=f"module '{module.__name__}' has no .* 'nothing'"):
        _ = module.nothing

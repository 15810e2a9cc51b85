"""The exception classes: their builtin bases, their documentation, and the messages built here."""

import builtins
import subprocess
import sys

import pytest
from covector import errors
from covector.dtypes import TypePromotionError

CLASSES = [getattr(errors, name) for name in errors.__all__ if name != "JaxRuntimeError"]
BUILTINS = {name for name in dir(builtins) if isinstance(getattr(builtins, name), type)}


def builtin_bases(cls):
    return {base.__name__ for base in cls.__mro__ if base.__module__ == "builtins"}


@pytest.mark.parametrize("name", [n for n in errors.__all__ if n not in ("CovectorError",)])
def test_bases_are_those_of_jax(oracle, name):
    """An `except` clause that catches JAX's class catches ours, by the same names."""
    home = "jax.dtypes" if name == "TypePromotionError" else "jax.errors"
    if name == "ShapeError":
        assert {"TypeError", "ValueError"} <= builtin_bases(errors.ShapeError)
        return
    expected = oracle.value(f"[c.__name__ for c in {home}.{name}.__mro__]")
    public = {n for n in expected if not n.startswith("_")}
    assert public <= {c.__name__ for c in getattr(errors, name).__mro__}


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_class_is_documented_and_plain(cls):
    assert issubclass(cls, errors.CovectorError)
    assert cls.__module__ == "covector.errors"
    assert str(cls("a message")) == "a message"
    assert len(cls.__doc__) > 80
    if not cls.__subclasses__() and cls is not errors.JaxprTypeError:
        assert "Wrong" in cls.__doc__ and "Right" in cls.__doc__


def test_all_public_names_of_jax_exist(oracle):
    names = oracle.value("[n for n in dir(jax.errors) if not n.startswith('_')]")
    assert set(names) <= set(dir(errors))


def test_the_runtime_error_is_jaxlibs_own_and_loaded_late():
    from jaxlib._jax import JaxRuntimeError

    assert errors.JaxRuntimeError is JaxRuntimeError
    with pytest.raises(AttributeError, match="NoSuchError"):
        errors.NoSuchError
    program = (
        "import sys, covector.errors; assert not any('jaxlib' in name for name in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_dtypes_has_the_same_promotion_error():
    assert TypePromotionError is errors.TypePromotionError


def test_near_names():
    assert errors.did_you_mean("sinn", ["sin", "cos", "sinh"]) == " Did you mean sin or sinh?"
    assert errors.did_you_mean("xyz", ["sin", "cos"]) == ""

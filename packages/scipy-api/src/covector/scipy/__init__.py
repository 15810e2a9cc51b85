"""SciPy's API, differentiable and compiled: the contents page of `covector.scipy`.

A part is imported when it is first used:

    import covector.scipy as jsp

    jsp.special.erf(0.5)
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from covector.scipy import special as special
    from covector.scipy import stats as stats

__version__ = "0.1.0"

_PARTS = ("special", "stats")


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in _PARTS:
        raise AttributeError(f"module 'covector.scipy' has no attribute {name!r}")
    return import_module(f"covector.scipy.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_PARTS})

"""SciPy's probability distributions, differentiable and compiled: the contents page."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from covector.scipy.stats import norm as norm

_PARTS = ("norm",)


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in _PARTS:
        raise AttributeError(f"module 'covector.scipy.stats' has no attribute {name!r}")
    return import_module(f"covector.scipy.stats.{name}")


def __dir__() -> list[str]:
    return sorted(_PARTS)

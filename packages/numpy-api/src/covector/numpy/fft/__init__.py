"""Discrete Fourier transforms: the contents page of `covector.numpy.fft`.

import covector.numpy as jnp

jnp.fft.rfft(signal)
"""

from typing import Any

_CONTENTS: dict[str, str] = {
    # module: public names
    "_transforms": "fft fft2 fftn hfft ifft ifft2 ifftn ihfft irfft irfft2 irfftn rfft rfft2 rfftn",
    "_frequencies": "fftfreq fftshift ifftshift rfftfreq",
}

_MODULE_OF = {name: module for module, names in _CONTENTS.items() for name in names.split()}
__all__ = sorted(_MODULE_OF)  # noqa: PLE0605  names that `__getattr__` finds


def __getattr__(name: str) -> Any:
    from importlib import import_module

    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'covector.numpy.fft' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"covector.numpy.fft.{module}"), name)
    return value


def __dir__() -> list[str]:
    return list(__all__)

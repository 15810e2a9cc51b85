"""Arrays from files, buffers, text and functions, and to files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from covector import dlpack
from covector._api.vmap import vmap
from covector.numpy._creation import arange, asarray
from covector.numpy._operands import canonical_shape, requested_dtype


def load(file: Any, *args: Any, **kwargs: Any) -> Any:
    """An array from a file of `save`; of a file of `savez`, a mapping of arrays.

    >>> import io
    >>> file = io.BytesIO()
    >>> jnp.save(file, jnp.arange(3))
    >>> _ = file.seek(0)
    >>> print(jnp.load(file))
    [0 1 2]
    """
    found = np.load(file, *args, **kwargs)
    return asarray(found) if isinstance(found, np.ndarray) else found


def save(file: Any, arr: Any, allow_pickle: bool = True) -> None:
    """Write an array to a file in NumPy's format.

    >>> import io
    >>> jnp.save(io.BytesIO(), jnp.arange(3))
    """
    np.save(file, np.asarray(arr), allow_pickle=allow_pickle)


def savez(file: Any, *args: Any, allow_pickle: bool = True, **kwds: Any) -> None:
    """Write several arrays to a file in NumPy's format.

    >>> import io
    >>> jnp.savez(io.BytesIO(), x=jnp.arange(3))
    """
    arrays = {name: np.asarray(x) for name, x in kwds.items()}
    np.savez(file, *map(np.asarray, args), allow_pickle=allow_pickle, **arrays)


def frombuffer(buffer: Any, dtype: Any = float, count: int = -1, offset: int = 0) -> Any:
    """The bytes of a buffer as an array; they are copied.

    >>> print(jnp.frombuffer(b"ab", dtype=jnp.uint8))
    [97 98]
    """
    return asarray(np.frombuffer(buffer, np.dtype(dtype), count, offset))


def fromfile(*args: Any, **kwargs: Any) -> Any:
    """Not offered: a file's contents are no pure function of arguments. Use `numpy.fromfile`.

    >>> jnp.fromfile("data")
    Traceback (most recent call last):
    NotImplementedError: jnp.fromfile ...
    """
    raise NotImplementedError("jnp.fromfile is not offered: use jnp.asarray(np.fromfile(...)).")


def fromiter(*args: Any, **kwargs: Any) -> Any:
    """Not offered: an iterator can be read only once. Use `numpy.fromiter`.

    >>> jnp.fromiter(iter([1]), int)
    Traceback (most recent call last):
    NotImplementedError: jnp.fromiter ...
    """
    raise NotImplementedError("jnp.fromiter is not offered: use jnp.asarray(np.fromiter(...)).")


def fromstring(string: str, dtype: Any = float, count: int = -1, *, sep: str) -> Any:
    """Numbers in text, separated by ``sep``.

    >>> print(jnp.fromstring("1 2 3", dtype=int, sep=" "))
    [1 2 3]
    """
    return asarray(np.fromstring(string, np.dtype(dtype), count, sep=sep))


def fromfunction(
    function: Callable[..., Any], shape: Any, *, dtype: Any = float, **kwargs: Any
) -> Any:
    """An array whose elements are a function of their indices; it is called once, vectorized.

    >>> print(jnp.fromfunction(lambda i, j: 10 * i + j, (2, 3), dtype=int))
    [[ 0  1  2]
     [10 11 12]]
    """
    sizes = canonical_shape("fromfunction", shape)
    dtype = requested_dtype(dtype, "fromfunction")
    for i in range(len(sizes)):
        in_axes = tuple([0 if len(sizes) - 1 - i == j else None for j in range(len(sizes))])
        function = vmap(_with_options(function, kwargs), in_axes=in_axes)
        kwargs = {}
    return function(*[arange(n, dtype=dtype) for n in sizes], **kwargs)


def _with_options(function: Callable[..., Any], kwargs: dict[str, Any]) -> Callable[..., Any]:
    return (lambda *args: function(*args, **kwargs)) if kwargs else function


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """An array of another library through DLPack, in its memory. See `covector.dlpack.from_dlpack`.

    >>> print(jnp.from_dlpack(np.arange(3.0, dtype=np.float32)))
    [0. 1. 2.]
    """
    return dlpack.from_dlpack(x, device=device, copy=copy)

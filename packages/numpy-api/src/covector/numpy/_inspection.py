"""Questions about values, and how arrays are printed."""

from __future__ import annotations

from typing import Any

import numpy as np
from covector._ir import dtypes
from covector._trace.trace import is_arraylike, typeof
from covector.numpy._creation import asarray
from covector.numpy._operands import check_arraylike


def iscomplexobj(x: Any) -> bool:
    """Whether the dtype is complex.

    >>> jnp.iscomplexobj(jnp.array([1j]))
    True
    """
    return _is_complex(x)


def isrealobj(x: Any) -> bool:
    """Whether the dtype is not complex.

    >>> jnp.isrealobj(jnp.array([1.0]))
    True
    """
    return not _is_complex(x)


def _is_complex(x: Any) -> bool:
    if x is None:
        return False
    return dtypes.is_complex(typeof(x).dtype if is_arraylike(x) else np.asarray(x).dtype)


def isscalar(element: Any) -> bool:
    """Whether it is a number, or an array without axes.

    >>> jnp.isscalar(3.0), jnp.isscalar(jnp.ones(1))
    (True, False)
    """
    return np.isscalar(element) or (is_arraylike(element) and typeof(element).ndim == 0)


def iterable(y: Any) -> bool:
    """Whether it can be iterated over: an array without axes cannot.

    >>> jnp.iterable(jnp.ones(2)), jnp.iterable(1.0)
    (True, False)
    """
    try:
        iter(y)
    except TypeError:
        return False
    return True


def array_repr(
    arr: Any,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """The text of an array, as `repr` gives it, with other options of printing.

    >>> jnp.array_repr(jnp.array([0.123456, 2.0]), precision=2)
    'Array([0.12, 2.  ], dtype=float32)'
    """
    check_arraylike("array_repr", arr)
    given = {"linewidth": max_line_width, "precision": precision, "suppress": suppress_small}
    with np.printoptions(**{k: v for k, v in given.items() if v is not None}):
        return repr(asarray(arr))


def array_str(
    a: Any,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """The elements of an array as text.

    >>> jnp.array_str(jnp.array([1, 2]))
    '[1 2]'
    """
    check_arraylike("array_str", a)
    return np.array_str(np.asarray(a), max_line_width, precision, suppress_small)


def get_printoptions() -> dict[str, Any]:
    """How arrays are printed: NumPy's options, which hold for these arrays too.

    >>> jnp.get_printoptions()["threshold"]
    1000
    """
    return dict(np.get_printoptions())


def set_printoptions(*args: Any, **kwargs: Any) -> None:
    """Set how arrays are printed. See `numpy.set_printoptions`.

    >>> jnp.set_printoptions(precision=8)
    """
    np.set_printoptions(*args, **kwargs)


def printoptions(*args: Any, **kwargs: Any) -> Any:
    """A context manager that sets how arrays are printed.

    >>> with jnp.printoptions(precision=2):
    ...     print(jnp.array([0.123456]))
    [0.12]
    """
    return np.printoptions(*args, **kwargs)

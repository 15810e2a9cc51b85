"""`pcast`: a change of how a value is known to vary along a named axis."""

from __future__ import annotations

from typing import Any

from covector import tree
from covector._trace.trace import typeof
from covector.parallel._names import AxisName, bound_size, names_in

_KINDS = ("reduced", "unreduced", "varying")


def pcast(x: Any, axis_name: AxisName | None, *, to: str) -> Any:
    """``x``, as a value that may differ between the indices of a named axis (``to="varying"``).

    Under `vmap` and `pmap` every value may, so nothing changes; nor does it with ``to="reduced"``,
    which says that the value is a sum over the axis already.

    Raises:
      ValueError: ``to`` is "unreduced", which no value becomes by being called so, or something
        else, or no enclosing function brings the name into scope.

    >>> doubled = lambda x: lax.mul(lax.pcast(x, "i", to="varying"), 2)
    >>> covector.vmap(doubled, axis_name="i")(np.arange(2))
    Array([0, 2], dtype=int32)
    """
    if to not in _KINDS:
        raise ValueError(f"pcast: to must be one of {', '.join(_KINDS)}, got {to!r}.")
    names = () if axis_name is None else names_in(axis_name)
    if names and to == "unreduced":
        raise ValueError(
            "pcast: to='unreduced' is for values whose parts are still to be summed over the axis; "
            "a value cannot be made one. Use to='varying'."
        )
    for name in names:
        try:
            bound_size(name, "pcast")
        except NameError as error:
            raise ValueError(f"pcast: {error}") from None
    tree.map(typeof, x)
    return x

"""Functions of functions, all by `covector.vmap`: `vectorize`, `apply_along_axis`, ..."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

from covector._api.vmap import vmap
from covector._trace.trace import typeof
from covector.errors import ShapeError
from covector.numpy import _ufunc_methods
from covector.numpy._creation import asarray
from covector.numpy._manipulation import expand_dims, ndim, squeeze
from covector.numpy._operands import canonical_axis, check_arraylike, common_shape

Shape = tuple[int, ...]


def vectorize(
    pyfunc: Callable[..., Any],
    *,
    excluded: Collection[int | str] = frozenset(),
    signature: str | None = None,
) -> Callable[..., Any]:
    """A function of single elements (or vectors, ...) as one of arrays, which are broadcast.

    Args:
      excluded: positions and names of arguments that are passed as they are.
      signature: the axes that one call takes and gives, as ``"(n),(n)->()"``; by default none.

    >>> import functools
    >>> @functools.partial(jnp.vectorize, signature="(n),(n)->()")
    ... def distance(x, y):
    ...     return jnp.sqrt(jnp.sum((x - y) ** 2))
    >>> print(distance(jnp.zeros((4, 3)), jnp.ones(3)))
    [1.7320508 1.7320508 1.7320508 1.7320508]
    """
    if any(not isinstance(e, (int, str)) for e in excluded):
        raise TypeError(f"vectorize: excluded must hold positions and names, got {excluded!r}.")
    if any(isinstance(e, int) and e < 0 for e in excluded):
        raise ValueError(f"vectorize: excluded positions must be nonnegative, got {excluded!r}.")
    parsed = None if signature is None else _parse_signature(signature)

    @functools.wraps(pyfunc)
    def vectorized(*args: Any, **kwargs: Any) -> Any:
        fixed = {k: v for k, v in kwargs.items() if k in excluded}
        named = {k: v for k, v in kwargs.items() if k not in excluded}
        places = [i for i in range(len(args)) if i not in excluded and args[i] is not None]

        def function(*arrays: Any) -> Any:
            full = list(args)
            for place, x in zip(places, arrays):
                full[place] = x
            return pyfunc(*full, **fixed, **dict(zip(named, arrays[len(places) :])))

        arrays = [asarray(args[i]) for i in places] + [asarray(v) for v in named.values()]
        return _broadcast_call(function, arrays, parsed)

    return vectorized


def _parse_signature(text: str) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """The names of the core axes of each input and output."""
    core = r"\((?:\w+(?:,\w+)*)?\)"
    compact = text.replace(" ", "")
    if not re.fullmatch(rf"{core}(?:,{core})*->{core}(?:,{core})*", compact):
        raise ValueError(f"vectorize: {text!r} is no signature such as '(n,m),(m)->(n)'.")
    sides = [
        [tuple(n for n in part.split(",") if n) for part in re.findall(r"\((.*?)\)", side)]
        for side in compact.split("->")
    ]
    return sides[0], sides[1]


def _broadcast_call(function: Callable[..., Any], arrays: list[Any], parsed: Any) -> Any:
    inputs = parsed[0] if parsed else [()] * len(arrays)
    if len(inputs) != len(arrays):
        raise TypeError(
            f"vectorize: wrong number of positional arguments: the signature has {len(inputs)} "
            f"inputs, got {len(arrays)}."
        )
    sizes: dict[str, int] = {}
    shapes = [_loop_shape(x, names, sizes) for x, names in zip(arrays, inputs)]
    loop = common_shape("vectorize", *shapes)
    if parsed:
        function = _checked(function, parsed[1], sizes)
    operands, used = _squeezed(arrays, shapes, loop)
    # One vmap for each loop axis, the innermost for the last; unit axes are not mapped over.
    for i in reversed(range(len(loop))):
        axes = tuple([0 if u[i] else None for u in used])
        if any(a == 0 for a in axes):
            function = vmap(function, in_axes=axes)
    out = function(*operands)
    new = [i for i in range(len(loop)) if not any(u[i] for u in used)]
    return _map_outputs(lambda x: expand_dims(x, new) if new else x, out)


def _loop_shape(x: Any, names: tuple[str, ...], sizes: dict[str, int]) -> Shape:
    """The axes in front of the core axes, whose sizes are noted."""
    shape = typeof(x).shape
    if len(shape) < len(names):
        raise ValueError(
            f"vectorize: an argument of shape {shape} does not have the core dimensions {names}."
        )
    core = shape[len(shape) - len(names) :]
    for name, n in zip(names, core):
        known = int(name) if name.isdigit() else sizes.setdefault(name, n)
        if n != known:
            raise ShapeError(
                f"vectorize: inconsistent size for core dimension {name!r}: {n} vs {known}."
            )
    return shape[: len(shape) - len(names)]


def _squeezed(
    arrays: list[Any], shapes: list[Shape], loop: Shape
) -> tuple[list[Any], list[list[bool]]]:
    """The arrays without loop axes of size one, and for each the loop axes that it has."""
    operands, used = [], []
    for x, shape in zip(arrays, shapes):
        missing = len(loop) - len(shape)
        has = [i >= missing and shape[i - missing] != 1 for i in range(len(loop))]
        unit = [i for i in range(len(shape)) if not has[i + missing]]
        operands.append(squeeze(x, unit) if unit else x)
        used.append(has)
    return operands, used


def _map_outputs(function: Callable[[Any], Any], out: Any) -> Any:
    return tuple(map(function, out)) if isinstance(out, (tuple, list)) else function(out)


def _checked(
    function: Callable[..., Any], outputs: list[tuple[str, ...]], sizes: dict[str, int]
) -> Callable[..., Any]:
    """The function, with its results compared to the signature."""

    def checked(*args: Any) -> Any:
        out = function(*args)
        results = out if isinstance(out, (tuple, list)) else (out,)
        if len(results) != len(outputs):
            raise TypeError(
                f"vectorize: wrong number of outputs: the signature has {len(outputs)}, the "
                f"function gave {len(results)}."
            )
        for x, names in zip(results, outputs):
            shape = typeof(x).shape
            if len(shape) != len(names):
                raise ValueError(
                    f"vectorize: output shape {shape} does not match dimensions {names}."
                )
            for name, n in zip(names, shape):
                if n != sizes.setdefault(name, n):
                    raise ValueError(
                        f"vectorize: inconsistent size for core dimension {name!r}: {n} vs "
                        f"{sizes[name]}."
                    )
        return out

    return checked


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any
) -> Any:
    """A function of vectors applied to each vector along an axis; its axes take that one's place.

    >>> print(jnp.apply_along_axis(jnp.sum, 1, jnp.ones((2, 3))))
    [3. 3.]
    """
    check_arraylike("apply_along_axis", arr)
    arr = asarray(arr)
    rank = typeof(arr).ndim
    axis = canonical_axis(axis, rank)

    def function(vector: Any) -> Any:
        return func1d(vector, *args, **kwargs)

    for _ in range(axis + 1, rank):  # the axes behind: mapped over the last, given back there
        function = vmap(function, in_axes=-1, out_axes=-1)
    for _ in range(axis):
        function = vmap(function)
    return function(arr)


def apply_over_axes(func: Callable[[Any, int], Any], a: Any, axes: int | Sequence[int]) -> Any:
    """A function of an array and an axis applied for one axis after the other.

    Where it drops the axis, one of size one is put back.

    >>> print(jnp.apply_over_axes(jnp.sum, jnp.ones((2, 3)), (0, 1)))
    [[6.]]
    """
    check_arraylike("apply_over_axes", a)
    a = asarray(a)
    for axis in (axes,) if isinstance(axes, int) else axes:
        place = canonical_axis(axis, ndim(a))
        result = func(a, place)
        if ndim(result) == ndim(a) - 1:
            result = expand_dims(result, place)
        elif ndim(result) != ndim(a):
            raise ValueError(
                f"apply_over_axes: the function must keep the axis or drop it, but made shape "
                f"{typeof(result).shape} of {typeof(a).shape}."
            )
        a = result
    return a


def frompyfunc(func: Callable[..., Any], /, nin: int, nout: int, *, identity: Any = None) -> Any:
    """A function of scalars as one of arrays with the methods of a `ufunc`.

    >>> print(jnp.frompyfunc(lambda x, y: x * y + 1, 2, 1).outer(jnp.arange(2), jnp.arange(2)))
    [[1 1]
     [1 2]]
    """
    if nin < 1 or nout < 1:
        raise ValueError(f"frompyfunc: nin and nout must be positive, got {nin} and {nout}.")
    return _PythonUfunc(func, nin, nout, identity)


class _PythonUfunc:
    """A ufunc made of a Python function."""

    _jit = None  # what instances of `ufunc` are told by
    __name__: str

    def __init__(self, func: Callable[..., Any], nin: int, nout: int, identity: Any):
        functools.update_wrapper(self, func)
        self.nin, self.nout, self.nargs, self.identity = nin, nout, nin + nout, identity
        self._vectorized = vectorize(func)

    def __call__(self, *args: Any) -> Any:
        if len(args) != self.nin:
            raise TypeError(f"{self.__name__}() takes {self.nin} arguments, got {len(args)}.")
        check_arraylike(self.__name__, *args)
        return self._vectorized(*args)

    def __repr__(self) -> str:
        return f"<ufunc {self.__name__!r}>"

    reduce = _ufunc_methods.reduce
    accumulate = _ufunc_methods.accumulate
    outer = _ufunc_methods.outer
    at = _ufunc_methods.at
    reduceat = _ufunc_methods.reduceat

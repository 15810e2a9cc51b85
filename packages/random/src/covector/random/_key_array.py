"""Typed keys: `PRNGKeyArray`, an array whose elements are keys of one implementation.

It wraps a plain `uint32` array with further axes at the end, one key's words. For the user it is a
leaf of every tree; compiled calls and transformations take it apart into that array and put it
together again (`register_dispatch_node`), so no program and no rule ever meets one. Its axes are
the leading axes of the plain array: that is all that indexing, reshaping and mapping have to know.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from operator import index as as_index
from typing import Any

import jaxlib._jax as _jaxlib
import numpy as np
from covector import lax
from covector._api.device import device_put
from covector._api.vmap import vmap
from covector._config import debug_key_reuse
from covector._ir.avals import ShapedArray
from covector._ir.dtypes import float0
from covector._run.array import Array, Shard
from covector._trace.trace import typeof
from covector._tree.registry import register_dispatch_node
from covector.errors import ShapeError
from covector.random._implementation import KeyDType, KeyImplementation, Shape

ArrayImpl = _jaxlib.ArrayImpl


class PRNGKeyArray(Array):
    """An array of keys. Made by `random.key`, `random.split`, ..., not by its constructor.

    >>> from covector import random
    >>> keys = random.split(random.key(0), 3)
    >>> keys.shape, keys.dtype
    ((3,), key<fry>)
    """

    __slots__ = ("__weakref__", "_base_array", "_impl")

    _base_array: Any
    _impl: KeyImplementation

    # No checks: transformations put objects of their own in the place of the array.
    def __init__(self, implementation: KeyImplementation, base_array: Any):
        self._impl = implementation
        self._base_array = base_array

    def _with(self, base_array: Any) -> PRNGKeyArray:
        return PRNGKeyArray(self._impl, base_array)

    # -- attributes -------------------------------------------------------------------------------

    @property
    def shape(self) -> Shape:
        """The array's shape, without the axes of the keys' words."""
        shape = self._base_array.shape
        return shape[: len(shape) - len(self._impl.key_shape)]

    @property
    def aval(self) -> ShapedArray:
        """The type, ``key<fry>[3]``: what `covector.typeof` gives."""
        return ShapedArray(self.shape, self._impl.dtype)

    weak_type = False

    @property
    def dtype(self) -> KeyDType:
        """``key<fry>`` for Threefry keys."""
        return self._impl.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of keys."""
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        """The bytes of one key."""
        return self._impl.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The bytes of all keys."""
        return self.size * self.itemsize

    @property
    def T(self) -> PRNGKeyArray:
        """The keys with their axes reversed."""
        return self.transpose()

    @property
    def addressable_shards(self) -> list[Shard]:
        """Each device's part of the array."""
        return [
            Shard(s.device, s.index[: self.ndim], self._with(s.data), s.replica_id)
            for s in self._base_array.addressable_shards
        ]

    global_shards = addressable_shards

    def addressable_data(self, index: int) -> PRNGKeyArray:
        """One device's part of the array."""
        return self._with(self._base_array.addressable_data(index))

    def block_until_ready(self) -> PRNGKeyArray:
        """Wait until the keys are computed."""
        self._base_array.block_until_ready()
        return self

    # -- shapes -----------------------------------------------------------------------------------

    def reshape(self, *shape: Any, order: str = "C") -> PRNGKeyArray:
        """The keys in another shape, of which one size may be -1."""
        if order != "C":
            raise NotImplementedError("reshape of a key array: order must be 'C'.")
        wanted = _sizes(shape)
        if wanted.count(-1) == 1:
            rest = -math.prod(wanted)
            if rest and self.size % rest == 0:
                wanted = tuple([self.size // rest if n == -1 else n for n in wanted])
        if any(n < 0 for n in wanted) or math.prod(wanted) != self.size:
            raise ShapeError(
                f"cannot reshape key array of shape {self.shape} (size {self.size}) into shape "
                f"{wanted}."
            )
        return self._with(lax.reshape(self._base_array, (*wanted, *self._impl.key_shape)))

    def ravel(self, order: str = "C") -> PRNGKeyArray:
        """The keys along one axis."""
        return self.reshape(-1, order=order)

    flatten = ravel

    def transpose(self, *axes: Any) -> PRNGKeyArray:
        """The keys with their axes in another order (reversed by default)."""
        ndim = self.ndim
        given = _sizes(axes) if axes and axes != (None,) else tuple(range(ndim))[::-1]
        order = [_axis(a, ndim) for a in given]
        words = range(ndim, self._base_array.ndim)
        return self._with(lax.transpose(self._base_array, (*order, *words)))

    def swapaxes(self, axis1: int, axis2: int) -> PRNGKeyArray:
        """The keys with two axes exchanged."""
        axes = list(range(self.ndim))
        first, second = _axis(axis1, self.ndim), _axis(axis2, self.ndim)
        axes[first], axes[second] = axes[second], axes[first]
        return self.transpose(axes)

    def squeeze(self, axis: Any = None) -> PRNGKeyArray:
        """The keys without axes of size one."""
        shape = self.shape
        if axis is None:
            axes = [i for i, n in enumerate(shape) if n == 1]
        else:
            axes = [_axis(a, len(shape)) for a in _sizes((axis,))]
        return self._with(lax.squeeze(self._base_array, axes))

    # -- elements ---------------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> PRNGKeyArray:
        items = self._base_index(index)
        part = self._base_array[items]
        if debug_key_reuse.value:
            from covector._transform.key_reuse import follow_index

            follow_index(self._base_array, items, part)
        return self._with(part)

    @property
    def at(self) -> KeyUpdate:
        """``keys.at[index].set(others)``: the keys with some of them replaced."""
        return KeyUpdate(self)

    def take(self, indices: Any, axis: int | None = None, **options: Any) -> PRNGKeyArray:
        """The keys at positions along an axis (of all keys in a row if that is None)."""
        if axis is None:
            return self.ravel().take(indices, 0, **options)
        before = (slice(None),) * _axis(axis, self.ndim)
        return self.at[(*before, indices)].get(**options)

    def astype(self, dtype: Any) -> PRNGKeyArray:
        """The same keys: there is no other dtype that they convert to."""
        if dtype is not self.dtype:
            raise TypeError(
                f"A key array of dtype {self.dtype} cannot be converted to {dtype}. Use "
                "covector.random.key_data(keys) to get at the underlying integers."
            )
        return self

    def _base_index(self, index: Any) -> tuple:
        """An index of the keys as one of the plain array."""
        if type(index) is list:
            return self._base_array[index]  # an error, as for all arrays
        items = index if type(index) is tuple else (index,)
        taken = sum([_axes_taken(item) for item in items])
        if taken > self.ndim:
            raise IndexError(
                f"Too many indices: key array is {self.ndim}-dimensional, but {taken} were indexed."
            )
        if any(item is Ellipsis for item in items):
            items = (*items, *(slice(None),) * len(self._impl.key_shape))
        return items

    def __iter__(self) -> Iterator[PRNGKeyArray]:
        if not self.ndim:
            raise TypeError("iteration over a 0-d key array")
        return iter([self._with(x) for x in lax.unstack(self._base_array)])

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __eq__(self, other: object) -> Any:
        return self._compare(other, "==")

    def __ne__(self, other: object) -> Any:
        equal = self._compare(other, "!=")
        return equal if equal is NotImplemented else lax.bitwise_not(equal)

    __hash__ = None  # type: ignore[assignment]

    def _compare(self, other: Any, operator: str) -> Any:
        """Which keys are equal, word by word."""
        if not isinstance(other, PRNGKeyArray):
            if not hasattr(other, "dtype") and not isinstance(other, (bool, int, float, complex)):
                return NotImplemented
            kind = getattr(other, "dtype", type(other).__name__)
        elif other._impl is self._impl:
            return _equal_keys(self._base_array, other._base_array, len(self._impl.key_shape))
        else:
            kind = other.dtype
        raise TypeError(
            f"{operator} does not accept dtypes {self.dtype}, {kind}: keys compare with keys of "
            "the same implementation. Compare their data with covector.random.key_data."
        )

    def __pos__(self) -> PRNGKeyArray:
        return self

    # -- conversions that keys do not have --------------------------------------------------------

    def __bool__(self) -> bool:
        raise TypeError("A key array cannot be converted to boolean.")

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        raise TypeError(
            f"An array of dtype {self.dtype} cannot be converted to a NumPy array. Use "
            "covector.random.key_data(keys) to get at the underlying integers."
        )

    def copy(self) -> PRNGKeyArray:
        """The same keys."""
        return self._with(self._base_array)

    def __copy__(self) -> PRNGKeyArray:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> PRNGKeyArray:
        return self.copy()

    def __reduce__(self) -> tuple:
        return _rebuild, (self._impl, np.asarray(self._base_array))

    def __repr__(self) -> str:
        base = self._base_array
        if not hasattr(base, "shape"):  # what a transformation put there
            return f"keys of dtype {self.dtype}"
        if isinstance(base, (ArrayImpl, np.ndarray)):
            deleted = isinstance(base, ArrayImpl) and base.is_deleted()
            shown = "(deleted)" if deleted else str(base)
        else:
            shown = repr(base)
        return f"Array({self.shape}, dtype={self.dtype}) overlaying:\n{shown}"

    __str__ = __repr__


class KeyUpdate:
    """``keys.at``: index it to say where."""

    __slots__ = ("keys",)

    def __init__(self, keys: PRNGKeyArray):
        self.keys = keys

    def __getitem__(self, index: Any) -> KeyUpdateRef:
        return KeyUpdateRef(self.keys, index)


class KeyUpdateRef:
    """``keys.at[index]``: of the methods that arrays have here, `get`, `set` and `apply`."""

    __slots__ = ("keys", "place")

    def __init__(self, keys: PRNGKeyArray, index: Any):
        self.keys = keys
        self.place = keys._base_array.at[keys._base_index(index)]

    def get(self, **options: Any) -> PRNGKeyArray:
        """``keys[index]``, with the options of indexing."""
        return self.keys._with(self.place.get(**options))

    def set(self, values: Any, **options: Any) -> PRNGKeyArray:
        """The keys with those at the index replaced.

        Raises:
          TypeError: ``values`` are no keys of the same implementation.
        """
        if type(values) is not PRNGKeyArray or values._impl is not self.keys._impl:
            raise TypeError(
                f"keys.at[...].set: values must be keys of dtype {self.keys.dtype}, but got "
                f"{typeof(values).str_short()}."
            )
        return self.keys._with(self.place.set(values._base_array, **options))

    def apply(self, func: Callable[[Any], Any], **options: Any) -> PRNGKeyArray:
        """The keys with those at the index replaced by what ``func`` makes of each."""
        keys = self.get()
        made = vmap(func)(keys.ravel()).reshape(keys.shape) if keys.ndim else func(keys)
        return self.set(made, **options)


def _refused(name: str) -> Callable[..., Any]:
    def update(self: KeyUpdateRef, *values: Any, **options: Any) -> Any:
        raise TypeError(
            f"keys.at[...].{name}: keys of dtype {self.keys.dtype} take no part in arithmetic. Use "
            "set, get or apply."
        )

    return update


for _name in ("add", "subtract", "mul", "multiply", "divide", "power", "min", "max"):
    setattr(KeyUpdateRef, _name, _refused(_name))


def _equal_keys(first: Any, second: Any, num_word_axes: int) -> Any:
    shape = lax.broadcast_shapes(first.shape, second.shape)
    rank = len(shape)
    equal = lax.eq(
        *[lax.broadcast_in_dim(x, shape, range(rank - x.ndim, rank)) for x in (first, second)]
    )
    return lax.reduce_and(equal, tuple(range(rank - num_word_axes, rank)))


def _sizes(values: tuple) -> tuple[int, ...]:
    """The integers of ``f(2, 3)`` or ``f((2, 3))``."""
    if len(values) == 1 and isinstance(values[0], Iterable):
        values = tuple(values[0])
    return tuple([as_index(n) for n in values])


def _axis(axis: Any, ndim: int) -> int:
    if not -ndim <= as_index(axis) < ndim:
        raise ValueError(f"axis {axis} is out of bounds for key array of dimension {ndim}")
    return as_index(axis) % ndim


def _axes_taken(item: Any) -> int:
    """How many axes an item of an index refers to."""
    if item is None or item is Ellipsis:
        return 0
    if isinstance(item, (bool, np.bool)) or getattr(item, "dtype", None) == np.bool:
        return getattr(item, "ndim", 0)
    return 1


def _delegated(name: str) -> property:
    return property(lambda keys: getattr(keys._base_array, name))


# What the plain array knows: where the keys are, and whether they still are.
for _name in (
    "committed",
    "copy_to_host_async",
    "delete",
    "device",
    "devices",
    "is_deleted",
    "is_fully_addressable",
    "is_fully_replicated",
    "on_device_size_in_bytes",
    "sharding",
    "unsafe_buffer_pointer",
):
    setattr(PRNGKeyArray, _name, _delegated(_name))


def _rebuild(implementation: KeyImplementation, data: np.ndarray) -> PRNGKeyArray:
    return PRNGKeyArray(implementation, device_put(data))


def _unflatten(implementation: KeyImplementation, children: Any) -> Any:
    [base] = children
    if type(base) is np.ndarray and base.dtype == float0:  # the tangent of keys is no key
        return np.zeros(base.shape[: base.ndim - len(implementation.key_shape)], float0)
    return PRNGKeyArray(implementation, base)


register_dispatch_node(
    PRNGKeyArray,
    lambda keys: ((keys._base_array,), keys._impl),
    _unflatten,
    hidden_axes=lambda implementation: len(implementation.key_shape),
)

"""Key implementations: the families of pseudo-random functions that a key can belong to.

An implementation is four functions on the plain `uint32` arrays that keys are made of, each for
one key of shape `key_shape`. Everything else (typed keys, distributions) is the same for all of
them; batches of keys come by `vmap`, since the functions are made of primitives.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from covector._config import default_prng_impl
from covector._ir.avals import ShapedArray
from covector._ir.dtypes import ExtendedDType, prng_key
from covector.errors import did_you_mean

Shape = tuple[int, ...]


class KeyImplementation:
    """One way to make random bits from keys. Compared by identity, so it can be static.

    Args:
      name: what `random.key(seed, impl=name)` calls it.
      tag: the short form in a key's dtype, ``key<tag>``.
      key_shape: the shape of one key's `uint32` words.
      seed: ``(integer scalar) -> key``.
      split: ``(key, shape) -> keys`` of shape ``(*shape, *key_shape)``.
      fold_in: ``(key, uint32 scalar) -> key``.
      random_bits: ``(key, width, shape) -> array`` of unsigned integers of 8 to 64 bits.
      work_shape: ``shape -> shape``, see `_layout.py`: of at least as many elements, whose first
        ones in memory are the bits for ``shape``.
    """

    __slots__ = (
        "dtype",
        "fold_in",
        "key_aval",
        "key_shape",
        "name",
        "random_bits",
        "seed",
        "split",
        "tag",
        "work_shape",
    )

    def __init__(
        self,
        name: str,
        tag: str,
        key_shape: Shape,
        *,
        seed: Callable[[Any], Any],
        split: Callable[[Any, Shape], Any],
        fold_in: Callable[[Any, Any], Any],
        random_bits: Callable[[Any, int, Shape], Any],
        work_shape: Callable[[Shape], Shape] = lambda shape: shape,
    ):
        self.name = name
        self.tag = tag
        self.key_shape = key_shape
        self.seed = seed
        self.split = split
        self.fold_in = fold_in
        self.random_bits = random_bits
        self.work_shape = work_shape
        self.key_aval = ShapedArray(key_shape, np.uint32)
        self.dtype = KeyDType(self)

    def __repr__(self) -> str:
        return f"KeyImplementation({self.name!r})"

    def __reduce__(self) -> tuple:
        return find, (self.name,)


class KeyDType(ExtendedDType):
    """The dtype of typed keys: ``key<fry>`` for Threefry. There is one for each implementation."""

    type = prng_key
    base_dtype = np.dtype(np.uint32)

    def __init__(self, implementation: KeyImplementation):
        self._impl = implementation
        self.name = f"key<{implementation.tag}>"
        self.itemsize = 4 * math.prod(implementation.key_shape)
        self.element_shape = implementation.key_shape

    def wrap(self, base_array: Any) -> Any:
        """The key array of these words."""
        from covector.random._key_array import PRNGKeyArray

        return PRNGKeyArray(self._impl, base_array)

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple:
        return _dtype_of, (self._impl,)


def _dtype_of(implementation: KeyImplementation) -> KeyDType:
    return implementation.dtype


_implementations: dict[str, KeyImplementation] = {}

# Where an implementation that is seldom used registers itself, when it is first asked for.
_MODULES = {
    "rbg": "_rbg",
    "unsafe_rbg": "_rbg",
    "threefry4x32": "_counter_based",
    "philox2x32": "_counter_based",
    "philox4x32": "_counter_based",
}


def register(implementation: KeyImplementation) -> KeyImplementation:
    """Make an implementation known by its name.

    Raises:
      ValueError: another one has the name.
    """
    known = _implementations.setdefault(implementation.name, implementation)
    if known is not implementation:
        raise ValueError(f"A key implementation named {implementation.name!r} exists already.")
    return implementation


def find(name: str) -> KeyImplementation:
    """The implementation of a name.

    Raises:
      ValueError: there is none.
    """
    if name in _MODULES:
        importlib.import_module(f"covector.random.{_MODULES[name]}")
    implementation = _implementations.get(name)
    if implementation is None:
        known = sorted({*_implementations, *_MODULES})
        raise ValueError(
            f"unrecognized PRNG implementation {name!r}; known are {', '.join(known)}."
            + did_you_mean(name, known)
        )
    return implementation


def define_prng_impl(
    *,
    key_shape: Shape,
    seed: Callable[[Any], Any],
    split: Callable[[Any, Shape], Any],
    random_bits: Callable[[Any, int, Shape], Any],
    fold_in: Callable[[Any, Any], Any],
    name: str = "<unnamed>",
    tag: str = "?",
) -> KeyImplementation:
    """A key implementation of the user's own, for the ``impl=`` of `key`, `wrap_key_data`, ...

    Its functions are traced, work on the `uint32` words of one key, and must be pure. They are
    mapped (`vmap`) for arrays of keys.

    Args:
      key_shape: the shape of one key's `uint32` words.
      seed: ``(integer scalar) -> key``.
      split: ``(key, shape) -> keys`` of shape ``(*shape, *key_shape)``.
      random_bits: ``(key, width, shape) -> array`` of unsigned integers of 8, 16, 32 or 64 bits.
      fold_in: ``(key, uint32 scalar) -> key``.
      name, tag: how it prints, in full and in a key's dtype.

    >>> from covector import lax, random
    >>> constant = random.define_prng_impl(
    ...     key_shape=(1,),
    ...     seed=lambda number: lax.full((1,), number, "uint32"),
    ...     split=lambda key, shape: lax.broadcast(key, shape),
    ...     random_bits=lambda key, width, shape: lax.full(shape, key[0], f"uint{width}"),
    ...     fold_in=lambda key, data: key + data,
    ...     tag="constant",
    ... )
    >>> random.bits(random.key(5, impl=constant), (3,))
    Array([5, 5, 5], dtype=uint32)
    """
    return KeyImplementation(
        name,
        tag,
        tuple(key_shape),
        seed=seed,
        split=split,
        fold_in=fold_in,
        random_bits=random_bits,
    )


def is_registered(implementation: KeyImplementation) -> bool:
    """Whether the implementation is known by its name."""
    return _implementations.get(implementation.name) is implementation


def resolve(spec: Any) -> KeyImplementation:
    """The implementation that an ``impl=`` argument names (None: the flag `default_prng_impl`)."""
    if spec is None:
        spec = default_prng_impl.value
    if isinstance(spec, str):
        return find(spec)
    if isinstance(spec, KeyImplementation):
        return spec
    if isinstance(spec, KeyDType):
        return spec._impl
    raise TypeError(
        f"unrecognized type {type(spec)} for a PRNG implementation: expected a name such as "
        "'threefry2x32', what define_prng_impl gives, or a key dtype such as key_dtype()."
    )

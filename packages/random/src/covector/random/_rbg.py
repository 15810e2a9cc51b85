"""Keys whose bits XLA's own generator draws: `rbg` and `unsafe_rbg`.

A key is two keys of Threefry. Bits come from `lax.rng_bit_generator`: fast on TPU, but other ones
on other back ends, and mapped over keys (`vmap`) all are drawn from the first key. `rbg` makes new
keys as Threefry does; `unsafe_rbg` makes them with the generator too, of which nothing is proven.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from covector import lax
from covector._api.vmap import vmap
from covector.random import _threefry
from covector.random._implementation import KeyImplementation, Shape, register

_SPACING = 10  # of the rows that become keys, among those drawn


def seed(number: Any) -> Any:
    """The key that holds an integer twice."""
    half = _threefry.seed(number)
    return lax.concatenate([half, half], 0)


def _halves(key: Any) -> Any:
    return lax.reshape(key, (2, 2))


def split(key: Any, shape: Shape) -> Any:
    """New keys: each half is split as a key of Threefry."""
    rank = len(shape)
    new = vmap(lambda half: _threefry.split(half, shape), out_axes=rank)(_halves(key))
    return lax.reshape(new, (*shape, 4))


def fold_in(key: Any, data: Any) -> Any:
    """The key whose halves are those of Threefry."""
    return lax.reshape(vmap(lambda half: _threefry.fold_in(half, data))(_halves(key)), (4,))


def random_bits(key: Any, width: int, shape: Shape) -> Any:
    """Random unsigned integers of ``width`` bits: 8, 16, 32 or 64."""
    return lax.rng_bit_generator_p.bind(
        key,
        shape=shape,
        dtype=np.dtype(f"uint{width}"),
        algorithm=lax.RandomAlgorithm.RNG_DEFAULT,
    )[1]


def unsafe_split(key: Any, shape: Shape) -> Any:
    """New keys: every tenth of the rows of bits that the generator draws."""
    rows = _SPACING * math.prod(shape)
    drawn = random_bits(key, 32, (rows, 4))
    return lax.reshape(lax.slice(drawn, (0, 0), (rows, 4), (_SPACING, 1)), (*shape, 4))


def unsafe_fold_in(key: Any, data: Any) -> Any:
    """The key changed by the tenth row of bits that the generator draws for ``data``."""
    drawn = random_bits(seed(data), 32, (_SPACING, 4))
    return lax.bitwise_xor(key, lax.index_in_dim(drawn, _SPACING - 1, keepdims=False))


RBG = register(
    KeyImplementation(
        "rbg", "rbg", (4,), seed=seed, split=split, fold_in=fold_in, random_bits=random_bits
    )
)
UNSAFE_RBG = register(
    KeyImplementation(
        "unsafe_rbg",
        "urbg",
        (4,),
        seed=seed,
        split=unsafe_split,
        fold_in=unsafe_fold_in,
        random_bits=random_bits,
    )
)

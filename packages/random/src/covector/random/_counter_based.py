"""Further counter-based keys: `threefry4x32`, `philox2x32` and `philox4x32`.

From J. Salmon, M. Moraes, R. Dror and D. Shaw, "Parallel random numbers: as easy as 1, 2, 3"
(SC 2011), with the constants and numbers of rounds given there. Each function encrypts a counter of
two or four words under a key: element i of an array has the counter i. Numbers come from counters
whose first words are used, new keys from those whose last words are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from covector import lax
from covector.random import _threefry
from covector.random._implementation import KeyImplementation, Shape, register
from covector.random._layout import flat_work_shape

_ZERO = np.uint32(0)

# --- the functions --------------------------------------------------------------------------------

_ROTATIONS = ((10, 26), (11, 21), (13, 27), (23, 5), (6, 20), (17, 11), (25, 10), (18, 20))
_PARITY = np.uint32(0x1BD11BDA)


def threefry4x32(key: Sequence[Any], counter: Sequence[Any]) -> list[Any]:
    """Four random words for each counter of four words, by 20 rounds."""
    parity = _PARITY
    for word in key:
        parity = lax.bitwise_xor(parity, word)
    schedule = [*key, parity]
    x = [lax.add(c, k) for c, k in zip(counter, key, strict=True)]
    for number in range(20):
        first, second = (1, 3) if number % 2 == 0 else (3, 1)
        distances = _ROTATIONS[number % 8]
        x[0], x[first] = _mix(x[0], x[first], distances[0])
        x[2], x[second] = _mix(x[2], x[second], distances[1])
        if number % 4 == 3:
            group = number // 4 + 1
            x = [lax.add(x[i], schedule[(group + i) % 5]) for i in range(4)]
            x[3] = lax.add(x[3], np.uint32(group))
    return x


def _mix(x: Any, y: Any, distance: int) -> tuple[Any, Any]:
    x = lax.add(x, y)
    left = lax.shift_left(y, np.uint32(distance))
    right = lax.shift_right_logical(y, np.uint32(32 - distance))
    return x, lax.bitwise_xor(lax.bitwise_or(left, right), x)


_PHILOX_ROUNDS = 10
_MULTIPLIER_2 = np.uint32(0xD256D193)
_MULTIPLIERS_4 = (np.uint32(0xD2511F53), np.uint32(0xCD9E8D57))
_WEYL = (np.uint32(0x9E3779B9), np.uint32(0xBB67AE85))  # what keys grow by, from round to round


def philox2x32(key: Sequence[Any], counter: Sequence[Any]) -> list[Any]:
    """Two random words for each counter of two words, by 10 rounds."""
    [k], [x, y] = key, counter
    for _ in range(_PHILOX_ROUNDS):
        high, low = _multiply(_MULTIPLIER_2, x)
        x, y = lax.bitwise_xor(lax.bitwise_xor(high, y), k), low
        k = lax.add(k, _WEYL[0])
    return [x, y]


def philox4x32(key: Sequence[Any], counter: Sequence[Any]) -> list[Any]:
    """Four random words for each counter of four words, by 10 rounds."""
    x, keys = list(counter), list(key)
    for _ in range(_PHILOX_ROUNDS):
        (high_0, low_0), (high_1, low_1) = map(_multiply, _MULTIPLIERS_4, (x[0], x[2]))
        first = lax.bitwise_xor(lax.bitwise_xor(high_1, x[1]), keys[0])
        second = lax.bitwise_xor(lax.bitwise_xor(high_0, x[3]), keys[1])
        x = [first, low_1, second, low_0]
        keys = [lax.add(k, step) for k, step in zip(keys, _WEYL, strict=True)]
    return x


def _multiply(multiplier: Any, x: Any) -> tuple[Any, Any]:
    """The high and the low word of a product."""
    return lax.mulhi(multiplier, x), lax.mul(multiplier, x)


# --- the implementations --------------------------------------------------------------------------


class _Function(NamedTuple):
    """A counter-based function as four functions on one key (see `KeyImplementation`)."""

    encrypt: Callable[[Sequence[Any], Sequence[Any]], list[Any]]
    key_size: int
    counter_size: int
    threefry: bool = False

    def _pad(self, words: Sequence[Any], size: int, *, in_front: bool = False) -> list[Any]:
        zeros = [_ZERO] * (size - len(words))
        return [*zeros, *words] if in_front else [*words, *zeros]

    def _key(self, words: Sequence[Any]) -> Any:
        return lax.stack(words[: self.key_size], words[0].ndim)

    def seed(self, number: Any) -> Any:
        """The key that an integer gives: as a key to a zero counter, or as the counter."""
        words = lax.unstack(_threefry.seed(number))
        keyed, counted = (words, []) if self.threefry else ([], words)
        key = self._pad(keyed, self.key_size)
        return self._key(self.encrypt(key, self._pad(counted, self.counter_size)))

    def split(self, key: Any, shape: Shape) -> Any:
        """New keys: what the last words of the counter count."""
        counters = self._pad(_threefry._counters(shape), self.counter_size, in_front=True)
        return self._key(self._broadcast(self.encrypt(lax.unstack(key), counters), shape))

    def fold_in(self, key: Any, data: Any) -> Any:
        """The key at the counter ``data``."""
        counter = self._pad([data], self.counter_size, in_front=True)
        return self._key(self.encrypt(lax.unstack(key), counter))

    def random_bits(self, key: Any, width: int, shape: Shape) -> Any:
        """Random unsigned integers of ``width`` bits: 8, 16, 32 or 64."""
        counters = self._pad(_threefry._counters(shape), self.counter_size)
        words = self._broadcast(self.encrypt(lax.unstack(key), counters), shape)
        if width == 64 and self.threefry:
            words = [lax.bitwise_xor(x, y) for x, y in zip(words[:2], words[2:], strict=True)]
        if width == 64:
            return _threefry._join(*words[:2])
        bits = words[0]
        for word in words[1:]:
            bits = lax.bitwise_xor(bits, word)
        return _threefry._to(bits, np.dtype(f"uint{width}"))

    @staticmethod
    def _broadcast(words: Sequence[Any], shape: Shape) -> list[Any]:
        return [w if w.shape == shape else lax.broadcast_in_dim(w, shape, ()) for w in words]


_FUNCTIONS = {
    # name: (tag, function)
    "threefry4x32": ("fry4", _Function(threefry4x32, key_size=4, counter_size=4, threefry=True)),
    "philox2x32": ("phx2", _Function(philox2x32, key_size=1, counter_size=2)),
    "philox4x32": ("phx4", _Function(philox4x32, key_size=2, counter_size=4)),
}

for _name, (_tag, _function) in _FUNCTIONS.items():
    register(
        KeyImplementation(
            _name,
            _tag,
            (_function.key_size,),
            seed=_function.seed,
            split=_function.split,
            fold_in=_function.fold_in,
            random_bits=_function.random_bits,
            work_shape=flat_work_shape,
        )
    )

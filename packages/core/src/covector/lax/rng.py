"""XLA's own generators of random numbers: `rng_bit_generator` and `rng_uniform`.

Both depend on the back end and its version; `covector.random` has numbers that do not (only its
keys `rbg` and `unsafe_rbg` draw from here).
"""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from covector import lax
from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector._trace.primitive import Primitive, undefined
from covector._transform.batch import move_batch_axis
from covector.lax._axes import sizes_of
from covector.lax.filling import place

Shape = tuple[int, ...]

_UINT32 = np.dtype(np.uint32)
_KEY_AVALS = (ShapedArray((4,), np.uint32), ShapedArray((2,), np.uint64))

# --- bits -----------------------------------------------------------------------------------------


class RandomAlgorithm(enum.IntEnum):
    """How `rng_bit_generator` makes bits; the default is the back end's choice.

    >>> lax.RandomAlgorithm.RNG_PHILOX.name
    'RNG_PHILOX'
    """

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2


_MLIR_NAMES = {
    RandomAlgorithm.RNG_DEFAULT: "DEFAULT",
    RandomAlgorithm.RNG_THREE_FRY: "THREE_FRY",
    RandomAlgorithm.RNG_PHILOX: "PHILOX",
}


def rng_bit_generator(
    key: Any,
    shape: Any,
    dtype: Any = np.uint32,
    algorithm: RandomAlgorithm | int = RandomAlgorithm.RNG_DEFAULT,
    *,
    out_sharding: Any = None,
) -> tuple[Any, Any]:
    """Random bits from a state, by XLA's own generator: ``(new state, bits)``.

    Mapped over states (`vmap`), it draws the bits of the whole batch from the first one.

    Args:
      key: the state, a `uint32` array of shape ``(4,)`` (or `uint64` of shape ``(2,)``).
      shape: of the bits.
      dtype: `uint8`, `uint16`, `uint32` or `uint64`.
      algorithm: a `RandomAlgorithm`.

    Raises:
      TypeError: ``key`` or ``dtype`` is of another type.
      ValueError: ``algorithm`` is none.

    >>> state, bits = lax.rng_bit_generator(np.arange(4, dtype=np.uint32), (2,))
    >>> state
    Array([0, 1, 3, 3], dtype=uint32)
    """
    state, bits = rng_bit_generator_p.bind(
        key,
        shape=sizes_of("rng_bit_generator", "shape", shape),
        dtype=dtypes.check_user_dtype(dtype, "rng_bit_generator"),
        algorithm=RandomAlgorithm(algorithm),
    )
    return state, place(bits, out_sharding)


def _abstract_bits(
    key: ShapedArray, *, shape: Shape, dtype: np.dtype, algorithm: RandomAlgorithm
) -> list[ShapedArray]:
    if key not in _KEY_AVALS:
        raise TypeError(
            f"rng_bit_generator: key must be of type u32[4] or u64[2], got {key.str_short()}."
        )
    if not dtypes.is_unsigned(dtype) or dtypes.itemsize_bits(dtype) < 8:
        raise TypeError(
            f"rng_bit_generator: unsupported dtype {dtype}; expected uint8, uint16, uint32 or "
            "uint64."
        )
    return [key, ShapedArray(shape, dtype)]


def _lower_bits(
    ctx: Any,
    args: list[str],
    in_avals: list[ShapedArray],
    out_avals: list[ShapedArray],
    *,
    shape: Shape,
    dtype: np.dtype,
    algorithm: RandomAlgorithm,
) -> list[str]:
    key, drawn = out_avals
    pairs, state = ShapedArray((2, 2), np.uint32), _KEY_AVALS[1]
    split = key.dtype == _UINT32  # XLA's state is words of 64 bits
    name = args[0]
    if split:
        [name] = ctx.typed("reshape", [name], [key], [pairs])
        [name] = ctx.typed("bitcast_convert", [name], [pairs], [state])
    attribute = f"algorithm = {_MLIR_NAMES[algorithm]}"
    new, bits = ctx.typed("rng_bit_generator", [name], [state], [state, drawn], attribute)
    if split:
        [new] = ctx.typed("bitcast_convert", [new], [state], [pairs])
        [new] = ctx.typed("reshape", [new], [pairs], [key])
    return [new, bits]


def _batch_bits(
    axis: Any, args: list[Any], dims: Any, *, shape: Shape, **params: Any
) -> tuple[list[Any], list[int]]:
    """All bits come from the first state, which alone is replaced: XLA has no batches of states."""
    states = move_batch_axis(args[0], axis.size, dims[0], 0)
    first = lax.index_in_dim(states, 0, keepdims=False)
    new, bits = rng_bit_generator_p.bind(first, shape=(axis.size, *shape), **params)
    start = (np.int32(0), np.int32(0))
    return [lax.dynamic_update_slice(states, lax.expand_dims(new, (0,)), start), bits], [0, 0]


rng_bit_generator_p = Primitive(
    "rng_bit_generator",
    abstract=_abstract_bits,
    lower=_lower_bits,
    batch=_batch_bits,
    multiple_results=True,
    differentiable=False,
)

# --- uniform numbers ------------------------------------------------------------------------------


def rng_uniform(a: Any, b: Any, shape: Any) -> Any:
    """Numbers spread evenly over ``[a, b)``, from a hidden state: no two calls give the same.

    Prefer `covector.random.uniform`, which draws from a key.

    Args:
      a, b: scalars of one dtype: an integer of 32 or 64 bits, `float16`, `bfloat16`, `float32` or
        `float64`.
      shape: of the result.

    Raises:
      TypeError: the dtype is none of these.
      ValueError: ``a`` and ``b`` are no scalars, or their dtypes differ.

    >>> lax.rng_uniform(0.0, 1.0, (2, 3)).shape
    (2, 3)
    """
    return rng_uniform_p.bind(a, b, shape=sizes_of("rng_uniform", "shape", shape))


# The others would end the process: XLA's expansion of the operation aborts on them.
_UNIFORM_DTYPES = frozenset(
    dtypes.DTYPES[name]
    for name in ("int32", "uint32", "int64", "uint64", "float16", "bfloat16", "float32", "float64")
)


def _abstract_uniform(a: ShapedArray, b: ShapedArray, *, shape: Shape) -> ShapedArray:
    if a.dtype != b.dtype:
        raise ValueError(
            f"Arguments to rng_uniform must have identical dtypes, got {a.dtype} and {b.dtype}."
        )
    if a.shape or b.shape:
        raise ValueError(
            f"Arguments to rng_uniform must be scalars; got shapes {a.shape} and {b.shape}."
        )
    if a.dtype not in _UNIFORM_DTYPES:
        raise TypeError(
            f"rng_uniform: unsupported dtype {a.dtype}; expected an integer of 32 or 64 bits, "
            "float16, bfloat16, float32 or float64."
        )
    return ShapedArray(shape, a.dtype, a.weak_type and b.weak_type)


def _lower_uniform(
    ctx: Any,
    args: list[str],
    in_avals: list[ShapedArray],
    out_avals: list[ShapedArray],
    *,
    shape: Shape,
) -> list[str]:
    sizes = ShapedArray((len(shape),), np.int64)
    operands = [*args, ctx.constant(np.array(shape, np.int64), sizes)]
    return ctx.typed(
        "rng", operands, [*in_avals, sizes], out_avals, attributes="distribution = UNIFORM"
    )


rng_uniform_p = Primitive(
    "rng_uniform",
    abstract=_abstract_uniform,
    lower=_lower_uniform,
    jvp=undefined("Differentiation rule for 'rng_uniform' not implemented."),
)

"""Finding random keys that are used twice: what the flag `debug_key_reuse` turns on.

While it is on, each function of `covector.random` that draws from a typed key, or splits it, marks
the key's words by `use_key`: an array at once, a traced one by the primitive `random_use`. A
program is analyzed by following the words (each one has a number) through the equations that only
move them. So `keys[0]` and `keys[1]` are different keys, `keys[0]` and `keys.reshape(1, -1)[0, 0]`
are one. What cannot be followed is a new key: no use is reported that is none.

Programs are analyzed when they are staged, and, as each evaluation passes through `at_execution`,
the keys among its inputs are marked by what the program does with them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jaxlib._jax as _jaxlib
import numpy as np

from covector._ir.jaxpr import Equation, Jaxpr, Literal, Var
from covector._ir.source import Source, current_source
from covector._trace.primitive import Primitive
from covector._trace.trace import current_trace, staging_state
from covector.errors import KeyReuseError

ArrayImpl = _jaxlib.ArrayImpl
_UINT32 = np.dtype(np.uint32)


class Use(NamedTuple):
    """Who used a key, and where: the line of the use, and of the call of the program it is in."""

    name: str
    source: Source | None
    call: Source | None = None

    def __str__(self) -> str:
        text = f"{self.name} at {self.source}" if self.source else self.name
        return f"{text}, in the call at {self.call}" if self.call else text


# --- words ----------------------------------------------------------------------------------------

_blocks = itertools.count()
_BLOCK_BITS = 32  # each array has a block of numbers of its own
_MOST_WORDS = 2**22  # larger arrays are not followed


class _Origin:
    """An array in which words appear first: which of them were used, and by whom."""

    __slots__ = ("by", "first", "size", "uses")

    def __init__(self, size: int):
        self.first = next(_blocks) << _BLOCK_BITS
        self.size = size
        self.by = np.zeros(size, np.int32)  # 0: unused; n: by the n-th of the uses
        self.uses: list[Use] = []

    def copy(self) -> _Origin:
        other = _Origin(self.size)
        other.by, other.uses = self.by.copy(), list(self.uses)
        return other


class Words(NamedTuple):
    """The numbers of the words of an array, and where they come from."""

    numbers: np.ndarray
    origins: tuple[_Origin, ...]

    def within(self, origin: _Origin) -> np.ndarray:
        """The positions in ``origin`` of those of the words that come from it."""
        positions = self.numbers.reshape(-1) - origin.first
        return positions[(positions >= 0) & (positions < origin.size)]


def _may_be_key(x: Any) -> bool:
    """Whether an array or variable can hold words of keys (that is, all of `uint32`)."""
    return x.aval.dtype == _UINT32 and x.aval.size <= _MOST_WORDS


def _new_words(shape: tuple[int, ...]) -> Words:
    return _all_of(_Origin(math.prod(shape)), shape)


def _all_of(origin: _Origin, shape: tuple[int, ...]) -> Words:
    return Words(origin.first + np.arange(origin.size).reshape(shape), (origin,))


def _check(words: Words, use: Use) -> None:
    """Raise `KeyReuseError` if one of the words was used before, or occurs twice."""
    for origin in words.origins:
        positions = words.within(origin)
        before = origin.by[positions]
        if before.any():
            raise _reuse(origin.uses[before.max() - 1], use)
        if len(np.unique(positions)) < len(positions):
            raise _reuse(use, use)


def _mark(words: Words, use: Use) -> None:
    for origin in words.origins:
        positions = words.within(origin)
        if len(positions):
            origin.uses.append(use)
            origin.by[positions] = len(origin.uses)


def _use(words: Words, use: Use) -> None:
    _check(words, use)
    _mark(words, use)


_REMEDY = (
    "What is drawn twice from one key is not independent. Make a key for each use: "
    "key, subkey = covector.random.split(key). If it is meant to be the same, use "
    "covector.random.clone(key). (The flag jax_debug_key_reuse asks for this check.)"
)


def _reuse(first: Use, second: Use) -> KeyReuseError:
    return KeyReuseError(f"a random key is used by {first}, and again by {second}. {_REMEDY}")


def _reuse_in_loop(caller: str, use: Use) -> KeyReuseError:
    return KeyReuseError(
        f"{caller}: a random key is used again in each iteration, by {use}. Split a key that is "
        f"part of the carry, or use covector.random.fold_in(key, i). {_REMEDY}"
    )


# --- what covector.random calls -------------------------------------------------------------------


def use_key(name: str, data: Any) -> Any:
    """The words of keys, marked as used by the function ``name``.

    Raises:
      KeyReuseError: one of the keys was used before.
    """
    source = current_source()
    if isinstance(data, ArrayImpl) and not staging_state.value:
        if _may_be_key(data):
            _use(_words_of(data), Use(name, source))
        return data
    if getattr(current_trace(), "embed_constants", False) or not hasattr(data, "aval"):
        return data  # library code, whose caller has marked the key
    # The line is a parameter, since programs that differ in lines alone are one.
    return random_use_p.bind(data, name=name, source=source)


def clone_key(data: Any) -> Any:
    """The same words, as another key."""
    if isinstance(data, ArrayImpl):
        return data.clone()
    return random_clone_p.bind(data) if hasattr(data, "aval") else data


def follow_index(data: Any, index: Any, part: Any) -> None:
    """Say that an array is ``data[index]``, for an index that a program does not show."""
    if isinstance(data, ArrayImpl) and isinstance(part, ArrayImpl) and _may_be_key(data):
        words = _words_of(data)
        try:
            numbers = words.numbers[index]
        except (TypeError, IndexError):
            return
        if numbers.shape == part.shape:
            part._key_words = words._replace(numbers=numbers)


def _words_of(array: Any) -> Words:
    words = array.__dict__.get("_key_words")
    if words is None:
        words = array._key_words = _new_words(array.shape)
    return words


def _identity(name: str, **options: Any) -> Primitive:
    def batch(axis: Any, args: list, dims: tuple, **params: Any) -> tuple[Any, Any]:
        return primitive.bind(*args, **params), dims[0]

    primitive = Primitive(
        name,
        abstract=lambda aval, **params: aval,
        lower=lambda ctx, args, in_avals, out_avals, **params: list(args),
        batch=batch,
        differentiable=False,
        **options,
    )
    return primitive


random_use_p = _identity("random_use")
random_clone_p = _identity("random_clone")


# --- programs -------------------------------------------------------------------------------------


class Signature(NamedTuple):
    """What a program does with the words of its inputs, and what words its outputs have."""

    inputs: list[Words | None]
    outputs: list[Words | None]


def check_staged(eqns: Sequence[Equation]) -> None:
    """Raise `KeyReuseError` if a program that is being staged uses a key twice."""
    _run(eqns, {})


def signature(jaxpr: Jaxpr) -> Signature:
    """The program's signature: its inputs' words are marked as the program uses them."""
    found = jaxpr.memo.get("key_reuse")
    if found is None:
        env: dict[Var, Words] = {}
        inputs = [_words_in(env, v) for v in jaxpr.invars]
        _run(jaxpr.eqns, env)
        outputs = [env.get(v) if type(v) is Var else None for v in jaxpr.outvars]
        found = jaxpr.memo["key_reuse"] = Signature(inputs, outputs)
    return found


def at_execution(jaxpr: Jaxpr, args: Sequence[Any]) -> Callable[[Sequence[Any]], None]:
    """Mark the keys among a program's inputs; what is returned tells its outputs' words.

    Raises:
      KeyReuseError: the program uses a key that was used before.
    """
    inputs, outputs = signature(jaxpr)
    used = any(words is not None and words.origins[0].uses for words in inputs)
    if not used and all(words is None for words in outputs):
        return lambda outs: None
    operands = [
        _words_of(x) if words is not None and isinstance(x, ArrayImpl) else None
        for x, words in zip(args, inputs, strict=True)
    ]
    outputs = _apply(jaxpr, operands, current_source())

    def tell(outs: Sequence[Any]) -> None:
        for x, words in zip(outs, outputs, strict=True):
            if words is not None and isinstance(x, ArrayImpl):
                x._key_words = words

    return tell


def _words_in(env: dict[Var, Words], atom: Any) -> Words | None:
    """The words of an atom, new ones if nothing is known of it; None for what is no key."""
    if type(atom) is not Var or not _may_be_key(atom):
        return None
    words = env.get(atom)
    if words is None:
        words = env[atom] = _new_words(atom.aval.shape)
    return words


def _run(eqns: Sequence[Equation], env: dict[Var, Words]) -> None:
    for eqn in eqns:
        rule = _RULES.get(eqn.primitive.name)
        if rule is None or not any(map(_may_be_key, eqn.invars)):
            continue
        outs = rule(eqn, [_words_in(env, v) for v in eqn.invars])
        for v, words in zip(eqn.outvars, outs, strict=False):
            if words is not None:
                env[v] = words


def _apply(
    jaxpr: Jaxpr, operands: Sequence[Words | None], call: Source | None, mark: bool = True
) -> list[Words | None]:
    """Use operands as a program does; its outputs' words."""
    inputs, outputs = signature(jaxpr)
    pairs = [
        (inner.origins[0], words)
        for inner, words in zip(inputs, operands, strict=True)
        if inner is not None and words is not None
    ]
    for origin, words in pairs:
        for part, use in _uses(origin, words):
            use = use._replace(call=call) if call is not None and use.source != call else use
            _check(part, use)
            if mark:
                _mark(part, use)
    return [None if words is None else _translated(words, pairs) for words in outputs]


def _uses(origin: _Origin, words: Words) -> Iterator[tuple[Words, Use]]:
    """What a program does with an input, for the words of the operand: parts of it, and uses."""
    numbers = words.numbers.reshape(-1)
    for i, use in enumerate(origin.uses):
        yield words._replace(numbers=numbers[origin.by == i + 1]), use


def _translated(words: Words, pairs: list[tuple[_Origin, Words]]) -> Words:
    """An output's words, with those of the program's inputs replaced by the operands' words."""
    numbers, origins = words.numbers.copy(), []
    flat, old = numbers.reshape(-1), words.numbers.reshape(-1)
    known = dict(pairs)
    for origin in words.origins:
        operand = known.get(origin)
        if operand is None:
            operand = _all_of(origin.copy(), (origin.size,))
        mine = (old >= origin.first) & (old < origin.first + origin.size)
        flat[mine] = operand.numbers.reshape(-1)[old[mine] - origin.first]
        origins += operand.origins
    return Words(numbers, tuple(dict.fromkeys(origins)))


# --- equations ------------------------------------------------------------------------------------


def _moved(move: Callable[..., Any]) -> Callable[..., list]:
    """The rule of a primitive that does with elements what ``move`` does with NumPy's."""

    def rule(eqn: Equation, operands: list[Words | None]) -> list[Words | None]:
        if any(w is None and v.aval.dtype == _UINT32 for w, v in zip(operands, eqn.invars)):
            return []  # a constant, or a large array
        given = [w for w in operands if w is not None]
        results = move(eqn, *[w.numbers for w in given])
        origins = tuple(dict.fromkeys([origin for w in given for origin in w.origins]))
        results = results if isinstance(results, list) else [results]
        return [None if numbers is None else Words(numbers, origins) for numbers in results]

    return rule


def _broadcast(eqn: Equation, x: np.ndarray) -> np.ndarray:
    shape, dims = eqn.outvars[0].aval.shape, eqn.params["broadcast_dimensions"]
    spread = [1] * len(shape)
    for dim, n in zip(dims, x.shape, strict=True):
        spread[dim] = n
    return np.broadcast_to(x.reshape(spread), shape).copy()


def _slice(eqn: Equation, x: np.ndarray) -> np.ndarray:
    start, limit = eqn.params["start_indices"], eqn.params["limit_indices"]
    steps = eqn.params["strides"] or (1,) * x.ndim
    return x[tuple([slice(*ends) for ends in zip(start, limit, steps, strict=True)])]


def _dynamic_slice(eqn: Equation, x: np.ndarray, *_: Any) -> np.ndarray | None:
    starts = [int(s.val) for s in eqn.invars[1:] if type(s) is Literal]
    if len(starts) < x.ndim:
        return None
    sizes = eqn.params["slice_sizes"]
    ends = zip(starts, sizes, x.shape, strict=True)
    firsts = [min(max(start + n * (start < 0), 0), n - size) for start, size, n in ends]
    return x[tuple([slice(i, i + size) for i, size in zip(firsts, sizes, strict=True)])]


def _split(eqn: Equation, x: np.ndarray) -> list[np.ndarray]:
    ends = np.cumsum(eqn.params["sizes"])[:-1]
    return np.split(x, ends, eqn.params["axis"])


def _unstack(eqn: Equation, x: np.ndarray) -> list[np.ndarray]:
    return list(np.moveaxis(x, eqn.params["axis"], 0))


def _random_use(eqn: Equation, operands: list[Words | None]) -> list[Words | None]:
    [words] = operands
    if words is not None:
        _use(words, Use(eqn.params["name"], eqn.params["source"]))
    return []


def _call(eqn: Equation, operands: list[Words | None]) -> list[Words | None]:
    if eqn.params.get("differentiated"):  # computes again what was drawn, on purpose
        return []
    return _apply(eqn.params["jaxpr"], operands, None)


def _cond(eqn: Equation, operands: list[Words | None]) -> list[Words | None]:
    """Of the branches only one runs, so they may use the same keys."""
    branches = eqn.params["branches"]
    for branch in branches:
        _apply(branch, operands[1:], None, mark=False)
    for branch in branches:
        for inner, words in zip(signature(branch).inputs, operands[1:], strict=True):
            if inner is not None and words is not None:
                for part, use in _uses(inner.origins[0], words):
                    _mark(part, use)
    return []


def _scan(eqn: Equation, operands: list[Words | None]) -> list[Words | None]:
    params = eqn.params
    consts, carry = params["num_consts"], params["num_carry"]
    outs = _loop("scan", params["jaxpr"], consts, carry, operands, params["length"] > 1)
    inner_xs = signature(params["jaxpr"]).inputs[consts + carry :]
    for inner, words in zip(inner_xs, operands[consts + carry :], strict=True):
        if inner is not None and words is not None:
            origin = inner.origins[0]
            steps = words.numbers.reshape(params["length"], -1)
            for i, use in enumerate(origin.uses):
                _use(words._replace(numbers=steps[:, origin.by == i + 1]), use)
    return outs


def _while(eqn: Equation, operands: list[Words | None]) -> list[Words | None]:
    params = eqn.params
    cond_consts, body_consts = params["cond_nconsts"], params["body_nconsts"]
    for words in signature(params["cond_jaxpr"]).inputs:
        if words is not None and words.origins[0].uses:
            raise _reuse_in_loop("while_loop", words.origins[0].uses[0])
    body, carry = params["body_jaxpr"], len(operands) - cond_consts - body_consts
    return _loop("while_loop", body, body_consts, carry, operands[cond_consts:], True)


def _loop(
    caller: str,
    body: Jaxpr,
    num_consts: int,
    num_carry: int,
    operands: list[Words | None],
    repeats: bool,
) -> list[Words | None]:
    """Use the operands of a loop as its first iteration does; the words of its final carry."""
    inputs, outputs = signature(body)
    for inner in inputs[:num_consts]:
        if inner is not None and inner.origins[0].uses and repeats:
            raise _reuse_in_loop(caller, inner.origins[0].uses[0])
    carries = inputs[num_consts : num_consts + num_carry]
    for out in outputs[:num_carry]:
        for inner in carries:
            if repeats and inner is not None and out is not None:
                origin = inner.origins[0]
                used = origin.by[out.within(origin)]
                if used.any():
                    raise _reuse_in_loop(caller, origin.uses[used.max() - 1])
    results: list[Words | None] = []
    for position, inner in enumerate(inputs[: num_consts + num_carry]):
        words = operands[position]
        if inner is not None and words is not None:
            for part, use in _uses(inner.origins[0], words):
                _use(part, use)
        if position >= num_consts:
            unchanged = inner is not None and outputs[position - num_consts] is inner
            results.append(words if unchanged else None)
    return results


_RULES: dict[str, Callable[[Equation, list[Words | None]], Sequence[Words | None]]] = {
    "random_use": _random_use,
    "broadcast_in_dim": _moved(_broadcast),
    "concatenate": _moved(lambda eqn, *xs: np.concatenate(xs, eqn.params["dimension"])),
    "copy": _moved(lambda eqn, x: x),
    "dynamic_slice": _moved(_dynamic_slice),
    "reshape": _moved(lambda eqn, x: x.reshape(eqn.outvars[0].aval.shape)),
    "rev": _moved(lambda eqn, x: np.flip(x, eqn.params["dimensions"])),
    "slice": _moved(_slice),
    "split": _moved(_split),
    "squeeze": _moved(lambda eqn, x: x.reshape(eqn.outvars[0].aval.shape)),
    "stack": _moved(lambda eqn, *xs: np.stack(xs, eqn.params["axis"])),
    "stop_gradient": _moved(lambda eqn, x: x),
    "transpose": _moved(lambda eqn, x: np.transpose(x, eqn.params["permutation"])),
    "unstack": _moved(_unstack),
    "jit": _call,
    "remat": _call,
    "cond": _cond,
    "scan": _scan,
    "while": _while,
}

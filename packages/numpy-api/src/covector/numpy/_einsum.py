"""Einstein summation: products of any number of arrays, summed over the labels that are left out.

A sum of one array is diagonals, sums and a transposition; of two, one `lax.dot_general`; of more,
`opt_einsum` says in which order to take them two at a time. It is imported only then.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from covector import lax
from covector._api.jit import library_function
from covector._ir import dtypes
from covector._trace.trace import typeof
from covector.errors import ShapeError
from covector.numpy._operands import (
    Array,
    check_arraylike,
    check_no_out,
    promote_dtypes,
    requested_dtype,
)
from covector.numpy._products import contract

_LETTERS = string.ascii_lowercase + string.ascii_uppercase


def einsum(
    subscripts: Any,
    /,
    *operands: Any,
    out: None = None,
    optimize: Any = "auto",
    precision: Any = None,
    preferred_element_type: Any = None,
    _dot_general: Any = None,
    out_sharding: Any = None,
) -> Array:
    """Products of arrays, summed over labels: ``einsum("ij,jk->ik", a, b)`` is a matrix product.

    Args:
      subscripts: labels of each operand's axes, and of the result's after ``->`` (by default those
        that occur once, in alphabetic order); ``...`` stands for axes that broadcast. Or operands
        and lists of integer labels in turn, as in NumPy.
      optimize: how to find an order for three or more operands; see `opt_einsum.contract_path`.

    Raises:
      ValueError: labels and operands do not fit together.

    >>> print(jnp.einsum("ij,j->i", jnp.ones((2, 3)), jnp.arange(3.0)))
    [3. 3.]
    """
    check_no_out("einsum", out)
    subscripts, operands = _as_text(subscripts, operands)
    check_arraylike("einsum", *operands)
    shapes = tuple([typeof(x).shape for x in operands])
    terms, result = parse(subscripts.replace(" ", ""), tuple(map(len, shapes)))
    steps = _steps(terms, result, shapes, _hashable(optimize))
    return _einsum(
        list(operands),
        steps=steps,
        precision=precision,
        dtype=requested_dtype(preferred_element_type, "einsum"),
    )


def einsum_path(subscripts: Any, /, *operands: Any, optimize: Any = "auto") -> tuple[Any, Any]:
    """The order in which `einsum` takes its operands, and a description of its cost.

    >>> jnp.einsum_path("ij,jk,kl->il", jnp.ones((2, 3)), jnp.ones((3, 4)), jnp.ones((4, 5)))[0]
    [(0, 1), (0, 1)]
    """
    import opt_einsum

    if isinstance(optimize, bool):
        optimize = "optimal" if optimize else [tuple(range(len(operands)))]
    return opt_einsum.contract_path(subscripts, *operands, optimize=optimize)


def _hashable(optimize: Any) -> Any:
    if isinstance(optimize, list):
        return tuple([tuple(p) if isinstance(p, list) else p for p in optimize])
    return optimize


# --- subscripts ----------------------------------------------------------------------------------


def _as_text(subscripts: Any, operands: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """Subscripts as a string, also from operands and lists of integers in turn."""
    if isinstance(subscripts, str):
        return subscripts, operands
    given = (subscripts, *operands)
    arrays, labels = given[: len(given) // 2 * 2 : 2], given[1::2]
    text = ",".join([_letters(s) for s in labels])
    if len(given) % 2:
        text += "->" + _letters(given[-1])
    return text, arrays


def _letters(labels: Sequence[Any]) -> str:
    return "".join(["..." if n is Ellipsis else _LETTERS[n] for n in labels])


@lru_cache(512)
def parse(subscripts: str, ranks: tuple[int, ...]) -> tuple[tuple[str, ...], str]:
    """One string of labels for each operand, and that of the result; an ellipsis has labels too."""
    inputs, arrow, output = subscripts.partition("->")
    terms = inputs.split(",")
    if len(terms) != len(ranks):
        raise ValueError(
            f"einsum: the number of subscripts in {subscripts!r}, {len(terms)}, must be equal to "
            f"the number of operands, {len(ranks)}."
        )
    free = [c for c in _LETTERS[::-1] if c not in subscripts]
    extra = 0
    for term, rank in zip(terms, ranks):
        extra = max(extra, rank - len(term.replace("...", "")) if "..." in term else 0)
    dots = "".join(free[:extra])
    spelled = tuple([_spell(t, rank, dots, subscripts) for t, rank in zip(terms, ranks)])
    if not arrow:
        once = sorted(c for c in set(inputs) - set("., ") if inputs.count(c) == 1)
        return spelled, dots + "".join(once)
    output = output.replace("...", dots)
    for label in output:
        if output.count(label) > 1:
            raise ValueError(
                f"einsum: output label '{label}' appears more than once in {subscripts!r}."
            )
        if not any(label in t for t in spelled):
            raise ValueError(f"einsum: output label '{label}' of {subscripts!r} is in no operand.")
    return spelled, output


def _spell(term: str, rank: int, dots: str, subscripts: str) -> str:
    named = term.replace("...", "")
    if not all(c.isalpha() for c in named):
        raise ValueError(f"einsum: labels must be letters, got {term!r} in {subscripts!r}.")
    if "..." in term:
        count = rank - len(named)
        term = term.replace("...", dots[len(dots) - count :] if count else "")
    if len(term) != rank:
        raise ValueError(
            f"einsum: the subscripts {term!r} of {subscripts!r} must have one label for each of "
            f"the operand's {rank} axes."
        )
    return term


# --- the order of operations ---------------------------------------------------------------------

# (positions of the operands taken, their labels, labels of the result); results go to the end.
Step = tuple[tuple[int, ...], tuple[str, ...], str]


@lru_cache(512)
def _steps(
    terms: tuple[str, ...], result: str, shapes: tuple[tuple[int, ...], ...], optimize: Any
) -> tuple[Step, ...]:
    sizes = _sizes(terms, shapes)
    terms, left = tuple(terms), list(terms)
    steps: list[Step] = []
    for positions in _path(terms, result, shapes, sizes, optimize):
        positions = tuple(sorted(positions))
        taken = tuple([left[i] for i in positions])
        left = [t for i, t in enumerate(left) if i not in positions]
        needed = set("".join(left)) | set(result)
        out = (
            result
            if not left
            else "".join(dict.fromkeys(c for t in taken for c in t if c in needed))
        )
        steps.append((positions, taken, out))
        left.append(out)
    return tuple(steps)


def _sizes(terms: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> dict[str, int]:
    """The size of each label; axes of size one broadcast."""
    sizes: dict[str, int] = {}
    for i, (term, shape) in enumerate(zip(terms, shapes)):
        for label, n in zip(term, shape):
            known = sizes.get(label, 1)
            if known != 1 and n not in (1, known):
                raise ShapeError(
                    f"einsum: size of label '{label}' for operand {i} ({n}) does not match "
                    f"previous terms ({known})."
                )
            sizes[label] = max(known, n) if n else 0
    return sizes


def _path(
    terms: Sequence[str],
    result: str,
    shapes: Sequence[tuple[int, ...]],
    sizes: dict[str, int],
    optimize: Any,
) -> Sequence[tuple[int, ...]]:
    if len(terms) <= 2:
        return [tuple(range(len(terms)))]
    if optimize is False:
        return [(0, 1)] + [(0, len(terms) - 1 - i) for i in range(1, len(terms) - 1)]
    import opt_einsum

    optimize = "optimal" if optimize is True else optimize
    optimize = (
        [p for p in optimize if p != "einsum_path"] if isinstance(optimize, tuple) else optimize
    )
    full = [tuple([sizes[c] for c in t]) for t in terms]
    expression = ",".join(terms) + "->" + result
    path, _ = opt_einsum.contract_path(expression, *full, shapes=True, optimize=optimize)
    return [p for group in path for p in _pairs(group)]


def _pairs(group: tuple[int, ...]) -> list[tuple[int, ...]]:
    """A step of more than two operands as steps of two."""
    if len(group) <= 2:
        return [tuple(group)]
    raise ValueError(f"einsum: each step of the path must take one or two operands, got {group}.")


# --- running it ----------------------------------------------------------------------------------


@library_function(static_argnames=("steps", "precision", "dtype"))
def _einsum(operands: list[Any], *, steps: tuple[Step, ...], precision: Any, dtype: Any) -> Any:
    if dtype is None:
        operands = promote_dtypes(*operands)
    for positions, terms, result in steps:
        taken = [operands[i] for i in positions]
        operands = [x for i, x in enumerate(operands) if i not in positions]
        if len(taken) == 1:
            out = _one(taken[0], terms[0], result)
        else:
            (x, y), (x_term, y_term) = taken, terms
            out = _two(x, y, x_term, y_term, result, precision, dtype)
        operands.append(out)
    out = operands[0]
    return out if dtype is None else lax.convert_element_type(out, dtype)


def _one(x: Any, term: str, result: str) -> Any:
    """Diagonals of repeated labels, sums over labels left out, and the result's order."""
    x, term = _diagonals(x, term)
    x, term = _summed(x, term, result)
    return lax.transpose(x, [term.index(c) for c in result])


def _diagonals(x: Any, term: str) -> tuple[Any, str]:
    from covector.numpy._matrices import diagonal

    for label in dict.fromkeys(term):
        while term.count(label) > 1:
            first = term.index(label)
            second = term.index(label, first + 1)
            x = diagonal(x, 0, first, second)
            term = term[:first] + term[first + 1 : second] + term[second + 1 :] + label
    return x, term


def _summed(x: Any, term: str, kept: str) -> tuple[Any, str]:
    axes = [i for i, c in enumerate(term) if c not in kept]
    reduce = lax.reduce_or if dtypes.is_bool(typeof(x).dtype) else lax.reduce_sum
    return reduce(x, axes) if axes else x, "".join([c for c in term if c in kept])


def _two(x: Any, y: Any, x_term: str, y_term: str, result: str, precision: Any, dtype: Any) -> Any:
    (x, x_term), (y, y_term) = _diagonals(x, x_term), _diagonals(y, y_term)
    x, x_term = _summed(x, x_term, y_term + result)
    y, y_term = _summed(y, y_term, x_term + result)
    x, x_term, y, y_term = _without_broadcast(x, x_term, y, y_term)
    batch = [c for c in x_term if c in y_term and c in result]
    summed = [c for c in x_term if c in y_term and c not in result]
    out = contract(
        x,
        y,
        ([x_term.index(c) for c in summed], [y_term.index(c) for c in summed]),
        ([x_term.index(c) for c in batch], [y_term.index(c) for c in batch]),
        precision,
        dtype,
    )
    rest = [c for c in x_term + y_term if c not in batch + summed]
    have = batch + rest
    return lax.transpose(out, [have.index(c) for c in result])


def _without_broadcast(x: Any, x_term: str, y: Any, y_term: str) -> tuple[Any, str, Any, str]:
    """Drop axes of size one where the other operand has more: they broadcast."""
    for label in [c for c in x_term if c in y_term]:
        i, j = x_term.index(label), y_term.index(label)
        m, n = typeof(x).shape[i], typeof(y).shape[j]
        if m == 1 != n:
            x, x_term = lax.squeeze(x, [i]), x_term[:i] + x_term[i + 1 :]
        elif n == 1 != m:
            y, y_term = lax.squeeze(y, [j]), y_term[:j] + y_term[j + 1 :]
    return x, x_term, y, y_term

"""From users' functions to the programs of branches and loop bodies, and what is wrong with them.

A function is traced anew at each call of `scan`, `cond`, ...: it may refer to variables that have
changed since. That is cheap, and since programs are hash-consed, an equal one is compiled once.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from covector._api.autodiff import as_array
from covector._api.tracing import Staged, function_name, stage_function
from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector._ir.jaxpr import Jaxpr, Var
from covector._trace.trace import typeof
from covector._tree.prefix import find_mismatch, path_text
from covector._tree.registry import dispatch_registry
from covector.lax.control.programs import rewire, split
from covector.lax.convert import convert_element_type


def check_callable(caller: str, **functions: Any) -> None:
    """Raise `TypeError` for an argument that is no function."""
    for name, function in functions.items():
        if not callable(function):
            raise TypeError(
                f"lax.{caller}: {name} argument should be a callable, got {function!r:.80} of type "
                f"{type(function)}."
            )


def leaf_avals(caller: str, argument: str, tree: Any) -> tuple[list[Any], tuple[ShapedArray, ...]]:
    """The leaves of an argument, and their types."""
    leaves, treedef = dispatch_registry.flatten(tree)
    try:
        return leaves, tuple([typeof(x) for x in leaves])
    except TypeError:
        for path, x in dispatch_registry.flatten_with_path(treedef.unflatten(leaves))[0]:
            try:
                typeof(x)
            except TypeError as error:
                raise TypeError(
                    f"lax.{caller}: {argument}{leaf_path(path)} is not a valid argument. {error}"
                ) from None
        raise


def map_arrays(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """Apply a function to the arrays of trees, also to those that typed keys are made of."""
    leaves, treedef = dispatch_registry.flatten(tree)
    rest = [dispatch_registry.flatten(other)[0] for other in others]
    return treedef.unflatten([function(*xs) for xs in zip(leaves, *rest, strict=True)])


def stage(
    fun: Callable[..., Any], args: tuple, avals: Sequence[ShapedArray], name: str | None = None
) -> Staged:
    """The program of ``fun`` at arguments of these types and the structure of ``args``."""
    tree = dispatch_registry.flatten((args, {}))[1]
    staged = stage_function(fun, tree, avals, name=name or function_name(fun))
    jaxpr = staged.jaxpr
    return staged._replace(jaxpr=rewire(jaxpr, jaxpr.invars, jaxpr.outvars))


def merge_constants(programs: Sequence[Staged]) -> tuple[list[Any], list[Jaxpr]]:
    """All values that the functions closed over, once each, and the programs that take them all."""
    constants = {id(c): c for program in programs for c in program.consts}
    merged = []
    for program in programs:
        own, inputs = split(program.jaxpr.invars, len(program.consts))
        variables = dict(zip(map(id, program.consts), own, strict=True))
        leading = [variables.get(key) or Var(typeof(c)) for key, c in constants.items()]
        merged.append(rewire(program.jaxpr, [*leading, *inputs], program.jaxpr.outvars))
    return list(constants.values()), merged


# --- carries --------------------------------------------------------------------------------------


class Carry(NamedTuple):
    """The carry of a loop: its values, and how messages speak of it."""

    caller: str  # scan, while_loop, fori_loop
    function: str  # the body's name
    root: str  # the name of the body's parameter that takes the carry
    tree: Any  # as the user gave it
    counted: bool = False  # the carry is the second part of the tree, after a loop index

    def check(self, out_tree: Any, in_avals: Sequence[Any], out_avals: Sequence[Any]) -> None:
        """Raise `TypeError` unless what the body returns can be passed to it again."""
        tree = self.tree
        if self.counted:
            tree, out_tree = tree[1], out_tree.children()[1]
            in_avals, out_avals = in_avals[1:], out_avals[1:]
        in_tree = dispatch_registry.flatten(tree)[1]
        if in_tree != out_tree:
            returned = out_tree.unflatten([0] * out_tree.num_leaves)
            difference = tree_difference(tree, returned, "the input", "the output")
            raise TypeError(
                f"{self.caller} body function carry input and carry output must have the same "
                f"pytree structure, but they differ: {difference} "
                f"Revise {self.function} so that the carry that it returns has the structure of "
                f"its parameter {self.root}."
            )
        paths = [path for path, _ in dispatch_registry.flatten_with_path(tree)[0]]
        wrong = [
            f"{self.root}{leaf_path(path)} comes in as {type_text(i)} and goes out as "
            f"{type_text(o)}, so the {what_differs(i, o)}"
            for path, i, o in zip(paths, in_avals, out_avals, strict=True)
            if (i.shape, i.dtype) != (o.shape, o.dtype)
        ]
        if wrong:
            raise TypeError(
                f"{self.caller} body function carry input and carry output must have equal types, "
                f"but they differ: {'; '.join(wrong)}. Revise {self.function} so that it keeps the "
                "types, or give an initial value of the type that it returns."
            )


def carry_of(caller: str, body: Callable[..., Any], position: int, tree: Any) -> Carry:
    """How to speak of the carry that is the body's parameter at ``position``."""
    try:
        root = list(inspect.signature(body).parameters)[position]
    except (ValueError, TypeError, IndexError):
        root = "carry"
    return Carry(caller, function_name(body), root, tree)


def promote_weak(
    leaves: Sequence[Any], in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray]
) -> list[Any] | None:
    """Initial values with weakly typed ones converted to what the body returns; None if none is.

    So ``scan(lambda c, x: (c + x, None), 0, floats)`` carries a float.
    """
    if len(in_avals) != len(out_avals):
        return None
    promoted = list(leaves)
    for k, (x, i, o) in enumerate(zip(leaves, in_avals, out_avals, strict=True)):
        if i.weak_type and i.dtype != o.dtype and dtypes.result_type(i, o) != i.dtype:
            promoted[k] = convert_element_type(as_array(x), dtypes.result_type(i, o))
    changed = any(a is not b for a, b in zip(promoted, leaves, strict=True))
    return promoted if changed else None


def invariant_carries(jaxpr: Jaxpr, num_consts: int, num_carry: int) -> tuple[bool, ...]:
    """Which carries the body hands on as they are."""
    inputs = jaxpr.invars[num_consts : num_consts + num_carry]
    return tuple([i is o for i, o in zip(inputs, jaxpr.outvars[:num_carry], strict=True)])


def tree_difference(first: Any, second: Any, first_name: str, second_name: str) -> str:
    """The first place where two trees differ in structure, as text."""
    names = (first_name, second_name)
    text = find_mismatch(first, dispatch_registry.flatten(second)[1])
    if not text:
        text = find_mismatch(second, dispatch_registry.flatten(first)[1])
        names = (second_name, first_name)
    if not text:  # a typed key, which has a structure only here
        text = f"the first is {first!r:.80} but the second is {second!r:.80}."
    return text.replace("the first", names[0], 1).replace("the second", names[1], 1)


def leaf_path(path: tuple[Any, ...]) -> str:
    """A path in the user's tree: without the way into a typed key."""
    return path_text(path).replace("[<flat index 0>]", "")


def type_text(aval: ShapedArray) -> str:
    """``float32[3]``."""
    return f"{aval.dtype.name}[{','.join(map(str, aval.shape))}]"


def what_differs(a: ShapedArray, b: ShapedArray) -> str:
    """``shapes do not match``."""
    parts = ["shapes"] * (a.shape != b.shape) + ["dtypes"] * (a.dtype != b.dtype)
    return " and ".join(parts) + " do not match"
